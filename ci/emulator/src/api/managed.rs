//! Managed memory: one address for the host and the devices. Here it is plain memory that both reach. Advice
//! and prefetches are remembered and change nothing else.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::{c_int, c_uint, c_void};

use super::{Out, address, api, follows_null, ordinal, pointer, wide};
use crate::error::Answer;
use crate::machine::Guard;
use crate::memory::{Advice, Found, HOST, Kind, Location, NOWHERE};
use crate::stream::{Work, submit};
use crate::sys::*;

/// Bytes from one sample of a range to the next if the program leaves that open.
const SAMPLING: usize = 4096;

/// Finds that a range is managed memory.
pub(super) fn managed(machine: &Guard, memory: *const c_void, size: usize) -> Answer<(u64, u64)> {
    let (start, size) = (address(memory), wide(size));
    match machine.allocations.find(start, size) {
        Found::Inside(it) if it.kind == Kind::Managed && size > 0 => Ok((start, size)),
        _ => Err(cudaErrorInvalidValue),
    }
}

/// The number in a location: a device's ordinal or a NUMA node, by its type.
fn number(location: &cudaMemLocation) -> c_int {
    let words = core::ptr::from_ref(location).cast::<c_int>();
    // SAFETY: a location is its type and a number, in this order in every version of the headers. Newer
    // versions only put the number into a union.
    unsafe { words.wrapping_add(1).read() }
}

/// The location that a program names.
pub(super) fn place(machine: &Guard, location: &cudaMemLocation) -> Answer<Location> {
    if location.type_ == cudaMemLocationTypeDevice {
        let device = number(location);
        return ordinal(machine, device).map(|_| device);
    }
    let hosts = [cudaMemLocationTypeHost, cudaMemLocationTypeHostNuma, cudaMemLocationTypeHostNumaCurrent];
    if hosts.contains(&location.type_) { Ok(HOST) } else { Err(cudaErrorInvalidValue) }
}

/// The type of a location in the headers.
fn kind_of(location: Location) -> c_int {
    let kind = match location {
        NOWHERE => cudaMemLocationTypeInvalid,
        HOST => cudaMemLocationTypeHost,
        _ => cudaMemLocationTypeDevice,
    };
    c_int::try_from(kind.0).unwrap_or(0)
}

/// Returns the value of one attribute of a range, as numbers.
fn ask(
    machine: &Guard,
    range: (u64, u64),
    attribute: cudaMemRangeAttribute,
    room: usize,
) -> Answer<Vec<c_int>> {
    let (start, size) = range;
    let common = |get: fn(&Advice) -> Location| {
        machine.allocations.advices.common(start, size, get).unwrap_or(NOWHERE)
    };
    let preferred = || common(|advice| advice.preferred);
    let prefetched = || common(|advice| advice.prefetched);
    let one = |value: c_int| if room == 1 { Ok(vec![value]) } else { Err(cudaErrorInvalidValue) };
    match attribute {
        it if it == cudaMemRangeAttributeReadMostly => {
            one(c_int::from(machine.allocations.advices.of(start, size).all(|advice| advice.read_mostly)))
        }
        it if it == cudaMemRangeAttributePreferredLocation => one(preferred()),
        it if it == cudaMemRangeAttributeLastPrefetchLocation => one(prefetched()),
        it if it == cudaMemRangeAttributePreferredLocationType => one(kind_of(preferred())),
        it if it == cudaMemRangeAttributeLastPrefetchLocationType => one(kind_of(prefetched())),
        it if it == cudaMemRangeAttributePreferredLocationId => one(preferred()),
        it if it == cudaMemRangeAttributeLastPrefetchLocationId => one(prefetched()),
        it if it == cudaMemRangeAttributeAccessedBy => {
            let all = machine.allocations.advices.common(start, size, |advice| advice.accessed_by.clone());
            let mut all = all.unwrap_or_default();
            all.resize(room, NOWHERE);
            Ok(all)
        }
        _ => Err(cudaErrorInvalidValue),
    }
}

