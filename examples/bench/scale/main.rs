//! How costs grow: the Rust side of that part of `ci/bench`.
//!
//! Answers questions as [`serve`] describes. An operation is a case and a size: `threads_memset_16`,
//! `parts_8192`. `main.cu` beside this file has the same cases.
#![expect(unsafe_code, reason = "launches kernels")]

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, bail};
use bench::kernels::{buffers_4, buffers_16};
use bench::serve::{Plan, serve};
use cuda_kernels::kernels::{add_one, square, vector_add};
use cuda_safe::copy::Pipeline;
use cuda_safe::graph::node;
use cuda_safe::{
    Device, DeviceBuffer, Event, Graph, MemoryPool, PinnedBuffer, Result, Stream, launch, memcpy_async,
    memset_async,
};

const ELEMENTS: usize = 1024;
const BYTES: usize = ELEMENTS * size_of::<f32>();
const PART: usize = 64;
const SMALL: usize = 256;
const STREAMED: usize = 4 << 20;
const THREADS: u32 = 32;

/// A stream and the memory that its operations write.
struct Own {
    stream: Stream,
    numbers: DeviceBuffer<i32>,
    sums: DeviceBuffer<f32>,
}

impl Own {
    fn new() -> Result<Self> {
        Ok(Self {
            stream: Stream::non_blocking()?,
            numbers: DeviceBuffer::alloc(ELEMENTS)?,
            sums: DeviceBuffer::alloc(ELEMENTS)?,
        })
    }

    fn add_one(&mut self) -> Result<()> {
        launch!(add_one<<<1, THREADS, 0, &self.stream>>>(&mut self.numbers, THREADS))
    }

    fn read_shared(&mut self, shared: &DeviceBuffer<f32>) -> Result<()> {
        launch!(vector_add<<<1, THREADS, 0, &self.stream>>>(shared, shared, &mut self.sums, THREADS))
    }

    fn memset(&mut self) -> Result<()> {
        memset_async(&mut self.numbers, 0, &self.stream)
    }

    fn allocate_and_drop(&mut self) -> Result<()> {
        DeviceBuffer::<u8>::alloc_async(BYTES, &self.stream).map(drop)
    }
}

/// Waits until as many threads have come here.
fn meet(arrived: &AtomicU32, expected: u32) {
    arrived.fetch_add(1, Ordering::SeqCst);
    while arrived.load(Ordering::SeqCst) < expected {
        spin_loop();
        thread::yield_now();
    }
}

/// Measures threads that make the same calls at the same time, each on its own stream. A batch takes from the
/// start of the first thread to the end of the last one.
fn threads(plan: Plan, count: u32, call: impl Fn(&mut Own) -> Result<()> + Sync) -> anyhow::Result<f64> {
    let arrived = AtomicU32::new(0);
    // A thread that fails still meets the others.
    let run = || {
        let mut own = Own::new();
        let mut spans = Vec::new();
        let mut expected = 0;
        for _ in 0..=plan.batches {
            expected += count;
            meet(&arrived, expected);
            let start = Instant::now();
            own = own.and_then(|mut own| {
                for _ in 0..plan.calls {
                    call(&mut own)?;
                }
                Ok(own)
            });
            spans.push([start, Instant::now()]);
            expected += count;
            meet(&arrived, expected);
            own = own.and_then(|own| own.stream.synchronize().map(|()| own));
        }
        own.map(|_| spans)
    };
    let spans = thread::scope(|scope| {
        let running: Vec<_> = (0..count).map(|_| scope.spawn(run)).collect();
        running
            .into_iter()
            .map(|thread| Ok(thread.join().ok().context("a thread panicked")??))
            .collect::<anyhow::Result<Vec<_>>>()
    })?;
    let mut batches = (0..=plan.batches as usize).map(|batch| {
        let start = spans.iter().map(|spans| spans[batch][0]).min()?;
        let end = spans.iter().map(|spans| spans[batch][1]).max()?;
        Some(end - start)
    });
    Ok(plan.time_batches(plan.calls * count, || Ok(batches.next().flatten().unwrap_or_default()))?)
}

fn streams(plan: Plan, count: usize, shared: &DeviceBuffer<f32>) -> Result<f64> {
    let mut owns = (0..count).map(|_| Own::new()).collect::<Result<Vec<_>>>()?;
    let mut at = 0;
    plan.time(|| {
        at += 1;
        owns[(at - 1) % count].read_shared(shared)
    })
}

