//! Freeing memory: by its owner, by a drop, in stream order, or later if the thread may not free it now.
#![expect(unsafe_code, reason = "frees through the runtime")]

use std::mem::ManuallyDrop;
use std::panic::Location;
use std::sync::atomic::AtomicPtr;
use std::sync::{Arc, Mutex, OnceLock};

use cuda_hazard::Operation;

use super::super::pool::PoolCall;
use super::{Allocation, Allocator};
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::hazard::{Access, AccessHistory, Mode};
use crate::lock::lock;
use crate::stream::relax;
use crate::stream::{AsStream, Call, Stream, StreamRef};
use crate::{check, process, stream, sys};

impl Allocation {
    /// Waits for the work that still uses the memory, and frees it.
    ///
    /// If the thread may not wait or call the runtime, as in a host function, or if a capture does not
    /// permit the wait, the memory is freed later. If waiting fails, work may still use the memory, and it
    /// is leaked. Device memory of a lost context is freed all the same, because nothing runs there any
    /// more.
    #[inline]
    #[track_caller]
    pub(crate) fn free(&mut self) -> Result<()> {
        if self.bytes == 0 {
            return Ok(());
        }
        // Fast path for the most frequent kind: no work uses memory that was never submitted to a stream.
        if self.kind == Allocator::Device && self.history.is_unused() && !stream::in_callback() {
            return self.free_plain();
        }
        self.free_used()
    }

    /// As [`free`](Self::free), for the only owner. Does nothing if there are others: the last of them
    /// frees the memory.
    #[track_caller]
    pub(crate) fn free_owned(mut owner: Arc<Self>) -> Result<()> {
        // No closure here: it would hide the caller's location.
        if let Some(allocation) = Arc::get_mut(&mut owner) { allocation.free() } else { Ok(()) }
    }

    /// As [`free`](Self::free), for memory with bytes that are not yet freed.
    #[inline(never)]
    #[track_caller]
    fn free_used(&mut self) -> Result<()> {
        if stream::in_callback() {
            self.defer();
            return Err(Error::refused("free", Detail::IN_CALLBACK));
        }
        if self.kind == Allocator::Pool {
            return self.free_pool();
        }
        let quiet = stream::wait_host(&self.history, 0..self.bytes, Mode::Write);
        let Err(error) = quiet else { return self.free_quiet() };
        if error.is_refused() || is_of_a_capture(&error) {
            self.defer();
        } else if error.is_sticky()
            && matches!(self.kind, Allocator::Device | Allocator::Array | Allocator::Mipmapped)
        {
            // The wait's error says more than the error that this call returns after it.
            let _ = self.free_quiet();
        } else {
            self.bytes = 0;
        }
        Err(error)
    }

    /// Frees memory that no work uses. Whether this succeeds or fails, nobody frees the memory again.
    #[track_caller]
    fn free_quiet(&mut self) -> Result<()> {
        self.bytes = 0;
        match self.kind {
            Allocator::Device | Allocator::Pool | Allocator::Managed => self.free_plain(),
            Allocator::Pinned => {
                relax()?;
                // Any device may be current: the runtime finds the memory by the address.
                // SAFETY: the pointer came from `cudaHostAlloc`. It is freed only here (`bytes` is 0 from now
                // on), and no work uses it.
                let freed = unsafe { check!(cudaFreeHost(self.pointer.cast())) };
                freed_too();
                freed
            }
            Allocator::Array | Allocator::Mipmapped => self.free_array(),
            Allocator::Foreign => {
                drop(self.container.take());
                Ok(())
            }
            Allocator::Registered => {
                // After an error, memory that may still be registered is leaked with its container.
                self.unregister_host()?;
                drop(self.container.take());
                Ok(())
            }
        }
    }

    /// Ends the registration of a container's memory.
    #[track_caller]
    pub(super) fn unregister_host(&self) -> Result<()> {
        let _current = self.device.switch()?;
        relax()?;
        // SAFETY: the pointer was passed to `cudaHostRegister` and has not been unregistered since: `bytes`
        // is 0 after that, or the container is leaked. No work uses the memory.
        unsafe { check!(cudaHostUnregister(self.pointer.cast())) }
    }

    /// Leaves the memory to the next thread that may free it.
    fn defer(&mut self) {
        let later = Self {
            pointer: self.pointer,
            bytes: std::mem::take(&mut self.bytes),
            device: self.device,
            kind: self.kind,
            process: self.process,
            history: {
                let mut history = std::mem::replace(&mut self.history, AccessHistory::new(0));
                // The access history leaves its owner, so no further owners can be made.
                history.clear_retain_fn();
                history
            },
            mapped: AtomicPtr::default(),
            container: ManuallyDrop::new(self.container.take()),
        };
        stream::defer(Box::new(move || drop(later)));
    }

    /// Frees memory other than arrays, which the runtime finds by its address.
    #[inline]
    #[track_caller]
    fn free_plain(&mut self) -> Result<()> {
        // Whether this succeeds or fails, nobody frees the memory again.
        self.bytes = 0;
        relax()?;
        let _under_way = PoolCall::begin();
        // Any device may be current: the runtime finds the memory's device by the address.
        // SAFETY: the pointer came from `cudaMalloc` or `cudaMallocManaged`. It is freed only here (`bytes`
        // is 0 from now on), and no work uses it.
        let freed = unsafe { check!(cudaFree(self.pointer.cast())) };
        freed_too();
        freed
    }

