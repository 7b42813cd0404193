//! Host functions that read and write memory of the program.
//!
//! # Why a slice that a function receives is valid
//! The function is an operation of its stream with declared accesses, like a kernel. It enters the tracker by
//! the same path, so its accesses are in the access histories before the runtime has the function.
//!
//! - *It lives.* An owner that is dropped, freed or taken apart first waits for every access in the
//!   history. It is freed only after the function has returned: the tracker's proofs (the end of a
//!   stream, of an event, of a device) come from calls that wait for host functions as they do for
//!   kernels. If an owner is forgotten, the memory is never freed. If the wait fails, the memory is
//!   leaked. Graphs retain the memory of their functions and enter its accesses at each launch.
//! - *Nothing conflicts.* Operations of all streams are ordered before or after the function by the same
//!   accesses. The function begins after the work before it, and later work waits until it has returned. A
//!   host guard waits for the function (a guard that reads, only for one that writes), and a function cannot
//!   be launched while the borrow of a conflicting guard exists. A launch of a graph is refused then.
//! - *Calls do not overlap.* A function of a stream runs once. A graph may call one many times and from
//!   several executable forms, but each launch enters the accesses. If the function writes, the launches
//!   conflict and are ordered, and so are two nodes of one graph.
//! - *It does not escape.* The function must accept a slice of any lifetime, and nothing that it stores
//!   can have that one. It cannot borrow from the program. If it owns the memory's owner, that owner finds
//!   the function's access pending: inside a host function a conflicting guard is refused, and a drop is
//!   left to a thread that may wait.
//! - *A panic changes nothing.* It ends the function, is caught outside of it, and leaves elements of
//!   which all bytes are valid. A function that never runs, because the context is lost, never has a
//!   slice.
#![expect(unsafe_code, reason = "makes the slices of a host function")]

use std::panic::Location;

use super::host_function::Trigger;
use super::memory_argument::{Accesses, HostFnArgument};
use super::view::StreamRef;
use crate::error::Result;

impl StreamRef<'_> {
    /// [`launch_host_fn`](Self::launch_host_fn) with memory, which the function receives as slices.
    ///
    /// `&memory` is read and `&mut memory` is written. The owner is borrowed only during this call: it may be
    /// dropped right after it, which then waits.
    ///
    /// # Ordering
    /// The function runs after every conflicting operation that was enqueued before, on any stream, such
    /// as the copy that fills the memory. Later conflicting operations, and the host, wait for it.
    ///
    /// # Errors
    /// Those of [`launch_host_fn`](Self::launch_host_fn); `Hazard` under `Policy::Error`.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{DeviceBuffer, PinnedBuffer, Stream, memcpy_async};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let device = DeviceBuffer::from_slice(&[1.0_f32, 2.0, 4.0])?;
    /// let (mut partial, mut sum) = (PinnedBuffer::<f32>::alloc(3)?, PinnedBuffer::<f32>::alloc(1)?);
    /// memcpy_async(&mut partial, &device, &stream)?;
    /// stream.launch_host_fn_with((&partial, &mut sum), |(partial, sum): (&[f32], &mut [f32])| {
    ///     sum[0] = partial.iter().sum();
    /// })?;
    /// assert_eq!(*sum.host()?, [7.0]); // waits for the function
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaLaunchHostFunc")]
    #[track_caller]
    pub fn launch_host_fn_with<A: HostFnArgument>(
        &self,
        memory: A,
        f: impl FnOnce(A::Slices<'_>) + Send + 'static,
    ) -> Result<()> {
        let mut accesses = Accesses::default();
        let parts = memory.parts(&mut accesses);
        // SAFETY: the function is called as this operation of the stream, at most once. The operation has
        // these accesses, so the memory lives and nothing conflicts until it returns: see above.
        let run = move |_| f(unsafe { A::slices(parts) });
        let (api, call_site) = ("StreamRef::launch_host_fn_with", Location::caller());
        // SAFETY: the function accesses the memory of these accesses and no other.
        unsafe { self.launch_task(api, call_site, &accesses.0, Trigger::Completed, Box::new(run)) }
    }
}
