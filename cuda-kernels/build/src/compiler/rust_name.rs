//! The names of C++ in Rust.

/// The words that bindgen and this library write with a `_` behind them.
const WORDS: &str = " abstract alignof as async await become box break const continue crate do dyn else enum \
                     extern false final fn for gen if impl in let loop macro match mod move mut offsetof \
                     override priv proc pub pure ref return Self self sizeof static struct super trait true \
                     try type typeof unsafe unsized use virtual where while yield str bool f32 f64 usize \
                     isize u128 i128 u64 i64 u32 i32 u16 i16 u8 i8 _ ";

/// Returns a C++ name as bindgen writes it: one that is a word of Rust has a `_` behind it.
pub(crate) fn rust_name(name: &str) -> String {
    if WORDS.contains(&format!(" {name} ")) { format!("{name}_") } else { name.to_owned() }
}
