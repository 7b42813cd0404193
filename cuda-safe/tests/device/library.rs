//! Code that is loaded at run time: the refusals with their reasons, and that code is not unloaded while it
//! may run.
#![cfg(cudart_12_8)]
#![expect(unsafe_code, reason = "says what kernels take, and launches them")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::mpsc::channel;

use cuda_safe::error::{Detail, Error, ErrorKind};
use cuda_safe::graph::node;
use cuda_safe::launch::{Kernel, KernelSetting, Parameters};
use cuda_safe::library::{CacheMode, Fallback, JitOption, Library};
use cuda_safe::stream::AsStream;
use cuda_safe::{
    Device, DeviceBuffer, Event, Graph, ManagedBuffer, Result, Stream, hazard, launch, memcpy, memcpy_async,
    memset, sys,
};
use cuda_testing::child::again;
use cuda_testing::{Gate, alone, this_test};

const PTX: &str = include_str!("code.ptx");

/// With a managed variable, which devices without concurrent managed access may refuse.
const MANAGED: &str = "
.version 8.0
.target sm_70
.address_size 64
.visible .global .attribute(.managed) .align 4 .u32 shared_count = 3;
.visible .entry bump()
{
    .reg .b32 %r<2>;
    atom.global.add.u32 %r1, [shared_count], 1;
    ret;
}";

fn load() -> Library {
    Library::from_ptx(PTX).unwrap()
}

/// The kernel that doubles one element in each thread.
fn double_it(library: &Library) -> Kernel<(*mut u32,)> {
    // SAFETY: the parameter is the address of as many elements as there are threads.
    unsafe { library.kernel("double_it") }.unwrap()
}

fn tally(library: &Library) -> Result<Kernel<(u32,)>> {
    // SAFETY: the parameter is a number. Tests that have a buffer of the variable declare that the kernel
    // uses it.
    unsafe { library.kernel("tally") }
}

/// Requests a kernel with other parameter types.
#[track_caller]
fn scale_as<P: Parameters>(library: &Library) -> Result<()> {
    // SAFETY: the kernel is never launched.
    unsafe { library.kernel::<P>("scale") }.map(drop)
}

#[track_caller]
fn refusal<T>(made: Result<T>) -> Error {
    let error = made.err().unwrap();
    assert!(error.is_refused(), "{error}");
    assert_eq!(error.call_site().file(), file!());
    error
}

/// Returns whether the library is loaded, on the emulator. On a GPU the query would be a use after the end.
fn is_loaded(raw: sys::cudaLibrary_t) -> bool {
    if std::env::var("CUDA_RUNNER").as_deref() != Ok("emulator") {
        return true;
    }
    let mut count = 0;
    // SAFETY: the emulator accepts any handle, and knows which are no longer valid.
    let code = unsafe { sys::cudaLibraryGetKernelCount(&raw mut count, raw) };
    let _ = cuda_safe::error::take_last();
    code == sys::cudaSuccess
}

/// Asserts that the library was unloaded, on the emulator.
#[track_caller]
fn assert_unloaded(raw: sys::cudaLibrary_t) {
    assert!(std::env::var("CUDA_RUNNER").as_deref() != Ok("emulator") || !is_loaded(raw));
}

#[test]
fn a_kernel_of_a_library_runs_and_is_ordered_like_any_other() -> Result<()> {
    let alone = alone();
    let (library, one, other) = (load(), Stream::non_blocking()?, Stream::non_blocking()?);
    let double_it = double_it(&library);
    let mut data = DeviceBuffer::from_slice(&[1_u32, 2, 3])?;
    let gate = Gate::on(&alone, &one);
    // SAFETY: there are as many threads as elements.
    unsafe { launch!(double_it<<<1, 3, 0, &one>>>(&mut data)) }?;
    let before = hazard::added_waits();
    // SAFETY: there are as many threads as elements.
    unsafe { launch!(double_it<<<1, 3, 0, &other>>>(&mut data)) }?;
    assert_eq!(hazard::added_waits(), before + 1);
    assert!(!other.is_done()?);
    gate.open();
    assert_eq!(data.to_vec()?, [4, 8, 12]);
    Ok(())
}

/// to[thread] = from[thread], below the count.
const COPY: &str = "
.version 8.0
.target sm_70
.address_size 64
.visible .entry copy(.param .u64 from, .param .u64 to, .param .u32 count)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p1, %r2, %r1;
    @%p1 bra done;
    mul.wide.u32 %rd3, %r2, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.u32 %r3, [%rd4];
    st.global.u32 [%rd5], %r3;
done:
    ret;
}
";

/// Returns whether a driver may read code that is made up here: the emulator, not that of a GPU.
fn takes_made_up_code() -> bool {
    let takes = std::env::var("CUDA_RUNNER").as_deref() == Ok("emulator");
    if !takes {
        eprintln!("skipped: fatbinaries that nvcc has not made, which a driver need not accept");
    }
    takes
}

/// Returns a fatbinary with entries of these kinds: 1 is PTX, 2 machine code.
fn fatbinary(entries: &[(u16, u64, &str)]) -> Vec<u8> {
    let mut all = Vec::new();
    for (kind, flags, text) in entries {
        // A zero ends the text: a driver looks for it.
        let bytes = (text.len() + 1).next_multiple_of(8);
        let mut entry = vec![0; 64 + bytes];
        entry[..2].copy_from_slice(&kind.to_le_bytes());
        entry[2..4].copy_from_slice(&0x0101_u16.to_le_bytes());
        entry[4..8].copy_from_slice(&64_u32.to_le_bytes());
        entry[8..16].copy_from_slice(&(bytes as u64).to_le_bytes());
        entry[28..32].copy_from_slice(&70_u32.to_le_bytes());
        entry[40..48].copy_from_slice(&flags.to_le_bytes());
        entry[56..64].copy_from_slice(&(text.len() as u64).to_le_bytes());
        entry[64..64 + text.len()].copy_from_slice(text.as_bytes());
        all.extend(entry);
    }
    [&b"\x50\xED\x55\xBA\x01\x00\x10\x00"[..], &(all.len() as u64).to_le_bytes(), &all].concat()
}

