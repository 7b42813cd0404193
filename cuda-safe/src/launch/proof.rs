//! The proof of a launch: which PTX runs, what is proven of it, and the comparison with the arguments.
//!
//! A launch looks for the verdict on its values in the thread's cache, which needs no lock and no memory from
//! the heap. A program that launches a few kernels with several shapes in turn finds all of them there. If
//! other launches have taken the place, the kernel's cache, which all threads share, has the verdict. Only
//! values that are new to the kernel cost a proof.
//!
//! A hash selects a few verdicts of the thread's cache, and decides nothing: a verdict counts only if its key
//! is equal to that of the launch, word for word. The key has the kernel, the shape, and all numbers that
//! `cuda_proof::Kernel::key` lists, so the verdict is the one that a proof of this launch would give.
#![expect(unsafe_code, reason = "reads the values of a launch as bytes")]

use std::cell::RefCell;
use std::ffi::c_void;
use std::ops::Range;
use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use cuda_proof::{Argument, Bytes, Launch, Memory, Refusal, Verdict, prove};

use crate::device::Device;
use crate::error::{Detail, Error, ErrorKind, OrRefused, Result};
use crate::hazard::{Access, Mode};
use crate::lock::lock;
use crate::memory::size::wide;
use crate::stream;

use super::access_list::AccessList;
use super::argument::Target;
use super::checked_parameter::Description;
use super::contract::{Clause, Given};
use super::{Dim3, LaunchConfig, Need, attributes};

const API: &str = "launch";

/// The verdicts in the cache of a kernel on a device.
const CACHED: usize = 64;

/// The sets of the cache of a thread for all kernels, and the verdicts of a set: 64 bytes, a cache line.
const SETS: usize = 64;
const WAYS: usize = 4;

/// The slices of a kernel: what proofs need of its PTX, for each architecture.
#[derive(Debug)]
pub struct KernelProof {
    slices: Slices,
    /// Why there are none.
    reason: &'static str,
    /// Variables with a handle that the kernel's comment does not declare as written: the name in PTX, and
    /// whether the kernel may read it.
    variables: &'static [(&'static str, bool)],
    /// What stands in for a proof, unless it is empty.
    contract: &'static [Clause],
    devices: OnceLock<Box<[OnceLock<Variant>]>>,
}

/// By the architecture of the PTX, such as 75.
#[derive(Debug)]
enum Slices {
    /// Of a kernel of the program.
    Built(&'static [(i32, &'static [u8])]),
    /// Of a library's kernel.
    Loaded(Vec<(i32, cuda_proof::Kernel)>),
}

/// The kernel on a device.
#[derive(Debug)]
struct Variant(std::result::Result<Known, String>);

/// A kernel whose slice can be read.
#[derive(Debug)]
struct Known {
    /// Its name in keys: no other one of the process has the same.
    id: u64,
    kernel: cuda_proof::Kernel,
    /// The parts of values that verdicts depend on: parameter, offset, bytes.
    numbers: Vec<(usize, usize, usize)>,
    /// Whether verdicts depend on the clusters.
    asks_for_clusters: bool,
    /// Whether the grid of a launch counts clusters.
    counts_clusters: bool,
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
    /// What a proven launch needs of its arguments. `None` if none is proven, or if it needs bytes before an
    /// argument.
    parts: Option<Box<[Part]>>,
}

/// The bytes of one argument that a launch accesses, from where the argument's pointer points.
#[derive(Debug)]
struct Part {
    parameter: usize,
    /// The offset of the pointer in the parameter.
    offset: usize,
    /// The bits of the address that must be zero.
    misaligned: u64,
    /// What may be written. What is read and meets this is included: a write stands for both.
    written: Range<usize>,
    /// What may only be read.
    read: Range<usize>,
    /// Where the last of these bytes ends, how many they are, and whether any is written.
    end: usize,
    count: usize,
    mode: Mode,
}

/// Verdicts with the hashes of their keys, which select the set. The newest comes first.
type Recent = [Option<(u64, Arc<Entry>)>; WAYS];

