//! Which memory can stand on either side of a copy: owners and views, slices of the program's own, borrows of these, and results
//! whose error the copy returns.

use bytemuck::{AnyBitPattern, NoUninit};

use super::operand::{
    AsyncDestination, AsyncSource, Destination, Dimensions, FillDestination, Linear, Operand, Planar, Source,
    Volumetric, sealed,
};
use super::plain::Plain;
use crate::error::Result;
use crate::memory::{
    AnyPlace, Buffer, OnDevice, Pinned, PitchedBuffer, PitchedVolume, Place, Plane, PlaneMut, Registered,
    Slice, SliceMut, SourceOf, Stable, StableMut, Volume, VolumeMut,
};

/// Memory of any place: all four traits, as far as it may be written and its elements read. Asynchronous copies take it
/// only where the crate keeps books.
macro_rules! operands {
    ([$($generics:tt)*] $this:ident => $operand:expr $(, in short $plain:expr)?, $shape:ty, from $source:ty) => {
        impl<$($generics)*> sealed::Source<$shape> for $source {
            fn operand(&self) -> Result<Operand<'_>> {
                let $this = self;
                Ok($operand)
            }

            $(
                #[inline]
                fn plain(&self) -> Option<Plain<'_>> {
                    let $this = self;
                    $plain
                }
            )?
        }

        impl<$($generics)*> Source<$shape> for $source {
            type Element = T;
        }
    };
    ([$($generics:tt)*] $this:ident => $operand:expr $(, in short $plain:expr)?, $shape:ty, to $destination:ty) => {
        impl<$($generics)*> sealed::Destination<$shape> for $destination {
            fn operand_mut(&mut self) -> Result<Operand<'_>> {
                let $this = self;
                Ok($operand)
            }

            $(
                #[inline]
                fn plain_mut(&mut self) -> Option<Plain<'_>> {
                    let $this = self;
                    $plain
                }
            )?
        }

        impl<$($generics)*> Destination<$shape> for $destination {
            type Element = T;
        }
    };
}

