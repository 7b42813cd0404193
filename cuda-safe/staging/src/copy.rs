//! The interface: a copy is prepared, and then runs.
#![expect(unsafe_code, reason = "declares the unsafe way in")]

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

use cuda_sys as sys;

use crate::pinned::StagingRing;
use crate::plan::{Layout, NEW_BYTES, Plan, Request, Settings, Traffic, earned, is_never_staged, settings};
use crate::runtime::{CurrentDevice, RelaxedCapture, Result, may_call};
use crate::transfer::{Transfer, Wait, wait_for};
use crate::{Direction, pinned, pool, system};

/// A copy that is going to be staged: it has everything that it needs.
#[derive(Debug)]
pub struct Prepared {
    device: c_int,
    direction: Direction,
    layout: Layout,
    plan: Plan,
    ring: StagingRing,
}

/// Prepares a copy between pageable memory and a device, by ordinal; returns `None` if `cudaMemcpy` should
/// make it.
///
/// `new` is the start of the host's memory if that was allocated just now and has not been touched.
///
/// The calling thread may wait here for the device, because page-locked memory may be allocated. It may not
/// be in a host function ([`Hooks::may_call`](crate::Hooks::may_call)).
pub fn prepare(
    device: c_int,
    direction: Direction,
    layout: Layout,
    new: Option<*mut u8>,
    traffic: Traffic,
) -> Option<Prepared> {
    let bytes = layout.bytes();
    let settings = settings();
    if bytes == 0 || is_never_staged(bytes) || !may_call() {
        return None;
    }
    let new = new.filter(|_| bytes >= NEW_BYTES);
    let request =
        Request { direction, bytes, is_new: new.is_some(), processors: pool::processors(), traffic };
    let prepared = with_ring(device, layout, &request, &settings);
    if prepared.is_none()
        && settings.enabled
        && layout.flattened().rows == 1
        && let Some(memory) = new
    {
        // Otherwise `cudaMemcpy` makes the system provide one page after the other.
        system::populate(memory, bytes);
    }
    prepared
}

fn with_ring(device: c_int, layout: Layout, request: &Request, settings: &Settings) -> Option<Prepared> {
    let plan = Plan::new(request, settings)?;
    let earned = earned(request, settings);
    let _current = CurrentDevice::new(device).ok()?;
    // Without memory or a stream, the runtime makes the copy.
    let ring = StagingRing::take(device, settings.slot_bytes(), settings.pinned, earned).ok()??;
    Some(Prepared { device, direction: request.direction, layout, plan, ring })
}

impl Prepared {
    /// Returns the direction of the copy.
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Waits for all work that was submitted to a stream, usually the legacy stream, and makes the copy. It
    /// is complete on return.
    ///
    /// The device is current during the call, and the capture mode of the thread is relaxed.
    ///
    /// # Errors
    /// Returns the first failure of any thread, or of work that was submitted to the device before.
    ///
    /// # Safety
    /// - Both sides are memory as large as the layout that the copy was prepared with, the device's of its
    ///   device.
    /// - Until this returns, nothing but work that the legacy stream waits for writes to the side that is
    ///   read, or reaches the side that is written.
    /// - `stream` is a stream of the device.
    pub unsafe fn run(
        self,
        stream: sys::cudaStream_t,
        wait: Wait,
        host: *mut u8,
        device: *mut u8,
    ) -> Result<()> {
        // If one of these fails, the drop returns the ring to the cache.
        let _current = CurrentDevice::new(self.device)?;
        let _relaxed = RelaxedCapture::new()?;
        let slots = self.ring.slots(self.plan.sizes.most);
        // SAFETY: this copy is the only user of the ring, which belongs to the current device. The stream
        // is one of that device. If this fails, nothing was submitted to the stream of the ring.
        let waited = unsafe { wait_for(stream, slots.event(0), wait) }?;
        let (layout, plan) = (self.layout, if waited { self.plan.after_a_wait() } else { self.plan });
        // SAFETY: the caller guarantees both sides until `run` has ended, which is after the last thread
        // has left. The slots are those of the ring, which is then returned to the cache or drained.
        let transfer =
            unsafe { Transfer::new(self.device, self.direction, (host, device), layout, plan, slots) };
        pool::run(transfer, self.ring)?;
        COPIES.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(layout.bytes() as u64, Ordering::Relaxed);
        Ok(())
    }
}

/// Requests large pages for memory that a copy will fill: the system then provides it sooner. Does nothing
/// if staging is switched off, or for less than 8 MiB.
pub fn request_large_pages<T>(memory: &mut [MaybeUninit<T>]) {
    /// Less memory keeps pages of the usual size.
    const LARGE: usize = 8 << 20;
    let bytes = size_of_val(memory);
    if bytes >= LARGE && settings().enabled {
        system::advise_large_pages(memory.as_mut_ptr().cast(), bytes);
    }
}

