//! Instructions of kernels, a case a family. Each lane of a warp has three operands of a table of corner
//! cases.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::*;

use crate::case::Cases;
use crate::log::{Log, Outcome, ask};
use crate::memory::{Block, Kind};

/// Operands of 32 bits.
const WORDS: [u32; 32] = [
    0,
    1,
    2,
    3,
    7,
    8,
    31,
    32,
    33,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x1234_5678,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_fffe,
    0xffff_ffff,
    0xdead_beef,
    0x5555_5555,
    0xaaaa_aaaa,
    0x00ff_00ff,
    0x0102_0304,
    0x8080_8080,
    0x7f7f_7f7f,
    0xf0e1_d2c3,
    0x1f,
];

/// Numbers and non-numbers of 32 bits: zeros, ones, ties, bounds of integers and of f16, denormals.
const FLOATS: [u32; 32] = [
    0,
    0x8000_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x3f00_0000,
    0x3fc0_0000,
    0x4020_0000,
    0xc020_0000,
    0x3dcc_cccd,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0xffc1_2345,
    0x7f80_0001,
    0x0080_0000,
    0x0000_0001,
    0x807f_ffff,
    0x0040_0000,
    0x4f00_0000,
    0xcf00_0000,
    0x4eff_ffff,
    0x4f80_0000,
    0x5f00_0000,
    0x42fe_0000,
    0x437f_8000,
    0x3eff_ffff,
    0x3f00_0001,
    0x477f_e000,
    0x477f_f000,
    0x3300_0000,
];

/// The same of 16 bits.
const HALVES: [u32; 32] = [
    0, 0x8000, 0x3c00, 0xbc00, 0x3800, 0x3e00, 0x4100, 0xc100, 0x2e66, 0x7bff, 0xfbff, 0x7c00, 0xfc00,
    0x7e00, 0xfe01, 0x7d01, 0x0400, 0x0001, 0x83ff, 0x0200, 0x7800, 0xf800, 0x57f0, 0x5bf8, 0x37ff, 0x3801,
    0x0100, 0x0801, 0x4248, 0x3555, 0x7bfe, 0x0c00,
];

/// A table of operands.
#[derive(Clone, Copy)]
enum Table {
    Words,
    Longs,
    Floats,
    Doubles,
    Halves,
    /// bf16, the upper halves of the floats.
    Brains,
}

impl Table {
    /// Three operands for each of 32 lanes, so that each operand meets others.
    fn operands(self) -> Vec<u8> {
        let lanes = [(1, 0), (7, 5), (11, 3)]
            .into_iter()
            .flat_map(|(step, first)| (0..32).map(move |lane| (lane * step + first) % 32));
        match self {
            Self::Words => lanes.flat_map(|at| WORDS[at].to_ne_bytes()).collect(),
            Self::Floats => lanes.flat_map(|at| FLOATS[at].to_ne_bytes()).collect(),
            Self::Halves => {
                lanes.flat_map(|at| (HALVES[at] | HALVES[(at * 5 + 9) % 32] << 16).to_ne_bytes()).collect()
            }
            Self::Brains => lanes
                .flat_map(|at| (FLOATS[at] >> 16 | FLOATS[(at * 5 + 9) % 32] & 0xffff_0000).to_ne_bytes())
                .collect(),
            Self::Longs => lanes
                .flat_map(|at| {
                    let high = if at % 3 == 0 { 0 } else { WORDS[(at * 5 + 9) % 32] };
                    (u64::from(high) << 32 | u64::from(WORDS[at])).to_ne_bytes()
                })
                .collect(),
            Self::Doubles => lanes.flat_map(|at| double(at).to_bits().to_ne_bytes()).collect(),
        }
    }
}

/// The numbers of the table of floats, some of them with more digits or a larger exponent.
fn double(at: usize) -> f64 {
    match at {
        9 => f64::MAX,
        10 => f64::MIN,
        17 => f64::from_bits(1),
        18 => -f64::MIN_POSITIVE,
        19 => f64::from_bits(0x000f_ffff_ffff_ffff),
        27 => 1.0 / 3.0,
        28 => 9_223_372_036_854_774_784.0,
        30 => 2_147_483_647.5,
        31 => 1e-310,
        _ => f64::from(f32::from_bits(FLOATS[at])),
    }
}

/// Words that a kernel may write.
const ROOM: usize = 4096;

