//! Faults that are planted into what the rewriter has written: the verifier names each.
//!
//! Not under sanitizers: it uses no GPU.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeSet;

use cuda_guard::{Guarded, guard, guardable, verify};
use cuda_ptx::Module;

const TEXT: &str = include_str!("faults.ptx");

/// The fault, a line of the guarded form, and what becomes of it. Of several such lines, the last one is
/// changed.
const CHANGED: &[(&str, &str, &str)] = &[
    ("another limit", "ld.param.u64 $r28, [$p4];", "ld.param.u64 $r28, [$p5];"),
    ("another base", "ld.param.u64 $r27, [$p2];", "ld.param.u64 $r27, [$p1];"),
    ("the limit of a pointer's own bits", "ld.param.u64 $r28, [$p4];", "ld.param.u64 $r28, [$p2];"),
    ("a smaller alignment", "and.b64 $r31, $r29, 3;", "and.b64 $r31, $r29, 1;"),
    ("no alignment", "setp.eq.and.u64 $r32, $r31, 0, $r30;", "and.pred $r32, $r30, $r30;"),
    ("an alignment alone", "setp.lt.u64 $r30, $r29, $r28;", "setp.lt.u64 $r30, $r31, $r28;"),
    ("a limit that is in range", "setp.lt.u64 $r30, $r29, $r28;", "setp.le.u64 $r30, $r29, $r28;"),
    ("a signed comparison", "setp.lt.u64 $r30, $r29, $r28;", "setp.lt.s64 $r30, $r29, $r28;"),
    ("a comparison the other way round", "setp.lt.u64 $r30, $r29, $r28;", "setp.lt.u64 $r30, $r28, $r29;"),
    ("a difference the other way round", "sub.u64 $r29, $r17, $r27;", "sub.u64 $r29, $r27, $r17;"),
    ("the start of accesses at +4", "add.s64 $r37, $r19, 4;", "add.s64 $r37, $r19, 8;"),
    ("addresses swapped", "selp.b64 $r34, $r17, $r33, $r32;", "selp.b64 $r34, $r33, $r17, $r32;"),
    (
        "the address itself for a wrong one",
        "selp.b64 $r34, $r17, $r33, $r32;",
        "selp.b64 $r34, $r17, $r17, $r32;",
    ),
    ("the record for a page of zeros", "ld.param.u64 $r33, [$p8];", "ld.param.u64 $r33, [$p9];"),
    (
        "the address without its check",
        "ld.relaxed.cta.global.u32 $r5, [$r34];",
        "ld.relaxed.cta.global.u32 $r5, [$r17];",
    ),
    ("the address of another check", "ld.global.u32 $r7, [$r45];", "ld.global.u32 $r7, [$r34];"),
    ("another constant", "ld.global.u32 $r6, [$r45+4];", "ld.global.u32 $r6, [$r45+8];"),
    ("another width", "ld.global.u32 $r7, [$r45];", "ld.global.u64 $r7, [$r45];"),
    ("a store without a predicate", "@$r56 st.global.u32 [$r20], $r7;", "st.global.u32 [$r20], $r7;"),
    (
        "a store with its own predicate alone",
        "@$r56 st.global.u32 [$r20], $r7;",
        "@$r1 st.global.u32 [$r20], $r7;",
    ),
    ("a store with its check alone", "@$r56 st.global.u32 [$r20], $r7;", "@$r53 st.global.u32 [$r20], $r7;"),
    (
        "a store where the check fails",
        "@$r56 st.global.u32 [$r20], $r7;",
        "@!$r56 st.global.u32 [$r20], $r7;",
    ),
    ("a store elsewhere", "@$r56 st.global.u32 [$r20], $r7;", "@$r56 st.global.u32 [$r20+4], $r7;"),
    ("an atomic operation by the other predicate", "not.pred $r69, $r1;", "and.pred $r69, $r1, $r1;"),
    ("an atomic operation that leaves its result", "@$r73 mov.b32 $r8, 0;", ""),
    ("a result that is always zero", "@$r73 mov.b32 $r8, 0;", "mov.b32 $r8, 0;"),
    ("a register that may be unwritten", "mov.b32 $r5, 0;", ""),
    ("a register that begins with one", "mov.b32 $r5, 0;", "mov.b32 $r5, 1;"),
    (
        "a part of the stack that may be unwritten",
        "st.local.b32 [$v1+4], $r24;",
        "st.local.b16 [$v1+4], $r24;",
    ),
    ("a load that may be repeated", "ld.relaxed.cta.global.u32 $r5, [$r34];", "ld.global.u32 $r5, [$r34];"),
    (
        "a cached load of memory that is written",
        "ld.global.u32 $r7, [$r45];",
        "ld.global.nc.u32 $r7, [$r45];",
    ),
    ("another number of the access", "@$r47 mov.u32 $r22, 2;", "@$r47 mov.u32 $r22, 3;"),
    ("a failure that is not noted", "@$r47 mov.u32 $r22, 2;", ""),
    (
        "the last failure, not the first",
        "setp.eq.and.u32 $r47, $r22, 0, $r46;",
        "setp.ne.and.u32 $r47, $r22, 1000, $r46;",
    ),
    ("a failure where there is none", "not.pred $r46, $r43;", "and.pred $r46, $r43, $r43;"),
    ("another offset", "@$r47 mov.u64 $r23, $r40;", "@$r47 mov.u64 $r23, $r29;"),
    ("an end without a report", "@$r26 bra $l1;", ""),
    ("a report at the wrong time", "@$r26 bra $l1;", "bra $l1;"),
    ("an end before its time", "bar.sync 0;", "@$r84 bra $l1;\nbar.sync 0;"),
    ("an end of all threads before its time", "bar.sync 0;", "bra $l1;\nbar.sync 0;"),
    (
        "a failure of no access",
        "bar.sync 0;",
        "@$r84 mov.u32 $r22, 7;\n@$r84 mov.u64 $r23, $r83;\nbar.sync 0;",
    ),
    (
        "a failure that is noted twice",
        "bar.sync 0;",
        "@$r84 mov.u32 $r22, 5;\n@$r84 mov.u64 $r23, $r83;\nbar.sync 0;",
    ),
    ("another predicate of the end", "@$r0 ret;", "@!$r0 ret;"),
    ("a note that is taken back", "mov.u32 $r9, $v0;", "mov.u32 $r22, 0;\nmov.u32 $r9, $v0;"),
    (
        "a register of a guard that is written again",
        "mov.u32 $r9, $v0;",
        "add.s64 $r45, $r19, 8;\nmov.u32 $r9, $v0;",
    ),
    (
        "an address that changes behind its check",
        "@$r70 atom.global.add.u32 $r8, [$r20+16], $r7;",
        "add.s64 $r20, $r20, 64;\n@$r70 atom.global.add.u32 $r8, [$r20+16], $r7;",
    ),
    ("a larger limit of an array", "setp.lt.u32 $r77, $r76, 509;", "setp.lt.u32 $r77, $r76, 513;"),
    ("an alignment of the offset alone", "and.b32 $r78, $r10, 3;", "and.b32 $r78, $r76, 1;"),
    ("another instruction", "sub.u32 $r7, $r7, 1;", "sub.u32 $r7, $r7, 2;"),
    ("another target", "@$r2 bra $l0;", "@$r2 bra $l1;"),
    (
        "a strong load that becomes a weak one",
        "ld.volatile.global.u32 $r12, [$r113];",
        "ld.global.u32 $r12, [$r113];",
    ),
    ("a barrier less", "bar.sync 0;", ""),
    ("a store more", "bar.sync 0;", "bar.sync 0;\nst.global.u32 [$r20], 0;"),
    ("another kernel", "st.global.u32 [$r0], 1;", "st.global.u32 [$r0], 2;"),
    ("a smaller array", ".shared .align 16 .b8 $v0[512];", ".shared .align 16 .b8 $v0[256];"),
    ("another block in the record", "mov.u32 $r121, %ctaid.y;", "mov.u32 $r121, %ctaid.x;"),
    ("a record that all write", "@$r119 ret;", ""),
    ("a record elsewhere", "st.global.u32 [$r117+4], $r22;", "st.global.u32 [$r117+44], $r22;"),
];

