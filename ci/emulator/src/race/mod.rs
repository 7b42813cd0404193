//! Races: operations that touch the same bytes, at least one of which writes, and that nothing orders.
//!
//! The order is happens-before, by the vector clocks and epochs of `cuda-hazard` ([`order`]): what the
//! program has ordered, whatever the schedule did. Each operation's accesses are recorded when it runs, and
//! compared with those of earlier ones ([`history`]). A kernel's are collected while it runs ([`touched`]).
//! Accesses by atomic, volatile and other strong instructions do not race with each other if the scope of
//! each reaches the other: `.gpu` reaches its device, and only `.sys` other devices and the host.
//!
//! The host counts as one thread: what one thread has waited for, all later calls of all threads come after.
//! Otherwise a program whose threads wait for each other would be reported. For the same reason, what happens
//! before a host function is known to the host when the function is called.

pub(crate) mod fault;
pub(crate) mod flags;
pub(crate) mod guard;
mod history;
pub(crate) mod instruction;
mod order;
mod touched;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

pub(crate) use history::{AccessMode, Span};
pub(crate) use order::{OrderedOperation, Origin};
pub(crate) use touched::Touched;

use flags::Flags;

use crate::finding::{Finding, Subject};
use crate::host_line::HostLine;
use crate::memory::Allocation;
use crate::stream::OperationId;
use history::{AccessRecord, Histories};
use order::OperationOrder;

/// How many stream-ordered frees are remembered.
const FREED: usize = 256;

/// The races of one process.
#[derive(Debug)]
pub(crate) struct Races {
    pub(crate) order: OperationOrder,
    histories: Histories,
    /// The accesses so far of kernels that run.
    pub(crate) running: HashMap<OperationId, Touched>,
    /// Host functions that are pending or run.
    pub(crate) functions: BTreeMap<OperationId, Arc<OrderedOperation>>,
    /// The memory that was freed, and by what.
    freed: VecDeque<(Allocation, Arc<OrderedOperation>)>,
    pub(crate) flags: Flags,
    reported: HashSet<[(HostLine, String); 2]>,
}

impl Races {
    pub(crate) fn new(devices: usize) -> Self {
        Self {
            order: OperationOrder::new(devices),
            histories: Histories::default(),
            running: HashMap::new(),
            functions: BTreeMap::new(),
            freed: VecDeque::new(),
            flags: Flags::default(),
            reported: HashSet::new(),
        }
    }

    /// Records that an operation has accessed bytes of an allocation (`None`: of pageable memory), and
    /// reports the races.
    pub(crate) fn accessed(
        &mut self,
        operation: &Arc<OrderedOperation>,
        allocation: Option<&Allocation>,
        mode: AccessMode,
        spans: Vec<Span>,
    ) {
        let record = AccessRecord { operation: Arc::clone(operation), mode, spans };
        let serial = allocation.map_or(0, |it| it.serial);
        for (earlier, bytes) in self.histories.enter(serial, record) {
            self.report(&earlier, operation, mode, bytes, allocation);
        }
    }

    /// Records that an operation ends the life of an allocation, and reports the races.
    pub(crate) fn frees(&mut self, operation: &Arc<OrderedOperation>, allocation: &Allocation) {
        self.accessed(operation, Some(allocation), AccessMode::Free, vec![whole(allocation)]);
        self.histories.forget(allocation.serial);
        if self.freed.len() == FREED {
            self.freed.pop_front();
        }
        self.freed.push_back((allocation.clone(), Arc::clone(operation)));
    }

    /// Reports an access to memory that was freed, if the free is not ordered before it.
    pub(crate) fn touches_freed(&mut self, operation: &Arc<OrderedOperation>, address: u64) {
        let found = self.freed.iter().rev().find(|it| it.0.contains(address));
        let Some((gone, free)) = found.filter(|it| !operation.comes_after(&it.1)).cloned() else { return };
        let span = Span { start: address, end: address + 1, source: None };
        let earlier = AccessRecord { operation: free, mode: AccessMode::Free, spans: Vec::new() };
        self.report(&earlier, operation, AccessMode::Use, (span.clone(), span), Some(&gone));
    }

    /// Records an access of the host by a system call, in a host function or elsewhere.
    pub(crate) fn host_called(
        &mut self,
        allocation: &Allocation,
        (address, bytes, writes): (u64, u64, bool),
        function: Option<OperationId>,
        line: HostLine,
    ) {
        let mode = if writes { AccessMode::Write } else { AccessMode::Read };
        let function = function.and_then(|id| self.functions.get(&id)).cloned();
        let operation = function.unwrap_or_else(|| self.order.add_host("a system call of the host", line));
        self.accessed(&operation, Some(allocation), mode, vec![Span::new(address, bytes)]);
    }

