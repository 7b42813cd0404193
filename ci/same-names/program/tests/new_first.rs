//! The same with the newer version first, and the program's kernels before both.

extern crate same_names as first;

extern crate new as second;

extern crate old as third;

/// Not under initcheck, synccheck, racecheck: they do not support kernels that launch kernels.
#[test]
fn each_package_runs_its_own_kernels_in_another_order() -> cuda_safe::Result<()> {
    first::check()?;
    second::check()?;
    third::check()
}
