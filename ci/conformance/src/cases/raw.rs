//! Functions that the crate lacks: textures, semaphores of other interfaces, cache configurations. And single
//! cases about managed memory, addresses, streams and capture modes.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use cuda_sys::*;

use crate::case::Cases;
use crate::log::{Log, ask, need};
use crate::memory::{Block, Kind, pattern, stream};

const N: usize = 1 << 16;

unsafe extern "C" {
    fn case_empty();
}

fn configurations(cases: &mut Cases) {
    cases.alone("cudaDeviceSetSharedMemConfig/there and back, none such, null", |log| {
        let mut config = cudaSharedMemConfig(77);
        ask!(log, cudaDeviceGetSharedMemConfig(&raw mut config));
        log.fact("at first", config.0);
        ask!(log, cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeEightByte));
        ask!(log, cudaDeviceGetSharedMemConfig(&raw mut config));
        log.fact("then", config.0);
        ask!(log, "none such", cudaDeviceSetSharedMemConfig(cudaSharedMemConfig(u32::MAX)));
        ask!(log, "null", cudaDeviceGetSharedMemConfig(ptr::null_mut()));
        Ok(())
    });
    cases.alone("cudaFuncSetCacheConfig/one, none such, no kernel", |log| {
        let kernel = case_empty as *const c_void;
        ask!(log, cudaFuncSetCacheConfig(kernel, cudaFuncCachePreferShared));
        ask!(log, "none such", cudaFuncSetCacheConfig(kernel, cudaFuncCache(u32::MAX)));
        ask!(log, "null", cudaFuncSetCacheConfig(ptr::null(), cudaFuncCachePreferShared));
        Ok(())
    });
}

fn others(cases: &mut Cases) {
    cases.add("cudaGetTextureObjectTextureDesc/of an array, and nulls", |log| {
        let array = super::plane::array(log, 64, 16)?;
        let mut resource = cudaResourceDesc::default();
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = array;
        let mut wanted = cudaTextureDesc::default();
        wanted.addressMode = [cudaAddressModeClamp; 3];
        wanted.filterMode = cudaFilterModePoint;
        wanted.readMode = cudaReadModeElementType;
        let mut texture = 0;
        let none = ptr::null();
        ask!(log, cudaCreateTextureObject(&raw mut texture, &raw const resource, &raw const wanted, none));
        let mut got = cudaTextureDesc::default();
        got.normalizedCoords = 77;
        ask!(log, cudaGetTextureObjectTextureDesc(&raw mut got, texture));
        let modes = got.addressMode.map(|mode| mode.0);
        log.fact("address modes", format_args!("{modes:?}"));
        log.fact("filter, reading", format_args!("{} {}", got.filterMode.0, got.readMode.0));
        log.fact("normalised", got.normalizedCoords);
        ask!(log, "no texture", cudaGetTextureObjectTextureDesc(&raw mut got, 0));
        ask!(log, cudaDestroyTextureObject(texture));
        ask!(
            log,
            "no resource",
            cudaCreateTextureObject(&raw mut texture, ptr::null(), &raw const wanted, none)
        );
        Ok(())
    });
    cases.add("cudaSignalExternalSemaphoresAsync/list null, and for waits", |log| {
        let on = stream(log)?;
        let signal = cudaExternalSemaphoreSignalParams::default();
        let wait = cudaExternalSemaphoreWaitParams::default();
        ask!(log, cudaSignalExternalSemaphoresAsync(ptr::null(), &raw const signal, 1, on));
        ask!(log, cudaWaitExternalSemaphoresAsync(ptr::null(), &raw const wait, 1, on));
        Ok(())
    });
}

#[cfg(cudart_13_0)]
fn managed(cases: &mut Cases) {
    let place = |device| {
        let mut place = cudaMemLocation::default();
        (place.type_, place.id) = (cudaMemLocationTypeDevice, device);
        place
    };
    cases.add("cudaMemAdvise/device 100, mostly read", move |log| {
        let block = Block::new(log, Kind::Managed, N)?;
        ask!(log, cudaMemAdvise(block.ptr(), N, cudaMemAdviseSetReadMostly, place(100)));
        Ok(())
    });
    cases.add("cudaMemAdvise/a part of a page", move |log| {
        let block = Block::new(log, Kind::Managed, 4 * N)?;
        ask!(log, cudaMemAdvise(block.at(100), 100, cudaMemAdviseSetReadMostly, place(0)));
        for (what, at, bytes) in [("the part", 100, 100), ("its page", 0, 4096), ("all pages", 0, 4 * N)] {
            let mut value = -77_i32;
            let (data, read) = ((&raw mut value).cast(), cudaMemRangeAttributeReadMostly);
            ask!(log, what, cudaMemRangeGetAttribute(data, 4, read, block.at(at), bytes));
            log.fact("mostly read", value);
        }
        Ok(())
    });
}

