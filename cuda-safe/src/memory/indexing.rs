//! The compiler's error for `buffer[0]`: buffers and their views have no index, and the error says what has.

use std::ops::Index;

use super::{Buffer, Slice, SliceMut};

/// Memory that can be indexed. Nothing implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be indexed",
    label = "the host has no reference to these elements",
    note = "device memory is copied to the host first: `d.to_vec()?[i]`; a part of it is `d.slice(i..j)?`",
    note = "pinned and managed memory is lent to the host: `b.host()?[i]`, and to write \
            `b.host_mut()?[i] = x`"
)]
pub trait Indexable<T> {
    #[doc(hidden)]
    fn element(&self) -> &T;
}

macro_rules! not_indexable {
    ($($memory:ty),*) => { $(
        #[doc(hidden)]
        impl<T, M, I> Index<I> for $memory
        where
            Self: Indexable<T>,
        {
            type Output = T;

            fn index(&self, _: I) -> &T {
                self.element()
            }
        }
    )* };
}

not_indexable!(Buffer<T, M>, Slice<'_, T, M>, SliceMut<'_, T, M>);
