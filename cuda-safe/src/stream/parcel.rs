//! Functions on their way to a stream: closures without their type, and the spots where they wait for their turn.
//!
//! A stream that runs host functions gets a ring of spots, once. A spot is written by whoever has the stream's lane, read by
//! the runtime's thread when the function's turn has come, and then free again: no lock that the two would meet at, and no
//! memory to ask for. One that is still taken when its turn in the ring comes is passed over, and the function waits
//! elsewhere.
//!
//! # Why nothing runs twice, or after it was dropped
//! Who takes a function out of a spot moves its state on from `WAITING`, in one atomic step: the runtime's thread that runs
//! it, the launch that takes it back because it failed, or whoever drops it because the context is lost. Only one of them
//! finds the state as it was. The runtime is given a number, which stands for one turn of one spot: a late call, or a second
//! one from a graph that a raw capture has made, finds nothing, and no other function by mistake.
#![expect(unsafe_code, reason = "keeps closures as bytes, and lends places to the runtime as pointers")]

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use cuda_hazard::{Place, Slot, SlotId};

/// Room for a closure. Larger ones are boxed, and the box is a small one.
type Room = [MaybeUninit<u128>; 6];

/// Functions of a stream that can wait without a lock.
const PLACES: usize = 256;

/// Slots that can have a ring. The functions of streams beyond wait elsewhere.
const RINGS: usize = 4096;

/// What can be done with a closure whose type is forgotten.
struct Calls {
    /// Moves it out of the bytes, has the spot that they are in tell so, and runs it.
    run: unsafe fn(*mut u8, Left<'_>),
    /// Drops it where it is.
    drop: unsafe fn(*mut u8),
}

/// How a spot tells that its function is out of it; of other bytes nobody is told.
struct Left<'s>(Option<(&'s AtomicU64, u64)>);

impl Left<'_> {
    #[inline]
    fn tell(self) {
        if let Some((state, free)) = self.0 {
            state.store(free, Ordering::Release);
        }
    }
}

/// The calls for the closures of one type.
struct Of<F>(PhantomData<F>);

impl<F: FnOnce()> Of<F> {
    const CALLS: Calls = Calls { run: Self::run, drop: Self::drop };

    unsafe fn run(bytes: *mut u8, left: Left<'_>) {
        // SAFETY: the caller has a closure of this type there and gives it up.
        let f = unsafe { bytes.cast::<F>().read() };
        left.tell();
        f();
    }

    unsafe fn drop(bytes: *mut u8) {
        // SAFETY: the caller has a closure of this type there and gives it up.
        unsafe { bytes.cast::<F>().drop_in_place() };
    }
}

/// A closure that may be sent, without its type. What stands before the room of a waiting one is with it in one line of the cache, and so is
/// a closure of a few words: fetching lines from one thread to another takes longer than all the rest.
#[repr(C)]
pub(super) struct Parcel {
    place: Place,
    calls: &'static Calls,
    room: Room,
}

// SAFETY: `of` takes closures that may be sent, and nothing else makes parcels.
unsafe impl Send for Parcel {}

impl Parcel {
    /// Packs a closure, with the line that it is from.
    pub(super) fn of<F: FnOnce() + Send + 'static>(f: F, from: Place) -> Self {
        let mut parcel = MaybeUninit::uninit();
        // SAFETY: there is place for a parcel.
        unsafe { Self::write(parcel.as_mut_ptr(), f, from) };
        // SAFETY: now there is one.
        unsafe { parcel.assume_init() }
    }

    /// Packs a closure where it is to wait, which saves moving it there.
    ///
    /// # Safety
    /// There is place for a parcel, which nobody else has.
    #[inline]
    unsafe fn write<F: FnOnce() + Send + 'static>(place: *mut Self, f: F, from: Place) {
        if size_of::<F>() > size_of::<Room>() || align_of::<F>() > align_of::<Room>() {
            // Always the same type, which fits.
            // SAFETY: as the caller says.
            unsafe { Self::write::<Box<dyn FnOnce() + Send>>(place, Box::new(f), from) };
            return;
        }
        // SAFETY: the place is there.
        let line = unsafe { &raw mut (*place).place };
        // SAFETY: as above.
        unsafe { line.write(from) };
        // SAFETY: the place is there.
        let calls = unsafe { &raw mut (*place).calls };
        // SAFETY: as above.
        let room = unsafe { &raw mut (*place).room };
        // SAFETY: as above.
        unsafe { calls.write(&Of::<F>::CALLS) };
        // SAFETY: in the room is some for a value of this type, aligned for it, as was just compared.
        unsafe { room.cast::<F>().write(f) };
    }

    /// The line that the closure is from.
    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// Runs the closure.
    pub(super) fn run(self) {
        let mut parcel = ManuallyDrop::new(self);
        let run = parcel.calls.run;
        // SAFETY: the closure is in the room, of the type that the call is for, and is not dropped here.
        unsafe { run(parcel.room.as_mut_ptr().cast(), Left(None)) };
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        // SAFETY: the closure is in the room, of the type that the call is for: `run` forgets the parcel.
        unsafe { (self.calls.drop)(self.room.as_mut_ptr().cast()) };
    }
}

