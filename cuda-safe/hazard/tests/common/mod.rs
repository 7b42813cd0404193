//! A tracker without memory behind its access histories: nothing that these tests state to it is unsafe. And
//! the model of the devices.
#![allow(dead_code, reason = "each program uses a part")]
#![expect(unsafe_code, reason = "states to the tracker what the model has done")]

pub(crate) mod machine;

use std::ops::Deref;

use cuda_hazard::{
    Access, AccessHistory, CallSite, Epoch, EventBackend, EventClock, FirstWrite, Kind, Operation, Policy,
    Refusal, SequenceNumber, SharedEvent, SortedAccesses, StreamAccesses, Submission, SubmittedSnapshot,
    Timeline, TooManyStreams, WaitTarget,
};

/// [`cuda_hazard::Tracker`] whose functions are safe to call.
pub(crate) struct Tracker(cuda_hazard::Tracker);

impl Deref for Tracker {
    type Target = cuda_hazard::Tracker;

    fn deref(&self) -> &cuda_hazard::Tracker {
        &self.0
    }
}

macro_rules! forward {
    ($(fn $name:ident $([$($generics:tt)*])? (&self $(, $argument:ident: $type:ty)*) $(-> $answer:ty)?;)*) => {
        $(
            pub(crate) fn $name $(<$($generics)*>)? (&self $(, $argument: $type)*) $(-> $answer)? {
                // SAFETY: no memory depends on it.
                unsafe { self.0.$name($($argument),*) }
            }
        )*
    };
}

impl Tracker {
    #[cfg(not(loom))]
    pub(crate) const fn new(initial: fn() -> Policy) -> Self {
        Self(cuda_hazard::Tracker::new(initial))
    }

    #[cfg(loom)]
    pub(crate) fn new(initial: fn() -> Policy) -> Self {
        Self(cuda_hazard::Tracker::new(initial))
    }

