//! Launches that `Policy::Error` refuses: the error names the argument, and what to do if the kernel only
//! reads it. One process, one policy.
#![allow(unsafe_code, reason = "launches kernels")]

use cuda_kernels::kernels;
use cuda_safe::error::Detail;
use cuda_safe::hazard::{self, Policy};
use cuda_safe::{DeviceBuffer, PinnedBuffer, Result, Stream, launch, memcpy_async, memset_async};

#[test]
fn a_refused_launch_names_its_argument_and_offers_read_only_where_that_would_do() -> Result<()> {
    hazard::set_policy(Policy::Error)?;
    let (a, b) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let (mut values, mut squares) = (DeviceBuffer::<i32>::alloc(64)?, DeviceBuffer::<i32>::alloc(64)?);
    let mut host = PinnedBuffer::<i32>::alloc(64)?;
    let add_one = |values: &mut DeviceBuffer<i32>| {
        // SAFETY: the count is that of the elements.
        unsafe { launch!(kernels::add_one<<<1, 64, 0, &b>>>(values, 64)) }
    };
    memset_async(&mut values, 0, &a)?;
    a.synchronize()?;

    // Another stream reads the memory: the launch would be right if the kernel only read.
    memcpy_async(&mut host, &values, &a)?;
    let error = add_one(&mut values).unwrap_err();
    let Detail::Argument { index: 0, detail, .. } = error.detail() else { panic!("{error}") };
    let Detail::IfWritten { parameter: "*mut i32", name: "data", hazard } = &**detail else {
        panic!("{error}")
    };
    assert!(matches!(&**hazard, Detail::Hazard { first: Some(_), .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("`read_only()`") && text.contains("`/// @reads data`"), "{text}");

    // It writes the memory: a launch that only reads would be refused, too.
    a.synchronize()?;
    memset_async(&mut values, 0, &a)?;
    let error = add_one(&mut values).unwrap_err();
    let Detail::Argument { index: 0, detail, .. } = error.detail() else { panic!("{error}") };
    assert!(matches!(&**detail, Detail::Hazard { .. }), "{error}");
    assert!(!error.to_string().contains("read_only"), "{error}");

    // Declared as read already.
    // SAFETY: the count is that of the elements.
    let error = unsafe { launch!(kernels::square<<<1, 64, 0, &b>>>(&values, &mut squares, 64)) }.unwrap_err();
    let Detail::Argument { index: 0, name: "numbers", .. } = error.detail() else { panic!("{error}") };
    assert!(!error.to_string().contains("read_only"), "{error}");
    assert_eq!((error.call_site().file(), error.is_refused()), (file!(), true));
    a.synchronize()
}
