//! The types of arguments with pointers that proven launches take: each is tried by the test that compares
//! what launches reach with what belongs to others.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;

use crate::sources::{between, files_of_the_crate, read};

/// The test, and the list in it.
const TRIED: &str = "cuda-kernels/fixtures/tests/launch/own_bytes.rs";

/// Implementations for values without pointers: a macro, or a parameter.
const VALUES: [&str; 5] = ["converted!", "values!", "T", "TextureObject", "SurfaceObject"];

/// The text up to the bracket that closes the first one of it.
fn bracketed(text: &str) -> &str {
    let mut depth = 0;
    let is_end = |(_, c): &(usize, char)| {
        depth += i32::from("([{<".contains(*c)) - i32::from(")]}>".contains(*c));
        depth == 0
    };
    let start = text.find(['(', '[', '{', '<']).unwrap();
    let end = start + text[start..].char_indices().find(is_end).unwrap().0;
    &text[start + 1..end]
}

/// The parts of a list, split at its own commas.
fn parts(list: &str) -> Vec<String> {
    let mut depth = 0;
    let mut parts = vec![String::new()];
    for c in list.chars() {
        depth += i32::from("([{<".contains(c)) - i32::from(")]}>".contains(c));
        match c {
            ',' if depth == 0 => parts.push(String::new()),
            c => parts.last_mut().unwrap().push(c),
        }
    }
    parts.into_iter().map(|part| part.trim().to_owned()).collect()
}

/// A type without its parameters, and `T` for the element of a container.
fn name(of: &str) -> String {
    of.split('<').next().unwrap().replace("C::Element", "T").trim().to_owned()
}

/// The arguments that a source declares, as `*mut T: &mut Buffer`, and as `macro!` where they are values.
fn declared(source: &str) -> Vec<String> {
    // In one line, and without comments.
    let lines = source.split("\nmod tests {").next().unwrap().lines().map(str::trim);
    let code = lines.filter(|line| !line.starts_with("//")).collect::<Vec<_>>().join(" ");
    let mut found = Vec::new();
    for (at, head) in code.match_indices("CheckedArg<") {
        let before = &code[..at];
        let parameter = bracketed(&code[at..]);
        let rest = &code[at + head.len() + parameter.len() + 1..];
        // Not a bound, nor the trait itself.
        let is_header =
            before.rfind("unsafe impl").is_some_and(|start| !before[start..].contains(['{', ':']))
                || before.ends_with("> ") && rest.starts_with(" for ");
        let Some(implementor) = rest.strip_prefix(" for ").filter(|_| is_header) else { continue };
        let implementor = implementor.split(['{']).next().unwrap().split(" where ").next().unwrap().trim();
        if !implementor.starts_with('$') {
            found.push(format!("{}: {}", name(parameter), name(implementor)));
            continue;
        }
        let macro_name = before.rsplit("macro_rules! ").next().unwrap().split(' ').next().unwrap();
        let call = format!("{macro_name}!");
        let calls = code.match_indices(&call).map(|(at, _)| bracketed(&code[at..]));
        let lists: Vec<_> = calls.filter_map(|call| call.split_once(", for ")).collect();
        if lists.is_empty() {
            found.push(call.clone());
        }
        for (before, types) in
            lists.iter().filter(|(_, types)| !types.contains("$(") && !types.contains("$memory"))
        {
            let is_parameter = |part: &String| part.starts_with('*') || part == "P";
            let parameter =
                parts(before).into_iter().find(is_parameter).unwrap_or_else(|| panic!("{before}"));
            found.extend(parts(types).iter().map(|it| format!("{}: {}", name(&parameter), name(it))));
        }
    }
    found
}

#[test]
fn each_type_of_arguments_with_pointers_is_tried() {
    let source = read(TRIED);
    let list = between(&source, "const ARGUMENTS: &[&str] = &[", "];");
    let tried: BTreeSet<_> = list.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    let sources = files_of_the_crate().into_iter().map(|path| std::fs::read_to_string(path).unwrap());
    let all: BTreeSet<_> = sources.flat_map(|source| declared(&source)).collect();
    let is_value = |it: &String| VALUES.contains(&it.split(':').next().unwrap());
    let (values, pointers): (BTreeSet<_>, BTreeSet<_>) = all.into_iter().partition(is_value);
    assert_eq!(values.len(), VALUES.len(), "{values:?}");
    let missing: Vec<_> = pointers.difference(&tried).collect();
    assert!(missing.is_empty(), "{TRIED} does not try these, or VALUES lacks them: {missing:#?}");
    let unknown: Vec<_> = tried.difference(&pointers).collect();
    assert!(unknown.is_empty(), "these are not in the sources: {unknown:#?}");
}

#[test]
fn a_type_of_arguments_is_found_however_it_is_declared() {
    let source = "unsafe impl<T: Plain> CheckedArg<*const T>\n    for Own<T>\nwhere\n    T: Copy,\n{\n}\n\
                  macro_rules! memory {\n    ($p:ty, for $($m:ty),*) => { $(\n        // SAFETY: it.\n \
                  unsafe impl<T> CheckedArg<$p> for $m {}\n    )* };\n}\n\
                  memory!(*mut T, for &mut Buffer<T, M>,\n    Slice<'_, T, M>);\n";
    assert_eq!(declared(source), ["*const T: Own", "*mut T: &mut Buffer", "*mut T: Slice"]);
}
