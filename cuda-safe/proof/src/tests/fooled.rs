//! Programs that were written to fool the analysis. Each access that one of them makes outside of what a
//! reader of the PTX may expect must be in the proven bytes, or the launch is refused.

use super::doubtful::{bytes, refused};

/// The store `x[%r10] = 0`, with a sign.
const SIGNED: &str = "mul.wide.s32 %rd10, %r10, 4; add.s64 %rd11, %rd1, %rd10; st.global.u32 [%rd11], 0;";

#[track_caller]
fn signed(body: &str, x: i64) {
    bytes(&body.replace("SIGNED", SIGNED), x, 0);
}

#[track_caller]
fn refused_signed(body: &str) {
    refused(&body.replace("SIGNED", SIGNED), "");
}

#[test]
fn sums_and_products_wrap() {
    // i - 100 below n holds for i of 100 to 199 only.
    bytes("add.u32 %r10, %r1, 0xffffff9c; setp.lt.u32 %p1, %r10, %r2; @!%p1 ret; STORE", 400, 0);
    bytes(
        "add.u32 %r6, %r1, 0xffffff9c; setp.lt.u32 %p1, %r6, %r2; @!%p1 ret; mov.b32 %r10, %r1; STORE",
        800,
        0,
    );
    bytes("sub.u32 %r6, %r1, 5; setp.lt.u32 %p1, %r6, %r2; @!%p1 ret; mov.b32 %r10, %r1; STORE", 420, 0);
    // The product is below n for every fourth thread.
    bytes("shl.b32 %r6, %r1, 30; setp.lt.u32 %p1, %r6, %r2; @!%p1 ret; mov.b32 %r10, %r1; STORE", 1012, 0);
    bytes(
        "cvt.u16.u32 %h1, %r1; mul.lo.u16 %h2, %h1, 512; setp.lt.u16 %p1, %h2, 9; \
         @!%p1 ret; mov.b32 %r10, %r1; STORE",
        516,
        0,
    );
    // 64 bits wrap as well, and so do an address and its offset.
    refused(
        "cvt.u64.u32 %rd3, %r1; mul.lo.s64 %rd3, %rd3, 0x4000000000000000; add.s64 %rd4, %rd1, %rd3; \
         st.global.u32 [%rd4], 0;",
        "",
    );
    refused(
        "cvt.u64.u32 %rd3, %r1; shl.b64 %rd3, %rd3, 61; add.s64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], 0;",
        "",
    );
    refused("mul.wide.u32 %rd3, %r1, 4; sub.s64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], 0;", "");
    refused("add.s64 %rd3, %rd1, 0xfffffffffffffffc; st.global.u32 [%rd3], 0;", "");
    // A negative factor of 32 bits is a large one without a sign.
    refused("mad.wide.u32 %rd3, %r1, -4, %rd1; st.global.u32 [%rd3], 0;", "");
    refused("mad.wide.s32 %rd3, %r1, -4, %rd1; st.global.u32 [%rd3], 0;", "");
    bytes("sub.s32 %r6, 0, %r1; mad.wide.s32 %rd3, %r6, -4, %rd1; st.global.u32 [%rd3], 0;", 1024, 0);
    refused("sub.s32 %r6, 0, %r1; mad.wide.u32 %rd3, %r6, 4, %rd1; st.global.u32 [%rd3], 0;", "");
    // The high half of a product, with and without a sign.
    bytes("mul.hi.u32 %r10, %r1, 0x80000000; STORE", 512, 0);
    refused("mul.hi.s32 %r10, %r1, 0x80000000; STORE", "");
    refused("sub.s32 %r6, 0, %r1; mul.hi.u32 %r10, %r6, %r2; STORE SIGNED", "");
    bytes("sub.s32 %r6, 0, %r1; mul.hi.u32 %r10, %r6, %r2; STORE", 400, 0);
    refused("sub.s32 %r6, 0, %r1; mul.hi.s32 %r10, %r6, %r2; STORE", "");
    // 24 bits of a larger number.
    bytes("mul24.lo.u32 %r10, %r1, 3; STORE", 3064, 0);
    refused("shl.b32 %r6, %r1, 20; mul24.lo.s32 %r10, %r6, 1; STORE", "");
    // A sum of carries and a saturating sum are no plain ones.
    refused("add.cc.u32 %r6, %r1, -1; addc.u32 %r10, %r1, %r1; STORE", "");
    refused_signed("add.sat.s32 %r10, %r1, 0x7fffffff; SIGNED");
}

#[test]
fn comparisons_read_what_their_type_says() {
    // -1 is below n with a sign, and above it without.
    refused_signed("sub.s32 %r10, %r1, 1; setp.lt.s32 %p1, %r10, %r2; @!%p1 ret; SIGNED");
    signed("sub.s32 %r10, %r1, 1; setp.lt.u32 %p1, %r10, %r2; @!%p1 ret; SIGNED", 400);
    refused_signed("ld.global.u32 %r10, [%rd2]; setp.lt.s32 %p1, %r10, %r2; @!%p1 ret; SIGNED");
    refused_signed("ld.global.u32 %r10, [%rd2]; setp.gt.s32 %p1, %r10, -1; @!%p1 ret; SIGNED");
    refused_signed("ld.global.u32 %r10, [%rd2]; setp.ne.s32 %p1, %r10, %r2; @!%p1 ret; SIGNED");
    refused_signed("ld.global.u32 %r10, [%rd2]; setp.le.u32 %p1, %r10, -2; @!%p1 ret; SIGNED");
    // Sixteen and eight bits of a larger number.
    refused(
        "ld.global.u32 %r10, [%rd2]; cvt.u16.u32 %h1, %r10; setp.lt.u16 %p1, %h1, 100; @!%p1 ret; STORE",
        "",
    );
    refused(
        "ld.global.u64 %rd3, [%rd2]; cvt.u32.u64 %r6, %rd3; setp.lt.u32 %p1, %r6, %r2; @!%p1 ret; \
         shl.b64 %rd4, %rd3, 2; add.s64 %rd5, %rd1, %rd4; st.global.u32 [%rd5], 0;",
        "",
    );
    bytes(
        "ld.global.u64 %rd3, [%rd2]; cvt.u32.u64 %r10, %rd3; setp.lt.u32 %p1, %r10, %r2; @!%p1 ret; STORE",
        400,
        8,
    );
    // A comparison of floats, of bits, and of unordered ones.
    refused(
        "ld.global.u32 %r10, [%rd2]; cvt.rn.f32.u32 %f1, %r10; setp.ltu.f32 %p1, %f1, 0f42C80000; \
         @!%p1 ret; STORE",
        "",
    );
    refused(
        "ld.global.u32 %r10, [%rd2]; mov.b32 %f1, %r10; setp.lt.f32 %p1, %f1, 0f42C80000; @!%p1 ret; STORE",
        "",
    );
    // The smaller of two numbers with a sign is below zero.
    refused("ld.global.u32 %r6, [%rd2]; min.s32 %r10, %r6, 99; STORE", "");
    bytes("ld.global.u32 %r6, [%rd2]; min.u32 %r10, %r6, 99; STORE", 400, 4);
    refused("ld.global.u32 %r6, [%rd2]; max.s32 %r10, %r6, 0; STORE", "");
    bytes("ld.global.u32 %r6, [%rd2]; max.s32 %r7, %r6, 0; min.s32 %r10, %r7, 99; STORE", 400, 4);
    // The magnitude of the least number is no magnitude.
    refused_signed(
        "ld.global.u32 %r6, [%rd2]; abs.s32 %r10, %r6; setp.lt.s32 %p1, %r10, 100; @!%p1 ret; SIGNED",
    );
    // A remainder has the sign of the number.
    refused_signed("ld.global.u32 %r6, [%rd2]; rem.s32 %r10, %r6, 100; SIGNED");
    bytes("ld.global.u32 %r6, [%rd2]; rem.u32 %r10, %r6, 100; STORE", 400, 4);
    // By zero, the result is any.
    refused("sub.s32 %r7, %r2, 100; rem.u32 %r10, %r1, %r7; STORE", "");
    refused("rem.u32 %r10, %r1, 0; STORE", "");
}

