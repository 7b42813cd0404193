//! Of the third part of the draw, rows 301 to 400: sealed until its score.

use super::common::areas;

mod copy;
mod device;
mod error;
mod foreign;
mod graph;
mod image;
mod memory;

areas!(copy, device, error, foreign, graph, image, memory);
