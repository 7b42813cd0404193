//! Owned raw graphs, which are destroyed when dropped.
#![expect(unsafe_code, reason = "destroys what it owns")]

use crate::{process, stream, sys};

/// A raw handle of one of three kinds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Raw {
    Graph(sys::cudaGraph_t),
    Exec(sys::cudaGraphExec_t),
    Object(sys::cudaUserObject_t),
}

/// An owned raw handle.
#[derive(Debug)]
pub(super) struct GraphHandle {
    raw: Option<Raw>,
    process: u32,
}

// SAFETY: the handle is a name that the runtime accepts on any thread, one thread at a time. This value is
// its only owner.
unsafe impl Send for GraphHandle {}

impl GraphHandle {
    /// Makes the owner of a handle that was just created.
    pub(super) fn new(raw: Raw) -> Self {
        Self { raw: Some(raw), process: process::number() }
    }

    /// Gives up ownership without destroying the handle.
    pub(super) fn give_up(&mut self) {
        self.raw = None;
    }
}

impl Drop for GraphHandle {
    /// A drop cannot return the error. The runtime retains what a launch uses until the launch is complete.
    fn drop(&mut self) {
        let Some(raw) = self.raw.take() else { return };
        // In a forked child the runtime is not usable.
        if !process::is(self.process) {
            return;
        }
        if stream::in_callback() {
            let later = Self { raw: Some(raw), process: self.process };
            stream::defer(Box::new(move || drop(later)));
            return;
        }
        let _ = match raw {
            // SAFETY: this crate made the graph, this value is the only owner of the handle, and no other
            // user is left.
            Raw::Graph(graph) => unsafe { sys::cudaGraphDestroy(graph) },
            // SAFETY: this crate made the executable graph, this value is the only owner of the handle, and
            // no other user is left. Running launches are not stopped.
            Raw::Exec(exec) => unsafe { sys::cudaGraphExecDestroy(exec) },
            // SAFETY: this crate made the object, and this value has one reference to it, which it gives up.
            Raw::Object(object) => unsafe { sys::cudaUserObjectRelease(object, 1) },
        };
    }
}
