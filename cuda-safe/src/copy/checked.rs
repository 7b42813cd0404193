//! A copy whose sides agree: its direction, determined once for every verb, and the runtime's call that makes
//! it.
//!
//! The calls for rows and for layers of rows have forms for [arrays](crate::memory::Array). Rows use the
//! two-dimensional calls for arrays if the array has one layer and such a call exists. Everything else
//! is a copy of layers. If an array takes part, C counts its extent in elements. Copies of rows between
//! devices use the peer call for layers, because there is none for rows. Copies between an array and
//! device memory never wait.
#![expect(unsafe_code, reason = "hands arrays and pointers to the runtime")]

use std::panic::Location;

use super::operand::{ArrayPart, Dimensions, Operand, Special};
use super::overlap::Area;
use crate::device::{Device, peer_access};
use crate::error::{Detail, Error, Result};
use crate::memory::memory_type::sealed::Tag;
use crate::memory::size::{self, RowLayout};
use crate::sys;

/// A copy between two sides that have the same extent, have elements, and share no byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckedCopy<'a> {
    pub(super) to: Operand<'a>,
    pub(super) from: Operand<'a>,
    pub(super) direction: CopyDirection,
}

impl<'a> CheckedCopy<'a> {
    /// Checks a copy. Returns `None` if there are no elements. If this is the first copy between two
    /// devices, enables access between them.
    ///
    /// # Errors
    /// Refused if the lengths or extents differ, or if the sides share a byte.
    #[expect(
        clippy::inline_always,
        reason = "measured: checks that follow from the types of the two sides then cost nothing"
    )]
    #[inline(always)]
    #[track_caller]
    pub(crate) fn new(api: &'static str, to: Operand<'a>, from: Operand<'a>) -> Result<Option<Self>> {
        if !to.pairs_with(&from) {
            refuse_unlike(api, to, from)?;
        }
        if to.layout.is_empty() {
            return Ok(None);
        }
        let direction = CopyDirection::new(to.memory, from.memory);
        if let CopyDirection::Peer { destination, source } = direction {
            peer_access::ensure(destination, source);
        }
        Ok(Some(Self { to, from, direction }))
    }

    /// Returns the bytes of each side, without bytes between rows.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.to.layout.bytes()
    }

    /// Returns whether a blocking verb must wait for the copy itself, because the runtime makes no
    /// promise: between host memory and managed memory, which may be anywhere. A slice may also be
    /// managed memory that a guard lends. Other copies of managed memory remain in the tracker.
    pub(super) fn settles(&self) -> bool {
        let host = self.to.is_host() || self.from.is_host();
        let managed = matches!(self.direction, CopyDirection::Managed(_)) && host;
        managed || self.to.may_be_lent_managed() || self.from.may_be_lent_managed()
    }

    /// Returns whether `cudaMemcpy` and its 2D and 3D forms return only when the copy is complete. From
    /// pageable memory they may return after reading the source, and between devices at once; both
    /// remain in the tracker.
    pub(super) fn waits(&self) -> bool {
        match self.direction {
            CopyDirection::DeviceToHost(_) => true,
            CopyDirection::HostToDevice(_) => self.from.is_host() && self.from.memory.is_some(),
            _ => false,
        }
    }
}

/// Refuses a copy whose sides differ in extent, or share a byte.
#[cold]
#[inline(never)]
#[track_caller]
fn refuse_unlike(api: &'static str, to: Operand<'_>, from: Operand<'_>) -> Result<()> {
    if let Dimensions::One = to.dimensions {
        size::same_length(api, to.len, from.len)?;
    } else if to.extent() != from.extent() {
        let (destination, source) = (to.extent(), from.extent());
        return Err(Error::refused(api, Detail::extent_mismatch(destination, source)));
    }
    // Host and devices share one address space, so this also finds bytes that two owners of the same
    // memory share.
    if to.layout.is_empty() || !Area::from_operand(&to).shares(&Area::from_operand(&from)) {
        return Ok(());
    }
    // Two owners of the same memory, and slices, can only be located by address.
    let (destination, source) = match (to.tracked(), from.tracked()) {
        (Some((one, to)), Some((other, from))) if std::ptr::eq(one, other) => (to.start, from.start),
        _ => (to.pointer.addr(), from.pointer.addr()),
    };
    Err(Error::refused(api, Detail::overlapping(destination, source, to.layout.bytes())))
}

