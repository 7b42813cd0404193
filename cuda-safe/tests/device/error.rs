//! The contents of an error: the call, the call site, the code, and the kind of failure. Needs no device.
#![expect(unsafe_code, reason = "the macro under test wraps raw calls")]

use cuda_safe::{Error, check, error, sys};
use cuda_testing::alone;

/// Fails everywhere: no machine has this many devices.
fn set_impossible_device() -> cuda_safe::Result<()> {
    // SAFETY: the call takes a number and checks it.
    unsafe { check!(cudaSetDevice(9999)) }
}

#[test]
fn check_names_the_call_and_the_line_that_made_it() {
    let _alone = alone();
    let line = line!() + 2;
    // SAFETY: the call takes a number and checks it.
    let error = unsafe { check!(cudaSetDevice(9999)) }.unwrap_err();
    assert_eq!(error.api(), "cudaSetDevice");
    assert_eq!((error.call_site().file(), error.call_site().line()), (file!(), line));
    let text = error.to_string();
    assert!(text.contains("cudaSetDevice") && text.contains(file!()), "{text}");
    assert!(text.contains(error.name()) && text.contains(error.meaning()), "{text}");
}

#[test]
fn check_takes_a_path_and_keeps_only_the_last_name() {
    let _alone = alone();
    // SAFETY: the call takes a number and checks it.
    let error = unsafe { check!(sys::cudaSetDevice(9999)) }.unwrap_err();
    assert_eq!(error.api(), "cudaSetDevice");
    // SAFETY: the call takes a number and checks it.
    let error = unsafe { check!(::cuda_safe::sys::cudaSetDevice(9999)) }.unwrap_err();
    assert_eq!(error.api(), "cudaSetDevice");
}

#[test]
fn the_question_mark_keeps_the_place() {
    let _alone = alone();
    fn outer() -> cuda_safe::Result<()> {
        set_impossible_device()?;
        Ok(())
    }
    assert_eq!(outer().unwrap_err().call_site(), set_impossible_device().unwrap_err().call_site());
}

#[test]
fn peek_leaves_the_last_error_and_take_clears_it() {
    let _alone = alone();
    let failed = set_impossible_device().unwrap_err();
    assert_eq!(error::peek_last().unwrap_err().code(), failed.code());
    assert_eq!(error::take_last().unwrap_err().code(), failed.code());
    // Without a device, the runtime may continue to report that. With one, the slot is clear.
    if failed.code() == sys::cudaErrorInvalidDevice {
        assert!(error::take_last().is_ok());
    }
}

#[test]
fn a_code_that_no_header_knows_is_an_error_like_any_other() {
    let _alone = alone();
    let error = Error::check("cudaSomethingNew", sys::cudaError(987_654)).unwrap_err();
    assert_eq!(error.number(), 987_654);
    assert!(error.to_string().contains("987654"));
    assert!(!error.is_sticky() && !error.is_from_earlier_work());
}

#[test]
fn a_code_has_its_name_in_c() {
    let _alone = alone();
    let error = Error::check("cudaFree", sys::cudaErrorInvalidValue).unwrap_err();
    assert_eq!(error.name(), "cudaErrorInvalidValue");
    assert!(!error.meaning().is_empty() && error.meaning() != error.name());
}

#[test]
fn errors_class_themselves() {
    let _alone = alone();
    let of = |code| Error::check("cudaAnything", code).unwrap_err();
    assert!(of(sys::cudaErrorMemoryAllocation).is_out_of_memory());
    assert!(!of(sys::cudaErrorInvalidValue).is_from_earlier_work());
    assert!(Error::check("cudaAnything", sys::cudaSuccess).is_ok());
}

#[test]
fn a_refusal_says_that_the_runtime_was_never_called() {
    let _alone = alone();
    let error = Error::refused("memcpy", error::Detail::length_mismatch(4, 5));
    assert!(error.is_refused());
    assert_eq!(error.code(), sys::cudaErrorInvalidValue);
    let text = error.to_string();
    assert!(text.starts_with("memcpy: ") && text.contains('4') && text.contains('5'), "{text}");
}

#[test]
fn an_error_is_one_word_and_can_be_cloned_and_sent() {
    let _alone = alone();
    fn is_cloned_and_sent<T: Clone + Send + Sync + 'static>() {}
    is_cloned_and_sent::<Error>();
    assert_eq!(size_of::<cuda_safe::Result<()>>(), size_of::<usize>());
}
