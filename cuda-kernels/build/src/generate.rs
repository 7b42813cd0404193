//! Generates the Rust text of a set of kernels: bindgen's types and constants, and a typed handle for
//! each prototype and variable.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::{Item, ItemStruct, Token};

use crate::Error;
use crate::contract::{self, Kind};
use crate::declared::Space;
use crate::header::Bindings;
use crate::layout::{Layouts, Plain};
use crate::names::Names;
use crate::nvcc::Object;
use crate::packed::{Packed, unpackable};
use crate::prototype::{self, Prototype};
use crate::ptx;
use crate::slices::{Proof, Slices};
use crate::symbol::{self, Said, Symbol, VariableAccesses};
use crate::unit::Units;

/// The head of the text. Everything is in a module, because an included file cannot begin with inner
/// attributes.
const HEAD: &str = r#"// Generated from CUDA headers by cuda-kernels-build.
#[allow(
    non_camel_case_types, non_snake_case, non_upper_case_globals, dead_code, missing_docs, unreachable_pub,
    unsafe_code, missing_debug_implementations, improper_ctypes, clippy::all, clippy::pedantic, clippy::nursery,
    clippy::undocumented_unsafe_blocks, clippy::multiple_unsafe_ops_per_block, clippy::missing_safety_doc,
    clippy::ptr_as_ptr, clippy::allow_attributes_without_reason, rustdoc::all,
    reason = "generated from C++ headers, whose names it keeps"
)]
mod generated {
"#;

const TAIL: &str = "}\n\
    #[allow(unused_imports, unreachable_pub, reason = \"a header may declare nothing\")]\n\
    pub use generated::*;\n";

/// The declarations of the headers.
#[derive(Debug)]
pub(crate) struct Contents {
    items: Vec<Item>,
    pub(crate) symbols: Vec<Symbol>,
}

impl Contents {
    pub(crate) fn of(bindings: &Bindings) -> Result<Self, Error> {
        let file = syn::parse_file(&bindings.text)
            .map_err(|error| Error::Header(format!("what bindgen generated is not Rust: {error}")))?;
        let symbols = symbol::symbols(&file.items, &bindings.variables)?;
        Ok(Self { items: file.items, symbols })
    }
}

/// The source file of each variable, and of each kernel in a file with variables.
#[derive(Debug, Default)]
pub(crate) struct Placement {
    /// The names of the compiled symbols.
    names: Names,
    /// The libraries that the module links, as Rust attributes.
    links: String,
    /// The variables of each source file that has any, as indices into the list of symbols.
    units: Vec<Vec<usize>>,
    /// The source file of each kernel in one of these files, by the kernel's symbol.
    kernels: BTreeMap<String, usize>,
    /// The compiled kernels' uses of the memory behind their parameters.
    uses: ptx::Uses,
    /// The sizes of the compiled kernels' parameters.
    sizes: ptx::Sizes,
    /// What proofs of launches need of each kernel.
    slices: Slices,
    /// The object of each of the units.
    unit_objects: Vec<usize>,
    /// The fatbinaries, if the handles need no objects.
    packed: Option<Packed>,
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
}

impl Placement {
    /// Returns the Rust text of a kernel's stub, if it has any, and of what makes the handle.
    fn code(&self, kernel: &Prototype) -> Result<(String, String), Error> {
        let name = &kernel.name;
        let link = self.names.unique(&kernel.symbol)?;
        Ok(match &self.packed {
            None => {
                let stub = format!("unsafe extern \"C\" {{ #[link_name = {link:?}] fn stub(); }}\n    ");
                (stub, format!("from_stub({name:?}, stub)"))
            }
            Some(packed) => (String::new(), packed.handle(name, &kernel.symbol)?),
        })
    }

