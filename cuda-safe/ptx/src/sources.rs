//! A hash of sources. What is kept of a text is named after the sources that have read it: others may have
//! taken it for something else.

/// The sources of this crate: names and texts.
pub const LIST: &[(&str, &[u8])] = crate::sources![
    "body.rs"
    "directive.rs"
    "error.rs"
    "instruction.rs"
    "lib.rs"
    "parse.rs"
    "print.rs"
    "resolve.rs"
    "sources.rs"
    "special.rs"
    "syntax.rs"
    "token.rs"
    "types.rs"
];

/// The hash of this crate's sources.
pub const HASH: u64 = hash(0xcbf2_9ce4_8422_2325, LIST);

/// Lists sources, by their paths from the file that names them.
#[doc(hidden)]
#[macro_export]
macro_rules! sources {
    ($($file:literal)*) => { &[$(($file, include_bytes!($file))),*] };
}

/// Goes on with a hash of texts (FNV-1a), however their lines end.
#[must_use]
pub const fn hash(mut hash: u64, texts: &[(&str, &[u8])]) -> u64 {
    let mut file = 0;
    while file < texts.len() {
        let (text, mut at) = (texts[file].1, 0);
        while at < text.len() {
            if text[at] != b'\r' {
                hash = (hash ^ text[at] as u64).wrapping_mul(0x0100_0000_01b3);
            }
            at += 1;
        }
        file += 1;
    }
    hash
}