/// The direction of a copy, in the runtime's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyDirection {
    HostToHost,
    HostToDevice(Device),
    DeviceToHost(Device),
    DeviceToDevice(Device),
    Peer {
        destination: Device,
        source: Device,
    },
    /// Between managed memory and any other: the runtime determines where the memory is. If no stream is
    /// named, the copy runs on this device's legacy stream.
    Managed(Device),
}

impl CopyDirection {
    #[inline]
    fn new(destination: Option<(Tag, Device)>, source: Option<(Tag, Device)>) -> Self {
        use Tag::{Device as OnDevice, Managed};
        match (destination, source) {
            (Some((OnDevice, to)), Some((OnDevice, from))) if to == from => Self::DeviceToDevice(to),
            (Some((OnDevice, destination)), Some((OnDevice, source))) => Self::Peer { destination, source },
            (Some((OnDevice, device)), Some((Managed, _)))
            | (Some((Managed, _)), Some((OnDevice, device))) => Self::Managed(device),
            (Some((Managed, device)), _) | (_, Some((Managed, device))) => Self::Managed(device),
            (Some((OnDevice, to)), _) => Self::HostToDevice(to),
            (_, Some((OnDevice, from))) => Self::DeviceToHost(from),
            _ => Self::HostToHost,
        }
    }

    /// Returns the device whose legacy stream runs a blocking copy, or `None` for a copy within host
    /// memory.
    pub(super) fn device(self) -> Option<Device> {
        match self {
            Self::HostToHost => None,
            Self::HostToDevice(device)
            | Self::DeviceToHost(device)
            | Self::DeviceToDevice(device)
            | Self::Managed(device)
            | Self::Peer { destination: device, .. } => Some(device),
        }
    }

    /// Returns C's constant. Calls between devices take the devices instead.
    #[inline]
    pub(super) fn kind(self) -> sys::cudaMemcpyKind {
        match self {
            Self::HostToHost => sys::cudaMemcpyHostToHost,
            Self::HostToDevice(_) => sys::cudaMemcpyHostToDevice,
            Self::DeviceToHost(_) => sys::cudaMemcpyDeviceToHost,
            Self::DeviceToDevice(_) | Self::Peer { .. } => sys::cudaMemcpyDeviceToDevice,
            Self::Managed(_) => sys::cudaMemcpyDefault,
        }
    }
}

/// A function of the runtime, or its asynchronous form.
#[derive(Clone, Copy)]
enum Function {
    Linear,
    Plane,
    Volume,
    PlaneToArray,
    PlaneFromArray,
    PlaneBetweenArrays,
    Peer,
    PeerVolume,
}

