//! The log of the PTX compiler.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU8, Ordering};

/// The size of a log in bytes.
const BYTES: u32 = 16 << 10;

/// A buffer for text that the driver writes, possibly long after it received the address.
pub(super) struct Log(Box<[AtomicU8]>);

impl Log {
    pub(super) fn new() -> Self {
        Self((0..BYTES).map(|_| AtomicU8::new(0)).collect())
    }

    /// The address for the driver.
    pub(super) fn pointer(&self) -> *mut c_void {
        self.0.as_ptr().cast_mut().cast()
    }

    /// Returns how many bytes the driver may write.
    pub(super) fn bytes() -> u32 {
        BYTES
    }

    /// Returns the text up to the zero byte, or `None` if it is empty.
    pub(super) fn text(&self) -> Option<String> {
        let written = self.0.iter().map(|byte| byte.load(Ordering::Relaxed)).take_while(|byte| *byte != 0);
        let bytes: Vec<u8> = written.collect();
        let text = String::from_utf8_lossy(&bytes);
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::Log;
    use std::sync::atomic::Ordering;

    #[test]
    fn a_log_ends_with_its_zero_byte_or_where_it_is_full() {
        let log = Log::new();
        assert_eq!(log.text(), None);
        log.0
            .iter()
            .zip(b"ptxas error \xFF\n\0more")
            .for_each(|(to, from)| to.store(*from, Ordering::Relaxed));
        assert_eq!(log.text().unwrap(), "ptxas error \u{FFFD}");
        log.0.iter().for_each(|byte| byte.store(b'x', Ordering::Relaxed));
        assert_eq!(log.text().unwrap().len(), log.0.len());
    }
}
