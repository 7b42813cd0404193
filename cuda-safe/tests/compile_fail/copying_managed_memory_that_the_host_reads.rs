use cuda_safe::{DeviceBuffer, ManagedBuffer, memcpy};

fn main() {
    let mut numbers = ManagedBuffer::<f32>::alloc(4).unwrap();
    let other = DeviceBuffer::<f32>::alloc(4).unwrap();
    let seen = numbers.host().unwrap();
    memcpy(&mut numbers, &other).unwrap();
    println!("{}", seen[0]);
}
