//! Collectives with one rank for each device of this machine, from one thread.
//!
//! They need NCCL and a GPU, and each test prints what is missing. On the emulator, one test runs the others
//! with a stand-in for NCCL, which it compiles. With `NCCL_MULTI_RANK_GPU_ENABLE=1`, which NCCL 2.32 knows, a
//! single device has two ranks.
#![allow(clippy::unwrap_used, reason = "tests")]
#![expect(unsafe_code, reason = "forks, and ends the child without the parent's exit handlers")]

use cuda_nccl::{Communicator, ErrorKind, Group, Reduction, Result, UniqueId};
use std::sync::mpsc::channel;
use std::time::Duration;

use cuda_safe::{Device, DeviceBuffer, Stream, memset_async};

/// The ranks of one test: a communicator and a stream for each device.
struct Ranks {
    comms: Vec<Communicator>,
    streams: Vec<Stream>,
}

/// Returns the ranks, or `None` if NCCL or a GPU is missing.
fn ranks() -> Option<Ranks> {
    let mut devices: Vec<Device> = Device::all().unwrap().collect();
    let emulated = devices[0].properties().unwrap().name().starts_with("CUDA emulator");
    if !emulated && devices.len() == 1 && std::env::var_os("NCCL_MULTI_RANK_GPU_ENABLE").is_some() {
        devices.push(devices[0]);
    }
    let comms = match Communicator::init_all(&devices) {
        Ok(comms) => comms,
        Err(error) if matches!(error.kind(), ErrorKind::Missing(_)) => {
            println!("not run, no NCCL: {error}");
            return None;
        }
        Err(error) if emulated => {
            assert!(error.name().is_some(), "{error}");
            println!("not run, no GPU: {error}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let stream = |device: &Device| Stream::builder().device(*device).non_blocking().build().unwrap();
    Some(Ranks { comms, streams: devices.iter().map(stream).collect() })
}

impl Ranks {
    /// Returns a buffer for each rank.
    fn buffers(&self, len: usize, value: impl Fn(usize, usize) -> f32) -> Vec<DeviceBuffer<f32>> {
        let buffer = |(rank, comm): (usize, &Communicator)| {
            let values: Vec<f32> = (0..len).map(|at| value(rank, at)).collect();
            comm.device().with_current(|| DeviceBuffer::from_slice(&values)).unwrap()
        };
        self.comms.iter().enumerate().map(buffer).collect()
    }

    fn len(&self) -> usize {
        self.comms.len()
    }
}

/// Returns a number as an element.
fn number(number: usize) -> f32 {
    f32::from(u16::try_from(number).unwrap())
}

#[test]
fn every_rank_gets_the_sum_also_in_place_and_before_what_comes_later() -> Result<()> {
    let Some(ranks) = ranks() else { return Ok(()) };
    let n = ranks.len();
    let sum = number((0..n).sum());
    let send = ranks.buffers(1000, |rank, at| number(rank) + number(at));
    let mut recv = ranks.buffers(1000, |_, _| -1.0);
    for turn in 0..2 {
        let sends: Vec<_> = send.iter().map(DeviceBuffer::as_slice).collect();
        let mut recvs: Vec<_> = recv.iter_mut().map(DeviceBuffer::as_slice_mut).collect();
        let mut group = Group::new();
        for (at, recv) in recvs.iter_mut().enumerate() {
            let operation = if turn == 0 {
                ranks.comms[at].all_reduce(&sends[at], recv, Reduction::Sum)?
            } else {
                ranks.comms[at].all_reduce_in_place(recv, Reduction::Max)?
            };
            group = group.add(operation, &ranks.streams[at])?;
        }
        group.enqueue()?;
        for recv in &recv {
            let found = recv.to_vec()?;
            assert!((0..1000).all(|at| found[at] == sum + number(n * at)), "{turn}: {:?}", &found[..9]);
        }
    }
    // The drop waits for what is pending.
    let mut views: Vec<_> = recv.iter_mut().map(DeviceBuffer::as_slice_mut).collect();
    let mut group = Group::new();
    for ((comm, view), stream) in ranks.comms.iter().zip(&mut views).zip(&ranks.streams) {
        group = group.add(comm.all_reduce_in_place(view, Reduction::Average)?, stream)?;
    }
    group.enqueue()?;
    drop(ranks);
    assert_eq!(recv[0].to_vec()?[1], sum + number(n));
    Ok(())
}

#[test]
fn parts_are_gathered_scattered_broadcast_sent_and_received() -> Result<()> {
    let Some(ranks) = ranks() else { return Ok(()) };
    let n = ranks.len();
    let parts = ranks.buffers(10, |rank, at| number(10 * rank + at));
    let mut all = ranks.buffers(10 * n, |_, _| -1.0);
    let mut part = ranks.buffers(10, |_, _| -1.0);
    let mut group = Group::new();
    let sends: Vec<_> = parts.iter().map(DeviceBuffer::as_slice).collect();
    let mut alls: Vec<_> = all.iter_mut().map(DeviceBuffer::as_slice_mut).collect();
    for (at, all) in alls.iter_mut().enumerate() {
        group = group.add(ranks.comms[at].all_gather(&sends[at], all)?, &ranks.streams[at])?;
    }
    group.enqueue()?;
    for all in &all {
        assert_eq!(all.to_vec()?, (0..10 * n).map(number).collect::<Vec<_>>());
    }
    let sends: Vec<_> = all.iter().map(DeviceBuffer::as_slice).collect();
    let mut recvs: Vec<_> = part.iter_mut().map(DeviceBuffer::as_slice_mut).collect();
    let mut group = Group::new();
    for (at, recv) in recvs.iter_mut().enumerate() {
        let operation = ranks.comms[at].reduce_scatter(&sends[at], recv, Reduction::Sum)?;
        group = group.add(operation, &ranks.streams[at])?;
    }
    group.enqueue()?;
    for (rank, part) in part.iter().enumerate() {
        assert_eq!(part.to_vec()?, (0..10).map(|at| number(n * (10 * rank + at))).collect::<Vec<_>>());
    }
    // From each rank to the next one.
    let sends: Vec<_> = parts.iter().map(DeviceBuffer::as_slice).collect();
    let mut recvs: Vec<_> = part.iter_mut().map(DeviceBuffer::as_slice_mut).collect();
    let mut group = Group::new();
    let peer = |rank: usize| u32::try_from(rank % n).unwrap();
    for (at, recv) in recvs.iter_mut().enumerate() {
        let (comm, stream) = (&ranks.comms[at], &ranks.streams[at]);
        group = group.add(comm.send(&sends[at], peer(at + 1))?, stream)?;
        group = group.add(comm.recv(recv, peer(at + n - 1))?, stream)?;
    }
    group.enqueue()?;
    for (rank, part) in part.iter().enumerate() {
        let from = (rank + n - 1) % n;
        assert_eq!(part.to_vec()?, (0..10).map(|at| number(10 * from + at)).collect::<Vec<_>>());
    }
    let mut views: Vec<_> = part.iter_mut().map(DeviceBuffer::as_slice_mut).collect();
    let mut group = Group::new();
    for ((comm, view), stream) in ranks.comms.iter().zip(&mut views).zip(&ranks.streams) {
        group = group.add(comm.broadcast(view, 0)?, stream)?;
    }
    group.enqueue()?;
    let expected = part[0].to_vec()?;
    for part in &part {
        assert_eq!(part.to_vec()?, expected);
    }
    ranks.comms.iter().try_for_each(Communicator::async_error)
}

#[test]
fn work_before_and_after_a_collective_on_other_streams_is_ordered() -> Result<()> {
    let Some(ranks) = ranks() else { return Ok(()) };
    let mut buffers: Vec<DeviceBuffer<u8>> = Vec::new();
    for comm in &ranks.comms {
        let mut buffer = comm.device().with_current(|| DeviceBuffer::alloc(1 << 20))?;
        let other = Stream::builder().device(comm.device()).non_blocking().build()?;
        memset_async(&mut buffer, 1, &other)?;
        buffers.push(buffer);
    }
    let mut views: Vec<_> = buffers.iter_mut().map(DeviceBuffer::as_slice_mut).collect();
    let mut group = Group::new();
    for ((comm, view), stream) in ranks.comms.iter().zip(&mut views).zip(&ranks.streams) {
        group = group.add(comm.all_reduce_in_place(view, Reduction::Sum)?, stream)?;
    }
    group.enqueue()?;
    let n = u8::try_from(ranks.len()).unwrap();
    for buffer in &mut buffers {
        assert!(buffer.to_vec()?.iter().all(|byte| *byte == n));
    }
    Ok(())
}

#[test]
fn a_rank_alone_joins_by_an_identity_and_refuses_what_does_not_fit() -> Result<()> {
    if ranks().is_none() {
        return Ok(());
    }
    let id = UniqueId::from_bytes(*UniqueId::new()?.as_bytes());
    let comm = Communicator::init_rank(1, &id, 0)?;
    assert_eq!((comm.rank(), comm.size(), comm.device()), (0, 1, Device::current()?));
    let (x, mut y) = (DeviceBuffer::<i64>::alloc_zeroed(4)?, DeviceBuffer::<i64>::alloc_zeroed(3)?);
    fn refused<T>(result: Result<T>) -> bool {
        matches!(result, Err(error) if matches!(error.kind(), ErrorKind::Refused(_)))
    }
    assert!(refused(comm.all_reduce(&x.as_slice(), &mut y.as_slice_mut(), Reduction::Sum)));
    assert!(refused(comm.all_gather(&x.as_slice(), &mut y.as_slice_mut())));
    assert!(refused(comm.send(&x.as_slice(), 1)) && refused(comm.broadcast(&mut y.as_slice_mut(), 1)));
    let mut stream = Stream::new()?;
    let mut captured = Ok(());
    stream.capture(|stream| {
        let mut view = y.as_slice_mut();
        captured = comm.all_reduce_in_place(&mut view, Reduction::Sum).and_then(|it| it.enqueue(stream));
        Ok(())
    })?;
    assert!(refused(captured));
    let mut view = y.as_slice_mut();
    comm.all_reduce_in_place(&mut view, Reduction::Min)?.enqueue(&stream)?;
    assert_eq!(y.to_vec()?, [0; 3]);
    comm.abort()
}

#[test]
fn ranks_of_one_process_whose_operations_do_not_fit_are_refused() -> Result<()> {
    let Some(ranks) = ranks() else { return Ok(()) };
    if ranks.len() < 2 {
        println!("one device: ranks of one process need two");
        return Ok(());
    }
    let mut buffers = ranks.buffers(8, |_, _| 1.0);
    let mut views: Vec<_> = buffers.iter_mut().map(DeviceBuffer::as_slice_mut).collect();
    let parts = views.iter_mut().enumerate().map(|(rank, it)| it.slice_mut(rank..));
    let mut parts = parts.collect::<cuda_safe::Result<Vec<_>>>()?;
    let mut group = Group::new();
    for ((comm, part), stream) in ranks.comms.iter().zip(&mut parts).zip(&ranks.streams) {
        group = group.add(comm.all_reduce_in_place(part, Reduction::Sum)?, stream)?;
    }
    let text = group.enqueue().unwrap_err().to_string();
    let expected =
        "rank 1 enqueues ncclAllReduce of 7 f32, Sum, where another rank enqueued ncclAllReduce of 8";
    assert!(text.starts_with(expected), "{text}");
    let alone = ranks.comms[0].all_reduce_in_place(&mut parts[0], Reduction::Sum)?;
    assert!(alone.enqueue(&ranks.streams[0]).unwrap_err().to_string().contains("abort"));
    assert_eq!(buffers[1].to_vec()?, [1.0; 8]);
    Communicator::abort_all(ranks.comms)
}

/// Returns the error if it does not name a line of this file, or names one of a crate besides.
fn misplaced(call: &str, answer: Result<()>) -> Option<String> {
    let error = answer.err().unwrap_or_else(|| panic!("{call} did not fail"));
    let wrong = error.call_site().file() != file!() || error.to_string().contains("src/");
    wrong.then(|| format!("{call}: {error}"))
}

#[test]
fn each_error_names_the_line_of_its_caller() -> Result<()> {
    let mut wrong = Vec::new();
    let mut here = |call: &str, answer: Result<()>| wrong.extend(misplaced(call, answer));
    here("from_env", Communicator::from_env(Duration::ZERO).map(drop));
    let id = match UniqueId::new() {
        Ok(id) => id,
        missing => {
            here("UniqueId::new", missing.map(drop));
            here("init_all", Communicator::init_all(&[]).map(drop));
            assert!(wrong.is_empty(), "{wrong:#?}");
            println!("not run, no NCCL");
            return Ok(());
        }
    };
    here("init_rank, too many", Communicator::init_rank(u32::MAX, &id, 0).map(drop));
    here("init_rank, of NCCL", Communicator::init_rank(1, &id, 1).map(drop));
    let Some(mut ranks) = ranks() else { return Ok(()) };
    let far = u32::try_from(ranks.len()).unwrap();
    let (comm, mut stream) = (&ranks.comms[0], Stream::new()?);
    let mut buffers = [DeviceBuffer::<f32>::alloc_zeroed(4)?, DeviceBuffer::<f32>::alloc_zeroed(3)?];
    {
        let [x, y] = &mut buffers;
        let (x, y) = (x.as_slice(), &mut y.as_slice_mut());
        here("all_reduce", comm.all_reduce(&x, y, Reduction::Sum).map(drop));
        here("reduce_in_place", comm.reduce_in_place(y, Reduction::Sum, far).map(drop));
        here("broadcast", comm.broadcast(y, far).map(drop));
        here("reduce_scatter", comm.reduce_scatter(&x, y, Reduction::Sum).map(drop));
        here("all_gather", comm.all_gather(&x, y).map(drop));
        here("send", comm.send(&x, far).map(drop));
        here("recv", comm.recv(y, far).map(drop));
        stream.capture(|stream| {
            let operation = comm.send(&x, 0).unwrap();
            here("Operation::enqueue", operation.enqueue(stream));
            here("Group::add", Group::new().add(comm.send(&x, 0).unwrap(), stream).map(drop));
            Ok(())
        })?;
        if let Some(second) = ranks.comms.get(1).filter(|second| second.device() != comm.device()) {
            here("of another device", second.send(&x, 0).map(drop));
        }
        if std::env::var_os("CUDA_NCCL_STAND_IN").is_some() {
            let mut group = Group::new();
            for _ in 0..65 {
                group = group.add(comm.send(&x, 1)?, &ranks.streams[0])?;
            }
            here("Group::enqueue, of NCCL", group.enqueue());
            here("async_error", comm.async_error());
            here("broken", comm.send(&x, 1)?.enqueue(&ranks.streams[0]));
        }
    }
    let (tell, told) = channel();
    let last = ranks.comms.pop().unwrap();
    stream.launch_host_fn(move || {
        let devices = [last.device()];
        let alone = Communicator::init_all(&devices).map(drop);
        let joined = Communicator::init_rank(1, &id, 0).map(drop);
        tell.send([("init_all", alone), ("init_rank", joined), ("abort", last.abort())]).unwrap();
    })?;
    for (call, answer) in told.recv().unwrap() {
        here(&format!("{call} in a host function"), answer);
    }
    if let Some(first) = ranks.comms.pop() {
        here("abort of one of two", first.abort());
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn the_child_of_a_fork_destroys_no_communicator() -> Result<()> {
    if ranks().is_none() {
        return Ok(());
    }
    let comm = Communicator::init_rank(1, &UniqueId::new()?, 0)?;
    // SAFETY: the child only drops the communicator and exits. It takes no lock that another thread may have
    // held.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: ends the child if the drop waits for NCCL, which a fork does not copy.
        unsafe { libc::alarm(20) };
        drop(comm);
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(0) };
    }
    let mut status = -1;
    // SAFETY: the pointer is to a live integer, which the call fills.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "the child called NCCL");
    Ok(())
}

/// With `NCCL_COMM_ID`, every communicator of a process has the same identity, as all of the stand-in have.
#[test]
fn ranks_that_join_again_by_one_identity_are_compared_with_those_that_joined_with_them() -> Result<()> {
    if std::env::var_os("CUDA_NCCL_STAND_IN").is_none() {
        println!("not run: a GPU has one rank of NCCL, and its identities differ");
        return Ok(());
    }
    let (id, stream) = (UniqueId::new()?, Stream::new()?);
    let join = |rank: u32| Communicator::init_rank(2, &id, rank);
    // Rank 1 comes first.
    let pair = || {
        std::thread::scope(|scope| {
            let one = scope.spawn(|| join(1));
            std::thread::sleep(Duration::from_millis(2));
            Ok::<_, cuda_nccl::Error>((join(0)?, one.join().unwrap()?))
        })
    };
    let sum = |(zero, one): &(Communicator, Communicator), lengths: [usize; 2]| -> Result<()> {
        let buffer = |length: usize| DeviceBuffer::from_slice(&vec![1.0_f32; length]);
        let (mut a, mut b) = (buffer(lengths[0])?, buffer(lengths[1])?);
        let (mut a, mut b) = (a.as_slice_mut(), b.as_slice_mut());
        Group::new()
            .add(zero.all_reduce_in_place(&mut a, Reduction::Sum)?, &stream)?
            .add(one.all_reduce_in_place(&mut b, Reduction::Sum)?, &stream)?
            .enqueue()
    };
    // Rank 0 of each pair lives on, also of one that has counted collectives.
    let mut old = Vec::new();
    for turn in 0..4 {
        let ranks = pair()?;
        (0..turn).try_for_each(|_| sum(&ranks, [4, 4]))?;
        old.push(ranks.0);
        drop(ranks.1);
        let refused = sum(&pair()?, [4, 4000]).unwrap_err();
        assert!(refused.to_string().contains("where another rank enqueued"), "{refused}");
    }
    Ok(())
}

/// Compiles the stand-in into a folder as NCCL has it. Returns false if there is no compiler.
fn compile(folder: &std::path::Path) -> bool {
    std::fs::create_dir_all(folder.join("lib")).unwrap();
    let mut compiler = std::process::Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(folder.join("lib/libnccl.so.2"));
    // cargo starts tests in the folder of the package.
    compiler.arg("tests/stand_in/nccl.c");
    compiler.status().is_ok_and(|status| status.success())
}

#[test]
fn the_emulator_runs_all_of_them_with_a_stand_in_for_nccl() {
    let emulated = Device::current().unwrap().properties().unwrap().name().starts_with("CUDA emulator");
    if !emulated || std::env::var_os("CUDA_NCCL_STAND_IN").is_some() {
        println!("with NCCL or its stand-in already");
        return;
    }
    let folder = std::env::temp_dir().join(format!("cuda-nccl-{}", std::process::id()));
    assert!(compile(&folder), "the stand-in needs a C compiler");
    let run = |devices: &str, tests: &str| {
        std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--nocapture", "--test-threads=1", tests])
            .env("NCCL_PATH", &folder)
            .env("CUDA_NCCL_STAND_IN", "1")
            .env("CUDA_EMULATOR_DEVICES", devices)
            .output()
    };
    // With one device, the current one is known without a call, which would fail in a child.
    let (output, alone) = (run("2", "collectives::"), run("1", "the_child_of_a_fork"));
    std::fs::remove_dir_all(&folder).unwrap();
    let (output, alone) = (output.unwrap(), alone.unwrap());
    assert!(alone.status.success(), "{}", String::from_utf8_lossy(&alone.stderr));
    let [text, errors] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success(), "{text}\n{errors}");
    assert!(text.contains("9 passed") && !text.contains("not run"), "{text}");
    // By drops. One communicator is aborted.
    assert!(text.matches("destroyed").count() >= 4, "{text}");
}
