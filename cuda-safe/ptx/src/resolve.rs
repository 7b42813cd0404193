//! Finds what each name stands for, as ptxas does.
//!
//! - Braces open a scope. The outermost one of a function has its results and parameters, too. The innermost
//!   scope that declares a name before its use decides.
//! - `%r12` is a register of the family `%r<40>`, and so is `%r012`: all digits at the end are the number. A
//!   declaration of the whole name in the same scope comes first.
//! - A label may come behind its use. If the name is none but a label until then, the innermost open scope
//!   that has the label anywhere decides.
//! - Names of the module come behind those of scopes, and special registers behind all declarations. ptxas
//!   does not keep to that: [`Body::ambiguous`] has the names of special registers that a function declares,
//!   and those with a number of more than 32 bits.

use std::collections::HashMap;

use crate::syntax::{
    Body, Declaration, Entity, Function, Initial, Module, Name, Register, Statement, Variable,
};
use crate::{Special, SyntaxError};

/// Splits a name in front of its digits at the end.
fn split_number(name: &str) -> (&str, &str) {
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    name.split_at(name.len() - digits)
}

/// Resolves all names of a module.
pub(crate) fn resolve(module: &mut Module<'_>) {
    let names = names(module);
    for index in 0..module.variables.len() {
        if let Some(mut initial) = module.variables[index].initial.take() {
            initial_names(&mut initial, &mut |name| name.entity = outside(&names, name.text));
            module.variables[index].initial = Some(initial);
        }
    }
    for (_, old) in &mut module.aliases {
        old.entity = outside(&names, old.text);
    }
    let mut errors = Vec::new();
    for function in &mut module.functions {
        let (scopes, labels, ambiguous) = (Vec::new(), Vec::new(), Vec::new());
        Resolver { module: &names, scopes, labels, ambiguous, errors: &mut errors }.function(function);
    }
    module.errors.extend(errors);
    module.errors.sort_by_key(|error| error.line);
}

/// Returns what the names of a module stand for.
fn names<'a>(module: &mut Module<'a>) -> HashMap<&'a str, Entity> {
    let mut names = HashMap::new();
    for (index, variable) in module.variables.iter().enumerate() {
        let known = names.entry(variable.name).or_insert(Entity::Variable(index));
        // A definition comes before a declaration.
        if let Entity::Variable(own) = *known
            && module.variables[own].linkage == crate::syntax::Linkage::Extern
        {
            *known = Entity::Variable(index);
        }
    }
    for (index, function) in module.functions.iter().enumerate() {
        match names.entry(function.name).or_insert(Entity::Function(index)) {
            Entity::Function(own) if *own == index => {}
            Entity::Function(own) if module.functions[*own].body.is_none() => *own = index,
            Entity::Function(own) if function.body.is_some() => {
                let (name, first) = (function.name, module.functions[*own].line);
                let message = format!("{name} is defined twice, first on line {first}");
                module.errors.push(SyntaxError::new(function.line, message));
            }
            Entity::Function(_) => {}
            _ => {
                let message = format!("{} is a variable and a function", function.name);
                module.errors.push(SyntaxError::new(function.line, message));
            }
        }
    }
    for (index, (new, _)) in module.aliases.iter().enumerate() {
        names.insert(new, Entity::Alias(index));
    }
    names
}

/// Returns what a name stands for outside of functions.
fn outside(module: &HashMap<&str, Entity>, name: &str) -> Entity {
    match (name, module.get(name)) {
        ("_", _) => Entity::Sink,
        ("WARP_SZ", _) => Entity::WarpSize,
        (_, Some(entity)) => *entity,
        _ => Special::from_name(name).map_or(Entity::Undeclared, Entity::Special),
    }
}

fn initial_names<'a>(initial: &mut Initial<'a>, visit: &mut impl FnMut(&mut Name<'a>)) {
    match initial {
        Initial::Address { name, .. } => visit(name),
        Initial::List(list) => list.iter_mut().for_each(|it| initial_names(it, visit)),
        Initial::Constant(_) => {}
    }
}

