//! The table of instructions: what each changes, and what the emulator and the proof do with it.

use crate::Type;
use crate::syntax::{Instruction, Operand};

/// What an instruction changes, and what it reads beside its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Only its result, which comes from its operands.
    Computes,
    /// Only its result, which comes from operands of other threads, too.
    Shuffles,
    /// Only its result, which is a predicate.
    Compares,
    /// Only its result, which comes from memory.
    Loads,
    /// Memory at its first operand. The others are values.
    Stores,
    /// Memory at its second operand, and its result, which comes from there. The others are values.
    Exchanges,
    /// Shared memory at its first operand, from global memory at its second one.
    Copies,
    /// Reads or writes an image through a handle. The other operands are coordinates and values.
    Images,
    /// A barrier in shared memory.
    Synchronizes,
    /// Which instruction comes next.
    Jumps,
    /// Calls a function.
    Calls,
    /// Nothing: it waits for other work, orders accesses, or is a hint.
    Orders,
    /// Anything: consumers that do not know the instruction refuse it.
    Other,
}

/// What the proof of launches does with an instruction, in the forms that it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Proof {
    /// It follows what is computed, or which bytes are accessed.
    Exact,
    /// The result is any value of its type.
    Unknown,
    /// It refuses the launch.
    Refused,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The opcode, and words that must be among those behind it.
    pub name: &'static str,
    /// The rest of an instruction of this form. `T` is a type. A letter is a register: `d` a result of that
    /// type and `a`, `b` and `c` values, `D` and `A` have twice its bits, `r` and `n` 32, `w` and `v` 64, `f`
    /// and `e` are of `f32`, `p` and `x` predicates. `m` and `s` are addresses of global and of shared
    /// memory, `t` is a handle, `L` a label, `G` a list of labels, `F` a function.
    pub form: &'static str,
    /// The types that `T` may be, with the words that have to precede some.
    pub types: &'static str,
    /// What it changes.
    pub effect: Effect,
    /// Whether the emulator runs it.
    pub is_emulated: bool,
    /// What the proof does with it.
    pub proof: Proof,
}

impl Row {
    /// Returns whether the first operand is the result.
    #[must_use]
    pub fn has_result(&self) -> bool {
        let operands = self.form.split_once(' ').map_or("", |(_, operands)| operands);
        operands.trim_start_matches(['{', '(']).starts_with(['d', 'D', 'r', 'w', 'f', 'p'])
    }

    /// Returns an instruction of this form for each of its types, on a line of its own, in braces with the
    /// registers that it names. Around it, `m`, `s`, `t` and the function `F` have to be there.
    #[must_use]
    pub fn examples(&self) -> Vec<String> {
        let types = if self.types.is_empty() { vec![""] } else { self.types.split(' ').collect() };
        let example = |ty: &str| {
            let form = self.form.replace('T', ty);
            let own = ty.rsplit('.').next().and_then(Type::from_word);
            let register = match own.map(|own| (own.word(), own.bits())) {
                Some((word @ ("pred" | "f32" | "f64"), _)) => word.to_owned(),
                // A byte has a larger register.
                Some((_, bits)) => format!("b{}", bits.max(16)),
                None => "b32".to_owned(),
            };
            let double = own.map_or(64, |own| 2 * own.bits()).clamp(32, 128);
            format!(
                "{{ .reg .{register} d, a, b, c; .reg .b{double} D, A; .reg .b32 r, r<8>, n; .reg .b64 w, v; \
             .reg .f32 f, f<8>, e; .reg .pred p, x; G: .branchtargets L;\n{}{form};\nL: }}\n",
                self.name
            )
        };
        types.into_iter().map(example).collect()
    }

    fn fits(&self, words: &[&str]) -> bool {
        let mut needed = self.name.split('.').skip(1);
        needed.all(|word| words.iter().any(|own| own.split("::").next() == Some(word)))
    }
}

