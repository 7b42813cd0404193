//! Instructions on random and on awkward numbers, compared with the host.

use super::{Loaded, arg, cuda, fails, load};

/// A small generator of numbers that repeats from its seed.
struct RandomNumbers(u64);

impl RandomNumbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        // Every third number is one at the edges of some type.
        match self.0 % 9 {
            0 => [0, 1, u64::MAX, 1 << 31, 1 << 63, 0x7FFF_FFFF, i64::MAX as u64, 0xFFFF]
                [self.0 as usize >> 8 & 7],
            1 => (self.0 >> 32) & 0x3F,
            2 => self.0 >> 32 | 0xFFFF_FFFF_0000_0000,
            _ => self.0,
        }
    }

    fn float(&mut self) -> f64 {
        const EDGES: [f64; 10] =
            [0.0, -0.0, 1.0, -1.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-40, 3.4e38, 65504.0];
        let n = self.next();
        match n % 7 {
            0 => EDGES[n as usize / 7 % 10],
            1 => (n >> 20) as i32 as f64,
            2 => f64::from(f32::from_bits((n >> 8) as u32)),
            _ => (n as i64 as f64) / (1u64 << (n % 60)) as f64,
        }
    }
}

const N: usize = 512;

/// Runs one instruction with three operands over arrays of 64-bit cells.
fn each(ty: &str, instruction: &str, inputs: &[Vec<u64>; 3]) -> Vec<u64> {
    each_as(ty, ty, instruction, inputs)
}

fn each_as(from: &str, to: &str, instruction: &str, inputs: &[Vec<u64>; 3]) -> Vec<u64> {
    let bits = |ty: &str| ty.trim_start_matches(|c: char| c.is_alphabetic()).to_owned();
    let (a, d) = (bits(from), bits(to));
    let text = format!(
        ".version 9.0 .target sm_90 .address_size 64
        .visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd) {{
            .reg .b64 %rd<9>; .reg .b{a} a, b, c; .reg .b{d} d; .reg .b32 i, n, m; .reg .pred p, q;
            ld.param.u64 %rd1, [pa]; ld.param.u64 %rd2, [pb]; ld.param.u64 %rd3, [pc]; ld.param.u64 %rd4, [pd];
            mov.u32 i, %tid.x; mov.u32 n, %ctaid.x; mov.u32 m, %ntid.x; mad.lo.s32 i, n, m, i;
            mul.wide.u32 %rd5, i, 8;
            add.s64 %rd1, %rd1, %rd5; add.s64 %rd2, %rd2, %rd5; add.s64 %rd3, %rd3, %rd5; add.s64 %rd4, %rd4, %rd5;
            ld.b{a} a, [%rd1]; ld.b{a} b, [%rd2]; ld.b{a} c, [%rd3];
            {instruction}
            st.b{d} [%rd4], d;
            ret;
        }}"
    );
    let mut m: Loaded = load(&text);
    let inputs = inputs.each_ref().map(|i| m.machine.upload(i));
    let out = m.machine.alloc(8 * N);
    // Blocks of 50 threads: full warps and others.
    let blocks = (N / 50) as u32;
    let args = [arg(inputs[0]), arg(inputs[1]), arg(inputs[2]), arg(out)];
    m.run("k", blocks, 50, &args).unwrap_or_else(|e| panic!("{instruction}: {e}"));
    let mut all: Vec<u64> = m.machine.download(out);
    all.truncate(blocks as usize * 50);
    all
}

fn words(seed: u64) -> [Vec<u64>; 3] {
    let mut r = RandomNumbers(seed | 1);
    [0; 3].map(|_| (0..N).map(|_| r.next()).collect())
}

fn floats(seed: u64, narrow: bool) -> [Vec<u64>; 3] {
    let mut r = RandomNumbers(seed | 1);
    let bits = |v: f64| if narrow { u64::from((v as f32).to_bits()) } else { v.to_bits() };
    [0; 3].map(|_| (0..N).map(|_| bits(r.float())).collect())
}

