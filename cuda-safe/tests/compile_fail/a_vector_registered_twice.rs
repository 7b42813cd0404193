//! Registering takes the container: its owner receives it again only after it is unregistered.
use cuda_safe::Registered;

fn main() -> cuda_safe::Result<()> {
    let numbers = vec![1_u32, 2, 3];
    let _once = Registered::new(numbers)?;
    let _twice = Registered::new(numbers)?;
    Ok(())
}
