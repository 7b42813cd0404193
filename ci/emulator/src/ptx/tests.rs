//! What the emulator's tree has of a text.

use super::ast::{Initial, Operand, Statement};
use super::{Space, parse};

#[test]
fn what_nvcc_writes_is_read() {
    let text = crate::testing::compile_ptx(
        r#"
        #include <cstdio>
        __device__ int table[4] = {1, 2, 3, 4};
        __constant__ float factor = 1.5f;
        __managed__ int shared_with_host = 5;
        __device__ const char* text = "hi";
        __device__ __noinline__ int one(int a) { return a * 3; }
        __device__ __noinline__ int two(int a) { return a * 5; }
        __device__ int (*choice[2])(int) = {one, two};
        __global__ void __launch_bounds__(128) kernel(int* out, int n) {
            extern __shared__ float dynamic[];
            dynamic[threadIdx.x] = factor;
            out[0] = choice[n & 1](n) + table[n & 3] + shared_with_host + dynamic[3] + text[n];
            switch (n) { case 1: out[1] = 3; break; case 2: out[4] = 5; break; case 3: out[2] = 9; break;
                         case 4: out[8] = 1; break; case 5: out[6] = 2; break; case 7: out[1] = 8; }
            asm volatile("{ .reg .u32 t; add.u32 t, %0, 1; st.global.u32 [%1], t; }" :: "r"(n), "l"(out));
            printf("%d\n", n);
        }"#,
        &["-lineinfo"],
    );
    let module = parse(&text).unwrap();
    let kernel = module.functions.iter().find(|f| f.entry).unwrap();
    assert_eq!(kernel.max_threads, Some([128, 1, 1]));
    assert_eq!(kernel.prototype.params.len(), 2);
    let variable = |name: &str| module.variables.iter().find(|v| &*v.name == name).unwrap();
    assert_eq!((variable("table").size(), variable("table").initial[4].clone()), (16, Initial::Int(2)));
    assert_eq!(variable("factor").space, Space::Const);
    assert!(variable("shared_with_host").managed);
    assert!(matches!(&variable("choice").initial[1], Initial::Symbol { name, .. } if name.contains("two")));
    assert!(matches!(&variable("text").initial[0], Initial::Symbol { generic: true, .. }));
    let body = kernel.body.as_ref().unwrap();
    assert!(body.iter().any(|s| matches!(s, Statement::Location { line, .. } if *line > 0)));
    assert!(module.files.values().any(|f| f.contains("test.cu")));
    assert!(body.iter().any(|s| matches!(s, Statement::Instruction(i)
        if &*i.opcode == "call" && matches!(i.operands[0], Operand::List(_)))));
}

#[test]
fn errors_name_the_line() {
    let message = parse(".version 9.0\n.target sm_90\n.entry k ( .param .u64 p ) {\n  add.s32 %r1 %r2;\n}");
    assert_eq!(message.unwrap_err().line, 4);
    assert_eq!(parse(".version 9.0\n.wrong").unwrap_err().line, 2);
    assert!(parse(".entry k() {").is_err());
    assert!(parse(".global .b8 x[18446744073709551615][2];").is_err());
}

#[test]
fn odd_corners_of_the_language() {
    let text = ".version 7.8 .target sm_80, texmode_independent .address_size 64
        .weak .global .align 8 .b8 names[8] = {0xFF(table), 0xFF00(table), 1};
        .const .f64 half = 0.5; .const .f32 bits = 0f3F000000; .global .u64 far = generic(names)+4;
        .extern .shared .align 16 .b8 dynamic[];
        .func (.reg .u32 result) old (.reg .u32 a) { mov.u32 result, a; ret; }
        .alias new_name, old;
        .visible .entry k(.param .u64 .ptr .global .align 4 p, .param .align 4 .b8 s[12])
        .maxntid 256 .minnctapersm 2 .pragma \"x\"; {
            .reg .pred %p<3>; .reg .b32 a, b;
            @!%p1 bra L; setp.lt.and.s32 %p1|%p2, a, b, !%p1; { .reg .b32 a; mov.u32 a, %ctaid.y; }
        L: ld.global.v2.u32 {a, _}, [names+-4]; ld.global.u32 a, [names-4];
            targets: .branchtargets L, L; brx.idx a, targets;
            bar.sync 0; ret;
        }";
    let module = parse(text).unwrap();
    assert_eq!(module.version, (7, 8));
    let names = &module.variables[0];
    assert!(matches!(names.initial[1], Initial::Symbol { shift: Some(8), .. }));
    assert_eq!(module.variables[1].initial[0], Initial::Float(0.5));
    assert!(matches!(module.variables[3].initial[0], Initial::Symbol { offset: 4, generic: true, .. }));
    assert_eq!(module.aliases.len(), 1);
}

#[test]
fn what_a_newer_version_adds_stops_the_kernel_that_has_it_and_not_the_module() {
    let text = |version: &str| {
        format!(
            ".version {version}\n.target sm_90\n.address_size 64\n.novelty .b32 x {{1, 2}};\n\
             .visible .entry a() {{ fabric.submit.group [%rd1] -> {{%r1}}; .layout 3; ret; }}\n\
             .visible .entry b() .brandnew 4 {{ ret; }}"
        )
    };
    for version in ["9.1", "9.5"] {
        let module = parse(&text(version)).unwrap();
        let opcodes = |name: &str| -> Vec<String> {
            let body = module.function(name).unwrap().body.as_ref().unwrap();
            let of = |it: &Statement| match it {
                Statement::Instruction(it) => Some(it.opcode.to_string()),
                _ => None,
            };
            body.iter().filter_map(of).collect()
        };
        let a = opcodes("a");
        assert!(a.len() == 3 && a[..2].iter().all(|it| it.starts_with("a statement of a newer")), "{a:?}");
        assert_eq!(opcodes("b"), ["ret"]);
        assert!(module.passed_over.len() == 1 && module.passed_over[0].line == 4);
    }
    assert!(parse(&text("9.0")).is_err());
}

/// Puts lines into a function of their own, from its fourth line on.
fn told(lines: &str) -> Option<(u32, String)> {
    let text = format!(
        ".version 8.0\n.target sm_70\n.address_size 64 .func f(.reg .b32 %in) {{ \
         .reg .b32 %r<3>, %one; .reg .pred %p;\n{lines}\n}}"
    );
    parse(&text).unwrap().refused.map(|error| (error.line, error.message))
}

#[test]
fn registers_are_declared_with_numbers_or_without_and_some_are_always_there() {
    assert_eq!(told("mov.b32 %r2, %tid.x; @!%p add.s32 %one, %in, %clock; st.u32 [%r0], {%r1, %r2};"), None);
    for (text, name) in [
        ("mov.b32 %r1, %r3;", "%r3"),
        ("@%q mov.b32 %r1, %r2;", "%q"),
        ("ld.u32 %r1, [%rd1+4];", "%rd1"),
        ("st.v2.u32 [%r1], {%r1, %two};", "%two"),
    ] {
        assert_eq!(told(&format!("ret;\n{text}")), Some((5, format!("{name} is not declared"))));
    }
}

#[test]
fn an_instruction_that_there_is_not_is_named_and_one_that_is_not_emulated_passes() {
    assert_eq!(told("wgmma.fence.sync.aligned;"), None);
    assert_eq!(told("madness.u32 %r1, %r2;"), Some((4, "there is no instruction madness.u32".to_owned())));
}
