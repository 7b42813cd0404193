//! A sample of the conformance cases, tried through the crate: what a GPU answered to the raw calls is what
//! the safe calls answer, or the crate refuses them before the call.
//!
//! `known_answers.tsv` is the sample: 150 of the 2,224 cases that were marked as working in the crate or as
//! refused by it, drawn with the seed 27, each with its answer. (ci/check-docs compares the answers with the
//! table of all cases.) The rows that [`TRIED`] lacks are not tried yet; their number may only fall. Cases
//! that no safe program can express are what `compile_fail` shows.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use cuda_safe::copy::{AsyncDestination, AsyncSource, Destination, Linear, Planar, Source};
use cuda_safe::device::Limit;
use cuda_safe::memory::{
    Array, Half, ManagedBuffer, MemoryKind, MemoryPool, PitchedBuffer, PitchedVolume, Plane, PlaneMut,
    PointerAttributes, PoolReuse, RegisterFlags, Volume, VolumeMut,
};
use cuda_safe::stream::{AsStream, EventFlags};
use cuda_safe::{
    Device, DeviceBuffer, Event, PinnedBuffer, Registered, Result, Stream, memcpy, memcpy_2d,
    memcpy_2d_async, memcpy_3d, memcpy_3d_async, memcpy_async, memset, memset_async, sys,
};
use cuda_testing::{Alone, Gate, alone};

const SAMPLE: &str = include_str!("known_answers.tsv");

/// The cases of the sample that are not tried yet.
const LEFT: usize = 70;

/// A case: what it is called, and the facts that a GPU answered.
struct Case {
    name: &'static str,
    facts: Vec<(&'static str, &'static str)>,
    alone: Alone,
}

impl Case {
    fn fact(&self, name: &str) -> &'static str {
        self.facts.iter().find(|fact| fact.0 == name).unwrap_or_else(|| panic!("{}: {name}", self.name)).1
    }

    /// The number after the last space of the name, in either notation.
    fn number(&self) -> u64 {
        let text = self.name.rsplit(' ').next().unwrap();
        text.strip_prefix("0x").map_or_else(|| text.parse(), |hex| u64::from_str_radix(hex, 16)).unwrap()
    }
}

const LEN: usize = 1024;
const W: usize = 16;
const H: usize = 8;
const D: usize = 4;

fn bytes(len: usize) -> Vec<u8> {
    (0..=250).cycle().take(len).collect()
}

fn device() -> Result<DeviceBuffer<u8>> {
    DeviceBuffer::from_slice(&bytes(LEN))
}

fn pinned() -> Result<PinnedBuffer<u8>> {
    PinnedBuffer::from_slice(&bytes(LEN))
}

fn registered() -> Result<Registered<Vec<u8>>> {
    Ok(Registered::new(bytes(LEN))?)
}

fn managed() -> Result<ManagedBuffer<u8>> {
    ManagedBuffer::from_slice(&bytes(LEN))
}

fn pool() -> Result<DeviceBuffer<u8>> {
    let mut buffer = DeviceBuffer::alloc_async(LEN, &Stream::new()?)?;
    memcpy(&mut buffer, &bytes(LEN))?;
    Ok(buffer)
}

/// Empties the destination, copies, and compares.
fn copied<A, B>(mut to: A, from: &B) -> Result<()>
where
    A: Destination<Linear, Element = u8> + Source<Linear, Element = u8>,
    B: Source<Linear, Element = u8>,
{
    memcpy(&mut to, &vec![0; LEN])?;
    memcpy(&mut to, from)?;
    holds(&to, &bytes(LEN))
}

/// Does the same on a stream.
fn queued<A, B>(mut to: A, from: &B, stream: &impl AsStream) -> Result<()>
where
    A: AsyncDestination<Linear, Element = u8> + Source<Linear, Element = u8>,
    B: AsyncSource<Linear, Element = u8>,
{
    memcpy(&mut to, &vec![0; LEN])?;
    memcpy_async(&mut to, from, stream)?;
    holds(&to, &bytes(LEN))
}

fn holds<A: Source<Linear, Element = u8>>(memory: &A, expected: &[u8]) -> Result<()> {
    let mut found = vec![1; expected.len()];
    memcpy(&mut found, memory)?;
    assert_eq!(found, expected);
    Ok(())
}

