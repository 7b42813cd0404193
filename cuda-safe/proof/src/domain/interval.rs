//! Intervals of whole numbers: what the registers of a number of bits hold.

/// The range of a number of bits.
pub(crate) fn range_of(bits: u8, is_signed: bool) -> (i128, i128) {
    let all = 1_i128 << bits.min(64);
    if is_signed { (-all / 2, all / 2 - 1) } else { (0, all - 1) }
}

/// Reads the lowest bits of a number as signed.
pub(crate) fn signed(value: i128, bits: u8) -> i128 {
    let all = 1_i128 << bits.min(64);
    let value = value.rem_euclid(all);
    if value >= all / 2 { value - all } else { value }
}
