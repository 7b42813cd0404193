//! Attributes of streams, which apply to work that is submitted after they are set.
//!
//! An attribute belongs to the stream's handle, and a new stream may reuse the handle of a dropped one.
//! Before a handle whose attributes were set is reused, it gets the attributes of an untouched stream.
//!
//! # Examples
//! ```
//! use cuda_safe::stream::{AccessPolicy, AccessProperty, StreamAttribute, SyncPolicy};
//! use cuda_safe::{DeviceBuffer, Stream};
//!
//! # fn main() -> cuda_safe::Result<()> {
//! let (stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
//! stream.set_attribute(StreamAttribute::SyncPolicy(SyncPolicy::BLOCKING_SYNC))?; // who waits for it sleeps
//! let table = DeviceBuffer::<f32>::alloc(1000)?;
//! let stays = AccessPolicy::new(&table.slice(..)?, 1.0, AccessProperty::Persisting, AccessProperty::Normal);
//! stream.set_attribute(StreamAttribute::AccessPolicy(Some(stays)))?;
//! other.copy_attributes_from(&stream)?;
//! assert_eq!(other.attributes()?.sync_policy, SyncPolicy::BLOCKING_SYNC);
//! stream.set_attribute(StreamAttribute::AccessPolicy(None))?;
//! # other.set_attribute(StreamAttribute::AccessPolicy(None))?;
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
#[repr(u32)]
pub enum AccessProperty {
    /// As likely as other data.
    Normal = sys::cudaAccessPropertyNormal.0,
    /// Less likely than other data.
    Streaming = sys::cudaAccessPropertyStreaming.0,
    /// More likely than other data.
    Persisting = sys::cudaAccessPropertyPersisting.0,
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
            hitProp: sys::cudaAccessProperty(hit as u32),
            missProp: sys::cudaAccessProperty(miss as u32),
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

    /// Clusters of this many blocks along each axis.
    pub(crate) fn cluster([x, y, z]: [u32; 3]) -> Self {
        let mut value = sys::cudaLaunchAttributeValue { pad: [0; 64] };
        (value.clusterDim.x, value.clusterDim.y, value.clusterDim.z) = (x, y, z);
        Self { id: sys::cudaLaunchAttributeClusterDimension, value }
    }
}

