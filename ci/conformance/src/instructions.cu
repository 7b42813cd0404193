// Kernels of one instruction family each. A warp applies the instructions to a table of corner cases: thread
// i has a, b and c from it and stores its results behind each other. Needs a device of capability 9.0.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

// Not every family has three operands and words of both sizes.
#pragma nv_diag_suppress 550

namespace cg = cooperative_groups;

using u32 = unsigned;
using u64 = unsigned long long;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define BODY(...)
#else
#define BODY(...) __VA_ARGS__
#endif

#define OVER(type, name, ...)                                                       \
    extern "C" __global__ void name(const type* in, u32* out) {                     \
        BODY(u32 i = threadIdx.x; type a = in[i], b = in[32 + i], c = in[64 + i];   \
             u32 row = 0; auto put = [&](u32 x) { out[32 * row++ + i] = x; };       \
             auto put64 = [&](u64 x) { put((u32)x); put((u32)(x >> 32)); };         \
             (void)a; (void)b; (void)c; (void)put; (void)put64; __VA_ARGS__;)       \
    }
#define WORDS(name, ...) OVER(u32, name, __VA_ARGS__)
#define LONGS(name, ...) OVER(u64, name, __VA_ARGS__)

// One instruction with one, two or three operands; r, l: results of 32 and 64 bits; h: of 16.
#define R1(op) { u32 d; asm volatile(op " %0, %1;" : "=r"(d) : "r"(a)); put(d); }
#define R2(op) { u32 d; asm volatile(op " %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b)); put(d); }
#define R3(op) { u32 d; asm volatile(op " %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); put(d); }
#define L1(op) { u64 d; asm volatile(op " %0, %1;" : "=l"(d) : "l"(a)); put64(d); }
#define L2(op) { u64 d; asm volatile(op " %0, %1, %2;" : "=l"(d) : "l"(a), "l"(b)); put64(d); }
#define L3(op) { u64 d; asm volatile(op " %0, %1, %2, %3;" : "=l"(d) : "l"(a), "l"(b), "l"(c)); put64(d); }
#define RL1(op) { u32 d; asm volatile(op " %0, %1;" : "=r"(d) : "l"(a)); put(d); }
#define LR1(op) { u64 d; asm volatile(op " %0, %1;" : "=l"(d) : "r"(a)); put64(d); }
#define LR2(op) { u64 d; asm volatile(op " %0, %1, %2;" : "=l"(d) : "r"(a), "r"(b)); put64(d); }
#define HR1(op) { unsigned short d; asm volatile(op " %0, %1;" : "=h"(d) : "r"(a)); put(d); }
#define RH1(op) { u32 d; asm volatile(op " %0, %1;" : "=r"(d) : "h"((unsigned short)a)); put(d); }
#define HH1(op) { unsigned short d; asm volatile(op " %0, %1;" : "=h"(d) : "h"((unsigned short)a)); put(d); }
#define HH2(op) { unsigned short d; asm volatile(op " %0, %1, %2;" \
        : "=h"(d) : "h"((unsigned short)a), "h"((unsigned short)b)); put(d); }
#define HH3(op) { unsigned short d; asm volatile(op " %0, %1, %2, %3;" \
        : "=h"(d) : "h"((unsigned short)a), "h"((unsigned short)b), "h"((unsigned short)c)); put(d); }
// Doubles, whose NaNs have no payload that counts.
#define PUTD(d) put64(((d) & ~(1ull << 63)) > (0x7ffull << 52) ? 0x7ff8000000000000ull : (d))
#define D1(op) { u64 d; asm volatile(op " %0, %1;" : "=l"(d) : "l"(a)); PUTD(d); }
#define D2(op) { u64 d; asm volatile(op " %0, %1, %2;" : "=l"(d) : "l"(a), "l"(b)); PUTD(d); }
#define D3(op) { u64 d; asm volatile(op " %0, %1, %2, %3;" : "=l"(d) : "l"(a), "l"(b), "l"(c)); PUTD(d); }
// A predicate of one or two operands.
#define P1(op) { u32 d; asm volatile("{.reg .pred p;\n" op " p, %1;\nselp.u32 %0, 1, 0, p;}" \
        : "=r"(d) : "r"(a)); put(d); }
#define P2(op) { u32 d; asm volatile("{.reg .pred p;\n" op " p, %1, %2;\nselp.u32 %0, 1, 0, p;}" \
        : "=r"(d) : "r"(a), "r"(b)); put(d); }

// Integers.
WORDS(ins_divide, b = b ? b : 1; R2("div.s32") R2("div.u32") R2("rem.s32") R2("rem.u32"))
WORDS(ins_divide_by_zero, b = 0; R2("div.s32") R2("div.u32") R2("rem.s32") R2("rem.u32"))
LONGS(ins_divide_long, b = b ? b : 1; L2("div.s64") L2("div.u64") L2("rem.s64") L2("rem.u64"))
WORDS(ins_mul_hi, R2("mul.hi.s32") R2("mul.hi.u32") R2("mul24.lo.s32") R2("mul24.lo.u32"))
WORDS(ins_mul24_hi, R2("mul24.hi.s32") R2("mul24.hi.u32") R3("mad24.lo.s32") R3("mad24.hi.u32"))
WORDS(ins_mad_sat, R3("mad.hi.sat.s32") R3("mad24.hi.sat.s32") R2("add.sat.s32") R2("sub.sat.s32"))
WORDS(ins_mul_wide, LR2("mul.wide.s32") LR2("mul.wide.u32") { u32 d;
    asm volatile("mul.wide.s16 %0, %1, %2;" : "=r"(d) : "h"((short)a), "h"((short)b)); put(d); })
