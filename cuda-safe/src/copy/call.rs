//! The runtime's copy calls: which of them makes a copy, and its arguments.
//!
//! The calls for rows and for layers of rows have forms for [arrays](crate::memory::Array). Rows go by the
//! two-dimensional calls for arrays, where the array has one layer and such a call exists; everything else is
//! a copy of layers, with its extent in elements, as C wants it where an array takes part. Between devices it
//! is the peer form of that: rows are layers there, for which there is no call of their own. Copies between
//! an array and device memory never wait.
#![expect(unsafe_code, reason = "hands arrays and pointers to the runtime")]

use super::checked::{CheckedCopy, CopyDirection, Shape};
use super::operand::{ArrayPart, Operand};
use crate::device::Device;
use crate::sys;

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
    /// The name of the function that makes the copy, on a stream or, as far as it blocks, on none.
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

    /// Whether the calls for any memory of one device and the host make the copy, as they mostly do.
    #[inline]
    fn is_plain(&self) -> bool {
        self.to.is_plain() && self.from.is_plain() && !matches!(self.direction, CopyDirection::Peer { .. })
    }

    #[inline]
    fn function(&self, on_stream: bool) -> Function {
        if !self.is_plain() {
            return (*self).special_function(on_stream);
        }
        match self.shape {
            Shape::Linear { .. } => Function::Linear,
            Shape::Plane { .. } => Function::Plane,
            Shape::Volume { .. } => Function::Volume,
        }
    }

    #[cold]
    #[inline(never)]
    fn special_function(self, on_stream: bool) -> Function {
        let is_flat = |part: Option<&ArrayPart>| part.is_none_or(|part| part.is_flat);
        let (to, from) = (self.to.array(), self.from.array());
        match (self.shape, self.direction) {
            (Shape::Linear { .. }, CopyDirection::Peer { .. }) => Function::Peer,
            (_, CopyDirection::Peer { .. }) => Function::PeerVolume,
            (Shape::Linear { .. }, _) => Function::Linear,
            (Shape::Plane { .. }, _) if is_flat(to) && is_flat(from) => match (to, from) {
                (None, None) => Function::Plane,
                (Some(_), None) => Function::PlaneToArray,
                (None, Some(_)) => Function::PlaneFromArray,
                (Some(_), Some(_)) if !on_stream => Function::PlaneBetweenArrays,
                // There is no asynchronous call between arrays but that for layers.
                (Some(_), Some(_)) => Function::Volume,
            },
            _ => Function::Volume,
        }
    }

    /// Copies, on a stream, or on none with the call that blocks as far as it does.
    ///
    /// # Safety
    /// Both operands are memory of the shape, for as long as the copy takes, and the stream is live.
    #[expect(
        clippy::inline_always,
        reason = "measured: what the types know of the copy then need not be asked"
    )]
    #[inline(always)]
    pub(super) unsafe fn call(&self, stream: Option<sys::cudaStream_t>) -> sys::cudaError_t {
        if !self.is_plain() {
            // SAFETY: as the caller says.
            return unsafe { (*self).call_special(stream) };
        }
        match self.shape {
            // SAFETY of all: as the caller says.
            // SAFETY: as above.
            Shape::Linear { bytes } => unsafe { self.linear(bytes, stream) },
            // SAFETY: as above.
            Shape::Plane { row, rows } => unsafe { self.plane(row, rows, stream) },
            // SAFETY: as above.
            Shape::Volume { .. } => unsafe { self.volume(stream) },
        }
    }

    /// The same of arrays, between devices, and of memory of pools, which is copied with its device current.
    /// (Calls that name the devices find it by themselves.)
    ///
    /// # Safety
    /// As for [`call`](Self::call).
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
        let [row, rows, _] = self.shape.extent();
        match self.function(stream.is_some()) {
            // SAFETY: as the caller says.
            Function::Linear => unsafe { self.linear(row, stream) },
            // SAFETY: as the caller says.
            Function::Plane => unsafe { self.plane(row, rows, stream) },
            // SAFETY: as the caller says.
            Function::Volume => unsafe { self.volume(stream) },
            // SAFETY: as the caller says; arrays have one layer.
            Function::PlaneToArray | Function::PlaneFromArray | Function::PlaneBetweenArrays => unsafe {
                self.array_plane(row, rows, stream)
            },
            // SAFETY: as the caller says.
            Function::Peer => unsafe { self.peer(row, stream) },
            // SAFETY: as the caller says.
            Function::PeerVolume => unsafe { self.peer_volume(stream) },
        }
    }

    /// Copies bytes in a row within one device, or between it and the host.
    ///
    /// # Safety
    /// As for [`call`](Self::call).
    #[inline]
    unsafe fn linear(&self, bytes: usize, stream: Option<sys::cudaStream_t>) -> sys::cudaError_t {
        let (to, from) = (self.to.pointer.cast(), self.from.pointer.cast_const().cast());
        let kind = self.direction.kind();
        match stream {
            // SAFETY: as the caller says: so many bytes.
            None => unsafe { sys::cudaMemcpy(to, from, bytes, kind) },
            // SAFETY: as above, and the stream is live.
            Some(raw) => unsafe { sys::cudaMemcpyAsync(to, from, bytes, kind, raw) },
        }
    }

    /// The same of rows: bytes of each, and how many.
    ///
    /// # Safety
    /// As for [`call`](Self::call).
    #[inline]
    unsafe fn plane(&self, row: usize, rows: usize, stream: Option<sys::cudaStream_t>) -> sys::cudaError_t {
        let (to, from) = (self.to.pointer.cast(), self.from.pointer.cast_const().cast());
        let (to_pitch, from_pitch) = (self.to.layout.pitch, self.from.layout.pitch);
        let kind = self.direction.kind();
        match stream {
            // SAFETY: as the caller says: so many rows with these pitches.
            None => unsafe { sys::cudaMemcpy2D(to, to_pitch, from, from_pitch, row, rows, kind) },
            // SAFETY: as above, and the stream is live.
            Some(raw) => unsafe {
                sys::cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, row, rows, kind, raw)
            },
        }
    }

    /// The same of layers of rows, of arrays or of memory.
    ///
    /// # Safety
    /// As for [`call`](Self::call).
    #[inline]
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
            // SAFETY: as the caller says; the parameters say where the operands are and their layouts, and
            // live during the call.
            None => unsafe { sys::cudaMemcpy3D(&raw const parameters) },
            // SAFETY: as above, and the stream is live.
            Some(raw) => unsafe { sys::cudaMemcpy3DAsync(&raw const parameters, raw) },
        }
    }

    /// Copies rows where one side is an array of one layer, or both are.
    ///
    /// # Safety
    /// As for [`call`](Self::call), and arrays have one layer.
    unsafe fn array_plane(
        &self,
        row: usize,
        rows: usize,
        stream: Option<sys::cudaStream_t>,
    ) -> sys::cudaError_t {
        let kind = self.direction.kind();
        let (to, from) = (self.to.pointer.cast(), self.from.pointer.cast_const().cast());
        let (to_pitch, from_pitch) = (self.to.layout.pitch, self.from.layout.pitch);
        match (self.to.array(), self.from.array(), stream) {
            (Some(array), None, None) => {
                let (x, y) = array.offsets();
                // SAFETY: as the caller says: so many rows from there on, and in memory with this pitch.
                unsafe { sys::cudaMemcpy2DToArray(array.raw, x, y, from, from_pitch, row, rows, kind) }
            }
            (Some(array), None, Some(raw)) => {
                let (x, y) = array.offsets();
                // SAFETY: as above, and the stream is live.
                unsafe {
                    sys::cudaMemcpy2DToArrayAsync(array.raw, x, y, from, from_pitch, row, rows, kind, raw)
                }
            }
            (None, Some(array), None) => {
                let ((x, y), handle) = (array.offsets(), array.raw.cast_const());
                // SAFETY: as above.
                unsafe { sys::cudaMemcpy2DFromArray(to, to_pitch, handle, x, y, row, rows, kind) }
            }
            (None, Some(array), Some(raw)) => {
                let ((x, y), handle) = (array.offsets(), array.raw.cast_const());
                // SAFETY: as above, and the stream is live.
                unsafe { sys::cudaMemcpy2DFromArrayAsync(to, to_pitch, handle, x, y, row, rows, kind, raw) }
            }
            (Some(target), Some(array), None) => {
                let ((to_x, to_y), (x, y)) = (target.offsets(), array.offsets());
                let handle = array.raw.cast_const();
                // SAFETY: as above: so many rows from there on in both.
                unsafe {
                    sys::cudaMemcpy2DArrayToArray(target.raw, to_x, to_y, handle, x, y, row, rows, kind)
                }
            }
            // SAFETY: as the caller says.
            _ => unsafe { self.volume(stream) },
        }
    }

    /// Copies bytes in a row between the memories of two devices.
    ///
    /// # Safety
    /// As for [`call`](Self::call).
    unsafe fn peer(&self, bytes: usize, stream: Option<sys::cudaStream_t>) -> sys::cudaError_t {
        let (to, from) = (self.to.pointer.cast(), self.from.pointer.cast_const().cast());
        let (to_device, from_device) = self.devices();
        match stream {
            // SAFETY: as the caller says: so many bytes, of these devices.
            None => unsafe { sys::cudaMemcpyPeer(to, to_device, from, from_device, bytes) },
            // SAFETY: as above, and the stream is live.
            Some(raw) => unsafe { sys::cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, raw) },
        }
    }

    /// The same of layers of rows, of arrays or of memory.
    ///
    /// # Safety
    /// As for [`call`](Self::call).
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
            // SAFETY: as the caller says; the parameters say where the operands are and their layouts, and
            // live during the call.
            None => unsafe { sys::cudaMemcpy3DPeer(&raw const parameters) },
            // SAFETY: as above, and the stream is live.
            Some(raw) => unsafe { sys::cudaMemcpy3DPeerAsync(&raw const parameters, raw) },
        }
    }

    /// The devices of a copy between two, as C numbers them: of the destination, and of the source.
    fn devices(&self) -> (i32, i32) {
        match self.direction {
            CopyDirection::Peer { destination, source } => (destination.ordinal(), source.ordinal()),
            other => other.device().map_or((0, 0), |device| (device.ordinal(), device.ordinal())),
        }
    }

    /// Bytes of what C counts a row in: the elements of an array that takes part, else bytes.
    #[inline]
    pub(super) fn unit(&self) -> usize {
        self.to.array().or(self.from.array()).map_or(1, |part| part.element.max(1))
    }

    /// The shape as C describes it.
    #[inline]
    fn raw_extent(&self) -> sys::cudaExtent {
        let [row, height, depth] = self.shape.extent();
        sys::cudaExtent { width: row / self.unit(), height, depth }
    }
}

impl ArrayPart {
    /// The first byte of a row, and the row.
    fn offsets(&self) -> (usize, usize) {
        let [x, y, _] = self.at;
        // The array holds it, so it does not overflow.
        (x * self.element, y)
    }
}

/// An operand as C describes it for copies of layers: an array from a position on, or linear memory from its
/// first byte on.
struct Corner {
    array: sys::cudaArray_t,
    memory: sys::cudaPitchedPtr,
    at: sys::cudaPos,
}

impl Corner {
    #[inline]
    fn of(operand: &Operand<'_>) -> Self {
        let (array, [x, y, z], memory) = match operand.array() {
            Some(part) => (part.raw, part.at, sys::cudaPitchedPtr::default()),
            None => (std::ptr::null_mut(), [0; 3], pitched(operand)),
        };
        Self { array, memory, at: sys::cudaPos { x, y, z } }
    }
}

/// An operand as C describes pitched memory.
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
