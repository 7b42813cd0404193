//! Pairs of any number and in any order: what is wrong with them is found and said here.
#![expect(unsafe_code, reason = "launches kernels after checking what they rely on")]

use std::ops::Range;
use std::sync::OnceLock;

use cuda_safe::bytemuck::{AnyBitPattern, NoUninit};
use cuda_safe::device::{Version, driver_version};
use cuda_safe::error::Detail;
use cuda_safe::hazard::Access;
use cuda_safe::launch::{ByValue, Kernel, KernelInput, KernelOutput};
use cuda_safe::stream::StreamRef;
use cuda_safe::{Error, Result};

use super::table::Table;
use super::{API, LARGE, SMALL, range, reads_first};
use crate::check;
use crate::kernels;

/// Copies pairs of any number and in any order, or says what is wrong with them.
#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn any<T, D, S>(pairs: &[(D, S)], stream: StreamRef<'_>) -> Result<()>
where
    T: AnyBitPattern + NoUninit,
    D: KernelOutput<T>,
    S: KernelInput<T>,
{
    let element = size_of::<T>();
    if element == 0 {
        let detail = Detail::ZeroSized { type_name: std::any::type_name::<T>() };
        return Err(Error::refused(API, detail));
    }
    let mut copies = Vec::with_capacity(pairs.len());
    for (destination, source) in pairs {
        let elements = destination.elements();
        if source.elements() != elements {
            let detail = Detail::LengthMismatch { destination: elements, source: source.elements() };
            return Err(Error::refused(API, detail));
        }
        check::output(API, "the destination", destination, elements, &stream)?;
        check::input(API, "the source", source, elements, &stream)?;
        if elements == 0 {
            continue;
        }
        let Some(bytes) = elements.checked_mul(element) else {
            let detail = Detail::Overflow { what: "the size in bytes", left: elements, right: element };
            return Err(Error::refused(API, detail));
        };
        copies.push(Copy {
            to: destination.value()?.cast(),
            from: source.value()?.cast(),
            bytes,
            write: destination.access(),
            read: source.access(),
        });
    }
    launch_all(&mut copies, stream)
}

/// Launches as many kernels as copies of any number take, if they are apart from each other.
#[track_caller]
fn launch_all(copies: &mut [Copy<'_>], stream: StreamRef<'_>) -> Result<()> {
    refuse_overlaps(copies)?;
    let most = if copies.len() > SMALL && takes_large() { LARGE } else { SMALL };
    for copies in copies.chunks(most) {
        if copies.len() > SMALL {
            // SAFETY: no destination overlaps another one or a source, and `any` has checked that the device reaches all of them.
            unsafe { launch::<LARGE, _>(&kernels::copy_many_large, copies, stream) }?;
        } else {
            // SAFETY: as above.
            unsafe { launch::<SMALL, _>(&kernels::copy_many_small, copies, stream) }?;
        }
    }
    Ok(())
}

/// Launches a kernel for copies that its table has room for.
///
/// # Safety
/// The device of the stream reaches the memory of all copies, of which no destination overlaps another one or a source.
#[inline(never)]
#[track_caller]
unsafe fn launch<const N: usize, P: ByValue>(
    kernel: &Kernel<(P, u32)>,
    copies: &[Copy<'_>],
    stream: StreamRef<'_>,
) -> Result<()> {
    let mut table = Table::<N>::new();
    let mut rows = table.rows();
    for copy in copies {
        if !rows.push(copy.to, copy.from, copy.bytes) {
            let asked = u64::try_from(copy.bytes).unwrap_or(u64::MAX);
            let limit = u64::from(u32::MAX) * u64::from(kernels::COPY_MANY_CHUNK);
            let detail = Detail::Limit { what: "the number of bytes of one launch", asked, limit };
            return Err(Error::refused(API, detail));
        }
    }
    rows.end();
    // SAFETY: the caller vouches for the memory; the accesses are those of all copies.
    unsafe { table.launch(kernel, &accesses(copies), stream) }
}

/// One copy, checked.
#[derive(Debug)]
struct Copy<'a> {
    to: *mut u8,
    from: *const u8,
    bytes: usize,
    write: Option<Access<'a>>,
    read: Option<Access<'a>>,
}

impl Copy<'_> {
    fn destination(&self) -> Range<usize> {
        range(self.to.addr(), self.bytes)
    }

    fn source(&self) -> Range<usize> {
        range(self.from.addr(), self.bytes)
    }
}