macro_rules! check {
    ($seed:expr, $ty:literal, $t:ty, $($instruction:literal => $f:expr;)*) => {$(
        let inputs = words($seed);
        let got = each($ty, $instruction, &inputs);
        let f: fn($t, $t, $t) -> $t = $f;
        for (i, got) in got.iter().enumerate() {
            let [a, b, c] = inputs.each_ref().map(|v| v[i] as $t);
            assert_eq!(*got as $t, f(a, b, c), "{} of {a:#x}, {b:#x}, {c:#x}", $instruction);
        }
    )*};
}

#[test]
fn integers_of_32_bits() {
    check!(1, "u32", u32,
        "add.u32 d, a, b;" => |a, b, _| a.wrapping_add(b);
        "sub.s32 d, a, b;" => |a, b, _| a.wrapping_sub(b);
        "mul.lo.s32 d, a, b;" => |a, b, _| a.wrapping_mul(b);
        "mul.hi.u32 d, a, b;" => |a, b, _| (u64::from(a) * u64::from(b) >> 32) as u32;
        "mul.hi.s32 d, a, b;" => |a, b, _| (i64::from(a as i32) * i64::from(b as i32) >> 32) as u32;
        "mad.lo.s32 d, a, b, c;" => |a, b, c| a.wrapping_mul(b).wrapping_add(c);
        "mad.hi.u32 d, a, b, c;" => |a, b, c| ((u64::from(a) * u64::from(b) >> 32) as u32).wrapping_add(c);
        "mul24.lo.u32 d, a, b;" => |a, b, _| (u64::from(a & 0xFF_FFFF) * u64::from(b & 0xFF_FFFF)) as u32;
        "div.u32 d, a, b;" => |a, b, _| a.checked_div(b).unwrap_or(u32::MAX);
        "div.s32 d, a, b;" =>
            |a, b, _| if b == 0 { u32::MAX } else { (a as i32).wrapping_div(b as i32) as u32 };
        "rem.u32 d, a, b;" => |a, b, _| a.checked_rem(b).unwrap_or(u32::MAX);
        "rem.s32 d, a, b;" =>
            |a, b, _| if b == 0 { u32::MAX } else { (a as i32).wrapping_rem(b as i32) as u32 };
        "min.s32 d, a, b;" => |a, b, _| (a as i32).min(b as i32) as u32;
        "max.u32 d, a, b;" => |a, b, _| a.max(b);
        "abs.s32 d, a;" => |a, _, _| (a as i32).wrapping_abs() as u32;
        "neg.s32 d, a;" => |a, _, _| a.wrapping_neg();
        "sad.u32 d, a, b, c;" => |a, b, c| c.wrapping_add(a.abs_diff(b));
        "add.sat.s32 d, a, b;" => |a, b, _| (a as i32).saturating_add(b as i32) as u32;
        "and.b32 d, a, b;" => |a, b, _| a & b;
        "not.b32 d, a;" => |a, _, _| !a;
        "cnot.b32 d, a;" => |a, _, _| u32::from(a == 0);
        "shl.b32 d, a, b;" => |a, b, _| a.checked_shl(b).unwrap_or(0);
        "shr.u32 d, a, b;" => |a, b, _| a.checked_shr(b).unwrap_or(0);
        "shr.s32 d, a, b;" => |a, b, _| ((a as i32) >> b.min(31)) as u32;
        "shf.l.wrap.b32 d, a, b, c;" =>
            |a, b, c| ((u64::from(b) << 32 | u64::from(a)) << (c & 31) >> 32) as u32;
        "shf.r.clamp.b32 d, a, b, c;" => |a, b, c| ((u64::from(b) << 32 | u64::from(a)) >> c.min(32)) as u32;
        "popc.b32 d, a;" => |a, _, _| a.count_ones();
        "clz.b32 d, a;" => |a, _, _| a.leading_zeros();
        "bfind.u32 d, a;" => |a, _, _| if a == 0 { u32::MAX } else { 31 - a.leading_zeros() };
        "bfind.s32 d, a;" =>
            |a, _, _| {
                let v = if (a as i32) < 0 { !a } else { a };
                if v == 0 { u32::MAX } else { 31 - v.leading_zeros() }
            };
        "brev.b32 d, a;" => |a, _, _| a.reverse_bits();
        "lop3.b32 d, a, b, c, 0x1D;" => |a, b, c| (0..32).fold(0, |d, n| {
            let index = (a >> n & 1) << 2 | (b >> n & 1) << 1 | c >> n & 1;
            d | (0x1D >> index & 1) << n
        });
        "lop3.b32 d, a, b, c, 0xCA;" => |a, b, c| a & b | !a & c;
        "bfe.u32 d, a, 5, 11;" => |a, _, _| a >> 5 & 0x7FF;
        "bfe.s32 d, a, 28, 11;" => |a, _, _| ((a as i32) >> 28) as u32;
        "bfe.s32 d, a, 3, 7;" => |a, _, _| ((a << 22) as i32 >> 25) as u32;
        "bfi.b32 d, a, b, 8, 12;" => |a, b, _| b & !0xF_FF00 | (a & 0xFFF) << 8;
        "prmt.b32 d, a, b, 0x6129;" => |a, b, _| {
            let all = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
            u32::from_le_bytes([((all[1] as i8) >> 7) as u8, all[2], all[1], all[6]])
        };
        "setp.lt.s32 p, a, b; selp.b32 d, a, c, p;" => |a, b, c| if (a as i32) < b as i32 { a } else { c };
        "setp.hi.u32 p|q, a, b; @q mov.u32 d, 7; @p mov.u32 d, c;" => |a, b, c| if a > b { c } else { 7 };
        "setp.ge.s32 p, a, 0; setp.eq.or.u32 q, b, c, !p; selp.b32 d, 1, 2, q;" =>
            |a, b, c| if b == c || (a as i32) < 0 { 1 } else { 2 };
        "slct.u32.s32 d, a, b, c;" => |a, b, c| if c as i32 >= 0 { a } else { b };
        "set.gt.u32.s32 d, a, b;" => |a, b, _| if a as i32 > b as i32 { u32::MAX } else { 0 };
        "add.cc.u32 d, a, b; addc.u32 d, c, 0;" =>
            |a, b, c| c.wrapping_add(u32::from(a.checked_add(b).is_none()));
        "sub.cc.u32 d, a, b; subc.u32 d, c, 0;" => |a, b, c| c.wrapping_sub(u32::from(a < b));
        "sub.cc.u32 d, a, b; addc.u32 d, c, 0;" => |a, b, c| c.wrapping_add(u32::from(a >= b));
        "dp4a.u32.u32 d, a, b, c;" => |a, b, c| a.to_le_bytes().iter().zip(b.to_le_bytes())
            .fold(c, |c, (x, y)| c.wrapping_add(u32::from(*x) * u32::from(y)));
        "cvt.s32.s8 d, a;" => |a, _, _| i32::from(a as i8) as u32;
        "cvt.u32.u16 d, a;" => |a, _, _| u32::from(a as u16);
        "cvt.sat.s8.s32 d, a;" => |a, _, _| (a as i32).clamp(-128, 127) as u32;
    );
}

