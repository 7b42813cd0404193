//! Forms of guarded kernels, and each reason for which a kernel has none.
//!
//! Not under sanitizers: it uses no GPU.

use std::collections::BTreeSet;

use cuda_guard::{Guarded, Reason, Refusal, Region, guard, guardable, verify};
use cuda_ptx::{Module, Statement};

/// Returns a text with a kernel, declarations in front of it and a body.
fn text(before: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n{before}
.visible .entry k(.param .u64 a, .param .u64 b, .param .align 8 .b8 s[16])
{{
    .reg .pred %p<4>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<8>;
    {body}
    ret;
}}
"
    )
}

/// Guards the last instruction in front of the end.
fn guard_last(text: &str) -> Result<Guarded, Refusal> {
    let module = cuda_ptx::read(text);
    let kernel = module.functions.iter().find(|it| it.name == "k");
    let statements = kernel.and_then(|it| it.body.as_ref()).map_or(&[][..], |it| &it.statements);
    let is_it = |it: &Statement<'_>| matches!(it, Statement::Instruction(it) if it.opcode() != "ret");
    let asked = BTreeSet::from([statements.iter().rposition(is_it).unwrap_or(0)]);
    guard(&module, "k", &asked)
}

#[test]
fn each_reason_refuses_its_kernel() {
    const POINTER: &str = "ld.param.u64 %rd1, [a];";
    let with_pointer = |body: &str| text("", &format!("{POINTER} {body}"));
    let tile = ".shared .align 8 .b8 tile[64]; mov.u32 %r1, tile;";
    let refused = [
        (Reason::Missing, ".version 8.0\n.target sm_90\n.address_size 64\n".to_owned()),
        (Reason::Unreadable, with_pointer(".reg .b32 %laneid; ld.global.u32 %r1, [%rd1];")),
        (Reason::Old, with_pointer("ld.global.u32 %r1, [%rd1];").replace("sm_90", "sm_60")),
        (Reason::Call, text(".extern .func f();", "call f;")),
        (Reason::OtherBlock, with_pointer("mapa.shared::cluster.u32 %r1, %r2, %r3;")),
        (Reason::OtherBlock, with_pointer("ld.shared::cluster.u32 %r1, [%r2];")),
        (Reason::Descriptor, with_pointer("wgmma.fence.sync.aligned;")),
        (
            Reason::Bulk,
            with_pointer(
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 16, [%r2];",
            ),
        ),
        (
            Reason::Asynchronous,
            with_pointer("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r1], %r2, [%r3];"),
        ),
        (Reason::Stack, with_pointer("alloca.u64 %rd2, 16;")),
        (Reason::Stack, with_pointer(".local .b8 own[8192]; ld.global.u32 %r1, [%rd1];")),
        (Reason::Discard, with_pointer("discard.global.L2 [%rd1], 128;")),
        (Reason::Unknown, with_pointer("unheard.of.u32 %r1, [%rd1];")),
        (Reason::ModuleVariable, text(".global .u32 v;", "ld.global.u32 %r1, [v];")),
        (
            Reason::Collective,
            with_pointer(&format!("{tile} stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {{%r2}};")),
        ),
        (Reason::Waits, with_pointer(&format!("{tile} mbarrier.arrive.shared.b64 %rd2, [%r1];"))),
        (Reason::Image, with_pointer("tex.1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5}];")),
        (Reason::Constant, with_pointer("ld.const.u32 %r1, [%rd1];")),
        (Reason::Generic, with_pointer(&format!("{tile} cvta.shared.u64 %rd2, %rd3; ld.u32 %r2, [%rd1];"))),
        (Reason::NotAnAccess, with_pointer("add.u32 %r1, %r2, %r3;")),
        (Reason::Fixed, with_pointer("ld.global.u32 %r1, [64];")),
        (Reason::Fixed, with_pointer("ld.global.u32 %r1, [%r2];")),
        (Reason::NoRegion, text("", "ld.global.u32 %r1, [%rd1];")),
        (
            Reason::TooSmall,
            with_pointer(".shared .align 4 .b8 tile[4]; mov.u32 %r1, tile; ld.shared.u64 %rd2, [%r1];"),
        ),
        (
            Reason::Varying,
            with_pointer("mov.u64 %rd2, %clock64; add.s64 %rd1, %rd1, %rd2; ld.global.u32 %r1, [%rd1];"),
        ),
        (
            Reason::Varying,
            with_pointer(&format!(
                "{tile} ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r2}}, [%r1]; cvt.u64.u32 %rd2, %r2; \
                 add.s64 %rd1, %rd1, %rd2; ld.global.u32 %r1, [%rd1];"
            )),
        ),
        (Reason::Register, with_pointer(".reg .b8 %b; ld.global.u8 %b, [%rd1];")),
        (Reason::Parameters, with_pointer("ld.global.u32 %r1, [%rd1];").replace("s[16]", "s[4328]")),
    ];
    for (reason, text) in &refused {
        match guard_last(text) {
            Err(refusal) => {
                assert_eq!(refusal.reason, *reason, "{refusal}\n{text}");
                assert!(refusal.to_string().contains(reason.text()));
            }
            Ok(guarded) => panic!("{reason:?}: {}", guarded.text),
        }
    }
    for reason in Reason::ALL {
        assert!(refused.iter().any(|(own, _)| own == reason), "{reason:?} has no text");
    }
}

