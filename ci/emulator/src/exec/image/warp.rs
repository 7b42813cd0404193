//! Texture reads, and surface reads and writes, of a warp.

use super::texture::Texture;
use crate::exec::bytes::{read, write};
use crate::exec::env::AccessKind;
use crate::exec::fault::{Fault, Refused, Result};
use crate::exec::file::{LANES, Slot, Slots, Word, lanes};
use crate::exec::geometry::Read;
use crate::exec::launch::Context;
use crate::exec::program::{Element, NONE, Scope, SurfaceAccess};
use crate::exec::warp::Warp;

/// The numbers of an access to a surface: how many bytes each lies behind the first, and its slot.
fn parts(access: SurfaceAccess, s: &Slots) -> impl Iterator<Item = (usize, Slot)> {
    s[..usize::from(access.count)]
        .iter()
        .enumerate()
        .map(move |(n, &slot)| (n * access.element.size() as usize, slot))
}

impl Warp {
    /// Notes operands of the access that follows, from a position on, and perhaps the handle.
    pub(in crate::exec) fn coordinates(&mut self, first: u8, s: &Slots, mask: u32) {
        if s[4] != NONE {
            let handles = u64::row(&self.file, s[4]);
            for lane in lanes(mask) {
                self.given.handles[lane] = handles[lane];
            }
        }
        for (n, &slot) in s[..4].iter().enumerate().filter(|(_, slot)| **slot != NONE) {
            let row = u32::row(&self.file, slot);
            for lane in lanes(mask) {
                self.given.at[lane][usize::from(first) + n] = row[lane];
            }
        }
    }

    /// The fault of a lane whose access is refused.
    fn refused(&self, cx: &Context<'_>, (code, why): Refused, lane: usize) -> Fault {
        self.fault(cx, code, &why, lane)
    }

    /// Tells the machine of a read of an image, and reports bytes that nobody has written.
    fn note_read(&self, cx: &mut Context<'_>, at: *mut u8, bytes: u64, lane: usize) {
        if cx.traced {
            cx.env.touched((AccessKind::Read, Scope::Device), &[at; LANES], 1, bytes, cx.pc);
        }
        if cx.watched {
            self.tell_unwritten_at(cx, at, bytes, lane, " of an image");
        }
    }

    /// `tex` and `tld4`.
    pub(in crate::exec) fn texture(
        &mut self,
        cx: &mut Context<'_>,
        read: Read,
        s: &Slots,
        mask: u32,
    ) -> Result {
        let mut last: Option<(u64, Texture)> = None;
        for lane in lanes(mask) {
            let (handle, at) = (self.given.handles[lane], self.given.at[lane]);
            if !matches!(&last, Some((known, _)) if *known == handle) {
                let found = cx.env.texture(handle).map_err(|why| self.refused(cx, why, lane))?;
                last = Some((handle, found));
            }
            let Some((_, texture)) = &last else { continue };
            let mut seen = Vec::new();
            let noted = cx.watched || cx.traced;
            let mut note = |at| {
                if noted {
                    seen.push(at);
                }
            };
            let values = texture.read(read, &at, &mut note).map_err(|why| self.refused(cx, why, lane))?;
            for at in seen {
                self.note_read(cx, at, texture.image.element(), lane);
            }
            for (slot, value) in s.iter().zip(values) {
                u32::row_mut(&mut self.file, *slot)[lane] = value;
            }
        }
        Ok(())
    }

    /// `suld.b`.
    pub(in crate::exec) fn surface_load(
        &mut self,
        cx: &mut Context<'_>,
        access: SurfaceAccess,
        s: &Slots,
        mask: u32,
    ) -> Result {
        for lane in lanes(mask) {
            let place = self.surface_place(cx, access, lane)?;
            if let Some(at) = place {
                self.note_read(cx, at, access.bytes(), lane);
            }
            for (offset, slot) in parts(access, s) {
                let value = place.map_or(0, |at| read(at.wrapping_add(offset), access.element));
                self.file.set_bits(slot, access.element == Element::U64, lane, value);
            }
        }
        Ok(())
    }

    /// `sust.b`.
    pub(in crate::exec) fn surface_store(
        &mut self,
        cx: &mut Context<'_>,
        access: SurfaceAccess,
        s: &Slots,
        mask: u32,
    ) -> Result {
        for lane in lanes(mask) {
            let Some(at) = self.surface_place(cx, access, lane)? else { continue };
            if cx.watched {
                cx.env.wrote(at, access.bytes());
            }
            if cx.traced {
                cx.env.touched((AccessKind::Write, Scope::Device), &[at; LANES], 1, access.bytes(), cx.pc);
            }
            for (offset, slot) in parts(access, s) {
                let value = self.file.bits(slot, access.element == Element::U64, lane);
                write(at.wrapping_add(offset), access.element, value);
            }
        }
        Ok(())
    }

    /// The bytes of an access; `None` if nothing is read or written.
    fn surface_place(
        &self,
        cx: &mut Context<'_>,
        access: SurfaceAccess,
        lane: usize,
    ) -> Result<Option<*mut u8>> {
        let image = cx.env.surface(self.given.handles[lane]);
        let place = image.and_then(|image| image.place(access, &self.given.at[lane]));
        place.map_err(|why| self.refused(cx, why, lane))
    }
}
