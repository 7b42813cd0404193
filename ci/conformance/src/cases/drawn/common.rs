//! What the drawn cases have in common: blocks, launches, graphs, and how they are noted.

use std::ffi::{CStr, c_void};
use std::ptr;

use cuda_sys as sys;
use cuda_sys::{cudaError, cudaEvent_t, cudaGraph_t, cudaGraphExec_t, cudaStream_t, dim3};

use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Outcome, Setup, ask, error_name, need};
use crate::memory::{Block, Kind, stream};
use crate::score;

/// Bytes of most blocks.
pub(super) const N: usize = 4096;

unsafe extern "C" {
    fn case_add();
    fn case_scale();
    fn case_sum();
}

/// A kernel, as a launch names it.
pub(super) type Kernel = *const c_void;

/// Adds the case of a drawn call, which has a process of its own.
pub(super) fn add_case(
    cases: &mut Cases,
    number: usize,
    situation: &str,
    run: impl Fn(&mut Log) -> Outcome + 'static,
) {
    let function = score::drawn(number).map_or("no such row", |row| row.function);
    cases.add(format!("{}{number:03} {function}: {situation}", score::PREFIX), run).alone();
}

/// The function that adds the cases of a part, area by area.
macro_rules! areas {
    ($($area:ident),*) => {
        pub(super) fn add(cases: &mut $crate::case::Cases) {
            $($area::add(cases);)*
        }
    };
}
pub(super) use areas;

/// The addresses of arguments.
macro_rules! arguments {
    ($($argument:ident),*) => { [$((&raw mut $argument).cast::<std::ffi::c_void>()),*] };
}
pub(super) use arguments;

pub(super) fn null<T>() -> *mut T {
    ptr::null_mut()
}

pub(super) fn shape(x: usize) -> dim3 {
    dim3 { x: x as u32, y: 1, z: 1 }
}

/// Launches a kernel in one dimension, and notes the code.
pub(super) fn start(
    log: &mut Log,
    what: &str,
    kernel: Kernel,
    [blocks, threads, shared]: [usize; 3],
    on: cudaStream_t,
    arguments: &mut [*mut c_void],
) {
    let (grid, block) = (shape(blocks), shape(threads));
    ask!(log, what, cudaLaunchKernel(kernel, grid, block, arguments.as_mut_ptr(), shared, on));
}

/// Writes `by` times each of the first `count` floats of `from`.
pub(super) fn scale(
    log: &mut Log,
    what: &str,
    to: Block,
    from: Block,
    by: f32,
    count: usize,
    on: cudaStream_t,
) {
    let form = [count.div_ceil(128), 128, 0];
    let (mut to, mut from, mut by, mut count) = (to.ptr(), from.ptr(), by, count as i32);
    start(log, what, case_scale as Kernel, form, on, &mut arguments![to, from, by, count]);
}

/// Adds the first `count` integers of `from` to the first of `to`.
pub(super) fn sum(log: &mut Log, what: &str, to: Block, from: Block, count: usize, on: cudaStream_t) {
    let form = [count.div_ceil(64), 64, 256];
    let (mut to, mut from, mut count) = (to.ptr(), from.ptr(), count as i32);
    start(log, what, case_sum as Kernel, form, on, &mut arguments![to, from, count]);
}

/// Adds an amount to the first number of a block, by one thread.
pub(super) fn adds(log: &mut Log, what: &str, to: Block, amount: i32, on: cudaStream_t) {
    let (mut at, mut amount) = (to.ptr(), amount);
    start(log, what, case_add as Kernel, [1, 1, 0], on, &mut arguments![at, amount]);
}

pub(super) fn floats(numbers: impl IntoIterator<Item = f32>) -> Vec<u8> {
    numbers.into_iter().flat_map(f32::to_le_bytes).collect()
}

pub(super) fn integers(numbers: impl IntoIterator<Item = i32>) -> Vec<u8> {
    numbers.into_iter().flat_map(i32::to_le_bytes).collect()
}

/// The first four bytes of a block as an integer.
pub(super) fn first(log: &mut Log, block: Block) -> Result<i32, Setup> {
    Ok(i32::from_le_bytes(block.load(log)?[..4].try_into().expect("four bytes")))
}

/// The float at an index.
pub(super) fn float(log: &mut Log, block: Block, index: usize) -> Result<f32, Setup> {
    let bytes = block.load(log)?;
    Ok(f32::from_le_bytes(bytes[4 * index..][..4].try_into().expect("four bytes")))
}

/// Notes the first integer of a block.
pub(super) fn first_is(log: &mut Log, name: &str, block: Block) -> Outcome {
    let number = first(log, block)?;
    log.fact(name, number);
    Ok(())
}

/// Notes the float at an index.
pub(super) fn float_is(log: &mut Log, block: Block, index: usize) -> Outcome {
    let number = float(log, block, index)?;
    log.fact("number", number);
    Ok(())
}

/// Notes whether a block holds these bytes.
pub(super) fn holds(log: &mut Log, block: Block, want: &[u8]) -> Outcome {
    block.compare(log, "all bytes", want)
}

/// Makes calls while a stream is held, and notes whether they waited until it was not.
pub(super) fn waits(log: &mut Log, gate: &Gate, calls: impl FnOnce(&mut Log)) {
    gate.waits(log, |log| calls(log));
}

