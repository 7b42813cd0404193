//! The exported C functions, one file an area. A function checks its arguments, works on the machine, and
//! returns a code, which also becomes the calling thread's last error.
//!
//! Functions are written inside `api!`. It exports them under their C name and, if a function has a variant
//! for the per-thread default stream, under the second name after `|`. Functions of `exports.txt`, and newer
//! ones of `cuda-safe/ledger/functions.tsv`, that no file here defines return `cudaErrorNotSupported`: the
//! build script finds them by the names after `fn` and `|`. The word before `fn` is what captures in progress
//! make of the call, whatever its arguments are: `allowed`; `waits`, which they may forbid, because it may
//! wait for their work; or `conflicts`, which uses every stream of the device, and ends each capture there.
//! No function is without such a word.
//!
//! A pointer through which a program receives a value is an [`Out`], and `None` if it is null. Everything
//! else stays a raw pointer.

mod array;
mod array_limits;
mod atomic;
mod attribute;
mod batch;
mod capture;
mod conditional;
mod device;
mod entry_point;
mod error;
mod event;
mod execution;
mod external;
mod function;
mod graph;
mod graph_exec;
mod graph_memory;
mod graph_node;
mod graph_params;
mod graphics;
mod host;
mod kernel;
mod library;
mod logs;
mod malloc;
mod managed;
mod managed_batch;
mod mem_pool;
mod memcpy;
mod memcpy_array;
mod memset;
mod notification;
mod peer;
mod pinned;
mod pool;
mod register;
mod share;
mod stream;
mod stubs;
mod symbol;
mod tensor_map;
mod texture;
mod transfer;

pub(crate) use stubs::STUBS;

use core::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::calls;
use crate::error::{Answer, remember};
use crate::finding::{Finding, Subject};
use crate::graph::capture::{self as captures, Rule};
use crate::leaks;
use crate::machine::{self, Guard, Machine};
use crate::race::fault;
use crate::stream::{StreamId, local};
use crate::sys::*;
use crate::thread;

/// The place for a value that a program wants written; `None` if the pointer is null.
pub(crate) type Out<'a, T> = Option<&'a mut MaybeUninit<T>>;

/// Writes a value. Fails if the program gave no place for it.
pub(crate) fn put<T>(out: Out<'_, T>, value: T) -> Answer {
    out.ok_or(cudaErrorInvalidValue)?.write(value);
    Ok(())
}

/// One call of an exported function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    /// The name under which the program called it.
    pub(crate) name: &'static str,
    /// Whether the null stream means the calling thread's own.
    pub(crate) per_thread: bool,
}

/// Fails if the context of a device has.
pub(crate) fn alive(machine: &Machine, device: usize) -> Answer {
    machine.devices.get(device).and_then(|device| device.fault).map_or(Ok(()), Err)
}

/// Notes that the calling thread uses the context of a device, which is made if there is none.
fn used(mut machine: Guard, device: usize) -> (Guard, usize) {
    thread::use_device();
    if let Some(device) = machine.devices.get_mut(device) {
        device.ended = false;
    }
    (machine, device)
}

impl Call {
    /// Locks the machine for a call that needs no context.
    pub(crate) fn machine(&self) -> Answer<Guard> {
        if thread::in_callback() {
            let what = format!("{} is called in a host function, which may not call CUDA", self.name);
            let advice = "Have the host function tell a thread of the program to make the call.";
            Finding::new(Subject::HostFunction, what, advice).here(self.name).report();
            return Err(cudaErrorNotPermitted);
        }
        machine::lock()
    }

    /// Locks the machine for a call about the current device. Returns the fault of its context as well.
    pub(crate) fn current(&self) -> Answer<(Guard, usize, Answer)> {
        let (machine, device) = (self.machine()?, thread::device());
        if machine.devices.is_empty() {
            return Err(cudaErrorNoDevice);
        }
        let fault = machine.devices.get(device).ok_or(cudaErrorInvalidDevice)?.fault;
        Ok((machine, device, fault.map_or(Ok(()), Err)))
    }

    /// Does the same for a call in that context, which must not have failed. The context is made if there is
    /// none, and the thread uses it from now on.
    pub(crate) fn context(&self) -> Answer<(Guard, usize)> {
        let (machine, device, fault) = self.current()?;
        fault.map(|()| used(machine, device))
    }

    /// Does what [`Call::context`] does for a call that a fault does not stop, such as those about graphs.
    pub(crate) fn any_context(&self) -> Answer<(Guard, usize)> {
        let (machine, device, _) = self.current()?;
        Ok(used(machine, device))
    }

    /// Does what [`Call::context`] does for a call that captures in progress may forbid once its arguments
    /// are found right.
    pub(crate) fn waiting(&self) -> Answer<(Guard, usize)> {
        let (mut machine, device) = self.context()?;
        captures::permits_waiting(&mut machine)?;
        Ok((machine, device))
    }

    /// Checks that the context of the current device has not failed.
    pub(crate) fn check(&self) -> Answer {
        self.context().map(drop)
    }

    /// Does what [`Call::context`] does, and resolves a stream handle.
    pub(crate) fn stream(&self, stream: cudaStream_t) -> Answer<(Guard, usize, StreamId)> {
        let (mut machine, device) = self.context()?;
        let key = machine.streams.resolve(stream, device, self.per_thread)?;
        Ok((machine, device, key))
    }
}

