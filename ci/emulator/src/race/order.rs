//! Which operation comes after which, whatever the schedule did.
//!
//! Every operation has an epoch and the vector clock of all that comes before it. The queue knows the direct
//! dependencies of an operation: streams, events, the legacy stream's rule and graphs have put them there.
//! Its clock is the join of theirs and of the host's, which has the operations that the host has waited for.
//!
//! A timeline is a chain of operations that are ordered one after the other. An operation continues the
//! timeline of one of its dependencies, or any other whose last operation it comes after. So there are as
//! many timelines as there are operations at the same time, and not one for each stream that ever was.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use cuda_hazard::happens_before::{Epoch, Timeline, VectorClock};

use crate::host_line::HostLine;
use crate::stream::{OperationId, StreamId};

/// The identity of an operation: its call, its stream, and the lines of the program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    pub(crate) call: &'static str,
    pub(crate) stream: Option<StreamId>,
    /// The name of the kernel, if it is one.
    pub(crate) kernel: Option<String>,
    pub(crate) line: HostLine,
    /// Where the graph is launched, if it is a node of one.
    pub(crate) launch: HostLine,
    /// The kernel that asked for it, and its line, if the host did not.
    pub(crate) by: String,
    /// Whether it waits for something outside of the program's streams.
    pub(crate) waits_outside: bool,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kernel {
            Some(kernel) => write!(f, "kernel {kernel}")?,
            None => f.write_str(self.call)?,
        }
        match self.stream {
            Some(stream) => write!(f, " on stream {stream}"),
            None => Ok(()),
        }
    }
}

/// An operation, or a call of the host that ends the life of memory.
#[derive(Debug)]
pub(crate) struct OrderedOperation {
    epoch: Epoch,
    /// The operations that it comes after.
    clock: VectorClock,
    /// The operations that it is part of, the outermost first. What comes after one of them comes after it.
    within: Vec<Epoch>,
    /// Whether it, or something before it, waits for something outside of the program's streams: it may come
    /// after anything.
    outside: bool,
    /// Operations count in the order in which the program asks for them.
    pub(crate) number: u64,
    /// `None`: the host's.
    pub(crate) device: Option<usize>,
    pub(crate) origin: Origin,
}

impl OrderedOperation {
    /// Whether this operation comes after another one, may do so for all that is known, or is the same.
    pub(crate) fn comes_after(&self, other: &Self) -> bool {
        let is_self = self.epoch == other.epoch;
        let after = |whole: &Epoch| self.clock.covers(*whole) && !self.within.contains(whole);
        self.outside || is_self || self.clock.covers(other.epoch) || other.within.iter().any(after)
    }

    /// Whether a clock has it, or an operation that it is part of.
    fn is_covered_by(&self, clock: &VectorClock) -> bool {
        clock.covers(self.epoch) || self.within.iter().any(|whole| clock.covers(*whole))
    }

    /// Adds it, and what it comes after, to a clock.
    fn join_into(&self, clock: &mut VectorClock) {
        clock.join(&self.clock);
        clock.add(self.epoch);
    }
}

/// The host's timeline.
const HOST: Timeline = Timeline(0);

/// The operations, and what the host has waited for.
#[derive(Debug)]
pub(crate) struct OperationOrder {
    /// The last sequence number of each timeline.
    last: Vec<u64>,
    host: VectorClock,
    /// The operations for which a synchronisation of each device waits.
    devices: Vec<VectorClock>,
    operations: HashMap<OperationId, Arc<OrderedOperation>>,
    count: u64,
    /// What the host has done last.
    last_of_host: Option<Arc<OrderedOperation>>,
    /// Whether the host has waited for an operation that may come after anything.
    outside: bool,
}

impl OperationOrder {
    pub(super) fn new(devices: usize) -> Self {
        Self {
            last: vec![0],
            host: VectorClock::new(),
            devices: vec![VectorClock::new(); devices],
            operations: HashMap::new(),
            count: 0,
            last_of_host: None,
            outside: false,
        }
    }

    /// The operation of a name, unless the host has waited for it.
    pub(crate) fn get(&self, id: OperationId) -> Option<&Arc<OrderedOperation>> {
        self.operations.get(&id)
    }

    /// A kernel that the host has not waited for.
    pub(super) fn a_kernel(&self) -> Option<Arc<OrderedOperation>> {
        let kernels = self.operations.values().filter(|it| it.origin.kernel.is_some());
        kernels.min_by_key(|it| it.number).cloned()
    }

    /// Adds an operation that comes after others.
    pub(crate) fn add(
        &mut self,
        id: OperationId,
        device: usize,
        before: &[OperationId],
        origin: Origin,
    ) -> Arc<OrderedOperation> {
        let (clock, outside) = (self.host.clone(), self.outside);
        let operation = self.enter((id, Some(device)), before, origin, (clock, outside, Vec::new()));
        if let Some(device) = self.devices.get_mut(device) {
            operation.join_into(device);
        }
        operation
    }

