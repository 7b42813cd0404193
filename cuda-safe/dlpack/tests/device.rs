//! Device memory that changes sides: order, ownership and what does not fit.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::multiple_unsafe_ops_per_block,
    reason = "tests play the other side"
)]

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cuda_dlpack::raw::{DLDataType, DLDevice, DLManagedTensorVersioned, DLPackVersion, DLTensor};
use cuda_dlpack::{Capsule, Element as _, Error, Tensor};
use cuda_safe::stream::{ForeignStream, Stream};
use cuda_safe::{DeviceBuffer, PinnedBuffer, check, memcpy_async, memset_async, sys};
use cuda_testing::{Gate, alone};

/// A producer's tensor of `u32` in a buffer, which counts how often it is given back.
struct Theirs {
    tensor: DLManagedTensorVersioned,
    shape: [i64; 2],
    strides: [i64; 2],
    _buffer: DeviceBuffer<u32>,
    given_back: Arc<AtomicUsize>,
}

unsafe extern "C" fn give_back(tensor: *mut DLManagedTensorVersioned) {
    // SAFETY: the context is the box, which is taken once.
    let theirs = unsafe { Box::from_raw((*tensor).manager_ctx.cast::<Theirs>()) };
    theirs.given_back.fetch_add(1, Ordering::SeqCst);
}

/// Makes a tensor of 2 rows of 3, after changes.
fn theirs(change: impl FnOnce(&mut Theirs)) -> (Capsule, Arc<AtomicUsize>) {
    let mut buffer = DeviceBuffer::<u32>::from_slice(&[1, 2, 3, 4, 5, 6]).unwrap();
    // The copy may still be under way on the legacy stream, and the consumers' streams do not wait for it.
    buffer.device().synchronize().unwrap();
    let given_back = Arc::<AtomicUsize>::default();
    let dl_tensor = DLTensor {
        data: buffer.as_mut_ptr().cast(),
        device: DLDevice { device_type: DLDevice::CUDA, device_id: buffer.device().as_raw() },
        ndim: 2,
        dtype: u32::DTYPE,
        shape: std::ptr::null_mut(),
        strides: std::ptr::null_mut(),
        byte_offset: 0,
    };
    let mut theirs = Box::new(Theirs {
        tensor: DLManagedTensorVersioned {
            version: DLPackVersion { major: 1, minor: 0 },
            manager_ctx: std::ptr::null_mut(),
            deleter: Some(give_back),
            flags: 0,
            dl_tensor,
        },
        shape: [2, 3],
        strides: [3, 1],
        _buffer: buffer,
        given_back: Arc::clone(&given_back),
    });
    theirs.tensor.dl_tensor.shape = theirs.shape.as_mut_ptr();
    theirs.tensor.dl_tensor.strides = theirs.strides.as_mut_ptr();
    change(&mut theirs);
    let raw = Box::into_raw(theirs);
    // SAFETY: the box is live, and nobody else has it.
    let tensor = unsafe {
        (*raw).tensor.manager_ctx = raw.cast::<c_void>();
        NonNull::new_unchecked(&raw mut (*raw).tensor)
    };
    // SAFETY: the tensor is as the specification has it, and nobody else gives it back.
    (unsafe { Capsule::from_raw(tensor) }.unwrap(), given_back)
}

/// Returns the error of a tensor that does not fit, which must have been given back once.
fn refused<T: cuda_dlpack::Element>(change: impl FnOnce(&mut Theirs)) -> Error {
    let stream = Stream::non_blocking().unwrap();
    let (capsule, given_back) = theirs(change);
    // SAFETY: nobody else uses the memory, and the work on it is complete or on this stream.
    let error = unsafe { Tensor::<T>::from_capsule(capsule, &stream) }.unwrap_err();
    assert_eq!(given_back.load(Ordering::SeqCst), 1);
    error
}

fn raw_stream() -> sys::cudaStream_t {
    let mut raw = std::ptr::null_mut();
    // SAFETY: the stream is live, and a pointer is to a live handle.
    unsafe { check!(cudaStreamCreateWithFlags(&raw mut raw, sys::cudaStreamNonBlocking)) }.unwrap();
    raw
}

fn is_done(stream: sys::cudaStream_t) -> bool {
    // SAFETY: the stream is live, and a pointer is to a live handle.
    unsafe { sys::cudaStreamQuery(stream) == sys::cudaSuccess }
}

