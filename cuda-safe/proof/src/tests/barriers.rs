//! Programs that were written to fool the rules of barriers: that of a grid, and those in shared memory.

use super::doubtful::{bytes, proven_as, refused};

/// The address of the grid's workspace in `%rd22`, and of its barrier in `%rd23`.
const WORKSPACE: &str = "\
    mov.u32 %r20, %envreg2; cvt.u64.u32 %rd20, %r20; mov.u32 %r21, %envreg1; cvt.u64.u32 %rd21, %r21; \
    bfi.b64 %rd22, %rd21, %rd20, 32, 32; add.s64 %rd23, %rd22, 4;";
/// A block arrives, and waits for the others.
const WAIT: &str = "\
    atom.add.release.gpu.u32 %r22, [%rd23], 1; $w: ld.acquire.gpu.u32 %r23, [%rd23]; xor.b32 %r24, %r22, %r23; \
    setp.gt.s32 %p8, %r24, -1; @%p8 bra $w;";

#[track_caller]
fn fools(body: &str) {
    let found = proven_as(&format!("{WORKSPACE} {body}"), "256 cooperative");
    assert!(found.is_err(), "{found:?}: {body}");
}

#[test]
fn the_barrier_of_a_grid() {
    let store = "mul.wide.u32 %rd10, %r1, 4; add.s64 %rd11, %rd1, %rd10; st.global.u32 [%rd11], 0;";
    let barrier = format!("{WORKSPACE} {WAIT} {store}");
    assert_eq!(proven_as(&barrier, "256 cooperative"), Ok([1024, 0]));
    let from_zero = "setp.ne.s64 %p1, %rd22, 0; @%p1 bra $g; trap; $g:";
    assert_eq!(
        proven_as(&format!("{WORKSPACE} {from_zero} {WAIT} {store}"), "256 cooperative"),
        Ok([1024, 0])
    );
    // Without a cooperative launch, there is no workspace.
    refused(&barrier, "cooperative launch");
    // Only the barrier's word, as a whole, by what the barrier does.
    fools("atom.add.u32 %r22, [%rd22], 1;");
    fools("atom.add.u32 %r22, [%rd22+8], 1;");
    fools("atom.add.u32 %r22, [%rd23+-8], 1;");
    fools("atom.add.u64 %rd24, [%rd23], 1;");
    fools("ld.acquire.gpu.u64 %rd24, [%rd23];");
    fools("ld.acquire.gpu.v2.u32 {%r22, %r23}, [%rd23];");
    fools("ld.acquire.gpu.u16 %h1, [%rd23];");
    fools("ld.global.u32 %r22, [%rd23];");
    fools("st.global.u32 [%rd23], 0;");
    fools("st.release.gpu.u32 [%rd23], 0;");
    fools("atom.shared.add.u32 %r22, [%rd23], 1;");
    fools("ld.volatile.local.u32 %r22, [%rd23];");
    // An index, and addresses that are made of the halves in another way.
    fools("mul.wide.u32 %rd24, %r5, 4; add.s64 %rd24, %rd24, %rd23; atom.add.u32 %r22, [%rd24], 1;");
    fools("atom.add.u32 %r22, [%r20+4], 1;");
    fools("atom.add.u32 %r22, [%rd20+4], 1;");
    fools("bfi.b64 %rd24, %rd20, %rd21, 32, 32; atom.add.u32 %r22, [%rd24+4], 1;");
    fools("bfi.b64 %rd24, %rd21, %rd20, 31, 33; atom.add.u32 %r22, [%rd24+4], 1;");
    fools("bfi.b64 %rd24, %rd21, %rd20, 32, 31; atom.add.u32 %r22, [%rd24+4], 1;");
    fools("bfi.b64 %rd24, %rd21, %rd21, 32, 32; atom.add.u32 %r22, [%rd24+4], 1;");
    fools("add.s64 %rd24, %rd22, %rd23; atom.add.u32 %r22, [%rd24], 1;");
    fools("shl.b64 %rd24, %rd22, 1; atom.add.u32 %r22, [%rd24+4], 1;");
    fools("add.s64 %rd24, %rd22, %rd1; atom.add.u32 %r22, [%rd24+4], 1;");
    // The lower half wraps by itself.
    fools(
        "add.u32 %r22, %r20, 4; cvt.u64.u32 %rd24, %r22; bfi.b64 %rd25, %rd21, %rd24, 32, 32; \
         atom.add.u32 %r23, [%rd25], 1;",
    );
    // What comes from the barrier guards nothing else, and is no index.
    fools(&format!(
        "{WAIT} mul.wide.u32 %rd10, %r23, 4; add.s64 %rd11, %rd1, %rd10; st.local.u32 [%rd11], 0;"
    ));
    fools(&format!("{WAIT} setp.lt.u32 %p1, %r23, %r2; @%p1 st.shared.u32 [own+400], 0;"));
    // A barrier in one of two ways does not order them, and hides no access.
    fools(&format!("setp.lt.u32 %p1, %r1, 7; @%p1 bra $e; {WAIT} st.shared.u32 [own+400], 0; $e:"));
    fools(&format!(
        "setp.lt.u32 %p1, %r1, 7; @%p1 bra $e; {WAIT} bra $f; $e: st.shared.u32 [own+400], 0; $f:"
    ));
}

