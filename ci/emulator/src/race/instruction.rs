//! The instruction of the program that has faulted: how many bytes it accesses, and whether it writes.
#![expect(unsafe_code, reason = "reads the registers and the code of the program")]

use core::ffi::c_void;

/// Whether the handler knows the registers of this architecture.
pub(crate) const HANDLES_FAULTS: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// The instructions of ARM that write, as masks and the bits under them ("Loads and Stores" of the Arm
/// Architecture Reference Manual). Atomic operations write as well.
#[cfg(any(target_arch = "aarch64", test))]
const STORES: [(u32, u32); 9] = [
    // One register of the processor, one of the vector unit, a pair of either, structures of vectors.
    (0x3ec0_0000, 0x3800_0000),
    (0x3e40_0000, 0x3c00_0000),
    (0x3a40_0000, 0x2800_0000),
    (0xbe40_0000, 0x0c00_0000),
    // Exclusive and ordered stores, compare-and-swap of one register and of a pair, other atomic operations.
    (0x3f40_0000, 0x0800_0000),
    (0x3fa0_0000, 0x08a0_0000),
    (0xbfa0_0000, 0x0820_0000),
    (0x3f20_0c00, 0x3820_0000),
    // The scalable vector extension.
    (0xfe00_0000, 0xe400_0000),
];

/// An access of the host by an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostAccess {
    /// The address of the instruction.
    pub(super) at: usize,
    pub(super) writes: bool,
    /// One if it is not known.
    pub(super) bytes: u64,
    /// Whether one instruction makes it again and again.
    pub(super) repeats: bool,
}

impl HostAccess {
    /// That of the instruction that a fault has interrupted.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn interrupted(context: *mut c_void) -> Self {
        const WRITES: i64 = 1 << 1;
        const BACKWARDS: i64 = 1 << 10;
        // SAFETY: the system passes the context of the fault.
        let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
        let of = |register: i32| {
            usize::try_from(register).ok().and_then(|register| registers.get(register)).copied().unwrap_or(0)
        };
        let at = usize::try_from(of(libc::REG_RIP)).unwrap_or(0);
        let mut code = [0; LONGEST];
        // What is behind the instruction may be the end of the code's memory.
        let left = 4096 - at % 4096;
        for (n, byte) in code.iter_mut().enumerate().take(left) {
            let place = core::ptr::with_exposed_provenance::<u8>(at).wrapping_add(n);
            // SAFETY: the processor has just read this page.
            *byte = unsafe { place.read() };
        }
        let (bytes, repeats) = width(&code);
        let forward = repeats && of(libc::REG_EFL) & BACKWARDS == 0;
        let times = if forward { u64::try_from(of(libc::REG_RCX)).unwrap_or(1) } else { 1 };
        let bytes = bytes.saturating_mul(times);
        Self { at, writes: of(libc::REG_ERR) & WRITES != 0, bytes, repeats }
    }

    /// The same, of one byte.
    #[cfg(target_arch = "aarch64")]
    pub(super) fn interrupted(context: *mut c_void) -> Self {
        // SAFETY: the system passes the context of the fault.
        let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
        let at = usize::try_from(registers.pc).unwrap_or(0);
        // SAFETY: the processor has just read this instruction.
        let word = unsafe { core::ptr::with_exposed_provenance::<u32>(at).read() };
        Self { at, writes: STORES.iter().any(|(mask, bits)| word & mask == *bits), bytes: 1, repeats: false }
    }

    /// Nothing is known of other processors.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub(super) fn interrupted(_: *mut c_void) -> Self {
        Self { at: 0, writes: false, bytes: 1, repeats: false }
    }
}

/// The longest instruction of x86-64.
#[cfg(any(target_arch = "x86_64", test))]
const LONGEST: usize = 15;

