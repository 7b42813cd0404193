//! Captures of streams: the graph of each capture, the dependencies of the next node, and the calls that a
//! capture forbids.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::node::NodeOp;
use crate::error::{Answer, Code};
use crate::machine::Machine;
use crate::stream::{Mark, OperationId, StreamId, Work};
use crate::sys::*;
use crate::thread;

/// The name of a capture, never used again.
pub(crate) type Id = u64;

/// The number of captures: checked before the machine is locked.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// What captures in progress make of a call, whatever its arguments are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    /// They permit it, or its body decides.
    Allowed,
    /// CUDA takes it for a call that may wait for work. A capture in progress forbids it, because it might
    /// wait for that work.
    Waits,
    /// It uses every stream of the device. A capture of any of them forbids it.
    Conflicts,
}

/// One capture.
#[derive(Debug)]
pub(crate) struct Capture {
    pub(crate) graph: usize,
    origin: StreamId,
    device: usize,
    mode: cudaStreamCaptureMode,
    thread: u64,
    pub(crate) invalid: bool,
    /// The dependencies of the next node of each stream in it.
    streams: BTreeMap<StreamId, Vec<usize>>,
}

/// All captures of the process.
#[derive(Debug, Default)]
pub(crate) struct Captures {
    last: Id,
    all: BTreeMap<Id, Capture>,
    of: BTreeMap<StreamId, Id>,
}

impl Captures {
    /// The capture that a stream is in.
    pub(crate) fn of(&self, stream: StreamId) -> Option<(Id, &Capture)> {
        let id = *self.of.get(&stream)?;
        Some((id, self.all.get(&id)?))
    }

    /// The dependencies of the next node of a stream.
    pub(crate) fn after(&self, stream: StreamId) -> Option<&Vec<usize>> {
        self.of(stream)?.1.streams.get(&stream)
    }

    /// Sets the dependencies of the next node of a stream.
    pub(crate) fn set_after(&mut self, stream: StreamId, after: Vec<usize>) {
        if let Some(id) = self.of.get(&stream)
            && let Some(capture) = self.all.get_mut(id)
        {
            capture.streams.insert(stream, after);
        }
    }

    fn invalidate(&mut self, which: impl Fn(Id, &Capture) -> bool) -> bool {
        let mut any = false;
        for (id, capture) in &mut self.all {
            if which(*id, capture) {
                capture.invalid = true;
                any = true;
            }
        }
        any
    }

    fn join(&mut self, stream: StreamId, id: Id, after: Vec<usize>) {
        if let Some(capture) = self.all.get_mut(&id) {
            capture.streams.insert(stream, after);
            self.of.insert(stream, id);
        }
    }

    fn end(&mut self, id: Id) -> Option<Capture> {
        let capture = self.all.remove(&id)?;
        self.of.retain(|_, it| *it != id);
        COUNT.fetch_sub(1, Ordering::Relaxed);
        Some(capture)
    }

    /// Ends all captures of a device.
    pub(crate) fn reset(&mut self, device: usize) {
        let gone: Vec<Id> =
            self.all.iter().filter(|it| it.1.device == device).map(|entry| *entry.0).collect();
        for id in gone {
            self.end(id);
        }
    }
}

/// Whether a capture may be in progress.
pub(crate) fn any() -> bool {
    COUNT.load(Ordering::Relaxed) > 0
}

/// Checks that captures permit a call. A forbidden call ends the captures that forbid it.
pub(crate) fn permits(rule: Rule) -> Answer {
    if thread::in_callback() {
        return Ok(());
    }
    match rule {
        Rule::Allowed => Ok(()),
        Rule::Waits => permits_waiting(&mut *crate::machine::lock()?),
        Rule::Conflicts => {
            let device = thread::device();
            let hit = crate::machine::lock()?.captures.invalidate(|_, it| it.device == device);
            if hit { Err(cudaErrorStreamCaptureUnsupported) } else { Ok(()) }
        }
    }
}

/// Checks that captures permit the calling thread a call that may wait.
pub(crate) fn permits_waiting(machine: &mut Machine) -> Answer {
    let (mode, me) = (thread::capture_mode(), thread::number());
    let forbids = |it: &Capture| {
        let mine = it.thread == me && it.mode != cudaStreamCaptureModeRelaxed;
        let everyones = it.mode == cudaStreamCaptureModeGlobal && mode == cudaStreamCaptureModeGlobal;
        mode != cudaStreamCaptureModeRelaxed && (mine || everyones)
    };
    let hit = machine.captures.invalidate(|_, it| forbids(it));
    if hit { Err(cudaErrorStreamCaptureUnsupported) } else { Ok(()) }
}

impl Machine {
    /// Ends the captures of blocking streams if the legacy stream is used, which would wait for them.
    fn implicit(&mut self, stream: StreamId) -> Answer {
        let legacy = self.streams.get(stream)?;
        if !legacy.legacy || !any() {
            return Ok(());
        }
        let device = legacy.device;
        let streams = &self.streams;
        let blocking = |it: &StreamId| streams.get(*it).is_ok_and(|it| it.flags & 1 == 0);
        let hit = self.captures.invalidate(|_, it| it.device == device && it.streams.keys().any(&blocking));
        if hit { Err(cudaErrorStreamCaptureImplicit) } else { Ok(()) }
    }

