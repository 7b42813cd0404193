//! Access of one device to another's memory, and copies between devices.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::{c_int, c_uint, c_void};

use super::transfer::{Mode, Request, Side, plan};
use super::{Call, Out, address, api, ordinal, put, wide};
use crate::error::Answer;
use crate::profile::{Link, profile};
use crate::stream::{Volume, Work, submit, submit_everywhere};
use crate::sys::*;

fn request(dst: *mut c_void, src: *const c_void, count: usize) -> Request {
    let (to, from) = (Side::row(address(dst)), Side::row(address(src)));
    Request { to, from, volume: Volume::row(wide(count)), kind: cudaMemcpyDeviceToDevice }
}

/// Copies between two devices. The copy comes after all earlier work and before all later work of both,
/// unless a stream orders it otherwise.
fn copy(call: &Call, request: Request, devices: (c_int, c_int), stream: Option<cudaStream_t>) -> Answer {
    let (mut machine, current, key) = call.stream(stream.unwrap_or(core::ptr::null_mut()))?;
    if request.volume.is_empty() {
        return Ok(());
    }
    let (to, from) = (ordinal(&machine, devices.0)?, ordinal(&machine, devices.1)?);
    let planned = plan(call, &machine.allocations, &request, Mode::Asynchronous)?;
    let work = Work::Copy(Box::new(planned.copy));
    if stream.is_some() {
        machine.keep_out_of_captures(key)?;
        submit(&mut machine, key, call.name, work, &[]).map(drop)
    } else {
        submit_everywhere(&mut machine, key, &[current, to, from], call.name, work).map(drop)
    }
}

api! {
    /// Whether one device can use another's memory: every other one, if the devices have a link.
    allowed fn cudaDeviceCanAccessPeer(call, out: Out<'_, c_int>, device: c_int, peer: c_int) {
        let machine = call.machine()?;
        let (device, peer) = (ordinal(&machine, device)?, ordinal(&machine, peer)?);
        put(out, c_int::from(device != peer && profile().link != Link::Host))
    }

    /// Lets kernels of the current device use another's memory.
    allowed fn cudaDeviceEnablePeerAccess(call, peer: c_int, flags: c_uint) {
        let (mut machine, device) = call.context()?;
        let peer = ordinal(&machine, peer)?;
        if flags != 0 {
            return Err(cudaErrorInvalidValue);
        }
        if peer == device || profile().link == Link::Host {
            return Err(cudaErrorPeerAccessUnsupported);
        }
        let peers = &mut machine.devices.get_mut(device).ok_or(cudaErrorInvalidDevice)?.peers;
        if peers.contains(&peer) {
            return Err(cudaErrorPeerAccessAlreadyEnabled);
        }
        peers.push(peer);
        Ok(())
    }

    /// Ends that.
    waits fn cudaDeviceDisablePeerAccess(call, peer: c_int) {
        let (mut machine, device) = call.context()?;
        let peer = ordinal(&machine, peer)?;
        let peers = &mut machine.devices.get_mut(device).ok_or(cudaErrorInvalidDevice)?.peers;
        let at = peers.iter().position(|it| *it == peer).ok_or(cudaErrorPeerAccessNotEnabled)?;
        peers.remove(at);
        Ok(())
    }

    /// Copies between devices, in order with all that both have to do.
    allowed fn cudaMemcpyPeer(call, dst: *mut c_void, to: c_int, src: *const c_void, from: c_int, count: usize) {
        copy(call, request(dst, src, count), (to, from), None)
    }

    /// Copies between devices in stream order.
    allowed fn cudaMemcpyPeerAsync(
        call, dst: *mut c_void, to: c_int, src: *const c_void, from: c_int, count: usize, stream: cudaStream_t,
    ) {
        copy(call, request(dst, src, count), (to, from), Some(stream))
    }
}
