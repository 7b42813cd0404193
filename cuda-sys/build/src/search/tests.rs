//! Tests of the search with made-up folders.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::*;
use crate::Version;
use crate::made_up::Tree;

impl Tree {
    fn find(&self, vars: &[(&str, PathBuf)]) -> Result<Toolkit> {
        let mut vars = vars.to_vec();
        vars.push(("TARGET", PathBuf::from("x86_64-unknown-linux-gnu")));
        let env = Env::from_vars(vars);
        let system = ["usr/local/cuda", "opt/cuda", "usr"].map(|folder| self.path(folder)).to_vec();
        Search::new(&env).system(system).find()
    }
}

fn message(result: Result<Toolkit>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn variables_come_first_and_in_their_order() {
    let tree = Tree::new();
    let (a, b) = (tree.toolkit("a", 13000), tree.toolkit("b", 12040));
    tree.toolkit("usr/local/cuda", 12090);
    let found = tree.find(&[("CUDA_HOME", b.clone()), ("CUDA_PATH", a.clone())]).unwrap();
    assert_eq!(
        (found.root(), found.version(), found.found_by()),
        (a.as_path(), Version::new(13, 0), "CUDA_PATH")
    );
    for variable in ["CUDA_HOME", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"] {
        let found = tree.find(&[(variable, b.clone())]).unwrap();
        assert_eq!((found.root(), found.found_by()), (b.as_path(), variable));
    }
}

#[test]
fn a_variable_that_is_set_but_wrong_is_an_error_that_names_it() {
    let tree = Tree::new();
    let good = tree.toolkit("usr/local/cuda", 13000);
    let wrong = tree.path("nowhere");
    for variable in VARIABLES {
        let text = message(tree.find(&[(variable, wrong.clone())]));
        assert!(text.starts_with(&format!("{variable}={}: no such directory", wrong.display())), "{text}");
    }
    let text = message(tree.find(&[("CUDA_PATH", wrong), ("CUDA_HOME", good)]));
    assert!(text.contains("CUDA_PATH="), "a later variable does not save an earlier one: {text}");
}

#[test]
fn a_variable_that_is_empty_is_not_set() {
    let tree = Tree::new();
    let root = tree.toolkit("opt/cuda", 13000);
    assert_eq!(tree.find(&[("CUDA_PATH", PathBuf::new())]).unwrap().root(), root);
}

#[test]
fn each_thing_missing_is_named() {
    let tree = Tree::new();
    let root = |name: &str| [("CUDA_PATH", tree.path(name))];
    fs::create_dir_all(tree.path("empty")).unwrap();
    assert!(message(tree.find(&root("empty"))).contains("no cuda_runtime_api.h"));
    tree.file("no_crt/include/cuda_runtime_api.h", "#define CUDART_VERSION 13000");
    assert!(message(tree.find(&root("no_crt"))).contains("no crt/host_defines.h"));
    tree.headers("no_lib/include", 13000);
    assert!(message(tree.find(&root("no_lib"))).contains("headers of CUDA 13.0, but no libcudart.so.13"));
    tree.headers("old/include", 11080);
    assert!(message(tree.find(&root("old"))).contains("CUDA 11.8 is older than 12.0"));
    tree.file("no_version/include/cuda_runtime_api.h", "");
    tree.file("no_version/include/crt/host_defines.h", "");
    assert!(message(tree.find(&root("no_version"))).contains("defines no CUDART_VERSION"));
}

#[test]
fn headers_and_library_of_different_majors_are_an_error_that_names_both() {
    let tree = Tree::new();
    tree.headers("a/include", 13000);
    tree.file("a/lib64/libcudart.so.12.9.79", "");
    let text = message(tree.find(&[("CUDA_PATH", tree.path("a"))]));
    assert!(
        text.contains("the headers are CUDA 13.0, but the library there is libcudart.so.12.9.79"),
        "{text}"
    );
    symlink("libcudart.so.12.9.79", tree.path("a/lib64/libcudart.so")).unwrap();
    let text = message(tree.find(&[("CUDA_PATH", tree.path("a"))]));
    assert!(text.contains("13.0, but the library there is libcudart.so.12.9.79"), "{text}");
}

#[test]
fn a_library_for_another_processor_or_behind_a_broken_link_is_named() {
    let tree = Tree::new();
    let root = tree.toolkit("a", 13000);
    let elf = |machine: u8| [&b"\x7FELF"[..], &[0; 14], &[machine, 0]].concat();
    let library = root.join("lib64/libcudart.so.13");
    let find = |triple: &str| {
        let env = Env::from_vars([("TARGET", triple), ("CUDA_PATH", root.to_str().unwrap())]);
        Search::new(&env).find()
    };
    for (machine, own, other) in [(62, "x86_64", "aarch64"), (183, "aarch64", "x86_64")] {
        fs::write(&library, elf(machine)).unwrap();
        assert!(find(&format!("{own}-unknown-linux-gnu")).is_ok());
        let text = message(find(&format!("{other}-unknown-linux-gnu")));
        let expected = format!("no libcudart for {other}: {} is for {own}", library.display());
        assert!(text.contains(&expected), "{text}");
    }
    fs::remove_file(&library).unwrap();
    symlink("/nonexistent/libcudart.so.13", &library).unwrap();
    let text = message(tree.find(&[("CUDA_PATH", root)]));
    assert!(
        text.contains("libcudart.so.13 is a link to /nonexistent/libcudart.so.13, which does not"),
        "{text}"
    );
}

#[test]
fn a_relative_variable_is_refused_with_what_to_set() {
    let tree = Tree::new();
    let text = message(tree.find(&[("CUDA_HOME", PathBuf::from("../cuda"))]));
    assert!(
        text.starts_with("CUDA_HOME=../cuda: each package's") && text.contains("absolute path"),
        "{text}"
    );
}

#[test]
fn nvcc_on_the_path_leads_to_its_toolkit_through_links() {
    let tree = Tree::new();
    let root = tree.toolkit("toolkits/13", 13010);
    tree.toolkit("usr/local/cuda", 12090);
    fs::create_dir_all(tree.path("bin")).unwrap();
    symlink(root.join("bin/nvcc"), tree.path("bin/nvcc")).unwrap();
    let found = tree.find(&[("PATH", tree.path("bin"))]).unwrap();
    assert_eq!(found.root(), root);
    assert_eq!(found.nvcc(), Some(root.join("bin/nvcc").as_path()));
}

#[test]
fn an_nvcc_that_is_no_toolkits_is_passed_over() {
    let tree = Tree::new();
    tree.file("wrapper/bin/nvcc", "");
    let root = tree.toolkit("opt/cuda", 12080);
    assert_eq!(tree.find(&[("PATH", tree.path("wrapper/bin"))]).unwrap().root(), root);
}

#[test]
fn system_folders_are_tried_in_order() {
    let tree = Tree::new();
    for (folder, number) in [("usr", 12040), ("opt/cuda", 12080), ("usr/local/cuda", 13000)] {
        let root = tree.toolkit(folder, number);
        assert_eq!(tree.find(&[]).unwrap().root(), root);
    }
}

#[test]
fn debians_layout_is_understood() {
    let tree = Tree::new();
    tree.headers("usr/include", 12040);
    let library = tree.file("usr/lib/x86_64-linux-gnu/libcudart.so.12", "");
    tree.file("usr/bin/nvcc", "");
    let found = tree.find(&[]).unwrap();
    assert_eq!((found.cudart(), found.lib()), (library.as_path(), library.parent().unwrap()));
}

#[test]
fn condas_layout_is_understood() {
    let tree = Tree::new();
    tree.headers("conda/targets/x86_64-linux/include", 12060);
    let library = tree.file("conda/lib/libcudart.so.12", "");
    tree.file("conda/targets/x86_64-linux/lib/libcudart_static.a", "");
    let found = tree.find(&[("CONDA_PREFIX", tree.path("conda"))]).unwrap();
    assert_eq!(found.cudart(), library);
    assert_eq!(found.includes(), [tree.path("conda/targets/x86_64-linux/include")]);
    assert_eq!(found.cudart_static(), Some(tree.path("conda/targets/x86_64-linux/lib/libcudart_static.a")));
}

#[test]
fn arm_servers_have_a_folder_of_their_own() {
    let tree = Tree::new();
    tree.headers("a/targets/sbsa-linux/include", 13000);
    tree.file("a/targets/sbsa-linux/lib/libcudart.so.13", "");
    let env = Env::from_vars([
        ("TARGET", "aarch64-unknown-linux-gnu"),
        ("CUDA_PATH", tree.path("a").to_str().unwrap()),
    ]);
    assert!(Search::new(&env).find().is_ok());
    assert!(
        tree.find(&[("CUDA_PATH", tree.path("a"))]).is_err(),
        "an x86_64 build does not take ARM's library"
    );
}

#[test]
fn a_toolkit_for_several_machines_gives_the_library_of_the_target() {
    let tree = Tree::new();
    tree.headers("a/include", 13000);
    for folder in ["a/lib64", "a/targets/x86_64-linux/lib", "a/targets/sbsa-linux/lib"] {
        tree.file(&format!("{folder}/libcudart.so.13"), "");
    }
    for (triple, folder) in
        [("x86_64-unknown-linux-gnu", "x86_64-linux"), ("aarch64-unknown-linux-gnu", "sbsa-linux")]
    {
        let env = Env::from_vars([("TARGET", triple), ("CUDA_PATH", tree.path("a").to_str().unwrap())]);
        let found = Search::new(&env).find().unwrap();
        assert_eq!(found.cudart(), tree.path(&format!("a/targets/{folder}/lib/libcudart.so.13")));
    }
}

#[test]
fn the_newest_wheels_of_a_virtual_environment_win() {
    let tree = Tree::new();
    let site = "venv/lib/python3.12/site-packages/nvidia";
    for (folder, number) in [("cu9", 12040), ("cu13", 13020), ("cublas", 13000)] {
        tree.headers(&format!("{site}/{folder}/include"), number);
        tree.file(&format!("{site}/{folder}/lib/libcudart.so.{}", number / 1000), "");
    }
    let found = tree.find(&[("VIRTUAL_ENV", tree.path("venv"))]).unwrap();
    assert_eq!(found.root(), tree.path(&format!("{site}/cu13")));
}

#[test]
fn the_wheels_of_cuda_12_are_put_together() {
    let tree = Tree::new();
    let site = "venv/lib/python3.10/site-packages/nvidia";
    tree.file(&format!("{site}/cuda_runtime/include/cuda_runtime_api.h"), "#define CUDART_VERSION 12090\n");
    tree.file(&format!("{site}/cuda_nvcc/include/crt/host_defines.h"), "");
    let library = tree.file(&format!("{site}/cuda_runtime/lib/libcudart.so.12"), "");
    let found = tree.find(&[("VIRTUAL_ENV", tree.path("venv"))]).unwrap();
    assert_eq!(found.cudart(), library);
    let includes = ["cuda_runtime", "cuda_nvcc"].map(|part| tree.path(&format!("{site}/{part}/include")));
    assert_eq!(found.includes(), includes);
    assert_eq!(found.nvcc(), None, "these wheels have no nvcc");
    let found = tree.find(&[("CUDA_PATH", tree.path(site))]).unwrap();
    assert_eq!(found.includes(), includes, "a variable may name them too");
}

#[test]
fn a_crate_elsewhere_finds_the_toolkit_of_the_workspace_that_this_library_is_in() {
    let tree = Tree::new();
    tree.toolkit("w/target/cuda-toolkit/nvidia/cu13", 13000);
    let site = tree.path("w/target/cuda-toolkit");
    fs::create_dir_all(tree.path("elsewhere/target/debug/build/mine-1/out")).unwrap();
    let env = Env::from_vars([
        ("OUT_DIR", tree.path("elsewhere/target/debug/build/mine-1/out")),
        ("CARGO_MANIFEST_DIR", tree.path("elsewhere")),
    ]);
    assert_eq!(workspace(&env, Some(&tree.path("w/cuda-sys/build"))), [site]);
}

#[test]
fn the_libclang_beside_a_toolkit_that_a_variable_names_is_found() {
    let tree = Tree::new();
    let root = tree.toolkit("w/target/cuda-toolkit/nvidia/cu13", 13000);
    let named = || Env::from_vars([("CUDA_PATH", root.clone()), ("OUT_DIR", tree.path("elsewhere/out"))]);
    assert!(!workspace(&named(), None).contains(&tree.path("w/target/cuda-toolkit")), "no libclang there");
    fs::create_dir_all(tree.path("w/target/cuda-toolkit/clang/native")).unwrap();
    assert_eq!(workspace(&named(), None), [tree.path("w/target/cuda-toolkit")]);
}

#[test]
fn the_workspaces_own_toolkit_is_the_last_resort() {
    let tree = Tree::new();
    tree.toolkit("w/target/cuda-toolkit/nvidia/cu13", 13000);
    let ours = tree.path("w/target/cuda-toolkit/nvidia/cu13");
    for (variable, folder) in [
        ("OUT_DIR", "w/target/debug/build/cuda-sys-1/out"),
        ("OUT_DIR", "w/target/x86_64-unknown-linux-gnu/release/build/cuda-sys-1/out"),
        ("CARGO_MANIFEST_DIR", "w/cuda-sys"),
        ("CARGO_MANIFEST_DIR", "w/ci/emulator"),
    ] {
        assert_eq!(tree.find(&[(variable, tree.path(folder))]).unwrap().root(), ours, "{folder}");
    }
    let other = tree.toolkit("usr", 12040);
    let found = tree.find(&[("OUT_DIR", tree.path("w/target/debug/build/cuda-sys-1/out"))]).unwrap();
    assert_eq!(found.root(), other);
}

#[test]
fn nothing_found_lists_every_place_and_the_ways_out() {
    let tree = Tree::new();
    fs::create_dir_all(tree.path("usr")).unwrap();
    fs::create_dir_all(tree.path("venv")).unwrap();
    let out = tree.path("w/target/debug/build/cuda-sys-1/out");
    let text = message(tree.find(&[("OUT_DIR", out), ("VIRTUAL_ENV", tree.path("venv"))]));
    let shown = |path: &str| tree.path(path).display().to_string();
    let places = [
        "CUDA_PATH: not set".to_owned(),
        "CUDA_HOME: not set".to_owned(),
        "CUDA_ROOT: not set".to_owned(),
        "CUDA_TOOLKIT_ROOT_DIR: not set".to_owned(),
        "nvcc on PATH: none".to_owned(),
        format!("{}: no such directory", shown("usr/local/cuda")),
        format!("{}: no such directory", shown("opt/cuda")),
        format!("{}: no cuda_runtime_api.h", shown("usr")),
        "CONDA_PREFIX: not set".to_owned(),
        format!("VIRTUAL_ENV: no CUDA wheels in {}", shown("venv")),
        format!("{}: no such directory", shown("w/target/cuda-toolkit")),
    ];
    let listed: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    assert_eq!(listed, places);
    for way in ["ci/setup", "set CUDA_PATH", "\"load\"", "CUDA_SYS_SNAPSHOT=1", "cuda-toolkit-13-0"] {
        assert!(text.contains(way), "{way}: {text}");
    }
}

#[test]
fn what_the_search_read_is_what_cargo_watches() {
    let tree = Tree::new();
    let env = Env::from_vars([("CUDA_PATH", tree.toolkit("a", 13000))]);
    Search::new(&env).find().unwrap();
    assert_eq!(env.asked(), ["CUDA_PATH"], "variables that could not matter are not watched");
    assert!(Path::new(&tree.path("a")).is_dir());
}
