//! nvcc and Rust agree about the types of kernels, or the build says what differs.
//!
//! Each build is a process of its own, as a build script is: this program starts itself.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

use std::fs;
use std::path::Path;
use std::process::Command;

/// The build script. The other tests start it, in the folder of the kernels.
#[test]
#[ignore = "the other tests start it"]
fn build_script() {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let words = |name: &str| variable(name).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let mut build = cuda_kernels_build::Build::new().archs(["compute_75"]).include(".");
    for file in words("SOURCES") {
        build = build.kernels(file);
    }
    for flag in words("FLAGS") {
        build = build.flag(&flag);
    }
    build.files(words("FILES")).headers(words("HEADERS")).compile("k");
}

/// The platform of this program.
const TARGET: &str =
    if cfg!(target_arch = "aarch64") { "aarch64-unknown-linux-gnu" } else { "x86_64-unknown-linux-gnu" };

/// Builds these files, of which the variables name some. Returns the generated text or the errors, and all
/// that the build said.
fn build(files: &[(&str, &str)], variables: &[(&str, &str)]) -> (Result<String, String>, String) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    build_in(folder.path(), variables)
}

fn build_in(folder: &Path, variables: &[(&str, &str)]) -> (Result<String, String>, String) {
    let run = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "build_script", "--ignored", "--nocapture"])
        .current_dir(folder)
        .env("OUT_DIR", folder)
        .envs([("TARGET", TARGET), ("HOST", TARGET), ("NUM_JOBS", "2")])
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
    let errors: Vec<_> = said.lines().filter_map(|line| line.strip_prefix("cargo::error=")).collect();
    let result = match run.status.success() {
        true => Ok(fs::read_to_string(folder.join("k.rs")).unwrap_or_default()),
        false => Err(errors.join("\n")),
    };
    (result, said)
}

/// Returns the errors of a source with this text before its kernel.
fn refused(text: &str, kernel: &str) -> String {
    let source = format!("{text}\n__global__ void kernel({kernel}) {{}}\n");
    let (result, said) = build(&[("k.cu", &source)], &[("SOURCES", "k.cu")]);
    result.expect_err(&said)
}

const ALIGN: &str = "#ifdef __CUDACC__\n#define ALIGN(n) __align__(n)\n#define DEVICE(x) x\n#else\n\
                     #define ALIGN(n)\n#define DEVICE(x)\n#endif\n";

