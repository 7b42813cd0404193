//! Where memory is: the markers that owners and views carry in their types.
//!
//! What every place has in common is written once, for any [`Place`]; what only some have is written for [`HostPlace`] or
//! [`MappedPlace`]. A new place is a marker here, its [`Residence`], and whatever the compiler then asks for.

use bytemuck::{AnyBitPattern, NoUninit};

use sealed::Residence;

/// A place that memory can be in of which the crate keeps books: [`OnDevice`], [`Pinned`], [`Managed`], [`WriteCombined`].
///
/// The last parameter of [`Buffer`](super::Buffer), [`Slice`](super::Slice) and [`SliceMut`](super::SliceMut).
/// Nobody else can implement it.
#[diagnostic::on_unimplemented(
    message = "the crate keeps no books of memory that is `{Self}`",
    note = "asynchronous copies and kernels take memory that the crate owns or has registered; for a slice, use the blocking verb, or copy within `stream.scope`"
)]
pub trait Place: AnyPlace + sealed::Place {}

/// Any place that memory can be in: every [`Place`], and [`Pageable`].
///
/// The last parameter of [`Plane`](super::Plane) and [`Volume`](super::Volume). Nobody else can implement it.
pub trait AnyPlace: sealed::AnyPlace {}

/// A place whose memory is lent to the host through guards.
#[diagnostic::on_unimplemented(
    message = "the host cannot reach memory that is `{Self}`",
    note = "copy the elements with `memcpy`"
)]
pub trait HostPlace: Place {}

/// A place in the host's memory that kernels reach by an address of its own.
pub trait MappedPlace: Place {}

/// A place from which elements of `T` can be copied.
///
/// Only the host writes bytes that are not initialised, padding for one, so elements must be [`NoUninit`] where it may have.
#[diagnostic::on_unimplemented(
    message = "elements of type `{T}` cannot be copied from memory that is `{Self}`",
    note = "the host may have written them, so they must have no padding: derive `bytemuck::Pod`"
)]
pub trait SourceOf<T>: AnyPlace {}

/// In the memory of a device.
#[derive(Clone, Copy, Debug)]
pub struct OnDevice;

/// In page-locked memory of the host.
#[derive(Clone, Copy, Debug)]
pub struct Pinned;

/// In page-locked memory of the host that the host only writes.
#[derive(Clone, Copy, Debug)]
pub struct WriteCombined;

/// In memory that the host and all devices reach at one address, and that moves between them.
#[derive(Clone, Copy, Debug)]
pub struct Managed;

/// In memory of the program's own: a slice, a vector, an array.
#[derive(Clone, Copy, Debug)]
pub struct Pageable;

/// The part that is not for others to implement.
pub(crate) mod sealed {
    /// What the runtime needs to know of a place.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Residence {
        /// The memory of the device that the allocation names.
        Device,
        /// Page-locked memory of the host.
        Pinned,
        /// Memory of the host and all devices.
        Managed,
    }

    pub trait AnyPlace: Copy + Send + Sync + 'static {
        /// None where the crate keeps no books.
        const BOOKED: Option<Residence>;
    }

    pub trait Place: Copy + Send + Sync + 'static {
        const RESIDENCE: Residence;
        /// What owners and views are called when they are printed.
        const OWNER: &'static str;
        const VIEW: &'static str;
        const VIEW_MUT: &'static str;
    }
}

/// A marker, where it is, and what its owner and views are called.
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
