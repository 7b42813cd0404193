//! What the author of a kernel requires of its launches: the lines `@unsafe_contract` of the kernel's
//! comment.
//!
//! A contract stands in for a proof, so a line that could be read in two ways is an error.

use std::fmt::Write as _;

use crate::Error;

/// What a contract may say of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A whole number: its bytes, and whether it has a sign.
    Number(usize, bool),
    /// A pointer.
    Memory,
    /// Anything else.
    Other,
}

/// Returns the clauses in a kernel's comment as Rust text, `None` if there are none. `parameters` are names
/// and kinds.
pub(crate) fn clauses(
    kernel: &str,
    docs: &[String],
    parameters: &[(&str, Kind)],
) -> Result<Option<String>, Error> {
    let mut text = String::new();
    let mut lines = docs.iter().map(|line| line.trim()).peekable();
    while let Some(line) = lines.next() {
        let refuse = |why: &str| {
            Err(Error::Prototype(format!("kernel `{kernel}`: {why}, in the comment's line `{line}`")))
        };
        let command = line.strip_prefix(['@', '\\']).and_then(|rest| rest.strip_prefix("unsafe_contract"));
        let Some(rest) = command else {
            if line.contains("unsafe_contract") {
                return refuse("`@unsafe_contract` is not the line's first word");
            }
            continue;
        };
        if !rest.starts_with(' ') || rest.trim().is_empty() {
            return refuse("`@unsafe_contract` is followed by `requires` or `block`");
        }
        // A reader would take the line below for a part of the contract.
        if lines.peek().is_some_and(|next| !next.is_empty() && !next.starts_with(['@', '\\'])) {
            return refuse("an empty line or a line with `@` comes below a contract");
        }
        for clause in rest.split(',') {
            let mut reader = Reader { words: words(clause), at: 0, parameters };
            if let Err(why) = reader.clause(clause.trim(), &mut text) {
                return refuse(&why);
            }
        }
    }
    Ok(Some(text).filter(|text| !text.is_empty()))
}

/// Splits a clause into names, numbers and signs. A comparison is one word.
fn words(clause: &str) -> Vec<&str> {
    let (mut found, mut rest) = (Vec::new(), clause.trim_start());
    while let Some(first) = rest.chars().next() {
        let is_part = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '.');
        let length = if is_part(first) {
            rest.find(|sign| !is_part(sign)).unwrap_or(rest.len())
        } else if ["<=", ">=", "=="].iter().any(|sign| rest.starts_with(sign)) {
            2
        } else {
            first.len_utf8()
        };
        let (word, behind) = rest.split_at(length);
        found.push(word);
        rest = behind.trim_start();
    }
    found
}

type Parsed<T> = Result<T, String>;

