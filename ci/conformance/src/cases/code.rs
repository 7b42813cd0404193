//! Calls with a null, after a fault, or with the handle of an object that is gone. Some end the process, so
//! they are made in processes of their own: all of a group in one, or each in one if that ends.

use std::ffi::{CStr, c_void};
use std::ptr;

use cuda_sys as sys;
use cuda_sys::*;

use crate::case::Cases;
use crate::log::{Log, Outcome, Setup, ask, error_name, need};
use crate::memory::{Block, Kind};
use crate::run::{ENDS, beside, handed};

unsafe extern "C" {
    fn case_empty();
    fn case_trap();
}

/// The helper that makes calls by their names.
const CALLER: &str = "calls with a null";

fn null<T>() -> *mut T {
    ptr::null_mut()
}

/// One of each object, and room for answers.
pub(super) struct Objects {
    pub(super) on: cudaStream_t,
    pub(super) mark: cudaEvent_t,
    pub(super) graph: cudaGraph_t,
    pub(super) node: cudaGraphNode_t,
    pub(super) run: cudaGraphExec_t,
    pub(super) pool: cudaMemPool_t,
    pub(super) block: Block,
    pub(super) pinned: Block,
    pub(super) managed: Block,
    pub(super) array: sys::cudaArray_t,
    pub(super) desc: sys::cudaChannelFormatDesc,
    pub(super) place: sys::cudaMemLocation,
    room: Vec<u64>,
}

pub(super) const ONE: dim3 = dim3 { x: 1, y: 1, z: 1 };
pub(super) const BYTES: usize = 64;

impl Objects {
    pub(super) fn new(log: &mut Log) -> Result<Self, Setup> {
        let place = sys::cudaMemLocation { type_: sys::cudaMemLocationTypeDevice, id: 0 };
        let mut it = Self {
            on: crate::memory::stream(log)?,
            mark: crate::memory::event(log)?,
            graph: null(),
            node: null(),
            run: null(),
            pool: null(),
            block: Block::new(log, Kind::Device, 4096)?,
            pinned: Block::new(log, Kind::Pinned, 4096)?,
            managed: Block::new(log, Kind::Managed, 4096)?,
            array: null(),
            desc: sys::cudaChannelFormatDesc { x: 32, y: 0, z: 0, w: 0, f: sys::cudaChannelFormatKindFloat },
            place,
            room: vec![0; 1024],
        };
        need!(log, cudaGraphCreate(&raw mut it.graph, 0));
        need!(log, cudaGraphAddEmptyNode(&raw mut it.node, it.graph, null(), 0));
        need!(log, cudaGraphInstantiate(&raw mut it.run, it.graph, 0));
        let wanted = sys::cudaMemPoolProps {
            allocType: sys::cudaMemAllocationTypePinned,
            location: place,
            ..Default::default()
        };
        need!(log, cudaMemPoolCreate(&raw mut it.pool, &raw const wanted));
        need!(log, cudaMallocArray(&raw mut it.array, &raw const it.desc, 16, 4, 0));
        Ok(it)
    }

    pub(super) fn room<T>(&self) -> *mut T {
        self.room.as_ptr().cast_mut().cast()
    }

    pub(super) fn kernel(&self) -> *const c_void {
        case_empty as *const c_void
    }
}

/// Calls by their groups and names.
pub(super) type Calls<T = Objects> = Vec<(&'static str, Vec<(&'static str, fn(&T) -> sys::cudaError_t)>)>;

macro_rules! calls {
    ($it:ident; $($group:literal { $($name:literal $function:ident($($argument:expr),* $(,)?);)* })*) => {
        calls!($it: Objects; $($group { $($name $function($($argument),*);)* })*)
    };
    ($it:ident: $type:ty; $($group:literal { $($name:literal $function:ident($($argument:expr),* $(,)?);)* })*) => {
        vec![$(($group, vec![$(($name, {
            // SAFETY: the result of the call is the question, and the process may end by it.
            let call: fn(&$type) -> sys::cudaError_t = |$it| {
                let _: &$type = $it;
                unsafe { sys::$function($($argument),*) }
            };
            call
        })),*])),*]
    };
}

pub(super) use calls;

pub(super) const UP: sys::cudaMemcpyKind = sys::cudaMemcpyHostToDevice;
const NAME: &CStr = c"no such name";

