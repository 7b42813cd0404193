//! The cfgs that gate newer functions.
//!
//! Not under sanitizers: it uses no GPU.

use cuda_testing::alone;

#[test]
fn this_crate_has_the_cfgs_of_the_headers_that_the_bindings_are_from() {
    let _alone = alone();
    let version = cuda_safe::sys::CUDART_VERSION;
    assert_eq!(cfg!(cudart_12_4), version >= 12040);
    assert_eq!(cfg!(cudart_12_9), version >= 12090);
    assert_eq!(cfg!(cudart_13_0), version >= 13000);
}
