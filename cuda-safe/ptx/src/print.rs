//! Prints a resolved tree as PTX.
//!
//! What a function declares gets names of its own, each another one, and names outside of functions stay. So
//! the printed text means what the tree says, whatever scopes and names the first text had.

use core::fmt::{Result, Write};

use crate::syntax::{
    Body, Constant, Directive, Entity, Function, Initial, Instruction, Item, Linkage, Location, Module, Name,
    Operand, Prototype, Statement, Variable,
};

impl Module<'_> {
    /// Returns the module as PTX text.
    ///
    /// The names that functions declare are replaced: the text shows how they were resolved. Printing what is
    /// read from the printed text gives this text again. A module with errors has no text that can be read.
    #[must_use]
    pub fn print(&self) -> String {
        let (functions, variables) = (self.functions.iter(), self.variables.iter());
        let names: Vec<_> = functions.map(|it| it.name).chain(variables.map(|it| it.name)).collect();
        let mut stem = String::from("$");
        while names.iter().any(|name| name.starts_with(&stem)) {
            stem.push('_');
        }
        let text = String::with_capacity(self.text.len());
        let mut printer = Printer { module: self, function: None, numbers: Vec::new(), stem, text };
        // Writing to a string does not fail.
        let _ = printer.module();
        printer.text
    }
}

struct Printer<'m> {
    module: &'m Module<'m>,
    /// The function that is printed.
    function: Option<&'m Function<'m>>,
    /// The numbers that its registers get: in the order of their declarations.
    numbers: Vec<usize>,
    /// Begins all names that functions declare.
    stem: String,
    text: String,
}

impl<'m> Printer<'m> {
    fn module(&mut self) -> Result {
        let module = self.module;
        if let Some((major, minor)) = module.version {
            writeln!(self.text, ".version {major}.{minor}")?;
        }
        if !module.target.is_empty() {
            writeln!(self.text, ".target {}", module.target.join(", "))?;
        }
        if let Some(bits) = module.address_size {
            writeln!(self.text, ".address_size {bits}")?;
        }
        for item in &module.items {
            match item {
                Item::File(number) => {
                    let name = module.files.get(number).copied().unwrap_or_default();
                    writeln!(self.text, ".file {number} \"{name}\"")?;
                }
                Item::Variable(index) => {
                    let variable = &module.variables[*index];
                    self.variable(variable, variable.name)?;
                    self.text.push_str(";\n");
                }
                Item::Function(index) => self.whole_function(&module.functions[*index])?,
                Item::Alias(index) => {
                    let (new, old) = &module.aliases[*index];
                    writeln!(self.text, ".alias {new}, {};", old.text)?;
                }
                Item::Directive(directive) => self.directive(directive)?,
                Item::Section(name, inside) => writeln!(self.text, ".section .{name}\n{{\n{inside}\n}}")?,
            }
        }
        Ok(())
    }

    fn linkage(&mut self, linkage: Linkage) {
        self.text.push_str(match linkage {
            Linkage::Own => "",
            Linkage::Visible => ".visible ",
            Linkage::Extern => ".extern ",
            Linkage::Weak => ".weak ",
            Linkage::Common => ".common ",
        });
    }

