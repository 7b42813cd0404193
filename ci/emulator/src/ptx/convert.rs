//! Makes the emulator's tree of what `cuda_ptx` has read and resolved.
//!
//! Each thing of a function has a name of its own there: where two have the same one, as in braces within
//! braces, the later one's ends with `#` and a number. So whoever looks up a name finds what the text means.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use cuda_ptx::{Constant, Entity, Linkage, Part};

use super::SyntaxError;
use super::ast::{
    Function, Initial, Instruction, Module, Name, Operand, PredicateOperand, Prototype, Space, Statement,
    Type, Variable,
};

/// The newest version of PTX whose directives and instructions are known here: that of CUDA 13.0.
const KNOWN: (u32, u32) = (9, 0);

/// Reads a PTX text.
///
/// # Errors
/// When the text is not PTX; the error names the line. A text of a newer version than is known may have
/// errors: its declarations are passed over, and a kernel stops at such a statement.
pub(crate) fn parse(text: &str) -> Result<Module, SyntaxError> {
    let read = cuda_ptx::read(text);
    let version = read.version.unwrap_or_default();
    if version <= KNOWN
        && let Some(error) = read.errors.first()
    {
        return Err(error.clone());
    }
    if let Some(size) = read.address_size.filter(|size| *size != 64) {
        let message = format!("expected an address size of 64, found {size}");
        return Err(SyntaxError { line: 1, message });
    }
    Ok(Converter::new(&read).module(version))
}

/// A module that is converted.
struct Converter<'m, 'a> {
    read: &'m cuda_ptx::Module<'a>,
    /// The names that are there, so that each is kept once.
    names: HashMap<&'a str, Name>,
    /// The names of the module, and those that are made of the variables of functions.
    of_module: HashSet<Name>,
    variables: Vec<Variable>,
    refused: Option<SyntaxError>,
}

/// The names of the things of a function, by their numbers.
#[derive(Default)]
struct Own {
    taken: HashSet<Name>,
    registers: Vec<Name>,
    variables: Vec<Name>,
    labels: Vec<Name>,
    lists: Vec<Name>,
    prototypes: Vec<Name>,
    parameters: Vec<Name>,
    results: Vec<Name>,
}

impl<'m, 'a> Converter<'m, 'a> {
    fn new(read: &'m cuda_ptx::Module<'a>) -> Self {
        let functions = read.functions.iter().map(|it| it.name);
        let names = read.variables.iter().map(|it| it.name).chain(functions);
        let of_module = names.chain(read.aliases.iter().map(|it| it.0)).map(Name::from).collect();
        Self { read, names: HashMap::new(), of_module, variables: Vec::new(), refused: None }
    }

