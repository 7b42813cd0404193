//! A stream of another library lives only while it is lent.

use cuda_safe::Device;
use cuda_safe::stream::ForeignStream;

fn keep(raw: cuda_safe::sys::cudaStream_t, device: Device) -> cuda_safe::Result<()> {
    let mut kept = None;
    unsafe { ForeignStream::lend(raw, device, |stream| kept = Some(stream)) }?;
    kept.unwrap().synchronize()
}

fn main() {}
