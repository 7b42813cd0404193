//! Asynchronous copies that go past the end of a variable.
//!
//! Hardware checks them against the memory that the variable lies in, not against the variable: a copy that begins
//! behind it, or goes past the end of a constant, is taken, and reads or overwrites whatever is there. Here nothing is
//! behind a variable: what would be written there is dropped, what would be read is the pattern of new memory, and a
//! line on standard error says so. A copy that begins inside a variable that is no constant and ends outside is refused,
//! there and here.

use super::symbol::Living;
use super::symbol_copy::{Part, Way};
use super::{Call, wide};
use crate::error::Answer;
use crate::machine::Guard;
use crate::memory::POISON;
use crate::stream::{Copy, End, Key, Memory, Volume, Work, submit};
use crate::sys::{cudaErrorInvalidValue, cudaMemcpyDeviceToDevice, cudaMemcpyKind};
use crate::transfer::{Mode, Place, Request, Side, end, place, plan, reachable};

/// How far behind a variable hardware is taken to have memory of modules: what the constants have room for.
const NEAR: u64 = 64 << 10;

/// Whether hardware takes an asynchronous copy of this part although it goes past the variable's end.
pub(super) fn is_taken(part: Part, of: Living) -> bool {
    let (first, last) = (wide(part.offset), wide(part.offset).checked_add(wide(part.count)));
    let past = last.is_some_and(|last| last > of.size && last - of.size <= NEAR);
    past && (of.constant || first >= of.size)
}

/// Such a copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beyond {
    pub(super) way: Way,
    pub(super) part: Part,
    pub(super) of: Living,
    /// Where the other side begins.
    pub(super) other: u64,
    pub(super) kind: cudaMemcpyKind,
}

/// Puts what there is of such a copy on a stream.
///
/// # Errors
/// Those of [`plan`].
pub(super) fn copy(machine: &mut Guard, call: &Call, stream: Key, asked: Beyond) -> Answer {
    let Beyond { way, part, of, other, kind } = asked;
    let (offset, count) = (wide(part.offset), wide(part.count));
    let inside = of.size.saturating_sub(offset);
    let name = call.name;
    if other == 0 {
        return Err(cudaErrorInvalidValue);
    }
    let far = place(name, &machine.book, other, Some(count), kind == cudaMemcpyDeviceToDevice)?;
    reachable(machine, [&end(Side::row(other), far)])?;
    let mut copies = Vec::new();
    if inside > 0 {
        let (here, there) = (Side::row(of.at + offset), Side::row(other));
        let (to, from) = if way == Way::To { (here, there) } else { (there, here) };
        let request = Request { to, from, volume: Volume::row(inside), kind };
        copies.push(plan(call, &machine.book, &request, Mode::Asynchronous)?.copy);
    }
    if way == Way::From {
        copies.push(garbage(other + inside, far, count - inside));
    }
    let rest = if way == Way::To { "the others are dropped" } else { "the others are read as 0xcd" };
    eprintln!(
        "CUDA emulator: {name}: {count} bytes from byte {offset} on are not within a variable of {} bytes. Hardware takes \
         this, and copies what lies behind the variable; here {inside} bytes are copied, and {rest}",
        of.size
    );
    submit(machine, stream, name, Work::Copies(copies), &[]).map(drop)
}

/// What a copy from behind a variable brings.
fn garbage(to: u64, place: Place, bytes: u64) -> Copy {
    let read = vec![POISON; usize::try_from(bytes).unwrap_or(0)];
    let from = End { memory: Memory::Staged(read), pitch: 0, slice: 0 };
    Copy { to: end(Side::row(to), place), from, volume: Volume::row(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hardware_takes_what_begins_behind_a_variable_and_what_leaves_a_constant() {
        let taken = |offset, count, constant| {
            let of = Living { at: 0x1000, size: 16, constant };
            is_taken(Part { variable: core::ptr::null(), offset, count }, of)
        };
        assert_eq!([taken(16, 1, false), taken(16, 1, true), taken(40, 8, false)], [true; 3]);
        // Begun inside, ended outside.
        assert_eq!([taken(0, 17, false), taken(0, 17, true), taken(8, 9, true)], [false, true, true]);
        assert!(!taken(0, 16, true) && !taken(4, 8, false));
        for constant in [false, true] {
            assert!(!taken(usize::MAX, 16, constant) && !taken(usize::MAX - 15, 16, constant));
            assert!(!taken(16, (64 << 10) + 1, constant) && taken(16, 64 << 10, constant));
        }
    }
}
