//! Libraries: modules that a program loads at run time, by handles that it asks for.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use super::fatbin::{FatbinError, ptx};
use super::registry::{CAPABILITY, Entry, Registry, code_of};
use crate::error::{Answer, Code};
use crate::ptx::{Module, parse};
use crate::sys::{cudaErrorInvalidPtx, cudaErrorInvalidResourceHandle};

/// A loaded library.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) module: usize,
    /// The handles of its kernels, in the order of the code.
    pub(crate) kernels: Vec<(CString, usize)>,
}

/// Handles are no addresses of anything, and none is given twice: what is used after its end is found.
const FIRST_HANDLE: usize = 0x1EAF_0000_0000;

/// What a program may load.
#[derive(Debug)]
pub(crate) enum Image<'a> {
    /// PTX.
    Text(&'a CStr),
    /// A fatbinary.
    Fatbin(&'a [u8]),
    /// Machine code alone.
    Cubin,
}

/// Reads code; where that fails, with what a compiler would say.
pub(crate) fn read(code: &Image<'_>) -> Result<Module, (Code, String)> {
    let text = match code {
        Image::Text(text) => text.to_string_lossy().into_owned(),
        Image::Fatbin(bytes) => {
            ptx(bytes, CAPABILITY).map_err(|error| (code_of(&error), error.to_string()))?
        }
        Image::Cubin => {
            let error = FatbinError::NoPtx("machine code, which is not interpreted".to_owned());
            return Err((code_of(&error), error.to_string()));
        }
    };
    parse(&text).map_err(|error| (cudaErrorInvalidPtx, error.to_string()))
}

impl Registry {
    /// Keeps a module that was loaded, and gives its handle.
    pub(crate) fn add_library(&mut self, parsed: Module) -> usize {
        let names: Vec<CString> = parsed
            .functions
            .iter()
            .filter(|function| function.entry && function.body.is_some())
            .filter_map(|function| CString::new(&*function.name).ok())
            .collect();
        let module = self.add_parsed(Arc::new(parsed));
        let mut kernels = Vec::new();
        for c_name in names {
            let handle = self.new_handle();
            let name = c_name.to_string_lossy().into_owned();
            // Programs may keep the name; there are few.
            let lasting: &'static CStr = Box::leak(c_name.clone().into_boxed_c_str());
            self.add_kernel(handle, Entry::new(module, name, lasting));
            kernels.push((c_name, handle));
        }
        let handle = self.new_handle();
        self.libraries.insert(handle, Library { module, kernels });
        handle
    }

    fn new_handle(&mut self) -> usize {
        self.handles += 16;
        FIRST_HANDLE + self.handles
    }

    pub(crate) fn library(&self, handle: usize) -> Answer<&Library> {
        self.libraries.get(&handle).ok_or(cudaErrorInvalidResourceHandle)
    }

    /// Forgets a library. Gives where its variables were, and whether work or a graph still has a kernel of it.
    pub(crate) fn remove_library(&mut self, handle: usize) -> Answer<(Vec<u64>, bool)> {
        let library = self.libraries.remove(&handle).ok_or(cudaErrorInvalidResourceHandle)?;
        let (mut places, used) = self.traces(library.module);
        places.sort_unstable();
        places.dedup();
        self.remove(library.module);
        Ok((places, used))
    }
}
