//! The proof of a launch: which PTX runs, what is proven of it, and the comparison with the arguments.
//!
//! A launch looks for the verdict on its values in the thread's cache, which needs no lock and no memory from
//! the heap. If another launch has taken the place there, the kernel's cache, which all threads share, has
//! the verdict. Only values that are new to the kernel cost a proof.
#![expect(unsafe_code, reason = "reads the values of a launch as bytes")]

use std::cell::RefCell;
use std::ffi::c_void;
use std::panic::Location;
use std::ptr;
use std::sync::{Arc, Mutex, OnceLock};

use cuda_proof::{Argument, Launch, Memory, Refusal, Verdict, prove};

use crate::device::Device;
use crate::error::{Detail, Error, ErrorKind, OrRefused, Result};
use crate::hazard::{Access, Mode};
use crate::lock::lock;
use crate::memory::size::wide;
use crate::stream;

use super::argument::Target;
use super::checked_parameter::Description;
use super::{Dim3, LaunchConfig, attributes};

const API: &str = "launch";

/// The verdicts in the cache of a kernel on a device, and in that of a thread for all kernels.
const CACHED: usize = 64;

/// The slices of a kernel: what proofs need of its PTX, for each architecture.
#[derive(Debug)]
pub struct KernelProof {
    /// By the architecture of the PTX, such as 75.
    slices: &'static [(i32, &'static [u8])],
    /// Why there are none.
    reason: &'static str,
    /// Variables with a handle that the kernel's comment does not declare as written: the name in PTX, and
    /// whether the kernel may read it.
    variables: &'static [(&'static str, bool)],
    devices: OnceLock<Box<[OnceLock<Variant>]>>,
}

/// The kernel on a device.
#[derive(Debug)]
struct Variant(std::result::Result<Known, String>);

/// A kernel whose slice can be read.
#[derive(Debug)]
struct Known {
    kernel: cuda_proof::Kernel,
    /// The parts of values that verdicts depend on: parameter, offset, bytes.
    numbers: Vec<(usize, usize, usize)>,
    /// The clusters that the kernel's source declares.
    cluster: Option<Dim3>,
    /// Whether verdicts depend on the clusters.
    asks_for_clusters: bool,
    verdicts: Mutex<Verdicts>,
}

#[derive(Debug, Default)]
struct Verdicts {
    entries: Vec<Arc<Entry>>,
    /// Where the next entry goes if there is no room.
    next: usize,
}

/// A verdict, and the values that it is about.
#[derive(Debug)]
struct Entry {
    /// The kernel, the shape, and the numbers that the verdict depends on.
    key: Box<[u64]>,
    verdict: Verdict,
}

thread_local! {
    static RECENT: RefCell<[Option<Arc<Entry>>; CACHED]> = const { RefCell::new([const { None }; CACHED]) };
}

