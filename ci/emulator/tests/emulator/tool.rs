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
        int main() { pair<<<1, 1>>>(0); return cudaGraphExternalSemaphoresSignalNodeGetParams(0, 0); }
    "#;
    let options = ["-cudart=shared", "-gencode=arch=compute_90a,code=compute_90a"];
    let program = compile("missing", source, &options);
    let output = emulate(&["--doctor", program.to_str().unwrap()]);
    let words = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(words.contains("cudaGraphExternalSemaphoresSignalNodeGetParams returns"), "{words}");
    assert!(words.contains("_Z4pairPi: multimem"), "{words}");
}

const RACES: &str = r#"
#include <cstdio>
#include <cuda_fp16.h>
__global__ void meets(__half2* p) {
    __shared__ int tile[32];
    tile[threadIdx.x / 2] = threadIdx.x;
    atomicAdd(p + 1, __float2half2_rn(tile[0]));
    if (threadIdx.x == 9) p[1] = p[2];
}
int main() {
    cudaDeviceProp it;
    cudaGetDeviceProperties(&it, 0);
    int count, access;
    cudaGetDeviceCount(&count);
    cudaDeviceCanAccessPeer(&access, 0, 1);
    printf("%s %d.%d, %d of %d, %zu, %d\n", it.name, it.major, it.minor, count, it.multiProcessorCount,
           it.sharedMemPerBlockOptin, access);
    __half2* p;
    cudaMalloc(&p, 64);
    cudaMemset(p, 0, 64);
    meets<<<1, 32>>>(p);
    return cudaDeviceSynchronize();
}
"#;

#[test]
fn a_run_for_ci_has_a_device_a_summary_a_report_and_an_exit_code() {
    let program =
        compile("meets", RACES, &["-cudart=shared", "-lineinfo", "-gencode=arch=compute_75,code=compute_75"]);
    let program = program.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (junit, report, accepted) = (file("junit.xml"), file("report.jsonl"), file("accepted"));
    let twice = format!("{program}; {program}; true");
    let mut options = vec!["run", "--device", "rtx4090x3", "--junit", &junit, "--report", &report];
    options.extend(["--", "/bin/sh", "-c", &twice]);
    let output = emulate(&options);
    let (said, words) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(99), "{words}");
    assert!(said.starts_with("NVIDIA GeForce RTX 4090 (CUDA emulator) 8.9, 3 of 128, 101376, 0\n"), "{said}");
    // The lines are those of the program, although the toolkit's headers have the instructions.
    for what in [
        "cuda-emulate: 2 processes on the emulator, 3 findings\n",
        "meets.cu:6 in meets(__half2*) (2 processes, 2 times)",
        "element 0 (bytes 0 to 4) of the array meets(__half2*)::tile",
        "element 1 (bytes 4 to 8) of 64 bytes of device memory",
        "meets.cu:7",
    ] {
        assert!(words.contains(what), "{what:?} is not in\n{words}");
    }
    let (xml, rows) = (std::fs::read_to_string(&junit).unwrap(), std::fs::read_to_string(&report).unwrap());
    assert!(xml.contains("tests=\"5\" failures=\"3\""), "{xml}");
    let rows: Vec<serde_json::Value> = rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    let race = rows.iter().find(|row| row["finding"] == "race").unwrap();
    let code = &race["parts"][0]["code"];
    assert!(code["line"] == 6 && code["file"].as_str().unwrap().ends_with("meets.cu"), "{race}");
    assert!(
        race["parts"][1]["thread"].is_array() && race["parts"][1]["block"] == serde_json::json!([0, 0, 0])
    );

    std::fs::write(
        &accepted,
        "race meets.cu:6  the last thread wins\nrace meets.cu:7\tas well\nleak x.cu:1 gone",
    )
    .unwrap();
    let run = |options: &[&str]| {
        emulate(&[&["run", "--suppress", &accepted][..], options, &["--", program]].concat())
    };
    let output = run(&[]);
    let words = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{words}");
    assert!(words.contains("0 findings, 3 suppressed\n"), "{words}");
    assert!(
        words.contains("suppressed: the last thread wins\n") && !words.contains("CUDA emulator: race:"),
        "{words}"
    );
    assert!(words.contains(":3: suppresses nothing in this run: leak x.cu:1 gone\n"), "{words}");
    std::fs::write(&accepted, "").unwrap();
    assert_eq!(run(&["--fail-on", "leak,fault"]).status.code(), Some(0));
    assert_eq!(run(&["--fail-on", "leak,race", "--exit-code", "7"]).status.code(), Some(7));
    let output = emulate(&["run", "--", "/bin/true"]);
    assert!(output.status.code() == Some(99) && text(&output.stderr).contains("  nothing was checked: "));
    assert_eq!(emulate(&["run", "--fail-on", "none", "--", "/bin/true"]).status.code(), Some(0));
}

