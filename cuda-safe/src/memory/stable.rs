//! Which containers can have their elements page-locked and used by devices while they are put away.
#![expect(unsafe_code, reason = "vouches for containers of the standard library")]

use std::sync::Arc;

#[cfg(doc)]
use super::Registered;
use bytemuck::AnyBitPattern;

/// A container that [`Registered`] can own: its elements stay where they are.
///
/// Implemented for `Vec<T>`, `Box<[T]>`, `Box<[T; N]>`, `Arc<[T]>`, and [`ReadOnly`] around each. A memory
/// map or another container becomes one through a type of one's own around it.
///
/// # Safety
/// - [`elements`](Self::elements) gives a pointer to as many elements as it says: initialised, aligned, and in one allocation.
/// - They stay there, and nobody but other owners of a shared container reaches them, until the container is dropped
///   or used again. Whoever calls `elements` may move the container's box meanwhile, not the container.
/// - Nobody writes them meanwhile, other owners included, except through the pointer.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be registered",
    label = "does not own elements that stay where they are",
    note = "register a `Vec<T>`, a `Box<[T]>` or an `Arc<[T]>`"
)]
pub unsafe trait Stable: Send + 'static {
    /// What it contains.
    type Element: AnyBitPattern + Send + Sync;

    /// The first element and how many there are. The pointer may be null or dangling where there are none.
    fn elements(&mut self) -> (*mut Self::Element, usize);
}

/// A container whose elements belong to it alone, so that a copy or a kernel may write them.
///
/// Not for shared containers such as `Arc<[T]>`, whose other owners may be reading.
///
/// # Safety
/// The pointer that [`elements`](Stable::elements) gives may be written through, and nobody else reads the elements until
/// the container is dropped or used again.
#[diagnostic::on_unimplemented(
    message = "the elements of `{Self}` cannot be written while it is registered",
    label = "they are shared, or for reading only"
)]
pub unsafe trait StableMut: Stable {}

// SAFETY: a vector's elements are in an allocation of its own that only using the vector moves.
unsafe impl<T: AnyBitPattern + Send + Sync> Stable for Vec<T> {
    type Element = T;

    fn elements(&mut self) -> (*mut T, usize) {
        (self.as_mut_ptr(), self.len())
    }
}

// SAFETY: a vector is the only owner of its elements, and the pointer is the one for writing.
unsafe impl<T: AnyBitPattern + Send + Sync> StableMut for Vec<T> {}

// SAFETY: a box's elements never move while it lives.
unsafe impl<T: AnyBitPattern + Send + Sync> Stable for Box<[T]> {
    type Element = T;

    fn elements(&mut self) -> (*mut T, usize) {
        (self.as_mut_ptr(), self.len())
    }
}

// SAFETY: a box is the only owner of its elements, and the pointer is the one for writing.
unsafe impl<T: AnyBitPattern + Send + Sync> StableMut for Box<[T]> {}

// SAFETY: a box's elements never move while it lives.
unsafe impl<T: AnyBitPattern + Send + Sync, const N: usize> Stable for Box<[T; N]> {
    type Element = T;

    fn elements(&mut self) -> (*mut T, usize) {
        (self.as_mut_ptr(), N)
    }
}

// SAFETY: a box is the only owner of its elements, and the pointer is the one for writing.
unsafe impl<T: AnyBitPattern + Send + Sync, const N: usize> StableMut for Box<[T; N]> {}

/// A container that devices only read: what [`Registered::read_only`] owns.
///
/// It is no [`StableMut`], so its elements are no destination of copies and no argument that a kernel writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReadOnly<C>(pub C);

// SAFETY: the elements are the container's, which keeps the promises.
unsafe impl<C: Stable> Stable for ReadOnly<C> {
    type Element = C::Element;

    fn elements(&mut self) -> (*mut C::Element, usize) {
        self.0.elements()
    }
}

// SAFETY: shared elements never move while an owner lives, and while there may be another one nobody writes them: the
// registered owner is one, so no other is ever the only one.
unsafe impl<T: AnyBitPattern + Send + Sync> Stable for Arc<[T]> {
    type Element = T;

    fn elements(&mut self) -> (*mut T, usize) {
        (Arc::as_ptr(self).cast::<T>().cast_mut(), self.len())
    }
}