struct Reader<'a> {
    words: Vec<&'a str>,
    at: usize,
    parameters: &'a [(&'a str, Kind)],
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let word = self.words.get(self.at).copied();
        self.at += 1;
        word
    }

    fn eat(&mut self, word: &str) -> bool {
        let is_there = self.words.get(self.at) == Some(&word);
        self.at += usize::from(is_there);
        is_there
    }

    fn clause(&mut self, whole: &str, text: &mut String) -> Parsed<()> {
        let mut add = |left: &str, relation: &str, right: &str| {
            let _ = write!(
                text,
                "::cuda_safe::launch::Clause::new({whole:?}, &[{left}], \
                 ::cuda_safe::launch::Relation::{relation}, &[{right}]), "
            );
        };
        match self.next() {
            Some("requires") => {
                let left = self.sum()?;
                let sign = self.next().unwrap_or("nothing");
                let (relation, is_turned) = match sign {
                    "<=" => ("AtMost", false),
                    "<" => ("Below", false),
                    "==" => ("Equal", false),
                    ">=" => ("AtMost", true),
                    ">" => ("Below", true),
                    _ => return Err(format!("`{sign}` is not `<=`, `<`, `==`, `>=` or `>`")),
                };
                let right = self.sum()?;
                let (left, right) = if is_turned { (right, left) } else { (left, right) };
                add(&left, relation, &right);
            }
            Some("block") => {
                for axis in 0..3 {
                    let threads = match self.next() {
                        Some(word) => number(word).filter(|threads| *threads > 0),
                        None => Some(1).filter(|_| axis > 0),
                    };
                    let threads = threads.ok_or("`block` is followed by its threads: `block 256`")?;
                    add(&op(&format!("Block({axis})")), "Equal", &op(&format!("Number({threads})")));
                }
            }
            word => {
                return Err(format!("`{}` is neither `requires` nor `block`", word.unwrap_or_default()));
            }
        }
        match self.words.get(self.at) {
            Some(word) => Err(format!("`{word}` is one word too many")),
            None => Ok(()),
        }
    }

    /// Reads a sum of products, and returns it in postfix order.
    fn sum(&mut self) -> Parsed<String> {
        let mut text = self.product()?;
        loop {
            let name = match self.words.get(self.at) {
                Some(&"+") => "Add",
                Some(&"-") => "Subtract",
                _ => return Ok(text),
            };
            self.at += 1;
            text = format!("{text}{}{}", self.product()?, op(name));
        }
    }

    fn product(&mut self) -> Parsed<String> {
        let mut text = self.value()?;
        while self.eat("*") {
            text = format!("{text}{}{}", self.value()?, op("Multiply"));
        }
        Ok(text)
    }

    fn value(&mut self) -> Parsed<String> {
        let word = self.next().ok_or("a number or a name is missing at the end")?;
        if word == "(" {
            let inner = self.sum()?;
            return if self.eat(")") { Ok(inner) } else { Err("a `)` is missing".to_owned()) };
        }
        if word == "len" && self.eat("(") {
            let name = self.next().unwrap_or_default();
            let Some((at, Kind::Memory)) = self.parameter(name) else {
                return Err(format!("`{name}` is no pointer among the parameters"));
            };
            return if self.eat(")") {
                Ok(op(&format!("Length({at})")))
            } else {
                Err("a `)` is missing".to_owned())
            };
        }
        if let Some(number) = number(word) {
            return Ok(op(&format!("Number({number})")));
        }
        let axes = ["grid.x", "grid.y", "grid.z", "block.x", "block.y", "block.z"];
        if let Some(axis) = axes.iter().position(|axis| *axis == word) {
            let name = if axis < 3 { "Grid" } else { "Block" };
            return Ok(op(&format!("{name}({})", axis % 3)));
        }
        match self.parameter(word) {
            Some((at, Kind::Number(bytes, is_signed))) => {
                Ok(op(&format!("Value {{ parameter: {at}, bytes: {bytes}, is_signed: {is_signed} }}")))
            }
            Some((_, Kind::Memory)) => Err(format!("`{word}` is a pointer: `len({word})` has its elements")),
            Some((_, Kind::Other)) => Err(format!("`{word}` is no whole number")),
            None if word == "shared_bytes" => Ok(op("SharedBytes")),
            None => Err(format!("`{word}` is no parameter")),
        }
    }

    fn parameter(&self, name: &str) -> Option<(usize, Kind)> {
        // A name that is a keyword in Rust has a `_` at its end there.
        let is_named = |own: &str| own == name || own.strip_suffix('_') == Some(name);
        let mut found = self.parameters.iter().enumerate().filter(|(_, (own, _))| is_named(own));
        let (at, (_, kind)) = found.next()?;
        found.next().is_none().then_some((at, *kind))
    }
}

/// Returns a decimal number.
fn number(word: &str) -> Option<i64> {
    let is_decimal = word.bytes().all(|byte| byte.is_ascii_digit());
    word.parse().ok().filter(|_| is_decimal && (word == "0" || !word.starts_with('0')))
}

