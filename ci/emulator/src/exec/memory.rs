//! Memory access of a warp: every access is checked, in every lane.

use super::bytes::{
    change, read, read_row32, read_row64, read8, read32, read64, write, write_row32, write_row64, write32,
    write64,
};
use super::cluster::parts;
use super::env::AccessKind;
use super::fault::{Fault, Mistake, Result};
use super::file::{FULL, LANES, Slot, Slots, Word, first_lane, lanes, low};
use super::launch::{Cached, Context};
use super::near::{Bounds, NEAR, Near, Shape};
use super::order::{HappensBefore, StrongAccess};
use super::program::{Access, Element, Modify, Scope, Strength};
use super::program::{LOCAL, PARAM, SHARED};
use super::races::{self, Wrong};
use super::warp::Warp;
use crate::config;
use crate::fidelity::{self, Limit};
use crate::host_line::demangled;
use crate::ptx::Space;

/// The width of a window: the highest byte of a generic address selects the window.
pub(super) const WINDOW: u64 = (1 << 56) - 1;

/// An access to bytes anywhere.
pub(super) const BYTES: Access = Access {
    space: Space::Generic,
    element: Element::U8,
    count: 1,
    wide: false,
    wide_address: true,
    offset: 0,
    cache: u32::MAX,
    strong: None,
    proxy: false,
};

type Pointers = [*mut u8; LANES];

impl Warp {
    /// `ld`.
    #[inline(always)]
    pub(super) fn load(&mut self, cx: &mut Context<'_>, a: Access, s: &Slots, mask: u32) -> Result {
        let near = if cx.watched || cx.traced { None } else { self.near(cx, a, s[4], mask, false) };
        let Some(near) = near else {
            return self.load_far(cx, a, s, mask);
        };
        if near.shape == Shape::Row && a.count == 1 {
            match (a.element, a.wide) {
                (Element::U32 | Element::S32, false) => {
                    *u32::row_mut(&mut self.file, s[0]) = read_row32(near.pointer(0));
                    return Ok(());
                }
                (Element::U64, true) => {
                    *u64::row_mut(&mut self.file, s[0]) = read_row64(near.pointer(0));
                    return Ok(());
                }
                _ => {}
            }
        }
        match (a.element, a.wide) {
            (Element::U32 | Element::S32, false) => self.load_near(&near, a, s, mask, read32),
            (Element::U64, true) => self.load_near(&near, a, s, mask, read64),
            (element, false) => self.load_near(&near, a, s, mask, |p| low(read_extended(p, element))),
            (element, true) => self.load_near(&near, a, s, mask, |p| read_extended(p, element)),
        }
        Ok(())
    }

    #[inline(always)]
    fn load_near<W: Word>(
        &mut self,
        near: &Near,
        a: Access,
        s: &Slots,
        mask: u32,
        read: impl Fn(*mut u8) -> W,
    ) {
        let size = a.element.size() as usize;
        for (part, &slot) in s[..usize::from(a.count)].iter().enumerate() {
            let read = |lane: usize| read(near.pointer(lane).wrapping_add(part * size));
            if near.shape == Shape::Same {
                let value = read((mask.trailing_zeros() & 31) as usize);
                W::set(&mut self.file, slot, mask, value);
                continue;
            }
            let row = W::row_mut(&mut self.file, slot);
            if mask == FULL {
                (0..LANES).for_each(|lane| row[lane] = read(lane));
            } else {
                lanes(mask).for_each(|lane| row[lane] = read(lane));
            }
        }
    }

    /// The same for lanes that may be anywhere.
    fn load_far(&mut self, cx: &mut Context<'_>, a: Access, s: &Slots, mask: u32) -> Result {
        let at = self.pointers(cx, a, s, mask, AccessKind::Read)?;
        if cx.watched {
            self.tell_unwritten(cx, a, &at, mask);
        }
        cx.trace(a, AccessKind::Read, &at, mask);
        self.note_all(cx, a, AccessKind::Read, s[4], &at, mask);
        let size = a.element.size() as usize;
        for (part, &slot) in s[..usize::from(a.count)].iter().enumerate() {
            for lane in lanes(mask) {
                let value = read_extended(at[lane].wrapping_add(part * size), a.element);
                self.file.set_bits(slot, a.wide, lane, value);
            }
        }
        Ok(())
    }

