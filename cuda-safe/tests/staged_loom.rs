//! The protocol of staged copies under loom, which runs every interleaving of a few steps: who moves a piece, and who sends a block.
//!
//! The device is a model that copies when it is told to, and says so when it is asked. Memory is loom's, which fails on any
//! two accesses that nothing orders.
#![expect(unsafe_code, reason = "reads and writes through the cells of loom")]
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "the protocol is compiled by itself, without the rest of the crate that uses all of it"
)]

#[path = "../src/copy/staged/flow.rs"]
mod flow;

/// Loom's primitives in the place of those of the standard library.
mod sync {
    pub(super) use loom::sync::atomic::{AtomicBool, AtomicUsize, fence};
    pub(super) use std::sync::atomic::Ordering;
}

use std::convert::Infallible;
use std::sync::Arc;

use flow::{Driver, Flow, Way};
use loom::cell::UnsafeCell;

/// Bytes that threads and the device take turns with.
type Bytes = UnsafeCell<[usize; 2]>;

/// A transfer of blocks of two pieces, of a byte each.
struct Transfer {
    flow: Flow,
    way: Way,
    blocks: usize,
    slots: Vec<Bytes>,
    /// What the device has: of each block what its slot held, or is to be given.
    remote: Vec<Bytes>,
    /// What the host's threads have read on the way down.
    host: Vec<[UnsafeCell<usize>; 2]>,
}

// SAFETY: loom's cells tell when two threads use one at once.
unsafe impl Send for Transfer {}
// SAFETY: as above.
unsafe impl Sync for Transfer {}

fn value(block: usize, piece: usize) -> usize {
    100 + 10 * block + piece
}

impl Transfer {
    fn new(way: Way, blocks: usize, slots: usize) -> Arc<Self> {
        let remote = |block| UnsafeCell::new([value(block, 0), value(block, 1)]);
        Arc::new(Self {
            flow: Flow::new(way, slots, (0..blocks).map(|_| 2)),
            way,
            blocks,
            slots: (0..slots).map(|_| UnsafeCell::new([0; 2])).collect(),
            remote: (0..blocks)
                .map(|block| if way == Way::Down { remote(block) } else { UnsafeCell::new([0; 2]) })
                .collect(),
            host: (0..blocks).map(|_| [UnsafeCell::new(0), UnsafeCell::new(0)]).collect(),
        })
    }

    fn slot(&self, block: usize) -> &Bytes {
        &self.slots[block % self.slots.len()]
    }

    /// What a thread does.
    fn work(&self) {
        while let Some(number) = self.flow.claim() {
            let (block, piece) = (number / 2, number % 2);
            while !self.flow.may_move(block) {
                let Ok(did) = self.flow.drive(self);
                if !did {
                    loom::thread::yield_now();
                }
            }
            // The two pieces of a slot are two places: an access of one is not one of the other.
            self.slot(block).with(|slot| {
                // SAFETY: the place is this thread's alone, which is what is tested.
                let place = unsafe { &raw mut (*slot.cast_mut())[piece] };
                match self.way {
                    // SAFETY: as above.
                    Way::Up => unsafe { place.write(value(block, piece)) },
                    // SAFETY: as above.
                    Way::Down => self.host[block][piece].with_mut(|to| unsafe { to.copy_from(place, 1) }),
                }
            });
            if self.flow.moved(block) {
                let Ok(_) = self.flow.drive(self);
            }
        }
    }

    /// Two threads work; when both are ready every block that could be sent has been.
    fn run(self: &Arc<Self>) {
        let helper = {
            let this = Arc::clone(self);
            loom::thread::spawn(move || this.work())
        };
        self.work();
        helper.join().unwrap();
        let Ok(_) = self.flow.begin(&Nothing, 1);
        let Ok(_) = self.flow.drive(&**self);
        assert!(self.flow.is_completed());
        for block in 0..self.blocks {
            for piece in 0..2 {
                match self.way {
                    Way::Up => self.remote[block].with(|bytes| {
                        // SAFETY: both threads are done.
                        assert_eq!(unsafe { (*bytes)[piece] }, value(block, piece));
                    }),
                    Way::Down => self.host[block][piece].with(|byte| {
                        // SAFETY: both threads are done.
                        assert_eq!(unsafe { *byte }, value(block, piece));
                    }),
                }
            }
        }
    }
}

impl Driver for Transfer {
    type Error = Infallible;

    fn submit(&self, block: usize) -> Result<(), Infallible> {
        let (slot, remote) = (self.slot(block), &self.remote[block]);
        match self.way {
            // SAFETY: the device has the slot to itself, which is what is tested.
            Way::Up => slot.with_mut(|slot| remote.with_mut(|remote| unsafe { remote.copy_from(slot, 1) })),
            // SAFETY: as above.
            Way::Down => slot.with_mut(|slot| remote.with(|remote| unsafe { slot.copy_from(remote, 1) })),
        }
        Ok(())
    }

    fn is_done(&self, _: usize) -> Result<bool, Infallible> {
        Ok(true)
    }
}

/// A device that has nothing left to be told.
struct Nothing;

impl Driver for Nothing {
    type Error = Infallible;

    fn submit(&self, block: usize) -> Result<(), Infallible> {
        panic!("block {block} was ready, and nobody sent it");
    }

    fn is_done(&self, _: usize) -> Result<bool, Infallible> {
        Ok(false)
    }
}

fn every_interleaving(way: Way, blocks: usize, slots: usize) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(move || Transfer::new(way, blocks, slots).run());
}

#[test]
fn up_every_block_is_sent_by_somebody_and_after_its_pieces() {
    every_interleaving(Way::Up, 2, 2);
}

#[test]
fn up_a_slot_is_filled_again_only_after_the_block_before() {
    every_interleaving(Way::Up, 2, 1);
}

#[test]
fn down_pieces_are_moved_after_their_block_came() {
    every_interleaving(Way::Down, 1, 1);
}

#[test]
fn down_a_slot_is_sent_for_again_only_after_its_pieces() {
    every_interleaving(Way::Down, 2, 1);
}
