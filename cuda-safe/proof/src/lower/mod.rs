//! Makes a kernel's slice from PTX: called functions are put in place of their calls, and what feeds neither
//! addresses nor guards is left out.
//!
//! An instruction that is not listed here becomes [`Op::Refuse`]: the launch is refused if the analysis
//! reaches it. So does a listed instruction with a modifier that is not listed, if it accesses memory.

mod arithmetic;
mod control;
mod header;
mod memory;
mod operand;
mod slice;
#[cfg(test)]
mod table;

use std::collections::{BTreeMap, BTreeSet};

use cuda_ptx::{Body, Entity, Linkage, Module, Name, Operand as Source, Statement, Variable, parse};

use crate::effort::STEPS;
use crate::ir::{Graph, Kernel, Op, Operand, Parameter, Space, Step};

pub use cuda_ptx::SyntaxError;

/// The number of the PTX itself among the files: its lines are named if it has none of a source.
const PTX: u32 = u32::MAX;

/// Lowers all kernels of a PTX text.
///
/// # Errors
/// The text is not PTX, or has a form that the reader does not know: the error names the line.
pub fn kernels(text: &str) -> Result<Vec<Kernel>, SyntaxError> {
    Ok(kernels_with_architecture(text)?.0)
}

/// Does what [`kernels`] does, and returns the number of the architecture that the text is for, too: 90 for
/// `sm_90` and for `sm_90a`.
///
/// # Errors
/// As [`kernels`].
pub fn kernels_with_architecture(text: &str) -> Result<(Vec<Kernel>, i32), SyntaxError> {
    let module = parse(text)?;
    let architecture = header::check(&module)?;
    let bodies = module.functions.iter().enumerate().filter(|(_, it)| it.is_entry);
    let bodies = bodies.filter_map(|(index, it)| Some((index, it.body.as_ref()?)));
    let kernel = |(index, body)| {
        let mut lowering = Lowering::kernel(&module, index, body)?;
        lowering.slice();
        Ok(lowering.kernel)
    };
    let kernels: Result<_, _> = bodies.map(kernel).collect();
    Ok((kernels?, architecture))
}

/// What a variable of a function is.
#[derive(Clone, Copy, Debug)]
enum LocalPlace {
    /// It is not declared yet.
    None,
    Object(u32),
    /// A parameter or result of a call, in the `.param` space.
    Slot(usize),
}

