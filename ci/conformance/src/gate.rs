//! A stream that is busy until the case releases it.

use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use cuda_sys::cudaStream_t;

use crate::log::{Log, Setup, need};

/// The state that the host function and the case share.
#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    entered: bool,
    open: bool,
}

impl Shared {
    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().expect("nobody panics with it"));
        self.changed.notify_all();
    }

    /// Waits for a condition. After twenty seconds it gives up, so that a case never hangs a machine.
    fn wait(&self, so: impl Fn(&State) -> bool, longest: Duration) {
        let state = self.state.lock().expect("nobody panics with it");
        drop(
            self.changed
                .wait_timeout_while(state, longest, |state| !so(state))
                .expect("nobody panics with it"),
        );
    }

    fn is_open(&self) -> bool {
        self.state.lock().expect("nobody panics with it").open
    }
}

const LONGEST: Duration = Duration::from_secs(20);

/// Holds a stream with a host function. Opens when dropped.
#[derive(Debug)]
pub(crate) struct Gate(Arc<Shared>);

impl Gate {
    /// Holds a stream, and returns once the host function is running.
    pub(crate) fn hold(log: &mut Log, stream: cudaStream_t) -> Result<Self, Setup> {
        let gate = Self(Arc::default());
        let share = Arc::into_raw(Arc::clone(&gate.0)).cast_mut().cast();
        need!(log, cudaLaunchHostFunc(stream, Some(stand_in_the_way), share));
        gate.0.wait(|state| state.entered, LONGEST);
        Ok(gate)
    }

    /// Lets the stream go on.
    pub(crate) fn open(&self) {
        self.0.set(|state| state.open = true);
    }

    /// Makes calls while the stream is held. Returns whether they only returned after it was released.
    pub(crate) fn blocks<R>(&self, calls: impl FnOnce() -> R) -> (bool, R) {
        let gate = Arc::clone(&self.0);
        let opener = thread::spawn(move || {
            // Either the calls return meanwhile, or they wait for the gate. Waiting for a processor does not
            // count.
            let (mut rested, begun) = (0, processor_time());
            while !gate.is_open() && rested < RESTS && processor_time().saturating_sub(begun) < BUSY {
                gate.wait(|state| state.open, LOOK);
                rested += u32::from(others_rest());
            }
            gate.set(|state| state.open = true);
        });
        let result = calls();
        let waited = self.0.is_open();
        self.open();
        drop(opener.join());
        (waited, result)
    }

    /// Makes calls while the stream is held, and notes whether they wait.
    pub(crate) fn waits<R>(&self, log: &mut Log, calls: impl FnOnce(&mut Log) -> R) {
        let (waited, _) = self.blocks(|| calls(log));
        log.fact("waits", waited);
    }
}

/// Calls wait if they were found asleep so often,
const RESTS: u32 = 40;
/// at looks so far apart,
const LOOK: Duration = Duration::from_millis(10);
/// or when the process has computed for so long.
const BUSY: Duration = Duration::from_millis(400);

/// Whether no other thread of this process runs, or would run if it had a processor.
fn others_rest() -> bool {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return true };
    let runs = |stat: &str| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['R', 'D']));
    let stats = threads.flatten().filter_map(|it| std::fs::read_to_string(it.path().join("stat")).ok());
    stats.filter(|stat| runs(stat)).count() <= 1
}

/// The processor time of all threads of this process.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live structure, which the call fills.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

unsafe extern "C" fn stand_in_the_way(share: *mut c_void) {
    // SAFETY: the pointer is of the `Arc` that `hold` gave up for this call, which is the only one.
    let gate = unsafe { Arc::from_raw(share.cast::<Shared>()) };
    gate.set(|state| state.entered = true);
    gate.wait(|state| state.open, LONGEST);
}