/// Nothing waits in the spot.
const FREE: u64 = 0;
/// A function waits in it.
const WAITING: u64 = 1;
/// Its function was taken out, and is running or being dropped.
const TAKEN: u64 = 2;
/// Bits of a state that say which of these.
const STATUS_BITS: u32 = 2;

/// Bits of a ticket's number that say how many functions the spot has had. Behind them come the spot and the slot.
const TURN_BITS: u32 = 43;
const SPOT_BITS: u32 = 8;
const _: () =
    assert!(PLACES == 1 << SPOT_BITS && RINGS == 1 << 12, "a ticket has bits for all, and one to spare");

/// What the runtime is given for a function: a number that stands for one function and never for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket {
    slot: u64,
    spot: u64,
    turn: u64,
}

impl Ticket {
    /// The ticket as a number whose highest bit is not set.
    pub(super) fn number(self) -> u64 {
        (((self.slot << SPOT_BITS) | self.spot) << TURN_BITS) | self.turn
    }

    /// The ticket with this number.
    pub(super) fn of_number(number: u64) -> Self {
        let rest = number >> TURN_BITS;
        Self { slot: rest >> SPOT_BITS, spot: rest % (1 << SPOT_BITS), turn: number % (1 << TURN_BITS) }
    }

    #[inline]
    fn spot(self) -> Option<&'static Spot> {
        let cell = BY_SLOT.get(usize::try_from(self.slot).ok()?)?;
        // SAFETY: null, or a ring that was leaked for this.
        let ring = unsafe { cell.load(Ordering::Acquire).as_ref() }?;
        ring.get(usize::try_from(self.spot).ok()?)
    }

    /// The function, if it is still there, for who is to run it.
    #[inline]
    pub(super) fn claim(self) -> Option<Claim> {
        let spot = self.spot()?;
        spot.claim(self.turn).then_some(Claim { spot, turn: self.turn })
    }

    /// Takes the function out, if it is still there. The spot stays taken.
    pub(super) fn take(self) -> Option<Out> {
        self.spot()?.take(self.turn)
    }

    /// The function that was taken out has run, or was taken back: the spot serves again.
    pub(super) fn free(self) {
        if let Some(spot) = self.spot() {
            spot.state.store((self.turn << STATUS_BITS) | FREE, Ordering::Release);
        }
    }
}

/// A function that is still in its spot, but for nobody else any more. One that is not run stays there for ever.
pub(super) struct Claim {
    spot: &'static Spot,
    turn: u64,
}

impl Claim {
    /// The stream that the function was given to.
    #[inline]
    pub(super) fn slot(&self) -> SlotId {
        self.spot.slot
    }

    /// The device of that.
    #[inline]
    pub(super) fn device(&self) -> i32 {
        self.spot.device
    }

    /// The line that the function is from.
    #[inline]
    pub(super) fn place(&self) -> Place {
        // SAFETY: there is a parcel, and it is this claim's.
        unsafe { (*self.parcel()).place }
    }

    /// Runs the function, before which it is moved out of its spot, so that this serves again.
    #[inline]
    pub(super) fn run(self) {
        let parcel = self.parcel();
        // SAFETY: there is a parcel, and it is this claim's.
        let run = unsafe { (*parcel).calls.run };
        // SAFETY: as above.
        let room = unsafe { &raw mut (*parcel).room };
        let left = Left(Some((&self.spot.state, (self.turn << STATUS_BITS) | FREE)));
        // SAFETY: the closure is in the room, of the type that the call is for, and nobody else takes it; it is out before that is told.
        unsafe { run(room.cast(), left) };
    }

