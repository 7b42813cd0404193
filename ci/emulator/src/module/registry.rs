//! The modules, kernels and variables that a program's constructors registered, by the host addresses that
//! stand for them.
//!
//! Registration happens before `main`, and must not fail: damage in a module is kept, and the first call that
//! needs the module reports it. That call also parses the PTX, once. A module is loaded onto a device when
//! the device first uses it.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::fatbin::{FatbinError, ptx};
use super::image::variables;
use crate::error::{Answer, Code};
use crate::exec::lower::named_at;
use crate::exec::{Addresses, Program, lower};
use crate::profile::profile;
use crate::ptx::{Module, Statement, parse};
use crate::sys::*;

/// The syntax tree of a module, and why there is no PTX in some of its fatbinaries.
type Parsed = Result<(Arc<Module>, Option<FatbinError>), Code>;

/// One registered module.
#[derive(Debug)]
pub(crate) struct RegisteredModule {
    fatbins: Result<Vec<&'static [u8]>, FatbinError>,
    parsed: Option<Parsed>,
    /// The module on each device that has used it.
    instances: HashMap<usize, Instance>,
    live: bool,
}

/// A module on one device.
#[derive(Debug, Default)]
pub(crate) struct Instance {
    /// Where its variables are.
    pub(crate) addresses: Addresses,
    programs: HashMap<String, Arc<Program>>,
}

/// A registered kernel.
#[derive(Clone, Debug)]
pub(crate) struct KernelEntry {
    pub(crate) module: usize,
    pub(crate) name: String,
    /// The name for C, which lives as long as the process.
    pub(crate) c_name: &'static core::ffi::CStr,
    /// The most dynamic shared memory that the program asked for; the usual limit when it has not.
    pub(crate) dynamic: Option<u32>,
    pub(crate) carveout: i32,
    /// Whether a cluster may be larger than every device allows, and the scheduling policy of clusters.
    pub(crate) non_portable: bool,
    pub(crate) scheduling: i32,
}

impl KernelEntry {
    /// A kernel with default attributes.
    pub(crate) fn new(module: usize, name: String, c_name: &'static core::ffi::CStr) -> Self {
        Self { module, name, c_name, dynamic: None, carveout: -1, non_portable: false, scheduling: 0 }
    }
}

/// A registered variable.
#[derive(Clone, Debug)]
pub(crate) struct RegisteredVariable {
    pub(crate) module: usize,
    pub(crate) name: String,
    pub(crate) size: u64,
    /// For managed variables, the host address of the pointer that the program reads.
    pub(crate) managed: Option<usize>,
}

/// A loaded library.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) module: usize,
    /// The error of every call on the library except the one that unloads it, if its code turned out to be
    /// invalid.
    pub(super) damage: Option<Code>,
    /// The handles of its kernels, in the order of the code.
    pub(crate) kernels: Vec<(CString, usize)>,
}

/// All that was registered.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    modules: Vec<RegisteredModule>,
    kernels: HashMap<usize, KernelEntry>,
    variables: HashMap<usize, RegisteredVariable>,
    /// The libraries loaded at run time, by handle.
    pub(super) libraries: HashMap<usize, Library>,
    pub(super) handles: usize,
}

static REGISTRY: Mutex<Option<Registry>> = Mutex::new(None);

/// Locks the registry. A thread that also locks the machine locks the machine first.
pub(crate) fn registry() -> parking_lot::MappedMutexGuard<'static, Registry> {
    MutexGuard::map(REGISTRY.lock(), |it| it.get_or_insert_with(Registry::default))
}

impl Registry {
    pub(crate) fn add(&mut self, fatbins: Result<Vec<&'static [u8]>, FatbinError>) -> usize {
        self.modules.push(RegisteredModule { fatbins, parsed: None, instances: HashMap::new(), live: true });
        self.modules.len() - 1
    }

    /// Adds a module that was read already.
    pub(super) fn add_parsed(&mut self, parsed: Arc<Module>) -> usize {
        let module = self.add(Ok(Vec::new()));
        if let Some(it) = self.modules.get_mut(module) {
            it.parsed = Some(Ok((parsed, None)));
        }
        module
    }

