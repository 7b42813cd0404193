//! The operations as a program of `cuda-safe` writes them.
#![expect(unsafe_code, reason = "launches kernels")]

use std::sync::atomic::Ordering;

use cuda_kernels::kernels::{add_one, vector_add};
use cuda_safe::{DeviceBuffer, Event, Result, launch, memcpy, memcpy_async, memset_async};

use crate::{COUNTER, FLOATS, MEBIBYTE, Plan, Things};

/// Measures an operation; nothing where there is none of that name.
pub(crate) fn measure(operation: &str, plan: &Plan, things: &mut Things) -> Result<Option<f64>> {
    let Things { stream, event, numbers, a, b, c, pinned, pageable } = things;
    match operation {
        "launch_two" => plan.time(|| {
            // SAFETY: with a count of zero the kernel touches nothing.
            unsafe { launch!(add_one<<<1, 32, 0, stream>>>(&mut *numbers, 0)) }
        }),
        "launch_three" => plan.time(|| {
            // SAFETY: as above.
            unsafe { launch!(vector_add<<<1, 32, 0, stream>>>(&*a, &*b, &mut *c, 0)) }
        }),
        "event_record" => plan.time(|| event.record(stream)),
        "event_query" => plan.time(|| event.is_done().map(drop)),
        "event_create" => plan.time(|| Event::without_timing().map(drop)),
        "synchronise" => plan.time(|| stream.synchronize()),
        "host_function" => plan.time(|| {
            stream.launch_host_fn(|| {
                COUNTER.fetch_add(1, Ordering::SeqCst);
            })
        }),
        "alloc_async" => plan.time(|| DeviceBuffer::<f32>::alloc_async(FLOATS, stream)?.free_async(stream)),
        "alloc" => plan.time(|| DeviceBuffer::<u8>::alloc(MEBIBYTE)?.free()),
        "h2d_pinned" => plan.time(|| memcpy_async(a, pinned, stream)),
        "h2d_pageable" => plan.time(|| memcpy(a, pageable)),
        "d2h_pageable" => plan.time(|| memcpy(pageable, a)),
        "d2d" => plan.time(|| memcpy_async(b, a, stream)),
        "memset" => plan.time(|| memset_async(a, 0, stream)),
        "round_trip" => plan.time(|| {
            memcpy_async(a, pinned, stream)?;
            memcpy_async(pinned, a, stream)?;
            stream.synchronize()
        }),
        _ => return Ok(None),
    }
    .map(Some)
}
