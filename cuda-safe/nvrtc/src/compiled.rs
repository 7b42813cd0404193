//! What the compiler makes.

use crate::error::{Error, ErrorKind, Result};

/// What a source was compiled to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    pub(crate) ptx: String,
    pub(crate) log: String,
    /// The expressions, and their names in PTX.
    pub(crate) names: Vec<(String, String)>,
    pub(crate) is_cached: bool,
}

impl Compiled {
    /// Returns the PTX.
    #[doc(alias = "nvrtcGetPTX")]
    #[must_use]
    pub fn ptx(&self) -> &str {
        &self.ptx
    }

    /// Returns NVRTC's warnings. The text may be empty.
    #[doc(alias = "nvrtcGetProgramLog")]
    #[must_use]
    pub fn log(&self) -> &str {
        &self.log
    }

    /// Returns the name in PTX of what [`Source::name`](crate::Source::name) named.
    ///
    /// # Errors
    /// `Refused` if the source did not name it.
    #[doc(alias = "nvrtcGetLoweredName")]
    #[track_caller]
    pub fn lowered(&self, expression: &str) -> Result<&str> {
        if let Some((_, name)) = self.names.iter().find(|(own, _)| own == expression) {
            return Ok(name);
        }
        let why = format!("the source was compiled without Source::name({expression:?})");
        Err(Error::new(ErrorKind::Refused(why)))
    }

    /// Returns whether it comes from a cache, so that nothing was compiled.
    #[must_use]
    pub fn is_cached(&self) -> bool {
        self.is_cached
    }
}
