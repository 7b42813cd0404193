//! Owned pitched device memory: planes and volumes with rows aligned for fast access by the device.
//!
//! Allocating and freeing are not stream-ordered. Freeing blocks until the work that still uses the memory
//! is complete. Owners may be sent to other threads and shared with them if their elements may.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::AnyBitPattern;

use super::allocation::Allocation;
use super::allocation::Span;
use super::grid::Grid;
use super::memory_type::OnDevice;
use super::plane::{Plane, PlaneMut, Volume, VolumeMut};
use super::retain::retained;
use super::size;
use crate::device::Device;
use crate::error::{AtCaller as _, Detail, OrRefused, Result};
use crate::hazard::{Access, Mode};
#[cfg(doc)]
use crate::sys;

/// Rows of `T` on a device, freed when it is dropped. The device chooses the pitch.
///
/// Copies take it as a plane. [`plane`](Self::plane) and [`plane_mut`](Self::plane_mut) give access to its
/// parts. Kernels take it as a pointer to its first element; pass them the [`pitch`](Self::pitch), too.
///
/// # Ordering
/// As [`DeviceBuffer`](crate::DeviceBuffer).
///
/// # Examples
/// ```
/// use cuda_safe::memory::{PitchedBuffer, Plane};
/// use cuda_safe::memcpy_2d;
///
/// # fn main() -> cuda_safe::Result<()> {
/// let mut image = PitchedBuffer::<f32>::alloc(3, 2)?; // width in elements, height in rows
/// memcpy_2d(&mut image, &Plane::from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3, 2)?)?;
/// assert!(image.pitch() >= 3 * size_of::<f32>());
/// assert_eq!(image.to_vec()?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaMallocPitch")]
pub struct PitchedBuffer<T> {
    rows: Rows,
    elements: PhantomData<T>,
}

/// Layers of rows of `T` on a device, freed when it is dropped. The device chooses the pitch.
///
/// Copies take it as a volume. [`volume`](Self::volume) and [`volume_mut`](Self::volume_mut) give access to
/// its parts.
///
/// # Ordering
/// As [`DeviceBuffer`](crate::DeviceBuffer).
///
/// # Examples
/// ```
/// use cuda_safe::memory::{PitchedVolume, Volume};
/// use cuda_safe::memcpy_3d;
///
/// # fn main() -> cuda_safe::Result<()> {
/// let numbers: Vec<u32> = (0..24).collect();
/// let mut field = PitchedVolume::<u32>::alloc(4, 3, 2)?; // width, height, depth
/// memcpy_3d(&mut field, &Volume::from_slice(&numbers, 4, 3, 2)?)?;
/// assert_eq!(field.to_vec()?, numbers);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaMalloc3D")]
#[doc(alias = "cudaPitchedPtr")]
#[doc(alias = "cudaExtent")]
pub struct PitchedVolume<T> {
    rows: Rows,
    elements: PhantomData<T>,
}

/// Pitched memory and its extent.
struct Rows {
    allocation: Arc<Allocation>,
    extent: [usize; 3],
    pitch: usize,
}

impl Rows {
    /// Allocates with `allocate`, which takes the bytes of a row and also returns the pitch.
    #[track_caller]
    fn alloc<T>(
        api: &'static str,
        extent: [usize; 3],
        allocate: impl FnOnce(usize) -> Result<(Allocation, usize)>,
    ) -> Result<Self> {
        let [width, height, depth] = extent;
        let row = size::bytes_of::<T>(api, width)?;
        let overflow = |left, right| Detail::overflow("the size in bytes", left, right);
        let rows = height.checked_mul(depth).or_refused(api, || overflow(height, depth))?;
        let bytes = row.checked_mul(rows).filter(size::is_addressable);
        if bytes.or_refused(api, || overflow(row, rows))? == 0 {
            // Nothing is allocated. The pitch is that of packed rows.
            let allocation = Allocation::device(None, 0)?;
            return Ok(Self { allocation, extent, pitch: row });
        }
        let (allocation, pitch) = allocate(row).at_caller()?;
        size::aligned::<T>(api, allocation.pointer().addr())?;
        let layout = size::RowLayout { row, rows: height, layers: depth, pitch, layer_rows: height };
        layout.check(api, align_of::<T>())?;
        Ok(Self { allocation: retained(allocation), extent, pitch })
    }

    fn bytes(&self) -> Span<'_, u8> {
        Span::part_of(&self.allocation, 0, self.allocation.bytes())
    }

    fn grid<T>(&self) -> Grid<'_, T> {
        Grid::whole(&self.allocation, self.extent, self.pitch)
    }
}

