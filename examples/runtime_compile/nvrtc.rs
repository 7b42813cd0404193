//! NVRTC behind a safe function.

use std::ffi::{CStr, CString, NulError, c_char, c_int};
use std::ptr;

use anyhow::bail;

/// `nvrtcProgram` of `nvrtc.h`.
type Program = *mut std::ffi::c_void;

unsafe extern "C" {
    fn nvrtcGetErrorString(result: c_int) -> *const c_char;
    fn nvrtcCreateProgram(
        program: *mut Program,
        source: *const c_char,
        name: *const c_char,
        header_count: c_int,
        headers: *const *const c_char,
        header_names: *const *const c_char,
    ) -> c_int;
    fn nvrtcDestroyProgram(program: *mut Program) -> c_int;
    fn nvrtcAddNameExpression(program: Program, expression: *const c_char) -> c_int;
    fn nvrtcCompileProgram(program: Program, count: c_int, options: *const *const c_char) -> c_int;
    fn nvrtcGetLoweredName(program: Program, expression: *const c_char, name: *mut *const c_char) -> c_int;
    fn nvrtcGetPTXSize(program: Program, bytes: *mut usize) -> c_int;
    fn nvrtcGetPTX(program: Program, ptx: *mut c_char) -> c_int;
    fn nvrtcGetProgramLogSize(program: Program, bytes: *mut usize) -> c_int;
    fn nvrtcGetProgramLog(program: Program, log: *mut c_char) -> c_int;
}

/// A program that lives as long as this.
struct Owned(Program);

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the program is live, and nobody uses it any more.
        let _ = unsafe { nvrtcDestroyProgram(&raw mut self.0) };
    }
}

fn checked(result: c_int) -> anyhow::Result<()> {
    if result != 0 {
        // SAFETY: NVRTC has a name for any result.
        let name = unsafe { nvrtcGetErrorString(result) };
        // SAFETY: the name is a constant C string.
        bail!("{} ({result})", unsafe { CStr::from_ptr(name) }.to_string_lossy());
    }
    Ok(())
}

/// Calls one of the two pairs of functions that return a text: its size with its zero, then itself.
fn text(
    program: &Owned,
    size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
    get: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
) -> anyhow::Result<String> {
    let mut bytes = 0;
    // SAFETY: the program is live, and `bytes` is a variable.
    checked(unsafe { size(program.0, &raw mut bytes) })?;
    let mut text = vec![0_u8; bytes];
    // SAFETY: the program is live, and the text has the size that NVRTC named.
    checked(unsafe { get(program.0, text.as_mut_ptr().cast()) })?;
    Ok(CStr::from_bytes_until_nul(&text)?.to_string_lossy().into_owned())
}

/// Compiles CUDA C++ to PTX, and returns the PTX and the kernel's name in it.
///
/// `kernel` is an expression such as `scale` or `axpy<float>`. The error of a wrong source has its messages.
pub(super) fn compile(source: &str, kernel: &str, options: &[&str]) -> anyhow::Result<(String, String)> {
    let (source, kernel) = (CString::new(source)?, CString::new(kernel)?);
    let options = options.iter().map(|option| CString::new(*option)).collect::<Result<Vec<_>, NulError>>()?;
    let options: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
    let mut program = Owned(ptr::null_mut());
    // SAFETY: the texts end with a zero, and there are no headers.
    checked(unsafe {
        nvrtcCreateProgram(&raw mut program.0, source.as_ptr(), ptr::null(), 0, ptr::null(), ptr::null())
    })?;
    // SAFETY: the program is live, and the text ends with a zero.
    checked(unsafe { nvrtcAddNameExpression(program.0, kernel.as_ptr()) })?;
    let count = c_int::try_from(options.len())?;
    // SAFETY: the program is live, and so many texts follow each other.
    if let Err(error) = checked(unsafe { nvrtcCompileProgram(program.0, count, options.as_ptr()) }) {
        bail!("{error}\n{}", text(&program, nvrtcGetProgramLogSize, nvrtcGetProgramLog)?);
    }
    let mut lowered = ptr::null();
    // SAFETY: the program is live and compiled, and it has this expression.
    checked(unsafe { nvrtcGetLoweredName(program.0, kernel.as_ptr(), &raw mut lowered) })?;
    // SAFETY: the name is a C string that lives as long as the program.
    let lowered = unsafe { CStr::from_ptr(lowered) }.to_string_lossy().into_owned();
    Ok((text(&program, nvrtcGetPTXSize, nvrtcGetPTX)?, lowered))
}
