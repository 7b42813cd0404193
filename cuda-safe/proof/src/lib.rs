//! Proves which bytes a kernel's launch accesses, from its PTX and the values of the launch.
//!
//! A launch of a CUDA kernel can leave its buffers, so a launch is `unsafe`, unless something shows that it
//! does not. This crate shows it for many ordinary kernels, unmodified: nvcc's PTX, together with the grid,
//! the block and the numbers among the arguments, gives for each pointer the bytes that the launch may read
//! and write, and the alignment that the pointer must have. What cannot be proven is refused, with the line
//! of the `.cu` file and the reason.
//!
//! The crate contains no CUDA and has no `unsafe` code. It reads text and numbers, so it can be tested and
//! fuzzed anywhere.
//!
//! ```
//! # const PTX: &str = include_str!("tests/add.ptx");
//! use cuda_proof::{Argument, Kernel, Launch, Memory, kernels, prove};
//!
//! // In a build script: from PTX to the bytes that a generated handle contains.
//! let slice = kernels(PTX)?[0].to_bytes();
//!
//! // In a program: once for each handle ...
//! let kernel = Kernel::from_bytes(&slice)?;
//! // ... and once for each set of values.
//! let count = 1000_u32.to_le_bytes();
//! let verdict = prove(&kernel, &Launch {
//!     grid: [4, 1, 1],
//!     block: [256, 1, 1],
//!     cluster: None,
//!     is_cooperative: false,
//!     shared: 0,
//!     arguments: &[Argument::pointer(), Argument::pointer(), Argument::pointer(), Argument::value(&count)],
//! });
//!
//! // For each launch: 1000 elements are enough, and 999 are not.
//! let memory = |parameter, name, length: u64| Memory {
//!     parameter, offset: 0, name, address: 0x7000_0000, bytes: 4 * length, element: 4, is_writable: true,
//! };
//! let names = ["a", "b", "sum", "count"];
//! let inputs = [memory(0, "a", 1000), memory(1, "b", 1000)];
//! assert!(verdict.check(&[inputs[0], inputs[1], memory(2, "sum", 1000)], &names).is_ok());
//! let refusal = verdict.check(&[inputs[0], inputs[1], memory(2, "sum", 999)], &names);
//! assert_eq!(
//!     refusal.unwrap_err().to_string(),
//!     "add may write sum[999..1000], but sum has 999 elements: add.cu:3; the index is up to 999 with \
//!      grid 4, block 256, count 1000",
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The call that a launch makes
//! A verdict does not depend on lengths and addresses. It is cached by the kernel's PTX variant, grid, block,
//! clusters, the cooperative flag, the bytes of dynamic shared memory, and the parts of the arguments that
//! [`Kernel::key`] lists: a scale or a seed is not among them. Then each launch compares the memory behind
//! each pointer with [`Proof::needs`], a handful of numbers. [`Verdict::check`] does the same, and has the
//! words of a refusal. A [`Need`] is exact enough for the tracker: a range that is only read is a read.
//!
//! The caller guarantees five things.
//! - The slice is that of the code that runs: of the PTX that ptxas or the driver compiled for this device, a
//!   whole program and no relocatable unit, without options that change the meaning of PTX.
//! - The launch passes exactly the values of the proof. Pointers point to the memory that is stated, and stay
//!   valid until the kernel has ended.
//! - Memory that the kernel writes through one pointer overlaps no memory of another pointer of the launch.
//! - The parameters of [`Kernel::handles`] are handles of live textures and surfaces.
//! - Nothing but the kernel changes the memory meanwhile, except by accesses of the same size as the
//!   kernel's.
//!
//! # Why it is sound
//! *Claim: a proven launch accesses no bytes but those of its needs, shared memory, the stack, constants and
//! variables of the program, each within its bounds.* Values may differ from run to run (a race in a kernel
//! is no violation), a launch may trap or never end, and bytes may remain unwritten: the elements are plain
//! data.
//!
//! 1. **Forms.** A register of `w` bits holds an affine form over symbols, modulo `2^w`. A symbol stands for
//!    one whole number: a thread's index, a value that was loaded, a loop's rounds, a quotient. Sums,
//!    differences and products with constants are exact modulo `2^w`. Whatever reads a register as a number
//!    (a comparison, a division, an extension to more bits) takes the form only if the whole range of the
//!    form fits the type. Otherwise the reading is the form minus an unknown multiple of `2^w`, within the
//!    type's range.
//! 2. **Facts.** A branch, a predicate, `selp`, `min` and `max` add linear facts about symbols. A bound of a
//!    form combines facts with positive factors, so each bound follows from them. The range of one symbol
//!    in a fact follows from the ranges of the others, rounded to whole numbers, and so does that of a
//!    quotient from a bound of what is divided. Symbols are never used again for another value: a fact
//!    never goes out of date. Facts that are kept where two ways meet hold on both. A value that is one of
//!    two with a constant difference is the first plus a symbol of 0 or 1. A line through the bounds of a
//!    form in the two cases bounds the form for both values of this symbol. States that differ in a flag or
//!    in a pointer do not meet, as far as the budget goes: each goes on by itself, and the accesses of all
//!    of them count. A test of tests is looked into as far as the budget goes, and 32 deep. A bound of a sum
//!    is the sum of bounds of its parts, too: so a row and a column have the facts that each needs. How many
//!    zeros a number begins with, and whether its bits in another order are zero, follows from its range.
//!    Where two ways meet, a value that differs by a constant is a form of terms that have one number on the
//!    one way and another on the other: both ways verify it (the rounds that an unrolled loop leaves over).
//!    Pairs of numbers with one difference have their smaller and larger ones from one symbol: `min(a, b)` is
//!    `b + min(a - b, 0)`, and `max(a, b)` is `a - min(a - b, 0)`, of whole numbers that were read before.
//! 3. **Loops.** What is claimed of a loop's header holds before the loop, and at each way back it is
//!    verified under the claim itself: induction. The accesses that count are those of the pass in which
//!    everything was verified. A claim may be a hope: that a counter of 64 bits that is read as one of 32
//!    does not wrap there, that a range is no wider than it was found under a wider claim, or that it ends
//!    where the loop compares the register. Loops whose rounds decide by themselves are gone through round by
//!    round, unless the first three show that there are too many.
//! 4. **Accesses.** An address is a form with exactly one pointer or variable, once, and a remainder whose
//!    range gives the bytes. Its coefficients show the alignment. An address from memory, from two pointers,
//!    or of another state space than the instruction's is refused, and so is one in a register that has not
//!    all of its bits. A branch by a table stays within the table. The handle of a texture is a parameter.
//!    An access that begins before its pointer, ends behind its object, or needs a larger alignment than the
//!    object has refuses at once: no memory suffices. The barrier of a grid is one word at an address that
//!    two registers have, `%envreg1` and `%envreg2`: a cooperative launch may count in it and read it, and
//!    nothing else there. An operation on a barrier in shared memory is an atomic one on its eight bytes,
//!    whatever bits they have.
//! 5. **Loaded values.** Every load gives any value. A value that was loaded is the same wherever it is used,
//!    so a guard holds for it, and for nothing that is loaded later. Three kinds of values may differ at each
//!    use, and no guard helps them: those of `ld.global.nc` and `ldu` if the kernel writes that memory, of
//!    ordinary loads if the kernel writes that memory in elements of another size, and registers and local
//!    arrays, which may be unwritten. A variable of the program may be an argument's memory, too. Registers
//!    of a function have no value when it is called, and neither have its results. What is computed from such
//!    values is such a value: of an integer that only becomes a float, no more is known than that. A load has
//!    the value of a store in one case: on the kernel's own stack, which no other thread writes, at one
//!    place, of the same bits, if nothing may have written there in between (a store at an index and a
//!    generic one to the array count, and so does any in a loop). It must be computed from parameters and
//!    threads alone. A loop that reads such numbers is gone through round by round, also if it may end in
//!    each.
//! 6. **Floating-point numbers.** Their bits are numbers like others. Positive floats are in the order of
//!    their bits, and those of a NaN are above infinity's. So `ge`, `gt`, `eq` with a positive normal
//!    constant hold exactly if the bits are in a range up to infinity, and `ltu`, `leu`, `neu` if they are
//!    not. Nothing is known of other comparisons: a NaN, a negative number or a zero of either sign passes
//!    them. `abs` clears the sign, but makes any NaN of a NaN: its result counts only if the function does
//!    nothing with it but compare and compute floats. Of a float that is no NaN, whole numbers are known
//!    between which it lies: of constants, of integers that the type has exactly, of `min` and `max` with one
//!    of these, which are no NaN whatever the other is, and of finite sums. Each rounding, and each
//!    conversion, keeps whole numbers and the order of numbers, and so these bounds, as far as the types have
//!    them. An integer saturates: a bound behind the end of its type does not count.
//! 7. **The rest refuses.** An instruction, a modifier of an access, a directive or a form that is not listed
//!    is refused where it is reached: indirect and recursive calls, weak functions, the device's heap,
//!    `printf`, shared memory of other blocks, tensor maps, asynchronous bulk copies, aliases, irreducible
//!    loops. So is a text whose header changes what instructions mean (32-bit addresses, `map_f64_to_f32`, a
//!    version before 6.0), a `.pragma` but `nounroll`, and a proof that takes more work than [`BUDGET`].
//!
//! # From PTX to machine code
//! What runs is machine code. The claim about PTX carries over to it as far as these hold:
//! - ptxas and the driver's compiler keep the meaning of PTX, as NVIDIA's manual of PTX states it. They are
//!   trusted as rustc's LLVM is.
//! - A load that PTX has once happens once, or, where nothing writes the memory, any number of times with the
//!   same result. The one case that rests on ptxas alone is a weak load of memory that the kernel itself
//!   writes in elements of the same size, by other threads: PTX's memory model gives it one value, and ptxas
//!   must not read again. A test of machine code can look for repeated loads.
//! - Misaligned accesses do not occur, because alignment is proven. A pointer has the alignment that
//!   `.ptr .align` promises the compiler, too.
//! - No text promises what is not so. `.uni` is refused under a predicate, and `.ptr` to other memory than
//!   global. That all threads of a warp execute `ldmatrix` and `stmatrix`, which `.aligned` promises, is not
//!   shown: in divergent code these use the addresses of threads whose guards did not hold. They reach shared
//!   memory of the block, or trap, and of what shared memory contains nothing is ever known.
//! - A prefetch reads the byte at its address, and may need it to be there.
//! - Device addresses are below 2^57, shared memory has fewer than 2^24 bytes, and no loop has more than 2^66
//!   rounds.
//! - Textures and surfaces stay inside of their array, which the hardware checks.
//! - Inline assembly is PTX, and is analysed as such.
//! - The driver of a cooperative launch passes the address of a workspace, whose second word is the grid's
//!   barrier, as the headers of cooperative groups have it. NVIDIA's manual of PTX leaves `%envreg` to the
//!   driver.
//!
//! # What is not proven
//! An index that comes from memory without a guard; a loop whose bound needs a relation between two changing
//! registers, other than the two ends of a binary search; a flag that carries a guard from one round of a
//! loop to the next; an index from `pow`. The words of the refusal say what to write:
//! `if (i < n)` before a gather makes it provable.
//!
//! # How it is tested
//! The reader is `cuda-ptx`: what it prints of thousands of changed texts is compiled to the same code by
//! ptxas. An interpreter of PTX, independent of the lowering and the analysis, runs threads of kernels under
//! random launches and under random changes of the PTX. Whatever is proven must hold for each access of each
//! thread, with random loaded data. A second interpreter reads no PTX at all. It runs drawn programs with
//! loops, calls, a stack, shared memory and floats, and the text that is written from each of them is proven.
//! Each form of instruction that is taken as exact is compared with what a GPU answered. Each proof of these
//! tests keeps its budget, in processor time. The arithmetic is compared with direct evaluation on all values
//! of small types. Kernels with planted errors and programs that were written to fool the analysis must not
//! pass. Any change of a text or of a slice is an error, a refusal, or right for what it does now. A table
//! has the verdict on each kernel of this project.
//!
//! # Files
//! | file | purpose |
//! |---|---|
//! | `lower` | makes a kernel's slice from the tree that `cuda-ptx` reads: inlines calls, drops the rest |
//! | `ir` | the slice, what each of its operations does, its bytes; blocks, loops, and which registers matter where |
//! | `launch.rs` | the values of a launch |
//! | `domain` | affine forms, symbols, facts, quotients, what is known where two ways meet, the stack |
//! | `engine` | the launch while it is gone through: branches, loops, rounds, and in `transfer` what each step does |
//! | `verdict` | needs, checks, and the words of refusals |
//! | `tests` | an interpreter of PTX and one of drawn programs, and the arithmetic against direct evaluation |

mod domain;
mod effort;
mod engine;
mod ir;
mod launch;
mod lower;
mod verdict;

pub use effort::BUDGET;
pub use ir::{Kernel, NotASlice, Parameter};
pub use launch::{Argument, Launch};
pub use lower::{SyntaxError, kernels, kernels_with_architecture};
pub use verdict::{Bytes, Memory, Need, Proof, Refusal, Verdict, prove, prove_within};

// Not under sanitizers: they use no GPU.
// Tests share files with the crate's examples.
#[cfg(test)]
extern crate self as cuda_proof;
#[cfg(test)]
mod tests;
