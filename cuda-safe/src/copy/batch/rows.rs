//! The lists of `cudaMemcpy3DBatchAsync`: copies of rows and of layers of rows, grouped by direction.
#![cfg_attr(cudart_12_8, expect(unsafe_code, reason = "hands the operands' pointers to the runtime"))]

use super::attributes::SingleAttributes;
use super::copies::{Copies, Lists, RowCopy, Single};
use crate::copy::checked::CheckedCopy;
use crate::copy::overlap::Area;
use crate::stream::StreamRef;
#[cfg(cudart_12_8)]
use {
    super::copies::{BatchDirection, ByTransfer, Scratch, is_capturing},
    crate::copy::operand::Operand,
    crate::device::Device,
    crate::error::{Detail, Result},
    crate::memory::memory_type::sealed::Tag,
    crate::sys,
};

/// The copies of a [`CopyBatch3d`](super::CopyBatch3d).
#[derive(Debug, Default)]
pub(super) struct RowLists<'a> {
    entries: Vec<RowCopy<'a>>,
    /// The entries in C's form, grouped by direction: mixed directions take three times as long.
    #[cfg(cudart_12_8)]
    ops: ByTransfer<Vec<sys::cudaMemcpy3DBatchOp>>,
    /// Whether a side is an array.
    #[cfg(cudart_12_8)]
    arrays: bool,
    /// The entries of one call, in a list that C may write.
    #[cfg(cudart_12_8)]
    scratch: Scratch<sys::cudaMemcpy3DBatchOp>,
}

impl<'a> Lists<'a> for RowLists<'a> {
    const NAME: &'static str = "CopyBatch3d";

    fn len(&self) -> usize {
        self.entries.len()
    }

    fn areas(&self) -> impl Iterator<Item = (Area, Area)> + Clone {
        self.entries
            .iter()
            .map(|RowCopy { copy, .. }| (Area::from_operand(&copy.to), Area::from_operand(&copy.from)))
    }

    fn push(&mut self, copy: &CheckedCopy<'a>, attributes: SingleAttributes, capacity: usize) {
        let entry = RowCopy { copy: *copy, attributes };
        #[cfg(cudart_12_8)]
        {
            self.arrays |= entry.has_array();
            entry.add_to(self.ops.get_mut(BatchDirection::from_direction(copy.direction)));
        }
        self.entries.reserve(capacity);
        self.entries.push(entry);
    }
}

impl Copies for RowLists<'_> {
    const API: &'static str = "CopyBatch3d::enqueue";

    #[cfg(cudart_12_8)]
    fn function(&self) -> &'static str {
        "cudaMemcpy3DBatchAsync"
    }

    fn singles(&self) -> impl Iterator<Item = Single<'_>> + Clone {
        self.entries.iter().map(Single::Rows)
    }

    /// Makes one call for all copies except those of other devices' arrays, which have one call each:
    /// the documentation of batches does not mention devices for arrays.
    #[cfg(cudart_12_8)]
    fn together(&self, stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
        let device = stream.device();
        let is_beyond = |entry: &RowCopy<'_>| entry.has_array_beyond(device);
        let beyond = self.arrays && self.entries.iter().any(is_beyond);
        // Checked before some copies are made and the others refused.
        if beyond && is_capturing(raw)? {
            return self.in_turn(raw, Detail::CAPTURING);
        }
        self.scratch.with(|ops| {
            if !beyond {
                self.ops.iter().for_each(|(_, some)| ops.extend_from_slice(some));
            } else {
                for entry in &self.entries {
                    if is_beyond(entry) {
                        Single::Rows(entry).copy(Some(raw))?;
                    } else {
                        entry.add_to(ops);
                    }
                }
            }
            if ops.is_empty() { Ok(()) } else { self.call_with(ops, stream, raw) }
        })
    }
}

#[cfg(cudart_12_8)]
impl RowLists<'_> {
    /// Makes the call for these copies.
    #[inline]
    fn call_with(
        &self,
        ops: &mut [sys::cudaMemcpy3DBatchOp],
        stream: StreamRef<'_>,
        raw: sys::cudaStream_t,
    ) -> Result<()> {
        self.at_once(stream, raw, move |raw| {
            #[cfg(cudart_13_0)]
            // SAFETY: the list has the stated number of elements. Each describes locations and layouts
            // of memory that outlives the copy, or is read during the call. The stream is live.
            let code = unsafe { sys::cudaMemcpy3DBatchAsync(ops.len(), ops.as_mut_ptr(), 0, raw) };
            #[cfg(not(cudart_13_0))]
            let code = {
                // CUDA 12 reports which copy failed.
                let mut failed = usize::MAX;
                // SAFETY: the list describes memory that outlives the copy or is read during the call. The
                // stream is live. The call may fill the index, a live variable.
                unsafe { sys::cudaMemcpy3DBatchAsync(ops.len(), ops.as_mut_ptr(), &raw mut failed, 0, raw) }
            };
            code
        })
    }
}

