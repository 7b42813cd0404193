//! Queries which atomic operations the links between devices, and between a device and the host, support.
#![expect(unsafe_code, reason = "calls the runtime's functions about atomic operations")]

use bitflags::bitflags;

use super::Device;
use crate::error::{AtCaller as _, Detail, OrRefused, Result};
use crate::{check, sys};

/// An atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
#[doc(alias = "cudaAtomicOperation")]
pub enum AtomicOperation {
    /// Adds integers.
    IntegerAdd = sys::cudaAtomicOperationIntegerAdd.0,
    /// Stores the smaller of two integers.
    IntegerMin = sys::cudaAtomicOperationIntegerMin.0,
    /// Stores the larger of two integers.
    IntegerMax = sys::cudaAtomicOperationIntegerMax.0,
    /// Increments an integer.
    IntegerIncrement = sys::cudaAtomicOperationIntegerIncrement.0,
    /// Decrements an integer.
    IntegerDecrement = sys::cudaAtomicOperationIntegerDecrement.0,
    /// Bitwise and.
    And = sys::cudaAtomicOperationAnd.0,
    /// Bitwise or.
    Or = sys::cudaAtomicOperationOr.0,
    /// Bitwise exclusive or.
    Xor = sys::cudaAtomicOperationXOR.0,
    /// Replaces the value.
    Exchange = sys::cudaAtomicOperationExchange.0,
    /// Replaces the value if the current one is as expected.
    CompareAndSwap = sys::cudaAtomicOperationCAS.0,
    /// Adds floating-point numbers.
    FloatAdd = sys::cudaAtomicOperationFloatAdd.0,
    /// Stores the smaller of two floating-point numbers.
    FloatMin = sys::cudaAtomicOperationFloatMin.0,
    /// Stores the larger of two floating-point numbers.
    FloatMax = sys::cudaAtomicOperationFloatMax.0,
}

bitflags! {
    /// The forms of an atomic operation that a link supports natively. No bit is set if it supports none.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct AtomicCapabilities: u32 {
        /// On signed integers.
        const SIGNED = sys::cudaAtomicCapabilitySigned.0;
        /// On unsigned integers.
        const UNSIGNED = sys::cudaAtomicCapabilityUnsigned.0;
        /// Without returning the previous value.
        const REDUCTION = sys::cudaAtomicCapabilityReduction.0;
        /// On 32 bits.
        const SCALAR_32 = sys::cudaAtomicCapabilityScalar32.0;
        /// On 64 bits.
        const SCALAR_64 = sys::cudaAtomicCapabilityScalar64.0;
        /// On 128 bits.
        const SCALAR_128 = sys::cudaAtomicCapabilityScalar128.0;
        /// On four 32-bit values.
        const VECTOR_32X4 = sys::cudaAtomicCapabilityVector32x4.0;
    }
}

impl Device {
    /// Returns the forms in which the link between this device and the host supports each operation natively,
    /// in the order of `operations`.
    ///
    /// Stands for [`cudaDeviceGetHostAtomicCapabilities`](sys::cudaDeviceGetHostAtomicCapabilities). An
    /// empty list makes no C call.
    ///
    /// # Errors
    /// Returns the runtime's error.
    #[doc(alias = "cudaDeviceGetHostAtomicCapabilities")]
    #[track_caller]
    pub fn host_atomic_capabilities(self, operations: &[AtomicOperation]) -> Result<Vec<AtomicCapabilities>> {
        ask("Device::host_atomic_capabilities", operations, |out, wanted, count| {
            // SAFETY: both pointers are to `count` live entries.
            unsafe { check!(cudaDeviceGetHostAtomicCapabilities(out, wanted, count, self.as_raw())) }
        })
    }

    /// Returns the forms in which the link from this device to `peer` supports each operation natively, in
    /// the order of `operations`.
    ///
    /// Stands for [`cudaDeviceGetP2PAtomicCapabilities`](sys::cudaDeviceGetP2PAtomicCapabilities). An empty
    /// list makes no C call.
    ///
    /// # Errors
    /// Returns `cudaErrorInvalidDevice` if `peer` is the device itself.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::Device;
    /// use cuda_safe::device::{AtomicCapabilities, AtomicOperation};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let (device, adds) = (Device::current()?, [AtomicOperation::IntegerAdd]);
    /// let here = device.host_atomic_capabilities(&adds)?;
    /// println!("adds to the host's memory: {:?}", here[0] & AtomicCapabilities::SCALAR_32);
    /// for peer in Device::all()?.filter(|peer| *peer != device) {
    ///     println!("to that of {}: {:?}", peer.ordinal(), device.peer_atomic_capabilities(&peer, &adds)?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaDeviceGetP2PAtomicCapabilities")]
    #[track_caller]
    pub fn peer_atomic_capabilities(
        self,
        peer: &Self,
        operations: &[AtomicOperation],
    ) -> Result<Vec<AtomicCapabilities>> {
        let (from, to) = (self.as_raw(), peer.as_raw());
        ask("Device::peer_atomic_capabilities", operations, |out, wanted, count| {
            // SAFETY: both pointers are to `count` live entries.
            unsafe { check!(cudaDeviceGetP2PAtomicCapabilities(out, wanted, count, from, to)) }
        })
    }
}

#[track_caller]
fn ask(
    api: &'static str,
    operations: &[AtomicOperation],
    call: impl FnOnce(*mut u32, *const sys::cudaAtomicOperation, u32) -> Result<()>,
) -> Result<Vec<AtomicCapabilities>> {
    if operations.is_empty() {
        return Ok(Vec::new());
    }
    let overflow = || Detail::overflow("a list of operations", operations.len(), 1);
    let count = u32::try_from(operations.len()).ok().or_refused(api, overflow)?;
    let wanted: Vec<_> = operations.iter().map(|it| sys::cudaAtomicOperation(*it as u32)).collect();
    let mut found = vec![0; operations.len()];
    call(found.as_mut_ptr(), wanted.as_ptr(), count).at_caller()?;
    Ok(found.into_iter().map(AtomicCapabilities::from_bits_retain).collect())
}