/// A part from a byte on, within a device: from one buffer to the same place of another.
fn part(at: usize) -> Result<()> {
    let (from, mut to) = (device()?, DeviceBuffer::<u8>::alloc_zeroed(LEN)?);
    memcpy(&mut to.slice_mut(at..)?, &from.slice(at..)?)?;
    let mut expected = bytes(LEN);
    expected[..at].fill(0);
    holds(&to, &expected)
}

fn filled<A>(mut memory: A, value: u8, fill: impl FnOnce(&mut A, u8) -> Result<()>) -> Result<()>
where
    A: AsyncDestination<Linear, Element = u8> + Source<Linear, Element = u8>,
{
    fill(&mut memory, value)?;
    holds(&memory, &[value; LEN])
}

fn attribute(case: &Case) -> Result<()> {
    let number = u32::try_from(case.number()).unwrap();
    let value = Device::current()?.attribute(sys::cudaDeviceAttr(number))?;
    match case.fact("value") {
        "yes" => assert_eq!(value, 1, "{}", case.name),
        "no" => assert_eq!(value, 0, "{}", case.name),
        kind => assert_eq!(kind, "a number"),
    }
    Ok(())
}

fn limit(case: &Case, limit: Limit) -> Result<()> {
    let device = Device::current()?;
    let (before, value) = (device.limit(limit)?, usize::try_from(case.number()).unwrap());
    let set = device.set_limit(limit, value);
    let is_that = device.limit(limit)? == value;
    device.set_limit(limit, before)?;
    assert_eq!(is_that.to_string(), case.fact("is that"), "{}", case.name);
    set
}

fn plane(memory: &[u8]) -> Result<impl Source<Planar, Element = u8>> {
    Plane::from_slice(memory, W, H)
}

/// An array of 16 by 8 bytes that holds numbers.
fn array() -> Result<Array<u8>> {
    let mut array = Array::alloc_2d(W, H)?;
    memcpy_2d(&mut array, &plane(&bytes(W * H))?)?;
    Ok(array)
}

fn rows() -> Result<PitchedBuffer<u8>> {
    let mut rows = PitchedBuffer::alloc(W, H)?;
    memcpy_2d(&mut rows, &plane(&bytes(W * H))?)?;
    Ok(rows)
}

fn layers() -> Result<PitchedVolume<u8>> {
    let mut layers = PitchedVolume::alloc(W, H, D)?;
    memcpy_3d(&mut layers, &Volume::from_slice(&bytes(W * H * D), W, H, D)?)?;
    Ok(layers)
}

fn solid() -> Result<Array<u8>> {
    let mut array = Array::alloc_3d(W, H, D)?;
    memcpy_3d(&mut array, &Volume::from_slice(&bytes(W * H * D), W, H, D)?)?;
    Ok(array)
}

type Try = fn(&Case) -> Result<()>;

