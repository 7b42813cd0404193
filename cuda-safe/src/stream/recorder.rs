//! The capture that a thread makes: its branches, their order, and what the captured operations use.
//!
//! A program's stream is never captured itself. Each branch is a hidden stream that nobody else has, and a
//! stream of the program may *stand for* a branch: on the thread that captures, and until the capture ends,
//! its operations go to the hidden stream. Other threads use the stream as ever. The same holds for events:
//! a record in the capture is made with a hidden event and leaves the program's event as it is.
//!
//! # Why a graph with branches has no data race
//! Operations of one branch are ordered by its stream. Of two branches, the recorder knows the exact
//! happens-before relation ([`HappensBefore`]), because all records and waits in the capture pass through it.
//! From the first record on, it lists each operation with its accesses. An operation that conflicts with a
//! listed one that does not happen before it first waits for that branch, or is refused under
//! `Policy::Error`. Earlier operations need not be listed: all were captured on the first branch before any
//! event, and another branch begins after an event.
#![expect(unsafe_code, reason = "records events and waits for them on captured streams")]

use std::any::Any;
use std::cell::RefCell;
use std::mem;
use std::panic::Location;
use std::rc::Rc;

use cuda_hazard::happens_before::{self, Epoch, EventClock, HappensBefore};
use cuda_hazard::{Hazard, Kind, Operation, StreamName, Timeline};

use super::pool::{self, RawEvent};
use super::tracker::TRACKER;
use crate::device::Device;
use crate::error::{Detail, Error, OrRefused as _, Result};
use crate::hazard::{Access, GraphHistories, Policy, RetainedAccesses};
use crate::memory::retain;
use crate::thread_state::{is_capturing, set_capturing};
use crate::{check, sys};

thread_local! {
    /// The innermost capture that the thread makes.
    static CURRENT: RefCell<Option<Rc<Recorder>>> = const { RefCell::new(None) };
}

/// Returns the capture that the thread makes.
#[inline]
pub(crate) fn current() -> Option<Rc<Recorder>> {
    if is_capturing() { found() } else { None }
}

#[cold]
#[inline(never)]
fn found() -> Option<Rc<Recorder>> {
    CURRENT.try_with(|current| current.try_borrow().ok()?.clone()).ok()?
}

/// Refuses a call that the thread must not make while it makes a capture.
#[inline]
#[track_caller]
pub(crate) fn ensure_none(api: &'static str) -> Result<()> {
    if is_capturing() { Err(Error::refused(api, Detail::OUTSIDE_CAPTURE)) } else { Ok(()) }
}

/// The thread makes a capture as long as this lives.
pub(crate) struct Active(Option<Rc<Recorder>>);

impl Drop for Active {
    fn drop(&mut self) {
        set_capturing(self.0.is_some());
        let former = self.0.take();
        let _ = CURRENT.try_with(|current| current.replace(former));
    }
}

/// A capture of a thread.
pub(crate) struct Recorder {
    device: Device,
    priority: i32,
    branches: RefCell<Vec<Branch>>,
    state: RefCell<RecorderState>,
}

/// A branch: a hidden stream.
struct Branch {
    /// The stream that stands for it. A stream that is made after it was dropped has another name, also if
    /// it has the handle.
    name: StreamName,
    raw: sys::cudaStream_t,
    timeline: happens_before::Timeline,
    /// Where the program began it.
    begun: &'static Location<'static>,
    /// The owner of the hidden stream.
    _owner: Box<dyn Any>,
}

/// A hidden stream, and its timeline in the order of the capture.
type OrderedStream = (sys::cudaStream_t, happens_before::Timeline);

#[derive(Default)]
struct RecorderState {
    /// Those of each captured operation.
    accesses: Vec<RetainedAccesses>,
    order: HappensBefore,
    /// The hidden events.
    marks: Vec<RawEvent>,
    /// The last record of each of the program's events, by their numbers. New events reuse handles.
    events: Vec<(u64, Mark)>,
    /// The last operation of each branch.
    last: Vec<Epoch>,
    /// The operations since the first record, and their access histories.
    steps: Vec<RecordedStep>,
    histories: GraphHistories,
}

/// A record in the capture.
#[derive(Clone)]
pub(super) struct Mark {
    raw: sys::cudaEvent_t,
    clock: EventClock,
}

/// A captured operation.
struct RecordedStep {
    epoch: Epoch,
    call_site: &'static Location<'static>,
}

impl Recorder {
    /// Makes the recorder of a capture for a device. It has no branch. Forks have this priority.
    pub(crate) fn new(device: Device, priority: i32) -> Rc<Self> {
        Rc::new(Self { device, priority, branches: RefCell::default(), state: RefCell::default() })
    }

