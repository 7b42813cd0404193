//! With `launch::set_blocking`, the launch that faults is the one that reports it, with its line.
//!
//! Alone: each fault loses the device.
//! Not under sanitizers: a kernel traps.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![allow(unsafe_code, reason = "launches kernels that fault")]

use cuda_kernels::kernels::{add_one, fault_trap};
use cuda_safe::{DeviceBuffer, Result, Stream, launch, memset_async, sys};
use cuda_testing::child::again;
use cuda_testing::{own_process, this_test};

/// The variable that is set in the process that gets its mode by the environment.
const CHILD: &str = "CUDA_KERNELS_BLOCKING";

/// Makes launches of which the second one traps, and returns its line and error.
fn second_of_three(stream: &Stream) -> (u32, Result<()>, Result<()>) {
    let mut numbers = DeviceBuffer::<i32>::from_slice(&[1; 64]).unwrap();
    launch!(add_one<<<1, 64, 0, stream>>>(&mut numbers, 64)).unwrap();
    // SAFETY: the kernel accesses nothing.
    let second = unsafe { launch!(fault_trap.unchecked()<<<1, 1, 0, stream>>>()) };
    let line = line!() - 1;
    (line, second, launch!(add_one<<<1, 64, 0, stream>>>(&mut numbers, 64)))
}

#[test]
fn the_launch_that_faults_reports_it_with_its_name_and_line() {
    own_process!();
    launch::set_blocking(true);
    let stream = Stream::non_blocking().unwrap();
    let (line, second, third) = second_of_three(&stream);
    let error = second.unwrap_err();
    assert!(error.is_sticky() && error.code() == sys::cudaErrorLaunchFailure, "{error}");
    assert_eq!((error.call_site().file(), error.call_site().line()), (file!(), line));
    let text = error.to_string();
    assert!(text.contains("trap") && text.contains("the launch at this line failed while it ran"), "{text}");
    third.unwrap_err();
}

#[test]
fn without_the_mode_the_launch_returns_before_it_faults() {
    own_process!();
    let stream = Stream::non_blocking().unwrap();
    let (_, second, _) = second_of_three(&stream);
    second.unwrap();
    assert!(!stream.synchronize().unwrap_err().to_string().contains("at this line"));
}

#[test]
fn a_graph_that_faults_is_named_when_it_is_launched_and_not_when_it_is_captured() {
    own_process!();
    launch::set_blocking(true);
    let mut stream = Stream::non_blocking().unwrap();
    let graph = stream.capture(|stream| {
        // SAFETY: the kernel accesses nothing.
        unsafe { launch!(fault_trap.unchecked()<<<1, 1, 0, stream>>>()) }
    });
    let mut exec = graph.unwrap().instantiate().unwrap();
    let error = exec.launch(&stream).unwrap_err();
    assert_eq!(error.call_site().line(), line!() - 1);
    assert!(error.to_string().contains("GraphExec::launch"), "{error}");
}

#[test]
fn the_environment_turns_the_mode_on_and_the_program_off() {
    own_process!();
    if let Some(mode) = std::env::var_os(CHILD) {
        if mode == "off" {
            launch::set_blocking(false);
        }
        let stream = Stream::non_blocking().unwrap();
        let (_, second, _) = second_of_three(&stream);
        println!("{mode:?}: {}", if second.is_err() { "the launch" } else { "later" });
        return;
    }
    for (mode, expected) in [("on", "the launch"), ("off", "later")] {
        let mut child = again(this_test!());
        child.arg("--nocapture").env(CHILD, mode).env("CUDA_SAFE_LAUNCH_BLOCKING", "1");
        let told = String::from_utf8(child.output().unwrap().stdout).unwrap();
        assert!(told.contains(&format!("{mode:?}: {expected}")), "{mode}: {told}");
    }
}

#[test]
fn work_that_succeeds_is_complete_when_the_launch_returns() -> Result<()> {
    own_process!(Ok(()));
    launch::set_blocking(true);
    let stream = Stream::non_blocking()?;
    let mut numbers = DeviceBuffer::<i32>::alloc(64)?;
    memset_async(&mut numbers, 0, &stream)?;
    launch!(add_one<<<1, 64, 0, &stream>>>(&mut numbers, 64))?;
    assert!(stream.is_done()?);
    let time = launch::time_kernel(3, &stream, || launch!(add_one<<<1, 64, 0, &stream>>>(&mut numbers, 64)))?;
    assert!(time > std::time::Duration::ZERO);
    assert_eq!(numbers.to_vec()?, [5; 64], "once ahead, and three times");
    assert!(launch::time_kernel(0, &stream, || Ok(())).is_err());
    Ok(())
}
