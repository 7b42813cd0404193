//! Cases whose calls and situations are drawn from programs of others: `drawn.tsv`, which `draw` makes.
//! `README.md` of this package tells the rules. Whoever mends the emulator may read `open`, `sealed` and
//! `third`: of rows 1 to 400, what an H200 answered otherwise when it was first asked. `fourth` is sealed.

use crate::case::Cases;

mod common;
mod fourth;
mod open;
mod sealed;
mod third;

pub(super) fn add(cases: &mut Cases) {
    let before = cases.list.len();
    open::add(cases);
    sealed::add(cases);
    third::add(cases);
    fourth::add(cases);
    // In the order of their numbers.
    cases.list[before..].sort_by(|a, b| a.id.cmp(&b.id));
}
