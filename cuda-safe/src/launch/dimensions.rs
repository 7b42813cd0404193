//! Launch dimensions: blocks, threads and shared memory, the `<<<...>>>` without its stream.

use std::fmt;

use super::attribute_set::Attributes;
use crate::error::{Detail, Error, Result, ensure};
use crate::memory::size::{self, wide};
use crate::sys;

/// CUDA's limits on every device that a supported toolkit compiles for.
mod limit {
    use super::Dim3;

    pub(super) const GRID: Dim3 = Dim3 { x: 0x7fff_ffff, y: 65_535, z: 65_535 };
    pub(super) const BLOCK: Dim3 = Dim3 { x: 1024, y: 1024, z: 64 };
    pub(super) const THREADS: u64 = 1024;
}

/// The runtime's error for a launch that no device can run: this one since 13.0 (on an H200), the other one
/// in 12.x.
const IMPOSSIBLE: sys::cudaError_t =
    if cfg!(cudart_13_0) { sys::cudaErrorInvalidValue } else { sys::cudaErrorInvalidConfiguration };

/// Sizes along three axes. Omitted axes are 1.
///
/// Converts from a number, a pair or a triple of [`AxisSize`]s: `256`, `(16, 16)`, `(8, 8, n.div_ceil(4))`.
#[doc(alias = "dim3")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dim3 {
    /// The size along the first axis, along which neighbouring threads lie.
    pub x: u32,
    /// The size along the second axis.
    pub y: u32,
    /// The size along the third axis.
    pub z: u32,
}

impl Dim3 {
    /// Returns the product of the three sizes.
    #[must_use]
    pub fn count(self) -> u128 {
        u128::from(self.x) * u128::from(self.y) * u128::from(self.z)
    }
}

/// A whole number that is a size along an axis: `u32`, `i32`, `usize`, `u64` or `i64`.
///
/// A negative number, or one beyond 32 bits, becomes the largest `u32`, which is beyond the limit of every
/// axis: the launch refuses it.
pub trait AxisSize: sealed::Size {}

mod sealed {
    /// Seals [`AxisSize`](super::AxisSize), and converts.
    pub trait Size {
        fn size(self) -> u32;
    }
}

macro_rules! axis_sizes {
    ($($number:ty)*) => { $(
        impl sealed::Size for $number {
            #[inline]
            fn size(self) -> u32 {
                u32::try_from(self).unwrap_or(u32::MAX)
            }
        }

        impl AxisSize for $number {}

        impl From<$number> for Dim3 {
            #[inline]
            fn from(x: $number) -> Self {
                Self { x: sealed::Size::size(x), y: 1, z: 1 }
            }
        }
    )* };
}

axis_sizes!(u32 i32 usize u64 i64);

impl<X: AxisSize, Y: AxisSize> From<(X, Y)> for Dim3 {
    #[inline]
    fn from((x, y): (X, Y)) -> Self {
        Self { x: x.size(), y: y.size(), z: 1 }
    }
}

impl<X: AxisSize, Y: AxisSize, Z: AxisSize> From<(X, Y, Z)> for Dim3 {
    #[inline]
    fn from((x, y, z): (X, Y, Z)) -> Self {
        Self { x: x.size(), y: y.size(), z: z.size() }
    }
}

impl From<sys::dim3> for Dim3 {
    fn from(sys::dim3 { x, y, z }: sys::dim3) -> Self {
        Self { x, y, z }
    }
}

impl From<[u32; 3]> for Dim3 {
    fn from([x, y, z]: [u32; 3]) -> Self {
        Self { x, y, z }
    }
}

impl From<Dim3> for [u32; 3] {
    fn from(Dim3 { x, y, z }: Dim3) -> Self {
        [x, y, z]
    }
}

impl From<Dim3> for sys::dim3 {
    fn from(Dim3 { x, y, z }: Dim3) -> Self {
        Self { x, y, z }
    }
}

impl fmt::Display for Dim3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {}, {})", self.x, self.y, self.z)
    }
}

/// The shape of a launch, that is blocks, threads of each block, and bytes of dynamic shared memory of each
/// block, and its attributes, such as clusters of blocks.
///
/// Converts from a pair or a triple: `(blocks, threads)` or `(blocks, threads, shared_bytes)`.
///
/// # Examples
/// ```
/// use cuda_safe::launch::{ClusterScheduling, LaunchConfig};
///
/// let pairs = LaunchConfig::new(8, 256).cluster(2).cluster_scheduling(ClusterScheduling::SPREAD);
/// let soon = pairs.priority(-1);
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
#[doc(alias = "cudaLaunchConfig_t")]
pub struct LaunchConfig<'a> {
    /// The blocks of the grid.
    pub grid: Dim3,
    /// The threads of each block.
    pub block: Dim3,
    /// Bytes of dynamic shared memory of each block, in addition to what the kernel declares.
    pub shared_bytes: usize,
    pub(super) attributes: Attributes<'a>,
}

