//! Kernels with errors, and functions that the machine provides.

use std::collections::HashMap;

use cuda_ptx::instruction::{ROWS, opcodes};

use super::super::program::Op;
use super::super::{Addresses, Fault, lower};
use super::{arg, cuda, fails, load};
use crate::fidelity;
use crate::ptx::parse;

#[test]
fn accesses_outside_of_memory_are_caught_and_described() {
    let mut m = cuda(
        "__global__ void store(int* p, int i) { p[i + threadIdx.x] = 5; }
         __global__ void odd(char* p) { *(volatile int*)(p + 1) = 5; }
         __global__ void tile(int i) { __shared__ int s[8]; ((volatile int*)s)[i] = i; }
         __global__ void stack(int i) { volatile int s[8]; s[0] = i; s[i] = i; }
         __global__ void bump(int* p) { atomicAdd(p, 1); }",
    );
    let p = m.machine.alloc(64);
    m.run("store", 1, 16, &[arg(p), arg(0)]).unwrap();
    let beyond = m.run("store", 1, 16, &[arg(p), arg(1)]);
    fails(beyond, Fault::ILLEGAL_ADDRESS, &["thread (15,0,0)", "write of 4 bytes"]);
    fails(m.run("store", 1, 1, &[arg(0u64), arg(0)]), Fault::ILLEGAL_ADDRESS, &["a null pointer"]);
    fails(m.run("odd", 1, 1, &[arg(p)]), Fault::MISALIGNED_ADDRESS, &[]);
    m.run("tile", 1, 1, &[arg(7)]).unwrap();
    fails(m.run("tile", 1, 1, &[arg(8)]), Fault::ILLEGAL_ADDRESS, &["the block has 32 bytes"]);
    m.run("stack", 1, 1, &[arg(7)]).unwrap();
    fails(m.run("stack", 1, 1, &[arg(100)]), Fault::ILLEGAL_ADDRESS, &["local write"]);
    fails(m.run("bump", 1, 40, &[arg(p + 64)]), Fault::ILLEGAL_ADDRESS, &["atomic access"]);
}

/// The README names what is unknown.
#[test]
fn an_unknown_instruction_is_one_that_the_readme_names() {
    let readme = include_str!("../../../README.md");
    let (_, sentence) = readme.split_once("Unknown instructions are ").unwrap();
    let (listed, _) = sentence.split_once(". ").unwrap();
    let listed: Vec<&str> = listed.split('`').skip(1).step_by(2).collect();
    let is_unknown = |opcode: &str, ty: &str| {
        let head = ".version 9.0\n.target sm_90a\n.address_size 64\n";
        let module = parse(&format!("{head}.visible .entry k() {{ {opcode}.{ty} 0; ret; }}")).unwrap();
        let program = lower(&module, "k", &HashMap::new()).unwrap();
        program.unsupported.iter().any(|why| why.ends_with("this instruction is not known to the emulator"))
    };
    let with_both_types = |opcode: &&str| ["b32", "f32"].iter().all(|ty| is_unknown(opcode, ty));
    let unknown: Vec<&str> = opcodes().filter(with_both_types).collect();
    assert_eq!(listed, unknown);
    let emulated = ROWS.iter().filter(|row| row.is_emulated).filter_map(|row| row.name.split('.').next());
    let emulated: Vec<&str> = emulated.collect();
    let none_runs = |opcode: &&str| !emulated.contains(opcode);
    assert_eq!(opcodes().filter(none_runs).collect::<Vec<_>>(), unknown, "the table of cuda-ptx");
}

#[test]
fn what_a_function_allocates_on_the_stack_overflows_it() {
    let mut m = cuda(
        "__global__ void some(int* out, int bytes) {
             volatile int* own = (int*)alloca(bytes);
             own[0] = bytes;
             *out = own[0];
         }
         __global__ void back(unsigned long long to) {
             asm volatile(\"stackrestore.u64 %0;\" :: \"l\"(to));
         }",
    );
    let out = m.machine.alloc(4);
    m.run("some", 1, 1, &[arg(out), arg(512)]).unwrap();
    assert_eq!(m.machine.download::<i32>(out), [512]);
    for bytes in [1 << 28, -1] {
        let wanted = m.run("some", 1, 1, &[arg(out), arg(bytes)]);
        fails(wanted, Fault::STACK, &["stack overflow: alloca of"]);
    }
    let fault = m.run("back", 1, 1, &[arg(1_u64 << 40)]).unwrap_err();
    assert!(fault.message.contains("which no stacksave of the function gave"), "{fault}");
}

