//! Textures and surfaces: their sources, the refusals, the properties that they report, and their end.
#![expect(unsafe_code, reason = "stands for launches, which need kernels")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::{Barrier, Mutex};

use cuda_safe::error::{Detail, Error};
use cuda_safe::memory::{Array, ArrayBuilder, ArrayElement, ArrayKind, Half, Plane};
use cuda_safe::stream::AsStream;
use cuda_safe::texture::{
    AddressMode, FilterMode, ReadMode, ResourceView, Surface, Texture, TextureDesc, TextureSource,
};
use cuda_safe::{Device, DeviceBuffer, PitchedBuffer, Result, Stream, memcpy_2d, sys};
use cuda_testing::{Gate, alone, put_nothing};

fn plain() -> TextureDesc {
    TextureDesc::default()
}

fn make<T: ArrayElement>(source: &impl TextureSource<Element = T>) -> Result<Texture<T>> {
    Texture::new(source, &plain())
}

#[track_caller]
fn is_refused<T>(made: Result<T>) -> Error {
    let error = made.err().unwrap();
    assert!(error.is_refused(), "{error}");
    assert_eq!(error.call_site().file(), file!());
    error
}

#[test]
fn a_texture_says_what_it_was_made_of_and_how_it_is_read() {
    let _alone = alone();
    let image = Array::<[u8; 4]>::alloc_2d(16, 8).unwrap();
    let desc = TextureDesc {
        address_mode: [AddressMode::Wrap, AddressMode::Mirror, AddressMode::Border],
        filter_mode: FilterMode::Linear,
        read_mode: ReadMode::NormalizedFloat,
        border_color: [0.25, 0.5, 0.75, 1.0],
        normalized_coords: true,
        ..plain()
    };
    let texture = Texture::new(&image, &desc).unwrap();
    assert_eq!((texture.kind(), texture.extent()), (Some(ArrayKind::Plane), [16, 8, 1]));
    assert_eq!(texture.desc(), &desc);
    let resource = texture.resource_desc().unwrap();
    assert_eq!(resource.resType, sys::cudaResourceTypeArray);
    // SAFETY: the type selects the member that is set.
    assert_eq!(unsafe { resource.res.array.array }, image.as_raw());
    let found = texture.texture_desc().unwrap();
    let modes = [sys::cudaAddressModeWrap, sys::cudaAddressModeMirror, sys::cudaAddressModeBorder];
    assert_eq!(found.addressMode, modes);
    assert_eq!(found.filterMode, sys::cudaFilterModeLinear);
    assert_eq!(found.readMode, sys::cudaReadModeNormalizedFloat);
    // The colour is the crate's own: the runtime writes meaningless bytes there.
    assert_eq!((found.normalizedCoords, found.borderColor), (1, [0.25, 0.5, 0.75, 1.0]));
    assert!(texture.resource_view_desc().unwrap().is_none());
    texture.destroy().unwrap();
}

