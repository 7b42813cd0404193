//! Floats that are clamped between whole numbers before they become an index. And those that only look so.

use super::doubtful::{bytes, refused};

/// A loaded float in `%f1`, and `%r2 - 1` (99) in `%r6` and as a float in `%f3`.
const LOAD: &str = "ld.volatile.global.f32 %f1, [%rd2]; sub.s32 %r6, %r2, 1; cvt.rn.f32.s32 %f3, %r6;";
const CLAMP: &str = "max.f32 %f2, %f1, 0f00000000; min.f32 %f2, %f2, %f3;";

fn clamped(steps: &str) -> String {
    format!("{LOAD} {steps} STORE")
}

/// The clamp with a word in the place of another one, and the conversion to `%r10`.
fn with(from: &str, to: &str) -> String {
    let text = format!("{CLAMP} cvt.rzi.s32.f32 %r10, %f2;");
    assert!(text.contains(from), "{from}");
    clamped(&text.replace(from, to))
}

#[test]
fn clamps_of_floats() {
    // Each rounding keeps whole numbers and the order of numbers.
    for rounding in ["rzi", "rni", "rmi", "rpi", "rzi.ftz"] {
        bytes(&with("cvt.rzi", &format!("cvt.{rounding}")), 400, 4);
        bytes(&with("cvt.rzi.s32", &format!("cvt.{rounding}.u32")), 400, 4);
        bytes(
            &with("cvt.rzi.s32.f32 %r10", &format!("cvt.{rounding}.f32.f32 %f2, %f2; cvt.rzi.s32.f32 %r10")),
            400,
            4,
        );
    }
    bytes(&with("max.f32 %f2, %f1, 0f00000000", "max.f32 %f2, 0f00000000, %f1"), 400, 4);
    bytes(
        &with("max.f32 %f2, %f1, 0f00000000", "mov.f32 %f4, 0f00000000; max.ftz.f32 %f2, %f1, %f4"),
        400,
        4,
    );
    bytes(&with("min.f32 %f2, %f2, %f3", "min.f32 %f2, %f3, %f2"), 400, 4);
    // Minus zero becomes zero, too, and so does what is smaller than one.
    bytes(&with("0f00000000", "0f80000000"), 400, 4);
    bytes(&with("0f00000000", "0f00000001"), 400, 4);
    bytes(&with("0f00000000", "0f3F000000"), 400, 4);
    // The other way around: a NaN is the larger end then.
    bytes(
        &clamped("min.f32 %f2, %f1, %f3; max.f32 %f2, %f2, 0f00000000; cvt.rzi.s32.f32 %r10, %f2;"),
        400,
        4,
    );
    // In 64 bits, by way of both sizes, and into fewer bits.
    let wide = "cvt.f64.f32 %rd5, %f1; cvt.rn.f64.s32 %rd6, %r6; max.f64 %rd5, %rd5, 0d0000000000000000; \
        min.f64 %rd5, %rd5, %rd6;";
    bytes(&clamped(&format!("{wide} cvt.rni.s32.f64 %r10, %rd5;")), 400, 4);
    bytes(&clamped(&format!("{wide} cvt.rn.f32.f64 %f2, %rd5; cvt.rpi.u32.f32 %r10, %f2;")), 400, 4);
    bytes(
        &with(
            "cvt.rzi.s32.f32 %r10, %f2",
            "cvt.f64.f32 %rd5, %f2; cvt.rzi.u64.f64 %rd5, %rd5; cvt.u32.u64 %r10, %rd5",
        ),
        400,
        4,
    );
    bytes(&with("cvt.rzi.s32.f32 %r10, %f2", "cvt.rzi.u16.f32 %h1, %f2; cvt.u32.u16 %r10, %h1"), 400, 4);
    bytes(&with("cvt.rzi.s32.f32 %r10, %f2", "cvt.rzi.s8.f32 %h1, %f2; cvt.u32.u16 %r10, %h1"), 400, 4);
    // `w - 1.f`, and a sum of clamped numbers.
    bytes(&with("min", "cvt.rn.f32.s32 %f3, %r2; add.f32 %f3, %f3, 0fBF800000; min"), 400, 4);
    bytes(&with("cvt.rzi", "add.f32 %f2, %f2, %f2; cvt.rzi"), 4 * 199, 4);
    // The end of what the thread has loaded.
    let loaded = "ld.volatile.global.u32 %r6, [%rd2]; setp.ge.u32 %p1, %r6, 50; @%p1 ret; \
        cvt.rn.f32.u32 %f3, %r6; ld.volatile.global.f32 %f1, [%rd2];";
    bytes(&format!("{loaded} {CLAMP} cvt.rzi.s32.f32 %r10, %f2; STORE"), 200, 4);
    bytes(&format!("{loaded} {CLAMP} cvt.rzi.s32.f32 %r10, %f2; sub.s32 %r10, %r6, %r10; STORE"), 200, 4);
    // A small integer that became a float is itself.
    bytes("cvt.rn.f32.u32 %f1, %r1; cvt.rzi.u32.f32 %r10, %f1; STORE", 1024, 0);
    bytes("cvt.rn.f32.s32 %f1, %r1; cvt.rni.s32.f32 %r10, %f1; sub.u32 %r10, %r10, %r1; STORE", 4, 0);
}

