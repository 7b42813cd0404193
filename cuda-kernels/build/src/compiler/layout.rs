//! Decides which of the generated structs may be elements of buffers: those of plain numbers. It also
//! detects padding.

use std::collections::HashMap;

use syn::{Expr, Fields, Item, ItemStruct, Lit, Type};

use crate::compiler::spelling;

/// The size and alignment of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    size: u64,
    align: u64,
    /// Whether bytes belong to no field.
    padded: bool,
}

/// The traits that a struct may derive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plain {
    /// Only numbers, without padding.
    Pod,
    /// Only numbers, with padding between or after them.
    Padded,
    /// Pointers, unions, bit fields, or unknown types: passed by value, never stored in buffers.
    No,
}

/// The types of one generated file, by name.
#[derive(Default)]
pub(crate) struct Layouts<'a> {
    structs: HashMap<String, &'a ItemStruct>,
    aliases: HashMap<String, &'a Type>,
}

impl<'a> Layouts<'a> {
    pub(crate) fn of(items: &'a [Item]) -> Self {
        let mut layouts = Self::default();
        for item in items {
            match item {
                Item::Struct(item) => drop(layouts.structs.insert(item.ident.to_string(), item)),
                Item::Type(item) => drop(layouts.aliases.insert(item.ident.to_string(), &item.ty)),
                _ => {}
            }
        }
        layouts
    }

    /// Returns the type that a name stands for.
    pub(crate) fn alias(&self, name: &str) -> Option<&'a Type> {
        self.aliases.get(name).copied()
    }

    /// Returns the traits that the struct of this name may derive.
    pub(crate) fn plain(&self, name: &str) -> Plain {
        match self.structs.get(name).and_then(|item| self.of_struct(item, 0)) {
            Some(layout) if layout.size == 0 => Plain::No,
            Some(layout) if layout.padded => Plain::Padded,
            Some(_) => Plain::Pod,
            None => Plain::No,
        }
    }

    /// Returns whether a struct is of numbers, with padding that is not inside of a field.
    pub(crate) fn has_solid_fields(&self, name: &str) -> bool {
        let is_solid = |ty: &Type| self.of_type(ty, 1).is_some_and(|layout| !layout.padded);
        self.plain(name) == Plain::Padded
            && self.structs.get(name).is_some_and(|item| {
                matches!(item.fields, Fields::Named(_)) && item.fields.iter().all(|it| is_solid(&it.ty))
            })
    }

    fn of_struct(&self, item: &ItemStruct, depth: u32) -> Option<Layout> {
        let mut forced = 1;
        let mut transparent = false;
        for attribute in item.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
            attribute
                .parse_nested_meta(|meta| {
                    if meta.path.is_ident("transparent") {
                        transparent = true;
                    } else if meta.path.is_ident("align") {
                        let inside;
                        syn::parenthesized!(inside in meta.input);
                        forced = inside.parse::<syn::LitInt>()?.base10_parse()?;
                    } else if !meta.path.is_ident("C") {
                        return Err(meta.error("packed, or something new"));
                    }
                    Ok(())
                })
                .ok()?;
        }
        let fields = match &item.fields {
            Fields::Named(fields) => &fields.named,
            Fields::Unnamed(fields) if transparent => &fields.unnamed,
            _ => return None,
        };
        let mut whole = Layout { size: 0, align: forced, padded: false };
        for field in fields {
            // nvcc does not say where its second base is.
            if field.ident.as_ref().is_some_and(|name| name == "_base_1") {
                return None;
            }
            let field = self.of_type(&field.ty, depth + 1)?;
            let start = whole.size.next_multiple_of(field.align);
            whole.padded |= field.padded || start != whole.size;
            whole.size = start.checked_add(field.size)?;
            whole.align = whole.align.max(field.align);
        }
        let size = whole.size.next_multiple_of(whole.align);
        whole.padded |= size != whole.size;
        Some(Layout { size, ..whole })
    }

    fn of_type(&self, ty: &Type, depth: u32) -> Option<Layout> {
        if depth > 32 {
            return None;
        }
        match ty {
            Type::Array(array) => {
                let Expr::Lit(length) = &array.len else { return None };
                let Lit::Int(length) = &length.lit else { return None };
                let length: u64 = length.base10_parse().ok().filter(|length| *length > 0)?;
                let element = self.of_type(&array.elem, depth + 1)?;
                Some(Layout { size: element.size.checked_mul(length)?, ..element })
            }
            Type::Path(path) => {
                let name = path.path.segments.last()?.ident.to_string();
                if let Some(number) = number(&spelling::spell(ty)) {
                    return Some(number);
                }
                if let Some(item) = self.structs.get(&name) {
                    return self.of_struct(item, depth);
                }
                self.of_type(self.aliases.get(&name)?, depth + 1)
            }
            _ => None,
        }
    }
}

