//! No function of the crate calls CUDA in a host function or in a listener of the log, where CUDA forbids
//! it.
//!
//! `check!` refuses there, so its callers need no check of their own. `ledger/sources.rs` requires a reason
//! for every other call, and that these tests try each function whose reason is a check of its own. They
//! expect refusals of some 180 functions, and search the emulator's log of calls.
//!
//! Alone: no other thread may call CUDA, as the emulator's log of calls is searched.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::mpsc::channel;

use super::every_function::{FILE, Things, call_every_function};
use cuda_safe::error::{Detail, take_last};
use cuda_safe::{Device, DeviceBuffer, Result, Stream};
use cuda_testing::child::again;
use cuda_testing::{own_process, this_test};

/// Calls functions that must all be refused, at their callers' lines. Returns those that were not.
fn not_refused(things: &mut Things) -> Vec<String> {
    let mut wrong = Vec::new();
    call_every_function(things, |call, error| match error {
        Some(error) if error.detail() == &Detail::IN_CALLBACK && error.call_site().file() == FILE => {}
        answer => wrong.push(format!("{call}: {answer:?}")),
    });
    wrong
}

const CALLS: &str = "CUDA_EMULATOR_CALLS";

/// The calls of the process so far, from the emulator's log.
fn calls() -> usize {
    std::env::var_os(CALLS).map_or(0, |file| std::fs::read_to_string(file).unwrap().lines().count())
}

/// On the emulator, runs this test again with a log file of the calls: the emulator reads its variables
/// when it is loaded.
fn again_with_calls(test: &str) -> bool {
    if std::env::var_os(CALLS).is_some() || std::env::var("CUDA_RUNNER").as_deref() != Ok("emulator") {
        return false;
    }
    let file = std::env::temp_dir().join(format!("cuda-callbacks-calls-{}", std::process::id()));
    let child = again(test).arg("--nocapture").env(CALLS, &file).status();
    let _ = std::fs::remove_file(&file);
    assert!(child.unwrap().success());
    true
}

#[test]
fn nothing_calls_cuda_in_a_host_function() -> Result<()> {
    own_process!(Ok(()));
    if again_with_calls(this_test!()) {
        return Ok(());
    }
    let mut things = Things::new()?;
    let stream = Stream::non_blocking()?;
    let (tell, told) = channel();
    stream.launch_host_fn(move || {
        let before = calls();
        let wrong = not_refused(&mut things);
        let made = calls() - before;
        tell.send((wrong, made)).unwrap();
    })?;
    // No other thread calls CUDA meanwhile.
    let (wrong, made) = told.recv().unwrap();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(made, 0, "calls were made in a host function");
    stream.synchronize()
}

#[cfg(cudart_13_0)]
#[test]
fn nothing_calls_cuda_in_a_listener() -> Result<()> {
    own_process!(Ok(()));
    if again_with_calls(this_test!()) {
        return Ok(());
    }
    let things = std::sync::Mutex::new(Some(Things::new()?));
    let (tell, told) = channel();
    let listener = cuda_safe::logs::on_message(move |_, _| {
        // Once is enough.
        let Some(mut things) = things.lock().unwrap().take() else { return };
        let before = calls();
        let wrong = not_refused(&mut things);
        let made = calls() - before;
        tell.send((wrong, made)).unwrap();
    })?;
    assert!(DeviceBuffer::<u8>::alloc(1 << 60).is_err());
    let _ = take_last();
    listener.stop()?;
    // A driver decides what it logs. The emulator logs each call that fails.
    let told = told.try_recv();
    assert!(told.is_ok() || std::env::var_os(CALLS).is_none(), "nothing was written down");
    if let Ok((wrong, made)) = told {
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert_eq!(made, 0, "calls were made in a listener");
    }
    Device::current()?.synchronize()
}
