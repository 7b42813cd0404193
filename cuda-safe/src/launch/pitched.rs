//! Pitched memory for a parameter of type `cudaPitchedPtr`.
#![expect(
    unsafe_code,
    reason = "declares which memory may stand for a parameter that is a structure with an address"
)]

use std::ffi::c_void;
use std::ptr;

use crate::device::Device;
use crate::error::Result;
use crate::hazard::{Access, Mode};
use crate::memory::grid::Grid;
use crate::memory::span::kernel_pointer;
use crate::memory::{MemoryType, OnDevice, PitchedBuffer, PitchedVolume, PlaneMut, VolumeMut};
use crate::sys;

use super::{ByValue, KernelArg};

/// C's `cudaPitchedPtr` as a kernel parameter. `cuda-kernels-build` generates a type of that name that
/// implements this.
///
/// `&mut PitchedBuffer`, `PlaneMut`, `&mut PitchedVolume`, `VolumeMut` and `&mut` of these views may be
/// passed for it. The kernel receives the address of the first row, the pitch in bytes, the bytes of a row,
/// and the number of rows; for a volume, the number of rows from one layer to the next. The tracker records
/// a write from the first byte to the last, because the type does not tell that a kernel only reads.
///
/// # Safety
/// [`new`](Self::new) makes the structure from exactly these fields.
pub unsafe trait PitchedParameter: ByValue {
    /// Makes the structure from its fields.
    fn new(ptr: *mut c_void, pitch: usize, xsize: usize, ysize: usize) -> Self;
}

// SAFETY: this is the structure from the runtime's own header.
unsafe impl ByValue for sys::cudaPitchedPtr {}

// SAFETY: the fields have the parameters' names.
unsafe impl PitchedParameter for sys::cudaPitchedPtr {
    #[inline]
    fn new(ptr: *mut c_void, pitch: usize, xsize: usize, ysize: usize) -> Self {
        Self { ptr, pitch, xsize, ysize }
    }
}

macro_rules! pitched_argument {
    ([$($generics:tt)*] in $memory_type:ty, $memory:ty, $rows:expr) => {
        // SAFETY: the kernel receives the address of the first element, and the access covers all bytes
        // from there to the last. The borrow ensures that the owner is live during the call, and the
        // owner's drop is ordered after the access.
        unsafe impl<P: PitchedParameter, $($generics)*> KernelArg<P> for $memory {
            #[inline]
            #[track_caller]
            fn value(&self) -> Result<P> {
                let grid = self.grid();
                // All these types have an access history. A kernel could not access memory without one.
                // A match, because a closure would hide the caller.
                let address = match grid.bytes() {
                    Some(bytes) => kernel_pointer::<u8, $memory_type>(bytes)?,
                    None => ptr::null_mut(),
                };
                let (layout, rows) = (grid.layout(), $rows(&grid));
                Ok(P::new(address.cast(), layout.pitch, layout.row, rows))
            }

            #[inline]
            #[track_caller]
            fn ensure_accessible(&self, device: Device) -> Result<()> {
                match self.grid().bytes() {
                    Some(bytes) => bytes.ensure_accessible::<$memory_type>(device),
                    None => Ok(()),
                }
            }

            #[inline]
            fn access(&self) -> Option<Access<'_>> {
                self.grid().bytes().map(|bytes| bytes.access(Mode::Write))
            }
        }
    };
}

// A plane ends with its last row. In a volume the next layer begins after this many rows.
pitched_argument!([T: 'static] in OnDevice, &mut PitchedBuffer<T>, Grid::height);
pitched_argument!([T: 'static, M: MemoryType] in M, PlaneMut<'_, T, M>, Grid::height);
pitched_argument!([T: 'static, M: MemoryType] in M, &mut PlaneMut<'_, T, M>, Grid::height);
pitched_argument!([T: 'static] in OnDevice, &mut PitchedVolume<T>, layer_rows);
pitched_argument!([T: 'static, M: MemoryType] in M, VolumeMut<'_, T, M>, layer_rows);
pitched_argument!([T: 'static, M: MemoryType] in M, &mut VolumeMut<'_, T, M>, layer_rows);

/// Returns the number of rows from the beginning of one layer to that of the next.
fn layer_rows<T>(grid: &Grid<'_, T>) -> usize {
    grid.layout().layer_rows
}
