//! The interface between a running kernel and the machine around it.
//!
//! The interpreter knows nothing of allocations, streams or the host. It asks for memory by address and gets
//! [`Region`]s. It returns control after a bounded number of instructions, so that a kernel that polls a flag
//! never blocks the machine.

use std::sync::Arc;
use std::time::Duration;

use super::fault::{Fault, Refused, Report};
use super::file::low;
use super::image::{Image, Texture};
use super::program::{CODE, Program, SHARED, Scope};
use super::runtime::RuntimeFunction;

/// One live allocation, as a kernel may use it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    /// First device address of the allocation.
    pub(crate) start: u64,
    /// The address just past its last byte.
    pub(crate) end: u64,
    /// The address in this process of the byte at `start`; the bytes up to `end` follow it.
    pub(crate) host: *mut u8,
    /// Whether a kernel may write here.
    pub(crate) writable: bool,
}

/// How an instruction touches memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessKind {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It reads by a volatile, relaxed or acquiring load.
    StrongRead,
    /// It is atomic, or a volatile, relaxed or releasing store.
    Strong,
}

/// The bytes that a kernel polls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Poll {
    /// The instruction that reads them.
    pub(crate) pc: u32,
    /// Where they are in this process.
    pub(crate) at: *mut u8,
    /// How many they are.
    pub(crate) bytes: u64,
    /// How long the kernel has run.
    pub(crate) time: Duration,
}

/// The machine as a running kernel sees it.
pub(crate) trait Env: Send {
    /// The number of processors that a kernel may use.
    fn processors(&self) -> usize {
        1
    }

    /// Finds the live allocation around an address. The result is valid until the running step returns, or
    /// until [`Env::heap_free`] is called.
    fn region(&mut self, addr: u64) -> Option<Region>;

    /// Describes the memory nearest to an address that no allocation covers ("256 bytes past the end of
    /// ...").
    fn nearest(&mut self, addr: u64) -> Option<String> {
        let _ = addr;
        None
    }

    /// Finds the image of a texture handle. The result is valid as long as that of [`Env::region`].
    ///
    /// # Errors
    /// Returns a fault if there is no such texture, or none that can be read here.
    fn texture(&mut self, handle: u64) -> Result<Texture, Refused> {
        Err((Fault::ILLEGAL_ADDRESS, format!("{handle:#x} is no texture")))
    }

    /// Finds the image of a surface handle.
    ///
    /// # Errors
    /// As [`Env::texture`].
    fn surface(&mut self, handle: u64) -> Result<Image, Refused> {
        Err((Fault::ILLEGAL_ADDRESS, format!("{handle:#x} is no surface")))
    }

    /// Serves `malloc` in a kernel: returns zero if the device heap is full. Addresses are aligned to 16
    /// bytes.
    fn heap_malloc(&mut self, bytes: u64) -> u64;

    /// Serves `free` in a kernel. Returns whether the address came from [`Env::heap_malloc`] and was still
    /// live (zero never gets here).
    fn heap_free(&mut self, addr: u64) -> bool;

    /// Whether the machine reports reads of bytes that nobody has written.
    fn watches(&self) -> bool {
        false
    }

    /// Records that a kernel has written bytes, at an address of this process. Called only if this
    /// [watches](Env::watches).
    fn wrote(&mut self, at: *mut u8, bytes: u64) {
        let _ = (at, bytes);
    }

    /// Returns the report of a kernel's read of bytes, at an address of this process, if nobody has written
    /// all of them and the report is new.
    fn unwritten(&mut self, at: *mut u8, bytes: u64, kernel: &str) -> Option<String> {
        let _ = (at, bytes, kernel);
        None
    }

    /// Whether the machine looks for races.
    fn traces(&self) -> bool {
        false
    }

    /// Takes the bytes that the lanes in a mask touch at addresses of this process: so many each. Called only
    /// if this [traces](Env::traces).
    fn touched(&mut self, kind: (AccessKind, Scope), at: &[*mut u8; 32], mask: u32, bytes: u64, pc: u32) {
        let _ = (kind, at, mask, bytes, pc);
    }

    /// A number below another one, if the schedule is random: which of so many may run next is drawn.
    fn draw(&mut self, count: usize) -> Option<usize> {
        let _ = count;
        None
    }

    /// Whether the other threads of a kernel run on after a fault, to be checked for races.
    fn runs_on(&self) -> bool {
        false
    }

    /// Whether other operations or the host may set flags for this one.
    fn has_flags(&self) -> bool {
        false
    }

    /// Notes a strong write to an address of this process: whether it is an atomic operation, and the scope
    /// in which it releases what was before, if it does. Called only if this [traces](Env::traces).
    fn wrote_flag(&mut self, at: *mut u8, atomic: bool, releases: Option<Scope>) {
        let _ = (at, atomic, releases);
    }

