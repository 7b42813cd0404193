//! What one step of a kernel does to a state.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::form::{Form, Symbol, gcd, remainder};
use crate::launch::Launch;
use crate::slice::{Kernel, Loaded, Op, Operand, Origin, Space, Special, Step};
use crate::state::{Base, State, Symbols, Test, Value, range_of};

/// An access of the kernel: bytes from `low` to before `high` of what the address counts from.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// File and line.
    pub(crate) at: (u32, u32),
    pub(crate) base: Base,
    pub(crate) low: i128,
    pub(crate) high: i128,
    pub(crate) align: u32,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) origin: (Origin, (u32, u32)),
}

/// A test, and the values where it holds and where it does not.
pub(crate) type Chosen = (Rc<Test>, Rc<Form>, Rc<Form>);

/// A reason, and where the index of an access comes from.
type Why = (String, (Origin, (u32, u32)));

/// Why nothing can be proven.
#[derive(Clone, Debug)]
pub(crate) struct Doubt {
    pub(crate) at: (u32, u32),
    pub(crate) reason: String,
    pub(crate) origin: (Origin, (u32, u32)),
}

pub(crate) struct Analysis<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) launch: &'a Launch<'a>,
    pub(crate) symbols: Symbols,
    bases: BTreeMap<Base, Symbol>,
    specials: Vec<(Special, Symbol)>,
    log: Vec<Access>,
    /// The bytes of all accesses in the log, by what they count from, and whether they read and write.
    reached: BTreeMap<(Base, bool, bool), (i128, i128)>,
    /// Whether accesses enter the log. Passes that look for a loop's invariants do not record.
    pub(crate) is_recording: bool,
    /// What is written, with the size of the elements. Loads of other sizes may be repeated.
    pub(crate) written: BTreeSet<(Base, u32)>,
    /// What weak loads, and loads of the read-only path, read, with the size of the elements.
    pub(crate) loaded: BTreeSet<(Base, u32, bool)>,
    /// Memory of which a loaded value is not stable: it is written as well.
    pub(crate) unstable: BTreeSet<(Base, bool)>,
    pub(crate) steps: u64,
    /// The work that may be spent.
    pub(crate) limit: u64,
    /// Whether this try takes more work: it keeps states apart, and compares floating-point numbers.
    pub(crate) is_thorough: bool,
    /// Whether an access is outside of all memory that there may be.
    pub(crate) is_beyond: bool,
    /// Why the launch is refused: nothing that comes after it changes the verdict.
    pub(crate) doubt: Option<Doubt>,
}

/// Offsets that no memory has: an index without a bound.
pub(crate) const FARTHEST: i128 = 1 << 44;
/// Comparisons of a test from which the value that it chooses gets bounds.
const MOST_COMPARED: u32 = 6;
/// Tests within tests: of deeper ones nothing is known.
const DEEPEST: u8 = 32;
/// Addresses of a device are below this.
const ADDRESSES: i128 = 1 << 57;

impl<'a> Analysis<'a> {
    pub(crate) fn new(kernel: &'a Kernel, launch: &'a Launch<'a>, limit: u64) -> Self {
        Self {
            limit,
            kernel,
            launch,
            symbols: Symbols::default(),
            bases: BTreeMap::new(),
            specials: Vec::new(),
            log: Vec::new(),
            reached: BTreeMap::new(),
            is_recording: true,
            written: BTreeSet::new(),
            loaded: BTreeSet::new(),
            unstable: BTreeSet::new(),
            steps: 0,
            is_thorough: false,
            is_beyond: false,
            doubt: None,
        }
    }

    /// Returns the work that is spent.
    pub(crate) fn spent(&self) -> u64 {
        self.symbols.work + 4 * self.steps
    }

    pub(crate) fn bits(&self, register: u32) -> u8 {
        self.kernel.registers.get(register as usize).copied().unwrap_or(1)
    }

    /// Returns the address of a base.
    fn base(&mut self, base: Base) -> Form {
        let space = match base {
            Base::Object(object) => self.kernel.objects[object as usize].space,
            Base::Parameter(..) | Base::Generic(_) => Space::Global,
        };
        let high = match space {
            Space::Shared => 1 << 24,
            Space::Local => 1 << 31,
            Space::Param => 1 << 16,
            _ => ADDRESSES,
        };
        let symbols = &mut self.symbols;
        Form::symbol(*self.bases.entry(base).or_insert_with(|| symbols.new_base(base, 0, high)))
    }

    fn special(&mut self, special: Special) -> Form {
        let Launch { grid, block, cluster, shared, .. } = *self.launch;
        let at = usize::from(special.0 % 3);
        let (count, is_place) = match special.0 / 3 {
            0 => (block[at].max(1), true),
            1 => (block[at].max(1), false),
            2 => (grid[at].max(1), true),
            3 => (grid[at].max(1), false),
            4 => (cluster[at].max(1), true),
            5 => (cluster[at].max(1), false),
            _ if special == Special::LANE => (32, true),
            _ => (shared, false),
        };
        let below = i128::from(count);
        if !is_place {
            return Form::constant(below);
        }
        if below == 1 {
            return Form::constant(0);
        }
        if let Some((_, symbol)) = self.specials.iter().find(|(own, _)| *own == special) {
            return Form::symbol(*symbol);
        }
        let symbol = self.symbols.new_symbol(0, below - 1, Origin::Exact, (0, 0));
        self.specials.push((special, symbol));
        Form::symbol(symbol)
    }

