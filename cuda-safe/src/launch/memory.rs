//! Buffers and views as kernel arguments.
#![expect(unsafe_code, reason = "declares which memory may stand for which pointer parameters")]

use crate::device::Device;
use crate::error::Result;
use crate::hazard::{Access, Mode};
use crate::memory::{
    DeviceBuffer, DeviceSlice, DeviceSliceMut, MappedFlag, PinnedBuffer, PinnedSlice, PinnedSliceMut,
    Registered, Stable, StableMut,
};

use super::KernelArg;

/// Memory that a kernel reads: an argument for `const T*` whose length is known.
///
/// For functions around a kernel that check lengths before they launch it.
///
/// # Safety
/// From the address that [`value`](KernelArg::value) gives, there are [`elements`](Self::elements) elements that belong to the
/// argument, and the device that [`device`](Self::device) names, or every device where it names none, reaches them.
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
/// From the address that [`value`](KernelArg::value) gives, there are [`elements`](Self::elements) elements that belong to the
/// argument, and the device that [`device`](Self::device) names, or every device where it names none, reaches them.
pub unsafe trait KernelOutput<T: 'static>: KernelArg<*mut T> {
    /// Length in elements.
    fn elements(&self) -> usize;

    /// The device that has to run the kernel, unless all devices reach the memory.
    fn device(&self) -> Option<Device>;
}

/// Pinned memory is reached by every device.
fn unbound(_: Device) -> Option<Device> {
    None
}

/// Memory types that stand for one kind of pointer: what the kernel may do, where the address comes from, and which device
/// it is bound to.
macro_rules! memory {
    ([$owned:ident: $bound:tt of $element:ty] $trait:ident, $mode:ident, $pointer:ty, |$this:ident| $address:expr,
        $device:path, for $($memory:ty),*) => {$(
        // SAFETY: the kernel gets the address of the first element and the books the bytes of all; the borrow keeps the
        // owner alive during the call, and the owner's drop is ordered after the access.
        unsafe impl<$owned: $bound> KernelArg<$pointer> for $memory {
            #[inline]
            #[track_caller]
            fn value(&self) -> Result<$pointer> {
                let $this = self;
                $address
            }

            #[inline]
            fn access(&self) -> Option<Access<'_>> {
                Some(self.span().access(Mode::$mode))
            }
        }

        // SAFETY: the view's or the owner's own length and device; pinned memory is mapped for every device.
        unsafe impl<$owned: $bound> $trait<$element> for $memory {
            fn elements(&self) -> usize {
                self.span().len()
            }

            fn device(&self) -> Option<Device> {
                $device(self.span().device())
            }
        }
    )*};
}

memory!([T: 'static of T] KernelInput, Read, *const T, |this| Ok(this.span().pointer().cast_const()), Some, for
    &DeviceBuffer<T>, DeviceSlice<'_, T>, &DeviceSlice<'_, T>, &DeviceSliceMut<'_, T>);
memory!([T: 'static of T] KernelOutput, Write, *mut T, |this| Ok(this.span().pointer()), Some, for
    &mut DeviceBuffer<T>, DeviceSliceMut<'_, T>, &mut DeviceSliceMut<'_, T>);
memory!([T: 'static of T] KernelInput, Read, *const T, |this| this.device_ptr().map(<*mut T>::cast_const), unbound, for
    &PinnedBuffer<T>, PinnedSlice<'_, T>, &PinnedSlice<'_, T>, &PinnedSliceMut<'_, T>);
memory!([T: 'static of T] KernelOutput, Write, *mut T, |this| this.device_ptr(), unbound, for
    &mut PinnedBuffer<T>, PinnedSliceMut<'_, T>, &mut PinnedSliceMut<'_, T>);
memory!([C: Stable of C::Element] KernelInput, Read, *const C::Element, |this| this.device_ptr().map(<*mut C::Element>::cast_const),
    unbound, for &Registered<C>);
memory!([C: StableMut of C::Element] KernelOutput, Write, *mut C::Element, |this| this.device_ptr(),
    unbound, for &mut Registered<C>);

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