fn memory() -> Calls {
    calls! { it;
        "allocations" {
            "Malloc" cudaMalloc(null(), BYTES);
            "MallocHost" cudaMallocHost(null(), BYTES);
            "HostAlloc" cudaHostAlloc(null(), BYTES, 0);
            "MallocManaged" cudaMallocManaged(null(), BYTES, 1);
            "MallocPitch" cudaMallocPitch(null(), it.room(), BYTES, 2);
            "MallocPitch, pitch" cudaMallocPitch(it.room(), null(), BYTES, 2);
            "Malloc3D" cudaMalloc3D(null(), sys::cudaExtent { width: 8, height: 2, depth: 2 });
            "MallocAsync" cudaMallocAsync(null(), BYTES, it.on);
            "MallocFromPoolAsync" cudaMallocFromPoolAsync(null(), BYTES, it.pool, it.on);
            "MallocFromPoolAsync, pool" cudaMallocFromPoolAsync(it.room(), BYTES, null(), it.on);
            "MemGetInfo, free" cudaMemGetInfo(null(), it.room());
            "MemGetInfo, total" cudaMemGetInfo(it.room(), null());
            "MemGetInfo, both" cudaMemGetInfo(null(), null());
        }
        "arrays" {
            "MallocArray" cudaMallocArray(null(), &raw const it.desc, 4, 4, 0);
            "MallocArray, form" cudaMallocArray(it.room(), null(), 4, 4, 0);
            "Malloc3DArray, form"
                cudaMalloc3DArray(it.room(), null(), sys::cudaExtent { width: 4, height: 4, depth: 4 }, 0);
            "MallocMipmappedArray, form"
                cudaMallocMipmappedArray(it.room(), null(), sys::cudaExtent { width: 4, height: 4,
                    depth: 0 }, 1, 0);
            "ArrayGetInfo, form" cudaArrayGetInfo(null(), it.room(), it.room(), it.array);
            "ArrayGetInfo, extent" cudaArrayGetInfo(it.room(), null(), it.room(), it.array);
            "ArrayGetInfo, flags" cudaArrayGetInfo(it.room(), it.room(), null(), it.array);
            "ArrayGetInfo, array" cudaArrayGetInfo(it.room(), it.room(), it.room(), null());
            "GetMipmappedArrayLevel, levels" cudaGetMipmappedArrayLevel(it.room(), null(), 0);
            "GetMipmappedArrayLevel, both" cudaGetMipmappedArrayLevel(null(), null(), 0);
            "ArrayGetPlane" cudaArrayGetPlane(null(), it.array, 0);
            "ArrayGetMemoryRequirements" cudaArrayGetMemoryRequirements(null(), it.array, 0);
            "ArrayGetSparseProperties" cudaArrayGetSparseProperties(null(), it.array);
            "GetChannelDesc" cudaGetChannelDesc(null(), it.array);
            "Memcpy2DToArray, source" cudaMemcpy2DToArray(it.array, 0, 0, null(), BYTES, BYTES, 1, UP);
            "Memcpy2DToArray, array" cudaMemcpy2DToArray(null(), 0, 0, it.pinned.ptr(), BYTES, BYTES, 1, UP);
            "Memcpy2DFromArray, destination"
                cudaMemcpy2DFromArray(null(), BYTES, it.array, 0, 0, BYTES, 1, sys::cudaMemcpyDeviceToHost);
        }
        "host and managed memory" {
            "HostGetDevicePointer" cudaHostGetDevicePointer(null(), it.pinned.ptr(), 0);
            "HostGetDevicePointer, memory" cudaHostGetDevicePointer(it.room(), null(), 0);
            "HostGetFlags" cudaHostGetFlags(null(), it.pinned.ptr());
            "HostGetFlags, memory" cudaHostGetFlags(it.room(), null());
            "HostRegister" cudaHostRegister(null(), BYTES, 0);
            "HostUnregister" cudaHostUnregister(null());
            "FreeHost" cudaFreeHost(null());
            "PointerGetAttributes" cudaPointerGetAttributes(null(), it.block.ptr());
            "MemAdvise" cudaMemAdvise(null(), BYTES, sys::cudaMemAdviseSetReadMostly, it.place);
            "MemPrefetchAsync" cudaMemPrefetchAsync(null(), BYTES, it.place, 0, it.on);
            "MemRangeGetAttribute"
                cudaMemRangeGetAttribute(null(), 4, sys::cudaMemRangeAttributeReadMostly,
                    it.managed.ptr(), 4096);
            "MemRangeGetAttribute, memory"
                cudaMemRangeGetAttribute(it.room(), 4, sys::cudaMemRangeAttributeReadMostly, null(), 4096);
            "MemRangeGetAttributes"
                cudaMemRangeGetAttributes(null(), it.room(), it.room(), 1, it.managed.ptr(), 4096);
            "MemRangeGetAttributes, sizes"
                cudaMemRangeGetAttributes(it.room(), null(), it.room(), 1, it.managed.ptr(), 4096);
            "MemRangeGetAttributes, list"
                cudaMemRangeGetAttributes(it.room(), it.room(), null(), 1, it.managed.ptr(), 4096);
            "StreamAttachMemAsync" cudaStreamAttachMemAsync(it.on, null(), 0, sys::cudaMemAttachGlobal);
        }
        "copies" {
            "Memcpy, no bytes" cudaMemcpy(null(), null(), 0, UP);
            "Memcpy, source" cudaMemcpy(it.block.ptr(), null(), BYTES, UP);
            "MemcpyPeer" cudaMemcpyPeer(null(), 0, it.block.ptr(), 0, BYTES);
            "MemcpyPeer, source" cudaMemcpyPeer(it.block.ptr(), 0, null(), 0, BYTES);
            "MemcpyPeer, no bytes" cudaMemcpyPeer(null(), 0, null(), 0, 0);
            "Memcpy2D" cudaMemcpy2D(null(), BYTES, it.block.ptr(), BYTES, 8, 2, sys::cudaMemcpyDefault);
            "Memset2D" cudaMemset2D(null(), BYTES, 0, 8, 2);
            "Memcpy3D" cudaMemcpy3D(null());
            "Memcpy3DPeer" cudaMemcpy3DPeer(null());
            "MemcpyToSymbol" cudaMemcpyToSymbol(null(), it.pinned.ptr(), 4, 0, UP);
            "MemcpyFromSymbol"
                cudaMemcpyFromSymbol(it.pinned.ptr(), null(), 4, 0, sys::cudaMemcpyDeviceToHost);
            "GetSymbolAddress" cudaGetSymbolAddress(null(), null());
            "GetSymbolAddress, symbol" cudaGetSymbolAddress(it.room(), null());
            "GetSymbolSize" cudaGetSymbolSize(null(), null());
            "GetSymbolSize, symbol" cudaGetSymbolSize(it.room(), null());
        }
        "lists of copies" {
            "MemcpyBatchAsync, destinations"
                cudaMemcpyBatchAsync(null(), it.room(), it.room(), 1, it.room(), it.room(), 1, it.on);
            "MemcpyBatchAsync, sources"
                cudaMemcpyBatchAsync(it.room(), null(), it.room(), 1, it.room(), it.room(), 1, it.on);
            "MemcpyBatchAsync, sizes"
                cudaMemcpyBatchAsync(it.room(), it.room(), null(), 1, it.room(), it.room(), 1, it.on);
            "MemcpyBatchAsync, attributes"
                cudaMemcpyBatchAsync(it.room(), it.room(), it.room(), 1, null(), it.room(), 1, it.on);
            "MemcpyBatchAsync, places"
                cudaMemcpyBatchAsync(it.room(), it.room(), it.room(), 1, it.room(), null(), 1, it.on);
            "MemcpyBatchAsync, none"
                cudaMemcpyBatchAsync(null(), null(), null(), 0, null(), null(), 0, it.on);
            "Memcpy3DBatchAsync" cudaMemcpy3DBatchAsync(1, null(), 0, it.on);
            "MemPrefetchBatchAsync"
                cudaMemPrefetchBatchAsync(null(), it.room(), 1, it.room(), it.room(), 1, 0, it.on);
            "MemPrefetchBatchAsync, sizes"
                cudaMemPrefetchBatchAsync(it.room(), null(), 1, it.room(), it.room(), 1, 0, it.on);
            "MemPrefetchBatchAsync, places"
                cudaMemPrefetchBatchAsync(it.room(), it.room(), 1, null(), it.room(), 1, 0, it.on);
            "MemDiscardBatchAsync" cudaMemDiscardBatchAsync(null(), it.room(), 1, 0, it.on);
        }
        "pools" {
            "DeviceGetDefaultMemPool" cudaDeviceGetDefaultMemPool(null(), 0);
            "DeviceGetMemPool" cudaDeviceGetMemPool(null(), 0);
            "DeviceSetMemPool" cudaDeviceSetMemPool(0, null());
            "MemGetMemPool" cudaMemGetMemPool(null(), it.room(), sys::cudaMemAllocationTypePinned);
            "MemGetMemPool, place" cudaMemGetMemPool(it.room(), null(), sys::cudaMemAllocationTypePinned);
            "MemGetDefaultMemPool, place"
                cudaMemGetDefaultMemPool(it.room(), null(), sys::cudaMemAllocationTypePinned);
            "MemSetMemPool, place" cudaMemSetMemPool(null(), sys::cudaMemAllocationTypePinned, it.pool);
            "MemPoolCreate" cudaMemPoolCreate(null(), it.room());
            "MemPoolCreate, properties" cudaMemPoolCreate(it.room(), null());
            "MemPoolDestroy" cudaMemPoolDestroy(null());
            "MemPoolTrimTo" cudaMemPoolTrimTo(null(), 0);
            "MemPoolGetAttribute"
                cudaMemPoolGetAttribute(it.pool, sys::cudaMemPoolAttrReleaseThreshold, null());
            "MemPoolGetAttribute, pool"
                cudaMemPoolGetAttribute(null(), sys::cudaMemPoolAttrReleaseThreshold, it.room());
            "MemPoolGetAttribute, none such"
                cudaMemPoolGetAttribute(it.pool, sys::cudaMemPoolAttr(99), null());
            "MemPoolSetAttribute, none such"
                cudaMemPoolSetAttribute(it.pool, sys::cudaMemPoolAttr(99), null());
            "MemPoolSetAttribute, pool"
                cudaMemPoolSetAttribute(null(), sys::cudaMemPoolAttrReleaseThreshold, it.room());
        }
        "access to pools" {
            "MemPoolSetAccess" cudaMemPoolSetAccess(it.pool, null(), 1);
            "MemPoolSetAccess, none" cudaMemPoolSetAccess(it.pool, null(), 0);
            "MemPoolSetAccess, none at an address" cudaMemPoolSetAccess(it.pool, it.room(), 0);
            "MemPoolSetAccess, pool" cudaMemPoolSetAccess(null(), it.room(), 1);
            "MemPoolGetAccess" cudaMemPoolGetAccess(null(), it.pool, (&raw const it.place).cast_mut());
            "MemPoolGetAccess, pool"
                cudaMemPoolGetAccess(it.room(), null(), (&raw const it.place).cast_mut());
            "MemPoolGetAccess, place" cudaMemPoolGetAccess(it.room(), it.pool, null());
            "MemPoolExportToShareableHandle"
                cudaMemPoolExportToShareableHandle(null(), it.pool,
                    sys::cudaMemHandleTypePosixFileDescriptor, 0);
            "MemPoolExportToShareableHandle, pool"
                cudaMemPoolExportToShareableHandle(it.room(), null(),
                    sys::cudaMemHandleTypePosixFileDescriptor, 0);
            "MemPoolImportFromShareableHandle"
                cudaMemPoolImportFromShareableHandle(null(), null(),
                    sys::cudaMemHandleTypePosixFileDescriptor, 0);
            "MemPoolExportPointer" cudaMemPoolExportPointer(null(), it.block.ptr());
            "MemPoolImportPointer" cudaMemPoolImportPointer(null(), it.pool, it.room());
        }
        "handles for other processes" {
            "IpcGetMemHandle" cudaIpcGetMemHandle(null(), it.block.ptr());
            "IpcGetMemHandle, memory" cudaIpcGetMemHandle(it.room(), null());
            "IpcOpenMemHandle" cudaIpcOpenMemHandle(null(), sys::cudaIpcMemHandle_t::default(), 1);
            "IpcGetEventHandle" cudaIpcGetEventHandle(null(), it.mark);
            "IpcGetEventHandle, event" cudaIpcGetEventHandle(it.room(), null());
            "IpcOpenEventHandle" cudaIpcOpenEventHandle(null(), sys::cudaIpcEventHandle_t::default());
            "IpcOpenEventHandle, zeros"
                cudaIpcOpenEventHandle(it.room(), sys::cudaIpcEventHandle_t::default());
        }
    }
}

