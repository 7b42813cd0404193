//! Memory types: the markers that owners and views carry in their types.
//!
//! Code for every memory type is generic over [`Place`]. Code for some of them is generic over
//! [`HostPlace`] or [`MappedPlace`]. A new memory type needs a marker here, its [`Residence`], and the
//! implementations that the compiler then asks for.

use bytemuck::{AnyBitPattern, NoUninit};

use sealed::Residence;

/// A memory type whose accesses the tracker records: [`OnDevice`], [`Pinned`], [`Managed`],
/// [`WriteCombined`].
///
/// It is the last parameter of [`Buffer`](super::Buffer), [`Slice`](super::Slice) and
/// [`SliceMut`](super::SliceMut). The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "the crate keeps no books of memory that is `{Self}`",
    note = "asynchronous copies and kernels take memory that the crate owns or has registered; for a slice, \
            use the blocking verb, or copy within `stream.scope`"
)]
pub trait Place: AnyPlace + sealed::Place {}

/// Any memory type: every [`Place`], and [`Pageable`].
///
/// It is the last parameter of [`Plane`](super::Plane) and [`Volume`](super::Volume). The trait is sealed.
pub trait AnyPlace: sealed::AnyPlace {}

/// A memory type that is lent to the host through guards.
#[diagnostic::on_unimplemented(
    message = "the host cannot reach memory that is `{Self}`",
    note = "copy the elements with `memcpy`"
)]
pub trait HostPlace: Place {}

/// A type of host memory that kernels reach by a separate address.
pub trait MappedPlace: Place {}

/// A memory type from which elements of `T` can be copied.
///
/// Only the host writes uninitialised bytes, for example padding. Elements must therefore be [`NoUninit`]
/// if the host may have written them.
#[diagnostic::on_unimplemented(
    message = "elements of type `{T}` cannot be copied from memory that is `{Self}`",
    note = "the host may have written them, so they must have no padding: derive `bytemuck::Pod`"
)]
pub trait SourceOf<T>: AnyPlace {}

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
    pub enum Residence {
        /// The memory of the allocation's device.
        Device,
        /// Page-locked host memory.
        Pinned,
        /// Memory of the host and all devices.
        Managed,
    }

    pub trait AnyPlace: Copy + Send + Sync + 'static {
        /// `None` if the tracker does not record accesses.
        const BOOKED: Option<Residence>;
    }

    pub trait Place: Copy + Send + Sync + 'static {
        const RESIDENCE: Residence;
        /// The names of owners and views in their `Debug` output.
        const OWNER: &'static str;
        const VIEW: &'static str;
        const VIEW_MUT: &'static str;
    }
}

/// Implements the traits for a marker, with its residence and the names of its owner and views.
macro_rules! place {
    ($place:ident: $residence:ident, $owner:literal, $view:literal, $view_mut:literal) => {
        impl sealed::Place for $place {
            const RESIDENCE: Residence = Residence::$residence;
            const OWNER: &'static str = $owner;
            const VIEW: &'static str = $view;
            const VIEW_MUT: &'static str = $view_mut;
        }

        impl sealed::AnyPlace for $place {
            const BOOKED: Option<Residence> = Some(Residence::$residence);
        }

        impl AnyPlace for $place {}
        impl Place for $place {}
    };
}

place!(OnDevice: Device, "DeviceBuffer", "DeviceSlice", "DeviceSliceMut");
place!(Pinned: Pinned, "PinnedBuffer", "PinnedSlice", "PinnedSliceMut");
place!(WriteCombined: Pinned, "WriteCombinedBuffer", "WriteCombinedSlice", "WriteCombinedSliceMut");

place!(Managed: Managed, "ManagedBuffer", "ManagedSlice", "ManagedSliceMut");

impl sealed::AnyPlace for Pageable {
    const BOOKED: Option<Residence> = None;
}

impl AnyPlace for Pageable {}

impl HostPlace for Pinned {}
impl HostPlace for Managed {}
impl MappedPlace for Pinned {}
impl MappedPlace for WriteCombined {}

impl<T: AnyBitPattern> SourceOf<T> for OnDevice {}
impl<T: AnyBitPattern + NoUninit> SourceOf<T> for Pinned {}
impl<T: AnyBitPattern + NoUninit> SourceOf<T> for WriteCombined {}
impl<T: AnyBitPattern + NoUninit> SourceOf<T> for Managed {}
impl<T: NoUninit> SourceOf<T> for Pageable {}
