//! The same right calls in three states: while a stream captures, while a stream is held, and after a fault.
//! So they show which functions a capture forbids, which wait, and which a fault does not stop.

use std::ffi::c_void;
use std::ptr;

use cuda_sys as sys;
use cuda_sys::{cudaError_t, cudaGraph_t, cudaGraphExec_t, cudaGraphNode_t, cudaStream_t};

use super::code::{BYTES, Calls, ONE, Objects, UP, calls};
use super::texture;
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Outcome, Setup, error_name, need};
use crate::memory::{Block, Kind, stream, stream_with};

unsafe extern "C" {
    fn case_trap();
    fn case_constant_symbol() -> *const c_void;
}

unsafe extern "C" fn nothing(_: *mut c_void) {}
unsafe extern "C" fn called(_: cudaStream_t, _: cudaError_t, _: *mut c_void) {}

fn null<T>() -> *mut T {
    ptr::null_mut()
}

/// One of each object, some of which calls give up.
struct Things {
    it: Objects,
    /// A stream that nothing holds or captures.
    on: cudaStream_t,
    gone: cudaStream_t,
    timed: [sys::cudaEvent_t; 2],
    shared: sys::cudaEvent_t,
    image: sys::cudaResourceDesc,
    like: sys::cudaTextureDesc,
    texture: u64,
    surface: u64,
    levels: sys::cudaMipmappedArray_t,
    spare: [Block; 2],
    pageable: Block,
    registered: Block,
    of_pool: Block,
    graph: cudaGraph_t,
    nodes: [cudaGraphNode_t; 4],
    run: cudaGraphExec_t,
    user: sys::cudaUserObject_t,
    kernel: sys::cudaKernelNodeParams,
    fill: sys::cudaMemsetParams,
    host: sys::cudaHostNodeParams,
    solid: sys::cudaMemcpy3DParms,
    config: sys::cudaLaunchConfig_t,
    pools: sys::cudaMemPoolProps,
    access: sys::cudaMemAccessDesc,
}

