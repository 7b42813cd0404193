//! Lowers PTX functions to a [`Program`]: names become registers and addresses, and each instruction becomes
//! one or a few operations over 32 lanes.
//!
//! An instruction that cannot be lowered becomes one that explains itself when a kernel reaches it, so that
//! all other kernels of the module stay usable.

#[macro_use]
mod macros;

mod allocate;
mod arrays;
mod bulk;
mod compare;
mod control;
mod convert;
mod float;
mod half;
mod image;
mod integer;
mod later;
mod logic;
mod matrix;
mod memory;
mod narrow;
mod operand;
mod reach;
mod stack;
mod video;
mod warp;
mod wgmma;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

pub(in crate::exec) use memory::modify;

use super::file::{Alu, Class, Constants, LANES, Sizes, Slot};
use super::program::{CODE, Ins, NONE, Op, Predicate, Program, Routine, Scope};
use crate::host_line::is_toolkit;
use crate::ptx::ast::Name;
use crate::ptx::{Function, Instruction, Module, Space, Statement, Type, Variable};

/// Addresses of a module's variables on one device.
pub(crate) type Addresses = HashMap<Name, u64>;

/// The address that stands for a function in pointers. It depends on the function's position in the module.
pub(crate) fn code_address(module: &Module, name: &str) -> Option<u64> {
    let name = resolve(module, name);
    let number = module.functions.iter().position(|f| *f.name == *name)?;
    Some(CODE + 16 * u64::try_from(number).ok()?)
}

/// The name of the kernel that an address stands for.
pub(crate) fn named_at(module: &Module, address: u64) -> Option<&str> {
    let number = usize::try_from(address.checked_sub(CODE)? / 16).ok()?;
    module.functions.get(number).filter(|f| f.entry).map(|f| &*f.name)
}

fn resolve<'m>(module: &'m Module, name: &'m str) -> &'m str {
    module.aliases.iter().find(|(new, _)| **new == *name).map_or(name, |(_, old)| old)
}

/// The meaning of a name.
#[derive(Clone, Debug)]
enum Symbol {
    Register(Class, Slot),
    /// A variable in the frame of the thread's stack.
    Frame(u32, u32),
    /// An argument of the kernel.
    Argument(u32),
    Shared(u32),
    /// Global or constant memory.
    Device(u64),
    Code(u64),
    Prototype(crate::ptx::ast::Prototype),
    Targets(Vec<Name>),
}

/// The reason why an instruction cannot be lowered.
type Failure = String;

/// The failure of a known instruction in an unknown form.
const UNKNOWN: &str = "this form is not known to the emulator";

struct Lower<'m> {
    module: &'m Module,
    symbols: HashMap<Name, Symbol>,
    program: Program,
    words: HashMap<u32, Slot>,
    wides: HashMap<u64, Slot>,
    constants: Constants,
    routines: HashMap<Name, u32>,
    /// Lines of functions that were inlined, and where they were called last.
    callers: HashMap<(u32, u32), (u32, u32)>,
    // The state of the current function:
    own: HashMap<Name, Symbol>,
    labels: HashMap<Name, u32>,
    jumps: Vec<(u32, Name)>,
    tables: Vec<(u32, Vec<Name>)>,
    /// The registers that get old values from atomic operations.
    olds: HashSet<Slot>,
    /// The instructions that take the address of an array of shared memory.
    taken: HashMap<u32, u16>,
    counts: Sizes,
    routine: Routine,
    number: u32,
    guard: Predicate,
    line: u32,
}

