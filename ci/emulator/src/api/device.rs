//! Devices: their number, the current one, their properties, and their settings.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::{CStr, c_char, c_int, c_uint};
use core::mem::MaybeUninit;

use super::texture::element;
use super::{Out, api, ordinal, put};
use crate::device::{Device, attribute, p2p_attribute, pci_bus_id, properties, unsupported};
use crate::error::Answer;
use crate::machine::Guard;
use crate::memory::Kind;
use crate::stream::synchronize_device;
use crate::sys::*;
use crate::thread;

/// The flags of a device that has been used: pinned memory is mapped on all.
const ALWAYS: c_uint = cudaDeviceMapHost;

fn device_mut(machine: &mut Guard, device: usize) -> Answer<&mut Device> {
    machine.devices.get_mut(device).ok_or(cudaErrorInvalidDevice)
}

/// Checks the flags of a device: one way to wait at most.
fn check_flags(flags: c_uint) -> Answer<c_uint> {
    let schedule = flags & cudaDeviceScheduleMask;
    let known = cudaDeviceScheduleMask | cudaDeviceMapHost | cudaDeviceLmemResizeToMax | cudaDeviceSyncMemops;
    if flags & !known != 0 || (schedule != 0 && !schedule.is_power_of_two()) {
        return Err(cudaErrorInvalidValue);
    }
    Ok(flags)
}

/// The numbers of an address on the bus, `[domain:]bus:device[.function]`; `None` if the text has another
/// form.
fn bus_address(text: &str) -> Option<[u32; 4]> {
    let (front, function) = text.split_once('.').unwrap_or((text, "0"));
    let (front, device) = front.rsplit_once(':')?;
    let (domain, bus) = front.split_once(':').unwrap_or(("0", front));
    let [domain, bus, device, function] = [domain, bus, device, function].map(hexadecimal);
    Some([domain?, bus?, device?, function?])
}

/// A number as C reads it: after blanks, with or without `0x`. An `x` may also follow a 0 that is the number.
fn hexadecimal(text: &str) -> Option<u32> {
    let text = text.trim_ascii_start();
    let digits = text.strip_prefix("0x").or(text.strip_prefix("0X"));
    match digits {
        Some("") => Some(0),
        digits => u32::from_str_radix(digits.unwrap_or(text), 16).ok(),
    }
}

fn c_device(device: usize) -> c_int {
    c_int::try_from(device).unwrap_or(c_int::MAX)
}