LONGS(ins_mul_hi_long, L2("mul.hi.s64") L2("mul.hi.u64"))
WORDS(ins_carry, { u32 x, y,
    z; asm volatile("add.cc.u32 %0, %3, %4;\naddc.cc.u32 %1, %4, %5;\naddc.u32 %2, %5, %3;" : "=r"(x),
    "=r"(y), "=r"(z) : "r"(a), "r"(b), "r"(c)); put(x); put(y); put(z); } { u32 x, y, z;
    asm volatile("sub.cc.u32 %0, %3, %4;\nsubc.cc.u32 %1, %4, %5;\nsubc.u32 %2, %5, %3;" : "=r"(x), "=r"(y),
    "=r"(z) : "r"(a), "r"(b), "r"(c)); put(x); put(y); put(z); } { u32 x, y;
    asm volatile("mad.lo.cc.u32 %0, %2, %3, %4;\nmadc.hi.u32 %1, %2, %3, %4;" : "=r"(x), "=r"(y) : "r"(a),
    "r"(b), "r"(c)); put(x); put(y); })
WORDS(ins_absolute, R1("abs.s32") R1("neg.s32") R3("sad.s32") R3("sad.u32") R1("cnot.b32"))
WORDS(ins_shift, R2("shl.b32") R2("shr.u32") R2("shr.s32"))
LONGS(ins_shift_long, u32 n = (u32)b; { u64 x; u64 y; u64 z;
    asm volatile("shl.b64 %0, %1, %2;" : "=l"(x) : "l"(a), "r"(n));
    asm volatile("shr.u64 %0, %1, %2;" : "=l"(y) : "l"(a), "r"(n));
    asm volatile("shr.s64 %0, %1, %2;" : "=l"(z) : "l"(a), "r"(n)); put64(x); put64(y); put64(z); })
WORDS(ins_funnel, R3("shf.l.wrap.b32") R3("shf.l.clamp.b32") R3("shf.r.wrap.b32") R3("shf.r.clamp.b32"))
WORDS(ins_bfe, R3("bfe.u32") R3("bfe.s32"))
WORDS(ins_bfi, { u32 d; asm volatile("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(a), "r"(b), "r"(c),
    "r"(a)); put(d); } { u32 d; asm volatile("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(a), "r"(b),
    "r"(c & 31), "r"(b & 31)); put(d); })
LONGS(ins_bit_field_long, u32 p = (u32)b & 127; u32 n = (u32)c & 127; { u64 d;
    asm volatile("bfe.s64 %0, %1, %2, %3;" : "=l"(d) : "l"(a), "r"(p), "r"(n)); put64(d);
    asm volatile("bfe.u64 %0, %1, %2, %3;" : "=l"(d) : "l"(a), "r"(p), "r"(n)); put64(d);
    asm volatile("bfi.b64 %0, %1, %2, %3, %4;" : "=l"(d) : "l"(a), "l"(b), "r"(p), "r"(n)); put64(d); })
WORDS(ins_bfind, R1("bfind.u32") R1("bfind.s32") R1("bfind.shiftamt.u32") R1("bfind.shiftamt.s32"))
LONGS(ins_count_long, RL1("bfind.u64") RL1("bfind.s64") RL1("bfind.shiftamt.s64") RL1("clz.b64")
    RL1("popc.b64") L1("brev.b64"))
WORDS(ins_count, R1("clz.b32") R1("popc.b32") R1("brev.b32"))
WORDS(ins_fns, { u32 d; asm volatile("fns.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b & 31),
    "r"((int)(c & 7) - 3)); put(d); })
