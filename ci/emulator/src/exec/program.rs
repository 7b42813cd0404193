//! A lowered kernel and the functions that it calls: the input of the interpreter.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::fault::{CodeLine, Mistake};
use super::file::{Alu, Constants, Sizes, Slot, Slots};
use super::geometry::{Boundary, Geometry, Read};
use super::runtime::RuntimeFunction;
use super::tile::{Multiply, Order, Tile, Warpgroup};
use crate::ptx::{Space, Type};

/// A slot that is not used.
pub(crate) const NONE: Slot = Slot::MAX;

/// Where function addresses start: the function with number `n` of a module is at `CODE + 16·n`.
pub(crate) const CODE: u64 = 0x0400_0000_0000_0000;
/// Where the window over a block's shared memory starts.
pub(crate) const SHARED: u64 = 0x0100_0000_0000_0000;
/// Where the window over a thread's local memory starts.
pub(crate) const LOCAL: u64 = 0x0200_0000_0000_0000;
/// Where the window over a kernel's arguments starts.
pub(crate) const PARAM: u64 = 0x0300_0000_0000_0000;

/// The special register with the place of the shared memory that the system reserves for cooperative groups.
/// A kernel that reads it has such an array behind its own.
pub(crate) const RESERVED: &str = "%reserved_smem_offset_1";

/// A lowered kernel.
#[derive(Debug, Default)]
pub(crate) struct Program {
    /// The kernel's name.
    pub(crate) name: String,
    /// The number of its module among those of the process.
    pub(crate) module: usize,
    /// Where the variables of its module are.
    pub(crate) variables: Vec<u64>,
    /// All instructions; those of callees come before those of callers.
    pub(crate) code: Vec<Ins>,
    /// The PTX line of each instruction.
    pub(crate) lines: Vec<u32>,
    /// Where source lines change: instruction, file, line.
    pub(crate) locations: Vec<(u32, u32, u32)>,
    /// Names of source files.
    pub(crate) files: HashMap<u32, Arc<str>>,
    /// The functions; the kernel is the last.
    pub(crate) functions: Vec<Routine>,
    /// Functions by the number that stands in function pointers.
    pub(crate) by_number: HashMap<u64, u32>,
    /// Why the instructions lowered to [`Op::Unsupported`] cannot be run.
    pub(crate) unsupported: Vec<String>,
    /// Whether it has approximate instructions, whose last bits differ from device to device.
    pub(crate) approximate: bool,
    /// Matrix operations that instructions refer to.
    pub(crate) matrices: Vec<Matrix>,
    /// Asynchronous copies that instructions refer to.
    pub(crate) copies: Vec<AsyncCopy>,
    /// Bulk copies that instructions refer to.
    pub(crate) bulk_copies: Vec<BulkCopy>,
    /// Calls that instructions refer to.
    pub(crate) calls: Vec<CallSite>,
    /// Branch tables that instructions refer to.
    pub(crate) tables: Vec<Vec<u32>>,
    /// Constants.
    pub(crate) constants: Arc<Constants>,
    /// Registers of all functions together.
    pub(crate) sizes: Sizes,
    /// Bytes of shared memory declared with a size.
    pub(crate) static_shared: u32,
    /// Bytes of all arguments together.
    pub(crate) param_bytes: u32,
    /// Offset and size of each argument.
    pub(crate) params: Vec<(u32, u32)>,
    /// How many instructions access memory: each has a place in a cache of regions.
    pub(crate) accesses: u32,
    /// The architecture of the PTX, such as 75 for `sm_75`.
    pub(crate) architecture: Option<u32>,
    /// The largest block that the kernel was compiled for.
    pub(crate) max_threads: Option<u32>,
    /// The only block shape that the kernel allows.
    pub(crate) required_threads: Option<[u32; 3]>,
    /// The shape of the clusters that its blocks come in, when declared.
    pub(crate) cluster: Option<[u32; 3]>,
    /// Whether the grid of a launch counts these clusters, and not blocks.
    pub(crate) counts_clusters: bool,
    /// Bytes of constant memory that the module declares.
    pub(crate) constant_bytes: u64,
    /// Whether a correct kernel may show in which order its blocks run: by atomic operations, fences,
    /// volatile accesses, output, the heap or clocks.
    pub(crate) shows_order: bool,
    /// Whether it has products of warpgroups, whose warps the device keeps together.
    pub(crate) has_warpgroups: bool,
    /// The first instructions of lines, and whether these are CUB's.
    pub(crate) of_cub: Vec<(u32, bool)>,
    /// The arrays of shared memory that have a size.
    pub(crate) arrays: Vec<SharedArray>,
    /// For each instruction, the one of them that its address is of. Each access asks: no hash table.
    pub(crate) array_of: Vec<Option<u16>>,
    /// The mistakes that were reported: the instructions that take part.
    pub(crate) reported: Mutex<HashSet<(Mistake, u32, u32)>>,
    /// The code behind each barrier, once it was asked for.
    pub(crate) behind: OnceLock<Behind>,
}