    /// `st`.
    #[inline(always)]
    pub(super) fn store(&mut self, cx: &mut Context<'_>, a: Access, s: &Slots, mask: u32) -> Result {
        let near = if cx.watched || cx.traced { None } else { self.near(cx, a, s[4], mask, true) };
        let Some(near) = near else {
            return self.store_far(cx, a, s, mask);
        };
        if near.shape == Shape::Row && a.count == 1 {
            match (a.element, a.wide) {
                (Element::U32 | Element::S32, false) => {
                    write_row32(near.pointer(0), u32::row(&self.file, s[0]));
                    return Ok(());
                }
                (Element::U64, true) => {
                    write_row64(near.pointer(0), u64::row(&self.file, s[0]));
                    return Ok(());
                }
                _ => {}
            }
        }
        match (a.element, a.wide) {
            (Element::U32 | Element::S32, false) => self.store_near(&near, a, s, mask, write32),
            (Element::U64, true) => self.store_near(&near, a, s, mask, write64),
            (element, false) => self.store_near(&near, a, s, mask, |p, v: u32| write(p, element, v.into())),
            (element, true) => self.store_near(&near, a, s, mask, |p, v| write(p, element, v)),
        }
        Ok(())
    }

    #[inline(always)]
    fn store_near<W: Word>(&self, near: &Near, a: Access, s: &Slots, mask: u32, write: impl Fn(*mut u8, W)) {
        let size = a.element.size() as usize;
        for (part, &slot) in s[..usize::from(a.count)].iter().enumerate() {
            let row = W::row(&self.file, slot);
            let one = |lane: usize| write(near.pointer(lane).wrapping_add(part * size), row[lane]);
            if mask == FULL { (0..LANES).for_each(one) } else { lanes(mask).for_each(one) }
        }
    }

    /// The same for lanes that may be anywhere.
    fn store_far(&mut self, cx: &mut Context<'_>, a: Access, s: &Slots, mask: u32) -> Result {
        let at = self.pointers(cx, a, s, mask, AccessKind::Write)?;
        if cx.watched {
            lanes(mask).for_each(|lane| cx.env.wrote(at[lane], a.bytes()));
        }
        cx.trace(a, AccessKind::Write, &at, mask);
        let size = a.element.size() as usize;
        let parts = || s[..usize::from(a.count)].iter().enumerate();
        let addresses = cx.races.is_some().then(|| self.addresses(a, s[4]));
        if cx.races.is_some() {
            self.goes_on(cx, mask);
        }
        // Before the host can see the value.
        self.strong(cx, a, AccessKind::Write, &at, mask);
        for lane in lanes(mask) {
            if let Some(addresses) = &addresses {
                let bits = u64::MAX >> (64 - 8 * size);
                let same = |(part, &slot): (usize, &Slot)| {
                    read(at[lane].wrapping_add(part * size), a.element)
                        == self.file.bits(slot, a.wide, lane) & bits
                };
                let changes_nothing = parts().all(same);
                let place = (addresses[lane], at[lane]);
                self.note(cx, a, AccessKind::Write, place, a.bytes(), lane, changes_nothing);
            }
            for (part, &slot) in parts() {
                write(at[lane].wrapping_add(part * size), a.element, self.file.bits(slot, a.wide, lane));
            }
        }
        Ok(())
    }

    /// `atom` and `red`: lane after lane.
    pub(super) fn atomic(
        &mut self,
        cx: &mut Context<'_>,
        a: Access,
        modify: Modify,
        wants: bool,
        s: &Slots,
        mask: u32,
    ) -> Result {
        let at = self.pointers(cx, a, s, mask, AccessKind::Strong)?;
        if cx.watched {
            self.tell_unwritten(cx, a, &at, mask);
            lanes(mask).for_each(|lane| cx.env.wrote(at[lane], a.bytes()));
        }
        cx.trace(a, AccessKind::Strong, &at, mask);
        self.note_all(cx, a, AccessKind::Strong, s[4], &at, mask);
        for lane in lanes(mask) {
            let [b, c] = [s[1], s[2]].map(|slot| self.file.bits(slot, a.wide, lane));
            let old = change(at[lane], a.element, b, c, modify);
            if wants {
                self.file.set_bits(s[0], a.wide, lane, old);
            }
        }
        Ok(())
    }

