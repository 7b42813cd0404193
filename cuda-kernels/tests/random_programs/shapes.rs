//! Copies and sets of rows, planes and volumes of any memory type.

use cuda_safe::memory::{MemoryType, Slice, SliceMut, SourceOf};
use cuda_safe::stream::StreamRef;
use cuda_safe::{
    Result, memcpy, memcpy_2d, memcpy_2d_async, memcpy_3d, memcpy_3d_async, memcpy_async, memset, memset_2d,
    memset_2d_async, memset_3d, memset_3d_async, memset_async,
};

use super::program::{LEN, Part};

/// Sets the bytes of a part, on a stream or blocking.
pub(crate) fn set<M: MemoryType>(
    slice: SliceMut<'_, u8, M>,
    part: &Part,
    value: u8,
    stream: Option<StreamRef<'_>>,
) -> Result<()> {
    let [width, rows, layers] = Part::full(part.dimensions);
    match part.dimensions {
        1 => {
            let mut slice = slice;
            let mut to = slice.slice_mut(part.along(0))?;
            match stream {
                None => memset(&mut to, value),
                Some(stream) => memset_async(&mut to, value, &stream),
            }
        }
        2 => {
            let mut plane = slice.plane_mut(width, rows)?;
            let mut plane = plane.rows_mut(part.along(1))?;
            let mut to = plane.columns_mut(part.along(0))?;
            match stream {
                None => memset_2d(&mut to, value),
                Some(stream) => memset_2d_async(&mut to, value, &stream),
            }
        }
        _ => {
            let mut volume = slice.volume_mut(width, rows, layers)?;
            let mut volume = volume.layers_mut(part.along(2))?;
            let mut volume = volume.rows_mut(part.along(1))?;
            let mut to = volume.columns_mut(part.along(0))?;
            match stream {
                None => memset_3d(&mut to, value),
                Some(stream) => memset_3d_async(&mut to, value, &stream),
            }
        }
    }
}

/// Copies a part to another one, on a stream or blocking.
pub(crate) fn copy<M: MemoryType, N: MemoryType + SourceOf<u8>>(
    slice: SliceMut<'_, u8, M>,
    to: &Part,
    source: Slice<'_, u8, N>,
    from: &Part,
    stream: Option<StreamRef<'_>>,
) -> Result<()> {
    let [width, rows, layers] = Part::full(to.dimensions);
    match to.dimensions {
        1 => {
            let mut slice = slice;
            let (mut to, from) = (slice.slice_mut(to.along(0))?, source.slice(from.along(0))?);
            match stream {
                None => memcpy(&mut to, &from),
                Some(stream) => memcpy_async(&mut to, &from, &stream),
            }
        }
        2 => {
            let mut plane = slice.plane_mut(width, rows)?;
            let mut plane = plane.rows_mut(to.along(1))?;
            let mut to = plane.columns_mut(to.along(0))?;
            let from = source.plane(width, rows)?.rows(from.along(1))?.columns(from.along(0))?;
            match stream {
                None => memcpy_2d(&mut to, &from),
                Some(stream) => memcpy_2d_async(&mut to, &from, &stream),
            }
        }
        _ => {
            let mut volume = slice.volume_mut(width, rows, layers)?;
            let mut volume = volume.layers_mut(to.along(2))?;
            let mut volume = volume.rows_mut(to.along(1))?;
            let mut to = volume.columns_mut(to.along(0))?;
            let source = source.volume(width, rows, layers)?.layers(from.along(2))?;
            let from = source.rows(from.along(1))?.columns(from.along(0))?;
            match stream {
                None => memcpy_3d(&mut to, &from),
                Some(stream) => memcpy_3d_async(&mut to, &from, &stream),
            }
        }
    }
}

/// Copies from one half to the other.
pub(crate) fn within<M: MemoryType + SourceOf<u8>>(
    slice: SliceMut<'_, u8, M>,
    to: &Part,
    from: &Part,
    stream: Option<StreamRef<'_>>,
) -> Result<()> {
    let (mut low, mut high) = slice.split_at_mut(LEN / 2)?;
    let upper = |part: &Part| Part::row(0, part.start[0] - LEN / 2, part.extent[0]);
    if to.start[0] < from.start[0] {
        copy(low.reborrow(), to, high.as_slice(), &upper(from), stream)
    } else {
        copy(high.reborrow(), &upper(to), low.as_slice(), from, stream)
    }
}