impl KernelProof {
    /// Makes the proof of a kernel with these slices, or with the reason why there are none.
    ///
    /// For [`Checked::new`](super::Checked::new), the slices are those that `cuda_proof::kernels` makes of
    /// each PTX from which nvcc made machine code or which it embedded, with the architecture of that PTX. No
    /// option changes the way from PTX to machine code, and the device code is not linked with other code. An
    /// architecture whose machine code may come from one of several PTX texts is not in the list.
    #[must_use]
    pub const fn new(slices: &'static [(i32, &'static [u8])], reason: &'static str) -> Self {
        Self { slices, reason, variables: &[], devices: OnceLock::new() }
    }

    /// Declares the variables that the handle does not declare as written, by their names in PTX, and whether
    /// it declares them as read. A launch that accesses them in another way is refused.
    #[must_use]
    pub const fn with_variables(mut self, variables: &'static [(&'static str, bool)]) -> Self {
        self.variables = variables;
        self
    }

    /// Refuses a launch unless it is proven to stay within its arguments.
    ///
    /// # Safety
    /// - `descriptions` are those of the kernel's parameters.
    /// - `values` has a pointer to a live value of each parameter.
    /// - `accesses` has the access of each argument.
    #[inline]
    #[track_caller]
    pub(super) unsafe fn check(
        &'static self,
        kernel: *const c_void,
        descriptions: &'static [Description],
        config: &LaunchConfig<'_>,
        target: Target<'_>,
        values: &[*mut c_void],
        accesses: &[Option<Access<'_>>],
    ) -> Result<()> {
        let values = Values { descriptions, values, accesses, target };
        // SAFETY: the caller has the same duties.
        let checked = unsafe { self.check_values(kernel, config, &values) };
        // A match, because a closure would hide the caller.
        match checked {
            Ok(()) => Ok(()),
            Err(error) => Err(error.at(Location::caller())),
        }
    }

    /// [`check`](Self::check) for all types of kernels.
    ///
    /// # Safety
    /// The duties of `check`.
    unsafe fn check_values(
        &'static self,
        kernel: *const c_void,
        config: &LaunchConfig<'_>,
        values: &Values<'_>,
    ) -> Result<()> {
        values.ensure_apart()?;
        let variant = match self.devices.get().and_then(|all| all.get(values.target.device.ordinal())?.get())
        {
            Some(variant) => variant,
            None => self.find(kernel, values)?,
        };
        let known = match &variant.0 {
            Ok(known) => known,
            Err(reason) => return Err(not_proven(values.target.kernel, reason)),
        };
        if values.target.stream.is_none() && known.asks_for_clusters {
            let reason = "it asks where its block is in its cluster, and a node keeps the clusters that \
                          other operations gave it";
            return Err(not_proven(values.target.kernel, reason));
        }
        let cluster = config.clusters().or(known.cluster).unwrap_or(Dim3 { x: 1, y: 1, z: 1 });
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let (grid, block) = (config.grid, config.block);
        let fixed = [
            // The variant lives as long as the program, so its address is its name.
            wide(ptr::from_ref(known).addr()),
            pair(grid.x, grid.y),
            pair(grid.z, block.x),
            pair(block.y, block.z),
            pair(cluster.x, cluster.y),
            pair(cluster.z, u32::from(config.is_cooperative())),
            wide(config.shared_bytes),
        ];
        let (mut few, mut many) = ([0; 16], Vec::new());
        let count = fixed.len() + known.numbers.len();
        let key = match few.get_mut(..count) {
            Some(key) => key,
            None => {
                many.resize(count, 0);
                many.as_mut_slice()
            }
        };
        // SAFETY: the numbers lie within the parameters (`Known::new`), whose values are live and without
        // padding (`CheckedParameter`).
        let numbers = known.numbers.iter().map(|it| u64::from_le_bytes(unsafe { values.bytes(*it) }));
        key.iter_mut().zip(fixed.into_iter().chain(numbers)).for_each(|(word, value)| *word = value);
        let hash = key.iter().fold(0, |hash: u64, word| hash.rotate_left(7) ^ word).wrapping_mul(MIX);
        let place = usize::try_from(hash >> 58).unwrap_or(0);
        let fits = |verdict: &Verdict| verdict.fits(|parameter, offset| values.memory(parameter, offset));
        let cached = RECENT.try_with(|recent| {
            let recent = recent.try_borrow().ok()?;
            let entry = recent.get(place)?.as_ref().filter(|entry| *entry.key == *key)?;
            Some(fits(&entry.verdict))
        });
        if cached == Ok(Some(true)) {
            return Ok(());
        }
        // SAFETY: the caller has the same duties.
        let entry = unsafe { known.entry(self, key, config, cluster, values) }?;
        let all = values.all_memory();
        let checked = entry.verdict.check(&all, values.target.parameter_names).map(|_| ());
        // While a thread ends it has no table, and does without.
        let _ = RECENT.try_with(|recent| {
            if let Ok(mut recent) = recent.try_borrow_mut()
                && let Some(place) = recent.get_mut(place)
            {
                *place = Some(entry);
            }
        });
        checked.map_err(|refusal| refused(&refusal))
    }

    /// Finds out which PTX the device's code comes from.
    #[cold]
    fn find(&'static self, kernel: *const c_void, values: &Values<'_>) -> Result<&'static Variant> {
        // The questions to the runtime, not allowed in a host function.
        stream::ensure_idle(API)?;
        let device = values.target.device;
        let devices = match self.devices.get() {
            Some(devices) => devices,
            None => {
                let count = Device::count()?;
                self.devices.get_or_init(|| (0..count).map(|_| OnceLock::new()).collect())
            }
        };
        let (ordinal, count) = (device.ordinal(), devices.len());
        let place = devices.get(ordinal).or_refused(API, || Detail::invalid_device(ordinal, count))?;
        stream::relax()?;
        let current = device.switch()?;
        let attributes = attributes::of(kernel)?;
        drop(current);
        let cluster = attributes.required_cluster();
        Ok(place.get_or_init(|| Variant(self.known(attributes.ptx_version(), cluster, values))))
    }

    /// Returns what is known of the kernel's code that comes from this PTX.
    fn known(
        &self,
        architecture: i32,
        cluster: Option<Dim3>,
        values: &Values<'_>,
    ) -> std::result::Result<Known, String> {
        if self.slices.is_empty() {
            return Err(self.reason.to_owned());
        }
        let slice = self.slices.iter().find(|(own, _)| *own == architecture);
        let (_, slice) = slice.ok_or_else(|| {
            format!(
                "the code on this device comes from PTX of compute_{architecture}, which the build has not \
                 seen, or has several of"
            )
        })?;
        let kernel = cuda_proof::Kernel::from_bytes(slice).map_err(|error| error.to_string())?;
        Known::new(kernel, cluster, values.descriptions)
    }
}

