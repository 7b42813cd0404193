//! Goes through the rounds of a loop one by one.

use crate::domain::{Affine, State, Test, Value};
use crate::effort::{OPEN_ROUNDS, ROUND_STEPS, ROUNDS};
use crate::engine::interpreter::{Ends, GaveUp, Interpreter};
use crate::ir::Loop;

/// A round that did not leave the loop.
struct Round {
    steps: u64,
    /// What is compared with zero by each test at which the round could have left the loop, in their order,
    /// and its range. `None` if a test is of another kind.
    compared: Option<Vec<(Affine, (i128, i128))>>,
}

impl Interpreter<'_, '_> {
    /// Goes through the rounds one by one, if each decides whether another follows, and there are few.
    pub(crate) fn unroll(&mut self, it: &Loop, entry: &State) -> Result<Option<Ends>, GaveUp> {
        if self.not_unrolled.contains(&it.header) || self.round_steps > ROUND_STEPS {
            return Ok(None);
        }
        let (mark, before) = (self.analysis.accesses().len(), self.analysis.steps);
        let leaving = self.leaving.len();
        let (mut rounds, mut early) = (Vec::new(), Ends::new());
        let mut state = entry.clone();
        while rounds.len() < ROUNDS {
            let steps = self.analysis.steps;
            let left = ROUND_STEPS.checked_sub(self.round_steps + (steps - before));
            if left.is_none_or(|left| go_on(&rounds, left)) {
                break;
            }
            let (backs, exits) = self.pass(&it.blocks, Some(it.header), vec![(it.header, state)])?;
            let is_open = !exits.is_empty();
            early.extend(exits);
            if backs.is_empty() {
                self.leaving.truncate(leaving);
                return Ok(Some(early));
            }
            // Numbers on the stack are known round by round only.
            if is_open && (rounds.len() >= OPEN_ROUNDS || !self.reads_stack(it)) {
                break;
            }
            let Some(next) = self.join_all(backs, it.header) else { break };
            state = next;
            // A register of a function that was called is another one in the next call.
            for register in it.written.iter().map(|it| *it as usize) {
                if entry.registers.get(register) == Some(&Value::Unset) {
                    state.registers[register] = Value::Unset;
                }
            }
            let compared = self.compared(it, leaving, &state);
            self.leaving.truncate(leaving);
            rounds.push(Round { steps: self.analysis.steps - steps, compared });
        }
        self.leaving.truncate(leaving);
        self.round_steps += self.analysis.steps - before;
        self.analysis.forget(mark);
        self.not_unrolled.insert(it.header);
        Ok(None)
    }

    /// Returns what the tests compared at which the last round could have left the loop.
    fn compared(&mut self, it: &Loop, from: usize, state: &State) -> Option<Vec<(Affine, (i128, i128))>> {
        let mut all = Vec::new();
        for (block, test) in self.leaving.get(from..)? {
            let block = self.graph.blocks.get(*block)?;
            if block.next.len() > 1 && block.next.iter().all(|next| it.contained.contains(*next)) {
                continue;
            }
            let mut test = test;
            while let Test::Not(inner) = &**test {
                test = inner;
            }
            let Test::Compare { a, b, .. } = &**test else { return None };
            let difference = a.plus(b, -1)?;
            let range = self.analysis.symbols.interval_of(state, &difference)?;
            all.push((difference, range));
        }
        Some(all)
    }
}

/// Returns whether so many rounds follow that they will not all be gone through, as far as the last three
/// show: whatever could end the loop grows or shrinks by one number, and keeps its sign.
fn go_on(rounds: &[Round], left: u64) -> bool {
    let [.., one, two, three] = rounds else { return false };
    let (Some(first), Some(second), Some(third)) = (&one.compared, &two.compared, &three.compared) else {
        return false;
    };
    if third.is_empty() || first.len() != third.len() || second.len() != third.len() {
        return false;
    }
    let mut most = ROUNDS - rounds.len();
    if one.steps == two.steps && two.steps == three.steps {
        most = most.min(usize::try_from(left / three.steps.max(1)).unwrap_or(most) + 1);
    }
    let Ok(most) = i128::try_from(most) else { return false };
    first.iter().zip(second).zip(third).all(|(((one, _), (two, _)), (three, (low, high)))| {
        let step = three.constant - two.constant;
        let moved = step.saturating_mul(most);
        let is_line =
            one.terms == two.terms && two.terms == three.terms && two.constant - one.constant == step;
        is_line && (*low > 0 && low.saturating_add(moved) > 0 || *high < 0 && high.saturating_add(moved) < 0)
    })
}
