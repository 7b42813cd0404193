//! Host functions in graphs, which own them.
//!
//! A function waits in a box that a user object of the runtime's stands for. The graph is given the object's one reference;
//! clones, executable forms and launches under way hold references of their own, all counted by the runtime, which drops the box
//! with the last of them. After a lost context that may never be: then the box is leaked.
//!
//! A function that an executable graph is given later, the runtime counts no references to. It is kept like memory: launches enter an
//! access of it in the books, and it is dropped when they are known to be over. Of functions that it takes over from another graph, a
//! reference to each object is kept in the same way.
#![expect(unsafe_code, reason = "gives the runtime functions to call, and takes the box back from it")]

use std::ffi::c_void;
use std::panic::Location;
use std::sync::{Mutex, PoisonError};

use super::handle::{Handle, Raw};
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::hazard::books::Keeper;
use crate::hazard::{Access, Ledger, Mode, Uses};
use crate::memory::{Retained, retain, retained};
use crate::{check, process, stream, sys};

/// What the runtime is given the address of.
struct Boxed {
    f: Box<dyn Fn() + Send + Sync>,
    device: i32,
    place: &'static Location<'static>,
}

/// A function that no graph owns yet.
#[derive(Debug)]
pub(super) struct HostFunction {
    object: Handle,
    raw: sys::cudaUserObject_t,
    data: *mut c_void,
}

impl HostFunction {
    /// Puts a function into a box of the runtime's.
    #[track_caller]
    pub(super) fn new(device: Device, f: impl Fn() + Send + Sync + 'static) -> Result<Self> {
        let boxed = Boxed { f: Box::new(f), device: device.ordinal(), place: Location::caller() };
        let data: *mut c_void = Box::into_raw(Box::new(boxed)).cast();
        let mut raw = std::ptr::null_mut();
        // The runtime calls this when there is no reference any more, on a thread of its own.
        let flags = sys::cudaUserObjectNoDestructorSync.0;
        // SAFETY: the pointer is to a live variable, which the call fills; the address is that of a box, which only the
        // function frees, once.
        let made = unsafe { check!(cudaUserObjectCreate(&raw mut raw, data, Some(end), 1, flags)) };
        if let Err(error) = made {
            // SAFETY: the box was made above, and the runtime has not taken it.
            drop(unsafe { Box::from_raw(data.cast::<Boxed>()) });
            return Err(error);
        }
        Ok(Self { object: Handle::new(Raw::Object(raw)), raw, data })
    }

    /// What a node has to call, and with what.
    pub(super) fn parts(&self) -> (sys::cudaHostFn_t, *mut c_void) {
        (Some(call), self.data)
    }

    /// Gives the function to a graph whose nodes call it; what it is called there.
    #[track_caller]
    pub(super) fn give_to(self, graph: sys::cudaGraph_t) -> Result<sys::cudaUserObject_t> {
        let flags = sys::cudaGraphUserObjectMove.0;
        // SAFETY: the graph is live, and the one reference that is moved is this value's.
        unsafe { check!(cudaGraphRetainUserObject(graph, self.raw, 1, flags)) }?;
        self.object.give_up();
        Ok(self.raw)
    }
}

/// What nodes call.
unsafe extern "C" fn call(data: *mut c_void) {
    // SAFETY: the address is that of a box that lives while any graph, executable form or launch has it, and that is only
    // ever read.
    let boxed = unsafe { &*data.cast_const().cast::<Boxed>() };
    stream::guarded(|| (boxed.f)(), None, boxed.device, boxed.place);
}

/// What the runtime calls when nothing needs the function any more.
unsafe extern "C" fn end(data: *mut c_void) {
    // SAFETY: the address is that of the box, which nobody reads any more, and this is called once.
    let boxed = unsafe { Box::from_raw(data.cast::<Boxed>()) };
    let (device, place) = (boxed.device, boxed.place);
    stream::guarded(|| drop(boxed), None, device, place);
}

/// What an executable graph was given, or has taken over.
enum Functions {
    /// A function for one of its nodes.
    Boxed(*const Boxed),
    /// References to those of another graph, which are only ever dropped.
    Objects(Vec<Handle>),
}