#[test]
fn inserted_bits() {
    bytes("bfi.b32 %r10, %r5, %r5, 6, 26; STORE", 4 * (63 * 64 + 63 + 1), 0);
    bytes("bfi.b32 %r10, 1, %r5, 6, 26; STORE", 4 * (64 + 63 + 1), 0);
    // The lower number is cut off, and so is the upper one.
    bytes("bfi.b32 %r10, 0, %r5, 2, 30; STORE", 16, 0);
    bytes("bfi.b32 %r10, 0x40000001, %r5, 6, 26; STORE", 4 * (64 + 63 + 1), 0);
    refused("sub.u32 %r6, 0, %r5; bfi.b32 %r10, %r6, %r5, 6, 26; STORE", "");
}

#[test]
fn barriers_in_shared_memory() {
    let init = "mbarrier.init.shared.b64 [dynamic+8], 64;";
    let wait = "mbarrier.arrive.shared.b64 %rd20, [dynamic+8]; \
        mbarrier.test_wait.shared.b64 %p1, [dynamic+8], %rd20;";
    bytes(&format!("{init} {wait} mov.b32 %r10, %r1; STORE"), 1024, 0);
    bytes("mbarrier.inval.shared::cta.b64 [dynamic+248]; mov.b32 %r10, %r1; STORE", 1024, 0);
    // Eight bytes, at a multiple of eight, in the block's own shared memory.
    refused("mbarrier.init.shared.b64 [dynamic+256], 64;", "dynamic");
    refused("mbarrier.init.shared.b64 [dynamic+252], 64;", "");
    refused("mbarrier.init.shared.b64 [dynamic+-8], 64;", "");
    refused("mbarrier.init.shared.b64 [own], 64;", "aligned");
    refused("mbarrier.init.b64 [dynamic], 64;", "mbarrier");
    refused("mbarrier.init.shared.b64 [%rd1], 64;", "");
    refused("mbarrier.arrive.shared::cluster.b64 _, [dynamic];", "mbarrier");
    refused("mbarrier.arrive.expect_tx.shared.b64 %rd20, [dynamic], 64;", "mbarrier");
    refused(
        "mov.u32 %r6, dynamic; shl.b32 %r7, %r5, 3; add.u32 %r6, %r6, %r7; \
         mbarrier.init.shared.b64 [%r6], 64;",
        "",
    );
    // The state is any number, and the end of the wait says nothing about it.
    refused(&format!("{init} {wait} cvt.u32.u64 %r10, %rd20; @!%p1 ret; STORE"), "");
    refused(&format!("{init} {wait} @%p1 st.shared.u32 [own+400], 0;"), "own");
}
