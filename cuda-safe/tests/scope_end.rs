//! Scopes whose end fails. (The end that fails because the device is lost: `fault_with_memory_in_flight` of `cuda-kernels`.)
#![expect(unsafe_code, reason = "makes a stream unusable behind the crate's back")]
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use common::Gate;
use cuda_safe::error::Detail;
use cuda_safe::{DeviceBuffer, Stream, check, sys};

/// Set in the process that is to be aborted.
const CHILD: &str = "CUDA_SAFE_SCOPE_END";

/// What a process that comes back from its scope says.
const CAME_BACK: &str = "the scope has returned";

#[test]
fn a_scope_that_cannot_wait_for_its_work_ends_the_process() {
    let name = "a_scope_that_cannot_wait_for_its_work_ends_the_process";
    if std::env::var_os(CHILD).is_some() {
        return end_a_scope_that_cannot_wait();
    }
    let this = std::env::current_exe().unwrap();
    let child = Command::new(this).args([name, "--exact", "--nocapture"]).env(CHILD, "1").output().unwrap();
    let told = String::from_utf8_lossy(&child.stdout).into_owned() + &String::from_utf8_lossy(&child.stderr);
    assert_eq!(child.status.signal(), Some(libc::SIGABRT), "{told}");
    assert!(told.contains("a scope could not be brought to its end"), "{told}");
    assert!(!told.contains(CAME_BACK), "{told}");
}

/// The stream is made such that waiting for it fails, and not because the device is lost.
fn end_a_scope_that_cannot_wait() {
    let stream = Stream::non_blocking().unwrap();
    let device = DeviceBuffer::from_slice(&[1_u8; 64]).unwrap();
    let mut borrowed = [0_u8; 64];
    let answer = stream.scope(|scope| {
        scope.memcpy_async(&mut borrowed, &device).unwrap();
        let raw = scope.stream().as_raw();
        // SAFETY: the stream is live; nothing that is captured is ever run.
        let begun = unsafe { check!(cudaStreamBeginCapture(raw, sys::cudaStreamCaptureModeThreadLocal)) };
        if let Err(refused) = begun {
            // A runtime without captures is the emulator, to which a destroyed stream is an error like any other.
            assert_eq!(refused.code(), sys::cudaErrorNotSupported);
            assert!(std::env::var_os("CUDA_TEST_REQUIRE_GPU").is_none(), "a GPU's runtime captures");
            // SAFETY: the emulator keeps no memory behind its handles, and knows those that it has taken back.
            unsafe { check!(cudaStreamDestroy(raw)) }.unwrap();
        }
    });
    println!("{CAME_BACK}: {answer:?}");
}

#[test]
fn a_host_function_that_panics_in_a_scope_is_reported_and_all_is_over() {
    let stream = Stream::non_blocking().unwrap();
    let device = DeviceBuffer::from_slice(&[7_u8; 64]).unwrap();
    let mut borrowed = [0_u8; 64];
    let gate = Gate::on(&stream);
    let opener = std::thread::spawn(move || gate.open());
    let error = stream
        .scope(|scope| {
            scope.stream().launch_host_fn(|| panic!("as planned")).unwrap();
            scope.memcpy_async(&mut borrowed, &device).unwrap();
        })
        .unwrap_err();
    assert!(matches!(error.detail(), Detail::CallbackPanicked { .. }), "{error}");
    assert_eq!(borrowed, [7; 64], "the copy behind the panic is over too");
    stream.scope(|_| ()).unwrap();
    opener.join().unwrap();
}
