//! The guarded form of a kernel: its text, and what its launch has to know.

use cuda_ptx::Entity;

/// The bytes of the page of zeros, which loads of global memory read where they are stopped. It is aligned to
/// as many.
pub const ZEROS: u64 = 4096;

/// The most bytes of dynamic shared memory that one check covers.
pub(crate) const MOST_SHARED: u64 = 256;

/// Memory in which an access may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Region {
    /// The memory that an argument points to.
    Argument {
        /// The parameter.
        parameter: usize,
        /// The place of the pointer in the parameter, in bytes: not 0 in a structure.
        offset: i64,
    },
    /// An array of the kernel, in shared memory or on the stack: its number in
    /// [`Body::variables`](cuda_ptx::Body::variables).
    Local(usize),
    /// A shared array of the module, or dynamic shared memory: its number in
    /// [`Module::variables`](cuda_ptx::Module::variables).
    Shared(usize),
    /// A parameter that is read at an index.
    Parameter(usize),
}

impl Region {
    /// Returns the variable or parameter that it is, or `None` if an argument points to it.
    pub(crate) fn entity(self) -> Option<Entity> {
        match self {
            Self::Argument { .. } => None,
            Self::Local(at) => Some(Entity::Local(at)),
            Self::Shared(at) => Some(Entity::Variable(at)),
            Self::Parameter(at) => Some(Entity::Parameter(at)),
        }
    }
}

/// A limit that the launch computes, for a parameter of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The memory.
    pub region: Region,
    /// The bytes of the accesses together.
    pub span: u64,
    /// Their alignment.
    pub align: u64,
    /// Whether they write. The limit is 0 for memory that the launch may only read.
    pub writes: bool,
}

impl Limit {
    /// Returns the limit of memory at an address: the number of offsets at which an access is inside. It is 0
    /// if the memory is smaller than the access, or is not aligned itself.
    ///
    /// For dynamic shared memory the address is 0.
    #[must_use]
    pub fn value(&self, address: u64, bytes: u64) -> u64 {
        match bytes.checked_sub(self.span) {
            Some(rest) if address.checked_rem(self.align) == Some(0) => rest.saturating_add(1),
            _ => 0,
        }
    }
}

/// A check, and the accesses that it covers. They are stopped together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The memory in which they may be: of several, any.
    pub regions: Vec<Region>,
    /// The bytes of the first region, if it is a variable whose size is known.
    pub bytes: Option<u64>,
    /// The bytes from the start of the first access to the end of the last one.
    pub span: u64,
    /// The alignment of all.
    pub align: u64,
    /// The accesses.
    pub members: Vec<Member>,
}

/// An access that has a guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its statement in [`Body::statements`](cuda_ptx::Body::statements) of the original.
    pub statement: usize,
    /// The operand that is its address.
    pub operand: usize,
    /// Its line in the original text.
    pub line: u32,
    /// The source file's number and the line in it, of the outermost function, if the text has lines.
    pub location: Option<(u32, u32)>,
    /// Its offset from the start of the first access.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// The guarded form of a kernel.
///
/// Behind the kernel's own parameters it has one of 64 bits for each of the `limits`, then the address of a
/// page of [`ZEROS`], then that of a [record](crate::Record).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarded {
    /// The module's text with the guarded form in place of the kernel.
    pub text: String,
    /// The kernel.
    pub kernel: String,
    /// The limits.
    pub limits: Vec<Limit>,
    /// The checks: their numbers in records begin with 1.
    pub sites: Vec<Site>,
}
