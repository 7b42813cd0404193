//! What a launch needs of its arguments.
#![expect(unsafe_code, reason = "passes the values of a launch as pointers")]

use std::ops::Range;
use std::panic::Location;

use crate::device::Device;
use crate::error::Result;
use crate::stream;

use super::{Checked, CheckedParameters, LaunchConfig, Scalars};

/// The bytes that a launch may access through one parameter, counted from where its pointer points. Both
/// ranges are empty for a parameter that is no pointer, and for a pointer that the launch does not use.
///
/// [`Checked::needs`] returns one for each parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Need {
    /// The parameter's name in the source. Empty if it is not known.
    pub name: &'static str,
    /// The bytes that may be read.
    pub read: Range<usize>,
    /// The bytes that may be written.
    pub written: Range<usize>,
    /// The address is a multiple of this power of two.
    pub align: usize,
}

impl Need {
    /// Returns the bytes that the memory must have: up to the last one that may be accessed.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.read.end.max(self.written.end)
    }

    /// Returns the elements that a buffer of `T` must have, the last one perhaps in part.
    #[must_use]
    pub fn elements<T>(&self) -> usize {
        self.bytes().div_ceil(size_of::<T>().max(1))
    }
}

impl<P: CheckedParameters> Checked<P> {
    /// Returns which bytes a launch on the current device would read and write through each parameter, in
    /// order, without a launch: for example, to allocate them.
    ///
    /// `scalars` is a tuple with a value for each parameter: the numbers and structs of the launch, and `()`
    /// for pointers, textures and surfaces.
    ///
    /// # Errors
    /// - `Proof` if nothing is proven of the launch, or if it may access bytes before an argument.
    /// - The runtime's error if the device has no code for the kernel.
    /// - Those of [`Kernel::launch`](super::Kernel::launch) about shape and numbers.
    /// - Refused inside a host function.
    ///
    /// # Examples
    /// ```no_run
    /// use cuda_safe::launch::Checked;
    /// use cuda_safe::{DeviceBuffer, Stream, launch};
    ///
    /// # fn run(vector_add: &Checked<(*const f32, *const f32, *mut f32, u32)>) -> cuda_safe::Result<()> {
    /// let needs = vector_add.needs((4, 256), ((), (), (), 1000))?;
    /// assert_eq!((needs[2].name, needs[2].written.clone()), ("sum", 0..4000));
    /// let [a, b] = [&needs[0], &needs[1]].map(|need| DeviceBuffer::alloc_zeroed(need.elements::<f32>()));
    /// let (a, b, mut sum) = (a?, b?, DeviceBuffer::alloc(needs[2].elements::<f32>())?);
    /// launch!(vector_add<<<4, 256, 0, &Stream::new()?>>>(&a, &b, &mut sum, 1000))?;
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn needs<'c, S: Scalars<P>>(
        &self,
        config: impl Into<LaunchConfig<'c>>,
        scalars: S,
    ) -> Result<Vec<Need>> {
        stream::ensure_idle("Checked::needs")?;
        let config = config.into();
        config.check(self.kernel.name)?;
        let target = self.kernel.of_node(Device::current()?);
        let needs = scalars.with_pointers(target, |values| {
            // SAFETY: there is a live value of each parameter (`Scalars`), and the descriptions are those of
            // the same parameters.
            unsafe { self.proof.needs(self.kernel.as_raw(), P::DESCRIPTIONS, &config, target, values) }
        });
        // A match, because a closure would hide the caller.
        match needs {
            Ok(needs) => Ok(needs),
            Err(error) => Err(error.at(Location::caller())),
        }
    }
}
