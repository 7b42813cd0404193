//! Slices of memory that a graph owns, and the traits through which nodes of the same graph use it: in
//! copies, fills and kernels.
#![expect(unsafe_code, reason = "lends memory to kernels")]

use std::fmt;
use std::ops::{Range, RangeBounds};

use bytemuck::AnyBitPattern;

use super::identity::making;
use super::memory::GraphBuffer;
use crate::copy::{Destination, InGraph, Operand, Source};
use crate::error::{Detail, Error, Result};
use crate::hazard::{Access, Mode};
use crate::launch::{CheckedArg, KernelArg, read_only};
use crate::memory::memory_type::sealed::Tag;
use crate::memory::size;

/// A range of a [`GraphBuffer`] that nodes of its graph read.
pub struct GraphSlice<'a, T> {
    of: &'a GraphBuffer<T>,
    /// The range in elements: the first, and one past the last.
    range: (usize, usize),
}

/// A range of a [`GraphBuffer`] that nodes of its graph write.
pub struct GraphSliceMut<'a, T>(GraphSlice<'a, T>);

impl<T> GraphBuffer<T> {
    /// Returns a range of the elements for reading.
    ///
    /// # Errors
    /// Refuses a range that is not inside the buffer; the error holds range and length.
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<GraphSlice<'_, T>> {
        let Range { start, end } = size::range_in("GraphBuffer::slice", &range, self.len())?;
        Ok(GraphSlice { of: self, range: (start, end) })
    }

    /// Returns a range of the elements for writing.
    ///
    /// # Errors
    /// As [`slice`](Self::slice).
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::graph::node;
    /// use cuda_safe::{Graph, PinnedBuffer, Stream};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let mut host = PinnedBuffer::<u8>::alloc(2)?;
    /// let mut graph = Graph::new()?;
    /// let mut scratch = graph.add(&[], node::alloc::<u8>(8))?;
    /// graph.add(&[], node::memset(&mut scratch.slice_mut(..4)?, 1))?;
    /// graph.add(&[], node::memset(&mut scratch.slice_mut(4..)?, 2))?; // other bytes than the first fill
    /// graph.add(&[], node::memcpy(&mut host, &scratch.slice(3..5)?))?;
    /// graph.add(&[], node::free(&mut scratch))?;
    /// graph.instantiate()?.launch(&stream)?;
    /// assert_eq!(*host.host()?, [1, 2]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<GraphSliceMut<'_, T>> {
        let Range { start, end } = size::range_in("GraphBuffer::slice_mut", &range, self.len())?;
        Ok(GraphSliceMut(GraphSlice { of: self, range: (start, end) }))
    }

    fn all(&self) -> GraphSlice<'_, T> {
        GraphSlice { of: self, range: (0, self.len()) }
    }

    /// Refuses nodes of any graph other than the owner.
    #[track_caller]
    pub(super) fn ensure_of(&self, graph: u64, api: &'static str) -> Result<()> {
        if self.graph() == graph { Ok(()) } else { Err(of_another_graph(api)) }
    }
}

/// Returns the refusal of memory that a graph owns, used outside of that graph.
#[cold]
#[track_caller]
pub(super) fn of_another_graph(api: &'static str) -> Error {
    let what = "memory of a graph's own anywhere but in nodes of that graph";
    Error::refused(api, Detail::unsupported(what))
}

size::length!([T] GraphSlice<'_, T>, it => it.range.1 - it.range.0);
size::length!([T] GraphSliceMut<'_, T>, it => it.0.len());

impl<'a, T> GraphSlice<'a, T> {
    fn all(&self) -> Self {
        *self
    }

    fn pointer(&self) -> *mut T {
        self.of.as_ptr().wrapping_add(self.range.0)
    }

    /// Returns the range in bytes. The buffer contains it, so the products do not overflow.
    fn bytes(&self) -> Range<usize> {
        self.range.0 * size_of::<T>()..self.range.1 * size_of::<T>()
    }

    fn access(&self, mode: Mode) -> Access<'a> {
        Access::new(self.of.history(), self.bytes(), mode)
    }

    /// Returns the slice as one side of a copy or a fill in a node of its graph.
    fn operand(&self) -> Operand<'a> {
        let (memory, tracker) = ((Tag::Device, self.of.device), (self.of.history(), self.bytes()));
        Operand::unborrowed(self.pointer(), self.len(), memory, tracker).of_graph(self.of.graph())
    }

    /// Returns the address, for a kernel node of the same graph.
    #[track_caller]
    fn argument(&self) -> Result<*mut T> {
        self.of.ensure_of(making().graph, "launch")?;
        Ok(self.pointer())
    }
}

impl<T> GraphSliceMut<'_, T> {
    fn all(&self) -> GraphSlice<'_, T> {
        self.0
    }
}

impl<T> Clone for GraphSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for GraphSlice<'_, T> {}

impl<T> fmt::Debug for GraphSlice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GraphSlice").field("of", self.of).field("range", &self.range).finish()
    }
}

impl<T> fmt::Debug for GraphSliceMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GraphSliceMut").field(&self.0).finish()
    }
}

/// Implements the traits of a node's source.
macro_rules! read {
    ($($memory:ty),*) => { $(
        impl<T: AnyBitPattern> Source<InGraph> for $memory {
            type Element = T;

            fn operand(&self) -> Result<Operand<'_>> {
                Ok(self.all().operand())
            }
        }
    )* };
}

/// Implements the traits of a node's destination.
macro_rules! written {
    ($($memory:ty),*) => { $(
        impl<T: AnyBitPattern> Destination<InGraph> for $memory {
            type Element = T;

            fn operand_mut(&mut self) -> Result<Operand<'_>> {
                Ok(self.all().operand())
            }
        }
    )* };
}

/// Implements [`KernelArg`] for one kind of pointer.
macro_rules! argument {
    ($pointer:ty, $mode:ident, for $($memory:ty),*) => { $(
        // SAFETY: the kernel receives the address of the first element, and the access covers the bytes of
        // all elements. The argument is refused except in a node of the graph that owns the memory, and
        // that node runs between those that allocate and free it.
        unsafe impl<T: 'static> KernelArg<$pointer> for $memory {
            #[track_caller]
            fn value(&self) -> Result<$pointer> {
                Ok(self.all().argument()?.cast())
            }

            fn access(&self) -> Option<Access<'_>> {
                Some(self.all().access(Mode::$mode))
            }
        }

        // SAFETY: the access is of the elements at whose address the value points.
        unsafe impl<T: 'static> CheckedArg<$pointer> for $memory {}
    )* };
}

read!(GraphBuffer<T>, GraphSlice<'_, T>, GraphSliceMut<'_, T>);
written!(GraphBuffer<T>, GraphSliceMut<'_, T>);
argument!(*const T, Read, for &GraphBuffer<T>, GraphSlice<'_, T>, &GraphSlice<'_, T>);
argument!(*const T, Read, for GraphSliceMut<'_, T>, &GraphSliceMut<'_, T>);
argument!(*mut T, Write, for &mut GraphBuffer<T>, GraphSliceMut<'_, T>, &mut GraphSliceMut<'_, T>);

read_only! {
    [T] GraphBuffer<T>;
    [T] GraphSlice<'_, T>;
    [T] GraphSliceMut<'_, T>;
}
