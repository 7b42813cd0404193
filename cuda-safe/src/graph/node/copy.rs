//! Copies and fills.
#![expect(unsafe_code, reason = "adds nodes to raw graphs, and changes them")]

use bytemuck::AnyBitPattern;

use super::{BodyOp, NodeOp, NodeTarget, Recipient, Resolve, retain_all, sealed};
use crate::check;
use crate::copy::{CheckedCopy, Destination, InGraph, Operand, Source, SymbolPart};
use crate::error::{Detail, Error, Result};
use crate::graph::slice::of_another_graph;
use crate::hazard::Mode;
use crate::sys;

/// A copy. See [`memcpy`].
#[derive(Debug)]
pub struct Memcpy<'a, D: ?Sized, S: ?Sized> {
    destination: &'a mut D,
    source: &'a S,
}

/// A copy to a variable. See [`memcpy_to_symbol`].
#[derive(Debug)]
pub struct MemcpyToSymbol<'a, V, S: ?Sized> {
    symbol: V,
    source: &'a S,
}

/// A copy from a variable. See [`memcpy_from_symbol`].
#[derive(Debug)]
pub struct MemcpyFromSymbol<'a, D: ?Sized, V> {
    destination: &'a mut D,
    symbol: V,
}

/// A fill. See [`memset`].
#[derive(Debug)]
pub struct Memset<'a, D: ?Sized> {
    destination: &'a mut D,
    value: u8,
}

/// Describes a copy of all elements of `source` to `destination`, inside one device or with pinned memory.
/// [`Graph::add`](super::Graph::add) adds an empty node if there are no elements.
///
/// Stands for [`cudaGraphAddMemcpyNode1D`](sys::cudaGraphAddMemcpyNode1D),
/// [`cudaGraphMemcpyNodeSetParams1D`](sys::cudaGraphMemcpyNodeSetParams1D) and
/// [`cudaGraphExecMemcpyNodeSetParams1D`](sys::cudaGraphExecMemcpyNodeSetParams1D).
///
/// # Errors
/// - Those of [`memcpy_async`](crate::memcpy_async).
/// - `Unsupported` for a copy between devices, and for memory that another graph owns.
#[doc(alias = "cudaGraphAddMemcpyNode")]
#[doc(alias = "cudaGraphAddMemcpyNode1D")]
#[doc(alias = "cudaGraphMemcpyNodeSetParams")]
#[doc(alias = "cudaGraphMemcpyNodeSetParams1D")]
#[doc(alias = "cudaGraphExecMemcpyNodeSetParams")]
#[doc(alias = "cudaGraphExecMemcpyNodeSetParams1D")]
#[must_use]
pub fn memcpy<'a, D, S>(destination: &'a mut D, source: &'a S) -> Memcpy<'a, D, S>
where
    D: Destination<InGraph> + ?Sized,
    S: Source<InGraph, Element = D::Element> + ?Sized,
{
    Memcpy { destination, source }
}

/// Describes a copy of all elements of `source` to a variable on the graph's device.
///
/// Stands for [`cudaGraphAddMemcpyNodeToSymbol`](sys::cudaGraphAddMemcpyNodeToSymbol),
/// [`cudaGraphMemcpyNodeSetParamsToSymbol`](sys::cudaGraphMemcpyNodeSetParamsToSymbol) and
/// [`cudaGraphExecMemcpyNodeSetParamsToSymbol`](sys::cudaGraphExecMemcpyNodeSetParamsToSymbol). The node is
/// a [`memcpy`] to the variable's address. In place of C's offset, copy to a
/// [`slice`](crate::launch::Symbol::slice).
///
/// # Errors
/// Those of [`memcpy`] and of [`Symbol::device_ptr`](crate::launch::Symbol::device_ptr).
///
/// # Examples
/// ```no_run
/// use cuda_safe::graph::node;
/// use cuda_safe::launch::Symbol;
/// use cuda_safe::{DeviceBuffer, Graph, Stream};
///
/// # fn run(filter: &'static Symbol<f32>) -> cuda_safe::Result<()> {
/// let stream = Stream::new()?;
/// let weights = DeviceBuffer::from_slice(&[0.25_f32; 9])?;
/// let mut copy = DeviceBuffer::<f32>::alloc(9)?;
/// let mut graph = Graph::new()?;
/// graph.add(&[], node::memcpy_to_symbol(filter, &weights))?;
/// graph.add(&[], node::memcpy_from_symbol(&mut copy, filter))?; // after the first copy
/// graph.instantiate()?.launch(&stream)?;
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaGraphAddMemcpyNodeToSymbol")]
#[doc(alias = "cudaGraphMemcpyNodeSetParamsToSymbol")]
#[doc(alias = "cudaGraphExecMemcpyNodeSetParamsToSymbol")]
#[must_use]
pub fn memcpy_to_symbol<V, S>(symbol: V, source: &S) -> MemcpyToSymbol<'_, V, S>
where
    V: SymbolPart<Element: AnyBitPattern>,
    S: Source<InGraph, Element = V::Element> + ?Sized,
{
    MemcpyToSymbol { symbol, source }
}

