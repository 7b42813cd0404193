//! What is written around functions: a text is refused if a directive is not known to leave a proof as it is,
//! and the clusters that a kernel declares.

use cuda_ptx::directive::{ATTRIBUTES, HEADER, PRAGMAS, is_in};
use cuda_ptx::{Directive, Function, Item, Module, Space, SyntaxError};

use crate::ir::Clusters;

type Checked<T = ()> = Result<T, SyntaxError>;

fn error<T>(line: u32, message: &str) -> Checked<T> {
    Err(SyntaxError { line, message: message.to_owned() })
}

/// Returns the architecture of a target: 90 of `sm_90`, `sm_90a` and `sm_90f`.
fn architecture(target: &str) -> Option<i32> {
    let number = target.strip_prefix("sm_")?;
    number.strip_suffix(['a', 'f']).unwrap_or(number).parse().ok()
}

/// Checks what is outside of the functions' bodies. Returns the architecture that the text is for.
pub(super) fn check(module: &Module<'_>) -> Checked<i32> {
    // The memory model on which proofs rest, and no forms of older versions.
    if module.version.is_none_or(|(major, _)| major < 6) {
        return error(1, "expected version 6.0 or later");
    }
    // Other words change what instructions mean: `map_f64_to_f32`, `texmode_independent`.
    let (target, options) = module.target.split_first().unzip();
    let Some(architecture) = target.and_then(|it| architecture(it)) else {
        return error(1, "expected `.target` with an architecture such as sm_90");
    };
    if options.is_some_and(|options| options.iter().any(|it| *it != "debug")) {
        return error(1, "expected no option of `.target` but `debug`");
    }
    if module.address_size != Some(64) {
        return error(1, "expected `.address_size 64`");
    }
    for item in &module.items {
        match item {
            Item::Section(name, _) if !name.starts_with("debug_") => {
                return error(1, &format!("expected a section of a debugger, found .{name}"));
            }
            Item::Directive(it) if !is_known_pragma(it) => {
                return error(it.line, "expected the pragma \"nounroll\"");
            }
            Item::Variable(index) => {
                let it = &module.variables[*index];
                if !matches!(it.space, Space::Global | Space::Const | Space::Shared) {
                    return error(it.line, &format!("expected no variable in .{} here", it.space.word()));
                }
                attributes(&it.attributes)?;
            }
            _ => {}
        }
    }
    for function in &module.functions {
        attributes(&function.attributes)?;
        clusters(function)?;
        let mut variables = function.results.iter().chain(&function.parameters);
        if let Some(it) = variables.find(|it| it.space != Space::Param) {
            return error(it.line, "expected parameters in .param");
        }
        if let Some(body) = &function.body {
            body.variables.iter().try_for_each(|it| attributes(&it.attributes))?;
        }
    }
    Ok(architecture)
}

/// Returns whether a pragma leaves what code does.
pub(super) fn is_known_pragma(it: &Directive<'_>) -> bool {
    it.texts.iter().all(|text| is_in(PRAGMAS, text))
}

fn attributes(list: &[Directive<'_>]) -> Checked {
    match list.iter().find(|it| !is_in(ATTRIBUTES, it.name)) {
        Some(it) => error(it.line, &format!("expected an attribute that a proof knows, found .{}", it.name)),
        None => Ok(()),
    }
}

/// Checks what is between the parameters of a function and its body. Returns the clusters that it declares.
pub(super) fn clusters(function: &Function<'_>) -> Checked<Option<Clusters>> {
    let (mut threads, mut blocks, mut is_counted) = (None, None, false);
    for it in &function.directives {
        // An attribute is one of these as well.
        if !is_in(HEADER, it.name) && !is_in(ATTRIBUTES, it.name) {
            let words = format!("expected a directive of a function, or its body, found .{}", it.name);
            return error(it.line, &words);
        }
        if function.body.is_some() && it.name == "noreturn" {
            return error(it.line, "expected the body of a function that returns");
        }
        match it.name {
            "blocksareclusters" => is_counted = true,
            "reqntid" => threads = Some(sizes(it)?),
            "reqnctapercluster" => blocks = Some(sizes(it)?),
            _ => {}
        }
    }
    match (blocks, threads) {
        (Some(blocks), Some(_)) if is_counted => Ok(Some(Clusters { blocks, threads })),
        _ if is_counted => {
            error(function.line, "expected `.reqntid` and `.reqnctapercluster` with `.blocksareclusters`")
        }
        (blocks, _) => Ok(blocks.map(|blocks| Clusters { blocks, threads: None })),
    }
}

/// Returns up to three sizes, of which those that are missing are 1.
fn sizes(it: &Directive<'_>) -> Checked<[u32; 3]> {
    let mut sizes = [1; 3];
    for (at, number) in it.numbers.iter().enumerate() {
        match (sizes.get_mut(at), u32::try_from(*number)) {
            (Some(size), Ok(number)) if number > 0 => *size = number,
            _ => return error(it.line, &format!("expected up to three numbers above zero in .{}", it.name)),
        }
    }
    if it.numbers.is_empty() {
        return error(it.line, &format!("expected a number in .{}", it.name));
    }
    Ok(sizes)
}