/// The cases that are tried. `Ok` stands for the answer of success, and an error for that of a GPU.
#[rustfmt::skip]
const TRIED: &[(&str, Try)] = &[
    ("capture/global, a copy of no bytes on the stream", |_| {
        let (mut to, from, mut stream) = (device()?, pinned()?, Stream::new()?);
        let graph = stream.capture(|it| memcpy_async(&mut to.slice_mut(..0)?, &from.slice(..0)?, it))?;
        assert_eq!(graph.node_count()?, 0);
        Ok(())
    }),
    ("capture/global, which device is current", |_| {
        let graph = Stream::new()?.capture(|_| Device::current().map(drop))?;
        assert_eq!(graph.node_count()?, 0);
        Ok(())
    }),
    ("capture/of a blocking stream, a blocking copy within planes", |_| {
        let (mut to, from, mut answer) = (rows()?, rows()?, Ok(()));
        let _ = Stream::new()?.capture(|_| { answer = memcpy_2d(&mut to, &from); Ok(()) });
        answer
    }),
    ("capture/relaxed, cudaFreeHost", |_| {
        let memory = pinned()?;
        let graph = Stream::new()?.capture(|_| memory.free())?;
        assert_eq!(graph.node_count()?, 0);
        Ok(())
    }),
    ("capture/thread-local, a copy on the stream", |_| {
        let (mut to, from, mut stream) = (device()?, pinned()?, Stream::new()?);
        let graph = stream.capture(|it| memcpy_async(&mut to, &from, it))?;
        assert_eq!(graph.node_count()?, 1);
        Ok(())
    }),
    ("capture/thread-local, how much memory is free", |_| {
        let device = Device::current()?;
        let graph = Stream::new()?.capture(|_| device.memory_info().map(drop))?;
        assert_eq!(graph.node_count()?, 0);
        Ok(())
    }),
    ("cudaDeviceGetAttribute/number 126", attribute),
    ("cudaDeviceGetAttribute/number 133", attribute),
    ("cudaDeviceGetAttribute/number 145", attribute),
    ("cudaDeviceGetAttribute/number 16", attribute),
    ("cudaDeviceGetAttribute/number 18", attribute),
    ("cudaDeviceGetAttribute/number 20", attribute),
    ("cudaDeviceGetAttribute/number 21", attribute),
    ("cudaDeviceGetAttribute/number 55", attribute),
    ("cudaDeviceGetAttribute/number 57", attribute),
    ("cudaDeviceGetAttribute/number 71", attribute),
    ("cudaDeviceGetAttribute/number 75", attribute),
    ("cudaDeviceGetAttribute/number 76", attribute),
    ("cudaDeviceGetAttribute/number 78", attribute),
    ("cudaDeviceGetAttribute/number 86", attribute),
    ("cudaDeviceGetAttribute/number 99", attribute),
    ("cudaDeviceSetLimit/fetch granularity, 0x3e8", |it| limit(it, Limit::MaxL2FetchGranularity)),
    ("cudaDeviceSetLimit/heap, 0x0", |it| limit(it, Limit::MallocHeapSize)),
    ("cudaDeviceSetLimit/printf, 0x200000000", |it| limit(it, Limit::PrintfFifoSize)),
    ("cudaEventCreateWithFlags/flags 0x6", |_| {
        let event = Event::with_flags(EventFlags::DISABLE_TIMING | EventFlags::INTERPROCESS)?;
        assert!(event.is_done()?);
        event.synchronize()
    }),
    ("cudaEventElapsedTime/backwards, and not over yet", |case| {
        let (start, end, stream) = (Event::new()?, Event::new()?, Stream::new()?);
        start.record(&stream)?;
        let gate = Gate::on(&case.alone, &stream);
        end.record(&stream)?;
        let early = end.elapsed_ms(&start);
        gate.open();
        end.synchronize()?;
        assert!(end.elapsed_ms(&start)? > 0.0 && start.elapsed_ms(&end)? < 0.0);
        early.map(drop)
    }),
    ("cudaHostRegister/mapped", |_| {
        Registered::with_flags(bytes(LEN), RegisterFlags::MAPPED)?.into_inner()?;
        Ok(())
    }),
    ("cudaMallocArray/halves", |_| Array::<Half>::alloc_2d(W, H).map(drop)),
    ("cudaMallocArray/one dimension", |_| {
        let array = Array::<u8>::alloc_1d(64)?;
        assert_eq!(array.extent(), [64, 1, 1]);
        Ok(())
    }),
    ("cudaMemPoolGetAttribute/of a fresh pool, reuse with waits", |case| {
        let waits = MemoryPool::new()?.attributes()?.reuse.contains(PoolReuse::ALLOW_INTERNAL_DEPENDENCIES);
        assert_eq!(u8::from(waits).to_string(), case.fact("is"));
        Ok(())
    }),
    ("cudaMemcpy/device to device, a part from byte 1000 on", |_| part(1000)),
    ("cudaMemcpy/device to device, a part from byte 3 on", |_| part(3)),
    ("cudaMemcpy/device to pinned, waits for a held blocking stream", |case| {
        let (from, mut to, stream, opened) = (device()?, pinned()?, Stream::new()?, AtomicBool::new(false));
        let gate = Gate::on(&case.alone, &stream);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                sleep(Duration::from_millis(20));
                opened.store(true, Ordering::SeqCst);
                gate.open();
            });
            let answer = memcpy(&mut to, &from);
            assert_eq!(opened.load(Ordering::SeqCst).to_string(), case.fact("waits"));
            answer
        })
    }),
    ("cudaMemcpy/host to device, no bytes, one past both ends", |_| {
        memcpy(&mut device()?.slice_mut(LEN..)?, &bytes(LEN)[LEN..])
    }),
    ("cudaMemcpy/pool from managed, default", |_| copied(pool()?, &managed()?)),
    ("cudaMemcpy/pool from pageable, default", |_| copied(pool()?, &bytes(LEN))),
    ("cudaMemcpy/pool from pinned, default", |_| copied(pool()?, &pinned()?)),
    ("cudaMemcpy/pool from registered, its direction", |_| copied(pool()?, &registered()?)),
    ("cudaMemcpy/registered from registered, its direction", |_| copied(registered()?, &registered()?)),
    ("cudaMemcpy2DAsync/default, neither", |_| {
        let (mut to, from) = (rows()?, rows()?);
        memcpy_2d_async(&mut to.plane_mut().columns_mut(..0)?.rows_mut(..0)?,
            &from.plane().columns(..0)?.rows(..0)?, &Stream::new()?)
    }),
    ("cudaMemcpy2DAsync/device to host, all rows", |_| {
        let (from, mut to, stream) = (rows()?, PinnedBuffer::from_slice(&[0_u8; W * H])?, Stream::new()?);
        memcpy_2d_async(&mut to.plane_mut(W, H)?, &from, &stream)?;
        holds(&to, &bytes(W * H))
    }),
    ("cudaMemcpy2DFromArray/device, no height", |_| {
        memcpy_2d(&mut rows()?.plane_mut().rows_mut(..0)?, &array()?.view().rows(..0)?)
    }),
    ("cudaMemcpy2DFromArray/device, no width", |_| {
        memcpy_2d(&mut rows()?.plane_mut().columns_mut(..0)?, &array()?.view().columns(..0)?)
    }),
    ("cudaMemcpy2DFromArray/pageable, no height", |_| {
        memcpy_2d(&mut PlaneMut::from_slice(&mut [], W, 0)?, &array()?.view().rows(..0)?)
    }),
    ("cudaMemcpy2DFromArrayAsync/16 by 8, device, no rows", |_| {
        memcpy_2d_async(&mut rows()?.plane_mut().rows_mut(..0)?, &array()?.view().rows(..0)?, &Stream::new()?)
    }),
    ("cudaMemcpy2DFromArrayAsync/16 by 8, pinned, beyond the end of a row", |_| {
        array()?.view().columns(8..20).map(drop)
    }),
    ("cudaMemcpy2DFromArrayAsync/16 by 8, pinned, no width beyond the end", |_| {
        array()?.view().columns(20..20).map(drop)
    }),
    ("cudaMemcpy2DFromArrayAsync/pinned, higher than the array", |_| {
        let (from, mut to) = (array()?, PinnedBuffer::<u8>::alloc(W * (H + 1))?);
        memcpy_2d_async(&mut to.plane_mut(W, H + 1)?, &from, &Stream::new()?)
    }),
    ("cudaMemcpy2DToArray/device, direction default", |_| {
        let mut to = Array::<u8>::alloc_2d(W, H)?;
        memcpy_2d(&mut to, &rows()?)?;
        assert_eq!(to.to_vec()?, bytes(W * H));
        Ok(())
    }),
    ("cudaMemcpy2DToArrayAsync/16 by 8, pageable, beyond the end of a row", |_| {
        array()?.view_mut().columns_mut(8..20).map(drop)
    }),
    ("cudaMemcpy2DToArrayAsync/16 by 8, pinned, all of it", |_| {
        let (mut to, from) = (Array::<u8>::alloc_2d(W, H)?, PinnedBuffer::from_slice(&bytes(W * H))?);
        memcpy_2d_async(&mut to, &from.plane(W, H)?, &Stream::new()?)?;
        assert_eq!(to.to_vec()?, bytes(W * H));
        Ok(())
    }),
    ("cudaMemcpy3D/device to array, corner to the right of the array", |_| {
        solid()?.view_mut().columns_mut(W + 1..W + 2).map(drop)
    }),
    ("cudaMemcpy3D/device to host, no depth", |_| {
        memcpy_3d(&mut VolumeMut::from_slice(&mut [], W, H, 0)?, &layers()?.volume().layers(..0)?)
    }),
    ("cudaMemcpy3D/host to device, no width", |_| {
        memcpy_3d(&mut layers()?.volume_mut().columns_mut(..0)?, &Volume::from_slice(&[], 0, H, D)?)
    }),
    ("cudaMemcpy3DAsync/default, all of it", |_| {
        let (from, mut to) = (layers()?, PitchedVolume::<u8>::alloc(W, H, D)?);
        memcpy_3d_async(&mut to, &from, &Stream::new()?)?;
        assert_eq!(to.to_vec()?, bytes(W * H * D));
        Ok(())
    }),
    ("cudaMemcpy3DAsync/device to array, corner to the right of the array", |_| {
        solid()?.view_mut().columns_mut(W + 1..W + 2).map(drop)
    }),
    ("cudaMemcpy3DAsync/device to host, no height", |_| {
        let mut to = pinned()?;
        memcpy_3d_async(&mut to.slice_mut(..0)?.volume_mut(W, 0, D)?, &layers()?.volume().rows(..0)?, &Stream::new()?)
    }),
    ("cudaMemcpy3DAsync/host to device, no depth", |_| {
        let from = pinned()?;
        memcpy_3d_async(&mut layers()?.volume_mut().layers_mut(..0)?, &from.slice(..0)?.volume(W, H, 0)?, &Stream::new()?)
    }),
    ("cudaMemcpy3DPeer/array to array, one layer too many", |_| {
        memcpy_3d(&mut Array::<u8>::alloc_3d(W, H, D)?, &Array::<u8>::alloc_3d(W, H, D + 1)?)
    }),
    ("cudaMemcpy3DPeerAsync/array to array, on one device", |_| {
        let (from, mut to) = (solid()?, Array::<u8>::alloc_3d(W, H, D)?);
        memcpy_3d_async(&mut to, &from, &Stream::new()?)?;
        assert_eq!(to.to_vec()?, bytes(W * H * D));
        Ok(())
    }),
    ("cudaMemcpyAsync/after an event of a held stream", |case| {
        let (from, mut to, held, other) = (pinned()?, device()?, Stream::new()?, Stream::non_blocking()?);
        let (gate, event) = (Gate::on(&case.alone, &held), Event::new()?);
        event.record(&held)?;
        other.wait(&event)?;
        memcpy_async(&mut to, &from, &other)?;
        assert!(!other.is_done()?);
        gate.open();
        holds(&to, &bytes(LEN))
    }),
    ("cudaMemcpyAsync/default, on the stream of the thread", |_| {
        queued(device()?, &pinned()?, &Stream::per_thread()?)
    }),
    ("cudaMemcpyAsync/device from registered, default", |_| {
        queued(device()?, &registered()?, &Stream::new()?)
    }),
    ("cudaMemcpyAsync/device to host, on the legacy stream by name", |_| {
        queued(pinned()?, &device()?, &Stream::legacy()?)
    }),
    ("cudaMemcpyAsync/host to device, a part from byte 255 on", |_| {
        let (from, mut to) = (pinned()?, DeviceBuffer::<u8>::alloc_zeroed(LEN)?);
        memcpy_async(&mut to.slice_mut(255..)?, &from.slice(255..)?, &Stream::new()?)?;
        let mut expected = bytes(LEN);
        expected[..255].fill(0);
        holds(&to, &expected)
    }),
    ("cudaMemcpyAsync/host to device, no bytes", |_| {
        let (from, mut to) = (pinned()?, DeviceBuffer::<u8>::alloc_zeroed(LEN)?);
        memcpy_async(&mut to.slice_mut(..0)?, &from.slice(..0)?, &Stream::new()?)?;
        holds(&to, &[0; LEN])
    }),
    ("cudaMemcpyAsync/host to host, a part from byte 255 on", |_| {
        let (from, mut to) = (pinned()?, PinnedBuffer::from_slice(&[0; LEN])?);
        memcpy_async(&mut to.slice_mut(255..)?, &from.slice(255..)?, &Stream::new()?)?;
        let mut expected = bytes(LEN);
        expected[..255].fill(0);
        holds(&to, &expected)
    }),
    ("cudaMemcpyAsync/managed from device, its direction", |_| {
        queued(managed()?, &device()?, &Stream::new()?)
    }),
    ("cudaMemcpyAsync/managed from pinned, its direction", |_| {
        queued(managed()?, &pinned()?, &Stream::new()?)
    }),
    ("cudaMemcpyAsync/pinned from device, default", |_| queued(pinned()?, &device()?, &Stream::new()?)),
    ("cudaMemset/no bytes", |_| {
        let mut memory = device()?;
        memset(&mut memory.slice_mut(..0)?, 1)?;
        holds(&memory, &bytes(LEN))
    }),
    ("cudaMemset/pool, value 0", |_| filled(pool()?, 0, memset)),
    ("cudaMemsetAsync/device, value 0", |_| {
        filled(device()?, 0, |it, value| memset_async(it, value, &Stream::new()?))
    }),
    ("cudaMemsetAsync/managed, value -1", |_| {
        filled(managed()?, 255, |it, value| memset_async(it, value, &Stream::new()?))
    }),
    ("cudaMemsetAsync/pinned memory, then 96 bytes, a copy", |_| {
        let (mut from, mut to, stream) = (pinned()?, device()?, Stream::new()?);
        memset_async(&mut from.slice_mut(..96)?, 7, &stream)?;
        memcpy_async(&mut to.slice_mut(..96)?, &from.slice(..96)?, &stream)?;
        holds(&to.slice(..96)?, &[7; 96])
    }),
    ("cudaPointerGetAttributes/device memory, byte 100", |_| {
        let memory = device()?;
        let at = memory.as_ptr().wrapping_add(100);
        let found = PointerAttributes::from_ptr(at)?;
        assert_eq!((found.kind(), found.device()), (MemoryKind::DEVICE, Some(memory.device())));
        assert!(found.device_ptr().addr() == at.addr() && found.host_ptr().is_null());
        Ok(())
    }),
    ("cudaPointerGetAttributes/pinned memory, byte 100", |_| {
        let memory = pinned()?;
        let at = memory.as_ptr().wrapping_add(100);
        let found = PointerAttributes::from_ptr(at)?;
        assert_eq!((found.kind(), found.device()), (MemoryKind::HOST, Some(Device::current()?)));
        assert_eq!((found.device_ptr().addr(), found.host_ptr().addr()), (at.addr(), at.addr()));
        Ok(())
    }),
    ("cudaSetDevice/as many as there are", |_| Device::new(Device::count()?).map(drop)),
    ("cudaStreamGetPriority/in and out of the range", |case| {
        let range = Device::current()?.stream_priority_range()?;
        assert_eq!(format!("{} to {}", range.least, range.greatest), case.fact("range"));
        let stream = Stream::builder().priority(-100).build()?;
        assert_eq!(stream.priority()?.to_string(), case.fact("-100"));
        Ok(())
    }),
    ("cudaStreamQuery/null, idle", |_| {
        assert!(Stream::legacy()?.is_done()?);
        Ok(())
    }),
];

