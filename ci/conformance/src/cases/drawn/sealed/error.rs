//! Errors: their names, and the last one.

use super::super::common::{add_case, named, null, taken};
use crate::case::Cases;
use crate::log::ask;

pub(super) fn add(cases: &mut Cases) {
    add_case(cases, 152, "of codes in a message, also of none", |log| {
        for code in [0, 1, 2, 3, 5, 6, 7, 8, 9, 12, 13, 16, 17, 18, 19, 20, 21, 22, 26, 31, 34, 35, 36] {
            named(log, code);
        }

        Ok(())
    });
    add_case(cases, 187, "of codes that a library prints with their text", |log| {
        for code in [46, 48, 52, 98, 99, 100, 101, 200, 201, 205, 206, 207, 208, 209, 210, 211, 212, 213, 214]
        {
            named(log, code);
        }

        Ok(())
    });
    add_case(cases, 218, "in an exception, after the error was taken", |log| {
        let mut at = null();
        let code = ask!(log, cudaMalloc(&raw mut at, 1 << 46));
        ask!(log, cudaGetLastError());
        for code in [
            code.0,
            300,
            301,
            302,
            304,
            701,
            703,
            705,
            706,
            711,
            714,
            715,
            718,
            721,
            800,
            803,
            804,
            805,
            999,
            1000,
            u32::MAX,
        ] {
            named(log, code);
        }

        taken(log)
    });
}
