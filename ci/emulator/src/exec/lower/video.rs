//! Video instructions: sums, differences, comparisons and shifts of bytes and half words of two registers,
//! one (`vadd`), two (`vadd2`) or four (`vadd4`) at a time.
//!
//! One function computes all of them. A constant says which: its fields are at the places below.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "the instructions are defined on the low bits"
)]

use super::integer::operand;
use super::{Failure, Lower, UNKNOWN};
use crate::exec::file::Alu;
use crate::ptx::{Instruction, Operand, Type};

// The fields of the constant: their place and their bits.
const OPERATION: BitField = (0, 4);
const COMPARISON: BitField = (4, 3);
/// Signs of the result and of both operands.
const SIGNS: BitField = (7, 3);
const SATURATES: BitField = (10, 1);
/// Combines each result with the third operand: add, min, max.
const SECOND: BitField = (11, 2);
/// Widths of the operands' and the result's parts, as powers of two.
const WIDTHS: [BitField; 3] = [(13, 3), (16, 3), (19, 3)];
/// Parts of the result.
const PARTS: BitField = (22, 4);
/// For each part of the result, the parts of the operands, both of which are one number of 64 bits.
const FROM: [BitField; 2] = [(26, 12), (38, 12)];
const WRAPS: BitField = (50, 1);
/// Bits by which a product is shifted.
const SCALE: BitField = (51, 4);

type BitField = (u32, u32);

const OPERATIONS: [&str; 9] = ["vadd", "vsub", "vabsdiff", "vmin", "vmax", "vavrg", "vset", "vshl", "vshr"];
/// The number of the product, which adds the third operand.
const PRODUCT: u64 = OPERATIONS.len() as u64;
const COMPARISONS: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];

fn field(all: u64, (at, bits): BitField) -> u64 {
    all >> at & ((1 << bits) - 1)
}

/// A part of a number of 64 bits.
fn part(both: u64, number: u64, width: u32, signed: bool) -> i64 {
    let bits = both >> (number as u32 * width) << (64 - width);
    if signed { bits as i64 >> (64 - width) } else { (bits >> (64 - width)) as i64 }
}

/// The ends of the numbers of a width.
fn saturated(v: i128, width: u32, signed: bool) -> i128 {
    if signed { v.clamp(-(1 << (width - 1)), (1 << (width - 1)) - 1) } else { v.clamp(0, (1 << width) - 1) }
}

fn compute(a: u32, b: u32, c: u32, what: u64) -> u32 {
    let both = u64::from(b) << 32 | u64::from(a);
    let signs = field(what, SIGNS);
    let [wa, wb, wd] = WIDTHS.map(|it| 1 << field(what, it));
    let (second, saturates) = (field(what, SECOND), field(what, SATURATES) == 1);
    let mut d = c;
    for to in (0..4).filter(|to| field(what, PARTS) >> to & 1 == 1) {
        let [from_a, from_b] = FROM.map(|it| field(what, it) >> (3 * to) & 7);
        let x = i128::from(part(both, from_a, wa, signs & 2 != 0));
        let y = i128::from(part(both, from_b, wb, signs & 4 != 0));
        let by = if field(what, WRAPS) == 1 { y & 31 } else { y.clamp(0, 32) };
        let mut v = match field(what, OPERATION) {
            0 => x + y,
            1 => x - y,
            2 => (x - y).abs(),
            3 => x.min(y),
            4 => x.max(y),
            5 => (x + y + i128::from(x + y >= 0)) >> 1,
            6 => i128::from(match field(what, COMPARISON) {
                0 => x == y,
                1 => x != y,
                2 => x < y,
                3 => x <= y,
                4 => x > y,
                _ => x >= y,
            }),
            7 => x << by,
            8 => x >> by,
            _ => (x * y + i128::from(c.cast_signed())) >> field(what, SCALE),
        };
        if saturates {
            v = saturated(v, wd, signs & 1 != 0);
        }
        d = match (second, signs & 1 != 0) {
            (0, _) => {
                let mask = u32::MAX >> (32 - wd) << (to * wd);
                d & !mask | (v as u32) << (to * wd) & mask
            }
            (1, _) => d.wrapping_add(v as u32),
            (2, false) => d.min(v as u32),
            (_, false) => d.max(v as u32),
            (2, true) => (d as i32).min(v as i32) as u32,
            (_, true) => (d as i32).max(v as i32) as u32,
        };
    }
    d
}

