//! `cudaMemcpy` and `cudaMemcpyAsync`.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::*;

use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Outcome, ask, need};
use crate::memory::{Block, Kind, pattern, stream, stream_with};

const N: usize = 4096;

/// A direction, its name, and the kinds of memory on both sides.
pub(super) type Direction = (cudaMemcpyKind, &'static str, Kind, Kind);

pub(super) const WAYS: [Direction; 5] = [
    (cudaMemcpyHostToHost, "host to host", Kind::Pageable, Kind::Pageable),
    (cudaMemcpyHostToDevice, "host to device", Kind::Device, Kind::Pageable),
    (cudaMemcpyDeviceToHost, "device to host", Kind::Pageable, Kind::Device),
    (cudaMemcpyDeviceToDevice, "device to device", Kind::Device, Kind::Device),
    (cudaMemcpyDefault, "default", Kind::Device, Kind::Pageable),
];

/// Both forms of the call.
fn copy_on(
    log: &mut Log,
    blocking: bool,
    (to, from): (*mut c_void, *const c_void),
    bytes: usize,
    way: cudaMemcpyKind,
    on: cudaStream_t,
) {
    if blocking {
        ask!(log, cudaMemcpy(to, from, bytes, way));
    } else {
        ask!(log, cudaMemcpyAsync(to, from, bytes, way, on));
    }
}

/// Both forms of the call, on the legacy stream.
fn copy(
    log: &mut Log,
    blocking: bool,
    sides: (*mut c_void, *const c_void),
    bytes: usize,
    way: cudaMemcpyKind,
) {
    copy_on(log, blocking, sides, bytes, way, ptr::null_mut());
}

fn name(blocking: bool) -> &'static str {
    if blocking { "cudaMemcpy" } else { "cudaMemcpyAsync" }
}

fn settle(log: &mut Log) {
    ask!(log, cudaDeviceSynchronize());
}

/// Every pair of kinds for which a direction is right, and `Default` for all of them.
fn kinds(cases: &mut Cases, blocking: bool) {
    for to in Kind::ALL {
        for from in Kind::ALL {
            let right = match (to.of_host(), from.of_host()) {
                (true, true) => cudaMemcpyHostToHost,
                (false, true) => cudaMemcpyHostToDevice,
                (true, false) => cudaMemcpyDeviceToHost,
                (false, false) => cudaMemcpyDeviceToDevice,
            };
            for (way, which) in [(right, "its direction"), (cudaMemcpyDefault, "default")] {
                let id = format!("{}/{} from {}, {which}", name(blocking), to.name(), from.name());
                cases.add(id, move |log| {
                    let (source, old) = (pattern(N, 1), pattern(N, 2));
                    let (d, s) = (Block::with(log, to, &old)?, Block::with(log, from, &source)?);
                    let on = if blocking { ptr::null_mut() } else { stream(log)? };
                    copy_on(log, blocking, (d.ptr(), s.ptr()), N, way, on);
                    settle(log);
                    d.holds(log, &source, &old)
                });
            }
        }
    }
}

