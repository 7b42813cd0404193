//! Reads the statements of a function.

use super::SyntaxError;
use super::ast::{Instruction, Operand, PredicateOperand, Prototype, Statement, Type};
use super::parse::Parser;
use super::token::Token;

impl<'a> Parser<'a> {
    /// Reads from an opening brace to the one that closes it.
    pub(super) fn body(&mut self) -> Result<Vec<Statement>, SyntaxError> {
        self.tokens.expect('{')?;
        let mut list = Vec::new();
        let mut depth = 0;
        loop {
            match self.tokens.peek() {
                Token::Sign('{') => {
                    self.tokens.take();
                    depth += 1;
                    list.push(Statement::Open);
                }
                Token::Sign('}') => {
                    self.tokens.take();
                    if depth == 0 {
                        return Ok(list);
                    }
                    depth -= 1;
                    list.push(Statement::Close);
                }
                Token::Sign(';') => {
                    self.tokens.take();
                }
                Token::Dot(word) => {
                    let start = self.tokens.mark();
                    let result = self.directive(word, &mut list);
                    list.extend(self.recover(start, result)?);
                }
                Token::Word(word) if self.tokens.ahead(1) == Token::Sign(':') => {
                    self.tokens.take();
                    self.tokens.take();
                    self.label(word, &mut list)?;
                }
                Token::Word(_) | Token::Sign('@') => {
                    let start = self.tokens.mark();
                    let result = self.instruction().map(|it| list.push(Statement::Instruction(it)));
                    list.extend(self.recover(start, result)?);
                }
                _ => return Err(self.tokens.error("a statement")),
            }
        }
    }

    /// Puts an unknown instruction in place of a statement that cannot be read, if the text is newer than
    /// this reader.
    fn recover(
        &mut self,
        start: usize,
        result: Result<(), SyntaxError>,
    ) -> Result<Option<Statement>, SyntaxError> {
        let error = match result {
            Err(error) if self.newer => error,
            result => return result.map(|()| None),
        };
        self.skip(start);
        let opcode = format!("a statement of a newer version of PTX ({})", error.message).into();
        let unknown = Instruction {
            guard: None,
            opcode,
            modifiers: Vec::new(),
            operands: Vec::new(),
            line: error.line,
        };
        Ok(Some(Statement::Instruction(unknown)))
    }

    fn directive(&mut self, word: &str, list: &mut Vec<Statement>) -> Result<(), SyntaxError> {
        match word {
            "reg" => self.registers(list),
            "param" | "local" | "shared" | "global" | "const" => {
                let variables = self.variables(false, false)?;
                list.extend(variables.into_iter().map(Statement::Variable));
                self.tokens.expect(';')
            }
            "extern" | "visible" | "weak" => {
                self.tokens.take();
                let variables = self.variables(word == "extern", false)?;
                list.extend(variables.into_iter().map(Statement::Variable));
                self.tokens.expect(';')
            }
            "loc" => {
                self.tokens.take();
                let (file, line) = (self.tokens.small()?, self.tokens.small()?);
                self.tokens.int()?;
                let mut caller = None;
                while self.tokens.eat(',') {
                    // `function_name label [+ n]` and `inlined_at file line column`.
                    if self.tokens.word()? == "inlined_at" {
                        caller = Some((self.tokens.small()?, self.tokens.small()?));
                    }
                    while matches!(self.tokens.peek(), Token::Int(_) | Token::Sign('+'))
                        || matches!(
                            (self.tokens.peek(), self.tokens.ahead(1)),
                            (Token::Word(_), Token::Sign(',' | '+'))
                        )
                    {
                        self.tokens.take();
                    }
                }
                list.push(Statement::Location { file, line, caller });
                Ok(())
            }
            "pragma" => {
                while !self.tokens.eat(';') {
                    if self.tokens.take() == Token::End {
                        return Err(self.tokens.error("';'"));
                    }
                }
                Ok(())
            }
            _ => Err(self.tokens.error("a directive of a function")),
        }
    }

    fn registers(&mut self, list: &mut Vec<Statement>) -> Result<(), SyntaxError> {
        self.tokens.take();
        let mut ty = None;
        while let Token::Dot(word) = self.tokens.peek() {
            self.tokens.take();
            if word == "align" {
                self.tokens.int()?;
                continue;
            }
            ty = Type::named(word);
        }
        let ty = ty.ok_or_else(|| self.tokens.error("a register type"))?;
        loop {
            let word = self.tokens.word()?;
            let prefix = self.name(word);
            if self.tokens.eat('<') {
                let count = self.tokens.small()?;
                self.tokens.expect('>')?;
                list.push(Statement::Registers { prefix, ty, count });
            } else {
                let variable = super::ast::Variable {
                    name: prefix,
                    space: super::ast::Space::Reg,
                    ty,
                    align: ty.size(),
                    count: 1,
                    array: false,
                    external: false,
                    managed: false,
                    initial: Vec::new(),
                    line: self.tokens.line(),
                };
                list.push(Statement::Variable(variable));
            }
            if !self.tokens.eat(',') {
                return self.tokens.expect(';');
            }
        }
    }

