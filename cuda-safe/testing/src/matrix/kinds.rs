//! The memory types, as a table.

use cuda_safe::memory::{
    Array, ArrayBuilder, ArrayElement, Buffer, MemoryType, OnDevice, Pageable, PinnedSlice, PinnedSliceMut,
    PitchedBuffer, PitchedVolume, Plane, PlaneMut, Slice, SliceMut, SourceOf, Volume, VolumeMut,
    WriteCombined,
};
use cuda_safe::{
    Device, DeviceBuffer, ManagedBuffer, PinnedBuffer, Registered, Result, WriteCombinedBuffer, memcpy,
    memcpy_2d, memcpy_3d,
};

use super::boxes::{Bounds, Element};
use super::copy::{Destination, Memory, Source, cut};

/// Returns whether there is a second device, and prints a line if there is none.
pub fn second() -> Option<Device> {
    let second = Device::all().unwrap().nth(1);
    if second.is_none() {
        println!("one device only: no second one to copy to");
    }
    second
}

/// A memory type: its name, its dimensions, whether it is on the second device, and the function that makes
/// a box of it.
pub struct Entry<T> {
    pub name: &'static str,
    dimensions: &'static [usize],
    pub second: bool,
    make: Box<dyn Fn(Bounds) -> Box<dyn Memory<T>>>,
}

impl<T: Element> Entry<T> {
    /// A memory type with its dimensions.
    pub fn new(
        name: &'static str,
        dimensions: &'static [usize],
        make: impl Fn(Bounds) -> Box<dyn Memory<T>> + 'static,
    ) -> Self {
        Self { name, dimensions, second: false, make: Box::new(make) }
    }

    pub fn has(&self, dimensions: usize) -> bool {
        self.dimensions.contains(&dimensions)
    }

    pub fn make(&self, bounds: Bounds) -> Box<dyn Memory<T>> {
        (self.make)(bounds)
    }
}

/// A memory type for which the crate has buffers: the number of elements, and how the host fills and reads
/// all of them.
pub fn own<T, M>(name: &'static str, alloc: impl Fn(usize) -> Result<Buffer<T, M>> + 'static) -> Entry<T>
where
    T: Element,
    M: MemoryType + SourceOf<T>,
{
    let make = move |bounds: Bounds| {
        let buffer = alloc(bounds.len()).unwrap();
        Box::new(Own { buffer, bounds }) as Box<dyn Memory<T>>
    };
    Entry::new(name, &[1, 2, 3], make)
}

/// The memory types of every machine, and those of the second device if there is one.
pub fn standard<T: Element>() -> Vec<Entry<T>> {
    let mut kinds = vec![
        own::<T, OnDevice>("device", DeviceBuffer::alloc),
        own("pinned", PinnedBuffer::alloc),
        own::<T, WriteCombined>("write-combined", WriteCombinedBuffer::alloc),
        own("managed", ManagedBuffer::alloc),
        Entry::new("registered", &[1, 2, 3], |bounds| {
            let vector = vec![T::nth(0, 0); bounds.len()];
            Box::new(Owned { container: Registered::new(vector).unwrap(), bounds })
        }),
        Entry::new("pageable", &[1, 2, 3], |bounds| {
            Box::new(Plain { vector: vec![T::nth(0, 0); bounds.len()], bounds })
        }),
        Entry::new("pitched plane", &[2], |bounds| {
            let [width, height, _] = bounds.size;
            Box::new(Rows {
                memory: PitchedBuffer::alloc(width, height).unwrap(),
                guards: Vec::new(),
                bounds,
            })
        }),
        Entry::new("pitched volume", &[3], |bounds| {
            let [width, height, depth] = bounds.size;
            Box::new(Layers {
                memory: PitchedVolume::alloc(width, height, depth).unwrap(),
                guards: Vec::new(),
                bounds,
            })
        }),
    ];
    if let Some(device) = second() {
        let second = own::<T, OnDevice>("second device", move |len| DeviceBuffer::alloc_on(device, len));
        kinds.push(Entry { second: true, ..second });
    }
    kinds
}