#[test]
fn a_consumer_begins_after_the_work_on_a_buffer_and_the_buffer_is_freed_after_the_consumers_work() {
    let alone = alone();
    let ours = Stream::non_blocking().unwrap();
    let consumer = raw_stream();
    // SAFETY: the stream lives until the end of the test, and is not captured.
    let adopted = unsafe { ForeignStream::adopt(consumer, ours.device(), ()) }.unwrap();
    let mut host = PinnedBuffer::<u8>::from_slice(&[0; 64]).unwrap();
    // From the pool: its drop does not block, so the test can hold the consumer's stream meanwhile.
    let mut buffer = DeviceBuffer::<u8>::alloc_async(64, &ours).unwrap();
    memset_async(&mut buffer, 1, &ours).unwrap();
    ours.synchronize().unwrap();
    let gate = Gate::on(&alone, &ours);
    memset_async(&mut buffer, 7, &ours).unwrap();
    let raw = Capsule::from_device(buffer, &[8, 8], adopted).unwrap().into_raw();
    // The consumer copies on its stream, without a wait of its own.
    // SAFETY: the tensor is live, and nobody else has it.
    let data = unsafe { raw.as_ref() }.dl_tensor.data;
    let to = host.as_mut_ptr();
    // SAFETY: both sides live until the stream is synchronized.
    unsafe { check!(cudaMemcpyAsync(to.cast(), data, 64, sys::cudaMemcpyDefault, consumer)) }.unwrap();
    std::thread::sleep(Duration::from_millis(20));
    assert!(!is_done(consumer), "the consumer's stream waits for the fill behind the gate");
    // It gives the tensor back while its copy is pending, as an interpreter does.
    // SAFETY: the tensor is live, and nobody else has it.
    let deleter = unsafe { raw.as_ref() }.deleter.unwrap();
    // SAFETY: the tensor is live, and is given back once.
    unsafe { deleter(raw.as_ptr()) };
    // The memory is free only in the order behind that copy: this one may get the same.
    let mut next = DeviceBuffer::<u8>::alloc_async(64, &ours).unwrap();
    gate.open();
    memset_async(&mut next, 9, &ours).unwrap();
    // SAFETY: the stream is live, and a pointer is to a live handle.
    unsafe { check!(cudaStreamSynchronize(consumer)) }.unwrap();
    assert_eq!(host.host().unwrap()[..], [7; 64]);
    // SAFETY: the stream is live, and a pointer is to a live handle.
    unsafe { check!(cudaStreamDestroy(consumer)) }.unwrap();
}

#[test]
fn what_a_stream_had_when_a_tensor_came_is_before_all_work_on_it() {
    let alone = alone();
    let (producer, other) = (Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap());
    let (capsule, given_back) = theirs(|_| ());
    // The handshake: the producer has made this stream wait for its work, which is behind the gate.
    let gate = Gate::on(&alone, &producer);
    // SAFETY: nobody else uses the memory, and the work on it is complete or on this stream.
    let mut tensor = unsafe { Tensor::<u32>::from_capsule(capsule, &producer) }.unwrap();
    assert_eq!(tensor.shape(), [2, 3]);
    let mut host = PinnedBuffer::<u32>::alloc(6).unwrap();
    memcpy_async(&mut host, &tensor.as_slice(), &other).unwrap();
    memset_async(&mut tensor.as_slice_mut().unwrap().slice_mut(1..).unwrap(), 0, &other).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    assert!(!other.is_done().unwrap());
    assert_eq!(given_back.load(Ordering::SeqCst), 0);
    gate.open();
    assert_eq!(host.host().unwrap()[..], [1, 2, 3, 4, 5, 6]);
    assert_eq!(tensor.as_slice().to_vec().unwrap(), [1, 0, 0, 0, 0, 0]);
    drop(tensor);
    assert_eq!(given_back.load(Ordering::SeqCst), 1);
}

#[test]
fn what_does_not_fit_is_given_back_with_the_reason() {
    let _alone = alone();
    let error = refused::<i32>(|_| ());
    assert!(matches!(error, Error::Dtype { .. }), "{error}");
    assert_eq!(error.to_string(), "a tensor of u32, where i32 is expected");
    let vectors = DLDataType { lanes: 2, ..u32::DTYPE };
    let error = refused::<u32>(|theirs| theirs.tensor.dl_tensor.dtype = vectors);
    assert_eq!(error.to_string(), "a tensor of u32 x 2, where u32 is expected");
    for device in [
        DLDevice { device_type: DLDevice::CPU, device_id: 0 },
        DLDevice { device_type: DLDevice::CUDA, device_id: 99 },
    ] {
        let error = refused::<u32>(|theirs| theirs.tensor.dl_tensor.device = device);
        assert!(matches!(error, Error::Device { found, .. } if found == device), "{error}");
    }
    // A transposed tensor, a broadcast one, and one with a gap.
    for strides in [[1, 2], [0, 1], [4, 1]] {
        let error = refused::<u32>(|theirs| theirs.strides = strides);
        assert!(matches!(&error, Error::Strides { strides: found, .. } if *found == strides), "{error}");
    }
    for shape in [[-1, 3], [i64::MAX, 3]] {
        let error = refused::<u32>(|theirs| theirs.shape = shape);
        assert!(matches!(error, Error::Shape { len: None, .. }), "{error}");
    }
    let error = refused::<u32>(|theirs| theirs.tensor.dl_tensor.byte_offset = 2);
    assert!(matches!(error, Error::Address(_)), "{error}");
    let error = refused::<u32>(|theirs| theirs.tensor.dl_tensor.data = std::ptr::null_mut());
    assert!(matches!(error, Error::Address(0)), "{error}");
}

