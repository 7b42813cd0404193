//! What a code says about the call, the device and the process.
//!
//! Numbers, not the header's constants: older toolkits lack some of the names, and a driver may give the code all
//! the same.

use crate::sys::cudaError_t;

/// How a code is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// The call itself failed, and nothing else did.
    Call,
    /// Earlier asynchronous work failed; the context lives.
    Earlier,
    /// Earlier asynchronous work failed, and the context is lost.
    Sticky,
    /// Driver and runtime do not fit, or there is no driver or device.
    Driver,
}

/// The number of a code.
pub(super) fn number(code: cudaError_t) -> u32 {
    let cuda_sys::cudaError(number) = code;
    number
}

/// The class of a code.
pub(super) fn of(code: cudaError_t) -> Class {
    match number(code) {
        // A failed launch reported later.
        53 => Class::Earlier,
        // ECC, NVLink, contained error; illegal address, launch timeout, assert; stack, instruction, alignment,
        // address space, program counter, launch failure; tensor memory leak; external device.
        214 | 220 | 226 | 700 | 702 | 710 | 714..=719 | 721 | 911 => Class::Sticky,
        // Stub library, insufficient driver, call needs a newer driver, no device, driver mismatch, compatibility.
        34 | 35 | 36 | 100 | 803 | 804 => Class::Driver,
        _ => Class::Call,
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, of};
    use cuda_sys::cudaError;

    #[test]
    fn a_failed_kernel_loses_the_context() {
        for number in [700, 710, 715, 719] {
            assert_eq!(of(cudaError(number)), Class::Sticky, "{number}");
        }
    }

    #[test]
    fn a_bad_argument_is_the_calls_own_failure() {
        for number in [1, 2, 21, 101, 400, 600, 701, 704, 720] {
            assert_eq!(of(cudaError(number)), Class::Call, "{number}");
        }
    }

    #[test]
    fn a_code_newer_than_the_header_is_the_calls_own_failure() {
        assert_eq!(of(cudaError(123_456)), Class::Call);
    }
}
