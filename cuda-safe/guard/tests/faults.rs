//! Faults that are planted into what the rewriter has written: the verifier names each.
//!
//! Not under sanitizers: it uses no GPU.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeSet;

use cuda_guard::{Guarded, Member, guard, guardable, verify};
use cuda_ptx::Module;

const TEXT: &str = include_str!("faults.ptx");

/// The fault, a line of the guarded form, and what becomes of it. Of several such lines, the last one is
/// changed.
const CHANGED: &[(&str, &str, &str)] = &[
    ("another limit", "ld.param.u64 $r27, [$p4];", "ld.param.u64 $r27, [$p5];"),
    ("another base", "ld.param.u64 $r26, [$p2];", "ld.param.u64 $r26, [$p1];"),
    ("the limit of a pointer's own bits", "ld.param.u64 $r27, [$p4];", "ld.param.u64 $r27, [$p2];"),
    ("a smaller alignment", "and.b64 $r30, $r28, 3;", "and.b64 $r30, $r28, 1;"),
    ("no alignment", "setp.eq.and.u64 $r31, $r30, 0, $r29;", "and.pred $r31, $r29, $r29;"),
    ("an alignment alone", "setp.lt.u64 $r29, $r28, $r27;", "setp.lt.u64 $r29, $r30, $r27;"),
    ("a limit that is in range", "setp.lt.u64 $r29, $r28, $r27;", "setp.le.u64 $r29, $r28, $r27;"),
    ("a signed comparison", "setp.lt.u64 $r29, $r28, $r27;", "setp.lt.s64 $r29, $r28, $r27;"),
    ("a comparison the other way round", "setp.lt.u64 $r29, $r28, $r27;", "setp.lt.u64 $r29, $r27, $r28;"),
    ("a difference the other way round", "sub.u64 $r28, $r17, $r26;", "sub.u64 $r28, $r26, $r17;"),
    ("the start of accesses at +4", "add.s64 $r36, $r19, 4;", "add.s64 $r36, $r19, 8;"),
    ("addresses swapped", "selp.b64 $r33, $r17, $r32, $r31;", "selp.b64 $r33, $r32, $r17, $r31;"),
    (
        "the address itself for a wrong one",
        "selp.b64 $r33, $r17, $r32, $r31;",
        "selp.b64 $r33, $r17, $r17, $r31;",
    ),
    ("the record for a page of zeros", "ld.param.u64 $r32, [$p9];", "ld.param.u64 $r32, [$p10];"),
    (
        "the address without its check",
        "ld.relaxed.cta.global.u32 $r5, [$r33];",
        "ld.relaxed.cta.global.u32 $r5, [$r17];",
    ),
    ("the address of another check", "ld.global.u32 $r7, [$r44];", "ld.global.u32 $r7, [$r33];"),
    ("another constant", "ld.global.u32 $r6, [$r44+4];", "ld.global.u32 $r6, [$r44+8];"),
    ("another width", "ld.global.u32 $r7, [$r44];", "ld.global.u64 $r7, [$r44];"),
    ("a store without a predicate", "@$r55 st.global.u32 [$r20], $r7;", "st.global.u32 [$r20], $r7;"),
    (
        "a store with its own predicate alone",
        "@$r55 st.global.u32 [$r20], $r7;",
        "@$r1 st.global.u32 [$r20], $r7;",
    ),
    ("a store with its check alone", "@$r55 st.global.u32 [$r20], $r7;", "@$r52 st.global.u32 [$r20], $r7;"),
    (
        "a store where the check fails",
        "@$r55 st.global.u32 [$r20], $r7;",
        "@!$r55 st.global.u32 [$r20], $r7;",
    ),
    ("a store elsewhere", "@$r55 st.global.u32 [$r20], $r7;", "@$r55 st.global.u32 [$r20+4], $r7;"),
    ("an atomic operation by the other predicate", "not.pred $r68, $r1;", "and.pred $r68, $r1, $r1;"),
    ("an atomic operation that leaves its result", "@$r72 mov.b32 $r8, 0;", ""),
    ("a result that is always zero", "@$r72 mov.b32 $r8, 0;", "mov.b32 $r8, 0;"),
    ("a register that may be unwritten", "mov.b32 $r5, 0;", ""),
    ("a register that begins with one", "mov.b32 $r5, 0;", "mov.b32 $r5, 1;"),
    ("a part of the stack that may be unwritten", "st.local.b32 [$v1+4], 0;", "st.local.b16 [$v1+4], 0;"),
    ("a load that may be repeated", "ld.relaxed.cta.global.u32 $r5, [$r33];", "ld.global.u32 $r5, [$r33];"),
    (
        "a cached load of memory that is written",
        "ld.relaxed.cta.global.u32 $r5, [$r33];",
        "ld.global.nc.u32 $r5, [$r33];",
    ),
    ("a cached load that was none", "ld.global.u32 $r7, [$r44];", "ld.global.nc.u32 $r7, [$r44];"),
    ("another number of the access", "@$r46 mov.u32 $r22, 2;", "@$r46 mov.u32 $r22, 3;"),
    ("a failure that is not noted", "@$r46 mov.u32 $r22, 2;", ""),
    (
        "the last failure, not the first",
        "setp.eq.and.u32 $r46, $r22, 0, $r45;",
        "setp.ne.and.u32 $r46, $r22, 1000, $r45;",
    ),
    ("a failure where there is none", "not.pred $r45, $r42;", "and.pred $r45, $r42, $r42;"),
    ("another offset", "@$r46 mov.u64 $r23, $r39;", "@$r46 mov.u64 $r23, $r28;"),
    ("an end without a report", "@$r25 bra $l1;", ""),
    ("a report at the wrong time", "@$r25 bra $l1;", "bra $l1;"),
    ("an end before its time", "bar.sync 0;", "@$r83 bra $l1;\nbar.sync 0;"),
    ("an end of all threads before its time", "bar.sync 0;", "bra $l1;\nbar.sync 0;"),
    (
        "a failure of no access",
        "bar.sync 0;",
        "@$r83 mov.u32 $r22, 7;\n@$r83 mov.u64 $r23, $r82;\nbar.sync 0;",
    ),
    (
        "a failure that is noted twice",
        "bar.sync 0;",
        "@$r83 mov.u32 $r22, 5;\n@$r83 mov.u64 $r23, $r82;\nbar.sync 0;",
    ),
    ("another predicate of the end", "@$r0 ret;", "@!$r0 ret;"),
    ("a note that is taken back", "mov.u32 $r9, $v0;", "mov.u32 $r22, 0;\nmov.u32 $r9, $v0;"),
    (
        "a register of a guard that is written again",
        "mov.u32 $r9, $v0;",
        "add.s64 $r44, $r19, 8;\nmov.u32 $r9, $v0;",
    ),
    (
        "an address that changes behind its check",
        "@$r69 atom.global.add.u32 $r8, [$r20+16], $r7;",
        "add.s64 $r20, $r20, 64;\n@$r69 atom.global.add.u32 $r8, [$r20+16], $r7;",
    ),
    ("a larger limit of an array", "setp.lt.u32 $r76, $r75, 509;", "setp.lt.u32 $r76, $r75, 513;"),
    ("an alignment of the offset alone", "and.b32 $r77, $r10, 3;", "and.b32 $r77, $r75, 1;"),
    ("another instruction", "sub.u32 $r7, $r7, 1;", "sub.u32 $r7, $r7, 2;"),
    ("another target", "@$r2 bra $l0;", "@$r2 bra $l1;"),
    (
        "a strong load that becomes a weak one",
        "ld.volatile.global.u32 $r12, [$r110];",
        "ld.global.u32 $r12, [$r110];",
    ),
    ("a barrier less", "bar.sync 0;", ""),
    ("a store more", "bar.sync 0;", "bar.sync 0;\nst.global.u32 [$r20], 0;"),
    ("another kernel", "st.global.u32 [$r0], 1;", "st.global.u32 [$r0], 2;"),
    ("a smaller array", ".shared .align 16 .b8 $v0[512];", ".shared .align 16 .b8 $v0[256];"),
    ("another block in the record", "mov.u32 $r118, %ctaid.y;", "mov.u32 $r118, %ctaid.x;"),
    ("a record that all write", "@$r116 ret;", ""),
    ("a record elsewhere", "st.global.u32 [$r114+4], $r22;", "st.global.u32 [$r114+44], $r22;"),
];