fn devices() -> Calls {
    calls! { it;
        "devices" {
            "GetDeviceProperties" cudaGetDeviceProperties(null(), 0);
            "GetDeviceProperties, none such" cudaGetDeviceProperties(null(), 99);
            "ChooseDevice" cudaChooseDevice(null(), it.room());
            "ChooseDevice, wanted" cudaChooseDevice(it.room(), null());
            "DeviceGetAttribute" cudaDeviceGetAttribute(null(), sys::cudaDevAttrWarpSize, 0);
            "DeviceGetPCIBusId" cudaDeviceGetPCIBusId(null(), 13, 0);
            "DeviceGetPCIBusId, no room" cudaDeviceGetPCIBusId(it.room(), 0, 0);
            "DeviceGetByPCIBusId" cudaDeviceGetByPCIBusId(null(), NAME.as_ptr());
            "DeviceGetByPCIBusId, text" cudaDeviceGetByPCIBusId(it.room(), null());
            "DeviceGetLimit" cudaDeviceGetLimit(null(), sys::cudaLimitStackSize);
            "DeviceGetCacheConfig" cudaDeviceGetCacheConfig(null());
            "DeviceGetStreamPriorityRange, least" cudaDeviceGetStreamPriorityRange(null(), it.room());
            "DeviceGetP2PAttribute"
                cudaDeviceGetP2PAttribute(null(), sys::cudaDevP2PAttrAccessSupported, 0, 0);
            "DeviceCanAccessPeer" cudaDeviceCanAccessPeer(null(), 0, 0);
            "DeviceGetTexture1DLinearMaxWidth"
                cudaDeviceGetTexture1DLinearMaxWidth(null(), &raw const it.desc, 0);
            "DeviceGetTexture1DLinearMaxWidth, form"
                cudaDeviceGetTexture1DLinearMaxWidth(it.room(), null(), 0);
            "DeviceGetGraphMemAttribute"
                cudaDeviceGetGraphMemAttribute(0, sys::cudaGraphMemAttrUsedMemHigh, null());
            "DeviceSetGraphMemAttribute"
                cudaDeviceSetGraphMemAttribute(0, sys::cudaGraphMemAttrUsedMemHigh, null());
            "GetDeviceFlags" cudaGetDeviceFlags(null());
            "DriverGetVersion" cudaDriverGetVersion(null());
            "RuntimeGetVersion" cudaRuntimeGetVersion(null());
            "SetValidDevices" cudaSetValidDevices(null(), 1);
            "SetValidDevices, none" cudaSetValidDevices(null(), 0);
        }
        "streams" {
            "StreamCreateWithFlags" cudaStreamCreateWithFlags(null(), 0);
            "StreamCreateWithFlags, flags" cudaStreamCreateWithFlags(null(), 99);
            "StreamCreateWithPriority" cudaStreamCreateWithPriority(null(), 0, 0);
            "StreamGetFlags" cudaStreamGetFlags(it.on, null());
            "StreamGetPriority" cudaStreamGetPriority(it.on, null());
            "StreamGetId" cudaStreamGetId(it.on, null());
            "StreamGetDevice" cudaStreamGetDevice(it.on, null());
            "StreamGetAttribute" cudaStreamGetAttribute(it.on, sys::cudaLaunchAttributePriority, null());
            "StreamGetAttribute, none such"
                cudaStreamGetAttribute(it.on, sys::cudaLaunchAttributeID(99), null());
            "StreamSetAttribute" cudaStreamSetAttribute(it.on, sys::cudaLaunchAttributePriority, null());
            "StreamAddCallback" cudaStreamAddCallback(it.on, None, null(), 0);
            "LaunchHostFunc" cudaLaunchHostFunc(it.on, None, null());
            "StreamWaitEvent" cudaStreamWaitEvent(it.on, null(), 0);
            "StreamDestroy" cudaStreamDestroy(null());
        }
        "events" {
            "EventCreate" cudaEventCreate(null());
            "EventCreateWithFlags, flags" cudaEventCreateWithFlags(null(), 99);
            "EventRecord" cudaEventRecord(null(), it.on);
            "EventRecordWithFlags" cudaEventRecordWithFlags(null(), it.on, 0);
            "EventQuery" cudaEventQuery(null());
            "EventSynchronize" cudaEventSynchronize(null());
            "EventDestroy" cudaEventDestroy(null());
            "EventElapsedTime" cudaEventElapsedTime(null(), it.mark, it.mark);
            "EventElapsedTime, events" cudaEventElapsedTime(it.room(), null(), null());
        }
        "captures" {
            "StreamIsCapturing" cudaStreamIsCapturing(it.on, null());
            "StreamGetCaptureInfo"
                cudaStreamGetCaptureInfo(it.on, null(), it.room(), null(), null(), null(), null());
            "StreamUpdateCaptureDependencies"
                cudaStreamUpdateCaptureDependencies(it.on, null(), null(), 1, 0);
            "StreamBeginCaptureToGraph"
                cudaStreamBeginCaptureToGraph(it.on, null(), null(), null(), 0,
                    sys::cudaStreamCaptureModeGlobal);
            "StreamBeginCaptureToGraph, nodes"
                cudaStreamBeginCaptureToGraph(it.on, it.graph, null(), null(), 1,
                    sys::cudaStreamCaptureModeGlobal);
            "StreamEndCapture" cudaStreamEndCapture(it.on, null());
            "StreamBeginCapture, default" cudaStreamBeginCapture(null(), sys::cudaStreamCaptureModeGlobal);
            "ThreadExchangeStreamCaptureMode" cudaThreadExchangeStreamCaptureMode(null());
        }
        "launches" {
            "LaunchKernel" cudaLaunchKernel(null(), ONE, ONE, null(), 0, it.on);
            "LaunchCooperativeKernel" cudaLaunchCooperativeKernel(null(), ONE, ONE, null(), 0, it.on);
            "LaunchKernelExC, kernel" cudaLaunchKernelExC(it.room(), null(), null());
            "FuncGetAttributes" cudaFuncGetAttributes(null(), it.kernel());
            "FuncGetAttributes, kernel" cudaFuncGetAttributes(it.room(), null());
            "FuncSetAttribute"
                cudaFuncSetAttribute(null(), sys::cudaFuncAttributeMaxDynamicSharedMemorySize, 0);
            "FuncSetCacheConfig" cudaFuncSetCacheConfig(null(), sys::cudaFuncCachePreferL1);
            "FuncGetName" cudaFuncGetName(null(), it.kernel());
            "FuncGetName, kernel" cudaFuncGetName(it.room(), null());
            "FuncGetParamInfo" cudaFuncGetParamInfo(it.kernel(), 0, null(), null());
            "GetFuncBySymbol" cudaGetFuncBySymbol(null(), it.kernel());
            "GetFuncBySymbol, kernel" cudaGetFuncBySymbol(it.room(), null());
            "GetKernel" cudaGetKernel(null(), it.kernel());
            "GetKernel, kernel" cudaGetKernel(it.room(), null());
            "OccupancyMaxActiveBlocksPerMultiprocessor"
                cudaOccupancyMaxActiveBlocksPerMultiprocessor(null(), it.kernel(), 32, 0);
            "OccupancyMaxActiveBlocksPerMultiprocessor, kernel"
                cudaOccupancyMaxActiveBlocksPerMultiprocessor(it.room(), null(), 32, 0);
            "OccupancyAvailableDynamicSMemPerBlock"
                cudaOccupancyAvailableDynamicSMemPerBlock(null(), it.kernel(), 1, 32);
            "OccupancyMaxActiveClusters" cudaOccupancyMaxActiveClusters(it.room(), it.kernel(), null());
            "OccupancyMaxPotentialClusterSize"
                cudaOccupancyMaxPotentialClusterSize(it.room(), it.kernel(), null());
        }
        "textures" {
            "CreateTextureObject" cudaCreateTextureObject(null(), it.room(), it.room(), null());
            "CreateTextureObject, memory" cudaCreateTextureObject(it.room(), null(), it.room(), null());
            "CreateTextureObject, texture" cudaCreateTextureObject(it.room(), it.room(), null(), null());
            "CreateSurfaceObject" cudaCreateSurfaceObject(null(), it.room());
            "CreateSurfaceObject, memory" cudaCreateSurfaceObject(it.room(), null());
            "GetTextureObjectResourceDesc" cudaGetTextureObjectResourceDesc(it.room(), 0);
            "GetTextureObjectTextureDesc" cudaGetTextureObjectTextureDesc(it.room(), 0);
            "GetSurfaceObjectResourceDesc" cudaGetSurfaceObjectResourceDesc(it.room(), 0);
            "DestroyTextureObject" cudaDestroyTextureObject(0);
            "DestroySurfaceObject" cudaDestroySurfaceObject(0);
        }
        "pictures of other interfaces" {
            "GraphicsResourceGetMappedPointer" cudaGraphicsResourceGetMappedPointer(null(), null(), null());
            "GraphicsSubResourceGetMappedArray" cudaGraphicsSubResourceGetMappedArray(null(), null(), 0, 0);
            "GraphicsResourceGetMappedMipmappedArray"
                cudaGraphicsResourceGetMappedMipmappedArray(null(), null());
            "DeviceGetNvSciSyncAttributes, a list" cudaDeviceGetNvSciSyncAttributes(it.room(), 0, 1);
            "DestroyExternalMemory" cudaDestroyExternalMemory(null());
            "ExternalMemoryGetMappedBuffer" cudaExternalMemoryGetMappedBuffer(it.room(), null(), it.room());
            "ExternalMemoryGetMappedMipmappedArray"
                cudaExternalMemoryGetMappedMipmappedArray(it.room(), null(), it.room());
            "ImportExternalMemory" cudaImportExternalMemory(it.room(), null());
            "WaitExternalSemaphoresAsync, no list" cudaWaitExternalSemaphoresAsync(null(), null(), 1, it.on);
            "SignalExternalSemaphoresAsync, no list"
                cudaSignalExternalSemaphoresAsync(null(), null(), 1, it.on);
        }
    }
}

