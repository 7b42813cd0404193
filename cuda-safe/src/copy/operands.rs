//! The operand types: owners and views, arrays, slices of the program, and borrows of these.

use bytemuck::{AnyBitPattern, NoUninit};

use super::operand::{
    AsyncDestination, AsyncSource, ByScope, Destination, Dimensions, FillDestination, InGraph, Linear,
    Operand, Planar, Source, Volumetric,
};
use crate::element::{Element, PlainElement};
use crate::error::Result;
use crate::memory::{
    AnyMemoryType, Array, ArrayElement, ArrayView, ArrayViewMut, Buffer, MemoryType, OnDevice, Pageable,
    Pinned, PitchedBuffer, PitchedVolume, Plane, PlaneMut, Registered, Slice, SliceMut, SourceOf, Stable,
    StableMut, Volume, VolumeMut,
};

/// Implements the operand traits for types that make the same descriptor. The input is the shape, the
/// element type, the descriptor, and then a line for each side with generics and types. The owners of
/// `from_retained` and `to_retained` types keep the memory alive, so asynchronous copies take these too.
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
    (@ from_retained $shape:ty, $element:ty, $it:ident, $operand:expr, $generics:tt $($type:ty),+) => {$(
        operands!(@source $shape, $element, $it, $operand, $generics $type);
        operands!(@marker AsyncSource<$shape>, $generics $type);
    )+};
    (@ to_retained $shape:ty, $element:ty, $it:ident, $operand:expr, $generics:tt $($type:ty),+) => {$(
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

operands! { Linear: T, it => Operand::from_span::<T, M>(it.span());
    from_retained [T: AnyBitPattern, M: MemoryType + SourceOf<T>] Buffer<T, M>, Slice<'_, T, M>, SliceMut<'_, T, M>;
    to_retained [T: AnyBitPattern, M: MemoryType] Buffer<T, M>, SliceMut<'_, T, M>;
}

operands! { Linear: C::Element, it => Operand::from_span::<_, Pinned>(it.span());
    from_retained [C: Stable<Element: NoUninit>] Registered<C>;
    to_retained [C: StableMut] Registered<C>;
}

operands! { Linear: T, it => Operand::from_slice(it);
    from [T: PlainElement] [T], Vec<T>;
    from [T: PlainElement, const N: usize] [T; N];
}

operands! { Linear: T, it => Operand::from_slice_mut(it);
    to [T: Element] [T], Vec<T>;
    to [T: Element, const N: usize] [T; N];
}

/// Implements the traits for rows or layers: pitched memory, views of any memory, and arrays.
macro_rules! grids {
    ($($shape:ty, $dimensions:ident: $pitched:ident, $view:ident, $view_mut:ident;)*) => {$(
        operands! { $shape: T, it => Operand::from_grid::<T, OnDevice>(it.grid(), Dimensions::$dimensions);
            from_retained [T: AnyBitPattern] $pitched<T>;
            to_retained [T: AnyBitPattern] $pitched<T>;
        }
        operands! { $shape: T, it => Operand::from_grid::<T, M>(it.grid(), Dimensions::$dimensions);
            from [T: AnyBitPattern, M: SourceOf<T>] $view<'_, T, M>, $view_mut<'_, T, M>;
            to [T: AnyBitPattern, M: AnyMemoryType] $view_mut<'_, T, M>;
        }
        operands! { $shape: T, it => Operand::from_array(it.region(), Dimensions::$dimensions);
            from_retained [T: ArrayElement] Array<T>, ArrayView<'_, T>, ArrayViewMut<'_, T>;
            to_retained [T: ArrayElement] Array<T>, ArrayViewMut<'_, T>;
        }

        impl<T: AnyBitPattern, M: MemoryType + SourceOf<T>> AsyncSource<$shape> for $view<'_, T, M> {}
        impl<T: AnyBitPattern, M: MemoryType + SourceOf<T>> AsyncSource<$shape> for $view_mut<'_, T, M> {}
        impl<T: AnyBitPattern, M: MemoryType> AsyncDestination<$shape> for $view_mut<'_, T, M> {}
        impl<T: AnyBitPattern> FillDestination<$shape> for $pitched<T> {}
        impl<T: AnyBitPattern, M: MemoryType> FillDestination<$shape> for $view_mut<'_, T, M> {}

        // Passed by value in a scope, and not by reference. A view that is made in the line of the copy
        // would not live as long as the scope, but its elements do.
        impl<'scope, T: NoUninit + AnyBitPattern> AsyncSource<$shape, ByScope<'scope>>
            for $view<'scope, T, Pageable> {}
        impl<'scope, T: AnyBitPattern> AsyncDestination<$shape, ByScope<'scope>>
            for $view_mut<'scope, T, Pageable> {}
        // Here too, the elements are borrowed for the whole scope. Others may read elements that are
        // read. Nobody else can access elements that are written, because the view itself is exclusive.
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

/// Implements the traits for borrows of operands.
macro_rules! passed_on {
    ($($shape:ty),*) => {$(
        passed_on!(@source $shape, [S: Source<$shape> + ?Sized] &S, it => it);
        passed_on!(@source $shape, [S: Source<$shape> + ?Sized] &mut S, it => it);
        passed_on!(@destination $shape, [D: Destination<$shape> + ?Sized] &mut D, it => it);

        impl<S: AsyncSource<$shape> + ?Sized> AsyncSource<$shape> for &S {}
        impl<S: AsyncSource<$shape> + ?Sized> AsyncSource<$shape> for &mut S {}
        impl<D: AsyncDestination<$shape> + ?Sized> AsyncDestination<$shape> for &mut D {}
        impl<D: FillDestination<$shape> + ?Sized> FillDestination<$shape> for &mut D {}

        // The owner itself waits for the copy, so a borrow for the call suffices.
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
impl<'scope, T: PlainElement> AsyncSource<Linear, ByScope<'scope>> for &'scope [T] {}
impl<'scope, T: PlainElement, const N: usize> AsyncSource<Linear, ByScope<'scope>> for &'scope [T; N] {}
impl<'scope, T: PlainElement> AsyncSource<Linear, ByScope<'scope>> for &'scope Vec<T> {}
impl<'scope, T: AnyBitPattern> AsyncDestination<Linear, ByScope<'scope>> for &'scope mut [T] {}
impl<'scope, T: AnyBitPattern, const N: usize> AsyncDestination<Linear, ByScope<'scope>>
    for &'scope mut [T; N]
{
}
impl<'scope, T: AnyBitPattern> AsyncDestination<Linear, ByScope<'scope>> for &'scope mut Vec<T> {}

// A graph retains the operands that an asynchronous copy takes.
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
