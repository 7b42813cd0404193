//! Made-up file systems for the tests.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::layout::Target;
use crate::toolkit::Toolkit;

/// A folder in which a test creates a file system.
pub(crate) struct Tree(TempDir);

impl Tree {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        // The search resolves links, and on some systems the path of the temporary folder has one.
        self.0.path().canonicalize().unwrap().join(path)
    }

    pub(crate) fn file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn headers(&self, include: &str, number: u32) {
        self.file(&format!("{include}/cuda_runtime_api.h"), &format!("#define CUDART_VERSION {number}\n"));
        self.file(&format!("{include}/crt/host_defines.h"), "");
    }

    /// Creates a toolkit with the layout of NVIDIA's installer.
    pub(crate) fn toolkit(&self, root: &str, number: u32) -> PathBuf {
        self.headers(&format!("{root}/include"), number);
        self.file(&format!("{root}/lib64/libcudart.so.{}", number / 1000), "");
        self.file(&format!("{root}/bin/nvcc"), "");
        self.path(root)
    }

    /// Returns the toolkit in a folder.
    pub(crate) fn found(&self, root: &Path) -> Toolkit {
        Toolkit::at(root, &Target::of("x86_64-unknown-linux-gnu"), "a test").unwrap()
    }
}
