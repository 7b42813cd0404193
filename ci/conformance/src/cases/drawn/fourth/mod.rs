//! The fourth part of the draw: rows 401 to 500, which are sealed.

use crate::case::Cases;

mod copy;
mod device;
mod error;
mod foreign;
mod graph;
mod image;
mod kernel;
mod memory;
mod order;
mod pool;

pub(super) fn add(cases: &mut Cases) {
    for area in [
        copy::add,
        device::add,
        error::add,
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