fn graphs() -> Calls {
    calls! { it;
        "graphs" {
            "GraphCreate" cudaGraphCreate(null(), 0);
            "GraphDestroy" cudaGraphDestroy(null());
            "GraphClone" cudaGraphClone(null(), it.graph);
            "GraphClone, graph" cudaGraphClone(it.room(), null());
            "GraphGetNodes, graph" cudaGraphGetNodes(null(), null(), it.room());
            "GraphGetNodes, number" cudaGraphGetNodes(it.graph, null(), null());
            "GraphGetRootNodes, graph" cudaGraphGetRootNodes(null(), null(), it.room());
            "GraphGetRootNodes, number" cudaGraphGetRootNodes(it.graph, null(), null());
            "GraphGetEdges, graph" cudaGraphGetEdges(null(), null(), null(), null(), it.room());
            "GraphGetEdges, number" cudaGraphGetEdges(it.graph, null(), null(), null(), null());
            "GraphAddDependencies"
                cudaGraphAddDependencies(null(), &raw const it.node, &raw const it.node, null(), 1);
            "GraphAddDependencies, nodes" cudaGraphAddDependencies(it.graph, null(), null(), null(), 1);
            "GraphAddDependencies, none" cudaGraphAddDependencies(it.graph, null(), null(), null(), 0);
            "GraphRemoveDependencies"
                cudaGraphRemoveDependencies(null(), &raw const it.node, &raw const it.node, null(), 1);
            "GraphRemoveDependencies, nodes" cudaGraphRemoveDependencies(it.graph, null(), null(), null(), 1);
            "GraphDebugDotPrint" cudaGraphDebugDotPrint(it.graph, null(), 0);
        }
        "nodes" {
            "GraphNodeGetType" cudaGraphNodeGetType(it.node, null());
            "GraphNodeGetType, node" cudaGraphNodeGetType(null(), it.room());
            "GraphNodeGetDependentNodes" cudaGraphNodeGetDependentNodes(null(), null(), null(), it.room());
            "GraphNodeGetDependentNodes, number"
                cudaGraphNodeGetDependentNodes(it.node, null(), null(), null());
            "GraphNodeFindInClone" cudaGraphNodeFindInClone(null(), it.node, it.graph);
            "GraphNodeFindInClone, node" cudaGraphNodeFindInClone(it.room(), null(), it.graph);
            "GraphNodeFindInClone, clone" cudaGraphNodeFindInClone(it.room(), it.node, null());
            "GraphDestroyNode" cudaGraphDestroyNode(null());
            "GraphKernelNodeGetParams" cudaGraphKernelNodeGetParams(null(), it.room());
            "GraphKernelNodeSetParams" cudaGraphKernelNodeSetParams(null(), it.room());
            "GraphKernelNodeCopyAttributes" cudaGraphKernelNodeCopyAttributes(null(), null());
            "GraphMemcpyNodeGetParams" cudaGraphMemcpyNodeGetParams(null(), it.room());
            "GraphMemsetNodeGetParams" cudaGraphMemsetNodeGetParams(null(), it.room());
            "GraphMemsetNodeSetParams" cudaGraphMemsetNodeSetParams(null(), null());
            "GraphHostNodeGetParams" cudaGraphHostNodeGetParams(null(), it.room());
            "GraphChildGraphNodeGetGraph" cudaGraphChildGraphNodeGetGraph(null(), it.room());
            "GraphEventRecordNodeGetEvent" cudaGraphEventRecordNodeGetEvent(null(), it.room());
            "GraphMemAllocNodeGetParams" cudaGraphMemAllocNodeGetParams(null(), it.room());
            "GraphMemFreeNodeGetParams" cudaGraphMemFreeNodeGetParams(null(), it.room());
        }
        "new nodes" {
            "GraphAddEmptyNode" cudaGraphAddEmptyNode(null(), it.graph, null(), 0);
            "GraphAddEmptyNode, graph" cudaGraphAddEmptyNode(it.room(), null(), null(), 0);
            "GraphAddEmptyNode, nodes" cudaGraphAddEmptyNode(it.room(), it.graph, null(), 1);
            "GraphAddKernelNode" cudaGraphAddKernelNode(it.room(), it.graph, null(), 0, null());
            "GraphAddKernelNode, graph" cudaGraphAddKernelNode(it.room(), null(), null(), 0, it.room());
            "GraphAddMemcpyNode" cudaGraphAddMemcpyNode(it.room(), it.graph, null(), 0, null());
            "GraphAddMemcpyNode1D, graph"
                cudaGraphAddMemcpyNode1D(it.room(), null(), null(), 0, it.block.ptr(), it.block.ptr(), 4,
                    sys::cudaMemcpyDefault);
            "GraphAddMemcpyNode1D, source"
                cudaGraphAddMemcpyNode1D(it.room(), it.graph, null(), 0, it.block.ptr(), null(), 4, UP);
            "GraphAddMemsetNode" cudaGraphAddMemsetNode(it.room(), it.graph, null(), 0, null());
            "GraphAddHostNode" cudaGraphAddHostNode(it.room(), it.graph, null(), 0, null());
            "GraphAddHostNode, function" cudaGraphAddHostNode(it.room(), it.graph, null(), 0, it.room());
            "GraphAddChildGraphNode" cudaGraphAddChildGraphNode(it.room(), it.graph, null(), 0, null());
            "GraphAddChildGraphNode, itself"
                cudaGraphAddChildGraphNode(it.room(), it.graph, null(), 0, it.graph);
            "GraphAddEventRecordNode" cudaGraphAddEventRecordNode(it.room(), it.graph, null(), 0, null());
            "GraphAddEventWaitNode" cudaGraphAddEventWaitNode(it.room(), it.graph, null(), 0, null());
            "GraphAddMemAllocNode" cudaGraphAddMemAllocNode(it.room(), it.graph, null(), 0, null());
            "GraphAddMemFreeNode" cudaGraphAddMemFreeNode(it.room(), it.graph, null(), 0, null());
            "GraphAddNode" cudaGraphAddNode(it.room(), it.graph, null(), null(), 0, null());
        }
        "executable graphs" {
            "GraphInstantiate" cudaGraphInstantiate(null(), it.graph, 0);
            "GraphInstantiate, graph" cudaGraphInstantiate(it.room(), null(), 0);
            "GraphInstantiateWithParams" cudaGraphInstantiateWithParams(it.room(), it.graph, null());
            "GraphExecGetFlags" cudaGraphExecGetFlags(null(), it.room());
            "GraphExecGetFlags, answer" cudaGraphExecGetFlags(it.run, null());
            "GraphLaunch" cudaGraphLaunch(null(), it.on);
            "GraphUpload" cudaGraphUpload(null(), it.on);
            "GraphExecDestroy" cudaGraphExecDestroy(null());
            "GraphExecUpdate" cudaGraphExecUpdate(it.run, null(), it.room());
            "GraphExecUpdate, result" cudaGraphExecUpdate(it.run, it.graph, null());
            "GraphExecUpdate, graphs" cudaGraphExecUpdate(null(), it.graph, it.room());
            "GraphExecKernelNodeSetParams" cudaGraphExecKernelNodeSetParams(null(), it.node, it.room());
            "GraphExecKernelNodeSetParams, node" cudaGraphExecKernelNodeSetParams(it.run, null(), it.room());
            "GraphExecMemsetNodeSetParams, node" cudaGraphExecMemsetNodeSetParams(it.run, null(), it.room());
            "GraphExecChildGraphNodeSetParams, graph"
                cudaGraphExecChildGraphNodeSetParams(it.run, it.node, null());
            "GraphNodeGetEnabled" cudaGraphNodeGetEnabled(null(), it.node, it.room());
            "GraphNodeGetEnabled, node" cudaGraphNodeGetEnabled(it.run, null(), it.room());
            "GraphNodeSetEnabled" cudaGraphNodeSetEnabled(null(), it.node, 1);
            "UserObjectCreate" cudaUserObjectCreate(null(), null(), None, 1, 1);
            "UserObjectCreate, function" cudaUserObjectCreate(it.room(), null(), None, 1, 1);
            "GraphRetainUserObject" cudaGraphRetainUserObject(it.graph, null(), 1, 0);
            "ThreadExchangeStreamCaptureMode" cudaThreadExchangeStreamCaptureMode(null());
        }
    }
}