#[test]
fn conversions_shifts_and_bits() {
    refused("ld.global.u32 %r6, [%rd2]; cvt.s32.s8 %r10, %r6; STORE", "");
    bytes("ld.global.u32 %r6, [%rd2]; cvt.u32.u8 %r10, %r6; STORE", 1024, 4);
    refused("ld.global.s8 %r10, [%rd2]; STORE", "");
    bytes("ld.global.u8 %r10, [%rd2]; STORE", 1024, 1);
    refused(
        "ld.global.u32 %r6, [%rd2]; cvt.sat.u8.s32 %h1, %r6; cvt.s32.s16 %r10, %h1; \
         sub.s32 %r10, %r10, 1; STORE",
        "",
    );
    bytes("cvt.rn.f32.u32 %f1, %r1; cvt.rzi.s32.f32 %r10, %f1; STORE", 1024, 0);
    refused("cvt.rn.f32.u32 %f1, %r1; ex2.approx.f32 %f1, %f1; cvt.rzi.s32.f32 %r10, %f1; STORE", "");
    refused("cvt.rn.f32.u32 %f1, %r1; cvt.rzi.s8.f32 %h1, %f1; cvt.s32.s16 %r10, %h1; STORE", "");
    bytes("cvt.rn.f32.u32 %f1, %r1; cvt.rzi.u8.f32 %h1, %f1; cvt.u32.u16 %r10, %h1; STORE", 1024, 0);
    // Shifts by the width and more.
    bytes("shl.b32 %r10, %r1, 32; STORE", 4, 0);
    bytes("shr.u32 %r10, %r1, 40; STORE", 4, 0);
    bytes("shl.b32 %r10, %r1, 0xffffffff; STORE", 4, 0);
    // ptxas cuts an amount to the bits of the type: it shifts by 64 and by 1 here.
    refused("shl.b64 %rd3, 1, 0x100000001; cvt.u32.u64 %r10, %rd3; STORE", "too many bits");
    refused("cvt.u16.u32 %h1, %r1; shl.b16 %h1, %h1, 0x10001; cvt.u32.u16 %r10, %h1; STORE", "too many bits");
    refused("shr.u32 %r10, %r1, 0x100000001; STORE", "too many bits");
    refused("sub.s32 %r6, 0, %r1; shr.s32 %r10, %r6, 40; STORE", "");
    refused("shl.b32 %r10, 1, %r1; STORE", "");
    bytes("and.b32 %r6, %r5, 7; shl.b32 %r10, 1, %r6; STORE", 516, 0);
    bytes("shr.u32 %r10, %r2, %r1; STORE", 404, 0);
    refused("shr.s32 %r10, 0x80000000, %r1; STORE", "");
    // Parts of a register.
    bytes("ld.global.u32 %r6, [%rd2]; bfe.u32 %r10, %r6, 28, 8; STORE", 64, 4);
    bytes("ld.global.u32 %r6, [%rd2]; bfe.u32 %r10, %r6, 3, 5; STORE", 128, 4);
    refused("ld.global.u32 %r6, [%rd2]; bfe.s32 %r10, %r6, 3, 5; STORE", "");
    refused("ld.global.u32 %r6, [%rd2]; bfe.u32 %r10, %r6, 3, %r5; STORE", "");
    refused("prmt.b32 %r10, %r1, 0, 0x0123; STORE", "");
    refused("bfi.b32 %r10, %r5, %r1, 8, 8; STORE", "");
    refused("lop3.b32 %r10, %r1, %r5, %r2, 0x1; STORE", "");
    refused("not.b32 %r10, %r1; STORE", "");
    refused("shf.l.wrap.b32 %r10, %r1, %r5, 16; STORE", "");
    // A mask with holes, and one of more bits than the number has.
    bytes("ld.global.u32 %r6, [%rd2]; and.b32 %r10, %r6, 0x85; STORE", 536, 4);
    refused("ld.global.u32 %r6, [%rd2]; and.b32 %r10, %r6, 0xfffffff0; STORE", "");
    refused("ld.global.u32 %r6, [%rd2]; or.b32 %r10, %r6, 1; STORE", "");
    bytes("shl.b32 %r6, %r5, 2; or.b32 %r10, %r6, 3; STORE", 1024, 0);
    bytes("shl.b32 %r6, %r5, 1; or.b32 %r10, %r6, 3; STORE", 512, 0);
    bytes("xor.b32 %r10, %r5, 63; STORE", 256, 0);
    bytes("xor.b32 %r10, %r1, 99; STORE", 1024, 0);
    // Two halves of which one is not known.
    refused(
        "ld.global.u32 %r6, [%rd2]; mov.b64 %rd3, {%r5, %r6}; shl.b64 %rd3, %rd3, 2; \
         add.s64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], 0;",
        "",
    );
    refused(
        "ld.global.u64 %rd3, [%rd2]; mov.b64 {%r6, %r10}, %rd3; setp.lt.u32 %p1, %r6, %r2; @!%p1 ret; STORE",
        "",
    );
    // Octal, binary, and letters behind a number.
    bytes("mov.u32 %r10, 010; STORE", 36, 0);
    bytes("mov.u32 %r10, 0b101; STORE", 24, 0);
    bytes("mov.u32 %r10, 0x10U; STORE", 68, 0);
    // The bits of a float.
    refused("mov.b32 %r10, 0f3F800000; STORE", "");
}

#[test]
fn predicates_guards_and_choices() {
    // The instruction overwrites its own guard: both results are written.
    bytes(
        "setp.eq.u32 %p1, 0, 0; setp.lt.u32 %p2, %r1, %r2; @%p1 setp.lt.u32 %p1|%p2, %r1, 0; @!%p2 ret; \
         mov.b32 %r10, %r1; STORE",
        1024,
        0,
    );
    bytes(
        "setp.eq.u32 %p1, 0, 1; setp.lt.u32 %p2, %r1, %r2; @!%p1 setp.ge.u32 %p1|%p2, %r1, 0; @%p2 ret; \
         mov.b32 %r10, %r1; STORE",
        1024,
        0,
    );
    // One or the other, and one but not the other.
    bytes(
        "setp.lt.u32 %p1, %r1, %r2; setp.lt.or.u32 %p2, %r1, 200, %p1; @!%p2 ret; mov.b32 %r10, %r1; STORE",
        800,
        0,
    );
    bytes(
        "setp.lt.u32 %p1, %r1, %r2; setp.lt.xor.u32 %p2, %r1, 200, %p1; @%p2 ret; mov.b32 %r10, %r1; STORE",
        1024,
        0,
    );
    bytes(
        "setp.lt.u32 %p1, %r1, %r2; setp.lt.and.u32 %p2, %r1, 50, !%p1; @%p2 ret; mov.b32 %r10, %r1; STORE",
        1024,
        0,
    );
    bytes(
        "setp.lt.u32 %p1, %r1, %r2; mov.pred %p2, %p1; setp.lt.u32 %p1, %r1, 0; @!%p2 ret; \
         mov.b32 %r10, %r1; \
         STORE",
        400,
        0,
    );
    bytes("setp.lt.u32 %p1, %r1, %r2; xor.pred %p2, %p1, %p1; @%p2 ret; mov.b32 %r10, %r1; STORE", 1024, 0);
    // A predicate that nothing has written.
    bytes("@%p5 ret; mov.b32 %r10, %r1; @!%p5 ret; STORE", 1024, 0);
    bytes("setp.lt.u32 %p1, %r1, %r2; @%p5 mov.pred %p1, %p6; @!%p1 ret; mov.b32 %r10, %r1; STORE", 1024, 0);
    // The guard is of the old value.
    bytes("mov.b32 %r10, %r1; setp.lt.u32 %p1, %r10, 50; @%p1 add.u32 %r10, %r10, 300; STORE", 1400, 0);
    bytes("mov.b32 %r10, %r1; setp.ge.u32 %p1, %r10, 50; @%p1 sub.u32 %r10, %r10, 50; STORE", 824, 0);
    // Chains of choices.
    bytes(
        "setp.lt.u32 %p1, %r1, %r2; selp.b32 %r6, %r1, 0, %p1; setp.eq.u32 %p2, %r6, 0; \
         selp.b32 %r10, %r1, %r6, %p2; STORE",
        1024,
        0,
    );
    bytes(
        "setp.lt.u32 %p1, %r1, %r2; selp.u32 %r6, 1, 0, %p1; setp.ne.u32 %p2, %r6, 1; @%p2 ret; \
         mov.b32 %r10, %r1; \
         STORE",
        400,
        0,
    );
    bytes(
        "setp.lt.u32 %p1, %r1, %r2; selp.u32 %r6, 1, 0, %p1; add.u32 %r6, %r6, 1; setp.eq.u32 %p2, %r6, 1; \
         @!%p2 ret; mov.b32 %r10, %r1; STORE",
        1024,
        0,
    );
    bytes(
        "setp.lt.u32 %p1, %r1, %r2; selp.u32 %r6, 0, 1, %p1; setp.eq.u32 %p2, %r6, 1; @!%p2 ret; \
         mov.b32 %r10, %r1; STORE",
        1024,
        0,
    );
    // A choice of a pointer and a number, and of a pointer and itself further on.
    refused("setp.lt.u32 %p1, %r1, 9; selp.b64 %rd3, %rd1, 64, %p1; st.global.u32 [%rd3], 0;", "");
    bytes(
        "setp.lt.u32 %p1, %r1, 9; add.s64 %rd3, %rd1, 64; selp.b64 %rd4, %rd1, %rd3, %p1; \
         st.global.u32 [%rd4], 0;",
        68,
        0,
    );
    // Tests of tests of tests: no work without end, and no deep calls.
    let chain = "and.pred %p1, %p1, %p2; ".repeat(3000);
    bytes(&format!("setp.lt.u32 %p1, %r1, %r2; {chain} @!%p1 ret; mov.b32 %r10, %r1; STORE"), 1024, 0);
    let square = "and.pred %p2, %p1, %p1; not.pred %p3, %p2; and.pred %p1, %p3, %p3; ".repeat(15);
    refused(
        &format!(
            "ld.global.u32 %r6, [%rd2]; setp.lt.u32 %p1, %r6, %r2; {square} @!%p1 ret; \
             mov.b32 %r10, %r6; STORE"
        ),
        "",
    );
    // A table of branches: past its end, the hardware goes anywhere.
    refused(
        "$t: .branchtargets $a, $b; brx.idx %r5, $t; $a: ret; $b: st.global.u32 [%rd1], 0;",
        "past the end",
    );
    refused(
        "ld.global.u32 %r6, [%rd2]; $t: .branchtargets $a, $b; brx.idx %r6, $t; $a: $b: ret;",
        "past the end",
    );
    bytes(
        "and.b32 %r6, %r5, 1; $t: .branchtargets $a, $b; brx.idx %r6, $t; $a: ret; \
         $b: st.global.u32 [%rd1], 0;",
        4,
        0,
    );
}