/// Lines that come behind another one instead.
const MOVED: &[(&str, &str, &str)] = &[
    ("a check of an older address", "add.s64 $r21, $r15, $r16;", "selp.b64 $r102, $r21, $r101, $r100;"),
    ("a check once in front of a loop", "$l0:", "@$r94 mov.u64 $r23, $r93;"),
    ("a predicate that changes behind the check", "setp.ne.u32 $r1, $r6, 0;", "@$r58 mov.u64 $r23, $r49;"),
    ("a store in front of its check", "@$r78 st.shared.u32 [$r10], $r7;", "mad.lo.u32 $r10, $r5, 2, $r9;"),
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

/// What writes the memory from which the index at `%rd1` is loaded.
const WRITES: &[(&str, &str)] = &[
    ("the argument itself", "st.global.u32 [%rd1+4], %r2;"),
    ("the argument without a space", "st.u32 [%rd1+4], %r2;"),
    ("an atomic operation", "atom.global.add.u32 %r2, [%rd1], 1;"),
    ("a reduction", "red.global.add.u32 [%rd1], 1;"),
    ("an address that was loaded", "ld.global.u64 %rd5, [%rd2]; st.global.u32 [%rd5], %r2;"),
    ("an address that was in shared memory", "ld.shared.u64 %rd5, [kept]; st.global.u32 [%rd5], %r2;"),
    ("one of two pointers", "selp.b64 %rd5, %rd2, %rd1, %p1; st.global.u32 [%rd5], %r2;"),
    ("the later one of two pointers", "mov.b64 %rd2, %rd1; st.global.u32 [%rd2], %r2;"),
    (
        "an address with a carry",
        "add.cc.s64 %rd5, %rd2, 4; addc.s64 %rd6, %rd1, 0; st.global.u32 [%rd6], %r2;",
    ),
];
/// As above, where the store is not guarded: its proof may know more than its text says.
const PROVEN: &[(&str, &str)] = &[
    (
        "a pointer or an address that was loaded",
        "ld.global.u64 %rd5, [%rd2]; selp.b64 %rd5, %rd2, %rd5, %p1; st.global.u32 [%rd5], %r2;",
    ),
    (
        "an address in two halves",
        "ld.shared.v2.u32 {%r4, %r5}, [kept]; mov.b64 %rd5, {%r4, %r5};
      st.global.u32 [%rd5], %r2;",
    ),
];
/// What leaves the index as it is.
const NO_WRITES: &[&str] = &[
    "st.global.u32 [%rd2], %r2;",
    "ld.param.u64 %rd5, [s+8]; atom.global.add.u32 %r2, [%rd5], 1;",
    "ld.global.u32 %r4, [%rd2+4]; mad.wide.s32 %rd5, %r4, 4, %rd2; st.global.u32 [%rd5], %r2;",
    "st.shared.u32 [kept], %r2;",
];

/// Returns a kernel that loads an index, accesses memory otherwise, and loads by the index.
fn by_index(load: &str, otherwise: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .align 8 .b8 s[16])
{{
    .reg .pred %p<4>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<12>;
    .shared .align 8 .b64 kept;
    ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c];
    {load}
    {otherwise}
    mul.wide.s32 %rd8, %r1, 4;
    add.s64 %rd9, %rd3, %rd8;
    ld.global.u32 %r3, [%rd9];
    ret;
}}
"
    )
}

