//! The result of `cudaGetDeviceProperties`. The name identifies the emulator.

use super::attribute;
use crate::config::Config;
use crate::profile::profile;
use crate::sys::*;

/// The bus id of a device, as `cudaDeviceGetPCIBusId` writes it.
pub(crate) fn pci_bus_id(device: usize) -> String {
    format!("0000:{:02X}:00.0", device + 1)
}

/// The properties of a device. Values that are attributes as well come from the attributes.
pub(crate) fn properties(device: usize, config: &Config) -> cudaDeviceProp {
    let get = |attr: cudaDeviceAttr| attribute(attr, device).unwrap_or(0);
    let size = |attr: cudaDeviceAttr| usize::try_from(get(attr)).unwrap_or(0);
    let mut name = [0; 256];
    for (to, from) in name.iter_mut().zip(profile().name.as_bytes()) {
        *to = core::ffi::c_char::try_from(*from).unwrap_or(0);
    }
    let mut uuid = CUuuid_st { bytes: [0; 16] };
    for (to, from) in uuid.bytes.iter_mut().zip(b"cudart-emulator") {
        *to = core::ffi::c_char::try_from(*from).unwrap_or(0);
    }
    if let Some(last) = uuid.bytes.last_mut() {
        *last = core::ffi::c_char::try_from(device).unwrap_or(0);
    }
    cudaDeviceProp {
        name,
        uuid,
        totalGlobalMem: usize::try_from(config.memory).unwrap_or(usize::MAX),
        sharedMemPerBlock: size(cudaDevAttrMaxSharedMemoryPerBlock),
        regsPerBlock: get(cudaDevAttrMaxRegistersPerBlock),
        warpSize: get(cudaDevAttrWarpSize),
        memPitch: size(cudaDevAttrMaxPitch),
        maxThreadsPerBlock: get(cudaDevAttrMaxThreadsPerBlock),
        maxThreadsDim: [cudaDevAttrMaxBlockDimX, cudaDevAttrMaxBlockDimY, cudaDevAttrMaxBlockDimZ].map(get),
        maxGridSize: [cudaDevAttrMaxGridDimX, cudaDevAttrMaxGridDimY, cudaDevAttrMaxGridDimZ].map(get),
        totalConstMem: size(cudaDevAttrTotalConstantMemory),
        major: get(cudaDevAttrComputeCapabilityMajor),
        minor: get(cudaDevAttrComputeCapabilityMinor),
        textureAlignment: size(cudaDevAttrTextureAlignment),
        texturePitchAlignment: size(cudaDevAttrTexturePitchAlignment),
        multiProcessorCount: get(cudaDevAttrMultiProcessorCount),
        integrated: get(cudaDevAttrIntegrated),
        canMapHostMemory: get(cudaDevAttrCanMapHostMemory),
        maxTexture1D: get(cudaDevAttrMaxTexture1DWidth),
        maxTexture1DMipmap: get(cudaDevAttrMaxTexture1DMipmappedWidth),
        maxTexture2D: [cudaDevAttrMaxTexture2DWidth, cudaDevAttrMaxTexture2DHeight].map(get),
        maxTexture2DMipmap: [cudaDevAttrMaxTexture2DMipmappedWidth, cudaDevAttrMaxTexture2DMipmappedHeight]
            .map(get),
        maxTexture2DLinear: [
            cudaDevAttrMaxTexture2DLinearWidth,
            cudaDevAttrMaxTexture2DLinearHeight,
            cudaDevAttrMaxTexture2DLinearPitch,
        ]
        .map(get),
        maxTexture2DGather: [cudaDevAttrMaxTexture2DGatherWidth, cudaDevAttrMaxTexture2DGatherHeight]
            .map(get),
        maxTexture3D: [
            cudaDevAttrMaxTexture3DWidth,
            cudaDevAttrMaxTexture3DHeight,
            cudaDevAttrMaxTexture3DDepth,
        ]
        .map(get),
        maxTexture3DAlt: [
            cudaDevAttrMaxTexture3DWidthAlt,
            cudaDevAttrMaxTexture3DHeightAlt,
            cudaDevAttrMaxTexture3DDepthAlt,
        ]
        .map(get),
        maxTextureCubemap: get(cudaDevAttrMaxTextureCubemapWidth),
        maxTexture1DLayered: [cudaDevAttrMaxTexture1DLayeredWidth, cudaDevAttrMaxTexture1DLayeredLayers]
            .map(get),
        maxTexture2DLayered: [
            cudaDevAttrMaxTexture2DLayeredWidth,
            cudaDevAttrMaxTexture2DLayeredHeight,
            cudaDevAttrMaxTexture2DLayeredLayers,
        ]
        .map(get),
        maxTextureCubemapLayered: [
            cudaDevAttrMaxTextureCubemapLayeredWidth,
            cudaDevAttrMaxTextureCubemapLayeredLayers,
        ]
        .map(get),
        maxSurface1D: get(cudaDevAttrMaxSurface1DWidth),
        maxSurface2D: [cudaDevAttrMaxSurface2DWidth, cudaDevAttrMaxSurface2DHeight].map(get),
        maxSurface3D: [
            cudaDevAttrMaxSurface3DWidth,
            cudaDevAttrMaxSurface3DHeight,
            cudaDevAttrMaxSurface3DDepth,
        ]
        .map(get),
        maxSurface1DLayered: [cudaDevAttrMaxSurface1DLayeredWidth, cudaDevAttrMaxSurface1DLayeredLayers]
            .map(get),
        maxSurface2DLayered: [
            cudaDevAttrMaxSurface2DLayeredWidth,
            cudaDevAttrMaxSurface2DLayeredHeight,
            cudaDevAttrMaxSurface2DLayeredLayers,
        ]
        .map(get),
        maxSurfaceCubemap: get(cudaDevAttrMaxSurfaceCubemapWidth),
        maxSurfaceCubemapLayered: [
            cudaDevAttrMaxSurfaceCubemapLayeredWidth,
            cudaDevAttrMaxSurfaceCubemapLayeredLayers,
        ]
        .map(get),
        surfaceAlignment: size(cudaDevAttrSurfaceAlignment),
        concurrentKernels: get(cudaDevAttrConcurrentKernels),
        ECCEnabled: get(cudaDevAttrEccEnabled),
        pciBusID: get(cudaDevAttrPciBusId),
        pciDeviceID: get(cudaDevAttrPciDeviceId),
        pciDomainID: get(cudaDevAttrPciDomainId),
        tccDriver: get(cudaDevAttrTccDriver),
        asyncEngineCount: get(cudaDevAttrAsyncEngineCount),
        unifiedAddressing: get(cudaDevAttrUnifiedAddressing),
        memoryBusWidth: get(cudaDevAttrGlobalMemoryBusWidth),
        l2CacheSize: get(cudaDevAttrL2CacheSize),
        persistingL2CacheMaxSize: get(cudaDevAttrMaxPersistingL2CacheSize),
        maxThreadsPerMultiProcessor: get(cudaDevAttrMaxThreadsPerMultiProcessor),
        streamPrioritiesSupported: get(cudaDevAttrStreamPrioritiesSupported),
        globalL1CacheSupported: get(cudaDevAttrGlobalL1CacheSupported),
        localL1CacheSupported: get(cudaDevAttrLocalL1CacheSupported),
        sharedMemPerMultiprocessor: size(cudaDevAttrMaxSharedMemoryPerMultiprocessor),
        regsPerMultiprocessor: get(cudaDevAttrMaxRegistersPerMultiprocessor),
        managedMemory: get(cudaDevAttrManagedMemory),
        isMultiGpuBoard: get(cudaDevAttrIsMultiGpuBoard),
        multiGpuBoardGroupID: get(cudaDevAttrMultiGpuBoardGroupID),
        hostNativeAtomicSupported: get(cudaDevAttrHostNativeAtomicSupported),
        pageableMemoryAccess: get(cudaDevAttrPageableMemoryAccess),
        concurrentManagedAccess: i32::from(config.managed),
        computePreemptionSupported: get(cudaDevAttrComputePreemptionSupported),
        canUseHostPointerForRegisteredMem: get(cudaDevAttrCanUseHostPointerForRegisteredMem),
        cooperativeLaunch: get(cudaDevAttrCooperativeLaunch),
        sharedMemPerBlockOptin: size(cudaDevAttrMaxSharedMemoryPerBlockOptin),
        pageableMemoryAccessUsesHostPageTables: get(cudaDevAttrPageableMemoryAccessUsesHostPageTables),
        directManagedMemAccessFromHost: get(cudaDevAttrDirectManagedMemAccessFromHost),
        maxBlocksPerMultiProcessor: get(cudaDevAttrMaxBlocksPerMultiprocessor),
        accessPolicyMaxWindowSize: get(cudaDevAttrMaxAccessPolicyWindowSize),
        reservedSharedMemPerBlock: size(cudaDevAttrReservedSharedMemoryPerBlock),
        hostRegisterSupported: get(cudaDevAttrHostRegisterSupported),
        sparseCudaArraySupported: get(cudaDevAttrSparseCudaArraySupported),
        hostRegisterReadOnlySupported: get(cudaDevAttrHostRegisterReadOnlySupported),
        timelineSemaphoreInteropSupported: get(cudaDevAttrTimelineSemaphoreInteropSupported),
        memoryPoolsSupported: get(cudaDevAttrMemoryPoolsSupported),
        gpuDirectRDMASupported: get(cudaDevAttrGPUDirectRDMASupported),
        gpuDirectRDMAWritesOrdering: get(cudaDevAttrGPUDirectRDMAWritesOrdering),
        deferredMappingCudaArraySupported: get(cudaDevAttrDeferredMappingCudaArraySupported),
        ipcEventSupported: get(cudaDevAttrIpcEventSupport),
        clusterLaunch: get(cudaDevAttrClusterLaunch),
        deviceNumaConfig: get(cudaDevAttrNumaConfig),
        deviceNumaId: get(cudaDevAttrNumaId),
        mpsEnabled: get(cudaDevAttrMpsEnabled),
        hostNumaId: get(cudaDevAttrHostNumaId),
        ..cudaDeviceProp::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Schedule;

    #[test]
    fn properties_name_the_emulator_and_agree_with_the_attributes() {
        let config = Config {
            devices: 2,
            memory: 1 << 30,
            budget: None,
            schedule: Schedule::Late,
            free_waits: true,
            managed: true,
            leaks: false,
            initcheck: false,
            runs_on: false,
            races: false,
            blocks: false,
        };
        let prop = properties(1, &config);
        let name: Vec<u8> =
            prop.name.iter().take_while(|c| **c != 0).map(|c| u8::try_from(*c).unwrap()).collect();
        assert_eq!(name, profile().name.as_bytes());
        assert_eq!((prop.major, prop.minor, prop.warpSize), (9, 0, 32));
        assert_eq!(prop.totalGlobalMem, 1 << 30);
        assert_eq!(prop.pciBusID, 2);
        assert_eq!(pci_bus_id(1), "0000:02:00.0");
        assert_ne!(prop.uuid.bytes, properties(0, &config).uuid.bytes);
    }
}
