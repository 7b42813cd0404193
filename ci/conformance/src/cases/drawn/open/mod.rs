//! The open half of the draw: rows 1 to 150.

use crate::case::Cases;

mod copy;
mod device;
pub(super) mod foreign;
pub(super) mod graph;
mod image;
mod kernel;
mod memory;
mod order;
pub(super) mod pool;

pub(super) fn add(cases: &mut Cases) {
    for area in [
        copy::add,
        device::add,
        foreign::add,
        graph::add,
        image::add,
        kernel::add,
        memory::add,
        order::add,
        pool::add,
    ] {
        area(cases);
    }
}
