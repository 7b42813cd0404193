//! Instructions that compute: integers, floats, comparisons and conversions.

use cuda_ptx::instruction::Effect;
use cuda_ptx::{Constant, Entity, Instruction, Operand as Source, Statement};

use super::operand::{Type, bits_of, bytes_of, integer, number, space_of};
use super::{Lowering, Refused, negated};
use crate::ir::{Op, Operand, Origin, Step};

/// Refuses the operands of an instruction.
pub(super) fn unknown_form(it: &Instruction<'_>) -> Refused {
    Err(format!("{} with operands of an unknown form", it.form()))
}

/// Returns the bits of an instruction's type.
fn bits_of_last(it: &Instruction<'_>) -> Option<u8> {
    bits_of(it.words.last()?)
}

/// Returns the bits of a floating-point type, and those of its least positive normal number and of infinity.
fn float(ty: &str) -> Option<(u8, i128, i128)> {
    match ty {
        "f32" => Some((32, 0x0080_0000, 0x7f80_0000)),
        "f64" => Some((64, 0x0010_0000_0000_0000, 0x7ff0_0000_0000_0000)),
        _ => None,
    }
}

/// Returns the step of a conversion from or to a float, its bits and sign, and the bits of what it converts.
fn float_cvt(into: &str, source: &str) -> Option<(Op, u8, bool, u8)> {
    match (integer(into), float(into), integer(source), float(source)) {
        (_, Some((bits, ..)), _, Some((size, ..))) => Some((Op::FloatCvt, bits, false, size)),
        (_, Some((bits, ..)), Some(Type { bits: size, is_signed }), _) => {
            Some((Op::FromInteger, bits, is_signed, size))
        }
        (Some(Type { bits, is_signed }), _, _, Some((size, ..))) => {
            Some((Op::ToInteger, bits, is_signed, size))
        }
        _ => None,
    }
}

/// Returns whether an instruction has no other words than these behind its name, but types.
fn only(words: &[&str], known: &str) -> bool {
    words[1..].iter().all(|word| bytes_of(word).is_some() || known.split(' ').any(|own| own == *word))
}

/// Returns whether a constant shifts a value of some bits by the same amount in whichever width it is read.
fn is_amount(constant: Constant, bits: u8) -> bool {
    let [short, word, long] = [16, 32, 64].map(|it| constant.bits(it).map(|it| it.min(bits.into())));
    short == word && word == long
}

impl<'m, 'a> Lowering<'m, 'a> {
    /// Lowers what computes values from registers.
    pub(super) fn computes(&mut self, it: &'m Instruction<'a>, effect: Effect) -> Refused {
        use Constant::Integer;
        use Source::Constant as Number;
        let last = it.words.last().copied().unwrap_or_default();
        let (name, ty, bits) = (it.opcode(), integer(last), bits_of(last).map(i128::from));
        match (name, &it.operands[..]) {
            ("setp", [results, a, b, rest @ ..]) => self.setp(it, results, a, b, rest),
            ("mov" | "and" | "or" | "xor" | "not", [to, from @ ..]) if last == "pred" => {
                self.logic(name, to, from)
            }
            ("mov", [Source::Vector(parts), from]) => self.unpack(it, parts.len(), from),
            ("mov", [to, Source::Vector(parts)]) => {
                let to = self.results(to)?;
                self.unknown(to, Origin::Computed, parts);
                Ok(())
            }
            ("mov", [to, from]) => self.mov(it, to, from),
            ("cvta", [to, from]) => self.cvta(it, to, from),
            ("cvt", [to, from, ..]) => self.cvt(it, to, from),
            ("selp", [to, a, b, test]) => self.selp(it, to, [a, b, test]),
            ("bfe", [to, a, Number(Integer(start)), Number(Integer(length))])
                if ty.is_some_and(|ty| !ty.is_signed)
                    && (0..32).contains(start)
                    && (1..32).contains(length) =>
            {
                self.extract(ty, to, a, (*start, *length))
            }
            ("bfi", [to, a, b, Number(Integer(start)), Number(Integer(length))])
                if *start > 0 && *length > 0 && bits == Some(start + length) =>
            {
                self.insert(it, to, [a, b], *start)
            }
            ("abs", [to @ Source::Name(name), from])
                if float(last).is_some() && self.is_only_a_float(name.entity) =>
            {
                self.magnitude(it, to, from)
            }
            ("popc" | "clz" | "brev" | "bfind", [to, from])
                if matches!(last, "b32" | "b64" | "u32" | "u64") =>
            {
                self.count_bits(it, to, from)
            }
            _ if matches!(effect, Effect::Computes | Effect::Compares) => self.arithmetic(it, ty),
            _ => Err(format!("the instruction {}", it.form())),
        }
    }

