//! Writes the guarded form of a kernel.

use std::collections::{BTreeMap, BTreeSet};

use cuda_ptx::instruction::Effect;
use cuda_ptx::{
    Body, Constant, Declaration, Entity, Function, Instruction, Label, Linkage, Module, Name, Operand, Part,
    Register, Space, Special, Statement, Type, Variable,
};

use crate::access::{self, Access, Kind, accesses, register, written};
use crate::guarded::{Guarded, Limit, MOST_SHARED, Member, Region, Site, ZEROS};
use crate::multiple::low_zeros;
use crate::origin::{Origins, varying, weak_loads};
use crate::{Reason, Refusal};

/// The words of a load that a relaxed one cannot have.
const CACHE: [&str; 7] = ["weak", "ca", "cg", "cs", "lu", "cv", "nc"];

/// What an offset is compared with.
#[derive(Clone, Copy, Debug)]
enum Bound {
    Limit(usize),
    Constant(u64),
}

/// Accesses that share a check: their addresses are a register and constants, and no jump is between them.
#[derive(Debug)]
struct Group {
    register: usize,
    /// 32 or 64.
    width: u32,
    guard: Option<(usize, bool)>,
    writes: bool,
    regions: Vec<Region>,
    /// The largest span for which there is a replaced address.
    most: u64,
    low: i64,
    high: i64,
    members: Vec<(usize, Access)>,
    bounds: Vec<Bound>,
    /// Whether the kernel computes no other than aligned addresses.
    is_aligned: bool,
    written: Option<Written>,
}

/// The registers of a check that is written.
#[derive(Clone, Copy, Debug)]
struct Written {
    /// The address that accesses use: right, or replaced.
    selected: usize,
    /// Whether the accesses happen.
    happens: usize,
    /// Whether they should happen, and do not.
    fails: usize,
}

impl Group {
    fn align(&self) -> u64 {
        self.members.iter().map(|(_, it)| it.bytes).max().unwrap_or(1)
    }

    fn span(&self) -> u64 {
        self.high.abs_diff(self.low)
    }

    /// Adds an access if the check can cover it.
    fn add(&mut self, at: usize, it: &Access) -> bool {
        let Some(end) = i64::try_from(it.bytes).ok().and_then(|bytes| it.offset.checked_add(bytes)) else {
            return false;
        };
        let (low, high) = (self.low.min(it.offset), self.high.max(end));
        let is_aligned = |own: &Access| own.offset.abs_diff(low) % own.bytes == 0;
        let own = self.members.iter().map(|(_, own)| own);
        if high.abs_diff(low) > self.most || !own.chain([it]).all(is_aligned) {
            return false;
        }
        (self.low, self.high) = (low, high);
        self.members.push((at, *it));
        true
    }
}

/// Which accesses share checks, and what the checks compare with.
struct Plan<'m, 'a> {
    module: &'m Module<'a>,
    function: &'m Function<'a>,
    body: &'m Body<'a>,
    origins: Origins,
    groups: Vec<Group>,
    /// The group of an access, by statement and operand.
    of: BTreeMap<(usize, usize), usize>,
    limits: Vec<Limit>,
}

impl<'m, 'a> Plan<'m, 'a> {
    fn new(
        module: &'m Module<'a>,
        function: &'m Function<'a>,
        body: &'m Body<'a>,
        asked: &BTreeSet<usize>,
    ) -> Result<Self, Refusal> {
        let origins = Origins::new(module, body);
        let (groups, of, limits) = (Vec::new(), BTreeMap::new(), Vec::new());
        let mut this = Self { module, function, body, origins, groups, of, limits };
        if let Some(wrong) = asked.iter().find(|at| **at >= body.statements.len()) {
            let line = u32::try_from(*wrong).unwrap_or(u32::MAX);
            return Err(Refusal { line, reason: Reason::NotAnAccess });
        }
        let mut open: Vec<usize> = Vec::new();
        for (at, statement) in body.statements.iter().enumerate() {
            let Statement::Instruction(it) = statement else {
                match statement {
                    Statement::Label(_) => open.clear(),
                    _ if asked.contains(&at) => return Err(Refusal { line: 0, reason: Reason::NotAnAccess }),
                    _ => {}
                }
                continue;
            };
            if asked.contains(&at) {
                let refuse = |reason| Refusal { line: it.line, reason };
                for access in accesses(it, body).map_err(refuse)? {
                    this.place(at, it, &access, &mut open).map_err(refuse)?;
                }
            }
            if it.row().is_none_or(|row| matches!(row.effect, Effect::Jumps | Effect::Calls)) {
                open.clear();
            }
            let changed = written(it);
            open.retain(|group| {
                let group = &this.groups[*group];
                !changed.contains(&group.register)
                    && group.guard.is_none_or(|(guard, _)| !changed.contains(&guard))
            });
        }
        this.bounds();
        Ok(this)
    }

