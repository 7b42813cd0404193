//! The legacy stream and the blocking ones, of one device and of two: whether a copy between devices orders
//! one stream after the other, as `legacy` asks of other operations. And batches of kinds that `legacy` does
//! not have.

use std::ffi::c_int;
use std::ptr;
use std::thread;
use std::time::{Duration, Instant};

use cuda_sys::*;

use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Setup, ask, need};
use crate::memory::{Block, Kind, event, stream_with};

const N: usize = 4096;

/// Memory of a device.
type Side = (Block, c_int);

/// A copy on a stream.
type PeerCopy = fn(&mut Log, Side, Side, cudaStream_t);

/// The parameters of a copy of all bytes as rows.
fn peer_volume((to, there): Side, (from, here): Side) -> cudaMemcpy3DPeerParms {
    cudaMemcpy3DPeerParms {
        dstPtr: make_cudaPitchedPtr(to.ptr(), 64, 64, N / 64),
        dstDevice: there,
        srcPtr: make_cudaPitchedPtr(from.ptr(), 64, 64, N / 64),
        srcDevice: here,
        extent: make_cudaExtent(64, N / 64, 1),
        ..Default::default()
    }
}

const COPIES: [(&str, PeerCopy); 2] = [
    ("cudaMemcpyPeerAsync", |log, (to, there), (from, here), on| {
        ask!(log, cudaMemcpyPeerAsync(to.ptr(), there, from.ptr(), here, N, on));
    }),
    ("cudaMemcpy3DPeerAsync", |log, to, from, on| {
        let parameters = peer_volume(to, from);
        ask!(log, cudaMemcpy3DPeerAsync(&raw const parameters, on));
    }),
];

/// A stream of a device.
#[derive(Clone, Copy)]
struct Party {
    legacy: bool,
    device: c_int,
}

impl Party {
    fn name(self) -> String {
        let kind = if self.legacy { "legacy" } else { "blocking" };
        format!("the {kind} stream of device {}", self.device)
    }

    /// The stream. Its device is current afterwards.
    fn stream(self, log: &mut Log) -> Result<cudaStream_t, Setup> {
        need!(log, cudaSetDevice(self.device));
        if self.legacy { Ok(ptr::null_mut()) } else { stream_with(log, cudaStreamDefault) }
    }
}

/// The devices whose memory is copied, and whether each reaches the other's.
#[derive(Clone, Copy)]
struct PeerPair {
    from: c_int,
    to: c_int,
    access: bool,
}

impl PeerPair {
    fn name(self) -> String {
        let Self { from, to, access } = self;
        let access = match access {
            _ if from == to => "",
            true => ", with access",
            false => ", without access",
        };
        format!("from device {from} to device {to}{access}")
    }

    fn devices(self) -> c_int {
        1 + self.from.max(self.to)
    }

    /// Memory on both sides. Device 0 is current afterwards.
    fn sides(self, log: &mut Log) -> Result<(Side, Side), Setup> {
        if self.access && self.from != self.to {
            for (device, other) in [(0, 1), (1, 0)] {
                need!(log, cudaSetDevice(device));
                need!(log, cudaDeviceEnablePeerAccess(other, 0));
            }
        }
        need!(log, cudaSetDevice(self.to));
        let to = Block::new(log, Kind::Device, N)?;
        need!(log, cudaSetDevice(self.from));
        let from = Block::new(log, Kind::Device, N)?;
        need!(log, cudaSetDevice(0));
        Ok(((to, self.to), (from, self.from)))
    }
}

/// One stream is held, and the other one, of device 0, gets a copy.
fn case(cases: &mut Cases, (api, copy): (&str, PeerCopy), way: PeerPair, held: Party, given: Party) {
    let id = format!("legacy/{} is held, {} is given {api} {}", held.name(), given.name(), way.name());
    let added = cases.add(id, move |log| {
        let (to, from) = way.sides(log)?;
        let first = held.stream(log)?;
        let on = given.stream(log)?;
        let after = event(log)?;
        // The first copy between two devices may create resources, which exist afterwards.
        copy(log, to, from, on);
        for device in 0..way.devices().max(1 + held.device) {
            need!(log, cudaSetDevice(device));
            need!(log, cudaDeviceSynchronize());
        }
        need!(log, cudaSetDevice(held.device));
        let gate = Gate::hold(log, first)?;
        need!(log, cudaSetDevice(given.device));
        gate.waits(log, |log| {
            copy(log, to, from, on);
            // Nothing orders the stream behind one of another device. (An H200 finished the copy at once, or
            // soon.) The case does not ask when it is done.
            if held.device == given.device {
                ask!(log, "the stream", cudaStreamQuery(on));
            }
            ask!(log, cudaEventRecord(after, on));
            if held.device == given.device {
                ask!(log, "an event behind it", cudaEventQuery(after));
            }
        });
        ask!(log, cudaDeviceSynchronize());
        Ok(())
    });
    added.alone();
    if way.devices().max(1 + held.device) > 1 {
        added.two_devices();
    }
}

