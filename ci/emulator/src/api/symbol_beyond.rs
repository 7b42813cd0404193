//! Asynchronous copies that go past the end of a variable.
//!
//! Hardware checks them against the memory of the module, not against the variable: it takes a copy that ends up within
//! another variable, or within the constants, which are one piece of memory, and reads or overwrites what is there. A
//! copy that touches what is between variables is refused. Here nothing is behind a variable: of what hardware takes,
//! what would be written there is dropped, what would be read is the pattern of new memory, and a line on standard error
//! says so.

use core::ops::Range;

use super::symbol::Living;
use super::symbol_copy::{Part, Way};
use super::{Call, wide};
use crate::error::Answer;
use crate::machine::Guard;
use crate::memory::POISON;
use crate::stream::{Copy, End, Key, Memory, Volume, Work, submit};
use crate::sys::{cudaErrorInvalidValue, cudaMemcpyDeviceToDevice, cudaMemcpyKind};
use crate::transfer::{Mode, Place, Request, Side, end, place, plan, reachable};

/// What hardware begins a variable at a multiple of.
const APART: u64 = 256;

/// Where hardware has the variables of one module: each a piece of memory, and all constants together one.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pieces: Vec<Range<u64>>,
    /// Where each variable begins, in the order in which the module names them.
    starts: Vec<u64>,
}

impl Layout {
    /// Lays out variables of these sizes and alignments, constants or not.
    pub(super) fn new(variables: &[(u64, u64, bool)]) -> Self {
        let next = |at: u64, align: u64| at.checked_next_multiple_of(align.max(1)).unwrap_or(u64::MAX);
        let (mut constants, mut it) = (0, Self::default());
        for &(size, align, _) in variables.iter().filter(|it| it.2) {
            constants = next(constants, align).saturating_add(size);
        }
        let mut free = next(constants, APART);
        it.pieces.push(0..constants);
        constants = 0;
        for &(size, align, constant) in variables {
            let start = if constant { next(constants, align) } else { next(free, APART) };
            let end = start.saturating_add(size);
            it.starts.push(start);
            if constant {
                constants = end;
            } else {
                free = end;
                it.pieces.push(start..end);
            }
        }
        it
    }

    /// Whether hardware takes an asynchronous copy of this part of a variable, by the place of its name in the module.
    pub(super) fn takes(&self, variable: usize, part: Part) -> bool {
        let first = self.starts.get(variable).and_then(|at| at.checked_add(wide(part.offset)));
        let last = first.and_then(|first| first.checked_add(wide(part.count)));
        let (Some(first), Some(last)) = (first, last) else { return false };
        self.pieces.iter().any(|it| it.start <= first && last <= it.end)
    }
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

    const NULL: *const core::ffi::c_void = core::ptr::null();

    #[test]
    fn hardware_takes_what_ends_up_in_another_variable_or_in_the_constants() {
        // A constant, a variable that its neighbour follows at once, that neighbour, a number, another constant.
        let sizes = [(64, 4, true), (256, 4, false), (16, 4, false), (4, 4, false), (8, 16, true)];
        let layout = Layout::new(&sizes);
        assert_eq!(layout.starts, [0, 256, 512, 768, 64]);
        let taken = |variable, offset, count| layout.takes(variable, Part { variable: NULL, offset, count });
        // Within the constants, and past them.
        assert_eq!(
            [taken(0, 0, 65), taken(0, 64, 8), taken(0, 64, 9), taken(4, 0, 9)],
            [true, true, false, false]
        );
        // Within the neighbour, over the border, past the neighbour, and in the number.
        assert_eq!(
            [taken(1, 256, 16), taken(1, 0, 257), taken(1, 256, 17), taken(2, 256, 4)],
            [true, false, false, true]
        );
        assert_eq!([taken(2, 16, 1), taken(3, 4, 1)], [false; 2]);
        // Out of a constant into a variable.
        assert_eq!([taken(0, 256, 1), taken(0, 72, 1)], [true, false]);
        assert!(!taken(1, usize::MAX, 16) && !taken(1, usize::MAX - 15, 16) && !taken(9, 0, 1));
    }
}