/// Refuses copies of which one writes what another one reads or writes: borrowed memory cannot, but two owners may stand for
/// the same memory. Sorts the copies by destination.
#[track_caller]
fn refuse_overlaps(copies: &mut [Copy<'_>]) -> Result<()> {
    copies.sort_unstable_by_key(|copy| copy.to);
    let clash = |destination: &Range<usize>, other: &Range<usize>| {
        let bytes = destination.end.min(other.end).saturating_sub(destination.start.max(other.start));
        let (destination, source) = (destination.start, other.start);
        Error::refused(API, Detail::Overlapping { destination, source, bytes })
    };
    for pair in copies.windows(2) {
        if let [one, next] = pair
            && one.destination().end > next.destination().start
        {
            return Err(clash(&next.destination(), &one.destination()));
        }
    }
    let (Some(first), Some(last)) = (copies.first(), copies.last()) else { return Ok(()) };
    let written = first.destination().start..last.destination().end;
    let is_apart = |source: Range<usize>| source.end <= written.start || written.end <= source.start;
    if copies.iter().all(|copy| is_apart(copy.source())) {
        return Ok(());
    }
    let mut sources: Vec<Range<usize>> = copies.iter().map(Copy::source).collect();
    sources.sort_unstable_by_key(|source| source.start);
    // Destinations do not overlap and are in order, so their ends are in order too, and each source has to be compared only
    // with those from the first one that ends behind its start.
    let mut first = 0;
    for source in &sources {
        while copies.get(first).is_some_and(|copy| copy.destination().end <= source.start) {
            first += 1;
        }
        if let Some(copy) = copies.get(first)
            && copy.destination().start < source.end
        {
            return Err(clash(&copy.destination(), source));
        }
    }
    Ok(())
}

/// Whether the driver takes parameters of 32 KiB.
fn takes_large() -> bool {
    static TAKES: OnceLock<bool> = OnceLock::new();
    *TAKES.get_or_init(|| driver_version().is_ok_and(|found| found >= Version { major: 12, minor: 1 }))
}

/// The accesses of copies, for the books: what is written, which is in order, and what is read, of which that comes first which the
/// books take first. Ranges that touch are one.
fn accesses<'a>(copies: &[Copy<'a>]) -> Vec<Access<'a>> {
    let mut accesses = Vec::with_capacity(2 * copies.len());
    let writes = copies.iter().filter_map(|copy| copy.write.as_ref());
    let reads = copies.iter().filter_map(|copy| copy.read.as_ref());
    if copies.first().is_some_and(|copy| reads_first(copy.write.as_ref(), copy.read.as_ref())) {
        append(&mut accesses, reads);
        append(&mut accesses, writes);
    } else {
        append(&mut accesses, writes);
        append(&mut accesses, reads);
    }
    accesses
}

/// Adds accesses to a list, those that touch as one.
fn append<'c, 'a: 'c>(accesses: &mut Vec<Access<'a>>, more: impl Iterator<Item = &'c Access<'a>>) {
    for access in more {
        if !accesses.last_mut().is_some_and(|last| last.take_in(access)) {
            accesses.push(*access);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(to: usize, from: usize, bytes: usize) -> Copy<'static> {
        let (to, from) = (std::ptr::without_provenance_mut(to), std::ptr::without_provenance(from));
        Copy { to, from, bytes, write: None, read: None }
    }

    #[test]
    fn what_is_written_twice_or_read_as_well_is_refused() {
        let refused = |copies: &[(usize, usize, usize)]| {
            let mut copies: Vec<_> =
                copies.iter().map(|(to, from, bytes)| copy(*to, *from, *bytes)).collect();
            refuse_overlaps(&mut copies).err().map(|error| error.detail().clone())
        };
        assert_eq!(refused(&[]), None);
        assert_eq!(
            refused(&[(100, 0, 10), (110, 0, 10), (90, 5, 10)]),
            None,
            "they touch, and share sources"
        );
        assert_eq!(
            refused(&[(100, 0, 10), (50, 20, 10), (109, 40, 2)]),
            Some(Detail::Overlapping { destination: 109, source: 100, bytes: 1 })
        );
        assert_eq!(
            refused(&[(100, 0, 10), (200, 10, 10), (300, 195, 10)]),
            Some(Detail::Overlapping { destination: 200, source: 195, bytes: 5 })
        );
        assert_eq!(
            refused(&[(0, 1000, 900), (2000, 899, 1)]),
            Some(Detail::Overlapping { destination: 0, source: 899, bytes: 1 })
        );
        assert_eq!(
            refused(&[(10, 5, 10)]),
            Some(Detail::Overlapping { destination: 10, source: 5, bytes: 5 })
        );
    }
}
