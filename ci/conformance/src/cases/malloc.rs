//! `cudaMalloc`, `cudaMallocPitch`, `cudaMalloc3D`, arrays, and freeing.

use std::ptr;

use cuda_sys::*;

use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, ask, need};
use crate::memory::{Block, Kind, pattern, stream};

fn linear(cases: &mut Cases) {
    cases.add("cudaMalloc/answer null", |log| {
        ask!(log, cudaMalloc(ptr::null_mut(), 16));
        Ok(())
    });
    cases.add("cudaMalloc/no bytes", |log| {
        let mut start = ptr::without_provenance_mut(16);
        ask!(log, cudaMalloc(&raw mut start, 0));
        log.fact("null", start.is_null());
        Ok(())
    });
    for shift in [44, 50, 60] {
        cases.add(format!("cudaMalloc/two to the power of {shift} bytes"), move |log| {
            let mut start = ptr::null_mut();
            ask!(log, cudaMalloc(&raw mut start, 1 << shift));
            ask!(log, "a small one then", cudaMalloc(&raw mut start, 16));
            Ok(())
        });
    }
    cases.add("cudaMalloc/bytes without end", |log| {
        let mut start = ptr::null_mut();
        ask!(log, cudaMalloc(&raw mut start, usize::MAX));
        Ok(())
    });
    cases.add("cudaMalloc/is aligned to 256 bytes", |log| {
        let mut aligned = 0;
        for bytes in [1, 3, 100, 255, 257, 5000] {
            let mut start = ptr::null_mut();
            need!(log, cudaMalloc(&raw mut start, bytes));
            aligned += usize::from(start.addr() % 256 == 0);
        }
        log.fact("aligned", format_args!("{aligned} of 6"));
        Ok(())
    });
    cases.add("cudaMalloc/is aligned as textures need it, and rows with a pitch", |log| {
        let mut aligned = 0;
        for bytes in [1, 3, 100, 255, 257, 513, 5000] {
            let (mut start, mut rows, mut pitch) = (ptr::null_mut(), ptr::null_mut(), 0);
            need!(log, cudaMalloc(&raw mut start, bytes));
            need!(log, cudaMallocPitch(&raw mut rows, &raw mut pitch, bytes, 3));
            aligned += usize::from(start.addr() % 512 == 0 && rows.addr() % 512 == 0 && pitch % 32 == 0);
        }
        log.fact("aligned", format_args!("{aligned} of 7"));
        Ok(())
    });
    cases.add("cudaFree/null", |log| {
        ask!(log, cudaFree(ptr::null_mut()));
        Ok(())
    });
    cases.add("cudaFree/twice", |log| {
        let block = Block::new(log, Kind::Device, 4096)?;
        ask!(log, cudaFree(block.ptr()));
        ask!(log, cudaFree(block.ptr()));
        Ok(())
    });
    cases.add("cudaFree/the middle of an allocation", |log| {
        let block = Block::new(log, Kind::Device, 4096)?;
        ask!(log, cudaFree(block.at(256)));
        ask!(log, cudaFree(block.ptr()));
        Ok(())
    });
    for kind in [Kind::Pageable, Kind::Pinned, Kind::Registered, Kind::Managed, Kind::Pool] {
        cases.add(format!("cudaFree/{} memory", kind.name()), move |log| {
            need!(log, cudaFree(ptr::null_mut()));
            let block = Block::new(log, kind, 4096)?;
            ask!(log, cudaFree(block.ptr()));
            Ok(())
        });
    }
    cases.two_devices("cudaFree/with another device current", |log| {
        let block = Block::new(log, Kind::Device, 4096)?;
        need!(log, cudaSetDevice(1));
        ask!(log, cudaFree(block.ptr()));
        Ok(())
    });
    cases.alone("cudaFree/memory from before a reset", |log| {
        let block = Block::new(log, Kind::Device, 4096)?;
        ask!(log, cudaDeviceReset());
        ask!(log, cudaFree(block.ptr()));
        Ok(())
    });
    cases.add("cudaFree/from four threads", |log| {
        let mut threads = Vec::new();
        for _ in 0..4 {
            let at = Block::new(log, Kind::Device, 4096)?.ptr().expose_provenance();
            threads.push(std::thread::spawn(move || unsafe {
                cudaFree(ptr::with_exposed_provenance_mut(at)) == cudaSuccess
            }));
        }
        let freed: usize = threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum();
        log.fact("freed", format_args!("{freed} of 4"));
        Ok(())
    });
}

