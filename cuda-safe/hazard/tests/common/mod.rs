//! A tracker that may be told anything: no memory is behind the access histories of these tests, so nothing
//! is unsafe about it. And the model of the devices.
#![allow(dead_code, reason = "each program uses a part")]
#![expect(unsafe_code, reason = "tells the tracker what the model has done")]

pub(crate) mod machine;

use std::ops::Deref;

use cuda_hazard::{
    Access, Books, Coverage, First, Kind, Operation, Place, Policy, Port, Reach, Refusal, Repeat, Slot,
    Snapshot, Sorted, Stamp, Submission, TooManyStreams,
};

/// [`Books`] whose functions are safe to call.
pub(crate) struct Tracker(Books);

impl Deref for Tracker {
    type Target = Books;

    fn deref(&self) -> &Books {
        &self.0
    }
}

macro_rules! told {
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
        Self(Books::new(initial))
    }

    #[cfg(loom)]
    pub(crate) fn new(initial: fn() -> Policy) -> Self {
        Self(Books::new(initial))
    }

    told! {
        fn enrol(&self, device: i32, kind: Kind, reach: Reach) -> Result<&Slot, TooManyStreams>;
        fn legacy(&self, device: i32, reach: Reach) -> Result<&Slot, TooManyStreams>;
        fn dismiss(&self, slot: &Slot, reach: Reach);
        fn set_policy(&self, policy: Policy) -> Option<Policy>;
        fn completed_all(&self, coverage: &Coverage);
        fn completed_snapshot(&self, snapshot: &Snapshot);
        fn prune(&self, access: Access<'_>);
        fn record[E](&self, slot: &Slot, call: impl FnOnce() -> Result<(), E>) -> Result<Snapshot, E>;
        fn record_last[E](&self, slot: &Slot, call: impl FnOnce() -> Result<(), E>) -> Result<(), E>;
        fn wait[E](&self, slot: &Slot, snapshot: &Snapshot, call: impl FnOnce() -> Result<(), E>) -> Result<(), E>;
    }

    /// Begin, call, commit.
    pub(crate) fn submit<P: Port, R>(
        &self,
        slot: &Slot,
        operation: Operation<'_, '_>,
        port: &P,
        at: Place,
        call: impl FnOnce() -> Result<R, P::Error>,
    ) -> Result<(R, Stamp), Refusal<P::Error>> {
        // SAFETY: no memory depends on it.
        let submission = match unsafe { self.0.begin_fast(slot, operation) } {
            Some(submission) => submission,
            // SAFETY: as above.
            None => unsafe { self.0.begin_slow(slot, operation, port, at) }?,
        };
        let stamp = Stamp { slot: slot.id, tick: slot.submitted() + 1 };
        let answer = call().map_err(Refusal::Call)?;
        submission.commit(true);
        Ok((answer, stamp))
    }

    pub(crate) fn enqueue<P: Port, R>(
        &self,
        slot: &Slot,
        accesses: &[Access<'_>],
        acts: bool,
        port: &P,
        at: Place,
        call: impl FnOnce() -> Result<R, P::Error>,
    ) -> Result<(R, Stamp), Refusal<P::Error>> {
        let operation = if acts { Operation::new(accesses) } else { Operation::mark(accesses) };
        self.submit(slot, operation, port, at, call)
    }

    pub(crate) fn enqueue_sorted<P: Port, R>(
        &self,
        slot: &Slot,
        accesses: &Sorted<'_>,
        port: &P,
        at: Place,
        call: impl FnOnce() -> Result<R, P::Error>,
    ) -> Result<(R, Stamp), Refusal<P::Error>> {
        self.submit(slot, Operation::prepared(accesses), port, at, call)
    }

    /// An operation that makes memory.
    pub(crate) fn enqueue_first<E>(
        &self,
        slot: &Slot,
        at: Place,
        call: impl FnOnce() -> Result<(), E>,
    ) -> Result<First, E> {
        // SAFETY: no memory depends on it.
        let submission = unsafe { self.0.begin_fast(slot, Operation::new(&[])) };
        // Nothing stands against an operation without accesses.
        let submission = submission.unwrap();
        call()?;
        Ok(self.0.commit_first(submission, at))
    }

    pub(crate) fn begin_repeated<'a>(
        &'a self,
        slot: &'a Slot,
        repeats: &[Repeat<'_, '_>],
    ) -> Option<Submission<'a>> {
        // SAFETY: no memory depends on it.
        unsafe { self.0.begin_repeated(slot, repeats) }
    }
}

/// As one by an exclusive borrow.
pub(crate) fn exclusive(access: Access<'_>) -> Access<'_> {
    // SAFETY: no memory depends on it.
    unsafe { access.exclusive() }
}

/// All that a stream was given is over.
pub(crate) fn complete(slot: &Slot) {
    // SAFETY: no memory depends on it.
    unsafe { slot.complete(slot.submitted()) };
}

/// Orders nothing, as there is nothing to order.
pub(crate) struct NoPort;

// SAFETY: no memory depends on it.
unsafe impl Port for NoPort {
    type Error = ();

    fn order(&self, _waiter: &Slot, _other: &Slot, _: &mut usize) -> Result<cuda_hazard::Route, ()> {
        Ok(cuda_hazard::Route::Stream)
    }
}
