//! A stream that is busy until the case says otherwise.

use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use cuda_sys::cudaStream_t;

use crate::log::{Log, Setup, need};

/// What host function and case share.
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

    /// Waits until something is so; after twenty seconds it gives up, so that a case never hangs a machine.
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

    /// Makes calls while the stream is held, and says whether they returned only when it was not any more.
    pub(crate) fn blocks<R>(&self, calls: impl FnOnce() -> R) -> (bool, R) {
        let gate = Arc::clone(&self.0);
        let opener = thread::spawn(move || {
            // Either the calls return meanwhile, or they are waiting for this.
            gate.wait(|state| state.open, Duration::from_millis(400));
            gate.set(|state| state.open = true);
        });
        let result = calls();
        let waited = self.0.is_open();
        self.open();
        drop(opener.join());
        (waited, result)
    }
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