#[test]
fn a_run_that_is_ended_by_a_signal_has_its_summary_and_leaves_nothing_behind() {
    let program =
        compile("meets", RACES, &["-cudart=shared", "-lineinfo", "-gencode=arch=compute_75,code=compute_75"]);
    let folder = tempfile::tempdir().unwrap();
    let [junit, mark] = ["junit.xml", "mark"].map(|name| folder.path().join(name));
    // The program, then one that goes on for long and names itself.
    let command = format!("{}; sleep 60 & echo $! > {}; wait", program.display(), mark.display());
    let mut run = Command::new(env!("CARGO_BIN_EXE_cuda-emulate"));
    run.args(["run", "--junit", junit.to_str().unwrap(), "--", "/bin/sh", "-c", &command]);
    run.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR")).stdin(std::process::Stdio::null());
    let run = run.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let started = || std::fs::read_to_string(&mark).ok().filter(|it| it.ends_with('\n'));
    while started().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let sleeps = started().unwrap().trim().to_owned();
    assert!(Command::new("kill").arg(run.id().to_string()).status().unwrap().success());
    let output = run.wait_with_output().unwrap();
    let words = text(&output.stderr);
    assert_eq!(output.status.code(), Some(143), "{words}");
    assert!(words.contains("cuda-emulate: 1 process on the emulator, 3 findings\n"), "{words}");
    assert!(std::fs::read_to_string(&junit).unwrap().contains("failures=\"3\""));
    let state = std::fs::read_to_string(format!("/proc/{sleeps}/stat")).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "sleep goes on: {state}");
}

#[test]
fn launches_wait_for_their_kernels_and_devices_are_hidden_where_variables_of_cuda_say_so() {
    let source = r#"
#include <cstdio>
__global__ void bad(char* p) { *(int*)(p + 1) = 7; }
int main() {
    int count;
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code != cudaSuccess) return std::printf("%s\n", cudaGetErrorName(code)), 0;
    char* p;
    cudaMalloc(&p, 64);
    bad<<<1, 1>>>(p);
    std::printf("%d %s\n", count, cudaGetErrorName(cudaGetLastError()));
}
"#;
    let program = compile("variables", source, &["-cudart=shared", PTX]);
    let run = |name: &str, value: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cuda-emulate"));
        command.arg(&program).env_clear().env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
        text(&command.env(name, value).output().unwrap().stdout)
    };
    assert_eq!(run("CUDA_LAUNCH_BLOCKING", "0"), "2 cudaSuccess\n");
    assert_eq!(run("CUDA_LAUNCH_BLOCKING", "1"), "2 cudaErrorMisalignedAddress\n");
    assert_eq!(run("CUDA_VISIBLE_DEVICES", "1"), "1 cudaSuccess\n");
    assert_eq!(run("CUDA_VISIBLE_DEVICES", ""), "cudaErrorNoDevice\n");
}

#[test]
fn a_kernel_that_polls_is_named_with_its_line_the_bytes_and_whether_anybody_wrote_them() {
    let source = r#"
#include <unistd.h>
__global__ void waits(volatile int* flag) {
    while (flag[2] != 7) {}
}
int main() {
    int* flag;
    cudaMalloc(&flag, 64);
    waits<<<1, 32>>>(flag);
    cudaStreamQuery(0);
    sleep(6);
    _exit(0);
}
"#;
    let program = compile("polls", source, &["-cudart=shared", "-lineinfo", PTX]);
    let words = text(&emulate(&[program.to_str().unwrap()]).stderr);
    for what in [
        "note: kernel waits(int volatile*) has polled for ",
        "it reads element 2 (bytes 8 to 12) of 64 bytes of device memory",
        "polls.cu:4, which stay 0xcdcdcdcd; nobody has ever written them",
    ] {
        assert!(words.contains(what), "{what:?} is not in\n{words}");
    }
}

#[test]
fn the_end_says_what_was_approximate() {
    let source = r#"
__global__ void approximate(float* p) { p[0] = __sinf(p[1]); p[2] = clock64(); }
int main() { float* p; cudaMalloc(&p, 64); approximate<<<1, 1>>>(p); return cudaDeviceSynchronize(); }
"#;
    let program = compile("approximate", source, &["-cudart=shared", PTX]);
    let words = text(&emulate(&[program.to_str().unwrap()]).stderr);
    let line =
        "CUDA emulator: approximate: math instructions with .approx (their last bits), clocks in kernels";
    assert!(words.starts_with(line) && words.lines().count() == 1, "{words}");
    let program = compile("shared", SOURCE, &["-cudart=shared", PTX]);
    assert_eq!(text(&emulate(&[program.to_str().unwrap()]).stderr), "");
}

#[test]
fn the_status_is_the_programs_and_a_missing_one_or_a_wrong_option_has_its_own() {
    assert_eq!(emulate(&["/bin/sh", "-c", "exit 7"]).status.code(), Some(7));
    assert_eq!(emulate(&["/nowhere/at/all"]).status.code(), Some(127));
    assert_eq!(emulate(&["--docter"]).status.code(), Some(2));
    assert_eq!(emulate(&["--doctor", "/etc/passwd"]).status.code(), Some(1));
    assert_eq!(emulate(&[]).status.code(), Some(2));
}
