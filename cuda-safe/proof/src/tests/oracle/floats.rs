//! Floating-point instructions whose results are exact here: `min`, `max`, `add`, conversions.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "roundings and saturation of the conversions are what is meant"
)]

use cuda_ptx::Instruction;

use super::{End, Frame, Machine, Random, bytes_of, sign};

/// Returns the bits of a random number: of both sizes, special ones, and numbers next to small whole ones.
pub(super) fn random(random: &mut Random) -> u64 {
    let special = [
        0,
        0x3f80_0000,
        0x8000_0000,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0xffff_ffff,
        0x4b80_0000,
        0x8000_0000_0000_0000,
        0x7ff0_0000_0000_0000,
        0xfff0_0000_0000_0000,
        0x7ff8_0000_0000_0000,
        0x3ff0_0000_0000_0000,
    ];
    let whole = random.below(240) as f64 - 70.0;
    let part = [-0.5, -1e-6, 0.0, 1e-6, 0.5, 0.99][random.below(6) as usize];
    match random.below(4) {
        0 => special[random.below(special.len() as u64) as usize],
        1 => random.next(),
        2 => (whole + part).to_bits(),
        _ => ((whole + part) as f32).to_bits().into(),
    }
}

/// Rounds a number to one of so many bits.
fn rounded(value: f64, mode: &str, bits: u32) -> u64 {
    if bits == 64 {
        return value.to_bits();
    }
    let near = value as f32;
    let result = match (mode, f64::from(near).partial_cmp(&value)) {
        ("rm", Some(std::cmp::Ordering::Greater)) => near.next_down(),
        ("rp", Some(std::cmp::Ordering::Less)) => near.next_up(),
        ("rz", Some(std::cmp::Ordering::Greater)) if value > 0.0 => near.next_down(),
        ("rz", Some(std::cmp::Ordering::Less)) if value < 0.0 => near.next_up(),
        _ => near,
    };
    result.to_bits().into()
}

/// Makes a float of so many bits of an integer.
fn converted(value: i128, mode: &str, bits: u32) -> u64 {
    let near = if bits == 32 { f64::from(value as f32) } else { value as f64 };
    let (is_above, is_below) = (near as i128 > value, (near as i128) < value);
    let is_down = mode == "rm" || mode == "rz" && value > 0;
    let is_up = mode == "rp" || mode == "rz" && value < 0;
    match bits {
        32 if is_above && is_down => (near as f32).next_down().to_bits().into(),
        32 if is_below && is_up => (near as f32).next_up().to_bits().into(),
        32 => (near as f32).to_bits().into(),
        _ if is_above && is_down => near.next_down().to_bits(),
        _ if is_below && is_up => near.next_up().to_bits(),
        _ => near.to_bits(),
    }
}

impl Machine<'_, '_> {
    /// Returns the bits of what an instruction computes of floats, if it is known here.
    pub(super) fn computed_float(
        &mut self,
        frame: &mut Frame<'_, '_>,
        it: &Instruction<'_>,
    ) -> Result<Option<u64>, End> {
        let o = &it.operands[..];
        let types: Vec<&str> =
            it.words[1..].iter().copied().filter(|word| bytes_of(word).is_some()).collect();
        let known = "rn rz rm rp rni rzi rmi rpi ftz NaN f32 f64 s8 s16 s32 s64 u8 u16 u32 u64";
        let is_float = |ty: &str| ty == "f32" || ty == "f64";
        if !it.words[1..].iter().all(|word| known.split(' ').any(|own| own == *word))
            || !types.iter().any(|ty| is_float(ty))
        {
            return Ok(None);
        }
        let bits_of = |ty: &str| bytes_of(ty).unwrap() * 8;
        let has = |word: &str| it.words.contains(&word);
        let bits = bits_of(types[0]);
        let flushed = |value: u64, bits: u32| {
            let is_small = bits == 32 && value & 0x7f80_0000 == 0;
            if has("ftz") && is_small { value & 0x8000_0000 } else { value }
        };
        let float = |value: u64, bits: u32| match u32::try_from(value) {
            Ok(value) if bits == 32 => f64::from(f32::from_bits(value)),
            _ => f64::from_bits(value),
        };
        match (it.words[0], &types[..], o.len()) {
            ("min" | "max", [_], 3) => {
                let (a, b) = (self.value(frame, &o[1], bits)?, self.value(frame, &o[2], bits)?);
                let (a, b) = (flushed(a, bits), flushed(b, bits));
                let (x, y) = (float(a, bits), float(b, bits));
                let nan = if bits == 32 { 0x7fff_ffff } else { 0x7fff_ffff_ffff_ffff };
                Ok(Some(match (x.is_nan(), y.is_nan()) {
                    (false, false) if x == y && self.random.below(2) == 0 => b,
                    (false, false) if (x < y) == (it.words[0] == "min") => a,
                    (false, false) => b,
                    (true, false) if !has("NaN") => b,
                    (false, true) if !has("NaN") => a,
                    _ => nan,
                }))
            }
            ("add", [_], 3) if !["rz", "rm", "rp"].iter().any(|word| has(word)) => {
                let (a, b) = (self.value(frame, &o[1], bits)?, self.value(frame, &o[2], bits)?);
                let sum = float(flushed(a, bits), bits) + float(flushed(b, bits), bits);
                Ok(Some(flushed(rounded(sum, "rn", bits), bits)))
            }
            ("cvt", [to, from], 2) => {
                let (size, mode) = (bits_of(from), it.words[1]);
                let value = self.value(frame, &o[1], size)?;
                if !is_float(from) {
                    let value =
                        if from.starts_with('s') { i128::from(sign(value, size)) } else { value.into() };
                    return Ok(Some(converted(value, mode, bits)));
                }
                let value = float(flushed(value, size), size);
                let whole = match mode {
                    "rni" => value.round_ties_even(),
                    "rzi" => value.trunc(),
                    "rmi" => value.floor(),
                    "rpi" => value.ceil(),
                    _ => value,
                };
                if is_float(to) {
                    return Ok(Some(flushed(rounded(whole, mode, bits), bits)));
                }
                let half = 1_i128 << (bits - 1);
                let (least, most) = if to.starts_with('s') { (-half, half - 1) } else { (0, 2 * half - 1) };
                // A NaN becomes zero.
                let value = (whole as i128).clamp(least, most);
                Ok(Some(u64::try_from(value & i128::from(u64::MAX)).unwrap()))
            }
            _ => Ok(None),
        }
    }
}

#[test]
fn floats_round_as_the_manual_says() {
    let of = |value: f32| u64::from(value.to_bits());
    assert_eq!(converted((1 << 24) + 1, "rn", 32), of(16_777_216.0));
    assert_eq!(converted((1 << 24) + 3, "rn", 32), of(16_777_220.0));
    assert_eq!(converted((1 << 24) + 3, "rz", 32), of(16_777_218.0));
    assert_eq!(converted((1 << 24) + 1, "rp", 32), of(16_777_218.0));
    assert_eq!(converted(-(1 << 24) - 1, "rm", 32), of(-16_777_218.0));
    assert_eq!(converted((1 << 53) + 1, "rn", 64), 9_007_199_254_740_992_f64.to_bits());
    assert_eq!(rounded(0.1, "rm", 32), of(0.099_999_994));
    assert_eq!(rounded(0.1, "rp", 32), of(0.1));
    assert_eq!(rounded(-0.1, "rz", 32), of(-0.099_999_994));
    assert_eq!(rounded(f64::MAX, "rn", 32), of(f32::INFINITY));
}
