//! Calls of other libraries: their memory, and their own errors.
#![expect(unsafe_code, reason = "makes calls of the runtime as another library does")]
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{Gate, alone};
use cuda_safe::error::Detail;
use cuda_safe::hazard;
use cuda_safe::memory::ManagedBuffer;
use cuda_safe::{DeviceBuffer, Error, PinnedBuffer, Registered, Result, Stream, check, memset_async, sys};

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
        registered.device_ptr()?.cast_const(),
    );
    let part = device.slice(2..4)?;
    // SAFETY: nothing is submitted that uses the memory: it stays as it is.
    let found = unsafe {
        stream.call((&part, &mut pinned, &mut managed, &registered), |raw, pointers| {
            common::put_nothing(raw).map(|()| pointers)
        })
    }?;
    assert_eq!(found, expected);
    let whole = device.as_mut_ptr();
    // SAFETY: as above.
    let alone =
        unsafe { stream.call(&mut device, |raw, pointer| common::put_nothing(raw).map(|()| pointer)) }?;
    assert_eq!(alone, whole);
    // SAFETY: as above.
    unsafe { stream.call((&mut registered,), |raw, _| common::put_nothing(raw)) }?;
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
    // SAFETY: as above.
    let failed: std::result::Result<(), _> = unsafe { stream.enqueue(&[], |_| Err(Status::Library(7))) };
    assert_eq!(failed, Err(Status::Library(7)));
    let nested = |_| -> std::result::Result<(), Status> {
        // SAFETY: the call is refused.
        unsafe { stream.enqueue(&[], |_| Ok(())) }
    };
    // SAFETY: nothing is submitted.
    let refused = unsafe { stream.enqueue(&[], nested) };
    let Err(Status::Cuda(error)) = refused else { panic!("{refused:?}") };
    assert_eq!(error.detail(), &Detail::Nested);
    // What failed holds nothing up.
    memset_async(&mut x, 1, &stream).unwrap();
    assert_eq!(x.to_vec().unwrap(), [1; 64]);
}
