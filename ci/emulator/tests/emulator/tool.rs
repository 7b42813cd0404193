//! The program `cuda-emulate`: it runs others, and says before what of them it can run.

use std::path::PathBuf;
use std::process::{Command, Output};

use super::built;

const SOURCE: &str = r#"
#include <cstdio>
__global__ void twice(int* p) { p[threadIdx.x] *= 2; }
int main() {
    int host[32], *device;
    for (int i = 0; i < 32; i++) host[i] = i;
    cudaMalloc(&device, sizeof host);
    cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);
    twice<<<1, 32>>>(device);
    cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
    printf("%s %d\n", cudaGetErrorName(cudaGetLastError()), host[31]);
}
"#;

/// Compiles a program with nvcc.
fn compile(name: &str, source: &str, options: &[&str]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("{name}.cu"));
    std::fs::write(&file, source).unwrap();
    let toolkit = built::toolkit();
    let devrt = toolkit.root().join("lib");
    let mut command = Command::new(toolkit.root().join("bin/nvcc"));
    command
        .args(options)
        .arg(&file)
        .args([format!("-L{}", built::folder().display()), format!("-L{}", devrt.display())]);
    built::made(name, &mut command)
}

/// The program without any variable except those of these tests.
fn emulate(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cuda-emulate"));
    command.args(arguments).env_clear().env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command.output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const PTX: &str = "-gencode=arch=compute_90,code=compute_90";
const MACHINE: &str = "-gencode=arch=compute_90,code=sm_90";

#[test]
fn a_program_runs_and_the_doctor_has_nothing_against_it() {
    let program = compile("shared", SOURCE, &["-cudart=shared", PTX]);
    let program = program.to_str().unwrap();
    assert_eq!(text(&emulate(&[program]).stdout), "cudaSuccess 62\n");
    let output = emulate(&["--doctor", program]);
    let words = text(&output.stdout);
    assert!(output.status.success(), "{words}");
    assert!(words.contains("1 in PTX for sm_90") && words.contains("the emulator runs it"), "{words}");
}

#[test]
fn separate_compilation_runs_although_nvccs_own_library_has_no_ptx() {
    let program = compile("apart", SOURCE, &["-cudart=shared", "-rdc=true", PTX]);
    let program = program.to_str().unwrap();
    assert_eq!(text(&emulate(&[program]).stdout), "cudaSuccess 62\n");
    assert!(emulate(&["--doctor", program]).status.success());
}

#[test]
fn a_kernel_that_launches_kernels_runs_and_one_that_launches_graphs_is_named() {
    let launch = "twice<<<1, 32>>>(device)";
    let child =
        SOURCE.replace("int main", "__global__ void parent(int* p) { twice<<<1, 32>>>(p); }\nint main");
    let child = child.replace(&format!("    {launch}"), "    parent<<<1, 1>>>(device)");
    let options = ["-cudart=shared", "-rdc=true", PTX];
    let program = compile("children", &child, &options);
    let program = program.to_str().unwrap();
    assert_eq!(text(&emulate(&[program]).stdout), "cudaSuccess 62\n");
    assert!(emulate(&["--doctor", program]).status.success());
    let graph =
        "__global__ void parent(cudaGraphExec_t it) { cudaGraphLaunch(it, cudaStreamGraphTailLaunch); }";
    let program =
        compile("device_graph", &format!("{graph}\nint main() {{ parent<<<1, 1>>>(0); }}"), &options);
    let output = emulate(&["--doctor", program.to_str().unwrap()]);
    let words = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(
        words.contains("a call of cudaGraphLaunch: kernels cannot launch or change graphs here"),
        "{words}"
    );
}

#[test]
fn machine_code_alone_is_named_before_and_while_it_runs() {
    for (name, options) in
        [("machine", &["-cudart=shared", MACHINE][..]), ("both", &["-cudart=shared", "-rdc=true", MACHINE])]
    {
        let program = compile(name, SOURCE, options);
        let program = program.to_str().unwrap();
        assert_eq!(text(&emulate(&[program]).stdout), "cudaErrorNoKernelImageForDevice 31\n", "{name}");
        let output = emulate(&["--doctor", program]);
        let words = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1));
        assert!(words.contains("machine code for sm 90") && words.contains("code=compute_XX"), "{words}");
    }
}

#[test]
fn a_static_runtime_is_named_before_and_while_it_runs() {
    let program = compile("static", SOURCE, &["-cudart=static", PTX]);
    let program = program.to_str().unwrap();
    let words = "its own copy of the runtime";
    assert!(text(&emulate(&[program]).stderr).contains(words));
    let output = emulate(&["--doctor", program]);
    assert!(text(&output.stdout).contains(words) && output.status.code() == Some(1));
}

#[test]
fn functions_and_instructions_that_are_missing_are_named_before_a_program_runs() {
    let source = r#"
        __global__ void pair(int* p) {
            asm("multimem.red.relaxed.sys.global.add.u32 [%0], 1;" :: "l"(p));
            *p = 1;
        }
        int main() { cudaGraphicsResource_t it = 0; pair<<<1, 1>>>(0); return cudaGraphicsUnregisterResource(it); }
    "#;
    let options = ["-cudart=shared", "-gencode=arch=compute_90a,code=compute_90a"];
    let program = compile("missing", source, &options);
    let output = emulate(&["--doctor", program.to_str().unwrap()]);
    let words = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(words.contains("cudaGraphicsUnregisterResource returns cudaErrorNotSupported"), "{words}");
    assert!(words.contains("_Z4pairPi: multimem"), "{words}");
}

#[test]
fn the_status_is_the_programs_and_a_missing_one_or_a_wrong_option_has_its_own() {
    assert_eq!(emulate(&["/bin/sh", "-c", "exit 7"]).status.code(), Some(7));
    assert_eq!(emulate(&["/nowhere/at/all"]).status.code(), Some(127));
    assert_eq!(emulate(&["--docter"]).status.code(), Some(2));
    assert_eq!(emulate(&["--doctor", "/etc/passwd"]).status.code(), Some(1));
    assert_eq!(emulate(&[]).status.code(), Some(2));
}
