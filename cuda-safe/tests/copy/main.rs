//! Copies and fills: of elements, rows and layers, alone and in batches.

mod array_copies;
mod copy;
mod copy_batch;
mod copy_batch3d;
mod copy_batch_again;
mod planes;
mod reads_at_call;
