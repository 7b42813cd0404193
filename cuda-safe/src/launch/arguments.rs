//! Tuples of arguments, one for each parameter.
#![expect(unsafe_code, reason = "promises that a tuple of arguments fits a tuple of parameters")]

use std::ffi::c_void;

use crate::error::{Error, ErrorKind, Result};
use crate::hazard::{Access, Mode};

use crate::memory::place;
use crate::stream::AsStream;

use super::access_list::AccessList;
use super::argument::{Named, Target};
use super::checked_parameter::Description;
use super::passing::{CheckedLauncher, Launcher, Passed, Takes, unknown};
use super::{ByValue, Checked, CheckedArg, CheckedParameter, Kernel, KernelArg, LaunchConfig, Scalar};

/// A tuple of arguments that fits the parameter list `P`, a tuple of up to 32 types.
///
/// Implemented for tuples of [`KernelArg`]s of the same length. The trait is sealed.
///
/// # Safety
/// - `values` returns the values of all parameters, and `pointers` a pointer to each of them, in order.
/// - `accesses` adds the accesses of all memory that the kernel receives from owners.
#[diagnostic::on_unimplemented(
    message = "the arguments `{Self}` do not fit the kernel's parameters `{P}`",
    label = "wrong number of arguments: the kernel's parameters are `{P}`"
)]
pub unsafe trait Arguments<P>: sealed::ArgumentTuple {
    /// An array with a pointer for each parameter.
    #[doc(hidden)]
    type Pointers: AsMut<[*mut c_void]>;

    /// Returns the values that the kernel receives.
    #[doc(hidden)]
    #[track_caller]
    #[allow(clippy::missing_errors_doc, reason = "hidden")]
    fn values(&self, target: Target<'_>) -> Result<P>;

    /// Returns the addresses of the values.
    #[doc(hidden)]
    fn pointers(values: &mut P) -> Self::Pointers;

    /// Adds the accesses of all arguments to a list.
    #[doc(hidden)]
    #[track_caller]
    #[allow(clippy::missing_errors_doc, reason = "hidden")]
    fn accesses<'a>(&'a self, target: Target<'_>, all: &mut AccessList<'a>) -> Result<()>;

    /// Returns the error of a launch with the argument that it is about, if it is about one. `proven` has the
    /// accesses of a launch that is proven.
    #[doc(hidden)]
    fn explain(&self, error: Error, target: Target<'_>, proven: Option<&AccessList<'_>>) -> Error;
}

/// A parameter list: a tuple of up to 32 [`ByValue`] types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no list of a kernel's parameters",
    label = "not a tuple of numbers, pointers and other types that kernels take by value",
    note = "one parameter is a tuple, too: `(*mut f32,)`"
)]
pub trait Parameters: sealed::ParameterTuple {
    /// The size of each parameter in bytes.
    #[doc(hidden)]
    const SIZES: &'static [usize];
}

/// A tuple of arguments of a launch that is proven. The trait is sealed.
///
/// # Safety
/// `each_own` returns what belongs to each argument, in order. `accesses_of_objects` adds the accesses of
/// arguments that are no pointers, and of textures and surfaces themselves.
#[diagnostic::on_unimplemented(
    message = "the arguments `{Self}` do not fit the kernel's parameters `{P}` in a launch that is proven",
    label = "the kernel's parameters are `{P}`",
    note = "raw pointers, flags and handles by number are for launches without proof: `kernel.unchecked()`"
)]
pub unsafe trait CheckedArguments<P>: Arguments<P> {
    /// Returns the access to what belongs to each argument.
    #[doc(hidden)]
    fn each_own<'a>(&'a self) -> impl AsRef<[Option<Access<'a>>]>;

    /// Returns the access of each argument, also to bytes that others may have.
    #[doc(hidden)]
    fn each_access<'a>(&'a self) -> impl AsRef<[Option<Access<'a>>]>;

    /// Adds the accesses that no proof speaks of to a list.
    #[doc(hidden)]
    #[track_caller]
    #[allow(clippy::missing_errors_doc, reason = "hidden")]
    fn accesses_of_objects<'a>(&'a self, target: Target<'_>, all: &mut AccessList<'a>) -> Result<()>;
}

