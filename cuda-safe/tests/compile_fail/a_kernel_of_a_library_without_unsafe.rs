//! Nothing in code that is loaded says which types a kernel's parameters have: that is the caller's word.
use cuda_safe::library::Library;

fn run(library: Library) {
    let _ = library.kernel::<(*mut f32, u32)>("scale");
}

fn main() {}
