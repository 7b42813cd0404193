//! Execution contexts: a device, or a part of its multiprocessors (a green context), as a place for streams.
//!
//! Kernels on a stream of a green context run only on its multiprocessors, so work that must not wait keeps a
//! part of the device for itself. Memory, events and kernels are those of the device: nothing is allocated
//! twice. [`SmResource::split`] divides the multiprocessors, [`ExecutionContext::green`] makes a context of a
//! part, and [`ExecutionContext::stream`] a stream in it.
//!
//! [`ExecutionContext::synchronize`] blocks, and so does the drop of the last owner of a green context, which
//! each of its streams is, too. Everything here may be used from any thread.
#![expect(unsafe_code, reason = "calls the runtime's functions for execution contexts")]

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use super::event::Event;
use super::foreign::ForeignStream;
use super::recorder;
use super::view::StreamRef;
use crate::busy;
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::{callback, check, process, sys, thread_state};

/// Multiprocessors of a device (C's `cudaDevResource`): all of them, those of a context or a stream, or a
/// part of a split.
#[derive(Clone, Copy)]
pub struct SmResource {
    raw: sys::cudaDevResource,
    device: Device,
}

/// One part of [`SmResource::split`]: C's `cudaDevSmResourceGroupParams`. Numbers that are 0 are chosen by
/// the runtime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SmGroup {
    /// The number of multiprocessors. 0 takes as many as fit the other numbers.
    pub count: u32,
    /// The number of multiprocessors that can run one cluster.
    pub coscheduled: u32,
    /// The preferred number of these.
    pub preferred_coscheduled: u32,
    /// Whether other multiprocessors fill up the part if too few can run a cluster.
    pub backfill: bool,
}

/// An empty resource, for the runtime to fill.
fn empty() -> sys::cudaDevResource {
    sys::cudaDevResource { nextResource: std::ptr::null_mut(), ..Default::default() }
}

impl SmResource {
    /// Returns the resource that a call has filled, or `None` if it has no multiprocessors.
    fn filled(raw: sys::cudaDevResource, device: Device) -> Option<Self> {
        (raw.type_ == sys::cudaDevResourceTypeSm).then_some(Self { raw, device })
    }

    fn sm(&self) -> sys::cudaDevSmResource {
        // SAFETY: every value of this type is a resource of multiprocessors, for which this member is set.
        unsafe { self.raw.__bindgen_anon_1.sm }
    }

