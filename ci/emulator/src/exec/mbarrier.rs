//! Barriers in shared memory: `mbarrier`.
//!
//! Programs do not see the layout of a barrier's 64 bits. Here they hold the pending arrivals and the
//! arrivals that each phase waits for (20 bits each), the bytes that are still to be counted (23 bits, with a
//! sign), and in the highest bit the parity of the phase.

use super::bytes::{read64, write};
use super::cluster::with_rank;
use super::env::AccessKind;
use super::fault::{Fault, Result};
use super::file::{Slots, Word, lanes, low};
use super::launch::Context;
use super::memory::WINDOW;
use super::program::{Access, Element, MbarrierOp, NONE, Until};
use super::warp::{Flow, Group, Warp};

const COUNT: u64 = (1 << 20) - 1;
const BYTES: u64 = (1 << 23) - 1;
/// The most bytes that a phase counts.
const MOST_BYTES: u64 = (1 << 20) - 1;
/// How often a barrier is asked for, while all warps of the cluster only wait, before the bytes that are
/// missing are known to be lost.
const PATIENCE: u32 = 1 << 14;

/// The fields in the bits of a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    pending: u64,
    expected: u64,
    bytes: i64,
    odd: bool,
}

impl State {
    fn unpack(bits: u64) -> Self {
        Self {
            pending: bits & COUNT,
            expected: bits >> 20 & COUNT,
            bytes: (bits << 1).cast_signed() >> 41,
            odd: bits >> 63 != 0,
        }
    }

    fn pack(self) -> u64 {
        let bytes = self.bytes.cast_unsigned() & BYTES;
        self.pending | self.expected << 20 | bytes << 40 | u64::from(self.odd) << 63
    }

    /// Counts arrivals. Returns false if more arrive than are pending.
    fn arrive(&mut self, count: u64) -> bool {
        let fits = count <= self.pending;
        self.pending = self.pending.saturating_sub(count);
        fits
    }

    /// Begins the next phase if all have arrived and all bytes are there.
    fn go_on(&mut self) {
        if self.pending == 0 && self.bytes == 0 {
            (self.pending, self.odd) = (self.expected, !self.odd);
        }
    }
}

/// The arrivals that were pending in a state.
pub(super) fn pending(state: u64) -> u32 {
    low(state & COUNT)
}

