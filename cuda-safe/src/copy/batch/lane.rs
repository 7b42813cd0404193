//! The copies of a batch that go one way.
//!
//! What a batch costs depends on how it is cut into calls, as measured on H200s (driver 580). From pinned memory onto a stream that has
//! nothing to do, the driver has the processor send copies of less than 64 KiB, which takes longer than all the rest: 64 copies of
//! 4 KiB take 97 µs in one call, and 44 µs where four of them go first, for the others then find a stream that works; of 16 KiB
//! it is 202 and 57 µs. The device begins with a call when all of it has been handed over: more calls begin earlier, and each costs the host
//! 1 µs. Copies up and down in one call are in each other's way: 32 of each take 210 to 410 µs. Nothing of this helps within a
//! device.
#![cfg_attr(cudart_12_8, expect(unsafe_code, reason = "hands the operands' pointers to the runtime"))]

use std::ffi::c_void;
#[cfg(cudart_12_8)]
use std::ops::Range;

use super::attributes::{Attributes, Order};
#[cfg(cudart_12_8)]
use crate::copy::direction::Heading;
use crate::copy::operand::Operand;
#[cfg(cudart_12_8)]
use crate::copy::scratch::Scratch;
#[cfg(cudart_12_8)]
use crate::sys;

/// The calls of so many copies: which of them each takes.
#[cfg(cudart_12_8)]
#[inline]
fn parts(way: Heading, count: usize) -> impl Iterator<Item = Range<usize>> {
    let (first, most) = match way {
        Heading::Up if count > 8 => (4, 32),
        Heading::Up | Heading::Down => (32, 32),
        Heading::Other => (usize::MAX, usize::MAX),
    };
    let mut start = 0_usize;
    std::iter::from_fn(move || {
        let size = if start == 0 { first } else { most };
        let part = start..count.min(start.saturating_add(size));
        start = part.end;
        (!part.is_empty()).then_some(part)
    })
}

/// Copies of a batch that go one way, as C takes them.
#[derive(Debug, Default)]
pub(super) struct Lane {
    // As many of one as of the others.
    destinations: Vec<*mut c_void>,
    sources: Vec<*const c_void>,
    sizes: Vec<usize>,
    /// The attributes of the copies: each from a copy on, until the next. The first of them is of the first copy.
    attributes: Vec<(usize, Attributes)>,
}

/// One copy of a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    pub(super) destination: *mut c_void,
    pub(super) source: *const c_void,
    pub(super) bytes: usize,
}

impl Lane {
    /// Adds a copy. Room for so many is made before, where it is not 0.
    #[inline]
    pub(super) fn push(
        &mut self,
        room: usize,
        destination: &Operand<'_>,
        source: &Operand<'_>,
        bytes: usize,
        attributes: Attributes,
    ) {
        if room > 0 {
            self.destinations.reserve(room);
            self.sources.reserve(room);
            self.sizes.reserve(room);
        }
        if self.attributes.last().is_none_or(|(_, last)| *last != attributes) {
            self.attributes.push((self.sizes.len(), attributes));
        }
        self.destinations.push(destination.pointer().cast());
        self.sources.push(source.pointer().cast_const().cast());
        self.sizes.push(bytes);
    }

    pub(super) fn len(&self) -> usize {
        self.sizes.len()
    }

    /// The copies.
    pub(super) fn copies(&self) -> impl Iterator<Item = Copy> + Clone {
        let copies = self.destinations.iter().zip(&self.sources).zip(&self.sizes);
        copies.map(|((&destination, &source), &bytes)| Copy { destination, source, bytes })
    }

    /// Whether a source is to be read during the call.
    pub(super) fn any_during_call(&self) -> bool {
        self.attributes.iter().any(|(_, attributes)| attributes.order == Order::DuringCall)
    }

    /// When the source of a copy is read.
    pub(super) fn order(&self, copy: usize) -> Order {
        let next = self.attributes.partition_point(|(start, _)| *start <= copy);
        self.attributes.get(next.wrapping_sub(1)).map_or(Order::Stream, |(_, attributes)| attributes.order)
    }

    /// Hands the copies to the runtime, a call for each part, until `taken`, which is told what each came to, says no; whether it never did.
    #[cfg(cudart_12_8)]
    #[inline]
    pub(super) fn hand_over(
        &self,
        way: Heading,
        lists: &Lists,
        raw: sys::cudaStream_t,
        mut taken: impl FnMut(sys::cudaError_t) -> bool,
    ) -> bool {
        parts(way, self.len()).all(|part| {
            taken(match self.attributes.as_slice() {
                // As a rule all copies have the same. C may write its lists, so it gets copies of them.
                [(_, attributes)] => self.call(part, &mut [0], &mut [attributes.to_raw()], raw),
                _ => self.call_with_many(part, lists, raw),
            })
        })
    }

