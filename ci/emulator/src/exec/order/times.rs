//! Times of the threads of a block.

use std::sync::Arc;

use crate::exec::file::{LANES, lanes};

/// A time for each thread of a block.
#[derive(Clone, Debug)]
pub(super) enum Times {
    All(u32),
    /// The same, but later for some lanes of a warp.
    Lanes {
        all: u32,
        warp: usize,
        lanes: u32,
        time: u32,
    },
    Each(Arc<[u32]>),
}

impl Times {
    pub(super) fn of(&self, thread: u16) -> u32 {
        let thread = usize::from(thread);
        match self {
            Self::All(all) => *all,
            Self::Lanes { all, warp, lanes, time } => {
                if thread / LANES == *warp && lanes >> (thread % LANES) & 1 != 0 { *time } else { *all }
            }
            Self::Each(each) => each.get(thread).copied().unwrap_or(0),
        }
    }

    /// The earliest and the latest.
    pub(super) fn bounds(&self) -> (u32, u32) {
        match self {
            Self::All(all) => (*all, *all),
            Self::Lanes { all, time, .. } => (*all, *time),
            Self::Each(each) => {
                each.iter().fold((u32::MAX, 0), |(first, last), it| (first.min(*it), last.max(*it)))
            }
        }
    }

    pub(super) fn is_never(&self) -> bool {
        matches!(self, Self::All(0))
    }

    pub(super) fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            // Without an exit for each thread, which would keep it from comparing many at once.
            (Self::Each(a), Self::Each(b)) => {
                let covers =
                    |(a, b): (&[u32], &[u32])| a.iter().zip(b).fold(true, |all, (a, b)| all & (a >= b));
                Arc::ptr_eq(a, b) || a.chunks(LANES).zip(b.chunks(LANES)).all(covers)
            }
            (
                Self::Lanes { all, warp, lanes, time },
                Self::Lanes { all: other, warp: same, lanes: of, time: until },
            ) if (warp, lanes) == (same, of) => all >= other && time >= until,
            (Self::Each(a), Self::Lanes { all, warp, lanes: of, time }) => {
                lanes(*of).all(|lane| a.get(warp * LANES + lane).is_none_or(|it| it >= time))
                    && (*all == 0 || a.iter().fold(true, |covers, it| covers & (it >= all)))
            }
            (Self::Lanes { all: 0, .. }, Self::Each(_)) => false,
            _ => self.bounds().0 >= other.bounds().1,
        }
    }

    /// Takes the later time for each of so many threads.
    pub(super) fn join(&mut self, other: &Self, threads: usize) {
        if self.covers(other) {
            return;
        }
        if other.covers(self) {
            return self.clone_from(other);
        }
        match (&mut *self, other) {
            (Self::All(a), Self::Lanes { warp, lanes, time, .. }) => {
                *self = Self::Lanes { all: *a, warp: *warp, lanes: *lanes, time: *time };
            }
            (Self::Lanes { all, .. }, Self::All(b)) => *all = *b,
            (
                Self::Lanes { all, warp, lanes, time },
                Self::Lanes { all: other, warp: same, lanes: of, time: until },
            ) if warp == same && (lanes == of || time == until) => {
                (*all, *lanes, *time) = (*other.max(all), *lanes | of, *until.max(time));
            }
            (Self::Each(each), Self::Each(other)) => {
                Arc::make_mut(each).iter_mut().zip(&**other).for_each(|(a, b)| *a = *b.max(a));
            }
            (Self::Each(each), _) => {
                let each = Arc::make_mut(each);
                let (all, _) = other.bounds();
                if all > 0 {
                    each.iter_mut().for_each(|it| *it = all.max(*it));
                }
                if let Self::Lanes { warp, lanes: of, time, .. } = other {
                    for lane in lanes(*of) {
                        each.get_mut(warp * LANES + lane).into_iter().for_each(|it| *it = *time.max(it));
                    }
                }
            }
            _ => {
                let of = |thread: usize| self.of(u16::try_from(thread).unwrap_or(u16::MAX));
                *self = Self::Each((0..threads).map(of).collect());
                self.join(other, threads);
            }
        }
    }

    /// Takes a time for some lanes.
    pub(super) fn join_lanes(&mut self, warp: usize, lanes: u32, time: u32, threads: usize) {
        if lanes != 0 && time != 0 {
            self.join(&Self::Lanes { all: 0, warp, lanes, time }, threads);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREADS: usize = 3 * LANES;

    /// Times of each kind, from a few numbers that repeat.
    fn several() -> Vec<Times> {
        let mut all = vec![Times::All(0), Times::All(5), Times::All(9)];
        for (all_of, time) in [(0, 5), (0, 9), (4, 9), (5, 7)] {
            for (warp, lanes) in [(0, 1), (0, 0xff00), (1, u32::MAX), (2, 1 << 31)] {
                all.push(Times::Lanes { all: all_of, warp, lanes, time });
            }
        }
        for step in [1, 7, 40] {
            all.push(Times::Each((0..THREADS).map(|at| u32::try_from(at / step % 11).unwrap()).collect()));
        }
        all
    }

    fn each(times: &Times) -> Vec<u32> {
        (0..THREADS).map(|thread| times.of(u16::try_from(thread).unwrap())).collect()
    }

    #[test]
    fn the_later_of_two_times_is_that_of_each_thread() {
        for a in several() {
            for b in several() {
                let mut both = a.clone();
                both.join(&b, THREADS);
                let later: Vec<u32> = each(&a).into_iter().zip(each(&b)).map(|(a, b)| a.max(b)).collect();
                assert_eq!(each(&both), later, "{a:?} and {b:?}");
                assert!(!a.covers(&b) || later == each(&a), "{a:?} does not cover {b:?}");
            }
        }
    }
}
