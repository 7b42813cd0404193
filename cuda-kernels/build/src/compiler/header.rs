//! Reads the headers that declare the kernels: runs bindgen in C++ mode, with CUDA's keywords defined
//! away.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use bindgen::callbacks::ParseCallbacks;
use bindgen::{CodegenConfig, EnumVariation, Formatter};

use crate::Error;
use crate::compiler::agree::Facts;
use crate::compiler::clang::{KERNEL, annotation};
use crate::compiler::declared::{self, Declared};
use crate::compiler::prototype::GLOBAL_STANDS_FOR;
use crate::compiler::source::{self, Includes, ReadOptions};

/// The macro that is defined while bindgen reads the headers and sources in their order.
const WRAPPED: &str = "CUDA_KERNELS_BUILD";

/// What the names of the files start with that are only in this library's memory.
const OWN: &str = "cuda-kernels-build.own.";

/// The output of bindgen, and every file that it read.
#[derive(Debug)]
pub(crate) struct Bindings {
    pub(crate) text: String,
    pub(crate) variables: Vec<Declared>,
    /// Why kernels have no handle.
    pub(crate) warnings: Vec<String>,
    /// Whether instances of templates have handles.
    pub(crate) has_instances: bool,
    /// The symbols of functions that are no kernels.
    pub(crate) host_functions: BTreeSet<String>,
    /// What nvcc has to agree with.
    pub(crate) facts: Facts,
    /// The files that sources include, each with the source that does.
    pub(crate) included: BTreeMap<PathBuf, PathBuf>,
    pub(crate) files: Vec<PathBuf>,
}

/// The words of clang for a file that no folder has.
const NOT_FOUND: &str = "file not found";

/// Generates Rust for the declarations of these headers and sources. `arguments` are clang's, with the
/// include folders.
///
/// Some of the toolkit's headers are for the device compiler only. If the sources cannot be read with them,
/// they are read without.
pub(crate) fn bind(
    headers: &[PathBuf],
    sources: &[PathBuf],
    arguments: &[String],
) -> Result<Bindings, Error> {
    let all_types = bind_types(false, headers, sources, arguments);
    // A class that is not understood may seem to have no layout in Rust.
    let Err(error @ (Error::Header(_) | Error::Layout(_))) = all_types else { return all_types };
    bind_types(true, headers, sources, arguments).map_err(|second| match second {
        Error::Header(_) => error,
        other => other,
    })
}

/// The same. `leaves_types_out` says whether types that plain C++ does not take are left out.
fn bind_types(
    leaves_types_out: bool,
    headers: &[PathBuf],
    sources: &[PathBuf],
    arguments: &[String],
) -> Result<Bindings, Error> {
    let bind = |includes| bind_with(ReadOptions { includes, leaves_types_out }, headers, sources, arguments);
    let whole = bind(Includes::All);
    let Err(Error::Header(error)) = whole else { return whole };
    // Mistakes in the toolkit's own headers are none of the program.
    let folders = arguments.windows(2).filter(|pair| matches!(pair, [option, _] if option == "-isystem"));
    let is_in_toolkit = folders.flatten().any(|folder| error.contains(&format!("{folder}/")));
    let library = bind(Includes::WithLibrary);
    if !matches!(library, Err(Error::Header(_))) {
        return library;
    }
    bind(Includes::HostOnly).map_err(|second| match second {
        Error::Header(second) if is_in_toolkit || second.contains(NOT_FOUND) => Error::Header(second),
        _ => Error::Header(error),
    })
}

fn bind_with(
    options: ReadOptions,
    headers: &[PathBuf],
    sources: &[PathBuf],
    arguments: &[String],
) -> Result<Bindings, Error> {
    let includes = options.includes;
    let files = Files::default();
    let all = [headers, sources].concat();
    let mut arguments = arguments.to_vec();
    if sources.len() > 1 {
        // Two sources with different values for one name are refused: only one can become a constant.
        arguments.push("-Werror=macro-redefined".to_owned());
    }
    let mut prepared = source::prepare(&wrapper(&all, includes)?, headers, sources, &arguments, options)?;
    // A header that a source includes is read there, after all that comes before it in the source.
    let mut separate = all.clone();
    separate.retain(|file| !prepared.within.contains(file));
    if separate.len() < all.len() {
        prepared = source::prepare(&wrapper(&separate, includes)?, headers, sources, &arguments, options)?;
    }
    let generate = |prepared: &source::Prepared, files: &Files| {
        let read = Read { all: &all, separate: &separate, includes, arguments: &arguments };
        generate(&read, prepared, files)
    };
    let mut made = generate(&prepared, &files);
    if made.is_err() {
        let own = &wrapper(&separate, includes)?;
        let settled = source::settle(own, &mut prepared, &arguments, options.leaves_types_out)?;
        if let Some(mut warnings) = settled {
            prepared.warnings.append(&mut warnings);
            made = generate(&prepared, &files);
        }
    }
    let text = made.map_err(|error| refused(&all, &error))?.to_string();
    let files = files.borrow().iter().map(PathBuf::from).chain(all).collect();
    let source::Prepared { variables, warnings, has_instances, host_functions, facts, included, .. } =
        prepared;
    Ok(Bindings { text, variables, warnings, has_instances, host_functions, facts, included, files })
}

/// The files that bindgen has read.
type Files = Rc<RefCell<Vec<String>>>;

