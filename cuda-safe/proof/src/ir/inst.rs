//! What is left of a kernel: the steps that feed addresses, guards and accesses.
//!
//! A build script puts [`Kernel::to_bytes`] into the handle that it generates, and the runtime reads it with
//! [`Kernel::from_bytes`]. Reading checks everything that the analysis relies on, so that wrong bytes are an
//! error and never a panic.

/// Defines an enumeration with the list of its values: the bytes of a slice have their places in it.
macro_rules! listed {
    ($(#[$of:meta])* $name:ident { $($(#[$each:meta])* $value:ident,)* }) => {
        $(#[$of])*
        pub(crate) enum $name { $($(#[$each])* $value,)* }

        impl $name {
            const ALL: &[Self] = &[$(Self::$value),*];
        }
    };
}

listed! {
    /// The state space that an access names.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    Space {
        Generic,
        Global,
        Const,
        Shared,
        Local,
        Param,
    }
}

listed! {
    /// What a step does. The names are those of PTX, where it has one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Op {
        /// A value of which only the range of the two numbers is known, and the registers that it comes from.
        Unknown,
        Mov,
        Add,
        Sub,
        Mul,
        /// The product of two values has twice their bits.
        MulWide,
        MulHi,
        Mul24,
        Neg,
        Not,
        Abs,
        Min,
        Max,
        And,
        Or,
        Xor,
        Shl,
        Shr,
        Div,
        Rem,
        /// From `size` bits, signed if `flag`.
        Cvt,
        /// The smaller one of two floats, of `size` bits: a NaN if one of them is, and `flag`.
        FloatMin,
        FloatMax,
        FloatAdd,
        /// From a float of `size` bits, rounded in some way, perhaps to a whole number.
        FloatCvt,
        /// A float from an integer of `size` bits.
        FromInteger,
        /// An integer from a float of `size` bits, rounded in some way.
        ToInteger,
        /// The number of zeros above the highest bit that is set. Of zero, -1 if `flag`.
        Clz,
        /// The number of bits that are set.
        Popc,
        /// The bits in the opposite order.
        Brev,
        /// `from[0]` if the predicate `from[2]`, else `from[1]`.
        Selp,
        /// Predicates: what is compared.
        Eq,
        Ne,
        Lt,
        Le,
        Gt,
        Ge,
        PredMov,
        PredAnd,
        PredOr,
        PredXor,
        /// A part of a parameter of the kernel: number of the parameter, offset, `size` bytes.
        Parameter,
        /// An address of `space` made generic.
        ToGeneric,
        /// A generic address made one of `space`.
        FromGeneric,
        /// Reads `size` bytes at `from[0]` plus the number in `from[1]`, into `to`, each of `bits` bits.
        Load,
        /// Writes: the values follow, if they may be read again.
        Store,
        /// Reads and writes.
        Atomic,
        /// Reads or writes a matrix: address, stride, offset, rows, bytes of an element, alignment of rows.
        Matrix,
        /// Uses the texture or surface whose handle is `from[0]`, a parameter of the kernel.
        Handle,
        /// An index, `from[0]`, that must be below the number `from[1]`.
        Below,
        /// Goes to one of the steps in `from`.
        Bra,
        /// The thread ends.
        Exit,
        /// What the analysis does not know: the text with the number `from[0]`.
        Refuse,
    }
}

/// A register that the hardware sets: x, y and z of `%tid`, `%ntid`, `%ctaid`, `%nctaid`, `%cluster_ctaid`
/// and `%cluster_nctaid`, and then the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Special(pub(crate) u8);

impl Special {
    pub(crate) const LANE: Self = Self(18);
    pub(crate) const DYNAMIC_BYTES: Self = Self(19);
    /// The halves of the address of the grid's workspace: `%envreg1` is the upper one.
    pub(crate) const WORKSPACE: [Self; 2] = [Self(20), Self(21)];

    fn is_of_cluster(self) -> bool {
        (12..18).contains(&self.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    Register(u32),
    /// A predicate, negated.
    Negated(u32),
    Number(i64),
    /// The address of an object.
    Object(u32),
    Special(Special),
}

listed! {
    /// How sure it is that a value that was loaded once stays the same.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Loaded {
        /// An ordinary load: ptxas may repeat it if nothing writes the bytes.
        Weak,
        /// `volatile`, `relaxed` or an atomic operation: it happens once.
        Strong,
        /// `ld.global.nc`: ptxas may repeat it, whoever writes the bytes.
        ReadOnly,
    }
}

listed! {
    /// Where a value comes from that is not computed: the reasons of refusals name it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    Origin {
        /// Threads, blocks, counters and what is computed from them.
        Exact,
        /// A computation whose result is only known by its range.
        Computed,
        /// A register or a local array that may not have been written.
        Unwritten,
        Float,
        Shuffle,
        Texture,
        Atomic,
        Memory,
    }
}

/// One step of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) op: Op,
    pub(crate) bits: u8,
    pub(crate) is_signed: bool,
    /// The predicate without which the step does nothing.
    pub(crate) guard: Option<Operand>,
    /// Number of the file, and line.
    pub(crate) at: (u32, u32),
    pub(crate) to: Vec<u32>,
    pub(crate) from: Vec<Operand>,
    pub(crate) size: u32,
    pub(crate) space: Space,
    pub(crate) loaded: Loaded,
    pub(crate) origin: Origin,
    /// Of `Cvt`: the source is signed. Of `Load`: an assertion that failed reads it. Of `Matrix`: it is
    /// written. Of `Clz`: zero has -1. Of a comparison, an `and` or a parameter: it is one of floating-point
    /// numbers. Of `FloatMin` and `FloatMax`: a NaN counts.
    pub(crate) flag: bool,
}

/// What a step does beside the computation of its results.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing: it matters as far as its results do.
    None,
    /// It reads or writes memory at the address in its first operand.
    Access { reads: bool, writes: bool },
    /// It refuses the launch if its first operand is not right.
    Check,
    /// It goes on at other steps than the next one, or ends the thread.
    Jump,
    /// It refuses the launch.
    Refuse,
}

/// The fields of a step that have a meaning, beside those that all steps have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fields {
    None,
    Origin,
    Size,
    /// Size, space, and how a value is loaded.
    Access,
}