WORDS(ins_mask, R2("bmsk.clamp.b32") R2("bmsk.wrap.b32") R2("szext.clamp.s32") R2("szext.wrap.u32"))
WORDS(ins_lop3, { u32 d; asm volatile("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    put(d); asm volatile("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); put(d);
    asm volatile("lop3.b32 %0, %1, %2, %3, 0x1b;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); put(d); })
WORDS(ins_prmt, R3("prmt.b32") R3("prmt.b32.f4e") R3("prmt.b32.b4e") R3("prmt.b32.rc8") R3("prmt.b32.ecl")
    R3("prmt.b32.ecr") R3("prmt.b32.rc16"))
WORDS(ins_dot, R3("dp4a.s32.s32") R3("dp4a.u32.s32") R3("dp4a.s32.u32") R3("dp4a.u32.u32")
    R3("dp2a.lo.s32.s32") R3("dp2a.hi.u32.s32"))
WORDS(ins_select, R3("slct.u32.s32") { u32 d; asm volatile("slct.u32.f32 %0, %1, %2, %3;" : "=r"(d)
    : "r"(a), "r"(b), "f"(__uint_as_float(c))); put(d); }
    R2("min.s32") R2("max.u32") R2("max.relu.s32") R2("min.relu.s32"))
WORDS(ins_pairs, R2("add.s16x2") R2("min.s16x2") R2("max.u16x2") R2("max.relu.s16x2") R2("min.relu.s16x2"))
WORDS(ins_wide_ints, unsigned __int128 x = ((unsigned __int128)a << 96) | ((u64)b << 32) | c;
    u64 y = ((u64)c << 32) | a | 1; unsigned __int128 q = x / y; unsigned __int128 r = (x * y) >> 64;
    put64((u64)q); put64((u64)(q >> 64)); put64((u64)(x % y)); put64((u64)r);
    put64((u64)(__int128)((__int128)x >> 67)))

// Video instructions.
#define V2(text) { u32 d; asm volatile(text : "=r"(d) : "r"(a), "r"(b)); put(d); }
#define V3(text) { u32 d; asm volatile(text : "=r"(d) : "r"(a), "r"(b), "r"(c)); put(d); }
WORDS(ins_video_add, V2("vadd.s32.u32.s32.sat %0, %1.b0, %2.b3;")
    V2("vadd.u32.s32.s32.sat %0, %1.h0, %2.h1;") V2("vsub.s32.u32.u32 %0, %1.b1, %2.b2;")
    V2("vabsdiff.u32.s32.s32 %0, %1, %2;") V3("vadd.s32.s32.s32.add %0, %1.b2, %2.h0, %3;")
    V3("vsub.u32.u32.u32.sat.min %0, %1.h1, %2.b0, %3;"))
WORDS(ins_video_shift, V2("vshl.u32.u32.u32.clamp %0, %1, %2.b0;")
    V2("vshl.u32.u32.u32.wrap %0, %1.h0, %2;") V2("vshr.s32.s32.u32.clamp %0, %1, %2;")
    V2("vshr.u32.u32.u32.sat.wrap %0, %1.b3, %2;") V3("vmad.s32.s32.s32.sat %0, %1.h0, %2.h1, %3;")
    V3("vmad.u32.u32.u32.shr7 %0, %1.b0, %2.b1, %3;"))
WORDS(ins_video_compare, V2("vset.s32.u32.lt %0, %1.b0, %2.b1;") V3("vset.u32.s32.ge.add %0, %1, %2, %3;")
    V2("vmin.s32.s32.s32 %0, %1.b3, %2.h0;") V3("vmax.u32.u32.u32.max %0, %1.b1, %2.b2, %3;"))
WORDS(ins_video_pairs, V3("vadd2.s32.s32.s32.sat %0, %1, %2, %3;")
    V3("vsub2.u32.u32.u32.sat %0.h1, %1.h10, %2.h32, %3;") V3("vavrg2.s32.s32.s32 %0, %1, %2, %3;")
    V3("vabsdiff2.u32.u32.u32.add %0, %1, %2, %3;"))
WORDS(ins_video_quads, V3("vadd4.u32.u32.u32.sat %0, %1, %2, %3;")
    V3("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;") V3("vavrg4.u32.u32.u32 %0, %1, %2, %3;")
    V3("vset4.u32.s32.gt %0, %1, %2, %3;") V3("vmax4.s32.s32.s32 %0, %1.b7654, %2.b0123, %3;"))
WORDS(ins_simd, put(__vadd4(a, b)); put(__vabsdiffs4(a, b)); put(__vcmpgtu4(a, b)); put(__vavgs2(a, b));
    put(__vsads4(a, b)); put(__vsetles2(a, b)); put(__viaddmax_s32_relu(a, b, c));
    put(__vimin3_u16x2(a, b, c)))

// Conversions. Of words: f32 to all kinds of integers.
WORDS(ins_to_s32, R1("cvt.rni.s32.f32") R1("cvt.rzi.s32.f32") R1("cvt.rmi.s32.f32") R1("cvt.rpi.s32.f32"))
WORDS(ins_to_u32, R1("cvt.rni.u32.f32") R1("cvt.rzi.u32.f32") R1("cvt.rmi.u32.f32")
    R1("cvt.rpi.ftz.u32.f32"))
WORDS(ins_to_s64, LR1("cvt.rni.s64.f32") LR1("cvt.rzi.u64.f32"))
WORDS(ins_to_narrow, HR1("cvt.rzi.s16.f32") HR1("cvt.rni.u16.f32") R1("cvt.rzi.s8.f32") R1("cvt.rni.u8.f32")
    R1("cvt.rni.sat.u8.f32"))
LONGS(ins_from_f64, RL1("cvt.rni.s32.f64") RL1("cvt.rzi.u32.f64") L1("cvt.rmi.s64.f64")
    L1("cvt.rpi.u64.f64"))
LONGS(ins_f64_to_f32, RL1("cvt.rn.f32.f64") RL1("cvt.rz.f32.f64") RL1("cvt.rm.f32.f64")
    RL1("cvt.rp.ftz.f32.f64") RL1("cvt.rn.sat.f32.f64"))
LONGS(ins_round_f64, D1("cvt.rni.f64.f64") D1("cvt.rmi.f64.f64") D1("cvt.rn.f64.s64") D1("cvt.rz.f64.u64")
    D1("cvt.rp.f64.s64"))
WORDS(ins_saturate, R1("cvt.sat.s8.s32") R1("cvt.sat.u8.s32") R1("cvt.sat.u8.u32") HR1("cvt.sat.u16.s32")
    HR1("cvt.sat.s16.u32") R1("cvt.sat.u32.s32") R1("cvt.s8.s32") R1("cvt.u8.u32"))
WORDS(ins_from_s32, R1("cvt.rn.f32.s32") R1("cvt.rz.f32.s32") R1("cvt.rm.f32.u32") R1("cvt.rp.f32.u32"))
LONGS(ins_from_s64, RL1("cvt.rn.f32.s64") RL1("cvt.rz.f32.u64") RL1("cvt.rm.f32.s64") RL1("cvt.rp.f32.u64"))
WORDS(ins_round_f32, R1("cvt.rni.f32.f32") R1("cvt.rzi.ftz.f32.f32") R1("cvt.rmi.f32.f32")
    R1("cvt.rpi.sat.f32.f32") R1("cvt.sat.f32.f32") R1("cvt.ftz.f32.f32"))
WORDS(ins_to_f16, HR1("cvt.rn.f16.f32") HR1("cvt.rz.f16.f32") HR1("cvt.rn.sat.f16.f32")
    HR1("cvt.rn.relu.f16.f32") R2("cvt.rn.f16x2.f32") R2("cvt.rz.relu.f16x2.f32"))
WORDS(ins_to_bf16, HR1("cvt.rn.bf16.f32") HR1("cvt.rz.bf16.f32") HR1("cvt.rn.relu.bf16.f32")
    R2("cvt.rz.bf16x2.f32") R2("cvt.rn.relu.bf16x2.f32") R1("cvt.rna.tf32.f32") R1("cvt.rn.tf32.f32")
    R1("cvt.rz.relu.tf32.f32"))
WORDS(ins_to_fp8, { unsigned short d; asm volatile("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(d)
    : "r"(a), "r"(b)); put(d); asm volatile("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(d) : "r"(a),
    "r"(b)); put(d); asm volatile("cvt.rn.satfinite.relu.e4m3x2.f32 %0, %1, %2;" : "=h"(d) : "r"(a),
    "r"(b)); put(d); })
WORDS(ins_fp8_f16, HR1("cvt.rn.satfinite.e4m3x2.f16x2") HR1("cvt.rn.satfinite.relu.e5m2x2.f16x2")
    RH1("cvt.rn.f16x2.e4m3x2") RH1("cvt.rn.relu.f16x2.e5m2x2"))
WORDS(ins_from_f16, RH1("cvt.f32.f16") RH1("cvt.rni.s32.f16") HH1("cvt.rzi.u16.f16") RH1("cvt.rpi.u32.f16")
    HH1("cvt.rn.f16.s16") HH1("cvt.rni.f16.f16") HH1("cvt.sat.f16.f16") RH1("cvt.f32.bf16")
    RH1("cvt.rzi.s32.bf16"))

// f32.
WORDS(ins_add_f32, R2("add.rn.f32") R2("add.rz.f32") R2("add.rm.f32") R2("add.rp.f32") R2("add.rn.sat.f32")
    R2("sub.rn.ftz.f32"))
WORDS(ins_mul_f32, R2("mul.rn.f32") R2("mul.rz.f32") R2("mul.rm.f32") R2("mul.rp.ftz.f32")
    R2("mul.sat.f32"))
WORDS(ins_fma_f32, R3("fma.rn.f32") R3("fma.rz.f32") R3("fma.rm.f32") R3("fma.rp.f32") R3("fma.rn.ftz.f32")
    R3("fma.rn.sat.f32"))
WORDS(ins_div_f32, R2("div.rn.f32") R2("div.rz.f32") R2("div.rp.f32") R2("div.rn.ftz.f32"))
WORDS(ins_root_f32, R1("rcp.rn.f32") R1("rcp.rm.f32") R1("sqrt.rn.f32") R1("sqrt.rz.f32")
    R1("sqrt.rp.ftz.f32"))
WORDS(ins_min_f32, R2("min.f32") R2("max.f32") R2("min.ftz.f32") R2("max.NaN.f32") R2("min.xorsign.abs.f32")
    R2("max.ftz.NaN.xorsign.abs.f32"))
WORDS(ins_sign_f32, R1("abs.f32") R1("neg.f32") R1("neg.ftz.f32") R2("copysign.f32") R1("abs.ftz.f32"))
WORDS(ins_test_f32, P1("testp.finite.f32") P1("testp.notanumber.f32") P1("testp.subnormal.f32")
    P1("testp.normal.f32") P1("testp.infinite.f32"))
WORDS(ins_compare_f32, P2("setp.eq.f32") P2("setp.ne.f32") P2("setp.lt.f32") P2("setp.geu.f32")
    P2("setp.num.f32") P2("setp.nan.f32") P2("setp.equ.f32") P2("setp.neu.f32") P2("setp.gt.ftz.f32")
    R2("set.leu.f32.f32") R2("set.gt.u32.f32"))
WORDS(ins_math_f32, float x = __uint_as_float(a), y = __uint_as_float(b); put(__float_as_uint(fmodf(x, y)));
    put(__float_as_uint(remainderf(x, y))); put(__float_as_uint(nextafterf(x, y))); int e = 0;
    float m = frexpf(x, &e); put(isfinite(x) ? __float_as_uint(m) : 0); put(isfinite(x) ? e : 0);
    put(__float_as_uint(ldexpf(x, (int)(c & 255) - 128))); put((u32)ilogbf(x)); put((u32)lrintf(x));
    put(__float_as_uint(roundf(x))); put(__float_as_uint(fdimf(x, y))); put(signbit(x) != 0))

// f64.
LONGS(ins_add_f64, D2("add.rn.f64") D2("add.rz.f64") D2("sub.rm.f64") D2("mul.rn.f64") D2("mul.rp.f64"))
LONGS(ins_fma_f64, D3("fma.rn.f64") D3("fma.rz.f64") D3("fma.rm.f64"))
LONGS(ins_div_f64, D2("div.rn.f64") D2("div.rm.f64") D1("rcp.rp.f64") D1("sqrt.rn.f64") D1("sqrt.rz.f64"))
LONGS(ins_min_f64, D2("min.f64") D2("max.f64") D1("abs.f64") D2("copysign.f64"))

// f16 and bf16.
WORDS(ins_add_f16, HH2("add.rn.f16") HH2("add.sat.f16") HH2("sub.ftz.f16") HH2("mul.rn.f16")
    HH3("fma.rn.f16") HH3("fma.rn.relu.f16") HH3("fma.rn.ftz.sat.f16"))
WORDS(ins_add_f16x2, R2("add.f16x2") R2("mul.ftz.sat.f16x2") R3("fma.rn.f16x2") R3("fma.rn.relu.f16x2")
    R1("neg.f16x2") R1("abs.ftz.f16x2"))
WORDS(ins_min_f16, HH2("min.f16") HH2("max.NaN.f16") HH2("min.ftz.f16") HH2("max.xorsign.abs.f16")
    R2("min.NaN.f16x2") R2("max.ftz.f16x2"))
WORDS(ins_compare_f16, R2("set.lt.f16x2.f16x2") R2("set.geu.f16x2.f16x2") { u32 d;
    asm volatile("{.reg .pred p, q;\n"
    "setp.le.f16x2 p|q, %1, %2;\nselp.u32 %0, 1, 0, p;\n@q or.b32 %0, %0, 2;}" : "=r"(d) : "r"(a), "r"(b));
    put(d); })
WORDS(ins_bf16, HH2("add.rn.bf16") HH2("mul.rn.bf16") HH3("fma.rn.bf16") HH3("fma.rn.relu.bf16")
    HH2("min.bf16") HH2("max.NaN.bf16") HH1("neg.bf16") HH2("min.xorsign.abs.bf16"))
WORDS(ins_bf16x2, R2("sub.rn.bf16x2") R3("fma.rn.relu.bf16x2") R2("max.bf16x2") R2("min.NaN.bf16x2")
    R1("abs.bf16x2") R2("set.gtu.bf16x2.bf16x2"))

// A warp's own instructions.
#define SHUFFLE(mode) { u32 d, ok; \
        asm volatile("{.reg .pred p;\nshfl.sync." mode ".b32 %0|p, %2, %3, %4, -1;\n" \
        "selp.u32 %1, 1, 0, p;}" : "=r"(d), "=r"(ok) : "r"(a), "r"(n), "r"(clamp)); put(d); put(ok); }
WORDS(ins_shuffle, u32 n = 3; u32 clamp = 0x1f;
    SHUFFLE("up") SHUFFLE("down") SHUFFLE("bfly") SHUFFLE("idx") clamp = 0x180f; n = 13;
    SHUFFLE("up") SHUFFLE("down") SHUFFLE("bfly") SHUFFLE("idx"))
WORDS(ins_shuffle_each, u32 n = b; u32 clamp = 0x1807; SHUFFLE("up") clamp = 0x1c03;
    SHUFFLE("down") clamp = 0x1f00; SHUFFLE("idx") clamp = 7; SHUFFLE("bfly"))
WORDS(ins_vote, if (i % 3) { u32 mask = __activemask(); put(mask); put(__ballot_sync(mask, a & 1));
    put(__all_sync(mask, b | 1)); put(__any_sync(mask, i == 6)); u32 same;
    asm volatile("{.reg .pred p, q;\nsetp.ne.u32 p, %1, 0;\n"
    "vote.sync.uni.pred q, p, %2;\nselp.u32 %0, 1, 0, q;}" : "=r"(same) : "r"(0), "r"(mask)); put(same); })
WORDS(ins_match, put(__match_any_sync(~0u, a & 3)); int all = 7; put(__match_all_sync(~0u, a >> 31, &all));
    put(all); all = 7; put(__match_all_sync(~0u, 5, &all)); put(all);
    put(__match_any_sync(~0u, (u64)(b & 1) << 40)))
WORDS(ins_redux, if (i & 5) { u32 mask = __activemask(); put(__reduce_add_sync(mask, (int)a));
    put(__reduce_min_sync(mask, (int)a)); put(__reduce_max_sync(mask, a));
    put(__reduce_and_sync(mask, a | 0xff)); put(__reduce_or_sync(mask, a & 0xf0));
    put(__reduce_xor_sync(mask, a)); } else { put(__reduce_min_sync(__activemask(), b)); })
WORDS(ins_elect, u32 d; u32 who; asm volatile("{.reg .pred p;\nelect.sync %0|p, %2;\nselp.u32 %1, 1, 0, p;}"
    : "=r"(who), "=r"(d) : "r"(~0u)); put(who); put(d); if (i > 4) {
    asm volatile("{.reg .pred p;\nelect.sync %0|p, %2;\n" "selp.u32 %1, 1, 0, p;}" : "=r"(who), "=r"(d)
    : "r"(0xffffffe0)); put(who); put(d); })
WORDS(ins_registers, u32 d; asm("mov.u32 %0, %%laneid;" : "=r"(d)); put(d);
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(d)); put(d); asm("mov.u32 %0, %%lanemask_ge;" : "=r"(d));
    put(d); asm("mov.u32 %0, %%ntid.y;" : "=r"(d)); put(d); asm("mov.u32 %0, %%nctaid.x;" : "=r"(d));
    put(d); asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(d)); put(d);
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(d)); put(d);
    asm("{.reg .pred p;\nmov.pred p, %%is_explicit_cluster;\nselp.u32 %0, 1, 0, p;}" : "=r"(d)); put(d))
