//! A structure becomes an element by derives, and the error says which, and what its fields may be.
use cuda_safe::DeviceBuffer;

#[derive(Clone, Copy)]
struct Particle {
    position: [f32; 3],
    alive: bool,
}

#[derive(Clone)]
struct Named {
    name: String,
}

fn main() -> cuda_safe::Result<()> {
    let particles = [Particle { position: [0.0; 3], alive: true }];
    let _ = DeviceBuffer::from_slice(&particles)?;
    let _ = DeviceBuffer::<Named>::alloc(1)?;
    Ok(())
}
