//! Whole ranges of arguments: device attributes, limits, flags, addresses of the bus, launches, pools,
//! symbols, planes of arrays, and the names and texts of errors.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use cuda_sys::*;

use crate::case::Cases;
use crate::log::{Log, Setup, ask, error_name, need};
use crate::memory::{Block, Kind, pattern, stream};

unsafe extern "C" {
    fn case_empty();
    fn case_shared();
    fn case_list_symbol() -> *const c_void;
    fn case_constant_symbol() -> *const c_void;
}

/// Every attribute by its number. Values other than no and yes depend on the device, and so does its address.
fn attributes(cases: &mut Cases) {
    let address = [cudaDevAttrPciBusId, cudaDevAttrPciDeviceId, cudaDevAttrPciDomainId];
    for number in 1..=150 {
        cases.add(format!("cudaDeviceGetAttribute/number {number}"), move |log| {
            let mut value = -7;
            ask!(log, cudaDeviceGetAttribute(&raw mut value, cudaDeviceAttr(number), 0));
            match value {
                0.. if address.contains(&cudaDeviceAttr(number)) => log.fact("value", "a number"),
                -7 => log.fact("value", "none"),
                0 => log.fact("value", "no"),
                1 => log.fact("value", "yes"),
                _ => log.fact("value", "a number"),
            }
            Ok(())
        });
    }
}

/// The limits whose values do not depend on the device much.
const KEPT: [&str; 4] = ["stack", "printf", "heap", "pending launches"];

fn limits(cases: &mut Cases) {
    let known = [
        (cudaLimitStackSize, "stack"),
        (cudaLimitPrintfFifoSize, "printf"),
        (cudaLimitMallocHeapSize, "heap"),
        (cudaLimit(3), "depth of synchronisation"),
        (cudaLimit(4), "pending launches"),
        (cudaLimitMaxL2FetchGranularity, "fetch granularity"),
        (cudaLimitPersistingL2CacheSize, "persisting cache"),
    ];
    for (limit, what) in known {
        for value in [0, 1, 1000, 16 << 10, 1 << 20, 1 << 33, usize::MAX] {
            cases.alone(format!("cudaDeviceSetLimit/{what}, {value:#x}"), move |log| {
                ask!(log, cudaDeviceSetLimit(limit, value));
                let mut now = 7;
                ask!(log, cudaDeviceGetLimit(&raw mut now, limit));
                log.fact("is that", now == value);
                Ok(())
            });
        }
    }
    for (limit, what) in known.into_iter().filter(|it| KEPT.contains(&it.1)) {
        cases
            .add(format!("cudaDeviceSetLimit/{what}, what is kept"), move |log| {
                let stacks =
                    [17 << 10, 1 << 17, 3 << 16, 1 << 18, 5 << 16, 3 << 17, 7 << 16, (1 << 19) - 1024];
                let sizes = [1 << 16, 5_000_000, 10 << 20, 100_000_001, 1 << 29, 3 << 30];
                let values: &[usize] = if what == "stack" { &stacks } else { &sizes };
                for value in values {
                    let mut now = 7;
                    ask!(log, "set", cudaDeviceSetLimit(limit, *value));
                    ask!(log, "read", cudaDeviceGetLimit(&raw mut now, limit));
                    log.fact(&format!("{value}"), now);
                }
                Ok(())
            })
            .alone();
    }
}

fn flags(cases: &mut Cases) {
    for flags in [5, 6, 7, 9, 0xc, 0x11, 0x14, 0x18, 0x80, 0x81, 0x88, 0x90, 0x98, 0x100, 0x8000_0000] {
        for used in [false, true] {
            let when = if used { "the device is in use" } else { "at first" };
            cases.alone(format!("cudaSetDeviceFlags/{flags:#x}, {when}"), move |log| {
                if used {
                    Block::new(log, Kind::Device, 16)?;
                }
                ask!(log, cudaSetDeviceFlags(flags));
                let mut given = 77;
                ask!(log, cudaGetDeviceFlags(&raw mut given));
                log.fact("flags", given);
                Ok(())
            });
        }
    }
}

