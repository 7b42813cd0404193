//! The second half of the draw, rows 151 to 300: sealed until its score, and open since.

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
    ] {
        area(cases);
    }
}
