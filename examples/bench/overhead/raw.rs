//! The operations as calls of the C functions: what Rust itself costs, without the safe layer.
#![expect(unsafe_code, reason = "calls C")]

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

use cuda_kernels::kernels;
use cuda_safe::{Result, check, sys};

use crate::{BYTES, COUNTER, MEBIBYTE, Plan, Things};

unsafe extern "C" fn count_up(counter: *mut c_void) {
    // SAFETY: given a pointer to the static counter, below.
    let counter = unsafe { &*counter.cast_const().cast::<AtomicU32>() };
    counter.fetch_add(1, Ordering::SeqCst);
}

/// Measures an operation; nothing where there is none of that name.
pub(crate) fn measure(operation: &str, plan: &Plan, things: &mut Things) -> Result<Option<f64>> {
    let Things { stream, event, numbers, a, b, c, pinned, pageable } = things;
    let (stream, event) = (stream.as_raw(), event.as_raw());
    let (mut numbers, mut count) = (numbers.as_mut_ptr(), 0_u32);
    let (mut a, mut b, mut c) = (a.as_mut_ptr(), b.as_mut_ptr(), c.as_mut_ptr());
    let (pinned, pageable) = (pinned.as_mut_ptr(), pageable.as_mut_ptr());
    let (one, warp) = (sys::dim3 { x: 1, y: 1, z: 1 }, sys::dim3 { x: 32, y: 1, z: 1 });
    let (add_one, vector_add) = (kernels::add_one.as_raw(), kernels::vector_add.as_raw());
    // In all of them: the handles are live and of one device, each memory holds the bytes named, and what is enqueued has
    // ended before anything is dropped, because the plan ends with a synchronisation.
    match operation {
        "launch_two" => plan.time(|| {
            let mut values: [*mut c_void; 2] = [(&raw mut numbers).cast(), (&raw mut count).cast()];
            // SAFETY: two values of the kernel's two types; with a count of zero it touches nothing.
            unsafe { check!(cudaLaunchKernel(add_one, one, warp, values.as_mut_ptr(), 0, stream)) }
        }),
        "launch_three" => plan.time(|| {
            let mut values: [*mut c_void; 4] =
                [(&raw mut a).cast(), (&raw mut b).cast(), (&raw mut c).cast(), (&raw mut count).cast()];
            // SAFETY: four values of the kernel's four types; with a count of zero it touches nothing.
            unsafe { check!(cudaLaunchKernel(vector_add, one, warp, values.as_mut_ptr(), 0, stream)) }
        }),
        // SAFETY: see above.
        "event_record" => plan.time(|| unsafe { check!(cudaEventRecord(event, stream)) }),
        // SAFETY: see above.
        "event_query" => plan.time(|| unsafe { check!(cudaEventQuery(event)) }),
        "event_create" => plan.time(|| {
            let mut created = null_mut();
            // SAFETY: the pointer is to a live handle of ours, which the call fills.
            unsafe { check!(cudaEventCreateWithFlags(&raw mut created, sys::cudaEventDisableTiming)) }?;
            // SAFETY: just made, and used by nothing.
            unsafe { check!(cudaEventDestroy(created)) }
        }),
        // SAFETY: see above.
        "synchronise" => plan.time(|| unsafe { check!(cudaStreamSynchronize(stream)) }),
        "host_function" => plan.time(|| {
            let counter = (&raw const COUNTER).cast_mut().cast();
            // SAFETY: see above; the function takes a pointer to the counter, which is static.
            unsafe { check!(cudaLaunchHostFunc(stream, Some(count_up), counter)) }
        }),
        "alloc_async" => plan.time(|| {
            let mut memory = null_mut();
            // SAFETY: the pointer is to a live pointer of ours, which the call fills.
            unsafe { check!(cudaMallocAsync(&raw mut memory, BYTES, stream)) }?;
            // SAFETY: just allocated on that stream, and used by nothing.
            unsafe { check!(cudaFreeAsync(memory, stream)) }
        }),
        "alloc" => plan.time(|| {
            let mut memory = null_mut();
            // SAFETY: the pointer is to a live pointer of ours, which the call fills.
            unsafe { check!(cudaMalloc(&raw mut memory, MEBIBYTE)) }?;
            // SAFETY: just allocated, and used by nothing.
            unsafe { check!(cudaFree(memory)) }
        }),
        // SAFETY: see above.
        "h2d_pinned" => plan.time(|| unsafe {
            check!(cudaMemcpyAsync(a.cast(), pinned.cast(), BYTES, sys::cudaMemcpyHostToDevice, stream))
        }),
        // SAFETY: see above.
        "h2d_pageable" => plan.time(|| unsafe {
            check!(cudaMemcpy(a.cast(), pageable.cast(), BYTES, sys::cudaMemcpyHostToDevice))
        }),
        // SAFETY: see above.
        "d2h_pageable" => plan.time(|| unsafe {
            check!(cudaMemcpy(pageable.cast(), a.cast(), BYTES, sys::cudaMemcpyDeviceToHost))
        }),
        // SAFETY: see above.
        "d2d" => plan.time(|| unsafe {
            check!(cudaMemcpyAsync(b.cast(), a.cast(), BYTES, sys::cudaMemcpyDeviceToDevice, stream))
        }),
        // SAFETY: see above.
        "memset" => plan.time(|| unsafe { check!(cudaMemsetAsync(a.cast(), 0, BYTES, stream)) }),
        "round_trip" => plan.time(|| {
            // SAFETY: see above.
            unsafe {
                check!(cudaMemcpyAsync(a.cast(), pinned.cast(), BYTES, sys::cudaMemcpyHostToDevice, stream))
            }?;
            // SAFETY: see above.
            unsafe {
                check!(cudaMemcpyAsync(pinned.cast(), a.cast(), BYTES, sys::cudaMemcpyDeviceToHost, stream))
            }?;
            // SAFETY: see above.
            unsafe { check!(cudaStreamSynchronize(stream)) }
        }),
        _ => return Ok(None),
    }
    .map(Some)
}
