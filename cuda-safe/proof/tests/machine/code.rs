//! Instructions of PTX and of machine code, and the branches between them.

use std::collections::{BTreeMap, BTreeSet};

/// A file and a line of the source.
pub(crate) type Line = (String, u32);

/// An instruction.
#[derive(Default)]
pub(crate) struct Node {
    pub(crate) line: Line,
    pub(crate) is_access: bool,
    pub(crate) is_load: bool,
    /// Whether a predicate decides if it happens.
    pub(crate) is_conditional: bool,
    /// Where it may go on, if that is not the next instruction. A label that no instruction has is the end.
    branches: Option<Vec<String>>,
    /// The function that it calls.
    calls: Option<String>,
    /// Registers that it writes and reads.
    words: (Vec<String>, Vec<String>),
}

/// A kernel or a function.
#[derive(Default)]
pub(crate) struct Code {
    pub(crate) nodes: Vec<Node>,
    labels: BTreeMap<String, usize>,
}

const END: &str = "the end";

impl Code {
    fn next(&self, at: usize) -> Vec<usize> {
        let node = &self.nodes[at];
        let place = |label: &String| self.labels.get(label).copied().unwrap_or(self.nodes.len());
        let mut next: Vec<usize> = node.branches.iter().flatten().map(place).collect();
        next.extend(node.calls.as_ref().map(place));
        if node.branches.is_none() || node.is_conditional {
            next.push(at + 1);
        }
        next
    }

    /// Returns which instructions are reached without a way from one to another.
    fn reached(&self, next: &[Vec<usize>], without: Option<(usize, usize)>) -> Vec<bool> {
        let mut reached = vec![false; self.nodes.len() + 1];
        let mut open = vec![0];
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut reached[at], true) && at < self.nodes.len() {
                open.extend(next[at].iter().filter(|to| without != Some((at, **to))));
            }
        }
        reached
    }

    /// Returns which instructions happen only where a predicate or a table of branches says so. What nothing
    /// reaches counts as guarded.
    pub(crate) fn guarded(&self) -> Vec<bool> {
        let next: Vec<Vec<usize>> = (0..self.nodes.len()).map(|at| self.next(at)).collect();
        let all = self.reached(&next, None);
        let mut guarded: Vec<bool> = self.nodes.iter().map(|it| it.is_conditional).collect();
        let is_choice = |at: usize| all[at] && next[at].len() > 1 && self.nodes[at].calls.is_none();
        for (from, ways) in next.iter().enumerate().filter(|it| is_choice(it.0)) {
            for to in ways {
                let others = self.reached(&next, Some((from, *to)));
                for (at, guarded) in guarded.iter_mut().enumerate() {
                    *guarded |= !others[at];
                }
            }
        }
        guarded
    }

    /// Returns the lines of loads whose value becomes a part of an address.
    pub(crate) fn index_lines(&self) -> BTreeSet<&Line> {
        let mut from: BTreeMap<&str, BTreeSet<&Line>> = BTreeMap::new();
        let (mut lines, mut changed) = (BTreeSet::new(), true);
        while changed {
            changed = false;
            for node in &self.nodes {
                let read = node.words.1.iter().filter_map(|it| from.get(&**it)).flatten().copied();
                let mut found: BTreeSet<&Line> = read.collect();
                if node.is_access {
                    lines.append(&mut found);
                }
                if node.is_load {
                    found = BTreeSet::from([&node.line]);
                }
                for written in &node.words.0 {
                    let known = from.entry(written).or_default();
                    let before = known.len();
                    known.extend(found.iter().copied());
                    changed |= known.len() > before;
                }
            }
        }
        lines
    }
}

/// Splits a text into its words.
fn words(text: &str) -> Vec<&str> {
    text.split(|it: char| !(it.is_alphanumeric() || "_$%.".contains(it)))
        .filter(|it| !it.is_empty())
        .collect()
}

/// The name of a file without its folders.
fn file_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

/// Reads the functions of PTX that nvcc wrote, with the lines of the source.
pub(crate) fn ptx(text: &str) -> BTreeMap<String, Code> {
    let (mut all, mut line) = (BTreeMap::new(), Line::default());
    // They stand behind the functions.
    let file = |text: &str| match text.split_whitespace().collect::<Vec<_>>()[..] {
        [".file", number, path, ..] => Some((number.to_owned(), file_name(path.trim_matches(['"', ','])))),
        _ => None,
    };
    let files: BTreeMap<String, String> = text.lines().filter_map(file).collect();
    let (mut name, mut code, mut table) = (String::new(), Code::default(), None::<(String, Vec<String>)>);
    let (mut tables, mut depth) = (BTreeMap::<String, Vec<String>>::new(), 0);
    for text in text.lines().map(|it| it.split("//").next().unwrap_or("").trim()) {
        let parts: Vec<&str> = text.split_whitespace().collect();
        depth = depth + text.matches('{').count() - text.matches('}').count();
        if let [".loc", file, number, ..] = parts[..] {
            line = (files.get(file).cloned().unwrap_or_default(), number.parse().unwrap_or(0));
        } else if let Some(at) = parts.iter().position(|it| matches!(*it, ".entry" | ".func")) {
            let names = words(&text[text.find(parts[at]).unwrap_or(0) + 6..]).into_iter();
            let found = names.filter(|it| !it.starts_with('.')).find(|it| !it.starts_with("func_retval"));
            name = found.unwrap_or_default().to_owned();
            (code, line) = (Code::default(), Line::default());
        } else if text == "}" && depth == 0 {
            for node in &mut code.nodes {
                if let Some(targets) = node.branches.as_mut().filter(|it| it.len() == 1)
                    && let Some(all) = tables.get(&targets[0])
                {
                    targets.clone_from(all);
                }
            }
            if !code.nodes.is_empty() {
                all.insert(std::mem::take(&mut name), std::mem::take(&mut code));
            }
        } else if let Some((label, targets)) = &mut table {
            targets.extend(words(text).into_iter().map(str::to_owned));
            if text.ends_with(';') {
                tables.insert(label.clone(), targets.clone());
                table = None;
            }
        } else if let Some((label, rest)) = text.split_once(": .branchtargets") {
            table = Some((label.to_owned(), words(rest).into_iter().map(str::to_owned).collect()));
        } else if let Some(label) = text.strip_suffix(':') {
            code.labels.insert(label.to_owned(), code.nodes.len());
        } else {
            let statements = text.split(';').map(|it| it.trim_matches(['{', '}', ' ', '\t']));
            code.nodes.extend(statements.filter_map(|it| ptx_node(it, &line)));
        }
    }
    all
}

