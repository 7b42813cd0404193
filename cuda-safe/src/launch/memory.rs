//! Buffers and views as kernel arguments.
#![expect(unsafe_code, reason = "declares which memory may stand for which pointer parameters")]

use std::ptr;

use crate::device::Device;
use crate::error::Result;
use crate::hazard::{Access, Mode};
use crate::memory::memory_type::sealed::Tag;
use crate::memory::span::kernel_pointer;
use crate::memory::{
    Buffer, MappedFlag, MemoryType, OnDevice, Pinned, PitchedBuffer, PitchedVolume, Plane, PlaneMut,
    Registered, Slice, SliceMut, Stable, StableMut, Volume, VolumeMut,
};

use super::KernelArg;

/// Memory that a kernel reads: an argument for `const T*` whose length is known.
///
/// For functions around a kernel that check lengths before they launch it.
///
/// # Safety
/// From the address that [`value`](KernelArg::value) gives, which is aligned for `T`, there are [`elements`](Self::elements)
/// elements that belong to the argument, and the device that [`device`](Self::device) names, or every device where it names
/// none, reaches them.
pub unsafe trait KernelInput<T: 'static>: KernelArg<*const T> {
    /// Length in elements.
    fn elements(&self) -> usize;

    /// The device that has to run the kernel, unless all devices reach the memory.
    fn device(&self) -> Option<Device>;
}

/// Memory that a kernel writes: an argument for `T*` whose length is known.
///
/// For functions around a kernel that check lengths before they launch it.
///
/// # Safety
/// From the address that [`value`](KernelArg::value) gives, which is aligned for `T`, there are [`elements`](Self::elements)
/// elements that belong to the argument, and the device that [`device`](Self::device) names, or every device where it names
/// none, reaches them.
pub unsafe trait KernelOutput<T: 'static>: KernelArg<*mut T> {
    /// Length in elements.
    fn elements(&self) -> usize;

    /// The device that has to run the kernel, unless all devices reach the memory.
    fn device(&self) -> Option<Device>;
}

/// The device that memory is bound to; memory of the host and managed memory are reached by every device.
fn bound_to<M: MemoryType>(device: Device) -> Option<Device> {
    match M::TAG {
        Tag::Device => Some(device),
        Tag::Pinned | Tag::Managed => None,
    }
}

/// Memory types that stand for one kind of pointer, and what the kernel may do through it.
macro_rules! memory {
    ($generics:tt of $element:ty, in $call_site:ty, $trait:ident, $mode:ident, $pointer:ty, for $($memory:ty),*) => {
        $(memory!(@ $generics of $element, in $call_site, $trait, $mode, $pointer, $memory);)*
    };
    (@ [$($generics:tt)*] of $element:ty, in $call_site:ty, $trait:ident, $mode:ident, $pointer:ty, $memory:ty) => {
        // SAFETY: the kernel gets the address of the first element and the tracker the bytes of all; the borrow keeps the
        // owner alive during the call, and the owner's drop is ordered after the access.
        unsafe impl<$($generics)*> KernelArg<$pointer> for $memory {
            #[inline]
            #[track_caller]
            fn value(&self) -> Result<$pointer> {
                Ok(kernel_pointer::<_, $call_site>(self.span())?.cast())
            }

            #[inline]
            fn access(&self) -> Option<Access<'_>> {
                Some(self.span().access(Mode::$mode))
            }
        }

        // SAFETY: the view's or the owner's own length and device.
        unsafe impl<$($generics)*> $trait<$element> for $memory {
            fn elements(&self) -> usize {
                self.span().len()
            }

            fn device(&self) -> Option<Device> {
                bound_to::<$call_site>(self.span().device())
            }
        }
    };
}

memory!([T: 'static, M: MemoryType] of T, in M, KernelInput, Read, *const T, for
    &Buffer<T, M>, Slice<'_, T, M>, &Slice<'_, T, M>, &SliceMut<'_, T, M>);
memory!([T: 'static, M: MemoryType] of T, in M, KernelOutput, Write, *mut T, for
    &mut Buffer<T, M>, SliceMut<'_, T, M>, &mut SliceMut<'_, T, M>);
memory!([C: Stable] of C::Element, in Pinned, KernelInput, Read, *const C::Element, for &Registered<C>);
memory!([C: StableMut] of C::Element, in Pinned, KernelOutput, Write, *mut C::Element, for &mut Registered<C>);

/// Planes and volumes that stand for one kind of pointer. The pitch is an argument of its own, which the program passes.
macro_rules! rows {
    ([$($generics:tt)*] in $call_site:ty, $mode:ident, $pointer:ty, $memory:ty) => {
        // SAFETY: the kernel gets the address of the first element and the tracker all bytes from there to the last; the borrow
        // keeps the owner alive during the call, and the owner's drop is ordered after the access.
        unsafe impl<$($generics)*> KernelArg<$pointer> for $memory {
            #[inline]
            #[track_caller]
            fn value(&self) -> Result<$pointer> {
                // All of these have tracker; without, a kernel could not reach the memory.
                let address = self.grid().bytes().map(kernel_pointer::<u8, $call_site>).transpose()?;
                Ok(address.unwrap_or(ptr::null_mut()).cast())
            }

            #[inline]
            fn access(&self) -> Option<Access<'_>> {
                self.grid().bytes().map(|bytes| bytes.access(Mode::$mode))
            }
        }
    };
}

rows!([T: 'static] in OnDevice, Read, *const T, &PitchedBuffer<T>);
rows!([T: 'static] in OnDevice, Write, *mut T, &mut PitchedBuffer<T>);
rows!([T: 'static, M: MemoryType] in M, Read, *const T, Plane<'_, T, M>);
rows!([T: 'static, M: MemoryType] in M, Read, *const T, &Plane<'_, T, M>);
rows!([T: 'static, M: MemoryType] in M, Read, *const T, &PlaneMut<'_, T, M>);
rows!([T: 'static, M: MemoryType] in M, Write, *mut T, PlaneMut<'_, T, M>);
rows!([T: 'static, M: MemoryType] in M, Write, *mut T, &mut PlaneMut<'_, T, M>);
rows!([T: 'static] in OnDevice, Read, *const T, &PitchedVolume<T>);
rows!([T: 'static] in OnDevice, Write, *mut T, &mut PitchedVolume<T>);
rows!([T: 'static, M: MemoryType] in M, Read, *const T, Volume<'_, T, M>);
rows!([T: 'static, M: MemoryType] in M, Read, *const T, &Volume<'_, T, M>);
rows!([T: 'static, M: MemoryType] in M, Read, *const T, &VolumeMut<'_, T, M>);
rows!([T: 'static, M: MemoryType] in M, Write, *mut T, VolumeMut<'_, T, M>);
rows!([T: 'static, M: MemoryType] in M, Write, *mut T, &mut VolumeMut<'_, T, M>);

// SAFETY: the flag is an atomic that host and devices may reach at any time; its access only orders its freeing.
unsafe impl KernelArg<*const u32> for &MappedFlag {
    #[inline]
    fn value(&self) -> Result<*const u32> {
        Ok(self.device_ptr().cast_const())
    }

    #[inline]
    fn access(&self) -> Option<Access<'_>> {
        Some(MappedFlag::access(self))
    }
}

// SAFETY: as above.
unsafe impl KernelArg<*mut u32> for &MappedFlag {
    #[inline]
    fn value(&self) -> Result<*mut u32> {
        Ok(self.device_ptr())
    }

    #[inline]
    fn access(&self) -> Option<Access<'_>> {
        Some(MappedFlag::access(self))
    }
}
