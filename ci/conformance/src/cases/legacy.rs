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

/// What keeps a stream busy.
#[derive(Clone, Copy)]
enum Busy {
    /// It is held.
    Held,
    /// It has nothing to do but to wait for an event of a third one, which is held.
    Waits,
}

impl Busy {
    fn name(self) -> &'static str {
        match self {
            Self::Held => "is held",
            Self::Waits => "waits for an event only",
        }
    }

    fn begin(self, log: &mut Log, busy: cudaStream_t) -> Result<Gate, Setup> {
        match self {
            Self::Held => Gate::hold(log, busy),
            Self::Waits => {
                let (third, pending) = (stream(log)?, event(log)?);
                let gate = Gate::hold(log, third)?;
                need!(log, cudaEventRecord(pending, third));
                need!(log, cudaStreamWaitEvent(busy, pending, 0));
                Ok(gate)
            }
        }
    }
}

pub(super) fn add(cases: &mut Cases) {
    for busy in [Busy::Held, Busy::Waits] {
        for legacy_is_busy in [true, false] {
            for (what, put) in PUTS {
                case(cases, busy, legacy_is_busy, what, put);
            }
        }
    }
}

fn case(cases: &mut Cases, busy: Busy, legacy_is_busy: bool, what: &str, put: Put) {
    let (one, other) = if legacy_is_busy {
        ("the legacy stream", "a blocking one")
    } else {
        ("a blocking stream", "the legacy one")
    };
    cases
        .add(format!("legacy/{one} {}, {other} is given {what}", busy.name()), Safe::Works, move |log| {
            let things = Things::new(log)?;
            let blocking = stream_with(log, cuda_sys::cudaStreamDefault)?;
            let (first, on) =
                if legacy_is_busy { (ptr::null_mut(), blocking) } else { (blocking, ptr::null_mut()) };
            let after = event(log)?;
            let gate = busy.begin(log, first)?;
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
