//! Formats the output of kernels, as C does.

/// A piece of a format: text, or one conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Text that stands for itself.
    Text(&'a str),
    /// `%...`.
    Conversion(Conversion<'a>),
}

/// One conversion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Conversion<'a> {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: Size,
    precision: Size,
    /// Bytes of an integer argument.
    bytes: u64,
    letter: char,
    source: &'a str,
}

/// A width or precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Size {
    #[default]
    None,
    Fixed(usize),
    /// `*`: the value is an argument.
    Argument,
}

/// Cuts a format into pieces.
pub(crate) fn pieces(format: &str) -> Vec<Piece<'_>> {
    let mut list = Vec::new();
    let mut rest = format;
    while !rest.is_empty() {
        let Some(at) = rest.find('%') else {
            list.push(Piece::Text(rest));
            break;
        };
        if at > 0 {
            list.push(Piece::Text(&rest[..at]));
        }
        rest = &rest[at..];
        if rest.starts_with("%%") {
            list.push(Piece::Text("%"));
            rest = &rest[2..];
            continue;
        }
        match conversion(rest) {
            Some((piece, len)) => {
                list.push(Piece::Conversion(piece));
                rest = &rest[len..];
            }
            // Not a conversion: it stands for itself.
            None => {
                list.push(Piece::Text("%"));
                rest = &rest[1..];
            }
        }
    }
    list
}

fn conversion(text: &str) -> Option<(Conversion<'_>, usize)> {
    let bytes = text.as_bytes();
    let mut c = Conversion { bytes: 4, ..Conversion::default() };
    let mut at = 1;
    loop {
        match bytes.get(at)? {
            b'-' => c.left = true,
            b'+' => c.plus = true,
            b' ' => c.space = true,
            b'#' => c.alternate = true,
            b'0' => c.zero = true,
            _ => break,
        }
        at += 1;
    }
    let size = |at: &mut usize| {
        if bytes.get(*at) == Some(&b'*') {
            *at += 1;
            return Size::Argument;
        }
        let digits = bytes[*at..].iter().take_while(|b| b.is_ascii_digit()).count();
        let value = text[*at..*at + digits].parse().ok();
        *at += digits;
        value.map_or(Size::None, |v: usize| Size::Fixed(v.min(4096)))
    };
    c.width = size(&mut at);
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        c.precision = match size(&mut at) {
            Size::None => Size::Fixed(0),
            given => given,
        };
    }
    let mut shorts = 0;
    loop {
        match bytes.get(at)? {
            b'l' | b'j' | b'z' | b't' | b'q' => c.bytes = 8,
            b'h' => shorts += 1,
            b'L' => {}
            _ => break,
        }
        at += 1;
    }
    c.letter = char::from(*bytes.get(at)?);
    if !"diuoxXcsfFeEgGaAp".contains(c.letter) {
        return None;
    }
    // Short integers are passed as 32 bits and cut.
    if shorts > 0 && c.bytes == 4 {
        c.bytes = if shorts == 1 { 2 } else { 1 };
    }
    c.source = &text[..=at];
    Some((c, at + 1))
}

impl Piece<'_> {
    /// The sizes of the arguments that it takes, in order.
    pub(crate) fn arguments(&self) -> Vec<u64> {
        let Self::Conversion(c) = self else { return Vec::new() };
        let mut list = Vec::new();
        list.extend((c.width == Size::Argument).then_some(4));
        list.extend((c.precision == Size::Argument).then_some(4));
        list.push(match c.letter {
            'c' => 4,
            'd' | 'i' | 'u' | 'o' | 'x' | 'X' => c.bytes.max(4),
            _ => 8,
        });
        list
    }

    /// Whether its last argument is the address of text.
    pub(crate) fn wants_text(&self) -> bool {
        matches!(self, Self::Conversion(c) if c.letter == 's')
    }

    /// Writes it, given the bits of its arguments.
    pub(crate) fn write(&self, values: &[u64], string: Option<&str>, out: &mut String) {
        match self {
            Self::Text(text) => out.push_str(text),
            Self::Conversion(c) => c.write(values, string, out),
        }
    }
}

