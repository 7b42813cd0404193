//! Pushing would move elements that a copy may be using: the vector itself is put away.
use cuda_safe::Registered;

fn main() -> cuda_safe::Result<()> {
    let mut numbers = Registered::new(vec![1_u32, 2, 3])?;
    numbers.push(4);
    Ok(())
}
