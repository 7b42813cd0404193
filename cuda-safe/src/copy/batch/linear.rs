//! The lists of `cudaMemcpyBatchAsync`: copies of contiguous elements, grouped by direction.
//!
//! The cost of a batch depends on its division into calls, as measured on H200s (driver 580):
//! - From pinned memory to an idle stream, the driver lets the processor send copies of less than 64
//!   KiB, which takes longer than everything else. 64 copies of 4 KiB take 97 µs in one call, and 44 µs
//!   if four of them go first, because the others then find a busy stream. With 16 KiB it is 202 and 57
//!   µs.
//! - The device starts a call after all of it has been submitted. More calls start earlier, and each
//!   costs the host 1 µs.
//! - Host-to-device and device-to-host copies in one call delay each other: 32 of each take 210 to 410
//!   µs.
//! - None of this helps within a device.
#![cfg_attr(cudart_12_8, expect(unsafe_code, reason = "hands the operands' pointers to the runtime"))]

use std::ffi::c_void;

use super::attributes::{ReadOrder, SingleAttributes};
use super::copies::{BatchDirection, ByTransfer, Copies, Lists, Single};
use crate::copy::checked::{CheckedCopy, CopyDirection};
use crate::copy::overlap::Area;
#[cfg(cudart_12_8)]
use {
    super::copies::Scratch,
    crate::error::{Error, Result},
    crate::stream::StreamRef,
    crate::sys,
    std::ops::Range,
};

/// The copies of a [`CopyBatch`](super::CopyBatch).
#[derive(Debug, Default)]
pub(super) struct LinearLists {
    lists: ByTransfer<CopyList>,
    /// For a slice that is read during the call, the runtime does not promise that a blocking copy has
    /// read it on return, or that it writes the destination in the order of the stream.
    settles: bool,
    #[cfg(cudart_12_8)]
    scratch: AttributeLists,
}

impl<'a> Lists<'a> for LinearLists {
    const NAME: &'static str = "CopyBatch";

    fn len(&self) -> usize {
        self.lists.iter().map(|(_, list)| list.sizes.len()).sum()
    }

    fn areas(&self) -> impl Iterator<Item = (Area, Area)> + Clone {
        self.lists.iter().flat_map(|(_, list)| {
            let sides = list.destinations.iter().zip(&list.sources).zip(&list.sizes);
            sides.map(|((to, from), bytes)| {
                (Area::linear(to.addr(), *bytes), Area::linear(from.addr(), *bytes))
            })
        })
    }

    fn push(&mut self, copy: &CheckedCopy<'a>, attributes: SingleAttributes, capacity: usize) {
        // Within host memory the host copies, and nothing guarantees that it waits for the stream first.
        let by_the_host = copy.direction == CopyDirection::HostToHost;
        self.settles |= attributes.order == ReadOrder::DuringCall && (by_the_host || copy.settles());
        self.lists.get_mut(BatchDirection::from_direction(copy.direction)).push(capacity, copy, attributes);
    }
}

impl Copies for LinearLists {
    const API: &'static str = "CopyBatch::enqueue";

    #[cfg(cudart_12_8)]
    fn function(&self) -> &'static str {
        "cudaMemcpyBatchAsync"
    }

    fn singles(&self) -> impl Iterator<Item = Single<'_>> + Clone {
        let settles = self.settles;
        self.lists.iter().flat_map(move |(_, list)| list.singles(settles))
    }

    #[cfg(cudart_12_8)]
    fn together(&self, stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
        let mut late = Ok(());
        self.at_once(stream, raw, |raw| {
            let calls = self.lists.iter().flat_map(|(transfer, list)| {
                parts(transfer, list.sizes.len()).map(|part| list.submit(part, &self.scratch, raw))
            });
            match calls.enumerate().find(|(_, code)| *code != sys::cudaSuccess) {
                // A refusal of the first call may be due to the stream, which then takes the copies in
                // another way.
                Some((0, code)) => return code,
                Some((_, code)) => late = Err(Error::from_code(self.function(), code)),
                None => {}
            }
            sys::cudaSuccess
        })?;
        late
    }
}

/// Divides `count` copies into calls: returns the range of copies of each.
#[cfg(cudart_12_8)]
#[inline]
fn parts(transfer: BatchDirection, count: usize) -> impl Iterator<Item = Range<usize>> {
    let (first, most) = match transfer {
        BatchDirection::HostToDevice if count > 8 => (4, 32),
        BatchDirection::HostToDevice | BatchDirection::DeviceToHost => (32, 32),
        BatchDirection::Other => (usize::MAX, usize::MAX),
    };
    let mut start = 0_usize;
    std::iter::from_fn(move || {
        let size = if start == 0 { first } else { most };
        let part = start..count.min(start.saturating_add(size));
        start = part.end;
        (!part.is_empty()).then_some(part)
    })
}

/// Copies of one direction, in C's form.
#[derive(Debug, Default)]
struct CopyList {
    // These three lists have the same length.
    destinations: Vec<*mut c_void>,
    sources: Vec<*const c_void>,
    sizes: Vec<usize>,
    /// The attributes of the copies. Each entry applies from its index to the next entry. The first
    /// entry has index 0.
    attributes: Vec<(usize, SingleAttributes)>,
}

