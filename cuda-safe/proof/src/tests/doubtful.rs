//! PTX that nvcc does not write, or writes rarely: each program is refused, or proven for what it does.

use super::oracle::Random;
use super::runs::{Count, is_far, run};
use super::spec::Spec;
use super::work::prove_in_time;
use crate::{BUDGET, Kernel, Memory, Verdict, kernels, kernels_with_architecture, prove};
use cuda_ptx::parse;

/// Declarations that all programs have. `%r1` is a thread's number in the grid, of 256; `%r2` is 100.
const START: &str = "\
.version 8.0
.target sm_75
.address_size 64
.global .align 4 .b8 table[400];
.extern .shared .align 16 .b8 dynamic[];
.func (.param .b32 out) twice(.param .b32 in)
{
.reg .b32 %r<3>;
ld.param.u32 %r1, [in];
add.s32 %r2, %r1, %r1;
st.param.b32 [out], %r2;
ret;
}
.func forever(.param .b32 in)
{
.reg .b32 %r<3>;
{
.param .b32 p;
st.param.b32 [p], 0;
call forever, (p);
}
ret;
}
.func (.param .b32 out) sometimes(.param .b32 in)
{
.reg .pred %p<3>;
.reg .b32 %r<3>;
ld.param.u32 %r1, [in];
setp.eq.u32 %p1, %r1, 0;
@%p1 ret;
st.param.b32 [out], 7;
ret;
}
.func (.param .b32 out) keeps(.param .b32 in)
{
.reg .pred %p<3>;
.reg .b32 %r<3>;
.global .align 4 .b8 v[4];
ld.param.u32 %r1, [in];
setp.eq.u32 %p1, %r1, 0;
@%p1 st.global.u16 [v], 7;
ld.global.u32 %r2, [v];
st.param.b32 [out], %r2;
ret;
}
.func changes(.param .b32 in)
{
st.param.b32 [in], 7;
ret;
}
.func (.param .b32 out) remembers(.param .b32 in)
{
.reg .pred %p<3>;
.reg .b32 %r<9>;
ld.param.u32 %r1, [in];
setp.eq.u32 %p1, %r1, 0;
@%p1 mov.u32 %r2, 5;
st.param.b32 [out], %r2;
ret;
}
.func (.param .b64 out) array()
{
.reg .b64 %rd<3>;
.shared .align 4 .b8 own[400];
mov.u64 %rd1, own;
st.param.b64 [out], %rd1;
ret;
}
.visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n)
{
.reg .pred %p<9>;
.reg .b16 %h<9>;
.reg .f32 %f<9>;
.reg .f64 %fd<9>;
.reg .b32 %r<30>;
.reg .b64 %rd<30>;
.shared .align 4 .b8 own[400];
.local .align 16 .b8 stack[64];
ld.param.u64 %rd1, [x];
ld.param.u64 %rd2, [y];
ld.param.u32 %r2, [n];
mov.u32 %r3, %ctaid.x;
mov.u32 %r4, %ntid.x;
mov.u32 %r5, %tid.x;
mad.lo.s32 %r1, %r3, %r4, %r5;
";

/// Says what is proven: the end of the bytes of x and y, or the refusal.
fn proven(body: &str) -> Result<[i64; 2], String> {
    proven_as(body, "256")
}

/// Does the same with bytes of shared memory, and the word for a cooperative launch.
pub(super) fn proven_as(body: &str, shared: &str) -> Result<[i64; 2], String> {
    proven_within(body, shared, BUDGET)
}

/// Does the same with a budget, and the whole text of a store.
pub(super) fn proven_within(body: &str, shared: &str, budget: u64) -> Result<[i64; 2], String> {
    let body = &body.replace("STORE", STORE)[..];
    let text = format!("{START}{body}\nret;\n}}\n");
    let kernels = kernels(&text).unwrap_or_else(|error| panic!("{error}: {body}"));
    assert_eq!(Kernel::from_bytes(&kernels[0].to_bytes()).as_ref(), Ok(&kernels[0]), "{body}");
    let (spec, _) = Spec::parse(&format!("k | 4 | 64 | p,p,100 | , | {shared}"), &kernels).expect("a launch");
    match spec.with(|launch| prove_in_time(&kernels[0], launch, budget)) {
        Verdict::Refused(refusal) => Err(refusal.to_string()),
        Verdict::Proven(proof) => {
            // Threads must agree with the proof.
            let (module, mut random) = (parse(&text).expect("PTX"), Random(28));
            let far = proof.needs().iter().any(|it| is_far(&it.reads) || is_far(&it.writes));
            for _ in 0..if far { 0 } else { 8 } {
                run(&module, &kernels[0], &spec, &proof, &mut random, &mut Count::default())
                    .unwrap_or_else(|wrong| panic!("{wrong}: {body}"));
            }
            let mut ends = [0, 0];
            for need in proof.needs() {
                for bytes in need.reads.iter().chain(&need.writes) {
                    let is_far = bytes.low < 0 || bytes.high > 1 << 20;
                    let end = if is_far { i64::MAX } else { bytes.high };
                    ends[need.parameter] = end.max(ends[need.parameter]);
                }
            }
            Ok(ends)
        }
    }
}

/// The store `x[%r10] = 0`, where `%r10` is read without a sign.
const STORE: &str = "mul.wide.u32 %rd10, %r10, 4; add.s64 %rd11, %rd1, %rd10; st.global.u32 [%rd11], 0;";

#[track_caller]
pub(super) fn bytes(body: &str, x: i64, y: i64) {
    let found = proven(body);
    assert_eq!(found, Ok([x, y]), "{body}");
}

#[track_caller]
pub(super) fn refused(body: &str, why: &str) {
    match proven(body) {
        Err(refusal) => assert!(refusal.contains(why), "{refusal}: {body}"),
        Ok(ends) => assert!(why.is_empty() && ends.contains(&i64::MAX), "{ends:?} is proven: {body}"),
    }
}

#[test]
fn guards_in_all_forms_are_facts() {
    bytes("setp.ge.u32 %p1, %r1, %r2; @%p1 ret; mov.b32 %r10, %r1; STORE", 400, 0);
    bytes("setp.ge.u32 %p1, %r1, %r2; @%p1 exit; mov.b32 %r10, %r1; STORE", 400, 0);
    bytes("setp.lt.u32 %p1, %r1, %r2; @!%p1 bra $e; mov.b32 %r10, %r1; STORE $e:", 400, 0);
    bytes("setp.lt.u32 %p1|%p2, %r1, %r2; @%p2 bra $e; mov.b32 %r10, %r1; STORE $e:", 400, 0);
    bytes(
        "setp.hs.u32 %p1, %r1, %r2; not.pred %p2, %p1; @%p2 bra $s; ret; $s: mov.b32 %r10, %r1; STORE",
        400,
        0,
    );
    bytes(
        "setp.gt.u32 %p1, %r1, 9; setp.lt.and.u32 %p2, %r1, %r2, %p1; @!%p2 ret; sub.u32 %r10, %r1, 10; \
             STORE",
        360,
        0,
    );
    // The second result of a combined comparison is no negation of the first.
    bytes(
        "setp.gt.u32 %p1, %r1, 200; setp.lt.and.u32 %p2|%p3, %r1, %r2, %p1; @%p3 ret; mov.b32 %r10, %r1; \
             STORE",
        1024 - 220,
        0,
    );
    // A predicated store, and a predicated index.
    bytes(
        "setp.lt.u32 %p1, %r1, %r2; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3; \
             @%p1 st.global.u32 [%rd4], 0;",
        400,
        0,
    );
    bytes("setp.ge.u32 %p1, %r1, %r2; mov.b32 %r10, %r1; @%p1 mov.b32 %r10, 7; STORE", 400, 0);
    bytes("setp.ge.u32 %p1, %r1, %r2; selp.b32 %r10, 3, %r1, %p1; STORE", 400, 0);
    bytes(
        "setp.lt.u32 %p1, %r1, %r2; selp.u32 %r6, 1, 0, %p1; setp.eq.s32 %p2, %r6, 0; @%p2 ret; \
             mov.b32 %r10, %r1; STORE",
        400,
        0,
    );
}

#[test]
fn a_guard_of_another_value_is_no_guard() {
    // The register changes after the comparison.
    bytes("setp.ge.u32 %p1, %r1, %r2; add.s32 %r10, %r1, 5; @%p1 ret; STORE", 420, 0);
    // The loop goes past its bound, or has none.
    refused("mov.u32 %r10, 0; $l: STORE add.s32 %r10, %r10, 1; bra $l;", "");
    bytes(
        "mov.u32 %r10, 0; $l: STORE add.s32 %r10, %r10, 3; setp.lt.u32 %p1, %r10, %r2; @%p1 bra $l;",
        400,
        0,
    );
    refused("mov.u32 %r10, 0; $l: STORE add.s32 %r10, %r10, 3; setp.ne.u32 %p1, %r10, %r2; @%p1 bra $l;", "");
    // Signed and unsigned.
    refused("sub.s32 %r10, %r1, 5; setp.ge.s32 %p1, %r10, %r2; @%p1 ret; STORE", "");
    refused(
        "sub.s32 %r10, %r1, 5; setp.ge.s32 %p1, %r10, %r2; @%p1 ret; mul.wide.s32 %rd3, %r10, 4; \
             add.s64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], 0;",
        "",
    );
    bytes("sub.s32 %r10, %r1, 5; setp.ge.u32 %p1, %r10, %r2; @%p1 ret; STORE", 400, 0);
    // 32 bits wrap, 64 do not.
    refused(
        "mul.lo.u32 %r6, %r1, 67108865; setp.ge.u32 %p1, %r6, %r2; @%p1 ret; \
             mul.wide.u32 %rd3, %r1, 67108865; shl.b64 %rd3, %rd3, 2; add.s64 %rd4, %rd1, %rd3; \
             st.global.u32 [%rd4], 0;",
        "",
    );
    bytes("shl.b32 %r6, %r1, 28; shr.u32 %r10, %r6, 28; STORE", 64, 0);
    refused("shl.b32 %r6, %r1, 28; shr.s32 %r10, %r6, 28; STORE", "");
    // The result of a conversion has the width of its type.
    bytes("cvt.u16.u32 %h1, %r1; cvt.u32.u8 %r10, %h1; STORE", 1024, 0);
    refused("cvt.u16.u32 %h1, %r1; cvt.s32.s8 %r10, %h1; STORE", "");
}

#[test]
fn values_that_may_change_guard_nothing() {
    let load = |op: &str, of: &str| format!("{op} %r10, [{of}]; setp.ge.u32 %p1, %r10, %r2; @%p1 ret; STORE");
    bytes(&load("ld.global.u32", "%rd2"), 400, 4);
    bytes(&load("ld.global.nc.u32", "%rd2"), 400, 4);
    bytes(&load("ld.volatile.global.u32", "%rd1"), 400, 0);
    bytes(&load("ld.global.u32", "%rd1"), 400, 0);
    // The read-only path of memory that the kernel writes.
    refused(&load("ld.global.nc.u32", "%rd1"), "");
    // Memory that is written in other pieces.
    refused(&format!("st.global.u8 [%rd2+1], 0; {}", load("ld.global.u32", "%rd2")), "");
    bytes(&format!("st.global.u8 [%rd2+1], 0; {}", load("ld.relaxed.gpu.global.u32", "%rd2")), 400, 4);
    // Registers and local memory that nothing has written.
    refused("setp.ge.u32 %p1, %r10, %r2; @%p1 ret; STORE", "");
    refused("add.s32 %r10, %r11, 1; setp.ge.u32 %p1, %r10, %r2; @%p1 ret; STORE", "");
    refused(
        "popc.b32 %r12, %r11; brev.b32 %r10, %r12; mov.u64 %rd3, stack; ld.local.u32 %r10, [%rd3]; \
             setp.ge.u32 %p1, %r10, %r2; @%p1 ret; STORE",
        "",
    );
    refused("brev.b32 %r10, %r11; setp.ge.u32 %p1, %r10, %r2; @%p1 ret; STORE", "");
    refused("setp.lt.u32 %p1, %r1, 9; @%p1 mov.b32 %r10, 5; setp.ge.u32 %p2, %r10, %r2; @%p2 ret; STORE", "");
    refused("mov.u32 %r10, %smid; setp.ge.u32 %p1, %r10, %r2; @%p1 ret; STORE", "");
    // A register that is written in each round but before the first use only in the second.
    refused(
        "mov.u32 %r6, 0; $l: setp.ge.u32 %p1, %r10, %r2; @%p1 bra $n; STORE $n: \
             ld.global.u32 %r10, [%rd2]; add.s32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 100; @%p2 bra $l;",
        "",
    );
    // Its range holds for every use.
    bytes("mov.u64 %rd3, stack; ld.local.u8 %r10, [%rd3]; STORE", 1024, 0);
    // Another load is another value.
    refused(
        "ld.volatile.global.u32 %r6, [%rd2]; setp.ge.u32 %p1, %r6, %r2; @%p1 ret; \
             ld.volatile.global.u32 %r10, [%rd2]; STORE",
        "",
    );
}

#[test]
fn an_address_has_one_pointer_of_its_space() {
    bytes("st.global.u32 [%rd1], 0;", 4, 0);
    bytes("sub.s64 %rd3, %rd2, %rd1; add.s64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], 0;", 0, 4);
    refused("add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], 0;", "several pointers");
    refused("shl.b64 %rd3, %rd1, 1; st.global.u32 [%rd3], 0;", "several pointers");
    // One of two pointers: each case is gone through.
    bytes("setp.lt.u32 %p1, %r1, 9; selp.b64 %rd3, %rd1, %rd2, %p1; st.global.u32 [%rd3], 0;", 4, 4);
    refused("cvt.u32.u64 %r6, %rd1; cvt.u64.u32 %rd3, %r6; st.global.u32 [%rd3], 0;", "");
    refused("ld.global.u64 %rd3, [%rd1]; st.global.u32 [%rd3], 0;", "comes from memory");
    refused("st.global.u32 [4096], 0;", "not computed from a parameter");
    refused("st.shared.u32 [%rd1], 0;", "another kind of memory");
    refused("mov.u64 %rd3, own; st.global.u32 [%rd3], 0;", "another kind of memory");
    refused("mov.u64 %rd3, own; st.u32 [%rd3], 0;", "another kind of memory");
    bytes("mov.u64 %rd3, own; cvta.shared.u64 %rd4, %rd3; st.u32 [%rd4+396], 0;", 0, 0);
    refused("mov.u64 %rd3, own; cvta.shared.u64 %rd4, %rd3; st.u32 [%rd4+400], 0;", "own, which has 400");
    refused("mov.u64 %rd3, own; cvta.to.shared.u64 %rd4, %rd3; st.shared.u32 [%rd4], 0;", "");
    refused("cvta.to.shared.u64 %rd3, %rd1; st.shared.u32 [%rd3], 0;", "");
    bytes("mov.u32 %r6, own; mad.lo.s32 %r7, %r5, 4, %r6; st.shared.u32 [%r7], 0;", 0, 0);
    refused("mov.u32 %r6, own; mad.lo.s32 %r7, %r1, 4, %r6; st.shared.u32 [%r7], 0;", "own, which has 400");
    bytes("mov.u32 %r6, dynamic; mad.lo.s32 %r7, %r5, 4, %r6; st.shared.u32 [%r7], 0;", 0, 0);
    refused(
        "mov.u32 %r6, dynamic; mad.lo.s32 %r7, %r5, 4, %r6; st.shared.u32 [%r7+4], 0;",
        "256 bytes of dynamic",
    );
    bytes("mov.u64 %rd3, table; ld.global.u32 %r6, [%rd3+396];", 0, 0);
    refused("mov.u64 %rd3, table; ld.global.u32 %r6, [%rd3+397];", "no multiple of 4");
    refused("mov.u64 %rd3, table; ld.global.u64 %rd4, [%rd3];", "aligned to 4");
    // Aligned by the form, or not.
    refused("st.global.u32 [%rd1+2], 0;", "no multiple of 4");
    refused("cvt.u64.u32 %rd3, %r5; add.s64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], 0;", "no multiple of 4");
    refused(
        "mul.wide.u32 %rd3, %r5, 8; add.s64 %rd4, %rd1, %rd3; ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%rd4];",
        "no multiple of 16",
    );
    bytes(
        "and.b32 %r6, %r5, 60; cvt.u64.u32 %rd3, %r6; add.s64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], 0;",
        64,
        0,
    );
    // A comparison of pointers.
    bytes(
        "mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd1, 400; \
             setp.ge.u64 %p1, %rd4, %rd5; @%p1 ret; st.global.u32 [%rd4], 0;",
        400,
        0,
    );
    refused(
        "mul.wide.u32 %rd3, %r1, 4; sub.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd1, 400; \
             setp.ge.u64 %p1, %rd4, %rd5; @%p1 ret; st.global.u32 [%rd4+-4], 0;",
        "",
    );
}

#[test]
fn what_is_not_known_refuses_where_it_is_reached() {
    refused("frobnicate.u32 %r6, %r7;", "the instruction frobnicate.u32");
    refused("bra $nowhere;", "a label that is not in the function");
    refused("discard.global.L2 [%rd1], 128;", "discard");
    refused("ld.global.odd.u32 %r6, [%rd1];", "ld.global.odd.u32");
    refused("mapa.shared::cluster.u32 %r6, %r7, 0;", "mapa");
    refused("call elsewhere, ();", "not in this PTX");
    refused("mov.u64 %rd3, forever; ", "the address of the function");
    refused("{ .param .b32 p; st.param.b32 [p], 0; call forever, (p); }", "calls itself");
    refused("ld.param.u64 %rd3, [n];", "past its end");
    refused("mov.b32 %r6, %rd1;", "64 bits");
    refused("mov.b32 %r6, missing;", "not declared");
    refused("alloca.u64 %rd3, 16;", "alloca");
    // A loop that is entered at two places.
    refused(
        "setp.lt.u32 %p1, %r1, 9; @%p1 bra $b; $a: add.s32 %r1, %r1, 1; $b: setp.lt.u32 %p2, %r1, %r2; \
             @%p2 bra $a;",
        "entered at two places",
    );
    // Behind a branch that is never taken, it is not.
    bytes(
        "setp.gt.u32 %p1, %r1, 255; @!%p1 bra $e; frobnicate.u32 %r6, %r7; $e: st.global.u32 [%rd1], 0;",
        4,
        0,
    );
    bytes("trap; frobnicate.u32 %r6, %r7;", 0, 0);
    // A branch by a table goes anywhere in it.
    bytes(
        "mov.u32 %r10, 1; $t: .branchtargets $b, $c; and.b32 %r6, %r5, 1; brx.idx %r6, $t; $b: \
             mov.u32 %r10, 20; $c: STORE",
        84,
        0,
    );
}

#[test]
fn names_are_those_of_their_braces_and_functions_are_followed() {
    // A register of the same name with another width.
    bytes("{ .reg .b64 %r10; mov.u64 %r10, 5; } mov.u32 %r10, 3; STORE", 16, 0);
    bytes("{ .reg.b64 %r10; mov.u64 %r10, 5; } mov.u32 %r10, 3; STORE", 16, 0);
    refused("{ .reg .b32 other; mov.u32 other, 5; } mov.u32 %r10, other; STORE", "not declared");
    let call = "{ .param .b32 p; st.param.b32 [p], %r5; .param .b32 q; call (q), twice, (p); \
         ld.param.b32 %r10, [q]; }";
    bytes(&format!("{call} STORE"), 63 * 8 + 4, 0);
    // Bytes of a parameter that were written in other pieces.
    refused("{ .param .b32 p; st.param.b16 [p], %h1; ld.param.b32 %r10, [p]; }", "different pieces");
}

#[test]
fn loops_over_a_bound_that_only_threads_know_are_exact() {
    // i = thread; while (i < n) { x[i]; i += 64 }, with the test at the top.
    bytes(
        "mov.u32 %r10, %r1; $l: setp.ge.u32 %p1, %r10, %r2; @%p1 bra $e; STORE add.s32 %r10, %r10, 64; \
             bra $l; $e:",
        400,
        0,
    );
    // Down from n - 1, with and without a sign.
    bytes(
        "sub.s32 %r10, %r2, 1; $l: setp.lt.s32 %p1, %r10, 0; @%p1 bra $e; STORE sub.s32 %r10, %r10, 1; \
             bra $l; $e:",
        400,
        0,
    );
    refused(
        "sub.s32 %r10, %r2, 1; $l: STORE sub.s32 %r10, %r10, 1; setp.ge.u32 %p1, %r10, 0; @%p1 bra $l;",
        "",
    );
    // A register that is written on one way of two only, in a loop.
    refused(
        "mov.u32 %r10, 0; mov.u32 %r6, 0; $l: ld.global.u32 %r7, [%rd2]; setp.eq.s32 %p1, %r7, 0; \
             @%p1 bra $n; mov.u32 %r10, %r7; $n: STORE add.s32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 99; \
             @%p2 bra $l;",
        "",
    );
    // A guard in one round says nothing of the next round's value.
    refused(
        "mov.u32 %r10, 0; mov.u32 %r6, 0; $l: STORE setp.ge.u32 %p1, %r10, %r2; @%p1 bra $e; \
             ld.global.u32 %r10, [%rd2]; add.s32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 99; @%p2 bra $l; $e:",
        "",
    );
    // Two counters, and one that is reset.
    bytes(
        "mov.u32 %r6, 0; $o: mov.u32 %r10, 0; $l: STORE add.s32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, %r2; \
             @%p1 bra $l; add.s32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, %r1; @%p2 bra $o;",
        400,
        0,
    );
    refused(
        "mov.u32 %r10, 0; mov.u32 %r6, 0; $o: $l: STORE add.s32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, %r2; \
             @%p1 bra $l; add.s32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, %r1; @%p2 bra $o;",
        "",
    );
}

#[test]
fn an_access_beyond_all_memory_counts_even_if_its_pass_is_forgotten() {
    // The access is the last step of a round, and the round falls through to the loop's header: nothing looks
    // at it before the pass is forgotten.
    let of = |access: &str| {
        let header = "ld.volatile.global.u32 %r6, [%rd2]; setp.ne.u32 %p1, %r6, 0;";
        format!("bra $h; $l: {access} $h: {header} @%p1 bra $l;")
    };
    // A round that may be the last: the try to go through the rounds one by one ends.
    refused(&of("st.global.u32 [%rd1+-4], 0;"), "");
    refused(&of("st.shared.u32 [own+400], 0;"), "own");
    // A loop inside of another one: the outer one forgets the accesses of its passes.
    let inner = of("st.global.u32 [%rd1+-4], 0;");
    refused(&format!("$o: {inner} setp.ne.u32 %p2, %r6, 7; @%p2 bra $o;"), "");
    // What comes before and after it in the kernel does not help.
    refused(&format!("ld.global.u32 %r7, [%rd2]; {inner} st.global.u32 [%rd1], %r7;"), "");
}

#[test]
fn headers_and_directives_that_change_what_code_means_are_refused() {
    const TEXT: &str = "\
.version 8.0
.target sm_75
.address_size 64
.func helper() { ret; }
.entry k(.param .u64 x)
.maxntid 32, 1, 1
.minnctapersm 1
{
.reg .b64 %rd<3>;
ld.param.u64 %rd1, [x];
.pragma \"nounroll\";
st.global.u32 [%rd1], 0;
ret;
}
";
    let error = |old: &str, new: &str| {
        assert!(TEXT.contains(old), "{old}");
        kernels(&TEXT.replace(old, new)).map(|_| ()).map_err(|error| error.message)
    };
    assert_eq!(error("ret;", "ret;"), Ok(()));
    assert_eq!(error("sm_75", "sm_90a, debug"), Ok(()));
    for (old, new) in [
        // Addresses of 32 bits, also by default.
        ("64", "32"),
        (".address_size 64\n", ""),
        (".version 8.0\n", ""),
        // Other meanings of instructions.
        ("8.0", "5.0"),
        ("8.0", "9"),
        ("sm_75", "sm_75, map_f64_to_f32"),
        ("sm_75", "sm_75, texmode_independent"),
        ("sm_75", "compute_75"),
        // The text is for the highest one.
        ("sm_75", "sm_75\n.target sm_90"),
        (".target sm_75\n", "// .target sm_75\n"),
        // Behind the call of such a function there is no code.
        (".func helper()", ".func helper() .noreturn"),
        (".maxntid 32, 1, 1", ".abi_preserve 32"),
    ] {
        assert!(error(old, new).is_err(), "{new}");
    }
    let architecture = |text: &str| kernels_with_architecture(text).map(|(_, architecture)| architecture);
    assert_eq!(architecture(&TEXT.replace(".target", "// .target sm_90\n.target")), Ok(75));
    assert_eq!(architecture(&TEXT.replace("sm_75", "sm_90a")), Ok(90));
    // Which bytes a load returns.
    refused(".pragma \"used_bytes_mask 0x1\"; ld.global.u32 %r10, [%rd1]; STORE", "pragma");
}

#[test]
fn a_refusal_prints_floats_as_floats() {
    let text = ".version 8.0\n.target sm_75\n.address_size 64\n\
        .visible .entry k(.param .u64 x, .param .f32 a, .param .f64 b, .param .u32 n)\n{\n\
        .reg .pred %p<3>;\n.reg .f32 %f<3>;\n.reg .f64 %fd<3>;\n.reg .b32 %r<5>;\n.reg .b64 %rd<5>;\n\
        ld.param.u64 %rd1, [x];\nld.param.f32 %f1, [a];\nld.param.f64 %fd1, [b];\nld.param.u32 %r1, [n];\n\
        mov.b32 %r2, %f1;\nmov.b64 %rd2, %fd1;\nshr.u32 %r2, %r2, 23;\nshr.u64 %rd2, %rd2, 52;\n\
        cvt.u32.u64 %r3, %rd2;\nadd.u32 %r2, %r2, %r1;\nadd.u32 %r2, %r2, %r3;\n\
        mad.wide.u32 %rd3, %r2, 4, %rd1;\nst.global.u32 [%rd3], 0;\nret;\n}\n";
    let kernels = kernels(text).expect("PTX");
    let (spec, _) =
        Spec::parse("k | 1 | 1 | p,1069547520,4598175219545276416,7 | 8 | 0", &kernels).expect("a launch");
    let verdict = spec.with(|launch| prove(&kernels[0], launch));
    let memory =
        Memory { parameter: 0, offset: 0, name: "x", address: 0, bytes: 4, element: 4, is_writable: true };
    let refusal = verdict.check(&[memory], &["x", "a", "b", "n"]).expect_err("too short").to_string();
    assert!(refusal.ends_with("with grid 1, block 1, a 1.5, b 0.25, n 7"), "{refusal}");
}
