//! Two devices: copies of every form between their memory, and work of both on memory of the host.

use std::ffi::{c_int, c_void};
use std::ptr;

use cuda_sys::*;

use super::kernel::fill;
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Outcome, Setup, ask, need};
use crate::memory::{Block, Kind, event, pattern, stream};

const PITCH: usize = 64;
const HEIGHT: usize = 16;
const N: usize = PITCH * HEIGHT;

/// Memory of two devices. The destination's device is current. A case about peer access sets `access`.
fn two(log: &mut Log, from: c_int, to: c_int, access: bool, source: &[u8]) -> Result<(Block, Block), Setup> {
    need!(log, cudaSetDevice(from));
    let s = Block::with(log, Kind::Device, source)?;
    need!(log, cudaSetDevice(to));
    if access {
        need!(log, cudaDeviceEnablePeerAccess(from, 0));
    }
    Ok((Block::new(log, Kind::Device, source.len())?, s))
}

/// Calls one of the functions with destination, source, direction and stream.
type DeviceCopy = fn(&mut Log, *mut c_void, *const c_void, cudaMemcpyKind, cudaStream_t) -> cudaError_t;

const COPIES: [(&str, DeviceCopy); 4] = [
    ("cudaMemcpy", |log, to, from, way, _| ask!(log, cudaMemcpy(to, from, N, way))),
    ("cudaMemcpyAsync", |log, to, from, way, on| ask!(log, cudaMemcpyAsync(to, from, N, way, on))),
    ("cudaMemcpy2D", |log, to, from, way, _| {
        ask!(log, cudaMemcpy2D(to, PITCH, from, PITCH, PITCH, HEIGHT, way))
    }),
    ("cudaMemcpy2DAsync", |log, to, from, way, on| {
        ask!(log, cudaMemcpy2DAsync(to, PITCH, from, PITCH, PITCH, HEIGHT, way, on))
    }),
];

fn memory(cases: &mut Cases) {
    for (api, copy) in COPIES {
        for access in [false, true] {
            let word = if access { "with access" } else { "without access" };
            for (from, to) in [(0, 1), (1, 0)] {
                cases.two_devices(format!("{api}/device {from} to device {to}, {word}"), move |log| {
                    let source = pattern(N, 1);
                    let (d, s) = two(log, from, to, access, &source)?;
                    let on = stream(log)?;
                    for (way, name) in [(cudaMemcpyDeviceToDevice, "by name"), (cudaMemcpyDefault, "default")]
                    {
                        d.store(log, &[0; N])?;
                        copy(log, d.ptr(), s.ptr(), way, on);
                        ask!(log, cudaDeviceSynchronize());
                        let got = d.load(log)?;
                        log.bytes(name, &got, &source);
                    }
                    Ok(())
                });
            }
        }
    }
}

fn arrays(cases: &mut Cases) {
    for blocking in [true, false] {
        let api = if blocking { "cudaMemcpy2DToArray" } else { "cudaMemcpy2DToArrayAsync" };
        for access in [false, true] {
            let word = if access { "with access" } else { "without access" };
            cases.two_devices(format!("{api}/memory of another device, {word}"), move |log| {
                let source = pattern(N, 1);
                let (_, s) = two(log, 1, 0, access, &source)?;
                for (way, name) in [(cudaMemcpyDeviceToDevice, "by name"), (cudaMemcpyDefault, "default")] {
                    let array = super::plane::array(log, PITCH, HEIGHT)?;
                    let (from, on) = (s.ptr().cast_const(), ptr::null_mut());
                    if blocking {
                        ask!(log, cudaMemcpy2DToArray(array, 0, 0, from, PITCH, PITCH, HEIGHT, way));
                    } else {
                        ask!(log, cudaMemcpy2DToArrayAsync(array, 0, 0, from, PITCH, PITCH, HEIGHT, way, on));
                    }
                    ask!(log, cudaDeviceSynchronize());
                    let mut got = vec![0; N];
                    let to = got.as_mut_ptr().cast();
                    let back = cudaMemcpyDeviceToHost;
                    need!(log, cudaMemcpy2DFromArray(to, PITCH, array, 0, 0, PITCH, HEIGHT, back));
                    log.bytes(name, &got, &source);
                }
                Ok(())
            });
        }
        let api = if blocking { "cudaMemcpy3DPeer" } else { "cudaMemcpy3DPeerAsync" };
        for (from, to) in [(0, 1), (1, 0)] {
            cases.two_devices(format!("{api}/array to array, device {from} to device {to}"), move |log| {
                peer_arrays(log, blocking, from, to)
            });
        }
    }
}

