//! Host functions in graphs, which own them.
//!
//! A function waits in a box that a user object of the runtime's stands for. The graph is given the object's one reference;
//! clones, executable forms and launches under way hold references of their own, all counted by the runtime, which drops the box
//! with the last of them. After a lost context that may never be: then the box is leaked.
#![expect(unsafe_code, reason = "gives the runtime functions to call, and takes the box back from it")]

use std::ffi::c_void;
use std::panic::Location;

use super::handle::{Handle, Raw};
use crate::device::Device;
use crate::error::Result;
use crate::{check, stream, sys};

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

    /// Gives the function to a graph whose nodes call it.
    #[track_caller]
    pub(super) fn give_to(self, graph: sys::cudaGraph_t) -> Result<()> {
        let flags = sys::cudaGraphUserObjectMove.0;
        // SAFETY: the graph is live, and the one reference that is moved is this value's.
        unsafe { check!(cudaGraphRetainUserObject(graph, self.raw, 1, flags)) }?;
        self.object.give_up();
        Ok(())
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
