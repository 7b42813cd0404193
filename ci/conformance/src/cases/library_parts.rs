//! Kernels and variables of code that was loaded at run time.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use cuda_sys::*;

use super::library::{PTX, added, forget, kernel, library};
use crate::case::Cases;
use crate::log::{Log, Outcome, ask, need};
use crate::memory::{Block, Kind};

const MANAGED: &str = "
.version 8.0
.target sm_70
.address_size 64
.visible .global .attribute(.managed) .align 4 .u32 shared_count = 7;
.visible .global .align 4 .u32 own_count = 8;
";

fn kernels(cases: &mut Cases) {
    cases.alone("cudaLibraryGetKernel/a name that there is not, null", |log| {
        let library = library(log, PTX)?;
        let mut kernel = ptr::null_mut();
        let out = &raw mut kernel;
        ask!(log, "unknown", cudaLibraryGetKernel(out, library, c"subtract".as_ptr()));
        forget();
        ask!(log, "a variable", cudaLibraryGetKernel(out, library, c"count".as_ptr()));
        forget();
        ask!(log, "name null", cudaLibraryGetKernel(out, library, ptr::null()));
        forget();
        ask!(log, "answer null", cudaLibraryGetKernel(ptr::null_mut(), library, c"add".as_ptr()));
        Ok(())
    });
    cases.alone("cudaLibraryGetKernel/of no library", |log| {
        let mut kernel = ptr::null_mut();
        ask!(log, cudaLibraryGetKernel(&raw mut kernel, ptr::null_mut(), c"add".as_ptr()));
        Ok(())
    });
    cases.alone("cudaLibraryGetKernelCount/of no library, answer null", |log| {
        let library = library(log, PTX)?;
        let mut count = 77;
        ask!(log, "answer null", cudaLibraryGetKernelCount(ptr::null_mut(), library));
        forget();
        ask!(log, "no library", cudaLibraryGetKernelCount(&raw mut count, ptr::null_mut()));
        log.fact("count", count);
        Ok(())
    });
    cases.alone("cudaLibraryEnumerateKernels/room for fewer, for more, for none", |log| {
        let library = library(log, PTX)?;
        for room in [1_u32, 2, 4, 0] {
            let mut kernels = [ptr::null_mut(); 4];
            ask!(
                log,
                &format!("room for {room}"),
                cudaLibraryEnumerateKernels(kernels.as_mut_ptr(), room, library)
            );
            forget();
            log.fact("filled", kernels.iter().filter(|kernel| !kernel.is_null()).count());
        }
        let mut kernels: [cudaKernel_t; 2] = [ptr::null_mut(); 2];
        need!(log, cudaLibraryEnumerateKernels(kernels.as_mut_ptr(), 2, library));
        let (add, nothing) = (kernel(log, library, c"add")?, kernel(log, library, c"nothing")?);
        log.fact("the same handles", kernels.contains(&add) && kernels.contains(&nothing));
        Ok(())
    });
    cases.add("cudaFuncGetAttributes/of a kernel of a library, and what else is asked of one", |log| {
        let library = library(log, PTX)?;
        let kernel = kernel(log, library, c"add")?;
        let function: *const c_void = kernel.cast_const().cast();
        let mut found = cudaFuncAttributes::default();
        ask!(log, cudaFuncGetAttributes(&raw mut found, function));
        log.fact("threads", found.maxThreadsPerBlock);
        let mut name: *const c_char = ptr::null();
        need!(log, cudaFuncGetName(&raw mut name, function));
        // SAFETY: the runtime gave a name that ends in a zero byte.
        log.fact("name", unsafe { CStr::from_ptr(name) }.to_string_lossy());
        for index in 0..3 {
            let (mut offset, mut size) = (77, 77);
            ask!(log, cudaFuncGetParamInfo(function, index, &raw mut offset, &raw mut size));
            log.fact("at and size", format_args!("{offset} {size}"));
        }
        forget();
        let mut blocks = 0;
        ask!(log, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&raw mut blocks, function, 128, 0));
        log.fact("blocks", blocks > 0);
        need!(log, cudaLibraryUnload(library));
        Ok(())
    });
    cases.alone("cudaFuncSetCacheConfig/of a kernel of a library, and what else does not take one", |log| {
        let library = library(log, PTX)?;
        let function = kernel(log, library, c"add")?.cast_const().cast();
        ask!(log, cudaFuncSetCacheConfig(function, cudaFuncCachePreferL1));
        forget();
        let mut other = ptr::null_mut();
        ask!(log, cudaGetFuncBySymbol(&raw mut other, function));
        forget();
        let mut other = ptr::null_mut();
        ask!(log, cudaGetKernel(&raw mut other, function));
        Ok(())
    });
    cases.alone(
        "cudaKernelSetAttributeForDevice/dynamic shared memory, too much, no such device, read only",
        |log| {
            let library = library(log, PTX)?;
            let kernel = kernel(log, library, c"add")?;
            let most = cudaFuncAttributeMaxDynamicSharedMemorySize;
            let told = |log: &mut Log| -> Outcome {
                let mut found = cudaFuncAttributes::default();
                need!(log, cudaFuncGetAttributes(&raw mut found, kernel.cast_const().cast()));
                log.fact("dynamic", found.maxDynamicSharedSizeBytes);
                Ok(())
            };
            told(log)?;
            ask!(log, "65536", cudaKernelSetAttributeForDevice(kernel, most, 65536, 0));
            told(log)?;
            ask!(log, "a gibibyte", cudaKernelSetAttributeForDevice(kernel, most, 1 << 30, 0));
            forget();
            ask!(log, "device -1", cudaKernelSetAttributeForDevice(kernel, most, 1024, -1));
            forget();
            let read_only = cudaFuncAttribute(3);
            ask!(log, "no such attribute", cudaKernelSetAttributeForDevice(kernel, read_only, 1, 0));
            forget();
            ask!(log, "for the current one", cudaFuncSetAttribute(kernel.cast_const().cast(), most, 2048));
            ask!(log, "4096", cudaKernelSetAttributeForDevice(kernel, most, 4096, 0));
            told(log)
        },
    );
    cases.add("cudaGraphAddKernelNode/a kernel of a library", |log| {
        let library = library(log, PTX)?;
        let (kernel, to) = (kernel(log, library, c"add")?, Block::new(log, Kind::Device, 4)?);
        let (mut at, mut more) = (to.ptr(), 20_u32);
        let mut arguments: [*mut c_void; 2] = [(&raw mut at).cast(), (&raw mut more).cast()];
        let one = dim3 { x: 1, y: 1, z: 1 };
        let parameters = cudaKernelNodeParams {
            func: kernel.cast(),
            gridDim: one,
            blockDim: one,
            sharedMemBytes: 0,
            kernelParams: arguments.as_mut_ptr(),
            extra: ptr::null_mut(),
        };
        let (mut graph, mut node, mut exec) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        need!(log, cudaGraphCreate(&raw mut graph, 0));
        ask!(log, cudaGraphAddKernelNode(&raw mut node, graph, ptr::null(), 0, &raw const parameters));
        need!(log, cudaGraphInstantiateWithFlags(&raw mut exec, graph, 0));
        ask!(log, cudaGraphLaunch(exec, ptr::null_mut()));
        to.compare(log, "answer", &35_u32.to_le_bytes())?;
        need!(log, cudaGraphExecDestroy(exec));
        need!(log, cudaGraphDestroy(graph));
        ask!(log, cudaLibraryUnload(library));
        Ok(())
    });
    cases.two_devices("cudaLaunchKernel/a kernel of a library, on the second device", |log| {
        let library = library(log, PTX)?;
        let kernel = kernel(log, library, c"add")?;
        added(log, "first", kernel, 1)?;
        need!(log, cudaSetDevice(1));
        let (mut at, mut bytes) = (ptr::null_mut(), 0);
        need!(log, cudaLibraryGetGlobal(&raw mut at, &raw mut bytes, library, c"count".as_ptr()));
        let ten = 10_u32;
        need!(log, cudaMemcpy(at, (&raw const ten).cast(), 4, cudaMemcpyHostToDevice));
        added(log, "second", kernel, 1)?;
        need!(log, cudaSetDevice(0));
        added(log, "first again", kernel, 1)?;
        Ok(())
    });
}