/// Lowers a kernel and all functions that it may call. Returns `None` if the module has no such kernel.
pub(crate) fn lower(module: &Module, kernel: &str, addresses: &Addresses) -> Option<Program> {
    let kernel = module.function(kernel).filter(|f| f.entry)?;
    let reached = reach::reach(module, kernel);
    let (shared, arrays, static_shared) = reach::shared(module, &reached);
    let mut symbols: HashMap<Name, Symbol> =
        addresses.iter().map(|(name, &at)| (name.clone(), Symbol::Device(at))).collect();
    symbols.extend(shared.into_iter().map(|(name, at)| (name, Symbol::Shared(at))));
    for f in &module.functions {
        if let Some(at) = code_address(module, &f.name) {
            symbols.insert(f.name.clone(), Symbol::Code(at));
        }
    }
    for (new, old) in &module.aliases {
        if let Some(at) = code_address(module, old) {
            symbols.insert(new.clone(), Symbol::Code(at));
        }
    }
    let mut lower = Lower::new(module, kernel, symbols, static_shared);
    lower.program.arrays = arrays;
    for (number, f) in (0..).zip(&reached) {
        lower.routines.insert(f.name.clone(), number);
        if let Some(at) = code_address(module, &f.name) {
            lower.program.by_number.insert(at, number);
        }
    }
    // Frames are laid out first: calls need the frames of their callees.
    for f in &reached {
        let routine = layout(f);
        lower.program.functions.push(routine);
    }
    for (number, f) in (0..).zip(&reached) {
        lower.function(number, f);
    }
    lower.program.constants = Arc::new(lower.constants);
    Some(lower.program)
}

/// Puts the results and parameters of a function at the start of its frame.
fn layout(f: &Function) -> Routine {
    let mut routine = Routine { name: f.name.to_string(), ..Routine::default() };
    if !f.entry {
        for v in &f.prototype.returns {
            let place = reserve(&mut routine.frame, v);
            routine.returns.push(place);
        }
        for v in &f.prototype.params {
            let place = reserve(&mut routine.frame, v);
            routine.params.push(place);
        }
    }
    routine
}

/// Reserves room for a variable. Returns its offset and size.
fn reserve(frame: &mut u32, v: &Variable) -> (u32, u32) {
    let size = u32::try_from(v.size()).unwrap_or(u32::MAX / 4);
    *frame = frame.next_multiple_of(v.align.max(1));
    let at = *frame;
    *frame = frame.saturating_add(size);
    (at, size)
}

impl<'m> Lower<'m> {
    fn new(
        module: &'m Module,
        kernel: &Function,
        symbols: HashMap<Name, Symbol>,
        static_shared: u32,
    ) -> Self {
        let mut param_bytes = 0;
        let params = kernel.prototype.params.iter().map(|v| reserve(&mut param_bytes, v)).collect();
        let program = Program {
            name: kernel.name.to_string(),
            files: module.files.clone(),
            // The first word is the frame pointer.
            sizes: Sizes { words: 1, wides: 0, preds: 0 },
            static_shared,
            param_bytes,
            params,
            architecture: module.target.iter().find_map(|name| {
                name.strip_prefix("sm_")?.trim_end_matches(char::is_alphabetic).parse().ok()
            }),
            max_threads: kernel.max_threads.map(|t| t.iter().fold(1u32, |n, &m| n.saturating_mul(m))),
            required_threads: kernel.required_threads,
            cluster: kernel.cluster,
            counts_clusters: kernel.counts_clusters,
            constant_bytes: module
                .variables
                .iter()
                .filter(|v| v.space == Space::Const)
                .map(Variable::size)
                .sum(),
            ..Program::default()
        };
        Self {
            module,
            symbols,
            program,
            words: HashMap::new(),
            wides: HashMap::new(),
            constants: Constants::default(),
            routines: HashMap::new(),
            callers: HashMap::new(),
            own: HashMap::new(),
            labels: HashMap::new(),
            jumps: Vec::new(),
            tables: Vec::new(),
            olds: HashSet::new(),
            taken: HashMap::new(),
            counts: Sizes::default(),
            routine: Routine::default(),
            number: 0,
            guard: Predicate::ALWAYS,
            line: 0,
        }
    }

