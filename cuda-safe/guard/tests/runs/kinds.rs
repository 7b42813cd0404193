//! Planted accesses outside of their memory are named, and nothing else happens.

use std::collections::BTreeSet;

use cuda_guard::{Guarded, Region, guard, guardable, verify};
use cuda_testing::alone;

use crate::cases::{self, BLOCK, BYTES, Case, GRID, Index, Memory, WRONG};
use crate::device::{Argument, Launch};

impl Case {
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
        let is_load = opcode.starts_with("ld") || opcode == "atom" || self.access.contains("[%mine], [A]");
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
    let list = cases::all();
    list.iter().for_each(Case::check);
    println!("{} planted accesses", list.len());
    assert!(list.len() >= 120, "{}", list.len());
}

#[test]
fn an_argument_that_is_not_aligned_is_named() {
    let _alone = alone();
    let case = Case {
        access: "ld.global.u32 V, [A];",
        bytes: 4,
        memory: Memory::First,
        index: Index::Next,
        guard: "",
    };
    let text = case.text();
    let module = cuda_ptx::parse(&text).unwrap();
    let all: BTreeSet<usize> = guardable(&module, "k").into_iter().collect();
    let guarded = guard(&module, "k", &all).unwrap();
    let mut launch = case.launch(false);
    let Argument::Memory(bytes, _) = launch.arguments[0].clone() else { unreachable!() };
    launch.arguments[0] = Argument::Memory(bytes, 2);
    let (contents, failure) = launch.guarded(&guarded);
    assert_eq!(failure.unwrap().region, Some(Region::Argument { parameter: 0, offset: 0 }));
    assert!(contents[3].iter().all(|it| *it == 0));
}
