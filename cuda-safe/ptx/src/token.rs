//! Cuts PTX text into tokens, each where ptxas ends it.
//!
//! - White space is the space, the tabulator, the line feed, the carriage return and the form feed.
//! - A comment behind `//` ends at a line feed, and nowhere else. One behind `/*` ends at the first `*/` that
//!   comes after these two signs: `/*/` opens a comment and does not close it.
//! - A string ends at the next quotation mark. It has no escapes, and may have line feeds.
//! - `# 1 "file"` and `#line 1 "file"`, with numbers behind, are lines of a preprocessor, and are skipped.
//! - A zero byte ends the text, as it does for the driver.

/// A piece of PTX text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Token<'a> {
    /// A name: of an opcode, a register, a variable, a label.
    Name(&'a str),
    /// A word behind a dot: a directive, a modifier, a type.
    Dot(&'a str),
    /// An integer.
    Integer(u64),
    /// A number with a point or an exponent.
    Decimal(&'a str),
    /// `0f` and the 32 bits.
    Single(u32),
    /// `0d` and the 64 bits.
    Double(u64),
    /// What is between quotation marks.
    Text(&'a str),
    /// Any other sign that PTX has.
    Sign(char),
    /// What no token begins with, up to the end of the text.
    Wrong(&'a str),
    /// The end of the text.
    End,
}

impl core::fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Name(word) | Self::Decimal(word) => write!(f, "{word:?}"),
            Self::Dot(word) => write!(f, "\".{word}\""),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Single(bits) => write!(f, "0f{bits:08x}"),
            Self::Double(bits) => write!(f, "0d{bits:016x}"),
            Self::Text(_) => f.write_str("a string"),
            Self::Sign(sign) => write!(f, "{sign:?}"),
            Self::Wrong(text) if text.starts_with("/*") => f.write_str("a comment does not end"),
            Self::Wrong(text) if text.starts_with('"') => f.write_str("a string does not end"),
            Self::Wrong(text) if text.starts_with(|first: char| first.is_ascii_digit()) => {
                let is_part = |sign: char| sign.is_ascii_alphanumeric() || "_$%.".contains(sign);
                let end = text.find(|sign| !is_part(sign)).unwrap_or(text.len());
                write!(f, "{:?} is no number of PTX", &text[..end])
            }
            Self::Wrong(text) => write!(f, "unexpected {:?}", text.chars().next().unwrap_or('\0')),
            Self::End => f.write_str("the end"),
        }
    }
}

/// Reads one token after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0, line: 1 }
    }

    /// Returns where the next token is looked for.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Returns the next token, and its line.
    pub(crate) fn token(&mut self) -> (Token<'a>, u32) {
        loop {
            let bytes = self.text.as_bytes().get(self.at..).unwrap_or_default();
            let length = match bytes {
                [b' ' | b'\t' | b'\r' | b'\x0c', ..] => 1,
                [b'\n', ..] => {
                    self.line = self.line.saturating_add(1);
                    1
                }
                [b'/', b'/', ..] => bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len()),
                [b'/', b'*', inside @ ..] => match inside.windows(2).position(|pair| pair == b"*/") {
                    Some(at) => self.skip(at + 4),
                    None => return self.wrong(),
                },
                [b'#', ..] => match line_marker(&self.text[self.at..]) {
                    Some(length) => self.skip(length),
                    None => return self.wrong(),
                },
                _ => break,
            };
            self.at += length;
        }
        let (rest, line) = (&self.text[self.at..], self.line);
        let (token, length) = match *rest.as_bytes() {
            [] | [0, ..] => return (Token::End, line),
            [b'"', ref inside @ ..] => match inside.iter().position(|byte| *byte == b'"') {
                Some(end) => {
                    let length = self.skip(end + 2);
                    (Token::Text(&rest[1..=end]), length)
                }
                None => return self.wrong(),
            },
            [b'0'..=b'9', ..] => match number(rest) {
                Some(found) => found,
                None => return self.wrong(),
            },
            [b'.', ref inside @ ..] if inside.first().is_some_and(|byte| is_part(*byte)) => {
                let length = 1 + dotted(inside);
                (Token::Dot(&rest[1..length]), length)
            }
            [first, ref inside @ ..]
                if is_part(first) || first == b'%' && inside.first().is_some_and(|byte| is_part(*byte)) =>
            {
                let length = 1 + length_of(inside, is_part);
                (Token::Name(&rest[..length]), length)
            }
            [
                sign @ (b'{' | b'}' | b'[' | b']' | b'(' | b')' | b'<' | b'>' | b',' | b';' | b':' | b'@'
                | b'!' | b'|' | b'+' | b'-' | b'=' | b'~' | b'&' | b'*'),
                ..,
            ] => (Token::Sign(char::from(sign)), 1),
            _ => return self.wrong(),
        };
        self.at += length;
        (token, line)
    }

    /// Counts the lines of the next bytes, and returns their number.
    fn skip(&mut self, length: usize) -> usize {
        let lines = self.text[self.at..self.at + length].matches('\n').count();
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        length
    }

    /// Returns the rest of the text: nothing is read beyond what is not understood, but for a single sign.
    fn wrong(&mut self) -> (Token<'a>, u32) {
        let (rest, line) = (&self.text[self.at..], self.line);
        let is_open = rest.starts_with("/*") || rest.starts_with('"');
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let digits = length_of(rest.as_bytes(), is_part);
        self.at += if is_open { rest.len() } else { first.max(digits) };
        (Token::Wrong(rest), line)
    }
}

