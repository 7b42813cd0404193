//! The checks before a launch: lengths, devices, and that counts fit into the kernels' 32 bits.

use cuda_safe::error::Detail;
use cuda_safe::launch::{KernelInput, KernelOutput, LaunchConfig};
use cuda_safe::stream::AsStream;
use cuda_safe::{Device, Error, Result};

/// The default number of threads of a block.
pub(crate) const THREADS: u32 = 256;

/// Checks a source: refuses memory of another length, or of another device than the stream's.
#[track_caller]
pub(crate) fn input<T: 'static>(
    api: &'static str,
    what: &'static str,
    memory: &impl KernelInput<T>,
    needed: usize,
    stream: &impl AsStream,
) -> Result<()> {
    length(api, what, memory.elements(), needed)?;
    device(api, what, memory.device(), stream)
}

/// Checks a destination: refuses memory of another length, or of another device than the stream's.
#[track_caller]
pub(crate) fn output<T: 'static>(
    api: &'static str,
    what: &'static str,
    memory: &impl KernelOutput<T>,
    needed: usize,
    stream: &impl AsStream,
) -> Result<()> {
    length(api, what, memory.elements(), needed)?;
    device(api, what, memory.device(), stream)
}

/// Returns the number of elements of rows, or refuses more than there can be.
#[track_caller]
pub(crate) fn product(api: &'static str, what: &'static str, rows: u32, columns: u32) -> Result<usize> {
    let wide = |size: u32| usize::try_from(size).unwrap_or(usize::MAX);
    let (left, right) = (wide(rows), wide(columns));
    match left.checked_mul(right) {
        Some(elements) => Ok(elements),
        None => Err(Error::refused(api, Detail::overflow(what, left, right))),
    }
}

#[track_caller]
fn length(api: &'static str, what: &'static str, found: usize, needed: usize) -> Result<()> {
    if found == needed { Ok(()) } else { Err(Error::refused(api, Detail::wrong_length(what, needed, found))) }
}

/// Refuses memory of another device than the stream's.
#[track_caller]
pub(crate) fn device(
    api: &'static str,
    what: &'static str,
    memory: Option<Device>,
    stream: &impl AsStream,
) -> Result<()> {
    let needed = stream.as_stream().device();
    match memory {
        Some(found) if found != needed => {
            let (found, needed) = (found.ordinal(), needed.ordinal());
            Err(Error::refused(api, Detail::device_mismatch(what, found, needed)))
        }
        _ => Ok(()),
    }
}

/// Returns the count as the kernels take it, and a grid with one thread for each element. Returns `None`
/// if there are no elements.
#[track_caller]
pub(crate) fn grid(api: &'static str, elements: usize) -> Result<Option<(u32, LaunchConfig<'static>)>> {
    if elements == 0 {
        return Ok(None);
    }
    let Ok(count) = u32::try_from(elements) else {
        let asked = u64::try_from(elements).unwrap_or(u64::MAX);
        let limit = u64::from(u32::MAX);
        return Err(Error::refused(api, Detail::limit("the number of elements", asked, limit)));
    };
    Ok(Some((count, LaunchConfig::for_elements(elements, THREADS)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_elements_need_no_grid_and_too_many_are_refused() {
        assert!(grid("test", 0).unwrap().is_none());
        let (count, config) = grid("test", 1000).unwrap().unwrap();
        assert_eq!((count, config.grid.x, config.block.x), (1000, 4, THREADS));
        let error = grid("test", 1 << 32).unwrap_err();
        assert_eq!(error.detail(), &Detail::limit("the number of elements", 1 << 32, u64::from(u32::MAX)));
    }

    #[test]
    fn a_wrong_length_names_the_argument_and_both_lengths() {
        let error = length("vector_add", "b", 3, 4).unwrap_err();
        assert_eq!(error.detail(), &Detail::wrong_length("b", 4, 3));
        assert!(length("vector_add", "b", 4, 4).is_ok());
    }
}
