//! The attributes of a stream's handle before its reuse: a new stream must not inherit those of the handle's
//! former stream. A handle whose attributes were set gets those of an untouched stream.
#![expect(unsafe_code, reason = "copies the attributes of streams")]

use std::sync::Mutex;

use crate::device::Device;
use crate::error::Result;
use crate::lock::lock;
use crate::{check, sys};

/// Devices and handles of streams whose attributes were set.
static TOUCHED: Mutex<Vec<(i32, usize)>> = Mutex::new(Vec::new());

/// An untouched stream of each device for which one was needed.
static TEMPLATES: Mutex<Vec<(i32, usize)>> = Mutex::new(Vec::new());

/// Records that a stream's attributes were set.
pub(super) fn touch(device: Device, raw: sys::cudaStream_t) {
    let (name, mut touched) = ((device.as_raw(), raw.addr()), lock(&TOUCHED));
    if !touched.contains(&name) {
        touched.push(name);
    }
}

/// Resets the attributes of a stream that is to be reused. Returns whether that succeeded.
pub(super) fn renew(raw: sys::cudaStream_t, device: Device, priority: i32) -> bool {
    let name = (device.as_raw(), raw.addr());
    if !lock(&TOUCHED).contains(&name) {
        return true;
    }
    let Ok(template) = template(device) else { return false };
    let Ok(_current) = device.switch() else { return false };
    // SAFETY: the caller owns the first stream, and the second one is never destroyed.
    let copied = unsafe { check!(cudaStreamCopyAttributes(raw, template)) };
    let value = sys::cudaLaunchAttributeValue { priority };
    let id = sys::cudaLaunchAttributePriority;
    // SAFETY: the caller owns the stream. The pointer is to a live union whose member for this attribute
    // is set.
    let renewed = copied.and_then(|()| unsafe { check!(cudaStreamSetAttribute(raw, id, &raw const value)) });
    if renewed.is_ok() {
        lock(&TOUCHED).retain(|touched| *touched != name);
    }
    renewed.is_ok()
}

#[track_caller]
fn template(device: Device) -> Result<sys::cudaStream_t> {
    let mut templates = lock(&TEMPLATES);
    if let Some((_, number)) = templates.iter().find(|(of, _)| *of == device.as_raw()) {
        return Ok(std::ptr::with_exposed_provenance_mut(*number));
    }
    let _current = device.switch()?;
    let mut raw = std::ptr::null_mut();
    // SAFETY: the pointer is to a live local variable, which the call fills.
    unsafe { check!(cudaStreamCreateWithFlags(&raw mut raw, sys::cudaStreamNonBlocking)) }?;
    templates.push((device.as_raw(), raw.expose_provenance()));
    Ok(raw)
}

/// Forgets the handles of a device that is reset.
pub(super) fn abandon(device: Device) {
    lock(&TEMPLATES).retain(|(of, _)| *of != device.as_raw());
    lock(&TOUCHED).retain(|(of, _)| *of != device.as_raw());
}