/// The barriers of a kernel, and the code behind each.
#[derive(Debug, Default)]
pub(crate) struct Behind {
    /// The instructions that are barriers for all threads of a block, so many, then those of warps, and then
    /// the first exchange of each piece of straight code.
    pub(super) barriers: Vec<u32>,
    pub(super) of_block: usize,
    /// The number of each barrier and exchange, by its instruction.
    pub(super) numbers: Vec<(u32, usize)>,
    /// The first instruction of the kernel.
    pub(super) start: u32,
    /// For each instruction from there on, the barriers that it is behind, as bits.
    pub(super) of: Vec<u64>,
}

impl Program {
    /// The bytes of shared memory that the program itself has declared.
    pub(crate) fn declared_shared(&self) -> u32 {
        self.arrays.iter().find(|it| it.name == RESERVED).map_or(self.static_shared, |it| it.start)
    }

    /// The place of an instruction, in PTX and, if known, in the source.
    pub(crate) fn place(&self, pc: u32) -> CodeLine {
        let function = self.routine(pc).map_or(&self.name, |f| &f.name);
        CodeLine {
            function: function.clone(),
            called: *function != self.name,
            ptx: self.lines.get(pc as usize).copied().unwrap_or(0),
            source: self.source(pc).and_then(|(file, line)| Some((self.files.get(&file)?.to_string(), line))),
        }
    }

    /// The first instruction of the same line of the source: a loop that is unrolled has many.
    pub(crate) fn first_of_line(&self, pc: u32) -> u32 {
        let Some(source) = self.source(pc) else { return pc };
        self.locations.iter().find(|l| (l.1, l.2) == source).map_or(pc, |l| l.0)
    }

    /// Whether an instruction comes from a header of CUB.
    pub(super) fn is_of_cub(&self, pc: u32) -> bool {
        self.of_cub.iter().take_while(|it| it.0 <= pc).last().is_some_and(|it| it.1)
    }

    /// The function that an instruction is in.
    fn routine(&self, pc: u32) -> Option<&Routine> {
        self.functions.iter().find(|f| f.start <= pc && pc < f.end)
    }

    /// File and line of the source that an instruction comes from.
    fn source(&self, pc: u32) -> Option<(u32, u32)> {
        let (start, file, line) = *self.locations.iter().take_while(|l| l.0 <= pc).last()?;
        self.routine(pc).is_none_or(|f| f.start <= start).then_some((file, line))
    }
}

/// An array of shared memory.
#[derive(Clone, Debug)]
pub(crate) struct SharedArray {
    /// Its name.
    pub(crate) name: String,
    /// Its first byte.
    pub(crate) start: u32,
    /// Just past its last byte.
    pub(crate) end: u32,
}

