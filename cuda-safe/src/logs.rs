//! The log messages of runtime and driver about failing calls. They often say more than the error code.
//!
//! The driver retains the last 25,600 bytes of messages. [`dump_to_memory`] and [`dump_to_file`] read them,
//! all or from a [`Position`] on. [`on_message`] registers a function that is called for each new message.
//!
//! Nothing here blocks or is stream-ordered, and everything may be used from any thread.
#![expect(unsafe_code, reason = "reads the driver's log, and gives it a function to call")]

use std::ffi::{c_char, c_void};
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use crate::callback::{FunctionRegister, contained};
use crate::error::{Detail, Error, Result};
use crate::{check, process, stream, sys, system};

/// The size of the read buffer in bytes: more than the driver retains, and a zero byte.
const LOG_BYTES: usize = 32 << 10;

/// The severity of a message. One of the constants, or a newer value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "cudaLogLevel")]
pub struct Level(sys::cudaLogLevel);

impl Level {
    /// A call has failed.
    #[doc(alias = "cudaLogLevelError")]
    pub const ERROR: Self = Self(sys::cudaLogLevelError);
    /// A condition that may be a mistake.
    #[doc(alias = "cudaLogLevelWarning")]
    pub const WARNING: Self = Self(sys::cudaLogLevelWarning);
}

/// A position in the log. Reading moves it to the end.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "cudaLogIterator")]
pub struct Position(sys::cudaLogIterator);

impl Position {
    /// Returns the end of the log, where the next message will be.
    ///
    /// Stands for [`cudaLogsCurrent`](sys::cudaLogsCurrent).
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::logs::{Position, dump_to_memory};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let mut position = Position::current()?;
    /// if cuda_safe::DeviceBuffer::<u8>::alloc(1 << 60).is_err() {
    ///     println!("the driver says: {}", dump_to_memory(Some(&mut position))?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaLogsCurrent")]
    #[track_caller]
    pub fn current() -> Result<Self> {
        stream::ensure_idle("Position::current")?;
        let mut position = 0;
        // SAFETY: the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaLogsCurrent(&raw mut position, 0)) }?;
        Ok(Self(position))
    }
}

/// Returns the messages from a position on, one per line, and moves the position to the end. With `None`,
/// returns all messages that the driver retains.
///
/// Stands for [`cudaLogsDumpToMemory`](sys::cudaLogsDumpToMemory).
///
/// # Errors
/// Returns the runtime's error. Refused inside a host function.
///
/// # Examples
/// ```
/// # fn main() -> cuda_safe::Result<()> {
/// print!("{}", cuda_safe::logs::dump_to_memory(None)?);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaLogsDumpToMemory")]
#[track_caller]
pub fn dump_to_memory(from: Option<&mut Position>) -> Result<String> {
    stream::ensure_idle("dump_to_memory")?;
    let mut room = vec![0_u8; LOG_BYTES];
    // One byte is for the zero at the end.
    let mut bytes = room.len() - 1;
    let position = from.map_or(ptr::null_mut(), |position| &raw mut position.0);
    let to = room.as_mut_ptr().cast();
    // SAFETY: the pointers are to live variables, or null, and to a buffer of more than `bytes` bytes.
    unsafe { check!(cudaLogsDumpToMemory(position, to, &raw mut bytes, 0)) }?;
    let text = room.get(..bytes).unwrap_or_default();
    Ok(String::from_utf8_lossy(text).trim_end_matches('\0').to_owned())
}

/// Writes the messages from a position on to a file, and moves the position to the end. With `None`, writes
/// all messages that the driver retains.
///
/// Stands for [`cudaLogsDumpToFile`](sys::cudaLogsDumpToFile).
///
/// # Errors
/// Returns the runtime's error. Refused with `NulByte` if the path contains a zero byte, and inside a host
/// function.
///
/// # Examples
/// ```no_run
/// # fn main() -> cuda_safe::Result<()> {
/// cuda_safe::logs::dump_to_file(None, "/tmp/cuda.log")?;
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaLogsDumpToFile")]
#[track_caller]
pub fn dump_to_file(from: Option<&mut Position>, path: impl AsRef<Path>) -> Result<()> {
    const API: &str = "dump_to_file";
    stream::ensure_idle(API)?;
    let path = system::c_path(API, path.as_ref())?;
    let position = from.map_or(ptr::null_mut(), |position| &raw mut position.0);
    // SAFETY: the first pointer is to a live variable, or null. The path ends in a zero byte.
    unsafe { check!(cudaLogsDumpToFile(position, path.as_ptr(), 0)) }
}