/// Runs the body of an exported function and turns its result into a C error code.
pub(crate) fn enter(call: Call, rule: Rule, body: impl FnOnce(&Call) -> Answer) -> cudaError_t {
    let mut body = Some(body);
    enter_with(call, rule, &mut |call| body.take().map_or(Ok(()), |body| body(call)))
}

/// The part of [`enter`] that is compiled once, not for each function.
fn enter_with(call: Call, rule: Rule, body: &mut dyn FnMut(&Call) -> Answer) -> cudaError_t {
    /// What a call needs of a stack, and the size of another one for a thread with less.
    const NEEDED: usize = 256 << 10;
    const OWN: usize = 2 << 20;
    let name = call.name;
    let outer = thread::set_in_call(true);
    let run = || {
        calls::note(name);
        if leaks::gone() {
            return Err(cudaErrorCudartUnloading);
        }
        if !outer {
            local::look(name);
        }
        if captures::any() {
            captures::permits(rule)?;
        }
        body(&call)
    };
    let answer = catch_unwind(AssertUnwindSafe(|| crate::stack::maybe_grow(NEEDED, OWN, run)));
    let code = match answer {
        Ok(Ok(())) => cudaSuccess,
        Ok(Err(code)) => code,
        Err(_) => {
            eprintln!("CUDA emulator: {name} panicked: a defect of the emulator");
            cudaErrorUnknown
        }
    };
    remember(code);
    if code != cudaSuccess && code != cudaErrorNotReady {
        crate::log::note(name, code);
    }
    thread::set_in_call(outer);
    code
}

/// Ends the process as CUDA does where it follows a pointer without a check.
#[expect(unsafe_code, reason = "sends a signal to the process itself")]
pub(crate) fn follows(call: &Call, what: &str) -> ! {
    Finding::pointer(call.name, &format!("{what}. CUDA does not check it, and ends the process here"))
        .report();
    // The handler would take the signal for an access by the program.
    fault::leave_to_system(libc::SIGSEGV);
    // SAFETY: takes a number.
    unsafe { libc::raise(libc::SIGSEGV) };
    std::process::abort()
}

/// The same, where the pointer is null.
pub(crate) fn follows_null(call: &Call, what: &str) -> ! {
    follows(call, &format!("{what} is null"))
}

/// A device ordinal from a program, if there is such a device.
pub(crate) fn ordinal(machine: &Machine, device: i32) -> Answer<usize> {
    let found = usize::try_from(device).ok().filter(|device| *device < machine.devices.len());
    found.ok_or(cudaErrorInvalidDevice)
}

/// Bytes or counts from a program.
pub(crate) fn wide(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}

/// An address for a program.
pub(crate) fn pointer(address: u64) -> *mut core::ffi::c_void {
    core::ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or(0))
}

/// An address from a program.
pub(crate) fn address(pointer: *const core::ffi::c_void) -> u64 {
    wide(pointer.expose_provenance())
}

/// Exports functions under their C names. The body gets the [`Call`] and returns an [`Answer`].
macro_rules! api {
    () => {};
    ($(#[$meta:meta])* $rule:ident fn $name:ident ($call:ident $(, $arg:ident : $ty:ty)* $(,)?) $body:block $($rest:tt)*) => {
        const _: () = {
            #[allow(clippy::too_many_arguments, reason = "the arguments are C's")]
            fn body($call: &$crate::api::Call $(, $arg: $ty)*) -> $crate::error::Answer $body
            $crate::api::export! { $(#[$meta])* $rule $name false body ($($arg: $ty),*) }
        };
        $crate::api::api! { $($rest)* }
    };
    ($(#[$meta:meta])* $rule:ident fn $name:ident | $own:ident ($call:ident $(, $arg:ident : $ty:ty)* $(,)?) $body:block
     $($rest:tt)*) => {
        const _: () = {
            #[allow(clippy::too_many_arguments, reason = "the arguments are C's")]
            fn body($call: &$crate::api::Call $(, $arg: $ty)*) -> $crate::error::Answer $body
            $crate::api::export! { $(#[$meta])* $rule $name false body ($($arg: $ty),*) }
            $crate::api::export! {
                /// The same with the calling thread's own default stream.
                $rule $own true body ($($arg: $ty),*)
            }
        };
        $crate::api::api! { $($rest)* }
    };
}
pub(crate) use api;

/// Exports one name of a function.
macro_rules! export {
    ($(#[$meta:meta])* $rule:ident $name:ident $per_thread:literal $body:ident ($($arg:ident : $ty:ty),*)) => {
        $(#[$meta])*
        #[unsafe(no_mangle)]
        extern "C" fn $name($($arg: $ty),*) -> $crate::sys::cudaError_t {
            let called = $crate::api::Call { name: stringify!($name), per_thread: $per_thread };
            $crate::api::enter(called, $crate::api::rule!($rule), |call| $body(call $(, $arg)*))
        }
    };
}
pub(crate) use export;

/// The rule that the word of a function stands for.
macro_rules! rule {
    (allowed) => {
        $crate::graph::capture::Rule::Allowed
    };
    (waits) => {
        $crate::graph::capture::Rule::Waits
    };
    (conflicts) => {
        $crate::graph::capture::Rule::Conflicts
    };
}
pub(crate) use rule;
