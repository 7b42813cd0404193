//! What NVRTC is given, what comes back, and what the cache saves, with a stand-in for libnvrtc.
//!
//! Not under sanitizers: it uses no GPU.
//! Not in the bundle: the stand-in is compiled from its source.
#![expect(unsafe_code, reason = "loads the stand-in, and counts its calls by an environment variable")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use cuda_nvrtc::{Cache, ErrorKind, Nvrtc, Options, Source};

/// Compiles the stand-in once. Returns its file.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libnvrtc-stand-in.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_in/nvrtc.c");
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        // A test has a process of its own, which does the same: the file appears whole.
        let own = file.with_extension(std::process::id().to_string());
        let done = Command::new(compiler).args(["-shared", "-fPIC", "-o"]).arg(&own).arg(source).status();
        assert!(done.unwrap().success());
        std::fs::rename(&own, &file).unwrap();
        file
    })
}

fn nvrtc() -> Nvrtc {
    // SAFETY: the stand-in has NVRTC's functions.
    unsafe { Nvrtc::open(library()) }.unwrap()
}

#[test]
fn a_compilation_passes_all_on_and_returns_text_names_and_log() {
    let source = Source::new("a.cu", "text").header("b.h", "inside").name("f<int>").name("&v");
    let options = Options::new((9, 0)).define("N", "4").line_info();
    let compiled = nvrtc().compile(&source, &options).unwrap();
    assert_eq!(
        compiled.ptx(),
        "source a.cu: text\nheader b.h: inside\nname f<int>\nname &v\noption --gpu-architecture=compute_90\n\
         option --no-source-include\noption --define-macro=N=4\noption --generate-line-info\n"
    );
    assert_eq!((compiled.lowered("f<int>").unwrap(), compiled.lowered("&v").unwrap()), ("_Zf<int>", "_Z&v"));
    assert_eq!((compiled.log(), compiled.is_cached()), ("a warning", false));
    let error = compiled.lowered("g").unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Refused(why) if why.contains("Source::name(\"g\")")),
        "{error}"
    );
    assert_eq!((nvrtc().version(), nvrtc().architectures().unwrap()), ((13, 9), vec![75, 90]));
}

#[test]
fn an_error_has_the_log_and_the_line_of_the_caller() {
    let options = || Options::new((9, 0));
    let error = nvrtc().compile(&Source::new("a.cu", "wrong"), &options()).unwrap_err();
    let line = line!() - 1;
    assert_eq!(*error.kind(), ErrorKind::Compile("a.cu(1): error".to_owned()));
    assert_eq!((error.call_site().file(), error.call_site().line()), (file!(), line));
    let error = nvrtc().compile(&Source::new("a.cu", ""), &options().other("--unknown")).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("nvrtcCompileProgram: NVRTC_ERROR_INVALID_OPTION: unrecognized --unknown, at "),
        "{text}"
    );
    let error = nvrtc().compile(&Source::new("a.cu", "a\0b"), &options()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Refused(_)), "{error}");
    // SAFETY: nothing is loaded.
    let error = unsafe { Nvrtc::open("/nowhere/libnvrtc.so") }.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Missing(why) if why.contains("/nowhere/libnvrtc.so")),
        "{error}"
    );
    assert_eq!(error.call_site().file(), file!());
    let compiled = nvrtc().compile(&Source::new("a.cu", ""), &options()).unwrap();
    assert_eq!(compiled.lowered("g").unwrap_err().call_site().file(), file!());
    if let Err(error) = Nvrtc::get() {
        assert_eq!(error.call_site().file(), file!());
    }
}

/// Counts the compilations of a child process.
#[test]
fn a_cached_result_is_compiled_once_and_one_that_may_read_files_each_time() {
    const CALLS: &str = "NVRTC_STAND_IN_CALLS";
    let Some(calls) = std::env::var_os(CALLS) else {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nvrtc-cache");
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).unwrap();
        let name = std::thread::current().name().unwrap().to_owned();
        let mut child = Command::new(std::env::current_exe().unwrap());
        let done = child.args(["--exact", &name]).env(CALLS, folder.join("calls")).status();
        assert!(done.unwrap().success());
        return;
    };
    let calls = PathBuf::from(calls);
    let count = || std::fs::read_to_string(&calls).unwrap_or_default().lines().count();
    let cache = Cache::at(calls.with_file_name("results"));
    let source = Source::new("a.cu", "text").name("f");
    let options = || Options::new((9, 0));
    let first = nvrtc().compile_cached(&source, &options(), &cache).unwrap();
    let second = nvrtc().compile_cached(&source, &options(), &cache).unwrap();
    assert_eq!((first.is_cached(), second.is_cached(), count()), (false, true, 1));
    assert_eq!((first.ptx(), first.log(), first.lowered("f").unwrap()), (second.ptx(), second.log(), "_Zf"));
    assert_eq!(second.lowered("f").unwrap(), "_Zf");
    // Other options, another source; files; a key for them.
    nvrtc().compile_cached(&source, &options().fast_math(), &cache).unwrap();
    nvrtc().compile_cached(&Source::new("a.cu", "other").name("f"), &options(), &cache).unwrap();
    assert_eq!(count(), 3);
    for _ in 0..2 {
        assert!(!nvrtc().compile_cached(&source, &options().include("/i"), &cache).unwrap().is_cached());
    }
    let absolute = Source::new("a.cu", "#include \"b.h\"").header("b.h", "#include \"/c.h\"");
    assert!(!nvrtc().compile_cached(&absolute, &options(), &cache).unwrap().is_cached());
    assert!(!nvrtc().compile_cached(&absolute, &options(), &cache).unwrap().is_cached());
    assert_eq!(count(), 7);
    // Another build of the same version.
    let other = calls.with_file_name("libnvrtc-other.so");
    let bytes = std::fs::read(library()).unwrap();
    std::fs::write(&other, [&bytes[..], &[0]].concat()).unwrap();
    // SAFETY: the same library, with a byte behind its end.
    let other = unsafe { Nvrtc::open(other) }.unwrap();
    for is_cached in [false, true] {
        assert_eq!(other.compile_cached(&source, &options(), &cache).unwrap().is_cached(), is_cached);
    }
    assert_eq!(count(), 8);
    let keyed = cache.key("cutlass 4.2");
    for is_cached in [false, true] {
        let compiled = nvrtc().compile_cached(&source, &options().include("/i"), &keyed).unwrap();
        assert_eq!(compiled.is_cached(), is_cached);
    }
    // Errors are not cached.
    for _ in 0..2 {
        assert!(nvrtc().compile_cached(&Source::new("a.cu", "wrong"), &options(), &keyed).is_err());
    }
    assert_eq!(count(), 11);
}
