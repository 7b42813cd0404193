//! Structs that stand for instances of class templates among the parameters of kernels.
//!
//! The prototype of a kernel does not make an instance complete, so that bindgen does not know its size, and
//! parameters of the template that are no types have no counterpart in what bindgen generates. For each such
//! instance this module makes a plain struct with the same fields, or, if a field cannot be named, one with
//! the same size and alignment.

use std::collections::BTreeMap;

use crate::Error;
use crate::compiler::agree::Facts;
use crate::compiler::clang::{Cursor, KERNEL, Part, Type, TypeKind, Unit};

/// The namespace of the structs that make instances complete.
const NAMESPACE: &str = "cuda_kernels_build_instances";

/// The instances among the parameters of kernels, by the compiler's own spelling.
pub(crate) type Instances = BTreeMap<String, Instance>;

/// An instance of a class template.
#[derive(Debug, Default)]
pub(crate) struct Instance {
    /// The name of the struct: `Tensor<float, 2>` is `Tensor_float_2`.
    pub(crate) name: String,
    /// The definition of the struct, after those of the instances that it contains.
    pub(crate) definition: String,
    /// The qualified name, once a file has the definition.
    pub(crate) placed: Option<String>,
}

/// A parameter's type: pointers to pointers, and so on, to an instance.
#[derive(Debug)]
pub(crate) struct Shape {
    /// The compiler's own spelling of the instance.
    pub(crate) instance: String,
    /// The name that the struct gets.
    name: String,
    is_const: bool,
    /// Whether each pointer is `const`, from the instance outwards.
    pointers: Vec<bool>,
}

impl Shape {
    /// Returns the shape of a type. Returns `None` if no class template made the type.
    pub(crate) fn of(ty: Type<'_>) -> Option<Self> {
        let (mut inner, mut written, mut pointers) = (ty.canonical(), ty, Vec::new());
        while inner.kind() == TypeKind::Pointer {
            pointers.insert(0, inner.is_const());
            inner = inner.pointee();
            written = written.pointee();
        }
        let instance = unqualified(&inner.spelling());
        // An instance, or a member of one.
        if inner.kind() != TypeKind::Record || !instance.contains('<') || instance.contains(['(', '\'']) {
            return None;
        }
        let written = unqualified(&written.spelling());
        let name = spelled(if written.contains('<') { &written } else { &instance });
        Some(Self { instance, name, is_const: inner.is_const(), pointers })
    }

    /// Declares a parameter with the number, struct or enum that a template names, or a pointer to one.
    /// Returns `None` if no template is in the type's name.
    pub(crate) fn declare_named(ty: Type<'_>, parameter: &str) -> Option<String> {
        let mut inner = ty.canonical();
        while inner.kind() == TypeKind::Pointer {
            inner = inner.pointee();
        }
        let is_plain = inner.kind() == TypeKind::Number || inner.is_named();
        (is_plain && is_named_by_template(ty)).then(|| format!("{} {parameter}", ty.canonical().spelling()))
    }

    /// Returns the shape of a field, of a base or of a variable: an instance by value, or an array of such.
    pub(crate) fn of_part(part: Cursor<'_>) -> Option<Self> {
        let mut ty = part.declared_type();
        while let Some((element, _)) = ty.canonical().element() {
            ty = element;
        }
        Self::of(ty).filter(Self::is_by_value)
    }

    pub(crate) fn is_by_value(&self) -> bool {
        self.pointers.is_empty()
    }

    /// Declares a parameter of this shape, with the struct of this name for the instance.
    pub(crate) fn declare(&self, qualified: &str, parameter: &str) -> String {
        let mut text = format!("{}{qualified} ", if self.is_const { "const " } else { "" });
        for is_const in &self.pointers {
            text.push_str(if *is_const { "*const " } else { "*" });
        }
        text + parameter
    }
}

/// Returns whether a template is in the name of a type, or in that of the type that it stands for.
fn is_named_by_template(ty: Type<'_>) -> bool {
    if ty.spelling().contains('<') {
        return true;
    }
    let target = ty.pointee();
    if ty.kind() == TypeKind::Pointer {
        return is_named_by_template(target);
    }
    let declaration = ty.declaration();
    declaration.part() == Part::Alias && is_named_by_template(declaration.aliased_type())
}