/// One function of a program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routine {
    /// Its name.
    pub(crate) name: String,
    /// Its first instruction.
    pub(crate) start: u32,
    /// Just past its last instruction.
    pub(crate) end: u32,
    /// Bytes of its frame in the stack of each thread.
    pub(crate) frame: u32,
    /// Offset and size of the results, in its frame.
    pub(crate) returns: Vec<(u32, u32)>,
    /// Offset and size of the parameters, in its frame.
    pub(crate) params: Vec<(u32, u32)>,
    /// Where its registers start.
    pub(crate) base: Sizes,
    /// How many registers it has.
    pub(crate) sizes: Sizes,
}

/// What an instruction has to know about the end of a thread's stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StackTop {
    /// The function that the instruction is in.
    pub(crate) routine: u32,
    /// The alignment of what it allocates, a power of two.
    pub(crate) align: u32,
}

/// A call in a program.
#[derive(Clone, Debug)]
pub(crate) struct CallSite {
    /// The callee; `None` if the address is in a register.
    pub(crate) target: Option<Target>,
    /// The function that calls.
    pub(crate) caller: u32,
    /// Offset in the caller's frame and size of each argument.
    pub(crate) args: Vec<(u32, u32)>,
    /// The same for the results.
    pub(crate) returns: Vec<(u32, u32)>,
}

/// Who is called.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// A function of the program.
    Routine(u32),
    /// `vprintf`.
    Print,
    /// `malloc`.
    Malloc,
    /// `free`.
    Free,
    /// `__assertfail`.
    Assert,
    /// `cudaGraphSetConditional`.
    SetConditional,
    /// Another function of the runtime.
    Runtime(RuntimeFunction),
    /// A function that the module only declares.
    Missing(String),
}

/// What is wrong with a call of a function that the module only declares.
pub(crate) fn missing(name: &str) -> String {
    if name.starts_with("cudaGraph") {
        return format!("a call of {name}: kernels cannot launch or change graphs here");
    }
    if name.starts_with("cuda") || name.starts_with("__cuda") {
        return format!("a call of {name}, which kernels for sm_90 cannot call here");
    }
    format!("a call of {name}, which the program does not define")
}

/// A predicate in front of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Predicate {
    /// The predicate; [`NONE`] if there is none.
    pub(crate) slot: Slot,
    /// Whether it is negated.
    pub(crate) negated: bool,
}

impl Predicate {
    /// No guard.
    pub(crate) const ALWAYS: Self = Self { slot: NONE, negated: false };
}

/// A lowered instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ins {
    /// The operation.
    pub(crate) op: Op,
    /// Its registers; the first is the destination.
    pub(crate) s: Slots,
    /// Its guard.
    pub(crate) guard: Predicate,
}

/// How an element of memory becomes a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    /// 8 bits, extended with zeros.
    U8,
    /// 8 bits, extended with the sign.
    S8,
    /// 16 bits, extended with zeros.
    U16,
    /// 16 bits, extended with the sign.
    S16,
    /// 32 bits, extended with zeros.
    U32,
    /// 32 bits, extended with the sign.
    S32,
    /// 64 bits.
    U64,
}

impl Element {
    /// Size in bytes.
    pub(crate) fn size(self) -> u32 {
        match self {
            Self::U8 | Self::S8 => 1,
            Self::U16 | Self::S16 => 2,
            Self::U32 | Self::S32 => 4,
            Self::U64 => 8,
        }
    }
}

/// The threads that a strong access or a fence reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// Those of the block.
    Block,
    /// Those of the cluster. It counts as the device here.
    Cluster,
    /// Those of the device.
    Device,
    /// All, and the host.
    System,
}

/// How a strong access orders others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strength {
    /// Whom it reaches.
    pub(crate) scope: Scope,
    /// Whether it acquires by itself, without a fence behind it.
    pub(crate) acquires: bool,
    /// Whether it releases by itself, without a fence before it.
    pub(crate) releases: bool,
    /// Whether it is a volatile access.
    pub(crate) volatile: bool,
}

