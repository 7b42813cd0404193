//! Arrays, and textures of them.

use cuda_sys as sys;

use super::super::common::{add_case, null, taken};
use super::super::open::foreign::file;
use crate::case::Cases;
use crate::cases::image::floats;
use crate::log::{Log, Outcome, ask};

pub(super) fn add(cases: &mut Cases) {
    arrays(cases);
}

fn arrays(cases: &mut Cases) {
    add_case(cases, 242, "of memory of a file that is none", foreign);
}

fn foreign(log: &mut Log) -> Outcome {
    let (mut wanted, mut memory) = (sys::cudaExternalMemoryHandleDesc::default(), null());
    wanted.type_ = sys::cudaExternalMemoryHandleTypeOpaqueFd;
    (wanted.size, wanted.handle.fd) = (1 << 16, file(1 << 16));
    ask!(log, "memory", cudaImportExternalMemory(&raw mut memory, &raw const wanted));
    log.fact("handle", if memory.is_null() { "null" } else { "some" });
    ask!(log, "last", cudaGetLastError());
    let (mut levels, mut like) = (null(), sys::cudaExternalMemoryMipmappedArrayDesc::default());
    (like.formatDesc, like.extent, like.numLevels) = (floats(), sys::make_cudaExtent(16, 16, 0), 1);
    let (mut at, part) = (null(), sys::cudaExternalMemoryBufferDesc { size: 4096, ..Default::default() });
    ask!(log, "no description", cudaExternalMemoryGetMappedMipmappedArray(&raw mut levels, null(), null()));
    ask!(
        log,
        "levels of none",
        cudaExternalMemoryGetMappedMipmappedArray(&raw mut levels, null(), &raw const like)
    );
    ask!(log, "a buffer of none", cudaExternalMemoryGetMappedBuffer(&raw mut at, null(), &raw const part));
    taken(log)
}
