//! A program does not declare that its padding may be copied.
use bytemuck::AnyBitPattern;
use cuda_safe::memory::{Pinned, SourceOf};

#[derive(Clone, Copy, AnyBitPattern)]
#[repr(C)]
struct Padded {
    small: u8,
    large: u32,
}

impl SourceOf<Padded> for Pinned {}

fn main() {}