#[test]
fn loops_that_look_bounded() {
    // Over the bound, by a step that does not meet it, and the other way around.
    refused("mov.u32 %r10, 1; $l: STORE add.u32 %r10, %r10, 2; setp.ne.u32 %p1, %r10, %r2; @%p1 bra $l;", "");
    refused_signed(
        "mov.u32 %r10, 99; $l: SIGNED sub.s32 %r10, %r10, 2; setp.ne.s32 %p1, %r10, 0; @%p1 bra $l;",
    );
    refused_signed(
        "mov.u32 %r10, 99; $l: SIGNED sub.s32 %r10, %r10, 1; setp.ge.s32 %p1, %r10, -1; @%p1 bra $l;",
    );
    bytes(
        "mov.u32 %r10, 0; $l: STORE add.u32 %r10, %r10, 7; setp.le.u32 %p1, %r10, %r2; @%p1 bra $l;",
        396,
        0,
    );
    bytes(
        "mov.u32 %r10, 0; $l: add.u32 %r10, %r10, 7; STORE setp.lt.u32 %p1, %r10, %r2; @%p1 bra $l;",
        424,
        0,
    );
    // The counter wraps before the bound is reached.
    refused(
        "mov.u32 %r10, 0; $l: STORE add.u32 %r10, %r10, 0x60000000; setp.lt.u32 %p1, %r10, 0xf0000000; \
         @%p1 bra $l;",
        "",
    );
    refused(
        "cvt.u16.u32 %h1, %r5; $l: cvt.s32.s16 %r10, %h1; STORE add.s16 %h1, %h1, 1; \
         setp.lt.s16 %p1, %h1, 32767; \
         @%p1 bra $l; add.s16 %h1, %h1, 1; cvt.s32.s16 %r10, %h1; STORE",
        "",
    );
    refused(
        "mov.u16 %h1, 0; $l: cvt.u32.u16 %r6, %h1; mov.b32 %r10, %r6; add.u16 %h1, %h1, 1; \
         setp.ne.u16 %p1, %h1, 0; @%p1 bra $l; \
         not.b32 %r10, %r10; STORE",
        "",
    );
    // Two exits: behind the second one the bound is another.
    bytes(
        "mov.u32 %r10, 0; $l: setp.ge.u32 %p1, %r10, 300; @%p1 bra $e; ld.volatile.global.u32 %r6, [%rd2]; \
         setp.eq.u32 %p2, %r6, 0; @%p2 bra $e; add.u32 %r10, %r10, 1; bra $l; $e: STORE",
        1204,
        4,
    );
    bytes(
        "mov.u32 %r10, 0; $l: setp.ge.u32 %p1, %r10, %r2; @%p1 bra $e; ld.volatile.global.u32 %r6, [%rd2]; \
         add.u32 %r10, %r10, 1; setp.eq.u32 %p2, %r6, 0; @%p2 bra $f; bra $l; $f: STORE $e: ",
        404,
        4,
    );
    // The bound changes in the loop, or is loaded again.
    refused(
        "mov.u32 %r10, 0; mov.b32 %r6, %r2; $l: STORE add.u32 %r10, %r10, 1; add.u32 %r6, %r6, 1; \
         setp.lt.u32 %p1, %r10, %r6; @%p1 bra $l;",
        "",
    );
    refused(
        "mov.u32 %r10, 0; $l: STORE add.u32 %r10, %r10, 1; ld.volatile.global.u32 %r6, [%rd2]; \
         setp.lt.u32 %p1, %r10, %r6; @%p1 bra $l;",
        "",
    );
    // Two counters that part.
    refused(
        "mov.u32 %r6, 0; mov.u32 %r10, 0; $l: STORE add.u32 %r6, %r6, 1; add.u32 %r10, %r10, %r6; \
         setp.lt.u32 %p1, %r6, 0x100000; @%p1 bra $l;",
        "",
    );
    refused(
        "mov.u32 %r6, 0; mov.u32 %r10, 0; $l: STORE ld.volatile.global.u32 %r7, [%rd2]; and.b32 %r7, %r7, 1; \
         add.u32 %r6, %r6, %r7; add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r6, %r2; @%p1 bra $l;",
        "",
    );
    // A counter that is doubled, halved, swapped with another one, or set back in one of two ways.
    refused("mov.u32 %r10, 1; $l: STORE shl.b32 %r10, %r10, 1; setp.ne.u32 %p1, %r10, 0; @%p1 bra $l;", "");
    bytes(
        "mov.u32 %r10, 64; $l: STORE shr.u32 %r10, %r10, 1; setp.ne.u32 %p1, %r10, 0; @%p1 bra $l;",
        260,
        0,
    );
    refused(
        "mov.u32 %r10, 0; mov.u32 %r6, 5000000; mov.u32 %r8, 0; $l: STORE mov.b32 %r7, %r6; \
         mov.b32 %r6, %r10; \
         mov.b32 %r10, %r7; add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, %r1; @%p1 bra $l;",
        "",
    );
    // Each round uses the value of the round before.
    refused(
        "mov.u32 %r10, 0; mov.u32 %r6, 0; $l: STORE ld.volatile.global.u32 %r7, [%rd2]; \
         setp.lt.u32 %p2, %r7, %r2; \
         selp.b32 %r10, %r6, %r7, %p2; add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, %r2; @%p1 bra $l;",
        "",
    );
    // A pointer that moves on, by another step on each of two ways.
    refused(
        "mov.b64 %rd3, %rd1; mov.u32 %r6, 0; $l: st.global.u32 [%rd3], 0; add.s64 %rd3, %rd3, 4; \
         add.u32 %r6, %r6, 1; \
         setp.lt.u32 %p2, %r6, 9; @%p2 add.s64 %rd3, %rd3, -12; setp.lt.u32 %p1, %r6, %r2; @%p1 bra $l;",
        "",
    );
    // Inside of another loop, the inner counter goes on.
    refused(
        "mov.u32 %r10, 0; mov.u32 %r6, 0; $o: mov.u32 %r7, 0; $l: STORE add.u32 %r10, %r10, 1; \
         add.u32 %r7, %r7, 1; \
         setp.lt.u32 %p1, %r7, %r1; @%p1 bra $l; add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 2000000; \
         @%p2 bra $o;",
        "",
    );
}

