//! NVRTC's functions, loaded at run time. The library is never unloaded.
#![expect(unsafe_code, reason = "loads a library")]

use std::env;
use std::ffi::{OsStr, c_char, c_int, c_void};
use std::fs;
use std::path::{Path, PathBuf};

/// `nvrtcProgram` of `nvrtc.h`.
pub(crate) type Program = *mut c_void;

/// `nvrtcResult` of `nvrtc.h`: 0 is success.
pub(crate) type Status = c_int;

/// `NVRTC_ERROR_COMPILATION`.
pub(crate) const COMPILATION: Status = 6;

/// Declares the functions of `nvrtc.h`, and their lookup.
macro_rules! functions {
    ($(fn $name:ident($($type:ty),*) -> $result:ty;)*) => {
        /// NVRTC's functions. They are of a library that is never unloaded.
        #[derive(Debug)]
        #[allow(non_snake_case, reason = "C's names")]
        pub(crate) struct Functions {
            $(pub(crate) $name: unsafe extern "C" fn($($type),*) -> $result,)*
        }

        impl Functions {
            fn of(library: &libloading::Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    // SAFETY: the function has the type that `nvrtc.h` declares, the same in CUDA 12 and 13.
                    $($name: *unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) }?,)*
                })
            }
        }
    };
}

functions! {
    fn nvrtcVersion(*mut c_int, *mut c_int) -> Status;
    fn nvrtcGetErrorString(Status) -> *const c_char;
    fn nvrtcGetNumSupportedArchs(*mut c_int) -> Status;
    fn nvrtcGetSupportedArchs(*mut c_int) -> Status;
    fn nvrtcCreateProgram(
        *mut Program, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char
    ) -> Status;
    fn nvrtcDestroyProgram(*mut Program) -> Status;
    fn nvrtcAddNameExpression(Program, *const c_char) -> Status;
    fn nvrtcCompileProgram(Program, c_int, *const *const c_char) -> Status;
    fn nvrtcGetLoweredName(Program, *const c_char, *mut *const c_char) -> Status;
    fn nvrtcGetPTXSize(Program, *mut usize) -> Status;
    fn nvrtcGetPTX(Program, *mut c_char) -> Status;
    fn nvrtcGetProgramLogSize(Program, *mut usize) -> Status;
    fn nvrtcGetProgramLog(Program, *mut c_char) -> Status;
}

impl Functions {
    /// Returns name, size and time of the library's file, as far as the system tells them.
    pub(crate) fn file(&self) -> String {
        let address = self.nvrtcVersion as usize;
        let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        // `7f1c2a000000-7f1c2b000000 r-xp 00001000 08:01 1234  /usr/lib/libnvrtc.so.13.0.88`
        let has = |line: &&str| {
            let mut ends = line.split(['-', ' ']).map(|end| usize::from_str_radix(end, 16));
            matches!((ends.next(), ends.next()), (Some(Ok(start)), Some(Ok(end))) if (start..end).contains(&address))
        };
        let file = maps.lines().find(has).and_then(|line| Some(Path::new(&line[line.find('/')?..])));
        let found = file.and_then(|file| Some((file.file_name()?, fs::metadata(file).ok()?)));
        found.map_or(String::new(), |(name, data)| {
            format!("{name:?} {} {:?}", data.len(), data.modified().ok())
        })
    }
}

/// The variables that name a toolkit, in their order.
const ROOTS: [&str; 4] = ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"];

/// The newest first.
const NAMES: [&str; 2] = ["libnvrtc.so.13", "libnvrtc.so.12"];

/// Returns the files to try, in their order.
fn candidates(variable: impl Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
    let within = |root: &Path, name: &str| ["lib64", "lib"].map(|folder| root.join(folder).join(name));
    if let Some(root) = variable("NVRTC_PATH") {
        return NAMES.iter().flat_map(|name| within(&root, name)).collect();
    }
    let mut roots: Vec<PathBuf> = ROOTS.iter().filter_map(|name| variable(name)).collect();
    roots.extend(["/usr/local/cuda".into(), "/opt/cuda".into()]);
    let of = |name: &&str| {
        let files = roots.iter().flat_map(|root| within(root, name));
        [PathBuf::from(name)].into_iter().chain(files).collect::<Vec<_>>()
    };
    NAMES.iter().flat_map(of).collect()
}

