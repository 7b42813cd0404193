//! One copy, by the function that fits: shape, mode, and the owners of the two sides.

use std::fmt;

use cuda_safe::copy::{
    AsyncDestination, AsyncSource, Linear, Planar, Volumetric, memcpy_from_symbol, memcpy_from_symbol_async,
    memcpy_to_symbol, memcpy_to_symbol_async,
};
use cuda_safe::launch::SymbolSlice;
use cuda_safe::memory::{
    MemoryType, Pageable, Plane, PlaneMut, Slice, SliceMut, SourceOf, Volume, VolumeMut,
};
use cuda_safe::stream::Stream;
use cuda_safe::{Result, memcpy, memcpy_2d, memcpy_2d_async, memcpy_3d, memcpy_3d_async, memcpy_async};

use super::boxes::{Bounds, Element};
use super::cases::Case;

/// When a copy is complete.
#[derive(Clone, Copy)]
pub(crate) enum Mode<'s> {
    Blocking,
    Asynchronous(&'s Stream),
    Scope(&'s Stream),
}

impl fmt::Debug for Mode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blocking => "blocking",
            Self::Asynchronous(_) => "asynchronous",
            Self::Scope(_) => "in a scope",
        })
    }
}

/// A box in memory of one type.
pub trait Memory<T: Element> {
    fn bounds(&self) -> Bounds;

    /// Fills the box and its guards.
    fn write(&mut self, all: &[T]);

    /// Returns the contents of the box and its guards.
    fn read(&self) -> Vec<T>;

    /// A part of the box to copy from, or the refusal of a part that does not fit.
    fn source(&self, dimensions: usize, start: [usize; 3], extent: [usize; 3]) -> Result<Source<'_, T>>;

    /// A part of the box to copy to, or the refusal of a part that does not fit.
    fn destination(
        &mut self,
        dimensions: usize,
        start: [usize; 3],
        extent: [usize; 3],
    ) -> Result<Destination<'_, T>>;
}

