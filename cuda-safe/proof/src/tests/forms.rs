//! Each form of instruction that the lowering takes as exact or as bounded, against what a GPU answered.
#![allow(
    clippy::cast_sign_loss,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "registers are bits, and so are the answers"
)]

mod complete;
mod constants;
mod evaluate;
#[path = "../../tests/forms/table.rs"]
mod table;

use super::oracle::Random;
use crate::domain::{Affine, FloatBounds, State, Value, range_of};
use crate::engine::Analysis;
use crate::ir::{Kernel, Op, Operand, Origin, Step};
use crate::{Launch, kernels};
use evaluate::{evaluate, float, read};
use table::{COUNT, forms, header};

/// What a GPU answered: see `cuda-safe/tests/device/forms.rs`.
const ANSWERS: &str = include_str!("../../tests/forms/answers.tsv");

const LAUNCH: Launch<'_> =
    Launch { grid: [1; 3], block: [1; 3], cluster: None, is_cooperative: false, shared: 0, arguments: &[] };

/// What a step of a form's kernel is for.
enum Role<'t> {
    /// Loads the operand with this place in the list.
    Load(usize),
    /// Computes, for the instruction with this number, with the words of its own instruction.
    Compute(usize, Vec<&'t str>),
    /// Uses a result.
    Use(Operand),
    Other,
}

/// Returns what each step of a form's kernel is for.
fn roles<'t>(kernel: &Kernel, text: &'t str) -> Vec<Role<'t>> {
    let lines: Vec<&str> = text.lines().collect();
    let kernel_begins = lines.iter().position(|it| it.starts_with(".visible")).unwrap();
    let mut instruction = 0;
    let role = |step: &Step| {
        let at = usize::try_from(step.at.1).unwrap() - 1;
        // The second brace begins the first instruction. The lines of a called function come before.
        if let Some(own) = lines.get(kernel_begins..=at) {
            instruction = own.iter().filter(|it| **it == "{").count() - 1;
        }
        match (step.op, lines[at].split_once(", [x+")) {
            (Op::Load, Some((_, offset))) => {
                Role::Load(offset.trim_end_matches("];").parse::<usize>().unwrap() / 8)
            }
            (Op::Store, _) if lines[at].starts_with("st.global.b8") => Role::Use(step.from[0]),
            (Op::Exit, _) => step.guard.map_or(Role::Other, Role::Use),
            (Op::Load | Op::Store, _) => Role::Other,
            _ => Role::Compute(instruction, table::words(lines[at])),
        }
    };
    kernel.steps.iter().map(role).collect()
}

/// A form, its kernel and its operands.
struct Case<'t> {
    name: &'t str,
    kernel: Kernel,
    roles: Vec<Role<'t>>,
    operands: Vec<u64>,
}

impl Case<'_> {
    fn bits(&self, operand: Operand) -> u8 {
        match operand {
            Operand::Register(it) | Operand::Negated(it) => self.kernel.registers[it as usize],
            _ => 64,
        }
    }

    /// Returns the results of a thread, or `None` where the steps say only between which numbers one is.
    fn answers(&self, thread: usize) -> Vec<Option<u64>> {
        let mut registers: Vec<Option<u64>> = vec![Some(0); self.kernel.registers.len()];
        let mut answers = Vec::new();
        for (step, role) in self.kernel.steps.iter().zip(&self.roles) {
            let value = |it: &Operand| match *it {
                Operand::Register(it) => registers[it as usize],
                Operand::Negated(it) => registers[it as usize].map(|it| 1 - it),
                Operand::Number(it) => Some(it.cast_unsigned()),
                _ => Some(0),
            };
            let result = match role {
                Role::Load(at) => Some(self.operands[at + thread]),
                Role::Compute(_, words) => {
                    let from: Option<Vec<u64>> = step.from.iter().map(value).collect();
                    let bits = step.to.first().map_or(64, |it| self.bits(Operand::Register(*it)));
                    from.and_then(|from| evaluate(step, &from, bits.into(), words))
                }
                Role::Use(result) => {
                    answers.push(value(result));
                    continue;
                }
                Role::Other => continue,
            };
            if let Some(to) = step.to.first() {
                let mask = u64::MAX >> (64 - self.bits(Operand::Register(*to)));
                registers[*to as usize] = result.map(|it| it & mask);
            }
        }
        answers
    }
}

/// The analysis of one thread's instructions.
struct Known<'c> {
    analysis: Analysis<'c>,
    /// The operands as symbols, and their numbers.
    symbols: Vec<(Affine, i128)>,
}

