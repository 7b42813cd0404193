//! Text that looks like something else than what ptxas reads: each program is proven for what ptxas makes of
//! it, which the comments say, or refused.

use super::filetests::{bytes, proven_within, refused};
use super::spec::Spec;
use crate::{Kernel, Verdict, kernels, prove};

#[test]
fn a_comment_ends_where_ptxas_ends_it() {
    // The guard is a comment.
    bytes("/*/ setp.ge.u32 %p1, %r1, %r2; @%p1 ret; /*/ mov.b32 %r10, %r1; STORE", 1024, 0);
    bytes("/**/ setp.ge.u32 %p1, %r1, %r2; @%p1 ret; /**/ mov.b32 %r10, %r1; STORE", 400, 0);
    bytes("/* // */ setp.ge.u32 %p1, %r1, %r2; @%p1 ret; // */ ret;\n mov.b32 %r10, %r1; STORE", 400, 0);
    bytes("/***/ mov.b32 %r10, 1; /* \" */ STORE /* \" */", 8, 0);
}

/// ptxas reads a declared `%laneid` in the block in which it is written, and the special one behind a branch.
/// It reads `%r1` for `%r4294967297`.
#[test]
fn a_register_that_ptxas_may_take_for_another_one_is_refused() {
    // Numbers from memory, from all of which the special register is far.
    for declared in [
        ".reg .b32 %laneid; ld.global.u32 %laneid, [%rd2]; mov.b32 %r10, %laneid; STORE",
        ".reg .b32 %laneid<1>; ld.global.u32 %laneid0, [%rd2]; mov.b32 %r10, %laneid0; STORE",
        ".reg .b32 %dynamic_smem_size; ld.global.u32 %dynamic_smem_size, [%rd2]; \
         mov.b32 %r10, %dynamic_smem_size; STORE",
        "{ .reg .b32 WARP_SZ; ld.global.u32 WARP_SZ, [%rd2]; mov.b32 %r10, WARP_SZ; STORE }",
    ] {
        refused(declared, "");
    }
    let long = ".reg .b32 %r4294967297; mov.b32 %r10, 7; ld.global.u32 %r1, [%rd2]; \
                mov.b32 %r4294967297, 3; mov.b32 %r10, %r4294967297; STORE";
    refused(long, "%r4294967297 is declared, and ptxas may read another register for it");
    let either = "%laneid is declared, and ptxas may read another register for it";
    refused("{ .reg .b32 %laneid; mov.b32 %laneid, 5; mov.b32 %r10, %laneid; STORE }", either);
    refused(
        ".reg .b32 %laneid; ld.global.u32 %laneid, [%rd2]; setp.ge.u32 %p1, %laneid, 10; @%p1 ret; \
         mov.b32 %r10, %laneid; STORE",
        either,
    );
    // An address of the program's own choice is not the grid's barrier.
    let barrier = |registers: &str| {
        let body = format!(
            "{registers} mov.u32 %r6, %envreg1; mov.u32 %r7, %envreg2; cvt.u64.u32 %rd3, %r6; \
             cvt.u64.u32 %rd4, %r7; shl.b64 %rd5, %rd3, 32; or.b64 %rd6, %rd5, %rd4; \
             atom.add.release.gpu.u32 %r8, [%rd6+4], 1;"
        );
        proven_within(&body, "256 cooperative", crate::BUDGET)
    };
    assert_eq!(barrier(""), Ok([0, 0]));
    barrier(".reg .b32 %envreg<3>; ld.global.v2.u32 {%envreg1, %envreg2}, [%rd2];").unwrap_err();
}