type OnMessage = dyn Fn(Level, &str) + Send + Sync;

static FUNCTIONS: FunctionRegister<OnMessage> = FunctionRegister::new();

/// A registered function, which is called for each new message. Dropping it unregisters the function.
#[derive(Debug)]
#[must_use = "what is dropped at once is never told anything"]
pub struct Listener {
    handle: sys::cudaLogsCallbackHandle,
    number: usize,
    process: u32,
}

// SAFETY: the handle is a name that the runtime accepts on any thread.
unsafe impl Send for Listener {}
// SAFETY: the handle is a name that the runtime accepts on any thread. A shared reference allows no operation
// on the handle.
unsafe impl Sync for Listener {}

/// Registers a function that is called for each new message.
///
/// Stands for [`cudaLogsRegisterCallback`](sys::cudaLogsRegisterCallback). The function runs inside the
/// failing call, on that call's thread, possibly concurrently with itself. Like a host function, it must
/// not call CUDA: this crate refuses with `InCallback`, and resources that it drops are freed later. A
/// panic inside it is caught and not propagated.
///
/// # Errors
/// Returns the runtime's error. Refused inside a host function.
///
/// # Examples
/// ```
/// # fn main() -> cuda_safe::Result<()> {
/// let listener = cuda_safe::logs::on_message(|level, message| eprintln!("{level:?}: {message}"))?;
/// // Messages from here on are printed.
/// listener.stop()
/// # }
/// ```
#[doc(alias = "cudaLogsRegisterCallback")]
#[track_caller]
pub fn on_message(f: impl Fn(Level, &str) + Send + Sync + 'static) -> Result<Listener> {
    stream::ensure_idle("on_message")?;
    let number = FUNCTIONS.add(Arc::new(f));
    let mut handle = ptr::null_mut();
    let (user, out) = (ptr::without_provenance_mut(number), &raw mut handle);
    // SAFETY: `called` accepts any number, registered or not, and any message. The last pointer is to a
    // live variable.
    if let Err(error) = unsafe { check!(cudaLogsRegisterCallback(Some(called), user, out)) } {
        FUNCTIONS.forget(number);
        return Err(error);
    }
    Ok(Listener { handle, number, process: process::number() })
}

impl Listener {
    /// Unregisters the function. Dropping does the same but discards the error.
    ///
    /// Stands for [`cudaLogsUnregisterCallback`](sys::cudaLogsUnregisterCallback). A call that is running
    /// on another thread continues.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function; the runtime is then informed later.
    /// Even after an error, no new call of the function begins.
    #[doc(alias = "cudaLogsUnregisterCallback")]
    #[track_caller]
    pub fn stop(self) -> Result<()> {
        let this = std::mem::ManuallyDrop::new(self);
        this.end()
    }

    #[track_caller]
    fn end(&self) -> Result<()> {
        if !process::is(self.process) {
            return Ok(());
        }
        FUNCTIONS.forget(self.number);
        if stream::in_callback() {
            // The driver may be inside a call of the function, so unregistering is deferred. Until then
            // `called` finds no function.
            let later = Self { ..*self };
            stream::defer(Box::new(move || drop(later)));
            return Err(Error::refused("Listener::stop", Detail::IN_CALLBACK));
        }
        // SAFETY: the runtime returned the handle, and only this function unregisters it.
        unsafe { check!(cudaLogsUnregisterCallback(self.handle)) }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// The function that the driver calls.
unsafe extern "C" fn called(
    user: *mut c_void,
    level: sys::cudaLogLevel,
    message: *mut c_char,
    length: usize,
) {
    let Some(function) = FUNCTIONS.find(user.addr()) else { return };
    let bytes: &[u8] = if message.is_null() {
        &[]
    } else {
        // SAFETY: the driver passes a message of `length` bytes, which is live during the call.
        unsafe { std::slice::from_raw_parts(message.cast_const().cast(), length) }
    };
    let text = String::from_utf8_lossy(bytes);
    let _entered = stream::enter_callback();
    contained(move || function(Level(level), text.trim_end_matches(['\0', '\n'])));
}
