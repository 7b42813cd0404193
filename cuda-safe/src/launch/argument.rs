//! The values that may be passed for one parameter of a kernel.
#![expect(unsafe_code, reason = "declares which Rust values may stand for which C parameters")]

use crate::device::Device;
use crate::error::Result;
use crate::hazard::Access;

use super::ByValue;

/// A value that may be passed for a parameter of type `P`, as the kernel's prototype declares it.
///
/// | parameter | argument | recorded access |
/// |---|---|---|
/// | `const T*` | `&DeviceBuffer<T>`, `DeviceSlice<T>` (1) | read of these bytes |
/// | `T*` | `&mut DeviceBuffer<T>`, `DeviceSliceMut<T>` (1) | write of these bytes |
/// | `const T*` (2) | `&PitchedBuffer<T>`, `Plane<T>`, and for volumes | read, first to last byte |
/// | `T*` (2) | `&mut PitchedVolume<T>`, `VolumeMut<T>`, and for planes | write, first to last byte |
/// | `cudaPitchedPtr` | `&mut PitchedBuffer<T>`, `PlaneMut<T>` | write, first to last byte |
/// | `cudaPitchedPtr` | `&mut PitchedVolume<T>`, `VolumeMut<T>` | write, first to last byte |
/// | `const T*` (3) | `&GraphBuffer<T>` and its slices | read of these bytes |
/// | `T*` (3) | `&mut GraphBuffer<T>` and its slices | write of these bytes |
/// | `unsigned*`, `const unsigned*` | `&MappedFlag` | none; delays freeing the flag |
/// | `T*`, `const T*` | a raw pointer of exactly this type | none |
/// | `cudaTextureObject_t` | `&Texture<T>` | read of the texture's memory |
/// | `cudaSurfaceObject_t` | `&mut Surface<T>` | write of the array |
/// | `cudaSurfaceObject_t` | `surface.read_only()`, for a kernel that only reads | read of the array |
/// | a number or a struct | the same type | none |
///
/// 1. Also the corresponding types of pinned and managed memory.
/// 2. The kernel takes the pitch as a separate number.
/// 3. Only in a node of the graph that owns the memory.
///
/// Views may also be borrowed. For `void*`, pass a raw pointer and order the work yourself.
///
/// # Safety
/// - [`value`](Self::value) returns the value that the kernel receives.
/// - [`access`](Self::access) covers all memory of an owner that the kernel accesses through the value,
///   unless the memory is of a kind that may be accessed at any time, such as a flag.
/// - The memory lives as long as the argument is borrowed, and its owner orders its freeing after the
///   access.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an argument for a kernel parameter of type `{P}`",
    label = "the kernel declares this parameter as `{P}`",
    note = "`*const T` takes a shared borrow of device or pinned memory of `T`, `*mut T` a mutable one",
    note = "numbers and structs are passed by value and must be of the very type that the header declares"
)]
pub unsafe trait KernelArg<P: ByValue> {
    /// Whether the value is a texture or surface; [`object`](Self::object) then returns it.
    #[doc(hidden)]
    const BY_OBJECT: bool = false;

    /// Returns the value that the kernel receives.
    ///
    /// # Errors
    /// Refuses memory that the device cannot access.
    #[track_caller]
    fn value(&self) -> Result<P>;

    /// Returns the bytes that the kernel reads or writes through the value, if the tracker has an access
    /// history of the memory.
    #[inline]
    fn access(&self) -> Option<Access<'_>> {
        None
    }

    /// Returns the access to the texture or surface object, and the device that must run the kernel.
    #[doc(hidden)]
    #[inline]
    fn object(&self) -> Option<Named<'_>> {
        None
    }
}

// SAFETY: the value itself is passed, and it has the parameter's type. It is not memory of an owner.
unsafe impl<T: ByValue> KernelArg<T> for T {
    #[inline]
    fn value(&self) -> Result<T> {
        Ok(*self)
    }
}

/// An object argument: the access to the object itself, and the device that must run the kernel.
pub(crate) type Named<'a> = (Access<'a>, Device);