/// Guards all accesses, or the last one alone.
fn some(module: &Module<'_>, is_all: bool) -> (BTreeSet<usize>, Guarded) {
    let all = guardable(module, "k");
    let last = all.len() - 1;
    let asked = all.into_iter().skip(if is_all { 0 } else { last }).collect();
    let guarded = guard(module, "k", &asked).unwrap();
    verify(module, &asked, &guarded).unwrap_or_else(|fault| panic!("{fault}\n{}", guarded.text));
    (asked, guarded)
}

#[test]
fn a_load_of_memory_that_may_be_written_and_stays_weak_is_named() {
    const INDEX: &str = "ld.global.u32 %r1, [%rd1];";
    let inside = "ld.param.v2.u64 {%rd6, %rd1}, [s]; ld.global.u32 %r1, [%rd1];";
    let lost = "ld.global.u64 %rd4, [%rd2]; ld.global.u32 %r1, [%rd4];";
    let other = "ld.param.u64 %rd5, [s+8]; st.global.u32 [%rd5], %r2;";
    let generic = "mov.u64 %rd4, kept; cvta.shared.u64 %rd4, %rd4; ld.u32 %r1, [%rd4];";
    let mut list: Vec<_> =
        WRITES.iter().flat_map(|(name, by)| [(*name, INDEX, *by, true), (name, INDEX, by, false)]).collect();
    list.extend(PROVEN.iter().map(|(name, by)| (*name, INDEX, *by, false)));
    list.extend([true, false].map(|is_all| ("a pointer of a structure", inside, other, is_all)));
    let second = "ld.param.v2.u64 {_, %rd5}, [s]; st.global.u32 [%rd5], %r2;";
    list.extend([true, false].map(|is_all| ("the second pointer of a vector", inside, second, is_all)));
    list.extend([true, false].map(|is_all| ("an index at a lost address", lost, other, is_all)));
    list.push(("an index of shared memory without a space", generic, "", false));
    for (name, load, by, is_all) in &list {
        let text = by_index(load, by);
        let module = cuda_ptx::parse(&text).unwrap();
        let (asked, guarded) = some(&module, *is_all);
        let strong = ["ld.relaxed.cta.global.u32", "ld.relaxed.cta.u32"];
        let strong = strong.into_iter().find(|it| guarded.text.contains(it));
        let strong = strong.unwrap_or_else(|| panic!("{name}: {}", guarded.text));
        let weak = strong.replace("relaxed.cta.", "");
        let wrong = Guarded { text: guarded.text.replacen(strong, &weak, 1), ..guarded.clone() };
        let fault = verify(&module, &asked, &wrong).expect_err(name);
        assert!(fault.message.contains("may be repeated"), "{name}: {fault}");
    }
    for by in NO_WRITES {
        for is_all in [true, false] {
            let text = by_index("ld.global.nc.u32 %r1, [%rd1];", by);
            let module = cuda_ptx::parse(&text).unwrap();
            let (_, guarded) = some(&module, is_all);
            assert!(guarded.text.contains("ld.global.nc.u32"), "{by}: {}", guarded.text);
        }
    }
}

