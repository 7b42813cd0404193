//! The steps of a slice: those that feed addresses, guards and accesses.

/// Defines an enumeration with the list of its values: the bytes of a slice have their places in it.
macro_rules! listed {
    ($(#[$of:meta])* $name:ident { $($(#[$each:meta])* $value:ident,)* }) => {
        $(#[$of])*
        pub(crate) enum $name { $($(#[$each])* $value,)* }

        impl $name {
            pub(super) const ALL: &[Self] = &[$(Self::$value),*];
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

    pub(super) fn is_of_cluster(self) -> bool {
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
pub(super) enum Fields {
    None,
    Origin,
    Size,
    /// Size, space, and how a value is loaded.
    Access,
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

    /// Returns what the step does, which of its fields have a meaning, and whether it computes with floats or
    /// makes one. Each operation is listed here, and all that asks about kinds of operations asks here.
    pub(super) fn effects(&self) -> (Effect, Fields, bool) {
        use Op::*;
        let access = |reads, writes| (Effect::Access { reads, writes }, Fields::Access, false);
        match self.op {
            Unknown => (Effect::None, Fields::Origin, false),
            Mov | Add | Sub | Mul | MulWide | MulHi | Mul24 | Neg | Not | Abs | Min | Max | And | Or
            | Xor | Shl | Shr | Div | Rem | Clz | Popc | Brev | Selp | Eq | Ne | Lt | Le | Gt | Ge
            | PredMov | PredAnd | PredOr | PredXor => (Effect::None, Fields::None, false),
            Cvt | Parameter => (Effect::None, Fields::Size, false),
            FloatMin | FloatMax | FloatAdd | FloatCvt | FromInteger | ToInteger => {
                (Effect::None, Fields::Size, true)
            }
            ToGeneric | FromGeneric => (Effect::None, Fields::Access, false),
            Load => access(true, false),
            Store => access(false, true),
            Atomic => access(true, true),
            Matrix => access(!self.flag, self.flag),
            Handle | Below => (Effect::Check, Fields::None, false),
            Bra | Exit => (Effect::Jump, Fields::None, false),
            Refuse => (Effect::Refuse, Fields::None, false),
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
