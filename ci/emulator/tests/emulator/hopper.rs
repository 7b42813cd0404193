//! Programs for `sm_90a`, compiled by nvcc, run on the built library: tensor maps, bulk copies and products
//! of warpgroups. They expect what an H200 gives.

use std::process::Output;

use super::built;

fn run(program: &str, arguments: &[&str], schedule: &str, races: &str) -> Output {
    let program = built::compile(program, &["-arch=compute_90a", "-code=compute_90a"]);
    let mut command = built::command(program, schedule);
    command.args(arguments).env("CUDA_EMULATOR_RACES", races).output().unwrap()
}

#[test]
fn tensors_are_copied_and_matrices_multiplied_as_on_hardware() {
    for (schedule, races) in [("late", "0"), ("eager", "1"), ("random:1", "1")] {
        let output = run("hopper", &[], schedule, races);
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{schedule}: {stdout}\n{stderr}");
        assert_eq!(stdout.lines().filter(|line| line.ends_with(": PASS")).count(), 18, "{stdout}");
        assert!(!stderr.contains("findings"), "{schedule}: {stderr}");
    }
}

#[test]
fn maps_are_made_and_elements_converted_as_an_h200_answered() {
    let found: String = ["maps", "no_maps", "numbers", "outside"]
        .map(|question| String::from_utf8(run("hopper_ask", &[question], "late", "0").stdout).unwrap())
        .concat();
    // An H200 ends the process there.
    let found: Vec<_> = found.lines().filter(|line| !line.starts_with("no map, another")).collect();
    let known: Vec<_> = include_str!("../programs/hopper_ask.txt").lines().collect();
    assert_eq!(found, known);
}

#[test]
fn mistakes_are_faults_that_say_how_or_give_wrong_values() {
    for (mistake, printed, words) in [
        ("right", "cudaSuccess, 0 0", ""),
        ("misaligned_box", "cudaErrorMisalignedAddress", "is not aligned to 128 bytes"),
        ("misaligned_bytes", "cudaErrorMisalignedAddress", "is not aligned to 16 bytes"),
        ("odd_size", "cudaErrorMisalignedAddress", "1020 bytes, which are no multiple of 16"),
        ("wrong_map", "cudaErrorIllegalInstruction", "was not made by cuTensorMapEncodeTiled"),
        ("wrong_rank", "cudaErrorIllegalInstruction", "is of 2 dimensions and not of 3"),
        ("odd_column", "cudaErrorIllegalInstruction", "begins 12 bytes into its rows"),
        ("before_tensor", "cudaErrorIllegalInstruction", "written from element -1 of a dimension on"),
        ("outside_memory", "cudaErrorIllegalAddress", "the allocation from"),
        ("past_shared", "cudaErrorIllegalAddress", "shared write of 1024 bytes"),
        ("unbegun", "cudaErrorLaunchFailure", "was not begun by mbarrier.init"),
        ("expects_more", "cudaErrorLaunchFailure", "waits for 16 bytes that no copy brings"),
        ("counts_too_much", "cudaErrorLaunchFailure", "would count -1048576 bytes: 1048575 are possible"),
        ("expects_less", "cudaErrorLaunchFailure", "has counted 16 bytes more than it expects"),
        ("no_wait", "cudaSuccess, -1 -1", ""),
        ("no_wait_for_store", "cudaSuccess, 7 7", ""),
        ("no_such_block", "cudaErrorIllegalInstruction", "of a cluster, which has 1"),
        ("no_fence", "cudaErrorIllegalInstruction", "without a wgmma.fence before it"),
        ("no_wait_for_product", "cudaErrorLaunchFailure", "whose group nobody waits for"),
        ("half_warpgroup", "cudaErrorIllegalInstruction", "fewer than the four whole warps"),
        ("far_descriptor", "cudaErrorIllegalAddress", "shared read of 16 bytes at 0x3f000"),
        ("other_descriptors", "cudaErrorIllegalInstruction", "give different descriptors"),
    ] {
        let output = run("hopper_mistakes", &[mistake], "late", "0");
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(stdout.contains(printed), "{mistake}: {stdout}\n{stderr}");
        assert!(stderr.contains(words), "{mistake}: {stderr}");
    }
    // The right program and one without the fence, with the checks of races.
    let found = |mistake| {
        let output = run("hopper_mistakes", &[mistake], "late", "1");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(!found("right").contains("CUDA emulator"), "{}", found("right"));
    let words = "no fence.proxy.async between a write of shared memory and a bulk copy or wgmma";
    assert!(found("no_proxy_fence").contains(words), "{}", found("no_proxy_fence"));
}