/// Null, an invalid kind, zero bytes, too many bytes, parts.
fn edges(cases: &mut Cases, blocking: bool) {
    let api = name(blocking);
    for (way, which, to, from) in WAYS {
        for (null, what) in
            [((true, false), "destination"), ((false, true), "source"), ((true, true), "both")]
        {
            for bytes in [0, 16] {
                cases.add(format!("{api}/{which}, {what} null, {bytes} bytes"), move |log| {
                    let (d, s) = (Block::new(log, to, N)?, Block::new(log, from, N)?);
                    let d = if null.0 { ptr::null_mut() } else { d.ptr() };
                    let s = if null.1 { ptr::null_mut() } else { s.ptr() };
                    copy(log, blocking, (d, s), bytes, way);
                    settle(log);
                    Ok(())
                });
            }
        }
        cases.add(format!("{api}/{which}, no bytes"), move |log| {
            let (source, old) = (pattern(N, 1), pattern(N, 2));
            let (d, s) = (Block::with(log, to, &old)?, Block::with(log, from, &source)?);
            copy(log, blocking, (d.ptr(), s.ptr()), 0, way);
            settle(log);
            d.holds(log, &source, &old)
        });
        cases.add(format!("{api}/{which}, no bytes, one past both ends"), move |log| {
            let (d, s) = (Block::new(log, to, N)?, Block::new(log, from, N)?);
            copy(log, blocking, (d.at(N), s.at(N)), 0, way);
            Ok(())
        });
        for offset in [1, 3, 255, 1000] {
            cases.add(format!("{api}/{which}, a part from byte {offset} on"), move |log| {
                let (source, old) = (pattern(N, 1), pattern(N, 2));
                let (d, s) = (Block::with(log, to, &old)?, Block::with(log, from, &source)?);
                copy(log, blocking, (d.at(offset), s.at(offset / 2)), 777, way);
                settle(log);
                let mut want = old.clone();
                want[offset..offset + 777].copy_from_slice(&source[offset / 2..offset / 2 + 777]);
                d.compare(log, "all bytes", &want)
            });
        }
        cases.add(format!("{api}/{which}, the first half"), move |log| {
            let (source, old) = (pattern(N, 1), pattern(N, 2));
            let (d, s) = (Block::with(log, to, &old)?, Block::with(log, from, &source)?);
            copy(log, blocking, (d.ptr(), s.ptr()), N / 2, way);
            settle(log);
            let want = [&source[..N / 2], &old[N / 2..]].concat();
            d.compare(log, "all bytes", &want)
        });
    }
    for bad in [5_u32, 100, u32::MAX] {
        for (bytes, what) in [(N, ""), (0, ", no bytes")] {
            cases.add(format!("{api}/direction {bad}{what}"), move |log| {
                let (d, s) = (Block::new(log, Kind::Device, N)?, Block::new(log, Kind::Pageable, N)?);
                copy(log, blocking, (d.ptr(), s.ptr()), bytes, cudaMemcpyKind(bad));
                Ok(())
            });
        }
        cases.add(format!("{api}/direction {bad}, both null"), move |log| {
            copy(log, blocking, (ptr::null_mut(), ptr::null()), N, cudaMemcpyKind(bad));
            Ok(())
        });
    }
    for kind in [Kind::Pageable, Kind::Pinned, Kind::Device, Kind::Managed] {
        cases.add(format!("{api}/{} onto itself", kind.name()), move |log| {
            let bytes = pattern(N, 3);
            let block = Block::with(log, kind, &bytes)?;
            copy(log, blocking, (block.ptr(), block.ptr()), N, cudaMemcpyDefault);
            settle(log);
            block.compare(log, "all bytes", &bytes)
        });
    }
    for kind in [Kind::Pageable, Kind::Pinned] {
        cases.add(format!("{api}/{}, there and back in many sizes", kind.name()), move |log| {
            let most = 5 << 20;
            let bytes = pattern(most, 9);
            let there = Block::with(log, kind, &bytes)?;
            let (back, device) = (Block::new(log, kind, most)?, Block::new(log, Kind::Device, most)?);
            let near = [1, 4096, 65536, 1 << 20, 4 << 20];
            let mut right = 0;
            let mut tried = 0;
            for size in near.into_iter().flat_map(|size| [size.max(2) - 1, size, size + 1]) {
                back.store(log, &vec![0; size + 16])?;
                copy(log, blocking, (device.ptr(), there.ptr()), size, cudaMemcpyHostToDevice);
                copy(log, blocking, (back.ptr(), device.ptr()), size, cudaMemcpyDeviceToHost);
                need!(log, cudaDeviceSynchronize());
                let got = back.load(log)?;
                tried += 1;
                right += usize::from(got[..size] == bytes[..size] && got[size] == 0);
            }
            log.fact("right", format_args!("{right} of {tried}"));
            Ok(())
        });
    }
    cases.add(format!("{api}/device to host, into pinned memory of every flag"), move |log| {
        let bytes = pattern(8192, 4);
        let device = Block::with(log, Kind::Device, &bytes)?;
        for flags in
            [cudaHostAllocDefault, cudaHostAllocPortable, cudaHostAllocMapped, cudaHostAllocWriteCombined]
        {
            for way in [cudaMemcpyDeviceToHost, cudaMemcpyDefault] {
                let mut host = ptr::null_mut();
                need!(log, cudaHostAlloc(&raw mut host, bytes.len(), flags));
                copy(log, blocking, (host, device.ptr()), bytes.len(), way);
                need!(log, cudaDeviceSynchronize());
                // SAFETY: the memory has as many bytes, which the copy has written.
                let got = unsafe { std::slice::from_raw_parts(host.cast::<u8>(), bytes.len()) }.to_vec();
                log.bytes("all bytes", &got, &bytes);
            }
        }
        Ok(())
    });
    cases.add(format!("{api}/four threads at once"), move |log| {
        need!(log, cudaFree(ptr::null_mut()));
        let threads = (0..4).map(|seed| std::thread::spawn(move || rounds(blocking, seed)));
        let threads: Vec<_> = threads.collect();
        let right: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        log.fact("right", format_args!("{right} of 80"));
        Ok(())
    });
}

