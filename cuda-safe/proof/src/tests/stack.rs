//! Numbers that a thread stores on its stack and loads again, and numbers that are others by then.

use super::doubtful::{bytes, refused};

/// `%r6` to `%r9` are `%r5` (up to 63), 40, 50 and 60; `%rd3` is the stack.
const NUMBERS: &str = "mov.u64 %rd3, stack; mov.u32 %r6, %r5; mov.u32 %r7, 40; mov.u32 %r8, 50; \
    mov.u32 %r9, 60; st.local.u32 [%rd3], %r6; st.local.u32 [%rd3+4], %r7; \
    st.local.v2.u32 [%rd3+8], {%r8, %r9};";

#[track_caller]
fn reads(body: &str, x: i64) {
    bytes(&format!("{NUMBERS} {body}"), x, 0);
}

#[track_caller]
fn fools(body: &str) {
    refused(&format!("{NUMBERS} {body}"), "");
}

#[test]
fn what_a_thread_has_stored_is_there() {
    reads("ld.local.u32 %r10, [%rd3]; STORE", 256);
    reads("ld.local.u32 %r10, [%rd3+8]; STORE", 204);
    reads("ld.local.v2.u32 {%r11, %r10}, [%rd3+8]; STORE", 244);
    // The same number twice.
    reads("ld.local.u32 %r10, [%rd3]; ld.local.u32 %r11, [%rd3]; sub.u32 %r10, %r10, %r11; STORE", 4);
    // A part of a number, two numbers at once, and a place that nothing was stored at.
    fools("ld.local.u16 %r10, [%rd3+4]; mul.lo.u32 %r10, %r10, 0x100000; STORE");
    fools(
        "ld.local.u64 %rd4, [%rd3]; shl.b64 %rd4, %rd4, 2; add.s64 %rd4, %rd1, %rd4; \
         st.global.u32 [%rd4], 0;",
    );
    fools("ld.local.u32 %r10, [%rd3+16]; STORE");
    fools("ld.local.u32 %r10, [%rd3+2]; STORE");
}

#[test]
fn what_is_stored_later_counts() {
    reads("st.local.u32 [%rd3], 7; ld.local.u32 %r10, [%rd3]; STORE", 32);
    reads("st.local.u32 [%rd3+4], 7; ld.local.u32 %r10, [%rd3]; STORE", 256);
    let of = |write: &str| {
        format!("ld.volatile.global.u32 %r11, [%rd2]; {write} ld.local.u32 %r10, [%rd3+4]; STORE")
    };
    let fools = |write: &str| refused(&format!("{NUMBERS} {}", of(write)), "");
    bytes(&format!("{NUMBERS} {}", of("")), 164, 4);
    // A loaded number, at the place or over a part of it, before and behind.
    fools("st.local.u32 [%rd3+4], %r11;");
    fools("cvt.u16.u32 %h1, %r11; st.local.u16 [%rd3+6], %h1;");
    fools("cvt.u16.u32 %h1, %r11; st.local.u8 [%rd3+7], %h1;");
    fools("cvt.u64.u32 %rd4, %r11; st.local.u64 [%rd3], %rd4; st.local.u32 [%rd3+4], %r11;");
    fools("st.local.v4.u32 [%rd3], {%r6, %r11, %r6, %r6};");
    // At an index, by a generic address, and on one of two ways.
    fools(
        "and.b32 %r12, %r11, 3; mul.wide.u32 %rd4, %r12, 4; add.s64 %rd5, %rd3, %rd4; \
         st.local.u32 [%rd5], %r11;",
    );
    fools("cvta.local.u64 %rd4, %rd3; st.u32 [%rd4+4], %r11;");
    fools(
        "cvta.local.u64 %rd4, %rd3; and.b32 %r12, %r11, 3; mul.wide.u32 %rd5, %r12, 4; \
         add.s64 %rd5, %rd4, %rd5; st.u32 [%rd5], 1000000;",
    );
    fools("setp.eq.u32 %p1, %r11, 3; @%p1 st.local.u32 [%rd3+4], %r11;");
    fools("setp.eq.u32 %p1, %r11, 3; @%p1 bra $a; st.local.u32 [%rd3+4], %r11; $a:");
    // On both ways, another number on each, and the same one.
    let both = "setp.eq.u32 %p1, %r11, 3; @%p1 bra $a; st.local.u32 [%rd3+4], ONE; bra $b; \
        $a: st.local.u32 [%rd3+4], OTHER; $b:";
    bytes(&format!("{NUMBERS} {}", of(&both.replace("ONE", "3").replace("OTHER", "3"))), 16, 4);
    fools(&both.replace("ONE", "3").replace("OTHER", "%r11"));
}

