//! Changes of the tokens of a text. They know nothing of the reader, so that they go beyond it.

use std::collections::BTreeSet;

/// A small random number generator (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = self.0;
        it = (it ^ it >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ it >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        it ^ it >> 31
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % (end.max(1) as u64)).unwrap()
    }

    fn one<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }
}

/// A text of one kernel, cut into tokens and what is between them.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    pieces: Vec<String>,
    /// The first piece of the kernel's head, and the first one of its body.
    head: usize,
    body: usize,
}

const COMMENTS: &[&str] = &[
    "/**/",
    "/* x */",
    "// x\n",
    "//*\n",
    "/* // */",
    "/***/",
    "/* /* */",
    "// x \\\n",
    "// /* \n",
    "/*/ x */",
    "/*/ x /*/",
    "/* \" */",
    "// \"\n",
    "// x\r\n",
    "/* x\r\n */",
    "\n# 1 \"x\"\n",
    "\n#line 3 \"y;\" 1\n",
    "//\u{c}\n",
];
const BLANKS: &[&str] = &[" ", "\n", "\t", "\r", "\u{c}", "\u{b}", "  \n", "\\", "\u{1a}", ";", ""];
const SPECIAL: &[&str] = &[
    "%laneid",
    "%clock",
    "%smid",
    "%envreg1",
    "%envreg2",
    "%dynamic_smem_size",
    "%warpid",
    "%tid",
    "%ctaid",
    "%lanemask_lt",
    "%clock64",
    "%pm0",
    "%gridid",
    "WARP_SZ",
    "_",
    "generic",
    "add",
    "ret",
    "%r",
    "%p1",
    "%rd1",
    "%r1",
    "$l1",
    "$r1",
];
const HEADER: &[&str] = &[
    ".maxntid 128",
    ".maxntid 64, 2",
    ".reqntid 128",
    ".minnctapersm 2",
    ".maxnreg 40",
    ".pragma \"nounroll\";",
    ".reqntid 128, 1, 1 .reqnctapercluster 2, 1, 1",
    ".blocksareclusters .reqntid 128 .reqnctapercluster 2",
    ".blocksareclusters",
    ".explicitcluster",
    ".maxclusterrank 4",
    ".local_maxnreg 40",
];
const STATEMENTS: &[&str] = &[
    ".pragma \"nounroll\";",
    "ret;",
    "bar.sync 0;",
    ";",
    "{ }",
    "{ .reg .b32 %r1; mov.u32 %r1, 5; }",
    "{ .reg .b32 %r<3>; mov.u32 %r2, 7; }",
    "{ .reg .pred %p1; setp.eq.u32 %p1, 1, 1; }",
    "x: ",
    "{ x: bra x; }",
    "{ bra x; x: }",
    ".loc 1 7 1",
    "exit;",
    "{ .shared .b32 tile; st.shared.u32 [tile], 1; }",
    ".reg .b32 %laneid;",
    ".reg .b64 f;",
    "{ .reg .b32 %r; mov.u32 %r, 1; }",
    ".local .b32 depot;",
];

impl Base {
    /// Returns a text for each kernel of a text, with everything around it but the other kernels, and without
    /// what debuggers read.
    pub(crate) fn all(text: &str) -> Vec<Self> {
        let text = text.split("\t.section").next().unwrap_or_default();
        // An architecture that has clusters.
        let text = &text.replace(".target sm_70", ".target sm_90").replace(".target sm_75", ".target sm_90");
        let (mut around, mut kernels, mut open) = (Vec::new(), Vec::new(), None::<String>);
        for line in text.split_inclusive('\n').filter(|line| !line.starts_with("\t.loc")) {
            if open.is_none() && line.contains(".entry ") {
                open = Some(String::new());
            }
            match &mut open {
                None => around.push((kernels.len(), line)),
                Some(kernel) => {
                    kernel.push_str(line);
                    if line.trim_end() == "}" {
                        kernels.extend(open.take());
                    }
                }
            }
        }
        let base = |(number, kernel): (usize, &String)| {
            let part = |is_before: bool| {
                let lines = around.iter().filter(move |(before, _)| (*before <= number) == is_before);
                pieces(&lines.map(|(_, line)| *line).collect::<String>())
            };
            let (mut all, kernel) = (part(true), pieces(kernel));
            let head = all.len();
            let body = head + kernel.iter().position(|it| it == "{").unwrap_or(0) + 1;
            all.extend(kernel);
            all.extend(part(false));
            Self { pieces: all, head, body }
        };
        kernels.iter().enumerate().map(base).collect()
    }

