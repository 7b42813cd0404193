//! Memory that programs allocate, free, and map.

use std::ffi::c_void;

use cuda_sys as sys;

use super::super::common::{
    N, add_case, begin, device, end, float_is, floats, null, scale, taken, waits, what,
};
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{ask, need};
use crate::memory::{Block, Kind, pattern, stream};

/// Pages that are not registered.
fn pages(log: &mut crate::log::Log) -> Result<*mut c_void, crate::log::Setup> {
    Ok(Block::new(log, Kind::Pageable, 2 * N)?.ptr())
}

pub(super) fn add(cases: &mut Cases) {
    frees(cases);
    device_memory(cases);
    mapped(cases);
    host(cases);
}

fn frees(cases: &mut Cases) {
    add_case(cases, 3, "three buffers at the end, one of them again, one from within", |log| {
        let blocks = [device(log)?, device(log)?, device(log)?];
        ask!(log, "within", cudaFree(blocks[0].at(256)));
        for block in blocks {
            ask!(log, cudaFree(block.ptr()));
        }
        ask!(log, "again", cudaFree(blocks[1].ptr()));
        ask!(log, "null", cudaFree(null()));
        let mut mark = null();
        need!(log, cudaEventCreate(&raw mut mark));
        ask!(log, "the event then", cudaEventDestroy(mark));
        taken(log)
    });
    add_case(cases, 5, "addresses that were kept in device memory, and what is not a device's", |log| {
        let blocks = [device(log)?.ptr(), device(log)?.ptr()];
        let bytes: Vec<u8> = blocks.iter().flat_map(|at| at.expose_provenance().to_le_bytes()).collect();
        let list = Block::with(log, Kind::Device, &bytes)?;
        let got = list.load(log)?;
        for address in got.chunks(8) {
            let at = usize::from_le_bytes(address.try_into().expect("eight bytes"));
            ask!(log, cudaFree(std::ptr::with_exposed_provenance_mut(at)));
        }
        what(log, "freed", blocks[0]);
        for kind in [Kind::Pinned, Kind::Registered, Kind::Pageable, Kind::Managed, Kind::Pool] {
            let block = Block::new(log, kind, N)?;
            ask!(log, kind.name(), cudaFree(block.ptr()));
            ask!(log, "last", cudaGetLastError());
        }
        Ok(())
    });
    add_case(cases, 45, "if it is there, while a stream is held, and null after that", |log| {
        let (on, block) = (stream(log)?, device(log)?);
        let gate = Gate::hold(log, on)?;
        waits(log, &gate, |log| {
            ask!(log, cudaFree(block.ptr()));
        });
        ask!(log, "null", cudaFree(null()));
        ask!(log, cudaStreamQuery(on));
        Ok(())
    });
    add_case(cases, 78, "five buffers, and a fill of one of them after that", |log| {
        let mut blocks = Vec::new();
        for size in [N, 64, 1 << 20, 3 << 20, 4] {
            blocks.push(Block::new(log, Kind::Device, size)?);
        }
        for block in &blocks {
            ask!(log, cudaFree(block.ptr()));
        }
        ask!(log, "small", cudaMemset(blocks[1].ptr(), 0, 64));
        ask!(log, "large", cudaMemset(blocks[3].ptr(), 0, 64));
        taken(log)
    });
    add_case(cases, 107, "two tables, then memory that another function frees", |log| {
        for block in [device(log)?, device(log)?] {
            ask!(log, cudaFree(block.ptr()));
        }
        let host = Block::new(log, Kind::Pinned, N)?;
        ask!(log, "pinned", cudaFree(host.ptr()));
        ask!(log, "pinned, by its own", cudaFreeHost(host.ptr()));
        let plain = device(log)?;
        ask!(log, "device, by the host's", cudaFreeHost(plain.ptr()));
        ask!(log, "device, by a stream", cudaFreeAsync(plain.ptr(), null()));
        ask!(log, cudaDeviceSynchronize());
        ask!(log, "and again", cudaFree(plain.ptr()));
        taken(log)
    });
    add_case(cases, 116, "three buffers while another stream captures", |log| {
        let blocks = [device(log)?, device(log)?, device(log)?];
        let on = begin(log)?;
        ask!(log, "captured", cudaMemsetAsync(blocks[0].ptr(), 1, N, on));
        for block in &blocks[1..] {
            ask!(log, cudaFree(block.ptr()));
        }
        ask!(log, "after it", cudaMemsetAsync(blocks[0].ptr(), 1, N, on));
        end(log, on);
        ask!(log, "then", cudaFree(blocks[0].ptr()));
        taken(log)
    });
}

