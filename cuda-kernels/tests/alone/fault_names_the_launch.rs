//! The emulator's fault names the line of the program that launched the kernel, and no line of the crate.
//!
//! Alone: the fault loses the device.
//! Not under sanitizers: only the emulator names lines.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![allow(unsafe_code, reason = "launches a kernel that faults")]

use cuda_kernels::kernels::fault_store;
use cuda_safe::{Stream, launch};
use cuda_testing::child::again;
use cuda_testing::{own_process, this_test};

/// The variable that is set in the process that faults.
const CHILD: &str = "CUDA_KERNELS_FAULT";

#[test]
fn the_first_frame_of_a_fault_is_the_caller_s_line() {
    own_process!();
    if std::env::var_os(CHILD).is_some() {
        let stream = Stream::new().unwrap();
        let nowhere = std::ptr::without_provenance_mut::<u32>(0x10);
        // SAFETY: the device refuses the access. The process ends after it.
        unsafe { launch!(fault_store.unchecked()<<<1, 1, 0, &stream>>>(nowhere, 1)) }.unwrap(); // the launch
        stream.synchronize().unwrap_err();
        return;
    }
    if std::env::var("CUDA_RUNNER").as_deref() != Ok("emulator") {
        println!("not on the emulator: nobody names lines");
        return;
    }
    let mut child = again(this_test!());
    child.arg("--nocapture").env(CHILD, "1").env("CUDA_EMULATOR_RACES", "1");
    let told = String::from_utf8(child.output().unwrap().stderr).unwrap();
    let is_launch = |line: &str| line.ends_with("// the launch");
    let line = include_str!("fault_names_the_launch.rs").lines().position(is_launch).unwrap() + 1;
    let mut lines = told.lines().skip_while(|line| !line.starts_with("CUDA emulator: fault: "));
    let first = lines.nth(1).unwrap_or_else(|| panic!("there is no fault:\n{told}"));
    let place = format!("fault_names_the_launch.rs:{line} in ");
    assert!(first.starts_with("    cudaLaunchKernel, at ") && first.contains(&place), "{place}:\n{told}");
    assert!(!told.contains("cuda-safe/src/") && !told.contains("start_thread"), "{told}");
}
