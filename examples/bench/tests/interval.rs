//! The confidence intervals of `ci/bench`.
//!
//! Not in the bundle: it is the arithmetic of the benches' tables.

use bench::interval;

/// Returns the values from one to `count`, in descending order.
fn up_to(count: u32) -> Vec<f64> {
    (1..=count).rev().map(f64::from).collect()
}

#[test]
fn the_interval_ends_at_the_ranks_of_the_tables_for_the_sign_test() {
    for (count, rank) in [(6, 1), (8, 1), (9, 2), (20, 6), (25, 8), (100, 40), (1440, 683)] {
        let expected = [rank, count + 1 - rank].map(f64::from);
        assert_eq!(interval::of_median(&up_to(count)), Some(expected), "{count} values");
    }
}

#[test]
fn five_values_are_too_few_for_an_interval() {
    for count in 0..=5 {
        assert_eq!(interval::of_median(&up_to(count)), None, "{count} values");
    }
}
