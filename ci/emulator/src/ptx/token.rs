//! Cuts PTX text into tokens.

use super::SyntaxError;

/// A piece of PTX text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Token<'a> {
    /// A name: of an opcode, register, variable, label.
    Word(&'a str),
    /// A word that follows a dot: a directive, a modifier, a type.
    Dot(&'a str),
    /// An integer.
    Int(u64),
    /// A floating-point number written in decimal.
    Float(f64),
    /// `0f` and eight hexadecimal digits.
    F32(u32),
    /// `0d` and sixteen hexadecimal digits.
    F64(u64),
    /// Text between double quotes.
    Text(&'a str),
    /// Any other character.
    Sign(char),
    /// The end of the text.
    End,
}

/// The tokens of a text, with the line of each.
#[derive(Debug)]
pub(crate) struct Tokens<'a> {
    list: Vec<(Token<'a>, u32)>,
    at: usize,
}

impl<'a> Tokens<'a> {
    /// Cuts the whole text.
    ///
    /// # Errors
    /// When a comment or a string does not end, or a number cannot be read.
    pub(crate) fn new(text: &'a str) -> Result<Self, SyntaxError> {
        let mut list = Vec::with_capacity(text.len() / 4);
        let bytes = text.as_bytes();
        let (mut at, mut line) = (0, 1);
        while let Some(&c) = bytes.get(at) {
            let rest = &text[at..];
            if let Some(len) = line_marker(rest) {
                line += count_lines(&rest[..len]);
                at += len;
                continue;
            }
            match c {
                b'\n' => {
                    line += 1;
                    at += 1;
                }
                _ if c.is_ascii_whitespace() || c == 0 => at += 1,
                b'/' if rest.starts_with("//") => at += rest.find('\n').unwrap_or(rest.len()),
                b'/' if rest.starts_with("/*") => {
                    // `/*/` opens a comment, and does not end it.
                    let Some(end) = rest[2..].find("*/") else {
                        return Err(SyntaxError { line, message: "a comment does not end".into() });
                    };
                    line += count_lines(&rest[..end + 2]);
                    at += end + 4;
                }
                b'"' => {
                    let Some(end) = rest[1..].find('"') else {
                        return Err(SyntaxError { line, message: "a string does not end".into() });
                    };
                    list.push((Token::Text(&rest[1..=end]), line));
                    line += count_lines(&rest[..end]);
                    at += end + 2;
                }
                b'0'..=b'9' => {
                    let (token, len) = number(rest).ok_or_else(|| SyntaxError {
                        line,
                        message: format!(
                            "{:?} is not a number",
                            rest.split_whitespace().next().unwrap_or("")
                        ),
                    })?;
                    list.push((token, line));
                    at += len;
                }
                b'.' if bytes.get(at + 1).is_some_and(|&b| is_word(b)) => {
                    let len = dotted(&bytes[at + 1..]);
                    list.push((Token::Dot(&rest[1..=len]), line));
                    at += len + 1;
                }
                _ if is_word(c) || c == b'%' && bytes.get(at + 1).is_some_and(|&b| is_word(b)) => {
                    let len = 1 + bytes[at + 1..].iter().take_while(|&&b| is_word(b)).count();
                    list.push((Token::Word(&rest[..len]), line));
                    at += len;
                }
                _ => {
                    let sign = rest.chars().next().unwrap_or('\0');
                    list.push((Token::Sign(sign), line));
                    at += sign.len_utf8();
                }
            }
        }
        list.push((Token::End, line));
        Ok(Self { list, at: 0 })
    }

    /// The next token, left in place.
    pub(crate) fn peek(&self) -> Token<'a> {
        self.ahead(0)
    }

    /// The token `n` places on.
    pub(crate) fn ahead(&self, n: usize) -> Token<'a> {
        self.list.get(self.at + n).map_or(Token::End, |t| t.0)
    }

    /// Takes the next token.
    pub(crate) fn take(&mut self) -> Token<'a> {
        let token = self.peek();
        self.at = (self.at + 1).min(self.list.len());
        token
    }

    /// The place of the next token, for [`back`](Self::back).
    pub(crate) fn mark(&self) -> usize {
        self.at
    }

    /// Goes back to a place.
    pub(crate) fn back(&mut self, mark: usize) {
        self.at = mark;
    }

    /// The line of the next token.
    pub(crate) fn line(&self) -> u32 {
        self.list.get(self.at).or(self.list.last()).map_or(0, |t| t.1)
    }

    /// Takes a sign if it is next.
    pub(crate) fn eat(&mut self, sign: char) -> bool {
        let found = self.peek() == Token::Sign(sign);
        if found {
            self.at += 1;
        }
        found
    }

    /// An error at the next token.
    pub(crate) fn error(&self, expected: &str) -> SyntaxError {
        SyntaxError { line: self.line(), message: format!("expected {expected}, found {:?}", self.peek()) }
    }

    /// Takes a sign that must be next.
    ///
    /// # Errors
    /// If the next token is another one.
    pub(crate) fn expect(&mut self, sign: char) -> Result<(), SyntaxError> {
        if self.eat(sign) { Ok(()) } else { Err(self.error(&format!("{sign:?}"))) }
    }

    /// Takes a word that must be next.
    ///
    /// # Errors
    /// If the next token is another one.
    pub(crate) fn word(&mut self) -> Result<&'a str, SyntaxError> {
        match self.peek() {
            Token::Word(word) => {
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.error("a name")),
        }
    }

    /// Takes an integer that must be next, with its sign.
    ///
    /// # Errors
    /// If the next token is another one.
    pub(crate) fn int(&mut self) -> Result<u64, SyntaxError> {
        let negative = self.eat('-');
        match self.peek() {
            Token::Int(value) => {
                self.at += 1;
                Ok(if negative { value.wrapping_neg() } else { value })
            }
            _ => Err(self.error("an integer")),
        }
    }

    /// Takes an integer that must be next and fits 32 bits.
    ///
    /// # Errors
    /// If the next token is another one.
    pub(crate) fn small(&mut self) -> Result<u32, SyntaxError> {
        let error = self.error("a small integer");
        u32::try_from(self.int()?).map_err(|_| error)
    }
}

