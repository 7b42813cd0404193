//! Copies and fills.

use std::ffi::c_void;

use cuda_sys as sys;

use super::super::common::{N, add_case, device, first_is, integers, sum, taken, waits};
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{ask, need};
use crate::memory::{Block, Kind, pattern, stream};

const BACK: sys::cudaMemcpyKind = sys::cudaMemcpyDeviceToHost;

pub(super) fn add(cases: &mut Cases) {
    asynchronous(cases);
    rows(cases);
}

fn asynchronous(cases: &mut Cases) {
    add_case(cases, 305, "a sum to the host, each round, while its stream is held", |log| {
        let (on, out, from) =
            (stream(log)?, device(log)?, Block::with(log, Kind::Device, &integers([2; 64]))?);
        for kind in [Kind::Pageable, Kind::Pinned, Kind::Registered, Kind::Managed] {
            let to = Block::new(log, kind, 8)?;
            need!(log, cudaMemsetAsync(out.ptr(), 0, 8, on));
            sum(log, "kernel", out, from, 64, on);
            need!(log, cudaStreamSynchronize(on));
            let gate = Gate::hold(log, on)?;
            ask!(log, cudaMemsetAsync(out.ptr(), 0, 8, on));
            sum(log, "kernel", out, from, 64, on);
            waits(log, &gate, |log| {
                ask!(log, kind.name(), cudaMemcpyAsync(to.ptr(), out.ptr(), 8, BACK, on));
            });
            ask!(log, cudaStreamSynchronize(on));
            first_is(log, "sum", to)?;
        }
        taken(log)
    });
}

fn rows(cases: &mut Cases) {
    add_case(cases, 385, "the part of a result that has a whole mask, into a canvas", |log| {
        let (from, mut canvas) = (Block::with(log, Kind::Device, &pattern(N, 6))?, vec![9_u8; 4 * N]);
        let to: *mut c_void = canvas.as_mut_ptr().cast();
        ask!(log, cudaMemcpy2D(to, 60, from.at(3 * 64 + 3), 64, 58, 10, BACK));
        let right = (0..10).filter(|y| canvas[y * 60..][..58] == pattern(N, 6)[(y + 3) * 64 + 3..][..58]);
        log.fact("rows", right.count());
        log.fact("others", canvas.iter().filter(|byte| **byte == 9).count());
        for (name, there, here, width, height) in [
            ("the last row is no whole one", 60, 64, 32, 64),
            ("one column", 1, 64, 1, 64),
            ("over the end", 60, 64, 60, 65 + 64),
            ("the host's pitch too small", 57, 64, 58, 2),
            ("the device's pitch too small", 60, 57, 58, 2),
            ("pitches of one row", 58, 58, 58, 1),
            ("a pitch of all addresses", 60, usize::MAX, 58, 2),
            ("no height", 60, 64, 58, 0),
        ] {
            ask!(log, name, cudaMemcpy2D(to, there, from.ptr(), here, width, height, BACK));
            ask!(log, "last", cudaGetLastError());
        }
        Ok(())
    });
}
