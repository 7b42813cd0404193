//! What proofs of launches need of each kernel: its slices, made of the PTX that nvcc wrote for each
//! architecture.
//!
//! # Why a slice is that of the code that runs
//! nvcc makes one PTX for each virtual architecture of the build, and from that PTX the machine code, or it
//! embeds the PTX for the driver to compile. `--keep` leaves each of them, also those that are not embedded.
//! The runtime names the architecture of the PTX from which a loaded function was compiled
//! (`cudaFuncAttributes::ptxVersion`), and a launch is proven by the slice of that one. This fails, and so
//! there is no slice,
//!
//! - if the PTX of an object is not all there, as with link-time optimisation;
//! - if device code is linked: another object may define what a kernel calls;
//! - if an option is passed that is not known to leave the way from PTX to machine code as it is;
//! - if two PTX texts of one architecture differ: `sm_90` and `sm_90a`, or two objects with one kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use cuda_proof::Kernel;

/// The slices of all kernels of a build.
#[derive(Debug, Default)]
pub(crate) struct Slices {
    /// Why there are none.
    reason: Option<String>,
    kernels: BTreeMap<String, BTreeMap<i32, Variant>>,
    /// The PTX without kernels: its names of variables.
    variables: String,
}

/// A kernel's PTX of one architecture.
#[derive(Debug)]
enum Variant {
    One(Box<Kernel>),
    /// Several PTX texts differ.
    Several,
}

/// What a handle has.
#[derive(Debug)]
pub(crate) struct Proof {
    /// The arguments of `KernelProof::new`, as Rust text.
    pub(crate) text: String,
    /// The call of `with_variables`, if there is one.
    pub(crate) variables: String,
    /// The clauses of the author's contract, as Rust text, which stands in for a proof.
    pub(crate) contract: Option<String>,
    /// What the documentation says.
    pub(crate) docs: Vec<String>,
    /// What the build warns of.
    pub(crate) warning: Option<String>,
}

impl Slices {
    /// Returns the slices of a build that has none, for a reason.
    pub(crate) fn none(reason: &str) -> Self {
        Self { reason: Some(reason.to_owned()), ..Self::default() }
    }

    /// Adds the kernels of a PTX text.
    pub(crate) fn add(&mut self, ptx: &str, folder: &Path) {
        if self.reason.is_some() {
            return;
        }
        let text = with_relative_files(ptx, folder);
        match cuda_proof::kernels_with_architecture(&text) {
            Ok((kernels, architecture)) => {
                for kernel in kernels {
                    let variants = self.kernels.entry(kernel.name().to_owned()).or_default();
                    match variants.get_mut(&architecture) {
                        None => drop(variants.insert(architecture, Variant::One(Box::new(kernel)))),
                        Some(Variant::One(own)) if **own == kernel => {}
                        Some(variant) => *variant = Variant::Several,
                    }
                }
            }
            Err(error) => self.reason = Some(format!("the PTX has a form that is not known: {error}")),
        }
        for line in text.lines().filter(|line| line.contains(".global") || line.contains(".const")) {
            self.variables.push_str(line);
            self.variables.push('\n');
        }
    }

    /// Returns the variables in the PTX whose names are chosen.
    pub(crate) fn variables(&self, is_chosen: impl Fn(&str) -> bool) -> BTreeSet<&str> {
        let is_part = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '$');
        self.variables.split(|sign| !is_part(sign)).filter(|word| is_chosen(word)).collect()
    }

    /// Returns what the handle of a kernel has. `handles` are the parameters that are handles of textures, or
    /// of surfaces.
    pub(crate) fn proof(&self, symbol: &str, name: &str, handles: &[(usize, bool)]) -> Proof {
        let refused = |reason: &str| Proof {
            text: format!("&[], {reason:?}"),
            variables: String::new(),
            contract: None,
            docs: vec![format!(" No launch is proven: {reason}.")],
            warning: None,
        };
        if let Some(reason) = &self.reason {
            return refused(reason);
        }
        let Some(variants) = self.kernels.get(symbol) else {
            return refused("nvcc has left no PTX of it");
        };
        let (mut slices, mut docs, mut warning) = (BTreeMap::new(), Vec::new(), None);
        for (architecture, variant) in variants {
            let Variant::One(kernel) = variant else { continue };
            if !kernel.handles().iter().all(|used| handles.contains(used)) {
                return refused("it uses a number as the handle of a texture or a surface");
            }
            let mut kernel = Kernel::clone(kernel);
            kernel.rename(name);
            if let Some(doubt) = kernel.never() {
                warning = Some(format!("no launch is proven: {doubt}"));
            }
            for doubt in kernel.doubts() {
                let line = format!(" A launch that gets there is not proven: {}.", doubt.reason);
                if !docs.contains(&line) {
                    docs.push(line);
                }
            }
            slices.insert(*architecture, kernel.to_bytes());
        }
        let mut text = String::from("&[");
        for (architecture, slice) in &slices {
            let _ = write!(text, "({architecture}, b\"");
            slice.iter().for_each(|byte| push_byte(&mut text, *byte));
            text.push_str("\"), ");
        }
        text.push_str("], \"several PTX texts of one architecture differ\"");
        Proof { text, variables: String::new(), contract: None, docs, warning }
    }
}