/// A change of an address, and its name.
type Form = (&'static str, fn(&str) -> String);

/// The address of the first device on the bus, changed in a known way.
fn bus(cases: &mut Cases) {
    let forms: [Form; 12] = [
        ("as it is", str::to_owned),
        ("in capital letters", |it| it.to_ascii_uppercase()),
        ("without the domain", |it| it.split_once(':').map_or("", |it| it.1).to_owned()),
        ("without the function", |it| it.split('.').next().unwrap_or("").to_owned()),
        ("with a longer domain", |it| format!("0000{it}")),
        ("with another function", |it| format!("{}.1", it.split('.').next().unwrap_or(""))),
        ("with a blank before it", |it| format!(" {it}")),
        ("with a blank after it", |it| format!("{it} ")),
        ("with a letter after it", |it| format!("{it}x")),
        ("of another domain", |it| format!("ffff{}", it.get(4..).unwrap_or(""))),
        ("with dots for colons", |it| it.replace(':', ".")),
        ("empty", |_| String::new()),
    ];
    for (what, form) in forms {
        cases.add(format!("cudaDeviceGetByPCIBusId/{what}"), move |log| {
            let mut text: [c_char; 32] = [0; 32];
            need!(log, cudaDeviceGetPCIBusId(text.as_mut_ptr(), 32, 0));
            // SAFETY: the runtime has written a string.
            let text = unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned();
            let text = std::ffi::CString::new(form(&text)).unwrap();
            let mut device = 77;
            ask!(log, cudaDeviceGetByPCIBusId(&raw mut device, text.as_ptr()));
            log.fact("device", device);
            Ok(())
        });
    }
    for length in [-1, 0, 1, 8, 12, 13, 14] {
        cases.add(format!("cudaDeviceGetPCIBusId/room for {length}"), move |log| {
            let mut text: [c_char; 32] = [0x55; 32];
            ask!(log, cudaDeviceGetPCIBusId(text.as_mut_ptr(), length, 0));
            log.fact("bytes written", text.iter().filter(|it| **it != 0x55).count());
            Ok(())
        });
    }
}

fn launches(cases: &mut Cases) {
    let one = [1, 1, 1];
    for cooperative in [false, true] {
        let api = if cooperative { "cudaLaunchCooperativeKernel" } else { "cudaLaunchKernel" };
        for (what, grid, block, shared, asked) in [
            ("2^31 blocks", [1 << 31, 1, 1], one, 0, None),
            ("2^32 - 1 blocks", [u32::MAX, 1, 1], one, 0, None),
            ("65,536 blocks in z", [1, 1, 65_536], one, 0, None),
            ("1,024 threads", one, [1024, 1, 1], 0, None),
            ("1,024 threads in y", one, [1, 1024, 1], 0, None),
            ("64 threads in z", one, [1, 1, 64], 0, None),
            ("16 by 64 threads in y and z", one, [1, 16, 64], 0, None),
            ("512 by 3 threads", one, [512, 3, 1], 0, None),
            ("threads whose product overflows", one, [1 << 16, 1 << 16, 1], 0, None),
            ("2^32 - 1 threads", one, [u32::MAX, 1, 1], 0, None),
            ("48 KiB", one, one, 48 << 10, None),
            ("a byte more than 48 KiB", one, one, (48 << 10) + 1, None),
            ("227 KiB, not asked for", one, one, 227 << 10, None),
            ("all bytes that there are", one, one, usize::MAX, None),
            ("100 KiB, asked for", one, one, 100 << 10, Some(100 << 10)),
            ("more than was asked for", one, one, 101 << 10, Some(100 << 10)),
            ("227 KiB, asked for", one, one, 227 << 10, Some(227 << 10)),
            ("228 KiB, asked for", one, one, 228 << 10, Some(228 << 10)),
            ("no blocks and no threads", [0, 0, 0], [0, 0, 0], 0, None),
            ("no blocks and too many threads", [0, 1, 1], [2000, 1, 1], 0, None),
        ] {
            cases.alone(format!("{api}/{what}"), move |log| {
                let kernel = case_empty as *const c_void;
                if let Some(bytes) = asked {
                    let id = cudaFuncAttributeMaxDynamicSharedMemorySize;
                    ask!(log, cudaFuncSetAttribute(kernel, id, bytes));
                }
                let dim = |[x, y, z]: [u32; 3]| dim3 { x, y, z };
                let (none, on) = (ptr::null_mut(), ptr::null_mut());
                if cooperative {
                    ask!(log, cudaLaunchCooperativeKernel(kernel, dim(grid), dim(block), none, shared, on));
                } else {
                    ask!(log, cudaLaunchKernel(kernel, dim(grid), dim(block), none, shared, on));
                }
                ask!(log, cudaDeviceSynchronize());
                Ok(())
            });
        }
    }
    for threads in [0, 1, 32, 33, 1024, 1025, -1] {
        for bytes in [0, 48 << 10, 100 << 10, usize::MAX] {
            let id =
                format!("cudaOccupancyMaxActiveBlocksPerMultiprocessor/{threads} threads, {bytes:#x} bytes");
            cases.add(id, move |log| {
                let (mut blocks, kernel): (c_int, _) = (77, case_shared as *const c_void);
                ask!(
                    log,
                    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&raw mut blocks, kernel, threads, bytes)
                );
                log.fact("blocks", blocks);
                Ok(())
            });
        }
    }
}