impl Things {
    fn new(log: &mut Log) -> Result<Self, Setup> {
        let it = Objects::new(log)?;
        let (mut timed, mut shared) = ([null(); 2], null());
        for mark in &mut timed {
            need!(log, cudaEventCreate(mark));
            need!(log, cudaEventRecord(*mark, null()));
        }
        let flags = sys::cudaEventInterprocess | sys::cudaEventDisableTiming;
        need!(log, cudaEventCreateWithFlags(&raw mut shared, flags));
        let (image, like) = (texture::of_array(it.array), texture::plain());
        let (mut texture, mut surface, mut levels) = (0, 0, null());
        need!(log, cudaCreateTextureObject(&raw mut texture, &raw const image, &raw const like, null()));
        need!(log, cudaCreateSurfaceObject(&raw mut surface, &raw const image));
        let extent = sys::make_cudaExtent(8, 8, 0);
        need!(log, cudaMallocMipmappedArray(&raw mut levels, &raw const it.desc, extent, 2, 0));
        let kernel = sys::cudaKernelNodeParams {
            func: it.kernel().cast_mut(),
            gridDim: ONE,
            blockDim: ONE,
            sharedMemBytes: 0,
            kernelParams: null(),
            extra: null(),
        };
        let fill = sys::cudaMemsetParams {
            dst: it.block.ptr(),
            pitch: 0,
            value: 1,
            elementSize: 1,
            width: BYTES,
            height: 1,
        };
        let host = sys::cudaHostNodeParams { fn_: Some(nothing), userData: null() };
        let side = |block: Block| sys::make_cudaPitchedPtr(block.ptr(), BYTES, BYTES, 2);
        let solid = sys::cudaMemcpy3DParms {
            srcPtr: side(it.pinned),
            dstPtr: side(it.block),
            extent: sys::make_cudaExtent(BYTES, 2, 1),
            kind: UP,
            ..Default::default()
        };
        let (mut graph, mut nodes, mut run, mut user) = (null(), [null(); 4], null(), null());
        need!(log, cudaGraphCreate(&raw mut graph, 0));
        need!(log, cudaGraphAddKernelNode(&raw mut nodes[0], graph, null(), 0, &raw const kernel));
        let (to, from) = (it.block.ptr(), it.pinned.ptr());
        need!(log, cudaGraphAddMemcpyNode1D(&raw mut nodes[1], graph, null(), 0, to, from, BYTES, UP));
        need!(log, cudaGraphAddMemsetNode(&raw mut nodes[2], graph, null(), 0, &raw const fill));
        need!(log, cudaGraphAddHostNode(&raw mut nodes[3], graph, null(), 0, &raw const host));
        need!(log, cudaGraphInstantiate(&raw mut run, graph, 0));
        need!(log, cudaUserObjectCreate(&raw mut user, null(), Some(nothing), 4, 1));
        let config = sys::cudaLaunchConfig_t { gridDim: ONE, blockDim: ONE, ..Default::default() };
        let pools = sys::cudaMemPoolProps {
            allocType: sys::cudaMemAllocationTypePinned,
            location: it.place,
            handleTypes: sys::cudaMemHandleTypePosixFileDescriptor,
            ..Default::default()
        };
        let access =
            sys::cudaMemAccessDesc { location: it.place, flags: sys::cudaMemAccessFlagsProtReadWrite };
        let things = Self {
            on: stream(log)?,
            gone: stream(log)?,
            timed,
            shared,
            image,
            like,
            texture,
            surface,
            levels,
            spare: [Block::new(log, Kind::Device, 4096)?, Block::new(log, Kind::Pinned, 4096)?],
            pageable: Block::new(log, Kind::Pageable, 4096)?,
            registered: Block::new(log, Kind::Registered, 4096)?,
            of_pool: Block::new(log, Kind::Pool, 4096)?,
            graph,
            nodes,
            run,
            user,
            kernel,
            fill,
            host,
            solid,
            config,
            pools,
            access,
            it,
        };
        need!(log, cudaDeviceSynchronize());
        Ok(things)
    }

    fn room<T>(&self) -> *mut T {
        self.it.room()
    }
}

