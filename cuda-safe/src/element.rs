//! The types that may be copied to a device.
//!
//! Elements of device and pinned memory are [`AnyBitPattern`]: any bytes that a kernel writes are a valid
//! value. Therefore `bool`, `char`, references and types with a destructor are not elements. If the host's
//! bytes are read, elements are also [`NoUninit`], because uninitialized bytes must not be read. Numbers,
//! arrays of numbers, and structures that derive [`Pod`] are both, as in wgpu.
//!
//! [`Element`] and [`PlainElement`] are these bounds under one name each, so that the compiler's errors say
//! how a structure becomes an element.
//!
//! Zero-sized elements are refused when memory for them is allocated.
//!
//! ```
//! use bytemuck::{Pod, Zeroable};
//!
//! #[derive(Clone, Copy, Pod, Zeroable)]
//! #[repr(C)]
//! struct Point {
//!     x: f32,
//!     y: f32,
//!     z: f32,
//! }
//! # let _ = Point { x: 0.0, y: 0.0, z: 0.0 };
//! ```

pub use bytemuck::{AnyBitPattern, NoUninit, Pod, Zeroable};

/// An element of memory that kernels write: every [`AnyBitPattern`] type is one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an element of memory that devices write",
    label = "a kernel may leave any bytes, which must be a valid value of `{Self}`",
    note = "numbers and arrays of numbers are elements; a struct of these is one with \
            `#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]` and `#[repr(C)]`, \
            after `cargo add bytemuck --features derive`",
    note = "each field is an element, too: `u8` for `bool`, `u32` for `char` or an enum, `[u8; N]` for \
            `String`, `cuda_safe::memory::DevicePtr` for an address"
)]
pub trait Element: AnyBitPattern {}

#[diagnostic::do_not_recommend]
impl<T: AnyBitPattern> Element for T {}

/// An element whose bytes the host may read, too: every type that is [`AnyBitPattern`] and [`NoUninit`], as
/// all that derive [`Pod`] are.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an element that is copied to a device",
    label = "not plain numbers without padding",
    note = "numbers and arrays of numbers are elements; a struct of these is one with \
            `#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]` and `#[repr(C)]`, \
            after `cargo add bytemuck --features derive`",
    note = "each field is an element, too: `u8` for `bool`, `u32` for `char` or an enum, `[u8; N]` for \
            `String`, `cuda_safe::memory::DevicePtr` for an address; padding becomes a field of its own: \
            `_padding: [u8; 3]`"
)]
pub trait PlainElement: AnyBitPattern + NoUninit {}

#[diagnostic::do_not_recommend]
impl<T: AnyBitPattern + NoUninit> PlainElement for T {}
