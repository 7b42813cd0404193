//! Texture and surface objects.
#![expect(unsafe_code, reason = "exports C functions, and reads the structures that they are given")]

use super::array::handle;
use super::{Out, address, api, put, wide};
use crate::device::attribute;
use crate::error::Answer;
use crate::machine::Guard;
use crate::memory::{Extent, Found, Kind, Object, ResourceDesc, Source, has_layers, is_plain, viewed};
use crate::sys::{
    self, cudaErrorInvalidDevice, cudaErrorInvalidValue, cudaResourceDesc, cudaSurfaceObject_t, *,
};

/// The allocation that a texture's memory begins in, or `None`. Only the alignment of the first byte is
/// checked.
fn linear(machine: &Guard, device: usize, start: u64) -> Answer<Option<u64>> {
    if start == 0 || !start.is_multiple_of(limit(device, cudaDevAttrTextureAlignment)) {
        return Err(cudaErrorInvalidValue);
    }
    match machine.allocations.find(start, 1) {
        Found::Inside(it) if it.kind == Kind::Array => Err(cudaErrorInvalidValue),
        Found::Inside(it) => Ok(Some(it.serial)),
        _ => Ok(None),
    }
}

fn limit(device: usize, which: cudaDeviceAttr) -> u64 {
    attribute(which, device).and_then(|it| u64::try_from(it).ok()).unwrap_or(u64::MAX)
}

/// Checks a resource description, and returns its source and the format of its elements.
pub(super) fn source(
    machine: &Guard,
    device: usize,
    resource: &cudaResourceDesc,
) -> Answer<(Source, cudaChannelFormatDesc)> {
    match resource.resType {
        sys::cudaResourceTypeArray => {
            // SAFETY: the type says which member of the union the program has set.
            let array = handle(unsafe { resource.res.array.array }.cast_const());
            let found = machine.allocations.array(array)?;
            // An array without memory, or with several planes, cannot be the source of an object.
            let usable = found.is_backed() && !found.format.is_planar();
            usable.then_some((Source::Array(array), found.desc)).ok_or(cudaErrorInvalidValue)
        }
        sys::cudaResourceTypeMipmappedArray => {
            // SAFETY: the type says which member of the union the program has set.
            let mipmap = handle(unsafe { resource.res.mipmap.mipmap }.cast_const());
            let found = machine.allocations.array(machine.allocations.level(mipmap, 0)?)?;
            found.is_backed().then_some((Source::Mipmap(mipmap), found.desc)).ok_or(cudaErrorInvalidValue)
        }
        sys::cudaResourceTypeLinear => {
            // SAFETY: the type says which member of the union the program has set.
            let it = unsafe { resource.res.linear };
            let (start, bytes) = (address(it.devPtr.cast_const()), wide(it.sizeInBytes));
            let element = element(it.desc)?;
            let width = bytes / element;
            if width > limit(device, cudaDevAttrMaxTexture1DLinearWidth) {
                return Err(cudaErrorInvalidValue);
            }
            let serial = linear(machine, device, start)?;
            let source =
                Source::Linear { start, width, height: None, pitch: bytes, bytes, serial, desc: it.desc };
            Ok((source, it.desc))
        }
        sys::cudaResourceTypePitch2D => {
            // SAFETY: the type says which member of the union the program has set.
            let it = unsafe { resource.res.pitch2D };
            let start = address(it.devPtr.cast_const());
            let (width, height, pitch) = (wide(it.width), wide(it.height), wide(it.pitchInBytes));
            let row = width.checked_mul(element(it.desc)?).ok_or(cudaErrorInvalidValue)?;
            // There may be no rows, rows may be empty, and rows may overlap.
            let fits = width <= limit(device, cudaDevAttrMaxTexture2DLinearWidth)
                && height <= limit(device, cudaDevAttrMaxTexture2DLinearHeight)
                && pitch <= limit(device, cudaDevAttrMaxTexture2DLinearPitch)
                && pitch.is_multiple_of(limit(device, cudaDevAttrTexturePitchAlignment));
            if !fits {
                return Err(cudaErrorInvalidValue);
            }
            let serial = linear(machine, device, start)?;
            let bytes = pitch * height.saturating_sub(1) + row;
            let height = Some(height);
            Ok((Source::Linear { start, width, height, pitch, bytes, serial, desc: it.desc }, it.desc))
        }
        _ => Err(cudaErrorInvalidValue),
    }
}