    /// Makes this the capture of the thread.
    pub(crate) fn activate(self: &Rc<Self>) -> Active {
        set_capturing(true);
        Active(CURRENT.with(|current| current.replace(Some(Rc::clone(self)))))
    }

    /// Returns the device of the capture.
    pub(crate) fn device(&self) -> Device {
        self.device
    }

    /// Returns the priority of forks.
    pub(crate) fn priority(&self) -> i32 {
        self.priority
    }

    /// Returns all captured accesses, and forgets them.
    pub(crate) fn take_accesses(&self) -> RetainedAccesses {
        let taken = self.state.try_borrow_mut().map(|mut state| mem::take(&mut state.accesses));
        taken.unwrap_or_default().iter().collect()
    }

    /// Adds a branch. The stream with the timeline `name` stands for it.
    ///
    /// # Safety
    /// The stream `raw` is being captured, or about to be. It lives as long as `owner`, and nobody else
    /// uses it.
    #[track_caller]
    pub(crate) unsafe fn add_branch(
        &self,
        name: &Timeline,
        raw: sys::cudaStream_t,
        owner: Box<dyn Any>,
    ) -> Result<()> {
        let timeline = self.state()?.order.timeline(self.device.as_raw(), Kind::NonBlocking);
        let mut branches = self.branches.try_borrow_mut().ok().or_refused("capture", || Detail::NESTED)?;
        let (name, begun) = (name.stream_name(), Location::caller());
        branches.push(Branch { name, raw, timeline, begun, _owner: owner });
        Ok(())
    }

    /// Returns the hidden stream that a stream stands for, or `None` if it is not part of the capture.
    pub(super) fn raw_of(&self, name: &Timeline) -> Option<sys::cudaStream_t> {
        self.branch(name).map(|(raw, _)| raw)
    }

    fn branch(&self, name: &Timeline) -> Option<OrderedStream> {
        let name = name.stream_name();
        let branches = self.branches.try_borrow().ok()?;
        branches.iter().find(|branch| branch.name == name).map(|branch| (branch.raw, branch.timeline))
    }

    /// Returns the branch of a stream that must be part of the capture.
    #[track_caller]
    fn branch_of(&self, api: &'static str, name: &Timeline) -> Result<OrderedStream> {
        match self.branch(name) {
            Some(branch) => Ok(branch),
            None => Err(Error::refused(api, Detail::OUTSIDE_CAPTURE)),
        }
    }

