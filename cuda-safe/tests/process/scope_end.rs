//! Scopes whose end fails. `fault_with_memory_in_flight` of `cuda-fixtures` tests the end that fails because
//! the device is lost.
//!
//! Not under sanitizers: it aborts a process.
#![expect(unsafe_code, reason = "makes a stream unusable behind the crate's back, asks for calls at exit")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Barrier, OnceLock};

use cuda_safe::{DeviceBuffer, Result, Stream, check, sys};
use cuda_testing::child::again;
use cuda_testing::{Gate, alone, this_test};

/// Set in the process that will be aborted.
const CHILD: &str = "CUDA_SAFE_SCOPE_END";

/// The output of a process that returns from its scope.
const CAME_BACK: &str = "the scope has returned";

#[test]
fn a_scope_that_cannot_wait_for_its_work_ends_the_process() {
    let _alone = alone();
    if std::env::var_os(CHILD).is_some() {
        return end_a_scope_that_cannot_wait();
    }
    let child = again(this_test!()).arg("--nocapture").env(CHILD, "1").output().unwrap();
    let told = String::from_utf8_lossy(&child.stdout).into_owned() + &String::from_utf8_lossy(&child.stderr);
    assert_eq!(child.status.signal(), Some(libc::SIGABRT), "{told}");
    assert!(told.contains("a scope could not be brought to its end"), "{told}");
    assert!(!told.contains(CAME_BACK), "{told}");
}

/// Makes waiting for the stream fail, although the device is not lost.
fn end_a_scope_that_cannot_wait() {
    let stream = Stream::non_blocking().unwrap();
    let device = DeviceBuffer::from_slice(&[1_u8; 64]).unwrap();
    let mut borrowed = [0_u8; 64];
    let answer = stream.scope(|scope| {
        scope.memcpy_async(&mut borrowed, &device).unwrap();
        let raw = scope.stream().as_raw();
        // SAFETY: the stream is live. The captured work is never run.
        let begun = unsafe { check!(cudaStreamBeginCapture(raw, sys::cudaStreamCaptureModeThreadLocal)) };
        if let Err(refused) = begun {
            // The emulator has no captures in this build. A destroyed stream is an error to it like any
            // other one.
            assert_eq!(refused.code(), sys::cudaErrorNotSupported);
            assert!(std::env::var_os("CUDA_TEST_REQUIRE_GPU").is_none(), "a GPU's runtime captures");
            // SAFETY: the emulator has no memory behind its handles, and knows the destroyed ones.
            unsafe { check!(cudaStreamDestroy(raw)) }.unwrap();
        }
    });
    println!("{CAME_BACK}: {answer:?}");
}

/// Both threads reach this point: the one that ends the process after the runtime shut down, the other one
/// in its scope.
static GONE: Barrier = Barrier::new(2);

/// The other thread is about to leave its scope.
static LEAVING: AtomicBool = AtomicBool::new(false);

/// Its thread number in the system.
static THREAD: AtomicI32 = AtomicI32::new(0);

/// Whether the other thread waits, or has ended.
fn rests() -> bool {
    let path = format!("/proc/self/task/{}/stat", THREAD.load(Ordering::SeqCst));
    let Ok(stat) = std::fs::read_to_string(path) else { return true };
    stat.rsplit(')').next().unwrap().trim_start().starts_with('S')
}

extern "C" fn let_the_other_thread_go_on() {
    GONE.wait();
    while !(LEAVING.load(Ordering::SeqCst) && rests()) {
        std::thread::yield_now();
    }
}

fn end_while_another_thread_is_in_a_scope() -> Result<()> {
    // SAFETY: sets a timer whose signal ends a process that hangs.
    unsafe { libc::alarm(60) };
    // Registered before the runtime's first call: runs after the runtime's exit functions.
    // SAFETY: the function lives as long as the program.
    assert_eq!(unsafe { libc::atexit(let_the_other_thread_go_on) }, 0);
    let stream = Stream::non_blocking()?;
    let device = DeviceBuffer::from_slice(&[1_u8; 64])?;
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        // SAFETY: the call only queries.
        THREAD.store(unsafe { libc::gettid() }, Ordering::SeqCst);
        let mut borrowed = [0_u8; 64];
        let answer = stream.scope(|scope| {
            scope.memcpy_async(&mut borrowed, &device).unwrap();
            tell.send(()).unwrap();
            GONE.wait();
            LEAVING.store(true, Ordering::SeqCst);
        });
        println!("{CAME_BACK}: {answer:?}");
        loop {
            std::thread::park();
        }
    });
    told.recv().unwrap();
    std::process::exit(48)
}

#[test]
fn a_scope_of_another_thread_does_not_return_once_the_runtime_is_gone_and_the_process_ends() -> Result<()> {
    let _alone = alone();
    if std::env::var_os(CHILD).is_some() {
        return end_while_another_thread_is_in_a_scope();
    }
    let child = again(this_test!()).arg("--nocapture").env(CHILD, "1").output().unwrap();
    let told = String::from_utf8_lossy(&child.stdout).into_owned() + &String::from_utf8_lossy(&child.stderr);
    assert_eq!(child.status.code(), Some(48), "{}: {told}", child.status);
    // The driver decides when it shuts down. As long as it runs, the scope ends normally.
    if std::env::var("CUDA_RUNNER").as_deref() == Ok("emulator") {
        assert!(!told.contains(CAME_BACK), "{told}");
    }
    Ok(())
}

/// The scope of the thread that ends the process received no work: it returns, with the error.
extern "C" fn scope_at_the_end() {
    let stream = LATE.get().unwrap();
    println!("{CAME_BACK}: {:?}", stream.scope(|_| ()).is_ok());
}

static LATE: OnceLock<Stream> = OnceLock::new();

#[test]
fn a_scope_of_the_thread_that_ends_the_process_returns() -> Result<()> {
    let _alone = alone();
    if std::env::var_os(CHILD).is_some() {
        // SAFETY: sets a timer whose signal ends a process that hangs.
        unsafe { libc::alarm(60) };
        // SAFETY: the function lives as long as the program.
        assert_eq!(unsafe { libc::atexit(scope_at_the_end) }, 0);
        let stream = LATE.get_or_init(|| Stream::non_blocking().unwrap());
        stream.scope(|_| ())?;
        std::process::exit(49)
    }
    let child = again(this_test!()).arg("--nocapture").env(CHILD, "1").output().unwrap();
    let told = String::from_utf8_lossy(&child.stdout).into_owned() + &String::from_utf8_lossy(&child.stderr);
    assert_eq!(child.status.code(), Some(49), "{}: {told}", child.status);
    assert!(told.contains(CAME_BACK), "{told}");
    Ok(())
}

#[test]
fn a_host_function_that_panics_in_a_scope_is_reported_and_all_is_over() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let device = DeviceBuffer::from_slice(&[7_u8; 64]).unwrap();
    let mut borrowed = [0_u8; 64];
    let gate = Gate::on(&alone, &stream);
    let opener = std::thread::spawn(move || gate.open());
    let error = stream
        .scope(|scope| {
            scope.stream().launch_host_fn(|| panic!("as planned")).unwrap();
            scope.memcpy_async(&mut borrowed, &device).unwrap();
        })
        .unwrap_err();
    assert!(error.detail().as_str().contains(" panicked"), "{error}");
    assert_eq!(borrowed, [7; 64], "the copy behind the panic is over too");
    stream.scope(|_| ()).unwrap();
    opener.join().unwrap();
}