    #[inline]
    fn parcel(&self) -> *mut Parcel {
        self.spot.content.get().cast()
    }
}

/// Where one function waits. Cache lines of its own: two threads write it.
#[repr(C, align(128))]
struct Spot {
    /// How many functions it has had, and what has become of the last one.
    state: AtomicU64,
    slot: SlotId,
    device: i32,
    content: UnsafeCell<MaybeUninit<Parcel>>,
}

const _: () = assert!(size_of::<Spot>() == 128, "two lines of the cache");

// SAFETY: the content is written while the state is `FREE`, by the one who has the lane of the spot's stream, and read by the
// one who moves the state on from `WAITING`; acquire and release carry it over.
unsafe impl Sync for Spot {}

/// A function that was taken out of its spot.
pub(super) struct Out {
    pub(super) parcel: Parcel,
    pub(super) slot: SlotId,
    pub(super) device: i32,
}

impl Spot {
    /// Takes the function away from everybody else, if it is still there.
    #[inline]
    fn claim(&self, turn: u64) -> bool {
        let (waiting, taken) = ((turn << STATUS_BITS) | WAITING, (turn << STATUS_BITS) | TAKEN);
        self.state.compare_exchange(waiting, taken, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn take(&self, turn: u64) -> Option<Out> {
        if !self.claim(turn) {
            return None;
        }
        // SAFETY: the state was `WAITING`, so there is content, and whoever else looks finds it `TAKEN`.
        let parcel = unsafe { self.content.get().cast::<Parcel>().read() };
        Some(Out { parcel, slot: self.slot, device: self.device })
    }
}

/// The spots of one stream.
type Ring = [Spot; PLACES];

/// The rings by slot: none until the slot's stream gets its first function, and then for ever.
static BY_SLOT: [AtomicPtr<Ring>; RINGS] = [const { AtomicPtr::new(ptr::null_mut()) }; RINGS];

/// The spot of a ring whose turn it is. Changed only by who has the lane, and far from what the runtime's thread looks at.
#[repr(align(64))]
struct Next(AtomicUsize);

/// The next spots by slot.
static NEXT: [Next; RINGS] = [const { Next(AtomicUsize::new(0)) }; RINGS];

/// All rings.
static ALL: Mutex<Vec<&'static Ring>> = Mutex::new(Vec::new());

/// Has a function wait in the ring of its stream, or gives it back where there is no room.
///
/// # Safety
/// The caller has the lane of the slot locked.
#[inline]
pub(super) unsafe fn put<F: FnOnce() + Send + 'static>(slot: &Slot, f: F, place: Place) -> Result<Ticket, F> {
    let Some((spot, ticket)) = next(slot) else { return Err(f) };
    // SAFETY: the spot is free, and only who has the stream's lane fills one, which the caller has.
    unsafe { Parcel::write(spot.content.get().cast(), f, place) };
    spot.state.store((ticket.turn << STATUS_BITS) | WAITING, Ordering::Release);
    Ok(ticket)
}

/// The free spot that the next function of the stream waits in, if it is free, with the ticket for that. To be called by who has the lane.
#[inline]
fn next(slot: &Slot) -> Option<(&'static Spot, Ticket)> {
    let number = usize::try_from(slot.id.0).ok()?;
    let (cell, Next(turn)) = (BY_SLOT.get(number)?, NEXT.get(number)?);
    // SAFETY: null, or a ring that was leaked for this.
    let ring = match unsafe { cell.load(Ordering::Acquire).as_ref() } {
        Some(ring) => ring,
        None => first(slot, cell)?,
    };
    let next = turn.load(Ordering::Relaxed) % PLACES;
    let then = (next + 1) % PLACES;
    turn.store(then, Ordering::Relaxed);
    let spot = ring.get(next)?;
    // Acquire: whoever was in it is out.
    let state = spot.state.load(Ordering::Acquire);
    let turn = (state >> STATUS_BITS) + 1;
    if state % (1 << STATUS_BITS) != FREE || turn >> TURN_BITS != 0 {
        return None;
    }
    if let Some(spot) = ring.get(then) {
        fetch_to_write(spot);
    }
    Some((spot, Ticket { slot: u64::from(slot.id.0), spot: u64::try_from(next).ok()?, turn }))
}

/// Has the processor fetch a spot, which the runtime's thread was the last to write, while the runtime is at the function before it:
/// fetching it from there would otherwise take as long as all the rest.
#[inline]
fn fetch_to_write(spot: &Spot) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for line in 0..size_of::<Spot>() / 64 {
        let at = ptr::from_ref(spot).cast::<u8>().wrapping_add(line * 64);
        // SAFETY: a hint, which changes nothing that a program can see, whatever the address.
        unsafe { core::arch::asm!("prefetchw [{}]", in(reg) at, options(nostack, preserves_flags)) };
    }
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    let _ = spot;
}

