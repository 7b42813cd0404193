//! Bulk copies: of bytes, and of the boxes of tensors.
//!
//! A copy whose bytes a barrier counts is made when a thread asks for that barrier. A copy of a group is made
//! when its thread waits for the group. So a thread that reads too early finds the old bytes, and one that
//! writes too early spoils the copy. Addresses are checked when a copy is requested, and again when it is
//! made.

use super::bytes::{change, read, write};
use super::cluster::{parts, with_rank};
use super::env::AccessKind;
use super::fault::{Fault, Result};
use super::file::{LANES, Slots, Word, lanes};
use super::launch::Context;
use super::lower::modify;
use super::memory::WINDOW;
use super::pending::Bulk;
use super::program::{Access, BulkCopy, BulkSide, Element, Modify, Until};
use super::tensor::{BYTES, PIECE, RANK, TensorMap};
use super::warp::Warp;

/// The alignment of boxes in shared memory.
const BOX: u64 = 128;

/// What is done with the elements of two sides.
#[derive(Clone, Copy)]
struct Move {
    element: Element,
    reduce: Option<Modify>,
}

impl Move {
    fn one(self, to: *mut u8, value: u64) {
        match self.reduce {
            None => write(to, self.element, value),
            Some(modify) => {
                change(to, self.element, value, 0, modify);
            }
        }
    }
}

fn element(bytes: u64) -> Element {
    match bytes {
        1 => Element::U8,
        2 => Element::U16,
        4 => Element::U32,
        _ => Element::U64,
    }
}

fn offset(at: *mut u8, bytes: u64) -> *mut u8 {
    at.wrapping_add(usize::try_from(bytes).unwrap_or(0))
}

impl Warp {
    /// Requests bulk copies.
    pub(super) fn ask_bulk(&mut self, cx: &mut Context<'_>, copy: BulkCopy, s: &Slots, mask: u32) -> Result {
        let addresses = |warp: &Self, side: BulkSide, slot| match side {
            BulkSide::Bytes(access) | BulkSide::Tensor(access, _) => warp.addresses(access, slot),
            BulkSide::Nothing => [0; LANES],
        };
        let (to, from) = (addresses(self, copy.to, s[3]), addresses(self, copy.from, s[4]));
        let barriers = copy.counted.map_or([0; LANES], |barrier| self.addresses(barrier, s[1]));
        let word = |warp: &Self, slot| {
            if slot == super::program::NONE { [0; LANES] } else { *u32::row(&warp.file, slot) }
        };
        let (sizes, blocks) = (word(self, s[0]), word(self, s[2]));
        for lane in lanes(mask) {
            let mut bulk = Bulk {
                copy,
                to: to[lane],
                from: from[lane],
                bytes: sizes[lane].into(),
                tensor: None,
                barrier: 0,
                pc: cx.pc,
            };
            if let BulkSide::Tensor(access, dimensions) = copy.to {
                let tensor = self.tensor(cx, access, (to[lane], dimensions), lane)?;
                if let Some(first) = tensor.1.iter().find(|first| **first < 0) {
                    let what = format!("a box that is written from element {first} of a dimension on");
                    return Err(self.fault(cx, Fault::ILLEGAL_INSTRUCTION, &what, lane));
                }
                bulk.tensor = Some(tensor);
            }
            if let BulkSide::Tensor(access, dimensions) = copy.from {
                bulk.tensor = Some(self.tensor(cx, access, (from[lane], dimensions), lane)?);
            }
            if let Some(tensor) = &bulk.tensor {
                bulk.bytes = tensor.0.row() * tensor.0.rows();
            }
            if !bulk.bytes.is_multiple_of(PIECE) {
                let what = format!("a bulk copy of {} bytes, which are no multiple of {PIECE}", bulk.bytes);
                return Err(self.fault(cx, Fault::MISALIGNED_ADDRESS, &what, lane));
            }
            if matches!(copy.to, BulkSide::Nothing) {
                continue;
            }
            if let (BulkSide::Bytes(access), None) = (copy.from, &bulk.tensor)
                && access.space == crate::ptx::Space::Shared
            {
                bulk.from = with_rank(cx.rank, bulk.from & WINDOW);
            }
            let Some(access) = copy.counted else {
                self.check_bulk(cx, &bulk, lane)?;
                self.bulk[lane].open.push(bulk);
                continue;
            };
            let count = cx.launch.cluster_blocks();
            let named = if copy.multicast { blocks[lane] } else { 1 };
            if copy.multicast && (named == 0 || named >> count != 0) {
                let what = format!("a copy to blocks {named:#b} of a cluster, which has {count}");
                return Err(self.fault(cx, Fault::ILLEGAL_INSTRUCTION, &what, lane));
            }
            for block in lanes(named) {
                let place = |address: u64| match u32::try_from(block) {
                    Ok(block) if copy.multicast => with_rank(block, parts(address & WINDOW).0),
                    _ => with_rank(cx.rank, address & WINDOW),
                };
                let one = Bulk { to: place(bulk.to), barrier: place(barriers[lane]), ..bulk.clone() };
                self.check_bulk(cx, &one, lane)?;
                self.begun(cx, access, one.barrier, lane)?;
                cx.cluster.bulk.push(one);
            }
        }
        let [copies, _] = cx.cluster.names(0);
        self.order(cx, |order, block, warp| order.arrives_at(block, warp, mask, copies));
        Ok(())
    }