#[test]
fn what_only_looks_clamped() {
    // One end is missing.
    refused(&with("max.f32 %f2, %f1, 0f00000000", "mov.f32 %f2, %f1"), "");
    refused(&with("min.f32 %f2, %f2, %f3", "mov.f32 %f4, %f2"), "");
    // A NaN stays one, and becomes zero: below the lower end.
    let from_50 = "max.NaN.f32 %f2, %f1, 0f42480000; min.NaN.f32 %f2, %f2, %f3;";
    refused(&clamped(&format!("{from_50} cvt.rzi.s32.f32 %r10, %f2; sub.s32 %r10, %r10, 50;")), "");
    let from_50 = from_50.replace(".NaN", "");
    bytes(&clamped(&format!("{from_50} cvt.rzi.s32.f32 %r10, %f2; sub.s32 %r10, %r10, 50;")), 200, 4);
    refused(&with("min.f32", "min.NaN.f32").replace("max.f32", "max.NaN.f32"), "");
    // The wrong one of the two, another sign, another number, the bits instead of the number.
    refused(&with("max.f32", "min.f32"), "");
    refused(&with("min.f32", "max.f32"), "");
    refused(&with("0f00000000", "0fBF800000"), "");
    refused(&with("0f00000000", "0fBF000000").replace("rzi", "rmi"), "");
    refused(&with("0f00000000", "0fBF000000"), "");
    refused(&with("0f00000000", "0f7FC00000"), "");
    refused(&with("%f2, %f2, %f3", "%f2, %f2, 0f7F800000"), "");
    bytes(&with("%f2, %f2, %f3", "%f2, %f2, 0f4E800000; min.f32 %f2, %f2, %f3"), 400, 4);
    bytes(&with("%f2, %f2, %f3", "%f2, %f2, 0f42C5FFFF"), 400, 4);
    bytes(&with("%f2, %f2, %f3", "%f2, %f2, 0f42C7FFFF"), 404, 4);
    bytes(
        &with("cvt.rzi.s32.f32 %r10, %f2", "cvt.rpi.s32.f32 %r10, %f2")
            .replace("%f2, %f2, %f3", "%f2, %f2, 0f42C60001"),
        404,
        4,
    );
    refused(&with("cvt.rzi.s32.f32 %r10, %f2", "mov.b32 %r10, %f2"), "");
    refused(&with("max", "mov.b32 %f3, 1325400064; max"), "");
    // Signs and absolute values that are exchanged, a third operand, and saturation between 0 and 1.
    refused(&with("min.f32", "min.xorsign.abs.f32"), "");
    refused(&with("max.f32", "max.xorsign.abs.f32"), "");
    refused(&with("min.f32 %f2, %f2, %f3", "min.f32 %f2, %f2, %f3, %f1"), "");
    refused(&with("cvt.rzi", "cvt.sat.f32.f32 %f2, %f2; cvt.rzi"), "");
    refused(&with("cvt.rzi", "add.sat.f32 %f2, %f2, %f2; cvt.rzi"), "");
    // The number is clamped before it changes, or it is another one.
    refused(&with("cvt.rzi", "mul.f32 %f2, %f2, %f1; cvt.rzi"), "");
    refused(&with("cvt.rzi", "add.f32 %f2, %f2, %f1; cvt.rzi"), "");
    refused(&with("cvt.rzi", "neg.f32 %f2, %f2; cvt.rzi"), "");
    refused(&with("cvt.rzi", "fma.rn.f32 %f2, %f2, %f2, %f2; cvt.rzi"), "");
    refused(&with("%r10, %f2", "%r10, %f1"), "");
    refused(&with("cvt.rzi", "ld.volatile.global.f32 %f2, [%rd2]; cvt.rzi"), "");
    // The upper end is of a number that was loaded again, and so of no guard.
    let again = |load: &str| {
        format!(
            "ld.volatile.global.u32 %r6, [%rd2]; setp.ge.u32 %p1, %r6, 50; @%p1 ret; {load} \
             cvt.rn.f32.u32 %f3, %r6; ld.volatile.global.f32 %f1, [%rd2]; {CLAMP} \
             cvt.rzi.s32.f32 %r10, %f2; STORE"
        )
    };
    bytes(&again(""), 200, 4);
    refused(&again("ld.volatile.global.u32 %r6, [%rd2];"), "");
    // Only where the predicate holds, and with what nothing wrote.
    refused(&with("min.f32", "setp.eq.u32 %p1, %r5, 3; @%p1 min.f32"), "");
    refused(&with("%f2, %f2, %f3", "%f2, %f2, %f7"), "");
    bytes(&with("%f2, %f1", "%f2, %f7"), 400, 4);
    // Comparisons instead: a NaN goes through them as it is.
    let compared = "setp.lt.f32 %p1, %f1, 0f00000000; selp.f32 %f2, 0f00000000, %f1, %p1; \
        setp.gt.f32 %p1, %f2, %f3; selp.f32 %f2, %f3, %f2, %p1; cvt.rzi.s32.f32 %r10, %f2;";
    refused(&clamped(compared), "");
    refused(&clamped(&compared.replace("lt", "ltu").replace("gt", "gtu")), "");
}