    /// Adds an operation to others that a clock has.
    fn enter(
        &mut self,
        (id, device): (OperationId, Option<usize>),
        before: &[OperationId],
        origin: Origin,
        (mut clock, mut outside, within): (VectorClock, bool, Vec<Epoch>),
    ) -> Arc<OrderedOperation> {
        let mut timeline = None;
        outside |= origin.waits_outside;
        for earlier in before.iter().filter_map(|id| self.operations.get(id)) {
            earlier.join_into(&mut clock);
            outside |= earlier.outside;
            if self.is_last(earlier.epoch) {
                timeline = Some(earlier.epoch.timeline);
            }
        }
        let timeline = timeline.or_else(|| self.free_timeline(&clock)).unwrap_or_else(|| {
            self.last.push(0);
            Timeline(u32::try_from(self.last.len() - 1).unwrap_or(u32::MAX))
        });
        let epoch = self.next(timeline);
        self.count += 1;
        let number = self.count;
        let operation = Arc::new(OrderedOperation { epoch, clock, within, outside, number, device, origin });
        self.operations.insert(id, Arc::clone(&operation));
        operation
    }

    /// Adds a part of an operation, which comes after what that one comes after, and after other parts. It is
    /// of the same device if none is named. With a clock, it begins early: after that only.
    pub(crate) fn add_part(
        &mut self,
        (id, whole): (OperationId, OperationId),
        device: Option<usize>,
        before: &[OperationId],
        mut origin: Origin,
        early: Option<VectorClock>,
    ) -> Option<Arc<OrderedOperation>> {
        let whole = self.operations.get(&whole)?;
        (origin.stream, origin.launch) = (whole.origin.stream, whole.origin.launch);
        if origin.line == HostLine::NONE {
            origin.line = whole.origin.line;
        }
        let mut within = whole.within.clone();
        within.push(whole.epoch);
        let known = (early.unwrap_or_else(|| whole.clock.clone()), whole.outside, within);
        let device = device.or(whole.device);
        Some(self.enter((id, device), before, origin, known))
    }

    /// What an operation of a stream comes after that need not wait for the kernel of the stream that is
    /// `before` it, but for what that one waits for. `None` if no kernel is.
    pub(crate) fn without_kernel(&self, stream: StreamId, before: &[OperationId]) -> Option<VectorClock> {
        let known = || before.iter().filter_map(|id| self.operations.get(id));
        let is_it = |it: &Arc<OrderedOperation>| {
            it.origin.kernel.is_some() && it.origin.stream == Some(stream) && it.within.is_empty()
        };
        let kernel = known().find(|it| is_it(it))?;
        let mut clock = self.host.clone();
        clock.join(&kernel.clock);
        known().filter(|it| !is_it(it)).for_each(|it| it.join_into(&mut clock));
        Some(clock)
    }

    /// Adds a call of the host, which comes after what the host has waited for.
    pub(crate) fn add_host(&mut self, call: &'static str, line: HostLine) -> Arc<OrderedOperation> {
        let epoch = self.next(HOST);
        self.host.add(epoch);
        let origin = Origin { call, line, ..Origin::default() };
        self.count += 1;
        let (clock, number, outside) = (self.host.clone(), self.count, self.outside);
        let within = Vec::new();
        Arc::new(OrderedOperation { epoch, clock, within, outside, number, device: None, origin })
    }

    /// The same for an access of the host, which may go on with the last one: if it is of the same line, and
    /// nothing has begun since, and the host has waited for nothing.
    pub(super) fn same_host(&mut self, call: &'static str, line: HostLine) -> Arc<OrderedOperation> {
        let same = |it: &&Arc<OrderedOperation>| it.number == self.count && it.origin.line == line;
        let last = self.last_of_host.as_ref().filter(same).cloned();
        let operation = last.unwrap_or_else(|| self.add_host(call, line));
        self.last_of_host = Some(Arc::clone(&operation));
        operation
    }

    /// The host has waited for operations.
    pub(crate) fn host_waited(&mut self, ids: &[OperationId]) {
        for earlier in ids.iter().filter_map(|id| self.operations.get(id)) {
            earlier.join_into(&mut self.host);
            self.outside |= earlier.outside;
        }
        self.forget();
    }

    /// The operations of a device so far, for a wait that begins.
    pub(crate) fn of_device(&self, device: usize) -> VectorClock {
        self.devices.get(device).cloned().unwrap_or_default()
    }

    /// The host has waited for what a device had to do.
    pub(crate) fn host_waited_for_device(&mut self, clock: &VectorClock) {
        self.host.join(clock);
        self.outside |= self.operations.values().any(|it| it.outside && clock.covers(it.epoch));
        self.forget();
    }

    /// Whether the host has waited for an operation.
    pub(super) fn host_knows(&self, operation: &OrderedOperation) -> bool {
        operation.is_covered_by(&self.host)
    }