fn push_byte(text: &mut String, byte: u8) {
    match byte {
        b' '..=b'~' if !matches!(byte, b'"' | b'\\') => text.push(char::from(byte)),
        _ => _ = write!(text, "\\x{byte:02x}"),
    }
}

/// Writes the paths of sources as those from the package's folder, and each in one way: objects name a header
/// as their sources include it.
fn with_relative_files(ptx: &str, folder: &Path) -> String {
    let mut text = String::with_capacity(ptx.len());
    for line in ptx.split_inclusive('\n') {
        if line.trim_start().starts_with(".file")
            && let Some((before, rest)) = line.split_once('"')
            && let Some((file, after)) = rest.split_once('"')
        {
            let whole = Path::new(file).canonicalize().unwrap_or_else(|_| file.into());
            let file = whole.strip_prefix(folder).unwrap_or(&whole).display();
            let _ = write!(text, "{before}\"{file}\"{after}");
        } else {
            text.push_str(line);
        }
    }
    text
}

/// Options of nvcc that change neither the way from PTX to machine code nor which PTX there is, each with the
/// number of words that follow. Those that end with `=` or are one letter may have their value in the word.
const HARMLESS: &[(&str, usize)] = &[
    ("D", 0),
    ("U", 0),
    ("I", 0),
    ("isystem", 1),
    ("include", 1),
    ("std=", 0),
    ("std", 1),
    ("O0", 0),
    ("O1", 0),
    ("O2", 0),
    ("O3", 0),
    ("g", 0),
    ("G", 0),
    ("device-debug", 0),
    ("lineinfo", 0),
    ("generate-line-info", 0),
    ("src-in-ptx", 0),
    ("use_fast_math", 0),
    ("ftz=", 0),
    ("prec-div=", 0),
    ("prec-sqrt=", 0),
    ("fmad=", 0),
    ("maxrregcount=", 0),
    ("maxrregcount", 1),
    ("gencode=", 0),
    ("cudart=", 0),
    ("Xcompiler=", 0),
    ("Xcompiler", 1),
    ("ccbin=", 0),
    ("ccbin", 1),
    ("m64", 0),
    ("w", 0),
    ("Werror=", 0),
    ("Werror", 1),
    ("Wno-deprecated-gpu-targets", 0),
    ("diag-suppress=", 0),
    ("diag-suppress", 1),
    ("expt-relaxed-constexpr", 0),
    ("expt-extended-lambda", 0),
    ("extended-lambda", 0),
    ("default-stream=", 0),
    ("default-stream", 1),
    ("threads=", 0),
    ("static-global-template-stub=", 0),
];