    /// Returns the object that stands for the address of one: all arrays of dynamic shared memory are one.
    fn object(&self, object: u32) -> u32 {
        let objects = &self.kernel.objects;
        if objects[object as usize].bytes.is_some() {
            return object;
        }
        let first = objects.iter().position(|it| it.bytes.is_none());
        first.and_then(|it| u32::try_from(it).ok()).unwrap_or(object)
    }

    fn number(&mut self, state: &State, operand: Operand, at: (u32, u32)) -> Rc<Form> {
        match operand {
            Operand::Register(register) => match state.registers.get(register as usize) {
                Some(Value::Number(form)) => self.symbols.used(form),
                _ => {
                    let (low, high) = range_of(self.bits(register), true);
                    Rc::new(self.symbols.unstable(low, high, Origin::Unwritten, at))
                }
            },
            Operand::Number(value) => Rc::new(Form::constant(i128::from(value))),
            Operand::Object(object) => {
                let object = self.object(object);
                Rc::new(self.base(Base::Object(object)))
            }
            Operand::Special(special) => Rc::new(self.special(special)),
            Operand::Negated(_) => Rc::new(self.symbols.unstable(0, 1, Origin::Unwritten, at)),
        }
    }

    pub(crate) fn test(&self, state: &State, operand: Operand) -> Rc<Test> {
        let of = |register: u32| match state.registers.get(register as usize) {
            Some(Value::Test(test)) => Rc::clone(test),
            _ => Rc::new(Test::Unknown),
        };
        match operand {
            Operand::Register(register) => of(register),
            Operand::Negated(register) => not(&of(register)),
            Operand::Number(value) => Rc::new(Test::Is(value != 0)),
            _ => Rc::new(Test::Unknown),
        }
    }

    pub(crate) fn set(&self, state: &mut State, register: u32, value: Value) {
        if let Some(own) = state.registers.get_mut(register as usize) {
            *own = value;
        }
    }

    /// Adds to the state that a test has an outcome. Returns whether it can have it.
    pub(crate) fn refine(&mut self, state: &mut State, test: &Test, outcome: bool) -> bool {
        self.symbols.work += 1;
        match test {
            // Tests of the same tests are as many as the power of their depth.
            _ if self.symbols.work > self.limit => true,
            Test::Unknown => true,
            Test::Is(value) => *value == outcome,
            Test::Not(inner) => self.refine(state, inner, !outcome),
            Test::And(one, other, _) if outcome => {
                self.refine(state, one, true) && self.refine(state, other, true)
            }
            Test::And(one, other, _) => {
                let (mut first, mut second) = (state.case(), state.case());
                let facts =
                    match (self.refine(&mut first, one, outcome), self.refine(&mut second, other, outcome)) {
                        (true, true) => self.symbols.common_facts(&first, &second),
                        (true, false) => first,
                        (false, true) => second,
                        (false, false) => return false,
                    };
                state.set_facts(facts);
                true
            }
            Test::Compare { op, bits, is_signed, a, b } => {
                let op = match (op, outcome) {
                    (op, true) => *op,
                    (Op::Eq, _) => Op::Ne,
                    (Op::Ne, _) => Op::Eq,
                    (Op::Lt, _) => Op::Ge,
                    (Op::Le, _) => Op::Gt,
                    (Op::Gt, _) => Op::Le,
                    (_, _) => Op::Lt,
                };
                self.compare(state, op, (*bits, *is_signed), a, b)
            }
        }
    }

    fn compare(
        &mut self,
        state: &mut State,
        op: Op,
        (bits, is_signed): (u8, bool),
        a: &Form,
        b: &Form,
    ) -> bool {
        let mut is_signed = is_signed;
        if matches!(op, Op::Eq | Op::Ne) {
            // Either reading will do: take one that keeps both forms.
            let mut keeps = |is_signed: bool| {
                let range = range_of(bits, is_signed);
                [a, b].iter().all(|form| self.symbols.is_within(state, form, 2, range))
            };
            is_signed = keeps(true) || !keeps(false);
        }
        let a = self.symbols.reading(state, a, bits, is_signed);
        let b = self.symbols.reading(state, b, bits, is_signed);
        let (Some(over), Some(under)) = (a.plus(&b, -1), b.plus(&a, -1)) else { return true };
        let symbols = &mut self.symbols;
        match op {
            Op::Lt => symbols.assume(state, &over, -1),
            Op::Le => symbols.assume(state, &over, 0),
            Op::Gt => symbols.assume(state, &under, -1),
            Op::Ge => symbols.assume(state, &under, 0),
            Op::Eq => {
                let common = over.divisor();
                let is_possible =
                    if common == 0 { over.constant == 0 } else { remainder(over.constant, common) == 0 };
                if symbols.is_unstable(&over) {
                    return true;
                }
                let holds =
                    is_possible && symbols.assume(state, &over, 0) && symbols.assume(state, &under, 0);
                if holds {
                    self.substitute(state, &over);
                }
                holds
            }
            _ => {
                if let Some(value) = over.as_constant() {
                    return value != 0;
                }
                let Some((low, high)) = symbols.range(state, &over, 2) else { return true };
                let step = over.divisor().max(1);
                match (low, high) {
                    (0, 0) => symbols.is_unstable(&over),
                    (0, _) if remainder(over.constant, step) == 0 => symbols.assume(state, &under, -step),
                    (_, 0) if remainder(over.constant, step) == 0 => symbols.assume(state, &over, -step),
                    _ => true,
                }
            }
        }
    }