#[test]
fn a_launch_of_loaded_code_is_proven_and_what_it_only_reads_is_a_read() -> Result<()> {
    let _alone = alone();
    let (one, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let mut data = DeviceBuffer::from_slice(&[1_u32, 2, 3, 4])?;
    let (mut to, mut too) = (DeviceBuffer::<u32>::alloc_zeroed(4)?, DeviceBuffer::<u32>::alloc_zeroed(4)?);
    let mut libraries = vec![Library::from_ptx(COPY)?];
    if takes_made_up_code() {
        // SAFETY: the fatbinary is whole.
        libraries.push(unsafe { Library::from_data(&fatbinary(&[(1, 0, COPY)])) }?);
    }
    for library in libraries {
        // The types do not say that the first one is only read, the proof does.
        let copy = library.checked_kernel::<(*mut u32, *mut u32, u32)>("copy")?;
        assert_eq!(copy.needs((1, 32), ((), (), 3))?[1].written, 0..12);
        Device::current()?.synchronize()?;
        let before = hazard::added_waits();
        launch!(copy<<<1, 32, 0, &one>>>(&mut data, &mut to, 4))?;
        launch!(copy<<<1, 32, 0, &other>>>(&mut data, &mut too, 4))?;
        assert_eq!(hazard::added_waits(), before);
        launch!(copy<<<1, 32, 0, &other>>>(&mut to, &mut data, 4))?;
        assert!(hazard::added_waits() > before);
        let beyond = refusal(launch!(copy<<<1, 32, 0, &one>>>(&mut data, &mut to, 5)));
        assert_eq!(beyond.detail().kind(), ErrorKind::Proof, "{beyond}");
        // The handle retains the library, and a node is proven, too.
        drop(library);
        let mut graph = Graph::new()?;
        assert!(graph.add(&[], node::checked_kernel(&copy, (1, 32), (&mut data, &mut to, 5))).is_err());
        graph.add(&[], node::checked_kernel(&copy, (1, 32), (&mut data, &mut to, 2)))?;
        graph.instantiate()?.launch(&one)?;
        assert_eq!((to.to_vec()?, too.to_vec()?), (vec![1, 2, 3, 4], vec![1, 2, 3, 4]));
        // A wrong type is a refusal or a wrong number.
        let wrong = Library::from_ptx(COPY)?.checked_kernel::<(u64, *mut u32, u32)>("copy")?;
        let refused = refusal(launch!(wrong<<<1, 32, 0, &one>>>(0x7000_0000_0000_u64, &mut to, 1)));
        assert!(refused.to_string().contains("cannot prove copy"), "{refused}");
    }
    Ok(())
}

#[test]
fn loaded_code_that_cannot_be_proven_is_refused_with_the_reason() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let mut data = DeviceBuffer::from_slice(&[0.0_f32])?;
    // The host may write a variable of the library, and the handle does not say that the kernel uses it.
    let library = load();
    let scale = library.checked_kernel::<(f32, *mut f32)>("scale")?;
    let refused = refusal(launch!(scale<<<1, 1, 0, &stream>>>(1.0, &mut data)));
    assert!(refused.to_string().contains("uses the variable factor of its library"), "{refused}");
    let refused = refusal(library.checked_kernel::<(f32,)>("scale"));
    assert_ne!(refused.detail().kind(), ErrorKind::Proof, "{refused}");

    let words = |library: Library| {
        let refused = refusal(library.checked_kernel::<(*const u32, *mut u32, u32)>("copy"));
        assert_eq!(refused.detail().kind(), ErrorKind::Proof, "{refused}");
        refused.detail().to_string()
    };
    // Where a comment ends is no question of taste.
    for sign in ["\\", "\r", "\u{b}", "\u{85}"] {
        let text = COPY.replace("done:", &format!("// a comment {sign} ends\ndone:"));
        match Library::from_ptx(text) {
            Ok(library) => assert!(words(library).contains("signs that nvcc and NVRTC do not write")),
            // A driver refuses what is not ASCII.
            Err(error) => assert_eq!(error.code(), cuda_safe::sys::cudaErrorInvalidPtx, "{error}"),
        }
    }
    let path = std::env::temp_dir().join(format!("copy-{}.ptx", std::process::id()));
    std::fs::write(&path, COPY).unwrap();
    // SAFETY: the file is PTX.
    let library = unsafe { Library::from_file(&path) };
    std::fs::remove_file(&path).unwrap();
    assert!(words(library?).contains("it was loaded from a file"));
    if !takes_made_up_code() {
        return Ok(());
    }
    // SAFETY: the fatbinaries are whole.
    let load = |entries: &[(u16, u64, &str)]| unsafe { Library::from_data(&fatbinary(entries)) };
    assert!(words(load(&[(2, 0, "ELF"), (1, 0, COPY)])?).contains("machine code may come from other PTX"));
    // Two texts of one architecture: nobody knows which one runs.
    let twice = load(&[(1, 0, COPY), (1, 0, COPY)])?.checked_kernel::<(*const u32, *mut u32, u32)>("copy")?;
    let (from, mut to) = (DeviceBuffer::from_slice(&[1_u32])?, DeviceBuffer::from_slice(&[0_u32])?);
    let refused = refusal(launch!(twice<<<1, 1, 0, &stream>>>(&from, &mut to, 1)));
    assert!(refused.to_string().contains("or has several of"), "{refused}");
    Ok(())
}