WORDS(ins_diverge, u32 sum = 0; for (u32 k = 0; k < (a & 15); ++k) { if (k == (b & 7)) continue;
    sum += __popc(a ^ k); if (sum > 60) break; } __syncwarp(); put(sum); u32 x = a; switch (i & 7) {
    case 0: x += 1; case 1: x *= 3; break; case 2: x ^= b; break;
    case 3: x = __shfl_xor_sync(0x08080808, x, 8); break; case 5: x = ~x; default: x >>= 1; } put(x))
WORDS(ins_block_bars, put(__syncthreads_count(a & 1)); put(__syncthreads_and(a | 1));
    put(__syncthreads_or(a == 77)); asm volatile("barrier.sync 3, 32;"); u32 d;
    asm volatile("{.reg .pred p, q;\nsetp.ne.u32 p, %1, 0;\n"
    "barrier.red.or.pred q, 5, 32, p;\nselp.u32 %0, 1, 0, q;}" : "=r"(d) : "r"(a & 2)); put(d))
WORDS(ins_tiles, auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    put(cg::reduce(tile, a, cg::plus<u32>())); put(cg::reduce(tile, (int)a, cg::less<int>()));
    put(tile.shfl_up(a, 2)); put(tile.meta_group_rank());
    auto odd = cg::labeled_partition(tile, (int)(a & 1)); put(odd.size()); put(odd.thread_rank());
    auto both = cg::coalesced_threads(); put(both.ballot(b & 1)))