/// A part of a box to copy from.
pub enum Source<'a, T: 'static> {
    Row(Box<dyn AsyncSource<Linear, Element = T> + 'a>),
    Rows(Box<dyn AsyncSource<Planar, Element = T> + 'a>),
    Layers(Box<dyn AsyncSource<Volumetric, Element = T> + 'a>),
    PageableRow(&'a [T]),
    PageableRows(Plane<'a, T, Pageable>),
    PageableLayers(Volume<'a, T, Pageable>),
    Symbol(SymbolSlice<T>),
}

impl<'a, T: Element> Source<'a, T> {
    pub fn row<M: MemoryType + SourceOf<T>>(slice: Slice<'a, T, M>) -> Self {
        Self::Row(Box::new(slice))
    }

    pub fn rows<M: MemoryType + SourceOf<T>>(plane: Plane<'a, T, M>) -> Self {
        Self::Rows(Box::new(plane))
    }

    pub fn layers<M: MemoryType + SourceOf<T>>(volume: Volume<'a, T, M>) -> Self {
        Self::Layers(Box::new(volume))
    }
}

/// A part of a box to copy to.
pub enum Destination<'a, T: 'static> {
    Row(Box<dyn AsyncDestination<Linear, Element = T> + 'a>),
    Rows(Box<dyn AsyncDestination<Planar, Element = T> + 'a>),
    Layers(Box<dyn AsyncDestination<Volumetric, Element = T> + 'a>),
    PageableRow(&'a mut [T]),
    PageableRows(PlaneMut<'a, T, Pageable>),
    PageableLayers(VolumeMut<'a, T, Pageable>),
    Symbol(SymbolSlice<T>),
}

impl<'a, T: Element> Destination<'a, T> {
    pub fn row<M: MemoryType>(slice: SliceMut<'a, T, M>) -> Self {
        Self::Row(Box::new(slice))
    }

    pub fn rows<M: MemoryType>(plane: PlaneMut<'a, T, M>) -> Self {
        Self::Rows(Box::new(plane))
    }

    pub fn cut<M: MemoryType>(
        volume: VolumeMut<'a, T, M>,
        start: [usize; 3],
        extent: [usize; 3],
    ) -> Result<Self> {
        Ok(Self::Layers(Box::new(cut(volume, start, extent)?)))
    }
}

/// Blocking or in a scope, and asynchronous if the crate owns both sides.
macro_rules! by {
    ($mode:expr, $blocking:ident, $asynchronous:ident, $to:expr, $from:expr) => {
        Some(match $mode {
            Mode::Blocking => $blocking($to, $from),
            Mode::Asynchronous(stream) => {
                $asynchronous($to, $from, stream).and_then(|()| stream.synchronize())
            }
            Mode::Scope(stream) => {
                stream.scope(|scope| scope.$asynchronous($to, $from)).and_then(|copied| copied)
            }
        })
    };
    ($mode:expr, $blocking:ident, scope $asynchronous:ident, $to:expr, $from:expr) => {
        match $mode {
            Mode::Blocking => Some($blocking($to, $from)),
            // Does not compile.
            Mode::Asynchronous(_) => None,
            Mode::Scope(stream) => {
                Some(stream.scope(|scope| scope.$asynchronous($to, $from)).and_then(|copied| copied))
            }
        }
    };
}

/// Makes the copy. Returns `None` if there is no such copy.
pub(crate) fn copy<T: Element>(
    target: &mut dyn Memory<T>,
    source: &dyn Memory<T>,
    case: &Case,
    mode: Mode<'_>,
) -> Option<Result<()>> {
    use {Destination as D, Source as S};
    let ends = target
        .destination(case.dimensions, case.to, case.extent)
        .and_then(|to| Ok((to, source.source(case.dimensions, case.from, case.extent)?)));
    let (to, from) = match ends {
        Ok(ends) => ends,
        Err(error) => return Some(Err(error)),
    };
    match (to, from) {
        (D::Row(mut to), S::Row(from)) => by!(mode, memcpy, memcpy_async, &mut *to, &*from),
        (D::Row(mut to), S::PageableRow(from)) => by!(mode, memcpy, scope memcpy_async, &mut *to, from),
        (D::PageableRow(to), S::Row(from)) => by!(mode, memcpy, scope memcpy_async, &mut *to, &*from),
        // Slices that both end where the memory does: the language cuts them, so there is nothing to
        // refuse.
        (D::PageableRow(to), S::PageableRow(from)) if !case.fits && to.len() == from.len() => None,
        (D::PageableRow(to), S::PageableRow(from)) => by!(mode, memcpy, scope memcpy_async, &mut *to, from),
        (D::Rows(mut to), S::Rows(from)) => by!(mode, memcpy_2d, memcpy_2d_async, &mut *to, &*from),
        (D::Rows(mut to), S::PageableRows(from)) => {
            by!(mode, memcpy_2d, scope memcpy_2d_async, &mut *to, &from)
        }
        (D::PageableRows(mut to), S::Rows(from)) => {
            by!(mode, memcpy_2d, scope memcpy_2d_async, &mut to, &*from)
        }
        (D::PageableRows(mut to), S::PageableRows(from)) => {
            by!(mode, memcpy_2d, scope memcpy_2d_async, &mut to, &from)
        }
        (D::Layers(mut to), S::Layers(from)) => by!(mode, memcpy_3d, memcpy_3d_async, &mut *to, &*from),
        (D::Layers(mut to), S::PageableLayers(from)) => {
            by!(mode, memcpy_3d, scope memcpy_3d_async, &mut *to, &from)
        }
        (D::PageableLayers(mut to), S::Layers(from)) => {
            by!(mode, memcpy_3d, scope memcpy_3d_async, &mut to, &*from)
        }
        (D::PageableLayers(mut to), S::PageableLayers(from)) => {
            by!(mode, memcpy_3d, scope memcpy_3d_async, &mut to, &from)
        }
        (D::Symbol(to), S::Row(from)) => by!(mode, memcpy_to_symbol, memcpy_to_symbol_async, to, &*from),
        (D::Symbol(to), S::PageableRow(from)) => {
            by!(mode, memcpy_to_symbol, scope memcpy_to_symbol_async, to, from)
        }
        (D::Row(mut to), S::Symbol(from)) => {
            by!(mode, memcpy_from_symbol, memcpy_from_symbol_async, &mut *to, from)
        }
        (D::PageableRow(to), S::Symbol(from)) => {
            by!(mode, memcpy_from_symbol, scope memcpy_from_symbol_async, &mut *to, from)
        }
        // Other shapes, and variable to variable, which no function copies.
        _ => None,
    }
}

/// A part of a volume, for the lifetime of the volume.
pub(crate) fn cut<T: Element, M: cuda_safe::memory::AnyMemoryType>(
    volume: VolumeMut<'_, T, M>,
    [x, y, z]: [usize; 3],
    [w, h, d]: [usize; 3],
) -> Result<VolumeMut<'_, T, M>> {
    let (_, volume) = volume.split_at_layer_mut(z)?;
    let (volume, _) = volume.split_at_layer_mut(d)?;
    let (_, volume) = volume.split_at_row_mut(y)?;
    let (volume, _) = volume.split_at_row_mut(h)?;
    let (_, volume) = volume.split_at_column_mut(x)?;
    Ok(volume.split_at_column_mut(w)?.0)
}
