//! The cases that are measured.
#![expect(unsafe_code, reason = "calls cudaMemcpy itself, to compare it with the crate's memcpy")]

use cuda_safe::{
    Device, DeviceBuffer, PinnedBuffer, Registered, Result, Stream, check, memcpy, memcpy_async, sys,
};

use crate::measure::Plan;

/// One kind of copy.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) shown: &'static str,
    /// The number of devices that it needs.
    pub(crate) devices: usize,
    run: fn(Plan, usize) -> Result<f64>,
}

impl Case {
    /// Returns the rate for copies of `bytes` bytes, in GB/s.
    pub(crate) fn measure(&self, plan: Plan, bytes: usize) -> Result<f64> {
        (self.run)(plan, bytes)
    }
}

const fn case(name: &'static str, shown: &'static str, run: fn(Plan, usize) -> Result<f64>) -> Case {
    Case { name, shown, devices: 1, run }
}

/// All cases, in the order of the table.
pub(crate) const CASES: [Case; 15] = [
    case("h2d", "host to device, pinned", h2d),
    case("d2h", "device to host, pinned", d2h),
    case("both", "both at once, pinned, summed", both),
    case("h2d_registered", "host to device, registered", h2d_registered),
    case("d2h_registered", "device to host, registered", d2h_registered),
    case("h2d_pageable", "host to device, pageable, memcpy", h2d_pageable),
    case("h2d_pageable_c", "host to device, pageable, cudaMemcpy", h2d_pageable_c),
    case("d2h_pageable", "device to host, pageable, memcpy", d2h_pageable),
    case("d2h_pageable_c", "device to host, pageable, cudaMemcpy", d2h_pageable_c),
    case("d2h_fresh", "device to host, new vector, to_vec", d2h_fresh),
    case("d2h_fresh_c", "device to host, new vector, cudaMemcpy", d2h_fresh_c),
    case("device_local", "within the device", device_local),
    Case { devices: 2, ..case("peer_write", "device 0 to device 1", peer_write) },
    Case { devices: 2, ..case("peer_read", "device 1 to device 0", peer_read) },
    Case { devices: 2, ..case("peer_both", "both devices at once, summed", peer_both) },
];

fn h2d(plan: Plan, bytes: usize) -> Result<f64> {
    let (host, mut device) = (PinnedBuffer::from_slice(&vec![1_u8; bytes])?, DeviceBuffer::alloc(bytes)?);
    let stream = Stream::non_blocking()?;
    plan.enqueued(bytes, &stream, || memcpy_async(&mut device, &host, &stream))
}

fn d2h(plan: Plan, bytes: usize) -> Result<f64> {
    let (mut host, device) = (PinnedBuffer::<u8>::alloc(bytes)?, DeviceBuffer::alloc_zeroed(bytes)?);
    let stream = Stream::non_blocking()?;
    plan.enqueued(bytes, &stream, || memcpy_async(&mut host, &device, &stream))
}

fn both(plan: Plan, bytes: usize) -> Result<f64> {
    let (source, mut target) = (PinnedBuffer::from_slice(&vec![1_u8; bytes])?, DeviceBuffer::alloc(bytes)?);
    let (mut back, device) = (PinnedBuffer::<u8>::alloc(bytes)?, DeviceBuffer::alloc_zeroed(bytes)?);
    let (up, down) = (Stream::non_blocking()?, Stream::non_blocking()?);
    plan.both(
        bytes,
        [&up, &down],
        || memcpy_async(&mut target, &source, &up),
        || memcpy_async(&mut back, &device, &down),
    )
}

fn h2d_registered(plan: Plan, bytes: usize) -> Result<f64> {
    let (host, mut device) = (Registered::new(vec![1_u8; bytes])?, DeviceBuffer::alloc(bytes)?);
    let stream = Stream::non_blocking()?;
    plan.enqueued(bytes, &stream, || memcpy_async(&mut device, &host, &stream))
}

fn d2h_registered(plan: Plan, bytes: usize) -> Result<f64> {
    let (mut host, device) = (Registered::new(vec![1_u8; bytes])?, DeviceBuffer::alloc_zeroed(bytes)?);
    let stream = Stream::non_blocking()?;
    plan.enqueued(bytes, &stream, || memcpy_async(&mut host, &device, &stream))
}

fn h2d_pageable(plan: Plan, bytes: usize) -> Result<f64> {
    let (host, mut device) = (vec![1_u8; bytes], DeviceBuffer::alloc(bytes)?);
    plan.blocking(bytes, || memcpy(&mut device, &host))
}

