//! Code that is loaded at run time: the reports about valid and invalid code.

use std::ffi::{CStr, CString, c_void};
use std::ptr;

use cuda_sys::*;

use crate::case::Cases;
use crate::log::{Log, Outcome, Setup, ask, error_name, need};
use crate::memory::{Block, Kind, stream};

/// A kernel that writes a variable times a constant plus its argument, an empty kernel, and a table.
pub(super) const PTX: &str = "
.version 8.0
.target sm_70
.address_size 64
.visible .global .align 4 .u32 count = 5;
.visible .global .align 8 .b8 table[24];
.visible .const .align 4 .u32 factor = 3;
.visible .entry add(.param .u64 to, .param .u32 more)
{
    .reg .b32 %r<6>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [to];
    ld.param.u32 %r1, [more];
    ld.global.u32 %r2, [count];
    ld.const.u32 %r3, [factor];
    mad.lo.u32 %r4, %r2, %r3, %r1;
    st.global.u32 [%rd1], %r4;
    ret;
}
.visible .entry nothing()
{
    ret;
}
";

/// Forgets the thread's last error, so that the next question does not find it.
pub(super) fn forget() {
    // SAFETY: takes nothing.
    let _ = unsafe { cudaGetLastError() };
}

fn text(ptx: &str) -> CString {
    CString::new(ptx).expect("a text of this file's")
}

/// Loads text without options.
fn load_text(ptx: &str, library: &mut cudaLibrary_t) -> cudaError_t {
    let (code, none) = (text(ptx), ptr::null_mut());
    // SAFETY: the text ends in a zero byte, and no other pointer is used.
    unsafe {
        cudaLibraryLoadData(library, code.as_ptr().cast(), ptr::null_mut(), none, 0, ptr::null_mut(), none, 0)
    }
}

/// A library that must load.
pub(super) fn library(log: &mut Log, ptx: &str) -> Result<cudaLibrary_t, Setup> {
    let mut library = ptr::null_mut();
    let code = load_text(ptx, &mut library);
    log.need("cudaLibraryLoadData", code)?;
    Ok(library)
}

pub(super) fn kernel(log: &mut Log, library: cudaLibrary_t, name: &CStr) -> Result<cudaKernel_t, Setup> {
    let mut kernel = ptr::null_mut();
    need!(log, cudaLibraryGetKernel(&raw mut kernel, library, name.as_ptr()));
    Ok(kernel)
}

/// Launches `add` and notes the result.
pub(super) fn added(log: &mut Log, what: &str, kernel: cudaKernel_t, more: u32) -> Outcome {
    let to = Block::new(log, Kind::Device, 4)?;
    let (mut at, mut more) = (to.ptr(), more);
    let mut arguments: [*mut c_void; 2] = [(&raw mut at).cast(), (&raw mut more).cast()];
    let one = dim3 { x: 1, y: 1, z: 1 };
    need!(
        log,
        cudaLaunchKernel(kernel.cast_const().cast(), one, one, arguments.as_mut_ptr(), 0, ptr::null_mut())
    );
    let bytes = to.load(log)?;
    log.fact(what, u32::from_le_bytes(bytes.try_into().expect("four bytes")));
    Ok(())
}

/// Notes the compiler's report on text, at the call that returns it: the load, the lookup of a kernel, or a
/// query of the kernel.
fn said(log: &mut Log, ptx: &str) -> Outcome {
    let mut room = vec![0_u8; 4096];
    let mut options = [cudaJitErrorLogBuffer, cudaJitErrorLogBufferSizeBytes];
    let mut values = [room.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(room.len())];
    let (mut library, code) = (ptr::null_mut(), text(ptx));
    let loaded = ask!(
        log,
        cudaLibraryLoadData(
            &raw mut library,
            code.as_ptr().cast(),
            options.as_mut_ptr(),
            values.as_mut_ptr(),
            2,
            ptr::null_mut(),
            ptr::null_mut(),
            0
        )
    );
    forget();
    if loaded == cudaSuccess {
        let mut kernel = ptr::null_mut();
        if ask!(log, cudaLibraryGetKernel(&raw mut kernel, library, c"add".as_ptr())) == cudaSuccess {
            let mut found = cudaFuncAttributes::default();
            ask!(log, cudaFuncGetAttributes(&raw mut found, kernel.cast_const().cast()));
        }
        forget();
    }
    let length = room.iter().position(|byte| *byte == 0).unwrap_or(room.len());
    let words = String::from_utf8_lossy(&room[..length]).into_owned();
    log.fact("says something", length > 0);
    log.fact("names a line", words.contains("line"));
    log.fact("tells how much", values[1].addr() == length || values[1].addr() == length + 1);
    if loaded == cudaSuccess {
        need!(log, cudaLibraryUnload(library));
    }
    Ok(())
}

