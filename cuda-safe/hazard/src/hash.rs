//! A hash of addresses and of positions of bytes. Nobody chooses them to collide, which the slower standard
//! hash withstands.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by addresses, or by positions of bytes.
pub(crate) type AddressMap<T> = HashMap<usize, T, BuildHasherDefault<AddressHasher>>;

/// Fibonacci hashing: the high half of a product depends on all bits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_usize(usize::from(*byte)));
    }

    #[inline]
    fn write_usize(&mut self, address: usize) {
        self.0 = (self.0 ^ address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