/// x[block * threads + thread] = 1, of blocks of 64 threads in clusters of two, which the grid counts.
#[cfg(cudart_13_0)]
const PAIRS: &str = "
.version 9.0
.target sm_90
.address_size 64
.visible .entry pairs(.param .u64 x) .blocksareclusters .reqntid 64, 1, 1 .reqnctapercluster 2, 1, 1
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %rd2, %r4, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], 1;
    ret;
}";

#[cfg(cudart_13_0)]
#[test]
fn a_grid_that_counts_clusters_is_proven_and_run_as_such() -> Result<()> {
    let _alone = alone();
    if Device::current()?.attribute(sys::cudaDevAttrClusterLaunch)? == 0 {
        println!("this device has no clusters");
        return Ok(());
    }
    let (library, mut stream) = (Library::from_ptx(PAIRS)?, Stream::new()?);
    // SAFETY: the parameter is the address of an element for each thread.
    let kernel = unsafe { library.kernel::<(*mut u32,)>("pairs") }?;
    let pairs = library.checked_kernel::<(*mut u32,)>("pairs")?;
    for block in [1, 64] {
        let mut data = DeviceBuffer::<u32>::alloc_zeroed(4 * 2 * 64)?;
        // SAFETY: there are as many elements as threads.
        unsafe { launch!(kernel<<<4, block, 0, &stream>>>(&mut data)) }?;
        assert_eq!(data.to_vec()?, [1; 4 * 2 * 64], "block {block}");
        assert_eq!(pairs.needs((4, block), ((),))?[0].written, 0..4 * 4 * 2 * 64);
        launch!(pairs<<<4, block, 0, &stream>>>(&mut data))?;
        let fewer = &mut data.slice_mut(..4 * 64)?;
        let refused = refusal(launch!(pairs<<<4, block, 0, &stream>>>(fewer)));
        assert!(refused.to_string().contains("may write parameter 0[256..512]"), "{refused}");
    }
    let mut data = DeviceBuffer::<u32>::alloc_zeroed(4 * 2 * 64)?;
    // SAFETY: the launch is refused.
    let error = unsafe { launch!(kernel<<<4, 32, 0, &stream>>>(&mut data)) }.unwrap_err();
    assert_eq!(error.code(), sys::cudaErrorInvalidValue, "{error}");
    let _ = cuda_safe::error::take_last();
    let config = |block: u32| cuda_safe::launch::LaunchConfig::new(4, block);
    // Nodes of another kernel: the grid of one counts blocks.
    let copy = Library::from_ptx(COPY)?.checked_kernel::<(*const u32, *mut u32, u32)>("copy")?;
    let (from, mut to) = (DeviceBuffer::from_slice(&[1_u32, 2])?, DeviceBuffer::<u32>::alloc_zeroed(2)?);
    let mut graph = Graph::new()?;
    let at = graph.add(&[], node::checked_kernel(&copy, (1, 32), (&from, &mut to, 2)))?;
    let mut twin = graph.try_clone()?;
    let of_twin = twin.find_in_clone(at)?;
    let mut exec = graph.instantiate()?;
    let refused = [
        (refusal(pairs.launch(config(32), &stream, (&mut data,))), "the launch has [32, 1, 1]"),
        (refusal(pairs.launch(config(1).cluster(2), &stream, (&mut data,))), "must not name clusters"),
        (refusal(pairs.needs(config(1).cluster(1), ((),))), "must not name clusters"),
        (refusal(pairs.launch(config(1).cooperative(), &stream, (&mut data,))), "must not be cooperative"),
        (refusal(graph.add(&[], node::checked_kernel(&pairs, (4, 1), (&mut data,)))), "that of a node"),
        (refusal(graph.set(at, node::checked_kernel(&pairs, (4, 1), (&mut data,)))), "that of a node"),
        (refusal(twin.set(of_twin, node::checked_kernel(&pairs, (4, 1), (&mut data,)))), "that of a node"),
        (refusal(exec.set(&graph, at, node::checked_kernel(&pairs, (4, 1), (&mut data,)))), "that of a node"),
        (refusal(stream.capture(|it| pairs.launch(config(1), it, (&mut data,)))), "that of a node"),
    ];
    for (refused, words) in refused {
        assert_eq!(refused.detail().kind(), ErrorKind::Proof, "{refused}");
        assert!(refused.to_string().contains(words), "{refused}");
    }
    // All three have the kernel that they had.
    for exec in [&mut exec, &mut graph.instantiate()?, &mut twin.instantiate()?] {
        memset(&mut to, 0)?;
        exec.launch(&stream)?;
        assert_eq!(to.to_vec()?, [1, 2]);
    }
    Ok(())
}

/// x[place in the cluster] = 1.
const PLACES: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry places(.param .u64 x)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %cluster_ctaid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], 1;
    ret;
}";

