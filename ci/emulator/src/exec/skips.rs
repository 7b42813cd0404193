//! Notes how threads come to barriers and go on, and reports barriers that part of a block or warp skips:
//! `skipped.rs` says when.

use super::fault::Mistake;
use super::file::{first_lane, lanes, low};
use super::launch::Context;
use super::skipped::{Skip, SkippedAt, numbers};
use super::warp::{Wait, Warp};

impl Warp {
    /// Notes that threads use memory or come to a barrier, and reports a barrier that they have skipped.
    pub(super) fn goes_on(&self, cx: &mut Context<'_>, mask: u32) {
        let barriers = cx.program.behind().at(cx.pc);
        if barriers == 0 {
            return;
        }
        let (block, threads) = (cx.block(), cx.launch.threads());
        let Some(arrivals) = cx.races.as_mut().and_then(|races| races.arrivals(block)) else { return };
        let (behind, pc) = (cx.program.behind(), cx.pc);
        let barriers = (barriers, behind.of_block);
        let new = self.threads(mask).fold(0, |new, it| new | arrivals.go_on(barriers, it, threads, pc));
        let mut found = Vec::new();
        for number in numbers(new) {
            let it = arrivals.barrier(number);
            if number < behind.of_block {
                found.extend(it.skip(number));
                continue;
            }
            for group in &self.groups {
                let (members, at) = match group.wait {
                    Wait::Warp(members) => (members, SkippedAt::Warp(group.pc.saturating_sub(1))),
                    Wait::Lanes(members) => (members, SkippedAt::Exchange(group.pc)),
                    _ => continue,
                };
                let (SkippedAt::Warp(place) | SkippedAt::Exchange(place)) = at else { continue };
                if behind.number(place) == Some(number) {
                    let others = self.threads(mask & members & !group.mask);
                    found.extend(it.skip_of_warp(at, self.count(group.mask), others));
                }
            }
        }
        found.iter().for_each(|skip| skip.report(cx));
    }

    /// Notes that threads arrive at a barrier, if the machine looks for races.
    pub(super) fn comes_to_barrier(&self, cx: &mut Context<'_>, mask: u32) {
        if cx.races.is_none() {
            return;
        }
        self.goes_on(cx, mask);
        let Some(barrier) = cx.program.behind().number(cx.pc) else { return };
        let (block, threads) = (cx.block(), cx.launch.threads());
        let Some(arrivals) = cx.races.as_mut().and_then(|races| races.arrivals(block)) else { return };
        if let Some(skip) = arrivals.arrive(barrier, self.threads(mask), threads) {
            skip.report(cx);
        }
    }

    /// Notes that threads arrive at a barrier of their warp for these members.
    pub(super) fn comes_to_warp_barrier(&self, cx: &mut Context<'_>, mask: u32, members: u32) {
        if cx.races.is_none() {
            return;
        }
        self.goes_on(cx, mask);
        self.waits_for(cx, SkippedAt::Warp(cx.pc), mask, members);
    }

    /// Notes that threads come to an exchange of these members, or to a barrier of their warp.
    pub(super) fn waits_for(&self, cx: &mut Context<'_>, at: SkippedAt, mask: u32, members: u32) {
        let missing = members & self.live & !mask;
        if cx.races.is_none() || missing == 0 {
            return;
        }
        let Some(number) = cx.program.behind().number(cx.pc) else { return };
        let block = cx.block();
        let Some(arrivals) = cx.races.as_mut().and_then(|races| races.arrivals(block)) else { return };
        let found = arrivals.barrier(number).skip_of_warp(at, self.count(mask), self.threads(missing));
        if let Some(skip) = found {
            skip.report(cx);
        }
    }

    /// How many threads these lanes are, and the first of them.
    fn count(&self, mask: u32) -> (usize, u32) {
        (mask.count_ones() as usize, self.thread(first_lane(mask)))
    }

    /// The numbers of the threads of these lanes.
    fn threads(&self, mask: u32) -> impl Iterator<Item = u32> {
        let first = self.first;
        lanes(mask).map(move |lane| first + low(lane as u64))
    }
}

impl Skip {
    fn report(&self, cx: &mut Context<'_>) {
        let (mistake, at, place, what) = match self.at {
            SkippedAt::Block(number) => {
                let what = "part of a block skips a barrier and goes on behind it";
                (Mistake::Barrier, cx.program.behind().barriers[number], "the barrier", what)
            }
            SkippedAt::Warp(at) => {
                let what = "part of a warp skips a barrier whose mask names it, and goes on behind it";
                (Mistake::Mask, at, "the barrier", what)
            }
            SkippedAt::Exchange(at) => {
                let what = "part of a warp skips an instruction whose mask names it, and goes on behind it";
                (Mistake::Mask, at, "the instruction", what)
            }
        };
        cx.report(mistake, (at, self.pc), None, |cx| {
            let (count, first) = self.waiting;
            let threads = if count == 1 { "thread has" } else { "threads have" };
            let without = match self.times {
                0 => "goes on without it".to_owned(),
                1 => "goes on after one arrival there, while others have more".to_owned(),
                times => format!("goes on after {times} arrivals there, while others have more"),
            };
            let (come, on) =
                (cx.thread_at(cx.block(), first, at), cx.thread_at(cx.block(), self.thread, self.pc));
            let parts = vec![
                (format!("{count} {threads} come to {place}, such as {come}"), come),
                (format!("{without}: {on}"), on),
            ];
            (what.to_owned(), parts)
        });
    }
}
