//! [`LegacyStream`]: the default stream of a device. It waits for all blocking streams, and they wait
//! for it.
#![expect(unsafe_code, reason = "has the unsafe functions of a stream")]

use std::sync::OnceLock;

use super::methods::stream_methods;
use super::pool;
use super::tracker::{LEGACY, LEGACY_NUMBER, TRACKER};
use super::view::{AsStream, StreamRef, sealed};
use crate::device::Device;
use crate::error::Result;
use cuda_hazard::{Timeline, WaitTarget};

/// The legacy default stream of one device, explicitly: C's stream `0`.
///
/// It is ordered with every blocking stream of its device in both directions, and the tracker relies on
/// that. The value owns nothing, and any number of them may exist. Each use makes the device current for
/// the duration of the call.
#[derive(Clone, Copy, Debug)]
pub struct LegacyStream {
    timeline: &'static Timeline,
}

/// The timelines of the first devices, to be read without a lock. Those of further devices are looked
/// up.
static KNOWN: [OnceLock<&'static Timeline>; 16] = [const { OnceLock::new() }; 16];

impl LegacyStream {
    /// Returns the legacy stream of `device`.
    ///
    /// # Errors
    /// Refused if the tracker has no timeline left.
    #[doc(alias = "cudaStreamLegacy")]
    #[track_caller]
    #[inline]
    pub fn new(device: Device) -> Result<Self> {
        let known = KNOWN.get(device.ordinal());
        match known.and_then(OnceLock::get) {
            Some(timeline) => Ok(Self { timeline }),
            None => Self::find(device, known),
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn find(device: Device, known: Option<&OnceLock<&'static Timeline>>) -> Result<Self> {
        // SAFETY: this is the number of every device's legacy stream, which always exists.
        match unsafe { TRACKER.legacy(device.as_raw(), WaitTarget::Stream(LEGACY_NUMBER)) } {
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

impl sealed::SealedStream for LegacyStream {}

impl AsStream for LegacyStream {
    #[inline]
    fn as_stream(&self) -> StreamRef<'_> {
        StreamRef::new(LEGACY, self.timeline)
    }
}