/// A function whose body is lowered: what its names stand for.
struct Frame<'m, 'a> {
    /// The function's number.
    function: usize,
    body: &'m Body<'a>,
    /// The registers that are used, by the numbers of the body.
    registers: Vec<Option<u32>>,
    variables: Vec<LocalPlace>,
    /// The steps at the labels.
    labels: Vec<Option<usize>>,
    /// The slots of results and parameters. A kernel's parameters have none.
    results: Vec<usize>,
    parameters: Vec<usize>,
    /// The branches: the step, and the labels.
    branches: Vec<(usize, Vec<Name<'a>>)>,
    /// The steps that return from the function.
    returns: Vec<usize>,
    /// Braces that are open.
    depth: u32,
}

impl<'m, 'a> Frame<'m, 'a> {
    fn new(function: usize, body: &'m Body<'a>, results: Vec<usize>, parameters: Vec<usize>) -> Self {
        Self {
            function,
            body,
            registers: vec![None; body.registers.len()],
            variables: vec![LocalPlace::None; body.variables.len()],
            labels: vec![None; body.labels.len()],
            results,
            parameters,
            branches: Vec::new(),
            returns: Vec::new(),
            depth: 0,
        }
    }
}

/// File, line and column.
type Place = (u32, u32, u32);

struct Lowering<'m, 'a> {
    module: &'m Module<'a>,
    kernel: Kernel,
    /// The objects that the module's variables are.
    globals: Vec<Option<u32>>,
    /// The variables that are declared, but for those on the stack, with their numbers.
    lasting: Vec<(&'m Variable<'a>, u32)>,
    /// Where what was inlined at a place was called, last.
    inlined: BTreeMap<Place, Place>,
    /// The pieces of each slot: offset, bytes, register.
    slots: Vec<Vec<(i128, u32, u32)>>,
    /// The function that is lowered now, and those that call it.
    frame: Frame<'m, 'a>,
    callers: Vec<Frame<'m, 'a>>,
    at: (u32, u32),
    /// Registers that have no name in the PTX: each belongs to one instruction.
    temporaries: BTreeSet<u32>,
    /// By function: which of its registers it uses otherwise than in computations of floating-point numbers.
    no_floats: BTreeMap<usize, Vec<bool>>,
    /// The handles of textures and surfaces: the step that refuses each, its register, and whether it is a
    /// surface's.
    handles: Vec<(usize, u32, bool)>,
}

/// Why an instruction cannot be lowered.
type Refused<T = ()> = Result<T, String>;

impl<'m, 'a> Lowering<'m, 'a> {
    /// Lowers a kernel with all functions that it calls.
    fn kernel(module: &'m Module<'a>, index: usize, body: &'m Body<'a>) -> Result<Self, SyntaxError> {
        let function = &module.functions[index];
        let parameters = function.parameters.iter().map(|it| {
            let pointee = it.pointee.and_then(|it| it.align).unwrap_or(1);
            let pointee = u32::try_from(pointee).ok().filter(|it| it.is_power_of_two());
            let (bytes, align) = (it.bytes().unwrap_or(0), it.align());
            pointee.map(|pointee| Parameter { bytes, align, pointee }).ok_or_else(|| SyntaxError {
                line: it.line,
                message: format!("expected a power of two behind `.ptr .align` of {}", it.name),
            })
        });
        let parameters = parameters.collect::<Result<_, _>>()?;
        let kernel = Kernel {
            name: function.name.to_owned(),
            parameters,
            clusters: header::clusters(function)?,
            objects: Vec::new(),
            registers: Vec::new(),
            steps: Vec::new(),
            files: Vec::new(),
            texts: Vec::new(),
            handles: Vec::new(),
            graph: Graph::default(),
        };
        let mut this = Self {
            module,
            kernel,
            globals: Vec::new(),
            lasting: Vec::new(),
            inlined: BTreeMap::new(),
            slots: Vec::new(),
            frame: Frame::new(index, body, Vec::new(), Vec::new()),
            callers: Vec::new(),
            at: (0, 0),
            temporaries: BTreeSet::new(),
            no_floats: BTreeMap::new(),
            handles: Vec::new(),
        };
        if !module.aliases.is_empty() {
            this.refuse("the PTX has an alias: a name may stand for another function");
        }
        let is_elsewhere = |it: &Variable<'_>| {
            let space = it.pointee.and_then(|it| it.space);
            space.is_some_and(|space| space != cuda_ptx::Space::Global)
        };
        if let Some(it) = function.parameters.iter().find(|it| is_elsewhere(it)) {
            this.refuse(&format!("{} is promised to lead to no global memory", it.name));
        }
        this.globals = module.variables.iter().map(|it| this.object(it, false)).collect();
        // A return of the kernel ends the thread.
        for step in this.body() {
            this.kernel.steps[step].op = Op::Exit;
        }
        this.find_handles();
        Ok(this)
    }

    /// Refuses a texture or surface, until its handle turns out to be a parameter's.
    fn handle(&mut self, source: &'m Source<'a>, is_surface: bool) {
        let register = match source {
            Source::Address(Some(name), 0) => self.register(name).ok(),
            Source::Bracketed(parts) => match &parts[..] {
                [Source::Name(name), Source::Vector(_)] => self.register(name).ok(),
                _ => None,
            },
            _ => None,
        };
        self.refuse("the handle of a texture or surface is no parameter of the kernel");
        if let Some(register) = register {
            self.handles.push((self.kernel.steps.len() - 1, register, is_surface));
        }
    }

