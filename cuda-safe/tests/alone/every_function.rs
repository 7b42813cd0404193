//! One call of every fallible function that needs no particular state: for tests of how they all fail.
#![allow(clippy::unwrap_used, reason = "a helper of tests")]

use cuda_safe::copy::{
    CopyBatch, Pipeline, fill, fill_async, memcpy_2d, memcpy_2d_async, memcpy_3d, memcpy_3d_async, memset_2d,
    memset_2d_async, memset_3d, memset_3d_async,
};
use cuda_safe::device::{CacheConfig, DeviceFlags, Limit, RemoteWritesScope, profiler_start, profiler_stop};
use cuda_safe::device::{DeviceProperties, PeerAttribute, driver_version, runtime_version};
use cuda_safe::error::{peek_last, take_last};
use cuda_safe::graph::{Condition, Conditional, GraphExec, InstantiateFlags, Node, node};
use cuda_safe::library::Library;
use cuda_safe::memory::managed::{Advice, Attachment};
use cuda_safe::memory::{
    Array, ArrayBuilder, ManagedBuffer, MemoryLocation, MemoryPool, PinnedFlags, PointerAttributes, PoolReuse,
};
use cuda_safe::stream::{AsStream, EventFlags, MemSyncDomain, RecordFlags, StreamAttribute};
use cuda_safe::{
    Device, DeviceBuffer, Error, Event, Graph, MappedFlag, PinnedBuffer, PitchedBuffer, PitchedVolume,
    Registered, Result, Stream, Texture, WriteCombinedBuffer, memcpy, memcpy_async, memset, memset_async,
    sys,
};

/// The values that the functions are called with.
pub(crate) struct Things {
    pub(crate) device: Device,
    pub(crate) stream: Stream,
    pub(crate) other: Stream,
    pub(crate) event: Event,
    pub(crate) pool: MemoryPool,
    pub(crate) buffer: DeviceBuffer<u8>,
    pub(crate) pinned: PinnedBuffer<u8>,
    pub(crate) rows: [PitchedBuffer<u8>; 2],
    pub(crate) layers: [PitchedVolume<u8>; 2],
    pub(crate) given: Option<DeviceBuffer<u8>>,
    pub(crate) array: Array<u8>,
    pub(crate) texture: Texture<u8>,
    pub(crate) managed: Option<ManagedBuffer<u8>>,
    pub(crate) graph: Graph,
    pub(crate) inner: Graph,
    pub(crate) spare: Option<Graph>,
    pub(crate) nodes: [Node; 4],
    pub(crate) exec: GraphExec,
    pub(crate) condition: Condition,
    pub(crate) library: Library,
    pub(crate) pipeline: Pipeline<u8, u8>,
    pub(crate) properties: DeviceProperties,
}

impl Things {
    pub(crate) fn new() -> Result<Self> {
        let mut buffer = DeviceBuffer::alloc(64)?;
        let event = Event::new()?;
        let (mut graph, mut inner) = (Graph::new()?, Graph::new()?);
        inner.add(&[], node::empty())?;
        let fill = graph.add(&[], node::memset(&mut buffer, 1))?;
        let call = graph.add(&[fill], node::host_fn(|| ()))?;
        let mark = graph.add(&[call], node::event_record(&event))?;
        let within = graph.add(&[mark], node::child_graph(&inner))?;
        let exec = graph.instantiate()?;
        let condition = graph.condition(1)?;
        let array = Array::alloc_2d(8, 8)?;
        Ok(Self {
            device: Device::current()?,
            stream: Stream::non_blocking()?,
            other: Stream::new()?,
            event,
            pool: MemoryPool::new()?,
            buffer,
            pinned: PinnedBuffer::alloc(64)?,
            rows: [PitchedBuffer::alloc(8, 8)?, PitchedBuffer::alloc(8, 8)?],
            layers: [PitchedVolume::alloc(8, 8, 8)?, PitchedVolume::alloc(8, 8, 8)?],
            given: Some(DeviceBuffer::alloc_async(64, &Stream::new()?)?),
            texture: Texture::new(&array, &cuda_safe::texture::TextureDesc::default())?,
            array,
            managed: ManagedBuffer::alloc(64).ok(),
            graph,
            inner,
            spare: Some(Graph::new()?),
            nodes: [fill, call, mark, within],
            exec,
            condition,
            library: Library::from_ptx(".version 7.5\n.target sm_75\n.address_size 64\n")?,
            pipeline: Pipeline::new(16)?,
            properties: Device::current()?.properties()?,
        })
    }
}