/// A node of an executable graph that had clusters keeps them if it takes over a kernel without clusters.
#[test]
fn a_kernel_that_asks_for_its_place_in_a_cluster_is_not_proven_for_a_node() -> Result<()> {
    let _alone = alone();
    if Device::current()?.attribute(sys::cudaDevAttrClusterLaunch)? == 0 {
        println!("this device has no clusters");
        return Ok(());
    }
    let mut stream = Stream::new()?;
    let places = Library::from_ptx(PLACES)?.checked_kernel::<(*mut u32,)>("places")?;
    let mut data = DeviceBuffer::<u32>::alloc_zeroed(1)?;
    let config = cuda_safe::launch::LaunchConfig::new(8, 1);
    places.launch(config, &stream, (&mut data,))?;
    let refused = refusal(places.launch(config.cluster(8), &stream, (&mut data,)));
    assert!(refused.to_string().contains("may write parameter 0"), "{refused}");
    let mut graph = Graph::new()?;
    for refused in [
        refusal(graph.add(&[], node::checked_kernel(&places, (8, 1), (&mut data,)))),
        refusal(stream.capture(|it| places.launch(config, it, (&mut data,)))),
        refusal(stream.capture(|it| places.launch(config.cluster(1), it, (&mut data,)))),
    ] {
        assert!(refused.to_string().contains("a node keeps the clusters"), "{refused}");
    }
    Ok(())
}

#[test]
fn a_library_says_which_kernels_it_has() -> Result<()> {
    let _alone = alone();
    let library = load();
    assert_eq!(library.kernel_count()?, 3);
    assert_eq!(library.kernel_names()?, ["double_it", "scale", "tally"]);
    let kernel = double_it(&library);
    assert_eq!((kernel.name(), kernel.mangled_name()?.as_str()), ("double_it", "double_it"));
    assert_eq!(kernel.parameter(0)?.size, 8);
    assert!(kernel.attributes()?.max_threads_per_block() > 0);
    assert!(kernel.blocks_per_multiprocessor(32, 0)? > 0);
    library.unload()
}

#[cfg(cudart_13_2)]
#[test]
fn a_kernel_says_how_many_parameters_it_has() -> Result<()> {
    let _alone = alone();
    let library = load();
    // SAFETY: the kernel is never launched.
    let scale = unsafe { library.kernel::<(f32, *mut f32)>("scale") }?;
    assert_eq!((double_it(&library).parameter_count()?, scale.parameter_count()?), (1, 2));
    assert_eq!(scale.parameter(1)?.size, 8);
    let error = scale.parameter(scale.parameter_count()?).unwrap_err();
    assert_eq!(error.code(), sys::cudaErrorInvalidValue, "{error}");
    cuda_safe::error::take_last().unwrap_err();
    Ok(())
}

#[test]
fn a_kernel_that_there_is_not_is_named_with_those_that_there_are() -> Result<()> {
    let _alone = alone();
    // SAFETY: there is no such kernel.
    let error = unsafe { load().kernel::<()>("double") }.err().unwrap();
    assert_eq!((error.code(), error.is_refused()), (sys::cudaErrorSymbolNotFound, false));
    assert_eq!(error.call_site().file(), file!());
    let text = error.to_string();
    assert!(text.contains("no kernel named double: it has double_it, scale, tally"), "{text}");
    // The runtime's slot for the last error has the code, as after any failed call, and nothing else.
    assert_eq!(cuda_safe::error::take_last().err().unwrap().code(), sys::cudaErrorSymbolNotFound);
    // SAFETY: there is no such kernel.
    let error = refusal(unsafe { load().kernel::<()>("dou\0ble") });
    assert_eq!(error.detail().as_str(), "the name has a zero byte, which would be its end");
    Ok(())
}

#[test]
fn parameters_of_other_sizes_or_another_number_are_refused_with_both() -> Result<()> {
    let _alone = alone();
    let library = load();
    let of = |answer| {
        let error = refusal(answer);
        assert_eq!(error.code(), sys::cudaErrorInvalidDeviceFunction);
        error.detail().to_string()
    };
    let sizes = |index: usize, asked: usize, found: usize| {
        format!("parameter {index} of the kernel (0 is the first) has {found} bytes, its type has {asked}")
    };
    assert_eq!(of(scale_as::<(f64, *mut f32)>(&library)), sizes(0, 8, 4));
    assert_eq!(of(scale_as::<(f32, u32)>(&library)), sizes(1, 4, 8));
    let more = |index| format!("the kernel has more than the {index} parameters that its type has");
    assert_eq!(of(scale_as::<(f32,)>(&library)), more(1));
    assert_eq!(of(scale_as::<()>(&library)), more(0));
    let fewer = "the type has more than the 2 parameters that the kernel has";
    assert_eq!(of(scale_as::<(f32, *mut f32, u32)>(&library)), fewer);
    // The queries on the way leave no error behind.
    cuda_safe::error::take_last()?;
    scale_as::<(f32, *mut f32)>(&library)?;
    cuda_safe::error::take_last()
}

#[test]
fn what_the_compiler_says_is_in_the_error() {
    let _alone = alone();
    let wrong = PTX.replace("mul.wide.u32 %rd2, %r1, 4;", "mul.wide.u32 %rd2, %r1, ];");
    let error = Library::from_ptx(&wrong).err().unwrap();
    assert_eq!((error.code(), error.api()), (sys::cudaErrorInvalidPtx, "cudaLibraryLoadData"));
    assert_eq!(error.call_site().file(), file!());
    let log = error.detail().as_str().strip_prefix("the compiler says: ").unwrap();
    // Line and word, in any wording.
    let line = wrong.lines().position(|line| line.contains("];") && line.contains("mul.wide")).unwrap() + 1;
    assert!(log.contains(&line.to_string()), "{error}");
    assert!(error.to_string().contains("the compiler says: "), "{error}");
    let _ = cuda_safe::error::take_last();
}

