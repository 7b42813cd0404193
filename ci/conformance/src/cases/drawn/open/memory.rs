//! Memory that programs allocate, free, and map.

use cuda_sys as sys;

use super::super::common::{add_case, null};
use crate::case::Cases;
use crate::log::ask;

pub(super) fn add(cases: &mut Cases) {
    device_memory(cases);
}

fn device_memory(cases: &mut Cases) {
    add_case(cases, 80, "free and total, against the properties", |log| {
        let (mut free, mut total) = (0, 0);
        ask!(log, cudaMemGetInfo(&raw mut free, &raw mut total));
        let mut properties = sys::cudaDeviceProp::default();
        ask!(log, cudaGetDeviceProperties(&raw mut properties, 0));
        log.fact("less than all", free > 0 && free < total);
        log.fact("total is the property", total == properties.totalGlobalMem);
        ask!(log, "free null", cudaMemGetInfo(null(), &raw mut total));
        ask!(log, "total null", cudaMemGetInfo(&raw mut free, null()));
        Ok(())
    });
}