#[test]
fn textures_are_made_of_every_kind_of_memory() {
    let _alone = alone();
    for builder in [
        ArrayBuilder::line(32),
        ArrayBuilder::plane(32, 16),
        ArrayBuilder::volume(32, 16, 4),
        ArrayBuilder::line(32).layers(3),
        ArrayBuilder::plane(32, 16).layers(3),
        ArrayBuilder::cubemap(16),
        ArrayBuilder::cubemap(16).layers(2),
    ] {
        let array = builder.alloc::<f32>().unwrap();
        let texture = make(&array).unwrap();
        assert_eq!(texture.kind(), Some(array.kind()));
        assert_eq!(texture.extent(), array.extent());
    }
    let levels = ArrayBuilder::plane(32, 16).mipmapped::<[Half; 2]>(3).unwrap();
    let mipmapped = TextureDesc { normalized_coords: true, max_mipmap_level_clamp: 2.0, ..plain() };
    let texture = Texture::new(&levels, &mipmapped).unwrap();
    assert_eq!(texture.resource_desc().unwrap().resType, sys::cudaResourceTypeMipmappedArray);
    assert_eq!(make(&levels.level(2).unwrap()).unwrap().extent(), [8, 4, 1]);

    let buffer = DeviceBuffer::<[i16; 2]>::alloc(1000).unwrap();
    let texture = make(&buffer).unwrap();
    assert_eq!((texture.kind(), texture.extent()), (None, [1000, 1, 1]));
    let resource = texture.resource_desc().unwrap();
    assert_eq!(resource.resType, sys::cudaResourceTypeLinear);
    // SAFETY: the type selects the member that is set.
    assert_eq!(unsafe { resource.res.linear.sizeInBytes }, 4000);
    assert_eq!(make(&buffer.slice(128..).unwrap()).unwrap().extent(), [872, 1, 1]);
    let rows = PitchedBuffer::<u8>::alloc(100, 7).unwrap();
    let texture = make(&rows).unwrap();
    assert_eq!((texture.kind(), texture.extent()), (Some(ArrayKind::Plane), [100, 7, 1]));
    let resource = texture.resource_desc().unwrap();
    // SAFETY: a texture of rows with a pitch.
    assert_eq!(unsafe { resource.res.pitch2D.pitchInBytes }, rows.pitch());
    assert_eq!(make(&rows.plane().rows(..3).unwrap()).unwrap().extent(), [100, 3, 1]);
}

#[test]
fn what_no_texture_can_do_is_refused_with_what_to_do_instead() {
    let _alone = alone();
    let integers = Array::<u32>::alloc_2d(8, 8).unwrap();
    let linear = TextureDesc { filter_mode: FilterMode::Linear, ..plain() };
    let error = is_refused(Texture::new(&integers, &linear));
    assert_eq!(error.code(), sys::cudaErrorInvalidValue);
    assert!(error.to_string().contains("filter with FilterMode::Point"), "{error}");
    let wrap = TextureDesc { address_mode: [AddressMode::Wrap; 3], ..plain() };
    let error = is_refused(Texture::new(&integers, &wrap));
    assert!(error.to_string().contains("set normalized_coords"), "{error}");
    is_refused(Texture::new(&integers, &TextureDesc { read_mode: ReadMode::NormalizedFloat, ..plain() }));
    is_refused(Texture::new(&integers, &TextureDesc { srgb: true, ..plain() }));
    is_refused(Texture::new(&integers, &TextureDesc { max_mipmap_level_clamp: 1.0, ..plain() }));
    let error = is_refused(Texture::new(&integers, &TextureDesc { max_anisotropy: 32, ..plain() }));
    assert!(error.detail().as_str().contains("is 32, at most 16 is"), "{error}");
    let levels = ArrayBuilder::plane(8, 8).mipmapped::<f32>(2).unwrap();
    is_refused(make(&levels));
    is_refused(make(&integers.view().rows(1..).unwrap()));
}

#[test]
fn linear_memory_that_texture_units_cannot_reach_is_refused_by_its_numbers() {
    let _alone = alone();
    let device = Device::current().unwrap();
    let align = device.attribute(sys::cudaDevAttrTextureAlignment).unwrap();
    let buffer = DeviceBuffer::<f32>::alloc(1000).unwrap();
    let error = is_refused(make(&buffer.slice(1..).unwrap()));
    let expected = usize::try_from(align).unwrap();
    assert!(error.detail().as_str().ends_with(&format!(" is not aligned to {expected} bytes")), "{error}");
    let error = is_refused(make(&DeviceBuffer::<f32>::alloc(0).unwrap()));
    assert!(error.detail().as_str().contains("is zero, at least 1 is needed"), "{error}");
    // Packed rows, with a pitch that texture units do not support.
    let error = is_refused(make(&buffer.plane(25, 40).unwrap()));
    let detail = "a pitch of 100 bytes does not do for rows of 100 bytes whose elements are aligned to 32";
    assert_eq!(error.detail().as_str(), detail);
    let linear = TextureDesc { filter_mode: FilterMode::Linear, ..plain() };
    is_refused(Texture::new(&buffer, &linear));
    assert!(Texture::new(&buffer.plane(8, 125).unwrap(), &linear).is_ok());
    // A plane of more rows than supported, with no more memory than that takes.
    let most = usize::try_from(device.attribute(sys::cudaDevAttrMaxTexture2DLinearHeight).unwrap()).unwrap();
    let tall = DeviceBuffer::<u8>::alloc(32 * (most + 1)).unwrap();
    let error = is_refused(make(&tall.plane(32, most + 1).unwrap()));
    assert!(error.detail().as_str().contains(" is possible"), "{error}");
}

