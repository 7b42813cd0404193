//! The tracker orders a launch by the comment of its kernel, so a proof compares the comment with the code.

use cuda_safe::{DeviceBuffer, Result, Stream, launch};

use crate::kernels;

#[test]
fn a_kernel_that_uses_variables_which_its_comment_does_not_name_is_refused() -> Result<()> {
    let stream = Stream::new()?;
    let mut out = DeviceBuffer::from_slice(&[0_i32])?;
    launch!(kernels::reads_all<<<1, 1, 0, &stream>>>(&mut out))?;
    assert_eq!(out.to_vec()?, [21]);
    let refused = [
        launch!(kernels::reads_more<<<1, 1, 0, &stream>>>(&mut out)),
        launch!(kernels::reads_hidden<<<1, 1, 0, &stream>>>(&mut out)),
        launch!(kernels::reads_deep<<<1, 1, 0, &stream>>>(&mut out)),
    ];
    for refused in refused {
        let text = refused.unwrap_err().to_string();
        assert!(text.contains("reads the variable") && text.contains("`@reads`"), "{text}");
    }
    let text = launch!(kernels::writes_total<<<1, 1, 0, &stream>>>(1)).unwrap_err().to_string();
    assert!(text.contains("may write the variable total") && text.contains("`@writes`"), "{text}");
    launch!(kernels::adds_to_total<<<1, 1, 0, &stream>>>(2))?;
    launch!(kernels::reads_all<<<1, 1, 0, &stream>>>(&mut out))?;
    assert_eq!(out.to_vec()?, [23]);
    Ok(())
}