    fn variable(&self, region: &Region) -> Option<&'m Variable<'a>> {
        match region {
            Region::Argument { .. } => None,
            Region::Local(at) => Some(&self.body.variables[*at]),
            Region::Shared(at) => Some(&self.module.variables[*at]),
            Region::Parameter(at) => Some(&self.function.parameters[*at]),
        }
    }

    /// Returns the bytes of a variable, or `None` if they are known at the launch.
    fn bytes(&self, region: &Region) -> Option<u64> {
        self.variable(region).filter(|it| it.linkage != Linkage::Extern)?.bytes()
    }

    /// Returns whether a load of memory of so many bytes can be led there.
    fn has_room(&self, region: &Region, bytes: u64) -> bool {
        let is_aligned = |it: &Variable<'_>| it.space != Space::Param || u64::from(it.align()) >= bytes;
        self.bytes(region).is_none_or(|own| own >= bytes) && self.variable(region).is_none_or(is_aligned)
    }

    fn place(
        &mut self,
        at: usize,
        it: &Instruction<'_>,
        access: &Access,
        open: &mut Vec<usize>,
    ) -> Result<(), Reason> {
        let wanted = access.space.filter(|space| *space != Space::Global);
        if access.space.is_none() {
            let is_made = |it: &Statement<'_>| {
                matches!(it, Statement::Instruction(it) if it.opcode() == "cvta" && !it.has("to")
                && !it.has("global"))
            };
            if self.body.statements.iter().any(is_made) {
                return Err(Reason::Generic);
            }
        }
        let mut regions =
            self.origins.of(access.register, |region| self.variable(region).map(|it| it.space) == wanted);
        if regions.is_empty() {
            return Err(Reason::NoRegion);
        }
        regions.retain(|it| self.has_room(it, access.bytes));
        let most = |it: &Region| match it {
            Region::Argument { .. } => ZEROS,
            _ => self.bytes(it).unwrap_or(MOST_SHARED),
        };
        let most = regions.iter().map(most).min().ok_or(Reason::TooSmall)?;
        let writes = matches!(access.kind, Kind::Store | Kind::Exchange);
        let guard = it.guard.as_ref().and_then(|(name, is_not)| Some((register(name.entity)?, *is_not)));
        for group in open.iter() {
            let own = &mut self.groups[*group];
            let is_same = (own.register, own.guard, &own.regions) == (access.register, guard, &regions)
                // A lost address may be in an argument that is only read.
                && (regions.len() == 1 || own.writes == writes);
            if is_same && own.add(at, access) {
                own.writes |= writes;
                self.of.insert((at, access.operand), *group);
                return Ok(());
            }
        }
        let width = self.body.registers[access.register].ty.bits();
        let (low, members) = (access.offset, Vec::new());
        let (register, bounds, written) = (access.register, Vec::new(), None);
        let (high, is_aligned) = (low, false);
        let mut group = Group {
            register,
            width,
            guard,
            writes,
            regions,
            most,
            low,
            high,
            members,
            bounds,
            is_aligned,
            written,
        };
        if !group.add(at, access) {
            return Err(Reason::TooSmall);
        }
        self.of.insert((at, access.operand), self.groups.len());
        open.push(self.groups.len());
        self.groups.push(group);
        Ok(())
    }

    /// Finds the limits of all checks, and which need no check of the alignment.
    fn bounds(&mut self) {
        let mut zeros = BTreeMap::new();
        for at in 0..self.groups.len() {
            let group = &self.groups[at];
            let (span, align, writes) = (group.span(), group.align(), group.writes);
            let mut bounds = Vec::new();
            for region in &group.regions {
                if let Some(bytes) = self.bytes(region) {
                    bounds.push(Bound::Constant(bytes.saturating_sub(span) + 1));
                    continue;
                }
                let limit = Limit { region: *region, span, align, writes };
                let known = self.limits.iter().position(|own| *own == limit);
                bounds.push(Bound::Limit(known.unwrap_or(self.limits.len())));
                if known.is_none() {
                    self.limits.push(limit);
                }
            }
            if let [region] = group.regions[..] {
                let zeros = zeros.entry(region).or_insert_with(|| low_zeros(self.module, self.body, region));
                let is_multiple = |bits: u32| bits >= align.trailing_zeros();
                let is_aligned =
                    is_multiple(zeros[group.register]) && is_multiple(group.low.trailing_zeros());
                self.groups[at].is_aligned = is_aligned;
            }
            self.groups[at].bounds = bounds;
        }
    }

    fn sites(&self) -> Vec<Site> {
        let line_of = |at: usize| match &self.body.statements[at] {
            Statement::Instruction(it) => it.line,
            _ => 0,
        };
        let location_of = |at: usize| {
            let before = self.body.statements[..at].iter().rev();
            let mut places = before.filter_map(|it| match it {
                Statement::Location(it) => Some(*it),
                _ => None,
            });
            places.next().map(|it| it.inlined_at.map_or((it.file, it.line), |(file, line, _)| (file, line)))
        };
        let member = |group: &Group, (at, it): &(usize, Access)| Member {
            statement: *at,
            operand: it.operand,
            line: line_of(*at),
            location: location_of(*at),
            offset: it.offset.abs_diff(group.low),
            bytes: it.bytes,
        };
        let site = |group: &Group| Site {
            regions: group.regions.clone(),
            bytes: group.regions.first().and_then(|it| self.bytes(it)),
            span: group.span(),
            align: group.align(),
            members: group.members.iter().map(|it| member(group, it)).collect(),
        };
        self.groups.iter().map(site).collect()
    }
}