#[test]
fn addresses_spaces_and_alignment() {
    // A register of 32 bits has no whole address of global memory.
    refused("cvt.u32.u64 %r6, %rd1; st.global.u32 [%r6], 0;", "");
    refused("mov.u32 %r6, table; ld.global.u32 %r7, [%r6];", "");
    refused("mov.u32 %r6, own; st.u32 [%r6], 0;", "");
    refused("mov.u32 %r6, own; sub.u32 %r6, %r6, 4; st.shared.u32 [%r6], 0;", "");
    refused("mov.u32 %r6, own; cvt.u16.u32 %h1, %r6; cvt.u32.u16 %r7, %h1; st.shared.u32 [%r7], 0;", "");
    // What cvta makes of a number is another number.
    refused(
        "mov.u64 %rd3, 0; cvta.shared.u64 %rd4, %rd3; shl.b64 %rd4, %rd4, 2; add.s64 %rd5, %rd1, %rd4; \
         st.global.u32 [%rd5], 0;",
        "",
    );
    refused(
        "mov.u64 %rd3, 0; cvta.to.local.u64 %rd4, %rd3; add.s64 %rd5, %rd1, %rd4; st.global.u32 [%rd5], 0;",
        "",
    );
    bytes(
        "mov.u64 %rd3, 8; cvta.to.global.u64 %rd4, %rd3; add.s64 %rd5, %rd1, %rd4; st.global.u32 [%rd5], 0;",
        12,
        0,
    );
    refused("mov.u64 %rd3, own; sub.s64 %rd3, %rd3, 4; cvta.shared.u64 %rd4, %rd3; st.u32 [%rd4+4], 0;", "");
    refused("mov.u64 %rd3, own; cvta.local.u64 %rd4, %rd3; st.u32 [%rd4], 0;", "");
    refused("mov.u64 %rd3, stack; cvta.local.u64 %rd4, %rd3; st.u32 [%rd4+64], 0;", "stack, which has 64");
    refused("mov.u64 %rd3, own; cvta.shared.u64 %rd4, %rd3; st.shared.u32 [%rd4], 0;", "");
    refused(
        "mov.u64 %rd3, own; mov.u64 %rd4, stack; sub.s64 %rd5, %rd3, %rd4; add.s64 %rd6, %rd1, %rd5; \
         st.global.u32 [%rd6], 0;",
        "",
    );
    // Half of a pointer, both halves, and one and a half.
    refused("mov.b64 {%r6, %r7}, %rd1; mov.b64 %rd3, {%r6, %r7}; st.global.u32 [%rd3], 0;", "");
    refused(
        "add.s64 %rd3, %rd1, %rd1; sub.s64 %rd3, %rd3, %rd2; st.global.u32 [%rd3], 0;",
        "several pointers",
    );
    refused("and.b64 %rd3, %rd1, -16; st.global.u32 [%rd3], 0;", "");
    refused("xor.b64 %rd3, %rd1, 4; st.global.u32 [%rd3], 0;", "");
    refused("min.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], 0;", "");
    // The pointer is stored and loaded, through local memory: it is the same, unless half of it is another's.
    let through = |more: &str| {
        format!(
            "mov.u64 %rd3, stack; st.local.u64 [%rd3], %rd1; {more} ld.local.u64 %rd4, [%rd3]; \
             st.global.u32 [%rd4], 0;"
        )
    };
    bytes(&through(""), 4, 0);
    refused(&through("st.local.u32 [%rd3], 0;"), "");
    refused(&through("ld.global.u64 %rd4, [%rd2]; st.local.u64 [%rd3], %rd4;"), "");
    // The distance of two pointers guards nothing of a third.
    refused(
        "ld.global.u64 %rd3, [%rd2]; setp.ge.u64 %p1, %rd3, %rd1; @!%p1 ret; add.s64 %rd4, %rd1, 400; \
         setp.lt.u64 %p2, %rd3, %rd4; @!%p2 ret; st.global.u32 [%rd3], 0;",
        "comes from memory",
    );
    // Vectors, and elements that are wider than their array's alignment.
    bytes(
        "shl.b32 %r6, %r5, 4; cvt.u64.u32 %rd3, %r6; add.s64 %rd4, %rd1, %rd3; \
         ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd4];",
        1024,
        0,
    );
    refused(
        "shl.b32 %r6, %r5, 3; cvt.u64.u32 %rd3, %r6; add.s64 %rd4, %rd1, %rd3; \
         ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd4];",
        "16",
    );
    refused("mov.u32 %r6, own; ld.shared.v2.f32 {%f1, %f2}, [%r6];", "aligned to 4");
    refused("ld.global.v2.u64 {%rd3, %rd4}, [%rd1+8];", "16");
    refused(
        "mov.u32 %r6, dynamic; mad.lo.u32 %r6, %r5, 4, %r6; ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r6];",
        "16",
    );
    refused(
        "mov.u32 %r6, dynamic; ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r6+256];",
        "256 bytes of dynamic",
    );
    // Copies and matrices of shared memory have sizes of their own.
    refused(
        "mov.u32 %r6, dynamic; mad.lo.u32 %r6, %r5, 8, %r6; cp.async.ca.shared.global [%r6], [%rd1], 16;",
        "16",
    );
    refused(
        "mov.u32 %r6, dynamic; mad.lo.u32 %r6, %r5, 16, %r6; cp.async.cg.shared.global [%r6], [%rd1], 16;",
        "256 bytes of dynamic",
    );
    bytes(
        "mov.u32 %r6, dynamic; mad.lo.u32 %r6, %r5, 4, %r6; cp.async.ca.shared.global [%r6], [%rd1+12], 4;",
        16,
        0,
    );
    refused("mov.u32 %r6, dynamic; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r7}, [%r6+248];", "16");
    refused(
        "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd1], {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}, %r1;",
        "",
    );
    // Constants and parameters are not written.
    refused("mov.b64 %rd3, n; st.param.u32 [%rd3], 0;", "");
    refused("mov.b64 %rd3, n; ld.param.u64 %rd4, [%rd3];", "");
    // A texture's handle must be a parameter, and set where it is used.
    let texture = |handle: &str| {
        format!("{handle} mov.u32 %r6, 0; tex.1d.v4.f32.s32 {{%f1, %f2, %f3, %f4}}, [%rd3, {{%r6}}];")
    };
    refused(&texture("mov.u64 %rd3, 1;"), "texture");
    refused(&texture("ld.global.u64 %rd3, [%rd2];"), "texture");
    refused(&texture("ld.param.u64 %rd3, [y]; add.s64 %rd3, %rd3, 1;"), "texture");
    refused(&texture("setp.lt.u32 %p1, %r1, 9; @%p1 ld.param.u64 %rd3, [y];"), "texture");
    refused(&texture("setp.lt.u32 %p1, %r1, 9; @%p1 bra $s; ld.param.u64 %rd3, [y]; $s:"), "may not be set");
    refused("mov.u64 %rd3, 1; mov.u32 %r6, 0; sust.b.1d.b32.trap [%rd3, {%r6}], {%r6};", "texture");
    bytes(&texture("ld.param.u64 %rd3, [y];"), 0, 0);
    // Parameters, too.
    refused("ld.param.u32 %r10, [x+2]; STORE", "no multiple of 4");
    refused("ld.param.v2.u32 {%r10, %r6}, [n]; STORE", "");
    refused(
        "{ .param .align 4 .b8 a[8]; st.param.b32 [a+2], 5; ld.param.b32 %r10, [a+2]; } STORE",
        "no multiple of 4",
    );
}

