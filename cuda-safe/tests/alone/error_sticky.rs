//! The first sticky failure of a process is remembered.
//!
//! Alone: it is remembered until the device is reset.

use cuda_safe::{Error, error, sys};
use cuda_testing::own_process;

#[test]
fn a_sticky_failure_is_told_again_with_its_first_place() {
    own_process!();
    assert!(error::first_sticky().is_none());
    let first = Error::check("cudaStreamSynchronize", sys::cudaErrorIllegalAddress).unwrap_err();
    let later = Error::check("cudaFree", sys::cudaErrorIllegalAddress).unwrap_err();
    assert!(first.is_sticky() && first.is_from_earlier_work());
    assert_eq!(error::first_sticky(), Some(first.clone()));
    let text = later.to_string();
    assert!(
        text.contains("cudaStreamSynchronize") && text.contains(&first.call_site().to_string()),
        "{text}"
    );
    assert!(text.contains("earlier asynchronous work"), "{text}");
}
