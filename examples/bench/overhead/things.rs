//! The objects that the operations use. All sides share them: the driver's work for a stream or for
//! memory depends on its address and its history, so separate objects alone would make a side some ten
//! nanoseconds faster or slower.

use cuda_kernels::kernels;
use cuda_safe::graph::GraphExec;
use cuda_safe::memory::MemoryPool;
use cuda_safe::{Device, DeviceBuffer, Event, PinnedBuffer, Result, Stream, launch, memcpy_async, sys};

use crate::FLOATS;

/// Pageable memory that begins at a page boundary.
#[repr(align(4096))]
pub(crate) struct Pageable(pub(crate) [f32; FLOATS]);

/// The objects of the safe side.
pub(crate) struct Things {
    pub(crate) stream: Stream,
    pub(crate) second: Stream,
    pub(crate) event: Event,
    pub(crate) other: Event,
    pub(crate) pool: MemoryPool,
    pub(crate) exec: GraphExec,
    pub(crate) numbers: DeviceBuffer<i32>,
    pub(crate) a: DeviceBuffer<f32>,
    pub(crate) b: DeviceBuffer<f32>,
    pub(crate) c: DeviceBuffer<f32>,
    pub(crate) pinned: PinnedBuffer<f32>,
    pub(crate) pageable: Box<Pageable>,
}

impl Things {
    pub(crate) fn new(device: Device) -> Result<Self> {
        let mut stream = Stream::non_blocking()?;
        let event = Event::without_timing()?;
        event.record(&stream)?;
        let pool = MemoryPool::new()?;
        // Pools retain freed memory, so that nothing requests memory from the driver.
        for pool in [&pool, &device.default_memory_pool()?] {
            pool.set_release_threshold(u64::MAX)?;
        }
        Ok(Self {
            second: Stream::non_blocking()?,
            event,
            other: Event::without_timing()?,
            pool,
            exec: graph(&mut stream)?,
            numbers: DeviceBuffer::alloc(FLOATS)?,
            a: DeviceBuffer::alloc_zeroed(FLOATS)?,
            b: DeviceBuffer::alloc(FLOATS)?,
            c: DeviceBuffer::alloc(FLOATS)?,
            pinned: PinnedBuffer::from_slice(&[0.0; FLOATS])?,
            pageable: Box::new(Pageable([0.0; FLOATS])),
            stream,
        })
    }

    /// Returns the same objects for the sides without Rust's borrows. They have separate pageable memory,
    /// which is leaked, because the safe side borrows its own.
    pub(crate) fn handles(&mut self) -> Handles {
        let pageable = Box::leak(Box::new(Pageable([0.0; FLOATS])));
        Handles {
            stream: self.stream.as_raw(),
            second: self.second.as_raw(),
            event: self.event.as_raw(),
            other: self.other.as_raw(),
            pool: self.pool.as_raw(),
            exec: self.exec.as_raw(),
            numbers: self.numbers.as_mut_ptr(),
            a: self.a.as_mut_ptr(),
            b: self.b.as_mut_ptr(),
            c: self.c.as_mut_ptr(),
            pinned: self.pinned.as_mut_ptr(),
            pageable: pageable.0.as_mut_ptr(),
        }
    }
}

/// Makes a graph of a copy, a kernel and a copy. The graph has separate memory: an access to memory that
/// a graph may use costs one more atomic operation.
fn graph(stream: &mut Stream) -> Result<GraphExec> {
    let (mut numbers, mut a) = (DeviceBuffer::<i32>::alloc(FLOATS)?, DeviceBuffer::alloc(FLOATS)?);
    let mut pinned = PinnedBuffer::from_slice(&[0.0_f32; FLOATS])?;
    let graph = stream.capture(|s| {
        memcpy_async(&mut a, &pinned, s)?;
        launch!(kernels::add_one<<<1, 32, 0, s>>>(&mut numbers, 0))?;
        memcpy_async(&mut pinned, &a, s)
    })?;
    graph.instantiate()
}

/// The objects of the C++ and the raw side, in the order in which `library.cu` declares them. None of
/// them outlives its [`Things`].
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Handles {
    pub(crate) stream: sys::cudaStream_t,
    pub(crate) second: sys::cudaStream_t,
    pub(crate) event: sys::cudaEvent_t,
    pub(crate) other: sys::cudaEvent_t,
    pub(crate) pool: sys::cudaMemPool_t,
    pub(crate) exec: sys::cudaGraphExec_t,
    pub(crate) numbers: *mut i32,
    pub(crate) a: *mut f32,
    pub(crate) b: *mut f32,
    pub(crate) c: *mut f32,
    pub(crate) pinned: *mut f32,
    pub(crate) pageable: *mut f32,
}
