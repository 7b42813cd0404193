//! The types that may be copied to a device.
//!
//! Elements of device and pinned memory are [`AnyBitPattern`]: any bytes that a kernel writes are a valid
//! value. Therefore `bool`, `char`, references and types with a destructor are not elements. If the host's
//! bytes are read, elements are also [`NoUninit`], because uninitialized bytes must not be read. Numbers,
//! arrays of numbers, and structures that derive [`Pod`] are both, as in wgpu.
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
