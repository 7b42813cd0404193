//! A file as text: its statements and classes, and what stands for parts of it while bindgen reads it.

use std::ops::Range;

use crate::compiler::lexer::{self, Kind, Token};

/// A file, and the parts of its text that something else stands for.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) text: String,
    pub(crate) tokens: Vec<Token>,
    pub(crate) edits: Vec<(Range<usize>, String)>,
    /// The parts that must stay as they are.
    pub(crate) kept: Vec<Range<usize>>,
    /// The functions whose bodies are read.
    pub(crate) bodies: Vec<Range<usize>>,
    /// Whether it is read with another text than on disk.
    pub(crate) is_changed: bool,
}

/// What is left out with a class.
pub(crate) const CLASS: &str = "class";

/// A statement that plain C++ does not take: what Rust lacks therefore, if anything, and its name.
#[derive(Debug)]
pub(crate) struct Mistaken {
    pub(crate) range: Range<usize>,
    pub(crate) what: Option<&'static str>,
    pub(crate) name: String,
    pub(crate) is_function: bool,
}

impl File {
    pub(crate) fn new(text: String) -> Self {
        let tokens = lexer::tokens(&text);
        Self { text, tokens, edits: Vec::new(), kept: Vec::new(), bodies: Vec::new(), is_changed: false }
    }

    pub(crate) fn text(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or_default()
    }