fn name<'a>(entity: Entity) -> Name<'a> {
    Name { text: "", entity, part: None }
}

fn reg<'a>(at: usize) -> Operand<'a> {
    Operand::Name(name(Entity::Register(at)))
}

fn number<'a>(value: impl Into<i128>) -> Operand<'a> {
    Operand::Constant(Constant::Integer(value.into()))
}

fn at<'a>(entity: Entity, offset: i64) -> Operand<'a> {
    Operand::Address(Some(name(entity)), offset)
}

fn part<'a>(special: Special, element: u8) -> Operand<'a> {
    let part = Some(Part::Element(element));
    Operand::Name(Name { text: "", entity: Entity::Special(special), part })
}

/// A word for 64 bits and one for 32.
type Form = [&'static str; 2];
const ADD: Form = ["add.s64", "add.s32"];
const SUB: Form = ["sub.u64", "sub.u32"];
const AND: Form = ["and.b64", "and.b32"];
const BELOW: Form = ["setp.lt.u64", "setp.lt.u32"];
const ALIGNED: Form = ["setp.eq.and.u64", "setp.eq.and.u32"];
const LOAD: Form = ["ld.param.u64", "ld.param.u32"];
const MOVE: Form = ["mov.u64", "mov.u32"];
const SELECT: Form = ["selp.b64", "selp.b32"];

/// Writes statements.
struct Writer<'m, 'a> {
    plan: Plan<'m, 'a>,
    body: Body<'a>,
    out: Vec<Statement<'a>>,
    /// The number of the first check that failed in this thread, from 1.
    failed: usize,
    /// Its offset from its memory, or the address if that was lost.
    offset: usize,
    /// The kernel's own parameters, in front of those of guards.
    parameters: usize,
    /// The variable that is read in place of dynamic shared memory.
    spare: Option<usize>,
    report: usize,
    /// Shared variables of the module that need another alignment.
    raised: Vec<(Region, u32)>,
}

impl<'a> Writer<'_, 'a> {
    fn new_register(&mut self, ty: Type) -> usize {
        let declaration = self.body.declarations.len();
        self.body.declarations.push(Declaration { name: "", ty, lanes: 1, count: None, line: 0 });
        self.body.registers.push(Register { name: "", declaration, ty, lanes: 1 });
        self.body.registers.len() - 1
    }

    fn emit(&mut self, guard: Option<(usize, bool)>, form: &'static str, operands: Vec<Operand<'a>>) {
        let guard = guard.map(|(at, is_not)| (name(Entity::Register(at)), is_not));
        let words = form.split('.').collect();
        self.out.push(Statement::Instruction(Instruction { guard, words, operands, line: 0 }));
    }

    /// Writes an instruction with a result of its own.
    fn value(
        &mut self,
        ty: Type,
        form: &'static str,
        operands: impl IntoIterator<Item = Operand<'a>>,
    ) -> usize {
        let to = self.new_register(ty);
        self.emit(None, form, std::iter::once(reg(to)).chain(operands).collect());
        to
    }

    /// Writes an instruction on addresses of 64 or 32 bits, whose result is such an address or a predicate.
    fn wide(&mut self, width: u32, form: Form, operands: impl IntoIterator<Item = Operand<'a>>) -> usize {
        let form = form[usize::from(width == 32)];
        let ty = match form.starts_with("setp") {
            true => Type::Pred,
            false if width == 32 => Type::B32,
            false => Type::B64,
        };
        self.value(ty, form, operands)
    }

    fn parameter(&self, at: usize) -> Entity {
        Entity::Parameter(self.parameters + at)
    }

    fn zeros(&self) -> Entity {
        self.parameter(self.plan.limits.len())
    }

    fn record(&self) -> Entity {
        self.parameter(self.plan.limits.len() + 1)
    }

    /// Combines a predicate with that of the access.
    fn and_own(&mut self, own: Option<(usize, bool)>, predicate: usize) -> usize {
        let Some((mut own, is_not)) = own else { return predicate };
        if is_not {
            own = self.value(Type::Pred, "not.pred", [reg(own)]);
        }
        self.value(Type::Pred, "and.pred", [reg(predicate), reg(own)])
    }

    /// Writes the check of a group, in front of its first access.
    fn check(&mut self, index: usize) -> Written {
        let group = &self.plan.groups[index];
        let (width, low, guard, align) = (group.width, group.low, group.guard, group.align());
        let needs_alignment = align > 1 && !group.is_aligned;
        let regions: Vec<_> = group.regions.iter().copied().zip(group.bounds.iter().copied()).collect();
        let mut address = group.register;
        if low != 0 {
            address = self.wide(width, ADD, [reg(address), number(low)]);
        }
        let (mut offset, mut all) = (None, None);
        for (region, bound) in &regions {
            let start = match (*region, region.entity()) {
                (Region::Argument { parameter, offset }, _) => {
                    self.wide(width, LOAD, [at(Entity::Parameter(parameter), offset)])
                }
                (_, entity) => {
                    let variable = entity.map(|it| Operand::Name(name(it)));
                    self.wide(width, MOVE, variable)
                }
            };
            let limit = match *bound {
                Bound::Limit(limit) => {
                    let limit = at(self.parameter(limit), 0);
                    reg(self.wide(width, LOAD, [limit]))
                }
                Bound::Constant(limit) => number(limit),
            };
            let own = self.wide(width, SUB, [reg(address), reg(start)]);
            let mut is_in = self.wide(width, BELOW, [reg(own), limit]);
            if needs_alignment {
                // Of an argument, the limit is 0 if it is not aligned itself.
                let low = if region.entity().is_some() { address } else { own };
                let low = self.wide(width, AND, [reg(low), number(align - 1)]);
                is_in = self.wide(width, ALIGNED, [reg(low), number(0), reg(is_in)]);
            }
            offset.get_or_insert(own);
            all = Some(match all {
                Some(before) => self.value(Type::Pred, "or.pred", [reg(before), reg(is_in)]),
                None => is_in,
            });
        }
        // A group has at least one region.
        let (all, mut offset) = (all.unwrap_or_default(), offset.unwrap_or_default());
        if regions.len() > 1 {
            offset = address;
        }
        let replaced = self.replaced(index);
        let selected = self.wide(width, SELECT, [reg(address), reg(replaced), reg(all)]);
        let happens = self.and_own(guard, all);
        let not = self.value(Type::Pred, "not.pred", [reg(all)]);
        let fails = self.and_own(guard, not);
        if width == 32 {
            offset = self.value(Type::B64, "cvt.s64.s32", [reg(offset)]);
        }
        let is_first = [reg(self.failed), number(0), reg(fails)];
        let is_first = self.value(Type::Pred, "setp.eq.and.u32", is_first);
        let (failed, kept) = (self.failed, self.offset);
        let site = u64::try_from(index).unwrap_or(u64::MAX) + 1;
        self.emit(Some((is_first, false)), "mov.u32", vec![reg(failed), number(site)]);
        self.emit(Some((is_first, false)), "mov.u64", vec![reg(kept), reg(offset)]);
        Written { selected, happens, fails }
    }

    /// Returns a register with the address that is read instead of a wrong one.
    fn replaced(&mut self, group: usize) -> usize {
        let group = &self.plan.groups[group];
        let (width, align) = (group.width, u32::try_from(group.align()).unwrap_or(u32::MAX));
        let first = group.regions[0];
        let is_dynamic = group.regions.iter().any(|it| self.plan.bytes(it).is_none());
        let Some(mut entity) = first.entity() else {
            let zeros = at(self.zeros(), 0);
            return self.wide(width, LOAD, [zeros]);
        };
        if is_dynamic {
            let next = self.body.variables.len();
            let spare = *self.spare.get_or_insert(next);
            if spare == next {
                self.body.variables.push(spare_variable());
            }
            entity = Entity::Local(spare);
        } else if self.plan.variable(&first).is_some_and(|it| it.align() < align) {
            // What is read instead has to be aligned.
            match first {
                Region::Local(at) => {
                    self.body.variables[at].stated_align = Some(align.max(self.body.variables[at].align()))
                }
                _ => self.raised.push((first, align)),
            }
        }
        self.wide(width, MOVE, [Operand::Name(name(entity))])
    }

    /// Writes an instruction of the kernel with what guards it.
    fn instruction(&mut self, index: usize, original: &Instruction<'a>, loads: &Loads) {
        let mut it = original.clone();
        if let Some(is_strong) = loads.changed(index, original) {
            it.words.retain(|word| if is_strong { !CACHE.contains(word) } else { *word != "nc" });
            it.words[0] = "ld";
            if is_strong {
                it.words.splice(1..1, ["relaxed", "cta"]);
            }
        }
        let mut cleared = None;
        for operand in 0..it.operands.len() {
            let Some(group) = self.plan.of.get(&(index, operand)).copied() else { continue };
            let written = match self.plan.groups[group].written {
                Some(written) => written,
                None => self.check(group),
            };
            self.plan.groups[group].written = Some(written);
            let group = &self.plan.groups[group];
            let Some((_, own)) =
                group.members.iter().find(|(at, own)| (*at, own.operand) == (index, operand))
            else {
                continue;
            };
            if own.kind == Kind::Load {
                let by = own.offset.wrapping_sub(group.low);
                it.operands[operand] = at(Entity::Register(written.selected), by);
            } else {
                it.guard = Some((name(Entity::Register(written.happens)), false));
            }
            if own.kind == Kind::Exchange {
                cleared = Some(written.fails);
            }
        }
        if it.row().is_some_and(|row| row.effect == Effect::Jumps) && matches!(it.opcode(), "ret" | "exit") {
            self.leave(original);
        }
        self.out.push(Statement::Instruction(it));
        // The result of an atomic operation that does not happen.
        for to in cleared.iter().flat_map(|_| written(original)) {
            self.zero(cleared, to, None);
        }
    }

    /// Writes the jump to the report, in front of the end of a thread.
    fn leave(&mut self, it: &Instruction<'_>) {
        let own = it.guard.as_ref().and_then(|(name, is_not)| Some((register(name.entity)?, *is_not)));
        let has_failed = self.value(Type::Pred, "setp.ne.u32", [reg(self.failed), number(0)]);
        let leaves = self.and_own(own, has_failed);
        let label = Operand::Name(name(Entity::Label(self.report)));
        self.emit(Some((leaves, false)), "bra", vec![label]);
    }

    /// Sets a register to zero.
    fn zero(&mut self, guard: Option<usize>, to: usize, wide: Option<usize>) {
        let guard = guard.map(|it| (it, false));
        let (form, value) = match (self.body.registers[to].ty, wide) {
            (Type::Pred, _) => ("mov.pred", number(0)),
            (ty, Some(zero)) if ty.bits() == 128 => ("mov.b128", Operand::Vector(vec![reg(zero), reg(zero)])),
            (ty, _) if ty.bits() == 64 => ("mov.b64", number(0)),
            (ty, _) if ty.bits() == 32 => ("mov.b32", number(0)),
            _ => ("mov.b16", number(0)),
        };
        self.emit(guard, form, vec![reg(to), value]);
    }

    /// Writes the start: each register, and each byte of the stack, that may be read before it is written.
    fn enter(&mut self, own: usize) -> Result<(), Reason> {
        let (failed, offset) = (self.failed, self.offset);
        self.zero(None, failed, None);
        self.zero(None, offset, None);
        let registers = &self.body.registers[..own];
        if registers.iter().any(|it| it.lanes > 1 || it.ty.bits() == 8) {
            return Err(Reason::Register);
        }
        let is_long = registers.iter().any(|it| it.ty.bits() == 128);
        let zero = is_long.then(|| self.value(Type::B64, "mov.b64", [number(0)]));
        (0..own).for_each(|at| self.zero(None, at, zero));
        let stack = self.body.variables.iter().enumerate().filter(|(_, it)| it.space == Space::Local);
        let stack: Vec<_> = stack.map(|(at, it)| (at, it.bytes(), i64::from(it.align()))).collect();
        let total = stack.iter().try_fold(0_u64, |sum, (_, bytes, _)| sum.checked_add((*bytes)?));
        if total.is_none_or(|total| total > ZEROS) {
            return Err(Reason::Stack);
        }
        for (variable, bytes, align) in stack {
            let bytes = bytes.and_then(|it| i64::try_from(it).ok()).ok_or(Reason::Stack)?;
            let mut offset = 0;
            while offset < bytes {
                let fits = |step: i64| step <= align && offset + step <= bytes;
                let steps = [(8, "st.local.b64"), (4, "st.local.b32")].into_iter().find(|it| fits(it.0));
                let (step, form) = steps.unwrap_or((1, "st.local.b8"));
                self.emit(None, form, vec![at(Entity::Local(variable), offset), number(0)]);
                offset += step;
            }
        }
        Ok(())
    }

    /// Writes the end: the first thread of the launch that failed fills in the record.
    fn report(&mut self) {
        let is_left = |it: &Statement<'_>| {
            matches!(it, Statement::Instruction(it)
                if it.guard.is_none() && matches!(it.opcode(), "ret" | "exit" | "bra" | "brx" | "trap"))
        };
        if !self.out.last().is_some_and(is_left) {
            let end = Instruction { guard: None, words: vec!["ret"], operands: Vec::new(), line: 0 };
            self.leave(&end);
            self.out.push(Statement::Instruction(end));
        }
        self.out.push(Statement::Label(self.report));
        let record = at(self.record(), 0);
        let record = Entity::Register(self.value(Type::B64, "ld.param.u64", [record]));
        let taken = self.value(Type::B32, "atom.global.exch.b32", [at(record, 0), number(1)]);
        let is_taken = self.value(Type::Pred, "setp.ne.u32", [reg(taken), number(0)]);
        self.emit(Some((is_taken, false)), "ret", Vec::new());
        let (failed, offset) = (self.failed, self.offset);
        self.emit(None, "st.global.u32", vec![at(record, 4), reg(failed)]);
        self.emit(None, "st.global.u64", vec![at(record, 8), reg(offset)]);
        for (special, start) in [(Special::Ctaid, 16), (Special::Tid, 28)] {
            for (element, place) in [(0, start), (1, start + 4), (2, start + 8)] {
                let value = self.value(Type::B32, "mov.u32", [part(special, element)]);
                self.emit(None, "st.global.u32", vec![at(record, place), reg(value)]);
            }
        }
        self.emit(None, "ret", Vec::new());
    }
}

