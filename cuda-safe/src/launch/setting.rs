//! Attributes of a kernel for a device that need not be current.
#![expect(unsafe_code, reason = "tells the runtime about kernels")]

use std::ffi::c_int;

use super::{ClusterScheduling, Kernel};
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::{check, stream, sys};

/// An attribute of a kernel, for [`Kernel::set_for`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "cudaFuncAttribute")]
pub enum KernelSetting {
    /// The maximum bytes of dynamic shared memory of a launch: see
    /// [`Kernel::set_max_dynamic_shared_bytes`].
    MaxDynamicSharedBytes(usize),
    /// The preferred share of shared memory in percent of the maximum; `None` leaves it to the driver: see
    /// [`Kernel::set_shared_carveout`].
    SharedCarveout(Option<u32>),
    /// Whether clusters may have more than 8 blocks: see [`Kernel::set_non_portable_clusters`].
    NonPortableClusters(bool),
    /// The preferred placement of a cluster's blocks: see [`Kernel::set_cluster_scheduling`].
    ClusterScheduling(ClusterScheduling),
}

impl KernelSetting {
    /// Returns the attribute in C's form. A value beyond C's `int` becomes its maximum, which exceeds every
    /// device's limit.
    fn raw(self) -> (sys::cudaFuncAttribute, c_int) {
        let most = c_int::MAX;
        match self {
            Self::MaxDynamicSharedBytes(bytes) => {
                (sys::cudaFuncAttributeMaxDynamicSharedMemorySize, c_int::try_from(bytes).unwrap_or(most))
            }
            Self::SharedCarveout(percent) => {
                let percent = percent.map_or(-1, |percent| c_int::try_from(percent).unwrap_or(most));
                (sys::cudaFuncAttributePreferredSharedMemoryCarveout, percent)
            }
            Self::NonPortableClusters(allowed) => {
                (sys::cudaFuncAttributeNonPortableClusterSizeAllowed, c_int::from(allowed))
            }
            Self::ClusterScheduling(policy) => {
                let policy = c_int::try_from(policy.as_raw().0).unwrap_or(most);
                (sys::cudaFuncAttributeClusterSchedulingPolicyPreference, policy)
            }
        }
    }
}

impl<P> Kernel<P> {
    /// Sets an attribute of the kernel for launches on a device, which need not be current. A value that
    /// the method named by the [`KernelSetting`] sets for the current device takes precedence, whichever
    /// was set first.
    ///
    /// Stands for [`cudaKernelSetAttributeForDevice`](sys::cudaKernelSetAttributeForDevice). It takes more
    /// locks than the other methods: call it before launches begin.
    ///
    /// # Errors
    /// Returns `cudaErrorInvalidValue` with the requested number if it exceeds the device's limit, and the
    /// runtime's error if there is no code for the device. Refused inside a host function.
    ///
    /// # Examples
    /// ```
    /// # use cuda_safe::Device;
    /// # use cuda_safe::launch::{Kernel, KernelSetting};
    /// # fn with(kernel: &Kernel<(*mut f32, u32)>) -> cuda_safe::Result<()> {
    /// for ordinal in 0..Device::count()? {
    ///     kernel.set_for(Device::new(ordinal)?, KernelSetting::MaxDynamicSharedBytes(64 << 10))?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaKernelSetAttributeForDevice")]
    #[track_caller]
    pub fn set_for(&self, device: Device, setting: KernelSetting) -> Result<()> {
        stream::ensure_idle("Kernel::set_for")?;
        let (attribute, value) = setting.raw();
        let kernel = self.kernel()?;
        // SAFETY: the handle is that of a live kernel. The call changes a limit or records a preference.
        let set =
            unsafe { check!(cudaKernelSetAttributeForDevice(kernel, attribute, value, device.ordinal())) };
        // No closure here: it would hide the caller's location.
        match (set, setting) {
            (Err(error), KernelSetting::MaxDynamicSharedBytes(bytes))
                if error.code() == sys::cudaErrorInvalidValue =>
            {
                let most = device.attribute(sys::cudaDevAttrMaxSharedMemoryPerBlockOptin)?;
                let (asked, limit) = (super::dimensions::wide(bytes), u64::try_from(most).unwrap_or(0));
                let what = "shared memory of a block in bytes";
                let detail = Detail::Limit { what, asked, limit };
                Err::<(), Error>(if asked > limit { error.with_detail(detail) } else { error })
            }
            (set, _) => set,
        }
    }
}