    /// Notes what the lanes of a mask touch, if the machine looks for races.
    fn note_all(
        &self,
        cx: &mut Context<'_>,
        a: Access,
        kind: AccessKind,
        slot: Slot,
        at: &Pointers,
        mask: u32,
    ) {
        if cx.races.is_none() {
            return;
        }
        self.goes_on(cx, mask);
        let addresses = self.addresses(a, slot);
        let mut last = None;
        for lane in lanes(mask) {
            // One of several reads of the same bytes is enough.
            if kind != AccessKind::Read || last != Some(at[lane]) {
                self.note(cx, a, kind, (addresses[lane], at[lane]), a.bytes(), lane, false);
            }
            last = Some(at[lane]);
        }
        self.strong(cx, a, kind, at, mask);
    }

    /// Notes what a strong access of lanes orders, if the machine looks for races.
    fn strong(&self, cx: &mut Context<'_>, a: Access, kind: AccessKind, at: &Pointers, mask: u32) {
        let Some(strength) = a.strong.filter(|_| cx.races.is_some()) else { return };
        let bytes = usize::try_from(a.bytes()).unwrap_or(0);
        let (reads, writes) = (kind != AccessKind::Write, kind != AccessKind::Read);
        self.order(cx, |order, block, warp| {
            order.strong(&StrongAccess { block, warp, mask, at, bytes, strength, reads, writes });
        });
        let has_flags = cx.env.has_flags();
        let mut releasing = (0, 0);
        if writes {
            self.order(cx, |order, block, warp| releasing = order.releases(block, warp, mask, strength));
        }
        if !has_flags && releasing == (0, 0) {
            return;
        }
        let own = cx.shared.addr()..cx.shared.addr() + usize::try_from(cx.shared_len).unwrap_or(0);
        let mut last = None;
        for lane in lanes(mask).filter(|lane| !own.contains(&at[*lane].addr())) {
            if reads
                && has_flags
                && strength.scope > Scope::Block
                && cx.env.finds_flag(at[lane], read(at[lane], a.element))
            {
                if strength.acquires {
                    cx.env.acquired(at[lane].addr(), &cx.launch.program);
                } else {
                    self.order(cx, |order, block, warp| {
                        order.reads_foreign(block, warp, 1 << lane, at[lane].addr());
                    });
                }
            }
            let releases = match (releasing.0 >> lane & 1, releasing.1 >> lane & 1) {
                (0, 0) => None,
                (0, _) => Some(Scope::Device),
                _ => Some(strength.scope),
            };
            // Lanes that release alike at one address are one.
            if writes
                && (releases.is_some() || has_flags)
                && last.replace((at[lane], releases)) != Some((at[lane], releases))
            {
                cx.env.wrote_flag(at[lane], reads, releases);
            }
        }
    }

    /// Acquires the flags of other operations that lanes have read, behind a fence or a barrier.
    pub(super) fn acquire_flags(&self, cx: &mut Context<'_>, mask: u32) {
        let mut found = Vec::new();
        self.order(cx, |order, block, warp| found = order.take_foreign(block, warp, mask));
        found.into_iter().for_each(|at| cx.env.acquired(at, &cx.launch.program));
    }

