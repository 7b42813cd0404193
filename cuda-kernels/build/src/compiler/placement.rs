//! What the headers declare, and in which compiled file each kernel and variable is.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

use syn::Item;

use crate::Error;
use crate::compiler::header::Bindings;
use crate::compiler::hygiene;
use crate::compiler::layout::Layouts;
use crate::compiler::names::Names;
use crate::compiler::nvcc::Object;
use crate::compiler::packed::{Packed, unpackable};
use crate::compiler::prototype::{self, Prototype};
use crate::compiler::ptx;
use crate::compiler::slices::Slices;
use crate::compiler::symbol::{self, Symbol};
use crate::compiler::unit::Units;

/// The declarations of the headers.
pub(crate) struct Contents {
    pub(crate) items: Vec<Item>,
    pub(crate) symbols: Vec<Symbol>,
}

impl Contents {
    pub(crate) fn of(bindings: &Bindings) -> Result<Self, Error> {
        let file = syn::parse_file(&bindings.text)
            .map_err(|error| Error::Header(format!("what bindgen generated is not Rust: {error}")))?;
        let mut symbols = symbol::symbols(&file.items, &bindings.variables);
        let items = hygiene::separate(file.items, &mut symbols, &bindings.host_functions)?;
        Ok(Self { items, symbols })
    }
}

/// The source file of each variable, and of each kernel in a file with variables.
#[derive(Debug, Default)]
pub(crate) struct Placement {
    /// The names of the compiled symbols.
    pub(crate) names: Names,
    /// The libraries that the module links, as Rust attributes.
    pub(crate) links: String,
    /// The variables of each source file that has any, as indices into the list of symbols.
    pub(crate) units: Vec<Vec<usize>>,
    /// The source file of each kernel in one of these files, by the kernel's symbol.
    pub(crate) kernels: BTreeMap<String, usize>,
    /// The compiled kernels' uses of the memory behind their parameters.
    pub(crate) uses: ptx::Uses,
    /// The sizes of the compiled kernels' parameters.
    pub(crate) sizes: ptx::Sizes,
    /// What proofs of launches need of each kernel.
    pub(crate) slices: Slices,
    /// The object of each of the units.
    pub(crate) unit_objects: Vec<usize>,
    /// The fatbinaries, if the handles need no objects.
    pub(crate) packed: Option<Packed>,
}

impl Placement {
    /// Returns the placement that the objects show. Kernels of `relocatable` device code reach the variables
    /// of all files. `archive` has the objects, and `cpp` is the C++ library.
    pub(crate) fn new(
        units: Units,
        objects: &[Object],
        relocatable: bool,
        unprovable: Option<String>,
        names: Names,
        (archive, cpp): (&str, &str),
    ) -> Result<Self, Error> {
        // Cargo passes what a build script links to the package's library only, if it has one. The
        // attributes make its programs, tests and examples link it as well.
        let mut links = format!("#[link(name = {archive:?}, kind = \"static\")]\n");
        if !cpp.is_empty() {
            let _ = writeln!(links, "#[link(name = {cpp:?})]");
        }
        links.push_str("unsafe extern \"C\" {}\n");
        let slices = unprovable.map_or_else(Slices::default, |reason| Slices::none(&reason));
        let mut placement = Self { links, slices, ..Self::default() };
        let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
        let folder = folder.canonicalize().unwrap_or(folder);
        // A kernel may be in several objects: without the PTX of one, nothing is known.
        if objects.iter().all(|object| !object.ptx.is_empty()) {
            for file in objects.iter().flat_map(|object| &object.ptx) {
                let text = fs::read_to_string(file).map_err(Error::of_file(file))?;
                ptx::add(&mut placement.uses, &text);
                ptx::add_sizes(&mut placement.sizes, &text);
                placement.slices.add(&text, &folder);
            }
        }
        for (name, at) in names.defined() {
            let file = objects.get(at).map(|object| &object.file);
            let own = units.keys().position(|unit| Some(unit) == file);
            if let Some(at) = if relocatable { (!units.is_empty()).then_some(0) } else { own } {
                placement.kernels.insert(name.to_owned(), at);
            }
        }
        placement.names = names;
        let object = |unit: &PathBuf| objects.iter().position(|object| object.file == *unit);
        placement.unit_objects = units.keys().filter_map(object).collect();
        placement.units = units.into_values().collect();
        if relocatable && !placement.units.is_empty() {
            placement.units = vec![placement.units.concat()];
        }
        Ok(placement)
    }

    /// Has handles generated that need no objects: they register the fatbinaries, which are in `name.fatbin`.
    /// Returns the bytes of that file.
    ///
    /// # Errors
    /// Code that is linked, or that nvcc made no PTX of.
    pub(crate) fn pack(
        &mut self,
        contents: &Contents,
        objects: &[Object],
        name: &str,
    ) -> Result<Vec<u8>, Error> {
        if let Some(object) = objects.iter().find(|object| object.ptx.is_empty()) {
            return Err(unpackable(&format!("nvcc has left no PTX of {}", object.file.display())));
        }
        let mut packed = Packed::default();
        let defined: BTreeMap<&str, usize> = self.names.defined().collect();
        let layouts = Layouts::of(&contents.items);
        for item in &contents.items {
            let Item::ForeignMod(block) = item else { continue };
            for kernel in prototype::kernels(block, &layouts)? {
                if let Some(at) = defined.get(&*kernel.symbol) {
                    packed.kernel(*at, objects, &kernel.symbol)?;
                }
            }
        }
        for (unit, at) in self.units.iter().zip(&self.unit_objects) {
            for symbol in unit.iter().filter_map(|one| contents.symbols.get(*one)) {
                packed.variable(*at, objects, symbol)?;
            }
        }
        self.links = packed.text(name);
        let bytes = packed.bytes.clone();
        self.packed = Some(packed);
        Ok(bytes)
    }

    /// Returns a placement for a build that compiles nothing, so that nothing runs.
    pub(crate) fn unknown(contents: &Contents) -> Self {
        let all: Vec<usize> = (0..contents.symbols.len()).collect();
        let units = if all.is_empty() { Vec::new() } else { vec![all] };
        Self { units, slices: Slices::none("this build compiles nothing"), ..Self::default() }
    }

    /// Returns the Rust text of a kernel's stub, if it has any, and of what makes the handle.
    pub(crate) fn code(&self, kernel: &Prototype) -> Result<(String, String), Error> {
        let name = &kernel.name;
        let link = self.names.unique(&kernel.symbol)?;
        Ok(match &self.packed {
            None => {
                let stub = format!("unsafe extern \"C\" {{ #[link_name = {link:?}] fn __stub(); }}\n    ");
                (stub, format!("from_stub({name:?}, __stub)"))
            }
            Some(packed) => (String::new(), packed.handle(name, &kernel.symbol)?),
        })
    }

    /// Returns the Rust text of the function that returns a variable's address.
    pub(crate) fn accessor(&self, symbol: &Symbol) -> Result<String, Error> {
        let accessor = symbol.accessor();
        let link = self.names.unique(&accessor)?;
        match &self.packed {
            None => Ok(format!(
                "unsafe extern \"C\" {{ #[link_name = {link:?}] fn {accessor}() -> *const \
                 ::core::ffi::c_void; }}"
            )),
            Some(packed) => packed.accessor(symbol),
        }
    }
}
