//! A host function runs on a thread of the runtime.
use std::rc::Rc;

use cuda_safe::Stream;

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let count = Rc::new(0);
    stream.launch_host_fn(move || drop(count))?;
    Ok(())
}
