//! Of the open half of the draw, rows 1 to 150.

use super::common::areas;

mod copy;
mod device;
pub(super) mod foreign;
pub(super) mod graph;
mod image;
mod kernel;
mod memory;
mod order;
pub(super) mod pool;

areas!(copy, device, foreign, graph, image, kernel, memory, order, pool);