    fn module(mut self, version: (u32, u32)) -> Module {
        let read = self.read;
        for variable in &read.variables {
            let variable = self.variable(variable, None);
            declare(&mut self.variables, variable);
        }
        let mut functions: Vec<Function> = Vec::new();
        for function in &read.functions {
            let function = self.function(function);
            match functions.iter_mut().find(|it| it.name == function.name) {
                Some(earlier) if earlier.body.is_none() => *earlier = function,
                Some(_) => {}
                None => functions.push(function),
            }
        }
        let unread = |function: &cuda_ptx::Function<'_>| -> Vec<SyntaxError> {
            let statements = function.body.iter().flat_map(|it| &it.statements);
            let of = |it: &cuda_ptx::Statement<'_>| match it {
                cuda_ptx::Statement::Unread(error) => Some(error.clone()),
                _ => None,
            };
            statements.filter_map(of).collect()
        };
        let in_functions: Vec<SyntaxError> = read.functions.iter().flat_map(unread).collect();
        Module {
            version,
            target: read.target.iter().map(|it| self.name(it)).collect(),
            variables: self.variables,
            functions,
            aliases: read.aliases.iter().map(|(new, old)| ((*new).into(), old.text.into())).collect(),
            passed_over: read.errors.iter().filter(|it| !in_functions.contains(it)).cloned().collect(),
            files: read.files.iter().map(|(number, name)| (*number, (*name).into())).collect(),
            refused: self.refused,
        }
    }

    fn name(&mut self, text: &'a str) -> Name {
        self.names.entry(text).or_insert_with(|| text.into()).clone()
    }

    /// Returns a name that nothing else of the function or of the module has.
    fn unique(&mut self, text: &'a str, own: &mut Own) -> Name {
        let mut name = self.name(text);
        let mut number = 1;
        while self.of_module.contains(&name) || !own.taken.insert(name.clone()) {
            name = format!("{text}#{number}").into();
            number += 1;
        }
        name
    }

    fn function(&mut self, read: &'m cuda_ptx::Function<'a>) -> Function {
        let mut own = Own::default();
        own.parameters = read.parameters.iter().map(|it| self.unique(it.name, &mut own)).collect();
        own.results = read.results.iter().map(|it| self.unique(it.name, &mut own)).collect();
        let variables = |this: &mut Self, list: &'m [cuda_ptx::Variable<'a>], names: &[Name]| {
            let pairs = list.iter().zip(names);
            pairs.map(|(it, name)| this.variable(it, Some(name.clone()))).collect()
        };
        let prototype = Prototype {
            returns: variables(self, &read.results, &own.results),
            params: variables(self, &read.parameters, &own.parameters),
        };
        let sizes = |name: &str| {
            let numbers = &read.directives.iter().find(|it| it.name == name)?.numbers;
            let of = |at: usize| numbers.get(at).map_or(1, |it| u32::try_from(*it).unwrap_or(u32::MAX));
            Some([of(0), of(1), of(2)])
        };
        Function {
            name: self.name(read.name),
            entry: read.is_entry,
            prototype,
            max_threads: sizes("maxntid"),
            required_threads: sizes("reqntid"),
            cluster: sizes("reqnctapercluster"),
            counts_clusters: read.directives.iter().any(|it| it.name == "blocksareclusters"),
            body: read.body.as_ref().map(|it| self.body(it, own)),
            line: read.line,
        }
    }

    fn body(&mut self, read: &'m cuda_ptx::Body<'a>, mut own: Own) -> Vec<Statement> {
        own.registers = read.registers.iter().map(|it| self.unique(it.name, &mut own)).collect();
        own.variables = read.variables.iter().map(|it| self.unique(it.name, &mut own)).collect();
        own.labels = read.labels.iter().map(|it| self.unique(it.name, &mut own)).collect();
        own.lists = read.lists.iter().map(|it| self.unique(it.name, &mut own)).collect();
        own.prototypes = read.prototypes.iter().map(|it| self.unique(it.name, &mut own)).collect();
        let registers = read.registers.iter().zip(&own.registers);
        let mut list: Vec<Statement> =
            registers.map(|(it, name)| Statement::Register(name.clone(), type_of(it.ty))).collect();
        for statement in &read.statements {
            list.extend(self.statement(statement, read, &own));
        }
        list
    }

    fn statement(
        &mut self,
        statement: &'m cuda_ptx::Statement<'a>,
        read: &'m cuda_ptx::Body<'a>,
        own: &Own,
    ) -> Option<Statement> {
        use cuda_ptx::Statement as Read;
        Some(match statement {
            Read::Open | Read::Close | Read::Registers(_) | Read::Directive(_) => return None,
            Read::Label(index) => Statement::Label(own.labels[*index].clone()),
            Read::Variable(index) => {
                let variable = self.variable(&read.variables[*index], Some(own.variables[*index].clone()));
                if matches!(variable.space, Space::Local | Space::Param) {
                    return Some(Statement::Variable(variable));
                }
                // There is one for all calls of the function.
                self.of_module.insert(variable.name.clone());
                self.variables.push(variable);
                return None;
            }
            Read::List(index) => {
                let list = &read.lists[*index];
                let targets = list.targets.iter().map(|it| self.named(it, own)).collect();
                let name = own.lists[*index].clone();
                if list.is_of_calls {
                    Statement::CallTargets(name, targets)
                } else {
                    Statement::BranchTargets(name, targets)
                }
            }
            Read::Prototype(index) => {
                let prototype = &read.prototypes[*index];
                let returns = prototype.results.iter().map(|it| self.variable(it, None)).collect();
                let params = prototype.parameters.iter().map(|it| self.variable(it, None)).collect();
                Statement::CallPrototype(own.prototypes[*index].clone(), Prototype { returns, params })
            }
            Read::Location(it) => Statement::Location {
                file: it.file,
                line: it.line,
                caller: it.inlined_at.map(|(file, line, _)| (file, line)),
            },
            Read::Instruction(it) => Statement::Instruction(self.instruction(it, own)),
            Read::Unread(error) => Statement::Instruction(Instruction {
                guard: None,
                opcode: format!("a statement of a newer version of PTX ({})", error.message).into(),
                modifiers: Vec::new(),
                operands: Vec::new(),
                line: error.line,
            }),
        })
    }

    fn instruction(&mut self, read: &'m cuda_ptx::Instruction<'a>, own: &Own) -> Instruction {
        self.look_at(read);
        let guard = read.guard.as_ref();
        Instruction {
            guard: guard
                .map(|(name, negated)| PredicateOperand { name: self.named(name, own), negated: *negated }),
            opcode: read.words.first().map_or_else(|| "".into(), |it| self.name(it)),
            modifiers: read.words.iter().skip(1).map(|it| self.name(it)).collect(),
            operands: self.operands(&read.operands, own),
            line: read.line,
        }
    }

    /// Finds the first error that every compiler refuses: an unknown instruction, or an undeclared register.
    fn look_at(&mut self, it: &cuda_ptx::Instruction<'_>) {
        let mut message = None;
        if self.read.version.unwrap_or_default() <= KNOWN && it.row().is_none() {
            message = Some(format!("there is no instruction {}", it.form()));
        }
        let mut visit = |name: &cuda_ptx::Name<'_>| {
            if name.entity == Entity::Undeclared && name.text.starts_with('%') && message.is_none() {
                message = Some(format!("{} is not declared", name.text));
            }
        };
        if let Some((name, _)) = &it.guard {
            visit(name);
        }
        it.operands.iter().for_each(|operand| operand.each_name(&mut visit));
        if let (Some(message), None) = (message, &self.refused) {
            self.refused = Some(SyntaxError { line: it.line, message });
        }
    }

    fn operands(&mut self, list: &[cuda_ptx::Operand<'a>], own: &Own) -> Vec<Operand> {
        list.iter().map(|it| self.operand(it, own)).collect()
    }

    fn operand(&mut self, operand: &cuda_ptx::Operand<'a>, own: &Own) -> Operand {
        use cuda_ptx::Operand as Read;
        match operand {
            Read::Name(name) => Operand::Name(self.named(name, own)),
            Read::Offset(name, offset) => Operand::Offset(self.named(name, own), *offset),
            Read::Constant(Constant::Integer(_)) => Operand::Int(integer(operand)),
            Read::Constant(Constant::Single(bits)) => Operand::F32(*bits),
            Read::Constant(Constant::Double(bits)) => Operand::F64(*bits),
            Read::Address(name, offset) => {
                Operand::Address(name.as_ref().map(|it| self.named(it, own)), *offset)
            }
            Read::Bracketed(list) => Operand::Multi(self.operands(list, own)),
            Read::Vector(list) => Operand::Vector(self.operands(list, own)),
            Read::Arguments(list) => Operand::List(self.operands(list, own)),
            Read::Not(inner) => Operand::Not(Box::new(self.operand(inner, own))),
            Read::Pair(both) => {
                let [first, second] = &**both;
                Operand::Pair(Box::new(self.operand(first, own)), Box::new(self.operand(second, own)))
            }
        }
    }

    /// Returns the name of what a name stands for, with its part.
    fn named(&mut self, name: &cuda_ptx::Name<'a>, own: &Own) -> Name {
        let whole = match name.entity {
            Entity::Register(index) => own.registers.get(index),
            Entity::Local(index) => own.variables.get(index),
            Entity::Label(index) => own.labels.get(index),
            Entity::List(index) => own.lists.get(index),
            Entity::Prototype(index) => own.prototypes.get(index),
            Entity::Parameter(index) => own.parameters.get(index),
            Entity::Result(index) => own.results.get(index),
            _ => None,
        };
        let whole = whole.cloned().unwrap_or_else(|| self.name(name.text));
        match name.part {
            None => whole,
            Some(Part::Element(at)) => {
                format!("{whole}.{}", ["x", "y", "z", "w"].get(usize::from(at)).unwrap_or(&"w")).into()
            }
            Some(Part::Lanes(lanes)) => format!("{whole}.{lanes}").into(),
        }
    }

    fn variable(&mut self, read: &cuda_ptx::Variable<'a>, name: Option<Name>) -> Variable {
        let ty = type_of(read.ty);
        let mut initial = Vec::new();
        if let Some(first) = &read.initial {
            initial_values(first, &mut initial);
        }
        let sizes = read.sizes.iter().map(|it| it.unwrap_or(0));
        let elements = sizes.fold(u64::from(read.lanes), u64::saturating_mul);
        let is_open = !read.sizes.is_empty() && elements == 0;
        let given = u64::try_from(initial.len()).unwrap_or(0);
        Variable {
            name: name.unwrap_or_else(|| self.name(read.name)),
            space: match read.space {
                cuda_ptx::Space::Reg => Space::Reg,
                cuda_ptx::Space::Global | cuda_ptx::Space::Tex => Space::Global,
                cuda_ptx::Space::Const => Space::Const,
                cuda_ptx::Space::Shared => Space::Shared,
                cuda_ptx::Space::Local => Space::Local,
                cuda_ptx::Space::Param => Space::Param,
            },
            ty,
            align: read.stated_align.unwrap_or(ty.size()),
            count: if is_open { given } else { elements },
            array: !read.sizes.is_empty(),
            external: read.linkage == Linkage::Extern,
            managed: read.is_managed(),
            initial,
            line: read.line,
        }
    }
}