/// Calls after a kernel that has ended the context, most of them right but for that.
fn fault() -> Calls {
    calls! { it;
        "after a fault" {
            "DeviceSynchronize" cudaDeviceSynchronize();
            "GetDeviceCount" cudaGetDeviceCount(it.room());
            "GetDeviceProperties" cudaGetDeviceProperties(it.room(), 0);
            "DeviceGetAttribute" cudaDeviceGetAttribute(it.room(), sys::cudaDevAttrWarpSize, 0);
            "DriverGetVersion" cudaDriverGetVersion(it.room());
            "GetDeviceFlags" cudaGetDeviceFlags(it.room());
            "SetDeviceFlags" cudaSetDeviceFlags(0);
            "DeviceGetLimit" cudaDeviceGetLimit(it.room(), sys::cudaLimitStackSize);
            "DeviceGetCacheConfig" cudaDeviceGetCacheConfig(it.room());
            "DeviceGetStreamPriorityRange" cudaDeviceGetStreamPriorityRange(it.room(), it.room());
            "DeviceCanAccessPeer" cudaDeviceCanAccessPeer(it.room(), 0, 0);
            "DeviceGetDefaultMemPool" cudaDeviceGetDefaultMemPool(it.room(), 0);
            "DeviceGetGraphMemAttribute"
                cudaDeviceGetGraphMemAttribute(0, sys::cudaGraphMemAttrUsedMemHigh, it.room());
            "Malloc" cudaMalloc(it.room(), BYTES);
            "Malloc, null" cudaMalloc(null(), BYTES);
            "HostAlloc" cudaHostAlloc(it.room(), BYTES, 0);
            "FreeHost" cudaFreeHost(it.pinned.ptr());
            "FreeHost, null" cudaFreeHost(null());
            "MallocManaged" cudaMallocManaged(it.room(), BYTES, 1);
            "MallocArray" cudaMallocArray(it.room(), &raw const it.desc, 4, 4, 0);
            "FreeArray" cudaFreeArray(it.array);
            "MemPoolCreate, null" cudaMemPoolCreate(null(), it.room());
            "MemPoolTrimTo" cudaMemPoolTrimTo(it.pool, 0);
            "MemPoolDestroy" cudaMemPoolDestroy(it.pool);
            "PointerGetAttributes" cudaPointerGetAttributes(it.room(), it.block.ptr());
            "HostGetFlags" cudaHostGetFlags(it.room(), it.managed.ptr());
            "StreamGetFlags" cudaStreamGetFlags(it.on, it.room());
            "StreamGetPriority" cudaStreamGetPriority(it.on, it.room());
            "StreamGetId" cudaStreamGetId(it.on, it.room());
            "StreamBeginCapture" cudaStreamBeginCapture(it.on, sys::cudaStreamCaptureModeGlobal);
            "StreamCreate, null" cudaStreamCreate(null());
            "EventElapsedTime" cudaEventElapsedTime(it.room(), it.mark, it.mark);
            "EventSynchronize" cudaEventSynchronize(it.mark);
            "GraphCreate" cudaGraphCreate(it.room(), 0);
            "GraphAddEmptyNode" cudaGraphAddEmptyNode(it.room(), it.graph, null(), 0);
            "GraphGetNodes" cudaGraphGetNodes(it.graph, null(), it.room());
            "GraphInstantiate" cudaGraphInstantiate(it.room(), it.graph, 0);
            "GraphLaunch" cudaGraphLaunch(it.run, it.on);
            "GraphExecDestroy" cudaGraphExecDestroy(it.run);
            "GraphDestroy" cudaGraphDestroy(it.graph);
            "FuncGetAttributes" cudaFuncGetAttributes(it.room(), it.kernel());
            "FuncSetCacheConfig" cudaFuncSetCacheConfig(it.kernel(), sys::cudaFuncCachePreferL1);
            "OccupancyMaxActiveBlocksPerMultiprocessor"
                cudaOccupancyMaxActiveBlocksPerMultiprocessor(it.room(), it.kernel(), 32, 0);
            "GetSymbolAddress" cudaGetSymbolAddress(it.room(), null());
            "DestroyTextureObject" cudaDestroyTextureObject(0);
            "IpcGetMemHandle" cudaIpcGetMemHandle(it.room(), it.block.ptr());
            "ThreadExchangeStreamCaptureMode" cudaThreadExchangeStreamCaptureMode(it.room());
            "MemcpyAsync, no bytes" cudaMemcpyAsync(null(), null(), 0, UP, it.on);
            "LaunchHostFunc, null" cudaLaunchHostFunc(it.on, None, null());
            "GetLastError" cudaGetLastError();
        }
    }
}