impl CheckedCopy<'_> {
    /// Returns the name of the function that makes the copy on a stream, or of its blocking form without
    /// one.
    #[inline]
    pub(super) fn name(&self, on_stream: bool) -> &'static str {
        match (self.function(on_stream), on_stream) {
            (Function::Linear, false) => "cudaMemcpy",
            (Function::Linear, true) => "cudaMemcpyAsync",
            (Function::Plane, false) => "cudaMemcpy2D",
            (Function::Plane, true) => "cudaMemcpy2DAsync",
            (Function::Volume, false) => "cudaMemcpy3D",
            (Function::Volume, true) => "cudaMemcpy3DAsync",
            (Function::PlaneToArray, false) => "cudaMemcpy2DToArray",
            (Function::PlaneToArray, true) => "cudaMemcpy2DToArrayAsync",
            (Function::PlaneFromArray, false) => "cudaMemcpy2DFromArray",
            (Function::PlaneFromArray, true) => "cudaMemcpy2DFromArrayAsync",
            (Function::PlaneBetweenArrays, _) => "cudaMemcpy2DArrayToArray",
            (Function::Peer, false) => "cudaMemcpyPeer",
            (Function::Peer, true) => "cudaMemcpyPeerAsync",
            (Function::PeerVolume, false) => "cudaMemcpy3DPeer",
            (Function::PeerVolume, true) => "cudaMemcpy3DPeerAsync",
        }
    }

    /// Returns whether the calls for one device and the host make the copy, which is the common case.
    #[inline]
    fn is_plain(&self) -> bool {
        let is_plain = |side: &Operand<'_>| side.array.is_none() && !matches!(side.special, Special::Pool(_));
        is_plain(&self.to) && is_plain(&self.from) && !matches!(self.direction, CopyDirection::Peer { .. })
    }

    #[inline]
    fn function(&self, on_stream: bool) -> Function {
        if !self.is_plain() {
            return (*self).special_function(on_stream);
        }
        match self.to.dimensions {
            Dimensions::One => Function::Linear,
            Dimensions::Two => Function::Plane,
            Dimensions::Three => Function::Volume,
        }
    }

    #[cold]
    #[inline(never)]
    fn special_function(self, on_stream: bool) -> Function {
        let is_flat = |part: Option<&ArrayPart>| part.is_none_or(|part| part.is_flat);
        let (to, from) = (self.to.array.as_ref(), self.from.array.as_ref());
        match (self.to.dimensions, self.direction) {
            (Dimensions::One, CopyDirection::Peer { .. }) => Function::Peer,
            (_, CopyDirection::Peer { .. }) => Function::PeerVolume,
            (Dimensions::One, _) => Function::Linear,
            (Dimensions::Two, _) if is_flat(to) && is_flat(from) => match (to, from) {
                (None, None) => Function::Plane,
                (Some(_), None) => Function::PlaneToArray,
                (None, Some(_)) => Function::PlaneFromArray,
                (Some(_), Some(_)) if !on_stream => Function::PlaneBetweenArrays,
                // The only asynchronous call between arrays is the one for layers.
                (Some(_), Some(_)) => Function::Volume,
            },
            _ => Function::Volume,
        }
    }

    /// Converts the code of the copy's call to a result. `on_stream` tells which form was called.
    #[inline]
    pub(super) fn returned(
        &self,
        code: sys::cudaError_t,
        on_stream: bool,
        call_site: &'static Location<'static>,
    ) -> Result<()> {
        if code == sys::cudaSuccess { Ok(()) } else { Err((*self).failed(code, on_stream, call_site)) }
    }

    #[cold]
    #[inline(never)]
    fn failed(self, code: sys::cudaError_t, on_stream: bool, call_site: &'static Location<'static>) -> Error {
        self.about(Error::from_code(self.name(on_stream), code).at(call_site))
    }

    /// Adds the number of bytes to the error of the copy.
    #[cold]
    #[inline(never)]
    pub(super) fn about(self, error: Error) -> Error {
        error.with_detail(Detail::transfer(self.bytes()))
    }

    /// Makes the copy on a stream, or by the blocking call without one.
    ///
    /// # Safety
    /// - Both operands are memory of the shape until the copy is complete.
    /// - The stream is live.
    #[expect(
        clippy::inline_always,
        reason = "measured: checks that follow from the types of the copy then cost nothing"
    )]
    #[inline(always)]
    pub(super) unsafe fn call(&self, stream: Option<sys::cudaStream_t>) -> sys::cudaError_t {
        if !self.is_plain() {
            // SAFETY: the caller has the same duties.
            return unsafe { (*self).call_special(stream) };
        }
        let RowLayout { row, rows, .. } = self.to.layout;
        match self.to.dimensions {
            // SAFETY: both operands are memory of the shape until the copy is complete.
            Dimensions::One => unsafe { self.linear(row, stream) },
            // SAFETY: both operands are memory of the shape until the copy is complete.
            Dimensions::Two => unsafe { self.plane(row, rows, stream) },
            // SAFETY: both operands are memory of the shape until the copy is complete.
            Dimensions::Three => unsafe { self.volume(stream) },
        }
    }

    /// [`call`](Self::call) for arrays, for copies between devices, and for memory of pools, which is
    /// copied with its device current. (Calls that name the devices do not need that.)
    ///
    /// # Safety
    /// As [`call`](Self::call).
    #[cold]
    #[inline(never)]
    unsafe fn call_special(self, stream: Option<sys::cudaStream_t>) -> sys::cudaError_t {
        let pool = match self.direction {
            CopyDirection::Peer { .. } => None,
            _ => self.to.pool().or(self.from.pool()),
        };
        let _current = match pool.map(Device::switch).transpose() {
            Ok(current) => current,
            Err(error) => return error.code(),
        };
        let [row, rows, _] = self.to.layout.extent();
        match self.function(stream.is_some()) {
            // SAFETY: the caller has the same duties.
            Function::Linear => unsafe { self.linear(row, stream) },
            // SAFETY: the caller has the same duties.
            Function::Plane => unsafe { self.plane(row, rows, stream) },
            // SAFETY: the caller has the same duties.
            Function::Volume => unsafe { self.volume(stream) },
            // SAFETY: the caller has the same duties, and the arrays have one layer.
            Function::PlaneToArray | Function::PlaneFromArray | Function::PlaneBetweenArrays => unsafe {
                self.array_plane(row, rows, stream)
            },
            // SAFETY: the caller has the same duties.
            Function::Peer => unsafe { self.peer(row, stream) },
            // SAFETY: the caller has the same duties.
            Function::PeerVolume => unsafe { self.peer_volume(stream) },
        }
    }

    /// Copies contiguous bytes within one device, or between it and the host.
    ///
    /// # Safety
    /// As [`call`](Self::call).
    #[expect(clippy::inline_always, reason = "as `call`: a reference would put the copy into memory")]
    #[inline(always)]
    unsafe fn linear(&self, bytes: usize, stream: Option<sys::cudaStream_t>) -> sys::cudaError_t {
        let (to, from) = (self.to.pointer.cast(), self.from.pointer.cast_const().cast());
        let kind = self.direction.kind();
        match stream {
            // SAFETY: the caller guarantees that both sides have this many bytes.
            None => unsafe { sys::cudaMemcpy(to, from, bytes, kind) },
            // SAFETY: both sides have this many bytes until the copy is complete, and the stream is live.
            Some(raw) => unsafe { sys::cudaMemcpyAsync(to, from, bytes, kind, raw) },
        }
    }

    /// Copies rows within one device, or between it and the host: bytes per row, and number of rows.
    ///
    /// # Safety
    /// As [`call`](Self::call).
    #[expect(clippy::inline_always, reason = "as `call`: a reference would put the copy into memory")]
    #[inline(always)]
    unsafe fn plane(&self, row: usize, rows: usize, stream: Option<sys::cudaStream_t>) -> sys::cudaError_t {
        let (to, from) = (self.to.pointer.cast(), self.from.pointer.cast_const().cast());
        let (to_pitch, from_pitch) = (self.to.layout.pitch, self.from.layout.pitch);
        let kind = self.direction.kind();
        match stream {
            // SAFETY: the caller guarantees that both sides have this many rows with these pitches.
            None => unsafe { sys::cudaMemcpy2D(to, to_pitch, from, from_pitch, row, rows, kind) },
            // SAFETY: both sides have these rows until the copy is complete, and the stream is live.
            Some(raw) => unsafe {
                sys::cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, row, rows, kind, raw)
            },
        }
    }

    /// Copies layers of rows, of arrays or of memory.
    ///
    /// # Safety
    /// As [`call`](Self::call).
    #[expect(clippy::inline_always, reason = "as `call`: a reference would put the copy into memory")]
    #[inline(always)]
    unsafe fn volume(&self, stream: Option<sys::cudaStream_t>) -> sys::cudaError_t {
        let (to, from) = (Corner::of(&self.to), Corner::of(&self.from));
        let parameters = sys::cudaMemcpy3DParms {
            srcArray: from.array,
            srcPos: from.at,
            srcPtr: from.memory,
            dstArray: to.array,
            dstPos: to.at,
            dstPtr: to.memory,
            extent: self.raw_extent(),
            kind: self.direction.kind(),
        };
        match stream {
            // SAFETY: the caller guarantees that the operands are valid. The parameters describe where
            // they are and their layouts, and live during the call.
            None => unsafe { sys::cudaMemcpy3D(&raw const parameters) },
            // SAFETY: the parameters describe valid operands and live during the call. The stream is live.
            Some(raw) => unsafe { sys::cudaMemcpy3DAsync(&raw const parameters, raw) },
        }
    }

    /// Copies rows if at least one side is an array of one layer.
    ///
    /// # Safety
    /// As [`call`](Self::call). The arrays have one layer.
    unsafe fn array_plane(
        &self,
        row: usize,
        rows: usize,
        stream: Option<sys::cudaStream_t>,
    ) -> sys::cudaError_t {
        let kind = self.direction.kind();
        let (to, from) = (self.to.pointer.cast(), self.from.pointer.cast_const().cast());
        let (to_pitch, from_pitch) = (self.to.layout.pitch, self.from.layout.pitch);
        match (self.to.array.as_ref(), self.from.array.as_ref(), stream) {
            (Some(array), None, None) => {
                let (x, y) = array.offsets();
                // SAFETY: the caller guarantees that the array has this many rows from this position on,
                // and the memory this many with this pitch.
                unsafe { sys::cudaMemcpy2DToArray(array.raw, x, y, from, from_pitch, row, rows, kind) }
            }
            (Some(array), None, Some(raw)) => {
                let (x, y) = array.offsets();
                // SAFETY: the array and the memory have these rows, and the stream is live.
                unsafe {
                    sys::cudaMemcpy2DToArrayAsync(array.raw, x, y, from, from_pitch, row, rows, kind, raw)
                }
            }
            (None, Some(array), None) => {
                let ((x, y), handle) = (array.offsets(), array.raw.cast_const());
                // SAFETY: the array and the memory have these rows.
                unsafe { sys::cudaMemcpy2DFromArray(to, to_pitch, handle, x, y, row, rows, kind) }
            }
            (None, Some(array), Some(raw)) => {
                let ((x, y), handle) = (array.offsets(), array.raw.cast_const());
                // SAFETY: the array and the memory have these rows, and the stream is live.
                unsafe { sys::cudaMemcpy2DFromArrayAsync(to, to_pitch, handle, x, y, row, rows, kind, raw) }
            }
            (Some(target), Some(array), None) => {
                let ((to_x, to_y), (x, y)) = (target.offsets(), array.offsets());
                let handle = array.raw.cast_const();
                // SAFETY: both arrays have this many rows from their positions on.
                unsafe {
                    sys::cudaMemcpy2DArrayToArray(target.raw, to_x, to_y, handle, x, y, row, rows, kind)
                }
            }
            // SAFETY: the caller has the same duties.
            _ => unsafe { self.volume(stream) },
        }
    }

    /// Copies contiguous bytes between two devices.
    ///
    /// # Safety
    /// As [`call`](Self::call).
    unsafe fn peer(&self, bytes: usize, stream: Option<sys::cudaStream_t>) -> sys::cudaError_t {
        let (to, from) = (self.to.pointer.cast(), self.from.pointer.cast_const().cast());
        let (to_device, from_device) = self.devices();
        match stream {
            // SAFETY: the caller guarantees that both sides have this many bytes on these devices.
            None => unsafe { sys::cudaMemcpyPeer(to, to_device, from, from_device, bytes) },
            // SAFETY: both sides have this many bytes on these devices, and the stream is live.
            Some(raw) => unsafe { sys::cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, raw) },
        }
    }

    /// Copies layers of rows, of arrays or of memory.
    ///
    /// # Safety
    /// As [`call`](Self::call).
    unsafe fn peer_volume(&self, stream: Option<sys::cudaStream_t>) -> sys::cudaError_t {
        let (to, from) = (Corner::of(&self.to), Corner::of(&self.from));
        let (to_device, from_device) = self.devices();
        let parameters = sys::cudaMemcpy3DPeerParms {
            srcArray: from.array,
            srcPos: from.at,
            srcPtr: from.memory,
            srcDevice: from_device,
            dstArray: to.array,
            dstPos: to.at,
            dstPtr: to.memory,
            dstDevice: to_device,
            extent: self.raw_extent(),
        };
        match stream {
            // SAFETY: the caller guarantees that the operands are valid. The parameters describe where
            // they are and their layouts, and live during the call.
            None => unsafe { sys::cudaMemcpy3DPeer(&raw const parameters) },
            // SAFETY: the parameters describe valid operands and live during the call. The stream is live.
            Some(raw) => unsafe { sys::cudaMemcpy3DPeerAsync(&raw const parameters, raw) },
        }
    }

    /// Returns the ordinals of the two devices of a copy: destination and source.
    fn devices(&self) -> (i32, i32) {
        match self.direction {
            CopyDirection::Peer { destination, source } => (destination.as_raw(), source.as_raw()),
            other => other.device().map_or((0, 0), |device| (device.as_raw(), device.as_raw())),
        }
    }

    /// Returns the size in bytes of C's unit for a row: an element if an array takes part, otherwise one
    /// byte.
    #[inline]
    pub(super) fn unit(&self) -> usize {
        self.to.array.as_ref().or(self.from.array.as_ref()).map_or(1, |part| part.element.max(1))
    }

    /// Returns C's description of the shape.
    #[inline]
    fn raw_extent(&self) -> sys::cudaExtent {
        let [row, height, depth] = self.to.layout.extent();
        sys::cudaExtent { width: row / self.unit(), height, depth }
    }
}

