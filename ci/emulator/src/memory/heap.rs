//! The device heap: what `malloc` in a kernel allocates. Kernels reach it; copies from the host do not.

use super::allocation::Kind;
use super::book::Book;

/// The size of a device's heap before the program sets one.
const DEFAULT_LIMIT: u64 = 8 << 20;

/// The heap of one device.
#[derive(Debug)]
pub(crate) struct Heap {
    limit: u64,
    used: u64,
    /// Whether a kernel has allocated from it: its size is settled then.
    touched: bool,
}

impl Default for Heap {
    fn default() -> Self {
        Self { limit: DEFAULT_LIMIT, used: 0, touched: false }
    }
}

/// What a heap allocation costs beyond its bytes, as on hardware, where the heap keeps headers.
const HEADER: u64 = 16;

fn charge(bytes: u64) -> Option<u64> {
    bytes.checked_next_multiple_of(16)?.checked_add(HEADER)
}

impl Book {
    /// Serves `malloc` in a kernel on a device; none when the heap is full.
    pub(crate) fn heap_malloc(&mut self, device: usize, bytes: u64) -> Option<u64> {
        let heap = self.heaps.get_mut(device)?;
        heap.touched = true;
        let charged = charge(bytes).filter(|charged| *charged <= heap.limit - heap.used.min(heap.limit))?;
        let address = self.allocate(device, bytes.max(1), Kind::Heap, "malloc in a kernel").ok()?;
        self.heaps.get_mut(device)?.used += charged;
        Some(address)
    }

    /// Serves `free` in a kernel; whether there was such an allocation.
    pub(crate) fn heap_free(&mut self, device: usize, address: u64) -> bool {
        let Some(size) = self.starting_at(address, &[Kind::Heap]).map(|it| it.size) else { return false };
        if let (Some(heap), Some(charged)) = (self.heaps.get_mut(device), charge(size)) {
            heap.used = heap.used.saturating_sub(charged);
        }
        self.remove(address, "free in a kernel").is_some()
    }

    /// The size of a device's heap in bytes.
    pub(crate) fn heap_limit(&self, device: usize) -> u64 {
        self.heaps.get(device).map_or(0, |heap| heap.limit)
    }

    /// Sets the size of a device's heap; whether that was still possible.
    pub(crate) fn set_heap_limit(&mut self, device: usize, bytes: u64) -> bool {
        let total = self.room(device).1;
        match self.heaps.get_mut(device) {
            Some(heap) if bytes <= total && (!heap.touched || bytes == heap.limit) => {
                heap.limit = bytes;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heap_has_a_limit_that_settles_with_the_first_allocation() {
        let mut book = Book::new(1, 1 << 24).unwrap();
        assert!(book.set_heap_limit(0, 4096));
        let a = book.heap_malloc(0, 4000).unwrap();
        assert_eq!(a % 16, 0);
        assert_eq!(book.heap_malloc(0, 4000), None);
        assert!(!book.set_heap_limit(0, 8192));
        assert!(book.heap_free(0, a));
        assert!(!book.heap_free(0, a), "freed twice");
        assert!(book.heap_malloc(0, 4000).is_some());
    }
}
