//! `cuda-emulate PROGRAM [ARGUMENT...]` runs a program on the emulator, and `cuda-emulate run -- COMMAND`
//! does so for CI, with a summary.
//!
//! This file is the emulator as well: the linker makes one file that is a program and the shared library
//! `libcudart.so.13` (see `build.rs`). So one installed file is enough. The program makes a folder with links
//! to itself under the names that the loader and linkers look for, and puts it first on the loader's path.

mod run;
mod summary;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use cudart_emulator::doctor;

/// The loader that runs this file as a program. Programs have it from their linker, and libraries do not.
#[expect(unsafe_code, reason = "names a section that has no Rust type")]
#[used]
#[unsafe(link_section = ".interp")]
static LOADER: [u8; LOADER_PATH.len()] = *LOADER_PATH;
#[cfg(target_arch = "x86_64")]
const LOADER_PATH: &[u8; 28] = b"/lib64/ld-linux-x86-64.so.2\0";
#[cfg(target_arch = "aarch64")]
const LOADER_PATH: &[u8; 27] = b"/lib/ld-linux-aarch64.so.1\0";

const USAGE: &str = "\
Runs CUDA programs on machines without a GPU.

  cuda-emulate PROGRAM [ARGUMENT...]   runs a program that is linked to libcudart.so.13
  cuda-emulate run [OPTION...] -- ...  the same for CI: checks, a summary, a report, an exit code
  cuda-emulate --doctor FILE...        prints what of a program or library the emulator can run
  cuda-emulate --library               prints the folder of libcudart.so, for linkers
  cuda-emulate --version

cuda-emulate run --help lists the options. Variables: see ci/emulator/README.md of the project.
";

/// The names that the loader and linkers look for.
const NAMES: [&str; 2] = ["libcudart.so.13", "libcudart.so"];

fn main() -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    let Some(first) = arguments.next() else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    match first.to_str() {
        Some("--help" | "-h") => print!("{USAGE}"),
        Some("--version") => println!("cuda-emulate {} (CUDA 13.0)", env!("CARGO_PKG_VERSION")),
        Some("--doctor") => return examine(arguments),
        Some("run") => {
            if let Some("--help" | "-h") = env::args().nth(2).as_deref() {
                print!("{}", run::USAGE);
                return ExitCode::SUCCESS;
            }
            let done = library().map_err(|error| (format!("no folder for the library: {error}"), 1));
            return done
                .and_then(|folder| run::run(arguments, folder))
                .unwrap_or_else(|(message, status)| fail(&message, status));
        }
        Some("--library") => match library() {
            Ok(folder) => println!("{}", folder.display()),
            Err(error) => return fail(&format!("no folder for the library: {error}"), 1),
        },
        Some(option) if option.starts_with('-') => {
            return fail(&format!("{option} is unknown; cuda-emulate --help lists what there is"), 2);
        }
        _ => return replace(first, arguments),
    }
    ExitCode::SUCCESS
}

fn fail(message: &str, status: u8) -> ExitCode {
    eprintln!("cuda-emulate: {message}");
    ExitCode::from(status)
}

/// Replaces this process by a program that finds the emulator first. Returns only if there is none.
fn replace(program: OsString, arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let folder = match library() {
        Ok(folder) => folder,
        Err(error) => return fail(&format!("no folder for the library: {error}"), 1),
    };
    if let Some(warning) = fs::read(&program).ok().and_then(|data| doctor::obstacle(&data)) {
        eprintln!("cuda-emulate: {}: {warning}", program.display());
    }
    let error = Command::new(&program).args(arguments).env("LD_LIBRARY_PATH", loader_path(folder)).exec();
    let status = if error.kind() == ErrorKind::NotFound { 127 } else { 126 };
    fail(&format!("{}: {error}", program.display()), status)
}

/// The loader's path with the library's folder first.
fn loader_path(folder: PathBuf) -> OsString {
    let mut path = folder.into_os_string();
    if let Some(rest) = env::var_os("LD_LIBRARY_PATH").filter(|rest| !rest.is_empty()) {
        path.push(":");
        path.push(rest);
    }
    path
}

fn examine(files: impl Iterator<Item = OsString>) -> ExitCode {
    let mut whole = true;
    let mut count = 0;
    for file in files {
        count += 1;
        println!("{}", file.display());
        match fs::read(&file).map_err(|error| error.to_string()).and_then(|data| doctor::examine(&data)) {
            Ok(findings) => {
                whole &= findings.runs;
                print!("{findings}");
            }
            Err(error) => {
                whole = false;
                println!("  {error}");
            }
        }
    }
    if count == 0 {
        return fail("--doctor needs a program or a library", 2);
    }
    ExitCode::from(u8::from(!whole))
}

/// The folder with links to this file, which is made if there is none. A file that has the library's name is
/// in such a folder already.
fn library() -> Result<PathBuf, Error> {
    let this = env::current_exe()?.canonicalize()?;
    if let (Some(folder), true) = (this.parent(), this.ends_with(NAMES[0])) {
        return Ok(folder.to_owned());
    }
    let mut hash = DefaultHasher::new();
    this.hash(&mut hash);
    let name = format!("{:016x}", hash.finish());
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = cache.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    match cache.map(|cache| links(&cache.join("cuda-emulate").join(&name), &this)) {
        Some(Ok(folder)) => Ok(folder),
        // No home, or none that can be written. Everybody can write in the folder for temporary files.
        _ => links(
            &env::temp_dir().join(format!("cuda-emulate-{}-{name}", owner(Path::new("/proc/self"))?)),
            &this,
        ),
    }
}

fn owner(path: &Path) -> Result<u32, Error> {
    Ok(fs::symlink_metadata(path)?.uid())
}

/// Makes the links in a folder of this user's own.
fn links(folder: &Path, this: &Path) -> Result<PathBuf, Error> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    if owner(folder)? != owner(Path::new("/proc/self"))? {
        return Err(Error::new(
            ErrorKind::PermissionDenied,
            format!("{} is another user's", folder.display()),
        ));
    }
    for name in NAMES {
        let link = folder.join(name);
        if fs::read_link(&link).is_ok_and(|target| target == this) {
            continue;
        }
        // Others may run at the same time: a link is whole or not there.
        let new = folder.join(format!("{name}.{}", std::process::id()));
        symlink(this, &new)?;
        fs::rename(&new, &link)?;
    }
    Ok(folder.to_owned())
}