#[test]
fn video_instructions() {
    fn each_byte(a: u32, b: u32, f: fn(i32, i32) -> i32) -> u32 {
        let bytes: Vec<u8> = a
            .to_le_bytes()
            .iter()
            .zip(b.to_le_bytes())
            .map(|(a, b)| f((*a).into(), b.into()) as u8)
            .collect();
        u32::from_le_bytes(bytes.try_into().unwrap())
    }
    check!(41, "u32", u32,
        "vadd.s32.u32.s32.sat d, a.b0, b.b3;" =>
            |a, b, _| (i32::from(a as u8) + i32::from((b >> 24) as i8)) as u32;
        "vadd.u32.s32.s32.sat d, a.h0, b.h1;" =>
            |a, b, _| (i32::from(a as i16) + i32::from((b >> 16) as i16)).max(0) as u32;
        "vsub.u32.u32.u32.sat.min d, a.h1, b.b0, c;" =>
            |a, b, c| (a >> 16).saturating_sub(b & 0xFF).min(c);
        "vabsdiff.u32.s32.s32 d, a, b;" => |a, b, _| (a as i32).abs_diff(b as i32);
        "vmax.s32.s32.s32 d.b2, a.b1, b.b2, c;" => |a, b, c| {
            let most = ((a >> 8) as i8).max((b >> 16) as i8);
            c & 0xFF00_FFFF | u32::from(most as u8) << 16
        };
        "vset.s32.u32.lt.add d, a.b0, b, c;" =>
            |a, b, c| c.wrapping_add(u32::from(i64::from(a as i8) < i64::from(b)));
        "vshl.u32.u32.u32.clamp d, a, b.b0;" => |a, b, _| a.checked_shl(b & 0xFF).unwrap_or(0);
        "vshr.s32.s32.u32.wrap d, a, b;" => |a, b, _| ((a as i32) >> (b & 31)) as u32;
        "vmad.s32.s32.s32.sat d, a.h0, b.h1, c;" => |a, b, c| {
            let v = i64::from(a as i16) * i64::from((b >> 16) as i16) + i64::from(c as i32);
            v.clamp(i32::MIN.into(), i32::MAX.into()) as u32
        };
        "vmad.u32.u32.u32.shr7 d, a.b0, b.b1, c;" =>
            |a, b, c| ((i64::from(a & 0xFF) * i64::from(b >> 8 & 0xFF) + i64::from(c as i32)) >> 7) as u32;
        "vadd4.u32.u32.u32.sat d, a, b, c;" => |a, b, _| each_byte(a, b, |a, b| (a + b).min(255));
        "vavrg4.u32.u32.u32 d, a, b, c;" => |a, b, _| each_byte(a, b, |a, b| (a + b + 1) >> 1);
        "vset4.u32.u32.gt d, a, b, c;" => |a, b, _| each_byte(a, b, |a, b| (a > b).into());
        "vmin4.u32.u32.u32.add d.b31, a.b7654, b.b0123, c;" => |a, b, c| {
            // Parts 0 to 3 are those of the first operand, for either selection.
            let part = |n: u32| (b >> (8 * n) & 0xFF).min(a >> (8 * (3 - n)) & 0xFF);
            c.wrapping_add(part(1)).wrapping_add(part(3))
        };
        "vsub2.s32.s32.s32.sat d.h1, a.h10, b.h20, c;" => |a, b, c| {
            let v = i32::from((a >> 16) as i16) - i32::from(b as i16);
            c & 0xFFFF | (v.clamp(-0x8000, 0x7FFF) as u32) << 16
        };
    );
}

