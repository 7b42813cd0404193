//! The built library from outside: its exports, their version, and its dependencies.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use object::read::elf::{Dyn as _, ElfFile64, FileHeader as _};
use object::{Endianness, Object as _, ObjectSymbol as _, SymbolKind, elf};

use super::built;

/// The functions that a library exports.
fn functions(library: &Path) -> BTreeSet<String> {
    let data = std::fs::read(library).unwrap();
    let file = ElfFile64::<Endianness>::parse(&*data).unwrap();
    let exported = file.dynamic_symbols().filter(|it| it.kind() == SymbolKind::Text && it.is_definition());
    exported.map(|it| it.name().unwrap().to_owned()).collect()
}

/// The names that a library's dynamic section has under a tag.
fn dynamic(library: &Path, tag: u32) -> Vec<String> {
    let data = std::fs::read(library).unwrap();
    let file = ElfFile64::<Endianness>::parse(&*data).unwrap();
    let (header, endian) = (file.elf_header(), file.endian());
    let sections = header.sections(endian, &*data).unwrap();
    let (entries, link) = sections.dynamic(endian, &*data).unwrap().expect("a dynamic section");
    let strings = sections.strings(endian, &*data, link).unwrap();
    let wanted = entries.iter().filter(|it| it.tag32(endian) == Some(tag));
    wanted.map(|it| String::from_utf8(it.string(endian, strings).unwrap().to_vec()).unwrap()).collect()
}

/// The functions that a library exports, by their versions.
fn versions(library: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let data = std::fs::read(library).unwrap();
    let file = ElfFile64::<Endianness>::parse(&*data).unwrap();
    let (header, endian) = (file.elf_header(), file.endian());
    let sections = header.sections(endian, &*data).unwrap();
    let table = sections.versions(endian, &*data).unwrap().expect("versions");
    let exported = file.dynamic_symbols().filter(|it| it.kind() == SymbolKind::Text && it.is_definition());
    let mut all: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for it in exported {
        let version = match table.version(table.version_index(endian, it.index())).unwrap() {
            Some(version) => String::from_utf8(version.name().to_vec()).unwrap(),
            None => "none".to_owned(),
        };
        all.entry(version).or_default().insert(it.name().unwrap().to_owned());
    }
    all
}

/// The functions of CUDA 13.0.
fn listed() -> BTreeSet<String> {
    include_str!("../../exports.txt").lines().map(str::to_owned).collect()
}

/// The functions that later versions added.
fn newer() -> BTreeSet<String> {
    include_str!(concat!(env!("OUT_DIR"), "/exports-newer.txt")).lines().map(str::to_owned).collect()
}

#[test]
fn the_list_of_exports_is_that_of_the_installed_library() {
    let toolkit = built::toolkit();
    let installed = functions(toolkit.cudart());
    let listed = listed();
    let newer = toolkit.version() > cuda_sys_build::Version::new(13, 0);
    let missing: Vec<_> = installed.difference(&listed).collect();
    let extra: Vec<_> = listed.difference(&installed).collect();
    assert!(newer || missing.is_empty(), "not in exports.txt: {missing:?}");
    assert!(extra.is_empty(), "in exports.txt only: {extra:?}");
}

#[test]
fn the_library_has_the_name_that_programs_ask_for() {
    let library = built::folder().join("libcudart.so.13");
    assert_eq!(dynamic(&library, elf::DT_SONAME), ["libcudart.so.13"]);
}

#[test]
fn the_library_exports_what_the_lists_say_in_its_version_and_system_calls_in_the_c_librarys() {
    let mut exported = versions(&built::folder().join("libcudart.so.13"));
    let both: BTreeSet<_> = listed().union(&newer()).cloned().collect();
    assert_eq!(exported.remove("libcudart.so.13"), Some(both));
    assert!(exported.keys().all(|version| version.starts_with("GLIBC_")), "{:?}", exported.keys());
    let others: BTreeSet<_> = exported.into_values().flatten().collect();
    let calls = "read pread pread64 readv preadv recv recvfrom recvmsg fread
                 write pwrite pwrite64 writev pwritev send sendto sendmsg fwrite ioctl getrandom
                 sigaction signal sigprocmask pthread_sigmask";
    assert_eq!(others, calls.split_whitespace().map(str::to_owned).collect());
}

#[test]
fn the_library_needs_no_cuda_library() {
    let needed = dynamic(&built::folder().join("libcudart.so.13"), elf::DT_NEEDED);
    assert!(needed.iter().any(|name| name.starts_with("libc.")), "{needed:?}");
    assert!(!needed.iter().any(|name| name.contains("cuda")), "{needed:?}");
}
