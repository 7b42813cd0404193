//! Whole kernels.

use super::{arg, cuda, load};

#[test]
fn adds_vectors() {
    let mut m = cuda(
        "__global__ void add(const float* a, const float* b, float* c, int n) {
             int i = blockIdx.x * blockDim.x + threadIdx.x;
             if (i < n) c[i] = a[i] + b[i];
         }",
    );
    let n = 1000;
    let a: Vec<f32> = (0..n).map(|i| i as f32 * 0.5).collect();
    let b: Vec<f32> = (0..n).map(|i| 1.0 / (i as f32 + 1.0)).collect();
    let (pa, pb, pc) = (m.machine.upload(&a), m.machine.upload(&b), m.machine.alloc(4 * n));
    m.run("add", 4, 256, &[arg(pa), arg(pb), arg(pc), arg(n as i32)]).unwrap();
    let c: Vec<f32> = m.machine.download(pc);
    assert!(c.iter().zip(a.iter().zip(&b)).all(|(c, (a, b))| *c == a + b));
}

#[test]
fn multiplies_matrices_in_tiles_of_shared_memory() {
    let mut m = cuda(
        "template <int N> __device__ void tile(const float* a, const float* b, float* c, int w) {
             __shared__ float sa[N][N], sb[N][N];
             int x = blockIdx.x * N + threadIdx.x, y = blockIdx.y * N + threadIdx.y;
             float sum = 0;
             for (int t = 0; t < (w + N - 1) / N; t++) {
                 int ax = t * N + threadIdx.x, by = t * N + threadIdx.y;
                 sa[threadIdx.y][threadIdx.x] = y < w && ax < w ? a[y * w + ax] : 0;
                 sb[threadIdx.y][threadIdx.x] = by < w && x < w ? b[by * w + x] : 0;
                 __syncthreads();
                 for (int k = 0; k < N; k++) sum += sa[threadIdx.y][k] * sb[k][threadIdx.x];
                 __syncthreads();
             }
             if (x < w && y < w) c[y * w + x] = sum;
         }
         __global__ void multiply(const float* a, const float* b, float* c, int w) { tile<16>(a, b, c, w); }",
    );
    let w = 37;
    let a: Vec<f32> = (0..w * w).map(|i| (i % 7) as f32 - 3.0).collect();
    let b: Vec<f32> = (0..w * w).map(|i| (i % 5) as f32 - 2.0).collect();
    let (pa, pb, pc) = (m.machine.upload(&a), m.machine.upload(&b), m.machine.alloc(4 * w * w));
    let args = [arg(pa), arg(pb), arg(pc), arg(w as i32)];
    let launch = m.launch("multiply", [3, 3, 1], [16, 16, 1], &args);
    m.finish(launch).unwrap();
    let c: Vec<f32> = m.machine.download(pc);
    for y in 0..w {
        for x in 0..w {
            let expected: f32 = (0..w).map(|k| a[y * w + k] * b[k * w + x]).sum();
            assert_eq!(c[y * w + x], expected, "at {x}, {y}");
        }
    }
}

