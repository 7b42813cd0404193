//! [`Arena`]: parts of one buffer, handed out in order, at the same addresses each time.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::buffer::SliceMut;
use super::device::DeviceBuffer;
use super::memory_type::OnDevice;
use super::size;
use crate::element::Element;
use crate::error::{Detail, Error, ErrorKind, Result};

/// The alignment of each part: that of `cudaMalloc`.
const ALIGNMENT: usize = 256;

/// Device memory that is handed out part by part, and taken back all at once.
///
/// An allocation is an addition, without a call of CUDA. After [`reset`](Self::reset), the same allocations
/// have the same addresses, so a captured graph of one round is right for the next one. Any thread may
/// allocate.
///
/// # Ordering
/// Parts are views of one buffer, and the tracker orders work by its bytes: two parts never wait for each
/// other. A part that is handed out again after a reset is ordered after the work that still uses its bytes.
/// Dropping the arena waits for all work on it. A graph that uses a part retains the whole buffer.
///
/// # Examples
/// ```
/// use cuda_safe::memory::Arena;
/// use cuda_safe::{DeviceBuffer, Stream, memset_async};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let mut stream = Stream::non_blocking()?;
/// let mut arena = Arena::new(DeviceBuffer::alloc(1 << 20)?);
/// let graph = {
///     let (mut sums, mut counts) = (arena.alloc::<f32>(100)?, arena.alloc::<u32>(7)?);
///     stream.capture(|stream| {
///         memset_async(&mut sums, 0, stream)?;
///         memset_async(&mut counts, 0, stream)
///     })?
/// };
/// let mut exec = graph.instantiate()?;
/// for _ in 0..3 {
///     arena.reset();
///     exec.launch(&stream)?;
///     let (sums, counts) = (arena.alloc::<f32>(100)?, arena.alloc::<u32>(7)?); // those of the graph
///     assert_eq!((sums.as_slice().to_vec()?, counts.as_slice().to_vec()?), (vec![0.0; 100], vec![0; 7]));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Arena {
    memory: DeviceBuffer<u8>,
    used: AtomicUsize,
}

impl Arena {
    /// Makes an arena of a buffer, from `cudaMalloc`, from a pool or adopted. `DeviceBuffer::from(arena)`
    /// takes it back.
    #[must_use]
    pub fn new(memory: DeviceBuffer<u8>) -> Self {
        Self { memory, used: AtomicUsize::new(0) }
    }

    /// Hands out the next `len` elements, at a multiple of 256 bytes from the start. Makes no CUDA call. The
    /// contents are unspecified: those of earlier use.
    ///
    /// # Errors
    /// - `Limit` with the bytes that are left if there are too few. Nothing is handed out then.
    /// - A refusal if the number of bytes overflows, or if `T` is zero-sized.
    #[track_caller]
    pub fn alloc<T: Element>(&self, len: usize) -> Result<SliceMut<'_, T, OnDevice>> {
        const API: &str = "Arena::alloc";
        let bytes = size::bytes_of::<T>(API, len)?;
        if bytes == 0 {
            return Ok(SliceMut::new(self.memory.span().part(API, &(0..0))?.reinterpret(API)?));
        }
        let total = self.memory.len();
        let mut used = self.used.load(Ordering::Relaxed);
        loop {
            let start = used.next_multiple_of(ALIGNMENT).min(total);
            let Some(end) = start.checked_add(bytes).filter(|&end| end <= total) else {
                let left = total - start;
                let text = format!("the arena of {total} bytes has {left} left, and {bytes} are needed");
                return Err(Error::refused(API, Detail::new(ErrorKind::Limit, text)));
            };
            // Whoever exchanges it has the bytes from `start` to `end`, until `reset`, for which no part may
            // live. The number orders no memory of the host, so it is relaxed.
            match self.used.compare_exchange_weak(used, end, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    let part = self.memory.span().part(API, &(start..end))?;
                    return Ok(SliceMut::new(part.reinterpret(API)?));
                }
                Err(now) => used = now,
            }
        }
    }

    /// Returns how many bytes are handed out, with what alignment leaves unused between them.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Takes all parts back. Does not wait: work that still uses them is ordered before that on new parts.
    pub fn reset(&mut self) {
        *self.used.get_mut() = 0;
    }
}

impl From<Arena> for DeviceBuffer<u8> {
    fn from(arena: Arena) -> Self {
        arena.memory
    }
}
