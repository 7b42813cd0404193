//! The runtime's launch functions, and the explanation of a launch that one of them refused: the number that
//! is too large for this kernel on this device.
#![expect(unsafe_code, reason = "calls the runtime's launch functions")]

use std::ffi::c_void;
use std::panic::Location;

use super::config::{LaunchFunction, undivided};
use super::{Dim3, Kernel, KernelAttributes, LaunchConfig, attributes};
use crate::device::Device;
use crate::error::{Detail, Error, ErrorKind};
use crate::memory::size::wide;
use crate::sys;

impl LaunchFunction {
    /// Returns the name of the C function.
    fn name(self) -> &'static str {
        match self {
            Self::Plain => "cudaLaunchKernel",
            Self::Cooperative => "cudaLaunchCooperativeKernel",
            Self::Extended => "cudaLaunchKernelExC",
        }
    }
}

impl LaunchConfig<'_> {
    /// Calls the C function that launches a kernel with this configuration.
    ///
    /// # Safety
    /// - `kernel` is the stub of a kernel.
    /// - `values` has a pointer to a live value for each of its parameters.
    /// - The stream is live.
    /// - The caller is responsible for the effects of the kernel.
    #[inline]
    pub(super) unsafe fn call(
        &self,
        kernel: *const c_void,
        values: *mut *mut c_void,
        stream: sys::cudaStream_t,
    ) -> sys::cudaError_t {
        let Self { grid, block, shared_bytes, .. } = *self;
        match self.function() {
            // SAFETY: the caller has the duties of the call.
            LaunchFunction::Plain => unsafe {
                sys::cudaLaunchKernel(kernel, grid.into(), block.into(), values, shared_bytes, stream)
            },
            // SAFETY: the caller has the duties of the call.
            LaunchFunction::Cooperative => unsafe {
                sys::cudaLaunchCooperativeKernel(
                    kernel,
                    grid.into(),
                    block.into(),
                    values,
                    shared_bytes,
                    stream,
                )
            },
            // SAFETY: the caller has the duties of the call.
            LaunchFunction::Extended => unsafe { self.call_extended(kernel, values, stream) },
        }
    }

    /// [`call`](Self::call) with attributes.
    ///
    /// # Safety
    /// The duties of `call`.
    #[inline(never)]
    unsafe fn call_extended(
        &self,
        kernel: *const c_void,
        values: *mut *mut c_void,
        stream: sys::cudaStream_t,
    ) -> sys::cudaError_t {
        let attributes = self.raw_attributes();
        let config = self.to_raw(&attributes, stream);
        // SAFETY: the caller has the duties of the call. The attributes are live, and each has set the member
        // that its identifier names.
        unsafe { sys::cudaLaunchKernelExC(&raw const config, kernel, values) }
    }
}

/// The cluster size in blocks that every device with clusters supports.
const PORTABLE: u64 = 8;

impl<P> Kernel<P> {
    /// Returns the error of a launch that the runtime refused. It names the number that is too large for this
    /// kernel, if there is one.
    #[cold]
    #[inline(never)]
    pub(super) fn failed(
        &self,
        code: sys::cudaError_t,
        config: &LaunchConfig<'_>,
        device: Device,
        call_site: &'static Location<'static>,
    ) -> Error {
        let error = Error::from_code(config.function().name(), code).at(call_site);
        if error.is_sticky() {
            return error;
        }
        // The error's details about the kernel and its limits are those of the launch's device.
        let _current = device.switch();
        match self.reason(error.code(), config) {
            Some(reason) => error.with_detail(reason),
            None => error,
        }
    }

    /// Returns the number that is too large for the kernel, or `None` if no number is.
    fn reason(&self, code: sys::cudaError_t, config: &LaunchConfig<'_>) -> Option<Detail> {
        let attributes = attributes::of(self.as_raw()).ok()?;
        let (threads, most) = (config.block.count(), attributes.max_threads_per_block());
        if threads > most.into() {
            let (asked, limit) = (wide(threads), most.into());
            return Some(Detail::limit("the number of threads of a block", asked, limit));
        }
        if config.shared_bytes > attributes.max_dynamic_shared_bytes() {
            return Some(attributes.dynamic_shared(config.shared_bytes));
        }
        if code == sys::cudaErrorCooperativeLaunchTooLarge {
            return self.too_many_at_once(config);
        }
        self.clusters_refused(config, &attributes)
    }

    /// Returns the number of blocks of a cooperative launch that fit on the device, which are too few.
    fn too_many_at_once(&self, config: &LaunchConfig<'_>) -> Option<Detail> {
        let each = self.blocks_per_multiprocessor(config.block, config.shared_bytes).ok()?;
        let all = Device::current().and_then(|it| it.attribute(sys::cudaDevAttrMultiProcessorCount)).ok()?;
        let limit = u64::from(each) * u64::try_from(all).unwrap_or(0);
        let asked = wide(config.grid.count());
        Some(Detail::limit("the number of blocks that wait for each other", asked, limit))
    }

    /// Returns what is wrong with the clusters of a refused launch, or `None` if they are not the reason.
    fn clusters_refused(&self, config: &LaunchConfig<'_>, attributes: &KernelAttributes) -> Option<Detail> {
        let declared = attributes.required_cluster();
        let cluster: Dim3 = config.clusters().or(declared)?;
        if let Some(declared) = declared
            && declared != cluster
        {
            let (asked, declared): ([u32; 3], [u32; 3]) = (cluster.into(), declared.into());
            let text = format!(
                "clusters of {asked:?} blocks were asked for, but the kernel's source says {declared:?}: ask \
                 for none"
            );
            return Some(Detail::new(ErrorKind::Argument, text));
        }
        if let Some(detail) = undivided(config.grid, cluster) {
            return Some(detail);
        }
        let asked = wide(cluster.count());
        let most = self.max_potential_cluster_size(*config).map(u64::from);
        let portable = !attributes.non_portable_clusters();
        let allowed = if portable { PORTABLE } else { u64::MAX };
        let limit = most.unwrap_or(u64::MAX).min(allowed);
        (asked > limit).then(|| too_large(asked, limit, portable))
    }
}

/// Returns the detail of a cluster of more blocks than this kernel may have, or than fit on the device.
fn too_large(asked: u64, limit: u64, portable: bool) -> Detail {
    let more = if portable {
        "; Kernel::set_non_portable_clusters allows more than 8 where the device can"
    } else {
        ""
    };
    let room =
        if limit < 8 { "; blocks with less shared memory or fewer threads leave room for more" } else { "" };
    let text =
        format!("a cluster has {asked} blocks, at most {limit} are possible for this launch{more}{room}");
    Detail::new(ErrorKind::Limit, text).or_code(sys::cudaErrorInvalidClusterSize)
}
