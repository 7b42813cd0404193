//! Nodes that copy to device variables and from them.
//!
//! Each is a copy of a [`SymbolSlice`](crate::launch::SymbolSlice), which the other copy functions accept
//! as well. These methods also accept a whole variable, and use the graph's device if none is named.

use bytemuck::AnyBitPattern;

use super::executable::GraphExec;
use super::graph::Graph;
use super::steps::Node;
use crate::copy::{Destination, InGraph, Operand, Source, SymbolPart};
use crate::error::Result;
#[cfg(doc)]
use crate::sys;

impl Graph {
    /// Adds a copy of all elements of `source` to a variable on the graph's device.
    ///
    /// Stands for [`cudaGraphAddMemcpyNodeToSymbol`](sys::cudaGraphAddMemcpyNodeToSymbol). The node is an
    /// [`add_memcpy`](Self::add_memcpy) to the variable's address. In place of C's offset, copy to a
    /// [`slice`](crate::launch::Symbol::slice).
    ///
    /// # Errors
    /// Those of [`add_memcpy`](Self::add_memcpy) and of
    /// [`Symbol::device_ptr`](crate::launch::Symbol::device_ptr).
    ///
    /// # Examples
    /// ```no_run
    /// use cuda_safe::launch::Symbol;
    /// use cuda_safe::{DeviceBuffer, Graph, Stream};
    ///
    /// # fn run(filter: &'static Symbol<f32>) -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let weights = DeviceBuffer::from_slice(&[0.25_f32; 9])?;
    /// let mut copy = DeviceBuffer::<f32>::alloc(9)?;
    /// let mut graph = Graph::new()?;
    /// graph.add_memcpy_to_symbol(&[], filter, &weights)?;
    /// graph.add_memcpy_from_symbol(&[], &mut copy, filter)?; // after the first copy
    /// graph.instantiate()?.launch(&stream)?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphAddMemcpyNodeToSymbol")]
    #[track_caller]
    pub fn add_memcpy_to_symbol<V, S>(&mut self, after: &[Node], symbol: V, source: &S) -> Result<Node>
    where
        V: SymbolPart<Element: AnyBitPattern>,
        S: Source<InGraph, Element = V::Element> + ?Sized,
    {
        let (to, from) = (symbol.operand_on(Some(self.device()))?, source.operand()?.in_graph(self.number)?);
        self.add_copy("Graph::add_memcpy_to_symbol", after, &to, &from)
    }

    /// Adds a copy of all elements of a variable on the graph's device to `destination`.
    ///
    /// Stands for [`cudaGraphAddMemcpyNodeFromSymbol`](sys::cudaGraphAddMemcpyNodeFromSymbol). The node is
    /// an [`add_memcpy`](Self::add_memcpy) from the variable's address.
    ///
    /// # Errors
    /// Those of [`add_memcpy_to_symbol`](Self::add_memcpy_to_symbol).
    #[doc(alias = "cudaGraphAddMemcpyNodeFromSymbol")]
    #[track_caller]
    pub fn add_memcpy_from_symbol<D, V>(
        &mut self,
        after: &[Node],
        destination: &mut D,
        symbol: V,
    ) -> Result<Node>
    where
        D: Destination<InGraph> + ?Sized,
        V: SymbolPart<Element = D::Element>,
        D::Element: AnyBitPattern,
    {
        let (to, from) =
            (destination.operand_mut()?.in_graph(self.number)?, symbol.operand_on(Some(self.device()))?);
        self.add_copy("Graph::add_memcpy_from_symbol", after, &to, &from)
    }

    /// Sets the copy of a node: all elements of `source` to a variable on the graph's device.
    ///
    /// Stands for [`cudaGraphMemcpyNodeSetParamsToSymbol`](sys::cudaGraphMemcpyNodeSetParamsToSymbol). The
    /// node becomes a [`set_memcpy`](Self::set_memcpy) to the variable's address.
    ///
    /// # Errors
    /// Those of [`set_memcpy`](Self::set_memcpy) and of
    /// [`Symbol::device_ptr`](crate::launch::Symbol::device_ptr).
    #[doc(alias = "cudaGraphMemcpyNodeSetParamsToSymbol")]
    #[track_caller]
    pub fn set_memcpy_to_symbol<V, S>(&mut self, node: Node, symbol: V, source: &S) -> Result<()>
    where
        V: SymbolPart<Element: AnyBitPattern>,
        S: Source<InGraph, Element = V::Element> + ?Sized,
    {
        let (to, from) = (symbol.operand_on(Some(self.device()))?, source.operand()?.in_graph(self.number)?);
        self.set_copy("Graph::set_memcpy_to_symbol", node, &to, &from)
    }

