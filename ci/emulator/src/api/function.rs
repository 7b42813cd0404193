//! Attributes of kernels and their occupancy.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use super::kernel::{attributes, program};
use super::{Call, Out, api, follows_null, ordinal, put, wide};
use crate::error::{Answer, take_last};
use crate::exec::{Launch, Program};
use crate::module::registry::{KernelEntry, registry};
use crate::profile::profile;
use crate::shape::{
    self, MOST_BLOCKS, PORTABLE, function_attributes, most_dynamic, most_shared, processor, small,
};
use crate::sys::*;

/// The axes of the clusters that a kernel requires.
const AXES: [cudaFuncAttribute; 3] = [
    cudaFuncAttributeRequiredClusterWidth,
    cudaFuncAttributeRequiredClusterHeight,
    cudaFuncAttributeRequiredClusterDepth,
];

fn find(call: &Call, function: *const c_void) -> Answer<Arc<Program>> {
    let (mut machine, device) = call.context()?;
    if function.is_null() {
        return Err(cudaErrorInvalidDeviceFunction);
    }
    program(&mut machine, &mut registry(), device, function)
}

/// How many blocks of a shape a multiprocessor holds.
fn occupancy(call: &Call, function: *const c_void, block: c_int, shared: usize) -> Answer<c_int> {
    let program = find(call, function)?;
    shape::occupancy(&program, registry().kernel(function.addr())?, block, wide(shared))
}

/// The launch that a query describes, the number of its blocks that a multiprocessor holds, and whether its
/// clusters may be larger than every device allows.
fn asked(
    call: &Call,
    function: *const c_void,
    config: *const cudaLaunchConfig_t,
) -> Answer<(Launch, u32, bool)> {
    let program = find(call, function)?;
    // SAFETY: the program passes a configuration, or null.
    let Some(config) = (unsafe { config.as_ref() }) else { follows_null(call, "the configuration") };
    let dim = |d: crate::sys::dim3| [d.x, d.y, d.z];
    let mut launch = Launch::new(program, dim(config.gridDim), dim(config.blockDim), Vec::new());
    let threads = c_int::try_from(launch.threads()).map_err(|_| cudaErrorInvalidValue)?;
    let each = occupancy(call, function, threads, config.dynamicSmemBytes)?;
    launch.cluster = attributes(config)?.cluster.or(launch.program.cluster);
    let non_portable = registry().kernel(function.addr())?.non_portable;
    Ok((launch, u32::try_from(each).unwrap_or(0), non_portable))
}

/// Sets an attribute of a kernel.
fn set(program: &Program, entry: &mut KernelEntry, attribute: cudaFuncAttribute, value: c_int) -> Answer {
    match attribute {
        it if it == cudaFuncAttributeMaxDynamicSharedMemorySize => {
            let bytes = u32::try_from(value).map_err(|_| cudaErrorInvalidValue)?;
            if bytes > most_shared().saturating_sub(program.static_shared) {
                return Err(cudaErrorInvalidValue);
            }
            entry.dynamic = Some(bytes);
        }
        it if it == cudaFuncAttributePreferredSharedMemoryCarveout => {
            if !(-1..=100).contains(&value) {
                return Err(cudaErrorInvalidValue);
            }
            entry.carveout = value;
        }
        it if it == cudaFuncAttributeNonPortableClusterSizeAllowed => {
            entry.non_portable = value != 0;
        }
        it if it == cudaFuncAttributeClusterSchedulingPolicyPreference => {
            if !(0..=2).contains(&value) {
                return Err(cudaErrorInvalidValue);
            }
            entry.scheduling = value;
        }
        it if AXES.contains(&it) => {
            // A kernel that declares its clusters keeps them.
            let axis = AXES.iter().position(|axis| *axis == it).unwrap_or(0);
            let declared = program.cluster.and_then(|blocks| blocks.get(axis).copied());
            if declared.is_some_and(|blocks| u32::try_from(value) != Ok(blocks)) {
                return Err(cudaErrorInvalidValue);
            }
        }
        _ => return Err(cudaErrorInvalidValue),
    }
    Ok(())
}

