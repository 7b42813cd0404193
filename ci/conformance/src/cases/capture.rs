//! Calls during the capture of a stream, and the state of the capture after them.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::*;

use crate::case::Cases;
use crate::log::{Log, Outcome, ask, need};
use crate::memory::{Block, Kind, event, stream, stream_with};

unsafe extern "C" fn nothing(_: *mut c_void) {}

const MODES: [(cudaStreamCaptureMode, &str); 3] = [
    (cudaStreamCaptureModeGlobal, "global"),
    (cudaStreamCaptureModeThreadLocal, "thread-local"),
    (cudaStreamCaptureModeRelaxed, "relaxed"),
];

/// The objects made before the capture began.
struct Before {
    on: cudaStream_t,
    other: cudaStream_t,
    recorded: cudaEvent_t,
    device: Block,
    second: Block,
    pinned: Block,
}

impl Before {
    fn new(log: &mut Log, flags: u32) -> Result<Self, crate::log::Setup> {
        Ok(Self {
            on: stream_with(log, flags)?,
            other: stream(log)?,
            recorded: event(log)?,
            device: Block::new(log, Kind::Device, 4096)?,
            second: Block::new(log, Kind::Device, 4096)?,
            pinned: Block::new(log, Kind::Pinned, 4096)?,
        })
    }
}

pub(super) fn status_name(status: cudaStreamCaptureStatus) -> &'static str {
    match status {
        status if status == cudaStreamCaptureStatusNone => "none",
        status if status == cudaStreamCaptureStatusActive => "active",
        status if status == cudaStreamCaptureStatusInvalidated => "invalidated",
        _ => "unknown",
    }
}

fn status(log: &mut Log, name: &str, on: cudaStream_t) {
    let mut status = cudaStreamCaptureStatus(77);
    ask!(log, name, cudaStreamIsCapturing(on, &raw mut status));
    log.fact("status", status_name(status));
}

/// Ends a capture and notes its number of nodes.
pub(super) fn end(log: &mut Log, name: &str, on: cudaStream_t) -> cudaGraph_t {
    let mut graph = ptr::null_mut();
    ask!(log, name, cudaStreamEndCapture(on, &raw mut graph));
    if graph.is_null() {
        log.fact("graph", "null");
    } else {
        let mut nodes = 0;
        ask!(log, cudaGraphGetNodes(graph, ptr::null_mut(), &raw mut nodes));
        log.fact("nodes", nodes);
    }
    graph
}

/// One call during a capture.
type Call = fn(&mut Log, &Before) -> cudaError_t;

