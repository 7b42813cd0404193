//! Checks of a launch before it is queued, by the host or by a kernel, and the limits of a kernel.

use core::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::device::Limits;
use crate::error::Answer;
use crate::exec::launch::Processor;
use crate::exec::{Launch, Program};
use crate::fidelity::{self, Limit};
use crate::module::registry::KernelEntry;
use crate::profile::profile;
use crate::sys::*;

/// Shared memory that a block has unless the program asks for more, and the most that it may ask for.
const SHARED: u32 = 48 << 10;
pub(crate) fn most_shared() -> u32 {
    profile().most_shared()
}

/// The shared memory of each block that a multiprocessor keeps for itself.
pub(crate) fn reserved() -> u32 {
    profile().reserved() << 10
}

/// Blocks of a cluster that every device with clusters can have, and those that these devices can.
pub(crate) const PORTABLE: u32 = 8;
pub(crate) const MOST_BLOCKS: u32 = 16;

/// The shape of a launch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LaunchShape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: usize,
    pub(crate) cooperative: bool,
    pub(crate) cluster: Option<[u32; 3]>,
}

impl LaunchShape {
    /// Checks a launch of this shape on a device with these limits. It still lacks its arguments.
    pub(crate) fn launch(
        self,
        program: &Arc<Program>,
        entry: &KernelEntry,
        limits: Limits,
    ) -> Answer<Launch> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let (grid, block) = self.seen_by(program)?;
        let mut launch = Launch::new(Arc::clone(program), grid, block, Vec::new());
        launch.dynamic_shared = u32::try_from(self.shared).map_err(|_| cudaErrorInvalidValue)?;
        launch.cooperative = self.cooperative;
        launch.cluster = clusters(self.cluster, program.cluster)?;
        launch.processor = processor();
        launch.number = NUMBER.fetch_add(1, Ordering::Relaxed);
        check(&launch, self.cooperative, most_dynamic(program, entry))?;
        check_clusters(&launch, entry.non_portable)?;
        // Hardware keeps far less on the stack than PTX declares. The limit counts the part that a compiler
        // would leave.
        let stack = limits.get(cudaLimitStackSize).unwrap_or(1024);
        let own = program.functions.last().map_or(0, |f| f.frame);
        launch.stack = u32::try_from(stack).unwrap_or(1024).saturating_mul(16).saturating_add(own);
        Ok(launch)
    }

    /// Grid and block as the threads see them. An H200 takes the grid of a kernel with `.blocksareclusters`
    /// as a number of clusters, and runs blocks of `.reqntid`, whether the launch has these or blocks of one
    /// thread. What it does with other clusters of the launch is not known.
    fn seen_by(self, program: &Program) -> Answer<([u32; 3], [u32; 3])> {
        let (Some(block), Some(blocks), true) =
            (program.required_threads, program.cluster, program.counts_clusters)
        else {
            return Ok((self.grid, self.block));
        };
        if self.cooperative || self.cluster.is_some() {
            return Err(cudaErrorNotSupported);
        }
        if self.block != [1; 3] && self.block != block {
            return Err(cudaErrorInvalidValue);
        }
        let mut grid = self.grid;
        for (count, blocks) in grid.iter_mut().zip(blocks) {
            *count = count.checked_mul(blocks).ok_or(cudaErrorInvalidValue)?;
        }
        Ok((grid, block))
    }
}

/// The clusters of a launch: the shape that the program asks for, or the one that the kernel declares. If
/// there are both, they must be the same.
fn clusters(asked: Option<[u32; 3]>, declared: Option<[u32; 3]>) -> Answer<Option<[u32; 3]>> {
    match (asked, declared) {
        (Some(asked), Some(declared)) if asked != declared => Err(cudaErrorInvalidClusterSize),
        (asked, declared) => Ok(asked.or(declared)),
    }
}

/// Checks the clusters of a launch.
fn check_clusters(launch: &Launch, non_portable: bool) -> Answer {
    let Some(cluster) = launch.cluster else { return Ok(()) };
    let divides = |(grid, blocks): (u32, u32)| grid.checked_rem(blocks) == Some(0);
    if !launch.grid.into_iter().zip(cluster).all(divides) {
        return Err(cudaErrorInvalidClusterSize);
    }
    if launch.cluster_blocks() > if non_portable { MOST_BLOCKS } else { PORTABLE } {
        return Err(cudaErrorInvalidClusterSize);
    }
    Ok(())
}

