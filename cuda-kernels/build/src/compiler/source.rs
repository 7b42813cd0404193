//! Prepares headers and sources for bindgen, which reads every body and accepts only plain C++.
//!
//! libclang skips bodies and goes on after an error. From its syntax tree this module makes texts that stand
//! for the files while bindgen reads them. They have the same lines, but no bodies of functions. In a source
//! only types, constants, variables and kernels remain.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::compiler::agree::Facts;
use crate::compiler::clang::{Cursor, KERNEL, Part, Unit};
use crate::compiler::declared::{self, Declared};
use crate::compiler::file::{CLASS, File, Mistaken};
use crate::compiler::lexer::{self, Kind, Token};
use crate::compiler::prototype::MOST_PARAMETERS;
use crate::compiler::template::{self, Instances, Shape};

/// The result for a set of headers and sources.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) variables: Vec<Declared>,
    /// Why kernels have no handle.
    pub(crate) warnings: Vec<String>,
    /// Whether instances of templates have handles.
    pub(crate) has_instances: bool,
    /// The symbols of functions that are no kernels.
    pub(crate) host_functions: BTreeSet<String>,
    /// What nvcc has to agree with.
    pub(crate) facts: Facts,
    /// The files that sources include, each with the source that does.
    pub(crate) included: BTreeMap<PathBuf, PathBuf>,
    /// The qualified names of the constants in files that sources include as `"file"`.
    pub(crate) constants: Vec<String>,
    /// The headers that sources include.
    pub(crate) within: Vec<PathBuf>,
    /// The files that sources include and that have kernels or variables.
    pub(crate) also: Vec<PathBuf>,
    /// The names of the classes that plain C++ does not take.
    pub(crate) classes_out: Vec<String>,
    /// The texts that stand for files: first those of the headers and sources in their order, then those of
    /// the files that these include, where they differ.
    pub(crate) texts: Vec<(PathBuf, String)>,
}

/// The headers that sources include while they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Includes {
    All,
    /// None of the toolkit's headers for device code, but those of its C++ library.
    WithLibrary,
    /// None of these.
    HostOnly,
}

/// How headers and sources are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadOptions {
    pub(crate) includes: Includes,
    /// Whether types that plain C++ does not take are left out.
    pub(crate) leaves_types_out: bool,
}

/// Reads the headers and sources. `wrapper` includes them, and `arguments` are clang's.
pub(crate) fn prepare(
    wrapper: &str,
    headers: &[PathBuf],
    sources: &[PathBuf],
    arguments: &[String],
    options: ReadOptions,
) -> Result<Prepared, Error> {
    let mut types_out = Vec::new();
    // What needs a type that is left out has a mistake once the type is gone.
    loop {
        let known = types_out.len();
        let prepared = prepare_without(&mut types_out, wrapper, (headers, sources), arguments, options)?;
        if let Some(prepared) = prepared.filter(|_| types_out.len() == known) {
            return Ok(prepared);
        }
    }
}