/// Makes the ring of a slot's stream. The lane is locked, so nobody else does.
#[cold]
#[inline(never)]
fn first(slot: &Slot, cell: &AtomicPtr<Ring>) -> Option<&'static Ring> {
    let spot = |_| Spot {
        state: AtomicU64::new(FREE),
        slot: slot.id,
        device: slot.device(),
        content: UnsafeCell::new(MaybeUninit::uninit()),
    };
    // By way of a list, so that it is never on the stack.
    let spots: Box<[Spot]> = (0..PLACES).map(spot).collect();
    let ring: &'static Ring = Box::leak(spots.try_into().ok()?);
    ALL.lock().unwrap_or_else(PoisonError::into_inner).push(ring);
    cell.store(ptr::from_ref(ring).cast_mut(), Ordering::Release);
    Some(ring)
}

/// Takes out the functions of a device that wait in rings: their turn will not come, and the spots are not used again.
pub(super) fn abandon(device: i32) -> Vec<Parcel> {
    let rings = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let spots = rings.iter().flat_map(|ring| ring.iter()).filter(|spot| spot.device == device);
    let taken = spots.filter_map(|spot| spot.take(spot.state.load(Ordering::Relaxed) >> STATUS_BITS));
    taken.map(|out| out.parcel).collect()
}

#[cfg(test)]
mod tests {
    use std::panic::Location;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::{Parcel, Ticket};

    struct Counts(Arc<AtomicU32>);

    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// A closure that owns something, and so many bytes besides.
    fn parcel<const N: usize>(drops: &Arc<AtomicU32>, runs: &Arc<AtomicU32>) -> Parcel {
        let (owned, runs, bytes) = (Counts(Arc::clone(drops)), Arc::clone(runs), [1_u8; N]);
        let function = move || {
            let _owned = &owned;
            runs.fetch_add(bytes.iter().map(|byte| u32::from(*byte)).sum(), Ordering::SeqCst);
        };
        Parcel::of(function, Location::caller())
    }

    #[test]
    fn what_a_function_owns_is_dropped_once_whether_it_runs_or_not_and_however_large_it_is() {
        let (drops, runs) = (Arc::default(), Arc::default());
        drop(parcel::<1>(&drops, &runs));
        drop(parcel::<1000>(&drops, &runs));
        assert_eq!((drops.load(Ordering::SeqCst), runs.load(Ordering::SeqCst)), (2, 0));
        parcel::<1>(&drops, &runs).run();
        parcel::<1000>(&drops, &runs).run();
        assert_eq!((drops.load(Ordering::SeqCst), runs.load(Ordering::SeqCst)), (4, 1001));
    }

    #[test]
    fn every_ticket_has_a_number_of_its_own_and_none_has_the_highest_bit() {
        for slot in [0, 1, 4095] {
            for spot in [0, 255] {
                for turn in [1, 2, (1 << 43) - 1] {
                    let ticket = Ticket { slot, spot, turn };
                    assert_eq!(Ticket::of_number(ticket.number()), ticket);
                    assert_eq!(ticket.number() >> 63, 0);
                }
            }
        }
    }

    #[test]
    fn a_function_that_panics_drops_what_it_owns() {
        let drops: Arc<AtomicU32> = Arc::default();
        let owned = Counts(Arc::clone(&drops));
        let function = move || {
            let _owned = owned;
            std::panic::resume_unwind(Box::new(()));
        };
        let parcel = Parcel::of(function, Location::caller());
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| parcel.run())).is_err());
        assert_eq!(drops.load(Ordering::SeqCst), 1);
    }
}
