//! Other libraries of the toolkit and of NVIDIA's Python wheels: cuBLAS, cuFFT, NCCL and so on.
//!
//! They are searched for where the toolkit is, in this order:
//!
//! 1. the variable `CUBLAS_PATH` (the name in capitals): one that is set but wrong is an error
//! 2. the folders of the toolkit that [`Search::find`] finds
//! 3. NVIDIA's wheels beside that toolkit, then those of `CONDA_PREFIX`, `VIRTUAL_ENV` and the workspace.
//!    Wheels of another major version of CUDA are skipped.
//! 4. the system's folders

use std::path::{Path, PathBuf};

use crate::layout::Target;
use crate::{Env, Error, Result, Search, Toolkit, cargo, python};

/// A shared library that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    name: String,
    file: PathBuf,
    includes: Vec<PathBuf>,
}

impl Library {
    /// Returns the shared library's file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the folders to include from: that of the library's headers, then those of the toolkit.
    #[must_use]
    pub fn includes(&self) -> &[PathBuf] {
        &self.includes
    }

    /// Returns the file of a header, such as `cublas_v2.h`, if there is one.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<PathBuf> {
        self.includes.iter().map(|folder| folder.join(name)).find(|file| file.is_file())
    }

    /// Looks for the library in `folders`. Its headers are in `include` beside the folder.
    fn of(name: &str, folders: &[PathBuf], toolkit: Option<&Toolkit>) -> Option<Self> {
        let (folder, file) = folders.iter().find_map(|folder| Some((folder, newest(folder, name)?)))?;
        let own = folder.ancestors().skip(1).take(2).map(|root| root.join("include"));
        let mut includes: Vec<_> = own.filter(|folder| folder.is_dir()).take(1).collect();
        for folder in toolkit.map(Toolkit::includes).unwrap_or_default() {
            if !includes.contains(folder) {
                includes.push(folder.clone());
            }
        }
        Some(Self { name: name.to_owned(), file, includes })
    }

    /// Creates the links that the linker and the loader need in `folder`, as for libcudart: to the library
    /// under its plain name and under the name that programs request, and to the libraries beside it, which
    /// it may request itself. The system's folders need none of the latter.
    fn link_in(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, &error))?;
        let entries = folder.read_dir().map_err(|error| Error::io("read", folder, &error))?;
        for stale in entries.flatten().map(|entry| entry.path()) {
            std::fs::remove_file(&stale).map_err(|error| Error::io("remove", &stale, &error))?;
        }
        let real = self.file.canonicalize().map_err(|error| Error::io("resolve", &self.file, &error))?;
        let mut links = vec![(format!("lib{}.so", self.name), real.clone())];
        for entry in self.file.parent().into_iter().filter_map(|at| at.read_dir().ok()).flatten().flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            let own = file.starts_with(&format!("lib{}.so.", self.name));
            let beside = ["libcu", "libnv", "libnpp"].iter().any(|start| file.starts_with(start));
            if own || beside && file.contains(".so.") && !file.starts_with("libcudart") {
                links.push((file, entry.path()));
            }
        }
        for (name, file) in links {
            let link = folder.join(name);
            crate::link::symlink(&file, &link)
                .map_err(|error| Error::io("create the link", &link, &error))?;
        }
        Ok(())
    }
}

/// Finds a library of the toolkit or of NVIDIA's wheels by its name, such as `cublas`, `cufft` or `nccl`, and
/// links it, as `cuda-sys` links libcudart.
///
/// It is for the build scripts of `-sys` crates. Programs that cargo runs find the library without a loader
/// path. A program that is shipped finds it as it finds libcudart. A build script that goes without a
/// missing library drops the error; cargo runs it again if one of the variables changes that were read.
///
/// # Errors
/// No location has the library. The error lists the locations.
///
/// # Examples
/// ```no_run
/// // build.rs
/// let cublas = cuda_sys_build::link("cublas")?;
/// println!("cargo::rerun-if-changed=build.rs");
/// let includes = cublas.includes().iter().map(|folder| format!("-I{}", folder.display()));
/// // For bindgen: the header, and the folders to include from.
/// let (header, clang_args) = (cublas.header("cublas_v2.h"), includes.collect::<Vec<_>>());
/// # Ok::<(), cuda_sys_build::Error>(())
/// ```
pub fn link(name: &str) -> Result<Library> {
    let env = Env::from_process();
    let done = link_in(&env, name);
    cargo::watch(&env);
    done
}

