//! Finds and loads libcudart, as the loader would and then as `CUDA_PATH` says.

use core::ffi::{CStr, c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::bindings::{CUDART_VERSION, cudaError_t, cudaSuccess};

/// The variables that name a toolkit, as in a build.
const VARIABLES: [&str; 4] = ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"];

/// The folders of toolkits that no variable names.
const SYSTEM: [&str; 2] = ["/usr/local/cuda", "/opt/cuda"];

const MAJOR: u32 = CUDART_VERSION / 1000;

/// A libcudart of the bindings' major version. It stays loaded.
pub(super) struct Library {
    handle: Handle,
    version: u32,
    path: String,
    lacks: OnceLock<CString>,
}

/// The loader's handle of a library.
struct Handle(NonNull<c_void>);

// SAFETY: the loader's functions take a handle on any thread.
unsafe impl Send for Handle {}
// SAFETY: the handle is only passed to the loader's functions, which any thread may call.
unsafe impl Sync for Handle {}

impl Library {
    /// Returns the address of a function.
    pub(super) fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        self.handle.symbol(name)
    }

    /// Returns the sentence about a function that the library lacks.
    pub(super) fn lacks(&self) -> &CStr {
        self.lacks.get_or_init(|| {
            let (library, built, path) = (version(self.version), version(CUDART_VERSION), &self.path);
            let text = format!(
                "libcudart is CUDA {library} ({path}) and lacks this function; the program was built with \
                 bindings for CUDA {built}, and the documentation names the version that has the function"
            );
            CString::new(text).unwrap_or_default()
        })
    }
}

impl Handle {
    /// Loads a library.
    fn open(name: &CStr, flags: c_int) -> Result<Self, String> {
        // SAFETY: the name is a C string. Constructors of a libcudart make no calls of this program.
        let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
        NonNull::new(handle).map(Self).ok_or_else(last_error)
    }

    fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the handle is open, and the name is a C string.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
    }

    /// Returns the version that the library states, and the file that it is from.
    fn version(&self) -> Option<(u32, String)> {
        let address = self.symbol(c"cudaRuntimeGetVersion")?;
        // SAFETY: the function has had this type since CUDA 2.2.
        let function: unsafe extern "C" fn(*mut c_int) -> cudaError_t =
            unsafe { core::mem::transmute(address) };
        let mut version = 0;
        // SAFETY: the pointer is to a live local integer, which the call fills. It needs no driver.
        let code = unsafe { function(&raw mut version) };
        let version = u32::try_from(version).ok().filter(|version| code == cudaSuccess && *version > 0)?;
        Some((version, file_of(address)))
    }

    /// Takes back one `open`.
    fn close(self) {
        // SAFETY: the handle is open, and nothing of the library is in use.
        unsafe { libc::dlclose(self.0.as_ptr()) };
    }
}

/// Returns the loader's sentence about its last failure on this thread.
fn last_error() -> String {
    // SAFETY: takes no arguments. The string lives until the thread's next call of the loader.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "not found".to_owned();
    }
    // SAFETY: not null, thus a C string, which is copied at once.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Returns the file that an address was loaded from.
fn file_of(address: NonNull<c_void>) -> String {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the pointer is to a live variable, which the call fills.
    unsafe { libc::dladdr(address.as_ptr(), found.as_mut_ptr()) };
    // SAFETY: all zeros are a value of this type, too.
    let found = unsafe { found.assume_init() };
    if found.dli_fname.is_null() {
        return "a file without a name".to_owned();
    }
    // SAFETY: not null, thus the C string of a file that stays loaded meanwhile.
    unsafe { CStr::from_ptr(found.dli_fname) }.to_string_lossy().into_owned()
}

/// Keeps the program or shared library that this crate is in from being unloaded, because the library now has
/// addresses in it. The program itself is refused by the loader, and never unloaded.
pub(super) fn pin_this() {
    let here = file_of(NonNull::from(&PINNED).cast());
    if let Ok(name) = CString::new(here) {
        let _ = Handle::open(&name, libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE);
    }
}

static PINNED: u8 = 0;

/// Loads the library. The error says where it was looked for, and what to do.
pub(super) fn load() -> Result<Library, String> {
    let wanted = format!("libcudart.so.{MAJOR}");
    let name = CString::new(wanted.clone()).unwrap_or_default();
    let mut looked = Vec::new();
    // A library of this name that the process has already is the one that the loader returns.
    match Handle::open(&name, libc::RTLD_NOW | libc::RTLD_LOCAL) {
        Ok(handle) => return checked(handle),
        Err(why) => looked.push(format!("the loader: {why}")),
    }
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let unset: Vec<_> = VARIABLES.into_iter().filter(|name| variable(name).is_none()).collect();
    if !unset.is_empty() {
        looked.push(format!("{}: not set", unset.join(", ")));
    }
    for (name, root) in places(variable) {
        match file_in(&root, &wanted) {
            Ok(file) => {
                let path = CString::new(file.as_os_str().as_bytes()).unwrap_or_default();
                match Handle::open(&path, libc::RTLD_NOW | libc::RTLD_LOCAL) {
                    Ok(handle) => return checked(handle),
                    Err(why) => looked.push(format!("{name}: {why}")),
                }
            }
            Err(why) => looked.push(format!("{name}: {why}")),
        }
    }
    looked.extend([MAJOR - 1, MAJOR + 1].into_iter().filter_map(other));
    Err(format!(
        "no {wanted} was found (the runtime of CUDA {MAJOR}, for which this program was built: {}). Looked \
         at: {}. Install the CUDA {MAJOR} runtime (NVIDIA's package cuda-cudart-{MAJOR}-0 or newer, or its Python \
         wheel nvidia-cuda-runtime), and have its folder in LD_LIBRARY_PATH or its toolkit in CUDA_PATH",
        version(CUDART_VERSION),
        looked.join("; ")
    ))
}

