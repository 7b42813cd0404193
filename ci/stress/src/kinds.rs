//! The kinds of owners: one round of each makes owners, uses them, and drops them at once, while their work
//! runs, or on another thread.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use cuda_safe::graph::node;
use cuda_safe::memory::{ArrayBuilder, MemoryPool, Plane};
use cuda_safe::texture::TextureDesc;
use cuda_safe::{
    Array, AsStream as _, DeviceBuffer, Event, Graph, GraphExec, Library, ManagedBuffer, MappedFlag,
    PinnedBuffer, Registered, Result, Stream, Surface, Texture, memcpy, memcpy_2d, memcpy_async,
    memset_async,
};

use crate::work::{LEN, Worker};

/// One round of a kind.
pub(crate) type Round = fn(&mut Worker) -> Result<()>;

/// All kinds, by name.
pub(crate) const KINDS: [(&str, Round); 22] = [
    ("pools", |w| pools(w, true)),
    ("pools-plain", |w| pools(w, false)),
    ("current-pools", current_pools),
    ("streams", streams),
    ("thread-streams", thread_streams),
    ("events", events),
    ("graphs", graphs),
    ("execs", execs),
    ("host-functions", host_functions),
    ("device", device),
    ("async", from_default_pool),
    ("pinned", pinned),
    ("registered", registered),
    ("managed", managed),
    ("arrays", arrays),
    ("mipmapped", mipmapped),
    ("textures", textures),
    ("surfaces", surfaces),
    ("libraries", libraries),
    ("flags", flags),
    ("staged", staged),
    ("scopes", scopes),
];

/// Code with a variable and a kernel.
const PTX: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .b8 bytes[256];
.visible .entry nothing()
{
    ret;
}";

/// Pools that were exported.
static EXPORTS: AtomicU64 = AtomicU64::new(0);

/// Why pools were made that are not shared.
static UNSHARED: Mutex<Option<String>> = Mutex::new(None);

/// What the result should say besides.
pub(crate) fn remarks() -> String {
    let unshared = UNSHARED.lock().unwrap_or_else(PoisonError::into_inner);
    let unshared = unshared.as_ref().map_or_else(String::new, |why| format!("; NOT shared: {why}"));
    format!("{} exports of pools{unshared}", EXPORTS.load(Relaxed))
}

/// Drops a value on another thread, which is waited for or not.
fn drop_elsewhere<T: Send + 'static>(value: T, wait: bool) {
    let other = thread::spawn(move || drop(value));
    if wait {
        let _ = other.join();
    }
}

fn pools(w: &mut Worker, shared: bool) -> Result<()> {
    let mut shared = shared;
    let pool = match shared.then(|| MemoryPool::builder().shareable().build()) {
        Some(Ok(pool)) => pool,
        Some(Err(error)) => {
            // Machines without POSIX descriptors for pools, the emulator not among them.
            *UNSHARED.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
            shared = false;
            MemoryPool::new()?
        }
        None => MemoryPool::new()?,
    };
    let value = w.byte();
    let mut buffer = DeviceBuffer::<u8>::alloc_from(&pool, LEN + w.number * 100_000, &w.free)?;
    memset_async(&mut buffer, value, &w.free)?;
    if shared {
        let descriptor = pool.export()?;
        EXPORTS.fetch_add(1, Relaxed);
        if value.is_multiple_of(2) {
            let _ = buffer.export_pool_pointer()?;
        }
        drop(descriptor);
    }
    let usual = DeviceBuffer::<u8>::alloc_async(1000, &w.free)?;
    match w.below(6) {
        0 => {
            drop(pool);
            assert_eq!(buffer.to_vec()?[LEN - 1], value);
            drop(buffer);
            w.device.synchronize()?;
        }
        1 => {
            drop(buffer);
            pool.trim_to(0)?;
            drop_elsewhere(pool, true);
        }
        2 => drop_elsewhere((buffer, pool), false),
        3 => {
            let other = thread::spawn(move || drop(pool));
            buffer.free_async(&w.free)?;
            w.free.synchronize()?;
            let _ = other.join();
        }
        4 => {
            drop(pool);
            drop_elsewhere(buffer, false);
            w.device.synchronize()?;
        }
        _ => {
            pool.set_release_threshold(u64::MAX)?;
            drop((pool, buffer));
        }
    }
    drop(usual);
    Ok(())
}