    /// Returns the number of the line of an offset.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.text(&(0..offset)).matches('\n').count() + 1
    }

    /// Returns the index of the first token at or after an offset.
    pub(crate) fn token_at(&self, offset: usize) -> usize {
        self.tokens.partition_point(|token| token.range.start < offset)
    }

    /// Returns whether the text of this declaration has the function's name before parameters or template
    /// arguments. Otherwise a macro makes the function.
    pub(crate) fn spells(&self, range: &Range<usize>, name: &str) -> bool {
        let name = name.trim_start_matches('~');
        let name = name.split(|sign: char| !sign.is_alphanumeric() && sign != '_').next().unwrap_or_default();
        let (start, end) = (self.token_at(range.start), self.token_at(range.end));
        let own = self.tokens.get(start..end).unwrap_or_default();
        own.windows(2).any(|pair| {
            let [word, next] = pair else { return false };
            self.text(&word.range) == name && (name == "operator" || next.is(b'(') || next.is(b'<'))
        })
    }

    /// Returns the part of a function that is no declaration, up to its end: the body with what initializes
    /// members, or the semicolon. Also returns whether it has a body. Returns `None` if the text is not
    /// understood.
    pub(crate) fn rest(&self, declarator_end: usize) -> Option<(Range<usize>, bool)> {
        let is = |at: usize, sign: u8| self.tokens.get(at).is_some_and(|token| token.is(sign));
        let mut at = self.token_at(declarator_end);
        let mut initializes = None;
        loop {
            let token = self.tokens.get(at)?;
            let after_word = at.checked_sub(1).and_then(|before| self.tokens.get(before));
            let after_word = after_word.is_some_and(|token| token.kind == Kind::Word || token.is(b'>'));
            match token.kind {
                Kind::Sign(b';') => return Some((token.range.clone(), false)),
                Kind::Sign(b'{') if !(initializes.is_some() && after_word) => {
                    let close = self.tokens.get(lexer::closing(&self.tokens, at))?;
                    return Some((initializes.unwrap_or(token.range.start)..close.range.end, true));
                }
                Kind::Sign(b'(' | b'[' | b'{') => at = lexer::closing(&self.tokens, at),
                Kind::Sign(b':') if is(at + 1, b':') => at += 1,
                Kind::Sign(b':') => initializes = Some(token.range.start),
                Kind::Sign(b'}') | Kind::Directive => return None,
                _ => {}
            }
            at += 1;
        }
    }

    /// Returns the statement with a mistake at this offset. It is the class if that would have another layout
    /// without a field, a base or a virtual function.
    pub(crate) fn mistaken(&self, offset: usize) -> Option<Mistaken> {
        let body = self.bodies.iter().find(|body| body.contains(&offset));
        let start = self.statement(body.map_or(offset, |body| body.start))?;
        let around = self.class_around(start);
        if let (None, Some((name, open))) = (&around, self.class_at(start)) {
            return Some(self.class(start, name, open));
        }
        let range = start..body.map_or_else(|| Some(self.rest(start)?.0.end), |body| Some(body.end))?;
        let (name, is_function) = self.declared(range.clone()).unwrap_or_default();
        let text = self.text(&range);
        let is_variable =
            !is_function && ["__device__", "__constant__", "__managed__"].iter().any(|it| text.contains(it));
        let what =
            if text.contains("__global__") { Some("kernel") } else { is_variable.then_some("variable") };
        match around {
            Some(class) if !is_function || text.contains("virtual") => Some(class),
            _ => Some(Mistaken { range, what, name, is_function }),
        }
    }

    /// Returns the outermost class around an offset.
    fn class_around(&self, offset: usize) -> Option<Mistaken> {
        let mut around = Vec::new();
        for (at, token) in self.tokens.iter().enumerate().take_while(|(_, it)| it.range.start < offset) {
            if token.is(b'{') {
                let start = self.statement(token.range.start);
                let class = start.and_then(|start| Some((start, self.class_at(start)?)));
                around.push(class.filter(|(_, (_, open))| *open == at));
            } else if token.is(b'}') {
                around.pop();
            }
        }
        let (start, (name, open)) = around.into_iter().flatten().next()?;
        Some(self.class(start, name, open))
    }

    /// Returns a class with all that its statement declares.
    fn class(&self, start: usize, mut name: String, open: usize) -> Mistaken {
        let close = lexer::closing(&self.tokens, open);
        let rest = self.tokens.get(close..).unwrap_or_default();
        let end = rest.iter().position(|it| it.is(b';')).map_or(close, |found| close + found);
        if name.is_empty() {
            let last = rest.get(..end - close).and_then(<[_]>::last);
            name = last.map_or("", |it| self.text(&it.range)).to_owned();
        }
        let end = self.tokens.get(end).map_or(self.text.len(), |it| it.range.end);
        Mistaken { range: start..end, what: Some(CLASS), name, is_function: false }
    }

    /// Returns the name of the class that the statement at an offset defines, and the index of its bracket.
    fn class_at(&self, start: usize) -> Option<(String, usize)> {
        let (mut at, mut depth, mut name) = (self.token_at(start), 0_u32, None::<&str>);
        loop {
            let token = self.tokens.get(at)?;
            let word = self.text(&token.range);
            match token.kind {
                Kind::Sign(b'<') => depth += 1,
                Kind::Sign(b'>') => depth = depth.saturating_sub(1),
                Kind::Sign(b'{') => return name.map(|name| (name.to_owned(), at)),
                // Of an alignment.
                Kind::Sign(b'(') if depth > 0 || name == Some("") => at = lexer::closing(&self.tokens, at),
                Kind::Sign(b'(' | b';' | b'}') | Kind::Directive => return None,
                Kind::Word if depth == 0 && ["class", "struct", "union"].contains(&word) => name = Some(""),
                Kind::Word if word == "alignas" || word.starts_with("__") => {}
                Kind::Word if depth == 0 && name == Some("") => name = Some(word),
                _ => {}
            }
            at += 1;
        }
    }

    /// Returns where the first name with template arguments is in a part: `a::B<int>::C`.
    pub(crate) fn template_name(&self, part: &Range<usize>) -> Option<Range<usize>> {
        let is = |at: usize, sign: u8| self.tokens.get(at).is_some_and(|token| token.is(sign));
        let is_word = |at: usize| self.tokens.get(at).is_some_and(|token| token.kind == Kind::Word);
        let (begin, end) = (self.token_at(part.start), self.token_at(part.end));
        let open = (begin..end).find(|at| is(*at, b'<'))?;
        let mut first = open.checked_sub(1).filter(|at| is_word(*at))?;
        while first >= begin + 2 && is(first - 1, b':') && is(first - 2, b':') {
            first -= if first >= begin + 3 && is_word(first - 3) { 3 } else { 2 };
        }
        let (mut depth, mut last) = (0_u32, open);
        loop {
            match self.tokens.get(last)?.kind {
                Kind::Sign(b'<') => depth += 1,
                Kind::Sign(b'>') => depth -= 1,
                Kind::Sign(b'(') => last = lexer::closing(&self.tokens, last),
                Kind::Sign(b';' | b'{') => return None,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            last += 1;
        }
        while is(last + 1, b':') && is(last + 2, b':') && is_word(last + 3) {
            last += 3;
        }
        Some(self.tokens.get(first)?.range.start..self.tokens.get(last)?.range.end)
    }

    /// Gives arguments of an instance of a template that are written as `true` or `false` these names: for
    /// libclang they are numbers.
    pub(crate) fn name_truths(&self, range: &Range<usize>, name: &str, arguments: &mut [String]) {
        let (mut at, end) = (self.token_at(range.start), self.token_at(range.end));
        let word = |at: usize| self.tokens.get(at).map_or("", |token| self.text(&token.range));
        while at < end && !(word(at) == name && word(at + 1) == "<") {
            at += 1;
        }
        let (mut depth, mut argument) = (0_u32, 0);
        while at + 1 < end {
            at += 1;
            match word(at) {
                "<" => depth += 1,
                ">" if depth == 1 => return,
                ">" => depth -= 1,
                "(" => at = lexer::closing(&self.tokens, at),
                "," if depth == 1 => argument += 1,
                truth @ ("true" | "false") if depth == 1 => {
                    let is_all = ["<", ","].contains(&word(at - 1)) && [",", ">"].contains(&word(at + 1));
                    if let Some(number) = arguments.get_mut(argument).filter(|_| is_all) {
                        truth.clone_into(number);
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns the name that a statement declares, and whether it is that of a function.
    fn declared(&self, statement: Range<usize>) -> Option<(String, bool)> {
        let (start, end) = (self.token_at(statement.start), self.token_at(statement.end));
        let own = self.tokens.get(start..end).unwrap_or_default();
        let (mut last, mut at) = (None, 0);
        while let Some(token) = own.get(at) {
            let word = self.text(&token.range);
            let is_name = token.kind == Kind::Word && !word.starts_with("__");
            let next = |sign: u8| own.get(at + 1).is_some_and(|next| next.is(sign));
            if is_name && next(b'(') {
                return Some((word.to_owned(), true));
            }
            if is_name && [b'=', b';', b'[', b'{'].into_iter().any(next) {
                return Some((word.to_owned(), false));
            }
            if is_name {
                last = Some((word.to_owned(), false));
            } else if token.is(b'(') {
                at = lexer::closing(own, at);
            }
            at += 1;
        }
        last
    }

    /// Returns the index of the last token before the statement that an offset is in.
    fn before(&self, offset: usize) -> Option<usize> {
        let ends = |token: &Token| matches!(token.kind, Kind::Directive | Kind::Sign(b';' | b'{' | b'}'));
        self.tokens.get(..self.token_at(offset)).unwrap_or_default().iter().rposition(ends)
    }

    /// Returns the start of the statement that an offset is in.
    pub(crate) fn statement(&self, offset: usize) -> Option<usize> {
        let first = self.tokens.get(self.before(offset).map_or(0, |before| before + 1))?;
        (first.kind != Kind::Directive).then_some(first.range.start)
    }

    /// Returns the end of what comes before the statement that an offset is in, and before its comment.
    pub(crate) fn end_before(&self, offset: usize) -> usize {
        let Some(before) = self.before(offset).and_then(|before| self.tokens.get(before)) else { return 0 };
        let rest = self.text.get(before.range.end..).unwrap_or_default();
        let line = rest.find('\n').map_or(0, |found| found + 1);
        before.range.end + if before.kind == Kind::Directive { line } else { 0 }
    }

    /// Returns whether a condition on nvcc's macros decides about the text at an offset.
    pub(crate) fn depends_on_nvcc(&self, offset: usize) -> bool {
        const MACROS: [&str; 3] = ["__CUDACC", "__CUDA_ARCH", "__NVCC__"];
        let before = self.tokens.iter().take_while(|token| token.range.start < offset);
        let mut open: Vec<bool> = Vec::new();
        for line in before.filter(|token| token.kind == Kind::Directive).map(|token| self.text(&token.range))
        {
            let depends = MACROS.iter().any(|name| line.contains(name));
            let word = line.trim_start_matches(['#', ' ', '\t']);
            if word.starts_with("if") {
                open.push(depends);
            } else if word.starts_with("endif") {
                open.pop();
            } else if word.starts_with("el") {
                open.last_mut().into_iter().for_each(|before| *before |= depends);
            }
        }
        open.contains(&true)
    }

    /// Returns the names of the macros without parameters.
    pub(crate) fn macros(&self) -> Vec<String> {
        let lines = self.tokens.iter().filter(|token| token.kind == Kind::Directive);
        let name = |line: &str| {
            let rest = line.trim_start_matches(['#', ' ', '\t']).strip_prefix("define")?.trim_start();
            let end = rest.find(|sign: char| !sign.is_alphanumeric() && sign != '_').unwrap_or(rest.len());
            let (name, value) = rest.split_at(end);
            (!value.starts_with('(')).then(|| name.to_owned())
        };
        lines.filter_map(|token| name(self.text(&token.range))).collect()
    }

    /// Replaces a part. Its line ends stay, so that the lines of the file keep their numbers.
    pub(crate) fn replace(&mut self, range: Range<usize>, by: &str) {
        let lines = "\n".repeat(self.text(&range).matches('\n').count());
        self.edits.push((range, format!("{by}{lines}")));
    }

    pub(crate) fn edited(mut self) -> String {
        // What is put before a part comes first, then the larger of two parts.
        self.edits.sort_by_key(|(range, _)| (range.start, !range.is_empty(), std::cmp::Reverse(range.end)));
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