    #[track_caller]
    fn state(&self) -> Result<std::cell::RefMut<'_, RecorderState>> {
        self.state.try_borrow_mut().ok().or_refused("capture", || Detail::NESTED)
    }

    /// Records the accesses of an operation that is about to be captured, and orders it after the operations
    /// of other branches that it conflicts with.
    ///
    /// # Errors
    /// - `Capture` if the stream is not part of the capture.
    /// - `Argument` if the memory cannot be retained for as long as the graph lives. That includes all memory
    ///   that no access names: a borrow of it ends long before the graph.
    /// - `Hazard` under `Policy::Error`.
    /// - The runtime's error.
    ///
    /// After an error the operation is not captured.
    pub(super) fn note(
        &self,
        name: &Timeline,
        operation: Operation<'_, '_>,
        call_site: &'static Location<'static>,
    ) -> Result<()> {
        let (raw, timeline) = self.branch_of("enqueue", name)?;
        let accesses = operation.accesses();
        let mut uses = RetainedAccesses::default();
        if operation.has_untracked() || !accesses.iter().all(|access| uses.add(access, || retain(access))) {
            return Err(Error::refused("capture", Detail::NOT_RETAINED));
        }
        while let Some((other, first)) = self.unordered(timeline, &uses)? {
            match TRACKER.policy() {
                Policy::Off => break,
                Policy::Error => {
                    let detail = Detail::hazard(Some(first), call_site);
                    return Err(Error::refused("enqueue", detail));
                }
                _ => {
                    let mark = self.mark(other)?;
                    self.follow((raw, timeline), &mark)?;
                }
            }
        }
        let state = &mut *self.state()?;
        // No branch but the first one before the first event.
        let is_listed = !state.marks.is_empty() && !accesses.is_empty();
        if is_listed {
            let (order, steps) = (&state.order, &state.steps);
            let is_before = |step: usize| order.is_before_next(steps[step].epoch, timeline);
            state.histories.enter(steps.len(), &uses, is_before);
        }
        let epoch = state.order.operate(timeline);
        if is_listed {
            state.steps.push(RecordedStep { epoch, call_site });
        }
        state.last.retain(|last| last.timeline != timeline);
        state.last.push(epoch);
        state.accesses.push(uses);
        Ok(())
    }

    /// Returns the stream of a listed operation that conflicts with these accesses and does not happen before
    /// the next operation of `timeline`, and its call site.
    fn unordered(
        &self,
        timeline: happens_before::Timeline,
        uses: &RetainedAccesses,
    ) -> Result<Option<(OrderedStream, &'static Location<'static>)>> {
        let state = self.state()?;
        if state.steps.is_empty() {
            return Ok(None);
        }
        let before = state.histories.before(uses);
        let is_open = |step: &usize| !state.order.is_before_next(state.steps[*step].epoch, timeline);
        let Some(step) = before.iter().copied().filter(is_open).min() else { return Ok(None) };
        let step = &state.steps[step];
        let branches = self.branches.try_borrow().ok().or_refused("capture", || Detail::NESTED)?;
        let of_step = branches.iter().find(|branch| branch.timeline == step.epoch.timeline);
        Ok(of_step.map(|branch| ((branch.raw, branch.timeline), step.call_site)))
    }

    /// Returns the hazard of an operation at `call_site` that has only this access, as `note` would find it.
    pub(super) fn hazard_of(
        &self,
        name: &Timeline,
        access: Access<'_>,
        call_site: &'static Location<'static>,
    ) -> Option<Hazard> {
        let (_, timeline) = self.branch(name)?;
        let mut uses = RetainedAccesses::default();
        let is_retained = uses.add(&access, || retain(&access));
        let (_, first) = self.unordered(timeline, &uses).ok().filter(|_| is_retained)??;
        Some(Hazard { first: Some(first), second: call_site })
    }

    /// Returns where the program began a branch whose last operation does not come before the end of the
    /// first branch, which ends the capture.
    pub(crate) fn unjoined(&self) -> Option<&'static Location<'static>> {
        let (state, branches) = (self.state.try_borrow().ok()?, self.branches.try_borrow().ok()?);
        let first = branches.first()?.timeline;
        let open = state.last.iter().find(|last| !state.order.is_before_next(**last, first))?;
        Some(branches.iter().find(|branch| branch.timeline == open.timeline)?.begun)
    }

    /// Records a hidden event on a branch.
    #[track_caller]
    fn mark(&self, (stream, timeline): OrderedStream) -> Result<Mark> {
        let event = pool::event(self.device, sys::cudaEventDisableTiming)?;
        let raw = event.0;
        // Returned to the pool with the others, even if the call fails.
        self.state()?.marks.push(event);
        // SAFETY: the recorder owns the event, and the stream lives as long as the recorder.
        unsafe { check!(cudaEventRecord(raw, stream)) }?;
        Ok(Mark { raw, clock: self.state()?.order.record(timeline) })
    }

    /// Makes a branch wait for a hidden event.
    #[track_caller]
    fn follow(&self, (stream, timeline): OrderedStream, mark: &Mark) -> Result<()> {
        // SAFETY: the recorder owns the event, and the stream lives as long as the recorder.
        unsafe { check!(cudaStreamWaitEvent(stream, mark.raw, 0)) }?;
        self.state()?.order.wait(timeline, &mark.clock);
        Ok(())
    }

    /// Records an event of the program on a stream of the capture.
    #[track_caller]
    pub(super) fn record(&self, api: &'static str, name: &Timeline, event: u64) -> Result<()> {
        let mark = self.mark(self.branch_of(api, name)?)?;
        let mut state = self.state()?;
        state.events.retain(|(recorded, _)| *recorded != event);
        state.events.push((event, mark));
        Ok(())
    }

    /// Returns the record of an event of the program in this capture.
    #[track_caller]
    pub(super) fn recorded(&self, api: &'static str, event: u64) -> Result<Mark> {
        let state = self.state()?;
        let found = state.events.iter().find(|(recorded, _)| *recorded == event);
        match found {
            Some((_, mark)) => Ok(mark.clone()),
            None => {
                let refused = Error::refused(api, Detail::OUTSIDE_CAPTURE);
                Err(refused.with_code(sys::cudaErrorStreamCaptureIsolation))
            }
        }
    }

    /// Refuses a query of an event that was recorded in this capture.
    #[track_caller]
    pub(super) fn ensure_not_recorded(&self, api: &'static str, event: u64) -> Result<()> {
        // No closure, which would hide the caller.
        if self.recorded(api, event).is_ok() { Err(Error::refused(api, Detail::CAPTURING)) } else { Ok(()) }
    }

    /// Records a hidden event on the branch of a stream.
    #[track_caller]
    pub(super) fn mark_of(&self, api: &'static str, name: &Timeline) -> Result<Mark> {
        self.mark(self.branch_of(api, name)?)
    }

    /// Makes the branch of a stream wait for a record.
    #[track_caller]
    pub(super) fn wait(&self, api: &'static str, name: &Timeline, mark: &Mark) -> Result<()> {
        self.follow(self.branch_of(api, name)?, mark)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        for mark in self.state.get_mut().marks.drain(..) {
            pool::return_event(self.device, sys::cudaEventDisableTiming, mark);
        }
    }
}