    /// Where a module's variables are, on all devices, and whether anybody else has a kernel of it.
    pub(super) fn traces(&self, module: usize) -> (Vec<u64>, bool) {
        let instances = || self.modules.get(module).into_iter().flat_map(|it| it.instances.values());
        let places = instances().flat_map(|it| it.addresses.values().copied()).collect();
        let used = instances().any(|it| it.programs.values().any(|program| Arc::strong_count(program) > 1));
        (places, used)
    }

    /// Forgets a module and everything that was registered with it.
    pub(crate) fn remove(&mut self, module: usize) {
        self.kernels.retain(|_, k| k.module != module);
        self.variables.retain(|_, v| v.module != module);
        if let Some(it) = self.modules.get_mut(module) {
            it.live = false;
            it.instances.clear();
            it.parsed = None;
        }
    }

    pub(crate) fn add_kernel(&mut self, host: usize, entry: KernelEntry) {
        self.kernels.insert(host, entry);
    }

    pub(crate) fn add_variable(&mut self, host: usize, variable: RegisteredVariable) {
        self.variables.insert(host, variable);
    }

    pub(crate) fn kernel(&self, host: usize) -> Answer<&KernelEntry> {
        self.kernels.get(&host).ok_or(cudaErrorInvalidResourceHandle)
    }

    pub(crate) fn kernel_mut(&mut self, host: usize) -> Answer<&mut KernelEntry> {
        self.kernels.get_mut(&host).ok_or(cudaErrorInvalidResourceHandle)
    }

    pub(crate) fn variable(&self, host: usize) -> Answer<&RegisteredVariable> {
        self.variables.get(&host).ok_or(cudaErrorInvalidSymbol)
    }

    /// The managed variables of a module: their names and the host addresses of their pointers.
    pub(crate) fn managed(&self, module: usize) -> Vec<(String, usize)> {
        let of = self.variables.values().filter(|v| v.module == module);
        of.filter_map(|v| Some((v.name.clone(), v.managed?))).collect()
    }

    /// The module's syntax tree.
    pub(crate) fn parsed(&mut self, module: usize) -> Answer<Arc<Module>> {
        let it = self.modules.get_mut(module).filter(|m| m.live).ok_or(cudaErrorInvalidDeviceFunction)?;
        if it.parsed.is_none() {
            it.parsed = Some(read(&it.fatbins));
        }
        match &it.parsed {
            Some(Ok((module, _))) => Ok(Arc::clone(module)),
            Some(Err(code)) => Err(*code),
            None => Err(cudaErrorInvalidKernelImage),
        }
    }

    /// The module on a device, if it has come to life there.
    pub(crate) fn instance(&self, module: usize, device: usize) -> Option<&Instance> {
        self.modules.get(module)?.instances.get(&device)
    }

    /// Keeps the addresses of a module's variables on a device.
    pub(crate) fn set_instance(&mut self, module: usize, device: usize, addresses: Addresses) {
        if let Some(it) = self.modules.get_mut(module) {
            it.instances.insert(device, Instance { addresses, programs: HashMap::new() });
        }
    }

    /// Where a managed variable is, if any device knows: it is the same memory for all.
    pub(crate) fn anywhere(&self, module: usize, name: &str) -> Option<u64> {
        self.modules.get(module)?.instances.values().find_map(|i| i.addresses.get(name).copied())
    }

    /// The managed variable whose data is at an address.
    pub(crate) fn managed_at(&self, data: u64) -> Option<RegisteredVariable> {
        let managed = self.variables.values().filter(|v| v.managed.is_some());
        managed.into_iter().find(|v| self.anywhere(v.module, &v.name) == Some(data)).cloned()
    }

    /// The kernel at an address that code of its module has, lowered for a device.
    pub(crate) fn kernel_at(
        &mut self,
        module: usize,
        device: usize,
        address: u64,
    ) -> Answer<(KernelEntry, Arc<Program>)> {
        let parsed = self.parsed(module)?;
        let name = named_at(&parsed, address).ok_or(cudaErrorInvalidDeviceFunction)?;
        let program = self.program(module, device, name)?;
        let known = self.kernels.values().find(|it| it.module == module && it.name == name);
        let entry = known.cloned().unwrap_or_else(|| KernelEntry::new(module, name.to_owned(), c""));
        Ok((entry, program))
    }