impl LaunchConfig<'_> {
    /// Makes a launch shape without dynamic shared memory and without attributes.
    #[inline]
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Self {
        Self { grid: grid.into(), block: block.into(), shared_bytes: 0, attributes: Attributes::NONE }
    }

    /// Makes a shape with one thread for each of `count` elements, in blocks of `threads` threads.
    ///
    /// # Errors
    /// Refuses if `count` or `threads` is zero, or if a grid cannot have so many blocks.
    #[track_caller]
    pub fn for_elements(count: usize, threads: u32) -> Result<Self> {
        const API: &str = "LaunchConfig::for_elements";
        ensure(count > 0, API, || Detail::zero("the number of elements"))?;
        ensure(threads > 0, API, || Detail::zero("the number of threads of a block"))?;
        let blocks = wide(count).div_ceil(threads.into());
        size::at_most(API, "the number of blocks", blocks, limit::GRID.x.into())?;
        Ok(Self::new(blocks, threads))
    }

    /// Returns the same shape with this many bytes of dynamic shared memory for each block.
    #[inline]
    pub fn with_shared_bytes(mut self, bytes: usize) -> Self {
        self.shared_bytes = bytes;
        self
    }

    /// Refuses a shape that no device can run, and clusters that do not divide the grid. A kernel or a device
    /// may have lower limits, which the runtime checks.
    #[inline]
    #[track_caller]
    pub(crate) fn check(&self, kernel: &'static str) -> Result<()> {
        let Self { grid, block, .. } = *self;
        let fits = |sizes: Dim3, most: Dim3| {
            let along = |size: u32, most: u32| size.wrapping_sub(1) < most;
            along(sizes.x, most.x) & along(sizes.y, most.y) & along(sizes.z, most.z)
        };
        let fine = fits(grid, limit::GRID)
            && fits(block, limit::BLOCK)
            && u64::from(block.x) * u64::from(block.y) * u64::from(block.z) <= limit::THREADS;
        if !fine {
            return Err(self.refused(kernel).with_code(IMPOSSIBLE));
        }
        if self.attributes.is_empty() { Ok(()) } else { self.check_clusters(kernel) }
    }

    /// Returns an error that names the invalid number.
    #[cold]
    #[track_caller]
    fn refused(&self, kernel: &'static str) -> Error {
        macro_rules! axis {
            ($what:literal) => {
                ($what, concat!($what, ", a negative number or one beyond 32 bits,"))
            };
        }
        let Self { grid, block, .. } = *self;
        let sizes = [
            (axis!("the grid's x"), grid.x, limit::GRID.x),
            (axis!("the grid's y"), grid.y, limit::GRID.y),
            (axis!("the grid's z"), grid.z, limit::GRID.z),
            (axis!("the block's x"), block.x, limit::BLOCK.x),
            (axis!("the block's y"), block.y, limit::BLOCK.y),
            (axis!("the block's z"), block.z, limit::BLOCK.z),
        ];
        for ((what, converted), size, most) in sizes {
            if size == 0 {
                return Error::refused(kernel, Detail::zero(what));
            }
            if size > most {
                // Numbers that are no `u32` became its largest one.
                let what = if size == u32::MAX { converted } else { what };
                return too_large(kernel, what, size.into(), most.into());
            }
        }
        let threads = u64::from(block.x) * u64::from(block.y) * u64::from(block.z);
        too_large(kernel, "the number of threads of a block", threads, limit::THREADS)
    }
}

impl<G: Into<Dim3>, B: Into<Dim3>> From<(G, B)> for LaunchConfig<'_> {
    fn from((grid, block): (G, B)) -> Self {
        Self::new(grid, block)
    }
}

impl<G: Into<Dim3>, B: Into<Dim3>> From<(G, B, usize)> for LaunchConfig<'_> {
    fn from((grid, block, shared_bytes): (G, B, usize)) -> Self {
        Self::new(grid, block).with_shared_bytes(shared_bytes)
    }
}

