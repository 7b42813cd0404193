//! Calls of other libraries: their memory, and their own errors.
#![expect(unsafe_code, reason = "makes calls of the runtime as another library does")]
#![allow(clippy::unwrap_used, reason = "tests")]

use cuda_safe::error::Detail;
use cuda_safe::hazard;
use cuda_safe::memory::ManagedBuffer;
use cuda_safe::{
    DeviceBuffer, Error, PinnedBuffer, Registered, Result, Stream, check, memcpy_async, memset_async, sys,
};
use cuda_testing::{Gate, alone};

/// The status of another library.
#[derive(Debug, PartialEq)]
enum Status {
    /// Its own number.
    Library(i32),
    /// An error of this crate.
    Cuda(Error),
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        Self::Cuda(error)
    }
}

/// A function of another library: copies bytes.
unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize, stream: sys::cudaStream_t) -> Result<()> {
    // SAFETY: the caller guarantees that both addresses have the bytes, on this stream.
    unsafe { check!(cudaMemcpyAsync(to.cast(), from.cast(), bytes, sys::cudaMemcpyDefault, stream)) }
}

#[test]
fn a_call_is_ordered_by_the_memory_whose_pointers_it_gets() -> Result<()> {
    let alone = alone();
    let (a, b) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let (mut x, mut y) = (DeviceBuffer::<u8>::alloc(64)?, DeviceBuffer::<u8>::alloc(64)?);
    let gate = Gate::on(&alone, &a);
    memset_async(&mut x, 5, &a)?;
    // SAFETY: both buffers have 64 bytes.
    let library = |raw, (x, y)| unsafe { copy(y, x, 64, raw) };
    let (before, line) = (hazard::added_waits(), line!() + 2);
    // SAFETY: the call reads the bytes of `x` and writes those of `y`.
    unsafe { b.call((&x, &mut y), library) }?;
    assert_eq!(hazard::added_waits(), before + 1);
    let wait = hazard::recent_waits().pop().unwrap();
    assert_eq!((wait.at.file(), wait.at.line()), (file!(), line));
    memset_async(&mut x, 6, &a)?;
    gate.open();
    assert_eq!((y.to_vec()?, x.to_vec()?), (vec![5; 64], vec![6; 64]));
    Ok(())
}

#[test]
fn a_call_gets_the_addresses_by_which_devices_reach_any_memory_and_parts_of_it() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let mut device = DeviceBuffer::<u32>::alloc(8)?;
    let mut pinned = PinnedBuffer::<f32>::alloc(8)?;
    let mut managed = ManagedBuffer::<u64>::alloc(8)?;
    let mut registered = Registered::new(vec![0_i16; 8])?;
    let expected = (
        device.as_ptr().wrapping_add(2),
        pinned.device_ptr()?,
        managed.as_ptr().cast_mut(),
        registered.as_slice().device_ptr()?.cast_const(),
    );
    let part = device.slice(2..4)?;
    // SAFETY: nothing is submitted that uses the memory: it stays as it is.
    let found = unsafe {
        stream.call((&part, &mut pinned, &mut managed, &registered), |raw, pointers| {
            cuda_testing::put_nothing(raw).map(|()| pointers)
        })
    }?;
    assert_eq!(found, expected);
    let whole = device.as_mut_ptr();
    // SAFETY: nothing is submitted that uses the memory: it stays as it is.
    let alone =
        unsafe { stream.call(&mut device, |raw, pointer| cuda_testing::put_nothing(raw).map(|()| pointer)) }?;
    assert_eq!(alone, whole);
    // SAFETY: nothing is submitted that uses the memory: it stays as it is.
    unsafe { stream.call((&mut registered,), |raw, _| cuda_testing::put_nothing(raw)) }?;
    assert_eq!(registered.into_inner()?, [0; 8]);
    Ok(())
}

#[test]
fn the_status_of_a_library_gets_out_of_a_call_as_it_is() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let mut x = DeviceBuffer::<u8>::alloc(64).unwrap();
    // SAFETY: the call submits nothing and fails.
    let failed: std::result::Result<(), _> = unsafe { stream.call(&mut x, |_, _| Err(Status::Library(14))) };
    assert_eq!(failed, Err(Status::Library(14)));
    // SAFETY: the call submits nothing and fails.
    let failed: std::result::Result<(), _> = unsafe { stream.enqueue(&[], |_| Err(Status::Library(7))) };
    assert_eq!(failed, Err(Status::Library(7)));
    let nested = |_| -> std::result::Result<(), Status> {
        // SAFETY: the call is refused.
        unsafe { stream.enqueue(&[], |_| Ok(())) }
    };
    // SAFETY: nothing is submitted.
    let refused = unsafe { stream.enqueue(&[], nested) };
    let Err(Status::Cuda(error)) = refused else { panic!("{refused:?}") };
    assert_eq!(error.detail(), &Detail::NESTED);
    // What failed holds nothing up.
    memset_async(&mut x, 1, &stream).unwrap();
    assert_eq!(x.to_vec().unwrap(), [1; 64]);
}