    /// Returns the text with one to three changes.
    pub(crate) fn changed(&self, random: &mut Random) -> String {
        let mut it = self.clone();
        for _ in 0..1 + random.below(3) {
            match random.below(12) {
                0 => it.comment(random),
                1 => it.hide(random),
                2 | 3 => it.rename(random),
                4 => it.respell(random),
                5 | 6 => it.number(random),
                7 => it.operand(random),
                8 => it.scope(random),
                9 => it.header(random),
                10 => it.statement(random),
                _ => it.blank(random),
            }
        }
        it.pieces.concat()
    }

    fn insert(&mut self, at: usize, text: &str) {
        let new = pieces(text);
        self.head += if at < self.head { new.len() } else { 0 };
        self.body += if at < self.body { new.len() } else { 0 };
        self.pieces.splice(at..at, new);
    }

    /// Returns the place of one of the kernel's pieces that fit.
    fn find(&self, random: &mut Random, fits: impl Fn(&str) -> bool) -> Option<usize> {
        let all: Vec<usize> = (self.head..self.pieces.len()).filter(|at| fits(&self.pieces[*at])).collect();
        (!all.is_empty()).then(|| all[random.below(all.len())])
    }

    /// Returns the names among some pieces.
    fn names(&self, range: std::ops::Range<usize>) -> impl Iterator<Item = &str> {
        self.pieces[range].iter().map(|it| &**it).filter(|it| is_name(it))
    }

    fn comment(&mut self, random: &mut Random) {
        let at = random.below(self.pieces.len());
        self.insert(at, random.one(COMMENTS));
    }

    /// Returns the pieces of a whole statement.
    fn statement_at(&self, random: &mut Random) -> Option<std::ops::Range<usize>> {
        let end = self.find(random, |it| it == ";").filter(|end| *end > self.body)?;
        let is_end = |it: &String| [";", "{", "}", ":"].contains(&&**it);
        let before = self.pieces[self.body..end].iter().rposition(is_end).map_or(0, |at| at + 1);
        Some(self.body + before..end + 1)
    }

    /// Puts signs of comments around a statement.
    fn hide(&mut self, random: &mut Random) {
        let Some(range) = self.statement_at(random) else { return };
        let (open, close) = [
            ("/*/ ", " /*/"),
            ("/*", "*/"),
            ("//", ""),
            ("/**/", "/**/"),
            ("//", "\n"),
            ("\n# 1 \"", "\"\n"),
        ][random.below(6)];
        let text = self.pieces[range.clone()].concat();
        // It may stay beside the comment.
        if random.below(2) == 0 {
            self.insert(range.end, &format!("{open}{text}{close}"));
        } else {
            self.pieces.splice(range.clone(), pieces(&format!("{open}{text}{close}")));
        }
    }

