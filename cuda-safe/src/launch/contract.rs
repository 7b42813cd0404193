//! What the author of a kernel requires of its launches, for kernels that cannot be proven.

use crate::hazard::{Access, Mode};

use super::LaunchConfig;

/// One condition of a contract: `requires n <= len(x)`.
///
/// Generated code makes it.
#[derive(Debug)]
pub struct Clause {
    text: &'static str,
    left: &'static [Op],
    relation: Relation,
    right: &'static [Op],
}

impl Clause {
    /// Makes a clause of its text and of two sums, in postfix order.
    #[must_use]
    pub const fn new(
        text: &'static str,
        left: &'static [Op],
        relation: Relation,
        right: &'static [Op],
    ) -> Self {
        Self { text, left, relation, right }
    }
}

/// How two numbers of a clause compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `<=`
    AtMost,
    /// `<`
    Below,
    /// `==`
    Equal,
}

/// A number of a clause, or what is done with the two numbers before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// A number that the clause has.
    Number(i64),
    /// The value of a whole number among the parameters.
    Value {
        /// The index of the parameter.
        parameter: usize,
        /// The bytes of its type.
        bytes: usize,
        /// Whether its type has a sign.
        is_signed: bool,
    },
    /// The elements of the argument for a pointer.
    Length(usize),
    /// The blocks of the grid along an axis.
    Grid(usize),
    /// The threads of a block along an axis.
    Block(usize),
    /// The bytes of dynamic shared memory.
    SharedBytes,
    /// Their sum.
    Add,
    /// The first without the second.
    Subtract,
    /// Their product.
    Multiply,
}

/// The values that clauses are about.
pub(super) struct Given<'a> {
    pub(super) config: &'a LaunchConfig<'a>,
    /// Returns the value of a parameter of so many bytes as a number.
    pub(super) value: &'a dyn Fn(usize, usize) -> Option<u64>,
    pub(super) accesses: &'a [Option<Access<'a>>],
    /// The bytes of an element behind a pointer.
    pub(super) element: &'a dyn Fn(usize) -> usize,
}

impl Given<'_> {
    /// Returns the first clause that is not met, in words.
    pub(super) fn broken(&self, clauses: &[Clause]) -> Option<String> {
        clauses.iter().find_map(|clause| {
            let Clause { text, left, relation, right } = clause;
            let (Some(left), Some(right)) = (self.number(left), self.number(right)) else {
                return Some(format!("its contract `{text}` has a number that is too large"));
            };
            let (is_met, sign) = match relation {
                Relation::AtMost => (left <= right, "<="),
                Relation::Below => (left < right, "<"),
                Relation::Equal => (left == right, "=="),
            };
            (!is_met).then(|| format!("its contract `{text}` is not met: {left} {sign} {right} is false"))
        })
    }

    /// Returns the number that operations in postfix order make.
    fn number(&self, ops: &[Op]) -> Option<i128> {
        let mut stack: Vec<i128> = Vec::with_capacity(ops.len());
        let axis = |sizes: [u32; 3], axis: usize| sizes.get(axis).copied().map(i128::from);
        for op in ops {
            let number = match *op {
                Op::Number(number) => i128::from(number),
                Op::Value { parameter, bytes, is_signed } => {
                    let value = (self.value)(parameter, bytes)?;
                    let bits = u32::try_from(bytes).ok()?.checked_mul(8)?;
                    let unused = 64_u32.checked_sub(bits).filter(|unused| *unused < 64)?;
                    if is_signed {
                        i128::from((value << unused).cast_signed() >> unused)
                    } else {
                        i128::from(value)
                    }
                }
                Op::Length(parameter) => {
                    let bytes = self.accesses.get(parameter)?.as_ref().map_or(0, |it| it.range().len());
                    i128::try_from(bytes / (self.element)(parameter).max(1)).ok()?
                }
                Op::Grid(at) => axis(self.config.grid.into(), at)?,
                Op::Block(at) => axis(self.config.block.into(), at)?,
                Op::SharedBytes => i128::try_from(self.config.shared_bytes).ok()?,
                Op::Add | Op::Subtract | Op::Multiply => {
                    let (right, left) = (stack.pop()?, stack.pop()?);
                    match op {
                        Op::Add => left.checked_add(right)?,
                        Op::Subtract => left.checked_sub(right)?,
                        _ => left.checked_mul(right)?,
                    }
                }
            };
            stack.push(number);
        }
        stack.pop().filter(|_| stack.is_empty())
    }

    /// Returns the first argument that is passed to be read where the kernel may write. `writes` says of a
    /// parameter whether its type allows that.
    pub(super) fn read_only(&self, writes: impl Fn(usize) -> bool) -> Option<usize> {
        let is_read = |access: &Option<Access<'_>>| access.is_some_and(|it| it.mode() == Mode::Read);
        self.accesses.iter().enumerate().find(|(at, access)| writes(*at) && is_read(access)).map(|(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use crate::hazard::AccessHistory;

    use super::*;

    #[test]
    fn clauses_are_compared_as_whole_numbers_without_wrap() {
        let history = AccessHistory::new(64);
        let accesses = [Some(Access::write(&history, 4..64)), None, None];
        let config = LaunchConfig::new((2, 3), 32).with_shared_bytes(100);
        let values = [0, 15, u64::from(u32::MAX)];
        let broken = |left: &'static [Op], relation, right: &'static [Op]| {
            let given = Given {
                config: &config,
                value: &|at, _| values.get(at).copied(),
                accesses: &accesses,
                element: &|_| 4,
            };
            given.broken(&[Clause::new("a clause", left, relation, right)])
        };
        const N: Op = Op::Value { parameter: 1, bytes: 4, is_signed: false };
        const MINUS: Op = Op::Value { parameter: 2, bytes: 4, is_signed: true };
        const LARGE: Op = Op::Value { parameter: 2, bytes: 4, is_signed: false };
        assert_eq!(broken(&[N], Relation::AtMost, &[Op::Length(0)]), None);
        assert_eq!(
            broken(&[N], Relation::Below, &[Op::Length(0)]).unwrap(),
            "its contract `a clause` is not met: 15 < 15 is false"
        );
        let more = &[N, Op::Number(1), Op::Add];
        assert!(broken(more, Relation::AtMost, &[Op::Length(0)]).unwrap().contains("16 <= 15"));
        assert_eq!(broken(&[MINUS], Relation::Equal, &[Op::Number(0), Op::Number(1), Op::Subtract]), None);
        // What would wrap in 32 or 64 bits does not here.
        let product: &[Op] = &[LARGE, LARGE, Op::Multiply, LARGE, Op::Multiply];
        assert!(broken(product, Relation::AtMost, &[Op::Length(0)]).unwrap().contains("is false"));
        const M: Op = Op::Number(i64::MAX);
        let huge: &[Op] = &[M, M, Op::Multiply, M, Op::Multiply];
        assert!(broken(huge, Relation::AtMost, &[M]).unwrap().contains("too large"));
        assert_eq!(
            broken(&[Op::Grid(1), Op::Block(0), Op::Multiply], Relation::Equal, &[Op::Number(96)]),
            None
        );
        assert_eq!(broken(&[Op::SharedBytes], Relation::AtMost, &[Op::Number(100)]), None);
        // An argument without memory has no elements.
        assert_eq!(broken(&[Op::Length(1)], Relation::Equal, &[Op::Number(0)]), None);
        // No sum at all is no number.
        assert!(
            broken(&[], Relation::AtMost, &[M]).is_some()
                && broken(&[M, M], Relation::AtMost, &[M]).is_some()
        );
    }
}