/// How many bytes of memory an instruction of x86-64 accesses, one if that is not known; and whether it
/// repeats. ("Instruction Format" and "Opcode Map" of the manuals of Intel and AMD.)
#[cfg(any(target_arch = "x86_64", test))]
fn width(code: &[u8; LONGEST]) -> (u64, bool) {
    let mut rest = code.iter().copied();
    let mut next = || rest.next().unwrap_or(0);
    let (mut prefix, mut short, mut repeats) = (0, false, false);
    let mut byte = next();
    loop {
        match byte {
            0x66 => (prefix, short) = (if repeats { prefix } else { 1 }, true),
            0xf3 => (prefix, repeats) = (2, true),
            0xf2 => (prefix, repeats) = (3, true),
            0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 | 0x67 | 0xf0 => {}
            _ => break,
        }
        byte = next();
    }
    let mut wide = false;
    if byte & 0xf0 == 0x40 {
        (wide, byte) = (byte & 8 != 0, next());
    }
    let operand = if wide { 8 } else { 4 >> u8::from(short) };
    let sized = |bit: u8| if bit & 1 == 0 { 1 } else { operand };
    let of_vector = |map: u8, prefix: u8, wide: bool, length: u64, opcode: u8| match (map, opcode) {
        (1, 0x10 | 0x11 | 0x51 | 0x58 | 0x59 | 0x5c..=0x5f) if prefix > 1 => {
            if prefix == 2 {
                4
            } else {
                8
            }
        }
        (1, 0x12 | 0x13 | 0x16 | 0x17 | 0xd6) => 8,
        (1, 0x6e | 0x7e) => {
            if wide || prefix == 2 {
                8
            } else {
                4
            }
        }
        (1, 0x10 | 0x11 | 0x28 | 0x29 | 0x2b | 0x51..=0x59 | 0x5c..=0x6d | 0x6f | 0x74..=0x76) => length,
        (1, 0x7f | 0xd4 | 0xda..=0xdf | 0xe7 | 0xea..=0xef | 0xf0 | 0xf8..=0xfe) => length,
        (2, 0x18 | 0x58) => 4,
        (2, 0x19 | 0x59) => 8,
        _ => 1,
    };
    match byte {
        0xc5 => {
            let bits = next();
            (of_vector(1, bits & 3, false, 16 << (bits >> 2 & 1), next()), false)
        }
        0xc4 => {
            let (map, bits) = (next() & 31, next());
            (of_vector(map, bits & 3, bits & 0x80 != 0, 16 << (bits >> 2 & 1), next()), false)
        }
        0x62 => {
            let (map, bits, more) = (next() & 7, next(), next());
            let wide = bits & 0x80 != 0;
            // One element for all, or only some of them.
            let partly = more & 0x17 != 0;
            let bytes = of_vector(map, bits & 3, wide, 16 << (more >> 5 & 3), next());
            (if partly { 1 } else { bytes }, false)
        }
        0x0f => {
            let opcode = next();
            let bytes = match opcode {
                0x40..=0x4f | 0xaf | 0xb1 | 0xc1 => operand,
                0xb7 | 0xbf => 2,
                0xc7 => {
                    if wide {
                        16
                    } else {
                        8
                    }
                }
                _ => of_vector(1, prefix, wide, 16, opcode),
            };
            (bytes, false)
        }
        0xa4..=0xa7 | 0xaa..=0xaf => (sized(byte), repeats),
        0x00..=0x3f if byte & 7 < 4 => (sized(byte), false),
        0x80..=0x8b | 0xc0 | 0xc1 | 0xc6 | 0xc7 | 0xd0..=0xd3 | 0xf6 | 0xf7 | 0xfe => (sized(byte), false),
        0x69 | 0x6b => (operand, false),
        0x63 => (4, false),
        _ => (1, false),
    }
}

#[cfg(test)]
mod tests {
    use super::STORES;