#[test]
fn a_type_that_nvcc_sees_otherwise_is_refused_with_its_name_and_both_numbers() {
    // One source: nvcc names all that it finds.
    let (mut source, mut all): (_, Vec<&str>) = (ALIGN.to_owned(), Vec::new());
    for (at, (text, kernel, expected)) in [
        (
            "struct ALIGN(16) Vec3 { float x, y, z; };",
            "Vec3* p",
            &[
                "the size of `Vec3`: 16 bytes for nvcc, 12 in Rust",
                "the alignment of `Vec3`: 16 bytes for nvcc, 4",
            ][..],
        ),
        (
            "struct Grown { int a; DEVICE(int b;) };",
            "Grown* p",
            &["size of `Grown`: 8 bytes for nvcc, 4 in Rust"],
        ),
        (
            "struct Swapped { DEVICE(int a;) float b;\n#ifndef __CUDACC__\nint a;\n#endif\n};",
            "Swapped by, Swapped* p",
            &["field `b` in `Swapped`: 4 bytes for nvcc, 0", "field `a` in `Swapped`: 0 bytes for nvcc, 4"],
        ),
        // The whole type depends on nvcc, and only the kernel needs it.
        (
            "#ifdef __CUDACC__\nstruct Twice { int a, b; };\n#else\nstruct Twice { int a; };\n#endif",
            "const Twice* const* p",
            &["size of `Twice`: 8 bytes for nvcc, 4 in Rust"],
        ),
        // Nested, packed, in arrays, private, nameless, with bit fields, in bases, of variables.
        (
            "namespace n { struct Out { struct In { char c; DEVICE(char d;) }; In in; char e[3]; }; }",
            "int* p",
            &["size of `n::Out::In`: 2", "field `e` in `n::Out`: 2 bytes for nvcc, 1 in Rust"],
        ),
        (
            "#ifdef __CUDACC__\n#pragma pack(push, 1)\n#endif\nstruct Packed { char c; int i; };\n\
             #ifdef __CUDACC__\n#pragma pack(pop)\n#endif",
            "Packed* p",
            &["field `i` in `Packed`: 1 bytes for nvcc, 4 in Rust", "size of `Packed`: 5 bytes for nvcc, 8"],
        ),
        (
            "struct Inner { ALIGN(8) float x; float y; }; struct Outer { Inner parts[3]; int n; };",
            "Outer* p",
            &["field `n` in `Outer`: 24 bytes for nvcc, 24", "size of `Outer`: 32"][1..],
        ),
        (
            "class Private { DEVICE(int b;) int a; int c; public: Private() = default; };",
            "Private* p",
            &["field `a` in `Private`: 4 bytes for nvcc, 0 in Rust"],
        ),
        (
            "struct Nameless { struct { DEVICE(float y;) float x; };\n\
             struct { DEVICE(char d;) char c; } s[2]; };",
            "Nameless* p",
            &[
                "field `x` in `Nameless`: 4 bytes for nvcc, 0",
                "field `s[0].c` in `Nameless`: 9 bytes for nvcc, 4",
            ],
        ),
        (
            "struct Bits { unsigned a : 3; DEVICE(unsigned long long b : 40;) };",
            "Bits* p",
            &["size of `Bits`: 8"],
        ),
        (
            "struct Base { DEVICE(int b;) int a; }; struct Derived : Base {};",
            "Derived* p",
            &["size of `Base`: 8"],
        ),
        (
            "enum Color\n#ifdef __CUDACC__\n: unsigned char\n#endif\n{ Red };",
            "Color* p",
            &["size of `Color`: 1 bytes for nvcc, 4 in Rust"],
        ),
        ("struct Tap { DEVICE(int b;) int a; }; __constant__ Tap taps[2];", "int* p", &["size of `Tap`: 8"]),
        (
            "union Both { int i; DEVICE(double d;) };",
            "Both* p",
            &["size of `Both`: 8 bytes for nvcc, 4 in Rust"],
        ),
        (
            "namespace n { template <class T, int N> class View { DEVICE(int b;) T* p; int n[N]; }; }",
            "n::View<float, 2> v",
            &["size of `n::View<float, 2>`: 24 bytes for nvcc, 16 in Rust"],
        ),
        (
            "#ifdef __CUDACC__\ntypedef double real;\n#else\ntypedef float real;\n#endif\n\
             extern \"C\" __global__ void typed(real* p) {}",
            "int* p",
            &["the parameters of kernel `::typed`: nvcc has another type"],
        ),
    ]
    .into_iter()
    .enumerate()
    {
        source += &format!("{text}\n__global__ void kernel{at}({kernel}) {{}}\n");
        all.extend(expected);
    }
    let said = refused(&source, "int* p");
    for expected in all {
        assert!(said.contains(expected), "{expected} is not in {said}");
    }
    assert!(said.contains("__CUDACC__") && said.contains("alignas"), "{said}");
    // Only the pass for the device sees this one.
    let text = "#ifdef __CUDA_ARCH__\n#define MORE int b;\n#else\n#define MORE\n#endif\n\
                struct Arch { MORE int a; };";
    let said = refused(text, "Arch* p");
    assert!(said.contains("size of `Arch`: 8 bytes for nvcc, 4 in Rust"), "{said}");
    // A mistake of the source is not hidden by those that follow from it, and stands at the end.
    let (result, said) = build(
        &[(
            "k.cu",
            "#ifdef __CUDACC__\n#define INT imt\n#else\n#define INT int\n#endif\n\
                    struct S { INT x; };\n__global__ void k(S* p) {}",
        )],
        &[("SOURCES", "k.cu")],
    );
    assert!(result.unwrap_err().contains("nvcc could not compile") && said.contains("\"imt\""), "{said}");
    let end: Vec<_> = said.trim_end().lines().rev().take(8).collect();
    assert!(end.iter().any(|line| line.contains("identifier \"imt\" is undefined")), "{said}");
    assert!(!said.contains("cuda_kernels_build_layouts"), "{said}");
}