fn ptx_node(text: &str, line: &Line) -> Option<Node> {
    let (guard, rest) = match text.strip_prefix('@') {
        Some(rest) => rest.split_once(' ').map(|(guard, rest)| (Some(guard), rest.trim()))?,
        None => (None, text),
    };
    let all = words(rest);
    let opcode = *all.first().filter(|it| it.starts_with(|it: char| it.is_ascii_lowercase()))?;
    let name = opcode.split('.').next().unwrap_or(opcode);
    let own = |it: &str| opcode.split('.').any(|word| word.split("::").next() == Some(it));
    let is_access = ["ld", "st", "atom", "red"].contains(&name)
        && !["param", "const", "local"].into_iter().any(own)
        || opcode.starts_with("cp.async.c") && !own("commit_group");
    let branches = match name {
        "bra" => Some(vec![all.last().copied()?.to_owned()]),
        "brx" => Some(vec![all.last().copied()?.to_owned()]),
        "ret" | "exit" | "trap" => Some(vec![END.to_owned()]),
        _ => None,
    };
    let has_result = !["st", "red", "bar", "cp"].contains(&name);
    let registers: Vec<String> =
        all[1..].iter().filter(|it| it.starts_with('%')).map(|it| (*it).to_owned()).collect();
    // All results of a vector stand before the address.
    let end = rest.find('[').or_else(|| rest.contains(" {").then(|| rest.find('}')).flatten());
    let results = match end {
        _ if !has_result => 0,
        Some(end) => rest[..end].matches('%').count(),
        None => 1,
    };
    let (written, read) = registers.split_at(results.min(registers.len()));
    // Of an access, the address alone.
    let address = rest.split_once('[').and_then(|it| it.1.split_once(']')).map_or("", |it| it.0);
    let read =
        if is_access { words(address).into_iter().map(str::to_owned).collect() } else { read.to_vec() };
    Some(Node {
        line: line.clone(),
        is_access,
        is_load: is_access && ["ld", "atom"].contains(&name),
        is_conditional: guard.is_some(),
        branches,
        calls: None,
        words: (written.to_vec(), read),
    })
}

/// Reads what `nvdisasm -g -c` prints.
pub(crate) fn machine(text: &str) -> BTreeMap<String, Code> {
    let (mut all, mut line) = (BTreeMap::<String, Code>::new(), Line::default());
    let mut code = None::<&mut Code>;
    for text in text.lines().map(str::trim) {
        if let Some(name) = text.strip_prefix(".text.").and_then(|it| it.strip_suffix(':')) {
            code = Some(all.entry(name.to_owned()).or_default());
            line = Line::default();
        } else if let Some(rest) = text.strip_prefix("//## File \"") {
            // The innermost place comes first.
            if let Some((path, rest)) = rest.split_once('"') {
                let number = rest.trim_start_matches(", line ").split(' ').next().unwrap_or("");
                line = (file_name(path), number.parse().unwrap_or(0));
            }
        } else if let Some(code) = &mut code {
            if let Some(label) = text.strip_suffix(':') {
                code.labels.insert(label.to_owned(), code.nodes.len());
            } else if let Some((_, instruction)) = text.split_once("*/").filter(|_| text.starts_with("/*")) {
                code.nodes.push(machine_node(instruction.trim(), &line));
            }
        }
    }
    all
}

/// The labels in an instruction.
fn labels_of(text: &str) -> Vec<String> {
    let is_label = |it: &&str| it.starts_with(".L_x_") || it.starts_with('$');
    words(text).into_iter().filter(is_label).map(str::to_owned).collect()
}

fn machine_node(text: &str, line: &Line) -> Node {
    let (guard, rest) = match text.strip_prefix('@') {
        Some(rest) => rest.split_once(' ').map_or((None, rest), |(guard, rest)| (Some(guard), rest.trim())),
        None => (None, text),
    };
    let opcode = rest.split([' ', ';']).next().unwrap_or_default();
    let name = opcode.split('.').next().unwrap_or(opcode);
    let branches = match name {
        // Threads that differ go both ways.
        "BRA" if opcode.contains("DIV") || opcode.contains("CONV") => None,
        "BRA" | "BRX" | "JMP" | "JMX" => Some(labels_of(rest)),
        "EXIT" | "RET" | "KILL" => Some(vec![END.to_owned()]),
        _ => None,
    };
    let loads = ["LDG", "LD", "LDS", "ATOM", "ATOMG", "ATOMS", "LDGSTS"].contains(&name);
    Node {
        line: line.clone(),
        is_access: loads || ["STG", "ST", "STS", "RED", "REDG", "STAS"].contains(&name),
        is_load: loads,
        is_conditional: guard.is_some_and(|it| !["PT", "UPT"].contains(&it)),
        branches,
        calls: labels_of(rest).pop().filter(|_| name == "CALL"),
        words: (Vec::new(), labels_of(rest)),
    }
}