#[test]
fn integers_of_64_and_16_bits() {
    check!(2, "u64", u64,
        "add.u64 d, a, b;" => |a, b, _| a.wrapping_add(b);
        "mul.lo.s64 d, a, b;" => |a, b, _| a.wrapping_mul(b);
        "mul.hi.u64 d, a, b;" => |a, b, _| (u128::from(a) * u128::from(b) >> 64) as u64;
        "mul.hi.s64 d, a, b;" => |a, b, _| (i128::from(a as i64) * i128::from(b as i64) >> 64) as u64;
        "mad.lo.u64 d, a, b, c;" => |a, b, c| a.wrapping_mul(b).wrapping_add(c);
        "div.u64 d, a, b;" => |a, b, _| a.checked_div(b).unwrap_or(u64::MAX);
        "div.s64 d, a, b;" =>
            |a, b, _| if b == 0 { u64::MAX } else { (a as i64).wrapping_div(b as i64) as u64 };
        "rem.s64 d, a, b;" =>
            |a, b, _| if b == 0 { u64::MAX } else { (a as i64).wrapping_rem(b as i64) as u64 };
        "min.s64 d, a, b;" => |a, b, _| (a as i64).min(b as i64) as u64;
        "shl.b64 d, a, 13;" => |a, _, _| a << 13;
        "shr.s64 d, a, 70;" => |a, _, _| ((a as i64) >> 63) as u64;
        "xor.b64 d, a, b;" => |a, b, _| a ^ b;
        "brev.b64 d, a;" => |a, _, _| a.reverse_bits();
        "bfe.u64 d, a, 40, 30;" => |a, _, _| a >> 40;
        "bfe.s64 d, a, 7, 9;" => |a, _, _| ((a << 48) as i64 >> 55) as u64;
        "bfi.b64 d, a, b, 32, 32;" => |a, b, _| a << 32 | b & 0xFFFF_FFFF;
        "{ .reg .b32 x, y; mov.b64 {x, y}, a; mov.b64 d, {y, x}; }" => |a, _, _| a.rotate_left(32);
        "{ .reg .b16 w, x, y, z; mov.b64 {w, x, y, z}, a; mov.b64 d, {z, x, y, w}; }" =>
            |a, _, _| a & 0x0000_FFFF_FFFF_0000 | a >> 48 | a << 48;
        "{ .reg .b32 t; cvt.u32.u64 t, a; mul.wide.s32 d, t, -3; }" =>
            |a, _, _| (i64::from(a as i32) * -3) as u64;
        "{ .reg .b32 t, u; cvt.u32.u64 t, a; cvt.u32.u64 u, b; mad.wide.u32 d, t, u, c; }" =>
            |a, b, c| (u64::from(a as u32) * u64::from(b as u32)).wrapping_add(c);
        "cvt.s64.s8 d, a;" => |a, _, _| i64::from(a as i8) as u64;
        "add.cc.u64 d, a, b; addc.cc.u64 d, b, c;" =>
            |a, b, c| b.wrapping_add(c).wrapping_add(u64::from(a.checked_add(b).is_none()));
    );
    check!(3, "u16", u16,
        "add.u16 d, a, b;" => |a, b, _| a.wrapping_add(b);
        "mul.lo.u16 d, a, b;" => |a, b, _| a.wrapping_mul(b);
        "mul.hi.s16 d, a, b;" => |a, b, _| (i32::from(a as i16) * i32::from(b as i16) >> 16) as u16;
        "shr.s16 d, a, 3;" => |a, _, _| ((a as i16) >> 3) as u16;
        "max.s16 d, a, b;" => |a, b, _| (a as i16).max(b as i16) as u16;
        "div.s16 d, a, b;" =>
            |a, b, _| if b == 0 { u16::MAX } else { (a as i16).wrapping_div(b as i16) as u16 };
        "setp.lt.s16 p, a, b; selp.b16 d, c, a, p;" => |a, b, c| if (a as i16) < b as i16 { c } else { a };
    );
}