    /// Lowers `mov`, `and`, `or`, `xor` and `not` of predicates.
    fn logic(&mut self, name: &str, to: &Source<'a>, from: &[Source<'a>]) -> Refused {
        let (to, mut from) = (self.result(to)?, self.predicates(from)?);
        let op = match name {
            "and" => Op::PredAnd,
            "or" => Op::PredOr,
            "xor" => Op::PredXor,
            _ => Op::PredMov,
        };
        if let ("not", [one]) = (name, &mut from[..]) {
            *one = negated(*one);
        }
        self.push(Step { bits: 1, to: vec![to], from, ..Step::new(op) });
        Ok(())
    }

    fn mov(&mut self, it: &'m Instruction<'a>, to: &Source<'a>, from: &Source<'a>) -> Refused {
        let to = self.result(to)?;
        let bits = bits_of_last(it).filter(|bits| *bits == self.bits(to));
        let bits = bits.ok_or_else(|| "mov between different widths".to_owned())?;
        if bits > 64 {
            self.unknown(vec![to], Origin::Computed, std::slice::from_ref(from));
            return Ok(());
        }
        let from = vec![self.value(from, bits, false)?];
        self.push(Step { bits, to: vec![to], from, ..Step::new(Op::Mov) });
        Ok(())
    }

    /// Lowers a `mov` of a register into the registers of its parts.
    fn unpack(&mut self, it: &'m Instruction<'a>, parts: usize, from: &Source<'a>) -> Refused {
        let results = self.results(&it.operands[0])?;
        let whole = results.iter().map(|it| self.bits(*it)).sum();
        let all_given = results.len() == parts && bits_of_last(it) == Some(whole);
        if !all_given || whole > 64 || matches!(from, Source::Vector(_)) {
            self.unknown(results, Origin::Computed, std::slice::from_ref(from));
            return Ok(());
        }
        let (from, mut shift) = (self.value(from, whole, false)?, 0);
        for to in results {
            let part = self.temporary(whole);
            let shifted = vec![from, Operand::Number(shift)];
            self.push(Step { bits: whole, to: vec![part], from: shifted, ..Step::new(Op::Shr) });
            let (bits, from) = (self.bits(to), vec![Operand::Register(part)]);
            self.push(Step { bits, to: vec![to], from, size: u32::from(whole), ..Step::new(Op::Cvt) });
            shift += i64::from(bits);
        }
        Ok(())
    }

    fn cvta(&mut self, it: &'m Instruction<'a>, to: &Source<'a>, from: &Source<'a>) -> Refused {
        let space = space_of(&it.words)?;
        let (to, from) = (self.result(to)?, self.value(from, 64, false)?);
        let op = if it.has("to") { Op::FromGeneric } else { Op::ToGeneric };
        if self.bits(to) != 64 {
            return Err("cvta of 32 bits".to_owned());
        }
        self.push(Step { bits: 64, to: vec![to], from: vec![from], space, ..Step::new(op) });
        Ok(())
    }

    fn selp(&mut self, it: &'m Instruction<'a>, to: &Source<'a>, [a, b, test]: [&Source<'a>; 3]) -> Refused {
        let (to, bits) = (self.result(to)?, bits_of_last(it).unwrap_or(0));
        if bits > 64 || self.bits(to) != bits {
            return unknown_form(it);
        }
        let from = vec![self.value(a, bits, false)?, self.value(b, bits, false)?, self.predicate(test)?];
        self.push(Step { bits, to: vec![to], from, ..Step::new(Op::Selp) });
        Ok(())
    }

    /// Lowers `bfe` without a sign, of bits at a constant place.
    fn extract(
        &mut self,
        ty: Option<Type>,
        to: &Source<'a>,
        from: &Source<'a>,
        (start, length): (i128, i128),
    ) -> Refused {
        let (to, bits) = (self.result(to)?, ty.map_or(32, |ty| ty.bits));
        let (part, from) = (self.temporary(bits), self.value(from, bits, false)?);
        let from = vec![from, number(start, bits)?];
        self.push(Step { bits, to: vec![part], from, ..Step::new(Op::Shr) });
        let from = vec![Operand::Register(part), number((1 << length) - 1, bits)?];
        self.push(Step { bits, to: vec![to], from, ..Step::new(Op::And) });
        Ok(())
    }

    /// Lowers `bfi` of the lower bits of one number, and above them those of another one.
    fn insert(
        &mut self,
        it: &'m Instruction<'a>,
        to: &Source<'a>,
        [above, below]: [&Source<'a>; 2],
        start: i128,
    ) -> Refused {
        let (to, bits) = (self.result(to)?, bits_of_last(it).unwrap_or(32));
        if self.bits(to) != bits {
            return unknown_form(it);
        }
        let (upper, lower) = (self.temporary(bits), self.temporary(bits));
        let from = vec![self.value(above, bits, false)?, number(start, 32)?];
        self.push(Step { bits, to: vec![upper], from, ..Step::new(Op::Shl) });
        let from = vec![self.value(below, bits, false)?, number((1 << start) - 1, bits)?];
        self.push(Step { bits, to: vec![lower], from, ..Step::new(Op::And) });
        let from = vec![Operand::Register(upper), Operand::Register(lower)];
        self.push(Step { bits, to: vec![to], from, ..Step::new(Op::Add) });
        Ok(())
    }

    /// Lowers `abs` of a float: the bits without the sign. Of a NaN, the result is another NaN: its bits must
    /// not matter.
    fn magnitude(&mut self, it: &'m Instruction<'a>, to: &Source<'a>, from: &Source<'a>) -> Refused {
        let (bits, ..) = it.words.last().and_then(|last| float(last)).unwrap_or((32, 0, 0));
        let to = self.result(to)?;
        let from = vec![self.value(from, bits, false)?, number((1 << (bits - 1)) - 1, bits)?];
        self.push(Step { bits, to: vec![to], from, flag: true, ..Step::new(Op::And) });
        Ok(())
    }

    /// Lowers `popc`, `clz`, `brev` and `bfind` of a number without a sign.
    fn count_bits(&mut self, it: &'m Instruction<'a>, to: &Source<'a>, from: &Source<'a>) -> Refused {
        let (name, to, bits) = (it.opcode(), self.result(to)?, bits_of_last(it).unwrap_or(32));
        if self.bits(to) != if name == "brev" { bits } else { 32 } {
            return unknown_form(it);
        }
        let op = match name {
            "popc" => Op::Popc,
            "brev" => Op::Brev,
            _ => Op::Clz,
        };
        let from = vec![self.value(from, bits, false)?];
        // The place of the highest bit: of zero, -1.
        let is_place = name == "bfind" && !it.has("shiftamt");
        let into = if is_place { self.temporary(32) } else { to };
        let flag = name == "bfind" && !is_place;
        self.push(Step { bits, to: vec![into], from, flag, ..Step::new(op) });
        if is_place {
            let from = vec![Operand::Number(i64::from(bits) - 1), Operand::Register(into)];
            self.push(Step { bits: 32, to: vec![to], from, ..Step::new(Op::Sub) });
        }
        Ok(())
    }

    /// Lowers an instruction that computes its first operand from the others.
    fn arithmetic(&mut self, it: &'m Instruction<'a>, ty: Option<Type>) -> Refused {
        let (name, operands) = (it.opcode(), &it.operands[..]);
        let Some((to, from)) = operands.split_first() else {
            return Err(format!("the instruction {}", it.form()));
        };
        if operands.iter().any(|it| matches!(it, Source::Address(..))) {
            return Err(format!("the instruction {} with an address", it.form()));
        }
        let op = match name {
            "add" => Some(Op::Add),
            "sub" => Some(Op::Sub),
            "mul" | "mad" if it.words.contains(&"lo") => Some(Op::Mul),
            "mul" | "mad" if it.words.contains(&"wide") => Some(Op::MulWide),
            "mul" if it.words.contains(&"hi") => Some(Op::MulHi),
            "mul24" | "mad24" if it.words.contains(&"lo") => Some(Op::Mul24),
            "neg" => Some(Op::Neg),
            "not" => Some(Op::Not),
            "abs" => Some(Op::Abs),
            "min" => Some(Op::Min),
            "max" => Some(Op::Max),
            "and" => Some(Op::And),
            "or" => Some(Op::Or),
            "xor" => Some(Op::Xor),
            "shl" => Some(Op::Shl),
            "shr" => Some(Op::Shr),
            "div" => Some(Op::Div),
            "rem" => Some(Op::Rem),
            _ => None,
        };
        let float_op = match name {
            "min" => Some(Op::FloatMin),
            "max" => Some(Op::FloatMax),
            "add" => Some(Op::FloatAdd),
            _ => None,
        };
        if let (Some(op), Some((bits, ..)), [a, b]) = (float_op, float(it.words.last().unwrap_or(&"")), from)
            && only(&it.words, "ftz rn rz rm rp NaN f32 f64")
            && let Ok(values) = [a, b].into_iter().map(|it| self.value(it, bits, false)).collect()
        {
            let (to, flag) = (self.result(to)?, it.words.contains(&"NaN"));
            return self.float(Step {
                bits,
                to: vec![to],
                from: values,
                flag,
                size: bits.into(),
                ..Step::new(op)
            });
        }
        // Words such as `sat` change the result.
        let is_plain = it.words[1..]
            .iter()
            .all(|word| integer(word).is_some() || ["lo", "hi", "wide", "cc"].contains(word));
        let is_sum = ["mad", "mad24"].contains(&name);
        let (Some(op), Some(ty), true) = (op, ty, is_plain) else {
            return self.unknown_results(it, to, from);
        };
        let Type { bits, is_signed } = ty;
        let to = self.result(to)?;
        let wide = if op == Op::MulWide { bits.saturating_mul(2) } else { bits };
        if self.bits(to) != wide {
            return Err(format!("{} into a register of {} bits", it.form(), self.bits(to)));
        }
        let mut values = Vec::new();
        for (at, value) in from.iter().enumerate() {
            // The amount of a shift has 32 bits. Of a constant ptxas takes those of the type, here and there.
            let own = if matches!(op, Op::Shl | Op::Shr) && at == 1 {
                if matches!(value, Source::Constant(own) if !is_amount(*own, bits)) {
                    return Err(format!("{} by a number that has too many bits", it.form()));
                }
                32
            } else if at == 2 {
                wide
            } else {
                bits
            };
            values.push(self.value(value, own, false)?);
        }
        let arity = if matches!(op, Op::Neg | Op::Not | Op::Abs) { 1 } else { 2 };
        let added = values.split_off(arity.min(values.len()));
        if values.len() != arity || added.len() != usize::from(is_sum) {
            return Err(format!("{} with other operands", it.form()));
        }
        let Some(added) = added.first() else {
            self.push(Step { bits, is_signed, to: vec![to], from: values, ..Step::new(op) });
            return Ok(());
        };
        let product = self.temporary(wide);
        self.push(Step { bits, is_signed, to: vec![product], from: values, ..Step::new(op) });
        let from = vec![Operand::Register(product), *added];
        self.push(Step { bits: wide, to: vec![to], from, ..Step::new(Op::Add) });
        Ok(())
    }

    /// Lowers a computation of which only the types of the results are known.
    fn unknown_results(&mut self, it: &'m Instruction<'a>, to: &Source<'a>, from: &[Source<'a>]) -> Refused {
        let results = self.results(to)?;
        let is_float = it.words.iter().any(|word| word.contains('f') && bytes_of(word).is_some());
        let first = self.kernel.steps.len();
        self.unknown(results, if is_float { Origin::Float } else { Origin::Computed }, from);
        // Of a carry or a predicate nobody knows here whether each use sees the same.
        let mut is_predicate = |it| !matches!(it, &Source::Constant(_)) && self.predicate(it).is_ok();
        if ["addc", "subc", "madc"].contains(&it.opcode()) || from.iter().any(&mut is_predicate) {
            let unwritten = Operand::Register(self.temporary(32));
            for step in self.kernel.steps[first..].iter_mut().filter(|it| it.bits > 1) {
                step.from.push(unwritten);
            }
        }
        Ok(())
    }

    /// Adds a step of floats.
    fn float(&mut self, step: Step) -> Refused {
        // An integer is extended.
        let fits = |to: &u32| match self.bits(*to) {
            own if step.op == Op::ToInteger => own >= step.bits,
            own => own == step.bits,
        };
        if !step.to.iter().all(fits) {
            return Err("a float in a register of other bits".to_owned());
        }
        self.push(step);
        Ok(())
    }

    fn predicates(&mut self, list: &[Source<'a>]) -> Refused<Vec<Operand>> {
        list.iter().map(|it| self.predicate(it)).collect()
    }

    fn setp(
        &mut self,
        it: &'m Instruction<'a>,
        results: &Source<'a>,
        a: &Source<'a>,
        b: &Source<'a>,
        rest: &[Source<'a>],
    ) -> Refused {
        let all = self.results(results)?;
        let ty = it.words.last().and_then(|word| integer(word));
        let (op, is_unsigned) = match it.words.get(1).copied().unwrap_or_default() {
            "eq" => (Some(Op::Eq), false),
            "ne" => (Some(Op::Ne), false),
            "lt" => (Some(Op::Lt), false),
            "le" => (Some(Op::Le), false),
            "gt" => (Some(Op::Gt), false),
            "ge" => (Some(Op::Ge), false),
            "lo" => (Some(Op::Lt), true),
            "ls" => (Some(Op::Le), true),
            "hi" => (Some(Op::Gt), true),
            "hs" => (Some(Op::Ge), true),
            _ => (None, false),
        };
        let test = if let (Some(op), Some(Type { bits, is_signed })) = (op, ty) {
            let test = self.temporary(1);
            let from = vec![self.value(a, bits, false)?, self.value(b, bits, false)?];
            let is_signed = is_signed && !is_unsigned;
            self.push(Step { bits, is_signed, to: vec![test], from, ..Step::new(op) });
            Operand::Register(test)
        } else if let Some(test) = self.float_test(it, a, b)? {
            test
        } else {
            self.unknown(all, Origin::Float, &[a.clone(), b.clone()]);
            return Ok(());
        };
        let (first, second) = match results {
            Source::Pair(both) => (self.results(&both[0])?, self.results(&both[1])?),
            one => (self.results(one)?, Vec::new()),
        };
        let (combine, more) = match (it.words.get(2), rest) {
            (Some(&"and"), [one]) => (Op::PredAnd, Some(self.predicate(one)?)),
            (Some(&"or"), [one]) => (Op::PredOr, Some(self.predicate(one)?)),
            (Some(&"xor"), [one]) => (Op::PredXor, Some(self.predicate(one)?)),
            (_, []) => (Op::PredMov, None),
            _ => return Err("setp of an unknown form".to_owned()),
        };
        // A result may be the predicate that is combined: both are computed before either is written.
        let mut moves = Vec::new();
        for (results, test) in [(first, test), (second, negated(test))] {
            for to in results {
                let between = self.temporary(1);
                let from = std::iter::once(test).chain(more).collect();
                self.push(Step { bits: 1, to: vec![between], from, ..Step::new(combine) });
                moves.push((to, Operand::Register(between)));
            }
        }
        for (to, from) in moves {
            self.push(Step { bits: 1, to: vec![to], from: vec![from], ..Step::new(Op::PredMov) });
        }
        Ok(())
    }

    /// Lowers the comparison of a floating-point number with a positive one to comparisons of their bits,
    /// which are in the same order. The bits of infinity are the highest of a number: a NaN has higher ones.
    fn float_test(
        &mut self,
        it: &'m Instruction<'a>,
        a: &Source<'a>,
        b: &Source<'a>,
    ) -> Refused<Option<Operand>> {
        let last = it.words.last().copied().unwrap_or_default();
        let (Some((bits, least, infinity)), Source::Constant(limit)) = (float(last), b) else {
            return Ok(None);
        };
        let limit = match limit {
            Constant::Integer(_) => None,
            float => float.bits(bits.into()).map(i128::from),
        };
        let Some(limit) = limit else { return Ok(None) };
        // Below the least normal number, `ftz` changes the order.
        if !(least..=infinity).contains(&limit) {
            return Ok(None);
        }
        let (op, is_negated) = match it.words.get(1).copied().unwrap_or_default() {
            "ge" => (Op::Ge, false),
            "gt" => (Op::Gt, false),
            "ltu" => (Op::Ge, true),
            "leu" => (Op::Gt, true),
            "eq" => (Op::Eq, false),
            "neu" => (Op::Eq, true),
            _ => return Ok(None),
        };
        let a = self.value(a, bits, false)?;
        let mut compare = |op: Op, limit: i128| {
            let test = self.temporary(1);
            let from = vec![a, number(limit, bits)?];
            self.push(Step { bits, to: vec![test], from, flag: true, ..Step::new(op) });
            Ok::<_, String>(Operand::Register(test))
        };
        let from = vec![compare(op, limit)?, compare(Op::Le, infinity)?];
        let test = self.temporary(1);
        self.push(Step { bits: 1, to: vec![test], from, ..Step::new(Op::PredAnd) });
        Ok(Some(if is_negated { Operand::Negated(test) } else { Operand::Register(test) }))
    }

    /// Returns whether a function uses a register only in computations and comparisons of floating-point
    /// numbers. Which NaN it holds cannot be seen there.
    fn is_only_a_float(&mut self, register: Entity) -> bool {
        let Entity::Register(register) = register else { return false };
        let body = self.frame.body;
        let others = self.no_floats.entry(self.frame.function).or_insert_with(|| {
            let mut others = vec![false; body.registers.len()];
            for statement in &body.statements {
                let Statement::Instruction(it) = statement else { continue };
                let computes = it.words.last().is_some_and(|last| float(last).is_some())
                    && ["abs", "add", "div", "fma", "mul", "neg", "rcp", "setp", "sqrt", "sub"]
                        .contains(&it.opcode());
                for operand in it.operands.iter().filter(|_| !computes) {
                    operand.each_name(&mut |name| {
                        if let Entity::Register(at) = name.entity {
                            others[at] = true;
                        }
                    });
                }
            }
            others
        });
        !others[register]
    }

    fn cvt(&mut self, it: &'m Instruction<'a>, to: &Source<'a>, from: &Source<'a>) -> Refused {
        let types: Vec<&str> =
            it.words[1..].iter().copied().filter(|word| bytes_of(word).is_some()).collect();
        let results = self.results(to)?;
        let sources = &it.operands[1..];
        let ([into, source], [to]) = (&types[..], &results[..]) else {
            self.unknown(results, Origin::Float, sources);
            return Ok(());
        };
        // Of these words, each leaves whole numbers and the order of numbers as they are.
        if let Some((op, bits, is_signed, size)) = float_cvt(into, source)
            && only(&it.words, "ftz rn rz rm rp rni rzi rmi rpi")
        {
            let from = vec![self.value(from, size, op == Op::FromInteger)?];
            let step = Step { bits, is_signed, to: vec![*to], from, ..Step::new(op) };
            return self.float(Step { size: size.into(), ..step });
        }
        match (integer(into), integer(source)) {
            (Some(into), Some(source)) if !it.words.contains(&"sat") => {
                let from = vec![self.value(from, source.bits, true)?];
                let step = Step {
                    bits: into.bits,
                    is_signed: into.is_signed,
                    to: vec![*to],
                    from,
                    ..Step::new(Op::Cvt)
                };
                self.push(Step { size: u32::from(source.bits), flag: source.is_signed, ..step });
            }
            // A conversion to an integer saturates.
            (Some(Type { bits: bits @ (8 | 16), is_signed }), None) => {
                let (low, high) =
                    if is_signed { (-1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
                self.within(*to, low, high, Origin::Float, sources);
            }
            (_, None) => self.unknown(results, Origin::Float, sources),
            _ => self.unknown(results, Origin::Computed, sources),
        }
        Ok(())
    }
}
