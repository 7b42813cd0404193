//! Looks at a program or a library before it runs, and says what of it the emulator can run.

use core::fmt;
use std::collections::BTreeSet;

use object::read::elf::{Dyn as _, ElfFile64, FileHeader as _};
use object::{Endianness, Object as _, ObjectSection as _, ObjectSymbol as _, elf};

use crate::api::STUBS;
use crate::exec::program::{Target, missing};
use crate::exec::{Addresses, Program, lower};
use crate::module::fatbin::{FATBIN_MAGIC, FatbinError, ptx};
use crate::module::image::variables;
use crate::module::registry::link;
use crate::profile::profile;
use crate::ptx::{Module, parse};

/// The library that the emulator stands for.
const RUNTIME: &str = "libcudart.so.13";
/// Libraries that need a driver, by the start of their names.
const OTHERS: [&str; 10] = [
    "libcuda.so",
    "libnvrtc",
    "libnvJitLink",
    "libcublas",
    "libcufft",
    "libcurand",
    "libcusparse",
    "libcusolver",
    "libcudnn",
    "libnpp",
];
const EXPORTS: &str =
    concat!(include_str!("../exports.txt"), include_str!(concat!(env!("OUT_DIR"), "/exports-newer.txt")));

/// The parts of a program.
#[derive(Debug, Default)]
pub struct Findings {
    lines: Vec<(&'static str, String)>,
    /// Whether the emulator runs all of the program.
    pub runs: bool,
}

impl Findings {
    fn good(&mut self, part: &'static str, text: String) {
        self.lines.push((part, text));
    }

