//! Kernels compiled by nvcc while the tests run, interpreted, and compared with the host.

mod arithmetic;
mod bench;
mod clusters;
mod cooperation;
mod faults;
mod later;
mod matrices;
mod programs;
mod workers;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::env::{Env, Region, Step, Task};
use super::fault::Report;
use super::{Addresses, Fault, Kernel, Launch, lower};
use crate::module::image::{image, variables};
use crate::ptx::{Module, parse};

/// A machine that has memory and nothing else.
#[derive(Default)]
pub(super) struct TestMachine {
    next: u64,
    memory: BTreeMap<u64, (Vec<u128>, u64)>,
    heap: Vec<u64>,
    pub(super) printed: String,
    pub(super) complaints: String,
    /// The number of processors that kernels may use.
    pub(super) processors: usize,
    /// Whether it looks for races within kernels, and the number of mistakes that it has found.
    pub(super) traces: bool,
    pub(super) reports: usize,
}

impl TestMachine {
    pub(super) fn alloc(&mut self, bytes: usize) -> u64 {
        self.next = self.next.max(0x7000_0000_0000) + 0x1000;
        let at = self.next;
        self.next = (self.next + bytes as u64).next_multiple_of(0x1000);
        self.memory.insert(at, (vec![0; bytes.div_ceil(16)], bytes as u64));
        at
    }

    pub(super) fn upload<T: bytemuck::Pod>(&mut self, values: &[T]) -> u64 {
        let at = self.alloc(size_of_val(values));
        self.bytes(at)[..size_of_val(values)].copy_from_slice(bytemuck::cast_slice(values));
        at
    }

    pub(super) fn bytes(&mut self, at: u64) -> &mut [u8] {
        let (data, len) = self.memory.get_mut(&at).unwrap();
        &mut bytemuck::cast_slice_mut(data)[..*len as usize]
    }

    pub(super) fn download<T: bytemuck::Pod>(&mut self, at: u64) -> Vec<T> {
        bytemuck::cast_slice(self.bytes(at)).to_vec()
    }
}

impl Env for TestMachine {
    fn processors(&self) -> usize {
        self.processors
    }
    fn traces(&self) -> bool {
        self.traces
    }
    fn report(&mut self, _: Report) {
        self.reports += 1;
    }
    fn region(&mut self, addr: u64) -> Option<Region> {
        let (&start, (data, len)) = self.memory.range_mut(..=addr).next_back()?;
        let host = data.as_mut_ptr().cast();
        (addr < start + *len).then_some(Region { start, end: start + *len, host, writable: true })
    }
    fn heap_malloc(&mut self, bytes: u64) -> u64 {
        if bytes > 1 << 23 {
            return 0;
        }
        let at = self.alloc(bytes as usize);
        self.heap.push(at);
        at
    }
    fn heap_free(&mut self, addr: u64) -> bool {
        let found = self.heap.iter().position(|a| *a == addr);
        found.map(|n| self.memory.remove(&self.heap.swap_remove(n))).is_some()
    }
    fn print(&mut self, text: &str) {
        self.printed += text;
    }
    fn complain(&mut self, text: &str) {
        self.complaints += text;
        self.complaints += "\n";
    }
}

/// A loaded module.
pub(super) struct Loaded {
    pub(super) machine: TestMachine,
    module: Module,
    pub(super) addresses: Addresses,
}

pub(super) fn load(text: &str) -> Loaded {
    let module = parse(text).unwrap();
    let mut machine = TestMachine::default();
    let addresses: Addresses =
        variables(&module).map(|v| (v.name.clone(), machine.alloc(v.size() as usize))).collect();
    for v in variables(&module) {
        let bytes = image(&module, v, &addresses);
        machine.bytes(addresses[&v.name]).copy_from_slice(&bytes);
    }
    Loaded { machine, module, addresses }
}

/// Compiles and loads CUDA source.
pub(super) fn cuda(source: &str) -> Loaded {
    load(&crate::testing::compile_ptx(source, &[]))
}

/// Checks the code of a fault, and the words of its message.
#[track_caller]
pub(super) fn fails(result: Result<(), Fault>, code: u32, words: &[&str]) {
    let fault = result.unwrap_err();
    assert_eq!(fault.code, code, "{fault}");
    assert!(words.iter().all(|word| fault.message.contains(word)), "{words:?} are not all in: {fault}");
}

/// One argument, as bytes.
pub(super) fn arg<T: bytemuck::Pod>(value: T) -> Vec<u8> {
    bytemuck::bytes_of(&value).to_vec()
}

/// Lays arguments out as a kernel wants them.
pub(super) fn pack(program: &super::Program, args: &[Vec<u8>]) -> Vec<u8> {
    assert_eq!(program.params.len(), args.len(), "number of arguments");
    let mut bytes = vec![0; program.param_bytes as usize];
    for (&(at, size), arg) in program.params.iter().zip(args) {
        assert_eq!(size as usize, arg.len(), "size of an argument");
        bytes[at as usize..(at + size) as usize].copy_from_slice(arg);
    }
    bytes
}

impl Loaded {
    pub(super) fn launch(&self, kernel: &str, grid: [u32; 3], block: [u32; 3], args: &[Vec<u8>]) -> Launch {
        let found = self.module.functions.iter().find(|f| f.entry && f.name.contains(kernel));
        let name = &found.unwrap_or_else(|| panic!("no kernel {kernel}")).name;
        let program = lower(&self.module, name, &self.addresses).unwrap();
        let params = pack(&program, args);
        Launch::new(Arc::new(program), grid, block, params)
    }

    pub(super) fn finish(&mut self, launch: Launch) -> Result<(), Fault> {
        let mut kernel = Kernel::new(launch);
        for _ in 0..20_000 {
            match kernel.step(&mut self.machine, 100_000) {
                Step::Done => return Ok(()),
                Step::Yield => {}
                Step::Fault(fault) => return Err(fault),
            }
        }
        panic!("the kernel does not end");
    }

    pub(super) fn run(&mut self, kernel: &str, grid: u32, block: u32, args: &[Vec<u8>]) -> Result<(), Fault> {
        let launch = self.launch(kernel, [grid, 1, 1], [block, 1, 1], args);
        self.finish(launch)
    }
}
