//! The attributes of a device. Most are those of a device of compute capability 9.0, and the others those of
//! the [profile](crate::profile).

use crate::profile::{Link, profile};
use crate::sys::*;

/// Attributes that are 1 on an H200 and have no name in the headers, or a reserved one.
const WITHOUT_A_NAME: [u32; 14] = [44, 96, 102, 103, 107, 110, 122, 123, 124, 127, 128, 129, 141, 145];

/// The value of an attribute; `None` if there is no such attribute.
pub(crate) fn attribute(attr: cudaDeviceAttr, device: usize) -> Option<i32> {
    let profile = profile();
    let value = match attr {
        it if it == cudaDevAttrMaxThreadsPerBlock => 1024,
        it if it == cudaDevAttrMaxBlockDimX || it == cudaDevAttrMaxBlockDimY => 1024,
        it if it == cudaDevAttrMaxBlockDimZ => 64,
        it if it == cudaDevAttrMaxGridDimX => i32::MAX,
        it if it == cudaDevAttrMaxGridDimY || it == cudaDevAttrMaxGridDimZ => 65535,
        it if it == cudaDevAttrMaxSharedMemoryPerBlock => 48 << 10,
        it if it == cudaDevAttrTotalConstantMemory => 64 << 10,
        it if it == cudaDevAttrWarpSize => 32,
        it if it == cudaDevAttrMaxPitch => i32::MAX,
        it if it == cudaDevAttrMaxRegistersPerBlock => 65536,
        it if it == cudaDevAttrClockRate => profile.clocks[0] * 1000,
        it if it == cudaDevAttrTextureAlignment => 512,
        it if it == cudaDevAttrGpuOverlap => 1,
        it if it == cudaDevAttrMultiProcessorCount => number(profile.multiprocessors),
        it if it == cudaDevAttrCanMapHostMemory => 1,
        it if it == cudaDevAttrSurfaceAlignment => 512,
        it if it == cudaDevAttrConcurrentKernels => 1,
        it if it == cudaDevAttrPciBusId => i32::try_from(device + 1).unwrap_or(0),
        it if it == cudaDevAttrMemoryClockRate => profile.clocks[1] * 1000,
        it if it == cudaDevAttrGlobalMemoryBusWidth => profile.bus,
        it if it == cudaDevAttrL2CacheSize => profile.cache << 10,
        it if it == cudaDevAttrMaxThreadsPerMultiProcessor => number(profile.threads),
        it if it == cudaDevAttrAsyncEngineCount => profile.engines,
        it if it == cudaDevAttrUnifiedAddressing => 1,
        it if it == cudaDevAttrTexturePitchAlignment => 32,
        it if it == cudaDevAttrComputeCapabilityMajor => number(profile.capability / 10),
        it if it == cudaDevAttrComputeCapabilityMinor => number(profile.capability % 10),
        it if it == cudaDevAttrStreamPrioritiesSupported => 1,
        it if it == cudaDevAttrGlobalL1CacheSupported || it == cudaDevAttrLocalL1CacheSupported => 1,
        it if it == cudaDevAttrMaxSharedMemoryPerMultiprocessor => number(profile.shared << 10),
        it if it == cudaDevAttrMaxRegistersPerMultiprocessor => 65536,
        it if it == cudaDevAttrManagedMemory => 1,
        it if it == cudaDevAttrMultiGpuBoardGroupID => i32::try_from(device).unwrap_or(0),
        it if it == cudaDevAttrSingleToDoublePrecisionPerfRatio => profile.ratio,
        it if it == cudaDevAttrConcurrentManagedAccess => 1,
        it if it == cudaDevAttrComputePreemptionSupported => 1,
        it if it == cudaDevAttrCanUseHostPointerForRegisteredMem => 1,
        it if it == cudaDevAttrCooperativeLaunch => 1,
        it if it == cudaDevAttrClusterLaunch => i32::from(profile.capability >= 90),
        it if it == cudaDevAttrMaxSharedMemoryPerBlockOptin => number(profile.most_shared()),
        it if it == cudaDevAttrHostRegisterSupported => 1,
        it if it == cudaDevAttrMaxBlocksPerMultiprocessor => number(profile.blocks),
        it if it == cudaDevAttrMaxPersistingL2CacheSize => profile.windows[0],
        it if it == cudaDevAttrMaxAccessPolicyWindowSize => profile.windows[1],
        it if it == cudaDevAttrReservedSharedMemoryPerBlock => number(profile.reserved() << 10),
        it if it == cudaDevAttrMemoryPoolsSupported => 1,
        // File descriptors, and the handles of a fabric, of which this machine has none.
        it if it == cudaDevAttrMemoryPoolSupportedHandleTypes => 1 | 8,
        it if it == cudaDevAttrEccEnabled => i32::from(profile.ecc),
        it if it == cudaDevAttrHostRegisterReadOnlySupported => 1,
        it if it == cudaDevAttrTimelineSemaphoreInteropSupported => 1,
        it if it == cudaDevAttrHostNumaMemoryPoolsSupported => 1,
        it if it == cudaDevAttrHostMemoryPoolsSupported => 1,
        it if it == cudaDevAttrGPUDirectRDMASupported => 1,
        it if it == cudaDevAttrGPUDirectRDMAFlushWritesOptions => 1,
        // One H200 orders them for all devices, and another one only for its own.
        it if it == cudaDevAttrGPUDirectRDMAWritesOrdering => number(cudaGPUDirectRDMAWritesOrderingOwner.0),
        // No device has these numbers.
        it if it == cudaDevAttrGpuPciDeviceId || it == cudaDevAttrGpuPciSubsystemId => 0x10de,
        it if it == cudaDevAttrIpcEventSupport => 1,
        it if it == cudaDevAttrNumaId => -1,
        it if it == cudaDevAttrMemSyncDomainCount => 4,
        it if it == cudaDevAttrSparseCudaArraySupported => 1,
        it if it == cudaDevAttrDeferredMappingCudaArraySupported => 1,
        it if WITHOUT_A_NAME.contains(&it.0) => 1,
        it if (21..=29).contains(&it.0) || (42..=74).contains(&it.0) || it.0 == 77 => return image(it),
        it if known(it) => 0,
        _ => return None,
    };
    Some(value)
}

