//! Every owner of a CUDA resource, dropped at an unusual time or place, or never.
//!
//! Other tests cover the drop after a sticky error (`drops_after_a_fault` of `cuda-fixtures`), in host
//! functions, and in the child of a fork.
#![expect(unsafe_code, reason = "asks the C library for a call at exit")]
#![allow(
    clippy::unwrap_used,
    clippy::mem_forget,
    reason = "helpers of tests, and tests of what forgetting does"
)]

use std::cell::RefCell;
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::Mutex;

use cuda_safe::{
    CopyBatch, Device, DeviceBuffer, Event, ManagedBuffer, PinnedBuffer, Registered, Result, Stream,
    WriteCombinedBuffer, memcpy_async, memset_async,
};
use cuda_testing::child::again;
use cuda_testing::everything::{Owner, everything, last_device};
use cuda_testing::{Alone, Gate, alone, test_beside, this_test};

/// Set in the process that ends with live owners.
const CHILD: &str = "CUDA_SAFE_DROPS_AT_EXIT";

/// Shows whether a gate was open: complete once it is.
fn gate(alone: &Alone, stream: &Stream) -> Result<(Gate, Event)> {
    let passed = Event::with_device(stream.device(), cuda_safe::stream::EventFlags::DISABLE_TIMING)?;
    let gate = Gate::on(alone, stream);
    passed.record(stream)?;
    Ok((gate, passed))
}

/// Has `drops` drop everything behind a gate, which another thread opens.
fn drop_behind_a_gate(alone: &Alone, stream: &Stream, drops: impl FnOnce(Vec<Owner>)) -> Result<()> {
    // Once without a gate: first-time initialization may wait for the device.
    drop(everything(stream, || ()));
    let mut held = None;
    let owners = everything(stream, || held = Some(gate(alone, stream).unwrap()));
    let (gate, passed) = held.unwrap();
    assert!(!passed.is_done()?);
    let opener = std::thread::spawn(move || gate.open());
    drops(owners);
    assert!(passed.is_done()?, "memory was freed while work was using it");
    opener.join().unwrap();
    stream.synchronize()?;
    works(stream)
}

/// Checks that the device still works.
fn works(stream: &Stream) -> Result<()> {
    let mut device = stream.device().with_current(|| DeviceBuffer::<u8>::alloc(64))?;
    memset_async(&mut device, 5, stream)?;
    assert_eq!(device.to_vec()?, [5; 64]);
    Device::all()?.try_for_each(|device| device.synchronize())
}

#[test]
fn everything_can_be_dropped_by_another_thread_with_another_device_current() -> Result<()> {
    let alone = alone();
    let stream = Stream::non_blocking()?;
    if last_device() == stream.device() {
        println!("one device only: no other one to be current");
    }
    drop_behind_a_gate(&alone, &stream, |owners| {
        let dropping = move || {
            last_device().set_current().unwrap();
            for (what, owner) in owners {
                drop(owner);
                assert_eq!(Device::current().unwrap(), last_device(), "after {what}");
            }
        };
        std::thread::spawn(dropping).join().unwrap();
    })
}

#[test]
fn everything_can_be_dropped_by_the_thread_that_captures() -> Result<()> {
    let alone = alone();
    let (stream, mut captured) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let mut device = DeviceBuffer::<u8>::from_slice(&[1; 64])?;
    let mut graph = None;
    drop_behind_a_gate(&alone, &stream, |owners| {
        let capture = captured.capture(|s| {
            drop(owners);
            memset_async(&mut device, 2, s)
        });
        graph = Some(capture.unwrap());
    })?;
    let graph = graph.unwrap();
    assert_eq!(graph.node_count()?, 1, "nothing that was dropped is part of the graph");
    graph.instantiate()?.launch(&captured)?;
    assert_eq!(device.to_vec()?, [2; 64]);
    Ok(())
}

#[test]
fn everything_can_be_dropped_by_a_panic_with_work_pending() -> Result<()> {
    let alone = alone();
    let stream = Stream::non_blocking()?;
    drop_behind_a_gate(&alone, &stream, |owners| {
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let _owners = owners;
            std::panic::resume_unwind(Box::new("as planned"));
        }));
        assert!(unwound.is_err());
    })
}

