//! Splits C++ into tokens, far enough to find the end of a declaration and of a body.

use std::ops::Range;

/// A kind of token. Spaces and comments are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A name or a keyword.
    Word,
    /// A number, a string or a character.
    Literal,
    /// One sign, such as `{`.
    Sign(u8),
    /// A whole line of the preprocessor, with its continuations.
    Directive,
}

/// A token, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) range: Range<usize>,
}

impl Token {
    pub(crate) fn is(&self, sign: u8) -> bool {
        self.kind == Kind::Sign(sign)
    }
}

/// Returns the tokens of a file.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let at = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
    let mut tokens: Vec<Token> = Vec::new();
    let (mut here, mut line_start) = (0, true);
    while here < bytes.len() {
        let start = here;
        let kind = match (at(here), at(here + 1)) {
            (b'/', b'/') => {
                here = end_of_line(bytes, here);
                continue;
            }
            (b'/', b'*') => {
                here = text
                    .get(here + 2..)
                    .and_then(|rest| rest.find("*/"))
                    .map_or(bytes.len(), |found| here + 4 + found);
                continue;
            }
            (space, _) if space.is_ascii_whitespace() => {
                line_start |= space == b'\n';
                here += 1;
                continue;
            }
            (b'#', _) if line_start => {
                here = end_of_line(bytes, here);
                Kind::Directive
            }
            (quote @ (b'"' | b'\''), _) => {
                here = end_of_string(bytes, here, quote);
                Kind::Literal
            }
            (b'R', b'"') => {
                here = end_of_raw_string(text, here + 2);
                Kind::Literal
            }
            (digit, _) if digit.is_ascii_digit() => {
                // With `'` between digits, and with signs of exponents.
                while is_word(at(here)) || at(here) == b'.' || (at(here) == b'\'' && is_word(at(here + 1))) {
                    here += 1;
                }
                Kind::Literal
            }
            (first, _) if is_word(first) => {
                while is_word(at(here)) {
                    here += 1;
                }
                Kind::Word
            }
            (sign, _) => {
                here += 1;
                Kind::Sign(sign)
            }
        };
        line_start = false;
        tokens.push(Token { kind, range: start..here });
    }
    tokens
}

/// Returns the end of a line that may be continued.
fn end_of_line(bytes: &[u8], start: usize) -> usize {
    let mut here = start;
    while here < bytes.len() {
        let newline = bytes.get(here) == Some(&b'\n');
        let before = bytes.get(..here).unwrap_or_default();
        if newline && !before.ends_with(b"\\") && !before.ends_with(b"\\\r") {
            break;
        }
        here += 1;
    }
    here
}

fn end_of_string(bytes: &[u8], start: usize, quote: u8) -> usize {
    let mut here = start + 1;
    while let Some(byte) = bytes.get(here) {
        here += 1;
        match byte {
            b'\\' => here += 1,
            b'\n' => break,
            byte if *byte == quote => break,
            _ => {}
        }
    }
    here.min(bytes.len())
}

/// Returns the end of `R"word(...)word"`, whose word is at `start`.
fn end_of_raw_string(text: &str, start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let end = rest.find('(').and_then(|open| {
        let close = format!("){}\"", rest.get(..open)?);
        Some(start + rest.find(&close)? + close.len())
    });
    end.unwrap_or(text.len())
}

/// Returns the index of the bracket that closes the one at `open`, or the last index.
pub(crate) fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.kind {
            Kind::Sign(b'(' | b'{' | b'[') => depth += 1,
            Kind::Sign(b')' | b'}' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_comments_and_directives_hide_their_signs() {
        let text = "a { \"}\\\"\" '}' /* } */ 1'000 R\"x(})\")x\" // }\n#define B } \\\n }\n b }";
        let found = tokens(text);
        let spelled: Vec<&str> = found.iter().map(|token| &text[token.range.clone()]).collect();
        assert_eq!(
            spelled,
            ["a", "{", "\"}\\\"\"", "'}'", "1'000", "R\"x(})\")x\"", "#define B } \\\n }", "b", "}"]
        );
        assert_eq!(closing(&found, 1), 8);
    }
}
