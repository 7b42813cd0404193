//! Memory types: the markers that owners and views carry in their types.
//!
//! Code for every memory type is generic over [`MemoryType`]. Code for some of them is generic over
//! [`HostMemoryType`] or [`MappedMemoryType`]. A new memory type needs a marker here, its [`Tag`], and the
//! implementations that the compiler then asks for.

use bytemuck::{AnyBitPattern, NoUninit};

use sealed::Tag;

/// A memory type whose accesses the tracker records: [`OnDevice`], [`Pinned`], [`Managed`],
/// [`WriteCombined`].
///
/// It is the last parameter of [`Buffer`](super::Buffer), [`Slice`](super::Slice) and
/// [`SliceMut`](super::SliceMut). The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "the tracker has no access history for memory that is `{Self}`",
    note = "asynchronous copies and kernels take memory that the crate owns or has registered; for a slice, \
            use the blocking verb, or copy within `stream.scope`"
)]
pub trait MemoryType: AnyMemoryType + sealed::SealedMemory {}

/// Any memory type: every [`MemoryType`], and [`Pageable`].
///
/// It is the last parameter of [`Plane`](super::Plane) and [`Volume`](super::Volume). The trait is sealed.
pub trait AnyMemoryType: sealed::SealedAnyMemory {}

/// A memory type that is lent to the host through guards.
#[diagnostic::on_unimplemented(
    message = "the host cannot reach memory that is `{Self}`",
    note = "copy the elements: `buffer.to_vec()?`, or `memcpy` into a slice"
)]
pub trait HostMemoryType: MemoryType {}

/// A type of host memory that kernels reach by a separate address.
pub trait MappedMemoryType: MemoryType {}

/// A memory type from which elements of `T` can be copied.
///
/// Only the host writes uninitialised bytes, for example padding. Elements must therefore be [`NoUninit`]
/// if the host may have written them. The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "elements of type `{T}` cannot be copied from memory that is `{Self}`",
    note = "the host may have written them, so they must have no padding: derive `bytemuck::Pod`"
)]
pub trait SourceOf<T>: AnyMemoryType + sealed::SealedSource<T> {}

/// Device memory.
#[derive(Clone, Copy, Debug)]
pub struct OnDevice;

/// Page-locked host memory.
#[derive(Clone, Copy, Debug)]
pub struct Pinned;

/// Page-locked host memory that the host only writes.
#[derive(Clone, Copy, Debug)]
pub struct WriteCombined;

/// Memory that the host and all devices reach at one address, and that migrates between them.
#[derive(Clone, Copy, Debug)]
pub struct Managed;

/// Memory of the program itself: a slice, a vector, an array.
#[derive(Clone, Copy, Debug)]
pub struct Pageable;

/// The sealed part.
pub(crate) mod sealed {
    /// The properties of a memory type that the runtime needs.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Tag {
        /// The memory of the allocation's device.
        Device,
        /// Page-locked host memory.
        Pinned,
        /// Memory of the host and all devices.
        Managed,
    }

    pub trait SealedAnyMemory: Copy + Send + Sync + 'static {
        /// `None` if the tracker does not record accesses.
        const TRACKED: Option<Tag>;
    }

    /// Seals [`SourceOf`](super::SourceOf): another crate may implement that for a marker and an element type
    /// of its own.
    pub trait SealedSource<T> {}

    pub trait SealedMemory: Copy + Send + Sync + 'static {
        const TAG: Tag;
        /// The names of owners and views in their `Debug` output.
        const OWNER: &'static str;
        const VIEW: &'static str;
        const VIEW_MUT: &'static str;
    }
}

/// Implements the traits for a marker, with its tag and the names of its owner and views.
macro_rules! memory_type {
    ($marker:ident: $tag:ident, $owner:literal, $view:literal, $view_mut:literal) => {
        impl sealed::SealedMemory for $marker {
            const TAG: Tag = Tag::$tag;
            const OWNER: &'static str = $owner;
            const VIEW: &'static str = $view;
            const VIEW_MUT: &'static str = $view_mut;
        }

        impl sealed::SealedAnyMemory for $marker {
            const TRACKED: Option<Tag> = Some(Tag::$tag);
        }

        impl AnyMemoryType for $marker {}
        impl MemoryType for $marker {}
    };
}

memory_type!(OnDevice: Device, "DeviceBuffer", "DeviceSlice", "DeviceSliceMut");
memory_type!(Pinned: Pinned, "PinnedBuffer", "PinnedSlice", "PinnedSliceMut");
memory_type!(WriteCombined: Pinned, "WriteCombinedBuffer", "WriteCombinedSlice", "WriteCombinedSliceMut");

memory_type!(Managed: Managed, "ManagedBuffer", "ManagedSlice", "ManagedSliceMut");

impl sealed::SealedAnyMemory for Pageable {
    const TRACKED: Option<Tag> = None;
}

impl AnyMemoryType for Pageable {}

impl HostMemoryType for Pinned {}
impl HostMemoryType for Managed {}
impl MappedMemoryType for Pinned {}
impl MappedMemoryType for WriteCombined {}

/// Declares the elements that can be copied from a memory type.
macro_rules! source_of {
    ($($marker:ident: $($bound:ident)+;)+) => {$(
        impl<T: $($bound +)+> sealed::SealedSource<T> for $marker {}
        impl<T: $($bound +)+> SourceOf<T> for $marker {}
    )+};
}

source_of! {
    OnDevice: AnyBitPattern;
    Pinned: AnyBitPattern NoUninit;
    WriteCombined: AnyBitPattern NoUninit;
    Managed: AnyBitPattern NoUninit;
    Pageable: NoUninit;
}
