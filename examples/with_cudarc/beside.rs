//! The doors between `cuda-safe` and cudarc, each with the reason why it holds.
//!
//! # What both sides share
//! The device's primary context. The runtime uses it, and `CudaContext::new` retains it, so an address or a
//! stream of one side means the same to the other, and neither destroys the context while the other has it.
//! `CudaContext::new_non_primary` makes another context: such a one is refused. A thread that has it bound
//! must not call `cuda-safe`, because the runtime works in whatever context is bound.
//!
//! # What each side must keep
//! - **Streams.** cudarc destroys a stream when the last `Arc` of it is dropped. A [`ForeignStream`] owns
//!   one, and leaves an event in the tracker before it lets it go.
//! - **Memory.** A slice of cudarc is freed by cudarc, in the order of its stream, and a buffer of
//!   `cuda-safe` by `cuda-safe`. An owner that changes sides takes the former owner with it, or is given up
//!   by it.
//! - **Events.** cudarc orders its streams by two events in each slice, `cuda-safe` by the tracker. Neither
//!   sees the other's. [`Shared`] carries the order from one to the other at each change of sides, without
//!   blocking the host.
//! - **Captures.** cudarc captures a stream by a safe call, and `cuda-safe` would take work that is only
//!   recorded for work that runs. Therefore the constructors that adopt a stream are `unsafe`.
#![expect(unsafe_code, reason = "takes streams and memory of another crate in")]

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, ensure};
use cuda_safe::bytemuck::Pod;
use cuda_safe::memory::{MemoryKind, PointerAttributes};
use cuda_safe::stream::ForeignStream;
use cuda_safe::{Device, DeviceBuffer, DeviceSliceMut, check};
use cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, CudaViewMut, DevicePtr as _, DevicePtrMut as _, DeviceRepr,
};

/// Returns the device of cudarc's context, which must be the primary one.
fn device_of(context: &CudaContext) -> Result<Device> {
    ensure!(context.is_primary(), "the runtime works in the primary context, and this is another one");
    Ok(Device::new(context.ordinal())?)
}

/// Returns the address of a slice for Rust, once the runtime has confirmed that it knows the memory.
fn address<T: DeviceRepr>(slice: &CudaSlice<T>) -> Result<*mut T> {
    let device = device_of(slice.context())?;
    let (address, _read) = slice.device_ptr(slice.stream());
    let pointer = std::ptr::with_exposed_provenance_mut(usize::try_from(address)?);
    let found = PointerAttributes::from_ptr(pointer)?;
    ensure!(
        found.kind() == MemoryKind::DEVICE && found.device() == Some(device),
        "the runtime does not know the memory: another library answers its calls"
    );
    Ok(pointer)
}

/// Adopts a stream of cudarc, and keeps it alive.
///
/// # Safety
/// The stream is not captured while this value exists.
pub(crate) unsafe fn stream(theirs: &Arc<CudaStream>) -> Result<ForeignStream> {
    let device = device_of(theirs.context())?;
    // SAFETY: the stream is one of this device's primary context, and the value keeps it alive. The caller
    // guarantees that nobody captures it. Others submit only work of cudarc's to it, which has none of
    // cuda-safe's memory but what `Shared` passes on in order.
    Ok(unsafe { ForeignStream::adopt(theirs.cu_stream().cast(), device, Arc::clone(theirs)) }?)
}

/// Turns a slice of cudarc into a buffer. Blocks until cudarc's work is complete.
///
/// The buffer owns the slice, so cudarc frees the memory, after the tracker has waited for all work on it.
pub(crate) fn from_cudarc<T: DeviceRepr + Pod>(slice: CudaSlice<T>) -> Result<DeviceBuffer<T>> {
    let (pointer, len, device) = (address(&slice)?, slice.len(), device_of(slice.context())?);
    // The whole context: if a program has destroyed all but the default stream, cudarc's events no longer
    // tell what is pending on those.
    slice.context().synchronize()?;
    // SAFETY: the memory has `len` elements on this device and lives as long as the slice, which the buffer
    // owns. Nobody else reaches it, since every view borrows the slice, and earlier work is complete.
    Ok(unsafe { DeviceBuffer::adopt(device, pointer, len, slice) }?)
}

/// Turns a buffer into a slice of cudarc, which frees it in the order of `stream`. Blocks until the tracker's
/// work is complete.
pub(crate) fn into_cudarc<T: DeviceRepr + Pod>(
    buffer: DeviceBuffer<T>,
    stream: &Arc<CudaStream>,
) -> Result<CudaSlice<T>> {
    ensure!(buffer.device() == device_of(stream.context())?, "the buffer is on another device");
    let len = buffer.len();
    let pointer = buffer.into_raw().map_err(cuda_safe::Error::from)?;
    let address = u64::try_from(pointer.expose_provenance())?;
    // SAFETY: the memory has `len` elements of plain data in the stream's context. `into_raw` has waited for
    // all work, and nobody else has the memory. The driver frees it, however it was allocated.
    Ok(unsafe { stream.upgrade_device_ptr(address, len) })
}