/// A tuple with a [`Scalar`] for each parameter. The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "the values `{Self}` do not fit the kernel's parameters `{P}`",
    label = "the kernel's parameters are `{P}`",
    note = "a number or struct for a parameter of its type, `()` for a pointer, a texture or a surface"
)]
pub trait Scalars<P>: sealed::ArgumentTuple {
    /// Calls a function with the address of a value for each parameter, in order.
    #[doc(hidden)]
    #[track_caller]
    #[allow(clippy::missing_errors_doc, reason = "hidden")]
    fn with_pointers<R>(self, target: Target<'_>, f: impl FnOnce(&[*mut c_void]) -> Result<R>) -> Result<R>;
}

/// A parameter list of [`CheckedParameter`]s. The trait is sealed.
pub trait CheckedParameters: Parameters {
    /// What the proof knows of each parameter.
    #[doc(hidden)]
    const DESCRIPTIONS: &'static [Description];

    /// Whether one of them is the handle of a texture or a surface.
    #[doc(hidden)]
    const HAS_HANDLE: bool;
}

mod sealed {
    /// Seals [`Arguments`](super::Arguments).
    pub trait ArgumentTuple {}

    /// Seals [`Parameters`](super::Parameters).
    pub trait ParameterTuple {}
}

/// Adds the accesses of the textures and surfaces among a tuple of arguments.
macro_rules! objects {
    ($arguments:ident, $target:ident, $all:ident, $(($argument:ident $parameter:ident $index:tt))*) => {
        // A compile-time condition: launches without textures and surfaces pay nothing.
        if const { false $(|| <$argument as KernelArg<$parameter>>::BY_OBJECT)* } {
            let objects: [Option<Named<'_>>; <[usize]>::len(&[$($index),*])] = [$($arguments.$index.object()),*];
            for (access, found) in objects.into_iter().flatten() {
                found.ensure_is($target.device, "launch", "a texture or surface")?;
                $all.push(access);
            }
        }
    };
}

macro_rules! tuple {
    ($(($argument:ident $parameter:ident $index:tt $value:ident))*) => {
        impl<$($argument),*> sealed::ArgumentTuple for ($($argument,)*) {}

        impl<$($parameter: ByValue),*> sealed::ParameterTuple for ($($parameter,)*) {}

        impl<$($parameter: ByValue),*> Parameters for ($($parameter,)*) {
            const SIZES: &'static [usize] = &[$(size_of::<$parameter>()),*];
        }

        #[diagnostic::do_not_recommend]
        impl<$($parameter: ByValue),*> Takes<{ <[usize]>::len(&[$($index),*]) }> for ($($parameter,)*) {
            type Launcher<'k> = Launcher<'k, Self>;
            type CheckedLauncher<'k> = CheckedLauncher<'k, Self>;

            #[inline]
            fn launcher(kernel: &Kernel<Self>) -> Launcher<'_, Self> {
                Launcher(kernel)
            }

            #[inline]
            fn checked_launcher(kernel: &Checked<Self>) -> CheckedLauncher<'_, Self> {
                CheckedLauncher(kernel)
            }
        }

        impl<$($parameter: CheckedParameter),*> CheckedParameters for ($($parameter,)*) {
            const DESCRIPTIONS: &'static [Description] = &[$(Description::of::<$parameter>()),*];
            const HAS_HANDLE: bool = false $(|| $parameter::HANDLE.is_some())*;
        }

        impl<$($parameter: CheckedParameter),*> CheckedLauncher<'_, ($($parameter,)*)> {
            /// [`Checked::launch`], with each argument on its own, as [`Launcher::launch`].
            ///
            /// # Errors
            /// As `launch`.
            #[allow(clippy::too_many_arguments, reason = "as many as the kernel has parameters")]
            #[inline]
            #[track_caller]
            pub fn launch<$($argument: CheckedArg<$parameter>),*>(
                self,
                config: LaunchConfig<'_>,
                stream: &impl AsStream,
                $($value: $argument),*
            ) -> (Result<()>, ($(Passed<$argument, $parameter>,)*)) {
                let launched = self.0.launch_shape(&config, stream, ($($value,)*));
                (launched, ($(unknown::<$argument, $parameter>(),)*))
            }
        }

