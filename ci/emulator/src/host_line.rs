//! Call sites: where in the program a call of this library was made, for findings.
//!
//! A call site is a few return addresses outside this library. To capture it is cheap enough for every
//! operation; files and lines are only looked up for a finding. It is captured always if a finding is about
//! the running call, and for operations and allocations only if [`capture`] has switched that on.
#![expect(unsafe_code, reason = "asks the loader which addresses are this library's")]

use core::ffi::{CStr, c_int, c_void};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

/// The most return addresses that are captured. A launch by `cuda-safe` without optimisation has 14 calls
/// between the program's line and this library.
const DEPTH: usize = 24;
/// The most frames that a finding shows.
const SHOWN: usize = 4;

static ON: AtomicBool = AtomicBool::new(false);

/// Captures call sites of operations and allocations from now on.
pub(crate) fn capture() {
    ON.store(true, Ordering::Relaxed);
}

/// Return addresses in the program, the innermost first; zeros follow.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct HostLine([usize; DEPTH]);

/// One function of a call stack, as far as it is known.
#[derive(Debug, Default)]
pub(crate) struct StackFrame {
    pub(crate) function: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
    /// The file of the program or library, and the offset in it.
    pub(crate) object: Option<(String, usize)>,
}

impl HostLine {
    /// Nothing is known.
    pub(crate) const NONE: Self = Self([0; DEPTH]);

    /// The running call's, if call sites are captured.
    pub(crate) fn captured() -> Self {
        if ON.load(Ordering::Relaxed) { Self::now() } else { Self::default() }
    }

    /// The running call's.
    pub(crate) fn now() -> Self {
        let (mut found, mut count) = (Self::default(), 0);
        backtrace::trace(|frame| {
            let at = frame.ip().addr();
            // The frames of this library come first.
            if count > 0 || !is_own(at) {
                if let Some(place) = found.0.get_mut(count) {
                    *place = at;
                }
                count += 1;
            }
            count < DEPTH
        });
        found
    }

    /// That of an instruction of the program that a signal has interrupted, for the handler.
    pub(crate) fn interrupted(at: usize) -> Self {
        let mut found = Self::default();
        let mut count = 0;
        backtrace::trace(|frame| {
            let here = frame.ip().addr();
            if count > 0 || here == at {
                if let Some(place) = found.0.get_mut(count) {
                    // Return addresses are behind the call.
                    *place = if count == 0 { here + 1 } else { here };
                }
                count += 1;
            }
            count < DEPTH
        });
        if count == 0 {
            found.0[0] = at + 1;
        }
        found
    }

    /// The functions of the program that made the call, the innermost first. [Other code](is_between) between
    /// the program's line and the call is left out, unless there is nothing else.
    pub(crate) fn frames(&self) -> Vec<StackFrame> {
        let mut frames = Vec::new();
        let mut others = Vec::new();
        // The host function of a kernel calls its stub.
        let mut below_stub = false;
        'stack: for at in self.0.iter().copied().take_while(|at| *at != 0) {
            let mut here = Vec::new();
            backtrace::resolve(core::ptr::without_provenance_mut(at), |symbol| {
                here.push(StackFrame {
                    function: symbol.name().map(|name| name.to_string()),
                    file: symbol.filename().map(|file| file.display().to_string()),
                    line: symbol.lineno(),
                    object: None,
                });
            });
            if here.is_empty() {
                here.push(StackFrame::default());
            }
            for mut frame in here {
                let function = frame.function.as_deref().unwrap_or("");
                if function.starts_with("__libc_start") || function == "start_thread" {
                    break 'stack;
                }
                let is_main = function == "main";
                let stub = function.contains("__device_stub_");
                let between = stub || below_stub || is_between(function, frame.file.as_deref());
                below_stub = stub;
                let list = if between { &mut others } else { &mut frames };
                if list.len() < SHOWN {
                    frame.object = object(at);
                    list.push(frame);
                }
                // The C library's start of the program, which may have no name.
                if is_main || frames.len() == SHOWN {
                    break 'stack;
                }
            }
        }
        if frames.is_empty() { others } else { frames }
    }
}

/// The program's stack pointer at the running call: what is below is not the program's.
pub(crate) fn stack_pointer() -> Option<usize> {
    let mut found = None;
    backtrace::trace(|frame| {
        if !is_own(frame.ip().addr()) {
            found = Some(frame.sp().addr());
        }
        found.is_none()
    });
    found
}