// Atomics. All threads hit few words, or one thread hits one word in turn.
WORDS(ins_atomics, __shared__ u32 at[16]; if (i < 16) at[i] = i == 6 || i == 9 ? ~0u : 5; __syncwarp();
    atomicAdd(at, a); atomicMin((int*)at + 1, (int)a); atomicMax(at + 2, a); atomicAnd(at + 3, a | 0xff);
    atomicOr(at + 4, a & 0xf0f); atomicXor(at + 5, a); atomicMin(at + 6, b | 1);
    atomicMax((int*)at + 7, (int)b >> 3); atomicSub(at + 8, c); __syncwarp(); if (i < 16) put(at[i]))
WORDS(ins_atomics_global, u32* at = out + 512; atomicAdd(at, a); atomicMin((int*)at + 1, (int)a);
    atomicMax(at + 2, b); atomicAdd((u64*)(at + 4), (u64)a << 20);
    atomicMax((long long*)(at + 6), (long long)(int)b << 9); atomicAdd_block((u32*)at + 8, 3);
    atomicAdd_system((u32*)at + 9, 5); atomicXor((u64*)(at + 10), (u64)c << 17); __threadfence();
    __syncwarp(); if (i < 12) put(atomicAdd(at + i, 0)))
WORDS(ins_wrap_atomics, u32* at = out + 512; if (i == 0) { at[0] = 5;
    for (u32 k = 0; k < 9; ++k) out[k] = atomicInc(at, 7); at[0] = 2;
    for (u32 k = 9; k < 18; ++k) out[k] = atomicDec(at, 4); at[0] = 100; out[18] = atomicDec(at, 4);
    out[19] = at[0]; at[0] = 9; out[20] = atomicInc(at, 4); out[21] = at[0]; out[22] = atomicCAS(at, 0, 33);
    out[23] = atomicCAS(at, 0, 44); out[24] = atomicExch(at, 55); out[25] = at[0]; })