/// Rounds an exact sum of a 64-bit number and the sign of the missing rest, bit by bit, to 24 digits.
fn nearest_not(mode: &str, value: f64) -> f32 {
    let near = value as f32;
    let wide = f64::from(near);
    if !value.is_finite() || wide == value {
        return near;
    }
    let toward_up = match mode {
        "rp" => true,
        "rm" => false,
        _ => value < 0.0,
    };
    match (toward_up, wide < value) {
        (true, true) => near.next_up(),
        (false, false) => near.next_down(),
        _ => near,
    }
}

fn same32(got: u64, expected: f32, what: &str) {
    let got = f32::from_bits(got as u32);
    if expected.is_nan() {
        assert_eq!(got.to_bits(), 0x7FFF_FFFF, "{what}");
    } else {
        assert_eq!(got.to_bits(), expected.to_bits(), "{what}: {got:e}, expected {expected:e}");
    }
}

#[test]
fn floats_of_32_bits_round_as_asked() {
    let inputs = floats(4, true);
    let at = |i: usize| inputs.each_ref().map(|v| f32::from_bits(v[i] as u32));
    let run = |instruction: &str, f: &dyn Fn(f32, f32, f32) -> f32| {
        for (i, got) in each("f32", instruction, &inputs).into_iter().enumerate() {
            let [a, b, c] = at(i);
            same32(got, f(a, b, c), &format!("{instruction} of {a:e}, {b:e}, {c:e}"));
        }
    };
    run("add.f32 d, a, b;", &|a, b, _| a + b);
    run("mul.rn.f32 d, a, b;", &|a, b, _| a * b);
    run("fma.rn.f32 d, a, b, c;", &|a, b, c| a.mul_add(b, c));
    run("div.rn.f32 d, a, b;", &|a, b, _| a / b);
    run("sqrt.rn.f32 d, a;", &|a, _, _| a.sqrt());
    run("rcp.rn.f32 d, a;", &|a, _, _| 1.0 / a);
    run("add.sat.f32 d, a, b;", &|a, b, _| if a + b > 0.0 { (a + b).min(1.0) } else { 0.0 });
    run("min.f32 d, a, b;", &|a, b, _| match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ if a == 0.0 && b == 0.0 => f32::from_bits(a.to_bits() | b.to_bits()),
        _ => a.min(b),
    });
    let flush = |v: f32| if v.is_subnormal() { 0f32.copysign(v) } else { v };
    run("add.ftz.f32 d, a, b;", &|a, b, _| flush(flush(a) + flush(b)));
    run("mul.ftz.f32 d, a, b;", &|a, b, _| flush(flush(a) * flush(b)));
    for mode in ["rz", "rm", "rp"] {
        run(&format!("mul.{mode}.f32 d, a, b;"), &|a, b, _| nearest_not(mode, f64::from(a) * f64::from(b)));
        // NaN keeps its payload in these conversions, and loses it in the product.
        let back = format!("cvt.f64.f32 %rd8, a; cvt.{mode}.f32.f64 d, %rd8; mul.f32 d, d, 0f3F800000;");
        run(&back, &|a, _, _| a);
    }
    run("cvt.rni.f32.f32 d, a;", &|a, _, _| a.round_ties_even());
    run("cvt.rmi.f32.f32 d, a;", &|a, _, _| a.floor());
    run("setp.ltu.f32 p, a, b; selp.f32 d, 0f3F800000, 0f40000000, p;", &|a, b, _| {
        if a >= b { 2.0 } else { 1.0 }
    });
    run("setp.ne.f32 p, a, b; selp.f32 d, 0f3F800000, 0f40000000, p;", &|a, b, _| {
        if a < b || a > b { 1.0 } else { 2.0 }
    });
}

