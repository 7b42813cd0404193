//! A push would move elements that a copy may be using, so the vector cannot be reached.
use cuda_safe::Registered;

fn main() -> cuda_safe::Result<()> {
    let mut numbers = Registered::new(vec![1_u32, 2, 3])?;
    numbers.push(4);
    Ok(())
}
