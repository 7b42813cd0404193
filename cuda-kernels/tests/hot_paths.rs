//! The cost of an operation beyond its call: each operation makes the CUDA calls that a C++ program
//! makes, and allocates nothing, except an owner's reference-counted block and the captures of a closure.
//!
//! An allocator of this program counts allocations. The emulator counts calls by writing them to a file.
//! On a GPU the test checks allocations only. It has its own binary with one test, because both counts
//! are the process's.
#![expect(unsafe_code, reason = "counts allocations, and launches kernels")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::PathBuf;
use std::process::Command;

use cuda_kernels::kernels::{add_one, vector_add};
use cuda_kernels::{CopyManyPlan, copy_many};
use cuda_safe::copy::{CopyBatch, CopyBatch3d};
use cuda_safe::{
    Device, DeviceBuffer, Event, PinnedBuffer, PitchedBuffer, Result, Stream, launch, memcpy, memcpy_async,
    memset, memset_async,
};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does all the work. This only adds a count for the calling thread.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The variable that names the emulator's file of calls.
const CALLS: &str = "CUDA_EMULATOR_CALLS";

/// Returns the calls in the file. Returns `None` if the emulator writes none.
fn calls() -> Option<Vec<String>> {
    let text = std::fs::read_to_string(std::env::var_os(CALLS)?).unwrap();
    Some(text.lines().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect())
}

/// Runs an operation until all pools are filled, and then once more: the last run must make these calls
/// and this number of allocations.
fn costs(what: &str, expected: &[&str], memory: usize, mut operation: impl FnMut() -> Result<()>) {
    for _ in 0..4 {
        operation().unwrap();
    }
    // With one device, the crate does not query the current device.
    let several = Device::count().unwrap() > 1;
    let expected: Vec<&str> =
        expected.iter().copied().filter(|call| several || *call != "cudaGetDevice").collect();
    let before = calls();
    let allocated = ALLOCATIONS.get();
    operation().unwrap();
    let allocated = ALLOCATIONS.get() - allocated;
    assert_eq!(allocated, memory, "{what}: asks for memory");
    if let (Some(before), Some(after)) = (before, calls()) {
        assert_eq!(after[before.len()..], expected, "{what}: calls");
    }
}

#[test]
fn an_operation_makes_the_calls_of_a_cpp_program_and_asks_for_no_memory() {
    let counted = std::env::var_os(CALLS).is_some();
    if !counted && std::env::var("CUDA_RUNNER").is_ok_and(|runner| runner == "emulator") {
        // The emulator reads its variables when it is loaded: this starts the program again with them
        // set.
        for devices in ["1", "2"] {
            let file: PathBuf = std::env::temp_dir().join(format!("cuda-calls-{}", std::process::id()));
            let mut program = Command::new(std::env::current_exe().unwrap());
            program.arg("--nocapture").env(CALLS, &file).env("CUDA_EMULATOR_DEVICES", devices);
            let child = program.status();
            let lines = std::fs::read_to_string(&file).unwrap_or_default().lines().count();
            let _ = std::fs::remove_file(&file);
            assert!(child.unwrap().success());
            assert!(lines > 200, "the emulator wrote down {lines} calls");
        }
        return;
    }
    if !counted {
        println!("calls are counted on the emulator only, memory here too");
    }
    operations().unwrap();
}

