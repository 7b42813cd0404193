//! CUDA C++ programs with kernels, compiled here by nvcc, run on the built library.

use std::path::PathBuf;
use std::process::Command;

use super::built;

/// Compiles a program with an option.
fn compile(name: &str, option: &str) -> PathBuf {
    compile_for(&["-gencode=arch=compute_90,code=compute_90"], name, option)
}

/// Compiles a program for architectures.
fn compile_for(archs: &[&str], name: &str, option: &str) -> PathBuf {
    let toolkit = built::toolkit();
    let mut command = Command::new(toolkit.nvcc().expect("nvcc"));
    command
        .args(["-std=c++17", "-cudart=shared", option])
        .args(archs)
        .arg(format!("-L{}", toolkit.root().join("lib").display()))
        .arg(format!("tests/programs/{name}.cu"))
        .arg(format!("-L{}", built::folder().display()));
    built::made(name, &mut command)
}

/// The output of a program.
fn printed(program: &PathBuf, arguments: &[&str]) -> String {
    let output =
        Command::new(program).args(arguments).env("LD_LIBRARY_PATH", built::folder()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn tensor_cores_multiply_tiles_and_a_wait_that_is_forgotten_shows() {
    let program = compile("gemm", "-rdc=false");
    assert_eq!(printed(&program, &[]), "cudaSuccess, right\n");
    assert_eq!(printed(&program, &["forgets"]), "cudaSuccess, wrong\n");
}

#[test]
fn thrust_sums_selects_sorts_and_scans() {
    // The code for `sm_90` cannot run here. The launches must have the shape for the PTX, which does.
    let archs = ["-gencode=arch=compute_90,code=sm_90", "-gencode=arch=compute_75,code=compute_75"];
    assert_eq!(
        printed(&compile_for(&archs, "thrust", "-rdc=false"), &[]),
        "reduce: right\ncopy_if: right\nsort: right\ninclusive_scan: right\n"
    );
}

#[test]
fn what_real_programs_do_goes_as_on_hardware_in_every_schedule() {
    let program = compile("found", "-rdc=true");
    for case in ["conditionals", "polls", "textures", "captures", "graph_memory", "rounding", "shared"] {
        for schedule in ["late", "eager", "random:1", "random:2"] {
            let (code, stderr) = built::ended(built::command(&program, schedule).arg(case));
            assert_eq!(code, Some(0), "{case} under {schedule}:\n{stderr}");
        }
    }
}

#[test]
fn images_are_read_by_the_formulas_of_the_programming_guide() {
    let program = compile("texture", "-rdc=false");
    let output = printed(&program, &[]);
    assert!(output.ends_with("test result: ok. 6 passed; 0 failed; 0 ignored; 0 measured\n"), "{output}");
}
