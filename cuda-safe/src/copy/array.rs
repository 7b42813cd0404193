//! Arrays as operands of copies of rows and of layers of rows.
//!
//! [`memcpy_2d`](crate::memcpy_2d) and [`memcpy_3d`](crate::memcpy_3d) take an [`Array`] or a view of one on either side, and so
//! do their asynchronous forms and those of a scope. Widths are in elements on both sides and must agree, as between any
//! other operands; bounds were checked when the view was made. Arrays cannot be filled: CUDA has no such call.
//!
//! Rows go by the two-dimensional calls for arrays, where the array has one layer and such a call exists; everything else is
//! a copy of layers, with its extent in elements, as C wants it where an array takes part. Between devices it is the peer
//! form of that. Copies between an array and device memory never wait.
//!
//! C functions: `cudaMemcpy2DToArray`, `cudaMemcpy2DToArrayAsync`, `cudaMemcpy2DFromArray`, `cudaMemcpy2DFromArrayAsync`,
//! `cudaMemcpy2DArrayToArray`; with array operands `cudaMemcpy3D`, `cudaMemcpy3DAsync`, `cudaMemcpy3DPeer`,
//! `cudaMemcpy3DPeerAsync`.
#![expect(unsafe_code, reason = "hands arrays and pointers to the runtime")]

use super::call::pitched;
use super::direction::Direction;
use super::operand::{
    AsyncDestination, AsyncSource, Destination, Dimensions, Operand, Planar, Source, Volumetric, sealed,
};
use super::shape::Shape;
use crate::error::Result;
use crate::memory::array::region::Region;
use crate::memory::{Array, ArrayElement, ArrayView, ArrayViewMut};
use crate::{check, sys};

/// Where in which array an operand is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    raw: sys::cudaArray_t,
    /// Column, row, layer.
    at: [usize; 3],
    /// Bytes of an element.
    element: usize,
    /// Whether the array has one layer only.
    flat: bool,
}

impl Part {
    pub(super) fn of<T>(region: &Region<'_, T>) -> Self {
        Self { raw: region.raw(), at: region.at(), element: size_of::<T>(), flat: region.is_flat() }
    }

    /// Whether two parts of one extent share an element.
    pub(super) fn overlaps(&self, other: &Self, extent: [usize; 3]) -> bool {
        let near = self.at.iter().zip(other.at).zip(extent).all(|((a, b), size)| a.abs_diff(b) < size);
        self.raw == other.raw && near
    }

    /// The handle of the array.
    pub(super) fn raw(&self) -> sys::cudaArray_t {
        self.raw
    }

    /// Column, row and layer in the array.
    pub(super) fn at(&self) -> [usize; 3] {
        self.at
    }

    /// Bytes of an element.
    #[cfg(cudart_12_8)]
    pub(super) fn element(&self) -> usize {
        self.element
    }

    fn position(&self) -> sys::cudaPos {
        let [x, y, z] = self.at;
        sys::cudaPos { x, y, z }
    }

    /// The first byte of a row, and the row.
    fn offsets(&self) -> (usize, usize) {
        let [x, y, _] = self.at;
        // The array holds it, so it does not overflow.
        (x * self.element, y)
    }
}

/// Copies where one side is an array, or both are; on a stream, or on none with the call that blocks as far as it does.
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
    let flat = |operand: &Operand<'_>| operand.array().is_none_or(|part| part.flat);
    match (shape, direction) {
        // SAFETY: as the caller says.
        (_, Direction::Peer { .. }) => unsafe { between(direction, destination, source, shape, stream) },
        (Shape::Plane { row, rows }, _) if flat(destination) && flat(source) => {
            // SAFETY: as the caller says; both have one layer.
            unsafe { plane(direction, destination, source, (row, rows), stream) }
        }
        // SAFETY: as the caller says.
        _ => unsafe { volume(direction, destination, source, shape, stream) },
    }
}

