//! Drawn kernels, and what their threads access by an interpreter of their own. It shares neither the text's
//! reader nor anything else with what it checks: the drawn program is run, and its text is proven.

mod forms;
mod program;
mod thread;

use self::program::{BYTES, Place, Program};
use self::thread::{Seen, Thread};
use super::oracle::Random;
use super::runs::{is_far, rounds, seed};
use super::work::prove_in_time;
use crate::{Argument, BUDGET, Kernel, Launch, Need, Proof, Verdict, kernels};

#[derive(Debug, Default)]
struct Count {
    proven: u32,
    refused: u32,
    accesses: u64,
    /// Launches whose threads reached both ends of what is proven of the first parameter.
    tight: u32,
}

/// Returns whether an access is within what is proven, and aligned as it requires.
fn is_right(needs: &[Need], seen: &Seen) -> bool {
    let (at, size) = (seen.at, i128::from(seen.size));
    let parameter = match seen.place {
        Place::First => 0,
        Place::Second => 1,
        Place::Stack | Place::Tile => {
            return at >= 0 && at + size <= i128::from(BYTES) && at % size == 0;
        }
    };
    let Some(need) = needs.iter().find(|it| it.parameter == parameter) else { return false };
    let bytes = if seen.is_write { &need.writes } else { &need.reads };
    bytes.as_ref().is_some_and(|it| at >= i128::from(it.low) && at + size <= i128::from(it.high))
        && at % size == 0
        && i128::from(need.align) % size == 0
}

/// Runs threads of a launch that is proven.
fn run(
    program: &Program,
    launch: &Launch<'_>,
    numbers: [u32; 2],
    proof: &Proof,
    random: &mut Random,
    count: &mut Count,
) {
    let (mut least, mut most) = (i128::MAX, i128::MIN);
    for round in 0..24 {
        // The first and the last thread, and others.
        let mut pick = |of: u32| match round {
            0 => 0,
            1 => of - 1,
            _ => u32::try_from(random.below(of.into())).unwrap(),
        };
        let (tid, ctaid) = (launch.block.map(&mut pick), launch.grid.map(&mut pick));
        let mut thread = Thread::new(program, launch, (tid, ctaid), numbers, Random(random.next()));
        thread.run();
        count.accesses += thread.seen.len() as u64;
        for seen in &thread.seen {
            assert!(
                is_right(proof.needs(), seen),
                "{seen:?} of thread {tid:?} of block {ctaid:?}, numbers {numbers:?}, {launch:?}, \
                 proven {:?}:\n{}",
                proof.needs(),
                program.text
            );
            if (seen.place, seen.is_write) == (Place::First, true) {
                (least, most) = (least.min(seen.at), most.max(seen.at + i128::from(seen.size)));
            }
        }
    }
    let need = proof.needs().iter().find(|it| it.parameter == 0);
    let writes = need.and_then(|it| it.writes.as_ref());
    count.tight +=
        u32::from(writes.is_some_and(|it| (i128::from(it.low), i128::from(it.high)) == (least, most)));
}

#[test]
fn threads_of_drawn_kernels_access_what_was_proven() {
    let (mut count, first) = (Count::default(), seed(1) << 32);
    for seed in first..first + u64::from(rounds(300)) {
        let program = Program::new(seed);
        let list = kernels(&program.text).unwrap_or_else(|error| panic!("{error}:\n{}", program.text));
        let kernel = list.iter().find(|it| it.name() == "k").expect("the kernel");
        assert_eq!(Kernel::from_bytes(&kernel.to_bytes()).as_ref(), Ok(kernel));
        let mut random = Random(seed.wrapping_mul(3));
        for _ in 0..3 {
            let mut one = |of: &[u32]| of[usize::try_from(random.below(of.len() as u64)).unwrap()];
            let numbers = [
                one(&[0, 1, 7, 32, 100, 1000, u32::MAX, 0x7fff_ffff, 0x8000_0000, 65536]),
                one(&[1, 3, 16, 64, 255, 4096, u32::MAX, 12345]),
            ];
            let (grid, block) = if one(&[0, 1]) == 0 {
                ([one(&[1, 2, 4]), 1, 1], [one(&[1, 7, 32, 64, 256]), 1, 1])
            } else {
                ([0; 3].map(|_| one(&[1, 2, 3])), [one(&[1, 4, 16]), one(&[1, 3, 8]), one(&[1, 2])])
            };
            let bytes = numbers.map(u32::to_le_bytes);
            let pointer = Argument::pointer();
            let arguments = [pointer, pointer, Argument::value(&bytes[0]), Argument::value(&bytes[1])];
            let launch = Launch {
                grid,
                block,
                cluster: None,
                is_cooperative: false,
                shared: 0,
                arguments: &arguments,
            };
            match prove_in_time(kernel, &launch, BUDGET) {
                Verdict::Proven(proof)
                    if !proof.needs().iter().any(|it| is_far(&it.reads) || is_far(&it.writes)) =>
                {
                    count.proven += 1;
                    run(&program, &launch, numbers, &proof, &mut random, &mut count);
                }
                _ => count.refused += 1,
            }
        }
    }
    println!("{count:?}");
    assert!(count.proven > 200 && count.accesses > 20_000 && count.tight > 50, "{count:?}");
}
