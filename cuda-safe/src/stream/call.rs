//! What errors say of a call.

use std::panic::Location;

use crate::error::{Detail, Error, Result};
use crate::sys;

/// What an error says of a call.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    /// The C function.
    pub(crate) api: &'static str,
    /// Where the program asked for it.
    pub(crate) call_site: &'static Location<'static>,
    /// How many bytes it was to move or fill; 0 where that says nothing.
    pub(crate) bytes: usize,
}

impl Call {
    /// What the runtime's answer comes to.
    #[inline]
    pub(crate) fn check(&self, code: sys::cudaError_t) -> Result<()> {
        if code == sys::cudaSuccess { Ok(()) } else { Err(self.failed(code)) }
    }

    #[cold]
    #[inline(never)]
    fn failed(&self, code: sys::cudaError_t) -> Error {
        self.about(Error::from_code(self.api, code).at(self.call_site))
    }

    /// The error with how many bytes it was about.
    #[cold]
    pub(crate) fn about(&self, error: Error) -> Error {
        if self.bytes == 0 { error } else { error.with_detail(Detail::Transfer { bytes: self.bytes }) }
    }
}
