//! Node parameters, as programs pass them and read them back.
#![expect(unsafe_code, reason = "reads the structures that a program passes")]

use core::ffi::{c_int, c_void};

use super::kernel::{ATTRIBUTES, dimensions, node_of, prepare};
use super::memcpy::solid;
use super::symbol::{VariableRange, VariableSide, request};
use super::transfer::{MemoryType, Mode, Request, Side, memory_type, plan};
use super::{Call, address, pointer, wide};
use crate::error::Answer;
use crate::finding::Finding;
use crate::graph::{AttributeValue, KernelNode, NodeOp, is_stale};
use crate::machine::Guard;
use crate::shape::LaunchShape;
use crate::stream::{End, Fill, HostCall, Memory, Volume};
use crate::sys::*;

/// Looks at the kernel of a node, before CUDA looks at the node or its graph.
pub(super) fn known(given: *const cudaKernelNodeParams) -> Answer {
    // SAFETY: the program passes such a structure, or null.
    let given = unsafe { given.as_ref() }.ok_or(cudaErrorInvalidValue)?;
    if given.func.is_null() { Err(cudaErrorInvalidDeviceFunction) } else { Ok(()) }
}

pub(super) fn kernel(
    machine: &mut Guard,
    (device, call): (usize, &str),
    given: *const cudaKernelNodeParams,
) -> Answer<NodeOp> {
    // SAFETY: the program passes such a structure, or null.
    let given = unsafe { given.as_ref() }.ok_or(cudaErrorInvalidValue)?;
    if given.kernelParams.is_null() && !given.extra.is_null() {
        return Err(cudaErrorNotSupported);
    }
    if is_stale(given.kernelParams.addr()) {
        let what = "the parameters of a node, as cudaGraphKernelNodeGetParams has given them, after the node \
                    has got others or is gone. They are the node's own memory";
        Finding::pointer(call, what).report();
    }
    let shared = usize::try_from(given.sharedMemBytes).map_err(|_| cudaErrorInvalidValue)?;
    let shape = LaunchShape {
        grid: dimensions(given.gridDim),
        block: dimensions(given.blockDim),
        shared,
        ..LaunchShape::default()
    };
    let function = given.func;
    let launch = node_of(prepare(machine, device, function, shape, given.kernelParams)?)?;
    Ok(NodeOp::Kernel(Box::new(KernelNode::new(function.addr(), launch))))
}

pub(super) fn kernel_params(node: &mut KernelNode) -> cudaKernelNodeParams {
    let dim = |[x, y, z]: [u32; 3]| dim3 { x, y, z };
    let launch = node.launch();
    let (grid, block, shared) = (dim(launch.grid), dim(launch.block), launch.dynamic_shared);
    cudaKernelNodeParams {
        func: core::ptr::with_exposed_provenance_mut(node.function),
        gridDim: grid,
        blockDim: block,
        sharedMemBytes: shared,
        kernelParams: node.arguments().as_mut_ptr().cast(),
        extra: core::ptr::null_mut(),
    }
}

/// An attribute of a kernel: those that have no effect here are as they were set, or zero.
pub(super) fn kernel_attribute(
    node: &mut KernelNode,
    attribute: cudaLaunchAttributeID,
) -> Option<cudaLaunchAttributeValue> {
    let launch = node.launch();
    if attribute == cudaLaunchAttributeCooperative {
        return Some(cudaLaunchAttributeValue { cooperative: c_int::from(launch.cooperative) });
    }
    let mut value = cudaLaunchAttributeValue { pad: [0; 64] };
    if attribute == cudaLaunchAttributeClusterDimension {
        let [x, y, z] = launch.cluster.unwrap_or([0; 3]);
        value.clusterDim.x = x;
        value.clusterDim.y = y;
        value.clusterDim.z = z;
        return Some(value);
    }
    if attribute.0 >= ATTRIBUTES {
        return None;
    }
    if let Some(AttributeValue(set)) = node.others().get(&attribute.0) {
        value = *set;
    }
    Some(value)
}

pub(super) fn set_kernel_attribute(
    node: &mut KernelNode,
    attribute: cudaLaunchAttributeID,
    value: &cudaLaunchAttributeValue,
) -> Answer {
    if attribute == cudaLaunchAttributeCooperative {
        // SAFETY: the attribute says which member of the union the program has set.
        node.set_cooperative(unsafe { value.cooperative } != 0);
    } else if attribute == cudaLaunchAttributeClusterDimension {
        // SAFETY: the attribute says which member of the union the program has set.
        let blocks = unsafe { value.clusterDim };
        let blocks = [blocks.x, blocks.y, blocks.z];
        node.set_cluster(Some(blocks).filter(|blocks| *blocks != [0; 3]));
    } else if attribute.0 < ATTRIBUTES {
        node.others().insert(attribute.0, AttributeValue(*value));
    } else {
        return Err(cudaErrorInvalidValue);
    }
    Ok(())
}

