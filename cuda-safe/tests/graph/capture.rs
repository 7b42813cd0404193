//! Memory that is dropped and allocated while a thread captures by raw calls neither becomes part of the
//! graph nor invalidates the capture.
#![expect(unsafe_code, reason = "captures with raw calls")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use std::sync::mpsc::channel;

use cuda_safe::memory::ArrayBuilder;
use cuda_safe::texture::{Surface, Texture, TextureDesc};
use cuda_safe::{DeviceBuffer, Event, PinnedBuffer, Stream, check, memset_async, sys};
use cuda_testing::{Gate, alone};

/// Captures one fill of a buffer while `here` runs on the same thread and `elsewhere` on another.
fn capture(mode: sys::cudaStreamCaptureMode, here: impl FnOnce(), elsewhere: impl FnOnce() + Send) {
    let stream = Stream::non_blocking().unwrap();
    let mut target = DeviceBuffer::<u8>::alloc(64).unwrap();
    let (raw, address) = (stream.as_raw(), target.as_mut_ptr());
    // SAFETY: the stream is live, and the captured work is never run.
    unsafe { check!(cudaStreamBeginCapture(raw, mode)) }.unwrap();
    let fill = || {
        // SAFETY: the buffer has this many bytes, and outlives the graph or the fill.
        unsafe { check!(cudaMemsetAsync(address.cast(), 3, 64, raw)) }.unwrap();
    };
    fill();
    let (tell, told) = channel();
    std::thread::scope(|threads| {
        threads.spawn(move || {
            elsewhere();
            tell.send(()).unwrap();
        });
        here();
        told.recv().unwrap();
    });
    fill();
    let mut graph = std::ptr::null_mut();
    // SAFETY: the stream is live, and the pointer is to a variable, which the call fills.
    let ended = unsafe { check!(cudaStreamEndCapture(raw, &raw mut graph)) };
    ended.expect("nothing has invalidated the capture");
    let mut nodes = 0;
    // SAFETY: the graph was just made. With a null array the call only counts the nodes.
    unsafe { check!(cudaGraphGetNodes(graph, std::ptr::null_mut(), &raw mut nodes)) }.unwrap();
    assert_eq!(nodes, 2, "the two fills, and nothing that was freed or allocated meanwhile");
    // SAFETY: the graph has no other owner.
    unsafe { check!(cudaGraphDestroy(graph)) }.unwrap();
    stream.synchronize().unwrap();
}

#[test]
fn a_thread_that_waits_and_asks_leaves_the_captures_of_others_as_they_are() {
    let _alone = alone();
    let (stream, event) = (Stream::non_blocking().unwrap(), Event::without_timing().unwrap());
    event.record(&stream).unwrap();
    let mut pinned = PinnedBuffer::<u8>::alloc(64).unwrap();
    memset_async(&mut pinned, 1, &stream).unwrap();
    // Each on a thread of its own, which has made no other call.
    let calls: [&(dyn Fn() + Sync); 5] = [
        &|| assert_eq!(pinned.host().unwrap()[0], 1),
        &|| stream.synchronize().unwrap(),
        &|| assert!(stream.is_done().unwrap()),
        &|| event.synchronize().unwrap(),
        &|| assert!(event.is_done().unwrap()),
    ];
    for call in calls {
        capture(sys::cudaStreamCaptureModeGlobal, || (), call);
    }
}

#[test]
fn a_buffer_dropped_while_another_thread_captures_is_freed_and_not_captured() {
    let alone = alone();
    capture(
        sys::cudaStreamCaptureModeThreadLocal,
        || (),
        || {
            let busy = Stream::non_blocking().unwrap();
            let mut device = DeviceBuffer::<u8>::alloc(1 << 16).unwrap();
            let mut pinned = PinnedBuffer::<u8>::alloc(1 << 16).unwrap();
            let event = Event::without_timing().unwrap();
            let gate = Gate::on(&alone, &busy);
            memset_async(&mut device, 1, &busy).unwrap();
            memset_async(&mut pinned, 1, &busy).unwrap();
            event.record(&busy).unwrap();
            let opener = std::thread::spawn(move || gate.open());
            drop((device, pinned));
            assert!(event.is_done().unwrap(), "memory was freed while work was using it");
            opener.join().unwrap();
        },
    );
}

#[test]
fn a_buffer_dropped_by_the_thread_that_captures_is_freed_and_not_captured() {
    let _alone = alone();
    let idle = (DeviceBuffer::<u8>::alloc(1 << 16).unwrap(), PinnedBuffer::<u8>::alloc(1 << 16).unwrap());
    capture(
        sys::cudaStreamCaptureModeThreadLocal,
        || {
            drop(idle);
            drop(DeviceBuffer::<u8>::alloc(1 << 16).unwrap());
        },
        || (),
    );
}

#[test]
fn a_capture_that_forbids_it_to_all_threads_lets_idle_memory_come_and_go() {
    let _alone = alone();
    let idle = (DeviceBuffer::<u8>::alloc(1 << 16).unwrap(), PinnedBuffer::<u8>::alloc(1 << 16).unwrap());
    capture(
        sys::cudaStreamCaptureModeGlobal,
        || (),
        || {
            drop(idle);
            drop(DeviceBuffer::<u8>::alloc(1 << 16).unwrap());
        },
    );
}

#[cfg(cudart_12_8)]
#[test]
fn libraries_come_and_go_while_a_thread_captures() {
    let _alone = alone();
    const PTX: &str = ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry nothing() { ret; }";
    let library = cuda_safe::library::Library::from_ptx(PTX).unwrap();
    // The other thread is new: no earlier call has made it relaxed.
    capture(sys::cudaStreamCaptureModeGlobal, || (), || library.unload().unwrap());
    let both = || cuda_safe::library::Library::from_ptx(PTX).unwrap().unload().unwrap();
    capture(sys::cudaStreamCaptureModeGlobal, both, both);
}

#[test]
fn textures_and_surfaces_come_and_go_while_a_thread_captures() {
    let _alone = alone();
    let image = ArrayBuilder::plane(8, 8).surface().alloc::<f32>().unwrap();
    let objects = || {
        let texture = Texture::new(&image, &TextureDesc::default()).unwrap();
        assert_eq!(texture.texture_desc().unwrap().normalizedCoords, 0);
        assert_eq!(texture.resource_desc().unwrap().resType, sys::cudaResourceTypeArray);
        texture.destroy().unwrap();
        drop(Surface::new(&image).unwrap());
    };
    // The other thread is new: no earlier call has made it relaxed.
    capture(sys::cudaStreamCaptureModeGlobal, objects, objects);
    capture(sys::cudaStreamCaptureModeThreadLocal, objects, objects);
}