/// Checks a launch's shape. Under CUDA 13.0 an H200 refuses every shape that cannot run with
/// `cudaErrorInvalidValue`.
fn check(launch: &Launch, cooperative: bool, limit: u32) -> Answer {
    let most_grid = [0x7FFF_FFFF, 65_535, 65_535];
    let most_block = [1024, 1024, 64];
    let within = |sizes: [u32; 3], most: [u32; 3]| sizes.iter().zip(most).all(|(s, m)| (1..=m).contains(s));
    if !within(launch.grid, most_grid) || !within(launch.block, most_block) || launch.threads() > 1024 {
        return Err(cudaErrorInvalidValue);
    }
    if launch.program.required_threads.is_some_and(|required| required != launch.block) {
        return Err(cudaErrorInvalidValue);
    }
    if launch.program.max_threads.is_some_and(|most| launch.threads() > most) {
        return Err(cudaErrorInvalidValue);
    }
    if launch.dynamic_shared > limit || launch.shared() > most_shared() {
        return Err(if cooperative { cudaErrorCooperativeLaunchTooLarge } else { cudaErrorInvalidValue });
    }
    if cooperative && launch.blocks() > launch.resident() {
        return Err(cudaErrorCooperativeLaunchTooLarge);
    }
    Ok(())
}

/// The multiprocessors of these devices.
pub(crate) fn processor() -> Processor {
    let it = profile();
    Processor {
        count: it.multiprocessors,
        shared: it.shared << 10,
        reserved: reserved(),
        threads: it.threads,
        blocks: it.blocks,
    }
}

/// A number as C has it.
pub(crate) fn small(value: u64) -> c_int {
    c_int::try_from(value).unwrap_or(c_int::MAX)
}

/// The most dynamic shared memory that a kernel may have.
pub(crate) fn most_dynamic(program: &Program, entry: &KernelEntry) -> u32 {
    entry.dynamic.unwrap_or(SHARED.saturating_sub(program.static_shared))
}

/// The shared memory that a multiprocessor sets aside for a kernel: a part in percent of all, or what a block
/// needs if that is more, in the sizes that there are.
fn carved(carveout: c_int, block: u32) -> u32 {
    const SIZES: [u32; 10] = [0, 8, 16, 32, 64, 100, 132, 164, 196, 228];
    let all = profile().shared;
    // Compute capability 7.5 has two sizes.
    let least_size = if profile().capability < 80 { 32 } else { 0 };
    let part = u32::try_from(carveout).map_or(all << 10, |percent| (all << 10) * percent / 100);
    let least = part.max(block.saturating_add(reserved()));
    let there = SIZES.into_iter().filter(|size| (least_size..=all).contains(size));
    there.map(|size| size << 10).find(|size| *size >= least).unwrap_or(all << 10)
}

/// How many blocks of a shape a multiprocessor holds: none if a launch would need more than the kernel may
/// have.
pub(crate) fn occupancy(
    program: &Arc<Program>,
    entry: &KernelEntry,
    block: c_int,
    shared: u64,
) -> Answer<c_int> {
    fidelity::note(Limit::Occupancy);
    let block = u32::try_from(block).ok().filter(|b| *b > 0).ok_or(cudaErrorInvalidValue)?;
    let mut launch = Launch::new(Arc::clone(program), [1; 3], [block, 1, 1], Vec::new());
    launch.processor = processor();
    // CUDA adds the kept memory without an overflow check: a size that wraps around is none.
    let kept = u64::from(reserved());
    let shared = shared.wrapping_add(kept).saturating_sub(kept);
    launch.dynamic_shared = u32::try_from(shared).unwrap_or(u32::MAX);
    let too_much = launch.dynamic_shared > most_dynamic(program, entry) || launch.shared() > most_shared();
    if block > 1024 || too_much {
        return Ok(0);
    }
    Ok(small(u64::from(launch.blocks_within(carved(entry.carveout, launch.shared())))))
}

/// The resources that a kernel needs, and its limits.
pub(crate) fn function_attributes(program: &Program, entry: &KernelEntry) -> cudaFuncAttributes {
    let declared = |axis: usize| program.cluster.map_or(0, |blocks| small(u64::from(blocks[axis])));
    let local = program.functions.last().map_or(0, |f| f.frame);
    cudaFuncAttributes {
        sharedSizeBytes: usize::try_from(program.declared_shared()).unwrap_or(0),
        constSizeBytes: usize::try_from(program.constant_bytes).unwrap_or(0),
        localSizeBytes: usize::try_from(local).unwrap_or(0),
        maxThreadsPerBlock: small(u64::from(program.max_threads.unwrap_or(1024).min(1024))),
        numRegs: small(u64::from((program.sizes.words + 2 * program.sizes.wides).clamp(8, 255))),
        // Of the PTX that runs here, even if there is machine code for 90: programs such as CUB choose the
        // shape of a launch by it.
        ptxVersion: small(u64::from(program.architecture.unwrap_or(profile().capability))),
        binaryVersion: small(u64::from(profile().capability)),
        maxDynamicSharedSizeBytes: small(u64::from(most_dynamic(program, entry))),
        preferredShmemCarveout: entry.carveout,
        clusterDimMustBeSet: c_int::from(program.cluster.is_some()),
        requiredClusterWidth: declared(0),
        requiredClusterHeight: declared(1),
        requiredClusterDepth: declared(2),
        clusterSchedulingPolicyPreference: entry.scheduling,
        nonPortableClusterSizeAllowed: c_int::from(entry.non_portable),
        ..cudaFuncAttributes::default()
    }
}