/// A definition replaces a declaration of the same name.
fn declare(list: &mut Vec<Variable>, variable: Variable) {
    match list.iter_mut().find(|it| it.name == variable.name) {
        Some(earlier) if earlier.external => *earlier = variable,
        Some(_) => {}
        None => list.push(variable),
    }
}

/// The type of a variable or register. Of those that no arithmetic here has, the size counts.
fn type_of(ty: cuda_ptx::Type) -> Type {
    Type::named(ty.word()).unwrap_or(match ty.bytes() {
        1 => Type::B8,
        2 => Type::B16,
        4 => Type::B32,
        16 => Type::B128,
        _ => Type::B64,
    })
}

fn integer(operand: &cuda_ptx::Operand<'_>) -> u64 {
    let cuda_ptx::Operand::Constant(constant) = operand else { return 0 };
    constant.bits(64).unwrap_or(0)
}

fn initial_values(read: &cuda_ptx::Initial<'_>, list: &mut Vec<Initial>) {
    use cuda_ptx::Initial as Read;
    list.push(match read {
        Read::List(values) => return values.iter().for_each(|it| initial_values(it, list)),
        Read::Constant(Constant::Single(bits)) => Initial::F32Bits(*bits),
        Read::Constant(Constant::Double(bits)) => Initial::Float(f64::from_bits(*bits)),
        Read::Constant(constant @ Constant::Integer(_)) => Initial::Int(constant.bits(64).unwrap_or(0)),
        Read::Address { name, offset, is_generic, mask } => Initial::Symbol {
            name: Arc::from(name.text),
            offset: *offset,
            generic: *is_generic,
            shift: mask.map(u64::trailing_zeros),
        },
    });
}