/// The name of a function as its source has it.
pub(crate) fn demangled(name: &str) -> String {
    // Separate compilation puts the file in front of the name of what is local to it.
    let local =
        name.strip_prefix("__nv_static_").and_then(|it| it.find("__Z").and_then(|at| it.get(at + 1..)));
    shortened(backtrace::SymbolName::new(local.unwrap_or(name).as_bytes()).to_string())
}

/// A name of which a reader sees the beginning: those of templates have thousands of characters.
fn shortened(mut name: String) -> String {
    const LONGEST: usize = 120;
    if let Some((end, _)) = name.char_indices().nth(LONGEST) {
        name.truncate(end);
        name += "...";
    }
    name
}

/// Whether a function is not the program's own: of the toolkit, of the standard library of C++ or Rust, of
/// `cuda-safe` and its parts, or made by `cuda-kernels-build`. Without debug information only the name tells.
fn is_between(function: &str, file: Option<&str>) -> bool {
    let Some(file) = file else {
        // An implementation of a trait starts with the type: `<T as Trait>::function`.
        let name = function.trim_start_matches(['<', '&']);
        let library = |it: &&str| name.strip_prefix(*it).is_some_and(|rest| rest.starts_with("::"));
        // The toolkit's templates of the runtime's functions have a result in their name.
        let is_template = function.starts_with("cudaError cuda");
        return is_template || function.starts_with("__cuda") || LIBRARIES.iter().any(library);
    };
    let name = file.rsplit('/').next().unwrap_or(file);
    function.starts_with("__cuda")
        || is_toolkit(file)
        || name.ends_with(".stub.c")
        || name.ends_with(".S")
        || file.contains("/include/c++/")
        || file.starts_with("/rustc/")
        || file.contains("/rustlib/src/rust/library/")
        || file
            .split_once("/target/")
            .is_some_and(|(_, rest)| rest.contains("/build/") && rest.contains("/out/"))
        || is_crate(file)
}

/// Whether a source file is a header of the toolkit: one in a folder `include` that has the runtime's
/// headers, or had them where the program was built.
pub(crate) fn is_toolkit(file: &str) -> bool {
    static KNOWN: Mutex<BTreeMap<String, bool>> = Mutex::new(BTreeMap::new());
    let name = file.rsplit('/').next().unwrap_or(file);
    if name.starts_with("cuda_runtime") || name == "cuda_device_runtime_api.h" {
        return true;
    }
    let mut known = KNOWN.lock();
    file.match_indices("/include/").any(|(at, _)| {
        let root = file.get(..at).unwrap_or_default();
        let last = root.rsplit('/').next().unwrap_or(root);
        // A toolkit's own folder, with its version, of wheels, or for one kind of processor.
        let version =
            |of: &str| last.strip_prefix(of).is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()));
        version("cuda-")
            || version("cu")
            || root.contains("/targets/")
            || ["/usr/local/cuda", "/opt/cuda"].contains(&root)
            || *known
                .entry(root.to_owned())
                .or_insert_with(|| Path::new(root).join("include/cuda_runtime_api.h").exists())
    })
}

/// The crates whose functions come between, as symbols name them.
const LIBRARIES: [&str; 8] =
    ["core", "std", "alloc", "cuda_safe", "cuda_staging", "cuda_nccl", "cuda_hazard", "cuda_sys"];

/// Whether a source file is of `cuda-safe`, in a clone (`cuda-safe/src`, `cuda-safe/staging/src`) or in a
/// registry (`cuda-safe-0.1.0/src`). Its tests and examples are programs.
fn is_crate(file: &str) -> bool {
    let mut rest = file.split('/');
    while let Some(folder) = rest.next() {
        let Some(version) = folder.strip_prefix("cuda-safe") else { continue };
        let mut inside = rest.clone();
        let number = version.strip_prefix('-').is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()));
        let inner = inside.next().unwrap_or("");
        let part = ["hazard", "nccl", "staging"].contains(&inner) && inside.next() == Some("src");
        if (version.is_empty() || number) && (inner == "src" || part) {
            return true;
        }
    }
    false
}

impl fmt::Debug for HostLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostLine")
    }
}

impl fmt::Display for StackFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let function = shortened(self.function.as_deref().unwrap_or("an unknown function").to_owned());
        match (&self.file, self.line, &self.object) {
            (Some(file), Some(line), _) => write!(f, "{file}:{line} in {function}"),
            (_, _, Some((object, offset))) => write!(f, "{function} ({object}+{offset:#x})"),
            _ => f.write_str(&function),
        }
    }
}