#[test]
fn values_that_change_between_the_guard_and_the_use() {
    let guarded = |load: &str| format!("{load} setp.ge.u32 %p1, %r10, %r2; @%p1 ret; STORE");
    // Of the pieces that are written, one is enough.
    refused(&guarded("ld.global.u32 %r10, [%rd1+64]; st.global.v2.u16 [%rd1+8], {%h1, %h2};"), "");
    refused(&guarded("ld.global.v2.u32 {%r10, %r6}, [%rd2]; atom.global.add.u64 %rd3, [%rd2+64], 1;"), "");
    refused(&guarded("ld.global.u32 %r10, [%rd2]; red.global.add.f64 [%rd2], 0d3FF0000000000000;"), "");
    refused(&guarded("ld.shared.u32 %r10, [own]; st.shared.u8 [own+4], 0;"), "");
    refused(
        &guarded(
            "mov.u64 %rd3, own; cvta.shared.u64 %rd4, %rd3; ld.shared.u32 %r10, [own]; st.u8 [%rd4], 0;",
        ),
        "",
    );
    bytes(&guarded("ld.shared.u32 %r10, [own]; st.shared.u32 [own+4], 0;"), 400, 0);
    refused(
        &guarded(
            "mov.u32 %r6, dynamic; ld.shared.u32 %r10, [%r6]; cp.async.ca.shared.global [%r6+16], [%rd2], 8;",
        ),
        "",
    );
    // A variable of the program may be an argument as well.
    refused(&guarded("ld.global.u32 %r10, [%rd2]; st.global.u8 [table], 0;"), "");
    refused(&guarded("ld.global.nc.u32 %r10, [%rd2]; st.global.u32 [table], 0;"), "");
    refused(&guarded("ld.global.u32 %r10, [table]; st.global.u8 [%rd2], 0;"), "");
    bytes(&guarded("ld.global.u32 %r10, [%rd2]; st.global.u32 [table], 0;"), 400, 4);
    // The read-only path, with a pointer that is made generic and back, and behind a choice.
    refused(
        &guarded("cvta.global.u64 %rd3, %rd1; cvta.to.global.u64 %rd4, %rd3; ld.global.nc.u32 %r10, [%rd4];"),
        "",
    );
    refused(&guarded("ldu.global.u32 %r10, [%rd1];"), "");
    refused(&guarded("ld.global.nc.u32 %r6, [%rd1]; add.u32 %r10, %r6, 1;"), "");
    refused(
        &guarded("ld.global.nc.u32 %r6, [%rd1]; and.b32 %r7, %r6, 0xffffffff; shr.u32 %r10, %r7, 1;"),
        "",
    );
    refused(
        &guarded("ld.global.nc.u32 %r6, [%rd1]; setp.lt.u32 %p2, %r1, 9; selp.b32 %r10, %r6, 5, %p2;"),
        "",
    );
    refused(&guarded("ld.global.nc.u32 %r6, [%rd1]; rem.u32 %r7, %r6, 7; mul.lo.u32 %r10, %r7, %r6;"), "");
    refused(
        &guarded("ld.global.nc.u32 %r6, [%rd1]; min.u32 %r10, %r6, %r5;")
            .replace("STORE", "add.u32 %r10, %r10, %r6; STORE"),
        "",
    );
    // By way of a predicate, a carry, or the second one of two numbers that are packed.
    let nc = |then: &str| guarded(&format!("ld.global.nc.u32 %r6, [%rd1]; {then}"));
    bytes(&nc("setp.eq.u32 %p2, %r6, 0; selp.b32 %r10, 500, 3, %p2;"), 2004, 0);
    bytes(&nc("setp.eq.u32 %p2, %r6, 0; mov.b32 %r10, 3; @%p2 mov.b32 %r10, 500;"), 2004, 0);
    bytes(&nc("setp.eq.u32 %p2, %r6, 0; and.pred %p2, %p2, %p3; selp.b32 %r10, 500, 3, %p2;"), 2004, 0);
    bytes(&nc("setp.eq.xor.u32 %p2, %r6, 0, %p3; selp.b32 %r10, 500, 3, !%p2;"), 2004, 0);
    refused(&nc("setp.eq.u32 %p2, %r6, 0; set.eq.and.u32.u32 %r10, %r1, 3, %p2;"), "");
    refused(&nc("add.cc.u32 %r7, %r6, -1; addc.u32 %r10, 0, 0;"), "");
    refused(&nc("cvt.pack.sat.s16.s32 %r10, 0, %r6;"), "");
    refused(&nc("mov.b32 %f1, %r6; mov.f32 %f2, 0f00000000; cvt.rn.f16x2.f32 %r10, %f2, %f1;"), "");
    bytes(&guarded("selp.b32 %r10, 500, 3, %p8;"), 2004, 0);
    bytes(&guarded("prmt.b32 %r10, %r1, %r2, 0x7654;"), 400, 0);
    bytes(&guarded("setp.eq.u32 %p2, %r1, 0; selp.b32 %r10, 500, 3, %p2;"), 16, 0);
    // Each use may see another value, but all are in the range.
    bytes("ld.global.nc.u8 %r6, [%rd1]; and.b32 %r10, %r6, 63; STORE", 256, 0);
    // The second of two loads that one guard is meant for.
    refused(
        "ld.global.u32 %r6, [%rd2]; setp.ge.u32 %p1, %r6, %r2; @%p1 ret; bar.sync 0; \
         ld.global.u32 %r10, [%rd2]; STORE",
        "",
    );
    refused(
        "atom.global.add.u32 %r6, [%rd2], 1; setp.ge.u32 %p1, %r6, %r2; @%p1 ret; \
         atom.global.add.u32 %r10, [%rd2], 1; STORE",
        "",
    );
    bytes("atom.global.add.u32 %r10, [%rd2], 1; setp.ge.u32 %p1, %r10, %r2; @%p1 ret; STORE", 400, 4);
    refused(
        "atom.global.add.u32 %r6, [%rd2], 1; setp.ge.u32 %p1, %r6, %r2; @%p1 ret; \
         add.u32 %r10, %r6, 0xfffffff0; STORE",
        "",
    );
    // What another thread has, and what a barrier gathers.
    refused("shfl.sync.idx.b32 %r10, %r1, 0, 31, -1; STORE", "");
    refused("setp.lt.u32 %p1, %r1, %r2; @!%p1 ret; shfl.sync.idx.b32 %r10|%p2, %r1, 0, 31, -1; STORE", "");
    refused("bar.red.popc.u32 %r10, 0, %p1; STORE", "");
    refused("mov.u32 %r6, %clock; mov.u32 %r7, %clock; sub.u32 %r10, %r7, %r6; STORE", "");
    // Local arrays that nothing has written, or only in part.
    bytes("st.local.u32 [stack], 5; ld.local.u32 %r10, [stack]; STORE", 24, 0);
    refused("st.local.u16 [stack], 5; ld.local.u32 %r10, [stack]; STORE", "");
    refused("ld.local.u32 %r10, [stack]; STORE", "");
    refused(&guarded("st.local.u32 [stack], 5; ld.local.u32 %r10, [stack+4];"), "");
    // In a vector, a number that nobody needs has its place.
    bytes("st.local.v2.u32 [stack], {0, 5}; ld.local.v2.u32 {_, %r10}, [stack]; STORE", 24, 0);
    bytes("st.local.v2.u32 [stack], {5, 0}; ld.local.v2.u32 {%r10, _}, [stack]; STORE", 24, 0);
}

