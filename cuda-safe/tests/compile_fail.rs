//! Forbidden programs do not compile, and the compiler explains why: one file for each forbidden act.
//!
//! Not in the bundle: it needs the compiler.

#[test]
fn what_must_not_compile_does_not() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