/// Notes what a kernel left, a row a result: its 32 lanes, or the one value that all of them have.
fn rows(log: &mut Log, words: &[u8]) {
    let words: Vec<u32> =
        words.chunks_exact(4).map(|it| u32::from_ne_bytes([it[0], it[1], it[2], it[3]])).collect();
    let written = words.iter().rposition(|it| *it != 0).map_or(0, |last| last / 32 + 1);
    for (row, lanes) in words.chunks_exact(32).take(written).enumerate() {
        if lanes.iter().all(|it| *it == lanes[0]) {
            log.fact(&row.to_string(), format_args!("32 x {:x}", lanes[0]));
        } else {
            let lanes: Vec<String> = lanes.iter().map(|it| format!("{it:x}")).collect();
            log.fact(&row.to_string(), lanes.join(" "));
        }
    }
}

type Kernel = unsafe extern "C" fn();

/// Launches a kernel of so many blocks of 32 threads, and waits.
fn launch(
    log: &mut Log,
    kernel: Kernel,
    blocks: u32,
    attributes: &mut [cudaLaunchAttribute],
    arguments: &mut [*mut c_void],
) {
    let configuration = cudaLaunchConfig_t {
        gridDim: dim3 { x: blocks, y: 1, z: 1 },
        blockDim: dim3 { x: 32, y: 1, z: 1 },
        dynamicSmemBytes: 0,
        stream: ptr::null_mut(),
        attrs: attributes.as_mut_ptr(),
        numAttrs: attributes.len() as u32,
    };
    let (kernel, arguments) = (kernel as *const c_void, arguments.as_mut_ptr());
    ask!(log, cudaLaunchKernelExC(&raw const configuration, kernel, arguments));
    ask!(log, cudaDeviceSynchronize());
}

/// Runs the kernel of a family on its table.
fn family(log: &mut Log, kernel: Kernel, table: Table) -> Outcome {
    let from = Block::with(log, Kind::Device, &table.operands())?;
    let to = Block::new(log, Kind::Device, ROOM * 4)?;
    let (mut a, mut b) = (from.ptr(), to.ptr());
    launch(log, kernel, 1, &mut [], &mut [(&raw mut a).cast(), (&raw mut b).cast()]);
    let written = to.load(log)?;
    // Kernels use the rest as memory.
    rows(log, &written[..512 * 4]);
    Ok(())
}

macro_rules! families {
    ($($kernel:ident, $table:ident, $what:literal;)*) => {
        unsafe extern "C" { $(fn $kernel();)* }
        const FAMILIES: &[(&str, Kernel, Table)] = &[$(($what, $kernel, Table::$table)),*];
    };
}

