//! What a stream that is captured is given: it goes into a graph, not on the tracker.

use std::sync::{Mutex, PoisonError};

use crate::error::{Detail, Error, Result};
use crate::hazard::{Access, RetainedAccesses};
use crate::memory::retain;

/// What has been captured so far.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    uses: Mutex<RetainedAccesses>,
}

impl Recorder {
    /// Notes what an operation uses that is about to be captured.
    ///
    /// # Errors
    /// `NotKept` where nothing would keep the memory for as long as the graph lives; nothing is captured
    /// then.
    #[track_caller]
    pub(super) fn note(&self, accesses: &[Access<'_>]) -> Result<()> {
        let refused = || Error::refused("capture", Detail::NotKept);
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        // What was refused half-way may stay: to use too much is no harm.
        if accesses.iter().all(|access| uses.add(access, || retain(access))) {
            Ok(())
        } else {
            Err(refused())
        }
    }

    /// All that was captured uses.
    pub(crate) fn into_uses(self) -> RetainedAccesses {
        self.uses.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