#[test]
fn traps_assertions_and_stacks_that_overflow() {
    let mut m = cuda(
        "#undef NDEBUG
         #include <cassert>
         __global__ void trap(int n) { if (threadIdx.x == n) asm volatile(\"trap;\"); }
         __global__ void check(int n) { assert(threadIdx.x != n); }
         __device__ __noinline__ int down(int n) {
             volatile int pad[64]; pad[n & 63] = n; return n <= 0 ? 0 : down(n - 1) + pad[n & 63];
         }
         __global__ void recurse(int* out, int n) { *out = down(n); }",
    );
    m.run("trap", 1, 32, &[arg(99)]).unwrap();
    fails(m.run("trap", 2, 32, &[arg(17)]), Fault::LAUNCH_FAILURE, &["thread (17,0,0)"]);
    m.run("check", 1, 32, &[arg(99)]).unwrap();
    assert_eq!(m.machine.complaints, "");
    fails(m.run("check", 1, 32, &[arg(3)]), Fault::ASSERT, &[]);
    let said = &m.machine.complaints;
    assert!(said.contains("thread: [3,0,0] Assertion `threadIdx.x != n` failed."), "{said}");
    let out = m.machine.alloc(4);
    m.run("recurse", 1, 1, &[arg(out), arg(20)]).unwrap();
    assert_eq!(m.machine.download::<i32>(out), [210]);
    fails(m.run("recurse", 1, 1, &[arg(out), arg(100_000)]), Fault::STACK, &["stack overflow"]);
}

#[test]
fn the_device_heap_gives_and_takes_and_knows_its_own() {
    let mut m = cuda(
        "__global__ void sum(int* out, int n) {
             int* s = (int*)malloc(n * sizeof(int));
             if (!s) { out[threadIdx.x] = -1; return; }
             for (int i = 0; i < n; i++) s[i] = i * threadIdx.x;
             int t = 0;
             for (int i = 0; i < n; i++) t += s[i];
             out[threadIdx.x] = t;
             free(s);
         }
         __global__ void late(int** keep) { int* s = (int*)malloc(16); *s = 1; free(s); *(volatile int*)s = 2; }
         __global__ void twice() { void* s = malloc(16); free(s); free(s); }",
    );
    let out = m.machine.alloc(4 * 40);
    m.run("sum", 1, 40, &[arg(out), arg(10)]).unwrap();
    assert!(m.machine.download::<i32>(out).iter().enumerate().all(|(i, v)| *v == 45 * i as i32));
    m.run("sum", 1, 40, &[arg(out), arg(1 << 28)]).unwrap();
    assert!(m.machine.download::<i32>(out).iter().all(|v| *v == -1));
    fails(m.run("late", 1, 1, &[arg(out)]), Fault::ILLEGAL_ADDRESS, &[]);
    let fault = m.run("twice", 1, 1, &[]).unwrap_err();
    assert!(fault.message.contains("which malloc did not give"), "{fault}");
}

#[test]
fn what_kernels_print_is_what_c_prints() {
    let mut m = cuda(
        r#"#include <cstdio>
        __global__ void k(const char* null) {
            printf("%d %u %x %X %o %c %s %%|", -5, 7u, 255u, 255u, 8u, 'z', "str");
            printf("%5.2f %e %g %g %G %a|", 3.14159, 12345.678, 1e-5, 100000.0, 1e10, 1.5);
            printf("%lld %llu %hd %hhu|", 1LL << 40, ~0ull, 70000, 300);
            printf("%08d|%-6d|%+d|% d|%#x|%#o|%.3d|%8.3s|%-8s|%*d|%.*f|", 42, 42, 42, 42, 42, 42, 7,
                "abcdef", "ab", 6, 9, 1, 2.55);
            printf("%f %f %5.1f|%010.3f|%s\n", 1.0 / 0.0, -1.0 / 0.0, 0.05, -3.14159, null);
            printf("no arguments\n");
        }"#,
    );
    m.run("k", 1, 1, &[arg(0u64)]).unwrap();
    assert_eq!(
        m.machine.printed,
        "-5 7 ff FF 10 z str %| 3.14 1.234568e+04 1e-05 100000 1E+10 0x1.8p+0|\
         1099511627776 18446744073709551615 4464 44|\
         00000042|42    |+42| 42|0x2a|052|007|     abc|ab      |     9|2.5|\
         inf -inf   0.1|-00003.142|(null)\nno arguments\n"
    );
}

#[test]
fn an_instruction_of_the_toolkits_headers_has_the_line_that_calls_them() {
    let text = ".version 9.0 .target sm_90 .address_size 64
        .visible .entry k() {
            .loc 1 7 3
            bar.sync 0;
            .loc 2 40 5, function_name $L__info, inlined_at 1 8 9
            bar.sync 1;
            .loc 3 900 1, function_name $L__info, inlined_at 2 40 5
            bar.sync 2;
            .loc 4 3 1, function_name $L__info, inlined_at 1 9 9
            bar.sync 3;
            ret;
        }
        .file 1 \"/home/u/sum.cu\"
        .file 2 \"/usr/local/cuda-13.0/include/cooperative_groups.h\"
        .file 3 \"/usr/local/cuda-13.0/include/cooperative_groups/details/sync.h\"
        .file 4 \"/home/u/include/mine.h\"";
    let program = lower(&parse(text).unwrap(), "k", &Addresses::default()).unwrap();
    let lines: Vec<_> = (0..4).map(|pc| program.place(pc).source.unwrap()).collect();
    let own = |line| ("/home/u/sum.cu".to_owned(), line);
    assert!((0..4).all(|pc| !program.is_of_cub(pc)));
    // A function of the program's own keeps its line.
    assert_eq!(lines, [own(7), own(8), own(8), ("/home/u/include/mine.h".to_owned(), 3)]);
}

/// A finding in code of CUB that a kernel has inlined is known by the file, and told by the kernel's line.
#[test]
fn what_cub_reads_of_unwritten_shared_memory_is_only_told_as_not_checked() {
    let text = |folder: &str| {
        format!(
            ".version 9.0 .target sm_90 .address_size 64
            .visible .entry k() {{
                .reg .b32 %r<3>;
                .shared .align 4 .b8 room[64];
                .loc 1 7 3
                mov.u32 %r1, room;
                .loc 2 40 5, function_name $L__info, inlined_at 1 8 9
                ld.shared.u32 %r2, [%r1];
                ret;
            }}
            .file 1 \"/home/u/sum.cu\"
            .file 2 \"{folder}/cub/block/block_scan.cuh\""
        )
    };
    for (folder, reports) in [("/usr/local/cuda-13.0/include", 0), ("/home/u/include", 1)] {
        let mut it = load(&text(folder));
        it.machine.traces = true;
        it.run("k", 1, 1, &[]).unwrap();
        assert_eq!(it.machine.reports, reports, "{folder}");
    }
    assert!(fidelity::noted()[1].iter().any(|it| it.starts_with("CUB's reads")));
}

/// Else a kernel that raises a maximum seems to poll it.
#[test]
fn an_atomic_operation_whose_old_value_nothing_reads_gives_none() {
    let text = ".version 9.0 .target sm_90 .address_size 64
        .visible .entry k(.param .u64 p) {
            .reg .b32 %r<4>;
            .reg .b64 %a;
            ld.param.u64 %a, [p];
            atom.global.max.u32 %r1, [%a], 5;
            atom.global.max.u32 %r2, [%a], 6;
            st.global.u32 [%a], %r2;
            ret;
        }";
    let program = lower(&parse(text).unwrap(), "k", &Addresses::default()).unwrap();
    let wants = |op: &Op| if let Op::Atomic(.., wants) = op { Some(*wants) } else { None };
    assert_eq!(program.code.iter().filter_map(|it| wants(&it.op)).collect::<Vec<_>>(), [false, true]);
}
