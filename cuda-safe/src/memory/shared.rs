//! [`Shared`]: a value with a count of its owners, which costs nothing while there is only one.
//!
//! Every buffer has its allocation in one, and only graphs, textures and surfaces ever hold a second owner.
//! An `Arc` also counts weak references, which nobody makes here: that costs four atomic steps in the life
//! of a buffer that is never shared. `Shared` avoids all of them.
#![expect(unsafe_code, reason = "owns a counted block by a raw pointer")]

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

use super::block;
use crate::hazard::{Access, Ledger};
use cuda_hazard::Keeper;

/// The limit of owners, so that forgotten owners can never overflow the count.
const LIMIT: usize = usize::MAX / 2;

/// A counted value, aligned to a cache line, so that its first fields share one line with the count.
#[repr(C, align(64))]
struct Counted<T> {
    owners: AtomicUsize,
    value: T,
}

/// One of the owners of a value. The last owner drops the value.
pub(crate) struct Shared<T> {
    counted: NonNull<Counted<T>>,
}

// SAFETY: as for `Arc`. An owner on another thread may share the value, and may be the one that drops it.
unsafe impl<T: Send + Sync> Send for Shared<T> {}
// SAFETY: as above. A shared owner can be cloned to make another one.
unsafe impl<T: Send + Sync> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// Makes the first owner of a value.
    #[cfg(test)]
    fn new(value: T) -> Self {
        let counted = block::take::<Counted<T>>();
        // SAFETY: the block has room for one such value, and nobody else has it.
        unsafe { counted.write(Counted { owners: AtomicUsize::new(1), value }) };
        Self { counted }
    }

    /// Returns the value for changes, if this is its only owner.
    #[inline]
    pub(crate) fn only(&mut self) -> Option<&mut T> {
        if !self.is_only() {
            return None;
        }
        // SAFETY: the block lives as long as an owner. This is the only owner and is borrowed exclusively.
        // Therefore nobody else reaches the value, and no other owner can be made meanwhile.
        let counted = unsafe { self.counted.as_mut() };
        Some(&mut counted.value)
    }

    /// Releases the owner. If it is the only one and `is_spent` returns that the value has nothing left to
    /// drop, only its block is given back.
    #[inline]
    pub(crate) fn let_go(mut self, is_spent: impl FnOnce(&mut T) -> bool) {
        if self.only().is_some_and(is_spent) {
            drop(block::Given(ManuallyDrop::new(self).counted));
        }
    }

    /// Returns whether there is no other owner. Only an owner makes owners, so a single owner that is not
    /// borrowed stays the only one.
    #[inline]
    fn is_only(&self) -> bool {
        // Acquire: all that former owners did with the value happens before, because they released it.
        self.counted().owners.load(Ordering::Acquire) == 1
    }

    #[inline]
    fn counted(&self) -> &Counted<T> {
        // SAFETY: the block lives as long as an owner. Only its only owner borrows it exclusively.
        unsafe { self.counted.as_ref() }
    }
}

/// A value that contains the access history of an allocation.
pub(crate) trait Kept: Send + Sync + 'static {
    /// Returns the access history.
    fn ledger(&self) -> &Ledger;

    /// Returns the access history, to set how another owner is made.
    fn ledger_mut(&mut self) -> &mut Ledger;
}

impl<T: Kept> Shared<T> {
    /// Makes the first owner of an allocation that graphs can retain.
    #[inline]
    pub(crate) fn kept(value: T) -> Self {
        Self::made(|| value)
    }

    /// Makes the first owner of an allocation. `make` is called when the block exists, so that the value is
    /// written directly to it.
    #[inline]
    pub(crate) fn made(make: impl FnOnce() -> T) -> Self {
        let counted = block::take::<Counted<T>>();
        let mut value = make();
        let keep = (again::<T> as unsafe fn(usize) -> _, counted.as_ptr().expose_provenance());
        // SAFETY: the function takes the address of the counted value, which is written below.
        unsafe { value.ledger_mut().kept_by(keep) };
        // SAFETY: the block has room for one such value, and nobody else has it.
        unsafe { counted.write(Counted { owners: AtomicUsize::new(1), value }) };
        Self { counted }
    }
}

