//! Buffers become tensors of the other side.
#![expect(unsafe_code, reason = "gives memory to another library, and takes it back")]

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use cuda_safe::memory::{Buffer, MemoryType};
use cuda_safe::stream::AsStream;
use cuda_safe::{DeviceBuffer, PinnedBuffer};

use crate::capsule::{Capsule, compact, len_of};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::meeting::Meeting;
use crate::raw::{DLDevice, DLManagedTensorVersioned, DLPackVersion, DLTensor};

/// The version that this crate writes.
const VERSION: DLPackVersion = DLPackVersion { major: 1, minor: 1 };

impl Capsule {
    /// Gives a buffer to a consumer that works on `stream`, as `__dlpack__(stream=...)` of Python does. Does
    /// not block.
    ///
    /// The shape has the slowest dimension first, and as many elements as the buffer. An empty one is for a
    /// single element.
    ///
    /// # Ordering
    /// The consumer's stream waits for all work on the buffer, so the consumer may begin there at once. When
    /// the consumer gives the tensor back, the buffer is dropped after everything that this stream has got
    /// by then. Other streams of the consumer are the consumer's affair. Python's numbers 1 and 2 are
    /// [`Stream::legacy`](cuda_safe::Stream::legacy) and a per-thread stream, which no other thread has: take
    /// a stream of the consumer's own, by [`ForeignStream`](cuda_safe::stream::ForeignStream).
    ///
    /// The consumer's call that gives the tensor back frees the buffer, as a drop does. It blocks until the
    /// work on a buffer of [`DeviceBuffer::alloc`](cuda_safe::memory::Buffer::alloc) is complete, in Python
    /// with the interpreter's lock. A buffer of `alloc_async` is freed in the stream's order.
    ///
    /// # Errors
    /// - `Shape` if the shape has another number of elements.
    /// - `Retained` while a graph or a texture retains the memory, too.
    /// - `Cuda` with the runtime's error, or a refusal, as inside a host function or in a capture.
    ///
    /// The buffer is dropped after an error.
    #[track_caller]
    pub fn from_device<T, S>(buffer: DeviceBuffer<T>, shape: &[usize], stream: S) -> Result<Self>
    where
        T: Element,
        S: AsStream + Send + 'static,
    {
        let shape = checked(shape, &buffer)?;
        let device = DLDevice { device_type: DLDevice::CUDA, device_id: buffer.device().as_raw() };
        let mut owner = OnDevice { meeting: Meeting::new(&stream)?, buffer, stream };
        owner.meeting.on(&mut owner.buffer, &owner.stream)?;
        let data = owner.buffer.as_mut_ptr().cast();
        // The deleter may be called where the streams cannot meet. The buffer is then leaked, because the
        // consumer's work may still use it.
        let give_back = |mut owner: ManuallyDrop<OnDevice<T, S>>| {
            let owned = &mut *owner;
            if owned.meeting.on(&mut owned.buffer, &owned.stream).is_ok() {
                drop(ManuallyDrop::into_inner(owner));
            }
        };
        Ok(made::<T, _>(ManuallyDrop::new(owner), give_back, device, data, shape))
    }

    /// Gives pinned memory to a consumer on the host. Blocks until the work on it is complete. The consumer
    /// gives it back when its own work is.
    ///
    /// # Errors
    /// `Shape` if the shape has another number of elements, `Retained` while a graph retains the memory, too,
    /// and `Cuda` with the failure of the work. The buffer is dropped after an error.
    #[track_caller]
    pub fn from_pinned<T: Element>(mut buffer: PinnedBuffer<T>, shape: &[usize]) -> Result<Self> {
        let shape = checked(shape, &buffer)?;
        drop(buffer.host_mut()?);
        let device = DLDevice { device_type: DLDevice::CUDA_HOST, device_id: 0 };
        let data = buffer.as_mut_ptr().cast();
        Ok(made::<T, _>(buffer, drop, device, data, shape))
    }
}

/// What a tensor of device memory owns.
struct OnDevice<T, S> {
    buffer: DeviceBuffer<T>,
    meeting: Meeting,
    stream: S,
}

/// What a tensor of this crate owns, behind one pointer.
struct Manager<O> {
    tensor: DLManagedTensorVersioned,
    /// The arrays that the tensor points to.
    shape: Vec<i64>,
    strides: Vec<i64>,
    owner: O,
    give_back: fn(O),
}

/// Makes the tensor of an owner.
fn made<T: Element, O: Send + 'static>(
    owner: O,
    give_back: fn(O),
    device: DLDevice,
    data: *mut c_void,
    shape: Vec<i64>,
) -> Capsule {
    let strides = compact(&shape);
    let ndim = i32::try_from(shape.len()).unwrap_or(i32::MAX);
    let (dtype, null) = (T::DTYPE, std::ptr::null_mut());
    let dl_tensor = DLTensor { data, device, ndim, dtype, shape: null, strides: null, byte_offset: 0 };
    let deleter = Some(delete::<O> as unsafe extern "C" fn(_));
    let tensor =
        DLManagedTensorVersioned { version: VERSION, manager_ctx: null.cast(), deleter, flags: 0, dl_tensor };
    let mut manager = Box::new(Manager { tensor, shape, strides, owner, give_back });
    manager.tensor.dl_tensor.shape = manager.shape.as_mut_ptr();
    manager.tensor.dl_tensor.strides = manager.strides.as_mut_ptr();
    let raw = Box::into_raw(manager);
    // SAFETY: the box is live, and nobody else has it.
    unsafe { (*raw).tensor.manager_ctx = raw.cast() };
    // SAFETY: the same.
    let tensor = unsafe { &raw mut (*raw).tensor };
    // SAFETY: a part of a box is at no null address.
    let tensor = unsafe { NonNull::new_unchecked(tensor) };
    // SAFETY: the tensor has the layout of version 1, and lives until its deleter is called.
    unsafe { Capsule::owned(tensor) }
}

/// Gives a tensor of this crate back.
///
/// # Safety
/// The tensor was made by `made` with this owner, and nobody else gives it back.
unsafe extern "C" fn delete<O>(tensor: *mut DLManagedTensorVersioned) {
    // SAFETY: the tensor is live, and its context is the box that it is in.
    let raw = unsafe { (*tensor).manager_ctx }.cast::<Manager<O>>();
    // SAFETY: the box was made for this owner, and is taken once.
    let manager = *unsafe { Box::from_raw(raw) };
    // A panic must not reach the other side, which is C.
    let give_back = || (manager.give_back)(manager.owner);
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(give_back));
}

/// Returns the shape in DLPack's numbers, if it has as many elements as the buffer and if nothing else of
/// this side uses the memory.
fn checked<T, M: MemoryType>(shape: &[usize], buffer: &Buffer<T, M>) -> Result<Vec<i64>> {
    let (lengths, len) =
        (shape.iter().map(|&length| i64::try_from(length).unwrap_or(i64::MAX)), buffer.len());
    let lengths: Vec<_> = lengths.collect();
    if len_of(&lengths)? != len {
        return Err(Error::Shape { shape: lengths, len: Some(len) });
    }
    if buffer.is_retained() { Err(Error::Retained) } else { Ok(lengths) }
}
