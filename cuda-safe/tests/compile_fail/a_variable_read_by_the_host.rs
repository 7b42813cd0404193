//! The host has no access to a variable of a kernel's source file: copies go there and back.
use cuda_safe::launch::Symbol;

fn first(filter: &'static Symbol<f32>) -> f32 {
    filter.slice(..).unwrap()[0]
}

fn main() {
    let _ = first;
}