#[test]
fn what_a_gpu_answered_is_what_the_crate_answers() {
    let alone = alone();
    let sample: Vec<[&str; 3]> =
        SAMPLE.lines().map(|row| row.split('\t').collect::<Vec<_>>().try_into().unwrap()).collect();
    assert_eq!(sample.len(), 150);
    let mut wrong = Vec::new();
    for (name, run) in TRIED {
        let Some([_, fate, answer]) = sample.iter().find(|row| row[0] == *name) else {
            wrong.push(format!("{name}: not in the sample"));
            continue;
        };
        let facts: Vec<_> = answer.split("; ").filter_map(|fact| fact.split_once('=')).collect();
        let first = facts[0].1;
        let found = run(&Case { name, facts, alone: alone.clone() });
        let as_expected = match (*fate, &found) {
            ("refused", Err(error)) => error.is_refused(),
            ("works", Ok(())) => first == "Success",
            ("works", Err(error)) => error.name() == format!("cudaError{first}"),
            _ => false,
        };
        if !as_expected {
            wrong.push(format!("{name}: {fate}, {answer}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let left = sample.iter().filter(|row| !TRIED.iter().any(|tried| tried.0 == row[0])).count();
    assert_eq!(left, LEFT, "set LEFT to the number of cases that are not tried");
}
