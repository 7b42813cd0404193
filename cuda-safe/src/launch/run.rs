//! Launches of a kernel: plain, with attributes, and cooperative.
#![expect(unsafe_code, reason = "launches kernels, for whose effects the caller is responsible")]

use std::ffi::c_void;
use std::panic::Location;

use cuda_hazard::Operation;

use crate::device::Device;
use crate::error::{self, Result};
use crate::hazard::Access;
use crate::stream::{AsStream, StreamRef};
use crate::sys;

use super::function::{COOPERATIVE, LaunchFunction, PLAIN};
use super::{Arguments, Kernel, LaunchAttributes, LaunchConfig};

impl<P> Kernel<P> {
    /// Launches the kernel on a stream, as `kernel<<<grid, block, shared_bytes, stream>>>(...)` does in
    /// CUDA C++.
    ///
    /// [`launch!`](crate::launch!) has a similar syntax. Stands for
    /// [`cudaLaunchKernel`](sys::cudaLaunchKernel).
    ///
    /// # Ordering
    /// Stream-ordered: this returns when the launch is queued. The kernel runs after earlier work of the
    /// stream, and after conflicting work of other streams on the memory among its arguments and on the
    /// variables of its source file that it uses.
    ///
    /// # Errors
    /// A shape that no device can run is refused before the call, and the error names the wrong number. So is
    /// memory of another device that the kernel cannot access, with the number of its argument if it is one.
    /// The first launch with such memory enables peer access, as the first copy does, however the memory is
    /// declared.
    /// The runtime refuses a launch that this device or kernel cannot run. A failure while the kernel
    /// runs is reported by a later call.
    ///
    /// # Safety
    /// - Every thread of this shape stays within the memory that the kernel receives, and its own: no
    ///   access past the end of an argument's range, and none through addresses that it computes or
    ///   finds in memory.
    /// - The kernel does not write through a `*const` parameter or through memory or a surface that is passed
    ///   as `read_only`, and it does not write memory that it reads by a texture in the same launch. Its
    ///   threads do not race with each other in a way that the kernel's author forbids.
    /// - Values that it writes may be arbitrary, except that addresses which the program later uses as
    ///   addresses must be valid.
    /// - Memory behind raw pointers among the arguments lives until the kernel has ended and is
    ///   reachable from the stream's device. Until then, nobody else uses it in a conflicting way: the
    ///   tracker does not know it.
    /// - The kernel ends once the events that it waits for have happened.
    #[doc(alias = "cudaLaunchKernel")]
    #[doc(alias = "<<<>>>")]
    #[inline]
    #[track_caller]
    pub unsafe fn launch<A: Arguments<P>>(
        &self,
        config: impl Into<LaunchConfig>,
        stream: &impl AsStream,
        arguments: A,
    ) -> Result<()> {
        let config = config.into();
        config.check(self.name)?;
        let call_site = Location::caller();
        let stream = stream.as_stream();
        arguments.with(self.on(stream), |accesses, values| {
            // SAFETY: the accesses cover all memory that the kernel receives from owners, and there is a
            // live value of the right type for each parameter (`Arguments`). The caller of `launch` has
            // the other duties.
            unsafe { self.submit(PLAIN, &config, stream, accesses, values, call_site) }
        })
    }