/// What is asked after the device was reset, of the objects of before. Streams, events and arrays are left
/// out: their codes differ from one run to the next, and some calls end the process.
fn reset() -> Calls {
    calls! { it;
        "after a reset" {
            "a launch of a graph" cudaGraphLaunch(it.run, null());
            "the end of an executable graph" cudaGraphExecDestroy(it.run);
            "a new executable graph" cudaGraphInstantiate(it.room(), it.graph, 0);
            "the end of a graph" cudaGraphDestroy(it.graph);
            "memory of a pool" cudaMallocFromPoolAsync(it.room(), BYTES, it.pool, null());
            "the end of a pool" cudaMemPoolDestroy(it.pool);
            "the end of memory" cudaFreeAsync(it.block.ptr(), null());
        }
    }
}

/// What is asked of a stream, an event, a graph and a pool that were destroyed.
fn gone() -> Calls {
    calls! { it;
        "destroyed objects" {
            "a query of a stream" cudaStreamQuery(it.on);
            "a wait for a stream" cudaStreamSynchronize(it.on);
            "the end of a stream" cudaStreamDestroy(it.on);
            "work of a stream" cudaMemsetAsync(it.block.ptr(), 0, BYTES, it.on);
            "a record of an event" cudaEventRecord(it.mark, null());
            "a query of an event" cudaEventQuery(it.mark);
            "the end of an event" cudaEventDestroy(it.mark);
            "a launch of a graph" cudaGraphLaunch(it.run, null());
            "the end of an executable graph" cudaGraphExecDestroy(it.run);
            "a new executable graph" cudaGraphInstantiate(it.room(), it.graph, 0);
            "the end of a graph" cudaGraphDestroy(it.graph);
            "nodes of a graph" cudaGraphGetNodes(it.graph, null(), it.room());
            "memory of a pool" cudaMallocFromPoolAsync(it.room(), BYTES, it.pool, null());
            "the end of a pool" cudaMemPoolDestroy(it.pool);
        }
    }
}

