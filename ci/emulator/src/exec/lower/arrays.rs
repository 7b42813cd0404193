//! Finds which array of shared memory an instruction's address is of.
//!
//! The compiler names an array only where it takes its address. An address made of that and of numbers is of
//! the same array. A register whose definitions do not agree is of none.

use std::collections::HashMap;

use super::allocate::read;
use crate::exec::file::{CONSTANT, Slot};
use crate::exec::program::{Ins, NONE, Op};
use crate::ptx::Space;

/// The array that a register's value is an address in: `None` if its definitions do not agree.
type OfRegisters = HashMap<Slot, Option<u16>>;

/// The arrays that the loads, stores and atomic operations from an instruction on access. `taken` has the
/// instructions that take the address of an array.
pub(super) fn accessed(code: &[Ins], start: u32, taken: &HashMap<u32, u16>) -> Vec<(u32, u16)> {
    let mut arrays = OfRegisters::new();
    if taken.is_empty() {
        return Vec::new();
    }
    let code: Vec<(u32, &Ins)> = (0..).zip(code).skip(start as usize).collect();
    // First whatever a definition may be, so that the definitions of a loop find each other.
    while pass(&code, taken, &mut arrays, false) {}
    while pass(&code, taken, &mut arrays, true) {}
    let array = |(at, ins): (u32, &Ins)| match ins.op {
        Op::Load(a) | Op::Store(a) | Op::Atomic(a, ..)
            if matches!(a.space, Space::Shared | Space::Generic) =>
        {
            arrays.get(&ins.s[4]).copied().flatten().map(|array| (at, array))
        }
        _ => None,
    };
    code.into_iter().filter_map(array).collect()
}

/// Joins all definitions. With `strict`, a definition that is of no array does not agree with one that is.
/// Returns whether something has changed.
fn pass(code: &[(u32, &Ins)], taken: &HashMap<u32, u16>, arrays: &mut OfRegisters, strict: bool) -> bool {
    let mut changed = false;
    for (at, ins) in code {
        let register = |slot: &Slot| *slot != NONE && slot & CONSTANT == 0;
        let value = match (ins.op, taken.get(at)) {
            (_, Some(array)) => Some(Some(*array)),
            (Op::Alu(_), None) => {
                let mut of =
                    read(ins).iter().filter(|slot| register(slot)).filter_map(|slot| arrays.get(slot));
                let first = of.next().copied();
                if of.next().is_some() { Some(None) } else { first }
            }
            // Whatever else writes a register: at worst, accesses through it are not checked.
            _ => None,
        };
        for slot in ins.s[..ins.s.len() - read(ins).len()].iter().filter(|slot| register(slot)) {
            let old = arrays.get(slot).copied();
            let new = match (old, value) {
                (None, new) => new,
                (Some(old), Some(new)) => Some(old.filter(|_| old == new)),
                (Some(old), None) => Some(old.filter(|_| !strict)),
            };
            if new != old {
                changed = true;
                new.map(|new| arrays.insert(*slot, new));
            }
        }
    }
    changed
}