    fn function(&mut self, number: u32, f: &Function) {
        self.number = number;
        self.routine = self.program.functions[number as usize].clone();
        self.routine.start = self.here();
        self.own.clear();
        self.labels.clear();
        self.jumps.clear();
        self.tables.clear();
        self.counts = Sizes { words: 1, wides: 0, preds: 0 };
        self.line = f.line;
        self.guard = Predicate::ALWAYS;
        if f.entry {
            for (v, (at, _)) in f.prototype.params.iter().zip(self.program.params.clone()) {
                self.declare(v.name.clone(), Symbol::Argument(at));
            }
        } else {
            let places = self.routine.returns.clone().into_iter().chain(self.routine.params.clone());
            for (v, (at, size)) in f.prototype.returns.iter().chain(&f.prototype.params).zip(places) {
                if v.space != Space::Reg {
                    self.declare(v.name.clone(), Symbol::Frame(at, size));
                }
            }
            self.register_arguments(f);
        }
        let body = f.body.as_deref().unwrap_or(&[]);
        for statement in body {
            self.statement(f, statement);
        }
        // A function may end without a return.
        self.guard = Predicate::ALWAYS;
        self.emit(Op::Return, &[]);
        self.finish();
    }

    /// Patches jumps, gives registers their final places.
    fn finish(&mut self) {
        self.routine.frame = self.routine.frame.next_multiple_of(16);
        self.routine.end = self.here();
        for (at, label) in std::mem::take(&mut self.jumps) {
            let op = match self.labels.get(&label) {
                Some(target) => Op::Branch(*target),
                None => self.unsupported(format!("the label {label} is not there")),
            };
            self.program.code[at as usize].op = op;
        }
        for (table, labels) in std::mem::take(&mut self.tables) {
            let targets: Vec<u32> = labels.iter().filter_map(|it| self.labels.get(it).copied()).collect();
            self.program.tables[table as usize] = targets;
        }
        let start = self.routine.start as usize;
        let olds = std::mem::take(&mut self.olds);
        let mut code = self.program.code[start..].iter();
        self.program.shows_order |=
            code.any(|ins| allocate::read(ins).iter().any(|slot| olds.contains(slot)));
        let taken = std::mem::take(&mut self.taken);
        self.program.array_of.resize(self.program.code.len(), None);
        for (at, array) in arrays::accessed(&self.program.code, self.routine.start, &taken) {
            self.program.array_of[at as usize] = Some(array);
        }
        self.routine.base = self.program.sizes;
        self.routine.sizes = allocate::allocate(
            &mut self.program.code[start..],
            self.routine.start,
            &self.program.tables,
            self.counts,
            self.program.sizes,
        );
        self.program.sizes.words += self.routine.sizes.words;
        self.program.sizes.wides += self.routine.sizes.wides;
        self.program.sizes.preds += self.routine.sizes.preds;
        self.program.functions[self.number as usize] = std::mem::take(&mut self.routine);
    }

    /// The line that called the toolkit's functions, if a line is of one of these: it says more.
    fn own_line(&self, line: (u32, u32)) -> (u32, u32) {
        let is_toolkit = |file| self.module.files.get(&file).is_some_and(|it| is_toolkit(it));
        let mut shown = line;
        // The toolkit's functions call each other.
        for _ in 0..16 {
            match self.callers.get(&shown).filter(|_| is_toolkit(shown.0)) {
                Some(caller) => shown = *caller,
                None => return shown,
            }
        }
        line
    }