fn spare_variable<'a>() -> Variable<'a> {
    Variable {
        name: "",
        linkage: Linkage::Own,
        attributes: Vec::new(),
        space: Space::Shared,
        stated_align: Some(16),
        ty: Type::B8,
        lanes: 1,
        sizes: vec![Some(MOST_SHARED)],
        pointee: None,
        initial: None,
        line: 0,
    }
}

/// Loads of memory that may be written meanwhile: they are written in another form.
struct Loads {
    strong: BTreeSet<usize>,
    varying: BTreeSet<usize>,
}

impl Loads {
    /// Returns whether a load that becomes another one becomes a strong one.
    fn changed(&self, index: usize, it: &Instruction<'_>) -> Option<bool> {
        let is_strong = self.strong.contains(&index);
        let is_cached = it.opcode() == "ldu" || it.opcode() == "ld" && it.has("nc");
        (is_strong || self.varying.contains(&index) && is_cached).then_some(is_strong)
    }
}

/// Returns the parameter of a guard.
fn parameter<'a>() -> Variable<'a> {
    Variable { space: Space::Param, stated_align: None, ty: Type::U64, sizes: Vec::new(), ..spare_variable() }
}

/// Checks that the parameters are not too large.
fn check_parameters(module: &Module<'_>, parameters: &[Variable<'_>]) -> Result<(), Reason> {
    let most = if module.version < Some((8, 1)) { 4352 } else { 32_764 };
    let end = parameters.iter().try_fold(0_u64, |end, it| {
        end.checked_next_multiple_of(u64::from(it.align()).max(1))?.checked_add(it.bytes()?)
    });
    if end.is_some_and(|end| end <= most) { Ok(()) } else { Err(Reason::Parameters) }
}