fn memory() -> Calls<Things> {
    calls! { a: Things;
        "allocations" {
            "Malloc" cudaMalloc(a.room(), BYTES);
            "MallocPitch" cudaMallocPitch(a.room(), a.room(), BYTES, 2);
            "Malloc3D" cudaMalloc3D(a.room(), sys::make_cudaExtent(8, 2, 2));
            "MallocHost" cudaMallocHost(a.room(), BYTES);
            "HostAlloc" cudaHostAlloc(a.room(), BYTES, 0);
            "MallocManaged" cudaMallocManaged(a.room(), BYTES, 1);
            "MallocArray" cudaMallocArray(a.room(), &raw const a.it.desc, 4, 4, 0);
            "Malloc3DArray"
                cudaMalloc3DArray(a.room(), &raw const a.it.desc, sys::make_cudaExtent(4, 4, 4), 0);
            "MallocMipmappedArray"
                cudaMallocMipmappedArray(a.room(), &raw const a.it.desc, sys::make_cudaExtent(4, 4, 0), 1, 0);
            "MallocAsync" cudaMallocAsync(a.room(), BYTES, a.on);
            "MallocFromPoolAsync" cudaMallocFromPoolAsync(a.room(), BYTES, a.it.pool, a.on);
            "HostRegister" cudaHostRegister(a.pageable.ptr(), BYTES, 0);
            "HostUnregister" cudaHostUnregister(a.registered.ptr());
            "HostGetDevicePointer" cudaHostGetDevicePointer(a.room(), a.it.pinned.ptr(), 0);
            "HostGetFlags" cudaHostGetFlags(a.room(), a.it.pinned.ptr());
            "PointerGetAttributes" cudaPointerGetAttributes(a.room(), a.it.block.ptr());
            "MemGetInfo" cudaMemGetInfo(a.room(), a.room());
            "MemAdvise"
                cudaMemAdvise(a.it.managed.ptr(), BYTES, sys::cudaMemAdviseSetReadMostly, a.it.place);
            "MemPrefetchAsync" cudaMemPrefetchAsync(a.it.managed.ptr(), BYTES, a.it.place, 0, a.on);
            "MemRangeGetAttribute"
                cudaMemRangeGetAttribute(a.room(), 4, sys::cudaMemRangeAttributeReadMostly,
                    a.it.managed.ptr(), 4096);
            "StreamAttachMemAsync"
                cudaStreamAttachMemAsync(a.on, a.it.managed.ptr(), 0, sys::cudaMemAttachGlobal);
            "IpcGetMemHandle" cudaIpcGetMemHandle(a.room(), a.it.block.ptr());
            "Free, null" cudaFree(null());
            "FreeHost, null" cudaFreeHost(null());
            "FreeAsync" cudaFreeAsync(a.of_pool.ptr(), a.on);
            "Free" cudaFree(a.spare[0].ptr());
            "FreeHost" cudaFreeHost(a.spare[1].ptr());
        }
        "pools" {
            "DeviceGetDefaultMemPool" cudaDeviceGetDefaultMemPool(a.room(), 0);
            "DeviceGetMemPool" cudaDeviceGetMemPool(a.room(), 0);
            "MemGetDefaultMemPool"
                cudaMemGetDefaultMemPool(a.room(), (&raw const a.it.place).cast_mut(),
                    sys::cudaMemAllocationTypePinned);
            "MemPoolCreate" cudaMemPoolCreate(a.room(), &raw const a.pools);
            "MemPoolGetAttribute"
                cudaMemPoolGetAttribute(a.it.pool, sys::cudaMemPoolAttrReleaseThreshold, a.room());
            "MemPoolSetAttribute"
                cudaMemPoolSetAttribute(a.it.pool, sys::cudaMemPoolAttrReleaseThreshold, a.room());
            "MemPoolSetAccess" cudaMemPoolSetAccess(a.it.pool, &raw const a.access, 1);
            "MemPoolGetAccess"
                cudaMemPoolGetAccess(a.room(), a.it.pool, (&raw const a.it.place).cast_mut());
            "MemPoolExportPointer" cudaMemPoolExportPointer(a.room(), a.of_pool.ptr());
            "DeviceSetMemPool" cudaDeviceSetMemPool(0, a.it.pool);
            "MemPoolTrimTo" cudaMemPoolTrimTo(a.it.pool, 0);
            "MemPoolDestroy" cudaMemPoolDestroy(a.it.pool);
            "DeviceGetGraphMemAttribute"
                cudaDeviceGetGraphMemAttribute(0, sys::cudaGraphMemAttrUsedMemHigh, a.room());
            "DeviceGraphMemTrim" cudaDeviceGraphMemTrim(0);
        }
        "images" {
            "CreateTextureObject"
                cudaCreateTextureObject(a.room(), &raw const a.image, &raw const a.like, null());
            "CreateSurfaceObject" cudaCreateSurfaceObject(a.room(), &raw const a.image);
            "GetTextureObjectResourceDesc" cudaGetTextureObjectResourceDesc(a.room(), a.texture);
            "GetTextureObjectTextureDesc" cudaGetTextureObjectTextureDesc(a.room(), a.texture);
            "GetTextureObjectResourceViewDesc" cudaGetTextureObjectResourceViewDesc(a.room(), a.texture);
            "GetSurfaceObjectResourceDesc" cudaGetSurfaceObjectResourceDesc(a.room(), a.surface);
            "ArrayGetInfo" cudaArrayGetInfo(a.room(), a.room(), a.room(), a.it.array);
            "GetChannelDesc" cudaGetChannelDesc(a.room(), a.it.array.cast_const());
            "GetMipmappedArrayLevel" cudaGetMipmappedArrayLevel(a.room(), a.levels.cast_const(), 0);
            "DestroyTextureObject, none" cudaDestroyTextureObject(0);
            "DestroyTextureObject" cudaDestroyTextureObject(a.texture);
            "DestroySurfaceObject, none" cudaDestroySurfaceObject(0);
            "DestroySurfaceObject" cudaDestroySurfaceObject(a.surface);
            "FreeMipmappedArray" cudaFreeMipmappedArray(a.levels);
            "FreeArray" cudaFreeArray(a.it.array);
            "FreeArray, null" cudaFreeArray(null());
        }
        "memory of others" {
            "ImportExternalMemory" cudaImportExternalMemory(a.room(), null());
            "ExternalMemoryGetMappedBuffer" cudaExternalMemoryGetMappedBuffer(a.room(), null(), null());
            "ExternalMemoryGetMappedMipmappedArray"
                cudaExternalMemoryGetMappedMipmappedArray(a.room(), null(), null());
            "DestroyExternalMemory" cudaDestroyExternalMemory(null());
            "ImportExternalSemaphore" cudaImportExternalSemaphore(a.room(), null());
            "SignalExternalSemaphoresAsync" cudaSignalExternalSemaphoresAsync(null(), null(), 1, a.on);
            "WaitExternalSemaphoresAsync" cudaWaitExternalSemaphoresAsync(null(), null(), 1, a.on);
            "DestroyExternalSemaphore" cudaDestroyExternalSemaphore(null());
            "GraphicsMapResources" cudaGraphicsMapResources(1, null(), a.on);
            "GraphicsUnmapResources" cudaGraphicsUnmapResources(1, null(), a.on);
            "GraphicsUnregisterResource" cudaGraphicsUnregisterResource(null());
            "GraphicsResourceSetMapFlags" cudaGraphicsResourceSetMapFlags(null(), 0);
            "GraphicsResourceGetMappedPointer"
                cudaGraphicsResourceGetMappedPointer(a.room(), a.room(), null());
            "GraphicsSubResourceGetMappedArray" cudaGraphicsSubResourceGetMappedArray(a.room(), null(), 0, 0);
            "DeviceGetNvSciSyncAttributes" cudaDeviceGetNvSciSyncAttributes(a.room(), 0, 1);
            "IpcGetEventHandle" cudaIpcGetEventHandle(a.room(), a.shared);
            "IpcOpenEventHandle" cudaIpcOpenEventHandle(a.room(), sys::cudaIpcEventHandle_t::default());
            "IpcOpenMemHandle" cudaIpcOpenMemHandle(a.room(), sys::cudaIpcMemHandle_t::default(), 1);
            "IpcCloseMemHandle" cudaIpcCloseMemHandle(a.it.block.ptr());
        }
    }
}

