//! The variables of one source file, as the tracker sees them, and what a kernel does with them.
//!
//! nvcc makes a module of each `.cu` file: its kernels, and the `__device__`, `__constant__` and `__managed__` variables that
//! they alone can reach. No launch names these variables, so the handle of a kernel says what it does with them: what the
//! comment on its prototype says (`@reads a, b`, `@writes c`), or else all that it can, a read of the constants and a write of
//! all other variables. Each launch enters that in the module's books, which are one set for each device, and one for managed
//! variables, which all devices share. Kernels of modules without variables know nothing of all this.

use std::sync::{Arc, OnceLock};

use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::hazard::books::Keeper;
use crate::hazard::{Access, Ledger, Mode};
use crate::memory::{Retained, retained};

/// Accesses of one launch that are put together without asking for memory.
const INLINE: usize = 24;

/// Where a variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// `__device__`: one on each device, for kernels to read and write.
    Device,
    /// `__constant__`: one on each device, for kernels to read.
    Constant,
    /// `__managed__`: one for the host and all devices.
    Managed,
}

/// The books about the variables of one source file. Generated code has one for each file with variables.
#[derive(Debug)]
pub struct Module {
    constant_bytes: usize,
    device_bytes: usize,
    devices: OnceLock<Box<[PerDevice]>>,
    managed: OnceLock<Arc<Books>>,
    managed_bytes: usize,
}

/// The books about what each device has of its own.
#[derive(Debug)]
struct PerDevice {
    constants: Arc<Books>,
    variables: Arc<Books>,
}

/// The books about variables of one kind.
#[derive(Debug)]
struct Books(Ledger);

impl Books {
    /// Graphs become owners of the books, too. The variables stay for as long as the program does.
    fn shared(bytes: usize) -> Arc<Self> {
        retained(Self(Ledger::new(bytes)))
    }
}

impl Keeper for Books {
    fn ledger(&self) -> &Ledger {
        &self.0
    }
}

impl Retained for Books {
    fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.0
    }
}

impl Module {
    /// Books for so many bytes of `__constant__`, `__device__` and `__managed__` variables.
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

    /// The books about the variables of this kind on a device.
    #[track_caller]
    pub(crate) fn ledger(&self, space: Space, device: Device) -> Result<&Ledger> {
        if space == Space::Managed {
            return Ok(self.managed.get_or_init(|| Books::shared(self.managed_bytes)).ledger());
        }
        let books = self.books(device)?;
        Ok(if space == Space::Constant { books.constants.ledger() } else { books.variables.ledger() })
    }

    /// The books of a device, made for all devices when they are first asked for.
    #[track_caller]
    fn books(&self, device: Device) -> Result<&PerDevice> {
        let devices = match self.devices.get() {
            Some(devices) => devices,
            None => {
                let count = Device::count()?;
                let books = |_| PerDevice {
                    constants: Books::shared(self.constant_bytes),
                    variables: Books::shared(self.device_bytes),
                };
                self.devices.get_or_init(|| (0..count).map(books).collect())
            }
        };
        let found = usize::try_from(device.ordinal()).ok().and_then(|ordinal| devices.get(ordinal));
        found.ok_or_else(|| {
            let count = i32::try_from(devices.len()).unwrap_or(i32::MAX);
            Error::refused("Module", Detail::InvalidDevice { ordinal: device.ordinal(), count })
        })
    }

    /// How many bytes of this kind there are.
    fn bytes(&self, space: Space) -> usize {
        match space {
            Space::Constant => self.constant_bytes,
            Space::Device => self.device_bytes,
            Space::Managed => self.managed_bytes,
        }
    }
}

/// What a kernel does with one variable: made by [`Symbol::read`](crate::memory::Symbol::read) and
/// [`Symbol::written`](crate::memory::Symbol::written).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    pub(crate) space: Space,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) mode: Mode,
}

/// What a kernel does with the variables of its module.
#[derive(Debug)]
pub struct Uses {
    module: &'static Module,
    /// None where it may do all that it can.
    listed: Option<&'static [Use]>,
}

impl Uses {
    /// Reads and writes these variables of a module, and no other ones.
    #[must_use]
    pub const fn new(module: &'static Module, listed: &'static [Use]) -> Self {
        Self { module, listed: Some(listed) }
    }

    /// Reads all constants of a module and writes all its other variables: what a kernel does of which nothing is known.
    #[must_use]
    pub const fn all(module: &'static Module) -> Self {
        Self { module, listed: None }
    }