fn current_pools(w: &mut Worker) -> Result<()> {
    let (value, pool) = (w.byte(), MemoryPool::new()?);
    w.device.set_memory_pool(&pool)?;
    let mut buffer = DeviceBuffer::<u8>::alloc_async(LEN, &w.stream)?;
    memset_async(&mut buffer, value, &w.stream)?;
    if value.is_multiple_of(2) {
        drop(pool);
    } else {
        let _ = w.device.memory_pool()?;
        w.device.set_memory_pool(&w.device.default_memory_pool()?)?;
    }
    memcpy_async(&mut w.pinned, &buffer, &w.free)?;
    w.check(value)?;
    drop(buffer);
    if value.is_multiple_of(8) { w.device.synchronize() } else { Ok(()) }
}

fn streams(w: &mut Worker) -> Result<()> {
    let value = w.byte();
    match w.below(8) {
        0 => {
            let stream = Stream::new()?;
            w.fill(value, &stream)?;
            w.kept.push(stream);
        }
        1 => {
            let stream = Stream::non_blocking()?;
            w.fill(value, &stream)?;
            w.event.record(&stream)?;
            drop(stream);
            w.event.synchronize()?;
        }
        2 => {
            let range = w.device.stream_priority_range()?;
            let priority = if value.is_multiple_of(2) { range.least } else { range.greatest };
            let stream = Stream::builder().non_blocking().priority(priority).build()?;
            w.fill(value, &stream)?;
            stream.synchronize()?;
        }
        3 => {
            memset_async(&mut w.bytes, value, &Stream::legacy()?)?;
            memcpy_async(&mut w.pinned, &w.bytes, &Stream::legacy()?)?;
        }
        4 => {
            let stream = Stream::new()?;
            stream.wait(&w.event)?;
            w.fill(value, &stream)?;
            stream.launch_host_fn(|| ())?;
            drop_elsewhere(stream, value.is_multiple_of(2));
        }
        5 => {
            let stream = Stream::new()?;
            w.fill(value, &stream)?;
            drop(stream.done());
        }
        6 => {
            let stream = Stream::non_blocking()?;
            let mut buffer = DeviceBuffer::<u8>::alloc_async(LEN, &stream)?;
            memset_async(&mut buffer, value, &stream)?;
            memcpy_async(&mut w.pinned, &buffer, &stream)?;
        }
        _ => {
            let stream = Stream::new()?;
            w.fill(value, &stream)?;
            if w.kept.len() > 20 {
                w.kept.drain(..10);
            }
        }
    }
    w.check(value)
}

/// Threads with streams of their own, which end while the work runs.
fn thread_streams(w: &mut Worker) -> Result<()> {
    let value = w.byte();
    let (bytes, pinned) = (&mut w.bytes, &mut w.pinned);
    let work = move || {
        let own = Stream::per_thread()?;
        memset_async(bytes, value, &own)?;
        memcpy_async(pinned, bytes, &own)
    };
    match thread::scope(|scope| scope.spawn(work).join()) {
        Ok(worked) => worked?,
        Err(panic) => std::panic::resume_unwind(panic),
    }
    w.check(value)
}

fn events(w: &mut Worker) -> Result<()> {
    let value = w.byte();
    let (first, second) = (Event::new()?, Event::new()?);
    first.record(&w.free)?;
    memset_async(&mut w.bytes, value, &w.free)?;
    second.record(&w.free)?;
    w.stream.wait(&second)?;
    memcpy_async(&mut w.pinned, &w.bytes, &w.stream)?;
    match w.below(3) {
        0 => drop_elsewhere((first, second), value.is_multiple_of(2)),
        1 => {
            second.synchronize()?;
            let _ = second.elapsed_ms(&first)?;
        }
        _ => drop((first, second.done())),
    }
    w.check(value)
}

fn graphs(w: &mut Worker) -> Result<()> {
    let value = w.byte();
    let mut graph = Graph::new()?;
    let first = graph.add(&[], node::memset(&mut w.bytes, value))?;
    if value.is_multiple_of(2) {
        drop(graph.try_clone()?);
    }
    let (graph, _) =
        w.stream.capture_to_graph(graph, &[first], |c| memcpy_async(&mut w.pinned, &w.bytes, c))?;
    let mut exec = graph.instantiate()?;
    drop_elsewhere(graph, value.is_multiple_of(3));
    exec.launch(&w.free)?;
    w.check(value)
}