#[test]
fn calls_with_other_parameters() {
    // The result is that of the function, in each of two calls.
    bytes(
        "{ .param .b32 p; st.param.b32 [p], %r5; .param .b32 q; call (q), twice, (p); \
         ld.param.b32 %r6, [q]; } \
         { .param .b32 p; st.param.b32 [p], %r6; .param .b32 q; call (q), twice, (p); \
         ld.param.b32 %r10, [q]; } STORE",
        63 * 16 + 4,
        0,
    );
    // The same parameter takes another value before the second call.
    bytes(
        "{ .param .b32 p; .param .b32 q; st.param.b32 [p], 3; call (q), twice, (p); ld.param.b32 %r6, [q]; \
         st.param.b32 [p], %r1; call (q), twice, (p); ld.param.b32 %r10, [q]; } STORE",
        255 * 8 + 4,
        0,
    );
    refused(
        "{ .param .b32 p; st.param.b32 [p], 3; call (p), twice, (p); ld.param.b32 %r10, [p]; } STORE",
        "twice",
    );
    refused("{ .param .b32 p; call (p), twice, (p, p); }", "other parameters");
    // A function that writes its result on one way only, or its parameter.
    refused(
        "{ .param .b32 p; .param .b32 q; st.param.b32 [p], 1; call (q), sometimes, (p); \
         ld.param.b32 %r6, [q]; \
         st.param.b32 [p], 0; call (q), sometimes, (p); ld.param.b32 %r10, [q]; } STORE",
        "",
    );
    refused(
        "{ .param .b32 p; st.param.b32 [p], 9; call changes, (p); ld.param.b32 %r10, [p]; } STORE",
        "writes its parameter",
    );
    // A register of the function has no value in the next round.
    refused(
        "mov.u32 %r6, 0; $l: { .param .b32 p; .param .b32 q; st.param.b32 [p], %r6; \
         call (q), remembers, (p); \
         ld.param.b32 %r10, [q]; } STORE add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 3; @%p1 bra $l;",
        "",
    );
    // Arrays of one name are two arrays.
    refused(
        "{ .param .b64 q; call (q), array; ld.param.b64 %rd3, [q]; } mov.u64 %rd4, own; \
         sub.s64 %rd5, %rd3, %rd4; \
         shl.b64 %rd5, %rd5, 2; add.s64 %rd6, %rd1, %rd5; st.global.u32 [%rd6], 0;",
        "",
    );
    bytes("{ .param .b64 q; call (q), array; ld.param.b64 %rd3, [q]; } st.shared.u32 [%rd3+396], 0;", 0, 0);
    // An assertion prints texts of the program only.
    refused(
        "{ .param .b64 a; .param .b64 b; .param .b64 c; .param .b32 d; .param .b64 e; \
         st.param.b64 [a], %rd1; \
         st.param.b64 [b], %rd1; st.param.b64 [c], %rd1; st.param.b32 [d], 1; st.param.b64 [e], 1; \
         call __assertfail, (a, b, c, d, e); }",
        "not in the PTX",
    );
    refused("{ .param .b64 p; st.param.b64 [p], %rd1; .param .b64 q; call (q), malloc, (p); }", "heap");
    refused("call (%r6), %rd1, (%r7);", "");
}

/// The bits of the float `%f1` are a word of y.
const FLOAT: &str = "ld.global.f32 %f1, [%rd2]; mov.b32 %r6, %f1;";
/// How many powers of two the bits are above those of 1: of any bits, nine are left.
const POWER: &str = "sub.u32 %r7, %r6, 0x3f800000; shr.u32 %r10, %r7, 23; STORE";

#[test]
fn comparisons_of_floats() {
    let guarded = |test: &str| format!("{FLOAT} {test} {POWER}");
    // From 1 to infinity.
    bytes(&guarded("setp.ge.f32 %p1, %f1, 0f3F800000; @!%p1 ret;"), 516, 4);
    bytes(&guarded("setp.gt.ftz.f32 %p1, %f1, 0f3F800000; @!%p1 ret;"), 516, 4);
    bytes(&guarded("setp.ltu.f32 %p1, %f1, 0f3F800000; @%p1 ret;"), 516, 4);
    bytes(&guarded("setp.leu.f32 %p1, %f1, 0f3F800000; @%p1 ret;"), 516, 4);
    bytes(&guarded("setp.eq.f32 %p1, %f1, 0f3F800000; @!%p1 ret;"), 4, 4);
    bytes(&guarded("setp.neu.f32 %p1, %f1, 0f3F800000; @%p1 ret;"), 4, 4);
    // A NaN passes these, and negative numbers those.
    bytes(&guarded("setp.lt.f32 %p1, %f1, 0f3F800000; @%p1 ret;"), 2048, 4);
    bytes(&guarded("setp.le.f32 %p1, %f1, 0f3F800000; @%p1 ret;"), 2048, 4);
    bytes(&guarded("setp.geu.f32 %p1, %f1, 0f3F800000; @!%p1 ret;"), 2048, 4);
    bytes(&guarded("setp.gtu.f32 %p1, %f1, 0f3F800000; @!%p1 ret;"), 2048, 4);
    bytes(&guarded("setp.equ.f32 %p1, %f1, 0f3F800000; @!%p1 ret;"), 2048, 4);
    bytes(&guarded("setp.ne.f32 %p1, %f1, 0f3F800000; @%p1 ret;"), 2048, 4);
    bytes(&guarded("setp.num.f32 %p1, %f1, 0f3F800000; @!%p1 ret;"), 2048, 4);
    bytes(&guarded("setp.ltu.f32 %p1, %f1, 0f3F800000; @!%p1 ret;"), 2048, 4);
    bytes(&guarded("setp.leu.f32 %p1, %f1, 0f3F800000; @!%p1 ret;"), 2048, 4);
    // Two zeros, a limit below zero, a limit that `ftz` reads as zero, a NaN as the limit, another order.
    bytes(&guarded("setp.ge.f32 %p1, %f1, 0f00000000; @!%p1 ret;"), 2048, 4);
    bytes(&guarded("setp.eq.f32 %p1, %f1, 0f00000000; @!%p1 ret;"), 2048, 4);
    bytes(&guarded("setp.ge.f32 %p1, %f1, 0fBF800000; @!%p1 ret;"), 2048, 4);
    bytes(&guarded("setp.ge.f32 %p1, %f1, -0f3F800000; @!%p1 ret;"), 2048, 4);
    bytes(&guarded("setp.eq.ftz.f32 %p1, %f1, 0f00000001; @!%p1 ret;"), 2048, 4);
    bytes(&guarded("setp.ltu.f32 %p1, %f1, 0f7FC00000; @%p1 ret;"), 2048, 4);
    bytes(&guarded("setp.le.f32 %p1, 0f3F800000, %f1; @%p1 ret;"), 2048, 4);
    // The other of the two results.
    bytes(&guarded("setp.ltu.f32 %p1|%p2, %f1, 0f3F800000; @!%p2 ret;"), 516, 4);
    bytes(&guarded("setp.ltu.f32 %p1|%p2, %f1, 0f3F800000; @%p2 ret;"), 2048, 4);
    bytes(&guarded("setp.lt.u32 %p3, %r1, 9; setp.ge.or.f32 %p1, %f1, 0f3F800000, %p3; @!%p1 ret;"), 2048, 4);
    // Another word than the one that was compared.
    let other = "ld.global.f32 %f1, [%rd2]; setp.ge.f32 %p1, %f1, 0f3F800000; @!%p1 ret;";
    bytes(&format!("{other} {FLOAT} {POWER}"), 2048, 4);
}

