//! The functions of the profiler, whose header NVIDIA packages apart. Callers declare them.

use super::table::loaded;
use crate::bindings::cudaError_t;

loaded! {
    fn cudaProfilerStart() -> cudaError_t;
}
loaded! {
    fn cudaProfilerStop() -> cudaError_t;
}