/// A function of another library that the host calls: copies bytes of any memory.
unsafe fn copy_now(to: *mut u8, from: *const u8, bytes: usize) -> std::result::Result<usize, Status> {
    // SAFETY: the caller guarantees that both addresses have the bytes.
    unsafe { check!(cudaMemcpy(to.cast(), from.cast(), bytes, sys::cudaMemcpyDefault)) }?;
    // A copy from pageable memory returns once the host's side is read.
    // SAFETY: the legacy stream always exists.
    unsafe { check!(cudaStreamSynchronize(std::ptr::null_mut())) }?;
    Ok(bytes)
}

#[test]
fn memory_that_is_lent_to_a_call_of_the_host_is_complete_and_comes_back() -> Result<()> {
    let alone = alone();
    let (a, b) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let mut x = DeviceBuffer::<u8>::alloc(64)?;
    let mut found = [0; 32];
    let gate = Gate::on(&alone, &a);
    memset_async(&mut x, 5, &a)?;
    let opens = std::thread::spawn(|| gate.open());
    let part = x.slice(16..48)?;
    // SAFETY: the array has as many bytes as are lent.
    let read = |pointer, bytes| unsafe { copy_now(found.as_mut_ptr(), pointer, bytes) };
    // SAFETY: the call reads the bytes that are lent, and is complete when it returns.
    let read = unsafe { part.lend(read) };
    opens.join().unwrap();
    assert_eq!((read, found), (Ok(32), [5; 32]));
    // A write waits for readers, and later work sees it.
    let mut down = PinnedBuffer::<u8>::alloc(64)?;
    let gate = Gate::on(&alone, &a);
    memcpy_async(&mut down, &x, &a)?;
    let opens = std::thread::spawn(|| gate.open());
    let from = [9; 64];
    // SAFETY: the array has as many bytes as are lent.
    let write = |pointer, bytes| unsafe { copy_now(pointer, from.as_ptr(), bytes) };
    // SAFETY: the call writes the bytes that are lent, and is complete when it returns.
    let written = unsafe { x.lend_mut(write) };
    opens.join().unwrap();
    assert_eq!((written, &down.host()?[..]), (Ok(64), &[5; 64][..]));
    memcpy_async(&mut down, &x, &b)?;
    assert_eq!(down.host()?[..], [9; 64]);
    let empty = DeviceBuffer::<u32>::alloc(0)?;
    // SAFETY: nothing is done.
    let lent = unsafe { empty.lend(|pointer, bytes| Result::Ok((pointer, bytes))) }?;
    assert_eq!(lent, (std::ptr::null(), 0));
    Ok(())
}

#[test]
fn a_graph_that_writes_what_is_lent_to_the_host_is_refused_meanwhile() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let mut x = DeviceBuffer::<u8>::alloc(64)?;
    let graph = stream.capture(|captured| memset_async(&mut x, 7, captured))?;
    let mut exec = graph.instantiate()?;
    let mut launch = || exec.launch(&stream).map_err(|error| error.detail().clone());
    // SAFETY: nothing reads or writes the memory in this call.
    let refused: std::result::Result<_, Status> = unsafe { x.lend(|_, _| Ok(launch())) };
    assert_eq!(refused, Ok(Err(Detail::HOST_BORROWED)));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        // SAFETY: nothing reads or writes the memory in this call.
        unsafe { x.lend_mut(|_, _| -> Result<()> { panic!("as planned") }) }
    }));
    assert!(panicked.is_err());
    assert_eq!(launch(), Ok(()), "the loan is over");
    // SAFETY: nothing reads or writes the memory in this call.
    let failed: std::result::Result<(), _> = unsafe { x.lend(|_, _| Err(Status::Library(3))) };
    assert_eq!(failed, Err(Status::Library(3)));
    assert_eq!(x.to_vec()?, [7; 64]);
    Ok(())
}