/// Constructors of attributes: each with C's number, and the member of C's union that has the value.
macro_rules! attributes {
    ($($(#[$meta:meta])* $name:ident($($argument:ident: $type:ty)?) = $id:ident, $member:ident: $value:expr;)*) => {
        impl Attribute {$(
            $(#[$meta])*
            pub(crate) fn $name($($argument: $type)?) -> Self {
                Self { id: sys::$id, value: sys::cudaLaunchAttributeValue { $member: $value } }
            }
        )*}
    };
}

attributes! {
    priority(priority: i32) = cudaLaunchAttributePriority, priority: priority;
    sync_policy(policy: SyncPolicy) = cudaLaunchAttributeSynchronizationPolicy, syncPolicy: policy.as_raw();
    /// `None` ends the policy of a stream.
    access_policy(policy: Option<&AccessPolicy<'_>>) = cudaLaunchAttributeAccessPolicyWindow,
        accessPolicyWindow: policy.map_or_else(Default::default, AccessPolicy::as_raw);
    mem_sync_domain(domain: MemSyncDomain) = cudaLaunchAttributeMemSyncDomain, memSyncDomain: domain.as_raw();
    mem_sync_domain_map(map: MemSyncDomainMap) = cudaLaunchAttributeMemSyncDomainMap,
        memSyncDomainMap: map.as_raw();
    cluster_scheduling(policy: sys::cudaClusterSchedulingPolicy) =
        cudaLaunchAttributeClusterSchedulingPolicyPreference, clusterSchedulingPolicyPreference: policy;
    cooperative() = cudaLaunchAttributeCooperative, cooperative: 1;
    #[cfg(cudart_12_9)]
    shared_carveout(percent: u32) = cudaLaunchAttributePreferredSharedMemoryCarveout, sharedMemCarveout: percent;
    programmatic_stream_serialization() = cudaLaunchAttributeProgrammaticStreamSerialization,
        programmaticStreamSerializationAllowed: 1;
}

/// An attribute of a stream, to be set.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[doc(alias = "cudaStreamAttrID")]
#[doc(alias = "cudaStreamAttrValue")]
pub enum StreamAttribute<'a> {
    /// How a thread waits for the stream.
    SyncPolicy(SyncPolicy),
    /// How kernels cache a range of memory. `None` removes the setting. It is a hint to the cache by address
    /// and accesses no memory, so the memory may be freed before.
    AccessPolicy(Option<AccessPolicy<'a>>),
    /// The priority of kernels. A smaller number is a higher priority.
    Priority(i32),
    /// The memory synchronization domain of kernels.
    MemSyncDomain(MemSyncDomain),
    /// The device's domains for the stream's two logical domains.
    MemSyncDomainMap(MemSyncDomainMap),
}

impl From<StreamAttribute<'_>> for Attribute {
    fn from(attribute: StreamAttribute<'_>) -> Self {
        match attribute {
            StreamAttribute::SyncPolicy(policy) => Self::sync_policy(policy),
            StreamAttribute::AccessPolicy(policy) => Self::access_policy(policy.as_ref()),
            StreamAttribute::Priority(priority) => Self::priority(priority),
            StreamAttribute::MemSyncDomain(domain) => Self::mem_sync_domain(domain),
            StreamAttribute::MemSyncDomainMap(map) => Self::mem_sync_domain_map(map),
        }
    }
}

/// The attributes of a stream. [`StreamRef::priority`] has its priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamAttributes {
    /// How a thread waits for the stream. Before the first set, it may be a number without a name.
    pub sync_policy: SyncPolicy,
    /// The address and the size in bytes of the range with an access policy, or `None` if none is set.
    pub access_policy_window: Option<(usize, usize)>,
    /// The memory synchronization domain of the stream's kernels.
    pub mem_sync_domain: MemSyncDomain,
    /// The device's domains for the stream's two logical domains.
    pub mem_sync_domain_map: MemSyncDomainMap,
}

impl StreamRef<'_> {
    /// Returns the attributes of the stream.
    ///
    /// Stands for [`cudaStreamGetAttribute`](sys::cudaStreamGetAttribute), which is called once for each.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaStreamGetAttribute")]
    #[track_caller]
    pub fn attributes(&self) -> Result<StreamAttributes> {
        let policy = self.attribute(sys::cudaLaunchAttributeSynchronizationPolicy)?;
        let window = self.attribute(sys::cudaLaunchAttributeAccessPolicyWindow)?;
        let domain = self.attribute(sys::cudaLaunchAttributeMemSyncDomain)?;
        let map = self.attribute(sys::cudaLaunchAttributeMemSyncDomainMap)?;
        // SAFETY: the attribute determines which member of the union the runtime has filled, and that member
        // is a number.
        let sync_policy = SyncPolicy(unsafe { policy.syncPolicy });
        // SAFETY: the attribute determines which member of the union the runtime has filled, and that member
        // holds numbers and an address.
        let window = unsafe { window.accessPolicyWindow };
        // SAFETY: the attribute determines which member of the union the runtime has filled, and that member
        // is a number.
        let mem_sync_domain = MemSyncDomain(unsafe { domain.memSyncDomain });
        // SAFETY: the attribute determines which member of the union the runtime has filled, and that member
        // holds numbers.
        let map = unsafe { map.memSyncDomainMap };
        Ok(StreamAttributes {
            sync_policy,
            access_policy_window: (window.num_bytes > 0).then(|| (window.base_ptr.addr(), window.num_bytes)),
            mem_sync_domain,
            mem_sync_domain_map: MemSyncDomainMap { default: map.default_, remote: map.remote },
        })
    }

    /// Sets an attribute, for work that is submitted after this call.
    ///
    /// Stands for [`cudaStreamSetAttribute`](sys::cudaStreamSetAttribute).
    ///
    /// # Errors
    /// - `cudaErrorInvalidValue` for an access policy of more bytes than
    ///   `cudaDevAttrMaxAccessPolicyWindowSize`, of a ratio outside of 0 to 1, or with persisting misses, and
    ///   for a domain that the device does not have.
    /// - Refused inside a host function.
    #[doc(alias = "cudaStreamSetAttribute")]
    #[doc(alias = "cudaAccessPolicyWindow")]
    #[track_caller]
    pub fn set_attribute(&self, attribute: StreamAttribute<'_>) -> Result<()> {
        busy::ensure_idle("StreamRef::set_attribute")?;
        let _current = self.switch()?;
        renewal::touch(self.device(), self.as_raw());
        let Attribute { id, value } = attribute.into();
        // SAFETY: the stream lives as long as the view. The pointer is to a live union whose member for
        // this attribute is set.
        unsafe { check!(cudaStreamSetAttribute(self.as_raw(), id, &raw const value)) }
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
    fn attribute(&self, id: sys::cudaLaunchAttributeID) -> Result<sys::cudaLaunchAttributeValue> {
        busy::ensure_idle("StreamRef::attributes")?;
        let _current = self.switch()?;
        let mut value = sys::cudaLaunchAttributeValue { pad: [0; 64] };
        // SAFETY: the stream lives as long as the view. The pointer is to a live union, which the call
        // fills.
        unsafe { check!(cudaStreamGetAttribute(self.as_raw(), id, &raw mut value)) }?;
        Ok(value)
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
    fn attributes(&self) -> StreamAttributes;
    fn set_attribute(&self, attribute: StreamAttribute<'_>) -> ();
    fn copy_attributes_from(&self, source: &impl AsStream) -> ();
}
