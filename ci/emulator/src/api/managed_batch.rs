//! Batches of prefetches and discards of managed memory. Discarded memory is overwritten, so that no program
//! comes to rely on its contents.
#![expect(unsafe_code, reason = "exports C functions, and reads the lists that they are given")]

use core::ffi::{c_ulonglong, c_void};

use super::batch::{batch_stream, list};
use super::managed::{managed, place};
use super::{Call, api};
use crate::error::Answer;
use crate::machine::Guard;
use crate::memory::Location;
use crate::stream::{Fill, StreamId, Volume, Work, submit, submit_aside};
use crate::sys::{cudaErrorInvalidValue, cudaMemLocation, cudaStream_t};

/// The contents of discarded memory.
const DISCARDED: u8 = 0xdb;

/// Addresses and sizes of the ranges of a batch.
type Ranges = Vec<(u64, u64)>;

/// The ranges of a batch, all of them managed memory.
fn ranges(
    machine: &Guard,
    pointers: *const *mut c_void,
    sizes: *const usize,
    count: usize,
    flags: c_ulonglong,
) -> Answer<Ranges> {
    if count == 0 || flags != 0 {
        return Err(cudaErrorInvalidValue);
    }
    // SAFETY: the program promises that both lists have `count` elements.
    let pointers = unsafe { list(pointers, count) }?;
    // SAFETY: the program promises that both lists have `count` elements.
    let sizes = unsafe { list(sizes, count) }?;
    pointers.iter().zip(sizes).map(|(pointer, size)| managed(machine, *pointer, *size)).collect()
}

/// Where each of `count` ranges is to go: each place is for the ranges from its start on.
fn places(
    machine: &Guard,
    locations: *const cudaMemLocation,
    starts: *const usize,
    number: usize,
    count: usize,
) -> Answer<Vec<Location>> {
    if number == 0 || number > count {
        return Err(cudaErrorInvalidValue);
    }
    // SAFETY: the program promises that both lists have so many elements.
    let locations = unsafe { list(locations, number) }?;
    // SAFETY: the program promises that both lists have so many elements.
    let starts = unsafe { list(starts, number) }?;
    let rising = starts.windows(2).all(|pair| pair.first() < pair.last());
    if starts.first() != Some(&0) || !rising || starts.last().is_some_and(|last| *last >= count) {
        return Err(cudaErrorInvalidValue);
    }
    let found = locations.iter().map(|location| place(machine, location)).collect::<Answer<Vec<_>>>()?;
    let of = |at| {
        let which = starts.partition_point(|start| *start <= at).saturating_sub(1);
        found.get(which).copied().ok_or(cudaErrorInvalidValue)
    };
    (0..count).map(of).collect()
}

fn discard(machine: &mut Guard, key: StreamId, call: &Call, ranges: &Ranges) -> Answer {
    for (address, size) in ranges {
        let volume = Volume::row(*size);
        let fill = Fill { address: *address, pitch: 0, slice: 0, volume, value: [DISCARDED; 4], element: 1 };
        // Unlike a prefetch, this does not put a blocking stream behind the legacy one.
        submit_aside(machine, key, call.name, Work::Fill(Box::new(fill)))?;
    }
    Ok(())
}

fn prefetch(machine: &mut Guard, key: StreamId, call: &Call, ranges: &Ranges, places: &[Location]) -> Answer {
    for ((start, size), place) in ranges.iter().zip(places) {
        machine.allocations.advices.change(*start, *size, |advice| advice.prefetched = *place);
    }
    // As the prefetch of one range.
    submit(machine, key, call.name, Work::Copies(Vec::new()), &[]).map(drop)
}

api! {
    /// Prefetches many ranges.
    allowed fn cudaMemPrefetchBatchAsync | cudaMemPrefetchBatchAsync_ptsz(
        call, pointers: *const *mut c_void, sizes: *const usize, count: usize, locations: *const cudaMemLocation,
        starts: *const usize, number: usize, flags: c_ulonglong, stream: cudaStream_t,
    ) {
        let (mut machine, key) = batch_stream(call, stream)?;
        let ranges = ranges(&machine, pointers, sizes, count, flags)?;
        let places = places(&machine, locations, starts, number, count)?;
        prefetch(&mut machine, key, call, &ranges, &places)
    }

    /// Gives the contents of many ranges up.
    allowed fn cudaMemDiscardBatchAsync | cudaMemDiscardBatchAsync_ptsz(
        call, pointers: *const *mut c_void, sizes: *const usize, count: usize, flags: c_ulonglong, stream: cudaStream_t,
    ) {
        let (mut machine, key) = batch_stream(call, stream)?;
        let ranges = ranges(&machine, pointers, sizes, count, flags)?;
        discard(&mut machine, key, call, &ranges)
    }

    /// Does both.
    allowed fn cudaMemDiscardAndPrefetchBatchAsync | cudaMemDiscardAndPrefetchBatchAsync_ptsz(
        call, pointers: *const *mut c_void, sizes: *const usize, count: usize, locations: *const cudaMemLocation,
        starts: *const usize, number: usize, flags: c_ulonglong, stream: cudaStream_t,
    ) {
        let (mut machine, key) = batch_stream(call, stream)?;
        let ranges = ranges(&machine, pointers, sizes, count, flags)?;
        let places = places(&machine, locations, starts, number, count)?;
        discard(&mut machine, key, call, &ranges)?;
        prefetch(&mut machine, key, call, &ranges, &places)
    }
}