impl Step {
    /// Returns what the step does, which of its fields have a meaning, and whether it computes with floats or
    /// makes one. Each operation is listed here, and all that asks about kinds of operations asks here.
    fn effects(&self) -> (Effect, Fields, bool) {
        let access = |reads, writes| (Effect::Access { reads, writes }, Fields::Access, false);
        match self.op {
            Op::Unknown => (Effect::None, Fields::Origin, false),
            Op::Mov
            | Op::Add
            | Op::Sub
            | Op::Mul
            | Op::MulWide
            | Op::MulHi
            | Op::Mul24
            | Op::Neg
            | Op::Not => (Effect::None, Fields::None, false),
            Op::Abs
            | Op::Min
            | Op::Max
            | Op::And
            | Op::Or
            | Op::Xor
            | Op::Shl
            | Op::Shr
            | Op::Div
            | Op::Rem => (Effect::None, Fields::None, false),
            Op::Clz
            | Op::Popc
            | Op::Brev
            | Op::Selp
            | Op::Eq
            | Op::Ne
            | Op::Lt
            | Op::Le
            | Op::Gt
            | Op::Ge => (Effect::None, Fields::None, false),
            Op::PredMov | Op::PredAnd | Op::PredOr | Op::PredXor => (Effect::None, Fields::None, false),
            Op::Cvt | Op::Parameter => (Effect::None, Fields::Size, false),
            Op::FloatMin | Op::FloatMax | Op::FloatAdd | Op::FloatCvt | Op::FromInteger | Op::ToInteger => {
                (Effect::None, Fields::Size, true)
            }
            Op::ToGeneric | Op::FromGeneric => (Effect::None, Fields::Access, false),
            Op::Load => access(true, false),
            Op::Store => access(false, true),
            Op::Atomic => access(true, true),
            Op::Matrix => access(!self.flag, self.flag),
            Op::Handle | Op::Below => (Effect::Check, Fields::None, false),
            Op::Bra | Op::Exit => (Effect::Jump, Fields::None, false),
            Op::Refuse => (Effect::Refuse, Fields::None, false),
        }
    }

    /// What it does beside the computation of its results.
    pub(crate) fn effect(&self) -> Effect {
        self.effects().0
    }

