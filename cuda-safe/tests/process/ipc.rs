//! Device memory and events that two processes share. If processes may not share them, for example in
//! containers, the test reports that. `CUDA_TEST_REQUIRE_IPC` makes it a failure.
#![cfg(unix)]
#![expect(unsafe_code, reason = "opens memory and events of another process")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use cuda_safe::memory::IpcMemHandle;
use cuda_safe::stream::{Event, EventFlags, IpcEventHandle, Stream};
use cuda_safe::{Device, DeviceBuffer, check, memcpy_async, memset_async, sys};
use cuda_testing::child::{self, Talk};
use cuda_testing::{Gate, alone, test_beside};

const LEN: usize = 1000;

fn interprocess() -> Event {
    Event::with_flags(EventFlags::INTERPROCESS | EventFlags::DISABLE_TIMING).unwrap()
}

#[test]
fn another_process_waits_for_an_event_and_then_finds_what_was_written_before_it() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let mut buffer = DeviceBuffer::<u8>::alloc(LEN).unwrap();
    let event = interprocess();
    let handle = match buffer.ipc_handle() {
        Ok(handle) => handle,
        Err(error) => {
            eprintln!("cannot run: memory is not shared here: {error}");
            assert!(std::env::var_os("CUDA_TEST_REQUIRE_IPC").is_none());
            return;
        }
    };
    let gate = Gate::on(&alone, &stream);
    memset_async(&mut buffer, 5, &stream).unwrap();
    event.record(&stream).unwrap();
    let mut gift = handle.as_bytes().to_vec();
    gift.extend(event.ipc_handle().unwrap().as_bytes());
    let mut other = Talk::start(child::command(test_beside!("the_other_process"), &gift));
    if other.hear_one_of(&["opened", "cannot open"]) == "cannot open" {
        gate.open();
        eprintln!("cannot run: another process cannot open the memory here");
        assert!(std::env::var_os("CUDA_TEST_REQUIRE_IPC").is_none());
        other.end();
        return;
    }
    assert!(!event.is_done().unwrap());
    gate.open();
    other.hear("written");
    assert_eq!(buffer.to_vec().unwrap(), [6; LEN]);
    other.say("enough");
    other.end();
}

#[test]
#[ignore = "the other process of another test"]
fn the_other_process() {
    let device = Device::new(0).unwrap();
    let gift = child::gift();
    let (memory, event) = gift.split_at(64);
    let memory = IpcMemHandle::from_bytes(memory.try_into().unwrap());
    let event = IpcEventHandle::from_bytes(event.try_into().unwrap());
    // SAFETY: the parent's buffer has this many bytes, and lives until this process has reported that it no
    // longer uses it.
    let opened = unsafe { memory.open::<u8>(device, LEN) };
    let mut buffer = match opened {
        Ok(buffer) => buffer,
        Err(error) => {
            eprintln!("{error}");
            child::say("cannot open");
            return;
        }
    };
    // SAFETY: the parent's event lives as long.
    let event = unsafe { event.open(device) }.unwrap();
    let stream = Stream::non_blocking().unwrap();
    assert!(!event.is_done().unwrap(), "the parent holds it back until it hears of this process");
    stream.wait(&event).unwrap();
    let mut found = cuda_safe::PinnedBuffer::<u8>::alloc(LEN).unwrap();
    memcpy_async(&mut found, &buffer, &stream).unwrap();
    memset_async(&mut buffer, 6, &stream).unwrap();
    assert!(!stream.is_done().unwrap());
    child::say("opened");
    event.synchronize().unwrap();
    assert_eq!(*found.host().unwrap(), [5; LEN]);
    stream.synchronize().unwrap();
    child::say("written");
    child::hear("enough");
    drop(buffer);
    drop(event);
}

#[test]
fn a_process_does_not_open_what_it_has_itself() {
    let _alone = alone();
    let device = Device::current().unwrap();
    let buffer = DeviceBuffer::<u8>::alloc(LEN).unwrap();
    let event = interprocess();
    let (Ok(memory), Ok(shared)) = (buffer.ipc_handle(), event.ipc_handle()) else {
        eprintln!("cannot run: memory and events are not shared here");
        assert!(std::env::var_os("CUDA_TEST_REQUIRE_IPC").is_none());
        return;
    };
    assert_eq!(buffer.ipc_handle().unwrap(), memory, "the same memory has the same handle");
    // SAFETY: the runtime refuses.
    let error = unsafe { memory.open::<u8>(device, LEN) }.unwrap_err();
    assert_eq!(error.code(), sys::cudaErrorDeviceUninitialized);
    // SAFETY: the runtime refuses.
    let error = unsafe { shared.open(device) }.unwrap_err();
    assert_eq!(error.code(), sys::cudaErrorDeviceUninitialized);
    // SAFETY: without elements nothing is called.
    assert!(unsafe { memory.open::<u8>(device, 0) }.unwrap().is_empty());
    let _ = cuda_safe::error::take_last();
}

#[test]
fn what_is_not_made_for_it_has_no_handle() {
    let _alone = alone();
    let stream = Stream::new().unwrap();
    assert!(Event::without_timing().unwrap().ipc_handle().is_err());
    let of_pool = DeviceBuffer::<u8>::alloc_async(LEN, &stream).unwrap().ipc_handle().unwrap_err();
    assert!(of_pool.detail().as_str().contains("MemoryPool::export"), "{of_pool}");
    assert!(Event::with_flags(EventFlags::INTERPROCESS).is_err(), "it cannot take the time");
    let _ = cuda_safe::error::take_last();
}

#[test]
fn an_event_that_only_another_process_records_is_waited_for() {
    let alone = alone();
    let (stream, second) = (Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap());
    let event = interprocess();
    assert!(event.is_done().unwrap());
    let gate = Gate::on(&alone, &stream);
    // As another process does: without a word to the crate.
    // SAFETY: event and stream are live.
    unsafe { check!(cudaEventRecord(event.as_raw(), stream.as_raw())) }.unwrap();
    assert!(!event.is_done().unwrap());
    second.wait(&event).unwrap();
    let mut buffer = DeviceBuffer::<u8>::alloc(LEN).unwrap();
    memset_async(&mut buffer, 1, &second).unwrap();
    assert!(!second.is_done().unwrap());
    gate.open();
    event.synchronize().unwrap();
    second.synchronize().unwrap();
}

#[test]
fn an_event_that_others_may_have_proves_nothing_and_still_orders() {
    let _alone = alone();
    let (first, second) = (Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap());
    let mut buffer = DeviceBuffer::<u8>::alloc(LEN).unwrap();
    let event = interprocess();
    memset_async(&mut buffer, 1, &first).unwrap();
    event.record(&first).unwrap();
    second.wait(&event).unwrap();
    memset_async(&mut buffer, 2, &second).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [2; LEN]);
    let dropped = interprocess();
    first.launch_host_fn(move || drop(dropped)).unwrap();
    first.synchronize().unwrap();
}
