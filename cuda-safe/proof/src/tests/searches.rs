//! Programs that were written to fool the rules of loops that search, halve or count in 64 bits, and of
//! instructions that count bits. Each access outside of what a reader expects is in the proven bytes, or the
//! launch is refused.

use super::doubtful::{bytes, proven_as, refused};

/// A loaded number in `%r6`.
const LOAD: &str = "ld.volatile.global.u32 %r6, [%rd2];";
/// Ends the thread if the number is zero.
const NOT_ZERO: &str = "setp.lt.u32 %p1, %r6, 1; @%p1 ret;";

#[test]
fn numbers_of_bits() {
    let after = |text: &str| format!("{LOAD} {text}");
    let guarded = |text: &str| format!("{LOAD} {NOT_ZERO} {text}");
    bytes(&after("clz.b32 %r10, %r6; STORE"), 132, 4);
    bytes(&guarded("clz.b32 %r10, %r6; STORE"), 128, 4);
    bytes("ld.volatile.global.u64 %rd3, [%rd2]; clz.b64 %r10, %rd3; STORE", 260, 8);
    bytes(&after("popc.b32 %r10, %r6; STORE"), 132, 4);
    // Zero has no highest bit: the place is 0xffffffff.
    refused(&after("bfind.u32 %r10, %r6; STORE"), "");
    refused(&after("bfind.shiftamt.u32 %r10, %r6; STORE"), "");
    bytes(&guarded("bfind.u32 %r10, %r6; STORE"), 128, 4);
    bytes(&guarded("bfind.shiftamt.u32 %r10, %r6; STORE"), 128, 4);
    // With a sign, it is another bit, and -1 has none.
    refused(&guarded("bfind.s32 %r10, %r6; STORE"), "");
    refused(&guarded("bfind.shiftamt.s32 %r10, %r6; STORE"), "");
    // Bits in another order are zero only if the bits are, and are no smaller number.
    bytes(&guarded("brev.b32 %r7, %r6; bfind.shiftamt.u32 %r10, %r7; STORE"), 128, 4);
    refused(&after("brev.b32 %r7, %r6; bfind.shiftamt.u32 %r10, %r7; STORE"), "");
    refused(&after("setp.ge.u32 %p1, %r6, 100; @%p1 ret; brev.b32 %r10, %r6; STORE"), "");
    // The guard is of a number that was loaded before, of the lower half, or of a sum that wraps.
    refused(&guarded(&after("bfind.u32 %r10, %r6; STORE")), "");
    refused(
        "ld.volatile.global.u64 %rd3, [%rd2]; setp.lt.u64 %p1, %rd3, 1; @%p1 ret; cvt.u32.u64 %r6, %rd3; \
         bfind.u32 %r10, %r6; STORE",
        "",
    );
    refused(&guarded("add.u32 %r7, %r6, 1; bfind.u32 %r10, %r7; STORE"), "");
    bytes(&after("or.b32 %r7, %r6, 1; bfind.u32 %r10, %r7; STORE"), 128, 4);
    // A number that may differ at each use has no bits that stay.
    refused("setp.lt.u32 %p1, %r20, 1; @%p1 ret; bfind.u32 %r10, %r20; STORE", "");
    // Of small numbers.
    bytes(&guarded("and.b32 %r7, %r6, 7; popc.b32 %r10, %r7; STORE"), 132, 4);
    bytes("or.b32 %r7, %r5, 1; bfind.u32 %r10, %r7; STORE", 24, 0);
    bytes("or.b32 %r7, %r5, 1; clz.b32 %r8, %r7; sub.u32 %r10, %r8, 26; STORE", 24, 0);
    refused("or.b32 %r7, %r5, 1; clz.b32 %r8, %r7; sub.u32 %r10, %r8, 27; STORE", "");
    bytes("popc.b32 %r7, 0xf0f; sub.u32 %r10, %r7, 8; STORE", 4, 0);
    bytes("brev.b32 %r10, 0xc0000000; STORE", 16, 0);
    // Shifted by as many bits as a number has, one is zero.
    refused(
        &after("clz.b32 %r7, %r6; mov.u32 %r8, 1; shl.b32 %r8, %r8, %r7; sub.u32 %r10, %r8, 1; STORE"),
        "",
    );
}