    /// Whether it reads memory.
    pub(crate) fn reads(&self) -> bool {
        matches!(self.effect(), Effect::Access { reads: true, .. })
    }

    /// Whether it writes memory.
    pub(crate) fn writes(&self) -> bool {
        matches!(self.effect(), Effect::Access { writes: true, .. })
    }

    /// Whether it writes memory that may be the stack.
    pub(crate) fn may_write_stack(&self) -> bool {
        self.writes() && matches!(self.space, Space::Local | Space::Generic)
    }

    /// Whether it compares the bits of floating-point numbers.
    pub(crate) fn compares_floats(&self) -> bool {
        self.flag && matches!(self.op, Op::Ge | Op::Gt | Op::Le | Op::Eq)
    }

    /// Whether it computes with floats, or makes one.
    pub(crate) fn is_of_floats(&self) -> bool {
        self.effects().2
    }
}

/// A variable that a kernel names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) name: String,
    pub(crate) space: Space,
    /// `None` for the shared memory of which a launch states the size.
    pub(crate) bytes: Option<u64>,
    pub(crate) align: u32,
    /// Whether the kernel itself declares it, and no function that it calls: it keeps its contents.
    pub(crate) is_own: bool,
}

/// Steps without a branch among them, except at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) next: Vec<usize>,
    /// The header of the innermost loop that contains the block.
    pub(crate) inside: Option<usize>,
    /// The index of the loop whose header the block is.
    pub(crate) heads: Option<usize>,
    /// Registers whose values the block or a later one reads.
    pub(crate) live: Set,
}

/// A loop: a header and the blocks from which it is reached again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Loop {
    pub(crate) header: usize,
    /// The header of the next loop around it.
    pub(crate) outer: Option<usize>,
    /// In an order in which a block comes after those that lead to it.
    pub(crate) blocks: Vec<usize>,
    /// The same as a set.
    pub(crate) contained: Set,
    /// Registers that a block writes.
    pub(crate) written: Vec<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Graph {
    pub(crate) blocks: Vec<Block>,
    /// All blocks that are reached, in such an order.
    pub(crate) order: Vec<usize>,
    pub(crate) loops: Vec<Loop>,
}

/// A set of small numbers: of registers or blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Set(pub(crate) Vec<u64>);

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its size in bytes.
    pub bytes: u64,
    /// The alignment of its own bytes, not of what it points to.
    pub align: u32,
    /// The alignment of what it points to, as the kernel promises the compiler: 1 if it promises none.
    pub pointee: u32,
}

/// The clusters that a kernel declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clusters {
    /// The blocks of each (`.reqnctapercluster`).
    pub(crate) blocks: [u32; 3],
    /// The threads of a block, if the grid of a launch counts clusters (`.blocksareclusters`).
    pub(crate) threads: Option<[u32; 3]>,
}

/// A kernel, reduced to what feeds addresses, guards and accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    pub(crate) name: String,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) clusters: Option<Clusters>,
    pub(crate) objects: Vec<Object>,
    /// The bits of each register, 1 for predicates.
    pub(crate) registers: Vec<u8>,
    pub(crate) steps: Vec<Step>,
    pub(crate) files: Vec<String>,
    /// The texts of `Op::Refuse`.
    pub(crate) texts: Vec<String>,
    /// The parameters that are handles, and whether of surfaces.
    pub(crate) handles: Vec<(usize, bool)>,
    /// The blocks and loops of the steps.
    pub(crate) graph: Graph,
}

/// The bytes are not those of a slice, or of one that another version of this crate made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotASlice;

impl std::fmt::Display for NotASlice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the bytes are not a kernel's slice of this version of cuda-proof")
    }
}

impl std::error::Error for NotASlice {}

/// The first bytes: those of this file, which defines what a slice is. A format that differs has other ones.
const MAGIC: [u8; 8] = hash(include_bytes!("inst.rs")).to_le_bytes();

/// Returns the hash of a text (FNV-1a), however its lines end.
const fn hash(text: &[u8]) -> u64 {
    let (mut hash, mut at) = (0xcbf2_9ce4_8422_2325, 0);
    while at < text.len() {
        if text[at] != b'\r' {
            hash = (hash ^ text[at] as u64).wrapping_mul(0x0100_0000_01b3);
        }
        at += 1;
    }
    hash
}