fn devices() -> Calls<Things> {
    calls! { a: Things;
        "devices" {
            "SetDevice" cudaSetDevice(0);
            "GetDevice" cudaGetDevice(a.room());
            "GetDeviceCount" cudaGetDeviceCount(a.room());
            "GetDeviceProperties" cudaGetDeviceProperties(a.room(), 0);
            "DeviceGetAttribute" cudaDeviceGetAttribute(a.room(), sys::cudaDevAttrWarpSize, 0);
            "DeviceGetLimit" cudaDeviceGetLimit(a.room(), sys::cudaLimitStackSize);
            "DeviceSetLimit" cudaDeviceSetLimit(sys::cudaLimitStackSize, 1024);
            "DeviceGetCacheConfig" cudaDeviceGetCacheConfig(a.room());
            "DeviceSetCacheConfig" cudaDeviceSetCacheConfig(sys::cudaFuncCachePreferL1);
            "GetDeviceFlags" cudaGetDeviceFlags(a.room());
            "SetDeviceFlags" cudaSetDeviceFlags(0);
            "InitDevice" cudaInitDevice(0, 0, 0);
            "SetValidDevices" cudaSetValidDevices(null(), 0);
            "DeviceGetStreamPriorityRange" cudaDeviceGetStreamPriorityRange(a.room(), a.room());
            "DeviceCanAccessPeer" cudaDeviceCanAccessPeer(a.room(), 0, 0);
            "DeviceEnablePeerAccess" cudaDeviceEnablePeerAccess(0, 0);
            "DeviceDisablePeerAccess" cudaDeviceDisablePeerAccess(0);
            "DeviceGetPCIBusId" cudaDeviceGetPCIBusId(a.room(), 20, 0);
            "DriverGetVersion" cudaDriverGetVersion(a.room());
            "RuntimeGetVersion" cudaRuntimeGetVersion(a.room());
            "ProfilerStart" cudaProfilerStart();
            "ProfilerStop" cudaProfilerStop();
            "CtxResetPersistingL2Cache" cudaCtxResetPersistingL2Cache();
            "DeviceFlushGPUDirectRDMAWrites"
                cudaDeviceFlushGPUDirectRDMAWrites(sys::cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
                    sys::cudaFlushGPUDirectRDMAWritesToOwner);
            "PeekAtLastError" cudaPeekAtLastError();
        }
        "streams and events" {
            "StreamCreate" cudaStreamCreate(a.room());
            "StreamCreateWithFlags" cudaStreamCreateWithFlags(a.room(), 1);
            "StreamCreateWithPriority" cudaStreamCreateWithPriority(a.room(), 0, -1);
            "StreamGetFlags" cudaStreamGetFlags(a.on, a.room());
            "StreamGetPriority" cudaStreamGetPriority(a.on, a.room());
            "StreamGetId" cudaStreamGetId(a.on, a.room());
            "StreamGetDevice" cudaStreamGetDevice(a.on, a.room());
            "StreamGetAttribute" cudaStreamGetAttribute(a.on, sys::cudaLaunchAttributePriority, a.room());
            "StreamSetAttribute" cudaStreamSetAttribute(a.on, sys::cudaLaunchAttributePriority, a.room());
            "StreamCopyAttributes" cudaStreamCopyAttributes(a.on, a.gone);
            "StreamWaitEvent" cudaStreamWaitEvent(a.on, a.it.mark, 0);
            "StreamAddCallback" cudaStreamAddCallback(a.on, Some(called), null(), 0);
            "LaunchHostFunc" cudaLaunchHostFunc(a.on, Some(nothing), null());
            "StreamQuery" cudaStreamQuery(a.gone);
            "StreamIsCapturing" cudaStreamIsCapturing(a.on, a.room());
            "StreamGetCaptureInfo"
                cudaStreamGetCaptureInfo(a.on, a.room(), null(), null(), null(), null(), null());
            "StreamEndCapture" cudaStreamEndCapture(a.on, a.room());
            "EventCreate" cudaEventCreate(a.room());
            "EventCreateWithFlags" cudaEventCreateWithFlags(a.room(), 2);
            "EventRecord" cudaEventRecord(a.it.mark, a.on);
            "EventRecordWithFlags" cudaEventRecordWithFlags(a.it.mark, a.on, 0);
            "EventQuery" cudaEventQuery(a.timed[0]);
            "EventSynchronize" cudaEventSynchronize(a.timed[0]);
            "EventElapsedTime" cudaEventElapsedTime(a.room(), a.timed[0], a.timed[1]);
            "EventDestroy" cudaEventDestroy(a.timed[0]);
            "StreamDestroy" cudaStreamDestroy(a.gone);
        }
        "kernels" {
            "FuncGetAttributes" cudaFuncGetAttributes(a.room(), a.it.kernel());
            "FuncSetAttribute"
                cudaFuncSetAttribute(a.it.kernel(), sys::cudaFuncAttributeMaxDynamicSharedMemorySize, 1024);
            "FuncSetCacheConfig" cudaFuncSetCacheConfig(a.it.kernel(), sys::cudaFuncCachePreferL1);
            "FuncGetName" cudaFuncGetName(a.room(), a.it.kernel());
            "FuncGetParamInfo" cudaFuncGetParamInfo(a.it.kernel(), 0, a.room(), a.room());
            "GetFuncBySymbol" cudaGetFuncBySymbol(a.room(), a.it.kernel());
            "GetKernel" cudaGetKernel(a.room(), a.it.kernel());
            "OccupancyMaxActiveBlocksPerMultiprocessor"
                cudaOccupancyMaxActiveBlocksPerMultiprocessor(a.room(), a.it.kernel(), 32, 0);
            "OccupancyAvailableDynamicSMemPerBlock"
                cudaOccupancyAvailableDynamicSMemPerBlock(a.room(), a.it.kernel(), 1, 32);
            "OccupancyMaxPotentialClusterSize"
                cudaOccupancyMaxPotentialClusterSize(a.room(), a.it.kernel(), &raw const a.config);
            "LaunchKernel" cudaLaunchKernel(a.it.kernel(), ONE, ONE, null(), 0, a.on);
            "LaunchCooperativeKernel"
                cudaLaunchCooperativeKernel(a.it.kernel(), ONE, ONE, null(), 0, a.on);
            "GetSymbolAddress" cudaGetSymbolAddress(a.room(), case_constant_symbol());
            "GetSymbolSize" cudaGetSymbolSize(a.room(), case_constant_symbol());
            "MemcpyToSymbolAsync"
                cudaMemcpyToSymbolAsync(case_constant_symbol(), a.it.pinned.ptr(), 4, 0, UP, a.on);
        }
    }
}

