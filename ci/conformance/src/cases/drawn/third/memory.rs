//! Memory that programs allocate, free, share, and move.

use std::ffi::c_void;

use cuda_sys as sys;

use super::super::common::{N, add_case, begin, end, null, taken};
use super::super::open::pool::{pool, value};
use crate::case::Cases;
use crate::log::{ask, need};
use crate::memory::{Block, Kind, stream};

pub(super) fn add(cases: &mut Cases) {
    streams(cases);
}

fn streams(cases: &mut Cases) {
    add_case(cases, 312, "of a temporary buffer, and by another function where that fails", |log| {
        let on = stream(log)?;
        for kind in [Kind::Pool, Kind::Device, Kind::Managed, Kind::Pinned, Kind::Pageable] {
            let block = Block::new(log, kind, N)?;
            need!(log, cudaDeviceSynchronize());
            ask!(log, kind.name(), cudaFreeAsync(block.ptr(), on));
            ask!(log, cudaGetLastError());
            ask!(log, "the other one", cudaFree(block.ptr()));
            ask!(log, cudaGetLastError());
        }
        ask!(log, "null", cudaFreeAsync(null(), on));
        ask!(log, cudaStreamSynchronize(on));
        taken(log)
    });
    add_case(cases, 387, "of memory that others may have, after it was exported", |log| {
        let (pool, on) = (pool(log, true)?, stream(log)?);
        let (mut data, mut all) =
            (sys::cudaMemPoolPtrExportData { reserved: [0; 64] }, [null::<c_void>(); 3]);
        for at in &mut all {
            ask!(log, cudaMallocFromPoolAsync(at, N, pool, on));
            ask!(log, cudaMemPoolExportPointer(&raw mut data, *at));
        }
        for at in all {
            ask!(log, cudaFreeAsync(at, on));
        }
        ask!(log, "again", cudaFreeAsync(all[1], on));
        ask!(log, cudaStreamSynchronize(on));
        value(log, "used", pool, sys::cudaMemPoolAttrUsedMemCurrent);
        value(log, "most", pool, sys::cudaMemPoolAttrUsedMemHigh);
        let mut at = null::<c_void>();
        need!(log, cudaMallocFromPoolAsync(&raw mut at, N, pool, on));
        let captures = begin(log)?;
        ask!(log, "in a capture that has not allocated it", cudaFreeAsync(at, captures));
        end(log, captures);
        taken(log)
    });
}