/// Bytes of an element.
pub(super) fn element(desc: cudaChannelFormatDesc) -> Answer<u64> {
    if !is_plain(desc) {
        return Err(cudaErrorInvalidChannelDescriptor);
    }
    let bits = [desc.x, desc.y, desc.z, desc.w].iter().sum::<i32>();
    u64::try_from(bits / 8).map_err(|_| cudaErrorInvalidChannelDescriptor)
}

/// Refuses a way of reading that there is not, or that elements of this format do not have.
fn readable(texture: &cudaTextureDesc, desc: cudaChannelFormatDesc) -> Answer {
    let known = texture.addressMode.iter().all(|mode| mode.0 <= sys::cudaAddressModeBorder.0);
    let filters = [texture.filterMode, texture.mipmapFilterMode];
    if !known || filters.iter().any(|filter| filter.0 > cudaFilterModeLinear.0) {
        return Err(cudaErrorInvalidValue);
    }
    let float = desc.f == cudaChannelFormatKindFloat;
    let small = !float && desc.x < 32;
    let normalized = texture.readMode == cudaReadModeNormalizedFloat;
    if texture.filterMode == cudaFilterModeLinear && !float && !(normalized && small) {
        return Err(cudaErrorInvalidFilterSetting);
    }
    if normalized && !small {
        return Err(cudaErrorInvalidNormSetting);
    }
    Ok(())
}

/// Refuses a view unless it has a format, the size of the image, and levels and layers that there are.
fn visible(machine: &Guard, source: Source, view: &cudaResourceViewDesc) -> Answer {
    let (handle, levels) = match source {
        // Of linear memory, an H200 takes any view.
        Source::Linear { .. } => return Ok(()),
        Source::Mipmap(mipmap) => {
            let levels = machine.allocations.mipmap(mipmap)?.extents().count();
            (machine.allocations.level(mipmap, 0)?, wide(levels))
        }
        Source::Array(array) => (array, 1),
    };
    let array = machine.allocations.array(handle)?;
    let Extent { width, height, depth } = array.extent;
    // A view may name one level or layer more than there are, if the image is one of levels or of layers.
    let within = |first: u32, last: u32, beyond: bool, count: u64| {
        first <= last && u64::from(last) < count + u64::from(beyond)
    };
    let (levelled, layered) = (matches!(source, Source::Mipmap(_)), has_layers(array.flags));
    let layers = if layered { array.layers() } else { 1 };
    // A block has four rows of four elements. Other formats have elements of the size of the array's.
    let blocks = view.format.0 >= cudaResViewFormatUnsignedBlockCompressed1.0;
    let side = if blocks { 4 } else { 1 };
    let fits = view.format.0 >= cudaResViewFormatUnsignedChar1.0
        && view.format.0 <= cudaResViewFormatUnsignedBlockCompressed7.0
        && [view.width, view.height, view.depth].map(wide) == [width * side, height * side, depth]
        && viewed(view.format).is_none_or(|it| Ok(it.bytes * it.count) == element(array.desc))
        && within(view.firstMipmapLevel, view.lastMipmapLevel, levelled, levels)
        && within(view.firstLayer, view.lastLayer, layered, layers);
    if fits { Ok(()) } else { Err(cudaErrorInvalidValue) }
}

/// A texture whose array is still there.
fn live(machine: &Guard, texture: cudaTextureObject_t) -> Answer<&Object> {
    let found = machine.allocations.objects.get(texture)?;
    let gone = found.texture.is_none() || machine.allocations.is_without_array(texture)?;
    if gone { Err(cudaErrorInvalidValue) } else { Ok(found) }
}

