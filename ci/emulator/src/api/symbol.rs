//! Variables of modules: their addresses and sizes, and copies to and from them.
//!
//! Hardware checks an asynchronous copy against the memory of the module, not against the variable. It
//! accepts a copy that goes past the end of a variable if the copy ends within another variable, or within
//! the constants, which are one piece of memory. Such a copy reads or overwrites what lies there. Hardware
//! refuses a copy that touches the gap between two variables. Here nothing lies behind a variable: of a copy
//! that hardware accepts, writes past the end are dropped, reads past the end give the pattern of new memory,
//! and a line on standard error reports the copy.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::c_void;
use core::ops::Range;

use super::transfer::{MemoryType, Mode, Request, Side, end, memory_type, plan, reachable, transfer};
use super::{Call, Out, address, api, pointer, wide};
use crate::error::Answer;
use crate::finding::Finding;
use crate::machine::Guard;
use crate::memory::POISON;
use crate::module::image::variables;
use crate::module::load::load;
use crate::module::registry::{RegisteredVariable, Registry, registry};
use crate::ptx::ast::Space;
use crate::stream::{Copy, End, Memory, StreamId, Volume, Work, submit};
use crate::sys::*;

/// A variable on a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Living {
    pub(super) at: u64,
    pub(super) size: u64,
    /// Its module.
    module: usize,
}

/// The variable on a device, given the host variable that stands for it.
pub(super) fn symbol(machine: &mut Guard, device: usize, host: *const c_void) -> Answer<Living> {
    let mut registry = registry();
    let variable = named(&registry, host)?;
    load(machine, &mut registry, variable.module, device)?;
    let instance = registry.instance(variable.module, device).ok_or(cudaErrorInvalidSymbol)?;
    let at = instance.addresses.get(&*variable.name).copied().ok_or(cudaErrorSymbolNotFound)?;
    Ok(Living { at, size: variable.size, module: variable.module })
}

fn named(registry: &Registry, host: *const c_void) -> Answer<RegisteredVariable> {
    // A program names a managed variable by the address of its data.
    match registry.variable(host.addr()) {
        Ok(variable) => Ok(variable.clone()),
        Err(unknown) => registry.managed_at(super::address(host)).ok_or(unknown),
    }
}

/// Whether hardware accepts an asynchronous copy of this range of a variable although it goes past the
/// variable's end.
pub(super) fn taken(part: VariableRange, of: Living) -> Answer<bool> {
    let inside = wide(part.offset).checked_add(wide(part.count)).is_some_and(|end| end <= of.size);
    if inside {
        return Ok(false);
    }
    let mut registry = registry();
    let name = named(&registry, part.variable)?.name;
    let module = registry.parsed(of.module)?;
    let own = || variables(&module).filter(|v| !v.managed);
    let all: Vec<_> = own().map(|v| (v.size(), u64::from(v.align), v.space == Space::Const)).collect();
    Ok(own().position(|v| *v.name == *name).is_some_and(|at| Layout::new(&all).takes(at, part)))
}

fn find(call: &Call, host: *const c_void) -> Answer<Living> {
    // What is no variable is found out without a context.
    named(&registry(), host)?;
    let (mut machine, device) = call.context()?;
    symbol(&mut machine, device, host)
}

api! {
    /// The address of a variable on the current device.
    allowed fn cudaGetSymbolAddress(call, out: Out<'_, *mut c_void>, host: *const c_void) {
        let found = find(call, host)?;
        out.ok_or(cudaErrorInvalidValue)?.write(pointer(found.at));
        Ok(())
    }

    /// The size of a variable in bytes.
    allowed fn cudaGetSymbolSize(call, out: Out<'_, usize>, host: *const c_void) {
        let found = find(call, host)?;
        out.ok_or(cudaErrorInvalidValue)?.write(usize::try_from(found.size).unwrap_or(usize::MAX));
        Ok(())
    }
}

/// Which side of the copy the variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VariableSide {
    To,
    From,
}

/// Some bytes of a variable.
#[derive(Clone, Copy, Debug)]
pub(super) struct VariableRange {
    pub(super) variable: *const c_void,
    pub(super) offset: usize,
    pub(super) count: usize,
}

