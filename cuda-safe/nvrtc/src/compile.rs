//! The compiler.
#![expect(unsafe_code, reason = "calls NVRTC")]

use std::ffi::{CStr, CString, OsStr, c_char, c_int};
use std::panic::Location;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;

use crate::cache::Cache;
use crate::compiled::Compiled;
use crate::error::{Error, ErrorKind, Result};
use crate::options::Options;
use crate::raw::{self, Functions, Program, Status};
use crate::source::Source;

/// NVRTC. Any thread may compile, several at a time.
#[derive(Debug)]
pub struct Nvrtc {
    functions: Functions,
    version: (u32, u32),
    /// Version, name, size and time of the library's file: what tells one build from another.
    build: OnceLock<String>,
}

impl Nvrtc {
    /// Returns the installed NVRTC, which the first call [finds](crate#which-library) and loads.
    ///
    /// # Errors
    /// `Missing` if there is none. It stays so for the rest of the process.
    #[track_caller]
    pub fn get() -> Result<&'static Self> {
        static NVRTC: OnceLock<std::result::Result<Nvrtc, String>> = OnceLock::new();
        match NVRTC.get_or_init(|| raw::find().and_then(Self::new)) {
            Ok(found) => Ok(found),
            Err(why) => Err(Error::new(ErrorKind::Missing(why.clone()))),
        }
    }

    /// Loads an NVRTC from a file, or by a name for which the loader searches. It is never unloaded.
    ///
    /// # Errors
    /// `Missing` with the loader's message, or if the library lacks a function.
    ///
    /// # Safety
    /// The file is NVRTC of CUDA 12 or 13, or has its functions with their effects.
    #[track_caller]
    pub unsafe fn open(file: impl AsRef<Path>) -> Result<Self> {
        let file: &OsStr = file.as_ref().as_os_str();
        // SAFETY: the caller has the duties.
        match unsafe { raw::open(file) }.and_then(Self::new) {
            Ok(found) => Ok(found),
            Err(why) => Err(Error::new(ErrorKind::Missing(why))),
        }
    }

    fn new(functions: Functions) -> std::result::Result<Self, String> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: the pointers are to live integers.
        let status = unsafe { (functions.nvrtcVersion)(&raw mut major, &raw mut minor) };
        let version = u32::try_from(major).ok().zip(u32::try_from(minor).ok());
        match version.filter(|_| status == 0) {
            Some(version) => Ok(Self { functions, version, build: OnceLock::new() }),
            None => Err(format!("nvrtcVersion: status {status}")),
        }
    }

    /// Returns the version of CUDA that this NVRTC belongs to, major and minor.
    #[doc(alias = "nvrtcVersion")]
    #[must_use]
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// Returns the compute capabilities for which it compiles, times ten: 75 is 7.5.
    ///
    /// # Errors
    /// NVRTC's status.
    #[doc(alias = "nvrtcGetSupportedArchs")]
    #[doc(alias = "nvrtcGetNumSupportedArchs")]
    #[track_caller]
    pub fn architectures(&self) -> Result<Vec<u32>> {
        let mut count = 0;
        // SAFETY: the pointer is to a live integer.
        self.checked("nvrtcGetNumSupportedArchs", unsafe {
            (self.functions.nvrtcGetNumSupportedArchs)(&raw mut count)
        })?;
        let mut all: Vec<c_int> = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: the array has as many elements as NVRTC has said.
        self.checked("nvrtcGetSupportedArchs", unsafe {
            (self.functions.nvrtcGetSupportedArchs)(all.as_mut_ptr())
        })?;
        Ok(all.into_iter().filter_map(|it| u32::try_from(it).ok()).collect())
    }

    /// Compiles a source.
    ///
    /// # Errors
    /// - `Compile` with NVRTC's log if the source is wrong.
    /// - `Nvrtc` for another status, such as that of an unknown option or of a wrong name.
    /// - `Refused` if a text contains a zero.
    #[doc(alias = "nvrtcCreateProgram")]
    #[doc(alias = "nvrtcCompileProgram")]
    #[track_caller]
    pub fn compile(&self, source: &Source, options: &Options) -> Result<Compiled> {
        let call_site = Location::caller();
        self.compile_now(source, options).map_err(|error| error.at(call_site))
    }

    /// Compiles a source, unless the cache has the result. A new result is put there.
    ///
    /// A cache that cannot be read or written is no error: then the source is compiled. Results that may
    /// depend on files are cached only if the cache has a [key](Cache::key) for these: those of options that
    /// name folders, and of sources and headers with a `#include` or `__has_include` of an absolute path or
    /// of a macro.
    ///
    /// # Errors
    /// As [`compile`](Self::compile). Errors are not cached.
    #[track_caller]
    pub fn compile_cached(&self, source: &Source, options: &Options, cache: &Cache) -> Result<Compiled> {
        let call_site = Location::caller();
        let build = self.build.get_or_init(|| format!("{:?} {}", self.version, self.functions.file()));
        let Some(name) = cache.name(source, options, build) else {
            return self.compile_now(source, options).map_err(|error| error.at(call_site));
        };
        if let Some(found) = cache.read(&name) {
            return Ok(found);
        }
        let compiled = self.compile_now(source, options).map_err(|error| error.at(call_site))?;
        cache.write(&name, &compiled);
        Ok(compiled)
    }

    fn compile_now(&self, source: &Source, options: &Options) -> Result<Compiled> {
        let functions = &self.functions;
        let (text, name) = (c_text(&source.text)?, c_text(&source.name)?);
        let contents = c_texts(source.headers.iter().map(|(_, text)| text))?;
        let header_names = c_texts(source.headers.iter().map(|(name, _)| name))?;
        let words = c_texts(options.bytes())?;
        let (contents_raw, names_raw) = (pointers(&contents), pointers(&header_names));
        let mut program = Owned { functions, program: ptr::null_mut() };
        // SAFETY: the texts end with a zero, and there are as many headers as names.
        self.checked("nvrtcCreateProgram", unsafe {
            (functions.nvrtcCreateProgram)(
                &raw mut program.program,
                text.as_ptr(),
                name.as_ptr(),
                count(&contents)?,
                contents_raw.as_ptr(),
                names_raw.as_ptr(),
            )
        })?;
        let expressions = c_texts(source.names.iter())?;
        for expression in &expressions {
            // SAFETY: the program is live, and the text ends with a zero.
            self.checked("nvrtcAddNameExpression", unsafe {
                (functions.nvrtcAddNameExpression)(program.program, expression.as_ptr())
            })?;
        }
        let (words_count, words_raw) = (count(&words)?, pointers(&words));
        // SAFETY: the program is live, and so many texts follow each other.
        let status =
            unsafe { (functions.nvrtcCompileProgram)(program.program, words_count, words_raw.as_ptr()) };
        let log = program.text(self, functions.nvrtcGetProgramLogSize, functions.nvrtcGetProgramLog);
        if status == raw::COMPILATION {
            return Err(Error::new(ErrorKind::Compile(log.unwrap_or_default())));
        }
        if status != 0 {
            let name = self.name_of(status);
            let log = log.unwrap_or_default();
            return Err(Error::new(ErrorKind::Nvrtc { api: "nvrtcCompileProgram", name, log }));
        }
        let mut names = Vec::new();
        for (own, expression) in source.names.iter().zip(&expressions) {
            let mut lowered = ptr::null();
            // SAFETY: the program is live and compiled.
            self.checked("nvrtcGetLoweredName", unsafe {
                (functions.nvrtcGetLoweredName)(program.program, expression.as_ptr(), &raw mut lowered)
            })?;
            // SAFETY: NVRTC returns a C string that lives as long as the program.
            names.push((own.clone(), unsafe { CStr::from_ptr(lowered) }.to_string_lossy().into_owned()));
        }
        let ptx = program.text(self, functions.nvrtcGetPTXSize, functions.nvrtcGetPTX)?;
        Ok(Compiled { ptx, log: log?, names, is_cached: false })
    }

    /// Returns NVRTC's name of a status.
    fn name_of(&self, status: Status) -> String {
        // SAFETY: NVRTC has a name for any status.
        let name = unsafe { (self.functions.nvrtcGetErrorString)(status) };
        if name.is_null() {
            return status.to_string();
        }
        // SAFETY: the name is a constant C string.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    }

    #[track_caller]
    fn checked(&self, api: &'static str, status: Status) -> Result<()> {
        if status == 0 {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Nvrtc { api, name: self.name_of(status), log: String::new() }))
    }
}

