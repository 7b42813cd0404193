//! Host functions: when they run, what they may do, and the result of their panics.
#![expect(unsafe_code, reason = "asks the runtime about an address")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use cuda_safe::error::Detail;
use cuda_safe::memory::ManagedBuffer;
use cuda_safe::{
    Device, DeviceBuffer, Event, PinnedBuffer, Registered, Stream, check, memcpy_async, memset_async, sys,
};
use cuda_testing::{Gate, alone};

#[test]
fn host_functions_run_in_the_order_of_their_stream() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    for number in 0..20 {
        let order = Arc::clone(&order);
        stream.launch_host_fn(move || order.lock().unwrap().push(number)).unwrap();
    }
    stream.synchronize().unwrap();
    assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
}

#[test]
fn more_functions_than_a_stream_has_room_for_all_run_once_and_in_order_whatever_their_size() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    for _ in 0..2 {
        let gate = Gate::on(&alone, &stream);
        for number in 0..700_usize {
            let order = Arc::clone(&order);
            if number % 3 == 0 {
                let large = [number; 100];
                stream.launch_host_fn(move || order.lock().unwrap().push(large[99])).unwrap();
            } else {
                stream.launch_host_fn(move || order.lock().unwrap().push(number)).unwrap();
            }
        }
        gate.open();
        stream.synchronize().unwrap();
        assert_eq!(*order.lock().unwrap(), (0..700).collect::<Vec<_>>());
        order.lock().unwrap().clear();
    }
    assert_eq!(Arc::strong_count(&order), 1, "what the functions own was dropped");
}

#[test]
fn what_a_function_owns_is_dropped_when_it_has_run() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let owned = Arc::new(());
    let held = Arc::clone(&owned);
    let gate = Gate::on(&alone, &stream);
    stream.launch_host_fn(move || drop(held)).unwrap();
    assert_eq!(Arc::strong_count(&owned), 2);
    gate.open();
    stream.synchronize().unwrap();
    assert_eq!(Arc::strong_count(&owned), 1);
}

#[test]
fn a_panic_is_reported_once_by_the_next_synchronisation_of_the_stream() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let other = Stream::non_blocking().unwrap();
    let line = line!() + 1;
    stream.launch_host_fn(|| panic!("as planned")).unwrap();
    other.synchronize().unwrap();
    let error = stream.synchronize().unwrap_err();
    let launched = format!("the host function launched at {}:{line}:", file!());
    assert!(error.detail().as_str().starts_with(&launched));
    stream.synchronize().unwrap();
    let (tell, told) = channel();
    stream.launch_host_fn(move || tell.send(()).unwrap()).unwrap();
    stream.synchronize().unwrap();
    told.try_recv().expect("the stream goes on after a panic");
}

#[test]
fn cuda_is_refused_in_a_host_function() {
    let _alone = alone();
    let stream = Arc::new(Stream::non_blocking().unwrap());
    let other = Stream::non_blocking().unwrap();
    let event = Event::without_timing().unwrap();
    event.record(&*stream).unwrap();
    let device = Device::current().unwrap();
    let (tell, told) = channel();
    let inner = Arc::clone(&stream);
    other
        .launch_host_fn(move || {
            let answers = [
                inner.synchronize(),
                inner.is_done().map(drop),
                inner.wait(&event),
                event.record(&*inner),
                event.synchronize(),
                inner.launch_host_fn(|| ()),
                inner.scope(|_| ()),
                device.synchronize(),
                Stream::new().map(drop),
                Event::new().map(drop),
            ];
            tell.send(answers).unwrap();
        })
        .unwrap();
    other.synchronize().unwrap();
    for answer in told.recv().unwrap() {
        assert_eq!(answer.unwrap_err().detail(), &Detail::IN_CALLBACK);
    }
}

