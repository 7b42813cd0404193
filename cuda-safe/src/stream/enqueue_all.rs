//! Submission of one call to several streams: begin, call, commit.
//!
//! [`cuda_hazard`] has the argument why threads that submit to several streams do not wait for each other in
//! a circle. This file adds two facts. Nothing is locked while the streams are checked and their devices are
//! made current. And a wait that is added to a default stream is made with that stream's device current,
//! which the other streams of the call may have changed.
#![expect(unsafe_code, reason = "declares the unsafe function that submits work to several streams")]

use std::panic::Location;

use cuda_hazard::{EventBackend, StreamAccesses, Timeline, WaitMethod};

use super::enqueue::refused;
use super::port::Runtime;
use super::tracker::TRACKER;
use super::view::{AsStream, StreamRef};
use crate::busy;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::hazard::Access;
use crate::sys;

/// Submits one call that gives work to several streams, each ordered after all work that conflicts with its
/// own accesses.
///
/// This is for calls that submit to several streams at once: the end of a group of NCCL's, a transform on
/// several devices. `f` receives the raw streams in the order of `streams` and makes the calls. A stream that
/// is named twice has the accesses of both. `f` may return the library's own error type, to which [`Error`]
/// converts.
///
/// # Ordering
/// As [`StreamRef::enqueue`], for each stream. The parts of one call are not ordered with each other.
///
/// # Errors
/// - The error of `f`.
/// - `Hazard` if two streams access the same bytes and one of them writes.
/// - `Capture` while the thread makes a capture.
/// - Those of [`StreamRef::enqueue`].
///
/// # Safety
/// - The duties of [`StreamRef::enqueue`] for each stream and its accesses.
/// - The handle of a legacy stream or a per-thread stream stands for that of the current device. If `streams`
///   has such streams of several devices, `f` makes the device of each current for its work. Whatever it
///   makes current, the former device is current again when this returns.
///
/// A thread that waits for another one inside of `f`, as the first collective of a communicator may, waits
/// for ever if that one needs one of these streams, or memory that these accesses conflict with.
///
/// # Examples
/// ```
/// use cuda_safe::hazard::Access;
/// use cuda_safe::stream::enqueue_all;
/// use cuda_safe::{DeviceBuffer, Stream, check};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let (s0, s1) = (Stream::new()?, Stream::new()?);
/// let (mut a, mut b) = (DeviceBuffer::<u8>::alloc(64)?, DeviceBuffer::<u8>::alloc(64)?);
/// let pointers = [a.as_mut_ptr(), b.as_mut_ptr()];
/// let (write_a, write_b) = (a.access_mut(), b.access_mut());
/// // SAFETY: each stream is given a fill of the buffer that is declared for it.
/// unsafe {
///     enqueue_all(&[(&s0, &[write_a]), (&s1, &[write_b])], |raws| {
///         for (raw, pointer) in raws.iter().zip(pointers) {
///             check!(cudaMemsetAsync(pointer.cast(), 7, 64, *raw))?;
///         }
///         cuda_safe::Result::Ok(())
///     })
/// }?;
/// assert_eq!((a.to_vec()?, b.to_vec()?), (vec![7; 64], vec![7; 64]));
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub unsafe fn enqueue_all<S: AsStream, R, E: From<Error>>(
    streams: &[(&S, &[Access<'_>])],
    f: impl FnOnce(&[sys::cudaStream_t]) -> core::result::Result<R, E>,
) -> core::result::Result<R, E> {
    let call_site = Location::caller();
    let at = |error: Error| error.at(call_site);
    let _entered = busy::enter("enqueue_all")?;
    let views: Vec<StreamRef<'_>> = streams.iter().map(|(stream, _)| stream.as_stream()).collect();
    // If one of them is captured, the error states that rather than that another one is not.
    if let Some(view) = views.iter().find(|view| view.is_capturing()).or(views.first()) {
        view.ensure_not_captured("enqueue_all").map_err(at)?;
    }
    // Dropped last, also after whatever `f` makes current.
    let _former = Device::restored().map_err(at)?;
    let _current: Vec<_> = views.iter().map(StreamRef::switch).collect::<Result<_>>().map_err(at)?;
    let parts: Vec<StreamAccesses<'_, '_, '_, _>> = views
        .iter()
        .zip(streams)
        .map(|(view, (_, accesses))| StreamAccesses {
            timeline: view.timeline,
            accesses,
            backend: OnStream(*view),
        })
        .collect();
    // SAFETY: the caller has these duties. The timelines belong to the tracker of this process, the only one
    // that knows its access histories.
    let begun = unsafe { TRACKER.begin_all(&parts, call_site) };
    let submissions = begun.map_err(|refusal| refused(refusal, "enqueue_all", call_site))?;
    let raws: Vec<sys::cudaStream_t> = views.iter().map(StreamRef::as_raw).collect();
    let answer = f(&raws);
    for submission in submissions {
        submission.commit(answer.is_ok());
    }
    answer
}

/// Adds waits to one stream of several.
struct OnStream<'a>(StreamRef<'a>);

// SAFETY: `Runtime` records and waits as the tracker asks. The handle of a default stream denotes this
// stream, because its device is current.
unsafe impl EventBackend for OnStream<'_> {
    type Error = Error;

    fn order(&self, waiter: &Timeline, other: &Timeline, backend_data: &mut usize) -> Result<WaitMethod> {
        let _current = self.0.switch()?;
        Runtime::new(self.0.as_raw()).order(waiter, other, backend_data)
    }
}