fn link_in(env: &Env, name: &str) -> Result<Library> {
    let library = Search::new(env).library(name)?;
    let folder = PathBuf::from(env.cargo("OUT_DIR")?).join(format!("lib{name}"));
    library.link_in(&folder)?;
    println!("cargo::rustc-link-search=native={}", folder.display());
    println!("cargo::rustc-link-lib=dylib={name}");
    cargo::watch_file(library.file());
    Ok(library)
}

impl Search<'_> {
    /// Finds a library of the toolkit or of NVIDIA's wheels by its name, such as `cublas`, without linking
    /// it.
    ///
    /// # Errors
    /// No location has the library, or a variable names one that lacks it. The error lists the locations.
    pub fn library(&self, name: &str) -> Result<Library> {
        let toolkit = self.find();
        let toolkit_found = toolkit.as_ref().ok();
        let variable = format!("{}_PATH", name.to_uppercase());
        if let Some(root) = self.env().path(&variable) {
            let found = Library::of(name, &lib_folders(&root, self.target()), toolkit_found);
            return found
                .ok_or_else(|| Error::new(format!("{variable}={}: no lib{name}.so there", root.display())));
        }
        let mut looked = vec![format!("{variable}: not set")];
        let mut places = Vec::new();
        match &toolkit {
            Ok(toolkit) => {
                places.push((format!("the toolkit ({})", toolkit.root().display()), toolkit.libs().to_vec()));
            }
            Err(_) => looked.push("the toolkit: none was found".to_owned()),
        }
        let beside = toolkit_found.into_iter().flat_map(|toolkit| toolkit.root().ancestors().take(2));
        let beside = beside.filter(|folder| folder.ends_with("nvidia")).map(Path::to_owned);
        let wheels = beside.chain(self.wheel_folders());
        let major = toolkit_found.map(|toolkit| toolkit.version().major);
        places.extend(
            wheels.map(|nvidia| (nvidia.display().to_string(), python::library_folders(&nvidia, major))),
        );
        places.extend(
            self.system_folders()
                .iter()
                .map(|root| (root.display().to_string(), lib_folders(root, self.target()))),
        );
        for (place, folders) in places {
            match Library::of(name, &folders, toolkit_found) {
                Some(library) => return Ok(library),
                None => looked.push(format!("{place}: no lib{name}.so")),
            }
        }
        let mut error = Error::new(format!("no lib{name} found. Looked at:"));
        for place in looked {
            error = error.detail(format!("  {place}"));
        }
        Err(error.detail(format!(
            "Install it with the toolkit, install NVIDIA's wheel into the active virtual environment, or set \
             {variable} to the folder that has its `lib` and `include`."
        )))
    }
}

/// Returns the folders under `root` that may have libraries.
fn lib_folders(root: &Path, target: &Target) -> Vec<PathBuf> {
    let mut folders = vec![root.join("lib64"), root.join("lib")];
    folders.push(root.join("lib").join(target.multiarch()));
    folders
}