/// Returns whether each sign of a text means the same to every compiler of PTX: nvcc and NVRTC write no
/// others.
#[must_use]
pub fn is_plain(text: &str) -> bool {
    let is_plain = |sign: char| matches!(sign, ' '..='~' | '\n' | '\t') && sign != '\\';
    text.split("\r\n").all(|line| line.chars().all(is_plain))
}

/// Returns whether bytes begin with `.version`, as PTX must. Comments and white space may precede it.
#[must_use]
pub fn begins_as_ptx(bytes: &[u8]) -> bool {
    let text = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    Lexer::new(text).token().0 == Token::Dot("version")
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

fn length_of(bytes: &[u8], is_part: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|byte| !is_part(*byte)).unwrap_or(bytes.len())
}

/// Returns how far a dotted word goes: a doubled colon is part of it (`shared::cta`).
fn dotted(bytes: &[u8]) -> usize {
    let mut length = 0;
    loop {
        length += length_of(&bytes[length..], is_part);
        if !bytes[length..].starts_with(b"::") {
            return length;
        }
        length += 2;
    }
}

/// Returns how far a line goes that a preprocessor has written: `# 1 "file"` or `#line 1 "file"`, with
/// numbers behind.
fn line_marker(text: &str) -> Option<usize> {
    let blank = [' ', '\t'];
    let rest = text.strip_prefix('#')?.trim_start_matches(blank);
    let rest = rest.strip_prefix("line").unwrap_or(rest);
    let (number, rest) = rest.split_once('"')?;
    let (_, after) = rest.split_once('"')?;
    let after = &after[..after.find('\n').unwrap_or(after.len())];
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let number = number.trim_matches(blank);
    let is_marker = !number.is_empty() && is_number(number) && after.split_ascii_whitespace().all(is_number);
    let end = after.as_ptr().addr() - text.as_ptr().addr() + after.len();
    is_marker.then_some(end)
}

/// Reads a number that a text begins with. Returns its length, too.
fn number(text: &str) -> Option<(Token<'_>, usize)> {
    let bytes = text.as_bytes();
    let digits = |from: usize, radix: u32| {
        length_of(bytes.get(from..).unwrap_or_default(), |byte| char::from(byte).is_digit(radix))
    };
    let bits = |radix: u32| {
        let end = 2 + digits(2, radix);
        u64::from_str_radix(&text[2..end], radix).ok().map(|value| (value, end))
    };
    let (token, mut end) = match bytes {
        [b'0', b'x' | b'X', ..] => bits(16).map(|(value, end)| (Token::Integer(value), end))?,
        [b'0', b'b' | b'B', ..] => bits(2).map(|(value, end)| (Token::Integer(value), end))?,
        [b'0', b'f' | b'F', ..] => {
            let (value, end) = bits(16).filter(|(_, end)| *end == 10)?;
            (Token::Single(value.try_into().ok()?), end)
        }
        [b'0', b'd' | b'D', ..] => {
            bits(16).filter(|(_, end)| *end == 18).map(|(value, end)| (Token::Double(value), end))?
        }
        _ => {
            let whole = digits(0, 10);
            let mut end = whole;
            if bytes.get(end) == Some(&b'.') && digits(end + 1, 10) > 0 {
                end += 1 + digits(end + 1, 10);
            }
            if matches!(bytes.get(end), Some(b'e' | b'E')) {
                let sign = usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
                let exponent = digits(end + 1 + sign, 10);
                end += if exponent > 0 { 1 + sign + exponent } else { 0 };
            }
            if end > whole {
                (Token::Decimal(&text[..end]), end)
            } else {
                let radix = if whole > 1 && bytes[0] == b'0' { 8 } else { 10 };
                (Token::Integer(u64::from_str_radix(&text[..whole], radix).ok()?), whole)
            }
        }
    };
    end += usize::from(matches!(token, Token::Integer(_)) && bytes.get(end) == Some(&b'U'));
    // ptxas ends the number here, and takes no name behind one.
    (!bytes.get(end).is_some_and(|byte| is_part(*byte))).then_some((token, end))
}