families! {
    ins_divide, Words, "division and remainder";
    ins_divide_by_zero, Words, "division by zero";
    ins_divide_long, Longs, "division of 64 bits";
    ins_mul_hi, Words, "upper halves of products";
    ins_mul24_hi, Words, "products of 24 bits";
    ins_mad_sat, Words, "saturating sums";
    ins_mul_wide, Words, "wide products";
    ins_mul_hi_long, Longs, "upper halves of products of 64 bits";
    ins_carry, Words, "carries";
    ins_absolute, Words, "absolute values and differences";
    ins_shift, Words, "shifts, also by too much";
    ins_shift_long, Longs, "shifts of 64 bits";
    ins_funnel, Words, "funnel shifts";
    ins_bfe, Words, "extracting bit fields";
    ins_bfi, Words, "inserting bit fields";
    ins_bit_field_long, Longs, "bit fields of 64 bits";
    ins_bfind, Words, "the highest bit";
    ins_count_long, Longs, "counting bits of 64";
    ins_count, Words, "counting bits";
    ins_fns, Words, "the n-th set bit";
    ins_mask, Words, "masks and sign extension";
    ins_lop3, Words, "logic of three operands";
    ins_prmt, Words, "permuting bytes, in every mode";
    ins_dot, Words, "dot products of bytes and half words";
    ins_select, Words, "selecting, min and max";
    ins_pairs, Words, "integers in pairs";
    ins_wide_ints, Words, "integers of 128 bits";
    ins_video_add, Words, "video sums";
    ins_video_shift, Words, "video shifts and products";
    ins_video_compare, Words, "video comparisons";
    ins_video_pairs, Words, "video instructions of pairs";
    ins_video_quads, Words, "video instructions of four bytes";
    ins_simd, Words, "SIMD functions";
    ins_to_s32, Floats, "f32 to s32";
    ins_to_u32, Floats, "f32 to u32";
    ins_to_s64, Floats, "f32 to 64 bits";
    ins_to_narrow, Floats, "f32 to 8 and 16 bits";
    ins_from_f64, Doubles, "f64 to integers";
    ins_f64_to_f32, Doubles, "f64 to f32";
    ins_round_f64, Doubles, "f64 to whole numbers, and from integers";
    ins_saturate, Words, "integers to narrower ones";
    ins_from_s32, Words, "integers to f32";
    ins_from_s64, Longs, "integers of 64 bits to f32";
    ins_round_f32, Floats, "f32 to whole numbers";
    ins_to_f16, Floats, "f32 to f16";
    ins_to_bf16, Floats, "f32 to bf16 and tf32";
    ins_to_fp8, Floats, "f32 to fp8";
    ins_fp8_f16, Halves, "fp8 and f16";
    ins_from_f16, Halves, "f16 and bf16 to others";
    ins_add_f32, Floats, "sums of f32";
    ins_mul_f32, Floats, "products of f32";
    ins_fma_f32, Floats, "fused products of f32";
    ins_div_f32, Floats, "division of f32";
    ins_root_f32, Floats, "roots and reciprocals of f32";
    ins_min_f32, Floats, "min and max of f32";
    ins_sign_f32, Floats, "signs of f32";
    ins_test_f32, Floats, "kinds of f32";
    ins_compare_f32, Floats, "comparisons of f32";
    ins_math_f32, Floats, "exact functions of f32";
    ins_add_f64, Doubles, "sums and products of f64";
    ins_fma_f64, Doubles, "fused products of f64";
    ins_div_f64, Doubles, "division and roots of f64";
    ins_min_f64, Doubles, "min and max of f64";
    ins_add_f16, Halves, "sums of f16";
    ins_add_f16x2, Halves, "sums of pairs of f16";
    ins_min_f16, Halves, "min and max of f16";
    ins_compare_f16, Halves, "comparisons of f16";
    ins_bf16, Brains, "bf16";
    ins_bf16x2, Brains, "pairs of bf16";
    ins_shuffle, Words, "shuffles";
    ins_shuffle_each, Words, "shuffles by lanes of their own";
    ins_vote, Words, "votes of a part of a warp";
    ins_match, Words, "matches";
    ins_redux, Words, "reductions of two parts of a warp";
    ins_elect, Words, "elections";
    ins_registers, Words, "special registers";
    ins_diverge, Words, "branches that diverge";
    ins_block_bars, Words, "barriers that count";
    ins_tiles, Words, "tiles and partitions";
    ins_atomics, Words, "atomics on shared memory";
    ins_atomics_global, Words, "atomics on global memory";
    ins_wrap_atomics, Words, "atomics that wrap";
    ins_atomic_cas, Words, "atomics of 16, 64 and 128 bits";
    ins_float_atomics, Words, "atomics of floats";
    ins_vector_loads, Words, "loads of every width";
    ins_generic, Words, "generic addresses";
    ins_async_copy, Words, "asynchronous copies";
    ins_bulk_copy, Words, "bulk copies and their barrier";
    ins_arrivals, Words, "arrivals at a barrier";
    ins_matrix_loads, Words, "loads of matrices";
    ins_matrix_f16, Words, "products of matrices of f16";
    ins_matrix_s8, Words, "products of matrices of integers";
    ins_matrix_f64, Words, "products of matrices of f64";
    ins_calls, Words, "indirect and recursive calls";
    ins_heap, Words, "the heap of kernels";
    ins_print, Words, "printing";
}

unsafe extern "C" {
    fn ins_arguments();
    fn ins_cluster();
    fn ins_grid();
    fn ins_misaligned();
    fn ins_store();
    fn ins_load_atomic();
    fn ins_shared_end();
    fn ins_assertion();
    fn ins_bounds();
    fn ins_static_shared();
}

/// As the structure in `instructions.cu`.
#[repr(C)]
struct Odd {
    a: i8,
    b: [i8; 6],
    c: i16,
    d: f64,
    e: [i32; 3],
}

fn kernels(cases: &mut Cases) {
    cases.add("kernels/arguments of odd sizes", |log| {
        let from = Block::with(log, Kind::Device, &Table::Words.operands())?;
        let to = Block::new(log, Kind::Device, ROOM * 4)?;
        let mut odd = Odd { a: 1, b: [2; 6], c: -3, d: 4.9, e: [5, 6, 7] };
        let mut other = Odd { a: 11, b: [12; 6], c: -13, d: 14.9, e: [-15, 16, 17] };
        let (mut x, mut y, mut a, mut b) = (-100_i8, -30_000_i16, from.ptr(), to.ptr());
        let mut arguments = [
            (&raw mut x).cast(),
            (&raw mut odd).cast(),
            (&raw mut other).cast(),
            (&raw mut y).cast(),
            (&raw mut a).cast(),
            (&raw mut b).cast(),
        ];
        launch(log, ins_arguments, 1, &mut [], &mut arguments);
        let written = to.load(log)?;
        rows(log, &written);
        Ok(())
    });
    for (what, size, blocks) in
        [("of two blocks", 2, 4), ("of four blocks", 4, 8), ("of eight blocks", 8, 8), ("of one block", 1, 2)]
    {
        cases.alone(format!("kernels/clusters {what}, their memory"), move |log| {
            let to = Block::new(log, Kind::Device, ROOM * 4)?;
            let mut attribute = cudaLaunchAttribute::default();
            attribute.id = cudaLaunchAttributeClusterDimension;
            attribute.val.clusterDim = cudaLaunchAttributeValue__bindgen_ty_1 { x: size, y: 1, z: 1 };
            let mut at = to.ptr();
            launch(log, ins_cluster, blocks, &mut [attribute], &mut [(&raw mut at).cast()]);
            let written = to.load(log)?;
            rows(log, &written);
            Ok(())
        });
    }
    for (what, cooperative) in [("of cooperative blocks", 1), ("of one block, not cooperative,", 0)] {
        cases.alone(format!("kernels/a grid {what} waits for itself"), move |log| {
            // One block alone: without the attribute, the barrier of the grid traps or passes.
            let to = Block::new(log, Kind::Device, ROOM * 4)?;
            let mut attribute = cudaLaunchAttribute::default();
            attribute.id = cudaLaunchAttributeCooperative;
            attribute.val.cooperative = cooperative;
            let (mut at, blocks) = (to.ptr(), if cooperative == 1 { 16 } else { 1 });
            launch(log, ins_grid, blocks, &mut [attribute], &mut [(&raw mut at).cast()]);
            if cooperative == 1 {
                let written = to.load(log)?;
                rows(log, &written);
            }
            Ok(())
        });
    }
}

