//! Attributes of streams, which apply to work that is submitted after they are set.
//!
//! An attribute belongs to the stream's handle, and a new stream may reuse the handle of a dropped one.
//! Before a handle whose attributes were set is reused, it gets the attributes of an untouched stream.
//!
//! # Examples
//! ```
//! use cuda_safe::stream::{AccessPolicy, AccessProperty, SyncPolicy};
//! use cuda_safe::{DeviceBuffer, Stream};
//!
//! # fn main() -> cuda_safe::Result<()> {
//! let (stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
//! stream.set_sync_policy(SyncPolicy::BLOCKING_SYNC)?; // who waits for it sleeps
//! let table = DeviceBuffer::<f32>::alloc(1000)?;
//! let stays = AccessPolicy::new(&table.slice(..)?, 1.0, AccessProperty::Persisting, AccessProperty::Normal);
//! stream.set_access_policy(Some(stays))?;
//! other.copy_attributes_from(&stream)?;
//! assert_eq!(other.sync_policy()?, SyncPolicy::BLOCKING_SYNC);
//! stream.set_access_policy(None)?;
//! # other.set_access_policy(None)?;
//! stream.device().reset_persisting_l2_cache()?;
//! # Ok(())
//! # }
//! ```
#![expect(unsafe_code, reason = "calls the runtime's functions for attributes of streams")]

use std::marker::PhantomData;

use super::owned::Stream;
use super::renewal;
use super::view::{AsStream, StreamRef};
use crate::busy;
use crate::error::Result;
use crate::memory::DeviceSlice;
use crate::{check, sys};

/// How a thread waits for a stream: one of the constants, or a value of a newer runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "cudaSynchronizationPolicy")]
pub struct SyncPolicy(sys::cudaSynchronizationPolicy);

impl SyncPolicy {
    /// The runtime chooses.
    #[doc(alias = "cudaSyncPolicyAuto")]
    pub const AUTO: Self = Self(sys::cudaSyncPolicyAuto);
    /// The thread spins.
    #[doc(alias = "cudaSyncPolicySpin")]
    pub const SPIN: Self = Self(sys::cudaSyncPolicySpin);
    /// The thread yields its core between polls.
    #[doc(alias = "cudaSyncPolicyYield")]
    pub const YIELD: Self = Self(sys::cudaSyncPolicyYield);
    /// The thread sleeps until the device wakes it.
    #[doc(alias = "cudaSyncPolicyBlockingSync")]
    pub const BLOCKING_SYNC: Self = Self(sys::cudaSyncPolicyBlockingSync);

    /// Returns C's number.
    #[must_use]
    pub fn as_raw(self) -> sys::cudaSynchronizationPolicy {
        self.0
    }
}

/// How likely accessed data is to stay in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias = "cudaAccessProperty")]
pub enum AccessProperty {
    /// As likely as other data.
    Normal,
    /// Less likely than other data.
    Streaming,
    /// More likely than other data.
    Persisting,
}

impl AccessProperty {
    fn to_raw(self) -> sys::cudaAccessProperty {
        match self {
            Self::Normal => sys::cudaAccessPropertyNormal,
            Self::Streaming => sys::cudaAccessPropertyStreaming,
            Self::Persisting => sys::cudaAccessPropertyPersisting,
        }
    }
}

/// A range of memory whose cache lines are to persist, or to be evicted soon. It is a hint and may name
/// any addresses.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "cudaAccessPolicyWindow")]
pub struct AccessPolicy<'a> {
    raw: sys::cudaAccessPolicyWindow,
    memory: PhantomData<&'a ()>,
}

impl<'a> AccessPolicy<'a> {
    /// Makes a policy for accesses to `memory`. A fraction `hit_ratio` of them, from 0 to 1, has the
    /// property `hit`, and the others have `miss`, which must not be `Persisting`.
    #[must_use]
    pub fn new<T>(
        memory: &DeviceSlice<'a, T>,
        hit_ratio: f32,
        hit: AccessProperty,
        miss: AccessProperty,
    ) -> Self {
        let raw = sys::cudaAccessPolicyWindow {
            base_ptr: memory.as_ptr().cast_mut().cast(),
            num_bytes: memory.size_in_bytes(),
            hitRatio: hit_ratio,
            hitProp: hit.to_raw(),
            missProp: miss.to_raw(),
        };
        Self { raw, memory: PhantomData }
    }

    /// Returns C's window.
    pub(crate) fn as_raw(&self) -> sys::cudaAccessPolicyWindow {
        self.raw
    }
}

/// A memory synchronization domain of kernels: one of the constants, or a value of a newer runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "cudaLaunchMemSyncDomain")]
pub struct MemSyncDomain(sys::cudaLaunchMemSyncDomain);

