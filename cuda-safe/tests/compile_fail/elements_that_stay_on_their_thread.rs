//! A buffer may be sent to another thread only if its elements may.
use std::marker::PhantomData;

use bytemuck::AnyBitPattern;
use cuda_safe::DeviceBuffer;

#[derive(Clone, Copy, AnyBitPattern)]
#[repr(C)]
struct Local {
    number: u32,
    thread: PhantomData<*const ()>,
}

fn main() -> cuda_safe::Result<()> {
    let device = DeviceBuffer::<Local>::alloc(3)?;
    std::thread::spawn(move || drop(device));
    Ok(())
}