    /// Notes what one lane touches, and reports what is wrong about it.
    #[expect(clippy::too_many_arguments, reason = "as above")]
    fn note(
        &self,
        cx: &mut Context<'_>,
        a: Access,
        kind: AccessKind,
        (address, at): (u64, *mut u8),
        bytes: u64,
        lane: usize,
        changes_nothing: bool,
    ) {
        let shared = match (a.space, address & !WINDOW) {
            (Space::Shared, _) | (Space::Generic, SHARED) => true,
            (Space::Generic, LOCAL | PARAM) => return,
            (Space::Global | Space::Generic, _) => false,
            _ => return,
        };
        let kind = match kind {
            AccessKind::Read if a.strong.is_some() => AccessKind::StrongRead,
            AccessKind::Write if a.strong.is_some() => AccessKind::Strong,
            kind => kind,
        };
        let (block, thread) = (cx.block(), self.thread(lane));
        if cx.races.is_none() {
            return;
        }
        if shared {
            self.check_array(cx, address & WINDOW, bytes, lane);
        }
        let Some(races) = &mut cx.races else { return };
        let (at, bytes, number) =
            (at.addr(), usize::try_from(bytes).unwrap_or(0), u16::try_from(thread).unwrap_or(0));
        let access = races::ThreadAccess {
            block,
            thread: number,
            kind,
            pc: cx.pc,
            at,
            bytes,
            shared,
            strength: a.strong.unwrap_or(Strength::RELAXED),
            proxy: a.proxy,
            changes_nothing,
        };
        let Some(wrong) = races.access(&access) else { return };
        let (address, size) = (address & WINDOW, u64::from(a.element.size()));
        let memory = (!shared).then_some((address, size));
        let (mistake, there) = match wrong {
            Wrong::Race(old) => (Mistake::Race, Some(old)),
            Wrong::Unwritten => (Mistake::Unwritten, None),
            Wrong::Unfenced(old) => (Mistake::Proxy, Some(old)),
        };
        // CUB reads whole arrays of its own, of which not all is written, and drops the rest.
        if mistake == Mistake::Unwritten && cx.program.is_of_cub(cx.pc) && !config::tells_of_libraries() {
            return fidelity::note(Limit::Cub);
        }
        let memory = memory.filter(|_| mistake != Mistake::Unwritten);
        cx.report(mistake, (there.map_or(cx.pc, |old| old.pc), cx.pc), memory, |cx| {
            let verb = |kind: AccessKind| match kind {
                AccessKind::Read | AccessKind::StrongRead => "read",
                AccessKind::Write => "write",
                AccessKind::Strong => "atomic or volatile access",
            };
            let object = match shared {
                true => format!("shared memory: {}", cx.shared_object(address, size)),
                false => "global memory".to_owned(),
            };
            let what = match wrong {
                Wrong::Race(_) => format!("nothing orders two threads that use the same bytes of {object}"),
                Wrong::Unwritten => {
                    let object = cx.shared_object(address, size);
                    format!("a read of shared memory that no thread of the block has written: {object}")
                }
                Wrong::Unfenced(_) => {
                    "no fence.proxy.async between a write of shared memory and a bulk copy or wgmma that \
                     reads it"
                        .to_owned()
                }
            };
            let here = cx.thread_at(block, thread, cx.pc);
            let first = there.map(|old| {
                let there = cx.thread_at(old.block, old.thread.into(), old.pc);
                (format!("{} by {there}", verb(old.kind)), there)
            });
            let second = (format!("{} of {bytes} bytes at {address:#x} by {here}", verb(kind)), here);
            (what, first.into_iter().chain([second]).collect())
        });
    }

    /// Reports an access to shared memory outside of the array whose address the thread has taken.
    fn check_array(&self, cx: &mut Context<'_>, address: u64, bytes: u64, lane: usize) {
        let Some(&Some(array)) = cx.program.array_of.get(cx.pc as usize) else { return };
        let Some(array) = cx.program.arrays.get(usize::from(array)) else { return };
        let (offset, rank) = parts(address);
        if rank.is_some() || (u64::from(array.start) <= offset && offset + bytes <= array.end.into()) {
            return;
        }
        cx.report(Mistake::Outside, (cx.pc, cx.pc), None, |cx| {
            let (name, size) = (demangled(&array.name), array.end - array.start);
            let from = offset.cast_signed() - i64::from(array.start);
            let here = cx.thread_at(cx.block(), self.thread(lane), cx.pc);
            let parts = vec![(format!("{bytes} bytes at byte {from} of it by {here}"), here)];
            (format!("an access to shared memory outside of the array {name}, which has {size} bytes"), parts)
        });
    }

    /// Notes that this warp does something that orders accesses, if the machine looks for races.
    pub(super) fn order(&self, cx: &mut Context<'_>, how: impl FnOnce(&mut HappensBefore, u32, usize)) {
        let block = cx.block();
        if let Some(races) = &mut cx.races {
            how(races.order(), block, self.first as usize / 32);
        }
    }