    /// Returns the number of multiprocessors.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.sm().smCount
    }

    /// Returns the smallest number of multiprocessors of a part.
    #[must_use]
    pub fn min_partition_size(&self) -> u32 {
        self.sm().minSmPartitionSize
    }

    /// Returns the number of multiprocessors of each group that can run a cluster.
    #[must_use]
    pub fn coscheduled_alignment(&self) -> u32 {
        self.sm().smCoscheduledAlignment
    }

    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Splits the multiprocessors into parts as described, in this order. Also returns the rest, if any.
    ///
    /// Stands for [`cudaDevSmResourceSplit`](sys::cudaDevSmResourceSplit).
    ///
    /// # Errors
    /// - `Argument` without groups.
    /// - The runtime's error for parts that do not fit, and for resources that are no longer valid.
    /// - Refused inside a host function.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::stream::{ExecutionContext, SmGroup};
    /// use cuda_safe::{Device, DeviceBuffer, memset_async};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let all = Device::current()?.sm_resource()?;
    /// let urgent = SmGroup { count: all.min_partition_size(), ..SmGroup::default() };
    /// let (parts, rest) = all.split(&[urgent])?;
    /// let urgent = ExecutionContext::green(&parts)?.stream(0)?;
    /// let mut buffer = DeviceBuffer::<u8>::alloc(1 << 10)?;
    /// memset_async(&mut buffer, 1, &urgent)?;
    /// urgent.synchronize()?;
    /// println!("{} multiprocessors are left", rest.map_or(0, |rest| rest.count()));
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaDevSmResourceSplit")]
    #[track_caller]
    pub fn split(&self, groups: &[SmGroup]) -> Result<(Vec<Self>, Option<Self>)> {
        let api = "SmResource::split";
        busy::ensure_idle(api)?;
        if groups.is_empty() {
            return Err(Error::refused(api, Detail::zero("the number of parts")));
        }
        let backfill = sys::cudaDevSmResourceGroupBackfill.0;
        let parameters = |group: &SmGroup| sys::cudaDevSmResourceGroupParams {
            smCount: group.count,
            coscheduledSmCount: group.coscheduled,
            preferredCoscheduledSmCount: group.preferred_coscheduled,
            flags: if group.backfill { backfill } else { 0 },
            ..Default::default()
        };
        let mut parameters: Vec<_> = groups.iter().map(parameters).collect();
        let (mut parts, mut rest) = (vec![empty(); groups.len()], empty());
        let (count, input) = (u32::try_from(groups.len()).unwrap_or(u32::MAX), &raw const self.raw);
        let (to, rest_to, how) = (parts.as_mut_ptr(), &raw mut rest, parameters.as_mut_ptr());
        // SAFETY: both lists have `count` entries, and the other pointers are to live variables. The flags
        // must be 0.
        unsafe { check!(cudaDevSmResourceSplit(to, count, input, rest_to, 0, how)) }?;
        Ok(self.parted(parts, rest))
    }

    /// Splits the multiprocessors into at most `groups` equal parts of at least `min_count`. Also returns the
    /// rest, if any.
    ///
    /// Stands for [`cudaDevSmResourceSplitByCount`](sys::cudaDevSmResourceSplitByCount).
    ///
    /// # Errors
    /// Those of [`split`](Self::split).
    #[doc(alias = "cudaDevSmResourceSplitByCount")]
    #[track_caller]
    pub fn split_by_count(&self, groups: u32, min_count: u32) -> Result<(Vec<Self>, Option<Self>)> {
        let api = "SmResource::split_by_count";
        busy::ensure_idle(api)?;
        if groups == 0 {
            return Err(Error::refused(api, Detail::zero("the number of parts")));
        }
        // There are never more parts than multiprocessors.
        let groups = groups.min(self.count());
        let (mut parts, mut rest) = (vec![empty(); usize::try_from(groups).unwrap_or(0)], empty());
        let (mut made, input) = (groups, &raw const self.raw);
        let (to, rest_to) = (parts.as_mut_ptr(), &raw mut rest);
        // SAFETY: the list has as many entries as `made` says, and the other pointers are to live variables.
        // The flags are 0.
        unsafe { check!(cudaDevSmResourceSplitByCount(to, &raw mut made, input, rest_to, 0, min_count)) }?;
        parts.truncate(usize::try_from(made).unwrap_or(0));
        Ok(self.parted(parts, rest))
    }

    fn parted(
        &self,
        parts: Vec<sys::cudaDevResource>,
        rest: sys::cudaDevResource,
    ) -> (Vec<Self>, Option<Self>) {
        let filled = |raw| Self::filled(raw, self.device);
        (parts.into_iter().filter_map(filled).collect(), filled(rest))
    }
}

// SAFETY: the structure is a description. Its pointer is null: `empty`, and the runtime links only what it is
// given together.
unsafe impl Send for SmResource {}
// SAFETY: the structure is a description. Its pointer is null: `empty`, and the runtime links only what it is
// given together.
unsafe impl Sync for SmResource {}

impl fmt::Debug for SmResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SmResource").field("device", &self.device).field("count", &self.count()).finish()
    }
}

/// A device or a green context, as a place for streams. Clones denote the same context.
///
/// A green context ends when its last owner is dropped, after its work; its streams are owners, too.
#[derive(Clone, Debug)]
pub struct ExecutionContext(Arc<Context>);

