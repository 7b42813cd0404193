//! Pinned and registered memory.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::*;

use crate::case::Cases;
use crate::log::{Log, Setup, ask, need};
use crate::memory::{Block, Kind, pattern};

/// A page of the host that is not registered.
fn page(log: &mut Log) -> Result<*mut c_void, Setup> {
    Ok(Block::new(log, Kind::Pageable, 8192)?.ptr())
}

fn pinned(cases: &mut Cases) {
    for (what, bytes, flags) in [
        ("some bytes", 4096, 0),
        ("no bytes", 0, 0),
        ("bytes without end", usize::MAX, 0),
        ("portable", 4096, 1),
        ("mapped", 4096, 2),
        ("write-combined", 4096, 4),
        ("all flags", 4096, 7),
        ("an unknown flag", 4096, 8),
        ("all bits", 4096, u32::MAX),
    ] {
        cases.add(format!("cudaHostAlloc/{what}"), move |log| {
            let mut start = ptr::null_mut();
            let code = ask!(log, cudaHostAlloc(&raw mut start, bytes, flags));
            log.fact("null", start.is_null());
            if code == cudaSuccess && !start.is_null() {
                let mut given = 0;
                ask!(log, cudaHostGetFlags(&raw mut given, start));
                log.fact("flags", given);
                ask!(log, cudaFreeHost(start));
            }
            Ok(())
        });
    }
    cases.add("cudaHostAlloc/answer null", |log| {
        ask!(log, cudaHostAlloc(ptr::null_mut(), 4096, 0));
        Ok(())
    });
    cases.add("cudaMallocHost/answer null", |log| {
        ask!(log, cudaMallocHost(ptr::null_mut(), 4096));
        Ok(())
    });
    cases.add("cudaMallocHost/no bytes", |log| {
        let mut start = ptr::without_provenance_mut(16);
        ask!(log, cudaMallocHost(&raw mut start, 0));
        log.fact("null", start.is_null());
        Ok(())
    });
    cases.add("cudaFreeHost/null", |log| {
        ask!(log, cudaFreeHost(ptr::null_mut()));
        Ok(())
    });
    cases.add("cudaFreeHost/twice", |log| {
        let mut start = ptr::null_mut();
        need!(log, cudaMallocHost(&raw mut start, 1024));
        ask!(log, cudaFreeHost(start));
        ask!(log, cudaFreeHost(start));
        Ok(())
    });
    for kind in [Kind::Pageable, Kind::Device, Kind::Registered] {
        cases.add(format!("cudaFreeHost/{} memory", kind.name()), move |log| {
            need!(log, cudaFree(ptr::null_mut()));
            let block = Block::new(log, kind, 4096)?;
            ask!(log, cudaFreeHost(block.ptr()));
            Ok(())
        });
    }
    for kind in [Kind::Pinned, Kind::Registered] {
        cases.add(format!("cudaHostGetDevicePointer/{} memory", kind.name()), move |log| {
            let block = Block::new(log, kind, 4096)?;
            let mut mapped = ptr::null_mut();
            ask!(log, cudaHostGetDevicePointer(&raw mut mapped, block.ptr(), 0));
            log.fact("the host's own address", mapped == block.ptr());
            ask!(log, "from byte 100 on", cudaHostGetDevicePointer(&raw mut mapped, block.at(100), 0));
            log.fact("100 bytes on", mapped == block.at(100));
            Ok(())
        });
    }
    for (what, answer_null, host_null, flags) in
        [("answer null", true, false, 0), ("host null", false, true, 0), ("flags", false, false, 1)]
    {
        cases.add(format!("cudaHostGetDevicePointer/{what}"), move |log| {
            let block = Block::new(log, Kind::Pinned, 4096)?;
            let mut mapped = ptr::null_mut();
            let answer = if answer_null { ptr::null_mut() } else { &raw mut mapped };
            let host = if host_null { ptr::null_mut() } else { block.ptr() };
            ask!(log, cudaHostGetDevicePointer(answer, host, flags));
            Ok(())
        });
    }
    cases.add("cudaHostGetDevicePointer/pageable memory", |log| {
        need!(log, cudaFree(ptr::null_mut()));
        let mut mapped = ptr::null_mut();
        let page = page(log)?;
        ask!(log, cudaHostGetDevicePointer(&raw mut mapped, page, 0));
        Ok(())
    });
    cases.add("cudaHostGetFlags/pageable memory, null", |log| {
        need!(log, cudaFree(ptr::null_mut()));
        let mut flags = 0;
        let page = page(log)?;
        ask!(log, "pageable", cudaHostGetFlags(&raw mut flags, page));
        ask!(log, "null", cudaHostGetFlags(&raw mut flags, ptr::null_mut()));
        Ok(())
    });
}