    fn label(&mut self, word: &'a str, list: &mut Vec<Statement>) -> Result<(), SyntaxError> {
        let name = self.name(word);
        match self.tokens.peek() {
            Token::Dot("branchtargets") => {
                self.tokens.take();
                let targets = self.words()?;
                list.push(Statement::BranchTargets(name, targets));
                self.tokens.expect(';')
            }
            Token::Dot("calltargets") => {
                self.tokens.take();
                let targets = self.words()?;
                list.push(Statement::CallTargets(name, targets));
                self.tokens.expect(';')
            }
            Token::Dot("callprototype") => {
                self.tokens.take();
                let returns = self.params()?;
                self.tokens.word()?;
                let params = self.params()?;
                while let Token::Dot(_) = self.tokens.peek() {
                    self.tokens.take();
                    while matches!(self.tokens.peek(), Token::Int(_) | Token::Sign(',')) {
                        self.tokens.take();
                    }
                }
                list.push(Statement::CallPrototype(name, Prototype { returns, params }));
                self.tokens.expect(';')
            }
            _ => {
                list.push(Statement::Label(name));
                Ok(())
            }
        }
    }

    fn instruction(&mut self) -> Result<Instruction, SyntaxError> {
        let line = self.tokens.line();
        let guard = if self.tokens.eat('@') {
            let negated = self.tokens.eat('!');
            let word = self.tokens.word()?;
            Some(PredicateOperand { name: self.name(word), negated })
        } else {
            None
        };
        let word = self.tokens.word()?;
        let opcode = self.name(word);
        let mut modifiers = Vec::new();
        while let Token::Dot(word) = self.tokens.peek() {
            self.tokens.take();
            modifiers.push(self.name(word));
        }
        let mut operands = Vec::new();
        if !self.tokens.eat(';') {
            loop {
                operands.push(self.operand()?);
                if self.tokens.eat(';') {
                    break;
                }
                self.tokens.expect(',')?;
            }
        }
        Ok(Instruction { guard, opcode, modifiers, operands, line })
    }

    fn operand(&mut self) -> Result<Operand, SyntaxError> {
        let first = self.simple()?;
        if self.tokens.eat('|') {
            let second = self.simple()?;
            return Ok(Operand::Pair(Box::new(first), Box::new(second)));
        }
        Ok(first)
    }

    fn simple(&mut self) -> Result<Operand, SyntaxError> {
        match self.tokens.peek() {
            Token::Sign('{') => Ok(Operand::Vector(self.list('{', '}')?)),
            Token::Sign('(') => Ok(Operand::List(self.list('(', ')')?)),
            Token::Sign('!') => {
                self.tokens.take();
                Ok(Operand::Not(Box::new(self.simple()?)))
            }
            Token::Sign('[') => self.address(),
            Token::Sign('-') => {
                self.tokens.take();
                Ok(match self.tokens.take() {
                    Token::Int(v) => Operand::Int(v.wrapping_neg()),
                    Token::Float(v) => Operand::F64((-v).to_bits()),
                    Token::F32(bits) => Operand::F32(bits ^ 1 << 31),
                    Token::F64(bits) => Operand::F64(bits ^ 1 << 63),
                    _ => return Err(self.tokens.error("a number after '-', before this")),
                })
            }
            Token::Sign('~') => {
                self.tokens.take();
                Ok(Operand::Int(!self.tokens.int()?))
            }
            Token::Int(v) => {
                self.tokens.take();
                Ok(Operand::Int(v))
            }
            Token::Float(v) => {
                self.tokens.take();
                Ok(Operand::F64(v.to_bits()))
            }
            Token::F32(bits) => {
                self.tokens.take();
                Ok(Operand::F32(bits))
            }
            Token::F64(bits) => {
                self.tokens.take();
                Ok(Operand::F64(bits))
            }
            Token::Word(word) => {
                self.tokens.take();
                // `%tid.x`, and components of vector registers.
                if let Token::Dot(part) = self.tokens.peek() {
                    self.tokens.take();
                    return Ok(Operand::Name(format!("{word}.{part}").into()));
                }
                let name = self.name(word);
                Ok(match self.offset()? {
                    0 => Operand::Name(name),
                    offset => Operand::Offset(name, offset),
                })
            }
            _ => Err(self.tokens.error("an operand")),
        }
    }

    fn list(&mut self, open: char, close: char) -> Result<Vec<Operand>, SyntaxError> {
        self.tokens.expect(open)?;
        let mut list = Vec::new();
        while !self.tokens.eat(close) {
            list.push(self.operand()?);
            if !self.tokens.eat(',') {
                self.tokens.expect(close)?;
                break;
            }
        }
        Ok(list)
    }

    fn address(&mut self) -> Result<Operand, SyntaxError> {
        let mut parts = self.list('[', ']')?;
        let first = if parts.len() == 1 { parts.pop() } else { None };
        Ok(match first {
            None => Operand::Multi(parts),
            Some(Operand::Name(name)) => Operand::Address(Some(name), 0),
            Some(Operand::Offset(name, offset)) => Operand::Address(Some(name), offset),
            Some(Operand::Int(v)) => Operand::Address(None, v.cast_signed()),
            Some(other) => Operand::Multi(vec![other]),
        })
    }
}
