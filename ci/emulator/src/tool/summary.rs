//! The findings of all processes of a run, told once each, and the report for CI systems.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::path::Path;

use serde_json::Value;

/// A finding, and in how many processes it was.
#[derive(Debug)]
struct Reported {
    kind: String,
    what: String,
    /// Its parts with their lines, and the remedy.
    details: String,
    /// The first line of the program.
    place: String,
    processes: BTreeSet<u64>,
    times: u64,
    /// The line of the file of suppressions, and the reason.
    suppressed: Option<(u64, String)>,
}

/// What a run reported.
#[derive(Debug, Default)]
pub(super) struct Summary {
    /// By kind and lines.
    findings: BTreeMap<(String, String), Reported>,
    notes: BTreeSet<String>,
    /// The command of each process, with its rank.
    processes: BTreeMap<u64, String>,
    /// Those that have reported their end.
    ended: BTreeSet<u64>,
    approximate: BTreeSet<String>,
    unchecked: BTreeSet<String>,
}

/// The text of a value.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

/// The elements of a value.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], |list| list)
}

/// File and line of a frame or of an instruction, and its function.
fn place(value: &Value) -> Option<String> {
    let (file, line) = (value["file"].as_str()?, value["line"].as_u64()?);
    Some(format!("{file}:{line} in {}", value["function"].as_str().unwrap_or("an unknown function")))
}

