//! Prepares headers and sources for bindgen, which reads every body and accepts only plain C++.
//!
//! libclang skips bodies and goes on after an error. From its syntax tree this module makes texts that stand
//! for the files while bindgen reads them. They have the same lines, but no bodies of functions. In a source
//! only types, constants, variables and kernels remain.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::clang::{Cursor, Part, Unit};
use crate::declared::{self, Declared};
use crate::lexer::{self, Kind, Token};

/// The word on kernels while libclang reads the files.
pub(crate) const KERNEL: &str = "global";

/// The result for a set of headers and sources.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) variables: Vec<Declared>,
    /// Why kernels have no handle.
    pub(crate) warnings: Vec<String>,
    /// Whether instances of templates have handles.
    pub(crate) has_instances: bool,
    /// The texts that stand for files: first those of the headers and sources in their order, then those of
    /// the files that these include, where they differ.
    pub(crate) texts: Vec<(PathBuf, String)>,
}

/// The headers that sources include while they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Includes {
    All,
    /// None of the toolkit's headers for device code.
    HostOnly,
}

/// Reads the headers and sources. `wrapper` includes them, and `arguments` are clang's.
pub(crate) fn prepare(
    wrapper: &str,
    headers: &[PathBuf],
    sources: &[PathBuf],
    arguments: &[String],
    includes: Includes,
) -> Result<Prepared, Error> {
    let listed = [headers, sources].concat();
    let mut reading = Reading { sources, listed: &listed, ..Reading::default() };
    let mut specialized = Vec::new();
    for file in &listed {
        let text = fs::read_to_string(file).map_err(Error::of_file(file))?;
        let mut text = with_specializations(text);
        if includes == Includes::HostOnly && sources.contains(file) {
            text = without_device_headers(&text);
        }
        specialized.push((file.clone(), text.clone()));
        reading.files.insert(file.clone(), File::new(text));
    }
    let unit = Unit::parse(wrapper, &specialized, arguments)?;
    for cursor in unit.root().children() {
        reading.visit(cursor, false);
    }
    for (file, offset) in unit.mistakes() {
        reading.leave_out(&file, offset);
    }
    let variables = declared::find(unit.root(), &listed)?;
    let (warnings, has_instances) = (reading.warnings(), !reading.instantiated.is_empty());
    let mut files = reading.files;
    let own = listed.iter().filter_map(|path| Some((path.clone(), files.remove(path)?.edited())));
    let mut texts: Vec<(PathBuf, String)> = own.collect();
    files.retain(|_, file| !file.edits.is_empty());
    texts.extend(files.into_iter().map(|(path, file)| (path, file.edited())));
    Ok(Prepared { variables, warnings, has_instances, texts })
}

/// Makes each explicit instance of a function template a declaration of a specialization, which has the same
/// symbol and needs no body. libclang does not report instances.
fn with_specializations(mut text: String) -> String {
    let tokens = lexer::tokens(&text);
    let word = |at: usize| tokens.get(at).and_then(|token| text.get(token.range.clone())).unwrap_or_default();
    let begins = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        before.is_none_or(|it| matches!(it.kind, Kind::Directive | Kind::Sign(b';' | b'{' | b'}')))
    };
    let is_instance = |at: usize| {
        word(at) == "template"
            && begins(at)
            && !word(at + 1).starts_with('<')
            && !["class", "struct", "union"].contains(&word(at + 1))
    };
    let ends: Vec<usize> =
        (0..tokens.len()).filter(|at| is_instance(*at)).map(|at| tokens[at].range.end).collect();
    for end in ends.into_iter().rev() {
        text.insert_str(end, " <>");
    }
    text
}

