//! What errors say of a call.

use std::panic::Location;

use crate::error::{Detail, Error, Result};
use crate::sys;

/// A copy in a place of its own, made where it is needed: what goes out of the usual way by reference need then not be in memory on the
/// usual way.
#[expect(clippy::inline_always, reason = "it is about where it is stored")]
#[inline(always)]
pub(super) fn copied<T: Copy>(it: &T) -> T {
    *it
}

/// What an error says of a call.
#[derive(Clone, Copy)]
pub(crate) struct Call<B> {
    /// The C function.
    pub(crate) api: &'static str,
    /// Where the program asked for it.
    pub(crate) place: &'static Location<'static>,
    /// How many bytes it was to move or fill, worked out only for that.
    pub(crate) bytes: B,
}

impl<B: Fn() -> usize + Copy> Call<B> {
    /// As [`copied`].
    #[expect(clippy::inline_always, reason = "it is about where the fields are stored")]
    #[inline(always)]
    pub(super) fn copied(&self) -> Self {
        let Self { api, place, bytes } = self;
        Self { api, place, bytes: copied(bytes) }
    }

    /// What the runtime's answer comes to.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    pub(super) fn outcome(&self, code: sys::cudaError_t) -> Result<()> {
        if code == sys::cudaSuccess {
            return Ok(());
        }
        Err(failed(self.api, code, self.place, (self.bytes)()))
    }
}

/// The error of a call. By numbers, which need no memory on the usual way.
#[cold]
#[inline(never)]
fn failed(
    api: &'static str,
    code: sys::cudaError_t,
    place: &'static Location<'static>,
    bytes: usize,
) -> Error {
    about(Error::from_code(api, code).at(place), bytes)
}

/// The error with how many bytes it was about.
pub(super) fn about(error: Error, bytes: usize) -> Error {
    if bytes == 0 { error } else { error.with_detail(Detail::Transfer { bytes }) }
}