    /// Puts what is known to be zero to use: the registers get forms without the number of a loop's rounds.
    /// Where the loop was passed by, nobody knows that number.
    fn substitute(&self, state: &mut State, zero: &Form) {
        let common = zero.divisor().max(1);
        let zero = Form {
            constant: zero.constant / common,
            terms: zero.terms.iter().map(|(symbol, factor)| (*symbol, factor / common)).collect(),
        };
        let is_single =
            |(symbol, factor): &&(Symbol, i128)| factor.abs() == 1 && self.symbols.counts_rounds(*symbol);
        let Some((symbol, factor)) = zero.terms.iter().rev().find(is_single).copied() else { return };
        let Some(equal) = zero.times(-factor).and_then(|it| it.plus(&Form::symbol(symbol), 1)) else {
            return;
        };
        for value in &mut state.registers {
            if let Value::Number(form) = value
                && form.coefficient(symbol) != 0
                && let Some(new) = form.replace(symbol, &equal)
            {
                *form = Rc::new(new);
            }
        }
    }

    /// Applies a step that is no branch.
    pub(crate) fn step(&mut self, state: &mut State, index: usize) {
        let kernel = self.kernel;
        let step = &kernel.steps[index];
        self.steps += 1;
        match step.op {
            Op::Bra | Op::Exit => return,
            Op::Refuse => {
                let text = match step.from[..] {
                    [Operand::Number(text)] => usize::try_from(text).ok().and_then(|it| kernel.texts.get(it)),
                    _ => None,
                };
                let origin = (Origin::Exact, step.at);
                return self.refuse(Doubt { at: step.at, reason: text.cloned().unwrap_or_default(), origin });
            }
            Op::Load | Op::Store | Op::Atomic | Op::Matrix => return self.access(state, index),
            Op::Handle | Op::Below => return self.operand(state, step),
            _ => {}
        }
        let Some(to) = step.to.first().copied() else { return };
        if self.bits(to) == 1 {
            let test = self.predicate(state, step);
            return self.set(state, to, Value::Test(test));
        }
        // A form that became too large is forgotten.
        let value = match self.compute(state, step).filter(|_| self.bits(to) <= 64) {
            None => Value::Unset,
            Some(form) => Value::Number(Rc::new(match form.as_constant() {
                Some(constant) => Form::constant(signed(constant, self.bits(to))),
                None => form,
            })),
        };
        self.set(state, to, value);
    }

    fn predicate(&mut self, state: &mut State, step: &Step) -> Rc<Test> {
        match (step.op, &step.from[..]) {
            (Op::PredMov, [one]) => self.test(state, *one),
            (Op::PredAnd, [one, other]) => and(&self.test(state, *one), &self.test(state, *other)),
            (Op::PredOr, [one, other]) => {
                let (one, other) = (not(&self.test(state, *one)), not(&self.test(state, *other)));
                not(&and(&one, &other))
            }
            (Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge, [a, b])
                if self.is_thorough || !step.flag =>
            {
                let (a, b) = (self.number(state, *a, step.at), self.number(state, *b, step.at));
                if self.symbols.is_unstable(&a) || self.symbols.is_unstable(&b) {
                    return Rc::new(Test::Unknown);
                }
                // A test of the number that another test was made to.
                if let (Op::Eq | Op::Ne, Some(value @ (0 | 1)), [(symbol, 1)], 0) =
                    (step.op, b.as_constant(), &a.terms[..], a.constant)
                    && let Some(test) = self.symbols.truth(*symbol)
                {
                    return if (step.op == Op::Eq) == (value == 1) { test } else { not(&test) };
                }
                Rc::new(Test::Compare { op: step.op, bits: step.bits, is_signed: step.is_signed, a, b })
            }
            _ => Rc::new(Test::Unknown),
        }
    }