    fn attributes(&mut self, list: &[Directive<'_>]) -> Result {
        for Directive { name, numbers, .. } in list {
            match &numbers[..] {
                [] => write!(self.text, ".attribute(.{name}) ")?,
                some => write!(self.text, ".attribute(.{name}({})) ", join(some))?,
            }
        }
        Ok(())
    }

    fn directive(&mut self, directive: &Directive<'_>) -> Result {
        let Directive { name, numbers, texts, .. } = directive;
        write!(self.text, ".{name} {}", join(numbers))?;
        if !texts.is_empty() {
            let texts: Vec<_> = texts.iter().map(|text| format!("\"{text}\"")).collect();
            write!(self.text, "{};", texts.join(", "))?;
        }
        self.text.push('\n');
        Ok(())
    }

    /// Prints a declaration with a name, up to its end.
    fn variable(&mut self, it: &Variable<'_>, name: &str) -> Result {
        self.linkage(it.linkage);
        write!(self.text, ".{} ", it.space.word())?;
        self.attributes(&it.attributes)?;
        if let Some(align) = it.stated_align {
            write!(self.text, ".align {align} ")?;
        }
        if it.lanes > 1 {
            write!(self.text, ".v{} ", it.lanes)?;
        }
        write!(self.text, ".{} ", it.ty.word())?;
        if let Some(pointee) = &it.pointee {
            self.text.push_str(".ptr ");
            if let Some(space) = pointee.space {
                write!(self.text, ".{} ", space.word())?;
            }
            if let Some(align) = pointee.align {
                write!(self.text, ".align {align} ")?;
            }
        }
        self.text.push_str(name);
        for size in &it.sizes {
            match size {
                Some(size) => write!(self.text, "[{size}]")?,
                None => self.text.push_str("[]"),
            }
        }
        if let Some(initial) = &it.initial {
            self.text.push_str(" = ");
            self.initial(initial)?;
        }
        Ok(())
    }

    fn initial(&mut self, initial: &Initial<'_>) -> Result {
        match initial {
            Initial::Constant(constant) => self.constant(*constant),
            Initial::Address { name, offset, is_generic, mask } => {
                if let Some(mask) = mask {
                    write!(self.text, "{mask:#x}(")?;
                }
                let name = self.name(name);
                match is_generic {
                    true => write!(self.text, "generic({name})")?,
                    false => self.text.push_str(&name),
                }
                self.offset(*offset)?;
                if mask.is_some() {
                    self.text.push(')');
                }
                Ok(())
            }
            Initial::List(list) => self.list(('{', '}'), list, Self::initial),
        }
    }

    fn list<T>(
        &mut self,
        (open, close): (char, char),
        list: &[T],
        print: impl Fn(&mut Self, &T) -> Result,
    ) -> Result {
        self.text.push(open);
        for (at, it) in list.iter().enumerate() {
            if at > 0 {
                self.text.push_str(", ");
            }
            print(self, it)?;
        }
        self.text.push(close);
        Ok(())
    }

    fn constant(&mut self, constant: Constant) -> Result {
        match constant {
            Constant::Integer(value) => write!(self.text, "{value}"),
            Constant::Single(bits) => write!(self.text, "0f{bits:08x}"),
            Constant::Double(bits) => write!(self.text, "0d{bits:016x}"),
        }
    }

    fn offset(&mut self, offset: i64) -> Result {
        if offset == 0 { Ok(()) } else { write!(self.text, "+{offset}") }
    }

    fn whole_function(&mut self, function: &'m Function<'m>) -> Result {
        self.function = Some(function);
        self.linkage(function.linkage);
        self.text.push_str(if function.is_entry { ".entry " } else { ".func " });
        self.attributes(&function.attributes)?;
        if !function.results.is_empty() {
            self.variables(&function.results, "q")?;
        }
        self.text.push_str(function.name);
        self.variables(&function.parameters, "p")?;
        self.text.push('\n');
        function.directives.iter().try_for_each(|it| self.directive(it))?;
        match &function.body {
            Some(body) => self.body(body),
            None => {
                self.text.push_str(";\n");
                Ok(())
            }
        }
    }

    fn variables(&mut self, list: &[Variable<'_>], kind: &str) -> Result {
        let numbered: Vec<_> = list.iter().enumerate().collect();
        self.list(('(', ')'), &numbered, |this, (at, it)| {
            let name = format!("{}{kind}{at}", this.stem);
            this.variable(it, &name)
        })
    }

    fn body(&mut self, body: &'m Body<'m>) -> Result {
        let mut registers = vec![Vec::new(); body.declarations.len()];
        for (at, register) in body.registers.iter().enumerate() {
            registers[register.declaration].push(at);
        }
        self.numbers = vec![0; body.registers.len()];
        for (number, at) in registers.iter().flatten().enumerate() {
            self.numbers[*at] = number;
        }
        self.text.push_str("{\n");
        for statement in &body.statements {
            match statement {
                Statement::Open => self.text.push_str("{\n"),
                Statement::Close => self.text.push_str("}\n"),
                Statement::Label(at) => writeln!(self.text, "{}l{at}:", self.stem)?,
                Statement::Registers(at) => {
                    let it = &body.declarations[*at];
                    let lanes = if it.lanes > 1 { format!(".v{} ", it.lanes) } else { String::new() };
                    for at in &registers[*at] {
                        let (ty, stem, number) = (it.ty.word(), &self.stem, self.numbers[*at]);
                        writeln!(self.text, ".reg {lanes}.{ty} {stem}r{number};")?;
                    }
                }
                Statement::Variable(at) => {
                    let name = self.entity(Entity::Local(*at), "");
                    self.variable(&body.variables[*at], &name)?;
                    self.text.push_str(";\n");
                }
                Statement::List(at) => {
                    let list = &body.lists[*at];
                    let names: Vec<_> = list.targets.iter().map(|it| self.name(it)).collect();
                    let word = if list.is_of_calls { "calltargets" } else { "branchtargets" };
                    writeln!(self.text, "{}t{at}: .{word} {};", self.stem, names.join(", "))?;
                }
                Statement::Prototype(at) => self.prototype(*at, &body.prototypes[*at])?,
                Statement::Location(location) => self.location(location)?,
                Statement::Directive(directive) => self.directive(directive)?,
                Statement::Instruction(it) => self.instruction(it)?,
                Statement::Unread(error) => writeln!(self.text, "<{error}>")?,
            }
        }
        self.text.push_str("}\n");
        Ok(())
    }

    fn prototype(&mut self, at: usize, it: &Prototype<'_>) -> Result {
        let unnamed = |this: &mut Self, it: &Variable<'_>| this.variable(it, "_");
        write!(self.text, "{}c{at}: .callprototype ", self.stem)?;
        if !it.results.is_empty() {
            self.list(('(', ')'), &it.results, unnamed)?;
        }
        self.text.push_str(" _ ");
        self.list(('(', ')'), &it.parameters, unnamed)?;
        it.directives.iter().try_for_each(|it| self.directive(it))?;
        self.text.push_str(";\n");
        Ok(())
    }

    fn location(&mut self, it: &Location<'_>) -> Result {
        write!(self.text, ".loc {} {} {}", it.file, it.line, it.column)?;
        if let Some((label, offset)) = it.function {
            write!(self.text, ", function_name {label}")?;
            self.offset(offset)?;
        }
        if let Some((file, line, column)) = it.inlined_at {
            write!(self.text, ", inlined_at {file} {line} {column}")?;
        }
        self.text.push('\n');
        Ok(())
    }

    fn instruction(&mut self, it: &Instruction<'_>) -> Result {
        if let Some((name, is_negated)) = &it.guard {
            let name = self.name(name);
            write!(self.text, "@{}{name} ", if *is_negated { "!" } else { "" })?;
        }
        self.text.push_str(&it.form());
        for (at, operand) in it.operands.iter().enumerate() {
            self.text.push_str(if at == 0 { " " } else { ", " });
            self.operand(operand)?;
        }
        self.text.push_str(";\n");
        Ok(())
    }

    fn operand(&mut self, operand: &Operand<'_>) -> Result {
        match operand {
            Operand::Name(name) => {
                let name = self.name(name);
                self.text.push_str(&name);
                Ok(())
            }
            Operand::Offset(name, offset) => {
                let name = self.name(name);
                self.text.push_str(&name);
                self.offset(*offset)
            }
            Operand::Constant(constant) => self.constant(*constant),
            Operand::Address(Some(name), offset) => {
                let name = self.name(name);
                write!(self.text, "[{name}")?;
                self.offset(*offset)?;
                self.text.push(']');
                Ok(())
            }
            Operand::Address(None, at) => write!(self.text, "[{at}]"),
            Operand::Bracketed(list) => self.list(('[', ']'), list, Self::operand),
            Operand::Vector(list) => self.list(('{', '}'), list, Self::operand),
            Operand::Arguments(list) => self.list(('(', ')'), list, Self::operand),
            Operand::Not(inner) => {
                self.text.push('!');
                self.operand(inner)
            }
            Operand::Pair(both) => {
                self.operand(&both[0])?;
                self.text.push('|');
                self.operand(&both[1])
            }
        }
    }

    fn name(&self, name: &Name<'_>) -> String {
        let text = self.entity(name.entity, name.text);
        name.part.map_or(text.clone(), |part| format!("{text}{part}"))
    }

    /// Returns the name of an entity, which has another one in the text.
    fn entity(&self, entity: Entity, text: &str) -> String {
        let locals = self.function.and_then(|it| it.body.as_ref()).map_or(&[][..], |it| &it.variables);
        let (kind, number) = match entity {
            Entity::Undeclared => return text.to_owned(),
            Entity::Sink => return "_".to_owned(),
            Entity::WarpSize => return "WARP_SZ".to_owned(),
            Entity::Special(special) => return special.name(),
            Entity::Variable(at) => return self.module.variables[at].name.to_owned(),
            Entity::Function(at) => return self.module.functions[at].name.to_owned(),
            Entity::Alias(at) => return self.module.aliases[at].0.to_owned(),
            // Another text may have it, too.
            Entity::Local(at) if locals[at].linkage != Linkage::Own => return locals[at].name.to_owned(),
            Entity::Local(at) => ("v", at),
            Entity::Register(at) => ("r", self.numbers[at]),
            Entity::Parameter(at) => ("p", at),
            Entity::Result(at) => ("q", at),
            Entity::Label(at) => ("l", at),
            Entity::List(at) => ("t", at),
            Entity::Prototype(at) => ("c", at),
        };
        format!("{}{kind}{number}", self.stem)
    }
}

fn join(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}
