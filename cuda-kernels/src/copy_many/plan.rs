//! Copies that are enqueued many times.
#![expect(unsafe_code, reason = "launches kernels after comparing what they rely on")]

use cuda_safe::bytemuck::{AnyBitPattern, NoUninit};
use cuda_safe::error::Detail;
use cuda_safe::launch::{KernelInput, KernelOutput};
use cuda_safe::stream::{AsStream, PreparedAccesses};
use cuda_safe::{Error, Result};

use super::table::Table;
use super::{API, accesses, most, range, tables};

/// Copies between the same memory that are enqueued many times: [`copy_many`](super::copy_many()), checked once.
///
/// A plan keeps addresses, lengths and numbers. It neither borrows nor owns the memory: each
/// [`enqueue`](Self::enqueue) borrows the pairs again and compares them with those of the plan. Enqueueing 64 pairs again
/// takes about a third of the host's time that `copy_many` takes.
///
/// # Examples
/// ```
/// use cuda_kernels::CopyManyPlan;
/// use cuda_safe::{DeviceBuffer, Stream};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let stream = Stream::new()?;
/// let rows = DeviceBuffer::from_slice(&[1_u16, 2, 3, 4, 5, 6])?;
/// let mut column = DeviceBuffer::<u16>::alloc(3)?;
/// let plan = CopyManyPlan::new(column.slice_mut(..)?.chunks_mut(1)?.zip(rows.slice(..)?.chunks(1)?.step_by(2)))?;
/// for _ in 0..3 {
///     plan.enqueue(column.slice_mut(..)?.chunks_mut(1)?.zip(rows.slice(..)?.chunks(1)?.step_by(2)), &stream)?;
/// }
/// assert_eq!(column.to_vec()?, [1, 3, 5]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct CopyManyPlan {
    pairs: usize,
    launches: Vec<(Table, PreparedAccesses)>,
}

impl CopyManyPlan {
    /// Makes a plan for pairs as [`copy_many`](super::copy_many()) takes them. Nothing is launched.
    ///
    /// # Errors
    /// A pair whose lengths differ, a destination that shares a byte with another destination or with any source.
    #[track_caller]
    pub fn new<T, D, S>(pairs: impl IntoIterator<Item = (D, S)>) -> Result<Self>
    where
        T: AnyBitPattern + NoUninit,
        D: KernelOutput<T>,
        S: KernelInput<T>,
    {
        let pairs: Vec<(D, S)> = pairs.into_iter().collect();
        let tables = tables(&pairs, None)?;
        let prepared = pairs.chunks(most(pairs.len())).map(|pairs| PreparedAccesses::new(&accesses(pairs)));
        Ok(Self { pairs: pairs.len(), launches: tables.into_iter().zip(prepared).collect() })
    }

    /// Copies each source to its destination, all of them by one kernel. The pairs are those that the plan was made for.
    ///
    /// # Ordering
    /// As [`copy_many`](super::copy_many()).
    ///
    /// # Errors
    /// Other pairs than those of the plan, memory of another device than the stream's: nothing is launched then. Otherwise
    /// as `copy_many`.
    #[track_caller]
    pub fn enqueue<T, D, S>(
        &self,
        pairs: impl IntoIterator<Item = (D, S)>,
        stream: &impl AsStream,
    ) -> Result<()>
    where
        T: AnyBitPattern + NoUninit,
        D: KernelOutput<T>,
        S: KernelInput<T>,
    {
        let (pairs, stream) = (pairs.into_iter().collect::<Vec<_>>(), stream.as_stream());
        if pairs.len() != self.pairs {
            let detail =
                Detail::WrongLength { what: "the list of pairs", needed: self.pairs, found: pairs.len() };
            return Err(Error::refused(API, detail));
        }
        let mut planned = self.launches.iter().flat_map(|(table, _)| table.ranges());
        for (index, pair) in pairs.iter().enumerate() {
            if let Some(range) = range(pair, Some(stream))?
                && planned.next().is_none_or(|planned| *planned != range)
            {
                return Err(Error::refused(API, Detail::NotPlanned { index }));
            }
        }
        if planned.next().is_some() {
            return Err(Error::refused(API, Detail::NotPlanned { index: pairs.len() }));
        }
        for (pairs, (table, prepared)) in pairs.chunks(most(pairs.len())).zip(&self.launches) {
            // SAFETY: the pairs are those that the table is of, which `tables` has checked when the plan was made; the
            // stream's device reaches them.
            unsafe { table.launch(Some(prepared), &accesses(pairs), stream) }?;
        }
        Ok(())
    }
}