/// The same, without some types. Returns `None` if it finds more of them.
fn prepare_without(
    types_out: &mut Vec<TypeOut>,
    wrapper: &str,
    (headers, sources): (&[PathBuf], &[PathBuf]),
    arguments: &[String],
    options: ReadOptions,
) -> Result<Option<Prepared>, Error> {
    let includes = options.includes;
    let listed = [headers, sources].concat();
    let mut reading = Reading { sources, listed: &listed, ..Reading::default() };
    let mut specialized = Vec::new();
    for file in &listed {
        let text = read(file).map_err(Error::of_file(file))?;
        let mut text = with_specializations(text);
        if includes != Includes::All && sources.contains(file) {
            text = without_device_headers(&text, includes);
        }
        text = without_types(text, file, types_out);
        specialized.push((file.clone(), text.clone()));
        reading.files.insert(file.clone(), File::new(text));
    }
    let mut unit = Unit::parse(wrapper, &specialized, arguments)?;
    reading.included = unit.included_by(sources);
    for path in reading.included.keys().filter(|path| !listed.contains(path)) {
        if let (Ok(disk), Ok(text)) = (fs::read(path), read(path))
            && let text = without_types(text, path, types_out)
            && disk != text.as_bytes()
        {
            specialized.push((path.clone(), text.clone()));
            reading.files.insert(path.clone(), File { is_changed: true, ..File::new(text) });
        }
    }
    if specialized.len() > listed.len() {
        unit = Unit::parse(wrapper, &specialized, arguments)?;
    }
    reading.find_bodies(unit.root());
    let mistakes = unit.mistakes();
    if options.leaves_types_out && reading.find_types_out(&mistakes, types_out) {
        return Ok(None);
    }
    let mut facts = Facts::default();
    reading.class_instances = template::find(&unit, &mut facts, |after| {
        Unit::parse(&format!("{wrapper}{after}"), &specialized, arguments)
    })?;
    let source_of =
        |(file, through): (&PathBuf, &Vec<(PathBuf, usize)>)| Some((file.clone(), through.last()?.0.clone()));
    let included = reading.included.iter().filter_map(source_of).collect();
    reading.directives = reading.included.clone();
    let within = headers.iter().filter(|it| reading.included.remove(*it).is_some()).cloned().collect();
    for cursor in unit.root().children() {
        reading.visit(cursor, false);
    }
    for (file, offset, words) in mistakes {
        reading.leave_out(&file, offset, &words, types_out);
    }
    let mut variables = declared::find(unit.root(), &listed, |file| reading.included.contains_key(file))?;
    variables.retain(|it| !reading.is_left_out(&it.file, it.at));
    let mut also = std::mem::take(&mut reading.with_kernels);
    also.extend(variables.iter().map(|variable| variable.file.clone()).filter(|file| !listed.contains(file)));
    let is_generated = |file: &Path| also.contains(file) || listed.iter().any(|own| own == file);
    let (depends, is_out) = (
        |file: &Path, offset| reading.depends_on_nvcc(file, offset),
        |file: &Path, offset| reading.is_left_out(file, offset),
    );
    facts.add(unit.root(), &is_generated, &depends, &is_out)?;
    let constants = reading.constants(unit.root());
    reading.edit_included(includes);
    facts.macros = reading.files.values().flat_map(File::macros).collect();
    reading.classes_out(types_out);
    let (warnings, has_instances) = (reading.warnings(), !reading.instantiated.is_empty());
    let Reading { mut files, host_functions, .. } = reading;
    let own = listed.iter().filter_map(|path| Some((path.clone(), files.remove(path)?.edited())));
    let mut texts: Vec<(PathBuf, String)> = own.collect();
    files.retain(|_, file| file.is_changed || !file.edits.is_empty());
    texts.extend(files.into_iter().map(|(path, file)| (path, file.edited())));
    let also = also.into_iter().collect();
    let classes_out = types_out.iter().filter(|it| it.what.is_some()).map(|it| it.name.clone()).collect();
    Ok(Some(Prepared {
        variables,
        warnings,
        has_instances,
        host_functions,
        facts,
        included,
        constants,
        within,
        also,
        classes_out,
        texts,
    }))
}

/// A type that plain C++ does not take: its file, its place there, its name, and clang's words. A class has a
/// word for what it is, and a second name of a type or a namespace has none.
struct TypeOut {
    file: PathBuf,
    range: Range<usize>,
    what: Option<&'static str>,
    name: String,
    words: String,
}