#[test]
fn directed_rounding_brackets_the_exact_result() {
    for (ty, narrow) in [("f32", true), ("f64", false)] {
        let inputs = floats(5, narrow);
        let value =
            |bits: u64| if narrow { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) };
        for op in [
            "add.M.T d, a, b;",
            "fma.M.T d, a, b, c;",
            "div.M.T d, a, b;",
            "sqrt.M.T d, a;",
            "mul.M.T d, a, b;",
        ] {
            let run = |mode: &str| each(ty, &op.replace('M', mode).replace('T', ty), &inputs);
            let (near, zero, down, up) = (run("rn"), run("rz"), run("rm"), run("rp"));
            for i in 0..near.len() {
                let [near, zero, down, up] = [near[i], zero[i], down[i], up[i]].map(value);
                if near.is_nan() {
                    assert!(zero.is_nan() && down.is_nan() && up.is_nan());
                    continue;
                }
                let what =
                    format!("{op} of {:x?}: {down:e} {near:e} {up:e}", inputs.each_ref().map(|v| v[i]));
                assert!(down <= near && near <= up, "{what}");
                let next = if narrow { f64::from((down as f32).next_up()) } else { down.next_up() };
                assert!(down == up || up == next, "no number lies between: {what}");
                assert!(zero == if near > 0.0 { down } else { up } || near == 0.0, "{what}");
            }
        }
    }
}

