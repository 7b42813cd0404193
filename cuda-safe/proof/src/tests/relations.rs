//! Numbers that follow each other: the rounds that an unrolled loop leaves over, ends of ranges that a loop
//! compares a register with, the smaller and the larger one of two numbers. And numbers that only look so.

use super::doubtful::{bytes, refused};

/// Up to three rounds, and then those of four: `REST` says how many are left over of `%r6`, up to 100.
fn unrolled(left_over: &str, second: &str) -> String {
    format!(
        "ld.global.u32 %r6, [%rd2]; setp.gt.u32 %p1, %r6, %r2; @%p1 ret; setp.lt.u32 %p1, %r6, 4; @%p1 ret; \
         {left_over} mov.u32 %r10, %r6; setp.eq.u32 %p1, %r7, 0; @%p1 bra $m; add.u32 %r10, %r6, -1; \
         setp.eq.u32 %p1, %r7, 1; @%p1 bra $m; add.u32 %r10, %r6, {second}; setp.eq.u32 %p1, %r7, 2; \
         @%p1 bra $m; add.u32 %r10, %r6, -3; $m: $l: sub.u32 %r10, %r10, 4; STORE \
         setp.ne.u32 %p1, %r10, 0; @%p1 bra $l;"
    )
}

#[test]
fn rounds_that_are_left_over() {
    bytes(&unrolled("and.b32 %r7, %r6, 3;", "-2"), 4 * 97, 4);
    bytes(&unrolled("rem.u32 %r7, %r6, 4;", "-2"), 4 * 97, 4);
    // One way takes another number of rounds, the rest is that of another number, or of another divisor.
    refused(&unrolled("and.b32 %r7, %r6, 3;", "-1"), "");
    refused(&unrolled("and.b32 %r7, %r6, 3;", "-6"), "");
    refused(&unrolled("and.b32 %r7, %r1, 3;", "-2"), "");
    refused(&unrolled("add.u32 %r7, %r6, 1; and.b32 %r7, %r7, 3;", "-2"), "");
    refused(&unrolled("rem.u32 %r7, %r6, 5;", "-2"), "");
    refused(&unrolled("and.b32 %r7, %r6, 7;", "-2"), "");
    // Two of the bits of a number that is loaded again.
    refused(&unrolled("ld.global.u32 %r7, [%rd2]; and.b32 %r7, %r7, 3;", "-2"), "");
    // Another way leads there, with a number that does not belong to it.
    let jump = "and.b32 %r7, %r6, 3; ld.volatile.global.u32 %r8, [%rd2]; setp.eq.u32 %p2, %r8, 7; \
        add.u32 %r10, %r6, -1; @%p2 bra $m;";
    refused(&unrolled(jump, "-2"), "");
}

#[test]
fn numbers_that_follow_a_flag() {
    // Where the ways meet, one number is known by the other.
    let of = |test: &str, one: &str, use_of: &str| {
        format!(
            "ld.global.u32 %r6, [%rd2]; and.b32 %r6, %r6, 1; mov.u32 %r10, 5; {test} @%p1 bra $m; \
             mov.u32 %r10, {one}; $m: {use_of} STORE"
        )
    };
    let is_one = "setp.eq.u32 %p1, %r6, 1;";
    bytes(&of(is_one, "3", ""), 24, 4);
    bytes(&of(is_one, "0", "mul.lo.u32 %r7, %r6, 5; sub.u32 %r10, %r10, %r7;"), 4, 4);
    refused(&of(is_one, "1", "mul.lo.u32 %r7, %r6, 6; sub.u32 %r10, %r10, %r7;"), "");
    refused(&of("setp.ne.u32 %p1, %r6, 1;", "0", "mul.lo.u32 %r7, %r6, 5; sub.u32 %r10, %r10, %r7;"), "");
    refused(&of("setp.le.u32 %p1, %r6, 1;", "0", "mul.lo.u32 %r7, %r6, 6; sub.u32 %r10, %r10, %r7;"), "");
}

