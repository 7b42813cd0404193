//! The runtime's copy calls: which one it is, and what it is told.
#![expect(unsafe_code, reason = "hands the operands' pointers to the runtime")]

use std::ptr;

use super::array;
use super::direction::Direction;
use super::operand::Operand;
use super::shape::Shape;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::memory::size::Layout;
use crate::{check, sys};

const CORNER: sys::cudaPos = sys::cudaPos { x: 0, y: 0, z: 0 };

/// Copies, on a stream, or on none with the call that blocks as far as it does.
///
/// # Safety
/// Both operands are memory of the shape, for as long as the copy takes, and share no byte. The direction is that of the
/// operands, and the stream is live.
pub(super) unsafe fn copy(
    direction: Direction,
    destination: &Operand<'_>,
    source: &Operand<'_>,
    shape: Shape,
    stream: Option<sys::cudaStream_t>,
) -> Result<()> {
    // Calls that name the devices find memory of pools by themselves.
    let pool =
        if let Direction::Peer { .. } = direction { None } else { destination.pool().or(source.pool()) };
    let _current = pool.map(Device::switch).transpose()?;
    if destination.array().is_some() || source.array().is_some() {
        // SAFETY: as the caller says.
        return unsafe { array::copy(direction, destination, source, shape, stream) };
    }
    match direction {
        // SAFETY: as the caller says.
        Direction::Peer { .. } => unsafe { between(direction, destination, source, shape, stream) },
        // SAFETY: as the caller says.
        _ => unsafe {
            let (to, from) = (destination, source);
            let (to, from) = ((to.pointer(), to.layout()), (from.pointer(), from.layout()));
            within(direction.kind(), to, from, shape, stream)
        },
    }
}

/// Copies within one device, or between it and the host.
///
/// # Safety
/// As for [`copy`].
unsafe fn within(
    kind: sys::cudaMemcpyKind,
    destination: (*mut u8, &Layout),
    source: (*mut u8, &Layout),
    shape: Shape,
    stream: Option<sys::cudaStream_t>,
) -> Result<()> {
    // SAFETY: as the caller says.
    let code = unsafe { calls(kind, destination, source, shape, stream) };
    Error::check(name(shape, stream.is_some()), code)
}

/// The call for sides of this shape.
///
/// # Safety
/// As for [`copy`].
#[inline]
pub(super) unsafe fn calls(
    kind: sys::cudaMemcpyKind,
    destination: (*mut u8, &Layout),
    source: (*mut u8, &Layout),
    shape: Shape,
    stream: Option<sys::cudaStream_t>,
) -> sys::cudaError_t {
    match shape {
        // SAFETY: as the caller says.
        Shape::Linear { bytes } => unsafe { linear(kind, destination.0, source.0, bytes, stream) },
        // SAFETY: as the caller says.
        Shape::Plane { row, rows } => unsafe { plane(kind, destination, source, (row, rows), stream) },
        // SAFETY: as the caller says.
        Shape::Volume { .. } => unsafe { volume(kind, destination, source, shape, stream) },
    }
}

/// The function that copies sides of this shape.
#[inline]
pub(super) fn name(shape: Shape, on_a_stream: bool) -> &'static str {
    match (shape, on_a_stream) {
        (Shape::Linear { .. }, false) => "cudaMemcpy",
        (Shape::Linear { .. }, true) => "cudaMemcpyAsync",
        (Shape::Plane { .. }, false) => "cudaMemcpy2D",
        (Shape::Plane { .. }, true) => "cudaMemcpy2DAsync",
        (Shape::Volume { .. }, false) => "cudaMemcpy3D",
        (Shape::Volume { .. }, true) => "cudaMemcpy3DAsync",
    }
}

/// Copies bytes in a row within one device, or between it and the host.
///
/// # Safety
/// As for [`copy`].
#[inline]
pub(super) unsafe fn linear(
    kind: sys::cudaMemcpyKind,
    destination: *mut u8,
    source: *mut u8,
    bytes: usize,
    stream: Option<sys::cudaStream_t>,
) -> sys::cudaError_t {
    let (to, from) = (destination.cast(), source.cast_const().cast());
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
/// As for [`copy`].
#[inline]
pub(super) unsafe fn plane(
    kind: sys::cudaMemcpyKind,
    destination: (*mut u8, &Layout),
    source: (*mut u8, &Layout),
    (row, rows): (usize, usize),
    stream: Option<sys::cudaStream_t>,
) -> sys::cudaError_t {
    let (to, from) = (destination.0.cast(), source.0.cast_const().cast());
    let (to_pitch, from_pitch) = (destination.1.pitch, source.1.pitch);
    match stream {
        // SAFETY: as the caller says: so many rows with these pitches.
        None => unsafe { sys::cudaMemcpy2D(to, to_pitch, from, from_pitch, row, rows, kind) },
        // SAFETY: as above, and the stream is live.
        Some(raw) => unsafe { sys::cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, row, rows, kind, raw) },
    }
}