    /// `ld.param` of a kernel's argument: the same for all lanes.
    #[inline(always)]
    pub(super) fn argument(&mut self, cx: &Context<'_>, a: Access, s: &Slots, mask: u32) -> Result {
        let size = a.element.size();
        for part in 0..u32::from(a.count) {
            let from = i64::from(a.offset) + i64::from(part * size);
            let bytes = usize::try_from(from)
                .ok()
                .and_then(|from| cx.launch.params.get(from..from + size as usize))
                .ok_or_else(|| {
                    let what = format!("a read of argument bytes from {from}, past the last");
                    self.fault(cx, Fault::ILLEGAL_ADDRESS, &what, first_lane(mask))
                })?;
            let value = bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
            let value = extended(value, a.element);
            let slot = s[part as usize];
            if a.wide {
                u64::set(&mut self.file, slot, mask, value);
            } else {
                u32::set(&mut self.file, slot, mask, low(value));
            }
        }
        Ok(())
    }

    /// Reports reads of bytes that nobody has written.
    fn tell_unwritten(&self, cx: &mut Context<'_>, a: Access, at: &Pointers, mask: u32) {
        lanes(mask).for_each(|lane| self.tell_unwritten_at(cx, at[lane], a.bytes(), lane, ""));
    }

    /// Does the same for a single lane, with words for what the bytes are of.
    pub(super) fn tell_unwritten_at(
        &self,
        cx: &mut Context<'_>,
        at: *mut u8,
        bytes: u64,
        lane: usize,
        of: &str,
    ) {
        if let Some(told) = cx.env.unwritten(at, bytes, &cx.program.name) {
            let what = format!("read of {bytes} bytes{of}: {told}");
            let line = self.fault(cx, 0, &what, lane).message;
            cx.env.complain(&format!("CUDA emulator: initcheck: {line}"));
        }
    }

    /// Checks the addresses of all lanes and finds their bytes.
    fn pointers(
        &mut self,
        cx: &mut Context<'_>,
        a: Access,
        s: &Slots,
        mask: u32,
        kind: AccessKind,
    ) -> Result<Pointers> {
        let mut at = [core::ptr::null_mut(); LANES];
        if let Some(near) = self.near(cx, a, s[4], mask, kind != AccessKind::Read) {
            for (lane, at) in at.iter_mut().enumerate() {
                *at = near.pointer(lane);
            }
            return Ok(at);
        }
        let addresses = self.addresses(a, s[4]);
        for lane in lanes(mask) {
            at[lane] = self.span(cx, a, addresses[lane], (a.bytes(), a.bytes()), lane, kind)?;
        }
        Ok(at)
    }

    /// Finds the bytes of all lanes at once. Returns `None` if a lane may be elsewhere.
    #[inline(always)]
    fn near(&self, cx: &Context<'_>, a: Access, slot: Slot, mask: u32, writes: bool) -> Option<Near> {
        let bytes = a.bytes();
        let add = i64::from(a.offset).cast_unsigned();
        if !a.wide_address {
            let last = cx.shared_len.checked_sub(bytes).filter(|_| a.space == Space::Shared)?;
            let bounds = Bounds { add, start: 0, last, bytes };
            return Near::of32(cx.shared, u32::row(&self.file, slot), bounds, mask);
        }
        self.near_to(cx, a, u64::row(&self.file, slot), mask, writes)
    }

    /// The same for addresses of 64 bits.
    #[inline(always)]
    pub(super) fn near_to(
        &self,
        cx: &Context<'_>,
        a: Access,
        row: &[u64; LANES],
        mask: u32,
        writes: bool,
    ) -> Option<Near> {
        let bytes = a.bytes();
        let add = i64::from(a.offset).cast_unsigned();
        let first = row[(mask.trailing_zeros() & 31) as usize].wrapping_add(add);
        let shared = Cached { start: SHARED, len: cx.shared_len, host: cx.shared, writable: true };
        let known = match a.space {
            Space::Shared => Cached { start: 0, ..shared },
            Space::Local | Space::Param | Space::Reg => return None,
            Space::Generic if first & !WINDOW == SHARED => shared,
            Space::Global | Space::Const | Space::Generic => *cx.caches.get(a.cache as usize)?,
        };
        if writes && !known.writable {
            return None;
        }
        // Of a large region, the part around the first lane's address, so that 31 bits are enough.
        let last = known.len.checked_sub(bytes)?;
        let skip =
            if last < NEAR { 0 } else { first.wrapping_sub(known.start).min(last).saturating_sub(NEAR / 2) };
        let bounds = Bounds { add, start: known.start + skip, last: (last - skip).min(NEAR - 1), bytes };
        let base = known.host.wrapping_add(usize::try_from(skip).unwrap_or(0));
        Near::of64(base, row, bounds, mask)
    }

