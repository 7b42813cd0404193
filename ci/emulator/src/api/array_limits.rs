//! Which extents and flags an array may have.

use crate::device::attribute;
use crate::error::Answer;
use crate::exec::geometry::Geometry;
use crate::memory::{Extent, Format};
use crate::sys::*;

const FLAGS: u32 = cudaArrayLayered
    | cudaArraySurfaceLoadStore
    | cudaArrayCubemap
    | cudaArrayTextureGather
    | cudaArraySparse
    | cudaArrayDeferredMapping;

/// For video, which a format of two planes must be: `CUDA_ARRAY3D_VIDEO_ENCODE_DECODE` of the driver API.
const VIDEO: u32 = 0x100;

/// The shape that extent and flags stand for.
fn shape(extent: Extent, flags: u32) -> Option<Geometry> {
    let (cube, layered) = (flags & cudaArrayCubemap != 0, flags & cudaArrayLayered != 0);
    let Extent { width, height, depth } = extent;
    if width == 0 {
        return None;
    }
    if cube {
        let square = width == height;
        return match layered {
            false => (square && depth == 6).then_some(Geometry::Cube),
            true => (square && depth > 0 && depth.is_multiple_of(6)).then_some(Geometry::Cubes),
        };
    }
    match (layered, height, depth) {
        (true, _, 0) => None,
        (true, 0, _) => Some(Geometry::Lines),
        (true, _, _) => Some(Geometry::Planes),
        (false, 0, 0) => Some(Geometry::Line),
        (false, 0, _) => None,
        (false, _, 0) => Some(Geometry::Plane),
        (false, _, _) => Some(Geometry::Solid),
    }
}

/// The attributes that limit a texture of a shape: width, height, depth.
fn texture(shape: Geometry, gather: bool, levels: bool) -> [Option<cudaDeviceAttr>; 3] {
    match shape {
        Geometry::Line if levels => [Some(cudaDevAttrMaxTexture1DMipmappedWidth), None, None],
        Geometry::Line => [Some(cudaDevAttrMaxTexture1DWidth), None, None],
        Geometry::Plane if gather => {
            [Some(cudaDevAttrMaxTexture2DGatherWidth), Some(cudaDevAttrMaxTexture2DGatherHeight), None]
        }
        Geometry::Plane if levels => {
            [Some(cudaDevAttrMaxTexture2DMipmappedWidth), Some(cudaDevAttrMaxTexture2DMipmappedHeight), None]
        }
        Geometry::Plane => [Some(cudaDevAttrMaxTexture2DWidth), Some(cudaDevAttrMaxTexture2DHeight), None],
        Geometry::Solid => [
            Some(cudaDevAttrMaxTexture3DWidth),
            Some(cudaDevAttrMaxTexture3DHeight),
            Some(cudaDevAttrMaxTexture3DDepth),
        ],
        Geometry::Lines => {
            [Some(cudaDevAttrMaxTexture1DLayeredWidth), None, Some(cudaDevAttrMaxTexture1DLayeredLayers)]
        }
        Geometry::Planes => [
            Some(cudaDevAttrMaxTexture2DLayeredWidth),
            Some(cudaDevAttrMaxTexture2DLayeredHeight),
            Some(cudaDevAttrMaxTexture2DLayeredLayers),
        ],
        Geometry::Cube => [Some(cudaDevAttrMaxTextureCubemapWidth), None, None],
        Geometry::Cubes => [
            Some(cudaDevAttrMaxTextureCubemapLayeredWidth),
            None,
            Some(cudaDevAttrMaxTextureCubemapLayeredLayers),
        ],
    }
}

/// The same for surfaces.
fn surface(shape: Geometry) -> [Option<cudaDeviceAttr>; 3] {
    match shape {
        Geometry::Line => [Some(cudaDevAttrMaxSurface1DWidth), None, None],
        Geometry::Plane => [Some(cudaDevAttrMaxSurface2DWidth), Some(cudaDevAttrMaxSurface2DHeight), None],
        Geometry::Solid => [
            Some(cudaDevAttrMaxSurface3DWidth),
            Some(cudaDevAttrMaxSurface3DHeight),
            Some(cudaDevAttrMaxSurface3DDepth),
        ],
        Geometry::Lines => {
            [Some(cudaDevAttrMaxSurface1DLayeredWidth), None, Some(cudaDevAttrMaxSurface1DLayeredLayers)]
        }
        Geometry::Planes => [
            Some(cudaDevAttrMaxSurface2DLayeredWidth),
            Some(cudaDevAttrMaxSurface2DLayeredHeight),
            Some(cudaDevAttrMaxSurface2DLayeredLayers),
        ],
        Geometry::Cube => [Some(cudaDevAttrMaxSurfaceCubemapWidth), None, None],
        Geometry::Cubes => [
            Some(cudaDevAttrMaxSurfaceCubemapLayeredWidth),
            None,
            Some(cudaDevAttrMaxSurfaceCubemapLayeredLayers),
        ],
    }
}

