//! Faults: how a kernel ends with an error. Mistakes, which it survives. And the places of both in its code.

use core::fmt;

/// What a step of a kernel gives, or the error that ends the kernel.
pub(super) type Result<T = (), E = Fault> = core::result::Result<T, E>;

/// The error that ended a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The number of the `cudaError_t` that hardware gives for it.
    pub(crate) code: u32,
    /// The error, with its place, thread and kernel.
    pub(crate) message: String,
    /// The thread and its instruction, if it is one thread's.
    pub(crate) at: Option<ThreadLine>,
}

/// An instruction of a kernel, in PTX and in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CodeLine {
    /// The kernel or the function that has the instruction.
    pub(crate) function: String,
    /// Whether that is a function which the kernel calls.
    pub(crate) called: bool,
    /// The line of the PTX text.
    pub(crate) ptx: u32,
    /// File and line of the source, if the program has line information.
    pub(crate) source: Option<(String, u32)>,
}

impl fmt::Display for CodeLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.called {
            write!(f, " in function {}", self.function)?;
        }
        write!(f, " at PTX line {}", self.ptx)?;
        match &self.source {
            Some((file, line)) => write!(f, ", {file}:{line}"),
            None => Ok(()),
        }
    }
}

/// A thread of a launch, and the instruction that it is at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadLine {
    /// The thread in its block.
    pub(crate) thread: [u32; 3],
    /// The block in the grid.
    pub(crate) block: [u32; 3],
    /// The instruction.
    pub(crate) code: CodeLine,
}

impl fmt::Display for ThreadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([tx, ty, tz], [bx, by, bz]) = (self.thread, self.block);
        write!(f, "thread ({tx},{ty},{tz}) of block ({bx},{by},{bz}){}", self.code)
    }
}

impl Fault {
    /// `cudaErrorLaunchOutOfResources`.
    pub(crate) const OUT_OF_RESOURCES: u32 = 701;
    /// `cudaErrorIllegalAddress`.
    pub(crate) const ILLEGAL_ADDRESS: u32 = 700;
    /// `cudaErrorAssert`.
    pub(crate) const ASSERT: u32 = 710;
    /// `cudaErrorHardwareStackError`.
    pub(crate) const STACK: u32 = 714;
    /// `cudaErrorIllegalInstruction`.
    pub(crate) const ILLEGAL_INSTRUCTION: u32 = 715;
    /// `cudaErrorMisalignedAddress`.
    pub(crate) const MISALIGNED_ADDRESS: u32 = 716;
    /// `cudaErrorInvalidPc`.
    pub(crate) const INVALID_PC: u32 = 718;
    /// `cudaErrorLaunchFailure`.
    pub(crate) const LAUNCH_FAILURE: u32 = 719;
    /// `cudaErrorNotSupported`.
    pub(crate) const NOT_SUPPORTED: u32 = 801;
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (error {})", self.message, self.code)
    }
}

impl core::error::Error for Fault {}

/// A mistake within a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mistake {
    /// Threads use the same bytes, and nothing orders them.
    Race,
    /// A thread reads shared memory that nobody has written.
    Unwritten,
    /// A thread uses shared memory outside of the array whose address it has taken.
    Outside,
    /// Threads of a block meet a barrier in different places.
    Barrier,
    /// A thread executes an instruction of its warp whose mask does not name it.
    Mask,
    /// Nothing orders a thread's write and a bulk copy or product that reads it.
    Proxy,
}

/// The report of a mistake.
#[derive(Debug)]
pub(crate) struct Report {
    /// What it is.
    pub(crate) mistake: Mistake,
    /// The same in words, with the kernel.
    pub(crate) what: String,
    /// The accesses or threads that take part.
    pub(crate) parts: Vec<(String, ThreadLine)>,
    /// The bytes of global memory that the mistake is about: their address, and how many.
    pub(crate) memory: Option<(u64, u64)>,
}

/// The reason why an image cannot be used: the code of the fault, and a message.
pub(crate) type Refused = (u32, String);
