//! Copies between devices, and access to each other's memory.

use std::ffi::{c_int, c_void};
use std::ptr;

use cuda_sys::*;

use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, ask, need};
use crate::memory::{Block, Kind, pattern};

const N: usize = 4096;

fn copy(
    log: &mut Log,
    blocking: bool,
    to: *mut c_void,
    to_device: c_int,
    from: *const c_void,
    from_device: c_int,
    bytes: usize,
) {
    if blocking {
        ask!(log, cudaMemcpyPeer(to, to_device, from, from_device, bytes));
    } else {
        ask!(log, cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, ptr::null_mut()));
    }
}

pub(super) fn add(cases: &mut Cases) {
    for blocking in [true, false] {
        let api = if blocking { "cudaMemcpyPeer" } else { "cudaMemcpyPeerAsync" };
        cases.add(format!("{api}/on one device"), move |log| {
            let source = pattern(N, 1);
            let (d, s) = (Block::new(log, Kind::Device, N)?, Block::with(log, Kind::Device, &source)?);
            copy(log, blocking, d.ptr(), 0, s.ptr(), 0, N);
            ask!(log, cudaDeviceSynchronize());
            d.compare(log, "all bytes", &source)
        });
        for (what, to_null, from_null, to_device, from_device, bytes) in [
            ("destination null", true, false, 0, 0, N),
            ("source null", false, true, 0, 0, N),
            ("destination device 100", false, false, 100, 0, N),
            ("source device 100", false, false, 0, 100, N),
            ("destination device -1", false, false, -1, 0, N),
            ("source device -1", false, false, 0, -1, N),
            ("no bytes", false, false, 0, 0, 0),
        ] {
            cases.add(format!("{api}/{what}"), move |log| {
                let (d, s) = (Block::new(log, Kind::Device, N)?, Block::new(log, Kind::Device, N)?);
                let d = if to_null { ptr::null_mut() } else { d.ptr() };
                let s = if from_null { ptr::null_mut() } else { s.ptr() };
                copy(log, blocking, d, to_device, s, from_device, bytes);
                ask!(log, cudaDeviceSynchronize());
                Ok(())
            });
        }
        for enabled in [false, true] {
            let word = if enabled { "with access" } else { "without access" };
            for (to, from) in [(1, 0), (0, 1)] {
                cases.two_devices(format!("{api}/device {from} to device {to}, {word}"), move |log| {
                    let source = pattern(N, 1);
                    need!(log, cudaSetDevice(from));
                    if enabled {
                        need!(log, cudaDeviceEnablePeerAccess(to, 0));
                    }
                    let s = Block::with(log, Kind::Device, &source)?;
                    need!(log, cudaSetDevice(to));
                    let d = Block::new(log, Kind::Device, N)?;
                    copy(log, blocking, d.ptr(), to, s.ptr(), from, N);
                    ask!(log, cudaDeviceSynchronize());
                    d.compare(log, "all bytes", &source)?;
                    // The other functions find both devices by themselves.
                    d.store(log, &vec![0; N])?;
                    ask!(log, cudaMemcpy(d.ptr(), s.ptr(), N, cudaMemcpyDefault));
                    ask!(log, cudaDeviceSynchronize());
                    d.compare(log, "all bytes again", &source)
                });
            }
        }
        cases.two_devices(format!("{api}/waits for the held legacy stream of the source"), move |log| {
            let s = Block::new(log, Kind::Device, N)?;
            need!(log, cudaSetDevice(1));
            let d = Block::new(log, Kind::Device, N)?;
            need!(log, cudaSetDevice(0));
            let gate = Gate::hold(log, ptr::null_mut())?;
            gate.waits(log, |log| copy(log, blocking, d.ptr(), 1, s.ptr(), 0, N));
            ask!(log, cudaDeviceSynchronize());
            Ok(())
        });
    }
    cases.add("cudaDeviceCanAccessPeer/itself", |log| {
        let mut can = 7;
        ask!(log, cudaDeviceCanAccessPeer(&raw mut can, 0, 0));
        log.fact("can", can);
        Ok(())
    });
    for (what, null, device, peer) in [
        ("answer null", true, 0, 0),
        ("peer 100", false, 0, 100),
        ("device 100", false, 100, 0),
        ("peer -1", false, 0, -1),
    ] {
        cases.add(format!("cudaDeviceCanAccessPeer/{what}"), move |log| {
            let mut can = 0;
            let answer = if null { ptr::null_mut() } else { &raw mut can };
            ask!(log, cudaDeviceCanAccessPeer(answer, device, peer));
            Ok(())
        });
    }
    for (what, peer) in [("peer 100", 100), ("peer -1", -1), ("itself", 0)] {
        cases.add(format!("cudaDeviceEnablePeerAccess/{what}"), move |log| {
            need!(log, cudaFree(ptr::null_mut()));
            ask!(log, cudaDeviceEnablePeerAccess(peer, 0));
            Ok(())
        });
        cases.add(format!("cudaDeviceDisablePeerAccess/{what}"), move |log| {
            need!(log, cudaFree(ptr::null_mut()));
            ask!(log, cudaDeviceDisablePeerAccess(peer));
            Ok(())
        });
    }
    cases.two_devices("cudaDeviceEnablePeerAccess/on, on, off, off", |log| {
        need!(log, cudaFree(ptr::null_mut()));
        ask!(log, cudaDeviceDisablePeerAccess(1));
        ask!(log, cudaDeviceEnablePeerAccess(1, 0));
        ask!(log, cudaDeviceEnablePeerAccess(1, 0));
        ask!(log, "error afterwards", cudaGetLastError());
        ask!(log, cudaDeviceDisablePeerAccess(1));
        ask!(log, cudaDeviceDisablePeerAccess(1));
        ask!(log, "a flag", cudaDeviceEnablePeerAccess(1, 1));
        Ok(())
    });
}
