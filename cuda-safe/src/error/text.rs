//! Texts that errors name: an [`Error`](super::Error) is small and copied freely, so what a compiler said is kept here for it.
//!
//! The last 64 of them are, of at most 16 KiB each: a program that goes on after failures does not grow by them.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Texts that are kept.
const KEPT: usize = 64;
/// Bytes of each, at most.
const BYTES: usize = 16 << 10;

/// A text that an error names, such as what the compiler of PTX said. Displays as that.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Text(u64);

struct Texts {
    next: u64,
    kept: VecDeque<(u64, String)>,
}

static TEXTS: Mutex<Texts> = Mutex::new(Texts { next: 0, kept: VecDeque::new() });

fn texts() -> MutexGuard<'static, Texts> {
    TEXTS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Text {
    /// Keeps a text. What is too long loses its end.
    #[cfg_attr(not(cudart_12_8), expect(dead_code, reason = "libraries alone have texts"))]
    pub(crate) fn keep(mut text: String) -> Self {
        if text.len() > BYTES {
            let end = (0..=BYTES).rev().find(|end| text.is_char_boundary(*end));
            text.truncate(end.unwrap_or(0));
            text.push_str("...");
        }
        let mut texts = texts();
        let number = texts.next;
        texts.next += 1;
        if texts.kept.len() == KEPT {
            texts.kept.pop_front();
        }
        texts.kept.push_back((number, text));
        Self(number)
    }

    /// The text; none where many errors have come since.
    #[must_use]
    pub fn get(self) -> Option<String> {
        let texts = texts();
        let found = texts.kept.binary_search_by_key(&self.0, |(number, _)| *number).ok();
        found.and_then(|at| texts.kept.get(at)).map(|(_, text)| text.clone())
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get().as_deref().unwrap_or("(a text that many errors ago was let go)"))
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

#[cfg(all(test, cudart_12_8))]
mod tests {
    use super::{BYTES, KEPT, Text};

    #[test]
    fn the_last_texts_are_kept_and_the_end_of_a_long_one_is_lost_between_two_characters() {
        let first = Text::keep("first".to_owned());
        assert_eq!(first.to_string(), "first");
        let texts: Vec<Text> = (0..KEPT).map(|at| Text::keep(at.to_string())).collect();
        assert_eq!((first.get(), texts[KEPT - 1].get()), (None, Some((KEPT - 1).to_string())));
        assert!(first.to_string().contains("let go"));
        let long = Text::keep("ü".repeat(BYTES)).get().unwrap();
        assert!(long.ends_with("ü...") && long.len() <= BYTES + 3);
    }
}
