//! Copies to and from variables of kernels' source files.

use bytemuck::AnyBitPattern;

use super::operand::{AsyncDestination, AsyncSource, Destination, Operand, Side, Source, sealed};
use super::scoped::{ScopedDestination, ScopedSource};
use super::transfer::{How, transfer};
use crate::device::Device;
use crate::error::Result;
use crate::launch::Space;
use crate::memory::{Symbol, SymbolSlice};
use crate::stream::{AsStream, Scope};
#[cfg(doc)]
use crate::sys;

/// A variable, or a part of one: what the verbs of this page copy to and from.
///
/// Also a `Result` of a part, whose error the copy returns.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no variable of a kernel's source file",
    label = "neither a `Symbol` nor a part of one"
)]
pub trait SymbolPart: private::SymbolPart {}

mod private {
    use super::{Result, SymbolSlice};

    pub trait SymbolPart {
        type Element: 'static;
        fn part(&self) -> Result<SymbolSlice<Self::Element>>;
    }
}

impl<T> SymbolPart for &'static Symbol<T> {}

impl<T> private::SymbolPart for &'static Symbol<T> {
    type Element = T;

    fn part(&self) -> Result<SymbolSlice<T>> {
        Ok(self.as_slice())
    }
}

impl<T> SymbolPart for SymbolSlice<T> {}

impl<T> private::SymbolPart for SymbolSlice<T> {
    type Element = T;

    fn part(&self) -> Result<SymbolSlice<T>> {
        Ok(*self)
    }
}

impl<T> SymbolPart for &SymbolSlice<T> {}

impl<T> private::SymbolPart for &SymbolSlice<T> {
    type Element = T;

    fn part(&self) -> Result<SymbolSlice<T>> {
        Ok(**self)
    }
}

impl<S: SymbolPart> SymbolPart for Result<S> {}

impl<S: SymbolPart> private::SymbolPart for Result<S> {
    type Element = S::Element;

    fn part(&self) -> Result<SymbolSlice<S::Element>> {
        match self {
            Ok(symbol) => symbol.part(),
            Err(error) => Err(error.clone()),
        }
    }
}

/// Copies all elements of `source` to a variable on the current device, or on the one that is named, on its legacy stream.
///
/// Stands for [`cudaMemcpyToSymbol`](sys::cudaMemcpyToSymbol): a [`memcpy`](crate::memcpy) to where the variable is. For C's
/// offset, copy to a [`slice`](Symbol::slice). The source is whatever `memcpy` takes.
///
/// # Ordering
/// As [`memcpy`](crate::memcpy). Kernels that were launched before and use the variable come before the copy, kernels that are
/// launched later come after it, whatever streams they are on.
///
/// # Errors
/// As [`memcpy`](crate::memcpy) and [`Symbol::device_ptr`].
#[doc(alias = "cudaMemcpyToSymbol")]
#[track_caller]
pub fn memcpy_to_symbol<V, S>(symbol: V, source: &S) -> Result<()>
where
    V: SymbolPart<Element: AnyBitPattern>,
    S: Source<Element = V::Element> + ?Sized,
{
    transfer("memcpy_to_symbol", How::Blocking, &operand(symbol.part()?)?, &source.operand()?)
}

/// Copies all elements of a variable on the current device, or on the one that is named, to `destination`, on its legacy stream.
///
/// Stands for [`cudaMemcpyFromSymbol`](sys::cudaMemcpyFromSymbol): a [`memcpy`](crate::memcpy) from where the variable is. For
/// C's offset, copy from a [`slice`](Symbol::slice). The destination is whatever `memcpy` takes.
///
/// # Ordering
/// As [`memcpy`](crate::memcpy). Kernels that were launched before and write the variable come before the copy.
///
/// # Errors
/// As [`memcpy`](crate::memcpy) and [`Symbol::device_ptr`].
#[doc(alias = "cudaMemcpyFromSymbol")]
#[track_caller]
pub fn memcpy_from_symbol<D, V>(destination: &mut D, symbol: V) -> Result<()>
where
    D: Destination + ?Sized,
    V: SymbolPart<Element = D::Element>,
    D::Element: AnyBitPattern,
{
    transfer("memcpy_from_symbol", How::Blocking, &destination.operand_mut()?, &operand(symbol.part()?)?)
}

/// Gives a stream the copy of all elements of `source` to a variable on the stream's device, or on the one that is named.
///
/// Stands for [`cudaMemcpyToSymbolAsync`](sys::cudaMemcpyToSymbolAsync).
///
/// # Ordering
/// In the order of the stream, and after conflicting work of other streams, launches of kernels that use the variable included.
///
/// # Errors
/// As [`memcpy_async`](crate::memcpy_async) and [`Symbol::device_ptr`].
#[doc(alias = "cudaMemcpyToSymbolAsync")]
#[track_caller]
pub fn memcpy_to_symbol_async<V, S>(symbol: V, source: &S, stream: &impl AsStream) -> Result<()>
where
    V: SymbolPart<Element: AnyBitPattern>,
    S: AsyncSource<Element = V::Element> + ?Sized,
{
    let stream = stream.as_stream();
    let symbol = operand(symbol.part()?.or_on(stream.device()))?;
    transfer("memcpy_to_symbol_async", How::Enqueued(stream), &symbol, &source.operand()?)
}