#[test]
fn what_does_not_compile_is_unloaded_and_what_does_costs_one_call() {
    const CALLS: &str = "CUDA_EMULATOR_CALLS";
    let _alone = alone();
    let wrong = [
        (PTX.replace("mul.wide.u32", "multiply.u32"), sys::cudaErrorInvalidPtx),
        (PTX.replace("%tid.x", "%nobodys"), sys::cudaErrorInvalidPtx),
        (PTX.replace(".target sm_70", ".target sm_999"), sys::cudaErrorInvalidPtx),
        (PTX.replace(".version 8.0", ".version 99.0"), sys::cudaErrorUnsupportedPtxVersion),
    ];
    let counted = std::env::var_os(CALLS);
    if counted.is_none() && std::env::var("CUDA_RUNNER").is_ok_and(|runner| runner == "emulator") {
        // The emulator reads its variables when it is loaded: runs this test again, with them.
        let file = std::env::temp_dir().join(format!("cuda-library-calls-{}", std::process::id()));
        let child = again(this_test!()).env(CALLS, &file).status();
        let lines = std::fs::read_to_string(&file).unwrap_or_default().lines().count();
        let _ = std::fs::remove_file(&file);
        assert!(child.unwrap().success());
        assert!(lines > 10, "the emulator wrote down {lines} calls");
        return;
    }
    let calls = || -> Vec<String> {
        let Some(file) = &counted else { return Vec::new() };
        let text = std::fs::read_to_string(file).unwrap();
        let calls = text.lines().filter_map(|line| Some(line.split_once(" cudaLibrary")?.1.to_owned()));
        calls.collect()
    };
    drop(load());
    if counted.is_some() {
        assert_eq!(calls(), ["LoadData", "Unload"]);
    }
    for (ptx, code) in wrong {
        let before = calls().len();
        let error = Library::from_ptx(&ptx).err().unwrap();
        assert_eq!(
            (error.code(), error.api(), error.call_site().file()),
            (code, "cudaLibraryLoadData", file!())
        );
        assert!(error.detail().as_str().contains("the compiler says: "), "{error}");
        // The slot has the code that any failed call leaves there.
        assert_eq!(cuda_safe::error::take_last().err().unwrap().code(), code);
        if counted.is_some() {
            assert_eq!(calls()[before..], ["LoadData", "GetKernel", "Unload"]);
        }
    }
    load().unload().unwrap();
}

#[test]
fn what_is_not_ptx_is_refused_before_the_call() {
    let _alone = alone();
    for bytes in
        [&b"\x7fELF\x02\x01"[..], b"\x50\xED\x55\xBA", b"", b"int main() {}", b".version 8.0\0.target sm_70"]
    {
        let error = refusal(Library::from_ptx(bytes));
        assert!(error.detail().as_str().contains("this is not "), "{error}");
    }
    let cut = [&b"\x50\xED\x55\xBA\x01\x00\x10\x00"[..], &100_u64.to_le_bytes()].concat();
    // SAFETY: refused, and so are the calls below.
    let error = refusal(unsafe { Library::from_data(&cut) });
    assert_eq!(error.detail(), &Detail::wrong_length("the image, in bytes,", 116, 16));
    // SAFETY: refused.
    let error = refusal(unsafe { Library::builder().load_data(b"\x7fELF\x02\x01\x01") });
    assert!(error.detail().as_str().contains("this is not "), "{error}");
}

#[test]
fn text_may_end_in_a_zero_byte_or_not_and_may_be_in_a_file() -> Result<()> {
    let _alone = alone();
    let with_zero = [PTX.as_bytes(), b"\0"].concat();
    assert_eq!(Library::from_ptx(&with_zero)?.kernel_count()?, 3);
    // SAFETY: text has no duties for the caller.
    assert_eq!(unsafe { Library::from_data(&with_zero) }?.kernel_count()?, 3);
    let path = std::env::temp_dir().join(format!("cuda-safe-library-{}.ptx", std::process::id()));
    std::fs::write(&path, PTX).unwrap();
    // SAFETY: the file is text.
    let loaded = unsafe { Library::from_file(&path) }.and_then(|library| library.kernel_count());
    std::fs::remove_file(&path).unwrap();
    assert_eq!(loaded?, 3);
    // SAFETY: there is no such file.
    let error = unsafe { Library::from_file(&path) }.err().unwrap();
    assert!(!error.is_refused() && error.api() == "cudaLibraryLoadFromFile", "{error}");
    let _ = cuda_safe::error::take_last();
    // SAFETY: refused.
    let error = refusal(unsafe { Library::builder().load_file("a\0b") });
    assert_eq!(error.detail().as_str(), "the path has a zero byte, which would be its end");
    // SAFETY: refused.
    refusal(unsafe { Library::builder().preserved().load_file(&path) });
    Ok(())
}

#[test]
fn options_are_taken_and_the_compilers_information_kept() -> Result<()> {
    let _alone = alone();
    let builder = Library::builder()
        .option(JitOption::MaxRegisters(32))
        .option(JitOption::OptimizationLevel(3))
        .option(JitOption::LineInfo)
        .option(JitOption::CacheMode(CacheMode::ALL))
        .option(JitOption::Fallback(Fallback::PTX))
        .information()
        .preserved();
    let library = builder.load_ptx(PTX)?;
    let kernel = double_it(&library);
    println!("the compiler says: {:?}", library.information());
    assert!(kernel.attributes()?.registers() <= 32);
    assert!(load().information().is_none());
    let mut data = DeviceBuffer::from_slice(&[21_u32])?;
    // SAFETY: one thread, one element.
    unsafe { kernel.launch((1, 1), &Stream::legacy()?, (&mut data,)) }?;
    assert_eq!(data.to_vec()?, [42]);
    let limits = Library::builder()
        .option(JitOption::MaxThreadsPerBlock(64))
        .option(JitOption::MinBlocksPerMultiprocessor(2))
        .option(JitOption::OverrideDirectives);
    limits
        .option(JitOption::ThreadsPerBlock(64))
        .option(JitOption::PositionIndependent)
        .option(JitOption::DebugInfo)
        .option(JitOption::OptimizationLevel(0))
        .load_ptx(PTX)
        .map(drop)
}