/// A program of NVRTC.
struct Owned<'a> {
    functions: &'a Functions,
    program: Program,
}

impl Owned<'_> {
    /// Calls a pair of functions that return a text: its size with its zero, then itself.
    fn text(
        &self,
        nvrtc: &Nvrtc,
        size: unsafe extern "C" fn(Program, *mut usize) -> Status,
        get: unsafe extern "C" fn(Program, *mut c_char) -> Status,
    ) -> Result<String> {
        let mut bytes = 0;
        // SAFETY: the program is live, and the pointer is to a live integer.
        nvrtc.checked("nvrtcGetPTXSize or nvrtcGetProgramLogSize", unsafe {
            size(self.program, &raw mut bytes)
        })?;
        let mut text = vec![0_u8; bytes];
        // SAFETY: the program is live, and the text has the size that NVRTC has said.
        nvrtc.checked("nvrtcGetPTX or nvrtcGetProgramLog", unsafe {
            get(self.program, text.as_mut_ptr().cast())
        })?;
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        text.truncate(end);
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        if !self.program.is_null() {
            // SAFETY: the program is live, and nobody uses it any more.
            let _ = unsafe { (self.functions.nvrtcDestroyProgram)(&raw mut self.program) };
        }
    }
}

fn c_text(text: impl AsRef<[u8]>) -> Result<CString> {
    let text = text.as_ref();
    match CString::new(text) {
        Ok(text) => Ok(text),
        Err(error) => {
            let start: String = String::from_utf8_lossy(text).chars().take(20).collect();
            Err(Error::new(ErrorKind::Refused(format!("the text {start:?}...: {error}"))))
        }
    }
}

fn c_texts(texts: impl Iterator<Item: AsRef<[u8]>>) -> Result<Vec<CString>> {
    texts.map(c_text).collect()
}

fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).collect()
}

fn count(texts: &[CString]) -> Result<c_int> {
    match c_int::try_from(texts.len()) {
        Ok(count) => Ok(count),
        Err(_) => Err(Error::new(ErrorKind::Refused("too many texts".to_owned()))),
    }
}
