//! A memset: rows of one byte's value, checked against the live allocations when it runs.
#![expect(unsafe_code, reason = "writes bytes")]

use super::copy::{Volume, live};
use crate::memory::Allocations;

/// A memset whose arguments the call has checked.
#[derive(Clone, Debug)]
pub(crate) struct Fill {
    pub(crate) address: u64,
    pub(crate) pitch: u64,
    pub(crate) slice: u64,
    pub(crate) volume: Volume,
    /// The value of one element; its other bytes are unused.
    pub(crate) value: [u8; 4],
    /// Bytes of an element: 1, 2 or 4.
    pub(crate) element: u8,
}

impl Fill {
    /// Writes the bytes. The error names the memory that is gone.
    pub(super) fn run(&self, allocations: &Allocations) -> Result<(), String> {
        let host = live(allocations, self.address, self.volume.span(self.pitch, self.slice), "writes")?;
        let layout = (self.pitch, self.slice);
        self.volume.rows(layout, layout, |at, _, length| {
            let row = host.wrapping_add(usize::try_from(at).unwrap_or(usize::MAX));
            let (length, element) = (usize::try_from(length).unwrap_or(0), usize::from(self.element.max(1)));
            allocations.wrote(row, u64::try_from(length).unwrap_or(0));
            if element == 1 {
                // SAFETY: `live` has just found the whole span inside one live allocation.
                unsafe { row.write_bytes(self.value[0], length) };
                return;
            }
            for place in 0..length {
                let byte = self.value.get(place % element).copied().unwrap_or(0);
                // SAFETY: `live` has just found the whole span inside one live allocation.
                unsafe { row.wrapping_add(place).write(byte) };
            }
        });
        Ok(())
    }
}