thread_local! {
    /// The cache of a thread.
    static RECENT: RefCell<[Recent; SETS]> = const { RefCell::new([const { [const { None }; WAYS] }; SETS]) };
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
        Self {
            slices: Slices::Built(slices),
            reason,
            variables: &[],
            contract: &[],
            devices: OnceLock::new(),
        }
    }

    /// Makes the proof of a library's kernel.
    ///
    /// For [`Checked::loaded`](super::Checked::loaded), these are the kernel in all PTX texts of the library,
    /// each with the architecture of its text, and the library has nothing but PTX.
    #[cfg(cudart_12_8)]
    pub(crate) fn of_library(kernels: Vec<(i32, cuda_proof::Kernel)>) -> Self {
        Self { slices: Slices::Loaded(kernels), ..Self::new(&[], "the library has no PTX of it") }
    }

    /// Declares the variables that the handle does not declare as written, by their names in PTX, and whether
    /// it declares them as read. A launch that accesses them in another way is refused.
    #[must_use]
    pub const fn with_variables(mut self, variables: &'static [(&'static str, bool)]) -> Self {
        self.variables = variables;
        self
    }

    /// Declares what the author of the kernel requires of its launches. It stands in for a proof.
    ///
    /// # Safety
    /// A launch that meets all clauses accesses no bytes but those of its arguments, shared memory, the stack
    /// and variables as [`Kernel::with_symbols`](super::Kernel::with_symbols) declares them, on every device
    /// and with all attributes. It writes nothing through a pointer to `const`.
    #[must_use]
    pub const unsafe fn with_contract(mut self, contract: &'static [Clause]) -> Self {
        self.contract = contract;
        self
    }

    /// Refuses a launch unless it is proven to stay within its arguments. Adds the accesses of the bytes that
    /// it reads and writes through pointers to `all`, which is empty.
    ///
    /// # Safety
    /// - `descriptions` are those of the kernel's parameters. `has_handle` says whether one of them is the
    ///   handle of a texture or a surface.
    /// - `values` has a pointer to a live value of each parameter.
    /// - `own` has the access to what belongs to each argument. `with_gaps` returns the bytes of an argument
    ///   together with those between them that others may have.
    #[inline]
    #[track_caller]
    pub(super) unsafe fn check<'a>(
        &self,
        (kernel, descriptions, has_handle): (*const c_void, &'static [Description], bool),
        config: &LaunchConfig<'_>,
        target: Target<'_>,
        values: &[*mut c_void],
        (own, with_gaps): (&[Option<Access<'a>>], &dyn Fn(usize) -> usize),
        all: &mut AccessList<'a>,
    ) -> Result<()> {
        let values = Values { descriptions, values, accesses: own, with_gaps, target: &target };
        // Borrows keep the memory of pointers apart (`CheckedArg`), but not that of textures and surfaces.
        let apart = if has_handle { values.ensure_apart() } else { Ok(()) };
        // SAFETY: the caller has the same duties.
        let checked = apart.and_then(|()| unsafe { self.check_values(kernel, config, &values, all) });
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
    unsafe fn check_values<'a>(
        &self,
        kernel: *const c_void,
        config: &LaunchConfig<'_>,
        values: &Values<'_, 'a>,
        all: &mut AccessList<'a>,
    ) -> Result<()> {
        if !self.contract.is_empty() {
            return self.check_contract(config, values, all);
        }
        let known = self.on_device(kernel, values)?;
        if known.asks_for_clusters || known.counts_clusters {
            known.ensure_not_for_node(values.target)?;
        }
        let shape = known.shape(config);
        // SAFETY: the caller has the same duties.
        let hash = unsafe { known.hash(&shape, values) };
        // SAFETY: the caller has the same duties.
        let is_same = |entry: &Entry| unsafe { known.is_of(&entry.key, &shape, values) };
        let cached = RECENT.try_with(|recent| {
            let recent = recent.try_borrow().ok()?;
            let mut set = recent[set_of(hash)].iter().flatten();
            let (_, entry) = set.find(|(own, entry)| *own == hash && is_same(entry))?;
            Some(entry.suffices(values, all))
        });
        if cached == Ok(Some(true)) {
            return Ok(());
        }
        all.clear();
        // SAFETY: the caller has the same duties.
        unsafe { self.check_new(known, (config, &shape, hash), values, all) }
    }

    /// Refuses a launch that does not meet the kernel's contract. Adds the accesses of all arguments.
    #[inline(never)]
    fn check_contract<'a>(
        &self,
        config: &LaunchConfig<'_>,
        values: &Values<'_, 'a>,
        all: &mut AccessList<'a>,
    ) -> Result<()> {
        let description = |parameter: usize| values.descriptions.get(parameter);
        let value = |parameter: usize, bytes: usize| {
            let is_whole =
                bytes <= 8 && description(parameter).is_some_and(|it| it.bytes == bytes && it.has(0, bytes));
            // SAFETY: the value has so many bytes. It is live, and they are initialised.
            is_whole.then(|| unsafe { values.number((parameter, 0, bytes)) })
        };
        let given = Given {
            config,
            value: &value,
            accesses: values.accesses,
            element: &|parameter| description(parameter).map_or(1, |it| it.element),
        };
        let with_gap = |broken: String| {
            let gap = (0..values.accesses.len()).find_map(|at| values.gap(at));
            broken + &gap.unwrap_or_default()
        };
        let broken = given.broken(self.contract).map(with_gap).or_else(|| {
            let at = given.read_only(|parameter| description(parameter).is_some_and(|it| it.writes))?;
            Some(format!("its contract lets it write {}, which it is to read only", values.name(at)))
        });
        if let Some(reason) = broken {
            return Err(not_proven(values.target.kernel, &reason));
        }
        let is_pointer = |at: usize| description(at).is_some_and(|it| !it.pointers.is_empty());
        let pointers = values.accesses.iter().enumerate().filter(|(at, _)| is_pointer(*at));
        all.extend(pointers.filter_map(|(_, access)| *access));
        Ok(())
    }

    /// [`check`](Self::check) of a launch that is not in the cache of the thread, or is refused.
    ///
    /// # Safety
    /// The duties of `check`.
    #[cold]
    #[inline(never)]
    unsafe fn check_new<'a>(
        &self,
        known: &Known,
        (config, shape, hash): (&LaunchConfig<'_>, &[u64; SHAPE], u64),
        values: &Values<'_, 'a>,
        all: &mut AccessList<'a>,
    ) -> Result<()> {
        // SAFETY: the caller has the same duties.
        let key = unsafe { known.key(shape, values) };
        // SAFETY: the caller has the same duties.
        let entry = unsafe { known.entry(self, &key, config, values) }?;
        let names = values.names();
        let memory = values.all_memory(&names);
        let refusal = match entry.verdict.check(&memory, values.target.parameter_names) {
            Ok(_) if entry.suffices(values, all) => None,
            // What the words of the check know, the numbers do.
            Ok(_) => Some(not_proven(values.target.kernel, "its arguments differ from its handle")),
            Err(mut refusal) => {
                refusal.reason += &values.gap_within(&entry.verdict).unwrap_or_default();
                Some(refused(&refusal))
            }
        };
        // While a thread ends it has no table, and does without.
        let _ = RECENT.try_with(|recent| {
            if let Ok(mut recent) = recent.try_borrow_mut() {
                let set = &mut recent[set_of(hash)];
                let is_there = |it: &(u64, Arc<Entry>)| Arc::ptr_eq(&it.1, &entry);
                if !set.iter().flatten().any(is_there) {
                    set.rotate_right(1);
                    set[0] = Some((hash, Arc::clone(&entry)));
                }
            }
        });
        refusal.map_or(Ok(()), Err)
    }

    /// Returns what a launch needs of each parameter.
    ///
    /// # Safety
    /// The duties of [`check`](Self::check), without accesses.
    #[track_caller]
    pub(super) unsafe fn needs(
        &self,
        kernel: *const c_void,
        descriptions: &'static [Description],
        config: &LaunchConfig<'_>,
        target: Target<'_>,
        values: &[*mut c_void],
    ) -> Result<Vec<Need>> {
        let values = Values { descriptions, values, accesses: &[], with_gaps: &|_| 0, target: &target };
        if !self.contract.is_empty() {
            let reason = "its author has a contract in place of a proof, which states no ranges";
            return Err(not_proven(target.kernel, reason));
        }
        let known = self.on_device(kernel, &values)?;
        // SAFETY: the caller has the same duties.
        let key = unsafe { known.key(&known.shape(config), &values) };
        // SAFETY: as above.
        let entry = unsafe { known.entry(self, &key, config, &values) }?;
        // Memory without an end: what is refused now, is refused for all memory.
        let endless = |memory| Memory { address: 0, bytes: u64::MAX, is_writable: true, ..memory };
        let names = values.names();
        let memory: Vec<_> = values.all_memory(&names).into_iter().map(endless).collect();
        let needs = entry.verdict.check(&memory, target.parameter_names).map_err(|it| refused(&it))?;
        if let Verdict::Proven(proof) = &entry.verdict
            && let Some(refusal) = proof.without_bound(&memory)
        {
            return Err(refused(&refusal));
        }
        let of_parameter = |parameter| {
            let need = needs.iter().find(|need| need.parameter == parameter);
            let range = |bytes: Option<&Bytes>| {
                let end = |end: i64| usize::try_from(end).unwrap_or(0);
                bytes.map_or(0..0, |bytes| end(bytes.low)..end(bytes.high))
            };
            Need {
                name: target.parameter_name(parameter),
                read: range(need.and_then(|need| need.reads.as_ref())),
                written: range(need.and_then(|need| need.writes.as_ref())),
                align: need.and_then(|need| usize::try_from(need.align).ok()).unwrap_or(1),
            }
        };
        Ok((0..descriptions.len()).map(of_parameter).collect())
    }

    /// Returns what is known of the kernel's code on the device of a launch.
    #[inline]
    fn on_device(&self, kernel: *const c_void, values: &Values<'_, '_>) -> Result<&Known> {
        let device = values.target.device.ordinal();
        let variant = match self.devices.get().and_then(|all| all.get(device)?.get()) {
            Some(variant) => variant,
            None => self.find(kernel, values)?,
        };
        variant.0.as_ref().map_err(|reason| not_proven(values.target.kernel, reason))
    }

    /// Finds out which PTX the device's code comes from.
    #[cold]
    fn find(&self, kernel: *const c_void, values: &Values<'_, '_>) -> Result<&Variant> {
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
        values: &Values<'_, '_>,
    ) -> std::result::Result<Known, String> {
        let unknown = |who: &str| {
            format!(
                "the code on this device comes from PTX of compute_{architecture}, which {who} has not seen, \
                 or has several of"
            )
        };
        let kernel = match &self.slices {
            Slices::Built([]) => return Err(self.reason.to_owned()),
            Slices::Loaded(kernels) if kernels.is_empty() => return Err(self.reason.to_owned()),
            Slices::Built(slices) => {
                let slice = slices.iter().find(|(own, _)| *own == architecture);
                let (_, slice) = slice.ok_or_else(|| unknown("the build"))?;
                cuda_proof::Kernel::from_bytes(slice).map_err(|error| error.to_string())?
            }
            Slices::Loaded(kernels) => {
                let mut found = kernels.iter().filter(|(own, _)| *own == architecture);
                let (Some((_, kernel)), None) = (found.next(), found.next()) else {
                    return Err(unknown("the library"));
                };
                kernel.clone()
            }
        };
        if cluster.is_some_and(|it| kernel.clusters() != Some(it.into())) {
            return Err("it has other clusters than its PTX declares: an attribute was set".to_owned());
        }
        Known::new(kernel, values.descriptions)
    }
}

