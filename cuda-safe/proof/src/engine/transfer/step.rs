//! What one step of a kernel does to a state.

use smallvec::SmallVec;

use crate::domain::{Affine, Region, State, Symbol, Value, range_of, remainder, signed};
use crate::engine::analysis::{Analysis, Doubt};
use crate::ir::{Effect, Op, Operand, Origin, Step};

impl Analysis<'_> {
    /// Applies a step that is no branch.
    pub(crate) fn step(&mut self, state: &mut State, index: usize) {
        let kernel = self.kernel;
        let step = &kernel.steps[index];
        self.steps += 1;
        self.symbols.make_room(state);
        match step.effect() {
            Effect::None => {}
            Effect::Jump => return,
            Effect::Refuse => {
                let text = match step.from[..] {
                    [Operand::Number(text)] => usize::try_from(text).ok().and_then(|it| kernel.texts.get(it)),
                    _ => None,
                };
                let origin = (Origin::Exact, step.at);
                return self.refuse(Doubt { at: step.at, reason: text.cloned().unwrap_or_default(), origin });
            }
            Effect::Access { .. } => return self.access(state, index),
            Effect::Check => return self.operand(state, step),
        }
        let Some(to) = step.to.first().copied() else { return };
        if self.bits(to) == 1 {
            let test = self.predicate(state, step);
            return self.set(state, to, Value::Test(test));
        }
        // An expression that became too large is forgotten.
        let bits = self.bits(to);
        let value = match self.value(state, step).filter(|_| bits <= 64) {
            None => Value::Unset,
            Some(mut expr) => {
                // Of a number the register has the lowest bits only: an expression that may be outside of the
                // type's range is as good without multiples of what the type counts to.
                let keeps = |(_, factor): &(Symbol, i128)| remainder(*factor, 1 << bits) != 0;
                if !expr.terms.iter().all(keeps)
                    && ![true, false]
                        .into_iter()
                        .any(|is_signed| self.symbols.is_within(state, &expr, range_of(bits, is_signed)))
                {
                    expr.terms.retain(keeps);
                    expr.constant = signed(expr.constant, bits);
                }
                Value::Number(match expr.as_constant() {
                    Some(constant) => Affine::constant(signed(constant, bits)),
                    None => expr,
                })
            }
        };
        self.set(state, to, value);
    }

    /// Returns the value that a step computes, or `None` if its expression became too large.
    fn value(&mut self, state: &mut State, step: &Step) -> Option<Affine> {
        let at = step.at;
        match (step.op, &step.from[..]) {
            (Op::Unknown, [Operand::Number(low), Operand::Number(high), sources @ ..]) => {
                let mut is_unstable = false;
                for source in sources {
                    let expr = self.number(state, *source, at);
                    is_unstable |= self.symbols.is_unstable(&expr);
                }
                let (low, high) = (i128::from(*low), i128::from(*high));
                // What is computed from a value that may differ at each use may differ as well.
                Some(self.symbols.new_value(is_unstable, (low, high), (step.origin, at)))
            }
            (Op::Parameter, [Operand::Number(index), Operand::Number(offset)]) => {
                let (index, offset) = (usize::try_from(*index).ok()?, u64::try_from(*offset).ok()?);
                self.parameter(step, index, offset)
            }
            (Op::Selp, [a, b, test]) => {
                let (a, b) = (self.number(state, *a, at), self.number(state, *b, at));
                let test = self.test(state, *test);
                self.choose(state, &test, &a, &b)
            }
            (_, operands) if step.is_of_floats() => {
                let operands: SmallVec<[Affine; 2]> =
                    operands.iter().map(|it| self.number(state, *it, at)).collect();
                self.float(state, step, &operands)
            }
            (_, [a]) => {
                let a = self.number(state, *a, at);
                self.unary(state, step, &a)
            }
            (_, [a, b, ..]) => {
                let (a, b) = (self.number(state, *a, at), self.number(state, *b, at));
                self.binary(state, step, (&a, &b))
            }
            _ => None,
        }
    }

    /// Returns the bits of the register that a step writes.
    pub(super) fn result_bits(&self, step: &Step) -> u8 {
        step.to.first().map_or(step.bits, |to| self.bits(*to))
    }

    fn parameter(&mut self, step: &Step, index: usize, offset: u64) -> Option<Affine> {
        let argument = self.launch.arguments.get(index)?;
        let size = u64::from(step.size);
        for pointer in argument.pointers {
            if *pointer == offset && size == 8 && self.result_bits(step) == 64 {
                return Some(self.region(Region::Parameter(index, offset)));
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
        Some(Affine::constant(if step.is_signed { signed(value, step.bits.min(64)) } else { value }))
    }
}