/// An executable graph that fills and copies.
fn exec_of(w: &mut Worker, value: u8) -> Result<(Graph, GraphExec)> {
    let graph = w.stream.capture(|c| {
        memset_async(&mut w.bytes, value, c)?;
        memcpy_async(&mut w.pinned, &w.bytes, c)
    })?;
    let exec = graph.instantiate()?;
    Ok((graph, exec))
}

fn execs(w: &mut Worker) -> Result<()> {
    let value = w.byte();
    let (_, mut exec) = exec_of(w, value)?;
    exec.launch(&w.free)?;
    let (graph, other) = exec_of(w, value ^ 1)?;
    exec.update(&graph)?;
    exec.launch(&w.stream)?;
    drop_elsewhere((exec, graph), value.is_multiple_of(2));
    drop(other);
    w.check(value ^ 1)
}

/// Closures that a graph owns (user objects), and those of streams.
fn host_functions(w: &mut Worker) -> Result<()> {
    let called = Arc::new(AtomicU64::new(0));
    let graph = {
        let called = Arc::clone(&called);
        w.stream.capture(move |c| {
            c.host_fn(move || {
                called.fetch_add(1, Relaxed);
            })
        })?
    };
    let mut exec = graph.instantiate()?;
    drop(graph);
    exec.launch(&w.free)?;
    exec.launch(&w.stream)?;
    let again = Arc::clone(&called);
    w.free.launch_host_fn(move || {
        again.fetch_add(1, Relaxed);
    })?;
    if w.below(2) == 0 {
        drop(exec);
    }
    w.free.synchronize()?;
    w.stream.synchronize()?;
    assert_eq!(called.load(Relaxed), 3, "thread {}: calls of host functions", w.number);
    Ok(())
}

fn device(w: &mut Worker) -> Result<()> {
    let (value, bytes) = (w.byte(), LEN << w.below(8));
    let mut buffer = DeviceBuffer::<u8>::alloc(bytes)?;
    memset_async(&mut buffer, value, &w.free)?;
    memcpy_async(&mut w.pinned, &buffer.slice(bytes - LEN..)?, &w.stream)?;
    if value.is_multiple_of(2) {
        w.check(value)?;
    }
    drop_elsewhere(buffer, value.is_multiple_of(3));
    w.check(value)
}

fn from_default_pool(w: &mut Worker) -> Result<()> {
    let (value, bytes) = (w.byte(), LEN << w.below(10));
    let mut buffer = DeviceBuffer::<u8>::alloc_async(bytes, &w.free)?;
    memset_async(&mut buffer, value, &w.free)?;
    memcpy_async(&mut w.pinned, &buffer.slice(bytes - LEN..)?, &w.stream)?;
    match w.below(3) {
        0 => buffer.free_async(&w.stream)?,
        1 => drop_elsewhere(buffer, value.is_multiple_of(2)),
        _ => drop(buffer),
    }
    w.check(value)
}

fn pinned(w: &mut Worker) -> Result<()> {
    let value = w.byte();
    let mut host = PinnedBuffer::<u8>::alloc(LEN << w.below(4))?;
    memset_async(&mut w.bytes, value, &w.free)?;
    memcpy_async(&mut host.slice_mut(..LEN)?, &w.bytes, &w.free)?;
    if value.is_multiple_of(2) {
        assert!(host.slice(..LEN)?.host()?.iter().all(|byte| *byte == value), "thread {}: pinned", w.number);
    }
    drop_elsewhere(host, value.is_multiple_of(3));
    Ok(())
}

fn registered(w: &mut Worker) -> Result<()> {
    let value = w.byte();
    let mut host = match Registered::new(vec![0_u8; LEN * 4]) {
        Ok(host) => host,
        Err(error) => return Err(error.into_parts().0),
    };
    memset_async(&mut w.bytes, value, &w.free)?;
    memcpy_async(&mut host.as_slice_mut().slice_mut(LEN..2 * LEN)?, &w.bytes, &w.free)?;
    match host.into_inner() {
        Ok(back) => assert!(back[LEN..2 * LEN].iter().all(|byte| *byte == value), "thread {}", w.number),
        Err(error) => return Err(error.into_parts().0),
    }
    if let Ok(other) = Registered::new(vec![value; LEN]) {
        memcpy_async(&mut w.bytes, &other, &w.stream)?;
        drop_elsewhere(other, value.is_multiple_of(2));
        memcpy_async(&mut w.pinned, &w.bytes, &w.stream)?;
        w.check(value)?;
    }
    Ok(())
}

