//! Reads the statements of functions.

use crate::Type;
use crate::parse::{Parser, Read};
use crate::syntax::{
    Body, Constant, Declaration, Entity, Instruction, Label, Linkage, List, Location, Name, Operand,
    Prototype, Statement,
};
use crate::token::Token;

impl<'a> Parser<'a> {
    /// Reads from an opening brace to the one that closes it.
    pub(crate) fn body(&mut self) -> Read<Body<'a>> {
        self.expect('{')?;
        let (mut body, mut depth) = (Body::default(), 0_u32);
        loop {
            match self.peek() {
                Token::Sign('{') => {
                    self.take();
                    depth += 1;
                    body.statements.push(Statement::Open);
                }
                Token::Sign('}') => {
                    self.take();
                    if depth == 0 {
                        return Ok(body);
                    }
                    depth -= 1;
                    body.statements.push(Statement::Close);
                }
                Token::Sign(';') => _ = self.take(),
                // What was read of the function stays.
                Token::End => {
                    self.errors.extend(self.expected::<()>("'}'").err());
                    return Ok(body);
                }
                _ => {
                    let error = self.recover(|this| this.statement(&mut body));
                    body.statements.extend(error.map(Statement::Unread));
                }
            }
        }
    }

    fn statement(&mut self, body: &mut Body<'a>) -> Read {
        match self.peek() {
            Token::Dot(word) => self.directive(word, body),
            Token::Name(name) if self.ahead() == Token::Sign(':') => {
                self.take();
                self.take();
                self.label(name, body)
            }
            Token::Name(_) | Token::Sign('@') => {
                let instruction = self.instruction()?;
                body.statements.push(Statement::Instruction(instruction));
                Ok(())
            }
            _ => self.expected("a statement"),
        }
    }

    fn directive(&mut self, word: &str, body: &mut Body<'a>) -> Read {
        match word {
            "reg" => self.registers(body),
            "param" | "local" | "shared" | "global" | "const" => self.local(Linkage::Own, body),
            "extern" | "visible" | "weak" => {
                self.take();
                let linkage = match word {
                    "extern" => Linkage::Extern,
                    "visible" => Linkage::Visible,
                    _ => Linkage::Weak,
                };
                self.local(linkage, body)
            }
            "loc" => {
                let location = self.location()?;
                body.statements.push(Statement::Location(location));
                Ok(())
            }
            // Of debuggers, as `.loc`.
            "file" => {
                self.take();
                self.integer()?;
                let Token::Text(_) = self.take() else { return self.expected("a string before this") };
                while self.eat(',') {
                    self.integer()?;
                }
                Ok(())
            }
            "pragma" => {
                let pragma = self.pragma()?;
                body.statements.push(Statement::Directive(pragma));
                Ok(())
            }
            _ => self.expected("a directive of a function"),
        }
    }

    fn local(&mut self, linkage: Linkage, body: &mut Body<'a>) -> Read {
        let mut found = Vec::new();
        self.variables(linkage, Vec::new(), &mut found)?;
        self.expect(';')?;
        let first = body.variables.len();
        body.variables.extend(found);
        body.statements.extend((first..body.variables.len()).map(Statement::Variable));
        Ok(())
    }

    /// Reads `.reg .v2 .b32 a, %r<9>;`.
    fn registers(&mut self, body: &mut Body<'a>) -> Read {
        self.take();
        let (mut ty, mut lanes) = (None, 1);
        while let Token::Dot(word) = self.peek() {
            match word {
                "v2" => lanes = 2,
                "v4" => lanes = 4,
                "align" => {
                    self.take();
                    self.integer()?;
                    continue;
                }
                _ => match Type::from_word(word).filter(|_| ty.is_none()) {
                    Some(found) => ty = Some(found),
                    None => return self.expected("the type of a register"),
                },
            }
            self.take();
        }
        let Some(ty) = ty else { return self.expected("the type of a register") };
        let mut found = Vec::new();
        loop {
            let (line, name) = (self.line(), self.name()?);
            let mut count = None;
            if self.eat('<') {
                count = Some(self.small()?);
                self.expect('>')?;
            }
            found.push(Declaration { name, ty, lanes, count, line });
            if !self.eat(',') {
                break;
            }
        }
        self.expect(';')?;
        let first = body.declarations.len();
        body.declarations.extend(found);
        body.statements.extend((first..body.declarations.len()).map(Statement::Registers));
        Ok(())
    }

    /// Reads `.loc file line column, function_name label+n, inlined_at file line column`.
    pub(crate) fn location(&mut self) -> Read<Location<'a>> {
        self.take();
        let (file, line, column) = (self.small()?, self.small()?, self.small()?);
        let mut location = Location { file, line, column, function: None, inlined_at: None };
        while self.eat(',') {
            match self.peek() {
                Token::Name("function_name") => {
                    self.take();
                    location.function = Some((self.name()?, self.offset()?));
                }
                Token::Name("inlined_at") => {
                    self.take();
                    location.inlined_at = Some((self.small()?, self.small()?, self.small()?));
                }
                _ => return self.expected("function_name or inlined_at"),
            }
        }
        Ok(location)
    }

    fn label(&mut self, name: &'a str, body: &mut Body<'a>) -> Read {
        match self.peek() {
            Token::Dot(word @ ("branchtargets" | "calltargets")) => {
                self.take();
                let mut targets = vec![self.reference()?];
                while self.eat(',') {
                    targets.push(self.reference()?);
                }
                self.expect(';')?;
                body.statements.push(Statement::List(body.lists.len()));
                body.lists.push(List { name, is_of_calls: word == "calltargets", targets });
            }
            Token::Dot("callprototype") => {
                self.take();
                let results = self.parameters()?;
                self.name()?;
                let parameters = self.parameters()?;
                let directives = self.directives()?;
                self.expect(';')?;
                body.statements.push(Statement::Prototype(body.prototypes.len()));
                body.prototypes.push(Prototype { name, results, parameters, directives });
            }
            _ => {
                let statement = body.statements.len();
                body.statements.push(Statement::Label(body.labels.len()));
                body.labels.push(Label { name, statement });
            }
        }
        Ok(())
    }

    fn instruction(&mut self) -> Read<Instruction<'a>> {
        let line = self.line();
        let mut guard = None;
        if self.eat('@') {
            let is_negated = self.eat('!');
            // Without a part: a dot would begin a directive.
            guard = Some((Name { text: self.name()?, entity: Entity::Undeclared, part: None }, is_negated));
        }
        let mut words = Vec::with_capacity(4);
        words.push(self.name()?);
        while let Token::Dot(word) = self.peek() {
            self.take();
            words.push(word);
        }
        let mut operands = Vec::new();
        if !self.eat(';') {
            operands.reserve(4);
            loop {
                operands.push(self.operand()?);
                if self.eat(';') {
                    break;
                }
                self.expect(',')?;
            }
        }
        Ok(Instruction { guard, words, operands, line })
    }

    fn operand(&mut self) -> Read<Operand<'a>> {
        let first = self.simple()?;
        if !self.eat('|') {
            return Ok(first);
        }
        Ok(Operand::Pair(Box::new([first, self.simple()?])))
    }

    fn simple(&mut self) -> Read<Operand<'a>> {
        if self.depth == crate::parse::DEEPEST {
            return self.expected("fewer operands within operands");
        }
        self.depth += 1;
        let found = self.nested();
        self.depth -= 1;
        found
    }

    fn nested(&mut self) -> Read<Operand<'a>> {
        Ok(match self.peek() {
            Token::Sign('{') => Operand::Vector(self.list('}')?),
            Token::Sign('(') => Operand::Arguments(self.list(')')?),
            Token::Sign('[') => {
                let mut parts = self.list(']')?;
                match parts.pop() {
                    Some(Operand::Name(name)) if parts.is_empty() => Operand::Address(Some(name), 0),
                    Some(Operand::Offset(name, by)) if parts.is_empty() => Operand::Address(Some(name), by),
                    Some(Operand::Constant(at @ Constant::Integer(_))) if parts.is_empty() => {
                        Operand::Address(None, at.bits(64).unwrap_or(0).cast_signed())
                    }
                    last => {
                        parts.extend(last);
                        Operand::Bracketed(parts)
                    }
                }
            }
            Token::Sign('!') => {
                self.take();
                Operand::Not(Box::new(self.simple()?))
            }
            Token::Sign('~') => {
                self.take();
                Operand::Constant(Constant::Integer(!self.integer()?))
            }
            Token::Name(_) => {
                let name = self.reference()?;
                match self.offset()? {
                    0 => Operand::Name(name),
                    offset => Operand::Offset(name, offset),
                }
            }
            Token::Sign('-')
            | Token::Integer(_)
            | Token::Single(_)
            | Token::Double(_)
            | Token::Decimal(_) => Operand::Constant(self.constant()?),
            _ => return self.expected("an operand"),
        })
    }

    fn list(&mut self, close: char) -> Read<Vec<Operand<'a>>> {
        self.take();
        let mut list = Vec::new();
        while !self.eat(close) {
            list.push(self.operand()?);
            if !self.eat(',') {
                self.expect(close)?;
                break;
            }
        }
        Ok(list)
    }
}