impl Known<'_> {
    /// Returns what the analysis knows of an operand: its number, or with a random generator that it is among
    /// others.
    fn operand(&mut self, value: u64, bits: u8, is_float: bool, random: Option<&mut Random>) -> Value {
        let all = u32::from(bits);
        let Some(random) = random else {
            return Value::Number(Affine::constant(read(value, all, true)));
        };
        let number = read(value, all, random.below(2) == 0);
        let mut distance = || i128::from(random.next() >> 1 >> (63 - random.below(all.into())));
        let (low, high) = (number - distance(), number + distance());
        let form = self.analysis.symbols.fresh(low, high, Origin::Exact, (0, 0));
        let value = float(value, all);
        if is_float && value.abs() < 1e15 {
            #[expect(clippy::cast_possible_truncation, reason = "a whole number")]
            let mut end = |value: f64, sign: i128| {
                Some(Affine::constant(value as i128 + sign * i128::from(random.below(3))))
                    .filter(|_| random.below(4) > 0)
            };
            let between = FloatBounds { low: end(value.floor(), -1), high: end(value.ceil(), 1) };
            self.analysis.symbols.set_float(form.terms[0].0, bits, between);
        }
        self.symbols.push((form.clone(), number));
        Value::Number(form)
    }

    /// Asserts that what a state knows of a result is true of an answer. Returns whether it knows the answer.
    fn check(&mut self, state: &State, result: Operand, answer: u64, bits: u8) -> Result<bool, String> {
        let symbols = &mut self.analysis.symbols;
        let mut fixed = state.clone();
        for (form, number) in &self.symbols {
            let is_possible = symbols.assume(&mut fixed, &form.add(-number).unwrap(), 0)
                && symbols.assume(&mut fixed, &form.times(-1).unwrap().add(*number).unwrap(), 0);
            if !is_possible {
                return Err("the facts exclude the operands".to_owned());
            }
        }
        if bits == 1 {
            let test = self.analysis.test(state, result);
            for state in [state, &fixed] {
                if !self.analysis.assume(&mut state.clone(), &test, answer != 0) {
                    return Err(format!("{test:?}"));
                }
            }
            return Ok(!self.analysis.assume(&mut fixed, &test, answer == 0));
        }
        let form = self.analysis.number(state, result, (0, 0));
        let symbols = &mut self.analysis.symbols;
        let mut is_exact = false;
        for (state, is_signed) in [(state, false), (state, true), (&fixed, false), (&fixed, true)] {
            let (mut state, answer) = (state.clone(), read(answer, bits.into(), is_signed));
            let reading = symbols.reading(&mut state, &form, bits, is_signed);
            let range = symbols.range(&state, &reading).unwrap_or(range_of(bits, is_signed));
            if !(range.0..=range.1).contains(&answer) {
                return Err(format!("{range:?}"));
            }
            is_exact |= range.0 == range.1;
        }
        if let ([(symbol, 1)], 0) = (&form.terms[..], form.constant)
            && let Some(FloatBounds { low, high }) = symbols.float(*symbol, bits.into()).cloned()
        {
            let value = float(answer, bits.into());
            let low = low.and_then(|it| symbols.low(&fixed, &it));
            let high = high.and_then(|it| symbols.high(&fixed, &it));
            #[expect(clippy::cast_precision_loss, reason = "whole numbers that floats have")]
            let range =
                low.map_or(f64::NEG_INFINITY, |it| it as f64)..=high.map_or(f64::INFINITY, |it| it as f64);
            if !range.contains(&value) {
                return Err(format!("floats of {range:?}"));
            }
            is_exact |= low.is_some() && low == high;
        }
        Ok(is_exact)
    }
}

