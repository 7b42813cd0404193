//! Every memory type against every other one: the parts of the generated test of copies.
//!
//! A memory type is a box of elements (width, height, depth) with guard elements around its rows if the
//! memory is linear. A case copies a part of one box to a part of another one. Then every element of both
//! boxes and every guard is compared. A new memory type is an entry of a table, made by [`own`] for memory
//! that the crate has in buffers.

mod boxes;
mod cases;
mod copy;
mod kinds;

pub use {
    boxes::{Bounds, Element},
    copy::{Destination, Memory, Source},
    kinds::{Entry, arrays, own, second, standard},
};

use cases::{Case, cases};
use copy::{Mode, copy};

use cuda_safe::stream::Stream;
use cuda_safe::{Device, device::set_automatic_peer_access};

/// The number of cases that were run, so that an empty run does not pass.
#[derive(Debug, Default)]
pub struct Tally {
    pub copied: usize,
    pub empty: usize,
    pub refused: usize,
    pub impossible: usize,
}

/// Copies between all pairs of memory types that `wanted` selects, in all shapes, modes and cases.
pub fn run<T: Element>(kinds: &[Entry<T>], wanted: impl Fn(&Entry<T>, &Entry<T>) -> bool) -> Tally {
    let mut tally = Tally::default();
    let streams = streams();
    for (at, to) in kinds.iter().enumerate() {
        for (from_at, from) in kinds.iter().enumerate().filter(|(_, from)| wanted(to, from)) {
            for dimensions in 1..=3 {
                let size = cases::size(dimensions);
                if !to.has(dimensions) || !from.has(dimensions) {
                    tally.impossible += 1;
                    continue;
                }
                // Different pitches on the two sides, and odd ones.
                let bounds =
                    |seed: usize| Bounds { size, pitch: size[0] + seed % 4, layer_rows: size[1] + seed % 3 };
                let (mut target, mut source) = (to.make(bounds(at + 1)), from.make(bounds(from_at + 2)));
                for (number, case) in cases(dimensions).iter().enumerate() {
                    let stream = &streams[(at + from_at + number) % streams.len()];
                    for mode in [Mode::Blocking, Mode::Asynchronous(stream), Mode::Scope(stream)] {
                        let what = format!("{} to {}, {mode:?}, {case:?}", from.name, to.name);
                        one(&mut *target, &mut *source, case, mode, &mut tally, &what);
                    }
                }
            }
        }
    }
    tally
}

/// One copy, followed by a comparison of everything.
fn one<T: Element>(
    target: &mut dyn Memory<T>,
    source: &mut dyn Memory<T>,
    case: &Case,
    mode: Mode<'_>,
    tally: &mut Tally,
    what: &str,
) {
    let (old, new) = (T::pattern(3, target.bounds()), T::pattern(7, source.bounds()));
    target.write(&old);
    source.write(&new);
    let copied = copy(target, source, case, mode);
    let mut expected = old;
    match copied {
        None => {
            tally.impossible += 1;
            return;
        }
        Some(Ok(())) => {
            assert!(case.fits, "{what}: was to be refused");
            for [x, y, z] in case.offsets() {
                let at = |start: [usize; 3]| [start[0] + x, start[1] + y, start[2] + z];
                expected[target.bounds().index(at(case.to))] = new[source.bounds().index(at(case.from))];
            }
            if case.is_empty() { tally.empty += 1 } else { tally.copied += 1 }
        }
        Some(Err(error)) => {
            assert!(!case.fits && error.is_refused(), "{what}: {error}");
            tally.refused += 1;
        }
    }
    assert!(target.read() == expected, "{what}: the destination has other elements, or a guard was touched");
    assert!(source.read() == new, "{what}: the source has changed");
}

/// Streams of each device and of both kinds.
fn streams() -> Vec<Stream> {
    let of = |device: Device| device.with_current(|| Ok([Stream::new()?, Stream::non_blocking()?])).unwrap();
    Device::all().unwrap().take(2).flat_map(of).collect()
}

/// With the automatic access between devices switched off, or on.
pub fn with_peer_access<R>(automatic: bool, f: impl FnOnce() -> R) -> R {
    set_automatic_peer_access(automatic);
    let answer = f();
    set_automatic_peer_access(true);
    answer
}

/// Fails if fewer cases were run than each pair of memory types has in at least one shape.
pub fn holds(tally: &Tally, pairs: usize) {
    println!("{pairs} pairs and shapes: {tally:?}");
    assert!(tally.copied > 7 * pairs && tally.empty >= 2 * pairs && tally.refused > 4 * pairs, "{tally:?}");
}