impl CopyList {
    /// Adds a copy. If `capacity` is not 0, first reserves capacity for that many copies.
    #[inline]
    fn push(&mut self, capacity: usize, copy: &CheckedCopy<'_>, attributes: SingleAttributes) {
        if capacity > 0 {
            self.destinations.reserve(capacity);
            self.sources.reserve(capacity);
            self.sizes.reserve(capacity);
        }
        if self.attributes.last().is_none_or(|(_, last)| *last != attributes) {
            self.attributes.push((self.sizes.len(), attributes));
        }
        self.destinations.push(copy.to.pointer.cast());
        self.sources.push(copy.from.pointer.cast_const().cast());
        self.sizes.push(copy.bytes());
    }

    /// Returns the copies one by one.
    fn singles(&self, settles: bool) -> impl Iterator<Item = Single<'_>> + Clone {
        let copies = self.destinations.iter().zip(&self.sources).zip(&self.sizes).enumerate();
        copies.map(move |(at, ((&to, &from), &bytes))| Single::Linear {
            to,
            from,
            bytes,
            order: self.order(at),
            settles,
        })
    }

    /// Returns when the source of a copy is read.
    fn order(&self, copy: usize) -> ReadOrder {
        let next = self.attributes.partition_point(|(start, _)| *start <= copy);
        self.attributes
            .get(next.wrapping_sub(1))
            .map_or(ReadOrder::Stream, |(_, attributes)| attributes.order)
    }

    /// Passes some of the copies to the runtime.
    #[cfg(cudart_12_8)]
    #[inline]
    fn submit(
        &self,
        part: Range<usize>,
        scratch: &AttributeLists,
        raw: sys::cudaStream_t,
    ) -> sys::cudaError_t {
        match self.attributes.as_slice() {
            // Usually all copies have the same attributes. C may write its lists, so it gets copies of them.
            [(_, attributes)] => self.call(part, &mut [0], &mut [attributes.to_raw()], raw),
            _ => self.call_with_many(part, scratch, raw),
        }
    }

    /// Makes the call if the copies have different attributes.
    #[cfg(cudart_12_8)]
    #[inline(never)]
    fn call_with_many(
        &self,
        part: Range<usize>,
        scratch: &AttributeLists,
        raw: sys::cudaStream_t,
    ) -> sys::cudaError_t {
        let first = self.attributes.partition_point(|(start, _)| *start <= part.start).saturating_sub(1);
        let of_part = || self.attributes.iter().skip(first).take_while(|(start, _)| *start < part.end);
        scratch.starts.with(|starts| {
            starts.extend(of_part().map(|(start, _)| start.saturating_sub(part.start)));
            scratch.attributes.with(|attributes| {
                attributes.extend(of_part().map(|(_, attributes)| attributes.to_raw()));
                self.call(part.clone(), starts, attributes, raw)
            })
        })
    }

    /// Makes the call for some of the copies, with lists of attributes and of the copies that each
    /// applies from.
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
        // SAFETY: the three lists have `count` elements from there on, because the part is one of
        // `parts`, and the next two lists have the stated length. Each destination and source is memory
        // of its size that outlives the copy, or is read during the call. The stream is live.
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
            // CUDA 12 declares its inputs as mutable, and reports which copy failed.
            let mut destinations = self.destinations.get(part.clone()).unwrap_or(&[]).to_vec();
            let sources = self.sources.get(part.clone()).unwrap_or(&[]);
            let mut sources: Vec<_> = sources.iter().map(|source| source.cast_mut()).collect();
            let mut sizes = self.sizes.get(part).unwrap_or(&[]).to_vec();
            let mut failed = usize::MAX;
            // SAFETY: the lists have the stated number of elements. Each is memory that outlives the copy or
            // is read during the call. The stream is live. The call may fill the index, a live variable.
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

/// The attributes in C's form, in lists that C may write.
#[cfg(cudart_12_8)]
#[derive(Debug, Default)]
struct AttributeLists {
    starts: Scratch<usize>,
    attributes: Scratch<sys::cudaMemcpyAttributes>,
}

#[cfg(all(test, cudart_12_8))]
mod tests {
    use super::{BatchDirection, parts};

    #[test]
    fn every_copy_is_in_one_part_and_the_parts_are_in_order() {
        for transfer in [BatchDirection::HostToDevice, BatchDirection::DeviceToHost, BatchDirection::Other] {
            for count in [0, 1, 4, 5, 8, 9, 32, 33, 36, 37, 64, 100, 1000] {
                let copies: Vec<usize> = parts(transfer, count).flatten().collect();
                assert_eq!(copies, (0..count).collect::<Vec<_>>(), "{transfer:?}, {count} copies");
                assert!(parts(transfer, count).all(|part| !part.is_empty()));
            }
        }
    }

    #[test]
    fn a_few_copies_up_go_first_where_there_are_many_and_no_call_is_long_but_within_a_device() {
        let sizes = |transfer: BatchDirection, count| {
            parts(transfer, count).map(|part| part.len()).collect::<Vec<_>>()
        };
        assert_eq!(
            [8, 9, 36].map(|count| sizes(BatchDirection::HostToDevice, count)),
            [vec![8], vec![4, 5], vec![4, 32]]
        );
        assert_eq!(sizes(BatchDirection::HostToDevice, 64), [4, 32, 28]);
        assert_eq!(
            [8, 32, 64].map(|count| sizes(BatchDirection::DeviceToHost, count)),
            [vec![8], vec![32], vec![32, 32]]
        );
        assert_eq!(sizes(BatchDirection::Other, 1000), [1000]);
    }
}
