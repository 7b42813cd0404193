//! Reads examples as text: the programs of `examples`, and those in the documentation.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::scan::without_turbofish;
use super::{here, read, sources};

/// A program that shows how an item is used.
pub(crate) struct Example {
    /// The folder of a program, or the source file whose documentation contains it.
    name: String,
    /// For a source file: the names of folders and files.
    homes: Vec<String>,
    code: String,
}

/// The programs of `examples`, and those in the documentation.
pub(crate) fn examples() -> Vec<Example> {
    let mut found = Vec::new();
    let root = here().join("..");
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(root.join("examples")).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    // Programs without a C++ twin measure or test.
    for folder in folders.into_iter().filter(|folder| folder.join("main.cu").is_file()) {
        let name = format!("examples/{}", folder.file_name().unwrap().to_str().unwrap());
        let code = sources(&folder, true).iter().map(|path| program(&read(path))).collect();
        found.push(Example { name, homes: Vec::new(), code });
    }
    for package in ["cuda-safe", "cuda-kernels"] {
        let src = root.join(package).join("src");
        for path in sources(&src, true) {
            let inside = path.strip_prefix(&src).unwrap();
            let name = format!("{package}/src/{}", inside.to_str().unwrap());
            let homes = inside.with_extension("");
            let homes: Vec<_> = homes.iter().map(|name| name.to_str().unwrap().to_owned()).collect();
            let example = |code| Example { name: name.clone(), homes: homes.clone(), code };
            found.extend(in_documentation(&read(&path)).into_iter().map(example));
        }
    }
    found
}

/// The examples that show something, the documentation of its own file first.
pub(crate) fn showing<'e>(
    examples: &'e [Example],
    homes: &BTreeSet<String>,
    names_it: impl Fn(&str) -> bool,
) -> Vec<&'e str> {
    let mut found: Vec<_> = examples.iter().filter(|example| names_it(&example.code)).collect();
    let strange = |example: &Example| example.homes.iter().filter(|home| !homes.contains(*home)).count();
    found.sort_by_key(|example| if example.homes.is_empty() { 1 } else { 2 * strange(example) });
    let mut names = Vec::new();
    for example in found {
        if !names.contains(&example.name.as_str()) {
            names.push(example.name.as_str());
        }
    }
    names
}

/// The code of every example in the documentation of a source file that is compiled as part of the tests.
fn in_documentation(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside: Option<(bool, String)> = None;
    for line in source.lines() {
        let text = line.trim_start();
        let Some(text) = text.strip_prefix("///").or_else(|| text.strip_prefix("//!")) else {
            inside = None;
            continue;
        };
        let text = text.strip_prefix(' ').unwrap_or(text);
        if let Some(language) = text.strip_prefix("```") {
            inside = match inside {
                Some((true, code)) => {
                    found.push(without_turbofish(&code));
                    None
                }
                Some((false, _)) => None,
                None => Some((["", "no_run"].contains(&language.trim()), String::new())),
            };
        } else if let Some((_, code)) = &mut inside {
            let shown = text.strip_prefix("# ").unwrap_or(text);
            code.push_str(without_comment(shown));
            code.push('\n');
        }
    }
    found
}

/// The code of a program without its comments.
fn program(source: &str) -> String {
    without_turbofish(&source.lines().map(without_comment).collect::<Vec<_>>().join("\n"))
}

fn without_comment(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

#[test]
fn only_what_is_compiled_and_no_comment_counts() {
    let source = "\
/// Does.
///
/// ```
/// # use a::Thing;
/// Thing::<u8>::make(); // or other()
/// ```
/// In C++ it is
/// ```cpp
/// cudaDo();
/// ```
/// ```compile_fail
/// wrong();
/// ```
pub fn make() {
    //! ```no_run
    //! later();
    //! ```
}
";
    assert_eq!(in_documentation(source), ["use a::Thing;\nThing::make(); \n", "later();\n"]);
    assert_eq!(program("a(); // b()\n// c()\nd();"), "a(); \n\nd();");
}