/// Lines that come behind another one instead.
const MOVED: &[(&str, &str, &str)] = &[
    ("a check of an older address", "add.s64 $r21, $r14, $r16;", "selp.b64 $r103, $r21, $r102, $r101;"),
    ("a check once in front of a loop", "$l0:", "@$r95 mov.u64 $r23, $r94;"),
    ("a predicate that changes behind the check", "setp.ne.u32 $r1, $r6, 0;", "@$r59 mov.u64 $r23, $r50;"),
    ("a store in front of its check", "@$r79 st.shared.u32 [$r10], $r7;", "mad.lo.u32 $r10, $r5, 4, $r9;"),
];

fn made(module: &Module<'_>) -> (BTreeSet<usize>, Guarded) {
    let all: BTreeSet<usize> = guardable(module, "k").into_iter().collect();
    let guarded = guard(module, "k", &all).unwrap();
    verify(module, &all, &guarded).unwrap();
    (all, guarded)
}

#[test]
fn each_fault_of_the_text_is_named() {
    let module = cuda_ptx::parse(TEXT).unwrap();
    let (all, guarded) = made(&module);
    let lines: Vec<&str> = guarded.text.lines().collect();
    let find = |line: &str| {
        lines.iter().rposition(|own| *own == line).unwrap_or_else(|| panic!("{line:?} is not there"))
    };
    let mut changed: Vec<(&str, String)> = Vec::new();
    for (name, from, to) in CHANGED {
        let mut lines = lines.clone();
        lines[find(from)] = to;
        changed.push((name, lines.join("\n")));
    }
    for (name, line, behind) in MOVED {
        let mut lines = lines.clone();
        let (from, to) = (find(line), find(behind));
        let line = lines.remove(from);
        lines.insert(if from < to { to } else { to + 1 }, line);
        changed.push((name, lines.join("\n")));
    }
    for (name, text) in changed {
        cuda_ptx::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let wrong = Guarded { text, ..guarded.clone() };
        let fault = verify(&module, &all, &wrong).expect_err(name);
        println!("{name}: {fault}");
    }
    assert!(CHANGED.len() + MOVED.len() >= 20);
}

