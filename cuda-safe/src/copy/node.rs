//! Copies and fills as nodes of a graph: checked as the calls are, and handed to nobody yet.

use super::operand::{AsyncDestination, AsyncSource, Operand, Side};
use super::shape::Shape;
use crate::error::{Detail, Error, Result};
use crate::hazard::{Access, Mode};
use crate::sys;

/// What a node of a graph may copy from: what an asynchronous copy may, and memory of the graph's own.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be what a node of a graph copies from",
    label = "nothing keeps this memory for as long as the graph",
    note = "copy from a `PinnedBuffer`, a `DeviceBuffer`, `Registered` memory or a `GraphBuffer`"
)]
pub trait GraphSource: sealed::Source {
    /// What is copied.
    type Element;
}

/// What a node of a graph may copy to or fill: what an asynchronous copy may, and memory of the graph's own.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be what a node of a graph writes",
    label = "nothing keeps this memory for as long as the graph",
    note = "write a `PinnedBuffer`, a `DeviceBuffer`, `Registered` memory or a `GraphBuffer`"
)]
pub trait GraphDestination: sealed::Destination {
    /// What is copied.
    type Element;
}

impl<S: AsyncSource + ?Sized> GraphSource for S {
    type Element = <S as super::operand::Source>::Element;
}

impl<D: AsyncDestination + ?Sized> GraphDestination for D {
    type Element = <D as super::operand::Destination>::Element;
}

/// The part of the traits that is not for others to implement.
pub(crate) mod sealed {
    use super::{AsyncDestination, AsyncSource, Operand, Result};

    pub trait Source {
        /// The operand for a node of the graph with this number.
        fn operand_in(&self, graph: u64) -> Result<Operand<'_>>;
    }

    pub trait Destination {
        /// The operand for a node of the graph with this number.
        fn operand_mut_in(&mut self, graph: u64) -> Result<Operand<'_>>;
    }

    impl<S: AsyncSource + ?Sized> Source for S {
        fn operand_in(&self, _: u64) -> Result<Operand<'_>> {
            self.operand()
        }
    }

    impl<D: AsyncDestination + ?Sized> Destination for D {
        fn operand_mut_in(&mut self, _: u64) -> Result<Operand<'_>> {
            self.operand_mut()
        }
    }
}

/// A copy of elements in a row.
pub(crate) struct LinearNode<'a> {
    pub(crate) to: *mut u8,
    pub(crate) from: *const u8,
    pub(crate) bytes: usize,
    pub(crate) kind: sys::cudaMemcpyKind,
    pub(crate) accesses: Vec<Access<'a>>,
}

impl<'a> LinearNode<'a> {
    /// Checks a copy; none where there is nothing to copy.
    #[track_caller]
    pub(crate) fn new(
        api: &'static str,
        destination: &Operand<'a>,
        source: &Operand<'a>,
    ) -> Result<Option<Self>> {
        let bytes = Shape::of(api, destination, source)?.bytes();
        if bytes == 0 {
            return Ok(None);
        }
        if let (Side::Device(to), Side::Device(from)) = (destination.side(), source.side())
            && to != from
        {
            return Err(Error::refused(
                api,
                Detail::Unsupported { what: "a copy between devices in a graph" },
            ));
        }
        let accesses = [destination.access(Mode::Write), source.access(Mode::Read)];
        Ok(Some(Self {
            to: destination.pointer(),
            from: source.pointer().cast_const(),
            bytes,
            kind: sys::cudaMemcpyDefault,
            accesses: accesses.into_iter().flatten().collect(),
        }))
    }
}

/// A fill of elements in a row.
pub(crate) struct FillNode<'a> {
    pub(crate) to: *mut u8,
    pub(crate) bytes: usize,
    pub(crate) access: Access<'a>,
}

impl<'a> FillNode<'a> {
    /// Looks at a fill; none where there is nothing to fill.
    pub(crate) fn new(destination: &Operand<'a>) -> Option<Self> {
        let access = destination.filled().filter(|access| !access.is_empty())?;
        Some(Self { to: destination.pointer(), bytes: destination.bytes(), access })
    }
}
