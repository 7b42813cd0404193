//! Raw graphs, destroyed when they are dropped.
#![expect(unsafe_code, reason = "destroys what it owns")]

use crate::{process, stream, sys};

/// What kind of graph a handle is of, with the handle.
#[derive(Clone, Copy, Debug)]
pub(super) enum Raw {
    Graph(sys::cudaGraph_t),
    Exec(sys::cudaGraphExec_t),
    Object(sys::cudaUserObject_t),
}

/// A raw handle that is owned.
#[derive(Debug)]
pub(super) struct Handle {
    raw: Option<Raw>,
    process: u32,
}

// SAFETY: the handle is a name that the runtime takes from any thread, one at a time; this value is its only owner.
unsafe impl Send for Handle {}

impl Handle {
    /// The owner of a handle that was just made.
    pub(super) fn new(raw: Raw) -> Self {
        Self { raw: Some(raw), process: process::number() }
    }

    /// Gives the handle up.
    pub(super) fn give_up(mut self) {
        self.raw = None;
    }
}

impl Drop for Handle {
    /// Nobody could take the error. What a launch still uses, the runtime keeps until the launch is over.
    fn drop(&mut self) {
        let Some(raw) = self.raw.take() else { return };
        // In the child of a fork the runtime is not usable.
        if !process::is(self.process) {
            return;
        }
        if stream::in_callback() {
            let later = Self { raw: Some(raw), process: self.process };
            stream::defer(Box::new(move || drop(later)));
            return;
        }
        let _ = match raw {
            // SAFETY: the graph was made by this crate, which gives the handle to nobody else, and nobody uses it any more.
            Raw::Graph(graph) => unsafe { sys::cudaGraphDestroy(graph) },
            // SAFETY: as above; launches that are under way are not stopped.
            Raw::Exec(exec) => unsafe { sys::cudaGraphExecDestroy(exec) },
            // SAFETY: as above; the one reference to the object is this one.
            Raw::Object(object) => unsafe { sys::cudaUserObjectRelease(object, 1) },
        };
    }
}
