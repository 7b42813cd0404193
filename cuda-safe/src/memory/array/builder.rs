//! What a new array is to be like.
#![expect(unsafe_code, reason = "makes arrays through the runtime")]

use super::element::ArrayElement;
use super::info::{ArrayFlags, ArrayKind, bytes_of};
use super::mipmapped::MipmappedArray;
use super::nv12::Nv12Array;
use super::owned::Array;
use super::unmapped::{Mapping, UnmappedArray};
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::memory::allocation::{Allocation, Kind};
use crate::sys;

/// The faces of a cube.
const FACES: usize = 6;

/// What an array of the format NV12 must be made with, `CUDA_ARRAY3D_VIDEO_ENCODE_DECODE` of the driver API: the runtime's
/// headers have no name for it, and it refuses the format without.
const FOR_VIDEO: u32 = 0x100;

/// Says what a new array is to be like: dimensions, layers, what it can do, of which device.
///
/// Widths are in elements, heights in rows. What a device has at most is in its properties; the runtime refuses more.
///
/// # Examples
/// ```
/// use cuda_safe::memory::{ArrayBuilder, ArrayKind};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let faces = ArrayBuilder::cubemap(32).alloc::<[u8; 4]>()?;
/// assert_eq!((faces.kind(), faces.depth()), (ArrayKind::Cubemap, 6));
/// let layers = ArrayBuilder::plane(64, 48).layers(5).surface().alloc::<f32>()?;
/// assert_eq!((layers.width(), layers.height(), layers.depth()), (64, 48, 5));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "nothing is made before `alloc`"]
pub struct ArrayBuilder {
    kind: ArrayKind,
    extent: [usize; 3],
    layers: Option<usize>,
    flags: ArrayFlags,
    device: Option<Device>,
}

impl ArrayBuilder {
    fn of(kind: ArrayKind, extent: [usize; 3]) -> Self {
        Self { kind, extent, layers: None, flags: ArrayFlags::empty(), device: None }
    }

    /// One row of elements.
    pub fn line(width: usize) -> Self {
        Self::of(ArrayKind::Line, [width, 1, 1])
    }

    /// Rows of elements.
    pub fn plane(width: usize, height: usize) -> Self {
        Self::of(ArrayKind::Plane, [width, height, 1])
    }

    /// Layers of rows that textures interpolate between.
    pub fn volume(width: usize, height: usize, depth: usize) -> Self {
        Self::of(ArrayKind::Volume, [width, height, depth])
    }

    /// Six faces of so many rows and columns. Their order is that of `cudaGraphicsCubeFace`.
    pub fn cubemap(edge: usize) -> Self {
        Self::of(ArrayKind::Cubemap, [edge, edge, FACES])
    }

    /// So many lines, planes or cubemaps, which stand for themselves: textures name one and do not interpolate.
    pub fn layers(mut self, count: usize) -> Self {
        self.layers = Some(count);
        self
    }

    /// Kernels may write it, through a surface.
    pub fn surface(mut self) -> Self {
        self.flags |= ArrayFlags::SURFACE;
        self
    }

    /// Textures may gather from it. Of planes only.
    pub fn gather(mut self) -> Self {
        self.flags |= ArrayFlags::GATHER;
        self
    }

    /// Of a device that need not be current.
    pub fn device(mut self, device: Device) -> Self {
        self.device = Some(device);
        self
    }

    /// The kind and the extent, layers included.
    #[track_caller]
    fn shape(&self, api: &'static str) -> Result<(ArrayKind, [usize; 3])> {
        let [width, height, _] = self.extent;
        let Some(layers) = self.layers else { return Ok((self.kind, self.extent)) };
        match self.kind {
            ArrayKind::Line => Ok((ArrayKind::LayeredLine, [width, 1, layers])),
            ArrayKind::Plane => Ok((ArrayKind::LayeredPlane, [width, height, layers])),
            ArrayKind::Cubemap => {
                let what = "the number of faces";
                let faces = layers.checked_mul(FACES).ok_or_else(|| {
                    Error::refused(api, Detail::Overflow { what, left: layers, right: FACES })
                })?;
                Ok((ArrayKind::LayeredCubemap, [width, height, faces]))
            }
            _ => Err(Error::refused(api, Detail::Unsupported { what: "an array with depth and layers" })),
        }
    }

