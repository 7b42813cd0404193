//! What the tracker costs, without CUDA: prints nanoseconds, asserts nothing about them.
//!
//! `cargo test --release -p cuda-hazard --test cost -- --ignored --nocapture`
//!
//! Not in the bundle: it measures, and asserts nothing. It is part of the benches.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::hint::black_box;
use std::panic::Location;
use std::time::Instant;

use common::{NoBackend, Tracker, exclusive};
use cuda_hazard::{Access, AccessHistory, Kind, Policy, Timeline, WaitTarget};

static TRACKER: Tracker = Tracker::new(Policy::default);

const ROUNDS: u32 = 2_000_000;

/// The best of a few runs, in nanoseconds for one round.
fn time(what: &str, mut round: impl FnMut(u32)) {
    let mut best = f64::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        for number in 0..ROUNDS {
            round(number);
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(ROUNDS));
    }
    println!("{best:7.1} ns  {what}");
}

fn enqueue(timeline: &Timeline, accesses: &[Access<'_>]) {
    let call = || {
        black_box(timeline);
        Ok(())
    };
    black_box(TRACKER.enqueue(timeline, black_box(accesses), true, &NoBackend, Location::caller(), call))
        .unwrap();
}

fn stream(kind: Kind) -> &'static Timeline {
    TRACKER.add_timeline(0, kind, WaitTarget::Stream(0)).unwrap()
}

#[test]
#[ignore = "prints times; run it by hand in a release build"]
fn the_cost_of_an_operation() {
    const BYTES: usize = 1 << 20;
    let buffers: Vec<AccessHistory> = (0..3).map(|_| AccessHistory::new(BYTES)).collect();
    let three = |timeline: &Timeline| {
        enqueue(
            timeline,
            &[
                Access::read(&buffers[0], 0..BYTES),
                Access::read(&buffers[1], 0..BYTES),
                Access::write(&buffers[2], 0..BYTES),
            ],
        );
    };
    let mutex = std::sync::Mutex::new(0);
    time("to compare with: a mutex locked and unlocked", |_| *black_box(&mutex).lock().unwrap() += 1);
    let last_access = std::sync::atomic::AtomicU64::new(0);
    time("to compare with: one compare and exchange", |number| {
        use std::sync::atomic::Ordering::SeqCst;
        let _ = black_box(&last_access).compare_exchange(
            u64::from(number),
            u64::from(number) + 1,
            SeqCst,
            SeqCst,
        );
    });
    let free = stream(Kind::NonBlocking);
    time("no buffer", |_| enqueue(free, &[]));
    time("one buffer, written", |_| enqueue(free, &[Access::write(&buffers[0], 0..BYTES)]));
    // What was written long ago has been waited for by something since, in any real program.
    TRACKER.completed_all(&TRACKER.snapshot_of_device(0));
    time("three buffers, two read and one written, non-blocking stream", |_| three(free));
    time("three buffers in another order", |_| {
        enqueue(
            free,
            &[
                Access::write(&buffers[2], 0..BYTES),
                Access::read(&buffers[1], 0..BYTES),
                Access::read(&buffers[0], 0..BYTES),
            ],
        );
    });
    TRACKER.completed_all(&TRACKER.snapshot_of_device(0));
    let blocking = stream(Kind::Blocking);
    time("three buffers, blocking stream", |_| three(blocking));
    TRACKER.completed_all(&TRACKER.snapshot_of_device(0));
    let legacy = TRACKER.legacy(0, WaitTarget::Stream(1)).unwrap();
    time("three buffers, legacy stream", |_| three(legacy));
    time("the same, legacy and blocking streams in turn", |number| {
        three(if number % 2 == 0 { legacy } else { blocking });
    });
    TRACKER.completed_all(&TRACKER.snapshot_of_device(0));

    let streams: Vec<&Timeline> = (0..8).map(|_| stream(Kind::NonBlocking)).collect();
    for chunks in [64, 2_048, 8_192] {
        let (chunked, chunk) = (AccessHistory::new(BYTES), BYTES / chunks);
        time(&format!("one of {chunks} chunks, on 8 streams"), |number| {
            let at = usize::try_from(number).unwrap() % chunks;
            enqueue(streams[at % 8], &[Access::write(&chunked, at * chunk..(at + 1) * chunk)]);
        });
    }
    TRACKER.completed_all(&TRACKER.snapshot_of_device(0));

    // What a launch by whose proof it needs less than all of its arguments enters.
    let (parts, stream_of_parts) = (AccessHistory::new(BYTES), streams[0]);
    let in_turn = |what: &str, ranges: [std::ops::Range<usize>; 2]| {
        time(&format!("{what}, in turn"), |number| {
            let range = ranges[usize::try_from(number % 2).unwrap()].clone();
            enqueue(stream_of_parts, &[Access::write(&parts, range)]);
        });
        TRACKER.completed_all(&TRACKER.snapshot_of_device(0));
    };
    in_turn("the same part of an allocation twice", [0..400, 0..400]);
    in_turn("two parts that are apart", [0..400, 800..1200]);
    in_turn("two parts, one within the other", [0..400, 0..300]);
    in_turn("two parts, some bytes in both", [0..400, 300..700]);
    in_turn("a part and the whole", [0..400, 0..BYTES]);

    for readers in [2, 8, 32, 128] {
        let streams: Vec<&Timeline> = (0..readers).map(|_| stream(Kind::NonBlocking)).collect();
        let shared = AccessHistory::new(BYTES);
        let own: Vec<AccessHistory> = streams.iter().map(|_| AccessHistory::new(BYTES)).collect();
        time(&format!("a shared buffer read and one of its own written, on {readers} streams"), |number| {
            let at = usize::try_from(number).unwrap() % readers;
            enqueue(streams[at], &[Access::read(&shared, 0..BYTES), Access::write(&own[at], 0..BYTES)]);
        });
    }

    let shared = AccessHistory::new(BYTES);
    let (a, b) = (streams[0], streams[1]);
    let hand_over = |from: &Timeline, to: &Timeline| {
        let event_clock = TRACKER.record(from, || Ok::<(), ()>(())).unwrap();
        TRACKER.wait(to, &event_clock, || Ok::<(), ()>(())).unwrap();
    };
    time("record and wait", |_| hand_over(a, b));
    time("write here, read there and back, with events (two operations)", |_| {
        enqueue(a, &[exclusive(Access::write(&shared, 0..BYTES))]);
        hand_over(a, b);
        enqueue(b, &[Access::read(&shared, 0..BYTES)]);
        hand_over(b, a);
    });
    println!("{} waits were added", TRACKER.added_waits());
}
