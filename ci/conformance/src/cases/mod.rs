//! The cases, a file an area of the runtime.

use crate::case::Cases;

#[cfg(cudart_13_0)]
mod array_form;
#[cfg(cudart_13_0)]
mod attribute;
#[cfg(cudart_13_0)]
mod batch;
#[cfg(cudart_13_0)]
mod batch_solid;
mod between;
mod capture;
#[cfg(cudart_13_0)]
mod code;
mod device;
#[cfg(cudart_13_0)]
mod drawn;
#[cfg(cudart_13_0)]
mod driver;
mod early;
mod edge;
mod error;
mod event;
mod fidelity;
#[cfg(cudart_13_0)]
mod graph;
#[cfg(cudart_13_0)]
mod graph_change;
#[cfg(cudart_13_0)]
mod graph_conditional;
#[cfg(cudart_13_0)]
mod graph_copy;
#[cfg(cudart_13_0)]
mod graph_edit;
#[cfg(cudart_13_0)]
mod graph_event;
#[cfg(cudart_13_0)]
mod graph_memory;
#[cfg(cudart_13_0)]
mod graph_parameter;
#[cfg(cudart_13_0)]
mod graph_set;
#[cfg(cudart_13_0)]
mod graph_update;
mod host_memory;
mod image;
mod image_cube;
mod image_format;
mod image_view;
mod instructions;
mod kernel;
mod launch;
mod legacy;
mod legacy_peer;
#[cfg(cudart_12_8)]
mod library;
#[cfg(cudart_12_8)]
mod library_parts;
mod linear;
mod malloc;
mod managed;
mod memset;
#[cfg(cudart_13_0)]
mod node;
#[cfg(cudart_13_0)]
mod order;
mod peer;
mod pitch;
mod plane;
mod pointer;
mod pool;
mod pool_reuse;
mod raw;
#[cfg(cudart_13_0)]
mod state;
#[cfg(cudart_13_0)]
mod storage;
mod stream;
mod symbol;
mod texture;
mod texture_read;
mod volume;
mod wait;

/// All cases, in the order of the table.
pub(crate) fn all() -> Cases {
    let mut cases = Cases::default();
    let areas: [fn(&mut Cases); 35] = [
        linear::add,
        plane::add,
        volume::add,
        memset::add,
        symbol::add,
        peer::add,
        malloc::add,
        host_memory::add,
        managed::add,
        pool::add,
        pointer::add,
        stream::add,
        event::add,
        legacy::add,
        early::add,
        capture::add,
        device::add,
        error::add,
        kernel::add,
        between::add,
        wait::add,
        pitch::add,
        edge::add,
        raw::add,
        launch::add,
        legacy_peer::add,
        texture::add,
        texture_read::add,
        pool_reuse::add,
        fidelity::add,
        image::add,
        image_cube::add,
        image_format::add,
        image_view::add,
        instructions::add,
    ];
    for area in areas {
        area(&mut cases);
    }
    #[cfg(cudart_12_8)]
    for area in [library::add, library_parts::add] {
        area(&mut cases);
    }
    #[cfg(cudart_13_0)]
    for area in [
        driver::add,
        batch::add,
        batch_solid::add,
        graph::add,
        graph_change::add,
        node::add,
        graph_set::add,
        graph_memory::add,
        graph_event::add,
        graph_edit::add,
        graph_conditional::add,
        order::add,
        attribute::add,
        graph_parameter::add,
        graph_update::add,
        storage::add,
        array_form::add,
        code::add,
        state::add,
        graph_copy::add,
        drawn::add,
    ] {
        area(&mut cases);
    }
    cases
}
