//! [`LegacyStream`]: the default stream of a device, which all blocking streams wait for and which waits for
//! them.
#![expect(unsafe_code, reason = "has the unsafe way onto a stream")]

use std::sync::OnceLock;

use super::methods::stream_methods;
use super::pool;
use super::tracker::{LEGACY, LEGACY_NUMBER, TRACKER};
use super::view::{AsStream, StreamRef, sealed};
use crate::device::Device;
use crate::error::Result;
use cuda_hazard::{Timeline, WaitTarget};

/// The legacy default stream of one device: what C means by stream `0`, made explicit.
///
/// It is ordered with every blocking stream of its device, both ways, and the tracker knows. It owns nothing:
/// make as many of these as you like. Each use makes the device current for as long as that takes.
#[derive(Clone, Copy, Debug)]
pub struct LegacyStream {
    timeline: &'static Timeline,
}

/// The timelines of the first devices, for who asks without a lock; those beyond are found all the same.
static KNOWN: [OnceLock<&'static Timeline>; 16] = [const { OnceLock::new() }; 16];

impl LegacyStream {
    /// The legacy stream of `device`.
    ///
    /// # Errors
    /// Where there are more streams than the tracker can tell apart.
    #[doc(alias = "cudaStreamLegacy")]
    #[track_caller]
    #[inline]
    pub fn of(device: Device) -> Result<Self> {
        let known = usize::try_from(device.ordinal()).ok().and_then(|device| KNOWN.get(device));
        match known.and_then(OnceLock::get) {
            Some(timeline) => Ok(Self { timeline }),
            None => Self::of_any(device, known),
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn of_any(device: Device, known: Option<&OnceLock<&'static Timeline>>) -> Result<Self> {
        // SAFETY: this is the number of every device's legacy stream, which is always there.
        match unsafe { TRACKER.legacy(device.ordinal(), WaitTarget::Stream(LEGACY_NUMBER)) } {
            Ok(timeline) => {
                if let Some(known) = known {
                    known.get_or_init(|| timeline);
                }
                Ok(Self { timeline })
            }
            Err(_) => Err(pool::too_many()),
        }
    }
}

stream_methods!(LegacyStream);

impl sealed::Sealed for LegacyStream {}

impl AsStream for LegacyStream {
    #[inline]
    fn as_stream(&self) -> StreamRef<'_> {
        StreamRef::new(LEGACY, self.timeline)
    }
}
