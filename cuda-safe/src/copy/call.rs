//! The runtime's copy calls: selects the call that makes a copy, and fills in its arguments.
//!
//! The calls for rows and for layers of rows have forms for [arrays](crate::memory::Array). Rows use the
//! two-dimensional calls for arrays if the array has one layer and such a call exists. Everything else
//! is a copy of layers. If an array takes part, C counts its extent in elements. Copies of rows between
//! devices use the peer call for layers, because there is none for rows. Copies between an array and
//! device memory never wait.
#![expect(unsafe_code, reason = "hands arrays and pointers to the runtime")]

use super::checked::{CheckedCopy, CopyDirection};
use super::operand::{ArrayPart, Dimensions, Operand};
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
        self.to.is_plain() && self.from.is_plain() && !matches!(self.direction, CopyDirection::Peer { .. })
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
        let (to, from) = (self.to.array(), self.from.array());
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
        let [row, rows, _] = self.to.layout.extent();
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
        match (self.to.array(), self.from.array(), stream) {
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
        self.to.array().or(self.from.array()).map_or(1, |part| part.element.max(1))
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
        let (array, [x, y, z], memory) = match operand.array() {
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
