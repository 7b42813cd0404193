//! The code of handles that need no objects of nvcc: the fatbinaries that nvcc put into them, and the Rust
//! text that registers these. See `cuda_safe::launch::fatbinary`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use object::LittleEndian as LE;
use object::elf::FileHeader64;
use object::read::elf::FileHeader as _;

use crate::Error;
use crate::compiler::declared::Space;
use crate::compiler::nvcc::Object;
use crate::compiler::symbol::Symbol;

/// The path of the text's types.
const TYPES: &str = "::cuda_safe::launch::fatbinary";

/// The start of a fatbinary: its magic number and version.
const BEGINS: [u8; 6] = [0x50, 0xED, 0x55, 0xBA, 1, 0];

/// What `FatbinaryBytes` is aligned to.
const ALIGNMENT: usize = 16;

/// The fatbinaries of a build.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    pub(crate) bytes: Vec<u8>,
    parts: BTreeMap<usize, Part>,
    /// Where each kernel is: the object, and the place in the part.
    kernels: BTreeMap<String, (usize, usize)>,
    /// Where each variable is, by its Rust name.
    variables: BTreeMap<String, (usize, usize)>,
}

/// The fatbinary of one object.
#[derive(Debug, Default)]
struct Part {
    offset: usize,
    /// The names in device code.
    kernels: Vec<String>,
    /// The Rust text of each.
    variables: Vec<String>,
    /// The words in the PTX lines of variables.
    words: BTreeSet<String>,
}

impl Packed {
    /// Adds a kernel that the object at this index defines.
    pub(crate) fn kernel(&mut self, at: usize, objects: &[Object], symbol: &str) -> Result<(), Error> {
        let part = self.part(at, objects)?;
        part.kernels.push(symbol.to_owned());
        let place = part.kernels.len() - 1;
        self.kernels.insert(symbol.to_owned(), (at, place));
        Ok(())
    }

    /// Adds a variable that the object at this index defines.
    pub(crate) fn variable(&mut self, at: usize, objects: &[Object], symbol: &Symbol) -> Result<(), Error> {
        let part = self.part(at, objects)?;
        let names: Vec<_> = part.words.iter().filter(|word| symbol.has_name_in_ptx(word)).collect();
        let name = &symbol.declared.name;
        let [found] = names.as_slice() else {
            let count = names.len();
            return Err(unpackable(&format!("the PTX has {count} variables that may be `{name}`")));
        };
        let space = match symbol.declared.space {
            Space::Constant => "Constant",
            Space::Device => "Device",
            Space::Managed => "Managed",
        };
        let bytes = symbol.bytes();
        let text = format!("new(\"{found}\\0\", ::cuda_safe::launch::Space::{space}, {bytes})");
        part.variables.push(text);
        let place = part.variables.len() - 1;
        self.variables.insert(name.clone(), (at, place));
        Ok(())
    }