    /// Returns the value that a step computes, or `None` if its form became too large.
    fn compute(&mut self, state: &mut State, step: &Step) -> Option<Form> {
        let (bits, is_signed, at) = (step.bits, step.is_signed, step.at);
        let to_bits = step.to.first().map_or(bits, |to| self.bits(*to));
        match (step.op, &step.from[..]) {
            (Op::Unknown, [Operand::Number(low), Operand::Number(high), sources @ ..]) => {
                let mut is_unstable = false;
                for source in sources {
                    let form = self.number(state, *source, at);
                    is_unstable |= self.symbols.is_unstable(&form);
                }
                let (low, high) = (i128::from(*low), i128::from(*high));
                // What is computed from a value that may differ at each use may differ as well.
                return Some(if is_unstable {
                    self.symbols.unstable(low, high, step.origin, at)
                } else {
                    self.symbols.fresh(low, high, step.origin, at)
                });
            }
            (Op::Parameter, [Operand::Number(index), Operand::Number(offset)]) => {
                let (index, offset) = (usize::try_from(*index).ok()?, u64::try_from(*offset).ok()?);
                return self.parameter(step, index, offset, to_bits);
            }
            (Op::Selp, [a, b, test]) => {
                let (a, b) = (self.number(state, *a, at), self.number(state, *b, at));
                let test = self.test(state, *test);
                if let (Some(a), Some(b)) = (a.as_constant(), b.as_constant())
                    && (a, b) != (b, a)
                    && [a, b].iter().all(|it| matches!(it, 0 | 1))
                    && !matches!(*test, Test::Is(_))
                {
                    let is_one = if a == 1 { test } else { not(&test) };
                    let (zero, one) = (Form::constant(0), Form::constant(1));
                    let value = self.choose(state, &not(&is_one), &zero, &one)?;
                    if let [(symbol, 1)] = value.terms[..] {
                        self.symbols.set_truth(symbol, is_one);
                    }
                    return Some(value);
                }
                return self.choose(state, &test, &a, &b);
            }
            _ => {}
        }
        let a = self.number(state, *step.from.first()?, at);
        let Some(b) = step.from.get(1) else { return self.unary(state, step, &a, to_bits) };
        let b = self.number(state, *b, at);
        let any = |this: &mut Self, bits: u8, low: i128, high: i128| {
            let (origin, place) = this.symbols.origin(&a).max(this.symbols.origin(&b));
            let (origin, place) =
                if origin == Origin::Exact { (Origin::Computed, at) } else { (origin, place) };
            let (least, most) = range_of(bits, true);
            let (least, most) =
                if low > high || high - low > most - least { (least, most) } else { (low, high) };
            if this.symbols.is_unstable(&a) || this.symbols.is_unstable(&b) {
                this.symbols.unstable(least, most, origin, place)
            } else {
                this.symbols.fresh(least, most, origin, place)
            }
        };
        let nothing = |this: &mut Self, bits: u8| any(this, bits, 1, 0);
        match step.op {
            Op::Add => a.plus(&b, 1),
            Op::Sub => a.plus(&b, -1),
            Op::Mul => Some(self.product(state, &a, &b).unwrap_or_else(|| nothing(self, bits))),
            Op::MulWide | Op::MulHi => {
                let a = self.symbols.reading(state, &a, bits, is_signed);
                let b = self.symbols.reading(state, &b, bits, is_signed);
                let product = self.product(state, &a, &b);
                let result = match (step.op, product) {
                    (Op::MulWide, product) => product,
                    (_, Some(product)) => self.symbols.floor(state, &product, 1 << bits),
                    _ => None,
                };
                Some(result.unwrap_or_else(|| nothing(self, to_bits)))
            }
            Op::Mul24 => {
                let range = range_of(24, is_signed);
                let fits = [&a, &b].iter().all(|form| self.symbols.is_within(state, form, 2, range));
                let product = if fits { self.product(state, &a, &b) } else { None };
                Some(product.unwrap_or_else(|| nothing(self, bits)))
            }
            Op::Min | Op::Max => {
                let a = self.symbols.reading(state, &a, bits, is_signed);
                let b = self.symbols.reading(state, &b, bits, is_signed);
                let (first, second) = if step.op == Op::Min { (&a, &b) } else { (&b, &a) };
                let test = Test::Compare {
                    op: Op::Le,
                    bits,
                    is_signed,
                    a: Rc::new(first.clone()),
                    b: Rc::new(second.clone()),
                };
                self.choose(state, &test, &a, &b)
            }
            Op::Shl | Op::Shr => {
                let amount = match b.as_constant() {
                    Some(amount) => {
                        let amount = amount.rem_euclid(1 << 32).min(i128::from(bits));
                        Some((amount, amount))
                    }
                    None => {
                        let amount = self.symbols.reading(state, &b, 32, false);
                        self.symbols.range(state, &amount, 2)
                    }
                };
                let all = i128::from(bits);
                let Some((least, most)) = amount.map(|(low, high)| (low.clamp(0, all), high.clamp(0, all)))
                else {
                    return Some(nothing(self, bits));
                };
                if step.op == Op::Shl && least == most {
                    return if least == all { Some(Form::constant(0)) } else { a.times(1 << least) };
                }
                let value = self.symbols.reading(state, &a, bits, is_signed);
                if step.op == Op::Shr && least == most {
                    return self.symbols.floor(state, &value, 1 << least);
                }
                let Some((low, high)) = self.symbols.range(state, &value, 2).filter(|(low, _)| *low >= 0)
                else {
                    return Some(nothing(self, bits));
                };
                if step.op == Op::Shr {
                    let result = any(self, bits, low >> most, high >> least);
                    let below = result.plus(&value, -1)?;
                    self.symbols.assume(state, &below, 0);
                    return Some(result);
                }
                let high = high.checked_mul(1 << most).filter(|high| *high <= range_of(bits, false).1);
                let (low, high) = high.map_or((1, 0), |high| (low << least, high));
                Some(any(self, bits, low, high))
            }
            Op::And if step.flag && !self.is_thorough => Some(nothing(self, bits)),
            Op::And | Op::Or | Op::Xor => {
                let bitwise = |a: i128, b: i128| match step.op {
                    Op::And => a & b,
                    Op::Or => a | b,
                    _ => a ^ b,
                };
                let (x, y) = if a.as_constant().is_some() { (&b, &a) } else { (&a, &b) };
                // All bits of the sign: the other value, or zero.
                for (x, y) in [(x, y), (y, x)] {
                    if step.op == Op::And
                        && x.as_constant().is_none()
                        && !self.symbols.is_unstable(x)
                        && self.symbols.is_within(state, x, 1, (-1, 0))
                    {
                        let (x, zero) = (Rc::clone(x), Rc::new(Form::constant(0)));
                        let test =
                            Test::Compare { op: Op::Lt, bits, is_signed: true, a: x, b: Rc::clone(&zero) };
                        return self.choose(state, &test, y, &zero);
                    }
                }
                if let (Some(x), Some(y)) = (x.as_constant(), y.as_constant()) {
                    return Some(Form::constant(bitwise(signed(x, bits), signed(y, bits))));
                }
                if let Some(constant) = y.as_constant() {
                    let mask = constant.rem_euclid(1 << bits);
                    if step.op == Op::Xor && mask == (1 << bits) - 1 {
                        return x.times(-1)?.add(-1);
                    }
                    // Ones from one bit to another: two quotients.
                    let lowest = 1_i128 << mask.trailing_zeros().min(100);
                    let above = mask + lowest;
                    if step.op == Op::And && mask != 0 && above & mask == 0 && !self.symbols.is_unstable(x) {
                        let low = self.symbols.floor(state, x, lowest)?.times(lowest)?;
                        if above == 1 << bits {
                            return Some(low);
                        }
                        let high = self.symbols.floor(state, x, above)?.times(above)?;
                        return low.plus(&high, -1);
                    }
                    if step.op == Op::And && mask == 0 {
                        return Some(Form::constant(0));
                    }
                }
                if step.op != Op::And {
                    // Bits that do not meet are added.
                    for (x, y) in [(x, y), (y, x)] {
                        let common = gcd(x.divisor(), x.constant);
                        let lowest = common & -common;
                        if lowest > 0 && self.symbols.is_within(state, y, 2, (0, lowest - 1)) {
                            return x.plus(y, 1);
                        }
                    }
                }
                let x = self.symbols.reading(state, x, bits, false);
                let y = self.symbols.reading(state, y, bits, false);
                let (Some((xl, xh)), Some((yl, yh))) =
                    (self.symbols.range(state, &x, 2), self.symbols.range(state, &y, 2))
                else {
                    return Some(nothing(self, bits));
                };
                // The lowest bits that are zero in both stay zero, and for `and` those that are zero in one.
                let lowest = |it: &Form| gcd(it.divisor(), it.constant);
                let lowest = |it: &Form| (lowest(it) & -lowest(it)).max(1);
                let (a, b) = (lowest(&x), lowest(&y));
                let unit = if step.op == Op::And { a.max(b) } else { a.min(b) };
                let ones = |value: i128| (1_i128 << (128 - value.max(0).leading_zeros()).min(100)) - 1;
                let (low, high) = match step.op {
                    Op::And => (0, xh.min(yh)),
                    Op::Or => (xl.max(yl), ones(xh.max(yh))),
                    _ => (0, ones(xh.max(yh))),
                };
                let result = any(self, bits, low / unit, high / unit).times(unit)?;
                if step.op == Op::And && high < range_of(bits, true).1 {
                    for limit in [&x, &y] {
                        let below = result.plus(limit, -1)?;
                        self.symbols.assume(state, &below, 0);
                    }
                }
                Some(result)
            }
            Op::Div | Op::Rem => {
                let a = self.symbols.reading(state, &a, bits, is_signed);
                let b = self.symbols.reading(state, &b, bits, is_signed);
                let (Some((al, ah)), Some((bl, bh))) =
                    (self.symbols.range(state, &a, 2), self.symbols.range(state, &b, 2))
                else {
                    return Some(nothing(self, bits));
                };
                if let (Some(by), true) = (b.as_constant().filter(|by| *by > 0), al >= 0) {
                    let quotient = self.symbols.floor(state, &a, by)?;
                    return if step.op == Op::Div {
                        Some(quotient)
                    } else {
                        a.plus(&quotient.times(by)?, -1)
                    };
                }
                if bl < 1 {
                    return Some(nothing(self, bits));
                }
                let (low, high) = if step.op == Op::Rem {
                    (al.max(1 - bh).min(0), ah.min(bh - 1).max(0))
                } else {
                    (if al < 0 { al / bl } else { al / bh }, if ah < 0 { ah / bh } else { ah / bl })
                };
                let result = any(self, bits, low, high);
                if al >= 0 {
                    let below = result.plus(&a, -1)?;
                    self.symbols.assume(state, &below, 0);
                    if step.op == Op::Rem {
                        let below = result.plus(&b, -1)?;
                        self.symbols.assume(state, &below, -1);
                    }
                }
                Some(result)
            }
            _ => Some(nothing(self, to_bits)),
        }
    }

