//! Text that looks like something else than what ptxas reads: each program is proven for what ptxas makes of
//! it, which the comments say, or refused.

use super::doubtful::{bytes, refused};

#[test]
fn a_comment_ends_where_ptxas_ends_it() {
    // The guard is a comment.
    bytes("/*/ setp.ge.u32 %p1, %r1, %r2; @%p1 ret; /*/ mov.b32 %r10, %r1; STORE", 1024, 0);
    bytes("/**/ setp.ge.u32 %p1, %r1, %r2; @%p1 ret; /**/ mov.b32 %r10, %r1; STORE", 400, 0);
    bytes("/* // */ setp.ge.u32 %p1, %r1, %r2; @%p1 ret; // */ ret;\n mov.b32 %r10, %r1; STORE", 400, 0);
    bytes("/***/ mov.b32 %r10, 1; /* \" */ STORE /* \" */", 8, 0);
}