/// Gives a stream the copy of all elements of a variable on the stream's device, or on the one that is named, to `destination`.
///
/// Stands for [`cudaMemcpyFromSymbolAsync`](sys::cudaMemcpyFromSymbolAsync).
///
/// # Ordering
/// In the order of the stream, and after conflicting work of other streams, launches of kernels that write the variable
/// included.
///
/// # Errors
/// As [`memcpy_async`](crate::memcpy_async) and [`Symbol::device_ptr`].
#[doc(alias = "cudaMemcpyFromSymbolAsync")]
#[track_caller]
pub fn memcpy_from_symbol_async<D, V>(destination: &mut D, symbol: V, stream: &impl AsStream) -> Result<()>
where
    D: AsyncDestination + ?Sized,
    V: SymbolPart<Element = D::Element>,
    D::Element: AnyBitPattern,
{
    let stream = stream.as_stream();
    let symbol = operand(symbol.part()?.or_on(stream.device()))?;
    transfer("memcpy_from_symbol_async", How::Enqueued(stream), &destination.operand_mut()?, &symbol)
}

impl<'scope> Scope<'scope, '_> {
    /// Gives the scope's stream a copy to a variable, from what [`Scope::memcpy_async`] takes.
    ///
    /// Stands for [`cudaMemcpyToSymbolAsync`](sys::cudaMemcpyToSymbolAsync).
    ///
    /// # Errors
    /// As [`memcpy_to_symbol_async`].
    #[doc(alias = "cudaMemcpyToSymbolAsync")]
    #[track_caller]
    pub fn memcpy_to_symbol_async<V, S>(&'scope self, symbol: V, source: S) -> Result<()>
    where
        V: SymbolPart<Element: AnyBitPattern>,
        S: ScopedSource<'scope, Element = V::Element>,
    {
        let stream = self.stream();
        let symbol = operand(symbol.part()?.or_on(stream.device()))?;
        transfer("Scope::memcpy_to_symbol_async", How::Enqueued(stream), &symbol, &source.operand()?)
    }

    /// Gives the scope's stream a copy from a variable, to what [`Scope::memcpy_async`] takes.
    ///
    /// Stands for [`cudaMemcpyFromSymbolAsync`](sys::cudaMemcpyFromSymbolAsync).
    ///
    /// # Errors
    /// As [`memcpy_from_symbol_async`].
    #[doc(alias = "cudaMemcpyFromSymbolAsync")]
    #[track_caller]
    pub fn memcpy_from_symbol_async<D, V>(&'scope self, mut destination: D, symbol: V) -> Result<()>
    where
        D: ScopedDestination<'scope>,
        V: SymbolPart<Element = D::Element>,
        D::Element: AnyBitPattern,
    {
        let stream = self.stream();
        let symbol = operand(symbol.part()?.or_on(stream.device()))?;
        transfer(
            "Scope::memcpy_from_symbol_async",
            How::Enqueued(stream),
            &destination.operand_mut()?,
            &symbol,
        )
    }
}

impl<T: AnyBitPattern> Symbol<T> {
    /// Copies the elements that the current device has to a new vector.
    ///
    /// # Errors
    /// As [`memcpy_from_symbol`].
    #[track_caller]
    pub fn to_vec(&'static self) -> Result<Vec<T>> {
        self.as_slice().to_vec()
    }
}

impl<T: AnyBitPattern> SymbolSlice<T> {
    /// Copies the elements to a new vector.
    ///
    /// # Errors
    /// As [`memcpy_from_symbol`].
    #[track_caller]
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut elements = vec![T::zeroed(); self.len()];
        memcpy_from_symbol(&mut elements, self)?;
        Ok(elements)
    }
}

/// The part of a variable that a node of a graph copies, on the graph's device where none is named.
#[track_caller]
pub(crate) fn symbol_in(symbol: impl SymbolPart, device: Device) -> Result<Operand<'static>> {
    operand(symbol.part()?.or_on(device))
}

/// Where the part is, and its books.
#[track_caller]
fn operand<T>(part: SymbolSlice<T>) -> Result<Operand<'static>> {
    let device = part.device()?;
    let part = part.on(device);
    let pointer = if part.is_empty() { std::ptr::null_mut() } else { part.device_ptr()? };
    let side = if part.space() == Space::Managed { Side::Managed(device) } else { Side::Device(device) };
    Ok(Operand::unborrowed(pointer, part.len(), side, part.books()?))
}

impl<T: AnyBitPattern> sealed::Source for SymbolSlice<T> {
    fn operand(&self) -> Result<Operand<'_>> {
        operand(*self)
    }
}

impl<T: AnyBitPattern> Source for SymbolSlice<T> {
    type Element = T;
}

impl<T: AnyBitPattern> AsyncSource for SymbolSlice<T> {}

impl<T: AnyBitPattern> sealed::Destination for SymbolSlice<T> {
    fn operand_mut(&mut self) -> Result<Operand<'_>> {
        operand(*self)
    }
}

impl<T: AnyBitPattern> Destination for SymbolSlice<T> {
    type Element = T;
}

impl<T: AnyBitPattern> AsyncDestination for SymbolSlice<T> {}