/// Arrays, for elements that they can have: of rows, with depth and with layers, on the first device and on
/// the second.
pub fn arrays<T: Element + ArrayElement>() -> Vec<Entry<T>> {
    let on = |name, device: Device, layered: bool| {
        Entry::new(name, &[2, 3], move |bounds| {
            let [width, height, depth] = bounds.size;
            let builder = match depth {
                _ if layered => ArrayBuilder::plane(width, height).layers(depth),
                1 => ArrayBuilder::plane(width, height),
                _ => ArrayBuilder::volume(width, height, depth),
            };
            Box::new(Grid {
                memory: builder.device(device).alloc::<T>().unwrap(),
                guards: Vec::new(),
                bounds,
            })
        })
    };
    let first = Device::all().unwrap().next().unwrap();
    let mut kinds = vec![on("array", first, false), on("layered array", first, true)];
    if let Some(device) = second() {
        kinds.push(Entry { second: true, ..on("array of the second device", device, false) });
    }
    kinds
}

/// Views a part of linear memory with this many dimensions. `$plane` and `$volume` view all of it, `$slice`
/// the row.
macro_rules! part {
    ($bounds:expr, $dimensions:expr, $start:expr, $extent:expr, $end:ident,
        $slice:expr, $plane:expr, $volume:expr, $columns:ident, $rows:ident, $layers:ident) => {{
        let ([x, y, z], [width, height, depth]) = ($start, $extent);
        match $dimensions {
            1 => $end::row($slice(x..x + width)?),
            2 => $end::rows($plane?.$columns(x..x + width)?.$rows(y..y + height)?),
            _ => $end::layers($volume?.$columns(x..x + width)?.$rows(y..y + height)?.$layers(z..z + depth)?),
        }
    }};
}

/// A part of a slice of a buffer.
fn part_of<'a, T: Element, M: MemoryType + SourceOf<T>>(
    all: Slice<'a, T, M>,
    bounds: Bounds,
    dimensions: usize,
    start: [usize; 3],
    extent: [usize; 3],
) -> Result<Source<'a, T>> {
    let [width, height, depth] = bounds.size;
    let pitch = bounds.pitch * size_of::<T>();
    // The guards after a row are not part of it.
    let row = all.slice(..width)?;
    Ok(part!(
        bounds,
        dimensions,
        start,
        extent,
        Source,
        |range| row.slice(range),
        all.plane_with_pitch(width, height, pitch),
        all.volume_with_pitch((width, height, depth), pitch, bounds.layer_rows),
        columns,
        rows,
        layers
    ))
}

/// A part of a slice of a buffer, for writing.
fn part_of_mut<T: Element, M: MemoryType>(
    all: SliceMut<'_, T, M>,
    bounds: Bounds,
    dimensions: usize,
    [x, y, z]: [usize; 3],
    [w, h, d]: [usize; 3],
) -> Result<Destination<'_, T>> {
    let [width, height, depth] = bounds.size;
    let pitch = bounds.pitch * size_of::<T>();
    Ok(match dimensions {
        1 => {
            let row = all.split_at_mut(width)?.0;
            if x + w > width {
                // Refused by the view: there is no slice with these parts.
                row.slice(x..x + w)?;
            }
            let (_, tail) = row.split_at_mut(x)?;
            Destination::row(tail.split_at_mut(w)?.0)
        }
        2 => {
            let plane = all.plane_mut_with_pitch(width, height, pitch)?;
            let (_, plane) = plane.split_at_row_mut(y)?;
            let (plane, _) = plane.split_at_row_mut(h)?;
            let (_, plane) = plane.split_at_column_mut(x)?;
            Destination::rows(plane.split_at_column_mut(w)?.0)
        }
        _ => {
            let volume = all.volume_mut_with_pitch((width, height, depth), pitch, bounds.layer_rows)?;
            Destination::cut(volume, [x, y, z], [w, h, d])?
        }
    })
}

/// A buffer.
struct Own<T, M> {
    buffer: Buffer<T, M>,
    bounds: Bounds,
}

impl<T: Element, M: MemoryType + SourceOf<T>> Memory<T> for Own<T, M> {
    fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn write(&mut self, all: &[T]) {
        memcpy(&mut self.buffer, all).unwrap();
    }

    fn read(&self) -> Vec<T> {
        let mut all = vec![T::nth(0, 0); self.buffer.len()];
        memcpy(&mut all, &self.buffer).unwrap();
        all
    }

