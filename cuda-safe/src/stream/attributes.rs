//! Attributes of streams: what work that is given from now on is to be like.
//!
//! An attribute belongs to the stream's handle, which a dropped stream leaves to the next one. So a handle whose attributes
//! were set gets those of a stream that nobody has touched, before it serves again.
//!
//! # Examples
//! ```
//! use cuda_safe::stream::{AccessPolicy, AccessProperty, AsStream, SyncPolicy};
//! use cuda_safe::{DeviceBuffer, Stream};
//!
//! # fn main() -> cuda_safe::Result<()> {
//! let (stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
//! let settings = stream.as_stream();
//! settings.set_sync_policy(SyncPolicy::BLOCKING_SYNC)?; // who waits for it sleeps
//! let table = DeviceBuffer::<f32>::alloc(1000)?;
//! let stays = AccessPolicy::new(&table.slice(..)?, 1.0, AccessProperty::Persisting, AccessProperty::Normal);
//! settings.set_access_policy(Some(stays))?;
//! other.as_stream().copy_attributes_from(&stream)?;
//! assert_eq!(other.as_stream().sync_policy()?, SyncPolicy::BLOCKING_SYNC);
//! settings.set_access_policy(None)?;
//! # other.as_stream().set_access_policy(None)?;
//! stream.device().reset_persisting_l2_cache()?;
//! # Ok(())
//! # }
//! ```
//!
//! C functions: `cudaStreamGetAttribute`, `cudaStreamSetAttribute`, `cudaStreamCopyAttributes`.
#![expect(unsafe_code, reason = "calls the runtime's functions for attributes of streams")]

use std::marker::PhantomData;

use super::view::StreamRef;
use super::{busy, pool};
use crate::error::{Detail, Error, Result};
use crate::memory::DeviceSlice;
use crate::{check, sys};

/// How a thread waits for a stream: one of the constants, or something newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "cudaSynchronizationPolicy")]
pub struct SyncPolicy(sys::cudaSynchronizationPolicy);

impl SyncPolicy {
    /// As the runtime likes.
    #[doc(alias = "cudaSyncPolicyAuto")]
    pub const AUTO: Self = Self(sys::cudaSyncPolicyAuto);
    /// It spins.
    #[doc(alias = "cudaSyncPolicySpin")]
    pub const SPIN: Self = Self(sys::cudaSyncPolicySpin);
    /// It gives its core away between looks.
    #[doc(alias = "cudaSyncPolicyYield")]
    pub const YIELD: Self = Self(sys::cudaSyncPolicyYield);
    /// It sleeps until the device wakes it.
    #[doc(alias = "cudaSyncPolicyBlockingSync")]
    pub const BLOCKING_SYNC: Self = Self(sys::cudaSyncPolicyBlockingSync);

    /// The number as C has it.
    #[must_use]
    pub fn as_raw(self) -> sys::cudaSynchronizationPolicy {
        self.0
    }
}

/// How likely what is accessed is to stay in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias = "cudaAccessProperty")]
pub enum AccessProperty {
    /// Like everything.
    Normal,
    /// Less than other things.
    Streaming,
    /// More than other things.
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

/// A part of memory whose lines are to stay in the cache, or to leave it soon: a hint, which may name any addresses.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "cudaAccessPolicyWindow")]
pub struct AccessPolicy<'a> {
    raw: sys::cudaAccessPolicyWindow,
    memory: PhantomData<&'a ()>,
}

impl<'a> AccessPolicy<'a> {
    /// For accesses to `memory`: `hit_ratio` of them, from 0 to 1, have the property `hit`, the others `miss`, which is
    /// not `Persisting`.
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

    /// The window as C has it.
    pub(crate) fn as_raw(&self) -> sys::cudaAccessPolicyWindow {
        self.raw
    }
}

/// Which domain of memory synchronisation kernels are in: one of the constants, or something newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "cudaLaunchMemSyncDomain")]
pub struct MemSyncDomain(sys::cudaLaunchMemSyncDomain);

impl MemSyncDomain {
    /// Where kernels are.
    #[doc(alias = "cudaLaunchMemSyncDomainDefault")]
    pub const DEFAULT: Self = Self(sys::cudaLaunchMemSyncDomainDefault);
    /// Where kernels go that write to other devices, so that their slow writes do not hold others up.
    #[doc(alias = "cudaLaunchMemSyncDomainRemote")]
    pub const REMOTE: Self = Self(sys::cudaLaunchMemSyncDomainRemote);

    /// The number as C has it.
    pub(crate) fn as_raw(self) -> sys::cudaLaunchMemSyncDomain {
        self.0
    }
}

