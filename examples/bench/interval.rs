//! The median of times, and its confidence interval.

/// Returns the middle value, or the mean of the two middle values.
#[must_use]
pub fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times[(times.len() - 1) / 2].midpoint(times[times.len() / 2])
}

/// Returns the interval between two of the values that contains the median of their distribution with a
/// probability of at least 95 %, for any distribution. Returns `None` if there are too few values.
#[must_use]
pub fn of_median(values: &[f64]) -> Option<[f64; 2]> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let rank = rank(values.len());
    let lowest = rank.checked_sub(1)?;
    Some([values[lowest], values[values.len() - rank]])
}

/// Returns the greatest rank, starting at one, for which the values of this rank from below and from
/// above have the median between them in 95 % of all cases. Returns zero if there is none.
///
/// A value is below the median as often as above, so the number of values below is binomial. The interval
/// misses the median if fewer than `rank` values are on one side of it.
fn rank(values: usize) -> usize {
    // The probabilities of all counts, relative to the middle one, which is above zero for any number of
    // values.
    let middle = values / 2;
    let mut weights = vec![1.0; values + 1];
    for below in (0..middle).rev() {
        weights[below] = weights[below + 1] * (below + 1) as f64 / (values - below) as f64;
    }
    for below in middle + 1..=values {
        weights[below] = weights[below - 1] * (values - below + 1) as f64 / below as f64;
    }
    let allowed = 0.025 * weights.iter().sum::<f64>();
    let mut sum = 0.0;
    weights
        .iter()
        .take_while(|weight| {
            sum += **weight;
            sum <= allowed
        })
        .count()
}