operands!([T: AnyBitPattern, M: Place + SourceOf<T>] it => Operand::of_span::<T, M>(it.span()), in short Plain::of_span::<T, M>(it.span()), Linear, from Buffer<T, M>);
operands!([T: AnyBitPattern, M: Place + SourceOf<T>] it => Operand::of_span::<T, M>(it.span()), in short Plain::of_span::<T, M>(it.span()), Linear, from Slice<'_, T, M>);
operands!([T: AnyBitPattern, M: Place + SourceOf<T>] it => Operand::of_span::<T, M>(it.span()), in short Plain::of_span::<T, M>(it.span()), Linear, from SliceMut<'_, T, M>);
operands!([T: AnyBitPattern, M: Place] it => Operand::of_span::<T, M>(it.span()), in short Plain::of_span::<T, M>(it.span()), Linear, to Buffer<T, M>);
operands!([T: AnyBitPattern, M: Place] it => Operand::of_span::<T, M>(it.span()), in short Plain::of_span::<T, M>(it.span()), Linear, to SliceMut<'_, T, M>);

impl<T: AnyBitPattern, M: Place + SourceOf<T>> AsyncSource for Buffer<T, M> {}
impl<T: AnyBitPattern, M: Place + SourceOf<T>> AsyncSource for Slice<'_, T, M> {}
impl<T: AnyBitPattern, M: Place + SourceOf<T>> AsyncSource for SliceMut<'_, T, M> {}
impl<T: AnyBitPattern, M: Place> AsyncDestination for Buffer<T, M> {}
impl<T: AnyBitPattern, M: Place> AsyncDestination for SliceMut<'_, T, M> {}

operands!([T: AnyBitPattern] it => Operand::of_grid::<T, OnDevice>(it.grid(), Dimensions::Two), in short Plain::of_grid::<T, OnDevice>(&it.grid()), Planar, from PitchedBuffer<T>);
operands!([T: AnyBitPattern] it => Operand::of_grid::<T, OnDevice>(it.grid(), Dimensions::Two), in short Plain::of_grid::<T, OnDevice>(&it.grid()), Planar, to PitchedBuffer<T>);
operands!([T: AnyBitPattern, M: SourceOf<T>] it => Operand::of_grid::<T, M>(it.grid(), Dimensions::Two), in short Plain::of_grid::<T, M>(&it.grid()), Planar, from Plane<'_, T, M>);
operands!([T: AnyBitPattern, M: SourceOf<T>] it => Operand::of_grid::<T, M>(it.grid(), Dimensions::Two), in short Plain::of_grid::<T, M>(&it.grid()), Planar, from PlaneMut<'_, T, M>);
operands!([T: AnyBitPattern, M: AnyPlace] it => Operand::of_grid::<T, M>(it.grid(), Dimensions::Two), in short Plain::of_grid::<T, M>(&it.grid()), Planar, to PlaneMut<'_, T, M>);

impl<T: AnyBitPattern> AsyncSource<Planar> for PitchedBuffer<T> {}
impl<T: AnyBitPattern> AsyncDestination<Planar> for PitchedBuffer<T> {}
impl<T: AnyBitPattern, M: Place + SourceOf<T>> AsyncSource<Planar> for Plane<'_, T, M> {}
impl<T: AnyBitPattern, M: Place + SourceOf<T>> AsyncSource<Planar> for PlaneMut<'_, T, M> {}
impl<T: AnyBitPattern, M: Place> AsyncDestination<Planar> for PlaneMut<'_, T, M> {}
impl<T: AnyBitPattern> FillDestination<Planar> for PitchedBuffer<T> {}
impl<T: AnyBitPattern, M: Place> FillDestination<Planar> for PlaneMut<'_, T, M> {}

operands!([T: AnyBitPattern] it => Operand::of_grid::<T, OnDevice>(it.grid(), Dimensions::Three), in short Plain::of_grid::<T, OnDevice>(&it.grid()), Volumetric, from PitchedVolume<T>);
operands!([T: AnyBitPattern] it => Operand::of_grid::<T, OnDevice>(it.grid(), Dimensions::Three), in short Plain::of_grid::<T, OnDevice>(&it.grid()), Volumetric, to PitchedVolume<T>);
operands!([T: AnyBitPattern, M: SourceOf<T>] it => Operand::of_grid::<T, M>(it.grid(), Dimensions::Three), in short Plain::of_grid::<T, M>(&it.grid()), Volumetric, from Volume<'_, T, M>);
operands!([T: AnyBitPattern, M: SourceOf<T>] it => Operand::of_grid::<T, M>(it.grid(), Dimensions::Three), in short Plain::of_grid::<T, M>(&it.grid()), Volumetric, from VolumeMut<'_, T, M>);
operands!([T: AnyBitPattern, M: AnyPlace] it => Operand::of_grid::<T, M>(it.grid(), Dimensions::Three), in short Plain::of_grid::<T, M>(&it.grid()), Volumetric, to VolumeMut<'_, T, M>);

impl<T: AnyBitPattern> AsyncSource<Volumetric> for PitchedVolume<T> {}
impl<T: AnyBitPattern> AsyncDestination<Volumetric> for PitchedVolume<T> {}
impl<T: AnyBitPattern, M: Place + SourceOf<T>> AsyncSource<Volumetric> for Volume<'_, T, M> {}
impl<T: AnyBitPattern, M: Place + SourceOf<T>> AsyncSource<Volumetric> for VolumeMut<'_, T, M> {}
impl<T: AnyBitPattern, M: Place> AsyncDestination<Volumetric> for VolumeMut<'_, T, M> {}
impl<T: AnyBitPattern> FillDestination<Volumetric> for PitchedVolume<T> {}
impl<T: AnyBitPattern, M: Place> FillDestination<Volumetric> for VolumeMut<'_, T, M> {}

impl<C: Stable<Element: NoUninit>> sealed::Source for Registered<C> {
    fn operand(&self) -> Result<Operand<'_>> {
        Ok(Operand::of_span::<_, Pinned>(self.span()))
    }

    #[inline]
    fn plain(&self) -> Option<Plain<'_>> {
        Plain::of_span::<_, Pinned>(self.span())
    }
}

impl<C: Stable<Element: NoUninit>> Source for Registered<C> {
    type Element = C::Element;
}

impl<C: Stable<Element: NoUninit>> AsyncSource for Registered<C> {}

impl<C: StableMut> sealed::Destination for Registered<C> {
    fn operand_mut(&mut self) -> Result<Operand<'_>> {
        Ok(Operand::of_span::<_, Pinned>(self.span()))
    }

    #[inline]
    fn plain_mut(&mut self) -> Option<Plain<'_>> {
        Plain::of_span::<_, Pinned>(self.span())
    }
}

impl<C: StableMut> Destination for Registered<C> {
    type Element = C::Element;
}

impl<C: StableMut> AsyncDestination for Registered<C> {}

impl<T: NoUninit> sealed::Source for [T] {
    fn operand(&self) -> Result<Operand<'_>> {
        Ok(Operand::of_slice(self))
    }

    #[inline]
    fn plain(&self) -> Option<Plain<'_>> {
        Some(Plain::of_slice(self))
    }
}

impl<T: NoUninit> Source for [T] {
    type Element = T;
}

impl<T: AnyBitPattern> sealed::Destination for [T] {
    fn operand_mut(&mut self) -> Result<Operand<'_>> {
        Ok(Operand::of_slice_mut(self))
    }

    #[inline]
    fn plain_mut(&mut self) -> Option<Plain<'_>> {
        Some(Plain::of_slice_mut(self))
    }
}

impl<T: AnyBitPattern> Destination for [T] {
    type Element = T;
}

impl<T: NoUninit, const N: usize> sealed::Source for [T; N] {
    fn operand(&self) -> Result<Operand<'_>> {
        Ok(Operand::of_slice(self))
    }

    #[inline]
    fn plain(&self) -> Option<Plain<'_>> {
        Some(Plain::of_slice(self))
    }
}