/// Returns the library in a folder: the one with the highest number, as wheels have no plain name, or else
/// the plain one.
fn newest(folder: &Path, name: &str) -> Option<PathBuf> {
    let start = format!("lib{name}.so.");
    let entries = folder.read_dir().ok()?.flatten();
    let numbered = entries.filter_map(|entry| {
        let number = entry.file_name().to_str()?.strip_prefix(&start)?.parse::<u32>().ok()?;
        Some((number, entry.path()))
    });
    let plain = folder.join(format!("lib{name}.so"));
    numbered.max().map(|(_, file)| file).or(plain.is_file().then_some(plain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;

    impl Tree {
        fn library(&self, name: &str, vars: &[(&str, PathBuf)]) -> Result<Library> {
            let mut vars = vars.to_vec();
            vars.push(("TARGET", PathBuf::from("x86_64-unknown-linux-gnu")));
            let env = Env::from_vars(vars);
            let system = ["usr/local/cuda", "usr"].map(|folder| self.path(folder)).to_vec();
            Search::new(&env).system(system).library(name)
        }
    }

    #[test]
    fn a_library_of_the_toolkit_comes_first_with_its_headers() {
        let tree = Tree::new();
        let root = tree.toolkit("usr/local/cuda", 13000);
        let file = tree.file("usr/local/cuda/lib64/libcublas.so.13", "");
        tree.file("usr/local/cuda/lib64/libcublas.so.13.0.2", "");
        tree.file("usr/lib/x86_64-linux-gnu/libcublas.so.12", "");
        let header = tree.file("usr/local/cuda/include/cublas_v2.h", "");
        let found = tree.library("cublas", &[]).unwrap();
        assert_eq!((found.file(), found.includes()), (file.as_path(), &[root.join("include")][..]));
        assert_eq!((found.header("cublas_v2.h"), found.header("nccl.h")), (Some(header), None));
    }

    #[test]
    fn a_variable_names_the_root_and_is_never_skipped() {
        let tree = Tree::new();
        tree.toolkit("usr/local/cuda", 13000);
        tree.file("usr/local/cuda/lib64/libnccl.so.2", "");
        let file = tree.file("mine/lib/libnccl.so.2", "");
        let header = tree.file("mine/include/nccl.h", "");
        let found = tree.library("nccl", &[("NCCL_PATH", tree.path("mine"))]).unwrap();
        assert_eq!((found.file(), found.header("nccl.h")), (file.as_path(), Some(header)));
        let error = tree.library("nccl", &[("NCCL_PATH", tree.path("usr"))]).unwrap_err().to_string();
        assert!(error.starts_with("NCCL_PATH=") && error.contains("no libnccl.so there"), "{error}");
    }

    #[test]
    fn wheels_are_found_beside_the_toolkit_and_in_the_environment_but_not_of_another_cuda() {
        let tree = Tree::new();
        let site = "venv/lib/python3.12/site-packages/nvidia";
        tree.headers(&format!("{site}/cu13/include"), 13000);
        tree.file(&format!("{site}/cu13/lib/libcudart.so.13"), "");
        tree.file(&format!("{site}/cublas/lib/libcublas.so.12"), "of CUDA 12");
        tree.file(&format!("{site}/cu12/lib/libcublas.so.12"), "of CUDA 12");
        let nccl = tree.file(&format!("{site}/nccl/lib/libnccl.so.2"), "");
        let header = tree.file(&format!("{site}/nccl/include/nccl.h"), "");
        let vars = [("VIRTUAL_ENV", tree.path("venv"))];
        let found = tree.library("nccl", &vars).unwrap();
        assert_eq!((found.file(), found.header("nccl.h")), (nccl.as_path(), Some(header)));
        assert!(found.header("cuda_runtime_api.h").is_some(), "the toolkit's headers are there, too");
        let error = tree.library("cublas", &vars).unwrap_err().to_string();
        assert!(error.contains("CUBLAS_PATH: not set") && error.contains(site), "{error}");
        let cublas = tree.file(&format!("{site}/cu13/lib/libcublas.so.13"), "");
        assert_eq!(tree.library("cublas", &vars).unwrap().file(), cublas);
        // With a toolkit elsewhere.
        tree.toolkit("usr/local/cuda", 13000);
        assert_eq!(tree.library("nccl", &vars).unwrap().file(), nccl);
        // With one of CUDA 12, its own wheels.
        let tree = Tree::new();
        tree.headers(&format!("{site}/cuda_runtime/include"), 12080);
        tree.file(&format!("{site}/cuda_runtime/lib/libcudart.so.12"), "");
        let cublas = tree.file(&format!("{site}/cublas/lib/libcublas.so.12"), "");
        let vars = [("VIRTUAL_ENV", tree.path("venv"))];
        assert_eq!(tree.library("cublas", &vars).unwrap().file(), cublas);
    }

    #[test]
    fn a_library_of_the_system_is_found_without_a_toolkit() {
        let tree = Tree::new();
        let file = tree.file("usr/lib/x86_64-linux-gnu/libnccl.so", "");
        let header = tree.file("usr/include/nccl.h", "");
        let found = tree.library("nccl", &[]).unwrap();
        assert_eq!((found.file(), found.header("nccl.h")), (file.as_path(), Some(header)));
    }

    #[test]
    fn the_links_are_those_that_linker_and_loader_ask_for() {
        let tree = Tree::new();
        tree.toolkit("usr/local/cuda", 13000);
        let real = tree.file("usr/local/cuda/lib64/libcublas.so.13.0.2", "");
        std::os::unix::fs::symlink(&real, tree.path("usr/local/cuda/lib64/libcublas.so.13")).unwrap();
        tree.file("usr/local/cuda/lib64/libcublasLt.so.13", "");
        tree.file("usr/local/cuda/lib64/libother.so.1", "");
        let (library, out) = (tree.library("cublas", &[]).unwrap(), tree.path("out"));
        tree.file("out/libcublas.so.12", "of an earlier build");
        library.link_in(&out).unwrap();
        library.link_in(&out).unwrap();
        let mut names: Vec<_> = out.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        let expected = ["libcublas.so", "libcublas.so.13", "libcublas.so.13.0.2", "libcublasLt.so.13"];
        assert_eq!(names, expected);
        assert_eq!(out.join("libcublas.so").canonicalize().unwrap(), real);
    }
}
