//! Parses the dependency files that nvcc writes, in make's syntax.

use std::path::{Path, PathBuf};

/// Returns the files that the single rule of a dependency file names, in order.
pub(crate) fn parse(text: &str) -> Vec<PathBuf> {
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    // The target ends at a colon before whitespace. A colon in a path has no whitespace after it.
    let Some(at) = joined.find(": ") else { return Vec::new() };
    let mut files = Vec::new();
    let mut name = String::new();
    let mut rest = joined[at + 2..].chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\\' if matches!(rest.peek(), Some(' ' | '#' | '\\')) => name.extend(rest.next()),
            '$' if rest.peek() == Some(&'$') => name.extend(rest.next()),
            space if space.is_whitespace() => take(&mut name, &mut files),
            other => name.push(other),
        }
    }
    take(&mut name, &mut files);
    files
}

fn take(name: &mut String, files: &mut Vec<PathBuf>) {
    if !name.is_empty() {
        files.push(PathBuf::from(std::mem::take(name)));
    }
}

/// Returns the files outside the toolkit. A change of the toolkit appears in its path or version.
pub(crate) fn outside_of(files: Vec<PathBuf>, toolkit: &Path) -> Vec<PathBuf> {
    let toolkit = toolkit.canonicalize().unwrap_or_else(|_| toolkit.to_owned());
    let inside = |file: &Path| file.canonicalize().is_ok_and(|file| file.starts_with(&toolkit));
    files.into_iter().filter(|file| !inside(file)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn lines_are_joined_and_the_target_left_out() {
        let text = "out/x.o : kernels/x.cu \\\n    kernels/x.cuh \\\n    /opt/cuda/include/cuda_runtime.h\n";
        assert_eq!(
            parse(text),
            paths(&["kernels/x.cu", "kernels/x.cuh", "/opt/cuda/include/cuda_runtime.h"])
        );
    }

    #[test]
    fn escaped_spaces_hashes_and_dollars_belong_to_the_name() {
        assert_eq!(parse("x.o: my\\ kernels/a\\#1.cu b$$.h"), paths(&["my kernels/a#1.cu", "b$.h"]));
    }

    #[test]
    fn a_text_without_a_rule_names_nothing() {
        assert_eq!(parse("no rule here"), paths(&[]));
    }

    #[test]
    fn the_toolkits_own_headers_are_left_out() {
        let root =
            std::env::temp_dir().canonicalize().unwrap().join(format!("depfile-{}", std::process::id()));
        let include = root.join("toolkit/include");
        std::fs::create_dir_all(&include).unwrap();
        std::fs::create_dir_all(root.join("toolkit/bin")).unwrap();
        std::fs::write(include.join("cuda_runtime.h"), "").unwrap();
        std::fs::write(root.join("mine.h"), "").unwrap();
        let files = vec![root.join("toolkit/bin/../include/cuda_runtime.h"), root.join("mine.h")];
        let kept = outside_of(files, &root.join("toolkit"));
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!(kept, [root.join("mine.h")]);
    }
}
