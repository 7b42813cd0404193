//! Reads a guarded form back and checks it against the original. Shares nothing with what wrote it but the
//! reader of PTX.
//!
//! Registers that the original does not have are followed as terms: `sub.u64(r3.2,[p0+0])` is the difference
//! of the second value of register 3 and the first parameter. Terms are forgotten at labels and jumps. An
//! access is guarded if its address or predicate is, to the letter, the term that its check must be.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use cuda_ptx::instruction::Effect;
use cuda_ptx::{
    Body, Constant, Entity, Function, Instruction, Linkage, Module, Name, Operand, Part, Space, Statement,
    Type, Variable, parse,
};

use crate::{Guarded, Region, Site, ZEROS};

mod values;

use values::{accesses, effect, factors, registers, strong, varying};

/// What is wrong with a guarded form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line of the guarded text, 0 if it is about the whole text.
    pub line: u32,
    /// What is wrong.
    pub message: String,
}

impl core::fmt::Display for Fault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "line {} of the guarded form: {}", self.line, self.message)
    }
}

impl core::error::Error for Fault {}

/// Words of a load that do not change what it loads.
const HINTS: [&str; 9] = ["relaxed", "cta", "weak", "ca", "cg", "cs", "lu", "cv", "nc"];
/// Instructions of guards: each has a result, and changes nothing else.
const PURE: &str = "add.s64 add.s32 sub.u64 sub.u32 and.b64 and.b32 setp.lt.u64 setp.lt.u32 setp.eq.and.u64 \
    setp.eq.and.u32 setp.ne.u32 ld.param.u64 ld.param.u32 mov.u64 mov.u32 mov.b64 mov.b32 selp.b64 selp.b32 \
    or.pred and.pred not.pred cvt.s64.s32";

type Checked<T = ()> = Result<T, Fault>;

fn fault<T>(line: u32, message: impl Into<String>) -> Checked<T> {
    Err(Fault { line, message: message.into() })
}

/// The terms of a check.
#[derive(Debug, Default)]
struct Check {
    /// The predicate of a right address.
    all: String,
    /// What is noted if it is wrong.
    offset: String,
    /// The addresses that may be read then.
    replaced: Vec<String>,
}

/// The state of a comparison of two bodies.
struct Walk<'m> {
    guarded: &'m Guarded,
    original: (&'m Function<'m>, &'m Body<'m>, &'m Module<'m>),
    written: (&'m Body<'m>, &'m Module<'m>),
    asked: &'m BTreeSet<usize>,
    /// The number of each original register in the written text.
    ranks: Vec<usize>,
    /// How often each was written.
    versions: Vec<u32>,
    terms: HashMap<usize, String>,
    defined: HashSet<usize>,
    /// The sites that note their failures in this block: the predicate of that, and the last one written.
    noted: HashMap<usize, String>,
    last: usize,
    /// The sites whose accesses were found in this block.
    used: HashSet<usize>,
    /// Loads of memory that may be written meanwhile, and those that may not be repeated.
    varying: HashSet<usize>,
    strong: HashSet<usize>,
    /// The term of a jump to the report that is the statement before.
    leaves: Option<String>,
    /// The results that the next statements set to zero, and when.
    clears: VecDeque<(usize, String)>,
    line: u32,
}

impl<'m> Walk<'m> {
    fn wrong<T>(&self, message: impl Into<String>) -> Checked<T> {
        fault(self.line, message)
    }

    /// The number of the register with the failed check: the first one that the original does not have.
    fn failed(&self) -> usize {
        self.ranks.len()
    }