#[derive(Debug)]
struct Context {
    raw: sys::cudaExecutionContext_t,
    device: Device,
    is_green: bool,
    process: u32,
}

// SAFETY: the handle is a name that the runtime accepts on any thread.
unsafe impl Send for Context {}
// SAFETY: the handle is a name that the runtime accepts on any thread. The runtime serializes its calls.
unsafe impl Sync for Context {}

impl Device {
    /// Returns the multiprocessors of the device.
    ///
    /// Stands for [`cudaDeviceGetDevResource`](sys::cudaDeviceGetDevResource), since CUDA 13.1.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaDeviceGetDevResource")]
    #[track_caller]
    pub fn sm_resource(self) -> Result<SmResource> {
        let api = "Device::sm_resource";
        busy::ensure_idle(api)?;
        let (mut raw, kind) = (empty(), sys::cudaDevResourceTypeSm);
        // SAFETY: the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaDeviceGetDevResource(self.as_raw(), &raw mut raw, kind)) }?;
        found(api, raw, self)
    }

    /// Returns the context of the whole device, in which all other streams are.
    ///
    /// Stands for [`cudaDeviceGetExecutionCtx`](sys::cudaDeviceGetExecutionCtx), since CUDA 13.1.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaDeviceGetExecutionCtx")]
    #[track_caller]
    pub fn execution_context(self) -> Result<ExecutionContext> {
        busy::ensure_idle("Device::execution_context")?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaDeviceGetExecutionCtx(&raw mut raw, self.as_raw())) }?;
        let process = process::number();
        Ok(ExecutionContext(Arc::new(Context { raw, device: self, is_green: false, process })))
    }
}

/// Returns the resource of a query.
#[track_caller]
fn found(api: &'static str, raw: sys::cudaDevResource, device: Device) -> Result<SmResource> {
    match SmResource::filled(raw, device) {
        Some(resource) => Ok(resource),
        None => Err(Error::refused(api, Detail::zero("the number of multiprocessors"))),
    }
}

impl ExecutionContext {
    /// Makes a green context with these multiprocessors, all of one device.
    ///
    /// Stands for [`cudaDevResourceGenerateDesc`](sys::cudaDevResourceGenerateDesc) and
    /// [`cudaGreenCtxCreate`](sys::cudaGreenCtxCreate), since CUDA 13.1.
    ///
    /// # Errors
    /// - `Argument` without resources; `Device` if they are of several devices.
    /// - The runtime's error, for example for parts of different splits.
    /// - Refused inside a host function.
    #[doc(alias = "cudaDevResourceGenerateDesc")]
    #[doc(alias = "cudaGreenCtxCreate")]
    #[doc(alias = "cudaExecutionCtxDestroy")]
    #[track_caller]
    pub fn green(resources: &[SmResource]) -> Result<Self> {
        let api = "ExecutionContext::green";
        busy::ensure_idle(api)?;
        let [SmResource { device, .. }, ..] = *resources else {
            return Err(Error::refused(api, Detail::zero("the number of resources")));
        };
        for resource in resources {
            resource.device.ensure_is(device, api, "a resource")?;
        }
        let mut list: Vec<_> = resources.iter().map(|resource| resource.raw).collect();
        let (mut description, mut raw) = (std::ptr::null_mut(), std::ptr::null_mut());
        let (count, to) = (u32::try_from(list.len()).unwrap_or(u32::MAX), &raw mut description);
        // SAFETY: there are `count` resources, and the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaDevResourceGenerateDesc(to, list.as_mut_ptr(), count)) }?;
        // SAFETY: there are `count` resources, and the pointer is to a live variable, which the call fills.
        // The description is from the call before, and the flags must be 0.
        unsafe { check!(cudaGreenCtxCreate(&raw mut raw, description, device.as_raw(), 0)) }?;
        Ok(Self(Arc::new(Context { raw, device, is_green: true, process: process::number() })))
    }

