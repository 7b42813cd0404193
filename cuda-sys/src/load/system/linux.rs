//! The loader of Linux, and C's names in ELF objects.

use core::ffi::{CStr, c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The folders of toolkits that no variable names.
pub(crate) const ROOTS: &[&str] = &["/usr/local/cuda", "/opt/cuda"];

/// How the file of any libcudart begins.
pub(crate) const FILES: &str = "libcudart.so.";

/// The variable that has the loader's folders.
pub(crate) const SEARCHED: &str = "LD_LIBRARY_PATH";

/// Returns the name by which the loader has the libcudart of a major version.
pub(crate) fn library_name(major: u32) -> String {
    format!("{FILES}{major}")
}

/// Returns the folders of a toolkit that may have libcudart.
pub(crate) fn folders() -> [String; 5] {
    let arch = std::env::consts::ARCH;
    [
        "targets/sbsa-linux/lib".to_owned(),
        format!("targets/{arch}-linux/lib"),
        "lib64".to_owned(),
        "lib".to_owned(),
        format!("lib/{arch}-linux-gnu"),
    ]
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
        Self::open_with(file, libc::RTLD_NOW | libc::RTLD_LOCAL)
    }

    fn open_with(file: &Path, flags: c_int) -> Result<Self, String> {
        let name = CString::new(file.as_os_str().as_bytes()).unwrap_or_default();
        // SAFETY: the name is a C string. Constructors of a libcudart make no calls of this program.
        let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
        NonNull::new(handle).map(Self).ok_or_else(last_error)
    }

    /// Returns the address of a function.
    pub(crate) fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the handle is open, and the name is a C string.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
    }

    /// Takes back one `open`.
    pub(crate) fn close(self) {
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
pub(crate) fn file_of(address: NonNull<c_void>) -> String {
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

/// Keeps the program or shared library that an address is in from being unloaded. The program itself is
/// refused by the loader, and never unloaded.
pub(crate) fn pin(address: NonNull<c_void>) {
    let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
    let _ = Handle::open_with(Path::new(&file_of(address)), flags);
}

/// Defines C's name for a function: hidden, in a section of its own, which the linker drops if nothing refers
/// to it.
macro_rules! c_symbol {
    ($name:ident) => {
        ::core::arch::global_asm!(
            concat!(".pushsection .text.cudart.", stringify!($name), ",\"ax\",%progbits"),
            concat!(".globl ", stringify!($name)),
            concat!(".hidden ", stringify!($name)),
            concat!(".type ", stringify!($name), ",%function"),
            concat!(stringify!($name), ":"),
            concat!($crate::load::system::jump!(), " {function}"),
            concat!(".size ", stringify!($name), ", . - ", stringify!($name)),
            ".popsection",
            function = sym $name,
        );
    };
}

/// The instruction that goes to a function of the same program.
#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    () => {
        "jmp"
    };
}

/// The instruction that goes to a function of the same program.
#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    () => {
        "b"
    };
}

pub(crate) use {c_symbol, jump};