WORDS(ins_atomic_cas, u32* at = out + 512; if (i == 0) { unsigned short* h = (unsigned short*)at;
    out[0] = atomicCAS(h + 1, 0, 7); out[1] = atomicCAS(h + 1, 6, 8); out[2] = at[0];
    u64* w = (u64*)(at + 4); out[3] = (u32)atomicCAS(w, 0, 1ull << 40);
    out[4] = atomicCAS(w, 1ull << 40, 3) >> 32; u64 lo, hi;
    asm volatile("{.reg .b128 d, c, n;\nmov.b128 c, {%3, %4};\n"
    "mov.b128 n, {%5, %6};\natom.global.cas.b128 d, [%2], c, n;\nmov.b128 {%0, %1}, d;}" : "=l"(lo),
    "=l"(hi) : "l"(at + 8), "l"(0ull), "l"(0ull), "l"(11ull), "l"(12ull) : "memory"); out[5] = (u32)lo;
    out[6] = at[8]; out[7] = at[10];
    asm volatile("{.reg .b128 d, n;\nmov.b128 n, {%3, %4};\natom.global.exch.b128 d, [%2], n;\n"
    "mov.b128 {%0, %1}, d;}" : "=l"(lo), "=l"(hi) : "l"(at + 8), "l"(21ull), "l"(22ull)
    : "memory"); out[8] = (u32)hi; out[9] = at[10]; })
WORDS(ins_float_atomics, u32* at = out + 512; atomicAdd((float*)at, 0.5f * (float)i);
    atomicAdd((double*)(at + 2), 0.25 * i); u32 two = 0x3c003800; u32 d;
    asm volatile("atom.global.add.noftz.f16x2 %0, [%1], %2;" : "=r"(d) : "l"(at + 4), "r"(two) : "memory");
    asm volatile("red.global.add.noftz.bf16x2 [%0], %1;" :: "l"(at + 5), "r"(0x3f803f00) : "memory");
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" :: "l"(at + 8), "f"(1.f), "f"((float)i),
    "f"(-2.f), "f"(.125f) : "memory"); __threadfence(); __syncwarp();
    if (i < 12) put(((volatile u32*)at)[i]))

