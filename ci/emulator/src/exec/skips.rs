//! Notes how threads come to barriers and go on, and reports barriers that part of a block skips:
//! `skipped.rs` says when.

use super::fault::Mistake;
use super::file::{lanes, low};
use super::launch::Context;
use super::skipped::{Skip, numbers};
use super::warp::Warp;

impl Warp {
    /// Notes that threads use memory or come to a barrier, and reports a barrier that they have skipped.
    pub(super) fn goes_on(&self, cx: &mut Context<'_>, mask: u32) {
        let barriers = cx.program.behind().at(cx.pc);
        if barriers == 0 {
            return;
        }
        let (block, threads) = (cx.block(), cx.launch.threads());
        let Some(arrivals) = cx.races.as_mut().and_then(|races| races.arrivals(block)) else { return };
        let new =
            self.threads(mask).fold(0, |new, thread| new | arrivals.go_on(barriers, thread, threads, cx.pc));
        let found: Vec<Skip> =
            numbers(new).filter_map(|number| arrivals.barrier(number).skip(number)).collect();
        found.iter().for_each(|skip| skip.report(cx));
    }

    /// Notes that threads arrive at a barrier, if the machine looks for races.
    pub(super) fn comes_to_barrier(&self, cx: &mut Context<'_>, mask: u32) {
        if cx.races.is_none() {
            return;
        }
        self.goes_on(cx, mask);
        let Some(barrier) = cx.program.behind().barriers.iter().position(|at| *at == cx.pc) else { return };
        let (block, threads) = (cx.block(), cx.launch.threads());
        let Some(arrivals) = cx.races.as_mut().and_then(|races| races.arrivals(block)) else { return };
        if let Some(skip) = arrivals.arrive(barrier, self.threads(mask), threads) {
            skip.report(cx);
        }
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
        let (count, first) = self.waiting;
        let threads = if count == 1 { "thread has" } else { "threads have" };
        let without = match self.times {
            0 => "goes on without it".to_owned(),
            1 => "goes on after one arrival there, while others have more".to_owned(),
            times => format!("goes on after {times} arrivals there, while others have more"),
        };
        let what = "part of a block skips a barrier and goes on behind it";
        let (come, on) =
            (cx.thread_at(cx.block(), first, at), cx.thread_at(cx.block(), self.thread, self.pc));
        let parts = vec![
            (format!("{count} {threads} come to the barrier, such as {come}"), come),
            (format!("{without}: {on}"), on),
        ];
        cx.report(Mistake::Barrier, (at, self.pc), what, parts, None);
    }
}
