//! Streams and host functions.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use cuda_sys::*;

use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Outcome, ask, need};
use crate::memory::{event, stream, stream_with};

fn describe(log: &mut Log, on: cudaStream_t) -> Outcome {
    let (mut flags, mut priority, mut device) = (77, 77, 77);
    ask!(log, cudaStreamGetFlags(on, &raw mut flags));
    log.fact("flags", flags);
    ask!(log, cudaStreamGetPriority(on, &raw mut priority));
    log.fact("priority", priority);
    ask!(log, cudaStreamGetDevice(on, &raw mut device));
    log.fact("device", device);
    Ok(())
}

fn making(cases: &mut Cases) {
    for (what, flags) in
        [("blocking", 0), ("non-blocking", 1), ("flags 2", 2), ("flags 3", 3), ("flags 0xff", 0xff)]
    {
        cases.add(format!("cudaStreamCreateWithFlags/{what}"), move |log| {
            let mut on = ptr::null_mut();
            let code = ask!(log, cudaStreamCreateWithFlags(&raw mut on, flags));
            if code == cudaSuccess {
                describe(log, on)?;
                ask!(log, cudaStreamDestroy(on));
            }
            Ok(())
        });
    }
    for priority in [-1000, -5, -1, 0, 1, 1000, i32::MAX, i32::MIN] {
        cases.add(format!("cudaStreamCreateWithPriority/priority {priority}"), move |log| {
            let mut on = ptr::null_mut();
            ask!(log, cudaStreamCreateWithPriority(&raw mut on, 1, priority));
            describe(log, on)
        });
    }
    cases.add("cudaStreamCreateWithPriority/flags 0xff", |log| {
        let mut on = ptr::null_mut();
        ask!(log, cudaStreamCreateWithPriority(&raw mut on, 0xff, 0));
        Ok(())
    });
    cases.add("cudaStreamCreate/answer null", |log| {
        ask!(log, cudaStreamCreate(ptr::null_mut()));
        ask!(log, cudaStreamCreateWithFlags(ptr::null_mut(), 0));
        ask!(log, cudaStreamCreateWithPriority(ptr::null_mut(), 0, 0));
        Ok(())
    });
    for (what, handle) in [
        ("null", ptr::null_mut()),
        ("the legacy stream", cudaStreamLegacy),
        ("the stream of the thread", cudaStreamPerThread),
    ] {
        cases.add(format!("cudaStreamGetFlags/{what}"), move |log| {
            need!(log, cudaFree(ptr::null_mut()));
            describe(log, handle)
        });
        cases.add(format!("cudaStreamDestroy/{what}"), move |log| {
            need!(log, cudaFree(ptr::null_mut()));
            ask!(log, cudaStreamDestroy(handle));
            Ok(())
        });
        cases.add(format!("cudaStreamQuery/{what}, idle"), move |log| {
            need!(log, cudaFree(ptr::null_mut()));
            ask!(log, cudaStreamQuery(handle));
            ask!(log, cudaStreamSynchronize(handle));
            Ok(())
        });
    }
    cases.add("cudaStreamGetId/differs, also from one that is gone", |log| {
        let (mut one, mut two, mut three) = (0, 0, 0);
        let (a, b) = (stream(log)?, stream(log)?);
        ask!(log, cudaStreamGetId(a, &raw mut one));
        ask!(log, cudaStreamGetId(b, &raw mut two));
        ask!(log, cudaStreamDestroy(b));
        let c = stream(log)?;
        ask!(log, cudaStreamGetId(c, &raw mut three));
        log.fact("all differ", one != two && two != three && one != three);
        Ok(())
    });
    cases.two_devices("cudaStreamGetDevice/another device current", |log| {
        let on = stream(log)?;
        need!(log, cudaSetDevice(1));
        describe(log, on)?;
        describe(log, ptr::null_mut())
    });
    cases.alone("cudaStreamDestroy/with work pending", |log| {
        let on = stream(log)?;
        let gate = Gate::hold(log, on)?;
        gate.waits(log, |log| ask!(log, cudaStreamDestroy(on)));
        ask!(log, cudaDeviceSynchronize());
        Ok(())
    });
}

