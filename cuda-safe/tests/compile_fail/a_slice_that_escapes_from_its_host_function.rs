//! Memory is lent to a host function for one call.
use cuda_safe::{PinnedBuffer, Stream};
use std::sync::Mutex;

static KEPT: Mutex<&[f32]> = Mutex::new(&[]);

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let host = PinnedBuffer::<f32>::alloc(4)?;
    stream.launch_host_fn_with(&host, |h: &[f32]| *KEPT.lock().expect("no panic") = h)?;
    Ok(())
}
