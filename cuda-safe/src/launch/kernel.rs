//! The typed handle of a kernel, and its launch.
#![expect(unsafe_code, reason = "a handle vouches that its type is the kernel's parameter list")]

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

use crate::device::Device;
use crate::error::{self, Detail, Error, Result};
use crate::hazard::{Access, Listed};
use crate::stream::{AsStream, StreamRef};
use crate::sys;

use super::extended::undivided;
use super::way::{PLAIN, TOGETHER, Way};
use super::{Arguments, Dim3, KernelAttributes, LaunchAttributes, LaunchConfig, Uses, attributes, module};

/// Blocks of a cluster that every device with clusters can have.
const PORTABLE: u64 = 8;

/// A kernel, of this program or of a [`Library`](crate::library::Library), with its parameter list `P` as a tuple of the types in its C
/// prototype.
///
/// Cloning costs a count. A kernel of a library keeps that loaded, as a graph does that has the kernel in it.
///
/// `__global__ void saxpy(float a, const float* x, float* y, unsigned n)` is a
/// `Kernel<(f32, *const f32, *mut f32, u32)>`.
#[doc(alias = "__global__")]
pub struct Kernel<P> {
    pub(super) name: &'static str,
    pub(super) code: Code,
    pub(super) symbols: Option<&'static Uses>,
    /// What each launch uses besides, and what keeps it: the library that the kernel is of, and memory that no argument names.
    pub(super) held: Option<Arc<Listed>>,
    pub(super) parameters: PhantomData<fn(P)>,
}

/// What the runtime knows a kernel by: a name that nobody follows.
#[derive(Clone, Copy)]
pub(super) struct Code {
    pub(super) raw: *const c_void,
    /// Whether it is a `cudaKernel_t`, and not a host-side stub.
    pub(super) loaded: bool,
}

// SAFETY: the runtime takes the name from any thread, and nothing is reached through it here.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

impl<P> Kernel<P> {
    /// The handle of the kernel whose host-side stub this is; `name` is for messages.
    ///
    /// Generated code calls this.
    ///
    /// # Safety
    /// - `stub` is the function that nvcc generated for a `__global__` function linked into this program.
    /// - `P` is the tuple of that function's parameter types, each a type with C's layout.
    /// - The kernel uses no `__device__`, `__constant__` or `__managed__` variable for which there is a
    ///   [`Symbol`](crate::memory::Symbol), unless [`with_symbols`](Self::with_symbols) is told: nobody orders its launches with
    ///   copies of variables otherwise.
    #[must_use]
    pub const unsafe fn from_stub(name: &'static str, stub: unsafe extern "C" fn()) -> Self {
        let code = Code { raw: stub as *const c_void, loaded: false };
        Self { name, code, symbols: None, held: None, parameters: PhantomData }
    }

    /// The same handle, with what the kernel does with the variables of its module. Each launch enters that in the books.
    ///
    /// Generated code calls this.
    ///
    /// # Safety
    /// The kernel reads and writes no variable for which there is a [`Symbol`](crate::memory::Symbol) beyond what `symbols` says.
    #[must_use]
    pub const unsafe fn with_symbols(mut self, symbols: &'static Uses) -> Self {
        self.symbols = Some(symbols);
        self
    }

