//! Matrices that the lanes of a warp hold together.

use std::fmt::Debug;

use bytemuck::Pod;
use half::{bf16, f16};

use super::super::Fault;
use super::{Loaded, arg, cuda, fails, load};

/// Small numbers that no two lanes have in the same places; their sums are exact in every format.
fn numbers(count: usize, seed: usize) -> Vec<i32> {
    (0..count).map(|i| ((i * 7 + seed) * (i + 3) % 11) as i32 - 5).collect()
}

/// The product of two matrices in the order of rows, added to a third one.
fn product(a: &[i32], b: &[i32], c: &[i32], [m, n, k]: [usize; 3]) -> Vec<i32> {
    let at = |row: usize, column: usize| {
        (0..k).map(|i| a[row * k + i] * b[i * n + column]).sum::<i32>() + c[row * n + column]
    };
    (0..m * n).map(|i| at(i / n, i % n)).collect()
}

fn halves(values: &[i32]) -> Vec<u16> {
    values.iter().map(|v| f16::from_f32(*v as f32).to_bits()).collect()
}

fn brains(values: &[i32]) -> Vec<u16> {
    values.iter().map(|v| bf16::from_f32(*v as f32).to_bits()).collect()
}

fn floats(values: &[i32]) -> Vec<f32> {
    values.iter().map(|v| *v as f32).collect()
}

fn doubles(values: &[i32]) -> Vec<f64> {
    values.iter().map(|v| f64::from(*v)).collect()
}

/// Columns behind each other.
fn transposed(values: &[i32], rows: usize) -> Vec<i32> {
    let columns = values.len() / rows;
    (0..values.len()).map(|i| values[i % rows * columns + i / rows]).collect()
}

/// Two factors and what is added to their product, in the order of rows.
fn given([rows, columns, inner]: [usize; 3]) -> (Vec<i32>, Vec<i32>, Vec<i32>) {
    (numbers(rows * inner, 1), numbers(inner * columns, 2), numbers(rows * columns, 3))
}

/// Runs a kernel on one warp, with three inputs, and compares its output.
fn gives<A: Pod, B: Pod, C: Pod, T: Pod + PartialEq + Debug>(
    m: &mut Loaded,
    kernel: &str,
    (a, b, c): (&Vec<A>, &Vec<B>, &Vec<C>),
    expected: &[T],
) {
    let out = m.machine.alloc(size_of_val(expected));
    let inputs = [m.machine.upload(a), m.machine.upload(b), m.machine.upload(c), out];
    m.run(kernel, 1, 32, &inputs.map(arg)).unwrap();
    assert_eq!(m.machine.download::<T>(out), expected, "{kernel}");
}