/// The words of a key that name the kernel and the shape of the launch.
const SHAPE: usize = 7;

/// A factor that spreads differences over the high bits of a product.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the set of a hash in the cache of a thread.
#[inline]
fn set_of(hash: u64) -> usize {
    usize::try_from(hash.wrapping_mul(SPREAD) >> 32).unwrap_or(0) % SETS
}

impl Known {
    /// Refuses a kernel that depends on clusters as a node of a graph, also by a capture: an executable node
    /// that takes over a kernel without clusters keeps its own.
    #[cold]
    fn ensure_not_for_node(&self, target: &Target<'_>) -> Result<()> {
        if target.stream.is_some_and(|it| !it.is_capturing()) {
            return Ok(());
        }
        let reason = if self.asks_for_clusters {
            "it asks where its block is in its cluster, and a node keeps the clusters that other operations \
             gave it"
        } else {
            "its grid counts clusters (`.blocksareclusters`), and whether that of a node does is not known"
        };
        Err(not_proven(target.kernel, reason))
    }

    fn new(
        kernel: cuda_proof::Kernel,
        descriptions: &'static [Description],
    ) -> std::result::Result<Self, String> {
        let own = descriptions.iter().map(|it| wide(it.bytes));
        if !kernel.parameters().iter().map(|it| it.bytes).eq(own) {
            return Err("its compiled code has other parameters than its handle".to_owned());
        }
        let is_handle = |&(parameter, is_surface): &(usize, bool)| {
            descriptions.get(parameter).is_some_and(|it| it.handle == Some(is_surface))
        };
        if !kernel.handles().iter().all(is_handle) {
            return Err("it uses a number as the handle of a texture or a surface".to_owned());
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
            if !description.is_some_and(|it| it.has(start, end)) {
                return Err("an address depends on bytes between the fields of a struct".to_owned());
            }
            // A word of the key has eight bytes.
            for start in (start..end).step_by(8) {
                numbers.push((parameter, start, (end - start).min(8)));
            }
        }
        let (asks_for_clusters, counts_clusters) = (kernel.asks_for_clusters(), kernel.counts_clusters());
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Self { id, kernel, numbers, asks_for_clusters, counts_clusters, verdicts: Mutex::default() })
    }

    /// Returns the kernel and the shape of a launch, with which its key begins.
    #[inline]
    fn shape(&self, config: &LaunchConfig<'_>) -> [u64; SHAPE] {
        let (grid, block) = (config.grid, config.block);
        // No cluster has no blocks.
        let cluster = config.clusters().unwrap_or(Dim3 { x: 0, y: 0, z: 0 });
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        [
            self.id,
            pair(grid.x, grid.y),
            pair(grid.z, block.x),
            pair(block.y, block.z),
            pair(cluster.x, cluster.y),
            pair(cluster.z, u32::from(config.is_cooperative())),
            wide(config.shared_bytes),
        ]
    }

    /// Returns the key of a launch: its shape, and the numbers that the verdict depends on.
    ///
    /// # Safety
    /// The duties of [`KernelProof::check`].
    unsafe fn key(&self, shape: &[u64; SHAPE], values: &Values<'_, '_>) -> Vec<u64> {
        let mut key = shape.to_vec();
        // SAFETY: the numbers lie within fields of the parameters (`Known::new`), whose values are live.
        key.extend(self.numbers.iter().map(|it| unsafe { values.number(*it) }));
        key
    }

    /// Returns the hash of a launch's key, without making one: a sum of products, none of which waits for
    /// another one.
    ///
    /// # Safety
    /// The duties of [`KernelProof::check`].
    #[inline]
    unsafe fn hash(&self, shape: &[u64; SHAPE], values: &Values<'_, '_>) -> u64 {
        let (mut hash, mut factor) = (0_u64, SPREAD);
        let mut add = |word: u64| {
            hash = hash.wrapping_add(word.wrapping_mul(factor));
            factor = factor.wrapping_mul(SPREAD);
        };
        shape.iter().for_each(|word| add(*word));
        // SAFETY: as in `key`.
        self.numbers.iter().for_each(|it| add(unsafe { values.number(*it) }));
        hash
    }

    /// Returns whether the key is that of a launch, without making one.
    ///
    /// # Safety
    /// The duties of [`KernelProof::check`].
    #[inline]
    unsafe fn is_of(&self, key: &[u64], shape: &[u64; SHAPE], values: &Values<'_, '_>) -> bool {
        let Some((own, numbers)) = key.split_first_chunk::<SHAPE>() else { return false };
        let difference = own.iter().zip(shape).fold(0, |sum, (one, other)| sum | (one ^ other));
        // A key that begins so is of this kernel, and has as many numbers.
        difference == 0
            && self.numbers.iter().zip(numbers).all(|(it, own)| {
                // SAFETY: as in `key`.
                let value = unsafe { values.number(*it) };
                value == *own
            })
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
        values: &Values<'_, '_>,
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
            let is_known = |at: usize| !is_pointer(at) && description.has(at, at + 1);
            for (offset, byte) in bytes.iter_mut().enumerate().filter(|(offset, _)| is_known(*offset)) {
                // SAFETY: the byte lies within a field of the value, which is live.
                let value = unsafe { values.number((at, offset, 1)) };
                *byte = u8::try_from(value).unwrap_or(0);
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
                cluster: config.clusters().map(Into::into),
                is_cooperative: config.is_cooperative(),
                shared,
                arguments: &arguments,
            },
        );
        if let Some(refusal) = undeclared(&verdict, proof, self.kernel.name()) {
            verdict = Verdict::Refused(refusal);
        }
        let parts = match &verdict {
            Verdict::Proven(proof) => {
                proof.needs().iter().map(|need| Part::of(need, values.descriptions)).collect()
            }
            Verdict::Refused(_) => None,
        };
        let entry = Arc::new(Entry { key: key.into(), verdict, parts });
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