impl Kernel {
    /// The kernel's name in PTX.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives the kernel the name that refusals are to have: that of its source, where PTX has a mangled one.
    pub fn rename(&mut self, name: &str) {
        name.clone_into(&mut self.name);
    }

    /// The parameters, in order.
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The parameters that the kernel uses as handles of textures, or of surfaces if the second is `true`.
    /// The caller guarantees that they are: other numbers would lead anywhere.
    #[must_use]
    pub fn handles(&self) -> &[(usize, bool)] {
        &self.handles
    }

    /// Whether the kernel reads where its block is in its cluster, so that a proof depends on the clusters.
    #[must_use]
    pub fn asks_for_clusters(&self) -> bool {
        let asks = |it: &Operand| matches!(it, Operand::Special(it) if it.is_of_cluster());
        self.steps.iter().any(|step| step.from.iter().any(asks))
    }

    /// The blocks of a cluster, if the kernel declares them. A launch need not name them.
    #[must_use]
    pub fn clusters(&self) -> Option<[u32; 3]> {
        self.clusters.map(|it| it.blocks)
    }

    /// Whether the grid of a launch counts clusters of the kernel, and not blocks.
    #[must_use]
    pub fn counts_clusters(&self) -> bool {
        self.clusters.is_some_and(|it| it.threads.is_some())
    }

    /// The parts of parameters that a proof depends on, each with the parameter's index, the offset, and the
    /// bytes. A verdict holds for all launches that have the same values there, so a cache has them in its
    /// key, beside grid, block, clusters and shared bytes. Of a pointer only the fact that it is one counts.
    #[must_use]
    pub fn key(&self) -> Vec<(usize, u64, u64)> {
        let mut key = Vec::new();
        for step in &self.steps {
            if let (Op::Parameter, [Operand::Number(index), Operand::Number(offset)]) =
                (step.op, &step.from[..])
                && let (Ok(index), Ok(offset)) = (usize::try_from(*index), u64::try_from(*offset))
            {
                key.push((index, offset, u64::from(step.size)));
            }
        }
        key.sort_unstable();
        key.dedup();
        key
    }

    /// Returns whether the kernel reads a part of a parameter as a float, and not as another number.
    pub(crate) fn is_float(&self, parameter: usize, offset: u64) -> bool {
        let number = |of: &Operand| match of {
            Operand::Number(it) => u64::try_from(*it).ok(),
            _ => None,
        };
        let place = [u64::try_from(parameter).ok(), Some(offset)];
        let mut reads =
            self.steps.iter().filter(|it| it.op == Op::Parameter && it.from.iter().map(number).eq(place));
        let is_first = reads.next().is_some_and(|it| it.flag);
        is_first && reads.all(|it| it.flag)
    }