impl ArrayPart {
    /// Returns the offset of the first byte within a row, and the row.
    fn offsets(&self) -> (usize, usize) {
        let [x, y, _] = self.at;
        // Does not overflow, because the array has this size.
        (x * self.element, y)
    }
}

/// Returns C's description of an operand for copies of layers: an array from a position on, or linear
/// memory from its first byte on.
struct Corner {
    array: sys::cudaArray_t,
    memory: sys::cudaPitchedPtr,
    at: sys::cudaPos,
}

impl Corner {
    #[inline]
    fn of(operand: &Operand<'_>) -> Self {
        let (array, [x, y, z], memory) = match operand.array.as_ref() {
            Some(part) => (part.raw, part.at, sys::cudaPitchedPtr::default()),
            None => (std::ptr::null_mut(), [0; 3], pitched(operand)),
        };
        Self { array, memory, at: sys::cudaPos { x, y, z } }
    }
}

/// Returns C's description of an operand as pitched memory.
#[inline]
pub(super) fn pitched(operand: &Operand<'_>) -> sys::cudaPitchedPtr {
    let layout = &operand.layout;
    sys::cudaPitchedPtr {
        ptr: operand.pointer.cast(),
        pitch: layout.pitch,
        xsize: layout.row,
        ysize: layout.layer_rows,
    }
}

