//! What happens when an operation conflicts with one that nothing orders it after.

/// What the tracker does about a conflict that the program did not order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// Adds the missing wait. The program is correct; [`Tracker::added_waits`](crate::Tracker::added_waits)
    /// counts what that cost.
    #[default]
    Order,
    /// Refuses the later operation with an error that names both places: a way to find the races of a
    /// program.
    Error,
    /// Keeps no tracker at all. What safe code does to memory in flight is then the program's own affair.
    Off,
}

impl Policy {
    /// The policy for the number that [`number`](Self::number) gave.
    pub(crate) fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Error,
            2 => Self::Off,
            _ => Self::Order,
        }
    }

    /// The policy as a number.
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::Order => 0,
            Self::Error => 1,
            Self::Off => 2,
        }
    }

    /// The policy with this name, as an environment variable may give it. `Off` cannot be asked for that way.
    pub fn named(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("order") {
            Some(Self::Order)
        } else if name.eq_ignore_ascii_case("error") {
            Some(Self::Error)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Policy;

    #[test]
    fn a_name_gives_order_or_error_and_never_off() {
        assert_eq!(Policy::named("order"), Some(Policy::Order));
        assert_eq!(Policy::named("ERROR"), Some(Policy::Error));
        assert_eq!(Policy::named("off"), None);
        assert_eq!(Policy::named(""), None);
    }

    #[test]
    fn numbers_and_policies_are_one_to_one() {
        for policy in [Policy::Order, Policy::Error, Policy::Off] {
            assert_eq!(Policy::from_number(policy.number()), policy);
        }
    }
}