    fn bad(&mut self, part: &'static str, text: String) {
        self.lines.push((part, text));
        self.runs = false;
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (part, text) in &self.lines {
            writeln!(f, "  {part:<10} {text}")?;
        }
        let verdict = if self.runs { "the emulator runs it" } else { "not all of it runs: see above" };
        writeln!(f, "  {:<10} {verdict}", "result")
    }
}

/// An ELF file.
type Elf<'a> = ElfFile64<'a, Endianness>;

/// The reason why the emulator cannot even be loaded by a program, if there is one.
#[must_use]
pub fn obstacle(data: &[u8]) -> Option<String> {
    let file = Elf::parse(data).ok()?;
    let needed = dynamic(&file, data, elf::DT_NEEDED);
    if needed.iter().any(|name| name == RUNTIME) {
        let rpath = dynamic(&file, data, elf::DT_RPATH);
        return (!rpath.is_empty()).then(|| {
            format!(
                "the program looks for libraries in {} first (DT_RPATH); link it with \
                 -Wl,--enable-new-dtags if {RUNTIME} is there",
                rpath.join(", ")
            )
        });
    }
    if let Some(other) = needed.iter().find(|name| name.starts_with("libcudart.so")) {
        return Some(format!("it needs {other}, and the emulator is {RUNTIME}: build it with CUDA 13"));
    }
    let own = file.section_by_name(".nvFatBinSegment").is_some();
    own.then(|| {
        "it contains its own copy of the runtime (-cudart static, the default of nvcc), which cannot be \
         replaced: link it with -cudart shared"
            .to_owned()
    })
}

/// Examines a program or library.
///
/// # Errors
/// When the file is no ELF file for this machine.
pub fn examine(data: &[u8]) -> Result<Findings, String> {
    let file = Elf::parse(data).map_err(|error| format!("no program that this machine runs: {error}"))?;
    let mut found = Findings { runs: true, ..Findings::default() };
    match obstacle(data) {
        Some(reason) => found.bad("runtime", reason),
        None if file.imports().is_ok_and(|list| list.is_empty()) => {}
        None if dynamic(&file, data, elf::DT_NEEDED).iter().any(|name| name == RUNTIME) => {
            found.good("runtime", format!("shared, {RUNTIME}"));
        }
        None => found.good("runtime", "none: neither the shared library nor kernels".to_owned()),
    }
    let others = dynamic(&file, data, elf::DT_NEEDED);
    for name in others.iter().filter(|name| OTHERS.iter().any(|other| name.starts_with(other))) {
        found.bad("library", format!("{name} needs NVIDIA's driver"));
    }
    functions(&file, &mut found);
    kernels(&file, &mut found);
    Ok(found)
}

/// The strings that the dynamic section has under a tag.
fn dynamic(file: &Elf<'_>, data: &[u8], tag: u32) -> Vec<String> {
    let endian = file.endian();
    let read = || {
        let sections = file.elf_header().sections(endian, data).ok()?;
        let (entries, link) = sections.dynamic(endian, data).ok()??;
        let strings = sections.strings(endian, data, link).ok()?;
        let wanted = entries.iter().filter(|it| it.tag32(endian) == Some(tag));
        Some(
            wanted
                .filter_map(|it| String::from_utf8(it.string(endian, strings).ok()?.to_vec()).ok())
                .collect(),
        )
    };
    read().unwrap_or_default()
}

/// The functions of the runtime that a file calls.
fn functions(file: &Elf<'_>, found: &mut Findings) {
    let wanted = file.dynamic_symbols().filter(|it| it.is_undefined());
    let names = wanted.filter_map(|it| it.name().ok());
    let names: BTreeSet<&str> = names.filter(|it| it.trim_start_matches('_').starts_with("cuda")).collect();
    let exports: BTreeSet<&str> = EXPORTS.lines().collect();
    if names.is_empty() {
        return;
    }
    found.good("functions", format!("{} of the runtime", names.len()));
    for name in names {
        if !exports.contains(name) {
            found.bad("missing", format!("{name} is no function of CUDA 13.0: the program does not start"));
        } else if STUBS.contains(&name) {
            found.bad("missing", format!("{name} returns cudaErrorNotSupported"));
        }
    }
}

/// The fatbinaries of a section.
fn fatbins(mut bytes: &[u8]) -> Vec<&[u8]> {
    let magic = FATBIN_MAGIC.to_le_bytes();
    let mut list = Vec::new();
    while let Some(at) = bytes.windows(4).position(|it| it == magic) {
        let here = bytes.get(at..).unwrap_or_default();
        let field = |from: usize, size: usize| {
            let mut wide = [0; 8];
            wide.get_mut(..size)?.copy_from_slice(here.get(from..from + size)?);
            usize::try_from(u64::from_le_bytes(wide)).ok()
        };
        let length = field(6, 2).zip(field(8, 8)).and_then(|(header, rest)| header.checked_add(rest));
        let Some(one) = length.and_then(|length| here.get(..length)) else { break };
        list.push(one);
        bytes = here.get(one.len().max(4)..).unwrap_or_default();
    }
    list
}

/// The kernels of a file: those in PTX, what of them is unknown, and how much there is only in machine code.
fn kernels(file: &Elf<'_>, found: &mut Findings) {
    let section = |name| file.section_by_name(name).and_then(|it| it.data().ok()).unwrap_or_default();
    let mut modules = Vec::new();
    let mut linked = Module::default();
    for (name, apart) in [(".nv_fatbin", true), ("__nv_relfatbin", false)] {
        for fatbin in fatbins(section(name)) {
            match ptx(fatbin, profile().capability) {
                Ok(text) => match parse(&text) {
                    Ok(module) => {
                        for error in &module.passed_over {
                            found.bad(
                                "kernels",
                                format!("a declaration that the emulator cannot read: {error}"),
                            );
                        }
                        // Separate compilation: code of one file calls functions of others.
                        if apart { modules.push(module) } else { link(&mut linked, module) }
                    }
                    Err(error) => found.bad("kernels", format!("PTX that the emulator cannot read: {error}")),
                },
                Err(FatbinError::NoPtx(list)) if list == "nothing" => {}
                // nvcc links its library for kernels that launch kernels to all programs.
                Err(FatbinError::NoPtx(list)) if !apart && list.contains("PTX for compute") => {}
                Err(error) => found.bad("kernels", error.to_string()),
            }
        }
    }
    modules.push(linked);
    let mut count = 0;
    let mut targets = BTreeSet::new();
    for module in &modules {
        let addresses: Addresses =
            variables(module).zip(1..).map(|(it, at)| (it.name.clone(), at << 8)).collect();
        let entries = module.functions.iter().filter(|it| it.entry && it.body.is_some());
        for program in entries.filter_map(|it| lower(module, &it.name, &addresses)) {
            count += 1;
            targets.extend(module.target.first().map(|it| it.to_string()));
            for reason in obstacles(&program) {
                found.bad("unknown", format!("{}: {reason}", program.name));
            }
        }
    }
    if count > 0 {
        let targets: Vec<_> = targets.into_iter().collect();
        found.good("kernels", format!("{count} in PTX for {}", targets.join(", ")));
    }
}

/// What a kernel cannot do here, if it gets there.
fn obstacles(program: &Program) -> BTreeSet<String> {
    let calls = program.calls.iter().filter_map(|call| match &call.target {
        Some(Target::Missing(name)) => Some(missing(name)),
        _ => None,
    });
    program.unsupported.iter().cloned().chain(calls).collect()
}