    forward! {
        fn add_timeline(&self, device: i32, kind: Kind, reach: WaitTarget) -> Result<&Timeline, TooManyStreams>;
        fn legacy(&self, device: i32, reach: WaitTarget) -> Result<&Timeline, TooManyStreams>;
        fn retire(&self, timeline: &Timeline, reach: WaitTarget);
        fn set_policy(&self, policy: Policy) -> Option<Policy>;
        fn completed_all(&self, snapshot: &SubmittedSnapshot);
        fn completed_event(&self, event_clock: &EventClock);
        fn prune(&self, access: Access<'_>);
        fn record[E](&self, timeline: &Timeline, call: impl FnOnce() -> Result<(), E>) -> Result<EventClock, E>;
        fn record_last[E](&self, timeline: &Timeline, call: impl FnOnce() -> Result<(), E>) -> Result<(), E>;
        fn wait[E](&self, timeline: &Timeline, event_clock: &EventClock, call: impl FnOnce() -> Result<(), E>) -> Result<(), E>;
    }

    forward! {
        fn record_shared[E](&self, timeline: &Timeline, event: &SharedEvent, call: impl FnOnce() -> Result<(), E>) -> Result<(), E>;
        fn wait_shared[E](&self, timeline: &Timeline, event: &SharedEvent, call: impl FnOnce() -> Result<(), E>) -> Result<(), E>;
        fn completed_shared(&self, event: &SharedEvent, record: SequenceNumber);
    }

    /// Begins an operation that frees memory; see [`cuda_hazard::Tracker::begin_free`].
    pub(crate) fn begin_free(
        &self,
        history: &AccessHistory,
        device: i32,
    ) -> Option<(Submission<'_>, impl Deref<Target = WaitTarget>)> {
        // SAFETY: no memory depends on it.
        unsafe { self.0.begin_free(history, device) }
    }

    /// Begin, call, commit.
    pub(crate) fn submit<P: EventBackend, R>(
        &self,
        timeline: &Timeline,
        operation: Operation<'_, '_>,
        backend: &P,
        at: CallSite,
        call: impl FnOnce() -> Result<R, P::Error>,
    ) -> Result<(R, Epoch), Refusal<P::Error>> {
        // SAFETY: no memory depends on it.
        let submission = match unsafe { self.0.begin_fast(timeline, operation) } {
            Some(submission) => submission,
            // SAFETY: no memory depends on it.
            None => unsafe { self.0.begin_slow(timeline, operation, backend, at) }?,
        };
        let epoch = Epoch { timeline: timeline.id, sequence: timeline.submitted() + 1 };
        let answer = call().map_err(Refusal::Call)?;
        submission.commit(true);
        Ok((answer, epoch))
    }

    pub(crate) fn enqueue<P: EventBackend, R>(
        &self,
        timeline: &Timeline,
        accesses: &[Access<'_>],
        acts: bool,
        backend: &P,
        at: CallSite,
        call: impl FnOnce() -> Result<R, P::Error>,
    ) -> Result<(R, Epoch), Refusal<P::Error>> {
        let operation = if acts { Operation::new(accesses) } else { Operation::mark(accesses) };
        self.submit(timeline, operation, backend, at, call)
    }

    pub(crate) fn enqueue_sorted<P: EventBackend, R>(
        &self,
        timeline: &Timeline,
        accesses: &SortedAccesses<'_>,
        backend: &P,
        at: CallSite,
        call: impl FnOnce() -> Result<R, P::Error>,
    ) -> Result<(R, Epoch), Refusal<P::Error>> {
        self.submit(timeline, Operation::prepared(accesses), backend, at, call)
    }

    /// Submits one operation to several streams.
    pub(crate) fn enqueue_all<'s, P: EventBackend, R>(
        &'s self,
        parts: &[StreamAccesses<'s, '_, '_, P>],
        at: CallSite,
        call: impl FnOnce() -> Result<R, P::Error>,
    ) -> Result<R, Refusal<P::Error>> {
        // SAFETY: no memory depends on it.
        let submissions = unsafe { self.0.begin_all(parts, at) }?;
        let answer = call().map_err(Refusal::Call)?;
        for submission in submissions {
            submission.commit(true);
        }
        Ok(answer)
    }

    /// Submits an operation that makes memory.
    pub(crate) fn enqueue_first<E>(
        &self,
        timeline: &Timeline,
        at: CallSite,
        call: impl FnOnce() -> Result<(), E>,
    ) -> Result<FirstWrite, E> {
        // SAFETY: no memory depends on it.
        let submission = unsafe { self.0.begin_fast(timeline, Operation::new(&[])) };
        // Nothing conflicts with an operation without accesses.
        let submission = submission.unwrap();
        call()?;
        Ok(self.0.commit_first(submission, at))
    }

    /// Begins an operation that may take the fast path only.
    pub(crate) fn begin_fast<'a>(
        &'a self,
        timeline: &'a Timeline,
        accesses: &SortedAccesses<'_>,
    ) -> Option<Submission<'a>> {
        // SAFETY: no memory depends on it.
        unsafe { self.0.begin_fast(timeline, Operation::prepared(accesses)) }
    }
}

/// Returns the access as one by an exclusive borrow.
pub(crate) fn exclusive(access: Access<'_>) -> Access<'_> {
    // SAFETY: no memory depends on it.
    unsafe { access.exclusive() }
}

/// Notes that everything that a stream was given has completed.
pub(crate) fn complete(timeline: &Timeline) {
    // SAFETY: no memory depends on it.
    unsafe { timeline.complete(timeline.submitted()) };
}

/// A backend that orders nothing, as there is nothing to order.
pub(crate) struct NoBackend;

// SAFETY: no memory depends on it.
unsafe impl EventBackend for NoBackend {
    type Error = ();

    fn order(
        &self,
        _waiter: &Timeline,
        _other: &Timeline,
        _: &mut usize,
    ) -> Result<cuda_hazard::WaitMethod, ()> {
        Ok(cuda_hazard::WaitMethod::Stream)
    }
}