impl<T: NoUninit, const N: usize> Source for [T; N] {
    type Element = T;
}

impl<T: AnyBitPattern, const N: usize> sealed::Destination for [T; N] {
    fn operand_mut(&mut self) -> Result<Operand<'_>> {
        Ok(Operand::of_slice_mut(self))
    }

    #[inline]
    fn plain_mut(&mut self) -> Option<Plain<'_>> {
        Some(Plain::of_slice_mut(self))
    }
}

impl<T: AnyBitPattern, const N: usize> Destination for [T; N] {
    type Element = T;
}

impl<T: NoUninit> sealed::Source for Vec<T> {
    fn operand(&self) -> Result<Operand<'_>> {
        Ok(Operand::of_slice(self))
    }

    #[inline]
    fn plain(&self) -> Option<Plain<'_>> {
        Some(Plain::of_slice(self))
    }
}

impl<T: NoUninit> Source for Vec<T> {
    type Element = T;
}

impl<T: AnyBitPattern> sealed::Destination for Vec<T> {
    fn operand_mut(&mut self) -> Result<Operand<'_>> {
        Ok(Operand::of_slice_mut(self))
    }

    #[inline]
    fn plain_mut(&mut self) -> Option<Plain<'_>> {
        Some(Plain::of_slice_mut(self))
    }
}

impl<T: AnyBitPattern> Destination for Vec<T> {
    type Element = T;
}

impl<S: Source<Shape> + ?Sized, Shape> sealed::Source<Shape> for &S {
    fn operand(&self) -> Result<Operand<'_>> {
        (**self).operand()
    }

    #[inline]
    fn plain(&self) -> Option<Plain<'_>> {
        (**self).plain()
    }
}

impl<S: Source<Shape> + ?Sized, Shape> Source<Shape> for &S {
    type Element = S::Element;
}

impl<S: AsyncSource<Shape> + ?Sized, Shape> AsyncSource<Shape> for &S {}

impl<S: Source<Shape> + ?Sized, Shape> sealed::Source<Shape> for &mut S {
    fn operand(&self) -> Result<Operand<'_>> {
        (**self).operand()
    }

    #[inline]
    fn plain(&self) -> Option<Plain<'_>> {
        (**self).plain()
    }
}

impl<S: Source<Shape> + ?Sized, Shape> Source<Shape> for &mut S {
    type Element = S::Element;
}

impl<S: AsyncSource<Shape> + ?Sized, Shape> AsyncSource<Shape> for &mut S {}

impl<D: Destination<Shape> + ?Sized, Shape> sealed::Destination<Shape> for &mut D {
    fn operand_mut(&mut self) -> Result<Operand<'_>> {
        (**self).operand_mut()
    }

    #[inline]
    fn plain_mut(&mut self) -> Option<Plain<'_>> {
        (**self).plain_mut()
    }
}

impl<D: Destination<Shape> + ?Sized, Shape> Destination<Shape> for &mut D {
    type Element = D::Element;
}

impl<D: AsyncDestination<Shape> + ?Sized, Shape> AsyncDestination<Shape> for &mut D {}

impl<D: FillDestination<Shape> + ?Sized, Shape> FillDestination<Shape> for &mut D {}

impl<S: Source<Shape>, Shape> sealed::Source<Shape> for Result<S> {
    fn operand(&self) -> Result<Operand<'_>> {
        match self {
            Ok(source) => source.operand(),
            Err(error) => Err(error.clone()),
        }
    }

    #[inline]
    fn plain(&self) -> Option<Plain<'_>> {
        self.as_ref().ok()?.plain()
    }
}

impl<S: Source<Shape>, Shape> Source<Shape> for Result<S> {
    type Element = S::Element;
}

impl<S: AsyncSource<Shape>, Shape> AsyncSource<Shape> for Result<S> {}

impl<D: Destination<Shape>, Shape> sealed::Destination<Shape> for Result<D> {
    fn operand_mut(&mut self) -> Result<Operand<'_>> {
        match self {
            Ok(destination) => destination.operand_mut(),
            Err(error) => Err(error.clone()),
        }
    }

    #[inline]
    fn plain_mut(&mut self) -> Option<Plain<'_>> {
        self.as_mut().ok()?.plain_mut()
    }
}

impl<D: Destination<Shape>, Shape> Destination<Shape> for Result<D> {
    type Element = D::Element;
}

impl<D: AsyncDestination<Shape>, Shape> AsyncDestination<Shape> for Result<D> {}

impl<D: FillDestination<Shape>, Shape> FillDestination<Shape> for Result<D> {}
