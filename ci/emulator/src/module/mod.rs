//! What programs register: fatbinaries, kernels and variables.
//!
//! [`fatbin`] finds PTX text in the containers that nvcc embeds, `unpack` undoes their compression, [`image`] makes the
//! first contents of variables.

pub mod fatbin;
pub mod image;
mod unpack;