    /// Checks that a stream may be queried or waited for. A captured stream may not, nor may the legacy
    /// stream if it would wait for a captured one.
    pub(crate) fn waitable(&mut self, stream: StreamId) -> Answer {
        if !any() {
            return Ok(());
        }
        self.implicit(stream)?;
        match self.captures.of.get(&stream).copied() {
            Some(id) => self.refuse(id, cudaErrorStreamCaptureUnsupported),
            None => permits_waiting(self),
        }
    }

    /// Checks that a stream may get work of memory, which other captures forbid as they forbid calls that
    /// wait.
    pub(crate) fn allocatable(&mut self, stream: StreamId) -> Answer {
        if self.is_captured(stream) { Ok(()) } else { permits_waiting(self) }
    }

    /// The state of a stream's capture.
    pub(crate) fn capture_of(&mut self, stream: StreamId) -> Answer<Option<(Id, bool)>> {
        let found = self.captures.of(stream).map(|(id, it)| (id, it.invalid));
        if found.is_none() {
            self.implicit(stream)?;
        }
        Ok(found)
    }

    /// Refuses work that no graph can hold, on a captured stream. The capture is lost.
    pub(crate) fn keep_out_of_captures(&mut self, stream: StreamId) -> Answer {
        match self.capturing(stream)? {
            Some((id, _)) => self.refuse(id, cudaErrorStreamCaptureUnsupported),
            None => Ok(()),
        }
    }

    fn refuse<T>(&mut self, id: Id, code: Code) -> Answer<T> {
        self.captures.invalidate(|it, _| it == id);
        Err(code)
    }

    /// The live capture of a stream that gets work; `None` if the stream is not captured.
    fn capturing(&mut self, stream: StreamId) -> Answer<Option<(Id, usize)>> {
        if !any() {
            return Ok(None);
        }
        match self.captures.of(stream) {
            Some((_, it)) if it.invalid => Err(cudaErrorStreamCaptureInvalidated),
            Some((id, it)) => Ok(Some((id, it.graph))),
            None => self.implicit(stream).map(|()| None),
        }
    }

    /// Whether work on a stream becomes a node.
    pub(crate) fn is_captured(&self, stream: StreamId) -> bool {
        any() && self.captures.of(stream).is_some()
    }

    /// Adds a node to the graph that a stream is captured into. Returns the node, or `None` if the stream is
    /// not captured.
    pub(crate) fn add_captured(
        &mut self,
        stream: StreamId,
        call: &'static str,
        op: impl FnOnce() -> Option<NodeOp>,
    ) -> Answer<Option<usize>> {
        let Some((id, graph)) = self.capturing(stream)? else { return Ok(None) };
        let Some(op) = op() else { return self.refuse(id, cudaErrorStreamCaptureUnsupported) };
        let device = self.streams.get(stream)?.device;
        let after = self.captures.after(stream).cloned().unwrap_or_default();
        let node = self.graphs.add(graph, op, &after, device, call)?;
        self.captures.set_after(stream, vec![node]);
        Ok(Some(node))
    }

    /// Takes an operation into the graph that its stream is captured into. Gives it back if the stream is not
    /// captured.
    pub(crate) fn take_captured(
        &mut self,
        stream: StreamId,
        call: &'static str,
        work: Work,
    ) -> Answer<Result<OperationId, Work>> {
        if !any() {
            return Ok(Err(work));
        }
        let Some((id, _)) = self.capturing(stream)? else { return Ok(Err(work)) };
        if let Work::Record(record) = work {
            let after = self.captures.after(stream).cloned().unwrap_or_default();
            self.events.marked(record.event, Mark { capture: id, after });
            return Ok(Ok(0));
        }
        self.add_captured(stream, call, || NodeOp::captured(work))?;
        Ok(Ok(0))
    }

    /// Makes a stream wait for the captured work before an event, if the stream or the event is captured.
    /// Returns whether one of them is.
    pub(crate) fn wait_captured(&mut self, stream: StreamId, event: usize) -> Answer<bool> {
        let mark = self.events.mark(event).cloned();
        let Some(mark) = mark else {
            return match self.capturing(stream)? {
                Some((id, _)) => self.refuse(id, cudaErrorStreamCaptureIsolation),
                None => Ok(false),
            };
        };
        let source = self.captures.all.get(&mark.capture).ok_or(cudaErrorInvalidValue)?;
        if source.invalid {
            return Err(cudaErrorStreamCaptureInvalidated);
        }
        match self.capturing(stream)? {
            Some((id, _)) if id == mark.capture => {
                let mut after = self.captures.after(stream).cloned().unwrap_or_default();
                let new = mark.after.iter().filter(|it| !after.contains(it)).copied().collect::<Vec<_>>();
                after.extend(new);
                self.captures.set_after(stream, after);
            }
            Some((id, _)) => {
                self.captures.invalidate(|it, _| it == mark.capture);
                return self.refuse(id, cudaErrorStreamCaptureMerge);
            }
            None if self.streams.get(stream)?.legacy => {
                return self.refuse(mark.capture, cudaErrorStreamCaptureImplicit);
            }
            None => {
                self.captures.join(stream, mark.capture, mark.after);
            }
        }
        Ok(true)
    }