/// Round trips of one thread. Returns how many came back unchanged.
fn rounds(blocking: bool, seed: usize) -> usize {
    let mut log = Log::default();
    let bytes = pattern(N, 20 + seed);
    let device = Block::new(&mut log, Kind::Device, N).unwrap();
    let mut right = 0;
    for _ in 0..20 {
        let mut got = vec![0; N];
        copy(&mut log, blocking, (device.ptr(), bytes.as_ptr().cast()), N, cudaMemcpyHostToDevice);
        copy(&mut log, blocking, (got.as_mut_ptr().cast(), device.ptr()), N, cudaMemcpyDeviceToHost);
        unsafe { cudaDeviceSynchronize() };
        right += usize::from(got == bytes);
    }
    right
}

/// Addresses that belong to nobody, host addresses for device memory, and ranges that are too long.
fn outside(cases: &mut Cases, blocking: bool) {
    let api = name(blocking);
    cases.add(format!("{api}/host to device, to an address that is nobody's"), move |log| {
        need!(log, cudaFree(ptr::null_mut()));
        let source = pattern(N, 1);
        let nowhere = ptr::without_provenance_mut(0x7000_0000_0000);
        copy(log, blocking, (nowhere, source.as_ptr().cast()), N, cudaMemcpyHostToDevice);
        Ok(())
    });
    cases.add(format!("{api}/device to host, from an address that is nobody's"), move |log| {
        need!(log, cudaFree(ptr::null_mut()));
        let mut to = vec![0; N];
        let nowhere = ptr::without_provenance_mut(0x7000_0000_0000);
        copy(log, blocking, (to.as_mut_ptr().cast(), nowhere), N, cudaMemcpyDeviceToHost);
        Ok(())
    });
    cases.add(format!("{api}/device to device, more bytes than an address can count"), move |log| {
        let (d, s) = (Block::new(log, Kind::Device, N)?, Block::new(log, Kind::Device, N)?);
        copy(log, blocking, (d.ptr(), s.ptr()), usize::MAX, cudaMemcpyDeviceToDevice);
        Ok(())
    });
}

/// Whether CUDA's documentation, and not the habit of this driver, decides if the host waits.
///
/// A blocking copy from pageable memory may return once it is staged. An asynchronous one to such memory may
/// be synchronous.
pub(super) fn promised(to: Kind, from: Kind, blocking: bool) -> bool {
    if blocking { to.of_host() || from != Kind::Pageable } else { to != Kind::Pageable || from.of_host() }
}

