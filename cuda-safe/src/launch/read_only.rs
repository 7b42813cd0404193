//! Memory that a kernel only reads through a parameter that C declares as `T*`.
#![expect(unsafe_code, reason = "declares which memory may stand for which pointer parameters")]

use std::ptr;

use crate::error::Result;
use crate::hazard::Access;
use crate::memory::{
    Buffer, MemoryType, PitchedBuffer, PitchedVolume, Plane, PlaneMut, Registered, Slice, SliceMut, Stable,
    Volume, VolumeMut,
};

use super::{CheckedArg, KernelArg};

/// Memory as an argument for a `T*` through which the kernel does not write: `d.read_only()`.
///
/// The tracker records a read, so launches of different streams that read the same memory need no order.
/// `cuda-kernels-build` finds most of these parameters by itself, and they take `&d`. `read_only` is for the
/// others, and for kernels of a [`Library`](crate::library::Library).
///
/// That the kernel writes nothing through the parameter is a duty of the launch.
#[derive(Clone, Copy, Debug)]
pub struct ReadOnlyMemory<A>(A);

impl<A> ReadOnlyMemory<A> {
    pub(crate) const fn new(argument: A) -> Self {
        Self(argument)
    }
}

/// Writes the methods of [`KernelArg`] for memory that another argument stands for.
macro_rules! methods_of {
    (|$it:ident| $argument:expr, $pointer:ty) => {
        #[inline]
        #[track_caller]
        fn value(&self) -> Result<$pointer> {
            let $it = self;
            Ok($argument.value()?.cast_mut())
        }

        #[inline]
        fn access(&self) -> Option<Access<'_>> {
            let $it = self;
            $argument.access()
        }
    };
}

/// Writes the method of [`CheckedArg`] for memory that another argument stands for.
macro_rules! own_of {
    (|$it:ident| $argument:expr) => {
        #[inline]
        fn own(&self) -> Option<Access<'_>> {
            let $it = self;
            $argument.own()
        }
    };
}

// SAFETY: the kernel receives the address that the argument has for a `const T*`, and by the duties of a
// launch it only reads there. The accesses are those of the argument, too.
unsafe impl<T: 'static, A: KernelArg<*const T>> KernelArg<*mut T> for ReadOnlyMemory<A> {
    methods_of!(|it| it.0, *mut T);
}

// SAFETY: as the argument itself.
unsafe impl<T: 'static, A: KernelArg<*const T>> KernelArg<*const T> for ReadOnlyMemory<A> {
    methods_of!(|it| it.0, *const T);
}

// SAFETY: as the argument itself. The access is a read, so a proof refuses a kernel that writes.
unsafe impl<T: 'static, A: CheckedArg<*const T>> CheckedArg<*mut T> for ReadOnlyMemory<A> {
    own_of!(|it| it.0);
}

// SAFETY: the access is that of the argument itself, a read.
unsafe impl<T: 'static, A: CheckedArg<*const T>> CheckedArg<*const T> for ReadOnlyMemory<A> {
    own_of!(|it| it.0);
}

/// Returns a shared borrow through a mutable one.
fn shared<'a, A>(borrow: &'a &mut A) -> &'a &'a A {
    // SAFETY: both are one reference to a value of the same type, and the mutable one cannot be used while it
    // is borrowed here.
    unsafe { &*ptr::from_ref(borrow).cast::<&A>() }
}

// SAFETY: the shared borrow is an argument for the same parameter: a kernel only reads through `const T*`. A
// program that passes `&mut d` for a `T*` compiles as before if the parameter turns out to be only read.
#[diagnostic::do_not_recommend]
unsafe impl<T: 'static, A> KernelArg<*const T> for &mut A
where
    for<'a> &'a A: KernelArg<*const T>,
{
    methods_of!(|it| shared(it), *const T);
}

// SAFETY: as the shared borrow.
#[diagnostic::do_not_recommend]
unsafe impl<T: 'static, A> CheckedArg<*const T> for &mut A
where
    for<'a> &'a A: CheckedArg<*const T>,
{
    own_of!(|it| shared(it));
}

// SAFETY: the same address.
#[diagnostic::do_not_recommend]
unsafe impl<T: 'static> KernelArg<*const T> for *mut T {
    #[inline]
    fn value(&self) -> Result<*const T> {
        Ok(self.cast_const())
    }
}

/// Implements the conversion for memory whose borrow is an argument for `const T*`.
macro_rules! read_only {
    ($([$($generics:tt)*] $memory:ty;)*) => {
        $(
            impl<$($generics)*> $memory {
                /// Returns the memory as an argument for a `T*` through which the kernel does not write. The
                /// tracker records a read.
                #[must_use]
                pub const fn read_only(&self) -> $crate::launch::ReadOnlyMemory<&Self> {
                    $crate::launch::ReadOnlyMemory::new(self)
                }
            }
        )*
    };
}

pub(crate) use read_only;

read_only! {
    [T, M: MemoryType] Buffer<T, M>;
    [C: Stable] Registered<C>;
    [T, M: MemoryType] Slice<'_, T, M>;
    [T, M: MemoryType] SliceMut<'_, T, M>;
    [T] PitchedBuffer<T>;
    [T] PitchedVolume<T>;
    [T, M: MemoryType] Plane<'_, T, M>;
    [T, M: MemoryType] PlaneMut<'_, T, M>;
    [T, M: MemoryType] Volume<'_, T, M>;
    [T, M: MemoryType] VolumeMut<'_, T, M>;
}