/// The address of a part of `size` bytes at `start`.
fn inside(part: VariableRange, start: u64, size: u64) -> Answer<u64> {
    let end = wide(part.offset).checked_add(wide(part.count)).filter(|end| *end <= size);
    end.and(start.checked_add(wide(part.offset))).ok_or(cudaErrorInvalidValue)
}

/// Nothing to copy is no error; after that an unknown variable weighs most, and then the direction.
fn copy(
    call: &Call,
    way: VariableSide,
    part: VariableRange,
    other: *const c_void,
    kind: cudaMemcpyKind,
    stream: cudaStream_t,
    mode: Mode,
) -> Answer {
    let (mut machine, device, stream) = call.stream(stream)?;
    if part.count == 0 {
        return Ok(());
    }
    let found = symbol(&mut machine, device, part.variable)?;
    check(way, kind)?;
    let queued = mode == Mode::Asynchronous && !machine.is_captured(stream);
    if queued && taken(part, found)? {
        let beyond = Beyond { way, part, of: found, other: address(other), kind };
        return copy_beyond(&mut machine, call, stream, beyond);
    }
    transfer(&mut machine, call, stream, &within(way, part, found, other, kind)?, mode)
}

/// The copy between a part of a variable and other memory.
pub(super) fn request(
    machine: &mut Guard,
    device: usize,
    way: VariableSide,
    part: VariableRange,
    other: *const c_void,
    kind: cudaMemcpyKind,
) -> Answer<Request> {
    let found = symbol(machine, device, part.variable)?;
    check(way, kind)?;
    within(way, part, found, other, kind)
}

/// Whether the direction is one that the variable's side of the copy allows.
fn check(way: VariableSide, kind: cudaMemcpyKind) -> Answer {
    let host = if way == VariableSide::To { cudaMemcpyHostToDevice } else { cudaMemcpyDeviceToHost };
    let right = [host, cudaMemcpyDeviceToDevice, cudaMemcpyDefault].contains(&kind);
    if right { Ok(()) } else { Err(cudaErrorInvalidMemcpyDirection) }
}

/// The copy of a part that has to be within the variable.
fn within(
    way: VariableSide,
    part: VariableRange,
    of: Living,
    other: *const c_void,
    kind: cudaMemcpyKind,
) -> Answer<Request> {
    let (here, there) = (Side::row(inside(part, of.at, of.size)?), Side::row(address(other)));
    let (to, from) = if way == VariableSide::To { (here, there) } else { (there, here) };
    Ok(Request { to, from, volume: Volume::row(wide(part.count)), kind })
}

const NULL: cudaStream_t = core::ptr::null_mut();

api! {
    /// Copies to a variable, ordered with the default stream.
    allowed fn cudaMemcpyToSymbol | cudaMemcpyToSymbol_ptds(
        call, variable: *const c_void, src: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind,
    ) {
        copy(call, VariableSide::To, VariableRange { variable, offset, count }, src, kind, NULL, Mode::Blocking)
    }

    /// Copies from a variable, ordered with the default stream.
    allowed fn cudaMemcpyFromSymbol | cudaMemcpyFromSymbol_ptds(
        call, dst: *mut c_void, variable: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind,
    ) {
        copy(call, VariableSide::From, VariableRange { variable, offset, count }, dst, kind, NULL, Mode::Blocking)
    }

    /// Copies to a variable in stream order.
    allowed fn cudaMemcpyToSymbolAsync | cudaMemcpyToSymbolAsync_ptsz(
        call, variable: *const c_void, src: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind,
        stream: cudaStream_t,
    ) {
        copy(call, VariableSide::To, VariableRange { variable, offset, count }, src, kind, stream, Mode::Asynchronous)
    }

    /// Copies from a variable in stream order.
    allowed fn cudaMemcpyFromSymbolAsync | cudaMemcpyFromSymbolAsync_ptsz(
        call, dst: *mut c_void, variable: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind,
        stream: cudaStream_t,
    ) {
        copy(call, VariableSide::From, VariableRange { variable, offset, count }, dst, kind, stream, Mode::Asynchronous)
    }
}