/// What bindgen reads: all headers and sources, those of them that no other one includes, and clang's
/// arguments.
struct Read<'a> {
    all: &'a [PathBuf],
    separate: &'a [PathBuf],
    includes: Includes,
    arguments: &'a [String],
}

fn generate(
    read: &Read<'_>,
    prepared: &source::Prepared,
    files: &Files,
) -> Result<bindgen::Bindings, bindgen::BindgenError> {
    let mut builder = bindgen::Builder::default()
        .clang_args(["-x", "c++", "-std=c++17", "-w"])
        .clang_args(read.arguments)
        .with_codegen_config(CodegenConfig::TYPES | CodegenConfig::VARS | CodegenConfig::FUNCTIONS)
        .default_enum_style(EnumVariation::NewType { is_bitfield: false, is_global: false })
        .enable_function_attribute_detection()
        .derive_default(true)
        .derive_partialeq(true)
        .generate_comments(true)
        .use_core()
        .formatter(Formatter::None)
        .parse_callbacks(Box::new(ReadFiles { files: Rc::clone(files) }));
    for header in read.all.iter().chain(&prepared.also) {
        builder = builder.allowlist_file(escape(&header.to_string_lossy()));
    }
    for constant in &prepared.constants {
        builder = builder.allowlist_var(constant);
    }
    // bindgen includes these files in this order. A file that others include has its own text only there.
    let words = format!("#define {WRAPPED}\n{}", words(read.includes));
    builder = builder.header_contents(&format!("{OWN}start.hpp"), "");
    builder = builder.header_contents(&format!("{OWN}words.hpp"), &words);
    for (path, text) in prepared.texts.iter().filter(|(path, _)| read.separate.contains(path)) {
        builder = builder.header_contents(&path.to_string_lossy(), text);
    }
    builder = builder.header_contents(&format!("{OWN}end.hpp"), &format!("#undef {WRAPPED}"));
    for (path, text) in prepared.texts.iter().filter(|(path, _)| !read.separate.contains(path)) {
        let text = format!("#ifdef {WRAPPED}\n{text}\n#endif\n");
        builder = builder.header_contents(&path.to_string_lossy(), &text);
    }
    builder.generate()
}

/// Returns the error of headers and sources that bindgen cannot read.
fn refused(all: &[PathBuf], error: &bindgen::BindgenError) -> Error {
    let headers = all.iter().map(|header| header.display().to_string()).collect::<Vec<_>>().join(", ");
    let (said, is_own) = without_own_place(&error.to_string());
    let advice = if is_own {
        "; the headers of a C++ compiler for the target are needed: install one (Debian: g++), and for \
         another target than this machine set NVCC_CCBIN or CXX_TARGET to it"
    } else if said.contains(NOT_FOUND) {
        "; name the folder of that file by `Build::include`, or remove the line if the kernels do not need it"
    } else {
        ""
    };
    Error::Header(format!(
        "the kernels' prototypes could not be read as plain C++ ({headers}): {said}{advice}"
    ))
}

/// Leaves out of clang's message the places in files that are only in this library's memory, and returns
/// whether there were any: these files include the C++ library's headers and CUDA's, and no others.
fn without_own_place(said: &str) -> (String, bool) {
    let mut is_own = false;
    let lines = said.trim_end().lines().map(|line| {
        let Some((before, after)) = line.split_once(OWN) else { return line.to_owned() };
        is_own = true;
        // The place is a path, which may have spaces, with line and column.
        let before = before.split_once(": /").map_or(String::new(), |(words, _)| format!("{words}: "));
        before + after.split_once(": ").map_or(after, |(_, words)| words)
    });
    (lines.collect::<Vec<_>>().join("\n"), is_own)
}

/// Writes the header that replaces CUDA's if there is no toolkit, and returns its folder.
pub(crate) fn stand_in(out: &Path) -> Result<PathBuf, Error> {
    let folder = out.join("stand-in");
    fs::create_dir_all(&folder).map_err(Error::of_file(&folder))?;
    for name in ["cuda_runtime.h", "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "cuda_fp4.h"] {
        let file = folder.join(name);
        fs::write(&file, include_str!("stand_in.h")).map_err(Error::of_file(&file))?;
    }
    Ok(folder)
}

/// Returns the start of a file that includes the headers: CUDA's own header, and CUDA's keywords as
/// attributes that bindgen and libclang report.
fn words(includes: Includes) -> String {
    // Programs take these from headers for devices.
    let standard = match includes {
        Includes::All => "",
        Includes::WithLibrary | Includes::HostOnly => {
            "#include <functional>\n#include <limits>\n#include <utility>\n"
        }
    };
    format!(
        "{standard}#include <cuda_runtime.h>\n\
         #undef __global__\n#define __global__ __attribute__(({GLOBAL_STANDS_FOR}, {}))\n\
         #undef __launch_bounds__\n#define __launch_bounds__(...)\n\
         #undef __cluster_dims__\n#define __cluster_dims__(...)\n\
         #undef __grid_constant__\n#define __grid_constant__\n\
         #undef __noinline__\n#define __noinline__\n",
        annotation(KERNEL)
    ) + &declared::words()
}

/// Returns a file that includes the headers after CUDA's own.
fn wrapper(headers: &[PathBuf], includes: Includes) -> Result<String, Error> {
    let mut text = words(includes);
    for header in headers {
        let name = header.to_str().ok_or_else(|| {
            Error::Header(format!("{}: a header's path must be readable text", header.display()))
        })?;
        text.push_str(&format!("#include {:?}\n", Path::new(name)));
    }
    Ok(text)
}

