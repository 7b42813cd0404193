//! The legacy stream and the blocking ones: which operations put a stream behind the other.
//!
//! `cuda-safe` concludes from the end of a blocking stream that what the legacy stream had been given is over, too,
//! for operations that really wait for it; these cases say which those are.

use std::ptr;

use cuda_sys::cudaStream_t;

use crate::case::{Cases, Safe};
use crate::gate::Gate;
use crate::log::{Log, Setup, ask, need};
use crate::memory::{Block, Kind, event, stream, stream_with};

/// What is put on the stream that is not held, and what it needs.
type Put = fn(&mut Log, &Things, cudaStream_t);

struct Things {
    pinned: Block,
    device: Block,
    managed: Block,
    pool: Block,
    over: cuda_sys::cudaEvent_t,
    mark: cuda_sys::cudaEvent_t,
}

impl Things {
    fn new(log: &mut Log) -> Result<Self, Setup> {
        let things = Self {
            pinned: Block::new(log, Kind::Pinned, 4096)?,
            device: Block::new(log, Kind::Device, 4096)?,
            managed: Block::new(log, Kind::Managed, 4096)?,
            pool: Block::new(log, Kind::Pool, 4096)?,
            over: event(log)?,
            mark: event(log)?,
        };
        let aside = stream(log)?;
        need!(log, cudaEventRecord(things.over, aside));
        need!(log, cudaDeviceSynchronize());
        Ok(things)
    }
}

const PUTS: [(&str, Put); 10] = [
    ("a copy", |log, t, on| {
        ask!(log, cudaMemcpyAsync(t.device.ptr(), t.pinned.ptr(), 64, cuda_sys::cudaMemcpyDefault, on));
    }),
    ("a set", |log, t, on| {
        ask!(log, cudaMemsetAsync(t.device.ptr(), 1, 64, on));
    }),
    ("a copy within planes", |log, t, on| {
        ask!(
            log,
            cudaMemcpy2DAsync(t.device.ptr(), 64, t.pinned.ptr(), 64, 32, 8, cuda_sys::cudaMemcpyDefault, on)
        );
    }),
    ("a host function", |log, _, on| {
        unsafe extern "C" fn nothing(_: *mut std::ffi::c_void) {}
        ask!(log, cudaLaunchHostFunc(on, Some(nothing), ptr::null_mut()));
    }),
    ("an event", |log, t, on| {
        ask!(log, cudaEventRecord(t.mark, on));
    }),
    ("a wait for what is over", |log, t, on| {
        ask!(log, cudaStreamWaitEvent(on, t.over, 0));
    }),
    ("a wait for its own event", |log, t, on| {
        ask!(log, cudaEventRecord(t.mark, on));
        ask!(log, cudaStreamWaitEvent(on, t.mark, 0));
    }),
    ("freeing in order", |log, t, on| {
        ask!(log, cudaFreeAsync(t.pool.ptr(), on));
    }),
    ("attaching managed memory", |log, t, on| {
        ask!(log, cudaStreamAttachMemAsync(on, t.managed.ptr(), 0, cuda_sys::cudaMemAttachGlobal));
    }),
    ("prefetching managed memory", |log, t, on| super::managed::prefetch(log, t.managed.ptr(), 4096, 0, on)),
];

pub(super) fn add(cases: &mut Cases) {
    for legacy_is_held in [true, false] {
        let (held, other) = if legacy_is_held {
            ("the legacy stream", "a blocking one")
        } else {
            ("a blocking stream", "the legacy one")
        };
        for (what, put) in PUTS {
            cases
                .add(format!("legacy/{held} is held, {other} is given {what}"), Safe::Works, move |log| {
                    let things = Things::new(log)?;
                    let blocking = stream_with(log, cuda_sys::cudaStreamDefault)?;
                    let (held, on) = if legacy_is_held {
                        (ptr::null_mut(), blocking)
                    } else {
                        (blocking, ptr::null_mut())
                    };
                    let after = event(log)?;
                    let gate = Gate::hold(log, held)?;
                    put(log, &things, on);
                    ask!(log, "the stream", cudaStreamQuery(on));
                    ask!(log, cudaEventRecord(after, on));
                    ask!(log, "an event behind it", cudaEventQuery(after));
                    gate.open();
                    ask!(log, cudaDeviceSynchronize());
                    Ok(())
                })
                .alone();
        }
    }
    behind_waits(cases);
}

/// The stream that is held has nothing to do but to wait for an event of a third one, which is held.
fn behind_waits(cases: &mut Cases) {
    for legacy_waits in [true, false] {
        let (waiting, other) = if legacy_waits {
            ("the legacy stream", "a blocking one")
        } else {
            ("a blocking stream", "the legacy one")
        };
        for (what, put) in PUTS {
            let id = format!("legacy/{waiting} waits for an event only, {other} is given {what}");
            cases
                .add(id, Safe::Works, move |log| {
                    let things = Things::new(log)?;
                    let blocking = stream_with(log, cuda_sys::cudaStreamDefault)?;
                    let (waits, on) =
                        if legacy_waits { (ptr::null_mut(), blocking) } else { (blocking, ptr::null_mut()) };
                    let (third, pending, after) = (stream(log)?, event(log)?, event(log)?);
                    let gate = Gate::hold(log, third)?;
                    need!(log, cudaEventRecord(pending, third));
                    need!(log, cudaStreamWaitEvent(waits, pending, 0));
                    put(log, &things, on);
                    ask!(log, "the stream", cudaStreamQuery(on));
                    ask!(log, cudaEventRecord(after, on));
                    ask!(log, "an event behind it", cudaEventQuery(after));
                    gate.open();
                    ask!(log, cudaDeviceSynchronize());
                    Ok(())
                })
                .alone();
        }
    }
}