/// The same of layers of rows.
///
/// # Safety
/// As for [`copy`].
#[inline]
pub(super) unsafe fn volume(
    kind: sys::cudaMemcpyKind,
    destination: (*mut u8, &Layout),
    source: (*mut u8, &Layout),
    shape: Shape,
    stream: Option<sys::cudaStream_t>,
) -> sys::cudaError_t {
    let parameters = sys::cudaMemcpy3DParms {
        srcArray: ptr::null_mut(),
        srcPos: CORNER,
        srcPtr: pitched_ptr(source),
        dstArray: ptr::null_mut(),
        dstPos: CORNER,
        dstPtr: pitched_ptr(destination),
        extent: extent(shape),
        kind,
    };
    match stream {
        // SAFETY: as the caller says; the parameters say the layouts of the sides, and live during the call.
        None => unsafe { sys::cudaMemcpy3D(&raw const parameters) },
        // SAFETY: as above, and the stream is live.
        Some(raw) => unsafe { sys::cudaMemcpy3DAsync(&raw const parameters, raw) },
    }
}

/// Copies between the memories of two devices. Rows are a volume of one layer: there is no call of their own.
///
/// # Safety
/// As for [`copy`].
unsafe fn between(
    direction: Direction,
    destination: &Operand<'_>,
    source: &Operand<'_>,
    shape: Shape,
    stream: Option<sys::cudaStream_t>,
) -> Result<()> {
    let Direction::Peer { destination: to_device, source: from_device } = direction else { return Ok(()) };
    let (to_device, from_device) = (to_device.ordinal(), from_device.ordinal());
    if let Shape::Linear { bytes } = shape {
        let (to, from) = (destination.pointer().cast(), source.pointer().cast_const().cast());
        return match stream {
            // SAFETY: as the caller says: so many bytes, of these devices.
            None => unsafe { check!(cudaMemcpyPeer(to, to_device, from, from_device, bytes)) },
            // SAFETY: as above, and the stream is live.
            Some(raw) => unsafe { check!(cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, raw)) },
        };
    }
    let parameters = sys::cudaMemcpy3DPeerParms {
        srcArray: ptr::null_mut(),
        srcPos: CORNER,
        srcPtr: pitched(source),
        srcDevice: from_device,
        dstArray: ptr::null_mut(),
        dstPos: CORNER,
        dstPtr: pitched(destination),
        dstDevice: to_device,
        extent: extent(shape),
    };
    match stream {
        // SAFETY: as the caller says; the parameters say the layouts and devices of the operands, and live during the call.
        None => unsafe { check!(cudaMemcpy3DPeer(&raw const parameters)) },
        // SAFETY: as above, and the stream is live.
        Some(raw) => unsafe { check!(cudaMemcpy3DPeerAsync(&raw const parameters, raw)) },
    }
}

/// An operand as C describes pitched memory.
pub(super) fn pitched(operand: &Operand<'_>) -> sys::cudaPitchedPtr {
    pitched_ptr((operand.pointer(), operand.layout()))
}

/// The same of a layout from an address on.
#[inline]
fn pitched_ptr((pointer, layout): (*mut u8, &Layout)) -> sys::cudaPitchedPtr {
    sys::cudaPitchedPtr {
        ptr: pointer.cast(),
        pitch: layout.pitch,
        xsize: layout.row,
        ysize: layout.layer_rows,
    }
}

/// A shape as C describes it, in bytes, rows and layers.
#[inline]
pub(super) fn extent(shape: Shape) -> sys::cudaExtent {
    match shape {
        Shape::Linear { bytes } => sys::cudaExtent { width: bytes, height: 1, depth: 1 },
        Shape::Plane { row, rows } => sys::cudaExtent { width: row, height: rows, depth: 1 },
        Shape::Volume { row, rows, layers } => sys::cudaExtent { width: row, height: rows, depth: layers },
    }
}
