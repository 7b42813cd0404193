//! Launches of a kernel: plain, with attributes, and of blocks that wait for each other.
#![expect(unsafe_code, reason = "puts kernels on streams; what a kernel does, its caller vouches for")]

use std::ffi::c_void;
use std::panic::Location;

use cuda_hazard::Operation;

use crate::device::Device;
use crate::error::{self, Result};
use crate::hazard::Access;
use crate::stream::{AsStream, PreparedAccesses, StreamRef};
use crate::sys;

use super::way::{PLAIN, TOGETHER, Way};
use super::{Arguments, Kernel, LaunchAttributes, LaunchConfig};

impl<P> Kernel<P> {
    /// Puts one run of the kernel on a stream: what `kernel<<<grid, block, shared_bytes, stream>>>(...)` does in CUDA C++.
    ///
    /// [`launch!`](crate::launch!) is the way to write it as there. Stands for
    /// [`cudaLaunchKernel`](sys::cudaLaunchKernel).
    ///
    /// # Ordering
    /// Stream-ordered: returns when the launch is queued. It runs after what the stream was given before, and after conflicting
    /// work of other streams on the memory among its arguments, and on the variables of its source file that it uses.
    ///
    /// # Errors
    /// A shape that no device can run is refused before the call, by the number that is wrong. What the device or this kernel
    /// cannot run, the runtime refuses. What goes wrong while the kernel runs is reported by a later call.
    ///
    /// # Safety
    /// - For every thread of this shape the kernel stays within the memory it is given, and its own: no access past the end of
    ///   an argument's range, none through addresses that it makes up or finds in memory.
    /// - It writes through no `*const` parameter, through no surface that is passed as `read_only`, and nothing that it reads by a
    ///   texture in the same launch. Threads do not race with each other in a way that the kernel's author forbids.
    /// - Values that it leaves behind may be anything; addresses that the program later uses as such must be right.
    /// - The memory behind raw pointers among the arguments lives until the kernel has ended, is reachable from the stream's
    ///   device, and is not used by anybody else in a conflicting way until then: nobody keeps tracker about it.
    /// - The memory among the arguments can be reached from the stream's device: it is of this device, of one that it has been
    ///   given peer access to, or pinned.
    /// - The kernel ends, once what it waits for has happened.
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
        arguments.with(stream.device(), |accesses, values| {
            // SAFETY: the accesses are those of all the memory that the kernel is given by its owners, and there is a live
            // value of the right type for each parameter (`Arguments`); the rest is the duty of `launch`'s caller.
            unsafe { self.put(PLAIN, &config, stream, accesses, values, call_site) }
        })
    }

    /// [`launch`](Self::launch) for a kernel that reaches memory which its arguments only contain the addresses of: a table of
    /// pointers, a struct with a pointer. The accesses say what it reads and writes.
    ///
    /// `values` has a pointer to a value for each parameter, as `cudaLaunchKernel` takes them. The values are copied before the
    /// call returns.
    ///
    /// # Ordering
    /// As `launch`, with the memory that `accesses` name.
    ///
    /// # Errors
    /// As `launch`.
    ///
    /// # Safety
    /// - `values` has a pointer for each parameter of the kernel, in order, to a live value of that parameter's type.
    /// - `accesses` name all memory of this crate's owners that the kernel reaches, and say of which it writes.
    /// - The duties of `launch`, for all memory that the kernel reaches.
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
        // SAFETY: the caller's duties are just these.
        unsafe { self.put(PLAIN, &config, stream.as_stream(), accesses, values, Location::caller()) }
    }

    /// [`launch_with`](Self::launch_with) for a launch that is made many times with the same accesses, which were put in
    /// order once.
    ///
    /// # Ordering
    /// As `launch_with`.
    ///
    /// # Errors
    /// As `launch_with`.
    ///
    /// # Safety
    /// The duties of `launch_with`.
    #[doc(alias = "cudaLaunchKernel")]
    #[inline]
    #[track_caller]
    pub unsafe fn launch_prepared(
        &self,
        config: impl Into<LaunchConfig>,
        stream: &impl AsStream,
        prepared: &PreparedAccesses,
        accesses: &[Access<'_>],
        values: &mut [*mut c_void],
    ) -> Result<()> {
        let (config, stream, call_site) = (config.into(), stream.as_stream(), Location::caller());
        config.check(self.name)?;
        if self.symbols.is_some() || self.held.is_some() {
            // SAFETY: the caller's duties are just these.
            return unsafe { self.put(PLAIN, &config, stream, accesses, values, call_site) };
        }
        let call = |raw| {
            // SAFETY: as in `put`, with the caller's duties.
            unsafe { self.call(PLAIN, &config, stream, values, raw, call_site) }
        };
        // SAFETY: as in `put`, with the caller's duties; the handle has no variables and nothing else.
        unsafe { stream.enqueue_prepared_at(prepared, accesses, call_site, call) }
    }

    /// [`launch`](Self::launch) with attributes, clusters of blocks among them: what `cudaLaunchKernelEx` does in CUDA C++.
    ///
    /// Stands for [`cudaLaunchKernelExC`](sys::cudaLaunchKernelExC).
    ///
    /// # Ordering
    /// As `launch`, whatever the attributes, but for
    /// [`programmatic_stream_serialization`](LaunchAttributes::programmatic_stream_serialization).
    ///
    /// # Errors
    /// As `launch`. Clusters that do not divide the grid are refused before the call, with both numbers; larger ones than the kernel may
    /// have, the runtime refuses, and the error has the most.
    ///
    /// # Safety
    /// The duties of `launch`. A kernel that reaches the shared memory of other blocks of its cluster sees to it that those have begun
    /// and have not ended.
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
    /// // SAFETY: the kernel counts as many values as it is told, in as many bins as there are.
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
        arguments.with(stream.device(), |accesses, values| {
            // SAFETY: as in `launch`.
            unsafe { self.put(attributes, &config, stream, accesses, values, call_site) }
        })
    }

    /// [`launch_ex`](Self::launch_ex) for a kernel that reaches memory which its arguments only contain the addresses of, as
    /// [`launch_with`](Self::launch_with) is.
    ///
    /// Stands for [`cudaLaunchKernelExC`](sys::cudaLaunchKernelExC).
    ///
    /// # Ordering
    /// As `launch_ex`, with the memory that `accesses` name.
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
        // SAFETY: the caller's duties are just these.
        unsafe { self.put(attributes, &config, stream, accesses, values, Location::caller()) }
    }

    /// [`launch`](Self::launch) for a kernel whose blocks wait for each other, by a grid-wide barrier of cooperative groups for one:
    /// all of them run at the same time, or the launch is refused. In CUDA C++ these are `cudaLaunchCooperativeKernel`, and
    /// `cudaLaunchKernelEx` with `cudaLaunchAttributeCooperative`.
    ///
    /// How many blocks run at the same time say [`blocks_per_multiprocessor`](Self::blocks_per_multiprocessor) and the device's
    /// [`multiprocessor_count`](crate::device::DeviceProperties::multiprocessor_count).
    ///
    /// Stands for [`cudaLaunchCooperativeKernel`](sys::cudaLaunchCooperativeKernel).
    ///
    /// # Ordering
    /// As `launch`.
    ///
    /// # Errors
    /// As `launch`; `cudaErrorCooperativeLaunchTooLarge` for more blocks than the device runs at once, with both numbers.
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
        arguments.with(stream.device(), |accesses, values| {
            // SAFETY: as in `launch`.
            unsafe { self.put(TOGETHER, &config, stream, accesses, values, call_site) }
        })
    }

    /// Refuses what no device can launch with these attributes.
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
            // A graph orders its nodes by its edges, and each launch of it as one operation.
            stream.ensure_not_captured(self.name)?;
        }
        Ok(())
    }

    /// Enters a launch in the tracker and makes it.
    ///
    /// # Safety
    /// The duties of [`launch_with`](Self::launch_with).
    #[inline]
    unsafe fn put<W: Way>(
        &self,
        way: W,
        config: &LaunchConfig,
        stream: StreamRef<'_>,
        accesses: &[Access<'_>],
        values: &mut [*mut c_void],
        call_site: &'static Location<'static>,
    ) -> Result<()> {
        let call = |raw| {
            // SAFETY: the caller's duties are just these.
            unsafe { self.call(way, config, stream, values, raw, call_site) }
        };
        // SAFETY: the caller says that the accesses are those of all the memory that the kernel reaches, to which those of the
        // variables come that its handle says it uses, and the closure puts one launch on the stream and nothing else.
        let enqueue =
            |accesses: &[Access<'_>]| unsafe { stream.submit(Operation::new(accesses), call_site, call) };
        self.reaching(stream.device(), accesses, enqueue)
    }

    /// Calls the runtime, which puts the launch on the stream `raw`.
    ///
    /// # Safety
    /// The duties of [`launch_with`](Self::launch_with), and that the launch is entered in the tracker.
    #[inline]
    unsafe fn call<W: Way>(
        &self,
        way: W,
        config: &LaunchConfig,
        stream: StreamRef<'_>,
        values: &mut [*mut c_void],
        raw: sys::cudaStream_t,
        call_site: &'static Location<'static>,
    ) -> Result<()> {
        let (kernel, values) = (self.as_raw(), values.as_mut_ptr());
        let launch = || {
            // SAFETY: the stub is a kernel's (`from_stub`), and the caller says that `values` has a pointer for each
            // parameter; the stream is live; what the kernel does is the caller's duty.
            unsafe { way.put(kernel, config, values, raw) }
        };
        match launch() {
            sys::cudaSuccess => Ok(()),
            sys::cudaErrorInvalidResourceHandle => {
                let code = on_device(stream.device(), launch);
                self.launched(way, code, config, stream.device(), call_site)
            }
            code => self.launched(way, code, config, stream.device(), call_site),
        }
    }
}

/// Launches again with the stream's device current: the runtime may refuse a stream of another one. Nothing is paid for it where
/// it does not, or where the device is current already.
#[cold]
fn on_device(device: Device, launch: impl FnOnce() -> sys::cudaError_t) -> sys::cudaError_t {
    let refused = sys::cudaErrorInvalidResourceHandle;
    if Device::current().is_ok_and(|current| current == device) {
        return refused;
    }
    // The first refusal is not the caller's, so it does not stay in the thread's slot for the last error.
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
