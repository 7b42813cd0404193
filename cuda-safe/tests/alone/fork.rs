//! A child process does not free what it inherits.
//!
//! Alone: it forks, and sets a variable before the first call.
#![expect(unsafe_code, reason = "forks, and ends the child without the parent's exit handlers")]

use std::future::Future as _;
use std::io::{Write as _, stderr};
use std::mem::ManuallyDrop;
use std::task::{Context, Poll, Waker};

use super::every_function::{FILE, Things, call_every_function};

use cuda_safe::graph::node;
use cuda_safe::{
    Device, DeviceBuffer, Graph, MappedFlag, PinnedBuffer, Result, Stream, memcpy, memset_async,
};
use cuda_testing::{Gate, alone, own_process};

/// A value that the child must not drop either, because the parent may have it.
struct Parents;

impl Drop for Parents {
    fn drop(&mut self) {
        // SAFETY: ends the process at once, in a child that must not reach this point.
        unsafe { libc::_exit(3) };
    }
}

/// All values except memory that call the runtime when they are dropped.
fn others() -> Result<Vec<Box<dyn std::any::Any>>> {
    let mut others: Vec<Box<dyn std::any::Any>> = Vec::new();
    let mut graph = Graph::new()?;
    let node = graph.add(&[], node::host_fn(|| ()))?;
    let mut exec = graph.instantiate()?;
    let parents = Parents;
    exec.set(&graph, node, node::host_fn(move || _ = &parents))?;
    others.push(Box::new(exec));
    others.push(Box::new(graph));
    // Not every driver sends notifications.
    if let Ok(notification) = Device::current()?.on_notification(|_| ()) {
        others.push(Box::new(notification));
    }
    #[cfg(cudart_12_8)]
    {
        let ptx = ".version 8.0\n.target sm_70\n.address_size 64\n\
                   .visible .global .u32 count;\n.visible .entry nothing() { ret; }";
        let library = cuda_safe::library::Library::from_ptx(ptx)?;
        // SAFETY: the kernel has no parameters and uses no memory.
        others.push(Box::new(unsafe { library.kernel::<()>("nothing") }?));
        others.push(Box::new(library));
        // A leak through the variable's buffer would hide whether a library without owners is unloaded.
        others.push(Box::new(cuda_safe::library::Library::from_ptx(ptx)?.global::<u32>("count")?));
    }
    #[cfg(cudart_13_0)]
    others.push(Box::new(cuda_safe::logs::on_message(|_, _| ())?));
    Ok(others)
}

#[test]
fn a_child_process_drops_what_it_inherited_without_a_call() {
    own_process!();
    let calls = std::env::temp_dir().join(format!("cuda-fork-calls-{}", std::process::id()));
    // SAFETY: no other thread runs in this process yet. A GPU's runtime does not know the variable.
    unsafe { std::env::set_var("CUDA_EMULATOR_CALLS", &calls) };
    let others = ManuallyDrop::new(others().unwrap());
    let device = ManuallyDrop::new(DeviceBuffer::from_slice(&[1_u32, 2, 3]).unwrap());
    let pinned = ManuallyDrop::new(PinnedBuffer::from_slice(&[4_u32, 5, 6]).unwrap());
    let flag = ManuallyDrop::new(MappedFlag::new().unwrap());
    let made = || std::fs::read_to_string(&calls).map_or(0, |calls| calls.lines().count());
    let before = made();
    // SAFETY: the child only drops the values below and exits. It takes no lock that another thread may
    // have held.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        // SAFETY: ends the child if a drop waits for the runtime, which a fork does not copy.
        unsafe { libc::alarm(20) };
        drop((
            ManuallyDrop::into_inner(device),
            ManuallyDrop::into_inner(pinned),
            ManuallyDrop::into_inner(flag),
            ManuallyDrop::into_inner(others),
        ));
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(0) };
    }
    let mut status = -1;
    // SAFETY: the pointer is to a live integer, which the call fills.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "the child did not come to its end");
    assert_eq!(made(), before, "the child called the runtime");
    let _ = std::fs::remove_file(&calls);
    // The parent's memory still belongs to the parent.
    assert_eq!(device.to_vec().unwrap(), [1, 2, 3]);
    assert_eq!(*pinned.host().unwrap(), [4, 5, 6]);
    assert_eq!(flag.load(), 0);
    drop((
        ManuallyDrop::into_inner(device),
        ManuallyDrop::into_inner(pinned),
        ManuallyDrop::into_inner(flag),
    ));
}

/// In the child of a fork each function returns an error with its caller's line. Nothing hangs or crashes.
#[test]
fn a_child_process_gets_an_error_from_every_function() {
    own_process!();
    let mut things = ManuallyDrop::new(Things::new().unwrap());
    let stream = ManuallyDrop::new(Stream::non_blocking().unwrap());
    let mut kept = DeviceBuffer::from_slice(&[7_u8; 64]).unwrap();
    let large = ManuallyDrop::new(DeviceBuffer::<u8>::alloc_zeroed(8 << 20).unwrap());
    memset_async(&mut kept, 8, &*stream).unwrap();
    // Work that is not complete at the fork: its future is not ready in the child, whatever the schedule.
    let held = ManuallyDrop::new(Stream::non_blocking().unwrap());
    let alone = alone();
    let gate = ManuallyDrop::new(Gate::on(&alone, &*held));
    let mut done = ManuallyDrop::new(Box::pin(held.done()));
    let mut within = [0_u8; 64];
    let child = stream.scope(|scope| {
        scope.memcpy_async(&mut within, &kept).unwrap();
        // SAFETY: no other thread of this process holds a lock of the C library.
        unsafe { libc::fork() }
    });
    // In the child the scope that the fork was in fails, and in the parent it ends.
    let child = child.unwrap_or(0);
    assert!(child >= 0);
    if child == 0 {
        // SAFETY: ends the child if a call hangs.
        unsafe { libc::alarm(20) };
        let mut wrong = 0;
        let tried = call_every_function(&mut things, |call, error| {
            if error.as_ref().is_some_and(|error| error.call_site().file() != FILE) {
                // Not by a macro, whose text is lost with the child.
                let _ = writeln!(stderr(), "in the child: {call}: {error:?}");
                wrong += 1;
            }
        });
        let staged = memcpy(&mut vec![0; 8 << 20], &*large).is_err();
        let scope = stream.scope(|scope| scope.memcpy_async(&mut kept, &[1; 64])).is_err();
        let mut context = Context::from_waker(Waker::noop());
        let polled = done.as_mut().poll(&mut context);
        if !staged || !scope || matches!(polled, Poll::Ready(Ok(()))) {
            let _ = writeln!(stderr(), "in the child: staged {staged}, scope {scope}, {polled:?}");
            wrong += 1;
        }
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(if wrong == 0 && tried > 150 { 0 } else { 4 }) };
    }
    let mut status = -1;
    // SAFETY: the pointer is to a live integer, which the call fills.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "the child did not come to its end, or a call succeeded: {status}");
    ManuallyDrop::into_inner(gate).open();
    assert_eq!((kept.to_vec().unwrap(), within), (vec![8; 64], [8; 64]));
    drop((ManuallyDrop::into_inner(done), ManuallyDrop::into_inner(held)));
    drop((ManuallyDrop::into_inner(stream), ManuallyDrop::into_inner(large)));
    drop(ManuallyDrop::into_inner(things));
}