fn parts(plan: Plan, size: u32) -> Result<f64> {
    let count = size as usize;
    let streams = (0..8).map(|_| Stream::non_blocking()).collect::<Result<Vec<_>>>()?;
    let mut buffer = DeviceBuffer::<u8>::alloc(count * PART)?;
    let rounds = (plan.calls / size).max(1);
    plan.time_batches(rounds * size, || {
        let start = Instant::now();
        for _ in 0..rounds {
            for i in 0..count {
                let mut part = buffer.slice_mut(i * PART..(i + 1) * PART)?;
                memset_async(&mut part, 0, &streams[i % streams.len()])?;
            }
        }
        Ok(start.elapsed())
    })
}

fn chain(nodes: u32, numbers: &mut DeviceBuffer<i32>) -> Result<Graph> {
    let mut graph = Graph::new()?;
    let mut last = None;
    for _ in 0..nodes {
        // SAFETY: each thread touches one element of a buffer that has more and that the graph retains.
        let node = unsafe {
            graph.add(last.as_slice(), node::kernel(&add_one, (1, THREADS), (&mut *numbers, THREADS)))
        };
        last = Some(node?);
    }
    Ok(graph)
}

fn graph_chain(plan: Plan, nodes: u32, numbers: &mut DeviceBuffer<i32>) -> Result<f64> {
    plan.time_batches(nodes, || {
        let start = Instant::now();
        let graph = chain(nodes, numbers)?;
        let spent = start.elapsed();
        drop(graph);
        Ok(spent)
    })
}

fn graph_fills(plan: Plan, nodes: u32) -> Result<f64> {
    let mut buffers = (0..nodes).map(|_| DeviceBuffer::<u8>::alloc(SMALL)).collect::<Result<Vec<_>>>()?;
    plan.time_batches(nodes, || {
        let start = Instant::now();
        let mut graph = Graph::new()?;
        for buffer in &mut buffers {
            graph.add(&[], node::memset(buffer, 0))?;
        }
        let spent = start.elapsed();
        drop(graph);
        Ok(spent)
    })
}

fn graph_instantiate(plan: Plan, nodes: u32, numbers: &mut DeviceBuffer<i32>) -> Result<f64> {
    let graph = chain(nodes, numbers)?;
    plan.time_batches(nodes, || {
        let start = Instant::now();
        let exec = graph.instantiate()?;
        let spent = start.elapsed();
        drop(exec);
        Ok(spent)
    })
}

fn graph_launch(plan: Plan, nodes: u32, own: &mut Own) -> Result<f64> {
    let mut exec = chain(nodes, &mut own.numbers)?.instantiate()?;
    plan.time_batches(1, || {
        let start = Instant::now();
        exec.launch(&own.stream)?;
        Ok(start.elapsed())
    })
}

fn buffers(plan: Plan, count: usize, stream: &Stream) -> anyhow::Result<f64> {
    let buffers = (0..16).map(|_| DeviceBuffer::<i32>::alloc(ELEMENTS)).collect::<Result<Vec<_>>>()?;
    let Ok(
        [
            mut a,
            mut b,
            mut c,
            mut d,
            mut e,
            mut f,
            mut g,
            mut h,
            mut i,
            mut j,
            mut k,
            mut l,
            mut m,
            mut n,
            mut o,
            mut p,
        ],
    ) = <[_; 16]>::try_from(buffers)
    else {
        bail!("not 16 buffers")
    };
    Ok(match count {
        1 => plan.time(|| launch!(add_one<<<1, 1, 0, stream>>>(&mut a, 1))),
        4 => plan.time(|| launch!(buffers_4<<<1, 1, 0, stream>>>(&mut a, &mut b, &mut c, &mut d))),
        16 => plan.time(|| {
            launch!(buffers_16<<<1, 1, 0, stream>>>(
                &mut a, &mut b, &mut c, &mut d, &mut e, &mut f, &mut g, &mut h, &mut i, &mut j, &mut k,
                &mut l, &mut m, &mut n, &mut o, &mut p,
            ))
        }),
        _ => bail!("no kernel of {count} buffers"),
    }?)
}

fn live(plan: Plan, count: u32, pool: &MemoryPool, stream: &Stream) -> Result<f64> {
    let allocate = || DeviceBuffer::<u8>::alloc_from(pool, SMALL, stream);
    let all = (0..count).map(|_| allocate()).collect::<Result<Vec<_>>>()?;
    let time = plan.time(|| allocate().map(drop))?;
    drop(all);
    stream.synchronize()?;
    Ok(time)
}

