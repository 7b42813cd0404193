//! Of the second half of the draw, rows 151 to 300: sealed until its score.

use super::common::areas;

mod copy;
mod device;
mod error;
mod foreign;
mod graph;
mod image;
mod memory;
mod order;

areas!(copy, device, error, foreign, graph, image, memory, order);
