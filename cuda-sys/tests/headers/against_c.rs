//! Layouts and inline helpers as a C++ compiler computes them, independent of libclang, which made the
//! bindings.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output};

use cuda_sys::*;

const BINDINGS: &str = include_str!(concat!(env!("OUT_DIR"), "/bindings.rs"));

fn compiler() -> Command {
    let mut command = Command::new(std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned()));
    for folder in std::env::split_paths(env!("CUDART_INCLUDE")) {
        command.arg("-I").arg(folder);
    }
    command
}

fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Writes a file that only this test uses.
fn scratch(name: &str, text: &str) -> PathBuf {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&file, text).unwrap();
    file
}

/// Bindgen's layout tests read `["Size of dim3"][::core::mem::size_of::<dim3>() - 12usize];`.
#[test]
fn sizes_and_offsets_are_the_compilers() {
    let mut source =
        String::from("#include <cstddef>\n#include <cuda_runtime_api.h>\n#include <library_types.h>\n");
    let (mut sizes, mut offsets) = (0, 0);
    // Rustfmt may have split a test into lines; joined again, each ends in "usize];".
    let text = BINDINGS.split_whitespace().collect::<Vec<_>>().join(" ");
    for test in text.split("[\"").skip(1).filter_map(|rest| rest.split_once("usize];")) {
        let (what, arithmetic) = test.0.split_once('"').unwrap();
        if what.contains("__bindgen") {
            continue;
        }
        let number = || arithmetic.rsplit_once("- ").unwrap().1.parse::<usize>().unwrap();
        if let Some(name) = what.strip_prefix("Size of ") {
            writeln!(source, "static_assert(sizeof({name}) == {}, \"{what}\");", number()).unwrap();
            sizes += 1;
        } else if let Some(field) = what.strip_prefix("Offset of field: ") {
            let (name, field) = field.rsplit_once("::").unwrap();
            // A field whose name is a Rust keyword has a trailing underscore.
            let field =
                if ["type_", "fn_", "ref_"].contains(&field) { field.trim_end_matches('_') } else { field };
            writeln!(source, "static_assert(offsetof({name}, {field}) == {}, \"{what}\");", number())
                .unwrap();
            offsets += 1;
        }
    }
    assert!(
        sizes > 50 && offsets > 200,
        "the layout tests were not understood: {sizes} sizes, {offsets} offsets"
    );
    let file = scratch("layouts.cpp", &source);
    let output = compiler().args(["-fsyntax-only", "-Wno-invalid-offsetof"]).arg(file).output();
    succeeded(&output.expect("a C++ compiler runs"));
}

const HELPERS: &str = r#"
#include <cstdio>
#include <cuda_runtime.h>
static void show(cudaChannelFormatDesc d) { printf("%d %d %d %d %d\n", d.x, d.y, d.z, d.w, (int)d.f); }
int main() {
    cudaExtent e = make_cudaExtent(1, 2, 3);
    printf("%zu %zu %zu\n", e.width, e.height, e.depth);
    cudaPos o = make_cudaPos(4, 5, 6);
    printf("%zu %zu %zu\n", o.x, o.y, o.z);
    cudaPitchedPtr p = make_cudaPitchedPtr((void *)16, 7, 8, 9);
    printf("%zu %zu %zu %zu\n", (size_t)p.ptr, p.pitch, p.xsize, p.ysize);
    show(cudaCreateChannelDescHalf());
    show(cudaCreateChannelDescHalf1());
    show(cudaCreateChannelDescHalf2());
    show(cudaCreateChannelDescHalf4());
    show(cudaCreateChannelDescNV12());
    uchar3 u = make_uchar3(1, 2, 3);
    printf("%d %d %d\n", u.x, u.y, u.z);
    double4 d = make_double4(1.5, 2.5, 3.5, 4.5);
    printf("%.1f %.1f %.1f %.1f\n", d.x, d.y, d.z, d.w);
    printf("%zu %zu\n", (size_t)cudaStreamLegacy, (size_t)cudaStreamPerThread);
    printf("%d %d\n", cudaCpuDeviceId, cudaInvalidDeviceId);
}
"#;

fn show(d: cudaChannelFormatDesc) -> String {
    format!("{} {} {} {} {}\n", d.x, d.y, d.z, d.w, d.f.0)
}

#[test]
fn inline_helpers_and_constants_give_what_they_give_in_c() {
    let source = scratch("helpers.cpp", HELPERS);
    let program = source.with_extension("");
    let mut command = compiler();
    command.args(["-w", "-o"]).arg(&program).arg(source);
    command.arg("-L").arg(concat!(env!("OUT_DIR"), "/lib")).arg("-lcudart");
    succeeded(&command.output().expect("a C++ compiler runs"));
    // Some helpers call the library, which needs no device for that. This uses the toolkit's own library,
    // however the test is run.
    let output =
        Command::new(&program).env("LD_LIBRARY_PATH", concat!(env!("OUT_DIR"), "/lib")).output().unwrap();
    succeeded(&output);

    let e = make_cudaExtent(1, 2, 3);
    let mut expected = format!("{} {} {}\n", e.width, e.height, e.depth);
    let o = make_cudaPos(4, 5, 6);
    expected += &format!("{} {} {}\n", o.x, o.y, o.z);
    let p = make_cudaPitchedPtr(std::ptr::without_provenance_mut(16), 7, 8, 9);
    expected += &format!("{} {} {} {}\n", p.ptr.addr(), p.pitch, p.xsize, p.ysize);
    expected += &show(cudaCreateChannelDescHalf());
    expected += &show(cudaCreateChannelDescHalf1());
    expected += &show(cudaCreateChannelDescHalf2());
    expected += &show(cudaCreateChannelDescHalf4());
    expected += &show(cudaCreateChannelDescNV12());
    let u = make_uchar3(1, 2, 3);
    expected += &format!("{} {} {}\n", u.x, u.y, u.z);
    let d = make_double4(1.5, 2.5, 3.5, 4.5);
    expected += &format!("{:.1} {:.1} {:.1} {:.1}\n", d.x, d.y, d.z, d.w);
    expected += &format!("{} {}\n", cudaStreamLegacy.addr(), cudaStreamPerThread.addr());
    expected += &format!("{cudaCpuDeviceId} {cudaInvalidDeviceId}\n");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}
