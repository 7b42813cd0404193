//! The forms of instructions that a proof takes as exact or as bounded: PTX that runs them with drawn
//! operands, and the file that keeps what a GPU answered.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::fmt::Write;

/// Angle brackets have alternatives. A register is a letter (`a` to `c` are operands, `d` to `g` results) and
/// its bits, or `p` for a predicate. Without bits it has those of the last type, and twice these as a
/// capital.
const TABLE: &str = "
<add|sub>.<INT> d, a, b
<add|sub>.cc.<u32|s32|u64|s64> d, a, b
mul.<lo|hi>.<INT> d, a, b
mul.wide.<u16|s16|u32|s32> D, a, b
mad.lo.<INT> d, a, b, c
mad.lo.cc.<u32|s32|u64|s64> d, a, b, c
mad.lo<|.cc>.<u32|s32|u64|s64> d, a, 7, 4294967295
mad.lo.<u16|s16> d, a, 7, 65535
mad.wide.<u16|s16|u32|s32> D, a, b, C
mul24.lo.<u32|s32> d, a, b
mad24.lo.<u32|s32> d, a, <b, c|8388607, 7>
<neg|abs>.<s16|s32|s64> d, a
<min|max|div|rem>.<INT> d, a, b
<and|or|xor>.<b16|b32|b64> d, a, b
not.<b16|b32|b64> d, a
shl.<b16|b32|b64> d, a, <b32|0|15|31|32|63|64|4294967295>
shr.<b|s|u><16|32|64> d, a, <b32|0|15|31|32|63|64|4294967295>
bfe.<u32|u64> d, a, <0|8|31>, <1|5|31>
bfi.b32 d, a, b, <1, 31|16, 16|31, 1>
bfi.b64 d, a, b, <1, 63|32, 32|63, 1>
<popc|clz>.<b32|b64> d32, a
brev.<b32|b64> d, a
bfind<|.shiftamt>.<u32|u64> d32, a
selp.<BIT|INT|f32|f64> d, a, b, <cp|!cp>
selp.<BIT|INT> d, a, 65535, <0|1>
mov.<BIT|INT|f32|f64> d, a
mov.b32 {d16, e16}, a
mov.b64 {d32, e32}, a
mov.b64 {d16, e16, f16, g16}, a
<mov|not>.pred dp, ap
<and|or|xor>.pred dp, ap, <bp|!bp>
cvta<|.to>.global.u64 d, a
setp.<eq|ne>.<BIT|INT> dp, a, b
setp.<eq|ne>.<BIT|INT> dp|ep, a, b
setp.<eq|ne>.<and|or|xor>.<BIT|INT> dp, a, b, <cp|!cp>
setp.<eq|ne>.<and|or|xor>.<BIT|INT> dp|ep, a, b, <cp|!cp>
setp.<eq|ne>.b32 dp, a, 0f3f800000
setp.<eq|ne>.b64 dp, a, 0d3ff0000000000000
setp.<eq|ne>.b32 dp|ep, a, 0f3f800000
setp.<eq|ne>.b64 dp|ep, a, 0d3ff0000000000000
setp.<eq|ne>.<and|or|xor>.b32 dp, a, 0f3f800000, cp
setp.<eq|ne>.<and|or|xor>.b64 dp, a, 0d3ff0000000000000, cp
setp.<eq|ne>.<and|or|xor>.b32 dp|ep, a, 0f3f800000, cp
setp.<eq|ne>.<and|or|xor>.b64 dp|ep, a, 0d3ff0000000000000, cp
setp.<lt|le|gt|ge>.<INT> dp, a, b
setp.<lt|le|gt|ge>.<INT> dp|ep, a, b
setp.<lt|le|gt|ge>.<and|or|xor>.<INT> dp, a, b, <cp|!cp>
setp.<lt|le|gt|ge>.<and|or|xor>.<INT> dp|ep, a, b, <cp|!cp>
setp.<lo|ls|hi|hs>.<u16|u32|u64> dp, a, b
setp.<lo|ls|hi|hs>.<u16|u32|u64> dp|ep, a, b
setp.<lo|ls|hi|hs>.<and|or|xor>.<u16|u32|u64> dp, a, b, <cp|!cp>
setp.<lo|ls|hi|hs>.<and|or|xor>.<u16|u32|u64> dp|ep, a, b, <cp|!cp>
setp.<ge|gt|ltu|leu|eq|neu><|.ftz>.f32 dp, a, 0f3f800000
setp.<ge|gt|ltu|leu|eq|neu><|.ftz>.f32 dp|ep, a, <0f00800000|0f3f800000|0f4b800000|0f7f800000>
setp.<ge|gt|ltu|leu|eq|neu>.<and|or|xor><|.ftz>.f32 dp, a, 0f3f800000, <cp|!cp>
setp.<ge|gt|ltu|leu|eq|neu>.<and|or|xor><|.ftz>.f32 dp|ep, a, 0f3f800000, <cp|!cp>
setp.<ge|gt|ltu|leu|eq|neu>.f64 dp, a, 0d3ff0000000000000
setp.<ge|gt|ltu|leu|eq|neu>.f64 dp|ep, a, <0d0010000000000000|0d3ff0000000000000|0d7ff0000000000000>
setp.<ge|gt|ltu|leu|eq|neu>.<and|or|xor>.f64 dp, a, 0d3ff0000000000000, cp
setp.<ge|gt|ltu|leu|eq|neu>.<and|or|xor>.f64 dp|ep, a, 0d3ff0000000000000, <cp|!cp>
abs<|.ftz>.f32 x32, a; setp.<ge|gt|ltu|leu|eq|neu>.f32 dp, x32, <0f00800000|0f3f800000|0f7f800000>
abs.f64 x64, a; setp.<ge|gt|ltu|leu|eq|neu>.f64 dp, x64, <0d0010000000000000|0d3ff0000000000000>
cvt.<u8|s8|u16|s16>.<u8|s8|u16|s16> d<16|32|64>, a<16|32|64>
cvt.<u8|s8|u16|s16>.<u32|s32> d<16|32|64>, a<32|64>
cvt.<u8|s8|u16|s16>.<u64|s64> d<16|32|64>, a
cvt.<u32|s32>.<u8|s8|u16|s16> d<32|64>, a<16|32|64>
cvt.<u32|s32>.<u32|s32> d<32|64>, a<32|64>
cvt.<u32|s32>.<u64|s64> d<32|64>, a
cvt.<u64|s64>.<u8|s8|u16|s16> d64, a<16|32|64>
cvt.<u64|s64>.<u32|s32> d64, a<32|64>
cvt.<u64|s64>.<u64|s64> d, a
<min|max><|.ftz><|.NaN>.f32 d, a, b
<min|max>.f64 d, a, b
add<|.rn|.rz|.rm|.rp><|.ftz>.f32 d, a, b
add<|.rn|.rz|.rm|.rp>.f64 d, a, b
cvt<|.rni|.rzi|.rmi|.rpi><|.ftz>.f32.f32 d, a
cvt<|.rni|.rzi|.rmi|.rpi>.f64.f64 d, a
cvt<|.ftz>.f64.f32 d64, a
cvt<.rn|.rz|.rm|.rp><|.ftz>.f32.f64 d32, a
cvt<.rn|.rz|.rm|.rp><|.ftz>.f32.<u8|s8|u16|s16> d32, a<16|32|64>
cvt<.rn|.rz|.rm|.rp><|.ftz>.f32.<u32|s32> d32, a<32|64>
cvt<.rn|.rz|.rm|.rp><|.ftz>.f32.<u64|s64> d32, a
cvt<.rn|.rz|.rm|.rp>.f64.<u8|s8|u16|s16> d64, a<16|32|64>
cvt<.rn|.rz|.rm|.rp>.f64.<u32|s32> d64, a<32|64>
cvt<.rn|.rz|.rm|.rp>.f64.<u64|s64> d64, a
cvt<.rni|.rzi|.rmi|.rpi><|.ftz>.<u8|s8|u16|s16>.f32 d<16|32|64>, a
cvt<.rni|.rzi|.rmi|.rpi><|.ftz>.<u32|s32>.f32 d<32|64>, a
cvt<.rni|.rzi|.rmi|.rpi><|.ftz>.<u64|s64>.f32 d64, a
cvt<.rni|.rzi|.rmi|.rpi>.<u8|s8|u16|s16>.f64 d<16|32|64>, a
cvt<.rni|.rzi|.rmi|.rpi>.<u32|s32>.f64 d<32|64>, a
cvt<.rni|.rzi|.rmi|.rpi>.<u64|s64>.f64 d64, a
cvt<.rni|.rzi|.rmi|.rpi>.<u8|s8|u16|s16>.f16 d<16|32|64>, a
cvt<.rni|.rzi|.rmi|.rpi>.sat.<u8|s8|u16|s16>.<f16|f64> d<16|32|64>, a
cvt<.rni|.rzi|.rmi|.rpi><|.ftz>.sat.<u8|s8|u16|s16>.f32 d<16|32|64>, a
.param .b8 p; .param .b64 q; st.param.b8 [p], a<16|32|64>; call (q), pass<U8|S8|B8>, (p); ld.param.b64 d64, [q]
.param .b16 p; .param .b64 q; st.param.b16 [p], a<16|32|64>; call (q), pass<U16|S16|B16>, (p); ld.param.b64 d64, [q]
.param .b32 p; .param .b64 q; st.param.b32 [p], a<32|64>; call (q), pass<U32|S32|B32>, (p); ld.param.b64 d64, [q]
.param .b64 p; .param .b64 q; st.param.b64 [p], a64; call (q), pass<U64|S64|B64>, (p); ld.param.b64 d64, [q]
";

