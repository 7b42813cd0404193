//! Memory and semaphores of other interfaces. On the emulator any file stands for them. A GPU takes only what
//! Vulkan and its like export, so there the tests report that they cannot run.
#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "imports descriptors")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::mpsc::channel;

use cuda_safe::error::Detail;
use cuda_safe::graph::node;
use cuda_safe::memory::{ExternalMemory, ExternalMemoryFlags, ExternalSemaphore};
use cuda_safe::stream::AsStream;
use cuda_safe::{
    Device, DeviceBuffer, Error, Graph, GraphExec, PinnedBuffer, Result, Stream, memcpy_async, memset_async,
    sys,
};
use cuda_testing::child::{self, Talk};
use cuda_testing::{Gate, alone, test_beside};

const BYTES: u64 = 1 << 16;
const LEN: usize = 1 << 16;

/// A file in memory.
fn file() -> OwnedFd {
    // SAFETY: the name is a string that ends in NUL.
    let number = unsafe { libc::memfd_create(c"external".as_ptr(), libc::MFD_CLOEXEC) };
    assert!(number >= 0);
    // SAFETY: the call has just made the descriptor.
    let file = unsafe { File::from_raw_fd(number) };
    file.set_len(BYTES).unwrap();
    file.into()
}

fn memory(descriptor: OwnedFd) -> Result<ExternalMemory> {
    // SAFETY: the emulator takes any file of this size.
    unsafe { ExternalMemory::import(descriptor, BYTES, ExternalMemoryFlags::empty(), Device::current()?) }
}

fn timeline(descriptor: OwnedFd) -> Result<ExternalSemaphore> {
    // SAFETY: the emulator takes any file, and the values of each test grow.
    unsafe { ExternalSemaphore::import_timeline(descriptor, Device::current()?) }
}

fn binary() -> Result<ExternalSemaphore> {
    // SAFETY: the emulator takes any file, and each test waits once for each signal.
    unsafe { ExternalSemaphore::import(file(), Device::current()?) }
}

/// Whether this machine takes files for memory of another interface.
fn takes_files() -> bool {
    match memory(file()) {
        Ok(_) => true,
        Err(error) => {
            eprintln!("cannot run: nothing exports memory here: {error}");
            assert_ne!(std::env::var("CUDA_RUNNER").as_deref(), Ok("emulator"));
            false
        }
    }
}

#[test]
fn two_processes_take_turns_with_one_memory_by_a_semaphore() {
    let _alone = alone();
    if !takes_files() {
        return;
    }
    let (bytes, values) = (file(), file());
    let gift = [std::process::id(), bytes.as_raw_fd().cast_unsigned(), values.as_raw_fd().cast_unsigned()];
    let mut other = Talk::start(child::command(
        test_beside!("the_other_process"),
        gift.map(u32::to_ne_bytes).as_flattened(),
    ));
    other.hear("opened");
    let stream = Stream::non_blocking().unwrap();
    let (memory, turns) = (memory(bytes).unwrap(), timeline(values).unwrap());
    // SAFETY: the semaphore orders both processes.
    let mut buffer = unsafe { memory.open::<u8>(0, LEN) }.unwrap();
    drop(memory);
    let mut found = PinnedBuffer::<u8>::alloc(LEN).unwrap();
    memset_async(&mut buffer, 5, &stream).unwrap();
    stream.as_stream().signal_external_semaphores(&[(&turns, 1)]).unwrap();
    stream.as_stream().wait_external_semaphores(&[(&turns, 2)]).unwrap();
    memcpy_async(&mut found, &buffer, &stream).unwrap();
    other.say("begin");
    assert_eq!(found.host().unwrap()[..], [6; LEN]);
    other.hear("done");
    other.end();
}