fn count_lines(text: &str) -> u32 {
    u32::try_from(text.matches('\n').count()).unwrap_or(0)
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'$'
}

/// How far a dotted word goes; a doubled colon is part of it (`shared::cta`).
fn dotted(bytes: &[u8]) -> usize {
    let mut len = 0;
    loop {
        len += bytes[len..].iter().take_while(|&&b| is_word(b)).count();
        if bytes[len..].starts_with(b"::") {
            len += 2;
        } else {
            return len;
        }
    }
}

/// How far a line goes that a preprocessor has written: `# 1 "file"`, `#line 1 "file"`, with numbers behind.
fn line_marker(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('#')?.trim_start_matches([' ', '\t']);
    let rest = rest.strip_prefix("line").unwrap_or(rest).trim_start_matches([' ', '\t']);
    let (number, rest) = rest.split_once('"')?;
    let (_, after) = rest.split_once('"')?;
    let length = text.len() - after.len();
    let after = &after[..after.find('\n').unwrap_or(after.len())];
    let is_number = |word: &str| word.bytes().all(|b| b.is_ascii_digit());
    let is_marker = !number.trim().is_empty() && is_number(number.trim());
    let is_marker = is_marker && after.split_whitespace().all(is_number);
    is_marker.then_some(length + after.len())
}

