//! Memory as an argument of host functions and calls: the types that [`HostFnArgument`] and [`CallArgument`]
//! are implemented for, and the loan of memory to a call that the host makes.
#![expect(unsafe_code, reason = "makes slices of memory that devices reach too")]

use std::{ptr, slice};

use bytemuck::AnyBitPattern;

use super::allocation::{Span, kernel_pointer};
use super::buffer::{Buffer, Slice, SliceMut};
use super::guard::Loan;
use super::memory_type::sealed::{SealedMemory as _, Tag};
use super::memory_type::{HostMemoryType, MemoryType, Pinned};
use super::registered::{Registered, Stable, StableMut};
use crate::error::{Error, Result};
use crate::hazard::Mode;
use crate::stream::{Accesses, CallArgument, HostFnArgument};

/// The address and the length of elements that a host function will have.
#[derive(Debug)]
pub struct Elements<T> {
    pointer: *mut T,
    len: usize,
}

impl<T> Clone for Elements<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Elements<T> {}

// SAFETY: this is an address. Elements are reached through slices only, on whichever thread runs the
// function: the implementations below require that elements can be shared with it, or sent to it if it
// writes them.
unsafe impl<T> Send for Elements<T> {}
// SAFETY: this is an address. Elements are reached through slices only, on whichever thread runs the
// function: the implementations below require that elements can be shared with it, or sent to it if it writes
// them.
unsafe impl<T> Sync for Elements<T> {}

impl<T> Elements<T> {
    /// Adds the access to a span, and returns the span's address.
    fn new<'m>(span: Span<'m, T>, mode: Mode, accesses: &mut Accesses<'m>) -> Self {
        if span.len() == 0 {
            return Self { pointer: ptr::dangling_mut(), len: 0 };
        }
        accesses.0.push(span.access(mode));
        Self { pointer: span.pointer(), len: span.len() }
    }
}

/// Implements [`HostFnArgument`] for references to memory: generics, element and type.
macro_rules! lent {
    ($reference:tt: $($generics:tt $element:ty: $type:ty;)+) => {
        $(lent!(@ $reference $generics $element: $type);)+
    };
    (@ [$bound:ident $mode:ident $from_parts:ident $($mutable:tt)?] [$($generics:tt)*] $element:ty: $type:ty) => {
        impl<'x, $($generics)*> HostFnArgument for &'x $($mutable)? $type
        where
            $element: AnyBitPattern + $bound,
        {
            type Slices<'s> = &'s $($mutable)? [$element];
            type Parts = Elements<$element>;

            fn parts<'m>(self, accesses: &mut Accesses<'m>) -> Self::Parts
            where
                Self: 'm,
            {
                Elements::new(self.span(), Mode::$mode, accesses)
            }

            unsafe fn slices<'s>(parts: Self::Parts) -> Self::Slices<'s> {
                // SAFETY: the address is that of `len` aligned elements, or dangling and aligned for
                // none. Any bytes are a valid element. The caller guarantees that they live and that
                // nothing writes them. If the access is a write, the caller guarantees that nothing else
                // reaches the elements.
                unsafe { slice::$from_parts(parts.pointer, parts.len) }
            }
        }
    };
}

lent! { [Sync Read from_raw_parts]:
    [T, M: HostMemoryType] T: Buffer<T, M>;
    [T, M: HostMemoryType] T: Slice<'_, T, M>;
    [T, M: HostMemoryType] T: SliceMut<'_, T, M>;
    [C: Stable] C::Element: Registered<C>;
}

lent! { [Send Write from_raw_parts_mut mut]:
    [T, M: HostMemoryType] T: Buffer<T, M>;
    [T, M: HostMemoryType] T: SliceMut<'_, T, M>;
    [C: StableMut] C::Element: Registered<C>;
}