#[test]
fn nvcc_runs_the_compiler_of_its_variable_and_a_too_new_one_is_answered_with_how_to_name_another() {
    let folder = tempfile::tempdir().unwrap();
    let real = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let path = std::env::var("PATH").unwrap();
    let real =
        std::env::split_paths(&path).map(|folder| folder.join(&real)).find(|file| file.is_file()).unwrap();
    let new = folder.path().join("c++");
    fs::write(&new, format!("#!/bin/sh\nexec {} -U__GNUC__ -D__GNUC__=99 \"$@\"\n", real.display())).unwrap();
    let run = Command::new("chmod").arg("+x").arg(&new).status().unwrap();
    assert!(run.success());
    fs::write(folder.path().join("k.cu"), "__global__ void k(int* p) { *p = 1; }\n").unwrap();
    let (new, real) = (new.to_str().unwrap(), real.to_str().unwrap());
    let (result, said) = build_in(folder.path(), &[("SOURCES", "k.cu"), ("CXX", new)]);
    let error = result.expect_err(&said);
    assert!(error.contains("unsupported GNU version") && error.contains("set NVCC_CCBIN=g++-14"), "{error}");
    let (result, said) =
        build_in(folder.path(), &[("SOURCES", "k.cu"), ("CXX", new), ("NVCC_CCBIN", "/no/such/c++")]);
    assert!(result.expect_err(&said).contains("/no/such/c++ does not run"), "{said}");
    let (result, said) = build_in(folder.path(), &[("SOURCES", "k.cu"), ("CXX", new), ("NVCC_CCBIN", real)]);
    assert!(result.is_ok() && said.contains("rerun-if-env-changed=NVCC_CCBIN"), "{said}");
}

#[test]
fn types_that_all_compilers_see_alike_are_accepted() {
    let source = r#"
        #include <cuda_fp16.h>
        #include <string>
        #include <vector>
        struct Base { int x; char c; };
        struct Derived : Base { char d; };
        class Hidden { struct Part { short s; } part; int x; char c; public: Hidden() = default; };
        struct Empty {}; struct WithEmpty { Empty e; int x; }; struct EmptyBase : Empty { int y; };
        struct Bits { unsigned a : 3; unsigned : 0; unsigned b : 30; int c; };
        enum class Color : unsigned char { Red, Green };
        struct HasEnum { Color c; unsigned char pad[3]; enum { Two } two; bool b; };
        union U { float f; int i; };
        struct alignas(32) Over { int a; union { int i; float f; }; struct { char c; int i; } parts[2][3]; };
        struct Nested { Over o; Base* p; long l; int (*function)(int); int& reference; const char* text; };
        struct Halfs { __half2 h; __half g; float3 f; cudaStream_t s; };
        typedef struct { int q; } Typedef;
        typedef enum { Off, On } Switch;
        namespace { struct Local { int x; }; }
        inline namespace v1 { namespace deep { struct Named { Typedef t; Switch s; }; } }
        struct Virtual { virtual ~Virtual() {} int v; };
        struct Host { std::vector<float> v; std::string s; long double d; };
        struct twin { int a; }; int twin();
        template <class T> struct Box { T it; struct In { T it; } in; };
        template <> struct Box<char> { int other; };
        struct HasBox { Box<float> box; Box<char> c; };
        #ifndef __CUDACC__
        struct OnlyRust { int a; };
        #endif
        struct Flexible { int n; int rest[]; };
        extern "C" __global__ void k(Derived* d, Hidden* h, WithEmpty w, EmptyBase e, Bits b, HasEnum* he,
            U u, Nested* n, Halfs* f, Typedef t, deep::Named* named, struct twin* tw, HasBox* hb, Box<int> bi,
            float4* v, cudaPitchedPtr pitched, dim3 d3, cudaTextureObject_t texture, Local* local, Flexible* flexible) {}
        __global__ void k(int) {}
        __global__ void k(float&) {}
    "#;
    let (result, said) = build(&[("k.cu", source)], &[("SOURCES", "k.cu")]);
    let text = result.unwrap_or_else(|_| panic!("{said}"));
    assert!(text.contains("static k: ") && !said.contains("cargo:warning"), "{said}");
}