    /// Later operations come after the host, and so after these.
    fn forget(&mut self) {
        self.last_of_host = None;
        let host = &self.host;
        self.operations.retain(|_, it| !it.is_covered_by(host));
    }

    fn next(&mut self, timeline: Timeline) -> Epoch {
        let last = usize::try_from(timeline.0).ok().and_then(|at| self.last.get_mut(at));
        let sequence = last.map_or(1, |last| {
            *last += 1;
            *last
        });
        Epoch { timeline, sequence }
    }

    fn is_last(&self, epoch: Epoch) -> bool {
        let last = usize::try_from(epoch.timeline.0).ok().and_then(|at| self.last.get(at));
        last.is_some_and(|last| *last == epoch.sequence)
    }

    /// A timeline, but the host's, whose last operation a clock covers.
    fn free_timeline(&self, clock: &VectorClock) -> Option<Timeline> {
        let timelines = (0..).map(Timeline).zip(&self.last).skip(1);
        let mut covered = timelines
            .filter(|(timeline, last)| clock.covers(Epoch { timeline: *timeline, sequence: **last }));
        covered.next().map(|it| it.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(order: &OperationOrder, a: OperationId, b: OperationId) -> bool {
        order.get(b).unwrap().comes_after(order.get(a).unwrap())
    }

    #[test]
    fn an_operation_comes_after_its_dependencies_and_theirs_and_nothing_else() {
        let mut order = OperationOrder::new(1);
        for (id, before) in [(1, &[][..]), (2, &[]), (3, &[1]), (4, &[1]), (5, &[2, 3])] {
            order.add(id, 0, before, Origin::default());
        }
        let all = [1, 2, 3, 4, 5];
        let expected = [(1, 3), (1, 4), (1, 5), (2, 5), (3, 5)];
        for a in all {
            for b in all.into_iter().filter(|b| *b != a) {
                assert_eq!(ordered(&order, a, b), expected.contains(&(a, b)), "{a} {b}");
            }
        }
    }

    #[test]
    fn parts_have_an_order_of_their_own_and_come_before_all_that_comes_after_the_whole() {
        let mut order = OperationOrder::new(1);
        order.add(1, 0, &[], Origin::default());
        order.add(2, 0, &[1], Origin::default());
        order.add(7, 0, &[2], Origin::default());
        // Parts of 2, of which 6 is a part of 3.
        for (id, whole, before) in [(3, 2, &[][..]), (4, 2, &[3]), (5, 2, &[]), (6, 3, &[])] {
            order.add_part((id, whole), None, before, Origin::default(), None);
        }
        let all = [1, 3, 4, 5, 6, 7];
        let expected =
            [(1, 3), (1, 4), (1, 5), (1, 6), (1, 7), (3, 4), (6, 4), (3, 7), (4, 7), (5, 7), (6, 7)];
        for a in all {
            for b in all.into_iter().filter(|b| *b != a) {
                assert_eq!(ordered(&order, a, b), expected.contains(&(a, b)), "{a} {b}");
            }
        }
        order.host_waited(&[4]);
        assert!([1, 3, 4, 6].into_iter().all(|id| order.get(id).is_none()));
        assert!([2, 5, 7].into_iter().all(|id| order.get(id).is_some()));
        order.host_waited(&[7]);
        assert!(all.into_iter().all(|id| order.get(id).is_none()), "parts go with the whole");
    }

    #[test]
    fn whatever_follows_a_wait_outside_of_the_program_may_come_after_anything() {
        let mut order = OperationOrder::new(1);
        let waits = Origin { waits_outside: true, ..Origin::default() };
        order.add(1, 0, &[], Origin::default());
        order.add(2, 0, &[], waits);
        order.add(3, 0, &[2], Origin::default());
        order.add(4, 0, &[], Origin::default());
        assert!(ordered(&order, 1, 3) && !ordered(&order, 3, 1) && !ordered(&order, 1, 4));
        order.host_waited(&[3]);
        order.add(5, 0, &[], Origin::default());
        assert!(ordered(&order, 1, 5));
    }

    #[test]
    fn what_the_host_has_waited_for_comes_before_all_later_operations_and_its_timeline_goes_on() {
        let mut order = OperationOrder::new(2);
        order.add(1, 0, &[], Origin::default());
        order.add(2, 1, &[], Origin::default());
        let (first, second) = (Arc::clone(order.get(1).unwrap()), Arc::clone(order.get(2).unwrap()));
        let clock = order.of_device(0);
        order.host_waited_for_device(&clock);
        assert!(order.get(1).is_none() && order.get(2).is_some());
        order.add(3, 0, &[], Origin::default());
        let third = order.get(3).unwrap();
        assert!(third.comes_after(&first) && !third.comes_after(&second));
        assert_eq!(order.last.len(), 3, "the host's and two");
        let free = order.add_host("cudaFree", HostLine::NONE);
        assert!(free.comes_after(&first) && !free.comes_after(&second));
        order.add(4, 0, &[], Origin::default());
        assert!(order.get(4).unwrap().comes_after(&free));
    }
}
