//! Notes how threads come to barriers and go on, and reports barriers that part of a block or warp skips:
//! `skipped.rs` says when.

use super::fault::Mistake;
use super::file::{first_lane, lanes, low};
use super::launch::Context;
use super::skipped::{Skip, numbers};
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
                if let Wait::Warp(members) = group.wait
                    && group.pc.checked_sub(1) == behind.barriers.get(number).copied()
                {
                    let others = self.threads(mask & members & !group.mask);
                    found.extend(it.skip_of_warp(number, self.count(group.mask), others));
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
        let Some(barrier) = cx.program.behind().number(cx.pc) else { return };
        let block = cx.block();
        let Some(arrivals) = cx.races.as_mut().and_then(|races| races.arrivals(block)) else { return };
        let others = self.threads(members & self.live & !mask);
        if let Some(skip) = arrivals.barrier(barrier).skip_of_warp(barrier, self.count(mask), others) {
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
        let at = cx.program.behind().barriers[self.barrier];
        let mistake = if self.is_warp { Mistake::Mask } else { Mistake::Barrier };
        cx.report(mistake, (at, self.pc), None, |cx| {
            let (count, first) = self.waiting;
            let threads = if count == 1 { "thread has" } else { "threads have" };
            let without = match self.times {
                0 => "goes on without it".to_owned(),
                1 => "goes on after one arrival there, while others have more".to_owned(),
                times => format!("goes on after {times} arrivals there, while others have more"),
            };
            let what = match self.is_warp {
                true => "part of a warp skips a barrier whose mask names it, and goes on behind it",
                false => "part of a block skips a barrier and goes on behind it",
            };
            let (come, on) =
                (cx.thread_at(cx.block(), first, at), cx.thread_at(cx.block(), self.thread, self.pc));
            let parts = vec![
                (format!("{count} {threads} come to the barrier, such as {come}"), come),
                (format!("{without}: {on}"), on),
            ];
            (what.to_owned(), parts)
        });
    }
}
