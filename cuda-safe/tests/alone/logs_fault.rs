//! A listener that is called after the context is lost may drop anything.
//!
//! Alone: the fault loses the device.
//! Not under sanitizers: a kernel traps, and calls fail after it.
#![cfg(cudart_13_0)]
#![expect(unsafe_code, reason = "launches a kernel")]

use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use cuda_safe::library::Library;
use cuda_safe::logs::on_message;
use cuda_safe::stream::ForeignStream;
use cuda_safe::{Result, Stream};
use cuda_testing::own_process;

const TRAP: &str = ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry ends() { trap; }";

/// A stream of another library.
fn foreign() -> Result<ForeignStream> {
    let theirs = Stream::non_blocking()?;
    let (raw, device) = (theirs.as_raw(), theirs.device());
    // SAFETY: the retained value owns the stream.
    unsafe { ForeignStream::adopt(raw, device, theirs) }
}

#[test]
fn everything_can_be_dropped_by_who_is_told_of_a_call_that_fails() -> Result<()> {
    own_process!(Ok(()));
    let library = Library::from_ptx(TRAP)?;
    // SAFETY: the kernel has no parameters.
    let ends = unsafe { library.kernel::<()>("ends") }?;
    let streams = [Stream::non_blocking()?, Stream::non_blocking()?];
    let spare: Vec<Stream> = (0..100).map(|_| Stream::non_blocking()).collect::<Result<_>>()?;
    let (used, unused) = (foreign()?, (0..100).map(|_| foreign()).collect::<Result<Vec<_>>>()?);
    let owned = Mutex::new((cuda_testing::everything::everything(&streams[0], || ()), spare, unused));
    // Before the fault, which refuses later work. Nobody has seen that these are complete.
    streams[1].launch_host_fn(|| ())?;
    used.launch_host_fn(|| ())?;
    // SAFETY: the kernel has no parameters.
    unsafe { ends.launch((1, 1), &streams[0], ()) }?;
    assert!(streams[0].synchronize().unwrap_err().is_sticky());
    let (tell, told) = channel();
    let listener = on_message(move |_, message| {
        let _ = tell.send(message.to_owned());
        let mut owned = owned.lock().unwrap();
        drop((std::mem::take(&mut owned.0), owned.1.pop(), owned.2.pop()));
    });
    drop(streams);
    let (done, is_done) = channel();
    // On a separate thread, because a failure would wait for ever.
    std::thread::spawn(move || {
        for _ in 0..10 {
            // Queries whether a dropped stream is complete, which fails.
            let _ = done.send(Stream::non_blocking().is_ok());
        }
        // Records an event, which fails.
        drop(used);
        let _ = done.send(true);
    });
    for _ in 0..11 {
        let made = is_done.recv_timeout(Duration::from_secs(20));
        made.expect("who makes or drops a stream waits for nobody");
    }
    let told: Vec<String> = told.try_iter().collect();
    if std::env::var("CUDA_RUNNER").as_deref() == Ok("emulator") {
        assert!(told.iter().any(|message| message.contains("cudaStreamQuery")), "{told:?}");
    }
    drop(listener);
    Ok(())
}
