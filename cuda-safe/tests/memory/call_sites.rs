//! Each refusal of an argument names the line of its caller: ranges, sizes, types and kinds of memory.
//!
//! `ledger/call_sites.rs` requires that each fallible function is tried here or in one of its other files.
#![expect(unsafe_code, reason = "asks for peer access of a device to itself")]

use cuda_safe::copy::{CopyBatch, Pipeline, memcpy_2d, memcpy_2d_async, memcpy_3d, memcpy_3d_async};
use cuda_safe::device::{DefaultStream, Version, driver_entry_point};
use cuda_safe::memory::{Array, ArrayBuilder, MemoryPool, Plane, PlaneMut, Volume, VolumeMut};
use cuda_safe::texture::{FilterMode, Surface, Texture, TextureDesc};
use cuda_safe::{
    Device, DeviceBuffer, Event, ManagedBuffer, PinnedBuffer, PitchedBuffer, PitchedVolume, Registered,
    Result, Stream, WriteCombinedBuffer, memcpy, memcpy_async,
};
use cuda_testing::{alone, refused};

#[test]
fn each_refusal_of_an_argument_names_the_line_of_its_caller() -> Result<()> {
    let _alone = alone();
    let (mut wrong, mut tried) = (Vec::new(), 0);
    let (device, stream) = (Device::current()?, Stream::non_blocking()?);
    let mut d = DeviceBuffer::<u32>::alloc_zeroed(15)?;
    let mut p = PinnedBuffer::<u32>::alloc(15)?;
    let mut combined = WriteCombinedBuffer::<u32>::alloc(15)?;
    let mut registered = Registered::new(vec![0_u32; 15])?;
    let many = usize::MAX / 2;
    refused! { wrong, tried:
        DeviceBuffer::<u32>::alloc(many);
        DeviceBuffer::<u32>::alloc_zeroed(many);
        DeviceBuffer::<u32>::alloc_on(device, many);
        DeviceBuffer::<u32>::alloc_async(many, &stream);
        DeviceBuffer::<u32>::alloc_from(&MemoryPool::new()?, many, &stream);
        PinnedBuffer::<u32>::alloc(many);
        WriteCombinedBuffer::<u32>::alloc(many);
        ManagedBuffer::<u32>::alloc(many);
        PitchedBuffer::<u32>::alloc(many, 2);
        PitchedVolume::<u32>::alloc(many, 2, 2);
        Array::<u32>::alloc_1d(0);
        Array::<u32>::alloc_2d(1 << 40, 2);
        Array::<u32>::alloc_3d(1 << 40, 2, 2);
        d.slice(16..);
        d.slice_mut(16..);
        d.split_at_mut(16);
        d.chunks(0);
        d.chunks_mut(0);
        d.as_slice().slice(9..16);
        d.as_slice().split_at(16);
        d.as_slice().chunks(0);
        d.as_slice().reinterpret::<u64>();
        d.as_slice_mut().slice(16..);
        d.as_slice_mut().slice_mut(16..);
        d.as_slice_mut().split_at_mut(16);
        d.as_slice_mut().chunks_mut(0);
        d.as_slice_mut().reinterpret_mut::<u64>();
        combined.write()?.copy_from_slice(14, &[1, 2]);
        combined.write()?.set(15, 1);
        combined.as_slice_mut().write()?.set(15, 1);
        d.plane(4, 4);
        d.plane_mut(4, 4);
        d.volume(4, 2, 2);
        d.volume_mut(4, 2, 2);
        d.as_slice().plane_with_pitch(4, 4, 15);
        d.as_slice_mut().plane_mut_with_pitch(4, 4, 15);
        d.as_slice().volume_with_pitch((4, 2, 2), 16, 1);
        d.as_slice_mut().volume_mut_with_pitch((4, 2, 2), 16, 1);
        Plane::from_slice(&[1_u8; 5], 2, 2);
        PlaneMut::from_slice(&mut [1_u8; 5], 2, 2);
        Plane::from_slice_with_pitch(&[1_u8; 5], 4, 2, 2);
        VolumeMut::from_slice_with_pitch(&mut [1_u8; 5], (4, 2, 2), 2, 2);
        Volume::from_slice(&[1_u8; 5], 2, 2, 2);
        d.plane(5, 3)?.rows(4..);
        d.plane(5, 3)?.columns(6..);
        d.plane(5, 3)?.reinterpret::<u64>();
        d.plane(5, 3)?.row(3);
        d.plane_mut(5, 3)?.rows_mut(4..);
        d.plane_mut(5, 3)?.columns_mut(6..);
        d.plane_mut(5, 3)?.reinterpret_mut::<u64>();
        d.plane_mut(5, 3)?.row_mut(3);
        d.plane_mut(5, 3)?.split_at_row_mut(4);
        d.plane_mut(5, 3)?.split_at_column_mut(6);
        d.volume(5, 1, 3)?.layers(4..);
        d.volume(5, 1, 3)?.layer(3);
        d.volume_mut(5, 1, 3)?.layers_mut(4..);
        d.volume_mut(5, 1, 3)?.layer_mut(3);
        d.volume_mut(5, 1, 3)?.split_at_layer_mut(4);
        memcpy(&mut d, &[0; 14]);
        memcpy(&mut registered, &[0; 14]);
        memcpy_async(&mut d, &p.slice(..14)?, &stream);
        memcpy_2d(&mut d.plane_mut(5, 3)?, &p.plane(3, 5)?);
        memcpy_2d_async(&mut d.plane_mut(5, 3)?, &p.plane(3, 5)?, &stream);
        memcpy_3d(&mut d.volume_mut(5, 3, 1)?, &p.volume(3, 5, 1)?);
        memcpy_3d_async(&mut d.volume_mut(5, 3, 1)?, &p.volume(3, 5, 1)?, &stream);
        CopyBatch::new().copy(&mut d, &p.slice(..14)?).enqueue(&stream);
    }
    let (event, other) = (Event::new()?, Event::new()?);
    let mut array = Array::<u32>::alloc_3d(4, 4, 4)?;
    let mut levels = ArrayBuilder::plane(8, 8).mipmapped::<u32>(2)?;
    let linear = TextureDesc { filter_mode: FilterMode::Linear, ..TextureDesc::default() };
    let from_pool = DeviceBuffer::<u32>::alloc_async(4, &stream)?;
    refused! { wrong, tried:
        array.view().columns(5..);
        array.view().rows(5..);
        array.view().layers(5..);
        array.view_mut().columns_mut(5..);
        array.view_mut().rows_mut(5..);
        array.view_mut().layers_mut(5..);
        array.view_mut().split_at_column_mut(5);
        array.view_mut().split_at_row_mut(5);
        array.view_mut().split_at_layer_mut(5);
        levels.level(2);
        levels.level_mut(2);
        Texture::new(&array, &linear);
        Surface::new(&d);
        Device::new(1000);
        device.enable_peer_access(&device);
        event.elapsed_ms(&other);
        from_pool.ipc_handle();
        MemoryPool::new()?.export();
        Pipeline::<u32, u32>::new(0);
        driver_entry_point("cu\0Free", Version { major: 12, minor: 0 }, DefaultStream::Legacy);
        p.slice_mut(..3)?.host_mut().and_then(|_guard| memcpy(&mut d, &[0; 3]));
    }
    // SAFETY: nobody uses the memory of the device through itself.
    refused! { wrong, tried: unsafe { device.disable_peer_access(&device) }; }
    println!("{tried} refusals");
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(tried > 80);
    Ok(())
}
