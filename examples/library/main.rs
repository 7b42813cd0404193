//! A kernel and its constant, compiled when the program runs.
//!
//! The source is PTX, as NVRTC also writes it. The program also shows the errors of wrong PTX.
#![expect(unsafe_code, reason = "declares the parameters of a kernel, and launches it")]
use anyhow::ensure;
use cuda_safe::library::Library;
use cuda_safe::{DeviceBuffer, Stream, launch, memcpy};

/// extern "C" __global__ void scale(float* data, unsigned n), with __constant__ float factor = 2.
const PTX: &str = "
.version 8.0
.target sm_70
.address_size 64
.visible .const .align 4 .f32 factor = 0f40000000;
.visible .entry scale(.param .u64 data, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .f32 %f<4>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    mul.wide.u32 %rd2, %r5, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.f32 %f1, [%rd3];
    ld.const.f32 %f2, [factor];
    mul.f32 %f3, %f1, %f2;
    st.global.f32 [%rd3], %f3;
DONE:
    ret;
}";

fn main() -> anyhow::Result<()> {
    let n = 1000_u32;
    let mut data: Vec<f32> = (0..n).map(|i| i as f32).collect();

    let library = Library::from_ptx(PTX)?;
    let mut factor = library.global::<f32>("factor")?;
    // SAFETY: the parameters are those of the source, and the constant is the one variable.
    let scale = unsafe { library.kernel::<(*mut f32, u32)>("scale") }?.using(factor.access())?;
    println!("{} kernel: {}", library.kernel_count()?, library.kernel_names()?.join(", "));

    let (stream, mut d_data) = (Stream::legacy()?, DeviceBuffer::from_slice(&data)?);
    for by in [2.0, 5.0] {
        memcpy(&mut factor, &[by])?;
        // SAFETY: the buffer has `n` elements.
        unsafe { launch!(scale<<<n.div_ceil(256), 256, 0, &stream>>>(&mut d_data, n)) }?;
    }
    memcpy(&mut data, &d_data)?;
    println!("element 999 is {}", data[999]);
    ensure!(data.iter().zip(0_u16..).all(|(found, i)| *found == 10.0 * f32::from(i)));

    let missing = library.checked_kernel::<()>("scales").err();
    let wrong = Library::from_ptx(".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry }").err();
    for error in [missing, wrong].into_iter().flatten() {
        println!("{} ({})", error.name(), error.number());
        eprintln!("{error}");
    }
    Ok(())
}