#[test]
fn ends_that_a_loop_compares_with() {
    // A search in depth: down by one where there is a way, and up otherwise.
    let of = |down: &str, end: &str, back: &str, least: &str| {
        format!(
            "mov.u32 %r10, 7; $l: STORE ld.volatile.global.u32 %r6, [%rd2]; setp.eq.u32 %p1, %r6, 0; \
             @%p1 bra $u; add.s32 %r10, %r10, {down}; setp.ne.s32 %p2, %r10, {end}; @%p2 bra $c; \
             mov.u32 %r10, {back}; bra $c; $u: sub.s32 %r10, %r10, 1; \
             $c: setp.ge.s32 %p1, %r10, {least}; @%p1 bra $l;"
        )
    };
    bytes(&of("1", "15", "14", "7"), 4 * 15, 4);
    bytes(&of("1", "15", "14", "0"), 4 * 15, 4);
    bytes(&of("1", "15", "8", "3"), 4 * 15, 4);
    bytes(&of("1", "15", "15", "3").replace("ne.s32", "lt.s32"), 4 * 16, 4);
    // It steps over the end, goes on behind it, or below zero.
    refused(&of("2", "15", "14", "7"), "");
    refused(&of("1", "15", "15", "7"), "");
    refused(&of("1", "15", "16", "7"), "");
    refused(&of("1", "5", "4", "3"), "");
    refused(&of("1", "15", "14", "-1"), "");
    // The end moves.
    refused(
        &of("1", "%r11", "14", "7")
            .replace("mov.u32 %r10, 7;", "mov.u32 %r10, 7; mov.u32 %r11, 15;")
            .replace("$u:", "$u: add.u32 %r11, %r11, 1;"),
        "",
    );
}

#[test]
fn the_smaller_and_the_larger_one() {
    // %r6 is up to 100. Of it and 50 the smaller one, and what is above.
    let of = |first: &str, second: &str, then: &str| {
        format!(
            "ld.global.u32 %r6, [%rd2]; setp.gt.u32 %p1, %r6, 100; @%p1 ret; sub.s32 %r9, 50, %r6; \
             sub.s32 %r11, %r6, 50; {first} {second} {then} STORE"
        )
    };
    let sum = "add.s32 %r10, %r7, %r8; sub.s32 %r10, %r10, 50;";
    bytes(&of("min.s32 %r7, %r6, 50;", "max.s32 %r8, %r9, 0;", sum), 4, 4);
    bytes(&of("min.u32 %r7, 50, %r6;", "max.s32 %r8, 0, %r9;", sum), 4, 4);
    bytes(&of("max.s32 %r8, %r9, 0;", "min.s32 %r7, %r6, 50;", sum), 4, 4);
    bytes(
        &of(
            "max.s32 %r7, %r6, 50;",
            "max.s32 %r8, %r11, 0;",
            "sub.s32 %r10, %r7, %r8; sub.s32 %r10, %r10, 50;",
        ),
        4,
        4,
    );
    bytes(&of("max.s32 %r7, %r6, 50;", "min.s32 %r8, %r9, 0;", sum), 4, 4);
    bytes(
        &of(
            "min.s32 %r7, %r6, 50;",
            "min.s32 %r8, %r11, 0;",
            "sub.s32 %r10, %r7, %r8; sub.s32 %r10, %r10, 50;",
        ),
        4,
        4,
    );
    // 49 minus the number, above -1, is one below.
    bytes(
        &of(
            "min.s32 %r7, %r6, 50;",
            "not.b32 %r8, %r6; max.s32 %r8, %r8, -51;",
            "add.s32 %r10, %r7, %r8; add.s32 %r10, %r10, 1;",
        ),
        4,
        4,
    );
    // The smaller one twice, one of each of another number, and a larger one without a sign.
    refused(&of("min.s32 %r7, %r6, 50;", "min.s32 %r8, %r9, 0;", sum), "");
    refused(
        &of(
            "max.s32 %r7, %r6, 50;",
            "max.s32 %r8, %r9, 0;",
            "sub.s32 %r10, %r7, %r8; sub.s32 %r10, %r10, 51;",
        ),
        "",
    );
    refused(
        &of(
            "min.s32 %r7, %r6, 50;",
            "max.s32 %r8, %r9, 1;",
            "add.s32 %r10, %r7, %r8; sub.s32 %r10, %r10, 51;",
        ),
        "",
    );
    refused(&of("min.s32 %r7, %r6, 50;", "max.u32 %r8, %r9, 0;", sum), "");
    refused(
        &of(
            "min.s32 %r7, %r6, 50;",
            "ld.global.u32 %r6, [%rd2]; sub.s32 %r9, 50, %r6; max.s32 %r8, %r9, 0;",
            sum,
        ),
        "",
    );
    refused(
        &of(
            "cvt.u16.u32 %h1, %r6; mul.lo.u16 %h1, %h1, 700; min.s16 %h2, %h1, 50; cvt.s32.s16 %r7, %h2;",
            "mul.lo.s32 %r9, %r6, -700; add.s32 %r9, %r9, 50; max.s32 %r8, %r9, 0;",
            sum,
        ),
        "",
    );
    // It was computed on one way only, and in the round before.
    bytes(
        &of(
            "setp.eq.u32 %p1, %r5, 0; mov.u32 %r7, 0; @%p1 bra $m; min.s32 %r7, %r6, 50; $m:",
            "max.s32 %r8, %r9, 0;",
            "add.s32 %r10, %r7, %r8;",
        ),
        4 * 101,
        4,
    );
    refused(
        &of("mov.u32 %r7, 50; mov.u32 %r12, 0; $l:", "max.s32 %r8, %r9, 0;", sum).replace(
            "STORE",
            "STORE min.s32 %r7, %r6, 50; add.u32 %r6, %r6, 1; sub.s32 %r9, 50, %r6; add.u32 %r12, %r12, 1; \
             setp.lt.u32 %p1, %r12, 60; @%p1 bra $l;",
        ),
        "",
    );
}