fn number(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

/// Sizes of textures and surfaces.
fn image(attr: cudaDeviceAttr) -> Option<i32> {
    let value = match attr {
        it if it == cudaDevAttrPciDomainId => 0,
        it if it == cudaDevAttrTexturePitchAlignment => 32,
        it if it == cudaDevAttrMaxTexture1DWidth || it == cudaDevAttrMaxTexture2DWidth => 131_072,
        it if it == cudaDevAttrMaxTexture2DHeight => 65536,
        it if it == cudaDevAttrMaxTexture3DWidth => 16384,
        it if it == cudaDevAttrMaxTexture3DHeight || it == cudaDevAttrMaxTexture3DDepth => 16384,
        it if it == cudaDevAttrMaxTexture3DWidthAlt || it == cudaDevAttrMaxTexture3DHeightAlt => 8192,
        it if it == cudaDevAttrMaxTexture1DLinearWidth => 1 << 28,
        it if it == cudaDevAttrMaxTexture2DLinearWidth => 131_072,
        it if it == cudaDevAttrMaxTexture2DLinearHeight => 65000,
        it if it == cudaDevAttrMaxTexture2DLinearPitch => 2 << 20,
        it if it == cudaDevAttrMaxTexture2DLayeredLayers || it == cudaDevAttrMaxTexture1DLayeredLayers => {
            2048
        }
        it if it == cudaDevAttrMaxTextureCubemapLayeredLayers => 2046,
        it if it == cudaDevAttrMaxSurface1DLayeredLayers || it == cudaDevAttrMaxSurface2DLayeredLayers => {
            2048
        }
        it if it == cudaDevAttrMaxSurfaceCubemapLayeredLayers => 2046,
        it if it == cudaDevAttrMaxSurface2DWidth => 131_072,
        it if it == cudaDevAttrMaxSurface2DHeight => 65536,
        it if !known(it) => return None,
        _ => 32768,
    };
    Some(value)
}

/// Whether CUDA 13.0 has an attribute of this number; those without a meaning here are zero.
fn known(attr: cudaDeviceAttr) -> bool {
    (1..=cudaDevAttrOnlyPartialHostNativeAtomicSupported.0).contains(&attr.0)
}

/// The value of an attribute of a pair of devices, by their link.
pub(crate) fn p2p_attribute(attr: cudaDeviceP2PAttr) -> Option<i32> {
    match attr {
        it if it == cudaDevP2PAttrPerformanceRank => Some(0),
        it if it == cudaDevP2PAttrAccessSupported => Some(i32::from(profile().link != Link::Host)),
        it if it == cudaDevP2PAttrNativeAtomicSupported => Some(i32::from(profile().link == Link::Bridge)),
        it if it == cudaDevP2PAttrCudaArrayAccessSupported => Some(i32::from(profile().link != Link::Host)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attribute_of_the_headers_has_a_value_and_no_other_has() {
        assert!((1..148).all(|n| attribute(cudaDeviceAttr(n), 0).is_some()));
        for number in [0, 148, u32::MAX] {
            assert_eq!(attribute(cudaDeviceAttr(number), 0), None, "{number}");
        }
    }
}
