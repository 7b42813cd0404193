//! Managed memory: allocation, advice, prefetching, attributes, attaching.

use std::ffi::{c_int, c_void};
use std::ptr;

use cuda_sys::*;

use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, ask};
use crate::memory::{Block, Kind, stream, stream_with};

const N: usize = 1 << 16;

/// A device, in the form that the functions of this toolkit take.
#[cfg(cudart_13_0)]
pub(super) fn place(device: c_int) -> cudaMemLocation {
    let mut place = cudaMemLocation::default();
    place.type_ = if device == cudaCpuDeviceId { cudaMemLocationTypeHost } else { cudaMemLocationTypeDevice };
    place.id = device.max(0);
    if !(-1..=90).contains(&device) {
        place.id = device;
    }
    place
}

#[cfg(not(cudart_13_0))]
pub(super) fn place(device: c_int) -> c_int {
    device
}

pub(super) fn prefetch(
    log: &mut Log,
    at: *const c_void,
    bytes: usize,
    device: c_int,
    on: cudaStream_t,
) -> cudaError_t {
    #[cfg(cudart_13_0)]
    let code = ask!(log, cudaMemPrefetchAsync(at, bytes, place(device), 0, on));
    #[cfg(not(cudart_13_0))]
    let code = ask!(log, cudaMemPrefetchAsync(at, bytes, place(device), on));
    code
}

fn number(log: &mut Log, name: &str, attribute: cudaMemRangeAttribute, block: Block) {
    let mut value: c_int = -77;
    ask!(log, name, cudaMemRangeGetAttribute((&raw mut value).cast(), 4, attribute, block.ptr(), block.len));
    log.fact("is", value);
}

fn allocation(cases: &mut Cases) {
    for (what, bytes, flags) in [
        ("global", 4096, 1),
        ("of the host", 4096, 2),
        ("flags 0", 4096, 0),
        ("single", 4096, 4),
        ("flags 3", 4096, 3),
        ("flags 8", 4096, 8),
        ("no bytes", 0, 1),
        ("bytes without end", usize::MAX, 1),
    ] {
        cases.add(format!("cudaMallocManaged/{what}"), move |log| {
            let mut start = ptr::null_mut();
            ask!(log, cudaMallocManaged(&raw mut start, bytes, flags));
            log.fact("null", start.is_null());
            Ok(())
        });
    }
    cases.add("cudaMallocManaged/answer null", |log| {
        ask!(log, cudaMallocManaged(ptr::null_mut(), 4096, 1));
        Ok(())
    });
}

fn moves(cases: &mut Cases) {
    let api = "cudaMemPrefetchAsync";
    cases.add(format!("{api}/to the device and back"), |log| {
        let block = Block::new(log, Kind::Managed, N)?;
        block.store(log, &vec![7; N])?;
        for device in [0, cudaCpuDeviceId] {
            prefetch(log, block.ptr(), N, device, ptr::null_mut());
            ask!(log, cudaDeviceSynchronize());
            number(log, "last prefetch", cudaMemRangeAttributeLastPrefetchLocation, block);
        }
        let got = block.load(log)?;
        log.bytes("all bytes", &got, &vec![7; N]);
        Ok(())
    });
    for (what, kind, null, bytes, device) in [
        ("null", Kind::Managed, true, N, 0),
        ("no bytes", Kind::Managed, false, 0, 0),
        ("more bytes than there are", Kind::Managed, false, 64 * N, 0),
        ("device 100", Kind::Managed, false, N, 100),
        ("device memory", Kind::Device, false, N, 0),
    ] {
        cases.add(format!("{api}/{what}"), move |log| {
            let block = Block::new(log, kind, N)?;
            let at = if null { ptr::null_mut() } else { block.ptr() };
            prefetch(log, at, bytes, device, ptr::null_mut());
            ask!(log, cudaDeviceSynchronize());
            Ok(())
        });
    }
    cases.alone(format!("{api}/does not wait for the held stream"), |log| {
        let block = Block::new(log, Kind::Managed, N)?;
        let on = stream(log)?;
        let gate = Gate::hold(log, on)?;
        gate.waits(log, |log| prefetch(log, block.ptr(), N, 0, on));
        ask!(log, cudaDeviceSynchronize());
        Ok(())
    });
    let api = "cudaMemAdvise";
    cases.add(format!("{api}/every advice, and what is remembered"), |log| {
        let block = Block::new(log, Kind::Managed, N)?;
        ask!(log, "mostly read", cudaMemAdvise(block.ptr(), N, cudaMemAdviseSetReadMostly, place(0)));
        number(log, "mostly read", cudaMemRangeAttributeReadMostly, block);
        ask!(log, "not any more", cudaMemAdvise(block.ptr(), N, cudaMemAdviseUnsetReadMostly, place(0)));
        number(log, "mostly read", cudaMemRangeAttributeReadMostly, block);
        ask!(log, "preferred", cudaMemAdvise(block.ptr(), N, cudaMemAdviseSetPreferredLocation, place(0)));
        number(log, "preferred", cudaMemRangeAttributePreferredLocation, block);
        number(log, "last prefetch", cudaMemRangeAttributeLastPrefetchLocation, block);
        ask!(log, "nowhere", cudaMemAdvise(block.ptr(), N, cudaMemAdviseUnsetPreferredLocation, place(0)));
        number(log, "preferred", cudaMemRangeAttributePreferredLocation, block);
        ask!(log, "accessed", cudaMemAdvise(block.ptr(), N, cudaMemAdviseSetAccessedBy, place(0)));
        number(log, "accessed", cudaMemRangeAttributeAccessedBy, block);
        ask!(log, "by nobody", cudaMemAdvise(block.ptr(), N, cudaMemAdviseUnsetAccessedBy, place(0)));
        number(log, "accessed", cudaMemRangeAttributeAccessedBy, block);
        Ok(())
    });
    for (what, kind, null, bytes, device) in [
        ("null", Kind::Managed, true, N, 0),
        ("no bytes", Kind::Managed, false, 0, 0),
        ("more bytes than there are", Kind::Managed, false, 64 * N, 0),
        ("device memory", Kind::Device, false, N, 0),
        ("device 100", Kind::Managed, false, N, 100),
    ] {
        cases.add(format!("{api}/{what}"), move |log| {
            let block = Block::new(log, kind, N)?;
            let at = if null { ptr::null_mut() } else { block.ptr() };
            ask!(log, cudaMemAdvise(at, bytes, cudaMemAdviseSetPreferredLocation, place(device)));
            Ok(())
        });
    }
    cases.add(format!("{api}/no such advice"), |log| {
        let block = Block::new(log, Kind::Managed, N)?;
        ask!(log, cudaMemAdvise(block.ptr(), N, cudaMemoryAdvise(99), place(0)));
        Ok(())
    });
}

