//! The end of the process. The runtime is gone from then on. With `CUDA_EMULATOR_LEAKS=1` the list of leaks
//! appears on standard error, with `CUDA_EMULATOR_INITCHECK=1` the number of reads of bytes that nobody had
//! written. Launches that failed and whose error nobody read are always named.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::finding::{self, Finding, Subject};
use crate::memory::{Allocation, Allocations, Kind, Written};
use crate::unread;

/// Whether the runtime is gone at the end of the process. Every call fails from then on.
static GONE: AtomicBool = AtomicBool::new(false);

/// Whether the runtime is gone.
pub(crate) fn gone() -> bool {
    GONE.load(Ordering::Relaxed)
}

/// Registers an exit handler.
#[expect(unsafe_code, reason = "asks to be called at exit")]
pub(crate) fn at_exit(handler: extern "C" fn()) {
    // SAFETY: the handler has the required signature, and this library is never unloaded while it can be
    // called.
    unsafe { libc::atexit(handler) };
}

/// The runtime is gone from now on. Exit handlers run in reverse order, so that handlers registered before
/// the first call find it gone.
pub(crate) fn end() {
    GONE.store(true, Ordering::Relaxed);
}

/// Reports what is left at the end, with the leaks if they are asked for.
pub(crate) fn sum_up(allocations: &Allocations, leaks: bool) {
    if leaks {
        let live = allocations.live(None);
        leaked(&live).for_each(|it| leak(it).report());
        eprintln!("{}", sum(&live));
    }
    if let Some(sum) = allocations.written.as_ref().and_then(Written::sum) {
        eprintln!("{sum}");
    }
    unread::report();
    finding::sum_up();
}

/// Memory that is not the program's to free is no leak.
fn leaked(live: &[Allocation]) -> impl Iterator<Item = &Allocation> {
    live.iter().filter(|it| it.kind != Kind::Symbol)
}

fn leak(it: &Allocation) -> Finding {
    let what = format!("{it} (allocation {})", it.serial);
    Finding::new(Subject::Leak, what, "Free it before the process ends.").part(it.call, it.line)
}

/// The totals in one line.
fn sum(live: &[Allocation]) -> String {
    let bytes: u64 = leaked(live).map(|it| it.size).sum();
    format!("CUDA emulator: {} leaks, {bytes} bytes", leaked(live).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leak_is_named_by_its_call_and_size_and_variables_are_none() {
        let mut allocations = Allocations::new(1, 1 << 20).unwrap();
        allocations.allocate(0, 1000, Kind::Device, "cudaMallocPitch").unwrap();
        allocations.allocate(0, 4, Kind::Symbol, "__cudaRegisterVar").unwrap();
        let live = allocations.live(None);
        let findings: Vec<_> = leaked(&live).map(leak).collect();
        assert_eq!(findings.len(), 1);
        let what = &findings[0].what;
        assert!(what.contains("1000 bytes") && what.contains("cudaMallocPitch"), "{what}");
        assert_eq!(sum(&live), "CUDA emulator: 1 leaks, 1000 bytes");
    }
}
