//! Buffers, views and pitched memory as kernel arguments.
#![expect(unsafe_code, reason = "declares which memory may stand for which pointer parameters")]

use std::ffi::c_void;
use std::ptr;

use crate::device::Device;
use crate::error::Result;
use crate::hazard::{Access, Mode};
use crate::memory::allocation::kernel_pointer;
use crate::memory::grid::Grid;
use crate::memory::memory_type::sealed::Tag;
use crate::memory::{
    Buffer, DevicePtr, MappedFlag, MemoryType, OnDevice, Pinned, PitchedBuffer, PitchedVolume, Plane,
    PlaneMut, Registered, Slice, SliceMut, Stable, StableMut, Volume, VolumeMut,
};
use crate::sys;

use super::sixteen_bits::{Bf16, F16};
use super::{ByValue, CheckedArg, CheckedParameter, KernelArg};

/// Memory that a kernel reads: an argument for `const T*` with a known length.
///
/// Use it for functions that check lengths before they launch a kernel.
///
/// # Safety
/// - From the address that [`value`](KernelArg::value) returns, which is aligned for `T`, there are
///   [`elements`](Self::elements) elements that belong to the argument.
/// - The device that [`device`](Self::device) returns can access them, or every device if it returns
///   `None`.
pub unsafe trait KernelInput<T: 'static>: CheckedArg<*const T> {
    /// Returns the length in elements.
    fn elements(&self) -> usize;

    /// Returns the device that must run the kernel, or `None` if all devices can access the memory.
    fn device(&self) -> Option<Device>;
}

/// Memory that a kernel writes: an argument for `T*` with a known length.
///
/// Use it for functions that check lengths before they launch a kernel.
///
/// # Safety
/// - From the address that [`value`](KernelArg::value) returns, which is aligned for `T`, there are
///   [`elements`](Self::elements) elements that belong to the argument.
/// - The device that [`device`](Self::device) returns can access them, or every device if it returns
///   `None`.
pub unsafe trait KernelOutput<T: 'static>: CheckedArg<*mut T> {
    /// Returns the length in elements.
    fn elements(&self) -> usize;

    /// Returns the device that must run the kernel, or `None` if all devices can access the memory.
    fn device(&self) -> Option<Device>;
}

/// Returns the device that memory is bound to, or `None` for host and managed memory, which every device
/// can access.
fn bound_to<M: MemoryType>(device: Device) -> Option<Device> {
    match M::TAG {
        Tag::Device => Some(device),
        Tag::Pinned | Tag::Managed => None,
    }
}

/// Implements the traits for memory types that are passed as one kind of pointer, with the kernel's mode
/// of access.
macro_rules! memory {
    ($generics:tt of $element:ty, in $memory_type:ty, $trait:ident, $mode:ident, $pointer:ty, for $($memory:ty),*) => {
        $(memory!(@ $generics of $element, in $memory_type, $trait, $mode, $pointer, $memory);)*
    };
    (@ [$($generics:tt)*] of $element:ty, in $memory_type:ty, $trait:ident, $mode:ident, $pointer:ty, $memory:ty) => {
        // SAFETY: the kernel receives the address of the first element, and the tracker the bytes of all
        // elements. The borrow keeps the owner alive during the call, and the owner's drop is ordered
        // after the access.
        unsafe impl<$($generics)*> KernelArg<$pointer> for $memory {
            #[inline]
            #[track_caller]
            fn value(&self) -> Result<$pointer> {
                Ok(kernel_pointer::<_, $memory_type>(self.span())?.cast())
            }

            #[inline]
            fn access(&self) -> Option<Access<'_>> {
                Some(self.span().access(Mode::$mode))
            }
        }

        // SAFETY: the access is of the span at whose address the value points.
        unsafe impl<$($generics)*> CheckedArg<$pointer> for $memory {}

        // SAFETY: these are the length and the device of the view or owner itself.
        unsafe impl<$($generics)*> $trait<$element> for $memory {
            fn elements(&self) -> usize {
                self.span().len()
            }

            fn device(&self) -> Option<Device> {
                bound_to::<$memory_type>(self.span().device())
            }
        }
    };
}