/// Loads the installed library. The error lists what was looked at.
pub(crate) fn find() -> Result<Functions, String> {
    let mut looked_at = Vec::new();
    for file in candidates(|name| env::var_os(name).filter(|text| !text.is_empty()).map(PathBuf::from)) {
        // The loader searches for a name.
        if file.components().count() > 1 && !file.exists() {
            looked_at.push(file.display().to_string());
            continue;
        }
        // SAFETY: NVRTC's own functions at load have no requirements.
        match unsafe { open(file.as_os_str()) } {
            Ok(functions) => return Ok(functions),
            Err(error) => looked_at.push(error),
        }
    }
    Err(format!(
        "no libnvrtc was found. Looked at: {}. Install NVRTC of CUDA 13 or 12 (NVIDIA's package \
         cuda-nvrtc-13-0 or newer, or its Python wheel nvidia-cuda-nvrtc), and have its folder in \
         LD_LIBRARY_PATH, its toolkit in CUDA_PATH, or the folder above its `lib` in NVRTC_PATH",
        looked_at.join("; ")
    ))
}

/// Loads a library.
///
/// # Safety
/// The file is NVRTC, or has its functions with their effects.
pub(crate) unsafe fn open(file: &OsStr) -> Result<Functions, String> {
    // SAFETY: the caller has the duties.
    let library = unsafe { libloading::Library::new(file) }.map_err(|error| error.to_string())?;
    let functions = Functions::of(&library).map_err(|error| error.to_string())?;
    load_builtins(&functions, file);
    // The functions are used for the rest of the process.
    Box::leak(Box::new(library));
    Ok(functions)
}

/// Loads the library that NVRTC loads by its name at the first compilation, from the folder of NVRTC: the
/// loader may not search there.
fn load_builtins(functions: &Functions, file: &OsStr) {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the pointers are to live integers.
    let _ = unsafe { (functions.nvrtcVersion)(&raw mut major, &raw mut minor) };
    let name = format!("libnvrtc-builtins.so.{major}.{minor}");
    let beside = Path::new(file).with_file_name(name);
    if beside.components().count() > 1 && beside.exists() {
        // SAFETY: the library is a part of NVRTC. Without it, NVRTC says so.
        let builtins = unsafe { libloading::Library::new(beside) };
        builtins.map(|library| Box::leak(Box::new(library))).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_excludes_other_places() {
        let all = candidates(|name| (name == "NVRTC_PATH").then(|| "/n".into()));
        let expected = [
            "/n/lib64/libnvrtc.so.13",
            "/n/lib/libnvrtc.so.13",
            "/n/lib64/libnvrtc.so.12",
            "/n/lib/libnvrtc.so.12",
        ];
        assert_eq!(all, expected.map(PathBuf::from));
    }

    #[test]
    fn the_loader_comes_before_toolkits_and_a_newer_version_before_an_older_one() {
        let all = candidates(|name| (name == "CUDA_HOME").then(|| "/c".into()));
        assert_eq!(
            all[..3],
            ["libnvrtc.so.13", "/c/lib64/libnvrtc.so.13", "/c/lib/libnvrtc.so.13"].map(PathBuf::from)
        );
        assert_eq!((all.len(), &all[7]), (14, &PathBuf::from("libnvrtc.so.12")));
    }

    #[test]
    fn a_library_without_the_functions_is_an_error() {
        // SAFETY: the C library is loaded already.
        let error = unsafe { open(OsStr::new("libc.so.6")) }.unwrap_err();
        assert!(error.contains("nvrtcVersion"), "{error}");
    }
}