api! {
    /// Makes a texture.
    waits fn cudaCreateTextureObject(
        call, out: Out<'_, cudaTextureObject_t>, resource: *const cudaResourceDesc,
        texture: *const cudaTextureDesc, view: *const cudaResourceViewDesc,
    ) {
        let (mut machine, device) = call.context()?;
        // SAFETY: the program passes such a structure, or null.
        let resource = *unsafe { resource.as_ref() }.ok_or(cudaErrorInvalidValue)?;
        // SAFETY: the program passes such a structure, or null.
        let texture = *unsafe { texture.as_ref() }.ok_or(cudaErrorInvalidResourceHandle)?;
        // SAFETY: the program passes such a structure, or null.
        let view = unsafe { view.as_ref() }.copied();
        let (source, desc) = source(&machine, device, &resource)?;
        let out = out.ok_or(cudaErrorInvalidValue)?;
        if !is_plain(desc) {
            eprintln!("CUDA emulator: {}: textures of this format are not supported", call.name);
            return Err(cudaErrorNotSupported);
        }
        readable(&texture, desc)?;
        if let Some(view) = &view {
            visible(&machine, source, view)?;
        }
        let object = Object { device, source, resource: ResourceDesc(resource), texture: Some(texture), view };
        out.write(machine.allocations.objects.add(object));
        Ok(())
    }

    /// Destroys a texture.
    waits fn cudaDestroyTextureObject(call, texture: cudaTextureObject_t) {
        let (mut machine, _) = call.context()?;
        // As with other handles that may be null, nothing is no error.
        if texture == 0 {
            return Ok(());
        }
        if machine.allocations.objects.get(texture)?.texture.is_none() {
            return Err(cudaErrorInvalidValue);
        }
        // As on an H200, one whose array is gone can be destroyed again.
        if machine.allocations.is_without_array(texture)? {
            return Ok(());
        }
        let pending = !machine.queue.is_empty();
        machine.allocations.objects.remove(texture, pending)
    }

    /// The resource of a texture.
    allowed fn cudaGetTextureObjectResourceDesc(call, out: Out<'_, cudaResourceDesc>, texture: cudaTextureObject_t) {
        let (machine, _) = call.context()?;
        put(out, live(&machine, texture)?.resource.0)
    }

    /// How a texture is read.
    allowed fn cudaGetTextureObjectTextureDesc(call, out: Out<'_, cudaTextureDesc>, texture: cudaTextureObject_t) {
        let (machine, _) = call.context()?;
        let told = live(&machine, texture)?.texture.ok_or(cudaErrorInvalidValue)?;
        // An H200 returned unwritten bytes as the border's colour. No program can rely on them.
        put(out, cudaTextureDesc { borderColor: [f32::NAN; 4], ..told })
    }

    /// The view with which a texture was made.
    allowed fn cudaGetTextureObjectResourceViewDesc(
        call, out: Out<'_, cudaResourceViewDesc>, texture: cudaTextureObject_t,
    ) {
        let (machine, _) = call.context()?;
        let found = live(&machine, texture)?;
        // Without a view, or nowhere to write it, there is no error either.
        if let (Some(view), Some(out)) = (found.view, out) {
            out.write(view);
        }
        Ok(())
    }
}

api! {
    /// Makes a surface of an array.
    waits fn cudaCreateSurfaceObject(call, out: Out<'_, cudaSurfaceObject_t>, resource: *const cudaResourceDesc) {
        let (mut machine, device) = call.context()?;
        let out = out.ok_or(cudaErrorInvalidValue)?;
        // SAFETY: the program passes such a structure, or null.
        let resource = *unsafe { resource.as_ref() }.ok_or(cudaErrorInvalidValue)?;
        let (source, _) = source(&machine, device, &resource)?;
        // An array that was not made for surfaces is taken as well.
        let Source::Array(_) = source else { return Err(cudaErrorInvalidValue) };
        let object = Object { device, source, resource: ResourceDesc(resource), texture: None, view: None };
        out.write(machine.allocations.objects.add(object));
        Ok(())
    }

    /// Destroys a surface.
    waits fn cudaDestroySurfaceObject(call, surface: cudaSurfaceObject_t) {
        let (mut machine, _) = call.context()?;
        // As with other handles that may be null, nothing is no error.
        if surface == 0 {
            return Ok(());
        }
        if machine.allocations.objects.get(surface)?.texture.is_some() {
            return Err(cudaErrorInvalidValue);
        }
        let pending = !machine.queue.is_empty();
        machine.allocations.objects.remove(surface, pending)
    }

    /// The resource of a surface.
    allowed fn cudaGetSurfaceObjectResourceDesc(call, out: Out<'_, cudaResourceDesc>, surface: cudaSurfaceObject_t) {
        let (machine, _) = call.context()?;
        let found = machine.allocations.objects.get(surface)?;
        if found.texture.is_some() {
            return Err(cudaErrorInvalidValue);
        }
        // Nowhere to write is another error than it is for textures.
        put(Some(out.ok_or(cudaErrorInvalidDevice)?), found.resource.0)
    }
}
