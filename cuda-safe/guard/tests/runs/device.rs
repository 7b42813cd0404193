//! Runs kernels as PTX, with memory whose neighbourhood is watched.

use std::ffi::{CString, c_void};

use cuda_guard::{Failure, Guarded, RECORD, Record, Region, ZEROS};
use cuda_safe::library::Library;
use cuda_safe::{DeviceBuffer, sys};

/// Bytes on each side of memory that no launch may change.
const MARGIN: usize = 256;
const UNTOUCHED: u8 = 0xa5;

/// An argument of a launch.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    /// A pointer to these bytes. The offset is that of their start from an aligned address.
    Memory(Vec<u8>, usize),
    Number(u32),
    /// A structure by value.
    Bytes(Vec<u8>),
}

#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) kernel: &'static str,
    pub(crate) grid: u32,
    pub(crate) block: u32,
    pub(crate) shared: usize,
    pub(crate) arguments: Vec<Argument>,
}

/// The memory of the arguments after a launch, and what its guards have stopped.
pub(crate) type Outcome = (Vec<Vec<u8>>, Option<Failure>);

fn ok(code: sys::cudaError_t) {
    assert_eq!(code, sys::cudaSuccess);
}

fn address(buffer: &DeviceBuffer<u8>) -> u64 {
    buffer.as_ptr() as u64
}

/// Launches a kernel of a text, with more arguments of 64 bits behind its own. Returns the first error.
fn run(text: &str, launch: &Launch, memory: &[DeviceBuffer<u8>], more: &[u64]) -> sys::cudaError_t {
    let library = Library::from_ptx(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let name = CString::new(launch.kernel).unwrap();
    let mut kernel = std::ptr::null_mut();
    // SAFETY: the name ends with a zero, and the library is live.
    ok(unsafe { sys::cudaLibraryGetKernel(&raw mut kernel, library.as_raw(), name.as_ptr()) });
    let mut memory = memory.iter();
    let mut values: Vec<Vec<u8>> = Vec::new();
    for argument in &launch.arguments {
        values.push(match argument {
            Argument::Memory(_, offset) => {
                let start = address(memory.next().unwrap()) + (MARGIN + offset) as u64;
                start.to_le_bytes().to_vec()
            }
            Argument::Number(number) => number.to_le_bytes().to_vec(),
            Argument::Bytes(bytes) => bytes.clone(),
        });
    }
    values.extend(more.iter().map(|it| it.to_le_bytes().to_vec()));
    let mut pointers: Vec<*mut c_void> = values.iter_mut().map(|it| it.as_mut_ptr().cast()).collect();
    let dim = |x| sys::dim3 { x, y: 1, z: 1 };
    // SAFETY: there is a value for each parameter. What the kernel does with them is what is tested.
    let code = unsafe {
        sys::cudaLaunchKernel(
            kernel.cast(),
            dim(launch.grid),
            dim(launch.block),
            pointers.as_mut_ptr(),
            launch.shared,
            std::ptr::null_mut(),
        )
    };
    ok(code);
    // SAFETY: it has no preconditions.
    unsafe { sys::cudaDeviceSynchronize() }
}

impl Launch {
    fn memory(&self) -> Vec<DeviceBuffer<u8>> {
        let mut list = Vec::new();
        for argument in &self.arguments {
            if let Argument::Memory(bytes, offset) = argument {
                let mut all = vec![UNTOUCHED; bytes.len() + 2 * MARGIN + 16];
                all[MARGIN + offset..][..bytes.len()].copy_from_slice(bytes);
                list.push(DeviceBuffer::from_slice(&all).unwrap());
            }
        }
        list
    }

    /// Returns the memory, and asserts that its neighbourhood is unchanged.
    fn contents(&self, memory: &[DeviceBuffer<u8>]) -> Vec<Vec<u8>> {
        let is_memory = |it: &&Argument| matches!(it, Argument::Memory(..));
        let contents = |(buffer, argument): (&DeviceBuffer<u8>, &Argument)| {
            let Argument::Memory(bytes, offset) = argument else { unreachable!() };
            let all = buffer.to_vec().unwrap();
            let (before, rest) = all.split_at(MARGIN + offset);
            let (own, behind) = rest.split_at(bytes.len());
            assert!(before.iter().chain(behind).all(|it| *it == UNTOUCHED), "bytes around {argument:?}");
            own.to_vec()
        };
        memory.iter().zip(self.arguments.iter().filter(is_memory)).map(contents).collect()
    }

    /// Runs the kernel as it is.
    pub(crate) fn original(&self, text: &str) -> Vec<Vec<u8>> {
        let memory = self.memory();
        ok(run(text, self, &memory, &[]));
        self.contents(&memory)
    }

    /// Runs the guarded form.
    pub(crate) fn guarded(&self, guarded: &Guarded) -> Outcome {
        let memory = self.memory();
        // Where each argument points to, by parameter.
        let mut next = memory.iter();
        let place = |it: &Argument| match it {
            Argument::Memory(bytes, offset) => {
                let start = address(next.next().unwrap()) + (MARGIN + offset) as u64;
                (start, bytes.len() as u64)
            }
            _ => (0, 0),
        };
        let places: Vec<_> = self.arguments.iter().map(place).collect();
        let of = |region: Region| match region {
            Region::Argument { parameter, offset: 0 } => places[parameter],
            Region::Argument { .. } => (0, 0),
            _ => (0, self.shared as u64),
        };
        let mut more: Vec<u64> = Vec::new();
        for limit in &guarded.limits {
            let (start, bytes) = of(limit.region);
            more.push(limit.value(start, bytes));
        }
        let zeros = DeviceBuffer::from_slice(&vec![0_u8; usize::try_from(ZEROS).unwrap()]).unwrap();
        let record = DeviceBuffer::from_slice(&[0_u8; RECORD]).unwrap();
        more.extend([address(&zeros), address(&record)]);
        ok(run(&guarded.text, self, &memory, &more));
        assert!(zeros.to_vec().unwrap().iter().all(|it| *it == 0));
        let record: [u8; RECORD] = record.to_vec().unwrap().try_into().unwrap();
        let failure = Record::read(&record).map(|it| guarded.failure(&it, |it| of(it).1).unwrap());
        (self.contents(&memory), failure)
    }
}
