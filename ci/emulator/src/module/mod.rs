//! What programs register: fatbinaries, kernels and variables.
//!
//! [`fatbin`] finds PTX text in the containers that nvcc embeds, [`unpack`] undoes their compression.

pub mod fatbin;
mod unpack;