impl Conversion<'_> {
    fn write(&self, values: &[u64], string: Option<&str>, out: &mut String) {
        let mut values = values.iter().copied();
        let mut c = self.clone();
        let mut given = |size: Size| match size {
            Size::None => None,
            Size::Fixed(n) => Some(i64::try_from(n).unwrap_or(0)),
            Size::Argument => Some(signed(values.next().unwrap_or(0), 4)),
        };
        let (width, precision) = (given(self.width), given(self.precision));
        // A negative width aligns to the left; a negative precision means no precision.
        c.left |= width.is_some_and(|w| w < 0);
        let width = usize::try_from(width.unwrap_or(0).unsigned_abs().min(4096)).unwrap_or(0);
        let precision = precision.and_then(|p| usize::try_from(p.min(4096)).ok());
        let value = values.next().unwrap_or(0);
        let (sign, body) = c.body(value, string, precision);
        let length = sign.chars().count() + body.chars().count();
        let fill = width.saturating_sub(length);
        let integer = "diuoxX".contains(c.letter);
        let finite = !"sc".contains(c.letter) && !body.contains(['n', 'i']);
        if c.left {
            out.push_str(&sign);
            out.push_str(&body);
            out.extend(std::iter::repeat_n(' ', fill));
        } else if c.zero && finite && !(integer && precision.is_some()) {
            out.push_str(&sign);
            out.extend(std::iter::repeat_n('0', fill));
            out.push_str(&body);
        } else {
            out.extend(std::iter::repeat_n(' ', fill));
            out.push_str(&sign);
            out.push_str(&body);
        }
    }

    /// The sign or prefix, and the digits or text behind it.
    fn body(&self, value: u64, string: Option<&str>, precision: Option<usize>) -> (String, String) {
        let sign = |negative: bool| match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        };
        match self.letter {
            'd' | 'i' => {
                let v = signed(value, self.bytes);
                (sign(v < 0).into(), digits(v.unsigned_abs().to_string(), precision))
            }
            'u' => (String::new(), digits(unsigned(value, self.bytes).to_string(), precision)),
            'o' => {
                let text = digits(format!("{:o}", unsigned(value, self.bytes)), precision);
                let prefix = if self.alternate && !text.starts_with('0') { "0" } else { "" };
                (prefix.into(), text)
            }
            'x' | 'X' => {
                let v = unsigned(value, self.bytes);
                let upper = self.letter == 'X';
                let text = if upper { format!("{v:X}") } else { format!("{v:x}") };
                let prefix = match (self.alternate && v != 0, upper) {
                    (true, true) => "0X",
                    (true, false) => "0x",
                    _ => "",
                };
                (prefix.into(), digits(text, precision))
            }
            'p' if value == 0 => (String::new(), "(nil)".into()),
            'p' => ("0x".into(), format!("{value:x}")),
            'c' => {
                let [byte, ..] = value.to_le_bytes();
                (String::new(), char::from(byte).to_string())
            }
            's' => {
                let text = string.unwrap_or("(null)");
                (String::new(), text.chars().take(precision.unwrap_or(usize::MAX)).collect())
            }
            _ => {
                let v = f64::from_bits(value);
                let mut text = self.float(v.abs(), precision);
                if self.letter.is_ascii_uppercase() {
                    text = text.to_ascii_uppercase();
                }
                (sign(v.is_sign_negative()).into(), text)
            }
        }
    }

    fn float(&self, v: f64, precision: Option<usize>) -> String {
        if v.is_nan() {
            return "nan".into();
        }
        if v.is_infinite() {
            return "inf".into();
        }
        let places = precision.unwrap_or(6);
        match self.letter.to_ascii_lowercase() {
            'f' => format!("{v:.places$}") + if self.alternate && places == 0 { "." } else { "" },
            'e' => exponential(v, places),
            'a' => hexadecimal(v, precision),
            _ => {
                let significant = places.max(1);
                let shown = exponential(v, significant - 1);
                let exponent: i64 = shown.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
                let limit = i64::try_from(significant).unwrap_or(i64::MAX);
                if exponent < -4 || exponent >= limit {
                    let (digits, e) = shown.split_once('e').unwrap_or((&shown, "+00"));
                    return format!("{}e{e}", self.trimmed(digits));
                }
                let places = usize::try_from(limit - 1 - exponent).unwrap_or(0);
                self.trimmed(&format!("{v:.places$}"))
            }
        }
    }

    /// `%g` drops zeros at the end of a fraction.
    fn trimmed(&self, digits: &str) -> String {
        if self.alternate || !digits.contains('.') {
            return digits.into();
        }
        digits.trim_end_matches('0').trim_end_matches('.').into()
    }
}

fn signed(value: u64, bytes: u64) -> i64 {
    let shift = 64 - 8 * bytes.min(8);
    value.cast_signed() << shift >> shift
}

fn unsigned(value: u64, bytes: u64) -> u64 {
    let shift = 64 - 8 * bytes.min(8);
    value << shift >> shift
}

/// Puts zeros in front, up to a precision; zero at precision zero is nothing.
fn digits(text: String, precision: Option<usize>) -> String {
    match precision {
        Some(0) if text == "0" => String::new(),
        Some(n) if text.len() < n => "0".repeat(n - text.len()) + &text,
        _ => text,
    }
}

fn exponential(v: f64, places: usize) -> String {
    let text = format!("{v:.places$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

fn hexadecimal(v: f64, precision: Option<usize>) -> String {
    let bits = v.to_bits();
    let exponent = i64::try_from(bits >> 52 & 0x7FF).unwrap_or(0);
    let mut fraction = bits & ((1 << 52) - 1);
    let mut lead = u64::from(exponent != 0);
    let exponent = match (exponent, fraction) {
        (0, 0) => 0,
        (0, _) => -1022,
        (e, _) => e - 1023,
    };
    let text = match precision {
        None => format!("{fraction:013x}").trim_end_matches('0').to_string(),
        Some(n) if n >= 13 => format!("{fraction:013x}") + &"0".repeat(n - 13),
        Some(n) => {
            // Rounds to even.
            let cut = 4 * (13 - n);
            let whole = lead << 52 | fraction;
            let (kept, half) = (whole >> cut, 1u64 << (cut - 1));
            let rest = whole & ((1 << cut) - 1);
            let up = rest > half || rest == half && kept & 1 == 1;
            let kept = kept + u64::from(up);
            lead = kept >> (4 * n);
            fraction = kept & ((1u64 << (4 * n)) - 1);
            if n == 0 { String::new() } else { format!("{fraction:0n$x}") }
        }
    };
    let point = if text.is_empty() { "" } else { "." };
    format!("0x{lead}{point}{text}p{exponent:+}")
}