    /// Makes a stream in this context, which it keeps alive. It does not wait for the legacy stream, if the
    /// context is green.
    ///
    /// Stands for [`cudaExecutionCtxStreamCreate`](sys::cudaExecutionCtxStreamCreate) with
    /// `cudaStreamNonBlocking`. Priorities are those of
    /// [`Device::stream_priority_range`](crate::Device::stream_priority_range); 0 is the least.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaExecutionCtxStreamCreate")]
    #[track_caller]
    pub fn stream(&self, priority: i32) -> Result<ForeignStream> {
        busy::ensure_idle("ExecutionContext::stream")?;
        let (mut raw, flags) = (std::ptr::null_mut(), sys::cudaStreamNonBlocking);
        // SAFETY: the context lives as long as the borrow. The pointer is to a live variable.
        unsafe { check!(cudaExecutionCtxStreamCreate(&raw mut raw, self.0.raw, flags, priority)) }?;
        let keeper = Made { raw: raw.expose_provenance(), context: self.clone() };
        // SAFETY: the stream was made just now, on this device. The keeper destroys it.
        unsafe { ForeignStream::adopt(raw, self.device(), keeper) }
    }

    /// Blocks until all streams of the context have completed everything submitted so far.
    ///
    /// Stands for [`cudaExecutionCtxSynchronize`](sys::cudaExecutionCtxSynchronize).
    ///
    /// # Errors
    /// Returns the failure of any work that the device has run since the last check. Refused inside a host
    /// function, and while the thread makes a capture.
    #[doc(alias = "cudaExecutionCtxSynchronize")]
    #[track_caller]
    pub fn synchronize(&self) -> Result<()> {
        busy::ensure_idle("ExecutionContext::synchronize")?;
        recorder::ensure_none("ExecutionContext::synchronize")?;
        // SAFETY: the context lives as long as the borrow.
        unsafe { check!(cudaExecutionCtxSynchronize(self.0.raw)) }
    }

    /// Records an event that stands for everything submitted to the context so far, on any stream.
    ///
    /// Stands for [`cudaExecutionCtxRecordEvent`](sys::cudaExecutionCtxRecordEvent). The tracker does not
    /// know which streams that are: a wait for the event proves nothing to it, and conflicts are ordered as
    /// ever.
    ///
    /// # Errors
    /// - `Device` if the event belongs to another device.
    /// - The runtime's error. Refused inside a host function, and while the thread makes a capture.
    #[doc(alias = "cudaExecutionCtxRecordEvent")]
    #[track_caller]
    pub fn record(&self, event: &Event) -> Result<()> {
        let api = "ExecutionContext::record";
        busy::ensure_idle(api)?;
        recorder::ensure_none(api)?;
        event.device().ensure_is(self.device(), api, "the event")?;
        // SAFETY: context and event live as long as the borrows.
        let record = || unsafe { check!(cudaExecutionCtxRecordEvent(self.0.raw, event.as_raw())) };
        let call_site = Location::caller();
        event.shared().record_unknown(record).map_err(|error| error.at(call_site))
    }

    /// Makes all later work of the context, on any stream, wait for the work that the event stands for. Does
    /// not block. The tracker does not rely on that order.
    ///
    /// Stands for [`cudaExecutionCtxWaitEvent`](sys::cudaExecutionCtxWaitEvent).
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function, and while the thread makes a capture.
    #[doc(alias = "cudaExecutionCtxWaitEvent")]
    #[track_caller]
    pub fn wait(&self, event: &Event) -> Result<()> {
        let api = "ExecutionContext::wait";
        busy::ensure_idle(api)?;
        recorder::ensure_none(api)?;
        // SAFETY: context and event live as long as the borrows.
        unsafe { check!(cudaExecutionCtxWaitEvent(self.0.raw, event.as_raw())) }
    }