/// Writes one attribute of a range into `data`, which has `size` bytes.
fn answer(
    machine: &Guard,
    range: (u64, u64),
    attribute: cudaMemRangeAttribute,
    (data, size): (*mut c_void, usize),
) -> Answer {
    if data.is_null() || size == 0 || size % size_of::<c_int>() != 0 {
        return Err(cudaErrorInvalidValue);
    }
    let numbers = ask(machine, range, attribute, size / size_of::<c_int>())?;
    for (at, number) in numbers.into_iter().enumerate() {
        // SAFETY: the program promises room for `size` bytes, and there are that many numbers.
        unsafe { data.cast::<c_int>().wrapping_add(at).write_unaligned(number) };
    }
    Ok(())
}

api! {
    /// Allocates managed memory.
    waits fn cudaMallocManaged(call, out: Out<'_, *mut c_void>, size: usize, flags: c_uint) {
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let (mut machine, device) = call.context()?;
        let out = out.write(core::ptr::null_mut());
        if size == 0 {
            return Ok(());
        }
        if flags != cudaMemAttachGlobal && flags != cudaMemAttachHost {
            return Err(cudaErrorInvalidValue);
        }
        *out = pointer(machine.allocations.allocate_host(device, wide(size), Kind::Managed, flags, call.name)?);
        Ok(())
    }

    /// Attaches managed memory to a stream.
    allowed fn cudaStreamAttachMemAsync | cudaStreamAttachMemAsync_ptsz(
        call, stream: cudaStream_t, memory: *mut c_void, length: usize, flags: c_uint,
    ) {
        let (mut machine, _, key) = call.stream(stream)?;
        machine.allocatable(key)?;
        let start = address(memory);
        let own = machine.allocations.starting_at(start, &[Kind::Managed]);
        let own = own.filter(|it| machine.allocations.pools.of(it.start).is_none());
        let whole = own.ok_or(cudaErrorInvalidValue)?.size;
        let known = [cudaMemAttachGlobal, cudaMemAttachHost, cudaMemAttachSingle].contains(&flags);
        if !known || (length != 0 && wide(length) != whole) {
            return Err(cudaErrorInvalidValue);
        }
        // By its name, the legacy stream is one like others here.
        if flags == cudaMemAttachSingle && stream.is_null() {
            follows_null(call, "the stream to which memory is attached alone");
        }
        submit(&mut machine, key, call.name, Work::Nothing, &[]).map(drop)
    }

    /// Moves managed memory to the location that will use it, in stream order.
    allowed fn cudaMemPrefetchAsync | cudaMemPrefetchAsync_ptsz(
        call, memory: *const c_void, size: usize, location: cudaMemLocation, flags: c_uint, stream: cudaStream_t,
    ) {
        let (mut machine, _, key) = call.stream(stream)?;
        let (start, size) = managed(&machine, memory, size)?;
        if flags != 0 {
            return Err(cudaErrorInvalidValue);
        }
        let place = place(&machine, &location)?;
        machine.allocations.advices.change(start, size, |advice| advice.prefetched = place);
        // Work like a copy's, unlike an attachment: it puts a blocking stream behind the legacy one.
        submit(&mut machine, key, call.name, Work::Copies(Vec::new()), &[]).map(drop)
    }

    /// Advises how managed memory will be used.
    waits fn cudaMemAdvise(
        call, memory: *const c_void, size: usize, advice: cudaMemoryAdvise, location: cudaMemLocation,
    ) {
        let (mut machine, _) = call.context()?;
        let (start, size) = managed(&machine, memory, size)?;
        // Pools manage their memory themselves.
        if machine.allocations.at(start).is_some_and(|it| machine.allocations.pools.of(it.start).is_some()) {
            return Err(cudaErrorNotSupported);
        }
        // Here a device that there is not is a wrong value, unlike for a prefetch.
        let place = |machine: &Guard| match place(machine, &location) {
            Err(it) if it == cudaErrorInvalidDevice => Err(cudaErrorInvalidValue),
            other => other,
        };
        let change: Box<dyn Fn(&mut Advice)> = match advice {
            it if it == cudaMemAdviseSetReadMostly => Box::new(|advice| advice.read_mostly = true),
            it if it == cudaMemAdviseUnsetReadMostly => Box::new(|advice| advice.read_mostly = false),
            it if it == cudaMemAdviseSetPreferredLocation => {
                let place = place(&machine)?;
                Box::new(move |advice| advice.preferred = place)
            }
            it if it == cudaMemAdviseUnsetPreferredLocation => Box::new(|advice| advice.preferred = NOWHERE),
            it if it == cudaMemAdviseSetAccessedBy => {
                // Nodes of the host access memory by themselves.
                let nodes = [cudaMemLocationTypeHostNuma, cudaMemLocationTypeHostNumaCurrent];
                if nodes.contains(&location.type_) {
                    return Err(cudaErrorInvalidValue);
                }
                let place = place(&machine)?;
                Box::new(move |advice| {
                    advice.accessed_by.retain(|it| *it != place);
                    advice.accessed_by.push(place);
                })
            }
            it if it == cudaMemAdviseUnsetAccessedBy => {
                let place = place(&machine)?;
                Box::new(move |advice| advice.accessed_by.retain(|it| *it != place))
            }
            _ => return Err(cudaErrorInvalidValue),
        };
        machine.allocations.advices.change(start, size, change);
        Ok(())
    }

    /// An attribute of a range of managed memory.
    allowed fn cudaMemRangeGetAttribute(
        call, data: *mut c_void, data_size: usize, attribute: cudaMemRangeAttribute, memory: *const c_void, size: usize,
    ) {
        let (machine, _) = call.context()?;
        let range = managed(&machine, memory, size)?;
        answer(&machine, range, attribute, (data, data_size))
    }

    /// The same, for several questions at once.
    allowed fn cudaMemRangeGetAttributes(
        call, data: *const *mut c_void, sizes: *const usize, attributes: *const cudaMemRangeAttribute, count: usize,
        memory: *const c_void, size: usize,
    ) {
        let (machine, _) = call.context()?;
        let range = managed(&machine, memory, size)?;
        if data.is_null() || sizes.is_null() || attributes.is_null() || count == 0 {
            return Err(cudaErrorInvalidValue);
        }
        for at in 0..count {
            // SAFETY: the program promises that each of the three lists has `count` elements.
            let data = unsafe { data.wrapping_add(at).read() };
            // SAFETY: the program promises that each of the three lists has `count` elements.
            let size = unsafe { sizes.wrapping_add(at).read() };
            // SAFETY: the program promises that each of the three lists has `count` elements.
            let attribute = unsafe { attributes.wrapping_add(at).read() };
            answer(&machine, range, attribute, (data, size))?;
        }
        Ok(())
    }

    /// Where most pages of each part of a range are, by samples: where they were last prefetched to, or on
    /// the host, where all bytes are here.
    allowed fn cudaMemGetLocationInfo(
        call, memory: *const c_void, size: usize, summary: usize, sampling: usize, out: *mut cudaMemLocation,
    ) {
        let (machine, _) = call.context()?;
        let (start, size) = managed(&machine, memory, size)?;
        let part = wide(summary);
        if out.is_null() || part == 0 || part > size || sampling > summary {
            return Err(cudaErrorInvalidValue);
        }
        let step = if sampling == 0 { SAMPLING } else { sampling };
        for at in 0..size.div_ceil(part) {
            let (first, bytes) = (start + at * part, part.min(size - at * part));
            let advices = &machine.allocations.advices;
            let most = advices.most(first, bytes, step, |advice| match advice.prefetched {
                NOWHERE => HOST,
                place => place,
            });
            let place = most.unwrap_or(HOST);
            let out = out.wrapping_add(usize::try_from(at).unwrap_or(0)).cast::<[c_int; 2]>();
            // SAFETY: the program promises room for as many locations, each a type and a number.
            unsafe { out.write_unaligned([kind_of(place), place.max(0)]) };
        }
        Ok(())
    }
}