fn graphs() -> Calls<Things> {
    calls! { a: Things;
        "graphs" {
            "GraphCreate" cudaGraphCreate(a.room(), 0);
            "GraphClone" cudaGraphClone(a.room(), a.graph);
            "GraphGetNodes" cudaGraphGetNodes(a.graph, null(), a.room());
            "GraphGetRootNodes" cudaGraphGetRootNodes(a.graph, null(), a.room());
            "GraphGetEdges" cudaGraphGetEdges(a.graph, null(), null(), null(), a.room());
            "GraphAddDependencies"
                cudaGraphAddDependencies(a.graph, &raw const a.nodes[0], &raw const a.nodes[1], null(), 1);
            "GraphNodeGetType" cudaGraphNodeGetType(a.nodes[0], a.room());
            "GraphNodeGetDependencies" cudaGraphNodeGetDependencies(a.nodes[1], null(), null(), a.room());
            "GraphNodeGetDependentNodes" cudaGraphNodeGetDependentNodes(a.nodes[0], null(), null(), a.room());
            "GraphRemoveDependencies"
                cudaGraphRemoveDependencies(a.graph, &raw const a.nodes[0], &raw const a.nodes[1], null(), 1);
            "GraphKernelNodeGetParams" cudaGraphKernelNodeGetParams(a.nodes[0], a.room());
            "GraphKernelNodeSetParams" cudaGraphKernelNodeSetParams(a.nodes[0], &raw const a.kernel);
            "GraphMemcpyNodeGetParams" cudaGraphMemcpyNodeGetParams(a.nodes[1], a.room());
            "GraphMemcpyNodeSetParams" cudaGraphMemcpyNodeSetParams(a.nodes[1], &raw const a.solid);
            "GraphMemsetNodeGetParams" cudaGraphMemsetNodeGetParams(a.nodes[2], a.room());
            "GraphMemsetNodeSetParams" cudaGraphMemsetNodeSetParams(a.nodes[2], &raw const a.fill);
            "GraphHostNodeGetParams" cudaGraphHostNodeGetParams(a.nodes[3], a.room());
            "GraphHostNodeSetParams" cudaGraphHostNodeSetParams(a.nodes[3], &raw const a.host);
            "GraphDebugDotPrint" cudaGraphDebugDotPrint(a.graph, c"/dev/null".as_ptr(), 0);
            "GraphRetainUserObject" cudaGraphRetainUserObject(a.graph, a.user, 1, 0);
            "GraphReleaseUserObject" cudaGraphReleaseUserObject(a.graph, a.user, 1);
            "UserObjectRetain" cudaUserObjectRetain(a.user, 1);
            "UserObjectRelease" cudaUserObjectRelease(a.user, 1);
            "GraphConditionalHandleCreate" cudaGraphConditionalHandleCreate(a.room(), a.it.graph, 0, 0);
            "GraphDestroyNode" cudaGraphDestroyNode(a.nodes[3]);
            "GraphDestroy" cudaGraphDestroy(a.graph);
        }
        "new nodes and executable graphs" {
            "GraphAddEmptyNode" cudaGraphAddEmptyNode(a.room(), a.graph, null(), 0);
            "GraphAddKernelNode" cudaGraphAddKernelNode(a.room(), a.graph, null(), 0, &raw const a.kernel);
            "GraphAddMemcpyNode" cudaGraphAddMemcpyNode(a.room(), a.graph, null(), 0, &raw const a.solid);
            "GraphAddMemcpyNode1D"
                cudaGraphAddMemcpyNode1D(a.room(), a.graph, null(), 0, a.it.block.ptr(), a.it.pinned.ptr(),
                    BYTES, UP);
            "GraphAddMemsetNode" cudaGraphAddMemsetNode(a.room(), a.graph, null(), 0, &raw const a.fill);
            "GraphAddHostNode" cudaGraphAddHostNode(a.room(), a.graph, null(), 0, &raw const a.host);
            "GraphAddChildGraphNode" cudaGraphAddChildGraphNode(a.room(), a.graph, null(), 0, a.it.graph);
            "GraphAddEventRecordNode"
                cudaGraphAddEventRecordNode(a.room(), a.graph, null(), 0, a.it.mark);
            "GraphAddEventWaitNode" cudaGraphAddEventWaitNode(a.room(), a.graph, null(), 0, a.it.mark);
            "GraphInstantiate" cudaGraphInstantiate(a.room(), a.graph, 0);
            "GraphInstantiateWithFlags" cudaGraphInstantiateWithFlags(a.room(), a.graph, 0);
            "GraphUpload" cudaGraphUpload(a.run, a.on);
            "GraphLaunch" cudaGraphLaunch(a.run, a.on);
            "GraphExecUpdate" cudaGraphExecUpdate(a.it.run, a.it.graph, a.room());
            "GraphExecKernelNodeSetParams"
                cudaGraphExecKernelNodeSetParams(a.run, a.nodes[0], &raw const a.kernel);
            "GraphExecMemcpyNodeSetParams1D"
                cudaGraphExecMemcpyNodeSetParams1D(a.run, a.nodes[1], a.it.block.ptr(), a.it.pinned.ptr(),
                    BYTES, UP);
            "GraphExecMemsetNodeSetParams"
                cudaGraphExecMemsetNodeSetParams(a.run, a.nodes[2], &raw const a.fill);
            "GraphExecHostNodeSetParams"
                cudaGraphExecHostNodeSetParams(a.run, a.nodes[3], &raw const a.host);
            "GraphExecGetFlags" cudaGraphExecGetFlags(a.run, a.room());
            "GraphNodeGetEnabled" cudaGraphNodeGetEnabled(a.run, a.nodes[0], a.room());
            "GraphNodeSetEnabled" cudaGraphNodeSetEnabled(a.run, a.nodes[0], 1);
            "GraphExecDestroy" cudaGraphExecDestroy(a.run);
        }
    }
}

