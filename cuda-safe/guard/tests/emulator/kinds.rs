//! Planted accesses outside of their memory: each kind of access, argument, width, space and form of index.

use std::collections::BTreeSet;

use cuda_guard::{Guarded, Region, guard, guardable, verify};
use cuda_testing::alone;

use crate::device::{Argument, Launch};

/// The threads of a block, and the blocks.
const BLOCK: u32 = 8;
const GRID: u32 = 3;
/// The thread that goes wrong.
const WRONG: (u32, u32) = (1, 5);

/// Where an address is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
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
enum Index {
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
struct Case {
    /// The instruction. `A` is its address, and `V` the value or values.
    access: &'static str,
    bytes: u32,
    memory: Memory,
    index: Index,
    /// Under a predicate: `@%own` or `@!%own`.
    guard: &'static str,
}

/// Bytes of each memory.
const BYTES: u32 = 256;

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
    fn text(&self) -> String {
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
            format!("add.u32 %at32, %small, %i; ")
        } else {
            "cvt.s64.s32 %wide, %i; add.s64 %at, %base, %wide; ".to_owned()
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
    .reg .b32 %x<4>, %i, %n, %t, %c, %d, %small, %at32;
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

    fn wrong(&self) -> i32 {
        let (all, bytes) = (BYTES as i32, self.bytes as i32);
        match self.index {
            Index::Next => all,
            Index::Far => 1 << 28,
            Index::Negative => -bytes,
            Index::Misaligned => all - bytes + 1,
            Index::Constant => 0,
        }
    }

    fn launch(&self, is_wrong: bool) -> Launch {
        let mut offsets: Vec<i32> = Vec::new();
        for thread in 0..(BLOCK * GRID) as i32 {
            let own = thread * self.bytes as i32 % BYTES as i32;
            let back = if self.index == Index::Constant { BYTES as i32 } else { 0 };
            offsets.push(own - back);
        }
        if is_wrong {
            offsets[(WRONG.0 * BLOCK + WRONG.1) as usize] = self.wrong();
        }
        // A thread whose access does not happen, and whose address is wrong.
        if !self.guard.is_empty() {
            offsets[2] = 1000;
        }
        let bytes = |seed: u8| (0..BYTES).map(|at| (at as u8).wrapping_mul(7).wrapping_add(seed)).collect();
        let offsets = offsets.iter().flat_map(|it| it.to_le_bytes()).collect();
        let memory = |bytes| Argument::Memory(bytes, 0);
        let arguments = vec![
            memory(bytes(1)),
            memory(bytes(2)),
            memory(offsets),
            memory(vec![0; (4 * BLOCK * GRID) as usize]),
            Argument::Number(BLOCK),
            Argument::Bytes(bytes(3)),
        ];
        Launch { kernel: "k", grid: GRID, block: BLOCK, shared: BYTES as usize, arguments }
    }

    fn region(&self, guarded: &Guarded) -> Option<Region> {
        match self.memory {
            Memory::First | Memory::Generic => Some(Region::Argument { parameter: 0, offset: 0 }),
            Memory::Second => Some(Region::Argument { parameter: 1, offset: 0 }),
            Memory::Either => None,
            Memory::Shared => Some(Region::Local(0)),
            Memory::Stack => Some(Region::Local(1)),
            Memory::Dynamic => Some(Region::Shared(0)),
            Memory::Parameter => Some(Region::Parameter(5)),
        }
        .filter(|_| !guarded.sites.is_empty())
    }

    /// Runs the case, and returns what is wrong with it.
    fn check(&self) {
        let text = self.text();
        let module = cuda_ptx::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let all: BTreeSet<usize> = guardable(&module, "k").into_iter().collect();
        let guarded = guard(&module, "k", &all).unwrap_or_else(|error| panic!("{self:?}: {error}\n{text}"));
        verify(&module, &all, &guarded).unwrap_or_else(|fault| panic!("{self:?}: {fault}\n{}", guarded.text));
        let opcode = self.access.split(['.', ' ']).next().unwrap();
        let line = 1 + text.lines().position(|it| it.ends_with("// here")).unwrap();

        let right = self.launch(false);
        let (contents, failure) = right.guarded(&guarded);
        assert_eq!(failure, None, "{self:?}\n{}", guarded.text);
        let original = right.original(&text);
        assert_eq!(contents, original, "{self:?}");

        let (contents, failure) = self.launch(true).guarded(&guarded);
        let failure = failure.unwrap_or_else(|| panic!("{self:?} is not named\n{}", guarded.text));
        assert_eq!(failure.member.line as usize, line, "{self:?}");
        assert_eq!(failure.region, self.region(&guarded), "{self:?}");
        assert_eq!((failure.block, failure.thread), ([WRONG.0, 0, 0], [WRONG.1, 0, 0]), "{self:?}");
        let constant = if self.index == Index::Constant { BYTES as i32 } else { 0 };
        if failure.region.is_some() {
            assert_eq!(failure.offset, i64::from(self.wrong() + constant), "{self:?}");
        }
        // The register of the result: zero, of shared memory any.
        let out = &contents[3][(4 * (WRONG.0 * BLOCK + WRONG.1)) as usize..][..4];
        let is_load = opcode.starts_with("ld") || opcode == "atom";
        if is_load && matches!(self.memory, Memory::First | Memory::Second | Memory::Either | Memory::Generic)
        {
            assert_eq!(out, [0; 4], "{self:?}");
        } else if !is_load {
            assert_eq!(out, [7, 0, 0, 0], "{self:?}");
        }
        // The context is alive.
        assert_eq!(right.original(&text), original, "{self:?}");
    }
}

#[test]
fn each_kind_of_access_that_is_wrong_is_named() {
    let _alone = alone();
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
    let mut count = 0;
    let mut check = |case: Case| {
        // A byte is always aligned: nothing is wrong with its last place.
        if case.bytes > 1 || case.index != Index::Misaligned {
            case.check();
            count += 1;
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
    println!("{count} planted accesses");
    assert!(count >= 120, "{count}");
}
