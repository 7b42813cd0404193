//! Which memory can stand on either side of a copy: owners and views, arrays, slices of the program's own,
//! borrows of these, and results whose error the copy returns.

use bytemuck::{AnyBitPattern, NoUninit};

use super::operand::{
    AsyncDestination, AsyncSource, ByScope, Destination, Dimensions, FillDestination, InGraph, Linear,
    Operand, Planar, Source, Volumetric,
};
use crate::error::Result;
use crate::memory::{
    AnyMemoryType, Array, ArrayElement, ArrayView, ArrayViewMut, Buffer, MemoryType, OnDevice, Pageable,
    Pinned, PitchedBuffer, PitchedVolume, Plane, PlaneMut, Registered, Slice, SliceMut, SourceOf, Stable,
    StableMut, Volume, VolumeMut,
};

/// Implements the traits for types that make the same descriptor: the shape, the type of the elements, the
/// descriptor, and then a line for each side with generics and types. Of `from_kept` and `to_kept` types the
/// owner keeps the memory, so asynchronous copies take them, too.
macro_rules! operands {
    ($shape:ty: $element:ty, $it:ident => $operand:expr; $($side:ident [$($generics:tt)*] $($type:ty),+;)+) => {$(
        operands!(@ $side $shape, $element, $it, $operand, [$($generics)*] $($type),+);
    )+};
    (@ from $shape:ty, $element:ty, $it:ident, $operand:expr, $generics:tt $($type:ty),+) => {
        $(operands!(@source $shape, $element, $it, $operand, $generics $type);)+
    };
    (@ to $shape:ty, $element:ty, $it:ident, $operand:expr, $generics:tt $($type:ty),+) => {
        $(operands!(@destination $shape, $element, $it, $operand, $generics $type);)+
    };
    (@ from_kept $shape:ty, $element:ty, $it:ident, $operand:expr, $generics:tt $($type:ty),+) => {$(
        operands!(@source $shape, $element, $it, $operand, $generics $type);
        operands!(@marker AsyncSource<$shape>, $generics $type);
    )+};
    (@ to_kept $shape:ty, $element:ty, $it:ident, $operand:expr, $generics:tt $($type:ty),+) => {$(
        operands!(@destination $shape, $element, $it, $operand, $generics $type);
        operands!(@marker AsyncDestination<$shape>, $generics $type);
    )+};
    (@source $shape:ty, $element:ty, $it:ident, $operand:expr, [$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> Source<$shape> for $type {
            type Element = $element;

            #[inline]
            fn operand(&self) -> Result<Operand<'_>> {
                let $it = self;
                Ok($operand)
            }
        }
    };
    (@destination $shape:ty, $element:ty, $it:ident, $operand:expr, [$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> Destination<$shape> for $type {
            type Element = $element;

            #[inline]
            fn operand_mut(&mut self) -> Result<Operand<'_>> {
                let $it = self;
                Ok($operand)
            }
        }
    };
    (@marker $trait:ty, [$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> $trait for $type {}
    };
}

operands! { Linear: T, it => Operand::of_span::<T, M>(it.span());
    from_kept [T: AnyBitPattern, M: MemoryType + SourceOf<T>] Buffer<T, M>, Slice<'_, T, M>, SliceMut<'_, T, M>;
    to_kept [T: AnyBitPattern, M: MemoryType] Buffer<T, M>, SliceMut<'_, T, M>;
}

operands! { Linear: C::Element, it => Operand::of_span::<_, Pinned>(it.span());
    from_kept [C: Stable<Element: NoUninit>] Registered<C>;
    to_kept [C: StableMut] Registered<C>;
}

operands! { Linear: T, it => Operand::of_slice(it);
    from [T: NoUninit] [T], Vec<T>;
    from [T: NoUninit, const N: usize] [T; N];
}

operands! { Linear: T, it => Operand::of_slice_mut(it);
    to [T: AnyBitPattern] [T], Vec<T>;
    to [T: AnyBitPattern, const N: usize] [T; N];
}

/// Rows or layers: pitched memory, views of any memory, and arrays.
macro_rules! grids {
    ($($shape:ty, $dimensions:ident: $pitched:ident, $view:ident, $view_mut:ident;)*) => {$(
        operands! { $shape: T, it => Operand::of_grid::<T, OnDevice>(it.grid(), Dimensions::$dimensions);
            from_kept [T: AnyBitPattern] $pitched<T>;
            to_kept [T: AnyBitPattern] $pitched<T>;
        }
        operands! { $shape: T, it => Operand::of_grid::<T, M>(it.grid(), Dimensions::$dimensions);
            from [T: AnyBitPattern, M: SourceOf<T>] $view<'_, T, M>, $view_mut<'_, T, M>;
            to [T: AnyBitPattern, M: AnyMemoryType] $view_mut<'_, T, M>;
        }
        operands! { $shape: T, it => Operand::of_array(it.region(), Dimensions::$dimensions);
            from_kept [T: ArrayElement] Array<T>, ArrayView<'_, T>, ArrayViewMut<'_, T>;
            to_kept [T: ArrayElement] Array<T>, ArrayViewMut<'_, T>;
        }

        impl<T: AnyBitPattern, M: MemoryType + SourceOf<T>> AsyncSource<$shape> for $view<'_, T, M> {}
        impl<T: AnyBitPattern, M: MemoryType + SourceOf<T>> AsyncSource<$shape> for $view_mut<'_, T, M> {}
        impl<T: AnyBitPattern, M: MemoryType> AsyncDestination<$shape> for $view_mut<'_, T, M> {}
        impl<T: AnyBitPattern> FillDestination<$shape> for $pitched<T> {}
        impl<T: AnyBitPattern, M: MemoryType> FillDestination<$shape> for $view_mut<'_, T, M> {}

        // Passed as they are in a scope, and not by a reference: a view made in the line of the copy would
        // not live as long as the scope, which its elements do.
        impl<'scope, T: NoUninit + AnyBitPattern> AsyncSource<$shape, ByScope<'scope>>
            for $view<'scope, T, Pageable> {}
        impl<'scope, T: AnyBitPattern> AsyncDestination<$shape, ByScope<'scope>>
            for $view_mut<'scope, T, Pageable> {}
        // The elements are borrowed for the whole scope here too: those that are read by anybody else as
        // well, those that are written by nobody else, because the view itself is.
        impl<'scope, T: NoUninit + AnyBitPattern> AsyncSource<$shape, ByScope<'scope>>
            for &$view<'scope, T, Pageable> {}
        impl<'scope, T: AnyBitPattern> AsyncDestination<$shape, ByScope<'scope>>
            for &'scope mut $view_mut<'_, T, Pageable> {}
    )*};
}

grids! {
    Planar, Two: PitchedBuffer, Plane, PlaneMut;
    Volumetric, Three: PitchedVolume, Volume, VolumeMut;
}

/// Borrows of operands, and results whose error the copy returns.
macro_rules! passed_on {
    ($($shape:ty),*) => {$(
        passed_on!(@source $shape, [S: Source<$shape> + ?Sized] &S, it => it);
        passed_on!(@source $shape, [S: Source<$shape> + ?Sized] &mut S, it => it);
        passed_on!(@source $shape, [S: Source<$shape>] Result<S>, it => it.as_ref().map_err(|error| error.clone())?);
        passed_on!(@destination $shape, [D: Destination<$shape> + ?Sized] &mut D, it => it);
        passed_on!(@destination $shape, [D: Destination<$shape>] Result<D>, it => it.as_mut().map_err(|error| error.clone())?);

        impl<S: AsyncSource<$shape> + ?Sized> AsyncSource<$shape> for &S {}
        impl<S: AsyncSource<$shape> + ?Sized> AsyncSource<$shape> for &mut S {}
        impl<S: AsyncSource<$shape>> AsyncSource<$shape> for Result<S> {}
        impl<D: AsyncDestination<$shape> + ?Sized> AsyncDestination<$shape> for &mut D {}
        impl<D: AsyncDestination<$shape>> AsyncDestination<$shape> for Result<D> {}
        impl<D: FillDestination<$shape> + ?Sized> FillDestination<$shape> for &mut D {}
        impl<D: FillDestination<$shape>> FillDestination<$shape> for Result<D> {}

        // The owner waits for the copy by itself, so a borrow for the call is enough.
        impl<'scope, S: AsyncSource<$shape> + ?Sized> AsyncSource<$shape, ByScope<'scope>> for &S {}
        impl<'scope, D: AsyncDestination<$shape> + ?Sized> AsyncDestination<$shape, ByScope<'scope>> for &mut D {}
    )*};
    (@source $shape:ty, [$($generics:tt)*] $type:ty, $it:ident => $inner:expr) => {
        impl<$($generics)*> Source<$shape> for $type {
            type Element = S::Element;

            #[inline]
            fn operand(&self) -> Result<Operand<'_>> {
                let $it = self;
                S::operand($inner)
            }
        }
    };
    (@destination $shape:ty, [$($generics:tt)*] $type:ty, $it:ident => $inner:expr) => {
        impl<$($generics)*> Destination<$shape> for $type {
            type Element = D::Element;

            #[inline]
            fn operand_mut(&mut self) -> Result<Operand<'_>> {
                let $it = self;
                D::operand_mut($inner)
            }
        }
    };
}

