//! Adds the vectors of all GPUs with NCCL.
//!
//! One process has all GPUs of the machine. Started by `launch N all_reduce`, or by torchrun, each process
//! has one, and the processes find each other. With `NCCL_MULTI_RANK_GPU_ENABLE=1`, which NCCL 2.32 knows, a
//! single GPU has two ranks. `all_reduce bandwidth` prints a table of bus bandwidth, by the formula of
//! nccl-tests. Without NCCL or a GPU, the program says so.
use std::process::ExitCode;
use std::time::Duration;

use cuda_nccl::{Communicator, ErrorKind, Group, Reduction};
use cuda_safe::{Device, DeviceBuffer, Event, Stream};

/// The exit code of a program that has not run, and the reason.
fn not_run(why: &str) -> anyhow::Result<ExitCode> {
    eprintln!("not run: {why}");
    Ok(ExitCode::from(77))
}

/// The ranks of this process.
struct Ranks {
    comms: Vec<Communicator>,
    streams: Vec<Stream>,
}

impl Ranks {
    fn new() -> cuda_nccl::Result<Self> {
        let comms = if std::env::var_os("RANK").is_some() {
            vec![Communicator::from_env(Duration::from_secs(30))?]
        } else {
            let mut devices: Vec<_> = Device::all()?.collect();
            if devices.len() == 1 && std::env::var_os("NCCL_MULTI_RANK_GPU_ENABLE").is_some() {
                devices.push(devices[0]);
            }
            Communicator::init_all(&devices)?
        };
        let stream = |comm: &Communicator| Stream::builder().device(comm.device()).non_blocking().build();
        let streams = comms.iter().map(stream).collect::<cuda_safe::Result<_>>()?;
        Ok(Self { comms, streams })
    }

    /// Adds the vectors of all ranks in place.
    fn add(&self, vectors: &mut [DeviceBuffer<f32>]) -> cuda_nccl::Result<()> {
        let mut views: Vec<_> = vectors.iter_mut().map(DeviceBuffer::as_slice_mut).collect();
        let mut group = Group::new();
        for ((comm, view), stream) in self.comms.iter().zip(&mut views).zip(&self.streams) {
            group = group.add(comm.all_reduce_in_place(view, Reduction::Sum)?, stream)?;
        }
        group.enqueue()
    }

    /// Prints the bus bandwidth of sums in place.
    fn bandwidth(&self) -> anyhow::Result<()> {
        let turns = 20_u16;
        let ranks = f64::from(self.comms[0].size());
        let is_first = self.comms[0].rank() == 0;
        if is_first {
            println!("{:>12} {:>10} {:>10}", "bytes", "us", "GB/s");
        }
        for power in [20, 22, 24, 26, 28] {
            let bytes = 1_usize << power;
            let vector = |comm: &Communicator| {
                comm.device().with_current(|| DeviceBuffer::<f32>::alloc_zeroed(bytes / 4))
            };
            let mut vectors = self.comms.iter().map(vector).collect::<cuda_safe::Result<Vec<_>>>()?;
            for _ in 0..3 {
                self.add(&mut vectors)?;
            }
            let event = || Event::with_device(self.comms[0].device(), cuda_safe::EventFlags::DEFAULT);
            let (start, stop) = (event()?, event()?);
            start.record(&self.streams[0])?;
            for _ in 0..turns {
                self.add(&mut vectors)?;
            }
            stop.record(&self.streams[0])?;
            stop.synchronize()?;
            let seconds = f64::from(stop.elapsed_ms(&start)?) / 1e3 / f64::from(turns);
            let bus = f64::from(1_u32 << power) / seconds * 2.0 * (ranks - 1.0) / ranks;
            if is_first {
                println!("{bytes:>12} {:>10.1} {:>10.2}", seconds * 1e6, bus / 1e9);
            }
        }
        Ok(())
    }
}

fn main() -> anyhow::Result<ExitCode> {
    let emulated = Device::current()?.properties()?.name().starts_with("CUDA emulator");
    let ranks = match Ranks::new() {
        Ok(ranks) => ranks,
        Err(error) if matches!(error.kind(), ErrorKind::Missing(_)) => return not_run("no NCCL"),
        Err(_) if emulated => return not_run("no GPU"),
        Err(error) => return Err(error.into()),
    };
    if std::env::args().nth(1).as_deref() == Some("bandwidth") {
        ranks.bandwidth()?;
        return Ok(ExitCode::SUCCESS);
    }
    let len = 1 << 16;
    let mut vectors = Vec::new();
    for comm in &ranks.comms {
        let first = u16::try_from(comm.rank())?;
        let values: Vec<f32> = (0..1000).map(|at| f32::from(first + at)).cycle().take(len).collect();
        vectors.push(comm.device().with_current(|| DeviceBuffer::from_slice(&values))?);
    }
    ranks.add(&mut vectors)?;
    let sums = vectors[0].to_vec()?;
    let mut same = true;
    for vector in &vectors {
        same &= vector.to_vec()? == sums;
    }
    if ranks.comms[0].rank() == 0 {
        println!("{} ranks: the sums begin {}, {}, {}", ranks.comms[0].size(), sums[0], sums[1], sums[2]);
        println!("every rank of this process has them: {}", if same { "yes" } else { "no" });
    }
    Ok(ExitCode::SUCCESS)
}