const CALLS: [(&str, Call); 31] = [
    ("a copy on the stream", |log, b| {
        ask!(log, "call", cudaMemcpyAsync(b.device.ptr(), b.pinned.ptr(), 4096, cudaMemcpyDefault, b.on))
    }),
    ("a copy of no bytes on the stream", |log, b| {
        ask!(log, "call", cudaMemcpyAsync(b.device.ptr(), b.pinned.ptr(), 0, cudaMemcpyDefault, b.on))
    }),
    ("a copy on another stream", |log, b| {
        ask!(log, "call", cudaMemcpyAsync(b.device.ptr(), b.pinned.ptr(), 4096, cudaMemcpyDefault, b.other))
    }),
    ("a copy on the legacy stream", |log, b| {
        ask!(
            log,
            "call",
            cudaMemcpyAsync(b.device.ptr(), b.pinned.ptr(), 4096, cudaMemcpyDefault, ptr::null_mut())
        )
    }),
    ("a blocking copy", |log, b| {
        ask!(log, "call", cudaMemcpy(b.device.ptr(), b.pinned.ptr(), 4096, cudaMemcpyDefault))
    }),
    ("a blocking copy of no bytes", |log, b| {
        ask!(log, "call", cudaMemcpy(b.device.ptr(), b.pinned.ptr(), 0, cudaMemcpyDefault))
    }),
    ("a set on the stream", |log, b| ask!(log, "call", cudaMemsetAsync(b.device.ptr(), 1, 4096, b.on))),
    ("a blocking set", |log, b| ask!(log, "call", cudaMemset(b.device.ptr(), 1, 4096))),
    ("a copy within planes on the stream", |log, b| {
        ask!(
            log,
            "call",
            cudaMemcpy2DAsync(b.device.ptr(), 64, b.second.ptr(), 64, 32, 8, cudaMemcpyDefault, b.on)
        )
    }),
    ("a blocking copy within planes", |log, b| {
        ask!(log, "call", cudaMemcpy2D(b.device.ptr(), 64, b.second.ptr(), 64, 32, 8, cudaMemcpyDefault))
    }),
    ("a peer copy on the stream", |log, b| {
        ask!(log, "call", cudaMemcpyPeerAsync(b.device.ptr(), 0, b.second.ptr(), 0, 4096, b.on))
    }),
    ("a host function on the stream", |log, b| {
        ask!(log, "call", cudaLaunchHostFunc(b.on, Some(nothing), ptr::null_mut()))
    }),
    ("waiting for the stream", |log, b| ask!(log, "call", cudaStreamSynchronize(b.on))),
    ("asking the stream", |log, b| ask!(log, "call", cudaStreamQuery(b.on))),
    ("waiting for another stream", |log, b| ask!(log, "call", cudaStreamSynchronize(b.other))),
    ("waiting for the device", |log, _| ask!(log, "call", cudaDeviceSynchronize())),
    ("recording an event on the stream", |log, b| ask!(log, "call", cudaEventRecord(b.recorded, b.on))),
    ("recording an event on the stream, and asking it", |log, b| {
        ask!(log, "record", cudaEventRecord(b.recorded, b.on));
        ask!(log, "call", cudaEventQuery(b.recorded))
    }),
    ("recording an event on the stream, and waiting for it", |log, b| {
        ask!(log, "record", cudaEventRecord(b.recorded, b.on));
        ask!(log, "call", cudaEventSynchronize(b.recorded))
    }),
    ("making an event", |log, _| {
        let mut mark = ptr::null_mut();
        ask!(log, "call", cudaEventCreate(&raw mut mark))
    }),
    ("making a stream", |log, _| {
        let mut made = ptr::null_mut();
        ask!(log, "call", cudaStreamCreateWithFlags(&raw mut made, 1))
    }),
    ("cudaMalloc", |log, _| {
        let mut start = ptr::null_mut();
        ask!(log, "call", cudaMalloc(&raw mut start, 4096))
    }),
    ("cudaFree", |log, b| ask!(log, "call", cudaFree(b.second.ptr()))),
    ("cudaFree of null", |log, _| ask!(log, "call", cudaFree(ptr::null_mut()))),
    ("cudaMallocHost", |log, _| {
        let mut start = ptr::null_mut();
        ask!(log, "call", cudaMallocHost(&raw mut start, 4096))
    }),
    ("cudaFreeHost", |log, b| ask!(log, "call", cudaFreeHost(b.pinned.ptr()))),
    ("cudaMallocManaged", |log, _| {
        let mut start = ptr::null_mut();
        ask!(log, "call", cudaMallocManaged(&raw mut start, 4096, 1))
    }),
    ("cudaMallocAsync on the stream", |log, b| {
        let mut start = ptr::null_mut();
        ask!(log, "call", cudaMallocAsync(&raw mut start, 4096, b.on))
    }),
    ("how much memory is free", |log, _| {
        let (mut free, mut total) = (0, 0);
        ask!(log, "call", cudaMemGetInfo(&raw mut free, &raw mut total))
    }),
    ("destroying the stream", |log, b| ask!(log, "call", cudaStreamDestroy(b.other))),
    ("which device is current", |log, _| {
        let mut device = 0;
        ask!(log, "call", cudaGetDevice(&raw mut device))
    }),
];

fn during(log: &mut Log, mode: cudaStreamCaptureMode, flags: u32, call: Call) -> Outcome {
    let before = Before::new(log, flags)?;
    need!(log, cudaStreamBeginCapture(before.on, mode));
    call(log, &before);
    status(log, "is capturing", before.on);
    end(log, "end", before.on);
    // SAFETY: takes nothing.
    let left = unsafe { cudaGetLastError() };
    log.code("left behind", left);
    ask!(log, "afterwards", cudaDeviceSynchronize());
    Ok(())
}