/// The names of one pair of braces.
#[derive(Default)]
struct Scope<'a> {
    /// Its number among the scopes of the function.
    number: usize,
    names: HashMap<&'a str, Entity>,
    /// Families by the name in front of the number, with the registers of each that are used.
    families: HashMap<&'a str, (usize, HashMap<u32, usize>)>,
    /// Registers of families by all names that were used: `%r12` and `%r012` are one.
    used: HashMap<&'a str, Entity>,
}

struct Resolver<'m, 'a> {
    module: &'m HashMap<&'a str, Entity>,
    scopes: Vec<Scope<'a>>,
    /// The labels of each scope of the function, by its number.
    labels: Vec<HashMap<&'a str, usize>>,
    ambiguous: Vec<&'a str>,
    errors: &'m mut Vec<SyntaxError>,
}

impl<'a> Resolver<'_, 'a> {
    fn function(&mut self, function: &mut Function<'a>) {
        let Some(mut body) = function.body.take() else { return };
        self.labels(&body);
        self.scopes.push(Scope::default());
        for (index, it) in function.results.iter().enumerate() {
            self.declare(it.name, Entity::Result(index), it.line);
        }
        for (index, it) in function.parameters.iter().enumerate() {
            self.declare(it.name, Entity::Parameter(index), it.line);
        }
        let (mut opened, mut line) = (0, function.line);
        let mut statements = std::mem::take(&mut body.statements);
        for statement in &mut statements {
            match statement {
                Statement::Open => {
                    opened += 1;
                    self.scopes.push(Scope { number: opened, ..Scope::default() });
                }
                Statement::Close => drop(self.scopes.pop()),
                Statement::Label(index) => {
                    self.declare(body.labels[*index].name, Entity::Label(*index), line);
                }
                Statement::Registers(index) => self.registers(*index, &mut body),
                Statement::Variable(index) => self.variable(*index, &mut body),
                Statement::Prototype(index) => {
                    self.declare(body.prototypes[*index].name, Entity::Prototype(*index), line);
                }
                Statement::List(index) => {
                    self.declare(body.lists[*index].name, Entity::List(*index), line);
                    let mut targets = std::mem::take(&mut body.lists[*index].targets);
                    targets.iter_mut().for_each(|name| self.resolve(name, &mut body));
                    body.lists[*index].targets = targets;
                }
                Statement::Instruction(it) => {
                    line = it.line;
                    if let Some((name, _)) = &mut it.guard {
                        self.resolve(name, &mut body);
                    }
                    for operand in &mut it.operands {
                        operand.each_name_mut(&mut |name| self.resolve(name, &mut body));
                    }
                }
                Statement::Location(_) | Statement::Directive(_) | Statement::Unread(_) => {}
            }
        }
        (body.statements, body.ambiguous) = (statements, std::mem::take(&mut self.ambiguous));
        function.body = Some(body);
    }

    /// Collects the labels of each scope.
    fn labels(&mut self, body: &Body<'a>) {
        let (mut open, mut line) = (vec![0], 0);
        self.labels.push(HashMap::new());
        for statement in &body.statements {
            match statement {
                Statement::Open => {
                    open.push(self.labels.len());
                    self.labels.push(HashMap::new());
                }
                Statement::Close => drop(open.pop()),
                Statement::Instruction(it) => line = it.line,
                Statement::Label(index) => {
                    let name = body.labels[*index].name;
                    let scope = open.last().and_then(|scope| self.labels.get_mut(*scope));
                    if scope.is_some_and(|scope| scope.insert(name, *index).is_some()) {
                        let message = format!("two labels of one scope are called {name}");
                        self.errors.push(SyntaxError::new(line, message));
                    }
                }
                _ => {}
            }
        }
    }

    fn declare(&mut self, name: &'a str, entity: Entity, line: u32) {
        self.doubt(name);
        let Some(scope) = self.scopes.last_mut() else { return };
        let before = scope.names.insert(name, entity);
        // A label that is there twice has its error already.
        if before.is_some_and(|old| !matches!((old, entity), (Entity::Label(_), Entity::Label(_)))) {
            self.errors.push(SyntaxError::new(line, format!("{name} is declared twice in one scope")));
        }
    }

    /// Notes a name that ptxas may take for another one. It takes a register with the name of a special one
    /// for either, in one kernel: behind a branch it may read the special one. A register with a number of
    /// more than 32 bits, as `%r4294967297`, is `%r1` of a family to it.
    fn doubt(&mut self, name: &'a str) {
        let is_special = || name.starts_with('%') && Special::from_name(name).is_some();
        let (_, digits) = split_number(name);
        let is_long = !digits.is_empty() && digits.parse::<u32>().is_err();
        if matches!(name, "_" | "WARP_SZ") || is_special() || is_long {
            self.ambiguous.push(name);
        }
    }

    fn registers(&mut self, index: usize, body: &mut Body<'a>) {
        let Declaration { name, ty, lanes, count, line } = body.declarations[index];
        if count.is_none() {
            body.registers.push(Register { name, declaration: index, ty, lanes });
            return self.declare(name, Entity::Register(body.registers.len() - 1), line);
        }
        let Some(scope) = self.scopes.last_mut() else { return };
        if scope.families.insert(name, (index, HashMap::new())).is_some() {
            let message = format!("the registers {name}<> are declared twice in one scope");
            self.errors.push(SyntaxError::new(line, message));
        }
    }

    fn variable(&mut self, index: usize, body: &mut Body<'a>) {
        let Variable { name, line, .. } = body.variables[index];
        if let Some(mut initial) = body.variables[index].initial.take() {
            initial_names(&mut initial, &mut |name| self.resolve(name, body));
            body.variables[index].initial = Some(initial);
        }
        self.declare(name, Entity::Local(index), line);
    }

    fn resolve(&mut self, name: &mut Name<'a>, body: &mut Body<'a>) {
        let found = match name.text {
            "_" => Entity::Sink,
            "WARP_SZ" => Entity::WarpSize,
            text => self.scoped(text, body).unwrap_or_else(|| outside(self.module, text)),
        };
        name.entity = match found {
            Entity::Label(_) | Entity::Undeclared => self.label(name.text).unwrap_or(found),
            other => other,
        };
    }

    /// Returns what a name stands for by a declaration of an open scope.
    fn scoped(&mut self, name: &'a str, body: &mut Body<'a>) -> Option<Entity> {
        let (family, digits) = split_number(name);
        for scope in self.scopes.iter_mut().rev() {
            if let Some(found) = scope.names.get(name).or_else(|| scope.used.get(name)) {
                return Some(*found);
            }
            let Some((declaration, used)) = scope.families.get_mut(family).filter(|_| !digits.is_empty())
            else {
                continue;
            };
            let Declaration { ty, lanes, count, .. } = body.declarations[*declaration];
            // ptxas takes numbers of more than 32 bits for others.
            let Ok(number) = digits.parse::<u32>() else {
                self.ambiguous.push(name);
                return Some(Entity::Undeclared);
            };
            if count.is_none_or(|count| number >= count) {
                continue;
            }
            let register = *used.entry(number).or_insert_with(|| {
                body.registers.push(Register { name, declaration: *declaration, ty, lanes });
                body.registers.len() - 1
            });
            scope.used.insert(name, Entity::Register(register));
            self.doubt(name);
            return Some(Entity::Register(register));
        }
        None
    }

    /// Returns the label of a name that an open scope has anywhere.
    fn label(&self, name: &str) -> Option<Entity> {
        let mut open = self.scopes.iter().rev();
        open.find_map(|scope| self.labels[scope.number].get(name)).map(|label| Entity::Label(*label))
    }
}
