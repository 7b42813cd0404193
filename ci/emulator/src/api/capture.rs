//! Capture: streams whose work becomes a graph.
#![expect(unsafe_code, reason = "exports C functions, and reads the lists that they are given")]

use core::ffi::{c_uint, c_ulonglong};
use std::cell::RefCell;

use super::graph::{destroy, graph, handles};
use super::{Call, Out, api, follows_null};
use crate::error::Answer;
use crate::graph::capture::Id;
use crate::sys::*;
use crate::thread;

/// Checks that edges are plain ones: the other kinds are for kernels that wait for parts of each other.
///
/// # Safety
/// Where it is not null, it must have that many elements.
pub(super) unsafe fn plain(edges: *const cudaGraphEdgeData, count: usize) -> Answer {
    if edges.is_null() || count == 0 {
        return Ok(());
    }
    // SAFETY: not null, and the caller vouches for the elements.
    let edges = unsafe { core::slice::from_raw_parts(edges, count) };
    let plain = edges.iter().all(|it| it.from_port == 0 && it.to_port == 0 && it.type_ == 0);
    if plain { Ok(()) } else { Err(cudaErrorInvalidValue) }
}

fn status(found: Option<(Id, bool)>) -> cudaStreamCaptureStatus {
    match found {
        None => cudaStreamCaptureStatusNone,
        Some((_, false)) => cudaStreamCaptureStatusActive,
        Some((_, true)) => cudaStreamCaptureStatusInvalidated,
    }
}

/// A list of plain edges that lasts until the calling thread asks again.
fn plain_edges(count: usize) -> *const cudaGraphEdgeData {
    thread_local! {
        static EDGES: RefCell<Vec<cudaGraphEdgeData>> = const { RefCell::new(Vec::new()) };
    }
    let plain = cudaGraphEdgeData { from_port: 0, to_port: 0, type_: 0, reserved: [0; 5] };
    EDGES.with_borrow_mut(|edges| {
        edges.resize(count, plain);
        edges.as_ptr()
    })
}

fn begin(
    call: &Call,
    stream: cudaStream_t,
    into: Option<(usize, Vec<usize>)>,
    mode: cudaStreamCaptureMode,
) -> Answer {
    let (mut machine, _, key) = call.stream(stream)?;
    machine.begin_capture(key, into, mode)
}

api! {
    /// Begins to capture a stream.
    allowed fn cudaStreamBeginCapture | cudaStreamBeginCapture_ptsz(call, stream: cudaStream_t, mode: cudaStreamCaptureMode) {
        begin(call, stream, None, mode)
    }

    /// Begins to capture a stream into a graph that there is, after some of its nodes.
    allowed fn cudaStreamBeginCaptureToGraph | cudaStreamBeginCaptureToGraph_ptsz(
        call, stream: cudaStream_t, graph: cudaGraph_t, before: *const cudaGraphNode_t,
        edges: *const cudaGraphEdgeData, count: usize, mode: cudaStreamCaptureMode,
    ) {
        // SAFETY: the program promises that both lists have `count` elements or are null.
        unsafe { plain(edges, count) }?;
        // SAFETY: the program promises that both lists have `count` elements or are null.
        let before = unsafe { handles(before, count) }?;
        begin(call, stream, Some((graph.addr(), before)), mode)
    }

    /// Ends the capture of a stream.
    allowed fn cudaStreamEndCapture | cudaStreamEndCapture_ptsz(call, stream: cudaStream_t, out: Out<'_, cudaGraph_t>) {
        let (mut machine, _, key) = call.stream(stream)?;
        let ended = machine.end_capture(key);
        let kept = ended.ok().filter(|(_, ended)| ended.is_ok()).map_or(0, |(graph, _)| graph);
        if let Some(out) = out {
            out.write(graph(kept));
        }
        let (graph, ended) = ended?;
        if ended.is_err() {
            destroy(&mut machine, graph)?;
        }
        ended
    }

    /// Whether a stream is being captured.
    allowed fn cudaStreamIsCapturing | cudaStreamIsCapturing_ptsz(
        call, stream: cudaStream_t, out: Out<'_, cudaStreamCaptureStatus>,
    ) {
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let (mut machine, _, key) = call.stream(stream)?;
        out.write(status(machine.capture_of(key)?));
        Ok(())
    }

    /// The state of a stream's capture.
    allowed fn cudaStreamGetCaptureInfo | cudaStreamGetCaptureInfo_ptsz(
        call, stream: cudaStream_t, out: Out<'_, cudaStreamCaptureStatus>, id: Out<'_, c_ulonglong>,
        graph: Out<'_, cudaGraph_t>, before: Out<'_, *const cudaGraphNode_t>,
        edges: Out<'_, *const cudaGraphEdgeData>, count: Out<'_, usize>,
    ) {
        let (mut machine, _, key) = call.stream(stream)?;
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let found = machine.capture_of(key)?;
        out.write(status(found));
        let Some((number, false)) = found else { return Ok(()) };
        let Some((_, capture)) = machine.captures.of(key) else { return Ok(()) };
        let after = machine.captures.after(key).map_or(&[][..], Vec::as_slice);
        if let Some(out) = id {
            out.write(number);
        }
        if let Some(out) = graph {
            out.write(self::graph(capture.graph));
        }
        if let Some(out) = before {
            out.write(after.as_ptr().cast());
        }
        if let Some(out) = edges {
            out.write(plain_edges(after.len()));
        }
        if let Some(out) = count {
            out.write(after.len());
        }
        Ok(())
    }

    /// Sets the dependencies of the next node of a captured stream.
    allowed fn cudaStreamUpdateCaptureDependencies | cudaStreamUpdateCaptureDependencies_ptsz(
        call, stream: cudaStream_t, before: *mut cudaGraphNode_t, edges: *const cudaGraphEdgeData, count: usize,
        flags: c_uint,
    ) {
        let (mut machine, _, key) = call.stream(stream)?;
        machine.captures.of(key).filter(|it| !it.1.invalid).ok_or(cudaErrorIllegalState)?;
        // SAFETY: the program promises that both lists have `count` elements or are null.
        unsafe { plain(edges, count) }?;
        // SAFETY: the program promises that both lists have `count` elements or are null.
        let named = unsafe { handles(before, count) }?;
        let (_, capture) = machine.captures.of(key).filter(|it| !it.1.invalid).ok_or(cudaErrorIllegalState)?;
        let nodes = &machine.graphs.get(capture.graph)?.nodes;
        if !named.iter().all(|it| nodes.contains_key(it)) {
            return Err(cudaErrorInvalidValue);
        }
        let mut after = match flags {
            it if it == cudaStreamAddCaptureDependencies.0 => {
                machine.captures.after(key).cloned().unwrap_or_default()
            }
            it if it == cudaStreamSetCaptureDependencies.0 => Vec::new(),
            _ => return Err(cudaErrorInvalidValue),
        };
        for node in named {
            if !after.contains(&node) {
                after.push(node);
            }
        }
        machine.captures.set_after(key, after);
        Ok(())
    }

    /// Changes the capture mode of the calling thread, and returns the old one.
    allowed fn cudaThreadExchangeStreamCaptureMode(call, mode: Option<&mut cudaStreamCaptureMode>) {
        drop(call.machine()?);
        let Some(mode) = mode else { follows_null(call, "the mode") };
        *mode = thread::exchange_capture_mode(*mode);
        Ok(())
    }
}