/// Which calls wait.
fn waiting(cases: &mut Cases) {
    // The legacy stream is held: does the call return before it is released?
    for (way, which, to, from) in [
        (cudaMemcpyHostToDevice, "pageable to device", Kind::Device, Kind::Pageable),
        (cudaMemcpyHostToDevice, "pinned to device", Kind::Device, Kind::Pinned),
        (cudaMemcpyDeviceToHost, "device to pageable", Kind::Pageable, Kind::Device),
        (cudaMemcpyDeviceToHost, "device to pinned", Kind::Pinned, Kind::Device),
        (cudaMemcpyHostToHost, "pageable to pageable", Kind::Pageable, Kind::Pageable),
        (cudaMemcpyHostToHost, "pinned to pinned", Kind::Pinned, Kind::Pinned),
        (cudaMemcpyDeviceToDevice, "device to device", Kind::Device, Kind::Device),
    ] {
        for blocking in [true, false] {
            if !promised(to, from, blocking) {
                continue;
            }
            cases.alone(
                format!("{}/{which}, waits for the held legacy stream", name(blocking)),
                move |log| {
                    let source = pattern(N, 1);
                    let (d, s) = (Block::new(log, to, N)?, Block::with(log, from, &source)?);
                    let gate = Gate::hold(log, ptr::null_mut())?;
                    gate.waits(log, |log| copy(log, blocking, (d.ptr(), s.ptr()), N, way));
                    settle(log);
                    d.compare(log, "all bytes", &source)
                },
            );
        }
    }
    // A held non-blocking stream does not delay work of the legacy stream.
    cases.alone("cudaMemcpy/device to pinned, does not wait for a held non-blocking stream", |log| {
        let source = pattern(N, 1);
        let (d, s) = (Block::new(log, Kind::Pinned, N)?, Block::with(log, Kind::Device, &source)?);
        let other = stream(log)?;
        let gate = Gate::hold(log, other)?;
        gate.waits(log, |log| {
            copy(log, true, (d.ptr(), s.ptr()), N, cudaMemcpyDeviceToHost);
        });
        settle(log);
        Ok(())
    });
    cases.alone("cudaMemcpy/device to pinned, waits for a held blocking stream", |log| {
        let source = pattern(N, 1);
        let (d, s) = (Block::new(log, Kind::Pinned, N)?, Block::with(log, Kind::Device, &source)?);
        let other = stream_with(log, cudaStreamDefault)?;
        let gate = Gate::hold(log, other)?;
        gate.waits(log, |log| {
            copy(log, true, (d.ptr(), s.ptr()), N, cudaMemcpyDeviceToHost);
        });
        settle(log);
        Ok(())
    });
    for (which, handle) in [
        ("the legacy stream by name", Some(cudaStreamLegacy)),
        ("the stream of the thread", Some(cudaStreamPerThread)),
        ("a stream", None),
    ] {
        for (way, what, to, from) in WAYS {
            cases.add(format!("cudaMemcpyAsync/{what}, on {which}"), move |log| {
                on_stream(log, handle, way, to, from)
            });
        }
    }
    cases.add("cudaMemcpyAsync/from the device pointer of pinned memory", |log| {
        let source = pattern(N, 5);
        let host = Block::with(log, Kind::Pinned, &source)?;
        let mut mapped = ptr::null_mut();
        need!(log, cudaHostGetDevicePointer(&raw mut mapped, host.ptr(), 0));
        let device = Block::new(log, Kind::Device, N)?;
        copy(log, false, (device.ptr(), mapped), N, cudaMemcpyDeviceToDevice);
        settle(log);
        device.compare(log, "all bytes", &source)
    });
    cases.add("cudaMemcpyAsync/device to host where the device holds the destination", |log| {
        let (source, old) = (pattern(N, 1), pattern(N, 2));
        let (d, s) = (Block::with(log, Kind::Device, &old)?, Block::with(log, Kind::Pinned, &source)?);
        copy(log, false, (d.ptr(), s.ptr()), N, cudaMemcpyDeviceToHost);
        settle(log);
        d.holds(log, &source, &old)
    });
}

fn on_stream(
    log: &mut Log,
    handle: Option<cudaStream_t>,
    way: cudaMemcpyKind,
    to: Kind,
    from: Kind,
) -> Outcome {
    let pinned = |kind| if kind == Kind::Pageable { Kind::Pinned } else { kind };
    let (source, old) = (pattern(N, 1), pattern(N, 2));
    let (d, s) = (Block::with(log, pinned(to), &old)?, Block::with(log, pinned(from), &source)?);
    let on = match handle {
        Some(handle) => handle,
        None => stream(log)?,
    };
    copy_on(log, false, (d.ptr(), s.ptr()), N, way, on);
    ask!(log, cudaStreamSynchronize(on));
    ask!(log, cudaStreamQuery(on));
    d.holds(log, &source, &old)
}

pub(super) fn add(cases: &mut Cases) {
    for blocking in [true, false] {
        kinds(cases, blocking);
        edges(cases, blocking);
        outside(cases, blocking);
    }
    waiting(cases);
}
