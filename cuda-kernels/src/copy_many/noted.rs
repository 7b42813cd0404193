//! What the books are told of a call, without memory of the heap.
#![expect(unsafe_code, reason = "an array of which only what is needed is written")]

use std::mem::{self, MaybeUninit};
use std::slice;

use cuda_safe::hazard::Access;
use cuda_safe::launch::KernelArg;

use super::{SMALL, reads_first};

/// The accesses of as many pairs as a small table has room for, one kind after the other: what the books take first comes first.
pub(super) struct Noted<'a> {
    accesses: [MaybeUninit<Access<'a>>; 2 * SMALL],
    count: usize,
    /// How many are of the first kind.
    first: usize,
}

impl<'a> Noted<'a> {
    /// None.
    #[inline]
    pub(super) fn new() -> Self {
        Self { accesses: [const { MaybeUninit::uninit() }; 2 * SMALL], count: 0, first: 0 }
    }

    /// Those of pairs, of which there are no more than there is room for.
    #[inline]
    pub(super) fn note<T, D, S>(&mut self, pairs: &'a [(D, S)])
    where
        T: 'static,
        D: KernelArg<*mut T>,
        S: KernelArg<*const T>,
    {
        let (writes, reads) =
            (pairs.iter().map(|pair| pair.0.access()), pairs.iter().map(|pair| pair.1.access()));
        if reads_first(writes.clone().next().flatten().as_ref(), reads.clone().next().flatten().as_ref()) {
            self.append(reads);
            self.first = self.count;
            self.append(writes);
        } else {
            self.append(writes);
            self.first = self.count;
            self.append(reads);
        }
    }

    /// Adds accesses, those that touch as one. There is room for one of either kind of each pair.
    #[inline]
    fn append(&mut self, accesses: impl Iterator<Item = Option<Access<'a>>>) {
        let mut accesses = accesses.flatten().filter(|access| !access.is_empty());
        let Some(mut last) = accesses.next() else { return };
        let (mut room, mut noted) = (self.accesses.get_mut(self.count..).unwrap_or_default().iter_mut(), 0);
        let mut put = |access: Access<'a>| {
            if let Some(place) = room.next() {
                place.write(access);
                noted += 1;
            }
        };
        for access in accesses {
            if !last.take_in(&access) {
                put(mem::replace(&mut last, access));
            }
        }
        put(last);
        self.count += noted;
    }

    /// All of them.
    #[inline]
    pub(super) fn all(&self) -> &[Access<'a>] {
        // SAFETY: so many accesses were written, one place after the other.
        unsafe { slice::from_raw_parts(self.accesses.as_ptr().cast::<Access<'a>>(), self.count) }
    }

    /// Those of either kind.
    pub(super) fn kinds(&self) -> (&[Access<'a>], &[Access<'a>]) {
        self.all().split_at_checked(self.first).unwrap_or_default()
    }
}