impl<T: AnyBitPattern> PitchedBuffer<T> {
    /// Allocates `height` rows of `width` elements on the current device. As in C, their contents are
    /// unspecified.
    ///
    /// Stands for [`cudaMallocPitch`](sys::cudaMallocPitch). If the size is 0, nothing is allocated.
    ///
    /// # Errors
    /// - `cudaErrorMemoryAllocation` if there is not enough memory.
    /// - A refusal if the size overflows, if `T` is zero-sized, or if the pitch that the device chose is
    ///   not a multiple of the alignment of `T`.
    #[doc(alias = "cudaMallocPitch")]
    #[track_caller]
    pub fn alloc(width: usize, height: usize) -> Result<Self> {
        let allocate = |row| Allocation::pitched(row, height);
        let rows = Rows::alloc::<T>("PitchedBuffer::alloc", [width, height, 1], allocate)?;
        Ok(Self { rows, elements: PhantomData })
    }

    /// Views the rows.
    #[must_use]
    pub fn plane(&self) -> Plane<'_, T, OnDevice> {
        Plane::new(self.rows.grid())
    }

    /// Views the rows for writing.
    #[must_use]
    pub fn plane_mut(&mut self) -> PlaneMut<'_, T, OnDevice> {
        PlaneMut::new(self.rows.grid())
    }
}

impl<T: AnyBitPattern> PitchedVolume<T> {
    /// Allocates `depth` layers of `height` rows of `width` elements on the current device. As in C, their
    /// contents are unspecified.
    ///
    /// Stands for [`cudaMalloc3D`](sys::cudaMalloc3D). If the size is 0, nothing is allocated.
    ///
    /// # Errors
    /// As [`PitchedBuffer::alloc`].
    #[doc(alias = "cudaMalloc3D")]
    #[track_caller]
    pub fn alloc(width: usize, height: usize, depth: usize) -> Result<Self> {
        let allocate = |row| Allocation::pitched_volume(row, height, depth);
        let rows = Rows::alloc::<T>("PitchedVolume::alloc", [width, height, depth], allocate)?;
        Ok(Self { rows, elements: PhantomData })
    }

    /// Views the layers.
    #[must_use]
    pub fn volume(&self) -> Volume<'_, T, OnDevice> {
        Volume::new(self.rows.grid())
    }

    /// Views the layers for writing.
    #[must_use]
    pub fn volume_mut(&mut self) -> VolumeMut<'_, T, OnDevice> {
        VolumeMut::new(self.rows.grid())
    }
}

/// The methods of both owners.
macro_rules! pitched {
    ($owner:ident, $name:literal) => {
        impl<T> $owner<T> {
            /// Returns the elements of a row, the rows of a layer, and the layers, of which a plane has one.
            #[must_use]
            pub fn extent(&self) -> [usize; 3] {
                self.rows.extent
            }

            /// Returns the distance between rows in bytes.
            #[must_use]
            pub fn pitch(&self) -> usize {
                self.rows.pitch
            }

            /// Returns the device of the memory.
            #[must_use]
            pub fn device(&self) -> Device {
                self.rows.allocation.on()
            }

            /// Returns the device address of the first element, or null if there are no elements.
            #[must_use]
            pub fn as_ptr(&self) -> *const T {
                self.rows.allocation.pointer().cast()
            }

            /// Returns the device address of the first element for writing, or null if there are no
            /// elements.
            #[must_use]
            pub fn as_mut_ptr(&mut self) -> *mut T {
                self.rows.allocation.pointer().cast()
            }

            /// Returns a read of all the memory, for [`enqueue`](crate::stream::StreamRef::enqueue) and
            /// [`launch_raw`](crate::launch::Kernel::launch_raw).
            #[must_use]
            pub fn access(&self) -> Access<'_> {
                self.rows.bytes().access(Mode::Read)
            }

            /// Returns a write of all the memory, for [`enqueue`](crate::stream::StreamRef::enqueue) and
            /// [`launch_raw`](crate::launch::Kernel::launch_raw).
            #[must_use]
            pub fn access_mut(&mut self) -> Access<'_> {
                self.rows.bytes().access(Mode::Write)
            }

            /// Waits for the work that still uses the memory, and frees it. Unlike a drop, this returns the
            /// error.
            ///
            /// Stands for [`cudaFree`](sys::cudaFree).
            ///
            /// # Errors
            /// Returns the failure of work that used the memory, or the runtime's error.
            #[track_caller]
            pub fn free(self) -> Result<()> {
                Allocation::free_owned(self.rows.allocation)
            }

            /// Returns the grid of all rows, from which views are made.
            pub(crate) fn grid(&self) -> Grid<'_, T> {
                self.rows.grid()
            }
        }

        impl<T> fmt::Debug for $owner<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.grid().describe(f, $name)
            }
        }
    };
}

pitched!(PitchedBuffer, "PitchedBuffer");
pitched!(PitchedVolume, "PitchedVolume");
