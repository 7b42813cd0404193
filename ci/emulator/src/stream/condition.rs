//! The values by which conditional nodes of graphs choose. Kernels set them.

use parking_lot::Mutex;

#[derive(Clone, Copy, Debug)]
struct Value {
    now: u32,
    /// The value at the beginning of each launch.
    first: Option<u32>,
}

/// The values of all handles, which are their numbers from 1 on.
static VALUES: Mutex<Vec<Value>> = Mutex::new(Vec::new());

fn place(handle: u64) -> Option<usize> {
    usize::try_from(handle).ok()?.checked_sub(1)
}

/// Makes a handle.
pub(crate) fn create(first: Option<u32>) -> u64 {
    let mut values = VALUES.lock();
    values.push(Value { now: first.unwrap_or(0), first });
    u64::try_from(values.len()).unwrap_or(u64::MAX)
}

/// Whether there is a handle.
pub(crate) fn is_known(handle: u64) -> bool {
    place(handle).is_some_and(|at| at < VALUES.lock().len())
}

/// Sets a value. A handle that does not exist is ignored.
pub(crate) fn set(handle: u64, value: u32) {
    if let Some(it) = VALUES.lock().get_mut(place(handle).unwrap_or(usize::MAX)) {
        it.now = value;
    }
}

pub(crate) fn value(handle: u64) -> u32 {
    place(handle).and_then(|at| VALUES.lock().get(at).map(|it| it.now)).unwrap_or(0)
}

/// Gives a handle its first value, if it has one.
pub(crate) fn begin(handle: u64) {
    if let Some(it) = VALUES.lock().get_mut(place(handle).unwrap_or(usize::MAX)) {
        it.now = it.first.unwrap_or(it.now);
    }
}
