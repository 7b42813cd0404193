//! The host's own memory is filled by the host.
fn main() -> cuda_safe::Result<()> {
    let mut host = vec![1_u8; 4];
    cuda_safe::memset(&mut host, 0)
}