/// Sets of types in the table.
const SETS: [(&str, &str); 2] = [("INT", "u16|s16|u32|s32|u64|s64"), ("BIT", "b16|b32|b64")];
/// The seed of the operands.
const SEED: u64 = 37;
/// The operands that each instruction gets, and how many have a hash together.
pub(crate) const COUNT: usize = (GRID * BLOCK) as usize;
pub(crate) const GRID: u32 = 20;
pub(crate) const BLOCK: u32 = 50;

/// Instructions with one opcode and the same types: a kernel, and a line of the file of answers.
pub(crate) struct Form {
    pub(crate) name: String,
    pub(crate) instructions: Vec<String>,
}

/// A register of an instruction: `d32`, or `dp` with one bit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Register {
    pub(crate) name: String,
    pub(crate) bits: u32,
}

impl Register {
    fn is_operand(&self) -> bool {
        self.name.starts_with(['a', 'b', 'c'])
    }

    fn is_result(&self) -> bool {
        self.name.starts_with(['d', 'e', 'f', 'g'])
    }

    /// The declaration of the register.
    pub(crate) fn declaration(&self) -> String {
        match self.bits {
            1 => format!(".reg .pred {};\n", self.name),
            bits => format!(".reg .b{bits} {};\n", self.name),
        }
    }
}