    /// [`launch`](Self::launch) for a kernel that accesses memory whose addresses are inside of its
    /// arguments, such as a table of pointers or a struct with a pointer. `accesses` declares what it
    /// reads and writes.
    ///
    /// `values` has a pointer to a value for each parameter, as in `cudaLaunchKernel`. The values are
    /// copied before the call returns.
    ///
    /// # Ordering
    /// As `launch`, with the memory that `accesses` names.
    ///
    /// # Errors
    /// As `launch`.
    ///
    /// # Safety
    /// - `values` has a pointer for each parameter of the kernel, in order, to a live value of that
    ///   parameter's type.
    /// - `accesses` names all memory of this crate's owners that the kernel accesses, and declares the
    ///   writes.
    /// - The duties of `launch` hold for all memory that the kernel accesses.
    #[doc(alias = "cudaLaunchKernel")]
    #[inline]
    #[track_caller]
    pub unsafe fn launch_with(
        &self,
        config: impl Into<LaunchConfig>,
        stream: &impl AsStream,
        accesses: &[Access<'_>],
        values: &mut [*mut c_void],
    ) -> Result<()> {
        let config = config.into();
        config.check(self.name)?;
        // SAFETY: the caller has the same duties.
        unsafe { self.submit(PLAIN, &config, stream.as_stream(), accesses, values, Location::caller()) }
    }

    /// [`launch`](Self::launch) with attributes, such as clusters of blocks: `cudaLaunchKernelEx` in
    /// CUDA C++.
    ///
    /// Stands for [`cudaLaunchKernelExC`](sys::cudaLaunchKernelExC).
    ///
    /// # Ordering
    /// As `launch` with any attributes, except
    /// [`programmatic_stream_serialization`](LaunchAttributes::programmatic_stream_serialization).
    ///
    /// # Errors
    /// As `launch`. Clusters that do not divide the grid are refused before the call, with both numbers.
    /// The runtime refuses clusters that are too large for the kernel, and the error has the maximum.
    ///
    /// # Safety
    /// - The duties of `launch`.
    /// - A kernel that accesses the shared memory of other blocks of its cluster does so only after
    ///   those blocks have begun and before they have ended.
    ///
    /// # Examples
    /// ```no_run
    /// use cuda_safe::launch::{Kernel, LaunchAttributes};
    /// use cuda_safe::{DeviceBuffer, Stream};
    ///
    /// # fn run(histogram: Kernel<(*const u32, u32, *mut u32)>) -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let values = DeviceBuffer::from_slice(&[1_u32; 4096])?;
    /// let mut bins = DeviceBuffer::from_slice(&[0_u32; 1024])?;
    /// let pairs = LaunchAttributes::new().cluster(2);
    /// // SAFETY: the kernel counts 4,096 values in 1,024 bins.
    /// unsafe { histogram.launch_ex((8, 256, 2048), &pairs, &stream, (&values, 4096, &mut bins)) }?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaLaunchKernelExC")]
    #[doc(alias = "cudaLaunchKernelEx")]
    #[track_caller]
    pub unsafe fn launch_ex<A: Arguments<P>>(
        &self,
        config: impl Into<LaunchConfig>,
        attributes: &LaunchAttributes<'_>,
        stream: &impl AsStream,
        arguments: A,
    ) -> Result<()> {
        let (config, stream, call_site) = (config.into(), stream.as_stream(), Location::caller());
        self.check_ex(&config, attributes, stream)?;
        arguments.with(self.on(stream), |accesses, values| {
            // SAFETY: as in `launch`.
            unsafe { self.submit(attributes, &config, stream, accesses, values, call_site) }
        })
    }

    /// [`launch_ex`](Self::launch_ex) for a kernel that accesses memory whose addresses are inside of
    /// its arguments, as in [`launch_with`](Self::launch_with).
    ///
    /// Stands for [`cudaLaunchKernelExC`](sys::cudaLaunchKernelExC).
    ///
    /// # Ordering
    /// As `launch_ex`, with the memory that `accesses` names.
    ///
    /// # Errors
    /// As `launch_ex`.
    ///
    /// # Safety
    /// The duties of `launch_with` and of `launch_ex`.
    #[doc(alias = "cudaLaunchKernelExC")]
    #[track_caller]
    pub unsafe fn launch_ex_with(
        &self,
        config: impl Into<LaunchConfig>,
        attributes: &LaunchAttributes<'_>,
        stream: &impl AsStream,
        accesses: &[Access<'_>],
        values: &mut [*mut c_void],
    ) -> Result<()> {
        let (config, stream) = (config.into(), stream.as_stream());
        self.check_ex(&config, attributes, stream)?;
        // SAFETY: the caller has the same duties.
        unsafe { self.submit(attributes, &config, stream, accesses, values, Location::caller()) }
    }

    /// [`launch`](Self::launch) for a kernel whose blocks wait for each other, for example at a
    /// grid-wide barrier of cooperative groups. All blocks run at the same time, or the launch is
    /// refused. In CUDA C++ this is `cudaLaunchCooperativeKernel`, or `cudaLaunchKernelEx` with
    /// `cudaLaunchAttributeCooperative`.
    ///
    /// The number of blocks that run at the same time is
    /// [`blocks_per_multiprocessor`](Self::blocks_per_multiprocessor) times the device's
    /// [`multi_processor_count`](crate::device::DeviceProperties::multi_processor_count).
    ///
    /// Stands for [`cudaLaunchCooperativeKernel`](sys::cudaLaunchCooperativeKernel).
    ///
    /// # Ordering
    /// As `launch`.
    ///
    /// # Errors
    /// As `launch`. `cudaErrorCooperativeLaunchTooLarge` for more blocks than the device runs at once,
    /// with both numbers.
    ///
    /// # Safety
    /// The duties of `launch`.
    #[doc(alias = "cudaLaunchCooperativeKernel")]
    #[doc(alias = "cudaLaunchAttributeCooperative")]
    #[track_caller]
    pub unsafe fn launch_cooperative<A: Arguments<P>>(
        &self,
        config: impl Into<LaunchConfig>,
        stream: &impl AsStream,
        arguments: A,
    ) -> Result<()> {
        let config = config.into();
        config.check(self.name)?;
        let call_site = Location::caller();
        let stream = stream.as_stream();
        arguments.with(self.on(stream), |accesses, values| {
            // SAFETY: as in `launch`.
            unsafe { self.submit(COOPERATIVE, &config, stream, accesses, values, call_site) }
        })
    }

    /// Refuses a shape that no device can launch with these attributes.
    #[track_caller]
    fn check_ex(
        &self,
        config: &LaunchConfig,
        attributes: &LaunchAttributes<'_>,
        stream: StreamRef<'_>,
    ) -> Result<()> {
        config.check(self.name)?;
        attributes.check(self.name, config.grid)?;
        if attributes.is_programmatic() {
            // A graph orders its nodes by its edges, and each launch of the graph as one operation.
            stream.ensure_not_captured(self.name)?;
        }
        Ok(())
    }

    /// Submits a launch: enters it in the tracker and makes the call.
    ///
    /// # Safety
    /// The duties of [`launch_with`](Self::launch_with).
    #[inline]
    unsafe fn submit<F: LaunchFunction>(
        &self,
        function: F,
        config: &LaunchConfig,
        stream: StreamRef<'_>,
        accesses: &[Access<'_>],
        values: &mut [*mut c_void],
        call_site: &'static Location<'static>,
    ) -> Result<()> {
        let call = |raw| {
            // SAFETY: the caller has the same duties.
            unsafe { self.call(function, config, stream, values, raw, call_site) }
        };
        // SAFETY: the caller guarantees that the accesses cover all memory that the kernel accesses. The
        // accesses of the variables that its handle declares are added. The closure submits one launch
        // to the stream and nothing else.
        let enqueue =
            |accesses: &[Access<'_>]| unsafe { stream.submit(Operation::new(accesses), call_site, call) };
        // Only here, because the variables' addresses are found in a closure.
        self.reaching(stream.device(), accesses, call_site, enqueue).map_err(|error| error.at(call_site))
    }

    /// Makes the runtime's call on the stream `raw`.
    ///
    /// # Safety
    /// The duties of [`launch_with`](Self::launch_with). The launch is entered in the tracker.
    #[inline]
    unsafe fn call<F: LaunchFunction>(
        &self,
        function: F,
        config: &LaunchConfig,
        stream: StreamRef<'_>,
        values: &mut [*mut c_void],
        raw: sys::cudaStream_t,
        call_site: &'static Location<'static>,
    ) -> Result<()> {
        let (kernel, values) = (self.as_raw(), values.as_mut_ptr());
        let launch = || {
            // SAFETY: the stub belongs to a kernel (`from_stub`), and the caller guarantees that
            // `values` has a pointer for each parameter. The stream is live. The caller is responsible
            // for the effects of the kernel.
            unsafe { function.call(kernel, config, values, raw) }
        };
        match launch() {
            sys::cudaSuccess => Ok(()),
            sys::cudaErrorInvalidResourceHandle => {
                let code = on_device(stream.device(), launch);
                self.launched(function, code, config, stream.device(), call_site)
            }
            code => self.launched(function, code, config, stream.device(), call_site),
        }
    }
}

/// Launches again with the stream's device current, because the runtime may refuse a stream of another
/// device. This costs nothing if the runtime accepts it or the device is current already.
#[cold]
fn on_device(device: Device, launch: impl FnOnce() -> sys::cudaError_t) -> sys::cudaError_t {
    let refused = sys::cudaErrorInvalidResourceHandle;
    if Device::current().is_ok_and(|current| current == device) {
        return refused;
    }
    // The first refusal does not concern the caller, so it is removed from the thread's last-error slot.
    let _ = error::take_last();
    device.with_current(|| Ok(launch())).unwrap_or(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_is_repeated_only_where_another_device_is_current() {
        let here = Device::current().unwrap();
        let refused = on_device(here, || unreachable!("the stream's device is current: the refusal stands"));
        assert_eq!(refused, sys::cudaErrorInvalidResourceHandle);
        if Device::count().unwrap() < 2 {
            println!("one device only: no other one to switch to");
            return;
        }
        let there = Device::new(1 - here.ordinal()).unwrap();
        let answer = on_device(there, || {
            assert_eq!(Device::current().unwrap(), there);
            sys::cudaSuccess
        });
        assert_eq!((answer, Device::current().unwrap()), (sys::cudaSuccess, here));
    }
}