api! {
    /// How many devices there are.
    allowed fn cudaGetDeviceCount(call, count: Out<'_, c_int>) {
        let machine = call.machine()?;
        let count = count.ok_or(cudaErrorInvalidValue)?;
        count.write(c_device(machine.devices.len()));
        if machine.devices.is_empty() { Err(cudaErrorNoDevice) } else { Ok(()) }
    }

    /// The calling thread's current device.
    allowed fn cudaGetDevice(call, device: Out<'_, c_int>) {
        let machine = call.machine()?;
        if machine.devices.is_empty() {
            return Err(cudaErrorNoDevice);
        }
        put(device, c_device(thread::device()))
    }

    /// Makes a device the calling thread's current one.
    allowed fn cudaSetDevice(call, device: c_int) {
        let machine = call.machine()?;
        if machine.devices.is_empty() {
            return Err(cudaErrorNoDevice);
        }
        let device = ordinal(&machine, device)?;
        thread::set_device(device);
        thread::use_device();
        Ok(())
    }

    /// Initialises a device. If the flags are valid, they are set as well.
    allowed fn cudaInitDevice(call, device: c_int, device_flags: c_uint, flags: c_uint) {
        let mut machine = call.machine()?;
        let device = ordinal(&machine, device)?;
        if flags & !cudaInitDeviceFlagsAreValid != 0 {
            return Err(cudaErrorInvalidValue);
        }
        if flags & cudaInitDeviceFlagsAreValid != 0 {
            device_mut(&mut machine, device)?.flags = check_flags(device_flags)?;
        }
        Ok(())
    }

    /// Names the devices that a thread may use: all are.
    allowed fn cudaSetValidDevices(call, devices: *const c_int, count: c_int) {
        let machine = call.machine()?;
        if c_int::is_negative(count) || usize::try_from(count).map_or(true, |count| count > machine.devices.len()) {
            return Err(cudaErrorInvalidValue);
        }
        if devices.is_null() && count > 0 {
            return Err(cudaErrorInvalidValue);
        }
        for at in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: the program promises that the list has `count` entries.
            let device = unsafe { devices.wrapping_add(at).read() };
            ordinal(&machine, device)?;
        }
        Ok(())
    }

    /// Sets how the host waits for the current device.
    allowed fn cudaSetDeviceFlags(call, flags: c_uint) {
        let mut machine = call.machine()?;
        let flags = check_flags(flags)?;
        device_mut(&mut machine, thread::device())?.flags = flags;
        Ok(())
    }

    /// How the host waits for the current device.
    allowed fn cudaGetDeviceFlags(call, flags: Out<'_, c_uint>) {
        let (mut machine, device) = (call.machine()?, thread::device());
        let state = device_mut(&mut machine, device)?;
        put(flags, if state.ended { state.flags } else { state.flags | ALWAYS })
    }

    /// Waits for all that the current device has to do.
    conflicts fn cudaDeviceSynchronize(call) {
        let (mut machine, device) = call.context()?;
        synchronize_device(&mut machine, device)
    }

    /// Ends everything that the process has on the current device. A context that failed stays failed until
    /// the process ends. A context that the calling thread has not used yet stays as it is.
    conflicts fn cudaDeviceReset(call) {
        let (mut machine, device, fault) = call.current()?;
        if fault.is_err() {
            // The device is gone for this process.
            device_mut(&mut machine, device)?.fault = Some(cudaErrorDevicesUnavailable);
            return Ok(());
        }
        if !thread::uses_device() {
            return Ok(());
        }
        synchronize_device(&mut machine, device)?;
        let kinds =
            [Kind::Device, Kind::Pool, Kind::Pinned, Kind::Managed, Kind::Heap, Kind::Array, Kind::Imported];
        for it in machine.allocations.live(Some(device)) {
            if kinds.contains(&it.kind) {
                machine.allocations.remove(it.start, call.name);
            } else if it.kind == Kind::Registered {
                machine.allocations.unregister(it.start)?;
            }
        }
        machine.allocations.pools.reset(device);
        machine.streams.reset(device);
        machine.events.reset(device);
        machine.captures.reset(device);
        let state = device_mut(&mut machine, device)?;
        let caller = state.caller.take();
        *state = Device { caller, ended: true, ..Device::default() };
        Ok(())
    }

    /// The properties of a device.
    allowed fn cudaGetDeviceProperties(call, out: Out<'_, cudaDeviceProp>, device: c_int) {
        let machine = call.machine()?;
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let device = ordinal(&machine, device)?;
        out.write(properties(device, &machine.config));
        Ok(())
    }

    /// One number about a device.
    allowed fn cudaDeviceGetAttribute(call, out: Out<'_, c_int>, attr: cudaDeviceAttr, device: c_int) {
        let machine = call.machine()?;
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let device = ordinal(&machine, device)?;
        let lacks = attr == cudaDevAttrConcurrentManagedAccess && !machine.config.managed;
        out.write(if lacks { 0 } else { attribute(attr, device).ok_or(cudaErrorInvalidValue)? });
        Ok(())
    }

    /// One number about a pair of devices.
    allowed fn cudaDeviceGetP2PAttribute(call, out: Out<'_, c_int>, attr: cudaDeviceP2PAttr, device: c_int, peer: c_int) {
        let machine = call.machine()?;
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let (device, peer) = (ordinal(&machine, device)?, ordinal(&machine, peer)?);
        if device == peer {
            return Err(cudaErrorInvalidDevice);
        }
        out.write(p2p_attribute(attr).ok_or(cudaErrorInvalidValue)?);
        Ok(())
    }

    /// The device most like a description: the first, as all are alike.
    allowed fn cudaChooseDevice(call, device: Out<'_, c_int>, wanted: *const cudaDeviceProp) {
        call.check()?;
        if wanted.is_null() {
            return Err(cudaErrorInvalidValue);
        }
        put(device, 0)
    }

    /// The priorities that streams may have.
    allowed fn cudaDeviceGetStreamPriorityRange(call, least: Out<'_, c_int>, greatest: Out<'_, c_int>) {
        call.check()?;
        if let Some(least) = least {
            least.write(super::stream::LEAST);
        }
        if let Some(greatest) = greatest {
            greatest.write(super::stream::GREATEST);
        }
        Ok(())
    }

    /// A limit of the current device.
    allowed fn cudaDeviceGetLimit(call, value: Out<'_, usize>, limit: cudaLimit) {
        let (mut machine, device) = call.context()?;
        let value = value.ok_or(cudaErrorInvalidValue)?;
        let found = if limit == cudaLimitMallocHeapSize {
            usize::try_from(machine.allocations.heap_limit(device)).ok()
        } else if unsupported(limit) {
            return Err(cudaErrorUnsupportedLimit);
        } else {
            device_mut(&mut machine, device)?.limits.get(limit)
        };
        value.write(found.ok_or(cudaErrorInvalidValue)?);
        Ok(())
    }

    /// Sets a limit of the current device.
    waits fn cudaDeviceSetLimit(call, limit: cudaLimit, value: usize) {
        let (mut machine, device) = call.context()?;
        let done = if limit == cudaLimitMallocHeapSize {
            machine.allocations.set_heap_limit(device, super::wide(value))
        } else if unsupported(limit) {
            return Err(cudaErrorUnsupportedLimit);
        } else {
            device_mut(&mut machine, device)?.limits.set(limit, value)
        };
        if done { Ok(()) } else { Err(cudaErrorInvalidValue) }
    }

    /// How the current device divides its fast memory.
    allowed fn cudaDeviceGetCacheConfig(call, config: Out<'_, cudaFuncCache>) {
        let (mut machine, device) = call.context()?;
        put(config, device_mut(&mut machine, device)?.cache)
    }

    /// Sets that, which means nothing here.
    allowed fn cudaDeviceSetCacheConfig(call, config: cudaFuncCache) {
        let (mut machine, device) = call.context()?;
        if config.0 > cudaFuncCachePreferEqual.0 {
            return Err(cudaErrorInvalidValue);
        }
        device_mut(&mut machine, device)?.cache = config;
        Ok(())
    }

    /// How wide the banks of shared memory are.
    allowed fn cudaDeviceGetSharedMemConfig(call, config: Out<'_, cudaSharedMemConfig>) {
        call.check()?;
        put(config, cudaSharedMemBankSizeFourByte)
    }

    /// Sets that, which devices of this generation ignore.
    allowed fn cudaDeviceSetSharedMemConfig(call, config: cudaSharedMemConfig) {
        call.check()?;
        if config.0 > cudaSharedMemBankSizeEightByte.0 { Err(cudaErrorInvalidValue) } else { Ok(()) }
    }

    /// Where a device is on the bus.
    allowed fn cudaDeviceGetPCIBusId(call, out: Option<&mut MaybeUninit<c_char>>, length: c_int, device: c_int) {
        let machine = call.machine()?;
        let out = out.ok_or(cudaErrorInvalidValue)?.as_mut_ptr();
        let id = pci_bus_id(ordinal(&machine, device)?);
        // Too little room gets as many characters as it has. CUDA takes a negative length for room enough.
        let room = usize::try_from(length).unwrap_or(id.len());
        for (at, byte) in id.bytes().chain([0]).take(room).enumerate() {
            // SAFETY: the program promises that there is room for `length` characters, or for all of them.
            unsafe { out.wrapping_add(at).write(c_char::try_from(byte).unwrap_or(0)) };
        }
        if room > id.len() { Ok(()) } else { Err(cudaErrorInvalidValue) }
    }

    /// The device at a place on the bus.
    allowed fn cudaDeviceGetByPCIBusId(call, device: Out<'_, c_int>, id: *const c_char) {
        let machine = call.machine()?;
        let device = device.ok_or(cudaErrorInvalidValue)?;
        if id.is_null() {
            return Err(cudaErrorInvalidValue);
        }
        // SAFETY: the program gives a string that ends in NUL.
        let wanted = bus_address(&unsafe { CStr::from_ptr(id) }.to_string_lossy());
        let wanted = wanted.ok_or(cudaErrorInvalidValue)?;
        let same = |device: &usize| bus_address(&pci_bus_id(*device)) == Some(wanted);
        let found = (0..machine.devices.len()).find(same).ok_or(cudaErrorInvalidDevice)?;
        device.write(c_device(found));
        Ok(())
    }

    /// How wide a texture over linear memory may be, in elements.
    allowed fn cudaDeviceGetTexture1DLinearMaxWidth(
        call, width: Out<'_, usize>, format: Option<&cudaChannelFormatDesc>, device: c_int,
    ) {
        let machine = call.machine()?;
        ordinal(&machine, device)?;
        let it = format.ok_or(cudaErrorInvalidValue)?;
        let width = width.ok_or(cudaErrorInvalidValue)?;
        let bytes = element(*it).map_err(|_| cudaErrorInvalidChannelDescriptor)?;
        width.write(usize::try_from((1 << 30).min((1 << 32) / bytes)).unwrap_or(0));
        Ok(())
    }

    /// Makes writes of other devices on the bus visible: none are ever outstanding.
    allowed fn cudaDeviceFlushGPUDirectRDMAWrites(
        call, target: cudaFlushGPUDirectRDMAWritesTarget, scope: cudaFlushGPUDirectRDMAWritesScope,
    ) {
        call.check()?;
        let scopes = [cudaFlushGPUDirectRDMAWritesToOwner, cudaFlushGPUDirectRDMAWritesToAllDevices];
        let known = target == cudaFlushGPUDirectRDMAWritesTargetCurrentDevice && scopes.contains(&scope);
        if known { Ok(()) } else { Err(cudaErrorInvalidValue) }
    }

    /// Starts the profiler. There is no profiler here.
    waits fn cudaProfilerStart(call) {
        call.check()
    }

    /// Stops the profiler. There is no profiler here.
    waits fn cudaProfilerStop(call) {
        call.check()
    }
}