    fn source(&self, dimensions: usize, start: [usize; 3], extent: [usize; 3]) -> Result<Source<'_, T>> {
        part_of(self.buffer.as_slice(), self.bounds, dimensions, start, extent)
    }

    fn destination(
        &mut self,
        dimensions: usize,
        start: [usize; 3],
        extent: [usize; 3],
    ) -> Result<Destination<'_, T>> {
        part_of_mut(self.buffer.as_slice_mut(), self.bounds, dimensions, start, extent)
    }
}

/// A registered vector.
struct Owned<T: Element> {
    container: Registered<Vec<T>>,
    bounds: Bounds,
}

impl<T: Element> Memory<T> for Owned<T> {
    fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn write(&mut self, all: &[T]) {
        self.container.host_mut().unwrap().copy_from_slice(all);
    }

    fn read(&self) -> Vec<T> {
        self.container.host().unwrap().to_vec()
    }

    fn source(&self, dimensions: usize, start: [usize; 3], extent: [usize; 3]) -> Result<Source<'_, T>> {
        let all: PinnedSlice<'_, T> = self.container.as_slice();
        part_of(all, self.bounds, dimensions, start, extent)
    }

    fn destination(
        &mut self,
        dimensions: usize,
        start: [usize; 3],
        extent: [usize; 3],
    ) -> Result<Destination<'_, T>> {
        let all: PinnedSliceMut<'_, T> = self.container.as_slice_mut();
        part_of_mut(all, self.bounds, dimensions, start, extent)
    }
}

/// A vector of the program.
struct Plain<T> {
    vector: Vec<T>,
    bounds: Bounds,
}

impl<T: Element> Memory<T> for Plain<T> {
    fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn write(&mut self, all: &[T]) {
        self.vector.copy_from_slice(all);
    }

    fn read(&self) -> Vec<T> {
        self.vector.clone()
    }

    fn source(&self, dimensions: usize, start: [usize; 3], extent: [usize; 3]) -> Result<Source<'_, T>> {
        let ([x, y, z], [w, h, d]) = (start, extent);
        let (size @ [width, height, _], rows) = (self.bounds.size, self.bounds.layer_rows);
        let pitch = self.bounds.pitch * size_of::<T>();
        Ok(match dimensions {
            // The language cuts a slice of the program: a part that does not fit is a length that differs.
            1 => Source::PageableRow(&self.vector[x.min(width)..(x + w).min(width)]),
            2 => {
                let plane = Plane::from_slice_with_pitch(&self.vector, width, height, pitch)?;
                Source::PageableRows(plane.columns(x..x + w)?.rows(y..y + h)?)
            }
            _ => {
                let volume = Volume::from_slice_with_pitch(&self.vector, size.into(), pitch, rows)?;
                Source::PageableLayers(volume.columns(x..x + w)?.rows(y..y + h)?.layers(z..z + d)?)
            }
        })
    }

    fn destination(
        &mut self,
        dimensions: usize,
        start: [usize; 3],
        extent: [usize; 3],
    ) -> Result<Destination<'_, T>> {
        let ([x, y, _], [w, h, _]) = (start, extent);
        let (size @ [width, height, _], rows) = (self.bounds.size, self.bounds.layer_rows);
        let pitch = self.bounds.pitch * size_of::<T>();
        Ok(match dimensions {
            1 => Destination::PageableRow(&mut self.vector[x.min(width)..(x + w).min(width)]),
            2 => {
                let plane = PlaneMut::from_slice_with_pitch(&mut self.vector, width, height, pitch)?;
                let (_, plane) = plane.split_at_row_mut(y)?;
                let (plane, _) = plane.split_at_row_mut(h)?;
                let (_, plane) = plane.split_at_column_mut(x)?;
                Destination::PageableRows(plane.split_at_column_mut(w)?.0)
            }
            _ => {
                let volume = VolumeMut::from_slice_with_pitch(&mut self.vector, size.into(), pitch, rows)?;
                Destination::PageableLayers(cut(volume, start, extent)?)
            }
        })
    }
}

/// A pitched plane. It has no guards that the host reaches, so those of the pattern are stored separately.
struct Rows<T> {
    memory: PitchedBuffer<T>,
    guards: Vec<T>,
    bounds: Bounds,
}

impl<T: Element> Memory<T> for Rows<T> {
    fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn write(&mut self, all: &[T]) {
        let [width, height, _] = self.bounds.size;
        self.guards = all.to_vec();
        let inside = self.bounds.inside(all);
        memcpy_2d(&mut self.memory, &Plane::<T, Pageable>::from_slice(&inside, width, height).unwrap())
            .unwrap();
    }