fn asynchronous(cases: &mut Cases) {
    cases.add("cudaMallocAsync/use and free in order", |log| {
        let on = stream(log)?;
        let source = pattern(4096, 1);
        let back = Block::new(log, Kind::Pinned, 4096)?;
        let mut start = ptr::null_mut();
        ask!(log, cudaMallocAsync(&raw mut start, 4096, on));
        ask!(log, cudaMemcpyAsync(start, source.as_ptr().cast(), 4096, cudaMemcpyHostToDevice, on));
        ask!(log, cudaMemcpyAsync(back.ptr(), start, 4096, cudaMemcpyDeviceToHost, on));
        ask!(log, cudaFreeAsync(start, on));
        ask!(log, cudaStreamSynchronize(on));
        back.compare(log, "all bytes", &source)
    });
    cases.add("cudaMallocAsync/answer null", |log| {
        ask!(log, cudaMallocAsync(ptr::null_mut(), 16, ptr::null_mut()));
        Ok(())
    });
    cases.add("cudaMallocAsync/no bytes", |log| {
        let mut start = ptr::without_provenance_mut(16);
        ask!(log, cudaMallocAsync(&raw mut start, 0, ptr::null_mut()));
        Ok(())
    });
    for shift in [44, 60] {
        cases.add(format!("cudaMallocAsync/two to the power of {shift} bytes"), move |log| {
            let mut start = ptr::null_mut();
            ask!(log, cudaMallocAsync(&raw mut start, 1 << shift, ptr::null_mut()));
            Ok(())
        });
    }
    cases.add("cudaFreeAsync/null", |log| {
        need!(log, cudaFree(ptr::null_mut()));
        ask!(log, cudaFreeAsync(ptr::null_mut(), ptr::null_mut()));
        Ok(())
    });
    cases.add("cudaFreeAsync/twice", |log| {
        let block = Block::new(log, Kind::Pool, 4096)?;
        ask!(log, cudaFreeAsync(block.ptr(), ptr::null_mut()));
        ask!(log, cudaFreeAsync(block.ptr(), ptr::null_mut()));
        Ok(())
    });
    cases.add("cudaFreeAsync/memory of cudaMalloc", |log| {
        let block = Block::new(log, Kind::Device, 4096)?;
        ask!(log, cudaFreeAsync(block.ptr(), ptr::null_mut()));
        ask!(log, cudaDeviceSynchronize());
        Ok(())
    });
    cases.alone("cudaFreeAsync/does not wait for the held stream", |log| {
        let on = stream(log)?;
        let block = Block::new(log, Kind::Pool, 4096)?;
        let gate = Gate::hold(log, on)?;
        gate.waits(log, |log| ask!(log, cudaFreeAsync(block.ptr(), on)));
        ask!(log, cudaDeviceSynchronize());
        Ok(())
    });
}

fn pitched(cases: &mut Cases) {
    for (what, width, height) in [
        ("some rows", 100, 20),
        ("no width", 0, 20),
        ("no height", 100, 0),
        ("width without end", usize::MAX, 20),
        ("height without end", 100, usize::MAX),
    ] {
        cases.add(format!("cudaMallocPitch/{what}"), move |log| {
            let (mut start, mut pitch) = (ptr::null_mut(), 0);
            ask!(log, cudaMallocPitch(&raw mut start, &raw mut pitch, width, height));
            log.fact("null", start.is_null());
            log.fact("pitch", pitch);
            Ok(())
        });
    }
    for (what, start_null, pitch_null) in [("start null", true, false), ("pitch null", false, true)] {
        cases.add(format!("cudaMallocPitch/{what}"), move |log| {
            let (mut start, mut pitch) = (ptr::null_mut(), 0);
            let at = if start_null { ptr::null_mut() } else { &raw mut start };
            let by = if pitch_null { ptr::null_mut() } else { &raw mut pitch };
            ask!(log, cudaMallocPitch(at, by, 100, 20));
            Ok(())
        });
    }
    let max = usize::MAX;
    for (what, (w, h, d)) in [
        ("a volume", (100, 20, 5)),
        ("nothing", (0, 0, 0)),
        ("no height and no depth", (1, 0, 0)),
        ("no width and no depth", (0, 1, 0)),
        ("no width and no height", (0, 0, 1)),
        ("width without end", (max, 1, 1)),
        ("height without end", (1, max, 1)),
        ("depth without end", (1, 1, max)),
        ("all without end", (max, max, max)),
    ] {
        cases.add(format!("cudaMalloc3D/{what}"), move |log| {
            let mut at = cudaPitchedPtr::default();
            ask!(log, cudaMalloc3D(&raw mut at, make_cudaExtent(w, h, d)));
            log.fact("null", at.ptr.is_null());
            log.fact("pitch", at.pitch);
            log.fact("sizes", format_args!("{} {}", at.xsize, at.ysize));
            Ok(())
        });
    }
    cases.add("cudaMalloc3D/answer null", |log| {
        ask!(log, cudaMalloc3D(ptr::null_mut(), make_cudaExtent(1, 1, 1)));
        Ok(())
    });
}

