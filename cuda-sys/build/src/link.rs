//! Tells cargo how to link libcudart, and makes the loader find it in `cargo run` and `cargo test`.

use std::path::Path;

use crate::{Error, Result, Toolkit};

/// Links the shared library.
///
/// Creates two symbolic links to it in `out`: `libcudart.so`, which the linker needs and NVIDIA's wheels
/// lack, and `libcudart.so.<major>`, which the loader needs. Cargo puts search folders on the loader's
/// path only if they are in the target folder. `out` is there and a toolkit is not, so programs that
/// cargo runs find the library through `out`.
pub(crate) fn dylib(toolkit: &Toolkit, out: &Path) -> Result<()> {
    let folder = out.join("lib");
    std::fs::create_dir_all(&folder).map_err(|error| Error::io("create", &folder, &error))?;
    let real =
        toolkit.cudart().canonicalize().map_err(|error| Error::io("resolve", toolkit.cudart(), &error))?;
    let entries = folder.read_dir().map_err(|error| Error::io("read", &folder, &error))?;
    for stale in entries.flatten().map(|entry| entry.path()) {
        std::fs::remove_file(&stale).map_err(|error| Error::io("remove", &stale, &error))?;
    }
    for name in ["libcudart.so".to_owned(), toolkit.soname()] {
        let link = folder.join(name);
        symlink(&real, &link).map_err(|error| Error::io("create the link", &link, &error))?;
    }
    println!("cargo::rustc-link-search=native={}", folder.display());
    println!("cargo::rustc-link-lib=dylib=cudart");
    Ok(())
}

#[cfg(unix)]
pub(crate) use std::os::unix::fs::symlink;

/// Compiles on other systems. On Windows nothing is linked, and the others are no targets of CUDA.
#[cfg(not(unix))]
pub(crate) fn symlink(_: &Path, _: &Path) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Links the static library and the system libraries that it needs. It remains a separate library
/// (`-bundle`) and is not copied into `libcuda_sys.rlib`.
pub(crate) fn static_library(toolkit: &Toolkit) -> Result<()> {
    let Some(library) = toolkit.cudart_static() else {
        return Err(Error::new(format!(
            "feature `static`: no libcudart_static.a in {}",
            toolkit.root().display()
        ))
        .detail("Link the shared library instead (without the feature), or use a toolkit that has it."));
    };
    let folder = library.parent().unwrap_or(toolkit.root());
    println!("cargo::rustc-link-search=native={}", folder.display());
    println!("cargo::rustc-link-lib=static:-bundle=cudart_static");
    for system in ["dl", "pthread", "rt"] {
        println!("cargo::rustc-link-lib=dylib={system}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;

    #[test]
    fn both_names_lead_to_the_library_and_older_ones_are_gone() {
        let tree = Tree::new();
        let toolkit = tree.found(&tree.toolkit("cuda", 13000));
        let out = tree.path("out");
        tree.file("out/lib/libcudart.so.12", "of an earlier build");
        dylib(&toolkit, &out).unwrap();
        dylib(&toolkit, &out).unwrap();
        let mut names: Vec<_> =
            out.join("lib").read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["libcudart.so", "libcudart.so.13"]);
        for name in names {
            assert_eq!(
                out.join("lib").join(name).canonicalize().unwrap(),
                toolkit.cudart().canonicalize().unwrap()
            );
        }
    }

    #[test]
    fn a_toolkit_without_the_static_library_is_an_error_that_names_feature_and_place() {
        let tree = Tree::new();
        let root = tree.toolkit("cuda", 13000);
        let error = static_library(&tree.found(&root)).unwrap_err().to_string();
        assert!(error.contains("feature `static`") && error.contains(root.to_str().unwrap()), "{error}");
        tree.file("cuda/lib64/libcudart_static.a", "");
        static_library(&tree.found(&root)).unwrap();
    }
}
