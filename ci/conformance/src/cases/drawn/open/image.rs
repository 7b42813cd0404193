//! Arrays, and textures of them.

use cuda_sys as sys;
use cuda_sys::cudaMemcpy3DParms;

use super::super::common::{N, add_case, device, null, taken};
use crate::case::Cases;
use crate::cases::image::floats;
use crate::log::{ask, need};
use crate::memory::{Block, Kind, pattern};

pub(super) fn add(cases: &mut Cases) {
    add_case(cases, 18, "from rows that a kernel wrote into a volume", |log| {
        let (format, mut array, extent) = (floats(), null(), sys::make_cudaExtent(16, 8, 4));
        need!(log, cudaMalloc3DArray(&raw mut array, &raw const format, extent, 0));
        let from = Block::with(log, Kind::Device, &pattern(N, 1))?;
        let mut copy = cudaMemcpy3DParms {
            srcPtr: sys::make_cudaPitchedPtr(from.ptr(), 64, 16, 8),
            dstArray: array,
            extent,
            kind: sys::cudaMemcpyDeviceToDevice,
            ..Default::default()
        };
        ask!(log, cudaMemcpy3D(&raw const copy));
        let to = device(log)?;
        let back = cudaMemcpy3DParms {
            srcArray: array,
            dstPtr: sys::make_cudaPitchedPtr(to.ptr(), 64, 16, 8),
            extent,
            kind: sys::cudaMemcpyDeviceToDevice,
            ..Default::default()
        };
        ask!(log, "back", cudaMemcpy3D(&raw const back));
        let got = to.load(log)?;
        log.bytes("bytes", &got[..2048], &pattern(N, 1)[..2048]);
        copy.dstPos.z = 1;
        ask!(log, "behind the end", cudaMemcpy3D(&raw const copy));
        copy.dstPos.z = 0;
        copy.extent.width = 17;
        ask!(log, "too wide", cudaMemcpy3D(&raw const copy));
        copy.extent = sys::make_cudaExtent(0, 8, 4);
        ask!(log, "no width", cudaMemcpy3D(&raw const copy));
        copy.dstPtr = copy.srcPtr;
        ask!(log, "two destinations", cudaMemcpy3D(&raw const copy));
        ask!(log, "null", cudaMemcpy3D(null()));
        taken(log)
    });
}