fn managed(w: &mut Worker) -> Result<()> {
    let value = w.byte();
    let mut buffer = ManagedBuffer::<u8>::alloc(LEN)?;
    memset_async(&mut buffer, value, &w.free)?;
    if value.is_multiple_of(2) {
        assert!(buffer.host()?.iter().all(|byte| *byte == value), "thread {}: managed", w.number);
    }
    memcpy_async(&mut w.pinned, &buffer, &w.stream)?;
    drop_elsewhere(buffer, value.is_multiple_of(3));
    w.check(value)
}

/// The elements of a plane of 64 by 64.
const PLANE: usize = 64 * 64;

fn arrays(w: &mut Worker) -> Result<()> {
    let value = f32::from(w.byte());
    let mut array = Array::<f32>::alloc_2d(64, 64)?;
    memcpy_2d(&mut array, &Plane::from_slice(&[value; PLANE], 64, 64)?)?;
    if w.below(2) == 0 {
        assert_eq!(array.to_vec()?, [value; PLANE]);
    }
    drop_elsewhere(array, w.below(2) == 0);
    Ok(())
}

fn mipmapped(w: &mut Worker) -> Result<()> {
    let value = f32::from(w.byte());
    let mut levels = ArrayBuilder::plane(64, 64).surface().mipmapped::<f32>(3)?;
    memcpy_2d(&mut levels.level_mut(1)?, &Plane::from_slice(&[value; PLANE / 4], 32, 32)?)?;
    if w.below(2) == 0 {
        let desc = TextureDesc { normalized_coords: true, ..TextureDesc::default() };
        drop(Texture::new(&levels, &desc)?);
    }
    drop_elsewhere(levels, w.below(2) == 0);
    Ok(())
}

fn textures(w: &mut Worker) -> Result<()> {
    let array = Array::<f32>::alloc_2d(64, 64)?;
    let texture = Texture::new(&array, &TextureDesc::default())?;
    let buffer = DeviceBuffer::<f32>::alloc(1024)?;
    let other = Texture::new(&buffer, &TextureDesc::default())?;
    if w.below(2) == 0 {
        drop((array, buffer));
    }
    drop_elsewhere((texture, other), w.below(2) == 0);
    Ok(())
}

fn surfaces(w: &mut Worker) -> Result<()> {
    let image = ArrayBuilder::plane(64, 64).surface().alloc::<f32>()?;
    let surface = Surface::new(&image)?;
    if w.below(2) == 0 {
        drop(image);
    }
    drop_elsewhere(surface, w.below(2) == 0);
    Ok(())
}

fn libraries(w: &mut Worker) -> Result<()> {
    let value = w.byte();
    let library = Library::from_ptx(PTX)?;
    let mut bytes = library.global::<u8>("bytes")?;
    memset_async(&mut bytes, value, &w.free)?;
    if value.is_multiple_of(2) {
        drop(library);
        assert_eq!(bytes.to_vec()?, [value; 256]);
        drop_elsewhere(bytes, true);
    } else {
        drop(bytes);
        drop_elsewhere(library, value.is_multiple_of(3));
    }
    Ok(())
}

fn flags(w: &mut Worker) -> Result<()> {
    let flag = MappedFlag::new()?;
    flag.set(3);
    assert_eq!(flag.load(), 3);
    drop_elsewhere(flag, w.below(2) == 0);
    Ok(())
}

/// Copies of pageable memory, large enough for the worker threads.
fn staged(w: &mut Worker) -> Result<()> {
    let (value, bytes) = (w.byte(), 4 << 20);
    let (source, mut back) = (vec![value; bytes], vec![0; bytes]);
    let mut buffer = DeviceBuffer::<u8>::alloc(bytes)?;
    memcpy(&mut buffer, &source)?;
    memcpy(&mut back, &buffer)?;
    assert!(source == back, "thread {}: a staged copy", w.number);
    Ok(())
}

fn scopes(w: &mut Worker) -> Result<()> {
    let value = w.byte();
    let (stream, mut out) = (Stream::new()?, vec![0; LEN]);
    memset_async(&mut w.bytes, value, &stream)?;
    stream.as_stream().scope(|scope| scope.memcpy_async(&mut out, &w.bytes))??;
    assert!(out.iter().all(|byte| *byte == value), "thread {}: a scope", w.number);
    Ok(())
}