impl Strength {
    /// That of an atomic operation without further words.
    pub(crate) const RELAXED: Self =
        Self { scope: Scope::Device, acquires: false, releases: false, volatile: false };
}

/// A load or store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    /// Where the address points.
    pub(crate) space: Space,
    /// The element that is moved.
    pub(crate) element: Element,
    /// How many elements (1, 2 or 4), in slots 0 to 3. Slot 4 is the address.
    pub(crate) count: u8,
    /// Whether the registers have 64 bits.
    pub(crate) wide: bool,
    /// Whether the address register has 64 bits.
    pub(crate) wide_address: bool,
    /// Added to the address.
    pub(crate) offset: i32,
    /// The place in the cache of regions.
    pub(crate) cache: u32,
    /// How it orders others, if it is atomic, volatile, relaxed, acquiring or releasing: such accesses do not
    /// race with each other.
    pub(crate) strong: Option<Strength>,
    /// Whether it is by a bulk copy or a product, which reach shared memory by the asynchronous proxy.
    pub(crate) proxy: bool,
}

impl Access {
    /// How many bytes a thread moves.
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.element.size()) * u64::from(self.count)
    }
}

/// A read or a write of a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SurfaceAccess {
    /// The dimensions.
    pub(crate) geometry: Geometry,
    /// The element that is moved.
    pub(crate) element: Element,
    /// How many of them.
    pub(crate) count: u8,
    /// The effect outside of the image.
    pub(crate) boundary: Boundary,
}

impl SurfaceAccess {
    /// How many bytes a thread moves.
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.element.size()) * u64::from(self.count)
    }
}

/// A `cp.async`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AsyncCopy {
    /// Where to; its address is in slot 3.
    pub(crate) to: Access,
    /// Where from; its address is in slot 4.
    pub(crate) from: Access,
    /// The number of bytes. The number of bytes to read may be in slot 0; the rest becomes zeros.
    pub(crate) bytes: u32,
}

/// One side of a bulk copy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BulkSide {
    /// Bytes, as many as slot 0 says.
    Bytes(Access),
    /// A box of a tensor of so many dimensions. The address is that of the map, the coordinates are on the
    /// table.
    Tensor(Access, u8),
    /// Nothing: the other side is prefetched.
    Nothing,
}

/// A reduction by a bulk copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BulkReduction {
    /// Its name in PTX.
    pub(crate) name: &'static str,
    /// The type of the elements; `None` if the tensor's map has it.
    pub(crate) ty: Option<Type>,
}

/// A `cp.async.bulk`, `cp.async.bulk.tensor` or `cp.reduce.async.bulk`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BulkCopy {
    /// Where to; its address is in slot 3.
    pub(crate) to: BulkSide,
    /// Where from; its address is in slot 4.
    pub(crate) from: BulkSide,
    /// The barrier that counts the bytes, whose address is in slot 1. Without it the copy is of a group.
    pub(crate) counted: Option<Access>,
    /// How elements are combined with those that are there.
    pub(crate) reduction: Option<BulkReduction>,
    /// Whether it is made in each block of the cluster that the mask in slot 2 names.
    pub(crate) multicast: bool,
}

/// Which of a thread's copies are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyQueue {
    /// Those of `cp.async`.
    Copies,
    /// Bulk copies.
    Bulk,
}

/// Until when copies are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// Until so many groups are left.
    Groups(u32),
    /// Until no copy is left, whether in a group or not.
    All,
}