/// Returns the bits of a type.
pub(crate) fn bits_of(word: &str) -> Option<u32> {
    if word == "pred" {
        return Some(1);
    }
    let bits = ["bf", "b", "u", "s", "f"].into_iter().find_map(|kind| word.strip_prefix(kind)?.parse().ok());
    bits.filter(|bits| matches!(bits, 8 | 16 | 32 | 64))
}

/// Returns each text that a line with alternatives stands for.
fn alternatives(line: &str) -> Vec<String> {
    let Some((before, (inner, after))) =
        line.split_once('<').and_then(|(before, rest)| Some((before, rest.split_once('>')?)))
    else {
        return vec![line.to_owned()];
    };
    let rests = alternatives(after);
    inner.split('|').flat_map(|it| rests.iter().map(move |rest| format!("{before}{it}{rest}"))).collect()
}

/// Returns the opcode, the modifiers and the types of an instruction.
pub(crate) fn words(instruction: &str) -> Vec<&str> {
    instruction.split(' ').next().unwrap().split('.').collect()
}

/// Splits a text into names and numbers, and what is between them.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(|it: char| !it.is_ascii_alphanumeric()).flat_map(|it| {
        let (name, sign) = it.split_at(it.trim_end_matches(|it: char| !it.is_ascii_alphanumeric()).len());
        [name, sign]
    })
}

/// Gives registers the bits that an instruction does not state.
pub(crate) fn with_bits(instruction: &str) -> String {
    let (opcode, operands) = instruction.split_once(' ').unwrap();
    let bits = words(instruction).iter().rev().find_map(|it| bits_of(it)).unwrap_or(32);
    let mut out = format!("{opcode} ");
    for token in tokens(operands) {
        match token.as_bytes() {
            [b'a'..=b'g'] => out += &format!("{token}{bits}"),
            [b'A'..=b'G'] => out += &format!("{}{}", token.to_lowercase(), 2 * bits),
            _ => out += token,
        }
    }
    out
}

/// Returns the registers of instructions.
pub(crate) fn registers(text: &str) -> Vec<Register> {
    let mut all: Vec<Register> = Vec::new();
    let instructions = text.split("; ").filter(|it| !it.starts_with('.'));
    for token in instructions.filter_map(|it| it.split_once(' ')).flat_map(|it| tokens(it.1)) {
        let Some((_, rest)) = token.split_at_checked(1).filter(|it| it.0.as_bytes()[0].is_ascii_lowercase())
        else {
            continue;
        };
        let Some(bits) = (if rest == "p" { Some(1) } else { rest.parse().ok() }) else { continue };
        let register = Register { name: token.to_owned(), bits };
        if !all.contains(&register) {
            all.push(register);
        }
    }
    all
}

