//! Large blocking copies between pageable memory and a device, which the crate stages.
#![expect(unsafe_code, reason = "puts work on streams behind the crate's back")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::ffi::c_void;
use std::sync::mpsc::channel;

use cuda_testing::Gate;

use cuda_safe::copy::staged::{Settings, configure, release, settings, statistics};
use cuda_safe::hazard;
use cuda_safe::{
    Device, DeviceBuffer, Event, PinnedBuffer, Stream, check, memcpy, memcpy_async, memset, memset_async, sys,
};

use super::alone;

/// Bytes that differ from their neighbours, and between seeds.
fn bytes(len: usize, seed: u8) -> Vec<u8> {
    (0..=250_u8).cycle().map(|byte| byte.wrapping_mul(3).wrapping_add(seed)).take(len).collect()
}

/// Everything is staged, in small pieces, by several threads.
fn everything() -> Settings {
    Settings {
        threshold: Some(1),
        threads: Some(4),
        chunk: Some(8 << 10),
        pinned: 1 << 20,
        ..Settings::default()
    }
}

/// Returns the number of copies that are staged in `f`.
fn staged_by<R>(f: impl FnOnce() -> R) -> (R, u64) {
    let before = statistics().copies;
    let answer = f();
    (answer, statistics().copies - before)
}

#[test]
fn all_sizes_and_offsets_arrive_and_nothing_beside_them_changes() {
    let _alone = alone();
    configure(everything());
    const MOST: usize = (1 << 20) + 100;
    let source = bytes(MOST, 1);
    let mut device = DeviceBuffer::<u8>::alloc(MOST).unwrap();
    let mut back = vec![0_u8; MOST];
    for len in [1, 2, 63, 64, 4095, 4096, 4097, 8192, 8193, 40_000, 65_536, 300_001, 1 << 20] {
        for (host_at, device_at, back_at) in [(0, 0, 0), (1, 0, 3), (0, 7, 0), (63, 64, 1), (100, 99, 100)] {
            memset(&mut device, 0xee).unwrap();
            back.fill(0xdd);
            let ((), copies) = staged_by(|| {
                let mut part = device.slice_mut(device_at..device_at + len).unwrap();
                memcpy(&mut part, &source[host_at..host_at + len]).unwrap();
                memcpy(&mut back[back_at..back_at + len], &device.slice(device_at..device_at + len).unwrap())
                    .unwrap();
            });
            assert_eq!(copies, 2);
            assert_eq!(back[back_at..back_at + len], source[host_at..host_at + len]);
            assert!(back[..back_at].iter().chain(&back[back_at + len..]).all(|&byte| byte == 0xdd));
            let all = device.to_vec().unwrap();
            assert_eq!(all[device_at..device_at + len], source[host_at..host_at + len]);
            assert!(all[..device_at].iter().chain(&all[device_at + len..]).all(|&byte| byte == 0xee));
        }
    }
}

#[test]
fn elements_of_any_size_go_there_and_back_by_every_verb() {
    let _alone = alone();
    configure(everything());
    let words: Vec<u64> = (0..50_000).map(|n| (n * 7919 % 1_000_003) << 20 | n).collect();
    let (device, copies) = staged_by(|| DeviceBuffer::from_slice(&words).unwrap());
    assert_eq!(copies, 1);
    let (back, copies) = staged_by(|| device.to_vec().unwrap());
    assert_eq!((back, copies), (words.clone(), 1));
    let (part, copies) = staged_by(|| device.slice(17..40_017).unwrap().to_vec().unwrap());
    assert_eq!((&part[..], copies), (&words[17..40_017], 1));
    let mut array = [[0_u64; 8]; 100];
    memcpy(array.as_flattened_mut(), &device.slice(..800).unwrap()).unwrap();
    assert_eq!(array.as_flattened(), &words[..800]);
}

