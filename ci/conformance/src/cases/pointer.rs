//! `cudaPointerGetAttributes`, `cudaMemGetInfo`, and handles for other processes.

use std::ptr;

use cuda_sys::*;

use crate::case::Cases;
use crate::log::{Log, Outcome, ask, need};
use crate::memory::{Block, Kind, pattern};
use crate::run::{beside, handed};

/// Bytes of memory that is shared with another process.
const SHARED: usize = 4 << 20;
const OPENER: &str = "opens memory twice";

/// Opens the handed memory two times, and closes it two times.
fn open_twice(log: &mut Log) -> Outcome {
    let (text, mut handle) = (handed(), cudaIpcMemHandle_t::default());
    for (place, at) in handle.reserved.iter_mut().zip(0..) {
        let byte = text.get(2 * at..2 * at + 2).and_then(|two| u8::from_str_radix(two, 16).ok());
        *place = std::ffi::c_char::from_ne_bytes([byte.unwrap_or(0)]);
    }
    let (mut one, mut two) = (ptr::null_mut(), ptr::null_mut());
    let lazily = cudaIpcMemLazyEnablePeerAccess;
    ask!(log, cudaIpcOpenMemHandle(&raw mut one, handle, lazily));
    ask!(log, cudaIpcOpenMemHandle(&raw mut two, handle, lazily));
    log.fact("the same address", one == two);
    for when in ["open twice", "closed once", "closed twice"] {
        let mut got = vec![0_u8; SHARED];
        let way = cudaMemcpyDeviceToHost;
        if ask!(log, when, cudaMemcpy(got.as_mut_ptr().cast(), two, SHARED, way)) == cudaSuccess {
            log.bytes("all bytes", &got, &pattern(SHARED, 1));
        }
        let mut attributes = cudaPointerAttributes::default();
        ask!(log, cudaPointerGetAttributes(&raw mut attributes, two));
        log.fact("type", attributes.type_.0);
        ask!(log, cudaIpcCloseMemHandle(two));
    }
    Ok(())
}

pub(super) fn add(cases: &mut Cases) {
    let api = "cudaPointerGetAttributes";
    for kind in Kind::ALL {
        for offset in [0, 100] {
            cases.add(format!("{api}/{} memory, byte {offset}", kind.name()), move |log| {
                need!(log, cudaFree(ptr::null_mut()));
                let block = Block::new(log, kind, 4096)?;
                let mut attributes = cudaPointerAttributes::default();
                ask!(log, cudaPointerGetAttributes(&raw mut attributes, block.at(offset)));
                log.fact("type", attributes.type_.0);
                log.fact("device", attributes.device);
                let what = |address: *mut std::ffi::c_void| match address {
                    address if address == block.at(offset) => "the same",
                    address if address.is_null() => "null",
                    _ => "another",
                };
                log.fact("for devices", what(attributes.devicePointer));
                log.fact("for the host", what(attributes.hostPointer));
                Ok(())
            });
        }
    }
    cases.add(format!("{api}/answer null"), |log| {
        let block = Block::new(log, Kind::Device, 4096)?;
        ask!(log, cudaPointerGetAttributes(ptr::null_mut(), block.ptr()));
        Ok(())
    });
    cases.add(format!("{api}/memory that was freed"), |log| {
        // Large, so that the driver does not keep it.
        let block = Block::new(log, Kind::Device, 64 << 20)?;
        need!(log, cudaFree(block.ptr()));
        let mut attributes = cudaPointerAttributes::default();
        ask!(log, cudaPointerGetAttributes(&raw mut attributes, block.ptr()));
        log.fact("type", attributes.type_.0);
        Ok(())
    });
    cases.add("cudaMemGetInfo/more in all than is free", |log| {
        let (mut free, mut total) = (0, 0);
        ask!(log, cudaMemGetInfo(&raw mut free, &raw mut total));
        log.fact("sensible", free > 0 && free < total);
        Ok(())
    });
    for (what, kind, middle) in [
        ("device memory", Kind::Device, false),
        ("the middle of it", Kind::Device, true),
        ("pinned memory", Kind::Pinned, false),
        ("managed memory", Kind::Managed, false),
        ("pool memory", Kind::Pool, false),
    ] {
        cases.add(format!("cudaIpcGetMemHandle/{what}"), move |log| {
            let block = Block::new(log, kind, 4 << 20)?;
            let mut handle = cudaIpcMemHandle_t::default();
            let at = if middle { block.at(256) } else { block.ptr() };
            ask!(log, cudaIpcGetMemHandle(&raw mut handle, at));
            Ok(())
        });
    }
    cases.add("cudaIpcOpenMemHandle/in the process that made it", |log| {
        let block = Block::new(log, Kind::Device, 4 << 20)?;
        let mut handle = cudaIpcMemHandle_t::default();
        need!(log, cudaIpcGetMemHandle(&raw mut handle, block.ptr()));
        let mut opened = ptr::null_mut();
        let lazily = cudaIpcMemLazyEnablePeerAccess;
        ask!(log, cudaIpcOpenMemHandle(&raw mut opened, handle, lazily));
        ask!(log, cudaIpcCloseMemHandle(block.ptr()));
        Ok(())
    });
    cases.alone("cudaIpcOpenMemHandle/twice by another process, closed once, then again", |log| {
        let block = Block::with(log, Kind::Device, &pattern(SHARED, 1))?;
        let mut handle = cudaIpcMemHandle_t::default();
        need!(log, cudaIpcGetMemHandle(&raw mut handle, block.ptr()));
        let bytes: Vec<String> =
            handle.reserved.iter().map(|byte| format!("{:02x}", byte.to_ne_bytes()[0])).collect();
        log.fact("the other process", format_args!("[{}]", beside(OPENER, &bytes.concat())));
        ask!(log, cudaDeviceSynchronize());
        Ok(())
    });
    cases.help(OPENER, open_twice);
    cases.add("cudaIpcOpenEventHandle/in the process that made it", |log| {
        let mut event = ptr::null_mut();
        let flags = cudaEventInterprocess | cudaEventDisableTiming;
        need!(log, cudaEventCreateWithFlags(&raw mut event, flags));
        let mut handle = cudaIpcEventHandle_t::default();
        ask!(log, cudaIpcGetEventHandle(&raw mut handle, event));
        let mut opened = ptr::null_mut();
        ask!(log, cudaIpcOpenEventHandle(&raw mut opened, handle));
        Ok(())
    });
    cases.add("cudaIpcGetEventHandle/an event of this process only", |log| {
        let event = crate::memory::event(log)?;
        let mut handle = cudaIpcEventHandle_t::default();
        ask!(log, cudaIpcGetEventHandle(&raw mut handle, event));
        Ok(())
    });
}
