//! The containers that can be registered: their elements are page-locked and used by devices while
//! [`Registered`](crate::memory::Registered) owns the container.
#![expect(unsafe_code, reason = "vouches for containers of the standard library")]

use std::sync::Arc;

use bytemuck::AnyBitPattern;

/// A container that [`Registered`](crate::memory::Registered) can own: its elements do not move.
///
/// Implemented for `Vec<T>`, `Box<[T]>`, `Box<[T; N]>`, `Arc<[T]>`, and [`ReadOnly`] around each. To
/// register a memory map or another container, implement it for a wrapper type.
///
/// # Safety
/// - [`elements`](Self::elements) returns a pointer to as many elements as it reports: initialised,
///   aligned, and in one allocation.
/// - The elements do not move until the container is dropped or used again, and nobody reaches them in this
///   time but other owners of a shared container. The caller of `elements` may move the container's box in
///   this time, but not the container.
/// - Nobody writes the elements in this time except through the pointer. This includes other owners.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be registered",
    label = "does not own elements that stay where they are",
    note = "register a `Vec<T>`, a `Box<[T]>` or an `Arc<[T]>`"
)]
pub unsafe trait Stable: Send + 'static {
    /// The type of the elements.
    type Element: AnyBitPattern + Send + Sync;

    /// Returns a pointer to the first element and the number of elements. The pointer may be null or
    /// dangling if there are none.
    fn elements(&mut self) -> (*mut Self::Element, usize);
}

/// A container that alone owns its elements, so that a copy or a kernel may write them.
///
/// Not for shared containers such as `Arc<[T]>`, whose other owners may be reading.
///
/// # Safety
/// - The pointer that [`elements`](Stable::elements) returns may be written through.
/// - Nobody else reads the elements until the container is dropped or used again.
#[diagnostic::on_unimplemented(
    message = "the elements of `{Self}` cannot be written while it is registered",
    label = "they are shared, or for reading only"
)]
pub unsafe trait StableMut: Stable {}

// SAFETY: a vector's elements are in its own allocation, and only using the vector moves them.
unsafe impl<T: AnyBitPattern + Send + Sync> Stable for Vec<T> {
    type Element = T;

    fn elements(&mut self) -> (*mut T, usize) {
        (self.as_mut_ptr(), self.len())
    }
}

// SAFETY: a vector is the only owner of its elements, and the pointer is its mutable one.
unsafe impl<T: AnyBitPattern + Send + Sync> StableMut for Vec<T> {}

// SAFETY: a box's elements never move while it lives.
unsafe impl<T: AnyBitPattern + Send + Sync> Stable for Box<[T]> {
    type Element = T;

    fn elements(&mut self) -> (*mut T, usize) {
        (self.as_mut_ptr(), self.len())
    }
}

// SAFETY: a box is the only owner of its elements, and the pointer is its mutable one.
unsafe impl<T: AnyBitPattern + Send + Sync> StableMut for Box<[T]> {}

// SAFETY: a box's elements never move while it lives.
unsafe impl<T: AnyBitPattern + Send + Sync, const N: usize> Stable for Box<[T; N]> {
    type Element = T;

    fn elements(&mut self) -> (*mut T, usize) {
        (self.as_mut_ptr(), N)
    }
}

// SAFETY: a box is the only owner of its elements, and the pointer is its mutable one.
unsafe impl<T: AnyBitPattern + Send + Sync, const N: usize> StableMut for Box<[T; N]> {}

/// A container that devices only read, which
/// [`Registered::read_only`](crate::memory::Registered::read_only) owns.
///
/// It does not implement [`StableMut`]. Therefore its elements can be neither the destination of a copy nor
/// an argument that a kernel writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReadOnly<C>(pub C);

// SAFETY: the elements are those of the inner container, which fulfils the duties.
unsafe impl<C: Stable> Stable for ReadOnly<C> {
    type Element = C::Element;

    fn elements(&mut self) -> (*mut C::Element, usize) {
        self.0.elements()
    }
}

// SAFETY: shared elements never move while an owner lives. Nobody writes them while another owner may
// exist, and the registered owner is one, so no other owner is ever the only one.
unsafe impl<T: AnyBitPattern + Send + Sync> Stable for Arc<[T]> {
    type Element = T;

    fn elements(&mut self) -> (*mut T, usize) {
        (Arc::as_ptr(self).cast::<T>().cast_mut(), self.len())
    }
}