/// Copies rows within one device, or between it and the host.
///
/// # Safety
/// As for [`copy`], and arrays have one layer.
unsafe fn plane(
    direction: Direction,
    destination: &Operand<'_>,
    source: &Operand<'_>,
    (row, rows): (usize, usize),
    stream: Option<sys::cudaStream_t>,
) -> Result<()> {
    let kind = direction.kind();
    let (to, from) = (destination.pointer().cast(), source.pointer().cast_const().cast());
    let (to_pitch, from_pitch) = (destination.layout().pitch, source.layout().pitch);
    match (destination.array(), source.array(), stream) {
        (Some(array), None, None) => {
            let (x, y) = array.offsets();
            // SAFETY: as the caller says: so many rows from there on, and in memory with this pitch.
            unsafe { check!(cudaMemcpy2DToArray(array.raw, x, y, from, from_pitch, row, rows, kind)) }
        }
        (Some(array), None, Some(raw)) => {
            let (x, y) = array.offsets();
            // SAFETY: as above, and the stream is live.
            unsafe {
                check!(cudaMemcpy2DToArrayAsync(array.raw, x, y, from, from_pitch, row, rows, kind, raw))
            }
        }
        (None, Some(array), None) => {
            let ((x, y), handle) = (array.offsets(), array.raw.cast_const());
            // SAFETY: as above.
            unsafe { check!(cudaMemcpy2DFromArray(to, to_pitch, handle, x, y, row, rows, kind)) }
        }
        (None, Some(array), Some(raw)) => {
            let ((x, y), handle) = (array.offsets(), array.raw.cast_const());
            // SAFETY: as above, and the stream is live.
            unsafe { check!(cudaMemcpy2DFromArrayAsync(to, to_pitch, handle, x, y, row, rows, kind, raw)) }
        }
        (Some(target), Some(array), None) => {
            let ((to_x, to_y), (x, y)) = (target.offsets(), array.offsets());
            let handle = array.raw.cast_const();
            // SAFETY: as above: so many rows from there on in both.
            unsafe { check!(cudaMemcpy2DArrayToArray(target.raw, to_x, to_y, handle, x, y, row, rows, kind)) }
        }
        // There is no asynchronous call between arrays but that for layers.
        _ => {
            // SAFETY: as the caller says.
            unsafe { volume(direction, destination, source, Shape::Plane { row, rows }, stream) }
        }
    }
}

/// Copies layers within one device, or between it and the host.
///
/// # Safety
/// As for [`copy`].
unsafe fn volume(
    direction: Direction,
    destination: &Operand<'_>,
    source: &Operand<'_>,
    shape: Shape,
    stream: Option<sys::cudaStream_t>,
) -> Result<()> {
    let (to, from) = (Corner::of(destination), Corner::of(source));
    let parameters = sys::cudaMemcpy3DParms {
        srcArray: from.array,
        srcPos: from.at,
        srcPtr: from.memory,
        dstArray: to.array,
        dstPos: to.at,
        dstPtr: to.memory,
        extent: extent(destination, source, shape),
        kind: direction.kind(),
    };
    match stream {
        // SAFETY: as the caller says; the parameters say the places and layouts of the operands, and live during the call.
        None => unsafe { check!(cudaMemcpy3D(&raw const parameters)) },
        // SAFETY: as above, and the stream is live.
        Some(raw) => unsafe { check!(cudaMemcpy3DAsync(&raw const parameters, raw)) },
    }
}

/// Copies layers between two devices.
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
    let (to, from) = (Corner::of(destination), Corner::of(source));
    let parameters = sys::cudaMemcpy3DPeerParms {
        srcArray: from.array,
        srcPos: from.at,
        srcPtr: from.memory,
        srcDevice: from_device.ordinal(),
        dstArray: to.array,
        dstPos: to.at,
        dstPtr: to.memory,
        dstDevice: to_device.ordinal(),
        extent: extent(destination, source, shape),
    };
    match stream {
        // SAFETY: as the caller says; the parameters say the places, layouts and devices of the operands, and live during the
        // call.
        None => unsafe { check!(cudaMemcpy3DPeer(&raw const parameters)) },
        // SAFETY: as above, and the stream is live.
        Some(raw) => unsafe { check!(cudaMemcpy3DPeerAsync(&raw const parameters, raw)) },
    }
}