    /// Gives a register or a label another name, with its declaration.
    fn rename(&mut self, random: &mut Random) {
        let own: BTreeSet<&str> = self.names(self.body..self.pieces.len()).collect();
        let outside: BTreeSet<&str> = self.names(0..self.head).collect();
        let (own, outside): (Vec<&str>, Vec<&str>) =
            (own.into_iter().collect(), outside.into_iter().collect());
        // A kernel that does nothing has no names.
        if own.is_empty() {
            return;
        }
        let old = random.one(&own).to_owned();
        let new = match random.below(3) {
            0 if !outside.is_empty() => random.one(&outside).to_owned(),
            1 => random.one(&own).to_owned(),
            _ => random.one(SPECIAL).to_owned(),
        };
        let end = self.pieces.len();
        // The type of its family, or its own declaration is renamed.
        let family = old.trim_end_matches(|sign: char| sign.is_ascii_digit());
        let declared = (self.body..end)
            .find(|at| self.pieces[*at] == family && self.pieces.get(at + 1).is_some_and(|next| next == "<"));
        let ty =
            declared.and_then(|at| self.pieces[..at].iter().rev().find(|it| it.starts_with('.')).cloned());
        for piece in &mut self.pieces[self.body..end] {
            if *piece == old {
                piece.clone_from(&new);
            }
        }
        if let Some(ty) = ty {
            self.insert(self.body, &format!("\n.reg {ty} {new};"));
        }
    }

    /// Writes one use of a name in another way, or another name.
    fn respell(&mut self, random: &mut Random) {
        let Some(at) = self.find(random, is_name) else { return };
        let old = &self.pieces[at];
        let digits = old.trim_start_matches(|sign: char| !sign.is_ascii_digit()).len();
        let (family, number) = old.split_at(old.len() - digits);
        let names: Vec<&String> = self.pieces.iter().filter(|it| is_name(it)).collect();
        self.pieces[at] = match random.below(4) {
            0 => format!("{family}0{number}"),
            1 => format!("{family}{}", 4_294_967_296_u64 + number.parse().unwrap_or(0)),
            2 => random.one(SPECIAL).to_owned(),
            _ => names[random.below(names.len())].clone(),
        };
    }

    /// Writes a number in another way, or another number.
    fn number(&mut self, random: &mut Random) {
        let is_number = |it: &str| it.starts_with(|first: char| first.is_ascii_digit());
        let Some(at) = self.find(random, is_number) else { return };
        let old = self.pieces[at].clone();
        let bits = |from: &str| {
            u64::from_str_radix(old.get(2..)?, 16).ok().filter(|_| old.to_lowercase().starts_with(from))
        };
        self.pieces[at] = if let Some(bits) = bits("0f") {
            let value = f32::from_bits(u32::try_from(bits).unwrap_or(0));
            match random.below(4) {
                0 => format!("0d{:016X}", f64::from(value).to_bits()),
                1 => format!("{value:?}"),
                2 => format!("0F{bits:08x}"),
                _ => format!("0d{bits:016x}"),
            }
        } else if let Some(bits) = bits("0d") {
            match random.below(4) {
                0 => format!("{:?}", f64::from_bits(bits)),
                1 => format!("0D{bits:016X}"),
                2 => format!("0f{:08x}", bits >> 32),
                _ => format!("-{old}"),
            }
        } else if let Ok(value) = old.parse::<u64>() {
            match random.below(10) {
                0 => format!("{value:#x}"),
                1 => format!("0{value:o}"),
                2 => format!("{value:#b}"),
                3 => format!("{value}U"),
                4 => format!("{}", u128::from(value) + (1 << 32)),
                5 => format!("-{value}"),
                6 => format!("0{value}"),
                7 => format!("{value}.0"),
                8 => format!("{}", value + 4),
                _ => format!("0d{:016x}", (random.below(1000) as f64).to_bits()),
            }
        } else {
            format!("0d{:016x}", 1000.0_f64.to_bits())
        };
    }

