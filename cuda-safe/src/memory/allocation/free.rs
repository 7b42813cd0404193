//! The end of memory: by its owner, by its drop, in the order of a stream, or later where the thread may not.
#![expect(unsafe_code, reason = "frees through the runtime")]

use std::mem::ManuallyDrop;
use std::panic::Location;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cuda_hazard::Operation;

use super::super::mapped::Mapped;
use super::super::relaxed::relax;
use super::{Allocation, Kind};
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::hazard::{Access, Ledger, Mode};
use crate::stream::{AsStream, Call, Stream, StreamRef};
use crate::{check, process, stream, sys};

impl Allocation {
    /// Waits for the work that still uses the memory and frees it.
    ///
    /// Where the thread may not wait or call the runtime, as in a host function, or where a capture does not
    /// permit the wait, the memory is freed later. Memory that work may still be using, because waiting
    /// failed, is leaked. Device memory of a lost context is given to the runtime all the same: nothing runs
    /// there any more.
    #[inline]
    #[track_caller]
    pub(crate) fn free(&mut self) -> Result<()> {
        if self.bytes == 0 {
            return Ok(());
        }
        // What was never given to a stream nobody uses, and most memory is of one kind.
        if self.kind == Kind::Device && self.ledger.is_unused() && !stream::in_callback() {
            return self.free_plain();
        }
        self.free_used()
    }

    /// [`free`](Self::free) for the only owner; nothing where there are others, of which the last one frees it.
    #[track_caller]
    pub(crate) fn free_owned(mut owner: Arc<Self>) -> Result<()> {
        // No closure in between, which would hide the caller's line.
        if let Some(allocation) = Arc::get_mut(&mut owner) { allocation.free() } else { Ok(()) }
    }

    /// [`free`](Self::free) of any memory that is not free yet.
    #[inline(never)]
    #[track_caller]
    fn free_used(&mut self) -> Result<()> {
        if stream::in_callback() {
            self.defer();
            return Err(Error::refused("free", Detail::InCallback));
        }
        if self.kind == Kind::Pool {
            return self.free_pool();
        }
        let quiet = stream::wait_host(&self.ledger, 0..self.bytes, Mode::Write);
        match (self.kind, quiet) {
            (_, Err(error)) if error.is_refused() || is_of_a_capture(&error) => {
                self.defer();
                Err(error)
            }
            (Kind::Device | Kind::Array | Kind::Mipmapped, Err(error)) if error.is_sticky() => {
                // The wait's error says more than the one that this call is bound to give.
                let _ = self.free_device();
                Err(error)
            }
            (_, Err(error)) => {
                self.bytes = 0;
                Err(error)
            }
            (Kind::Device | Kind::Pool | Kind::Managed | Kind::Array | Kind::Mipmapped, Ok(())) => {
                self.free_device()
            }
            (Kind::Pinned, Ok(())) => self.free_pinned(),
            (Kind::Foreign, Ok(())) => {
                self.bytes = 0;
                drop(self.container.take());
                Ok(())
            }
            (Kind::Registered, Ok(())) => {
                let unregistered = self.unregister();
                // Whatever comes of it, nobody tries again. Memory that may still be registered is leaked with its container.
                self.bytes = 0;
                if unregistered.is_ok() {
                    drop(self.container.take());
                }
                unregistered
            }
        }
    }