/// Returns a regular expression that matches only this path.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if !character.is_alphanumeric() && !"/_ ".contains(character) && character.is_ascii() {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[derive(Debug)]
struct ReadFiles {
    files: Rc<RefCell<Vec<String>>>,
}

impl ParseCallbacks for ReadFiles {
    fn header_file(&self, name: &str) {
        self.files.borrow_mut().push(name.to_owned());
    }

    fn include_file(&self, name: &str) {
        self.files.borrow_mut().push(name.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuda_words_are_defined_after_cudas_own_headers() {
        let text = wrapper(&[PathBuf::from("/k/a b.cuh")], Includes::All).unwrap();
        let runtime = text.find("#include <cuda_runtime.h>").unwrap();
        let global = text.find("#define __global__ __attribute__((noreturn, ").unwrap();
        let ours = text.find("#include \"/k/a b.cuh\"").unwrap();
        assert!(runtime < global && global < ours, "{text}");
    }

    #[test]
    fn a_path_with_signs_matches_only_itself() {
        assert_eq!(escape("/a-b/c++/x.cuh"), "/a\\-b/c\\+\\+/x\\.cuh");
    }

    /// Reads a header with this text. It needs a toolkit's headers and libclang, as every build does.
    fn read(header: &str) -> Result<Bindings, Error> {
        read_file("kernels.cuh", header)
    }

    /// Reads a header or a source.
    fn read_file(name: &str, text: &str) -> Result<Bindings, Error> {
        read_files(&[name], &[(name, text)])
    }

    /// Reads those of the files that are named.
    fn read_files(named: &[&str], files: &[(&str, &str)]) -> Result<Bindings, Error> {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        for (name, text) in files {
            std::fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
            std::fs::write(folder.join(name), text).unwrap();
        }
        let named = named.iter().map(|name| folder.join(name));
        let (sources, headers): (Vec<_>, Vec<_>) =
            named.partition(|file| file.extension().is_some_and(|end| end == "cu"));
        let env = cuda_sys_build::Env::from_process();
        let toolkit = cuda_sys_build::Search::new(&env).find().unwrap();
        let mut arguments = cuda_sys_build::prepare_libclang(&env).unwrap();
        for include in toolkit.includes() {
            for folder in [include.clone(), include.join("cccl")] {
                arguments.extend(["-isystem".to_owned(), folder.display().to_string()]);
            }
        }
        let bindings = bind(&headers, &sources, &arguments)?;
        for file in sources.iter().chain(&headers) {
            assert!(bindings.files.contains(file), "{:?}", bindings.files);
        }
        Ok(bindings)
    }

    #[test]
    fn device_code_without_a_handle_is_not_read() {
        let body = "__device__ inline int sum(int v) { return __shfl_down_sync(0xffffffffu, v, 16); }";
        assert!(generated(&format!("{body}\n__global__ void move(int* data);")).contains("move_"));
        let device_only = format!("constexpr {body}\n__device__ float sum(cg::thread_block block, float x);");
        let bindings = read(&format!("{device_only}\n__global__ void move(int* data);")).unwrap();
        assert!(text_of(&bindings).contains("static move_: ") && bindings.warnings.is_empty());
    }

    /// Returns the text that a crate would include for the header.
    fn generated(header: &str) -> String {
        text_of(&read(header).unwrap())
    }

    fn text_of(bindings: &Bindings) -> String {
        let contents = crate::compiler::placement::Contents::of(bindings).unwrap();
        let placement = crate::compiler::placement::Placement::unknown(&contents);
        crate::compiler::generate::generate(&contents, &placement).unwrap()
    }

    #[test]
    fn real_prototypes_become_handles_of_their_very_types() {
        let text = generated(
            r#"
            #pragma once
            #include <cuda_runtime.h>
            #include <cstdint>
            typedef float real;
            enum class Way : int { Up = 1 };
            extern "C" __global__ void plain(const float* a, float* b, unsigned n);
            __global__ void __launch_bounds__(128, 2) bounded(float3 a, uint8_t b, int64_t c, bool d, size_t e, Way f);
            namespace outer { namespace inner { __global__ void deep(const real* __restrict__ p); } }
            __global__ void pointers(float** pp, const int* const* cpp, void* v, int fixed[4], cudaTextureObject_t t);
            __global__ void same(float* p);
            __global__ void same(double* p);
            __global__ void flag(const volatile unsigned* flag);
            typedef cudaTextureObject_t image_t;
            using shown_t = image_t;
            typedef const real* reals;
            __global__ void named(shown_t image, reals from, real* const to, real by);
            "#,
        );
        for expected in [
            "static plain: ::cuda_safe::launch::Checked<(*const f32, *mut f32, u32)>",
            "static bounded: ::cuda_safe::launch::Checked<(float3, u8, i64, bool, usize, Way)>",
            "static outer_inner_deep: ::cuda_safe::launch::Checked<(*const real,)>",
            "#[link_name = \"_ZN5outer5inner4deepEPKf\"]",
            "Kernel<(*mut *mut f32, *const *const i32, *mut :: core :: ffi :: c_void, *mut i32, \
             ::cuda_safe::launch::TextureObject)>",
            "static same: ::cuda_safe::launch::Checked<(*mut f32,)>",
            "static same1: ::cuda_safe::launch::Checked<(*mut f64,)>",
            "static flag: ::cuda_safe::launch::Checked<(*const u32,)>",
            "static named: ::cuda_safe::launch::Checked<(::cuda_safe::launch::TextureObject, *const real, \
             *mut real, real)>",
        ] {
            assert!(text.contains(expected), "{expected} is not in {text}");
        }
    }

    #[test]
    fn what_is_no_kernel_has_no_handle() {
        let text = generated(
            r#"
            #include <cuda_runtime.h>
            __device__ float device_function(float x);
            __host__ __device__ inline float both(float x) { return x; }
            int host_function(int n);
            template <typename T> __global__ void templated(T* p);
            extern __constant__ float table[4];
            "#,
        );
        assert!(!text.contains("Kernel<") && !text.contains("Checked<"), "{text}");
    }

    #[test]
    fn real_variables_become_handles_whichever_way_they_are_declared() {
        let text = generated(
            r#"
            #include <cuda_runtime.h>
            struct Tap { float weight; int offset; };
            /// The filter.
            __constant__ float filter[9];
            extern __constant__ float plane[3][4];
            namespace outer { namespace inner { __device__ int counter = 5; } }
            __device__ __managed__ unsigned long long both;
            extern "C" { __constant__ Tap taps[2] = {{1.0f, 0}, {0.5f, 1}}; }
            static __device__ double local = 2.5;
            extern "C" __constant__ int number;
            __device__ const int known = 4;
            __constant__ const float table[2] = {1, 2};
            int host;
            template <class T> __device__ T templated;
            struct S { static __device__ int member; };
            __device__ float function(float x);
            "#,
        );
        for expected in [
            "#[doc = \" The filter.\"]",
            "static filter: ::cuda_safe::launch::Symbol<f32>",
            "Space::Constant, 0, 9usize)",
            "static plane: ::cuda_safe::launch::Symbol<f32>",
            "3usize * 4usize)",
            "static outer_inner_counter: ::cuda_safe::launch::Symbol<i32>",
            "Space::Device, 0, 1)",
            "static both: ::cuda_safe::launch::Symbol<u64>",
            "Space::Managed, 0, 1)",
            "static taps: ::cuda_safe::launch::Symbol<Tap>",
            "static local: ::cuda_safe::launch::Symbol<f64>",
            "static number: ::cuda_safe::launch::Symbol<i32>",
            "pub const known",
        ] {
            assert!(text.contains(expected), "{expected} is not in {text}");
        }
        for absent in [
            "table:",
            "host:",
            "templated",
            "member:",
            "function:",
            "pub const outer_inner",
            "pub const local",
        ] {
            assert!(!text.contains(absent), "{absent} is in {text}");
        }
    }

    #[test]
    fn a_variable_that_no_handle_can_stand_for_is_an_error_that_names_it() {
        let error = |header: &str| read(header).unwrap_err().to_string();
        let unsized_array = error("extern __device__ float unsized_array[];");
        assert!(
            unsized_array.contains("`unsized_array`") && unsized_array.contains("kernels.cuh"),
            "{unsized_array}"
        );
        let nameless = error("namespace { __device__ int hidden; }");
        assert!(nameless.contains("`hidden`"), "{nameless}");
    }

    #[test]
    fn a_prototype_that_is_not_cpp_has_no_handle_and_the_warning_names_file_and_fault() {
        let bindings =
            read("__global__ void broken(unknown_type* p);\n__global__ void whole(int* p);").unwrap();
        assert!(
            text_of(&bindings).contains("static whole: ") && !text_of(&bindings).contains("static broken")
        );
        let [warning] = <[String; 1]>::try_from(bindings.warnings).unwrap();
        assert!(
            warning.contains("kernels.cuh:1: kernel `broken`") && warning.contains("'unknown_type'"),
            "{warning}"
        );
    }

    #[test]
    fn prototypes_can_be_read_without_a_toolkit() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kernels.cuh");
        let header = "#include <cuda_runtime.h>\n\
                      __global__ void k(const float4* in, dim3 d, size_t n, cudaGraphConditionalHandle c);";
        fs::write(&file, header).unwrap();
        let mut arguments = vec![format!("-I{}", stand_in(folder.path()).unwrap().display())];
        arguments.extend(cuda_sys_build::prepare_libclang(&cuda_sys_build::Env::from_process()).unwrap());
        let source = folder.path().join("kernels.cu");
        let text = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n\
                    __global__ void k(float* out) { *out = cg::this_grid().size(); }";
        fs::write(&source, text).unwrap();
        assert!(text_of(&bind(&[], &[source], &arguments).unwrap()).contains("static k: "));
        let text = text_of(&bind(&[file], &[], &arguments).unwrap());
        assert!(
            text.contains("(*const float4, dim3, usize, ::cuda_safe::launch::ConditionalHandle)"),
            "{text}"
        );
    }

    /// Returns clang's arguments for another target than this machine.
    fn arguments_for(target: &str, compiler: &str) -> Vec<String> {
        let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let own = std::env::vars().filter(|(name, _)| !["TARGET", "HOST"].contains(&name.as_str()));
        let cross = [("TARGET", target), ("HOST", &host), ("NVCC_CCBIN", compiler)];
        let vars = own.chain(cross.map(|(name, value)| (name.to_owned(), value.to_owned())));
        cuda_sys_build::prepare_libclang(&cuda_sys_build::Env::from_vars(vars)).unwrap()
    }

    #[test]
    fn prototypes_for_another_target_are_read_without_its_headers() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kernels.cu");
        let text = "#include <cooperative_groups.h>\n#include <cstdint>\n#include <vector>\n\
                    __global__ void k(float4* out, uint64_t n, size_t m) {}\n\
                    __global__ void f(int64_t n) {}";
        fs::write(&file, text).unwrap();
        // No machine has a compiler for this target.
        let cross = arguments_for("made_up-unknown-linux-gnu", "/no/such/c++");
        let stand_in = format!("-I{}", stand_in(folder.path()).unwrap().display());
        let toolkit = cuda_sys_build::Search::new(&cuda_sys_build::Env::from_process()).find().unwrap();
        let toolkit = toolkit.includes().iter().map(|folder| format!("-I{}", folder.display()));
        for includes in [vec![stand_in], toolkit.collect()] {
            let arguments = [includes, cross.clone()].concat();
            let text = text_of(&bind(&[], std::slice::from_ref(&file), &arguments).unwrap());
            for expected in ["Checked<(*mut float4, u64, usize)>", "_Z1kP6float4mm", "_Z1fl"] {
                assert!(text.contains(expected), "{expected} is not in {text}");
            }
        }
    }