#[cfg(test)]
mod tests {
    use super::{CheckedCopy, CopyDirection, Tag};
    use crate::copy::operand::{Destination, Operand, Planar, Source, Volumetric};
    use crate::device::Device;
    use crate::error::{Detail, Result};
    use crate::memory::{Plane, PlaneMut, Volume};

    #[test]
    fn the_direction_follows_from_where_the_operands_are() {
        let (zero, one) = (Device::from_ordinal(0), Device::from_ordinal(1));
        let of = CopyDirection::new;
        let (on_zero, on_one) = (Some((Tag::Device, zero)), Some((Tag::Device, one)));
        assert_eq!(of(on_zero, None), CopyDirection::HostToDevice(zero));
        assert_eq!(of(Some((Tag::Pinned, zero)), on_one), CopyDirection::DeviceToHost(one));
        assert_eq!(of(on_one, on_one), CopyDirection::DeviceToDevice(one));
        assert_eq!(of(on_one, on_zero), CopyDirection::Peer { destination: one, source: zero });
        assert_eq!(of(Some((Tag::Pinned, zero)), None), CopyDirection::HostToHost);
        assert_eq!(of(Some((Tag::Managed, zero)), on_one), CopyDirection::Managed(one));
        assert_eq!(of(on_one, Some((Tag::Managed, zero))), CopyDirection::Managed(one));
        assert_eq!(of(None, Some((Tag::Managed, one))), CopyDirection::Managed(one));
    }

