//! The planted accesses: each kind of access, argument, width, space and form of index.

/// The threads of a block, and the blocks.
pub(crate) const BLOCK: u32 = 8;
pub(crate) const GRID: u32 = 3;
/// The thread that goes wrong.
pub(crate) const WRONG: (u32, u32) = (1, 5);

/// Where an address is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    First,
    Second,
    /// An argument that the text has lost: it is one of two.
    Either,
    /// As the first, without a space.
    Generic,
    Shared,
    Dynamic,
    Stack,
    /// A parameter that is a structure.
    Parameter,
}

/// What becomes of the index: how the byte offset is made of it, and which offset is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Index {
    /// Behind the end by one element.
    Next,
    /// Far behind.
    Far,
    /// In front.
    Negative,
    /// Half in and half out: one byte less than an element before the end. Misaligned, too, beyond bytes.
    Misaligned,
    /// Behind the end by a constant in the address alone.
    Constant,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// The instruction. `A` is its address, and `V` the value or values.
    pub(crate) access: &'static str,
    pub(crate) bytes: u32,
    pub(crate) memory: Memory,
    pub(crate) index: Index,
    /// Under a predicate: `@%own` or `@!%own`.
    pub(crate) guard: &'static str,
}

/// Bytes of each memory.
pub(crate) const BYTES: u32 = 256;

impl Case {
    fn value(&self) -> (&'static str, &'static str) {
        let vector = [(".v2", 2), (".v4", 4)].into_iter().find(|(word, _)| self.access.contains(word));
        match (vector, self.access.contains("64")) {
            (Some((_, 2)), true) => ("{%v0, %v1}", "%v0"),
            (Some((_, 2)), _) => ("{%x0, %x1}", "%x0"),
            (Some(_), _) => ("{%x0, %x1, %x2, %x3}", "%x0"),
            (None, true) => ("%v0", "%v0"),
            (None, _) => ("%x0", "%x0"),
        }
    }

    /// The index is loaded from the third argument: it is a number of elements, or of bytes.
    pub(crate) fn text(&self) -> String {
        let (operand, first) = self.value();
        let is_narrow = matches!(self.memory, Memory::Shared | Memory::Dynamic);
        let own = match self.memory {
            Memory::First | Memory::Generic => "mov.b64 %base, %a;",
            Memory::Second => "mov.b64 %base, %b;",
            Memory::Either => "setp.lt.u32 %p1, %n, 100; selp.b64 %base, %a, %b, %p1;",
            Memory::Shared => "mov.u32 %small, tile;",
            Memory::Dynamic => "mov.u32 %small, more;",
            Memory::Stack => "mov.u64 %base, stack;",
            Memory::Parameter => "mov.u64 %base, s;",
        };
        let constant = if self.index == Index::Constant { BYTES } else { 0 };
        let address = if is_narrow {
            "add.u32 %at32, %small, %i; "
        } else {
            "cvt.s64.s32 %wide, %i; add.s64 %at, %base, %wide; "
        };
        let at = if is_narrow { "%at32" } else { "%at" };
        // The group has a second access, which is right.
        let access = self.access.replace('A', &format!("{at}+{constant}")).replace('V', operand);
        let keep = if first == "%v0" { "cvt.u32.u64 %x0, %v0;" } else { "" };
        let guard = self.guard;
        format!(
            "
.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 more[];
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pout, .param .u32 pn,
    .param .align 16 .b8 s[{BYTES}])
{{
    .reg .pred %p<4>, %own;
    .reg .b32 %x<4>, %i, %n, %t, %c, %d, %small, %at32, %mine;
    .reg .b64 %v<2>, %a, %b, %e, %out, %base, %wide, %at;
    .shared .align 16 .b8 tile[{BYTES}];
    .local .align 16 .b8 stack[{BYTES}];
    ld.param.u64 %a, [pa]; ld.param.u64 %b, [pb]; ld.param.u64 %e, [pc]; ld.param.u64 %out, [pout];
    ld.param.u32 %n, [pn];
    mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mov.u32 %d, %ntid.x;
    mad.lo.u32 %t, %c, %d, %t;
    mul.wide.u32 %wide, %t, 4;
    add.s64 %e, %e, %wide;
    add.s64 %out, %out, %wide;
    ld.global.nc.u32 %i, [%e];
    setp.ne.u32 %own, %i, 1000;
    {negate}
    mov.u32 %x0, 0; mov.u32 %x1, %tid.x; shl.b32 %x1, %x1, 5;
    mov.u32 %x2, tile; add.u32 %x2, %x2, %x1; mov.u32 %x3, more; add.u32 %x3, %x3, %x1;
    st.shared.v4.u32 [%x2], {{%x0, %x0, %x0, %x0}}; st.shared.v4.u32 [%x2+16], {{%x0, %x0, %x0, %x0}};
    st.shared.v4.u32 [%x3], {{%x0, %x0, %x0, %x0}}; st.shared.v4.u32 [%x3+16], {{%x0, %x0, %x0, %x0}};
    mov.u32 %mine, %x2;
    bar.sync 0;
    mov.u32 %x0, 7; mov.u32 %x1, 8; mov.u32 %x2, 9; mov.u32 %x3, 10; mov.u64 %v0, 7; mov.u64 %v1, 8;
    {own}
    {address}
    {guard} {access} // here
    {keep}
    st.global.u32 [%out], %x0;
    ret;
}}
",
            negate = if guard.contains('!') { "not.pred %own, %own;" } else { "" },
        )
    }

    pub(crate) fn wrong(&self) -> i32 {
        let (all, bytes) = (BYTES as i32, self.bytes as i32);
        match self.index {
            Index::Next => all,
            Index::Far => 1 << 28,
            Index::Negative => -bytes,
            Index::Misaligned => all - bytes + 1,
            Index::Constant => 0,
        }
    }
}

