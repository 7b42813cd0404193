//! Findings that the program's owner has looked at and accepts: `CUDA_EMULATOR_SUPPRESS=FILE`.
//!
//! A line of the file has the kind of the finding (`*`: any), a file of the
//! source with or without a line, and the reason, which is required:
//!
//! ```text
//! race   src/sum.cu:16    the counter is a hint, and a lost update costs one retry
//! leak   third_party/fft.cu    freed by the driver at exit; reported upstream
//! ```
//!
//! A finding is suppressed if any of its lines, of the host or of a kernel, is the one that is named. A file
//! is named by as many of its last folders as tell it from others.

use std::ffi::OsStr;
use std::sync::OnceLock;

/// The kinds of findings, as options and files of suppressions name them: in the order of `finding::Subject`.
pub const KINDS: [&str; 11] = [
    "race",
    "bounds",
    "barrier",
    "fault",
    "initcheck",
    "leak",
    "free",
    "pointer",
    "host-function",
    "driver",
    "unread",
];

/// A line of the file.
#[derive(Debug)]
pub(crate) struct Suppression {
    /// The number of the line.
    pub(crate) number: usize,
    kind: String,
    file: String,
    line: Option<u32>,
    pub(crate) reason: String,
}

static LIST: OnceLock<Vec<Suppression>> = OnceLock::new();

/// Reads the file that the environment names.
///
/// # Errors
/// A message that names the line if it has another form.
pub(crate) fn load() -> Result<(), String> {
    // It is read once in a process, where its name holds.
    if let Some(path) = std::env::var_os("CUDA_EMULATOR_SUPPRESS").filter(|_| LIST.get().is_none()) {
        let _ = LIST.set(read_file(&path)?);
    }
    Ok(())
}

/// Reads a file.
///
/// # Errors
/// The same.
pub(crate) fn read_file(path: &OsStr) -> Result<Vec<Suppression>, String> {
    let wrong = |error: String| format!("CUDA_EMULATOR_SUPPRESS is {}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    read(&text).map_err(wrong)
}

/// The suppression of a finding of this kind with these lines.
pub(crate) fn find(kind: &str, lines: &[(String, u32)]) -> Option<&'static Suppression> {
    LIST.get()?.iter().find(|it| it.matches(kind, lines))
}

/// Reads the lines. Those that are empty or begin with `#` say nothing.
fn read(text: &str) -> Result<Vec<Suppression>, String> {
    let mut list = Vec::new();
    for (number, row) in (1..).zip(text.lines()) {
        let row = row.trim();
        if row.is_empty() || row.starts_with('#') {
            continue;
        }
        let mut fields = row.splitn(2, char::is_whitespace);
        let (kind, rest) = (fields.next().unwrap_or(""), fields.next().unwrap_or("").trim_start());
        let (place, reason) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if place.is_empty() || reason.trim().is_empty() {
            return Err(format!("line {number}: expected KIND FILE:LINE REASON, found {row:?}"));
        }
        if kind != "*" && !KINDS.contains(&kind) {
            let kinds = KINDS.join(", ");
            return Err(format!("line {number}: {kind:?} is no kind: expected * or one of {kinds}"));
        }
        let (file, line) = match place.rsplit_once(':') {
            Some((file, line)) => match line.parse() {
                Ok(line) => (file, Some(line)),
                Err(_) => return Err(format!("line {number}: {line:?} is no number of a line")),
            },
            None => (place, None),
        };
        list.push(Suppression {
            number,
            kind: kind.replace('-', " "),
            file: file.to_owned(),
            line,
            reason: reason.trim().to_owned(),
        });
    }
    Ok(list)
}

impl Suppression {
    fn matches(&self, kind: &str, lines: &[(String, u32)]) -> bool {
        let names = |file: &str| {
            file.strip_suffix(&*self.file).is_some_and(|front| front.is_empty() || front.ends_with('/'))
        };
        (self.kind == "*" || self.kind == kind)
            && lines.iter().any(|(file, line)| names(file) && self.line.is_none_or(|it| it == *line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_suppressed_by_its_kind_and_one_of_its_lines() {
        let list =
            read("# accepted\n\nrace src/sum.cu:16  a hint\nhost-function cb.cu\tof a library\n* x.cu:1 y z")
                .unwrap();
        let by = |kind: &str, file: &str, line| {
            list.iter()
                .find(|it| it.matches(kind, &[("/other.cu".into(), 1), (file.into(), line)]))
                .map(|it| it.number)
        };
        assert_eq!(by("race", "/home/u/src/sum.cu", 16), Some(3));
        assert_eq!(by("race", "src/sum.cu", 16), Some(3));
        for (kind, file, line) in
            [("leak", "src/sum.cu", 16), ("race", "src/sum.cu", 17), ("race", "mysrc/sum.cu", 16)]
        {
            assert_eq!(by(kind, file, line), None, "{kind} {file}:{line}");
        }
        assert_eq!(by("host function", "/a/cb.cu", 900), Some(4));
        assert_eq!(by("fault", "/a/x.cu", 1), Some(5));
        assert_eq!(list[2].reason, "y z");
    }

    #[test]
    fn a_suppression_without_a_reason_or_with_a_wrong_line_is_refused_by_its_number() {
        for (text, words) in [
            ("race a.cu:1", "line 1"),
            ("\nrace", "line 2"),
            ("race a.cu:b why", "\"b\""),
            ("races a.cu:1 why", "\"races\" is no kind: expected * or one of race, "),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
