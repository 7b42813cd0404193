//! Does not link: both versions of the library export `saxpy` and `helper()`, though nothing uses these
//! names, and this program uses nothing of either version.

extern crate new as _;
extern crate old as _;

fn main() {}
