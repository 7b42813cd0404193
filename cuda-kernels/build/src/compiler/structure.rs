//! The structures of the headers, as arguments of kernels and as elements of memory.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use quote::ToTokens as _;
use syn::punctuated::Punctuated;
use syn::{Item, ItemStruct, Token};

use crate::Error;
use crate::compiler::layout::{Layouts, Plain};
use crate::compiler::prototype;
use crate::compiler::spelling;
use crate::compiler::text::line;

/// Returns the structs that kernels take by value, and those that these contain. C++ copies an argument as
/// bytes, even if its class has a destructor.
pub(crate) fn passed_by_value(items: &[Item], layouts: &Layouts<'_>) -> Result<BTreeSet<String>, Error> {
    let mut open = Vec::new();
    for item in items {
        if let Item::ForeignMod(block) = item {
            open.extend(prototype::kernels(block, layouts)?.into_iter().flat_map(|kernel| kernel.parameters));
        }
    }
    let mut passed = BTreeSet::new();
    while let Some(name) = open.pop() {
        open.extend(layouts.alias(&name).map(spelling::spell));
        let structs = items.iter().filter_map(|item| match item {
            Item::Struct(item) if item.ident == name && item.generics.params.is_empty() => Some(item),
            _ => None,
        });
        for item in structs.filter(|_| passed.insert(name.clone())) {
            let fields = item.fields.iter().map(|field| match &field.ty {
                syn::Type::Array(array) => spelling::spell(&array.elem),
                other => spelling::spell(other),
            });
            open.extend(fields);
        }
    }
    Ok(passed)
}

pub(crate) fn structure(text: &mut String, item: &ItemStruct, plain: Plain, has_solid_fields: bool) {
    if !is_copy(item) {
        return line(text, item);
    }
    if plain == Plain::Pod {
        text.push_str(
            "#[derive(::cuda_safe::bytemuck::Pod, ::cuda_safe::bytemuck::Zeroable)]\n\
             #[bytemuck(crate = \"::cuda_safe::bytemuck\")]\n",
        );
    }
    line(text, item);
    if plain == Plain::Padded {
        // Not derived: the derive refuses an array of structs with padding.
        for name in ["Zeroable", "AnyBitPattern"] {
            let _ = writeln!(
                text,
                "// SAFETY: only numbers, with padding.\n\
                 unsafe impl ::cuda_safe::bytemuck::{name} for {} {{}}",
                item.ident
            );
        }
    }
    by_value(text, &item.ident.to_string(), item.generics.params.is_empty());
    if (plain == Plain::Pod || has_solid_fields) && item.generics.params.is_empty() {
        let name = &item.ident;
        let mut fields = String::new();
        if has_solid_fields {
            fields.push_str(
                "\n    const FIELDS: ::core::option::Option<&'static [(usize, usize)]> = \
                 ::core::option::Option::Some(&[\n",
            );
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
    let mut fields = item.fields.iter().map(|field| spelling::spell(&field.ty));
    let first = fields.next()?;
    fields.all(|field| field == first).then_some(first)
}

/// Makes pitched memory an argument for CUDA's structure for pitched memory.
const PITCHED: &str = "// SAFETY: as the fields are named.
unsafe impl ::cuda_safe::launch::PitchedParameter for cudaPitchedPtr {
    fn new(__ptr: *mut ::core::ffi::c_void, __pitch: usize, __xsize: usize, __ysize: usize) -> Self {
        Self { ptr: __ptr, pitch: __pitch, xsize: __xsize, ysize: __ysize }
    }
}
// SAFETY: four fields of eight bytes, of which the first is the address.
unsafe impl ::cuda_safe::launch::CheckedParameter for cudaPitchedPtr {
    const POINTERS: &'static [u64] = &[0];
    const WRITES: bool = true;
}
";

/// Returns whether a struct can be copied as bytes. bindgen derives `Copy` except for one with a destructor.
pub(crate) fn is_copy(item: &ItemStruct) -> bool {
    let derives = item.attrs.iter().filter(|attribute| attribute.path().is_ident("derive"));
    let traits = derives.filter_map(|derive| {
        derive.parse_args_with(Punctuated::<syn::Path, Token![,]>::parse_terminated).ok()
    });
    traits.flatten().any(|name| name.is_ident("Copy"))
}

/// Makes a type of the header a kernel argument by value.
pub(crate) fn by_value(text: &mut String, name: &str, concrete: bool) {
    if concrete {
        text.push_str(
            "// SAFETY: C's layout, as bindgen's checks assert, and the very type of the prototype.\n",
        );
        text.push_str(&format!("unsafe impl ::cuda_safe::launch::ByValue for {name} {{}}\n"));
    }
}