/// Returns the row of an instruction's words.
#[must_use]
pub fn row(words: &[&str]) -> Option<&'static Row> {
    let opcode = *words.first()?;
    let opcode_of = |row: &Row| row.name.split('.').next().unwrap_or_default();
    let start = ROWS.partition_point(|row| opcode_of(row) < opcode);
    ROWS[start..].iter().take_while(|row| opcode_of(row) == opcode).find(|row| row.fits(words))
}

impl<'a> Instruction<'a> {
    /// Returns the instruction's row of the table, or `None` if PTX has no such instruction.
    #[must_use]
    pub fn row(&self) -> Option<&'static Row> {
        row(&self.words)
    }

    /// Returns the operand that is the result.
    #[must_use]
    pub fn result(&self) -> Option<&Operand<'a>> {
        self.operands.first().filter(|_| self.row().is_some_and(Row::has_result))
    }
}

/// All opcodes, in the order of the alphabet.
pub fn opcodes() -> impl Iterator<Item = &'static str> {
    let all = ROWS.iter().map(|row| row.name.split('.').next().unwrap_or_default());
    all.scan("", |last, name| Some((std::mem::replace(last, name) != name).then_some(name))).flatten()
}

const RUNS: bool = true;
const FAILS: bool = false;

const fn of(
    name: &'static str,
    form: &'static str,
    types: &'static str,
    effect: Effect,
    is_emulated: bool,
    proof: Proof,
) -> Row {
    Row { name, form, types, effect, is_emulated, proof }
}

use Effect::{
    Calls, Compares, Computes, Copies, Exchanges, Images, Jumps, Loads, Orders, Other, Shuffles, Stores,
    Synchronizes,
};
use Proof::{Exact, Refused, Unknown};

const INTEGERS: &str = "u16 u32 u64 s16 s32 s64";
const BITS: &str = "b16 b32 b64";
const ALL: &str = "b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64";
const MEMORY: &str = "b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64";

