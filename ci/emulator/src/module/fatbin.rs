//! The container that nvcc embeds in programs: one or more fatbinaries, each with entries of PTX text or
//! machine code.
//!
//! Only PTX text is read. Machine code is skipped, and its architecture kept for the error message.
#![expect(
    unsafe_code,
    reason = "the container is reached through pointers that the program's constructor passes"
)]

use core::ffi::c_void;
use std::io::Read;

use crate::profile::runs;

/// Magic number of the wrapper that the program passes.
pub(crate) const WRAPPER_MAGIC: u32 = 0x466243B1;
/// Magic number of a fatbinary.
pub(crate) const FATBIN_MAGIC: u32 = 0xBA55_ED50;
const KIND_PTX: u16 = 1;
const FLAG_LZ4: u64 = 0x2000;
const FLAG_ZSTD: u64 = 0x8000;

/// Why a fatbinary gives no PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FatbinError {
    /// Not a fatbinary, or cut short.
    Malformed(&'static str),
    /// The compressed text cannot be unpacked.
    Packed(String),
    /// There is no PTX that this device may run. Holds a description of the entries.
    NoPtx(String),
}

impl core::fmt::Display for FatbinError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Malformed(what) => write!(f, "malformed fatbinary: {what}"),
            Self::Packed(what) => write!(f, "compressed PTX cannot be read: {what}"),
            Self::NoPtx(found) => write!(
                f,
                "no PTX for this device in the program (found: {found}); \
                 compile with code=compute_XX, for instance -gencode arch=compute_90,code=compute_90"
            ),
        }
    }
}

impl core::error::Error for FatbinError {}

/// One piece of PTX text in a fatbinary, still as stored.
#[derive(Clone, Copy, Debug)]
struct PtxEntry<'a> {
    sm: u32,
    flags: u64,
    payload: &'a [u8],
    plain: u64,
}

fn read<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], FatbinError> {
    let cut = FatbinError::Malformed("cut short");
    let end = at.checked_add(N).ok_or(cut.clone())?;
    bytes.get(at..end).and_then(|b| b.try_into().ok()).ok_or(cut)
}

fn read_u16(bytes: &[u8], at: usize) -> Result<u16, FatbinError> {
    read(bytes, at).map(u16::from_le_bytes)
}

fn read_u32(bytes: &[u8], at: usize) -> Result<u32, FatbinError> {
    read(bytes, at).map(u32::from_le_bytes)
}

fn read_u64(bytes: &[u8], at: usize) -> Result<u64, FatbinError> {
    read(bytes, at).map(u64::from_le_bytes)
}

fn size(bytes: u32) -> Result<usize, FatbinError> {
    usize::try_from(bytes).map_err(|_| FatbinError::Malformed("an entry too large"))
}

/// Finds the newest PTX in a fatbinary that a device of compute capability `cc` (90 for 9.0) may run.
///
/// # Errors
/// When the bytes are not a fatbinary, hold no such PTX, or hold it damaged.
pub(crate) fn ptx(fatbin: &[u8], cc: u32) -> Result<String, FatbinError> {
    if read_u32(fatbin, 0)? != FATBIN_MAGIC {
        return Err(FatbinError::Malformed("wrong magic number"));
    }
    let header = usize::from(read_u16(fatbin, 6)?);
    let length = usize::try_from(read_u64(fatbin, 8)?).map_err(|_| FatbinError::Malformed("too large"))?;
    let end = header.checked_add(length).ok_or(FatbinError::Malformed("too large"))?;
    let bytes = fatbin.get(..end).ok_or(FatbinError::Malformed("cut short"))?;
    let mut texts = Vec::new();
    let mut found = Vec::new();
    let mut at = header;
    while at < end {
        let entry = bytes.get(at..).ok_or(FatbinError::Malformed("cut short"))?;
        let kind = read_u16(entry, 0)?;
        let skip = size(read_u32(entry, 4)?)?;
        let padded = size(read_u32(entry, 8)?)?;
        let packed = size(read_u32(entry, 16)?)?;
        let sm = read_u32(entry, 28)?;
        let flags = read_u64(entry, 40)?;
        let total = skip.checked_add(padded).ok_or(FatbinError::Malformed("an entry too large"))?;
        if skip < 64 || total > entry.len() {
            return Err(FatbinError::Malformed("an entry that does not fit"));
        }
        found.push(format!(
            "{} {sm}",
            if kind == KIND_PTX { "PTX for compute" } else { "machine code for sm" }
        ));
        if kind == KIND_PTX && sm <= cc {
            let stored = if packed == 0 { padded } else { packed.min(padded) };
            let payload = &entry[skip..skip + stored];
            texts.push(PtxEntry { sm, flags, payload, plain: read_u64(entry, 56)? });
        }
        at = at.checked_add(total).ok_or(FatbinError::Malformed("too large"))?;
    }
    // The newest first; of several of one number the last.
    texts.reverse();
    texts.sort_by_key(|entry| std::cmp::Reverse(entry.sm));
    for entry in texts {
        let text = entry.text()?;
        let target = text.lines().find_map(|line| line.trim().strip_prefix(".target"));
        let first = target.and_then(|it| it.split(',').next()).map_or("", str::trim);
        if runs(first, cc) {
            return Ok(text);
        }
    }
    Err(FatbinError::NoPtx(if found.is_empty() { "nothing".into() } else { found.join(", ") }))
}

