//! The headers that libclang reads declarations for the target with.

use std::path::Path;
use std::process::{Command, Output};

use crate::Env;

/// Returns clang's arguments for the target of cargo's build, with the headers that are not clang's own.
///
/// For another target than the machine that compiles, these are the headers of its C++ compiler. Without
/// one nothing can be compiled for it, but declarations can be checked: they are read as those of this
/// machine. On all targets of CUDA types have the same sizes, and bindgen's layout tests run for the target.
pub(crate) fn clang_arguments(env: &Env) -> Vec<String> {
    let host = || ["cc", "gcc", "clang"].iter().find_map(|name| Compiler::new(name).own_headers());
    let (target, machine) = match (env.cargo("TARGET"), env.cargo("HOST")) {
        (Ok(target), Ok(machine)) if target != machine => (target, machine),
        _ => return host().unwrap_or_default(),
    };
    let target = target.to_string_lossy();
    match compiler_for(env, &target) {
        Some(compiler) => [
            vec![format!("--target={target}"), "-nostdlibinc".to_owned()],
            compiler.headers(),
            compiler.own_headers().unwrap_or_default(),
        ]
        .concat(),
        None => {
            let target = vec![format!("--target={}", machine.to_string_lossy())];
            [target, host().unwrap_or_default()].concat()
        }
    }
}

/// Returns the C++ compiler for another target: the one that nvcc runs, one that the variables of the `cc`
/// crate name, or the one with the name of GNU.
fn compiler_for(env: &Env, target: &str) -> Option<Compiler> {
    let arch = target.split('-').next().unwrap_or(target);
    let variables =
        ["NVCC_CCBIN", &format!("CXX_{}", target.replace('-', "_")), &format!("CXX_{target}"), "TARGET_CXX"];
    let named = variables.into_iter().filter_map(|name| Some(env.get(name)?.to_string_lossy().into_owned()));
    let mut names = named.chain([format!("{arch}-linux-gnu-g++")]);
    names.find_map(|name| Some(Compiler::new(&name)).filter(|compiler| compiler.compiles_for(arch)))
}

/// A compiler, which may not be there.
#[derive(Debug)]
struct Compiler {
    /// The program, and the arguments that its variable has.
    words: Vec<String>,
}

impl Compiler {
    fn new(words: &str) -> Self {
        Self { words: words.split_whitespace().map(str::to_owned).collect() }
    }

    /// Returns its output if it runs.
    fn run(&self, arguments: &[&str]) -> Option<Output> {
        let (program, own) = self.words.split_first()?;
        let output = Command::new(program).args(own).args(arguments).env("LC_ALL", "C").output().ok()?;
        output.status.success().then_some(output)
    }

    fn compiles_for(&self, arch: &str) -> bool {
        let machine = self.run(&["-dumpmachine"]);
        machine.is_some_and(|machine| String::from_utf8_lossy(&machine.stdout).starts_with(arch))
    }

    /// Returns the arguments for the headers of the C++ and the C library. The compiler's own headers, which
    /// have words that clang does not know, are not among them.
    fn headers(&self) -> Vec<String> {
        let Some(output) = self.run(&["-E", "-v", "-x", "c++", "/dev/null"]) else { return Vec::new() };
        let said = String::from_utf8_lossy(&output.stderr);
        let list = said.split("#include <...> search starts here:").nth(1).unwrap_or_default();
        let folders = list.lines().map(str::trim).skip(1).take_while(|line| line.starts_with('/'));
        let libraries = folders.filter(|folder| !Path::new(folder).join("stddef.h").is_file());
        libraries.flat_map(|folder| ["-isystem".to_owned(), folder.to_owned()]).collect()
    }

    /// Returns the arguments for the compiler's own headers, such as `stddef.h`, which a libclang without its
    /// folder of headers lacks. They are searched last, so a complete libclang uses its own.
    fn own_headers(&self) -> Option<Vec<String>> {
        let output = self.run(&["-print-file-name=include"])?;
        let folder = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        Path::new(&folder).join("stddef.h").is_file().then(|| vec!["-idirafter".to_owned(), folder])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;

    const HOST: (&str, &str) = ("HOST", "x86_64-unknown-linux-gnu");
    const ARM: &str = "aarch64-unknown-linux-gnu";

    /// Returns the arguments for a target without a compiler other than this one.
    fn arguments(target: &str, compiler: &str) -> String {
        clang_arguments(&Env::from_vars([("TARGET", target), HOST, ("NVCC_CCBIN", compiler)])).join(" ")
    }

    /// A made-up compiler for a machine, with the headers of its library in `library` and its own in `own`.
    fn compiler(tree: &Tree, machine: &str) -> String {
        tree.file("own/stddef.h", "");
        tree.file("library/stdlib.h", "");
        let (own, library) = (tree.path("own"), tree.path("library"));
        let script = format!(
            "case $1 in\n-dumpmachine) echo {machine} ;;\n-print-file-name=include) echo {own} ;;\n-E) \
             printf 'x\\n#include <...> search starts here:\\n {library}\\n {own}\\nEnd of search list.\\n' >&2 \
             ;;\nesac\n",
            own = own.display(),
            library = library.display(),
        );
        format!("sh {}", tree.file("compiler", &script).display())
    }

    #[test]
    fn the_headers_of_the_compiler_for_another_target_are_read_and_no_others() {
        let tree = Tree::new();
        let arguments = arguments(ARM, &compiler(&tree, "aarch64-poky-linux"));
        let (library, own) = (tree.path("library"), tree.path("own"));
        let (library, own) = (library.display(), own.display());
        let expected = format!("--target={ARM} -nostdlibinc -isystem {library} -idirafter {own}");
        assert_eq!(arguments, expected);
    }

    #[test]
    fn without_a_compiler_for_the_target_declarations_are_read_as_those_of_this_machine() {
        let tree = Tree::new();
        for compiler in ["/no/such/c++".to_owned(), compiler(&tree, "x86_64-linux-gnu")] {
            let arguments = arguments("made_up-unknown-linux-gnu", &compiler);
            assert!(arguments.starts_with("--target=x86_64-unknown-linux-gnu"), "{arguments}");
            assert!(!arguments.contains(tree.path("").to_str().unwrap()), "{arguments}");
        }
    }

    #[test]
    fn the_target_of_the_machine_that_compiles_is_not_named() {
        let arguments = clang_arguments(&Env::from_vars([("TARGET", HOST.1), HOST]));
        assert!(arguments.iter().all(|argument| !argument.starts_with("--target")), "{arguments:?}");
    }
}