/// A slice of cudarc that both crates use in turns, in order, without waits of the host.
pub(crate) struct Shared<T: Pod> {
    /// The same memory for `cuda-safe`. It owns the slice, too: a graph that retains it keeps the memory.
    ours: DeviceBuffer<T>,
    theirs: Arc<Mutex<CudaSlice<T>>>,
    /// The slice's stream, where the two meet.
    stream: ForeignStream,
    /// A byte that each meeting writes: an operation of the device, which waits of a stream are not.
    mark: DeviceBuffer<u8>,
}

impl<T: DeviceRepr + Pod> Shared<T> {
    /// Shares a slice.
    ///
    /// # Safety
    /// - The slice's stream is not captured while this value exists.
    /// - cudarc tracks events. (Only unsafe code turns that off.)
    /// - A graph of `cuda-safe` that uses the memory is not launched within
    ///   [`with_cudarc`](Self::with_cudarc).
    pub(crate) unsafe fn new(slice: CudaSlice<T>) -> Result<Self> {
        // SAFETY: the caller guarantees that nobody captures the stream.
        let stream = unsafe { stream(slice.stream()) }?;
        let (pointer, len) = (address(&slice)?, slice.len());
        let mark = DeviceBuffer::alloc_on(stream.device(), 1)?;
        let theirs = Arc::new(Mutex::new(slice));
        // SAFETY: the memory has `len` elements on the stream's device and lives as long as the slice, which
        // the buffer owns a share of. Nobody reaches the slice but `with_cudarc`, which orders both sides
        // before and after. So does the call below with earlier work.
        let ours = unsafe { DeviceBuffer::adopt(stream.device(), pointer, len, Arc::clone(&theirs)) }?;
        let mut shared = Self { ours, theirs, stream, mark };
        shared.with_cudarc(|_| Ok(()))?;
        Ok(shared)
    }

    /// The slice's stream for `cuda-safe`. Any other stream may be used as well.
    pub(crate) fn stream(&self) -> &ForeignStream {
        &self.stream
    }

    /// The memory for `cuda-safe`. A view, because an owner could be put elsewhere.
    pub(crate) fn ours(&mut self) -> DeviceSliceMut<'_, T> {
        self.ours.as_slice_mut()
    }

    /// Lends the memory to cudarc, for work on any of its streams. That work comes after all work of
    /// `cuda-safe` on the memory, and before all that is submitted later. Does not block. `f` gets a view,
    /// too.
    pub(crate) fn with_cudarc<R>(
        &mut self,
        f: impl FnOnce(&mut CudaViewMut<'_, T>) -> Result<R>,
    ) -> Result<R> {
        let mut slice = self.theirs.lock().unwrap_or_else(PoisonError::into_inner);
        // The slice's stream waits for the work that the tracker knows, and the slice's event stands for it.
        meet(&mut self.ours, &mut self.mark, &self.stream)?;
        note(&mut slice);
        // Work that was submitted before an error or a panic counts.
        let result = panic::catch_unwind(AssertUnwindSafe(|| f(&mut slice.slice_mut(..))));
        // The stream waits for the slice's events, and the tracker enters that as its last write.
        note(&mut slice);
        if meet(&mut self.ours, &mut self.mark, &self.stream).is_err() {
            slice.context().synchronize()?;
        }
        result.unwrap_or_else(|panicked| panic::resume_unwind(panicked))
    }
}

/// Makes the slice's stream wait for all that cudarc does with the slice, and records the event of a write.
fn note<T>(slice: &mut CudaSlice<T>) {
    let stream = Arc::clone(slice.stream());
    let (_, write) = slice.device_ptr_mut(&stream);
    drop(write);
}

/// Enters an operation of the stream that writes the memory, after all work on it.
fn meet<T: Pod>(
    memory: &mut DeviceBuffer<T>,
    mark: &mut DeviceBuffer<u8>,
    stream: &ForeignStream,
) -> cuda_safe::Result<()> {
    let mark_it = |raw, (_, mark): (_, *mut u8)| {
        // SAFETY: the pointer is to the one byte of the mark, and the stream is the one of the call.
        unsafe { check!(cudaMemsetAsync(mark.cast(), 0, 1, raw)) }
    };
    // SAFETY: the call writes the mark on this stream, and nothing else that it declares.
    unsafe { stream.call((memory, mark), mark_it) }
}