fn waiting(cases: &mut Cases) {
    cases.alone("cudaStreamQuery/busy, then idle", |log| {
        let on = stream(log)?;
        let gate = Gate::hold(log, on)?;
        ask!(log, "busy", cudaStreamQuery(on));
        gate.open();
        ask!(log, cudaStreamSynchronize(on));
        ask!(log, "idle", cudaStreamQuery(on));
        Ok(())
    });
    for (what, held, asked) in [
        ("itself", Some(1), None),
        ("the legacy stream, which is asked for a blocking one", Some(0), Some(ptr::null_mut())),
        ("the legacy stream, which is not asked for a non-blocking one", Some(1), Some(ptr::null_mut())),
        ("the stream of the thread, where a blocking one is held", Some(0), Some(cudaStreamPerThread)),
        ("a blocking stream, where the legacy one is held", None, None),
    ] {
        cases.alone(format!("cudaStreamSynchronize/{what}"), move |log| {
            let held = match held {
                Some(flags) => stream_with(log, flags)?,
                None => ptr::null_mut(),
            };
            let asked = match asked {
                Some(handle) => handle,
                None if held.is_null() => stream_with(log, 0)?,
                None => held,
            };
            let mark = event(log)?;
            let gate = Gate::hold(log, held)?;
            // The queried stream must have work.
            ask!(log, cudaEventRecord(mark, asked));
            gate.waits(log, |log| ask!(log, cudaStreamSynchronize(asked)));
            Ok(())
        });
    }
    cases.alone("cudaDeviceSynchronize/waits for a non-blocking stream", |log| {
        let on = stream(log)?;
        let gate = Gate::hold(log, on)?;
        gate.waits(log, |log| ask!(log, cudaDeviceSynchronize()));
        Ok(())
    });
    cases.alone("cudaStreamWaitEvent/orders two streams", |log| {
        let (a, b) = (stream(log)?, stream(log)?);
        let mark = event(log)?;
        let gate = Gate::hold(log, a)?;
        ask!(log, cudaEventRecord(mark, a));
        ask!(log, cudaStreamWaitEvent(b, mark, 0));
        ask!(log, "held", cudaStreamQuery(b));
        gate.open();
        ask!(log, cudaStreamSynchronize(b));
        ask!(log, "let go", cudaStreamQuery(a));
        Ok(())
    });
    cases.alone("cudaStreamWaitEvent/is of the record that came before it", |log| {
        let (a, b, c) = (stream(log)?, stream(log)?, stream(log)?);
        let mark = event(log)?;
        ask!(log, cudaEventRecord(mark, c));
        ask!(log, cudaStreamSynchronize(c));
        ask!(log, cudaStreamWaitEvent(b, mark, 0));
        let gate = Gate::hold(log, a)?;
        ask!(log, cudaEventRecord(mark, a));
        ask!(log, cudaStreamSynchronize(b));
        ask!(log, "the event", cudaEventQuery(mark));
        gate.open();
        ask!(log, cudaDeviceSynchronize());
        Ok(())
    });
    cases.add("cudaStreamWaitEvent/never recorded", |log| {
        let on = stream(log)?;
        let mark = event(log)?;
        ask!(log, cudaStreamWaitEvent(on, mark, 0));
        ask!(log, cudaStreamSynchronize(on));
        Ok(())
    });
    cases.add("cudaStreamWaitEvent/event null, flags", |log| {
        let on = stream(log)?;
        let mark = event(log)?;
        ask!(log, "null", cudaStreamWaitEvent(on, ptr::null_mut(), 0));
        ask!(log, "flags 2", cudaStreamWaitEvent(on, mark, 2));
        Ok(())
    });
}