impl fmt::Display for LaunchConfig<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<<<{}, {}, {}>>>", self.grid, self.block, self.shared_bytes)
    }
}

#[cold]
#[track_caller]
fn too_large(api: &'static str, what: &'static str, asked: u64, limit: u64) -> Error {
    Error::refused(api, Detail::limit(what, asked, limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal<'a>(config: impl Into<LaunchConfig<'a>>) -> Option<Detail> {
        config.into().check("kernel").err().map(|error| error.detail().clone())
    }

    #[test]
    fn an_impossible_shape_has_the_code_that_cuda_gives_it() {
        for shape in [(0, 32), (1, 4096)] {
            let error = LaunchConfig::from(shape).check("kernel").unwrap_err();
            assert_eq!(error.code(), IMPOSSIBLE, "{error}");
        }
    }

    #[test]
    fn numbers_pairs_and_triples_are_dimensions() {
        assert_eq!(Dim3::from(7), Dim3 { x: 7, y: 1, z: 1 });
        assert_eq!(Dim3::from((7, 8)), Dim3 { x: 7, y: 8, z: 1 });
        assert_eq!(Dim3::from((7, 8, 9)), Dim3 { x: 7, y: 8, z: 9 });
        assert_eq!(
            Dim3::from((u32::MAX, u32::MAX, 2)).count(),
            2 * (u128::from(u32::MAX) * u128::from(u32::MAX))
        );
    }

    #[test]
    fn the_largest_shapes_pass() {
        assert_eq!(refusal((0x7fff_ffff, 1024)), None);
        assert_eq!(refusal(((1, 65_535, 65_535), (16, 1, 64))), None);
        assert_eq!(refusal((1, (1, 1024, 1), 1 << 20)), None);
    }

    #[test]
    fn a_zero_along_any_axis_is_refused_by_name() {
        assert_eq!(refusal((0, 32)), Some(Detail::zero("the grid's x")));
        assert_eq!(refusal(((1, 0), 32)), Some(Detail::zero("the grid's y")));
        assert_eq!(refusal((1, (1, 1, 0))), Some(Detail::zero("the block's z")));
    }

    #[test]
    fn what_is_too_large_is_refused_with_both_numbers() {
        let limit = |what, asked, limit| Some(Detail::limit(what, asked, limit));
        assert_eq!(refusal((0x8000_0000_u32, 1)), limit("the grid's x", 0x8000_0000, 0x7fff_ffff));
        assert_eq!(refusal(((1, 65_536), 1)), limit("the grid's y", 65_536, 65_535));
        assert_eq!(refusal((1, 1025)), limit("the block's x", 1025, 1024));
        assert_eq!(refusal((1, (1, 1, 65))), limit("the block's z", 65, 64));
        assert_eq!(refusal((1, (64, 32))), limit("the number of threads of a block", 2048, 1024));
        assert_eq!(refusal((1, (1024, 1024, 64))), limit("the number of threads of a block", 1 << 26, 1024));
    }

    #[test]
    fn lengths_and_ints_are_sizes_and_what_no_grid_has_is_refused_by_its_axis() {
        let count: usize = 1000;
        let config = LaunchConfig::new((count.div_ceil(32), 2_i32), 32);
        assert_eq!((config.grid, config.block), ((32_u32, 2_u32).into(), 32_u32.into()));
        assert_eq!(Dim3::from((7_u64, 8_i64, 9)), Dim3 { x: 7, y: 8, z: 9 });
        for grid in [Dim3::from(-1), Dim3::from(1_usize << 32), Dim3::from(i64::MIN)] {
            let said = LaunchConfig::new(grid, 1).check("kernel").unwrap_err().to_string();
            assert!(said.contains("the grid's x, a negative number or one beyond 32 bits, is"), "{said}");
        }
    }

    #[test]
    fn a_grid_for_elements_covers_the_last_one() {
        let grid = |count, threads| LaunchConfig::for_elements(count, threads).unwrap().grid.x;
        assert_eq!((grid(1, 256), grid(256, 256), grid(257, 256)), (1, 1, 2));
        for wrong in [(0, 256), (10, 0), (usize::MAX, 1)] {
            let error = LaunchConfig::for_elements(wrong.0, wrong.1).unwrap_err();
            assert!(error.is_refused(), "{error}");
        }
    }

    #[test]
    fn a_shape_prints_as_in_cuda() {
        assert_eq!(LaunchConfig::from((2, (16, 8), 64)).to_string(), "<<<(2, 1, 1), (16, 8, 1), 64>>>");
    }
}
