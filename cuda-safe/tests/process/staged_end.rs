//! Copies that are running when the process ends, or forks.
//!
//! Not under sanitizers: processes end in the middle of a copy.
#![cfg(feature = "staged")]
#![expect(unsafe_code, reason = "forks")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::mpsc::channel;

use cuda_safe::copy::staged::{Settings, configure, statistics};
use cuda_safe::{DeviceBuffer, Stream, memcpy};
use cuda_testing::child::again;
use cuda_testing::{Gate, alone, this_test};

/// Set in the process that will end.
const CHILD: &str = "CUDA_SAFE_STAGED_END";

/// Everything is staged, in small pieces, by several threads.
fn stage_everything() {
    configure(Settings {
        threshold: Some(1),
        threads: Some(3),
        chunk: Some(4096),
        pinned: 1 << 20,
        ..Settings::default()
    });
}

/// Starts a thread that copies for ever. Returns once it has copied some bytes.
fn copy_for_ever() {
    std::thread::spawn(|| {
        let host = vec![7_u8; 1 << 20];
        let mut device = DeviceBuffer::<u8>::alloc(host.len()).unwrap();
        // The end of the process is an error like any other one.
        while memcpy(&mut device, &host).is_ok() {}
        // The runtime's answer to freeing a buffer now does not matter here.
        let _ = std::mem::ManuallyDrop::new(device);
        loop {
            std::thread::park();
        }
    });
    while statistics().copies < 3 {
        std::thread::yield_now();
    }
}

/// Runs a test of this file as a separate process, with the variable set.
fn end(test: &str) -> (ExitStatus, String) {
    let child = again(test).arg("--nocapture").env(CHILD, "1").output().unwrap();
    let told = String::from_utf8_lossy(&child.stdout).into_owned() + &String::from_utf8_lossy(&child.stderr);
    (child.status, told)
}

/// Ends a process that hangs, with a signal that the parent sees.
fn within_half_a_minute() {
    // SAFETY: sets a timer whose signal ends the process.
    unsafe { libc::alarm(30) };
}

#[test]
fn a_process_that_ends_in_the_middle_of_a_copy_ends() {
    let _alone = alone();
    if std::env::var_os(CHILD).is_some() {
        within_half_a_minute();
        stage_everything();
        copy_for_ever();
        std::process::exit(43);
    }
    for _ in 0..5 {
        let (status, told) = end(this_test!());
        assert_eq!(status.code(), Some(43), "signal {:?}: {told}", status.signal());
    }
}

#[test]
fn a_process_ends_while_a_copy_waits_for_a_stream_that_never_comes_to_it() {
    let alone = alone();
    if std::env::var_os(CHILD).is_some() {
        within_half_a_minute();
        stage_everything();
        let (begun, begins) = channel();
        std::thread::spawn(move || {
            let stream = Stream::new().unwrap();
            let mut device = DeviceBuffer::<u8>::alloc(1 << 16).unwrap();
            // Warm: everything that a copy needs exists.
            memcpy(&mut device, &vec![1_u8; 1 << 16]).unwrap();
            let gate = Gate::on(&alone, &stream);
            begun.send(()).unwrap();
            let _ = memcpy(&mut device, &vec![2_u8; 1 << 16]);
            drop(gate);
        });
        begins.recv().unwrap();
        std::process::exit(44);
    }
    let (status, told) = end(this_test!());
    assert_eq!(status.code(), Some(44), "signal {:?}: {told}", status.signal());
}

#[test]
fn the_child_of_a_fork_in_the_middle_of_a_copy_ends_by_itself() {
    let _alone = alone();
    if std::env::var_os(CHILD).is_some() {
        within_half_a_minute();
        stage_everything();
        copy_for_ever();
        // SAFETY: the child does not call the runtime, and takes no lock that a thread of the parent may
        // have held.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            // SAFETY: sets a timer whose signal ends the process.
            unsafe { libc::alarm(20) };
            // The exit functions run, including that of `cuda-staging`: it must not wait for threads that a
            // fork does not copy.
            // SAFETY: ends the process. This is its only thread.
            unsafe { libc::exit(0) };
        }
        let mut status = -1;
        // SAFETY: the pointer is to a live integer, which the call fills.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        let before = statistics().copies;
        while statistics().copies < before + 3 {
            std::thread::yield_now();
        }
        std::process::exit(if status == 0 { 45 } else { 1 });
    }
    let (status, told) = end(this_test!());
    assert_eq!(status.code(), Some(45), "signal {:?}: {told}", status.signal());
}
