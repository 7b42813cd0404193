//! Memory, events and pictures of others, where there are none or another process has them.

use std::ffi::{c_char, c_void};

use cuda_sys as sys;

use super::super::common::{N, add_case, begin, device, end, null, taken};
use super::super::open::foreign::file;
use crate::case::Cases;
use crate::log::{Log, Outcome, ask};
use crate::memory::{Block, Kind, stream};
use crate::run::handed;

/// The helper that opens an event of another process.
const OPENS: &str = "opens an event of a drawn case";

pub(super) fn add(cases: &mut Cases) {
    add_case(cases, 341, "a raw buffer, of sizes and files that do not fit", |log| {
        for (name, kind, fd, size, flags) in [
            ("object", 8, 0, N as u64, 0),
            ("no file", 1, -1, N as u64, 0),
            ("a file, no size", 1, file(1 << 16), 0, 0),
            ("more than the file", 1, file(4096), 1 << 30, 0),
            ("dedicated", 1, file(1 << 16), 1 << 16, 1),
            ("no such flag", 1, file(1 << 16), 1 << 16, 0x100),
            ("a kind of another system", 3, 0, N as u64, 0),
        ] {
            let (mut wanted, mut made) = (sys::cudaExternalMemoryHandleDesc::default(), null());
            (wanted.type_, wanted.size, wanted.flags) =
                (sys::cudaExternalMemoryHandleType(kind), size, flags);
            if kind == 1 {
                wanted.handle.fd = fd;
            }
            ask!(log, name, cudaImportExternalMemory(&raw mut made, &raw const wanted));
            log.fact("handle", if made.is_null() { "null" } else { "some" });
            ask!(log, "last", cudaGetLastError());
        }
        ask!(log, "answer null", cudaImportExternalMemory(null(), null()));
        Ok(())
    });
    add_case(cases, 369, "of memory whose import failed, in parts, then used as if there", |log| {
        let (mut wanted, mut made) = (sys::cudaExternalMemoryHandleDesc::default(), null());
        wanted.type_ = sys::cudaExternalMemoryHandleTypeNvSciBuf;
        wanted.size = N as u64;
        ask!(log, "memory", cudaImportExternalMemory(&raw mut made, &raw const wanted));
        for (offset, size, flags) in [(0, N as u64, 0), (64, 64, 0), (0, 0, 0), (0, 64, 1)] {
            let (mut at, mut part) = (null::<c_void>(), sys::cudaExternalMemoryBufferDesc::default());
            (part.offset, part.size, part.flags) = (offset, size, flags);
            ask!(log, "part", cudaExternalMemoryGetMappedBuffer(&raw mut at, made, &raw const part));
            log.fact("address", if at.is_null() { "null" } else { "some" });
            ask!(log, "last", cudaGetLastError());
            ask!(log, "fill", cudaMemset(at, 0, 64));
        }
        let mut at = null::<c_void>();
        ask!(log, "no description", cudaExternalMemoryGetMappedBuffer(&raw mut at, made, null()));
        ask!(log, "answer null", cudaExternalMemoryGetMappedBuffer(null(), made, null()));
        taken(log)
    });
    add_case(cases, 396, "after its semaphore and its stream, all none, then the buffer", |log| {
        let (on, block) = (stream(log)?, device(log)?);
        ask!(log, cudaMemsetAsync(block.ptr(), 1, N, on));
        ask!(log, cudaStreamDestroy(on));
        ask!(log, "semaphore", cudaDestroyExternalSemaphore(null()));
        ask!(log, "peek", cudaPeekAtLastError());
        for _ in 0..2 {
            ask!(log, "memory", cudaDestroyExternalMemory(null()));
        }
        ask!(log, "its buffer", cudaFree(null()));
        ask!(log, "another", cudaFree(block.ptr()));
        let captures = begin(log)?;
        ask!(log, "while a stream captures", cudaDestroyExternalMemory(null()));
        end(log, captures);
        taken(log)
    });
    add_case(cases, 345, "one that was never registered, for a filter that runs all the same", |log| {
        let (on, mut none, block) = (stream(log)?, [null(); 2], device(log)?);
        ask!(log, cudaMemsetAsync(block.ptr(), 1, N, on));
        for count in [1, 2] {
            ask!(log, &format!("{count}"), cudaGraphicsMapResources(count, none.as_mut_ptr(), null()));
            ask!(log, "last", cudaGetLastError());
            ask!(log, "back", cudaGraphicsUnmapResources(count, none.as_mut_ptr(), null()));
        }
        ask!(log, "of the thread", cudaGraphicsMapResources(1, none.as_mut_ptr(), sys::cudaStreamPerThread));
        ask!(log, "no list", cudaGraphicsMapResources(1, null(), on));
        let captures = begin(log)?;
        ask!(log, "captures", cudaGraphicsMapResources(1, none.as_mut_ptr(), captures));
        end(log, captures);
        ask!(log, cudaStreamSynchronize(on));
        taken(log)
    });
    add_case(cases, 367, "of no resource, its codes looked at, behind a map of it", |log| {
        let (mut none, mut at, mut size) = (null(), std::ptr::without_provenance_mut::<c_void>(16), 77);
        ask!(log, "an error", cudaSetDevice(-1));
        ask!(log, "map", cudaGraphicsMapResources(1, &raw mut none, null()));
        ask!(log, "last", cudaGetLastError());
        ask!(log, "both", cudaGraphicsResourceGetMappedPointer(&raw mut at, &raw mut size, none));
        log.fact("answer", format_args!("{} {size}", at.addr()));
        ask!(log, "no place", cudaGraphicsResourceGetMappedPointer(null(), null(), none));
        let mut levels = null();
        ask!(log, "levels", cudaGraphicsResourceGetMappedMipmappedArray(&raw mut levels, none));
        ask!(log, "unmap", cudaGraphicsUnmapResources(1, &raw mut none, null()));
        ask!(log, "unregister", cudaGraphicsUnregisterResource(none));
        taken(log)
    });
    cases.help(OPENS, opens);
}

/// Opens the handed event, asks it, records it, and waits for it.
fn opens(log: &mut Log) -> Outcome {
    let (text, mut handle, mut mark) = (handed(), sys::cudaIpcEventHandle_t::default(), null());
    for (place, at) in handle.reserved.iter_mut().zip(0..) {
        let byte = text.get(2 * at..2 * at + 2).and_then(|two| u8::from_str_radix(two, 16).ok());
        *place = c_char::from_ne_bytes([byte.unwrap_or(0)]);
    }
    let (on, block) = (stream(log)?, Block::new(log, Kind::Device, N)?);
    ask!(log, cudaIpcOpenEventHandle(&raw mut mark, handle));
    if !mark.is_null() {
        ask!(log, "held", cudaEventQuery(mark));
        ask!(log, cudaMemsetAsync(block.ptr(), 1, N, on));
        ask!(log, cudaEventRecord(mark, on));
        ask!(log, cudaEventSynchronize(mark));
        ask!(log, "a handle of it", cudaIpcGetEventHandle(&raw mut handle, mark));
        ask!(log, cudaEventDestroy(mark));
    }
    Ok(())
}
