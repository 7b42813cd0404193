//! Copies and fills as nodes of a graph: checked as the calls are, and handed to nobody yet.

use super::operand::{AsyncDestination, AsyncSource, Side};
use super::shape::Shape;
use crate::error::{Detail, Error, Result};
use crate::hazard::{Access, Mode};
use crate::sys;

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
    pub(crate) fn new<D, S>(api: &'static str, destination: &'a mut D, source: &'a S) -> Result<Option<Self>>
    where
        D: AsyncDestination + ?Sized,
        S: AsyncSource<Element = D::Element> + ?Sized,
    {
        let (destination, source) = (destination.operand_mut()?, source.operand()?);
        let bytes = Shape::of(api, &destination, &source)?.bytes();
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
    /// Checks a fill; none where there is nothing to fill.
    #[track_caller]
    pub(crate) fn new<D: AsyncDestination + ?Sized>(destination: &'a mut D) -> Result<Option<Self>> {
        let operand = destination.operand_mut()?;
        let Some(access) = operand.filled().filter(|access| !access.is_empty()) else {
            return Ok(None);
        };
        Ok(Some(Self { to: operand.pointer(), bytes: operand.bytes(), access }))
    }
}
