//! Waits for a whole device, and captures, which must not meet.
//!
//! While any thread captures, `cudaDeviceSynchronize` fails, whatever the modes of the capture and of the
//! calling thread, and it ends the capture. Driver 580 was also seen to crash in it (a segmentation fault on
//! an H100) while another thread began and ended captures. No other call of this crate touches another
//! thread's capture: captured streams are hidden and non-blocking, so the legacy stream does not wait for
//! them, and captures are thread-local.
//!
//! Therefore the two exclude each other here. While a thread captures, a wait for a device waits for each
//! of its streams that the tracker knows. A capture begins when no thread is inside `cudaDeviceSynchronize`.
//! That call comes after such waits, so it has little left to wait for, and delays no capture for long.
#![expect(unsafe_code, reason = "waits for devices")]

use std::cell::Cell;
use std::sync::{Condvar, Mutex, PoisonError};

use super::host_function::drop_tasks_if_lost;
use super::tracker::TRACKER;
use crate::check;
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::lock::lock;

/// The captures that have begun or wait for their turn, and the waits for devices. At most one of them is
/// under way.
struct Turns {
    captures: usize,
    waits: usize,
}

static TURNS: Mutex<Turns> = Mutex::new(Turns { captures: 0, waits: 0 });

/// Notified when the last wait has ended.
static NO_WAITS: Condvar = Condvar::new();

thread_local! {
    /// Whether the thread waits. CUDA may call a function of the program meanwhile, with a message.
    static WAITS: Cell<bool> = const { Cell::new(false) };
}

/// No thread waits for a whole device as long as this lives.
#[derive(Debug)]
pub(crate) struct CaptureTurn(());

impl CaptureTurn {
    /// Blocks until no thread is inside `cudaDeviceSynchronize`.
    ///
    /// # Errors
    /// `InCallback` if the calling thread is.
    #[track_caller]
    pub(crate) fn begin(api: &'static str) -> Result<Self> {
        if WAITS.get() {
            return Err(Error::refused(api, Detail::NESTED));
        }
        let mut turns = lock(&TURNS);
        // Counted first, so that no further wait begins.
        turns.captures += 1;
        while turns.waits != 0 {
            turns = NO_WAITS.wait(turns).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(Self(()))
    }
}

impl Drop for CaptureTurn {
    fn drop(&mut self) {
        lock(&TURNS).captures -= 1;
    }
}

/// No thread captures as long as this lives.
#[derive(Debug)]
pub(super) struct WaitTurn {
    /// Whether the thread waited already.
    nested: bool,
}

impl WaitTurn {
    /// Does not block.
    ///
    /// # Errors
    /// `Capture` while a thread captures.
    #[track_caller]
    pub(super) fn begin(api: &'static str) -> Result<Self> {
        let mut turns = lock(&TURNS);
        if turns.captures != 0 {
            return Err(Error::refused(api, Detail::CAPTURING));
        }
        turns.waits += 1;
        Ok(Self { nested: WAITS.replace(true) })
    }
}

impl Drop for WaitTurn {
    fn drop(&mut self) {
        WAITS.set(self.nested);
        let mut turns = lock(&TURNS);
        turns.waits -= 1;
        if turns.waits == 0 {
            NO_WAITS.notify_all();
        }
    }
}

/// Blocks until a device has completed everything submitted so far. May be called inside an operation.
///
/// # Errors
/// Returns the failure of any work that the device has run since the last check, and `Capture` while a
/// thread captures.
#[track_caller]
pub(crate) fn wait_device(device: Device) -> Result<()> {
    let turn = WaitTurn::begin("cudaDeviceSynchronize")?;
    let snapshot = TRACKER.snapshot_of_device(device.as_raw());
    let waited = {
        let _current = device.switch()?;
        // SAFETY: the call takes no arguments and waits.
        unsafe { check!(cudaDeviceSynchronize()) }
    };
    drop(turn);
    drop_tasks_if_lost(device, &waited);
    waited?;
    // SAFETY: the call above has waited for this work.
    unsafe { TRACKER.completed_all(&snapshot) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::wait_device;
    use crate::stream::{AsStream as _, CAPTURE_OR_WAIT, Stream};
    use crate::{Device, DeviceBuffer, PinnedBuffer, memcpy_async, memset_async};

    /// A wait for the device beside a capture of another thread: the capture stays whole, and the work is
    /// done.
    #[test]
    fn a_capture_and_a_wait_for_the_device_do_not_meet() {
        let _turn = crate::lock::lock(&CAPTURE_OR_WAIT);
        let (device, mut stream) = (Device::current().unwrap(), Stream::new().unwrap());
        let mut captured = DeviceBuffer::<u8>::alloc(64).unwrap();
        let (begun, told) = mpsc::channel();
        let (done, waited) = mpsc::channel();
        std::thread::scope(|threads| {
            threads.spawn(move || {
                told.recv().unwrap();
                let streams = [Stream::new().unwrap(), Stream::non_blocking().unwrap()];
                let mut out = [PinnedBuffer::<u8>::alloc(64).unwrap(), PinnedBuffer::alloc(64).unwrap()];
                for (n, (stream, out)) in (1..).zip(streams.iter().zip(&mut out)) {
                    let mut buffer = DeviceBuffer::<u8>::alloc(64).unwrap();
                    memset_async(&mut buffer, n, stream).unwrap();
                    memcpy_async(out, &buffer, stream).unwrap();
                    device.synchronize().unwrap();
                    assert!(stream.as_stream().timeline.is_drained());
                    assert_eq!(out.host().unwrap()[..], [n; 64]);
                }
                assert!(wait_device(device).unwrap_err().is_refused());
                done.send(()).unwrap();
            });
            let graph = stream.capture(|c| {
                memset_async(&mut captured, 1, c)?;
                begun.send(()).unwrap();
                waited.recv().unwrap();
                memset_async(&mut captured, 2, c)
            });
            assert_eq!(graph.unwrap().node_count().unwrap(), 2);
        });
        wait_device(device).unwrap();
    }
}