    fn part(&mut self, at: usize, objects: &[Object]) -> Result<&mut Part, Error> {
        if !self.parts.contains_key(&at) {
            let object = objects.get(at).ok_or_else(|| unpackable("an object is missing"))?;
            let mut part = Part::default();
            for file in &object.ptx {
                let text = fs::read_to_string(file).map_err(Error::of_file(file))?;
                let is_part = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '$');
                for line in text.lines().filter(|line| line.contains(".global") || line.contains(".const")) {
                    part.words.extend(line.split(|sign| !is_part(sign)).map(str::to_owned));
                }
            }
            part.offset = self.bytes.len().next_multiple_of(ALIGNMENT);
            self.bytes.resize(part.offset, 0);
            self.bytes.append(&mut fatbinary(&object.path)?);
            self.parts.insert(at, part);
        }
        self.parts.get_mut(&at).ok_or_else(|| unpackable("an object is missing"))
    }

    /// Returns the Rust text that registers all: the bytes are in the file `name.fatbin` of `OUT_DIR`.
    pub(crate) fn text(&self, name: &str) -> String {
        let mut text = format!(
            "static __FATBINARIES: {TYPES}::FatbinaryBytes<{}> =\n    \
             {TYPES}::FatbinaryBytes(*include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}.fatbin\")));\n",
            self.bytes.len()
        );
        for (at, part) in &self.parts {
            let _ =
                writeln!(text, "static __KERNELS_{at}: [{TYPES}::DeviceKernel; {}] = [", part.kernels.len());
            for kernel in &part.kernels {
                let _ = writeln!(text, "    {TYPES}::DeviceKernel::new(\"{kernel}\\0\"),");
            }
            let _ = writeln!(
                text,
                "];\nstatic __VARIABLES_{at}: [{TYPES}::DeviceVariable; {}] = [",
                part.variables.len()
            );
            for variable in &part.variables {
                let _ = writeln!(text, "    {TYPES}::DeviceVariable::{variable},");
            }
            let _ = writeln!(
                text,
                "];\nstatic __FATBINARY_{at}: {TYPES}::Fatbinary = {{\n    \
                 // SAFETY: nvcc's fatbinary, whose hash the build has compared, and what is in it.\n    \
                 unsafe {{ {TYPES}::Fatbinary::new(&self::__FATBINARIES, {}, &self::__KERNELS_{at}, \
                 &self::__VARIABLES_{at}) }}\n}};",
                part.offset
            );
        }
        let each = |call: &str| {
            let calls = self.parts.keys().map(|at| format!("        self::__FATBINARY_{at}.{call}();\n"));
            calls.collect::<String>()
        };
        let _ = write!(
            text,
            "const _: () = {{\n    extern \"C\" fn register() {{\n{}        \
             {TYPES}::Fatbinary::at_exit(unregister);\n    }}\n    \
             extern \"C\" fn unregister() {{\n{}    }}\n    \
             #[used]\n    // SAFETY: the section of constructors, as of nvcc's objects.\n    \
             #[cfg_attr(not(windows), unsafe(link_section = \".init_array\"))]\n    \
             #[cfg_attr(windows, unsafe(link_section = \".CRT$XCU\"))]\n    \
             static REGISTER: extern \"C\" fn() = register;\n}};\n",
            each("register"),
            each("unload")
        );
        text
    }

    /// Returns the Rust text of a kernel's handle.
    pub(crate) fn handle(&self, name: &str, symbol: &str) -> Result<String, Error> {
        let place = self.kernels.get(symbol);
        let (at, place) = place.ok_or_else(|| unpackable(&format!("no source defines kernel `{name}`")))?;
        Ok(format!("from_fatbinary({name:?}, &self::__KERNELS_{at}[{place}])"))
    }

    /// Returns the Rust text of the function that returns a variable's address.
    pub(crate) fn accessor(&self, symbol: &Symbol) -> Result<String, Error> {
        let name = &symbol.declared.name;
        let place = self.variables.get(name);
        let (at, place) = place.ok_or_else(|| unpackable(&format!("no source has variable `{name}`")))?;
        Ok(format!(
            "extern \"C\" fn {}() -> *const ::core::ffi::c_void {{\n    \
             self::__FATBINARY_{at}.shadow(&self::__VARIABLES_{at}[{place}]) }}",
            symbol.accessor()
        ))
    }
}

/// Returns the error of a build that no package can hold.
pub(crate) fn unpackable(why: &str) -> Error {
    Error::Prebuilt(format!("Build::prebuilt: {why}"))
}

/// Returns the fatbinary in an object.
fn fatbinary(object: &Path) -> Result<Vec<u8>, Error> {
    let bytes = fs::read(object).map_err(Error::of_file(object))?;
    let section = |name: &[u8]| {
        let header = FileHeader64::<LE>::parse(&*bytes)?;
        let sections = header.sections(LE, &*bytes)?;
        let found = sections.section_by_name(LE, name);
        found.map(|(_, section)| object::read::elf::SectionHeader::data(section, LE, &*bytes)).transpose()
    };
    let found = section(b".nv_fatbin");
    let found = found.map_err(|error| unpackable(&format!("{}: {error}", object.display())))?;
    let found = found.filter(|code| length(code) == Some(code.len()));
    found
        .map(<[u8]>::to_vec)
        .ok_or_else(|| unpackable(&format!("{} has no fatbinary of its own", object.display())))
}

/// Returns the length of a fatbinary that its header has.
fn length(code: &[u8]) -> Option<usize> {
    let (header, follow) = (code.get(6..8)?, code.get(8..16)?);
    let header = u16::from_le_bytes(header.try_into().ok()?);
    let follow = u64::from_le_bytes(follow.try_into().ok()?);
    let whole = usize::try_from(follow).ok()?.checked_add(header.into())?;
    code.starts_with(&BEGINS).then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_fatbinary_is_in_its_header() {
        let head = [0x50, 0xED, 0x55, 0xBA, 1, 0, 16, 0, 8, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(length(&head), Some(24));
        assert_eq!((length(&head[..15]), length(&[0; 16])), (None, None));
        let far = [&head[..8], &[0xFF; 8]].concat();
        assert_eq!(length(&far), None);
    }
}