#[test]
fn a_guard_after_many_quotients() {
    // Quotients that nothing needs any more make room for what a guard says.
    let quotients: String =
        (1..30).map(|by| format!("shr.u32 %r7, %r6, {by}; setp.eq.u32 %p1, %r7, 77; @%p1 ret; ")).collect();
    let load =
        |to: &str| format!("ld.volatile.global.u32 {to}, [%rd2]; setp.gt.u32 %p1, {to}, 1000; @%p1 ret; ");
    let of = |guard: &str, then: &str| {
        let (first, second) = (load("%r8"), load("%r9"));
        format!(
            "ld.volatile.global.u32 %r6, [%rd2]; {quotients} {first} {second} add.u32 %r10, %r8, %r9; \
             setp.gt.u32 %p1, {guard}; @%p1 ret; {then} STORE"
        )
    };
    bytes(&of("%r10, 99", ""), 400, 4);
    bytes(&of("%r8, 99", ""), 4 * 1100, 4);
    // A quotient that is used again is the same.
    bytes(&of("%r10, 99", "shr.u32 %r10, %r6, 29; shl.b32 %r10, %r10, 3;"), 4 * 57, 4);
    let same = "shr.u32 %r11, %r6, 5; shr.u32 %r10, %r6, 5; sub.u32 %r10, %r10, %r11;";
    bytes(&of("%r10, 99", same), 4, 4);
}

#[test]
fn integers_that_only_become_floats() {
    let of = |start: &str, guard: &str| {
        format!(
            "{start} add.u32 %r21, %r20, 7; shl.b32 %r22, %r21, 3; xor.b32 %r22, %r22, %r21; \
             setp.lt.u32 %p2, %r5, 9; @%p2 mov.u32 %r22, %r21; cvt.rn.f32.u32 %f1, %r22; \
             mul.f32 %f1, %f1, %f1; cvt.rzi.u32.f32 %r10, %f1; {guard} STORE"
        )
    };
    let below = "setp.ge.u32 %p1, %r10, %r2; @%p1 ret;";
    bytes(&of("ld.volatile.global.u32 %r20, [%rd2];", below), 400, 4);
    bytes(&of("mov.u32 %r20, %r5;", below), 400, 0);
    refused(&of("mov.u32 %r20, %r5;", ""), "");
    // What nothing has written may be another number each time, and so may be what becomes of it.
    refused(&of("", below), "");
    refused(&of("setp.eq.u32 %p1, %r5, 3; @%p1 mov.u32 %r20, 1;", below), "");
    // Of a parameter that only becomes a float nothing is kept, and the slice can be written and read.
    refused("cvt.rn.f32.u32 %f1, %r2; mul.f32 %f1, %f1, %f1; cvt.rzi.u32.f32 %r10, %f1; STORE", "");
    // It is needed as a number, too.
    bytes(&of("mov.u32 %r20, %r5;", &format!("{below} add.u32 %r10, %r10, %r21;")), 4 * (99 + 63 + 7 + 1), 0);
}

