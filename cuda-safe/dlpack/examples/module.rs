//! A library for Python: one function gives a tensor of pinned memory, one takes an array of the host.
//!
//! `tests/with_numpy.py` loads it, puts the pointers into capsules, and exchanges them with NumPy. An
//! extension module does the same with `PyCapsule_New` and `PyCapsule_GetPointer`.
#![expect(unsafe_code, reason = "exports functions of C")]

use std::ptr::{NonNull, null_mut};

use cuda_dlpack::Capsule;
use cuda_dlpack::raw::DLManagedTensorVersioned;
use cuda_safe::PinnedBuffer;

/// Gives two rows of three numbers, or null.
// SAFETY: no other function has the name.
#[unsafe(no_mangle)]
pub extern "C" fn give() -> *mut DLManagedTensorVersioned {
    let buffer = PinnedBuffer::from_slice(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let capsule = buffer.map_err(Into::into).and_then(|buffer| Capsule::from_pinned(buffer, &[2, 3]));
    capsule.map_or(null_mut(), |capsule| capsule.into_raw().as_ptr())
}

/// Takes an array of 64-bit integers, and returns their sum, or -1 if the array does not fit.
///
/// # Safety
/// The pointer is to a tensor, which nobody else gives back.
// SAFETY: no other function has the name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn take(tensor: *mut DLManagedTensorVersioned) -> i64 {
    let Some(tensor) = NonNull::new(tensor) else { return -1 };
    // SAFETY: the caller guarantees the tensor.
    let Ok(capsule) = (unsafe { Capsule::from_raw(tensor) }) else { return -1 };
    capsule.host::<i64>().map_or(-1, |numbers| numbers.iter().sum())
}