impl Part {
    /// Returns what a launch needs of an argument, unless it needs bytes before it.
    fn of(need: &cuda_proof::Need, descriptions: &[Description]) -> Option<Self> {
        let first = descriptions.get(need.parameter)?.pointers.first()?;
        let range = |bytes: &Option<Bytes>| {
            let Some(bytes) = bytes else { return Some(0..0) };
            Some(usize::try_from(bytes.low).ok()?..usize::try_from(bytes.high).ok()?)
        };
        let (mut read, mut written) = (range(&need.reads)?, range(&need.writes)?);
        if read.start < written.end && written.start < read.end {
            written = written.start.min(read.start)..written.end.max(read.end);
            read = 0..0;
        }
        Some(Self {
            parameter: need.parameter,
            offset: usize::try_from(need.offset).ok().filter(|_| need.offset == *first)?,
            misaligned: u64::from(need.align).saturating_sub(1),
            end: written.end.max(read.end),
            // Disjoint parts of the same bytes: the sum does not overflow.
            count: written.len() + read.len(),
            mode: if written.is_empty() { Mode::Read } else { Mode::Write },
            written,
            read,
        })
    }
}

impl Entry {
    /// Adds the accesses to the bytes that the launch needs. Returns false, with some of them added, if an
    /// argument lacks any.
    ///
    /// An argument counts as a whole if more than half of it is needed: for the tracker, a whole allocation
    /// is one atomic step, and its parts are entries of a list.
    #[inline]
    fn suffices<'a>(&self, values: &Values<'_, 'a>, all: &mut AccessList<'a>) -> bool {
        let Some(parts) = &self.parts else { return false };
        for Part { parameter, offset, misaligned, written, read, end, count, mode } in parts {
            let Some(Some(access)) = values.accesses.get(*parameter) else { return false };
            // SAFETY: a pointer has eight bytes there (`CheckedParameter`).
            let address = unsafe { values.number((*parameter, *offset, 8)) };
            let bytes = access.range().len();
            let is_writable = access.mode() == Mode::Write || *mode == Mode::Read;
            if address & misaligned != 0 || *end > bytes || !is_writable {
                return false;
            }
            if *count > bytes / 2 {
                all.push(access.in_mode(*mode));
                continue;
            }
            if !written.is_empty() {
                all.push(access.part(written.clone(), Mode::Write));
            }
            if !read.is_empty() {
                all.push(access.part(read.clone(), Mode::Read));
            }
        }
        true
    }
}