impl MemSyncDomain {
    /// The domain of kernels by default.
    #[doc(alias = "cudaLaunchMemSyncDomainDefault")]
    pub const DEFAULT: Self = Self(sys::cudaLaunchMemSyncDomainDefault);
    /// The domain for kernels that write to other devices, so that their slow writes do not delay other
    /// kernels.
    #[doc(alias = "cudaLaunchMemSyncDomainRemote")]
    pub const REMOTE: Self = Self(sys::cudaLaunchMemSyncDomainRemote);

    /// Returns C's number.
    pub(crate) fn as_raw(self) -> sys::cudaLaunchMemSyncDomain {
        self.0
    }
}

/// Maps the two logical domains of [`MemSyncDomain`] to domains of the device, which has as many as
/// `cudaDevAttrMemSyncDomainCount` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "cudaLaunchMemSyncDomainMap")]
pub struct MemSyncDomainMap {
    /// The device's domain for [`MemSyncDomain::DEFAULT`].
    pub default: u8,
    /// The device's domain for [`MemSyncDomain::REMOTE`].
    pub remote: u8,
}

impl MemSyncDomainMap {
    /// Returns C's structure.
    pub(crate) fn as_raw(self) -> sys::cudaLaunchMemSyncDomainMap {
        sys::cudaLaunchMemSyncDomainMap { default_: self.default, remote: self.remote }
    }
}

/// A launch attribute of streams, launches or nodes of graphs: its id, and C's union with the member that the
/// id determines.
#[derive(Clone, Copy)]
pub(crate) struct Attribute {
    pub(crate) id: sys::cudaLaunchAttributeID,
    pub(crate) value: sys::cudaLaunchAttributeValue,
}

impl Attribute {
    /// Returns the attribute as an entry of a launch's list.
    pub(crate) fn to_raw(self) -> sys::cudaLaunchAttribute {
        sys::cudaLaunchAttribute { id: self.id, pad: [0; 4], val: self.value }
    }

    pub(crate) fn priority(priority: i32) -> Self {
        let value = sys::cudaLaunchAttributeValue { priority };
        Self { id: sys::cudaLaunchAttributePriority, value }
    }

    pub(super) fn sync_policy(policy: SyncPolicy) -> Self {
        let value = sys::cudaLaunchAttributeValue { syncPolicy: policy.as_raw() };
        Self { id: sys::cudaLaunchAttributeSynchronizationPolicy, value }
    }

    /// `None` ends the policy of a stream.
    pub(crate) fn access_policy(policy: Option<&AccessPolicy<'_>>) -> Self {
        let window = policy.map_or_else(Default::default, AccessPolicy::as_raw);
        let value = sys::cudaLaunchAttributeValue { accessPolicyWindow: window };
        Self { id: sys::cudaLaunchAttributeAccessPolicyWindow, value }
    }

    pub(crate) fn mem_sync_domain(domain: MemSyncDomain) -> Self {
        let value = sys::cudaLaunchAttributeValue { memSyncDomain: domain.as_raw() };
        Self { id: sys::cudaLaunchAttributeMemSyncDomain, value }
    }

    pub(crate) fn mem_sync_domain_map(map: MemSyncDomainMap) -> Self {
        let value = sys::cudaLaunchAttributeValue { memSyncDomainMap: map.as_raw() };
        Self { id: sys::cudaLaunchAttributeMemSyncDomainMap, value }
    }

    /// Clusters of this many blocks along each axis.
    pub(crate) fn cluster([x, y, z]: [u32; 3]) -> Self {
        let mut value = sys::cudaLaunchAttributeValue { pad: [0; 64] };
        (value.clusterDim.x, value.clusterDim.y, value.clusterDim.z) = (x, y, z);
        Self { id: sys::cudaLaunchAttributeClusterDimension, value }
    }

    pub(crate) fn cluster_scheduling(policy: sys::cudaClusterSchedulingPolicy) -> Self {
        let value = sys::cudaLaunchAttributeValue { clusterSchedulingPolicyPreference: policy };
        Self { id: sys::cudaLaunchAttributeClusterSchedulingPolicyPreference, value }
    }

    pub(crate) fn cooperative() -> Self {
        let value = sys::cudaLaunchAttributeValue { cooperative: 1 };
        Self { id: sys::cudaLaunchAttributeCooperative, value }
    }

    #[cfg(cudart_12_9)]
    pub(crate) fn shared_carveout(percent: u32) -> Self {
        let value = sys::cudaLaunchAttributeValue { sharedMemCarveout: percent };
        Self { id: sys::cudaLaunchAttributePreferredSharedMemoryCarveout, value }
    }

    pub(crate) fn programmatic_stream_serialization() -> Self {
        let value = sys::cudaLaunchAttributeValue { programmaticStreamSerializationAllowed: 1 };
        Self { id: sys::cudaLaunchAttributeProgrammaticStreamSerialization, value }
    }
}