#[test]
fn a_view_is_of_layers_and_levels_that_there_are() {
    let _alone = alone();
    let layers = ArrayBuilder::plane(16, 8).layers(5).alloc::<u16>().unwrap();
    let view = ResourceView { first_layer: 1, last_layer: 3, ..ResourceView::default() };
    let texture = Texture::with_view(&layers, &plain(), &view).unwrap();
    let found = texture.resource_view_desc().unwrap().unwrap();
    assert_eq!(found.format, sys::cudaResViewFormatUnsignedShort1);
    assert_eq!((found.width, found.height, found.firstLayer, found.lastLayer), (16, 8, 1, 3));
    // The runtime requires the number of all layers.
    assert_eq!(found.depth, 5);
    let lines = ArrayBuilder::line(16).layers(4).alloc::<f32>().unwrap();
    let texture = Texture::with_view(&lines, &plain(), &view).unwrap();
    let found = texture.resource_view_desc().unwrap().unwrap();
    assert_eq!((found.width, found.height, found.depth), (16, 0, 4));
    let beyond = ResourceView { last_layer: 5, ..ResourceView::default() };
    let error = is_refused(Texture::with_view(&layers, &plain(), &beyond));
    assert!(error.detail().as_str().contains("range 0..6 does not fit in 5"), "{error}");
    let levels = ResourceView { last_mipmap_level: 1, ..ResourceView::default() };
    is_refused(Texture::with_view(&layers, &plain(), &levels));
    let row = DeviceBuffer::<u16>::alloc(8).unwrap();
    is_refused(Texture::with_view(&row, &plain(), &ResourceView::default()));
}

#[test]
fn surfaces_are_made_of_arrays_that_were_made_for_them() {
    let _alone = alone();
    let image = ArrayBuilder::plane(16, 8).surface().alloc::<[u8; 4]>().unwrap();
    let surface = Surface::new(&image).unwrap();
    assert_eq!((surface.kind(), surface.extent()), (ArrayKind::Plane, [16, 8, 1]));
    let resource = surface.resource_desc().unwrap();
    assert_eq!(resource.resType, sys::cudaResourceTypeArray);
    // SAFETY: the type selects the member that is set.
    assert_eq!(unsafe { resource.res.array.array }, image.as_raw());
    assert!(surface.access().overlaps(&image.view().access()));
    surface.destroy().unwrap();
    let error = is_refused(Surface::new(&Array::<f32>::alloc_2d(8, 8).unwrap()));
    assert!(error.to_string().contains("ArrayBuilder::surface"), "{error}");
    is_refused(Surface::new(&DeviceBuffer::<f32>::alloc(64).unwrap()));
    is_refused(Surface::new(&PitchedBuffer::<f32>::alloc(8, 8).unwrap()));
    let levels = ArrayBuilder::plane(8, 8).surface().mipmapped::<f32>(2).unwrap();
    is_refused(Surface::new(&levels));
    assert_eq!(Surface::new(&levels.level(1).unwrap()).unwrap().extent(), [4, 4, 1]);
    is_refused(Surface::new(&image.view().columns(..8).unwrap()));
}