#[test]
fn fragments_are_multiplied_whatever_the_order_of_their_elements_in_memory() {
    let mut m = cuda(
        "#include <mma.h>
         using namespace nvcuda::wmma;
         template<int M, int N, int K, class A, class C, class LA, class LB, class P = A>
         __device__ void product(const P* a, const P* b, const C* c, C* out, layout_t stored) {
             fragment<matrix_a, M, N, K, A, LA> fa; fragment<matrix_b, M, N, K, A, LB> fb; fragment<accumulator, M, N, K, C> fc;
             load_matrix_sync(fa, a, __is_same(LA, row_major) ? K : M);
             load_matrix_sync(fb, b, __is_same(LB, row_major) ? N : K);
             load_matrix_sync(fc, c, N, mem_row_major);
             mma_sync(fc, fa, fb, fc);
             store_matrix_sync(out, fc, stored == mem_row_major ? N : M, stored);
         }
         __global__ void halves(const half* a, const half* b, const float* c, float* o) { product<16, 16, 16, half, float, row_major, col_major>(a, b, c, o, mem_col_major); }
         __global__ void tall(const half* a, const half* b, const half* c, half* o) { product<32, 8, 16, half, half, col_major, row_major>(a, b, c, o, mem_row_major); }
         __global__ void brains(const __nv_bfloat16* a, const __nv_bfloat16* b, const float* c, float* o) { product<8, 32, 16, __nv_bfloat16, float, row_major, row_major>(a, b, c, o, mem_row_major); }
         __global__ void bytes(const signed char* a, const signed char* b, const int* c, int* o) { product<16, 16, 16, signed char, int, row_major, col_major>(a, b, c, o, mem_row_major); }
         __global__ void nineteen(const float* a, const float* b, const float* c, float* o) { product<16, 16, 8, precision::tf32, float, row_major, row_major, float>(a, b, c, o, mem_row_major); }
         __global__ void doubles(const double* a, const double* b, const double* c, double* o) {
             product<8, 8, 4, double, double, row_major, col_major>(a, b, c, o, mem_row_major); }",
    );
    let shape = [16, 16, 16];
    let (a, b, c) = given(shape);
    let expected = product(&a, &b, &c, shape);
    let inputs = (&halves(&a), &halves(&transposed(&b, 16)), &floats(&c));
    gives(&mut m, "halves", inputs, &floats(&transposed(&expected, 16)));
    let bytes = |values: &[i32]| values.iter().map(|v| *v as i8).collect::<Vec<_>>();
    gives(&mut m, "bytes", (&bytes(&a), &bytes(&transposed(&b, 16)), &c), &expected);

    let shape = [32, 8, 16];
    let (a, b, c) = given(shape);
    let inputs = (&halves(&transposed(&a, 32)), &halves(&b), &halves(&c));
    gives(&mut m, "tall", inputs, &halves(&product(&a, &b, &c, shape)));

    let shape = [8, 32, 16];
    let (a, b, c) = given(shape);
    gives(&mut m, "brains", (&brains(&a), &brains(&b), &floats(&c)), &floats(&product(&a, &b, &c, shape)));

    let shape = [16, 16, 8];
    let (a, b, c) = given(shape);
    gives(&mut m, "nineteen", (&floats(&a), &floats(&b), &floats(&c)), &floats(&product(&a, &b, &c, shape)));

    let shape = [8, 8, 4];
    let (a, b, c) = given(shape);
    let inputs = (&doubles(&a), &doubles(&transposed(&b, 4)), &doubles(&c));
    gives(&mut m, "doubles", inputs, &doubles(&product(&a, &b, &c, shape)));
}

#[test]
fn rows_from_shared_memory_are_what_products_want() {
    let mut m = cuda(
        "#include <cuda_fp16.h>
         __global__ void tile(const half* a, const half* b, const float* c, float* o) {
             __shared__ __align__(16) half sa[16 * 16], sb[16 * 8];
             unsigned l = threadIdx.x;
             for (int i = l; i < 256; i += 32) sa[i] = a[i];
             for (int i = l; i < 128; i += 32) sb[i] = b[i];
             __syncwarp();
             unsigned ra[4], rb[2], pa = __cvta_generic_to_shared(sa + l % 16 * 16 + l / 16 * 8), pb = __cvta_generic_to_shared(sb + l % 16 * 8);
             asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\" : \"=r\"(ra[0]),
                 \"=r\"(ra[1]), \"=r\"(ra[2]), \"=r\"(ra[3]) : \"r\"(pa));
             asm volatile(\"ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];\" : \"=r\"(rb[0]),
                 \"=r\"(rb[1]) : \"r\"(pb));
             float d[4]; unsigned g = l / 4, t = l % 4;
             for (int i = 0; i < 4; i++) d[i] = c[(g + 8 * (i / 2)) * 8 + t * 2 + i % 2];
             asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, \"
                 \"{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\"
                 : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3]) : \"r\"(ra[0]), \"r\"(ra[1]),
                     \"r\"(ra[2]), \"r\"(ra[3]), \"r\"(rb[0]), \"r\"(rb[1]));
             for (int i = 0; i < 4; i++) o[(g + 8 * (i / 2)) * 8 + t * 2 + i % 2] = d[i];
         }",
    );
    let shape = [16, 8, 16];
    let (a, b, c) = (numbers(256, 4), numbers(128, 5), numbers(128, 6));
    gives(&mut m, "tile", (&halves(&a), &halves(&b), &floats(&c)), &floats(&product(&a, &b, &c, shape)));
}