/// Returns all planted accesses.
pub(crate) fn all() -> Vec<Case> {
    const GLOBAL: [(&str, u32); 17] = [
        ("ld.global.u8 V, [A];", 1),
        ("ld.global.nc.u16 V, [A];", 2),
        ("ld.global.u32 V, [A];", 4),
        ("ld.volatile.global.u32 V, [A];", 4),
        ("ld.global.nc.u32 V, [A];", 4),
        ("ldu.global.u32 V, [A];", 4),
        ("ld.global.u64 V, [A];", 8),
        ("ld.global.v2.u32 V, [A];", 8),
        ("ld.global.v4.u32 V, [A];", 16),
        ("ld.global.v2.u64 V, [A];", 16),
        ("st.global.u8 [A], V;", 1),
        ("st.global.u32 [A], V;", 4),
        ("st.global.v2.u64 [A], V;", 16),
        ("st.global.v4.u32 [A], V;", 16),
        ("red.global.add.u32 [A], V;", 4),
        ("atom.global.add.u32 V, [A], %n;", 4),
        ("atom.global.cas.b64 V, [A], %a, %b;", 8),
    ];
    const ALL: [Index; 5] = [Index::Next, Index::Far, Index::Negative, Index::Misaligned, Index::Constant];
    let mut list = Vec::new();
    let mut check = |case: Case| {
        // A byte is always aligned: nothing is wrong with its last place.
        if case.bytes > 1 || case.index != Index::Misaligned {
            list.push(case);
        }
    };
    for (at, (access, bytes)) in GLOBAL.into_iter().enumerate() {
        for (form, index) in ALL.into_iter().enumerate() {
            let memory = [Memory::First, Memory::Second, Memory::Either][(at + form) % 3];
            let guard = ["", "@%own", "@!%own"][(at * 2 + form) % 3];
            check(Case { access, bytes, memory, index, guard });
        }
    }
    for (access, bytes) in [("ld.u32 V, [A];", 4), ("st.v2.u32 [A], V;", 8), ("atom.add.u32 V, [A], %n;", 4)]
    {
        ALL.iter().for_each(|index| {
            check(Case { access, bytes, memory: Memory::Generic, index: *index, guard: "" })
        });
    }
    for memory in [Memory::Shared, Memory::Dynamic] {
        for (access, bytes) in [
            ("ld.shared.u32 V, [A];", 4),
            ("ld.shared.v4.u32 V, [A];", 16),
            ("st.shared.u64 [A], V;", 8),
            ("atom.shared.add.u32 V, [A], %n;", 4),
        ] {
            ALL.iter().for_each(|index| check(Case { access, bytes, memory, index: *index, guard: "@%own" }));
        }
    }
    for (access, bytes) in [("ld.local.u32 V, [A];", 4), ("st.local.v4.u32 [A], V;", 16)] {
        ALL.iter()
            .for_each(|index| check(Case { access, bytes, memory: Memory::Stack, index: *index, guard: "" }));
    }
    for (access, bytes) in [("ld.param.u32 V, [A];", 4), ("ld.param.v2.u64 V, [A];", 16)] {
        ALL.iter().for_each(|index| {
            check(Case { access, bytes, memory: Memory::Parameter, index: *index, guard: "" })
        });
    }
    let copy = "cp.async.ca.shared.global [%mine], [A], 4; cp.async.wait_all; ld.shared.u32 V, [%mine];";
    let copy_to = "cp.async.ca.shared.global [A], [%a], 8; cp.async.wait_all;";
    for index in ALL {
        check(Case { access: copy, bytes: 4, memory: Memory::First, index, guard: "" });
        check(Case { access: copy_to, bytes: 8, memory: Memory::Shared, index, guard: "" });
        check(Case {
            access: "prefetch.global.L1 [A];",
            bytes: 1,
            memory: Memory::Second,
            index,
            guard: "@%own",
        });
    }
    list
}