/// Returns the refusal of an access to a variable that the handle does not declare.
fn undeclared(verdict: &Verdict, own: &KernelProof, kernel: &str) -> Option<Refusal> {
    let Verdict::Proven(proof) = verdict else { return None };
    let refusal = |reason| Some(Refusal { kernel: kernel.to_owned(), place: None, is_certain: true, reason });
    let variables = match &own.slices {
        Slices::Built(_) => own.variables,
        // A buffer of the variable may be in use.
        Slices::Loaded(_) => {
            let (name, _) = proof.variables().next()?;
            return refusal(format!(
                "uses the variable {name} of its library: get it by `Library::kernel`, and name the variable \
                 by `using`"
            ));
        }
    };
    let (name, is_written) = proof.variables().find(|(name, is_written)| {
        variables.iter().any(|(own, is_read)| own == name && (*is_written || !is_read))
    })?;
    let (uses, word) = if is_written { ("may write", "writes") } else { ("reads", "reads") };
    let reason = format!(
        "{uses} the variable {name}, which its comment does not say: add it to the line `@{word}` above the \
         kernel"
    );
    refusal(reason)
}

/// The values and the memory of a launch.
struct Values<'v, 'a> {
    descriptions: &'static [Description],
    values: &'v [*mut c_void],
    /// What belongs to each argument.
    accesses: &'v [Option<Access<'a>>],
    /// The bytes of an argument with those between them that others may have.
    with_gaps: &'v dyn Fn(usize) -> usize,
    /// A copy would wait for the fields, which were just stored.
    target: &'v Target<'v>,
}

