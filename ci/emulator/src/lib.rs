//! A stand-in for `libcudart.so.13` on machines without a GPU.
//!
//! Programs that are linked to the CUDA runtime, in C++ or in Rust, run on it unchanged: the loader path
//! selects it. Memory, streams, events and errors behave as on a device. Kernels run by interpreting the PTX
//! that nvcc embeds. Asynchronous work runs as late as CUDA's rules allow, so that a missing synchronisation
//! shows. The emulator does not model speed.
//!
//! The C functions in `api` are the way in, and `exec` runs kernels.

mod api;
mod calls;
mod config;
mod context;
mod device;
pub mod doctor;
mod error;
mod exec;
mod external;
mod fidelity;
mod finding;
mod graph;
mod host_line;
mod leaks;
mod log;
mod machine;
mod memory;
mod module;
mod page;
mod profile;
mod ptx;
mod race;
mod shape;
mod stack;
mod stream;
mod suppression;
// Public for the compiler's sake: it searches the whole crate for uses of each private constant whose name is
// not upper case, and C has a thousand of them.
pub mod sys;
mod system_calls;
#[cfg(test)]
mod testing;
mod thread;
mod unread;

pub use config::check as check_variables;
pub use suppression::KINDS;