#[test]
fn every_kind_of_number_is_where_the_language_says() {
    // Each lane fetches its own elements, as the tables of the PTX language have them.
    let mut m = cuda(
        "#define L unsigned l = threadIdx.x, g = l / 4, t = l % 4
         #define SUMS(C, D) for (int i = 0; i < 4; i++) d[i] = C
         #define OUT for (int i = 0; i < 4; i++) o[(g + 8 * (i / 2)) * 8 + t * 2 + i % 2] = d[i]
         #define IN for (int i = 0; i < 4; i++) d[i] = c[(g + 8 * (i / 2)) * 8 + t * 2 + i % 2]
         __global__ void bytes(const unsigned char* a, const signed char* b, const int* c, int* o) {
             L; unsigned ra[4] = {}, rb[2] = {}; int d[4]; IN;
             for (int i = 0; i < 16; i++) ra[i / 4] |= a[(g + (i / 4 % 2) * 8) * 32 + t * 4 + i % 4 + (i >= 8) * 16] << i % 4 * 8;
             for (int i = 0; i < 8; i++) rb[i / 4] |= (b[(t * 4 + i % 4 + (i >= 4) * 16) * 8 + g] & 255u) << i % 4 * 8;
             asm(\"mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32 {%0,%1,%2,%3}, \"
                 \"{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\"
                 : \"+r\"(d[0]), \"+r\"(d[1]), \"+r\"(d[2]), \"+r\"(d[3]) : \"r\"(ra[0]), \"r\"(ra[1]),
                     \"r\"(ra[2]), \"r\"(ra[3]), \"r\"(rb[0]), \"r\"(rb[1]));
             OUT;
         }
         __global__ void nibbles(const signed char* a, const signed char* b, const int* c, int* o) {
             L; unsigned ra[4] = {}, rb[2] = {}; int d[4]; IN;
             for (int i = 0; i < 32; i++) ra[i / 8] |= (a[(g + (i / 8 % 2) * 8) * 64 + t * 8 + i % 8 + (i >= 16) * 32] & 15u) << i % 8 * 4;
             for (int i = 0; i < 16; i++) rb[i / 8] |= (b[(t * 8 + i % 8 + (i >= 8) * 32) * 8 + g] & 15u) << i % 8 * 4;
             asm(\"mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, \"
                 \"{%0,%1,%2,%3};\"
                 : \"+r\"(d[0]), \"+r\"(d[1]), \"+r\"(d[2]), \"+r\"(d[3]) : \"r\"(ra[0]), \"r\"(ra[1]),
                     \"r\"(ra[2]), \"r\"(ra[3]), \"r\"(rb[0]), \"r\"(rb[1]));
             OUT;
         }
         __global__ void nineteen(const float* a, const float* b, const float* c, float* o) {
             L; float d[4]; IN;
             asm(\"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, \"
                 \"{%8,%9}, {%0,%1,%2,%3};\"
                 : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3])
                 : \"r\"(__float_as_int(a[g * 8 + t])), \"r\"(__float_as_int(a[(g + 8) * 8 + t])),
                     \"r\"(__float_as_int(a[g * 8 + t + 4])), \"r\"(__float_as_int(a[(g + 8) * 8 + t + 4])),
                   \"r\"(__float_as_int(b[t * 8 + g])), \"r\"(__float_as_int(b[(t + 4) * 8 + g])));
             OUT;
         }
         __global__ void doubles(const double* a, const double* b, const double* c, double* o) {
             L; double d[2] = {c[g * 8 + t * 2], c[g * 8 + t * 2 + 1]};
             asm(\"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};\" :
                 \"+d\"(d[0]), \"+d\"(d[1]) : \"d\"(a[g * 4 + t]), \"d\"(b[t * 8 + g]));
             o[g * 8 + t * 2] = d[0]; o[g * 8 + t * 2 + 1] = d[1];
         }
         __global__ void halves(const unsigned short* a, const unsigned short* b, const unsigned* c, unsigned* o) {
             L; unsigned d[2] = {c[g * 4 + t], c[(g + 8) * 4 + t]};
             auto two = [](unsigned lo, unsigned hi) { return lo | hi << 16; };
             asm(\"mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%0,%1};\" :
                 \"+r\"(d[0]), \"+r\"(d[1])
                 : \"r\"(two(a[g * 8 + t * 2], a[g * 8 + t * 2 + 1])), \"r\"(two(a[(g + 8) * 8 + t * 2],
                     a[(g + 8) * 8 + t * 2 + 1])), \"r\"(two(b[t * 16 + g], b[t * 16 + 8 + g])));
             o[g * 4 + t] = d[0]; o[(g + 8) * 4 + t] = d[1];
         }",
    );
    let bytes = |values: &[i32]| values.iter().map(|v| *v as i8).collect::<Vec<_>>();

    let shape = [16, 8, 32];
    let (a, b, mut c) = given(shape);
    let a: Vec<i32> = a.iter().map(|v| v + 200).collect();
    c[0] = i32::MAX - 1;
    let mut expected = product(&a, &b, &[0; 128], shape);
    expected.iter_mut().zip(&c).for_each(|(sum, c)| *sum = sum.saturating_add(*c));
    gives(&mut m, "bytes", (&bytes(&a), &bytes(&b), &c), &expected);

    let shape = [16, 8, 64];
    let (a, b, c) = given(shape);
    gives(&mut m, "nibbles", (&bytes(&a), &bytes(&b), &c), &product(&a, &b, &c, shape));

    let shape = [16, 8, 8];
    let (a, b, c) = given(shape);
    gives(&mut m, "nineteen", (&floats(&a), &floats(&b), &floats(&c)), &floats(&product(&a, &b, &c, shape)));
    gives(&mut m, "halves", (&halves(&a), &halves(&b), &halves(&c)), &halves(&product(&a, &b, &c, shape)));

    let shape = [8, 8, 4];
    let (a, b, c) = given(shape);
    let inputs = (&doubles(&a), &doubles(&b), &doubles(&c));
    gives(&mut m, "doubles", inputs, &doubles(&product(&a, &b, &c, shape)));
}

#[test]
fn small_matrices_are_turned_and_stored() {
    let mut m = cuda(
        "__global__ void turn(const unsigned* a, const unsigned*, const unsigned*, unsigned* o) {
             __shared__ __align__(16) unsigned s[64];
             unsigned l = threadIdx.x, r = a[l], turned, p = __cvta_generic_to_shared(s + l % 16 * 4);
             asm volatile(\"movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;\" : \"=r\"(turned) : \"r\"(r));
             asm volatile(\"stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};\" :: \"r\"(p),
                 \"r\"(r), \"r\"(turned) : \"memory\");
             __syncwarp();
             o[l] = s[l]; o[32 + l] = s[32 + l];
             asm volatile(\"stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};\" :: \"r\"(p),
                 \"r\"(r) : \"memory\");
             __syncwarp();
             o[64 + l] = s[l];
         }",
    );
    let rows: Vec<i32> = (0..64).collect();
    let halves = |values: &[i32]| values.iter().map(|v| *v as u16).collect::<Vec<_>>();
    let (plain, turned) = (halves(&rows), halves(&transposed(&rows, 8)));
    let expected = [&plain[..], &turned, &turned].concat();
    gives(&mut m, "turn", (&plain, &plain, &plain), &expected);
}

#[test]
fn what_is_outside_or_not_aligned_is_a_fault_that_names_the_lane() {
    let mut m = cuda(
        "#include <mma.h>
         using namespace nvcuda::wmma;
         __global__ void rows(unsigned* o) {
             __shared__ __align__(16) unsigned s[32];
             unsigned r, p = __cvta_generic_to_shared(s) + threadIdx.x * 16 + (threadIdx.x == 5) * 4;
             asm volatile(\"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];\" : \"=r\"(r) : \"r\"(p));
             o[threadIdx.x] = r;
         }
         __global__ void outside(const half* a, half* o) {
             fragment<matrix_a, 16, 16, 16, half, row_major> f;
             load_matrix_sync(f, a, 24);
             o[threadIdx.x] = f.x[0];
         }",
    );
    let out = m.machine.alloc(128);
    let words = ["shared read of 16 bytes", "(5,0,0)"];
    fails(m.run("rows", 1, 32, &[arg(out)]), Fault::MISALIGNED_ADDRESS, &words);
    let a = m.machine.alloc(16 * 16 * 2);
    let outside = m.run("outside", 1, 32, &[arg(a), arg(out)]);
    fails(outside, Fault::ILLEGAL_ADDRESS, &["global read of 2 bytes"]);
}

#[test]
fn a_product_of_warpgroups_has_no_factors_of_four_or_64_bits() {
    for form in ["m64n8k64.s32.s4.s4", "m64n8k4.s32.f64.f64"] {
        let text = format!(
            ".version 9.0 .target sm_90a .address_size 64
            .visible .entry k(.param .u64 n) {{ .reg .b32 %r<5>; .reg .b64 %d<2>; ld.param.u64 %d1, [n];
                wgmma.fence.sync.aligned;
                wgmma.mma_async.sync.aligned.{form} {{%r1, %r2, %r3, %r4}}, %d1, %d1, 1;
                wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; ret; }}"
        );
        fails(load(&text).run("k", 1, 128, &[arg(0u64)]), Fault::NOT_SUPPORTED, &[form]);
    }
}