/// The table, in the order of the opcodes. Of several rows of an opcode, the first one that fits counts.
#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    of("abs", ".T d, a", "s16 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64", Computes, RUNS, Exact),
    of("activemask", ".b32 r", "", Shuffles, RUNS, Unknown),
    of("add", ".T d, a, b", "u16 u32 u64 s16 s32 s64 u16x2 s16x2 f16 f16x2 bf16 bf16x2 f32 f32x2 f64",
        Computes, RUNS, Exact),
    of("addc", ".T d, a, b", "u32 u64 s32 s64", Computes, RUNS, Unknown),
    of("alloca", ".T d, a", "u32 u64", Other, RUNS, Refused),
    of("and", ".T d, a, b", "pred b16 b32 b64", Computes, RUNS, Exact),
    of("applypriority", ".global.L2::evict_normal [m], 128", "", Other, RUNS, Refused),
    of("atom", ".global.T d, [m], a", "add.u32 add.u64 add.s32 add.f32 add.f64 exch.b32 exch.b64 min.s64",
        Exchanges, RUNS, Exact),
    of("bar.red", ".popc.u32 r, 0, x", "", Shuffles, RUNS, Unknown),
    of("bar", ".sync 0", "", Orders, RUNS, Exact),
    of("barrier.red", ".popc.u32 r, 0, x", "", Shuffles, RUNS, Unknown),
    of("barrier", ".sync 0", "", Orders, RUNS, Exact),
    of("bfe", ".T d, a, 3, 5", "u32 u64 s32 s64", Computes, RUNS, Exact),
    of("bfi", ".T d, a, b, 8, 24", "b32 b64", Computes, RUNS, Exact),
    of("bfind", ".T r, a", "u32 u64 s32 s64", Computes, RUNS, Exact),
    of("bmsk", ".clamp.b32 r, n, n", "", Computes, RUNS, Unknown),
    of("bra", " L", "", Jumps, RUNS, Exact),
    of("brev", ".T d, a", "b32 b64", Computes, RUNS, Exact),
    of("brkpt", "", "", Orders, RUNS, Exact),
    of("brx", ".idx n, G", "", Jumps, RUNS, Exact),
    of("call", " F", "", Calls, RUNS, Exact),
    of("clusterlaunchcontrol", ".try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [s], [s]", "",
        Other, FAILS, Refused),
    of("clz", ".T r, a", "b32 b64", Computes, RUNS, Exact),
    of("cnot", ".T d, a", BITS, Computes, RUNS, Unknown),
    of("copysign", ".T d, a, b", "f32 f64", Computes, RUNS, Unknown),
    of("cos", ".approx.f32 f, e", "", Computes, RUNS, Unknown),
    of("cp.async.commit_group", "", "", Orders, RUNS, Exact),
    of("cp.async.wait_group", " 0", "", Orders, RUNS, Exact),
    of("cp.async.wait_all", "", "", Orders, RUNS, Exact),
    of("cp.reduce", ".async.bulk.global.shared::cta.bulk_group.add.u32 [m], [s], n", "",
        Other, RUNS, Refused),
    of("cp.async.bulk", ".shared::cluster.global.mbarrier::complete_tx::bytes [s], [m], n, [s]", "",
        Other, RUNS, Refused),
    of("cp.async.mbarrier", ".arrive.shared.b64 [s]", "", Other, RUNS, Refused),
    of("cp.async", ".ca.shared.global [s], [m], 16", "", Copies, RUNS, Exact),
    of("createpolicy", ".fractional.L2::evict_last.b64 w", "", Other, RUNS, Refused),
    of("cvt", ".T.u32 d, n", INTEGERS, Computes, RUNS, Exact),
    of("cvta", ".to.global.T d, a", "u64", Computes, RUNS, Exact),
    of("discard", ".global.L2 [m], 128", "", Other, RUNS, Refused),
    of("div", ".T d, a, b", "u16 u32 u64 s16 s32 s64 approx.f32 full.f32 rn.f32 rn.f64",
        Computes, RUNS, Exact),
    of("dp2a", ".lo.u32.u32 r, n, n, n", "", Computes, RUNS, Unknown),
    of("dp4a", ".u32.u32 r, n, n, n", "", Computes, RUNS, Unknown),
    of("elect", ".sync r|p, n", "", Shuffles, RUNS, Unknown),
    of("ex2", ".T d, a", "approx.f32 approx.f16 approx.f16x2 approx.ftz.bf16", Computes, RUNS, Unknown),
    of("exit", "", "", Jumps, RUNS, Exact),
    of("fence.proxy.tensormap", "::generic.acquire.gpu [m], 128", "", Other, RUNS, Refused),
    of("fence", ".acq_rel.gpu", "", Orders, RUNS, Exact),
    of("fma", ".rn.T d, a, b, c", "f16 f16x2 bf16 bf16x2 f32 f32x2 f64", Computes, RUNS, Unknown),
    of("fns", ".b32 r, n, n, n", "", Computes, RUNS, Unknown),
    of("getctarank", ".shared::cluster.T r, a", "u32 u64", Other, RUNS, Refused),
    of("griddepcontrol", ".wait", "", Orders, RUNS, Exact),
    of("isspacep", ".global p, v", "", Compares, RUNS, Unknown),
    of("istypep", ".texref p, v", "", Compares, FAILS, Refused),
    of("ld", ".global.T d, [m]", MEMORY, Loads, RUNS, Exact),
    of("ldmatrix", ".sync.aligned.m8n8.x1.shared.b16 {r}, [s]", "", Loads, RUNS, Exact),
    of("ldu", ".global.T d, [m]", MEMORY, Loads, RUNS, Exact),
    of("lg2", ".approx.f32 f, e", "", Computes, RUNS, Unknown),
    of("lop3", ".b32 r, n, n, n, 128", "", Computes, RUNS, Unknown),
    of("mad.wide", ".T D, a, b, A", "u16 u32 s16 s32", Computes, RUNS, Exact),
    of("mad", ".T d, a, b, c", "lo.u16 lo.u32 lo.u64 lo.s16 lo.s32 lo.s64 hi.u32 hi.s64 rn.f32 rn.f64",
        Computes, RUNS, Exact),
    of("mad24", ".lo.T d, a, b, c", "u32 s32", Computes, RUNS, Exact),
    of("madc", ".T d, a, b, c", "lo.u32 lo.u64 hi.s32 hi.s64", Computes, RUNS, Unknown),
    of("mapa", ".shared::cluster.T d, a, n", "u32 u64", Other, RUNS, Refused),
    of("match", ".any.sync.T r, a, n", "b32 b64", Shuffles, RUNS, Unknown),
    of("max", ".T d, a, b", "u16 u32 u64 s16 s32 s64 u16x2 s16x2 f16 f16x2 bf16 bf16x2 f32 f64",
        Computes, RUNS, Exact),
    of("mbarrier.init", ".shared.b64 [s], n", "", Synchronizes, RUNS, Exact),
    of("mbarrier.inval", ".shared.b64 [s]", "", Synchronizes, RUNS, Exact),
    of("mbarrier.test_wait", ".shared.b64 p, [s], v", "", Synchronizes, RUNS, Exact),
    of("mbarrier.try_wait", ".shared.b64 p, [s], v", "", Synchronizes, RUNS, Exact),
    of("mbarrier.expect_tx", ".relaxed.cta.shared.b64 [s], n", "", Synchronizes, RUNS, Refused),
    of("mbarrier.complete_tx", ".relaxed.cta.shared.b64 [s], n", "", Synchronizes, RUNS, Refused),
    of("mbarrier.pending_count", ".b64 r, v", "", Synchronizes, RUNS, Refused),
    of("mbarrier", ".arrive.shared.b64 w, [s]", "", Synchronizes, RUNS, Exact),
    of("membar", ".gl", "", Orders, RUNS, Exact),
    of("min", ".T d, a, b", "u16 u32 u64 s16 s32 s64 u16x2 s16x2 f16 f16x2 bf16 bf16x2 f32 f64",
        Computes, RUNS, Exact),
    of("mma", ".sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {f0,f1,f2,f3}, {n,n,n,n}, {n,n}, {e,e,e,e}",
        "", Computes, RUNS, Unknown),
    of("mov", ".T d, a", "pred b16 b32 b64 b128 u16 u32 u64 s16 s32 s64 f32 f64", Computes, RUNS, Exact),
    of("movmatrix", ".sync.aligned.m8n8.trans.b16 r, n", "", Computes, RUNS, Unknown),
    of("mul.wide", ".T D, a, b", "u16 u32 s16 s32", Computes, RUNS, Exact),
    of("mul", ".T d, a, b",
        "lo.u16 lo.u32 lo.u64 lo.s16 lo.s32 lo.s64 hi.u32 hi.s64 f16 f16x2 bf16 bf16x2 f32 f32x2 f64",
        Computes, RUNS, Exact),
    of("mul24", ".lo.T d, a, b", "u32 s32", Computes, RUNS, Exact),
    of("multimem.ld_reduce", ".global.add.T d, [m]", "u32 s32 u64", Other, FAILS, Refused),
    of("multimem", ".st.global.T [m], a", "b32 b64 f32 f64", Other, FAILS, Refused),
    of("nanosleep", ".u32 n", "", Orders, RUNS, Exact),
    of("neg", ".T d, a", "s16 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64", Computes, RUNS, Exact),
    of("not", ".T d, a", "pred b16 b32 b64", Computes, RUNS, Exact),
    of("or", ".T d, a, b", "pred b16 b32 b64", Computes, RUNS, Exact),
    of("pmevent", " 1", "", Orders, RUNS, Exact),
    of("popc", ".T r, a", "b32 b64", Computes, RUNS, Exact),
    of("prefetch.tensormap", " [m]", "", Other, RUNS, Refused),
    of("prefetch", ".global.L1 [m]", "", Orders, RUNS, Exact),
    of("prefetchu", ".L1 [m]", "", Orders, RUNS, Exact),
    of("prmt", ".b32 r, n, n, n", "", Computes, RUNS, Unknown),
    of("rcp", ".T d, a", "approx.f32 rn.f32 rn.f64 approx.ftz.f64", Computes, RUNS, Unknown),
    of("red.async", ".relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [s], n, [s]", "",
        Other, RUNS, Refused),
    of("red", ".global.T [m], a", "add.u32 add.u64 add.s32 add.f32 add.f64 min.s64 xor.b64",
        Stores, RUNS, Exact),
    of("redux", ".sync.T d, a, n", "add.u32 add.s32 min.u32 and.b32", Shuffles, RUNS, Unknown),
    of("rem", ".T d, a, b", INTEGERS, Computes, RUNS, Exact),
    of("ret", "", "", Jumps, RUNS, Exact),
    of("rsqrt", ".approx.T d, a", "f32 f64", Computes, RUNS, Unknown),
    of("sad", ".T d, a, b, c", INTEGERS, Computes, RUNS, Unknown),
    of("selp", ".T d, a, b, x", ALL, Computes, RUNS, Exact),
    of("set", ".eq.u32.T r, a, b", "b16 b32 b64 u16 u32 u64 s16 s32 s64 f16 bf16 f32 f64",
        Computes, RUNS, Unknown),
    of("setmaxnreg", ".inc.sync.aligned.u32 160", "", Orders, RUNS, Exact),
    of("setp", ".eq.T p, a, b", "b16 b32 b64 u16 u32 u64 s16 s32 s64 f16 bf16 f32 f64",
        Compares, RUNS, Exact),
    of("shf", ".l.clamp.b32 r, n, n, n", "", Computes, RUNS, Unknown),
    of("shfl", ".sync.idx.b32 r|p, n, n, n, n", "", Shuffles, RUNS, Unknown),
    of("shl", ".T d, a, n", BITS, Computes, RUNS, Exact),
    of("shr", ".T d, a, n", "b16 b32 b64 u16 u32 u64 s16 s32 s64", Computes, RUNS, Exact),
    of("sin", ".approx.f32 f, e", "", Computes, RUNS, Unknown),
    of("slct", ".T.s32 d, a, b, n", ALL, Computes, RUNS, Unknown),
    of("sqrt", ".T d, a", "approx.f32 rn.f32 rn.f64", Computes, RUNS, Unknown),
    of("st.async", ".shared::cluster.mbarrier::complete_tx::bytes.b32 [s], n, [s]", "", Other, RUNS, Refused),
    of("st.bulk", ".shared::cta [s], v, 0", "", Other, RUNS, Refused),
    of("st", ".global.T [m], a", MEMORY, Stores, RUNS, Exact),
    of("stackrestore", ".T a", "u32 u64", Other, RUNS, Refused),
    of("stacksave", ".T d", "u32 u64", Other, RUNS, Refused),
    of("stmatrix", ".sync.aligned.m8n8.x1.shared.b16 [s], {n}", "", Stores, RUNS, Exact),
    of("sub", ".T d, a, b", "u16 u32 u64 s16 s32 s64 f16 f16x2 bf16 bf16x2 f32 f32x2 f64",
        Computes, RUNS, Exact),
    of("subc", ".T d, a, b", "u32 u64 s32 s64", Computes, RUNS, Unknown),
    of("suld", ".b.1d.T.trap d, [t, {n}]", "b8 b16 b32 b64", Images, RUNS, Exact),
    of("suq", ".width.b32 r, [t]", "", Images, RUNS, Exact),
    of("sured", ".b.add.1d.u32.trap [t, {n}], n", "", Images, FAILS, Exact),
    of("sust", ".b.1d.T.trap [t, {n}], a", "b8 b16 b32 b64", Images, RUNS, Exact),
    of("szext", ".clamp.T d, a, n", "u32 s32", Computes, RUNS, Unknown),
    of("tanh", ".approx.T d, a", "f32 f16 f16x2 bf16 bf16x2", Computes, RUNS, Unknown),
    of("tcgen05", ".wait::ld.sync.aligned", "", Other, FAILS, Refused),
    of("tensormap", ".replace.tile.global_address.global.b1024.b64 [m], v", "", Other, RUNS, Refused),
    of("testp", ".finite.T p, a", "f32 f64", Compares, RUNS, Unknown),
    of("tex", ".1d.v4.f32.s32 {f0,f1,f2,f3}, [t, {n}]", "", Images, RUNS, Exact),
    of("tld4", ".r.2d.v4.f32.f32 {f0,f1,f2,f3}, [t, {e,e}]", "", Images, RUNS, Exact),
    of("trap", "", "", Jumps, RUNS, Exact),
    of("txq", ".width.b32 r, [t]", "", Images, RUNS, Exact),
    of("vabsdiff", ".u32.u32.u32 r, n, n", "", Computes, RUNS, Unknown),
    of("vabsdiff2", ".u32.u32.u32 r, n, n, n", "", Computes, RUNS, Unknown),
    of("vabsdiff4", ".u32.u32.u32 r, n, n, n", "", Computes, RUNS, Unknown),
    of("vadd", ".u32.u32.u32 r, n, n", "", Computes, RUNS, Unknown),
    of("vadd2", ".u32.u32.u32 r, n, n, n", "", Computes, RUNS, Unknown),
    of("vadd4", ".u32.u32.u32 r, n, n, n", "", Computes, RUNS, Unknown),
    of("vavrg2", ".u32.u32.u32 r, n, n, n", "", Computes, RUNS, Unknown),
    of("vavrg4", ".u32.u32.u32 r, n, n, n", "", Computes, RUNS, Unknown),
    of("vmad", ".u32.u32.u32 r, n, n, n", "", Computes, RUNS, Unknown),
    of("vmax", ".u32.u32.u32 r, n, n", "", Computes, RUNS, Unknown),
    of("vmax2", ".u32.u32.u32 r, n, n, n", "", Computes, RUNS, Unknown),
    of("vmax4", ".u32.u32.u32 r, n, n, n", "", Computes, RUNS, Unknown),
    of("vmin", ".u32.u32.u32 r, n, n", "", Computes, RUNS, Unknown),
    of("vmin2", ".u32.u32.u32 r, n, n, n", "", Computes, RUNS, Unknown),
    of("vmin4", ".u32.u32.u32 r, n, n, n", "", Computes, RUNS, Unknown),
    of("vote", ".sync.ballot.b32 r, x, n", "", Shuffles, RUNS, Unknown),
    of("vset", ".u32.u32.eq r, n, n", "", Computes, RUNS, Unknown),
    of("vset2", ".u32.u32.eq r, n, n, n", "", Computes, RUNS, Unknown),
    of("vset4", ".u32.u32.eq r, n, n, n", "", Computes, RUNS, Unknown),
    of("vshl", ".u32.u32.u32.clamp r, n, n", "", Computes, RUNS, Unknown),
    of("vshr", ".u32.u32.u32.clamp r, n, n", "", Computes, RUNS, Unknown),
    of("vsub", ".u32.u32.u32 r, n, n", "", Computes, RUNS, Unknown),
    of("vsub2", ".u32.u32.u32 r, n, n, n", "", Computes, RUNS, Unknown),
    of("vsub4", ".u32.u32.u32 r, n, n, n", "", Computes, RUNS, Unknown),
    of("wgmma.mma_async", ".sync.aligned.m64n8k8.f32.tf32.tf32 {f0,f1,f2,f3}, v, v, x, 1, 1", "",
        Other, RUNS, Refused),
    of("wgmma", ".fence.sync.aligned", "", Other, RUNS, Refused),
    of("wmma.load", ".a.sync.aligned.row.m16n16k16.global.f16 {r0,r1,r2,r3,r4,r5,r6,r7}, [m], n", "",
        Loads, RUNS, Exact),
    of("wmma.store", ".d.sync.aligned.row.m16n16k16.global.f32 [m], {e,e,e,e,e,e,e,e}, n", "",
        Stores, RUNS, Exact),
    of("wmma",
        ".mma.sync.aligned.row.col.m16n16k16.f32.f32 {f0,f1,f2,f3,f4,f5,f6,f7}, {n,n,n,n,n,n,n,n}, \
         {n,n,n,n,n,n,n,n}, {e,e,e,e,e,e,e,e}", "", Computes, RUNS, Unknown),
    of("xor", ".T d, a, b", "pred b16 b32 b64", Computes, RUNS, Exact),
];