#[test]
fn a_texture_keeps_its_memory_and_knows_whose_it_is() {
    let _alone = alone();
    let mut image = ArrayBuilder::plane(64, 64).surface().alloc::<f32>().unwrap();
    let (texture, mut surface) = (make(&image).unwrap(), Surface::new(&image).unwrap());
    let other = Array::<f32>::alloc_2d(64, 64).unwrap();
    assert!(
        texture.access().overlaps(&image.view().access()) && texture.access().overlaps(&surface.access_mut())
    );
    assert!(!texture.access().overlaps(&other.view().access()));
    // The owner continues to write.
    memcpy_2d(&mut image, &Plane::from_slice(&[1.5_f32; 4096], 64, 64).unwrap()).unwrap();
    assert_eq!(image.to_vec().unwrap(), [1.5; 4096]);
    let buffer = DeviceBuffer::<f32>::alloc(1024).unwrap();
    let part = make(&buffer.slice(512..).unwrap()).unwrap();
    assert!(!part.access().overlaps(&buffer.slice(..512).unwrap().access()));
    assert!(part.access().overlaps(&buffer.slice(..513).unwrap().access()));
    // Memory that a texture retains can be neither given up nor freed by its owner.
    let (error, buffer) = buffer.into_raw().unwrap_err().into_parts();
    assert_eq!(error.detail(), &Detail::IN_GRAPH);
    drop(buffer);
    image.free().unwrap();
    assert_eq!(texture.resource_desc().unwrap().resType, sys::cudaResourceTypeArray);
}

/// Submits the accesses of a launch with the texture.
fn use_of(texture: &Texture<f32>, stream: &Stream) {
    // SAFETY: the operation accesses no memory.
    unsafe { stream.as_stream().enqueue(&[texture.access(), texture.alive()], put_nothing) }.unwrap();
}

#[test]
fn an_object_is_destroyed_after_the_work_that_uses_it() {
    let alone = alone();
    let stream = Stream::new().unwrap();
    let image = Array::<f32>::alloc_2d(8, 8).unwrap();
    let texture = make(&image).unwrap();
    let gate = Gate::on(&alone, &stream);
    use_of(&texture, &stream);
    let began = Barrier::new(2);
    std::thread::scope(|threads| {
        let waiting = threads.spawn(|| {
            began.wait();
            texture.destroy().unwrap();
            stream.is_done().unwrap()
        });
        began.wait();
        gate.open();
        assert!(waiting.join().unwrap(), "destroyed while it was in use");
    });
}

#[test]
fn an_object_that_is_dropped_in_a_host_function_is_destroyed_later() {
    let _alone = alone();
    let stream = Stream::new().unwrap();
    let image = Array::<f32>::alloc_2d(8, 8).unwrap();
    let (first, second) = (make(&image).unwrap(), make(&image).unwrap());
    use_of(&first, &stream);
    static SAID: Mutex<Option<Detail>> = Mutex::new(None);
    stream
        .launch_host_fn(move || {
            drop(first);
            *SAID.lock().unwrap() = second.destroy().err().map(|error| error.detail().clone());
        })
        .unwrap();
    stream.synchronize().unwrap();
    assert_eq!(*SAID.lock().unwrap(), Some(Detail::IN_CALLBACK));
    // Their shares of the memory are released with them.
    image.free().unwrap();
}

#[test]
fn objects_may_be_made_and_destroyed_on_any_thread() {
    let _alone = alone();
    let image = ArrayBuilder::plane(8, 8).surface().alloc::<f32>().unwrap();
    let texture = make(&image).unwrap();
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..50 {
                    assert_eq!(texture.texture_desc().unwrap().normalizedCoords, 0);
                    drop((make(&image).unwrap(), Surface::new(&image).unwrap()));
                }
            });
        }
    });
    std::thread::spawn(move || drop(texture)).join().unwrap();
}