fn peer_arrays(log: &mut Log, blocking: bool, from: c_int, to: c_int) -> Outcome {
    let source = pattern(16 * 16 * 4, 1);
    need!(log, cudaSetDevice(from));
    let here = solid(log)?;
    through(log, here, &source, true)?;
    need!(log, cudaSetDevice(to));
    let there = solid(log)?;
    let parameters = cudaMemcpy3DPeerParms {
        srcArray: here,
        srcDevice: from,
        dstArray: there,
        dstDevice: to,
        extent: make_cudaExtent(16, 16, 4),
        ..Default::default()
    };
    if blocking {
        ask!(log, cudaMemcpy3DPeer(&raw const parameters));
    } else {
        let on = stream(log)?;
        ask!(log, cudaMemcpy3DPeerAsync(&raw const parameters, on));
    }
    ask!(log, cudaDeviceSynchronize());
    let got = through(log, there, &source, false)?;
    log.bytes("all bytes", &got, &source);
    Ok(())
}

/// An array of bytes, 16 by 16 by 4, of the current device.
fn solid(log: &mut Log) -> Result<cudaArray_t, Setup> {
    // SAFETY: takes numbers.
    let format = unsafe { cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned) };
    let mut array = ptr::null_mut();
    need!(log, cudaMalloc3DArray(&raw mut array, &raw const format, make_cudaExtent(16, 16, 4), 0));
    Ok(array)
}

/// Stores into such an array, or loads from it.
fn through(log: &mut Log, array: cudaArray_t, source: &[u8], store: bool) -> Result<Vec<u8>, Setup> {
    let mut bytes = source.to_vec();
    let extent = make_cudaExtent(16, 16, 4);
    let rows = make_cudaPitchedPtr(bytes.as_mut_ptr().cast(), 16, 16, 16);
    let mut parameters = cudaMemcpy3DParms { extent, ..Default::default() };
    if store {
        (parameters.srcPtr, parameters.dstArray, parameters.kind) = (rows, array, cudaMemcpyHostToDevice);
    } else {
        bytes.fill(0);
        (parameters.dstPtr, parameters.srcArray, parameters.kind) = (rows, array, cudaMemcpyDeviceToHost);
    }
    need!(log, cudaMemcpy3D(&raw const parameters));
    need!(log, cudaDeviceSynchronize());
    Ok(bytes)
}

/// Each device fills a quarter of the same memory.
fn quarters(log: &mut Log, block: Block) -> Outcome {
    for (quarter, device) in [0, 1, 0, 1].into_iter().enumerate() {
        need!(log, cudaSetDevice(device));
        fill(log, block.at(quarter * N), quarter as u8 + 1, N, ptr::null_mut())?;
        ask!(log, cudaDeviceSynchronize());
    }
    Ok(())
}