    /// Writes the slice.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer(MAGIC.to_vec());
        out.text(&self.name);
        out.list(&self.parameters, |out, it| {
            out.number(it.bytes);
            out.number(it.align);
            out.number(it.pointee);
        });
        let clusters = self.clusters.map(|it| [Some(it.blocks), it.threads].into_iter().flatten().flatten());
        let clusters: Vec<u32> = clusters.into_iter().flatten().collect();
        out.list(&clusters, |out, it| out.number(*it));
        out.list(&self.objects, |out, it| {
            out.text(&it.name);
            out.index(Space::ALL, it.space);
            out.number(it.bytes.map_or(0, |bytes| bytes.saturating_add(1)));
            out.number(it.align);
            out.number(u8::from(it.is_own));
        });
        out.list(&self.registers, |out, it| out.number(*it));
        out.list(&self.files, |out, it| out.text(it));
        out.list(&self.texts, |out, it| out.text(it));
        out.list(&self.handles, |out, (parameter, is_surface)| {
            out.length(*parameter);
            out.number(u8::from(*is_surface));
        });
        let mut before = (0, 0);
        out.list(&self.steps, |out, it| {
            out.index(Op::ALL, it.op);
            let flags = [it.is_signed, it.flag, it.guard.is_some(), it.at != before];
            out.number(flags.iter().fold(0_u8, |all, flag| all << 1 | u8::from(*flag)));
            if it.at != before {
                out.number(it.at.0);
                out.number(it.at.1);
                before = it.at;
            }
            out.number(it.bits);
            it.guard.iter().for_each(|guard| out.operand(guard));
            out.list(&it.to, |out, it| out.number(*it));
            out.list(&it.from, |out, it| out.operand(it));
            match it.effects().1 {
                Fields::None => {}
                Fields::Origin => out.index(Origin::ALL, it.origin),
                Fields::Size => out.number(it.size),
                Fields::Access => {
                    out.number(it.size);
                    out.index(Space::ALL, it.space);
                    out.index(Loaded::ALL, it.loaded);
                }
            }
        });
        out.0
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    /// The bytes are not a slice of this version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, NotASlice> {
        let mut input = Input(bytes.strip_prefix(&MAGIC).ok_or(NotASlice)?);
        let name = input.text()?;
        let parameters = input.list(|input| {
            let (bytes, align, pointee) = (input.number()?, input.number()?, input.number()?);
            Ok(Parameter { bytes, align, pointee })
        })?;
        let clusters = match input.list(Input::number)?[..] {
            [] => None,
            [x, y, z] => Some(Clusters { blocks: [x, y, z], threads: None }),
            [x, y, z, a, b, c] => Some(Clusters { blocks: [x, y, z], threads: Some([a, b, c]) }),
            _ => return Err(NotASlice),
        };
        let objects = input.list(|input| {
            Ok(Object {
                name: input.text()?,
                space: input.choice(Space::ALL)?,
                bytes: input.number::<u64>()?.checked_sub(1),
                align: input.number()?,
                is_own: input.number::<u8>()? == 1,
            })
        })?;
        let registers = input.list(Input::number)?;
        let files = input.list(Input::text)?;
        let texts = input.list(Input::text)?;
        let handles = input.list(|input| Ok((input.number()?, input.number::<u8>()? == 1)))?;
        let mut before = (0, 0);
        let steps = input.list(|input| {
            let op = input.choice(Op::ALL)?;
            let flags: u8 = input.number()?;
            if flags & 1 != 0 {
                before = (input.number()?, input.number()?);
            }
            let bits = input.number()?;
            let guard = if flags & 2 == 0 { None } else { Some(input.operand()?) };
            let to = input.list(Input::number)?;
            let from = input.list(Input::operand)?;
            let mut step = Step { op, bits, guard, at: before, to, from, ..Step::new(op) };
            (step.is_signed, step.flag) = (flags & 8 != 0, flags & 4 != 0);
            match step.effects().1 {
                Fields::None => {}
                Fields::Origin => step.origin = input.choice(Origin::ALL)?,
                Fields::Size => step.size = input.number()?,
                Fields::Access => {
                    step.size = input.number()?;
                    step.space = input.choice(Space::ALL)?;
                    step.loaded = input.choice(Loaded::ALL)?;
                }
            }
            Ok(step)
        })?;
        let graph = Graph::default();
        let mut kernel =
            Self { name, parameters, clusters, objects, registers, steps, files, texts, handles, graph };
        if !input.0.is_empty() || !kernel.is_well_formed() {
            return Err(NotASlice);
        }
        kernel.graph = Graph::new(&kernel.steps);
        Ok(kernel)
    }

    /// Returns whether every number names something that exists, and each step has the operands that its
    /// transfer function reads.
    fn is_well_formed(&self) -> bool {
        let registers_fit = self.registers.iter().all(|bits| matches!(bits, 1 | 8 | 16 | 32 | 64 | 128));
        let bits_of = |register: u32| self.registers.get(register as usize).copied();
        let value = |it: &Operand| match it {
            Operand::Register(register) => bits_of(*register).is_some_and(|bits| bits > 1),
            Operand::Number(_) | Operand::Special(_) => true,
            Operand::Object(object) => self.objects.get(*object as usize).is_some(),
            Operand::Negated(_) => false,
        };
        let predicate = |it: &Operand| match it {
            Operand::Register(register) | Operand::Negated(register) => bits_of(*register) == Some(1),
            Operand::Number(number) => matches!(number, 0 | 1),
            _ => false,
        };
        let number = |it: &Operand| matches!(it, Operand::Number(_));
        let step_fits = |step: &Step| {
            let (values, predicates, numbers, results) = match step.op {
                Op::Unknown => (0, 0, step.from.len(), 1),
                Op::Mov | Op::Neg | Op::Not | Op::Abs | Op::Cvt | Op::ToGeneric | Op::FromGeneric => {
                    (1, 0, 0, 1)
                }
                Op::Clz | Op::Popc | Op::Brev => (1, 0, 0, 1),
                Op::FloatMin | Op::FloatMax | Op::FloatAdd => (2, 0, 0, 1),
                Op::FloatCvt | Op::FromInteger | Op::ToInteger => (1, 0, 0, 1),
                Op::Selp => (2, 1, 0, 1),
                Op::Add | Op::Sub | Op::Mul | Op::MulWide | Op::MulHi | Op::Mul24 | Op::Min | Op::Max => {
                    (2, 0, 0, 1)
                }
                Op::And | Op::Or | Op::Xor | Op::Shl | Op::Shr | Op::Div | Op::Rem => (2, 0, 0, 1),
                Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge => (2, 0, 0, 1),
                Op::PredMov => (0, 1, 0, 1),
                Op::PredAnd | Op::PredOr | Op::PredXor => (0, 2, 0, 1),
                Op::Parameter => (0, 0, 2, 1),
                Op::Load | Op::Store | Op::Atomic => (1, 0, 1, usize::MAX),
                Op::Matrix => (2, 0, 4, 0),
                Op::Handle => (1, 0, 0, 0),
                Op::Below => (1, 0, 1, 0),
                Op::Bra => (0, 0, step.from.len(), 0),
                Op::Exit => (0, 0, 0, 0),
                Op::Refuse => (0, 0, 1, 0),
            };
            let makes_predicate = matches!(step.op, Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge)
                || matches!(step.op, Op::PredMov | Op::PredAnd | Op::PredOr | Op::PredXor);
            let result = |it: &u32| match step.op {
                Op::Unknown => bits_of(*it).is_some(),
                _ => bits_of(*it).is_some_and(|bits| (bits == 1) == makes_predicate),
            };
            // What a store writes comes last.
            let written = if step.op == Op::Store { step.from.len().saturating_sub(2) } else { 0 };
            let (list, stored) = step.from.split_at(step.from.len() - written);
            list.len() == values + predicates + numbers
                && list[..values].iter().chain(stored).all(value)
                && list[values..values + predicates].iter().all(predicate)
                && (step.op == Op::Unknown || list[values + predicates..].iter().all(number))
                && (results == usize::MAX || step.to.len() == results)
                && step.to.iter().all(result)
                && step.guard.iter().all(predicate)
                && matches!(step.bits, 1 | 8 | 16 | 32 | 64 | 128)
                && match (step.op, list) {
                    (Op::Unknown, [low, high, sources @ ..]) => {
                        number(low) && number(high) && sources.iter().all(value)
                    }
                    (Op::Unknown, _) => false,
                    (Op::Bra, targets) => targets.iter().all(|it| self.is_index(it, self.steps.len() + 1)),
                    (Op::Refuse, [text]) => self.is_index(text, self.texts.len()),
                    (Op::Parameter, [index, Operand::Number(offset)]) => {
                        let end =
                            u64::try_from(*offset).ok().and_then(|it| it.checked_add(u64::from(step.size)));
                        let parameter = |it: &Parameter| end.is_some_and(|end| end <= it.bytes);
                        let Operand::Number(number) = index else { return false };
                        matches!(step.size, 1 | 2 | 4 | 8 | 16)
                            && usize::try_from(*number)
                                .is_ok_and(|at| self.parameters.get(at).is_some_and(parameter))
                    }
                    (Op::Cvt, _) => matches!(step.size, 8 | 16 | 32 | 64),
                    (Op::FromInteger, _) => {
                        matches!(step.size, 8 | 16 | 32 | 64) && matches!(step.bits, 32 | 64)
                    }
                    (Op::ToInteger, _) => matches!(step.size, 32 | 64) && matches!(step.bits, 8..=64),
                    _ if step.is_of_floats() => matches!(step.size, 32 | 64) && matches!(step.bits, 32 | 64),
                    (Op::Load | Op::Store | Op::Atomic, _) => (1..=1024).contains(&step.size),
                    _ => true,
                }
        };
        registers_fit
            && self.steps.iter().all(step_fits)
            && self.parameters.iter().all(|it| it.bytes <= 1 << 16 && it.pointee.is_power_of_two())
            && self
                .objects
                .iter()
                .all(|it| it.align.is_power_of_two() && it.bytes.is_none_or(|it| it < 1 << 56))
    }

    fn is_index(&self, operand: &Operand, end: usize) -> bool {
        matches!(operand, Operand::Number(number) if usize::try_from(*number).is_ok_and(|it| it < end))
    }
}