fn op(name: &str) -> String {
    format!("::cuda_safe::launch::Op::{name}, ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMETERS: [(&str, Kind); 5] = [
        ("x", Kind::Memory),
        ("n", Kind::Number(4, false)),
        ("scale", Kind::Other),
        ("type_", Kind::Number(8, true)),
        ("len", Kind::Number(4, true)),
    ];

    fn of(lines: &[&str]) -> Result<Option<String>, Error> {
        let docs: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        clauses("kernel", &docs, &PARAMETERS)
    }

    #[test]
    fn clauses_become_terms_in_postfix_order() {
        let text =
            of(&[" Sums.", " @unsafe_contract requires 2 * (n + 1) <= len(x), block 16 8", "", " More."]);
        let text = text.unwrap().unwrap().replace("::cuda_safe::launch::", "");
        let sum = "Op::Number(2), Op::Value { parameter: 1, bytes: 4, is_signed: false }, Op::Number(1), \
                   Op::Add, Op::Multiply, ";
        let expected = format!(
            "Clause::new(\"requires 2 * (n + 1) <= len(x)\", &[{sum}], Relation::AtMost, &[Op::Length(0), \
             ]), \
             Clause::new(\"block 16 8\", &[Op::Block(0), ], Relation::Equal, &[Op::Number(16), ]), \
             Clause::new(\"block 16 8\", &[Op::Block(1), ], Relation::Equal, &[Op::Number(8), ]), \
             Clause::new(\"block 16 8\", &[Op::Block(2), ], Relation::Equal, &[Op::Number(1), ]), "
        );
        assert_eq!(text, expected);
        // A turned comparison, a keyword of Rust, and a parameter that is called like a word of the language.
        let text = of(&["@unsafe_contract requires type - len > grid.y * shared_bytes"]).unwrap().unwrap();
        let (left, right) = text.split_once("Relation::Below").unwrap();
        assert!(
            left.contains("Grid(1)") && left.contains("SharedBytes") && right.contains("Subtract"),
            "{text}"
        );
        assert!(right.contains("parameter: 3, bytes: 8, is_signed: true") && right.contains("parameter: 4"));
        assert_eq!(of(&[" @reads nothing", " Requires n <= len(x)."]).unwrap(), None);
    }

    #[test]
    fn what_could_be_misread_is_an_error_with_the_line() {
        for (line, word) in [
            ("@unsafe_contract", "`requires` or `block`"),
            ("@unsafe_contract: requires n <= 4", "`requires` or `block`"),
            ("@unsafe_contracts requires n <= 4", "`requires` or `block`"),
            ("See @unsafe_contract requires n <= 4", "first word"),
            ("@ unsafe_contract requires n <= 4", "first word"),
            ("@unsafe_contract n <= len(x)", "`n` is neither"),
            ("@unsafe_contract require n <= len(x)", "`require` is neither"),
            ("@unsafe_contract requires n <= len(x),", "`` is neither"),
            ("@unsafe_contract requires n <= len(x) and n > 0", "`and` is one word too many"),
            ("@unsafe_contract requires 0 < n < 4", "`<` is one word too many"),
            ("@unsafe_contract requires n = 4", "`=` is not"),
            ("@unsafe_contract requires n != 4", "`!` is not"),
            ("@unsafe_contract requires n", "`nothing` is not"),
            ("@unsafe_contract requires n <=", "missing"),
            ("@unsafe_contract requires m <= 4", "`m` is no parameter"),
            ("@unsafe_contract requires x <= 4", "`len(x)`"),
            ("@unsafe_contract requires scale <= 4", "`scale` is no whole number"),
            ("@unsafe_contract requires len(n) <= 4", "`n` is no pointer"),
            ("@unsafe_contract requires len(x <= 4", "`)` is missing"),
            ("@unsafe_contract requires n / 2 <= 4", "`/` is not"),
            ("@unsafe_contract requires -1 <= n", "`-` is no parameter"),
            ("@unsafe_contract requires n <= 010", "`010` is no parameter"),
            ("@unsafe_contract requires n <= 0x10", "`0x10` is no parameter"),
            ("@unsafe_contract requires n <= 99999999999999999999", "is no parameter"),
            ("@unsafe_contract block", "its threads"),
            ("@unsafe_contract block n", "its threads"),
            ("@unsafe_contract block 0", "its threads"),
            ("@unsafe_contract block 1 1 1 1", "one word too many"),
            ("@unsafe_contract grid 4", "`grid` is neither"),
        ] {
            let error = of(&[line]).unwrap_err().to_string();
            assert!(error.contains(word) && error.contains(&format!("`{line}`")), "{line}: {error}");
            assert!(error.contains("kernel `kernel`"), "{error}");
        }
        let error = of(&["@unsafe_contract requires n <= 4", "and n <= len(x)"]).unwrap_err().to_string();
        assert!(error.contains("comes below a contract"), "{error}");
    }
}