#[test]
fn ends_that_are_rounded() {
    // %r6 is the end: a whole number that the type has, and one that becomes a larger one.
    let of = |end: i64, convert: &str, less: i64| {
        format!(
            "ld.volatile.global.f32 %f1, [%rd2]; mov.u32 %r6, {end}; {convert} {CLAMP} \
             cvt.rzi.s32.f32 %r10, %f2; sub.s32 %r10, %r10, {less}; setp.lt.s32 %p1, %r10, 0; @%p1 ret; STORE"
        )
    };
    let exact = 1 << 24;
    bytes(&of(exact, "cvt.rn.f32.s32 %f3, %r6;", exact), 4, 4);
    bytes(&of(exact, "cvt.rp.f32.u32 %f3, %r6;", exact - 9), 40, 4);
    for convert in ["rn", "rp", "rz", "rm"] {
        refused(&of(exact + 3, &format!("cvt.{convert}.f32.s32 %f3, %r6;"), exact), "");
        refused(&of(exact + 3, &format!("cvt.{convert}.f32.u32 %f3, %r6;"), exact), "");
    }
    refused(&of(-1, "cvt.rn.f32.u32 %f3, %r6;", 0), "");
    // 64 bits have all whole numbers of 32: but not if they become 32 bits.
    let wide = "cvt.rn.f64.s32 %rd6, %r6; cvt.rn.f32.f64 %f3, %rd6;";
    bytes(&of(exact, wide, exact), 4, 4);
    refused(&of(exact + 3, wide, exact), "");
    let body = "ld.volatile.global.f32 %f1, [%rd2]; cvt.f64.f32 %rd5, %f1; mov.u32 %r6, 16777219; \
        cvt.rn.f64.u32 %rd6, %r6; max.f64 %rd5, %rd5, 0d4170000000000000; min.f64 %rd5, %rd5, %rd6; \
        cvt.rni.u32.f64 %r10, %rd5; sub.u32 %r10, %r10, 16777216; STORE";
    bytes(body, 16, 4);
    refused(
        &body.replace("cvt.rni.u32.f64 %r10, %rd5", "cvt.rn.f32.f64 %f2, %rd5; cvt.rni.u32.f32 %r10, %f2"),
        "",
    );
    refused(
        &body.replace(
            "cvt.rn.f64.u32 %rd6, %r6",
            "cvt.u64.u32 %rd6, %r6; mul.lo.u64 %rd6, %rd6, 1073741824; cvt.rn.f64.u64 %rd6, %rd6",
        ),
        "",
    );
    // A sum that is rounded up.
    let sum = |a: i64| format!("cvt.rn.f32.s32 %f3, %r6; add.f32 %f3, %f3, 0f{a:08X};");
    bytes(&of(exact - 3, &sum(0x4040_0000), exact), 4, 4);
    refused(&of(exact - 2, &sum(0x4040_0000), exact), "");
    // An end below zero: the integer without a sign is zero, above it.
    let below = |to: &str| {
        format!(
            "ld.volatile.global.f32 %f1, [%rd2]; mov.f32 %f3, 0fC2C80000; min.f32 %f2, %f1, %f3; \
             max.f32 %f2, %f2, 0fC3480000; cvt.rzi.{to}.f32 %r10, %f2; add.s32 %r10, %r10, 200; STORE"
        )
    };
    bytes(&below("s32"), 404, 4);
    refused(&below("u32"), "");
    // A register of other bits.
    refused(&clamped("max.f32 %rd5, %f1, 0f00000000; cvt.u32.u64 %r10, %rd5;"), "a register of other bits");
    refused(&clamped("cvt.rzi.s64.f32 %r10, %f3;"), "a register of other bits");
    // Half of a float of 64 bits is none, and neither is a float with zeros above.
    refused(
        &clamped(
            "cvt.rn.f64.s32 %rd6, %r6; max.f64 %rd5, %rd6, 0d0000000000000000; cvt.u32.u64 %r7, %rd5; \
            mov.b32 %f2, %r7; cvt.rzi.s32.f32 %r10, %f2;",
        ),
        "",
    );
    refused(
        &clamped(&format!(
            "{CLAMP} mov.b32 %r7, %f2; cvt.u64.u32 %rd5, %r7; add.f64 %rd5, %rd5, %rd5; \
            cvt.rzi.u32.f64 %r10, %rd5;"
        )),
        "",
    );
}