/// The file that an address was loaded from, and the offset in it.
fn object(at: usize) -> Option<(String, usize)> {
    let mut info = core::mem::MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: the address is only looked up, and the place is for the answer.
    if unsafe { libc::dladdr(core::ptr::without_provenance::<c_void>(at), info.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: the call has succeeded and filled it.
    let info = unsafe { info.assume_init() };
    if info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's own name of a loaded file, which ends in a zero byte.
    let name = unsafe { CStr::from_ptr(info.dli_fname) }.to_string_lossy().into_owned();
    Some((name, at.wrapping_sub(info.dli_fbase.addr())))
}

/// Whether an address is in the code of this library.
fn is_own(at: usize) -> bool {
    static OWN: OnceLock<(usize, usize)> = OnceLock::new();
    let (first, end) = *OWN.get_or_init(|| {
        let mut own = (0, 0);
        // SAFETY: the function has the required signature, and the data is what it expects.
        unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut own).cast()) };
        own
    });
    first <= at && at < end
}

/// Notes the range of addresses of the loaded file with this function in it, and then stops.
unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, own: *mut c_void) -> c_int {
    // SAFETY: the loader passes a live structure.
    let info = unsafe { &*info };
    let number = usize::from(info.dlpi_phnum);
    // SAFETY: the loader says how many headers there are.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, number) };
    let base = usize::try_from(info.dlpi_addr).unwrap_or(0);
    let at = |offset: u64| base.wrapping_add(usize::try_from(offset).unwrap_or(0));
    let loaded = headers.iter().filter(|it| it.p_type == libc::PT_LOAD);
    let ranges: Vec<_> = loaded.map(|it| (at(it.p_vaddr), at(it.p_vaddr + it.p_memsz))).collect();
    let here = (look as *const ()).addr();
    if !ranges.iter().any(|(first, end)| *first <= here && here < *end) {
        return 0;
    }
    let first = ranges.iter().map(|it| it.0).min().unwrap_or(0);
    let end = ranges.iter().map(|it| it.1).max().unwrap_or(0);
    // SAFETY: `is_own` passes the place of such a pair.
    unsafe { own.cast::<(usize, usize)>().write((first, end)) };
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_between_the_program_and_the_call_is_known_by_its_file_or_else_by_its_name() {
        let between = [
            "/home/u/clone/cuda-safe/src/launch/run.rs",
            "/home/u/.cargo/registry/src/index/cuda-safe-0.1.0/src/launch/run.rs",
            "/home/u/cuda-safe/cuda-safe/staging/src/lib.rs",
            "/home/u/work/target/debug/build/ops-01234567/out/kernels.objects/axpy-1.cu",
            "/rustc/0123/library/core/src/ops/function.rs",
            "/home/u/.rustup/toolchains/stable/lib/rustlib/src/rust/library/alloc/src/boxed.rs",
            "/opt/cuda/include/cuda_runtime.h",
            "/usr/local/cuda-13.0/include/cccl/thrust/detail/copy.inl",
            "/home/u/venv/lib/python3/site-packages/nvidia/cu13/include/cooperative_groups.h",
            "/usr/local/cuda/targets/x86_64-linux/include/crt/sm_70_rt.hpp",
            "/usr/include/c++/13/bits/invoke.h",
        ];
        for file in between {
            assert!(is_between("anything", Some(file)), "{file}");
        }
        let own = [
            "/home/u/work/src/main.rs",
            "/home/u/clone/cuda-safe/tests/copy.rs",
            "/home/u/clone/cuda-safe/examples/first.rs",
            "/home/u/cuda-safe/examples/vector_add/src/main.rs",
            "/home/u/my-cuda-safe/src/main.rs",
            "/home/u/cuda-safe-demo/src/main.rs",
            "/home/u/build/out/main.cu",
            "/home/u/cuda-samples/include/helper_cuda.h",
            "/home/u/work/include/cuda/stream.h",
        ];
        for file in own {
            assert!(!is_between("cuda_safe::a_name_does_not_count", Some(file)), "{file}");
        }
        assert!(is_between("cudaError cudaMalloc<int>(int**, unsigned long)", None));
        for name in ["<cuda_safe::Kernel<P>>::launch", "std::rt::lang_start", "<&cuda_safe::A as B>::c"] {
            assert!(is_between(name, None), "{name}");
        }
        for name in ["main", "stdlib::run", "<app::A as cuda_safe::B>::c", "core_of_mine", ""] {
            assert!(!is_between(name, None), "{name}");
        }
    }
}