    /// Checks that an event may be queried or waited for: an event whose last record was captured may not.
    pub(crate) fn event_waitable(&mut self, event: usize) -> Answer {
        if let Some(mark) = self.events.mark(event) {
            let id = mark.capture;
            if !self.captures.all.contains_key(&id) {
                return Err(cudaErrorInvalidValue);
            }
            return self.refuse(id, cudaErrorCapturedEvent);
        }
        if any() { permits_waiting(self) } else { Ok(()) }
    }

    /// Checks that an event has a time: an event whose last record was captured has none. The capture
    /// continues.
    pub(crate) fn event_timeable(&self, event: usize) -> Answer {
        match self.events.mark(event) {
            Some(mark) if self.captures.all.contains_key(&mark.capture) => Err(cudaErrorCapturedEvent),
            Some(_) => Err(cudaErrorInvalidValue),
            None => Ok(()),
        }
    }

    /// Refuses a question about a captured stream. The capture is lost.
    pub(crate) fn unasked_in_capture(&mut self, stream: StreamId) -> Answer {
        match self.captures.of.get(&stream).copied() {
            Some(id) => self.refuse(id, cudaErrorStreamCaptureUnsupported),
            None => Ok(()),
        }
    }

    /// Begins the capture of a stream, into a graph that the program gives or a new one.
    pub(crate) fn begin_capture(
        &mut self,
        stream: StreamId,
        into: Option<(usize, Vec<usize>)>,
        mode: cudaStreamCaptureMode,
    ) -> Answer {
        let modes =
            [cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed];
        let it = self.streams.get(stream)?;
        if it.legacy {
            return Err(cudaErrorStreamCaptureUnsupported);
        }
        if !modes.contains(&mode) {
            return Err(cudaErrorInvalidValue);
        }
        if self.captures.of.contains_key(&stream) {
            return Err(cudaErrorIllegalState);
        }
        let device = it.device;
        let (graph, after) = match into {
            Some((graph, after)) => {
                let nodes = &self.graphs.get(graph)?.nodes;
                if !after.iter().all(|it| nodes.contains_key(it)) {
                    return Err(cudaErrorInvalidValue);
                }
                (graph, after)
            }
            None => (self.graphs.create(), Vec::new()),
        };
        self.captures.last += 1;
        let (id, thread) = (self.captures.last, thread::number());
        let streams = BTreeMap::from([(stream, after)]);
        let capture = Capture { graph, origin: stream, device, mode, thread, invalid: false, streams };
        self.captures.all.insert(id, capture);
        self.captures.of.insert(stream, id);
        COUNT.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Ends the capture of a stream. Returns its graph, and whether the program gets it: a capture that fails
    /// loses the graph, also one that the program gave.
    pub(crate) fn end_capture(&mut self, stream: StreamId) -> Answer<(usize, Answer)> {
        let (id, it) = self.captures.of(stream).ok_or(cudaErrorIllegalState)?;
        if it.mode != cudaStreamCaptureModeRelaxed && it.thread != thread::number() {
            self.captures.end(id);
            return Err(cudaErrorStreamCaptureWrongThread);
        }
        if it.origin != stream {
            return self.refuse(id, cudaErrorStreamCaptureUnmatched);
        }
        let Some(it) = self.captures.end(id) else { return Err(cudaErrorIllegalState) };
        let graph = self.graphs.get(it.graph)?;
        let own = it.streams.get(&stream).map_or(&[][..], Vec::as_slice);
        let joined = it.streams.values().all(|after| graph.reached(after, own));
        let ended = match (it.invalid, joined) {
            (true, _) => Err(cudaErrorStreamCaptureInvalidated),
            (false, false) => Err(cudaErrorStreamCaptureUnjoined),
            (false, true) => Ok(()),
        };
        Ok((it.graph, ended))
    }

    /// Forgets a stream that is destroyed. Its capture cannot end well, unless the stream had only joined it
    /// and all of its work is joined again. Returns the graph that the capture loses with its first stream.
    pub(crate) fn stream_gone(&mut self, stream: StreamId) -> Option<usize> {
        let (id, it) = self.captures.of(stream)?;
        let origin = it.origin == stream;
        let of = |key| it.streams.get(&key).map_or(&[][..], Vec::as_slice);
        let joined = self.graphs.get(it.graph).is_ok_and(|graph| graph.reached(of(stream), of(it.origin)));
        self.captures.of.remove(&stream);
        if !origin && joined {
            if let Some(it) = self.captures.all.get_mut(&id) {
                it.streams.remove(&stream);
            }
            return None;
        }
        self.captures.invalidate(|it, _| it == id);
        if origin { self.captures.end(id).map(|it| it.graph) } else { None }
    }
}