    /// A kernel, lowered for a device on which its module has come to life.
    pub(crate) fn program(&mut self, module: usize, device: usize, name: &str) -> Answer<Arc<Program>> {
        let parsed = self.parsed(module)?;
        let it = self.modules.get_mut(module).ok_or(cudaErrorInvalidDeviceFunction)?;
        let instance = it.instances.get_mut(&device).ok_or(cudaErrorInvalidDeviceFunction)?;
        if let Some(program) = instance.programs.get(name) {
            return Ok(Arc::clone(program));
        }
        let missing = || match &it.parsed {
            Some(Ok((_, Some(e)))) => complain(&format_args!("{name}: {e}"), code_of(e)),
            _ => complain(&format_args!("the module has no kernel {name}"), cudaErrorSymbolNotFound),
        };
        let mut program = lower(&parsed, name, &instance.addresses).ok_or_else(missing)?;
        (program.module, program.variables) = (module, instance.addresses.values().copied().collect());
        let program = Arc::new(program);
        instance.programs.insert(name.to_owned(), Arc::clone(&program));
        Ok(program)
    }
}

/// Reads the PTX of a module. Damage is reported once, on standard error. With separate compilation there are
/// several fatbinaries, of which nvcc's own library for kernels that launch kernels (libcudadevrt) has no PTX
/// for these devices. They are passed over; a kernel that is missing then ends with their error.
fn read(fatbins: &Result<Vec<&'static [u8]>, FatbinError>) -> Parsed {
    let list = fatbins.as_ref().map_err(|e| complain(e, cudaErrorInvalidKernelImage))?;
    let mut whole = Module::default();
    let mut passed_over = None;
    for fatbin in list {
        match ptx(fatbin, profile().capability) {
            Ok(text) => {
                let module = parse(&text).map_err(|e| complain(&e, cudaErrorInvalidPtx))?;
                module.passed_over.iter().for_each(|error| eprintln!("CUDA emulator: passed over: {error}"));
                link(&mut whole, module);
            }
            Err(e @ FatbinError::NoPtx(_)) if list.len() > 1 => passed_over = passed_over.or(Some(e)),
            Err(e) => return Err(complain(&e, code_of(&e))),
        }
    }
    // A variable that no module defines has no place.
    debug_assert!(variables(&whole).all(|v| !v.external));
    Ok((Arc::new(whole), passed_over))
}

/// The error code for a fatbinary without PTX for these devices.
pub(super) fn code_of(error: &FatbinError) -> Code {
    match error {
        FatbinError::NoPtx(_) => cudaErrorNoKernelImageForDevice,
        _ => cudaErrorInvalidKernelImage,
    }
}

fn complain(error: &dyn core::fmt::Display, code: Code) -> Code {
    eprintln!("CUDA emulator: {error}");
    code
}

/// Joins modules that were compiled apart: a definition stands for every declaration of its name.
pub(crate) fn link(whole: &mut Module, more: Module) {
    // Both count their source files from 1.
    let first = whole.files.keys().max().copied().unwrap_or(0);
    for mut f in more.functions {
        for statement in f.body.iter_mut().flatten() {
            if let Statement::Location { file, caller, .. } = statement {
                *file += first;
                *caller = caller.map(|(file, line)| (file + first, line));
            }
        }
        match whole.functions.iter_mut().find(|o| o.name == f.name) {
            Some(other) if other.body.is_none() => *other = f,
            Some(_) => {}
            None => whole.functions.push(f),
        }
    }
    for v in more.variables {
        match whole.variables.iter_mut().find(|o| o.name == v.name) {
            Some(other) if other.external && !v.external => *other = v,
            Some(_) => {}
            None => whole.variables.push(v),
        }
    }
    whole.aliases.extend(more.aliases);
    whole.files.extend(more.files.into_iter().map(|(file, name)| (file + first, name)));
    (whole.version, whole.target) = (more.version, more.target);
}
