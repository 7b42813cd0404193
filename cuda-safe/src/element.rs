//! Which types may cross to a device.
//!
//! Elements of device and pinned memory are [`AnyBitPattern`]: whatever bytes a kernel leaves behind are a valid
//! value, so `bool`, `char`, references and types with a destructor never cross. Where the host's own bytes are read,
//! elements are [`NoUninit`] too, because bytes that were never written must not be looked at. Numbers, arrays of
//! them and structures that derive [`Pod`] are both, as for wgpu.
//!
//! Elements without bytes are refused when memory for them is asked for.
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
