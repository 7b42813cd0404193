//! Copies and fills.

use cuda_sys as sys;

use super::super::common::{N, add_case, device, float_is, floats, null, scale, what};
use crate::case::Cases;
use crate::log::ask;
use crate::memory::{Block, Kind, stream};

pub(super) fn add(cases: &mut Cases) {
    fills(cases);
}

fn fills(cases: &mut Cases) {
    add_case(cases, 72, "managed memory to all streams, by the default stream, and the other flags", |log| {
        let (on, block) = (stream(log)?, Block::new(log, Kind::Managed, N)?);
        ask!(log, "global", cudaStreamAttachMemAsync(null(), block.ptr(), 0, sys::cudaMemAttachGlobal));
        ask!(log, "host", cudaStreamAttachMemAsync(null(), block.ptr(), 0, sys::cudaMemAttachHost));
        ask!(
            log,
            "single, default",
            cudaStreamAttachMemAsync(null(), block.ptr(), 0, sys::cudaMemAttachSingle)
        );
        ask!(log, "single", cudaStreamAttachMemAsync(on, block.ptr(), 0, sys::cudaMemAttachSingle));
        ask!(log, "all bytes", cudaStreamAttachMemAsync(on, block.ptr(), N, sys::cudaMemAttachGlobal));
        ask!(log, "a part", cudaStreamAttachMemAsync(on, block.ptr(), 64, sys::cudaMemAttachGlobal));
        ask!(log, "no flag", cudaStreamAttachMemAsync(on, block.ptr(), 0, 0));
        ask!(log, "null", cudaStreamAttachMemAsync(on, null(), 0, sys::cudaMemAttachGlobal));
        let plain = device(log)?;
        ask!(log, "device memory", cudaStreamAttachMemAsync(on, plain.ptr(), 0, sys::cudaMemAttachGlobal));
        ask!(log, cudaDeviceSynchronize());
        what(log, "then", block.ptr());
        let from = Block::with(log, Kind::Managed, &floats([1.5; 4]))?;
        scale(log, "kernel", block, from, 2.0, 4, on);
        ask!(log, cudaDeviceSynchronize());
        float_is(log, block, 3)?;
        Ok(())
    });
}