fn loading(cases: &mut Cases) {
    cases.add("cudaLibraryLoadData/PTX, its kernels, and a launch", |log| {
        let library = library(log, PTX)?;
        let mut count = 0;
        ask!(log, cudaLibraryGetKernelCount(&raw mut count, library));
        log.fact("kernels", count);
        let kernel = kernel(log, library, c"add")?;
        added(log, "answer", kernel, 100)?;
        ask!(log, cudaLibraryUnload(library));
        Ok(())
    });
    let wrong: [(&str, String); 8] = [
        ("text that is no PTX", "int main() { return 0; }".to_owned()),
        ("no text", String::new()),
        ("PTX that does not parse", PTX.replace("[more];", "];")),
        ("an instruction that there is not", PTX.replace("mad.lo.u32", "madness.u32")),
        ("a register that is not declared", PTX.replace("%r4", "%other")),
        ("a newer version of PTX", PTX.replace(".version 8.0", ".version 99.0")),
        ("code of a newer device", PTX.replace("sm_70", "sm_120")),
        (
            "a function that nobody has",
            PTX.replace("{\n    ret;", ".extern .func gone;\n{\n    call gone;\n    ret;"),
        ),
    ];
    for (what, ptx) in wrong {
        cases.add(format!("cudaLibraryLoadData/{what}"), move |log| said(log, &ptx)).alone();
    }
    cases.alone("cudaLibraryLoadData/null for the library, the code", |log| {
        let (code, none, nil) = (text(PTX), ptr::null_mut(), ptr::null_mut());
        let at = code.as_ptr().cast();
        ask!(
            log,
            "library",
            cudaLibraryLoadData(ptr::null_mut(), at, nil, none, 0, ptr::null_mut(), none, 0)
        );
        forget();
        let mut library = ptr::null_mut();
        let out = &raw mut library;
        ask!(log, "code", cudaLibraryLoadData(out, ptr::null(), nil, none, 0, ptr::null_mut(), none, 0));
        forget();
        ask!(log, "options", cudaLibraryLoadData(out, at, nil, none, 1, ptr::null_mut(), none, 0));
        Ok(())
    });
    cases.alone("cudaLibraryLoadData/options that are right and that are not", |log| {
        let code = text(PTX);
        let tell = |log: &mut Log, name: &str, option: cudaJitOption, value: usize| {
            let (mut library, mut option) = (ptr::null_mut(), option);
            let mut value: *mut c_void = ptr::without_provenance_mut(value);
            let (out, at, none) = (&raw mut library, code.as_ptr().cast(), ptr::null_mut());
            let (option, value) = (&raw mut option, &raw mut value);
            let code =
                ask!(log, name, cudaLibraryLoadData(out, at, option, value, 1, ptr::null_mut(), none, 0));
            forget();
            if code == cudaSuccess {
                let mut kernel = ptr::null_mut();
                // SAFETY: the pointer is to a live variable, and the library is loaded.
                let found = unsafe { cudaLibraryGetKernel(&raw mut kernel, library, c"add".as_ptr()) };
                log.fact(&format!("{name}, kernel"), error_name(found));
                forget();
                // SAFETY: nothing of it is used any more.
                let _ = unsafe { cudaLibraryUnload(library) };
            }
        };
        tell(log, "32 registers", cudaJitMaxRegisters, 32);
        tell(log, "level 4", cudaJitOptimizationLevel, 4);
        tell(log, "level 5", cudaJitOptimizationLevel, 5);
        tell(log, "no such option", cudaJitOption(1000), 1);
        Ok(())
    });
    cases.alone("cudaLibraryLoadData/the compiler's information, and code that stays", |log| {
        let (mut room, code) = (vec![0_u8; 4096], text(PTX));
        let mut options = [cudaJitLogVerbose, cudaJitInfoLogBuffer, cudaJitInfoLogBufferSizeBytes];
        let number = ptr::without_provenance_mut::<c_void>;
        let mut values = [number(1), room.as_mut_ptr().cast(), number(room.len())];
        let (mut preserved, mut value) = (cudaLibraryBinaryIsPreserved, number(1));
        let mut library = ptr::null_mut();
        ask!(
            log,
            cudaLibraryLoadData(
                &raw mut library,
                code.as_ptr().cast(),
                options.as_mut_ptr(),
                values.as_mut_ptr(),
                3,
                &raw mut preserved,
                &raw mut value,
                1
            )
        );
        log.fact("told at once", room[0] != 0);
        let kernel = kernel(log, library, c"add")?;
        log.fact("told with a kernel", room[0] != 0);
        added(log, "answer", kernel, 1)?;
        ask!(log, cudaLibraryUnload(library));
        Ok(())
    });
    cases.alone("cudaLibraryLoadFromFile/PTX, no such file, null, an option for code in memory", |log| {
        let path = std::env::temp_dir().join(format!("conformance-{}.ptx", std::process::id()));
        std::fs::write(&path, PTX).expect("a file can be written");
        let name = CString::new(path.to_string_lossy().as_bytes()).expect("a path without a zero byte");
        let (mut library, none) = (ptr::null_mut(), ptr::null_mut());
        let (out, nil) = (&raw mut library, ptr::null_mut());
        let (mut preserved, mut value) =
            (cudaLibraryBinaryIsPreserved, ptr::without_provenance_mut::<c_void>(1));
        let (option, value) = (&raw mut preserved, &raw mut value);
        ask!(log, "preserved", cudaLibraryLoadFromFile(out, name.as_ptr(), nil, none, 0, option, value, 1));
        forget();
        ask!(log, cudaLibraryLoadFromFile(out, name.as_ptr(), nil, none, 0, ptr::null_mut(), none, 0));
        let _ = std::fs::remove_file(&path);
        let kernel = kernel(log, library, c"add")?;
        added(log, "answer", kernel, 2)?;
        need!(log, cudaLibraryUnload(library));
        ask!(
            log,
            "gone",
            cudaLibraryLoadFromFile(out, name.as_ptr(), nil, none, 0, ptr::null_mut(), none, 0)
        );
        forget();
        ask!(log, "null", cudaLibraryLoadFromFile(out, ptr::null(), nil, none, 0, ptr::null_mut(), none, 0));
        Ok(())
    });
    for (name, mode) in [("global", cudaStreamCaptureModeGlobal), ("relaxed", cudaStreamCaptureModeRelaxed)] {
        cases.alone(format!("cudaLibraryLoadData/while a stream captures, {name}"), move |log| {
            let on = stream(log)?;
            need!(log, cudaStreamBeginCapture(on, mode));
            let mut library = ptr::null_mut();
            let loaded = load_text(PTX, &mut library);
            log.code("LibraryLoadData", loaded);
            let mut kernel = ptr::null_mut();
            if loaded == cudaSuccess {
                ask!(log, cudaLibraryGetKernel(&raw mut kernel, library, c"nothing".as_ptr()));
                ask!(log, cudaLibraryUnload(library));
            }
            let mut graph = ptr::null_mut();
            ask!(log, "end", cudaStreamEndCapture(on, &raw mut graph));
            Ok(())
        });
    }
}

pub(super) fn add(cases: &mut Cases) {
    loading(cases);
}