    #[test]
    fn prototypes_for_another_target_are_read_with_the_headers_of_its_compiler() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, text).unwrap();
            file
        };
        write("library/stdint.h", "#ifdef __MACHINE__\ntypedef long int64_t;\n#endif");
        write("library/board.h", "struct Board { long pins; };");
        write("own/stddef.h", "typedef unsigned long size_t;");
        let compiler = write(
            "compiler",
            "folder=${0%/*}\n\
             case $1 in\n\
             -dumpmachine) echo MACHINE-poky-linux ;;\n\
             -print-file-name=include) echo $folder/own ;;\n\
             -E) printf '#include <...> search starts here:\\n %s\\nEnd of search list.\\n' $folder/library >&2 ;;\n\
             esac\n",
        );
        // The other one of the two.
        let other = if cfg!(target_arch = "x86_64") { "aarch64" } else { "x86_64" };
        for file in [&compiler, &folder.path().join("library/stdint.h")] {
            fs::write(file, fs::read_to_string(file).unwrap().replace("MACHINE", other)).unwrap();
        }
        let header = write(
            "kernels.cuh",
            "#include <cuda_runtime.h>\n#include <board.h>\n__global__ void k(Board* board, int64_t n);",
        );
        let mut arguments = vec![format!("-I{}", stand_in(folder.path()).unwrap().display())];
        let compiler = format!("sh {}", compiler.display());
        arguments.extend(arguments_for(&format!("{other}-unknown-linux-gnu"), &compiler));
        let text = text_of(&bind(&[header], &[], &arguments).unwrap());
        assert!(text.contains("Checked<(*mut Board, i64)>"), "{text}");
    }

    #[test]
    fn an_error_names_files_of_the_program_and_none_that_only_this_library_has() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kernels.cu");
        fs::write(&file, "#include <cuda_runtime.h>\n__global__ void k(float* out) {}").unwrap();
        // A machine without the headers of a C++ compiler.
        let mut arguments = arguments_for("made_up-unknown-linux-gnu", "/no/such/c++");
        arguments.extend(["-nostdinc".to_owned(), "-nostdinc++".to_owned()]);
        for includes in [Includes::All, Includes::HostOnly] {
            let error = bind_with(
                ReadOptions { includes, leaves_types_out: false },
                &[],
                std::slice::from_ref(&file),
                &arguments,
            )
            .unwrap_err()
            .to_string();
            assert!(error.contains("kernels.cu)") && error.contains("file not found"), "{error}");
            assert!(error.contains("C++ compiler") && !error.contains(".hpp"), "{error}");
        }
        let said =
            format!("clang diagnosed error: /a b/{OWN}words.hpp:2:10: fatal error: 'x' file not found\n");
        let (said, is_own) = without_own_place(&said);
        assert!(is_own && said == "clang diagnosed error: fatal error: 'x' file not found", "{said}");
        let said = "/a/kernels.cu:1:1: error: unknown type name 'y'";
        assert_eq!(without_own_place(said), (said.to_owned(), false));
    }

    #[test]
    fn a_source_is_read_without_a_header() {
        let bindings = read_file(
            "kernels.cu",
            r#"
            #include <cuda_runtime.h>
            #include <cooperative_groups.h>
            #include <cooperative_groups/reduce.h>
            #include <mma.h>
            #include <vector>
            namespace cg = cooperative_groups;
            #define TILE 16
            struct Scale {
                float by;
                __device__ float operator()(float x) const { return __expf(x) * by; }
            };
            struct Body { Body() : at{1}, size(2) { __syncthreads(); } int at, size; };
            static __constant__ float factors[3];
            __device__ float helper(cg::thread_block group, float x) { return __shfl_sync(1, x, 2); }
            template <typename T> __device__ T twice(T x) { return __ldg(&x) + x; }
            /// Scales.
            extern "C" __global__ void __launch_bounds__(256)
            scale(float* data, Scale by, cudaTextureObject_t t, unsigned count) {
                auto group = cg::this_thread_block();
                extern __shared__ float part[];
                asm volatile("" : "=l"(data)); // }
            }
            namespace outer { __global__ void fill(int* data) { data[threadIdx.x] = '}'; } }
            template <typename T, int N> __global__ void reduce(const T* in, T* out) { out[0] = in[N]; }
            template __global__ void reduce<float, 256>(const float* in, float* out);
            template __global__ void reduce<unsigned, TILE>(const unsigned* in, unsigned* out);
            template <> __global__ void reduce<Scale, 1>(const Scale* in, Scale* out) { out[0] = in[0]; }
            template <bool A, int N, bool B> __global__ void flags(float* data, int (*rows)[4], Scale by) {}
            template __global__ void flags<true, (2 > 1), false>(float* __restrict__, int (*)[4], Scale);
            std::vector<float> host(std::vector<float>& v) {
                scale<<<1, 256>>>(v.data(), {}, 0, 1);
                return v;
            }
            int main() { std::vector<float> v; host(v); }
            "#,
        )
        .unwrap();
        let text = text_of(&bindings);
        for expected in [
            "static scale: ::cuda_safe::launch::Checked<(*mut f32, Scale, \
             ::cuda_safe::launch::TextureObject, u32)>",
            "#[doc = \" Scales.\"]",
            "static outer_fill: ::cuda_safe::launch::Checked<(*mut i32,)>",
            "static reduce_float_256: ::cuda_safe::launch::Checked<(*const f32, *mut f32)>",
            "#[link_name = \"_Z6reduceIfLi256EEvPKT_PS0_\"]",
            "static reduce_unsigned_int_16: ::cuda_safe::launch::Checked<(*const u32, *mut u32)>",
            "static reduce_Scale_1: ::cuda_safe::launch::Checked<(*const Scale, *mut Scale)>",
            "static flags_true_1_false: ",
            ".with_parameter_names(&[\"data\", \"#2\", \"by\"])",
            "static factors: ::cuda_safe::launch::Symbol<f32>",
            "pub const TILE : u32 = 16",
        ] {
            assert!(text.contains(expected), "{expected} is not in {text}");
        }
        for absent in ["helper", "twice", "host", "main", "vector"] {
            assert!(!text.contains(absent), "{absent} is in {text}");
        }
        assert_eq!(bindings.warnings, [""; 0]);
    }

    #[test]
    fn kernels_and_variables_in_files_that_a_source_includes_have_handles() {
        let bindings = read_files(
            &["main.cu"],
            &[
                (
                    "main.cu",
                    "#include \"common.h\"\n#include \"kernels.h\"\n#include \"first.h\"\n\
                     int main() { return 0; }",
                ),
                ("first.h", "__global__ void first(Box<float> box) {}"),
                (
                    "common.h",
                    "#include <cstdint>\n#include <cub/cub.cuh>\n#define OTHER 1\ntypedef uint32_t count;\n\
                     template <class T> struct Box { T it; };\n\
                     template <class T> auto moved(T&& it) -> decltype(std::forward<T>(it)) { return it; }\n\
                     namespace { __device__ int hidden; }",
                ),
                (
                    "kernels.h",
                    "#define BLOCK 64\n__constant__ float table[3];\n\
                     static inline __device__ int lane() { return threadIdx.x & 31; }\n\
                     __global__ void scale(float* data, count n) { data[lane()] *= table[0]; }\n\
                     template <class T> __global__ void fill(T* data) { data[0] = 1; }",
                ),
            ],
        )
        .unwrap();
        let text = text_of(&bindings);
        for expected in [
            "static scale: ::cuda_safe::launch::Checked<(*mut f32, count)>",
            "static first: ::cuda_safe::launch::Checked<(Box_float,)>",
            "static table: ::cuda_safe::launch::Symbol<f32>",
            "pub const BLOCK : u32 = 64",
            "pub const OTHER : u32 = 1",
        ] {
            assert!(text.contains(expected), "{expected} is not in {text}");
        }
        assert!(!text.contains("hidden"), "{text}");
        let [warning] = bindings.warnings.as_slice() else { panic!("{:?}", bindings.warnings) };
        assert!(warning.contains("kernels.h:5: kernel `fill` has no handle"), "{warning}");
    }

    #[test]
    fn a_header_that_a_source_includes_is_read_where_the_source_includes_it() {
        let files = [
            ("main.cu", "typedef float real;\n#include \"h.h\"\n__global__ void k(Point p) {}"),
            ("h.h", "struct Point { real x; };\nstruct Unused { real y; };\n#define SIDE 4"),
        ];
        let text = text_of(&read_files(&["h.h", "main.cu"], &files).unwrap());
        for expected in ["static k: ", "pub struct Unused", "pub const SIDE"] {
            assert!(text.contains(expected), "{expected} is not in {text}");
        }
    }

    #[test]
    fn a_program_may_have_a_folder_cuda_and_member_templates_outside_of_their_class() {
        let class = "template <class T, int N> struct Part {\n  template <class U> void set(U);\n\
                     T at;\n};\n\
                     template <class T, int N>\ntemplate <class U>\n__device__ void Part<T, N>::set(U to) {\n\
                     at = __ldg(&to);\n}\n";
        let source = "#include <mma.h>\n#include \"cuda/part.cuh\"\nnamespace wmma = nvcuda::wmma;\n\
                      __global__ void k(Simple s, int* p) {}";
        let class = format!("{class}struct Simple {{ int x; }};");
        let files = [("main.cu", source), ("cuda/part.cuh", &*class)];
        assert!(text_of(&read_files(&["main.cu"], &files).unwrap()).contains("Checked<(Simple, *mut i32)>"));
    }

    #[test]
    fn instances_of_class_templates_among_parameters_become_plain_structs() {
        let bindings = read_file(
            "kernels.cu",
            r#"
            namespace outer {
                template <class T, int N> class View {
                    T* __restrict__ data; int size[N]; float4 v; struct Hidden { short s; } hidden;
                public:
                    struct Step { int by; };
                    __device__ T& at(int i) { return data[i]; }
                };
                /// Views.
                __global__ void first(View<float, 2> in, const View<int, 1>* many, int n) { in.at(n) = 1; }
            }
            template <class T> struct Dims { T sizes[2]; };
            template <int N> struct Odd { char c[N + 2]; };
            template <class T> struct Bits { T low : 3; };
            template <class T> struct Declared;
            template <class T> __global__ void write(Dims<T> to, Bits<T>* bits, unsigned count) {}
            template __global__ void write<long long>(
                Dims<long long> to, Bits<long long>* bits, unsigned count
            );
            extern "C" __global__ void second(
                outer::View<float, 2> in, Dims<long long> to, Declared<int>* later
            ) {}
            __global__ void third(Declared<int> now);
            #define EIGHT int, int, int, int, int, int, int, int
            __global__ void wide(EIGHT, EIGHT, EIGHT, EIGHT, int);
            #define NO 0
            /// Fourth.
            __global__ void fourth(const outer::View<float, 2>::Step step, Dims<short>*, Odd<-1> a, Odd<1>) {}
            "#,
        )
        .unwrap();
        let text = text_of(&bindings);
        for expected in [
            "pub struct outer_View_float_2 { pub data : * mut f32 , \
             pub size : [:: core :: ffi :: c_int ; 2usize] , pub v : float4 , \
             pub hidden : [:: core :: ffi :: c_uchar ; 2usize] , }",
            "static outer_first: \
             ::cuda_safe::launch::Kernel<(outer_View_float_2, *const outer_View_int_1, i32)>",
            "#[link_name = \"_ZN5outer5firstENS_4ViewIfLi2EEEPKNS0_IiLi1EEEi\"]",
            "pub struct Dims_long_long { pub sizes : [:: core :: ffi :: c_longlong ; 2usize] , }",
            "align (8)",
            "pub struct Bits_long_long { pub bytes : [:: core :: ffi :: c_uchar ; 8usize] , }",
            "static write_long_long: \
             ::cuda_safe::launch::Checked<(Dims_long_long, *mut Bits_long_long, u32)>",
            "static second: ::cuda_safe::launch::Kernel<(outer_View_float_2, Dims_long_long, *mut Declared",
            "#[link_name = \"second\"]",
            "pub struct outer_View_float_2_Step { pub by :",
            "(outer_View_float_2_Step, *mut Dims_short, Odd_1, Odd_1_)",
            "#[doc = \" Views.\"]\n#[doc = \"\\n\\n Parameters: `(in_: outer_View",
            "#[doc = \" Fourth.\"]\n#[doc = \"\\n\\n Parameters: `(step: outer_View",
        ] {
            assert!(text.contains(expected), "{expected} is not in {text}");
        }
        assert!(!text.contains("static third") && !text.contains("static wide"), "{text}");
        let [third, wide] = bindings.warnings.as_slice() else { panic!("{:?}", bindings.warnings) };
        assert!(third.contains("`third` has no handle: it takes an instance of a class template"), "{third}");
        assert!(wide.contains("`wide` has no handle: it has more than 32 parameters"), "{wide}");
    }

    #[test]
    fn structs_with_bit_fields_or_nameless_unions_are_no_elements() {
        for fields in ["unsigned a : 3; unsigned b : 29; int c;", "union { int i; float f; }; int c;"] {
            let text = generated(&format!("struct S {{ {fields} }};\n__global__ void k(S* p);"));
            assert!(text.contains("ByValue for S {}") && !text.contains("bytemuck"), "{text}");
        }
        assert!(generated("struct S { int c; };\n__global__ void k(S* p);").contains("bytemuck::Pod"));
    }

    #[test]
    fn structs_with_a_destructor_are_arguments_if_a_kernel_takes_them() {
        let header = "struct Owner { ~Owner(); int* data; };\nstruct Both { Owner two[2]; };\n\
                      struct Other { ~Other(); };\ntypedef Both Alias;\n__global__ void k(Alias both);";
        let text = generated(header);
        for name in ["Owner", "Both"] {
            let expected = format!("unsafe impl ::cuda_safe::launch::ByValue for {name} {{}}");
            assert!(text.contains(&expected), "{expected} is not in {text}");
        }
        assert!(text.matches("#[derive(Clone, Copy)]").count() == 2, "{text}");
    }

    #[test]
    fn files_of_other_encodings_and_instances_of_host_functions_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kernels.h");
        fs::write(
            &file,
            b"\xef\xbb\xbf// M\xfcller\n__noinline__ __device__ int one() { return __ldg((int*)0); }\n",
        )
        .unwrap();
        let source = format!(
            "#include {file:?}\n\
             template <class T> T twice(T x) {{ return x + x; }}\ntemplate int twice<int>(int);\n\
             __global__ void k(int* p) {{}}"
        );
        let own = "template <class T> T half(T x) { return x / 2; }\ntemplate int half<int>(int);\n\
                   #define EXPORT(T) template T half<T>(T);\nEXPORT(long)\n";
        let files = [("main.cu", &*format!("#include \"own.h\"\n{source}")), ("own.h", own)];
        assert!(text_of(&read_files(&["main.cu"], &files).unwrap()).contains("static k"));
    }

    #[test]
    fn a_mistake_beside_headers_for_devices_is_named_and_theirs_are_not() {
        let text = "#include <cub/cub.cuh>\nstruct S { unknown_type x; };\n__global__ void k(S* p) {}";
        let said = read_file("k.cu", text).unwrap().warnings.join("\n");
        assert!(said.contains("'unknown_type'") && !said.contains("threadIdx"), "{said}");
    }

    #[test]
    fn a_missing_header_is_named_beside_headers_for_devices_too() {
        let text = "#include <cooperative_groups.h>\n#include \"missing.h\"\n__global__ void k(int* p) {}";
        let error = read_file("k.cu", text).unwrap_err().to_string();
        assert!(error.contains("'missing.h' file not found; name the folder"), "{error}");
    }

    #[test]
    fn a_source_may_specialize_and_instantiate_templates_of_functions() {
        for text in [
            "template <int N> __device__ constexpr int power(int x);\n\
             template <> __device__ constexpr int power<2>(int x) { return x * x; }\n",
            "template <typename T> __device__ T twice(T x) { return 2 * x; }\n\
             template __device__ int twice<int>(int);\n",
            "template <typename T> __device__ auto half(T x) { return x / 2; }\n\
             template <> __device__ auto half<int>(int x) { return x / 2; }\n",
        ] {
            let text = text_of(&read_file("k.cu", &format!("{text}__global__ void k(int* p) {{}}")).unwrap());
            assert!(text.contains("static k"), "{text}");
        }
    }

    #[test]
    fn a_template_that_is_declared_before_it_is_defined_has_its_instances_and_no_warning() {
        let with = |instance: &str| {
            let text = "template <typename T> __global__ void scale(T* data, T by);\n\
                        template <typename T> __global__ void scale(T* data, T by) { data[0] *= by; }\n";
            read_file("kernels.cu", &format!("{text}{instance}")).unwrap()
        };
        let bindings = with("template __global__ void scale<float>(float*, float);");
        assert!(text_of(&bindings).contains("static scale_float: "));
        assert_eq!(bindings.warnings, [""; 0]);
        let [warning] = <[String; 1]>::try_from(with("").warnings).unwrap();
        assert!(
            warning.contains("kernels.cu:1: kernel `scale` has no handle: it is a template"),
            "{warning}"
        );
    }

    #[test]
    fn numbers_of_64_bits_have_safe_handles_under_all_their_names() {
        let names =
            ["long", "unsigned long", "long long", "unsigned long long", "size_t", "int64_t", "long int"];
        let kernels =
            names.iter().enumerate().map(|(at, name)| format!("__global__ void k{at}({name} n, {name}* p);"));
        let text = generated(&format!("#include <cstdint>\n{}", kernels.collect::<String>()));
        for (at, ty) in ["i64", "u64", "i64", "u64", "usize", "i64", "i64"].iter().enumerate() {
            assert!(
                text.contains(&format!("static k{at}: ::cuda_safe::launch::Checked<({ty}, *mut {ty})>")),
                "{text}"
            );
        }
    }

    #[test]
    fn a_kernel_without_a_handle_is_named_with_its_line_and_the_reason() {
        let bindings = read_file(
            "kernels.cu",
            "static __global__ void hidden(int* p) { p[0] = threadIdx.x; }\n\
             namespace { __global__ void local(int* p) { p[0] = threadIdx.x; } }\n\
             template <typename T> __global__ void scale(T* p) { p[0] = threadIdx.x; }\n\
             #define MAKE(name) __global__ void name##_made(int* p) { p[0] = threadIdx.x; }\n\
             MAKE(one)\n\
             __global__ void plain(int* p) { hidden<<<1, 1>>>(p); }\n",
        )
        .unwrap();
        let text = text_of(&bindings);
        assert!(text.matches("Checked<").count() == 1 && text.contains("static plain"), "{text}");
        for (line, name, why) in [
            (1, "hidden", "static"),
            (2, "local", "namespace"),
            (3, "scale", "instance"),
            (5, "one_made", "macro"),
        ] {
            let start = format!("kernels.cu:{line}: kernel `{name}` has no handle: ");
            let found = bindings.warnings.iter().find(|warning| warning.contains(&start));
            assert!(found.is_some_and(|warning| warning.contains(why)), "{start}: {:?}", bindings.warnings);
        }
    }

    #[test]
    fn a_type_of_the_device_compiler_in_a_prototype_is_not_guessed() {
        let kernel = "namespace cg = cooperative_groups;\n__global__ void k(int* p, cg::thread_block b) {}";
        let bindings = read_file("kernels.cu", kernel).unwrap();
        assert!(!text_of(&bindings).contains("static k"));
        let [warning] = <[String; 1]>::try_from(bindings.warnings).unwrap();
        assert!(
            warning.contains("kernels.cu:2: kernel `k` has no handle") && warning.contains("'cg'"),
            "{warning}"
        );
        let member = "namespace cg = cooperative_groups;\nstruct S { cg::grid_group g; int n; };\n\
                      __global__ void k(S s) {}";
        let bindings = read_file("kernels.cu", member).unwrap();
        assert!(!text_of(&bindings).contains("static k") && !text_of(&bindings).contains("struct S"));
        assert_eq!(bindings.warnings.len(), 2, "{:?}", bindings.warnings);
    }
}
