//! The types that kernels take by value, and the arguments that stand for them.
#![expect(unsafe_code, reason = "declares which Rust values may stand for which C parameters")]

use crate::device::Device;
use crate::error::{Detail, Error, ErrorKind, Result};
use crate::hazard::Access;
use crate::stream::StreamRef;
use crate::sys;

/// A type that is passed to kernels by value and has the same bytes in C and in Rust.
///
/// Numbers, `bool`, raw pointers, and types that `cuda-kernels-build` generates from a header implement it.
/// To pass a struct of your own, declare it in the header, or, for a kernel that is loaded by name, implement
/// this trait for it.
///
/// # Safety
/// - The type has the size, the alignment and the layout of the C type in the kernel's prototype.
/// - A copy of its bytes may be given to the device: it contains no reference, no lock and no owner.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed to a kernel by value",
    note = "numbers, raw pointers and types generated from the kernel's header can",
    note = "for a kernel that is loaded by name: `unsafe impl ByValue` for a struct with `#[repr(C)]`"
)]
pub unsafe trait ByValue: Copy + 'static {}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(
            // SAFETY: a number has the same size and representation on both sides.
            unsafe impl ByValue for $number {}
        )*
    };
}

numbers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 bool);

// SAFETY: with unified addresses a pointer is the same number on both sides. The caller of a launch is
// responsible for the memory behind it.
unsafe impl<T: 'static> ByValue for *const T {}

// SAFETY: a pointer is the same number on both sides. The caller of a launch is responsible for its memory.
unsafe impl<T: 'static> ByValue for *mut T {}

// SAFETY: an array inside a C struct has the layout of its elements in sequence.
unsafe impl<T: ByValue, const N: usize> ByValue for [T; N] {}

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
/// | `float4*`, `const uchar3*`, ... | the same with the [component](super::Components) as `T` | as above |
/// | `bool*`, `const bool*` | the same with `u8` as `T` | as above |
/// | `__half*`, `__nv_bfloat162*`, ... (6) | the same with `f16` or `bf16` of `half` as `T` | as above |
/// | `__half`, `__half2`, ... (6) | `f16`, `[f16; 2]`, ... | none |
/// | `unsigned*`, `int*`, 64 bits (4) | `&MappedFlag` | none; delays freeing the flag |
/// | `T*` | `d.read_only()` of memory, for a kernel that only reads | as for `const T*` |
/// | `const T*` | what `T*` takes | as for `const T*` |
/// | `T*`, `const T*` | a raw pointer of exactly this type | none |
/// | `cudaTextureObject_t` | `&Texture<T>` | read of the texture's memory |
/// | `cudaSurfaceObject_t` | `&mut Surface<T>` | write of the array |
/// | `cudaSurfaceObject_t` | `surface.read_only()`, for a kernel that only reads | read of the array |
/// | `cudaGraphConditionalHandle` (5) | `&Condition` | write of the condition |
/// | a whole number | a whole number of any type, if the parameter's type can hold it | none |
/// | another number or a struct | the same type | none |
///
/// 1. Also the corresponding types of pinned and managed memory.
/// 2. The kernel takes the pitch as a separate number. If others may have what lies between the rows (halves
///    of a plane), a launch that is proven stays before the first gap, and another one is refused while a
///    guard lends any of the memory to the host.
/// 3. Only in a node of the graph that owns the memory.
/// 4. Also `const` and `volatile`.
/// 5. Only in a node of the condition's graph, or of a body inside it.
/// 6. Feature `half`.
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
    note = "a whole number converts to any type of whole numbers, other numbers do not: `2.0` for a `float`, \
            `x as f32` for another number",
    note = "structs are passed by value and must be of the very type that the header declares"
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

/// A value that may be passed for a parameter of type `P` in a launch that is proven: all that [`KernelArg`]
/// lists, except raw pointers, flags, handles by number, and structs with padding or pointers.
///
/// # Safety
/// - If `P` has pointers, the first one is the address of the bytes of [`own`](Self::own), which is a write
///   if the kernel may write them.
/// - Nobody else has these bytes, or writes them if the kernel only reads, while the argument is borrowed.
/// - Nothing but the kernel changes them while it runs.
/// - A handle is that of a live texture or surface, whose memory is that of [`access`](KernelArg::access).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an argument for a kernel parameter of type `{P}` in a launch that is proven",
    label = "the kernel declares this parameter as `{P}`",
    note = "`*const T` takes a shared borrow of device or pinned memory of `T`, `*mut T` a mutable one",
    note = "a whole number converts to any type of whole numbers, other numbers do not: `2.0` for a `float`, \
            `x as f32` for another number",
    note = "raw pointers, flags and handles by number are for launches without proof: \
            `unsafe {{ launch!(kernel.unchecked()<<<grid, block, shared_bytes, &stream>>>(arguments)) }}`"
)]
pub unsafe trait CheckedArg<P: ByValue>: KernelArg<P> {
    /// Returns the access to the bytes that belong to the argument, in which a proven launch stays: those of
    /// [`access`](KernelArg::access), or the first ones of them. Without an access, no bytes belong to it.
    #[inline]
    fn own(&self) -> Option<Access<'_>> {
        // Others may have what is not borrowed.
        self.access().filter(|access| !access.is_unborrowed())
    }
}

