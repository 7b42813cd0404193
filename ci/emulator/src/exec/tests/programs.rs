//! Whole kernels.

use super::{arg, cuda};

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
