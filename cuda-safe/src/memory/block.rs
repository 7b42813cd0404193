//! Blocks of host memory for values that come and go with every allocation. Each thread retains a few of
//! them for its next values.
//!
//! Allocating from a pool in stream order takes about a microsecond. Allocating a cache-aligned block for
//! the value from the system would be a good part of that.
#![expect(unsafe_code, reason = "allocates memory that is not initialised")]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::NonNull;

/// The layout of a block. Values of other layouts are allocated directly.
const LAYOUT: Layout = Layout::new::<Block>();

/// The number of blocks that a thread retains. It returns further ones to the system: one thread may make
/// all values and another drop them.
const KEPT: usize = 32;

#[repr(C, align(64))]
struct Block([u8; 128]);

/// The head of a retained block.
struct Head {
    next: Option<NonNull<Head>>,
}

/// The blocks that a thread retains.
struct List {
    first: Cell<Option<NonNull<Head>>>,
    count: Cell<usize>,
}

impl Drop for List {
    fn drop(&mut self) {
        while let Some(block) = self.pop() {
            // SAFETY: `take` allocated each block in the list with this layout, and nobody else has it.
            unsafe { dealloc(block.as_ptr(), LAYOUT) };
        }
    }
}

impl List {
    fn pop(&self) -> Option<NonNull<u8>> {
        let first = self.first.get()?;
        // SAFETY: nobody else has a block that is in the list, and `push` wrote a head to it.
        self.first.set(unsafe { first.as_ref() }.next);
        self.count.set(self.count.get() - 1);
        Some(first.cast())
    }

    /// Returns false, and does not take the block, if the list is full.
    fn push(&self, block: NonNull<u8>) -> bool {
        if self.count.get() == KEPT {
            return false;
        }
        let head = block.cast::<Head>();
        // SAFETY: the caller gives up the block, which is larger than a head and aligned for one.
        unsafe { head.write(Head { next: self.first.get() }) };
        self.first.set(Some(head));
        self.count.set(self.count.get() + 1);
        true
    }
}

thread_local! {
    static LIST: List = const { List { first: Cell::new(None), count: Cell::new(0) } };
}

/// Returns uninitialised memory for a `T`, to be given back as [`Given`]. `T` must not be zero-sized.
#[inline]
pub(super) fn take<T>() -> NonNull<T> {
    let layout = Layout::new::<T>();
    if layout == LAYOUT
        && let Ok(Some(block)) = LIST.try_with(List::pop)
    {
        return block.cast();
    }
    // SAFETY: the size is not zero: every type used here has at least a reference count.
    let block = unsafe { alloc(layout) };
    NonNull::new(block.cast()).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Memory from [`take`], which is given back when this is dropped. It must no longer contain a value.
pub(super) struct Given<T>(pub(super) NonNull<T>);

impl<T> Drop for Given<T> {
    #[inline]
    fn drop(&mut self) {
        let layout = Layout::new::<T>();
        if layout == LAYOUT && matches!(LIST.try_with(|list| list.push(self.0.cast())), Ok(true)) {
            return;
        }
        // SAFETY: `take` allocated the memory with this layout, and the owner of this value gives it up.
        unsafe { dealloc(self.0.as_ptr().cast(), layout) };
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::NonNull;

    use super::{Given, KEPT, take};

    #[repr(align(64))]
    struct Fits(#[expect(dead_code, reason = "only its size counts")] [u8; 128]);

    fn some(count: usize) -> Vec<NonNull<Fits>> {
        (0..count).map(|_| take::<Fits>()).collect()
    }

    #[test]
    fn what_was_given_back_last_is_taken_first_and_no_block_is_given_twice() {
        let blocks = some(3 * KEPT);
        let mut apart = blocks.clone();
        apart.sort();
        apart.dedup();
        assert_eq!(apart.len(), blocks.len());
        blocks.iter().copied().map(Given).for_each(drop);
        let again = some(KEPT);
        assert_eq!(again, blocks[..KEPT].iter().rev().copied().collect::<Vec<_>>());
        again.into_iter().map(Given).for_each(drop);
    }
}