/// Makes a call, takes the last error away, and returns the name of the code.
fn make(call: fn(&Things) -> cudaError_t, things: &Things) -> String {
    let code = call(things);
    // SAFETY: takes nothing.
    unsafe { sys::cudaGetLastError() };
    error_name(code)
}

type One = (&'static str, fn(&Things) -> cudaError_t);

/// Each in a capture of its own. Notes where the capture is lost.
fn captures(log: &mut Log, calls: &[One]) -> Outcome {
    let things = Things::new(log)?;
    for (name, call) in calls {
        let (on, mut graph) = (stream(log)?, null());
        need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeGlobal));
        let code = make(*call, &things);
        // SAFETY: a captured stream.
        let kept = unsafe { sys::cudaStreamEndCapture(on, &raw mut graph) } == sys::cudaSuccess;
        log.fact(name, if kept { code } else { format!("{code}, the capture is lost") });
        // SAFETY: takes nothing.
        unsafe { sys::cudaGetLastError() };
        if !graph.is_null() {
            need!(log, cudaGraphDestroy(graph));
        }
        need!(log, cudaStreamDestroy(on));
    }
    Ok(())
}

/// Each while a blocking stream is held. Notes which calls wait.
fn held(log: &mut Log, calls: &[One]) -> Outcome {
    let (things, busy) = (Things::new(log)?, stream_with(log, 0)?);
    for (name, call) in calls {
        let gate = Gate::hold(log, busy)?;
        let (waits, code) = gate.blocks(|| make(*call, &things));
        log.fact(name, if waits { format!("{code}, waits") } else { code });
        need!(log, cudaStreamSynchronize(busy));
        need!(log, cudaStreamSynchronize(things.on));
    }
    Ok(())
}