    /// Calls `enqueue` with these accesses and what the kernel does on a device.
    #[track_caller]
    pub(super) fn with<R>(
        &self,
        device: Device,
        accesses: &[Access<'_>],
        enqueue: impl FnOnce(&[Access<'_>]) -> Result<R>,
    ) -> Result<R> {
        let everything = [
            self.everything(Space::Constant, Mode::Read),
            self.everything(Space::Device, Mode::Write),
            self.everything(Space::Managed, Mode::Write),
        ];
        let uses = self.listed.unwrap_or(&everything);
        let all = uses.iter().map(|one| {
            // No borrow of a variable keeps the host away from it.
            Ok(Access::new(self.module.ledger(one.space, device)?, one.start..one.end, one.mode).unborrowed())
        });
        with_all(accesses.len() + uses.len(), accesses.iter().copied().map(Ok).chain(all), enqueue)
    }

    fn everything(&self, space: Space, mode: Mode) -> Use {
        Use { space, start: 0, end: self.module.bytes(space), mode }
    }
}

/// Calls `enqueue` with both lists.
#[track_caller]
pub(super) fn joined<'a, R>(
    accesses: &[Access<'a>],
    more: &[Access<'a>],
    enqueue: impl FnOnce(&[Access<'_>]) -> Result<R>,
) -> Result<R> {
    let all = accesses.iter().chain(more).copied().map(Ok);
    with_all(accesses.len() + more.len(), all, enqueue)
}

/// Calls `enqueue` with a list of `count` accesses, which the iterator gives.
#[track_caller]
fn with_all<'a, R>(
    count: usize,
    mut all: impl Iterator<Item = Result<Access<'a>>>,
    enqueue: impl FnOnce(&[Access<'_>]) -> Result<R>,
) -> Result<R> {
    if count > INLINE {
        return enqueue(&all.collect::<Result<Vec<_>>>()?);
    }
    let Some(first) = all.next() else { return enqueue(&[]) };
    let mut few = [first?; INLINE];
    for (place, access) in few.iter_mut().skip(1).zip(all) {
        *place = access?;
    }
    enqueue(few.get(..count).unwrap_or(&few))
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    static MODULE: Module = Module::new(8, 16, 32);

    /// The bytes and modes that a launch enters, by how many bytes the books have that it enters them in.
    fn entered(uses: &Uses, accesses: &[Access<'_>]) -> Vec<(Range<usize>, Mode)> {
        let zero = Device::from_ordinal(0);
        uses.with(zero, accesses, |all| {
            Ok(all.iter().map(|access| (access.range(), access.mode())).collect())
        })
        .unwrap()
    }

    #[test]
    fn a_kernel_of_which_nothing_is_known_does_all_that_it_can() {
        let all = entered(&Uses::all(&MODULE), &[]);
        assert_eq!(all, [(0..8, Mode::Read), (0..16, Mode::Write), (0..32, Mode::Write)]);
    }

    #[test]
    fn a_kernel_that_says_what_it_does_does_nothing_else_besides_its_arguments() {
        static LISTED: [Use; 1] = [Use { space: Space::Device, start: 4, end: 12, mode: Mode::Read }];
        let ledger = Ledger::new(100);
        let all = entered(&Uses::new(&MODULE, &LISTED), &[Access::write(&ledger, 0..100)]);
        assert_eq!(all, [(0..100, Mode::Write), (4..12, Mode::Read)]);
        assert!(entered(&Uses::new(&MODULE, &[]), &[]).is_empty());
    }

    #[test]
    fn more_accesses_than_there_is_room_for_are_still_all_entered() {
        let ledger = Ledger::new(100);
        let many = vec![Access::read(&ledger, 0..100); 40];
        assert_eq!(entered(&Uses::all(&MODULE), &many).len(), 43);
    }

    #[test]
    fn each_device_has_books_of_its_own_but_for_managed_variables() {
        let zero = Device::from_ordinal(0);
        let of = |space, device| std::ptr::from_ref(MODULE.ledger(space, device).unwrap());
        assert_ne!(of(Space::Constant, zero), of(Space::Device, zero));
        let beyond = Device::from_ordinal(Device::count().unwrap());
        assert!(MODULE.ledger(Space::Constant, beyond).is_err());
        assert_eq!(of(Space::Managed, beyond), of(Space::Managed, zero));
        if Device::count().unwrap() > 1 {
            let one = Device::from_ordinal(1);
            assert_ne!(of(Space::Constant, one), of(Space::Constant, zero));
            assert_ne!(of(Space::Device, one), of(Space::Device, zero));
        }
    }
}
