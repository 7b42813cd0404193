//! A variable's handle is not the variable's memory: a part of it is an operand, the handle is not.
use cuda_safe::memcpy;
use cuda_safe::launch::Symbol;

fn set(mut filter: &'static Symbol<f32>) {
    memcpy(&mut filter, &[1.0_f32, 2.0, 3.0]).unwrap();
}

fn main() {
    let _ = set;
}
