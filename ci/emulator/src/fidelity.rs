//! What of a process was only approximate, and what was not checked: one line at its end.
//!
//! A report without findings means more if it says what the emulator did not look at. Each [`Limit`] is noted
//! when a program meets it, not when it could have.

use std::sync::atomic::{AtomicU32, Ordering};

/// Where the emulator differs from a device, or stops to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    TensorSums,
    ApproximateMath,
    TextureWeights,
    Derivatives,
    Clocks,
    Order,
    EventTimes,
    Pageable,
    Occupancy,
    KernelWords,
    KernelClocks,
    SameValues,
    Volatile,
    Cub,
    Histories,
    Guards,
    HostAccesses,
    Registered,
    Shared,
    Barriers,
    AfterFault,
    Pending,
}

/// So many programs have such kernels that the line at the end leaves this out; reports and runs for CI have
/// it.
pub(crate) const ORDER: &str = "the order of blocks and warps in kernels that can see it";

/// The limits in words, and whether they are a matter of checks.
const LIMITS: [(Limit, bool, &str); 22] = [
    (Limit::TensorSums, false, "sums of tensor cores (rounded once)"),
    (Limit::ApproximateMath, false, "math instructions with .approx (their last bits)"),
    (Limit::TextureWeights, false, "weights of texture filters (those of an H200)"),
    (Limit::Derivatives, false, "texture levels by derivatives"),
    (Limit::Clocks, false, "clocks in kernels (they count instructions)"),
    (Limit::Order, false, ORDER),
    (Limit::EventTimes, false, "times between events"),
    (Limit::Pageable, false, "asynchronous copies to pageable memory (a driver may do them during the call)"),
    (Limit::Occupancy, false, "occupancy (registers do not count)"),
    (Limit::KernelWords, true, "races within kernels beyond the last 16 MiB of global memory"),
    (Limit::KernelClocks, true, "which flag orders what, in kernels that release very often"),
    (Limit::SameValues, true, "races of threads that write the value that is there"),
    (Limit::Volatile, true, "races of volatile accesses within a block (CUDA_EMULATOR_VOLATILE=plain)"),
    (
        Limit::Cub,
        true,
        "CUB's reads of unwritten shared memory, whose values it drops (CUDA_EMULATOR_LIBRARIES=1)",
    ),
    (Limit::Histories, true, "races with the older half of more than 16384 accesses to an allocation"),
    (Limit::Guards, true, "accesses of the host beyond 4096 guarded ranges"),
    (Limit::HostAccesses, true, "further accesses of the host to pages of pending work"),
    (Limit::Registered, true, "accesses of the host to registered memory"),
    (Limit::Shared, true, "races on memory that other processes may open"),
    (Limit::Barriers, true, "skips of barriers beyond the first 64 of a kernel"),
    (Limit::AfterFault, true, "work after a fault"),
    (Limit::Pending, true, "work that was pending 2 s after the end of the program"),
];

static NOTED: AtomicU32 = AtomicU32::new(0);

/// Notes that the program has met a limit.
#[inline]
pub(crate) fn note(limit: Limit) {
    let bit = 1 << limit as u32;
    if NOTED.load(Ordering::Relaxed) & bit == 0 {
        NOTED.fetch_or(bit, Ordering::Relaxed);
    }
}

/// What was approximate, and what was not checked.
pub(crate) fn noted() -> [Vec<&'static str>; 2] {
    let noted = NOTED.load(Ordering::Relaxed);
    [false, true].map(|checks| {
        let wanted = |it: &&(Limit, bool, &str)| it.1 == checks && noted >> it.0 as u32 & 1 != 0;
        LIMITS.iter().filter(wanted).map(|it| it.2).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_was_met_is_named_once_in_its_list() {
        assert!((0..).zip(LIMITS).all(|(number, it)| it.0 as u32 == number));
        note(Limit::Guards);
        note(Limit::Guards);
        note(Limit::TensorSums);
        let [approximate, unchecked] = noted();
        assert_eq!(approximate.iter().filter(|it| it.starts_with("sums of tensor cores")).count(), 1);
        assert_eq!(unchecked.iter().filter(|it| it.contains("guarded ranges")).count(), 1);
    }
}
