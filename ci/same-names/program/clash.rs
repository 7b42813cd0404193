//! Does not link: both versions of the library export `saxpy`, though neither calls it by that name.

fn main() -> cuda_safe::Result<()> {
    old::check()?;
    new::check()
}
