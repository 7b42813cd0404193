//! Text that looks like something else than what ptxas reads: each program is proven for what ptxas makes of
//! it, which the comments say, or refused.

use super::doubtful::{bytes, proven_as, refused};

#[test]
fn a_comment_ends_where_ptxas_ends_it() {
    // The guard is a comment.
    bytes("/*/ setp.ge.u32 %p1, %r1, %r2; @%p1 ret; /*/ mov.b32 %r10, %r1; STORE", 1024, 0);
    bytes("/**/ setp.ge.u32 %p1, %r1, %r2; @%p1 ret; /**/ mov.b32 %r10, %r1; STORE", 400, 0);
    bytes("/* // */ setp.ge.u32 %p1, %r1, %r2; @%p1 ret; // */ ret;\n mov.b32 %r10, %r1; STORE", 400, 0);
    bytes("/***/ mov.b32 %r10, 1; /* \" */ STORE /* \" */", 8, 0);
}

#[test]
fn a_declaration_hides_a_special_register() {
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
    bytes("{ .reg .b32 %laneid; mov.b32 %laneid, 5; mov.b32 %r10, %laneid; STORE }", 24, 0);
    // An address of the program's own choice is not the grid's barrier.
    let barrier = |registers: &str| {
        let body = format!(
            "{registers} mov.u32 %r6, %envreg1; mov.u32 %r7, %envreg2; cvt.u64.u32 %rd3, %r6; \
             cvt.u64.u32 %rd4, %r7; shl.b64 %rd5, %rd3, 32; or.b64 %rd6, %rd5, %rd4; \
             atom.add.release.gpu.u32 %r8, [%rd6+4], 1;"
        );
        proven_as(&body, "256 cooperative")
    };
    assert_eq!(barrier(""), Ok([0, 0]));
    barrier(".reg .b32 %envreg<3>; ld.global.v2.u32 {%envreg1, %envreg2}, [%rd2];").unwrap_err();
}