#[test]
fn a_check_that_is_named_for_a_store_without_one_counts_for_nothing() {
    let text = by_index("ld.global.u32 %r1, [%rd1];", "st.global.u32 [%rd1+4], %r2;");
    let module = cuda_ptx::parse(&text).unwrap();
    let (asked, mut guarded) = some(&module, false);
    guarded.text = guarded.text.replace("ld.relaxed.cta.global.u32", "ld.global.u32");
    let store = *guardable(&module, "k").iter().rev().nth(1).unwrap();
    let own = guarded.sites[0].members[0].clone();
    guarded.sites[0].members.push(Member { statement: store, operand: 0, ..own });
    let fault = verify(&module, &asked, &guarded).unwrap_err();
    assert!(fault.message.contains("may be repeated"), "{fault}");
}

/// Steps from an index in `%r1` to the offset of a word, in `%rd8`, and a constant of its address.
const ALIGNED: &[(&str, i64)] = &[
    ("mul.wide.s32 %rd8, %r1, 4;", 8),
    ("cvt.s64.s32 %rd10, %r1; shl.b64 %rd11, %rd10, 3; sub.s64 %rd8, %rd11, 4;", 0),
    ("and.b32 %r4, %r1, -4; cvt.u64.u32 %rd8, %r4;", -4),
    ("mul.lo.u32 %r4, %r1, 2; mad.lo.u32 %r5, %r4, 2, 8; or.b32 %r6, %r5, 4; cvt.u64.u32 %rd8, %r6;", 0),
    ("mul.wide.s32 %rd8, %r1, 4; selp.b64 %rd8, %rd8, 12, %p1; @%p1 add.s64 %rd8, %rd8, %rd8;", 4),
    ("mov.u64 %rd8, 0;", 0),
];
/// Steps after which it may be no word.
const NOT_ALIGNED: &[(&str, i64)] = &[
    ("mul.wide.s32 %rd8, %r1, 4;", 2),
    ("mul.wide.s32 %rd8, %r1, 2;", 0),
    ("cvt.s64.s32 %rd10, %r1; shl.b64 %rd8, %rd10, 1;", 0),
    ("mul.wide.s32 %rd8, %r1, 4; @%p1 add.s64 %rd8, %rd8, 2;", 0),
    ("mul.wide.s32 %rd8, %r1, 4; @%p1 ld.global.u64 %rd8, [%rd1];", 0),
    ("mul.wide.s32 %rd10, %r1, 4; shr.u64 %rd8, %rd10, 1;", 0),
    ("mul.wide.s32 %rd10, %r1, 4; sub.s64 %rd8, %rd10, %rd2;", 0),
    ("shl.b32 %r4, %r1, 2; mul.hi.u32 %r5, %r4, 4; cvt.u64.u32 %rd8, %r5;", 0),
    ("shl.b32 %r4, %r1, 2; add.sat.s32 %r5, %r4, 4; cvt.u64.u32 %rd8, %r5;", 0),
    ("mov.b64 {%r4, %r5}, %rd3; cvt.u64.u32 %rd8, %r5;", 0),
    ("shl.b32 %r4, %r1, 2; mul.rn.f32 %r5, %r4, %r4; cvt.u64.u32 %rd8, %r5;", 0),
    ("and.b32 %r4, %r1, 6; cvt.u64.u32 %rd8, %r4;", 0),
    ("mul.wide.s32 %rd10, %r1, 4; bfi.b64 %rd8, %rd10, %rd10, 1, 4;", 0),
];

