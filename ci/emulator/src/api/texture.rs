//! Texture objects: they say what they were made from, and no kernel can read one.
#![expect(unsafe_code, reason = "exports C functions, and reads the structures that they are given")]

use std::collections::BTreeMap;
use std::sync::Once;

use parking_lot::Mutex;

use super::{Out, address, api, put};
use crate::sys::{
    cudaErrorInvalidValue, cudaErrorNotSupported, cudaResourceDesc, cudaResourceTypeArray,
    cudaResourceViewDesc, cudaTextureDesc, cudaTextureObject_t,
};

/// The live ones, by handle, and the last handle.
static TEXTURES: Mutex<(BTreeMap<cudaTextureObject_t, cudaTextureDesc>, cudaTextureObject_t)> =
    Mutex::new((BTreeMap::new(), 0));
static ONCE: Once = Once::new();

api! {
    /// Makes a texture of an array.
    fn cudaCreateTextureObject(
        call, out: Out<'_, cudaTextureObject_t>, resource: *const cudaResourceDesc,
        texture: *const cudaTextureDesc, view: *const cudaResourceViewDesc,
    ) {
        let (machine, _) = call.context()?;
        let out = out.ok_or(cudaErrorInvalidValue)?;
        // SAFETY: the program passes such a structure, or null.
        let resource = unsafe { resource.as_ref() }.ok_or(cudaErrorInvalidValue)?;
        // SAFETY: as above.
        let texture = unsafe { texture.as_ref() }.ok_or(cudaErrorInvalidValue)?;
        if resource.resType != cudaResourceTypeArray || !view.is_null() {
            eprintln!("CUDA emulator: {}: only textures of all of an array are supported", call.name);
            return Err(cudaErrorNotSupported);
        }
        // SAFETY: the type says which member of the union the program has set.
        machine.book.array(address(unsafe { resource.res.array.array }.cast()))?;
        ONCE.call_once(|| eprintln!("CUDA emulator: {}: kernels cannot read textures here", call.name));
        let mut textures = TEXTURES.lock();
        textures.1 += 1;
        let handle = textures.1;
        textures.0.insert(handle, *texture);
        out.write(handle);
        Ok(())
    }

    /// Destroys a texture.
    fn cudaDestroyTextureObject(call, texture: cudaTextureObject_t) {
        call.check()?;
        // As with other handles that may be null, nothing is no error.
        if texture == 0 {
            return Ok(());
        }
        TEXTURES.lock().0.remove(&texture).map(drop).ok_or(cudaErrorInvalidValue)
    }

    /// What a texture was made with.
    fn cudaGetTextureObjectTextureDesc(call, out: Out<'_, cudaTextureDesc>, texture: cudaTextureObject_t) {
        call.check()?;
        let found = TEXTURES.lock().0.get(&texture).copied();
        put(out, found.ok_or(cudaErrorInvalidValue)?)
    }
}
