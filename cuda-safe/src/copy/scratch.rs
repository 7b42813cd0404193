//! The memory of lists that are made anew for every call, kept from one call to the next.

use std::cell::Cell;
use std::fmt;

/// A list that is empty but for the time of a call. It asks for memory at the first one, and where it has to hold more.
pub(super) struct Scratch<T>(Cell<Vec<T>>);

impl<T> Scratch<T> {
    /// Lends the list, which is empty.
    #[inline]
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut Vec<T>) -> R) -> R {
        let mut list = self.0.take();
        list.clear();
        let answer = f(&mut list);
        self.0.set(list);
        answer
    }
}

impl<T> Default for Scratch<T> {
    fn default() -> Self {
        Self(Cell::new(Vec::new()))
    }
}

impl<T> fmt::Debug for Scratch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scratch")
    }
}

#[cfg(test)]
mod tests {
    use super::Scratch;

    #[test]
    fn the_list_is_empty_each_time_and_its_memory_stays() {
        let scratch = Scratch::<u32>::default();
        let first = scratch.with(|list| {
            list.extend(0..100);
            list.as_ptr()
        });
        let again = scratch.with(|list| (list.is_empty(), list.capacity() >= 100, list.as_ptr()));
        assert_eq!(again, (true, true, first));
        // Who asks for it within, gets another one.
        scratch.with(|outer| {
            outer.push(1);
            scratch.with(|inner| assert!(inner.is_empty()));
            assert_eq!(*outer, [1]);
        });
    }
}
