//! CUDA arrays: which can be made, which are refused, and the properties that they report.
#![expect(unsafe_code, reason = "takes arrays apart and compares with what C says")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use cuda_safe::error::{self, Detail};
use cuda_safe::memory::{Array, ArrayBuilder, ArrayElement, ArrayFlags, ArrayKind, Half, UnmappedArray};
use cuda_safe::{Device, PitchedVolume, sys};
use cuda_testing::alone;

/// Returns C's descriptor of these numbers.
fn of_c(x: i32, y: i32, z: i32, w: i32, kind: sys::cudaChannelFormatKind) -> sys::cudaChannelFormatDesc {
    // SAFETY: takes numbers and returns numbers.
    unsafe { sys::cudaCreateChannelDesc(x, y, z, w, kind) }
}

#[test]
fn the_element_type_says_what_the_runtime_is_told() {
    let _alone = alone();
    assert_eq!(u8::descriptor(), of_c(8, 0, 0, 0, sys::cudaChannelFormatKindUnsigned));
    assert_eq!(<[i16; 2]>::descriptor(), of_c(16, 16, 0, 0, sys::cudaChannelFormatKindSigned));
    assert_eq!(<[Half; 4]>::descriptor(), of_c(16, 16, 16, 16, sys::cudaChannelFormatKindFloat));
    let array = Array::<[f32; 4]>::alloc_1d(7).unwrap();
    assert_eq!(array.descriptor().unwrap(), of_c(32, 32, 32, 32, sys::cudaChannelFormatKindFloat));
    assert_eq!(array.info().unwrap().descriptor, <[f32; 4]>::descriptor());
    assert_eq!(array.extent(), [7, 1, 1]);
}

#[test]
fn every_kind_of_array_is_what_was_asked_for() {
    let _alone = alone();
    let kinds = [
        (ArrayBuilder::line(10), ArrayKind::Line, [10, 1, 1]),
        (ArrayBuilder::plane(10, 20), ArrayKind::Plane, [10, 20, 1]),
        (ArrayBuilder::volume(10, 20, 5), ArrayKind::Volume, [10, 20, 5]),
        (ArrayBuilder::line(10).layers(4), ArrayKind::LayeredLine, [10, 1, 4]),
        (ArrayBuilder::plane(10, 20).layers(4), ArrayKind::LayeredPlane, [10, 20, 4]),
        (ArrayBuilder::cubemap(8), ArrayKind::Cubemap, [8, 8, 6]),
        (ArrayBuilder::cubemap(8).layers(3), ArrayKind::LayeredCubemap, [8, 8, 18]),
    ];
    for (builder, kind, extent) in kinds {
        let array = builder.surface().alloc::<i32>().unwrap();
        assert_eq!((array.kind(), array.extent()), (kind, extent));
        // The runtime reports the same.
        let info = array.info().unwrap();
        assert_eq!((info.kind, [info.width, info.height, info.depth]), (kind, extent));
        assert_eq!(info.flags, ArrayFlags::SURFACE);
        assert_eq!(info.descriptor, i32::descriptor());
        array.free().unwrap();
    }
    let gather = ArrayBuilder::plane(8, 8).gather().alloc::<f32>().unwrap();
    assert_eq!(gather.info().unwrap().flags, ArrayFlags::GATHER);
    assert_eq!(Array::<u8>::alloc_2d(3, 2).unwrap().kind(), ArrayKind::Plane);
    assert_eq!(Array::<u8>::alloc_3d(3, 2, 2).unwrap().kind(), ArrayKind::Volume);
}

#[test]
fn what_no_array_can_be_is_refused_before_any_call() {
    let _alone = alone();
    for builder in [
        ArrayBuilder::line(0),
        ArrayBuilder::plane(4, 0),
        ArrayBuilder::volume(4, 4, 0),
        ArrayBuilder::plane(4, 4).layers(0),
        ArrayBuilder::cubemap(0),
    ] {
        let error = builder.alloc::<u8>().unwrap_err();
        assert!(
            error.is_refused() && error.detail().as_str().contains("is zero, at least 1 is needed"),
            "{error}"
        );
        assert_eq!(error.call_site().file(), file!());
    }
    let error = ArrayBuilder::plane(usize::MAX / 2, 3).alloc::<u8>().unwrap_err();
    assert!(error.detail().as_str().contains(" and 3 do not fit together"), "{error}");
    let error = ArrayBuilder::cubemap(4).layers(usize::MAX).alloc::<u8>().unwrap_err();
    assert!(error.detail().as_str().contains(" and 6 do not fit together"), "{error}");
    let error = ArrayBuilder::volume(4, 4, 4).layers(2).alloc::<u8>().unwrap_err();
    assert!(error.is_refused() && error.detail().as_str().contains(" is not supported"), "{error}");
}

