//! Why a kernel has no guarded form: a closed list.

/// Why a kernel has no guarded form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The line of the PTX text, 0 if it is about the whole kernel.
    pub line: u32,
    /// The reason.
    pub reason: Reason,
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident $text:literal,)*) => {
        /// A reason why a kernel has no guarded form.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Reason {
            $($(#[$doc])* #[doc = concat!("The kernel ", $text, ".")] $name,)*
        }

        impl Reason {
            /// All reasons.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the reason in words that follow on "the kernel".
            #[must_use]
            pub fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

reasons! {
    Missing "is not in the text",
    Unreadable "has a statement that cannot be read, or a name that ptxas may take for another",
    Old "is for a version before PTX 6.0 or sm_70, which have no relaxed loads, or has addresses of 32 bits",
    Call "calls a function, whose accesses are not guarded",
    OtherBlock "reaches the shared memory of another block or memory of several devices",
    Descriptor "accesses memory through descriptors of wgmma or tcgen05",
    Bulk "uses bulk copies or tensor maps",
    Asynchronous "stores asynchronously",
    Stack "allocates stack memory while it runs, or has more of it than can be set to zero at entry",
    Discard "discards bytes of memory",
    Unknown "has an instruction that is not in the table",
    ModuleVariable "uses a variable of the module",
    Collective "accesses memory by a collective instruction that cannot be guarded: stmatrix or wmma",
    Waits "accesses a barrier in shared memory that others wait for",
    Image "accesses an image",
    Constant "accesses constant memory at an address from a register",
    Generic "accesses generic addresses, and makes such addresses of shared, local or constant memory",
    NotAnAccess "has no access to guard in a statement that was given",
    Fixed "has an access to guard whose address is not a register of 64 bits, or 32 for shared memory",
    NoRegion "has no argument or variable in which an access to guard may be",
    TooSmall "has an access to guard that is larger than the memory that its address comes from",
    Varying "has an address to guard that depends on a value that may change between two uses",
    Register "has registers that cannot be set to zero",
    Parameters "has too many parameters for those of its guards",
}

impl core::fmt::Display for Refusal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.line > 0 {
            write!(f, "PTX line {}: ", self.line)?;
        }
        write!(f, "no guarded form: the kernel {}", self.reason.text())
    }
}

impl core::error::Error for Refusal {}
