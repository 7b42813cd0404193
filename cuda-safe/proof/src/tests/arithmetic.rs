//! The arithmetic against direct evaluation: every value of small types, and random programs of a few steps.

use std::rc::Rc;

use super::oracle::Random;
use crate::domain::{Affine, State, Symbol, Symbols, Test, Value, range_of, signed};
use crate::engine::Analysis;
use crate::ir::{Graph, Kernel, Op, Operand, Origin, Parameter, Step};
use crate::{Argument, Launch};

/// Returns what a form is, with numbers for the symbols.
fn evaluate(form: &Affine, values: &[(Symbol, i128)]) -> i128 {
    form.terms.iter().fold(form.constant, |sum, (symbol, factor)| {
        let value = values.iter().find(|(own, _)| own == symbol);
        sum + factor * value.expect("a value for each symbol").1
    })
}

#[test]
fn quotients_of_all_small_forms_are_those_of_whole_numbers() {
    for by in 1..=12 {
        for factor in -7..=7_i128 {
            for constant in -9..=9 {
                let mut symbols = Symbols::default();
                let mut state = State::default();
                let x = symbols.fresh(-5, 6, Origin::Exact, (0, 0));
                let form = x.times(factor).and_then(|it| it.add(constant)).unwrap();
                let floor = symbols.floor(&mut state, &form, by).unwrap();
                let range = symbols.range(&state, &floor).unwrap();
                let rest = form.plus(&floor, -by).unwrap();
                let rests = symbols.range(&state, &rest).unwrap();
                assert!(rests.0 >= 0 - (by - 1) && rests.1 < 2 * by, "the rest has a bound: {rests:?}");
                for value in -5..=6 {
                    let wanted = (value * factor + constant).div_euclid(by);
                    assert!(
                        range.0 <= wanted && wanted <= range.1,
                        "({factor} * {value} + {constant}) / {by}: {range:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_reading_of_each_small_form_is_what_the_bits_say() {
    for is_signed in [false, true] {
        for (low, high) in [(0, 10), (0, 255), (-3, 4), (250, 260), (-300, 300), (120, 135), (-200, -100)] {
            let mut symbols = Symbols::default();
            let mut state = State::default();
            let x = symbols.fresh(low, high, Origin::Exact, (0, 0));
            let reading = symbols.reading(&mut state, &x, 8, is_signed);
            let range = symbols.range(&state, &reading).unwrap();
            let types = range_of(8, is_signed);
            assert!(types.0 <= range.0 && range.1 <= types.1, "{low}..{high} has {range:?}");
            let of = |value: i128| if is_signed { signed(value, 8) } else { value.rem_euclid(256) };
            for value in low..=high {
                let wanted = of(value);
                assert!(range.0 <= wanted && wanted <= range.1, "{value} of {low}..{high}: {range:?}");
            }
            // The form is kept where nothing wraps.
            let wraps = (low..=high).any(|value| of(value) - value != of(low) - low);
            if !wraps {
                assert_eq!(reading, x.add(of(low) - low).unwrap());
            }
        }
    }
}

#[test]
fn a_bound_holds_for_every_point_that_the_facts_allow() {
    let mut random = Random(7);
    let mut pick =
        |from: i128, to: i128| from + i128::from(random.below(u64::try_from(to - from + 1).unwrap()));
    for _ in 0..400 {
        let mut symbols = Symbols::default();
        let mut state = State::default();
        let all: Vec<Symbol> = (0..3).map(|_| symbols.new_symbol(-4, 4, Origin::Exact, (0, 0))).collect();
        let mut form = || {
            let mut form = Affine::constant(pick(-3, 3));
            for symbol in &all {
                form = form.plus(&Affine::symbol(*symbol), pick(-3, 3)).unwrap();
            }
            form
        };
        let facts: Vec<Affine> = (0..3).map(|_| form()).collect();
        let wanted = form();
        let is_possible = facts.iter().all(|fact| symbols.assume(&mut state, fact, 0));
        let range = symbols.range(&state, &wanted);
        let mut points = 0;
        for x in -4..=4 {
            for y in -4..=4 {
                for z in -4..=4 {
                    let values: Vec<(Symbol, i128)> = all.iter().copied().zip([x, y, z]).collect();
                    if facts.iter().all(|fact| evaluate(fact, &values) <= 0) {
                        points += 1;
                        let value = evaluate(&wanted, &values);
                        assert!(
                            range.is_none_or(|(low, high)| low <= value && value <= high),
                            "{facts:?} {wanted:?} {range:?}"
                        );
                    }
                }
            }
        }
        assert!(is_possible || points == 0, "{facts:?} can hold");
    }
}

/// What an instruction of eight bits computes, or nothing where PTX leaves it open.
fn compute(op: Op, is_signed: bool, a: i128, b: i128) -> Option<i128> {
    let of = |value: i128| if is_signed { signed(value, 8) } else { value.rem_euclid(256) };
    let (a, b) = (of(a), of(b));
    let amount = b.rem_euclid(256);
    Some(match op {
        Op::Add => a + b,
        Op::Sub => a - b,
        Op::Mul | Op::MulWide => a * b,
        Op::MulHi => (a * b) >> 8,
        Op::Neg => -a,
        Op::Not => !a,
        Op::Abs => signed(a, 8).abs(),
        Op::Min => a.min(b),
        Op::Max => a.max(b),
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::Shl => {
            if amount >= 8 {
                0
            } else {
                a << amount
            }
        }
        Op::Shr => {
            if amount >= 8 {
                if is_signed && a < 0 { -1 } else { 0 }
            } else {
                a >> amount
            }
        }
        Op::Div | Op::Rem if b == 0 => return None,
        Op::Div => a / b,
        Op::Rem => a % b,
        _ => return None,
    })
}

const OPS: [Op; 18] = [
    Op::Add,
    Op::Sub,
    Op::Mul,
    Op::MulWide,
    Op::MulHi,
    Op::Neg,
    Op::Not,
    Op::Abs,
    Op::Min,
    Op::Max,
    Op::And,
    Op::Or,
    Op::Xor,
    Op::Shl,
    Op::Shr,
    Op::Div,
    Op::Rem,
    Op::Selp,
];

/// Makes a kernel of straight steps on registers of eight bits; the last registers have sixteen.
fn kernel(steps: Vec<Step>) -> Kernel {
    let mut registers = vec![8; 12];
    registers.extend([16; 4]);
    registers.extend([1; 4]);
    let graph = Graph::new(&steps);
    Kernel {
        name: "k".to_owned(),
        parameters: vec![Parameter { bytes: 1, align: 1, pointee: 1 }],
        clusters: None,
        objects: Vec::new(),
        registers,
        steps,
        files: Vec::new(),
        texts: Vec::new(),
        handles: Vec::new(),
        graph,
    }
}

/// Every pair of values of two ranges through every instruction: each result is in the result's range, and
/// after a comparison too, whichever way it goes.
#[test]
fn every_instruction_on_eight_bits_is_within_what_the_analysis_says() {
    let ranges: [(i128, i128); 7] = [(0, 7), (0, 255), (-128, 127), (-5, 3), (250, 258), (3, 3), (16, 48)];
    let launch = Launch {
        grid: [1; 3],
        block: [1; 3],
        cluster: None,
        is_cooperative: false,
        shared: 0,
        arguments: &[Argument { bytes: &[0], pointers: &[] }],
    };
    for op in OPS {
        for is_signed in [false, true] {
            for first in ranges {
                for second in ranges {
                    // The amount of a shift has 32 bits: only what eight bits say as well is the same.
                    if matches!(op, Op::Shl | Op::Shr) && (second.0 < 0 || second.1 > 255) {
                        continue;
                    }
                    let unary = matches!(op, Op::Neg | Op::Not | Op::Abs);
                    let mut from = vec![Operand::Register(0), Operand::Register(1)];
                    from.truncate(if unary { 1 } else { 2 });
                    let to = if op == Op::MulWide { 12 } else { 2 };
                    let step = match op {
                        Op::Selp => Step {
                            bits: 8,
                            to: vec![to],
                            from: vec![from[0], from[1], Operand::Register(16)],
                            ..Step::new(op)
                        },
                        _ => Step { bits: 8, is_signed, to: vec![to], from, ..Step::new(op) },
                    };
                    let compare = Step {
                        bits: 8,
                        is_signed,
                        to: vec![16],
                        from: vec![Operand::Register(0), Operand::Register(1)],
                        ..Step::new(Op::Lt)
                    };
                    let kernel = kernel(vec![compare, step]);
                    let mut analysis = Analysis::new(&kernel, &launch, u64::MAX);
                    let mut state = State::new(vec![Value::Unset; kernel.registers.len()]);
                    for (register, (low, high)) in [first, second].into_iter().enumerate() {
                        let form = analysis.symbols.fresh(low, high, Origin::Exact, (0, 0));
                        state.registers[register] = Value::Number(form);
                    }
                    analysis.step(&mut state, 0);
                    for outcome in [None, Some(true), Some(false)] {
                        let mut state = state.clone();
                        let test: Rc<Test> = analysis.test(&state, Operand::Register(16));
                        let is_possible =
                            outcome.is_none_or(|outcome| analysis.assume(&mut state, &test, outcome));
                        analysis.step(&mut state, 1);
                        let bits = kernel.registers[to as usize];
                        let form = match &state.registers[to as usize] {
                            Value::Number(form) => Affine::clone(form),
                            _ => continue,
                        };
                        let reading = analysis.symbols.reading(&mut state, &form, bits, is_signed);
                        let range = analysis.symbols.range(&state, &reading);
                        for a in first.0..=first.1 {
                            for b in second.0..=second.1 {
                                let of = |value: i128| {
                                    if is_signed { signed(value, 8) } else { value.rem_euclid(256) }
                                };
                                let test = of(a) < of(b);
                                if outcome.is_some_and(|outcome| outcome != test) {
                                    continue;
                                }
                                assert!(is_possible, "{op:?} {a} {b}");
                                let wanted = if op == Op::Selp {
                                    Some(if test { a } else { b })
                                } else {
                                    compute(op, is_signed, a, b)
                                };
                                let Some(wanted) = wanted else { continue };
                                let wanted = if is_signed {
                                    signed(wanted, bits)
                                } else {
                                    wanted.rem_euclid(1 << bits)
                                };
                                assert!(
                                    range.is_none_or(|(low, high)| low <= wanted && wanted <= high),
                                    "{op:?} signed {is_signed}, {a} of {first:?}, {b} of {second:?}: \
                                     {wanted}, {range:?}, outcome {outcome:?}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Random programs of eight-bit steps, run on all pairs of values.
#[test]
fn random_programs_on_eight_bits_are_within_what_the_analysis_says() {
    let launch = Launch {
        grid: [1; 3],
        block: [1; 3],
        cluster: None,
        is_cooperative: false,
        shared: 0,
        arguments: &[],
    };
    let mut random = Random(99);
    let (mut narrow, mut programs) = (0, 0);
    for _ in 0..1500 {
        let first = (i128::from(random.below(40)) - 20, i128::from(random.below(60)) + 20);
        let second = (i128::from(random.below(5)), i128::from(random.below(6)) + 5);
        let mut steps = Vec::new();
        let mut program = Vec::new();
        for at in 0..5_u32 {
            let op = OPS[usize::try_from(random.below(17)).unwrap()];
            let is_signed = random.below(2) == 0;
            if matches!(op, Op::MulWide) {
                continue;
            }
            let pick = |random: &mut Random| u32::try_from(random.below(u64::from(at) + 2)).unwrap();
            let a = pick(&mut random);
            let b = if random.below(3) == 0 {
                Err(i64::try_from(random.below(20)).unwrap() - 4)
            } else {
                Ok(pick(&mut random))
            };
            // The amount of a shift is read as 32 bits: give it no negative one.
            let b = if matches!(op, Op::Shl | Op::Shr) { Err(b.err().unwrap_or(2).abs()) } else { b };
            let operand = b.map_or_else(Operand::Number, Operand::Register);
            let mut from = vec![Operand::Register(a), operand];
            from.truncate(if matches!(op, Op::Neg | Op::Not | Op::Abs) { 1 } else { 2 });
            steps.push(Step { bits: 8, is_signed, to: vec![at + 2], from, ..Step::new(op) });
            program.push((op, is_signed, a, b, at + 2));
        }
        let kernel = kernel(steps);
        let mut analysis = Analysis::new(&kernel, &launch, u64::MAX);
        let mut state = State::new(vec![Value::Unset; kernel.registers.len()]);
        for (register, (low, high)) in [first, second].into_iter().enumerate() {
            let form = analysis.symbols.fresh(low, high, Origin::Exact, (0, 0));
            state.registers[register] = Value::Number(form);
        }
        for index in 0..kernel.steps.len() {
            analysis.step(&mut state, index);
        }
        let ranges: Vec<Option<(i128, i128)>> = (0..7)
            .map(|register| {
                let Value::Number(form) = state.registers[register].clone() else { return None };
                let reading = analysis.symbols.reading(&mut state, &form, 8, true);
                analysis.symbols.range(&state, &reading)
            })
            .collect();
        programs += 1;
        narrow += u32::from(ranges.iter().skip(2).flatten().any(|(low, high)| high - low < 200));
        for x in first.0..=first.1 {
            for y in second.0..=second.1 {
                let mut values = [Some(x), Some(y), None, None, None, None, None];
                for (op, is_signed, a, b, to) in &program {
                    let value = |register: u32| values[register as usize];
                    let b = match b {
                        Ok(register) => value(*register),
                        Err(number) => Some(i128::from(*number)),
                    };
                    let result = value(*a).zip(b).and_then(|(a, b)| compute(*op, *is_signed, a, b));
                    values[*to as usize] = result;
                }
                for (register, value) in values.iter().enumerate() {
                    let (Some(value), Some((low, high))) = (value, ranges[register]) else { continue };
                    let value = signed(*value, 8);
                    assert!(
                        low <= value && value <= high,
                        "{program:?} with {x} and {y}: register {register} is {value}, {low}..{high}"
                    );
                }
            }
        }
    }
    assert!(narrow * 2 > programs, "{narrow} of {programs} programs have a range that says something");
}