    /// Allows the handles that nothing writes but one load of a whole parameter.
    fn find_handles(&mut self) {
        for (step, register, is_surface) in std::mem::take(&mut self.handles) {
            let writes: Vec<&Step> =
                self.kernel.steps.iter().filter(|it| it.to.contains(&register)).collect();
            if let [Step { op: Op::Parameter, guard: None, size: 8, from, .. }] = writes[..]
                && let [Operand::Number(parameter), Operand::Number(0)] = from[..]
                && let Ok(parameter) = usize::try_from(parameter)
            {
                let Step { at, guard, .. } = self.kernel.steps[step];
                let from = vec![Operand::Register(register)];
                self.kernel.steps[step] = Step { at, guard, bits: 64, from, ..Step::new(Op::Handle) };
                if !self.kernel.handles.contains(&(parameter, is_surface)) {
                    self.kernel.handles.push((parameter, is_surface));
                }
            }
        }
    }

    /// Returns the object that a variable is. `is_own` says whether it keeps its contents: one in braces is
    /// another one each time.
    fn object(&mut self, variable: &'m Variable<'a>, is_own: bool) -> Option<u32> {
        let space = match variable.space {
            cuda_ptx::Space::Global => Space::Global,
            cuda_ptx::Space::Const => Space::Const,
            cuda_ptx::Space::Shared => Space::Shared,
            cuda_ptx::Space::Local => Space::Local,
            _ => return None,
        };
        // A function that is called twice has the same variables each time, but for those on the stack.
        if let Some((_, known)) = self.lasting.iter().find(|(own, _)| std::ptr::eq(*own, variable)) {
            return Some(*known);
        }
        let is_extern = match variable.linkage {
            Linkage::Extern => true,
            Linkage::Weak | Linkage::Common => space == Space::Shared,
            Linkage::Own | Linkage::Visible => false,
        };
        // All arrays whose size the launch states begin at the same address. An array of another file has no
        // known size.
        let bytes = variable.bytes();
        let is_dynamic = space == Space::Shared && is_extern && bytes.is_none();
        let bytes = if is_dynamic { None } else { Some(bytes.filter(|_| !is_extern).unwrap_or(0)) };
        let (name, align) = (variable.name.to_owned(), variable.align());
        self.kernel.objects.push(crate::ir::Object { name, space, bytes, align, is_own });
        let index = u32::try_from(self.kernel.objects.len() - 1).unwrap_or(u32::MAX);
        if space != Space::Local {
            self.lasting.push((variable, index));
        }
        Some(index)
    }

    fn push(&mut self, mut step: Step) -> usize {
        step.at = self.at;
        self.kernel.steps.push(step);
        self.kernel.steps.len() - 1
    }

    fn refuse(&mut self, reason: &str) {
        let texts = &mut self.kernel.texts;
        let index = texts.iter().position(|it| it == reason).unwrap_or_else(|| {
            texts.push(reason.to_owned());
            texts.len() - 1
        });
        let from = vec![Operand::Number(index.try_into().unwrap_or(i64::MAX))];
        self.push(Step { from, ..Step::new(Op::Refuse) });
    }

    fn new_register(&mut self, bits: u8) -> u32 {
        self.kernel.registers.push(bits);
        u32::try_from(self.kernel.registers.len() - 1).unwrap_or(u32::MAX)
    }

    fn temporary(&mut self, bits: u8) -> u32 {
        let register = self.new_register(bits);
        self.temporaries.insert(register);
        register
    }

