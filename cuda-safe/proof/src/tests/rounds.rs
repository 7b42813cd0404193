//! Rounds of loops that are gone through one by one, and those that would be too many.

use super::filetests::proven_within;
use crate::BUDGET;

/// A loop with a store in each round, at an index that only its rounds tell: below 60 then, else below 64.
fn power(start: &str, next: &str, again: &str) -> String {
    format!(
        "mov.u32 %r10, 1; mov.u32 %r6, {start}; $l: STORE mul.lo.u32 %r10, %r10, 3; and.b32 %r10, %r10, 63; \
         {next} {again} @%p1 bra $l;"
    )
}

#[track_caller]
fn end(body: &str, budget: u64) -> Result<i64, String> {
    proven_within(body, "0", budget).map(|[x, _]| x)
}

#[test]
fn what_ends_in_time_is_gone_through() {
    let add = "add.u32 %r6, %r6, 1;";
    for (rounds, expected) in
        [(1, 8), (3, 40), (4, 112), (20, 240), (39, 240), (40, 240), (41, 256), (900, 256)]
    {
        let again = format!("setp.ne.u32 %p1, %r6, {rounds};");
        assert_eq!(end(&power("0", add, &again), BUDGET), Ok(expected), "{rounds}");
        let again = format!("setp.lt.s32 %p1, %r6, {rounds};");
        assert_eq!(end(&power("0", add, &again), BUDGET), Ok(expected), "{rounds}");
    }
    // Three rounds do not show where a number ends that grows faster and faster, or halves.
    let (double, halve) = ("shl.b32 %r6, %r6, 1;", "shr.u32 %r6, %r6, 1;");
    assert_eq!(end(&power("1", double, "setp.lt.u32 %p1, %r6, 1048576;"), BUDGET), Ok(240));
    assert_eq!(end(&power("1048576", halve, "setp.ne.u32 %p1, %r6, 0;"), BUDGET), Ok(240));
    // From above, and by a number of threads.
    assert_eq!(end(&power("30", "sub.u32 %r6, %r6, 1;", "setp.gt.s32 %p1, %r6, 0;"), BUDGET), Ok(240));
    assert_eq!(end(&power("%r5", "add.u32 %r6, %r6, 64;", "setp.lt.u32 %p1, %r6, 1280;"), BUDGET), Ok(240));
    assert_eq!(end(&power("%r5", "add.u32 %r6, %r6, 64;", "setp.lt.u32 %p1, %r6, 128000;"), BUDGET), Ok(256));
}

#[test]
fn what_does_not_is_given_up_early() {
    // Forty rounds of this loop are more work than the budget.
    let count = "mov.u32 %r10, 0; $l: STORE add.u32 %r10, %r10, 1; setp.ne.u32 %p1, %r10, 1000; @%p1 bra $l;";
    assert_eq!(end(count, 500), Ok(4_000));
}