#[test]
fn a_kernel_keeps_its_library_loaded() -> Result<()> {
    let _alone = alone();
    let (library, stream) = (load(), Stream::new()?);
    let (kernel, raw) = (double_it(&library), library.as_raw());
    let mut data = DeviceBuffer::from_slice(&[1_u32, 2])?;
    library.unload()?;
    assert!(is_loaded(raw));
    let second = kernel.clone();
    drop(kernel);
    // SAFETY: there are as many threads as elements.
    unsafe { second.launch((1, 2), &stream, (&mut data,)) }?;
    assert_eq!(data.to_vec()?, [2, 4]);
    drop(second);
    assert_unloaded(raw);
    Ok(())
}

#[test]
fn unloading_waits_for_launches_that_still_run() -> Result<()> {
    let alone = alone();
    let (library, stream) = (load(), Stream::non_blocking()?);
    let (kernel, raw) = (double_it(&library), library.as_raw());
    let mut data = DeviceBuffer::from_slice(&[1_u32])?;
    // First-time initialization may wait for the device.
    // SAFETY: one thread, one element.
    unsafe { kernel.launch((1, 1), &stream, (&mut data,)) }?;
    stream.synchronize()?;
    let passed = Event::without_timing()?;
    let gate = Gate::on(&alone, &stream);
    // SAFETY: one thread, one element.
    unsafe { kernel.launch((1, 1), &stream, (&mut data,)) }?;
    passed.record(&stream)?;
    drop(kernel);
    let (begun, begins) = channel();
    let opener = std::thread::spawn(move || {
        begins.recv().unwrap();
        gate.open();
    });
    assert!(is_loaded(raw) && !passed.is_done()?);
    begun.send(()).unwrap();
    library.unload()?;
    assert!(passed.is_done()?, "the library was unloaded while its kernel was yet to run");
    assert_unloaded(raw);
    opener.join().unwrap();
    assert_eq!(data.to_vec()?, [4]);
    Ok(())
}

#[test]
fn a_graph_keeps_the_libraries_of_its_kernels_loaded() -> Result<()> {
    let alone = alone();
    let mut stream = Stream::non_blocking()?;
    let mut data = DeviceBuffer::from_slice(&[1_u32])?;
    let (added, captured) = (load(), load());
    let raws = [added.as_raw(), captured.as_raw()];
    let mut graph = Graph::new()?;
    let kernel = double_it(&added);
    // SAFETY: one thread, one element.
    unsafe { graph.add(&[], node::kernel(&kernel, (1, 1), (&mut data,))) }?;
    let mut exec = graph.instantiate()?;
    drop(kernel);
    let kernel = double_it(&captured);
    let captured_graph = stream.capture(|capture| {
        // SAFETY: one thread, one element.
        unsafe { kernel.launch((1, 1), capture, (&mut data,)) }
    })?;
    let mut captured_exec = captured_graph.instantiate()?;
    drop((kernel, added, captured, graph, captured_graph));
    assert!(raws.into_iter().all(is_loaded));
    for exec in [&mut exec, &mut captured_exec] {
        exec.launch(&stream)?;
    }
    assert_eq!(data.to_vec()?, [4]);
    // A running launch outlives its executable graph, and so does the code.
    let passed = Event::without_timing()?;
    let gate = Gate::on(&alone, &stream);
    exec.launch(&stream)?;
    passed.record(&stream)?;
    assert!(!passed.is_done()?);
    let opener = std::thread::spawn(move || gate.open());
    drop((exec, captured_exec));
    assert!(passed.is_done()?, "the library was unloaded while a graph was yet to run its kernel");
    opener.join().unwrap();
    raws.into_iter().for_each(assert_unloaded);
    assert_eq!(data.to_vec()?, [8]);
    Ok(())
}

#[test]
fn a_library_dropped_in_a_host_function_is_unloaded_later() -> Result<()> {
    let _alone = alone();
    let (library, stream) = (load(), Stream::new()?);
    let raw = library.as_raw();
    let (told, tells) = channel();
    stream.launch_host_fn(move || {
        let refused = Library::from_ptx(PTX).err().map(|error| error.detail().clone());
        told.send((refused, library.kernel_count().err().map(|error| error.detail().clone()))).unwrap();
        drop(library);
    })?;
    stream.synchronize()?;
    assert_eq!(tells.recv().unwrap(), (Some(Detail::IN_CALLBACK), Some(Detail::IN_CALLBACK)));
    // The next call of the runtime unloads it.
    drop(DeviceBuffer::<u8>::alloc(1)?);
    stream.synchronize()?;
    assert_unloaded(raw);
    Ok(())
}

#[test]
fn a_variable_is_a_buffer_that_copies_and_launches_are_ordered_on() -> Result<()> {
    let alone = alone();
    let (library, stream) = (load(), Stream::non_blocking()?);
    let mut count = library.global::<u32>("count")?;
    assert_eq!((count.len(), count.to_vec()?), (1, vec![5]));
    let tally = tally(&library)?.using(count.access_mut())?;
    memcpy(&mut count, &[100])?;
    let gate = Gate::on(&alone, &stream);
    // SAFETY: any number of threads will do.
    unsafe { tally.launch((2, 32), &stream, (1,)) }?;
    let mut copied = DeviceBuffer::<u32>::alloc(1)?;
    let (other, before) = (Stream::non_blocking()?, hazard::added_waits());
    memcpy_async(&mut copied, &count, &other)?;
    assert_eq!(hazard::added_waits(), before + 1, "nothing orders the copy after the launch");
    gate.open();
    assert_eq!(copied.to_vec()?, [164]);
    // SAFETY: any number of threads will do.
    unsafe { tally.launch((1, 1), &stream, (1,)) }?;
    assert_eq!(count.to_vec()?, [165]);
    Ok(())
}

