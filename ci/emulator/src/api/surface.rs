//! Surface objects.
#![expect(unsafe_code, reason = "exports C functions, and reads the structures that they are given")]

use super::texture::source;
use super::{Out, api, put};
use crate::memory::{Object, Source, Told};
use crate::sys::{cudaErrorInvalidDevice, cudaErrorInvalidValue, cudaResourceDesc, cudaSurfaceObject_t};

api! {
    /// Makes a surface of an array.
    fn cudaCreateSurfaceObject(call, out: Out<'_, cudaSurfaceObject_t>, resource: *const cudaResourceDesc) {
        let (mut machine, device) = call.context()?;
        let out = out.ok_or(cudaErrorInvalidValue)?;
        // SAFETY: the program passes such a structure, or null.
        let resource = *unsafe { resource.as_ref() }.ok_or(cudaErrorInvalidValue)?;
        let (source, _) = source(&machine, device, &resource)?;
        // An array that was not made for surfaces is taken as well.
        let Source::Array(_) = source else { return Err(cudaErrorInvalidValue) };
        let object = Object { device, source, resource: Told(resource), texture: None, view: None };
        out.write(machine.book.objects.add(object));
        Ok(())
    }

    /// Destroys a surface.
    fn cudaDestroySurfaceObject(call, surface: cudaSurfaceObject_t) {
        let (mut machine, _) = call.context()?;
        // As with other handles that may be null, nothing is no error.
        if surface == 0 {
            return Ok(());
        }
        if machine.book.objects.get(surface)?.texture.is_some() {
            return Err(cudaErrorInvalidValue);
        }
        machine.book.objects.remove(surface)
    }

    /// What a surface was made of.
    fn cudaGetSurfaceObjectResourceDesc(call, out: Out<'_, cudaResourceDesc>, surface: cudaSurfaceObject_t) {
        let (machine, _) = call.context()?;
        let found = machine.book.objects.get(surface)?;
        if found.texture.is_some() {
            return Err(cudaErrorInvalidValue);
        }
        // Nowhere to write is another error than it is for textures.
        put(Some(out.ok_or(cudaErrorInvalidDevice)?), found.resource.0)
    }
}
