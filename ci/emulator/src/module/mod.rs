//! The modules of a program: fatbinaries, kernels and variables.
//!
//! [`fatbin`] finds PTX text in the containers that nvcc embeds, and [`image`] makes the first contents of
//! variables. `registry` keeps what constructors register, `library` what programs load at run time, and
//! `load` gives the variables of a module memory on a device.

pub(crate) mod fatbin;
pub(crate) mod image;
pub(crate) mod library;
pub(crate) mod load;
pub(crate) mod registry;
