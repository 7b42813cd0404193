//! A mode that waits for each launch, and names the one that failed.

use std::panic::Location;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::error::{Detail, Error, ErrorKind, Result};
use crate::stream::StreamRef;

const UNKNOWN: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

static MODE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// The environment variable that turns the mode on, if it is `1`.
const VARIABLE: &str = "CUDA_SAFE_LAUNCH_BLOCKING";

/// Sets whether each launch of a kernel or a graph waits until it is complete. The default is `false`, or
/// `true` if the environment variable `CUDA_SAFE_LAUNCH_BLOCKING` is `1`.
///
/// A kernel that fails while it runs is reported by a later call, which may be anywhere. In this mode the
/// launch itself returns the failure, with the kernel's name and the line of the program. Threads that launch
/// at the same time may all report it. CUDA's own `CUDA_LAUNCH_BLOCKING=1` waits, too, and names nothing.
///
/// The mode is for finding a fault: streams no longer overlap, and a kernel that waits for a later launch of
/// its thread never ends. Launches in a capture do not wait, and the launch of their graph does.
pub fn set_blocking(blocking: bool) {
    MODE.store(if blocking { ON } else { OFF }, Ordering::Relaxed);
}

/// Waits for a launch that was just made, in this mode.
#[inline]
pub(crate) fn settle(
    name: &'static str,
    stream: StreamRef<'_>,
    call_site: &'static Location<'static>,
) -> Result<()> {
    if MODE.load(Ordering::Relaxed) == OFF { Ok(()) } else { wait(name, stream, call_site) }
}

#[cold]
#[inline(never)]
fn wait(name: &'static str, stream: StreamRef<'_>, call_site: &'static Location<'static>) -> Result<()> {
    if MODE.load(Ordering::Relaxed) == UNKNOWN {
        let on = std::env::var_os(VARIABLE).is_some_and(|value| value == "1");
        // The program's choice wins.
        let mode = if on { ON } else { OFF };
        let _ = MODE.compare_exchange(UNKNOWN, mode, Ordering::Relaxed, Ordering::Relaxed);
    }
    if MODE.load(Ordering::Relaxed) != ON || stream.is_capturing() {
        return Ok(());
    }
    stream.synchronize().map_err(|error| {
        // Not the failure of a kernel: a refusal, or a host function that has panicked.
        if !error.is_sticky() {
            return error.at(call_site);
        }
        let text = "the launch at this line failed while it ran: each launch is waited for, and those before \
                    it were complete without an error";
        Error::from_code(name, error.code()).at(call_site).with_detail(Detail::new(ErrorKind::Call, text))
    })
}
