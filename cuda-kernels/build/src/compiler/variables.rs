//! The variables of the headers, and the uses of variables by kernels.

use std::fmt::Write as _;

use crate::Error;
use crate::compiler::declared::Space;
use crate::compiler::placement::{Contents, Placement};
use crate::compiler::prototype::Prototype;
use crate::compiler::symbol::{self, Symbol, VariableAccesses};
use crate::compiler::text::documented;

/// Writes the variables of one source file: the access history that they share, and a handle for each.
pub(crate) fn module(
    text: &mut String,
    at: usize,
    symbols: &[&Symbol],
    placement: &Placement,
) -> Result<(), Error> {
    const SPACES: [(Space, &str); 3] =
        [(Space::Constant, "Constant"), (Space::Device, "Device"), (Space::Managed, "Managed")];
    let mut sizes = Vec::new();
    let mut handles = String::new();
    for (space, spelled) in SPACES {
        let mut start = "0".to_owned();
        for symbol in symbols.iter().filter(|symbol| symbol.declared.space == space) {
            let accessor = placement.accessor(symbol)?;
            variable(&mut handles, at, symbol, (spelled, &start), &accessor);
            let end = format!("__END_{at}_{}", symbol.name);
            let _ = writeln!(handles, "const {end}: usize = {start} + {};", symbol.bytes());
            start = end;
        }
        sizes.push(start);
    }
    let [constants, variables, managed] = sizes.as_slice() else { return Ok(()) };
    let _ = write!(
        text,
        "static __MODULE_{at}: ::cuda_safe::launch::Module = ::cuda_safe::launch::Module::new(\n    \
         {constants},\n    {variables},\n    {managed},\n);\n{handles}"
    );
    Ok(())
}

/// Writes the handle of one variable, whose bytes begin at `start` in the access history of its memory
/// space.
fn variable(text: &mut String, module: usize, symbol: &Symbol, (space, start): (&str, &str), function: &str) {
    let Symbol { declared, name, element, len, docs } = symbol;
    documented(text, docs);
    let word = match declared.space {
        Space::Device => "__device__",
        Space::Constant => "__constant__",
        Space::Managed => "__managed__",
    };
    let gap = if docs.is_empty() { "" } else { "\n\n" };
    documented(text, &[format!("{gap} A `{word}` variable: {len} of `{element}`.")]);
    let _ = write!(
        text,
        "pub static {name}: ::cuda_safe::launch::Symbol<{element}> = {{\n    \
         {function}\n    \
         // SAFETY: the function names this variable, which has the type that the header declares, and \
         these are its bytes in its module's access histories.\n    \
         unsafe {{ ::cuda_safe::launch::Symbol::from_parts({cpp:?}, {accessor}, &self::__MODULE_{module}, \
         ::cuda_safe::launch::Space::{space}, {start}, {len}) }}\n}};\n",
        cpp = declared.name,
        accessor = symbol.accessor(),
    );
}

/// Returns the uses of variables by a kernel, as Rust text. Returns `None` if the kernel's file has no
/// variables.
pub(crate) fn uses(
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
        return Ok(Some(format!("::cuda_safe::launch::VariableAccesses::all(&self::__MODULE_{module})")));
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
        spelled.push(format!("self::{}.{}()", symbol.name, if writes { "written" } else { "read" }));
    }
    Ok(Some(format!(
        "::cuda_safe::launch::VariableAccesses::new(&self::__MODULE_{module}, &[{}])",
        spelled.join(", ")
    )))
}

/// Returns the full names that a name in a kernel's comment may mean: in the kernel's namespace, the
/// enclosing ones, and the global one.
pub(crate) fn seen_from(kernel: &str, name: &str) -> impl Iterator<Item = String> {
    let inner = kernel.rmatch_indices('_').map(move |(at, _)| format!("{}_{name}", &kernel[..at]));
    inner.chain([name.to_owned()])
}