impl Case<'_> {
    /// Asserts that the analysis of a thread's instructions agrees with the answers. Returns how many it
    /// knows.
    fn check(&self, thread: usize, answers: &[u64], mut random: Option<&mut Random>) -> usize {
        let mut analysis = Analysis::new(&self.kernel, &LAUNCH, u64::MAX);
        analysis.is_partitioned = thread % 16 < 15;
        let mut known = Known { analysis, symbols: Vec::new() };
        let mut base = State::new(vec![Value::Unset; self.kernel.registers.len()]);
        let (mut state, mut current, mut answers, mut exact) = (base.clone(), 0, answers.iter(), 0);
        let is_float = self.name.ends_with("f32") || self.name.ends_with("f64");
        for (index, (step, role)) in self.kernel.steps.iter().zip(&self.roles).enumerate() {
            match role {
                Role::Load(at) => {
                    let Some(to) = step.to.first() else { continue };
                    let bits = self.bits(Operand::Register(*to));
                    let value = self.operands[at + thread] & u64::MAX >> (64 - bits);
                    let value = known.operand(value, bits, is_float, random.as_deref_mut());
                    state.registers[*to as usize] = value;
                }
                Role::Compute(instruction, _) => {
                    // Each instruction begins with what is known of the operands.
                    if *instruction != current {
                        if current == 0 {
                            base = state;
                        }
                        (state, current) = (base.clone(), *instruction);
                    }
                    known.analysis.step(&mut state, index);
                }
                Role::Use(result) => {
                    let (bits, answer) = (self.bits(*result), *answers.next().unwrap());
                    let checked = known.check(&state, *result, answer, bits);
                    exact += usize::from(checked.unwrap_or_else(|why| {
                        let operands: Vec<String> =
                            (0..3).map(|at| format!("{:x}", self.operands[at * COUNT + thread])).collect();
                        panic!(
                            "{}, operands {}: {answer:x} is not in {why} by {step:?}, {:?}",
                            self.name,
                            operands.join(" "),
                            self.kernel.steps[index - 1]
                        )
                    }));
                }
                Role::Other => {}
            }
        }
        exact
    }
}

impl Case<'_> {
    /// Asserts that the ranges in the steps contain the lowest and the largest answer. Returns how many do.
    fn check_ranges(&self, low: i128, high: i128) -> usize {
        let range = |(index, role): (usize, &Role<'_>)| {
            let Role::Use(Operand::Register(result)) = role else { return None };
            let step = self.kernel.steps[..index].iter().rfind(|it| it.to.contains(result)).unwrap();
            let (Op::Unknown, [Operand::Number(from), Operand::Number(to), ..]) = (step.op, &step.from[..])
            else {
                panic!("{}: a result of {step:?} is not known", self.name);
            };
            Some((i128::from(*from), i128::from(*to)))
        };
        let ranges = self.roles.iter().enumerate().filter_map(range);
        ranges
            .inspect(|it| {
                assert!(it.0 <= low && high <= it.1, "{}: {low}..={high} is not in {it:?}", self.name)
            })
            .count()
    }
}

#[test]
fn what_is_known_of_each_form_holds_for_the_answers_of_a_gpu() {
    let lines: Vec<&str> = ANSWERS.lines().filter(|it| !it.starts_with('#')).collect();
    let forms = forms();
    assert_eq!(lines.len(), forms.len(), "each form has answers");
    assert!(!ANSWERS.contains("emulator"), "the answers are those of hardware");
    let mut random = Random(38);
    let (mut exact, mut all, mut ranges, mut wrong) = (0, 0, 0, Vec::new());
    for (form, line) in forms.iter().zip(lines) {
        let text = header() + &form.kernel("k", true);
        let kernel = kernels(&text).unwrap().remove(0);
        let roles = roles(&kernel, &text);
        let case = Case { name: &form.name, kernel, roles, operands: form.operands() };
        let threads: Option<Vec<Vec<u64>>> =
            (0..COUNT).map(|it| case.answers(it).into_iter().collect()).collect();
        let Some(threads) = threads else {
            let fields: Vec<&str> = line.split('\t').collect();
            assert_eq!(fields[0], form.name);
            let used = case.check_ranges(fields[1].parse().unwrap(), fields[2].parse().unwrap());
            assert_eq!(used, form.results(), "{}: each result is used", form.name);
            ranges += 1;
            continue;
        };
        let results = threads[0].len();
        assert_eq!(results, form.results(), "{}: each result is used", form.name);
        let answers: Vec<u64> = (0..results).flat_map(|at| threads.iter().map(move |it| it[at])).collect();
        let own = form.line(&answers);
        if own.trim_end() != line {
            wrong.push(format!("steps {own}GPU   {line}"));
            continue;
        }
        for (thread, answers) in threads.iter().enumerate() {
            exact += case.check(thread, answers, None);
            if thread % 8 == 0 {
                case.check(thread, answers, Some(&mut random));
            }
        }
        all += answers.len();
    }
    assert!(wrong.is_empty(), "what steps compute, and what a GPU answered:\n{}", wrong.join("\n"));
    // The others are rounded floats, divisions by numbers that are not positive, and combinations by `xor`.
    assert!(exact * 10 > all * 7, "the analysis knows {exact} of {all} answers");
    assert!(all > 2_500_000 && ranges > 10, "{all} answers, {ranges} forms with ranges");
}
