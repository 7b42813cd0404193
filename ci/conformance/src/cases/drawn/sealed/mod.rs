//! The second half of the draw, rows 151 to 300: sealed until its score, and open since.

use super::common::areas;

mod copy;
mod device;
mod error;
mod foreign;
mod graph;
mod image;
mod kernel;
mod memory;
mod order;

areas!(copy, device, error, foreign, graph, image, kernel, memory, order);