    /// Returns the multiprocessors of the context.
    ///
    /// Stands for [`cudaExecutionCtxGetDevResource`](sys::cudaExecutionCtxGetDevResource).
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaExecutionCtxGetDevResource")]
    #[track_caller]
    pub fn sm_resource(&self) -> Result<SmResource> {
        let api = "ExecutionContext::sm_resource";
        busy::ensure_idle(api)?;
        let (mut raw, kind) = (empty(), sys::cudaDevResourceTypeSm);
        // SAFETY: the context lives as long as the borrow. The pointer is to a live variable.
        unsafe { check!(cudaExecutionCtxGetDevResource(self.0.raw, &raw mut raw, kind)) }?;
        found(api, raw, self.device())
    }

    /// Returns a number that no other context of the process has or will have.
    ///
    /// Stands for [`cudaExecutionCtxGetId`](sys::cudaExecutionCtxGetId).
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaExecutionCtxGetId")]
    #[track_caller]
    pub fn id(&self) -> Result<u64> {
        busy::ensure_idle("ExecutionContext::id")?;
        let mut id = 0;
        // SAFETY: the context lives as long as the borrow. The pointer is to a live integer.
        unsafe { check!(cudaExecutionCtxGetId(self.0.raw, &raw mut id)) }?;
        Ok(id)
    }

    /// Returns the device. Makes no CUDA call.
    #[doc(alias = "cudaExecutionCtxGetDevice")]
    #[must_use]
    pub fn device(&self) -> Device {
        self.0.device
    }

    /// Returns the raw handle. This value retains ownership of it.
    #[must_use]
    pub fn as_raw(&self) -> sys::cudaExecutionContext_t {
        self.0.raw
    }
}

impl Drop for Context {
    /// Waits for the context's work, because it is unknown what would become of that.
    fn drop(&mut self) {
        if self.is_green && process::is(self.process) {
            destroy(self.raw.expose_provenance());
        }
    }
}

/// Destroys a green context, now or, inside a host function or an operation, later.
fn destroy(raw: usize) {
    if !thread_state::is_idle() {
        callback::defer(Box::new(move || destroy(raw)));
        return;
    }
    let raw: sys::cudaExecutionContext_t = std::ptr::with_exposed_provenance_mut(raw);
    // SAFETY: the runtime has made the handle, and nobody else has it any more.
    let _ = unsafe { check!(cudaExecutionCtxSynchronize(raw)) };
    // SAFETY: the runtime has made the handle, and nobody else has it any more.
    let _ = unsafe { check!(cudaExecutionCtxDestroy(raw)) };
}

/// A stream of a context. `ForeignStream` drops it when the tracker no longer uses the handle.
struct Made {
    raw: usize,
    context: ExecutionContext,
}

impl Drop for Made {
    fn drop(&mut self) {
        if process::is(self.context.0.process) {
            // SAFETY: the context has made the stream, and only this destroys it. Pending work still runs.
            let _ = unsafe { check!(cudaStreamDestroy(std::ptr::with_exposed_provenance_mut(self.raw))) };
        }
    }
}

impl StreamRef<'_> {
    /// Returns the multiprocessors on which the stream's kernels run.
    ///
    /// Stands for [`cudaStreamGetDevResource`](sys::cudaStreamGetDevResource), since CUDA 13.1.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaStreamGetDevResource")]
    #[track_caller]
    pub fn sm_resource(&self) -> Result<SmResource> {
        let api = "StreamRef::sm_resource";
        busy::ensure_idle(api)?;
        let _current = self.switch()?;
        let (mut raw, kind) = (empty(), sys::cudaDevResourceTypeSm);
        // SAFETY: the stream lives as long as the view. The pointer is to a live variable.
        unsafe { check!(cudaStreamGetDevResource(self.as_raw(), &raw mut raw, kind)) }?;
        found(api, raw, self.device())
    }
}
