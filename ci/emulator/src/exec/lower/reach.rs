//! Finds the functions that a kernel may call, and the shared variables that all of them use.

use std::collections::{HashMap, HashSet};

use crate::exec::program::{RESERVED, SharedArray};
use crate::ptx::ast::{Initial, Name};
use crate::ptx::{Function, Module, Operand, Space, Statement};

/// The bytes that cooperative groups may use of the shared memory that the system reserves.
const RESERVED_BYTES: u32 = 288;

/// The functions that a kernel may call, callees first, the kernel last.
pub(super) fn reach<'m>(module: &'m Module, kernel: &'m Function) -> Vec<&'m Function> {
    let mut seen = HashSet::new();
    let mut order = Vec::new();
    let mut indirect = false;
    seen.insert(&*kernel.name);
    visit(module, kernel, &mut seen, &mut order, &mut indirect);
    // A function that is only reached through a table of the module must come before the kernel, too.
    if indirect {
        let last = order.pop();
        let tables = module.variables.iter().flat_map(|v| &v.initial);
        for initial in tables {
            let Initial::Symbol { name, .. } = initial else { continue };
            let Some(f) = callable(module, name) else { continue };
            if seen.insert(&f.name) {
                visit(module, f, &mut seen, &mut order, &mut indirect);
            }
        }
        order.extend(last);
    }
    order
}

fn visit<'m>(
    module: &'m Module,
    from: &'m Function,
    seen: &mut HashSet<&'m str>,
    order: &mut Vec<&'m Function>,
    indirect: &mut bool,
) {
    // Depth first, with a stack of its own: call chains can be long.
    let mut stack = vec![(from, callees(module, from, indirect).into_iter())];
    while let Some((f, rest)) = stack.last_mut() {
        match rest.next() {
            Some(callee) => {
                if seen.insert(&callee.name) {
                    let more = callees(module, callee, indirect).into_iter();
                    stack.push((callee, more));
                }
            }
            None => {
                order.push(f);
                stack.pop();
            }
        }
    }
}

/// The function of a name, unless it is a kernel: kernels are launched, never called.
fn callable<'m>(module: &'m Module, name: &str) -> Option<&'m Function> {
    module.function(super::resolve(module, name)).filter(|f| !f.entry)
}

/// The functions that a body names, as a call's target or as an address.
fn callees<'m>(module: &'m Module, f: &'m Function, indirect: &mut bool) -> Vec<&'m Function> {
    let mut list = Vec::new();
    for statement in f.body.iter().flatten() {
        match statement {
            Statement::Instruction(i) => {
                let call = &*i.opcode == "call";
                let mut direct = false;
                names(&i.operands, &mut |name| {
                    if let Some(callee) = callable(module, name) {
                        direct = true;
                        list.push(callee);
                    } else if call && module.functions.iter().any(|f| f.name == *name) {
                        direct = true;
                    }
                });
                *indirect |= call && !direct;
            }
            Statement::CallTargets(_, targets) => {
                list.extend(targets.iter().filter_map(|t| callable(module, t)));
            }
            _ => {}
        }
    }
    list
}

fn names<'m>(operands: &'m [Operand], each: &mut impl FnMut(&'m Name)) {
    for operand in operands {
        match operand {
            Operand::Name(name) | Operand::Offset(name, _) | Operand::Address(Some(name), _) => each(name),
            Operand::Vector(list) | Operand::List(list) | Operand::Multi(list) => names(list, each),
            Operand::Not(inner) => names(std::slice::from_ref(inner), each),
            Operand::Pair(a, b) => {
                names(std::slice::from_ref(a), each);
                names(std::slice::from_ref(b), each);
            }
            Operand::Int(_) | Operand::F32(_) | Operand::F64(_) | Operand::Address(None, _) => {}
        }
    }
}

/// Lays out the shared variables that some functions use. Returns their offsets by name, and the bytes that
/// have a declared size. Arrays without a size all start behind the others, as the language requires.
pub(super) fn shared(module: &Module, reached: &[&Function]) -> (HashMap<Name, u32>, Vec<SharedArray>, u32) {
    let mut used = HashSet::new();
    for f in reached {
        for statement in f.body.iter().flatten() {
            if let Statement::Instruction(i) = statement {
                names(&i.operands, &mut |name| {
                    used.insert(name.clone());
                });
            }
        }
    }
    let mut at = 0u32;
    let (mut places, mut arrays) = (HashMap::new(), Vec::new());
    let mut open = Vec::new();
    let mut widest = 1;
    for v in &module.variables {
        if v.space != Space::Shared || !used.contains(&v.name) || places.contains_key(&v.name) {
            continue;
        }
        if v.array && v.count == 0 {
            widest = widest.max(v.align);
            open.push(v);
            continue;
        }
        let (place, size) = super::reserve(&mut at, v);
        places.insert(v.name.clone(), place);
        arrays.push(SharedArray { name: v.name.to_string(), start: place, end: place + size });
    }
    if used.contains(RESERVED) {
        let start = at.next_multiple_of(16);
        at = start + RESERVED_BYTES;
        places.insert(RESERVED.into(), start);
        arrays.push(SharedArray { name: RESERVED.to_owned(), start, end: at });
    }
    let bytes = at;
    if !open.is_empty() {
        at = at.next_multiple_of(widest.max(16));
        places.extend(open.into_iter().map(|v| (v.name.clone(), at)));
        return (places, arrays, at);
    }
    (places, arrays, bytes)
}
