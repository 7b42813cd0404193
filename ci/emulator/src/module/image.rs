//! The first contents of a module's variables.

use crate::exec::Addresses;
use crate::exec::lower::code_address;
use crate::ptx::ast::{Initial, Space};
use crate::ptx::{Module, Variable};

/// The variables of a module in device memory. They need an address before any kernel is lowered.
pub(crate) fn variables(module: &Module) -> impl Iterator<Item = &Variable> {
    module.variables.iter().filter(|v| matches!(v.space, Space::Global | Space::Const) && !v.external)
}

/// The bytes that a variable holds at first, given the addresses of all.
pub(crate) fn image(module: &Module, v: &Variable, addresses: &Addresses) -> Vec<u8> {
    let size = usize::try_from(v.ty.size()).unwrap_or(1);
    let mut bytes = Vec::new();
    for initial in &v.initial {
        let value = match initial {
            Initial::Int(value) => *value,
            Initial::F32Bits(bits) if size == 8 => f64::from(f32::from_bits(*bits)).to_bits(),
            Initial::F32Bits(bits) => u64::from(*bits),
            Initial::Float(value) if size == 4 => {
                let narrow = crate::exec::rounding::narrow(*value, crate::exec::rounding::Rounding::Nearest);
                u64::from(narrow.to_bits())
            }
            Initial::Float(value) => value.to_bits(),
            Initial::Symbol { name, offset, shift, .. } => {
                let address = addresses.get(name).copied().or_else(|| code_address(module, name));
                let address = address.unwrap_or(0).wrapping_add_signed(*offset);
                address >> shift.unwrap_or(0)
            }
        };
        bytes.extend(value.to_le_bytes().into_iter().chain([0; 8]).take(size));
    }
    bytes.resize(usize::try_from(v.size()).unwrap_or(bytes.len()), 0);
    bytes
}