/// An operation on a barrier in shared memory. The address is in slot 4, the operand in slot 1, the result in
/// slot 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MbarrierOp {
    /// Begins, with so many arrivals to each phase.
    Init,
    /// Ends: the bytes may be used for other things.
    Invalidate,
    /// So many more bytes are to be counted.
    Expect,
    /// So many bytes are counted.
    Complete,
    /// Counts arrivals. With `expects`, first expects so many more bytes, and counts one arrival. With
    /// `drops`, later phases do not wait for these threads. Returns the state before.
    Arrive {
        /// Whether the number is of bytes.
        expects: bool,
        /// Whether they come no more.
        drops: bool,
    },
    /// Counts one arrival once all copies of the thread are made. Unless `counted`, the phase waits for it in
    /// addition to the others.
    ArriveAfterCopies {
        /// Whether the barrier was begun with it.
        counted: bool,
    },
    /// Tests whether a phase is over: that of a state, or the last of a parity. With `waits`, others get a
    /// turn if it is not.
    Test {
        /// Whether the parity names the phase.
        by_parity: bool,
        /// Whether the thread has nothing else to do.
        waits: bool,
    },
}

/// A matrix operation. Its address, if it has one, is in slot 4, and the elements from one row to the next in
/// slot 3.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Matrix {
    /// `ldmatrix`: so many of 8 rows of 8 elements of 16 bits, whose rows the lanes give the addresses of.
    LoadRows(Access, u8, Order),
    /// `stmatrix`.
    StoreRows(Access, u8, Order),
    /// `movmatrix`: rows become columns.
    Transpose,
    /// `wmma.load`.
    Load(Access, Tile, Order),
    /// `wmma.store`.
    Store(Access, Tile, Order),
    /// `mma` and `wmma.mma`.
    Multiply(Multiply),
    /// `wgmma.mma_async`. Whether the sums are added is in the predicate in slot 1.
    Product(Warpgroup),
    /// `wgmma.fence`.
    ProductFence,
    /// `wgmma.commit_group`.
    CloseProducts,
    /// `wgmma.wait_group`: until so many groups are left.
    WaitForProducts(u32),
}

/// The new value that an atomic operation makes of the old value and two operands.
pub(crate) type Modify = fn(u64, u64, u64) -> u64;

/// A special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    NWarpId,
    SmId,
    NSmId,
    GridId,
    LaneMaskEq,
    LaneMaskLe,
    LaneMaskLt,
    LaneMaskGe,
    LaneMaskGt,
    Clock,
    ClockHi,
    GlobalTimer,
    GlobalTimerHi,
    DynamicShared,
    TotalShared,
    Zero,
    ClusterId(u8),
    NClusterId(u8),
    ClusterCtaid(u8),
    ClusterNctaid(u8),
    ClusterCtaRank,
    ClusterNctaRank,
    IsExplicitCluster,
    EnvReg(u8),
}

impl Special {
    /// Whether it changes with time.
    pub(crate) fn is_clock(self) -> bool {
        matches!(self, Self::Clock | Self::ClockHi | Self::GlobalTimer | Self::GlobalTimerHi)
    }
}

/// How lanes exchange values in `shfl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

/// The question of a `vote`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
}

/// The function of a reduction over a warp or a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduce {
    Add,
    MinU,
    MaxU,
    MinS,
    MaxS,
    And,
    Or,
    Xor,
    Popc,
}

