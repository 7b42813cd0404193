//! The end of the process. The runtime is gone from then on. With `CUDA_EMULATOR_LEAKS=1` the list of leaks
//! appears on standard error, with `CUDA_EMULATOR_INITCHECK=1` the number of reads of bytes that nobody had
//! written.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::machine;
use crate::memory::{Allocation, Kind, Written};

/// Whether the runtime is gone at the end of the process. Every call fails from then on.
static GONE: AtomicBool = AtomicBool::new(false);

/// Whether the runtime is gone.
pub(crate) fn gone() -> bool {
    GONE.load(Ordering::Relaxed)
}

/// Registers the exit handler. Exit handlers run in reverse order, so that handlers registered before the
/// first call find the runtime gone.
#[expect(unsafe_code, reason = "asks to be called at exit")]
pub(crate) fn list_at_exit() {
    // SAFETY: the handler has the required signature, and this library is never unloaded while it can be
    // called.
    unsafe { libc::atexit(at_exit) };
}

extern "C" fn at_exit() {
    GONE.store(true, Ordering::Relaxed);
    let Ok(machine) = machine::lock() else { return };
    if machine.config.leaks {
        for line in list(&machine.book.live(None)) {
            eprintln!("{line}");
        }
    }
    if let Some(sum) = machine.book.written.as_ref().and_then(Written::sum) {
        eprintln!("{sum}");
    }
}

/// One line a leak and one with their sum; memory that is not the program's to free is no leak.
fn list(live: &[Allocation]) -> Vec<String> {
    let leaked: Vec<_> = live.iter().filter(|it| it.kind != Kind::Symbol).collect();
    let bytes: u64 = leaked.iter().map(|it| it.size).sum();
    let mut lines: Vec<_> =
        leaked.iter().map(|it| format!("CUDA emulator: leak: {it} (allocation {})", it.serial)).collect();
    lines.push(format!("CUDA emulator: {} leaks, {bytes} bytes", leaked.len()));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Book;

    #[test]
    fn a_leak_is_named_by_its_call_and_size_and_variables_are_none() {
        let mut book = Book::new(1, 1 << 20).unwrap();
        book.allocate(0, 1000, Kind::Device, "cudaMallocPitch").unwrap();
        book.allocate(0, 4, Kind::Symbol, "__cudaRegisterVar").unwrap();
        let lines = list(&book.live(None));
        assert_eq!(lines.len(), 2);
        assert!(lines[0].contains("1000 bytes") && lines[0].contains("cudaMallocPitch"), "{}", lines[0]);
        assert_eq!(lines[1], "CUDA emulator: 1 leaks, 1000 bytes");
    }
}
