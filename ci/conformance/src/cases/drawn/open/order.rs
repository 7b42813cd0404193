//! Streams, events, and host functions.

use cuda_sys as sys;

use super::super::common::{add_case, begin, end, null, taken};
use crate::case::Cases;
use crate::log::{ask, need};
use crate::memory::{stream, stream_with};

pub(super) fn add(cases: &mut Cases) {
    streams(cases);
}

fn streams(cases: &mut Cases) {
    add_case(cases, 32, "of streams of every kind, and of one that captures", |log| {
        for (name, on) in [
            ("plain", stream(log)?),
            ("legacy", null()),
            ("of the thread", sys::cudaStreamPerThread),
            ("captures", begin(log)?),
        ] {
            let mut device = 77;
            ask!(log, name, cudaStreamGetDevice(on, &raw mut device));
            log.fact("device", device);
        }
        let on = stream(log)?;
        ask!(log, "answer null", cudaStreamGetDevice(on, null()));
        taken(log)
    });
    add_case(cases, 110, "of a stream that captures, and nulls", |log| {
        let on = stream_with(log, 1)?;
        need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeRelaxed));
        for it in [on, null(), sys::cudaStreamLegacy, sys::cudaStreamPerThread] {
            let mut found = 77;
            ask!(log, cudaStreamGetFlags(it, &raw mut found));
            log.fact("flags", found);
        }
        ask!(log, "answer null", cudaStreamGetFlags(on, null()));
        end(log, on);
        taken(log)
    });
}