fn device_memory(cases: &mut Cases) {
    add_case(cases, 51, "four pictures of one size", |log| {
        let mut all = Vec::new();
        for _ in 0..4 {
            let mut at = null();
            ask!(log, cudaMalloc(&raw mut at, 512 * 512 * 4));
            log.fact("aligned", at.addr().is_multiple_of(512));
            all.push(at);
        }
        what(log, "first", all[0]);
        what(log, "inside", all[0].wrapping_byte_add(1000));
        all.sort();
        let apart = all.windows(2).all(|two| two[1].addr() - two[0].addr() >= 512 * 512 * 4);
        log.fact("apart", apart);
        Ok(())
    });
    add_case(cases, 52, "eight bytes, and one byte more than these", |log| {
        let (mut at, from) = (null::<c_void>(), [1_u8; 1024]);
        ask!(log, cudaMalloc(&raw mut at, 8));
        log.fact("aligned", at.addr().is_multiple_of(256));
        ask!(log, "8", cudaMemset(at, 1, 8));
        ask!(log, "9", cudaMemset(at, 1, 9));
        ask!(log, "9 up", cudaMemcpy(at, from.as_ptr().cast(), 9, sys::cudaMemcpyHostToDevice));
        ask!(log, "513 up", cudaMemcpy(at, from.as_ptr().cast(), 513, sys::cudaMemcpyHostToDevice));
        what(log, "byte 9", at.wrapping_byte_add(9));
        ask!(log, "from within", cudaFree(at.wrapping_byte_add(4)));
        ask!(log, cudaFree(at));
        Ok(())
    });
    add_case(
        cases,
        98,
        "sizes that were computed: nothing, less than nothing, no place for the address",
        |log| {
            let mut at: *mut c_void = std::ptr::without_provenance_mut(16);
            ask!(log, "0", cudaMalloc(&raw mut at, 0));
            log.fact("address", at.addr());
            at = std::ptr::without_provenance_mut(16);
            ask!(log, "-4", cudaMalloc(&raw mut at, usize::MAX - 3));
            log.fact("address", at.addr());
            ask!(log, "null", cudaMalloc(null(), 64));
            ask!(log, "null, 0", cudaMalloc(null(), 0));
            taken(log)
        },
    );
    add_case(cases, 102, "three vectors a round, a hundred rounds, their contents", |log| {
        let (up, mut right) = (pattern(N, 2), 0);
        for _ in 0..100 {
            let (mut all, mut got) = ([null(); 3], vec![0_u8; N]);
            for at in &mut all {
                need!(log, cudaMalloc(at, 1 << 20));
            }
            need!(log, cudaMemcpy(all[0], up.as_ptr().cast(), N, sys::cudaMemcpyHostToDevice));
            need!(log, cudaMemcpy(all[2], all[0], N, sys::cudaMemcpyDeviceToDevice));
            need!(log, cudaMemcpy(got.as_mut_ptr().cast(), all[2], N, sys::cudaMemcpyDeviceToHost));
            right += i32::from(got == up);
            for at in all {
                need!(log, cudaFree(at));
            }
        }
        log.fact("right", right);
        taken(log)
    });
    add_case(cases, 113, "more than there is, and what is possible after that", |log| {
        let mut at = null();
        ask!(log, "too much", cudaMalloc(&raw mut at, 1 << 46));
        ask!(log, "peek", cudaPeekAtLastError());
        ask!(log, "enough", cudaMalloc(&raw mut at, N));
        ask!(log, "peek", cudaPeekAtLastError());
        ask!(log, cudaMemset(at, 0, N));
        ask!(log, cudaDeviceSynchronize());
        taken(log)
    });
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
    add_case(cases, 83, "before an allocation that cannot fit, and after it", |log| {
        let (mut free, mut total, mut again, mut at) = (0, 0, 0, null());
        ask!(log, cudaMemGetInfo(&raw mut free, &raw mut total));
        ask!(log, "one more than all", cudaMalloc(&raw mut at, total + 1));
        ask!(log, "then", cudaMemGetInfo(&raw mut free, &raw mut again));
        log.fact("total stays", total == again);
        ask!(log, "managed", cudaMallocManaged(&raw mut at, N, sys::cudaMemAttachGlobal));
        let on = begin(log)?;
        ask!(log, "while a stream captures", cudaMemGetInfo(&raw mut free, &raw mut total));
        end(log, on);
        taken(log)
    });
    add_case(cases, 48, "three matrices that host and kernel write", |log| {
        let [mut a, mut b, mut c] = [null::<c_void>(); 3];
        for at in [&mut a, &mut b, &mut c] {
            ask!(log, cudaMallocManaged(at, N, sys::cudaMemAttachGlobal));
        }
        what(log, "first", a);
        let (from, to) =
            (Block::with(log, Kind::Managed, &floats([2.5; 1024]))?, Block::new(log, Kind::Managed, N)?);
        scale(log, "kernel", to, from, 4.0, 1024, null());
        ask!(log, cudaDeviceSynchronize());
        float_is(log, to, 1023)?;
        ask!(log, "none", cudaMallocManaged(&raw mut a, 0, sys::cudaMemAttachGlobal));
        ask!(log, "no flag", cudaMallocManaged(&raw mut a, N, 0));
        ask!(log, "both flags", cudaMallocManaged(&raw mut a, N, 3));
        ask!(log, "single", cudaMallocManaged(&raw mut a, N, sys::cudaMemAttachSingle));
        ask!(log, "too much", cudaMallocManaged(&raw mut a, 1 << 50, sys::cudaMemAttachGlobal));
        taken(log)
    });
}