/// Returns the layout of a number type whose size is the same on all platforms of CUDA.
fn number(name: &str) -> Option<Layout> {
    let size = match name {
        "u8" | "i8" | ":: core :: ffi :: c_char" => 1,
        "u16" | "i16" => 2,
        "u32" | "i32" | "f32" => 4,
        "u64" | "i64" | "f64" | "usize" | "isize" => 8,
        _ => return None,
    };
    Some(Layout { size, align: size, padded: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str, name: &str) -> Plain {
        let file = syn::parse_file(text).unwrap();
        Layouts::of(&file.items).plain(name)
    }

    #[test]
    fn numbers_without_gaps_are_pod() {
        assert_eq!(plain("#[repr(C)] pub struct P { x: f32, y: f32, z: f32 }", "P"), Plain::Pod);
        assert_eq!(plain("#[repr(C)] #[repr(align(16))] pub struct F { x: [f32; 4usize] }", "F"), Plain::Pod);
    }

    #[test]
    fn structs_of_structs_and_aliases_are_followed() {
        let text = "pub type real = f64; #[repr(C)] pub struct A { x: real } #[repr(C)] pub struct B { a: \
                    [A; 3], n: u64 }";
        assert_eq!(plain(text, "B"), Plain::Pod);
    }

    #[test]
    fn gaps_are_seen_between_and_behind_fields_and_inside_of_them() {
        assert_eq!(plain("#[repr(C)] pub struct G { a: u8, b: u32 }", "G"), Plain::Padded);
        assert_eq!(plain("#[repr(C)] pub struct G { b: u32, a: u8 }", "G"), Plain::Padded);
        assert_eq!(plain("#[repr(C, align(16))] pub struct G { a: f32 }", "G"), Plain::Padded);
        let nested = "#[repr(C)] pub struct G { b: u32, a: u8 } #[repr(C)] pub struct H { g: [G; 2] }";
        assert_eq!(plain(nested, "H"), Plain::Padded);
    }

    #[test]
    fn fields_are_solid_if_the_padding_is_between_them() {
        let text = "#[repr(C)] pub struct A { a: u8, b: [u32; 2] } #[repr(C)] pub struct B { a: A, b: u32 } \
                    #[repr(C)] pub struct C { a: u32 } #[repr(C)] pub struct D { c: C, e: u8 }";
        let file = syn::parse_file(text).unwrap();
        let layouts = Layouts::of(&file.items);
        let solid = ["A", "B", "C", "D", "E"].map(|name| layouts.has_solid_fields(name));
        assert_eq!(solid, [true, false, false, true, false]);
    }

    #[test]
    fn what_is_not_a_number_is_not_plain() {
        assert_eq!(plain("#[repr(C)] pub struct N { p: *mut f32 }", "N"), Plain::No);
        assert_eq!(plain("#[repr(C)] pub struct N { b: bool }", "N"), Plain::No);
        assert_eq!(plain("#[repr(C, packed)] pub struct N { b: u8, c: u32 }", "N"), Plain::No);
        assert_eq!(plain("#[repr(C)] pub struct N { u: Unheard }", "N"), Plain::No);
        assert_eq!(plain("#[repr(C)] pub struct N {}", "N"), Plain::No);
        let bases = "#[repr(C)] pub struct A { a: u32 } #[repr(C)] pub struct N { _base: A, _base_1: A }";
        assert_eq!((plain(bases, "A"), plain(bases, "N")), (Plain::Pod, Plain::No));
        assert_eq!(plain("pub type a = b; pub type b = a; #[repr(C)] pub struct N { a: a }", "N"), Plain::No);
    }

    #[test]
    fn a_transparent_wrapper_is_what_it_wraps() {
        assert_eq!(
            plain("#[repr(transparent)] pub struct Mode(pub ::core::ffi::c_uint);", "Mode"),
            Plain::Pod
        );
    }
}