    /// The words are from an assembler.
    #[test]
    fn stores_and_loads_of_arm_are_told_apart() {
        let stores = |word: &u32| STORES.iter().any(|(mask, bits)| word & mask == *bits);
        let str_stur_strb_strh = [0xb900_0420, 0xfc1f_8020, 0x3800_1420, 0x7822_6820, 0x3d80_0020];
        let stp_stnp_st1_stxr_stlr = [0xa900_0440, 0xac00_0440, 0x4c00_7020, 0x8800_7c41, 0x889f_fc40];
        let cas_casp_ldadd_swp_st1b_str = [0x88a0_7c41, 0x0820_7c82, 0xb820_0041, 0xf8e0_8041, 0xe400_e020];
        let ldr_ldrsw_ldrb_prfm = [0xb940_0420, 0xb980_0020, 0x3862_6820, 0xf980_0020, 0x3dc0_0020];
        let ldp_ld1_ldxr_ldar_ld1b = [0xa940_0440, 0x4c40_7020, 0x885f_7c40, 0x88df_fc40, 0xa400_a020];
        for writing in [str_stur_strb_strh, stp_stnp_st1_stxr_stlr, cas_casp_ldadd_swp_st1b_str] {
            assert_eq!(writing.iter().find(|word| !stores(word)), None);
        }
        for reading in [ldr_ldrsw_ldrb_prfm, ldp_ld1_ldxr_ldar_ld1b] {
            assert_eq!(reading.iter().find(|word| stores(word)), None);
        }
    }

    /// The bytes are from an assembler.
    #[test]
    fn instructions_of_x86_access_as_many_bytes_as_their_operands_have() {
        let of = |code: &[u8]| {
            let mut all = [0x90; super::LONGEST];
            all[..code.len()].copy_from_slice(code);
            super::width(&all)
        };
        let accesses: [(u64, &[&[u8]]); 7] = [
            // mov al, movzx from 8 bits, add to a byte, a test of a bit: not known.
            (1, &[&[0x8a, 0x07], &[0x0f, 0xb6, 0x07], &[0x80, 0x07, 0x01], &[0x0f, 0xa3, 0x07]]),
            (2, &[&[0x66, 0x8b, 0x07], &[0x0f, 0xb7, 0x07]]),
            // mov, add from memory, lock xadd, movss; movd, mov of a constant, vmovss.
            (4, &[&[0x8b, 0x07], &[0x41, 0x03, 0x07], &[0xf0, 0x0f, 0xc1, 0x07], &[0xf3, 0x0f, 0x10, 0x07]]),
            (4, &[&[0x66, 0x0f, 0x6e, 0x07], &[0xc7, 0x07, 1, 0, 0, 0], &[0xc5, 0xfa, 0x10, 0x07]]),
            (8, &[&[0x48, 0x89, 0x07], &[0xf2, 0x0f, 0x10, 0x07], &[0x66, 0x0f, 0xd6, 0x07]]),
            // movups, movdqa, movdqu, paddd.
            (
                16,
                &[
                    &[0x0f, 0x10, 0x07],
                    &[0x66, 0x0f, 0x6f, 0x07],
                    &[0xf3, 0x0f, 0x6f, 0x07],
                    &[0x66, 0x0f, 0xfe, 0x07],
                ],
            ),
            // vmovdqu, vpaddd, and one of vmovdqu64.
            (
                32,
                &[
                    &[0xc5, 0xfe, 0x6f, 0x07],
                    &[0xc5, 0xfd, 0xfe, 0x07],
                    &[0x62, 0xf1, 0xfe, 0x28, 0x6f, 0x07],
                ],
            ),
        ];
        for (bytes, codes) in accesses {
            for code in codes {
                assert_eq!(of(code), (bytes, false), "{code:02x?}");
            }
        }
        assert_eq!(of(&[0xf3, 0xa4]), (1, true), "rep movsb");
        assert_eq!(of(&[0xf3, 0x48, 0xab]), (8, true), "rep stosq");
        assert_eq!(of(&[0x62, 0xf1, 0x7e, 0x49, 0x6f, 0x07]), (1, false), "under a mask");
    }
}
