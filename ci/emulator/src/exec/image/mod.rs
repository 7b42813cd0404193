//! Images as kernels read and write them: textures by coordinates, and surfaces by bytes.

mod address;
mod cube;
mod element;
mod filter;
mod level;
mod operands;
mod surface;
mod texture;
mod warp;

pub(crate) use address::Address;
pub(crate) use element::{Channels, Image, NumberKind, Numbers};
pub(crate) use level::LevelRule;
pub(super) use operands::{DX, DY, IMAGE_OPERANDS, ImageOperands, LEVEL};
pub(crate) use texture::Texture;

#[cfg(test)]
mod tests;
