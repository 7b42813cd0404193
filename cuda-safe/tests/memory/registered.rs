//! Registered memory: its owner, when the host must wait, and when the container is returned.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use cuda_safe::error::Detail;
use cuda_safe::memory::{RegisterFlags, Stable, StableMut};
use cuda_safe::stream::Stream;
use cuda_safe::{Device, DeviceBuffer, PinnedBuffer, Registered, memcpy, memcpy_async, memset_async, sys};
use cuda_testing::{Gate, alone};

/// A container that records when it is dropped.
#[derive(Debug)]
struct Watched {
    elements: Vec<u32>,
    drops: Arc<AtomicUsize>,
}

impl Watched {
    fn new(len: usize) -> (Self, Arc<AtomicUsize>) {
        let drops = Arc::new(AtomicUsize::new(0));
        (Self { elements: vec![1; len], drops: drops.clone() }, drops)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::SeqCst);
    }
}

#[expect(unsafe_code, reason = "vouches for a container of the test's own")]
// SAFETY: the vector is not used otherwise while the container is registered.
unsafe impl Stable for Watched {
    type Element = u32;

    fn elements(&mut self) -> (*mut u32, usize) {
        self.elements.elements()
    }
}

#[expect(unsafe_code, reason = "vouches for a container of the test's own")]
// SAFETY: the container is the only owner of the vector.
unsafe impl StableMut for Watched {}

#[test]
fn a_vector_is_source_and_destination_of_asynchronous_copies_and_comes_back() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let numbers: Vec<u32> = (0..1000).collect();
    let address = numbers.as_ptr();
    let source = Registered::new(numbers).unwrap();
    let mut back = Registered::new(vec![0_u32; 1000].into_boxed_slice()).unwrap();
    let mut device = DeviceBuffer::<u32>::alloc(1000).unwrap();
    memcpy_async(&mut device, &source, &stream).unwrap();
    memcpy_async(&mut back, &device, &stream).unwrap();
    let (source, back) = (source.into_inner().unwrap(), back.into_inner().unwrap());
    assert_eq!(source.as_ptr(), address, "the elements were moved");
    assert_eq!(*back, *source);
}

#[test]
fn parts_of_registered_memory_are_copied_and_filled_and_nothing_else() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let device = DeviceBuffer::from_slice(&[7_u16; 10]).unwrap();
    let mut memory = Registered::new(Box::new([1_u16; 30])).unwrap();
    memcpy_async(&mut memory.as_slice_mut().slice_mut(5..15).unwrap(), &device, &stream).unwrap();
    memset_async(&mut memory.as_slice_mut().slice_mut(20..=21).unwrap(), 3, &stream).unwrap();
    let mut expected = [1_u16; 30];
    expected[5..15].fill(7);
    expected[20..22].fill(0x0303);
    assert_eq!(*memory.host().unwrap(), expected);
    let mut part = [0; 10];
    memcpy(&mut part, &memory.as_slice().slice(4..14).unwrap()).unwrap();
    assert_eq!(part, expected[4..14]);
    let error = memory.as_slice().slice(5..31).unwrap_err();
    assert_eq!(error.detail(), &Detail::out_of_range(5, 31, 30));
    assert_eq!(*memory.into_inner().unwrap(), expected);
}

#[test]
fn blocking_copies_take_registered_memory_on_either_side() {
    let _alone = alone();
    let source = Registered::new(vec![5_u64; 100]).unwrap();
    let mut back = Registered::new(vec![0_u64; 100]).unwrap();
    let mut device = DeviceBuffer::<u64>::alloc(100).unwrap();
    memcpy(&mut device, &source).unwrap();
    memcpy(&mut back, &device).unwrap();
    assert_eq!(back.into_inner().unwrap(), [5; 100]);
    let error = memcpy(&mut device.slice_mut(1..).unwrap(), &source).unwrap_err();
    assert_eq!(error.detail(), &Detail::length_mismatch(99, 100));
}