    /// Whether a strong read of a value at an address of this process finds what another operation or the
    /// host has released, and is new. Called only if this [has flags](Env::has_flags).
    fn finds_flag(&mut self, at: *mut u8, value: u64) -> bool {
        let _ = (at, value);
        false
    }

    /// Notes that what such a read has found is acquired.
    fn acquired(&mut self, at: usize, program: &Arc<Program>) {
        let _ = (at, program);
    }

    /// Notes that a kernel waits for those before it.
    fn waits_for_grids(&mut self, program: &Arc<Program>) {
        let _ = program;
    }

    /// Takes the report of a mistake within a kernel. Called only if this [traces](Env::traces).
    fn report(&mut self, report: Report) {
        let _ = report;
    }

    /// Takes what a kernel has polled for long.
    fn polls(&mut self, program: &Program, poll: &Poll) {
        let _ = (program, poll);
    }

    /// Sets the value of a conditional node of a graph.
    fn set_conditional(&mut self, handle: u64, value: u32) {
        let _ = (handle, value);
    }

    /// Serves a call of the runtime by a kernel.
    ///
    /// # Errors
    /// Returns a fault if the machine has no runtime for kernels.
    fn runtime(&mut self, call: &RuntimeCall<'_>) -> Result<RuntimeAnswer, Refused> {
        Err((Fault::NOT_SUPPORTED, format!("a call of {}", call.function.name())))
    }

    /// Takes the output of `printf` in a kernel. It appears on standard output when the device synchronises.
    fn print(&mut self, text: &str);

    /// Takes a line for standard error: failed assertions, faults.
    fn complain(&mut self, text: &str) {
        eprintln!("{text}");
    }
}

/// Work on a stream that runs in bounded steps.
pub(crate) trait Task: Send {
    /// Runs at most about `budget` units of work (warp instructions) and returns the state of the task.
    fn step(&mut self, env: &mut dyn Env, budget: u64) -> Step;

    /// Whether it waits for something outside of the program's streams.
    fn waits_outside(&self) -> bool {
        false
    }

    /// The bytes of a kernel's arguments.
    fn arguments(&self) -> &[u8] {
        &[]
    }

    /// The program, if it is a kernel.
    fn program(&self) -> Option<&Arc<Program>> {
        None
    }
}

/// The state of a task after one step.
#[derive(Debug)]
pub(crate) enum Step {
    /// All work is done; the task must not be stepped again.
    Done,
    /// The budget is used up, or the task waits for a change outside.
    Yield,
    /// The task ended with an error, which ends the context as on hardware.
    Fault(Fault),
}

/// A call of the runtime by one thread.
#[derive(Debug)]
pub(crate) struct RuntimeCall<'a> {
    /// The function.
    pub(crate) function: RuntimeFunction,
    /// The kernel that calls.
    pub(crate) program: &'a Arc<Program>,
    /// The number of the thread's block.
    pub(crate) block: u64,
    /// The number of the thread in its block.
    pub(crate) thread: u32,
    /// The calling instruction.
    pub(crate) pc: u32,
    /// The bytes of each argument.
    pub(crate) arguments: Vec<Vec<u8>>,
    /// The structure that the first argument points to, if the function reads one.
    pub(crate) structure: Vec<u8>,
}

impl RuntimeCall<'_> {
    /// An argument as a number; zero if there is none.
    pub(crate) fn number(&self, argument: usize) -> u64 {
        self.arguments.get(argument).map_or(0, |bytes| number(bytes, 0))
    }

    /// An argument as dimensions.
    pub(crate) fn dimensions(&self, argument: usize) -> [u32; 3] {
        let bytes = self.arguments.get(argument).map_or(&[][..], |bytes| bytes);
        [0, 4, 8].map(|at| bytes.get(at..at + 4).map_or(0, |word| low(number(word, 0))))
    }

    /// Eight bytes of an argument that is a structure.
    pub(crate) fn part(&self, argument: usize, at: usize) -> u64 {
        self.arguments.get(argument).map_or(0, |bytes| number(bytes, at))
    }

    /// Eight bytes of the structure as a number.
    pub(crate) fn field(&self, at: usize) -> u64 {
        number(&self.structure, at)
    }

    /// Whether an address is in shared or local memory, or that of arguments, which other grids do not have.
    pub(crate) fn is_own_memory(address: u64) -> bool {
        (SHARED..CODE).contains(&address)
    }
}

/// Up to eight bytes as a number.
pub(super) fn number(bytes: &[u8], at: usize) -> u64 {
    let mut wide = [0; 8];
    for (to, from) in wide.iter_mut().zip(bytes.get(at..).unwrap_or_default()) {
        *to = *from;
    }
    u64::from_le_bytes(wide)
}

/// The answer to a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct RuntimeAnswer {
    /// The result: an error code or an address.
    pub(crate) result: u64,
    /// The bytes that go to where the first argument points.
    pub(crate) output: Vec<u8>,
}
