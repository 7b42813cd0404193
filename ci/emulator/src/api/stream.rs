//! Streams.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::{c_int, c_uint, c_ulonglong};

use super::graph::destroy;
use super::{Call, Out, api, follows_null, put};
use crate::error::Answer;
use crate::graph::NodeOp;
use crate::profile::profile;
use crate::stream::{Stream, StreamId, Work, query, submit, synchronize};
use crate::sys::*;

/// The priorities of streams, from the least to the greatest.
pub(super) const LEAST: c_int = 0;
pub(super) const GREATEST: c_int = -5;

/// How many domains of memory synchronisation there are: `cudaDevAttrMemSyncDomainCount`.
const DOMAINS: u8 = 4;

fn create(call: &Call, out: Out<'_, cudaStream_t>, flags: c_uint, priority: c_int) -> Answer {
    let out = out.ok_or(cudaErrorInvalidValue)?;
    let (mut machine, device) = call.context()?;
    if flags & !cudaStreamNonBlocking != 0 {
        return Err(cudaErrorInvalidValue);
    }
    out.write(machine.streams.create(device, flags, priority.clamp(GREATEST, LEAST)));
    Ok(())
}

/// The value of an attribute, if streams have it.
fn attribute(stream: &Stream, attr: cudaLaunchAttributeID) -> Answer<cudaLaunchAttributeValue> {
    match attr {
        it if it == cudaLaunchAttributeSynchronizationPolicy => {
            Ok(cudaLaunchAttributeValue { syncPolicy: cudaSynchronizationPolicy(stream.policy) })
        }
        it if it == cudaLaunchAttributePriority => Ok(cudaLaunchAttributeValue { priority: stream.priority }),
        it if it == cudaLaunchAttributeAccessPolicyWindow => {
            Ok(cudaLaunchAttributeValue { accessPolicyWindow: stream.window })
        }
        it if it == cudaLaunchAttributeMemSyncDomain => {
            Ok(cudaLaunchAttributeValue { memSyncDomain: stream.domain })
        }
        it if it == cudaLaunchAttributeMemSyncDomainMap => {
            Ok(cudaLaunchAttributeValue { memSyncDomainMap: stream.domains })
        }
        _ => Err(cudaErrorInvalidValue),
    }
}

/// All that a stream has to do: waiting for it means waiting for these.
fn pending(machine: &crate::machine::Guard, key: StreamId) -> Vec<crate::stream::OperationId> {
    machine.streams.owed(key, &machine.queue)
}

