//! Bytes of memory that kernels and the host may use at the same time.
//!
//! All accesses are atomic; on every common processor a relaxed atomic access is a plain one.
#![expect(unsafe_code, reason = "memory of the machine is reached through pointers that its regions give")]

use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::file::LANES;
use super::program::{Element, Modify};

macro_rules! accessors {
    ($read:ident, $write:ident, $change:ident, $ty:ty, $atomic:ty) => {
        #[inline(always)]
        pub(super) fn $read(p: *mut u8) -> $ty {
            // SAFETY: `pointer` or `pointers` found these bytes in a live allocation, aligned.
            let a = unsafe { <$atomic>::from_ptr(p.cast()) };
            a.load(Ordering::Relaxed)
        }
        #[inline(always)]
        pub(super) fn $write(p: *mut u8, value: $ty) {
            // SAFETY: `pointers` found these bytes in a live, writable allocation, aligned.
            let a = unsafe { <$atomic>::from_ptr(p.cast()) };
            a.store(value, Ordering::Relaxed);
        }
        fn $change(p: *mut u8, mut f: impl FnMut(u64) -> u64) -> u64 {
            // SAFETY: `pointers` found these bytes in a live, writable allocation, aligned.
            let a = unsafe { <$atomic>::from_ptr(p.cast()) };
            let mut old = a.load(Ordering::Relaxed);
            loop {
                // The bits above the element are cut.
                let [.., new] = [f(u64::from(old))].map(|v| {
                    let mut bytes = [0; size_of::<$ty>()];
                    bytes.copy_from_slice(&v.to_le_bytes()[..size_of::<$ty>()]);
                    <$ty>::from_le_bytes(bytes)
                });
                match a.compare_exchange_weak(old, new, Ordering::SeqCst, Ordering::Relaxed) {
                    Ok(old) => return u64::from(old),
                    Err(now) => old = now,
                }
            }
        }
    };
}

accessors!(read8, write8, change8, u8, AtomicU8);
accessors!(read16, write16, change16, u16, AtomicU16);
accessors!(read32, write32, change32, u32, AtomicU32);
accessors!(read64, write64, change64, u64, AtomicU64);

macro_rules! rows {
    ($read:ident, $write:ident, $one:ident, $put:ident, $ty:ty) => {
        /// Reads a row of elements.
        #[inline(always)]
        pub(super) fn $read(p: *mut u8) -> [$ty; LANES] {
            // Not `from_fn`: a build without link-time optimization calls its closure for each element.
            let mut row = [0; LANES];
            for (lane, element) in row.iter_mut().enumerate() {
                *element = $one(p.wrapping_add(lane * size_of::<$ty>()));
            }
            row
        }
        /// Writes a row of elements.
        #[inline(always)]
        pub(super) fn $write(p: *mut u8, row: &[$ty; LANES]) {
            (0..LANES).for_each(|lane| $put(p.wrapping_add(lane * size_of::<$ty>()), row[lane]));
        }
    };
}

rows!(read_row32, write_row32, read32, write32, u32);
rows!(read_row64, write_row64, read64, write64, u64);

/// Reads an element's bits; those above are zeros, whatever its sign.
pub(super) fn read(p: *mut u8, element: Element) -> u64 {
    match element {
        Element::U8 | Element::S8 => u64::from(read8(p)),
        Element::U16 | Element::S16 => u64::from(read16(p)),
        Element::U32 | Element::S32 => u64::from(read32(p)),
        Element::U64 => read64(p),
    }
}

#[inline(always)]
pub(super) fn write(p: *mut u8, element: Element, value: u64) {
    let [b0, b1, b2, b3, ..] = value.to_le_bytes();
    match element {
        Element::U8 | Element::S8 => write8(p, b0),
        Element::U16 | Element::S16 => write16(p, u16::from_le_bytes([b0, b1])),
        Element::U32 | Element::S32 => write32(p, u32::from_le_bytes([b0, b1, b2, b3])),
        Element::U64 => write64(p, value),
    }
}

pub(super) fn change(p: *mut u8, element: Element, b: u64, c: u64, modify: Modify) -> u64 {
    let cut = |v: u64| match element {
        Element::U8 | Element::S8 => v & 0xFF,
        Element::U16 | Element::S16 => v & 0xFFFF,
        Element::U32 | Element::S32 => v & 0xFFFF_FFFF,
        Element::U64 => v,
    };
    let (b, c) = (cut(b), cut(c));
    let f = |old| modify(old, b, c);
    match element {
        Element::U8 | Element::S8 => change8(p, f),
        Element::U16 | Element::S16 => change16(p, f),
        Element::U32 | Element::S32 => change32(p, f),
        Element::U64 => change64(p, f),
    }
}
