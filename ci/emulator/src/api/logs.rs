//! The log of failed calls, and the program's functions that are called for each. Flags are ignored, as on an
//! H200.
#![expect(unsafe_code, reason = "exports C functions, calls functions of the program's")]

use core::ffi::{CStr, c_char, c_uint, c_void};

use super::{Out, api, put};
use crate::log::{LOG, LogCallback};
use crate::sys::{cudaErrorInvalidValue, cudaLogIterator, cudaLogsCallback_t, cudaLogsCallbackHandle};

/// Passes the log on, from the position that the program names.
fn dump(
    place: *mut cudaLogIterator,
    take: impl FnOnce(&[&str]) -> crate::error::Answer,
) -> crate::error::Answer {
    let log = LOG.lock();
    // SAFETY: the program passes a place, or null.
    let place = unsafe { place.as_mut() };
    take(&log.from(place.as_deref().copied()))?;
    if let Some(place) = place {
        *place = log.end();
    }
    Ok(())
}

api! {
    /// Registers a function that is called with each message.
    allowed fn cudaLogsRegisterCallback(
        call, function: cudaLogsCallback_t, user: *mut c_void, out: Out<'_, cudaLogsCallbackHandle>,
    ) {
        let _ = call;
        let function = function.ok_or(cudaErrorInvalidValue)?;
        let mut log = LOG.lock();
        log.handles += 16;
        let handle = log.handles;
        log.told.push(LogCallback { handle, function, user: user.expose_provenance() });
        out.map_or(Ok(()), |out| put(Some(out), core::ptr::without_provenance_mut(handle)))
    }

    /// Unregisters a function.
    allowed fn cudaLogsUnregisterCallback(call, handle: cudaLogsCallbackHandle) {
        let _ = call;
        let mut log = LOG.lock();
        let at = log.told.iter().position(|it| it.handle == handle.addr()).ok_or(cudaErrorInvalidValue)?;
        log.told.remove(at);
        Ok(())
    }

    /// The end of the log.
    allowed fn cudaLogsCurrent(call, out: Out<'_, cudaLogIterator>, _flags: c_uint) {
        let _ = call;
        put(out, LOG.lock().end())
    }

    /// Writes the log to a file.
    allowed fn cudaLogsDumpToFile(call, place: *mut cudaLogIterator, path: *const c_char, _flags: c_uint) {
        let _ = call;
        if path.is_null() {
            return Err(cudaErrorInvalidValue);
        }
        // SAFETY: the program passes a path that ends in a zero byte.
        let path = unsafe { CStr::from_ptr(path) }.to_string_lossy().into_owned();
        dump(place, |lines| std::fs::write(path, lines.concat()).map_err(|_| cudaErrorInvalidValue))
    }

    /// Writes the log to memory: its last lines, if there is not room for all.
    allowed fn cudaLogsDumpToMemory(
        call, place: *mut cudaLogIterator, buffer: *mut c_char, size: *mut usize, _flags: c_uint,
    ) {
        let _ = call;
        if buffer.is_null() {
            return Err(cudaErrorInvalidValue);
        }
        // SAFETY: the program passes how much room there is, or null.
        let size = unsafe { size.as_mut() }.ok_or(cudaErrorInvalidValue)?;
        dump(place, |lines| {
            let room = size.checked_sub(1).ok_or(cudaErrorInvalidValue)?;
            let mut first = lines.len();
            let mut bytes = 0;
            for line in lines.iter().rev().take_while(|line| { bytes += line.len(); bytes <= room }) {
                let _ = line;
                first -= 1;
            }
            let text = lines.get(first..).unwrap_or_default().concat();
            if text.is_empty() && !lines.is_empty() {
                *size = 0;
                return Err(cudaErrorInvalidValue);
            }
            let to = buffer.cast::<u8>();
            // SAFETY: there is room for the text and a zero byte.
            unsafe { to.copy_from_nonoverlapping(text.as_ptr(), text.len()) };
            // SAFETY: there is room for the text and a zero byte.
            let end = unsafe { to.add(text.len()) };
            // SAFETY: there is room for the text and a zero byte.
            unsafe { end.write(0) };
            *size = text.len();
            Ok(())
        })
    }
}