#[test]
fn numbers_of_fewer_bits() {
    let of = |store: &str, load: &str| format!("mov.u64 %rd3, stack; {store} {load} STORE");
    // 8 and 16 bits, with a sign and without.
    bytes(&of("mov.u16 %h1, 0x1ff; st.local.u8 [%rd3], %h1;", "ld.local.u8 %r10, [%rd3];"), 1024, 0);
    refused(&of("mov.u16 %h1, 0x1ff; st.local.u8 [%rd3], %h1;", "ld.local.s8 %r10, [%rd3];"), "");
    bytes(&of("mov.u16 %h1, 0x17f; st.local.u8 [%rd3], %h1;", "ld.local.s8 %r10, [%rd3];"), 512, 0);
    refused(&of("sub.u32 %r6, %r5, 10; st.local.u16 [%rd3], %r6;", "ld.local.s16 %r10, [%rd3];"), "");
    bytes(&of("sub.u32 %r6, %r5, 10; st.local.u16 [%rd3], %r6;", "ld.local.u16 %r10, [%rd3];"), 262_144, 0);
    bytes(&of("add.u32 %r6, %r5, 65536; st.local.u16 [%rd3], %r6;", "ld.local.u16 %r10, [%rd3];"), 256, 0);
    refused(
        &of(
            "st.local.u32 [%rd3], -1;",
            "ld.local.s32 %rd4, [%rd3]; shl.b64 %rd4, %rd4, 2; \
        add.s64 %rd4, %rd1, %rd4; st.global.u32 [%rd4], 0; mov.u32 %r10, 0;",
        ),
        "",
    );
}

#[test]
fn numbers_in_a_loop() {
    // The ends of parts: the part of an index, and what is before it.
    let parts = |store: &str, step: &str| {
        format!(
            "{store} mov.u64 %rd5, %rd3; mov.u32 %r10, 0; $l: ld.local.u32 %r11, [%rd5]; \
         setp.lt.u32 %p1, %r5, %r11; @%p1 bra $e; mov.u32 %r10, %r11; \
             add.s64 %rd5, %rd5, {step}; bra $l; $e: STORE"
        )
    };
    let stored = "mov.u64 %rd3, stack; st.local.v2.u32 [%rd3], {16, 32}; st.local.u32 [%rd3+8], 64;";
    bytes(&parts(stored, "4"), 4 * 33, 0);
    refused(&parts(&stored.replace("64", "63"), "4"), "");
    bytes(&parts(stored, "8"), 4 * 17, 0);
    refused(&parts(stored, "12"), "");
    // A number that each round changes, and one that a later round has changed.
    let sum = |more: &str| {
        format!(
            "{NUMBERS} mov.u32 %r12, 0; $l: ld.local.u32 %r10, [%rd3+4]; STORE {more} add.u32 %r12, %r12, 1; \
         setp.lt.u32 %p1, %r12, %r1; @%p1 bra $l;"
        )
    };
    bytes(&sum(""), 164, 0);
    refused(&sum("add.u32 %r10, %r10, 2000000; st.local.u32 [%rd3+4], %r10;"), "");
    refused(&sum("cvta.local.u64 %rd4, %rd3; st.u32 [%rd4+4], %r12;").replace("%r1;", "2000000;"), "");
    refused(&sum("setp.eq.u32 %p2, %r12, 50; @%p2 st.local.u32 [%rd3+4], 2000000;"), "");
}
