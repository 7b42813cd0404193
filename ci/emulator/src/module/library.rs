//! Libraries: modules that a program loads at run time, by handles that it asks for.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use super::fatbin::{FatbinError, ptx};
use super::registry::{KernelEntry, Library, Registry, code_of};
use crate::error::{Answer, Code};
use crate::profile::{profile, runs};
use crate::ptx::{Module, parse};
use crate::sys::*;

/// Handles are no addresses of anything, and none is given out twice, so that a use after the end is found.
const FIRST_HANDLE: usize = 0x1EAF_0000_0000;

/// The newest version of PTX that is read. CUDA 13.0 has 9.0, but programs of newer toolkits run here, too.
const NEWEST: (u32, u32) = (9, 5);

/// The code that a program may load.
#[derive(Debug)]
pub(crate) enum CodeImage<'a> {
    /// PTX.
    Text(&'a CStr),
    /// A fatbinary.
    Fatbin(&'a [u8]),
    /// Machine code alone.
    Cubin,
}

/// The reason why there is no module.
#[derive(Debug)]
pub(crate) struct Damage {
    pub(crate) code: Code,
    /// The message of the compiler.
    pub(crate) text: String,
    /// Whether the code is loaded nevertheless, and later calls on the library fail: an H200 treats text so.
    pub(crate) late: bool,
}

impl Damage {
    /// Damage that the call that loads the code reports.
    pub(crate) fn at_once(code: Code, text: &dyn core::fmt::Display) -> Self {
        Self { code, text: text.to_string(), late: false }
    }

    fn late(code: Code, text: &dyn core::fmt::Display) -> Self {
        Self { code, text: text.to_string(), late: true }
    }
}

/// Reads code.
pub(crate) fn read(code: &CodeImage<'_>) -> Result<Module, Damage> {
    let text = match code {
        CodeImage::Text(text) => text.to_string_lossy().into_owned(),
        CodeImage::Fatbin(bytes) => {
            ptx(bytes, profile().capability).map_err(|error| Damage::at_once(code_of(&error), &error))?
        }
        CodeImage::Cubin => {
            let error = FatbinError::NoPtx("machine code, which is not interpreted".to_owned());
            return Err(Damage::at_once(code_of(&error), &error));
        }
    };
    if !text.contains(".version") {
        return Err(Damage::late(
            cudaErrorInvalidKernelImage,
            &"neither PTX nor anything else that is known",
        ));
    }
    let invalid = |error: &dyn core::fmt::Display| Damage::late(cudaErrorInvalidPtx, error);
    let module = parse(&text).map_err(|error| invalid(&error))?;
    let line = |word| text.lines().zip(1..).find(|(line, _)| line.contains(word)).map_or(1, |(_, line)| line);
    let (major, minor) = module.version;
    if module.version == (0, 0) {
        return Err(invalid(&"PTX line 1: it does not begin with .version"));
    }
    if module.version > NEWEST {
        let ((most, least), line) = (NEWEST, line(".version"));
        let text = format!("PTX line {line}: version {major}.{minor}, and the newest is {most}.{least}");
        return Err(Damage::late(cudaErrorUnsupportedPtxVersion, &text));
    }
    let most = profile().capability;
    if let Some(target) = module.target.iter().find(|target| !runs(target, most)) {
        let line = line(".target");
        return Err(invalid(&format!("PTX line {line}: {target} does not run on sm_{most}")));
    }
    match &module.refused {
        Some(error) => Err(invalid(error)),
        None => Ok(module),
    }
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
            self.add_kernel(handle, KernelEntry::new(module, name, lasting));
            kernels.push((c_name, handle));
        }
        let handle = self.new_handle();
        self.libraries.insert(handle, Library { module, damage: None, kernels });
        handle
    }

    /// Keeps a library that only has an error.
    pub(crate) fn add_damaged(&mut self, code: Code) -> usize {
        let handle = self.add_library(Module::default());
        if let Some(library) = self.libraries.get_mut(&handle) {
            library.damage = Some(code);
        }
        handle
    }

    fn new_handle(&mut self) -> usize {
        self.handles += 16;
        FIRST_HANDLE + self.handles
    }

    /// A kernel of the program's own, for functions that take no handles of libraries' kernels.
    pub(crate) fn own_kernel(&self, host: usize) -> Answer<&KernelEntry> {
        let loaded = self.libraries.values().any(|it| it.kernels.iter().any(|(_, handle)| *handle == host));
        if loaded { Err(cudaErrorInvalidDeviceFunction) } else { self.kernel(host) }
    }

    pub(crate) fn library(&self, handle: usize) -> Answer<&Library> {
        let library = self.libraries.get(&handle).ok_or(cudaErrorInvalidResourceHandle)?;
        library.damage.map_or(Ok(library), Err)
    }

    /// Forgets a library. Returns the addresses of its variables, and whether work or a graph still has a
    /// kernel of it.
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
    use crate::sys::cudaErrorNoKernelImageForDevice;
    use crate::testing::compile;

    const SOURCE: &str = "__global__ void first() {} __device__ int variable; \
                          extern \"C\" __global__ void second(int* p) { *p = variable; }";

    #[test]
    fn a_fatbinary_has_the_kernels_of_its_ptx_and_machine_code_alone_has_none() {
        let arch = |code: &str| format!("-gencode=arch=compute_90,code={code}");
        let whole = compile(SOURCE, "-fatbin", &[&arch("compute_90")]);
        let module = read(&CodeImage::Fatbin(&whole)).unwrap();
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
        for image in [CodeImage::Fatbin(&machine), CodeImage::Cubin] {
            let damage = read(&image).unwrap_err();
            assert_eq!((damage.code, damage.late), (cudaErrorNoKernelImageForDevice, false));
            assert!(damage.text.contains("code=compute_XX"), "{damage:?}");
        }
    }

    #[test]
    fn text_that_is_no_good_is_told_apart_with_its_line_and_late() {
        let of = |text: &CStr| {
            let damage = read(&CodeImage::Text(text)).unwrap_err();
            assert!(damage.late);
            (damage.code, damage.text.split_once(':').map(|(line, _)| line.to_owned()))
        };
        assert_eq!(of(c""), (cudaErrorInvalidKernelImage, None));
        assert_eq!(of(c"int main() {}"), (cudaErrorInvalidKernelImage, None));
        let line = |number: u32| Some(format!("PTX line {number}"));
        assert_eq!(of(c"\n.version 99.0\n.target sm_70\n"), (cudaErrorUnsupportedPtxVersion, line(2)));
        assert_eq!(of(c".version 9.0\n.target sm_120a\n"), (cudaErrorInvalidPtx, line(2)));
        assert_eq!(of(c".version 9.0\n.target sm_90\n}"), (cudaErrorInvalidPtx, line(3)));
        assert!(read(&CodeImage::Text(c".version 9.0\n.target sm_90a\n.address_size 64\n")).is_ok());
    }

    #[test]
    fn a_damaged_library_answers_with_its_damage_until_it_is_unloaded() {
        let mut registry = Registry::default();
        let handle = registry.add_damaged(cudaErrorInvalidPtx);
        assert_eq!(registry.library(handle).unwrap_err(), cudaErrorInvalidPtx);
        assert_eq!(registry.remove_library(handle).unwrap(), (Vec::new(), false));
        assert_eq!(registry.library(handle).unwrap_err(), cudaErrorInvalidResourceHandle);
    }
}
