//! The kernels of this package, launched.
#![allow(clippy::unwrap_used, reason = "tests")]

mod contract;
mod declared;
mod links;
mod padded;

mod kernels {
    cuda_safe::include_kernels!("own_kernels");
}