    /// Copies an operand, or a piece, to the place of another.
    fn operand(&mut self, random: &mut Random) {
        let is_operand =
            |it: &str| it.starts_with(|first: char| first.is_alphanumeric() || "%$_".contains(first));
        let (Some(from), Some(to)) = (self.find(random, is_operand), self.find(random, is_operand)) else {
            return;
        };
        let (from, to) = match random.below(3) {
            // Neighbours, perhaps.
            0 => (from, (from + 2).min(self.pieces.len() - 1)),
            1 => (from, (from + 3).min(self.pieces.len() - 1)),
            _ => (from, to),
        };
        match random.below(3) {
            0 => self.pieces.swap(from, to),
            1 => self.pieces[to] = self.pieces[from].clone(),
            _ => self.pieces[to] = format!("!{}", self.pieces[from]),
        }
    }

    /// Puts a statement into braces, with declarations that hide others.
    fn scope(&mut self, random: &mut Random) {
        let Some(range) = self.statement_at(random) else { return };
        let names: Vec<&String> = self.pieces.iter().filter(|it| is_name(it)).collect();
        let name = names[random.below(names.len())].clone();
        let ty = random.one(&["b32", "b64", "pred", "f32", "b16"]);
        let inside = match random.below(5) {
            0 => String::new(),
            1 => format!(".reg .{ty} {name};"),
            2 => format!(
                ".reg .{ty} {}<{}>;",
                name.trim_end_matches(|sign: char| sign.is_ascii_digit()),
                random.below(12)
            ),
            3 => format!("{name}:"),
            _ => format!(".shared .{ty} {name};"),
        };
        // Behind or in front of it.
        if random.below(2) == 0 {
            self.insert(range.end, &format!("{inside}}}"));
            self.insert(range.start, "{");
        } else {
            self.insert(range.end, "}");
            self.insert(range.start, &format!("{{{inside}"));
        }
    }

    fn header(&mut self, random: &mut Random) {
        self.insert(self.body - 1, &format!("\n{}\n", random.one(HEADER)));
    }

    /// Adds, removes or moves a statement.
    fn statement(&mut self, random: &mut Random) {
        let Some(range) = self.statement_at(random) else { return };
        match random.below(4) {
            0 => drop(self.pieces.drain(range)),
            1 => {
                let Some(other) = self.statement_at(random) else { return };
                let text = self.pieces[range].concat();
                self.insert(other.end, &text);
            }
            _ => self.insert(range.start, &format!("\n{}\n", random.one(STATEMENTS))),
        }
    }

    fn blank(&mut self, random: &mut Random) {
        let at = self.head + random.below(self.pieces.len() - self.head);
        if self.pieces[at].trim().is_empty() {
            self.pieces[at] = random.one(BLANKS).to_owned();
        } else {
            self.insert(at, random.one(BLANKS));
        }
    }
}

fn is_name(piece: &str) -> bool {
    piece.starts_with(|first: char| first.is_ascii_alphabetic() || "%$_".contains(first))
        && !piece.contains('.')
}

/// Cuts a text into words, numbers, signs, comments, strings and what is between them.
fn pieces(text: &str) -> Vec<String> {
    let (mut list, mut rest) = (Vec::new(), text);
    let is_part = |sign: char| sign.is_ascii_alphanumeric() || "_$%".contains(sign);
    while let Some(first) = rest.chars().next() {
        let until = |start: usize, sign: &str| {
            rest.get(start..).and_then(|it| it.find(sign)).map_or(rest.len(), |at| start + at + sign.len())
        };
        let length = match first {
            '/' if rest.starts_with("/*") => until(2, "*/"),
            '/' if rest.starts_with("//") => until(0, "\n"),
            '"' => until(1, "\""),
            _ if first.is_whitespace() => rest.find(|sign: char| !sign.is_whitespace()).unwrap_or(rest.len()),
            _ if is_part(first) || first == '.' => {
                1 + rest[1..].find(|sign| !is_part(sign)).unwrap_or(rest.len() - 1)
            }
            _ => first.len_utf8(),
        };
        list.push(rest[..length].to_owned());
        rest = &rest[length..];
    }
    list
}