fn variables(cases: &mut Cases) {
    cases.add("cudaLibraryGetGlobal/a variable, a table, a constant", |log| {
        let library = library(log, PTX)?;
        for (name, what) in [(c"count", "count"), (c"table", "table"), (c"factor", "factor")] {
            let (mut at, mut bytes, mut first) = (ptr::null_mut(), 0, 99_u32);
            ask!(log, what, cudaLibraryGetGlobal(&raw mut at, &raw mut bytes, library, name.as_ptr()));
            need!(log, cudaMemcpy((&raw mut first).cast(), at, 4, cudaMemcpyDeviceToHost));
            log.fact("bytes and first word", format_args!("{bytes} {first}"));
        }
        let kernel = kernel(log, library, c"add")?;
        added(log, "before", kernel, 0)?;
        for (name, value) in [(c"count", 7_u32), (c"factor", 11)] {
            let mut at = ptr::null_mut();
            need!(log, cudaLibraryGetGlobal(&raw mut at, ptr::null_mut(), library, name.as_ptr()));
            need!(log, cudaMemcpy(at, (&raw const value).cast(), 4, cudaMemcpyHostToDevice));
        }
        added(log, "after", kernel, 0)?;
        need!(log, cudaLibraryUnload(library));
        Ok(())
    });
    cases.alone("cudaLibraryGetGlobal/a name that there is not, null, both answers null", |log| {
        let library = library(log, PTX)?;
        let (mut at, mut bytes) = (ptr::null_mut(), 0);
        let (out, size) = (&raw mut at, &raw mut bytes);
        ask!(log, "unknown", cudaLibraryGetGlobal(out, size, library, c"counter".as_ptr()));
        forget();
        ask!(log, "a kernel", cudaLibraryGetGlobal(out, size, library, c"add".as_ptr()));
        forget();
        ask!(log, "only the size", cudaLibraryGetGlobal(ptr::null_mut(), size, library, c"table".as_ptr()));
        log.fact("bytes", bytes);
        ask!(
            log,
            "both null",
            cudaLibraryGetGlobal(ptr::null_mut(), ptr::null_mut(), library, c"table".as_ptr())
        );
        forget();
        ask!(log, "name null", cudaLibraryGetGlobal(out, size, library, ptr::null()));
        forget();
        ask!(log, "managed", cudaLibraryGetManaged(out, size, library, c"count".as_ptr()));
        forget();
        ask!(log, "a function", cudaLibraryGetUnifiedFunction(out, library, c"add".as_ptr()));
        Ok(())
    });
    cases.alone("cudaLibraryGetManaged/a managed variable, and by the other function", |log| {
        let library = library(log, MANAGED)?;
        let (mut at, mut bytes, mut same) = (ptr::null_mut(), 0, ptr::null_mut());
        ask!(log, cudaLibraryGetManaged(&raw mut at, &raw mut bytes, library, c"shared_count".as_ptr()));
        log.fact("bytes", bytes);
        need!(log, cudaDeviceSynchronize());
        // SAFETY: managed memory of four bytes, which no kernel uses.
        log.fact("the host reads", unsafe { at.cast::<u32>().read() });
        ask!(log, cudaLibraryGetGlobal(&raw mut same, ptr::null_mut(), library, c"shared_count".as_ptr()));
        log.fact("the same address", at == same);
        forget();
        ask!(
            log,
            "not managed",
            cudaLibraryGetManaged(&raw mut same, &raw mut bytes, library, c"own_count".as_ptr())
        );
        Ok(())
    });
    cases.add("cudaLibraryGetGlobal/of two libraries of one code", |log| {
        let (one, other) = (library(log, PTX)?, library(log, PTX)?);
        let (mut first, mut second) = (ptr::null_mut(), ptr::null_mut());
        need!(log, cudaLibraryGetGlobal(&raw mut first, ptr::null_mut(), one, c"count".as_ptr()));
        need!(log, cudaLibraryGetGlobal(&raw mut second, ptr::null_mut(), other, c"count".as_ptr()));
        log.fact("apart", first != second);
        need!(log, cudaLibraryUnload(one));
        let kernel = kernel(log, other, c"add")?;
        added(log, "the other one works", kernel, 0)?;
        need!(log, cudaLibraryUnload(other));
        Ok(())
    });
}

pub(super) fn add(cases: &mut Cases) {
    kernels(cases);
    variables(cases);
}