fn after_fault(log: &mut Log, calls: &[One]) -> Outcome {
    let things = Things::new(log)?;
    need!(log, cudaLaunchKernel(case_trap as *const c_void, ONE, ONE, null(), 0, null()));
    // SAFETY: takes nothing.
    unsafe { sys::cudaDeviceSynchronize() };
    for (name, call) in calls {
        log.fact(name, make(*call, &things));
    }
    Ok(())
}

type State = fn(&mut Log, &[One]) -> Outcome;

pub(super) fn add(cases: &mut Cases) {
    let states: [(&str, State); 3] = [
        ("while a stream captures", captures),
        ("while a stream is held", held),
        ("after a fault", after_fault),
    ];
    for (state, run) in states {
        for (group, calls) in memory().into_iter().chain(devices()).chain(graphs()) {
            cases.alone(format!("states/{group}, {state}"), move |log| run(log, &calls));
        }
    }
    cases.alone("cudaImportExternalMemory/a file that is no memory of others", imports);
}

/// A file of memory as memory and as a semaphore, by sizes and flags.
fn imports(log: &mut Log) -> Outcome {
    let (mut memory, mut wanted) = (null(), sys::cudaExternalMemoryHandleDesc::default());
    wanted.type_ = sys::cudaExternalMemoryHandleTypeOpaqueFd;
    for (size, flags) in [(0, 0), (4096, 0), (4096, 1), (4096, 2), (8192, 0), (8192, 1), (1 << 40, 0)] {
        // SAFETY: the name is a string, and the file is new.
        let file = unsafe { libc::memfd_create(c"memory".as_ptr(), 0) };
        // SAFETY: an open file.
        assert!(unsafe { libc::ftruncate(file, 4096) } == 0, "no file in memory");
        (wanted.size, wanted.flags, wanted.handle.fd) = (size, flags, file);
        // SAFETY: the call may take the file.
        let code = unsafe { sys::cudaImportExternalMemory(&raw mut memory, &raw const wanted) };
        log.fact(&format!("{size} {flags}"), error_name(code));
    }
    Ok(())
}
