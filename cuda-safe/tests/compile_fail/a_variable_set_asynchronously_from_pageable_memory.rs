use cuda_safe::Stream;
use cuda_safe::copy::memcpy_to_symbol_async;
use cuda_safe::launch::Symbol;

fn set(filter: &'static Symbol<f32>, stream: &Stream) {
    memcpy_to_symbol_async(filter, &[1.0_f32, 2.0, 3.0], stream).unwrap();
}

fn main() {
    let _ = set;
}
