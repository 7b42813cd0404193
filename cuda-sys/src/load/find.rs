//! Finds and loads libcudart, as the loader would and then as `CUDA_PATH` says.

use core::ffi::{CStr, c_int, c_void};
use core::ptr::NonNull;
use std::ffi::{CString, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::system::{self, Handle};
use crate::bindings::{CUDART_VERSION, cudaError_t, cudaSuccess};

/// The variables that name a toolkit, as in a build.
const VARIABLES: [&str; 4] = ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"];

const MAJOR: u32 = CUDART_VERSION / 1000;

/// A libcudart of the bindings' major version. It stays loaded.
pub(super) struct Library {
    handle: Handle,
    version: u32,
    path: String,
    lacks: OnceLock<CString>,
}

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

/// Returns the version that a library states, and the file that it is from.
fn version_of(library: &Handle) -> Option<(u32, String)> {
    let address = library.symbol(c"cudaRuntimeGetVersion")?;
    // SAFETY: the function has had this type since CUDA 2.2.
    let function: unsafe extern "C" fn(*mut c_int) -> cudaError_t = unsafe { core::mem::transmute(address) };
    let mut version = 0;
    // SAFETY: the pointer is to a live local integer, which the call fills. It needs no driver.
    let code = unsafe { function(&raw mut version) };
    let version = u32::try_from(version).ok().filter(|version| code == cudaSuccess && *version > 0)?;
    Some((version, system::file_of(address)))
}

/// Keeps the program or shared library that this crate is in from being unloaded, because the library now has
/// addresses in it.
pub(super) fn pin_this() {
    system::pin(NonNull::from(&PINNED).cast());
}

static PINNED: u8 = 0;

/// Loads the library. The error says where it was looked for, and what to do.
pub(super) fn load() -> Result<Library, String> {
    let wanted = system::library_name(MAJOR);
    let mut looked = Vec::new();
    match Handle::open(Path::new(&wanted)) {
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
            Ok(file) => match Handle::open(&file) {
                Ok(handle) => return checked(handle),
                Err(why) => looked.push(format!("{name}: {why}")),
            },
            Err(why) => looked.push(format!("{name}: {why}")),
        }
    }
    looked.extend([MAJOR - 1, MAJOR + 1].into_iter().filter_map(other));
    Err(format!(
        "no {wanted} was found (the runtime of CUDA {MAJOR}, for which this program was built: {}). Looked \
         at: {}. Install the CUDA {MAJOR} runtime (NVIDIA's package cuda-cudart-{MAJOR}-0 or newer, or its Python \
         wheel nvidia-cuda-runtime), and have its folder in {} or its toolkit in CUDA_PATH",
        version(CUDART_VERSION),
        looked.join("; "),
        system::SEARCHED
    ))
}

/// Returns the library if it is of this major version. Else functions and structs of the same name differ.
fn checked(handle: Handle) -> Result<Library, String> {
    let built = version(CUDART_VERSION);
    match version_of(&handle) {
        Some((number, path)) if number / 1000 == MAJOR => {
            Ok(Library { handle, version: number, path, lacks: OnceLock::new() })
        }
        Some((number, path)) => {
            let found = version(number);
            handle.close();
            Err(format!(
                "libcudart is CUDA {found} ({path}), but this program was built for CUDA {built}: functions \
                 and structs of the same name differ between major versions. Install the CUDA {MAJOR} runtime, \
                 and check {} and CUDA_PATH",
                system::SEARCHED
            ))
        }
        None => {
            handle.close();
            Err(format!(
                "the {} that was loaded does not tell its version, and this program was built for CUDA \
                 {built}: check {} and CUDA_PATH",
                system::library_name(MAJOR),
                system::SEARCHED
            ))
        }
    }
}

/// Returns a sentence about the loader's libcudart of another major version, if there is one.
fn other(major: u32) -> Option<String> {
    let handle = Handle::open(Path::new(&system::library_name(major))).ok()?;
    let found = version_of(&handle);
    handle.close();
    let (number, path) = found?;
    Some(format!("{path} is CUDA {}, another major version", version(number)))
}

/// Returns the roots of toolkits, each with its name in an error.
fn places(variable: impl Fn(&str) -> Option<OsString>) -> Vec<(String, PathBuf)> {
    let named = VARIABLES.into_iter().filter_map(|name| Some((name, PathBuf::from(variable(name)?))));
    let named = named.map(|(name, root)| (format!("{name}={}", root.display()), root));
    named.chain(system::ROOTS.iter().map(|root| ((*root).to_owned(), PathBuf::from(root)))).collect()
}

/// Returns the file of this name in a toolkit, or why there is none.
fn file_in(root: &Path, wanted: &str) -> Result<PathBuf, String> {
    if !root.is_dir() {
        return Err("no such folder".to_owned());
    }
    let folders = system::folders().map(|folder| root.join(folder));
    if let Some(file) = folders.iter().map(|folder| folder.join(wanted)).find(|file| file.is_file()) {
        return Ok(file);
    }
    let files = folders.iter().filter_map(|folder| folder.read_dir().ok()).flatten().flatten();
    let mut names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    match names.find(|name| name.starts_with(system::FILES)) {
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
        let own = system::ROOTS.iter().copied();
        let names: Vec<_> = places.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["CUDA_HOME=/opt/my cuda"].into_iter().chain(own.clone()).collect::<Vec<_>>());
        let roots: Vec<_> = places.iter().map(|(_, root)| root.as_path()).collect();
        assert_eq!(roots, ["/opt/my cuda"].into_iter().chain(own).map(Path::new).collect::<Vec<_>>());
    }

    #[test]
    fn a_toolkit_without_the_library_says_what_it_has() {
        let root = std::env::temp_dir().join(format!("cudart-load-{}", std::process::id()));
        let [wanted, older] = [13, 12].map(system::library_name);
        let find = || file_in(&root, &wanted);
        assert_eq!(find().unwrap_err(), "no such folder");
        let folder = root.join(&system::folders()[2]);
        std::fs::create_dir_all(&folder).unwrap();
        assert_eq!(find().unwrap_err(), format!("no {wanted}"));
        std::fs::write(folder.join(&older), "").unwrap();
        assert_eq!(find().unwrap_err(), format!("has {older} and no {wanted}"));
        std::fs::write(folder.join(&wanted), "").unwrap();
        assert_eq!(find().unwrap(), folder.join(&wanted));
        std::fs::remove_dir_all(&root).unwrap();
    }
}