/// Writes a kernel's text again, with guards on the accesses of some of its statements: indices in
/// [`Body::statements`].
///
/// # Errors
/// The kernel has no guarded form.
pub fn guard(module: &Module<'_>, kernel: &str, asked: &BTreeSet<usize>) -> Result<Guarded, Refusal> {
    let missing = Refusal { line: 0, reason: Reason::Missing };
    let is_it = |it: &Function<'_>| it.is_entry && it.name == kernel && it.body.is_some();
    let index = module.functions.iter().position(is_it).ok_or(missing.clone())?;
    let function = &module.functions[index];
    let body = function.body.as_ref().ok_or(missing)?;
    access::check(module, function)?;
    let plan = Plan::new(module, function, body, asked)?;
    let guarded = |at, operand| Some(plan.groups[*plan.of.get(&(at, operand))?].regions.clone());
    let varying = varying(body, &plan.origins, guarded);
    let strong = weak_loads(body, plan.groups.iter().map(|it| it.register), &varying)?;
    let loads = Loads { strong, varying };
    let whole = |reason| Refusal { line: function.line, reason };
    let (sites, limits, parameters) = (plan.sites(), plan.limits.clone(), function.parameters.len());

    let mut new = body.clone();
    let (own, report) = (new.registers.len(), new.labels.len());
    let own_declarations = new.declarations.len();
    new.labels.push(Label { name: "", statement: 0 });
    let mut writer = Writer {
        plan,
        body: new,
        out: Vec::new(),
        failed: 0,
        offset: 0,
        parameters,
        spare: None,
        report,
        raised: Vec::new(),
    };
    writer.failed = writer.new_register(Type::B32);
    writer.offset = writer.new_register(Type::B64);
    writer.enter(own).map_err(whole)?;
    for (index, statement) in body.statements.iter().enumerate() {
        match statement {
            Statement::Registers(_) | Statement::Variable(_) => {}
            Statement::Instruction(it) => writer.instruction(index, it, &loads),
            other => writer.out.push(other.clone()),
        }
    }
    writer.report();
    let Writer { body: mut new, out, raised, .. } = writer;
    // All names are unique when they are printed, so that declarations may come first.
    let is_declared = |it: &&Statement<'_>| matches!(it, Statement::Registers(_) | Statement::Variable(_));
    new.statements = body.statements.iter().filter(is_declared).cloned().collect();
    new.statements.extend((own_declarations..new.declarations.len()).map(Statement::Registers));
    new.statements.extend((body.variables.len()..new.variables.len()).map(Statement::Variable));
    new.statements.extend(out);

    let mut guarded = module.clone();
    let function = &mut guarded.functions[index];
    function.body = Some(new);
    function.parameters.extend((0..limits.len() + 2).map(|_| parameter()));
    check_parameters(module, &function.parameters).map_err(whole)?;
    for (region, align) in raised {
        if let Region::Shared(at) = region {
            let variable = &mut guarded.variables[at];
            variable.stated_align = Some(variable.align().max(align));
        }
    }
    let text = guarded.print();
    Ok(Guarded { text, kernel: kernel.to_owned(), limits, sites })
}