fn memory(cases: &mut Cases) {
    for (what, null, bytes, flags) in [
        ("answer null, no bytes, flags 0", true, 0, 0),
        ("answer null, of the host", true, 4096, 2),
        ("no bytes, of the host", false, 0, 2),
    ] {
        cases.add(format!("cudaMallocManaged/{what}"), move |log| {
            let mut start = ptr::null_mut();
            let answer = if null { ptr::null_mut() } else { &raw mut start };
            ask!(log, cudaMallocManaged(answer, bytes, flags));
            Ok(())
        });
    }
    cases.alone("cudaMemRangeGetAttributes/each answer null", |log| {
        let block = Block::new(log, Kind::Managed, N)?;
        let (mut data, mut sizes) = ([ptr::null_mut::<c_void>(); 2], [4, 4]);
        let mut which = [cudaMemRangeAttributeReadMostly, cudaMemRangeAttributePreferredLocation];
        let (data, sizes, which) = (data.as_mut_ptr(), sizes.as_mut_ptr(), which.as_mut_ptr());
        ask!(log, cudaMemRangeGetAttributes(data, sizes, which, 2, block.ptr(), N));
        Ok(())
    });
    cases.add("cudaStreamAttachMemAsync/pageable memory", |log| {
        let (on, block) = (stream(log)?, Block::new(log, Kind::Pageable, N)?);
        ask!(log, cudaStreamAttachMemAsync(on, block.ptr(), 0, cudaMemAttachGlobal));
        Ok(())
    });
    cases.add("cudaPointerGetAttributes/null", |log| {
        need!(log, cudaFree(ptr::null_mut()));
        let mut attributes = cudaPointerAttributes::default();
        ask!(log, cudaPointerGetAttributes(&raw mut attributes, ptr::null()));
        log.fact("type", attributes.type_.0);
        Ok(())
    });
    cases.add("cudaIpcGetMemHandle/two allocations", |log| {
        let mut handles = Vec::new();
        for _ in 0..2 {
            let block = Block::new(log, Kind::Device, 4 << 20)?;
            let mut handle = cudaIpcMemHandle_t::default();
            ask!(log, cudaIpcGetMemHandle(&raw mut handle, block.ptr()));
            handles.push(handle.reserved);
        }
        log.fact("differ", handles[0] != handles[1]);
        let block = Block::new(log, Kind::Device, 4 << 20)?;
        let mut handle = cudaIpcMemHandle_t::default();
        ask!(log, cudaIpcGetMemHandle(&raw mut handle, block.ptr()));
        need!(log, cudaFree(block.ptr()));
        let again = Block::new(log, Kind::Device, 4 << 20)?;
        let mut other = cudaIpcMemHandle_t::default();
        ask!(log, cudaIpcGetMemHandle(&raw mut other, again.ptr()));
        log.fact("differ, the first being freed", handle.reserved != other.reserved);
        Ok(())
    });
    cases.alone("cudaDeviceReset/flags and a stream", |log| {
        ask!(log, cudaSetDeviceFlags(cudaDeviceScheduleYield));
        let mut flags = 77;
        ask!(log, cudaGetDeviceFlags(&raw mut flags));
        log.fact("flags", flags);
        stream(log)?;
        ask!(log, cudaDeviceReset());
        ask!(log, cudaGetDeviceFlags(&raw mut flags));
        log.fact("flags", flags);
        stream(log)?;
        ask!(log, "with a stream", cudaGetDeviceFlags(&raw mut flags));
        log.fact("flags", flags);
        ask!(log, cudaDeviceSynchronize());
        Ok(())
    });
    cases.add("cudaSetDevice/as many as there are", |log| {
        let mut count = 0;
        need!(log, cudaGetDeviceCount(&raw mut count));
        ask!(log, cudaSetDevice(count));
        Ok(())
    });
}

static SEEN: AtomicUsize = AtomicUsize::new(0);

/// The argument of the callback.
struct Given {
    on: cudaStream_t,
    block: Block,
}

unsafe extern "C" fn look(on: cudaStream_t, status: cudaError_t, data: *mut c_void) {
    // SAFETY: the case keeps it until the stream is done.
    let given = unsafe { &*data.cast::<Given>() };
    let bytes = given.block.load(&mut Log::default()).unwrap_or_default();
    let right = on == given.on && status == cudaSuccess && bytes == pattern(N, 1);
    SEEN.fetch_add(if right { 1 } else { 100 }, Ordering::SeqCst);
}

fn streams(cases: &mut Cases) {
    cases.alone("cudaStreamAddCallback/after a copy, with its stream and data", |log| {
        let (on, from) = (stream(log)?, Block::with(log, Kind::Device, &pattern(N, 1))?);
        let given = Given { on, block: Block::new(log, Kind::Pinned, N)? };
        let (to, way) = (given.block.ptr(), cudaMemcpyDeviceToHost);
        SEEN.store(0, Ordering::SeqCst);
        ask!(log, cudaMemcpyAsync(to, from.ptr(), N, way, on));
        let data = (&raw const given).cast_mut().cast();
        ask!(log, cudaStreamAddCallback(on, Some(look), data, 0));
        ask!(log, cudaStreamSynchronize(on));
        log.fact("seen", SEEN.load(Ordering::SeqCst));
        Ok(())
    });
    cases.alone("cudaStreamGetFlags/answer null", |log| {
        let on = stream(log)?;
        ask!(log, cudaStreamGetFlags(on, ptr::null_mut()));
        Ok(())
    });
    for (what, mode) in [("no such mode", 99), ("all bits", u32::MAX)] {
        cases.alone(format!("cudaThreadExchangeStreamCaptureMode/{what}"), move |log| {
            let mut mode = cudaStreamCaptureMode(mode);
            ask!(log, cudaThreadExchangeStreamCaptureMode(&raw mut mode));
            Ok(())
        });
    }
}

pub(super) fn add(cases: &mut Cases) {
    configurations(cases);
    others(cases);
    #[cfg(cudart_13_0)]
    managed(cases);
    memory(cases);
    streams(cases);
}
