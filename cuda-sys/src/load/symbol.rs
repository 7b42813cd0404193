//! C's names for functions of this crate.

/// Defines C's name for a function: hidden, in a section of its own, which the linker drops if nothing refers
/// to it.
macro_rules! c_symbol {
    ($name:ident) => {
        ::core::arch::global_asm!(
            concat!(".pushsection .text.cudart.", stringify!($name), ",\"ax\",%progbits"),
            concat!(".globl ", stringify!($name)),
            concat!(".hidden ", stringify!($name)),
            concat!(".type ", stringify!($name), ",%function"),
            concat!(stringify!($name), ":"),
            concat!($crate::load::symbol::jump!(), " {function}"),
            concat!(".size ", stringify!($name), ", . - ", stringify!($name)),
            ".popsection",
            function = sym $name,
        );
    };
}

/// The instruction that goes to a function of the same program.
#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    () => {
        "jmp"
    };
}

/// The instruction that goes to a function of the same program.
#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    () => {
        "b"
    };
}

pub(crate) use {c_symbol, jump};