// Memory.
WORDS(ins_vector_loads, const u32* p = in; u32 x, y, z, w;
    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
    : "l"(p + 4 * (i & 7))); put(x ^ w); put(y); put(z); int s;
    asm volatile("ld.global.s8 %0, [%1];" : "=r"(s) : "l"((const char*)p + i)); put(s);
    asm volatile("ld.global.v2.u16 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "l"(p + i)); put(x); put(y);
    asm volatile("ld.volatile.global.s16 %0, [%1];" : "=r"(s) : "l"((const short*)p + i)); put(s); u64 pol;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 0.5;" : "=l"(pol));
    asm volatile("ld.global.L2::cache_hint.u32 %0, [%1], %2;" : "=r"(x) : "l"(p + i), "l"(pol)); put(x);
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(y) : "l"(p + i)); put(y);
    asm volatile("st.global.cs.v2.u32 [%0], {%1, %2};" :: "l"(out + 512 + 2 * i), "r"(x), "r"(~x)
    : "memory"); put(out[513 + 2 * i]))
WORDS(ins_generic, __shared__ u32 room[32]; u32 own[4] = {a, b, c, i}; room[i] = b; __syncwarp();
    const u32* p = i % 3 == 0 ? room + 31 - i : i % 3 == 1 ? own + (a & 3) : in + i; put(*p);
    put(__isShared(p)); put(__isLocal(p)); put(__isGlobal(p)); put(__isConstant(p));
    put(__cvta_generic_to_shared(room + 2) & 3); asm volatile("" ::: "memory"); own[b & 3] ^= 0xff;
    put(own[0] + own[1] + own[2] + own[3]))
WORDS(ins_async_copy, __shared__ alignas(16) u32 room[128]; for (u32 k = 0; k < 4; ++k) room[4 * i + k] = 7;
    __syncwarp(); u32 to = (u32)__cvta_generic_to_shared(room + 4 * i); u32 bytes = i & 1 ? 16 : 8;
    if (i < 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(to), "l"(in + 4 * i),
    "r"(bytes) : "memory"); else asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to),
    "l"(in + i) : "memory"); asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
    __syncwarp(); for (u32 k = 0; k < 4; ++k) put(room[4 * i + k]))
WORDS(ins_bulk_copy, __shared__ alignas(16) u32 room[64]; __shared__ alignas(8) u64 bar;
    u32 at = (u32)__cvta_generic_to_shared(&bar); u32 to = (u32)__cvta_generic_to_shared(room);
    if (i == 0) { asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(at) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); } __syncwarp(); u64 state = 0;
    if (i == 0) { asm volatile("mbarrier.arrive.expect_tx.shared.b64 %0, [%1], 256;" : "=l"(state) : "r"(at)
    : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
    :: "r"(to), "l"(in), "r"(at) : "memory"); } u32 done = 0;
    while (!done) asm volatile("{.reg .pred p;\n"
    "mbarrier.try_wait.parity.shared.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, p;}" : "=r"(done) : "r"(at)
    : "memory"); put(room[i]); put(room[32 + i]);
    asm volatile("{.reg .pred p;\nmbarrier.test_wait.parity.shared.b64 p, [%1], 1;\n"
    "selp.u32 %0, 1, 0, p;}" : "=r"(done) : "r"(at) : "memory"); put(done); __syncwarp(); room[i] = a + 1;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); __syncwarp(); if (i == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;" :: "l"(out + 512), "r"(to)
    : "memory"); asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory"); }
    __syncwarp(); put(((volatile u32*)out)[512 + i]))
WORDS(ins_arrivals, __shared__ alignas(8) u64 bar; u32 at = (u32)__cvta_generic_to_shared(&bar);
    if (i == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" :: "r"(at) : "memory"); __syncwarp();
    u64 state; asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory");
    __syncwarp(); u32 left; asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(left) : "l"(state));
    put(__reduce_min_sync(~0u, left)); u32 done;
    asm volatile("{.reg .pred p;\nmbarrier.test_wait.shared.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;}"
    : "=r"(done) : "r"(at), "l"(state) : "memory"); put(done))
WORDS(ins_matrix_loads, __shared__ alignas(16) u32 room[128];
    for (u32 k = 0; k < 4; ++k) room[i + 32 * k] = in[i] + 0x10001 * k; __syncwarp();
    u32 at = (u32)__cvta_generic_to_shared(room + 4 * i); u32 w, x, y, z;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(w), "=r"(x),
    "=r"(y), "=r"(z) : "r"(at)); put(w); put(x); put(y); put(z);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(w), "=r"(x)
    : "r"(at)); put(w); put(x); asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(w)
    : "r"(a)); put(w); __syncwarp();
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" :: "r"(at), "r"(a), "r"(b)
    : "memory"); __syncwarp(); put(room[i]); put(room[32 + i]))
WORDS(ins_matrix_f16, float d[4] = {0, 1, 2, 3}; u32 one = 0x3c004000 + (i & 3);
    u32 two = 0x38003c00 + (i >> 2);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
    "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
    : "r"(one), "r"(two), "r"(0x3c003c00), "r"(0x40000000), "r"(two), "r"(0x3c00bc00));
    for (float x : d) put(__float_as_uint(rintf(x * 64.f))))
