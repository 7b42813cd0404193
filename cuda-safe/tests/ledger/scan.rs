//! Reads Rust sources as text: which items stand for which C functions, and which tests name which items.
//!
//! A plain scan of well-formatted files, not a parser: items begin at the start of a line, and top-level
//! functions end with a brace there.

use std::collections::BTreeMap;

/// A public item that names the C functions it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) kind: Kind,
    /// The type or the module of the item.
    pub(crate) owner: String,
    pub(crate) name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Type,
    Macro,
    /// A function of a module.
    Free,
    /// A function of a type, without `self`.
    Associated,
    Method,
}

impl Item {
    /// The item as code names it.
    pub(crate) fn path(&self) -> String {
        match self.kind {
            Kind::Type => self.name.clone(),
            Kind::Macro => format!("{}!", self.name),
            Kind::Free | Kind::Associated | Kind::Method => format!("{}::{}", self.owner, self.name),
        }
    }

    /// Whether the item is an operation of a graph's nodes, which a node may be added or set with.
    pub(crate) fn is_operation(&self) -> bool {
        self.owner == "node"
    }

    /// Whether a piece of code names the item. `ambiguous`: whether other types have a method of the same
    /// name.
    pub(crate) fn is_named_in(&self, code: &str, ambiguous: bool) -> bool {
        match self.kind {
            Kind::Type => has_word(code, &format!("{}::", self.name)),
            Kind::Macro => has_word(code, &format!("{}!", self.name)),
            // The operations of nodes have the names of other functions.
            Kind::Free if self.is_operation() => has_word(code, &format!("node::{}(", self.name)),
            Kind::Free => has_word(&code.replace("node::", "node_"), &format!("{}(", self.name)),
            Kind::Associated => has_word(code, &format!("{}::{}(", self.owner, self.name)),
            Kind::Method => {
                let typed = !ambiguous || family(&self.owner).iter().any(|name| has_name(code, name));
                typed && code.contains(&format!(".{}(", self.name))
            }
        }
    }
}

