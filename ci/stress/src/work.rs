//! The state of a thread, and the other work: launches, copies, waits and captures that check values.

use cuda_safe::{
    Device, DeviceBuffer, Event, GraphExec, MemoryPool, PinnedBuffer, Result, Stream, memcpy, memcpy_async,
    memset_async,
};

/// The bytes of a thread's buffers.
pub(crate) const LEN: usize = 1 << 14;

/// What a thread keeps.
pub(crate) struct Worker {
    random: u64,
    /// The number of the thread.
    pub(crate) number: usize,
    pub(crate) device: Device,
    pub(crate) stream: Stream,
    pub(crate) free: Stream,
    pub(crate) bytes: DeviceBuffer<u8>,
    pub(crate) pinned: PinnedBuffer<u8>,
    pub(crate) event: Event,
    /// A pool of the thread's own, which is dropped with it.
    pub(crate) pool: MemoryPool,
    pub(crate) kept: Vec<Stream>,
    exec: Option<GraphExec>,
}

impl Worker {
    pub(crate) fn new(number: usize) -> Result<Self> {
        Ok(Self {
            random: (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            number,
            device: Device::current()?,
            stream: Stream::new()?,
            free: Stream::non_blocking()?,
            bytes: DeviceBuffer::alloc(LEN)?,
            pinned: PinnedBuffer::alloc(LEN)?,
            event: Event::new()?,
            pool: MemoryPool::new()?,
            kept: Vec::new(),
            exec: None,
        })
    }

    /// Returns a number below `limit` (xorshift).
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ((self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % limit as u64) as usize
    }

    /// Returns a byte.
    pub(crate) fn byte(&mut self) -> u8 {
        self.below(256).to_le_bytes()[0]
    }

    /// Checks that the pinned memory holds this byte everywhere, after the work that writes it.
    pub(crate) fn check(&self, value: u8) -> Result<()> {
        assert!(self.pinned.host()?.iter().all(|byte| *byte == value), "thread {}: wrong bytes", self.number);
        Ok(())
    }

    /// A launch of the driver's kernel that fills, and a copy.
    pub(crate) fn fill(&mut self, value: u8, stream: &Stream) -> Result<()> {
        memset_async(&mut self.bytes, value, stream)?;
        memcpy_async(&mut self.pinned, &self.bytes, stream)
    }

    /// Everything that is not about owners.
    pub(crate) fn other_work(&mut self) -> Result<()> {
        let value = self.byte();
        match self.below(12) {
            0 => memset_async(&mut self.bytes, value, &self.stream)?,
            1 => memset_async(&mut self.bytes, value, &self.free)?,
            2 => self.device.synchronize()?,
            3 => self.stream.synchronize()?,
            4 => {
                self.event.record(&self.free)?;
                self.stream.wait(&self.event)?;
                let _ = self.event.is_done()?;
                self.event.synchronize()?;
            }
            5 => {
                let graph = self.stream.capture(|captured| {
                    let side = captured.fork()?;
                    memset_async(&mut self.bytes, value, captured)?;
                    side.host_fn(|| ())?;
                    captured.join(side)?;
                    memcpy_async(&mut self.pinned, &self.bytes, captured)
                })?;
                let mut exec = graph.instantiate()?;
                exec.launch(&self.free)?;
                self.check(value)?;
                self.exec = Some(exec);
            }
            6 => {
                if let Some(exec) = &mut self.exec {
                    exec.launch(&self.stream)?;
                }
            }
            7 => {
                let mut back = vec![0; LEN];
                memset_async(&mut self.bytes, value, &self.free)?;
                memcpy(&mut back, &self.bytes)?;
                assert!(back.iter().all(|byte| *byte == value), "thread {}: wrong copy", self.number);
            }
            8 => {
                let mut buffer = DeviceBuffer::<u8>::alloc_async(LEN, &self.stream)?;
                memset_async(&mut buffer, value, &self.stream)?;
                memcpy_async(&mut self.pinned, &buffer, &self.free)?;
                buffer.free_async(&self.free)?;
                self.check(value)?;
            }
            9 => {
                let mut buffer = DeviceBuffer::<u8>::alloc_from(&self.pool, 1 << 20, &self.free)?;
                memset_async(&mut buffer, value, &self.free)?;
                memcpy_async(&mut self.pinned, &buffer.slice(..LEN)?, &self.stream)?;
                self.check(value)?;
                drop(buffer);
                if value.is_multiple_of(4) {
                    self.pool.trim_to(0)?;
                }
            }
            10 => {
                let _ = (self.device.memory_info()?, self.stream.is_done()?, self.pool.attributes()?);
            }
            _ => {
                memset_async(&mut self.bytes, value, &self.stream)?;
                memcpy_async(&mut self.pinned, &self.bytes, &self.free)?;
                self.check(value)?;
            }
        }
        Ok(())
    }

    /// Drops everything after its work.
    pub(crate) fn end(self) -> Result<()> {
        self.stream.synchronize()?;
        self.free.synchronize()
    }
}