        // SAFETY: one access for each argument, in their order.
        unsafe impl<$($argument, $parameter),*> CheckedArguments<($($parameter,)*)> for ($($argument,)*)
        where
            $($argument: CheckedArg<$parameter>, $parameter: CheckedParameter,)*
        {
            #[inline]
            fn each_own<'a>(&'a self) -> impl AsRef<[Option<Access<'a>>]> {
                let all: [Option<Access<'a>>; <[usize]>::len(&[$($index),*])] = [$(self.$index.own()),*];
                all
            }

            fn each_access<'a>(&'a self) -> impl AsRef<[Option<Access<'a>>]> {
                let all: [Option<Access<'a>>; <[usize]>::len(&[$($index),*])] = [$(self.$index.access()),*];
                all
            }

            #[inline]
            #[track_caller]
            fn accesses_of_objects<'a>(&'a self, target: Target<'_>, all: &mut AccessList<'a>) -> Result<()> {
                $(if const { $parameter::POINTERS.is_empty() } && let Some(access) = self.$index.access() {
                    all.push(access);
                })*
                objects!(self, target, all, $(($argument $parameter $index))*);
                Ok(())
            }
        }

        impl<$($argument: Scalar<$parameter>, $parameter: CheckedParameter),*> Scalars<($($parameter,)*)>
            for ($($argument,)*)
        {
            #[track_caller]
            fn with_pointers<R>(
                self,
                target: Target<'_>,
                f: impl FnOnce(&[*mut c_void]) -> Result<R>,
            ) -> Result<R> {
                // Unused without parameters.
                let _ = target;
                let mut values: ($($parameter,)*) = ($(given(self.$index.given(), $index, target)?,)*);
                let _ = &mut values;
                f(&[$((&raw mut values.$index).cast()),*])
            }
        }

        impl<$($parameter: ByValue),*> Launcher<'_, ($($parameter,)*)> {
            /// [`Kernel::launch`], with each argument on its own, so that errors of the compiler point at the
            /// wrong one.
            ///
            /// # Errors
            /// As `launch`.
            ///
            /// # Safety
            /// The duties of `launch`.
            #[allow(clippy::too_many_arguments, reason = "as many as the kernel has parameters")]
            #[inline]
            #[track_caller]
            pub unsafe fn launch<$($argument: KernelArg<$parameter>),*>(
                self,
                config: LaunchConfig<'_>,
                stream: &impl AsStream,
                $($value: $argument),*
            ) -> (Result<()>, ($(Passed<$argument, $parameter>,)*)) {
                // SAFETY: the caller has the same duties.
                let launched = unsafe { self.0.launch(config, stream, ($($value,)*)) };
                (launched, ($(unknown::<$argument, $parameter>(),)*))
            }
        }

        // SAFETY: the values and the pointers are in the order of the parameters, and each argument has the
        // accesses of its memory (`KernelArg`).
        unsafe impl<$($argument, $parameter),*> Arguments<($($parameter,)*)> for ($($argument,)*)
        where
            $($argument: KernelArg<$parameter>, $parameter: ByValue,)*
        {
            type Pointers = [*mut c_void; <[usize]>::len(&[$($index),*])];

            #[inline]
            #[track_caller]
            fn values(&self, target: Target<'_>) -> Result<($($parameter,)*)> {
                // Unused without arguments.
                let _ = target;
                Ok(($(received(&self.$index, $index, target)?,)*))
            }

            #[inline]
            fn pointers(values: &mut ($($parameter,)*)) -> Self::Pointers {
                let _ = &values;
                [$((&raw mut values.$index).cast()),*]
            }

            #[inline]
            #[track_caller]
            fn accesses<'a>(&'a self, target: Target<'_>, all: &mut AccessList<'a>) -> Result<()> {
                $(if let Some(access) = self.$index.access() {
                    all.push(access);
                })*
                objects!(self, target, all, $(($argument $parameter $index))*);
                Ok(())
            }

            #[cold]
            #[inline(never)]
            fn explain(&self, error: Error, target: Target<'_>, proven: Option<&AccessList<'_>>) -> Error {
                const COUNT: usize = <[usize]>::len(&[$($index),*]);
                let found: [Option<Access<'_>>; COUNT] = [$(self.$index.access()),*];
                let types: [fn() -> &'static str; COUNT] = [$(std::any::type_name::<$parameter>),*];
                unordered(of_memory(error, &found, target), &found, &types, target, proven)
            }
        }
    };
}