pub(super) fn device(log: &mut Log) -> Result<Block, Setup> {
    Block::new(log, Kind::Device, N)
}

/// Two events with times.
pub(super) fn timed(log: &mut Log) -> Result<[cudaEvent_t; 2], Setup> {
    let mut events = [null(); 2];
    for event in &mut events {
        need!(log, cudaEventCreate(event));
    }
    Ok(events)
}

/// Notes whether there is a time between two events. Between neighbours it may be zero.
pub(super) fn elapsed(log: &mut Log, what: &str, from: cudaEvent_t, to: cudaEvent_t) {
    let mut time = -1_f32;
    ask!(log, what, cudaEventElapsedTime(&raw mut time, from, to));
    log.fact("time", if time < 0.0 { "none" } else { "some" });
}

/// Notes the name of a code, and how long its text is.
pub(super) fn named(log: &mut Log, code: u32) {
    // SAFETY: takes any code.
    let text = unsafe { sys::cudaGetErrorString(cudaError(code)) };
    // SAFETY: not null, so it is a string that lives for ever.
    let length = if text.is_null() { 0 } else { unsafe { CStr::from_ptr(text) }.count_bytes() };
    log.fact(&format!("{code}"), format_args!("{} {length}", error_name(cudaError(code))));
}

/// Notes an attribute of the first device.
pub(super) fn attribute(log: &mut Log, id: u32) {
    let mut value = -77;
    ask!(log, &format!("{id}"), cudaDeviceGetAttribute(&raw mut value, sys::cudaDeviceAttr(id), 0));
    log.fact("value", value);
}

/// Calls in a thread of the host, which returns codes.
pub(super) fn there<const COUNT: usize>(
    log: &mut Log,
    calls: impl FnOnce() -> [sys::cudaError; COUNT] + Send + 'static,
) {
    for code in std::thread::spawn(calls).join().expect("no panic") {
        log.code("there", code);
    }
}

/// Notes the last error twice: as it is taken, and what is left.
pub(super) fn taken(log: &mut Log) -> Outcome {
    ask!(log, "peek", cudaPeekAtLastError());
    ask!(log, "taken", cudaGetLastError());
    ask!(log, "left", cudaGetLastError());
    Ok(())
}

/// Notes what the runtime knows about an address.
pub(super) fn what(log: &mut Log, name: &str, at: *mut c_void) {
    let mut found = sys::cudaPointerAttributes::default();
    ask!(log, name, cudaPointerGetAttributes(&raw mut found, at));
    let same = |it: *mut c_void| match it {
        _ if it.is_null() => "null",
        _ if it == at => "itself",
        _ => "another",
    };
    let (device, host) = (same(found.devicePointer), same(found.hostPointer));
    log.fact("it is", format_args!("{} of {}, device {device}, host {host}", found.type_.0, found.device));
}

pub(super) fn begin(log: &mut Log) -> Result<cudaStream_t, Setup> {
    let on = stream(log)?;
    need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeGlobal));
    Ok(on)
}

/// Ends a capture, and notes the code and whether there is a graph.
pub(super) fn end(log: &mut Log, on: cudaStream_t) -> cudaGraph_t {
    let mut graph = null();
    ask!(log, cudaStreamEndCapture(on, &raw mut graph));
    log.fact("graph", if graph.is_null() { "none" } else { "one" });
    graph
}

pub(super) fn graph(log: &mut Log) -> Result<cudaGraph_t, Setup> {
    let mut graph = null();
    need!(log, cudaGraphCreate(&raw mut graph, 0));
    Ok(graph)
}

/// Notes the kinds of a graph's nodes, by number, and how many edges it has.
pub(super) fn nodes(log: &mut Log, graph: cudaGraph_t) {
    let (mut count, mut edges) = (77, 77);
    ask!(log, cudaGraphGetNodes(graph, null(), &raw mut count));
    let mut list = vec![null(); if count == 77 { 0 } else { count }];
    if !list.is_empty() {
        ask!(log, cudaGraphGetNodes(graph, list.as_mut_ptr(), &raw mut count));
    }
    let mut kinds: Vec<u32> = list
        .iter()
        .map(|node| {
            let mut kind = sys::cudaGraphNodeType(99);
            // SAFETY: the node is of the list that the runtime gave.
            unsafe { sys::cudaGraphNodeGetType(*node, &raw mut kind) };
            kind.0
        })
        .collect();
    kinds.sort_unstable();
    log.fact("kinds", format_args!("{kinds:?}"));
    ask!(log, cudaGraphGetEdges(graph, null(), null(), null(), &raw mut edges));
    log.fact("edges", edges);
}

/// Instantiates without flags, and notes the code.
pub(super) fn ready(log: &mut Log, graph: cudaGraph_t) -> cudaGraphExec_t {
    let mut run = null();
    ask!(log, cudaGraphInstantiate(&raw mut run, graph, 0));
    run
}

/// Launches a graph, waits, and notes both codes.
pub(super) fn go(log: &mut Log, run: cudaGraphExec_t, on: cudaStream_t) {
    ask!(log, cudaGraphLaunch(run, on));
    ask!(log, cudaStreamSynchronize(on));
}