static CALLS: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn count(_: *mut c_void) {
    CALLS.fetch_add(1, Ordering::SeqCst);
}

unsafe extern "C" fn count_callback(_: cudaStream_t, status: cudaError_t, data: *mut c_void) {
    if status == cudaSuccess && data.addr() == 16 {
        CALLS.fetch_add(10, Ordering::SeqCst);
    }
}

unsafe extern "C" fn ask_in_callback(data: *mut c_void) {
    // SAFETY: the case waits for this before its integer goes.
    let code = unsafe { cudaStreamQuery(ptr::null_mut()) };
    unsafe { *data.cast::<u32>() = code.0 };
}

fn host_functions(cases: &mut Cases) {
    cases.alone("cudaLaunchHostFunc/runs once, in order", |log| {
        let on = stream(log)?;
        CALLS.store(0, Ordering::SeqCst);
        ask!(log, cudaLaunchHostFunc(on, Some(count), ptr::null_mut()));
        ask!(log, cudaStreamAddCallback(on, Some(count_callback), ptr::without_provenance_mut(16), 0));
        ask!(log, cudaStreamSynchronize(on));
        log.fact("count", CALLS.load(Ordering::SeqCst));
        Ok(())
    });
    cases.add("cudaLaunchHostFunc/no function", |log| {
        let on = stream(log)?;
        ask!(log, cudaLaunchHostFunc(on, None, ptr::null_mut()));
        Ok(())
    });
    cases.add("cudaStreamAddCallback/no function, flags", |log| {
        let on = stream(log)?;
        ask!(log, "no function", cudaStreamAddCallback(on, None, ptr::null_mut(), 0));
        ask!(log, "flags 10", cudaStreamAddCallback(on, Some(count_callback), ptr::null_mut(), 10));
        Ok(())
    });
    cases.alone("cudaLaunchHostFunc/that asks the runtime", |log| {
        let on = stream(log)?;
        let mut code = 7_u32;
        ask!(log, cudaLaunchHostFunc(on, Some(ask_in_callback), (&raw mut code).cast()));
        ask!(log, cudaStreamSynchronize(on));
        log.fact("inside", crate::log::error_name(cudaError(code)));
        Ok(())
    });
}

fn attributes(cases: &mut Cases) {
    cases.add("cudaStreamSetAttribute/how the host waits", |log| {
        let on = stream(log)?;
        let id = cudaLaunchAttributeSynchronizationPolicy;
        let mut value = cudaLaunchAttributeValue::default();
        ask!(log, cudaStreamGetAttribute(on, id, &raw mut value));
        // SAFETY: the attribute is of this member.
        log.fact("at first", unsafe { value.syncPolicy }.0);
        value.syncPolicy = cudaSyncPolicyYield;
        ask!(log, cudaStreamSetAttribute(on, id, &raw const value));
        let mut got = cudaLaunchAttributeValue::default();
        ask!(log, cudaStreamGetAttribute(on, id, &raw mut got));
        // SAFETY: the attribute is of this member.
        log.fact("then", unsafe { got.syncPolicy }.0);
        let other = stream(log)?;
        ask!(log, cudaStreamCopyAttributes(other, on));
        ask!(log, cudaStreamGetAttribute(other, id, &raw mut got));
        // SAFETY: the attribute is of this member.
        log.fact("copied", unsafe { got.syncPolicy }.0);
        Ok(())
    });
    cases.add("cudaStreamSetAttribute/no such attribute", |log| {
        let on = stream(log)?;
        let value = cudaLaunchAttributeValue::default();
        ask!(log, cudaStreamSetAttribute(on, cudaLaunchAttributeID(99), &raw const value));
        Ok(())
    });
}

pub(super) fn add(cases: &mut Cases) {
    making(cases);
    waiting(cases);
    host_functions(cases);
    attributes(cases);
}