#[test]
fn what_is_not_pageable_or_empty_is_not_staged() {
    let _alone = alone();
    configure(everything());
    let mut device = DeviceBuffer::from_slice(&bytes(100_000, 2)).unwrap();
    let mut other = DeviceBuffer::<u8>::alloc(100_000).unwrap();
    let mut pinned = PinnedBuffer::<u8>::alloc(100_000).unwrap();
    let ((), copies) = staged_by(|| {
        memcpy(&mut pinned, &device).unwrap();
        memcpy(&mut device, &pinned).unwrap();
        memcpy(&mut other, &device).unwrap();
        memcpy(&mut pinned, &bytes(100_000, 3)).unwrap();
        memcpy(&mut device.slice_mut(0..0).unwrap(), &[0_u8; 0]).unwrap();
    });
    assert_eq!(copies, 0);
    assert_eq!(other.to_vec().unwrap(), bytes(100_000, 2));
}

#[test]
fn small_copies_are_left_to_the_runtime_and_large_ones_staged_once_there_were_enough() {
    let _alone = alone();
    configure(Settings::default());
    let small = bytes(64 << 10, 4);
    let ((), copies) = staged_by(|| {
        let device = DeviceBuffer::from_slice(&small).unwrap();
        assert_eq!(device.to_vec().unwrap(), small);
    });
    assert_eq!(copies, 0);
    if std::thread::available_parallelism().unwrap().get() == 1 {
        println!("one processor only: nothing is staged there by itself");
        return;
    }
    let large = bytes(32 << 20, 5);
    let mut device = DeviceBuffer::<u8>::alloc(large.len()).unwrap();
    for _ in 0..3 {
        memcpy(&mut device, &large).unwrap();
    }
    let (back, copies) = staged_by(|| device.to_vec().unwrap());
    assert!(back == large && copies == 1, "{copies}");
    release().unwrap();
}

#[test]
fn the_engine_can_be_switched_off_and_on() {
    let _alone = alone();
    let host = bytes(200_000, 6);
    configure(Settings { enabled: false, ..everything() });
    assert!(!settings().enabled);
    let (device, copies) = staged_by(|| DeviceBuffer::from_slice(&host).unwrap());
    assert_eq!((device.to_vec().unwrap(), copies), (host.clone(), 0));
    configure(everything());
    let (_, copies) = staged_by(|| device.to_vec().unwrap());
    assert_eq!(copies, 1, "from here on there is pinned memory that could be used again");
    configure(Settings { pinned: 100, ..everything() });
    let (back, copies) = staged_by(|| device.to_vec().unwrap());
    assert_eq!((back, copies), (host.clone(), 0), "there is no pinned memory for it");
    configure(everything());
    let (back, copies) = staged_by(|| device.to_vec().unwrap());
    assert_eq!((back, copies), (host, 1));
}

#[test]
fn pinned_memory_is_given_back_on_request() {
    let _alone = alone();
    configure(everything());
    let device = DeviceBuffer::from_slice(&bytes(200_000, 7)).unwrap();
    assert!(statistics().pinned > 0);
    assert!(statistics().pinned <= settings().pinned);
    release().unwrap();
    assert_eq!(statistics().pinned, 0);
    assert_eq!(device.to_vec().unwrap(), bytes(200_000, 7));
}

#[test]
fn a_staged_copy_comes_after_raw_work_of_a_blocking_stream() {
    let alone = alone();
    configure(everything());
    const LEN: usize = 200_000;
    let blocking = Stream::new().unwrap();
    let mut device = DeviceBuffer::from_slice(&bytes(LEN, 8)).unwrap();
    let mut aside = DeviceBuffer::<u8>::alloc_zeroed(LEN).unwrap();
    let (to, from) = (aside.as_mut_ptr().cast::<c_void>(), device.as_mut_ptr().cast::<c_void>());
    Device::current().unwrap().synchronize().unwrap();

    // H2D: the stream reads the earlier contents.
    let gate = Gate::on(&alone, &blocking);
    // SAFETY: both buffers have this many bytes, and live until the stream is complete.
    unsafe { check!(cudaMemcpyAsync(to, from, LEN, sys::cudaMemcpyDeviceToDevice, blocking.as_raw())) }
        .unwrap();
    let opener = std::thread::spawn(move || gate.open());
    let ((), copies) = staged_by(|| memcpy(&mut device, &bytes(LEN, 9)).unwrap());
    assert_eq!(copies, 1);
    opener.join().unwrap();
    blocking.synchronize().unwrap();
    assert!(aside.to_vec().unwrap() == bytes(LEN, 8));

    // D2H: the data that the stream writes is there.
    let gate = Gate::on(&alone, &blocking);
    // SAFETY: the buffer has this many bytes, and lives until the stream is complete.
    unsafe { check!(cudaMemsetAsync(from, 7, LEN, blocking.as_raw())) }.unwrap();
    let opener = std::thread::spawn(move || gate.open());
    let (back, copies) = staged_by(|| device.to_vec().unwrap());
    assert_eq!((back, copies), (vec![7; LEN], 1));
    opener.join().unwrap();
}