    #[test]
    fn only_copies_that_the_header_promises_are_taken_as_complete() {
        let device = Device::from_ordinal(0);
        let bytes = [0_u8; 8];
        let between = |to, from| {
            let (mut a, mut b) = (Operand::from_slice(&bytes[..4]), Operand::from_slice(&bytes[4..]));
            (a.memory, b.memory) = (to, from);
            let copy = CheckedCopy::new("test", a, b).unwrap().unwrap();
            (copy.waits(), copy.settles())
        };
        let [on, managed, pinned] = [Tag::Device, Tag::Managed, Tag::Pinned].map(|tag| Some((tag, device)));
        assert_eq!(between(None, on), (true, false));
        assert_eq!(between(on, pinned), (true, false));
        assert_eq!(between(on, None), (false, false));
        assert_eq!(between(on, on), (false, false));
        assert_eq!(between(managed, None), (false, true));
        assert_eq!(between(pinned, managed), (false, true));
        assert_eq!(between(managed, on), (false, false));
    }

    /// The bytes a row, rows and layers of a copy, or `None` if there are no elements.
    fn shape(api: &'static str, to: Operand<'_>, from: Operand<'_>) -> Result<Option<[usize; 3]>> {
        Ok(CheckedCopy::new(api, to, from)?.map(|copy| copy.to.layout.extent()))
    }