/// Returns the registers that instructions write for others to see.
pub(crate) fn results(text: &str) -> Vec<Register> {
    registers(text).into_iter().filter(Register::is_result).collect()
}

/// Returns all forms.
pub(crate) fn forms() -> Vec<Form> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in TABLE.trim().lines() {
        let line = SETS.iter().fold(line.to_owned(), |line, (name, types)| line.replace(name, types));
        for text in alternatives(&line) {
            let text = text.split("; ").map(with_bits).collect::<Vec<_>>().join("; ");
            let first = text.split("; ").find(|it| !it.starts_with('.')).unwrap();
            let words = words(first);
            let named = |word: &&&str| bits_of(word).is_some() || **word == "sat";
            let name = words[..1].iter().chain(words[1..].iter().filter(named)).copied();
            all.entry(name.collect::<Vec<_>>().join(".")).or_default().push(text.clone());
        }
    }
    all.into_iter().map(|(name, instructions)| Form { name, instructions }).collect()
}

/// Random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = self.0;
        it = (it ^ it >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ it >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        it ^ it >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }

    /// An integer that is often at an end of some type, or next to a power of two.
    fn integer(&mut self) -> u64 {
        let sign = self.one(&[1, u64::MAX]);
        match self.below(6) {
            0 => self.next(),
            1 => self.next() >> self.below(64),
            2 => (1 << self.below(64)) - 1 + self.below(3),
            3 => self.below(140).wrapping_mul(sign),
            4 => (1_u64 << self.below(64)).wrapping_add(self.below(3)).wrapping_sub(1).wrapping_mul(sign),
            // Each half and each byte of it may be an end.
            _ => (0..4).fold(0, |all, _| {
                all << 16 | self.one(&[0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fff, 0x8001])
            }),
        }
    }

    /// The bits of a float: any, a special one, or one next to an integer or to a power of two.
    fn float(&mut self, bits: u32) -> u64 {
        let (sign, part) = (self.one(&[1.0, -1.0]), self.one(&[0.0, 0.25, 0.5, 0.999_999, 1.0, 1.5]));
        let power = f64::from(u32::try_from(self.below(70)).unwrap());
        let value = match self.below(6) {
            0 => return self.next(),
            1 => {
                let (digits, all) = if bits == 32 { (23, 0x7fff_ffff) } else { (52, u64::MAX >> 1) };
                let infinity = all >> digits << digits;
                let near = [0, 1 << digits, infinity, infinity | 1 << (digits - 1), all];
                let magnitude = self.one(&near).wrapping_add(self.below(3)).wrapping_sub(1) & all;
                return magnitude | (self.below(2) << (bits - 1));
            }
            2 => f64::from(u32::try_from(self.below(300)).unwrap()) + part,
            3 => power.exp2() + part,
            4 => power.exp2() - part,
            _ => (power - 35.0).exp2() * (1.0 + part),
        };
        #[expect(clippy::cast_possible_truncation, reason = "a float of 32 bits is asked for")]
        if bits == 32 { u64::from(((sign * value) as f32).to_bits()) } else { (sign * value).to_bits() }
    }
}

