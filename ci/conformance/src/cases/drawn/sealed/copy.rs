//! Copies and fills.

use cuda_sys as sys;

use super::super::common::{N, add_case, null, taken};
use crate::case::Cases;
use crate::log::ask;
use crate::memory::{pattern, stream};

const BACK: sys::cudaMemcpyKind = sys::cudaMemcpyDeviceToHost;
const THERE: sys::cudaMemcpyKind = sys::cudaMemcpyHostToDevice;

pub(super) fn add(cases: &mut Cases) {
    copies(cases);
}

fn copies(cases: &mut Cases) {
    add_case(cases, 210, "pageable arrays to memory of the stream, and the last one back", |log| {
        let (on, up) = (stream(log)?, pattern(N, 6));
        let (mut a, mut b) = (null(), null());
        ask!(log, cudaMallocAsync(&raw mut a, N, on));
        ask!(log, cudaMallocAsync(&raw mut b, N, on));
        ask!(log, cudaMemcpyAsync(a, up.as_ptr().cast(), N, THERE, on));
        ask!(log, cudaMemcpyAsync(b, a, N, sys::cudaMemcpyDefault, on));
        let mut got = vec![0_u8; N];
        ask!(log, cudaMemcpyAsync(got.as_mut_ptr().cast(), b, N, BACK, on));
        ask!(log, cudaFreeAsync(a, on));
        ask!(log, "freed in the queue", cudaMemcpyAsync(b, a, N, sys::cudaMemcpyDeviceToDevice, null()));
        ask!(log, cudaStreamSynchronize(on));
        log.bytes("all bytes", &got, &up);
        taken(log)
    });
}
