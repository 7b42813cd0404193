//! Orders conflicting accesses of CUDA streams to memory.
//!
//! Two operations conflict if they touch the same bytes and one of them writes. The [tracker](Tracker) knows,
//! for every allocation, which stream last read or wrote which bytes, and for every stream what already
//! happens before its next operation. When an operation conflicts with one that nothing orders it after, the
//! missing wait is added ([`Policy::Order`]) or the operation refused ([`Policy::Error`]); when the host asks
//! for memory, it waits for the work that still uses it.
//!
//! There is no CUDA in this crate. It knows timelines of four kinds ([`Kind`]), grouped by a device number,
//! and the rule by which CUDA orders the legacy stream. An implementation of [`EventBackend`] records events and
//! waits for them.
//!
//! The order itself is Lamport's happens-before ("Time, Clocks, and the Ordering of Events in a Distributed
//! System", 1978), kept in vector clocks and epochs as FastTrack has them (Flanagan and Freund, "FastTrack:
//! Efficient and Precise Dynamic Race Detection", 2009).
//!
//! # The model
//! - A *timeline* is a stream's identity; it outlives the handle. Operations of a timeline are numbered by *sequence numbers*,
//!   which never start again: `submitted` is the last one that CUDA has, `completed` the last one known to be
//!   over. A timeline serves another stream only when all it submitted has completed, and
//!   all that it was made to wait for.
//! - A *epoch* is a timeline and a sequence number. A *clock* is, for each timeline, the last sequence number that something is ordered
//!   after.
//! - An allocation's *access history* keeps the epochs of the accesses that still matter, with their bytes.
//! - An event's *snapshot* is its stream's whole clock at the record, with the stream's own last sequence number.
//!
//! # Why it is sound
//! *Claim: when CUDA is handed an operation, whatever conflicts with it has been handed over before and is
//! ordered before it, or is over.*
//!
//! 1. **Nothing is overlooked.** Finding the conflicts in an access history and entering the own epoch are one atomic
//!    step. Of two operations that conflict, the later one in this order sees the earlier one, or an access
//!    that made it redundant. An entry is dropped only in favour of an access that conflicts with at least as
//!    much and is itself ordered after the entry, or once it has completed. So whoever is ordered after what
//!    is left is ordered after all.
//! 2. **Known means so.** A clock grows in four ways, each *after* the CUDA call that makes it true has
//!    returned: by a wait for an event, with the event's snapshot; by an added wait, with the other stream's
//!    clock and sequence number as they were read *before* the event was recorded; by the legacy rule, see 4; and by
//!    completion, which holds for everybody. An operation not yet handed over has a sequence number above `submitted`
//!    and so is in no clock: whoever meets it waits until it is published, and only then records.
//! 3. **Complete means so.** Watermarks are raised by what a successful synchronisation or query covers, read
//!    *before* the call. A stream's synchronisation covers its sequence numbers and its clock, an event's its snapshot,
//!    a device's all of its timelines.
//! 4. **The legacy rule.** An operation of the legacy stream comes after all that the device's blocking
//!    streams were given before, and theirs come after its. The legacy stream reads their sequence numbers and clocks
//!    before its own call; they take over what it knew at its last action. An action is an operation with
//!    accesses or an event record: of others it is not certain that the runtime does anything. (Of two with
//!    accesses it is certain that an H200 does nothing: a graph of empty nodes, and a discard of managed
//!    memory. They count as none.) For the same reason a stream keeps what it took over only once its own
//!    operation has succeeded, and if that fails, its sequence number counts as complete only by a later operation, an
//!    event or the whole device. Nothing says that the legacy stream waits for one that has been destroyed,
//!    or whose thread has ended: so before that can happen, it is made to wait for the stream's last event.
//!
//!    One thing the rule does not order, whatever CUDA's documents say: what a stream copies from pinned
//!    memory. An H200 (driver 580) reads at most 24,576 bytes in a row during the call where the stream
//!    itself has nothing to do, though the legacy stream still has something. So such a read counts as
//!    ordered only by what the stream's own queue holds: by events that it waits for, and by earlier
//!    operations of its own, which have come after all that the rule gave *them* ([`Access::at_call`]). Of a
//!    refused operation's sequence number that is not so.
//! 5. **Failure leaves epochs, never gaps.** An operation refused by CUDA, by the policy or by a panic has
//!    its sequence number published. Its stream has what it was ordered after in its queue already, so to order after
//!    the stream is to order after that. Where the order was still missing, the entries of the others stay in
//!    the access history until the wait is in place.
//! 6. **The host.** A guard is borrowed from the owner, so nobody enters new work on its bytes; it waits for
//!    what is in the access history until the completed sequence numbers cover that. What reaches memory without a borrow looks at
//!    the count of guards after it has entered its epoch, and a guard is counted before it looks at the
//!    epochs: one of the two sees the other.
//!
//! # Fast path and slow path
//! [`Tracker::begin_fast`] takes what most operations find: all that conflicts happens before the operation by
//! its stream's own order, or by the stream's clock. `submission` has its steps, by the names that the literature
//! has for them. It waits for nobody and adds no wait. All else takes [`Tracker::begin_slow`].
//!
//! For others to read, a stream's clock is one number as long as it tells of one operation of one other
//! stream: nobody locks anything then. It is stored after the call that makes it true, and read before the
//! event is recorded that it is to stand for.
//!
//! A whole allocation that is written through an exclusive borrow: its entry is stored and not exchanged.
//! Every access by a borrow is entered while that borrow lasts, so no other one is being entered; those
//! without a borrow are of graphs, which hold on to the allocation and thereby end this for good, and of
//! variables, which are never borrowed.
//!
//! # Why nothing waits for ever
//! A stream is locked while it is given something, and nobody who holds one such lock takes another. Ledgers
//! are entered in the order of their addresses, each in one step and only once, and before the next one is
//! entered, epochs that were there before and are not yet published are waited for. So whoever is waited for
//! stands at the same access history and came to it earlier, or at one further on: no circle. The fast path waits for
//! nobody: where it comes no further, its sequence number is given up, and the operation takes the slow path
//! with the next one. An operation cannot be started inside another's closure, nor in a host function. Who is
//! told of a call that fails (`logs::on_message`) is told in the middle of that call, on its thread, with all
//! locked that the call is made with. There, as in a host function, nothing is begun and nothing waited for,
//! and what is dropped takes the locks of lists alone: of the pool's streams and events, of what is to be
//! freed later. None of these is locked during a call.
//!
//! # What callers answer for
//! Memory safety of a crate that frees or lends memory by this tracker's word rests on all that the tracker
//! is told. A function is `unsafe` where a false statement makes a later answer false: that an operation was
//! given to a stream, that an event was recorded or waited for, that work has completed, that nobody else can
//! reach memory. All else only asks, or errs towards waiting.
//!
//! # How it is tested
//! Apart from [`lock`] and the system call in `primitives`, unsafe code does something in two places only:
//! call sites that notes of waits name are kept in atomics, and what a graph uses is listed beside what keeps
//! it. In all others it declares. `tests/model` runs 100,000 random programs against a model that knows
//! nothing but sets of operations, for too few waits and for too many; `tests/loom` every interleaving of two
//! and three threads, and `tests/lock_loom.rs` those of two and three that interval one lock (`ci/steps/loom`);
//! `tests/cost.rs` prints the cost.
//!
//! # What it costs more than it must
//! A wait can be added although the program had ordered the two: when the earlier operation failed and never
//! ran; when one allocation has more than 512 pieces in use at once; between threads that enter work at the
//! same moment; before a copy from pinned memory that CUDA's documents, but not its driver, put behind the
//! legacy stream's work; and between the left columns of all rows of an allocation and what is beside them in
//! the last row.

mod added_wait;
mod clock;
mod device;
mod entry;
pub mod happens_before;
mod history;
mod interval_list;
mod last_access;
pub mod lock;
mod operation_view;
mod policy;
mod prepared;
#[cfg(loom)]
#[doc(hidden)]
pub mod primitives;
#[cfg(not(loom))]
mod primitives;
mod retained;
mod snapshot;
mod submission;
mod timeline;
mod tracker;
mod wait_log;

pub use added_wait::{EventBackend, WaitMethod};
pub use clock::{Epoch, SequenceNumber, TimelineId};
pub use entry::{Conflict, FirstWrite, Mode};
pub use history::{Access, AccessHistory, RetainFn, RetainedResource};
pub use policy::Policy;

pub use device::Kind;
pub use prepared::{GroupId, RepeatedGroup, SortedAccesses};
pub use retained::{GraphAccesses, RetainedAccesses};
pub use snapshot::{EventClock, SubmittedSnapshot};
pub use submission::{Operation, Refusal, Submission};
pub use timeline::{Timeline, WaitTarget};
pub use tracker::{TooManyStreams, Tracker};
pub use wait_log::{AddedWait, CallSite, Hazard};