#[test]
fn a_variable_is_a_buffer_only_once_the_kernels_that_were_launched_before_are_over() -> Result<()> {
    let _alone = alone();
    let (library, stream) = (load(), Stream::non_blocking()?);
    // SAFETY: any number of threads will do.
    unsafe { tally(&library)?.launch((2, 32), &stream, (1,)) }?;
    let count = library.global::<u32>("count")?;
    let waits = hazard::added_waits();
    // On the legacy stream, which waits for no other stream here.
    assert_eq!((count.to_vec()?, hazard::added_waits()), (vec![69], waits));
    Ok(())
}

#[test]
fn a_kernel_that_is_told_of_more_memory_forgets_neither_what_it_was_told_before_nor_its_library() -> Result<()>
{
    let alone = alone();
    let (library, stream, more) = (load(), Stream::non_blocking()?, DeviceBuffer::from_slice(&[1_u8])?);
    let raw = library.as_raw();
    let mut count = library.global::<u32>("count")?;
    let tally = tally(&library)?.using(count.access_mut())?.using(more.access())?;
    let gate = Gate::on(&alone, &stream);
    // SAFETY: any number of threads will do.
    unsafe { tally.launch((1, 1), &stream, (1,)) }?;
    let mut copied = DeviceBuffer::<u32>::alloc(1)?;
    let (other, before) = (Stream::non_blocking()?, hazard::added_waits());
    memcpy_async(&mut copied, &count, &other)?;
    assert_eq!(hazard::added_waits(), before + 1, "nothing orders the copy after the launch");
    gate.open();
    assert_eq!(copied.to_vec()?, [6]);
    drop((count, library));
    assert!(is_loaded(raw));
    drop(tally);
    assert_unloaded(raw);
    Ok(())
}

#[test]
fn constants_can_be_set_and_tables_have_the_elements_that_they_are_asked_for() -> Result<()> {
    let _alone = alone();
    let library = load();
    let mut factor = library.global::<f32>("factor")?;
    // SAFETY: extern "C" void scale(float in, float* out), which reads `factor`.
    let scale = unsafe { library.kernel::<(f32, *mut f32)>("scale") }?.using(factor.access())?;
    let mut out = DeviceBuffer::<f32>::alloc(1)?;
    for (set, expected) in [(None, 3.0), (Some(10.0), 15.0)] {
        if let Some(set) = set {
            memcpy(&mut factor, &[set])?;
        }
        // SAFETY: there is room for one result.
        unsafe { scale.launch((1, 1), &Stream::legacy()?, (1.5, &mut out)) }?;
        assert_eq!(out.to_vec()?, [expected]);
    }
    let mut table = library.global::<[u16; 2]>("table")?;
    assert_eq!(table.to_vec()?, [[0; 2]; 6]);
    memset(&mut table.slice_mut(1..3)?, 1)?;
    assert_eq!(table.to_vec()?[..4], [[0; 2], [257; 2], [257; 2], [0; 2]]);
    drop(table);
    assert_eq!(library.global::<u64>("table")?.len(), 3);
    Ok(())
}

#[test]
fn a_variable_has_one_buffer_at_a_time_of_elements_that_fit_it() -> Result<()> {
    let _alone = alone();
    let library = load();
    let count = library.global::<u32>("count")?;
    let (error, count) = count.into_raw().unwrap_err().into_parts();
    assert!(error.detail().as_str().contains(" is not supported"), "{error}");
    let error = refusal(library.global::<u32>("count"));
    assert_eq!(error.detail().kind(), ErrorKind::InUse);
    assert!(error.detail().as_str().starts_with("there is a buffer of count already: "), "{error}");
    // A kernel that declares the variable retains a share of it.
    let tally = tally(&library)?.using(count.access())?;
    drop(count);
    refusal(library.global::<u32>("count"));
    drop(tally);
    let error = refusal(library.global::<[u8; 3]>("count"));
    assert_eq!(error.detail().as_str(), "4 bytes are not a whole number of elements of 3 bytes");
    let count = library.global::<[u8; 2]>("count")?;
    assert_eq!(count.to_vec()?, [[5, 0], [0, 0]]);
    let error = library.global::<u32>("counter").err().unwrap();
    assert_eq!((error.code(), error.is_refused()), (sys::cudaErrorSymbolNotFound, false));
    assert!(error.to_string().contains("no variable named counter"), "{error}");
    let error = library.managed::<u32>("count").err().unwrap();
    assert!(error.to_string().contains("no managed variable named count"), "{error}");
    let error = library.unified_function("count").err().unwrap();
    let text = "no unified function named count";
    // Devices without such pointers do not look the name up.
    assert!(error.code() == sys::cudaErrorInvalidValue || error.to_string().contains(text), "{error}");
    // Kernels are not variables, although their names exist.
    let error = library.global::<u32>("tally").err().unwrap();
    assert_eq!((error.code(), error.is_refused()), (sys::cudaErrorInvalidValue, false));
    let _ = cuda_safe::error::take_last();
    // Two libraries of the same code have separate variables, which keep them loaded.
    let raw = library.as_raw();
    let other = load().global::<u32>("count")?;
    drop(library);
    assert!(is_loaded(raw));
    assert_ne!(count.as_ptr().addr(), other.as_ptr().addr());
    drop(count);
    assert_unloaded(raw);
    Ok(())
}

