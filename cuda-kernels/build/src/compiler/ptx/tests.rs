//! Tests of what a kernel does with the memory that its pointers lead to.

use std::path::{Path, PathBuf};

use super::*;

/// Returns the uses of `in`, `out` and of a third pointer by a kernel with these instructions. `%in`,
/// `%out` and `%other` have the addresses, `%i` an index.
fn uses(instructions: &str) -> [Use; 3] {
    let text = format!(
        ".version 9.0
        .target sm_90
        .address_size 64
        .global .align 4 .u32 counter;
        .const .align 8 .u64 table[2] = {{0, 0}};
        .shared .align 16 .b8 tile[1024];
        .extern .func (.param .b32 result) vprintf (.param .b64 a, .param .b64 b);
        .visible .entry kernel(
            .param .u64 .ptr .align 1 kernel_param_0, .param .u64 kernel_param_1,
            .param .u64 kernel_param_2, .param .u32 kernel_param_3
        )
        .maxntid 256, 1, 1
        {{
            .reg .b64 \t%rd<9>;
            .local .align 8 .b8 \t__local_depot0[16];
            .loc 1 5 3
            ld.param.u64 %in, [kernel_param_0];
            ld.param.u64 %out, [kernel_param_1];
            ld.param.u64 %other, [kernel_param_2];
            ld.param.u32 %n, [kernel_param_3];
            mad.lo.s32 %r0, %ctaid.x, %ntid.x, %n;
            mul.wide.s32 %i, %r0, 4;
            {instructions}
            ret;
        }}"
    );
    let mut found = Uses::new();
    add(&mut found, &text);
    let [a, b, c, _] = found["kernel"][..] else { panic!("four parameters: {found:?}") };
    [a, b, c]
}

use Use::{Read, Unsure, Written};

const COPY: &str = "cvta.to.global.u64 %rd1, %in; add.s64 %rd2, %rd1, %i; ld.global.f32 %f1, [%rd2];
    cvta.to.global.u64 %rd3, %out; add.s64 %rd4, %rd3, %i; st.global.f32 [%rd4+4], %f1;";

#[test]
fn a_store_writes_the_parameter_of_its_address_and_a_load_reads() {
    assert_eq!(uses(COPY), [Read, Written, Read]);
    assert_eq!(uses(""), [Read; 3]);
    let guarded = "setp.ge.s32 %p1, %r0, 5; @%p1 bra $L__BB0_1;
        st.volatile.global.u32 [%in], 1;
        $L__BB0_1:
        @!%p1 red.global.add.u32 [%out], 1; /* st.global.u32 [%other], 1; */ // st.u32 [%other], 1;";
    assert_eq!(uses(guarded), [Written, Written, Read]);
}

#[test]
fn every_way_to_write_counts() {
    for write in [
        "st.u32 [%in], 1;",
        "st.global.v4.f32 [%in+16], {%f1, %f2, %f3, %f4};",
        "st.release.gpu.global.u64 [%in], 5;",
        "red.global.add.u32 [%in], 1;",
        "atom.global.cas.b32 %r1, [%in], %r2, %r3;",
        "atom.global.exch.b64 %rd1, [%in], 0;",
        "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%in], {%f1, %f2}, 16;",
    ] {
        assert_eq!(uses(write), [Written, Read, Read], "{write}");
    }
    for doubt in [
        // Not known here, with an address in brackets: it might write anything.
        "cp.async.bulk.global.shared::cta.bulk_group [%in], [%r1], 16;",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%in], [%r1], 16;",
        "multimem.red.global.add.u32 [%in], 1;",
        "discard.global.L2 [%in], 128;",
        "st.async.weak.shared::cluster.u32 [%r1], %r2, [%in];",
        "instruction.of.tomorrow [%in];",
    ] {
        assert_eq!(uses(doubt), [Unsure; 3], "{doubt}");
    }
}