    fn read(&self) -> Vec<T> {
        let mut all = self.guards.clone();
        self.bounds.put_inside(&mut all, &self.memory.to_vec().unwrap());
        all
    }

    fn source(&self, _: usize, start: [usize; 3], extent: [usize; 3]) -> Result<Source<'_, T>> {
        let ([x, y, _], [w, h, _]) = (start, extent);
        Ok(Source::rows(self.memory.plane().columns(x..x + w)?.rows(y..y + h)?))
    }

    fn destination(
        &mut self,
        _: usize,
        [x, y, _]: [usize; 3],
        [w, h, _]: [usize; 3],
    ) -> Result<Destination<'_, T>> {
        let (_, plane) = self.memory.plane_mut().split_at_row_mut(y)?;
        let (plane, _) = plane.split_at_row_mut(h)?;
        let (_, plane) = plane.split_at_column_mut(x)?;
        Ok(Destination::rows(plane.split_at_column_mut(w)?.0))
    }
}

/// A pitched volume, likewise.
struct Layers<T> {
    memory: PitchedVolume<T>,
    guards: Vec<T>,
    bounds: Bounds,
}

impl<T: Element> Memory<T> for Layers<T> {
    fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn write(&mut self, all: &[T]) {
        let [width, height, depth] = self.bounds.size;
        self.guards = all.to_vec();
        let inside = self.bounds.inside(all);
        memcpy_3d(
            &mut self.memory,
            &Volume::<T, Pageable>::from_slice(&inside, width, height, depth).unwrap(),
        )
        .unwrap();
    }

    fn read(&self) -> Vec<T> {
        let mut all = self.guards.clone();
        self.bounds.put_inside(&mut all, &self.memory.to_vec().unwrap());
        all
    }

    fn source(&self, _: usize, [x, y, z]: [usize; 3], [w, h, d]: [usize; 3]) -> Result<Source<'_, T>> {
        Ok(Source::layers(self.memory.volume().columns(x..x + w)?.rows(y..y + h)?.layers(z..z + d)?))
    }

    fn destination(&mut self, _: usize, start: [usize; 3], extent: [usize; 3]) -> Result<Destination<'_, T>> {
        Destination::cut(self.memory.volume_mut(), start, extent)
    }
}

/// An array, of rows or of layers, likewise.
struct Grid<T> {
    memory: Array<T>,
    guards: Vec<T>,
    bounds: Bounds,
}

impl<T: Element + ArrayElement> Memory<T> for Grid<T> {
    fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn write(&mut self, all: &[T]) {
        let [width, height, depth] = self.bounds.size;
        self.guards = all.to_vec();
        let inside = self.bounds.inside(all);
        memcpy_3d(
            &mut self.memory,
            &Volume::<T, Pageable>::from_slice(&inside, width, height, depth).unwrap(),
        )
        .unwrap();
    }

    fn read(&self) -> Vec<T> {
        let mut all = self.guards.clone();
        self.bounds.put_inside(&mut all, &self.memory.to_vec().unwrap());
        all
    }

    fn source(
        &self,
        dimensions: usize,
        [x, y, z]: [usize; 3],
        [w, h, d]: [usize; 3],
    ) -> Result<Source<'_, T>> {
        let part = self.memory.view().columns(x..x + w)?.rows(y..y + h)?.layers(z..z + d)?;
        Ok(if dimensions == 2 { Source::Rows(Box::new(part)) } else { Source::Layers(Box::new(part)) })
    }

    fn destination(
        &mut self,
        dimensions: usize,
        [x, y, z]: [usize; 3],
        [w, h, d]: [usize; 3],
    ) -> Result<Destination<'_, T>> {
        let (_, part) = self.memory.view_mut().split_at_layer_mut(z)?;
        let (part, _) = part.split_at_layer_mut(d)?;
        let (_, part) = part.split_at_row_mut(y)?;
        let (part, _) = part.split_at_row_mut(h)?;
        let (_, part) = part.split_at_column_mut(x)?;
        let (part, _) = part.split_at_column_mut(w)?;
        Ok(if dimensions == 2 {
            Destination::Rows(Box::new(part))
        } else {
            Destination::Layers(Box::new(part))
        })
    }
}
