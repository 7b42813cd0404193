//! The types of bindgen's text as the handles name them.

use quote::ToTokens;
use syn::{PointerMutability, Type};

/// Returns the type as text. Replaces C's names by the Rust types that they are in the compiled code.
pub(crate) fn spell(ty: &Type) -> String {
    if let Type::Ptr(pointer) = ty {
        let kind = match pointer.mutability {
            PointerMutability::Mut(_) => "*mut",
            PointerMutability::Const(_) => "*const",
        };
        return format!("{kind} {}", spell(&pointer.elem));
    }
    let plain = match c_number(ty).as_deref() {
        Some("c_schar") => "i8",
        Some("c_uchar") => "u8",
        Some("c_short") => "i16",
        Some("c_ushort") => "u16",
        Some("c_int") => "i32",
        Some("c_uint") => "u32",
        // `long` is that of Linux, where nvcc compiles: for Windows the code is the same.
        Some("c_longlong" | "c_long") => "i64",
        Some("c_ulonglong" | "c_ulong") => "u64",
        Some("c_float") => "f32",
        Some("c_double") => "f64",
        _ => return ty.to_token_stream().to_string(),
    };
    plain.to_owned()
}

/// Returns the name of one of C's numbers, such as `c_int`. A program may have a type of this name.
pub(crate) fn c_number(ty: &Type) -> Option<String> {
    let Type::Path(path) = ty else { return None };
    let is_whole = path.path.leading_colon.is_some() && path.path.segments.iter().any(|it| it.ident == "ffi");
    last_segment(ty).filter(|_| is_whole)
}

/// Returns the last name of a path.
pub(crate) fn last_segment(ty: &Type) -> Option<String> {
    let Type::Path(path) = ty else { return None };
    path.path.segments.last().map(|segment| segment.ident.to_string())
}
