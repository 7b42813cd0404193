//! Calls a library of one's own, over raw pointers and a stream.
//!
//! `axpy.cu` is the library, and `build.rs` compiles it with nvcc. Each C function has a safe function here,
//! which declares what the call reads and writes. The crate then orders its work with all other work: no
//! event is needed where a stream reads what another one writes, and a graph retains the memory.
#![expect(unsafe_code, reason = "calls a C library")]
use std::ffi::{CStr, c_char, c_int};
use std::fmt;

use cuda_safe::stream::enqueue_all;
use cuda_safe::sys::cudaStream_t;
use cuda_safe::{AsStream, DeviceBuffer, DeviceSlice, DeviceSliceMut, Stream};

unsafe extern "C" {
    fn axpy(a: f32, x: *const f32, y: *mut f32, count: usize, stream: cudaStream_t) -> c_int;
    fn axpy_both(
        a: f32,
        x: *const *const f32,
        y: *const *mut f32,
        count: usize,
        streams: *const cudaStream_t,
    ) -> c_int;
    safe fn axpy_name(status: c_int) -> *const c_char;
}

/// An error of the library, or of CUDA before the library was called.
#[derive(Debug)]
enum Error {
    Library(c_int),
    Cuda(cuda_safe::Error),
}

impl From<cuda_safe::Error> for Error {
    fn from(error: cuda_safe::Error) -> Self {
        Self::Cuda(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(status) => {
                // SAFETY: the library returns a constant C string for any number.
                let name = unsafe { CStr::from_ptr(axpy_name(*status)) };
                write!(f, "{} ({status})", name.to_string_lossy())
            }
            Self::Cuda(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

fn checked(status: c_int) -> Result<(), Error> {
    if status == 0 { Ok(()) } else { Err(Error::Library(status)) }
}

/// y = a x + y.
fn add(
    a: f32,
    x: &DeviceSlice<'_, f32>,
    y: &mut DeviceSliceMut<'_, f32>,
    stream: &impl AsStream,
) -> Result<(), Error> {
    assert_eq!(x.len(), y.len());
    let count = x.len();
    // SAFETY: both vectors have this length.
    let call = |raw, (x, y)| checked(unsafe { axpy(a, x, y, count, raw) });
    // SAFETY: the call reads `x` and writes `y`, on this stream alone, and starts a kernel if it succeeds.
    unsafe { stream.as_stream().call((x, y), call) }
}

/// y = a x + y for two pairs of vectors, each on its stream.
fn add_both<S: AsStream>(
    a: f32,
    [x0, x1]: [&DeviceSlice<'_, f32>; 2],
    [y0, y1]: [&mut DeviceSliceMut<'_, f32>; 2],
    [s0, s1]: [&S; 2],
) -> Result<(), Error> {
    let count = x0.len();
    assert!([x1.len(), y0.len(), y1.len()] == [count; 3]);
    let (x, y) = ([x0.as_ptr(), x1.as_ptr()], [y0.as_mut_ptr(), y1.as_mut_ptr()]);
    let streams: [(&S, &[_]); 2] =
        [(s0, &[x0.access(), y0.access_mut()]), (s1, &[x1.access(), y1.access_mut()])];
    let call = |raws: &[cudaStream_t]| {
        // SAFETY: all vectors have this length, and there are two of each array.
        checked(unsafe { axpy_both(a, x.as_ptr(), y.as_ptr(), count, raws.as_ptr()) })
    };
    // SAFETY: each stream reads and writes the vectors that are declared for it.
    unsafe { enqueue_all(&streams, call) }
}

fn main() -> anyhow::Result<()> {
    let (n, half) = (1 << 16, 1 << 15);
    let numbers: Vec<f32> = (0..1000_u16).map(f32::from).cycle().take(n).collect();
    let ones = vec![1.0_f32; n];

    let d_x = DeviceBuffer::from_slice(&numbers)?;
    let mut d_y = DeviceBuffer::from_slice(&ones)?;
    let mut d_z = DeviceBuffer::from_slice(&ones)?;
    let mut first = Stream::non_blocking()?;
    let second = Stream::non_blocking()?;

    // The second stream reads what the first one writes.
    add(2.0, &d_x.as_slice(), &mut d_y.as_slice_mut(), &first)?;
    add(3.0, &d_y.as_slice(), &mut d_z.as_slice_mut(), &second)?;
    println!("two streams: y = {}, z = {}", d_y.to_vec()?[999], d_z.to_vec()?[999]);

    // In a graph.
    let mut captured = Ok(());
    let graph = first.capture(|stream| {
        captured = add(1.0, &d_x.as_slice(), &mut d_y.as_slice_mut(), stream);
        Ok(())
    })?;
    captured?;
    let mut exec = graph.instantiate()?;
    for _ in 0..3 {
        exec.launch(&first)?;
    }
    println!("a graph, three times: y = {}", d_y.to_vec()?[999]);

    // One call over two streams.
    let (x0, x1) = d_x.as_slice().split_at(half)?;
    let (mut y0, mut y1) = d_y.as_slice_mut().split_at_mut(half)?;
    add_both(1.0, [&x0, &x1], [&mut y0, &mut y1], [&first, &second])?;
    let y = d_y.to_vec()?;
    println!("both halves, each on its stream: y = {}, {}", y[999], y[n - 1]);

    // The library's own error.
    match add(1.0, &d_x.slice(..0)?, &mut d_y.slice_mut(..0)?, &first) {
        Err(error) => println!("no numbers: {error}"),
        Ok(()) => println!("no numbers: taken"),
    }
    Ok(())
}