fn host(cases: &mut Cases) {
    cases.two_devices("cudaHostRegister/kernels of two devices in turns, and a set", |log| {
        let block = Block::new(log, Kind::Pageable, 5 * N)?;
        need!(log, cudaHostRegister(block.ptr(), 5 * N, cudaHostRegisterPortable));
        quarters(log, block)?;
        ask!(log, cudaMemset(block.at(4 * N), 5, N));
        ask!(log, cudaDeviceSynchronize());
        let got = block.load(log)?;
        log.bytes("all bytes", &got, &[[1; N], [2; N], [3; N], [4; N], [5; N]].concat());
        Ok(())
    });
    cases.two_devices("cudaMallocManaged/host and kernels of two devices in turns", |log| {
        let block = Block::new(log, Kind::Managed, 4 * N)?;
        quarters(log, block)?;
        let got = block.load(log)?;
        log.bytes("all bytes", &got, &[[1; N], [2; N], [3; N], [4; N]].concat());
        block.store(log, &[9; N])?;
        let device = Block::new(log, Kind::Device, N)?;
        ask!(log, cudaMemcpy(device.ptr(), block.ptr(), N, cudaMemcpyDefault));
        let got = device.load(log)?;
        log.bytes("what the host wrote", &got, &[9; N]);
        Ok(())
    });
    cases.two_devices("cudaMemcpyAsync/registered memory and kernels, on two devices in turns", |log| {
        let block = Block::new(log, Kind::Pageable, N)?;
        need!(log, cudaHostRegister(block.ptr(), N, cudaHostRegisterPortable));
        for (device, value) in [(0, 3), (1, 4), (0, 5)] {
            need!(log, cudaSetDevice(device));
            let (on, memory) = (stream(log)?, Block::new(log, Kind::Device, N)?);
            ask!(log, cudaMemcpyAsync(memory.ptr(), block.ptr(), N, cudaMemcpyHostToDevice, on));
            fill(log, memory.ptr(), value, N / 2, on)?;
            ask!(log, cudaMemcpyAsync(block.ptr(), memory.ptr(), N, cudaMemcpyDeviceToHost, on));
            ask!(log, cudaStreamSynchronize(on));
            let got = block.load(log)?;
            log.bytes("all bytes", &got, &[[value; N / 2], [0; N / 2]].concat());
        }
        Ok(())
    });
    cases.two_devices("cudaLaunchKernel/reaches for another device's memory without access", |log| {
        let far = Block::new(log, Kind::Device, N)?;
        need!(log, cudaSetDevice(1));
        fill(log, far.ptr(), 1, N, ptr::null_mut())?;
        ask!(log, cudaDeviceSynchronize());
        let mut start = ptr::null_mut();
        ask!(log, "later", cudaMalloc(&raw mut start, 16));
        Ok(())
    });
    cases.two_devices("cudaEventQuery/an event of another device", |log| {
        need!(log, cudaSetDevice(1));
        let (on, mark) = (stream(log)?, event(log)?);
        let gate = Gate::hold(log, on)?;
        need!(log, cudaEventRecord(mark, on));
        need!(log, cudaSetDevice(0));
        ask!(log, "held", cudaEventQuery(mark));
        gate.open();
        ask!(log, cudaEventSynchronize(mark));
        ask!(log, "let go", cudaEventQuery(mark));
        Ok(())
    });
}

/// A batch with every pair of two devices.
#[cfg(cudart_13_0)]
fn batch(cases: &mut Cases) {
    cases.two_devices("cudaMemcpyBatchAsync/every way there is, over two devices", |log| {
        let (up, beside) = (Block::with(log, Kind::Pinned, &[1; N])?, Block::new(log, Kind::Pinned, N)?);
        let (here, down) =
            (Block::with(log, Kind::Device, &[2; N])?, Block::with(log, Kind::Device, &[3; N])?);
        let (back, there) = (Block::new(log, Kind::Pinned, N)?, Block::new(log, Kind::Device, N)?);
        need!(log, cudaSetDevice(1));
        let far = Block::new(log, Kind::Device, N)?;
        need!(log, cudaSetDevice(0));
        let on = stream(log)?;
        let mut attributes = cudaMemcpyAttributes::default();
        attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
        let pairs = [(there, up, 1), (far, here, 2), (back, down, 3), (beside, up, 1)];
        let mut to = pairs.map(|(to, _, _)| to.ptr());
        let mut from = pairs.map(|(_, from, _)| from.ptr().cast_const());
        let (mut sizes, mut first) = ([N; 4], [0]);
        ask!(
            log,
            cudaMemcpyBatchAsync(
                to.as_mut_ptr(),
                from.as_mut_ptr(),
                sizes.as_mut_ptr(),
                4,
                &raw mut attributes,
                first.as_mut_ptr(),
                1,
                on
            )
        );
        ask!(log, cudaStreamSynchronize(on));
        for ((to, _, value), name) in pairs.iter().zip(["up", "across", "down", "beside"]) {
            let got = to.load(log)?;
            log.bytes(name, &got, &[*value; N]);
        }
        Ok(())
    });
}

pub(super) fn add(cases: &mut Cases) {
    memory(cases);
    arrays(cases);
    host(cases);
    #[cfg(cudart_13_0)]
    batch(cases);
}