    /// The addresses of all lanes.
    #[inline]
    pub(super) fn addresses(&self, a: Access, slot: Slot) -> [u64; LANES] {
        let mut addresses = [0; LANES];
        if a.wide_address {
            let row = u64::row(&self.file, slot);
            for lane in 0..LANES {
                addresses[lane] = row[lane].wrapping_add_signed(i64::from(a.offset));
            }
        } else {
            let row = u32::row(&self.file, slot);
            for lane in 0..LANES {
                addresses[lane] = u64::from(row[lane].wrapping_add_signed(a.offset));
            }
        }
        addresses
    }

    /// Checks so many bytes with an alignment, and finds them. With initcheck, reports reads of unwritten
    /// bytes and notes writes.
    pub(super) fn reach(
        &mut self,
        cx: &mut Context<'_>,
        a: Access,
        address: u64,
        (bytes, align): (u64, u64),
        lane: usize,
        kind: AccessKind,
    ) -> Result<*mut u8> {
        let at = self.span(cx, a, address, (bytes, align), lane, kind)?;
        if cx.watched {
            match kind {
                AccessKind::Write => cx.env.wrote(at, bytes),
                _ => self.tell_unwritten_at(cx, at, bytes, lane, ""),
            }
        }
        self.trace_one(cx, a, (address, at), bytes, lane, kind);
        Ok(at)
    }

    /// Tells the machine which bytes a lane touches, if it looks for races.
    fn trace_one(
        &self,
        cx: &mut Context<'_>,
        a: Access,
        (address, at): (u64, *mut u8),
        bytes: u64,
        lane: usize,
        kind: AccessKind,
    ) {
        if cx.traced {
            cx.trace_bytes(a, kind, &[at; LANES], (1 << lane, bytes));
            self.note(cx, a, kind, (address, at), bytes, lane, false);
        }
    }

    /// [`reach`](Self::reach) of the first of so many bytes, aligned as if all of them were reached.
    pub(super) fn reach_range(
        &mut self,
        cx: &mut Context<'_>,
        a: Access,
        address: u64,
        (bytes, all): (u64, u64),
        lane: usize,
        kind: AccessKind,
    ) -> Result<*mut u8> {
        if bytes == all || address & (all - 1) != 0 {
            return self.reach(cx, a, address, (all, all), lane, kind);
        }
        // They are of one allocation, if the first and the last one are there.
        self.reach(cx, a, address + bytes - 1, (1, 1), lane, kind)?;
        let at = self.reach(cx, a, address, (1, 1), lane, kind)?;
        self.trace_one(cx, a, (address, at), bytes, lane, kind);
        Ok(at)
    }

