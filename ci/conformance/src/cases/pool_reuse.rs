//! Memory of a pool with a pending free: whether another allocation gets it before the free has run. Orders
//! are those of one stream, of events, of the legacy stream, and a wait that the pool adds.

use std::ptr;

use cuda_sys::*;

use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Setup, ask, need};
use crate::memory::{Block, Kind, event, stream_with};

const N: usize = 4 << 20;

/// The order between the free and the allocation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Stream,
    Event,
    Legacy,
    Nothing,
}

impl Order {
    fn name(self) -> &'static str {
        match self {
            Self::Stream => "on the same stream",
            Self::Event => "behind an event",
            Self::Legacy => "behind the legacy stream's order",
            Self::Nothing => "in no order",
        }
    }
}

const RULES: [(&str, cudaMemPoolAttr); 3] = [
    ("events", cudaMemPoolReuseFollowEventDependencies),
    ("chances", cudaMemPoolReuseAllowOpportunistic),
    ("waits", cudaMemPoolReuseAllowInternalDependencies),
];

/// A pool with some rules enabled. With `tight`, a second allocation does not fit.
fn pool(log: &mut Log, on: [bool; 3], tight: bool) -> Result<cudaMemPool_t, Setup> {
    let mut wanted = cudaMemPoolProps {
        allocType: cudaMemAllocationTypePinned,
        maxSize: if tight { N } else { 0 },
        ..Default::default()
    };
    wanted.location.type_ = cudaMemLocationTypeDevice;
    let mut pool = ptr::null_mut();
    need!(log, cudaMemPoolCreate(&raw mut pool, &raw const wanted));
    for ((_, rule), on) in RULES.into_iter().zip(on) {
        let mut value = i32::from(on);
        need!(log, cudaMemPoolSetAttribute(pool, rule, (&raw mut value).cast()));
    }
    // No memory goes back to the device meanwhile.
    let (mut all, keep) = (u64::MAX, cudaMemPoolAttrReleaseThreshold);
    need!(log, cudaMemPoolSetAttribute(pool, keep, (&raw mut all).cast()));
    Ok(pool)
}

fn case(cases: &mut Cases, order: Order, on: [bool; 3], tight: bool) {
    let rules: Vec<&str> = RULES.iter().zip(on).filter(|(_, on)| *on).map(|(rule, _)| rule.0).collect();
    let rules = if rules.is_empty() { "none".to_owned() } else { rules.join(" and ") };
    let room = if tight { ", with room for one" } else { "" };
    let id =
        format!("cudaMallocFromPoolAsync/what is yet to be freed, {}, rules: {rules}{room}", order.name());
    let added = cases.add(id, move |log| {
        let pool = pool(log, on, tight)?;
        let aside = Block::new(log, Kind::Device, 64)?;
        let first = stream_with(log, cudaStreamDefault)?;
        let flags = if order == Order::Legacy { cudaStreamDefault } else { cudaStreamNonBlocking };
        let second: cudaStream_t = if order == Order::Stream { first } else { stream_with(log, flags)? };
        let (mut one, mut other, between) = (ptr::null_mut(), ptr::null_mut(), event(log)?);
        need!(log, cudaMallocFromPoolAsync(&raw mut one, N, pool, first));
        need!(log, cudaMemsetAsync(one, 1, N, first));
        need!(log, cudaDeviceSynchronize());
        let gate = Gate::hold(log, first)?;
        gate.waits(log, |log| {
            ask!(log, cudaFreeAsync(one, first));
            match order {
                Order::Event => {
                    ask!(log, cudaEventRecord(between, first));
                    ask!(log, cudaStreamWaitEvent(second, between, 0));
                }
                Order::Legacy => {
                    ask!(log, cudaMemsetAsync(aside.ptr(), 1, 64, ptr::null_mut()));
                }
                Order::Stream | Order::Nothing => {}
            }
            ask!(log, cudaMallocFromPoolAsync(&raw mut other, N, pool, second));
            ask!(log, "the stream", cudaStreamQuery(second));
        });
        log.fact("the same memory", one == other);
        ask!(log, cudaDeviceSynchronize());
        Ok(())
    });
    added.alone();
}

pub(super) fn add(cases: &mut Cases) {
    let (none, events, all) = ([false; 3], [true, false, false], [true; 3]);
    for order in [Order::Stream, Order::Event, Order::Legacy, Order::Nothing] {
        for rules in [none, events, all] {
            case(cases, order, rules, false);
        }
    }
    for rules in [none, [false, false, true], all] {
        case(cases, Order::Nothing, rules, true);
    }
}
