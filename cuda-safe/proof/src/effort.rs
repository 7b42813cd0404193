//! Effort: how much work a proof may take, and where it gives up.
//!
//! Each number bounds work or memory. With a smaller one less is proven, with any one what is proven is true.

/// Work that [`prove`](crate::prove) spends at most, five to twenty milliseconds. A step of the kernel counts
/// four, and a bound of an expression one, or more if it is long or there are many constraints.
pub const BUDGET: u64 = 500_000;
/// The part of it, as a divisor, after which a try that partitions traces leaves the rest to one that does
/// not.
pub(crate) const PARTITIONED: u64 = 4;

// Bound queries: how many constraints one combines.

/// In joins, in the two cases of a choice, and of masks.
pub(crate) const LIGHT: u32 = 1;
/// Unless another depth is named.
pub(crate) const USUAL: u32 = 2;
/// Of the offset of an access, and of the index into a table of branches.
pub(crate) const THOROUGH: u32 = 3;
/// Combinations that one query may try.
pub(crate) const COMBINATIONS: u32 = 90;
/// The same where a constraint is added, or joined with another state.
pub(crate) const FEW_COMBINATIONS: u32 = COMBINATIONS / 3;
/// Terms by which a combination may be longer than what it bounds.
pub(crate) const MORE_TERMS: usize = 2;
/// Terms and guards from which on an offset is bounded in two parts, too, and places to part it.
pub(crate) const PARTS: usize = 4;
/// Quotients of quotients that a witness is found through.
pub(crate) const QUOTIENTS: u32 = 8;

// Expressions.

/// Terms of an affine expression. A longer one is forgotten: a value that differs at each use makes new
/// symbols at each, so a loop that reads it twice would double its terms in each round.
pub(crate) const TERMS: usize = 64;

// States.

/// Constraints of a state. Further ones are forgotten.
pub(crate) const CONSTRAINTS: usize = 48;
/// Constraints that a case may learn: so many are made room for.
pub(crate) const ROOM: usize = 6;
/// Projections in one proof.
pub(crate) const PROJECTIONS: u32 = 200;
/// Smaller or larger numbers within others that are divided.
pub(crate) const EXTREMES: u32 = 6;
/// Pairs of numbers of which the smaller one is remembered.
pub(crate) const PAIRS: usize = 8;
/// Values on the stack that are remembered.
pub(crate) const PIECES: usize = 32;
/// Tests within tests: of deeper ones nothing is known.
pub(crate) const TEST_DEPTH: u8 = 32;
/// Comparisons of a test from which the value that it chooses gets bounds.
pub(crate) const COMPARED: u32 = 6;
/// Symbols and bounds for which there is room from the start.
pub(crate) const EXPECTED: usize = 400;

// Control flow.

/// States that a block keeps apart.
pub(crate) const PARTITIONS: usize = 4;
/// Pointers that are chosen in one block, one case after the other.
pub(crate) const SPLITS: u32 = 3;
/// Loops within loops.
pub(crate) const LOOP_DEPTH: u32 = 32;
/// Rounds of a loop that are unrolled.
pub(crate) const ROUNDS: usize = 40;
/// Rounds after which a loop that reads numbers from the stack may end or go on.
pub(crate) const OPEN_ROUNDS: usize = 8;
/// Steps that unrolling may take in vain.
pub(crate) const ROUND_STEPS: u64 = 4_000;

// Fixpoint iteration.

/// Passes through a loop that take an interval as it is found. Later ones widen it.
pub(crate) const WIDENING_DELAY: u32 = 4;
/// Passes through a loop from which on an interval that grows again has no ends.
pub(crate) const WIDENINGS: u32 = 14;
/// Numbers that a register is compared with which become widening thresholds.
pub(crate) const THRESHOLDS: usize = 4;
/// Upper widening thresholds of all registers, besides the ends of types.
pub(crate) const USUAL_THRESHOLDS: [i128; 6] = [255, 256, 1023, 1024, 65_535, 65_536];
/// Tests of a loop that are looked at for candidate invariants.
pub(crate) const TESTS: u32 = 200;
/// Terms of a candidate invariant.
pub(crate) const CANDIDATE_TERMS: usize = 6;
/// Registers of which any two may be the ends of a range.
pub(crate) const ENDS: usize = 4;

// Lowering.

/// Steps that a kernel may have with all functions that it calls.
pub(crate) const STEPS: usize = 60_000;
/// Calls within calls.
pub(crate) const CALLS: usize = 24;
/// Branches one after the other that a branch is followed through.
pub(crate) const JUMPS: u32 = 8;