/// Leaves out the includes of headers that are for device code.
fn without_device_headers(text: &str) -> String {
    const FOR_DEVICES: [&str; 8] = [
        "cooperative_groups",
        "cub/",
        "cuda/",
        "cuda_awbarrier",
        "cuda_pipeline",
        "curand",
        "mma.h",
        "thrust/",
    ];
    let is_for_devices = |line: &str| {
        let include =
            line.trim_start().strip_prefix('#').and_then(|rest| rest.trim_start().strip_prefix("include"));
        let name = include.map(|rest| rest.trim_start().trim_start_matches(['<', '"']));
        name.is_some_and(|name| FOR_DEVICES.iter().any(|header| name.starts_with(header)))
    };
    let lines = text.lines().map(|line| if is_for_devices(line) { "" } else { line });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// A file, and the parts of its text that something else stands for.
#[derive(Debug)]
struct File {
    text: String,
    tokens: Vec<Token>,
    edits: Vec<(Range<usize>, String)>,
    /// The parts that must stay as they are.
    kept: Vec<Range<usize>>,
}

impl File {
    fn new(text: String) -> Self {
        let tokens = lexer::tokens(&text);
        Self { text, tokens, edits: Vec::new(), kept: Vec::new() }
    }

    fn text(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or_default()
    }

    /// Returns the index of the first token at or after an offset.
    fn token_at(&self, offset: usize) -> usize {
        self.tokens.partition_point(|token| token.range.start < offset)
    }

    /// Returns whether the text of this declaration has the function's name before parameters or template
    /// arguments. Otherwise a macro makes the function.
    fn spells(&self, range: &Range<usize>, name: &str) -> bool {
        let name = name.trim_start_matches('~');
        let name = name.split(|sign: char| !sign.is_alphanumeric() && sign != '_').next().unwrap_or_default();
        let (start, end) = (self.token_at(range.start), self.token_at(range.end));
        let own = self.tokens.get(start..end).unwrap_or_default();
        own.windows(2).any(|pair| {
            let [word, next] = pair else { return false };
            self.text(&word.range) == name && (name == "operator" || next.is(b'(') || next.is(b'<'))
        })
    }

    /// Returns the end of a function: after its body, or after its semicolon. Also returns whether it has a
    /// body. Returns `None` if the text is not understood.
    fn end(&self, declarator_end: usize) -> Option<(usize, bool)> {
        let mut at = self.token_at(declarator_end);
        let mut initializes = false;
        loop {
            let token = self.tokens.get(at)?;
            let after_word = at.checked_sub(1).and_then(|before| self.tokens.get(before));
            let after_word = after_word.is_some_and(|token| token.kind == Kind::Word || token.is(b'>'));
            match token.kind {
                Kind::Sign(b';') => return Some((token.range.end, false)),
                Kind::Sign(b'{') if !(initializes && after_word) => {
                    let close = lexer::closing(&self.tokens, at);
                    return Some((self.tokens.get(close)?.range.end, true));
                }
                Kind::Sign(b'(' | b'[' | b'{') => at = lexer::closing(&self.tokens, at),
                Kind::Sign(b':') => initializes = true,
                Kind::Sign(b'}') | Kind::Directive => return None,
                _ => {}
            }
            at += 1;
        }
    }

    /// Replaces a part. Its line ends stay, so that the lines of the file keep their numbers.
    fn replace(&mut self, range: Range<usize>, by: &str) {
        let lines = "\n".repeat(self.text(&range).matches('\n').count());
        self.edits.push((range, format!("{by}{lines}")));
    }

    fn edited(mut self) -> String {
        self.edits.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        let (mut text, mut done) = (String::with_capacity(self.text.len()), 0);
        for (range, by) in &self.edits {
            // A macro that makes several functions is left out once.
            if range.start >= done {
                text.push_str(self.text(&(done..range.start)));
                text.push_str(by);
                done = range.end;
            }
        }
        text.push_str(self.text(&(done..self.text.len())));
        text
    }
}

/// A kernel template, and where it is.
type Template = (String, PathBuf, Range<usize>);

#[derive(Debug, Default)]
struct Reading<'a> {
    sources: &'a [PathBuf],
    /// The headers and sources whose kernels get handles.
    listed: &'a [PathBuf],
    files: BTreeMap<PathBuf, File>,
    templates: Vec<Template>,
    /// The places of templates with an instance.
    instantiated: Vec<(PathBuf, Range<usize>)>,
    /// Kernels without a handle: the name, the file, the offset, and the reason.
    without: Vec<(String, PathBuf, usize, &'static str)>,
}

impl Reading<'_> {
    fn visit(&mut self, cursor: Cursor<'_>, in_record: bool) {
        if cursor.is_system() {
            return;
        }
        match cursor.part() {
            Part::Namespace | Part::Transparent => {
                cursor.children().into_iter().for_each(|child| self.visit(child, in_record));
            }
            Part::Record => {
                if let Some((path, range)) = cursor.place()
                    && let Some(file) = self.files.get_mut(&path)
                {
                    file.kept.push(range);
                }
                cursor.children().into_iter().for_each(|child| self.visit(child, true));
            }
            Part::Function | Part::FunctionTemplate => self.function(cursor, in_record),
            _ => {}
        }
    }

    fn function(&mut self, cursor: Cursor<'_>, in_record: bool) {
        let Some((path, range)) = cursor.place() else { return };
        if !self.files.contains_key(&path) {
            let Ok(text) = fs::read_to_string(&path) else { return };
            self.files.insert(path.clone(), File::new(text));
        }
        let Some(file) = self.files.get_mut(&path) else { return };
        let (name, is_source) = (cursor.name(), self.sources.contains(&path));
        let is_kernel = cursor.words().iter().any(|word| word == KERNEL);
        if !file.spells(&range, &name) {
            if is_source && !in_record {
                file.replace(range.clone(), "");
            }
            if is_kernel && self.listed.contains(&path) {
                let why = "a macro makes it. Write its prototype without the macro";
                self.without.push((name, path, range.start, why));
            }
            return;
        }
        if file.text(&range).ends_with('}') {
            // libclang did not skip the body, because the value or the type of the function depends on it.
            return;
        }
        let Some((end, has_body)) = file.end(range.end) else { return };
        if is_kernel && self.listed.contains(&path) {
            if !cursor.is_external() {
                let why =
                    "it is static or in a namespace without a name, so that only its own file can name it";
                self.without.push((name, path.clone(), range.start, why));
                file.replace(range.start..end, ";");
                return;
            }
            if let Some(arguments) = cursor.template_arguments() {
                self.instantiated.extend(cursor.template());
                let instance = instance(file, &range, &name, &arguments, &cursor.mangled());
                file.kept.push(range.start..end);
                file.replace(range.start..end, &instance);
                return;
            }
            if cursor.part() == Part::Function {
                file.kept.push(range.clone());
                if has_body {
                    file.replace(range.end..end, ";");
                }
                return;
            }
            self.templates.push((name, path.clone(), range.clone()));
        }
        let is_member_outside = !in_record && cursor.parent().part() == Part::Record;
        // Specializations and instances that remain need the template.
        let is_template = cursor.part() == Part::FunctionTemplate && !is_kernel;
        if is_member_outside || (is_source && !in_record && !is_template) {
            file.replace(range.start..end, ";");
        } else if has_body {
            file.replace(range.end..end, ";");
        }
    }

    /// Leaves out the statement of a source that plain C++ does not accept, such as a second name for a
    /// namespace of the device compiler. Kernels and members of structs stay: bindgen then refuses them.
    fn leave_out(&mut self, path: &Path, offset: usize) {
        let Some(file) =
            self.files.get_mut(path).filter(|_| self.sources.iter().any(|source| source == path))
        else {
            return;
        };
        let is_inside = |range: &Range<usize>| range.contains(&offset);
        if file.kept.iter().any(is_inside) || file.edits.iter().any(|(range, _)| is_inside(range)) {
            return;
        }
        let ends = |token: &Token| matches!(token.kind, Kind::Directive | Kind::Sign(b';' | b'{' | b'}'));
        let at = file.token_at(offset);
        let before = file.tokens.get(..at).unwrap_or_default();
        let start = before.iter().rposition(ends).map_or(0, |found| found + 1);
        let Some(first) = file.tokens.get(start).filter(|token| token.kind != Kind::Directive) else {
            return;
        };
        let first = first.range.start;
        if let Some((end, _)) = file.end(first) {
            file.replace(first..end, ";");
        }
    }

    fn warnings(&self) -> Vec<String> {
        let templates = self.templates.iter().filter(|(_, path, range)| {
            !self.instantiated.iter().any(|(file, place)| file == path && place.start == range.start)
        });
        let why = "it is a template. An explicit instance in the same file gets one: `template __global__ \
                   void name<float>(...);`";
        let without = self.without.iter().map(|(name, path, offset, why)| (name, path, *offset, *why));
        let all = without.chain(templates.map(|(name, path, range)| (name, path, range.start, why)));
        all.map(|(name, path, offset, why)| {
            let before = self.files.get(path).and_then(|file| file.text.get(..offset)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            format!("{}:{line}: kernel `{name}` has no handle: {why}.", path.display())
        })
        .collect()
    }
}

/// Returns the prototype that stands for an instance of a template: `scale<float, 4>` is `scale_float_4`.
fn instance(file: &File, range: &Range<usize>, name: &str, arguments: &[String], symbol: &str) -> String {
    let mut spelled = name.to_owned();
    for argument in arguments {
        let words = argument.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
        for word in words.filter(|word| !word.is_empty()) {
            spelled.push('_');
            spelled.push_str(word);
        }
    }
    let (start, end) = (file.token_at(range.start), file.token_at(range.end));
    let open = (start..end).rev().find(|at| {
        file.tokens.get(*at).is_some_and(|token| token.is(b'('))
            && lexer::closing(&file.tokens, *at) + 1 == end
    });
    let parameters = open
        .and_then(|open| file.tokens.get(open))
        .map_or("()", |token| file.text(&(token.range.start..range.end)));
    format!("__global__ void {spelled}({} __asm__({symbol:?});", parameters.trim_start_matches('('))
}
