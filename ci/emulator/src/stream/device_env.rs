//! The machine as a running kernel sees it.
#![expect(unsafe_code, reason = "writes to the C standard output")]

use std::fmt::Write as _;
use std::sync::Arc;

use super::condition;
use super::grid::Grid;
use super::names::OperationId;
use super::queue::Queue;
use crate::device::Limits;
use crate::exec::env::{AccessKind, Env, Region, RuntimeAnswer, RuntimeCall};
use crate::exec::image::{Image, Texture};
use crate::exec::launch::element;
use crate::exec::program::Scope;
use crate::exec::{Mistake, Poll, Program, Refused, Report};
use crate::finding::{self, Finding, Subject};
use crate::host_line::{HostLine, demangled};
use crate::memory::{Allocation, Allocations, Kind};
use crate::page::host_memory;
use crate::race::Touched;
use crate::sys::{cudaMemAccessFlagsProtNone, cudaMemAccessFlagsProtReadWrite};

/// Whether a device with these peers reads memory, and whether it writes it.
pub(crate) fn access(
    allocations: &Allocations,
    it: &Allocation,
    device: usize,
    peers: &[usize],
) -> (bool, bool) {
    if it.kind.on_host() || it.device == device {
        (true, true)
    } else if it.kind == Kind::Pool {
        // Access to a pool's memory is a property of the pool, not of the devices.
        let flags = allocations
            .pools
            .of(it.start)
            .map_or(cudaMemAccessFlagsProtNone, |(_, pool)| pool.access(device));
        (flags != cudaMemAccessFlagsProtNone, flags == cudaMemAccessFlagsProtReadWrite)
    } else {
        let peer = peers.contains(&it.device);
        (peer, peer)
    }
}

/// The surroundings of a kernel on a device, during a single step.
pub(super) struct DeviceEnv<'a> {
    pub(super) allocations: &'a mut Allocations,
    pub(super) queue: &'a mut Queue,
    /// The kernel's operation.
    pub(super) id: OperationId,
    pub(super) device: usize,
    /// The number of devices.
    pub(super) devices: usize,
    pub(super) limits: Limits,
    /// The devices whose memory this one may use.
    pub(super) peers: &'a [usize],
    /// The number of processors that a kernel may use.
    pub(super) processors: usize,
    /// The output of the kernel in this step.
    pub(super) printed: Vec<u8>,
    /// The bytes that the kernel has touched, if races are looked for.
    pub(super) touched: Option<Touched>,
    /// The last address at which there was no memory.
    pub(super) missed: Option<u64>,
    /// The address of the last strong read, and whether the host reaches it.
    pub(super) polled: Option<(usize, bool)>,
    /// Where the program launched the kernel.
    pub(super) line: HostLine,
    /// The kernel's work and handles, if it has called the runtime.
    pub(super) grid: Option<Box<Grid>>,
}

