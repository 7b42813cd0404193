use cuda_safe::copy::memcpy_to_symbol;
use cuda_safe::launch::Symbol;

fn set(filter: &'static Symbol<f32>) {
    memcpy_to_symbol(filter, &[1_u32, 2, 3]).unwrap();
}

fn main() {
    let _ = set;
}