fn mapped(cases: &mut Cases) {
    add_case(cases, 71, "of pinned memory that a kernel reads and writes", |log| {
        let (from, to) =
            (Block::with(log, Kind::Pinned, &floats([1.0; 1024]))?, Block::new(log, Kind::Pinned, N)?);
        let mut at = null();
        for block in [from, to] {
            ask!(log, cudaHostGetDevicePointer(&raw mut at, block.ptr(), 0));
            log.fact("the same", at == block.ptr());
        }
        ask!(log, "inside", cudaHostGetDevicePointer(&raw mut at, to.at(100), 0));
        log.fact("the same", at == to.at(100));
        ask!(log, "flags 1", cudaHostGetDevicePointer(&raw mut at, to.ptr(), 1));
        scale(log, "kernel", to, from, 3.0, 1024, null());
        ask!(log, cudaDeviceSynchronize());
        float_is(log, to, 1023)?;
        Ok(())
    });
    add_case(cases, 106, "of every kind of memory", |log| {
        for kind in Kind::ALL {
            let (block, mut at) = (Block::new(log, kind, N)?, null());
            ask!(log, kind.name(), cudaHostGetDevicePointer(&raw mut at, block.ptr(), 0));
            log.fact("the same", at == block.ptr());
            ask!(log, "last", cudaGetLastError());
        }
        let mut at = null();
        ask!(log, "null", cudaHostGetDevicePointer(&raw mut at, null(), 0));
        let block = Block::new(log, Kind::Pinned, N)?;
        ask!(log, "answer null", cudaHostGetDevicePointer(null(), block.ptr(), 0));
        Ok(())
    });
    add_case(cases, 9, "three arrays, after they were registered twice and once more", |log| {
        let flag = sys::cudaHostRegisterMapped;
        let blocks = [pages(log)?, pages(log)?, pages(log)?];
        for at in blocks {
            ask!(log, "register", cudaHostRegister(at, N, flag));
        }
        ask!(log, "register again", cudaHostRegister(blocks[0], N, flag));
        ask!(log, "a part of it", cudaHostRegister(blocks[0].wrapping_byte_add(1024), 64, flag));
        ask!(log, "from within", cudaHostUnregister(blocks[0].wrapping_byte_add(1024)));
        for at in blocks {
            ask!(log, cudaHostUnregister(at));
        }
        ask!(log, "again", cudaHostUnregister(blocks[0]));
        what(log, "then", blocks[0]);
        taken(log)
    });
    add_case(cases, 57, "after a kernel wrote there", |log| {
        let at = pages(log)?;
        ask!(log, cudaHostRegister(at, 2 * N, sys::cudaHostRegisterDefault));
        what(log, "registered", at);
        crate::cases::kernel::fill(log, at, 77, 2 * N, null())?;
        ask!(log, cudaDeviceSynchronize());
        ask!(log, cudaHostUnregister(at));
        // SAFETY: the pages are the case's, and nothing else uses them.
        let got = unsafe { std::slice::from_raw_parts(at.cast::<u8>(), 2 * N) };
        log.bytes("all bytes", got, &[77; 2 * N]);
        what(log, "not any more", at);
        let plain = device(log)?;
        let up = sys::cudaMemcpyHostToDevice;
        ask!(log, "a copy from it", cudaMemcpyAsync(plain.ptr(), at, N, up, null()));
        ask!(log, cudaDeviceSynchronize());
        Ok(())
    });
    add_case(cases, 118, "in a destructor: null, pinned memory, memory of the device", |log| {
        ask!(log, "null", cudaHostUnregister(null()));
        for kind in [Kind::Pinned, Kind::Device, Kind::Managed, Kind::Pageable] {
            let block = Block::new(log, kind, N)?;
            ask!(log, kind.name(), cudaHostUnregister(block.ptr()));
        }
        let at = pages(log)?;
        for flags in [sys::cudaHostRegisterPortable, sys::cudaHostRegisterReadOnly, 0x10] {
            ask!(log, &format!("flags {flags}"), cudaHostRegister(at, N, flags));
            let mut got = 99;
            ask!(log, cudaHostGetFlags(&raw mut got, at));
            log.fact("flags", got);
            ask!(log, cudaHostUnregister(at));
        }
        taken(log)
    });
}