    fn statement(&mut self, f: &Function, statement: &Statement) {
        match statement {
            Statement::Label(name) => {
                let here = self.here();
                self.labels.insert(name.clone(), here);
            }
            Statement::Location { file, line, caller } => {
                let here = self.here();
                if let Some(caller) = caller {
                    self.callers.insert((*file, *line), *caller);
                }
                let is_cub = |it: &str| it.contains("/cub/") && is_toolkit(it);
                let of_cub = self.module.files.get(file).is_some_and(|it| is_cub(it));
                self.program.of_cub.push((here, of_cub));
                let (file, line) = self.own_line((*file, *line));
                self.program.locations.push((here, file, line));
            }
            Statement::Register(name, ty) => {
                let class = Class::of(*ty);
                let slot = self.register(class);
                self.declare(name.clone(), Symbol::Register(class, slot));
            }
            Statement::Variable(v) => {
                let (at, size) = reserve(&mut self.routine.frame, v);
                self.declare(v.name.clone(), Symbol::Frame(at, size));
            }
            Statement::BranchTargets(name, list) | Statement::CallTargets(name, list) => {
                self.declare(name.clone(), Symbol::Targets(list.clone()));
            }
            Statement::CallPrototype(name, prototype) => {
                self.declare(name.clone(), Symbol::Prototype(prototype.clone()));
            }
            Statement::Instruction(i) => {
                self.line = i.line;
                self.program.approximate |= i.has("approx");
                let before = self.program.code.len();
                if let Err(why) = self.guarded(f, i) {
                    self.program.code.truncate(before);
                    self.program.lines.truncate(before);
                    let op = self.unsupported(format!("{}: {why}", i.form()));
                    self.emit(op, &[]);
                }
            }
        }
    }

    fn guarded(&mut self, f: &Function, i: &Instruction) -> Result<(), Failure> {
        self.guard = Predicate::ALWAYS;
        if let Some(guard) = &i.guard {
            match self.lookup(&guard.name) {
                Some(Symbol::Register(Class::Pred, slot)) => {
                    self.guard = Predicate { slot, negated: guard.negated };
                }
                _ => return Err(format!("{} is not a predicate", guard.name)),
            }
        }
        self.instruction(f, i)
    }

    fn instruction(&mut self, f: &Function, i: &Instruction) -> Result<(), Failure> {
        let ty = i.types().last();
        match &*i.opcode {
            "mov" => self.mov(i),
            "cvta" => self.cvta(i),
            "cvt" => self.cvt(i),
            "setp" | "set" => self.setp(i),
            "selp" | "slct" => self.select(i),
            "ld" | "ldu" => self.load(i),
            "st" | "red" if i.has("async") => self.counted(i),
            "st" => self.store(i),
            "atom" | "red" => self.atomic(i),
            "tensormap" => self.tensor_map(i),
            "and" | "or" | "xor" | "not" | "cnot" | "shl" | "shr" | "shf" | "bfe" | "bfi" | "brev"
            | "popc" | "clz" | "bfind" | "prmt" | "lop3" | "fns" | "bmsk" | "szext" => self.logic(i),
            "add" | "min" | "max" if i.has("s16x2") || i.has("u16x2") => self.integer_pair(i),
            "add" | "sub" | "mul" | "mad" | "fma" | "div" | "min" | "max" | "abs" | "neg" | "rcp"
            | "sqrt" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" | "copysign" | "testp"
                if ty.is_some_and(|t| t.is_float()) =>
            {
                self.float(i)
            }
            "add" | "sub" | "mul" | "mad" | "div" | "rem" | "min" | "max" | "abs" | "neg" | "sad"
            | "mul24" | "mad24" | "dp4a" | "dp2a" | "addc" | "subc" | "madc" => self.integer(i),
            "bra" | "brx" | "call" | "ret" | "exit" | "trap" | "brkpt" => self.control(f, i),
            "vadd" | "vsub" | "vabsdiff" | "vmin" | "vmax" | "vset" | "vshl" | "vshr" | "vmad" | "vadd2"
            | "vsub2" | "vabsdiff2" | "vmin2" | "vmax2" | "vavrg2" | "vset2" | "vadd4" | "vsub4"
            | "vabsdiff4" | "vmin4" | "vmax4" | "vavrg4" | "vset4" => self.video(i),
            "bar" | "barrier" | "shfl" | "vote" | "match" | "redux" | "activemask" | "elect" | "isspacep"
            | "mapa" | "getctarank" => self.warp(i),
            "membar" | "fence" => {
                // Fences between ways to reach the same memory, and for new barriers, order no blocks.
                self.program.shows_order |= !(i.has("async") || i.has("mbarrier_init"));
                let scope = memory::scope(i).unwrap_or(Scope::Device);
                self.emit(Op::Fence(scope, i.has("async") && !i.has("global")), &[]);
                Ok(())
            }
            // Whatever the cache keeps, memory has the same bytes.
            "createpolicy" => {
                let d = self.dst(integer::operand(i, 0)?, Type::B64)?;
                let none = self.wide(0);
                self.copy(d, none, Type::B64);
                Ok(())
            }
            "griddepcontrol" if i.has("wait") => {
                self.emit(Op::GridWait, &[]);
                Ok(())
            }
            "prefetch" | "prefetchu" | "discard" | "applypriority" | "griddepcontrol" | "setmaxnreg"
            | "pmevent" => {
                self.emit(Op::Nothing, &[]);
                Ok(())
            }
            "cp" if i.has("bulk") => self.bulk(i),
            "cp" => self.later(i),
            "mbarrier" => self.mbarrier(i),
            "ldmatrix" | "stmatrix" | "movmatrix" | "mma" | "wmma" => self.matrix(i),
            "wgmma" => {
                self.program.has_warpgroups = true;
                self.warpgroup(i)
            }
            "tex" | "tld4" => self.texture(i),
            "txq" | "suq" => {
                Err("this question, to which an H200 answers 0, is not known to the emulator".into())
            }
            "suld" | "sust" => self.surface(i),
            "alloca" | "stacksave" | "stackrestore" => self.stack_top(i),
            "nanosleep" => {
                self.emit(Op::Sleep, &[]);
                Ok(())
            }
            _ => Err("this instruction is not known to the emulator".into()),
        }
    }