#[test]
#[ignore = "the other process of another test"]
fn the_other_process() {
    let gift: Vec<u32> =
        child::gift().chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect();
    let open = |number: u32| -> OwnedFd {
        let path = format!("/proc/{}/fd/{number}", gift[0]);
        File::options().read(true).write(true).open(path).unwrap().into()
    };
    let (memory, turns) = (memory(open(gift[1])).unwrap(), timeline(open(gift[2])).unwrap());
    child::say("opened");
    child::hear("begin");
    let stream = Stream::non_blocking().unwrap();
    // SAFETY: the semaphore orders both processes.
    let mut buffer = unsafe { memory.open::<u8>(0, LEN) }.unwrap();
    let mut found = PinnedBuffer::<u8>::alloc(LEN).unwrap();
    stream.as_stream().wait_external_semaphores(&[(&turns, 1)]).unwrap();
    memcpy_async(&mut found, &buffer, &stream).unwrap();
    memset_async(&mut buffer, 6, &stream).unwrap();
    stream.as_stream().signal_external_semaphores(&[(&turns, 2)]).unwrap();
    assert_eq!(found.host().unwrap()[..], [5; LEN]);
    stream.synchronize().unwrap();
    child::say("done");
}

#[test]
fn a_part_of_the_memory_is_a_buffer_and_outlives_what_it_is_a_part_of() {
    let _alone = alone();
    if !takes_files() {
        return;
    }
    let memory = memory(file()).unwrap();
    // SAFETY of all: nobody else has the file.
    // SAFETY: the semaphore orders both processes.
    let mut first = unsafe { memory.open::<u32>(0, 4) }.unwrap();
    // SAFETY: the semaphore orders both processes. The parts do not overlap.
    let second = unsafe { memory.open::<u32>(16, 4) }.unwrap();
    // SAFETY: the semaphore orders both processes.
    assert_eq!(unsafe { memory.open::<u32>(BYTES, 0) }.unwrap().len(), 0);
    // SAFETY: refused.
    let error = unsafe { memory.open::<u32>(BYTES - 8, 4) }.map(drop).unwrap_err();
    let end = LEN + 8;
    assert_eq!(error.detail(), &Detail::out_of_range(LEN - 8, end, LEN));
    assert_eq!(error.call_site().file(), file!());
    drop(memory);
    cuda_safe::memcpy(&mut first, &[1, 2, 3, 4]).unwrap();
    assert_eq!(second.to_vec().unwrap(), [0; 4]);
    assert_eq!(first.to_vec().unwrap(), [1, 2, 3, 4]);
    assert!(first.into_raw().is_err(), "the crate has not allocated it");
}

#[test]
fn a_semaphore_holds_a_stream_until_another_one_signals_it() -> Result<()> {
    let alone = alone();
    if !takes_files() {
        return Ok(());
    }
    let (first, second) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let (one, two) = (binary()?, timeline(file())?);
    let mut buffer = DeviceBuffer::<u8>::alloc(64)?;
    let before = cuda_safe::hazard::added_waits();
    let gate = Gate::on(&alone, &first);
    // The wait comes first, and the tracker does not make the signal wait for it.
    first.as_stream().signal_external_semaphores(&[(&one, 0), (&two, 3)])?;
    second.as_stream().wait_external_semaphores(&[(&one, 0), (&two, 2)])?;
    memset_async(&mut buffer, 1, &second)?;
    assert!(!second.is_done()?);
    gate.open();
    second.synchronize()?;
    assert_eq!(cuda_safe::hazard::added_waits(), before);
    second.as_stream().wait_external_semaphores(&[])?;
    // A value that was reached before does not hold anything up.
    first.as_stream().wait_external_semaphores(&[(&two, 1)])?;
    first.synchronize()
}

#[test]
fn a_dropped_semaphore_ends_when_its_streams_are_done_with_it() -> Result<()> {
    let alone = alone();
    if !takes_files() {
        return Ok(());
    }
    let stream = Stream::non_blocking()?;
    let semaphore = timeline(file())?;
    let gate = Gate::on(&alone, &stream);
    stream.as_stream().signal_external_semaphores(&[(&semaphore, 1)])?;
    let (tell, told) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            drop(semaphore);
            tell.send(()).unwrap();
        });
        assert!(told.try_recv().is_err());
        gate.open();
        told.recv().unwrap();
    });
    // In a host function it is left to a thread that may wait.
    let semaphore = timeline(file())?;
    stream.launch_host_fn(move || drop(semaphore))?;
    stream.synchronize()
}

