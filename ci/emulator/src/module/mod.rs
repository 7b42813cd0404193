//! What programs register: fatbinaries, kernels and variables.
//!
//! [`fatbin`] finds PTX text in the containers that nvcc embeds, `unpack` undoes their compression, [`image`] makes the
//! first contents of variables. `registry` keeps what constructors registered, `library` what programs load at run time, `load` brings modules to life on
//! devices.

pub mod fatbin;
pub mod image;
pub(crate) mod library;
pub(crate) mod load;
pub(crate) mod registry;
mod unpack;