/// An operand as C describes it for copies of layers: an array from a position on, or linear memory from its first byte on.
struct Corner {
    array: sys::cudaArray_t,
    memory: sys::cudaPitchedPtr,
    at: sys::cudaPos,
}

impl Corner {
    fn of(operand: &Operand<'_>) -> Self {
        match operand.array() {
            Some(part) => {
                Self { array: part.raw, memory: sys::cudaPitchedPtr::default(), at: part.position() }
            }
            None => Self {
                array: std::ptr::null_mut(),
                memory: pitched(operand),
                at: sys::cudaPos { x: 0, y: 0, z: 0 },
            },
        }
    }
}

/// A shape as C describes it where an array takes part: in elements, rows and layers.
fn extent(destination: &Operand<'_>, source: &Operand<'_>, shape: Shape) -> sys::cudaExtent {
    let array = destination.array().or(source.array());
    let element = array.map_or(1, |part| part.element.max(1));
    let (row, height, depth) = match shape {
        Shape::Linear { bytes } => (bytes, 1, 1),
        Shape::Plane { row, rows } => (row, rows, 1),
        Shape::Volume { row, rows, layers } => (row, rows, layers),
    };
    sys::cudaExtent { width: row / element, height, depth }
}

/// All or some of an array: rows, where it has one layer, and layers of rows.
macro_rules! operands {
    ($shape:ty, $dimensions:ident, from $($source:ty),*) => {
        $(
            impl<T: ArrayElement> sealed::Source<$shape> for $source {
                fn operand(&self) -> Result<Operand<'_>> {
                    Ok(Operand::of_array(self.region(), Dimensions::$dimensions))
                }
            }

            impl<T: ArrayElement> Source<$shape> for $source {
                type Element = T;
            }

            impl<T: ArrayElement> AsyncSource<$shape> for $source {}
        )*
    };
    ($shape:ty, $dimensions:ident, to $($destination:ty),*) => {
        $(
            impl<T: ArrayElement> sealed::Destination<$shape> for $destination {
                fn operand_mut(&mut self) -> Result<Operand<'_>> {
                    Ok(Operand::of_array(self.region(), Dimensions::$dimensions))
                }
            }

            impl<T: ArrayElement> Destination<$shape> for $destination {
                type Element = T;
            }

            impl<T: ArrayElement> AsyncDestination<$shape> for $destination {}
        )*
    };
}

operands!(Planar, Two, from Array<T>, ArrayView<'_, T>, ArrayViewMut<'_, T>);
operands!(Planar, Two, to Array<T>, ArrayViewMut<'_, T>);
operands!(Volumetric, Three, from Array<T>, ArrayView<'_, T>, ArrayViewMut<'_, T>);
operands!(Volumetric, Three, to Array<T>, ArrayViewMut<'_, T>);

#[cfg(test)]
mod tests {
    use super::Part;

    #[test]
    fn parts_of_one_array_overlap_where_they_share_an_element() {
        let raw = std::ptr::without_provenance_mut(0x100);
        let at = |at| Part { raw, at, element: 4, flat: false };
        assert!(at([0, 0, 0]).overlaps(&at([4, 2, 1]), [5, 3, 2]));
        for apart in [[5, 0, 0], [0, 3, 0], [4, 2, 2]] {
            assert!(!at([0, 0, 0]).overlaps(&at(apart), [5, 3, 2]), "{apart:?}");
            assert!(!at(apart).overlaps(&at([0, 0, 0]), [5, 3, 2]), "{apart:?}");
        }
        let other = Part { raw: std::ptr::without_provenance_mut(0x200), ..at([0, 0, 0]) };
        assert!(!other.overlaps(&at([0, 0, 0]), [5, 3, 2]));
        assert!(!at([1, 1, 1]).overlaps(&at([1, 1, 1]), [5, 0, 2]));
    }
}
