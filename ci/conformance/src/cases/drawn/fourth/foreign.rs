//! Resources of other interfaces, where there are none.

use std::ffi::c_void;

use cuda_sys as sys;

use super::super::common::{N, add_case, begin, device, end, null, taken, waits};
use super::super::open::foreign::semaphore;
use crate::case::Cases;
use crate::cases::kernel::fill;
use crate::gate::Gate;
use crate::log::{ask, need};
use crate::memory::{stream, stream_with};

pub(super) fn add(cases: &mut Cases) {
    add_case(cases, 402, "of no resource, before a kernel that writes beside the picture", |log| {
        let (mut picture, staging) = (std::ptr::without_provenance_mut(32), device(log)?);
        for (index, level) in [(0, 0), (1, 0), (0, 5), (u32::MAX, u32::MAX)] {
            let to = &raw mut picture;
            let name = format!("{index} {level}");
            ask!(log, &name, cudaGraphicsSubResourceGetMappedArray(to, null(), index, level));
            log.fact("picture", picture.addr());
            ask!(log, "last", cudaGetLastError());
        }
        ask!(log, "no place", cudaGraphicsSubResourceGetMappedArray(null(), null(), 0, 0));
        fill(log, staging.ptr(), 3, N, null())?;
        ask!(log, "its error", cudaPeekAtLastError());
        let from = staging.ptr().cast_const();
        let across = sys::cudaMemcpyDeviceToDevice;
        ask!(log, "to the picture", cudaMemcpy2DToArray(null(), 0, 0, from, 64, 64, 4, across));
        taken(log)
    });
    add_case(cases, 432, "three behind kernels, of which there are none, on streams of each kind", |log| {
        let (block, mut none) = (device(log)?, [null(); 3]);
        for (name, on) in [("default", null()), ("its own", stream(log)?), ("blocking", stream_with(log, 0)?)]
        {
            fill(log, block.ptr(), 1, N, on)?;
            ask!(log, name, cudaGraphicsUnmapResources(3, none.as_mut_ptr(), on));
            ask!(log, "last", cudaGetLastError());
            ask!(log, cudaStreamSynchronize(on));
        }
        for count in [0, -1] {
            ask!(log, &format!("{count}"), cudaGraphicsUnmapResources(count, none.as_mut_ptr(), null()));
        }
        ask!(log, "no list", cudaGraphicsUnmapResources(3, null(), null()));
        ask!(log, "none of no list", cudaGraphicsUnmapResources(0, null(), null()));
        taken(log)
    });
    add_case(cases, 473, "two that were never there, at the end, before the memory", |log| {
        let block = device(log)?;
        ask!(log, "heights", cudaGraphicsUnregisterResource(null()));
        ask!(log, "slopes", cudaGraphicsUnregisterResource(null()));
        ask!(log, "peek", cudaPeekAtLastError());
        ask!(log, cudaFree(block.ptr()));
        let on = begin(log)?;
        ask!(log, "while a stream captures", cudaGraphicsUnregisterResource(null()));
        end(log, on);
        ask!(log, "flags", cudaGraphicsResourceSetMapFlags(null(), 2));
        ask!(log, "no such flags", cudaGraphicsResourceSetMapFlags(null(), 77));
        taken(log)
    });
    add_case(cases, 485, "of two, each behind its map, between transforms", |log| {
        let (block, mut none) = (device(log)?, null());
        fill(log, block.ptr(), 1, N, null())?;
        for name in ["heights", "slopes"] {
            let (mut at, mut size) = (std::ptr::without_provenance_mut::<c_void>(48), 5);
            ask!(log, name, cudaGraphicsMapResources(1, &raw mut none, null()));
            ask!(log, cudaGraphicsResourceGetMappedPointer(&raw mut at, &raw mut size, none));
            log.fact("answer", format_args!("{} {size}", at.addr()));
            ask!(log, "its size only", cudaGraphicsResourceGetMappedPointer(null(), &raw mut size, none));
            ask!(log, "last", cudaGetLastError());
            ask!(log, "used then", cudaMemset(null(), 1, size));
            ask!(log, "back", cudaGraphicsUnmapResources(1, &raw mut none, null()));
        }
        ask!(log, cudaDeviceSynchronize());
        taken(log)
    });
    add_case(cases, 461, "behind its stream, while another stream is held, again", |log| {
        let (on, block) = (stream(log)?, device(log)?);
        let made = semaphore(log, "made", 2, -1, 0);
        need!(log, cudaMemsetAsync(block.ptr(), 1, N, on));
        ask!(log, cudaStreamDestroy(on));
        ask!(log, "it", cudaDestroyExternalSemaphore(made));
        ask!(log, "last", cudaGetLastError());
        let other = stream(log)?;
        let gate = Gate::hold(log, other)?;
        waits(log, &gate, |log| {
            ask!(log, "again", cudaDestroyExternalSemaphore(made));
            ask!(log, "its memory", cudaDestroyExternalMemory(null()));
        });
        let wanted = sys::cudaExternalSemaphoreWaitParams::default();
        let none: sys::cudaExternalSemaphore_t = null();
        ask!(
            log,
            "a wait for none",
            cudaWaitExternalSemaphoresAsync(&raw const none, &raw const wanted, 0, other)
        );
        ask!(log, cudaFree(block.ptr()));
        taken(log)
    });
}
