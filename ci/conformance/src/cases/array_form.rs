//! Arrays of every form, their planes and levels, and textures and surfaces of them.

use std::ptr;

use cuda_sys::*;

use crate::case::Cases;
use crate::log::{Log, Setup, ask, need};
use crate::memory::pattern;

fn format(bits: [i32; 4], kind: cudaChannelFormatKind) -> cudaChannelFormatDesc {
    cudaChannelFormatDesc { x: bits[0], y: bits[1], z: bits[2], w: bits[3], f: kind }
}

/// An array of floats.
fn floats(log: &mut Log, width: usize, height: usize, flags: u32) -> Result<cudaArray_t, Setup> {
    let (mut array, it) = (ptr::null_mut(), format([32, 0, 0, 0], cudaChannelFormatKindFloat));
    need!(log, cudaMallocArray(&raw mut array, &raw const it, width, height, flags));
    Ok(array)
}

pub(super) fn add(cases: &mut Cases) {
    cases.add("cudaArrayGetInfo/of arrays of every form", |log| {
        let float = format([32, 0, 0, 0], cudaChannelFormatKindFloat);
        for (what, [width, height, depth], flags) in [
            ("a row", [16, 0, 0], 0),
            ("a plane", [16, 8, 0], 2),
            ("a volume", [16, 8, 4], 0),
            ("layers of rows", [16, 0, 4], 1),
            ("layers", [16, 8, 4], 3),
            ("a cube", [16, 16, 6], 4),
        ] {
            let (mut array, extent) = (ptr::null_mut(), cudaExtent { width, height, depth });
            need!(log, cudaMalloc3DArray(&raw mut array, &raw const float, extent, flags));
            let (mut form, mut size, mut given) = (format([7; 4], float.f), extent, 77);
            ask!(log, what, cudaArrayGetInfo(&raw mut form, &raw mut size, &raw mut given, array));
            log.fact("size, flags", format_args!("{} {} {} {given}", size.width, size.height, size.depth));
            let mut desc = float;
            desc.x = 0;
            ask!(log, cudaGetChannelDesc(&raw mut desc, array));
            log.fact("format", format_args!("{} {} {}", desc.x, desc.w, desc.f.0));
            let mut plane = ptr::null_mut();
            ask!(log, "plane 0", cudaArrayGetPlane(&raw mut plane, array, 0));
        }
        let array = floats(log, 16, 8, 0)?;
        let mut desc = float;
        let (none, no_size, no_flags) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        ask!(log, "all null", cudaArrayGetInfo(none, no_size, no_flags, array));
        ask!(log, "no array", cudaArrayGetInfo(&raw mut desc, no_size, no_flags, ptr::null_mut()));
        ask!(log, "no array", cudaGetChannelDesc(&raw mut desc, ptr::null()));
        ask!(log, "to null", cudaGetChannelDesc(ptr::null_mut(), array));
        Ok(())
    });
    cases.add("cudaArrayGetPlane/of formats for video, and beyond", |log| {
        let video = format([8, 8, 8, 0], cudaChannelFormatKindNV12);
        let mut array = ptr::null_mut();
        ask!(log, cudaMallocArray(&raw mut array, &raw const video, 64, 32, 0));
        for number in 0..3 {
            let mut plane = ptr::null_mut();
            ask!(log, "plane", cudaArrayGetPlane(&raw mut plane, array, number));
            if plane.is_null() {
                continue;
            }
            let mut form = video;
            let (mut size, mut flags) = (cudaExtent { width: 0, height: 0, depth: 0 }, 77);
            ask!(log, cudaArrayGetInfo(&raw mut form, &raw mut size, &raw mut flags, plane));
            log.fact("size", format_args!("{} {} {}", size.width, size.height, size.depth));
            log.fact("format", format_args!("{} {} {} {}", form.x, form.y, form.z, form.f.0));
        }
        let mut plane = ptr::null_mut();
        ask!(log, "of null", cudaArrayGetPlane(&raw mut plane, ptr::null_mut(), 0));
        ask!(log, "to null", cudaArrayGetPlane(ptr::null_mut(), array, 0));
        Ok(())
    });
    cases.add("cudaMalloc3DArray/sparse, deferred, and what asks for their properties", |log| {
        let float = format([32, 0, 0, 0], cudaChannelFormatKindFloat);
        let extent = cudaExtent { width: 256, height: 256, depth: 0 };
        let mut made = ptr::null_mut();
        for (what, flags) in [("sparse", 0x40), ("deferred", 0x80), ("both", 0xc0), ("for colours", 0x20)] {
            ask!(log, what, cudaMalloc3DArray(&raw mut made, &raw const float, extent, flags));
            ask!(log, cudaGetLastError());
        }
        let array = floats(log, 16, 8, 0)?;
        let mut sparse = cudaArraySparseProperties::default();
        ask!(log, "of a plain one", cudaArrayGetSparseProperties(&raw mut sparse, array));
        let mut needs = cudaArrayMemoryRequirements::default();
        ask!(log, "of a plain one", cudaArrayGetMemoryRequirements(&raw mut needs, array, 0));
        ask!(log, "device 100", cudaArrayGetMemoryRequirements(&raw mut needs, array, 100));
        ask!(log, "to null", cudaArrayGetSparseProperties(ptr::null_mut(), array));
        Ok(())
    });
    cases.add("cudaMallocMipmappedArray/levels beyond the last, of what has none", |log| {
        let float = format([32, 0, 0, 0], cudaChannelFormatKindFloat);
        for (what, [width, height, depth], levels, flags) in [
            ("one level", [16, 8, 0], 1, 0),
            ("all levels", [16, 8, 0], 5, 0),
            ("one too many", [16, 8, 0], 6, 0),
            ("none", [16, 8, 0], 0, 0),
            ("a volume", [16, 8, 4], 3, 0),
            ("layers", [16, 8, 3], 4, 1),
            ("a cube", [8, 8, 6], 4, 4),
        ] {
            let (mut chain, extent) = (ptr::null_mut(), cudaExtent { width, height, depth });
            ask!(
                log,
                what,
                cudaMallocMipmappedArray(&raw mut chain, &raw const float, extent, levels, flags)
            );
            if chain.is_null() {
                continue;
            }
            for level in [0, 1, levels, 100] {
                let (mut array, mut form) = (ptr::null_mut(), float);
                ask!(
                    log,
                    &format!("level {level}"),
                    cudaGetMipmappedArrayLevel(&raw mut array, chain, level)
                );
                if array.is_null() {
                    continue;
                }
                let (mut size, mut given) = (extent, 77);
                ask!(log, cudaArrayGetInfo(&raw mut form, &raw mut size, &raw mut given, array));
                log.fact(
                    "size, flags",
                    format_args!("{} {} {} {given}", size.width, size.height, size.depth),
                );
            }
            ask!(log, cudaFreeMipmappedArray(chain));
        }
        Ok(())
    });
    cases.add("cudaMemcpy2DArrayToArray/parts, overlaps, and arrays that do not fit", |log| {
        let (a, b, small) = (floats(log, 16, 8, 0)?, floats(log, 16, 8, 0)?, floats(log, 4, 4, 0)?);
        let (host, none) = (pattern(512, 4), [0_u8; 512]);
        need!(log, cudaMemcpy2DToArray(b, 0, 0, none.as_ptr().cast(), 64, 64, 8, cudaMemcpyHostToDevice));
        need!(log, cudaMemcpy2DToArray(a, 0, 0, host.as_ptr().cast(), 64, 64, 8, cudaMemcpyHostToDevice));
        need!(log, cudaDeviceSynchronize());
        let way = cudaMemcpyDeviceToDevice;
        ask!(log, "a part", cudaMemcpy2DArrayToArray(b, 8, 1, a, 4, 2, 16, 3, way));
        ask!(log, "on itself", cudaMemcpy2DArrayToArray(a, 4, 0, a, 0, 0, 16, 3, way));
        ask!(log, "too wide", cudaMemcpy2DArrayToArray(small, 0, 0, a, 0, 0, 32, 3, way));
        ask!(log, "to the host", cudaMemcpy2DArrayToArray(b, 0, 0, a, 0, 0, 16, 3, cudaMemcpyHostToDevice));
        ask!(log, "null", cudaMemcpy2DArrayToArray(ptr::null_mut(), 0, 0, a, 0, 0, 16, 3, way));
        let mut got = vec![0_u8; 512];
        let to = got.as_mut_ptr().cast();
        ask!(log, cudaMemcpy2DFromArray(to, 64, b, 0, 0, 64, 8, cudaMemcpyDeviceToHost));
        ask!(log, cudaDeviceSynchronize());
        let mut sum = 0_u32;
        for (at, byte) in got.iter().enumerate() {
            sum = sum.wrapping_add(u32::from(*byte) * (at as u32 + 1));
        }
        log.fact("sum", sum);
        Ok(())
    });
    cases.alone("cudaFreeArray/twice, of a level, of a texture in use", |log| {
        let array = floats(log, 16, 8, 0)?;
        let (mut resource, how) = (cudaResourceDesc::default(), cudaTextureDesc::default());
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = array;
        let mut texture = 0;
        need!(
            log,
            cudaCreateTextureObject(&raw mut texture, &raw const resource, &raw const how, ptr::null())
        );
        ask!(log, "in use", cudaFreeArray(array));
        let mut back = cudaResourceDesc::default();
        ask!(log, cudaGetTextureObjectResourceDesc(&raw mut back, texture));
        ask!(log, cudaDestroyTextureObject(texture));
        ask!(log, "twice", cudaDestroyTextureObject(texture));
        Ok(())
    });
    cases.alone("cudaCreateSurfaceObject/of flags, told, destroyed twice", |log| {
        let (plain, array) = (floats(log, 16, 8, 0)?, floats(log, 16, 8, cudaArraySurfaceLoadStore)?);
        let (mut it, mut surface) = (cudaResourceDesc::default(), 0);
        it.resType = cudaResourceTypeArray;
        it.res.array.array = plain;
        ask!(log, "not for surfaces", cudaCreateSurfaceObject(&raw mut surface, &raw const it));
        it.res.array.array = array;
        ask!(log, cudaCreateSurfaceObject(&raw mut surface, &raw const it));
        let mut back = cudaResourceDesc::default();
        ask!(log, cudaGetSurfaceObjectResourceDesc(&raw mut back, surface));
        // SAFETY: all bytes are there.
        log.fact("its array", unsafe { back.res.array.array } == array);
        ask!(log, "to null", cudaGetSurfaceObjectResourceDesc(ptr::null_mut(), surface));
        it.resType = cudaResourceTypeLinear;
        let mut other = 0;
        ask!(log, "linear", cudaCreateSurfaceObject(&raw mut other, &raw const it));
        ask!(log, cudaDestroySurfaceObject(surface));
        ask!(log, "null", cudaCreateSurfaceObject(ptr::null_mut(), &raw const it));
        ask!(log, "none", cudaDestroySurfaceObject(0));
        Ok(())
    });
    cases.add("cudaCreateChannelDesc/of numbers that make no format", |log| {
        // SAFETY: takes numbers.
        let it = unsafe { cudaCreateChannelDesc(8, -1, 300, 0, cudaChannelFormatKindSigned) };
        log.fact("is", format_args!("{} {} {} {} {}", it.x, it.y, it.z, it.w, it.f.0));
        Ok(())
    });
}