impl Env for DeviceEnv<'_> {
    fn processors(&self) -> usize {
        self.processors
    }

    fn region(&mut self, addr: u64) -> Option<Region> {
        let it = self.allocations.at(addr).filter(|it| it.kind != Kind::Array)?;
        let (reads, writes) = access(self.allocations, it, self.device, self.peers);
        reads.then(|| Region { start: it.start, end: it.end(), host: it.host, writable: writes })
    }

    fn nearest(&mut self, addr: u64) -> Option<String> {
        self.missed = Some(addr);
        match self.allocations.at(addr) {
            Some(it) if it.kind == Kind::Array => {
                Some(format!("inside {it}, which has no addresses for kernels"))
            }
            Some(it) if it.kind == Kind::Pool => {
                Some(format!("inside {it}, to whose pool device {} was given no access", self.device))
            }
            Some(it) => Some(format!("inside {it}, to which device {} has no peer access", self.device)),
            None if self.allocations.on_device(addr) => self.allocations.nearest(addr),
            None => {
                let near =
                    self.allocations.nearest(addr).map_or_else(String::new, |near| format!(" ({near})"));
                Some(format!(
                    "{}{near}, which kernels do not reach: copy it to memory from cudaMalloc, register it \
                     with cudaHostRegister, or allocate it with cudaMallocManaged or cudaMallocHost",
                    host_memory(addr)
                ))
            }
        }
    }

    fn texture(&mut self, handle: u64) -> Result<Texture, Refused> {
        let reached = |it: &Allocation| access(self.allocations, it, self.device, self.peers).0;
        self.allocations.texture(handle, self.device, reached)
    }

    fn surface(&mut self, handle: u64) -> Result<Image, Refused> {
        self.allocations.surface(handle, self.device)
    }

    fn heap_malloc(&mut self, bytes: u64) -> u64 {
        self.allocations.heap_malloc(self.device, bytes).unwrap_or(0)
    }

    fn heap_free(&mut self, addr: u64) -> bool {
        self.allocations.starting_at(addr, &[Kind::Heap]).is_some_and(|it| it.device == self.device)
            && self.allocations.heap_free(self.device, addr)
    }

    fn watches(&self) -> bool {
        self.allocations.written.is_some()
    }

    fn wrote(&mut self, at: *mut u8, bytes: u64) {
        self.allocations.wrote(at, bytes);
    }

    fn unwritten(&mut self, at: *mut u8, bytes: u64, kernel: &str) -> Option<String> {
        self.allocations.unwritten(at, bytes, kernel)
    }

    fn traces(&self) -> bool {
        self.touched.is_some()
    }

    fn touched(&mut self, kind: (AccessKind, Scope), at: &[*mut u8; 32], mask: u32, bytes: u64, pc: u32) {
        if let Some(touched) = &mut self.touched {
            touched.warp(kind, at, mask, usize::try_from(bytes).unwrap_or(0), pc);
        }
    }

    fn draw(&mut self, count: usize) -> Option<usize> {
        self.queue.draw(count)
    }

    fn runs_on(&self) -> bool {
        self.queue.runs_on
    }

    fn has_flags(&self) -> bool {
        self.may_find_flags()
    }

    fn wrote_flag(&mut self, at: *mut u8, atomic: bool, releases: Option<Scope>) {
        self.note_flag(at, atomic, releases);
    }

    fn finds_flag(&mut self, at: *mut u8, value: u64) -> bool {
        self.finds(at, value)
    }

    fn acquired(&mut self, at: usize, program: &Arc<Program>) {
        self.acquire(at, program);
    }

    fn waits_for_grids(&mut self, program: &Arc<Program>) {
        if self.grid.as_ref().is_some_and(|grid| grid.early.is_some()) {
            self.divide(program);
        }
    }

    fn report(&mut self, report: Report) {
        let Report { mistake, mut what, parts, memory } = report;
        let advice = "Between the two, put a __syncthreads() or __syncwarp() for threads of one block or \
                      warp. Between blocks, use two kernels, grid.sync() of a cooperative launch, or atomic \
                      operations and fences.";
        let barrier = "All threads of a block must reach the same __syncthreads().";
        let mask = "The mask must name each thread that executes the instruction, and only those that do.";
        let proxy = "After the writes, have the threads that wrote execute fence.proxy.async, and then \
                     meet at a barrier.";
        let object = memory.and_then(|(at, size)| Some((self.allocations.at(at)?, at, size)));
        let object = object.map(|(it, at, size)| {
            // Writing to a string does not fail.
            let _ = write!(what, ": {} of {it}", element(at - it.start, size));
            it.line
        });
        let finding = match mistake {
            Mistake::Race => Finding::new(Subject::Race, what, advice),
            Mistake::Unwritten => Finding::unwritten(what),
            Mistake::Outside => {
                Finding::new(Subject::Bounds, what, "Check the index against the array's length.")
            }
            Mistake::Barrier => Finding::new(Subject::Barrier, what, barrier),
            Mistake::Mask => Finding::new(Subject::Barrier, what, mask),
            Mistake::Proxy => Finding::new(Subject::Race, what, proxy),
        };
        let finding = parts.into_iter().fold(finding, |it, (what, at)| it.thread(what, at));
        let finding = finding.part("the launch", self.line);
        object.into_iter().fold(finding, |it, line| it.part("the memory", line)).report();
    }

    fn polls(&mut self, program: &Program, poll: &Poll) {
        let Some(it) = self.allocations.around(poll.at) else { return };
        let offset = u64::try_from(poll.at.addr().wrapping_sub(it.host.addr())).unwrap_or(0);
        let written = match self.allocations.is_written(it, offset, poll.bytes) {
            Some(true) => "they were written before",
            Some(false) => "nobody has ever written them",
            None => "they may never have been written",
        };
        let bytes: String = (0..poll.bytes).rev().map(|n| format!("{:02x}", it.byte(offset + n))).collect();
        let code = program.place(poll.pc);
        let what = format!(
            "kernel {} has polled for {} s: it reads {} of {it}{code}, which stay 0x{bytes}; {written}",
            demangled(&program.name),
            poll.time.as_secs(),
            element(offset, poll.bytes),
        );
        finding::note(&what, self.line, &code);
    }

    fn complain(&mut self, text: &str) {
        // A read of what nobody has written is a finding; other lines are the kernel's own.
        match text.strip_prefix("CUDA emulator: initcheck: ") {
            Some(what) => Finding::unwritten(what.to_owned()).part("the launch", self.line).report(),
            None => eprintln!("{text}"),
        }
    }

    fn set_conditional(&mut self, handle: u64, value: u32) {
        condition::set(handle, value);
    }

    fn runtime(&mut self, call: &RuntimeCall<'_>) -> Result<RuntimeAnswer, Refused> {
        self.serve(call)
    }

    fn print(&mut self, text: &str) {
        self.printed.extend_from_slice(text.as_bytes());
    }
}