impl Functions {
    /// Drops them, or the references to them.
    fn end(self) {
        match self {
            // SAFETY: the address is that of a box that nobody reads any more, and each value of this type is ended once.
            Self::Boxed(boxed) => unsafe { end(boxed.cast_mut().cast()) },
            Self::Objects(objects) => drop(objects),
        }
    }
}

/// Functions that an executable graph has, by books of their own.
struct Given {
    ledger: Ledger,
    functions: Option<Functions>,
    /// Which process it is of: a child that inherited it leaves it alone.
    process: u32,
}

// SAFETY: the box is only read while anybody may call what is in it, which may be called from any thread, and dropped by one.
unsafe impl Send for Given {}
// SAFETY: as above; references to objects are not reached while they are shared.
unsafe impl Sync for Given {}

impl Keeper for Given {
    fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

impl Retained for Given {
    fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }
}

impl Drop for Given {
    /// The function goes with the last launch that may call it, or with a later function: nobody waits for a launch here.
    fn drop(&mut self) {
        // In the child of a fork another thread may have had the list locked, for ever.
        if !process::is(self.process) {
            return;
        }
        let mut ledger = std::mem::replace(&mut self.ledger, Ledger::new(0));
        // There is no owner any more that another one could be made of.
        ledger.kept_by(None);
        drop_functions(self.functions.take().map(|functions| Retired { ledger, functions }));
    }
}

/// Functions that no executable graph has any more, which launches under way may still call.
struct Retired {
    ledger: Ledger,
    functions: Functions,
}

// SAFETY: as for `Given`.
unsafe impl Send for Retired {}

impl Retired {
    /// Whether all launches that call the function are known to be over.
    fn is_done(&self) -> bool {
        stream::is_quiet(&self.ledger, 0..1, Mode::Write)
    }
}

/// Functions whose last launch was not known to be over when they went.
static RETIRED: Mutex<Vec<Retired>> = Mutex::new(Vec::new());

/// Drops the functions that nobody calls any more, this one among them if that is so.
fn drop_functions(one: Option<Retired>) {
    let over: Vec<Retired> = {
        let mut retired = RETIRED.lock().unwrap_or_else(PoisonError::into_inner);
        retired.extend(one);
        retired.extract_if(.., |it| it.is_done()).collect()
    };
    // Not under the lock: what a function owns may be such a graph.
    for Retired { functions, .. } in over {
        functions.end();
    }
}

/// A function for a node of an executable graph: what the node has to call and with what, and what a launch uses then.
#[track_caller]
pub(super) fn given(
    api: &'static str,
    device: Device,
    f: impl Fn() + Send + Sync + 'static,
) -> Result<(sys::cudaHostNodeParams, Uses)> {
    drop_functions(None);
    let boxed = Boxed { f: Box::new(f), device: device.ordinal(), place: Location::caller() };
    let boxed = Box::into_raw(Box::new(boxed));
    let parameters = sys::cudaHostNodeParams { fn_: Some(call), userData: boxed.cast() };
    Ok((parameters, uses(api, Functions::Boxed(boxed))?))
}

/// The host functions of another graph, which owns them by these objects: what a launch uses that calls them.
#[track_caller]
pub(super) fn taken(api: &'static str, objects: &[sys::cudaUserObject_t]) -> Result<Uses> {
    if objects.is_empty() {
        return Ok(Uses::default());
    }
    drop_functions(None);
    let retain = |raw: &sys::cudaUserObject_t| {
        // SAFETY: the object is live, as a live graph has a reference to it.
        unsafe { check!(cudaUserObjectRetain(*raw, 1)) }.map(|()| Handle::new(Raw::Object(*raw)))
    };
    let objects = objects.iter().map(retain).collect::<Result<_>>()?;
    uses(api, Functions::Objects(objects))
}

/// What a launch uses that calls these functions.
#[track_caller]
fn uses(api: &'static str, functions: Functions) -> Result<Uses> {
    let given = Given { ledger: Ledger::new(1), functions: Some(functions), process: process::number() };
    let owner = retained(given);
    let (mut uses, access) = (Uses::default(), Access::read(owner.ledger(), 0..1));
    if uses.add(&access, || retain(&access)) { Ok(uses) } else { Err(Error::refused(api, Detail::NotKept)) }
}