/// Describes a copy of all elements of a variable on the graph's device to `destination`.
///
/// Stands for [`cudaGraphAddMemcpyNodeFromSymbol`](sys::cudaGraphAddMemcpyNodeFromSymbol),
/// [`cudaGraphMemcpyNodeSetParamsFromSymbol`](sys::cudaGraphMemcpyNodeSetParamsFromSymbol) and
/// [`cudaGraphExecMemcpyNodeSetParamsFromSymbol`](sys::cudaGraphExecMemcpyNodeSetParamsFromSymbol). The node
/// is a [`memcpy`] from the variable's address.
///
/// # Errors
/// Those of [`memcpy_to_symbol`].
#[doc(alias = "cudaGraphAddMemcpyNodeFromSymbol")]
#[doc(alias = "cudaGraphMemcpyNodeSetParamsFromSymbol")]
#[doc(alias = "cudaGraphExecMemcpyNodeSetParamsFromSymbol")]
#[must_use]
pub fn memcpy_from_symbol<D, V>(destination: &mut D, symbol: V) -> MemcpyFromSymbol<'_, D, V>
where
    D: Destination<InGraph> + ?Sized,
    V: SymbolPart<Element = D::Element>,
    D::Element: AnyBitPattern,
{
    MemcpyFromSymbol { destination, symbol }
}

/// Describes a fill: every *byte* of the destination becomes `value`. [`Graph::add`](super::Graph::add) adds
/// an empty node if there are no elements.
///
/// Stands for [`cudaGraphAddMemsetNode`](sys::cudaGraphAddMemsetNode),
/// [`cudaGraphMemsetNodeSetParams`](sys::cudaGraphMemsetNodeSetParams) and
/// [`cudaGraphExecMemsetNodeSetParams`](sys::cudaGraphExecMemsetNodeSetParams).
///
/// # Errors
/// `Unsupported` for memory that another graph owns.
#[doc(alias = "cudaGraphAddMemsetNode")]
#[doc(alias = "cudaGraphMemsetNodeSetParams")]
#[doc(alias = "cudaGraphExecMemsetNodeSetParams")]
#[must_use]
pub fn memset<D>(destination: &mut D, value: u8) -> Memset<'_, D>
where
    D: Destination<InGraph> + ?Sized,
{
    Memset { destination, value }
}

impl<D: ?Sized, S: ?Sized> sealed::Sealed for Memcpy<'_, D, S> {}

impl<D, S> Resolve for Memcpy<'_, D, S>
where
    D: Destination<InGraph> + ?Sized,
    S: Source<InGraph, Element = D::Element> + ?Sized,
{
    #[inline]
    fn resolve<R: Recipient>(self, to: R) -> Result<R::Out> {
        copy("node::memcpy", self.destination.operand_mut()?, self.source.operand()?, to)
    }
}

impl<D: ?Sized, S: ?Sized> BodyOp for Memcpy<'_, D, S> where Self: NodeOp {}

impl<V, S: ?Sized> sealed::Sealed for MemcpyToSymbol<'_, V, S> {}

impl<V, S> Resolve for MemcpyToSymbol<'_, V, S>
where
    V: SymbolPart<Element: AnyBitPattern>,
    S: Source<InGraph, Element = V::Element> + ?Sized,
{
    fn resolve<R: Recipient>(self, to: R) -> Result<R::Out> {
        let symbol = self.symbol.operand_on(Some(to.device()))?;
        copy("node::memcpy_to_symbol", symbol, self.source.operand()?, to)
    }
}

impl<V, S: ?Sized> BodyOp for MemcpyToSymbol<'_, V, S> where Self: NodeOp {}

impl<D: ?Sized, V> sealed::Sealed for MemcpyFromSymbol<'_, D, V> {}

