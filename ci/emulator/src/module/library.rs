//! Libraries: modules that a program loads at run time, by handles that it asks for.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use super::fatbin::{FatbinError, ptx};
use super::registry::{CAPABILITY, Entry, Registry, code_of};
use crate::error::{Answer, Code};
use crate::ptx::{Module, parse};
use crate::sys::{
    cudaErrorInvalidDeviceFunction, cudaErrorInvalidPtx, cudaErrorInvalidResourceHandle,
    cudaErrorUnsupportedPtxVersion,
};

/// A loaded library.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) module: usize,
    /// The handles of its kernels, in the order of the code.
    pub(crate) kernels: Vec<(CString, usize)>,
}

/// Handles are no addresses of anything, and none is given twice: what is used after its end is found.
const FIRST_HANDLE: usize = 0x1EAF_0000_0000;

/// The newest version of PTX that CUDA 13.0 has.
const NEWEST: (u32, u32) = (9, 0);

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
    let module = parse(&text).map_err(|error| (cudaErrorInvalidPtx, error.to_string()))?;
    let (major, minor) = module.version;
    if module.version == (0, 0) {
        return Err((cudaErrorInvalidPtx, "PTX line 1: it does not begin with .version".to_owned()));
    }
    if module.version > NEWEST {
        let (most, least) = NEWEST;
        let text = format!("PTX of version {major}.{minor}: the newest that is known is {most}.{least}");
        return Err((cudaErrorUnsupportedPtxVersion, text));
    }
    Ok(module)
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

    /// A kernel of the program's own, for what takes no handles of libraries' kernels.
    pub(crate) fn own_kernel(&self, host: usize) -> Answer<&Entry> {
        let loaded = self.libraries.values().any(|it| it.kernels.iter().any(|(_, handle)| *handle == host));
        if loaded { Err(cudaErrorInvalidDeviceFunction) } else { self.kernel(host) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::{cudaErrorNoKernelImageForDevice, cudaErrorUnsupportedPtxVersion};
    use crate::testing::compile;

    const SOURCE: &str = "__global__ void first() {} __device__ int variable; extern \"C\" __global__ void second(int* p) { *p = variable; }";

    #[test]
    fn a_fatbinary_has_the_kernels_of_its_ptx_and_machine_code_alone_has_none() {
        let arch = |code: &str| format!("-gencode=arch=compute_90,code={code}");
        let whole = compile(SOURCE, "-fatbin", &[&arch("compute_90")]);
        let module = read(&Image::Fatbin(&whole)).unwrap();
        let mut registry = Registry::default();
        let handle = registry.add_library(module);
        let library = registry.library(handle).unwrap();
        let kernels = library.kernels.clone();
        assert_eq!(kernels.len(), 2);
        assert!(kernels.iter().any(|(name, _)| name.as_c_str() == c"second"));
        assert!(registry.kernel(kernels[0].1).is_ok() && registry.own_kernel(kernels[0].1).is_err());
        assert_eq!(registry.remove_library(handle).unwrap(), (Vec::new(), false));
        assert!(registry.kernel(kernels[0].1).is_err() && registry.library(handle).is_err());
        let machine = compile(SOURCE, "-fatbin", &[&arch("sm_90")]);
        for image in [Image::Fatbin(&machine), Image::Cubin] {
            let (code, text) = read(&image).unwrap_err();
            assert_eq!(code, cudaErrorNoKernelImageForDevice);
            assert!(text.contains("code=compute_XX"), "{text}");
        }
    }

    #[test]
    fn text_without_a_version_or_with_a_newer_one_is_told_apart() {
        let of = |text: &CStr| read(&Image::Text(text)).unwrap_err().0;
        assert_eq!(of(c""), cudaErrorInvalidPtx);
        assert_eq!(of(c"int main() {}"), cudaErrorInvalidPtx);
        assert_eq!(of(c".version 99.0\n.target sm_70\n"), cudaErrorUnsupportedPtxVersion);
        assert!(read(&Image::Text(c".version 9.0\n.target sm_70\n.address_size 64\n")).is_ok());
    }
}