/// An operation of the interpreter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Pure arithmetic.
    Alu(Alu),
    /// Reads a special register. The flag selects a destination of 64 bits.
    Special(Special, bool),
    /// Reads memory.
    Load(Access),
    /// Writes memory.
    Store(Access),
    /// Reads an argument of the kernel at a fixed offset.
    Param(Access),
    /// Changes memory: element, operands in slots 1 and 2, address in slot 4. With the flag, the old value
    /// goes to slot 0.
    Atomic(Access, Modify, bool),
    /// Notes operands of the access to an image that follows: up to four words in slots 0 to 3, from a
    /// position on, and the handle, if any, in slot 4.
    Coordinates(u8),
    /// Reads a texture into slots 0 to 3.
    Texture(Read),
    /// Reads a surface.
    SurfaceLoad(SurfaceAccess),
    /// Writes a surface.
    SurfaceStore(SurfaceAccess),
    /// Packs the registers in its slots into the table of matrix operations, from a position on. The flag
    /// selects registers of 64 bits.
    PackFragment(u8, bool),
    /// Runs a matrix operation, by its index in the list of them. The elements from one row to the next are
    /// in slot 3, the address in slot 4.
    Matrix(u32),
    /// Takes the registers in its slots from that table; arguments as above.
    UnpackFragment(u8, bool),
    /// Requests a copy, by its index in the list of them. Slot 0 has the number of bytes to read, slot 1 a
    /// predicate that skips the read, slots 3 and 4 the addresses.
    AskCopy(u32),
    /// Makes a group of the requested copies.
    CloseGroup(CopyQueue),
    /// Makes the requested copies.
    MakeCopies(CopyQueue, Until),
    /// Requests a bulk copy, by its index in the list of them: bytes in slot 0, the address of its barrier in
    /// slot 1, the mask of blocks in slot 2, the others as above.
    AskBulk(u32),
    /// Operates on a barrier in shared memory.
    Mbarrier(MbarrierOp, Access),
    /// Goes elsewhere.
    Branch(u32),
    /// Goes to an entry of a table, by the index in slot 0.
    Table(u32),
    /// Calls; the address, if any, is in slot 0.
    Call(u32),
    /// Returns; at the outermost level, exits.
    Return,
    /// Ends the thread.
    Exit,
    /// Ends the kernel with an error.
    Trap,
    /// `bar.sync`: barrier in slot 0, number of threads in slot 1. With the flag, all threads of the warp
    /// must take part together.
    Barrier(bool),
    /// `bar.arrive`, with the same slots.
    Arrive,
    /// `bar.red`: destination in slot 0, barrier and number in 1 and 2, predicate in slot 3, negated or not.
    BarrierReduce(Reduce, bool),
    /// `bar.warp.sync`: mask in slot 0.
    WarpBarrier,
    /// `shfl`: destination, source, lane operand and clamp in slots 0 to 3, mask in slot 4. [`Op::Predicate`]
    /// follows, and has the slot of the predicate.
    Shuffle(Shuffle, bool),
    /// Sets the predicate in slot 0 from the result of the shuffle or match before it.
    Predicate,
    /// `vote`: destination in slot 0 (a predicate, or a register for a ballot), predicate in slot 1, mask in
    /// slot 2.
    Vote(Vote, bool, bool),
    /// `match.any` (and, with the flag, `match.all`): destination, source, mask. The second flag selects a
    /// source of 64 bits.
    Match(bool, bool),
    /// `redux`: destination, source, mask.
    Redux(Reduce),
    /// `activemask`.
    ActiveMask,
    /// `elect`: destination lane in slot 0, mask in slot 1; [`Op::Predicate`] follows.
    Elect,
    /// `nanosleep`: gives other warps a chance.
    Sleep,
    /// `isspacep`: predicate in slot 0, address in slot 1. The flag selects the shared memory of the whole
    /// cluster.
    IsSpace(Space, bool),
    /// `barrier.cluster.arrive`.
    ClusterArrive,
    /// `barrier.cluster.wait`.
    ClusterWait,
    /// `mapa`: destination, address and rank in slots 0 to 2. The flag selects an address of 64 bits.
    MapAddress(bool),
    /// `getctarank`: destination and address. The flag selects an address of 64 bits.
    RankOf(bool),
    /// `alloca`: destination and bytes. The flag selects an address of 64 bits.
    Alloca(StackTop, bool),
    /// `stacksave`: destination. The flag selects an address of 64 bits.
    StackSave(StackTop, bool),
    /// `stackrestore`: an address. The flag selects one of 64 bits.
    StackRestore(StackTop, bool),
    /// A fence: the machine records it if it looks for races. With the flag, it is of the asynchronous proxy.
    Fence(Scope, bool),
    /// Waits for the kernels before this one, which may have begun early.
    GridWait,
    /// Has no effect here: prefetches.
    Nothing,
    /// Cannot be run. The number is the index of the explanation.
    Unsupported(u32),
}