#[test]
fn a_buffer_dropped_in_a_host_function_is_freed_later() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let mut buffer = DeviceBuffer::<u8>::alloc(32 << 20).unwrap();
    memset_async(&mut buffer, 1, &stream).unwrap();
    let address = buffer.as_ptr();
    // The driver caches no memory of this size when it is freed.
    let is_memory = || {
        let mut attributes = std::mem::MaybeUninit::<sys::cudaPointerAttributes>::zeroed();
        // SAFETY: the pointer is to a live structure, which the call fills. Any address may be queried.
        unsafe { check!(cudaPointerGetAttributes(attributes.as_mut_ptr(), address.cast())) }.unwrap();
        // SAFETY: the call has filled it.
        unsafe { attributes.assume_init() }.type_ == sys::cudaMemoryTypeDevice
    };
    let gate = Gate::on(&alone, &stream);
    stream.launch_host_fn(move || drop(buffer)).unwrap();
    assert!(is_memory());
    gate.open();
    stream.synchronize().unwrap();
    assert!(!is_memory(), "the synchronisation has freed what was dropped");
}

#[test]
fn streams_and_events_may_be_dropped_in_a_host_function() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let (other, event) = (Stream::non_blocking().unwrap(), Event::new().unwrap());
    stream.launch_host_fn(move || drop((other, event))).unwrap();
    stream.synchronize().unwrap();
}

#[test]
fn a_function_reads_the_copy_before_it_on_any_stream() {
    let alone = alone();
    let (a, b) = (Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap());
    let device = DeviceBuffer::from_slice(&[1.0_f32, 2.0, 3.0]).unwrap();
    let mut host = PinnedBuffer::from_slice(&[0.0_f32; 3]).unwrap();
    let (tell, told) = channel();
    for stream in [&a, &b] {
        host.host_mut().unwrap().fill(0.0);
        let gate = Gate::on(&alone, &a);
        memcpy_async(&mut host, &device, &a).unwrap();
        let tell = tell.clone();
        stream.launch_host_fn_with(&host, move |h: &[f32]| tell.send(h.to_vec()).unwrap()).unwrap();
        assert!(told.try_recv().is_err(), "the copy has not run yet");
        gate.open();
        stream.synchronize().unwrap();
        assert_eq!(told.recv().unwrap(), [1.0, 2.0, 3.0]);
    }
}

#[test]
fn what_a_function_writes_is_what_later_work_and_the_host_find() {
    let alone = alone();
    let (a, b) = (Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap());
    let mut host = PinnedBuffer::from_slice(&[0_u32; 64]).unwrap();
    let mut device = [DeviceBuffer::<u32>::alloc(64).unwrap(), DeviceBuffer::<u32>::alloc(64).unwrap()];
    let gate = Gate::on(&alone, &a);
    a.launch_host_fn_with(&mut host, |h: &mut [u32]| h.fill(7)).unwrap();
    for (device, stream) in device.iter_mut().zip([&a, &b]) {
        memcpy_async(device, &host, stream).unwrap();
    }
    assert!(!b.is_done().unwrap(), "the copy waits for the function");
    let opener = std::thread::spawn(move || gate.open());
    assert_eq!(host.host().unwrap()[..], [7; 64]);
    opener.join().unwrap();
    assert!(device.iter().all(|device| device.to_vec().unwrap() == [7; 64]));
}

#[test]
fn a_function_takes_any_memory_that_the_host_reaches_and_parts_and_tuples_of_it() {
    let _alone = alone();
    let stream = Stream::new().unwrap();
    let mut pinned = PinnedBuffer::from_slice(&[1_u8, 2, 3, 4]).unwrap();
    let mut registered = Registered::new(vec![10_u16; 3]).unwrap();
    let shared = Registered::new(Arc::<[u32]>::from([5, 6])).unwrap();
    let mut managed = ManagedBuffer::from_slice(&[0_u64; 2]).unwrap();
    let nothing = PinnedBuffer::<f32>::alloc(0).unwrap();
    let (mut left, right) = pinned.as_slice_mut().split_at_mut(2).unwrap();
    let sum = |(left, right, shared, managed): (&mut [u8], &[u8], &[u32], &mut [u64])| {
        left[1] = right[0] + right[1];
        managed[1] = u64::from(shared[0] * shared[1]);
    };
    stream.launch_host_fn_with((&mut left, &right, &shared, &mut managed), sum).unwrap();
    stream.launch_host_fn_with((&mut registered,), |(r,): (&mut [u16],)| r.reverse()).unwrap();
    stream
        .launch_host_fn_with((&pinned, &nothing), |(p, n): (&[u8], &[f32])| {
            assert_eq!((p, n.len()), (&[1, 7, 3, 4][..], 0));
        })
        .unwrap();
    stream.synchronize().unwrap();
    assert_eq!((pinned.to_vec().unwrap(), managed.host().unwrap()[1]), (vec![1, 7, 3, 4], 30));
    assert_eq!(registered.into_inner().unwrap(), [10; 3]);
}