/// Returns the value that the kernel receives for one argument.
#[inline]
#[track_caller]
fn received<P: ByValue>(argument: &impl KernelArg<P>, index: usize, target: Target<'_>) -> Result<P> {
    given(argument.value(), index, target)
}

/// Names the argument in the error of a value.
#[inline]
fn given<P>(value: Result<P>, index: usize, target: Target<'_>) -> Result<P> {
    value.map_err(|error| error.of_argument(target.kernel, index, target.parameter_name(index)))
}

/// Returns the refusal of memory that the device cannot access with the argument that it is, if it is one.
#[cold]
#[inline(never)]
fn of_memory(error: Error, found: &[Option<Access<'_>>], target: Target<'_>) -> Error {
    if error.code() != crate::sys::cudaErrorPeerAccessNotEnabled {
        return error;
    }
    let is_refused = |access: &Option<Access<'_>>| {
        access.is_some_and(|access| place::ensure_accessible(target.device, &[access]).is_err())
    };
    match found.iter().position(is_refused) {
        Some(index) => error.of_argument(target.kernel, index, target.parameter_name(index)),
        None => error,
    }
}

/// Returns the refusal of a launch that nothing orders, with the first argument that conflicts, and with the
/// call site that this one conflicts with: the launch may have more conflicts. If a read of it would not
/// conflict, the error also says what to do for a kernel that only reads.
#[cold]
#[inline(never)]
fn unordered(
    error: Error,
    found: &[Option<Access<'_>>],
    types: &[fn() -> &'static str],
    target: Target<'_>,
    proven: Option<&AccessList<'_>>,
) -> Error {
    let (ErrorKind::Hazard, Some(stream)) = (error.detail().kind(), target.stream) else { return error };
    let second = error.call_site();
    let mut conflicts = found.iter().enumerate().filter_map(|(index, access)| {
        let access = (*access)?;
        let hazard = match proven {
            None => stream.hazard_of(access, second),
            Some(all) => all
                .iter()
                .filter(|part| part.overlaps(&access))
                .find_map(|part| stream.hazard_of(*part, second)),
        };
        Some((index, access, hazard?))
    });
    let Some((index, access, hazard)) = conflicts.next() else { return error };
    let error = error.of_hazard(hazard);
    let (name, declared) = (target.parameter_name(index), types.get(index).map_or("", |name| name()));
    let read = Access::new(access.history(), access.range(), Mode::Read);
    // A proof knows what is written.
    let only_read = proven.is_none()
        && access.mode() == Mode::Write
        && declared.starts_with("*mut")
        && stream.hazard_of(read, second).is_none();
    let error = if only_read { error.if_written(declared, name) } else { error };
    error.of_argument(target.kernel, index, name)
}

/// Implements the traits for each length.
macro_rules! tuples {
    () => {
        tuple!();
        tuples!([]
            (A0 P0 0 v0) (A1 P1 1 v1) (A2 P2 2 v2) (A3 P3 3 v3) (A4 P4 4 v4) (A5 P5 5 v5) (A6 P6 6 v6) (A7 P7 7 v7)
            (A8 P8 8 v8) (A9 P9 9 v9) (A10 P10 10 v10) (A11 P11 11 v11) (A12 P12 12 v12) (A13 P13 13 v13)
            (A14 P14 14 v14) (A15 P15 15 v15) (A16 P16 16 v16) (A17 P17 17 v17) (A18 P18 18 v18) (A19 P19 19 v19)
            (A20 P20 20 v20) (A21 P21 21 v21) (A22 P22 22 v22) (A23 P23 23 v23) (A24 P24 24 v24) (A25 P25 25 v25)
            (A26 P26 26 v26) (A27 P27 27 v27) (A28 P28 28 v28) (A29 P29 29 v29) (A30 P30 30 v30) (A31 P31 31 v31)
        );
    };
    ([$($done:tt)*]) => {};
    ([$($done:tt)*] $next:tt $($rest:tt)*) => {
        tuple!($($done)* $next);
        tuples!([$($done)* $next] $($rest)*);
    };
}

tuples!();

#[cfg(test)]
mod tests {
    use crate::hazard::AccessHistory;

    use super::*;

    const TARGET: Target<'static> = Target {
        device: crate::Device::from_ordinal(0),
        stream: None,
        kernel: "kernel",
        parameter_names: &["first", "second"],
    };

    struct Reads<'a>(&'a AccessHistory, usize);

    // SAFETY: stands for memory in tests, which launch nothing with it.
    unsafe impl KernelArg<*const f32> for Reads<'_> {
        fn value(&self) -> Result<*const f32> {
            Ok(std::ptr::without_provenance(self.1))
        }
        fn access(&self) -> Option<Access<'_>> {
            Some(Access::read(self.0, 0..self.1))
        }
    }

    /// Returns the number of parameters, the ranges of the accesses, and the value of the second parameter.
    fn second<P, A: Arguments<P>>(arguments: &A) -> (usize, Vec<std::ops::Range<usize>>, u32) {
        let mut values = arguments.values(TARGET).unwrap();
        let mut pointers = A::pointers(&mut values);
        let pointers = pointers.as_mut();
        let mut accesses = AccessList::new();
        arguments.accesses(TARGET, &mut accesses).unwrap();
        // SAFETY: the tests below pass a u32 as their second argument, and the values are live.
        let value = unsafe { *pointers[1].cast::<u32>() };
        (pointers.len(), accesses.iter().map(Access::range).collect(), value)
    }

    #[test]
    fn pointers_come_in_order_and_accesses_only_from_memory() {
        let (a, b) = (AccessHistory::new(64), AccessHistory::new(64));
        let arguments = (Reads(&a, 8), 77_u32, 2.5_f32, Reads(&b, 16));
        let seen = second::<(*const f32, u32, f32, *const f32), _>(&arguments);
        assert_eq!(seen, (4, vec![0..8, 0..16], 77));
    }

    #[test]
    fn thirty_two_arguments_fit() {
        type U = u32;
        #[rustfmt::skip]
        let arguments = (
            0_u8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28,
            29, 30, 31_i64,
        );
        #[rustfmt::skip]
        type Parameters = (
            U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U,
        );
        assert_eq!(second::<Parameters, _>(&arguments), (32, vec![], 1));
    }

    #[test]
    fn a_number_that_does_not_fit_is_refused_by_its_argument() {
        let with = |arguments: (i64, usize)| Arguments::<(u8, i32)>::values(&arguments, TARGET);
        assert_eq!(with((255, 7)), Ok((255, 7)));
        let (first, second) = (with((-1, 7)).unwrap_err(), with((0, 1 << 31)).unwrap_err());
        assert!(
            first.to_string().contains("kernel: argument 0 (0 is the first), `first`: -1 does not fit in"),
            "{first}"
        );
        assert!(
            second.to_string().contains("argument 1 (0 is the first), `second`: ")
                && second.to_string().contains("`i32`"),
            "{second}"
        );
        assert!(first.is_refused() && first.code() == crate::sys::cudaErrorInvalidValue);
    }

    #[test]
    fn the_same_memory_twice_gives_two_reads() {
        let a = AccessHistory::new(64);
        let arguments = (Reads(&a, 8), 1_u32, Reads(&a, 8));
        assert_eq!(second::<(*const f32, u32, *const f32), _>(&arguments).1, [0..8, 0..8]);
    }
}