/// Guards all accesses of a kernel.
fn guard_all(body: &str) -> Guarded {
    let text = text("", body);
    let module: Module<'_> = cuda_ptx::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let all: BTreeSet<usize> = guardable(&module, "k").into_iter().collect();
    let guarded = guard(&module, "k", &all).unwrap_or_else(|refusal| panic!("{refusal}\n{text}"));
    verify(&module, &all, &guarded).unwrap_or_else(|fault| panic!("{fault}\n{}", guarded.text));
    guarded
}

/// An index from memory at `%rd1`, and an address of `%rd2` by it in `%rd4`.
fn by_index(load: &str) -> String {
    format!(
        "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; {load} %r1, [%rd1]; mul.wide.s32 %rd3, %r1, 4; \
         add.s64 %rd4, %rd2, %rd3;"
    )
}

#[test]
fn loads_that_an_address_depends_on_are_not_repeated() {
    for load in
        ["ld.global.nc.u32", "ldu.global.u32", "ld.global.u32", "ld.weak.global.u32", "ld.global.ca.u32"]
    {
        let writes =
            guard_all(&format!("{} ld.global.u32 %r2, [%rd4]; st.global.u32 [%rd1], %r2;", by_index(load)));
        assert!(writes.text.contains("ld.relaxed.cta.global.u32"), "{load}: {}", writes.text);
        // Nothing is written, or the memory of another argument: the load is what it was.
        for access in ["ld.global.u32 %r2, [%rd4];", "st.global.u32 [%rd4], %r2;"] {
            let reads = guard_all(&format!("{} {access}", by_index(load)));
            assert!(reads.text.contains(&format!("{load} ")), "{load}: {}", reads.text);
        }
    }
    // Strong loads are strong already, and a value that no address depends on may be a weak one.
    let load = by_index("ld.volatile.global.u32");
    let strong = guard_all(&format!("{load} ld.global.u32 %r2, [%rd4]; st.global.u32 [%rd1], %r2;"));
    assert!(strong.text.contains("ld.volatile.global.u32") && !strong.text.contains("relaxed"));
    let value = guard_all(
        "ld.param.u64 %rd1, [a]; ld.global.nc.v2.u32 {%r1, %r2}, [%rd1]; st.global.u32 [%rd1+8], %r1;",
    );
    assert!(value.text.contains("ld.global.v2.u32"), "{}", value.text);
}

