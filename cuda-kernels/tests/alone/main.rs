//! Tests that must be alone in their process: the head of each file says why. Each begins with
//! `own_process!`, which `cuda-safe/tests/ledger/sources.rs` checks.

mod another_device;
mod another_device_declared;
mod blocking_launch;
mod done_after_a_fault;
mod drops_after_a_fault;
mod fault_names_the_launch;
mod fault_with_memory_in_flight;
mod faults;
mod functions_after_a_fault;
mod library;
mod no_code;
mod refused_launch;
mod surface_trap;