    fn unary(&mut self, state: &mut State, step: &Step, a: &Rc<Form>, to_bits: u8) -> Option<Form> {
        let bits = step.bits;
        match step.op {
            Op::Mov => Some(Form::clone(a)),
            Op::Neg => a.times(-1),
            Op::Not => a.times(-1)?.add(-1),
            Op::Abs => {
                let value = Rc::new(self.symbols.reading(state, a, bits, true));
                let zero = Rc::new(Form::constant(0));
                let test = Test::Compare { op: Op::Ge, bits, is_signed: true, a: Rc::clone(&value), b: zero };
                let opposite = value.times(-1)?;
                self.choose(state, &test, &value, &opposite)
            }
            Op::Cvt => {
                let from = u8::try_from(step.size).unwrap_or(64);
                let mut value = Form::clone(a);
                if bits > from {
                    value = self.symbols.reading(state, &value, from, step.flag);
                }
                if to_bits > bits {
                    value = self.symbols.reading(state, &value, bits, step.is_signed);
                }
                Some(value)
            }
            Op::ToGeneric | Op::FromGeneric => {
                let based = a.terms.iter().find_map(|(symbol, factor)| {
                    self.symbols.base(*symbol).filter(|_| *factor == 1).map(|base| (*symbol, base))
                });
                let Some((symbol, base)) = based else {
                    // Global memory has the same addresses in both; of others nothing is known.
                    return (step.space == Space::Global).then(|| Form::clone(a));
                };
                let space = |object: u32| self.kernel.objects[object as usize].space;
                let other = match (step.op, base) {
                    (_, Base::Parameter(..)) if step.space == Space::Global => base,
                    (_, Base::Object(object))
                        if step.space == Space::Global && space(object) == Space::Global =>
                    {
                        base
                    }
                    (Op::ToGeneric, Base::Object(object)) if space(object) == step.space => {
                        Base::Generic(object)
                    }
                    (Op::FromGeneric, Base::Generic(object)) if space(object) == step.space => {
                        Base::Object(object)
                    }
                    _ => return None,
                };
                if other == base {
                    return Some(Form::clone(a));
                }
                // The conversion adds a number to addresses within the space, and to no others.
                let offset = a.replace(symbol, &Form::constant(0))?;
                if !self.symbols.is_within(state, &offset, 2, (0, 1 << 24)) {
                    return None;
                }
                let other = self.base(other);
                a.replace(symbol, &other)
            }
            _ => None,
        }
    }