    /// Lowers the body of the function. Returns the steps that return from it.
    fn body(&mut self) -> Vec<usize> {
        let body = self.frame.body;
        for name in &body.ambiguous {
            self.refuse(&format!("{name} is declared, and ptxas may read another register for it"));
        }
        for statement in &body.statements {
            if self.kernel.steps.len() > STEPS {
                self.refuse("the kernel and the functions that it calls are too long to analyse");
                break;
            }
            self.statement(statement);
        }
        // The end of a body returns.
        let end = self.push(Step::new(Op::Bra));
        for (step, names) in std::mem::take(&mut self.frame.branches) {
            let step_of = |name: &Name<'a>| match name.entity {
                Entity::Label(label) => self.frame.labels[label],
                _ => None,
            };
            let targets: Option<Vec<_>> = names.iter().map(step_of).collect();
            if let Some(targets) = targets {
                let targets =
                    targets.into_iter().map(|it| Operand::Number(it.try_into().unwrap_or(i64::MAX)));
                self.kernel.steps[step].from = targets.collect();
            } else {
                self.refuse("a branch to a label that is not in the function");
                if let Some(refusal) = self.kernel.steps.pop() {
                    self.kernel.steps[step] = refusal;
                }
            }
        }
        let mut returns = std::mem::take(&mut self.frame.returns);
        returns.push(end);
        returns
    }

    fn statement(&mut self, statement: &'m Statement<'a>) {
        let steps = self.kernel.steps.len();
        match statement {
            Statement::Open => self.frame.depth += 1,
            Statement::Close => self.frame.depth -= 1,
            Statement::Label(label) => self.frame.labels[*label] = Some(steps),
            Statement::Variable(index) => {
                let variable = &self.frame.body.variables[*index];
                let is_own = self.callers.is_empty() && self.frame.depth == 0;
                self.frame.variables[*index] = if variable.space == cuda_ptx::Space::Param {
                    self.slots.push(Vec::new());
                    LocalPlace::Slot(self.slots.len() - 1)
                } else {
                    self.object(variable, is_own).map_or(LocalPlace::None, LocalPlace::Object)
                };
            }
            Statement::Location(it) => {
                let place = (it.file, it.line, it.column);
                if let Some(caller) = it.inlined_at {
                    self.inlined.insert(place, caller);
                }
                if it.line != 0 {
                    self.at = self.own_place(place);
                }
            }
            Statement::Directive(it) => {
                self.is_at(it.line);
                if !header::is_known_pragma(it) {
                    self.refuse("the instruction pragma");
                }
            }
            Statement::Instruction(it) => {
                self.is_at(it.line);
                if let Err(reason) = self.instruction(it) {
                    self.kernel.steps.truncate(steps);
                    self.handles.retain(|(step, ..)| *step < steps);
                    self.frame.branches.retain(|(step, _)| *step < steps);
                    self.frame.returns.retain(|step| *step < steps);
                    self.refuse(&reason);
                }
            }
            Statement::Unread(error) => self.refuse(&error.to_string()),
            Statement::Registers(_) | Statement::List(_) | Statement::Prototype(_) => {}
        }
    }

    /// Returns file and line of a place. For one in a file of the toolkit, such as that of `atomicAdd`, it is
    /// the call in the program's own file. Own files have no whole paths.
    fn own_place(&self, mut place: Place) -> (u32, u32) {
        let is_foreign = |file| self.module.files.get(&file).is_some_and(|it| it.starts_with('/'));
        // A circle ends.
        for _ in 0..self.inlined.len() {
            match self.inlined.get(&place) {
                Some(caller) if is_foreign(place.0) => place = *caller,
                _ => break,
            }
        }
        (place.0, place.1)
    }

    /// Notes the line of the PTX, unless one of a source is known.
    fn is_at(&mut self, line: u32) {
        if self.at.0 == PTX || self.at == (0, 0) {
            self.at = (PTX, line);
        }
    }
}

fn negated(predicate: Operand) -> Operand {
    match predicate {
        Operand::Register(it) => Operand::Negated(it),
        Operand::Negated(it) => Operand::Register(it),
        Operand::Number(it) => Operand::Number(1 - it),
        other => other,
    }
}