    // Helpers that the families of instructions share.

    fn here(&self) -> u32 {
        u32::try_from(self.program.code.len()).unwrap_or(u32::MAX)
    }

    fn emit(&mut self, op: Op, slots: &[Slot]) {
        let mut s = [NONE; 5];
        for (place, slot) in s.iter_mut().zip(slots) {
            *place = *slot;
        }
        self.program.code.push(Ins { op, s, guard: self.guard });
        self.program.lines.push(self.line);
    }

    fn alu(&mut self, f: Alu, slots: &[Slot]) {
        self.emit(Op::Alu(f), slots);
    }

    fn unsupported(&mut self, why: String) -> Op {
        let number = u32::try_from(self.program.unsupported.len()).unwrap_or(u32::MAX);
        self.program.unsupported.push(why);
        Op::Unsupported(number)
    }

    fn register(&mut self, class: Class) -> Slot {
        let count = match class {
            Class::Word => &mut self.counts.words,
            Class::Wide => &mut self.counts.wides,
            Class::Pred => &mut self.counts.preds,
        };
        *count += 1;
        class.tag() | (*count - 1)
    }

    fn word(&mut self, value: u32) -> Slot {
        let list = &mut self.constants.words;
        *self.words.entry(value).or_insert_with(|| {
            list.push([value; LANES]);
            Class::Word.constant(list.len() - 1)
        })
    }

    fn wide(&mut self, value: u64) -> Slot {
        let list = &mut self.constants.wides;
        *self.wides.entry(value).or_insert_with(|| {
            list.push([value; LANES]);
            Class::Wide.constant(list.len() - 1)
        })
    }

    fn declare(&mut self, name: Name, symbol: Symbol) {
        self.own.insert(name, symbol);
    }

    fn lookup(&self, name: &str) -> Option<Symbol> {
        self.own.get(name).or_else(|| self.symbols.get(name)).cloned()
    }
}
