//! What streams host memory through a device: staged copies, small copies, pipelines.
#![cfg(feature = "staged")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod pipeline;
mod pipeline_ends;
mod small_copies;
mod staged;
mod streamed;

use cuda_safe::copy::staged::{Settings, configure, release, statistics};
use cuda_testing::Alone;

/// One test at a time. The settings and the pinned memory belong to the process: each test starts with the
/// default settings, and without pinned memory.
fn alone() -> Alone {
    let alone = cuda_testing::alone();
    configure(Settings::default());
    release().unwrap();
    assert_eq!(statistics().pinned, 0);
    alone
}