// SAFETY: the value itself is passed, and it has the parameter's type. It is not memory of an owner.
unsafe impl<T: ByValue> KernelArg<T> for T {
    #[inline]
    fn value(&self) -> Result<T> {
        Ok(*self)
    }
}

/// Whole numbers, checked: a parameter of one type takes a number of each other one.
macro_rules! converted {
    ([$($before:ident)*]) => {};
    ([$($before:ident)*] $parameter:ident $($after:ident)*) => {
        converted!(@ $parameter from $($before)* $($after)*);
        converted!([$($before)* $parameter] $($after)*);
    };
    (@ $parameter:ident from $($argument:ident)*) => { $(
        // SAFETY: the value has the parameter's type. It is not memory of an owner.
        #[diagnostic::do_not_recommend]
        unsafe impl KernelArg<$parameter> for $argument {
            #[inline]
            #[track_caller]
            fn value(&self) -> Result<$parameter> {
                // No closure, which would hide the caller.
                match $parameter::try_from(*self) {
                    Ok(value) => Ok(value),
                    Err(_) => Err(does_not_fit(self, stringify!($parameter))),
                }
            }
        }

        // SAFETY: the value has no pointer.
        #[diagnostic::do_not_recommend]
        unsafe impl CheckedArg<$parameter> for $argument {}
    )* };
}

converted!([] u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

/// Returns the error for a number that its parameter cannot hold.
#[cold]
#[track_caller]
fn does_not_fit(value: &impl std::fmt::Display, parameter: &'static str) -> Error {
    let text = format!("{value} does not fit in the parameter's type `{parameter}`");
    Error::refused("launch", Detail::new(ErrorKind::Argument, text))
}

/// The kernel of a launch, and the device that runs it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    pub(crate) device: Device,
    /// The stream of the launch. `None` for a node of a graph.
    pub(crate) stream: Option<StreamRef<'a>>,
    pub(crate) kernel: &'static str,
    pub(crate) parameter_names: &'static [&'static str],
}

impl Target<'_> {
    /// Returns the name of a parameter in the source. Empty if it is not known.
    pub(super) fn parameter_name(&self, index: usize) -> &'static str {
        self.parameter_names.get(index).copied().unwrap_or_default()
    }
}

/// An object argument: the access to the object itself, and the device that must run the kernel.
pub(crate) type Named<'a> = (Access<'a>, Device);

/// The handle of a texture: the Rust type of a kernel parameter `cudaTextureObject_t`.
///
/// In C it is a number. The separate type prevents passing a surface or a number for a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
#[doc(alias = "cudaTextureObject_t")]
pub struct TextureObject(sys::cudaTextureObject_t);

/// The handle of a surface: the Rust type of a kernel parameter `cudaSurfaceObject_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
#[doc(alias = "cudaSurfaceObject_t")]
pub struct SurfaceObject(sys::cudaSurfaceObject_t);

macro_rules! handle {
    ($handle:ident, $raw:ty) => {
        impl $handle {
            /// Wraps C's handle. The tracker does not order a kernel that receives it. The program must do
            /// so, and the object must outlive the kernel.
            #[must_use]
            pub const fn from_raw(raw: $raw) -> Self {
                Self(raw)
            }

            /// Returns C's handle.
            #[must_use]
            pub const fn as_raw(self) -> $raw {
                self.0
            }
        }

        // SAFETY: the type has the same layout as C's number. The caller of a launch is responsible for the
        // object behind it.
        unsafe impl ByValue for $handle {}
    };
}

/// The handle of a graph's condition: the Rust type of a kernel parameter `cudaGraphConditionalHandle`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
#[doc(alias = "cudaGraphConditionalHandle")]
pub struct ConditionalHandle(sys::cudaGraphConditionalHandle);

handle!(ConditionalHandle, sys::cudaGraphConditionalHandle);
handle!(TextureObject, sys::cudaTextureObject_t);
handle!(SurfaceObject, sys::cudaSurfaceObject_t);
