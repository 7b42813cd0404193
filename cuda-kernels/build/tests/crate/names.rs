//! Kernels, parameters, variables, types, fields, enumerators and constants named as all words that the
//! generated text could take for others: those of Rust, of its prelude and of our macros and crates, and each
//! word that the text of another build has. The test `names` compiles what is generated for them.

use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use cuda_kernels_build::Build;

/// Keywords of all editions, types and attributes of the language, the prelude, our macros and crates.
const RUST: &str = "abstract as async await become box bool break char const continue crate do dyn else enum \
    extern f16 f32 f64 false final fn for gen i128 i16 i32 i64 i8 if impl in isize let loop macro match mod \
    move mut override priv pub raw ref return safe self Self static str struct super trait true try type \
    typeof u128 u16 u32 u64 u8 union unsafe unsized use usize virtual where while yield auto default \
    macro_rules alloc core proc_macro test derive allow inline doc repr link \
    AsMut AsRef Box Clone Copy Debug Default DoubleEndedIterator Drop Eq Err ExactSizeIterator Extend Fn \
    FnMut FnOnce From FromIterator Future Hash Into IntoFuture IntoIterator Iterator None Ok Option Ord \
    PartialEq PartialOrd Result Send Sized Some String Sync ToOwned ToString TryFrom TryInto Unpin Vec drop \
    align_of size_of mem ptr marker concat env eprintln format include include_bytes include_str line \
    matches panic print println stringify todo vec write writeln \
    cuda_safe cuda_sys cuda_kernels cuda_hazard cuda_proof bytemuck launch check include_kernels kernels \
    generated kernel own stub proof uses index value result stream grid block s f n state other storage";

/// The words among them that C++ has, or its library in the global namespace.
const CPP: &str = "auto typeof bool break char const continue default do else enum extern false final \
    float for if inline int long mutable namespace operator private public return short signed sizeof static struct \
    template this true try typedef typename union unsigned using virtual void volatile while std assert main \
    double new delete class case catch goto switch throw friend explicit export protected register \
    static_assert static_cast asm nullptr noexcept constexpr alignof alignas decltype and or not xor compl";

/// Writes the sources and compiles them, and writes the names to `names.txt`. The words of the build `other`
/// are names as well.
pub(crate) fn compile(other: &str) {
    let Some(out) = env::var_os("OUT_DIR") else { return };
    let out = Path::new(&out);
    let text = fs::read_to_string(out.join(format!("{other}.rs"))).unwrap_or_default();
    let mut names: BTreeSet<&str> = RUST.split_whitespace().collect();
    names.extend(words(&text));
    let is_cpp = |name: &str| CPP.split_whitespace().any(|word| word == name);
    // C++ reserves names with `__`. The sample has its own, and CUDA's headers.
    let declared: BTreeSet<&str> = items(&text).collect();
    let is_own = |name: &str| name.to_ascii_lowercase().starts_with("sample") || declared.contains(name);
    names.retain(|name| !is_cpp(name) && !name.contains("__") && !is_own(name));
    let names: Vec<&str> = names.into_iter().collect();
    write(&out.join("names.txt"), &names.join("\n"));
    for (kind, text) in [
        ("kernels", kernels(&names)),
        ("variables", variables(&names)),
        ("enumerations", enumerations(&names)),
        ("constants", constants(&names)),
    ] {
        let file = out.join(format!("names_{kind}.cu"));
        write(&file, &format!("#include \"sample.cu\"\n{text}"));
        let build = Build::new().include("kernels").kernels(&file).archs(["compute_75"]);
        build.compile(&format!("names_{kind}"));
    }
}

fn write(file: &Path, text: &str) {
    // A file that is as before is not compiled again.
    if fs::read_to_string(file).is_ok_and(|old| old == text) {
        return;
    }
    if let Err(error) = fs::write(file, text) {
        println!("cargo::error={}: {error}", file.display());
    }
}

/// Returns the words of Rust text, without those in strings and comments.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let outside = code.flat_map(|line| line.split('"').step_by(2));
    let words = outside.flat_map(|code| code.split(|sign: char| !sign.is_alphanumeric() && sign != '_'));
    words.filter(|word| word.starts_with(|first: char| first.is_alphabetic() || first == '_'))
}

/// Returns the names of the items in generated text.
fn items(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let rest = line.trim_start().split_once("pub ")?.1;
        let rest = ["struct ", "static ", "const ", "type ", "union "]
            .iter()
            .find_map(|it| rest.strip_prefix(it))?;
        rest.split(|sign: char| !sign.is_alphanumeric() && sign != '_').next()
    })
}

/// Each name is a kernel, a struct that it takes, and a parameter of the kernel before it.
fn kernels(names: &[&str]) -> String {
    let mut text = String::new();
    for (at, name) in names.iter().enumerate() {
        let parameter = names.get(at + 1).unwrap_or(&"last");
        let _ = writeln!(text, "struct {name} {{ int field; float values[33]; }};");
        let _ = writeln!(text, "__global__ void {name}(struct {name}* {parameter}) {{}}");
    }
    text + TWICE
}

/// Kernels of one name in Rust: a keyword and its name there, overloads and a name with their number, and
/// namespaces.
const TWICE: &str = "__global__ void move_(int*) {}\n__global__ void twice(int*) {}\n\
    __global__ void twice(float*) {}\n__global__ void twice1(int*) {}\n\
    namespace a { __global__ void b_c(int*) {} }\nnamespace a_b { __global__ void c(int*) {} }\n\
    enum Color { Red };\n__global__ void Color(int*) {}\n";

/// Each name is a variable of one of the memories, and a kernel's comment has it. Headers have functions of
/// two names.
fn variables(names: &[&str]) -> String {
    let names: Vec<&str> = names.iter().copied().filter(|name| !["all", "index"].contains(name)).collect();
    let mut text = String::new();
    for (at, name) in names.iter().enumerate() {
        let space = ["__device__ int", "__constant__ float", "__managed__ int"].get(at % 3).unwrap_or(&"");
        let _ = writeln!(text, "{space} {name};");
    }
    let all = names.join(", ");
    let sum = names.join(" + ");
    let _ = writeln!(text, "/// @reads {all}\n__global__ void sums_all(float* to) {{ *to = {sum}; }}");
    text
}

/// Each name is an enumeration, a bit field of it, a field of a struct, and an enumerator.
fn enumerations(names: &[&str]) -> String {
    let (mut text, mut fields) = (String::new(), String::new());
    for (at, name) in names.iter().enumerate() {
        let _ = writeln!(text, "enum {name} {{ one_of_{at} }};");
        let _ = writeln!(text, "struct bits_of_{at} {{ enum {name} {name} : 2; }};");
        let _ = writeln!(fields, "int {name};");
    }
    let all = names.join(", ");
    let _ = writeln!(text, "struct has_all {{ {fields} }};\nenum class counts_all {{ {all} }};");
    let _ = writeln!(
        text,
        "__global__ void takes_all(has_all* all, counts_all* counts, enum kernel it, enum c_int* c) {{}}"
    );
    text
}

/// Each name is a macro, defined after fields of these names.
fn constants(names: &[&str]) -> String {
    let (mut text, mut fields) = (String::new(), String::new());
    for (at, name) in names.iter().enumerate() {
        let _ = writeln!(fields, "int {name};");
        let _ = writeln!(text, "#define {name} {at}");
    }
    format!("struct has_all {{ {fields} }};\n__global__ void takes_all(has_all* all) {{}}\n{text}")
}