#[test]
fn magnitudes_of_floats() {
    let exponent = "shr.u32 %r7, %r6, 23; and.b32 %r8, %r7, 255; sub.u32 %r10, %r8, 143; STORE";
    let slow = |limit: &str, is_infinite: &str| {
        format!("{FLOAT} abs.f32 %f2, %f1; {limit} @%p1 ret; {is_infinite} @%p2 ret; {exponent}")
    };
    let limit = "setp.ltu.f32 %p1, %f2, 0f47CE4780;";
    bytes(&slow(limit, "setp.eq.f32 %p2, %f2, 0f7F800000;"), 448, 4);
    // Infinity and a NaN, and numbers of either sign that are too small.
    bytes(&slow(limit, "setp.eq.f32 %p2, %f2, 0f7F000000;"), 452, 4);
    refused(&slow("setp.lt.f32 %p1, %f2, 0f47CE4780;", "setp.eq.f32 %p2, %f2, 0f7F800000;"), "");
    refused(&slow("setp.ltu.f32 %p1, %f2, 0f4700CE47;", "setp.eq.f32 %p2, %f2, 0f7F800000;"), "");
    refused(&slow("setp.ltu.f32 %p1, %f1, 0f3F800000;", "setp.eq.f32 %p2, %f2, 0f7F800000;"), "");
    // Of a NaN, nothing is known but that the magnitude is a NaN.
    let same = "and.b32 %r8, %r6, 0x7fffffff; sub.u32 %r10, %r7, %r8; STORE";
    refused(&format!("{FLOAT} abs.f32 %f2, %f1; mov.b32 %r7, %f2; {same}"), "");
    refused(&format!("{FLOAT} abs.f32 %f2, %f1; selp.f32 %f3, %f2, %f2, %p1; mov.b32 %r7, %f3; {same}"), "");
    refused(
        &format!("{FLOAT} abs.f32 %f2, %f1; st.global.f32 [%rd2], %f2; ld.global.u32 %r7, [%rd2]; {same}"),
        "",
    );
    // The register gets another value between.
    refused(
        &format!("{FLOAT} abs.f32 %f2, %f1; ld.global.f32 %f2, [%rd2]; {limit} @%p1 ret; {exponent}"),
        "",
    );
    refused(
        &format!("{FLOAT} abs.f32 %f2, %f1; ld.global.u32 %r6, [%rd2]; {limit} @%p1 ret; {exponent}"),
        "",
    );
    refused(
        &format!("{FLOAT} setp.lt.u32 %p3, %r1, 9; @%p3 abs.f32 %f2, %f1; {limit} @%p1 ret; {exponent}"),
        "",
    );
    // Twice the bits.
    let double = "{ .reg .f64 %d<3>; ld.global.f64 %d1, [%rd2]; mov.b64 %rd3, %d1; abs.f64 %d2, %d1;";
    let high = "@%p1 ret; shr.u64 %rd4, %rd3, 52; cvt.u32.u64 %r6, %rd4; and.b32 %r7, %r6, 2047; \
                sub.u32 %r10, %r7, 2000; STORE }";
    bytes(&format!("{double} setp.ltu.f64 %p1, %d2, 0d7D00000000000000; {high}"), 192, 8);
    refused(&format!("{double} setp.ltu.f64 %p1, %d2, 0d7C00000000000000; {high}"), "");
    refused(&format!("{double} setp.lt.f64 %p1, %d2, 0d7D00000000000000; {high}"), "");
}

#[test]
fn pointers_that_are_chosen() {
    let store = "mul.wide.u32 %rd4, %r1, 4; add.s64 %rd5, %rd3, %rd4; st.global.u32 [%rd5], 0;";
    // Each case has its own bound.
    bytes(&format!("setp.lt.u32 %p1, %r1, 9; selp.b64 %rd3, %rd1, %rd2, %p1; {store}"), 36, 1024);
    bytes(&format!("setp.lt.u32 %p1, %r1, 9; selp.b64 %rd3, %rd2, %rd1, %p1; {store}"), 1024, 36);
    bytes(
        &format!(
            "setp.lt.u32 %p1, %r1, 9; @%p1 bra $a; mov.b64 %rd3, %rd1; bra $b; \
             $a: mov.b64 %rd3, %rd2; $b: {store}"
        ),
        1024,
        36,
    );
    // The test is of a value that is not stable, or of nothing that is known.
    bytes(&format!("setp.lt.f32 %p1, %f1, 0f3F800000; selp.b64 %rd3, %rd1, %rd2, %p1; {store}"), 1024, 1024);
    bytes(&format!("selp.b64 %rd3, %rd1, %rd2, %p1; {store}"), 1024, 1024);
    // The predicate changes between two choices: any of four pairs.
    bytes(
        "selp.b64 %rd3, %rd1, %rd2, %p1; setp.lt.u32 %p1, %r1, 9; selp.b64 %rd4, %rd1, %rd2, %p1; \
         sub.s64 %rd5, %rd3, %rd1; add.s64 %rd6, %rd1, %rd5; st.global.u32 [%rd6+4], 0; \
         st.global.u32 [%rd4], 0;",
        8,
        8,
    );
    // A pointer that was chosen, and then the other one's offset.
    refused(
        "setp.lt.u32 %p1, %r1, 9; selp.b64 %rd3, %rd1, %rd2, %p1; sub.s64 %rd4, %rd3, %rd2; \
         add.s64 %rd5, %rd3, %rd4; st.global.u32 [%rd5], 0;",
        "",
    );
    // The pointers change places in each round.
    refused(
        "mov.b64 %rd3, %rd1; mov.b64 %rd4, %rd2; mov.u32 %r6, 0; $l: st.global.u32 [%rd3], 0; \
         mov.b64 %rd5, %rd3; mov.b64 %rd3, %rd4; add.s64 %rd4, %rd5, 4; add.u32 %r6, %r6, 1; \
         setp.lt.u32 %p1, %r6, %r2; @%p1 bra $l;",
        "",
    );
    // A register that may be unwritten, and one that is a number.
    refused(&format!("setp.lt.u32 %p1, %r1, 9; @%p1 mov.b64 %rd3, %rd1; {store}"), "");
    refused(&format!("setp.lt.u32 %p1, %r1, 9; selp.b64 %rd3, %rd1, 4096, %p1; {store}"), "");
}

#[test]
fn flags_that_carry_guards() {
    let start = "mov.u32 %r6, 0; setp.ge.u32 %p1, %r1, %r2; @%p1 bra $e; mov.u32 %r6, 1; $e: bar.sync 0;";
    let use_it = "setp.eq.u32 %p2, %r6, 0; @%p2 ret; mov.b32 %r10, %r1; STORE";
    bytes(&format!("{start} {use_it}"), 400, 0);
    // The flag is turned round, set without the guard as well, or is that of another index.
    bytes(&format!("{start} setp.ne.u32 %p2, %r6, 0; @%p2 ret; mov.b32 %r10, %r1; STORE"), 1024, 0);
    bytes(&format!("{start} setp.eq.u32 %p3, %r5, 3; @%p3 mov.u32 %r6, 1; {use_it}"), 1024, 0);
    bytes(&format!("{start} add.u32 %r1, %r1, 1; {use_it}"), 404, 0);
    bytes(&format!("{start} xor.b32 %r6, %r6, 1; {use_it}"), 1024, 0);
    // Two flags, of which the wrong one is asked.
    let two = "mov.u32 %r6, 0; mov.u32 %r7, 0; setp.ge.u32 %p1, %r1, %r2; @%p1 bra $e; mov.u32 %r6, 1; $e: \
               setp.ge.u32 %p1, %r1, 200; @%p1 bra $f; mov.u32 %r7, 1; $f: bar.sync 0;";
    bytes(&format!("{two} {use_it}"), 400, 0);
    bytes(&format!("{two} setp.eq.u32 %p2, %r7, 0; @%p2 ret; mov.b32 %r10, %r1; STORE"), 800, 0);
    // The flag of the round before.
    refused(
        "mov.u32 %r6, 0; mov.u32 %r7, 0; $l: setp.eq.u32 %p2, %r6, 0; @%p2 bra $n; mov.b32 %r10, %r7; \
         STORE $n: \
         setp.lt.u32 %p1, %r7, 9; selp.b32 %r6, 1, 0, %p1; add.u32 %r7, %r7, %r5; add.u32 %r8, %r8, 1; \
         setp.lt.u32 %p3, %r7, -9; @%p3 bra $l;",
        "",
    );
}