    /// Returns the Rust text of the function that returns a variable's address.
    fn accessor(&self, symbol: &Symbol) -> Result<String, Error> {
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

/// Generates the text that a crate includes.
pub(crate) fn generate(contents: &Contents, placement: &Placement) -> Result<String, Error> {
    let layouts = Layouts::of(&contents.items);
    let passed = passed_by_value(&contents.items, &layouts)?;
    let mut text = String::from(HEAD) + &placement.links;
    exports(&mut text, &placement.names);
    for (at, unit) in placement.units.iter().enumerate() {
        let symbols: Vec<&Symbol> = unit.iter().filter_map(|one| contents.symbols.get(*one)).collect();
        module(&mut text, at, &symbols, placement)?;
    }
    for item in &contents.items {
        match item {
            Item::ForeignMod(block) => {
                for mut kernel in prototype::kernels(block, &layouts)? {
                    let Said { variables, parameters } = symbol::uses(&kernel.docs, &kernel.names);
                    let declared = variables.clone();
                    let uses = uses(&kernel, variables, contents, placement)?;
                    let found = placement.uses.get(&kernel.symbol).map_or(&[][..], Vec::as_slice);
                    kernel.read_only(&parameters, found)?;
                    let proof = proof(&kernel, &layouts, &declared, contents, placement);
                    let proof = with_contract(&kernel, &layouts, proof)?;
                    let code = placement.code(&kernel)?;
                    handle(&mut text, &kernel, code, uses.as_deref(), proof);
                    for sizes in placement.sizes.get(&kernel.symbol).into_iter().flatten() {
                        same_sizes(&mut text, &kernel, sizes);
                    }
                }
            }
            Item::Struct(item) => {
                let name = item.ident.to_string();
                if passed.contains(&name) && !is_copy(item) {
                    text.push_str("#[derive(Clone, Copy)]\n");
                    line(&mut text, item);
                    by_value(&mut text, &name, true);
                } else {
                    structure(&mut text, item, layouts.plain(&name), layouts.has_solid_fields(&name));
                }
            }
            Item::Union(item) => {
                line(&mut text, item);
                by_value(&mut text, &item.ident.to_string(), item.generics.params.is_empty());
            }
            Item::Const(item) if symbol::is_variable(&item.ident.to_string(), &contents.symbols) => {}
            other => line(&mut text, other),
        }
    }
    text.push_str(TAIL);
    Ok(text)
}

/// Makes a program link what is exported, even if it uses none of it: two exports of one name then do not
/// link.
fn exports(text: &mut String, names: &Names) {
    let exported = names.exported();
    if exported.is_empty() {
        return;
    }
    let mut declared = String::new();
    for (at, name) in exported.iter().enumerate() {
        let _ = write!(declared, "#[link_name = {name:?}] fn export_{at}(); ");
    }
    let all: Vec<_> = (0..exported.len()).map(|at| format!("export_{at}")).collect();
    let _ = write!(
        text,
        "#[used]\nstatic EXPORTS: [unsafe extern \"C\" fn(); {}] = {{\n    \
         unsafe extern \"C\" {{ {declared}}}\n    [{}]\n}};\n",
        all.len(),
        all.join(", ")
    );
}

/// Writes the variables of one source file: the access history that they share, and a handle for each.
fn module(text: &mut String, at: usize, symbols: &[&Symbol], placement: &Placement) -> Result<(), Error> {
    const SPACES: [(Space, &str); 3] =
        [(Space::Constant, "Constant"), (Space::Device, "Device"), (Space::Managed, "Managed")];
    let mut sizes = Vec::new();
    let mut handles = String::new();
    for (space, spelled) in SPACES {
        let mut start = "0".to_owned();
        for symbol in symbols.iter().filter(|symbol| symbol.declared.space == space) {
            let accessor = placement.accessor(symbol)?;
            variable(&mut handles, at, symbol, (spelled, &start), &accessor);
            let _ = write!(start, " + {}", symbol.bytes());
        }
        sizes.push(start);
    }
    let [constants, variables, managed] = sizes.as_slice() else { return Ok(()) };
    let _ = write!(
        text,
        "static MODULE_{at}: ::cuda_safe::launch::Module = ::cuda_safe::launch::Module::new(\n    \
         {constants},\n    {variables},\n    {managed},\n);\n{handles}"
    );
    Ok(())
}

/// Writes the handle of one variable, whose bytes begin at `start` in the access history of its memory
/// space.
fn variable(text: &mut String, module: usize, symbol: &Symbol, (space, start): (&str, &str), function: &str) {
    let Symbol { declared, element, len, docs } = symbol;
    documented(text, docs);
    let word = match declared.space {
        Space::Device => "__device__",
        Space::Constant => "__constant__",
        Space::Managed => "__managed__",
    };
    let gap = if docs.is_empty() { "" } else { "\\n\\n" };
    let _ = write!(
        text,
        "#[doc = \"{gap} A `{word}` variable: {len} of `{element}`.\"]\n\
         pub static {name}: ::cuda_safe::launch::Symbol<{element}> = {{\n    \
         {function}\n    \
         // SAFETY: the function names this variable, which has the type that the header declares, and \
         these are its bytes in its module's access histories.\n    \
         unsafe {{ ::cuda_safe::launch::Symbol::from_parts({name:?}, {accessor}, &MODULE_{module}, \
         ::cuda_safe::launch::Space::{space}, {start}, {len}) }}\n}};\n",
        name = declared.name,
        accessor = symbol.accessor(),
    );
}

/// Returns the uses of variables by a kernel, as Rust text. Returns `None` if the kernel's file has no
/// variables.
fn uses(
    kernel: &Prototype,
    said: VariableAccesses,
    contents: &Contents,
    placement: &Placement,
) -> Result<Option<String>, Error> {
    let refuse = |name: &str, why: &str| {
        Err(Error::Prototype(format!("kernel `{}` says that it uses `{name}`, {why}", kernel.name)))
    };
    let Some(module) = placement.kernels.get(&kernel.symbol) else {
        // Without compilation the file of a name is unknown.
        if let VariableAccesses::Said(list) = &said
            && let Some((name, _)) = list.iter().find(|(name, _)| {
                !seen_from(&kernel.name, name).any(|name| symbol::is_variable(&name, &contents.symbols))
            })
        {
            return refuse(name, "which is no variable of these headers");
        }
        return Ok(None);
    };
    let VariableAccesses::Said(list) = said else {
        return Ok(Some(format!("::cuda_safe::launch::VariableAccesses::all(&MODULE_{module})")));
    };
    if list.is_empty() {
        return Ok(None);
    }
    let unit = placement.units.get(*module).map_or(&[][..], Vec::as_slice);
    let mut spelled = Vec::new();
    for (name, writes) in list {
        let own = || unit.iter().filter_map(|at| contents.symbols.get(*at));
        let named = |name: &str| own().find(|symbol| symbol.declared.name == name);
        let Some(symbol) = seen_from(&kernel.name, &name).find_map(|name| named(&name)) else {
            return refuse(&name, "which is no variable of the file that it is in");
        };
        let name = &symbol.declared.name;
        if writes && symbol.declared.space == Space::Constant {
            return refuse(name, "for writing, but kernels cannot write `__constant__` variables");
        }
        spelled.push(format!("{name}.{}()", if writes { "written" } else { "read" }));
    }
    Ok(Some(format!(
        "::cuda_safe::launch::VariableAccesses::new(&MODULE_{module}, &[{}])",
        spelled.join(", ")
    )))
}

/// Returns what the handle of a kernel has for proofs of launches, or `None` if its parameters are of types
/// that no proof is about.
fn proof(
    kernel: &Prototype,
    layouts: &Layouts<'_>,
    said: &VariableAccesses,
    contents: &Contents,
    placement: &Placement,
) -> Option<Proof> {
    if !kernel.parameters.iter().all(|parameter| is_provable(parameter, layouts)) {
        return None;
    }
    let handles =
        kernel.parameters.iter().enumerate().filter_map(|(at, parameter)| match parameter.as_str() {
            TEXTURE => Some((at, false)),
            SURFACE => Some((at, true)),
            _ => None,
        });
    let handles: Vec<_> = handles.collect();
    let mut proof = placement.slices.proof(&kernel.symbol, &kernel.name, &handles);
    let (VariableAccesses::Said(list), false) = (said, proof.text.starts_with("&[],")) else {
        return Some(proof);
    };
    // The comment is compared with what the kernel does, by the names of the variables in PTX.
    let module = placement.kernels.get(&kernel.symbol).and_then(|at| placement.units.get(*at));
    let mut variables = String::new();
    for symbol in module.into_iter().flatten().filter_map(|at| contents.symbols.get(*at)) {
        let said = list
            .iter()
            .filter(|(name, _)| seen_from(&kernel.name, name).any(|name| name == symbol.declared.name));
        let said: Vec<bool> = said.map(|(_, writes)| *writes).collect();
        if said.contains(&true) {
            continue;
        }
        let names = placement.slices.variables(|name| symbol.has_name_in_ptx(name));
        if names.is_empty() {
            let reason = format!("the PTX has no variable `{}`", symbol.declared.name);
            return Some(Slices::none(&reason).proof(&kernel.symbol, &kernel.name, &handles));
        }
        for name in names {
            let _ = write!(variables, "({name:?}, {}), ", !said.is_empty());
        }
    }
    if !variables.is_empty() {
        proof.variables = format!(".with_variables(&[{variables}])");
    }
    Some(proof)
}

/// Gives the proof of a kernel the contract in its comment.
fn with_contract(
    kernel: &Prototype,
    layouts: &Layouts<'_>,
    proof: Option<Proof>,
) -> Result<Option<Proof>, Error> {
    let kind = |parameter: &String| {
        let meant = layouts.alias(parameter).map(prototype::spell).unwrap_or_else(|| parameter.clone());
        match meant.as_str() {
            "u8" => Kind::Number(1, false),
            "u16" => Kind::Number(2, false),
            "u32" => Kind::Number(4, false),
            "u64" | "usize" => Kind::Number(8, false),
            "i8" => Kind::Number(1, true),
            "i16" => Kind::Number(2, true),
            "i32" => Kind::Number(4, true),
            "i64" | "isize" => Kind::Number(8, true),
            pointer if pointer.starts_with('*') => Kind::Memory,
            _ => Kind::Other,
        }
    };
    let parameters = kernel.names.iter().zip(&kernel.parameters);
    let parameters: Vec<_> = parameters.map(|(name, it)| (name.as_str(), kind(it))).collect();
    let Some(clauses) = contract::clauses(&kernel.name, &kernel.docs, &parameters)? else { return Ok(proof) };
    let Some(mut proof) = proof else {
        return Err(Error::Prototype(format!(
            "kernel `{}` has a contract, but its launches are `unsafe` by the types of its parameters",
            kernel.name
        )));
    };
    proof.contract = Some(clauses);
    (proof.warning, proof.docs) = (None, Vec::new());
    Ok(Some(proof))
}

const TEXTURE: &str = "::cuda_safe::launch::TextureObject";
const SURFACE: &str = "::cuda_safe::launch::SurfaceObject";

/// Returns whether a proof may be about a parameter of this type: a number, a structure of numbers with no
/// padding inside of its fields, a texture, a surface, or a pointer to memory of numbers.
fn is_provable(parameter: &str, layouts: &Layouts<'_>) -> bool {
    const NUMBERS: &str = " u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 bool ";
    let is_number = |name: &str| NUMBERS.split(' ').any(|number| !name.is_empty() && number == name);
    let meant = |name: &str| match layouts.alias(name).map(prototype::spell) {
        Some(meant) if is_number(&meant) || layouts.plain(&meant) != Plain::No => meant,
        _ => name.to_owned(),
    };
    match parameter.strip_prefix("*mut ").or_else(|| parameter.strip_prefix("*const ")) {
        Some(target) => {
            let target = meant(target);
            is_number(&target) || layouts.plain(&target) != Plain::No
        }
        None => {
            let name = meant(parameter);
            matches!(parameter, TEXTURE | SURFACE)
                || name == "cudaPitchedPtr"
                || is_number(&name)
                || layouts.plain(&name) == Plain::Pod
                || layouts.has_solid_fields(&name)
        }
    }
}

/// Returns the full names that a name in a kernel's comment may mean: in the kernel's namespace, the
/// enclosing ones, and the global one.
fn seen_from(kernel: &str, name: &str) -> impl Iterator<Item = String> {
    let inner = kernel.rmatch_indices('_').map(move |(at, _)| format!("{}_{name}", &kernel[..at]));
    inner.chain([name.to_owned()])
}

fn documented(text: &mut String, docs: &[String]) {
    for line in docs {
        let _ = writeln!(text, "#[doc = {line:?}]");
    }
}

fn line(text: &mut String, item: &impl ToTokens) {
    text.push_str(&item.to_token_stream().to_string());
    text.push('\n');
}

fn structure(text: &mut String, item: &ItemStruct, plain: Plain, has_solid_fields: bool) {
    if !is_copy(item) {
        return line(text, item);
    }
    let derives = match plain {
        Plain::Pod => "Pod, ::cuda_safe::bytemuck::Zeroable",
        Plain::Padded => "AnyBitPattern",
        Plain::No => "",
    };
    if !derives.is_empty() {
        text.push_str("#[derive(::cuda_safe::bytemuck::");
        text.push_str(derives);
        text.push_str(")]\n#[bytemuck(crate = \"::cuda_safe::bytemuck\")]\n");
    }
    line(text, item);
    by_value(text, &item.ident.to_string(), item.generics.params.is_empty());
    if (plain == Plain::Pod || has_solid_fields) && item.generics.params.is_empty() {
        let name = &item.ident;
        let mut fields = String::new();
        if has_solid_fields {
            fields.push_str("\n    const FIELDS: Option<&'static [(usize, usize)]> = Some(&[\n");
            for field in &item.fields {
                let (Some(own), ty) = (&field.ident, field.ty.to_token_stream()) else { continue };
                let _ = writeln!(
                    fields,
                    "        (::core::mem::offset_of!({name}, {own}), ::core::mem::size_of::<{ty}>()),"
                );
            }
            fields.push_str("    ]);\n");
        }
        let _ = write!(
            text,
            "// SAFETY: numbers, and these are the fields if there is padding between them.\n\
             unsafe impl ::cuda_safe::launch::CheckedParameter for {name} {{{fields}}}\n\
             // SAFETY: numbers are no addresses and no handles.\n\
             unsafe impl ::cuda_safe::launch::PlainValue for {name} {{}}\n",
        );
    }
    if item.ident == "cudaPitchedPtr" {
        text.push_str(PITCHED);
    }
    if plain == Plain::Pod
        && let Some(component) = component(item)
    {
        let _ = write!(
            text,
            "// SAFETY: a vector type of CUDA, without padding.\n\
             unsafe impl ::cuda_safe::launch::Components for {} {{ type Component = {component}; }}\n",
            item.ident
        );
    }
}

/// Returns the type of each number in a vector type of CUDA. Returns `None` for another structure.
fn component(item: &ItemStruct) -> Option<String> {
    const TYPES: &[&str] = &[
        "char",
        "uchar",
        "short",
        "ushort",
        "int",
        "uint",
        "long",
        "ulong",
        "longlong",
        "ulonglong",
        "float",
        "double",
    ];
    let name = item.ident.to_string();
    match name.as_str() {
        "__half" | "__half2" => return Some("::cuda_safe::launch::sixteen_bits::F16".to_owned()),
        "__nv_bfloat16" | "__nv_bfloat162" => {
            return Some("::cuda_safe::launch::sixteen_bits::Bf16".to_owned());
        }
        _ => {}
    }
    let (kind, count) = name.split_at(name.find(|sign: char| sign.is_ascii_digit())?);
    // CUDA 13 has variants by alignment: `double4_16a`.
    let count = count.strip_suffix("_16a").or_else(|| count.strip_suffix("_32a")).unwrap_or(count);
    if !TYPES.contains(&kind) || !matches!(count, "1" | "2" | "3" | "4") {
        return None;
    }
    let mut fields = item.fields.iter().map(|field| prototype::spell(&field.ty));
    let first = fields.next()?;
    fields.all(|field| field == first).then_some(first)
}

/// Makes pitched memory an argument for CUDA's structure for pitched memory.
const PITCHED: &str = "// SAFETY: as the fields are named.
unsafe impl ::cuda_safe::launch::PitchedParameter for cudaPitchedPtr {
    fn new(ptr: *mut ::core::ffi::c_void, pitch: usize, xsize: usize, ysize: usize) -> Self {
        Self { ptr, pitch, xsize, ysize }
    }
}
// SAFETY: four fields of eight bytes, of which the first is the address.
unsafe impl ::cuda_safe::launch::CheckedParameter for cudaPitchedPtr {
    const POINTERS: &'static [u64] = &[0];
    const WRITES: bool = true;
}
";

/// Returns the structs that kernels take by value, and those that these contain. C++ copies an argument as
/// bytes, even if its class has a destructor.
fn passed_by_value(items: &[Item], layouts: &Layouts<'_>) -> Result<BTreeSet<String>, Error> {
    let mut open = Vec::new();
    for item in items {
        if let Item::ForeignMod(block) = item {
            open.extend(prototype::kernels(block, layouts)?.into_iter().flat_map(|kernel| kernel.parameters));
        }
    }
    let mut passed = BTreeSet::new();
    while let Some(name) = open.pop() {
        open.extend(layouts.alias(&name).map(prototype::spell));
        let structs = items.iter().filter_map(|item| match item {
            Item::Struct(item) if item.ident == name && item.generics.params.is_empty() => Some(item),
            _ => None,
        });
        for item in structs.filter(|_| passed.insert(name.clone())) {
            let fields = item.fields.iter().map(|field| match &field.ty {
                syn::Type::Array(array) => prototype::spell(&array.elem),
                other => prototype::spell(other),
            });
            open.extend(fields);
        }
    }
    Ok(passed)
}

/// Returns whether a struct can be copied as bytes. bindgen derives `Copy` except for one with a destructor.
fn is_copy(item: &ItemStruct) -> bool {
    let derives = item.attrs.iter().filter(|attribute| attribute.path().is_ident("derive"));
    let traits = derives.filter_map(|derive| {
        derive.parse_args_with(Punctuated::<syn::Path, Token![,]>::parse_terminated).ok()
    });
    traits.flatten().any(|name| name.is_ident("Copy"))
}

/// Makes a type of the header a kernel argument by value.
fn by_value(text: &mut String, name: &str, concrete: bool) {
    if concrete {
        text.push_str(
            "// SAFETY: C's layout, as bindgen's checks assert, and the very type of the prototype.\n",
        );
        text.push_str(&format!("unsafe impl ::cuda_safe::launch::ByValue for {name} {{}}\n"));
    }
}

fn handle(
    text: &mut String,
    kernel: &Prototype,
    (stub, code): (String, String),
    uses: Option<&str>,
    proof: Option<Proof>,
) {
    let Prototype { name, parameters, names, docs, .. } = kernel;
    documented(text, docs);
    let mut signature = String::new();
    for (name, parameter) in names.iter().zip(parameters) {
        let comma = if signature.is_empty() { "" } else { ", " };
        let _ = write!(signature, "{comma}{name}: {parameter}");
    }
    let gap = if docs.is_empty() { "" } else { "\\n\\n" };
    text.push_str(&format!("#[doc = \"{gap} Parameters: `({signature})`.\"]\n"));
    let mut types = parameters.join(", ");
    if parameters.len() == 1 {
        types.push(',');
    }
    let (uses, with_symbols) = match uses {
        None => (String::new(), ""),
        Some(uses) => (
            format!("static USES: ::cuda_safe::launch::VariableAccesses = {uses};\n    "),
            ".with_symbols(&USES)",
        ),
    };
    let (kind, proof, checked) = match proof {
        None => ("Kernel", String::new(), ""),
        Some(proof) => {
            if let Some(warning) = &proof.warning {
                println!("cargo::warning=kernel `{name}`: {warning}");
            }
            if !proof.docs.is_empty() {
                documented(text, &[String::new()]);
                documented(text, &proof.docs);
            }
            let mut made =
                format!("::cuda_safe::launch::KernelProof::new({}){}", proof.text, proof.variables);
            if let Some(clauses) = &proof.contract {
                made = format!(
                    "{{\n        let proof = {made};\n        \
                     // SAFETY: the kernel's author says so, by `@unsafe_contract`.\n        \
                     unsafe {{ proof.with_contract(&[{clauses}]) }}\n    }}"
                );
            }
            let made = format!("static PROOF: ::cuda_safe::launch::KernelProof =\n        {made};\n    ");
            let checked = "// SAFETY: the slices are those of each PTX that nvcc made of this kernel.\n    \
                           let kernel = unsafe { ::cuda_safe::launch::Checked::new(kernel, &PROOF) };\n    ";
            ("Checked", made, checked)
        }
    };
    text.push_str(&format!(
        "pub static {name}: ::cuda_safe::launch::{kind}<({types})> = {{\n    \
         {stub}{uses}{proof}\
         // SAFETY: the code that nvcc made for this kernel, with the parameter types of its prototype.\n    \
         let kernel = unsafe {{ ::cuda_safe::launch::Kernel::{code}{with_symbols} }}\n    \
         .with_parameter_names(&{names:?});\n    {checked}kernel\n}};\n"
    ));
}

/// Writes the check that a kernel's parameters have the sizes that its compiled code reads.
fn same_sizes(text: &mut String, kernel: &Prototype, sizes: &[u64]) {
    let own = kernel.parameters.iter().map(|parameter| format!("::core::mem::size_of::<{parameter}>()"));
    let own: Vec<_> = own.collect();
    let _ = writeln!(
        text,
        "const _: &[usize] = {{\n    let own: &[usize] = &[{}];\n    \
         assert!(matches!(own, {sizes:?}), \"kernel `{}`: nvcc compiles its parameters with other sizes than \
         its prototype has without nvcc: does a type depend on __CUDACC__?\");\n    own\n}};",
        own.join(", "),
        kernel.name
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agree::Facts;
    use crate::declared::Declared;

    fn contents(text: &str, variables: Vec<Declared>) -> Result<Contents, Error> {
        Contents::of(&Bindings {
            text: text.to_owned(),
            variables,
            warnings: Vec::new(),
            has_instances: false,
            facts: Facts::default(),
            included: BTreeMap::new(),
            files: Vec::new(),
        })
    }

    fn generate(text: &str) -> Result<String, Error> {
        super::generate(&contents(text, Vec::new())?, &Placement::default())
    }

    const BINDINGS: &str = r#"
        pub const MATRIX_TILE: u32 = 16;
        #[doc = " A point."]
        #[repr(C)]
        #[derive(Debug, Copy, Clone)]
        pub struct Point { pub x: f32, pub y: f32, pub z: f32 }
        const _: () = { ["Size of Point"][::core::mem::size_of::<Point>() - 12usize]; };
        #[repr(C)]
        #[derive(Debug, Copy, Clone)]
        pub struct Gap { pub a: u8, pub b: f32 }
        #[repr(C)]
        #[derive(Debug, Copy, Clone)]
        pub struct View { pub data: *mut f32 }
        #[repr(C)]
        #[derive(Debug)]
        pub struct Owner { pub n: u32 }
        #[repr(C)]
        #[repr(align(16))]
        #[derive(Debug, Copy, Clone)]
        pub struct float4 { pub x: f32, pub y: f32, pub z: f32, pub w: f32 }
        unsafe extern "C" {
            #[doc = " Says \"hello\"."]
            #[link_name = "\u{1}_Z4moveP5PointS_j"]
            pub fn move_(points: *mut Point, by: Point, count: ::core::ffi::c_uint) -> !;
            pub fn nothing() -> !;
            pub fn host_function(n: ::core::ffi::c_int);
        }
    "#;

    #[test]
    fn a_kernel_becomes_a_static_whose_type_is_its_parameter_list() {
        let text = generate(BINDINGS).unwrap();
        assert!(
            text.contains("pub static move_: ::cuda_safe::launch::Checked<(*mut Point, Point, u32)> ="),
            "{text}"
        );
        assert!(text.contains(r#"#[link_name = "_Z4moveP5PointS_j"] fn stub();"#), "{text}");
        assert!(text.contains(r#".with_parameter_names(&["points", "by", "count"])"#), "{text}");
        assert!(text.contains(r#"#[doc = " Says \"hello\"."]"#), "{text}");
        assert!(text.contains("Parameters: `(points: *mut Point, by: Point, count: u32)`."), "{text}");
        assert!(text.contains("pub static nothing: ::cuda_safe::launch::Checked<()> ="), "{text}");
    }

    #[test]
    fn parameters_have_the_sizes_that_the_compiled_code_reads() {
        let mut placement = Placement::default();
        let ptx = |by: u32| {
            format!(
                ".visible .entry _Z4moveP5PointS_j(.param .u64 .ptr .align 1 a, .param .align 4 .b8 b[{by}],
                 .param .u32 c) {{ ret; }} .entry nothing() {{ ret; }}"
            )
        };
        ptx::add_sizes(&mut placement.sizes, &ptx(12));
        let generated = |placement: &Placement| {
            let text = super::generate(&contents(BINDINGS, Vec::new()).unwrap(), placement).unwrap();
            syn::parse_file(&text).unwrap();
            text
        };
        let text = generated(&placement);
        let types = ["*mut Point", "Point", "u32"].map(|name| format!("::core::mem::size_of::<{name}>()"));
        assert!(
            text.contains(&format!("&[{}];\n    assert!(matches!(own, [8, 12, 4])", types.join(", "))),
            "{text}"
        );
        assert!(text.contains("&[];\n    assert!(matches!(own, [])"), "{text}");
        // A structure with other fields for one architecture.
        ptx::add_sizes(&mut placement.sizes, &ptx(16));
        let text = generated(&placement);
        assert!(text.contains("(own, [8, 12, 4])") && text.contains("(own, [8, 16, 4])"), "{text}");
    }

    #[test]
    fn host_functions_have_no_handle() {
        assert!(!generate(BINDINGS).unwrap().contains("host_function"));
    }

    #[test]
    fn types_constants_and_layout_checks_are_kept() {
        let text = generate(BINDINGS).unwrap();
        assert!(text.contains("pub const MATRIX_TILE : u32 = 16"), "{text}");
        assert!(text.contains("size_of :: < Point > () - 12usize"), "{text}");
        assert!(text.contains("unsafe impl ::cuda_safe::launch::ByValue for View {}"), "{text}");
    }

    #[test]
    fn vector_types_of_cuda_and_no_other_structures_have_components() {
        let text = generate(BINDINGS).unwrap();
        let components: Vec<_> =
            text.lines().filter(|line| line.contains("launch::Components for")).collect();
        let expected = "unsafe impl ::cuda_safe::launch::Components for float4 { type Component = f32; }";
        assert_eq!(components, [expected]);
    }

    #[test]
    fn only_structs_of_plain_numbers_get_derives() {
        let text = generate(BINDINGS).unwrap();
        let derive_of = |name: &str| {
            let at = text.find(&format!("pub struct {name} ")).unwrap();
            let start = text[..at].rfind("\n#[derive(::cuda_safe").map_or(0, |start| start + 1);
            let between = &text[start..at];
            if start == 0 || between.contains('}') {
                String::new()
            } else {
                between.lines().next().unwrap().into()
            }
        };
        assert_eq!(
            derive_of("Point"),
            "#[derive(::cuda_safe::bytemuck::Pod, ::cuda_safe::bytemuck::Zeroable)]"
        );
        assert_eq!(derive_of("Gap"), "#[derive(::cuda_safe::bytemuck::AnyBitPattern)]");
        assert_eq!(derive_of("View"), "");
        // It has a destructor.
        assert_eq!(derive_of("Owner"), "");
        assert!(!text.contains("ByValue for Owner"), "{text}");
    }

    #[test]
    fn the_text_is_rust() {
        syn::parse_file(&generate(BINDINGS).unwrap()).unwrap();
        syn::parse_file(&generate("").unwrap()).unwrap();
    }

    #[test]
    fn a_broken_input_is_an_error() {
        assert!(matches!(generate("pub fn ("), Err(Error::Header(_))));
    }

    /// Generates a file with two variables and three kernels, and a kernel in another file.
    fn with_variables(comment: &str) -> Result<String, Error> {
        let text = format!(
            r#"unsafe extern "C" {{ pub static mut filter: [f32; 9usize]; }}
               pub const count: ::core::ffi::c_uint = 0;
               unsafe extern "C" {{
                   pub fn unsaid(n: u32) -> !;
                   #[doc = {comment:?}]
                   pub fn said() -> !;
                   pub fn elsewhere() -> !;
               }}"#
        );
        let variable = |name: &str, space| Declared {
            name: name.to_owned(),
            path: format!("::{name}"),
            mangled: name.to_owned(),
            space,
            file: PathBuf::from("/k.cuh"),
            is_named: true,
        };
        let variables = vec![variable("filter", Space::Constant), variable("count", Space::Device)];
        let kernels = ["unsaid", "said"].map(|name| (name.to_owned(), 0)).into();
        let placement = Placement { units: vec![vec![0, 1]], kernels, ..Placement::default() };
        super::generate(&contents(&text, variables)?, &placement)
    }

    #[test]
    fn a_variable_becomes_a_static_with_its_bytes_in_the_books_of_its_file() {
        let text = with_variables(" Nothing to say.").unwrap();
        for expected in [
            "Module::new(\n    0 + (9usize) * ::core::mem::size_of::<f32>(),\n    0 + (1) * \
             ::core::mem::size_of::<u32>(),\n    0,\n)",
            "pub static filter: ::cuda_safe::launch::Symbol<f32> =",
            "fn cuda_symbol_filter() -> *const ::core::ffi::c_void;",
            "from_parts(\"filter\", cuda_symbol_filter, &MODULE_0, \
             ::cuda_safe::launch::Space::Constant, 0, 9usize)",
            "pub static count: ::cuda_safe::launch::Symbol<u32> =",
            "::cuda_safe::launch::Space::Device, 0, 1)",
        ] {
            assert!(text.contains(expected), "{expected} is not in {text}");
        }
        assert!(!text.contains("pub const count"), "{text}");
        syn::parse_file(&text).unwrap();
    }

    #[test]
    fn a_kernel_uses_all_variables_of_its_file_unless_its_comment_says_otherwise() {
        let text = with_variables(" @reads filter\n @writes count").unwrap();
        assert!(
            text.contains("VariableAccesses = ::cuda_safe::launch::VariableAccesses::all(&MODULE_0);"),
            "{text}"
        );
        assert!(
            text.contains("VariableAccesses::new(&MODULE_0, &[filter.read(), count.written()]);"),
            "{text}"
        );
        assert!(text.contains("Kernel::from_stub(\"elsewhere\", stub) }"), "{text}");
        assert!(with_variables("@reads nothing").unwrap().contains("Kernel::from_stub(\"said\", stub) }"));
    }

    #[test]
    fn a_comment_names_variables_as_the_kernel_sees_them() {
        let seen: Vec<String> = seen_from("outer_inner_kernel", "table").collect();
        assert_eq!(seen, ["outer_inner_table", "outer_table", "table"]);
    }

    #[test]
    fn what_a_kernel_cannot_use_is_refused_by_name() {
        let refused = |comment: &str| with_variables(comment).unwrap_err().to_string();
        let error = refused("@reads filter, fliter");
        assert!(error.contains("kernel `said`") && error.contains("`fliter`"), "{error}");
        let error = refused("@writes filter");
        assert!(error.contains("`filter`") && error.contains("__constant__"), "{error}");
    }
}
