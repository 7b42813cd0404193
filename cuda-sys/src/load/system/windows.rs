//! The loader of Windows, and C's names in COFF objects.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::{NonNull, null_mut};
use std::io;
use std::os::windows::ffi::OsStrExt as _;
use std::path::Path;

/// The folders of toolkits that no variable names: none. NVIDIA's installer sets `CUDA_PATH`.
pub(crate) const ROOTS: &[&str] = &[];

/// How the file of any libcudart begins.
pub(crate) const FILES: &str = "cudart64_";

/// The variable that has the loader's folders, after those of the program and the system.
pub(crate) const SEARCHED: &str = "PATH";

/// Returns the name by which the loader has the libcudart of a major version.
pub(crate) fn library_name(major: u32) -> String {
    format!("{FILES}{major}.dll")
}

/// Returns the folders of a toolkit that may have libcudart: of CUDA 13, of NVIDIA's Python wheels, and of
/// CUDA 12.
pub(crate) fn folders() -> [String; 3] {
    ["bin/x64", "bin/x86_64", "bin"].map(str::to_owned)
}

#[link(name = "kernel32")]
unsafe extern "system" {
    fn LoadLibraryW(file: *const u16) -> *mut c_void;
    fn GetProcAddress(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn FreeLibrary(library: *mut c_void) -> c_int;
    fn GetModuleHandleExW(flags: u32, address: *const c_void, library: *mut *mut c_void) -> c_int;
    fn GetModuleFileNameW(library: *mut c_void, file: *mut u16, len: u32) -> u32;
}

/// The loader's handle of a library.
pub(crate) struct Handle(NonNull<c_void>);

// SAFETY: the loader's functions take a handle on any thread.
unsafe impl Send for Handle {}
// SAFETY: the handle is only passed to the loader's functions, which any thread may call.
unsafe impl Sync for Handle {}

impl Handle {
    /// Loads a library: a path, or a name that the loader looks for. A library of this name that the process
    /// has already is the one that the loader returns.
    pub(crate) fn open(file: &Path) -> Result<Self, String> {
        let name: Vec<u16> = file.as_os_str().encode_wide().chain([0]).collect();
        // SAFETY: the name ends with a zero. What a libcudart does as it is loaded calls nothing of this
        // program.
        let handle = unsafe { LoadLibraryW(name.as_ptr()) };
        NonNull::new(handle).map(Self).ok_or_else(|| io::Error::last_os_error().to_string())
    }

    /// Returns the address of a function.
    pub(crate) fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the library is loaded, and the name is a C string.
        NonNull::new(unsafe { GetProcAddress(self.0.as_ptr(), name.as_ptr()) })
    }

    /// Takes back one `open`.
    pub(crate) fn close(self) {
        // SAFETY: the library is loaded, and nothing of it is in use.
        unsafe { FreeLibrary(self.0.as_ptr()) };
    }
}

/// `GET_MODULE_HANDLE_EX_FLAG_PIN`.
const PIN: u32 = 1;

/// `GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT`.
const BORROW: u32 = 2;

/// Returns the program or library that an address is in, or null.
fn module_of(address: NonNull<c_void>, flag: u32) -> *mut c_void {
    /// `GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS`.
    const FROM_ADDRESS: u32 = 4;
    let mut module = null_mut();
    // SAFETY: the last pointer is to a live variable, which the call fills. The address is only compared.
    unsafe { GetModuleHandleExW(flag | FROM_ADDRESS, address.as_ptr(), &raw mut module) };
    module
}

/// Returns the file that an address was loaded from.
pub(crate) fn file_of(address: NonNull<c_void>) -> String {
    // The longest path of Windows.
    let mut file = vec![0_u16; 1 << 15];
    let len = u32::try_from(file.len()).unwrap_or(0);
    // SAFETY: the file that has the address stays loaded meanwhile, and the buffer has so many units.
    let written = unsafe { GetModuleFileNameW(module_of(address, BORROW), file.as_mut_ptr(), len) };
    file.truncate(usize::try_from(written).unwrap_or(0));
    if file.is_empty() { "a file without a name".to_owned() } else { String::from_utf16_lossy(&file) }
}

/// Keeps the program or library that an address is in from being unloaded.
pub(crate) fn pin(address: NonNull<c_void>) {
    module_of(address, PIN);
}

/// Defines C's name for a function, in a section of its own, which the linker drops if nothing refers to it.
macro_rules! c_symbol {
    ($name:ident) => {
        ::core::arch::global_asm!(
            concat!(".section .text$cudart_", stringify!($name), ",\"xr\",discard,", stringify!($name)),
            concat!(".globl ", stringify!($name)),
            concat!(".def ", stringify!($name)),
            ".scl 2",
            ".type 32",
            ".endef",
            concat!(stringify!($name), ":"),
            "jmp {function}",
            ".text",
            function = sym $name,
        );
    };
}

pub(crate) use c_symbol;