impl StreamRef<'_> {
    /// Returns how a thread waits for this stream.
    ///
    /// Stands for [`cudaStreamGetAttribute`](sys::cudaStreamGetAttribute) with
    /// `cudaLaunchAttributeSynchronizationPolicy`. Before the first set, the result may be a number
    /// without a name.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaStreamGetAttribute")]
    #[track_caller]
    pub fn sync_policy(&self) -> Result<SyncPolicy> {
        let found =
            self.attribute("StreamRef::sync_policy", sys::cudaLaunchAttributeSynchronizationPolicy)?;
        // SAFETY: the attribute determines which member of the union the runtime has filled, and that
        // member is a number.
        Ok(SyncPolicy(unsafe { found.syncPolicy }))
    }

    /// Sets how a thread waits for this stream.
    ///
    /// Stands for [`cudaStreamSetAttribute`](sys::cudaStreamSetAttribute) with
    /// `cudaLaunchAttributeSynchronizationPolicy`.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaStreamSetAttribute")]
    #[track_caller]
    pub fn set_sync_policy(&self, policy: SyncPolicy) -> Result<()> {
        self.set_attribute("StreamRef::set_sync_policy", Attribute::sync_policy(policy))
    }

    /// Sets how kernels submitted after this call cache a range of memory. `None` removes the setting.
    ///
    /// Stands for [`cudaStreamSetAttribute`](sys::cudaStreamSetAttribute) with
    /// `cudaLaunchAttributeAccessPolicyWindow`. The setting is a hint to the cache by address and
    /// accesses no memory, so the memory may be freed before.
    ///
    /// # Errors
    /// - `cudaErrorInvalidValue` for more bytes than `cudaDevAttrMaxAccessPolicyWindowSize`, for a ratio
    ///   outside of 0 to 1, and for persisting misses.
    /// - Refused inside a host function.
    #[doc(alias = "cudaStreamSetAttribute")]
    #[doc(alias = "cudaAccessPolicyWindow")]
    #[track_caller]
    pub fn set_access_policy(&self, policy: Option<AccessPolicy<'_>>) -> Result<()> {
        self.set_attribute("StreamRef::set_access_policy", Attribute::access_policy(policy.as_ref()))
    }

    /// Returns the address and the size in bytes of the range with an access policy, or `None` if no
    /// policy is set.
    ///
    /// Stands for [`cudaStreamGetAttribute`](sys::cudaStreamGetAttribute) with
    /// `cudaLaunchAttributeAccessPolicyWindow`.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaStreamGetAttribute")]
    #[track_caller]
    pub fn access_policy_window(&self) -> Result<Option<(usize, usize)>> {
        let id = sys::cudaLaunchAttributeAccessPolicyWindow;
        let found = self.attribute("StreamRef::access_policy_window", id)?;
        // SAFETY: the attribute determines which member of the union the runtime has filled, and that
        // member holds numbers and an address.
        let window = unsafe { found.accessPolicyWindow };
        Ok((window.num_bytes > 0).then(|| (window.base_ptr.addr(), window.num_bytes)))
    }

    /// Sets the priority of kernels that are submitted after this call. A smaller number is a higher
    /// priority.
    ///
    /// Stands for [`cudaStreamSetAttribute`](sys::cudaStreamSetAttribute) with `cudaLaunchAttributePriority`.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaStreamSetAttribute")]
    #[track_caller]
    pub fn set_priority(&self, priority: i32) -> Result<()> {
        self.set_attribute("StreamRef::set_priority", Attribute::priority(priority))
    }

    /// Returns the memory synchronization domain of the stream's kernels.
    ///
    /// Stands for [`cudaStreamGetAttribute`](sys::cudaStreamGetAttribute) with
    /// `cudaLaunchAttributeMemSyncDomain`.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaStreamGetAttribute")]
    #[track_caller]
    pub fn mem_sync_domain(&self) -> Result<MemSyncDomain> {
        let found = self.attribute("StreamRef::mem_sync_domain", sys::cudaLaunchAttributeMemSyncDomain)?;
        // SAFETY: the attribute determines which member of the union the runtime has filled, and that
        // member is a number.
        Ok(MemSyncDomain(unsafe { found.memSyncDomain }))
    }

    /// Sets the memory synchronization domain of kernels that are submitted after this call.
    ///
    /// Stands for [`cudaStreamSetAttribute`](sys::cudaStreamSetAttribute) with
    /// `cudaLaunchAttributeMemSyncDomain`.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaStreamSetAttribute")]
    #[track_caller]
    pub fn set_mem_sync_domain(&self, domain: MemSyncDomain) -> Result<()> {
        self.set_attribute("StreamRef::set_mem_sync_domain", Attribute::mem_sync_domain(domain))
    }

    /// Returns the device's domains for the stream's two logical domains.
    ///
    /// Stands for [`cudaStreamGetAttribute`](sys::cudaStreamGetAttribute) with
    /// `cudaLaunchAttributeMemSyncDomainMap`.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaStreamGetAttribute")]
    #[track_caller]
    pub fn mem_sync_domain_map(&self) -> Result<MemSyncDomainMap> {
        let id = sys::cudaLaunchAttributeMemSyncDomainMap;
        let found = self.attribute("StreamRef::mem_sync_domain_map", id)?;
        // SAFETY: the attribute determines which member of the union the runtime has filled, and that
        // member holds numbers.
        let map = unsafe { found.memSyncDomainMap };
        Ok(MemSyncDomainMap { default: map.default_, remote: map.remote })
    }

    /// Sets the device's domains for the stream's two logical domains.
    ///
    /// Stands for [`cudaStreamSetAttribute`](sys::cudaStreamSetAttribute) with
    /// `cudaLaunchAttributeMemSyncDomainMap`.
    ///
    /// # Errors
    /// Returns `cudaErrorInvalidValue` for a domain that the device does not have. Refused inside a host
    /// function.
    #[doc(alias = "cudaStreamSetAttribute")]
    #[track_caller]
    pub fn set_mem_sync_domain_map(&self, map: MemSyncDomainMap) -> Result<()> {
        self.set_attribute("StreamRef::set_mem_sync_domain_map", Attribute::mem_sync_domain_map(map))
    }

    /// Copies the attributes of another stream of the same device to this one.
    ///
    /// Stands for [`cudaStreamCopyAttributes`](sys::cudaStreamCopyAttributes).
    ///
    /// # Errors
    /// Returns `Device` for a stream of another device. Refused inside a host function.
    #[doc(alias = "cudaStreamCopyAttributes")]
    #[track_caller]
    pub fn copy_attributes_from(&self, source: &impl AsStream) -> Result<()> {
        let api = "StreamRef::copy_attributes_from";
        busy::ensure_idle(api)?;
        let source = source.as_stream();
        source.device().ensure_is(self.device(), api, "the other stream")?;
        let _current = self.device().switch()?;
        renewal::touch(self.device(), self.as_raw());
        // SAFETY: both streams live as long as their views.
        unsafe { check!(cudaStreamCopyAttributes(self.as_raw(), source.as_raw())) }
    }

    #[track_caller]
    fn attribute(
        &self,
        api: &'static str,
        id: sys::cudaLaunchAttributeID,
    ) -> Result<sys::cudaLaunchAttributeValue> {
        busy::ensure_idle(api)?;
        let _current = self.switch()?;
        let mut value = sys::cudaLaunchAttributeValue { pad: [0; 64] };
        // SAFETY: the stream lives as long as the view. The pointer is to a live union, which the call
        // fills.
        unsafe { check!(cudaStreamGetAttribute(self.as_raw(), id, &raw mut value)) }?;
        Ok(value)
    }

    #[track_caller]
    fn set_attribute(&self, api: &'static str, Attribute { id, value }: Attribute) -> Result<()> {
        busy::ensure_idle(api)?;
        let _current = self.switch()?;
        renewal::touch(self.device(), self.as_raw());
        // SAFETY: the stream lives as long as the view. The pointer is to a live union whose member for
        // this attribute is set.
        unsafe { check!(cudaStreamSetAttribute(self.as_raw(), id, &raw const value)) }
    }
}