impl<D, V> Resolve for MemcpyFromSymbol<'_, D, V>
where
    D: Destination<InGraph> + ?Sized,
    V: SymbolPart<Element = D::Element>,
    D::Element: AnyBitPattern,
{
    fn resolve<R: Recipient>(self, to: R) -> Result<R::Out> {
        let symbol = self.symbol.operand_on(Some(to.device()))?;
        copy("node::memcpy_from_symbol", self.destination.operand_mut()?, symbol, to)
    }
}

impl<D: ?Sized, V> BodyOp for MemcpyFromSymbol<'_, D, V> where Self: NodeOp {}

impl<D: ?Sized> sealed::Sealed for Memset<'_, D> {}

impl<D: Destination<InGraph> + ?Sized> Resolve for Memset<'_, D> {
    #[inline]
    fn resolve<R: Recipient>(self, to: R) -> Result<R::Out> {
        let destination = self.destination.operand_mut()?;
        ensure_of(&destination, to.owner().graph)?;
        let Some(access) = destination.written().filter(|access| !access.is_empty()) else {
            return to.take_none();
        };
        let uses = retain_all("node::memset", [access])?;
        let parameters = sys::cudaMemsetParams {
            dst: destination.pointer().cast(),
            pitch: 0,
            value: self.value.into(),
            elementSize: 1,
            width: destination.bytes(),
            height: 1,
        };
        to.take(uses, true, |place| {
            let parameters = &raw const parameters;
            match place {
                // SAFETY: the invariants of `NewNode`. The destination is memory of this size, which the
                // graph retains, and the parameters are live.
                NodeTarget::New(new) => unsafe {
                    check!(cudaGraphAddMemsetNode(new.node, new.graph, new.before, new.count, parameters))
                },
                // SAFETY: the invariants of `NodeTarget`. The graph retains the memory. The parameters are
                // live.
                NodeTarget::Node(node) => unsafe { check!(cudaGraphMemsetNodeSetParams(node, parameters)) },
                // SAFETY: the invariants of `NodeTarget`. The graph retains the memory. The parameters are
                // live.
                NodeTarget::Exec(exec, node) => unsafe {
                    check!(cudaGraphExecMemsetNodeSetParams(exec, node, parameters))
                },
            }
        })
    }
}

impl<D: ?Sized> BodyOp for Memset<'_, D> where Self: NodeOp {}

/// Gives a recipient the copy of one operand to another.
#[inline]
#[track_caller]
fn copy<R: Recipient>(
    api: &'static str,
    destination: Operand<'_>,
    source: Operand<'_>,
    recipient: R,
) -> Result<R::Out> {
    let graph = recipient.owner().graph;
    ensure_of(&destination, graph)?;
    ensure_of(&source, graph)?;
    if destination.bytes() != 0 && destination.is_on_another_device_than(&source) {
        return Err(Error::refused(api, Detail::unsupported("a copy between devices in a graph")));
    }
    let Some(copy) = CheckedCopy::new(api, destination, source)? else { return recipient.take_none() };
    let uses = retain_all(api, destination.access(Mode::Write).into_iter().chain(source.access(Mode::Read)))?;
    let (to, from, bytes) =
        (destination.pointer().cast(), source.pointer().cast_const().cast(), copy.bytes());
    let kind = sys::cudaMemcpyDefault;
    recipient.take(uses, true, |place| match place {
        // SAFETY: the invariants of `NewNode`. Both sides are memory of `bytes` bytes, which the graph
        // retains.
        NodeTarget::New(new) => unsafe {
            check!(cudaGraphAddMemcpyNode1D(
                new.node, new.graph, new.before, new.count, to, from, bytes, kind
            ))
        },
        // SAFETY: the invariants of `NodeTarget`. Both sides are memory of `bytes` bytes, which the graph
        // retains.
        NodeTarget::Node(node) => unsafe {
            check!(cudaGraphMemcpyNodeSetParams1D(node, to, from, bytes, kind))
        },
        // SAFETY: the invariants of `NodeTarget`. Both sides are memory of `bytes` bytes, which the graph
        // retains.
        NodeTarget::Exec(exec, node) => unsafe {
            check!(cudaGraphExecMemcpyNodeSetParams1D(exec, node, to, from, bytes, kind))
        },
    })
}

/// Refuses memory that another graph owns.
#[inline]
#[track_caller]
fn ensure_of(operand: &Operand<'_>, graph: u64) -> Result<()> {
    match operand.graph() {
        Some(owner) if owner != graph => Err(of_another_graph("Graph")),
        _ => Ok(()),
    }
}