memory!([T: 'static, M: MemoryType] of T, in M, KernelInput, Read, *const T, for
    &Buffer<T, M>, Slice<'_, T, M>, &Slice<'_, T, M>, SliceMut<'_, T, M>, &SliceMut<'_, T, M>);
memory!([T: 'static, M: MemoryType] of T, in M, KernelOutput, Write, *mut T, for
    &mut Buffer<T, M>, SliceMut<'_, T, M>, &mut SliceMut<'_, T, M>);
memory!([C: Stable] of C::Element, in Pinned, KernelInput, Read, *const C::Element, for &Registered<C>);
memory!([C: StableMut] of C::Element, in Pinned, KernelOutput, Write, *mut C::Element, for &mut Registered<C>);

/// A type of CUDA C++ whose bytes are those of one number or of several in a row, without padding: CUDA's
/// vector types (`float4`, `uchar3`, ...), `bool`, and pointers.
///
/// A parameter that points to it takes memory of [`Component`](Self::Component)s, too: `&mut` of a
/// `DeviceBuffer<f32>` for `float4*`, and of a `DeviceBuffer<DevicePtr<f32>>` for `float**`. The launch
/// refuses memory that is not aligned for the type or that is no whole number of it. `cuda-kernels-build`
/// implements this for the vector types of a header.
///
/// # Safety
/// The type has the layout of an array of components, with the same or a stricter alignment.
pub unsafe trait Components: ByValue {
    /// The type of each number.
    type Component: 'static;
}

// SAFETY: a `bool` is one byte in CUDA C++. The caller of a launch is responsible for a kernel that reads a
// `bool` from a byte that is neither 0 nor 1.
unsafe impl Components for bool {
    type Component = u8;
}

// SAFETY: a `DevicePtr` is a device address of 64 bits, as a pointer is.
unsafe impl<T: 'static> Components for *mut T {
    type Component = DevicePtr<T>;
}

// SAFETY: a `DevicePtr` is a device address of 64 bits, as a pointer is.
unsafe impl<T: 'static> Components for *const T {
    type Component = DevicePtr<T>;
}

/// Implements [`KernelArg`] for memory of components.
macro_rules! components {
    (@ $generics:tt $component:ty, $mode:ident, $pointer:ty, for $($memory:ty),*) => {
        $(components!(@ $generics $component, $mode, $pointer, $memory);)*
    };
    (@ [$($generics:tt)*] $component:ty, $mode:ident, $pointer:ty, $memory:ty) => {
        // SAFETY: the kernel receives the address of the first element, which is aligned for the parameter's
        // type, and the tracker the bytes of all elements, which are a whole number of that type. The borrow
        // keeps the owner alive during the call, and the owner's drop is ordered after the access.
        #[diagnostic::do_not_recommend]
        unsafe impl<V: Components<Component = $component>, M: MemoryType, $($generics)*> KernelArg<$pointer>
            for $memory
        {
            #[inline]
            #[track_caller]
            fn value(&self) -> Result<$pointer> {
                Ok(kernel_pointer::<V, M>(self.span().reinterpret("launch")?)?.cast())
            }

            #[inline]
            fn access(&self) -> Option<Access<'_>> {
                Some(self.span().access(Mode::$mode))
            }
        }

        // SAFETY: the access is of the span at whose address the value points.
        #[diagnostic::do_not_recommend]
        unsafe impl<V: Components<Component = $component>, M: MemoryType, $($generics)*> CheckedArg<$pointer>
            for $memory
        {
        }
    };
    ($($generics:tt $component:ty;)*) => { $(
        components!(@ $generics $component, Read, *const V, for &Buffer<$component, M>,
            Slice<'_, $component, M>, &Slice<'_, $component, M>, SliceMut<'_, $component, M>,
            &SliceMut<'_, $component, M>);
        components!(@ $generics $component, Write, *mut V, for
            &mut Buffer<$component, M>, SliceMut<'_, $component, M>, &mut SliceMut<'_, $component, M>);
    )* };
}

components!([] i8; [] u8; [] i16; [] u16; [] i32; [] u32; [] i64; [] u64; [] f32; [] f64;
    [T: 'static] DevicePtr<T>;);
// Also without the feature, so that the feature changes nothing of what is inferred.
components!([] F16; [] Bf16;);

/// Implements [`KernelArg`] for planes and volumes that are passed as one kind of parameter. `$make` makes it
/// of the address of the first element and of the rows.
macro_rules! rows {
    ($generics:tt in $memory_type:ty, $mode:ident, $parameter:ty, $make:expr, for $($memory:ty),*) => {
        $(rows!(@ $generics in $memory_type, $mode, $parameter, $make, $memory);)*
    };
    (@ [$($generics:tt)*] in $memory_type:ty, $mode:ident, $parameter:ty, $make:expr, $memory:ty) => {
        // SAFETY: the kernel receives the address of the first element, and the tracker all bytes from
        // there to the last. The borrow keeps the owner alive during the call, and the owner's drop is
        // ordered after the access.
        #[diagnostic::do_not_recommend]
        unsafe impl<$($generics)*> KernelArg<$parameter> for $memory {
            #[inline]
            #[track_caller]
            fn value(&self) -> Result<$parameter> {
                let grid = self.grid();
                // All of these are tracked memory. A kernel cannot access other memory.
                // A match, because a closure would hide the caller.
                let address = match grid.bytes() {
                    Some(bytes) => kernel_pointer::<u8, $memory_type>(bytes)?,
                    None => ptr::null_mut(),
                };
                Ok($make(address.cast(), &grid))
            }

            #[inline]
            fn access(&self) -> Option<Access<'_>> {
                let grid = self.grid();
                let access = grid.bytes()?.access(Mode::$mode);
                // No borrow of this memory keeps others from what lies between its rows.
                Some(if grid.is_alone() { access } else { access.unborrowed() })
            }
        }

        // SAFETY: the access is of the bytes at whose address the value's pointer points, up to the first
        // that others may have.
        #[diagnostic::do_not_recommend]
        unsafe impl<$($generics)*> CheckedArg<$parameter> for $memory {
            #[inline]
            fn own(&self) -> Option<Access<'_>> {
                self.grid().own_bytes().map(|bytes| bytes.access(Mode::$mode))
            }
        }
    };
}