    /// The kernel's name in the source.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What the runtime knows the kernel by: the address of its host-side stub, or for one of a library its `cudaKernel_t`.
    #[inline]
    #[must_use]
    pub fn as_raw(&self) -> *const c_void {
        self.code.raw
    }

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
    ///   device, and is not used by anybody else in a conflicting way until then: nobody keeps books about it.
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
        let place = Location::caller();
        let stream = stream.as_stream();
        arguments.with(stream.device(), |accesses, values| {
            // SAFETY: the accesses are those of all the memory that the kernel is given by its owners, and there is a live
            // value of the right type for each parameter (`Arguments`); the rest is the duty of `launch`'s caller.
            unsafe { self.put(PLAIN, &config, stream, accesses, values, place) }
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
        let (config, stream, place) = (config.into(), stream.as_stream(), Location::caller());
        self.check_ex(&config, attributes, stream)?;
        arguments.with(stream.device(), |accesses, values| {
            // SAFETY: as in `launch`.
            unsafe { self.put(attributes, &config, stream, accesses, values, place) }
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

    /// Enters a launch in the books and makes it.
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
        place: &'static Location<'static>,
    ) -> Result<()> {
        let call = |raw: sys::cudaStream_t| {
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
                    self.launched(way, code, config, stream.device(), place)
                }
                code => self.launched(way, code, config, stream.device(), place),
            }
        };
        // SAFETY: the caller says that the accesses are those of all the memory that the kernel reaches, to which those of the
        // variables come that its handle says it uses, and the closure puts one launch on the stream and nothing else.
        let enqueue = |accesses: &[Access<'_>]| unsafe { stream.enqueue_at(accesses, place, call) };
        self.reaching(stream.device(), accesses, enqueue)
    }

    /// Calls `f` with these accesses and those of what else the kernel uses on a device: variables, its library, memory that it was told of.
    #[inline]
    #[track_caller]
    pub(crate) fn reaching<R>(
        &self,
        device: Device,
        accesses: &[Access<'_>],
        f: impl FnOnce(&[Access<'_>]) -> Result<R>,
    ) -> Result<R> {
        match (self.symbols, &self.held) {
            (None, None) => f(accesses),
            (None, Some(held)) => module::joined(accesses, held.accesses(), f),
            (Some(symbols), None) => symbols.with(device, accesses, f),
            (Some(symbols), Some(held)) => {
                symbols.with(device, accesses, |accesses| module::joined(accesses, held.accesses(), f))
            }
        }
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
        let place = Location::caller();
        let stream = stream.as_stream();
        arguments.with(stream.device(), |accesses, values| {
            // SAFETY: as in `launch`.
            unsafe { self.put(TOGETHER, &config, stream, accesses, values, place) }
        })
    }

    /// The error of a launch whose blocks do not all fit on the device, with how many do.
    fn too_many_at_once(&self, error: Error, config: &LaunchConfig) -> Error {
        let fitting = || -> Result<u64> {
            let each = self.blocks_per_multiprocessor(config.block, config.shared_bytes)?;
            let all = Device::current()?.attribute(sys::cudaDevAttrMultiProcessorCount)?;
            Ok(u64::from(each) * u64::try_from(all).unwrap_or(0))
        };
        let Ok(limit) = fitting() else { return error };
        let asked = u64::try_from(config.grid.count()).unwrap_or(u64::MAX);
        error.with_detail(Detail::Limit {
            what: "the number of blocks that wait for each other",
            asked,
            limit,
        })
    }

    /// The outcome of a launch; where the runtime refused, with the number that is too large for this kernel if it is that.
    #[cold]
    fn launched<W: Way>(
        &self,
        way: W,
        code: sys::cudaError_t,
        config: &LaunchConfig,
        device: Device,
        place: &'static Location<'static>,
    ) -> Result<()> {
        if code == sys::cudaSuccess {
            return Ok(());
        }
        // What the error tells of the kernel and its limits is of the device that was to run it.
        let _current = device.switch();
        Err(self.failed(W::API, code, config, way.attributes(), place))
    }

    /// The error of a launch that the runtime refused.
    fn failed(
        &self,
        api: &'static str,
        code: sys::cudaError_t,
        config: &LaunchConfig,
        extended: Option<&LaunchAttributes<'_>>,
        place: &'static Location<'static>,
    ) -> Error {
        let error = Error::from_code(api, code).at(place);
        if error.is_sticky() {
            return error;
        }
        let Ok(attributes) = attributes::of(self.as_raw()) else { return error };
        let threads = config.block.count();
        let most = u128::from(attributes.max_threads_per_block());
        if threads > most {
            let asked = u64::try_from(threads).unwrap_or(u64::MAX);
            let limit = u64::from(attributes.max_threads_per_block());
            return error.with_detail(Detail::Limit {
                what: "the number of threads of a block",
                asked,
                limit,
            });
        }
        let limit = attributes.max_dynamic_shared_bytes();
        if config.shared_bytes > limit {
            return error.with_detail(attributes.dynamic_shared(config.shared_bytes));
        }
        if error.code() == sys::cudaErrorCooperativeLaunchTooLarge {
            return self.too_many_at_once(error, config);
        }
        match self.clusters_refused(config, extended, &attributes) {
            Some(detail) => error.with_detail(detail),
            None => error,
        }
    }

    /// What is wrong with the clusters of a launch that was refused, if it is that.
    fn clusters_refused(
        &self,
        config: &LaunchConfig,
        extended: Option<&LaunchAttributes<'_>>,
        attributes: &KernelAttributes,
    ) -> Option<Detail> {
        let declared = attributes.required_cluster();
        let cluster: Dim3 = extended.and_then(LaunchAttributes::clusters).or(declared)?;
        if let Some(declared) = declared
            && declared != cluster
        {
            return Some(Detail::OtherClusters { asked: cluster.into(), declared: declared.into() });
        }
        if let Some(detail) = undivided(config.grid, cluster) {
            return Some(detail);
        }
        let asked = u64::try_from(cluster.count()).unwrap_or(u64::MAX);
        let none = LaunchAttributes::new();
        let most = self.max_potential_cluster_size(*config, extended.unwrap_or(&none)).map(u64::from);
        let portable = !attributes.non_portable_clusters();
        let allowed = if portable { PORTABLE } else { u64::MAX };
        let limit = most.unwrap_or(u64::MAX).min(allowed);
        (asked > limit).then_some(Detail::ClusterSize { asked, limit, portable })
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

impl<P> Clone for Kernel<P> {
    fn clone(&self) -> Self {
        Self { held: self.held.clone(), ..*self }
    }
}

impl<P> fmt::Debug for Kernel<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({}{})", self.name, std::any::type_name::<P>())
    }
}

/// Where a `Kernel` is also a `static`, threads share it: names, and counts made for that.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Kernel<(*mut f32, u32)>>();
};

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