    /// Makes the array. As in C, what it contains is unspecified.
    ///
    /// Stands for [`cudaMallocArray`](sys::cudaMallocArray) and [`cudaMalloc3DArray`](sys::cudaMalloc3DArray).
    ///
    /// # Errors
    /// A refusal where an extent is zero or the size overflows, or of layers of a volume. Otherwise what the runtime says:
    /// `cudaErrorInvalidValue` for more than the device can do, `cudaErrorMemoryAllocation` for more than it has.
    #[doc(alias = "cudaMallocArray")]
    #[doc(alias = "cudaMalloc3DArray")]
    #[track_caller]
    pub fn alloc<T: ArrayElement>(&self) -> Result<Array<T>> {
        let (kind, extent) = self.shape("ArrayBuilder::alloc")?;
        let bytes = bytes_of::<T>("ArrayBuilder::alloc", extent)?;
        let allocation = self.array(kind, extent, bytes, T::descriptor(), 0)?;
        Ok(Array::new(allocation, kind, extent, self.flags))
    }

    /// Makes an array with smaller versions of itself: `levels` in all, each half as wide and high, and, of volumes, half as
    /// deep, as the one before.
    ///
    /// Stands for [`cudaMallocMipmappedArray`](sys::cudaMallocMipmappedArray) and
    /// [`cudaGetMipmappedArrayLevel`](sys::cudaGetMipmappedArrayLevel).
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc), and a refusal of no levels, and of more than there are down to one element.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::memory::ArrayBuilder;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let image = ArrayBuilder::plane(640, 480).mipmapped::<[u8; 4]>(3)?;
    /// assert_eq!(image.level(2)?.width(), 160);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaMallocMipmappedArray")]
    #[track_caller]
    pub fn mipmapped<T: ArrayElement>(&self, levels: u32) -> Result<MipmappedArray<T>> {
        let (kind, extent) = self.shape("ArrayBuilder::mipmapped")?;
        let bytes = MipmappedArray::<T>::bytes("ArrayBuilder::mipmapped", kind, extent, levels)?;
        let allocation = self.mipmap(kind, extent, bytes, levels, T::descriptor(), 0)?;
        MipmappedArray::new(allocation, kind, extent, self.flags, levels)
    }

    /// Makes an array without memory, which says how much it would need. Only the driver API can give it any.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc); `cudaErrorNotSupported` or `cudaErrorInvalidValue` where the device has no such arrays.
    #[doc(alias = "cudaArrayDeferredMapping")]
    #[track_caller]
    pub fn deferred<T: ArrayElement>(&self) -> Result<UnmappedArray<T>> {
        self.unmapped(Mapping::Whole, None)
    }

    /// Makes an array of so many levels without memory: [`deferred`](Self::deferred), mipmapped.
    ///
    /// # Errors
    /// As [`deferred`](Self::deferred) and [`mipmapped`](Self::mipmapped).
    #[track_caller]
    pub fn deferred_mipmapped<T: ArrayElement>(&self, levels: u32) -> Result<UnmappedArray<T>> {
        self.unmapped(Mapping::Whole, Some(levels))
    }

    /// Makes an array without memory whose tiles could be given some one by one, which says how large these are.
    ///
    /// # Errors
    /// As [`deferred`](Self::deferred). Of planes, layered planes and volumes only.
    #[doc(alias = "cudaArraySparse")]
    #[track_caller]
    pub fn sparse<T: ArrayElement>(&self) -> Result<UnmappedArray<T>> {
        self.unmapped(Mapping::Tiles, None)
    }

    /// Makes an array of so many levels without memory: [`sparse`](Self::sparse), mipmapped.
    ///
    /// # Errors
    /// As [`sparse`](Self::sparse) and [`mipmapped`](Self::mipmapped).
    #[track_caller]
    pub fn sparse_mipmapped<T: ArrayElement>(&self, levels: u32) -> Result<UnmappedArray<T>> {
        self.unmapped(Mapping::Tiles, Some(levels))
    }

    #[track_caller]
    fn unmapped<T: ArrayElement>(&self, mapping: Mapping, levels: Option<u32>) -> Result<UnmappedArray<T>> {
        let api = "ArrayBuilder::deferred or sparse";
        let (kind, extent) = self.shape(api)?;
        let desc = T::descriptor();
        let allocation = match levels {
            Some(levels) => {
                let bytes = MipmappedArray::<T>::bytes(api, kind, extent, levels)?;
                self.mipmap(kind, extent, bytes, levels, desc, mapping.flag())?
            }
            None => self.array(kind, extent, bytes_of::<T>(api, extent)?, desc, mapping.flag())?,
        };
        Ok(UnmappedArray::new(allocation, mapping, levels.is_some()))
    }

    /// Makes an image of the format NV12: a plane of brightness, and one of half the width and height with two numbers of
    /// colour. The builder must be one of a [`plane`](Self::plane) of even width and height.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc), and a refusal of anything but a plane, and of odd sizes.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::memory::{ArrayBuilder, Plane};
    /// use cuda_safe::memcpy_2d;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// # if ArrayBuilder::plane(64, 32).nv12().is_err() { return Ok(()) }
    /// let mut frame = ArrayBuilder::plane(64, 32).nv12()?;
    /// let (mut luma, mut chroma) = frame.planes_mut();
    /// memcpy_2d(&mut luma, &Plane::of_slice(&[128_u8; 64 * 32], 64, 32)?)?;
    /// memcpy_2d(&mut chroma, &Plane::of_slice(&[[0_u8, 255]; 32 * 16], 32, 16)?)?;
    /// assert_eq!((frame.luma().width(), frame.chroma().width()), (64, 32));
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn nv12(&self) -> Result<Nv12Array> {
        let api = "ArrayBuilder::nv12";
        let (kind, extent) = self.shape(api)?;
        let [width, height, _] = extent;
        for (bytes, element) in [(width, 2), (height, 2)] {
            if !bytes.is_multiple_of(element) {
                return Err(Error::refused(api, Detail::NotDivisible { bytes, element }));
            }
        }
        if kind != ArrayKind::Plane {
            let detail = Detail::Unsupported { what: "the format NV12 of anything but a plane" };
            return Err(Error::refused(api, detail));
        }
        let luma = bytes_of::<u8>(api, extent)?;
        let half = luma / 2;
        let bytes = luma.checked_add(half);
        let bytes = bytes.ok_or_else(|| {
            Error::refused(api, Detail::Overflow { what: "the size in bytes", left: luma, right: half })
        })?;
        let desc = sys::cudaChannelFormatDesc { x: 8, y: 8, z: 8, w: 0, f: sys::cudaChannelFormatKindNV12 };
        let allocation = self.array(kind, extent, bytes, desc, FOR_VIDEO)?;
        Nv12Array::new(allocation, [width, height])
    }

    #[track_caller]
    fn array(
        &self,
        kind: ArrayKind,
        extent: [usize; 3],
        bytes: usize,
        desc: sys::cudaChannelFormatDesc,
        more: u32,
    ) -> Result<Allocation> {
        let (extent, flags) = (kind.extent(extent), kind.flags() | self.flags.bits() | more);
        if extent.depth == 0 {
            return Allocation::called(self.device, bytes, Kind::Array, "cudaMallocArray", |out| {
                let sys::cudaExtent { width, height, .. } = extent;
                // SAFETY: both pointers are to live variables, the first of which the call fills with a handle.
                unsafe { sys::cudaMallocArray(out.cast(), &raw const desc, width, height, flags) }
            });
        }
        Allocation::called(self.device, bytes, Kind::Array, "cudaMalloc3DArray", |out| {
            // SAFETY: both pointers are to live variables, the first of which the call fills with a handle.
            unsafe { sys::cudaMalloc3DArray(out.cast(), &raw const desc, extent, flags) }
        })
    }

    #[track_caller]
    fn mipmap(
        &self,
        kind: ArrayKind,
        extent: [usize; 3],
        bytes: usize,
        levels: u32,
        desc: sys::cudaChannelFormatDesc,
        more: u32,
    ) -> Result<Allocation> {
        let (extent, flags) = (kind.extent(extent), kind.flags() | self.flags.bits() | more);
        Allocation::called(self.device, bytes, Kind::Mipmapped, "cudaMallocMipmappedArray", |out| {
            // SAFETY: both pointers are to live variables, the first of which the call fills with a handle.
            unsafe { sys::cudaMallocMipmappedArray(out.cast(), &raw const desc, extent, levels, flags) }
        })
    }
}
