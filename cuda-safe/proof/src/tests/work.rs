//! What costs no work: branches that choose nothing, searches of which a point shows that they are in vain.

use std::time::{Duration, Instant};

use super::filetests::{bytes, proven_within, refused};
use crate::{BUDGET, Kernel, Launch, Verdict, prove_within};

/// Returns the processor time of this thread, or the time where the system does not say it.
fn time() -> Duration {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    let text = std::fs::read_to_string("/proc/thread-self/schedstat");
    let own = text.ok().and_then(|text| text.split(' ').next()?.parse().ok());
    own.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

/// Proves a launch, and that the budget is kept: in processor time, of which the tests' build may take
/// several times as much as a program.
#[track_caller]
pub(super) fn prove_in_time(kernel: &Kernel, launch: &Launch<'_>, budget: u64) -> Verdict {
    let before = time();
    let verdict = prove_within(kernel, launch, budget);
    let (took, most) = (time() - before, Duration::from_millis(100) + Duration::from_nanos(500 * budget));
    assert!(took < most, "{} takes {took:?} of {most:?}", kernel.name());
    verdict
}

/// So many choices, one after the other, by the bits of a loaded number.
fn choices(count: u32, choice: &str) -> String {
    let one = |bit: u32| {
        format!(
            "and.b32 %r7, %r6, {}; setp.eq.u32 %p1, %r7, 0; {} ",
            1_u32 << bit,
            choice.replace('$', &format!("$_{bit}"))
        )
    };
    let all: String = (0..count).map(one).collect();
    format!("ld.global.u32 %r6, [%rd2]; mov.u32 %r10, %r5; mov.u32 %r11, 0; {all} STORE")
}

#[track_caller]
fn takes(body: &str, budget: u64, is_enough: bool) {
    let found = proven_within(body, "0", budget);
    assert_eq!(found, if is_enough { Ok([256, 4]) } else { found.clone() }, "{body}");
    assert_eq!(found.is_ok(), is_enough, "{found:?}: {body}");
}

#[test]
fn branches_around_nothing() {
    let around = "@%p1 bra $a; mul.f32 %f1, %f1, %f1; $a:";
    let (before, after) = (choices(0, ""), choices(30, around));
    takes(&before, 60, true);
    takes(&after, 60, true);
    // A way on either side, one out of the line, and one within another.
    takes(
        &choices(30, "@%p1 bra $a; add.f32 %f1, %f1, %f1; bra $b; $a: add.f32 %f2, %f1, %f1; $b:"),
        60,
        true,
    );
    takes(&choices(30, "bra $t; $c: neg.f32 %f1, %f1; bra $e; $t: @%p1 bra $c; $e:"), 60, true);
    let within =
        "@%p1 bra $a; setp.gt.u32 %p2, %r6, 9; @%p2 bra $b; neg.f32 %f1, %f1; $b: abs.f32 %f1, %f1; $a:";
    takes(&choices(30, within), 60, true);
    // Each of these is looked at.
    takes(&choices(30, "@%p1 bra $a; ld.global.u32 %r8, [%rd2]; $a:"), 60, false);
    takes(&choices(30, "@%p1 bra $a; st.local.u32 [stack], 0; $a:"), 60, false);
}

#[test]
fn branches_around_what_matters() {
    let of = |choice: &str| choices(3, choice);
    bytes(&of("@%p1 bra $a; add.u32 %r10, %r10, 1; $a:"), 268, 4);
    bytes(&of("@%p1 bra $a; bra $b; $a: add.u32 %r10, %r10, 1; $b:"), 268, 4);
    bytes(&of("bra $t; $c: add.u32 %r10, %r10, 1; bra $e; $t: @%p1 bra $c; $e:"), 268, 4);
    bytes(&of("@%p1 bra $a; mov.u32 %r10, 99; $a:"), 400, 4);
    // What has no value on one way.
    refused(&of("@%p1 bra $a; mov.u32 %r20, 9; $a: mov.u32 %r10, %r20;"), "");
    // Guards that end the thread, or that go past a store.
    let load = "ld.global.u32 %r10, [%rd2];";
    bytes(&format!("{load} setp.lt.u32 %p1, %r10, 50; @%p1 bra $a; ret; $a: STORE"), 200, 4);
    bytes(&format!("{load} setp.lt.u32 %p1, %r10, 50; @!%p1 bra $a; STORE $a:"), 200, 4);
    refused(&format!("{load} setp.lt.u32 %p1, %r10, 50; @!%p1 bra $a; $a: STORE"), "");
    refused(&format!("{load} setp.lt.u32 %p1, %r10, 50; @%p1 bra $a; bra $a; $a: STORE"), "");
    // Loops: with a counter that is needed, with none, and jumps to themselves.
    bytes("mov.u32 %r10, 0; $l: add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, 9; @%p1 bra $l; STORE", 40, 0);
    bytes("mov.u32 %r10, 7; $l: setp.gt.u32 %p1, %r5, 99; @%p1 bra $l; bra $m; $m: STORE", 32, 0);
    bytes("mov.u32 %r10, 7; setp.lt.u32 %p1, %r5, 99; @%p1 bra $m; $l: bra $l; $m: STORE", 32, 0);
    bytes("mov.u32 %r10, 7; setp.lt.u32 %p1, %r5, 99; @%p1 bra $m; $l: bra $n; $n: bra $l; $m: STORE", 32, 0);
}

#[test]
fn the_budget_counts_within_a_step() {
    // A sum of smaller numbers, each of a number and the sum before it. A quotient of it, which the reading
    // of the next smaller one is, is looked for in both sides of each.
    let sum = "ld.global.u32 %r6, [%rd2]; min.u32 %r6, %r6, %r10; add.s32 %r10, %r10, %r6; ";
    let body = format!("mov.u32 %r10, 3; {} STORE", sum.repeat(24));
    let _ = proven_within(&body, "0", BUDGET);
    // What a register without a value has differs at each use, and is used twice by each of its successors.
    let twice = "mad.lo.s32 %r10, %r10, 3, %r10; ".repeat(15);
    let body = format!("add.u32 %r10, %r20, 0; {twice} STORE");
    let _ = proven_within(&body, "0", BUDGET);
    // Numbers one within another, thousands deep.
    let smaller = "ld.global.u32 %r6, [%rd2]; min.u32 %r10, %r10, %r6; ".repeat(4000);
    let body = format!("mov.u32 %r10, 0xffffffff; {smaller} div.u32 %r10, %r10, 3; STORE");
    let _ = proven_within(&body, "0", 20 * BUDGET);
    // Thousands of registers with values, and of instructions under a predicate, each with two cases.
    let each = |line: &str| -> String { (0..9000).map(|at| line.replace('@', &at.to_string())).collect() };
    let start = ".reg .b32 %q<9000>; ld.global.v4.u32 {%r11, %r12, %r13, %r14}, [%rd2]; \
                 setp.lt.u32 %p1, %r11, %r5;";
    let (end, many) = (each("xor.b32 %r10, %r10, %q@; "), "@%p1 st.shared.u32 [own], 0; ".repeat(10_000));
    let body = format!("{start} {} {many} mov.u32 %r10, 0; {end} STORE", each("add.u32 %q@, %r11, %r12; "));
    let _ = proven_within(&body, "0", BUDGET);
    // Where two ways meet, each of these registers has one of two values, between which facts decide.
    let guards: String = ["%r11, %r12", "%r12, %r13", "%r13, %r14", "%r14, %r11", "%r11, %r13", "%r12, %r14"]
        .map(|pair| format!("add.u32 %r6, {pair}; setp.gt.u32 %p2, %r6, 300; @%p2 ret; "))
        .concat();
    let least = ["%r11", "%r12", "%r13", "%r14"].map(|it| format!("min.u32 {it}, {it}, 255; ")).concat();
    let (one, other) = (each("mad.lo.u32 %q@, %r12, @, %r7; "), each("mad.lo.u32 %q@, %r13, @, %r6; "));
    let body = format!(
        "{start} {least} {guards} mad.lo.u32 %r7, %r13, 7, %r14; mad.lo.u32 %r6, %r11, 5, %r12; @%p1 bra $a; \
         {one} bra $b; $a: {other} $b: mov.u32 %r10, 0; {end} STORE"
    );
    let _ = proven_within(&body, "0", BUDGET);
}
