//! The handle of a texture or surface, with the memory that it is of, until nobody uses it any more.
#![expect(unsafe_code, reason = "makes and destroys objects through the runtime")]

use std::ops::Range;
use std::sync::Arc;

use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::hazard::books::Keeper;
use crate::hazard::{Access, Ledger, Mode};
use crate::memory::{Retained, relax, retain};
use crate::{check, process, stream, sys};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Texture,
    Surface,
}

/// A live object, destroyed when its last owner goes. Owners are the program's, and graphs.
pub(super) struct Object {
    sort: Sort,
    /// Zero once it is destroyed, or left to another.
    raw: sys::cudaTextureObject_t,
    device: Device,
    /// Which process made it: a child that inherited it leaves it alone.
    process: u32,
    /// The books about who uses the object: launches read its one byte.
    ledger: Ledger,
    /// A share of the memory, and which of its bytes the object reaches.
    memory: Arc<dyn Keeper>,
    range: Range<usize>,
    viewed: bool,
}

impl Object {
    /// Makes an object of the memory that an access is of.
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
        // Held before there is an object.
        let Some(memory) = retain(memory) else { return Err(Error::refused(api, Detail::NotKept)) };
        let _current = device.switch()?;
        // Otherwise a capture in progress would refuse to have an object made, and be spoiled by the attempt.
        relax()?;
        let mut raw = 0;
        match sort {
            Sort::Texture => {
                let view_desc = view.map_or(std::ptr::null(), std::ptr::from_ref);
                // SAFETY: the pointers are to live structures, or null; the memory that the first one names is live and of the
                // device that is current, and the share above keeps it for as long as the object.
                unsafe { check!(cudaCreateTextureObject(&raw mut raw, resource, texture, view_desc)) }?;
            }
            Sort::Surface => {
                // SAFETY: as above.
                unsafe { check!(cudaCreateSurfaceObject(&raw mut raw, resource)) }?;
            }
        }
        let (ledger, process) = (Ledger::new(1), process::number());
        Ok(Self { sort, raw, device, process, ledger, memory, range, viewed: view.is_some() })
    }

    pub(super) fn raw(&self) -> sys::cudaTextureObject_t {
        self.raw
    }

    pub(super) fn device(&self) -> Device {
        self.device
    }

    /// Whether it is of some layers and levels only.
    pub(super) fn has_view(&self) -> bool {
        self.viewed
    }

    /// What a launch does with the memory.
    pub(super) fn access(&self, mode: Mode) -> Access<'_> {
        Access::new(self.memory.ledger(), self.range.clone(), mode).unborrowed()
    }

    /// What a launch does with the object.
    pub(super) fn alive(&self) -> Access<'_> {
        Access::read(&self.ledger, 0..1)
    }

    /// Waits for the work that still uses the object and destroys it. Where the thread may not, that is done later.
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
        if let Err(error) = stream::wait_host(&self.ledger, 0..1, Mode::Write) {
            if error.is_refused() {
                self.defer();
            } else {
                // Work may still be using it: leaked. The memory has its own way to end.
                self.raw = 0;
            }
            return Err(error);
        }
        let raw = std::mem::take(&mut self.raw);
        let _current = self.device.switch()?;
        relax()?;
        match self.sort {
            // SAFETY: the object was made by `new` and is destroyed only here (`raw` is 0 from now on), and no work uses it.
            Sort::Texture => unsafe { check!(cudaDestroyTextureObject(raw)) },
            // SAFETY: as above.
            Sort::Surface => unsafe { check!(cudaDestroySurfaceObject(raw)) },
        }
    }

    /// Leaves the object, and a share of its memory, to the next thread that may destroy it.
    fn defer(&mut self) {
        let mut ledger = std::mem::replace(&mut self.ledger, Ledger::new(1));
        // Its owners are gone.
        ledger.kept_by(None);
        let later = Self {
            sort: self.sort,
            raw: std::mem::take(&mut self.raw),
            device: self.device,
            process: self.process,
            ledger,
            memory: Arc::clone(&self.memory),
            range: self.range.clone(),
            viewed: self.viewed,
        };
        stream::defer(Box::new(move || drop(later)));
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // In the child of a fork the runtime is not usable and the object is the parent's.
        if process::is(self.process) {
            // Nobody could take the error; `destroy` is for who wants it.
            let _ = self.destroy();
        }
    }
}

impl Keeper for Object {
    fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

impl Retained for Object {
    fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }
}