fn registered(cases: &mut Cases) {
    for (what, flags) in [
        ("no flags", 0),
        ("portable", 1),
        ("mapped", 2),
        ("portable and mapped", 3),
        ("flags 0xf0", 0xf0),
        ("flags 0xfff2", 0xfff2),
        ("all bits", u32::MAX),
    ] {
        cases.add(format!("cudaHostRegister/{what}"), move |log| {
            let page = page(log)?;
            let code = ask!(log, cudaHostRegister(page, 4096, flags));
            if code == cudaSuccess {
                ask!(log, cudaHostUnregister(page));
            }
            Ok(())
        });
    }
    cases.add("cudaHostRegister/null", |log| {
        ask!(log, cudaHostRegister(ptr::null_mut(), 1, 0));
        Ok(())
    });
    cases.add("cudaHostRegister/no bytes", |log| {
        let page = page(log)?;
        ask!(log, cudaHostRegister(page, 0, 0));
        Ok(())
    });
    cases.add("cudaHostRegister/twice", |log| {
        let page = page(log)?;
        need!(log, cudaHostRegister(page, 4096, 0));
        ask!(log, cudaHostRegister(page, 4096, 0));
        // The error stays until it is taken, and harms nothing else.
        ask!(log, "something else", cudaStreamQuery(ptr::null_mut()));
        ask!(log, cudaPeekAtLastError());
        ask!(log, cudaHostUnregister(page));
        Ok(())
    });
    cases.add("cudaHostRegister/pinned memory", |log| {
        let block = Block::new(log, Kind::Pinned, 4096)?;
        ask!(log, cudaHostRegister(block.ptr(), 4096, 0));
        Ok(())
    });
    cases.add("cudaHostRegister/an odd address and an odd size", |log| {
        let source = pattern(1001, 1);
        let page = page(log)?.wrapping_byte_add(13);
        ask!(log, cudaHostRegister(page, 1001, 0));
        let device = Block::with(log, Kind::Device, &source)?;
        ask!(log, cudaMemcpyAsync(page, device.ptr(), 1001, cudaMemcpyDeviceToHost, ptr::null_mut()));
        ask!(log, cudaDeviceSynchronize());
        // SAFETY: the bytes are of the page, and the copy is done.
        let got = unsafe { std::slice::from_raw_parts(page.cast::<u8>(), 1001) }.to_vec();
        log.bytes("all bytes", &got, &source);
        ask!(log, cudaHostUnregister(page));
        Ok(())
    });
    cases.add("cudaHostRegister/two parts of one page", |log| {
        let page = page(log)?;
        ask!(log, cudaHostRegister(page, 100, 0));
        ask!(log, cudaHostRegister(page.wrapping_byte_add(1000), 100, 0));
        ask!(log, cudaHostUnregister(page.wrapping_byte_add(1000)));
        ask!(log, cudaHostUnregister(page));
        Ok(())
    });
    cases.add("cudaHostRegister/again and again", |log| {
        let page = page(log)?;
        let mut right = 0;
        for _ in 0..10 {
            need!(log, cudaHostRegister(page, 8192, 0));
            need!(log, cudaHostUnregister(page));
            right += 1;
        }
        log.fact("right", right);
        Ok(())
    });
    cases.add("cudaHostUnregister/null", |log| {
        need!(log, cudaFree(ptr::null_mut()));
        ask!(log, cudaHostUnregister(ptr::null_mut()));
        Ok(())
    });
    cases.add("cudaHostUnregister/memory that is not registered", |log| {
        need!(log, cudaFree(ptr::null_mut()));
        let page = page(log)?;
        ask!(log, cudaHostUnregister(page));
        Ok(())
    });
    cases.add("cudaHostUnregister/twice", |log| {
        let block = Block::new(log, Kind::Registered, 4096)?;
        ask!(log, cudaHostUnregister(block.ptr()));
        ask!(log, cudaHostUnregister(block.ptr()));
        Ok(())
    });
    cases.add("cudaHostUnregister/the middle", |log| {
        let block = Block::new(log, Kind::Registered, 8192)?;
        ask!(log, cudaHostUnregister(block.at(4096)));
        Ok(())
    });
    cases.add("cudaHostUnregister/pinned memory", |log| {
        let block = Block::new(log, Kind::Pinned, 4096)?;
        ask!(log, cudaHostUnregister(block.ptr()));
        Ok(())
    });
    cases.add("cudaHostGetDevicePointer/memory that was registered", |log| {
        let block = Block::new(log, Kind::Registered, 4096)?;
        need!(log, cudaHostUnregister(block.ptr()));
        let mut mapped = ptr::null_mut();
        ask!(log, cudaHostGetDevicePointer(&raw mut mapped, block.ptr(), 0));
        Ok(())
    });
}

pub(super) fn add(cases: &mut Cases) {
    pinned(cases);
    registered(cases);
}