/// Returns the first option that is not known to leave the way from PTX to machine code as it is. `command`
/// has all options, and `environment` those that nvcc takes from variables.
pub(crate) fn changes_code<'a>(
    command: impl Iterator<Item = &'a std::ffi::OsStr>,
    environment: &[Option<OsString>],
) -> Option<String> {
    let mut words: Vec<String> = command.map(|word| word.to_string_lossy().into_owned()).collect();
    for flags in environment.iter().flatten() {
        words.extend(flags.to_string_lossy().split_whitespace().map(str::to_owned));
    }
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let is_harmless = |(option, _): &&(&str, usize)| {
            let Some(name) = word.strip_prefix('-').map(|name| name.strip_prefix('-').unwrap_or(name)) else {
                return false;
            };
            match *option {
                "D" | "U" | "I" => name.starts_with(option) && !word.starts_with("--"),
                option if option.ends_with('=') => name.starts_with(option),
                option => name == option,
            }
        };
        let Some((option, values)) = HARMLESS.iter().find(is_harmless).filter(|_| !word.contains("lto_"))
        else {
            return Some(word);
        };
        let is_apart = matches!(*option, "D" | "U" | "I") && word.len() == 2;
        for _ in 0..*values + usize::from(is_apart) {
            words.next();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    const PTX: &str = "
.version 9.0
.target sm_90a, debug
.address_size 64
.const .align 4 .b8 table[16];
.visible .entry _Z4fillPjj(.param .u64 a, .param .u32 n)
{
    .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<4>;
    .loc 1 7 5
    ld.param.u64 %rd1, [a];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r1;
    ret;
}
.file 1 \"/home/me/crate/kernels/fill.cu\"
";

    #[test]
    fn a_slice_has_the_architecture_the_source_name_and_a_relative_file() {
        let mut slices = Slices::default();
        slices.add(PTX, Path::new("/home/me/crate"));
        let proof = slices.proof("_Z4fillPjj", "fill", &[]);
        assert!(proof.text.starts_with("&[(90, b\""), "{}", proof.text);
        assert!(proof.text.contains("kernels/fill.cu") && !proof.text.contains("/home"), "{}", proof.text);
        assert!(proof.text.contains("fill") && !proof.text.contains("_Z4"), "{}", proof.text);
        assert!(proof.warning.is_none() && proof.docs.is_empty());
        assert_eq!(slices.variables(|name| name.starts_with("tab")), BTreeSet::from(["table"]));
    }

    #[test]
    fn two_texts_of_one_architecture_have_a_slice_only_if_they_agree() {
        let mut slices = Slices::default();
        slices.add(PTX, Path::new("/"));
        slices.add(PTX, Path::new("/"));
        assert!(slices.proof("_Z4fillPjj", "fill", &[]).text.starts_with("&[(90, "));
        slices.add(&PTX.replace("%r1, 4", "%r1, 8").replace("sm_90a", "sm_90"), Path::new("/"));
        assert!(slices.proof("_Z4fillPjj", "fill", &[]).text.starts_with("&[], \"several"));
    }

    #[test]
    fn without_ptx_there_is_a_reason() {
        let refused = |slices: &Slices| slices.proof("k", "k", &[]).text;
        assert!(refused(&Slices::none("it is linked")).contains("&[], \"it is linked\""));
        assert!(refused(&Slices::default()).contains("no PTX"));
        let mut slices = Slices::default();
        slices.add(".target sm_90\n.entry k( {", Path::new("/"));
        assert!(refused(&slices).contains("not known"));
    }

    #[test]
    fn a_number_as_a_handle_is_refused() {
        let ptx = ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 t)\n{\n\
                   .reg .b32 %r<8>; .reg .b64 %rd<3>;\nld.param.u64 %rd1, [t];\n\
                   suld.b.2d.b32.trap {%r1}, [%rd1, {%r2, %r3}];\nret;\n}\n";
        let of = |handles: &[(usize, bool)]| {
            let mut slices = Slices::default();
            slices.add(ptx, Path::new("/"));
            slices.proof("k", "k", handles).text
        };
        assert!(of(&[(0, true)]).starts_with("&[(75, "));
        assert!(of(&[(0, false)]).starts_with("&[], ") && of(&[]).contains("as the handle"));
    }

    #[test]
    fn an_option_that_may_change_the_code_is_named() {
        let of = |words: &[&str], environment: &str| {
            changes_code(words.iter().map(OsStr::new), &[Some(environment.into()), None])
        };
        let harmless =
            ["-O3", "-DN=4", "-D", "M", "-Xcompiler", "-fPIC", "--use_fast_math", "-std=c++17", "-lineinfo"];
        assert_eq!(of(&harmless, " -G --Werror cross-execution-space-call "), None);
        for changing in
            ["-Xptxas=-O1", "-dlto", "--options-file", "-gencode=arch=compute_90,code=lto_90", "all"]
        {
            assert_eq!(of(&["-O3", changing], "").as_deref(), Some(changing));
            assert_eq!(of(&[], &format!("-g {changing}")).as_deref(), Some(changing));
        }
    }
}