/// Returns the library if it is of this major version. Else functions and structs of the same name differ.
fn checked(handle: Handle) -> Result<Library, String> {
    let built = version(CUDART_VERSION);
    match handle.version() {
        Some((number, path)) if number / 1000 == MAJOR => {
            Ok(Library { handle, version: number, path, lacks: OnceLock::new() })
        }
        Some((number, path)) => {
            let found = version(number);
            handle.close();
            Err(format!(
                "libcudart is CUDA {found} ({path}), but this program was built for CUDA {built}: functions \
                 and structs of the same name differ between major versions. Install the CUDA {MAJOR} runtime, \
                 and check LD_LIBRARY_PATH and CUDA_PATH"
            ))
        }
        None => {
            handle.close();
            Err(format!(
                "the libcudart.so.{MAJOR} that was loaded does not tell its version, and this program was \
                 built for CUDA {built}: check LD_LIBRARY_PATH and CUDA_PATH"
            ))
        }
    }
}

/// Returns a sentence about the loader's libcudart of another major version, if there is one.
fn other(major: u32) -> Option<String> {
    let name = CString::new(format!("libcudart.so.{major}")).ok()?;
    let handle = Handle::open(&name, libc::RTLD_LAZY | libc::RTLD_LOCAL).ok()?;
    let found = handle.version();
    handle.close();
    let (number, path) = found?;
    Some(format!("{path} is CUDA {}, another major version", version(number)))
}

/// Returns the roots of toolkits, each with its name in an error.
fn places(variable: impl Fn(&str) -> Option<OsString>) -> Vec<(String, PathBuf)> {
    let named = VARIABLES.into_iter().filter_map(|name| Some((name, PathBuf::from(variable(name)?))));
    let named = named.map(|(name, root)| (format!("{name}={}", root.display()), root));
    named.chain(SYSTEM.map(|root| (root.to_owned(), PathBuf::from(root)))).collect()
}

/// Returns the file of this name in a toolkit, or why there is none.
fn file_in(root: &Path, wanted: &str) -> Result<PathBuf, String> {
    if !root.is_dir() {
        return Err("no such folder".to_owned());
    }
    let arch = std::env::consts::ARCH;
    let folders = [
        "targets/sbsa-linux/lib".to_owned(),
        format!("targets/{arch}-linux/lib"),
        "lib64".to_owned(),
        "lib".to_owned(),
        format!("lib/{arch}-linux-gnu"),
    ];
    let folders: Vec<_> = folders.iter().map(|folder| root.join(folder)).collect();
    if let Some(file) = folders.iter().map(|folder| folder.join(wanted)).find(|file| file.is_file()) {
        return Ok(file);
    }
    let files = folders.iter().filter_map(|folder| folder.read_dir().ok()).flatten().flatten();
    let mut names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    match names.find(|name| name.starts_with("libcudart.so.")) {
        Some(other) => Err(format!("has {other} and no {wanted}")),
        None => Err(format!("no {wanted}")),
    }
}

fn version(number: u32) -> String {
    format!("{}.{}", number / 1000, number % 1000 / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_come_before_the_folders_of_the_system() {
        let places = places(|name| (name == "CUDA_HOME").then(|| OsString::from("/opt/my cuda")));
        let names: Vec<_> = places.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["CUDA_HOME=/opt/my cuda", "/usr/local/cuda", "/opt/cuda"]);
        let roots: Vec<_> = places.iter().map(|(_, root)| root.as_path()).collect();
        assert_eq!(roots, ["/opt/my cuda", "/usr/local/cuda", "/opt/cuda"].map(Path::new));
    }

    #[test]
    fn a_toolkit_without_the_library_says_what_it_has() {
        let root = std::env::temp_dir().join(format!("cudart-load-{}", std::process::id()));
        assert_eq!(file_in(&root, "libcudart.so.13").unwrap_err(), "no such folder");
        std::fs::create_dir_all(root.join("lib64")).unwrap();
        assert_eq!(file_in(&root, "libcudart.so.13").unwrap_err(), "no libcudart.so.13");
        std::fs::write(root.join("lib64/libcudart.so.12"), "").unwrap();
        let said = file_in(&root, "libcudart.so.13").unwrap_err();
        assert_eq!(said, "has libcudart.so.12 and no libcudart.so.13");
        std::fs::write(root.join("lib64/libcudart.so.13"), "").unwrap();
        assert_eq!(file_in(&root, "libcudart.so.13").unwrap(), root.join("lib64/libcudart.so.13"));
        std::fs::remove_dir_all(&root).unwrap();
    }
}