fn within(device: usize, extent: Extent, limits: [Option<cudaDeviceAttr>; 3]) -> bool {
    let sizes = [extent.width, extent.height, extent.depth];
    sizes.into_iter().zip(limits).all(|(size, limit)| {
        let Some(limit) = limit else { return true };
        attribute(limit, device)
            .and_then(|limit| u64::try_from(limit).ok())
            .is_some_and(|limit| size <= limit)
    })
}

/// Checks the parameters of a new array.
///
/// # Errors
/// `cudaErrorInvalidValue`.
pub(super) fn check(device: usize, format: Format, extent: Extent, flags: u32, levels: bool) -> Answer {
    let right = || {
        let shape = shape(extent, flags)?;
        let has = |flag: u32| flags & flag != 0;
        let sparse = matches!(shape, Geometry::Plane | Geometry::Solid | Geometry::Planes);
        let fits = within(device, extent, texture(shape, has(cudaArrayTextureGather), levels));
        let planar =
            shape == Geometry::Plane && extent.width.is_multiple_of(2) && extent.height.is_multiple_of(2);
        let right = flags & !(FLAGS | VIDEO) == 0
            && (!has(cudaArrayTextureGather) || shape == Geometry::Plane)
            && (!has(cudaArraySparse) || (sparse && !has(cudaArrayDeferredMapping)))
            && fits
            && (!has(cudaArraySurfaceLoadStore) || within(device, extent, surface(shape)))
            && (!format.is_planar() || (planar && has(VIDEO)));
        right.then_some(())
    };
    right().ok_or(cudaErrorInvalidValue)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(width: u64, height: u64, depth: u64, flags: u32) -> bool {
        check(0, Format::Elements(4), Extent { width, height, depth }, flags, false).is_ok()
    }

    #[test]
    fn extents_and_flags_say_what_an_array_is() {
        assert!(allowed(131_072, 0, 0, 0) && !allowed(131_073, 0, 0, 0));
        assert!(allowed(131_072, 65536, 0, 0) && !allowed(1, 65537, 0, 0));
        assert!(allowed(1, 1, 16384, 0) && !allowed(1, 1, 16385, 0));
        assert!(!allowed(0, 0, 0, 0) && !allowed(0, 32, 0, 0) && !allowed(4, 0, 4, 0));
        assert!(allowed(4, 0, 2048, cudaArrayLayered) && !allowed(4, 0, 2049, cudaArrayLayered));
        assert!(allowed(4, 4, 7, cudaArrayLayered) && !allowed(4, 4, 0, cudaArrayLayered));
        assert!(allowed(4, 4, 6, cudaArrayCubemap) && !allowed(4, 5, 6, cudaArrayCubemap));
        let cubes = cudaArrayCubemap | cudaArrayLayered;
        assert!(allowed(4, 4, 12, cubes) && !allowed(4, 4, 7, cubes) && !allowed(4, 4, 12, cudaArrayCubemap));
        assert!(!allowed(usize::MAX as u64, usize::MAX as u64, 0, 0));
    }

    #[test]
    fn flags_that_do_not_go_with_a_shape_are_refused() {
        assert!(allowed(4, 4, 0, cudaArrayTextureGather));
        for (height, depth) in [(0, 0), (4, 4)] {
            assert!(!allowed(4, height, depth, cudaArrayTextureGather));
        }
        assert!(!allowed(32769, 4, 0, cudaArrayTextureGather));
        assert!(!allowed(4, 4, 0, 1 << 20) && !allowed(4, 0, 0, cudaArraySparse));
        assert!(!allowed(4, 4, 0, cudaArraySparse | cudaArrayDeferredMapping));
        assert!(
            allowed(32768, 0, 0, cudaArraySurfaceLoadStore)
                && !allowed(32769, 0, 0, cudaArraySurfaceLoadStore)
        );
    }
}
