//! Copies to and from variables of modules.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::c_void;

use super::symbol::{Living, symbol, taken};
use super::symbol_beyond::{self, Beyond};
use super::{Call, address, api, wide};
use crate::error::Answer;
use crate::machine::Guard;
use crate::stream::Volume;
use crate::sys::{
    cudaErrorInvalidMemcpyDirection, cudaErrorInvalidValue, cudaMemcpyDefault, cudaMemcpyDeviceToDevice,
    cudaMemcpyDeviceToHost, cudaMemcpyHostToDevice, cudaMemcpyKind, cudaStream_t,
};
use crate::transfer::{Mode, Request, Side, transfer};

/// Which side of the copy the variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    To,
    From,
}

/// Some bytes of a variable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) variable: *const c_void,
    pub(super) offset: usize,
    pub(super) count: usize,
}

/// The address of a part of `size` bytes at `start`.
fn inside(part: Part, start: u64, size: u64) -> Answer<u64> {
    let end = wide(part.offset).checked_add(wide(part.count)).filter(|end| *end <= size);
    end.and(start.checked_add(wide(part.offset))).ok_or(cudaErrorInvalidValue)
}

/// Nothing to copy is no error; after that an unknown variable weighs most, and then the direction.
fn copy(
    call: &Call,
    way: Way,
    part: Part,
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
        return symbol_beyond::copy(&mut machine, call, stream, beyond);
    }
    transfer(&mut machine, call, stream, &within(way, part, found, other, kind)?, mode)
}

/// The copy between a part of a variable and other memory.
pub(super) fn request(
    machine: &mut Guard,
    device: usize,
    way: Way,
    part: Part,
    other: *const c_void,
    kind: cudaMemcpyKind,
) -> Answer<Request> {
    let found = symbol(machine, device, part.variable)?;
    check(way, kind)?;
    within(way, part, found, other, kind)
}

/// Whether the direction is one that the variable's side of the copy allows.
fn check(way: Way, kind: cudaMemcpyKind) -> Answer {
    let host = if way == Way::To { cudaMemcpyHostToDevice } else { cudaMemcpyDeviceToHost };
    let right = [host, cudaMemcpyDeviceToDevice, cudaMemcpyDefault].contains(&kind);
    if right { Ok(()) } else { Err(cudaErrorInvalidMemcpyDirection) }
}

/// The copy of a part that has to be within the variable.
fn within(way: Way, part: Part, of: Living, other: *const c_void, kind: cudaMemcpyKind) -> Answer<Request> {
    let (here, there) = (Side::row(inside(part, of.at, of.size)?), Side::row(address(other)));
    let (to, from) = if way == Way::To { (here, there) } else { (there, here) };
    Ok(Request { to, from, volume: Volume::row(wide(part.count)), kind })
}

const NULL: cudaStream_t = core::ptr::null_mut();

api! {
    /// Copies to a variable, ordered with the default stream.
    fn cudaMemcpyToSymbol | cudaMemcpyToSymbol_ptds(
        call, variable: *const c_void, src: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind,
    ) {
        copy(call, Way::To, Part { variable, offset, count }, src, kind, NULL, Mode::Blocking)
    }

    /// Copies from a variable, ordered with the default stream.
    fn cudaMemcpyFromSymbol | cudaMemcpyFromSymbol_ptds(
        call, dst: *mut c_void, variable: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind,
    ) {
        copy(call, Way::From, Part { variable, offset, count }, dst, kind, NULL, Mode::Blocking)
    }

    /// Copies to a variable in stream order.
    fn cudaMemcpyToSymbolAsync | cudaMemcpyToSymbolAsync_ptsz(
        call, variable: *const c_void, src: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind,
        stream: cudaStream_t,
    ) {
        copy(call, Way::To, Part { variable, offset, count }, src, kind, stream, Mode::Asynchronous)
    }

    /// Copies from a variable in stream order.
    fn cudaMemcpyFromSymbolAsync | cudaMemcpyFromSymbolAsync_ptsz(
        call, dst: *mut c_void, variable: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind,
        stream: cudaStream_t,
    ) {
        copy(call, Way::From, Part { variable, offset, count }, dst, kind, stream, Mode::Asynchronous)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_lies_inside_its_variable_whatever_the_numbers_are() {
        let part = |offset, count| inside(Part { variable: core::ptr::null(), offset, count }, 0x1000, 16);
        assert_eq!((part(0, 16), part(15, 1), part(4, 8)), (Ok(0x1000), Ok(0x100f), Ok(0x1004)));
        for (offset, count) in [(0, 17), (16, 1), (17, 0), (usize::MAX, 2), (8, usize::MAX)] {
            assert_eq!(part(offset, count), Err(cudaErrorInvalidValue), "{offset} {count}");
        }
    }
}
