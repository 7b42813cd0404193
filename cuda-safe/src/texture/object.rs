//! The handle of a texture or surface. It retains the memory of the image until its last user releases it.
#![expect(unsafe_code, reason = "makes and destroys objects through the runtime")]

use std::ops::Range;
use std::sync::Arc;

use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::hazard::{Access, AccessHistory, Mode};
use crate::memory::{relax, retain, retainable};
use crate::{check, process, stream, sys};
use cuda_hazard::RetainedResource;

/// The kind of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Texture,
    Surface,
}

/// A live object, which is destroyed when its last owner is dropped. The program and graphs are owners.
pub(super) struct Object {
    sort: Sort,
    /// Zero after destruction, and after the handle moves to a deferred destruction.
    raw: sys::cudaTextureObject_t,
    device: Device,
    /// The process that made the object. A forked child that inherits the object does not touch it.
    process: u32,
    /// The access history of the object: each launch reads its one byte.
    history: AccessHistory,
    /// The retained memory, and the range of its bytes that the object reaches.
    memory: Arc<dyn RetainedResource>,
    range: Range<usize>,
    viewed: bool,
}

impl Object {
    /// Makes an object from the memory that `memory` accesses.
    #[track_caller]
    pub(super) fn new(
        sort: Sort,
        device: Device,
        memory: &Access<'_>,
        resource: &sys::cudaResourceDesc,
        texture: &sys::cudaTextureDesc,
        view: Option<&sys::cudaResourceViewDesc>,
    ) -> Result<Self> {
        let api = match sort {
            Sort::Texture => "Texture::new",
            Sort::Surface => "Surface::new",
        };
        stream::ensure_idle(api)?;
        let range = memory.range();
        // The memory is retained before the object exists.
        let Some(memory) = retain(memory) else { return Err(Error::refused(api, Detail::NotKept)) };
        let _current = device.switch()?;
        // Without this, a capture in progress refuses the creation, and the attempt invalidates the
        // capture.
        relax()?;
        let mut raw = 0;
        match sort {
            Sort::Texture => {
                let view_desc = view.map_or(std::ptr::null(), std::ptr::from_ref);
                // SAFETY: the pointers are to live structures, or null. The first structure names memory
                // that is live and belongs to the current device; `memory` above retains it for the
                // object's lifetime.
                unsafe { check!(cudaCreateTextureObject(&raw mut raw, resource, texture, view_desc)) }?;
            }
            Sort::Surface => {
                // SAFETY: as above.
                unsafe { check!(cudaCreateSurfaceObject(&raw mut raw, resource)) }?;
            }
        }
        let (history, process) = (AccessHistory::new(1), process::number());
        Ok(Self { sort, raw, device, process, history, memory, range, viewed: view.is_some() })
    }

    pub(super) fn raw(&self) -> sys::cudaTextureObject_t {
        self.raw
    }

    pub(super) fn device(&self) -> Device {
        self.device
    }

    /// Returns whether the object covers only some layers and levels.
    pub(super) fn has_view(&self) -> bool {
        self.viewed
    }

    /// The access of a launch to the memory.
    pub(super) fn access(&self, mode: Mode) -> Access<'_> {
        Access::new(self.memory.history(), self.range.clone(), mode).unborrowed()
    }

    /// The access of a launch to the object.
    pub(super) fn alive(&self) -> Access<'_> {
        Access::read(&self.history, 0..1)
    }

    /// Waits for the work that uses the object, then destroys it. If this thread must not wait, the
    /// destruction is deferred.
    #[track_caller]
    pub(super) fn destroy(&mut self) -> Result<()> {
        if self.raw == 0 {
            return Ok(());
        }
        let api = match self.sort {
            Sort::Texture => "Texture::destroy",
            Sort::Surface => "Surface::destroy",
        };
        if stream::in_callback() {
            self.defer();
            return Err(Error::refused(api, Detail::InCallback));
        }
        if let Err(error) = stream::wait_host(&self.history, 0..1, Mode::Write) {
            if error.is_refused() {
                self.defer();
            } else {
                // Work may still use the object, so it is leaked. The memory ends independently of the
                // object.
                self.raw = 0;
            }
            return Err(error);
        }
        let raw = std::mem::take(&mut self.raw);
        let _current = self.device.switch()?;
        relax()?;
        match self.sort {
            // SAFETY: `new` made the object. Only this function destroys it, and `raw` is 0 from now on. No
            // work uses it.
            Sort::Texture => unsafe { check!(cudaDestroyTextureObject(raw)) },
            // SAFETY: as above.
            Sort::Surface => unsafe { check!(cudaDestroySurfaceObject(raw)) },
        }
    }

    /// Leaves the object, with its own reference to the memory, to the next thread that may destroy it.
    fn defer(&mut self) {
        let mut history = std::mem::replace(&mut self.history, AccessHistory::new(1));
        // The owners no longer exist.
        history.clear_retain_fn();
        let later = Self {
            sort: self.sort,
            raw: std::mem::take(&mut self.raw),
            device: self.device,
            process: self.process,
            history,
            memory: Arc::clone(&self.memory),
            range: self.range.clone(),
            viewed: self.viewed,
        };
        stream::defer(Box::new(move || drop(later)));
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // In a forked child the runtime is not usable, and the object belongs to the parent.
        if process::is(self.process) {
            // A drop cannot return the error. Callers that need it use `destroy`.
            let _ = self.destroy();
        }
    }
}

retainable!(Object, history);
