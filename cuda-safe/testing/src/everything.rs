//! One value of every type that owns a CUDA resource, with pending work on it if possible.

use std::any::Any;

use cuda_safe::copy::Pipeline;
use cuda_safe::memory::{ArrayBuilder, MemoryPool};
use cuda_safe::{
    Device, DeviceBuffer, Event, Graph, ManagedBuffer, MappedFlag, PinnedBuffer, PitchedBuffer,
    PitchedVolume, Registered, Result, Stream, WriteCombinedBuffer, memcpy_2d_async, memcpy_async,
    memset_2d_async, memset_3d_async, memset_async,
};

/// The size of each buffer in bytes.
const BYTES: usize = 1 << 12;

/// Owners with their names.
pub type Owner = (&'static str, Box<dyn Any + Send>);

/// Makes one of everything on the stream's device, with work pending on the stream. This includes another
/// stream and an event. Calls `hold`, which may hold the stream, after everything is made that a busy
/// device might delay.
pub fn everything(stream: &Stream, hold: impl FnOnce()) -> Vec<Owner> {
    stream.device().with_current(|| all(stream, hold)).unwrap()
}

fn all(stream: &Stream, hold: impl FnOnce()) -> Result<Vec<Owner>> {
    let mut owners: Vec<Owner> = Vec::new();
    let source = PinnedBuffer::from_slice(&[7_u8; BYTES])?;

    let mut device = DeviceBuffer::<u8>::alloc(BYTES)?;
    let mut pinned = PinnedBuffer::<u8>::alloc(BYTES)?;
    let mut combined = WriteCombinedBuffer::<u8>::alloc(BYTES)?;
    let mut registered = Registered::new(vec![0_u8; BYTES])?;
    let mut pitched = PitchedBuffer::<u8>::alloc(64, 64)?;
    let mut volume = PitchedVolume::<u8>::alloc(16, 16, 16)?;
    let mut array = ArrayBuilder::plane(64, 64).alloc::<u8>()?;
    let mut levels = ArrayBuilder::plane(64, 64).mipmapped::<u8>(2)?;
    let pool = MemoryPool::builder().device(stream.device()).build()?;
    let (other, event) = (Stream::non_blocking()?, Event::new()?);
    let mut exec = {
        let (mut captured, mut kept) = (Stream::non_blocking()?, DeviceBuffer::<u8>::alloc(BYTES)?);
        let graph = captured.capture(|s| memset_async(&mut kept, 1, s))?;
        let exec = graph.instantiate()?;
        owners.push(("a graph", Box::new(graph)));
        exec
    };
    owners.push(("a graph of nothing", Box::new(Graph::new()?)));
    owners.push(("a flag", Box::new(MappedFlag::new()?)));
    owners.push(("a pipeline", Box::new(Pipeline::<u8, u8>::new(64)?)));
    // Not every device supports it.
    let managed = ManagedBuffer::<u8>::alloc(BYTES).ok();

    hold();
    memset_async(&mut device, 1, stream)?;
    memset_async(&mut pinned, 1, stream)?;
    memcpy_async(&mut device, &combined, stream)?;
    memset_async(&mut combined, 1, stream)?;
    memset_async(&mut registered, 1, stream)?;
    memset_2d_async(&mut pitched, 1, stream)?;
    memset_3d_async(&mut volume, 1, stream)?;
    memcpy_2d_async(&mut array, &source.as_slice().plane(64, 64)?, stream)?;
    memcpy_2d_async(&mut levels.level_mut(0)?, &source.as_slice().plane(64, 64)?, stream)?;
    let mut of_the_device = DeviceBuffer::<u8>::alloc_async(BYTES, stream)?;
    memset_async(&mut of_the_device, 1, stream)?;
    let mut of_the_pool = DeviceBuffer::<u8>::alloc_from(&pool, BYTES, stream)?;
    memset_async(&mut of_the_pool, 1, stream)?;
    exec.launch(stream)?;
    event.record(stream)?;
    other.wait(&event)?;
    other.launch_host_fn(|| ())?;

    if let Some(mut managed) = managed {
        memset_async(&mut managed, 1, stream)?;
        owners.push(("managed memory", Box::new(managed)));
    }
    owners.push(("an executable graph", Box::new(exec)));
    owners.push(("memory of a device", Box::new(device)));
    owners.push(("pinned memory", Box::new(pinned)));
    owners.push(("pinned memory that is read", Box::new(source)));
    owners.push(("write-combined memory", Box::new(combined)));
    owners.push(("a registered container", Box::new(registered)));
    owners.push(("rows", Box::new(pitched)));
    owners.push(("layers", Box::new(volume)));
    owners.push(("an array", Box::new(array)));
    owners.push(("an array of levels", Box::new(levels)));
    owners.push(("memory of the device's pool", Box::new(of_the_device)));
    // The pool is dropped before its memory.
    owners.push(("a pool", Box::new(pool)));
    owners.push(("memory of a pool", Box::new(of_the_pool)));
    owners.push(("a stream", Box::new(other)));
    owners.push(("an event", Box::new(event)));
    Ok(owners)
}

/// The last device: another one than the first if there are several.
pub fn last_device() -> Device {
    Device::all().unwrap().next_back().unwrap()
}
