//! Events.

use std::ptr;

use cuda_sys::*;

use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{ask, need};
use crate::memory::{event, stream};

pub(super) fn add(cases: &mut Cases) {
    for flags in [0, 1, 2, 3, 4, 5, 6, 7, 8, 0x10, 0x0800_0000] {
        // The crate has names for events that other processes share without timing, and for the two plain
        // flags.
        cases.add(format!("cudaEventCreateWithFlags/flags {flags:#x}"), move |log| {
            let mut mark = ptr::null_mut();
            let code = ask!(log, cudaEventCreateWithFlags(&raw mut mark, flags));
            if code == cudaSuccess {
                ask!(log, cudaEventQuery(mark));
                ask!(log, cudaEventSynchronize(mark));
                ask!(log, cudaEventDestroy(mark));
            }
            Ok(())
        });
    }
    cases.add("cudaEventCreate/answer null", |log| {
        ask!(log, cudaEventCreate(ptr::null_mut()));
        ask!(log, cudaEventCreateWithFlags(ptr::null_mut(), 0));
        Ok(())
    });
    cases.add("cudaEventQuery/null", |log| {
        need!(log, cudaFree(ptr::null_mut()));
        ask!(log, cudaEventQuery(ptr::null_mut()));
        ask!(log, cudaEventSynchronize(ptr::null_mut()));
        ask!(log, cudaEventRecord(ptr::null_mut(), ptr::null_mut()));
        ask!(log, cudaEventDestroy(ptr::null_mut()));
        Ok(())
    });
    cases.alone("cudaEventQuery/behind a held stream", |log| {
        let on = stream(log)?;
        let mark = event(log)?;
        let gate = Gate::hold(log, on)?;
        ask!(log, cudaEventRecord(mark, on));
        ask!(log, "held", cudaEventQuery(mark));
        gate.waits(log, |log| ask!(log, cudaEventSynchronize(mark)));
        ask!(log, "let go", cudaEventQuery(mark));
        Ok(())
    });
    cases.alone("cudaEventDestroy/behind a held stream", |log| {
        let on = stream(log)?;
        let mark = event(log)?;
        let gate = Gate::hold(log, on)?;
        ask!(log, cudaEventRecord(mark, on));
        gate.waits(log, |log| ask!(log, cudaEventDestroy(mark)));
        ask!(log, cudaStreamSynchronize(on));
        Ok(())
    });
    cases.add("cudaEventRecordWithFlags/as by default, and by no such flag", |log| {
        let on = stream(log)?;
        let mark = event(log)?;
        ask!(log, "default", cudaEventRecordWithFlags(mark, on, 0));
        ask!(log, "flags 8", cudaEventRecordWithFlags(mark, on, 8));
        ask!(log, cudaStreamSynchronize(on));
        Ok(())
    });
    let elapsed = "cudaEventElapsedTime";
    cases.add(format!("{elapsed}/there and back"), |log| {
        let on = stream(log)?;
        let (mut a, mut b) = (ptr::null_mut(), ptr::null_mut());
        need!(log, cudaEventCreate(&raw mut a));
        need!(log, cudaEventCreate(&raw mut b));
        need!(log, cudaEventRecord(a, on));
        need!(log, cudaEventRecord(b, on));
        need!(log, cudaStreamSynchronize(on));
        let (mut there, mut back, mut same) = (-1.0, -1.0, -1.0);
        ask!(log, cudaEventElapsedTime(&raw mut there, a, b));
        ask!(log, cudaEventElapsedTime(&raw mut back, b, a));
        ask!(log, cudaEventElapsedTime(&raw mut same, a, a));
        log.fact("there is not negative", there >= 0.0);
        log.fact("back is not positive", back <= 0.0);
        log.fact("itself is nothing", same == 0.0);
        Ok(())
    });
    cases.add(format!("{elapsed}/without timing, never recorded, null"), |log| {
        let on = stream(log)?;
        let mut ms = 0.0;
        let (mut a, mut b) = (ptr::null_mut(), ptr::null_mut());
        need!(log, cudaEventCreate(&raw mut a));
        need!(log, cudaEventCreate(&raw mut b));
        ask!(log, "never recorded", cudaEventElapsedTime(&raw mut ms, a, b));
        need!(log, cudaEventRecord(a, on));
        ask!(log, "one recorded", cudaEventElapsedTime(&raw mut ms, a, b));
        need!(log, cudaEventRecord(b, on));
        need!(log, cudaStreamSynchronize(on));
        ask!(log, "answer null", cudaEventElapsedTime(ptr::null_mut(), a, b));
        ask!(log, "event null", cudaEventElapsedTime(&raw mut ms, ptr::null_mut(), b));
        let untimed = event(log)?;
        need!(log, cudaEventRecord(untimed, on));
        need!(log, cudaStreamSynchronize(on));
        ask!(log, "without timing", cudaEventElapsedTime(&raw mut ms, a, untimed));
        Ok(())
    });
    cases.alone(format!("{elapsed}/behind a held stream"), |log| {
        let on = stream(log)?;
        let mut ms = 0.0;
        let (mut a, mut b) = (ptr::null_mut(), ptr::null_mut());
        need!(log, cudaEventCreate(&raw mut a));
        need!(log, cudaEventCreate(&raw mut b));
        need!(log, cudaEventRecord(a, on));
        let gate = Gate::hold(log, on)?;
        need!(log, cudaEventRecord(b, on));
        ask!(log, cudaEventElapsedTime(&raw mut ms, a, b));
        gate.open();
        ask!(log, cudaStreamSynchronize(on));
        Ok(())
    });
    cases.two_devices("cudaEventRecord/an event of another device", |log| {
        let on = stream(log)?;
        need!(log, cudaSetDevice(1));
        let mark = event(log)?;
        ask!(log, cudaEventRecord(mark, on));
        let here = stream(log)?;
        ask!(log, "its own device", cudaEventRecord(mark, here));
        ask!(log, "waiting from another device", cudaStreamWaitEvent(on, mark, 0));
        ask!(log, cudaEventSynchronize(mark));
        Ok(())
    });
    cases.two_devices(format!("{elapsed}/events of two devices"), |log| {
        let mut ms = 0.0;
        let (mut a, mut b) = (ptr::null_mut(), ptr::null_mut());
        need!(log, cudaEventCreate(&raw mut a));
        need!(log, cudaEventRecord(a, ptr::null_mut()));
        need!(log, cudaDeviceSynchronize());
        need!(log, cudaSetDevice(1));
        need!(log, cudaEventCreate(&raw mut b));
        need!(log, cudaEventRecord(b, ptr::null_mut()));
        need!(log, cudaDeviceSynchronize());
        ask!(log, cudaEventElapsedTime(&raw mut ms, a, b));
        Ok(())
    });
}
