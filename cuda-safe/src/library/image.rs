//! Checks the format and length of code before the driver reads it.
//!
//! The driver takes no length. It reads PTX up to a zero byte, and other formats up to the length in their
//! own headers. Therefore PTX must be text and gets a zero byte appended, and an image is refused if its
//! headers claim more bytes than it has.

use crate::error::{Detail, Error, OrRefused, Result, ensure};

const ELF: &[u8] = b"\x7fELF";
const FATBIN: [u8; 4] = 0xBA55_ED50_u32.to_le_bytes();
/// The structure in front of a fatbinary in a program. It holds the fatbinary's address.
const WRAPPER: [u8; 4] = 0x4662_43B1_u32.to_le_bytes();

/// Returns the text of PTX with a zero byte appended.
#[track_caller]
pub(super) fn ptx(api: &'static str, bytes: &[u8]) -> Result<Vec<u8>> {
    // NVRTC counts the zero byte as part of the text.
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let text = bytes.get(..end).unwrap_or_default();
    let wrong = if text.starts_with(ELF) {
        Some("PTX but machine code, which from_data loads")
    } else if text.starts_with(&FATBIN) {
        Some("PTX but a fatbinary, which from_data loads")
    } else if text.contains(&0) {
        Some("PTX: it has a zero byte within")
    } else if !cuda_ptx::begins_as_ptx(text) {
        Some("PTX, which begins with .version")
    } else {
        None
    };
    if let Some(what) = wrong {
        return Err(Error::refused(api, Detail::not_code(what)));
    }
    let mut text = text.to_vec();
    text.push(0);
    Ok(text)
}

/// Returns the bytes of PTX, a cubin or a fatbinary in the form that the driver takes.
#[track_caller]
pub(super) fn any(api: &'static str, bytes: &[u8]) -> Result<Vec<u8>> {
    let needed = if bytes.starts_with(ELF) {
        elf(bytes)
    } else if bytes.starts_with(&FATBIN) {
        fatbin(bytes)
    } else if bytes.starts_with(&WRAPPER) {
        let what = "a fatbinary but the wrapper of one, which has its address: give that";
        return Err(Error::refused(api, Detail::not_code(what)));
    } else {
        return ptx(api, bytes);
    };
    let what = "a whole image: its header is cut short or damaged";
    let needed = needed.or_refused(api, || Detail::not_code(what))?;
    let (what, found) = ("the image, in bytes,", bytes.len());
    ensure(needed <= found, api, || Detail::wrong_length(what, needed, found))?;
    Ok(bytes.to_vec())
}

/// Returns the PTX texts of code that was loaded, if it has nothing else, and if each sign of them means the
/// same to the driver's compiler and to a proof.
pub(super) fn texts(code: &[u8]) -> core::result::Result<Vec<&str>, &'static str> {
    let texts = if code.is_empty() {
        return Err("it was loaded from a file: load the contents of the file by `from_ptx`");
    } else if code.starts_with(ELF) {
        return Err("it is machine code, without PTX");
    } else if code.starts_with(&FATBIN) {
        entries(code)?
    } else {
        vec![code]
    };
    texts.into_iter().map(plain).collect()
}

/// Returns the text of PTX without the zero bytes behind it.
fn plain(bytes: &[u8]) -> core::result::Result<&str, &'static str> {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let text = bytes.get(..end).and_then(|text| str::from_utf8(text).ok());
    let text = text.ok_or("its PTX is no text")?;
    // Where a comment ends must be no question.
    if cuda_ptx::is_plain(text) {
        Ok(text)
    } else {
        Err("its PTX has signs that nvcc and NVRTC do not write")
    }
}

/// Returns the PTX in a fatbinary.
fn entries(code: &[u8]) -> core::result::Result<Vec<&[u8]>, &'static str> {
    const PTX: usize = 1;
    const PACKED: usize = 0xA000;
    let cut = "its fatbinary is cut short or damaged";
    let end = fatbin(code).ok_or(cut)?;
    let (mut at, mut texts) = (number(code, 6, 2).ok_or(cut)?, Vec::new());
    while at < end {
        let entry = code.get(at..end).ok_or(cut)?;
        let field = |at, size| number(entry, at, size).ok_or(cut);
        let (header, bytes) = (field(4, 4)?, field(8, 4)?);
        let total = header.checked_add(bytes).ok_or(cut)?;
        if field(0, 2)? != PTX {
            return Err("its fatbinary has more than PTX, and machine code may come from other PTX");
        }
        if field(40, 8)? & PACKED != 0 {
            return Err("its PTX is compressed: nvcc's option `--no-compress` leaves it as it is");
        }
        texts.push(entry.get(header..total).filter(|_| header >= 48).ok_or(cut)?);
        at = at.checked_add(total).ok_or(cut)?;
    }
    Ok(texts)
}

/// Returns the number of bytes that a fatbinary's header claims.
fn fatbin(bytes: &[u8]) -> Option<usize> {
    number(bytes, 6, 2)?.checked_add(number(bytes, 8, 8)?)
}