impl PtxEntry<'_> {
    fn text(&self) -> Result<String, FatbinError> {
        let plain = usize::try_from(self.plain).map_err(|_| FatbinError::Malformed("an entry too large"))?;
        let mut text = if self.flags & FLAG_ZSTD != 0 {
            zstd(self.payload, plain)?
        } else if self.flags & FLAG_LZ4 != 0 {
            lz4(self.payload, plain)?
        } else {
            self.payload.to_vec()
        };
        while text.last() == Some(&0) {
            text.pop();
        }
        String::from_utf8(text).map_err(|_| FatbinError::Malformed("PTX that is not text"))
    }
}

/// Finds the fatbinaries behind the wrapper that a program passes to `__cudaRegisterFatBinary`.
///
/// # Errors
/// When the wrapper or a fatbinary behind it is not one.
///
/// # Safety
/// `wrapper` is null or points to a wrapper as nvcc lays it out, whose contents live as long as the result is
/// used.
pub(crate) unsafe fn fatbins<'a>(wrapper: *const c_void) -> Result<Vec<&'a [u8]>, FatbinError> {
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Wrapper {
        magic: u32,
        version: u32,
        data: *const u8,
        aux: *const *const u8,
    }
    let wrapper = wrapper.cast::<Wrapper>();
    if wrapper.is_null() || !wrapper.is_aligned() {
        return Err(FatbinError::Malformed("no wrapper"));
    }
    // SAFETY: the caller passes a wrapper; it is not null and aligned.
    let head = unsafe { wrapper.read() };
    if head.magic != WRAPPER_MAGIC {
        return Err(FatbinError::Malformed("wrong magic number of the wrapper"));
    }
    let mut list = Vec::new();
    // With separate compilation (version 2) the PTX of every translation unit is behind `aux`.
    if head.version >= 2 && !head.aux.is_null() {
        for i in 0.. {
            // SAFETY: `aux` is an array that ends in a null pointer, and no earlier element was null.
            let place = unsafe { head.aux.add(i) };
            // SAFETY: `aux` is an array that ends in a null pointer, and no earlier element was null. The
            // element exists.
            let one = unsafe { place.read() };
            if one.is_null() {
                break;
            }
            // SAFETY: elements of `aux` point to fatbinaries.
            list.push(unsafe { whole(one) }?);
        }
    } else {
        // SAFETY: in version 1, `data` points to a fatbinary.
        list.push(unsafe { whole(head.data) }?);
    }
    Ok(list)
}