/// The groups, and whether each call needs a process of its own.
fn all() -> Vec<(Calls, bool)> {
    vec![
        (memory(), false),
        (devices(), false),
        (graphs(), false),
        (fault(), false),
        (reset(), true),
        (gone(), true),
    ]
}

pub(super) fn add(cases: &mut Cases) {
    for (calls, alone) in all() {
        for (group, calls) in calls {
            let names: Vec<&str> = calls.into_iter().map(|it| it.0).collect();
            let what = if alone { "handles" } else { "codes" };
            let ask = move |log: &mut Log| {
                ask_all(log, group, &names, alone);
                Ok(())
            };
            cases.add(format!("{what}/{group}"), ask).alone();
        }
    }
    captured(cases);
    cases.help(CALLER, call);
}

/// Wrong work that a capture may take: whether it does, and what becomes of the graph.
fn captured(cases: &mut Cases) {
    let calls = calls! { it;
        "in a capture" {
            "a set of null" cudaMemsetAsync(null(), 0, BYTES, it.on);
            "a set of more than there is" cudaMemsetAsync(it.block.ptr(), 0, 1 << 30, it.on);
            "a set of pageable memory" cudaMemsetAsync(it.room(), 0, BYTES, it.on);
            "rows set that overlap" cudaMemset2DAsync(it.block.ptr(), 4, 0, 8, 2, it.on);
            "a copy from null" cudaMemcpyAsync(it.block.ptr(), null(), BYTES, UP, it.on);
            "a copy of more than there is"
                cudaMemcpyAsync(it.pinned.ptr(), it.block.ptr(), 1 << 30, sys::cudaMemcpyDeviceToHost, it.on);
            "a copy in the wrong direction"
                cudaMemcpyAsync(it.block.ptr(), it.room(), BYTES, sys::cudaMemcpyDeviceToDevice, it.on);
            "a copy of no direction"
                cudaMemcpyAsync(it.block.ptr(), it.room(), BYTES, sys::cudaMemcpyKind(9), it.on);
            "too many threads" cudaLaunchKernel(it.kernel(), ONE, dim3 { x: 2048, ..ONE }, null(), 0, it.on);
            "a kernel of null" cudaLaunchKernel(null(), ONE, ONE, null(), 0, it.on);
            "a host function of null" cudaLaunchHostFunc(it.on, None, null());
            "a record of null" cudaEventRecord(null(), it.on);
            "a free of other memory" cudaFreeAsync(it.pinned.ptr(), it.on);
            "a graph of null" cudaGraphLaunch(null(), it.on);
        }
    };
    for (name, call) in calls.into_iter().flat_map(|it| it.1) {
        let run = move |log: &mut Log| {
            let (it, mut graph, mut run) = (Objects::new(log)?, null(), null());
            need!(log, cudaStreamBeginCapture(it.on, sys::cudaStreamCaptureModeGlobal));
            log.code("call", call(&it));
            ask!(log, cudaStreamEndCapture(it.on, &raw mut graph));
            if !graph.is_null() {
                ask!(log, cudaGraphInstantiate(&raw mut run, graph, 0));
            }
            if !run.is_null() {
                ask!(log, cudaGraphLaunch(run, it.on));
                ask!(log, cudaStreamSynchronize(it.on));
            }
            Ok(())
        };
        cases.add(format!("codes/in a capture, {name}"), run).alone();
    }
}