    /// Reads the map and the coordinates of a box.
    fn tensor(
        &mut self,
        cx: &mut Context<'_>,
        access: Access,
        (address, dimensions): (u64, u8),
        lane: usize,
    ) -> Result<Box<(TensorMap, [i32; RANK])>> {
        let at = self.reach(cx, access, address, (BYTES as u64, 64), lane, AccessKind::Read)?;
        let mut bytes = [0; BYTES];
        for (n, byte) in bytes.iter_mut().enumerate() {
            *byte = super::bytes::read8(at.wrapping_add(n));
        }
        let map = TensorMap::unpack(&bytes);
        let Some(map) = map.filter(|map| map.rank == usize::from(dimensions)) else {
            let why = match map {
                Some(map) => format!("is of {} dimensions and not of {dimensions}", map.rank),
                None => "was not made by cuTensorMapEncodeTiled".into(),
            };
            let what = format!("the tensor map at {address:#x} {why}");
            return Err(self.fault(cx, Fault::ILLEGAL_INSTRUCTION, &what, lane));
        };
        let mut coordinates = [0; RANK];
        for (place, row) in coordinates.iter_mut().zip(&self.table).take(map.rank) {
            *place = super::file::low(row[lane]).cast_signed();
        }
        let column = i64::from(coordinates[0]) * map.size().unwrap_or(1).cast_signed();
        if column % PIECE.cast_signed() != 0 {
            let what =
                format!("a box that begins {column} bytes into its rows, which are no multiple of {PIECE}");
            return Err(self.fault(cx, Fault::ILLEGAL_INSTRUCTION, &what, lane));
        }
        Ok(Box::new((map, coordinates)))
    }

