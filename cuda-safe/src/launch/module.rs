//! Access histories of the variables of one source file, and the accesses of its kernels to them.
//!
//! nvcc makes a module of each `.cu` file: its kernels, and the `__device__`, `__constant__` and
//! `__managed__` variables that only these kernels can access. A launch does not name the variables, so the
//! handle of a kernel declares its accesses to them. They come from the comment on the kernel's prototype
//! (`@reads a, b`, `@writes c`). Without such a comment the handle declares all possible accesses: a read
//! of the constants and a write of all other variables. The tracker records them with each launch in the
//! module's access histories. Each device has its own; managed variables have one for all devices. Modules
//! without variables have no such overhead.
#![expect(unsafe_code, reason = "says that access histories live as long as their owners")]

use std::sync::{Arc, OnceLock};

use crate::device::Device;
use crate::error::{Detail, OrRefused, Result};
use crate::hazard::{Access, AccessHistory, Mode};
use crate::memory::{retainable, retained};
use cuda_hazard::RetainedResource;

use super::access_list::AccessList;

/// The memory space of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// `__device__`: one on each device, which kernels read and write.
    Device,
    /// `__constant__`: one on each device, which kernels read.
    Constant,
    /// `__managed__`: one for the host and all devices.
    Managed,
}

/// The access histories of the variables of one source file. Generated code has one for each file with
/// variables.
#[derive(Debug)]
pub struct Module {
    constant_bytes: usize,
    device_bytes: usize,
    devices: OnceLock<Box<[PerDevice]>>,
    managed: OnceLock<Arc<VariableHistory>>,
    managed_bytes: usize,
}

/// The access histories of one device.
#[derive(Debug)]
struct PerDevice {
    constants: Arc<VariableHistory>,
    variables: Arc<VariableHistory>,
}

/// The access history of the variables of one kind.
#[derive(Debug)]
struct VariableHistory(AccessHistory);

impl VariableHistory {
    /// Makes an access history that graphs can retain. The variables live as long as the program.
    fn shared(bytes: usize) -> Arc<Self> {
        retained(Self(AccessHistory::new(bytes)))
    }
}

retainable!(VariableHistory, 0);

impl Module {
    /// Makes the access histories for this many bytes of `__constant__`, `__device__` and `__managed__`
    /// variables.
    #[must_use]
    pub const fn new(constant_bytes: usize, device_bytes: usize, managed_bytes: usize) -> Self {
        Self {
            constant_bytes,
            device_bytes,
            devices: OnceLock::new(),
            managed: OnceLock::new(),
            managed_bytes,
        }
    }

    /// Returns the access history of one kind of variables on a device.
    #[track_caller]
    pub(crate) fn history(&self, space: Space, device: Device) -> Result<&AccessHistory> {
        if space == Space::Managed {
            return Ok(self.managed.get_or_init(|| VariableHistory::shared(self.managed_bytes)).history());
        }
        let tracker = self.tracker(device)?;
        Ok(if space == Space::Constant { tracker.constants.history() } else { tracker.variables.history() })
    }

    /// Returns the access histories of a device. The first call makes those of all devices.
    #[track_caller]
    fn tracker(&self, device: Device) -> Result<&PerDevice> {
        let devices = match self.devices.get() {
            Some(devices) => devices,
            None => {
                let count = Device::count()?;
                let tracker = |_| PerDevice {
                    constants: VariableHistory::shared(self.constant_bytes),
                    variables: VariableHistory::shared(self.device_bytes),
                };
                self.devices.get_or_init(|| (0..count).map(tracker).collect())
            }
        };
        let (ordinal, count) = (device.ordinal(), devices.len());
        devices.get(ordinal).or_refused("Module", || Detail::invalid_device(ordinal, count))
    }

    /// Returns the total size of the variables of this kind in bytes.
    fn bytes(&self, space: Space) -> usize {
        match space {
            Space::Constant => self.constant_bytes,
            Space::Device => self.device_bytes,
            Space::Managed => self.managed_bytes,
        }
    }
}

/// The access of a kernel to one variable. [`Symbol::read`](crate::launch::Symbol::read) and
/// [`Symbol::written`](crate::launch::Symbol::written) make it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariableAccess {
    pub(crate) space: Space,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) mode: Mode,
}