#[test]
fn memory_that_is_dropped_right_after_the_launch_lives_until_the_function_has_returned() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let (tell, told) = channel();
    let gate = Gate::on(&alone, &stream);
    let host = Registered::new(vec![3_u64; 1000]).unwrap();
    stream.launch_host_fn_with(&host, move |h: &[u64]| tell.send(h.iter().sum::<u64>()).unwrap()).unwrap();
    let opener = std::thread::spawn(move || {
        std::thread::yield_now();
        gate.open();
    });
    drop(host);
    assert_eq!(told.try_recv(), Ok(3000), "the drop has waited for the function");
    opener.join().unwrap();
    let forgotten = std::mem::ManuallyDrop::new(PinnedBuffer::from_slice(&[1_u8; 4]).unwrap());
    stream.launch_host_fn_with(&*forgotten, |h: &[u8]| assert_eq!(h, [1; 4])).unwrap();
    stream.synchronize().unwrap();
}

#[test]
fn inside_its_function_the_memory_is_reached_in_no_other_way() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let shared = Arc::new(Mutex::new(PinnedBuffer::from_slice(&[0_u8; 4]).unwrap()));
    let (tell, told) = channel();
    let owner = Arc::clone(&shared);
    let through = move |h: &mut [u8]| {
        h[0] = 1;
        let mut owner = owner.lock().unwrap();
        tell.send([owner.host().map(drop), owner.host_mut().map(drop)]).unwrap();
    };
    stream.launch_host_fn_with(&mut *shared.lock().unwrap(), through).unwrap();
    for refused in told.recv().unwrap() {
        assert_eq!(refused.unwrap_err().detail(), &Detail::IN_CALLBACK);
    }
    assert_eq!(shared.lock().unwrap().host().unwrap()[0], 1);
}

#[test]
fn a_function_may_drop_the_last_owner_of_its_memory_and_go_on_reading() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let host = Arc::new(Registered::new(vec![2_u32; 100]).unwrap());
    let (owner, (tell, told), (go, wait)) = (Arc::clone(&host), channel(), channel::<()>());
    let sum = move |h: &[u32]| {
        wait.recv().unwrap();
        drop(owner);
        tell.send(0).unwrap();
        wait.recv().unwrap();
        tell.send(h.iter().sum::<u32>()).unwrap();
    };
    stream.launch_host_fn_with(&*host, sum).unwrap();
    // Not the last owner: a drop of the last one here would wait for the function.
    drop(host);
    go.send(()).unwrap();
    assert_eq!(told.recv(), Ok(0));
    // This thread frees what was left, and waits for the function first.
    let later = std::thread::spawn(|| Device::current().unwrap().synchronize());
    go.send(()).unwrap();
    assert_eq!(told.recv(), Ok(200));
    later.join().unwrap().unwrap();
}

#[test]
fn a_panic_in_a_function_with_memory_is_reported_and_the_memory_can_be_used() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let mut host = PinnedBuffer::from_slice(&[0_u8; 2]).unwrap();
    let halfway = |h: &mut [u8]| {
        h[0] = 1;
        panic!("as planned");
    };
    stream.launch_host_fn_with(&mut host, halfway).unwrap();
    assert!(stream.synchronize().unwrap_err().detail().as_str().contains(" panicked"));
    assert_eq!(host.to_vec().unwrap(), [1, 0]);
}

#[cfg(cudart_13_2)]
#[test]
fn a_function_runs_in_order_however_the_stream_waits_for_it() {
    use cuda_safe::stream::{AsStream, HostTaskSync};

    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let (tell, told) = channel();
    for (number, sync) in [HostTaskSync::BLOCKING, HostTaskSync::SPIN_WAIT].into_iter().enumerate() {
        assert_eq!(sync.as_raw(), u32::try_from(number).unwrap());
        let tell = tell.clone();
        stream.as_stream().launch_host_fn_with_sync(sync, move || tell.send(number).unwrap()).unwrap();
    }
    stream.synchronize().unwrap();
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [0, 1]);
}
