//! Reads modules, declarations and directives.

use crate::syntax::{
    Constant, Directive, Entity, Function, Initial, Item, Linkage, Module, Name, Part, Pointee, Variable,
};
use crate::token::{Lexer, Token};
use crate::{Space, SyntaxError, Type};

/// Operands within operands, and lists within lists.
pub(crate) const DEEPEST: u32 = 16;

/// Reads what can be read of a text. What cannot is among the module's errors.
pub(crate) fn module(text: &str) -> Module<'_> {
    let mut parser = Parser::new(text);
    let mut module = Module { text, ..Module::default() };
    while parser.peek() != Token::End {
        let start = parser.place;
        if let Err(error) = parser.item(&mut module) {
            parser.errors.push(error);
            parser.skip(start);
        }
    }
    module.errors = parser.errors;
    module
}

/// Where a parser is.
#[derive(Clone, Copy, Debug)]
struct Place<'a> {
    lexer: Lexer<'a>,
    now: (Token<'a>, u32),
    next: (Token<'a>, u32),
    /// Where the lexer was before `next`.
    at: usize,
}

/// A text that is read. It sees one token ahead of the next one.
pub(crate) struct Parser<'a> {
    place: Place<'a>,
    /// Operands that are open.
    pub(crate) depth: u32,
    pub(crate) errors: Vec<SyntaxError>,
}

