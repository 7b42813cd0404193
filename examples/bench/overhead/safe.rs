//! The operations as a program of `cuda-safe` writes them.
#![expect(unsafe_code, reason = "launches kernels")]

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use cuda_kernels::kernels::{add_one, vector_add};
use cuda_safe::copy::CopyBatch3d;
use cuda_safe::{
    CopyBatch, DeviceBuffer, Event, Result, launch, memcpy, memcpy_2d_async, memcpy_3d_async, memcpy_async,
    memset_async,
};

use crate::things::Things;
use crate::turns::Plan;
use crate::{
    APART, COPIES, COUNTER, FLOATS, LAYER_ROWS, LAYERS, MEBIBYTE, PITCH, ROW, ROWS, SMALL, SOLID,
    SOLID_LAYERS, SOLID_PITCH, SOLID_ROW, SOLID_ROWS, SOLIDS,
};

/// Wakes a thread, as the simplest executor does.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread, which `waker` wakes.
fn block_on(future: impl Future<Output = Result<()>>, waker: &Waker) -> Result<()> {
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(waker)) {
            Poll::Ready(result) => return result,
            Poll::Pending => thread::park(),
        }
    }
}

/// Runs the plan with an operation. Does nothing if there is no operation of that name.
pub(crate) fn measure(operation: &str, plan: Plan<'_>, things: &mut Things) -> Result<()> {
    let Things { stream, second, event, other, pool, exec, numbers, a, b, c, pinned, pageable } = things;
    let pageable = &mut pageable.0[..];
    match operation {
        "launch_two" => plan.time(|| {
            // SAFETY: with a count of zero the kernel touches nothing.
            unsafe { launch!(add_one.unchecked()<<<1, 32, 0, stream>>>(&mut *numbers, 0)) }
        }),
        "launch_three" => plan.time(|| {
            // SAFETY: as above.
            unsafe { launch!(vector_add.unchecked()<<<1, 32, 0, stream>>>(&*a, &*b, &mut *c, 0)) }
        }),
        "launch_proven" => plan.time(|| launch!(vector_add<<<1, 32, 0, stream>>>(&*a, &*b, &mut *c, 0))),
        "event_record" => plan.time(|| event.record(stream)),
        "event_query" => plan.time(|| event.is_done().map(drop)),
        "event_create" => plan.time(|| Event::without_timing().map(drop)),
        "synchronise" => plan.time(|| stream.synchronize()),
        "host_function" => plan.time(|| {
            stream.launch_host_fn(|| {
                COUNTER.fetch_add(1, Ordering::SeqCst);
            })
        }),
        "wait_blocking" => plan.time(|| {
            memset_async(a, 0, stream)?;
            stream.synchronize()
        }),
        "wait_woken" => {
            let waker = Waker::from(Arc::new(Unpark(thread::current())));
            plan.time(|| {
                memset_async(a, 0, stream)?;
                block_on(stream.done(), &waker)
            })
        }
        "wait_polled" => {
            let waker = Waker::from(Arc::new(Unpark(thread::current())));
            plan.time(|| {
                memset_async(a, 0, stream)?;
                block_on(stream.synchronized(), &waker)
            })
        }
        "alloc_async" => plan.time(|| DeviceBuffer::<f32>::alloc_async(FLOATS, stream)?.free_async(stream)),
        "alloc_drop" => plan.time(|| DeviceBuffer::<f32>::alloc_async(FLOATS, stream).map(drop)),
        "alloc_pool" => {
            plan.time(|| DeviceBuffer::<f32>::alloc_from(pool, FLOATS, stream)?.free_async(stream))
        }
        "alloc" => plan.time(|| DeviceBuffer::<u8>::alloc(MEBIBYTE)?.free()),
        "h2d_pinned" => plan.time(|| memcpy_async(a, pinned, stream)),
        "h2d_scope" => stream.scope(|scope| plan.time(|| scope.memcpy_async(&mut *a, &*pageable)))?,
        "h2d_pageable" => plan.time(|| memcpy(a, pageable)),
        "d2h_pageable" => plan.time(|| memcpy(pageable, a)),
        "d2d" => plan.time(|| memcpy_async(b, a, stream)),
        "plane" => {
            let from = a.slice(..)?.plane_with_pitch(ROW, ROWS, PITCH)?;
            let mut to = b.slice_mut(..)?.plane_mut_with_pitch(ROW, ROWS, PITCH)?;
            plan.time(|| memcpy_2d_async(&mut to, &from, stream))
        }
        "plane_pinned" => {
            let from = pinned.slice(..)?.plane_with_pitch(ROW, ROWS, PITCH)?;
            let mut to = a.slice_mut(..)?.plane_mut_with_pitch(ROW, ROWS, PITCH)?;
            plan.time(|| memcpy_2d_async(&mut to, &from, stream))
        }
        "volume" => {
            let extent = (ROW, LAYER_ROWS, LAYERS);
            let from = a.slice(..)?.volume_with_pitch(extent, PITCH, LAYER_ROWS)?;
            let mut to = b.slice_mut(..)?.volume_mut_with_pitch(extent, PITCH, LAYER_ROWS)?;
            plan.time(|| memcpy_3d_async(&mut to, &from, stream))
        }
        "batch" => {
            let from = pinned.slice(..)?.chunks(APART)?.map(|part| part.slice(..SMALL));
            let to = b.slice_mut(..)?.chunks_mut(APART)?.map(|part| Ok(part.split_at_mut(SMALL)?.0));
            let from: Vec<_> = from.take(COPIES).collect::<Result<_>>()?;
            let mut to: Vec<_> = to.take(COPIES).collect::<Result<_>>()?;
            let batch: CopyBatch<'_> = to.iter_mut().zip(&from).collect();
            plan.time(|| batch.enqueue(stream))
        }
        "batch_3d" => {
            let extent = (SOLID_ROW, SOLID_ROWS, SOLID_LAYERS);
            let from = pinned.slice(..)?.chunks(SOLID)?;
            let from = from.map(|part| part.volume_with_pitch(extent, SOLID_PITCH, SOLID_ROWS));
            let to = b.slice_mut(..)?.chunks_mut(SOLID)?;
            let to = to.map(|part| part.volume_mut_with_pitch(extent, SOLID_PITCH, SOLID_ROWS));
            let from: Vec<_> = from.take(SOLIDS).collect::<Result<_>>()?;
            let mut to: Vec<_> = to.take(SOLIDS).collect::<Result<_>>()?;
            let batch = CopyBatch3d::with_capacity(SOLIDS);
            let batch = to.iter_mut().zip(&from).fold(batch, |batch, (to, from)| batch.copy_3d(to, from));
            plan.time(|| batch.enqueue(stream))
        }
        "memset" => plan.time(|| memset_async(a, 0, stream)),
        "graph" => plan.time(|| exec.launch(stream)),
        "switch" => plan.time(|| {
            memset_async(a, 0, stream)?;
            memset_async(a, 0, second)
        }),
        "switch_by_hand" => plan.time(|| {
            memset_async(a, 0, stream)?;
            event.record(stream)?;
            second.wait(event)?;
            memset_async(a, 0, second)?;
            other.record(second)?;
            stream.wait(other)
        }),
        "round_trip" => plan.time(|| {
            memcpy_async(a, pinned, stream)?;
            memcpy_async(pinned, a, stream)?;
            stream.synchronize()
        }),
        _ => Ok(()),
    }
}