/// Bits of x, y, z, w, and their type.
const fn format(bits: [i32; 4], kind: cudaChannelFormatKind) -> cudaChannelFormatDesc {
    cudaChannelFormatDesc { x: bits[0], y: bits[1], z: bits[2], w: bits[3], f: kind }
}

static BYTES: cudaChannelFormatDesc = format([8, 0, 0, 0], cudaChannelFormatKindUnsigned);

/// Notes the description of an array.
fn info(log: &mut Log, array: cudaArray_t) {
    let (mut got, mut extent, mut given) = (cudaChannelFormatDesc::default(), cudaExtent::default(), 0);
    ask!(log, cudaArrayGetInfo(&raw mut got, &raw mut extent, &raw mut given, array));
    log.fact("format", format_args!("{} {} {} {} kind {}", got.x, got.y, got.z, got.w, got.f.0));
    log.fact("extent", format_args!("{} {} {}", extent.width, extent.height, extent.depth));
    log.fact("flags", given);
}

fn arrays(cases: &mut Cases) {
    let float = cudaChannelFormatKindFloat;
    let unsigned = cudaChannelFormatKindUnsigned;
    let signed = cudaChannelFormatKindSigned;
    for (what, desc) in [
        ("bytes", BYTES),
        ("pairs of signed 16 bits", format([16, 16, 0, 0], signed)),
        ("four floats", format([32, 32, 32, 32], float)),
        ("halves", format([16, 0, 0, 0], float)),
        ("three floats", format([32, 32, 32, 0], float)),
        ("floats of 8 bits", format([8, 0, 0, 0], float)),
        ("channels of different sizes", format([8, 16, 0, 0], unsigned)),
        ("no bits", format([0, 0, 0, 0], unsigned)),
        ("10 bits", format([10, 0, 0, 0], unsigned)),
        ("100 bits", format([100, 0, 0, 0], unsigned)),
        ("-1 bits", format([-1, 0, 0, 0], unsigned)),
        ("no such format", format([8, 0, 0, 0], cudaChannelFormatKind(0xff))),
    ] {
        cases.add(format!("cudaMallocArray/{what}"), move |log| {
            let mut array = ptr::null_mut();
            ask!(log, cudaMallocArray(&raw mut array, &raw const desc, 64, 16, 0));
            log.fact("null", array.is_null());
            Ok(())
        });
    }
    // The driver API has a name for the flag: for encoding and decoding video.
    const VIDEO: u32 = 0x100;
    let two_planes = cudaChannelFormatKindNV12;
    for (what, desc, height, flags) in [
        ("two planes", format([8, 8, 8, 0], two_planes), 16, 0),
        ("two planes for video", format([8, 8, 8, 0], two_planes), 16, VIDEO),
        ("two planes for video, odd", format([8, 8, 8, 0], two_planes), 15, VIDEO),
        ("bytes for video", BYTES, 16, VIDEO),
    ] {
        cases.add(format!("cudaMallocArray/{what}"), move |log| {
            let mut array = ptr::null_mut();
            ask!(log, cudaMallocArray(&raw mut array, &raw const desc, 64, height, flags));
            if array.is_null() {
                return Ok(());
            }
            info(log, array);
            for plane in 0..3 {
                let mut part = ptr::null_mut();
                ask!(log, cudaArrayGetPlane(&raw mut part, array, plane));
            }
            ask!(log, cudaFreeArray(array));
            Ok(())
        });
    }
    let gather = cudaArrayTextureGather;
    let layered = cudaArrayLayered;
    let cubemap = cudaArrayCubemap;
    let surface = cudaArraySurfaceLoadStore;
    for (what, width, height, flags) in [
        ("one dimension", 64, 0, 0),
        ("two dimensions", 64, 16, 0),
        ("for surfaces", 64, 16, surface),
        ("for gathering", 64, 16, gather),
        ("for gathering, one dimension", 64, 0, gather),
        ("layered", 64, 0, layered),
        ("a cubemap", 64, 64, cubemap),
        ("no width", 0, 0, 0),
        ("no width, some rows", 0, 32, 0),
        ("without end", usize::MAX, usize::MAX, 0),
    ] {
        cases.add(format!("cudaMallocArray/{what}"), move |log| {
            let mut array = ptr::null_mut();
            ask!(log, cudaMallocArray(&raw mut array, &raw const BYTES, width, height, flags));
            if array.is_null() {
                return Ok(());
            }
            info(log, array);
            ask!(log, cudaFreeArray(array));
            Ok(())
        });
    }
    for (what, (w, h, d), flags) in [
        ("one dimension", (64, 0, 0), 0),
        ("two dimensions", (64, 16, 0), 0),
        ("three dimensions", (64, 16, 8), 0),
        ("layers of one dimension", (64, 0, 5), layered),
        ("layers of two dimensions", (64, 16, 5), layered),
        ("a cubemap", (32, 32, 6), cubemap),
        ("layers of cubemaps", (32, 32, 12), cubemap | layered),
        ("a cubemap that is not square", (32, 16, 6), cubemap),
        ("a cubemap of five faces", (32, 32, 5), cubemap),
        ("no width", (0, 16, 8), 0),
        ("no height, some depth", (64, 0, 8), 0),
        ("for gathering, three dimensions", (64, 16, 8), gather),
        ("wider than textures can be", (1 << 20, 16, 8), 0),
        ("without end", (usize::MAX, usize::MAX, usize::MAX), 0),
        ("unknown flags", (64, 16, 8), 0x8000_0000),
    ] {
        cases.add(format!("cudaMalloc3DArray/{what}"), move |log| {
            let mut array = ptr::null_mut();
            ask!(log, cudaMalloc3DArray(&raw mut array, &raw const BYTES, make_cudaExtent(w, h, d), flags));
            if array.is_null() {
                return Ok(());
            }
            let (mut got, mut extent, mut given) =
                (cudaChannelFormatDesc::default(), cudaExtent::default(), 0);
            ask!(log, cudaArrayGetInfo(&raw mut got, &raw mut extent, &raw mut given, array));
            log.fact("extent", format_args!("{} {} {}", extent.width, extent.height, extent.depth));
            log.fact("flags", given);
            ask!(log, cudaFreeArray(array));
            Ok(())
        });
    }
    cases.add("cudaMallocArray/answer null", |log| {
        ask!(log, cudaMallocArray(ptr::null_mut(), &raw const BYTES, 64, 16, 0));
        ask!(log, cudaMalloc3DArray(ptr::null_mut(), &raw const BYTES, make_cudaExtent(64, 16, 8), 0));
        Ok(())
    });
    cases.add("cudaMallocArray/format null", |log| {
        let mut array = ptr::null_mut();
        ask!(log, cudaMallocArray(&raw mut array, ptr::null(), 64, 16, 0));
        ask!(log, cudaMalloc3DArray(&raw mut array, ptr::null(), make_cudaExtent(64, 16, 8), 0));
        Ok(())
    });
    cases.add("cudaFreeArray/null", |log| {
        ask!(log, cudaFreeArray(ptr::null_mut()));
        Ok(())
    });
    cases.alone("cudaFreeArray/waits for the held legacy stream", |log| {
        let array = super::plane::array(log, 64, 16)?;
        let gate = Gate::hold(log, ptr::null_mut())?;
        gate.waits(log, |log| ask!(log, cudaFreeArray(array)));
        ask!(log, cudaDeviceSynchronize());
        Ok(())
    });
    cases.add("cudaMallocMipmappedArray/levels", |log| {
        let mut chain = ptr::null_mut();
        ask!(
            log,
            cudaMallocMipmappedArray(&raw mut chain, &raw const BYTES, make_cudaExtent(64, 16, 0), 7, 0)
        );
        for number in 0..8 {
            let mut level = ptr::null_mut();
            ask!(log, cudaGetMipmappedArrayLevel(&raw mut level, chain, number));
            if !level.is_null() {
                let (mut got, mut extent, mut given) =
                    (cudaChannelFormatDesc::default(), cudaExtent::default(), 0);
                need!(log, cudaArrayGetInfo(&raw mut got, &raw mut extent, &raw mut given, level));
                log.fact("extent", format_args!("{} {} {}", extent.width, extent.height, extent.depth));
            }
        }
        ask!(log, cudaFreeMipmappedArray(chain));
        Ok(())
    });
    cases.add("cudaMallocMipmappedArray/answer null", |log| {
        ask!(
            log,
            cudaMallocMipmappedArray(ptr::null_mut(), &raw const BYTES, make_cudaExtent(64, 16, 0), 3, 0)
        );
        Ok(())
    });
    cases.add("cudaGetMipmappedArrayLevel/chain null", |log| {
        let mut level = ptr::null_mut();
        ask!(log, cudaGetMipmappedArrayLevel(&raw mut level, ptr::null_mut(), 0));
        Ok(())
    });
    cases.add("cudaFreeMipmappedArray/null", |log| {
        ask!(log, cudaFreeMipmappedArray(ptr::null_mut()));
        Ok(())
    });
}

pub(super) fn add(cases: &mut Cases) {
    linear(cases);
    asynchronous(cases);
    pitched(cases);
    arrays(cases);
}
