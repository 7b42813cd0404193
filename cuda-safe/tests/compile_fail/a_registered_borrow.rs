//! A borrow may end while a copy uses the elements: only their owner can be registered.
use cuda_safe::Registered;

fn main() -> cuda_safe::Result<()> {
    let mut numbers = vec![1_u32, 2, 3];
    let _registered = Registered::new(numbers.as_mut_slice())?;
    Ok(())
}