#[test]
fn a_shared_container_is_read_by_a_copy_while_its_other_owners_read() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let shared: Arc<[u32]> = (0..1000).collect();
    let source = Registered::new(shared.clone()).unwrap();
    let mut device = DeviceBuffer::<u32>::alloc(1000).unwrap();
    let gate = Gate::on(&alone, &stream);
    memcpy_async(&mut device, &source, &stream).unwrap();
    // Without the early return this would deadlock: the gate is closed.
    assert_eq!(source.host().unwrap()[999], shared[999]);
    gate.open();
    drop(source);
    assert_eq!(device.to_vec().unwrap(), *shared);
    assert_eq!(Arc::strong_count(&shared), 1);
}

#[test]
fn the_host_waits_for_a_copy_into_the_memory() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let device = DeviceBuffer::from_slice(&[7_u32; 1000]).unwrap();
    let mut memory = Registered::new(vec![1_u32; 1000]).unwrap();
    let gate = Gate::on(&alone, &stream);
    memcpy_async(&mut memory, &device, &stream).unwrap();
    let opener = std::thread::spawn(move || gate.open());
    assert_eq!(*memory.host().unwrap(), [7; 1000]);
    opener.join().unwrap();
    memory.host_mut().unwrap()[0] = 9;
    assert_eq!(memory.into_inner().unwrap()[..2], [9, 7]);
}

#[test]
fn a_container_comes_back_only_once_pending_work_is_done() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let mut device = DeviceBuffer::<u32>::alloc(1000).unwrap();
    let memory = Registered::new(vec![4_u32; 1000]).unwrap();
    let gate = Gate::on(&alone, &stream);
    memcpy_async(&mut device, &memory, &stream).unwrap();
    let opener = std::thread::spawn(move || gate.open());
    let mut numbers = memory.into_inner().unwrap();
    assert!(stream.is_done().unwrap());
    numbers.fill(0);
    opener.join().unwrap();
    assert_eq!(device.to_vec().unwrap(), [4; 1000]);
}

#[test]
fn a_container_comes_back_only_once_another_device_is_done_with_it() {
    let alone = alone();
    if Device::count().unwrap() < 2 {
        eprintln!("one device only: no other one to wait for");
        return;
    }
    // Unregistering may wait for the device that the memory was registered with, but never for another one.
    let second = Device::new(1).unwrap();
    let stream = second.with_current(Stream::non_blocking).unwrap();
    let device = second.with_current(|| DeviceBuffer::from_slice(&[7_u32; 1000])).unwrap();
    for dropped in [false, true] {
        let (container, drops) = Watched::new(1000);
        let mut memory = Registered::with_flags(container, RegisterFlags::PORTABLE).unwrap();
        let gate = Gate::on(&alone, &stream);
        memcpy_async(&mut memory, &device, &stream).unwrap();
        let opening = Arc::new(AtomicUsize::new(0));
        let seen = opening.clone();
        let opener = std::thread::spawn(move || {
            seen.store(1, Ordering::SeqCst);
            gate.open();
        });
        if dropped {
            drop(memory);
            assert_eq!(drops.load(Ordering::SeqCst), 1);
        } else {
            assert_eq!(memory.into_inner().unwrap().elements, [7; 1000]);
        }
        assert_eq!(opening.load(Ordering::SeqCst), 1, "nobody waited");
        opener.join().unwrap();
    }
}

#[test]
fn a_container_dropped_while_a_copy_into_it_is_pending_is_dropped_after_it() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let device = DeviceBuffer::from_slice(&[7_u32; 1000]).unwrap();
    let (container, drops) = Watched::new(1000);
    let mut memory = Registered::new(container).unwrap();
    let gate = Gate::on(&alone, &stream);
    memcpy_async(&mut memory, &device, &stream).unwrap();
    let opener = std::thread::spawn(move || gate.open());
    drop(memory);
    assert!(stream.is_done().unwrap());
    assert_eq!(drops.load(Ordering::SeqCst), 1);
    opener.join().unwrap();
}