/// What a thread and the device say after a kernel has failed.
fn after(log: &mut Log, block: Block) {
    ask!(log, cudaPeekAtLastError());
    ask!(log, cudaGetLastError());
    ask!(log, cudaGetLastError());
    let (mut free, mut total, mut on, mut mark) = (0, 0, ptr::null_mut(), ptr::null_mut());
    ask!(log, cudaMemGetInfo(&raw mut free, &raw mut total));
    ask!(log, cudaStreamCreate(&raw mut on));
    ask!(log, cudaEventCreate(&raw mut mark));
    let mut device = 0;
    ask!(log, cudaGetDevice(&raw mut device));
    ask!(log, cudaSetDevice(0));
    ask!(log, cudaFree(block.ptr()));
    ask!(log, cudaStreamIsCapturing(ptr::null_mut(), ptr::null_mut()));
    ask!(log, cudaDeviceReset());
    ask!(log, cudaDeviceSynchronize());
}

fn faults(cases: &mut Cases) {
    type Argument = fn(Block) -> *mut c_void;
    let list: [(&str, Kernel, Argument); 7] = [
        ("a store to null", ins_store, |_| ptr::null_mut()),
        ("a store far behind all memory", ins_store, |_| ptr::without_provenance_mut(1 << 46)),
        ("a store to an odd address", ins_store, |it| it.at(2)),
        ("a wide store to an odd address", ins_misaligned, |it| it.ptr()),
        ("an atomic at an odd address", ins_load_atomic, |it| it.ptr()),
        ("a store behind shared memory", ins_shared_end, |_| ptr::null_mut()),
        ("an assertion", ins_assertion, |it| it.ptr()),
    ];
    for (what, kernel, argument) in list {
        cases.alone(format!("kernels/{what}"), move |log| {
            let block = Block::new(log, Kind::Device, 4096)?;
            let mut at = argument(block);
            launch(log, kernel, 1, &mut [], &mut [(&raw mut at).cast()]);
            after(log, block);
            Ok(())
        });
    }
    for (what, kernel, threads, shared) in [
        ("as many threads as the kernel allows", ins_bounds as Kernel, 64, 0),
        ("more threads than the kernel allows", ins_bounds, 65, 0),
        ("40 KiB of the kernel's own and 8 KiB more", ins_static_shared, 32, 8 << 10),
        ("40 KiB of the kernel's own and 9 KiB more", ins_static_shared, 32, 9 << 10),
    ] {
        cases.add(format!("kernels/{what}"), move |log| {
            let to = Block::new(log, Kind::Device, 4096)?;
            let (one, block) = (dim3 { x: 1, y: 1, z: 1 }, dim3 { x: threads, y: 1, z: 1 });
            let (mut at, on) = (to.ptr(), ptr::null_mut());
            let mut arguments = [(&raw mut at).cast()];
            let kernel = kernel as *const c_void;
            ask!(log, cudaLaunchKernel(kernel, one, block, arguments.as_mut_ptr(), shared, on));
            ask!(log, cudaPeekAtLastError());
            ask!(log, cudaDeviceSynchronize());
            let written = to.load(log)?;
            rows(log, &written);
            Ok(())
        });
    }
}

pub(super) fn add(cases: &mut Cases) {
    for (what, kernel, table) in FAMILIES {
        cases.add(format!("kernels/{what}"), |log| family(log, *kernel, *table));
    }
    kernels(cases);
    faults(cases);
}
