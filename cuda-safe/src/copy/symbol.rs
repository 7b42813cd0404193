//! Copies to and from variables of kernels' source files.

use bytemuck::AnyBitPattern;

use super::operand::{AsyncDestination, AsyncSource, ByScope, Destination, Linear, Operand, Source};
use super::transfer;
use crate::device::Device;
use crate::error::Result;
use crate::launch::{Space, Symbol, SymbolSlice};
use crate::memory::memory_type::sealed::Tag;
use crate::stream::{AsStream, Scope};
#[cfg(doc)]
use crate::sys;

/// A variable, or a part of one: the operand of the functions in this file.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no variable of a kernel's source file",
    label = "neither a `Symbol` nor a part of one"
)]
pub trait SymbolPart {
    /// The element type.
    type Element: 'static;

    /// Returns the descriptor of the part on the device that it names, otherwise on `device`, otherwise
    /// on the current device.
    #[doc(hidden)]
    #[track_caller]
    fn operand_on(&self, device: Option<Device>) -> Result<Operand<'static>>;
}

/// Makes a [`SymbolSlice`] of a variable or a part of one.
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

/// Copies all elements of `source` to a variable, on the legacy stream of its device: the named device,
/// or the current one.
///
/// Stands for [`cudaMemcpyToSymbol`](sys::cudaMemcpyToSymbol): a [`memcpy`](crate::memcpy) to the
/// variable's address. For C's offset, copy to a [`slice`](Symbol::slice). The source is any source of
/// `memcpy`. A variable with several dimensions has the elements of its innermost arrays: for
/// `float filter[3][3]`, the source is [`filter.as_flattened()`](slice::as_flattened) of a `[[f32; 3]; 3]`.
///
/// Each device has the variable once, and the copy changes no other device's:
/// [`Symbol::on`](crate::launch::Symbol::on) names one.
///
/// # Ordering
/// As [`memcpy`](crate::memcpy). The copy is ordered after earlier launches of kernels that use the
/// variable, and before later ones, on any stream.
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

/// Copies all elements of a variable to `destination`, on the legacy stream of the variable's device:
/// the named device, or the current one.
///
/// Stands for [`cudaMemcpyFromSymbol`](sys::cudaMemcpyFromSymbol): a [`memcpy`](crate::memcpy) from the
/// variable's address. For C's offset, copy from a [`slice`](Symbol::slice). The destination is any
/// destination of `memcpy`.
///
/// # Ordering
/// As [`memcpy`](crate::memcpy). The copy is ordered after earlier launches of kernels that write the
/// variable.
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

/// Submits the copy of all elements of `source` to a variable on the named device, or on the stream's
/// device.
///
/// Stands for [`cudaMemcpyToSymbolAsync`](sys::cudaMemcpyToSymbolAsync).
///
/// # Ordering
/// The copy runs in the order of the stream, and after conflicting work of other streams, including
/// launches of kernels that use the variable.
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

/// Submits the copy of all elements of a variable on the named device, or on the stream's device, to
/// `destination`.
///
/// Stands for [`cudaMemcpyFromSymbolAsync`](sys::cudaMemcpyFromSymbolAsync).
///
/// # Ordering
/// The copy runs in the order of the stream, and after conflicting work of other streams, including
/// launches of kernels that write the variable.
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
    /// Submits a copy to a variable to the scope's stream, from any source of [`Scope::memcpy_async`].
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

    /// Submits a copy from a variable to the scope's stream, to any destination of
    /// [`Scope::memcpy_async`].
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
    /// Copies the current device's elements to a new vector.
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

/// Returns the address of the part, on the device that it names, otherwise on `device`, and its access
/// history.
#[track_caller]
fn operand<T>(part: SymbolSlice<T>, device: Option<Device>) -> Result<Operand<'static>> {
    let part = match device {
        Some(device) => part.or_on(device),
        None => part,
    };
    let device = part.device()?;
    let part = part.on(device);
    let pointer = if part.is_empty() { std::ptr::null_mut() } else { part.device_ptr()? };
    let memory = if part.space() == Space::Managed { (Tag::Managed, device) } else { (Tag::Device, device) };
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