#[test]
fn registered_memory_in_a_host_function_is_kept_and_dropped_later() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let (container, drops) = Watched::new(10);
    let memory = Registered::new(container).unwrap();
    let (tell, told) = channel();
    let seen = drops.clone();
    stream
        .launch_host_fn(move || {
            let (error, memory) = memory.into_inner().unwrap_err().into_parts();
            drop(memory);
            tell.send((error, seen.load(Ordering::SeqCst))).unwrap();
        })
        .unwrap();
    stream.synchronize().unwrap();
    let (error, dropped) = told.recv().unwrap();
    assert_eq!((error.detail(), dropped), (&Detail::IN_CALLBACK, 0));
    // The next wait frees the memory that the host function could not free.
    Device::current().unwrap().synchronize().unwrap();
    assert_eq!(drops.load(Ordering::SeqCst), 1);
}

#[test]
fn memory_that_is_page_locked_already_is_given_back_with_the_error() {
    let _alone = alone();
    let (mut container, drops) = Watched::new(10);
    let pinned = PinnedBuffer::<u32>::alloc(10).unwrap();
    // The elements of one container, twice: impossible without an unsafe implementation.
    #[derive(Debug)]
    struct Twice(*mut u32);
    #[expect(unsafe_code, reason = "vouches for a container of the test's own")]
    // SAFETY: the test owns the elements, and no thread uses them.
    unsafe impl Send for Twice {}
    #[expect(unsafe_code, reason = "vouches for a container of the test's own")]
    // SAFETY: the test owns the elements, which nothing writes.
    unsafe impl Stable for Twice {
        type Element = u32;
        fn elements(&mut self) -> (*mut u32, usize) {
            (self.0, 10)
        }
    }
    let twice = Twice(container.elements.as_mut_ptr());
    let memory = Registered::new(container).unwrap();
    let (error, twice) = Registered::new(twice).unwrap_err().into_parts();
    assert_eq!(error.code(), sys::cudaErrorHostMemoryAlreadyRegistered);
    assert_eq!(error.api(), "cudaHostRegister");
    assert_eq!(error.detail().as_str(), "asked for 40 bytes of registered host memory");
    let container = memory.into_inner().unwrap();
    let again = Registered::new(twice).unwrap();
    drop(again);
    drop(pinned);
    assert_eq!(drops.load(Ordering::SeqCst), 0);
    drop(container);
    assert_eq!(drops.load(Ordering::SeqCst), 1);
    let _ = cuda_safe::error::take_last();
}

#[test]
fn a_container_without_elements_is_never_registered_and_still_comes_back() {
    let _alone = alone();
    let (container, drops) = Watched::new(0);
    let mut none = Registered::new(container).unwrap();
    assert!(
        none.is_empty()
            && none.as_slice().as_ptr().is_null()
            && none.as_slice().device_ptr().unwrap().is_null()
    );
    assert!(none.host().unwrap().is_empty() && none.host_mut().unwrap().is_empty());
    let container = none.into_inner().unwrap();
    drop(Registered::new(container).unwrap());
    assert_eq!(drops.load(Ordering::SeqCst), 1);
    let room = Vec::<u8>::with_capacity(100);
    assert_eq!(Registered::new(room).unwrap().into_inner().unwrap().capacity(), 100);
}

#[test]
fn elements_without_bytes_and_unknown_flags_are_refused_with_the_container() {
    let _alone = alone();
    let (error, units) = Registered::new(vec![(), ()]).unwrap_err().into_parts();
    assert!(error.detail().as_str().contains(" have no bytes") && units.len() == 2);
    // The second one would make devices treat the elements as memory of another device, in one piece.
    for flags in [
        0x80,
        sys::cudaHostRegisterReadOnly,
        sys::cudaHostRegisterIoMemory,
        sys::cudaHostRegisterIoMemory | sys::cudaHostRegisterMapped,
    ] {
        let flags = RegisterFlags::from_bits_retain(flags);
        let (error, bytes) = Registered::with_flags(vec![1_u8], flags).unwrap_err().into_parts();
        assert_eq!((error.code(), bytes), (sys::cudaErrorInvalidValue, vec![1]));
        assert!(error.is_refused(), "{error}");
    }
}