/// Leaves out types of a file. All that stays keeps its place.
fn without_types(text: String, file: &Path, types_out: &[TypeOut]) -> String {
    let mut plain = text.clone().into_bytes();
    for range in types_out.iter().filter(|it| it.file == file).map(|it| it.range.clone()) {
        let range = plain.get_mut(range).unwrap_or_default();
        range.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
    String::from_utf8(plain).unwrap_or(text)
}

/// Reads a file. Offsets stay: each byte that is no UTF-8, such as one of a name in a comment, becomes a
/// sign, and a byte order mark and attributes become spaces.
fn read(path: &Path) -> std::io::Result<String> {
    let mut bytes = fs::read(path)?;
    if let Some(mark) = bytes.get_mut(..3).filter(|mark| *mark == b"\xef\xbb\xbf") {
        mark.fill(b' ');
    }
    while let Err(error) = std::str::from_utf8(&bytes) {
        if let Some(wrong) = bytes.get_mut(error.valid_up_to()) {
            *wrong = b'?';
        }
    }
    String::from_utf8(bytes).map(without_attributes).map_err(std::io::Error::other)
}

/// Leaves out attributes that change no type. nvcc takes them behind its keywords, where clang does not.
fn without_attributes(text: String) -> String {
    const HARMLESS: &str = " nodiscard maybe_unused deprecated noreturn likely unlikely fallthrough gnu \
                            unused carries_dependency always_inline noinline pure const cold hot ";
    let tokens = lexer::tokens(&text);
    let is = |at: usize, sign| tokens.get(at).is_some_and(|token| token.is(sign));
    let mut plain = text.clone().into_bytes();
    for at in (0..tokens.len()).filter(|at| is(*at, b'[') && is(at + 1, b'[')) {
        let close = lexer::closing(&tokens, at);
        let (mut inner, mut harmless) = (at + 2, is(close, b']') && is(close.saturating_sub(1), b']'));
        while inner + 1 < close {
            match tokens.get(inner) {
                Some(it) if it.is(b'(') => inner = lexer::closing(&tokens, inner),
                Some(it) if it.kind == Kind::Word => {
                    let word = text.get(it.range.clone()).unwrap_or_default();
                    harmless &= HARMLESS.contains(&format!(" {word} "));
                }
                _ => {}
            }
            inner += 1;
        }
        if let (true, Some(open), Some(close)) = (harmless, tokens.get(at), tokens.get(close)) {
            let range = plain.get_mut(open.range.start..close.range.end).unwrap_or_default();
            range.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        }
    }
    String::from_utf8(plain).unwrap_or(text)
}

/// Makes each explicit instance of a function template a declaration of a specialization, which has the same
/// symbol and needs no body. libclang does not report instances.
fn with_specializations(mut text: String) -> String {
    let tokens = lexer::tokens(&text);
    for end in instances(&text, &tokens).into_iter().rev() {
        text.insert_str(end, SPECIALIZES);
    }
    text
}

/// The text after `template` that makes an explicit instance a specialization.
const SPECIALIZES: &str = " <>";

/// Returns the ends of the words `template` of explicit instances.
fn instances(text: &str, tokens: &[Token]) -> Vec<usize> {
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
    let words = tokens.iter().enumerate().filter(|(at, _)| is_instance(*at));
    words.map(|(_, word)| word.range.end).collect()
}

/// Leaves out the includes of headers that are for device code.
fn without_device_headers(text: &str, includes: Includes) -> String {
    let lines = text.lines().map(|line| if includes_device_header(line, includes) { "" } else { line });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// Returns whether a line includes a header that is for device code, or that of OpenMP: libclang does not
/// understand GCC's, and no prototype needs it.
fn includes_device_header(line: &str, includes: Includes) -> bool {
    const FOR_DEVICES: [&str; 9] = [
        "cooperative_groups",
        "cub/",
        "<cuda/",
        "cuda_awbarrier",
        "cuda_pipeline",
        "curand",
        "mma.h",
        "omp.h",
        "thrust/",
    ];
    let include =
        line.trim_start().strip_prefix('#').and_then(|rest| rest.trim_start().strip_prefix("include"));
    include.is_some_and(|rest| {
        let name = rest.trim_start();
        // A program may have a folder `cuda` of its own.
        let bare = name.trim_start_matches(['<', '"']);
        let is_library = includes == Includes::WithLibrary && name.starts_with("<cuda/");
        !is_library && FOR_DEVICES.iter().any(|header| bare.starts_with(header) || name.starts_with(header))
    })
}

/// A kernel template: its name, its identity, and where it is.
type Template = (String, String, PathBuf, usize);

#[derive(Debug, Default)]
struct Reading<'a> {
    sources: &'a [PathBuf],
    /// The headers and sources whose kernels get handles.
    listed: &'a [PathBuf],
    /// The other files that sources include, except the toolkit's, with the places of the directives.
    included: BTreeMap<PathBuf, Vec<(PathBuf, usize)>>,
    /// The same, with listed headers.
    directives: BTreeMap<PathBuf, Vec<(PathBuf, usize)>>,
    /// Those of these files that have kernels with handles.
    with_kernels: BTreeSet<PathBuf>,
    files: BTreeMap<PathBuf, File>,
    templates: Vec<Template>,
    /// The identities of templates with an instance.
    instantiated: BTreeSet<String>,
    /// The structs that stand for instances of class templates among the parameters of kernels.
    class_instances: Instances,
    /// What Rust lacks: kernels, variables and classes, with the file, the offset, and the reason.
    without: Vec<(String, PathBuf, usize, String)>,
    /// The statements that plain C++ does not take.
    left_out: Vec<(PathBuf, Range<usize>)>,
    /// The symbols of functions that are no kernels.
    host_functions: BTreeSet<String>,
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
                if !in_record {
                    self.instances_in(cursor, &template::parts(cursor));
                }
                cursor.children().into_iter().for_each(|child| self.visit(child, true));
            }
            Part::Function | Part::FunctionTemplate => self.function(cursor, in_record),
            Part::Alias if !in_record => self.alias(cursor),
            Part::Variable if !in_record && !cursor.words().is_empty() => {
                self.instances_in(cursor, &[cursor])
            }
            _ => {}
        }
    }

    /// Finds the bodies that libclang did not skip, because the value or the type of a function depends on
    /// them.
    fn find_bodies(&mut self, below: Cursor<'_>) {
        for cursor in below.children().into_iter().filter(|child| !child.is_system()) {
            match cursor.part() {
                Part::Namespace | Part::Transparent | Part::Record => self.find_bodies(cursor),
                Part::Function | Part::FunctionTemplate => {
                    let Some((path, range)) = cursor.place() else { continue };
                    let Some(file) = open(&mut self.files, &path) else { continue };
                    if file.text(&range).ends_with('}') && file.spells(&range, &cursor.name()) {
                        file.bodies.push(range);
                    }
                }
                _ => {}
            }
        }
    }

    fn is_read(&self, path: &Path) -> bool {
        self.included.contains_key(path) || self.listed.iter().any(|own| own == path)
    }

    /// Finds the types that plain C++ does not take. Returns whether there are any.
    fn find_types_out(
        &mut self,
        mistakes: &[(PathBuf, usize, String)],
        types_out: &mut Vec<TypeOut>,
    ) -> bool {
        let known = types_out.len();
        for (path, offset, words) in mistakes {
            let is_out = |it: &TypeOut| it.file == *path && it.range.contains(offset);
            if !self.is_read(path) || types_out.iter().any(is_out) {
                continue;
            }
            let Some(file) = open(&mut self.files, path) else { continue };
            let Some(Mistaken { range, what, name, is_function }) = file.mistaken(*offset) else { continue };
            if what == Some(CLASS) || (what.is_none() && !is_function) {
                types_out.push(TypeOut { file: path.clone(), range, what, name, words: words.clone() });
            }
        }
        types_out.len() > known
    }

    /// Notes the classes without a Rust type, for warnings.
    fn classes_out(&mut self, types_out: &[TypeOut]) {
        for class in types_out.iter().filter(|it| it.what.is_some() && self.listed.contains(&it.file)) {
            let why = format!(
                "plain C++, as which it is read for Rust, does not take it ({}). Put it, and kernels that \
                 take it, between #ifdef __CUDACC__ and #endif, or make its members of types of plain C++",
                class.words
            );
            let what = format!("class `{}` has no Rust type", class.name);
            self.without.push((what, class.file.clone(), class.range.start, why));
        }
    }

    fn function(&mut self, cursor: Cursor<'_>, in_record: bool) {
        let Some((path, range)) = cursor.place() else { return };
        let Some(file) = open(&mut self.files, &path) else { return };
        let (name, is_source) = (cursor.name(), self.sources.contains(&path));
        let is_kernel = cursor.words().iter().any(|word| word == KERNEL);
        if !is_kernel {
            self.host_functions.insert(cursor.mangled());
        }
        if !file.spells(&range, &name) {
            if is_source && !in_record {
                file.replace(range.clone(), "");
            }
            if is_kernel && self.listed.contains(&path) {
                let why = "a macro makes it. Write its prototype without the macro";
                self.without.push((
                    format!("kernel `{name}` has no handle"),
                    path,
                    range.start,
                    why.to_owned(),
                ));
            }
            return;
        }
        if file.text(&range).ends_with('}') {
            return;
        }
        let Some((rest, has_body)) = file.rest(range.end) else { return };
        let end = rest.end;
        let is_included = has_body && self.included.contains_key(&path);
        if is_kernel && (is_included || self.listed.contains(&path)) {
            // No warnings about headers of other libraries.
            let beside = |source: &PathBuf| source.parent().is_some_and(|folder| path.starts_with(folder));
            let is_own = !is_included || self.sources.iter().any(beside);
            if is_included && cursor.is_external() && cursor.part() == Part::Function {
                self.with_kernels.insert(path.clone());
            }
            let shapes: Vec<_> =
                cursor.arguments().into_iter().map(|it| (it, Shape::of(it.declared_type()))).collect();
            let is_unknown = |shape: &Shape| !self.class_instances.contains_key(&shape.instance);
            let has_unknown =
                shapes.iter().flat_map(|(_, shape)| shape).any(|it| it.is_by_value() && is_unknown(it));
            let is_function = cursor.part() == Part::Function;
            if let Some(why) = without_handle(cursor, shapes.len(), has_unknown) {
                if is_own {
                    self.without.push((
                        format!("kernel `{name}` has no handle"),
                        path.clone(),
                        range.start,
                        why.to_owned(),
                    ));
                }
                file.replace(range.start..end, ";");
                return;
            }
            let is_class_instance = |shape: &Option<Shape>| shape.as_ref().is_some_and(|it| !is_unknown(it));
            let takes_instances = shapes.iter().any(|(it, shape)| {
                is_class_instance(shape) || Shape::declare_named(it.declared_type(), "").is_some()
            });
            let arguments = cursor.template_arguments();
            if arguments.is_some() || (takes_instances && is_function) {
                let structs = place_structs(&mut self.class_instances, cursor, &shapes);
                if arguments.is_some() {
                    self.instantiated.insert(cursor.template().identity());
                }
                let mut arguments = arguments.unwrap_or_default();
                file.name_truths(&range, &name, &mut arguments);
                // An instance often names types alone.
                let names = cursor.template().parameter_names();
                let parameters = parameters(file, &range, (&shapes, &names), &self.class_instances);
                let prototype = prototype(&name, &arguments, &parameters, &cursor.mangled());
                // Before the comment of the kernel.
                let place = file.end_before(range.start);
                file.replace(place..place, &structs);
                file.kept.push(range.start..end);
                file.replace(range.start..end, &prototype);
                return;
            }
            if is_function {
                file.kept.push(range.clone());
                if has_body {
                    file.replace(rest, ";");
                }
                return;
            }
            // It may be declared before it is defined.
            let identity = cursor.identity();
            if is_own && !self.templates.iter().any(|(_, known, ..)| *known == identity) {
                self.templates.push((name, identity, path.clone(), range.start));
            }
        }
        let is_member_outside = !in_record && cursor.parent().part() == Part::Record;
        // libclang's extent of a member template begins after the parameters of its class template.
        let start =
            if is_member_outside { file.statement(range.start).unwrap_or(range.start) } else { range.start };
        // Specializations and instances that remain need the template.
        let is_template = cursor.part() == Part::FunctionTemplate && !is_kernel;
        if is_member_outside || (is_source && !in_record && !is_template) {
            file.replace(start..end, ";");
        } else if has_body {
            // An instance that a macro makes needs a body, whatever the function returns.
            file.replace(rest, if is_template && !in_record { " { for (;;); }" } else { ";" });
        }
    }

    /// Gives fields, bases and variables that are instances of class templates the structs that stand for
    /// these: bindgen's own have other sizes if not all that a template depends on is a type.
    fn instances_in(&mut self, whole: Cursor<'_>, parts: &[Cursor<'_>]) {
        let Some((path, range)) = whole.place() else { return };
        let Some(file) = open(&mut self.files, &path) else { return };
        for part in parts {
            let shapes = [(*part, Shape::of_part(*part))];
            let [(_, Some(shape))] = &shapes else { continue };
            let Some(written) = part.place().and_then(|(_, range)| file.template_name(&range)) else {
                continue;
            };
            let structs = place_structs(&mut self.class_instances, whole, &shapes);
            let place = file.end_before(range.start);
            if let Some(placed) = self.class_instances.get(&shape.instance).and_then(|it| it.placed.clone()) {
                file.replace(place..place, &structs);
                file.replace(written, &placed);
            }
        }
    }

    /// Makes an alias of an instance that kernels take an alias of the struct that stands for it.
    fn alias(&mut self, cursor: Cursor<'_>) {
        let Some(shape) = Shape::of(cursor.aliased_type()) else { return };
        let Some((path, range)) = cursor.place() else { return };
        let Some(file) = open(&mut self.files, &path) else { return };
        let (text, name) = (file.text(&range), cursor.name());
        let is_whole = text.starts_with("using") || (text.starts_with("typedef") && text.ends_with(&name));
        if !is_whole || !self.class_instances.contains_key(&shape.instance) {
            return;
        }
        let shapes = [(cursor, Some(shape))];
        let structs = place_structs(&mut self.class_instances, cursor, &shapes);
        let [(_, shape)] = &shapes;
        let placed = shape.as_ref().and_then(|shape| {
            Some(shape.declare(self.class_instances.get(&shape.instance)?.placed.as_ref()?, ""))
        });
        if let Some(placed) = placed {
            file.replace(range, &format!("{structs}using {name} = {placed}"));
        }
    }

    /// Leaves out the statement that plain C++ does not take, such as a second name for a namespace of the
    /// device compiler. `words` are clang's.
    fn leave_out(&mut self, path: &Path, offset: usize, words: &str, types_out: &[TypeOut]) {
        let is_listed = self.listed.iter().any(|own| own == path);
        if !self.is_read(path) {
            return;
        }
        let Some(file) = open(&mut self.files, path) else { return };
        if file.edits.iter().any(|(range, _)| range.contains(&offset)) {
            return;
        }
        let Some(mistaken) = file.mistaken(offset).filter(|it| it.what != Some(CLASS)) else { return };
        if let (Some(what), true) = (mistaken.what, is_listed) {
            let what = format!("{what} `{}` has no handle", mistaken.name);
            let classes = types_out.iter().filter(|it| it.what.is_some()).map(|it| &it.name);
            self.without.push((what, path.to_owned(), mistaken.range.start, not_plain(words, classes)));
        }
        file.replace(mistaken.range.clone(), ";");
        self.left_out.push((path.to_owned(), mistaken.range));
    }

    fn is_left_out(&self, path: &Path, offset: usize) -> bool {
        self.left_out.iter().any(|(own, range)| own == path && range.contains(&offset))
    }

    /// Returns whether nvcc may not see the declaration at this place: nvcc's macros decide about it, or
    /// about a directive by which its file is included.
    fn depends_on_nvcc(&self, path: &Path, offset: usize) -> bool {
        let depends = |(path, offset): (&Path, usize)| match self.files.get(path) {
            Some(file) => file.depends_on_nvcc(offset),
            None => read(path).is_ok_and(|text| File::new(text).depends_on_nvcc(offset)),
        };
        let through = self.directives.get(path).into_iter().flatten();
        let through = through.map(|(path, offset)| (path.as_path(), *offset));
        [(path, offset)].into_iter().chain(through).any(depends)
    }

    /// Returns the constants of the files that sources include as `"file"`: macros and `const` variables.
    fn constants(&mut self, root: Cursor<'_>) -> Vec<String> {
        let mut is_quoted = |(path, offset): &(PathBuf, usize)| {
            let file = open(&mut self.files, path);
            file.is_some_and(|file| file.text.get(*offset..).is_some_and(|rest| rest.starts_with('"')))
        };
        let quoted = self.included.iter().filter(|(_, through)| through.iter().all(&mut is_quoted));
        let quoted: BTreeSet<PathBuf> = quoted.map(|(path, _)| path.clone()).collect();
        let mut names = Vec::new();
        constants_below(root, &quoted, &mut names);
        for path in &quoted {
            names.extend(open(&mut self.files, path).into_iter().flat_map(|file| file.macros()));
        }
        names
    }

    /// Makes the changes of sources that need no syntax tree in the files that they include.
    fn edit_included(&mut self, includes: Includes) {
        for path in self.included.keys() {
            let Some(file) = open(&mut self.files, path) else { continue };
            if includes != Includes::All {
                let directives = file.tokens.iter().filter(|token| token.kind == Kind::Directive);
                let ranges: Vec<_> = directives
                    .map(|token| token.range.clone())
                    .filter(|range| includes_device_header(file.text(range), includes))
                    .collect();
                ranges.into_iter().for_each(|range| file.replace(range, ""));
            }
            for end in instances(&file.text, &file.tokens) {
                file.replace(end..end, SPECIALIZES);
            }
        }
    }

    fn warnings(&self) -> Vec<String> {
        let templates = self.templates.iter().filter(|(_, it, ..)| !self.instantiated.contains(it));
        let why = "it is a template. An explicit instance in the same file gets one: `template __global__ \
                   void name<float>(...);`";
        let templates = templates
            .map(|(name, _, path, offset)| (format!("kernel `{name}` has no handle"), path, *offset, why));
        let without =
            self.without.iter().map(|(what, path, offset, why)| (what.clone(), path, *offset, &**why));
        without
            .chain(templates)
            .map(|(what, path, offset, why)| {
                let before =
                    self.files.get(path).and_then(|file| file.text.get(..offset)).unwrap_or_default();
                let line = before.matches('\n').count() + 1;
                format!("{}:{line}: {what}: {why}.", path.display())
            })
            .collect()
    }
}