/// A factor that spreads differences over the high bits.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

impl Known {
    fn new(
        kernel: cuda_proof::Kernel,
        cluster: Option<Dim3>,
        descriptions: &'static [Description],
    ) -> std::result::Result<Self, String> {
        let own = descriptions.iter().map(|it| wide(it.bytes));
        if !kernel.parameters().iter().map(|it| it.bytes).eq(own) {
            return Err("its compiled code has other parameters than its handle".to_owned());
        }
        let mut numbers = Vec::new();
        for (parameter, offset, bytes) in kernel.key() {
            let is_pointer = |it: &u64| *it < offset + bytes && offset < *it + 8;
            let description = descriptions.get(parameter);
            if description.is_some_and(|it| it.pointers.iter().any(is_pointer)) {
                continue;
            }
            let within = description.is_some_and(|it| offset + bytes <= wide(it.bytes));
            let (Ok(start), Ok(end), true) =
                (usize::try_from(offset), usize::try_from(offset + bytes), within)
            else {
                return Err("its code reads beyond its parameters".to_owned());
            };
            // A word of the key has eight bytes.
            for start in (start..end).step_by(8) {
                numbers.push((parameter, start, (end - start).min(8)));
            }
        }
        let asks_for_clusters = kernel.asks_for_clusters();
        Ok(Self { kernel, numbers, cluster, asks_for_clusters, verdicts: Mutex::default() })
    }

    /// Returns the verdict on a launch, which is proven now unless it is in the cache of the kernel.
    ///
    /// # Safety
    /// The duties of [`KernelProof::check`].
    #[cold]
    unsafe fn entry(
        &self,
        proof: &KernelProof,
        key: &[u64],
        config: &LaunchConfig<'_>,
        cluster: Dim3,
        values: &Values<'_>,
    ) -> Result<Arc<Entry>> {
        let same = |entry: &&Arc<Entry>| *entry.key == *key;
        if let Some(entry) = lock(&self.verdicts).entries.iter().find(same) {
            return Ok(Arc::clone(entry));
        }
        // No device has 4 GiB of shared memory.
        let shared = u32::try_from(config.shared_bytes).ok();
        let limit = || Detail::limit("the shared memory", wide(config.shared_bytes), u32::MAX.into());
        let shared = shared.or_refused(API, limit)?;
        let bytes = values.descriptions.iter().enumerate().map(|(at, description)| {
            let mut bytes = vec![0; description.bytes];
            let is_pointer =
                |at: usize| description.pointers.iter().any(|it| (*it..*it + 8).contains(&wide(at)));
            for (offset, byte) in bytes.iter_mut().enumerate().filter(|(offset, _)| !is_pointer(*offset)) {
                // SAFETY: the byte lies within the value, which is live and without padding.
                let [value, ..] = unsafe { values.bytes((at, offset, 1)) };
                *byte = value;
            }
            bytes
        });
        let bytes: Vec<Vec<u8>> = bytes.collect();
        let arguments = bytes.iter().zip(values.descriptions);
        let arguments: Vec<Argument<'_>> =
            arguments.map(|(bytes, it)| Argument { bytes, pointers: it.pointers }).collect();
        let mut verdict = prove(
            &self.kernel,
            &Launch {
                grid: config.grid.into(),
                block: config.block.into(),
                cluster: cluster.into(),
                is_cooperative: config.is_cooperative(),
                shared,
                arguments: &arguments,
            },
        );
        if let Some(refusal) = undeclared(&verdict, proof.variables, self.kernel.name()) {
            verdict = Verdict::Refused(refusal);
        }
        let entry = Arc::new(Entry { key: key.into(), verdict });
        let mut cached = lock(&self.verdicts);
        let next = cached.next;
        cached.next = (next + 1) % CACHED;
        match cached.entries.get_mut(next) {
            Some(old) => *old = Arc::clone(&entry),
            None => cached.entries.push(Arc::clone(&entry)),
        }
        Ok(entry)
    }
}