/// The accesses of a kernel to the variables of its module.
#[derive(Debug)]
pub struct VariableAccesses {
    module: &'static Module,
    /// `None` if the kernel may have all possible accesses.
    listed: Option<&'static [VariableAccess]>,
}

impl VariableAccesses {
    /// Declares accesses to these variables of a module, and to no others.
    #[must_use]
    pub const fn new(module: &'static Module, listed: &'static [VariableAccess]) -> Self {
        Self { module, listed: Some(listed) }
    }

    /// Declares all possible accesses: reads of all constants of a module and writes of all its other
    /// variables. Used for a kernel whose accesses are not known.
    #[must_use]
    pub const fn all(module: &'static Module) -> Self {
        Self { module, listed: None }
    }

    /// Adds the kernel's accesses to variables on a device to a list.
    #[track_caller]
    pub(super) fn add_to(&self, device: Device, all: &mut AccessList<'_>) -> Result<()> {
        let everything = [
            self.everything(Space::Constant, Mode::Read),
            self.everything(Space::Device, Mode::Write),
            self.everything(Space::Managed, Mode::Write),
        ];
        for one in self.listed.unwrap_or(&everything) {
            let history = self.module.history(one.space, device)?;
            // A launch does not borrow the variables, so no borrow excludes the host.
            all.push(Access::new(history, one.start..one.end, one.mode).unborrowed());
        }
        Ok(())
    }

    fn everything(&self, space: Space, mode: Mode) -> VariableAccess {
        VariableAccess { space, start: 0, end: self.module.bytes(space), mode }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    static MODULE: Module = Module::new(8, 16, 32);

    /// Returns the ranges and modes of a launch's accesses.
    fn entered(uses: &VariableAccesses, accesses: &[Access<'_>]) -> Vec<(Range<usize>, Mode)> {
        let mut all = AccessList::from_slice(accesses);
        uses.add_to(Device::from_ordinal(0), &mut all).unwrap();
        all.iter().map(|access| (access.range(), access.mode())).collect()
    }

    #[test]
    fn a_kernel_of_which_nothing_is_known_does_all_that_it_can() {
        let all = entered(&VariableAccesses::all(&MODULE), &[]);
        assert_eq!(all, [(0..8, Mode::Read), (0..16, Mode::Write), (0..32, Mode::Write)]);
    }

    #[test]
    fn a_kernel_that_says_what_it_does_does_nothing_else_besides_its_arguments() {
        static LISTED: [VariableAccess; 1] =
            [VariableAccess { space: Space::Device, start: 4, end: 12, mode: Mode::Read }];
        let history = AccessHistory::new(100);
        let all = entered(&VariableAccesses::new(&MODULE, &LISTED), &[Access::write(&history, 0..100)]);
        assert_eq!(all, [(0..100, Mode::Write), (4..12, Mode::Read)]);
        assert!(entered(&VariableAccesses::new(&MODULE, &[]), &[]).is_empty());
    }

    #[test]
    fn more_accesses_than_there_is_room_for_are_still_all_entered() {
        let history = AccessHistory::new(100);
        let many = vec![Access::read(&history, 0..100); 40];
        assert_eq!(entered(&VariableAccesses::all(&MODULE), &many).len(), 43);
    }

    #[test]
    fn each_device_has_books_of_its_own_but_for_managed_variables() {
        let zero = Device::from_ordinal(0);
        let of = |space, device| std::ptr::from_ref(MODULE.history(space, device).unwrap());
        assert_ne!(of(Space::Constant, zero), of(Space::Device, zero));
        let beyond = Device::from_ordinal(i32::try_from(Device::count().unwrap()).unwrap());
        assert!(MODULE.history(Space::Constant, beyond).is_err());
        assert_eq!(of(Space::Managed, beyond), of(Space::Managed, zero));
        if Device::count().unwrap() > 1 {
            let one = Device::from_ordinal(1);
            assert_ne!(of(Space::Constant, one), of(Space::Constant, zero));
            assert_ne!(of(Space::Device, one), of(Space::Device, zero));
        }
    }
}
