//! Guards for accesses that a proof cannot bound: rewrites a kernel's PTX so that chosen accesses are checked
//! while it runs, and verifies what it wrote.
//!
//! [`guard`] writes the guarded form of a kernel. Of each access that it is asked for, the address is
//! compared with the memory of the argument from which it comes, or of the array. A load that is wrong reads
//! zeros instead (of shared memory and the stack, other bytes of the block or thread), a store does not
//! happen, and an atomic operation gives 0. The first failure of a launch is [recorded](Record) with its
//! access, offset, block and thread. The context stays alive.
//!
//! [`verify`] reads the text back, and shares with what wrote it only the reader of PTX.
//!
//! # The claim
//! Let a launch have the arguments for which its limits were computed. Each access that was asked for is
//! within the memory of its argument or array, and aligned, or it does not happen. All other instructions are
//! those of the original. Where each access of the original that was asked for is right, the guarded form has
//! the same effects.
//!
//! # Why a guard holds
//! - The address that is used is the one that was compared: the same register, or `selp` of it, with no write
//!   to the register between. `offset < limit`, unsigned, is false of addresses in front of the memory, too.
//! - A value is the same at each use. Registers and the stack are zero at the start, so that nothing is
//!   undefined. Loads on which an address depends are relaxed ones if the launch may write their memory, so
//!   that ptxas cannot repeat them. Special registers that change are refused.
//! - A launch may write shared memory, and that of an argument if the address of a store or an atomic
//!   operation may come from it. An address that was in memory or in another thread may come from any
//!   argument.
//! - Limits, the addresses of arguments, zeros and the record are parameters, which nothing changes.
//!
//! # What is trusted
//! - ptxas, with the meaning that the manual of PTX gives to predicates, `selp` and relaxed loads.
//! - The launch: limits of memory that it keeps alive, [`ZEROS`] bytes of zeros, a record of [`RECORD`] bytes
//!   that are zero.
//! - A generic address of global memory is its address in global memory.
//! - Whoever chooses the accesses: the others are not checked. They were proven to be in memory of an
//!   argument or array from which their address comes.
//! - The launch, again: memory of an argument that it may write is in no other argument. One buffer for two
//!   parameters has no guarded launch unless both are only read. Nothing else writes arguments meanwhile.
//!
//! # Conditions
//! | condition | what is done | test |
//! |---|---|---|
//! | in range and aligned | the offset has no bits below the alignment, as the kernel computes it or by a check; an argument that is not aligned has a limit of 0; arrays that are read instead of others are aligned | `runs/kinds.rs`, `conditions.rs` |
//! | the same value at each use | above; `.nc` and `ldu` of memory that the launch may write become plain loads | `conditions.rs`, `faults.rs` |
//! | predicates | combined with the access's own; where that is false, the register keeps its value. Vectors are checked as a whole. Of `cp.async` the source is replaced and the copy has the predicate, `prefetch` is dropped | `runs/kinds.rs`, `runs/random.rs` |
//! | collective instructions | `ldmatrix` has a replaced address and no predicate, others are refused, and so are barriers | `conditions.rs` |
//! | shared memory, stack, parameters | the array from which the address comes, or any of that space | `runs/kinds.rs` |
//! | no guarded form | [`Reason`], a closed list | `conditions.rs` |
//! | one buffer for two parameters | the launch refuses it unless both are only read | see above: it is trusted |
//!
//! # Files
//! | file | purpose |
//! |---|---|
//! | `guarded.rs` | the guarded form, and what its launch has to know |
//! | `record.rs` | the record of a failure |
//! | `refusal.rs` | why a kernel has no guarded form |
//! | `access.rs` | what an instruction accesses, and what has no guarded form |
//! | `origin.rs` | where addresses come from |
//! | `multiple.rs` | which addresses need no check of their alignment |
//! | `rewrite.rs` | writes the guarded form |
//! | `verify.rs` | reads it back; in its folder what it knows of a kernel's values |

mod access;
mod guarded;
mod multiple;
mod origin;
mod record;
mod refusal;
mod rewrite;
mod verify;

pub use access::guardable;
pub use guarded::{Guarded, Limit, Member, Region, Site, ZEROS};
pub use record::{Failure, RECORD, Record};
pub use refusal::{Reason, Refusal};
pub use rewrite::guard;
pub use verify::{Fault, verify};
