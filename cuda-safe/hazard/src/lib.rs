//! Orders conflicting accesses of CUDA streams to memory.
//!
//! Two operations *conflict* if they touch the same bytes and at least one of them writes. The
//! [tracker](Tracker) records, for every allocation, which stream last read or wrote which bytes, and for
//! every stream, what happens before its next operation. If nothing orders an operation after one that it
//! conflicts with, the tracker adds the missing wait ([`Policy::Order`]) or refuses the operation
//! ([`Policy::Error`]). If the host asks for memory, it waits for the work that still uses the memory.
//!
//! This crate contains no CUDA. It knows timelines of four kinds ([`Kind`]), grouped by a device number, and
//! the rule by which CUDA orders the legacy stream. An implementation of [`EventBackend`] records events and
//! makes streams wait for them.
//!
//! The order is Lamport's happens-before ("Time, Clocks, and the Ordering of Events in a Distributed System",
//! 1978), represented by vector clocks and epochs as in FastTrack (Flanagan and Freund, "FastTrack: Efficient
//! and Precise Dynamic Race Detection", 2009). [`happens_before`] states it without locks, waits and
//! completion.
//!
//! # The model
//! | FastTrack | this crate |
//! |---|---|
//! | thread `t` | [`Timeline`]: the identity of a stream |
//! | epoch `c@t` | [`Epoch`]: the operation with sequence number `c` on timeline `t` |
//! | clock of a thread, `C_t` | [vector clock](happens_before::VectorClock) of a timeline, under its lock |
//! | clock of a lock, `L_m` | [`EventClock`]: what an event happens after |
//! | release and acquire of a lock | record of an event, and a stream's wait for it ([`SharedEvent`]) |
//! | last write and reads of a variable, `W_x` and `R_x` | [`AccessHistory`] of an allocation |
//! | race report | [`AddedWait`], or [`Hazard`] under [`Policy::Error`] |
//!
//! - A *timeline* is a stream's identity and outlives the stream's handle. Its operations have *sequence
//!   numbers*, which never restart. `submitted` is the last one that CUDA has, or whose operation failed.
//!   `completed` is the last one that is known to be complete. A timeline passes to another stream only after
//!   all of its operations, and everything that it waits for, have completed.
//! - An *epoch* is a timeline and a sequence number. A *vector clock* holds, for each timeline, the last
//!   sequence number that happens before something.
//! - An allocation's *access history* holds the epochs of the accesses that still matter, with their bytes:
//!   in one *last-access word* if all of them cover the whole allocation and fit, otherwise in an *interval
//!   list*. The list cuts the bytes into *segments*, each with its last write and the reads since.
//! - An *event clock* is the whole clock of the event's stream at the record, with the stream's own last
//!   sequence number.
//! - A *snapshot of submitted epochs* is what a synchronisation will have completed. It is read before the
//!   call that waits.
//!
//! The tracker differs from FastTrack in four ways. It acts before the operation is submitted and removes the
//! race instead of reporting it. Operations complete, and a completed operation happens before everything, so
//! clocks need not hold it. Accesses cover intervals of bytes. And CUDA orders some streams without an event:
//! the legacy rule, see 4.
//!
//! # Why it is sound
//! *Claim: when CUDA is handed an operation, everything that conflicts with it was handed over before and
//! happens before it, or has completed.*
//!
//! 1. **Nothing is overlooked.** Finding the conflicts in an access history and entering the operation's own
//!    epoch are one atomic step. Of two operations that conflict, the one whose step is later sees the
//!    earlier one, or an access that made the earlier one redundant. An entry is dropped only in favour of an
//!    access that conflicts with at least as much and is itself ordered after the entry, or once the entry
//!    has completed. So an operation that is ordered after the remaining entries is ordered after all.
//! 2. **A clock claims only what is so.** The clock of a stream grows in four ways, each *after* the
//!    CUDA call that makes it true has returned:
//!    - by a wait for an event: the clock joins the event clock;
//!    - by an added wait: the clock joins the other stream's clock and sequence number, as they were read
//!      *before* the event was recorded;
//!    - by the legacy rule, see 4;
//!    - by completion, which holds for every timeline.
//!
//!    An operation that is not yet submitted has a sequence number above `submitted`, so no clock covers it.
//!    An operation that meets its epoch waits until the epoch is published, and only then has an event
//!    recorded.
//! 3. **A completed operation is complete.** Completed sequence numbers are raised by what a successful
//!    synchronisation or query covers, read *before* the call. A stream's synchronisation covers its sequence
//!    numbers and its clock, an event's its event clock, a device's all of its timelines.
//! 4. **The legacy rule.** An operation of the legacy stream comes after everything that the device's
//!    blocking streams were given before, and everything that they are given later comes after it. The legacy
//!    stream reads their sequence numbers and clocks before its own call. Each blocking stream joins the
//!    clock that the legacy stream had at its last action. An *action* is an operation with accesses, or an
//!    event record: of other operations it is not certain that the runtime does anything. (Of two operations
//!    with accesses it is certain that an H200 does nothing: a graph of empty nodes, and a discard of managed
//!    memory. They do not count as actions.) For the same reason, a stream keeps what it joined by the rule
//!    only once its own operation has succeeded. If the operation fails, its sequence number counts as
//!    complete only by a later operation, an event or the whole device. Nothing guarantees that the legacy
//!    stream waits for a stream that has been destroyed, or whose thread has ended. So before that can
//!    happen, the legacy stream is made to wait for the stream's last event.
//!
//!    There is one thing that the rule does not order, whatever CUDA's documents say: a stream's copy from
//!    pinned memory. If the stream itself has nothing to do, an H200 (driver 580) reads up to 24,576
//!    contiguous bytes during the call, even if the legacy stream still has work. So such a read counts as
//!    ordered only by what is in the stream's own queue: by events that the stream waits for, and by its own
//!    earlier operations, which come after everything that the rule gave *them* ([`Access::at_call`]). The
//!    sequence number of a refused operation does not count so.
//! 5. **Failure leaves epochs, never gaps.** If CUDA, the policy or a panic refuses an operation, its
//!    sequence number is published. The order of the operation is in its stream's queue already, so
//!    to be ordered after the stream is to be ordered after that. Where the order was still missing, the
//!    entries of the other streams stay in the access history until the wait is in place.
//! 6. **The host.** A host guard borrows from the owner, so nobody enters new work on its bytes. It waits for
//!    the entries of the access history until the completed sequence numbers cover them. An access without a
//!    borrow looks at the count of guards after it has entered its epoch, and a guard is counted before it
//!    looks at the epochs, with a sequentially consistent fence between the two steps on either side. So one
//!    of the two sees the other.
//!
//! # Steps that the fast path leaves out
//! [`Tracker::begin_fast`] takes operations that conflict only with what happens before them, by their
//! stream's own order or by its clock. It waits for no other operation and adds no wait. All others take
//! [`Tracker::begin_slow`]. By `tests/cost.rs` on an AMD EPYC, an operation that writes one buffer costs 24
//! ns on the fast path and 36 ns on the slow path. With three buffers it costs 39 ns, and 55 ns on the slow
//! path, or 77 ns if they need sorting. A mutex costs 5 ns there and a compare-and-exchange 3 ns; on the host
//! of `BENCHMARKS.md` they cost 18 ns and 10 ns.
//!
//! - *Same epoch, and ownership* (FastTrack's constant-time checks): if the last access to a whole allocation
//!   was of the same stream, the stream's own order covers everything before it. *Epoch covered by the clock*
//!   (`c@t` ≼ `C`): the stream's clock covers it if the last access was of another stream that this stream
//!   waits for already. Either way, the new epoch replaces the last one by one compare-and-exchange of the
//!   last-access word, and no interval list is locked or searched.
//! - *A vector clock of readers only while they are not ordered* (FastTrack's adaptive representation of
//!   reads): if several streams read an allocation, each stores its number in a slot of its own, without a
//!   lock and without a look at the others (`readers`). On the EPYC an operation that reads a shared buffer
//!   and writes its own costs 34 ns on 2 streams and on 128; in the interval list it cost 130 and 1,411 ns. A
//!   write after n readers looks at n slots.
//! - *Segments*: an operation's accesses to parts of an allocation are entered under one lock of the interval
//!   list if all entries that conflict with them are ordered before them. Parts that were used before have
//!   segments, and each costs one look at a hash table, one comparison and one store. An access to the whole
//!   is compared with the joined clocks of all parts, and a write of the whole leaves all of them behind at
//!   once. By instructions (callgrind): a launch of a training step whose 3.4 arguments are parts of four
//!   buffers costs 850, with a buffer for each part it costs 390. A copy from part to part costs 520 to 560
//!   instructions with 64 parts and with 4,096, in order or not, with a write of the whole in between or
//!   without; from buffer to buffer it costs 300.
//! - *Lock elision by ownership*: if a whole allocation is written through an exclusive borrow, its word is
//!   stored and not exchanged, which saves the second compare-and-exchange. Every access by a borrow is
//!   entered while that borrow lasts, so no other access by a borrow is being entered. Accesses without a
//!   borrow are of graphs, which retain the allocation and thereby end this for good, and of variables, which
//!   are never borrowed.
//!
//! # Why nothing waits for ever
//! - A stream is locked while it is given an operation. An operation on several streams
//!   ([`Tracker::begin_all`]) locks all of them before it enters anything, in the order of their timelines'
//!   numbers; a thread takes no other second lock of this kind. So a thread that waits for such a lock holds
//!   only lower ones and has entered nothing: nobody waits for an epoch of it, and a chain of threads that
//!   wait for locks ends at a thread that has all of its locks. An event that threads share is locked before
//!   a stream, never after one ([`SharedEvent`]).
//! - Access histories are entered in the order of their addresses, each in one step and only once, also if
//!   several streams of an operation access one allocation. Before the next one is entered, the operation
//!   waits for the epochs that it found and that are not yet published. These belong to operations that have
//!   all of their locks. So the operation that is waited for stands at the same access history and came to it
//!   earlier, or stands at a later one: there is no circle.
//! - An operation does not wait for itself: two streams of one operation must not conflict, and if the
//!   interval list counts an entry of one for the whole allocation, the other one waits for the earlier ones
//!   only.
//! - The fast path waits for no other operation. If it cannot finish, it gives its sequence number up, and
//!   the operation takes the slow path with the next one.
//! - An operation cannot be started inside another operation's closure, nor inside a host function.
//! - A listener of failed calls (`logs::on_message`) runs in the middle of the failing call, on its thread,
//!   with everything locked that the call is made with. There, as in a host function, nothing is begun and
//!   nothing is waited for. A drop there takes only the locks of lists: of the pool's streams and events, and
//!   of what is to be freed later. None of these is locked during a call.
//!
//! # Duties of callers
//! A crate frees or lends memory by this tracker's answers. So its memory safety rests on its statements to
//! the tracker. A function is `unsafe` if a false statement makes a later answer false. Such statements are:
//! an operation was submitted to a stream, an event was recorded or waited for, work has completed, nobody
//! else can reach memory. All other functions only query, or err towards waiting.
//!
//! # How it is tested
//! Apart from [`lock`], unsafe code performs an operation in one place only: the accesses of a graph are
//! listed beside what retains their memory. All other unsafe code only declares. `tests/order.rs` runs
//! 100,000 random programs against a model that knows nothing but sets of operations, for too few waits and
//! for too many. Under loom it runs every interleaving of two and three threads, and those of two and three
//! threads that want one lock (`ci/steps/loom`). `tests/cost.rs` prints the cost.
//!
//! # Where it waits more than it must
//! A wait can be added although the program had ordered the two operations:
//! - if the earlier operation failed and never ran;
//! - if one allocation has more than 65,536 segments in use at once;
//! - between threads that enter work at the same moment;
//! - before a copy from pinned memory that CUDA's documents, but not its driver, order after the legacy
//!   stream's work;
//! - between the left columns of all rows of an allocation and the bytes beside them in the last row.

