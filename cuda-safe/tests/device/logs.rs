//! The log messages of runtime and driver, and who receives them.
#![cfg(cudart_13_0)]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::{Arc, Mutex};

use cuda_safe::error::Detail;
use cuda_safe::logs::{Level, Position, dump_to_file, dump_to_memory, on_message};
use cuda_safe::{DeviceBuffer, Result, Stream};
use cuda_testing::child::again;
use cuda_testing::{alone, this_test};

/// Whether every failed call is logged, as by the emulator. A driver chooses.
fn writes_all() -> bool {
    let writes = std::env::var("CUDA_RUNNER").as_deref() == Ok("emulator");
    if !writes {
        println!("a driver writes down what it likes: only the calls are tested");
    }
    writes
}

/// A call that fails.
fn fail() {
    assert!(DeviceBuffer::<u8>::alloc(1 << 60).is_err());
    let _ = cuda_safe::error::take_last();
}

#[test]
fn what_went_wrong_since_a_position_is_read_once() -> Result<()> {
    let _alone = alone();
    fail();
    let mut position = Position::current()?;
    assert_eq!(dump_to_memory(Some(&mut position))?, "");
    fail();
    let text = dump_to_memory(Some(&mut position))?;
    println!("{text:?}");
    if writes_all() {
        assert_eq!(text.lines().count(), 1);
        assert!(text.contains("cudaMalloc"), "{text}");
        assert!(dump_to_memory(None)?.lines().count() >= 2);
    }
    assert_eq!(dump_to_memory(Some(&mut position))?, "");
    assert!(dump_to_memory(None)?.ends_with(&text));
    Ok(())
}

#[test]
fn the_log_is_written_to_a_file() -> Result<()> {
    let _alone = alone();
    let mut position = Position::current()?;
    fail();
    let path = std::env::temp_dir().join(format!("cuda-safe-logs-{}.txt", std::process::id()));
    dump_to_file(Some(&mut position), &path)?;
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(!writes_all() || text.contains("cudaMalloc"), "{text}");
    let error = dump_to_file(None, "a\0b").unwrap_err();
    assert_eq!(error.detail().as_str(), "the path has a zero byte, which would be its end");
    Ok(())
}

#[test]
fn a_function_is_told_until_it_is_taken_back_and_may_not_call_cuda() -> Result<()> {
    let _alone = alone();
    type Told = (Level, String, Option<Detail>);
    let told: Arc<Mutex<Vec<Told>>> = Arc::default();
    let buffer = Mutex::new(Some(DeviceBuffer::<u8>::alloc(64)?));
    let writes = Arc::clone(&told);
    let listener = on_message(move |level, message| {
        let refused = Stream::new().err().map(|error| error.detail().clone());
        // Freed later.
        drop(buffer.lock().unwrap().take());
        writes.lock().unwrap().push((level, message.to_owned(), refused));
    })?;
    let panics = on_message(|_, _| std::panic::resume_unwind(Box::new(())))?;
    fail();
    listener.stop()?;
    drop(panics);
    fail();
    let told = told.lock().unwrap();
    if writes_all() {
        assert_eq!(told.len(), 1, "{told:?}");
        let (level, message, refused) = &told[0];
        assert_eq!((*level, refused), (Level::ERROR, &Some(Detail::IN_CALLBACK)));
        assert!(message.contains("cudaMalloc") && !message.ends_with('\n'), "{message:?}");
    }
    // The next call of the runtime frees the values that were dropped there.
    drop(DeviceBuffer::<u8>::alloc(1)?);
    Ok(())
}

#[test]
fn a_listener_that_is_dropped_in_a_host_function_is_taken_back_later() -> Result<()> {
    const CALLS: &str = "CUDA_EMULATOR_CALLS";
    let _alone = alone();
    let counted = std::env::var_os(CALLS);
    if counted.is_none() && std::env::var("CUDA_RUNNER").is_ok_and(|runner| runner == "emulator") {
        // The emulator reads its variables when it is loaded: runs this test again, with them.
        let file = std::env::temp_dir().join(format!("cuda-logs-calls-{}", std::process::id()));
        let child = again(this_test!()).env(CALLS, &file).status();
        let _ = std::fs::remove_file(&file);
        assert!(child.unwrap().success());
        return Ok(());
    }
    let taken_back = || -> Option<usize> {
        let calls = std::fs::read_to_string(counted.as_ref()?).unwrap();
        Some(calls.lines().filter(|call| call.ends_with(" cudaLogsUnregisterCallback")).count())
    };
    let (dropped, stopped) = (on_message(|_, _| ())?, on_message(|_, _| ())?);
    let (told, tells) = std::sync::mpsc::channel();
    let stream = Stream::new()?;
    stream.launch_host_fn(move || {
        drop(dropped);
        told.send(stopped.stop().map_err(|error| error.detail().clone())).unwrap();
    })?;
    assert_eq!(tells.recv().unwrap(), Err(Detail::IN_CALLBACK));
    assert!(taken_back().is_none_or(|calls| calls == 0));
    // The next thread that waits unregisters them.
    stream.synchronize()?;
    drop(DeviceBuffer::<u8>::alloc(1)?);
    stream.synchronize()?;
    assert!(taken_back().is_none_or(|calls| calls == 2));
    Ok(())
}
