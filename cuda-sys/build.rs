//! Generates the bindings and tells cargo how to link them.
fn main() {
    cuda_sys_build::provisional();
}
