//! What is known of a launch while its kernel is interpreted, and the values of operands.

use std::collections::BTreeSet;

use crate::domain::{Affine, Region, State, Symbol, Symbols, Value, range_of};
use crate::ir::{Kernel, Operand, Origin, Space, Special};
use crate::launch::Launch;

/// Offsets that no memory has: an index without a bound.
pub(crate) const FARTHEST: i128 = 1 << 44;

/// An access of the kernel: bytes from `low` to before `high` of what the address counts from.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// File and line.
    pub(crate) at: (u32, u32),
    pub(crate) region: Region,
    pub(crate) low: i128,
    pub(crate) high: i128,
    pub(crate) align: u32,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) origin: (Origin, (u32, u32)),
}

impl Access {
    /// Returns whether it is an access of this kind to memory that counts from this.
    pub(crate) fn is_like(&self, region: Region, reads: bool, writes: bool) -> bool {
        (self.region, self.reads, self.writes) == (region, reads, writes)
    }
}

/// Why nothing can be proven.
#[derive(Clone, Debug)]
pub(crate) struct Doubt {
    pub(crate) at: (u32, u32),
    pub(crate) reason: String,
    pub(crate) origin: (Origin, (u32, u32)),
}

pub(crate) struct Analysis<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) launch: &'a Launch<'a>,
    pub(crate) symbols: Symbols,
    regions: Vec<(Region, Affine)>,
    specials: Vec<(Special, Affine)>,
    pub(crate) log: Vec<Access>,
    /// The accesses in the log taken together, one for each thing that they count from and each kind.
    pub(crate) reached: Vec<Access>,
    /// Whether accesses enter the log. Passes that look for a loop's invariants do not record.
    pub(crate) is_recording: bool,
    /// What is written, with the size of the elements. Loads of other sizes may be repeated.
    pub(crate) written: Vec<(Region, u32)>,
    /// What weak loads, and loads of the read-only path, read that is used, with the size of the elements.
    pub(crate) loaded: Vec<(Region, u32, bool)>,
    /// Memory of which a loaded value is not stable: it is written as well.
    pub(crate) unstable: BTreeSet<(Region, bool)>,
    pub(crate) steps: u64,
    /// The work that may be spent.
    pub(crate) limit: u64,
    /// Whether this try takes more work: it keeps states apart, and compares floating-point numbers.
    pub(crate) is_partitioned: bool,
    /// An access outside of all memory that there may be. It counts even if its pass is forgotten.
    pub(crate) beyond: Option<Access>,
    /// Why the launch is refused: nothing that comes after it changes the verdict.
    pub(crate) doubt: Option<Doubt>,
}

/// Addresses of a device are below this.
const ADDRESSES: i128 = 1 << 57;

impl<'a> Analysis<'a> {
    pub(crate) fn new(kernel: &'a Kernel, launch: &'a Launch<'a>, limit: u64) -> Self {
        Self {
            limit,
            kernel,
            launch,
            symbols: Symbols::new(kernel.steps.len()),
            regions: Vec::new(),
            specials: Vec::new(),
            log: Vec::new(),
            reached: Vec::new(),
            is_recording: true,
            written: Vec::new(),
            loaded: Vec::new(),
            unstable: BTreeSet::new(),
            steps: 0,
            is_partitioned: false,
            beyond: None,
            doubt: None,
        }
    }

    /// Returns the work that is spent.
    pub(crate) fn spent(&self) -> u64 {
        self.symbols.work + 4 * self.steps
    }

    pub(crate) fn bits(&self, register: u32) -> u8 {
        self.kernel.registers.get(register as usize).copied().unwrap_or(1)
    }

    /// Returns the address of a base.
    pub(crate) fn region(&mut self, region: Region) -> Affine {
        if let Some((_, expr)) = self.regions.iter().find(|(own, _)| *own == region) {
            return expr.clone();
        }
        let space = match region {
            Region::Object(object) => self.kernel.objects[object as usize].space,
            Region::Parameter(..) | Region::Generic(_) | Region::Workspace => Space::Global,
        };
        let high = match space {
            Space::Shared => 1 << 24,
            Space::Local => 1 << 31,
            Space::Param => 1 << 16,
            _ => ADDRESSES,
        };
        let expr = Affine::symbol(self.symbols.new_region(region, 0, high));
        self.regions.push((region, expr.clone()));
        expr
    }

    fn special(&mut self, special: Special) -> Affine {
        let Launch { grid, block, cluster, shared, .. } = *self.launch;
        let at = usize::from(special.0 % 3);
        let cluster = cluster.unwrap_or([1; 3]);
        let (count, is_place) = match special.0 / 3 {
            0 => (block[at].max(1), true),
            1 => (block[at].max(1), false),
            2 => (grid[at].max(1), true),
            3 => (grid[at].max(1), false),
            4 => (cluster[at].max(1), true),
            5 => (cluster[at].max(1), false),
            _ if special == Special::LANE => (32, true),
            _ => (shared, false),
        };
        let is_half = Special::WORKSPACE.contains(&special);
        let (below, is_place) = if is_half { (1 << 32, true) } else { (i128::from(count), is_place) };
        if !is_place {
            return Affine::constant(below);
        }
        if below == 1 {
            return Affine::constant(0);
        }
        if let Some((_, expr)) = self.specials.iter().find(|(own, _)| *own == special) {
            return expr.clone();
        }
        let expr = self.symbols.fresh(0, below - 1, Origin::Exact, (0, 0));
        self.specials.push((special, expr.clone()));
        expr
    }

    /// Returns the symbols of both halves of the workspace's address, if the kernel has read them.
    pub(crate) fn workspace(&self) -> Option<[Symbol; 2]> {
        let half = |half: Special| {
            let (_, expr) = self.specials.iter().find(|(own, _)| *own == half)?;
            expr.terms.first().map(|(symbol, _)| *symbol)
        };
        Some([half(Special::WORKSPACE[0])?, half(Special::WORKSPACE[1])?])
    }

    /// Returns the object that stands for the address of one: all arrays of dynamic shared memory are one.
    fn object(&self, object: u32) -> u32 {
        let objects = &self.kernel.objects;
        if objects[object as usize].bytes.is_some() {
            return object;
        }
        let first = objects.iter().position(|it| it.bytes.is_none());
        first.and_then(|it| u32::try_from(it).ok()).unwrap_or(object)
    }

    pub(crate) fn number(&mut self, state: &State, operand: Operand, at: (u32, u32)) -> Affine {
        match operand {
            Operand::Register(register) => match state.registers.get(register as usize) {
                Some(Value::Number(expr)) => self.symbols.used(expr),
                _ => {
                    let range = range_of(self.bits(register), true);
                    self.symbols.new_value(true, range, (Origin::Unwritten, at))
                }
            },
            Operand::Number(value) => Affine::constant(i128::from(value)),
            Operand::Object(object) => {
                let object = self.object(object);
                self.region(Region::Object(object))
            }
            Operand::Special(special) => self.special(special),
            Operand::Negated(_) => self.symbols.new_value(true, (0, 1), (Origin::Unwritten, at)),
        }
    }

    pub(crate) fn set(&self, state: &mut State, register: u32, value: Value) {
        if let Some(own) = state.registers.get_mut(register as usize) {
            *own = value;
        }
    }
}