#[test]
fn a_floating_point_number_has_the_width_that_it_is_written_with() {
    // ptxas makes 1000000 of it, and its lower bits are zero.
    let million = "0d412E848000000000";
    for body in [
        "mov.f32 %f1, NUMBER; cvt.rzi.u32.f32 %r10, %f1; STORE",
        "mov.b32 %r6, 0; cvt.rn.f32.u32 %f2, %r6; max.f32 %f1, %f2, NUMBER; cvt.rzi.u32.f32 %r10, %f1; STORE",
        "mov.f32 %f2, 0f00000000; add.f32 %f1, %f2, NUMBER; cvt.rzi.u32.f32 %r10, %f1; STORE",
        "cvt.rzi.u32.f32 %r10, NUMBER; STORE",
        "setp.eq.u32 %p1, %r1, 0; selp.f32 %f1, NUMBER, 0f00000000, %p1; cvt.rzi.u32.f32 %r10, %f1; STORE",
        "st.local.f32 [stack], NUMBER; ld.local.u32 %r10, [stack]; STORE",
        "{ .param .b32 p; .param .b32 q; st.param.f32 [p], NUMBER; call (q), twice, (p); \
         ld.param.b32 %r10, [q]; } STORE",
    ] {
        refused(&body.replace("NUMBER", million), "");
    }
    // A number of 32 bits is that of its bits in 64 bits, which nvcc writes in full.
    refused("mov.f64 %fd1, 0f3F800000; cvt.rzi.u32.f64 %r10, %fd1; STORE", "of 32 bits where");
    // The bits of the largest number, with 64 bits, are those of nearly zero.
    let below_infinity = "ld.global.f32 %f1, [%rd2]; setp.ge.f32 %p1, %f1, LIMIT; @!%p1 ret; \
                          mov.b32 %r6, %f1; sub.u32 %r10, 0x7f800000, %r6; STORE";
    bytes(&below_infinity.replace("LIMIT", "0f7F7FFFFF"), 8, 4);
    refused(&below_infinity.replace("LIMIT", "0d000000007F7FFFFF"), "");
    // As nvcc writes them.
    bytes("mov.f32 %f1, 0f42C80000; cvt.rzi.u32.f32 %r10, %f1; STORE", 404, 0);
    bytes("mov.f64 %fd1, 0d4059000000000000; cvt.rzi.u32.f64 %r10, %fd1; STORE", 404, 0);
    for number in ["0f042C80000", "0f2C80000", "0d42C80000"] {
        let text = format!(
            ".version 8.0 .target sm_75 .address_size 64 .entry k() {{ .reg .f32 f; mov.f32 f, {number}; }}"
        );
        assert!(crate::kernels(&text).is_err_and(|error| error.message.contains(number)), "{number}");
    }
}

#[test]
fn promises_of_the_text_are_kept_or_the_launch_is_refused() {
    // That no thread of a warp goes another way.
    bytes("bra.uni $a; ret; $a: mov.b32 %r10, 1; STORE", 8, 0);
    for branch in ["@%p1 bra.uni $a;", "@!%p1 bra.uni $a;", "@%p1 ret.uni;", "brx.idx.uni %r5, $list;"] {
        let list = "$list: .branchtargets $a;";
        let body = format!("setp.gt.u32 %p1, %r5, 7; {list} {branch} $a: mov.b32 %r10, 1; STORE");
        refused(&body, "threads may go different ways");
    }
    // What a pointer is aligned to, and where it leads.
    let aligned = |promise: &str| {
        let text = format!(
            ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 {promise} x)\n{{\n\
             .reg .b64 %rd<3>;\nld.param.u64 %rd1, [x];\nst.global.u32 [%rd1+4], 0;\nret;\n}}\n"
        );
        let kernels = kernels(&text).map_err(|error| error.to_string())?;
        assert_eq!(Kernel::from_bytes(&kernels[0].to_bytes()).as_ref(), Ok(&kernels[0]));
        let (spec, _) = Spec::parse("k | 1 | 1 | p | 8", &kernels).expect("a launch");
        match spec.with(|launch| prove(&kernels[0], launch)) {
            Verdict::Proven(proof) => Ok(proof.needs()[0].align),
            Verdict::Refused(refusal) => Err(refusal.to_string()),
        }
    };
    assert_eq!(
        [aligned(""), aligned(".ptr .align 1"), aligned(".ptr .global .align 16")],
        [Ok(4), Ok(4), Ok(16)]
    );
    for (promise, words) in
        [(".ptr .shared .align 4", "no global memory"), (".ptr .align 12", "power of two")]
    {
        let refusal = aligned(promise).expect_err(promise);
        assert!(refusal.contains(words), "{refusal}");
    }
}
