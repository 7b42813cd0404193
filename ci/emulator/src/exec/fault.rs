//! Faults: how a kernel ends with an error. And mistakes, which it survives.

use core::fmt;

/// The error that ended a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The number of the `cudaError_t` that hardware gives for it.
    pub code: u32,
    /// The error, with its place, thread and kernel.
    pub message: String,
}

impl Fault {
    /// `cudaErrorLaunchOutOfResources`.
    pub const OUT_OF_RESOURCES: u32 = 701;
    /// `cudaErrorIllegalAddress`.
    pub const ILLEGAL_ADDRESS: u32 = 700;
    /// `cudaErrorAssert`.
    pub const ASSERT: u32 = 710;
    /// `cudaErrorHardwareStackError`.
    pub const STACK: u32 = 714;
    /// `cudaErrorIllegalInstruction`.
    pub const ILLEGAL_INSTRUCTION: u32 = 715;
    /// `cudaErrorMisalignedAddress`.
    pub const MISALIGNED_ADDRESS: u32 = 716;
    /// `cudaErrorInvalidAddressSpace`.
    pub const INVALID_ADDRESS_SPACE: u32 = 717;
    /// `cudaErrorInvalidPc`.
    pub const INVALID_PC: u32 = 718;
    /// `cudaErrorLaunchFailure`.
    pub const LAUNCH_FAILURE: u32 = 719;
    /// `cudaErrorNotSupported`.
    pub const NOT_SUPPORTED: u32 = 801;
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (error {})", self.message, self.code)
    }
}

impl core::error::Error for Fault {}

/// A mistake within a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mistake {
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

/// The reason why an image cannot be used: the code of the fault, and a message.
pub type Refused = (u32, String);