    /// Returns `a` where the test holds, and `b` where it does not.
    fn choose(&mut self, state: &mut State, test: &Test, a: &Form, b: &Form) -> Option<Form> {
        let (mut one, mut other) = (state.case(), state.case());
        match (self.refine(&mut one, test, true), self.refine(&mut other, test, false)) {
            (true, true) if a == b => Some(a.clone()),
            (true, true) => match b.plus(a, -1).and_then(|it| it.as_constant()) {
                Some(step) if !self.symbols.is_unstable(a) => {
                    let case = self.case_of(state, test, (&one, &other));
                    a.plus(&case, step)
                }
                _ => self.symbols.choice(state, (&one, a), (&other, b)),
            },
            (true, false) => Some(a.clone()),
            _ => Some(b.clone()),
        }
    }

    /// Makes a number that is 0 where a test holds and else 1, with what both cases know of the forms that
    /// the test compares: each bound is a line through the bounds of the two cases.
    fn case_of(&mut self, state: &mut State, test: &Test, (one, other): (&State, &State)) -> Form {
        let case = self.symbols.fresh(0, 1, Origin::Exact, (0, 0));
        let mut open = vec![test];
        let mut left = MOST_COMPARED;
        while let Some(test) = open.pop().filter(|_| left > 0) {
            left -= 1;
            match test {
                Test::Not(inner) => open.push(inner),
                Test::And(first, second, _) => open.extend([&**first, &**second]),
                Test::Compare { a, b, .. } => {
                    for sign in [1, -1] {
                        let Some(form) = a.plus(b, -1).and_then(|it| it.times(sign)) else { continue };
                        let (Some(in_one), Some(in_other)) =
                            (self.symbols.high(one, &form, 1), self.symbols.high(other, &form, 1))
                        else {
                            continue;
                        };
                        let slope = in_one.checked_sub(in_other).filter(|it| *it != 0);
                        if let Some(line) = slope.and_then(|slope| form.plus(&case, slope)) {
                            self.symbols.assume(state, &line, in_one);
                        }
                    }
                }
                Test::Unknown | Test::Is(_) => {}
            }
        }
        case
    }

    /// Returns the test and the values of a step that chooses between addresses that count from different
    /// things.
    pub(crate) fn chosen_pointers(&self, state: &State, step: &Step) -> Option<Chosen> {
        let (Op::Selp, None, [Operand::Register(a), Operand::Register(b), test]) =
            (step.op, step.guard, &step.from[..])
        else {
            return None;
        };
        let number = |register: &u32| match state.registers.get(*register as usize) {
            Some(Value::Number(form)) if !self.symbols.is_unstable(form) => Some(Rc::clone(form)),
            _ => None,
        };
        let (a, b) = (number(a)?, number(b)?);
        (!self.symbols.has_same_base(&a, &b)).then(|| (self.test(state, *test), a, b))
    }

    fn product(&mut self, state: &mut State, a: &Form, b: &Form) -> Option<Form> {
        match (a.as_constant(), b.as_constant()) {
            (Some(factor), _) => b.times(factor),
            (_, Some(factor)) => a.times(factor),
            _ => self.symbols.product(state, a, b),
        }
    }

    fn parameter(&mut self, step: &Step, index: usize, offset: u64, to_bits: u8) -> Option<Form> {
        let argument = self.launch.arguments.get(index)?;
        let size = u64::from(step.size);
        for pointer in argument.pointers {
            if *pointer == offset && size == 8 && to_bits == 64 {
                return Some(self.base(Base::Parameter(index, offset)));
            }
            if *pointer < offset.checked_add(size)? && offset < pointer.checked_add(8)? {
                return None;
            }
        }
        let (start, end) = (usize::try_from(offset).ok()?, usize::try_from(offset.checked_add(size)?).ok()?);
        let mut bytes = [0; 16];
        let given = argument.bytes.get(start..end)?;
        bytes.get_mut(..given.len())?.copy_from_slice(given);
        let value = (u128::from_le_bytes(bytes) & u128::from(u64::MAX)).cast_signed();
        Some(Form::constant(if step.is_signed { signed(value, step.bits.min(64)) } else { value }))
    }

