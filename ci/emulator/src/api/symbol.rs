//! Variables of modules.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::c_void;

use super::{Call, Out, api, pointer};
use crate::error::Answer;
use crate::machine::Guard;
use crate::module::load::load;
use crate::module::registry::registry;
use crate::sys::{cudaErrorInvalidSymbol, cudaErrorInvalidValue};

/// A variable on a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Living {
    pub(super) at: u64,
    pub(super) size: u64,
    pub(super) constant: bool,
}

/// The variable on a device, given the host variable that stands for it.
pub(super) fn symbol(machine: &mut Guard, device: usize, host: *const c_void) -> Answer<Living> {
    let mut registry = registry();
    // A program names a managed variable by the address of its data.
    let variable = match registry.variable(host.addr()) {
        Ok(variable) => variable.clone(),
        Err(unknown) => registry.managed_at(super::address(host)).ok_or(unknown)?,
    };
    load(machine, &mut registry, variable.module, device)?;
    let instance = registry.instance(variable.module, device).ok_or(cudaErrorInvalidSymbol)?;
    let at = instance.addresses.get(&*variable.name).copied().ok_or(cudaErrorInvalidSymbol)?;
    Ok(Living { at, size: variable.size, constant: variable.constant })
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
