//! [`Shared`]: a value with a count of its owners, for which being the only one costs nothing.
//!
//! Every buffer has its allocation in one, and only graphs, textures and surfaces ever hold a second. An `Arc` pays for weak references that nobody
//! makes here: four atomic steps in the life of a buffer that is never shared. This pays for none.
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

/// Owners beyond which no more are made, so that forgotten ones can never make the count wrap.
const LIMIT: usize = usize::MAX / 2;

/// Where a line of the cache begins, so that what a value has first is in one.
#[repr(C, align(64))]
struct Counted<T> {
    owners: AtomicUsize,
    value: T,
}

/// One of the owners of a value. The last one that goes drops it.
pub(crate) struct Shared<T> {
    counted: NonNull<Counted<T>>,
}

// SAFETY: as for `Arc`: an owner on another thread may share the value, and may be the one that drops it.
unsafe impl<T: Send + Sync> Send for Shared<T> {}
// SAFETY: as above: through a shared owner another one can be made.
unsafe impl<T: Send + Sync> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// The first owner of a value.
    #[cfg(test)]
    fn new(value: T) -> Self {
        let counted = block::take::<Counted<T>>();
        // SAFETY: the block is there for one such value, and nobody else has it.
        unsafe { counted.write(Counted { owners: AtomicUsize::new(1), value }) };
        Self { counted }
    }

    /// The value, to be changed, if this is its only owner.
    #[inline]
    pub(crate) fn only(&mut self) -> Option<&mut T> {
        if !self.is_only() {
            return None;
        }
        // SAFETY: the box lives while an owner does; this is the only owner, borrowed exclusively, so nobody else reaches
        // the value, and no other owner can be made meanwhile.
        let counted = unsafe { self.counted.as_mut() };
        Some(&mut counted.value)
    }

    /// Lets the owner go. Where it is the only one and the value says that it has nothing to be dropped any more, what there is to do is to
    /// give its block back.
    #[inline]
    pub(crate) fn let_go(mut self, is_spent: impl FnOnce(&mut T) -> bool) {
        if self.only().is_some_and(is_spent) {
            drop(block::Given(ManuallyDrop::new(self).counted));
        }
    }

    /// Whether there is no other owner. Only an owner makes owners, so where this one is alone and not lent out it stays so.
    #[inline]
    fn is_only(&self) -> bool {
        // Acquire: with the release of those that went, all that they did with the value comes before.
        self.counted().owners.load(Ordering::Acquire) == 1
    }

    #[inline]
    fn counted(&self) -> &Counted<T> {
        // SAFETY: the box lives while an owner does, and is only lent exclusively by its only owner.
        unsafe { self.counted.as_ref() }
    }
}

/// What has the books about an allocation in it.
pub(crate) trait Kept: Send + Sync + 'static {
    /// The books.
    fn ledger(&self) -> &Ledger;

    /// The books, to say how another owner is made.
    fn ledger_mut(&mut self) -> &mut Ledger;
}

impl<T: Kept> Shared<T> {
    /// The first owner of an allocation, which graphs can become owners of.
    #[inline]
    pub(crate) fn kept(value: T) -> Self {
        Self::made(|| value)
    }

    /// The first owner of an allocation that is made when there is a place for it, so that it is written where it stays and nowhere
    /// else.
    #[inline]
    pub(crate) fn made(make: impl FnOnce() -> T) -> Self {
        let counted = block::take::<Counted<T>>();
        let mut value = make();
        let keep = (again::<T> as unsafe fn(usize) -> _, counted.as_ptr().expose_provenance());
        // SAFETY: the function takes the address of what is counted, which is written below.
        unsafe { value.ledger_mut().kept_by(keep) };
        // SAFETY: the block is there for one such value, and nobody else has it.
        unsafe { counted.write(Counted { owners: AtomicUsize::new(1), value }) };
        Self { counted }
    }
}

// SAFETY: the ledger is in the counted value, which does not move and lives as long as its owners.
unsafe impl<T: Kept> Keeper for Shared<T> {
    fn ledger(&self) -> &Ledger {
        (**self).ledger()
    }
}

/// Another owner of what [`Shared::kept`] has put at this address.
///
/// # Safety
/// An owner of it is borrowed over the call.
unsafe fn again<T: Kept>(address: usize) -> Arc<dyn Keeper> {
    let counted = NonNull::new(ptr::with_exposed_provenance_mut(address)).unwrap_or(NonNull::dangling());
    // Not dropped: it counts for the owner that is borrowed.
    let owner = ManuallyDrop::new(Shared::<T> { counted });
    Arc::new(Shared::clone(&owner))
}

/// Another owner of the memory that an access is of; none where nobody counts them.
pub(crate) fn keeper(access: &Access<'_>) -> Option<Arc<dyn Keeper>> {
    let (again, address) = access.ledger().keep()?;
    // SAFETY: the access borrows its ledger, which is in the allocation that the address is that of, and so in an owner that
    // cannot go meanwhile, nor have the allocation to itself: who takes an allocation out of its owners has the ledger forget
    // the address.
    Some(unsafe { again(address) })
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        let before = self.counted().owners.fetch_add(1, Ordering::Relaxed);
        if before > LIMIT {
            // So many can only be there if they were forgotten, over and over; as `Arc` does.
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
        // Given back even if the value's drop panics.
        let block = block::Given(self.counted);
        // SAFETY: the value was put there when the first owner was made, and the last one, which this is, is the only one that comes
        // here.
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
        // As large as a block that threads keep, and more of them than one keeps.
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