/// Returns the number of bytes that the headers of a 64-bit ELF file claim: up to the end of its tables,
/// its sections and its segments.
fn elf(bytes: &[u8]) -> Option<usize> {
    // 64 bits, little-endian.
    if bytes.get(4..6)? != [2, 1] {
        return None;
    }
    let mut most = 64;
    // For sections and for segments: where the header holds the table's offset, the size of an entry and
    // the number of entries; and where an entry holds offset and size.
    for (table, entry, count, offset, size) in
        [(0x28, 0x3A, 0x3C, 0x18, 0x20), (0x20, 0x36, 0x38, 0x08, 0x20)]
    {
        let (table, entry, count) =
            (number(bytes, table, 8)?, number(bytes, entry, 2)?, number(bytes, count, 2)?);
        let end = table.checked_add(entry.checked_mul(count)?)?;
        most = most.max(end);
        if end > bytes.len() {
            return Some(most);
        }
        for at in (0..count).map(|at| table + at * entry) {
            // Sections of zeros (`SHT_NOBITS`) and the unused first section (`SHT_NULL`) have no bytes in
            // the file.
            let empty = entry == 64 && matches!(number(bytes, at.checked_add(4)?, 4)?, 0 | 8);
            if !empty {
                most = most.max(number(bytes, at + offset, 8)?.checked_add(number(bytes, at + size, 8)?)?);
            }
        }
    }
    Some(most)
}

/// Returns the little-endian number in `size` bytes.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
    let found = bytes.get(at..at.checked_add(size)?)?;
    let number = found
        .iter()
        .rev()
        .try_fold(0_u64, |sum, byte| sum.checked_mul(256)?.checked_add(u64::from(*byte)))?;
    usize::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::{any, ptx};
    use crate::error::Detail;

    const TEXT: &[u8] = b" // made by hand\n/*/ for\ntests */.version 8.0\n.target sm_90\n";

    #[test]
    fn text_is_given_one_zero_byte_whatever_it_ends_with() {
        for zeros in 0..3 {
            let text = [TEXT, &[0; 3][..zeros]].concat();
            assert_eq!(ptx("from_ptx", &text).unwrap(), [TEXT, &[0]].concat());
            assert_eq!(any("from_data", &text).unwrap(), [TEXT, &[0]].concat());
        }
    }

    #[test]
    fn what_the_driver_would_not_read_as_text_is_refused() {
        let cut = [TEXT, b"\0", TEXT].concat();
        let others: [&[u8]; 8] = [
            b"",
            b"\0",
            &cut,
            b"\x7fELF",
            b"\x50\xED\x55\xBA",
            b"// no end",
            b"/*/ .version 8.0",
            b"!<arch>\n.version",
        ];
        for bytes in others {
            let error = ptx("from_ptx", bytes).unwrap_err();
            assert!(error.detail().as_str().contains("this is not "), "{bytes:?}: {error}");
        }
    }

    /// An ELF file with a table of one section, whose bytes precede the table.
    fn file(section: usize) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01".to_vec();
        bytes.resize(64 + section, 0);
        let table = bytes.len();
        bytes[0x28..0x30].copy_from_slice(&table.to_le_bytes());
        bytes[0x3A..0x3E].copy_from_slice(&[64, 0, 1, 0]);
        bytes[0x36] = 56;
        bytes.resize(table + 64, 0);
        bytes[table + 4] = 1;
        bytes[table + 0x18] = 64;
        bytes[table + 0x20..table + 0x28].copy_from_slice(&section.to_le_bytes());
        bytes
    }

    fn cut(needed: usize, found: usize) -> Detail {
        Detail::wrong_length("the image, in bytes,", needed, found)
    }

    #[test]
    fn an_image_that_is_cut_short_is_refused_with_both_numbers() {
        let mut fatbin = [&b"\x50\xED\x55\xBA\x01\x00\x10\x00"[..], &100_u64.to_le_bytes()].concat();
        fatbin.resize(116, 7);
        for whole in [fatbin, file(100)] {
            assert_eq!(any("from_data", &whole).unwrap(), whole);
            for len in 4..whole.len() {
                let detail = any("from_data", &whole[..len]).unwrap_err().detail().clone();
                let both = (len + 1..).take(whole.len()).any(|needed| detail == cut(needed, len));
                assert!(both || detail.as_str().contains("this is not "), "{len}: {detail:?}");
            }
            let detail = any("from_data", &whole[..whole.len() - 1]).unwrap_err().detail().clone();
            assert_eq!(detail, cut(whole.len(), whole.len() - 1));
        }
    }

    #[test]
    fn a_section_past_the_end_is_found_and_numbers_that_overflow_are_no_panic() {
        let mut bytes = file(100);
        let table = bytes.len() - 64;
        bytes[table + 0x21] = 1;
        let needed = 64 + 100 + 256;
        let refused = any("x", &bytes).unwrap_err();
        assert!(refused.detail() == &cut(needed, bytes.len()));
        for at in 4..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at..].iter_mut().take(8).for_each(|byte| *byte = 0xFF);
            let _ = any("x", &damaged);
        }
    }

    #[test]
    fn a_wrapper_is_no_fatbinary() {
        let bytes = [&0x4662_43B1_u32.to_le_bytes()[..], &[0; 20]].concat();
        assert!(any("from_data", &bytes).unwrap_err().to_string().contains("wrapper"));
    }
}