fn pools(cases: &mut Cases) {
    let pool = |log: &mut Log| -> Result<cudaMemPool_t, Setup> {
        let mut pool = ptr::null_mut();
        need!(log, cudaDeviceGetDefaultMemPool(&raw mut pool, 0));
        Ok(pool)
    };
    for number in 0..=12 {
        cases.alone(format!("cudaMemPoolGetAttribute/number {number}"), move |log| {
            let (pool, mut value) = (pool(log)?, 7_u64);
            let attribute = cudaMemPoolAttr(number);
            ask!(log, cudaMemPoolGetAttribute(pool, attribute, (&raw mut value).cast()));
            log.fact("value", value);
            Ok(())
        });
        for value in [0_u64, 1, 1 << 20, u64::MAX] {
            cases.alone(format!("cudaMemPoolSetAttribute/number {number}, {value:#x}"), move |log| {
                let (pool, mut value) = (pool(log)?, value);
                let attribute = cudaMemPoolAttr(number);
                ask!(log, cudaMemPoolSetAttribute(pool, attribute, (&raw mut value).cast()));
                let mut now = 7_u64;
                ask!(log, cudaMemPoolGetAttribute(pool, attribute, (&raw mut now).cast()));
                log.fact("value", now);
                Ok(())
            });
        }
    }
}

fn symbols(cases: &mut Cases) {
    for (name, constant) in [("a list", false), ("a constant list", true)] {
        for kind in Kind::ALL {
            for (offset, bytes) in [(0, 64), (4, 8), (60, 4), (61, 4), (0, 0)] {
                for to in [true, false] {
                    let api = if to { "cudaMemcpyToSymbolAsync" } else { "cudaMemcpyFromSymbolAsync" };
                    let id = format!("{api}/{name}, {}, {bytes} bytes at {offset}, default", kind.name());
                    cases.alone(id, move |log| {
                        // SAFETY: the functions take nothing and return an address.
                        let symbol =
                            unsafe { if constant { case_constant_symbol() } else { case_list_symbol() } };
                        let (memory, on) = (Block::with(log, kind, &pattern(64, 3))?, stream(log)?);
                        let start = memory.ptr();
                        if to {
                            ask!(
                                log,
                                cudaMemcpyToSymbolAsync(symbol, start, bytes, offset, cudaMemcpyDefault, on)
                            );
                        } else {
                            ask!(
                                log,
                                cudaMemcpyFromSymbolAsync(
                                    start,
                                    symbol,
                                    bytes,
                                    offset,
                                    cudaMemcpyDefault,
                                    on
                                )
                            );
                        }
                        ask!(log, cudaStreamSynchronize(on));
                        let mut there = [0_u8; 64];
                        let way = cudaMemcpyDeviceToHost;
                        need!(log, cudaMemcpyFromSymbol(there.as_mut_ptr().cast(), symbol, 64, 0, way));
                        let got = memory.load(log)?;
                        let sum = |bytes: &[u8]| bytes.iter().map(|it| u32::from(*it)).sum::<u32>();
                        log.fact("sums", format_args!("{} {}", sum(&there), sum(&got)));
                        Ok(())
                    });
                }
            }
        }
    }
}