#[test]
fn accesses_of_one_address_share_a_check() {
    let load = "ld.param.u64 %rd1, [a]; ld.global.u32 %r1, [%rd1+8]; ld.global.u32 %r2, [%rd1+4];";
    let one = guard_all(&format!("{load} ld.global.u32 %r3, [%rd1+16];"));
    assert_eq!((one.sites.len(), one.sites[0].span), (1, 16));
    // A change of the address, a label, a jump, another predicate and another alignment begin another check.
    for between in ["add.s64 %rd1, %rd1, 4;", "next:", "@%p1 ret;"] {
        let two = guard_all(&format!("{load} {between} ld.global.u32 %r3, [%rd1+16];"));
        assert_eq!(two.sites.len(), 2, "{between}: {}", two.text);
    }
    let two = guard_all(&format!("{load} @%p1 ld.global.u32 %r3, [%rd1+16];"));
    assert_eq!(two.sites.len(), 2);
    let two = guard_all(&format!("{load} ld.global.u64 %rd3, [%rd1+16];"));
    assert_eq!(two.sites.len(), 2);
    // More than the page of zeros.
    let two = guard_all(&format!("{load} ld.global.u32 %r3, [%rd1+4100];"));
    assert_eq!(two.sites.len(), 2);
}

#[test]
fn a_collective_load_has_a_replaced_address_and_no_predicate() {
    let guarded = guard_all(
        ".shared .align 4 .b8 tile[64]; mov.u32 %r1, tile; mov.u32 %r2, %tid.x; \
         mad.lo.u32 %r1, %r2, 16, %r1; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r1];",
    );
    assert!(guarded.text.contains("\nldmatrix"), "{}", guarded.text);
    // What is read instead is aligned.
    assert!(guarded.text.contains(".shared .align 16 .b8 $v0[64]"), "{}", guarded.text);
}

#[test]
fn the_memory_of_an_address_is_that_of_its_pointer() {
    let regions = |body: &str| guard_all(body).sites[0].regions.clone();
    let first = Region::Argument { parameter: 0, offset: 0 };
    let second = Region::Argument { parameter: 1, offset: 0 };
    let load = "ld.global.u32 %r1, [%rd3];";
    let both = "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];";
    assert_eq!(regions(&format!("{both} cvta.to.global.u64 %rd3, %rd2; {load}")), [second]);
    assert_eq!(regions(&format!("{both} mad.wide.u32 %rd3, %r1, 4, %rd1; {load}")), [first]);
    assert_eq!(regions(&format!("{both} selp.b64 %rd3, %rd1, %rd2, %p1; {load}")), [first, second]);
    // The base is lost.
    let lost = ".shared .b64 kept; st.shared.u64 [kept], %rd1; ld.shared.u64 %rd3, [kept];";
    assert_eq!(regions(&format!("{both} {lost} {load}")), [first, second]);
    // A pointer in a structure.
    let inside = Region::Argument { parameter: 2, offset: 8 };
    assert_eq!(regions(&format!("ld.param.v2.u64 {{%rd1, %rd3}}, [s]; {load}")), [inside]);
    // A lost store may not go to what is only read: it has limits of its own.
    let stores = guard_all(&format!("{both} {lost} {load} st.global.u32 [%rd3], %r2;"));
    assert_eq!(stores.limits.iter().filter(|it| it.writes).count(), 2);
    assert_eq!(stores.limits.len(), 4);
}

#[test]
fn a_limit_covers_short_and_misaligned_memory() {
    let guarded = guard_all("ld.param.u64 %rd1, [a]; ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];");
    let limit = &guarded.limits[0];
    let of = |address, bytes| limit.value(address, bytes);
    assert_eq!((limit.span, limit.align), (16, 16));
    assert_eq!([of(4096, 0), of(4096, 15), of(4096, 16), of(4096, 17)], [0, 0, 1, 2]);
    assert_eq!([of(4104, 4096), of(4096, u64::MAX)], [0, u64::MAX - 15]);
}
