//! Blocks of the host's memory for values that come and go with every allocation, of which each thread keeps a few for its next ones.
//!
//! Memory from a pool is allocated in the order of a stream in a microsecond. Asking the system for a place for its books, where a line
//! of the cache begins, would be a good part of that.
#![expect(unsafe_code, reason = "allocates memory that is not initialised")]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::NonNull;

/// What blocks have room for. Other values are allocated as they come.
const LAYOUT: Layout = Layout::new::<Block>();

/// Blocks beyond which a thread gives back what it gets: it may be that another one makes all values and this one drops them.
const KEPT: usize = 32;

#[repr(C, align(64))]
struct Block([u8; 128]);

/// The head of a block that is kept.
struct Head {
    next: Option<NonNull<Head>>,
}

/// The blocks that a thread keeps.
struct List {
    first: Cell<Option<NonNull<Head>>>,
    count: Cell<usize>,
}

impl Drop for List {
    fn drop(&mut self) {
        while let Some(block) = self.pop() {
            // SAFETY: the list had it from `take`, which allocated it by this layout, and nobody else does.
            unsafe { dealloc(block.as_ptr(), LAYOUT) };
        }
    }
}

impl List {
    fn pop(&self) -> Option<NonNull<u8>> {
        let first = self.first.get()?;
        // SAFETY: what is in the list is a block that nobody else has, which `push` wrote a head to.
        self.first.set(unsafe { first.as_ref() }.next);
        self.count.set(self.count.get() - 1);
        Some(first.cast())
    }

    /// Says no where there are enough.
    fn push(&self, block: NonNull<u8>) -> bool {
        if self.count.get() == KEPT {
            return false;
        }
        let head = block.cast::<Head>();
        // SAFETY: the caller gives the block up, which is larger than a head and aligned for one.
        unsafe { head.write(Head { next: self.first.get() }) };
        self.first.set(Some(head));
        self.count.set(self.count.get() + 1);
        true
    }
}

thread_local! {
    static LIST: List = const { List { first: Cell::new(None), count: Cell::new(0) } };
}

/// Memory for a value of a type that has a size, to be given back as [`Given`]; not initialised.
#[inline]
pub(super) fn take<T>() -> NonNull<T> {
    let layout = Layout::new::<T>();
    if layout == LAYOUT
        && let Ok(Some(block)) = LIST.try_with(List::pop)
    {
        return block.cast();
    }
    // SAFETY: the size is not zero: every type that comes here has at least a count of owners.
    let block = unsafe { alloc(layout) };
    NonNull::new(block.cast()).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Memory from [`take`], given back when this is dropped. There must be no value in it any more.
pub(super) struct Given<T>(pub(super) NonNull<T>);

impl<T> Drop for Given<T> {
    #[inline]
    fn drop(&mut self) {
        let layout = Layout::new::<T>();
        if layout == LAYOUT && matches!(LIST.try_with(|list| list.push(self.0.cast())), Ok(true)) {
            return;
        }
        // SAFETY: `take` allocated it by this layout, and who drops this gives it up.
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