#[test]
fn an_alignment_that_is_not_checked_is_one_that_the_kernel_computes() {
    let gathers = |(steps, by): (&str, i64)| {
        let text = by_index("ld.global.u32 %r1, [%rd1];", "");
        let text = text.replace("mul.wide.s32 %rd8, %r1, 4;", steps);
        text.replace("ld.global.u32 %r3, [%rd9];", &format!("ld.global.u32 %r3, [%rd9+{by}];"))
    };
    for aligned in ALIGNED {
        let text = gathers(*aligned);
        let module = cuda_ptx::parse(&text).unwrap();
        let (_, guarded) = some(&module, false);
        assert!(!guarded.text.contains("setp.eq.and.u64"), "{aligned:?}: {}", guarded.text);
    }
    for unknown in NOT_ALIGNED {
        let text = gathers(*unknown);
        let module = cuda_ptx::parse(&text).unwrap();
        let (asked, mut guarded) = some(&module, false);
        // The check without the alignment: both instructions away, and the comparison in place of their
        // result.
        let lines: Vec<&str> = guarded.text.lines().collect();
        let at = lines.iter().position(|it| it.starts_with("setp.eq.and.u64")).expect(unknown.0);
        let words: Vec<&str> = lines[at].trim_end_matches(';').split([' ', ',']).collect();
        let (both, range) = (words[1], words[words.len() - 1]);
        let rename = |line: &&str| {
            line.split_inclusive([' ', ',', ';']).map(|it| it.replace(both, range)).collect::<String>()
        };
        let text: Vec<String> = lines[..at - 1]
            .iter()
            .map(ToString::to_string)
            .chain(lines[at + 1..].iter().map(rename))
            .collect();
        guarded.text = text.join("\n");
        cuda_ptx::parse(&guarded.text).unwrap_or_else(|error| panic!("{error}\n{}", guarded.text));
        let fault = verify(&module, &asked, &guarded).expect_err(unknown.0);
        assert!(fault.message.contains("not by its check"), "{unknown:?}: {fault}");
    }
}
