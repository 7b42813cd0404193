//! Launches of a kernel: begin, call, commit, as copies are made.
#![expect(unsafe_code, reason = "launches kernels, for whose effects the caller is responsible")]

use std::ffi::c_void;
use std::panic::Location;

use cuda_hazard::Operation;

use crate::device::{Device, Switched};
use crate::error::{self, Result};
use crate::hazard::Access;
use crate::stream::{AsStream, StreamRef};
use crate::{stream, sys};

use super::access_list::AccessList;
use super::argument::Target;
use super::{
    Arguments, Checked, CheckedArguments, CheckedParameters, Kernel, LaunchConfig, Need, Scalars, settle,
};

impl<P> Kernel<P> {
    /// Launches the kernel on a stream, as `kernel<<<grid, block, shared_bytes, stream>>>(...)` does in
    /// CUDA C++.
    ///
    /// [`launch!`](crate::launch!) has a similar syntax. Stands for
    /// [`cudaLaunchKernel`](sys::cudaLaunchKernel), with [attributes](LaunchConfig) for
    /// [`cudaLaunchCooperativeKernel`](sys::cudaLaunchCooperativeKernel) or
    /// [`cudaLaunchKernelExC`](sys::cudaLaunchKernelExC).
    ///
    /// # Ordering
    /// Stream-ordered: this returns when the launch is queued. The kernel runs after earlier work of the
    /// stream, and after conflicting work of other streams on the memory among its arguments and on the
    /// variables of its source file that it uses. With the attribute
    /// [`programmatic_stream_serialization`](LaunchConfig::programmatic_stream_serialization), the kernel
    /// itself makes this order.
    ///
    /// # Errors
    /// A shape that no device can run is refused before the call, and the error names the wrong number. So is
    /// memory of another device that the kernel cannot access, with the number of its argument if it is one.
    /// The first launch with such memory enables peer access, as the first copy does, however the memory is
    /// declared.
    /// Clusters that do not divide the grid are refused with both numbers.
    /// The runtime refuses a launch that this device or kernel cannot run, for example clusters that are too
    /// large, or a cooperative launch of more blocks than run at the same time; the error has the maximum. A
    /// failure while the kernel runs is reported by a later call.
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
    /// - A kernel that accesses the shared memory of other blocks of its cluster does so only after those
    ///   blocks have begun and before they have ended.
    ///
    /// # Examples
    /// ```no_run
    /// use cuda_safe::launch::{Kernel, LaunchConfig};
    /// use cuda_safe::{DeviceBuffer, Stream};
    ///
    /// # fn run(histogram: Kernel<(*const u32, u32, *mut u32)>) -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let values = DeviceBuffer::from_slice(&[1_u32; 4096])?;
    /// let mut bins = DeviceBuffer::from_slice(&[0_u32; 1024])?;
    /// let pairs = LaunchConfig::new(8, 256).with_shared_bytes(2048).cluster(2);
    /// // SAFETY: the kernel counts 4,096 values in 1,024 bins.
    /// unsafe { histogram.launch(pairs, &stream, (&values, 4096, &mut bins)) }?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaLaunchKernel")]
    #[doc(alias = "cudaLaunchKernelExC")]
    #[doc(alias = "cudaLaunchKernelEx")]
    #[doc(alias = "<<<>>>")]
    #[inline]
    #[track_caller]
    pub unsafe fn launch<'c, A: Arguments<P>>(
        &self,
        config: impl Into<LaunchConfig<'c>>,
        stream: &impl AsStream,
        arguments: A,
    ) -> Result<()> {
        let config = config.into();
        config.check(self.name)?;
        let stream = stream.as_stream();
        let target = self.on(stream);
        let mut values = arguments.values(target)?;
        let mut pointers = A::pointers(&mut values);
        let mut accesses = AccessList::new();
        arguments.accesses(target, &mut accesses)?;
        // SAFETY: the accesses cover all memory that the kernel receives from owners, and there is a live
        // value of the right type for each parameter (`Arguments`). The caller of `launch` has the other
        // duties.
        let launched =
            unsafe { self.submit(&config, stream, &mut accesses, pointers.as_mut(), Location::caller()) };
        // A match, because a closure would be in the way of the compiler.
        match launched {
            Ok(()) => Ok(()),
            Err(error) => Err(arguments.explain(error, target, None)),
        }
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
    #[doc(alias = "cudaLaunchKernelExC")]
    #[inline]
    #[track_caller]
    pub unsafe fn launch_raw<'c>(
        &self,
        config: impl Into<LaunchConfig<'c>>,
        stream: &impl AsStream,
        accesses: &[Access<'_>],
        values: &mut [*mut c_void],
    ) -> Result<()> {
        let config = config.into();
        config.check(self.name)?;
        let mut accesses = AccessList::from_slice(accesses);
        // SAFETY: the caller has the same duties.
        unsafe { self.submit(&config, stream.as_stream(), &mut accesses, values, Location::caller()) }
    }

    /// Submits a launch. Adds to `accesses` those that the kernel's handle declares.
    ///
    /// # Safety
    /// The duties of [`launch_raw`](Self::launch_raw).
    #[inline]
    pub(super) unsafe fn submit<'a>(
        &'a self,
        config: &LaunchConfig<'_>,
        stream: StreamRef<'_>,
        accesses: &mut AccessList<'a>,
        values: &mut [*mut c_void],
        call_site: &'static Location<'static>,
    ) -> Result<()> {
        let device = stream.device();
        if config.is_programmatic() {
            // A graph orders its nodes by its edges, and each launch of the graph as one operation.
            stream.ensure_not_captured(self.name).map_err(|error| error.at(call_site))?;
        }
        self.add_accesses(device, accesses).map_err(|error| error.at(call_site))?;
        // SAFETY: the caller guarantees that the accesses cover all memory that the kernel accesses. One
        // launch is submitted to the stream and nothing else.
        let submission = unsafe { stream.begin(Operation::new(accesses), call_site) }?;
        let (kernel, values, raw) = (self.as_raw(), values.as_mut_ptr(), stream.as_raw());
        // SAFETY: the stub belongs to a kernel (`from_stub`), and the caller guarantees that `values` has a
        // pointer for each parameter. The stream is live. The caller is responsible for the effects of the
        // kernel.
        let mut code = unsafe { config.call(kernel, values, raw) };
        if code == sys::cudaErrorInvalidResourceHandle
            && let Some(_current) = from_another(device)
        {
            // SAFETY: stub, values and stream are those of the call above, which launched nothing.
            code = unsafe { config.call(kernel, values, raw) };
        }
        submission.commit(code == sys::cudaSuccess);
        if code != sys::cudaSuccess {
            return Err(self.failed(code, config, device, call_site));
        }
        settle(self.name, stream, call_site)
    }
}