api! {
    /// The resources that a kernel needs, and its limits.
    allowed fn cudaFuncGetAttributes(call, out: Out<'_, cudaFuncAttributes>, function: *const c_void) {
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let program = find(call, function)?;
        out.write(function_attributes(&program, registry().kernel(function.addr())?));
        Ok(())
    }

    /// Raises the limit of a kernel's dynamic shared memory, or states a preference.
    allowed fn cudaFuncSetAttribute(call, function: *const c_void, attribute: cudaFuncAttribute, value: c_int) {
        let program = find(call, function)?;
        set(&program, registry().kernel_mut(function.addr())?, attribute, value)?;
        // On hardware, this forgets the last error.
        take_last();
        Ok(())
    }

    /// The same for a device that need not be current. Here, it is set for all.
    allowed fn cudaKernelSetAttributeForDevice(
        call, kernel: cudaKernel_t, attribute: cudaFuncAttribute, value: c_int, device: c_int,
    ) {
        let (mut machine, _) = call.context()?;
        let (device, kernel) = (ordinal(&machine, device)?, kernel.cast_const().cast());
        let program = program(&mut machine, &mut registry(), device, kernel)?;
        set(&program, registry().kernel_mut(kernel.addr())?, attribute, value)
    }

    /// States a preference about caches, which has no effect here.
    allowed fn cudaFuncSetCacheConfig(call, function: *const c_void, config: cudaFuncCache) {
        find(call, function)?;
        if config.0 > 3 {
            return Err(cudaErrorInvalidValue);
        }
        Ok(())
    }

    /// States a preference about banks of shared memory, which devices of this generation ignore.
    allowed fn cudaFuncSetSharedMemConfig(call, function: *const c_void, config: cudaSharedMemConfig) {
        find(call, function)?;
        if config.0 > cudaSharedMemBankSizeEightByte.0 { Err(cudaErrorInvalidValue) } else { Ok(()) }
    }

    /// The mangled name of a kernel.
    allowed fn cudaFuncGetName(call, out: Out<'_, *const c_char>, function: *const c_void) {
        let out = out.ok_or(cudaErrorInvalidValue)?;
        drop(call.any_context()?);
        if function.is_null() {
            return Err(cudaErrorInvalidDeviceFunction);
        }
        out.write(registry().kernel(function.addr())?.c_name.as_ptr());
        Ok(())
    }

    /// Where one of a kernel's arguments lies among all, and its size.
    allowed fn cudaFuncGetParamInfo(
        call, function: *const c_void, index: usize, offset: Out<'_, usize>, size: Out<'_, usize>,
    ) {
        let offset = offset.ok_or(cudaErrorInvalidValue)?;
        let program = find(call, function)?;
        let &(at, bytes) = program.params.get(index).ok_or(cudaErrorInvalidValue)?;
        offset.write(usize::try_from(at).unwrap_or(0));
        if let Some(size) = size {
            size.write(usize::try_from(bytes).unwrap_or(0));
        }
        Ok(())
    }

    /// The number of a kernel's parameters, from CUDA 13.2 on.
    allowed fn cudaFuncGetParamCount(call, function: *const c_void, count: Out<'_, usize>) {
        let count = count.ok_or(cudaErrorInvalidValue)?;
        count.write(find(call, function)?.params.len());
        Ok(())
    }

    /// The handle of a kernel for other interfaces: here, its host function again.
    allowed fn cudaGetFuncBySymbol(call, out: Out<'_, cudaFunction_t>, function: *const c_void) {
        find(call, function)?;
        registry().own_kernel(function.addr())?;
        // Without a place for the answer, there is none, which is no error.
        if let Some(out) = out {
            out.write(function.cast_mut().cast());
        }
        Ok(())
    }

    /// How many blocks of a kernel a multiprocessor holds.
    allowed fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        call, out: Out<'_, c_int>, function: *const c_void, block: c_int, shared: usize,
    ) {
        put(out, occupancy(call, function, block, shared)?)
    }

    /// The same; the flags choose among cache configurations, which make no difference here.
    allowed fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        call, out: Out<'_, c_int>, function: *const c_void, block: c_int, shared: usize, flags: c_uint,
    ) {
        if flags > 1 {
            return Err(cudaErrorInvalidValue);
        }
        put(out, occupancy(call, function, block, shared)?)
    }

    /// The number of clusters of a launch that run at once. Hardware has groups of multiprocessors, and no
    /// cluster spans two of them, so that fewer fit.
    allowed fn cudaOccupancyMaxActiveClusters(
        call, out: Out<'_, c_int>, function: *const c_void, config: *const cudaLaunchConfig_t,
    ) {
        let (launch, each, non_portable) = asked(call, function, config)?;
        let blocks = launch.cluster_blocks();
        if launch.cluster.is_none() {
            return put(out, 0);
        }
        if blocks == 0 {
            return Err(cudaErrorInvalidValue);
        }
        if launch.grid.iter().zip(launch.cluster_shape()).any(|(grid, blocks)| grid % blocks != 0) {
            return Err(cudaErrorInvalidClusterSize);
        }
        if blocks > if non_portable { MOST_BLOCKS } else { PORTABLE } {
            return Err(cudaErrorInvalidClusterSize);
        }
        put(out, small(u64::from(each) * u64::from(launch.processor.count) / u64::from(blocks)))
    }

    /// The most blocks that a cluster can have.
    allowed fn cudaOccupancyMaxPotentialClusterSize(
        call, out: Out<'_, c_int>, function: *const c_void, config: *const cudaLaunchConfig_t,
    ) {
        let (_, each, non_portable) = asked(call, function, config)?;
        let most = if non_portable { MOST_BLOCKS } else { PORTABLE };
        put(out, if each == 0 { 0 } else { small(u64::from(most)) })
    }

    /// How much dynamic shared memory each of some blocks on a multiprocessor may have.
    allowed fn cudaOccupancyAvailableDynamicSMemPerBlock(
        call, out: Out<'_, usize>, function: *const c_void, blocks: c_int, block: c_int,
    ) {
        let program = find(call, function)?;
        let fits = |blocks: c_int, most: u32| u32::try_from(blocks).ok().filter(|n| (1..=most).contains(n));
        let processor = processor();
        let blocks = fits(blocks, processor.blocks).ok_or(cudaErrorInvalidValue)?;
        let block = fits(block, 1024).ok_or(cudaErrorInvalidValue)?;
        if blocks * block > processor.threads {
            return Err(cudaErrorInvalidValue);
        }
        // CUDA does not subtract what it keeps of each block's memory.
        let each = (profile().shared << 10) / blocks;
        let left = each.saturating_sub(program.static_shared);
        let left = left.min(most_dynamic(&program, registry().kernel(function.addr())?));
        if out.is_none() {
            follows_null(call, "the place of the answer");
        }
        put(out, usize::try_from(left).unwrap_or(0))
    }
}