api! {
    /// Creates a stream that the legacy stream waits for.
    allowed fn cudaStreamCreate(call, out: Out<'_, cudaStream_t>) {
        create(call, out, 0, 0)
    }

    /// Creates a stream.
    allowed fn cudaStreamCreateWithFlags(call, out: Out<'_, cudaStream_t>, flags: c_uint) {
        create(call, out, flags, 0)
    }

    /// Creates a stream with a priority, which is brought into range.
    allowed fn cudaStreamCreateWithPriority(call, out: Out<'_, cudaStream_t>, flags: c_uint, priority: c_int) {
        create(call, out, flags, priority)
    }

    /// Destroys a stream. Its pending work still runs.
    allowed fn cudaStreamDestroy(call, stream: cudaStream_t) {
        let (mut machine, device) = call.context()?;
        if let Ok(key) = machine.streams.resolve(stream, device, false)
            && let Some(graph) = machine.stream_gone(key)
        {
            // The program may have destroyed it already.
            let _ = destroy(&mut machine, graph);
        }
        machine.streams.destroy(stream)
    }

    /// Waits for all that a stream has to do.
    allowed fn cudaStreamSynchronize | cudaStreamSynchronize_ptsz(call, stream: cudaStream_t) {
        let (mut machine, _, key) = call.stream(stream)?;
        machine.waitable(key)?;
        let (device, ids) = (machine.streams.get(key)?.device, pending(&machine, key));
        synchronize(&mut machine, device, &ids)
    }

    /// Whether a stream has nothing left to do.
    allowed fn cudaStreamQuery | cudaStreamQuery_ptsz(call, stream: cudaStream_t) {
        let (mut machine, _, key) = call.stream(stream)?;
        machine.waitable(key)?;
        let ids = pending(&machine, key);
        query(&mut machine, &ids)
    }

    /// Has a stream wait for the moment that an event marks now.
    allowed fn cudaStreamWaitEvent | cudaStreamWaitEvent_ptsz(call, stream: cudaStream_t, event: cudaEvent_t, flags: c_uint) {
        let (mut machine, _, key) = call.stream(stream)?;
        let (id, awaited) = { let event = machine.events.get(event)?; (event.id, event.awaited()) };
        match flags {
            0 if machine.wait_captured(key, event.addr())? => return Ok(()),
            0 => {}
            // External waits are for graphs being captured.
            it if it == cudaEventWaitExternal => {
                let op = || Some(NodeOp::Wait(event.addr()));
                let node = machine.add_captured(key, call.name, op)?;
                return node.map(drop).ok_or(cudaErrorIllegalState);
            }
            _ => return Err(cudaErrorInvalidValue),
        }
        let pending = id.filter(|id| machine.queue.pending(*id));
        if let Some(over) = id.filter(|id| pending.is_none() && machine.queue.matters(*id)) {
            let device = machine.streams.get(key)?.device;
            let m = &mut *machine;
            if let Some(done) = m.queue.push_done(device, Some(key), call.name, &[over]) {
                m.streams.comes_after(key, done);
            }
        }
        // Another process may have recorded the event since.
        let work = awaited.map_or(Work::Nothing, |awaited| Work::Task(Box::new(awaited)));
        if pending.is_some() || matches!(work, Work::Task(_)) {
            submit(&mut machine, key, call.name, work, pending.as_slice())?;
        }
        Ok(())
    }

    /// The flags of a stream.
    allowed fn cudaStreamGetFlags | cudaStreamGetFlags_ptsz(call, stream: cudaStream_t, flags: Out<'_, c_uint>) {
        let (mut machine, _, key) = call.stream(stream)?;
        let flags = flags.ok_or(cudaErrorInvalidValue)?;
        machine.unasked_in_capture(key)?;
        put(Some(flags), machine.streams.get(key)?.flags)
    }

    /// The priority of a stream.
    allowed fn cudaStreamGetPriority | cudaStreamGetPriority_ptsz(call, stream: cudaStream_t, priority: Out<'_, c_int>) {
        let (machine, _, key) = call.stream(stream)?;
        put(priority, machine.streams.get(key)?.priority)
    }

    /// The device of a stream.
    allowed fn cudaStreamGetDevice | cudaStreamGetDevice_ptsz(call, stream: cudaStream_t, device: Out<'_, c_int>) {
        let (machine, _, key) = call.stream(stream)?;
        if device.is_none() {
            follows_null(call, "the place of the answer");
        }
        put(device, c_int::try_from(machine.streams.get(key)?.device).unwrap_or(-1))
    }

    /// The number of a stream, which no other stream has or had.
    allowed fn cudaStreamGetId | cudaStreamGetId_ptsz(call, stream: cudaStream_t, id: Out<'_, c_ulonglong>) {
        let (mut machine, _, key) = call.stream(stream)?;
        machine.unasked_in_capture(key)?;
        put(id, key)
    }

    /// An attribute of a stream.
    allowed fn cudaStreamGetAttribute | cudaStreamGetAttribute_ptsz(
        call, stream: cudaStream_t, attr: cudaLaunchAttributeID, value: Out<'_, cudaLaunchAttributeValue>,
    ) {
        let (machine, _, key) = call.stream(stream)?;
        let found = attribute(machine.streams.get(key)?, attr)?;
        if value.is_none() {
            follows_null(call, "the place of the answer");
        }
        put(value, found)
    }

    /// Sets an attribute of a stream.
    allowed fn cudaStreamSetAttribute | cudaStreamSetAttribute_ptsz(
        call, stream: cudaStream_t, attr: cudaLaunchAttributeID, value: Option<&cudaLaunchAttributeValue>,
    ) {
        let (mut machine, _, key) = call.stream(stream)?;
        attribute(machine.streams.get(key)?, attr)?;
        let Some(value) = value else { follows_null(call, "the value of the attribute") };
        if attr == cudaLaunchAttributeSynchronizationPolicy {
            // SAFETY: the attribute says which member of the union the program has set.
            let policy = unsafe { value.syncPolicy };
            if !(cudaSyncPolicyAuto.0..=cudaSyncPolicyBlockingSync.0).contains(&policy.0) {
                return Err(cudaErrorInvalidValue);
            }
            machine.streams.get_mut(key)?.policy = policy.0;
        } else if attr == cudaLaunchAttributePriority {
            // SAFETY: the attribute says which member of the union the program has set.
            let priority = unsafe { value.priority };
            machine.streams.get_mut(key)?.priority = priority.clamp(GREATEST, LEAST);
        } else if attr == cudaLaunchAttributeAccessPolicyWindow {
            // SAFETY: the attribute says which member of the union the program has set.
            let window = unsafe { value.accessPolicyWindow };
            let possible = (0.0..=1.0).contains(&window.hitRatio)
                && i32::try_from(window.num_bytes).is_ok_and(|bytes| bytes <= profile().windows[1])
                && window.hitProp.0 <= cudaAccessPropertyPersisting.0
                && window.missProp.0 < cudaAccessPropertyPersisting.0;
            if !possible {
                return Err(cudaErrorInvalidValue);
            }
            machine.streams.get_mut(key)?.window = window;
        } else if attr == cudaLaunchAttributeMemSyncDomain {
            // SAFETY: the attribute says which member of the union the program has set.
            let domain = unsafe { value.memSyncDomain };
            if domain.0 > cudaLaunchMemSyncDomainRemote.0 {
                return Err(cudaErrorInvalidValue);
            }
            machine.streams.get_mut(key)?.domain = domain;
        } else if attr == cudaLaunchAttributeMemSyncDomainMap {
            // SAFETY: the attribute says which member of the union the program has set.
            let domains = unsafe { value.memSyncDomainMap };
            if domains.default_.max(domains.remote) >= DOMAINS {
                return Err(cudaErrorInvalidValue);
            }
            machine.streams.get_mut(key)?.domains = domains;
        }
        Ok(())
    }

    /// Gives one stream the attributes of another on the same device.
    allowed fn cudaStreamCopyAttributes | cudaStreamCopyAttributes_ptsz(call, to: cudaStream_t, from: cudaStream_t) {
        let (mut machine, device, to) = call.stream(to)?;
        let from = machine.streams.resolve(from, device, call.per_thread)?;
        let it = machine.streams.get(from)?;
        let (source, policy, window, domain, domains) = (it.device, it.policy, it.window, it.domain, it.domains);
        let target = machine.streams.get_mut(to)?;
        if target.device != source {
            return Err(cudaErrorInvalidResourceHandle);
        }
        (target.policy, target.window, target.domain, target.domains) = (policy, window, domain, domains);
        Ok(())
    }

    /// Forgets which cache lines were to stay: there is no cache.
    allowed fn cudaCtxResetPersistingL2Cache(call) {
        call.check()
    }
}
