//! The addresses by which operations hand memory to others that run at the same time.

use std::collections::{BTreeSet, HashMap};

use crate::exec::program::Scope;
use crate::stream::OperationId;

/// What was last released at an address.
#[derive(Debug, Default)]
struct Flag {
    /// How often something was.
    count: u64,
    /// The operations, their devices, and whether they have released for the whole system.
    by: Vec<(OperationId, usize, bool)>,
}

/// The flags of one process.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    all: HashMap<usize, Flag>,
    setters: BTreeSet<OperationId>,
    /// What an operation has found at an address: the count, and the value in memory of the host.
    found: HashMap<(OperationId, usize), (u64, Option<u64>)>,
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
        let Some(scope) = releases else {
            if !atomic && let Some(flag) = self.all.get_mut(&at) {
                flag.by.retain(|it| it.0 == id);
            }
            return;
        };
        let flag = self.all.entry(at).or_default();
        flag.by.retain(|it| atomic && it.0 != id);
        flag.by.push((id, device, scope == Scope::System));
        flag.count += 1;
        self.setters.insert(id);
    }

    /// Whether an operation finds something there that is new to it: by another one, or by the host, who may
    /// have changed the value.
    pub(crate) fn is_new(
        &mut self,
        at: usize,
        (id, device): (OperationId, usize),
        value: Option<u64>,
    ) -> bool {
        let reaches = |it: &&(OperationId, usize, bool)| it.0 != id && (it.2 || it.1 == device);
        let flag = self.all.get(&at).filter(|flag| flag.by.iter().any(|it| reaches(&it)));
        let count = flag.map_or(0, |flag| flag.count);
        (count > 0 || value.is_some()) && self.found.insert((id, at), (count, value)) != Some((count, value))
    }

    /// The operations that have released something there for a device, or for the host.
    pub(crate) fn set_by(&self, at: usize, device: Option<usize>) -> Vec<OperationId> {
        let by = self.all.get(&at).map_or(&[][..], |flag| &flag.by);
        by.iter().filter(|it| it.2 || Some(it.1) == device).map(|it| it.0).collect()
    }

    /// Forgets all of them.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