/// Returns why a declaration with a mistake has no handle. `words` are clang's. These classes are left out.
fn not_plain<'a>(words: &str, mut classes: impl Iterator<Item = &'a String>) -> String {
    if let Some(class) = classes.find(|class| words.contains(&format!("'{class}'"))) {
        return format!("it takes class `{class}`, which has no Rust type");
    }
    format!(
        "plain C++, as which its declaration is read for Rust, does not take it ({words}). Declare it with \
         types of plain C++"
    )
}

/// Leaves out of texts what plain C++ does not take once functions are left out, such as a variable that one
/// of them initializes. Returns warnings about what has no handle therefore, or `None` if nothing can be left
/// out.
pub(crate) fn settle(
    wrapper: &str,
    prepared: &mut Prepared,
    arguments: &[String],
    leaves_types_out: bool,
) -> Result<Option<Vec<String>>, Error> {
    let Prepared { texts, variables, classes_out, .. } = prepared;
    let (mut warnings, mut is_changed) = (Vec::new(), false);
    // Each round may show more.
    for _ in 0..8 {
        let unit = Unit::parse(wrapper, texts, arguments)?;
        let mut files: Vec<File> = texts.iter().map(|(_, text)| File::new(text.clone())).collect();
        for (path, offset, words) in unit.mistakes() {
            let found = texts.iter().zip(&mut files).find(|((own, _), _)| *own == path);
            let Some((_, file)) = found else { continue };
            if file.edits.iter().any(|(range, _)| range.contains(&offset)) {
                continue;
            }
            let mistaken = file.mistaken(offset).filter(|it| leaves_types_out || it.what != Some(CLASS));
            let Some(Mistaken { range, what, name, .. }) = mistaken else { continue };
            variables.retain(|it| it.file != path || what != Some("variable") || !it.name.ends_with(&name));
            if let Some(what) = what {
                let line = file.line(range.start);
                let lacks = if what == CLASS { "Rust type" } else { "handle" };
                warnings.push(format!(
                    "{}:{line}: {what} `{name}` has no {lacks}: {}.",
                    path.display(),
                    not_plain(&words, classes_out.iter())
                ));
            }
            file.replace(range, ";");
        }
        if files.iter().all(|file| file.edits.is_empty()) {
            break;
        }
        is_changed = true;
        for ((_, text), file) in texts.iter_mut().zip(files) {
            *text = file.edited();
        }
    }
    Ok(is_changed.then_some(warnings))
}