/// Returns the refusal of an access to a variable that the handle does not declare.
fn undeclared(verdict: &Verdict, variables: &[(&str, bool)], kernel: &str) -> Option<Refusal> {
    let Verdict::Proven(proof) = verdict else { return None };
    let (name, is_written) = proof.variables().find(|(name, is_written)| {
        variables.iter().any(|(own, is_read)| own == name && (*is_written || !is_read))
    })?;
    let (uses, word) = if is_written { ("may write", "writes") } else { ("reads", "reads") };
    let reason = format!(
        "{uses} the variable {name}, which its comment does not say: add it to the line `@{word}` above the \
         kernel"
    );
    Some(Refusal { kernel: kernel.to_owned(), place: None, is_certain: true, reason })
}

/// The values and the memory of a launch.
struct Values<'a> {
    descriptions: &'static [Description],
    values: &'a [*mut c_void],
    accesses: &'a [Option<Access<'a>>],
    target: Target<'a>,
}

impl Values<'_> {
    /// Returns up to eight bytes of a value: parameter, offset, bytes.
    ///
    /// # Safety
    /// They lie within the value of that parameter, which is live, and are initialised.
    #[inline]
    unsafe fn bytes(&self, (parameter, offset, count): (usize, usize, usize)) -> [u8; 8] {
        let mut bytes = [0; 8];
        let Some(value) = self.values.get(parameter) else { return bytes };
        // SAFETY: the caller guarantees that the bytes lie within the value.
        let from = unsafe { value.cast::<u8>().add(offset) };
        // Copies of lengths that the compiler knows are moves, not calls.
        match count {
            // SAFETY: the caller guarantees that eight bytes are there.
            8 => bytes = unsafe { from.cast::<[u8; 8]>().read() },
            4 => {
                // SAFETY: the caller guarantees that four bytes are there.
                let [a, b, c, d] = unsafe { from.cast::<[u8; 4]>().read() };
                bytes = [a, b, c, d, 0, 0, 0, 0];
            }
            // SAFETY: the caller guarantees that so many bytes are there. At most eight go into the array.
            _ => unsafe { ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), count.min(8)) },
        }
        bytes
    }

    /// Returns the address and the bytes behind the pointer of a parameter, and whether they may be written.
    #[inline]
    fn memory(&self, parameter: usize, offset: u64) -> Option<(u64, u64, bool)> {
        let first = self.descriptions.get(parameter)?.pointers.first()?;
        if *first != offset {
            return None;
        }
        let at = usize::try_from(offset).ok()?;
        // SAFETY: a pointer has eight bytes there (`CheckedParameter`).
        let address = u64::from_le_bytes(unsafe { self.bytes((parameter, at, 8)) });
        let Some(access) = self.accesses.get(parameter)?.as_ref() else { return Some((address, 0, false)) };
        let range = access.range();
        Some((address, wide(range.end.saturating_sub(range.start)), access.mode() == Mode::Write))
    }

    /// Returns the memory behind all pointers, for the words of a refusal.
    #[cold]
    fn all_memory(&self) -> Vec<Memory<'_>> {
        let described = self.descriptions.iter().enumerate();
        described
            .filter_map(|(parameter, description)| {
                let offset = *description.pointers.first()?;
                let (address, bytes, is_writable) = self.memory(parameter, offset)?;
                let name = self.target.parameter_name(parameter);
                let element = wide(description.element);
                Some(Memory { parameter, offset, name, address, bytes, element, is_writable })
            })
            .collect()
    }

    /// Refuses two arguments with common bytes if one of them may be written. Borrows exclude it for most
    /// memory, but not for parts of rows, whose bytes from the first to the last include those of others.
    #[inline]
    fn ensure_apart(&self) -> Result<()> {
        for (at, access) in self.accesses.iter().enumerate() {
            let Some(access) = access else { continue };
            for (other_at, other) in self.accesses.iter().enumerate().take(at) {
                let Some(other) = other else { continue };
                let is_written = access.mode() == Mode::Write || other.mode() == Mode::Write;
                if is_written && access.overlaps(other) {
                    return Err(self.overlapping(other_at, at));
                }
            }
        }
        Ok(())
    }

    #[cold]
    fn overlapping(&self, first: usize, second: usize) -> Error {
        let name = |at: usize| match self.target.parameter_name(at) {
            "" => format!("argument {at}"),
            name => name.to_owned(),
        };
        not_proven(
            self.target.kernel,
            &format!(
                "{} and {} have bytes in common, and one of them may be written",
                name(first),
                name(second)
            ),
        )
    }
}

#[cold]
fn not_proven(kernel: &str, reason: &str) -> Error {
    Error::refused(API, Detail::new(ErrorKind::Proof, format!("cannot prove {kernel}: {reason}")))
}

#[cold]
fn refused(refusal: &Refusal) -> Error {
    Error::refused(API, Detail::new(ErrorKind::Proof, refusal.to_string()))
}