#[test]
fn every_kind_of_registered_memory_works() {
    let _alone = alone();
    let device = DeviceBuffer::from_slice(&[3_u8; 64]).unwrap();
    for flags in
        [RegisterFlags::PORTABLE, RegisterFlags::MAPPED, RegisterFlags::PORTABLE | RegisterFlags::MAPPED]
    {
        let mut memory = Registered::with_flags(vec![0_u8; 64], flags).unwrap();
        memcpy(&mut memory, &device).unwrap();
        assert!(!memory.as_slice().device_ptr().unwrap().is_null(), "{flags:?}");
        assert_eq!(memory.into_inner().unwrap(), [3; 64], "{flags:?}");
    }
}

#[test]
fn memory_that_devices_only_read_is_a_source_and_is_read_by_the_host() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let mut device = DeviceBuffer::<u8>::alloc(4).unwrap();
    let numbers = match Registered::new_read_only(vec![1_u8, 2, 3, 4]) {
        Ok(numbers) => numbers,
        Err(failed) => {
            let (error, numbers) = failed.into_parts();
            // Not every device knows this attribute.
            assert_eq!((error.code(), numbers), (sys::cudaErrorNotSupported, vec![1, 2, 3, 4]));
            return;
        }
    };
    memcpy_async(&mut device, &numbers.as_slice().slice(..).unwrap(), &stream).unwrap();
    assert_eq!(*numbers.host().unwrap(), [1, 2, 3, 4]);
    assert_eq!(numbers.into_inner().unwrap().0, [1, 2, 3, 4]);
    assert_eq!(device.to_vec().unwrap(), [1, 2, 3, 4]);
    let (error, shared) = Registered::new_read_only(Arc::<[()]>::from([()])).unwrap_err().into_parts();
    assert!(error.detail().as_str().contains(" have no bytes") && shared.len() == 1);
}

#[test]
fn forgetting_a_guard_does_not_keep_the_container() {
    let _alone = alone();
    let mut memory = Registered::new(vec![1_u8; 8]).unwrap();
    let forgotten = std::mem::ManuallyDrop::new(memory.host_mut().unwrap());
    assert_eq!(forgotten[0], 1);
    assert_eq!(memory.into_inner().unwrap(), [1; 8]);
}

#[test]
fn a_question_mark_makes_an_error_of_what_comes_back() {
    fn there_and_back(numbers: Vec<u32>) -> cuda_safe::Result<Vec<u32>> {
        Ok(Registered::new(numbers)?.into_inner()?)
    }
    let _alone = alone();
    assert_eq!(there_and_back(vec![1, 2]).unwrap(), [1, 2]);
}

#[test]
fn a_question_mark_works_with_an_error_type_that_takes_any_error() {
    let _alone = alone();
    // The bound of anyhow's error type.
    #[derive(Debug)]
    struct Anyhow(Box<dyn std::error::Error + Send + Sync>);
    impl<E: std::error::Error + Send + Sync + 'static> From<E> for Anyhow {
        fn from(error: E) -> Self {
            Self(Box::new(error))
        }
    }
    fn there_and_back(numbers: Vec<()>) -> Result<Vec<()>, Anyhow> {
        Ok(Registered::new(numbers)?.into_inner()?)
    }
    fn raw(buffer: DeviceBuffer<u8>) -> Result<*mut u8, Anyhow> {
        Ok(buffer.into_raw()?)
    }
    let Anyhow(error) = there_and_back(vec![()]).unwrap_err();
    assert!(error.to_string().contains("Registered::new"), "{error}");
    assert!(raw(DeviceBuffer::alloc(0).unwrap()).unwrap().is_null());
    let failed = Registered::new(vec![(), ()]).unwrap_err();
    assert_eq!(failed.to_string(), failed.error().to_string());
    assert_eq!(failed.into_parts().1.len(), 2);
}