/// A search for a place among `%r2` elements by halves of a stride, with its parts.
fn search(stride: &str, next: &str, least: &str, halve: &str, again: &str) -> String {
    format!(
        "{stride} mov.u32 %r11, 0; $l: {next} {least} sub.u32 %r10, %r13, 1; STORE {LOAD} \
         setp.lt.u32 %p1, %r6, 7; selp.b32 %r11, %r13, %r11, %p1; {halve} {again} @%p1 bra $l;"
    )
}

#[test]
fn searches_by_halves_of_a_stride() {
    let of = |count: &str| {
        format!(
            "sub.u32 %r7, {count}, 1; clz.b32 %r8, %r7; sub.u32 %r8, 32, %r8; mov.u32 %r9, 1; \
             shl.b32 %r12, %r9, %r8;"
        )
    };
    let (next, least) = ("add.u32 %r13, %r11, %r12;", "min.u32 %r13, %r13, %r2;");
    let (halve, again) = ("shr.u32 %r12, %r12, 1;", "setp.ne.u32 %p1, %r12, 0;");
    let stride = &of("%r2")[..];
    bytes(&search(stride, next, least, halve, again), 400, 4);
    // The last round has a stride of zero: the place before the first.
    let late = "setp.ge.s32 %p1, %r12, 0;";
    refused(&search(stride, next, least, halve, late), "");
    refused(&search("mov.u32 %r12, 0;", next, least, halve, again), "");
    // The sum is not limited, or wraps before it is.
    refused(&search(stride, next, "", halve, "setp.ne.u32 %p1, %r6, 0;"), "");
    refused(&search("mov.u32 %r12, 0x80000000;", "add.u32 %r13, %r12, %r12;", least, halve, again), "");
    // A limit with a sign lets the sum below zero through.
    refused(&search("mov.u32 %r12, 0x80000000;", next, "min.s32 %r13, %r13, %r2;", halve, again), "");
    // The stride grows, or is a half of another number.
    refused(&search(stride, next, least, "shl.b32 %r12, %r12, 1;", "setp.lt.s32 %p1, %r12, 0x7fffffff;"), "");
    refused(&search(stride, next, least, "shr.u32 %r12, %r6, 1;", "setp.ne.u32 %p1, %r6, 0;"), "");
    // An empty search: the count less one has all bits.
    let count = "and.b32 %r2, %r1, 31;";
    refused(&search(&format!("{count} {stride}"), next, least, halve, again), "");
    let guard = "setp.eq.u32 %p2, %r2, 0; @%p2 ret;";
    bytes(&search(&format!("{count} {guard} {stride}"), next, least, halve, again), 124, 4);
}

#[test]
fn counters_of_64_bits_read_as_32() {
    let of = |start: &str, step: &str, test: &str| {
        format!(
            "cvt.u64.u32 %rd3, {start}; $l: cvt.s64.s32 %rd4, %rd3; shl.b64 %rd5, %rd4, 2; \
             add.s64 %rd6, %rd1, %rd5; st.global.u32 [%rd6], 0; add.s64 %rd3, %rd4, {step}; \
             cvt.u32.u64 %r6, %rd3; {test} @%p1 bra $l;"
        )
    };
    bytes(&of("%r5", "64", "setp.lt.u32 %p1, %r6, 1000;"), 4000, 0);
    bytes(&of("%r5", "64", "setp.lt.s32 %p1, %r6, 1000;"), 4000, 0);
    // The test is of the lower half, which wraps.
    refused(&of("%r5", "64", "setp.lt.s32 %p1, %r6, 0x7fffffff;"), "");
    refused(&of("%r5", "64", "setp.ne.s32 %p1, %r6, 5000000;"), "");
    refused(&of("%r5", "-64", "setp.lt.s32 %p1, %r6, 1000;"), "");
    refused(&of("%r5", "0x80000000", "setp.ne.s32 %p1, %r6, 1000;"), "");
    // Steps by what the lower half does not have.
    let whole = "cvt.u64.u32 %rd3, %r5; $l: shl.b64 %rd5, %rd3, 2; add.s64 %rd6, %rd1, %rd5; \
        st.global.u32 [%rd6], 0; add.s64 %rd3, %rd3, STEP; cvt.u32.u64 %r6, %rd3; \
        setp.lt.u32 %p1, %r6, 1000; @%p1 bra $l;";
    bytes(&whole.replace("STEP", "64"), 4000, 0);
    refused(&whole.replace("STEP", "0x100000000"), "");
    refused(&whole.replace("STEP", "0x100000040"), "");
    // A step that changes in a later round.
    refused(
        "cvt.u64.u32 %rd3, %r5; mov.u64 %rd7, 64; $l: cvt.s64.s32 %rd4, %rd3; shl.b64 %rd5, %rd4, 2; \
         add.s64 %rd6, %rd1, %rd5; st.global.u32 [%rd6], 0; add.s64 %rd3, %rd4, %rd7; \
         ld.volatile.global.u64 %rd7, [%rd2]; cvt.u32.u64 %r6, %rd3; setp.ne.u32 %p1, %r6, 1000; \
         @%p1 bra $l;",
        "",
    );
}

