//! Copies to and from variables of kernels' source files.

use bytemuck::AnyBitPattern;

use super::operand::{
    AsyncDestination, AsyncSource, ByScope, Destination, Linear, Operand, OperandMemory, Source,
};
use super::transfer;
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
pub trait SymbolPart {
    /// The type of the elements.
    type Element: 'static;

    /// The descriptor of the part, on this device where it names none itself, else on the current one.
    #[doc(hidden)]
    #[track_caller]
    fn operand_on(&self, device: Option<Device>) -> Result<Operand<'static>>;
}

/// A variable, or a part of one, as a [`SymbolSlice`].
macro_rules! parts {
    ($($type:ty, $it:ident => $part:expr;)*) => {$(
        impl<T: 'static> SymbolPart for $type {
            type Element = T;

            #[track_caller]
            fn operand_on(&self, device: Option<Device>) -> Result<Operand<'static>> {
                let $it = self;
                operand($part, device)
            }
        }
    )*};
}

parts! {
    &'static Symbol<T>, it => it.as_slice();
    SymbolSlice<T>, it => *it;
    &SymbolSlice<T>, it => **it;
}

impl<S: SymbolPart> SymbolPart for Result<S> {
    type Element = S::Element;

    #[track_caller]
    fn operand_on(&self, device: Option<Device>) -> Result<Operand<'static>> {
        self.as_ref().map_err(crate::Error::clone)?.operand_on(device)
    }
}

/// Copies all elements of `source` to a variable on the current device, or on the one that is named, on its
/// legacy stream.
///
/// Stands for [`cudaMemcpyToSymbol`](sys::cudaMemcpyToSymbol): a [`memcpy`](crate::memcpy) to where the
/// variable is. For C's offset, copy to a [`slice`](Symbol::slice). The source is whatever `memcpy` takes.
///
/// # Ordering
/// As [`memcpy`](crate::memcpy). Kernels that were launched before and use the variable come before the copy,
/// kernels that are launched later come after it, whatever streams they are on.
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
    transfer::block("memcpy_to_symbol", symbol.operand_on(None)?, source.operand()?)
}

/// Copies all elements of a variable on the current device, or on the one that is named, to `destination`, on
/// its legacy stream.
///
/// Stands for [`cudaMemcpyFromSymbol`](sys::cudaMemcpyFromSymbol): a [`memcpy`](crate::memcpy) from where the
/// variable is. For C's offset, copy from a [`slice`](Symbol::slice). The destination is whatever `memcpy`
/// takes.
///
/// # Ordering
/// As [`memcpy`](crate::memcpy). Kernels that were launched before and write the variable come before the
/// copy.
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
    transfer::block("memcpy_from_symbol", destination.operand_mut()?, symbol.operand_on(None)?)
}

/// Gives a stream the copy of all elements of `source` to a variable on the stream's device, or on the one
/// that is named.
///
/// Stands for [`cudaMemcpyToSymbolAsync`](sys::cudaMemcpyToSymbolAsync).
///
/// # Ordering
/// In the order of the stream, and after conflicting work of other streams, launches of kernels that use the
/// variable included.
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
    let symbol = symbol.operand_on(Some(stream.device()))?;
    transfer::enqueue("memcpy_to_symbol_async", stream, symbol, source.operand()?)
}

/// Gives a stream the copy of all elements of a variable on the stream's device, or on the one that is named,
/// to `destination`.
///
/// Stands for [`cudaMemcpyFromSymbolAsync`](sys::cudaMemcpyFromSymbolAsync).
///
/// # Ordering
/// In the order of the stream, and after conflicting work of other streams, launches of kernels that write
/// the variable included.
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
    let symbol = symbol.operand_on(Some(stream.device()))?;
    transfer::enqueue("memcpy_from_symbol_async", stream, destination.operand_mut()?, symbol)
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
        S: AsyncSource<Linear, ByScope<'scope>, Element = V::Element>,
    {
        let stream = self.stream();
        let symbol = symbol.operand_on(Some(stream.device()))?;
        transfer::enqueue("Scope::memcpy_to_symbol_async", stream, symbol, source.operand()?)
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
        D: AsyncDestination<Linear, ByScope<'scope>>,
        V: SymbolPart<Element = D::Element>,
        D::Element: AnyBitPattern,
    {
        let stream = self.stream();
        let symbol = symbol.operand_on(Some(stream.device()))?;
        transfer::enqueue("Scope::memcpy_from_symbol_async", stream, destination.operand_mut()?, symbol)
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

/// Where the part is, on this device where it names none itself, and its tracker.
#[track_caller]
fn operand<T>(part: SymbolSlice<T>, device: Option<Device>) -> Result<Operand<'static>> {
    let part = match device {
        Some(device) => part.or_on(device),
        None => part,
    };
    let device = part.device()?;
    let part = part.on(device);
    let pointer = if part.is_empty() { std::ptr::null_mut() } else { part.device_ptr()? };
    let memory = if part.space() == Space::Managed {
        OperandMemory::Managed(device)
    } else {
        OperandMemory::Device(device)
    };
    Ok(Operand::unborrowed(pointer, part.len(), memory, part.tracker()?))
}

impl<T: AnyBitPattern> Source for SymbolSlice<T> {
    type Element = T;

    #[track_caller]
    fn operand(&self) -> Result<Operand<'_>> {
        operand(*self, None)
    }
}

impl<T: AnyBitPattern> AsyncSource for SymbolSlice<T> {}

impl<T: AnyBitPattern> Destination for SymbolSlice<T> {
    type Element = T;

    #[track_caller]
    fn operand_mut(&mut self) -> Result<Operand<'_>> {
        operand(*self, None)
    }
}

impl<T: AnyBitPattern> AsyncDestination for SymbolSlice<T> {}
