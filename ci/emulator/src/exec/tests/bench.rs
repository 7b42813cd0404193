//! How fast kernels are interpreted, without and with the checks of races: run with
//! `--release -- --ignored --nocapture speed`.

use std::time::Instant;

use super::super::Kernel;
use super::{Loaded, Step, Task, arg, cuda};
use crate::thread::processor_time;

fn measure(name: &str, m: &mut Loaded, launch: super::super::Launch) {
    for traces in [false, true] {
        m.machine.traces = traces;
        let name = if traces { format!("{name}, with the checks of races") } else { name.to_owned() };
        measure_once(&name, m, launch.clone());
    }
}

fn measure_once(name: &str, m: &mut Loaded, launch: super::super::Launch) {
    let mut kernel = Kernel::new(launch);
    m.machine.processors = 2;
    let (start, used) = (Instant::now(), processor_time());
    while let Step::Yield = kernel.step(&mut m.machine, 50_000) {}
    let (wall, used) = (start.elapsed().as_secs_f64(), (processor_time() - used).as_secs_f64());
    let lanes = kernel.clock as f64 * 32.0 / 1e9;
    println!("{name}: {:.2} billion lane instructions a second of a processor", lanes / used);
    println!("    {used:.3} s of processors, {wall:.3} s by the clock");
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
         }
         __global__ void reduce(const float* a, float* out, int n) {
             __shared__ float s[256];
             float sum = 0;
             for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += a[i];
             s[threadIdx.x] = sum;
             for (int k = blockDim.x / 2; k > 0; k /= 2) {
                 __syncthreads();
                 if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
             }
             if (threadIdx.x == 0) out[blockIdx.x] = s[0];
         }
         __global__ void bodies(const float4* p, float4* v, int n) {
             __shared__ float4 s[256];
             int i = blockIdx.x * blockDim.x + threadIdx.x;
             float4 me = p[i];
             float ax = 0, ay = 0, az = 0;
             for (int t = 0; t < n; t += 256) {
                 s[threadIdx.x] = p[t + threadIdx.x];
                 __syncthreads();
                 for (int k = 0; k < 256; k++) {
                     float4 it = s[k];
                     float x = it.x - me.x, y = it.y - me.y, z = it.z - me.z;
                     float inverse = rsqrtf(x * x + y * y + z * z + 0.01f);
                     float f = it.w * inverse * inverse * inverse;
                     ax += x * f; ay += y * f; az += z * f;
                 }
                 __syncthreads();
             }
             v[i] = make_float4(ax, ay, az, 0);
         }",
    );
    let (a, b, c) = (m.machine.alloc(1 << 20), m.machine.alloc(1 << 20), m.machine.alloc(1 << 20));
    let launch = m.launch("arithmetic", [64, 1, 1], [256, 1, 1], &[arg(c), arg(8000)]);
    measure("integers", &mut m, launch);
    let launch = m.launch("fused", [64, 1, 1], [256, 1, 1], &[arg(c), arg(8000)]);
    measure("fused multiplication", &mut m, launch);
    let launch = m.launch("copy", [64, 1, 1], [256, 1, 1], &[arg(a), arg(b), arg(1 << 18)]);
    measure("copy", &mut m, launch);
    let launch = m.launch("multiply", [16, 16, 1], [16, 16, 1], &[arg(a), arg(b), arg(c), arg(256)]);
    measure("matrix multiplication", &mut m, launch);
    let launch = m.launch("reduce", [256, 1, 1], [256, 1, 1], &[arg(a), arg(c), arg(1 << 18)]);
    measure("reduction", &mut m, launch);
    let launch = m.launch("bodies", [8, 1, 1], [256, 1, 1], &[arg(a), arg(b), arg(2048)]);
    measure("bodies", &mut m, launch);
}