/// A copy, in the form that `cudaMemcpy3DBatchAsync` and `cudaMemcpy3DWithAttributesAsync` take.
#[cfg(cudart_12_8)]
impl RowCopy<'_> {
    fn has_array(&self) -> bool {
        self.copy.to.array.is_some() || self.copy.from.array.is_some()
    }

    /// Returns whether one side is an array and memory of a device other than this one takes part.
    pub(super) fn has_array_beyond(&self, device: Device) -> bool {
        let is_beyond = |side: &Operand<'_>| matches!(side.memory, Some((Tag::Device, of)) if of != device);
        self.has_array() && (is_beyond(&self.copy.to) || is_beyond(&self.copy.from))
    }

    /// Adds the copy as one operation, or as one for each row.
    ///
    /// If a side is an array, C counts in its elements. It cannot describe rows of memory whose distance
    /// is not a multiple of the element size, but each row can be a copy of its own.
    fn add_to(&self, ops: &mut Vec<sys::cudaMemcpy3DBatchOp>) {
        let [width, height, depth] = self.copy.to.layout.extent();
        let Some(whole) = self.whole() else {
            for layer in 0..depth {
                ops.extend((0..height).map(|row| self.op([width, 1, 1], [row, layer])));
            }
            return;
        };
        ops.push(whole);
    }

    /// Returns the copy as one operation, or `None` if it takes one for each row.
    pub(super) fn whole(&self) -> Option<sys::cudaMemcpy3DBatchOp> {
        let [width, height, depth] = self.copy.to.layout.extent();
        let unit = self.copy.unit();
        let fits = |side: &Operand<'_>| side.array.is_some() || side.layout.pitch.is_multiple_of(unit);
        let alone = height == 1 && depth == 1;
        (alone || fits(&self.copy.to) && fits(&self.copy.from))
            .then(|| self.op([width, height, depth], [0, 0]))
    }

    /// Returns the operation for this many bytes, rows and layers, from a row of a layer on.
    fn op(&self, [width, height, depth]: [usize; 3], from: [usize; 2]) -> sys::cudaMemcpy3DBatchOp {
        let unit = self.copy.unit();
        let alone = height == 1 && depth == 1;
        let mut op = sys::cudaMemcpy3DBatchOp {
            src: side(&self.copy.from, from, unit, alone),
            dst: side(&self.copy.to, from, unit, alone),
            extent: sys::cudaExtent { width: width / unit, height, depth },
            ..Default::default()
        };
        self.attributes.enter(&mut op);
        op
    }
}

/// Returns one side, from a row of a layer on. A row that is `alone` has no next one. Nothing overflows,
/// because memory of this size exists.
#[cfg(cudart_12_8)]
fn side(
    operand: &Operand<'_>,
    [row, layer]: [usize; 2],
    unit: usize,
    alone: bool,
) -> sys::cudaMemcpy3DOperand {
    let mut side = sys::cudaMemcpy3DOperand::default();
    if let Some(part) = operand.array.as_ref() {
        let [x, y, z] = part.at;
        side.type_ = sys::cudaMemcpyOperandTypeArray;
        side.op.array = sys::cudaMemcpy3DOperand__bindgen_ty_1__bindgen_ty_2 {
            array: part.raw,
            offset: sys::cudaOffset3D { x, y: y + row, z: z + layer },
        };
        return side;
    }
    let layout = operand.layout;
    let start = (layer * layout.layer_rows + row) * layout.pitch;
    // Zero means packed rows.
    let (row_length, layer_height) =
        if alone { (0, 0) } else { (layout.pitch / unit, layout.layer_rows.max(layout.rows)) };
    side.type_ = sys::cudaMemcpyOperandTypePointer;
    side.op.ptr = sys::cudaMemcpy3DOperand__bindgen_ty_1__bindgen_ty_1 {
        ptr: operand.pointer.wrapping_add(start).cast(),
        rowLength: row_length,
        layerHeight: layer_height,
        locHint: sys::cudaMemLocation::default(),
    };
    side
}