/// Implements [`CallArgument`] for references: generics, element, memory type, and type.
macro_rules! called {
    ($pointer:tt $mode:ident: $([$($generics:tt)*] $element:ty, $memory_type:ty, $type:ty;)+) => {$(
        impl<$($generics)*> CallArgument for $type {
            type Pointers = *$pointer $element;

            fn pointers(&self) -> Result<Self::Pointers> {
                Ok(kernel_pointer::<_, $memory_type>(self.span())?.cast())
            }

            fn accesses<'m>(&'m self, accesses: &mut Accesses<'m>) {
                let access = self.span().access(Mode::$mode);
                // The call may copy it to a device.
                let at_call = matches!((Mode::$mode, <$memory_type>::TAG), (Mode::Read, Tag::Pinned));
                accesses.0.push(if at_call { access.at_call() } else { access });
            }
        }
    )+};
}

called! { const Read:
    [T, M: MemoryType] T, M, &Buffer<T, M>;
    [T, M: MemoryType] T, M, &Slice<'_, T, M>;
    [T, M: MemoryType] T, M, &SliceMut<'_, T, M>;
    [C: Stable] C::Element, Pinned, &Registered<C>;
}

called! { mut Write:
    [T, M: MemoryType] T, M, &mut Buffer<T, M>;
    [T, M: MemoryType] T, M, &mut SliceMut<'_, T, M>;
    [C: StableMut] C::Element, Pinned, &mut Registered<C>;
}

/// Implements [`CallArgument`] for a tuple.
macro_rules! called_tuple {
    ($($name:ident $index:tt)+) => {
        impl<$($name: CallArgument),+> CallArgument for ($($name,)+) {
            type Pointers = ($($name::Pointers,)+);

            fn pointers(&self) -> Result<Self::Pointers> {
                Ok(($(self.$index.pointers()?,)+))
            }

            fn accesses<'m>(&'m self, accesses: &mut Accesses<'m>) {
                $(self.$index.accesses(accesses);)+
            }
        }
    };
}

called_tuple!(A 0);
called_tuple!(A 0 B 1);
called_tuple!(A 0 B 1 C 2);
called_tuple!(A 0 B 1 C 2 D 3);
called_tuple!(A 0 B 1 C 2 D 3 E 4);
called_tuple!(A 0 B 1 C 2 D 3 E 4 F 5);
called_tuple!(A 0 B 1 C 2 D 3 E 4 F 5 G 6);
called_tuple!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7);

/// Waits for the work that conflicts, and counts as a host guard while `f` runs.
#[track_caller]
fn lend<T, R, E: From<Error>>(
    span: Span<'_, T>,
    mode: Mode,
    f: impl FnOnce(*mut T, usize) -> core::result::Result<R, E>,
) -> core::result::Result<R, E> {
    let _loan = Loan::new(span, mode)?;
    f(span.pointer(), span.bytes())
}

/// Declares the loans to calls of the host, for a type and each view of it.
macro_rules! loans {
    ($([$($generics:tt)*] $type:ty $(, $mutable:ident)?;)+) => {$(
        impl<$($generics)*> $type {
            /// Waits until no work writes the memory any more, and lends it to a call of the host that reads
            /// it, such as `MPI_Send` or `cuFileWrite` on device memory.
            ///
            /// `f` receives the address of the first element, null if there is none, and the size in bytes.
            /// Meanwhile nobody submits work that conflicts: the borrow excludes it, and the launch of a
            /// graph, which needs no borrow, is refused. `f` may return the library's own error type, to
            /// which [`Error`] converts.
            ///
            /// # Errors
            /// - The error of `f`.
            /// - The failure of the work that it waited for.
            /// - A refusal inside a host function or an operation, unless the work is known to be complete.
            ///
            /// # Safety
            /// The call reads nothing of this crate but these bytes, and writes nothing of it. It is complete
            /// when `f` returns.
            #[track_caller]
            pub unsafe fn lend<R, E: From<Error>>(
                &self,
                f: impl FnOnce(*const T, usize) -> core::result::Result<R, E>,
            ) -> core::result::Result<R, E> {
                lend(self.span(), Mode::Read, |pointer, bytes| f(pointer.cast_const(), bytes))
            }
            $(loans! { @$mutable })?
        }
    )+};
    (@mutable) => {
        /// Waits until no work uses the memory any more, and lends it to a call of the host that writes it,
        /// such as `MPI_Recv` or `cuFileRead` into device memory. Apart from that, this is
        /// [`lend`](Self::lend).
        ///
        /// # Errors
        /// As [`lend`](Self::lend).
        ///
        /// # Safety
        /// The call uses nothing of this crate but these bytes, and is complete when `f` returns. (A
        /// `cudaMemcpy` from pageable memory is not: it returns once the host's side is read.)
        #[track_caller]
        pub unsafe fn lend_mut<R, E: From<Error>>(
            &mut self,
            f: impl FnOnce(*mut T, usize) -> core::result::Result<R, E>,
        ) -> core::result::Result<R, E> {
            lend(self.span(), Mode::Write, f)
        }
    };
}

