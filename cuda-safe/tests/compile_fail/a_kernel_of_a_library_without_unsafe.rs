//! Loaded code does not contain the types of a kernel's parameters: the caller must guarantee them.
use cuda_safe::library::Library;

fn run(library: Library) {
    let _ = library.kernel::<(*mut f32, u32)>("scale");
}

fn main() {}