    /// Refuses the launch, if this pass counts.
    fn refuse(&mut self, doubt: Doubt) {
        if self.is_recording {
            self.doubt.get_or_insert(doubt);
        }
    }

    /// Checks the operand of a texture, which must have its value here, or of a branch by a table.
    fn operand(&mut self, state: &mut State, step: &Step) {
        let Some(operand) = step.from.first() else { return };
        let value = self.number(state, *operand, step.at);
        let (is_right, reason) = if let (Op::Below, Some(Operand::Number(end))) = (step.op, step.from.get(1))
        {
            let value = self.symbols.reading(state, &value, 32, false);
            let is_below = self.symbols.is_at_most(state, &value, 3, i128::from(*end) - 1);
            (is_below, "a branch may go past the end of its table")
        } else {
            (!self.symbols.is_unstable(&value), "the handle of a texture or surface may not be set here")
        };
        if !is_right {
            let origin = self.symbols.origin(&value);
            self.refuse(Doubt { at: step.at, reason: reason.to_owned(), origin });
        }
    }

    /// Returns the bytes of an object.
    pub(crate) fn size(&self, object: u32) -> u64 {
        self.kernel.objects[object as usize].bytes.unwrap_or(u64::from(self.launch.shared))
    }

    /// Enters an access, and sets the registers that a load writes.
    fn access(&mut self, state: &mut State, index: usize) {
        let step = &self.kernel.steps[index];
        let Some((base, rest)) = step.from.split_first() else { return };
        let base = self.number(state, *base, step.at);
        let offset = match (step.op, rest) {
            (Op::Matrix, [_, Operand::Number(offset), ..]) | (_, [Operand::Number(offset), ..]) => *offset,
            _ => 0,
        };
        let address = base.add(i128::from(offset));
        let found = address.as_ref().and_then(|address| self.split(address));
        if self.is_recording {
            let access = match (&address, &found) {
                (Some(_), Some((base, offset))) => self.bytes(state, step, *base, offset),
                (Some(address), None) => {
                    let bases = address
                        .terms
                        .iter()
                        .filter(|(symbol, _)| self.symbols.base(*symbol).is_some())
                        .count();
                    let reason = match (bases, self.symbols.origin(address)) {
                        (0, (Origin::Memory | Origin::Atomic | Origin::Shuffle, _)) => {
                            "the address comes from memory"
                        }
                        (0, _) => "the address is not computed from a parameter or a variable",
                        _ => "the address is computed from several pointers",
                    };
                    Err((reason.to_owned(), self.symbols.origin(address)))
                }
                (None, _) => Err(("the address is too large".to_owned(), (Origin::Computed, step.at))),
            };
            match access {
                Ok(access) => self.enter(access),
                Err((reason, origin)) => self.refuse(Doubt { at: step.at, reason, origin }),
            }
            if let Some((base, _)) = found {
                let base = own_space(base);
                let element = u32::from(step.bits) / 8;
                if step.op != Op::Load && (step.op != Op::Matrix || step.flag) {
                    self.written.insert((base, element));
                }
                if step.op == Op::Load && step.loaded != Loaded::Strong {
                    self.loaded.insert((base, element, step.loaded == Loaded::ReadOnly));
                }
            }
        }
        let is_local = found.as_ref().is_none_or(|(base, _)| match base {
            Base::Object(object) | Base::Generic(object) => {
                self.kernel.objects[*object as usize].space == Space::Local
            }
            Base::Parameter(..) => false,
        });
        let is_stable = step.loaded == Loaded::Strong
            || !is_local
                && found.is_some_and(|(base, _)| {
                    !self.unstable.contains(&(own_space(base), step.loaded == Loaded::ReadOnly))
                });
        let origin = if step.op == Op::Atomic { Origin::Atomic } else { Origin::Memory };
        for to in &step.to {
            // Without a sign, a value of fewer bits than the register is extended by zeros.
            let (low, high) = range_of(step.bits, step.is_signed || self.bits(*to) == step.bits);
            let form = if is_stable {
                self.symbols.fresh(low, high, origin, step.at)
            } else {
                self.symbols.unstable(low, high, origin, step.at)
            };
            self.set(state, *to, if step.bits > 64 { Value::Unset } else { Value::Number(Rc::new(form)) });
        }
    }

    /// Returns the accesses that count.
    pub(crate) fn accesses(&self) -> &[Access] {
        &self.log
    }

    fn enter(&mut self, access: Access) {
        self.is_beyond |= access.low < 0
            || match access.base {
                Base::Object(it) | Base::Generic(it) => access.high > i128::from(self.size(it)),
                Base::Parameter(..) => access.high > FARTHEST,
            };
        let key = (access.base, access.reads, access.writes);
        let (low, high) = self.reached.entry(key).or_insert((access.low, access.high));
        (*low, *high) = (access.low.min(*low), access.high.max(*high));
        self.log.push(access);
    }

    /// Forgets the accesses of a pass that does not count.
    pub(crate) fn forget(&mut self, from: usize) {
        if from < self.log.len() {
            self.reached.clear();
            let kept: Vec<Access> = self.log.drain(..).take(from).collect();
            kept.into_iter().for_each(|access| self.enter(access));
        }
    }

    /// Splits an address into the one thing that it counts from, and the rest.
    fn split(&self, address: &Form) -> Option<(Base, Form)> {
        let mut bases = address
            .terms
            .iter()
            .filter_map(|(symbol, factor)| Some((*symbol, *factor, self.symbols.base(*symbol)?)));
        let (symbol, factor, base) = bases.next()?;
        if factor != 1 || bases.next().is_some() {
            return None;
        }
        Some((base, address.replace(symbol, &Form::constant(0))?))
    }