pub(crate) type Read<T = ()> = Result<T, SyntaxError>;

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        let mut lexer = Lexer::new(text);
        let now = lexer.token();
        let at = lexer.at();
        let next = lexer.token();
        Self { place: Place { lexer, now, next, at }, depth: 0, errors: Vec::new() }
    }

    pub(crate) fn peek(&self) -> Token<'a> {
        self.place.now.0
    }

    /// Returns the token behind the next one.
    pub(crate) fn ahead(&self) -> Token<'a> {
        self.place.next.0
    }

    pub(crate) fn line(&self) -> u32 {
        self.place.now.1
    }

    pub(crate) fn take(&mut self) -> Token<'a> {
        let token = self.peek();
        let place = &mut self.place;
        (place.now, place.at) = (place.next, place.lexer.at());
        place.next = place.lexer.token();
        token
    }

    pub(crate) fn eat(&mut self, sign: char) -> bool {
        let is_next = self.peek() == Token::Sign(sign);
        if is_next {
            self.take();
        }
        is_next
    }

    pub(crate) fn expected<T>(&self, what: &str) -> Read<T> {
        let message = match self.peek() {
            wrong @ Token::Wrong(_) => wrong.to_string(),
            other => format!("expected {what}, found {other}"),
        };
        Err(SyntaxError::new(self.line(), message))
    }

    pub(crate) fn expect(&mut self, sign: char) -> Read {
        if self.eat(sign) { Ok(()) } else { self.expected(&format!("{sign:?}")) }
    }

    pub(crate) fn name(&mut self) -> Read<&'a str> {
        let Token::Name(word) = self.peek() else { return self.expected("a name") };
        self.take();
        Ok(word)
    }

    fn dot(&mut self) -> Option<&'a str> {
        let Token::Dot(word) = self.peek() else { return None };
        self.take();
        Some(word)
    }

    fn text(&mut self) -> Read<&'a str> {
        let Token::Text(text) = self.peek() else { return self.expected("a string") };
        self.take();
        Ok(text)
    }

    /// Reads a name that is not resolved yet, with its part.
    pub(crate) fn reference(&mut self) -> Read<Name<'a>> {
        let text = self.name()?;
        let Token::Dot(word) = self.peek() else {
            return Ok(Name { text, entity: Entity::Undeclared, part: None });
        };
        let part = Some(match word {
            "x" | "r" => Part::Element(0),
            "y" | "g" => Part::Element(1),
            "z" | "b" => Part::Element(2),
            "w" | "a" => Part::Element(3),
            _ if word.starts_with(['b', 'h'])
                && word[1..].bytes().all(|byte| matches!(byte, b'0'..=b'7')) =>
            {
                Part::Lanes(word)
            }
            _ => return self.expected("a part of a register"),
        });
        self.take();
        Ok(Name { text, entity: Entity::Undeclared, part })
    }

    /// Reads a number with its sign.
    pub(crate) fn constant(&mut self) -> Read<Constant> {
        let is_negative = self.eat('-');
        let found = match self.peek() {
            Token::Integer(value) if is_negative => Constant::Integer(-i128::from(value)),
            Token::Integer(value) => Constant::Integer(i128::from(value)),
            Token::Single(bits) => Constant::Single(bits ^ u32::from(is_negative) << 31),
            Token::Double(bits) => Constant::Double(bits ^ u64::from(is_negative) << 63),
            Token::Decimal(word) => match word.parse::<f64>() {
                Ok(value) if value.is_finite() => {
                    Constant::Double(value.to_bits() ^ u64::from(is_negative) << 63)
                }
                _ => return self.expected("a number that a double has"),
            },
            _ => return self.expected("a number"),
        };
        self.take();
        Ok(found)
    }

    pub(crate) fn integer(&mut self) -> Read<i128> {
        let (is_negative, token) = (self.eat('-'), self.peek());
        let Token::Integer(value) = token else { return self.expected("an integer") };
        self.take();
        Ok(if is_negative { -i128::from(value) } else { i128::from(value) })
    }

    pub(crate) fn small<T: TryFrom<i128>>(&mut self) -> Read<T> {
        let (line, value) = (self.line(), self.integer()?);
        let wrong = || SyntaxError::new(line, format!("{value} is too large or too small here"));
        T::try_from(value).map_err(|_| wrong())
    }

    /// Reads an optional `+8` or `-8`. The number has the bits that are added to an address.
    pub(crate) fn offset(&mut self) -> Read<i64> {
        if !self.eat('+') && self.peek() != Token::Sign('-') {
            return Ok(0);
        }
        let bits = self.integer()? & i128::from(u64::MAX);
        Ok(u64::try_from(bits).unwrap_or(0).cast_signed())
    }

    /// Passes over what begins at a place: up to its semicolon, or to the end of its braces if no semicolon
    /// comes before.
    fn skip(&mut self, start: Place<'a>) {
        (self.place, self.depth) = (start, 0);
        let mut depth = 0_u32;
        loop {
            // A closing brace that was not opened here is the function's.
            if depth == 0 && self.peek() == Token::Sign('}') {
                if self.place.at == start.at {
                    self.take();
                }
                return;
            }
            match self.take() {
                Token::Sign('{' | '(' | '[') => depth += 1,
                Token::Sign(')' | ']') => depth = depth.saturating_sub(1),
                Token::Sign('}') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 && !matches!(self.peek(), Token::Sign(',' | ';')) {
                        return;
                    }
                }
                Token::Sign(';') if depth == 0 => return,
                Token::End => return,
                _ => {}
            }
        }
    }

    /// Reads a part of a function. One that cannot be read is passed over, and its error returned.
    pub(crate) fn recover(&mut self, read: impl FnOnce(&mut Self) -> Read) -> Option<SyntaxError> {
        let start = self.place;
        let error = read(self).err()?;
        self.errors.push(error.clone());
        self.skip(start);
        Some(error)
    }

    fn item(&mut self, module: &mut Module<'a>) -> Read {
        // Behind declarations of functions.
        if self.eat(';') {
            return Ok(());
        }
        let (mut linkage, mut attributes) = (Linkage::Own, Vec::new());
        while let Token::Dot(word) = self.peek() {
            linkage = match word {
                "visible" => Linkage::Visible,
                "extern" => Linkage::Extern,
                "weak" => Linkage::Weak,
                "common" => Linkage::Common,
                "attribute" => {
                    self.attributes(&mut attributes)?;
                    continue;
                }
                _ => break,
            };
            self.take();
        }
        let Token::Dot(word) = self.peek() else { return self.expected("a directive") };
        match word {
            "entry" | "func" => {
                let function = self.function(linkage, attributes)?;
                module.items.push(Item::Function(module.functions.len()));
                module.functions.push(function);
                Ok(())
            }
            "global" | "const" | "shared" | "local" | "tex" | "align" => {
                let first = module.variables.len();
                self.variables(linkage, attributes, &mut module.variables)?;
                module.items.extend((first..module.variables.len()).map(Item::Variable));
                self.expect(';')
            }
            _ if linkage != Linkage::Own || !attributes.is_empty() => {
                self.expected("a function or a variable")
            }
            _ => self.directive_of_module(word, module),
        }
    }

    fn directive_of_module(&mut self, word: &str, module: &mut Module<'a>) -> Read {
        match word {
            "version" if module.version.is_none() => {
                self.take();
                let Token::Decimal(version) = self.peek() else {
                    return self.expected("a version, such as 9.0,");
                };
                let number = |text: &str| text.parse().ok();
                let found = version.split_once('.');
                module.version = found.and_then(|(major, minor)| Some((number(major)?, number(minor)?)));
                if module.version.is_none() {
                    return self.expected("a version, such as 9.0,");
                }
                self.take();
            }
            "target" if module.target.is_empty() => {
                self.take();
                module.target.push(self.name()?);
                while self.eat(',') {
                    module.target.push(self.name()?);
                }
            }
            "address_size" if module.address_size.is_none() => {
                self.take();
                module.address_size = Some(self.small()?);
            }
            "file" => {
                let index = self.file(module)?;
                module.items.push(Item::File(index));
            }
            "section" => {
                let section = self.section(module.text)?;
                module.items.push(section);
            }
            "pragma" => {
                let directive = self.pragma()?;
                module.items.push(Item::Directive(directive));
            }
            // In front of functions, nvcc writes it of an older one.
            "loc" => _ = self.location()?,
            "alias" => {
                self.take();
                let new = self.name()?;
                self.expect(',')?;
                module.items.push(Item::Alias(module.aliases.len()));
                module.aliases.push((new, self.reference()?));
                return self.expect(';');
            }
            _ => return self.expected("a directive of a module"),
        }
        Ok(())
    }

    /// Reads `.file 1 "name"`, with numbers behind. Returns its number.
    fn file(&mut self, module: &mut Module<'a>) -> Read<u32> {
        self.take();
        let index = self.small()?;
        module.files.insert(index, self.text()?);
        while self.eat(',') {
            self.integer()?;
        }
        Ok(index)
    }

    /// Reads a section of debuggers: nothing in it runs.
    fn section(&mut self, text: &'a str) -> Read<Item<'a>> {
        self.take();
        let Some(name) = self.dot() else { return self.expected("the name of a section") };
        if self.peek() != Token::Sign('{') {
            return self.expected("'{'");
        }
        let start = self.place.at;
        while self.peek() != Token::Sign('}') {
            if matches!(self.take(), Token::End | Token::Wrong(_)) {
                return self.expected("'}'");
            }
        }
        // Before the brace.
        let inside = text.get(start..self.place.at).unwrap_or_default().trim_end().strip_suffix('}');
        self.take();
        Ok(Item::Section(name, inside.unwrap_or_default().trim()))
    }

    /// Reads `.pragma "a", "b";`.
    pub(crate) fn pragma(&mut self) -> Read<Directive<'a>> {
        let line = self.line();
        self.take();
        let mut texts = vec![self.text()?];
        while self.eat(',') {
            texts.push(self.text()?);
        }
        self.expect(';')?;
        Ok(Directive { name: "pragma", numbers: Vec::new(), texts, line })
    }

    /// Reads `.attribute(.managed, .unified(1, 2))`.
    fn attributes(&mut self, list: &mut Vec<Directive<'a>>) -> Read {
        self.take();
        self.expect('(')?;
        loop {
            let line = self.line();
            let Some(name) = self.dot() else { return self.expected("an attribute") };
            let mut numbers = Vec::new();
            if self.eat('(') {
                numbers.push(self.small()?);
                while self.eat(',') {
                    numbers.push(self.small()?);
                }
                self.expect(')')?;
            }
            list.push(Directive { name, numbers, texts: Vec::new(), line });
            if !self.eat(',') {
                return self.expect(')');
            }
        }
    }

    fn function(&mut self, linkage: Linkage, mut attributes: Vec<Directive<'a>>) -> Read<Function<'a>> {
        let is_entry = self.take() == Token::Dot("entry");
        while self.peek() == Token::Dot("attribute") {
            self.attributes(&mut attributes)?;
        }
        let results = if is_entry { Vec::new() } else { self.parameters()? };
        let (line, name) = (self.line(), self.name()?);
        let parameters = self.parameters()?;
        let directives = self.directives()?;
        let body = match self.peek() {
            Token::Sign('{') => Some(self.body()?),
            Token::Sign(';') => {
                self.take();
                None
            }
            _ => return self.expected("a function's body or ';'"),
        };
        Ok(Function { name, linkage, attributes, is_entry, results, parameters, directives, body, line })
    }

    /// Reads the directives behind parameters.
    pub(crate) fn directives(&mut self) -> Read<Vec<Directive<'a>>> {
        let mut list = Vec::new();
        loop {
            let line = self.line();
            match self.peek() {
                Token::Dot("pragma") => list.push(self.pragma()?),
                Token::Dot("attribute") => self.attributes(&mut list)?,
                Token::Dot(name) => {
                    self.take();
                    let mut numbers = Vec::new();
                    if let Token::Integer(_) = self.peek() {
                        numbers.push(self.small()?);
                        while self.eat(',') {
                            numbers.push(self.small()?);
                        }
                    }
                    list.push(Directive { name, numbers, texts: Vec::new(), line });
                }
                _ => return Ok(list),
            }
        }
    }

    /// Reads an optional list of parameters.
    pub(crate) fn parameters(&mut self) -> Read<Vec<Variable<'a>>> {
        let mut list = Vec::new();
        if !self.eat('(') || self.eat(')') {
            return Ok(list);
        }
        loop {
            let mut variable = self.declared(Linkage::Own, Vec::new())?;
            self.named(&mut variable)?;
            list.push(variable);
            if !self.eat(',') {
                self.expect(')')?;
                return Ok(list);
            }
        }
    }

    /// Reads `.space .align n .type name[n] = initial, ...`.
    pub(crate) fn variables(
        &mut self,
        linkage: Linkage,
        attributes: Vec<Directive<'a>>,
        list: &mut Vec<Variable<'a>>,
    ) -> Read {
        let declared = self.declared(linkage, attributes)?;
        loop {
            let mut variable = declared.clone();
            self.named(&mut variable)?;
            if self.eat('=') {
                variable.initial = Some(self.initial()?);
            }
            list.push(variable);
            if !self.eat(',') {
                return Ok(());
            }
        }
    }

    /// Reads what precedes the names of variables.
    fn declared(&mut self, linkage: Linkage, attributes: Vec<Directive<'a>>) -> Read<Variable<'a>> {
        let (mut space, mut ty) = (None, None);
        let mut variable = Variable {
            name: "",
            linkage,
            attributes,
            space: Space::Global,
            stated_align: None,
            ty: Type::B8,
            lanes: 1,
            sizes: Vec::new(),
            pointee: None,
            initial: None,
            line: 0,
        };
        while let Token::Dot(word) = self.peek() {
            match word {
                "attribute" => {
                    self.attributes(&mut variable.attributes)?;
                    continue;
                }
                "ptr" => {
                    variable.pointee = Some(self.pointee()?);
                    continue;
                }
                "align" => {
                    self.take();
                    variable.stated_align = Some(self.small()?);
                    continue;
                }
                "v2" => variable.lanes = 2,
                "v4" => variable.lanes = 4,
                "v8" => variable.lanes = 8,
                _ => match (Space::from_word(word), Type::from_word(word)) {
                    (Some(found), _) if space.is_none() => space = Some(found),
                    (_, Some(found)) if ty.is_none() => ty = Some(found),
                    _ => return self.expected("one state space and one type"),
                },
            }
            self.take();
        }
        let (Some(space), Some(ty)) = (space, ty) else { return self.expected("a state space and a type") };
        (variable.space, variable.ty) = (space, ty);
        Ok(variable)
    }

    /// Reads `.ptr .global .align 16`.
    fn pointee(&mut self) -> Read<Pointee> {
        self.take();
        let mut pointee = Pointee { space: None, align: None };
        while let Token::Dot(word) = self.peek() {
            match Space::from_word(word) {
                Some(space) => pointee.space = Some(space),
                None if word == "align" => {
                    self.take();
                    pointee.align = Some(self.small()?);
                    continue;
                }
                None => break,
            }
            self.take();
        }
        Ok(pointee)
    }

    /// Reads the name of a variable, and its sizes.
    fn named(&mut self, variable: &mut Variable<'a>) -> Read {
        variable.line = self.line();
        variable.name = self.name()?;
        while self.eat('[') {
            let size = if self.peek() == Token::Sign(']') { None } else { Some(self.small()?) };
            self.expect(']')?;
            variable.sizes.push(size);
        }
        let element = u64::from(variable.ty.bytes() * variable.lanes);
        let known = variable.sizes.iter().flatten();
        match known.copied().try_fold(element, u64::checked_mul) {
            Some(_) => Ok(()),
            None => self.expected("a smaller array before this"),
        }
    }

    fn initial(&mut self) -> Read<Initial<'a>> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.expected("fewer braces within braces");
        }
        let found = match self.peek() {
            Token::Sign('{') => {
                self.take();
                let mut list = Vec::new();
                while !self.eat('}') {
                    list.push(self.initial()?);
                    if !self.eat(',') {
                        self.expect('}')?;
                        break;
                    }
                }
                Initial::List(list)
            }
            // `0xFF00(name)` takes one byte of an address.
            Token::Integer(mask) if self.ahead() == Token::Sign('(') => {
                self.take();
                self.take();
                let address = self.address(Some(mask))?;
                self.expect(')')?;
                address
            }
            Token::Name(_) => self.address(None)?,
            _ => Initial::Constant(self.constant()?),
        };
        self.depth -= 1;
        Ok(found)
    }

    fn address(&mut self, mask: Option<u64>) -> Read<Initial<'a>> {
        let is_generic = self.peek() == Token::Name("generic") && self.ahead() == Token::Sign('(');
        if is_generic {
            self.take();
            self.take();
        }
        let (name, mut offset) = (self.reference()?, self.offset()?);
        if is_generic {
            self.expect(')')?;
            offset = offset.wrapping_add(self.offset()?);
        }
        Ok(Initial::Address { name, offset, is_generic, mask })
    }
}
