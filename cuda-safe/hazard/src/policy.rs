//! The policy for an operation that conflicts with one that nothing orders it after.

/// The tracker's response to a conflict that the program did not order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// Adds the missing wait. The program is correct; [`Tracker::added_waits`](crate::Tracker::added_waits)
    /// counts what that cost.
    #[default]
    Order,
    /// Refuses the later operation with an error that names both call sites: a way to find a program's races.
    Error,
    /// Tracks nothing. The program itself is then responsible for what safe code does to memory in flight.
    Off,
}

impl Policy {
    /// Returns the policy for the number that [`number`](Self::number) returned.
    pub(crate) fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Error,
            2 => Self::Off,
            _ => Self::Order,
        }
    }

    /// Returns the policy as a number.
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::Order => 0,
            Self::Error => 1,
            Self::Off => 2,
        }
    }

    /// Returns the policy with this name, as an environment variable may contain it. `Off` cannot be chosen
    /// that way.
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