fn to_vec(plan: Plan, size: usize) -> Result<f64> {
    let device = DeviceBuffer::from_slice(&vec![1_u8; size])?;
    plan.time(|| device.to_vec().map(|host| drop(black_box(host))))
}

fn scope(plan: Plan, size: usize, stream: &Stream) -> Result<f64> {
    let host = vec![1_u8; size];
    let mut device = DeviceBuffer::<u8>::alloc(size)?;
    plan.time(|| stream.scope(|scope| scope.memcpy_async(&mut device, &host[..]))?)
}

fn host(plan: Plan, size: usize, stream: &Stream) -> Result<f64> {
    let device = DeviceBuffer::from_slice(&vec![1_u8; size])?;
    let mut pinned = PinnedBuffer::<u8>::alloc(size)?;
    plan.time(|| {
        memcpy_async(&mut pinned, &device, stream)?;
        black_box(pinned.host()?[0]);
        Ok(())
    })
}

fn pipeline(plan: Plan, size: usize) -> Result<f64> {
    let chunk = size / size_of::<i32>();
    let input = PinnedBuffer::<i32>::alloc(STREAMED / size_of::<i32>())?;
    let mut output = PinnedBuffer::<i32>::alloc(STREAMED / size_of::<i32>())?;
    let mut pipeline = Pipeline::<i32, i32>::new(chunk)?;
    plan.time_batches(u32::try_from(STREAMED / size).unwrap_or(1), || {
        let start = Instant::now();
        pipeline.run(&mut output, &input, |stream, input, mut output, _| {
            launch!(square<<<chunk / 256, 256, 0, &stream>>>(&input, &mut output, chunk))
        })?;
        Ok(start.elapsed())
    })
}

/// The objects that several cases use.
struct Scale {
    own: Own,
    pool: MemoryPool,
    shared: DeviceBuffer<f32>,
}

impl Scale {
    fn measure(&mut self, name: &str, size: u32, plan: Plan) -> anyhow::Result<Option<f64>> {
        let Self { own, pool, shared } = self;
        let count = size as usize;
        Ok(Some(match name {
            "threads_launch" => threads(plan, size, Own::add_one)?,
            "threads_shared" => threads(plan, size, |own| own.read_shared(shared))?,
            "threads_memset" => threads(plan, size, Own::memset)?,
            "threads_alloc" => threads(plan, size, Own::allocate_and_drop)?,
            "streams" => streams(plan, count, shared)?,
            "parts" => parts(plan, size)?,
            "graph_chain" => graph_chain(plan, size, &mut own.numbers)?,
            "graph_fills" => graph_fills(plan, size)?,
            "graph_instantiate" => graph_instantiate(plan, size, &mut own.numbers)?,
            "graph_launch" => graph_launch(plan, size, own)?,
            "buffers" => buffers(plan, count, &own.stream)?,
            "live" => live(plan, size, pool, &own.stream)?,
            "from_slice" => {
                let host = vec![1_u8; count];
                plan.time(|| DeviceBuffer::from_slice(&host).map(drop))?
            }
            "to_vec" => to_vec(plan, count)?,
            "scope" => scope(plan, count, &own.stream)?,
            "host" => host(plan, count, &own.stream)?,
            "pipeline" => pipeline(plan, count)?,
            "event" => plan.time(|| Event::new().map(drop))?,
            "stream" => plan.time(|| Stream::new().map(drop))?,
            "pinned" => plan.time(|| PinnedBuffer::<u8>::alloc(count).map(drop))?,
            "device" => plan.time(|| DeviceBuffer::<u8>::alloc(count).map(drop))?,
            _ => return Ok(None),
        }))
    }
}

fn main() -> anyhow::Result<()> {
    let device = Device::current()?;
    let pool = MemoryPool::new()?;
    // Pools retain freed memory, so that nothing requests memory from the driver.
    for pool in [&pool, &device.default_memory_pool()?] {
        pool.set_release_threshold(u64::MAX)?;
    }
    let mut scale = Scale { own: Own::new()?, pool, shared: DeviceBuffer::alloc_zeroed(ELEMENTS)? };
    serve(device, |operation, plan| {
        let (name, size) = operation.rsplit_once('_').context("not CASE_SIZE")?;
        scale.measure(name, size.parse()?, plan)
    })
}