    #[test]
    fn sides_of_different_lengths_are_refused_with_both() {
        let (mut a, b) = ([0_u32; 4], [0_u32; 5]);
        let error = shape("memcpy", Operand::from_slice_mut(&mut a), Operand::from_slice(&b)).unwrap_err();
        assert_eq!(error.detail(), &Detail::length_mismatch(4, 5));
        assert_eq!(error.api(), "memcpy");
    }

    #[test]
    fn sides_of_one_length_share_as_many_bytes() {
        let (mut a, b) = ([0_u32; 4], [0_u32; 4]);
        let shape = shape("memcpy", Operand::from_slice_mut(&mut a), Operand::from_slice(&b)).unwrap();
        assert_eq!(shape.unwrap(), [16, 1, 1]);
    }

    #[test]
    fn memory_copied_onto_itself_is_refused() {
        let a = [0_u8; 8];
        let error =
            shape("memcpy", Operand::from_slice(&a[2..6]), Operand::from_slice(&a[4..8])).unwrap_err();
        let (destination, source) = (a[2..].as_ptr().addr(), a[4..].as_ptr().addr());
        assert_eq!(error.detail(), &Detail::overlapping(destination, source, 4));
        assert!(shape("memcpy", Operand::from_slice(&a[0..4]), Operand::from_slice(&a[4..8])).is_ok());
    }

    #[test]
    fn nothing_overlaps_nothing() {
        let a = [0_u8; 8];
        let shape = shape("memcpy", Operand::from_slice(&a[4..4]), Operand::from_slice(&a[4..4])).unwrap();
        assert_eq!(shape, None);
    }

    #[test]
    fn planes_of_different_extents_are_refused_though_they_have_as_many_elements() {
        let (mut a, b) = ([0_u16; 6], [0_u16; 6]);
        let (mut to, from) =
            (PlaneMut::from_slice(&mut a, 3, 2).unwrap(), Plane::from_slice(&b, 2, 3).unwrap());
        let to = Destination::<Planar>::operand_mut(&mut to).unwrap();
        let error = shape("memcpy_2d", to, Source::<Planar>::operand(&from).unwrap()).unwrap_err();
        let expected = Detail::extent_mismatch([3, 2, 1], [2, 3, 1]);
        assert_eq!(error.detail(), &expected);
    }

    #[test]
    fn columns_of_one_plane_that_lie_in_each_other_share_nothing() {
        let a = [0_u16; 12];
        let plane = Plane::from_slice(&a, 4, 3).unwrap();
        let columns = |range| plane.columns(range).unwrap();
        let shape = |a: Plane<'_, u16, _>, b: Plane<'_, u16, _>| {
            let side = Source::<Planar>::operand;
            shape("memcpy_2d", side(&a).unwrap(), side(&b).unwrap())
        };
        assert_eq!(shape(columns(0..2), columns(2..4)).unwrap(), Some([4, 3, 1]));
        let error = shape(columns(0..2), columns(1..3)).unwrap_err();
        assert!(error.detail().as_str().contains(" overlap: 12 bytes from byte "));
    }

    #[test]
    fn a_volume_has_layers() {
        let (a, b) = ([0_u16; 12], [0_u16; 12]);
        let (a, b) = (Volume::from_slice(&a, 3, 2, 2).unwrap(), Volume::from_slice(&b, 3, 2, 2).unwrap());
        let side = Source::<Volumetric>::operand;
        let shape = shape("memcpy_3d", side(&a).unwrap(), side(&b).unwrap()).unwrap().unwrap();
        assert_eq!(shape, [6, 2, 2]);
    }
}