impl Values<'_, '_> {
    /// Returns up to eight bytes of a value as a number: parameter, offset, bytes.
    ///
    /// # Safety
    /// They lie within the value of that parameter, which is live, and are initialised.
    #[inline]
    unsafe fn number(&self, (parameter, offset, count): (usize, usize, usize)) -> u64 {
        let Some(value) = self.values.get(parameter) else { return 0 };
        // SAFETY: the caller guarantees that the bytes lie within the value.
        let from = unsafe { value.cast::<u8>().add(offset) };
        // Lengths that the compiler knows are one load. The value was just stored: a load of another length
        // waits for that.
        match count {
            // SAFETY: the caller guarantees that eight bytes are there.
            8 => u64::from_le_bytes(unsafe { from.cast::<[u8; 8]>().read() }),
            // SAFETY: the caller guarantees that four bytes are there.
            4 => u32::from_le_bytes(unsafe { from.cast::<[u8; 4]>().read() }).into(),
            _ => {
                let mut bytes = [0; 8];
                // SAFETY: the caller guarantees that the bytes are there. The array takes eight.
                unsafe { ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), count.min(8)) };
                u64::from_le_bytes(bytes)
            }
        }
    }

    /// Returns the memory behind all pointers, for the words of a refusal.
    #[cold]
    fn all_memory<'n>(&self, names: &'n [String]) -> Vec<Memory<'n>> {
        let described = self.descriptions.iter().enumerate();
        described
            .filter_map(|(parameter, description)| {
                let offset = *description.pointers.first()?;
                let at = usize::try_from(offset).ok()?;
                // SAFETY: a pointer has eight bytes there (`CheckedParameter`).
                let address = unsafe { self.number((parameter, at, 8)) };
                let access = self.accesses.get(parameter).and_then(Option::as_ref);
                let range = access.map_or(0..0, Access::range);
                Some(Memory {
                    parameter,
                    offset,
                    name: names.get(parameter)?,
                    address,
                    bytes: wide(range.end.saturating_sub(range.start)),
                    element: wide(description.element),
                    is_writable: access.is_some_and(|access| access.mode() == Mode::Write),
                })
            })
            .collect()
    }

    /// Returns the bytes that belong to an argument.
    fn own(&self, parameter: usize) -> usize {
        let access = self.accesses.get(parameter).and_then(Option::as_ref);
        access.map_or(0, |access| access.range().len())
    }

    /// Returns what to do about an argument that has gaps, in which others may have their bytes.
    #[cold]
    fn gap(&self, parameter: usize) -> Option<String> {
        let (own, all) = (self.own(parameter), (self.with_gaps)(parameter));
        let element = self.descriptions.get(parameter)?.element.max(1);
        (own < all).then(|| {
            format!(
                "; {} is a part of rows: {} elements come before the first gap, in which others may have \
                 theirs; launch once for each row, or pass rows that are not split",
                self.name(parameter),
                own / element
            )
        })
    }

    /// Returns what to do if a launch goes beyond the first gap of an argument.
    #[cold]
    fn gap_within(&self, verdict: &Verdict) -> Option<String> {
        let Verdict::Proven(proof) = verdict else { return None };
        let is_beyond = |need: &cuda_proof::Need, bytes: &Bytes| {
            bytes.high > i64::try_from(self.own(need.parameter)).unwrap_or(i64::MAX)
        };
        proof.needs().iter().find_map(|need| {
            let mut sides = need.reads.iter().chain(&need.writes);
            sides.any(|bytes| is_beyond(need, bytes)).then(|| self.gap(need.parameter))?
        })
    }

    /// Refuses two arguments with common bytes if one of them may be written.
    #[inline(never)]
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
        let (first, second) = (self.name(first), self.name(second));
        let reason = format!("{first} and {second} have bytes in common, and one of them may be written");
        not_proven(self.target.kernel, &reason)
    }

    /// Returns the name of a parameter, or its number.
    fn name(&self, parameter: usize) -> String {
        match self.target.parameter_name(parameter) {
            "" => format!("parameter {parameter}"),
            name => name.to_owned(),
        }
    }

    fn names(&self) -> Vec<String> {
        (0..self.descriptions.len()).map(|parameter| self.name(parameter)).collect()
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

#[cfg(test)]
mod tests {
    use cuda_proof::kernels;

    use super::*;
    use crate::hazard::AccessHistory;
    use crate::launch::CheckedParameters;

    /// Writes one byte at an index, the sum of two numbers of 64 bits.
    const PTX: &str = "
        .version 7.0
        .target sm_75
        .address_size 64
        .visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1, .param .u64 k_param_2)
        {
            .reg .b16 %rs<2>;
            .reg .b64 %rd<7>;
            ld.param.u64 %rd1, [k_param_0];
            ld.param.u64 %rd2, [k_param_1];
            ld.param.u64 %rd3, [k_param_2];
            cvta.to.global.u64 %rd4, %rd3;
            add.s64 %rd5, %rd1, %rd2;
            add.s64 %rd6, %rd4, %rd5;
            mov.u16 %rs1, 7;
            st.global.u8 [%rd6], %rs1;
            ret;
        }";

    type Parameters = (u64, u64, *mut u8);

    /// Calls `f` with the values of a launch, of which `mode` and a range of bytes belong to the pointer.
    fn launched<R>(
        numbers: [u64; 2],
        (mode, bytes): (Mode, usize),
        f: impl for<'a> FnOnce(&Values<'_, 'a>, &mut AccessList<'a>) -> R,
    ) -> R {
        let history = AccessHistory::new(64);
        let ([mut first, mut second], mut address) = (numbers, 0x1000_u64);
        let values = [&raw mut first, &raw mut second, &raw mut address].map(|it| it.cast());
        let target = Target {
            device: Device::from_ordinal(0),
            stream: None,
            kernel: "k",
            parameter_names: &["first", "second", "bytes"],
        };
        let values = Values {
            descriptions: Parameters::DESCRIPTIONS,
            values: &values,
            accesses: &[None, None, Some(Access::new(&history, 0..bytes, mode))],
            with_gaps: &|_| 0,
            target: &target,
        };
        f(&values, &mut AccessList::new())
    }

    fn known() -> Known {
        Known::new(kernels(PTX).unwrap().remove(0), Parameters::DESCRIPTIONS).unwrap()
    }

    #[test]
    fn launches_whose_keys_have_one_hash_are_told_apart() {
        let known = known();
        let shape = known.shape(&LaunchConfig::new(1, 1));
        let of = |numbers: [u64; 2], key: Option<&[u64]>| {
            launched(numbers, (Mode::Write, 64), |values, _| {
                // SAFETY: the values are live numbers of 64 bits.
                let hash = unsafe { known.hash(&shape, values) };
                // SAFETY: as above.
                let own = unsafe { known.key(&shape, values) };
                // SAFETY: as above.
                (hash, key.is_some_and(|key| unsafe { known.is_of(key, &shape, values) }), own)
            })
        };
        let (hash, _, key) = of([3, 5], None);
        let (other, is_same, own) = of([3_u64.wrapping_sub(SPREAD), 6], Some(&key));
        assert_eq!((other, is_same), (hash, false), "the same sum of products");
        assert_ne!(own, key);
        assert!(of([3, 5], Some(&key)).1);
    }

    #[test]
    fn a_verdict_of_the_cache_is_compared_with_bytes_and_mode() {
        static PROOF: KernelProof = KernelProof::new(&[], "");
        let (known, config) = (known(), LaunchConfig::new(1, 1));
        let of = |memory: (Mode, usize)| {
            launched([3, 5], memory, |values, all| {
                // SAFETY: the values are live numbers of 64 bits.
                let key = unsafe { known.key(&known.shape(&config), values) };
                // SAFETY: as above.
                let entry = unsafe { known.entry(&PROOF, &key, &config, values) }.unwrap();
                let suffices = entry.suffices(values, all);
                (suffices, all.iter().map(|it| (it.range(), it.mode())).collect::<Vec<_>>())
            })
        };
        assert_eq!(of((Mode::Write, 9)), (true, vec![(8..9, Mode::Write)]));
        assert_eq!(of((Mode::Write, 8)), (false, vec![]));
        assert_eq!(of((Mode::Read, 9)), (false, vec![]));
    }
}