#[test]
fn numbers_of_16_8_and_4_bits_are_elements() {
    let has_fp4 =
        Path::new(&std::env::var("CUDA_PATH").unwrap_or_default()).join("include/cuda_fp4.h").exists();
    let mut types = vec![
        "__half",
        "__half2",
        "__nv_bfloat16",
        "__nv_bfloat162",
        "__nv_fp8_e4m3",
        "__nv_fp8_e5m2",
        "__nv_fp8x2_e4m3",
        "__nv_fp8x4_e5m2",
    ];
    let mut source = String::from("#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuda_fp8.h>\n");
    if has_fp4 {
        types.extend(["__nv_fp8_e8m0", "__nv_fp4_e2m1", "__nv_fp4x2_e2m1", "__nv_fp4x4_e2m1"]);
        source.push_str("#include <cuda_fp4.h>\n");
    }
    let parameters: Vec<_> = types.iter().enumerate().map(|(at, name)| format!("{name}* p{at}")).collect();
    source.push_str(&format!("__global__ void k({}) {{}}\n", parameters.join(", ")));
    let (result, said) = build(&[("k.cu", &source)], &[("SOURCES", "k.cu")]);
    let text = result.unwrap_or_else(|_| panic!("{said}"));
    assert!(!said.contains("cargo:warning"), "{said}");
    for name in types {
        let at = text.find(&format!("pub struct {name} ")).unwrap_or_else(|| panic!("{name}: {text}"));
        let (before, after) = (&text[..at], &text[at..]);
        let own = before.rfind("#[derive(::cuda_safe::bytemuck::").map(|from| &before[from..]);
        assert!(own.is_some_and(|own| own.contains("Pod") && !own.contains("struct")), "{name}: {text}");
        let component =
            format!("Components for {name} {{ type Component = ::cuda_safe::launch::sixteen_bits::");
        let sixteen = name.contains("half") || name.contains("bfloat");
        assert_eq!(after.contains(&component), sixteen, "{name}: {text}");
    }
}

#[test]
fn the_standard_of_a_flag_is_the_only_one_and_that_of_the_prototypes() {
    let source = "#if __cplusplus == 201402L\n#define STANDARD 14\n#elif __cplusplus == 202002L\n\
                  #define STANDARD 20\n#elif __cplusplus == 201703L\n#define STANDARD 17\n#endif\n\
                  struct S { char c[STANDARD]; };\n__global__ void k(S* p) {}";
    for (flags, standard) in [("", 17), ("-std=c++14", 14), ("--std c++20", 20)] {
        let (result, said) = build(&[("k.cu", source)], &[("SOURCES", "k.cu"), ("FLAGS", flags)]);
        assert!(!said.contains("cargo:warning"), "{said}");
        let text = result.unwrap_or_else(|_| panic!("{said}"));
        assert!(text.contains(&format!("pub const STANDARD : u32 = {standard}")), "{text}");
    }
}

#[test]
fn a_base_whose_padding_holds_fields_is_refused_with_the_reason() {
    let text = "class Base { int x; char c; public: Base() {} };\nstruct Derived : Base { char d; };";
    let said = refused(text, "Derived* p");
    for expected in
        ["`Derived`", "field `d` at byte 5", "base `Base`, which reaches to byte 8", "`char unused[3];`"]
    {
        assert!(said.contains(expected), "{expected} is not in {said}");
    }
    assert!(!said.contains("__CUDACC__"), "{said}");
    // The advice is right.
    for text in [
        "class Base { int x; char c; char unused[3]; public: Base() {} };\n\
         struct Derived : Base { char d; };",
        "class Base { int x; char c; public: Base() {} };\nstruct Derived { Base base; char d; };",
    ] {
        let source = format!("{text}\n__global__ void kernel(Derived* p, Derived q) {{}}\n");
        let (result, said) = build(&[("k.cu", &source)], &[("SOURCES", "k.cu")]);
        assert!(result.is_ok(), "{said}");
    }
}