/// Hardware aligns variables to this many bytes.
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

    /// Whether hardware accepts an asynchronous copy of this range of a variable. `variable` is its position
    /// in the module.
    pub(super) fn takes(&self, variable: usize, part: VariableRange) -> bool {
        let first = self.starts.get(variable).and_then(|at| at.checked_add(wide(part.offset)));
        let last = first.and_then(|first| first.checked_add(wide(part.count)));
        let (Some(first), Some(last)) = (first, last) else { return false };
        self.pieces.iter().any(|it| it.start <= first && last <= it.end)
    }
}

/// Such a copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beyond {
    pub(super) way: VariableSide,
    pub(super) part: VariableRange,
    pub(super) of: Living,
    /// Where the other side begins.
    pub(super) other: u64,
    pub(super) kind: cudaMemcpyKind,
}

/// Puts the part of such a copy that is possible here on a stream.
///
/// # Errors
/// Those of [`plan`].
fn copy_beyond(machine: &mut Guard, call: &Call, stream: StreamId, asked: Beyond) -> Answer {
    let Beyond { way, part, of, other, kind } = asked;
    let (offset, count) = (wide(part.offset), wide(part.count));
    let inside = of.size.saturating_sub(offset);
    let name = call.name;
    if other == 0 {
        return Err(cudaErrorInvalidValue);
    }
    let far = memory_type(name, &machine.allocations, other, Some(count), kind == cudaMemcpyDeviceToDevice)?;
    reachable(machine, [&end(Side::row(other), far)])?;
    let mut copies = Vec::new();
    if inside > 0 {
        let (here, there) = (Side::row(of.at + offset), Side::row(other));
        let (to, from) = if way == VariableSide::To { (here, there) } else { (there, here) };
        let request = Request { to, from, volume: Volume::row(inside), kind };
        copies.push(plan(call, &machine.allocations, &request, Mode::Asynchronous)?.copy);
    }
    if way == VariableSide::From {
        copies.push(garbage(other + inside, far, count - inside));
    }
    let rest = if way == VariableSide::To { "the others are dropped" } else { "the others are read as 0xcd" };
    let what = format!(
        "{count} bytes from byte {offset} on are not within a variable of {} bytes. Hardware takes this, and \
         copies what lies behind the variable; here {inside} bytes are copied, and {rest}",
        of.size
    );
    Finding::pointer(name, &what).report();
    submit(machine, stream, name, Work::Copies(copies), &[]).map(drop)
}

/// The bytes that a copy from behind a variable yields.
fn garbage(to: u64, place: MemoryType, bytes: u64) -> Copy {
    let read = vec![POISON; usize::try_from(bytes).unwrap_or(0)];
    let from = End { memory: Memory::Staged(read, None), pitch: 0, slice: 0 };
    Copy { to: end(Side::row(to), place), from, volume: Volume::row(bytes), kind: cudaMemcpyDefault }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_lies_inside_its_variable_whatever_the_numbers_are() {
        let part =
            |offset, count| inside(VariableRange { variable: core::ptr::null(), offset, count }, 0x1000, 16);
        assert_eq!((part(0, 16), part(15, 1), part(4, 8)), (Ok(0x1000), Ok(0x100f), Ok(0x1004)));
        for (offset, count) in [(0, 17), (16, 1), (17, 0), (usize::MAX, 2), (8, usize::MAX)] {
            assert_eq!(part(offset, count), Err(cudaErrorInvalidValue), "{offset} {count}");
        }
    }

    const NULL: *const core::ffi::c_void = core::ptr::null();

    #[test]
    fn hardware_takes_what_ends_up_in_another_variable_or_in_the_constants() {
        // A constant, a variable that its neighbour follows at once, that neighbour, a number, another
        // constant.
        let sizes = [(64, 4, true), (256, 4, false), (16, 4, false), (4, 4, false), (8, 16, true)];
        let layout = Layout::new(&sizes);
        assert_eq!(layout.starts, [0, 256, 512, 768, 64]);
        let taken =
            |variable, offset, count| layout.takes(variable, VariableRange { variable: NULL, offset, count });
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