#[test]
fn masks_and_quotients() {
    // All bits of the sign, or none.
    bytes("sub.s32 %r6, %r1, %r2; shr.s32 %r7, %r6, 31; and.b32 %r10, %r7, %r1; STORE", 400, 0);
    bytes("sub.s32 %r6, %r1, %r2; shr.s32 %r7, %r6, 31; and.b32 %r10, %r1, %r7; STORE", 400, 0);
    bytes("sub.s32 %r6, %r1, %r2; shr.u32 %r7, %r6, 31; and.b32 %r10, %r7, %r1; STORE", 8, 0);
    bytes("sub.s32 %r6, %r1, %r2; shr.s32 %r7, %r6, 7; and.b32 %r10, %r7, %r1; STORE", 1024, 0);
    refused("sub.s32 %r6, %r1, %r2; shr.s32 %r7, %r6, 31; or.b32 %r10, %r7, %r1; STORE", "");
    refused("sub.s32 %r6, %r1, %r2; shr.s32 %r7, %r6, 31; and.b32 %r10, %r7, %r6; STORE", "");
    bytes(
        "sub.s32 %r6, %r1, %r2; shr.s32 %r7, %r6, 31; cvt.u16.u32 %h1, %r7; cvt.u32.u16 %r8, %h1; \
         and.b32 %r10, %r8, %r1; STORE",
        1024,
        0,
    );
    // The lowest bits of a mask are those of the result.
    let vector =
        "cvt.u64.u32 %rd3, %r7; add.s64 %rd4, %rd1, %rd3; st.global.v4.u32 [%rd4], {%r5, %r5, %r5, %r5};";
    bytes(&format!("ld.global.u32 %r6, [%rd2]; and.b32 %r7, %r6, 48; {vector}"), 64, 4);
    bytes(&format!("and.b32 %r7, %r29, 0x50; {vector}"), 96, 0);
    refused(&format!("ld.global.u32 %r6, [%rd2]; and.b32 %r7, %r6, 40; {vector}"), "multiple of 16");
    refused(&format!("ld.global.u32 %r6, [%rd2]; or.b32 %r7, %r6, 48; {vector}"), "multiple of 16");
    refused(&format!("ld.global.u32 %r6, [%rd2]; and.b32 %r8, %r6, 31; xor.b32 %r7, %r8, 48; {vector}"), "");
    // A guard of what is divided.
    bytes("rem.u32 %r6, %r1, 10; setp.eq.u32 %p1, %r6, 0; @%p1 ret; sub.u32 %r10, %r6, 1; STORE", 36, 0);
    bytes("div.u32 %r6, %r1, 10; setp.eq.u32 %p1, %r6, 0; @%p1 ret; sub.u32 %r10, %r6, 1; STORE", 100, 0);
    refused(
        "div.u32 %r7, %r1, 10; rem.u32 %r6, %r1, 10; setp.eq.u32 %p1, %r7, 0; @%p1 ret; \
             sub.u32 %r10, %r6, 1; STORE",
        "",
    );
    refused("rem.u32 %r6, %r1, 10; setp.lt.u32 %p1, %r1, 10; @%p1 ret; sub.u32 %r10, %r6, 1; STORE", "");
    // The neighbour of a quotient's remainder, in 64 bits, as index arithmetic has it.
    let neighbour = "rem.u32 %r6, %r1, 10; cvt.u64.u32 %rd3, %r6; shl.b64 %rd4, %rd3, 32; \
                     add.s64 %rd5, %rd4, -4294967296; shr.u64 %rd6, %rd5, 32; cvt.u32.u64 %r7, %rd6;";
    bytes(&format!("{neighbour} setp.gt.s32 %p1, %r6, 0; selp.b32 %r10, %r7, 9, %p1; STORE"), 40, 0);
    refused(&format!("{neighbour} setp.ge.s32 %p1, %r6, 0; selp.b32 %r10, %r7, 9, %p1; STORE"), "");
    refused(&format!("{neighbour} setp.gt.s32 %p1, %r5, 0; selp.b32 %r10, %r7, 9, %p1; STORE"), "");
}

#[test]
fn matrices_are_aligned_as_their_fragments() {
    let registers = "{%r11, %r12, %r13, %r14, %r15, %r16, %r17, %r18}";
    let half = |space: &str, from: &str, stride: &str| {
        format!("wmma.load.a.sync.aligned.row.m8n32k16.{space}.f16 {registers}, [{from}], {stride};")
    };
    let byte = |space: &str, from: &str, stride: &str| {
        format!("wmma.load.a.sync.aligned.row.m16n16k16.{space}.u8 {{%r11, %r12}}, [{from}], {stride};")
    };
    // Eight registers of a fragment are 32 bytes, and two are eight.
    bytes(&half("global", "%rd1", "16"), 256, 0);
    bytes(&half("global", "%rd1+32", "16"), 288, 0);
    bytes(&byte("global", "%rd1+8", "16"), 264, 0);
    for offset in [2, 4, 8, 16, 24, 48] {
        refused(&half("global", &format!("%rd1+{offset}"), "16"), "multiple of 32");
    }
    refused(&byte("global", "%rd1+4", "16"), "multiple of 8");
    refused(&byte("global", "%rd1+-8", "16"), "");
    // An index that is a multiple of 32 bytes, or of 16 only.
    let indexed = |by: u32| format!("mad.wide.u32 %rd3, %r5, {by}, %rd1; {}", half("global", "%rd3", "16"));
    bytes(&indexed(32), 256 + 63 * 32, 0);
    refused(&indexed(16), "multiple of 32");
    refused(&format!("ld.global.u32 %r5, [%rd2]; {}", indexed(2)), "multiple of 32");
    // Rows at a stride that is no multiple of 16 bytes, or that nobody knows.
    refused(&half("global", "%rd1", "17"), "stride");
    refused(&half("global", "%rd1", "4"), "stride");
    refused(&byte("global", "%rd1", "24"), "stride");
    refused(&half("global", "%rd1", "%r5"), "stride");
    bytes(&format!("shl.b32 %r6, %r5, 3; {}", half("global", "%rd1", "%r6")), 7 * 63 * 16 + 32, 0);
    refused(
        &format!("ld.global.u32 %r6, [%rd2]; shl.b32 %r6, %r6, 3; {}", half("global", "%rd1", "%r6")),
        "",
    );
    // Dynamic shared memory has the alignment of its declaration, and no more, and so has an array.
    bytes(&format!("mov.u32 %r6, dynamic; {}", byte("shared", "%r6", "16")), 0, 0);
    refused(&format!("mov.u32 %r6, dynamic; {}", half("shared", "%r6", "16")), "aligned to 16, not 32");
    refused(&format!("mov.u32 %r6, dynamic; {}", byte("shared", "%r6+8", "16")), "256 bytes of dynamic");
    refused(&format!("mov.u32 %r6, own; {}", byte("shared", "%r6", "16")), "aligned to 4, not 8");
    refused(&format!("mov.u64 %rd3, own; cvta.shared.u64 %rd3, %rd3; {}", byte("global", "%rd3", "16")), "");
    // The same for what is written.
    let store = |at: &str| {
        format!(
            "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [{at}], \
             {{%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}}, 16;"
        )
    };
    bytes(&store("%rd1"), 1024, 0);
    refused(&store("%rd1+16"), "multiple of 32");
}

#[test]
fn code_that_no_thread_reaches_is_no_panic() {
    // A square with a number added is not below its root, and zero divides nothing. Of 8 * 8 bits of a square
    // of multiples of 8192, none is set.
    for body in [
        "setp.lt.s32 %p5, 1, %r3; @%p5 ret; mad.lo.u32 %r6, %r1, %r1, %r5; setp.gt.u32 %p1, %r1, %r6; \
         @!%p1 ret; cvt.u16.u32 %h1, %r3; xor.b16 %h2, %h1, %h1; \
         div.u16 %h3, %h3, %h2; cvt.u32.u16 %r10, %h3; STORE",
        "shl.b32 %r6, %r3, 13; mul.lo.s32 %r7, %r6, %r6; and.b32 %r7, %r7, 511; mov.b32 %r8, 4; \
         setp.le.u32 %p1, %r8, %r7; @!%p1 ret; div.s32 %r10, %r7, %r6; STORE",
        "shl.b32 %r6, %r3, 13; mul.lo.s32 %r7, %r6, %r6; and.b32 %r7, %r7, 511; mov.b32 %r8, 4; \
         setp.le.u32 %p1, %r8, %r7; @!%p1 ret; rem.s32 %r10, %r7, %r6; STORE",
    ] {
        let _ = super::doubtful::proven_as(body, "0");
    }
    // ptxas refuses these: the bits would lie beyond the register's.
    refused("bfi.b32 %r10, %r1, %r1, 264, -232; STORE", "");
    refused("bfi.b32 %r10, %r1, %r1, 32, 0; STORE", "");
    refused("bfi.b64 %rd3, %rd1, %rd1, 200, -136; st.global.u32 [%rd3], 0;", "");
}