impl Step {
    pub(crate) fn new(op: Op) -> Self {
        Self {
            op,
            bits: 32,
            is_signed: false,
            guard: None,
            at: (0, 0),
            to: Vec::new(),
            from: Vec::new(),
            size: 0,
            space: Space::Generic,
            loaded: Loaded::Strong,
            origin: Origin::Exact,
            flag: false,
        }
    }
}

struct Writer(Vec<u8>);

impl Writer {
    /// Writes seven bits a byte, the lowest first.
    fn number(&mut self, value: impl Into<u64>) {
        let mut value = value.into();
        while value >= 0x80 {
            self.0.push(0x80 | value.to_le_bytes()[0] & 0x7f);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    fn length(&mut self, length: usize) {
        self.number(u64::try_from(length).unwrap_or(u64::MAX));
    }

    fn signed(&mut self, value: i64) {
        self.number((value << 1 ^ value >> 63).cast_unsigned());
    }

    fn text(&mut self, text: &str) {
        self.length(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }

    fn index<T: PartialEq>(&mut self, all: &[T], one: T) {
        self.length(all.iter().position(|it| *it == one).unwrap_or(usize::MAX));
    }

    fn list<T>(&mut self, list: &[T], mut one: impl FnMut(&mut Self, &T)) {
        self.length(list.len());
        list.iter().for_each(|it| one(self, it));
    }

    fn operand(&mut self, operand: &Operand) {
        match operand {
            Operand::Register(it) => self.number(u64::from(*it) * 5),
            Operand::Negated(it) => self.number(u64::from(*it) * 5 + 1),
            Operand::Object(it) => self.number(u64::from(*it) * 5 + 2),
            Operand::Special(it) => self.number(u64::from(it.0) * 5 + 3),
            Operand::Number(it) => {
                self.number(4_u64);
                self.signed(*it);
            }
        }
    }
}

struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn number<T: TryFrom<u64>>(&mut self) -> Result<T, NotASlice> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (first, rest) = self.0.split_first().ok_or(NotASlice)?;
            self.0 = rest;
            let part = u64::from(first & 0x7f);
            if part << shift >> shift != part {
                return Err(NotASlice);
            }
            value |= part << shift;
            if first & 0x80 == 0 {
                return T::try_from(value).map_err(|_| NotASlice);
            }
        }
        Err(NotASlice)
    }