fn attributes(cases: &mut Cases) {
    let api = "cudaMemRangeGetAttribute";
    let (read, preferred, accessed, last) = (
        cudaMemRangeAttributeReadMostly,
        cudaMemRangeAttributePreferredLocation,
        cudaMemRangeAttributeAccessedBy,
        cudaMemRangeAttributeLastPrefetchLocation,
    );
    for (what, attribute, size, data_null, at_null, kind, bytes) in [
        ("answer null", read, 4, true, false, Kind::Managed, N),
        ("answer of no bytes", read, 0, false, false, Kind::Managed, N),
        ("a place in 2 bytes", preferred, 2, false, false, Kind::Managed, N),
        ("a place in 8 bytes", preferred, 8, false, false, Kind::Managed, N),
        ("a prefetch in 8 bytes", last, 8, false, false, Kind::Managed, N),
        ("devices in 6 bytes", accessed, 6, false, false, Kind::Managed, N),
        ("no such attribute", cudaMemRangeAttribute(99), 4, false, false, Kind::Managed, N),
        ("device memory", read, 4, false, false, Kind::Device, N),
        ("no bytes", read, 4, false, false, Kind::Managed, 0),
        ("null", read, 4, false, true, Kind::Managed, N),
        ("more bytes than there are", read, 4, false, false, Kind::Managed, 64 * N),
    ] {
        cases.add(format!("{api}/{what}"), move |log| {
            let block = Block::new(log, kind, N)?;
            let mut value = [0_u64; 2];
            let data = if data_null { ptr::null_mut() } else { value.as_mut_ptr().cast() };
            let at = if at_null { ptr::null_mut() } else { block.ptr() };
            ask!(log, cudaMemRangeGetAttribute(data, size, attribute, at, bytes));
            Ok(())
        });
    }
    for (what, count, data_null, sizes_null, at_null, size) in [
        ("two of them", 2, false, false, false, 4),
        ("answers null", 2, true, false, false, 4),
        ("sizes null", 2, false, true, false, 4),
        ("none of them", 0, false, false, false, 4),
        ("null", 2, false, false, true, 4),
        ("sizes that do not fit", 2, false, false, false, 3),
    ] {
        cases.add(format!("cudaMemRangeGetAttributes/{what}"), move |log| {
            let block = Block::new(log, Kind::Managed, N)?;
            let mut values = [-77_i32; 2];
            let mut data = [(&raw mut values[0]).cast::<c_void>(), (&raw mut values[1]).cast()];
            let mut sizes = [size, size];
            let mut which = [read, preferred];
            let data = if data_null { ptr::null_mut() } else { data.as_mut_ptr() };
            let sizes = if sizes_null { ptr::null_mut() } else { sizes.as_mut_ptr() };
            let at = if at_null { ptr::null_mut() } else { block.ptr() };
            ask!(log, cudaMemRangeGetAttributes(data, sizes, which.as_mut_ptr(), count, at, N));
            log.fact("values", format_args!("{values:?}"));
            Ok(())
        });
    }
}

fn attaching(cases: &mut Cases) {
    let api = "cudaStreamAttachMemAsync";
    for (what, kind, null, bytes, flags) in [
        ("global", Kind::Managed, false, 0, 1),
        ("of the host", Kind::Managed, false, 0, 2),
        ("single", Kind::Managed, false, 0, 4),
        ("all bytes by number", Kind::Managed, false, N, 4),
        ("half of the bytes", Kind::Managed, false, N / 2, 4),
        ("more bytes than there are", Kind::Managed, false, 2 * N, 4),
        ("two flags", Kind::Managed, false, 0, 3),
        ("null", Kind::Managed, true, 0, 4),
        ("device memory", Kind::Device, false, 0, 4),
    ] {
        cases.add(format!("{api}/{what}"), move |log| {
            let block = Block::new(log, kind, N)?;
            let on = stream_with(log, 0)?;
            let at = if null { ptr::null_mut() } else { block.ptr() };
            ask!(log, cudaStreamAttachMemAsync(on, at, bytes, flags));
            ask!(log, cudaStreamSynchronize(on));
            Ok(())
        });
    }
}

pub(super) fn add(cases: &mut Cases) {
    allocation(cases);
    moves(cases);
    attributes(cases);
    attaching(cases);
}
