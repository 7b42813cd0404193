//! Accesses of a kernel's launches beyond its arguments.
#![cfg_attr(
    cudart_12_8,
    expect(unsafe_code, reason = "a handle vouches that its type is the kernel's parameter list")
)]

#[cfg(cudart_12_8)]
use std::ffi::c_void;
#[cfg(cudart_12_8)]
use std::marker::PhantomData;
use std::sync::Arc;

use super::Kernel;
#[cfg(cudart_12_8)]
use super::kernel::Code;
use crate::error::{Detail, Error, Result};
#[cfg(cudart_12_8)]
use crate::hazard::RetainedAccesses;
use crate::hazard::{Access, GraphAccesses};
use crate::memory::retain;

impl<P> Kernel<P> {
    /// Makes the handle of a library's kernel.
    ///
    /// # Safety
    /// - `raw` is the runtime's identifier of a kernel, which stays valid while `held` is retained.
    /// - `P` is the tuple of the kernel's parameter types.
    /// - The kernel uses no memory of this crate's owners except its arguments and `held`.
    #[cfg(cudart_12_8)]
    pub(crate) unsafe fn from_code(name: &'static str, raw: *const c_void, held: RetainedAccesses) -> Self {
        let (held, code) = (Some(Arc::new(GraphAccesses::new(held))), Code { raw, loaded: true });
        Self { name, code, symbols: None, held, parameters: PhantomData }
    }

    /// Returns the same kernel with a further access in each launch, to memory that no argument names: a
    /// variable of its [library](crate::library), or memory behind addresses in a table or a structure. The
    /// tracker records the access with each launch, and the kernel retains the memory. The original handle
    /// does not change, so a `static` one stays as it is and the result is another value with another name.
    ///
    /// # Errors
    /// `NotKept` if the memory cannot be retained.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::DeviceBuffer;
    /// use cuda_safe::launch::Kernel;
    /// use cuda_safe::memory::DevicePtr;
    ///
    /// # fn with(
    /// #     sums: Kernel<(*const DevicePtr<f32>, u32)>,
    /// #     rows: [DeviceBuffer<f32>; 2],
    /// # ) -> cuda_safe::Result<()> {
    /// let table = DeviceBuffer::from_slice(&rows.each_ref().map(DevicePtr::from))?;
    /// let sums = sums.using(rows[0].access())?.using(rows[1].access())?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A structure with an address, by value:
    ///
    /// ```no_run
    /// # use cuda_safe::launch::Kernel;
    /// use cuda_safe::{DeviceBuffer, Stream, launch};
    /// # #[derive(Clone, Copy)]
    /// # struct Field { data: *mut f32, width: i32, height: i32 }
    /// # // SAFETY: as the prototype says.
    /// # unsafe impl cuda_safe::launch::ByValue for Field {}
    ///
    /// # fn with(grow: &Kernel<(Field, f32)>) -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let mut data = DeviceBuffer::<f32>::alloc(12)?;
    /// let field = Field { data: data.as_mut_ptr(), width: 4, height: 3 }; // as the header declares it
    /// let grow_it = grow.using(data.access_mut())?; // once, for all launches
    /// // SAFETY: the buffer has as many elements as the structure says.
    /// unsafe { launch!(grow_it<<<1, 12, 0, &stream>>>(field, 2.0)) }?;
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn using(&self, access: Access<'_>) -> Result<Self> {
        let mut uses = self.held.as_ref().map(|held| held.uses().clone()).unwrap_or_default();
        if !uses.add(&access, || retain(&access)) {
            return Err(Error::refused("Kernel::using", Detail::NotKept));
        }
        Ok(Self { held: Some(Arc::new(GraphAccesses::new(uses))), ..self.clone() })
    }
}