/// CUDA documents for most calls that free something that they may wait. The emulator can be set not to
/// wait in them. Memory that is freed too early is then an error of the work that uses it.
#[test]
fn what_is_dropped_waits_by_itself_where_freeing_does_not() {
    const FREE: &str = "CUDA_EMULATOR_FREE";
    let _alone = alone();
    if std::env::var("CUDA_RUNNER").as_deref() != Ok("emulator") || std::env::var_os(FREE).is_some() {
        println!("not on the emulator, or told already: nothing to tell");
        return;
    }
    let this = std::env::current_exe().unwrap();
    let dropped = test_beside!("everything_can_be");
    let child = Command::new(this).args([dropped, "--test-threads=1"]).env(FREE, "at-once").output();
    let child = child.unwrap();
    let (printed, told) = (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
    assert!(child.status.success() && printed.contains("4 passed"), "{printed}{told}");
}

#[test]
fn everything_can_be_forgotten_with_work_pending() -> Result<()> {
    let alone = alone();
    let stream = Stream::non_blocking()?;
    let source = DeviceBuffer::from_slice(&[9_u8; 64])?;
    let fresh = || PinnedBuffer::from_slice(&[0_u8; 64]);
    let (mut read, mut written, mut scoped) = (fresh()?, fresh()?, [0_u8; 64]);
    let mut combined = WriteCombinedBuffer::<u8>::alloc(64)?;
    let mut registered = Registered::new(vec![0_u8; 64])?;
    let (mut batched, mut into) = (fresh()?, DeviceBuffer::<u8>::alloc(64)?);
    drop(everything(&stream, || ()));

    // Guards: the memory that they lent can be used as if they were dropped.
    forget(read.host()?);
    forget(written.host_mut()?);
    forget(combined.write()?);
    forget(registered.host_mut()?);
    if let Ok(mut managed) = ManagedBuffer::<u8>::alloc(64) {
        forget(managed.host()?);
        forget(managed.host_mut()?);
        memset_async(&mut managed, 3, &stream)?;
        assert_eq!(managed.to_vec()?, [3; 64]);
    }

    let mut held = None;
    everything(&stream, || held = Some(gate(&alone, &stream).unwrap()))
        .into_iter()
        .for_each(|(_, owner)| forget(owner));
    let (gate, passed) = held.unwrap();
    for pinned in [&mut read, &mut written] {
        memcpy_async(pinned, &source, &stream)?;
    }
    memcpy_async(&mut registered, &source, &stream)?;
    memset_async(&mut combined, 4, &stream)?;
    memcpy_async(&mut into, &combined, &stream)?;
    let batch = CopyBatch::new().copy(&mut batched, &source);
    batch.enqueue(&stream)?;
    forget(batch);
    assert!(!passed.is_done()?);
    let opener = std::thread::spawn(move || gate.open());
    for pinned in [&read, &written, &batched] {
        assert_eq!(*pinned.host()?, [9; 64]);
    }
    opener.join().unwrap();
    assert_eq!(registered.into_inner()?, [9; 64]);
    assert_eq!(into.to_vec()?, [4; 64]);

    // A scope waits, whatever happens to the result of its closure.
    forget(stream.scope(|scope| {
        scope.memcpy_async(&mut scoped, &source).unwrap();
        Box::new(scope.stream().device())
    })?);
    assert_eq!(scoped, [9; 64]);
    stream.synchronize()?;
    works(&stream)
}

/// Dropped by exit functions: one runs after the runtime's own, one before.
static AFTER: Mutex<Vec<Owner>> = Mutex::new(Vec::new());
static BEFORE: Mutex<Vec<Owner>> = Mutex::new(Vec::new());

/// Never dropped.
static NEVER: Mutex<Vec<Owner>> = Mutex::new(Vec::new());

thread_local! {
    /// Dropped with the thread, which comes first.
    static FIRST: RefCell<Vec<Owner>> = const { RefCell::new(Vec::new()) };
}

extern "C" fn drop_after() {
    let gone = Device::current().and_then(|device| device.synchronize());
    // The driver decides when it shuts down.
    if std::env::var("CUDA_RUNNER").as_deref() == Ok("emulator") {
        assert_eq!(gone.unwrap_err().name(), "cudaErrorCudartUnloading");
    }
    drop(std::mem::take(&mut *AFTER.lock().unwrap()));
    // The last output: a process that panics or hangs before does not reach it.
    println!("dropped all of it");
}

extern "C" fn drop_before() {
    drop(std::mem::take(&mut *BEFORE.lock().unwrap()));
}

/// Exit functions run in the reverse order of these calls.
fn at_exit(f: extern "C" fn()) {
    // SAFETY: the function lives as long as the program.
    assert_eq!(unsafe { libc::atexit(f) }, 0);
}

fn end_with_everything_alive() -> Result<()> {
    // SAFETY: sets a timer whose signal ends a process that hangs.
    unsafe { libc::alarm(60) };
    // Before the first call of the runtime, which registers an exit function as well.
    at_exit(drop_after);
    let stream = Stream::non_blocking()?;
    *AFTER.lock().unwrap() = everything(&stream, || ());
    *BEFORE.lock().unwrap() = everything(&stream, || ());
    *NEVER.lock().unwrap() = everything(&stream, || ());
    FIRST.set(everything(&stream, || ()));
    at_exit(drop_before);
    std::process::exit(47)
}

#[test]
fn what_is_dropped_at_the_end_of_the_process_is_dropped_in_silence() -> Result<()> {
    let _alone = alone();
    if std::env::var_os(CHILD).is_some() {
        return end_with_everything_alive();
    }
    let child = again(this_test!()).arg("--nocapture").env(CHILD, "1").output().unwrap();
    let (printed, told) =
        (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr).into_owned());
    assert_eq!(child.status.code(), Some(47), "{}: {printed}{told}", child.status);
    assert!(printed.ends_with("dropped all of it\n"), "{printed}{told}");
    // The emulator tells what it has not checked.
    let told: Vec<_> =
        told.lines().filter(|line| !line.starts_with("CUDA emulator: not checked: ")).collect();
    assert!(told.is_empty(), "{told:?}");
    Ok(())
}