impl Warp {
    pub(super) fn mbarrier(
        &mut self,
        cx: &mut Context<'_>,
        (op, access): (MbarrierOp, Access),
        s: &Slots,
        group: &mut Group,
        mask: u32,
    ) -> Result<Flow> {
        let addresses = self.addresses(access, s[4]);
        if let MbarrierOp::ArriveAfterCopies { .. } = op {
            self.make(cx, Until::All, mask)?;
        }
        let mut over = 0;
        let mut first = None;
        for lane in lanes(mask) {
            let given = match op {
                _ if s[1] == NONE => 1,
                MbarrierOp::Test { by_parity: false, .. } => u64::row(&self.file, s[1])[lane],
                _ => u64::from(u32::row(&self.file, s[1])[lane]),
            };
            let tests = matches!(op, MbarrierOp::Test { .. });
            let brings = tests && self.bulk_arrives(cx, access, addresses[lane], lane)?;
            // Its beginning is a plain write: nothing but a barrier orders it before the arrivals of others.
            let kind = if op == MbarrierOp::Init { AccessKind::Write } else { AccessKind::Strong };
            let at = self.reach(cx, access, addresses[lane], (8, 8), lane, kind)?;
            if !tests || brings {
                self.order(cx, |order, block, warp| {
                    if op == MbarrierOp::Init {
                        order.begins(at.addr());
                    }
                    order.arrives_at(block, warp, 1 << lane, at.addr());
                });
            }
            let wrong = |warp: &Self, cx: &Context<'_>, what: &str| {
                let what = format!("the mbarrier at {:#x} {what}", addresses[lane]);
                warp.fault(cx, Fault::LAUNCH_FAILURE, &what, lane)
            };
            if op == MbarrierOp::Init {
                if given == 0 || given > COUNT {
                    let what = format!("cannot wait for {given} arrivals: 1 to {COUNT} are possible");
                    return Err(wrong(self, cx, &what));
                }
                let state = State { pending: given, expected: given, bytes: 0, odd: false };
                write(at, Element::U64, state.pack());
                continue;
            }
            let before = read64(at);
            let mut state = State::unpack(before);
            if state.expected == 0 && op != MbarrierOp::Invalidate && !matches!(op, MbarrierOp::Test { .. }) {
                return Err(wrong(self, cx, "was not begun by mbarrier.init, or is ended"));
            }
            let pending = state.pending;
            let mut fits = true;
            match op {
                MbarrierOp::Init => {}
                MbarrierOp::Invalidate => state = State::unpack(0),
                MbarrierOp::Expect => state.bytes += given.cast_signed(),
                MbarrierOp::Complete => state.bytes -= given.cast_signed(),
                MbarrierOp::Arrive { expects, drops } => {
                    let count = if expects { 1 } else { given };
                    if expects {
                        state.bytes += given.cast_signed();
                    }
                    if drops {
                        state.expected = state.expected.saturating_sub(count);
                    }
                    fits = state.arrive(count);
                }
                // Where it was not counted, it is waited for and has arrived.
                MbarrierOp::ArriveAfterCopies { counted } => fits = !counted || state.arrive(1),
                MbarrierOp::Test { by_parity, .. } => {
                    let odd = if by_parity { given & 1 != 0 } else { given >> 63 != 0 };
                    let is_over = state.odd != odd;
                    over |= u32::from(is_over) << lane;
                    if is_over {
                        self.order(cx, |order, block, warp| {
                            order.waited_at(block, warp, 1 << lane, at.addr());
                        });
                    }
                    if !is_over && state.pending == 0 && self.starves(cx, addresses[lane], before) {
                        let what = if state.bytes > 0 {
                            format!("waits for {} bytes that no copy brings", state.bytes)
                        } else {
                            format!("has counted {} bytes more than it expects", -state.bytes)
                        };
                        return Err(wrong(self, cx, &what));
                    }
                    continue;
                }
            }
            if state.bytes.unsigned_abs() > MOST_BYTES {
                let what = format!("would count {} bytes: {MOST_BYTES} are possible", state.bytes);
                return Err(wrong(self, cx, &what));
            }
            if !fits {
                let what = format!("waits for {pending} more arrivals of this phase, and more come");
                return Err(wrong(self, cx, &what));
            }
            if op != MbarrierOp::Invalidate && op != MbarrierOp::Expect {
                state.go_on();
            }
            write(at, Element::U64, state.pack());
            if s[0] != NONE {
                // An H200 counts the arrivals of a warp at once: all threads get the state before them.
                let (address, start) = *first.get_or_insert((addresses[lane], before));
                let same =
                    address == addresses[lane] && State::unpack(start).odd == State::unpack(before).odd;
                u64::row_mut(&mut self.file, s[0])[lane] = if same { start } else { before };
            }
        }
        group.pc += 1;
        if let MbarrierOp::Test { waits, .. } = op {
            self.file.set_pred(s[0], over, mask);
            if waits && over != mask {
                return Ok(self.let_others(group));
            }
        }
        Ok(Flow::Next)
    }

    /// Whether a barrier that only waits for bytes has been asked for so often, while all warps only waited,
    /// that none will come.
    fn starves(&self, cx: &mut Context<'_>, address: u64, state: u64) -> bool {
        let barrier = with_rank(cx.rank, address & WINDOW);
        let (last, polls) = cx.cluster.starved.entry(barrier).or_insert((state, 0));
        *polls = if *last == state { *polls + 1 } else { 0 };
        *last = state;
        *polls > PATIENCE
    }

    /// Checks that a barrier was begun.
    pub(super) fn begun(
        &mut self,
        cx: &mut Context<'_>,
        access: Access,
        address: u64,
        lane: usize,
    ) -> Result {
        let at = self.span(cx, access, address, (8, 8), lane, AccessKind::Strong)?;
        if State::unpack(read64(at)).expected == 0 {
            let what = format!("the mbarrier at {address:#x} was not begun by mbarrier.init, or is ended");
            return Err(self.fault(cx, Fault::LAUNCH_FAILURE, &what, lane));
        }
        Ok(())
    }

    /// Bytes of a bulk copy have come.
    pub(super) fn count_bytes(
        &mut self,
        cx: &mut Context<'_>,
        access: Access,
        address: u64,
        bytes: u64,
        lane: usize,
    ) -> Result {
        let at = self.reach(cx, access, address, (8, 8), lane, AccessKind::Strong)?;
        let mut state = State::unpack(read64(at));
        state.bytes -= bytes.cast_signed();
        if state.bytes.unsigned_abs() > MOST_BYTES {
            let what = format!(
                "the mbarrier at {address:#x} would count {} bytes: {MOST_BYTES} are possible",
                state.bytes
            );
            return Err(self.fault(cx, Fault::LAUNCH_FAILURE, &what, lane));
        }
        state.go_on();
        write(at, Element::U64, state.pack());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::State;

    #[test]
    fn a_state_is_in_its_bits() {
        for bytes in [0, 1, -1, (1 << 20) - 1, 1 - (1 << 20)] {
            for odd in [false, true] {
                let state = State { pending: 3, expected: (1 << 20) - 1, bytes, odd };
                assert_eq!(State::unpack(state.pack()), state);
            }
        }
    }

    #[test]
    fn a_phase_is_over_when_all_have_arrived_and_all_bytes_are_there() {
        let mut state = State { pending: 2, expected: 2, bytes: 16, odd: false };
        assert!(state.arrive(2));
        state.go_on();
        assert!(!state.odd);
        state.bytes = 0;
        state.go_on();
        assert_eq!(state, State { pending: 2, expected: 2, bytes: 0, odd: true });
        assert!(!state.arrive(3));
    }
}
