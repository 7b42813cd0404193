//! Parts of memory of a graph's own, and how all of it is lent to nodes: to copies, fills and kernels of the same graph.
#![expect(unsafe_code, reason = "lends memory to kernels")]

use std::cell::Cell;
use std::fmt;
use std::ops::{Range, RangeBounds};

use bytemuck::AnyBitPattern;

use super::memory::GraphBuffer;
use crate::copy::{Destination, InGraph, MemoryType, Operand, Source, of_another_graph};
use crate::error::Result;
use crate::hazard::{Access, Mode};
use crate::launch::KernelArg;
use crate::memory::size;

/// Some elements of a [`GraphBuffer`], which nodes of its graph read.
pub struct GraphSlice<'a, T> {
    of: &'a GraphBuffer<T>,
    /// The elements: the first, and one past the last.
    range: (usize, usize),
}

/// Some elements of a [`GraphBuffer`], which nodes of its graph write.
pub struct GraphSliceMut<'a, T>(GraphSlice<'a, T>);

impl<T> GraphBuffer<T> {
    /// Some of the elements, to be read.
    ///
    /// # Errors
    /// A refusal where the range is not within them, with range and length.
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<GraphSlice<'_, T>> {
        let Range { start, end } = size::range_in("GraphBuffer::slice", &range, self.len())?;
        Ok(GraphSlice { of: self, range: (start, end) })
    }

    /// Some of the elements, to be written.
    ///
    /// # Errors
    /// As [`slice`](Self::slice).
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{Graph, PinnedBuffer, Stream};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let mut host = PinnedBuffer::<u8>::alloc(2)?;
    /// let mut graph = Graph::new()?;
    /// let mut scratch = graph.add_alloc::<u8>(&[], 8)?;
    /// graph.add_memset(&[], &mut scratch.slice_mut(..4)?, 1)?;
    /// graph.add_memset(&[], &mut scratch.slice_mut(4..)?, 2)?; // beside the other
    /// graph.add_memcpy(&[], &mut host, &scratch.slice(3..5)?)?;
    /// graph.add_free(&[], &mut scratch)?;
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

    /// Refuses anything but nodes of the graph that the memory is of.
    #[track_caller]
    pub(super) fn ensure_of(&self, graph: u64, api: &'static str) -> Result<()> {
        if self.graph() == graph { Ok(()) } else { Err(of_another_graph(api)) }
    }
}

impl<'a, T> GraphSlice<'a, T> {
    /// Length in elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.range.1 - self.range.0
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn all(&self) -> Self {
        *self
    }

    fn pointer(&self) -> *mut T {
        self.of.as_ptr().wrapping_add(self.range.0)
    }

    /// The bytes in the buffer, which holds them, so that they do not overflow.
    fn bytes(&self) -> Range<usize> {
        self.range.0 * size_of::<T>()..self.range.1 * size_of::<T>()
    }

    fn access(&self, mode: Mode) -> Access<'a> {
        Access::new(self.of.ledger(), self.bytes(), mode)
    }

    /// One side of a copy or a fill, of a node of the graph.
    fn operand(&self) -> Operand<'a> {
        let (memory, books) = (MemoryType::Device(self.of.device()), (self.of.ledger(), self.bytes()));
        Operand::unborrowed(self.pointer(), self.len(), memory, books).of_graph(self.of.graph())
    }

    /// The address, for a kernel of a node of the same graph.
    #[track_caller]
    fn argument(&self) -> Result<*mut T> {
        // Graphs are counted from 1.
        self.of.ensure_of(MAKING.get().unwrap_or(0), "launch")?;
        Ok(self.pointer())
    }
}

impl<T> GraphSliceMut<'_, T> {
    /// Length in elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

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

thread_local! {
    /// The graph that the thread is making a kernel node of.
    static MAKING: Cell<Option<u64>> = const { Cell::new(None) };
}

/// While this is there, the thread makes a kernel node of a graph.
pub(super) struct Making(Option<u64>);

/// Lets memory of the graph with this number be an argument of kernels, on this thread.
pub(super) fn make_nodes_of(graph: u64) -> Making {
    Making(MAKING.replace(Some(graph)))
}

impl Drop for Making {
    fn drop(&mut self) {
        MAKING.set(self.0);
    }
}

/// What nodes copy from.
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

/// What nodes copy to and fill.
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

/// What kernels of nodes take for one kind of pointer.
macro_rules! argument {
    ($pointer:ty, $mode:ident, $($memory:ty),*) => { $(
        // SAFETY: the kernel gets the address of the first element and the books the bytes of all; it is refused but for a node of the
        // graph that the memory is of, which runs between those that allocate and free it.
        unsafe impl<T: 'static> KernelArg<$pointer> for $memory {
            #[track_caller]
            fn value(&self) -> Result<$pointer> {
                Ok(self.all().argument()?.cast())
            }

            fn access(&self) -> Option<Access<'_>> {
                Some(self.all().access(Mode::$mode))
            }
        }
    )* };
}

read!(GraphBuffer<T>, GraphSlice<'_, T>, GraphSliceMut<'_, T>);
written!(GraphBuffer<T>, GraphSliceMut<'_, T>);
argument!(*const T, Read, &GraphBuffer<T>, GraphSlice<'_, T>, &GraphSlice<'_, T>, &GraphSliceMut<'_, T>);
argument!(*mut T, Write, &mut GraphBuffer<T>, GraphSliceMut<'_, T>, &mut GraphSliceMut<'_, T>);
