//! Tests that must be alone in their process: the head of each file says why. Each begins with
//! `own_process!`, which `cuda-safe/tests/ledger/sources.rs` checks.

mod array_leaks;
mod call_sites;
mod callbacks;
mod copy_matrix;
mod copy_policy;
mod device_reset;
mod error_sticky;
mod every_function;
mod fork;
mod hazard_refusal;
mod leaks;
mod logs_fault;
mod notification;
mod peer_access;
mod peer_access_batch;
mod pool_retention;
mod pool_retention_off;
mod reused_handles;