#[test]
fn what_the_device_cannot_do_is_the_runtimes_error_with_the_bytes() {
    let _alone = alone();
    let most =
        usize::try_from(Device::current().unwrap().properties().unwrap().as_raw().maxTexture1D).unwrap();
    let error = Array::<u8>::alloc_1d(most + 1).unwrap_err();
    assert_eq!((error.code(), error.api()), (sys::cudaErrorInvalidValue, "cudaMallocArray"));
    assert!(error.detail().as_str().ends_with(" bytes of array memory"), "{error}");
    let error = ArrayBuilder::volume(4, 4, 4).gather().alloc::<u8>().unwrap_err();
    assert_eq!((error.code(), error.api()), (sys::cudaErrorInvalidValue, "cudaMalloc3DArray"));
    let _ = error::take_last();
}

#[test]
fn an_array_taken_apart_is_put_together_again_only_as_what_it_is() {
    let _alone = alone();
    let device = Device::current().unwrap();
    let raw = ArrayBuilder::plane(5, 4).layers(3).alloc::<u16>().unwrap().into_raw().unwrap();
    // SAFETY: the array comes from `into_raw`, and no other owner frees it.
    let error = unsafe { Array::<f32>::from_raw(device, raw) }.unwrap_err();
    assert_eq!(error.code(), sys::cudaErrorInvalidChannelDescriptor);
    // SAFETY: the array comes from `into_raw`, and no other owner frees it. The attempt before did not take
    // it over.
    let array = unsafe { Array::<u16>::from_raw(device, raw) }.unwrap();
    assert_eq!((array.kind(), array.extent()), (ArrayKind::LayeredPlane, [5, 4, 3]));
    assert_eq!(array.as_raw(), raw);
    array.free().unwrap();
}

#[test]
fn parts_of_arrays_are_views_and_those_that_do_not_fit_are_refused() {
    let _alone = alone();
    let mut array = ArrayBuilder::volume(10, 8, 6).alloc::<u8>().unwrap();
    let view = array.view().columns(2..7).unwrap().rows(3..).unwrap().layers(..=1).unwrap();
    assert_eq!((view.extent(), view.len()), ([5, 5, 2], 50));
    assert_eq!(view.as_raw(), array.as_raw());
    let error = array.view().rows(3..9).unwrap_err();
    assert_eq!(error.detail(), &Detail::out_of_range(3, 9, 8));
    assert!(array.view().layers(5..8).is_err());
    assert!(array.view().columns(4..4).unwrap().is_empty());
    let (front, back) = array.view_mut().split_at_layer_mut(2).unwrap();
    assert_eq!((front.extent()[2], back.extent()[2]), (2, 4));
    let (above, below) = array.view_mut().split_at_row_mut(8).unwrap();
    assert_eq!((above.extent()[1], below.extent()[1]), (8, 0));
    assert!(array.view_mut().split_at_row_mut(9).is_err());
    let (left, right) = array.view_mut().split_at_column_mut(3).unwrap();
    assert_eq!((left.extent()[0], right.extent()[0]), (3, 7));
    assert!(array.view_mut().split_at_column_mut(11).is_err());
}

