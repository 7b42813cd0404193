//! The library of all three packages: shows that a package runs its own kernels, and sees its own variables.
#![cfg_attr(feature = "clash", allow(dead_code, reason = "its program does not link"))]

#[cfg(not(feature = "clash"))]
mod check;

#[cfg(not(feature = "clash"))]
pub use check::check;

mod kernels {
    cuda_safe::include_kernels!("kernels");
}