fn operations() -> Result<()> {
    let (stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let blocking = Stream::new()?;
    let event = Event::without_timing()?;
    let mut ints = DeviceBuffer::<i32>::alloc_zeroed(64)?;
    let (mut a, b) = (DeviceBuffer::<f32>::alloc_zeroed(64)?, DeviceBuffer::<f32>::alloc_zeroed(64)?);
    let mut c = DeviceBuffer::<f32>::alloc_zeroed(64)?;
    let mut pinned = PinnedBuffer::from_slice(&[0.0_f32; 64])?;
    let mut pageable = vec![0.0_f32; 64];
    // All work so far was on the legacy stream, and after this the program knows that it is complete.
    Device::current()?.synchronize()?;

    costs(
        "launch, one buffer",
        &["cudaLaunchKernel"],
        0,
        || launch!(add_one<<<1, 32, 0, &stream>>>(&mut ints, 0)),
    );
    costs(
        "launch, three buffers",
        &["cudaLaunchKernel"],
        0,
        || launch!(vector_add<<<1, 32, 0, &stream>>>(&a, &b, &mut c, 0)),
    );
    costs("launch without proof", &["cudaLaunchKernel"], 0, || {
        // SAFETY: with a count of zero the kernel touches nothing.
        unsafe { launch!(vector_add.unchecked()<<<1, 32, 0, &stream>>>(&a, &b, &mut c, 0)) }
    });
    stream.synchronize()?;
    costs("launch on a blocking stream", &["cudaLaunchKernel", "cudaStreamSynchronize"], 0, || {
        launch!(vector_add<<<1, 32, 0, &blocking>>>(&a, &b, &mut c, 0))?;
        blocking.synchronize()
    });
    costs("event record", &["cudaEventRecord"], 0, || event.record(&stream));
    costs("event query", &["cudaEventQuery"], 0, || event.is_done().map(drop));
    costs("event synchronise", &["cudaEventSynchronize"], 0, || event.synchronize());
    costs("wait for an event", &["cudaStreamWaitEvent"], 0, || other.wait(&event));
    costs("event create and destroy", &["cudaGetDevice"], 0, || Event::without_timing().map(drop));
    costs("stream synchronise", &["cudaStreamSynchronize"], 0, || stream.synchronize());
    costs("stream synchronise, having waited for others", &["cudaStreamSynchronize"], 0, || {
        other.synchronize()
    });
    costs("stream query", &["cudaStreamQuery"], 0, || stream.is_done().map(drop));
    // The queue of pending tasks retains capacity for the most tasks that were pending at once.
    for _ in 0..100 {
        stream.launch_host_fn(|| ())?;
    }
    stream.synchronize()?;
    costs("host function", &["cudaLaunchHostFunc"], 0, || stream.launch_host_fn(|| ()));
    let captured = 1_u64;
    costs("host function that captures", &["cudaLaunchHostFunc"], 1, || {
        stream.launch_host_fn(move || assert_eq!(captured, 1))
    });
    stream.synchronize()?;

    // One allocation: the owner's reference-counted block.
    let pool = ["cudaMallocAsync", "cudaFreeAsync"];
    costs("allocate and free on a stream", &pool, 1, || {
        DeviceBuffer::<f32>::alloc_async(64, &stream)?.free_async(&stream)
    });
    costs("allocate and free", &["cudaGetDevice", "cudaMalloc", "cudaFree"], 1, || {
        DeviceBuffer::<f32>::alloc(64)?.free()
    });
    costs("allocate and free, pinned", &["cudaGetDevice", "cudaHostAlloc", "cudaFreeHost"], 1, || {
        PinnedBuffer::<f32>::alloc(64)?.free()
    });

    costs("to the device, asynchronous", &["cudaMemcpyAsync"], 0, || memcpy_async(&mut a, &pinned, &stream));
    costs("from the device, asynchronous", &["cudaMemcpyAsync"], 0, || {
        memcpy_async(&mut pinned, &a, &stream)
    });
    costs("within the device, asynchronous", &["cudaMemcpyAsync"], 0, || memcpy_async(&mut c, &a, &stream));
    costs("fill, asynchronous", &["cudaMemsetAsync"], 0, || memset_async(&mut a, 0, &stream));
    costs("parts of a buffer", &["cudaMemcpyAsync", "cudaMemcpyAsync"], 0, || {
        memcpy_async(&mut a.slice_mut(0..32)?, &b.slice(0..32)?, &stream)?;
        memcpy_async(&mut a.slice_mut(32..64)?, &b.slice(32..64)?, &stream)
    });
    stream.synchronize()?;

    // The allocations are the list of the pairs and the list of their accesses.
    let mut fresh = DeviceBuffer::<f32>::alloc(64)?;
    let (mut into, from) = (fresh.slice_mut(..)?.chunks_mut(8)?.step_by(2).collect::<Vec<_>>(), b.slice(..)?);
    let plan = CopyManyPlan::new(into.iter_mut().zip(from.chunks(8)?))?;
    costs("many copies by one kernel, planned", &["cudaLaunchKernel"], 2, || {
        plan.enqueue(into.iter_mut().zip(from.chunks(8)?), &stream)
    });
    // Without a plan, each call makes its own list of ranges, table, and list for the overlap check.
    costs("many copies by one kernel", &["cudaLaunchKernel"], 6, || {
        copy_many(into.iter_mut().zip(from.chunks(8)?), &stream)
    });
    stream.synchronize()?;

    let halves: Vec<_> = pinned.slice(..)?.chunks(32)?.collect();
    let mut to: Vec<_> = c.slice_mut(..)?.chunks_mut(32)?.collect();
    let batch: CopyBatch<'_> = to.iter_mut().zip(&halves).collect();
    let calls = ["cudaGetDevice", "cudaMemcpyBatchAsync"];
    costs("a batch", &calls, 0, || batch.enqueue(&stream));
    // Host to device, the first call takes four copies and the others at most 32 each. Device to host,
    // there are separate calls.
    let (single, mut wide) =
        (pinned.slice(..)?.chunks(1)?.collect::<Vec<_>>(), DeviceBuffer::<f32>::alloc(64)?);
    let mut to: Vec<_> = wide.slice_mut(..)?.chunks_mut(1)?.collect();
    let mut low = PinnedBuffer::<f32>::alloc(64)?;
    let mut back: Vec<_> = low.slice_mut(..)?.chunks_mut(32)?.collect();
    let mut batch: CopyBatch<'_> = to.iter_mut().zip(&single).collect();
    let parts: Vec<_> = b.slice(..)?.chunks(32)?.collect();
    batch.extend(back.iter_mut().zip(&parts));
    let calls = [["cudaGetDevice"].as_slice(), &["cudaMemcpyBatchAsync"; 4]].concat();
    batch.enqueue(&stream)?;
    costs("a batch of 64 up and 2 down", &calls, 0, || batch.enqueue(&stream));
    drop(batch);
    let plane = pinned.plane(8, 8)?;
    let (mut one, mut two) = (PitchedBuffer::<f32>::alloc(8, 8)?, PitchedBuffer::<f32>::alloc(8, 8)?);
    let batch = CopyBatch3d::new().copy_2d(&mut one, &plane).copy_2d(&mut two, &plane);
    let calls = ["cudaGetDevice", "cudaMemcpy3DBatchAsync"];
    costs("a batch of planes", &calls, 0, || batch.enqueue(&stream));
    stream.synchronize()?;

    // The legacy stream's handle means another stream on another device, so with several devices the call
    // queries the current device.
    costs("to the device, blocking", &["cudaGetDevice", "cudaMemcpy"], 0, || memcpy(&mut a, &pageable));
    costs("from the device, blocking", &["cudaGetDevice", "cudaMemcpy"], 0, || memcpy(&mut pageable, &a));
    costs("fill, blocking", &["cudaGetDevice", "cudaMemset"], 0, || memset(&mut a, 0));
    Device::current()?.synchronize()?;

    // A hand-over from stream to stream, in a program that orders its own work: the crate adds no calls.
    let hand_over = ["cudaMemsetAsync", "cudaEventRecord", "cudaStreamWaitEvent", "cudaMemcpyAsync"];
    let back = ["cudaEventRecord", "cudaStreamWaitEvent"];
    let both: Vec<&str> = hand_over.into_iter().chain(back).collect();
    let second = Event::without_timing()?;
    costs("from stream to stream and back", &both, 0, || {
        memset_async(&mut a, 1, &stream)?;
        event.record(&stream)?;
        other.wait(&event)?;
        memcpy_async(&mut c, &a, &other)?;
        second.record(&other)?;
        stream.wait(&second)
    });
    Ok(())
}
