//! Handles and timelines of dropped events and streams are used again at once.
//!
//! Alone: another thread that makes an event or a stream may get them first.
#![allow(clippy::unwrap_used, reason = "a test")]

use cuda_safe::error::Detail;
use cuda_safe::{AsStream as _, Event, PinnedBuffer, Result, Stream, memset_async};
use cuda_testing::own_process;

#[test]
fn a_new_event_or_stream_has_nothing_of_the_capture_though_a_dropped_one_had() -> Result<()> {
    own_process!(Ok(()));
    let (mut stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let mut x = PinnedBuffer::from_slice(&[1_u8; 64])?;
    let joined = Event::without_timing()?;
    let make = || -> Result<Stream> { Stream::non_blocking() };
    let graph = stream.capture(|s| {
        let event = Event::without_timing()?;
        event.record(s)?;
        let handle = event.as_raw();
        drop(event);
        let new = Event::without_timing()?;
        assert_eq!(new.as_raw(), handle, "the test would show nothing");
        assert_eq!(other.wait(&new).unwrap_err().detail(), &Detail::OUTSIDE_CAPTURE);
        assert!(!other.as_stream().is_capturing() && new.is_done()?);
        new.record(s)?;
        for on_another_thread in [false, true] {
            let branch = make()?;
            branch.wait(&new)?;
            memset_async(&mut x, 2, &branch)?;
            joined.record(&branch)?;
            s.wait(&joined)?;
            let handle = branch.id()?;
            drop(branch);
            let new = if on_another_thread {
                std::thread::scope(|threads| threads.spawn(make).join()).unwrap()?
            } else {
                make()?
            };
            assert_eq!(new.id()?, handle, "the test would show nothing");
            assert!(!new.as_stream().is_capturing());
            assert_eq!(memset_async(&mut x, 3, &new).unwrap_err().detail(), &Detail::OUTSIDE_CAPTURE);
            assert_eq!(joined.record(&new).unwrap_err().detail(), &Detail::OUTSIDE_CAPTURE);
        }
        Ok(())
    })?;
    assert_eq!(graph.node_count()?, 2);
    assert_eq!(x.host()?[..], [1; 64]);
    Ok(())
}
