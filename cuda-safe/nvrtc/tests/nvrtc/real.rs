//! NVRTC itself, whose PTX the runtime loads. It is ignored where NVRTC is not installed for sure:
//! `ci/test nvrtc` fetches NVIDIA's wheel and runs it.
#![expect(unsafe_code, reason = "declares the parameters of kernels, and launches them")]

use std::error::Error;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use cuda_nvrtc::{Cache, ErrorKind, Nvrtc, Options, Source, Standard};
use cuda_safe::{DeviceBuffer, Library, Stream, launch};

/// Not under sanitizers: the sources of the bundle have no NVRTC.
/// Not in the bundle: it needs NVRTC.
#[test]
#[ignore = "needs NVRTC: ci/test nvrtc"]
fn a_kernel_that_nvrtc_compiled_runs() -> Result<(), Box<dyn Error>> {
    let source = Source::new(
        "axpy.cu",
        "#include \"line.h\"
        __device__ int hits = 3;
        template <typename T> __global__ void axpy(T a, const T* x, T* y, unsigned n) {
            unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) y[i] = line(a, x[i], y[i]) + N;
            if (i == 0) ++hits;
        }",
    )
    .header("line.h", "template <typename T> __device__ T line(T a, T x, T y) { return a * x + y; }")
    .name("axpy<float>")
    .name("&hits");
    let options = Options::new((7, 5)).define("N", "2").line_info().standard(Standard::Cpp20);
    let nvrtc = Nvrtc::get()?;
    assert!(nvrtc.version() >= (12, 4) && nvrtc.architectures()?.contains(&90));
    let folder = tempfile::tempdir()?;
    let mut results = Vec::new();
    for is_cached in [false, true] {
        let compiled = nvrtc.compile_cached(&source, &options, &Cache::at(folder.path()))?;
        assert_eq!(compiled.is_cached(), is_cached);
        let library = Library::from_ptx(compiled.ptx())?;
        // SAFETY: the parameters are those of the source.
        let axpy =
            unsafe { library.kernel::<(f32, *const f32, *mut f32, u32)>(compiled.lowered("axpy<float>")?) }?;
        let mut hits = library.global::<i32>(compiled.lowered("&hits")?)?;
        let axpy = axpy.using(hits.access_mut())?;
        let (stream, x) = (Stream::new()?, DeviceBuffer::from_slice(&[1.5_f32; 1000])?);
        let mut y = DeviceBuffer::from_slice(&[1.0_f32; 1000])?;
        // SAFETY: both buffers have as many elements.
        unsafe { launch!(axpy<<<4, 256, 0, &stream>>>(2.0, &x, &mut y, 1000)) }?;
        results.push((y.to_vec()?, hits.to_vec()?));
    }
    assert_eq!(results, vec![(vec![6.0; 1000], vec![4]); 2]);
    Ok(())
}

/// Not under sanitizers: the sources of the bundle have no NVRTC.
/// Not in the bundle: it needs NVRTC.
#[test]
#[ignore = "needs NVRTC: ci/test nvrtc"]
fn a_result_is_not_cached_if_a_file_was_read_however_it_is_named() -> Result<(), Box<dyn Error>> {
    let nvrtc = Nvrtc::get()?;
    let folder = tempfile::Builder::new().prefix("nvrtc").tempdir()?;
    let odd = folder.path().join(OsStr::from_bytes(b"\xff"));
    std::fs::create_dir(&odd)?;
    let (file, cache) = (folder.path().join("v.h"), Cache::at(folder.path().join("results")));
    let path = file.display().to_string();
    let value = "\nextern \"C\" __device__ int v = VALUE;\n";
    let asks = |by: &str| format!("#if {by}\n#define VALUE 1111\n#else\n#define VALUE 2222\n#endif{value}");
    let options = || Options::new((7, 5));
    let named = options().define("NAME", &*format!("\"{path}\""));
    let source = |text: String| Source::new("a.cu", text + value);
    let all = [
        (source(format!("#include \"{path}\"")), options()),
        (source(format!("#include <{path}>")), options()),
        (source(format!("#include /* why */ \"{path}\"")), options()),
        (source(format!("# /* why */ include \"{path}\"")), options()),
        (source(format!("#inc\\\nlude \"{path}\"")), options()),
        (source(format!("#inc??/\nlude \"{path}\"")), options().standard(Standard::Cpp11)),
        (source(format!("??=include \"{path}\"")), options().standard(Standard::Cpp11)),
        (source(format!("%:include \"{path}\"")), options()),
        (source(format!("#include_next \"{path}\"")), options()),
        (source("#include NAME".to_owned()), named.clone()),
        (source("#include \"t.h\"".to_owned()).header("t.h", format!("#include \"{path}\"")), options()),
        (source("#include \"v.h\"".to_owned()), options().include(folder.path())),
        (source("#include \"w.h\"".to_owned()), options().include(&odd)),
        (Source::new("a.cu", asks(&format!("__has_include(\"{path}\")"))), options()),
        (Source::new("a.cu", asks("__has_include(NAME)")), named),
        (Source::new("a.cu", asks("HAS")), options().define("HAS", &*format!("__has_include(\"{path}\")"))),
    ];
    for (source, options) in &all {
        std::fs::write(&file, "#define VALUE 1111\n")?;
        std::fs::write(odd.join("w.h"), "#define VALUE 1111\n")?;
        let first = nvrtc.compile_cached(source, options, &cache)?;
        assert!(first.ptx().contains("v = 1111;"), "{source:?}: {}", first.log());
        std::fs::write(odd.join("w.h"), "#define VALUE 2222\n")?;
        std::fs::write(&file, "#define VALUE 2222\n")?;
        if first.ptx() == nvrtc.compile(source, options)?.ptx() {
            std::fs::remove_file(&file)?;
        }
        let second = nvrtc.compile_cached(source, options, &cache)?;
        assert!(second.ptx().contains("v = 2222;") && !second.is_cached(), "{source:?}");
    }
    Ok(())
}

/// Not under sanitizers: the sources of the bundle have no NVRTC.
/// Not in the bundle: it needs NVRTC.
#[test]
#[ignore = "needs NVRTC: ci/test nvrtc"]
fn messages_name_the_source_and_its_line_and_the_current_folder_is_not_searched() -> Result<(), Box<dyn Error>>
{
    let nvrtc = Nvrtc::get()?;
    let wrong = Source::new("wrong.cu", "__global__ void wrong() {\n    y[0] = 1;\n}");
    let error = nvrtc.compile(&wrong, &Options::new((7, 5))).unwrap_err();
    let ErrorKind::Compile(log) = error.kind() else { return Err(error.into()) };
    assert!(log.contains("wrong.cu(2): error: identifier \"y\" is undefined"), "{log}");
    // The tests run in the package's folder.
    let folder = Source::new("a.cu", "#include \"Cargo.toml\"");
    let error = nvrtc.compile(&folder, &Options::new((7, 5))).unwrap_err();
    assert!(error.to_string().contains("could not open source file \"Cargo.toml\""), "{error}");
    let unknown = Options::new((7, 5)).other("--no-such-option");
    let error = nvrtc.compile(&Source::new("a.cu", ""), &unknown).unwrap_err();
    assert!(error.to_string().contains("NVRTC_ERROR_INVALID_OPTION"), "{error}");
    let name = Source::new("a.cu", "").name("no_such_kernel");
    let error = nvrtc.compile(&name, &Options::new((7, 5))).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Compile(_) | ErrorKind::Nvrtc { .. }), "{error}");
    Ok(())
}