/// Adds a number to a hash.
fn mixed(hash: u64, number: u64) -> u64 {
    let product = (hash ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ product >> 32
}

/// A scope with instructions and what uses each of their results.
pub(crate) fn scope(instructions: &str, mut uses: impl FnMut(&Register) -> String) -> String {
    let mut text = "{\n".to_owned();
    for it in registers(instructions).iter().filter(|it| !it.is_operand()) {
        text += &it.declaration();
    }
    for it in instructions.split("; ") {
        text += &format!("{it};\n");
    }
    results(instructions).iter().for_each(|it| text += &uses(it));
    text + "}\n"
}

impl Form {
    /// The operands `a`, then `b`, then `c` of each thread.
    pub(crate) fn operands(&self) -> Vec<u64> {
        let mut random = Random(self.name.bytes().fold(SEED, |all, it| mixed(all, it.into())));
        let source = words(&self.name).last().copied().unwrap();
        let mut all = vec![0_u64; 3 * COUNT];
        for thread in 0..COUNT {
            for slot in 0..3 {
                all[slot * COUNT + thread] = match (slot, source) {
                    // Equal numbers and neighbours are rare otherwise.
                    (1.., _) if random.below(4) == 0 => {
                        all[thread].wrapping_add(random.below(3)).wrapping_sub(1)
                    }
                    (_, "f32") => random.float(32),
                    (_, "f64") => random.float(64),
                    _ => random.integer(),
                };
            }
        }
        all
    }

    /// The number of results of all instructions.
    pub(crate) fn results(&self) -> usize {
        self.instructions.iter().map(|it| results(it).len()).sum()
    }

    /// The kernel that runs the form: `from` has the operands, and `to` gets the results. With `uses`, it
    /// accesses each number as an address, and ends by each predicate: so a proof keeps how it comes about.
    pub(crate) fn kernel(&self, name: &str, uses: bool) -> String {
        let mut text = format!(
            ".visible .entry {name}(.param .u64 from, .param .u64 to)\n{{\n.reg .b32 t, u;\n.reg .b64 x, y;\n\
             .reg .b16 z;\nmov.u32 t, %tid.x;\nmov.u32 u, %ctaid.x;\nmad.lo.u32 t, u, {BLOCK}, t;\n\
             ld.param.u64 x, [from];\nld.param.u64 y, [to];\nmad.wide.u32 x, t, 8, x;\n\
             mad.wide.u32 y, t, 8, y;\n"
        );
        let mut operands: Vec<Register> = self.instructions.iter().flat_map(|it| registers(it)).collect();
        operands.retain(|it| it.is_operand());
        operands.sort();
        operands.dedup();
        for it in &operands {
            let at = 8 * COUNT * usize::from(it.name.as_bytes()[0] - b'a');
            text += &it.declaration();
            let Register { name, bits } = it;
            text += &match (bits, uses) {
                (1, _) => {
                    format!("ld.global.b32 u, [x+{at}];\nand.b32 u, u, 1;\nsetp.ne.b32 {name}, u, 0;\n")
                }
                (_, false) => format!("ld.global.b{bits} {name}, [x+{at}];\n"),
                (_, true) => format!("ld.global.b{bits} {name}, [x+{at}];\nld.global.b8 z, [{name}];\n"),
            };
        }
        let mut at = 0;
        for instruction in &self.instructions {
            text += &scope(instruction, |Register { name, bits }| {
                let used = match bits {
                    _ if !uses => String::new(),
                    1 => format!("@{name} exit;\n"),
                    _ => format!("st.global.b8 [{name}], z;\n"),
                };
                let stored = match bits {
                    1 => format!("selp.u32 u, 1, 0, {name};\nst.global.b32 [y+{at}], u;\n"),
                    _ => format!("st.global.b{bits} [y+{at}], {name};\n"),
                };
                at += 8 * COUNT;
                used + &stored
            });
        }
        text + "ret;\n}\n"
    }

    /// The line of the file of answers: the lowest and the largest result, in the sign of the first type, and
    /// a hash for the results of each block of threads. All NaNs count as one.
    pub(crate) fn line(&self, answers: &[u64]) -> String {
        let into = words(&self.name).into_iter().find(|it| bits_of(it).is_some()).unwrap_or_default();
        let is_signed = into.starts_with('s');
        let bits = self.instructions.iter().flat_map(|it| results(it)).map(|it| it.bits);
        let nan = |value: u64| match into {
            "f32" => f32::from_bits(u32::try_from(value).unwrap_or(0)).is_nan(),
            "f64" => f64::from_bits(value).is_nan(),
            _ => false,
        };
        let (mut low, mut high, mut hashes) = (i128::MAX, i128::MIN, String::new());
        for group in (0..COUNT).step_by(BLOCK as usize) {
            let mut hash = 0;
            for (of, bits) in answers.chunks(COUNT).zip(bits.clone()) {
                for answer in &of[group..][..BLOCK as usize] {
                    let answer = if nan(*answer) { u64::MAX } else { *answer };
                    hash = mixed(hash, answer);
                    let extended = (answer << (64 - bits)).cast_signed() >> (64 - bits);
                    let value = if is_signed { i128::from(extended) } else { i128::from(answer) };
                    (low, high) = (low.min(value), high.max(value));
                }
            }
            let _ = write!(hashes, " {:04x}", hash & 0xffff);
        }
        format!("{}\t{low}\t{high}\t{}\n", self.name, &hashes[1..])
    }
}

/// The beginning of a PTX text, with functions that extend their argument.
pub(crate) fn header() -> String {
    let mut text = ".version 8.3\n.target sm_90\n.address_size 64\n".to_owned();
    for (kind, bits) in ["u", "s", "b"].into_iter().flat_map(|kind| [8, 16, 32, 64].map(|bits| (kind, bits)))
    {
        text += &format!(
            ".func (.param .b64 q) pass{}{bits}(.param .b{bits} p)\n{{\n.reg .b64 x;\n\
             ld.param.{kind}{bits} x, [p];\nst.param.b64 [q], x;\nret;\n}}\n",
            kind.to_uppercase()
        );
    }
    text
}