#[test]
fn signs_that_two_numbers_have_in_common() {
    // Two numbers that may be negative, and a test of what their bits have in common.
    let of = |bits: &str, test: &str, index: &str| {
        format!(
            "sub.s32 %r6, %r1, 3; sub.s32 %r7, %r5, 5; {bits} {test} @%p1 ret; mov.u32 %r10, {index}; \
             setp.ge.s32 %p2, %r10, 100; @%p2 ret; STORE"
        )
    };
    let or = "or.b32 %r8, %r6, %r7;";
    for test in [
        "setp.lt.s32 %p1, %r8, 0;",
        "setp.le.s32 %p1, %r8, -1;",
        "setp.ge.s32 %p2, %r8, 0; not.pred %p1, %p2;",
        "setp.gt.s32 %p2, %r8, -1; not.pred %p1, %p2;",
    ] {
        bytes(&of(or, test, "%r6"), 400, 0);
        bytes(&of(or, test, "%r7"), 4 * 59, 0);
    }
    let below = "setp.lt.s32 %p1, %r8, 0;";
    bytes(&of("or.b32 %r8, %r6, %r7; or.b32 %r8, %r8, %r5;", below, "%r7"), 4 * 59, 0);
    // Of even numbers, too.
    let even = "shl.b32 %r6, %r6, 1; shl.b32 %r7, %r7, 1; or.b32 %r8, %r6, %r7;";
    bytes(&of(even, below, "%r7"), 400 - 4, 0);
    // Both signs, other signs, another bit, a test that says less or something else.
    refused(&of("and.b32 %r8, %r6, %r7;", below, "%r6"), "");
    refused(&of("xor.b32 %r8, %r6, %r7;", below, "%r6"), "");
    refused(&of("or.b32 %r8, %r6, %r5;", below, "%r7"), "");
    refused(&of("or.b32 %r8, %r6, %r7; add.s32 %r8, %r8, 1;", below, "%r6"), "");
    refused(&of(or, "setp.lt.s32 %p1, %r8, -1;", "%r6"), "");
    refused(&of(or, "setp.le.s32 %p1, %r8, -2;", "%r6"), "");
    refused(&of(or, "setp.gt.s32 %p1, %r8, 0;", "%r6"), "");
    refused(&of(or, "setp.eq.s32 %p1, %r8, -1;", "%r6"), "");
    refused(&of(or, "setp.lt.u32 %p1, %r8, 0;", "%r6"), "");
    refused(&of(or, "cvt.u64.u32 %rd6, %r8; setp.lt.s64 %p1, %rd6, 0;", "%r6"), "");
    refused(&of(or, "cvt.s16.s32 %h1, %r8; setp.lt.s16 %p1, %h1, 0;", "%r6"), "");
    let later = "setp.lt.s32 %p1, %r8, 0; sub.s32 %r6, %r6, 1;";
    refused(&of(or, later, "%r6").replace("@%p1 ret; mov", "mov"), "");
    // Of a number that nothing has written each use may see another one.
    refused(&of("or.b32 %r8, %r6, %r20;", below, "%r20"), "");
}