/// Makes the calls of a group, and notes their codes.
fn ask_all(log: &mut Log, group: &str, names: &[&str], alone: bool) {
    let ask = |names: &[&str]| beside(CALLER, &format!("{group}|{}", names.join("|")));
    let answer = if alone { ENDS.to_owned() } else { ask(names) };
    let answers: Vec<String> =
        if answer.starts_with(ENDS) { names.iter().map(|name| ask(&[name])).collect() } else { vec![answer] };
    let mut codes =
        answers.iter().flat_map(|answer| answer.split("; ")).filter(|it| !it.starts_with("last="));
    for name in names {
        let code = codes.next().unwrap_or_default();
        log.fact(name, code.strip_prefix(&format!("{name}=")).unwrap_or(ENDS));
    }
}

fn call(log: &mut Log) -> Outcome {
    let (it, handed) = (Objects::new(log)?, handed());
    let (group, names) = handed.split_once('|').unwrap_or_default();
    match group {
        "after a fault" => {
            need!(log, cudaLaunchKernel(case_trap as *const c_void, ONE, ONE, null(), 0, null()));
            // SAFETY: takes nothing.
            unsafe { sys::cudaDeviceSynchronize() };
        }
        "after a reset" => need!(log, cudaDeviceReset()),
        "destroyed objects" => {
            need!(log, cudaStreamDestroy(it.on));
            need!(log, cudaEventDestroy(it.mark));
            need!(log, cudaGraphExecDestroy(it.run));
            need!(log, cudaGraphDestroy(it.graph));
            need!(log, cudaMemPoolDestroy(it.pool));
        }
        _ => {}
    }
    let calls: Vec<_> = all().into_iter().flat_map(|it| it.0).filter(|it| it.0 == group).collect();
    for name in names.split('|') {
        let call = calls.iter().flat_map(|it| &it.1).find(|it| it.0 == name);
        log.fact(name, call.map_or_else(|| "no such call".to_owned(), |call| error_name((call.1)(&it))));
        // SAFETY: takes nothing.
        unsafe { sys::cudaGetLastError() };
    }
    Ok(())
}