/// A plane of 16 by 8 elements of 4 bytes.
fn plane(log: &mut Log) -> Result<cudaArray_t, Setup> {
    let (mut array, kind) = (ptr::null_mut(), cudaChannelFormatKindUnsigned);
    let format = cudaChannelFormatDesc { x: 32, y: 0, z: 0, w: 0, f: kind };
    need!(log, cudaMallocArray(&raw mut array, &raw const format, 16, 8, 0));
    let all = pattern(64 * 8, 5);
    let way = cudaMemcpyHostToDevice;
    need!(log, cudaMemcpy2DToArray(array, 0, 0, all.as_ptr().cast(), 64, 64, 8, way));
    // A copy from pageable memory may return before the array has the bytes.
    need!(log, cudaDeviceSynchronize());
    Ok(array)
}

fn planes(cases: &mut Cases) {
    for (what, across, down, pitch, width, rows) in [
        ("all of it", 0, 0, 64, 64, 8),
        ("a part", 8, 2, 64, 16, 3),
        ("half an element", 2, 0, 64, 16, 3),
        ("a width of half an element", 0, 0, 64, 14, 3),
        ("no width", 0, 0, 64, 0, 3),
        ("no rows", 0, 0, 64, 64, 0),
        ("no width beyond the end", 64, 8, 64, 0, 0),
        ("beyond the end of a row", 60, 0, 64, 8, 1),
        ("beyond the last row", 0, 7, 64, 4, 2),
        ("a pitch below the width", 0, 0, 32, 64, 2),
        ("a pitch of an odd number", 0, 0, 67, 64, 2),
        ("no pitch for one row", 0, 0, 0, 64, 1),
    ] {
        for to in [true, false] {
            for kind in [Kind::Pageable, Kind::Pinned, Kind::Device] {
                let api = if to { "cudaMemcpy2DToArrayAsync" } else { "cudaMemcpy2DFromArrayAsync" };
                cases.alone(format!("{api}/16 by 8, {}, {what}", kind.name()), move |log| {
                    let (array, on) = (plane(log)?, stream(log)?);
                    let memory = Block::with(log, kind, &pattern(1024, 9))?;
                    let (start, way) = (memory.ptr(), cudaMemcpyDefault);
                    if to {
                        ask!(
                            log,
                            cudaMemcpy2DToArrayAsync(array, across, down, start, pitch, width, rows, way, on)
                        );
                    } else {
                        ask!(
                            log,
                            cudaMemcpy2DFromArrayAsync(
                                start, pitch, array, across, down, width, rows, way, on
                            )
                        );
                    }
                    ask!(log, cudaStreamSynchronize(on));
                    let mut there = vec![0_u8; 64 * 8];
                    let way = cudaMemcpyDeviceToHost;
                    need!(log, cudaMemcpy2DFromArray(there.as_mut_ptr().cast(), 64, array, 0, 0, 64, 8, way));
                    let got = memory.load(log)?;
                    let sum = |bytes: &[u8]| bytes.iter().map(|it| u32::from(*it)).sum::<u32>();
                    log.fact("sums", format_args!("{} {}", sum(&there), sum(&got)));
                    Ok(())
                });
            }
        }
        cases.alone(format!("cudaMemcpy2DArrayToArray/16 by 8, {what}"), move |log| {
            let (from, to) = (plane(log)?, plane(log)?);
            let way = cudaMemcpyDeviceToDevice;
            ask!(
                log,
                "to the corner",
                cudaMemcpy2DArrayToArray(to, 0, 0, from, across, down, width, rows, way)
            );
            ask!(
                log,
                "from the corner",
                cudaMemcpy2DArrayToArray(to, across, down, from, 0, 0, width, rows, way)
            );
            ask!(log, cudaDeviceSynchronize());
            Ok(())
        });
    }
}

/// Codes that have a name, and those whose text is more than that.
fn errors(cases: &mut Cases) {
    for hundred in 0..=10 {
        cases.add(format!("cudaGetErrorName/codes from {} on", 100 * hundred), move |log| {
            for code in 100 * hundred..100 * (hundred + 1) {
                let name = error_name(cudaError(code));
                if name != "unrecognized error code" {
                    // SAFETY: takes any code, and returns a string.
                    let text = unsafe { CStr::from_ptr(cudaGetErrorString(cudaError(code))) };
                    let more = !text.to_string_lossy().contains(&name);
                    log.fact(&format!("{code}"), format_args!("{name} {more}"));
                }
            }
            Ok(())
        });
    }
}

pub(super) fn add(cases: &mut Cases) {
    attributes(cases);
    limits(cases);
    flags(cases);
    bus(cases);
    launches(cases);
    pools(cases);
    symbols(cases);
    planes(cases);
    errors(cases);
}