/// A legacy stream is held while a blocking copy between devices is given. Asks which legacy streams the copy
/// waits for, and which later work waits for the copy.
fn blocking(cases: &mut Cases, api: &str, copy: fn(&mut Log, Side, Side), held: c_int) {
    let id =
        format!("legacy/the legacy stream of device {held} is held, then {api} from device 0 to device 1");
    let added = cases.add(id, move |log| {
        let (to, from) = PeerPair { from: 0, to: 1, access: true }.sides(log)?;
        copy(log, to, from);
        for device in 0..2 {
            need!(log, cudaSetDevice(device));
            need!(log, cudaDeviceSynchronize());
        }
        need!(log, cudaSetDevice(held));
        let gate = Gate::hold(log, ptr::null_mut())?;
        need!(log, cudaSetDevice(0));
        let begun = Instant::now();
        copy(log, to, from);
        log.fact("waits", begun.elapsed() > Duration::from_secs(10));
        let mut behind = Vec::new();
        for device in 0..2 {
            need!(log, cudaSetDevice(device));
            let after = event(log)?;
            ask!(log, cudaEventRecord(after, ptr::null_mut()));
            behind.push(after);
        }
        // Long enough for a copy that waits for nothing.
        thread::sleep(Duration::from_millis(200));
        ask!(log, "the legacy stream of device 0", cudaEventQuery(behind[0]));
        ask!(log, "that of device 1", cudaEventQuery(behind[1]));
        gate.open();
        for device in 0..2 {
            need!(log, cudaSetDevice(device));
            ask!(log, cudaDeviceSynchronize());
        }
        Ok(())
    });
    added.alone().two_devices();
}

/// A batch of one copy, beside those in `legacy`: one that names its locations and lets kernels run beside
/// it, one between two devices, and one of a plane.
#[cfg(cudart_13_0)]
mod batch {
    use cuda_sys::*;

    use super::{Log, N, Party, PeerPair, Side, ask, c_int, cudaStream_t};
    use crate::cases::managed::place;

    fn one(log: &mut Log, (to, there): Side, (from, here): Side, on: cudaStream_t, hints: bool) {
        let (mut to, mut from, mut bytes, mut first) = (to.ptr(), from.ptr().cast_const(), N, 0);
        let mut attributes =
            cudaMemcpyAttributes { srcAccessOrder: cudaMemcpySrcAccessOrderStream, ..Default::default() };
        if hints {
            (attributes.srcLocHint, attributes.dstLocHint) = (place(here), place(there));
            attributes.flags = cudaMemcpyFlagPreferOverlapWithCompute.0;
        }
        let (to, from, bytes) = (&raw mut to, &raw mut from, &raw mut bytes);
        ask!(log, cudaMemcpyBatchAsync(to, from, bytes, 1, &raw mut attributes, &raw mut first, 1, on));
    }

    fn plane(log: &mut Log, (to, there): Side, (from, here): Side, on: cudaStream_t) {
        let side = |(block, device): (crate::memory::Block, c_int)| {
            let mut operand =
                cudaMemcpy3DOperand { type_: cudaMemcpyOperandTypePointer, ..Default::default() };
            operand.op.ptr.ptr = block.ptr();
            (operand.op.ptr.rowLength, operand.op.ptr.layerHeight) = (64, N / 64);
            operand.op.ptr.locHint = place(device);
            operand
        };
        let mut op = cudaMemcpy3DBatchOp {
            src: side((from, here)),
            dst: side((to, there)),
            extent: super::make_cudaExtent(64, N / 64, 1),
            srcAccessOrder: cudaMemcpySrcAccessOrderStream,
            ..Default::default()
        };
        ask!(log, cudaMemcpy3DBatchAsync(1, &raw mut op, 0, on));
    }

    /// Neither takes the legacy stream.
    pub(super) fn add(cases: &mut super::Cases) {
        let copies: [(&str, super::PeerCopy); 3] = [
            ("a batch of one copy", |log, to, from, on| one(log, to, from, on, false)),
            ("a batch of one copy with hints", |log, to, from, on| one(log, to, from, on, true)),
            ("a batch of one plane", plane),
        ];
        let given = Party { legacy: false, device: 0 };
        for copy in copies {
            for way in [PeerPair { from: 0, to: 0, access: false }, PeerPair { from: 0, to: 1, access: true }]
            {
                for device in 0..way.devices() {
                    super::case(cases, copy, way, Party { legacy: true, device }, given);
                }
            }
        }
    }
}

pub(super) fn add(cases: &mut Cases) {
    let within = PeerPair { from: 0, to: 0, access: false };
    let [there, back] =
        [(0, 1), (1, 0)].map(|(from, to)| [false, true].map(|access| PeerPair { from, to, access }));
    for copy in COPIES {
        for way in [within].into_iter().chain(there).chain(back) {
            for legacy in [true, false] {
                for device in 0..way.devices() {
                    let given = Party { legacy: !legacy, device: 0 };
                    case(cases, copy, way, Party { legacy, device }, given);
                }
            }
        }
    }
    for held in 0..2 {
        blocking(
            cases,
            "cudaMemcpyPeer",
            |log, (to, there), (from, here)| {
                ask!(log, cudaMemcpyPeer(to.ptr(), there, from.ptr(), here, N));
            },
            held,
        );
        blocking(
            cases,
            "cudaMemcpy",
            |log, (to, _), (from, _)| {
                ask!(log, cudaMemcpy(to.ptr(), from.ptr(), N, cudaMemcpyDeviceToDevice));
            },
            held,
        );
        blocking(
            cases,
            "cudaMemcpy3DPeer",
            |log, to, from| {
                let parameters = peer_volume(to, from);
                ask!(log, cudaMemcpy3DPeer(&raw const parameters));
            },
            held,
        );
    }
    #[cfg(cudart_13_0)]
    batch::add(cases);
}