    #[track_caller]
    fn free_array(&self) -> Result<()> {
        let _current = self.device.switch()?;
        relax()?;
        if self.kind == Allocator::Mipmapped {
            // SAFETY: the handle came from `cudaMallocMipmappedArray`. It is freed only here, and no work
            // uses the memory.
            unsafe { check!(cudaFreeMipmappedArray(self.pointer.cast())) }
        } else {
            // SAFETY: the handle came from `cudaMallocArray` or `cudaMalloc3DArray`. It is freed only here,
            // and no work uses the memory.
            unsafe { check!(cudaFreeArray(self.pointer.cast())) }
        }
    }

    /// Frees memory from a pool in stream order, after all work that still uses it. Does nothing if there
    /// are other owners.
    #[track_caller]
    pub(crate) fn free_on(mut owner: Arc<Self>, stream: StreamRef<'_>) -> Result<()> {
        let Some(this) = Arc::get_mut(&mut owner) else { return Ok(()) };
        // A capture would record the free in its graph, and retain memory that is about to go.
        stream.ensure_not_captured("free_async")?;
        match this.kind {
            _ if this.bytes == 0 => Ok(()),
            Allocator::Pool => this.enqueue_free(stream),
            _ => this.free_used(),
        }
    }

    #[inline]
    #[track_caller]
    fn enqueue_free(&mut self, stream: StreamRef<'_>) -> Result<()> {
        let asked = Call { api: "cudaFreeAsync", call_site: Location::caller(), bytes: 0 };
        let access = Access::write(&self.history, 0..self.bytes);
        // SAFETY: the allocation is borrowed exclusively until this returns.
        let access = [unsafe { access.exclusive() }];
        // SAFETY: the operation is put on this stream. It is a write of all the bytes and of nothing else.
        let submission = unsafe { stream.begin(Operation::new(&access), asked.call_site) }?;
        let under_way = PoolCall::begin();
        // SAFETY: the pointer came from `cudaMallocAsync` and is freed only here: `bytes` is 0 once this
        // succeeds. The stream is live, and executes this after all work that uses the memory.
        let code = unsafe { sys::cudaFreeAsync(self.pointer.cast(), stream.as_raw()) };
        drop(under_way);
        submission.commit(code == sys::cudaSuccess);
        asked.check(code)?;
        self.bytes = 0;
        Ok(())
    }

    /// Frees memory from a pool: on the stream that alone still uses it, or else on a stream with no other
    /// work, so that no stream of the program waits for the others.
    #[track_caller]
    fn free_pool(&mut self) -> Result<()> {
        let free = |stream| {
            let _under_way = PoolCall::begin();
            // SAFETY: the allocation is borrowed exclusively. The pointer came from `cudaMallocAsync` and is
            // freed only here: `bytes` is 0 once this succeeds.
            unsafe { sys::cudaFreeAsync(self.pointer.cast(), stream) }
        };
        // SAFETY: the call frees this memory and does nothing else. This is the only owner.
        let freed = match unsafe { stream::enqueue_free(&self.history, self.device, free) } {
            Some(code) => Error::check("cudaFreeAsync", code),
            None => reaper(self.device).and_then(|stream| self.enqueue_free(stream.as_stream())),
        };
        match &freed {
            Err(error) if error.is_refused() || is_of_a_capture(error) => self.defer(),
            // On any other error, nobody frees the memory again.
            _ => self.bytes = 0,
        }
        freed
    }
}

impl Drop for Allocation {
    #[inline]
    fn drop(&mut self) {
        if self.bytes != 0 {
            self.end();
        } else if self.pointer.is_null() {
            // The size was 0 from the beginning, so the container was never registered either.
            drop(self.container.take());
        }
    }
}

impl Allocation {
    /// Frees the memory if nobody has freed it.
    #[inline(never)]
    fn end(&mut self) {
        // In the child of a fork the runtime is unusable, and the memory is the parent's.
        if !process::is(self.process) {
            return;
        }
        // A drop cannot return the error; `free` can. At process exit the runtime only reports that it is
        // gone.
        let _ = self.free();
    }
}

/// Returns whether a wait failed because of a capture, which ends at some time.
fn is_of_a_capture(error: &Error) -> bool {
    [
        sys::cudaErrorStreamCaptureUnsupported,
        sys::cudaErrorStreamCaptureInvalidated,
        sys::cudaErrorStreamCaptureImplicit,
    ]
    .contains(&error.code())
}

/// The streams that free memory from pools when its owner is dropped: one for each device that has had such
/// memory.
static REAPERS: Mutex<Vec<&'static Stream>> = Mutex::new(Vec::new());

/// Returns the stream that frees memory of a device's pool when its owner is dropped.
#[track_caller]
fn reaper(device: Device) -> Result<&'static Stream> {
    let mut reapers = lock(&REAPERS);
    if let Some(reaper) = reapers.iter().find(|stream| stream.device() == device) {
        return Ok(reaper);
    }
    // Leaked, because it lives as long as the process.
    let reaper: &'static Stream =
        Box::leak(Box::new(Stream::builder().device(device).non_blocking().build()?));
    reapers.push(reaper);
    Ok(reaper)
}

/// Forgets the stream of a device that is reset, which destroys the stream.
pub(crate) fn abandon(device: Device) {
    lock(&REAPERS).retain(|stream| stream.device() != device);
}

/// Frees other memory, too, when the program frees memory and thereby waits for the devices anyway.
static ON_FREE: OnceLock<fn()> = OnceLock::new();

/// Registers a function to call after each free of device, managed or pinned memory. Only the first
/// function is registered.
#[cfg(feature = "staged")]
pub(crate) fn on_free(f: fn()) {
    let _ = ON_FREE.set(f);
}

fn freed_too() {
    if let Some(f) = ON_FREE.get() {
        f();
    }
}