    /// Records an access of the host by an instruction, in a host function or elsewhere.
    pub(crate) fn host_accessed(
        &mut self,
        allocation: &Allocation,
        (address, bytes, writes): (u64, u64, bool),
        function: Option<OperationId>,
        line: HostLine,
    ) {
        let mode = if writes { AccessMode::HostWrite } else { AccessMode::HostRead };
        let function = function.and_then(|id| self.functions.get(&id)).cloned();
        let operation = function.unwrap_or_else(|| self.order.same_host("the host", line));
        self.accessed(&operation, Some(allocation), mode, vec![Span::new(address, bytes)]);
    }

    /// Reports an access of the host to managed memory while a kernel may run, of a device where that ends
    /// the process.
    pub(crate) fn touches_managed(
        &mut self,
        allocation: &Allocation,
        (address, writes): (u64, bool),
        line: HostLine,
    ) {
        let Some(kernel) = self.order.a_kernel() else { return };
        let key = [(line, "managed memory".to_owned()), (kernel.origin.line, String::new())];
        if !self.reported.insert(key) {
            return;
        }
        let verb = if writes { "writes" } else { "reads" };
        let byte = address - allocation.start;
        let what = format!(
            "the host {verb} byte {byte} of {allocation} while {} may run. Devices without concurrent \
             managed access end the process here, whatever memory the kernel uses",
            kernel.origin
        );
        let advice = "Wait first: cudaStreamSynchronize or cudaDeviceSynchronize.";
        let finding = Finding::new(Subject::Pointer, what, advice).part("the access", line);
        finding.part("the launch", kernel.origin.line).part("the memory", allocation.line).report();
    }

    /// Whether an operation comes after a host function that is pending or runs.
    pub(crate) fn follows_function(&self, operation: &OrderedOperation) -> bool {
        self.functions.values().any(|function| operation.comes_after(function))
    }

    /// Opens pages of memory for the host that are used by operations that it has waited for.
    pub(crate) fn release_guards(&self) {
        guard::release(|operation| self.order.host_knows(operation));
    }

    /// Forgets what no later operation can race with, if no operation is pending.
    pub(crate) fn forget_known(&mut self) {
        self.flags.clear();
        let order = &self.order;
        self.histories.retain(|record| !order.host_knows(&record.operation));
        self.freed.retain(|it| !order.host_knows(&it.1));
    }

    fn report(
        &mut self,
        earlier: &AccessRecord,
        later: &Arc<OrderedOperation>,
        mode: AccessMode,
        (first, second): (Span, Span),
        allocation: Option<&Allocation>,
    ) {
        let mut both = [(&earlier.operation, earlier.mode, first), (later, mode, second)];
        both.sort_by_key(|it| it.0.number);
        let [(a, ..), (b, ..)] = &both;
        if !self.reported.insert([a, b].map(|it| (it.origin.line, it.origin.by.clone()))) {
            return;
        }
        let base = allocation.map_or(0, |it| it.start);
        let memory = allocation.map_or_else(|| "pageable memory".to_owned(), ToString::to_string);
        let what =
            format!("nothing orders {} and {}, which use the same bytes of {memory}", a.origin, b.origin);
        let by_host = both.iter().any(|(operation, ..)| operation.origin.stream.is_none());
        let by_kernel = both.iter().any(|(operation, ..)| !operation.origin.by.is_empty());
        let reaches = both.iter().all(|(_, mode, _)| !mode.misses_host());
        let advice = if by_kernel {
            "Order them: one stream of the kernel for both, an event between its streams, or \
             cudaStreamTailLaunch for what comes after a kernel and all that it launches."
        } else if by_host && !reaches {
            "The host must wait first: cudaStreamSynchronize, cudaEventSynchronize, or a call that waits. \
             While the kernel runs, only instructions of system scope reach the host: atomicAdd_system, \
             volatile accesses, cuda::atomic with thread_scope_system."
        } else if by_host {
            "The host must wait first: cudaStreamSynchronize, cudaEventSynchronize, or a call that waits."
        } else {
            "Order them: an event recorded behind the first and a wait of the other's stream, one stream for \
             both, or a synchronisation in between."
        };
        let mut finding = Finding::new(Subject::Race, what, advice);
        for (operation, mode, span) in both {
            let bytes = if mode.has_bytes() {
                format!(" bytes {} to {}", span.start - base, span.end - base)
            } else {
                String::new()
            };
            let code = span.source.and_then(|source| source.place());
            let source = code.as_ref().map_or_else(String::new, |code| {
                format!(" ({})", code.to_string().trim_start().trim_start_matches("at "))
            });
            let what = format!("{} {}{bytes}{source}", operation.origin, mode.verb());
            finding = finding.part(what, operation.origin.line).code(code);
            if !operation.origin.by.is_empty() {
                finding = finding.part(format!("    started by {}", operation.origin.by), HostLine::NONE);
            }
            if operation.origin.launch != HostLine::NONE {
                finding = finding.part("    in a graph that is launched", operation.origin.launch);
            }
        }
        if let Some(it) = allocation {
            finding = finding.part("the memory", it.line);
        }
        finding.report();
    }
}

/// All bytes of an allocation.
pub(crate) fn whole(it: &Allocation) -> Span {
    Span { start: it.start, end: it.end(), source: None }
}
