//! The time of a kernel, in one line.

use std::time::Duration;

use crate::error::{Detail, Result, ensure};
use crate::stream::{AsStream, Event};

/// Returns the time that one of `repeats` operations takes on the device: launches, copies, or several of
/// both.
///
/// `operation` is called once before, which loads code and fills caches, and then `repeats` times between two
/// events of the stream. The result is the time between the events, divided by `repeats`. Blocks until it is
/// there. Many repeats hide what a launch costs, unless the operation takes less on the device than on the
/// host: then the result is the time of the host, a few microseconds a launch.
///
/// Stands for [`cudaEventElapsedTime`](crate::sys::cudaEventElapsedTime), whose resolution is about half a
/// microsecond.
///
/// # Errors
/// - The error of `operation`.
/// - The failure of work.
/// - `Argument` for 0 repeats.
/// - A refusal inside a host function and in a capture.
///
/// # Examples
/// ```
/// use cuda_safe::{DeviceBuffer, Stream, launch, memset_async};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let stream = Stream::non_blocking()?;
/// let mut buffer = DeviceBuffer::<u8>::alloc(1 << 20)?;
/// let time = launch::time_kernel(100, &stream, || memset_async(&mut buffer, 0, &stream))?;
/// println!("{time:?}");
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaEventElapsedTime")]
#[track_caller]
pub fn time_kernel(
    repeats: u32,
    stream: &impl AsStream,
    mut operation: impl FnMut() -> Result<()>,
) -> Result<Duration> {
    ensure(repeats > 0, "time_kernel", || Detail::zero("the number of repeats"))?;
    let stream = stream.as_stream();
    stream.ensure_not_captured("time_kernel")?;
    let device = stream.device();
    let flags = crate::EventFlags::empty();
    let (start, end) = (Event::with_device(device, flags)?, Event::with_device(device, flags)?);
    operation()?;
    start.record(&stream)?;
    for _ in 0..repeats {
        operation()?;
    }
    end.record(&stream)?;
    end.synchronize()?;
    Ok(Duration::from_secs_f64(f64::from(end.elapsed_ms(&start)?) / 1000.0) / repeats)
}
