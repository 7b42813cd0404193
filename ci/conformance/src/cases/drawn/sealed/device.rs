//! Devices, versions, limits, and waits for all work.

use std::ffi::c_int;

use cuda_sys as sys;
use cuda_sys::cudaDeviceAttr;

use super::super::common::{add_case, null, taken};
use crate::case::Cases;
use crate::log::{ask, need};
use crate::memory::stream;

pub(super) fn add(cases: &mut Cases) {
    attributes(cases);
    chosen(cases);
    peers(cases);
}

fn attributes(cases: &mut Cases) {
    add_case(cases, 212, "of pools and files, before a pool is made", |log| {
        for id in [115, 119, 118, 116, 117, 122] {
            let mut value: c_int = -77;
            ask!(log, &format!("{id}"), cudaDeviceGetAttribute(&raw mut value, cudaDeviceAttr(id), 0));
            log.fact("value", value);
        }
        let mut value: c_int = -77;
        ask!(log, "of no device", cudaDeviceGetAttribute(&raw mut value, cudaDeviceAttr(115), -1));
        log.fact("value", value);
        taken(log)
    });
}

fn chosen(cases: &mut Cases) {
    add_case(cases, 253, "at the end, with everything still there, and again", |log| {
        let (on, mut mark) = (stream(log)?, null());
        need!(log, cudaEventCreate(&raw mut mark));
        ask!(log, cudaDeviceSetLimit(sys::cudaLimitStackSize, 4096));
        ask!(log, cudaDeviceReset());
        ask!(log, "again", cudaDeviceReset());
        let mut value = 77;
        ask!(log, cudaDeviceGetLimit(&raw mut value, sys::cudaLimitStackSize));
        log.fact("stack", value);
        ask!(log, "an event", cudaEventDestroy(mark));
        ask!(log, "a stream", cudaStreamDestroy(on));
        taken(log)
    });
    add_case(cases, 153, "a stack of 8 KiB, and others, read back", |log| {
        let id = sys::cudaLimitStackSize;
        for bytes in [8192, 1, 1000, 0, 512 << 10, 1 << 30] {
            let mut value = 77;
            ask!(log, &format!("{bytes}"), cudaDeviceSetLimit(id, bytes));
            ask!(log, cudaDeviceGetLimit(&raw mut value, id));
            log.fact("value", value);
            ask!(log, "last", cudaGetLastError());
        }
        ask!(log, "fifo", cudaDeviceSetLimit(sys::cudaLimitPrintfFifoSize, 1 << 16));
        ask!(log, "null", cudaDeviceGetLimit(null(), id));
        taken(log)
    });
}

fn peers(cases: &mut Cases) {
    add_case(cases, 158, "for a list that is none", |log| {
        for (name, device, flags) in
            [("wait", 0, 2), ("signal", 0, 1), ("no flags", 0, 0), ("no device", 99, 2)]
        {
            ask!(log, name, cudaDeviceGetNvSciSyncAttributes(null(), device, flags));
            ask!(log, "last", cudaGetLastError());
        }
        Ok(())
    });
}
