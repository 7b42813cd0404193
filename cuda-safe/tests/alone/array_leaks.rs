//! CUDA arrays, and the memory that textures and surfaces retain of them, are freed on their device.
//!
//! Alone: it watches the free memory of the whole device.
//! Not under sanitizers: it compares the free memory before and after.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use cuda_safe::Device;
use cuda_safe::memory::ArrayBuilder;
use cuda_safe::stream::Stream;
use cuda_safe::texture::{Surface, Texture, TextureDesc};
use cuda_testing::own_process;

#[test]
fn an_array_is_freed_on_its_device_whichever_is_current_and_from_any_thread() {
    own_process!();
    let (first, last) = (Device::current().unwrap(), Device::all().unwrap().next_back().unwrap());
    // Large enough that the runtime returns it at once.
    let free = || last.memory_info().unwrap().free;
    let make = || ArrayBuilder::plane(4096, 4096).device(last).alloc::<[u8; 4]>().unwrap();
    drop(make());
    let before = free();
    let array = make();
    assert_eq!(array.device(), last);
    assert!(free() < before);
    std::thread::spawn(move || drop(array)).join().unwrap();
    assert_eq!(free(), before);
    let image = ArrayBuilder::plane(4096, 4096).device(last).mipmapped::<[u8; 4]>(4).unwrap();
    assert!(free() < before);
    drop(image);
    assert_eq!(free(), before);
    assert_eq!(Device::current().unwrap(), first);
}

#[test]
fn an_array_dropped_in_a_host_function_is_freed_later() {
    own_process!();
    let stream = Stream::non_blocking().unwrap();
    let make = || ArrayBuilder::plane(4096, 4096).alloc::<[u8; 4]>().unwrap();
    drop(make());
    let before = Device::current().unwrap().memory_info().unwrap().free;
    let array = make();
    stream.launch_host_fn(move || drop(array)).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(Device::current().unwrap().memory_info().unwrap().free, before);
}

#[test]
fn textures_and_surfaces_that_come_and_go_leave_no_memory_behind() {
    own_process!();
    let device = Device::current().unwrap();
    let run = || {
        for _ in 0..4 {
            let image = ArrayBuilder::plane(2048, 2048).surface().alloc::<[f32; 4]>().unwrap();
            let texture = Texture::new(&image, &TextureDesc::default()).unwrap();
            let surface = Surface::new(&image).unwrap();
            drop(image);
            drop((texture, surface));
        }
        device.synchronize().unwrap();
        device.memory_info().unwrap().free
    };
    let before = run();
    assert!(run() >= before);
}
