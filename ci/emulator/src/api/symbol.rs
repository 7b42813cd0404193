//! Variables of modules.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::c_void;

use super::symbol_beyond::Layout;
use super::symbol_copy::Part;
use super::{Call, Out, api, pointer, wide};
use crate::error::Answer;
use crate::machine::Guard;
use crate::module::image::variables;
use crate::module::load::load;
use crate::module::registry::{Registry, Variable, registry};
use crate::ptx::ast::Space;
use crate::sys::{cudaErrorInvalidSymbol, cudaErrorInvalidValue};

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
    let at = instance.addresses.get(&*variable.name).copied().ok_or(cudaErrorInvalidSymbol)?;
    Ok(Living { at, size: variable.size, module: variable.module })
}

fn named(registry: &Registry, host: *const c_void) -> Answer<Variable> {
    // A program names a managed variable by the address of its data.
    match registry.variable(host.addr()) {
        Ok(variable) => Ok(variable.clone()),
        Err(unknown) => registry.managed_at(super::address(host)).ok_or(unknown),
    }
}

/// Whether hardware takes an asynchronous copy of this part of a variable although it goes past the variable's end.
pub(super) fn taken(part: Part, of: Living) -> Answer<bool> {
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
    let (mut machine, device) = call.context()?;
    symbol(&mut machine, device, host)
}

api! {
    /// The address of a variable on the current device.
    fn cudaGetSymbolAddress(call, out: Out<'_, *mut c_void>, host: *const c_void) {
        let found = find(call, host)?;
        out.ok_or(cudaErrorInvalidValue)?.write(pointer(found.at));
        Ok(())
    }

    /// The size of a variable in bytes.
    fn cudaGetSymbolSize(call, out: Out<'_, usize>, host: *const c_void) {
        let found = find(call, host)?;
        out.ok_or(cudaErrorInvalidValue)?.write(usize::try_from(found.size).unwrap_or(usize::MAX));
        Ok(())
    }
}
