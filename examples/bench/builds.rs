//! The times of clean builds that `ci/cold` measured: lines `SECONDS WHAT`, and one that starts with `#`
//! about the machine.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context as _;

/// Returns the section of the report.
pub(crate) fn report(file: &Path) -> anyhow::Result<String> {
    let lines = std::fs::read_to_string(file).with_context(|| format!("{}", file.display()))?;
    let mut text = "\n## Builds from nothing\n".to_owned();
    let mut table = "\n| command | seconds |\n|---|--:|\n".to_owned();
    for line in lines.lines() {
        if let Some(about) = line.strip_prefix('#') {
            writeln!(text, "\n{}", about.trim())?;
        } else {
            let (seconds, what) =
                line.split_once(' ').with_context(|| format!("not SECONDS WHAT: {line}"))?;
            let seconds: f64 = seconds.parse().with_context(|| line.to_owned())?;
            writeln!(table, "| `{what}` | {seconds:.1} |")?;
        }
    }
    Ok(text + &table)
}