fn host(cases: &mut Cases) {
    add_case(cases, 12, "at the end of a scope, in reverse order, again, and of other memory", |log| {
        let blocks = [Block::new(log, Kind::Pinned, N)?, Block::new(log, Kind::Pinned, 1 << 20)?];
        ask!(log, "within", cudaFreeHost(blocks[0].at(64)));
        for block in blocks.iter().rev() {
            ask!(log, cudaFreeHost(block.ptr()));
        }
        ask!(log, "again", cudaFreeHost(blocks[0].ptr()));
        ask!(log, "null", cudaFreeHost(null()));
        for kind in [Kind::Device, Kind::Managed, Kind::Registered, Kind::Pageable] {
            let block = Block::new(log, kind, N)?;
            ask!(log, kind.name(), cudaFreeHost(block.ptr()));
        }
        taken(log)
    });
    add_case(cases, 81, "three matrices for reads from the device", |log| {
        for _ in 0..3 {
            let (mut at, mut flags) = (null(), 99);
            ask!(log, cudaMallocHost(&raw mut at, 3 * N));
            log.fact("whole pages", at.addr().is_multiple_of(4096));
            ask!(log, cudaHostGetFlags(&raw mut flags, at));
            log.fact("flags", flags);
            what(log, "it", at);
        }
        let (mut at, on) = (null(), begin(log)?);
        ask!(log, "while a stream captures", cudaMallocHost(&raw mut at, N));
        end(log, on);
        Ok(())
    });
    add_case(cases, 82, "of no bytes, of too many, and the error that is left", |log| {
        let mut at: *mut c_void = std::ptr::without_provenance_mut(16);
        ask!(log, "none", cudaMallocHost(&raw mut at, 0));
        log.fact("address", if at.is_null() { "null" } else { "some" });
        ask!(log, "too many", cudaMallocHost(&raw mut at, 1 << 50));
        taken(log)?;
        ask!(log, "null", cudaMallocHost(null(), 64));
        ask!(log, "one", cudaMallocHost(&raw mut at, 1));
        log.fact("aligned", at.addr().is_multiple_of(256));
        Ok(())
    });
    add_case(cases, 96, "default flags, and all others", |log| {
        for flags in [0, 1, 2, 3, 4, 5, 6, 7, 8, 16] {
            let (mut at, mut got) = (null(), 99);
            ask!(log, &format!("{flags}"), cudaHostAlloc(&raw mut at, N, flags));
            log.fact("aligned", at.addr().is_multiple_of(256));
            if !at.is_null() {
                ask!(log, cudaHostGetFlags(&raw mut got, at));
                log.fact("flags", got);
                ask!(log, cudaFreeHost(at));
            }
        }
        Ok(())
    });
}