#[test]
fn an_address_is_followed_whichever_way_it_is_computed() {
    for path in [
        "mov.u64 %rd1, %in;",
        "mov.b64 %rd1, %in;",
        "cvta.to.global.u64 %rd1, %in;",
        "cvta.global.u64 %rd1, %in;",
        "add.s64 %rd1, %i, %in;",
        "sub.s64 %rd1, %in, 8;",
        "mad.lo.s64 %rd1, %i, 12, %in;",
        "mad.wide.s32 %rd1, %r0, 12, %in;",
        "and.b64 %rd1, %in, -16;",
        "or.b64 %rd1, %in, 4;",
        "max.u64 %rd1, %in, 0;",
        "cvt.u64.u64 %rd1, %in;",
        "@%p1 mov.u64 %rd1, %in;",
        "mov.b64 {%r1, %r2}, %in; mov.b64 %rd1, {%r1, %r2};",
        "mov.b64 {%r1, %r2}, %in; shfl.sync.idx.b32 %r3|%p1, %r1, 0, 31, -1; mov.b64 %rd1, {%r3, %r2};",
        "cvt.u32.u64 %r1, %in; cvt.u64.u32 %rd1, %r1;",
        "shr.u64 %rd2, %in, 32; shl.b64 %rd1, %rd2, 32;",
        "not.b64 %rd2, %in; not.b64 %rd1, %rd2;",
        "{ .reg .u64 t; mov.u64 t, %in; add.u64 %rd1, t, 4; }",
        "{ .reg .u64 t<3>; mov.u64 t2, %in; mov.u64 %rd1, t2; }",
        "$L__BB0_1:\n mov.u64 %rd1, %rd2; mov.u64 %rd2, %rd3; mov.u64 %rd3, %in; bra.uni $L__BB0_1;",
    ] {
        let [found, ..] = uses(&format!("{path} st.global.u32 [%rd1], 1;"));
        assert_ne!(found, Read, "{path}");
        // The same address, only read.
        assert_eq!(uses(&format!("{path} ld.global.u32 %r9, [%rd1];")), [Read; 3], "{path}");
    }
}

#[test]
fn a_choice_of_addresses_is_every_one_of_them() {
    for choice in [
        "selp.b64 %rd1, %in, %out, %p1;",
        "slct.u64.s32 %rd1, %in, %out, %r0;",
        "mov.u64 %rd1, %in; @%p1 mov.u64 %rd1, %out;",
        "sub.s64 %rd2, %in, %out; add.s64 %rd1, %rd2, %out;",
        "xor.b64 %rd1, %in, %out;",
    ] {
        assert_eq!(uses(&format!("{choice} st.global.u32 [%rd1], 1;")), [Unsure, Unsure, Read], "{choice}");
    }
}

#[test]
fn an_address_that_leaves_the_registers_counts_as_written() {
    for escape in [
        "st.global.u64 [%out], %in;",
        "st.shared.u64 [%r1], %in;",
        "st.local.u64 [%SP], %in;",
        "st.global.v2.u64 [%out], {%i, %in};",
        "mov.b64 {%r1, %r2}, %in; st.local.u32 [%SP], %r1;",
        "atom.global.exch.b64 %rd1, [%out], %in;",
        "red.global.add.u64 [%out], %in;",
        "{ .param .b64 param0; st.param.b64 [param0], %in; call.uni (retval0), vprintf, (param0); }",
        "call.uni free, (%in);",
        "mov.u64 %rd1, kernel_param_0;",
        "createpolicy.range.global.b64 %rd1, %in;",
        "prefetch.tensormap [kernel_param_0];",
        "mbarrier.init.shared.b64 [%in], 1;",
        "sust.b.1d.b32.trap [%rd1, {%r1}], {%in};",
    ] {
        assert_ne!(uses(escape)[0], Read, "{escape}");
    }
}

#[test]
fn a_call_of_a_function_counts_as_a_write_of_everything() {
    for call in [
        "call.uni function, (param0);",
        "call (retval0), function, (param0, param1);",
        "call.uni function;",
        "call (retval0), %rd1, (param0), prototype_0;",
        "{ prototype_0 : .callprototype (.param .b32 _) _ (.param .b64 _);
         call (r), %rd1, (p), prototype_0; }",
    ] {
        assert_eq!(uses(call), [Unsure; 3], "{call}");
    }
    let printed =
        "{ .param .b64 param0; st.param.b64 [param0], %rd1; .param .b32 retval0; call.uni (retval0),
        vprintf, (param0, param1); ld.param.b32 %r1, [retval0]; }";
    assert_eq!(uses(printed), [Read; 3]);
}

