//! Rewrites kernels.

mod access;
mod origin;
mod record;
mod refusal;
mod rewrite;
mod verify;

pub use access::guardable;
pub use record::{Failure, RECORD, Record};
pub use refusal::{Reason, Refusal};
pub use rewrite::guard;
pub use verify::{Fault, verify};

use cuda_ptx::Entity;

/// Bytes of zeros.
pub const ZEROS: u64 = 4096;
/// Most.
pub(crate) const MOST_SHARED: u64 = 256;

/// Memory in which accesses may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Region {
    /// The memory that an argument points to.
    Argument {
        /// The parameter.
        parameter: usize,
        /// The place of the pointer in the parameter, in bytes.
        offset: i64,
    },
    /// A variable of the kernel: its number in [`Body::variables`](cuda_ptx::Body::variables).
    Local(usize),
    /// A shared variable of the module: its number in [`Module::variables`](cuda_ptx::Module::variables).
    Shared(usize),
    /// A parameter, at an index.
    Parameter(usize),
}

impl Region {
    /// Returns the variable or parameter that it is, or `None` if an argument points to it.
    fn entity(self) -> Option<Entity> {
        match self {
            Self::Argument { .. } => None,
            Self::Local(at) => Some(Entity::Local(at)),
            Self::Shared(at) => Some(Entity::Variable(at)),
            Self::Parameter(at) => Some(Entity::Parameter(at)),
        }
    }
}

/// A parameter with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// .
    pub region: Region,
    /// .
    pub span: u64,
    /// .
    pub align: u64,
    /// .
    pub writes: bool,
}

impl Limit {
    /// .
    #[must_use]
    pub fn value(&self, address: u64, bytes: u64) -> u64 {
        if address % self.align != 0 { 0 } else { (bytes + 1).saturating_sub(self.span) }
    }
}

/// .
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// .
    pub regions: Vec<Region>,
    /// The bytes of its variable, if it is one, and they are known.
    pub bytes: Option<u64>,
    /// .
    pub span: u64,
    /// .
    pub align: u64,
    /// .
    pub members: Vec<Member>,
}

/// .
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// .
    pub statement: usize,
    /// .
    pub operand: usize,
    /// .
    pub line: u32,
    /// .
    pub location: Option<(u32, u32)>,
    /// .
    pub offset: u64,
    /// .
    pub bytes: u64,
}

/// .
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarded {
    /// .
    pub text: String,
    /// .
    pub kernel: String,
    /// .
    pub parameters: usize,
    /// .
    pub limits: Vec<Limit>,
    /// .
    pub sites: Vec<Site>,
}