#[test]
fn shapes_that_mean_the_same_rows_are_taken() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let all = |change: fn(&mut Theirs)| {
        let (capsule, given_back) = theirs(change);
        // SAFETY: nobody else uses the memory, and the work on it is complete or on this stream.
        let tensor = unsafe { Tensor::<u32>::from_capsule(capsule, &stream) }.unwrap();
        let found = (tensor.shape().to_vec(), tensor.as_slice().to_vec().unwrap());
        drop(tensor);
        assert_eq!(given_back.load(Ordering::SeqCst), 1);
        found
    };
    assert_eq!(all(|theirs| theirs.tensor.dl_tensor.strides = std::ptr::null_mut()).1, [1, 2, 3, 4, 5, 6]);
    // One row: its stride has no meaning.
    assert_eq!(all(|theirs| (theirs.shape, theirs.strides) = ([1, 3], [77, 1])), (vec![1, 3], vec![1, 2, 3]));
    assert_eq!(all(|theirs| (theirs.shape, theirs.strides) = ([0, 3], [77, 77])), (vec![0, 3], vec![]));
    assert_eq!(all(|theirs| theirs.tensor.dl_tensor.ndim = 0), (vec![], vec![1]));
    let second_row = |theirs: &mut Theirs| {
        theirs.tensor.dl_tensor.ndim = 1;
        theirs.shape[0] = 3;
        theirs.strides[0] = 1;
        theirs.tensor.dl_tensor.byte_offset = 12;
    };
    assert_eq!(all(second_row), (vec![3], vec![4, 5, 6]));
}

#[test]
fn a_tensor_that_must_not_be_written_is_only_read() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let (capsule, _) = theirs(|theirs| theirs.tensor.flags = DLManagedTensorVersioned::READ_ONLY);
    // SAFETY: nobody else uses the memory, and the work on it is complete or on this stream.
    let mut tensor = unsafe { Tensor::<u32>::from_capsule(capsule, &stream) }.unwrap();
    assert!(matches!(tensor.as_slice_mut(), Err(Error::ReadOnly)));
    assert_eq!(tensor.as_slice().to_vec().unwrap(), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn another_major_version_is_given_back_unseen() {
    let _alone = alone();
    let (capsule, given_back) = theirs(|_| ());
    let mut raw = capsule.into_raw();
    // SAFETY: the tensor is live, and nobody else has it.
    unsafe { raw.as_mut() }.version.major = 2;
    // SAFETY: the tensor is as the specification has it, and nobody else gives it back.
    assert!(matches!(unsafe { Capsule::from_raw(raw) }, Err(Error::Version(2))));
    assert_eq!(given_back.load(Ordering::SeqCst), 1);
}

#[test]
fn a_buffer_of_another_shape_or_of_a_graph_is_not_given_away() {
    let _alone = alone();
    let mut stream = Stream::non_blocking().unwrap();
    let consumer = || Stream::non_blocking().unwrap();
    let buffer = DeviceBuffer::<f32>::alloc(6).unwrap();
    let error = Capsule::from_device(buffer, &[2, 4], consumer()).unwrap_err();
    assert_eq!(error.to_string(), "the shape [2, 4] for 6 elements");
    let mut buffer = DeviceBuffer::<f32>::alloc(6).unwrap();
    let graph = stream.capture(|stream| memset_async(&mut buffer, 0, stream)).unwrap();
    assert!(buffer.is_retained());
    let error = Capsule::from_device(buffer, &[6], consumer()).unwrap_err();
    assert!(matches!(error, Error::Retained), "{error}");
    drop(graph);
    let mut buffer = DeviceBuffer::<f32>::alloc(6).unwrap();
    drop(stream.capture(|stream| memset_async(&mut buffer, 0, stream)).unwrap());
    assert!(!buffer.is_retained());
    let capsule = Capsule::from_device(buffer, &[1, 6], consumer()).unwrap();
    assert_eq!((capsule.shape(), capsule.is_read_only()), (&[1, 6][..], false));
    assert!(matches!(capsule.host::<f32>(), Err(Error::Device { .. })));
}

#[test]
fn an_error_of_cuda_names_the_line_of_the_caller() {
    let _alone = alone();
    let (stream, buffer) = (Stream::non_blocking().unwrap(), DeviceBuffer::<u32>::alloc(4).unwrap());
    let (used, others) = (Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap());
    let (capsule, _) = theirs(|_| ());
    let (tell, told) = std::sync::mpsc::channel();
    stream
        .launch_host_fn(move || {
            tell.send([
                Capsule::from_device(buffer, &[4], used).map(drop),
                // SAFETY: nobody works on the memory.
                unsafe { Tensor::<u32>::from_capsule(capsule, &others) }.map(drop),
            ])
            .unwrap();
        })
        .unwrap();
    for refused in told.recv().unwrap() {
        let Err(Error::Cuda(error)) = refused else { panic!("{refused:?}") };
        assert_eq!(error.call_site().file(), file!(), "{error}");
    }
}
