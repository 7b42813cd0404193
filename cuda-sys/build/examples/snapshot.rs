//! Writes the bindings of the package, for builds without a toolkit. Each item that an older version lacks is
//! marked with the first version that has it.
//!
//! `long` has 32 bits on Windows: two types that are aligned by it have an alignment for each system.
//! `ci/test windows` compares the rest.
//!
//! `ci/snapshot` runs it: `snapshot FILE NEWEST OLDER...`, with the roots of toolkits from the newest to the
//! oldest.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use cuda_sys_build::{Bindings, Env, Error, Search, Version};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [file, roots @ ..] = arguments.as_slice() else {
        eprintln!("usage: snapshot FILE NEWEST OLDER...");
        return ExitCode::FAILURE;
    };
    match write(&Bindings::new().signatures_only(), Path::new(file), roots) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn write(wanted: &Bindings, file: &Path, roots: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let mut newest = None;
    let mut since = BTreeMap::new();
    let mut oldest = None;
    for root in roots {
        let (version, text) = bindings(wanted, root, file)?;
        for name in text.lines().filter_map(name) {
            since.insert(name.to_owned(), version);
        }
        newest.get_or_insert(text);
        oldest = Some(version);
    }
    since.retain(|_, version| Some(*version) != oldest);
    std::fs::write(file, shortened(&by_system(&marked(&newest.unwrap_or_default(), &since))))?;
    Ok(())
}

/// Returns the version of the toolkit and its bindings. Writes `file` on the way.
fn bindings(wanted: &Bindings, root: &str, file: &Path) -> Result<(Version, String), Error> {
    let env = Env::from_vars([("CUDA_PATH", root)]);
    let toolkit = Search::new(&env).find()?;
    wanted.generate(&env, &toolkit, file)?;
    let text = std::fs::read_to_string(file);
    Ok((toolkit.version(), text.unwrap_or_default()))
}

/// Adds the version to each item that has one. A mark stands above the attributes of its item.
fn marked(text: &str, since: &BTreeMap<String, Version>) -> String {
    let mut out = String::new();
    let mut attributes = String::new();
    for line in text.lines() {
        if line.starts_with("#[") {
            attributes.push_str(line);
            attributes.push('\n');
            continue;
        }
        if let Some(version) = name(line).and_then(|name| since.get(name)) {
            let indent = &line[..line.len() - line.trim_start().len()];
            out.push_str(&format!("{indent}/// Since CUDA {version}.\n"));
        }
        out.push_str(&attributes);
        attributes.clear();
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// Aligns pairs of `long` as each system does.
fn by_system(text: &str) -> String {
    let both = "#[cfg_attr(windows, repr(align(8)))]\n#[cfg_attr(not(windows), repr(align(16)))]";
    let derived = "#[derive(Debug, Default, Copy, Clone, PartialEq)]\npub struct";
    ["long2", "ulong2"].iter().fold(text.to_owned(), |text, name| {
        let item = format!("{derived} {name} {{");
        text.replace(&format!("#[repr(align(16))]\n{item}"), &format!("{both}\n{item}"))
    })
}

/// The macro that stands for the defaults of types that bindgen cannot derive.
const ZEROED: &str = "\
macro_rules! zeroed {
    ($type:ty) => {
        impl Default for $type {
            fn default() -> Self {
                unsafe { ::core::mem::zeroed() }
            }
        }
    };
}
";

/// Writes the defaults by a macro, and functions that follow each other in one block.
fn shortened(text: &str) -> String {
    const BODY: &str = " {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
";
    let mut parts = text.split("impl Default for ");
    let mut out = parts.next().unwrap_or_default().replacen("\n\n", &format!("\n\n{ZEROED}"), 1);
    for part in parts {
        match part.split_once(BODY) {
            Some((name, rest)) if !name.contains(' ') => out.push_str(&format!("zeroed!({name});\n{rest}")),
            _ => out.push_str(&format!("impl Default for {part}")),
        }
    }
    out.replace(";\n}\nunsafe extern \"C\" {\n", ";\n")
}

/// Returns the name of the item that begins in this line of formatted bindings.
fn name(line: &str) -> Option<&str> {
    if let Some(alias) = line.strip_prefix("pub use self::") {
        return alias.split_once(" as ")?.1.strip_suffix(';');
    }
    let items = ["pub const ", "pub struct ", "pub union ", "pub type ", "    pub fn "];
    let item = items.into_iter().find_map(|introducer| line.strip_prefix(introducer))?;
    item.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()
}
