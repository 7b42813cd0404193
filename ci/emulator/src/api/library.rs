//! Code that a program loads at run time. Invalid text is loaded as an H200 loads it: the log has the reason,
//! and every later call on the library returns the error.
#![expect(unsafe_code, reason = "exports C functions, reads code and options that a program passes")]

use core::ffi::{CStr, c_char, c_uint, c_void};
use std::ffi::CString;

use super::{Call, Out, api, pointer, put};
use crate::error::Answer;
use crate::graph::capture::permits_waiting;
use crate::machine::Guard;
use crate::module::fatbin::{FATBIN_MAGIC, WRAPPER_MAGIC, fatbins, whole};
use crate::module::image::variables;
use crate::module::library::{CodeImage, Damage, read};
use crate::module::load::load;
use crate::module::registry::registry;
use crate::ptx::Module;
use crate::sys::*;

/// The options of the compiler that have an effect here.
struct Jit {
    options: *mut cudaJitOption,
    values: *mut *mut c_void,
    count: c_uint,
}

impl Jit {
    /// Where the value of an option stands, if it is named.
    fn place(&self, wanted: cudaJitOption) -> Answer<Option<*mut *mut c_void>> {
        if self.count > 0 && (self.options.is_null() || self.values.is_null()) {
            return Err(cudaErrorInvalidValue);
        }
        let mut found = None;
        for at in 0..usize::try_from(self.count).unwrap_or(0) {
            // SAFETY: the program promises that it passes so many options.
            let place = unsafe { self.options.add(at) };
            // SAFETY: the program promises that it passes so many options.
            let option = unsafe { place.read() };
            if option.0 > cudaJitOverrideDirectiveValues.0 {
                return Err(cudaErrorInvalidValue);
            }
            if option == wanted {
                // SAFETY: there is a value for each option.
                found = Some(unsafe { self.values.add(at) });
            }
        }
        Ok(found)
    }

    fn value(&self, wanted: cudaJitOption) -> Answer<Option<*mut c_void>> {
        // SAFETY: the place is one of the program's values.
        Ok(self.place(wanted)?.map(|place| unsafe { place.read() }))
    }