    /// Returns the bytes of an access, or why they are not known.
    fn bytes(&mut self, state: &mut State, step: &Step, base: Base, offset: &Form) -> Result<Access, Why> {
        let origin = self.symbols.origin(offset);
        let refused = |reason: &str| Err((reason.to_owned(), origin));
        let object = |object: u32| self.kernel.objects[object as usize].space;
        // 32 bits are a whole address of these spaces only.
        let is_short = matches!(step.from.first(), Some(Operand::Register(it)) if self.bits(*it) < 64);
        let is_small = |space: Space| matches!(space, Space::Shared | Space::Local | Space::Param);
        if is_short && !matches!(base, Base::Object(it) if is_small(object(it))) {
            return refused("the register has no whole address of this kind of memory");
        }
        let fits = match base {
            Base::Parameter(..) => matches!(step.space, Space::Global | Space::Generic),
            Base::Object(it) => match object(it) {
                Space::Global => matches!(step.space, Space::Global | Space::Generic),
                own => own == step.space,
            },
            Base::Generic(_) => step.space == Space::Generic,
        };
        if !fits {
            return refused("the address is of another kind of memory than the instruction accesses");
        }
        if step.op == Op::Load && step.flag && !matches!(base, Base::Object(_)) {
            return refused("an assertion prints a text that is not in the PTX");
        }
        let writes = step.op == Op::Store || step.op == Op::Atomic || step.op == Op::Matrix && step.flag;
        if let (true, Base::Object(it) | Base::Generic(it)) = (writes, base)
            && matches!(object(it), Space::Const | Space::Param)
        {
            return refused("constant memory is written");
        }
        let mut end = i128::from(step.size);
        let mut align = step.size;
        if step.op == Op::Matrix {
            let [_, stride, _, Operand::Number(rows), Operand::Number(element)] = step.from[..] else {
                return refused("a matrix of an unknown form");
            };
            let stride = self.number(state, stride, step.at);
            let stride = self.symbols.reading(state, &stride, 32, false);
            let unit = 16 / gcd(16, i128::from(element));
            if remainder(stride.constant, unit) != 0 || remainder(stride.divisor(), unit) != 0 {
                return refused("the stride of the matrix may be no multiple of 16 bytes");
            }
            let most =
                self.symbols.high(state, &stride, 2).and_then(|it| it.checked_mul(i128::from(element)));
            let Some(most) = most else { return refused("the stride of the matrix has no bound") };
            end = end.saturating_add(most.saturating_mul(i128::from(rows) - 1));
            align = 32;
        }
        if !align.is_power_of_two() {
            return refused("an access of an odd size");
        }
        let unit = i128::from(align);
        if offset.terms.iter().any(|(_, factor)| remainder(*factor, unit) != 0)
            || remainder(offset.constant, unit) != 0
        {
            return refused(&format!("the address may be no multiple of {align}"));
        }
        let reads = step.op != Op::Store && (step.op != Op::Matrix || !step.flag);
        // What is no further than other accesses needs no better bound.
        let (least, most) = match base {
            Base::Object(it) | Base::Generic(it) => (0, i128::from(self.size(it)) - end),
            Base::Parameter(..) => {
                let reached = self.reached.get(&(base, reads, writes));
                reached.map_or((i128::MAX, i128::MIN), |(low, high)| (*low, *high - end))
            }
        };
        let low = self.symbols.low_or(state, offset, 3, least);
        let high = self.symbols.high_or(state, offset, 3, most).and_then(|high| high.checked_add(end));
        let (Some(low), Some(high)) = (low, high) else { return refused("the index has no bound") };
        Ok(Access { at: step.at, base, low, high, align, reads, writes, origin })
    }
}

/// Returns an object's base in its own space.
fn own_space(base: Base) -> Base {
    if let Base::Generic(object) = base { Base::Object(object) } else { base }
}

/// Reads the lowest bits of a number as signed.
pub(crate) fn signed(value: i128, bits: u8) -> i128 {
    let all = 1_i128 << bits.min(64);
    let value = value.rem_euclid(all);
    if value >= all / 2 { value - all } else { value }
}

pub(crate) fn not(test: &Rc<Test>) -> Rc<Test> {
    match &**test {
        Test::Unknown => Rc::clone(test),
        Test::Is(value) => Rc::new(Test::Is(!value)),
        Test::Not(inner) => Rc::clone(inner),
        _ => Rc::new(Test::Not(Rc::clone(test))),
    }
}

fn and(one: &Rc<Test>, other: &Rc<Test>) -> Rc<Test> {
    match (&**one, &**other) {
        (Test::Is(true), _) => Rc::clone(other),
        (_, Test::Is(true)) => Rc::clone(one),
        (Test::Is(false), _) | (_, Test::Is(false)) => Rc::new(Test::Is(false)),
        _ => match depth(one).max(depth(other)) {
            DEEPEST.. => Rc::new(Test::Unknown),
            depth => Rc::new(Test::And(Rc::clone(one), Rc::clone(other), depth + 1)),
        },
    }
}

fn depth(test: &Test) -> u8 {
    match test {
        Test::And(_, _, depth) => *depth,
        Test::Not(inner) => depth(inner),
        _ => 0,
    }
}
