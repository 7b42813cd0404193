//! Arithmetic on lengths and sizes, all of it checked, all of it here.
//!
//! Lengths are in elements, sizes in bytes. What does not fit is an [`Error`] that gives both operands.

use std::ops::{Bound, Range, RangeBounds};

use crate::error::{Detail, Error, Result};

/// Bytes of `len` elements of `T`. Elements without bytes are refused here, for every caller.
#[inline]
#[track_caller]
pub(crate) fn bytes_of<T>(api: &'static str, len: usize) -> Result<usize> {
    let element = size_of::<T>();
    if element == 0 {
        return Err(Error::refused(api, Detail::ZeroSized { type_name: std::any::type_name::<T>() }));
    }
    // No object of either side is larger than this, so no pointer arithmetic below can leave it.
    match len.checked_mul(element) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(bytes),
        _ => Err(Error::refused(
            api,
            Detail::Overflow { what: "the size in bytes", left: len, right: element },
        )),
    }
}

/// The elements that `range` stands for in something of `len` elements.
#[inline]
#[track_caller]
pub(crate) fn range_in(
    api: &'static str,
    range: &impl RangeBounds<usize>,
    len: usize,
) -> Result<Range<usize>> {
    let start = match range.start_bound() {
        Bound::Included(&start) => Some(start),
        Bound::Excluded(&before) => before.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.checked_add(1),
        Bound::Excluded(&end) => Some(end),
        Bound::Unbounded => Some(len),
    };
    match (start, end) {
        (Some(start), Some(end)) if start <= end && end <= len => Ok(start..end),
        (start, end) => {
            let (start, end) = (start.unwrap_or(usize::MAX), end.unwrap_or(usize::MAX));
            Err(Error::refused(api, Detail::OutOfRange { start, end, len }))
        }
    }
}

/// How many elements of `U` the bytes are: the size must divide and the address must fit.
#[inline]
#[track_caller]
pub(crate) fn reinterpreted<U>(api: &'static str, address: usize, bytes: usize) -> Result<usize> {
    let element = size_of::<U>();
    if element == 0 {
        return Err(Error::refused(api, Detail::ZeroSized { type_name: std::any::type_name::<U>() }));
    }
    if !bytes.is_multiple_of(element) {
        return Err(Error::refused(api, Detail::NotDivisible { bytes, element }));
    }
    aligned::<U>(api, address)?;
    Ok(bytes / element)
}

/// Refuses an address at which no `T` may be.
#[inline]
#[track_caller]
pub(crate) fn aligned<T>(api: &'static str, address: usize) -> Result<()> {
    let align = align_of::<T>();
    if address.is_multiple_of(align) {
        Ok(())
    } else {
        Err(Error::refused(api, Detail::Misaligned { address, align }))
    }
}

/// Refuses a copy between sides of different lengths, in elements.
#[inline]
#[track_caller]
pub(crate) fn same_length(api: &'static str, destination: usize, source: usize) -> Result<()> {
    if destination == source {
        Ok(())
    } else {
        Err(Error::refused(api, Detail::LengthMismatch { destination, source }))
    }
}

/// Whether two ranges of one allocation share a byte.
#[inline]
pub(crate) fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end && !a.is_empty() && !b.is_empty()
}

#[cfg(test)]
mod tests {
    use super::{bytes_of, overlap, range_in, reinterpreted, same_length};
    use crate::error::Detail;

    #[test]
    fn sizes_that_overflow_are_refused_with_both_operands() {
        assert_eq!(bytes_of::<u64>("test", 3).unwrap(), 24);
        assert_eq!(bytes_of::<u8>("test", 0).unwrap(), 0);
        for len in [usize::MAX, usize::MAX / 8 + 1, isize::MAX as usize / 8 + 1] {
            let error = bytes_of::<u64>("test", len).unwrap_err();
            assert_eq!(error.detail(), Detail::Overflow { what: "the size in bytes", left: len, right: 8 });
        }
    }

    #[test]
    fn elements_without_bytes_are_refused() {
        let error = bytes_of::<[u32; 0]>("test", 1).unwrap_err();
        assert!(matches!(error.detail(), Detail::ZeroSized { .. }));
        assert!(error.to_string().contains("[u32; 0]"));
        assert!(reinterpreted::<()>("test", 0, 8).is_err());
    }

    #[test]
    fn every_kind_of_range_is_understood() {
        let range = |range: (std::ops::Bound<usize>, std::ops::Bound<usize>)| range_in("test", &range, 10);
        use std::ops::Bound::{Excluded, Included, Unbounded};
        assert_eq!(range((Unbounded, Unbounded)).unwrap(), 0..10);
        assert_eq!(range((Included(3), Included(4))).unwrap(), 3..5);
        assert_eq!(range((Excluded(3), Excluded(4))).unwrap(), 4..4);
        assert_eq!(range_in("test", &(10..), 10).unwrap(), 10..10);
        assert_eq!(range_in("test", &(..=9), 10).unwrap(), 0..10);
    }

    #[test]
    #[expect(clippy::reversed_empty_ranges, reason = "what is refused")]
    fn ranges_that_do_not_fit_are_refused_with_the_length() {
        let error = range_in("test", &(3..11), 10).unwrap_err();
        assert_eq!(error.detail(), Detail::OutOfRange { start: 3, end: 11, len: 10 });
        assert!(range_in("test", &(5..4), 10).is_err());
        assert!(range_in("test", &(11..), 10).is_err());
        assert!(range_in("test", &(..=usize::MAX), 10).is_err());
        assert!(range_in("test", &(..=10), 10).is_err());
    }

    #[test]
    fn bytes_are_looked_at_as_another_type_only_where_they_fit() {
        assert_eq!(reinterpreted::<u32>("test", 256, 12).unwrap(), 3);
        assert!(matches!(
            reinterpreted::<u32>("test", 256, 13).unwrap_err().detail(),
            Detail::NotDivisible { .. }
        ));
        assert!(matches!(
            reinterpreted::<u32>("test", 258, 12).unwrap_err().detail(),
            Detail::Misaligned { .. }
        ));
    }

    #[test]
    fn different_lengths_are_refused_with_both() {
        assert!(same_length("test", 4, 4).is_ok());
        let error = same_length("test", 4, 5).unwrap_err();
        assert_eq!(error.detail(), Detail::LengthMismatch { destination: 4, source: 5 });
    }

    #[test]
    fn ranges_that_touch_do_not_overlap() {
        assert!(overlap(&(0..4), &(3..8)));
        assert!(overlap(&(0..8), &(3..4)));
        assert!(!overlap(&(0..4), &(4..8)));
        assert!(!overlap(&(0..4), &(2..2)));
        assert!(!overlap(&(2..2), &(0..4)));
    }
}