/// Counts of the copies so far, and the memory and threads that the crate holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Copies that were staged.
    pub copies: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Bytes of page-locked memory that the crate holds.
    pub pinned: usize,
    /// The most that it ever held.
    pub most_pinned: usize,
    /// Worker threads, idle ones included.
    pub workers: usize,
}

static COPIES: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// Returns the counts of the copies so far, and the memory and threads that the crate holds now.
#[must_use]
pub fn statistics() -> Statistics {
    let (pinned, most_pinned) = pinned::held();
    Statistics {
        copies: COPIES.load(Ordering::Relaxed),
        bytes: BYTES.load(Ordering::Relaxed),
        pinned,
        most_pinned,
        workers: pool::workers(),
    }
}

#[cfg(test)]
mod tests {
    //! The result of a copy if a step fails in the middle of it, and the state after a copy.

    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::ptr;
    use std::sync::atomic::AtomicUsize;
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

    use super::*;
    use crate::pinned::{SLOTS, release_unused_for, rings_in_use};
    use crate::runtime::fail_point::{Point, arm};
    use crate::runtime::{Error, Hooks, check, install, set_device};
    use crate::{configure, release};

    const CHUNK: usize = 4096;

    /// One test at a time, with small chunks from the first byte on and no failures. At its end all rings
    /// are back in the cache.
    struct Alone(#[expect(dead_code, reason = "held")] MutexGuard<'static, ()>);

    fn alone(threads: usize, pinned: usize) -> Alone {
        static ALONE: Mutex<()> = Mutex::new(());
        let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let hooks = Hooks { may_call: || true, is_sticky: |code| code == sys::cudaErrorIllegalAddress };
        // SAFETY: no test calls in a host function, and the context is lost after an illegal address.
        unsafe { install(hooks) };
        arm(None);
        release().unwrap();
        let (threshold, threads, chunk) = (Some(1), Some(threads), Some(CHUNK));
        configure(Settings { threshold, threads, chunk, pinned, ..Settings::default() });
        Alone(guard)
    }

    impl Drop for Alone {
        fn drop(&mut self) {
            arm(None);
            if !std::thread::panicking() {
                assert_eq!(rings_in_use(), 0, "a ring has not come back");
            }
        }
    }

    fn bytes(len: usize) -> Vec<u8> {
        (0..=250).cycle().take(len).collect()
    }

    fn injected(code: sys::cudaError_t) -> Error {
        Error::new("injected", code)
    }

    /// Returns whether this is a thread of the pool, and not the caller.
    fn is_worker() -> bool {
        std::thread::current().name() == Some(pool::WORKER)
    }

    /// Memory of device 0.
    struct Memory {
        pointer: *mut u8,
        bytes: usize,
    }

    impl Memory {
        fn new(bytes: usize) -> Self {
            let mut pointer = ptr::null_mut();
            // SAFETY: the pointer is to a live variable, which the call fills.
            unsafe { check!(cudaMalloc(&raw mut pointer, bytes)) }.unwrap();
            Self { pointer: pointer.cast(), bytes }
        }

        /// Copies to the device; `None` if the copy is not staged.
        fn try_write(&mut self, from: &[u8]) -> Option<Result<()>> {
            assert_eq!(from.len(), self.bytes);
            let layout = Layout::linear(self.bytes);
            let prepared = prepare(0, Direction::HostToDevice, layout, None, Traffic::OneWay)?;
            let from = from.as_ptr().cast_mut();
            // SAFETY: both sides have as many bytes as the layout, and nothing else uses them.
            Some(unsafe { prepared.run(ptr::null_mut(), Wait::Spin, from, self.pointer) })
        }

        fn write(&mut self, from: &[u8]) -> Result<()> {
            self.try_write(from).expect("staged")
        }

        /// Copies from the device; `None` if the copy is not staged.
        fn try_read(&self) -> Option<Vec<u8>> {
            let mut to = vec![0; self.bytes];
            let layout = Layout::linear(self.bytes);
            let prepared = prepare(0, Direction::DeviceToHost, layout, None, Traffic::OneWay)?;
            // SAFETY: as in `try_write`.
            unsafe { prepared.run(ptr::null_mut(), Wait::Sleep, to.as_mut_ptr(), self.pointer) }.unwrap();
            Some(to)
        }

        fn read(&self) -> Vec<u8> {
            self.try_read().expect("staged")
        }
    }

    impl Drop for Memory {
        fn drop(&mut self) {
            // SAFETY: this is the only owner, and no copy is under way.
            unsafe { check!(cudaFree(self.pointer.cast())) }.unwrap();
        }
    }

    #[test]
    fn a_chunk_that_fails_ends_the_copy_with_one_error_and_the_next_copy_works() {
        let _alone = alone(4, 1 << 20);
        let host = bytes(100 * CHUNK);
        let mut device = Memory::new(host.len());
        for fails_at in [0, 1, 2, 17, 60] {
            let count = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&count);
            arm(Some(Arc::new(move |point| {
                if point == Point::Submit && counted.fetch_add(1, Ordering::Relaxed) >= fails_at {
                    return Err(injected(sys::cudaErrorInvalidValue));
                }
                Ok(())
            })));
            let error = device.write(&host).unwrap_err();
            assert_eq!((error.api(), error.code()), ("injected", sys::cudaErrorInvalidValue));
            assert_eq!(
                count.load(Ordering::Relaxed),
                fails_at + 1,
                "nothing is submitted after the first failure"
            );
            arm(None);
            device.write(&host).unwrap();
            assert_eq!(device.read(), host);
        }
    }