impl Summary {
    /// Reads the lines of JSON that the processes have written.
    pub(super) fn new(report: &str) -> Self {
        let mut summary = Self::default();
        for row in report.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            if row["finding"].is_string() {
                summary.finding(&row);
            } else if row["note"].is_string() {
                summary.notes.insert(text(&row["note"]).to_owned());
            } else if row["process"].is_object() {
                let process = &row["process"];
                let command: Vec<_> = list(&process["command"]).iter().map(text).collect();
                let rank =
                    process["rank"].as_str().map_or_else(String::new, |rank| format!(" (rank {rank})"));
                let pid = process["pid"].as_u64().unwrap_or(0);
                summary.processes.insert(pid, format!("{}{rank}", command.join(" ")));
                if row["findings"].is_object() {
                    summary.ended.insert(pid);
                }
                let words =
                    |value: &Value| list(value).iter().map(|it| text(it).to_owned()).collect::<Vec<_>>();
                summary.approximate.extend(words(&row["approximate"]));
                summary.unchecked.extend(words(&row["not_checked"]));
            }
        }
        summary
    }

    fn finding(&mut self, row: &Value) {
        let (mut details, mut places) = (String::new(), Vec::new());
        for part in list(&row["parts"]) {
            // Writing to a string does not fail.
            let _ = write!(details, "{}", text(&part["what"]));
            let lines: Vec<_> = list(&part["stack"]).iter().filter_map(place).collect();
            for (depth, line) in lines.iter().enumerate() {
                let _ = write!(details, "{}{line}", if depth == 0 { ", at " } else { "\n    from " });
            }
            details.push('\n');
            // The words of a part name the line of the kernel already.
            places.extend(place(&part["code"]).or_else(|| lines.into_iter().next()));
        }
        details.push_str(text(&row["advice"]));
        let kind = text(&row["finding"]).to_owned();
        let suppressed = &row["suppressed"];
        let suppressed =
            suppressed["line"].as_u64().map(|line| (line, text(&suppressed["reason"]).to_owned()));
        // Without lines the words tell findings apart.
        let key = if places.is_empty() { text(&row["what"]).to_owned() } else { places.join("; ") };
        let it = self.findings.entry((kind.clone(), key)).or_insert_with(|| Reported {
            kind,
            what: text(&row["what"]).to_owned(),
            details,
            place: places.first().cloned().unwrap_or_default(),
            processes: BTreeSet::new(),
            times: 0,
            suppressed,
        });
        it.times += 1;
        it.processes.extend(row["pid"].as_u64());
    }

    fn open(&self) -> impl Iterator<Item = &Reported> {
        self.findings.values().filter(|it| it.suppressed.is_none())
    }

    /// Whether no process has used the emulator.
    pub(super) fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// The kinds of the findings that are not suppressed.
    pub(super) fn kinds(&self) -> impl Iterator<Item = &str> {
        self.open().map(|it| &*it.kind)
    }

    /// The suppressions that no finding needed.
    pub(super) fn stale(&self, file: &Path) -> Vec<String> {
        let used: BTreeSet<u64> =
            self.findings.values().filter_map(|it| it.suppressed.as_ref().map(|(line, _)| *line)).collect();
        let rows = std::fs::read_to_string(file).unwrap_or_default();
        let of = |(number, row): (u64, &str)| {
            let says = !row.trim().is_empty() && !row.trim_start().starts_with('#');
            (says && !used.contains(&number)).then(|| {
                format!("{}:{number}: suppresses nothing in this run: {}", file.display(), row.trim())
            })
        };
        (1..).zip(rows.lines()).filter_map(of).collect()
    }

    /// A report in JUnit's form: a test case for each process, and one for each finding.
    pub(super) fn junit(&self, seconds: f64) -> String {
        let failures = self.open().count();
        let skipped = self.findings.len() - failures;
        let (tests, name) = (self.processes.len() + self.findings.len(), "cuda-emulate");
        let counts = format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\"");
        let mut out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n".to_owned();
        let _ = writeln!(out, "  <testsuite name=\"{name}\" {counts} time=\"{seconds:.3}\">");
        for command in self.processes.values() {
            let _ =
                writeln!(out, "    <testcase classname=\"{name}.process\" name=\"{}\"/>", escaped(command));
        }
        for it in self.findings.values() {
            let what = format!("{}: {}", it.kind, if it.place.is_empty() { &it.what } else { &it.place });
            let _ = writeln!(out, "    <testcase classname=\"{name}.finding\" name=\"{}\">", escaped(&what));
            let _ = match &it.suppressed {
                Some((_, reason)) => writeln!(out, "      <skipped message=\"{}\"/>", escaped(reason)),
                None => writeln!(
                    out,
                    "      <failure type=\"{}\" message=\"{}\">{}</failure>",
                    escaped(&it.kind),
                    escaped(&it.what),
                    escaped(&it.details)
                ),
            };
            out.push_str("    </testcase>\n");
        }
        let _ = write!(
            out,
            "    <system-out>{}</system-out>\n  </testsuite>\n</testsuites>\n",
            escaped(&self.to_string())
        );
        out
    }
}

