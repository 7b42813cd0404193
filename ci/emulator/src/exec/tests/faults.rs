//! Kernels that do what they must not.

use super::super::Fault;
use super::{arg, cuda};

#[test]
fn accesses_outside_of_memory_are_caught_and_described() {
    let mut m = cuda(
        "__global__ void store(int* p, int i) { p[i + threadIdx.x] = 5; }
         __global__ void odd(char* p) { *(volatile int*)(p + 1) = 5; }",
    );
    let p = m.machine.alloc(64);
    m.run("store", 1, 16, &[arg(p), arg(0)]).unwrap();
    let fault = m.run("store", 1, 16, &[arg(p), arg(1)]).unwrap_err();
    assert_eq!(fault.code, Fault::ILLEGAL_ADDRESS);
    assert!(fault.message.contains("thread (15,0,0)"), "{fault}");
    assert!(fault.message.contains("write of 4 bytes"), "{fault}");
    let fault = m.run("store", 1, 1, &[arg(0u64), arg(0)]).unwrap_err();
    assert!(fault.message.contains("a null pointer"), "{fault}");
    let fault = m.run("odd", 1, 1, &[arg(p)]).unwrap_err();
    assert_eq!(fault.code, Fault::MISALIGNED_ADDRESS, "{fault}");
}