    fn name(&self, name: &Name<'_>) -> Checked<String> {
        let part = name.part.map_or(String::new(), |it: Part<'_>| it.to_string());
        Ok(match name.entity {
            Entity::Register(at) if at < self.failed() => format!("r{at}.{}{part}", self.versions[at]),
            Entity::Register(at) if at == self.failed() => "failed".to_owned(),
            Entity::Register(at) if at == self.failed() + 1 => "kept".to_owned(),
            Entity::Register(at) => match self.terms.get(&at) {
                Some(term) => term.clone(),
                None => return self.wrong("a register of a guard is read, and not written in this block"),
            },
            Entity::Undeclared => name.text.to_owned(),
            entity => format!("{entity:?}{part}"),
        })
    }

    fn term(&self, operand: &Operand<'_>) -> Checked<String> {
        Ok(match operand {
            Operand::Name(name) => self.name(name)?,
            Operand::Constant(Constant::Integer(value)) => value.to_string(),
            Operand::Address(Some(name), by) => format!("[{}+{by}]", self.name(name)?),
            Operand::Vector(list) => {
                let list: Checked<Vec<_>> = list.iter().map(|it| self.term(it)).collect();
                format!("{{{}}}", list?.join(","))
            }
            _ => return self.wrong("a guard has an operand of another form"),
        })
    }

    fn terms(&self, operands: &[Operand<'_>]) -> Checked<String> {
        let list: Checked<Vec<_>> = operands.iter().map(|it| self.term(it)).collect();
        Ok(list?.join(","))
    }

    fn predicate(&self, guard: Option<&(Name<'_>, bool)>) -> Checked<Option<String>> {
        let Some((name, is_not)) = guard else { return Ok(None) };
        let term = self.name(name)?;
        Ok(Some(if *is_not { format!("not.pred({term})") } else { term }))
    }

    fn with_own(own: Option<&String>, term: &str) -> String {
        own.map_or(term.to_owned(), |own| format!("and.pred({term},{own})"))
    }

    /// Returns the variable of a region, as the written text has it.
    fn variable(&self, entity: Entity) -> Option<&'m Variable<'m>> {
        match entity {
            Entity::Local(at) => self.written.0.variables.get(at),
            Entity::Variable(at) => self.written.1.variables.get(at),
            Entity::Parameter(at) => self.original.0.parameters.get(at),
            _ => None,
        }
    }

    fn parameter(&self, at: usize) -> String {
        format!("[{:?}+0]", Entity::Parameter(self.original.0.parameters.len() + at))
    }

    /// Returns the terms of the check of a site for an address.
    fn check(
        &self,
        site: &Site,
        bits: u32,
        address: &str,
        space: Option<Space>,
        (writes, is_aligned): (bool, bool),
    ) -> Checked<Check> {
        let mut this = Check::default();
        for region in &site.regions {
            let entity = region.entity();
            let variable = entity.and_then(|it| self.variable(it));
            let (is_right, start) = match (variable, *region) {
                (Some(it), _) => {
                    (Some(it.space) == space, format!("mov.u{bits}({:?})", entity.unwrap_or(Entity::Sink)))
                }
                (None, Region::Argument { parameter, offset }) => (
                    matches!(space, None | Some(Space::Global))
                        && parameter < self.original.0.parameters.len(),
                    format!("ld.param.u{bits}([{:?}+{offset}])", Entity::Parameter(parameter)),
                ),
                _ => (false, String::new()),
            };
            if !is_right {
                return self.wrong(format!("{region:?} is not memory of the space of the access"));
            }
            let known = variable.filter(|it| it.linkage != Linkage::Extern).and_then(Variable::bytes);
            let limit = match known {
                Some(bytes) if bytes >= site.span => (bytes - site.span + 1).to_string(),
                Some(_) => return self.wrong("a span is larger than its variable"),
                None => {
                    let is_it = |own: &crate::Limit| {
                        (own.region, own.span, own.align, own.writes)
                            == (*region, site.span, site.align, writes)
                    };
                    match self.guarded.limits.iter().position(is_it) {
                        Some(at) => format!("ld.param.u{bits}({})", self.parameter(at)),
                        None => return self.wrong("a check has no limit for its span and alignment"),
                    }
                }
            };
            let offset = format!("sub.u{bits}({address},{start})");
            let mut term = format!("setp.lt.u{bits}({offset},{limit})");
            if site.align > 1 && !is_aligned {
                let low = if entity.is_some() { address } else { &offset };
                term = format!("setp.eq.and.u{bits}(and.b{bits}({low},{}),0,{term})", site.align - 1);
            }
            this.all = if this.all.is_empty() { term } else { format!("or.pred({},{term})", this.all) };
            // A lost base: the address itself is noted.
            this.offset = if site.regions.len() == 1 { offset } else { address.to_owned() };
            if known.is_some() && variable.is_some_and(|it| u64::from(it.align()) >= site.align) {
                this.replaced.push(start);
            }
        }
        if matches!(site.regions.first(), Some(Region::Argument { .. })) && site.span <= ZEROS {
            this.replaced = vec![format!("ld.param.u64({})", self.parameter(self.guarded.limits.len()))];
        }
        let spare = self.written.0.variables.iter().enumerate().skip(self.original.1.variables.len());
        for (at, it) in spare.filter(|_| space == Some(Space::Shared)) {
            if it.bytes() >= Some(site.span) && u64::from(it.align()) >= site.align {
                this.replaced.push(format!("mov.u{bits}({:?})", Entity::Local(at)));
            }
        }
        if bits == 32 {
            this.offset = format!("cvt.s64.s32({})", this.offset);
        }
        if this.all.is_empty() { self.wrong("a check has no memory") } else { Ok(this) }
    }

    /// Returns whether a name of the written text stands for what one of the original does.
    fn same_name(&self, old: &Name<'_>, new: &Name<'_>) -> bool {
        let is_same = match old.entity {
            Entity::Register(at) => new.entity == Entity::Register(self.ranks[at]),
            Entity::Undeclared => new.entity == old.entity && new.text == old.text,
            entity => new.entity == entity,
        };
        is_same && old.part == new.part
    }

    fn same_operand(&self, old: &Operand<'_>, new: &Operand<'_>) -> bool {
        use Operand as O;
        match (old, new) {
            (O::Name(a), O::Name(b)) => self.same_name(a, b),
            (O::Offset(a, x), O::Offset(b, y)) | (O::Address(Some(a), x), O::Address(Some(b), y)) => {
                x == y && self.same_name(a, b)
            }
            (O::Address(None, x), O::Address(None, y)) => x == y,
            (O::Constant(a), O::Constant(b)) => a == b,
            (O::Bracketed(a), O::Bracketed(b))
            | (O::Vector(a), O::Vector(b))
            | (O::Arguments(a), O::Arguments(b)) => self.same_operands(a, b),
            (O::Not(a), O::Not(b)) => self.same_operand(a, b),
            (O::Pair(a), O::Pair(b)) => self.same_operands(&a[..], &b[..]),
            _ => false,
        }
    }

    fn same_operands(&self, old: &[Operand<'_>], new: &[Operand<'_>]) -> bool {
        old.len() == new.len() && old.iter().zip(new).all(|(old, new)| self.same_operand(old, new))
    }

    /// Compares an instruction with the original one, whose index is given.
    fn same(
        &mut self,
        index: usize,
        old: &Instruction<'_>,
        new: &Instruction<'_>,
    ) -> Checked<Option<String>> {
        let is_load = matches!(old.words[0], "ld" | "ldu");
        let plain = |it: &Instruction<'_>| {
            let words = it.words.iter().filter(|word| !is_load || !HINTS.contains(word));
            words.map(|word| if *word == "ldu" { "ld" } else { word }).collect::<Vec<_>>().join(".")
        };
        let is_strong =
            |it: &Instruction<'_>| ["relaxed", "volatile", "acquire", "mmio"].iter().any(|word| it.has(word));
        let is_weaker = new.has("nc") && !old.has("nc") || is_strong(old) && old.words != new.words;
        if plain(old) != plain(new) || is_weaker {
            return self.wrong(format!("{} has become {}", old.form(), new.form()));
        }
        if self.strong.contains(&index) && !is_strong(new) {
            return self.wrong(format!("an address depends on {}, which may be repeated", new.form()));
        }
        if self.varying.contains(&index) && (new.has("nc") || new.words[0] == "ldu") {
            return self.wrong(format!("{} reads memory that may be written", new.form()));
        }
        let mut clears = None;
        let mut guarded_by = None;
        let found = if self.asked.contains(&index) { accesses(old) } else { Vec::new() };
        for (at, bytes, kind) in &found {
            let (happens, fails) = self.guarded_access(index, old, new, (*at, *bytes, *kind))?;
            if *kind != 'l' {
                guarded_by = Some(happens);
            }
            if *kind == 'x' {
                clears = Some(fails);
            }
        }
        if old.operands.len() != new.operands.len() {
            return self.wrong(format!("{} has other operands", new.form()));
        }
        for (at, (old, new)) in old.operands.iter().zip(&new.operands).enumerate() {
            let is_replaced = found.iter().any(|it| (it.0, it.2) == (at, 'l'));
            if !is_replaced && !self.same_operand(old, new) {
                return self.wrong(format!("operand {at} is {new:?} and was {old:?}"));
            }
        }
        let has_own = match (&old.guard, &new.guard) {
            (Some((old, is_not)), Some((new, is_now))) => is_not == is_now && self.same_name(old, new),
            (old, new) => old.is_none() && new.is_none(),
        };
        if guarded_by.is_none() && !has_own {
            return self.wrong(format!("the predicate of {} has changed", new.form()));
        }
        if let Some(happens) = guarded_by
            && self.predicate(new.guard.as_ref())? != Some(happens.clone())
        {
            return self.wrong(format!("{} does not have the predicate of its check", new.form()));
        }
        Ok(clears)
    }

    /// Checks one access, and returns the terms of whether it happens, and of whether it fails.
    fn guarded_access(
        &mut self,
        index: usize,
        old: &Instruction<'_>,
        new: &Instruction<'_>,
        (operand, bytes, kind): (usize, u64, char),
    ) -> Checked<(String, String)> {
        let is_it =
            |site: &Site| site.members.iter().position(|it| (it.statement, it.operand) == (index, operand));
        let mut sites = self.guarded.sites.iter().enumerate();
        let Some((number, site, member)) = sites.find_map(|(at, it)| Some((at, it, is_it(it)?))) else {
            return self.wrong(format!("{} has no guard", new.form()));
        };
        let member = &site.members[member];
        let is_within = member.offset.checked_add(bytes).is_some_and(|end| end <= site.span);
        if !is_within || member.bytes != bytes || member.offset % bytes != 0 || site.align % bytes != 0 {
            return self.wrong(format!("the check of {} is not for its bytes", new.form()));
        }
        let Operand::Address(Some(name), by) = &old.operands[operand] else {
            return self.wrong("an address has another form");
        };
        let Entity::Register(register) = name.entity else { return self.wrong("an address is no register") };
        let bits = self.original.1.registers[register].ty.bits();
        let low = i128::from(*by) - i128::from(member.offset);
        let rank = self.ranks[register];
        let mut address = format!("r{rank}.{}", self.versions[rank]);
        if low != 0 {
            address = format!("add.s{bits}({address},{low})");
        }
        let spaces = [Space::Global, Space::Shared, Space::Local, Space::Param];
        let mut space = spaces.into_iter().find(|space| old.has(space.word()));
        if old.words[0] == "cp" {
            space = Some(if operand == 0 { Space::Shared } else { Space::Global });
        }
        let writes = site.members.iter().any(|it| match &self.original.1.statements[it.statement] {
            Statement::Instruction(own) => {
                accesses(own).iter().any(|a| a.0 == it.operand && "sx".contains(a.2))
            }
            _ => false,
        });
        let factor = match site.regions[..] {
            [region] => factors(self.original.2, self.original.1, region)[register],
            _ => 1,
        };
        let is_multiple = |of: i128| of.checked_rem(site.align.into()) == Some(0);
        let is_always = is_multiple(i128::from(factor)) && is_multiple(low);
        let own = match &old.guard {
            Some((Name { entity: Entity::Register(at), .. }, is_not)) => {
                let (rank, not) = (self.ranks[*at], *is_not);
                let term = format!("r{rank}.{}", self.versions[rank]);
                Some(if not { format!("not.pred({term})") } else { term })
            }
            _ => None,
        };
        self.used.insert(number);
        let noted = self.noted.get(&number);
        // An address that is always aligned needs no check of that.
        let mut found = None;
        for is_aligned in [false, true].into_iter().take(1 + usize::from(is_always)) {
            let check = self.check(site, bits, &address, space, (writes, is_aligned))?;
            let fails = Self::with_own(own.as_ref(), &format!("not.pred({})", check.all));
            if noted == Some(&format!("{fails};{}", check.offset)) {
                found = Some((check, fails));
            }
        }
        let Some((check, fails)) = found else {
            return self.wrong(format!("the failure of {} is not noted, or not by its check", new.form()));
        };
        let happens = Self::with_own(own.as_ref(), &check.all);
        if kind == 'l' {
            let found = self.term(&new.operands[operand])?;
            let by = member.offset;
            let right = |to: &String| format!("[selp.b{bits}({address},{to},{})+{by}]", check.all);
            if !check.replaced.iter().any(|it| right(it) == found) {
                return self.wrong(format!("the address of {} does not come from its check", new.form()));
            }
        }
        Ok((happens, fails))
    }

    /// Follows an instruction of a guard. Returns whether it is one.
    fn guards(&mut self, it: &Instruction<'_>) -> Checked<bool> {
        let Some(Operand::Name(Name { entity: Entity::Register(to), part: None, .. })) = it.operands.first()
        else {
            return Ok(false);
        };
        let (to, failed) = (*to, self.failed());
        if to < failed || !PURE.split(' ').any(|own| own == it.form()) {
            return Ok(false);
        }
        let term = self.terms(&it.operands[1..])?;
        if to > failed + 1 {
            let is_first = self.defined.insert(to);
            if it.guard.is_some() || !is_first {
                return self.wrong("a register of a guard is written twice or under a predicate");
            }
            let is_move = it.words[0] == "mov" && term.parse::<i128>().is_ok();
            self.terms.insert(to, if is_move { term } else { format!("{}({term})", it.form()) });
            return Ok(true);
        }
        let guard = self.predicate(it.guard.as_ref())?.unwrap_or_default();
        let inner = guard.strip_prefix("setp.eq.and.u32(failed,0,").and_then(|it| it.strip_suffix(')'));
        let Some(fails) = inner else { return self.wrong("a failure is noted where another one was") };
        match (to == failed, it.form().as_str(), term.parse::<usize>()) {
            (true, "mov.u32", Ok(number)) if number > 0 => {
                self.last = number - 1;
                if self.noted.insert(self.last, fails.to_owned()).is_some() {
                    return self.wrong("a failure is noted twice");
                }
            }
            (false, "mov.u64", _) => {
                // Behind its number.
                match self.noted.get_mut(&self.last) {
                    Some(noted) if noted == fails => *noted += &format!(";{term}"),
                    _ => return self.wrong("an offset is noted without its check"),
                }
            }
            _ => return self.wrong("a failure is noted in another form"),
        }
        Ok(true)
    }
}

impl Walk<'_> {
    /// Ends a block: terms hold up to here. Each failure that may be noted has to be that of an access.
    fn forget(&mut self) -> Checked {
        if let Some(number) = self.noted.keys().find(|number| !self.used.contains(number)) {
            return self.wrong(format!("a failure of check {} is noted without its access", number + 1));
        }
        self.terms.clear();
        self.noted.clear();
        self.used.clear();
        Ok(())
    }

    /// Follows the start: all registers and the stack become zero. Returns how many statements that are.
    fn start(&mut self, list: &[&Statement<'_>]) -> Checked<usize> {
        let own = self.failed() + 2;
        let mut open: BTreeSet<(Option<usize>, u64)> =
            (0..own).filter_map(|at| Some((None, u64::try_from(at).ok()?))).collect();
        for (at, it) in self.original.1.variables.iter().enumerate() {
            if it.space == Space::Local {
                open.extend((0..it.bytes().unwrap_or(u64::MAX).min(ZEROS + 1)).map(|byte| (Some(at), byte)));
            }
        }
        for (count, statement) in list.iter().enumerate() {
            if open.is_empty() {
                return Ok(count);
            }
            let Statement::Instruction(it) = statement else { break };
            self.line = it.line;
            let form = it.form();
            let value = it.operands.get(1).map(|value| self.term(value)).transpose()?;
            let is_zero = matches!(value.as_deref(), Some("0" | "{0,0}")) && it.guard.is_none();
            match it.operands.first() {
                Some(Operand::Name(Name { entity: Entity::Register(to), part: None, .. })) if is_zero => {
                    let is_whole = form.starts_with("mov.");
                    if *to >= own {
                        self.guards(it)?;
                    } else if !is_whole || !open.remove(&(None, u64::try_from(*to).unwrap_or(u64::MAX))) {
                        break;
                    }
                }
                Some(Operand::Address(Some(Name { entity: Entity::Local(of), .. }), by)) if is_zero => {
                    let Some(bits) = form.strip_prefix("st.local.b").and_then(|it| it.parse::<u64>().ok())
                    else {
                        break;
                    };
                    let by = u64::try_from(*by).unwrap_or(u64::MAX - 8);
                    (by..by + bits / 8).for_each(|byte| _ = open.remove(&(Some(*of), byte)));
                }
                _ => break,
            }
        }
        self.wrong(format!("{} registers or bytes of the stack are not zero at the start", open.len()))
    }

    /// Follows the end: the record.
    fn end(&mut self, list: &[&Statement<'_>]) -> Checked {
        let limits = self.guarded.limits.len();
        let record = format!("ld.param.u64({})", self.parameter(limits + 1));
        let mut expected = vec![
            "atom.global.exch.b32 taken".to_owned(),
            "@setp.ne.u32(taken,0) ret ".to_owned(),
            format!("st.global.u32 [{record}+4],failed"),
            format!("st.global.u64 [{record}+8],kept"),
        ];
        for (special, start) in [("Ctaid", 16), ("Tid", 28)] {
            for (part, by) in [(".x", 0), (".y", 4), (".z", 8)] {
                let value = format!("mov.u32(Special({special}){part})");
                expected.push(format!("st.global.u32 [{record}+{}],{value}", start + by));
            }
        }
        expected.push("ret ".to_owned());
        let mut found = Vec::new();
        for statement in list {
            let Statement::Instruction(it) = statement else {
                return self.wrong("a statement in the report");
            };
            self.line = it.line;
            match (it.opcode(), &it.operands[..]) {
                ("atom", [Operand::Name(Name { entity: Entity::Register(to), .. }), rest @ ..])
                    if *to > self.failed() + 1 && self.terms(rest)? == format!("[{record}+0],1") =>
                {
                    found.push(format!("{} taken", it.form()));
                    self.terms.insert(*to, "taken".to_owned());
                }
                _ if self.guards(it)? => {}
                _ => {
                    let guard = self.predicate(it.guard.as_ref())?;
                    let guard = guard.map_or(String::new(), |it| format!("@{it} "));
                    found.push(format!("{guard}{} {}", it.form(), self.terms(&it.operands)?));
                }
            }
        }
        if found == expected { Ok(()) } else { self.wrong("the report is another one") }
    }

    /// Follows a statement of the body. Returns whether it is the next one of the original.
    fn statement(&mut self, at: usize, old: Option<&Statement<'_>>, new: &Statement<'_>) -> Checked<bool> {
        let Statement::Instruction(it) = new else {
            let is_same = self.leaves.is_none()
                && match (old, new) {
                    (Some(Statement::Label(a)), Statement::Label(b)) => {
                        self.forget()?;
                        a == b
                    }
                    (Some(Statement::List(a)), Statement::List(b)) => {
                        let (a, b) = (&self.original.1.lists[*a], &self.written.0.lists[*b]);
                        let is_same = |(a, b): (&Name<'_>, &Name<'_>)| a.entity == b.entity;
                        a.targets.len() == b.targets.len() && a.targets.iter().zip(&b.targets).all(is_same)
                    }
                    (Some(Statement::Directive(a)), Statement::Directive(b)) => {
                        (a.name, &a.numbers, &a.texts) == (b.name, &b.numbers, &b.texts)
                    }
                    (Some(Statement::Location(a)), Statement::Location(b)) => a == b,
                    (Some(Statement::Open), Statement::Open) | (Some(Statement::Close), Statement::Close) => {
                        true
                    }
                    _ => false,
                };
            return if is_same { Ok(true) } else { self.wrong("a statement is not that of the original") };
        };
        self.line = it.line;
        if self.guards(it)? {
            return Ok(false);
        }
        let report = self.original.1.labels.len();
        if it.opcode() == "bra"
            && let [Operand::Name(Name { entity: Entity::Label(to), .. })] = it.operands[..]
            && to == report
        {
            let leaves = self.predicate(it.guard.as_ref())?;
            if leaves.is_none() || self.leaves.is_some() {
                return self.wrong("a thread ends before its time");
            }
            self.leaves = leaves;
            return Ok(false);
        }
        let Some(Statement::Instruction(old)) = old else {
            return self.wrong(format!("{} is not of the original", it.form()));
        };
        let clears = self.same(at, old, it)?;
        let own = self.predicate(it.guard.as_ref())?;
        let left = self.leaves.take();
        let is_end = matches!(old.words[0], "ret" | "exit");
        if left != is_end.then(|| Self::with_own(own.as_ref(), "setp.ne.u32(failed,0)")) {
            return self.wrong("a thread may end without a report, or a report end it");
        }
        if matches!(effect(old), Effect::Jumps | Effect::Calls) {
            self.forget()?;
        }
        for to in registers(old.result().into_iter()) {
            self.versions[self.ranks[to]] += 1;
        }
        if let Some(fails) = clears {
            self.clears = registers(old.result().into_iter())
                .iter()
                .map(|to| (self.ranks[*to], fails.clone()))
                .collect();
        }
        Ok(true)
    }

    /// Follows what sets the result of an atomic operation that did not happen. Returns whether it is that.
    fn clears(&mut self, new: &Statement<'_>) -> Checked<bool> {
        let Some((to, fails)) = self.clears.pop_front() else { return Ok(false) };
        if let Statement::Instruction(it) = new
            && let [Operand::Name(Name { entity: Entity::Register(at), part: None, .. }), value] =
                &it.operands[..]
            && (*at, it.words[0], self.term(value)?.as_str()) == (to, "mov", "0")
            && self.predicate(it.guard.as_ref())? == Some(fails)
        {
            return Ok(true);
        }
        self.wrong("an atomic operation that does not happen leaves its result")
    }
}

/// Checks that nothing but the kernel's body has changed, and that it has the parameters of its guards.
fn rest(module: &Module<'_>, written: &Module<'_>, at: usize, guards: usize) -> Checked {
    let (Some(old), Some(new)) = (module.functions.get(at), written.functions.get(at)) else {
        return fault(0, "there are other functions");
    };
    let own = old.parameters.len();
    let is_guards = |it: &Variable<'_>| it.ty == Type::U64 && it.lanes == 1 && it.sizes.is_empty();
    if new.parameters.len() != own + guards || !new.parameters[own..].iter().all(is_guards) {
        return fault(new.line, format!("the guards have not {guards} parameters of 64 bits"));
    }
    let mut same = written.clone();
    same.functions[at].body.clone_from(&old.body);
    same.functions[at].parameters.truncate(own);
    if same.variables.len() == module.variables.len() {
        for (new, old) in same.variables.iter_mut().zip(&module.variables) {
            // A larger alignment is right, too.
            if new.space == Space::Shared && new.align() >= old.align() {
                new.stated_align = old.stated_align;
            }
        }
    }
    if same.print() == module.print() { Ok(()) } else { fault(0, "the text differs outside of the kernel") }
}

/// Checks that the registers and variables of the original are there.
fn declarations(old: &Body<'_>, new: &Body<'_>, ranks: &[usize]) -> Checked {
    let same_register = |(at, rank): (usize, &usize)| {
        let Some(new) = new.registers.get(*rank) else { return false };
        (old.registers[at].ty, old.registers[at].lanes) == (new.ty, new.lanes)
    };
    let same_variable = |(old, new): (&Variable<'_>, &Variable<'_>)| {
        let parts = |it: &Variable<'_>| (it.space, it.ty, it.lanes, it.sizes.clone(), it.linkage);
        parts(old) == parts(new)
            && new.align() >= old.align()
            && old.initial.is_none()
            && new.initial.is_none()
    };
    let own = old.variables.len();
    let is_own_shared = |it: &Variable<'_>| it.space == Space::Shared && it.linkage == Linkage::Own;
    let is_same = ranks.iter().enumerate().all(|(at, rank)| same_register((at, rank)))
        && new.variables.len() >= own
        && old.variables.iter().zip(&new.variables).all(same_variable)
        && new.variables[own..].iter().all(is_own_shared)
        && new.labels.len() == old.labels.len() + 1;
    if is_same { Ok(()) } else { fault(0, "registers, variables or labels of the kernel have changed") }
}

/// Checks a guarded form against the module and the statements of which it was made.
///
/// # Errors
/// The first statement at which the guarded form is not the original with the guards that it must have.
pub fn verify(module: &Module<'_>, asked: &BTreeSet<usize>, guarded: &Guarded) -> Checked {
    let written = parse(&guarded.text).map_err(|error| Fault { line: error.line, message: error.message })?;
    let is_it = |it: &Function<'_>| it.is_entry && it.name == guarded.kernel && it.body.is_some();
    let at = module.functions.iter().position(is_it).map_or_else(|| fault(0, "no such kernel"), Ok)?;
    rest(module, &written, at, guarded.limits.len() + 2)?;
    let (Some(old), Some(new)) = (&module.functions[at].body, &written.functions[at].body) else {
        return fault(0, "the kernel has no body");
    };
    let has_access = |at: &usize| match old.statements.get(*at) {
        Some(Statement::Instruction(it)) => !accesses(it).is_empty(),
        _ => false,
    };
    if let Some(at) = asked.iter().find(|at| !has_access(at)) {
        return fault(0, format!("statement {at} was to be guarded, and has no access that can be"));
    }
    // Printing numbers registers in the order of their declarations.
    let mut order: Vec<usize> = (0..old.registers.len()).collect();
    order.sort_by_key(|register| old.registers[*register].declaration);
    let mut ranks = vec![0; order.len()];
    order.iter().enumerate().for_each(|(rank, register)| ranks[*register] = rank);
    declarations(old, new, &ranks)?;
    let varying = varying(old, asked, &guarded.sites);
    let mut walk = Walk {
        guarded,
        original: (&module.functions[at], old, module),
        written: (new, &written),
        asked,
        versions: vec![0; ranks.len()],
        ranks,
        terms: HashMap::new(),
        defined: HashSet::new(),
        noted: HashMap::new(),
        last: 0,
        used: HashSet::new(),
        strong: strong(old, asked, &varying),
        varying,
        leaves: None,
        clears: VecDeque::new(),
        line: 0,
    };
    let is_code = |it: &&Statement<'_>| !matches!(it, Statement::Registers(_) | Statement::Variable(_));
    let list: Vec<_> = new.statements.iter().filter(is_code).collect();
    let mut next = walk.start(&list)?;
    let mut originals = old.statements.iter().enumerate().filter(|(_, it)| is_code(it)).peekable();
    let (report, mut is_left) = (old.labels.len(), false);
    loop {
        let Some(statement) = list.get(next) else { return walk.wrong("the report is missing") };
        next += 1;
        if walk.clears(statement)? {
            continue;
        }
        let is_end = |it: &Statement<'_>, words: &[&str]| match it {
            Statement::Instruction(it) => it.guard.is_none() && words.contains(&it.words[0]),
            _ => false,
        };
        match originals.peek().copied() {
            None if matches!(statement, Statement::Label(at) if *at == report) => break,
            None if is_end(statement, &["ret"]) => {
                if walk.leaves.take().as_deref() != Some("setp.ne.u32(failed,0)") {
                    return walk.wrong("a thread may end without a report");
                }
                is_left = true;
            }
            found => {
                let (at, old) = found.map_or((0, None), |(at, it)| (at, Some(it)));
                if walk.statement(at, old, statement)? {
                    is_left = is_end(statement, &["ret", "exit", "bra", "brx", "trap"]);
                    originals.next();
                }
            }
        }
    }
    walk.forget()?;
    if is_left { walk.end(&list[next..]) } else { walk.wrong("the kernel runs into the report") }
}