#[test]
fn functions_allocate_on_their_stack_as_much_as_each_thread_wants() {
    let mut m = cuda(
        "__device__ __noinline__ int sum(const int* of, int n) {
             int* copy = (int*)alloca(n * sizeof(int));
             for (int i = 0; i < n; i++) copy[i] = of[n - 1 - i];
             int all = 0;
             for (int i = 0; i < n; i++) all += copy[i] * (i + 1);
             return all;
         }
         __device__ __noinline__ int nested(int n) {
             int* own = (int*)alloca(n * sizeof(int));
             for (int i = 0; i < n; i++) own[i] = i + threadIdx.x;
             // Calls and recursion use the stack behind it.
             int below = n > 1 ? nested(n - 1) : 0;
             return below + sum(own, n);
         }
         __global__ void all(int* out) {
             unsigned long long end, later;
             asm volatile(\"stacksave.u64 %0;\" : \"=l\"(end));
             int n = 1 + threadIdx.x % 5, all = 0;
             for (int round = 0; round < 1000; round++) {
                 // Freed by each round: 1000 of them would not fit.
                 volatile int* own = (int*)alloca(64);
                 own[0] = round;
                 all += own[0];
                 asm volatile(\"stackrestore.u64 %0;\" :: \"l\"(end) : \"memory\");
             }
             asm volatile(\"stacksave.u64 %0;\" : \"=l\"(later));
             // An allocation that is in use lies beside those of calls.
             volatile char* kept = (char*)alloca(40);
             kept[39] = 7;
             out[threadIdx.x] = all + nested(n) + (later == end) + kept[39] + (int)((size_t)kept % 16);
         }",
    );
    let out = m.machine.alloc(4 * 64);
    m.run("all", 1, 64, &[arg(out)]).unwrap();
    let sum = |n: i32, x: i32| (0..n).map(|i| (n - 1 - i + x) * (i + 1)).sum::<i32>();
    let expected: Vec<i32> =
        (0..64).map(|x| 999 * 500 + (1..=1 + x % 5).map(|n| sum(n, x)).sum::<i32>() + 1 + 7).collect();
    assert_eq!(m.machine.download::<i32>(out), expected);
}

#[test]
fn calls_recursion_tables_structures_and_printf() {
    let mut m = cuda(
        r#"
        #include <cstdio>
        __device__ int table[4] = {1, 2, 3, 4};
        __constant__ float factors[2] = {1.5f, 2.0f};
        __device__ __noinline__ int three(int a) { return a * 3; }
        __device__ __noinline__ int five(int a) { return a * 5; }
        __device__ int (*choice[2])(int) = {three, five};
        __device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
        struct S { float x, y, z; double d; };
        __device__ __noinline__ S shift(S s, int i) { s.x += i; s.d *= 2; s.y = s.x + s.z; return s; }
        __global__ void all(int* out, int n, S s) {
            extern __shared__ int dynamic[];
            __shared__ int fixed[32];
            int i = threadIdx.x;
            fixed[i] = table[i & 3];
            dynamic[i] = i * i;
            __syncthreads();
            S t = shift(s, i);
            int v = fixed[31 - i] + dynamic[i ^ 1] + choice[i & 1](i) + fib(i & 15) + (int)(factors[i & 1] * 2);
            v += (int)t.d + (int)t.y + __shfl_xor_sync(-1, i, 1) + __popc(__ballot_sync(-1, i % 3 == 0));
            switch (i) {
                case 1: v += 100; break; case 2: v += 300; break; case 3: v ^= 55; break;
                case 4: v *= 2; break; case 5: v -= 70; break; case 6: v += 1; break;
            }
            out[i] = v;
            if (i < 2) printf("thread %d of %u: %5.2f %s\n", i, blockDim.x, t.y, "done");
        }"#,
    );
    #[repr(C)]
    #[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
    struct S([f32; 3], u32, f64);
    let out = m.machine.alloc(128);
    let mut launch =
        m.launch("all", [1; 3], [32, 1, 1], &[arg(out), arg(32), arg(S([1.0, 2.0, 3.0], 0, 4.5))]);
    launch.dynamic_shared = 128;
    m.finish(launch).unwrap();
    fn fib(n: i32) -> i32 {
        if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
    }
    let got: Vec<i32> = m.machine.download(out);
    for i in 0..32i32 {
        let mut v = [1, 2, 3, 4][((31 - i) & 3) as usize] + (i ^ 1) * (i ^ 1);
        v += if i & 1 == 1 { i * 5 } else { i * 3 };
        v += fib(i & 15) + if i & 1 == 1 { 4 } else { 3 };
        v += 9 + (1 + i + 3) + (i ^ 1) + 11;
        match i {
            1 => v += 100,
            2 => v += 300,
            3 => v ^= 55,
            4 => v *= 2,
            5 => v -= 70,
            6 => v += 1,
            _ => {}
        }
        assert_eq!(got[i as usize], v, "thread {i}");
    }
    assert_eq!(m.machine.printed, "thread 0 of 32:  4.00 done\nthread 1 of 32:  5.00 done\n");
}

#[test]
fn the_maths_library_agrees_with_the_host() {
    let functions = [
        ("sin", f64::sin as fn(f64) -> f64),
        ("cos", f64::cos),
        ("tan", f64::tan),
        ("exp", f64::exp),
        ("log", f64::ln),
        ("sqrt", f64::sqrt),
        ("cbrt", f64::cbrt),
        ("atan", f64::atan),
        ("tanh", f64::tanh),
        ("exp2", f64::exp2),
        ("log10", f64::log10),
        ("floor", f64::floor),
        ("rint", f64::round_ties_even),
    ];
    let mut source = String::new();
    for (name, _) in functions {
        source += &format!(
            "extern \"C\" __global__ void k_{name}(const double* a, double* d, float* f) {{
                 int i = threadIdx.x; d[i] = {name}(a[i]); f[i] = {name}f((float)a[i]); }}\n"
        );
    }
    source += "extern \"C\" __global__ void k_power(const double* a, double* d, float* f) {
                   int i = threadIdx.x; d[i] = pow(a[i], 2.5); f[i] = powf((float)a[i], 2.5f); }";
    let mut m = cuda(&source);
    let inputs: Vec<f64> = (0..64)
        .map(|i| [0.001, 0.5, 1.0, 2.75, 10.0, 33.3, 100.1, 5e4][i % 8] * (1.0 + i as f64 / 77.0))
        .collect();
    let a = m.machine.upload(&inputs);
    let (d, f) = (m.machine.alloc(8 * 64), m.machine.alloc(4 * 64));
    let power: fn(f64) -> f64 = |v| v.powf(2.5);
    for (name, host) in functions.into_iter().chain([("power", power)]) {
        m.run(&format!("k_{name}"), 1, 64, &[arg(a), arg(d), arg(f)]).unwrap();
        let (wide, narrow): (Vec<f64>, Vec<f32>) = (m.machine.download(d), m.machine.download(f));
        for (i, &x) in inputs.iter().enumerate() {
            let expected = host(x);
            let close = (wide[i] - expected).abs() <= expected.abs() * 1e-14 + 1e-300 || wide[i] == expected;
            assert!(close, "{name}({x}) = {:e}, the host says {expected:e}", wide[i]);
            let expected = host(f64::from(x as f32));
            let got = f64::from(narrow[i]);
            let close = (got - expected).abs() <= expected.abs() * 1e-6 || narrow[i] == expected as f32;
            assert!(close, "{name}f({x}) = {got:e}, the host says {expected:e}");
        }
    }
}

