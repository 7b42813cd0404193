//! ptxas, and the sections of what it makes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The compiler from PTX to machine code.
#[derive(Debug)]
pub(crate) struct Ptxas(PathBuf);

/// The sections of machine code that a launch depends on, by name.
pub(crate) type Code = BTreeMap<String, Vec<u8>>;

impl Ptxas {
    /// Finds it where the other tests find nvcc.
    pub(crate) fn find() -> Option<Self> {
        cuda_testing_kernels::tool("ptxas", "the code of printed PTX").map(Self)
    }

    /// Compiles a text for its own architecture. Returns `None` if ptxas refuses it.
    pub(crate) fn compile(&self, text: &str) -> Option<Code> {
        static FILES: AtomicUsize = AtomicUsize::new(0);
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let file = |kind| {
            let name = format!("round-trip-{}-{number}.{kind}", std::process::id());
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
        };
        let (from, to) = (file("ptx"), file("cubin"));
        let target = text.split_once(".target")?.1.trim_start();
        let target = target.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_').next()?;
        // The oldest that ptxas of the toolkit knows.
        let arch = if target == "sm_70" { "sm_75" } else { target };
        std::fs::write(&from, text).expect("a file");
        let mut command = Command::new(&self.0);
        command.args(["-arch", arch]).arg(&from).arg("-o").arg(&to);
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("ptxas starts");
        let code = status.success().then(|| std::fs::read(&to).expect("what ptxas has made"));
        let _ = (std::fs::remove_file(from), std::fs::remove_file(to));
        code.map(|code| sections(&code))
    }
}

/// Returns the sections of an ELF file whose bytes matter: not those for debuggers, and no tables of names.
fn sections(file: &[u8]) -> Code {
    const KINDS: [&str; 5] = [".text", ".nv.info", ".nv.constant", ".nv.shared", ".nv.global"];
    let number = |at: usize, size: usize| {
        let bytes = &file[at..at + size];
        usize::try_from(bytes.iter().rev().fold(0_u64, |sum, byte| sum * 256 + u64::from(*byte))).unwrap()
    };
    let (table, size, count, names) = (number(0x28, 8), number(0x3a, 2), number(0x3c, 2), number(0x3e, 2));
    let section = |index: usize| table + index * size;
    let names = number(section(names) + 0x18, 8);
    let mut code = Code::new();
    for at in (0..count).map(section) {
        let name = &file[names + number(at, 4)..];
        let name: Vec<u8> = name.iter().copied().take_while(|byte| *byte != 0).collect();
        let name = String::from_utf8(name).unwrap();
        let own = name.strip_prefix(".rela").or(name.strip_prefix(".rel")).unwrap_or(&name);
        if KINDS.iter().any(|kind| own.starts_with(kind)) {
            let (start, bytes) = (number(at + 0x18, 8), number(at + 0x20, 8));
            // Sections of zeros have no bytes in the file.
            let is_empty = number(at + 4, 4) == 8;
            let content =
                if is_empty { bytes.to_le_bytes().to_vec() } else { file[start..start + bytes].to_vec() };
            code.insert(name, content);
        }
    }
    code
}
