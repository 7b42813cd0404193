//! Loads modules onto devices: gives their variables memory and first contents.

#![expect(unsafe_code, reason = "fills memory of the machine, and pointers that the program reads")]

use super::image::{image, variables};
use super::registry::Registry;
use crate::error::Answer;
use crate::exec::Addresses;
use crate::host_line::demangled;
use crate::machine::Machine;
use crate::memory::Kind;
use crate::sys::cudaMemAttachGlobal;

/// Makes sure that a module is loaded on a device.
pub(crate) fn load(machine: &mut Machine, registry: &mut Registry, module: usize, device: usize) -> Answer {
    if let Some(instance) = registry.instance(module, device) {
        // A reset of the device removes the variables as well.
        if instance.addresses.values().all(|at| machine.allocations.at(*at).is_some()) {
            return Ok(());
        }
    }
    let parsed = registry.parsed(module)?;
    let mut addresses = Addresses::new();
    let mut fresh = Vec::new();
    for v in variables(&parsed) {
        // Managed variables are the same memory for all devices.
        let known = registry.anywhere(module, &v.name).filter(|_| v.managed);
        if let Some(at) = known.filter(|at| machine.allocations.at(*at).is_some()) {
            addresses.insert(v.name.clone(), at);
            continue;
        }
        let size = v.size().max(1);
        // Findings name it as long as the process lives, and there are few.
        let call: &'static str = format!("the variable {}", demangled(&v.name)).leak();
        let at = if v.managed {
            machine.allocations.allocate_host(device, size, Kind::Managed, cudaMemAttachGlobal, call)?
        } else {
            machine.allocations.allocate(device, size, Kind::Symbol, call)?
        };
        addresses.insert(v.name.clone(), at);
        fresh.push((v, at));
    }
    for (v, at) in fresh {
        let bytes = image(&parsed, v, &addresses);
        if let Some(place) = machine.allocations.at(at).filter(|a| a.end() - at >= bytes.len() as u64) {
            // SAFETY: the allocation was just made for this variable, and is at least this long.
            unsafe { place.host.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
    }
    for (name, pointer) in registry.managed(module) {
        if let Some(&at) = addresses.get(&*name) {
            let place = core::ptr::with_exposed_provenance_mut::<u64>(pointer);
            // SAFETY: the program registered this as the place of a pointer that it reads.
            unsafe { place.write(at) };
        }
    }
    registry.set_instance(module, device, addresses);
    Ok(())
}