#[test]
fn a_function_that_only_reads_may_be_called() {
    let kernel = ".visible .entry kernel(.param .u64 p){ ld.param.u64 %rd1, [p]; ld.f64 %fd1, [%rd1];
        { .param .b64 param0; st.param.f64 [param0], %fd1; .param .b64 retval0;
        call.uni (retval0), f, (param0);
        ld.param.f64 %fd2, [retval0]; } ret; }";
    let with = |body: &str| {
        let mut uses = Uses::new();
        let f = ".func (.param .b64 func_retval0) f(.param .b64 f_param_0)\n";
        add(&mut uses, &format!("{f};\n{kernel}\n{f}{{ ld.param.f64 %fd1, [f_param_0]; {body} ret; }}"));
        uses["kernel"][0]
    };
    assert_eq!(with("add.f64 %fd2, %fd1, %fd1; st.param.f64 [func_retval0+0], %fd2;"), Read);
    assert_eq!(
        with(
            ".local .b8 __local_depot1[8]; mov.u64 %SPL, __local_depot1; cvta.local.u64 %SP, %SPL; \
             st.f64 [%SP], 0d0000000000000000;"
        ),
        Read
    );
    assert_eq!(with("st.local.f64 [%SP], %fd1;"), Read);
    assert_eq!(with("mov.b64 %rd1, %fd1; st.u32 [%rd1], 1;"), Unsure);
    assert_eq!(with("ld.global.u64 %rd1, [table]; st.u32 [%rd1], 1;"), Unsure);
    assert_eq!(with("call.uni g, ();"), Unsure);
    assert_eq!(with("call.uni f, ();"), Unsure, "recursion");
}

#[test]
fn a_function_of_the_program_with_the_name_of_a_known_one_is_not_that() {
    let kernel = ".visible .entry kernel(.param .u64 p){ call.uni vprintf, (param0); ret; }";
    let mut uses = Uses::new();
    add(&mut uses, &format!(".extern .func (.param .b32 r) vprintf (.param .b64 a);\n{kernel}"));
    assert_eq!(uses["kernel"], [Read]);
    add(&mut uses, &format!(".func (.param .b32 r) vprintf (.param .b64 a) {{ call.uni g, (); }}\n{kernel}"));
    assert_eq!(uses["kernel"], [Unsure]);
}

#[test]
fn a_store_through_an_address_from_memory_may_write_anything() {
    for load in [
        "ld.global.u64 %rd1, [%in];",
        "ld.global.v2.u64 {%rd1, %rd2}, [%in];",
        "ld.const.u64 %rd1, [table];",
        "ld.shared.u64 %rd1, [%r1];",
        "ld.local.u64 %rd1, [%SP];",
        "atom.global.exch.b64 %rd1, [%other], 0;",
        "ld.param.b64 %rd1, [retval0+0];",
        "mov.u64 %rd2, structure; ld.param.u64 %rd1, [%rd2];",
        "ld.global.v2.u32 {%r1, %r2}, [%in]; mov.b64 %rd1, {%r1, %r2};",
        "ld.global.u32 %r1, [%in]; cvt.u64.u32 %rd2, %r1; shl.b64 %rd3, %rd2, 32; or.b64 %rd1, %rd3, %i;",
        "ld.global.u8 %r1, [%in]; cvt.u64.u32 %rd2, %r1; ld.global.u8 %r2, [%in+1]; \
         cvt.u64.u32 %rd3, %r2; or.b64 %rd1, %rd2, %rd3;",
        "ld.global.u32 %r1, [%in]; cvt.u64.u32 %rd2, %r1; mul.lo.s64 %rd1, %rd2, 4294967296;",
        "ld.global.u32 %r1, [%in]; cvt.u64.u32 %rd2, %r1; bfi.b64 %rd1, %rd2, %rd2, 32, 32;",
        "ld.global.f64 %fd1, [%in]; mov.b64 %rd1, %fd1;",
        "ld.global.b128 %rq1, [%in]; mov.b128 {%rd1, %rd2}, %rq1;",
        "mov.u64 %rd1, 4096;",
        "cvt.u64.u32 %rd1, %r0;",
        "mbarrier.arrive.shared.b64 %rd1, [%r1];",
        "instruction.of.tomorrow %rd1;",
    ] {
        let found = uses(&format!("{load} add.s64 %rd5, %rd1, 4; st.global.u32 [%rd5], 1;"));
        assert!(found.iter().all(|used| *used != Read), "{load}: {found:?}");
        // With another address for an index it is no better.
        let found = uses(&format!("{load} add.s64 %rd5, %rd1, %out; st.global.u32 [%rd5], 1;"));
        let no_origin = load.starts_with("mov.u64 %rd1, 4096") || load.starts_with("cvt.u64.u32 %rd1, %r0");
        assert!(found.iter().all(|used| *used != Read) != no_origin, "{load}: {found:?}");
    }
}

