//! A typed part of an allocation, which all views are made of, and its address in kernels.

use std::marker::PhantomData;
use std::ops::{Range, RangeBounds};

use super::allocation::Allocation;
use super::memory_type::MemoryType;
use super::memory_type::sealed::Tag;
use super::size;
use crate::device::Device;
use crate::error::{Detail, Result, ensure};
use crate::hazard::{Access, Mode};

/// `len` elements of `T` from byte `start` of an allocation on, always within it.
#[derive(Debug)]
pub(crate) struct Span<'a, T> {
    allocation: &'a Allocation,
    start: usize,
    len: usize,
    element: PhantomData<T>,
}

impl<T> Clone for Span<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Span<'_, T> {}

impl<'a, T> Span<'a, T> {
    /// Returns the first `len` elements of an allocation, which has at least as many.
    #[inline]
    pub(crate) fn whole(allocation: &'a Allocation, len: usize) -> Self {
        Self { allocation, start: 0, len, element: PhantomData }
    }

    /// Returns `len` elements from byte `start` of an allocation on, which has them.
    #[inline]
    pub(super) fn part_of(allocation: &'a Allocation, start: usize, len: usize) -> Self {
        Self { allocation, start, len, element: PhantomData }
    }

    /// Returns the length in elements.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns the size in bytes. The allocation contains the span, so this does not overflow.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// Returns the range of bytes, counted from the start of the allocation.
    #[inline]
    pub(crate) fn range(&self) -> Range<usize> {
        self.start..self.start + self.bytes()
    }

    /// Returns the allocation that contains the span.
    #[inline]
    pub(crate) fn allocation(&self) -> &'a Allocation {
        self.allocation
    }

    /// Returns the device of the allocation.
    #[inline]
    pub(crate) fn device(&self) -> Device {
        self.allocation.on()
    }

    /// Returns the address of the first element. The allocation's address is null if it has no bytes.
    #[inline]
    pub(crate) fn pointer(&self) -> *mut T {
        self.allocation.pointer().wrapping_add(self.start).cast()
    }

    /// Returns a read or a write of all the bytes.
    #[inline]
    pub(crate) fn access(&self, mode: Mode) -> Access<'a> {
        Access::new(self.allocation.history(), self.range(), mode)
    }

    /// Returns the elements of a range.
    #[track_caller]
    pub(crate) fn part(&self, api: &'static str, range: &impl RangeBounds<usize>) -> Result<Self> {
        let range = size::range_in(api, range, self.len)?;
        Ok(self.cut(range))
    }

    /// Returns the elements of a range that is known to be within the span.
    fn cut(&self, range: Range<usize>) -> Self {
        Self { start: self.start + range.start * size_of::<T>(), len: range.len(), ..*self }
    }

    /// Returns the elements before `middle` and those from `middle` on.
    #[track_caller]
    pub(crate) fn split(&self, api: &'static str, middle: usize) -> Result<(Self, Self)> {
        ensure(middle <= self.len, api, || Detail::out_of_range(0, middle, self.len))?;
        Ok((self.cut(0..middle), self.cut(middle..self.len)))
    }

    /// Returns parts of `size` elements. The last one is shorter if `size` does not divide the length.
    #[track_caller]
    pub(crate) fn chunks(
        &self,
        api: &'static str,
        size: usize,
    ) -> Result<impl ExactSizeIterator<Item = Self> + use<'a, T>> {
        ensure(size > 0, api, || Detail::zero("the chunk size"))?;
        let span = *self;
        let chunk = move |start: usize| span.cut(start..start.saturating_add(size).min(span.len));
        Ok((0..span.len.div_ceil(size)).map(move |number| chunk(number * size)))
    }

    /// Returns the same bytes as elements of another type.
    #[track_caller]
    pub(crate) fn reinterpret<U>(&self, api: &'static str) -> Result<Span<'a, U>> {
        let len = size::reinterpreted::<U>(api, self.pointer().addr(), self.bytes())?;
        Ok(Span { allocation: self.allocation, start: self.start, len, element: PhantomData })
    }
}

/// Returns the address at which kernels reach host memory.
#[inline]
#[track_caller]
pub(super) fn mapped_pointer<T>(span: Span<'_, T>) -> Result<*mut T> {
    if span.bytes() == 0 {
        return Ok(std::ptr::null_mut());
    }
    Ok(span.allocation.mapped_pointer()?.wrapping_add(span.start).cast())
}

/// Returns the address at which kernels reach memory of any type.
#[inline]
#[track_caller]
pub(crate) fn kernel_pointer<T, M: MemoryType>(span: Span<'_, T>) -> Result<*mut T> {
    match M::TAG {
        Tag::Device | Tag::Managed => Ok(span.pointer()),
        Tag::Pinned => mapped_pointer(span),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::allocation::Allocation;
    use super::Span;
    use crate::device::Device;
    use crate::error::Detail;

    /// An allocation without bytes: enough for arithmetic, and made without calling the runtime.
    fn nothing() -> Arc<Allocation> {
        Allocation::device(Some(Device::from_ordinal(0)), 0).unwrap()
    }

    #[test]
    fn parts_of_parts_count_from_the_allocation() {
        let allocation = nothing();
        let span = Span::<u32> { len: 100, ..Span::whole(&allocation, 0) };
        let part = span.part("test", &(10..50)).unwrap();
        assert_eq!((part.len(), part.range()), (40, 40..200));
        let inner = part.part("test", &(5..=9)).unwrap();
        assert_eq!((inner.len(), inner.range()), (5, 60..80));
        assert!(part.part("test", &(5..41)).is_err());
    }

    #[test]
    fn a_split_gives_two_halves_that_touch() {
        let allocation = nothing();
        let span = Span::<u64> { len: 10, ..Span::whole(&allocation, 0) };
        let (left, right) = span.split("test", 3).unwrap();
        assert_eq!((left.range(), right.range()), (0..24, 24..80));
        assert!(span.split("test", 10).unwrap().1.range().is_empty());
        let error = span.split("test", 11).unwrap_err();
        assert_eq!(error.detail(), &Detail::out_of_range(0, 11, 10));
    }

    #[test]
    fn chunks_cover_everything_once() {
        let allocation = nothing();
        let span = Span::<u16> { len: 10, ..Span::whole(&allocation, 0) };
        let chunks = span.chunks("test", 4).unwrap();
        assert_eq!(chunks.len(), 3);
        let ranges: Vec<_> = chunks.map(|chunk| chunk.range()).collect();
        assert_eq!(ranges, [0..8, 8..16, 16..20]);
        assert!(span.chunks("test", 0).is_err());
    }

    #[test]
    fn another_type_has_as_many_elements_as_fit() {
        let allocation = nothing();
        let span = Span::<u8> { len: 24, ..Span::whole(&allocation, 0) };
        assert_eq!(span.reinterpret::<u64>("test").unwrap().len(), 3);
        assert!(span.part("test", &(..23)).unwrap().reinterpret::<u64>("test").is_err());
        assert!(span.part("test", &(4..12)).unwrap().reinterpret::<u64>("test").is_err());
    }
}
