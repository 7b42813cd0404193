//! Host functions of graphs, and their ownership.
//!
//! Each function is in a box that a user object of the runtime owns. The graph receives the object's one
//! reference. Clones, executable forms and running launches have references of their own. The runtime
//! counts them and drops the box with the last one. After an error that makes the context unusable this may
//! never happen; the box is then leaked.
//!
//! The runtime counts no references to a function that an executable graph receives later. This module
//! retains such a function like memory: launches record an access to it, and it is dropped when they are
//! known to be complete. If an executable graph takes over functions from another graph, a reference to
//! each user object is retained in the same manner.
#![expect(unsafe_code, reason = "gives the runtime functions to call, and takes the box back from it")]

use std::ffi::c_void;
use std::panic::Location;
use std::sync::{Mutex, PoisonError};

use super::handle::{GraphHandle, Raw};
use crate::device::Device;
use crate::error::{AtCaller as _, Detail, Error, Result};
use crate::hazard::{Access, AccessHistory, Mode, RetainedAccesses};
use crate::memory::{retain, retainable, retained};
use crate::{check, process, stream, sys};

/// The data that the runtime passes to the function.
struct Boxed {
    f: Box<dyn Fn() + Send + Sync>,
    device: i32,
    call_site: &'static Location<'static>,
}

/// A function that no graph owns yet.
#[derive(Debug)]
pub(super) struct HostFunction {
    object: GraphHandle,
    raw: sys::cudaUserObject_t,
    data: *mut c_void,
}

impl HostFunction {
    /// Moves a function into a box that a user object owns.
    #[track_caller]
    pub(super) fn new(device: Device, f: impl Fn() + Send + Sync + 'static) -> Result<Self> {
        let boxed = Boxed { f: Box::new(f), device: device.as_raw(), call_site: Location::caller() };
        let data: *mut c_void = Box::into_raw(Box::new(boxed)).cast();
        let mut raw = std::ptr::null_mut();
        // The runtime calls `end` on one of its own threads after the last reference is released.
        let flags = sys::cudaUserObjectNoDestructorSync.0;
        // SAFETY: the pointer is to a live variable, which the call fills. The address is that of a box,
        // which only `end` frees, once.
        let made = unsafe { check!(cudaUserObjectCreate(&raw mut raw, data, Some(end), 1, flags)) };
        if let Err(error) = made {
            // SAFETY: the box was made above, and the runtime did not take it.
            drop(unsafe { Box::from_raw(data.cast::<Boxed>()) });
            return Err(error);
        }
        Ok(Self { object: GraphHandle::new(Raw::Object(raw)), raw, data })
    }

    /// Returns the function pointer and the data for a node.
    pub(super) fn parts(&self) -> (sys::cudaHostFn_t, *mut c_void) {
        (Some(call), self.data)
    }

    /// Transfers the function to a graph whose nodes call it. Returns the user object.
    #[track_caller]
    pub(super) fn give_to(mut self, graph: sys::cudaGraph_t) -> Result<sys::cudaUserObject_t> {
        let flags = sys::cudaGraphUserObjectMove.0;
        // SAFETY: the graph is live, and the one reference that moves belongs to this value.
        unsafe { check!(cudaGraphRetainUserObject(graph, self.raw, 1, flags)) }?;
        self.object.give_up();
        Ok(self.raw)
    }
}

/// The function that nodes call.
unsafe extern "C" fn call(data: *mut c_void) {
    // SAFETY: the address is that of a box. It is live while any graph, executable form or launch refers to
    // it, and it is never modified.
    let boxed = unsafe { &*data.cast_const().cast::<Boxed>() };
    stream::guarded(|| (boxed.f)(), None, boxed.device, boxed.call_site);
}

/// The function that the runtime calls when the function has no user any more.
unsafe extern "C" fn end(data: *mut c_void) {
    // SAFETY: the address is that of the box, which has no reader any more. This is called once per box.
    let boxed = unsafe { Box::from_raw(data.cast::<Boxed>()) };
    let (device, call_site) = (boxed.device, boxed.call_site);
    stream::guarded(|| drop(boxed), None, device, call_site);
}

/// Functions that an executable graph received or took over.
enum Functions {
    /// A function for one node.
    Boxed(*const Boxed),
    /// References to the functions of another graph. They are only ever dropped.
    Objects(Vec<GraphHandle>),
}