#[test]
fn an_index_from_memory_is_no_address() {
    for index in [
        "mul.wide.s32 %rd1, %r1, 4;",
        "mul.wide.u32 %rd1, %r1, %r0;",
        "cvt.s64.s32 %rd2, %r1; shl.b64 %rd1, %rd2, 3;",
        "cvt.s64.s32 %rd2, %r1; mad.lo.s64 %rd1, %rd2, 12, %i;",
        "mad.wide.s32 %rd1, %r1, 4, %i;",
    ] {
        let all = format!(
            "ld.global.u32 %r1, [%in]; {index} add.s64 %rd5, %out, %rd1; red.global.add.u32 [%rd5], 1;"
        );
        assert_eq!(uses(&all), [Read, Written, Read], "{index}");
    }
}

#[test]
fn a_short_number_from_memory_may_be_an_address_beside_others() {
    for choice in [
        "mov.u64 %rd1, %out; @%p1 mul.wide.u32 %rd1, %r1, 4096;",
        "mul.wide.u32 %rd2, %r1, 256; selp.b64 %rd1, %rd2, %out, %p1;",
        "mul.wide.u32 %rd2, %r1, 256; selp.b64 %rd1, %rd2, counter, %p1;",
        "cvt.u64.u32 %rd2, %r1; shl.b64 %rd3, %rd2, 16; shl.b64 %rd4, %rd3, 16; \
         max.u64 %rd1, %rd4, %out;",
        "mul.wide.u32 %rd2, %r1, 256; selp.b64 %rd3, %rd2, %out, %p1; add.s64 %rd1, %rd3, %i;",
        "mul.wide.u32 %rd2, %r1, 256; add.s64 %rd1, %rd2, WARP_SZ;",
    ] {
        let found = uses(&format!("ld.global.u32 %r1, [%other]; {choice} st.global.u32 [%rd1], 1;"));
        assert!(found.iter().all(|used| *used != Read), "{choice}: {found:?}");
    }
}

/// ptxas accepts all of these.
#[test]
fn a_store_counts_however_a_person_writes_it() {
    for store in [
        // Without a space, or behind a declaration, on one line.
        "st.global.u64[%in],%out;",
        "st.global.v2.u32[%in],{%r1, %r2};",
        "red.global.add.u64[%in], %out;",
        "{ .local .b32 x; st.global.u32 [%in], 1; }",
        ".loc 1 5 3 st.global.u32 [%in], 1;",
        ".loc 1 5 3 mov.u64 %out, %in; st.global.u32 [%out], 1;",
        // Signs in strings.
        ".pragma \"//\"; st.global.u32 [%in], 1;",
        ".pragma \"/*\"; st.global.u32 [%in], 1; /* */",
        ".pragma \";}\"; st.global.u32 [%in], 1;",
        "/*/ // */ st.global.u32 [%in], 1;",
        // A vector of registers.
        "{ .reg .v2 .b64 V; mov.b64 V.x, %in; mov.b64 %rd1, V.x; st.global.u32 [%rd1], 1; }",
        "{ .reg .v2 .b64 V; ld.global.v2.b64 V, [%other]; mov.b64 %rd1, V.y; st.global.u32 [%rd1], 1; }",
        // By the name of another parameter.
        "ld.param.u64 %rd1, [kernel_param_3+-24]; st.global.u32 [%rd1], 1;",
        "ld.param.u64 %rd1, [kernel_param_2+8]; st.global.u32 [%rd1], 1;",
        "ld.param.v2.u64 {%rd2, %rd1}, [kernel_param_2]; st.global.u32 [%rd1], 1;",
        "{ .param .b64 kernel_param_2; call (kernel_param_2), f, (); ld.param.u64 %rd1, \
         [kernel_param_2]; }
         st.global.u32 [%rd1], 1;",
    ] {
        assert_ne!(uses(store)[0], Read, "{store}");
    }
    let inlined = ".loc 1 5 3, function_name $L__info_string0, inlined_at 1 7 3\n";
    assert_eq!(uses(&format!("{inlined} st.global.u32 [%in], 1;")), [Written, Read, Read]);
}

