//! What programs register: fatbinaries, kernels and variables.
//!
//! [`fatbin`] finds PTX text in the containers that nvcc embeds, `unpack` undoes their compression, [`image`] makes the
//! first contents of variables. `registry` keeps what constructors registered, `load` brings modules to life on
//! devices.

pub mod fatbin;
pub mod image;
pub(crate) mod load;
pub(crate) mod registry;
mod unpack;