/// The bytes of a fatbinary, whose header has their number.
///
/// # Safety
/// `start` is null or points to a fatbinary that lives as long as the result is used.
pub(crate) unsafe fn whole<'a>(start: *const u8) -> Result<&'a [u8], FatbinError> {
    if start.is_null() {
        return Err(FatbinError::Malformed("no fatbinary"));
    }
    // SAFETY: a fatbinary starts with a header of 16 bytes.
    let header = unsafe { core::slice::from_raw_parts(start, 16) };
    if read_u32(header, 0)? != FATBIN_MAGIC {
        return Err(FatbinError::Malformed("wrong magic number"));
    }
    let length = u64::from(read_u16(header, 6)?).saturating_add(read_u64(header, 8)?);
    let length = usize::try_from(length).map_err(|_| FatbinError::Malformed("too large"))?;
    // SAFETY: the header has the number of bytes that follow, and the caller vouches for the header.
    Ok(unsafe { core::slice::from_raw_parts(start, length) })
}

/// Unpacks a raw LZ4 block whose plain size is known.
fn lz4(packed: &[u8], plain: usize) -> Result<Vec<u8>, FatbinError> {
    // LZ4 expands at most 255 times: an announced size beyond that is a lie, and must not be allocated.
    if plain > packed.len().saturating_mul(255).saturating_add(16) {
        return Err(FatbinError::Packed("LZ4: an impossible size".into()));
    }
    lz4_flex::block::decompress(packed, plain).map_err(|e| FatbinError::Packed(format!("LZ4: {e}")))
}

/// Unpacks a zstd frame whose plain size is known.
fn zstd(packed: &[u8], plain: usize) -> Result<Vec<u8>, FatbinError> {
    let failed = |e: &dyn core::fmt::Display| FatbinError::Packed(format!("zstd: {e}"));
    let decoder = ruzstd::decoding::StreamingDecoder::new(packed).map_err(|e| failed(&e))?;
    let mut out = Vec::new();
    // One byte more than announced is enough to notice a lie.
    let limit = u64::try_from(plain).unwrap_or(u64::MAX).saturating_add(1);
    decoder.take(limit).read_to_end(&mut out).map_err(|e| failed(&e))?;
    if out.len() != plain {
        return Err(FatbinError::Packed(format!("zstd: {} bytes, {plain} announced", out.len())));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::compile;

    const SOURCE: &str = "__global__ void kernel_of_the_test(int* p) { *p = 1; }";

    #[test]
    fn every_compression_gives_the_same_text() {
        let text = |mode: &str| {
            let mode = format!("--compress-mode={mode}");
            let fatbin = compile(SOURCE, "-fatbin", &["-gencode", "arch=compute_90,code=compute_90", &mode]);
            ptx(&fatbin, 90).unwrap()
        };
        let plain = text("none");
        assert!(plain.contains(".entry") && plain.contains("kernel_of_the_test"));
        for mode in ["size", "speed", "balance", "default"] {
            assert_eq!(text(mode), plain, "{mode}");
        }
    }

    #[test]
    fn the_newest_ptx_that_the_device_may_run_is_chosen() {
        let options = [
            "-gencode=arch=compute_80,code=compute_80",
            "-gencode=arch=compute_90,code=compute_90",
            "-gencode=arch=compute_100,code=compute_100",
        ];
        let fatbin = compile(SOURCE, "-fatbin", &options);
        assert!(ptx(&fatbin, 90).unwrap().contains(".target sm_90"));
        assert!(ptx(&fatbin, 86).unwrap().contains(".target sm_80"));
        assert!(matches!(ptx(&fatbin, 75), Err(FatbinError::NoPtx(_))));
    }

    #[test]
    fn machine_code_alone_gives_a_hint() {
        let fatbin = compile(SOURCE, "-fatbin", &["-gencode=arch=compute_90,code=sm_90"]);
        let message = ptx(&fatbin, 90).unwrap_err().to_string();
        assert!(
            message.contains("machine code for sm 90") && message.contains("code=compute_XX"),
            "{message}"
        );
    }

    #[test]
    fn damage_is_an_error_and_no_panic() {
        let fatbin = compile(SOURCE, "-fatbin", &["-gencode=arch=compute_90,code=compute_90"]);
        for length in 0..fatbin.len() {
            assert!(ptx(&fatbin[..length], 90).is_err(), "{length} bytes");
        }
        for at in 0..fatbin.len() {
            let mut damaged = fatbin.clone();
            damaged[at] ^= 0xFF;
            let _ = ptx(&damaged, 90);
        }
    }
}
