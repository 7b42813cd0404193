//! Streams, events, host functions and captures: priorities, flags, times, and ways to spoil a capture.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::*;

use super::capture::{end, status_name};
use super::graph::{N, empty, graph};
use super::graph_parameter::adds_one;
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Setup, ask, error_name, need};
use crate::memory::{Block, Kind, event, stream, stream_with};

unsafe extern "C" {
    fn case_empty();
    fn case_trap();
}

/// A host function that asks the runtime, which it must not.
unsafe extern "C" fn asks(data: *mut c_void) {
    let mut start = ptr::null_mut();
    // SAFETY: the cases pass the address of five numbers; the calls are refused, or harmless.
    unsafe {
        let codes = data.cast::<u32>();
        *codes = cudaMalloc(&raw mut start, 16).0;
        *codes.add(1) = cudaStreamQuery(ptr::null_mut()).0;
        *codes.add(2) = cudaDeviceSynchronize().0;
        *codes.add(3) = cudaPeekAtLastError().0;
        *codes.add(4) = cudaGetDevice((&raw mut start).cast()).0;
    }
}

unsafe extern "C" fn called_back(_: cudaStream_t, status: cudaError_t, data: *mut c_void) {
    // SAFETY: the cases pass the address of two numbers that nobody else uses meanwhile.
    unsafe {
        *data.cast::<u32>() += 1;
        *data.cast::<u32>().add(1) = status.0;
    }
}

fn kernel(log: &mut Log, name: &str, kernel: unsafe extern "C" fn(), on: cudaStream_t) {
    let one = dim3 { x: 1, y: 1, z: 1 };
    ask!(log, name, cudaLaunchKernel(kernel as *const c_void, one, one, ptr::null_mut(), 0, on));
}

