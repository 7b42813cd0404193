//! What is compiled.

/// A CUDA C++ source: a text, and the headers and names that belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "nothing is compiled before `Nvrtc::compile`"]
pub struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
    /// The name in `#include`, and the text.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) names: Vec<String>,
}

impl Source {
    /// Makes a source of a text. `name` is its file's name in messages, such as `scale.cu`.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), headers: Vec::new(), names: Vec::new() }
    }

    /// Adds a header that the source includes by this name. No file is read for it.
    pub fn header(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.headers.push((name.into(), text.into()));
        self
    }

    /// Names a kernel or variable by a C++ expression, such as `scale<float>` or `&table`, so that
    /// [`Compiled::lowered`](crate::Compiled::lowered) returns its name in PTX. A template is instantiated
    /// for it.
    ///
    /// `extern "C"` kernels need no such name.
    #[doc(alias = "nvrtcAddNameExpression")]
    pub fn name(mut self, expression: impl Into<String>) -> Self {
        self.names.push(expression.into());
        self
    }
}
