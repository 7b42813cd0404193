//! After a fault each function fails, and each error names the line of its caller, not one of the crate.
//! `callbacks.rs` checks the same of refusals.
//!
//! Alone: the fault loses the device.
//!
//! Not under sanitizers: a kernel traps.
#![expect(unsafe_code, reason = "launches a kernel that faults")]
#![allow(clippy::unwrap_used, reason = "a test")]

use super::every_function::{FILE, Things, call_every_function};
use cuda_safe::library::Library;
use cuda_safe::{DeviceBuffer, Error, PinnedBuffer, Registered, Result, Stream, error, memcpy_async};
use cuda_testing::own_process;

const TRAP: &str = ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry ends() { trap; }";

/// Returns the error if it does not name a line of the caller's file, or names one of the crate besides.
fn misplaced(call: &str, error: &Error, file: &str) -> Option<String> {
    let wrong = error.call_site().file() != file || error.to_string().contains("src/");
    wrong.then(|| format!("{call}: {error}"))
}

#[test]
fn each_error_after_a_fault_names_the_line_of_its_caller() -> Result<()> {
    own_process!(Ok(()));
    let mut things = Things::new()?;
    let library = Library::from_ptx(TRAP)?;
    // SAFETY: the kernel has no parameters.
    let ends = unsafe { library.kernel::<()>("ends") }?;
    let stream = Stream::non_blocking()?;
    let device = DeviceBuffer::from_slice(&[1_u8; 64])?;
    let (mut written, mut pinned) = (DeviceBuffer::<u8>::alloc(64)?, PinnedBuffer::<u8>::alloc(64)?);
    let [mut lent, mut given] = [Registered::new(vec![1_u8; 64])?, Registered::new(vec![1_u8; 64])?];
    let done = stream.done();
    // SAFETY: the kernel accesses no memory.
    unsafe { ends.launch((1, 1), &stream, ()) }?;
    memcpy_async(&mut written, &device, &stream)?;
    memcpy_async(&mut pinned, &device, &stream)?;
    memcpy_async(&mut lent, &device, &stream)?;
    memcpy_async(&mut given, &device, &stream)?;

    let line = line!() + 1;
    let first = written.to_vec().unwrap_err();
    assert!(first.is_sticky(), "{first}");
    assert_eq!((first.call_site().file(), first.call_site().line()), (file!(), line), "{first}");
    assert!(!first.to_string().contains("first reported by"), "{first}");
    assert_eq!(error::first_sticky().as_ref().map(Error::call_site), Some(first.call_site()));
    // The same call again is no report of another one.
    let later = stream.synchronize().unwrap_err();
    assert!(
        later.to_string().contains(&format!("first reported by cudaMemcpy as {}", first.name())),
        "{later}"
    );

    let (mut failed, mut wrong) = (0, Vec::new());
    let mut here = |call: &str, error: Option<Error>| {
        let error = error.unwrap_or_else(|| panic!("{call} did not fail"));
        failed += 1;
        wrong.extend(misplaced(call, &error, file!()));
    };
    here("PinnedBuffer::host", pinned.host().err());
    here("PinnedBuffer::host_mut", pinned.host_mut().err());
    here("PinnedBuffer::slice.host", pinned.slice(1..)?.host().err());
    here("Registered::host", lent.host().err());
    here("Registered::host_mut", lent.host_mut().err());
    here("Registered::into_inner", given.into_inner().err().map(Error::from));
    here("Stream::synchronize", stream.synchronize().err());
    here("Stream::is_done", stream.is_done().err());
    drop(done);

    let mut every = 0;
    let tried = call_every_function(&mut things, |call, error| {
        if let Some(error) = error {
            every += 1;
            wrong.extend(misplaced(call, &error, FILE));
        }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(failed == 8 && every > 100, "{failed} and {every} of {tried} functions failed");
    Ok(())
}