// SAFETY: the access history is in the counted value, which does not move and lives as long as its owners.
unsafe impl<T: Kept> Keeper for Shared<T> {
    fn ledger(&self) -> &Ledger {
        (**self).ledger()
    }
}

/// Makes another owner of the value that [`Shared::kept`] stored at this address.
///
/// # Safety
/// An owner of the value is borrowed during the call.
unsafe fn again<T: Kept>(address: usize) -> Arc<dyn Keeper> {
    let counted = NonNull::new(ptr::with_exposed_provenance_mut(address)).unwrap_or(NonNull::dangling());
    // Not dropped, because it stands for the borrowed owner.
    let owner = ManuallyDrop::new(Shared::<T> { counted });
    Arc::new(Shared::clone(&owner))
}

/// Returns another owner of the memory of an access, or `None` if its owners are not counted.
pub(crate) fn keeper(access: &Access<'_>) -> Option<Arc<dyn Keeper>> {
    let (again, address) = access.ledger().keep()?;
    // SAFETY: the access borrows an access history. It is part of the allocation at this address, so an
    // owner of the allocation is borrowed, too. That owner can neither be dropped nor be borrowed
    // exclusively meanwhile. Code that moves an access history out of its owner makes it forget the
    // address.
    Some(unsafe { again(address) })
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        let before = self.counted().owners.fetch_add(1, Ordering::Relaxed);
        if before > LIMIT {
            // As in `Arc`: only owners that are forgotten again and again can reach this number.
            std::process::abort();
        }
        Self { counted: self.counted }
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.counted().value
    }
}

impl<T> Drop for Shared<T> {
    #[inline]
    fn drop(&mut self) {
        if !self.is_only() {
            if self.counted().owners.fetch_sub(1, Ordering::Release) != 1 {
                return;
            }
            fence(Ordering::Acquire);
        }
        // The block is given back even if the drop of the value panics.
        let block = block::Given(self.counted);
        // SAFETY: the value was written there when the first owner was made. Only the last owner, which
        // this is, comes here.
        unsafe { block.0.drop_in_place() };
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Arc, Barrier};

    use super::Shared;

    struct Counts(Arc<AtomicU32>);

    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn only_the_last_owner_drops_the_value() {
        let drops = Arc::new(AtomicU32::new(0));
        let first = Shared::new(Counts(Arc::clone(&drops)));
        let second = first.clone();
        drop(first);
        assert_eq!(drops.load(Ordering::SeqCst), 0);
        drop(second);
        assert_eq!(drops.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_value_can_be_changed_by_its_only_owner() {
        let mut first = Shared::new(1);
        *first.only().unwrap() = 2;
        let second = first.clone();
        assert!(first.only().is_none());
        drop(second);
        assert_eq!(first.only(), Some(&mut 2));
    }

    #[test]
    fn owners_that_go_at_the_same_moment_drop_the_value_once() {
        let drops = Arc::new(AtomicU32::new(0));
        for _ in 0..200 {
            let owner = Shared::new(Counts(Arc::clone(&drops)));
            let (other, barrier) = (owner.clone(), Barrier::new(2));
            std::thread::scope(|threads| {
                threads.spawn(|| {
                    barrier.wait();
                    drop(other);
                });
                barrier.wait();
                drop(owner);
            });
        }
        assert_eq!(drops.load(Ordering::SeqCst), 200);
    }

    #[test]
    fn values_made_by_one_thread_and_dropped_by_another_keep_what_they_are() {
        // Values as large as a retained block, and more of them than a thread retains.
        let make = |from: usize| (from..from + 100).map(|at| Shared::new([at; 15])).collect::<Vec<_>>();
        for round in 0..5 {
            let values = std::thread::spawn(move || make(round)).join().unwrap();
            for (at, value) in values.iter().enumerate() {
                assert_eq!(**value, [round + at; 15]);
            }
            drop(values);
            let mine = make(round);
            std::thread::spawn(move || drop(mine)).join().unwrap();
        }
    }
}
