//! Two streams share one buffer, in the right order.
//!
//! The first doubles it and copies it back, and the second adds one and copies it back. In C++ the
//! program must make the second stream wait for the first. Here no event is needed: the crate sees the
//! conflict and orders the two. `two_streams report` refuses the second instead, with an error that names
//! both lines. `two_streams race` switches the tracker off and is as wrong as the C++ program without its
//! event.
#![expect(unsafe_code, reason = "launches kernels; switches the tracker off if the arguments request that")]
use std::env;
use std::process::ExitCode;

use cuda_kernels::kernels::{add_one, double_values};
use cuda_safe::hazard::{self, Policy};
use cuda_safe::launch;
use cuda_safe::{Device, DeviceBuffer, PinnedBuffer, Stream, memcpy, memcpy_async};

fn main() -> anyhow::Result<ExitCode> {
    match env::args().nth(1).as_deref() {
        Some("report") => hazard::set_policy(Policy::Error)?,
        // SAFETY: broken on purpose, for device memory alone: kernels see integers too early. Data that
        // the host reads or frees is complete, because the host synchronises with both streams before.
        Some("race") => unsafe { hazard::set_policy_off() }?,
        _ => {}
    }
    let (n, threads) = (1_u32 << 16, 256);
    let len = n as usize;
    let input: Vec<i32> = (0..1000).cycle().take(len).collect();

    let mut d_data = DeviceBuffer::<i32>::alloc(len)?;
    let mut h_doubled = PinnedBuffer::<i32>::alloc(len)?;
    let mut h_plus_one = PinnedBuffer::<i32>::alloc(len)?;
    let first = Stream::non_blocking()?;
    let second = Stream::non_blocking()?;

    memcpy(&mut d_data, &input)?;
    Device::current()?.synchronize()?;
    launch!(double_values<<<n / threads, threads, 0, &first>>>(&mut d_data, n))?;
    memcpy_async(&mut h_doubled, &d_data, &first)?;
    launch!(add_one<<<n / threads, threads, 0, &second>>>(&mut d_data, n))?;
    memcpy_async(&mut h_plus_one, &d_data, &second)?;
    second.synchronize()?;
    first.synchronize()?;

    let (doubled, plus_one) = (h_doubled.host()?, h_plus_one.host()?);
    let right = (0..len).filter(|&i| doubled[i] == 2 * input[i] && plus_one[i] == 2 * input[i] + 1).count();
    println!("{} doubled is {}, plus one {}", input[len - 1], doubled[len - 1], plus_one[len - 1]);
    println!("{right} of {n} elements are right");
    Ok(if right == len { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