    /// Checks the memory of both sides.
    fn check_bulk(&mut self, cx: &mut Context<'_>, bulk: &Bulk, lane: usize) -> Result {
        let Bulk { copy, to, from, bytes, .. } = *bulk;
        for (side, address, kind) in [(copy.to, to, AccessKind::Write), (copy.from, from, AccessKind::Read)] {
            match (side, &bulk.tensor) {
                (BulkSide::Bytes(access), None) => {
                    self.span(cx, access, address, (bytes, PIECE), lane, kind)?;
                }
                (BulkSide::Bytes(access), Some(tensor)) => {
                    let bytes = tensor.0.pitch() * tensor.0.rows();
                    self.span(cx, access, address, (bytes, BOX), lane, kind)?;
                }
                (BulkSide::Tensor(access, _), Some(tensor)) => {
                    let ((map, at), access) = (&**tensor, global(access));
                    let size = map.size().unwrap_or(1);
                    let mut ends: Option<(u64, u64)> = None;
                    for (from, _, count) in
                        (0..map.rows()).filter_map(|row| map.place(*at, row, kind != AccessKind::Read))
                    {
                        let (first, last) = ends.unwrap_or((from, from));
                        ends = Some((first.min(from), last.max(from + count * size)));
                    }
                    if let Some((first, end)) = ends {
                        self.span(cx, access, first, (end - first, size), lane, kind)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Makes the copies whose bytes a barrier counts. Returns whether there were any.
    pub(super) fn bulk_arrives(
        &mut self,
        cx: &mut Context<'_>,
        access: Access,
        address: u64,
        lane: usize,
    ) -> Result<bool> {
        let barrier = with_rank(cx.rank, address & WINDOW);
        if cx.cluster.bulk.iter().all(|bulk| bulk.barrier != barrier) {
            return Ok(false);
        }
        let (due, left) =
            std::mem::take(&mut cx.cluster.bulk).into_iter().partition(|it| it.barrier == barrier);
        cx.cluster.bulk = left;
        let due: Vec<Bulk> = due;
        let [copies, _] = cx.cluster.names(0);
        self.order(cx, |order, block, warp| order.waited_at(block, warp, 1 << lane, copies));
        for bulk in due {
            let now = std::mem::replace(&mut cx.pc, bulk.pc);
            self.make_bulk(cx, &bulk, lane)?;
            self.count_bytes(cx, access, address, bulk.bytes, lane)?;
            cx.pc = now;
        }
        Ok(true)
    }

    /// Makes the copies of groups that lanes wait for.
    pub(super) fn wait_for_bulk(&mut self, cx: &mut Context<'_>, until: Until, mask: u32) -> Result {
        for lane in lanes(mask) {
            for bulk in self.bulk[lane].due(until) {
                let now = std::mem::replace(&mut cx.pc, bulk.pc);
                self.make_bulk(cx, &bulk, lane)?;
                cx.pc = now;
            }
        }
        Ok(())
    }

    fn make_bulk(&mut self, cx: &mut Context<'_>, bulk: &Bulk, lane: usize) -> Result {
        let Bulk { copy, to, from, bytes, .. } = *bulk;
        let ty = |map: Option<&TensorMap>| copy.reduction?.ty.or_else(|| map?.ty());
        let map = bulk.tensor.as_ref().map(|tensor| &tensor.0);
        let reduce = copy.reduction.and_then(|it| modify(it.name, ty(map)?));
        if copy.reduction.is_some() && reduce.is_none() {
            let what = "a reduction that the elements of the tensor do not have";
            return Err(self.fault(cx, Fault::ILLEGAL_INSTRUCTION, what, lane));
        }
        let kind = if reduce.is_some() { AccessKind::Strong } else { AccessKind::Write };
        match (copy.to, copy.from, &bulk.tensor) {
            (BulkSide::Bytes(a), BulkSide::Bytes(b), _) => {
                let source = self.reach(cx, b, from, (bytes, PIECE), lane, AccessKind::Read)?;
                let target = self.reach(cx, a, to, (bytes, PIECE), lane, kind)?;
                let size = ty(None).map_or(8, |ty| u64::from(ty.size()));
                let each = Move { element: element(size), reduce };
                for at in (0..bytes).step_by(usize::try_from(size).unwrap_or(8)) {
                    each.one(offset(target, at), read(offset(source, at), each.element));
                }
            }
            (BulkSide::Bytes(a), BulkSide::Tensor(b, _), Some(tensor)) => {
                let (map, at) = &**tensor;
                let all = (map.pitch() * map.rows(), BOX);
                let target = self.reach(cx, a, to, all, lane, AccessKind::Write)?;
                self.each_row(cx, global(b), (map, *at), to, lane, AccessKind::Read, |place, source| {
                    let target = offset(target, place - to);
                    let size = map.size().unwrap_or(1);
                    let bits = source.map_or(map.outside(), |at| map.loaded(read(at, element(size))));
                    write(target, element(size), bits);
                })?;
            }
            (BulkSide::Tensor(a, _), BulkSide::Bytes(b), Some(tensor)) => {
                let (map, at) = &**tensor;
                let all = (map.pitch() * map.rows(), BOX);
                let source = self.reach(cx, b, from, all, lane, AccessKind::Read)?;
                let each = Move { element: element(map.size().unwrap_or(1)), reduce };
                self.each_row(cx, global(a), (map, *at), from, lane, kind, |place, target| {
                    if let Some(target) = target {
                        each.one(target, read(offset(source, place - from), each.element));
                    }
                })?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Finds the elements of a box, row after row: the address in shared memory of each, and its bytes in
    /// global memory if it is within the tensor.
    #[expect(clippy::too_many_arguments, reason = "they are the parts of one copy")]
    fn each_row(
        &mut self,
        cx: &mut Context<'_>,
        access: Access,
        (map, at): (&TensorMap, [i32; RANK]),
        shared: u64,
        lane: usize,
        kind: AccessKind,
        mut f: impl FnMut(u64, Option<*mut u8>),
    ) -> Result {
        let size = map.size().unwrap_or(1);
        for row in 0..map.rows() {
            let start = shared + row * map.pitch();
            let (before, within, found) = match map.place(at, row, kind != AccessKind::Read) {
                None => (0, 0, core::ptr::null_mut()),
                Some((address, before, within)) => {
                    let bytes = (within * size, size);
                    (before, within, self.reach(cx, access, address, bytes, lane, kind)?)
                }
            };
            for number in 0..u64::from(map.boxes[0]) {
                let inside = number.checked_sub(before).filter(|number| *number < within);
                f(map.swizzled(start + number * size), inside.map(|number| offset(found, number * size)));
            }
        }
        Ok(())
    }
}

/// An access to the tensor of a map in place of the map.
fn global(access: Access) -> Access {
    Access { space: crate::ptx::Space::Global, cache: u32::MAX, ..access }
}