/// ptxas of CUDA 13.0 takes most of these.
#[test]
fn a_write_in_inline_assembly_is_found_or_doubted() {
    let mut wrong = Vec::new();
    let hidden = "{ .reg .b64 t; mov.b64 t, %in; st.global.u32 [t], 1; }";
    let declared =
        |before: &str| format!("{{ {before} .reg .b64 t; mov.b64 t, %in; st.global.u32 [t], 1; }}");
    for (text, expected) in [
        // A declaration behind something else.
        (declared(".loc 1 1 1"), Written),
        (declared(".loc 1 1 1\n"), Written),
        (declared(".loc 1 1 1, function_name $L__info_string0+5, inlined_at 1 2 3"), Written),
        (declared(".loc 1 1 1 L:"), Written),
        (declared(".loc 1 1 1 L: M: {") + "}", Written),
        (declared(".file 7 \"x\""), Written),
        (declared(".file 7 \"x\", 12, 34"), Written),
        (declared("L:"), Written),
        (declared("L: M: N:"), Written),
        (declared("; ;;"), Written),
        (declared(".pragma \"nounroll\" ;"), Written),
        (declared("\n# 1 \"x\"\n"), Written),
        (declared("\n  # 12 \"x;\" 3\n"), Written),
        (format!("{{ .loc 1 1 1 {hidden} }}"), Written),
        (format!("{{ L: {hidden} }}"), Written),
        (format!("{{ {{ {hidden} }} {{ .shared .b64 w; st.shared.b64 [w], %i; }} }}"), Written),
        // Lines and directives that are not known.
        (declared("\n#line 1\n"), Unsure),
        (declared("\n#define x y\n"), Unsure),
        (declared("\n# 1 \"x\" .reg .b64 u;\n"), Unsure),
        (declared(".directive.of.tomorrow x;"), Unsure),
        (declared(".shared .b64 s {"), Unsure),
        ("mov.b64 .reg .b64 t, %in; st.global.u32 [%in], 1;".to_owned(), Unsure),
        (".pragma \"a\\\"\"; st.global.u32 [%in], 1; .pragma \"b\\\"\";".to_owned(), Unsure),
        // Spaces and comments.
        ("{ .reg\t.b64\tt\n,\tu; mov.b64 t, %in; mov.b64 u, t; st.u32 [u], 1; }".to_owned(), Written),
        ("{ .reg .b64 t\u{c},\u{c}u; mov.b64 u, %in; st.u32 [u], 1; }".to_owned(), Written),
        ("{ .reg .b64\rt; mov.b64 t, %in; st.u32 [t], 1; }".to_owned(), Written),
        // ptxas refuses this sign.
        ("{ .reg .b64\u{b}t; mov.b64 t, %in; st.u32 [t], 1; }".to_owned(), Unsure),
        ("st .global .u32 [%in], 1;".to_owned(), Written),
        ("st\n.global\t.u32\n[%in],1;".to_owned(), Written),
        ("st/*x*/.global.u32 [%in], 1;".to_owned(), Written),
        ("st. global.u32 [%in], 1;".to_owned(), Unsure),
        ("{ .reg .b64 t; mov.b64/* ; */ t,%in;//;\n st.u32 [t],1; }".to_owned(), Written),
        ("setp.eq.u32 %p1, 0, 0; @%p1\nst.u32 [%in], 1;".to_owned(), Written),
        ("@!%p1 st.u32 [%in], 1;".to_owned(), Written),
        ("@ %p1 st.u32 [%in], 1;".to_owned(), Written),
        ("@%p1;".to_owned(), Unsure),
        // Forms of declarations.
        ("{ .reg.b64 t; mov.b64 t, %in; st.u32 [t], 1; }".to_owned(), Written),
        ("{ .reg .align 8 .b64 t; mov.b64 t, %in; st.u32 [t], 1; }".to_owned(), Written),
        ("{ .reg .b64 t<5>, u; mov.b64 t3, %in; mov.b64 u, t3; st.u32 [u],1; }".to_owned(), Written),
        ("{ .reg .b64 t1<2>; mov.b64 t10, %in; st.u32 [t10], 1; }".to_owned(), Written),
        (
            "{ .reg .b64 $t, _t, %t; mov.b64 $t, %in; mov.b64 _t, $t; mov.b64 %t, _t; \
             st.u32 [%t],1; }".to_owned(),
            Written,
        ),
        ("{ .reg .b64 WARP_SZX; mov.b64 WARP_SZX, %in; st.u32 [WARP_SZX], 1; }".to_owned(), Written),
        // The register of the braces has the address of another parameter.
        ("{ .reg .b64 %in; mov.b64 %in, %out; st.u32 [%in], 1; }".to_owned(), Read),
        ("{ .reg .b64 counter; mov.b64 counter, %in; st.u32 [counter], 1; }".to_owned(), Written),
        (
            "{ .reg .v2 .b32 v; .reg .b64 u; mov.b64 {v.x, v.y}, %in; mov.b64 u, {v.x, v.y}; st.u32 [u], 1; }"
                .to_owned(),
            Written,
        ),
        ("mov.b64 {t, u}, {%in, %in}; st.u32 [u], 1;".to_owned(), Written),
        // No declaration at all.
        ("mov.b64 t, %in; st.u32 [t], 1;".to_owned(), Written),
        ("ld.param.u64 t, [kernel_param_0]; st.u32 [t], 1;".to_owned(), Written),
        ("mov.b64 %rd1, t; st.u32 [%rd1], 1;".to_owned(), Unsure),
        ("st.u32 [t], 1;".to_owned(), Unsure),
        ("instruction.of.tomorrow t, %other; st.u32 [t], 1;".to_owned(), Unsure),
        // Parameters.
        ("{ .reg .b32 a, b; ld.param.u32 a, [kernel_param_0]; ld.param.u32 b, [kernel_param_0+4];
            mov.b64 %rd1, {a, b}; st.u32 [%rd1], 1; }".to_owned(), Written),
        ("{ .reg .b32 a, b; ld.param.v2.u32 {a, b}, [kernel_param_0]; mov.b64 %rd1, {a, b};
            st.u32 [%rd1],1; }".to_owned(), Written),
        ("ld .param .u64 %rd1, [kernel_param_0]; st.u32 [%rd1], 1;".to_owned(), Written),
        ("{ .loc 1 1 1 .param .b64 kernel_param_0; ld.param.u64 %rd1, [kernel_param_0];
            st.u32 [%rd1], 1; }".to_owned(), Unsure),
        ("{ .reg .b64 kernel_param_1; mov.b64 kernel_param_1, kernel_param_0;
            ld.param.u64 %rd1, [kernel_param_1]; st.u32 [%rd1], 1; }".to_owned(), Unsure),
        ("mov.b64 %rd1, kernel_param_1; cvta.param.u64 %rd1, %rd1; ld.u64 %rd2, [%rd1+-8];
            st.u32 [%rd2], 1;".to_owned(), Unsure),
        // Addresses in parts, and beside others.
        ("mov.b64 {%h1, %h2, %h3, %h4}, %in; mov.b64 %rd1, {%h1, %h2, %h3, %h4};
            st.u32 [%rd1],1;".to_owned(), Written),
        ("mov.b128 %q, {%i, %in}; atom.global.b128.exch %q2, [%out], %q;".to_owned(), Unsure),
        ("add.cc.u64 %rd1, %in, %in; addc.u64 %rd2, 0, 0; st.u32 [%rd1], %rd2;".to_owned(), Written),
        ("sub.u64 %rd1, %in, %out; add.u64 %rd1, %rd1, %out; st.u32 [%rd1], 1;".to_owned(), Unsure),
        // From memory, and then like an index.
        ("ld .global .u64 %rd1, [%other]; add.u64 %rd1, %rd1, %out; sub.u64 %rd1, %rd1, %out;
            st.u32 [%rd1], 1;".to_owned(), Unsure),
        ("ld.global.b64 %rd1, [%other]; add.f32x2 %rd2, %rd1, %z; add.u64 %rd3, %rd2, %out;
            st.u32 [%rd3], 1;".to_owned(), Unsure),
        ("ld.global.u64 %rd1, [%other]; mov.b64 {%rd2, %rd3}, {%rd1, %rd1};
            add.u64 %rd4, %rd3, %out; st.u32 [%rd4], 1;".to_owned(), Unsure),
        // Ways to write.
        ("{ .reg .u32 t; atom.add.u32 t, [%in], 1; }".to_owned(), Written),
        ("atom.global.exch.b32 _, [%in], 1;".to_owned(), Written),
        ("red.add.u32 [%in+4], 1;".to_owned(), Written),
        ("st.global.v4.u32 [%in], {1,2,3,4};".to_owned(), Written),
        ("fence.proxy.tensormap::generic.acquire.gpu [%in], 128;".to_owned(), Unsure),
        ("applypriority.global.L2::evict_normal [%in], 128;".to_owned(), Unsure),
        ("st.shared.u64 [tile], %in; ld.shared.u64 %rd1, [tile]; st.u32 [%rd1], 1;".to_owned(), Unsure),
        // A call through a register that has the name of a harmless function.
        ("{ .reg .b64 vprintf; mov.b64 vprintf, %i; prototype : .callprototype _ (.param .b32 _);
            call vprintf, (%r0), prototype; }".to_owned(), Unsure),
        // Not writes.
        ("{ .reg .b64 t; .loc 1 1 1 mov.b64 t, %in; ld.u32 %r1, [t]; }".to_owned(), Read),
        ("{ .shared .b64 s; st.shared.u64 [s], %i; L: ld.shared.u64 %rd1, [s]; }".to_owned(), Read),
        ("\n# 1 \"x\"\nld.global.u32 %r1, [%in];".to_owned(), Read),
        ("mov.u64 %rd1, tile; cvta.shared.u64 %rd1, %rd1; st.u32 [%rd1], 1;".to_owned(), Read),
        ("add.f32x2 %rd1, %rd2, %rd3; ld.global.f64 %fd1, [%in];".to_owned(), Read),
    ] {
        let found = uses(&text)[0];
        if found != expected {
            wrong.push(format!("{text}: {found:?}, not {expected:?}"));
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn only_names_that_the_file_declares_are_known() {
    let kernel = |before: &str, body: &str| {
        let mut uses = Uses::new();
        add(&mut uses, &format!("{before} .visible .entry k(.param .u64 p) {{ {body} ret; }}"));
        uses["k"][0]
    };
    for declaration in [
        ".version 9.0 .target sm_90 .address_size 64 .visible .global .align 4 .u32 x;",
        ".extern .shared .align 16 .b8 x[];",
        ".const .align 8 .b8 x[16] = {1, 2, 3};",
        ".global .attribute(.managed) .align 4 .u32 x = 5;",
        ".func f(.param .b64 a) { ret; } .weak .global .u64 x;",
    ] {
        assert_eq!(kernel(declaration, "st.global.u32 [x], 1;"), Read, "{declaration}");
        assert_eq!(kernel(declaration, "st.global.u32 [y], 1;"), Unsure, "{declaration}");
    }
    for other in [
        ".func f(.param .u64 .ptr .global .align 1 x) { ret; }",
        ".func f() { .reg .b64 x; ret; }",
        ".func f() { .local .b64 x; ret; }",
        ".visible .entry x2(.param .u64 x) { ret; }",
    ] {
        assert_eq!(kernel(other, "st.global.u32 [x], 1;"), Unsure, "{other}");
    }
    // Another function may have the name of a harmless one.
    let printed = ".extern .func malloc;";
    assert_eq!(kernel(printed, "call malloc;"), Read);
    assert_eq!(kernel(&format!("{printed} .func f() {{ ret; }} .alias malloc, f;"), "call malloc;"), Unsure);
}

#[test]
fn memory_that_is_not_global_is_none_of_the_parameters() {
    for store in [
        "st.shared.f32 [%r1], %f1;",
        "mov.u64 %rd1, tile; cvta.shared.u64 %rd2, %rd1; st.u32 [%rd2], 1;",
        "mov.u64 %SPL, __local_depot0; cvta.local.u64 %SP, %SPL; add.u64 %rd1, %SP, 8; st.u64 [%rd1], 7;",
        "st.global.u32 [counter], 1;",
        "cp.async.ca.shared.global [%r1], [%in], 16; cp.async.commit_group; cp.async.wait_group 0;",
        "prefetch.global.L2 [%in];",
        "ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%in]; \
         mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1, %f2}, {%f3}, {%f4}, {%f5};",
        "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}];",
        "setp.eq.s64 %p1, %in, %out; selp.b32 %r1, 1, 0, %p1; st.global.u32 [counter], %r1;",
    ] {
        assert_eq!(uses(store), [Read; 3], "{store}");
    }
}

#[test]
fn all_architectures_must_agree() {
    let kernel =
        |body: &str| format!(".visible .entry k(.param .u64 p){{ ld.param.u64 %rd1, [p]; {body} ret; }}");
    let mut uses = Uses::new();
    add(&mut uses, &kernel("ld.global.u32 %r1, [%rd1];"));
    assert_eq!(uses["k"], [Read]);
    add(&mut uses, &kernel("st.global.u32 [%rd1], 1;"));
    assert_eq!(uses["k"], [Written]);
    add(&mut uses, &kernel(""));
    assert_eq!(uses["k"], [Written]);
    // Another kernel of the same name: nothing is known.
    add(&mut uses, ".entry k(.param .u64 p, .param .u64 q) { ret; }");
    assert!(uses["k"].is_empty());
}

/// Returns the uses in these sources, as nvcc compiles them.
fn compiled(sources: &[PathBuf], flags: &[&str]) -> Uses {
    let toolkit = crate::compiler::toolkit::find(&cuda_sys_build::Env::from_process()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let [ptx, all] = ["kernels.ptx", "all.cu"].map(|name| folder.path().join(name));
    // As one source: nvcc then reads the toolkit's headers once.
    let include = |source: &PathBuf| format!("#include \"{}\"\n", source.display());
    std::fs::write(&all, sources.iter().map(include).collect::<String>()).unwrap();
    let mut nvcc = std::process::Command::new(&toolkit.nvcc);
    nvcc.args(["--ptx", "-std=c++17", "-o"]).args([&ptx, &all]).args(flags);
    assert!(nvcc.status().unwrap().success(), "{sources:?}");
    let mut found = Uses::new();
    add(&mut found, &std::fs::read_to_string(&ptx).unwrap());
    found
}

#[test]
fn real_kernels_that_write_are_found_out_and_those_that_read_are_recognised() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/escapes.cu");
    for flags in [&["-arch=compute_75"][..], &["-arch=compute_90"], &["-arch=compute_90", "-G"]] {
        let found = compiled(std::slice::from_ref(&source), flags);
        assert_eq!(found.len(), 70, "{flags:?}");
        for (name, uses) in found {
            // Without optimisation most addresses are in memory, too.
            if !flags.contains(&"-G") || !name.starts_with("reads") {
                assert_eq!(uses[0] == Read, name.starts_with("reads"), "{name} {flags:?}: {uses:?}");
            }
        }
    }
}

/// The kernels beside this library, of tests and of examples: their prototypes say what is only read.
#[test]
fn what_the_prototypes_of_real_kernels_call_const_is_read_and_what_they_do_not_is_written() {
    let folders = ["../kernels", "../fixtures/kernels", "../../examples/kernels"]
        .map(|folder| Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).canonicalize().unwrap());
    let files = |end: &str| {
        let all = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
        let all = all.map(|entry| entry.unwrap().path());
        all.filter(|path| path.extension().is_some_and(|own| own == end)).collect::<Vec<_>>()
    };
    let found = compiled(&files("cu"), &["-arch=compute_90"]);
    let env = cuda_sys_build::Env::from_process();
    let mut arguments = cuda_sys_build::prepare_libclang(&env).unwrap();
    for include in crate::compiler::toolkit::find(&env).unwrap().includes {
        arguments.extend(["-isystem".to_owned(), include.display().to_string()]);
    }
    let bindings = crate::compiler::header::bind(&files("cuh"), &[], &arguments).unwrap();
    let (mut read, mut undeclared, mut unsure) = (0, Vec::new(), Vec::new());
    for item in syn::parse_file(&bindings.text).unwrap().items {
        let syn::Item::ForeignMod(block) = item else { continue };
        for kernel in
            crate::compiler::prototype::kernels(&block, &crate::compiler::layout::Layouts::default()).unwrap()
        {
            let uses = &found[&kernel.symbol];
            assert_eq!(uses.len(), kernel.parameters.len(), "{}", kernel.name);
            for (parameter, used) in kernel.parameters.iter().zip(uses) {
                let named = format!("{} {parameter}", kernel.name);
                match used {
                    Read if parameter.starts_with("*const ") => read += 1,
                    Read if parameter.starts_with("*mut ") => undeclared.push(named),
                    Unsure if parameter.starts_with('*') => unsure.push(named),
                    Written if parameter.starts_with("*mut ") => {}
                    _ => assert!(!parameter.starts_with('*'), "{}: {parameter}, {used:?}", kernel.name),
                }
            }
        }
    }
    // The first is there to show this, and the second waits for a flag.
    assert_eq!(undeclared, ["add_step *mut i32", "arguments_signs *mut u64"]);
    // The first adds to the shared memory of another block, by an address that is not known, and the
    // second stores to an address from memory.
    assert_eq!(unsure, ["cluster_histogram *const u32", "arguments_rows *const *const f32"]);
    assert!(read >= 40, "{read}");
}