#[test]
fn each_fault_of_what_the_launch_is_told_is_named() {
    let module = cuda_ptx::parse(TEXT).unwrap();
    let (all, guarded) = made(&module);
    type Change = fn(&mut Guarded);
    let changes: [(&str, Change); 9] = [
        ("a limit for fewer bytes", |it| it.limits[1].span = 4),
        ("a limit without alignment", |it| it.limits[0].align = 1),
        ("a limit of memory that is only read", |it| it.limits[2].writes = false),
        ("a limit of another argument", |it| it.limits[0].region = it.limits[1].region),
        ("a limit less", |it| _ = it.limits.pop()),
        ("an access less", |it| _ = it.sites[1].members.pop()),
        ("an access elsewhere", |it| it.sites[1].members[0].offset = 0),
        ("a smaller access", |it| it.sites[0].members[0].bytes = 2),
        ("a span that is smaller", |it| it.sites[1].span = 4),
    ];
    for (name, change) in changes {
        let mut wrong = guarded.clone();
        change(&mut wrong);
        verify(&module, &all, &wrong).expect_err(name);
    }
    // An access that was not asked for, and one that was and has no guard.
    let fewer: BTreeSet<usize> = all.iter().copied().skip(1).collect();
    verify(&module, &fewer, &guarded).expect_err("a guard that was not asked for");
    let of_fewer = guard(&module, "k", &fewer).unwrap();
    verify(&module, &all, &of_fewer).expect_err("a guard that is missing");
}