fn number(text: &str) -> Option<(Token<'_>, usize)> {
    let bytes = text.as_bytes();
    let digits = |from: usize, radix: u32| {
        bytes[from..].iter().take_while(|b| char::from(**b).is_digit(radix)).count()
    };
    let suffix = |len: usize| len + usize::from(bytes.get(len) == Some(&b'U'));
    match bytes.get(1) {
        Some(b'x' | b'X') => {
            let len = 2 + digits(2, 16);
            let value = u64::from_str_radix(&text[2..len], 16).ok()?;
            return Some((Token::Int(value), suffix(len)));
        }
        Some(b'b' | b'B') if bytes[0] == b'0' => {
            let len = 2 + digits(2, 2);
            let value = u64::from_str_radix(&text[2..len], 2).ok()?;
            return Some((Token::Int(value), suffix(len)));
        }
        Some(b'f' | b'F') if bytes[0] == b'0' && digits(2, 16) == 8 => {
            return Some((Token::F32(u32::from_str_radix(&text[2..10], 16).ok()?), 10));
        }
        Some(b'd' | b'D') if bytes[0] == b'0' && digits(2, 16) == 16 => {
            return Some((Token::F64(u64::from_str_radix(&text[2..18], 16).ok()?), 18));
        }
        _ => {}
    }
    let whole = digits(0, 10);
    let mut len = whole;
    if bytes.get(len) == Some(&b'.') && bytes.get(len + 1).is_some_and(u8::is_ascii_digit) {
        len += 1 + digits(len + 1, 10);
    }
    if matches!(bytes.get(len), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(len + 1), Some(b'-' | b'+')));
        let exponent = digits(len + 1 + sign, 10);
        if exponent > 0 {
            len += 1 + sign + exponent;
        }
    }
    if len > whole {
        return Some((Token::Float(text[..len].parse().ok()?), len));
    }
    let octal = bytes[0] == b'0' && whole > 1 && digits(0, 8) == whole;
    let value = u64::from_str_radix(&text[..whole], if octal { 8 } else { 10 }).ok()?;
    Some((Token::Int(value), suffix(whole)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<Token<'_>> {
        Tokens::new(text).unwrap().list.into_iter().map(|t| t.0).collect()
    }

    #[test]
    fn numbers_of_every_notation() {
        assert_eq!(
            all("0 017 0x1F 0b101 4294967295U 0f3F800000 0d3FF0000000000000 1.5 2e3 12"),
            [
                Token::Int(0),
                Token::Int(15),
                Token::Int(31),
                Token::Int(5),
                Token::Int(u64::from(u32::MAX)),
                Token::F32(0x3F80_0000),
                Token::F64(0x3FF0_0000_0000_0000),
                Token::Float(1.5),
                Token::Float(2000.0),
                Token::Int(12),
                Token::End
            ]
        );
    }

    #[test]
    fn lines_of_a_preprocessor_are_skipped_as_ptxas_does() {
        let mut t = Tokens::new("st.u32\n # 1 \"x;\"\n#line 2 \"y\" 3 4\n[%rd1], 1;").unwrap();
        for expected in [Token::Word("st"), Token::Dot("u32"), Token::Sign('['), Token::Word("%rd1")] {
            assert_eq!(t.take(), expected);
        }
        assert_eq!(t.line(), 4);
        for refused in ["# 1 \"x\" ret;", "#define x", "# 3", "# 1 \"x\" // y", "# \"x\""] {
            assert_eq!(all(refused)[0], Token::Sign('#'), "{refused}");
        }
    }

    #[test]
    fn opcodes_comments_and_lines() {
        let mut t = Tokens::new("// one\n/* two\n*/ ld.shared::cta.v2.f32 {%f1,_}; $L_1:").unwrap();
        assert_eq!(t.line(), 3);
        assert_eq!(t.take(), Token::Word("ld"));
        assert_eq!(t.take(), Token::Dot("shared::cta"));
        assert_eq!(t.take(), Token::Dot("v2"));
        assert_eq!(t.take(), Token::Dot("f32"));
        assert!(t.eat('{'));
        assert_eq!(t.take(), Token::Word("%f1"));
        assert!(Tokens::new("/* never").is_err());
    }
}