    #[test]
    fn without_page_locked_memory_no_copy_is_staged() {
        let _alone = alone(4, 1 << 20);
        let host = bytes(10 * CHUNK);
        let mut device = Memory::new(host.len());
        arm(Some(Arc::new(|point| match point {
            Point::Allocate => Err(injected(sys::cudaErrorMemoryAllocation)),
            _ => Ok(()),
        })));
        let before = statistics();
        assert!(device.try_write(&host).is_none());
        assert_eq!(statistics(), before);
    }

    #[test]
    fn after_a_sticky_error_slots_are_leaked_and_never_returned() {
        let _alone = alone(1, 1 << 20);
        let host = bytes(10 * CHUNK);
        let mut device = Memory::new(host.len());
        arm(Some(Arc::new(|point| match point {
            Point::Submit => Err(injected(sys::cudaErrorInvalidValue)),
            Point::Drained => Err(injected(sys::cudaErrorIllegalAddress)),
            _ => Ok(()),
        })));
        let before = statistics().pinned;
        let error = device.write(&host).unwrap_err();
        assert_eq!(error.code(), sys::cudaErrorInvalidValue, "the first one counts");
        arm(None);
        assert_eq!(statistics().pinned, before + SLOTS * CHUNK);
        release().unwrap();
        assert_eq!(statistics().pinned, before + SLOTS * CHUNK, "nothing gives it back");
        device.write(&host).unwrap();
        assert_eq!(device.read(), host);
    }

    #[test]
    fn a_caller_that_panics_leaves_nothing_in_flight() {
        let _alone = alone(3, 1 << 20);
        let host = bytes(50 * CHUNK);
        let mut device = Memory::new(host.len());
        // Workers wait until the caller has reached a piece of its own.
        let came = Arc::new((Mutex::new(false), Condvar::new()));
        arm(Some(Arc::new(move |point| {
            if point == Point::Move {
                let mut called = came.0.lock().unwrap_or_else(PoisonError::into_inner);
                if !is_worker() {
                    *called = true;
                    came.1.notify_all();
                    drop(called);
                    std::panic::resume_unwind(Box::new("on purpose"));
                }
                drop(came.1.wait_while(called, |called| !*called));
            }
            Ok(())
        })));
        let panicked = catch_unwind(AssertUnwindSafe(|| device.write(&host)));
        assert!(panicked.is_err());
        assert_eq!(rings_in_use(), 0);
        arm(None);
        device.write(&host).unwrap();
        assert_eq!(device.read(), host);
    }

    #[test]
    fn a_worker_that_panics_is_an_error_of_the_copy() {
        let _alone = alone(3, 1 << 20);
        let host = bytes(50 * CHUNK);
        let mut device = Memory::new(host.len());
        // The caller waits at its first piece until a worker has reached a piece of its own.
        let came = Arc::new((Mutex::new(false), Condvar::new()));
        arm(Some(Arc::new(move |point| {
            if point == Point::Move {
                let mut helped = came.0.lock().unwrap_or_else(PoisonError::into_inner);
                if is_worker() {
                    *helped = true;
                    came.1.notify_all();
                    drop(helped);
                    std::panic::resume_unwind(Box::new("on purpose"));
                }
                drop(came.1.wait_while(helped, |helped| !*helped));
            }
            Ok(())
        })));
        let error = device.write(&host).unwrap_err();
        assert_eq!(error.code(), sys::cudaErrorUnknown, "{error}");
        arm(None);
        device.write(&host).unwrap();
        assert_eq!(device.read(), host);
    }