fn copy(call: &Call, machine: &Guard, request: &Request) -> Answer<NodeOp> {
    if request.volume.is_empty() {
        return Err(cudaErrorInvalidValue);
    }
    Ok(NodeOp::Copy(Box::new(plan(call, &machine.allocations, request, Mode::Captured)?.copy)))
}

pub(super) fn shaped(call: &Call, machine: &Guard, given: *const cudaMemcpy3DParms) -> Answer<NodeOp> {
    // SAFETY: the program passes such a structure, or null.
    let given = unsafe { given.as_ref() };
    copy(call, machine, &solid(call, machine, given)?)
}

pub(super) fn linear(
    call: &Call,
    machine: &Guard,
    dst: *mut c_void,
    src: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
) -> Answer<NodeOp> {
    let (to, from) = (Side::row(address(dst)), Side::row(address(src)));
    copy(call, machine, &Request { to, from, volume: Volume::row(wide(count)), kind })
}

pub(super) fn symbol(
    call: &Call,
    machine: &mut Guard,
    device: usize,
    way: VariableSide,
    part: VariableRange,
    other: *const c_void,
    kind: cudaMemcpyKind,
) -> Answer<NodeOp> {
    let request = request(machine, device, way, part, other, kind)?;
    copy(call, machine, &request)
}

/// A side as it was given, but for a position, which is in the address here.
fn side(end: &End) -> cudaPitchedPtr {
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(0);
    let memory = match &end.memory {
        Memory::Known(address) => pointer(*address),
        Memory::Pageable(address) => core::ptr::with_exposed_provenance_mut(*address),
        Memory::Staged(..) => core::ptr::null_mut(),
    };
    let rows = end.slice.checked_div(end.pitch).unwrap_or(0);
    cudaPitchedPtr { ptr: memory, pitch: size(end.pitch), xsize: 0, ysize: size(rows) }
}

pub(super) fn copy_params(it: &crate::stream::Copy) -> cudaMemcpy3DParms {
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(0);
    let (volume, zero) = (it.volume, cudaPos { x: 0, y: 0, z: 0 });
    cudaMemcpy3DParms {
        srcArray: core::ptr::null_mut(),
        srcPos: zero,
        srcPtr: side(&it.from),
        dstArray: core::ptr::null_mut(),
        dstPos: zero,
        dstPtr: side(&it.to),
        extent: cudaExtent {
            width: size(volume.width),
            height: size(volume.height),
            depth: size(volume.depth),
        },
        kind: it.kind,
    }
}

pub(super) fn fill(call: &Call, machine: &Guard, given: *const cudaMemsetParams) -> Answer<NodeOp> {
    // SAFETY: the program passes such a structure, or null.
    let given = unsafe { given.as_ref() }.ok_or(cudaErrorInvalidValue)?;
    let element = given.elementSize;
    let small = u8::try_from(element).map_err(|_| cudaErrorInvalidValue)?;
    let address = address(given.dst);
    let width = wide(given.width).checked_mul(u64::from(element)).ok_or(cudaErrorInvalidValue)?;
    let volume = Volume { width, height: wide(given.height), depth: 1 };
    let pitch = wide(given.pitch);
    // The lowest bytes of the value count.
    if !matches!(element, 1 | 2 | 4)
        || volume.is_empty()
        || !address.is_multiple_of(u64::from(element))
        || (given.height > 1 && pitch < width)
    {
        return Err(cudaErrorInvalidValue);
    }
    let place = memory_type(call.name, &machine.allocations, address, volume.span(pitch, 0), true)?;
    if place == MemoryType::Pageable {
        return Err(cudaErrorInvalidValue);
    }
    Ok(NodeOp::Fill(Box::new(Fill {
        address,
        pitch,
        slice: 0,
        volume,
        value: given.value.to_le_bytes(),
        element: small,
    })))
}

pub(super) fn fill_params(it: &Fill) -> cudaMemsetParams {
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(0);
    let element = u32::from(it.element.max(1));
    cudaMemsetParams {
        dst: pointer(it.address),
        pitch: size(it.pitch),
        value: u32::from_le_bytes(it.value) & (u32::MAX >> (32 - 8 * element.min(4))),
        elementSize: element,
        width: size(it.volume.width / u64::from(element)),
        height: size(it.volume.height),
    }
}

pub(super) fn host(given: *const cudaHostNodeParams) -> Answer<NodeOp> {
    // SAFETY: the program passes such a structure, or null.
    let given = unsafe { given.as_ref() }.ok_or(cudaErrorInvalidValue)?;
    Ok(NodeOp::Host(HostCall::function(given.fn_.ok_or(cudaErrorInvalidValue)?, given.userData)))
}

pub(super) fn event(machine: &Guard, event: cudaEvent_t) -> Answer<usize> {
    if event.is_null() {
        return Err(cudaErrorInvalidValue);
    }
    machine.events.get(event).map(|_| event.addr())
}
