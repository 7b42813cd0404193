//! Asynchronous copies to shared memory.
//!
//! A thread's copies are made when the thread waits for them, and not before: a thread that reads too early
//! finds the old bytes. Addresses are checked when a copy is requested, and again when it is made.

use super::bytes::{read8, write};
use super::env::AccessKind;
use super::fault::Result;
use super::file::{Slots, Word, lanes};
use super::launch::Context;
use super::pending::Asked;
use super::program::{AsyncCopy, CopyQueue, Element, NONE, Until};
use super::warp::Warp;

impl Warp {
    /// Requests a copy that is made later.
    pub(super) fn ask(&mut self, cx: &mut Context<'_>, copy: AsyncCopy, s: &Slots, mask: u32) -> Result {
        let (to, from) = (self.addresses(copy.to, s[3]), self.addresses(copy.from, s[4]));
        let ignored = if s[1] == NONE { 0 } else { self.file.pred(s[1]) };
        let all = u64::from(copy.bytes);
        let told = (s[0] != NONE).then(|| *u32::row(&self.file, s[0]));
        for lane in lanes(mask) {
            let mut read = told.map_or(all, |told| u64::from(told[lane]).min(all));
            if ignored >> lane & 1 != 0 {
                read = 0;
            }
            let asked = Asked { copy, to: to[lane], from: from[lane], bytes: (read, all), pc: cx.pc };
            self.places(cx, &asked, lane)?;
            self.later[lane].open.push(asked);
        }
        Ok(())
    }

    /// Makes a group of the copies that each lane has requested.
    pub(super) fn close_group(&mut self, queue: CopyQueue, mask: u32) {
        for lane in lanes(mask) {
            match queue {
                CopyQueue::Copies => self.later[lane].close(),
                CopyQueue::Bulk => self.bulk[lane].close(),
            }
        }
    }

    /// Makes requested copies, the oldest first.
    pub(super) fn make(&mut self, cx: &mut Context<'_>, until: Until, mask: u32) -> Result {
        for lane in lanes(mask) {
            for asked in self.later[lane].due(until) {
                let now = std::mem::replace(&mut cx.pc, asked.pc);
                self.make_one(cx, &asked, lane)?;
                cx.pc = now;
            }
        }
        Ok(())
    }

    fn make_one(&mut self, cx: &mut Context<'_>, asked: &Asked, lane: usize) -> Result {
        let (to, from) = self.places(cx, asked, lane)?;
        let (read, all) = asked.bytes;
        for byte in 0..usize::try_from(all).unwrap_or(0) {
            let inside = (byte as u64) < read;
            let value = if inside { read8(from.wrapping_add(byte)) } else { 0 };
            write(to.wrapping_add(byte), Element::U8, value.into());
        }
        Ok(())
    }

    /// The bytes of a copy's target and source; null for a source without bytes to read.
    fn places(&mut self, cx: &mut Context<'_>, asked: &Asked, lane: usize) -> Result<(*mut u8, *mut u8)> {
        let (AsyncCopy { to, from, .. }, (read, all)) = (asked.copy, asked.bytes);
        let from = match read {
            0 => core::ptr::null_mut(),
            // The source is aligned to the full size, and only the bytes to read must exist.
            _ => self.reach_range(cx, from, asked.from, (read, all), lane, AccessKind::Read)?,
        };
        Ok((self.reach_range(cx, to, asked.to, (all, all), lane, AccessKind::Write)?, from))
    }
}