#[test]
fn conversions_between_floats_and_integers() {
    let inputs = floats(6, false);
    let run = |to: &str, instruction: &str, f: &dyn Fn(f64) -> u64| {
        for (i, got) in each_as("f64", to, instruction, &inputs).into_iter().enumerate() {
            let a = f64::from_bits(inputs[0][i]);
            assert_eq!(got, f(a), "{instruction} of {a:e}");
        }
    };
    run("u32", "cvt.rzi.s32.f64 d, a;", &|a| u64::from(if a.is_nan() { 1 << 31 } else { a as i32 as u32 }));
    run("u32", "cvt.rni.u32.f64 d, a;", &|a| {
        u64::from(if a.is_nan() { 1 << 31 } else { a.round_ties_even() as u32 })
    });
    run("u64", "cvt.rmi.s64.f64 d, a;", &|a| if a.is_nan() { 1 << 63 } else { a.floor() as i64 as u64 });
    run("u32", "{ .reg .f32 t; cvt.rn.f32.f64 t, a; cvt.rpi.s32.f32 d, t; }", &|a| {
        u64::from((a as f32).ceil() as i32 as u32)
    });
    run("u32", "{ .reg .b16 h; cvt.rn.f16.f64 h, a; cvt.f32.f16 d, h; }", &|a| {
        let near = half::f16::from_f64(a).to_f32();
        u64::from(if a.is_nan() { 0x7FFF_FFFF } else { near.to_bits() })
    });
    let inputs = words(7);
    let run = |from: &str, to: &str, instruction: &str, f: &dyn Fn(u64) -> u64| {
        for (i, got) in each_as(from, to, instruction, &inputs).into_iter().enumerate() {
            assert_eq!(got, f(inputs[0][i]), "{instruction} of {:#x}", inputs[0][i]);
        }
    };
    run("u64", "f32", "cvt.rn.f32.s64 d, a;", &|a| u64::from((a as i64 as f32).to_bits()));
    run("u64", "f64", "cvt.rn.f64.u64 d, a;", &|a| (a as f64).to_bits());
    run("u32", "f32", "cvt.rn.f32.u32 d, a;", &|a| u64::from((a as u32 as f32).to_bits()));
    run("u64", "f32", "cvt.rz.f32.u64 d, a;", &|a| {
        let near = a as f32;
        u64::from(if near as u128 > u128::from(a) { near.next_down() } else { near }.to_bits())
    });
}

#[test]
fn an_unknown_instruction_explains_itself_when_it_is_met() {
    let text = ".version 9.0 .target sm_90 .address_size 64
        .visible .entry k(.param .u32 n) { .reg .b32 %r<3>; .reg .pred p; ld.param.u32 %r1, [n];
            setp.eq.u32 p, %r1, 0; @p bra END; frobnicate.b32 %r2, %r1;
        END: ret; }";
    let mut m = load(text);
    m.run("k", 1, 32, &[arg(0u32)]).unwrap();
    let unknown = m.run("k", 1, 32, &[arg(1u32)]);
    fails(unknown, super::Fault::NOT_SUPPORTED, &["frobnicate.b32", "line 3"]);
}

#[test]
fn a_read_of_an_image_with_offsets_or_a_comparison_is_unknown() {
    for (read, known) in [
        ("tex.2d.v4.f32.f32 {a, b, c, d}, [t, {x, x}];", true),
        ("tex.level.2d.v4.f32.f32 {a, b, c, d}, [t, {x, x}], x;", true),
        ("tex.grad.2d.v4.f32.f32 {a, b, c, d}, [t, {x, x}], {x, x}, {x, x};", true),
        ("tex.2d.v4.f32.f32 {a, b, c, d}, [t, {x, x}], {i, i};", false),
        ("tex.level.2d.v4.f32.f32 {a, b, c, d}, [t, {x, x}], x, {i, i};", false),
        ("tld4.r.2d.v4.f32.f32 {a, b, c, d}, [t, {x, x}], x;", false),
    ] {
        let text = format!(
            ".version 9.0 .target sm_90 .address_size 64
            .visible .entry k(.param .u64 n) {{ .reg .f32 a; .reg .f32 b; .reg .f32 c; .reg .f32 d; .reg .f32 x;
                .reg .b32 i; .reg .b64 t; ld.param.u64 t, [n]; mov.f32 x, 0f00000000; mov.b32 i, 1;
                {read} ret; }}"
        );
        let fault = load(&text).run("k", 1, 1, &[arg(0u64)]).unwrap_err();
        assert_eq!(fault.message.contains("this form is not known"), !known, "{read}: {fault}");
    }
}