/// Which of the device's own domains the two of [`MemSyncDomain`] are. The device has as many as
/// `cudaDevAttrMemSyncDomainCount` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "cudaLaunchMemSyncDomainMap")]
pub struct MemSyncDomainMap {
    /// The number of [`MemSyncDomain::DEFAULT`].
    pub default: u8,
    /// The number of [`MemSyncDomain::REMOTE`].
    pub remote: u8,
}

impl MemSyncDomainMap {
    /// The numbers as C has them.
    pub(crate) fn as_raw(self) -> sys::cudaLaunchMemSyncDomainMap {
        sys::cudaLaunchMemSyncDomainMap { default_: self.default, remote: self.remote }
    }
}

impl StreamRef<'_> {
    /// How a thread waits for this stream.
    ///
    /// Stands for [`cudaStreamGetAttribute`](sys::cudaStreamGetAttribute) with
    /// `cudaLaunchAttributeSynchronizationPolicy`. Before it was set, the number can be one without a name.
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
    #[doc(alias = "cudaStreamGetAttribute")]
    #[track_caller]
    pub fn sync_policy(&self) -> Result<SyncPolicy> {
        let found =
            self.attribute("StreamRef::sync_policy", sys::cudaLaunchAttributeSynchronizationPolicy)?;
        // SAFETY: the attribute says which member of the union the runtime has filled; it is a number.
        Ok(SyncPolicy(unsafe { found.syncPolicy }))
    }

    /// Sets how a thread waits for this stream.
    ///
    /// Stands for [`cudaStreamSetAttribute`](sys::cudaStreamSetAttribute) with `cudaLaunchAttributeSynchronizationPolicy`.
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
    #[doc(alias = "cudaStreamSetAttribute")]
    #[track_caller]
    pub fn set_sync_policy(&self, policy: SyncPolicy) -> Result<()> {
        let id = sys::cudaLaunchAttributeSynchronizationPolicy;
        let value = sys::cudaLaunchAttributeValue { syncPolicy: policy.0 };
        self.set_attribute("StreamRef::set_sync_policy", id, &value)
    }

    /// Has kernels that the stream is given from now on treat a part of memory in their own way; `None` ends that.
    ///
    /// Stands for [`cudaStreamSetAttribute`](sys::cudaStreamSetAttribute) with `cudaLaunchAttributeAccessPolicyWindow`. It is
    /// a hint to the cache by address and reaches no memory: nothing happens if the memory is freed before.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` for more bytes than `cudaDevAttrMaxAccessPolicyWindowSize`, a ratio outside of 0 to 1, or
    /// misses that persist; a refusal inside a host function.
    #[doc(alias = "cudaStreamSetAttribute")]
    #[doc(alias = "cudaAccessPolicyWindow")]
    #[track_caller]
    pub fn set_access_policy(&self, policy: Option<AccessPolicy<'_>>) -> Result<()> {
        let id = sys::cudaLaunchAttributeAccessPolicyWindow;
        let raw = policy.map_or_else(Default::default, |policy| policy.raw);
        let value = sys::cudaLaunchAttributeValue { accessPolicyWindow: raw };
        self.set_attribute("StreamRef::set_access_policy", id, &value)
    }

    /// The address and number of bytes that kernels of this stream treat in their own way; `None` where there are none.
    ///
    /// Stands for [`cudaStreamGetAttribute`](sys::cudaStreamGetAttribute) with `cudaLaunchAttributeAccessPolicyWindow`.
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
    #[doc(alias = "cudaStreamGetAttribute")]
    #[track_caller]
    pub fn access_policy_window(&self) -> Result<Option<(usize, usize)>> {
        let id = sys::cudaLaunchAttributeAccessPolicyWindow;
        let found = self.attribute("StreamRef::access_policy_window", id)?;
        // SAFETY: the attribute says which member of the union the runtime has filled; it holds numbers and an address.
        let window = unsafe { found.accessPolicyWindow };
        Ok((window.num_bytes > 0).then(|| (window.base_ptr.addr(), window.num_bytes)))
    }

    /// Sets the priority of kernels that the stream is given from now on: smaller numbers go first.
    ///
    /// Stands for [`cudaStreamSetAttribute`](sys::cudaStreamSetAttribute) with `cudaLaunchAttributePriority`.
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
    #[doc(alias = "cudaStreamSetAttribute")]
    #[track_caller]
    pub fn set_priority(&self, priority: i32) -> Result<()> {
        let value = sys::cudaLaunchAttributeValue { priority };
        self.set_attribute("StreamRef::set_priority", sys::cudaLaunchAttributePriority, &value)
    }

    /// Which domain of memory synchronisation the stream's kernels are in.
    ///
    /// Stands for [`cudaStreamGetAttribute`](sys::cudaStreamGetAttribute) with `cudaLaunchAttributeMemSyncDomain`.
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
    #[doc(alias = "cudaStreamGetAttribute")]
    #[track_caller]
    pub fn mem_sync_domain(&self) -> Result<MemSyncDomain> {
        let found = self.attribute("StreamRef::mem_sync_domain", sys::cudaLaunchAttributeMemSyncDomain)?;
        // SAFETY: the attribute says which member of the union the runtime has filled; it is a number.
        Ok(MemSyncDomain(unsafe { found.memSyncDomain }))
    }

    /// Sets which domain of memory synchronisation kernels that the stream is given from now on are in.
    ///
    /// Stands for [`cudaStreamSetAttribute`](sys::cudaStreamSetAttribute) with `cudaLaunchAttributeMemSyncDomain`.
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
    #[doc(alias = "cudaStreamSetAttribute")]
    #[track_caller]
    pub fn set_mem_sync_domain(&self, domain: MemSyncDomain) -> Result<()> {
        let value = sys::cudaLaunchAttributeValue { memSyncDomain: domain.0 };
        self.set_attribute("StreamRef::set_mem_sync_domain", sys::cudaLaunchAttributeMemSyncDomain, &value)
    }

    /// Which of the device's own domains the stream's two are.
    ///
    /// Stands for [`cudaStreamGetAttribute`](sys::cudaStreamGetAttribute) with `cudaLaunchAttributeMemSyncDomainMap`.
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
    #[doc(alias = "cudaStreamGetAttribute")]
    #[track_caller]
    pub fn mem_sync_domain_map(&self) -> Result<MemSyncDomainMap> {
        let id = sys::cudaLaunchAttributeMemSyncDomainMap;
        let found = self.attribute("StreamRef::mem_sync_domain_map", id)?;
        // SAFETY: the attribute says which member of the union the runtime has filled; it holds numbers.
        let map = unsafe { found.memSyncDomainMap };
        Ok(MemSyncDomainMap { default: map.default_, remote: map.remote })
    }

    /// Sets which of the device's own domains the stream's two are.
    ///
    /// Stands for [`cudaStreamSetAttribute`](sys::cudaStreamSetAttribute) with `cudaLaunchAttributeMemSyncDomainMap`.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` for a number that the device does not have; a refusal inside a host function.
    #[doc(alias = "cudaStreamSetAttribute")]
    #[track_caller]
    pub fn set_mem_sync_domain_map(&self, map: MemSyncDomainMap) -> Result<()> {
        let id = sys::cudaLaunchAttributeMemSyncDomainMap;
        let value = sys::cudaLaunchAttributeValue { memSyncDomainMap: map.as_raw() };
        self.set_attribute("StreamRef::set_mem_sync_domain_map", id, &value)
    }

    /// Gives this stream the attributes of another one of the same device.
    ///
    /// Stands for [`cudaStreamCopyAttributes`](sys::cudaStreamCopyAttributes).
    ///
    /// # Errors
    /// `DeviceMismatch` for a stream of another device; a refusal inside a host function.
    #[doc(alias = "cudaStreamCopyAttributes")]
    #[track_caller]
    pub fn copy_attributes_from(&self, source: &impl super::AsStream) -> Result<()> {
        let api = "StreamRef::copy_attributes_from";
        busy::ensure_idle(api)?;
        let source = source.as_stream();
        let (found, needed) = (source.device().ordinal(), self.device().ordinal());
        if found != needed {
            return Err(Error::refused(
                api,
                Detail::DeviceMismatch { what: "the other stream", found, needed },
            ));
        }
        let _current = self.device().switch()?;
        pool::touch(self.device(), self.as_raw());
        // SAFETY: both streams live while the views do.
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
        // SAFETY: the stream lives while the view does; the pointer is to a live union, which the call fills.
        unsafe { check!(cudaStreamGetAttribute(self.as_raw(), id, &raw mut value)) }?;
        Ok(value)
    }

    #[track_caller]
    fn set_attribute(
        &self,
        api: &'static str,
        id: sys::cudaLaunchAttributeID,
        value: &sys::cudaLaunchAttributeValue,
    ) -> Result<()> {
        busy::ensure_idle(api)?;
        let _current = self.switch()?;
        pool::touch(self.device(), self.as_raw());
        // SAFETY: the stream lives while the view does; the pointer is to a live union whose member for this attribute is
        // set.
        unsafe { check!(cudaStreamSetAttribute(self.as_raw(), id, value)) }
    }
}