    fn signed(&mut self) -> Result<i64, NotASlice> {
        let value: u64 = self.number()?;
        Ok((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
    }

    fn text(&mut self) -> Result<String, NotASlice> {
        let length: usize = self.number()?;
        let (text, rest) = self.0.split_at_checked(length).ok_or(NotASlice)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).map_err(|_| NotASlice)
    }

    fn choice<T: Copy>(&mut self, all: &[T]) -> Result<T, NotASlice> {
        let index: usize = self.number()?;
        all.get(index).copied().ok_or(NotASlice)
    }

    fn list<T>(
        &mut self,
        mut one: impl FnMut(&mut Self) -> Result<T, NotASlice>,
    ) -> Result<Vec<T>, NotASlice> {
        let length: usize = self.number()?;
        // Each entry has a byte at least.
        if length > self.0.len() {
            return Err(NotASlice);
        }
        (0..length).map(|_| one(self)).collect()
    }

    fn operand(&mut self) -> Result<Operand, NotASlice> {
        let word: u64 = self.number()?;
        let index = u32::try_from(word / 5).map_err(|_| NotASlice)?;
        Ok(match word % 5 {
            0 => Operand::Register(index),
            1 => Operand::Negated(index),
            2 => Operand::Object(index),
            3 => match u8::try_from(index) {
                Ok(it @ 0..22) => Operand::Special(Special(it)),
                _ => return Err(NotASlice),
            },
            _ if index == 0 => Operand::Number(self.signed()?),
            _ => return Err(NotASlice),
        })
    }
}