pub(super) fn add(cases: &mut Cases) {
    for (mode, name) in MODES {
        for (what, call) in CALLS {
            cases.alone(format!("capture/{name}, {what}"), move |log| {
                during(log, mode, cudaStreamNonBlocking, call)
            });
        }
    }
    // A blocking stream also affects the legacy stream.
    for (what, call) in
        CALLS.into_iter().filter(|(what, ..)| what.contains("blocking") || what.contains("legacy"))
    {
        cases.alone(format!("capture/of a blocking stream, {what}"), move |log| {
            during(log, MODES[2].0, 0, call)
        });
    }
    let begin = "cudaStreamBeginCapture";
    for (what, handle) in
        [("the legacy stream", ptr::null_mut()), ("the legacy stream by name", cudaStreamLegacy)]
    {
        cases.alone(format!("{begin}/{what}"), move |log| {
            need!(log, cudaFree(ptr::null_mut()));
            ask!(log, cudaStreamBeginCapture(handle, MODES[0].0));
            Ok(())
        });
    }
    cases.alone(format!("{begin}/the stream of the thread"), |log| {
        need!(log, cudaFree(ptr::null_mut()));
        ask!(log, cudaStreamBeginCapture(cudaStreamPerThread, MODES[0].0));
        end(log, "end", cudaStreamPerThread);
        Ok(())
    });
    cases.alone(format!("{begin}/no such mode"), |log| {
        let on = stream(log)?;
        ask!(log, cudaStreamBeginCapture(on, cudaStreamCaptureMode(99)));
        status(log, "is capturing", on);
        Ok(())
    });
    cases.alone(format!("{begin}/twice"), |log| {
        let on = stream(log)?;
        ask!(log, cudaStreamBeginCapture(on, MODES[0].0));
        ask!(log, cudaStreamBeginCapture(on, MODES[0].0));
        status(log, "is capturing", on);
        end(log, "end", on);
        end(log, "end again", on);
        Ok(())
    });
    cases.alone("cudaStreamEndCapture/nothing begun, answer null", |log| {
        let on = stream(log)?;
        end(log, "nothing begun", on);
        ask!(log, cudaStreamBeginCapture(on, MODES[0].0));
        ask!(log, "answer null", cudaStreamEndCapture(on, ptr::null_mut()));
        status(log, "is capturing", on);
        Ok(())
    });
    cases.add("cudaStreamIsCapturing/answer null", |log| {
        let on = stream(log)?;
        ask!(log, cudaStreamIsCapturing(on, ptr::null_mut()));
        Ok(())
    });
    cases.alone("capture/a fork that joins again", |log| {
        let before = Before::new(log, 1)?;
        let (fork, join) = (event(log)?, event(log)?);
        need!(log, cudaStreamBeginCapture(before.on, MODES[1].0));
        ask!(log, cudaMemsetAsync(before.device.ptr(), 1, 4096, before.on));
        ask!(log, cudaEventRecord(fork, before.on));
        ask!(log, cudaStreamWaitEvent(before.other, fork, 0));
        status(log, "the other", before.other);
        ask!(log, cudaMemsetAsync(before.second.ptr(), 2, 4096, before.other));
        ask!(log, cudaEventRecord(join, before.other));
        ask!(log, cudaStreamWaitEvent(before.on, join, 0));
        let graph = end(log, "end", before.on);
        status(log, "the other", before.other);
        let mut run = ptr::null_mut();
        ask!(log, cudaGraphInstantiate(&raw mut run, graph, 0));
        ask!(log, cudaGraphLaunch(run, before.on));
        ask!(log, cudaStreamSynchronize(before.on));
        let (one, two) = (before.device.load(log)?, before.second.load(log)?);
        log.bytes("one", &one, &[1; 4096]);
        log.bytes("two", &two, &[2; 4096]);
        ask!(log, cudaGraphExecDestroy(run));
        ask!(log, cudaGraphDestroy(graph));
        Ok(())
    });
    cases.alone("capture/an event recorded in it, and again afterwards", |log| {
        let before = Before::new(log, 1)?;
        let (inside, side) = (event(log)?, event(log)?);
        need!(log, cudaStreamBeginCapture(before.on, MODES[1].0));
        ask!(log, cudaEventRecord(inside, before.on));
        ask!(log, cudaStreamWaitEvent(before.other, inside, 0));
        ask!(log, cudaMemsetAsync(before.second.ptr(), 2, 4096, before.other));
        ask!(log, cudaEventRecord(side, before.other));
        ask!(log, cudaStreamWaitEvent(before.on, side, 0));
        let graph = end(log, "end", before.on);
        for (name, again) in [("inside", inside), ("side", side)] {
            ask!(log, name, cudaEventRecord(again, before.other));
            ask!(log, name, cudaStreamWaitEvent(before.on, again, 0));
            ask!(log, name, cudaEventSynchronize(again));
            ask!(log, name, cudaEventQuery(again));
        }
        status(log, "afterwards", before.on);
        ask!(log, cudaGraphDestroy(graph));
        Ok(())
    });
    cases.alone("capture/a fork that does not join", |log| {
        let before = Before::new(log, 1)?;
        let fork = event(log)?;
        need!(log, cudaStreamBeginCapture(before.on, MODES[1].0));
        ask!(log, cudaEventRecord(fork, before.on));
        ask!(log, cudaStreamWaitEvent(before.other, fork, 0));
        ask!(log, cudaMemsetAsync(before.second.ptr(), 2, 4096, before.other));
        end(log, "end", before.on);
        status(log, "the other", before.other);
        Ok(())
    });
    for name in ["after a node", "a fork that does not join", "a forbidden call", "a node of another graph"] {
        cases.alone(format!("cudaStreamBeginCaptureToGraph/{name}"), move |log| {
            let before = Before::new(log, 1)?;
            let fork = event(log)?;
            let (mut graph, mut other) = (ptr::null_mut(), ptr::null_mut());
            let (mut first, mut second, mut foreign) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
            need!(log, cudaGraphCreate(&raw mut graph, 0));
            need!(log, cudaGraphCreate(&raw mut other, 0));
            need!(log, cudaGraphAddEmptyNode(&raw mut first, graph, ptr::null(), 0));
            need!(log, cudaGraphAddEmptyNode(&raw mut second, graph, ptr::null(), 0));
            need!(log, cudaGraphAddEmptyNode(&raw mut foreign, other, ptr::null(), 0));
            let after = if name == "a node of another graph" { foreign } else { first };
            ask!(
                log,
                "begin",
                cudaStreamBeginCaptureToGraph(before.on, graph, &raw const after, ptr::null(), 1, MODES[1].0)
            );
            status(log, "is capturing", before.on);
            if name != "a node of another graph" {
                ask!(log, cudaEventRecord(fork, before.on));
                ask!(log, cudaMemsetAsync(before.device.ptr(), 1, 4096, before.on));
                ask!(log, cudaStreamWaitEvent(before.other, fork, 0));
                ask!(log, cudaMemsetAsync(before.second.ptr(), 2, 4096, before.other));
                if name == "a forbidden call" {
                    ask!(log, "forbidden", cudaDeviceSynchronize());
                }
                if name == "after a node" {
                    ask!(log, cudaEventRecord(before.recorded, before.other));
                    ask!(log, cudaStreamWaitEvent(before.on, before.recorded, 0));
                }
                let ended = end(log, "end", before.on);
                log.fact("the graph", ended == graph);
            }
            let (mut nodes, mut edges) = (0, 0);
            ask!(log, "nodes", cudaGraphGetNodes(graph, ptr::null_mut(), &raw mut nodes));
            log.fact("nodes", nodes);
            // The nodes of a graph that is gone are gone.
            if nodes > 0 {
                ask!(
                    log,
                    "after",
                    cudaGraphNodeGetDependentNodes(first, ptr::null_mut(), ptr::null_mut(), &raw mut edges)
                );
                log.fact("after", edges);
            }
            ask!(log, "destroy", cudaGraphDestroy(graph));
            ask!(log, "destroy", cudaGraphDestroy(other));
            status(log, "afterwards", before.on);
            Ok(())
        });
    }
    cases.alone("capture/ended on the fork", |log| {
        let before = Before::new(log, 1)?;
        let fork = event(log)?;
        need!(log, cudaStreamBeginCapture(before.on, MODES[1].0));
        ask!(log, cudaEventRecord(fork, before.on));
        ask!(log, cudaStreamWaitEvent(before.other, fork, 0));
        end(log, "end of the other", before.other);
        end(log, "end", before.on);
        Ok(())
    });
    cases.alone("capture/begun on a fork", |log| {
        let before = Before::new(log, 1)?;
        let fork = event(log)?;
        need!(log, cudaStreamBeginCapture(before.on, MODES[1].0));
        ask!(log, cudaEventRecord(fork, before.on));
        ask!(log, cudaStreamWaitEvent(before.other, fork, 0));
        ask!(log, cudaStreamBeginCapture(before.other, MODES[1].0));
        Ok(())
    });
    for (mode, name) in MODES {
        cases.alone(format!("capture/{name}, ended by another thread"), move |log| {
            let on = stream(log)?;
            need!(log, cudaStreamBeginCapture(on, mode));
            let at = on.expose_provenance();
            let code = std::thread::spawn(move || unsafe {
                let mut graph = ptr::null_mut();
                cudaStreamEndCapture(ptr::with_exposed_provenance_mut(at), &raw mut graph).0
            });
            log.code("end", cudaError(code.join().unwrap()));
            status(log, "is capturing", on);
            Ok(())
        });
        cases.alone(format!("capture/{name}, cudaMalloc by another thread"), move |log| {
            let on = stream(log)?;
            need!(log, cudaStreamBeginCapture(on, mode));
            let code = std::thread::spawn(|| unsafe {
                let mut start = ptr::null_mut();
                cudaMalloc(&raw mut start, 4096).0
            });
            log.code("malloc", cudaError(code.join().unwrap()));
            status(log, "is capturing", on);
            end(log, "end", on);
            Ok(())
        });
    }
    cases.alone("capture/launched three times", |log| {
        let before = Before::new(log, 1)?;
        before.pinned.store(log, &[5; 4096])?;
        need!(log, cudaStreamBeginCapture(before.on, MODES[1].0));
        for (to, from) in [(before.device, before.pinned), (before.second, before.device)] {
            ask!(log, cudaMemcpyAsync(to.ptr(), from.ptr(), 4096, cudaMemcpyDefault, before.on));
        }
        let graph = end(log, "end", before.on);
        let nothing_yet = before.device.load(log)?;
        log.bytes("before", &nothing_yet, &[0; 4096]);
        let mut run = ptr::null_mut();
        need!(log, cudaGraphInstantiate(&raw mut run, graph, 0));
        for value in [5, 6, 7] {
            before.pinned.store(log, &[value; 4096])?;
            ask!(log, cudaGraphLaunch(run, before.other));
            ask!(log, cudaStreamSynchronize(before.other));
            let got = before.second.load(log)?;
            log.bytes("second", &got, &[value; 4096]);
        }
        Ok(())
    });
    cases.alone("cudaThreadExchangeStreamCaptureMode/gives the mode before", |log| {
        for new in [MODES[2].0, MODES[1].0, MODES[0].0] {
            let mut mode = new;
            ask!(log, cudaThreadExchangeStreamCaptureMode(&raw mut mode));
            log.fact("before", mode.0);
        }
        Ok(())
    });
    cases.alone("cudaThreadExchangeStreamCaptureMode/relaxed, so that cudaMalloc harms no capture", |log| {
        let on = stream(log)?;
        need!(log, cudaStreamBeginCapture(on, MODES[0].0));
        let mut mode = MODES[2].0;
        ask!(log, cudaThreadExchangeStreamCaptureMode(&raw mut mode));
        let mut start = ptr::null_mut();
        ask!(log, cudaMalloc(&raw mut start, 4096));
        status(log, "is capturing", on);
        end(log, "end", on);
        Ok(())
    });
}