/// The register of an operand, and the parts behind its dot.
fn selected(operand: &Operand) -> (Operand, &str) {
    match operand {
        Operand::Name(name) => match name.rsplit_once('.') {
            Some((name, parts)) if parts.starts_with(['b', 'h']) => (Operand::Name(name.into()), parts),
            _ => (operand.clone(), ""),
        },
        _ => (operand.clone(), ""),
    }
}

/// The digits behind the letter, the last one first: the parts from the lowest to the highest.
fn digits(parts: &str) -> Vec<u64> {
    parts.bytes().skip(1).rev().map(|it| u64::from(it.wrapping_sub(b'0')) & 7).collect()
}

impl Lower<'_> {
    pub(super) fn video(&mut self, i: &Instruction) -> Result<(), Failure> {
        let (name, count) = match i.opcode.strip_suffix(['2', '4']) {
            Some(name) => (name, if i.opcode.ends_with('2') { 2 } else { 4 }),
            None => (&*i.opcode, 1),
        };
        let operation = match name {
            "vmad" if !i.has("po") => PRODUCT,
            _ => (0..).zip(OPERATIONS).find(|(_, it)| *it == name).ok_or(UNKNOWN)?.0,
        };
        let types: Vec<Type> = i.types().collect();
        let (to, [ta, tb]) = match types[..] {
            // The result of a comparison is not negative.
            [a, b] if name == "vset" => (Type::U32, [a, b]),
            [to, a, b] => (to, [a, b]),
            _ => return Err(UNKNOWN.into()),
        };
        let (to_name, to_parts) = selected(operand(i, 0)?);
        let (a_name, a_parts) = selected(operand(i, 1)?);
        let (b_name, b_parts) = selected(operand(i, 2)?);
        let second = ["add", "min", "max"].iter().position(|it| i.has(it)).map_or(0, |it| it + 1) as u64;
        let mut what = 0;
        let mut put = |(at, _): BitField, value: u64| what |= value << at;
        put(OPERATION, operation);
        let comparison = COMPARISONS.iter().position(|it| i.has(it)).unwrap_or(0);
        put(COMPARISON, comparison as u64);
        let product_signed = operation == PRODUCT && (ta.is_signed() || tb.is_signed());
        let signed = to.is_signed() && operation != PRODUCT || product_signed;
        put(SIGNS, u64::from(signed) | u64::from(ta.is_signed()) << 1 | u64::from(tb.is_signed()) << 2);
        put(SATURATES, u64::from(i.has("sat")));
        put(SECOND, second);
        put(WRAPS, u64::from(i.has("wrap")));
        put(SCALE, if i.has("shr7") { 7 } else { 15 * u64::from(i.has("shr15")) });
        let merges = count == 1 && !to_parts.is_empty();
        if count == 1 {
            // Words, or one part of each.
            let width = |parts: &str| match parts.as_bytes().first() {
                Some(b'b') => 3,
                Some(_) => 4,
                None => 5,
            };
            let number = |parts: &str| digits(parts).first().copied().unwrap_or(0);
            let (wa, wb, wd) = (width(a_parts), width(b_parts), width(to_parts));
            for (at, width) in WIDTHS.into_iter().zip([wa, wb, wd]) {
                put(at, width);
            }
            let to = number(to_parts);
            put(PARTS, 1 << to);
            put(FROM[0], number(a_parts) << (3 * to));
            // The second operand is the upper half of both.
            put(FROM[1], (number(b_parts) + (32 >> wb)) << (3 * to));
        } else {
            for at in WIDTHS {
                put(at, if count == 2 { 4 } else { 3 });
            }
            let parts = digits(to_parts);
            let all = (1 << count) - 1;
            put(PARTS, if parts.is_empty() { all } else { parts.iter().map(|it| 1 << (it & 3)).sum() });
            for (at, parts, first) in [(FROM[0], a_parts, 0), (FROM[1], b_parts, count)] {
                let parts = digits(parts);
                for to in 0..count {
                    let from = parts.get(to as usize).copied().unwrap_or(to + first);
                    put(at, from << (3 * to));
                }
            }
        }
        let d = self.dst(&to_name, Type::U32)?;
        let a = self.src(&a_name, Type::U32)?;
        let b = self.src(&b_name, Type::U32)?;
        let c = if count > 1 || second > 0 || merges || operation == PRODUCT {
            self.src(operand(i, 3)?, Type::U32)?
        } else {
            self.word(0)
        };
        let what = self.wide(what);
        let f: Alu = slow!(u32, u32, u32, u64 => u32, compute);
        self.alu(f, &[d, a, b, c, what]);
        Ok(())
    }
}