unsafe extern "C" {
    static stdout: *mut libc::FILE;
}

/// Writes to standard output through the C library, so that a program's own lines stay in order with it.
pub(super) fn show(text: &[u8]) {
    if text.is_empty() {
        return;
    }
    // SAFETY: the C library has set this up before any of this library ran, and never takes it down.
    let file = unsafe { stdout };
    // SAFETY: `text` is that many readable bytes and `file` is an open stream.
    unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), file) };
    // SAFETY: `text` is that many readable bytes and `file` is an open stream.
    unsafe { libc::fflush(file) };
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::exec::env::{Step, Task};
    use crate::exec::{Addresses, Kernel, Launch, lower};
    use crate::ptx::parse;

    /// The machine around a kernel, and the complaints of the kernel.
    struct Listening<'a>(DeviceEnv<'a>, Vec<String>);

    impl Env for Listening<'_> {
        fn region(&mut self, addr: u64) -> Option<Region> {
            self.0.region(addr)
        }
        fn heap_malloc(&mut self, bytes: u64) -> u64 {
            self.0.heap_malloc(bytes)
        }
        fn heap_free(&mut self, addr: u64) -> bool {
            self.0.heap_free(addr)
        }
        fn print(&mut self, text: &str) {
            self.0.print(text);
        }
        fn watches(&self) -> bool {
            self.0.watches()
        }
        fn wrote(&mut self, at: *mut u8, bytes: u64) {
            self.0.wrote(at, bytes);
        }
        fn unwritten(&mut self, at: *mut u8, bytes: u64, kernel: &str) -> Option<String> {
            self.0.unwritten(at, bytes, kernel)
        }
        fn complain(&mut self, text: &str) {
            self.1.push(text.to_owned());
        }
    }

    /// Runs a kernel of one argument with eight threads. Returns its complaints.
    fn run(allocations: &mut Allocations, source: &str, argument: u64) -> Vec<String> {
        let module = parse(&crate::testing::compile_ptx(source, &[])).unwrap();
        let program = lower(&module, &module.functions[0].name, &Addresses::default()).unwrap();
        let launch = Launch::new(Arc::new(program), [1; 3], [8, 1, 1], argument.to_le_bytes().to_vec());
        let device = DeviceEnv {
            allocations,
            queue: &mut Queue::new(crate::config::Schedule::Late),
            id: 1,
            device: 0,
            devices: 1,
            limits: Limits::default(),
            peers: &[],
            processors: 1,
            printed: Vec::new(),
            touched: None,
            missed: None,
            polled: None,
            line: HostLine::default(),
            grid: None,
        };
        let mut env = Listening(device, Vec::new());
        let step = Kernel::new(launch).step(&mut env, 1_000_000);
        assert!(matches!(step, Step::Done), "{step:?}");
        env.1
    }

    #[test]
    fn a_kernel_that_reads_what_nobody_has_written_is_told_with_thread_and_allocation() {
        const WRITES: &str = "__global__ void writes(int* p) { p[threadIdx.x] = 1; }";
        const READS: &str = "__global__ void reads(int* p) { p[8 + threadIdx.x] = p[threadIdx.x + 2]; }";
        const COUNTS: &str = "__global__ void counts(int* p) { atomicAdd(p + 20, 1); }";
        let mut allocations = Allocations::new(1, 1 << 24).unwrap();
        let plain = allocations.allocate(0, 100, Kind::Device, "cudaMalloc").unwrap();
        assert!(run(&mut allocations, READS, plain).is_empty(), "nobody has asked");
        allocations.watch().unwrap();
        let at = allocations.allocate(0, 100, Kind::Device, "cudaMalloc").unwrap();
        assert!(run(&mut allocations, WRITES, at).is_empty());
        // Threads 6 and 7 read the elements 8 and 9, which the first threads write in the same turn or
        // before: those are the kernel's own.
        assert!(run(&mut allocations, "__global__ void own(int* p) { p[threadIdx.x] += 1; }", at).is_empty());
        let told = run(&mut allocations, READS, at + 16);
        assert_eq!(told.len(), 1, "once: {told:?}");
        let words = [
            "kernel",
            "reads",
            "read of 4 bytes",
            "byte 32 of 100 bytes",
            "cudaMalloc on device 0",
            "thread (2,0,0)",
        ];
        assert!(words.iter().all(|word| told[0].contains(word)), "{told:?}");
        let told = run(&mut allocations, COUNTS, at);
        assert!(told.len() == 1 && told[0].contains("byte 80 of 100"), "{told:?}");
        assert!(run(&mut allocations, "__global__ void counted(int* p) { p[0] = p[20]; }", at).is_empty());
    }
}