    /// Sets the copy of a node: all elements of a variable on the graph's device to `destination`.
    ///
    /// Stands for [`cudaGraphMemcpyNodeSetParamsFromSymbol`](sys::cudaGraphMemcpyNodeSetParamsFromSymbol).
    /// The node becomes a [`set_memcpy`](Self::set_memcpy) from the variable's address.
    ///
    /// # Errors
    /// Those of [`set_memcpy_to_symbol`](Self::set_memcpy_to_symbol).
    #[doc(alias = "cudaGraphMemcpyNodeSetParamsFromSymbol")]
    #[track_caller]
    pub fn set_memcpy_from_symbol<D, V>(&mut self, node: Node, destination: &mut D, symbol: V) -> Result<()>
    where
        D: Destination<InGraph> + ?Sized,
        V: SymbolPart<Element = D::Element>,
        D::Element: AnyBitPattern,
    {
        let (to, from) =
            (destination.operand_mut()?.in_graph(self.number)?, symbol.operand_on(Some(self.device()))?);
        self.set_copy("Graph::set_memcpy_from_symbol", node, &to, &from)
    }
}

impl GraphExec {
    /// Sets the copy of a node, from the next launch on: all elements of `source` to a variable on the
    /// graph's device.
    ///
    /// Stands for
    /// [`cudaGraphExecMemcpyNodeSetParamsToSymbol`](sys::cudaGraphExecMemcpyNodeSetParamsToSymbol). The
    /// node becomes a [`set_memcpy`](Self::set_memcpy) to the variable's address.
    ///
    /// # Errors
    /// Those of [`set_memcpy`](Self::set_memcpy) and of
    /// [`Symbol::device_ptr`](crate::launch::Symbol::device_ptr).
    #[doc(alias = "cudaGraphExecMemcpyNodeSetParamsToSymbol")]
    #[track_caller]
    pub fn set_memcpy_to_symbol<V, S>(
        &mut self,
        graph: &Graph,
        node: Node,
        symbol: V,
        source: &S,
    ) -> Result<()>
    where
        V: SymbolPart<Element: AnyBitPattern>,
        S: Source<InGraph, Element = V::Element> + ?Sized,
    {
        let (to, from) = (symbol.operand_on(Some(self.device()))?, source.operand()?.in_graph(graph.number)?);
        self.set_copy("GraphExec::set_memcpy_to_symbol", graph, node, &to, &from)
    }

    /// Sets the copy of a node, from the next launch on: all elements of a variable on the graph's device
    /// to `destination`.
    ///
    /// Stands for
    /// [`cudaGraphExecMemcpyNodeSetParamsFromSymbol`](sys::cudaGraphExecMemcpyNodeSetParamsFromSymbol). The
    /// node becomes a [`set_memcpy`](Self::set_memcpy) from the variable's address.
    ///
    /// # Errors
    /// Those of [`set_memcpy_to_symbol`](Self::set_memcpy_to_symbol).
    #[doc(alias = "cudaGraphExecMemcpyNodeSetParamsFromSymbol")]
    #[track_caller]
    pub fn set_memcpy_from_symbol<D, V>(
        &mut self,
        graph: &Graph,
        node: Node,
        destination: &mut D,
        symbol: V,
    ) -> Result<()>
    where
        D: Destination<InGraph> + ?Sized,
        V: SymbolPart<Element = D::Element>,
        D::Element: AnyBitPattern,
    {
        let (to, from): (Operand<'_>, _) =
            (destination.operand_mut()?.in_graph(graph.number)?, symbol.operand_on(Some(self.device()))?);
        self.set_copy("GraphExec::set_memcpy_from_symbol", graph, node, &to, &from)
    }
}
