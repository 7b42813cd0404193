//! Ends of the process, and memory that several processes share. These tests start other processes.

mod drops;
mod ipc;
mod pool_share;
mod scope_end;
mod staged_end;