fn streams(cases: &mut Cases) {
    cases.add("cudaStreamGetPriority/in and out of the range", |log| {
        let (mut least, mut greatest) = (77, 77);
        ask!(log, cudaDeviceGetStreamPriorityRange(&raw mut least, &raw mut greatest));
        log.fact("range", format_args!("{least} to {greatest}"));
        for wanted in [-100, -6, -5, -3, -1, 0, 1, 100] {
            let (mut on, mut given) = (ptr::null_mut(), 77);
            ask!(log, cudaStreamCreateWithPriority(&raw mut on, cudaStreamNonBlocking, wanted));
            ask!(log, cudaStreamGetPriority(on, &raw mut given));
            log.fact(&format!("{wanted}"), given);
        }
        Ok(())
    });
    cases.add("cudaStreamGetPriority/of the streams that are there", |log| {
        for (name, on) in
            [("legacy", cudaStreamLegacy), ("of the thread", cudaStreamPerThread), ("null", ptr::null_mut())]
        {
            let (mut priority, mut flags, mut device) = (77, 77, 77);
            ask!(log, name, cudaStreamGetPriority(on, &raw mut priority));
            ask!(log, cudaStreamGetFlags(on, &raw mut flags));
            ask!(log, cudaStreamGetDevice(on, &raw mut device));
            log.fact("priority, flags, device", format_args!("{priority} {flags} {device}"));
        }
        ask!(log, "range to null", cudaDeviceGetStreamPriorityRange(ptr::null_mut(), ptr::null_mut()));
        Ok(())
    });
    cases.add("cudaStreamCreateWithPriority/flags that there are not, and null", |log| {
        let mut on = ptr::null_mut();
        for flags in [2, 3, 0x8000_0000] {
            ask!(log, cudaStreamCreateWithPriority(&raw mut on, flags, 0));
            ask!(log, cudaStreamCreateWithFlags(&raw mut on, flags));
        }
        log.fact("stream", if on.is_null() { "null" } else { "made" });
        ask!(log, cudaStreamCreateWithPriority(ptr::null_mut(), 0, 0));
        ask!(log, cudaStreamCreateWithFlags(ptr::null_mut(), 0));
        ask!(log, cudaStreamCreate(ptr::null_mut()));
        Ok(())
    });
    cases.alone("cudaStreamGetId/of many streams", |log| {
        let streams = [
            ptr::null_mut(),
            cudaStreamLegacy,
            cudaStreamPerThread,
            stream(log)?,
            stream(log)?,
            stream_with(log, 0)?,
        ];
        let mut ids = [0; 6];
        for (on, id) in streams.iter().zip(&mut ids) {
            ask!(log, cudaStreamGetId(*on, id));
        }
        log.fact("legacy by both names", ids[0] == ids[1]);
        log.fact("of the thread another", ids[2] != ids[0]);
        log.fact("rise", ids[3] < ids[4] && ids[4] < ids[5]);
        let again = ids[5];
        need!(log, cudaStreamDestroy(streams[5]));
        let next = stream(log)?;
        ask!(log, cudaStreamGetId(next, &raw mut ids[5]));
        log.fact("a number comes back", ids[5] == again);
        ask!(log, "to null", cudaStreamGetId(next, ptr::null_mut()));
        Ok(())
    });
    cases.add("cudaStreamDestroy/streams that are always there", |log| {
        ask!(log, "null", cudaStreamDestroy(ptr::null_mut()));
        ask!(log, "legacy", cudaStreamDestroy(cudaStreamLegacy));
        ask!(log, "of the thread", cudaStreamDestroy(cudaStreamPerThread));
        ask!(log, cudaStreamQuery(cudaStreamPerThread));
        Ok(())
    });
    cases.add("cudaStreamDestroy/with work left, which is done all the same", |log| {
        let (on, mut calls) = (stream(log)?, 0_u32);
        let mark = event(log)?;
        let gate = Gate::hold(log, on)?;
        ask!(log, cudaLaunchHostFunc(on, Some(adds_one), (&raw mut calls).cast()));
        ask!(log, cudaEventRecord(mark, on));
        gate.waits(log, |log| ask!(log, cudaStreamDestroy(on)));
        ask!(log, cudaEventSynchronize(mark));
        // SAFETY: the host function is over.
        log.fact("calls", unsafe { ptr::read_volatile(&raw const calls) });
        Ok(())
    });
    cases.add("cudaStreamSetAttribute/policies, priority, and what a stream has not", |log| {
        let on = stream(log)?;
        let mut value = cudaLaunchAttributeValue { pad: [0; 64] };
        value.syncPolicy = cudaSyncPolicyBlockingSync;
        let policy = cudaLaunchAttributeSynchronizationPolicy;
        ask!(log, cudaStreamSetAttribute(on, policy, &raw const value));
        let mut back = cudaLaunchAttributeValue { pad: [0; 64] };
        ask!(log, cudaStreamGetAttribute(on, policy, &raw mut back));
        // SAFETY: all bytes are there.
        log.fact("policy", unsafe { back.syncPolicy.0 });
        value.syncPolicy.0 = 9;
        ask!(log, "no such policy", cudaStreamSetAttribute(on, policy, &raw const value));
        value.pad = [0; 64];
        value.priority = -2;
        let priority = cudaLaunchAttributePriority;
        ask!(log, "priority", cudaStreamSetAttribute(on, priority, &raw const value));
        ask!(log, cudaStreamGetAttribute(on, priority, &raw mut back));
        // SAFETY: all bytes are there.
        log.fact("priority", unsafe { back.priority });
        let mut given = 77;
        ask!(log, cudaStreamGetPriority(on, &raw mut given));
        log.fact("given", given);
        let cooperative = cudaLaunchAttributeCooperative;
        ask!(log, "cooperative", cudaStreamSetAttribute(on, cooperative, &raw const value));
        ask!(log, "cooperative", cudaStreamGetAttribute(on, cooperative, &raw mut back));
        ask!(log, "ignore", cudaStreamSetAttribute(on, cudaLaunchAttributeIgnore, &raw const value));
        Ok(())
    });
    cases.add("cudaStreamSetAttribute/a window of memory", |log| {
        let (on, other, block) = (stream(log)?, stream(log)?, Block::new(log, Kind::Device, 1 << 16)?);
        let mut value = cudaLaunchAttributeValue { pad: [0; 64] };
        let window = cudaLaunchAttributeAccessPolicyWindow;
        for (what, bytes, ratio, hit) in [
            ("a window", 4096, 0.5, cudaAccessPropertyPersisting),
            ("more than all", 4096, 1.5, cudaAccessPropertyPersisting),
            ("a window without end", usize::MAX, 1.0, cudaAccessPropertyStreaming),
        ] {
            value.accessPolicyWindow = cudaAccessPolicyWindow {
                base_ptr: block.ptr(),
                num_bytes: bytes,
                hitRatio: ratio,
                hitProp: hit,
                missProp: cudaAccessPropertyNormal,
            };
            ask!(log, what, cudaStreamSetAttribute(on, window, &raw const value));
        }
        let mut back = cudaLaunchAttributeValue { pad: [0; 64] };
        ask!(log, cudaStreamCopyAttributes(other, on));
        ask!(log, cudaStreamGetAttribute(other, window, &raw mut back));
        // SAFETY: all bytes are there.
        let back = unsafe { back.accessPolicyWindow };
        log.fact(
            "bytes, ratio, hit",
            format_args!("{} {} {}", back.num_bytes, back.hitRatio, back.hitProp.0),
        );
        log.fact("its start", back.base_ptr == block.ptr());
        ask!(log, cudaCtxResetPersistingL2Cache());
        Ok(())
    });
    cases.add("cudaStreamQuery/a stream after a launch that was refused", |log| {
        let on = stream(log)?;
        let (one, many) = (dim3 { x: 1, y: 1, z: 1 }, dim3 { x: 4096, y: 1, z: 1 });
        ask!(log, cudaLaunchKernel(case_empty as *const c_void, one, many, ptr::null_mut(), 0, on));
        ask!(log, cudaStreamQuery(on));
        ask!(log, cudaStreamSynchronize(on));
        ask!(log, cudaPeekAtLastError());
        kernel(log, "right", case_empty, on);
        ask!(log, cudaPeekAtLastError());
        ask!(log, cudaStreamSynchronize(on));
        Ok(())
    });
    cases.alone("cudaStreamWaitEvent/flags, nulls, and an event that was never recorded", |log| {
        let (on, mark) = (stream(log)?, event(log)?);
        ask!(log, "never recorded", cudaStreamWaitEvent(on, mark, 0));
        ask!(log, "external", cudaStreamWaitEvent(on, mark, 1));
        ask!(log, "flags", cudaStreamWaitEvent(on, mark, 2));
        ask!(log, "no event", cudaStreamWaitEvent(on, ptr::null_mut(), 0));
        ask!(log, "no stream", cudaStreamWaitEvent(ptr::null_mut(), mark, 0));
        ask!(log, cudaStreamSynchronize(on));
        Ok(())
    });
    cases.add("cudaLaunchHostFunc/no function, and calls into the runtime", |log| {
        let (on, mut codes) = (stream(log)?, [77_u32; 5]);
        ask!(log, "none", cudaLaunchHostFunc(on, None, ptr::null_mut()));
        ask!(log, cudaLaunchHostFunc(on, Some(asks), codes.as_mut_ptr().cast()));
        ask!(log, cudaStreamSynchronize(on));
        // SAFETY: the host function is over.
        for code in unsafe { ptr::read_volatile(&raw const codes) } {
            log.fact("within", error_name(cudaError(code)));
        }
        ask!(log, cudaPeekAtLastError());
        Ok(())
    });
    cases.alone("cudaStreamAddCallback/after a kernel that traps, and flags", |log| {
        let (on, mut seen) = (stream(log)?, [0_u32, 77]);
        let data = seen.as_mut_ptr().cast();
        ask!(log, "flags", cudaStreamAddCallback(on, Some(called_back), data, 1));
        ask!(log, "no function", cudaStreamAddCallback(on, None, data, 0));
        let gate = Gate::hold(log, on)?;
        kernel(log, "traps", case_trap, on);
        ask!(log, cudaStreamAddCallback(on, Some(called_back), data, 0));
        gate.open();
        ask!(log, cudaStreamSynchronize(on));
        // The callback's thread may be later than this one.
        for _ in 0..2000 {
            // SAFETY: nobody reads what is half written: a word.
            if unsafe { ptr::read_volatile(&raw const seen[1]) } != 77 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        // SAFETY: nobody reads what is half written: a word.
        let seen = unsafe { ptr::read_volatile(&raw const seen) };
        log.fact("calls", seen[0]);
        log.fact("status", error_name(cudaError(seen[1])));
        Ok(())
    });
    cases.alone("cudaStreamDestroy/after a kernel that traps, and other objects", |log| {
        let (on, other, mark, late) = (stream(log)?, stream(log)?, event(log)?, event(log)?);
        kernel(log, "traps", case_trap, on);
        ask!(log, "the stream", cudaStreamSynchronize(on));
        ask!(log, "another stream", cudaStreamSynchronize(other));
        ask!(log, cudaEventRecord(mark, other));
        ask!(log, cudaEventQuery(late));
        ask!(log, cudaStreamWaitEvent(other, mark, 0));
        kernel(log, "a kernel", case_empty, other);
        ask!(log, cudaLaunchHostFunc(other, Some(adds_one), ptr::null_mut()));
        ask!(log, cudaEventDestroy(mark));
        ask!(log, cudaStreamDestroy(on));
        ask!(log, cudaGetLastError());
        ask!(log, cudaGetLastError());
        Ok(())
    });
}

/// An event with flags.
fn event_with(log: &mut Log, flags: u32) -> Result<cudaEvent_t, Setup> {
    let mut event = ptr::null_mut();
    need!(log, cudaEventCreateWithFlags(&raw mut event, flags));
    Ok(event)
}

fn events(cases: &mut Cases) {
    cases.add("cudaEventElapsedTime/without times, never recorded, nulls", |log| {
        let (timed, other, plain) = (event_with(log, 0)?, event_with(log, 0)?, event(log)?);
        let on = stream(log)?;
        let mut time = -7_f32;
        ask!(log, "never recorded", cudaEventElapsedTime(&raw mut time, timed, other));
        need!(log, cudaEventRecord(timed, on));
        ask!(log, "half recorded", cudaEventElapsedTime(&raw mut time, timed, other));
        need!(log, cudaEventRecord(plain, on));
        need!(log, cudaStreamSynchronize(on));
        ask!(log, "without times", cudaEventElapsedTime(&raw mut time, timed, plain));
        ask!(log, "itself without times", cudaEventElapsedTime(&raw mut time, plain, plain));
        log.fact("untouched", time == -7.0);
        ask!(log, "itself", cudaEventElapsedTime(&raw mut time, timed, timed));
        log.fact("time", time);
        ask!(log, "to null", cudaEventElapsedTime(ptr::null_mut(), timed, timed));
        ask!(log, "from null", cudaEventElapsedTime(&raw mut time, ptr::null_mut(), timed));
        ask!(log, "until null", cudaEventElapsedTime(&raw mut time, timed, ptr::null_mut()));
        Ok(())
    });
    cases.add("cudaEventElapsedTime/backwards, and not over yet", |log| {
        let (first, second, on) = (event_with(log, 0)?, event_with(log, 1)?, stream(log)?);
        let mut time = -7_f32;
        need!(log, cudaEventRecord(first, on));
        let gate = Gate::hold(log, on)?;
        need!(log, cudaEventRecord(second, on));
        ask!(log, "not over", cudaEventElapsedTime(&raw mut time, first, second));
        ask!(log, "peek", cudaPeekAtLastError());
        gate.open();
        need!(log, cudaEventSynchronize(second));
        ask!(log, "over", cudaEventElapsedTime(&raw mut time, first, second));
        log.fact("positive", time > 0.0);
        ask!(log, "backwards", cudaEventElapsedTime(&raw mut time, second, first));
        log.fact("negative", time < 0.0);
        Ok(())
    });
    cases.add("cudaEventRecordWithFlags/outside of captures", |log| {
        let (mark, on) = (event(log)?, stream(log)?);
        for flags in [0, 1, 2, 3, u32::MAX] {
            ask!(log, &flags.to_string(), cudaEventRecordWithFlags(mark, on, flags));
        }
        ask!(log, "null", cudaEventRecordWithFlags(ptr::null_mut(), on, 0));
        ask!(log, cudaEventSynchronize(mark));
        Ok(())
    });
    cases.add("cudaEventRecord/again while the first record is not over", |log| {
        let (mark, held, free) = (event(log)?, stream(log)?, stream(log)?);
        let gate = Gate::hold(log, held)?;
        ask!(log, cudaEventRecord(mark, held));
        ask!(log, "held", cudaEventQuery(mark));
        ask!(log, cudaEventRecord(mark, free));
        ask!(log, cudaStreamSynchronize(free));
        ask!(log, "recorded on another stream", cudaEventQuery(mark));
        ask!(log, cudaEventRecord(mark, held));
        ask!(log, "held again", cudaEventQuery(mark));
        ask!(log, cudaEventDestroy(mark));
        gate.open();
        ask!(log, cudaStreamSynchronize(held));
        Ok(())
    });
    cases.add("cudaEventSynchronize/never recorded, and null", |log| {
        let mark = event_with(log, cudaEventBlockingSync)?;
        ask!(log, cudaEventSynchronize(mark));
        ask!(log, cudaEventQuery(mark));
        ask!(log, "null", cudaEventSynchronize(ptr::null_mut()));
        ask!(log, "null", cudaEventQuery(ptr::null_mut()));
        ask!(log, "null", cudaEventDestroy(ptr::null_mut()));
        ask!(log, "null", cudaEventRecord(ptr::null_mut(), ptr::null_mut()));
        ask!(log, "null", cudaEventCreate(ptr::null_mut()));
        Ok(())
    });
    cases.alone("cudaIpcGetEventHandle/of events with and without its flag, in one process", |log| {
        let flags = cudaEventInterprocess | cudaEventDisableTiming;
        let (shared, plain) = (event_with(log, flags)?, event(log)?);
        let mut made = ptr::null_mut();
        ask!(log, "with times", cudaEventCreateWithFlags(&raw mut made, cudaEventInterprocess));
        let mut handle = cudaIpcEventHandle_t::default();
        ask!(log, "plain", cudaIpcGetEventHandle(&raw mut handle, plain));
        ask!(log, "shared", cudaIpcGetEventHandle(&raw mut handle, shared));
        ask!(log, "in the same process", cudaIpcOpenEventHandle(&raw mut made, handle));
        ask!(log, cudaEventRecord(shared, ptr::null_mut()));
        ask!(log, cudaEventSynchronize(shared));
        let mut time = 0_f32;
        ask!(log, cudaEventElapsedTime(&raw mut time, shared, shared));
        Ok(())
    });
}

/// Notes the state of a capture: its status, whether it has a number and a graph, and its frontier.
fn info(log: &mut Log, name: &str, on: cudaStream_t) -> (cudaGraph_t, Vec<cudaGraphNode_t>) {
    let (mut status, mut id, mut graph) = (cudaStreamCaptureStatus(77), 0, ptr::null_mut());
    let (mut nodes, mut edges, mut count) = (ptr::null(), ptr::null(), 0);
    let (state, number, into) = (&raw mut status, &raw mut id, &raw mut graph);
    let (list, ports, all) = (&raw mut nodes, &raw mut edges, &raw mut count);
    ask!(log, name, cudaStreamGetCaptureInfo(on, state, number, into, list, ports, all));
    log.fact("status", status_name(status));
    log.fact("number, graph, frontier", format_args!("{} {} {count}", id != 0, !graph.is_null()));
    let frontier = (0..count).map(|at| unsafe { *nodes.add(at) }).collect();
    (graph, frontier)
}

/// A stream that captures a kernel, and another stream.
fn capturing(log: &mut Log) -> Result<(cudaStream_t, cudaStream_t), Setup> {
    let (on, other) = (stream(log)?, stream(log)?);
    need!(log, cudaStreamBeginCapture(on, cudaStreamCaptureModeThreadLocal));
    kernel(log, "first", case_empty, on);
    Ok((on, other))
}

fn captures(cases: &mut Cases) {
    cases.add("cudaStreamGetCaptureInfo/before, during and after", |log| {
        let on = stream(log)?;
        info(log, "before", on);
        need!(log, cudaStreamBeginCapture(on, cudaStreamCaptureModeGlobal));
        info(log, "empty", on);
        kernel(log, "first", case_empty, on);
        info(log, "one", on);
        let mut status = cudaStreamCaptureStatus(77);
        let mut ask_for = |name, status| {
            let none = ptr::null_mut();
            let (graph, nodes, edges, count) =
                (ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
            ask!(log, name, cudaStreamGetCaptureInfo(on, status, none, graph, nodes, edges, count));
        };
        ask_for("the rest null", &raw mut status);
        ask_for("all null", ptr::null_mut());
        end(log, "end", on);
        info(log, "after", on);
        Ok(())
    });
    cases.add("cudaStreamGetCaptureInfo/forked and joined", |log| {
        let (on, other) = capturing(log)?;
        let (fork, join) = (event(log)?, event(log)?);
        need!(log, cudaEventRecord(fork, on));
        ask!(log, cudaStreamWaitEvent(other, fork, 0));
        let (graph, _) = info(log, "forked", other);
        kernel(log, "on the fork", case_empty, other);
        kernel(log, "on the origin", case_empty, on);
        let (same, _) = info(log, "forked", other);
        log.fact("one graph", graph == same);
        need!(log, cudaEventRecord(join, other));
        ask!(log, cudaStreamWaitEvent(on, join, 0));
        info(log, "joined", on);
        kernel(log, "last", case_empty, on);
        info(log, "joined by a kernel", on);
        let graph = end(log, "end", on);
        let mut edges = 77;
        let none = ptr::null_mut();
        ask!(log, cudaGraphGetEdges(graph, none, none, ptr::null_mut(), &raw mut edges));
        log.fact("edges", edges);
        info(log, "the fork after it", other);
        Ok(())
    });
    cases.add("cudaStreamUpdateCaptureDependencies/set, add, and none", |log| {
        let (on, _) = capturing(log)?;
        let (graph, first) = info(log, "one", on);
        let mut free = empty(log, graph, &[])?;
        ask!(
            log,
            "add",
            cudaStreamUpdateCaptureDependencies(
                on,
                &raw mut free,
                ptr::null(),
                1,
                cudaStreamAddCaptureDependencies.0
            )
        );
        info(log, "two", on);
        kernel(log, "second", case_empty, on);
        let mut old = first[0];
        let set = cudaStreamSetCaptureDependencies.0;
        ask!(log, "set", cudaStreamUpdateCaptureDependencies(on, &raw mut old, ptr::null(), 1, set));
        info(log, "set", on);
        kernel(log, "third", case_empty, on);
        ask!(log, "none", cudaStreamUpdateCaptureDependencies(on, ptr::null_mut(), ptr::null(), 0, set));
        info(log, "none", on);
        kernel(log, "fourth", case_empty, on);
        let graph = end(log, "end", on);
        let (mut edges, mut roots, none) = (77, 77, ptr::null_mut());
        ask!(log, cudaGraphGetEdges(graph, none, none, ptr::null_mut(), &raw mut edges));
        ask!(log, cudaGraphGetRootNodes(graph, ptr::null_mut(), &raw mut roots));
        log.fact("edges, roots", format_args!("{edges} {roots}"));
        Ok(())
    });
    cases.add("cudaStreamUpdateCaptureDependencies/what is refused", |log| {
        let on = stream(log)?;
        let other = graph(log)?;
        let mut foreign = empty(log, other, &[])?;
        let set = cudaStreamSetCaptureDependencies.0;
        let one = &raw mut foreign;
        ask!(log, "no capture", cudaStreamUpdateCaptureDependencies(on, one, ptr::null(), 1, set));
        need!(log, cudaStreamBeginCapture(on, cudaStreamCaptureModeRelaxed));
        ask!(log, "of another graph", cudaStreamUpdateCaptureDependencies(on, one, ptr::null(), 1, set));
        ask!(log, "flags", cudaStreamUpdateCaptureDependencies(on, ptr::null_mut(), ptr::null(), 0, 7));
        ask!(log, "list null", cudaStreamUpdateCaptureDependencies(on, ptr::null_mut(), ptr::null(), 1, set));
        info(log, "after", on);
        end(log, "end", on);
        Ok(())
    });
    cases.add("cudaThreadExchangeStreamCaptureMode/there and back, and none such", |log| {
        let mut mode = cudaStreamCaptureModeRelaxed;
        ask!(log, cudaThreadExchangeStreamCaptureMode(&raw mut mode));
        log.fact("was", mode.0);
        ask!(log, cudaThreadExchangeStreamCaptureMode(&raw mut mode));
        log.fact("was", mode.0);
        mode.0 = 7;
        ask!(log, "none such", cudaThreadExchangeStreamCaptureMode(&raw mut mode));
        let on = stream(log)?;
        need!(log, cudaStreamBeginCapture(on, cudaStreamCaptureModeGlobal));
        mode = cudaStreamCaptureModeRelaxed;
        ask!(log, "in a capture", cudaThreadExchangeStreamCaptureMode(&raw mut mode));
        let mut start = ptr::null_mut();
        ask!(log, cudaMalloc(&raw mut start, 16));
        ask!(log, "back", cudaThreadExchangeStreamCaptureMode(&raw mut mode));
        ask!(log, cudaMalloc(&raw mut start, 16));
        end(log, "end", on);
        Ok(())
    });
    cases.add("capture/merged with another one by an event", |log| {
        let (on, other) = capturing(log)?;
        need!(log, cudaStreamBeginCapture(other, cudaStreamCaptureModeThreadLocal));
        let mark = event(log)?;
        ask!(log, cudaEventRecord(mark, on));
        ask!(log, "wait", cudaStreamWaitEvent(other, mark, 0));
        info(log, "one", on);
        info(log, "other", other);
        end(log, "one", on);
        end(log, "other", other);
        Ok(())
    });
    cases.add("capture/waits for an event that was recorded before it", |log| {
        let (mark, never, on) = (event(log)?, event(log)?, stream(log)?);
        need!(log, cudaEventRecord(mark, on));
        need!(log, cudaStreamBeginCapture(on, cudaStreamCaptureModeGlobal));
        ask!(log, "recorded before", cudaStreamWaitEvent(on, mark, 0));
        info(log, "after", on);
        ask!(log, "never recorded", cudaStreamWaitEvent(on, never, 0));
        info(log, "after", on);
        end(log, "end", on);
        Ok(())
    });
    cases.add("capture/external records and waits", |log| {
        let (on, _) = capturing(log)?;
        let (mark, never) = (event(log)?, event(log)?);
        ask!(log, "record", cudaEventRecordWithFlags(mark, on, cudaEventRecordExternal));
        ask!(log, "wait", cudaStreamWaitEvent(on, never, cudaEventWaitExternal));
        ask!(log, "flags", cudaEventRecordWithFlags(mark, on, 2));
        info(log, "after", on);
        let graph = end(log, "end", on);
        if graph.is_null() {
            return Ok(());
        }
        let (mut nodes, mut room) = ([ptr::null_mut(); 4], 4);
        ask!(log, cudaGraphGetNodes(graph, nodes.as_mut_ptr(), &raw mut room));
        for node in nodes.iter().take(room) {
            let mut kind = cudaGraphNodeTypeCount;
            ask!(log, cudaGraphNodeGetType(*node, &raw mut kind));
            log.fact("kind", kind.0);
        }
        Ok(())
    });
    cases.add("capture/an event recorded in it, used elsewhere", |log| {
        let (on, other) = capturing(log)?;
        let mark = event_with(log, 0)?;
        let mut time = 0_f32;
        ask!(log, cudaEventRecord(mark, on));
        ask!(log, cudaEventElapsedTime(&raw mut time, mark, mark));
        info(log, "after the time", on);
        ask!(log, cudaEventRecord(mark, other));
        info(log, "after a record elsewhere", on);
        end(log, "end", on);
        ask!(log, cudaEventSynchronize(mark));
        ask!(log, cudaEventQuery(mark));
        Ok(())
    });
    cases.add("capture/an event that is used after the capture has ended", |log| {
        let (on, other) = capturing(log)?;
        let mark = event(log)?;
        ask!(log, cudaEventRecord(mark, on));
        end(log, "end", on);
        ask!(log, "query", cudaEventQuery(mark));
        ask!(log, "wait", cudaStreamWaitEvent(other, mark, 0));
        ask!(log, "synchronize", cudaEventSynchronize(mark));
        ask!(log, "record", cudaEventRecord(mark, other));
        ask!(log, "synchronize", cudaEventSynchronize(mark));
        Ok(())
    });
    type Call = fn(&mut Log, cudaStream_t, Block);
    let calls: [(&str, Call); 16] = [
        ("asking for its capture's number", |log, on, _| {
            let mut id = 0;
            ask!(log, "call", cudaStreamGetId(on, &raw mut id));
        }),
        ("a callback", |log, on, _| {
            ask!(log, "call", cudaStreamAddCallback(on, Some(called_back), ptr::null_mut(), 0));
        }),
        ("a prefetch", |log, on, block| {
            let to = cudaMemLocation { type_: cudaMemLocationTypeDevice, id: 0 };
            ask!(log, "call", cudaMemPrefetchAsync(block.ptr(), block.len, to, 0, on));
        }),
        ("attaching memory", |log, on, block| {
            ask!(log, "call", cudaStreamAttachMemAsync(on, block.ptr(), 0, 4));
        }),
        ("an attribute of it", |log, on, _| {
            let mut value = cudaLaunchAttributeValue { pad: [0; 64] };
            value.priority = -1;
            let priority = cudaLaunchAttributePriority;
            ask!(log, "call", cudaStreamSetAttribute(on, priority, &raw const value));
        }),
        ("beginning another capture on it", |log, on, _| {
            ask!(log, "call", cudaStreamBeginCapture(on, cudaStreamCaptureModeGlobal));
        }),
        ("a launch that is refused", |log, on, _| {
            let (one, many) = (dim3 { x: 1, y: 1, z: 1 }, dim3 { x: 4096, y: 1, z: 1 });
            let kernel = case_empty as *const c_void;
            ask!(log, "call", cudaLaunchKernel(kernel, one, many, ptr::null_mut(), 0, on));
        }),
        ("a copy that is refused", |log, on, block| {
            let way = cudaMemcpyKind(9);
            ask!(log, "call", cudaMemcpyAsync(block.ptr(), block.at(64), 16, way, on));
        }),
        ("a set of null", |log, on, _| {
            ask!(log, "call", cudaMemsetAsync(ptr::null_mut(), 0, 16, on));
        }),
        ("a cooperative kernel", |log, on, _| {
            let one = dim3 { x: 1, y: 1, z: 1 };
            let kernel = case_empty as *const c_void;
            ask!(log, "call", cudaLaunchCooperativeKernel(kernel, one, one, ptr::null_mut(), 0, on));
        }),
        ("resetting limits", |log, _, _| {
            ask!(log, "call", cudaDeviceSetLimit(cudaLimitStackSize, 2048));
        }),
        ("asking for attributes of memory", |log, _, block| {
            let mut about = cudaPointerAttributes::default();
            ask!(log, "call", cudaPointerGetAttributes(&raw mut about, block.ptr()));
        }),
        ("attributes of a function", |log, _, _| {
            let mut about = cudaFuncAttributes::default();
            ask!(log, "call", cudaFuncGetAttributes(&raw mut about, case_empty as *const c_void));
        }),
        ("an event's time", |log, _, _| {
            let Ok(mark) = event_with(log, 0) else { return };
            let mut time = 0_f32;
            ask!(log, "call", cudaEventElapsedTime(&raw mut time, mark, mark));
        }),
        ("freeing pool memory on it", |log, on, block| {
            ask!(log, "call", cudaFreeAsync(block.ptr(), on));
        }),
        ("launching a graph on it", |log, on, _| {
            let (mut inner, mut run) = (ptr::null_mut(), ptr::null_mut());
            ask!(log, cudaGraphCreate(&raw mut inner, 0));
            ask!(log, cudaGraphInstantiate(&raw mut run, inner, 0));
            ask!(log, "call", cudaGraphLaunch(run, on));
        }),
    ];
    for (what, call) in calls {
        cases.add(format!("capture/thread-local, {what}"), move |log| {
            let block = Block::new(log, Kind::Managed, N)?;
            let (on, _) = capturing(log)?;
            call(log, on, block);
            ask!(log, cudaPeekAtLastError());
            info(log, "after", on);
            end(log, "end", on);
            kernel(log, "the stream again", case_empty, on);
            ask!(log, cudaStreamSynchronize(on));
            Ok(())
        });
    }
    cases.add("capture/its stream is destroyed, and another one takes its number", |log| {
        let (on, other) = capturing(log)?;
        ask!(log, cudaStreamDestroy(on));
        kernel(log, "another stream", case_empty, other);
        ask!(log, cudaStreamSynchronize(other));
        Ok(())
    });
    cases.add("capture/work after it is invalid", |log| {
        let (on, other) = capturing(log)?;
        ask!(log, "spoiled", cudaStreamSynchronize(on));
        info(log, "after", on);
        kernel(log, "a kernel", case_empty, on);
        let mark = event(log)?;
        ask!(log, cudaEventRecord(mark, on));
        ask!(log, cudaStreamWaitEvent(other, mark, 0));
        ask!(log, cudaStreamQuery(on));
        ask!(log, "again", cudaStreamBeginCapture(on, cudaStreamCaptureModeGlobal));
        end(log, "end", on);
        end(log, "twice", on);
        ask!(log, cudaStreamQuery(on));
        Ok(())
    });
}

pub(super) fn add(cases: &mut Cases) {
    streams(cases);
    events(cases);
    let first = cases.list.len();
    captures(cases);
    // A capture that a case leaves open would refuse the calls of the next one.
    for case in &mut cases.list[first..] {
        case.alone();
    }
}