    /// Ends the registration of memory that is a container's.
    #[track_caller]
    pub(super) fn unregister(&self) -> Result<()> {
        let _current = self.device.switch()?;
        relax()?;
        // SAFETY: the pointer was given to cudaHostRegister and not unregistered since (`bytes` is 0 once it is, or the
        // container is leaked), and no work uses the memory.
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
            ledger: {
                let mut ledger = std::mem::replace(&mut self.ledger, Ledger::new(0));
                // Its owners are gone.
                ledger.not_kept();
                ledger
            },
            mapped: Mapped::default(),
            container: ManuallyDrop::new(self.container.take()),
        };
        stream::defer(Box::new(move || drop(later)));
    }

    #[track_caller]
    fn free_device(&mut self) -> Result<()> {
        if !matches!(self.kind, Kind::Array | Kind::Mipmapped) {
            return self.free_plain();
        }
        // Whatever comes of it, nobody frees the memory again.
        self.bytes = 0;
        self.free_array()
    }

    /// [`free_device`](Self::free_device) of what is no array.
    #[inline]
    #[track_caller]
    fn free_plain(&mut self) -> Result<()> {
        // Whatever comes of it, nobody frees the memory again.
        self.bytes = 0;
        relax()?;
        // Whatever device is current: the runtime knows by the address whose memory it is.
        // SAFETY: the pointer came from cudaMalloc or cudaMallocManaged, is freed only here (`bytes` is 0 from now on), and no work uses it.
        let freed = unsafe { check!(cudaFree(self.pointer.cast())) };
        freed_too();
        freed
    }

    #[track_caller]
    fn free_array(&self) -> Result<()> {
        let _current = self.device.switch()?;
        relax()?;
        if self.kind == Kind::Mipmapped {
            // SAFETY: the handle came from cudaMallocMipmappedArray, is freed only here, and no work uses the memory.
            unsafe { check!(cudaFreeMipmappedArray(self.pointer.cast())) }
        } else {
            // SAFETY: the handle came from cudaMallocArray or cudaMalloc3DArray, is freed only here, and no work uses the
            // memory.
            unsafe { check!(cudaFreeArray(self.pointer.cast())) }
        }
    }

    #[track_caller]
    fn free_pinned(&mut self) -> Result<()> {
        // Whatever comes of it, nobody frees the memory again.
        self.bytes = 0;
        relax()?;
        // Whatever device is current: the runtime knows by the address what the memory is.
        // SAFETY: the pointer came from cudaHostAlloc, is freed only here (`bytes` is 0 from now on), and no work uses it.
        let freed = unsafe { check!(cudaFreeHost(self.pointer.cast())) };
        freed_too();
        freed
    }

    /// Frees memory of a pool in the order of a stream, after all work that still uses it. Nothing where there are other owners.
    #[track_caller]
    pub(crate) fn free_on(mut owner: Arc<Self>, stream: StreamRef<'_>) -> Result<()> {
        if let Some(allocation) = Arc::get_mut(&mut owner) { allocation.free_only_on(stream) } else { Ok(()) }
    }

    /// [`free_on`](Self::free_on) for the only owner.
    #[inline]
    #[track_caller]
    fn free_only_on(&mut self, stream: StreamRef<'_>) -> Result<()> {
        // Nothing is freed into a graph, nor kept by it that is about to go.
        stream.ensure_not_captured("free_async")?;
        if self.bytes == 0 {
            return Ok(());
        }
        if self.kind != Kind::Pool {
            return self.free_used();
        }
        self.enqueue_free(stream)
    }

    #[inline]
    #[track_caller]
    fn enqueue_free(&mut self, stream: StreamRef<'_>) -> Result<()> {
        let asked = Call { api: "cudaFreeAsync", place: Location::caller(), bytes: 0 };
        let access = Access::write(&self.ledger, 0..self.bytes);
        // SAFETY: the allocation is borrowed exclusively until this returns.
        let access = [unsafe { access.exclusive() }];
        // SAFETY: the operation is a write of all the bytes and of nothing else, and it is put on this stream.
        let submission = unsafe { stream.begin(Operation::new(&access), asked.place) }?;
        // SAFETY: the pointer came from cudaMallocAsync, is freed only here (`bytes` is 0 once this succeeded), and the
        // stream, which is live, comes to this after all work that uses the memory.
        let code = unsafe { sys::cudaFreeAsync(self.pointer.cast(), stream.as_raw()) };
        submission.commit(code == sys::cudaSuccess);
        asked.check(code)?;
        self.bytes = 0;
        Ok(())
    }

    /// Frees memory of a pool on a stream that is there for nothing else, so that no stream of the program waits for it.
    #[track_caller]
    fn free_pool(&mut self) -> Result<()> {
        let freed = reaper(self.device).and_then(|stream| self.enqueue_free(stream.as_stream()));
        match &freed {
            Err(error) if error.is_refused() || is_of_a_capture(error) => self.defer(),
            // Whatever went wrong, nobody frees the memory again.
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
            // There never were any bytes, so the container was never registered either.
            drop(self.container.take());
        }
    }
}

impl Allocation {
    /// Frees what nobody has freed.
    #[inline(never)]
    fn end(&mut self) {
        // In the child of a fork the runtime is not usable and the memory is the parent's.
        if !process::is(self.process) {
            return;
        }
        // Nobody could take the error; `free` is for who wants it. At process exit the runtime only says that it is gone.
        let _ = self.free();
    }
}

/// Whether a wait has failed because of a capture, which is over some time.
fn is_of_a_capture(error: &Error) -> bool {
    [
        sys::cudaErrorStreamCaptureUnsupported,
        sys::cudaErrorStreamCaptureInvalidated,
        sys::cudaErrorStreamCaptureImplicit,
    ]
    .contains(&error.code())
}

/// Streams on which memory of pools is freed when its owner is dropped, one for each device that has had any.
static REAPERS: Mutex<Vec<&'static Stream>> = Mutex::new(Vec::new());

/// The stream on which memory of a device's pool is freed when its owner is dropped.
#[track_caller]
fn reaper(device: Device) -> Result<&'static Stream> {
    let mut reapers = REAPERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(reaper) = reapers.iter().find(|stream| stream.device() == device) {
        return Ok(reaper);
    }
    // For as long as the process lives.
    let reaper: &'static Stream =
        Box::leak(Box::new(Stream::builder().device(device).non_blocking().build()?));
    reapers.push(reaper);
    Ok(reaper)
}

/// Forgets the stream that frees memory of pools of a device, which a reset has taken with it.
pub(crate) fn abandon(device: Device) {
    REAPERS.lock().unwrap_or_else(PoisonError::into_inner).retain(|stream| stream.device() != device);
}

/// What else is to be freed where the program frees memory and so waits for the devices anyway.
static ON_FREE: OnceLock<fn()> = OnceLock::new();

/// Has `f` called, from now on, whenever memory of a device or pinned memory was freed. Of several functions the first counts.
#[cfg(feature = "staged")]
pub(crate) fn on_free(f: fn()) {
    let _ = ON_FREE.set(f);
}

fn freed_too() {
    if let Some(f) = ON_FREE.get() {
        f();
    }
}