/// The file that the errors of these calls name.
pub(crate) const FILE: &str = file!();

/// Calls every function and gives `note` each error with the text of its call. Returns the number of calls.
#[expect(clippy::too_many_lines, reason = "one line a function")]
pub(crate) fn call_every_function(things: &mut Things, mut note: impl FnMut(&str, Option<Error>)) -> usize {
    let mut tried = 0;
    macro_rules! call {
        ($($call:expr;)*) => {$(
            tried += 1;
            note(stringify!($call), $call.err());
        )*};
    }
    let Things { device, stream, other, event, pool, buffer, pinned, array, texture, managed, .. } = things;
    let Things { spare, rows: [rows, more_rows], layers: [layers, more_layers], given, .. } = things;
    let Things { library, pipeline, properties, .. } = things;
    let (device, here) = (*device, MemoryLocation::Device(*device));
    call! {
        Device::count();
        Device::new(0);
        Device::all();
        Device::current();
        Device::by_pci_bus_id("0000:00:00.0");
        Device::set_valid(&[]);
        Device::set_valid(&[device]);
        device.set_current();
        device.init(None);
        device.init(Some(DeviceFlags::empty()));
        device.with_current(|| Ok(()));
        device.synchronize();
        device.memory_info();
        device.stream_priority_range();
        device.properties();
        device.compute_capability();
        device.attribute(sys::cudaDevAttrWarpSize);
        device.pci_bus_id();
        device.limit(Limit::StackSize);
        device.set_limit(Limit::StackSize, 1024);
        device.cache_config();
        device.set_cache_config(CacheConfig::PREFER_NONE);
        device.reset_persisting_l2_cache();
        device.flush_gpudirect_rdma_writes(RemoteWritesScope::Owner);
        device.texture_1d_linear_max_width(&sys::cudaChannelFormatDesc::default());
        device.flags();
        device.set_flags(DeviceFlags::empty());
        device.graph_memory();
        device.reset_graph_memory_peaks();
        device.trim_graph_memory();
        device.can_access_peer(&device);
        device.enable_peer_access(&device);
        device.default_memory_pool();
        device.memory_pool();
        device.set_memory_pool(pool);
        profiler_start();
        profiler_stop();
        driver_version();
        runtime_version();
        take_last();
        peek_last();

        Stream::new();
        Stream::non_blocking();
        Stream::legacy();
        Stream::per_thread();
        Stream::builder().device(device).priority(-1).build();
        stream.priority();
        stream.id();
        stream.synchronize();
        stream.is_done();
        stream.wait(event);
        stream.launch_host_fn(|| ());
        stream.scope(|_| ());
        stream.capture(|_| Ok(()));
        stream.capture_to_graph(spare.take().unwrap(), &[], |_| Ok(()));
        stream.as_stream().capture_id();
        stream.as_stream().attributes();
        stream.as_stream().set_attribute(StreamAttribute::MemSyncDomain(MemSyncDomain::DEFAULT));
        stream.as_stream().copy_attributes_from(other);
        Event::new();
        Event::without_timing();
        Event::with_flags(EventFlags::empty());
        Event::with_device(device, EventFlags::DISABLE_TIMING);
        event.record(stream);
        event.record_with(stream, RecordFlags::EXTERNAL);
        event.synchronize();
        event.is_done();
        event.elapsed_ms(event);
        event.ipc_handle();

        DeviceBuffer::<u8>::alloc(64);
        DeviceBuffer::<u8>::alloc_on(device, 64);
        DeviceBuffer::<u8>::alloc_zeroed(64);
        DeviceBuffer::from_slice(&[1_u8]);
        DeviceBuffer::<u8>::alloc_async(64, stream);
        DeviceBuffer::<u8>::alloc_from(pool, 64, stream);
        buffer.ipc_handle();
        buffer.export_pool_pointer();
        buffer.to_vec();
        PinnedBuffer::<u8>::alloc(64);
        PinnedBuffer::<u8>::with_flags(64, PinnedFlags::PORTABLE);
        pinned.flags();
        pinned.device_ptr();
        WriteCombinedBuffer::<u8>::alloc(64);
        ManagedBuffer::<u8>::alloc(64);
        PitchedBuffer::<u8>::alloc(8, 8);
        PitchedVolume::<u8>::alloc(8, 8, 8);
        MappedFlag::new();
        Registered::new(vec![1_u8]).map_err(Error::from);
        Registered::new_read_only(vec![1_u8]).map_err(Error::from);
        PointerAttributes::from_ptr(buffer.as_ptr());
        MemoryPool::new();
        pool.set_release_threshold(0);
        pool.attributes();
        pool.reset_watermarks();
        pool.trim_to(0);
        pool.access(device);
        pool.enable_access(device);
        pool.export();
        Array::<u8>::alloc_1d(8);
        Array::<u8>::alloc_2d(8, 8);
        Array::<u8>::alloc_3d(8, 8, 8);
        ArrayBuilder::plane(8, 8).mipmapped::<u8>(2);
        ArrayBuilder::plane(8, 8).device(device).alloc::<u8>();
        ArrayBuilder::plane(8, 8).sparse::<u8>(None);
        array.info();
        array.descriptor();
        Texture::new(array, &cuda_safe::texture::TextureDesc::default());
        texture.resource_desc();
        texture.texture_desc();

        memcpy(buffer, &[0; 64]);
        memcpy_async(buffer, pinned, stream);
        memset(buffer, 1);
        memset_async(buffer, 1, stream);
        CopyBatch::new().copy(buffer, pinned).enqueue(stream);
        memcpy_2d(rows, more_rows);
        memcpy_2d_async(rows, more_rows, stream);
        memcpy_3d(layers, more_layers);
        memcpy_3d_async(layers, more_layers, stream);
        memset_2d(rows, 1);
        memset_2d_async(rows, 1, stream);
        memset_3d(layers, 1);
        memset_3d_async(layers, 1, stream);
        fill(buffer, 1);
        fill_async(buffer, 1, stream);
        given.take().unwrap().free_async(stream);
        Library::from_ptx(".version 8.0");
        Library::builder().load_ptx(".version 8.0");
        library.kernel_count();
        library.kernel_names();
        library.unified_function("none");
        library.global::<u8>("none");
        library.managed::<u8>("none");
        library.checked_kernel::<()>("none");
        Device::choose(properties);
        device.peer_attribute(&device, PeerAttribute::PerformanceRank);
        pool.set_reuse(PoolReuse::all());
        pipeline.run(&mut [0; 64][..], &[0; 64][..], |_, _, _, _| Ok(()));
        pipeline.run_in_place(&mut [0; 64][..], |_, _, _| Ok(()));
        stream.launch_host_fn_with(&mut *pinned, |_| ());
        ManagedBuffer::<u8>::with_attachment(64, Attachment::Global);
        cuda_safe::copy::staged::release();
    }
    if let Some(managed) = managed {
        call! {
            managed.as_slice().advise(Advice::SetReadMostly);
            managed.as_slice().range_attributes();
            managed.as_slice().last_prefetch_location();
            managed.as_slice().prefetch_async(here, stream);
        }
    }
    let Things { stream, event, buffer, pinned, graph, inner, nodes, exec, condition, .. } = things;
    let [fill, call, mark, within] = *nodes;
    call! {
        Graph::new();
        graph.add(&[], node::empty());
        graph.add(&[], node::memset(buffer, 1));
        graph.add(&[], node::memcpy(buffer, pinned));
        graph.add(&[], node::host_fn(|| ()));
        graph.add(&[], node::event_record(event));
        graph.add(&[], node::event_wait(event));
        graph.add(&[], node::alloc::<u8>(64));
        graph.add(&[], node::child_graph(inner));
        graph.condition(1);
        graph.add(&[], node::conditional(condition, Conditional::If, |_, _| Ok(())));
        graph.set(fill, node::memset(buffer, 2));
        graph.set(call, node::host_fn(|| ()));
        graph.set(mark, node::event_record(event));
        graph.event(mark);
        graph.graph_within(within);
        graph.add_dependencies(&[(fill, within)]);
        graph.remove_dependencies(&[(fill, call)]);
        graph.dependencies(call);
        graph.dependent_nodes(call);
        graph.edges();
        graph.root_nodes();
        graph.node_kind(fill);
        graph.node_count();
        graph.destroy_node(fill);
        graph.try_clone();
        graph.instantiate();
        graph.instantiate_with_flags(InstantiateFlags::empty());
        graph.write_dot("/nowhere/at/all");
        exec.launch(stream);
        exec.upload(stream);
        exec.update(graph);
        exec.set(graph, fill, node::memset(buffer, 2));
        exec.set(graph, call, node::host_fn(|| ()));
        exec.set(graph, mark, node::event_record(event));
        exec.set(graph, within, node::child_graph(inner));
        exec.set_enabled(graph, fill, false);
        exec.is_enabled(graph, fill);
        exec.flags();
    }
    assert!(tried > 150, "{tried} functions were tried");
    tried
}
