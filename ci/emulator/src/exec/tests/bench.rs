//! How fast kernels are interpreted: run with `--release -- --ignored --nocapture speed`.

use std::time::Instant;

use super::super::{Kernel, Step, Task};
use super::{Loaded, arg, cuda};

fn measure(name: &str, m: &mut Loaded, launch: super::super::Launch) {
    let mut kernel = Kernel::new(launch);
    let start = Instant::now();
    while let Step::Yield = kernel.step(&mut m.machine, 1 << 20) {}
    let seconds = start.elapsed().as_secs_f64();
    let lanes = kernel.clock() as f64 * 32.0;
    println!("{name}: {:.2} billion lane instructions a second ({seconds:.3} s)", lanes / seconds / 1e9);
}

#[test]
#[ignore = "a measurement, for release builds"]
fn speed() {
    let mut m = cuda(
        "__global__ void arithmetic(int* out, int n) {
             int a = threadIdx.x, b = blockIdx.x;
             for (int i = 0; i < n; i++) { a = a * 1664525 + b; b ^= a >> 7; b += i; }
             out[blockIdx.x * blockDim.x + threadIdx.x] = a + b;
         }
         __global__ void fused(float* out, int n) {
             float a = threadIdx.x, b = 0.5f, c = 0.25f;
             for (int i = 0; i < n; i++) { a = a * b + c; c = c * b + a; }
             out[blockIdx.x * blockDim.x + threadIdx.x] = a + c;
         }
         __global__ void copy(const float* a, float* b, int n) {
             for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) b[i] = a[i] * 2;
         }
         __global__ void multiply(const float* a, const float* b, float* c, int w) {
             __shared__ float sa[16][16], sb[16][16];
             int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
             float sum = 0;
             for (int t = 0; t < w / 16; t++) {
                 sa[threadIdx.y][threadIdx.x] = a[y * w + t * 16 + threadIdx.x];
                 sb[threadIdx.y][threadIdx.x] = b[(t * 16 + threadIdx.y) * w + x];
                 __syncthreads();
                 for (int k = 0; k < 16; k++) sum += sa[threadIdx.y][k] * sb[k][threadIdx.x];
                 __syncthreads();
             }
             c[y * w + x] = sum;
         }",
    );
    let (a, b, c) = (m.machine.alloc(1 << 20), m.machine.alloc(1 << 20), m.machine.alloc(1 << 20));
    let launch = m.launch("arithmetic", [64, 1, 1], [256, 1, 1], &[arg(c), arg(2000)]);
    measure("integers", &mut m, launch);
    let launch = m.launch("fused", [64, 1, 1], [256, 1, 1], &[arg(c), arg(2000)]);
    measure("fused multiplication", &mut m, launch);
    let launch = m.launch("copy", [64, 1, 1], [256, 1, 1], &[arg(a), arg(b), arg(1 << 18)]);
    measure("copy", &mut m, launch);
    let launch = m.launch("multiply", [16, 16, 1], [16, 16, 1], &[arg(a), arg(b), arg(c), arg(256)]);
    measure("matrix multiplication", &mut m, launch);
}