impl Functions {
    /// Drops the function or the references.
    fn end(self) {
        match self {
            // SAFETY: the address is that of a box that has no reader any more. Each value of this type is
            // ended once.
            Self::Boxed(boxed) => unsafe { end(boxed.cast_mut().cast()) },
            Self::Objects(objects) => drop(objects),
        }
    }
}

/// Functions of an executable graph with an access history of their own.
struct GivenFunctions {
    history: AccessHistory,
    functions: Option<Functions>,
    /// The process that made it. A forked child that inherits it does not touch it.
    process: u32,
}

// SAFETY: the box is only read while its function may be called. Any thread may call the function, and any
// one thread may drop it.
unsafe impl Send for GivenFunctions {}
// SAFETY: the box is only read while its function may be called. Any thread may call the function, and any
// one thread may drop it. References to objects are not accessed while they are shared.
unsafe impl Sync for GivenFunctions {}

retainable!(GivenFunctions, history);

impl Drop for GivenFunctions {
    /// Drops the function after the last launch that may call it, or together with a later function. Does
    /// not wait for launches.
    fn drop(&mut self) {
        // In a forked child another thread of the parent may have locked the list, and it stays locked.
        if !process::is(self.process) {
            return;
        }
        let mut history = std::mem::replace(&mut self.history, AccessHistory::new(0));
        // No owner is left that could be cloned.
        history.clear_retain_fn();
        drop_functions(self.functions.take().map(|functions| Retired { history, functions }));
    }
}

/// Functions that no executable graph refers to any more, but running launches may still call.
struct Retired {
    history: AccessHistory,
    functions: Functions,
}

// SAFETY: as for `GivenFunctions`.
unsafe impl Send for Retired {}

/// Returns whether all launches that call the function are known to be complete.
impl Retired {
    fn is_done(&self) -> bool {
        stream::is_quiet(&self.history, 0..1, Mode::Write)
    }
}

/// Functions whose last launch was not known to be complete when they were dropped.
static RETIRED: Mutex<Vec<Retired>> = Mutex::new(Vec::new());

/// Drops the functions that no launch calls any more. Adds `one` to the list first.
fn drop_functions(one: Option<Retired>) {
    let over: Vec<Retired> = {
        let mut retired = RETIRED.lock().unwrap_or_else(PoisonError::into_inner);
        retired.extend(one);
        retired.extract_if(.., |it| it.is_done()).collect()
    };
    // Not under the lock: a function may own another such graph.
    for Retired { functions, .. } in over {
        functions.end();
    }
}

/// Makes a host function for a node of an executable graph. Returns the node's parameters, and the accesses
/// of a launch that calls the function.
#[track_caller]
pub(super) fn given(
    api: &'static str,
    device: Device,
    f: impl Fn() + Send + Sync + 'static,
) -> Result<(sys::cudaHostNodeParams, RetainedAccesses)> {
    drop_functions(None);
    let boxed = Boxed { f: Box::new(f), device: device.as_raw(), call_site: Location::caller() };
    let boxed = Box::into_raw(Box::new(boxed));
    let parameters = sys::cudaHostNodeParams { fn_: Some(call), userData: boxed.cast() };
    Ok((parameters, uses(api, Functions::Boxed(boxed))?))
}

/// Retains the host functions of another graph, which owns them by these objects. Returns the accesses of a
/// launch that calls them.
#[track_caller]
pub(super) fn taken(api: &'static str, objects: &[sys::cudaUserObject_t]) -> Result<RetainedAccesses> {
    if objects.is_empty() {
        return Ok(RetainedAccesses::default());
    }
    drop_functions(None);
    let retain = |raw: &sys::cudaUserObject_t| {
        // SAFETY: the object is live, because a live graph has a reference to it.
        unsafe { check!(cudaUserObjectRetain(*raw, 1)) }.map(|()| GraphHandle::new(Raw::Object(*raw)))
    };
    let objects = objects.iter().map(retain).collect::<Result<_>>().at_caller()?;
    uses(api, Functions::Objects(objects))
}

/// Returns the accesses of a launch that calls these functions.
#[track_caller]
fn uses(api: &'static str, functions: Functions) -> Result<RetainedAccesses> {
    let given = GivenFunctions {
        history: AccessHistory::new(1),
        functions: Some(functions),
        process: process::number(),
    };
    let owner = retained(given);
    let (mut uses, access) = (RetainedAccesses::default(), Access::read(&owner.history, 0..1));
    if uses.add(&access, || retain(&access)) {
        Ok(uses)
    } else {
        Err(Error::refused(api, Detail::NOT_RETAINED))
    }
}