/// Returns the address alone. The pitch is an argument of its own, which the program passes.
fn address<T>(address: *mut T, _: &Grid<'_, T>) -> *mut T {
    address
}

rows!([T: 'static] in OnDevice, Read, *const T, address, for &PitchedBuffer<T>, &PitchedVolume<T>);
rows!([T: 'static] in OnDevice, Write, *mut T, address, for &mut PitchedBuffer<T>, &mut PitchedVolume<T>);
rows!([T: 'static, M: MemoryType] in M, Read, *const T, address, for
    Plane<'_, T, M>, &Plane<'_, T, M>, PlaneMut<'_, T, M>, &PlaneMut<'_, T, M>,
    Volume<'_, T, M>, &Volume<'_, T, M>, VolumeMut<'_, T, M>, &VolumeMut<'_, T, M>);
rows!([T: 'static, M: MemoryType] in M, Write, *mut T, address, for
    PlaneMut<'_, T, M>, &mut PlaneMut<'_, T, M>, VolumeMut<'_, T, M>, &mut VolumeMut<'_, T, M>);

/// C's `cudaPitchedPtr` as a kernel parameter. `cuda-kernels-build` generates a type of that name that
/// implements this.
///
/// `&mut PitchedBuffer`, `PlaneMut`, `&mut PitchedVolume`, `VolumeMut` and `&mut` of these views may be
/// passed for it. The kernel receives the address of the first row, the pitch in bytes, the bytes of a row,
/// and the number of rows; for a volume, the number of rows from one layer to the next. The tracker records
/// a write from the first byte to the last, because the type does not tell that a kernel only reads.
///
/// # Safety
/// [`new`](Self::new) makes the structure from exactly these fields.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not C's `cudaPitchedPtr`",
    label = "the kernel declares another parameter here",
    note = "for `int*` and rows of another type, pass `rows.plane().reinterpret::<i32>()?`, or \
            `rows.plane_mut().reinterpret_mut::<i32>()?` if the kernel writes"
)]
pub unsafe trait PitchedParameter: ByValue {
    /// Makes the structure from its fields.
    fn new(ptr: *mut c_void, pitch: usize, xsize: usize, ysize: usize) -> Self;
}

// SAFETY: this is the structure from the runtime's own header.
unsafe impl ByValue for sys::cudaPitchedPtr {}

// SAFETY: four fields of eight bytes, of which the first is the address.
unsafe impl CheckedParameter for sys::cudaPitchedPtr {
    const POINTERS: &'static [u64] = &[0];
    const WRITES: bool = true;
}

// SAFETY: the fields have the parameters' names.
unsafe impl PitchedParameter for sys::cudaPitchedPtr {
    #[inline]
    fn new(ptr: *mut c_void, pitch: usize, xsize: usize, ysize: usize) -> Self {
        Self { ptr, pitch, xsize, ysize }
    }
}

/// Makes the parameter of a plane, which ends with its last row.
fn plane<T, P: PitchedParameter>(address: *mut c_void, grid: &Grid<'_, T>) -> P {
    P::new(address, grid.layout().pitch, grid.layout().row, grid.height())
}

/// Makes the parameter of a volume, in which the next layer begins after this many rows.
fn volume<T, P: PitchedParameter>(address: *mut c_void, grid: &Grid<'_, T>) -> P {
    P::new(address, grid.layout().pitch, grid.layout().row, grid.layout().layer_rows)
}

rows!([P: PitchedParameter, T: 'static] in OnDevice, Write, P, plane, for &mut PitchedBuffer<T>);
rows!([P: PitchedParameter, T: 'static] in OnDevice, Write, P, volume, for &mut PitchedVolume<T>);
rows!([P: PitchedParameter, T: 'static, M: MemoryType] in M, Write, P, plane, for
    PlaneMut<'_, T, M>, &mut PlaneMut<'_, T, M>);
rows!([P: PitchedParameter, T: 'static, M: MemoryType] in M, Write, P, volume, for
    VolumeMut<'_, T, M>, &mut VolumeMut<'_, T, M>);

macro_rules! flags {
    ($($pointer:ty),*) => { $(
        // SAFETY: the flag is an atomic that host and devices may access at any time, with at least as many
        // bytes as the number. Its access only orders the freeing of its memory.
        unsafe impl KernelArg<$pointer> for &MappedFlag {
            #[inline]
            fn value(&self) -> Result<$pointer> {
                Ok(self.device_ptr().cast())
            }

            #[inline]
            fn access(&self) -> Option<Access<'_>> {
                Some(MappedFlag::access(self))
            }
        }
    )* };
}

flags!(*const u32, *mut u32, *const i32, *mut i32, *const u64, *mut u64, *const i64, *mut i64);