    #[test]
    fn page_locked_memory_stays_within_its_bound_however_many_copy() {
        let bound = 3 * SLOTS * CHUNK;
        let _alone = alone(8, bound);
        let leaked = statistics().pinned;
        configure(Settings { pinned: leaked + bound, ..settings() });
        let host = bytes(64 * CHUNK);
        let peak = AtomicUsize::new(0);
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    let mut device = Memory::new(host.len());
                    let mut is_written = false;
                    for _ in 0..5 {
                        // The fourth thread may find no ring.
                        if let Some(written) = device.try_write(&host) {
                            written.unwrap();
                            is_written = true;
                        }
                        let read = device.try_read();
                        assert!(!is_written || read.is_none_or(|read| read == host));
                        peak.fetch_max(statistics().pinned, Ordering::Relaxed);
                    }
                });
            }
        });
        let peak = peak.into_inner();
        assert!(peak > leaked && peak <= leaked + bound, "{peak}");
        // Memory that no copy has used for a while is freed.
        release_unused_for(std::time::Duration::from_secs(3600));
        assert!(statistics().pinned > leaked);
        release_unused_for(std::time::Duration::ZERO);
        assert_eq!(statistics().pinned, leaked);
    }

    #[test]
    fn memory_that_the_runtime_refuses_to_free_is_freed_by_the_next_release() {
        let _alone = alone(2, 1 << 20);
        let host = bytes(10 * CHUNK);
        let mut device = Memory::new(host.len());
        let before = statistics().pinned;
        device.write(&host).unwrap();
        arm(Some(Arc::new(|point| match point {
            Point::Free => Err(injected(sys::cudaErrorNotPermitted)),
            _ => Ok(()),
        })));
        assert_eq!(release().unwrap_err().code(), sys::cudaErrorNotPermitted);
        assert!(statistics().pinned > before, "it is still held");
        arm(None);
        device.write(&host).unwrap();
        release().unwrap();
        assert_eq!(statistics().pinned, before);
    }

    #[test]
    fn during_a_global_capture_of_another_thread_copies_work_and_the_capture_ends_well() {
        let _alone = alone(3, 1 << 20);
        let host = bytes(50 * CHUNK);
        let mut device = Memory::new(host.len());
        let (begun, begins) = channel();
        let (copied, copies) = channel::<()>();
        let capture = std::thread::spawn(move || {
            let (mut stream, mut graph) = (ptr::null_mut(), ptr::null_mut());
            // SAFETY: the pointer is to a live variable, which the call fills.
            unsafe { check!(cudaStreamCreateWithFlags(&raw mut stream, sys::cudaStreamNonBlocking)) }?;
            // SAFETY: this thread is the only user of the stream.
            unsafe { check!(cudaStreamBeginCapture(stream, sys::cudaStreamCaptureModeGlobal)) }?;
            begun.send(()).unwrap();
            let _ = copies.recv();
            // SAFETY: this thread is the only user of the stream. The pointer is to a live variable, which
            // the call fills.
            let ended = unsafe { check!(cudaStreamEndCapture(stream, &raw mut graph)) };
            // SAFETY: this thread is the only owner of the graph, which is unused.
            ended.and_then(|()| unsafe { check!(cudaGraphDestroy(graph)) })?;
            // SAFETY: this thread is the only user of the stream.
            unsafe { check!(cudaStreamDestroy(stream)) }
        });
        begins.recv().unwrap();
        // The first one allocates a ring. Both query events from several threads.
        device.write(&host).unwrap();
        assert_eq!(device.read(), host);
        copied.send(()).unwrap();
        capture.join().unwrap().unwrap();
    }

    #[test]
    fn a_copy_leaves_the_capture_mode_and_the_device_of_the_thread_as_they_were() {
        let _alone = alone(2, 1 << 20);
        let host = bytes(10 * CHUNK);
        let mut device = Memory::new(host.len());
        for mode in [sys::cudaStreamCaptureModeGlobal, sys::cudaStreamCaptureModeThreadLocal] {
            let mut exchanged = mode;
            // SAFETY: the pointer is to a live variable, which the call reads and fills.
            unsafe { check!(cudaThreadExchangeStreamCaptureMode(&raw mut exchanged)) }.unwrap();
            device.write(&host).unwrap();
            release().unwrap();
            // SAFETY: the pointer is to a live variable, which the call reads and fills.
            unsafe { check!(cudaThreadExchangeStreamCaptureMode(&raw mut exchanged)) }.unwrap();
            assert_eq!(exchanged, mode);
        }
        let (mut count, mut current) = (0, -1);
        // SAFETY: the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaGetDeviceCount(&raw mut count)) }.unwrap();
        set_device(count - 1).unwrap();
        device.write(&host).unwrap();
        assert_eq!(device.read(), host);
        // SAFETY: the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaGetDevice(&raw mut current)) }.unwrap();
        assert_eq!(current, count - 1);
        set_device(0).unwrap();
    }
}