#[test]
fn sixteen_bit_floats_inline_assembly_and_wide_division() {
    let mut m = cuda(
        "#include <cuda_fp16.h>
         #include <cuda_bf16.h>
         __global__ void k(float* f, long long* l, long long a, long long b) {
             __half h = __float2half(1.5f); __half2 p = __floats2half2_rn(2.0f, -3.0f);
             f[0] = __half2float(__hfma(h, h, __float2half(0.25f)));
             p = __hadd2(__hmul2(p, p), __half2half2(h)); f[1] = __low2float(p); f[2] = __high2float(p);
             f[3] = __bfloat162float(__hadd(__float2bfloat16(3.0f), __float2bfloat16(0.5f)));
             f[4] = __hlt(h, __float2half(2.0f)) ? 1 : 2;
             f[5] = __half2float(hsqrt(__float2half(16.0f)));
             l[0] = a / b; l[1] = a % b; l[2] = (unsigned long long)a / (unsigned)b; l[3] = __mul64hi(a, b);
             int x; asm(\"{ .reg .pred p; .reg .b32 t; add.s32 t, %1, 1; setp.gt.s32 p, t, 5; @p \"
                 \"mul.lo.s32 t, t, 2; mov.b32 %0, t; }\" : \"=r\"(x) : \"r\"((int)b));
             l[4] = x; l[5] = __clzll(a) + __ffs((int)b) + __brev(1) / 3;
         }",
    );
    let (f, l) = (m.machine.alloc(24), m.machine.alloc(48));
    let (a, b) = (-1_234_567_890_123_456_789i64, 987_654_321i64);
    m.run("k", 1, 1, &[arg(f), arg(l), arg(a), arg(b)]).unwrap();
    assert_eq!(m.machine.download::<f32>(f), [2.5, 5.5, 10.5, 3.5, 1.0, 4.0]);
    let high = (i128::from(a) * i128::from(b) >> 64) as i64;
    let twice = 2 * (b as i32 + 1);
    let bits = i64::from(a.leading_zeros() + b.trailing_zeros() + 1 + (1 << 31) / 3);
    let unsigned = (a as u64 / b as u64) as i64;
    assert_eq!(m.machine.download::<i64>(l), [a / b, a % b, unsigned, high, i64::from(twice), bits]);
}

#[test]
fn comments_end_where_ptxas_ends_them() {
    let mut m = load(
        ".version 9.0 .target sm_90 .address_size 64
        .visible .entry k(.param .u64 x) {
            .reg .b64 a; .reg .b32 r;
            ld.param.u64 a, [x];
            mov.u32 r, 2; /*/ mov.u32 r, 1; /*/ /**/
            st.global.u32 [a], r; ret; }",
    );
    let x = m.machine.alloc(4);
    m.run("k", 1, 1, &[arg(x)]).unwrap();
    assert_eq!(m.machine.download::<u32>(x), [2]);
}

#[test]
fn names_and_constants_mean_what_ptxas_makes_of_them() {
    let mut m = load(
        ".version 9.0 .target sm_90 .address_size 64
        .visible .entry k(.param .u64 x) {
            .reg .b64 a; .reg .b32 %laneid, r; .reg .f32 f; .reg .f64 d;
            .shared .b32 %smid;
            ld.param.u64 a, [x];
            mov.u32 %laneid, 1000; st.global.u32 [a], %laneid;
            st.shared.u32 [%smid], 7; mov.u32 r, %smid; ld.shared.u32 r, [r]; st.global.u32 [a+4], r;
            mov.f32 f, 0d412E848000000000; st.global.f32 [a+8], f;
            mov.f64 d, 0f3F800000; st.global.f64 [a+16], d; ret; }",
    );
    let x = m.machine.alloc(24);
    m.run("k", 1, 1, &[arg(x)]).unwrap();
    let found = m.machine.download::<u32>(x);
    assert_eq!(found, [1000, 7, 1e6_f32.to_bits(), 0, 0x3F80_0000, 0]);
}