#[test]
fn a_staged_copy_does_not_wait_for_streams_that_have_nothing_to_do_with_it() {
    let alone = alone();
    configure(everything());
    let stream = Stream::non_blocking().unwrap();
    let host = bytes(200_000, 10);
    let mut device = DeviceBuffer::<u8>::alloc(host.len()).unwrap();
    // From here on pinning more memory would not wait either, but freeing would wait for the gate.
    let gate = Gate::on(&alone, &stream);
    let ((), copies) = staged_by(|| memcpy(&mut device, &host).unwrap());
    assert_eq!(copies, 1);
    let (back, copies) = staged_by(|| device.to_vec().unwrap());
    assert_eq!((back, copies), (host, 1));
    gate.open();
}

#[test]
fn the_tracker_orders_staged_copies_with_all_streams() {
    let alone = alone();
    configure(everything());
    const LEN: usize = 200_000;
    let stream = Stream::non_blocking().unwrap();
    let mut device = DeviceBuffer::<u8>::alloc_zeroed(LEN).unwrap();
    let mut pinned = PinnedBuffer::<u8>::alloc(LEN).unwrap();
    Device::current().unwrap().synchronize().unwrap();

    let gate = Gate::on(&alone, &stream);
    memset_async(&mut device, 5, &stream).unwrap();
    let opener = std::thread::spawn(move || gate.open());
    let (back, copies) = staged_by(|| device.to_vec().unwrap());
    assert_eq!((back, copies), (vec![5; LEN], 1));
    opener.join().unwrap();

    // Complete on return: no work must wait for it.
    let added = hazard::added_waits();
    memcpy(&mut device, &bytes(LEN, 11)).unwrap();
    memcpy_async(&mut pinned, &device, &stream).unwrap();
    assert_eq!(hazard::added_waits(), added);
    assert!(*pinned.host().unwrap() == bytes(LEN, 11)[..]);

    // Ordered by the program: no wait is added either.
    let event = Event::without_timing().unwrap();
    memset_async(&mut device, 6, &stream).unwrap();
    event.record(&stream).unwrap();
    Stream::legacy().unwrap().wait(&event).unwrap();
    let (back, copies) = staged_by(|| device.to_vec().unwrap());
    assert_eq!((back, copies), (vec![6; LEN], 1));
    assert_eq!(hazard::added_waits(), added);
}

#[test]
fn several_threads_copy_at_once() {
    let _alone = alone();
    configure(everything());
    std::thread::scope(|threads| {
        for seed in 0..6 {
            threads.spawn(move || {
                let host = bytes(150_000 + usize::from(seed), seed);
                for _ in 0..10 {
                    let device = DeviceBuffer::from_slice(&host).unwrap();
                    assert!(device.to_vec().unwrap() == host);
                }
            });
        }
    });
    assert!(statistics().pinned <= settings().pinned);
}

#[test]
fn several_threads_share_one_slab_of_pinned_memory() {
    let _alone = alone();
    release().unwrap();
    configure(Settings { pinned: 2 * (8 << 10), ..everything() });
    std::thread::scope(|threads| {
        for device in Device::all().unwrap() {
            threads.spawn(move || {
                let host = bytes(100_000, 12);
                for _ in 0..10 {
                    let mut remote = DeviceBuffer::<u8>::alloc_on(device, host.len()).unwrap();
                    let mut back = vec![0; host.len()];
                    memcpy(&mut remote, &host).unwrap();
                    memcpy(&mut back, &remote).unwrap();
                    assert!(back == host);
                }
            });
        }
    });
    assert_eq!(statistics().pinned, 2 * (8 << 10));
    release().unwrap();
}

