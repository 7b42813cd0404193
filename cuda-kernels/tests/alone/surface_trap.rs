//! A surface access outside the image.
//!
//! Alone: it loses the device.
//! Not under sanitizers: a kernel traps outside of a surface.

use cuda_kernels::kernels;
use cuda_safe::memory::ArrayBuilder;
use cuda_safe::texture::Surface;
use cuda_safe::{DeviceBuffer, Result, Stream, launch, sys};
use cuda_testing::own_process;

#[test]
fn a_kernel_that_traps_outside_of_a_surface_ends_with_an_error() -> Result<()> {
    own_process!(Ok(()));
    let stream = Stream::new()?;
    let image = ArrayBuilder::plane(4, 4).surface().alloc::<f32>()?;
    let mut surface = Surface::new(&image)?;
    let mut out = DeviceBuffer::<f32>::alloc(1)?;
    let kernel = &kernels::probe_surface_trap;
    launch!(kernel<<<1, 1, 0, &stream>>>(&mut surface, 4, 0, &mut out))?;
    let error = stream.synchronize().unwrap_err();
    assert!(error.is_sticky(), "{error}");
    assert_eq!(error.code(), sys::cudaErrorIllegalAddress);
    Ok(())
}