/// Implements methods of [`StreamRef`] for [`Stream`].
macro_rules! forward {
    ($(fn $name:ident(&self $(, $argument:ident: $type:ty)?) -> $answer:ty;)*) => {
        impl Stream {
            $(
                #[doc = concat!("Calls [`StreamRef::", stringify!($name), "`].")]
                ///
                /// # Errors
                #[doc = concat!("Those of `StreamRef::", stringify!($name), "`.")]
                #[track_caller]
                pub fn $name(&self $(, $argument: $type)?) -> Result<$answer> {
                    self.as_stream().$name($($argument)?)
                }
            )*
        }
    };
}

forward! {
    fn sync_policy(&self) -> SyncPolicy;
    fn set_sync_policy(&self, policy: SyncPolicy) -> ();
    fn set_access_policy(&self, policy: Option<AccessPolicy<'_>>) -> ();
    fn access_policy_window(&self) -> Option<(usize, usize)>;
    fn set_priority(&self, priority: i32) -> ();
    fn mem_sync_domain(&self) -> MemSyncDomain;
    fn set_mem_sync_domain(&self, domain: MemSyncDomain) -> ();
    fn mem_sync_domain_map(&self) -> MemSyncDomainMap;
    fn set_mem_sync_domain_map(&self, map: MemSyncDomainMap) -> ();
    fn copy_attributes_from(&self, source: &impl AsStream) -> ();
}