/// Text in an attribute or an element.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            // XML has no other control characters.
            c if c < ' ' && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, all) = (self.open().count(), self.findings.len());
        let suppressed = if all > open { format!(", {} suppressed", all - open) } else { String::new() };
        let counted = |count: usize, what: &str, more: &str| {
            format!("{count} {what}{}", if count == 1 { "" } else { more })
        };
        let (processes, findings) =
            (counted(self.processes.len(), "process", "es"), counted(open, "finding", "s"));
        writeln!(f, "cuda-emulate: {processes} on the emulator, {findings}{suppressed}")?;
        if self.is_empty() {
            writeln!(
                f,
                "  nothing was checked: no program called this library; ask cuda-emulate --doctor PROGRAM why"
            )?;
        }
        for it in self.findings.values() {
            let place = if it.place.is_empty() { String::new() } else { format!(" at {}", it.place) };
            let (count, times) = (it.processes.len(), it.times);
            let processes = counted(count, "process", "es");
            let times = if times > 1 { format!(", {times} times") } else { String::new() };
            write!(f, "  {}{place} ({processes}{times})", it.kind)?;
            match &it.suppressed {
                Some((_, reason)) => writeln!(f, ", suppressed: {reason}")?,
                None => {
                    writeln!(f, ": {}", it.what)?;
                    let commands: Vec<_> = it
                        .processes
                        .iter()
                        .filter_map(|pid| self.processes.get(pid))
                        .map(|it| &**it)
                        .collect();
                    if let Some(first) = commands.first() {
                        writeln!(f, "    in {first}{}", if count > 1 { ", and others" } else { "" })?;
                    }
                }
            }
        }
        for (_, command) in self.processes.iter().filter(|it| !self.ended.contains(it.0)) {
            writeln!(f, "  ended early, by a crash, a signal or _exit: {command}")?;
        }
        for note in &self.notes {
            writeln!(f, "  note: {note}")?;
        }
        for (title, words) in [("approximate", &self.approximate), ("not checked", &self.unchecked)] {
            if !words.is_empty() {
                writeln!(f, "  {title}: {}", words.iter().map(|it| &**it).collect::<Vec<_>>().join(", "))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The report of two processes.
    fn report() -> String {
        let race = |pid| {
            let code = json!({ "file": "a.cu", "line": 3, "function": "k<int>", "ptx": 9 });
            let parts = [json!({ "what": "write", "code": code, "stack": [] })];
            let (what, advice) = ("nothing orders", "Order them.");
            json!({ "finding": "race", "what": what, "advice": advice, "parts": parts, "pid": pid })
        };
        let stack = [json!({ "file": "b.cu", "line": 7, "function": "main" })];
        let leak = json!({
            "finding": "leak", "what": "8 bytes", "parts": [json!({ "what": "cudaMalloc", "stack": stack })],
            "pid": 1, "suppressed": json!({ "line": 2, "reason": "at exit" }),
        });
        let process =
            |pid, command: &[&str], rank: Option<&str>, approximate: &[&str], unchecked: &[&str]| {
                let process = json!({ "command": command, "pid": pid, "rank": rank });
                json!({
                    "process": process, "findings": {}, "approximate": approximate, "not_checked": unchecked,
                })
            };
        let ends = [
            process(1, &["./t", "--fast"], None, &["clocks"], &[]),
            process(2, &["./t"], Some("1"), &[], &["barriers"]),
        ];
        let crashed = json!({ "process": json!({ "command": ["./c"], "pid": 3, "rank": null }) });
        let rows = [race(1), leak, race(2), crashed].into_iter().chain(ends).map(|row| format!("{row}\n"));
        rows.chain(["not a line of a report\n".to_owned()]).collect()
    }

    #[test]
    fn findings_of_several_processes_are_told_once_and_suppressed_ones_with_their_reason() {
        let summary = Summary::new(&report());
        let text = summary.to_string();
        for words in [
            "3 processes on the emulator, 1 finding, 1 suppressed\n",
            "race at a.cu:3 in k<int> (2 processes, 2 times): nothing orders\n",
            "    in ./t --fast, and others\n",
            "leak at b.cu:7 in main (1 process), suppressed: at exit\n",
            "  ended early, by a crash, a signal or _exit: ./c\n",
            "approximate: clocks\n",
            "not checked: barriers\n",
        ] {
            assert!(text.contains(words), "{words:?} is not in\n{text}");
        }
        assert_eq!(summary.kinds().collect::<Vec<_>>(), ["race"]);
    }

    #[test]
    fn the_report_for_ci_has_a_case_for_each_process_and_finding_and_is_xml() {
        let xml = Summary::new(&report()).junit(1.5);
        for words in [
            "tests=\"5\" failures=\"1\" errors=\"0\" skipped=\"1\" time=\"1.500\"",
            "name=\"./t (rank 1)\"/>",
            "<testcase classname=\"cuda-emulate.finding\" name=\"race: a.cu:3 in k&lt;int&gt;\">\n",
            "<failure type=\"race\" message=\"nothing orders\">write&#10;Order them.</failure>",
            "<skipped message=\"at exit\"/>",
        ] {
            assert!(xml.contains(words), "{words:?} is not in\n{xml}");
        }
    }
}
