//! Pieces of Rust text that several items have.

use std::fmt::Write as _;

use quote::ToTokens;

/// Writes the comment of a header as documentation.
pub(crate) fn documented(text: &mut String, docs: &[String]) {
    for line in docs {
        let _ = writeln!(text, "#[doc = {line:?}]");
    }
}

pub(crate) fn line(text: &mut String, item: &impl ToTokens) {
    text.push_str(&item.to_token_stream().to_string());
    text.push('\n');
}
