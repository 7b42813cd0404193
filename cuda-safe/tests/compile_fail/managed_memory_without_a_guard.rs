use cuda_safe::ManagedBuffer;

fn main() {
    let numbers = ManagedBuffer::<f32>::alloc(4).unwrap();
    println!("{}", numbers[0]);
}
