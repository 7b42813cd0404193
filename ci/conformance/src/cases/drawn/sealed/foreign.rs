//! Semaphores and pictures of other interfaces, where there are none.

use std::ffi::c_void;

use super::super::common::{N, add_case, device, null, taken};
use super::super::open::foreign::{file, semaphore};
use crate::case::Cases;
use crate::log::{Log, Outcome, ask};
use crate::memory::stream;

pub(super) fn add(cases: &mut Cases) {
    for (number, situation) in [
        (160, "of no resource, between a map and a kernel"),
        (266, "of no resource, its size not asked for"),
        (294, "of no resource, as a picture, and no place for it"),
    ] {
        add_case(cases, number, situation, move |log| mapped(log, number));
    }
    add_case(cases, 235, "the waiting side: objects and files of every kind", |log| {
        for kind in 1..=10 {
            semaphore(log, &format!("{kind}"), kind, if kind % 2 == 0 { -1 } else { file(64) }, 0);
            ask!(log, "last", cudaGetLastError());
        }
        ask!(log, "answer null", cudaImportExternalSemaphore(null(), null()));
        taken(log)
    });
    add_case(
        cases,
        243,
        "the waiting one behind the signalling one, both none, with an error before",
        |log| {
            let made = semaphore(log, "made", 1, -1, 0);
            ask!(log, "peek", cudaPeekAtLastError());
            for it in [made, null()] {
                ask!(log, cudaDestroyExternalSemaphore(it));
            }
            taken(log)
        },
    );
}

fn mapped(log: &mut Log, number: usize) -> Outcome {
    let (on, block, mut at, mut size) = (stream(log)?, device(log)?, null::<c_void>(), 77);
    ask!(log, cudaMemsetAsync(block.ptr(), 1, N, on));
    ask!(log, "no resources", cudaGraphicsMapResources(0, null(), on));
    ask!(log, cudaStreamSynchronize(on));
    match number {
        160 => ask!(log, cudaGraphicsResourceGetMappedPointer(&raw mut at, &raw mut size, null())),
        266 => ask!(log, cudaGraphicsResourceGetMappedPointer(&raw mut at, null(), null())),
        _ => {
            let mut picture = null();
            ask!(log, "picture", cudaGraphicsSubResourceGetMappedArray(&raw mut picture, null(), 0, 0));
            ask!(log, "last", cudaGetLastError());
            ask!(log, cudaGraphicsResourceGetMappedPointer(null(), &raw mut size, null()))
        }
    };
    log.fact("answer", format_args!("{} {size}", at.is_null()));
    ask!(log, "flags", cudaGraphicsResourceSetMapFlags(null(), 0));
    taken(log)
}
