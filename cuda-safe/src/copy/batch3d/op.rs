//! A copy as `cudaMemcpy3DBatchAsync` and `cudaMemcpy3DWithAttributesAsync` are told it.

use super::super::call::extent;
use super::super::operand::Operand;
use super::Entry;
use crate::sys;

/// Adds a copy: one operation, or one for each row.
///
/// Where an array takes part, C counts in its elements. Rows of memory that do not begin whole elements apart cannot be said
/// so; but each of them can for itself.
pub(super) fn add(ops: &mut Vec<sys::cudaMemcpy3DBatchOp>, entry: &Entry<'_>) {
    let sys::cudaExtent { width, height, depth } = extent(entry.shape);
    let Some(whole) = whole(entry) else {
        for layer in 0..depth {
            ops.extend((0..height).map(|row| op(entry, [width, 1, 1], [row, layer])));
        }
        return;
    };
    ops.push(whole);
}

/// A copy as one operation; none where it takes one for each row.
pub(super) fn whole(entry: &Entry<'_>) -> Option<sys::cudaMemcpy3DBatchOp> {
    let sys::cudaExtent { width, height, depth } = extent(entry.shape);
    let unit = unit(entry);
    let fits = |side: &Operand<'_>| side.array().is_some() || side.layout().pitch.is_multiple_of(unit);
    let alone = height == 1 && depth == 1;
    (alone || fits(&entry.destination) && fits(&entry.source))
        .then(|| op(entry, [width, height, depth], [0, 0]))
}

/// Bytes of what C counts in.
fn unit(entry: &Entry<'_>) -> usize {
    let part = entry.destination.array().or(entry.source.array());
    part.map_or(1, |part| part.element().max(1))
}

/// So many bytes, rows and layers, from a row of a layer on.
fn op(entry: &Entry<'_>, [width, height, depth]: [usize; 3], from: [usize; 2]) -> sys::cudaMemcpy3DBatchOp {
    let unit = unit(entry);
    let alone = height == 1 && depth == 1;
    let mut op = sys::cudaMemcpy3DBatchOp {
        src: side(&entry.source, from, unit, alone),
        dst: side(&entry.destination, from, unit, alone),
        extent: sys::cudaExtent { width: width / unit, height, depth },
        ..Default::default()
    };
    entry.attributes.enter(&mut op);
    op
}

/// One side, from a row of a layer on; a row `alone` has no next one. The memory holds all of it, so nothing overflows.
fn side(
    operand: &Operand<'_>,
    [row, layer]: [usize; 2],
    unit: usize,
    alone: bool,
) -> sys::cudaMemcpy3DOperand {
    let mut side = sys::cudaMemcpy3DOperand::default();
    if let Some(part) = operand.array() {
        let [x, y, z] = part.at();
        side.type_ = sys::cudaMemcpyOperandTypeArray;
        side.op.array = sys::cudaMemcpy3DOperand__bindgen_ty_1__bindgen_ty_2 {
            array: part.raw(),
            offset: sys::cudaOffset3D { x, y: y + row, z: z + layer },
        };
        return side;
    }
    let layout = operand.layout();
    let start = (layer * layout.layer_rows + row) * layout.pitch;
    // Zero stands for packed.
    let (row_length, layer_height) =
        if alone { (0, 0) } else { (layout.pitch / unit, layout.layer_rows.max(layout.rows)) };
    side.type_ = sys::cudaMemcpyOperandTypePointer;
    side.op.ptr = sys::cudaMemcpy3DOperand__bindgen_ty_1__bindgen_ty_1 {
        ptr: operand.pointer().wrapping_add(start).cast(),
        rowLength: row_length,
        layerHeight: layer_height,
        locHint: sys::cudaMemLocation::default(),
    };
    side
}
