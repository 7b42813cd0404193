//! The sealed half of the draw: rows 151 to 300.

use crate::case::Cases;

pub(super) fn add(_: &mut Cases) {}