#[test]
fn nodes_of_a_graph_signal_and_wait_and_keep_the_semaphores() -> Result<()> {
    let _alone = alone();
    if !takes_files() {
        return Ok(());
    }
    let stream = Stream::non_blocking()?;
    let mut buffer = PinnedBuffer::<u8>::alloc(64)?;
    let (signalled, waited, other) = (timeline(file())?, timeline(file())?, timeline(file())?);
    let mut graph = Graph::new()?;
    let signal = graph.add(&[], node::semaphore_signal(&[(&signalled, 1)]))?;
    let wait = graph.add(&[signal], node::semaphore_wait(&[(&waited, 1)]))?;
    graph.add(&[wait], node::memset(&mut buffer, 7))?;
    let mut before = graph.instantiate()?;
    graph.set(signal, node::semaphore_signal(&[(&waited, 1)]))?;
    graph.set(wait, node::semaphore_wait(&[(&waited, 1)]))?;
    let mut exec: GraphExec = graph.instantiate()?;
    exec.launch(&stream)?;
    assert_eq!(buffer.host()?[0], 7);
    exec.set(&graph, signal, node::semaphore_signal(&[(&other, 4), (&waited, 5)]))?;
    exec.set(&graph, wait, node::semaphore_wait(&[(&other, 4), (&waited, 5)]))?;
    drop((signalled, other));
    exec.launch(&stream)?;
    before.launch(&stream)?;
    drop((exec, before, waited));
    stream.synchronize()?;
    let error = graph.set(signal, node::semaphore_wait(&[])).unwrap_err();
    assert_eq!(error.code(), sys::cudaErrorInvalidValue);
    Ok(())
}

#[test]
fn what_does_not_fit_is_refused() -> Result<()> {
    let _alone = alone();
    if !takes_files() {
        return Ok(());
    }
    let mut stream = Stream::non_blocking()?;
    let semaphore = timeline(file())?;
    let here = |error: Error| {
        assert_eq!(error.call_site().file(), file!(), "{error}");
        error.detail().clone()
    };
    stream.capture(|captured| {
        let refused = captured.as_stream().signal_external_semaphores(&[(&semaphore, 1)]);
        assert_eq!(here(refused.unwrap_err()), Detail::CAPTURING);
        Ok(())
    })?;
    if let Some(device) = Device::all()?.find(|device| *device != Device::current().unwrap()) {
        let elsewhere = Stream::builder().device(device).build()?;
        let refused = elsewhere.as_stream().wait_external_semaphores(&[(&semaphore, 0)]);
        assert!(here(refused.unwrap_err()).as_str().contains(" belongs to device "));
    }
    // The file is too short for memory, and an empty one for a semaphore. A GPU gives this error for any file
    // that is none of others. The runtime has closed it then, as driver 580 does: std ends this process, a
    // debug build, if it is closed once more.
    let empty = || {
        let file = File::from(file());
        file.set_len(0).unwrap();
        file.into()
    };
    // SAFETY: nothing uses what is not imported.
    let refused = unsafe {
        ExternalMemory::import(file(), 2 * BYTES, ExternalMemoryFlags::empty(), Device::current()?)
    };
    assert_eq!(refused.unwrap_err().code(), sys::cudaErrorUnknown);
    assert_eq!(timeline(empty()).unwrap_err().code(), sys::cudaErrorUnknown);
    // SAFETY: nothing uses what is not imported.
    let refused = unsafe { ExternalSemaphore::import(empty(), Device::current()?) };
    assert_eq!(refused.unwrap_err().code(), sys::cudaErrorUnknown);
    Ok(())
}