// The unit tests.
// Not under sanitizers: they use no GPU.

mod added_wait;
mod clock;
mod device;
mod entry;
mod event;
mod graph;
pub mod happens_before;
mod hash;
mod history;
mod interval_list;
mod last_access;
pub mod lock;
mod mode;
mod operation_view;
mod policy;
#[cfg(loom)]
#[doc(hidden)]
pub mod primitives;
#[cfg(not(loom))]
mod primitives;
mod readers;
mod snapshot;
mod sorted;
mod submission;
mod submit_all;
mod timeline;
mod tracker;
mod wait_log;

pub use added_wait::{EventBackend, WaitMethod};
pub use clock::{Epoch, SequenceNumber, TimelineId};
pub use device::Kind;
pub use entry::{Conflict, FirstWrite};
pub use event::SharedEvent;
pub use graph::{Few, GraphAccesses, GraphHistories, RetainedAccesses, Segments};
pub use history::{Access, AccessHistory, RetainFn, RetainedResource};
pub use mode::Mode;
pub use policy::Policy;
pub use snapshot::{EventClock, SubmittedSnapshot};
pub use sorted::SortedAccesses;
pub use submission::{Operation, Refusal, Submission};
pub use submit_all::StreamAccesses;
pub use timeline::{StreamName, Timeline, WaitTarget};
pub use tracker::{TooManyStreams, Tracker};
pub use wait_log::{AddedWait, CallSite, Hazard};
