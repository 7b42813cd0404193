//! Pitched memory for a parameter of type `cudaPitchedPtr`.
#![expect(
    unsafe_code,
    reason = "declares which memory may stand for a parameter that is a structure with an address"
)]

use std::ffi::c_void;

use crate::memory::grid::Grid;
use crate::memory::{MemoryType, OnDevice, PitchedBuffer, PitchedVolume, PlaneMut, VolumeMut};
use crate::sys;

use super::ByValue;
use super::memory::rows;

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

/// Makes the parameter of a plane, which ends with its last row.
fn plane<T, P: PitchedParameter>(address: *mut c_void, grid: &Grid<'_, T>) -> P {
    P::new(address, grid.layout().pitch, grid.layout().row, grid.height())
}

/// Makes the parameter of a volume, in which the next layer begins after this many rows.
fn volume<T, P: PitchedParameter>(address: *mut c_void, grid: &Grid<'_, T>) -> P {
    P::new(address, grid.layout().pitch, grid.layout().row, grid.layout().layer_rows)
}

rows!([P: PitchedParameter, T: 'static] in OnDevice, Write, P, plane, for &mut PitchedBuffer<T>);
rows!([P: PitchedParameter, T: 'static] in OnDevice, Write, P, volume, for &mut PitchedVolume<T>);
rows!([P: PitchedParameter, T: 'static, M: MemoryType] in M, Write, P, plane, for
    PlaneMut<'_, T, M>, &mut PlaneMut<'_, T, M>);
rows!([P: PitchedParameter, T: 'static, M: MemoryType] in M, Write, P, volume, for
    VolumeMut<'_, T, M>, &mut VolumeMut<'_, T, M>);