passed_on!(Linear, Planar, Volumetric);

// Pageable memory must be borrowed for the whole scope.
impl<'scope, T: NoUninit> AsyncSource<Linear, ByScope<'scope>> for &'scope [T] {}
impl<'scope, T: NoUninit, const N: usize> AsyncSource<Linear, ByScope<'scope>> for &'scope [T; N] {}
impl<'scope, T: NoUninit> AsyncSource<Linear, ByScope<'scope>> for &'scope Vec<T> {}
impl<'scope, T: AnyBitPattern> AsyncDestination<Linear, ByScope<'scope>> for &'scope mut [T] {}
impl<'scope, T: AnyBitPattern, const N: usize> AsyncDestination<Linear, ByScope<'scope>>
    for &'scope mut [T; N]
{
}
impl<'scope, T: AnyBitPattern> AsyncDestination<Linear, ByScope<'scope>> for &'scope mut Vec<T> {}

// A graph keeps what an asynchronous copy takes.
impl<S: AsyncSource + ?Sized> Source<InGraph> for S {
    type Element = <S as Source>::Element;

    fn operand(&self) -> Result<Operand<'_>> {
        Source::<Linear>::operand(self)
    }
}

impl<D: AsyncDestination + ?Sized> Destination<InGraph> for D {
    type Element = <D as Destination>::Element;

    fn operand_mut(&mut self) -> Result<Operand<'_>> {
        Destination::<Linear>::operand_mut(self)
    }
}
