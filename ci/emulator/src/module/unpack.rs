//! Undoes the compressions that fatbinaries use.

use std::io::Read;

use super::fatbin::FatbinError;

/// Unpacks a raw LZ4 block whose plain size is known.
pub(super) fn lz4(packed: &[u8], plain: usize) -> Result<Vec<u8>, FatbinError> {
    // LZ4 expands at most 255 times: an announced size beyond that is a lie, and must not be allocated.
    if plain > packed.len().saturating_mul(255).saturating_add(16) {
        return Err(FatbinError::Packed("LZ4: an impossible size".into()));
    }
    lz4_flex::block::decompress(packed, plain).map_err(|e| FatbinError::Packed(format!("LZ4: {e}")))
}

/// Unpacks a zstd frame whose plain size is known.
pub(super) fn zstd(packed: &[u8], plain: usize) -> Result<Vec<u8>, FatbinError> {
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