WORDS(ins_matrix_s8, int d[4] = {1, -1, 100, 0};
    asm volatile("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 "
    "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]),
    "+r"(d[3]) : "r"(a), "r"(b), "r"(c), "r"(a ^ b), "r"(b), "r"(c)); for (int x : d) put(x);
    asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, "
    "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
    : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
    : "r"(a), "r"(b), "r"(c), "r"(~a), "r"(b), "r"(c)); for (int x : d) put(x))
WORDS(ins_matrix_f64, double d[2] = {1, -1}; double x = (double)(int)(a & 0xff), y = (double)(int)(b & 0xff)
    - 100; asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
    : "+d"(d[0]), "+d"(d[1]) : "d"(x), "d"(y)); put((u32)(int)d[0]); put((u32)(int)d[1]))

// Code that is more than one instruction.
struct Shape { __device__ virtual u32 area(u32) const = 0; };
struct Square : Shape { __device__ u32 area(u32 x) const override { return x * x; } };
struct Strip : Shape { u32 width; __device__ explicit Strip(u32 w) : width(w) {}
    __device__ u32 area(u32 x) const override { return x * width; } };
__device__ __noinline__ u32 ackermann(u32 m, u32 n) {
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }
__device__ u32 twice(u32 x) { return 2 * x; }
__device__ u32 thrice(u32 x) { return 3 * x; }
__device__ u32 (*const volatile functions[2])(u32) = {twice, thrice};
WORDS(ins_calls, Square square; Strip strip(b & 15); const Shape* shapes[2] = {&square, &strip};
    put(shapes[a & 1]->area(i)); put(functions[b & 1](a)); put(ackermann(2, i & 7)))
WORDS(ins_heap, u32* p = (u32*)malloc(64); put(p != nullptr); if (p) { p[i & 15] = a; put(p[i & 15]);
    free(p); } void* none = malloc(1ull << 40); put(none != nullptr); int* q = new int[3]; q[2] = (int)i;
    put(q[2]); delete[] q)
WORDS(ins_print, put(i ? 0 : printf("%u %s", 5u, "and more\n")); put(i ? 0 : printf("plain\n"));
    put(i ? 0 : printf("%d %d %d\n", 1, 2, 3)))

struct Odd { char a; char b[6]; short c; double d; int e[3]; };
extern "C" __global__ void ins_arguments(char x, Odd odd, __grid_constant__ const Odd other, short y,
    const u32* in, u32* out) { const int* p = &other.e[threadIdx.x % 3];
    out[threadIdx.x] = (u32)(x + odd.b[5] + odd.c + (int)odd.d + odd.e[2]);
    out[32 + threadIdx.x] = (u32)(*p + y + (int)in[threadIdx.x]); odd.e[threadIdx.x & 1] = 9;
    out[64 + threadIdx.x] = (u32)(odd.e[0] + odd.e[1]); }

// Clusters of two and four blocks.
extern "C" __global__ void ins_cluster(u32* out) { BODY(__shared__ u32 room[32];
    auto cluster = cg::this_cluster(); u32 rank = cluster.block_rank();
    room[threadIdx.x] = 100 * rank + threadIdx.x; cluster.sync();
    u32 next = (rank + 1) % cluster.num_blocks(); u32 got = *cluster.map_shared_rank(room + threadIdx.x,
    next); cluster.sync(); atomicAdd(cluster.map_shared_rank(room, 0), 1); u32 d;
    asm volatile("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(d)); cluster.sync();
    u32* row = out + 64 * blockIdx.x; if (threadIdx.x < 16) { row[threadIdx.x] = got;
    row[16 + threadIdx.x] = cluster.num_blocks();
    row[32 + threadIdx.x] = d + 10 * cluster.query_shared_rank(cluster.map_shared_rank(room, next));
    row[48 + threadIdx.x] = room[0]; }) }

// A whole grid that waits for itself.
extern "C" __global__ void ins_grid(u32* out) { BODY(auto grid = cg::this_grid(); atomicAdd(out, 1);
    grid.sync(); u32 seen = ((volatile u32*)out)[0]; grid.sync(); if (grid.thread_rank() == 0) out[0] = 0;
    grid.sync(); if (threadIdx.x == 0)
    out[1 + blockIdx.x] = seen + ((volatile u32*)out)[0] + (u32)grid.size();) }

// Faults.
extern "C" __global__ void ins_misaligned(char* at) { *(volatile u64*)(at + 4) = 1; }
extern "C" __global__ void ins_store(u32* at) { *(volatile u32*)at = 1; }
extern "C" __global__ void ins_load_atomic(u32* at) { atomicAdd((u32*)((char*)at + 2), 1); }
extern "C" __global__ void ins_shared_end(u32* at) { extern __shared__ u32 words[];
    ((volatile u32*)words)[1 << 20] = at ? 1 : 2; }
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
extern "C" __global__ void ins_assertion(u32* at) {
    if (at) __assertfail("a claim", "file.cu", 7, "function", 1); }
extern "C" __global__ void __launch_bounds__(64) ins_bounds(u32* at) { at[threadIdx.x] = threadIdx.x; }
extern "C" __global__ void ins_static_shared(u32* at) { __shared__ u32 all[10240];
    all[threadIdx.x] = threadIdx.x; __syncthreads(); at[threadIdx.x] = all[31 - threadIdx.x]; }