/// The types whose values have the methods of a type.
fn family(owner: &str) -> Vec<&str> {
    match owner {
        "StreamRef" => vec!["StreamRef", "Stream", "LegacyStream", "PerThreadStream"],
        // Types of any memory, and their names for one memory type.
        "Buffer" => vec!["Buffer", "DeviceBuffer", "PinnedBuffer", "WriteCombinedBuffer"],
        "Slice" => vec!["Slice", "DeviceSlice", "PinnedSlice"],
        "SliceMut" => vec!["SliceMut", "DeviceSliceMut", "PinnedSliceMut"],
        other => vec![other],
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether `what` occurs in the code, and no longer word begins with its end.
fn has_word(code: &str, what: &str) -> bool {
    code.match_indices(what).any(|(at, _)| !code[..at].ends_with(is_word) && !code[..at].ends_with('.'))
}

/// Whether `name` occurs in the code as a whole word.
pub(crate) fn has_name(code: &str, name: &str) -> bool {
    let whole = |at: usize| !code[..at].ends_with(is_word) && !code[at + name.len()..].starts_with(is_word);
    code.match_indices(name).any(|(at, _)| whole(at))
}

/// The items of a source file with the names of their aliases. `module` is the module of free functions.
pub(crate) fn items(module: &str, source: &str) -> Vec<(String, Item)> {
    let mut found = Vec::new();
    let mut owner: Option<String> = None;
    let mut aliases = Vec::new();
    let lines: Vec<&str> = source.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let text = line.trim_start();
        if let Some(header) = text.strip_prefix("impl") {
            owner = Some(implemented(header));
        } else if *line == "}" {
            owner = None;
        } else if let Some(rest) = text.strip_prefix("#[doc(alias = \"") {
            aliases.extend(rest.split('"').next().map(str::to_owned));
        } else if !aliases.is_empty()
            && let Some((word, name)) = declared(text)
        {
            let signature = lines[at..].iter().take(4).copied().collect::<String>();
            let of_type = owner.clone();
            let item = match (word, of_type) {
                ("fn", Some(owner)) => {
                    let kind = if takes_self(&signature) { Kind::Method } else { Kind::Associated };
                    Item { kind, owner, name }
                }
                ("fn", None) => Item { kind: Kind::Free, owner: module.to_owned(), name },
                ("macro_rules!", _) => Item { kind: Kind::Macro, owner: String::new(), name },
                _ => Item { kind: Kind::Type, owner: String::new(), name },
            };
            // A macro that writes methods for several types: they belong to the type that these are views
            // of.
            let written_by_macro = item.owner.starts_with('$');
            found.extend(aliases.drain(..).filter(|_| !written_by_macro).map(|alias| (alias, item.clone())));
        }
    }
    assert!(aliases.is_empty(), "{module}: no item after {aliases:?}");
    found
}

/// The type that an `impl` is for, without its parameters: for `<T: Pod> Trait for Buffer<T> {` it is
/// `Buffer`.
fn implemented(header: &str) -> String {
    let mut depth = 0;
    let end = header
        .char_indices()
        .find(|(_, c)| {
            depth += i32::from(*c == '<') - i32::from(*c == '>');
            depth == 0
        })
        .map_or(0, |(at, c)| if c == '>' { at + 1 } else { 0 });
    let rest = header[end..].trim();
    let rest = rest.split_once(" for ").map_or(rest, |(_, rest)| rest);
    rest.chars().take_while(|c| is_word(*c) || *c == '$').collect()
}

/// The keyword and the name of the item that a line declares.
fn declared(text: &str) -> Option<(&str, String)> {
    let mut words = text.split_whitespace().skip_while(|word| {
        ["pub", "pub(crate)", "pub(super)", "const", "unsafe", "async", "extern", "\"C\""].contains(word)
    });
    let word = words.next().filter(|word| {
        ["fn", "struct", "enum", "union", "trait", "type", "static", "macro_rules!"].contains(word)
    })?;
    Some((word, words.next()?.chars().take_while(|c| is_word(*c)).collect()))
}

fn takes_self(signature: &str) -> bool {
    let arguments = signature.split_once('(').map_or("", |(_, rest)| rest);
    let first = arguments.split([',', ')', ':']).next().unwrap_or_default();
    first.split(|c| !is_word(c)).any(|word| word == "self")
}

/// The methods of a source file, each with its type: to find names that several types have.
pub(crate) fn methods(source: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut owner = None;
    for line in source.lines() {
        let text = line.trim_start();
        if let Some(header) = text.strip_prefix("impl") {
            owner = Some(implemented(header));
        } else if text.starts_with("pub ")
            && let (Some(owner), Some(("fn", name))) = (&owner, declared(text))
        {
            found.push((name, owner.clone()));
        }
    }
    found
}

/// The tests of a file, in order, each with its code and that of the file's helpers that it calls. Ignored
/// tests count only as helpers of the test that runs them in another process: it has their names as text.
pub(crate) fn tests(source: &str) -> Vec<(String, String)> {
    let mut functions: BTreeMap<String, String> = BTreeMap::new();
    let mut order = Vec::new();
    let mut attributes = String::new();
    let mut inside: Option<String> = None;
    for line in source.lines() {
        if let Some(name) = &inside {
            let code = functions.entry(name.clone()).or_default();
            code.push_str(line.split("//").next().unwrap_or_default());
            code.push('\n');
            if line == "}" {
                inside = None;
            }
        } else if let Some(("fn", name)) = declared(line).filter(|_| !line.starts_with(' ')) {
            if attributes.contains("#[test]") && !attributes.contains("#[ignore") {
                order.push(name.clone());
            }
            attributes.clear();
            // The arguments of a helper may name types, too.
            functions.insert(name.clone(), format!("{line}\n"));
            inside = Some(name);
        } else if line.starts_with('#') {
            attributes.push_str(line);
        } else if line.is_empty() || line == "}" {
            attributes.clear();
        }
    }
    let with_helpers = |test: &String| {
        let own = &functions[test];
        let helpers = functions.iter().filter(|(name, _)| !order.contains(name));
        let called = helpers
            .filter(|(name, _)| has_word(own, &format!("{name}(")) || own.contains(&format!("\"{name}\"")));
        without_turbofish(&called.fold(own.clone(), |code, (_, body)| code + body))
    };
    order.iter().map(|test| (test.clone(), with_helpers(test))).collect()
}

/// `Buffer::<u8>::alloc(` becomes `Buffer::alloc(`.
pub(crate) fn without_turbofish(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some((before, after)) = rest.split_once("::<") {
        out.push_str(before);
        let mut depth = 1;
        let end = after.char_indices().find(|(_, c)| {
            depth += i32::from(*c == '<') - i32::from(*c == '>');
            depth == 0
        });
        rest = end.map_or("", |(at, _)| &after[at + 1..]);
    }
    out + rest
}

#[test]
fn items_and_tests_are_found_and_told_apart() {
    let source = r#"
impl<T: Into<Vec<u8>>> Buffer<T> {
    /// Makes.
    #[doc(alias = "cudaMake")]
    #[doc(alias = "cudaMake2")]
    #[track_caller]
    pub fn make(len: usize) -> Self {
    }

    #[doc(alias = "cudaFree")]
    pub fn free(mut self) {
    }
}

impl std::ops::Deref for Other<'_> {
    #[doc(alias = "cudaFree")]
    pub unsafe fn free(&self) {
    }
}

#[doc(alias = "cudaCopy")]
pub fn copy() {
}
"#;
    let found = items("room", source);
    let paths: Vec<_> = found.iter().map(|(alias, item)| (alias.as_str(), item.path())).collect();
    let expected = [
        ("cudaMake", "Buffer::make"),
        ("cudaMake2", "Buffer::make"),
        ("cudaFree", "Buffer::free"),
        ("cudaFree", "Other::free"),
        ("cudaCopy", "room::copy"),
    ];
    assert_eq!(paths, expected.map(|(alias, path)| (alias, path.to_owned())));
    let kinds: Vec<_> = found.iter().map(|(_, item)| item.kind).collect();
    assert_eq!(kinds, [Kind::Associated, Kind::Associated, Kind::Method, Kind::Method, Kind::Free]);

    let file = "fn helper() {\n    Buffer::<Vec<u8>>::make(1);\n}\n\n\
                #[test]\nfn one() {\n    helper();\n}\n\n\
                #[test]\n#[ignore = \"slow\"]\nfn two() {\n    helper();\n}\n\n\
                #[test]\nfn three() {\n    x.free(); // Buffer\n    recopy();\n}\n";
    let tests = tests(file);
    assert_eq!(tests.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["one", "three"]);
    let (one, three) = (&tests[0].1, &tests[1].1);
    assert!(found[0].1.is_named_in(one, false) && !found[0].1.is_named_in(three, false));
    assert!(found[2].1.is_named_in(three, false), "there is no other");
    assert!(!found[2].1.is_named_in(three, true), "the type is not named but in a comment");
    assert!(!found[4].1.is_named_in(three, false), "another function ends like it");
}