loans! {
    [T, M: MemoryType] Buffer<T, M>, mutable;
    [T, M: MemoryType] Slice<'_, T, M>;
    [T, M: MemoryType] SliceMut<'_, T, M>, mutable;
}

/// Implements [`HostFnArgument`] for a tuple.
macro_rules! tuple {
    ($($name:ident)+) => {
        impl<$($name: HostFnArgument),+> HostFnArgument for ($($name,)+) {
            type Slices<'s> = ($($name::Slices<'s>,)+);
            type Parts = ($($name::Parts,)+);

            #[allow(non_snake_case, reason = "a variable has the name of its type")]
            fn parts<'m>(self, accesses: &mut Accesses<'m>) -> Self::Parts
            where
                Self: 'm,
            {
                let ($($name,)+) = self;
                ($($name.parts(accesses),)+)
            }

            #[allow(non_snake_case, reason = "a variable has the name of its type")]
            unsafe fn slices<'s>(parts: Self::Parts) -> Self::Slices<'s> {
                let ($($name,)+) = parts;
                // SAFETY: the caller guarantees it for each of them. The borrows of the tuple's members
                // exclude that one of them writes what another one reaches.
                ($(unsafe { $name::slices($name) },)+)
            }
        }
    };
}

tuple!(A);
tuple!(A B);
tuple!(A B C);
tuple!(A B C D);

#[cfg(test)]
mod tests {
    use super::{Elements, HostFnArgument};
    use crate::memory::{PinnedBuffer, PinnedSlice};

    type Both<'a> = (&'a PinnedBuffer<u8>, &'a mut PinnedBuffer<u32>);

    #[test]
    fn a_tuple_lends_each_of_its_members_as_it_was_borrowed() {
        let (bytes, mut words) = ([1_u8, 2, 3], [4_u32, 5]);
        let parts = (
            Elements { pointer: bytes.as_ptr().cast_mut(), len: 3 },
            Elements { pointer: words.as_mut_ptr(), len: 2 },
        );
        for round in 0..2 {
            // SAFETY: both arrays live, and nothing else reaches them while the slices live.
            let (read, written) = unsafe { Both::slices(parts) };
            assert_eq!((read, &*written), (&[1, 2, 3][..], &[4, 5 + round][..]));
            written[1] += 1;
        }
        assert_eq!(words, [4, 7]);
    }

    #[test]
    fn no_elements_are_an_empty_slice() {
        let parts = Elements { pointer: std::ptr::dangling_mut::<u64>(), len: 0 };
        // SAFETY: the slices have no elements.
        assert!(unsafe { <&PinnedSlice<'_, u64>>::slices(parts) }.is_empty());
        // SAFETY: the slices have no elements.
        assert!(unsafe { <&mut PinnedBuffer<u64>>::slices(parts) }.is_empty());
    }
}