#[test]
fn numbers_of_tensor_cores_are_converted_and_parts_of_registers_are_compared() {
    let mut m = cuda(
        "#include <cuda_fp8.h>
         #include <mma.h>
         __global__ void narrow(const float* in, float* out, unsigned* bits) {
             unsigned i = threadIdx.x;
             __nv_fp8_e4m3 a(in[i]); __nv_fp8_e5m2 b(in[i]);
             out[i * 4] = float(a); out[i * 4 + 1] = float(b);
             out[i * 4 + 2] = nvcuda::wmma::__float_to_tf32(in[i]);
             __nv_fp8x4_e4m3 four(make_float4(in[i], 1, -2, 0.5f));
             bits[i] = four.__x;
         }
         __global__ void parts(unsigned a, unsigned b, unsigned* out) {
             out[0] = __vabsdiffu4(a, b); out[1] = __vsadu4(a, b); out[2] = __vabsdiffu2(a, b); out[3] = __vsads2(a, b); out[4] = __vsads4(a, b);
             out[5] = __vadd2(a, b); out[6] = __vmaxs2(a, b); out[7] = __vminu2(a, b); out[8] = __vimax_s16x2_relu(a, b);
         }",
    );
    let values = [1.0f32, 0.3, -500.0, 17.0, 1e-4, 1.0 + 3.0 / 2048.0, 60000.0, -0.0];
    let (given, out, bits) = (m.machine.upload(&values), m.machine.alloc(128), m.machine.alloc(32));
    m.run("narrow", 1, 8, &[arg(given), arg(out), arg(bits)]).unwrap();
    let got: Vec<f32> = m.machine.download(out);
    let expected = [
        [1.0, 1.0, 1.0],
        [0.3125, 0.3125, 0.300_048_83],
        [-448.0, -512.0, -500.0],
        [16.0, 16.0, 17.0],
        [0.0, 0.000_106_811_52, 0.000_100_016_594],
        [1.0, 1.0, 1.0 + 2.0 / 1024.0],
        [448.0, 57344.0, 60000.0],
        [-0.0, -0.0, -0.0],
    ];
    for (value, (got, expected)) in values.iter().zip(got.chunks(4).zip(expected)) {
        assert_eq!(got[..3], expected, "{value}");
    }
    assert_eq!(m.machine.download::<u32>(bits)[1], 0x30C0_382A);
    let (a, b) = (0x10F0_8001u32, 0x2000_7F05u32);
    m.run("parts", 1, 1, &[arg(a), arg(b), arg(out)]).unwrap();
    let bytes = |v: u32| v.to_le_bytes();
    let each: Vec<u8> = bytes(a).iter().zip(bytes(b)).map(|(a, b)| a.abs_diff(b)).collect();
    let sum: u32 = each.iter().map(|v| u32::from(*v)).sum();
    let signed: u32 =
        bytes(a).iter().zip(bytes(b)).map(|(a, b)| u32::from((*a as i8).abs_diff(b as i8))).sum();
    let got: Vec<u32> = m.machine.download(out);
    assert_eq!(got[0].to_le_bytes()[..], each);
    assert_eq!(got[1..5], [sum, 0x0F10_00FC, 0x0F10 + 0xFF04, signed]);
    assert_eq!(got[5..9], [0x30F0_FF06, 0x2000_7F05, 0x10F0_7F05, 0x2000_7F05]);
}