#[test]
fn levels_are_half_as_large_each_and_layers_stay() {
    let _alone = alone();
    let mut image = ArrayBuilder::plane(20, 9).layers(3).mipmapped::<f32>(4).unwrap();
    assert_eq!((image.levels(), image.info(0).unwrap().kind), (4, ArrayKind::LayeredPlane));
    for (level, (width, height)) in [(20, 9), (10, 4), (5, 2), (2, 1)].into_iter().enumerate() {
        let view = image.level(level).unwrap();
        assert_eq!(view.extent(), [width, height, 3]);
        let info = image.info(level).unwrap();
        assert_eq!((info.width, info.height, info.depth), (width, height, 3));
    }
    let error = image.level(4).unwrap_err();
    assert_eq!(error.detail(), &Detail::out_of_range(4, 5, 4));
    assert!(image.level_mut(4).is_err());
    let views: Vec<_> = image.levels_mut().collect();
    assert!(views.windows(2).all(|pair| pair[0].as_raw() != pair[1].as_raw()));
    let error = ArrayBuilder::plane(20, 9).mipmapped::<f32>(6).unwrap_err();
    assert!(error.detail().as_str().contains("is 6, at most 5 is"), "{error}");
    assert!(ArrayBuilder::plane(20, 9).mipmapped::<f32>(0).is_err());
    image.free().unwrap();
}

#[test]
fn an_image_of_two_planes_has_both() {
    let _alone = alone();
    let mut image = ArrayBuilder::plane(16, 8).nv12().unwrap();
    assert_eq!(image.luma().extent(), [16, 8, 1]);
    assert_eq!(image.chroma().extent(), [8, 4, 1]);
    let (luma, chroma) = image.planes_mut();
    assert_ne!(luma.as_raw(), chroma.as_raw());
    let odd = ArrayBuilder::plane(16, 7).nv12().unwrap_err();
    assert_eq!(odd.detail().as_str(), "7 bytes are not a whole number of elements of 2 bytes");
    assert!(ArrayBuilder::volume(16, 8, 4).nv12().unwrap_err().is_refused());
    image.free().unwrap();
}

#[test]
fn an_array_without_memory_says_how_much_it_needs_or_how_large_its_tiles_are() {
    let _alone = alone();
    let raw = Device::current().unwrap().properties().unwrap();
    let (deferred, sparse) =
        (raw.as_raw().deferredMappingCudaArraySupported, raw.as_raw().sparseCudaArraySupported);
    let plane = ArrayBuilder::plane(1024, 512);
    let needs = |array: cuda_safe::Result<UnmappedArray<f32>>, least: usize| {
        let array = array.unwrap();
        let needed = array.memory_requirements().unwrap();
        assert!(needed.size >= least && needed.alignment.is_power_of_two(), "{needed:?}");
        assert!(array.sparse_properties().unwrap_err().is_refused());
        array.free().unwrap();
    };
    if deferred != 0 {
        needs(plane.deferred(None), 1024 * 512 * 4);
        needs(plane.deferred(Some(3)), (1024 * 512 + 512 * 256 + 256 * 128) * 4);
    } else {
        assert!(plane.deferred::<f32>(None).is_err());
    }
    let tiles = |array: cuda_safe::Result<UnmappedArray<f32>>, mipmapped: bool| {
        let array = array.unwrap();
        let tiles = array.sparse_properties().unwrap();
        assert!(tiles.tile.iter().all(|size| *size > 0), "{tiles:?}");
        assert!(array.memory_requirements().unwrap_err().is_refused());
        assert_eq!((array.as_raw().is_none(), array.as_raw_mipmapped().is_some()), (mipmapped, mipmapped));
        tiles
    };
    if sparse != 0 {
        tiles(plane.sparse(None), false);
        let tiles = tiles(plane.sparse(Some(10)), true);
        assert!(tiles.first_tail_level > 0 && tiles.tail_size > 0, "{tiles:?}");
    } else {
        assert!(plane.sparse::<f32>(None).is_err());
    }
    let _ = error::take_last();
}

#[test]
fn a_refused_size_names_the_line_that_asked_for_it() {
    let _alone = alone();
    let huge = usize::MAX / 2;
    let here = |error: &cuda_safe::Error, line: u32| {
        let call_site = error.call_site();
        assert_eq!((call_site.file(), call_site.line()), (file!(), line), "{error}");
    };
    here(&Array::<f32>::alloc_2d(huge, 3).unwrap_err(), line!());
    here(&ArrayBuilder::cubemap(4).layers(huge).alloc::<f32>().unwrap_err(), line!());
    here(&PitchedVolume::<u8>::alloc(1, huge, 3).unwrap_err(), line!());
    let mut image = ArrayBuilder::plane(8, 8).mipmapped::<u8>(2).unwrap();
    here(&image.level_mut(2).map(drop).unwrap_err(), line!());
}
