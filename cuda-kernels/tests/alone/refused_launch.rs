//! Launches that `Policy::Error` refuses: the error names the argument, and what to do if the kernel only
//! reads it.
//!
//! Alone: the policy is a property of the process.
#![allow(clippy::unwrap_used, reason = "tests")]

use cuda_kernels::kernels;
use cuda_safe::hazard::{self, Policy};
use cuda_safe::{DeviceBuffer, Error, PinnedBuffer, Result, Stream, launch, memcpy_async, memset_async};
use cuda_testing::own_process;

#[test]
fn a_refused_launch_names_its_argument_and_offers_read_only_where_that_would_do() -> Result<()> {
    own_process!(Ok(()));
    hazard::set_policy(Policy::Error)?;
    let (a, b) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let (mut values, mut squares) = (DeviceBuffer::<i32>::alloc(64)?, DeviceBuffer::<i32>::alloc(64)?);
    let mut host = PinnedBuffer::<i32>::alloc(64)?;
    let add_one = |values: &mut DeviceBuffer<i32>| launch!(kernels::add_one<<<1, 64, 0, &b>>>(values, 64));
    memset_async(&mut values, 0, &a)?;
    a.synchronize()?;

    // Another stream reads the memory: the launch would be right if the kernel only read.
    memcpy_async(&mut host, &values, &a)?;
    let error = add_one(&mut values).unwrap_err();
    let text = error.detail().as_str();
    assert!(
        text.starts_with(&hazard_of("data", 0)) && text.contains(" after the conflicting one at "),
        "{text}"
    );
    assert!(text.contains("declares the parameter as `*mut i32`: if it only reads there"), "{text}");
    assert!(text.contains("`read_only()`") && text.contains("`/// @reads data`"), "{text}");

    // It writes the memory: a launch that only reads would be refused, too.
    a.synchronize()?;
    memset_async(&mut values, 0, &a)?;
    let error = add_one(&mut values).unwrap_err();
    assert!(error.detail().as_str().starts_with(&hazard_of("data", 0)), "{error}");
    assert!(!error.to_string().contains("read_only"), "{error}");

    // Declared as read already.
    let error = launch!(kernels::square<<<1, 64, 0, &b>>>(&values, &mut squares, 64)).unwrap_err();
    assert!(error.detail().as_str().starts_with("argument 0 (0 is the first), `numbers`: "), "{error}");
    assert!(!error.to_string().contains("read_only"), "{error}");
    assert_eq!((error.call_site().file(), error.is_refused()), (file!(), true));
    a.synchronize()
}

/// Returns how the detail of a hazard of this argument begins.
fn hazard_of(name: &str, index: usize) -> String {
    format!("argument {index} (0 is the first), `{name}`: nothing orders the operation at ")
}

/// Fills each buffer on one stream, in this order, then launches with both on another one. Returns the
/// refusal, and the lines of the fills of `x` and `y`.
fn refused_after_fills(x_first: bool, swapped: bool) -> Result<(Error, [u32; 2])> {
    hazard::set_policy(Policy::Error)?;
    let (a, b) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let (mut x, mut y) = (DeviceBuffer::<i32>::alloc(64)?, DeviceBuffer::<i32>::alloc(64)?);
    // The tracker lists accesses in the order of their addresses, not of the arguments.
    if swapped {
        std::mem::swap(&mut x, &mut y);
    }
    let mut lines = [0, 0];
    if x_first {
        lines[0] = line!() + 1;
        memset_async(&mut x, 0, &a)?;
    }
    lines[1] = line!() + 1;
    memset_async(&mut y, 0, &a)?;
    if !x_first {
        lines[0] = line!() + 1;
        memset_async(&mut x, 0, &a)?;
    }
    let error = launch!(kernels::square<<<1, 64, 0, &b>>>(&x, &mut y, 64)).unwrap_err();
    a.synchronize()?;
    Ok((error, lines))
}

#[test]
fn of_two_conflicts_the_argument_and_the_line_belong_together() -> Result<()> {
    own_process!(Ok(()));
    for (x_first, swapped) in [(true, true), (true, false), (false, true), (false, false)] {
        let (error, [x, y]) = refused_after_fills(x_first, swapped)?;
        let text = error.detail().as_str();
        let (start, line) = if text.starts_with("argument 0 ") {
            (hazard_of("numbers", 0), x)
        } else {
            (hazard_of("squares", 1), y)
        };
        let sites = format!("{start}{} after the conflicting one at {}:{line}:", error.call_site(), file!());
        assert!(text.starts_with(&sites), "{x_first} {swapped}: {error}");
    }
    Ok(())
}

#[test]
fn a_refused_launch_of_a_capture_names_its_argument_and_the_line_in_the_capture() -> Result<()> {
    own_process!(Ok(()));
    hazard::set_policy(Policy::Error)?;
    let mut stream = Stream::non_blocking()?;
    let (mut x, mut y) = (DeviceBuffer::<i32>::alloc(64)?, DeviceBuffer::<i32>::alloc(64)?);
    stream.capture(|s| {
        let side = s.fork()?;
        let line = line!() + 1;
        memset_async(&mut y, 1, s)?;
        memset_async(&mut x, 1, &side)?;
        let error = launch!(kernels::square<<<1, 64, 0, &side>>>(&x, &mut y, 64)).unwrap_err();
        let text = error.detail().as_str();
        assert!(text.starts_with(&hazard_of("squares", 1)), "{error}");
        assert!(text.contains(&format!(" after the conflicting one at {}:{line}:", file!())), "{error}");
        s.join(side)
    })?;
    Ok(())
}
