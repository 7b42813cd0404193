//! Events.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::{c_float, c_uint};
use std::time::Duration;

use super::{Call, Out, api};
use crate::error::Answer;
use crate::fidelity::{self, Limit};
use crate::graph::NodeOp;
use crate::machine;
use crate::stream::{Record, Work, query, submit, synchronize};
use crate::sys::*;

/// The interval between two looks at an event that another process may complete.
const LOOK: Duration = Duration::from_millis(1);

fn create(call: &Call, out: Out<'_, cudaEvent_t>, flags: c_uint) -> Answer {
    let (mut machine, device) = call.context()?;
    let out = out.ok_or(cudaErrorInvalidValue)?;
    let known = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    // An event between processes cannot have timing.
    let alone = flags & cudaEventInterprocess != 0 && flags & cudaEventDisableTiming == 0;
    if flags & !known != 0 || alone {
        return Err(cudaErrorInvalidValue);
    }
    out.write(machine.events.create(device, flags));
    Ok(())
}

fn record(call: &Call, event: cudaEvent_t, stream: cudaStream_t, flags: c_uint) -> Answer {
    let (mut machine, _, key) = call.stream(stream)?;
    let device = machine.events.get(event)?.device;
    match flags {
        0 => {}
        // External records are for graphs being captured.
        it if it == cudaEventRecordExternal => {
            let node = machine.add_captured(key, call.name, || Some(NodeOp::Record(event.addr())))?;
            return node.map(drop).ok_or(cudaErrorIllegalState);
        }
        _ => return Err(cudaErrorInvalidValue),
    }
    if machine.streams.get(key)?.device != device {
        return Err(cudaErrorInvalidResourceHandle);
    }
    submit(&mut machine, key, call.name, Work::Record(Record { event: event.addr() }), &[]).map(drop)
}

api! {
    /// Creates an event with timing.
    allowed fn cudaEventCreate(call, out: Out<'_, cudaEvent_t>) {
        create(call, out, 0)
    }

    /// Creates an event.
    allowed fn cudaEventCreateWithFlags(call, out: Out<'_, cudaEvent_t>, flags: c_uint) {
        create(call, out, flags)
    }

    /// Ends an event; waits for it that were asked for stay.
    allowed fn cudaEventDestroy(call, event: cudaEvent_t) {
        let (mut machine, _) = call.context()?;
        machine.events.destroy(event)
    }

    /// Has an event mark the moment when a stream has done all that it has to do now.
    allowed fn cudaEventRecord | cudaEventRecord_ptsz(call, event: cudaEvent_t, stream: cudaStream_t) {
        record(call, event, stream, 0)
    }

    /// The same, with flags.
    allowed fn cudaEventRecordWithFlags | cudaEventRecordWithFlags_ptsz(
        call, event: cudaEvent_t, stream: cudaStream_t, flags: c_uint,
    ) {
        record(call, event, stream, flags)
    }

    /// Whether the moment that an event marks has come.
    allowed fn cudaEventQuery(call, event: cudaEvent_t) {
        let (mut machine, _) = call.context()?;
        machine.event_waitable(event.addr())?;
        let event = machine.events.get(event)?;
        let (elsewhere, last) = (event.awaited().is_some(), event.id);
        query(&mut machine, last.as_slice())?;
        // A record of another process has no name here.
        if elsewhere { Err(cudaErrorNotReady) } else { Ok(()) }
    }

    /// Waits for the moment that an event marks.
    allowed fn cudaEventSynchronize(call, event: cudaEvent_t) {
        let (mut machine, _) = call.context()?;
        machine.event_waitable(event.addr())?;
        let event = machine.events.get(event)?;
        let (device, id, awaited) = (event.device, event.id, event.awaited());
        synchronize(&mut machine, device, id.as_slice())?;
        while awaited.as_ref().is_some_and(|awaited| !awaited.moments.reached(awaited.number)) {
            machine::wait(&mut machine, LOOK);
        }
        Ok(())
    }

    /// The milliseconds between the moments that two events mark.
    allowed fn cudaEventElapsedTime(call, out: Out<'_, c_float>, start: cudaEvent_t, end: cudaEvent_t) {
        fidelity::note(Limit::EventTimes);
        let (mut machine, _) = call.context()?;
        let out = out.ok_or(cudaErrorInvalidValue)?;
        if machine.events.get(start)?.device != machine.events.get(end)?.device {
            return Err(cudaErrorInvalidResourceHandle);
        }
        let mut ids = Vec::new();
        for event in [start, end] {
            machine.event_timeable(event.addr())?;
            let event = machine.events.get(event)?;
            let timed = event.flags & cudaEventDisableTiming == 0;
            ids.push(event.id.filter(|_| timed).ok_or(cudaErrorInvalidResourceHandle)?);
        }
        query(&mut machine, &ids)?;
        let moment = |event| machine.events.get(event)?.at.ok_or(cudaErrorInvalidResourceHandle);
        let (start, end) = (moment(start)?, moment(end)?);
        let forth = end.saturating_duration_since(start).as_secs_f32();
        let back = start.saturating_duration_since(end).as_secs_f32();
        out.write((forth - back) * 1000.0);
        Ok(())
    }
}
