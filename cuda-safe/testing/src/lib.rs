//! What the tests of several packages share: the gates with which they hold streams, so that an order is
//! proven instead of timed, and processes of their own.
#![allow(
    clippy::unwrap_used,
    clippy::missing_errors_doc,
    clippy::len_without_is_empty,
    missing_docs,
    missing_debug_implementations,
    reason = "test support"
)]

pub mod child;
pub mod everything;
pub mod images;
pub mod matrix;
pub mod schedules;

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use cuda_safe::stream::AsStream;

/// Calls that must fail, and are to name this file. Counts them, and adds those that do otherwise to a list.
#[macro_export]
macro_rules! refused {
    ($wrong:ident, $tried:ident: $($call:expr;)*) => { $(
        $tried += 1;
        match $call.map(drop).map_err(::cuda_safe::Error::from) {
            Err(error) if error.call_site().file() == file!() => {}
            answer => $wrong.push(format!("{}: {answer:?}", stringify!($call))),
        }
    )* };
}

/// Returns whether `ci/test --all` runs: then tests of random inputs make more of them.
#[must_use]
pub fn all() -> bool {
    std::env::var_os("CUDA_TEST_ALL").is_some()
}

/// One test at a time in a process. This is the first value of every test of a program with gates, so that
/// it is dropped last.
///
/// `cudaFree`, `cudaMalloc`, the creation of streams and graphs, and the loading of kernels may wait for
/// the whole device, and block every other call of the process meanwhile. If one test does this while
/// another one holds a gate, the owner of the gate waits for a lock of the driver and never opens the gate.
/// A gate is therefore made from this value, and retains it. `tests/ledger/sources.rs` checks that every
/// other test of the program begins with one.
#[derive(Clone)]
pub struct Alone(#[expect(dead_code, reason = "held until it is dropped")] Arc<Held>);

struct Held;

/// The thread of the test that runs alone.
static OWNER: Mutex<Option<ThreadId>> = Mutex::new(None);
static GONE: Condvar = Condvar::new();

fn owner() -> MutexGuard<'static, Option<ThreadId>> {
    OWNER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until no other test of the process runs.
pub fn alone() -> Alone {
    let me = thread::current().id();
    assert_ne!(*owner(), Some(me), "this test runs alone already");
    let taken = GONE.wait_while(owner(), |owner| owner.is_some());
    *taken.unwrap_or_else(PoisonError::into_inner) = Some(me);
    Alone(Arc::new(Held))
}

impl Drop for Held {
    fn drop(&mut self) {
        *owner() = None;
        GONE.notify_one();
    }
}

/// Holds a stream until it is opened or dropped, however the test ends.
pub struct Gate {
    open: Sender<()>,
    // The test ends only when the gate is open, also if another thread opens it.
    _alone: Alone,
}

impl Gate {
    /// Puts a gate on a stream: work that is submitted later does not run before the gate is open.
    pub fn on(alone: &Alone, stream: &impl AsStream) -> Self {
        let (open, opened) = channel::<()>();
        stream
            .as_stream()
            .launch_host_fn(move || {
                // An error means that the gate was dropped, which opens it too.
                let _ = opened.recv();
            })
            .unwrap();
        Self { open, _alone: alone.clone() }
    }

    /// Opens the gate.
    pub fn open(self) {
        self.open.send(()).unwrap();
    }
}

/// An operation that accesses no memory, for `enqueue`.
#[allow(unsafe_code, clippy::not_unsafe_ptr_arg_deref, reason = "calls the runtime with `enqueue`'s stream")]
pub fn put_nothing(raw: cuda_safe::sys::cudaStream_t) -> cuda_safe::Result<()> {
    extern "C" fn nothing(_: *mut std::ffi::c_void) {}
    // SAFETY: `enqueue` passes a live stream, and the function accepts any pointer.
    unsafe { cuda_safe::check!(cudaLaunchHostFunc(raw, Some(nothing), std::ptr::null_mut())) }
}

/// Checks that an error is the hazard of two operations at these lines of the caller's file.
#[track_caller]
pub fn assert_unordered(error: &cuda_safe::Error, first: u32, second: u32) {
    let file = std::panic::Location::caller().file();
    let text = error.detail().as_str();
    assert_eq!(error.detail().kind(), cuda_safe::error::ErrorKind::Hazard, "{text}");
    assert!(text.starts_with(&format!("nothing orders the operation at {file}:{second}:")), "{text}");
    assert!(text.contains(&format!(" after the conflicting one at {file}:{first}:")), "{text}");
    assert!(error.to_string().contains(text), "{error}");
}

/// Returns the detail of a node that would conflict with this one.
pub fn nodes_unordered(other: usize) -> String {
    format!(
        "the node would use memory that node {other} of the graph (0 is the first) uses, one of them writes \
         it, and nothing orders the two: name one as what the other comes after when it is added, or by \
         Graph::add_dependencies"
    )
}