    /// The call where the copies differ in their attributes.
    #[cfg(cudart_12_8)]
    #[inline(never)]
    fn call_with_many(&self, part: Range<usize>, lists: &Lists, raw: sys::cudaStream_t) -> sys::cudaError_t {
        let first = self.attributes.partition_point(|(start, _)| *start <= part.start).saturating_sub(1);
        let of_part = || self.attributes.iter().skip(first).take_while(|(start, _)| *start < part.end);
        lists.starts.with(|starts| {
            starts.extend(of_part().map(|(start, _)| start.saturating_sub(part.start)));
            lists.attributes.with(|attributes| {
                attributes.extend(of_part().map(|(_, attributes)| attributes.to_raw()));
                self.call(part.clone(), starts, attributes, raw)
            })
        })
    }

    /// The call for some of the copies, with the attributes of those from these ones of them on.
    #[cfg(cudart_12_8)]
    #[inline]
    fn call(
        &self,
        part: Range<usize>,
        starts: &mut [usize],
        attributes: &mut [sys::cudaMemcpyAttributes],
        raw: sys::cudaStream_t,
    ) -> sys::cudaError_t {
        let count = part.len();
        #[cfg(cudart_13_0)]
        // SAFETY: the three lists have `count` elements from there on, for the part is one of `parts`, the next two as many as is
        // said; each destination and source is memory of its size that outlives the copy, or is read during the call; the stream is live.
        unsafe {
            sys::cudaMemcpyBatchAsync(
                self.destinations.as_ptr().wrapping_add(part.start),
                self.sources.as_ptr().wrapping_add(part.start),
                self.sizes.as_ptr().wrapping_add(part.start),
                count,
                attributes.as_mut_ptr(),
                starts.as_mut_ptr(),
                starts.len(),
                raw,
            )
        }
        #[cfg(not(cudart_13_0))]
        {
            // CUDA 12 declares what it only reads as if it wrote it, and says which copy is wrong.
            let part = || self.copies().skip(part.start).take(count);
            let mut destinations: Vec<_> = part().map(|copy| copy.destination).collect();
            let mut sources: Vec<_> = part().map(|copy| copy.source.cast_mut()).collect();
            let mut sizes: Vec<_> = part().map(|copy| copy.bytes).collect();
            let mut failed = usize::MAX;
            // SAFETY: as above, and the index is a live variable, which the call may fill.
            unsafe {
                sys::cudaMemcpyBatchAsync(
                    destinations.as_mut_ptr(),
                    sources.as_mut_ptr(),
                    sizes.as_mut_ptr(),
                    count,
                    attributes.as_mut_ptr(),
                    starts.as_mut_ptr(),
                    starts.len(),
                    &raw mut failed,
                    raw,
                )
            }
        }
    }
}

/// The attributes as C takes them, in lists that it may write.
#[cfg(cudart_12_8)]
#[derive(Debug, Default)]
pub(super) struct Lists {
    starts: Scratch<usize>,
    attributes: Scratch<sys::cudaMemcpyAttributes>,
}

#[cfg(all(test, cudart_12_8))]
mod tests {
    use super::{Heading, parts};

    #[test]
    fn every_copy_is_in_one_part_and_the_parts_are_in_order() {
        for way in [Heading::Up, Heading::Down, Heading::Other] {
            for count in [0, 1, 4, 5, 8, 9, 32, 33, 36, 37, 64, 100, 1000] {
                let copies: Vec<usize> = parts(way, count).flatten().collect();
                assert_eq!(copies, (0..count).collect::<Vec<_>>(), "{way:?}, {count} copies");
                assert!(parts(way, count).all(|part| !part.is_empty()));
            }
        }
    }

    #[test]
    fn a_few_copies_up_go_first_where_there_are_many_and_no_call_is_long_but_within_a_device() {
        let sizes = |way: Heading, count| parts(way, count).map(|part| part.len()).collect::<Vec<_>>();
        assert_eq!([8, 9, 36].map(|count| sizes(Heading::Up, count)), [vec![8], vec![4, 5], vec![4, 32]]);
        assert_eq!(sizes(Heading::Up, 64), [4, 32, 28]);
        assert_eq!([8, 32, 64].map(|count| sizes(Heading::Down, count)), [vec![8], vec![32], vec![32, 32]]);
        assert_eq!(sizes(Heading::Other, 1000), [1000]);
    }
}