    /// Writes a log into the program's buffer, cut to its size, and stores the length.
    fn write(&self, text: &str, buffer: cudaJitOption, size: cudaJitOption) -> Answer {
        let (Some(buffer), Some(place)) = (self.value(buffer)?, self.place(size)?) else { return Ok(()) };
        // SAFETY: the place is one of the program's values.
        let room = unsafe { place.read() }.addr();
        if buffer.is_null() || room == 0 {
            return Ok(());
        }
        let bytes = text.as_bytes().get(..text.len().min(room - 1)).unwrap_or_default();
        let buffer = buffer.cast::<u8>();
        // SAFETY: the program promises that much room.
        unsafe { buffer.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        // SAFETY: the program promises that much room. One byte less than there is room for was written.
        let end = unsafe { buffer.add(bytes.len()) };
        // SAFETY: the program promises that much room.
        unsafe { end.write(0) };
        // SAFETY: the place is one of the program's values.
        unsafe { place.write(core::ptr::without_provenance_mut(bytes.len())) };
        Ok(())
    }
}

/// Reads code that a program has in memory. The first bytes determine its format.
fn read_at(code: *const c_void) -> Result<Module, Damage> {
    let damaged = |error: &dyn core::fmt::Display| Damage::at_once(cudaErrorInvalidKernelImage, error);
    let start = code.cast::<u8>();
    // SAFETY: text ends in a zero byte, and every other format has more bytes than the check reads.
    let head = unsafe { CStr::from_ptr(start.cast()) }.to_bytes();
    if head.starts_with(b"\x7fELF") {
        return read(&CodeImage::Cubin);
    }
    if head.starts_with(&FATBIN_MAGIC.to_le_bytes()) {
        // SAFETY: the program passes a fatbinary, which says how long it is.
        return read(&CodeImage::Fatbin(unsafe { whole(start) }.map_err(|error| damaged(&error))?));
    }
    if head.starts_with(&WRAPPER_MAGIC.to_le_bytes()) {
        // SAFETY: the program passes a wrapper.
        let list = unsafe { fatbins(code) }.map_err(|error| damaged(&error))?;
        let first = list.first().ok_or_else(|| damaged(&"no fatbinary"))?;
        return read(&CodeImage::Fatbin(first));
    }
    // SAFETY: code that has no other format is text that ends in a zero byte.
    read(&CodeImage::Text(unsafe { CStr::from_ptr(start.cast()) }))
}

/// Keeps a library that was read, and writes the compiler's logs.
fn keep(out: Out<'_, cudaLibrary_t>, jit: &Jit, found: Result<Module, Damage>) -> Answer {
    match found {
        Ok(module) => {
            if jit.value(cudaJitLogVerbose)?.is_some_and(|value| value.addr() != 0) {
                let kernels =
                    module.functions.iter().filter(|it| it.entry).map(|it| format!("kernel {}\n", it.name));
                jit.write(&kernels.collect::<String>(), cudaJitInfoLogBuffer, cudaJitInfoLogBufferSizeBytes)?;
            }
            let handle = registry().add_library(module);
            put(out, core::ptr::without_provenance_mut(handle))
        }
        Err(Damage { code, text, late }) => {
            jit.write(&text, cudaJitErrorLogBuffer, cudaJitErrorLogBufferSizeBytes)?;
            if !late {
                return Err(code);
            }
            let handle = registry().add_damaged(code);
            put(out, core::ptr::without_provenance_mut(handle))
        }
    }
}

fn text<'a>(name: *const c_char) -> Answer<&'a CStr> {
    if name.is_null() {
        return Err(cudaErrorInvalidValue);
    }
    // SAFETY: the program passes a name that ends in a zero byte, for the length of the call.
    Ok(unsafe { CStr::from_ptr(name) })
}

/// Finds a variable of a library on the current device: its address and its size.
fn variable(
    machine: &mut Guard,
    device: usize,
    library: cudaLibrary_t,
    name: &CStr,
    managed: bool,
) -> Answer<(u64, u64)> {
    let mut registry = registry();
    let module = registry.library(library.addr())?.module;
    let parsed = registry.parsed(module)?;
    let name = name.to_string_lossy();
    if !managed && parsed.function(&name).is_some() {
        return Err(cudaErrorInvalidValue);
    }
    let found = variables(&parsed).find(|it| *it.name == *name && (it.managed || !managed));
    let size = found.ok_or(cudaErrorSymbolNotFound)?.size();
    load(machine, &mut registry, module, device)?;
    let instance = registry.instance(module, device).ok_or(cudaErrorInvalidResourceHandle)?;
    Ok((*instance.addresses.get(&*name).ok_or(cudaErrorSymbolNotFound)?, size))
}

fn tell(
    call: &Call,
    out: (Out<'_, *mut c_void>, Out<'_, usize>),
    library: cudaLibrary_t,
    name: *const c_char,
    managed: bool,
) -> Answer {
    if out.0.is_none() && out.1.is_none() {
        return Err(cudaErrorInvalidValue);
    }
    let name = text(name)?;
    let (mut machine, device) = call.context()?;
    let (at, size) = variable(&mut machine, device, library, name, managed)?;
    if let Some(out) = out.0 {
        out.write(pointer(at));
    }
    if let Some(out) = out.1 {
        out.write(usize::try_from(size).unwrap_or(usize::MAX));
    }
    Ok(())
}

api! {
    /// Loads code from memory. Of the options for the compiler, only the log buffers have an effect here.
    allowed fn cudaLibraryLoadData(
        call, out: Out<'_, cudaLibrary_t>, code: *const c_void, options: *mut cudaJitOption, values: *mut *mut c_void,
        count: c_uint, _library_options: *mut cudaLibraryOption, _library_values: *mut *mut c_void, _library_count: c_uint,
    ) {
        call.check()?;
        if out.is_none() || code.is_null() {
            return Err(cudaErrorInvalidValue);
        }
        let jit = Jit { options, values, count };
        jit.place(cudaJitErrorLogBuffer)?;
        keep(out, &jit, read_at(code))
    }

    /// Loads a file.
    allowed fn cudaLibraryLoadFromFile(
        call, out: Out<'_, cudaLibrary_t>, name: *const c_char, options: *mut cudaJitOption, values: *mut *mut c_void,
        count: c_uint, _library_options: *mut cudaLibraryOption, _library_values: *mut *mut c_void, library_count: c_uint,
    ) {
        call.check()?;
        // The one option that there is, is not for files.
        if out.is_none() || library_count > 0 {
            return Err(cudaErrorInvalidValue);
        }
        let jit = Jit { options, values, count };
        jit.place(cudaJitErrorLogBuffer)?;
        let path = text(name)?.to_string_lossy().into_owned();
        let bytes = std::fs::read(path).map_err(|_| cudaErrorFileNotFound)?;
        let found = if bytes.starts_with(b"\x7fELF") {
            read(&CodeImage::Cubin)
        } else if bytes.starts_with(&FATBIN_MAGIC.to_le_bytes()) {
            read(&CodeImage::Fatbin(&bytes))
        } else {
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            let text = CString::new(bytes.get(..end).unwrap_or_default()).unwrap_or_default();
            read(&CodeImage::Text(&text))
        };
        keep(out, &jit, found)
    }

    /// Unloads a library. Work that runs its code is not waited for, but found.
    allowed fn cudaLibraryUnload(call, library: cudaLibrary_t) {
        let (mut machine, _) = call.context()?;
        permits_waiting(&mut machine)?;
        let (places, used) = registry().remove_library(library.addr())?;
        for place in places {
            let _ = machine.allocations.remove(place, call.name);
        }
        if used {
            eprintln!("CUDA emulator: {}: work or a graph still has a kernel of the library", call.name);
            return Err(cudaErrorIllegalState);
        }
        Ok(())
    }

    /// The handle of a kernel.
    allowed fn cudaLibraryGetKernel(call, out: Out<'_, cudaKernel_t>, library: cudaLibrary_t, name: *const c_char) {
        call.check()?;
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let name = text(name)?;
        let registry = registry();
        let kernels = &registry.library(library.addr())?.kernels;
        let found = kernels.iter().find(|(known, _)| known.as_c_str() == name).ok_or(cudaErrorSymbolNotFound)?;
        out.write(core::ptr::without_provenance_mut(found.1));
        Ok(())
    }

    /// How many kernels a library has.
    allowed fn cudaLibraryGetKernelCount(call, out: Out<'_, c_uint>, library: cudaLibrary_t) {
        call.check()?;
        let count = registry().library(library.addr())?.kernels.len();
        put(out, c_uint::try_from(count).unwrap_or(c_uint::MAX))
    }

    /// The handles of a library's kernels, as many as there is room for.
    allowed fn cudaLibraryEnumerateKernels(call, out: *mut cudaKernel_t, room: c_uint, library: cudaLibrary_t) {
        call.check()?;
        if out.is_null() {
            return Err(cudaErrorInvalidValue);
        }
        let registry = registry();
        let kernels = &registry.library(library.addr())?.kernels;
        for (at, (_, handle)) in kernels.iter().take(usize::try_from(room).unwrap_or(0)).enumerate() {
            // SAFETY: the program promises room for so many.
            let place = unsafe { out.add(at) };
            // SAFETY: the program promises room for so many.
            unsafe { place.write(core::ptr::without_provenance_mut(*handle)) };
        }
        Ok(())
    }

    /// Where a variable of a library is on the current device, and its size.
    allowed fn cudaLibraryGetGlobal(
        call, at: Out<'_, *mut c_void>, size: Out<'_, usize>, library: cudaLibrary_t, name: *const c_char,
    ) {
        tell(call, (at, size), library, name, false)
    }

    /// The same of a managed variable.
    allowed fn cudaLibraryGetManaged(
        call, at: Out<'_, *mut c_void>, size: Out<'_, usize>, library: cudaLibrary_t, name: *const c_char,
    ) {
        tell(call, (at, size), library, name, true)
    }

    /// A function that host and devices can call. These devices have none.
    allowed fn cudaLibraryGetUnifiedFunction(
        call, out: Out<'_, *mut c_void>, library: cudaLibrary_t, name: *const c_char,
    ) {
        call.check()?;
        out.ok_or(cudaErrorInvalidValue)?;
        text(name)?;
        registry().library(library.addr())?;
        Err(cudaErrorInvalidValue)
    }
}
