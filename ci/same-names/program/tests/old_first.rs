//! A program and two versions of a library, each with kernels, variables and functions of the same names. The
//! older version is linked first.

extern crate old as first;

extern crate new as second;

/// Not under initcheck, synccheck, racecheck: they do not support kernels that launch kernels.
#[test]
fn each_package_runs_its_own_kernels() -> cuda_safe::Result<()> {
    first::check()?;
    second::check()?;
    same_names::check()
}