#[test]
fn types_of_headers_are_compared_in_a_source_that_includes_them() {
    let shared = format!("#pragma once\n{ALIGN}struct ALIGN(16) Vec3 {{ float x, y, z; }};\n");
    let kernel = "#pragma once\n#include \"shared.h\"\n__global__ void k(Vec3* p);\n";
    let source = "#include \"k.cuh\"\n__global__ void k(Vec3* p) {}\n";
    let other = "extern \"C\" __global__ void other(int* p) {}\n";
    let files = [("shared.h", &*shared), ("k.cuh", kernel), ("k.cu", source), ("other.cu", other)];
    for variables in [
        // Only nvcc knows which source includes the header.
        &[("FILES", "other.cu k.cu"), ("HEADERS", "k.cuh")][..],
        &[("SOURCES", "other.cu k.cu"), ("HEADERS", "k.cuh")],
        &[("SOURCES", "other.cu k.cu")],
    ] {
        let (result, said) = build(&files, variables);
        let errors = result.expect_err(&said);
        assert!(errors.contains("size of `Vec3`: 16 bytes for nvcc, 12 in Rust"), "{variables:?}: {errors}");
    }
    // A header that no source includes has types for the host.
    let (result, said) = build(&files, &[("FILES", "other.cu"), ("HEADERS", "shared.h")]);
    assert!(result.is_ok(), "{said}");
    // A header that nvcc does not see.
    let source = "#ifndef __CUDACC__\n#include \"host.h\"\n#endif\n__global__ void k(int* p) {}\n";
    let files = [("host.h", "struct Host { int x; };"), ("k.cu", source)];
    let (result, said) = build(&files, &[("SOURCES", "k.cu"), ("HEADERS", "host.h")]);
    assert!(result.is_ok(), "{said}");
}

#[test]
fn constants_of_headers_that_a_source_includes_exist_in_rust() {
    let files = [
        (
            "k.cu",
            "#include \"jacobi.h\"\n#include <other.h>\n#include <climits>\n#define OWN N_ROWS\n\
             __global__ void k(int* p) {}",
        ),
        (
            "jacobi.h",
            "#ifndef JACOBI_H\n#define JACOBI_H\n#include \"deep.h\"\n#define N_ROWS 512\n\
             #define MAX(a, b) ((a) > (b) ? (a) : (b))\n#define LEFT (N_ROWS - DEEP)\n\
             struct Unused { int x; };\nint function(int);\n\
             namespace n { const int COUNT = 7; constexpr unsigned char SMALL = 3; }\n#endif\n",
        ),
        ("deep.h", "# define DEEP 12 // The depth.\n"),
        ("other.h", "#define OTHER 1\nconst int OTHER_COUNT = 2;\n"),
    ];
    let (result, said) = build(&files, &[("SOURCES", "k.cu")]);
    let text = result.unwrap_or_else(|_| panic!("{said}"));
    for expected in
        ["OWN : u32 = 512", "N_ROWS : u32 = 512", "LEFT : u32 = 500", "DEEP : u32 = 12", "n_COUNT", "n_SMALL"]
    {
        assert!(text.contains(&format!("pub const {expected}")), "{expected} is not in {text}");
    }
    for absent in ["JACOBI_H", "MAX", "OTHER", "Unused", "fn function", "INT_MAX"] {
        assert!(!text.contains(absent), "{absent} is in {text}");
    }
}

#[test]
fn what_has_no_handle_is_named_with_the_reason_once_and_fails_no_build() {
    let source = include_str!("crate/declarations/without.cu");
    let (result, said) = build(&[("k.cu", source)], &[("SOURCES", "k.cu")]);
    assert!(result.is_ok_and(|text| text.contains("static last: ")), "{said}");
    let warnings: Vec<_> = said.lines().filter(|line| line.contains("has no ")).collect();
    let expected: Vec<_> = source.lines().filter_map(|line| line.strip_prefix("//! ")).collect();
    assert_eq!(warnings.len(), expected.len(), "{said}");
    for part in expected {
        assert!(warnings.iter().any(|warning| warning.contains(part)), "{part} is not in {said}");
    }
}