impl<P> Checked<P> {
    /// Launches the kernel on a stream, as [`Kernel::launch`] does, if the launch is proven.
    ///
    /// # Ordering
    /// As [`Kernel::launch`], by the bytes that the launch is proven to access: an argument that it only
    /// reads is read, also behind a `T*`, and other bytes of an argument are not accessed.
    ///
    /// # Errors
    /// - `Proof` if the kernel may leave an argument's memory, if nothing proves that it does not, or if two
    ///   arguments have bytes in common and one is written. Nothing is queued then.
    /// - The runtime's error if the device has no code for the kernel.
    /// - Those of [`Kernel::launch`].
    ///
    /// # Examples
    /// ```no_run
    /// use cuda_safe::launch::Checked;
    /// use cuda_safe::{DeviceBuffer, Stream, launch};
    ///
    /// # fn run(scale: &Checked<(*mut f32, f32, u32)>) -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let mut data = DeviceBuffer::from_slice(&[1.0_f32; 1000])?;
    /// launch!(scale<<<4, 256, 0, &stream>>>(&mut data, 2.0, 1000))?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaLaunchKernel")]
    #[doc(alias = "<<<>>>")]
    #[inline]
    #[track_caller]
    pub fn launch<'c, A: CheckedArguments<P>>(
        &self,
        config: impl Into<LaunchConfig<'c>>,
        stream: &impl AsStream,
        arguments: A,
    ) -> Result<()>
    where
        P: CheckedParameters,
    {
        self.launch_shape(&config.into(), stream, arguments)
    }

    /// [`launch`](Self::launch), without a copy of the shape: that would wait for the numbers of grid and
    /// block, which were just stored.
    #[inline]
    #[track_caller]
    pub(super) fn launch_shape<A: CheckedArguments<P>>(
        &self,
        config: &LaunchConfig<'_>,
        stream: &impl AsStream,
        arguments: A,
    ) -> Result<()>
    where
        P: CheckedParameters,
    {
        config.check(self.kernel.name)?;
        let stream = stream.as_stream();
        let target = self.kernel.on(stream);
        let mut values = arguments.values(target)?;
        let mut pointers = A::pointers(&mut values);
        let mut accesses = AccessList::new();
        // SAFETY: the pointers are to live values of the parameters' types (`Arguments`).
        unsafe { self.prove(config, target, pointers.as_mut(), &arguments, &mut accesses) }?;
        // SAFETY: there is a live value of the right type for each parameter (`Arguments`). The proof holds
        // for this device, this shape and these values: the accesses cover all memory of owners that a thread
        // accesses, it writes only what is passed to be written, and no memory that it writes is passed
        // twice. No argument is a raw pointer (`CheckedArg`).
        let launched = unsafe {
            self.kernel.submit(config, stream, &mut accesses, pointers.as_mut(), Location::caller())
        };
        match launched {
            Ok(()) => Ok(()),
            Err(error) => Err(arguments.explain(error, target, Some(&accesses))),
        }
    }

    /// Returns which bytes a launch on the current device would read and write through each parameter, in
    /// order, without a launch: for example, to allocate them.
    ///
    /// `scalars` is a tuple with a value for each parameter: the numbers and structs of the launch, and `()`
    /// for pointers, textures and surfaces.
    ///
    /// # Errors
    /// - `Proof` if nothing is proven of the launch, if it may access bytes before an argument, or if nothing
    ///   bounds an index that comes from memory, for example.
    /// - The runtime's error if the device has no code for the kernel.
    /// - Those of [`Kernel::launch`](super::Kernel::launch) about shape and numbers.
    /// - Refused inside a host function.
    ///
    /// # Examples
    /// ```no_run
    /// use cuda_safe::launch::Checked;
    /// use cuda_safe::{DeviceBuffer, Stream, launch};
    ///
    /// # fn run(vector_add: &Checked<(*const f32, *const f32, *mut f32, u32)>) -> cuda_safe::Result<()> {
    /// let needs = vector_add.needs((4, 256), ((), (), (), 1000))?;
    /// assert_eq!((needs[2].name, needs[2].written.clone()), ("sum", 0..4000));
    /// let a = DeviceBuffer::<f32>::alloc_zeroed(needs[0].elements::<f32>())?;
    /// let mut sum = DeviceBuffer::<f32>::alloc(needs[2].elements::<f32>())?;
    /// launch!(vector_add<<<4, 256, 0, &Stream::new()?>>>(&a, &a, &mut sum, 1000))?;
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn needs<'c, S: Scalars<P>>(
        &self,
        config: impl Into<LaunchConfig<'c>>,
        scalars: S,
    ) -> Result<Vec<Need>>
    where
        P: CheckedParameters,
    {
        stream::ensure_idle("Checked::needs")?;
        let config = config.into();
        config.check(self.kernel.name)?;
        let target = self.kernel.of_node(Device::current()?);
        let needs = scalars.with_pointers(target, |values| {
            // SAFETY: there is a live value of each parameter (`Scalars`), and the descriptions are those of
            // the same parameters.
            unsafe { self.proof.needs(self.kernel.as_raw(), P::DESCRIPTIONS, &config, target, values) }
        });
        // A match, because a closure would hide the caller.
        match needs {
            Ok(needs) => Ok(needs),
            Err(error) => Err(error.at(Location::caller())),
        }
    }

    /// Refuses a launch that is not proven. Adds its accesses to `all`, which is empty: of pointers those
    /// that are proven, of textures and surfaces all.
    ///
    /// # Safety
    /// `values` has a pointer to a live value of each parameter, and `arguments` are those that the values
    /// are of.
    #[inline]
    #[track_caller]
    pub(crate) unsafe fn prove<'a, A: CheckedArguments<P>>(
        &self,
        config: &LaunchConfig<'_>,
        target: Target<'_>,
        values: &[*mut c_void],
        arguments: &'a A,
        all: &mut AccessList<'a>,
    ) -> Result<()>
    where
        P: CheckedParameters,
    {
        let own = arguments.each_own();
        let with_gaps = |parameter: usize| {
            let each = arguments.each_access();
            each.as_ref().get(parameter).and_then(Option::as_ref).map_or(0, |access| access.range().len())
        };
        // SAFETY: the caller has the same duties, and the accesses are those of the arguments
        // (`CheckedArguments`).
        unsafe {
            let kernel = (self.kernel.as_raw(), P::DESCRIPTIONS, P::HAS_HANDLE);
            let own = (own.as_ref(), &with_gaps as &dyn Fn(usize) -> usize);
            self.proof.check(kernel, config, target, values, own, all)
        }?;
        arguments.accesses_of_objects(target, all)
    }
}

/// Makes a stream's device current if another one is, because the runtime may refuse a stream of another
/// device. The launch is then made again. Costs nothing if the runtime accepts the stream.
#[cold]
#[inline(never)]
fn from_another(device: Device) -> Option<Switched> {
    if Device::current().is_ok_and(|current| current == device) {
        return None;
    }
    // The first refusal does not concern the caller, so it is removed from the thread's last-error slot.
    let _ = error::take_last();
    device.switch().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_is_repeated_only_where_another_device_is_current() {
        let here = Device::current().unwrap();
        assert!(from_another(here).is_none(), "the stream's device is current: the refusal stands");
        if Device::count().unwrap() < 2 {
            println!("one device only: no other one to switch to");
            return;
        }
        let there = Device::new(1 - here.ordinal()).unwrap();
        let current = from_another(there);
        assert!(current.is_some() && Device::current().unwrap() == there);
        drop(current);
        assert_eq!(Device::current().unwrap(), here);
    }
}
