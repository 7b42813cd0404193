//! The addresses by which operations hand memory to others that run at the same time.

use std::cell::LazyCell;
use std::collections::{BTreeSet, HashMap, VecDeque};

use crate::exec::address_map::AddressMap;
use crate::exec::program::Scope;
use crate::stream::OperationId;

/// Who has released something: an operation, its device, and whether for the whole system.
type Setter = (OperationId, usize, bool);

/// What was last released at an address.
#[derive(Clone, Copy, Debug, Default)]
struct Flag {
    /// How often something was.
    count: u32,
    /// Which of the sets has released it.
    by: u32,
}

/// The most flags of the host that are remembered.
const OF_HOST: usize = 32;

/// Eight bytes that the host has written, which may be a flag.
#[derive(Clone, Copy, Debug)]
struct HostFlag {
    at: usize,
    /// The first value that was seen there since it has that value, and an operation that comes after what
    /// the host had done until then.
    seen: Option<(u64, OperationId)>,
}

/// The flags of one process.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    all: AddressMap<Flag>,
    /// Those who have released something at an address together.
    sets: Vec<Vec<Setter>>,
    setters: BTreeSet<OperationId>,
    /// What an operation has found at an address: the count, and the value in memory of the host.
    found: HashMap<(OperationId, usize), (u32, Option<u64>)>,
    of_host: VecDeque<HostFlag>,
}

impl Flags {
    /// Whether another operation than this has set one.
    pub(crate) fn are_set_by_others(&self, id: OperationId) -> bool {
        self.setters.iter().any(|it| *it != id)
    }

    /// Notes a strong write by an operation on a device. An atomic operation goes on with what is there.
    pub(crate) fn write(
        &mut self,
        at: usize,
        (id, device): (OperationId, usize),
        atomic: bool,
        releases: Option<Scope>,
    ) {
        let by = |flag: &Flag| self.sets.get(flag.by as usize).map_or(&[][..], |set| set);
        let Some(scope) = releases else {
            if !atomic && let Some(flag) = self.all.get(at) {
                let own = by(flag).iter().filter(|it| it.0 == id).copied().collect();
                flag.by = Self::number(&mut self.sets, own);
            }
            return;
        };
        let flag = self.all.entry(at).get_or_insert_with(|| Flag { count: 0, by: u32::MAX });
        let new = (id, device, scope == Scope::System);
        flag.count = flag.count.wrapping_add(1).max(1);
        if *by(flag) != [new] {
            let mut set: Vec<_> = by(flag).iter().filter(|it| atomic && it.0 != id).copied().collect();
            set.push(new);
            flag.by = Self::number(&mut self.sets, set);
            self.setters.insert(id);
        }
    }

    /// The number of a set.
    fn number(sets: &mut Vec<Vec<Setter>>, set: Vec<Setter>) -> u32 {
        let at = sets.iter().rposition(|it| *it == set).unwrap_or_else(|| {
            sets.push(set);
            sets.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// The value at an address: how often something was released, and by whom.
    fn at(&mut self, at: usize) -> Option<(u32, &[Setter])> {
        let flag = self.all.get(at)?;
        Some((flag.count, self.sets.get(flag.by as usize).map_or(&[][..], |set| set)))
    }

    /// Whether an operation finds something there that is new to it: by another one, or by the host, who may
    /// have changed the value.
    pub(crate) fn is_new(
        &mut self,
        at: usize,
        (id, device): (OperationId, usize),
        value: Option<u64>,
    ) -> bool {
        let reaches = |it: &&Setter| it.0 != id && (it.2 || it.1 == device);
        let flag = self.at(at).filter(|(_, by)| by.iter().any(|it| reaches(&it)));
        let count = flag.map_or(0, |(count, _)| count);
        (count > 0 || value.is_some()) && self.found.insert((id, at), (count, value)) != Some((count, value))
    }

    /// The operations that have released something there for a device, or for the host.
    pub(crate) fn set_by(&mut self, at: usize, device: Option<usize>) -> Vec<OperationId> {
        let by = self.at(at).map_or(&[][..], |(_, by)| by);
        by.iter().filter(|it| it.2 || Some(it.1) == device).map(|it| it.0).collect()
    }

    /// The host is about to write eight bytes. Notes the values of its earlier ones, which `value` reads as
    /// long as they are there. `now` makes an operation that comes after what the host has done.
    pub(crate) fn host_writes(
        &mut self,
        at: usize,
        value: impl Fn(usize) -> Option<u64>,
        now: impl FnOnce() -> Option<OperationId>,
    ) {
        let now = LazyCell::new(now);
        self.of_host.retain_mut(|flag| {
            let Some(value) = value(flag.at) else { return false };
            if flag.seen.is_none_or(|seen| seen.0 != value) {
                flag.seen = now.map(|now| (value, now));
            }
            true
        });
        if self.of_host.iter().all(|flag| flag.at != at) {
            if self.of_host.len() == OF_HOST {
                self.of_host.pop_front();
            }
            self.of_host.push_back(HostFlag { at, seen: None });
        }
    }

    /// A kernel has found a new value in eight bytes: what was seen there before does not count any more.
    pub(crate) fn host_changed(&mut self, at: usize, value: u64) {
        let changed = |flag: &&mut HostFlag| flag.at == at && flag.seen.is_some_and(|seen| seen.0 != value);
        self.of_host.iter_mut().filter(changed).for_each(|flag| flag.seen = None);
    }

    /// An operation that comes after what the host had done when it wrote this value, if that was seen.
    pub(crate) fn set_by_host(&self, at: usize, value: u64) -> Option<OperationId> {
        let seen = self.of_host.iter().find(|flag| flag.at == at)?.seen?;
        (seen.0 == value).then_some(seen.1)
    }

    /// Forgets all of them.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