#[test]
fn devices_copy_at_once_whichever_is_current() {
    let _alone = alone();
    configure(everything());
    if Device::count().unwrap() < 2 {
        println!("one device only: no second one to copy to");
    }
    std::thread::scope(|threads| {
        for (seed, device) in Device::all().unwrap().enumerate() {
            threads.spawn(move || {
                let host = bytes(300_000, u8::try_from(seed).unwrap());
                let mut remote = DeviceBuffer::<u8>::alloc_on(device, host.len()).unwrap();
                let current = Device::current().unwrap();
                for _ in 0..10 {
                    let (back, copies) = {
                        memcpy(&mut remote, &host).unwrap();
                        staged_by(|| remote.to_vec().unwrap())
                    };
                    assert!(back == host && copies > 0);
                }
                assert_eq!(Device::current().unwrap(), current);
            });
        }
    });
}

#[test]
fn a_refused_copy_is_not_begun_and_its_chunks_are_there_for_the_next() {
    let _alone = alone();
    release().unwrap();
    configure(Settings { pinned: 2 * (8 << 10), ..everything() });
    let stream = Stream::non_blocking().unwrap();
    let host = bytes(100_000, 13);
    let mut device = DeviceBuffer::<u8>::alloc_zeroed(host.len()).unwrap();
    // SAFETY: the closure puts no work on the stream, and there are no accesses.
    let nested = unsafe { stream.enqueue(&[], |_| memcpy(&mut device, &host)) };
    assert!(nested.unwrap_err().is_refused());
    let (told, copies) = staged_by(|| device.to_vec().unwrap());
    assert_eq!((told, copies), (vec![0; host.len()], 1));
    assert!(memcpy(&mut device, &host[1..]).unwrap_err().is_refused());
    let ((), copies) = staged_by(|| memcpy(&mut device, &host).unwrap());
    assert_eq!(copies, 1);
    release().unwrap();
}

#[test]
fn release_in_a_host_function_is_refused_and_loses_no_memory() {
    let _alone = alone();
    configure(everything());
    let stream = Stream::new().unwrap();
    let device = DeviceBuffer::from_slice(&bytes(200_000, 14)).unwrap();
    let held = statistics().pinned;
    assert!(held > 0);
    let (answer, answers) = channel();
    stream.launch_host_fn(move || answer.send(release()).unwrap()).unwrap();
    let error = answers.recv().unwrap().unwrap_err();
    assert!(error.is_refused() && error.api() == "staged::release", "{error}");
    stream.synchronize().unwrap();
    assert_eq!(statistics().pinned, held, "it is still held");
    release().unwrap();
    assert_eq!(statistics().pinned, 0);
    assert_eq!(device.to_vec().unwrap(), bytes(200_000, 14));
}

#[test]
fn the_error_of_a_staged_copy_names_the_line_of_the_copy() {
    let _alone = alone();
    configure(everything());
    let stream = Stream::new().unwrap();
    let host = bytes(200_000, 15);
    let mut device = DeviceBuffer::from_slice(&host).unwrap();
    let (raw, mut graph) = (stream.as_raw(), std::ptr::null_mut());
    // A capture of a blocking stream forbids the legacy stream, which the staged copy waits for.
    // SAFETY: the stream is live.
    unsafe { check!(cudaStreamBeginCapture(raw, sys::cudaStreamCaptureModeThreadLocal)) }.unwrap();
    let (line, copied) = (line!(), memcpy(&mut device, &host));
    // SAFETY: the stream is live, and the pointer is to a live variable, which the call fills.
    let ended = unsafe { check!(cudaStreamEndCapture(raw, &raw mut graph)) };
    assert!(ended.is_err() && graph.is_null(), "the refused call has ended the capture");
    let error = copied.unwrap_err();
    assert_eq!((error.api(), error.code()), ("cudaEventRecord", sys::cudaErrorStreamCaptureImplicit));
    assert_eq!((error.call_site().file(), error.call_site().line()), (file!(), line));
    memcpy(&mut device, &host).unwrap();
    assert_eq!(device.to_vec().unwrap(), host);
    release().unwrap();
}
