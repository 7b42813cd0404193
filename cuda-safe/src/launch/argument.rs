//! What may stand for one parameter of a kernel.
#![expect(unsafe_code, reason = "declares which Rust values may stand for which C parameters")]

use crate::error::Result;
use crate::hazard::Access;

use super::ByValue;
use super::object::Named;

/// A value that may be passed for a parameter of type `P`, as the kernel's prototype declares it.
///
/// | parameter | argument | the tracker is told |
/// |---|---|---|
/// | `const T*` | `&DeviceBuffer<T>`, `DeviceSlice<T>`, the same of pinned and managed memory | a read of these bytes |
/// | `T*` | `&mut DeviceBuffer<T>`, `DeviceSliceMut<T>`, the same of pinned and managed memory | a write of these bytes |
/// | `const T*`, `T*` and the pitch as a number | `&PitchedBuffer<T>`, `Plane<T>`, `&mut PitchedVolume<T>`, `VolumeMut<T>` and so on | a read or a write from the first byte to the last |
/// | `cudaPitchedPtr` | `&mut PitchedBuffer<T>`, `PlaneMut<T>`, `&mut PitchedVolume<T>`, `VolumeMut<T>` | a write from the first byte to the last |
/// | `const T*`, `T*`, for a node of a graph | `&GraphBuffer<T>`, `&mut GraphBuffer<T>` and their slices, of the same graph | a read or a write of these bytes |
/// | `unsigned*`, `const unsigned*` | `&MappedFlag` | only that the flag must not be freed yet |
/// | `T*`, `const T*` | a raw pointer of that very type | nothing |
/// | `cudaTextureObject_t` | `&Texture<T>` | a read of what the texture is of |
/// | `cudaSurfaceObject_t` | `&mut Surface<T>`; `surface.read_only()` where the kernel writes nothing | a write of its array; a read |
/// | a number or a struct | the same type | nothing |
///
/// Views may be borrowed as well. For `void*`, pass a raw pointer and order the work yourself.
///
/// # Safety
/// - [`value`](Self::value) is what the kernel gets, and [`access`](Self::access) names all the memory of an owner that it reaches
///   through it (unless the memory is of a kind that may be reached at any time, like a flag).
/// - The memory lives as long as the argument is borrowed, and its owner orders its freeing after the access.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an argument for a kernel parameter of type `{P}`",
    label = "the kernel declares this parameter as `{P}`",
    note = "`*const T` takes a shared borrow of device or pinned memory of `T`, `*mut T` a mutable one",
    note = "numbers and structs are passed by value and must be of the very type that the header declares"
)]
pub unsafe trait KernelArg<P: ByValue> {
    /// Whether it stands for an object, a texture or a surface: then there is an [`object`](Self::object).
    #[doc(hidden)]
    const BY_OBJECT: bool = false;

    /// What the kernel gets.
    ///
    /// # Errors
    /// Memory that devices cannot reach.
    #[track_caller]
    fn value(&self) -> Result<P>;

    /// Which bytes it reads or writes through it, if it is memory that the tracker keeps books about.
    #[inline]
    fn access(&self) -> Option<Access<'_>> {
        None
    }

    /// The use of the object that it stands for, and the device that has to run the kernel.
    #[doc(hidden)]
    #[inline]
    fn object(&self) -> Option<Named<'_>> {
        None
    }
}

// SAFETY: the value itself is passed, and it is of the parameter's type; it is no owner's memory.
unsafe impl<T: ByValue> KernelArg<T> for T {
    #[inline]
    fn value(&self) -> Result<T> {
        Ok(*self)
    }
}