#[test]
fn quotients_of_the_larger_one() {
    // Rounds of 64 elements up to 99, from up to 63: one more for the first 36.
    let of = |extreme: &str, rounds: &str| {
        format!("{extreme} sub.s32 %r6, %r6, %r5; {rounds} mad.lo.s32 %r10, %r7, 64, %r5; STORE")
    };
    let rounds = "add.s32 %r6, %r6, 63; shr.u32 %r7, %r6, 6;";
    bytes(&of("max.s32 %r6, %r5, 36;", rounds), 400, 0);
    bytes(&of("max.s32 %r6, 36, %r5;", "add.s32 %r6, %r6, 63; div.s32 %r7, %r6, 64;"), 400, 0);
    bytes(
        &of("min.s32 %r6, %r5, 36; sub.s32 %r6, 36, %r6;", "add.s32 %r6, %r6, 63; shr.u32 %r7, %r6, 6;"),
        400,
        0,
    );
    // A round more, the smaller one, the larger one of another number or of one without a sign.
    bytes(&of("max.s32 %r6, %r5, 36;", "add.s32 %r6, %r6, 64; shr.u32 %r7, %r6, 6;"), 512, 0);
    bytes(&of("min.s32 %r6, %r5, 36;", "add.s32 %r6, %r6, 127; shr.u32 %r7, %r6, 6;"), 512, 0);
    bytes(&of("max.s32 %r6, %r1, 36;", rounds), 1276, 0);
    refused(&of("sub.s32 %r6, %r5, 64; max.u32 %r6, %r6, 36;", rounds), "");
}

#[test]
fn rounds_of_a_stride_in_a_row() {
    // The rounds that are left, and then four at once, as long as the counter is below 250.
    let of = |left_over: &str, guard: &str| {
        format!(
            "sub.s32 %r6, 249, %r5; shr.u32 %r7, %r6, 6; add.s32 %r7, %r7, 1; and.b32 %r7, %r7, {left_over}; \
             mul.lo.u32 %r8, %r7, 64; add.s32 %r10, %r5, %r8; {guard} @%p1 ret; \
             $l: add.s32 %r10, %r10, 192; STORE add.s32 %r10, %r10, -192; add.s32 %r10, %r10, 256; \
             setp.lt.s32 %p1, %r10, 250; @%p1 bra $l;"
        )
    };
    bytes(&of("3", "setp.ge.s32 %p1, %r10, 250;"), 1000, 0);
    // Other numbers of rounds are left, the guard is one further, the row one longer.
    bytes(&of("1", "setp.ge.s32 %p1, %r10, 250;"), 1280, 0);
    bytes(&of("7", "setp.ge.s32 %p1, %r10, 250;"), 0, 0);
    bytes(&of("3", "setp.ge.s32 %p1, %r10, 251;"), 1772, 0);
    bytes(&of("3", "setp.ge.s32 %p1, %r10, 250;").replace("249", "250"), 1004, 0);
}

#[test]
fn counters_that_are_copied_to_64_bits() {
    let of = |copy: &str, back: &str, step: &str| {
        format!(
            "mov.u32 %r10, %r1; setp.ge.s32 %p1, %r10, %r2; @%p1 ret; $l: {copy} STORE {back} \
             add.s32 %r10, %r6, {step}; setp.lt.s32 %p1, %r10, %r2; @%p1 bra $l;"
        )
    };
    let (copy, back) = ("cvt.s64.s32 %rd5, %r10;", "cvt.u32.u64 %r6, %rd5;");
    bytes(&of(copy, back, "7"), 400, 0);
    bytes(&of(copy, "add.s64 %rd5, %rd5, 0x300000000; cvt.u32.u64 %r6, %rd5;", "7"), 400, 0);
    bytes(&of("mul.wide.s32 %rd5, %r10, 8;", "shr.u64 %rd5, %rd5, 3; cvt.u32.u64 %r6, %rd5;", "7"), 400, 0);
    // Fewer bits, other bits, a step back.
    refused(&of("cvt.s64.s8 %rd5, %r10;", back, "-70"), "");
    refused(&of(copy, "shl.b64 %rd5, %rd5, 31; shr.u64 %rd5, %rd5, 30; cvt.u32.u64 %r6, %rd5;", "-1"), "");
    refused(&of(copy, "shr.s64 %rd5, %rd5, 1; cvt.u32.u64 %r6, %rd5;", "-1"), "");
    refused(&of(copy, back, "-7"), "");
}