fn h2d_pageable_c(plan: Plan, bytes: usize) -> Result<f64> {
    let (host, mut device) = (vec![1_u8; bytes], DeviceBuffer::<u8>::alloc(bytes)?);
    let (to, from) = (device.as_mut_ptr().cast(), host.as_ptr().cast());
    plan.blocking(bytes, || {
        // SAFETY: both sides have as many bytes and live until the device is synchronised, at the plan's
        // end.
        unsafe { check!(cudaMemcpy(to, from, bytes, sys::cudaMemcpyHostToDevice)) }
    })
}

fn d2h_pageable(plan: Plan, bytes: usize) -> Result<f64> {
    let (mut host, device) = (vec![1_u8; bytes], DeviceBuffer::alloc_zeroed(bytes)?);
    plan.blocking(bytes, || memcpy(&mut host, &device))
}

/// Copies `bytes` bytes to the host with `cudaMemcpy`.
fn to_host(host: *mut u8, device: &DeviceBuffer<u8>, bytes: usize) -> Result<()> {
    // SAFETY: the callers have as many bytes there, and the call returns when they are written.
    unsafe { check!(cudaMemcpy(host.cast(), device.as_ptr().cast(), bytes, sys::cudaMemcpyDeviceToHost)) }
}

fn d2h_pageable_c(plan: Plan, bytes: usize) -> Result<f64> {
    let (mut host, device) = (vec![1_u8; bytes], DeviceBuffer::alloc_zeroed(bytes)?);
    Device::current()?.synchronize()?;
    plan.blocking(bytes, || to_host(host.as_mut_ptr(), &device, bytes))
}

fn d2h_fresh(plan: Plan, bytes: usize) -> Result<f64> {
    let device = DeviceBuffer::<u8>::alloc_zeroed(bytes)?;
    plan.blocking(bytes, || device.to_vec().map(drop))
}

fn d2h_fresh_c(plan: Plan, bytes: usize) -> Result<f64> {
    let device = DeviceBuffer::alloc_zeroed(bytes)?;
    Device::current()?.synchronize()?;
    plan.blocking(bytes, || {
        let mut room = Vec::<u8>::with_capacity(bytes);
        to_host(room.as_mut_ptr(), &device, bytes)
    })
}

fn device_local(plan: Plan, bytes: usize) -> Result<f64> {
    let (from, mut to) = (DeviceBuffer::<u8>::alloc_zeroed(bytes)?, DeviceBuffer::alloc(bytes)?);
    let stream = Stream::non_blocking()?;
    plan.enqueued(bytes, &stream, || memcpy_async(&mut to, &from, &stream))
}

/// Makes a buffer on each device, to copy from the first to the second, and a stream of the first.
fn between(
    first: usize,
    second: usize,
    bytes: usize,
) -> Result<(DeviceBuffer<u8>, DeviceBuffer<u8>, Stream)> {
    let (from, stream) = Device::new(first)?
        .with_current(|| Ok((DeviceBuffer::alloc_zeroed(bytes)?, Stream::non_blocking()?)))?;
    let to = Device::new(second)?.with_current(|| DeviceBuffer::alloc_zeroed(bytes))?;
    Ok((from, to, stream))
}

fn peer(plan: Plan, first: usize, second: usize, bytes: usize) -> Result<f64> {
    let (from, mut to, stream) = between(first, second, bytes)?;
    // Gate, events and stream are on one device.
    Device::new(first)?
        .with_current(|| plan.enqueued(bytes, &stream, || memcpy_async(&mut to, &from, &stream)))
}

fn peer_write(plan: Plan, bytes: usize) -> Result<f64> {
    peer(plan, 0, 1, bytes)
}

fn peer_read(plan: Plan, bytes: usize) -> Result<f64> {
    peer(plan, 1, 0, bytes)
}

fn peer_both(plan: Plan, bytes: usize) -> Result<f64> {
    let (from, mut to, up) = between(0, 1, bytes)?;
    let (back, mut target, _) = between(1, 0, bytes)?;
    // Both streams are on device 0, which reads with one and writes with the other, so one clock times
    // both.
    let down = Stream::non_blocking()?;
    plan.both(
        bytes,
        [&up, &down],
        || memcpy_async(&mut to, &from, &up),
        || memcpy_async(&mut target, &back, &down),
    )
}