#[test]
fn a_managed_variable_is_lent_to_the_host_or_to_kernels() -> Result<()> {
    let _alone = alone();
    if ManagedBuffer::<u8>::alloc(1).is_err() {
        println!("no concurrent managed access here: no managed variables");
        return Ok(());
    }
    let (library, stream) = (Library::from_ptx(MANAGED)?, Stream::non_blocking()?);
    let refused = refusal(library.global::<u32>("shared_count")).detail().clone();
    assert!(
        refused.kind() == ErrorKind::Unsupported && refused.as_str().contains("Library::managed"),
        "{refused:?}"
    );
    let mut count = library.managed::<u32>("shared_count")?;
    assert_eq!(*count.host()?, [3]);
    count.host_mut()?[0] = 40;
    // SAFETY: the kernel has no parameters, and uses the one variable.
    let bump = unsafe { library.kernel::<()>("bump") }?.using(count.access_mut())?;
    // SAFETY: any number of threads will do.
    let run = || unsafe { bump.launch((1, 2), &stream, ()) };
    let lent = count.host()?;
    assert_eq!(refusal(run()).detail(), &Detail::HOST_BORROWED);
    drop(lent);
    run()?;
    assert_eq!(*count.host()?, [42]);
    Ok(())
}

#[test]
fn code_is_loaded_for_all_devices_and_each_has_variables_of_its_own() -> Result<()> {
    let _alone = alone();
    let library = load();
    let kernel = double_it(&library);
    let mut counts = Vec::new();
    for device in Device::all()? {
        device.with_current(|| {
            let stream = Stream::new()?;
            let mut data = DeviceBuffer::from_slice(&[7_u32])?;
            let mut count = library.global::<u32>("count")?;
            assert_eq!((count.device(), count.to_vec()?), (device, vec![5]));
            memcpy(&mut count, &[u32::try_from(device.ordinal()).unwrap()])?;
            // SAFETY: one thread, one element.
            unsafe { kernel.launch((1, 1), &stream, (&mut data,)) }?;
            assert_eq!(data.to_vec()?, [14]);
            kernel.set_for(device, KernelSetting::SharedCarveout(Some(50)))?;
            counts.push(count);
            Ok(())
        })?;
    }
    for (ordinal, count) in counts.iter().enumerate() {
        assert_eq!(count.to_vec()?, [u32::try_from(ordinal).unwrap()]);
    }
    Ok(())
}

#[test]
fn a_kernel_of_a_library_is_set_up_like_any_other() -> Result<()> {
    let _alone = alone();
    let (library, device) = (load(), Device::current()?);
    let kernel = double_it(&library);
    kernel.set_for(device, KernelSetting::MaxDynamicSharedBytes(64 << 10))?;
    assert_eq!(kernel.attributes()?.max_dynamic_shared_bytes(), 64 << 10);
    let error = kernel.set_for(device, KernelSetting::MaxDynamicSharedBytes(1 << 30)).err().unwrap();
    assert!(error.detail().as_str().contains(" is 1073741824, at most "), "{error}");
    let _ = cuda_safe::error::take_last();
    kernel.set_for(device, KernelSetting::NonPortableClusters(true))?;
    assert!(kernel.attributes()?.non_portable_clusters());
    kernel.set_max_dynamic_shared_bytes(1 << 10)?;
    assert_eq!(kernel.kernel()?.cast_const().cast(), kernel.as_raw());
    let refused = [
        refusal(kernel.function()),
        refusal(kernel.set_cache_config(cuda_safe::device::CacheConfig::PREFER_L1)),
    ];
    assert!(refused.iter().all(|error| error.detail().as_str().contains(" is not supported")));
    let stream = Stream::new()?;
    assert_eq!(stream.as_stream().device(), device);
    Ok(())
}

#[test]
fn memory_of_a_graph_is_an_argument_of_kernels_of_its_own_nodes_alone() -> Result<()> {
    let _alone = alone();
    let (library, mut stream) = (load(), Stream::new()?);
    let double_it = double_it(&library);
    let mut host = cuda_safe::PinnedBuffer::<u32>::alloc(2)?;
    let (mut graph, mut other) = (Graph::new()?, Graph::new()?);
    let mut scratch = graph.add(&[], node::alloc::<u32>(2))?;
    graph.add(&[], node::memset(&mut scratch, 1))?;
    // SAFETY: there are as many threads as elements, here and below.
    unsafe { graph.add(&[], node::kernel(&double_it, (1, 2), (&mut scratch,))) }?;
    let refused = |answer: Result<()>| {
        let detail = refusal(answer).detail().clone();
        let text = detail.as_str();
        assert!(text.starts_with("argument 0 (0 is the first)"), "{detail:?}");
        assert!(text.contains("nodes of that graph") && text.ends_with(" is not supported"), "{detail:?}");
    };
    // SAFETY: there are as many threads as elements.
    refused(unsafe { double_it.launch((1, 2), &stream, (&mut scratch,)) });
    // SAFETY: there are as many threads as elements.
    refused(unsafe { other.add(&[], node::kernel(&double_it, (1, 2), (&mut scratch,))) }.map(drop));
    // SAFETY: there are as many threads as elements.
    refused(stream.capture(|stream| unsafe { double_it.launch((1, 2), stream, (&mut scratch,)) }).map(drop));
    graph.add(&[], node::memcpy(&mut host, &scratch))?;
    graph.add(&[], node::free(&mut scratch))?;
    graph.instantiate()?.launch(&stream)?;
    assert_eq!(*host.host()?, [0x0202_0202; 2]);
    Ok(())
}
