//! What a running kernel needs from the machine around it, and what the machine needs from a running kernel.
//!
//! The interpreter knows nothing of allocations, streams or the host. It sees memory as [`Region`]s that it asks for
//! by address, and it gives back control after a bounded number of instructions, so that a kernel that polls a flag
//! never holds the machine up.

use super::fault::{Fault, Refused};
use super::image::{Image, Texture};

/// One live allocation, as a kernel may use it.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// First device address of the allocation.
    pub start: u64,
    /// The address just past its last byte.
    pub end: u64,
    /// Where the bytes are for this process: `start` is found at `host`, and so on up to `end`.
    pub host: *mut u8,
    /// Whether a kernel may write here.
    pub writable: bool,
}

/// The machine as a running kernel sees it.
pub trait Env {
    /// Finds the live allocation around an address. The answer holds until the running step returns, or until
    /// [`Env::heap_free`] is called.
    fn region(&mut self, addr: u64) -> Option<Region>;

    /// Says, in words, what lies nearest to an address that no allocation covers ("256 bytes past the end of ...").
    fn nearest(&mut self, addr: u64) -> Option<String> {
        let _ = addr;
        None
    }

    /// Finds the image that a texture's handle names. The answer holds as that of [`Env::region`] does.
    ///
    /// # Errors
    /// A fault, where there is no such texture, or none that can be read here.
    fn texture(&mut self, handle: u64) -> Result<Texture, Refused> {
        Err((Fault::ILLEGAL_ADDRESS, format!("{handle:#x} is no texture")))
    }

    /// The same for a surface.
    ///
    /// # Errors
    /// As [`Env::texture`].
    fn surface(&mut self, handle: u64) -> Result<Image, Refused> {
        Err((Fault::ILLEGAL_ADDRESS, format!("{handle:#x} is no surface")))
    }

    /// Serves `malloc` in a kernel: zero when the device heap is full. Addresses are aligned to 16 bytes.
    fn heap_malloc(&mut self, bytes: u64) -> u64;

    /// Serves `free` in a kernel. Answers whether the address came from [`Env::heap_malloc`] and was still live
    /// (zero never gets here).
    fn heap_free(&mut self, addr: u64) -> bool;

    /// Whether reads of bytes that nobody has written are to be told.
    fn watches(&self) -> bool {
        false
    }

    /// Says that a kernel has written bytes, at a place of this process's. Only where this [watches](Env::watches).
    fn wrote(&mut self, at: *mut u8, bytes: u64) {
        let _ = (at, bytes);
    }

    /// What to tell, in words, of a kernel's read of bytes, at a place of this process's, if nobody has written all of them and it was not
    /// told before.
    fn unwritten(&mut self, at: *mut u8, bytes: u64, kernel: &str) -> Option<String> {
        let _ = (at, bytes, kernel);
        None
    }

    /// Takes what `printf` in a kernel wrote, to be shown on standard output when the device synchronises.
    fn print(&mut self, text: &str);

    /// Takes a line for standard error: failed assertions, faults.
    fn complain(&mut self, text: &str) {
        eprintln!("{text}");
    }
}

/// Work on a stream that runs in bounded steps.
pub trait Task: Send {
    /// Runs at most about `budget` units of work (warp instructions) and says where that left it.
    fn step(&mut self, env: &mut dyn Env, budget: u64) -> Step;
}

/// Where one step left a task.
#[derive(Debug)]
pub enum Step {
    /// All work is done; the task must not be stepped again.
    Done,
    /// The budget is used up, or nothing can go on before something outside changes.
    Yield,
    /// The task is over because of an error, which ends the context as on hardware.
    Fault(Fault),
}