    /// Checks so many bytes with an alignment, and finds them.
    pub(super) fn span(
        &mut self,
        cx: &mut Context<'_>,
        a: Access,
        address: u64,
        (bytes, align): (u64, u64),
        lane: usize,
        kind: AccessKind,
    ) -> Result<*mut u8> {
        let (space, inside) = match a.space {
            Space::Generic => match address & !WINDOW {
                SHARED => (Space::Shared, address & WINDOW),
                LOCAL => (Space::Local, address & WINDOW),
                PARAM => (Space::Param, address & WINDOW),
                _ => (Space::Global, address),
            },
            space => (space, address),
        };
        let wrong = |cx: &mut Context<'_>, code: u32, why: &str, thread: u32| {
            let verb = match kind {
                AccessKind::Read | AccessKind::StrongRead => "read",
                AccessKind::Write => "write",
                AccessKind::Strong => "atomic access",
            };
            let memory = match space {
                Space::Shared => "shared",
                Space::Local => "local",
                Space::Param => "argument",
                Space::Const => "constant",
                _ => "global",
            };
            let shown = match parts(inside) {
                (offset, Some(rank)) if space == Space::Shared && rank == u64::from(cx.rank) => offset,
                _ => inside,
            };
            cx.fault(code, &format!("{memory} {verb} of {bytes} bytes at {shown:#x}: {why}"), thread)
        };
        let thread = self.thread(lane);
        if inside & (align - 1) != 0 {
            let why = format!("the address is not aligned to {align} bytes");
            return Err(wrong(cx, Fault::MISALIGNED_ADDRESS, &why, thread));
        }
        let within = |len: u64| inside.checked_add(bytes).is_some_and(|end| end <= len);
        match space {
            Space::Shared if within(cx.shared_len) => {
                Ok(cx.shared.wrapping_add(usize::try_from(inside).unwrap_or(0)))
            }
            Space::Shared => {
                let why = match cx.cluster.find(inside, bytes, cx.shared_len) {
                    Ok(at) => return Ok(at),
                    Err(why) => why,
                };
                Err(wrong(cx, Fault::ILLEGAL_ADDRESS, &why, thread))
            }
            Space::Local => {
                let stack = self.stack_bytes(lane);
                let len = stack.len() as u64;
                if within(len) {
                    return Ok(stack.as_mut_ptr().wrapping_add(usize::try_from(inside).unwrap_or(0)));
                }
                let why = format!("the thread has {len} bytes");
                Err(wrong(cx, Fault::ILLEGAL_ADDRESS, &why, thread))
            }
            Space::Param => {
                let len = cx.launch.params.len() as u64;
                if kind != AccessKind::Read {
                    return Err(wrong(cx, Fault::ILLEGAL_ADDRESS, "arguments are read-only", thread));
                }
                if within(len) {
                    let from = usize::try_from(inside).unwrap_or(0);
                    return Ok(cx.launch.params.as_ptr().wrapping_add(from).cast_mut());
                }
                Err(wrong(cx, Fault::ILLEGAL_ADDRESS, &format!("there are {len} bytes of arguments"), thread))
            }
            _ => {
                let Some(r) = cx.env.region(inside) else {
                    let why = if inside < 4096 {
                        "a null pointer".into()
                    } else {
                        cx.env.nearest(inside).unwrap_or_else(|| "no allocation is there".into())
                    };
                    return Err(wrong(cx, Fault::ILLEGAL_ADDRESS, &why, thread));
                };
                if !(r.start <= inside && bytes <= r.end.saturating_sub(inside)) {
                    let why = format!(
                        "the allocation from {:#x} ends at {:#x}, {} bytes from here",
                        r.start,
                        r.end,
                        r.end.saturating_sub(inside)
                    );
                    return Err(wrong(cx, Fault::ILLEGAL_ADDRESS, &why, thread));
                }
                if !r.writable && kind != AccessKind::Read {
                    return Err(wrong(cx, Fault::ILLEGAL_ADDRESS, "the memory is read-only", thread));
                }
                let known =
                    Cached { start: r.start, len: r.end - r.start, host: r.host, writable: r.writable };
                if let Some(place) = cx.caches.get_mut(a.cache as usize) {
                    *place = known;
                }
                Ok(r.host.wrapping_add(usize::try_from(inside - r.start).unwrap_or(0)))
            }
        }
    }

    /// Reads bytes for a function that the emulator itself provides.
    pub(super) fn read_bytes(
        &mut self,
        cx: &mut Context<'_>,
        address: u64,
        out: &mut [u8],
        lane: usize,
    ) -> Result {
        for (at, byte) in (address..).zip(out) {
            *byte = read8(self.span(cx, BYTES, at, (1, 1), lane, AccessKind::Read)?);
        }
        Ok(())
    }

    /// Reads text up to its end.
    pub(super) fn read_text(&mut self, cx: &mut Context<'_>, address: u64, lane: usize) -> Result<String> {
        let mut text = Vec::new();
        loop {
            let mut byte = [0];
            self.read_bytes(cx, address + text.len() as u64, &mut byte, lane)?;
            if byte[0] == 0 {
                return Ok(String::from_utf8_lossy(&text).into_owned());
            }
            text.push(byte[0]);
        }
    }
}

/// Reads an element, extended to 64 bits.
#[inline(always)]
fn read_extended(p: *mut u8, element: Element) -> u64 {
    extended(read(p, element), element)
}

fn extended(value: u64, element: Element) -> u64 {
    let extend = |bits: u32| (value.cast_signed() << (64 - bits) >> (64 - bits)).cast_unsigned();
    match element {
        Element::S8 => extend(8),
        Element::S16 => extend(16),
        Element::S32 => extend(32),
        Element::U8 | Element::U16 | Element::U32 | Element::U64 => value,
    }
}
