//! Finds the libclang that bindgen uses.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::{Env, Error, Result, Search, clang};

/// Loads libclang on this thread for the caller's own use of bindgen, by the rules of `cuda-sys`. Returns
/// extra arguments for clang: the folder of the compiler's own headers if libclang has none, and if the
/// target is not the machine that compiles, which headers are read.
///
/// # Errors
/// There is no libclang.
pub fn prepare_libclang(env: &Env) -> Result<Vec<String>> {
    load(Search::new(env).workspace_folders())?;
    Ok(clang::clang_arguments(env))
}

/// Loads libclang, so that bindgen finds it loaded. If the usual folders have none, it loads the wheel
/// that `ci/setup` installs beside the toolkit. Without this, bindgen would panic.
pub(crate) fn load(workspace: &[PathBuf]) -> Result<()> {
    if clang_sys::is_loaded() {
        return Ok(());
    }
    let asked = std::env::var_os("LIBCLANG_PATH");
    let Err(usual) = clang_sys::load() else { return Ok(()) };
    let missing = |why: &str| missing(asked.as_deref(), why);
    let ours = workspace.iter().map(|site| site.join("clang/native")).find(|folder| folder.is_dir());
    let Some(folder) = ours else {
        return Err(missing(&usual));
    };
    load_from(&folder).map_err(|wheel| missing(&usual).detail(format!("In {}: {wheel}", folder.display())))
}

#[expect(unsafe_code, reason = "clang-sys reads its search path from an environment variable only")]
fn load_from(folder: &Path) -> std::result::Result<(), String> {
    // SAFETY: no other thread of this process reads or writes the environment. This library is for build
    // scripts, which have one thread.
    unsafe { std::env::set_var("LIBCLANG_PATH", folder) };
    clang_sys::load()
}

/// Returns the error without a libclang. `asked` is the folder or file that LIBCLANG_PATH names.
fn missing(asked: Option<&OsStr>, why: &str) -> Error {
    let error = Error::new("no libclang found, which bindgen reads the CUDA headers with.");
    let error = match asked {
        Some(path) => error.detail(format!(
            "LIBCLANG_PATH is {}, and there is none: set it to the folder of libclang.so, or unset it.",
            path.display()
        )),
        None => error,
    };
    error
        .detail(
            "Run ci/setup in the workspace of cuda-safe, or install libclang (Debian: libclang-dev), or set \
             LIBCLANG_PATH.",
        )
        .detail(format!("({})", why.replace('\n', " ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_libclang_path_is_named() {
        let said = missing(Some(OsStr::new("/no/such/folder")), "not\nfound").to_string();
        assert!(said.contains("LIBCLANG_PATH is /no/such/folder, and there is none"), "{said}");
        assert!(said.contains("(not found)") && said.contains("ci/setup"), "{said}");
        assert!(!missing(None, "why").to_string().contains("LIBCLANG_PATH is"));
    }
}
