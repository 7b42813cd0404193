//! Values for the parameters of a launch where only numbers count.

use std::ptr;

use crate::error::Result;

use super::{CheckedParameter, KernelArg, SurfaceObject, TextureObject};

/// A value for a parameter of type `P` where only numbers count: `()` for a pointer, a texture or a surface,
/// and for other parameters what a launch takes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a value for a kernel parameter of type `{P}`",
    label = "the kernel declares this parameter as `{P}`",
    note = "a number or struct for a parameter of its type, `()` for a pointer, a texture or a surface"
)]
pub trait Scalar<P> {
    /// Returns the value. That of a pointer is null.
    #[doc(hidden)]
    #[track_caller]
    #[allow(clippy::missing_errors_doc, reason = "hidden")]
    fn given(self) -> Result<P>;
}

impl<P: CheckedParameter> Scalar<P> for P {
    fn given(self) -> Result<P> {
        Ok(self)
    }
}

#[diagnostic::do_not_recommend]
impl<T: 'static> Scalar<*const T> for () {
    fn given(self) -> Result<*const T> {
        Ok(ptr::null())
    }
}

#[diagnostic::do_not_recommend]
impl<T: 'static> Scalar<*mut T> for () {
    fn given(self) -> Result<*mut T> {
        Ok(ptr::null_mut())
    }
}

#[diagnostic::do_not_recommend]
impl Scalar<TextureObject> for () {
    fn given(self) -> Result<TextureObject> {
        Ok(TextureObject::from_raw(0))
    }
}

#[diagnostic::do_not_recommend]
impl Scalar<SurfaceObject> for () {
    fn given(self) -> Result<SurfaceObject> {
        Ok(SurfaceObject::from_raw(0))
    }
}

/// Whole numbers, checked as in a launch.
macro_rules! converted {
    ([$($before:ident)*]) => {};
    ([$($before:ident)*] $parameter:ident $($after:ident)*) => {
        converted!(@ $parameter from $($before)* $($after)*);
        converted!([$($before)* $parameter] $($after)*);
    };
    (@ $parameter:ident from $($argument:ident)*) => { $(
        #[diagnostic::do_not_recommend]
        impl Scalar<$parameter> for $argument {
            fn given(self) -> Result<$parameter> {
                KernelArg::value(&self)
            }
        }
    )* };
}

converted!([] u8 u16 u32 u64 usize i8 i16 i32 i64 isize);
