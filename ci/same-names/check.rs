//! Runs all kernels and functions of a package.
#![expect(unsafe_code, reason = "launches kernels")]

use std::ffi::c_int;

use cuda_safe::copy::memcpy_from_symbol;
use cuda_safe::sys::cudaStream_t;
use cuda_safe::{DeviceBuffer, Result, Stream, launch};

use crate::kernels;

mod again {
    cuda_safe::include_kernels!("again");
}

mod linked {
    cuda_safe::include_kernels!("linked");
}

unsafe extern "C" {
    #[cfg_attr(package = "1", link_name = "launch_1")]
    #[cfg_attr(package = "2", link_name = "launch_2")]
    #[cfg_attr(package = "3", link_name = "launch_3")]
    fn launch(data: *mut f32, count: u32, stream: cudaStream_t) -> c_int;
    #[cfg_attr(package = "1", link_name = "host_1")]
    #[cfg_attr(package = "2", link_name = "host_2")]
    #[cfg_attr(package = "3", link_name = "host_3")]
    fn host(x: *mut f32, stream: cudaStream_t) -> c_int;
    #[cfg_attr(package = "1", link_name = "call_ops_1")]
    #[cfg_attr(package = "2", link_name = "call_ops_2")]
    #[cfg_attr(package = "3", link_name = "call_ops_3")]
    fn call_ops(x: *mut f32, stream: cudaStream_t) -> c_int;
}

/// The number of this package.
const NUMBER: u8 = if cfg!(package = "1") {
    1
} else if cfg!(package = "2") {
    2
} else {
    3
};

/// Runs all of the package's kernels and functions, and compares what they make.
///
/// # Panics
/// Panics if something of another package has run.
///
/// # Errors
/// Returns the error of a CUDA function.
pub fn check() -> Result<()> {
    let (stream, own) = (Stream::new()?, f32::from(NUMBER));
    let x = DeviceBuffer::from_slice(&[1.0_f32, 2.0])?;
    let mut y = DeviceBuffer::from_slice(&[1.0_f32, 1.0])?;
    launch!(kernels::saxpy<<<1, 2, 0, &stream>>>(10.0, &x, &mut y, 2))?;
    assert_eq!(y.to_vec()?, [10.0 + own, 20.0 + own], "saxpy of {NUMBER}");
    // The package's other build.
    let mut y = DeviceBuffer::from_slice(&[1.0_f32, 1.0])?;
    launch!(again::saxpy<<<1, 2, 0, &stream>>>(10.0, &x, &mut y, 2))?;
    assert_eq!(y.to_vec()?, [20.0 + own, 30.0 + own], "saxpy of 1{NUMBER}");

    // The parameters differ.
    #[cfg(package = "2")]
    {
        let mut to = DeviceBuffer::from_slice(&[0.0_f64; 2])?;
        launch!(kernels::fill<<<1, 2, 0, &stream>>>(2, 40.0, &mut to))?;
        assert_eq!(to.to_vec()?, [42.0, 42.0], "fill of {NUMBER}");
        launch!(again::fill<<<1, 2, 0, &stream>>>(2, 40.0, &mut to))?;
        assert_eq!(to.to_vec()?, [52.0, 52.0], "fill of 1{NUMBER}");
    }
    #[cfg(not(package = "2"))]
    {
        let mut to = DeviceBuffer::from_slice(&[0.0_f32; 2])?;
        launch!(kernels::fill<<<1, 2, 0, &stream>>>(&mut to, 2))?;
        assert_eq!(to.to_vec()?, [own, own], "fill of {NUMBER}");
        launch!(again::fill<<<1, 2, 0, &stream>>>(&mut to, 2))?;
        assert_eq!(to.to_vec()?, [10.0 + own, 10.0 + own], "fill of 1{NUMBER}");
    }

    // Variables.
    let mut one = DeviceBuffer::from_slice(&[1.0_f32])?;
    launch!(kernels::times_factor<<<1, 1, 0, &stream>>>(&mut one))?;
    let (mut factor, mut hits) = ([0.0], [0]);
    memcpy_from_symbol(&mut factor, &kernels::factor)?;
    memcpy_from_symbol(&mut hits, &kernels::hits)?;
    assert_eq!((one.to_vec()?[0], factor[0]), (own, own), "factor of {NUMBER}");
    memcpy_from_symbol(&mut factor, &again::factor)?;
    assert_eq!(factor[0], 10.0 + own, "factor of 1{NUMBER}");
    let before = hits[0];
    launch!(kernels::times_factor<<<1, 1, 0, &stream>>>(&mut one))?;
    memcpy_from_symbol(&mut hits, &kernels::hits)?;
    assert_eq!(hits[0], before + 1, "hits of {NUMBER}");

    // An instance of a template.
    let mut one = DeviceBuffer::from_slice(&[1.0_f32])?;
    launch!(kernels::scale_float<<<1, 1, 0, &stream>>>(&mut one, 1))?;
    assert_eq!(one.to_vec()?, [own], "scale of {NUMBER}");
    launch!(again::scale_float<<<1, 1, 0, &stream>>>(&mut one, 1))?;
    assert_eq!(one.to_vec()?, [own * (10.0 + own)], "scale of 1{NUMBER}");

    // Device code that is linked.
    let mut numbers = DeviceBuffer::from_slice(&[100_u32, 200])?;
    let mut taken = [0];
    memcpy_from_symbol(&mut taken, &linked::taken)?;
    let before = taken[0];
    // SAFETY: the kernel adds to two numbers.
    unsafe { launch!(linked::walk.unchecked()<<<1, 1, 0, &stream>>>(&mut numbers, 2)) }?;
    assert_eq!(numbers.to_vec()?, [100 + u32::from(NUMBER), 200 + u32::from(NUMBER)], "walk of {NUMBER}");
    memcpy_from_symbol(&mut taken, &linked::taken)?;
    assert_eq!(taken[0], before + 2, "taken of {NUMBER}");

    // C++: inline functions and variables, a kernel that is taken by its name, a build without handles.
    let mut one = DeviceBuffer::from_slice(&[1.0_f32])?;
    stream.synchronize()?;
    // SAFETY: the function starts a kernel for one number, and the stream is waited for.
    let answer = unsafe { launch(one.as_mut_ptr(), 1, stream.as_raw()) };
    stream.synchronize()?;
    assert_eq!((answer, one.to_vec()?[0]), (2001 * c_int::from(NUMBER), own), "launch of {NUMBER}");
    // SAFETY: as above.
    let answer = unsafe { call_ops(one.as_mut_ptr(), stream.as_raw()) };
    stream.synchronize()?;
    assert_eq!((answer, one.to_vec()?[0]), (0, 2.0 * own), "call_ops of {NUMBER}");
    // SAFETY: as above.
    let answer = unsafe { host(one.as_mut_ptr(), stream.as_raw()) };
    stream.synchronize()?;
    assert_eq!((answer, one.to_vec()?[0]), (1010 * c_int::from(NUMBER), 3.0 * own), "host of {NUMBER}");
    Ok(())
}