#[test]
fn rows_and_columns_with_bounds_that_are_chosen() {
    // A row and a column in one of four by four tiles, each with an end that is chosen.
    let of = |rows: &str, columns: &str, pitch: &str| {
        let below = |register: &str, end: u32| {
            format!(
                "ld.volatile.global.u32 {register}, [%rd2]; setp.ge.u32 %p1, {register}, {end}; @%p1 ret;"
            )
        };
        let numbers = [below("%r6", 8), below("%r7", 8), below("%r8", 4), below("%r9", 4)].concat();
        format!(
            "{numbers} mul.lo.u32 %r8, %r8, 30; mul.lo.u32 %r9, %r9, 30; sub.u32 %r11, {rows}, %r8; \
             min.u32 %r11, %r11, 7; setp.gt.u32 %p1, %r6, %r11; @%p1 ret; sub.u32 %r12, {columns}, %r9; \
             min.u32 %r12, %r12, 7; setp.gt.u32 %p1, %r7, %r12; @%p1 ret; add.u32 %r13, %r8, %r6; \
             add.u32 %r14, %r9, %r7; mad.lo.u32 %r10, %r13, {pitch}, %r14; STORE"
        )
    };
    bytes(&of("91", "93", "100"), 4 * (91 * 100 + 93 + 1), 4);
    bytes(&of("91", "93", "128"), 4 * (91 * 128 + 93 + 1), 4);
    bytes(&of("92", "94", "100"), 4 * (92 * 100 + 94 + 1), 4);
    // The end of a row below the tile wraps: it is no end.
    refused(&of("29", "29", "100"), "");
}

#[test]
fn searches_by_two_ends() {
    let of = |high: &str, middle: &str, step: &str, test: &str| {
        format!(
            "mov.u32 %r6, 0; mov.u32 %r7, {high}; $l: add.s32 %r8, %r6, %r7; {middle} STORE \
             ld.volatile.global.u32 %r9, [%rd2]; setp.lt.s32 %p2, %r9, %r1; add.s32 %r11, %r10, {step}; \
             selp.b32 %r6, %r11, %r6, %p2; selp.b32 %r7, %r7, %r10, %p2; {test} @%p1 bra $l;"
        )
    };
    let (half, is_less) = ("shr.s32 %r10, %r8, 1;", "setp.lt.s32 %p1, %r6, %r7;");
    bytes(&of("%r2", half, "1", is_less), 400, 4);
    bytes(&of("100", "div.s32 %r10, %r8, 2;", "1", is_less), 400, 4);
    bytes(&of("%r2", half, "1", "setp.gt.s32 %p1, %r7, %r6;"), 400, 4);
    // A longer range, ends that meet, a middle above the half, steps over the end.
    bytes(&of("101", half, "1", is_less), 404, 4);
    let others = [
        of("%r2", half, "1", "setp.le.s32 %p1, %r6, %r7;"),
        of("%r2", half, "7", "setp.ne.s32 %p1, %r6, %r7;"),
        of("%r2", "mov.u32 %r10, %r8;", "1", is_less),
        of("%r2", "add.s32 %r10, %r8, 2; shr.s32 %r10, %r10, 1;", "1", is_less),
    ];
    for body in others {
        assert!(
            proven_as(&body, "256").is_ok_and(|[x, _]| x > 400) || proven_as(&body, "256").is_err(),
            "{body}"
        );
    }
}