/// Adds the qualified names of the `const` variables in these files.
fn constants_below(cursor: Cursor<'_>, files: &BTreeSet<PathBuf>, names: &mut Vec<String>) {
    for child in cursor.children().into_iter().filter(|child| !child.is_system()) {
        match child.part() {
            Part::Namespace | Part::Transparent => constants_below(child, files, names),
            Part::Variable if child.is_const() => {
                let is_quoted = child.place().is_some_and(|(path, _)| files.contains(&path));
                let path = child.path().filter(|_| is_quoted);
                names.extend(path.map(|path| path.trim_start_matches(':').to_owned()));
            }
            _ => {}
        }
    }
}

/// Returns a file, which is read at its first use.
fn open<'a>(files: &'a mut BTreeMap<PathBuf, File>, path: &Path) -> Option<&'a mut File> {
    if !files.contains_key(path) {
        files.insert(path.to_owned(), File::new(read(path).ok()?));
    }
    files.get_mut(path)
}

/// Returns why a kernel has no handle.
fn without_handle(cursor: Cursor<'_>, parameters: usize, has_unknown: bool) -> Option<&'static str> {
    let is_function = cursor.part() == Part::Function;
    if !cursor.is_external() {
        Some("only its own file can name it. Remove `static` or the nameless namespace around it")
    } else if is_function && parameters > MOST_PARAMETERS {
        Some("it has more than 32 parameters. Put some into a struct")
    } else if is_function && has_unknown {
        Some("it takes an instance of a class template by value, whose size is not known here")
    } else {
        None
    }
}

/// Defines the structs for a kernel's parameters that no file has yet, in the kernel's namespace.
fn place_structs(
    instances: &mut Instances,
    kernel: Cursor<'_>,
    shapes: &[(Cursor<'_>, Option<Shape>)],
) -> String {
    let mut text = String::new();
    for shape in shapes.iter().filter_map(|(_, shape)| shape.as_ref()) {
        let Some(instance) = instances.get_mut(&shape.instance).filter(|it| it.placed.is_none()) else {
            continue;
        };
        let mut path = vec![instance.name.clone()];
        let mut inside = kernel.parent();
        while inside.part() != Part::Unit {
            if inside.part() == Part::Namespace {
                path.insert(0, inside.name());
            }
            inside = inside.parent();
        }
        instance.placed = Some(format!("::{}", path.join("::")));
        text.push_str(&instance.definition);
    }
    text
}

/// Returns the parameters of a kernel in brackets, with structs for instances of class templates. Parameters
/// without a name get that of the template.
fn parameters(
    file: &File,
    range: &Range<usize>,
    (shapes, names): (&[(Cursor<'_>, Option<Shape>)], &[String]),
    instances: &Instances,
) -> String {
    let is_instance = |shape: &Shape| instances.contains_key(&shape.instance);
    let is_usual = |(it, shape): &(Cursor<'_>, Option<Shape>)| {
        !shape.as_ref().is_some_and(is_instance)
            && Shape::declare_named(it.declared_type(), "").is_none()
            && (names.is_empty() || !it.name().is_empty())
    };
    if shapes.iter().all(is_usual) {
        let (start, end) = (file.token_at(range.start), file.token_at(range.end));
        let open = (start..end).rev().find(|at| {
            file.tokens.get(*at).is_some_and(|token| token.is(b'('))
                && lexer::closing(&file.tokens, *at) + 1 == end
        });
        let open = open.and_then(|open| file.tokens.get(open));
        return open.map_or("()", |token| file.text(&(token.range.start..range.end))).to_owned();
    }
    let parameter = |(at, (cursor, shape)): (usize, &(Cursor<'_>, Option<Shape>))| {
        let own = Some(cursor.name()).filter(|name| !name.is_empty());
        let name = own.as_ref().or_else(|| names.get(at)).map_or("", |name| name);
        let placed =
            |shape: &Shape| Some(shape.declare(instances.get(&shape.instance)?.placed.as_ref()?, name));
        let written = || {
            let (_, place) = cursor.place()?;
            let text = file.text(&place);
            // The name of a pointer to a function or to an array is within its type.
            let is_behind = own.is_none() && !text.contains(['(', '[']);
            Some(if is_behind { format!("{text} {name}") } else { text.to_owned() })
        };
        let named = || Shape::declare_named(cursor.declared_type(), name);
        shape.as_ref().and_then(placed).or_else(named).or_else(written)
    };
    let parameters: Vec<_> = shapes.iter().enumerate().filter_map(parameter).collect();
    format!("({})", parameters.join(", "))
}

/// Returns the prototype of a kernel under its symbol. That of an instance of a template is named after its
/// arguments: `scale<float, 4>` is `scale_float_4`.
fn prototype(name: &str, arguments: &[String], parameters: &str, symbol: &str) -> String {
    let mut spelled = name.to_owned();
    for argument in arguments.iter().map(|argument| template::spelled(argument)).filter(|it| !it.is_empty()) {
        spelled.push('_');
        spelled.push_str(&argument);
    }
    format!("__global__ void {spelled}{parameters} __asm__({symbol:?});")
}