/// Finds the instances among the parameters of kernels and in what structs and variables consist of, and
/// makes their structs. `parse` reads the files with a text after them. Also adds what nvcc has to agree
/// with.
pub(crate) fn find(
    unit: &Unit,
    facts: &mut Facts,
    parse: impl FnOnce(&str) -> Result<Unit, Error>,
) -> Result<Instances, Error> {
    let mut shapes = Vec::new();
    shapes_below(unit.root(), &mut shapes);
    if shapes.is_empty() {
        return Ok(Instances::new());
    }
    let mut complete = format!("namespace {NAMESPACE} {{\n");
    for (at, shape) in shapes.iter().enumerate() {
        complete.push_str(&format!("struct __i{at} {{ {} __it; }};\n", shape.instance));
    }
    complete.push_str("}\n");
    let unit = parse(&complete)?;
    let mut instances = Instances::new();
    let inside = unit.root().children().into_iter().filter(|cursor| cursor.name() == NAMESPACE);
    for structure in inside.flat_map(Cursor::children) {
        let at = structure.name().strip_prefix("__i").and_then(|at| at.parse::<usize>().ok());
        let Some(shape) = at.and_then(|at| shapes.get(at)) else { continue };
        // `Part<-1>` and `Part<1>` are spelled the same.
        let mut name = shape.name.clone();
        while instances.values().any(|other| other.name == name) {
            name.push('_');
        }
        for field in structure.declared_type().fields() {
            let ty = field.declared_type().canonical();
            if let Some((file, _)) = ty.declaration().place() {
                facts.ty(ty, &file)?;
            }
            if !instances.contains_key(&shape.instance)
                && let Some(definition) = define(&name, ty)
            {
                let instance = Instance { name: name.clone(), definition, placed: None };
                instances.insert(shape.instance.clone(), instance);
            }
        }
    }
    Ok(instances)
}

fn shapes_below(cursor: Cursor<'_>, shapes: &mut Vec<Shape>) {
    for child in cursor.children().into_iter().filter(|child| !child.is_system()) {
        match child.part() {
            Part::Namespace | Part::Transparent => shapes_below(child, shapes),
            Part::Function if child.words().iter().any(|word| word == KERNEL) => {
                shapes.extend(
                    child.arguments().into_iter().filter_map(|argument| Shape::of(argument.declared_type())),
                );
            }
            Part::Record => shapes.extend(parts(child).into_iter().filter_map(Shape::of_part)),
            Part::Variable if !child.words().is_empty() => shapes.extend(Shape::of_part(child)),
            _ => {}
        }
    }
}

/// Returns the fields and bases of a struct, and of those that it declares, unless it is a template.
pub(crate) fn parts(record: Cursor<'_>) -> Vec<Cursor<'_>> {
    let ty = record.declared_type();
    if ty.spelling().contains('<') {
        return Vec::new();
    }
    let inner = record.children().into_iter().filter(|child| child.part() == Part::Record);
    let inner: Vec<_> = inner.flat_map(parts).collect();
    [ty.fields(), record.bases(), inner].concat()
}

/// Defines a struct with the fields of a type, or with its size and alignment. Returns `None` if these are
/// unknown.
fn define(name: &str, ty: Type<'_>) -> Option<String> {
    let (size, align) = ty.layout()?;
    // As a base it takes no room.
    if ty.is_empty() && align == 1 {
        return Some(format!("struct {name} {{}}; "));
    }
    let fields = fields(ty, size, align);
    let fields = fields.unwrap_or_else(|| format!("alignas({align}) unsigned char bytes[{size}];"));
    Some(format!("struct {name} {{ {fields} }}; "))
}

/// Declares the fields of a type. Returns `None` if they cannot be named, or are not all that it has.
fn fields(ty: Type<'_>, size: u64, align: u64) -> Option<String> {
    let (mut text, mut end, mut largest) = (String::new(), 0_u64, 1);
    for field in ty.fields() {
        let (field_size, field_align) = field.declared_type().layout()?;
        let offset = end.next_multiple_of(field_align);
        if field.offset()? != offset {
            return None;
        }
        (end, largest) = (offset.checked_add(field_size)?, largest.max(field_align));
        text.push_str(&declare(field.declared_type().canonical(), &field.name())?);
        text.push_str("; ");
    }
    (end.next_multiple_of(largest) == size && largest == align && !text.is_empty()).then_some(text)
}

/// Declares one field. One whose type has no name outside of its class becomes bytes.
fn declare(ty: Type<'_>, name: &str) -> Option<String> {
    if name.is_empty() {
        return None;
    }
    let (mut element, mut lengths) = (ty, String::new());
    while let Some((inner, length)) = element.element() {
        lengths.push_str(&format!("[{length}]"));
        element = inner.canonical();
    }
    let spelled = match element.kind() {
        TypeKind::Number => Some(unqualified(&element.spelling())),
        TypeKind::Pointer => {
            let target = element.pointee();
            let is_number = target.kind() == TypeKind::Number;
            Some(if is_number { format!("{} *", target.spelling()) } else { "void *".to_owned() })
        }
        TypeKind::Record if element.is_named() => Some(unqualified(&element.spelling())),
        TypeKind::Record | TypeKind::Enum | TypeKind::Other => None,
    };
    Some(match spelled {
        Some(spelled) => format!("{spelled} {name}{lengths}"),
        None => {
            let (size, align) = ty.layout()?;
            format!("alignas({align}) unsigned char {name}[{size}]")
        }
    })
}

/// Leaves out `const` and `volatile`.
fn unqualified(spelling: &str) -> String {
    let words = spelling.trim_start_matches("const ").trim_start_matches("volatile ");
    words.trim_start_matches("struct ").trim_start_matches("class ").to_owned()
}

/// Joins the words of a C++ name by `_`.
pub(crate) fn spelled(name: &str) -> String {
    let words = name.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_")
}
