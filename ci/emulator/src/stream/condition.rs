//! The values by which conditional nodes of graphs choose. Kernels set them.

use parking_lot::Mutex;

#[derive(Clone, Copy, Debug)]
struct ConditionValue {
    now: u32,
    /// The value at the beginning of each launch.
    first: Option<u32>,
    /// The graph that it was made for.
    graph: usize,
    /// Whether a conditional node has it.
    has_node: bool,
}

/// The values of all handles, which are their numbers from 1 on.
static VALUES: Mutex<Vec<ConditionValue>> = Mutex::new(Vec::new());

fn place(handle: u64) -> Option<usize> {
    usize::try_from(handle).ok()?.checked_sub(1)
}

/// Makes a handle for a graph.
pub(crate) fn create(first: Option<u32>, graph: usize) -> u64 {
    let mut values = VALUES.lock();
    values.push(ConditionValue { now: first.unwrap_or(0), first, graph, has_node: false });
    u64::try_from(values.len()).unwrap_or(u64::MAX)
}

/// Whether a handle is one of a graph that no node has.
pub(crate) fn is_free(handle: u64, graph: usize) -> bool {
    let values = VALUES.lock();
    let found = place(handle).and_then(|at| values.get(at));
    found.is_some_and(|it| it.graph == graph && !it.has_node)
}

/// Records whether a node has a handle.
pub(crate) fn set_has_node(handle: u64, has_node: bool) {
    if let Some(it) = VALUES.lock().get_mut(place(handle).unwrap_or(usize::MAX)) {
        it.has_node = has_node;
    }
}

/// Whether a graph has a handle that no node has.
pub(crate) fn is_any_free(graph: usize) -> bool {
    VALUES.lock().iter().any(|it| it.graph == graph && !it.has_node)
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
