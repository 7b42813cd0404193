//! The accesses of one launch: those of its arguments, and those that the kernel's handle declares.

use smallvec::SmallVec;

use crate::hazard::Access;

/// The accesses of one launch. Few kernels have so many that the list needs memory from the heap.
pub(crate) type AccessList<'a> = SmallVec<[Access<'a>; 24]>;
