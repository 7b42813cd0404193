//! The handle of a kernel, with what proofs of its launches need.

use std::fmt::Write as _;

use crate::Error;
use crate::compiler::contract::{self, Kind};
use crate::compiler::layout::{Layouts, Plain};
use crate::compiler::placement::{Contents, Placement};
use crate::compiler::prototype::Prototype;
use crate::compiler::slices::{Proof, Slices};
use crate::compiler::spelling;
use crate::compiler::symbol::VariableAccesses;
use crate::compiler::text::documented;
use crate::compiler::variables::seen_from;

pub(crate) fn handle(
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
    let gap = if docs.is_empty() { "" } else { "\n\n" };
    documented(text, &[format!("{gap} Parameters: `({signature})`.")]);
    let mut types = parameters.join(", ");
    if parameters.len() == 1 {
        types.push(',');
    }
    let (uses, with_symbols) = match uses {
        None => (String::new(), ""),
        Some(uses) => (
            format!("static __USES: ::cuda_safe::launch::VariableAccesses = {uses};\n    "),
            ".with_symbols(&__USES)",
        ),
    };
    let plain = format!(
        "::cuda_safe::launch::Kernel::{code}{with_symbols}\n        .with_parameter_names(&{names:?})"
    );
    let (kind, proof, made) = match proof {
        None => ("Kernel", String::new(), plain),
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
                    "// SAFETY: the kernel's author says so, by `@unsafe_contract`.\n        \
                     unsafe {{ {made}.with_contract(&[{clauses}]) }}"
                );
            }
            let made = format!("static __PROOF: ::cuda_safe::launch::KernelProof =\n        {made};\n    ");
            let slices = "// The slices are those of each PTX that nvcc made of this kernel.\n    ";
            let checked = format!("::cuda_safe::launch::Checked::new({plain}, &__PROOF)");
            ("Checked", made + slices, checked)
        }
    };
    text.push_str(&format!(
        "pub static {name}: ::cuda_safe::launch::{kind}<({types})> = {{\n    \
         {stub}{uses}{proof}\
         // SAFETY: the code that nvcc made for this kernel, with the parameter types of its prototype.\n    \
         unsafe {{ {made} }}\n}};\n"
    ));
}

/// Writes the check that a kernel's parameters have the sizes that its compiled code reads.
pub(crate) fn same_sizes(text: &mut String, kernel: &Prototype, sizes: &[u64]) {
    let own = kernel.parameters.iter().map(|parameter| format!("::core::mem::size_of::<{parameter}>()"));
    let own: Vec<_> = own.collect();
    let _ = writeln!(
        text,
        "const _: () = assert!(\n    matches!(&[{}] as &[usize], {sizes:?}),\n    \
         \"kernel `{}`: nvcc compiles its parameters with other sizes than \
         its prototype has without nvcc: does a type depend on __CUDACC__?\"\n);",
        own.join(", "),
        kernel.name
    );
}

/// Returns what the handle of a kernel has for proofs of launches, or `None` if its parameters are of types
/// that no proof is about.
pub(crate) fn proof(
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
pub(crate) fn with_contract(
    kernel: &Prototype,
    layouts: &Layouts<'_>,
    proof: Option<Proof>,
) -> Result<Option<Proof>, Error> {
    let kind = |parameter: &String| {
        let meant = layouts.alias(parameter).map(spelling::spell).unwrap_or_else(|| parameter.clone());
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
    let is_number = |name: &str| {
        name == ":: core :: ffi :: c_char"
            || NUMBERS.split(' ').any(|number| !name.is_empty() && number == name)
    };
    let meant = |name: &str| match layouts.alias(name).map(spelling::spell) {
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
