//! [`ArrayBuilder`]: the properties of a new array.
#![expect(unsafe_code, reason = "makes arrays through the runtime")]

use super::info::{ArrayElement, ArrayFlags, ArrayKind, bytes_of};
use super::owned::{Array, Mapping, MipmappedArray, Nv12Array, UnmappedArray};
use crate::device::Device;
use crate::error::{Detail, Error, OrRefused, Result, ensure};
use crate::memory::allocation::{Allocation, Allocator};
use crate::sys;

/// The number of faces of a cube.
const FACES: usize = 6;

/// The flag that an array of the format NV12 needs, `CUDA_ARRAY3D_VIDEO_ENCODE_DECODE` of the driver API.
/// The runtime's headers have no name for it, but the runtime refuses the format without it.
const FOR_VIDEO: u32 = 0x100;

/// The properties of a new array: its dimensions, layers, uses and device.
///
/// Widths are in elements, heights in rows. The device properties have the limits; the runtime refuses
/// more.
///
/// # Examples
/// ```
/// use cuda_safe::memory::{ArrayBuilder, ArrayKind};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let faces = ArrayBuilder::cubemap(32).alloc::<[u8; 4]>()?;
/// assert_eq!((faces.kind(), faces.extent()), (ArrayKind::Cubemap, [32, 32, 6]));
/// let layers = ArrayBuilder::plane(64, 48).layers(5).surface().alloc::<f32>()?;
/// assert_eq!(layers.extent(), [64, 48, 5]);
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

    /// Describes one row of elements.
    pub fn line(width: usize) -> Self {
        Self::of(ArrayKind::Line, [width, 1, 1])
    }

    /// Describes rows of elements.
    pub fn plane(width: usize, height: usize) -> Self {
        Self::of(ArrayKind::Plane, [width, height, 1])
    }

    /// Describes layers of rows that textures interpolate between.
    pub fn volume(width: usize, height: usize, depth: usize) -> Self {
        Self::of(ArrayKind::Volume, [width, height, depth])
    }

    /// Describes six faces with `edge` rows and columns each. Their order is that of
    /// `cudaGraphicsCubeFace`.
    pub fn cubemap(edge: usize) -> Self {
        Self::of(ArrayKind::Cubemap, [edge, edge, FACES])
    }

    /// Makes `count` independent lines, planes or cubemaps. Textures select one of them and do not
    /// interpolate between them.
    pub fn layers(mut self, count: usize) -> Self {
        self.layers = Some(count);
        self
    }

    /// Lets kernels write the array through a surface.
    pub fn surface(mut self) -> Self {
        self.flags |= ArrayFlags::SURFACE;
        self
    }

    /// Lets textures gather from the array. Only for planes.
    pub fn gather(mut self) -> Self {
        self.flags |= ArrayFlags::GATHER;
        self
    }

    /// Makes the array on this device, which need not be current.
    pub fn device(mut self, device: Device) -> Self {
        self.device = Some(device);
        self
    }

    /// Returns the kind and the extent, including layers.
    #[track_caller]
    fn shape(&self, api: &'static str) -> Result<(ArrayKind, [usize; 3])> {
        let [width, height, _] = self.extent;
        let Some(layers) = self.layers else { return Ok((self.kind, self.extent)) };
        match self.kind {
            ArrayKind::Line => Ok((ArrayKind::LayeredLine, [width, 1, layers])),
            ArrayKind::Plane => Ok((ArrayKind::LayeredPlane, [width, height, layers])),
            ArrayKind::Cubemap => {
                let what = "the number of faces";
                let overflow = || Detail::overflow(what, layers, FACES);
                let faces = layers.checked_mul(FACES).or_refused(api, overflow)?;
                Ok((ArrayKind::LayeredCubemap, [width, height, faces]))
            }
            _ => Err(Error::refused(api, Detail::unsupported("an array with depth and layers"))),
        }
    }

    /// Makes the array. As in C, its contents are unspecified.
    ///
    /// Stands for [`cudaMallocArray`](sys::cudaMallocArray) and
    /// [`cudaMalloc3DArray`](sys::cudaMalloc3DArray).
    ///
    /// # Errors
    /// - A refusal if an extent is zero, if the size overflows, or for layers of a volume.
    /// - `cudaErrorInvalidValue` if the device does not support such an array.
    /// - `cudaErrorMemoryAllocation` if the device does not have enough memory.
    /// - Other errors of the runtime.
    #[doc(alias = "cudaMallocArray")]
    #[doc(alias = "cudaMalloc3DArray")]
    #[track_caller]
    pub fn alloc<T: ArrayElement>(&self) -> Result<Array<T>> {
        let (kind, extent) = self.shape("ArrayBuilder::alloc")?;
        let bytes = bytes_of::<T>("ArrayBuilder::alloc", extent)?;
        let allocation = self.make(kind, extent, bytes, None, T::descriptor(), 0)?;
        Ok(Array::new(allocation, kind, extent))
    }

    /// Makes an array with smaller versions of itself, with `levels` levels in all. Each level is half as
    /// wide and high as the one before, and half as deep in a volume.
    ///
    /// Stands for [`cudaMallocMipmappedArray`](sys::cudaMallocMipmappedArray) and
    /// [`cudaGetMipmappedArrayLevel`](sys::cudaGetMipmappedArrayLevel).
    ///
    /// # Errors
    /// Those of [`alloc`](Self::alloc), and a refusal if `levels` is 0 or greater than the number of levels
    /// down to one element.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::memory::ArrayBuilder;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let image = ArrayBuilder::plane(640, 480).mipmapped::<[u8; 4]>(3)?;
    /// assert_eq!(image.level(2)?.extent(), [160, 120, 1]);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaMallocMipmappedArray")]
    #[track_caller]
    pub fn mipmapped<T: ArrayElement>(&self, levels: u32) -> Result<MipmappedArray<T>> {
        let (kind, extent) = self.shape("ArrayBuilder::mipmapped")?;
        let bytes = MipmappedArray::<T>::bytes("ArrayBuilder::mipmapped", kind, extent, levels)?;
        let allocation = self.make(kind, extent, bytes, Some(levels), T::descriptor(), 0)?;
        MipmappedArray::new(allocation, kind, extent, levels)
    }

    /// Makes an array without memory, which reports how much it would need. Only the driver API can give it
    /// memory. With a number of levels, the array is [mipmapped](Self::mipmapped).
    ///
    /// # Errors
    /// Those of [`alloc`](Self::alloc) and [`mipmapped`](Self::mipmapped), and `cudaErrorNotSupported` or
    /// `cudaErrorInvalidValue` if the device does not support such arrays.
    #[doc(alias = "cudaArrayDeferredMapping")]
    #[track_caller]
    pub fn deferred<T: ArrayElement>(&self, levels: Option<u32>) -> Result<UnmappedArray<T>> {
        self.unmapped(Mapping::Whole, levels)
    }

    /// Makes an array without memory, whose tiles could be given memory one by one. It reports how large
    /// the tiles are. With a number of levels, the array is [mipmapped](Self::mipmapped).
    ///
    /// # Errors
    /// Those of [`deferred`](Self::deferred). Only planes, layered planes and volumes can be sparse.
    #[doc(alias = "cudaArraySparse")]
    #[track_caller]
    pub fn sparse<T: ArrayElement>(&self, levels: Option<u32>) -> Result<UnmappedArray<T>> {
        self.unmapped(Mapping::Tiles, levels)
    }

    #[track_caller]
    fn unmapped<T: ArrayElement>(&self, mapping: Mapping, levels: Option<u32>) -> Result<UnmappedArray<T>> {
        let api = "ArrayBuilder::deferred or sparse";
        let (kind, extent) = self.shape(api)?;
        let bytes = match levels {
            Some(levels) => MipmappedArray::<T>::bytes(api, kind, extent, levels)?,
            None => bytes_of::<T>(api, extent)?,
        };
        let allocation = self.make(kind, extent, bytes, levels, T::descriptor(), mapping as u32)?;
        Ok(UnmappedArray::new(allocation, mapping, levels.is_some()))
    }

    /// Makes an image of the format NV12: a plane of brightness, and a plane of colour with half the width
    /// and height and two numbers in each element. The builder must be for a [`plane`](Self::plane) of even
    /// width and height.
    ///
    /// # Errors
    /// Those of [`alloc`](Self::alloc), and a refusal for other kinds than a plane and for odd sizes.
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
    /// memcpy_2d(&mut luma, &Plane::from_slice(&[128_u8; 64 * 32], 64, 32)?)?;
    /// memcpy_2d(&mut chroma, &Plane::from_slice(&[[0_u8, 255]; 32 * 16], 32, 16)?)?;
    /// assert_eq!((frame.luma().extent(), frame.chroma().extent()), ([64, 32, 1], [32, 16, 1]));
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn nv12(&self) -> Result<Nv12Array> {
        let api = "ArrayBuilder::nv12";
        let (kind, extent) = self.shape(api)?;
        let [width, height, _] = extent;
        for (bytes, element) in [(width, 2), (height, 2)] {
            ensure(bytes.is_multiple_of(element), api, || Detail::not_divisible(bytes, element))?;
        }
        let what = "the format NV12 of anything but a plane";
        ensure(kind == ArrayKind::Plane, api, || Detail::unsupported(what))?;
        let luma = bytes_of::<u8>(api, extent)?;
        let half = luma / 2;
        let overflow = || Detail::overflow("the size in bytes", luma, half);
        let bytes = luma.checked_add(half).or_refused(api, overflow)?;
        let desc = sys::cudaChannelFormatDesc { x: 8, y: 8, z: 8, w: 0, f: sys::cudaChannelFormatKindNV12 };
        let allocation = self.make(kind, extent, bytes, None, desc, FOR_VIDEO)?;
        Nv12Array::new(allocation, [width, height])
    }

    /// Makes the array, mipmapped if it has `levels`.
    #[track_caller]
    fn make(
        &self,
        kind: ArrayKind,
        extent: [usize; 3],
        bytes: usize,
        levels: Option<u32>,
        desc: sys::cudaChannelFormatDesc,
        more: u32,
    ) -> Result<Allocation> {
        let (extent, flags) = (kind.extent(extent), kind.flags() | self.flags.bits() | more);
        let sys::cudaExtent { width, height, depth } = extent;
        match levels {
            Some(levels) => {
                Allocation::called(
                    self.device,
                    bytes,
                    Allocator::Mipmapped,
                    "cudaMallocMipmappedArray",
                    |out| {
                        // SAFETY: both pointers are to live variables. The call fills the first with a
                        // handle.
                        unsafe {
                            sys::cudaMallocMipmappedArray(out.cast(), &raw const desc, extent, levels, flags)
                        }
                    },
                )
            }
            None if depth == 0 => {
                Allocation::called(self.device, bytes, Allocator::Array, "cudaMallocArray", |out| {
                    // SAFETY: both pointers are to live variables. The call fills the first with a handle.
                    unsafe { sys::cudaMallocArray(out.cast(), &raw const desc, width, height, flags) }
                })
            }
            None => {
                Allocation::called(self.device, bytes, Allocator::Array, "cudaMalloc3DArray", |out| {
                    // SAFETY: both pointers are to live variables. The call fills the first with a handle.
                    unsafe { sys::cudaMalloc3DArray(out.cast(), &raw const desc, extent, flags) }
                })
            }
        }
    }
}

impl<T: ArrayElement> Array<T> {
    /// Makes an array of one row on the current device.
    ///
    /// # Errors
    /// As [`ArrayBuilder::alloc`].
    #[doc(alias = "cudaMallocArray")]
    #[track_caller]
    pub fn alloc_1d(width: usize) -> Result<Self> {
        ArrayBuilder::line(width).alloc()
    }

    /// Makes an array of rows on the current device.
    ///
    /// # Errors
    /// As [`ArrayBuilder::alloc`].
    #[doc(alias = "cudaMallocArray")]
    #[track_caller]
    pub fn alloc_2d(width: usize, height: usize) -> Result<Self> {
        ArrayBuilder::plane(width, height).alloc()
    }

    /// Makes an array of layers of rows on the current device.
    ///
    /// # Errors
    /// As [`ArrayBuilder::alloc`].
    #[doc(alias = "cudaMalloc3DArray")]
    #[track_caller]
    pub fn alloc_3d(width: usize, height: usize, depth: usize) -> Result<Self> {
        ArrayBuilder::volume(width, height, depth).alloc()
    }
}
