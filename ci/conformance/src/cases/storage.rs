//! Memory: pools and what they export, managed memory, registered pages, pointers, symbols, processes, and
//! copies at the ends of their extents.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::*;

use super::pool::{number, pool, props};
use crate::case::{Cases, Change};
use crate::gate::Gate;
use crate::log::{Log, ask, need};
use crate::memory::{Block, Kind, event, pattern, stream};

const N: usize = 4096;

unsafe extern "C" {
    fn case_add();
    fn case_list_symbol() -> *const c_void;
    fn case_managed_symbol() -> *const c_void;
    fn case_constant_symbol() -> *const c_void;
}

fn pools(cases: &mut Cases) {
    cases.alone("cudaMemPoolTrimTo/after frees, with a threshold, and to less than is used", |log| {
        let (pool, on) = (pool(log)?, stream(log)?);
        let (reserved, used) = (cudaMemPoolAttrReservedMemCurrent, cudaMemPoolAttrUsedMemCurrent);
        let mut threshold = u64::MAX;
        let keep = cudaMemPoolAttrReleaseThreshold;
        need!(log, cudaMemPoolSetAttribute(pool, keep, (&raw mut threshold).cast()));
        let (mut a, mut b) = (ptr::null_mut(), ptr::null_mut());
        need!(log, cudaMallocFromPoolAsync(&raw mut a, 40 << 20, pool, on));
        need!(log, cudaMallocFromPoolAsync(&raw mut b, 100, pool, on));
        number(log, "used", pool, used);
        number(log, "reserved", pool, reserved);
        need!(log, cudaFreeAsync(a, on));
        need!(log, cudaStreamSynchronize(on));
        number(log, "used", pool, used);
        number(log, "kept", pool, reserved);
        ask!(log, "to none", cudaMemPoolTrimTo(pool, 0));
        number(log, "trimmed", pool, reserved);
        number(log, "most used", pool, cudaMemPoolAttrUsedMemHigh);
        number(log, "most reserved", pool, cudaMemPoolAttrReservedMemHigh);
        ask!(log, "to all", cudaMemPoolTrimTo(pool, usize::MAX));
        number(log, "trimmed", pool, reserved);
        ask!(log, cudaFreeAsync(b, on));
        ask!(log, cudaStreamSynchronize(on));
        ask!(log, "to none", cudaMemPoolTrimTo(pool, 0));
        number(log, "trimmed", pool, reserved);
        Ok(())
    });
    cases.alone("cudaMallocAsync/sizes and how much a pool takes for them", |log| {
        let (pool, on) = (pool(log)?, stream(log)?);
        for bytes in [1, 512, 513, 100_000, 2 << 20, (2 << 20) + 1, 33 << 20, 70_000_000] {
            let mut at = ptr::null_mut();
            ask!(log, &bytes.to_string(), cudaMallocFromPoolAsync(&raw mut at, bytes, pool, on));
            number(log, "used", pool, cudaMemPoolAttrUsedMemCurrent);
            number(log, "reserved", pool, cudaMemPoolAttrReservedMemCurrent);
            log.fact("aligned", at.addr() % 512 == 0);
        }
        Ok(())
    });
    cases.alone("cudaMemPoolExportToShareableHandle/a file, pointers, and back in one process", |log| {
        let (mut pool, on) = (ptr::null_mut(), stream(log)?);
        let mut props = props();
        props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
        ask!(log, cudaMemPoolCreate(&raw mut pool, &raw const props));
        let (mut file, file_type) = (-1_i32, cudaMemHandleTypePosixFileDescriptor);
        let out = (&raw mut file).cast();
        ask!(log, "flags", cudaMemPoolExportToShareableHandle(out, pool, file_type, 1));
        let fabric = cudaMemHandleTypeFabric;
        let mut room = [0_u8; 64];
        ask!(log, "fabric", cudaMemPoolExportToShareableHandle(room.as_mut_ptr().cast(), pool, fabric, 0));
        ask!(log, cudaMemPoolExportToShareableHandle(out, pool, file_type, 0));
        log.fact("a file", file >= 0);
        let (mut at, mut data) = (ptr::null_mut(), cudaMemPoolPtrExportData::default());
        need!(log, cudaMallocFromPoolAsync(&raw mut at, N, pool, on));
        need!(log, cudaMemsetAsync(at, 5, N, on));
        need!(log, cudaStreamSynchronize(on));
        ask!(log, cudaMemPoolExportPointer(&raw mut data, at));
        let other = Block::new(log, Kind::Device, 64)?;
        let mut none = cudaMemPoolPtrExportData::default();
        ask!(log, "other memory", cudaMemPoolExportPointer(&raw mut none, other.ptr()));
        ask!(log, "null", cudaMemPoolExportPointer(&raw mut none, ptr::null_mut()));
        let (mut imported, mut there) = (ptr::null_mut(), ptr::null_mut());
        let handle = ptr::without_provenance_mut(file.cast_unsigned() as usize);
        ask!(log, cudaMemPoolImportFromShareableHandle(&raw mut imported, handle, file_type, 0));
        ask!(log, cudaMemPoolImportPointer(&raw mut there, imported, &raw mut data));
        if !there.is_null() {
            let mut got = vec![0_u8; N];
            ask!(log, cudaMemcpy(got.as_mut_ptr().cast(), there, N, cudaMemcpyDefault));
            log.bytes("bytes", &got, &[5; N]);
            let mut new = ptr::null_mut();
            ask!(log, "allocating from it", cudaMallocFromPoolAsync(&raw mut new, 64, imported, on));
            number(log, "used", imported, cudaMemPoolAttrUsedMemCurrent);
            ask!(log, cudaFreeAsync(there, on));
        }
        ask!(log, cudaFreeAsync(at, on));
        ask!(log, cudaStreamSynchronize(on));
        Ok(())
    });
    cases.alone("cudaMemPoolCreate/of the host, of no handle, with a size", |log| {
        let on = stream(log)?;
        let changes: [(&str, Change<cudaMemPoolProps>); 7] = [
            ("of the host", |p| p.location.type_ = cudaMemLocationTypeHost),
            ("of the host's first node", |p| p.location.type_ = cudaMemLocationTypeHostNuma),
            ("kinds of handles", |p| p.handleTypes.0 = 3),
            ("no kind of handle", |p| p.handleTypes.0 = 0x40),
            ("at most 1 byte", |p| p.maxSize = 1),
            ("at most 64 MiB", |p| p.maxSize = 64 << 20),
            ("reserved", |p| p.reserved[3] = 1),
        ];
        for (what, change) in changes {
            let (mut pool, mut at) = (ptr::null_mut(), ptr::null_mut());
            let mut props = props();
            change(&mut props);
            ask!(log, what, cudaMemPoolCreate(&raw mut pool, &raw const props));
            if pool.is_null() {
                continue;
            }
            ask!(log, "some", cudaMallocFromPoolAsync(&raw mut at, N, pool, on));
            ask!(log, "more", cudaMallocFromPoolAsync(&raw mut at, 65 << 20, pool, on));
            let mut about = cudaPointerAttributes::default();
            if !at.is_null() {
                ask!(log, cudaPointerGetAttributes(&raw mut about, at));
                log.fact("type, device", format_args!("{} {}", about.type_.0, about.device));
            }
            ask!(log, cudaGetLastError());
        }
        Ok(())
    });
    cases.alone("cudaDeviceSetMemPool/another pool, and null, and back", |log| {
        let (own, mut standard, mut now) = (pool(log)?, ptr::null_mut(), ptr::null_mut());
        let on = stream(log)?;
        ask!(log, cudaDeviceGetDefaultMemPool(&raw mut standard, 0));
        ask!(log, cudaDeviceSetMemPool(0, own));
        ask!(log, cudaDeviceGetMemPool(&raw mut now, 0));
        log.fact("own", now == own);
        let mut at = ptr::null_mut();
        need!(log, cudaMallocAsync(&raw mut at, N, on));
        number(log, "used", own, cudaMemPoolAttrUsedMemCurrent);
        let mut place = cudaMemLocation { type_: cudaMemLocationTypeDevice, id: 0 };
        let kind = cudaMemAllocationTypePinned;
        ask!(log, cudaMemGetMemPool(&raw mut now, &raw mut place, kind));
        log.fact("own", now == own);
        ask!(log, cudaMemGetDefaultMemPool(&raw mut now, &raw mut place, kind));
        log.fact("standard", now == standard);
        ask!(log, cudaMemSetMemPool(&raw mut place, kind, standard));
        ask!(log, cudaDeviceGetMemPool(&raw mut now, 0));
        log.fact("standard", now == standard);
        ask!(log, "null", cudaDeviceSetMemPool(0, ptr::null_mut()));
        ask!(log, "device 100", cudaDeviceSetMemPool(100, standard));
        ask!(log, "device 100", cudaDeviceGetMemPool(&raw mut now, 100));
        ask!(log, "destroyed with memory", cudaMemPoolDestroy(own));
        ask!(log, cudaFreeAsync(at, on));
        ask!(log, cudaStreamSynchronize(on));
        place.type_ = cudaMemLocationTypeHost;
        ask!(log, "of the host", cudaMemGetDefaultMemPool(&raw mut now, &raw mut place, kind));
        Ok(())
    });
    cases.alone("cudaFreeAsync/twice, freed otherwise, and what is not of a pool", |log| {
        let on = stream(log)?;
        let (mut a, mut b, mut plain) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        need!(log, cudaMallocAsync(&raw mut a, N, on));
        need!(log, cudaMallocAsync(&raw mut b, N, on));
        need!(log, cudaMalloc(&raw mut plain, N));
        ask!(log, "the middle", cudaFreeAsync(a.wrapping_byte_add(512), on));
        ask!(log, "free", cudaFree(b));
        ask!(log, "again", cudaFreeAsync(b, on));
        ask!(log, "a", cudaFreeAsync(a, on));
        ask!(log, "a again", cudaFreeAsync(a, on));
        ask!(log, "null", cudaFreeAsync(ptr::null_mut(), on));
        let host = Block::new(log, Kind::Pinned, 64)?;
        ask!(log, "pinned", cudaFreeAsync(host.ptr(), on));
        ask!(log, "from cudaMalloc", cudaFreeAsync(plain, on));
        ask!(log, cudaStreamSynchronize(on));
        ask!(log, "freed at once", cudaFree(plain));
        Ok(())
    });
    cases.add("cudaMemPoolSetAccess/of the host, twice the same, read", |log| {
        let pool = pool(log)?;
        let place = |type_, id| cudaMemLocation { type_, id };
        let (host, device) = (cudaMemLocationTypeHost, cudaMemLocationTypeDevice);
        for (what, location, flags) in [
            ("read only", place(device, 0), 1),
            ("read and write", place(device, 0), 3),
            ("the host", place(host, 0), 3),
        ] {
            let it = cudaMemAccessDesc { location, flags: cudaMemAccessFlags(flags) };
            ask!(log, what, cudaMemPoolSetAccess(pool, &raw const it, 1));
        }
        let it = cudaMemAccessDesc { location: place(device, 0), flags: cudaMemAccessFlagsProtReadWrite };
        let twice = [it, it];
        ask!(log, "twice", cudaMemPoolSetAccess(pool, twice.as_ptr(), 2));
        let (mut flags, mut at) = (cudaMemAccessFlags(77), place(host, 0));
        ask!(log, "of the host", cudaMemPoolGetAccess(&raw mut flags, pool, &raw mut at));
        log.fact("flags", flags.0);

        Ok(())
    });
}

fn range(log: &mut Log, block: Block, bytes: usize) {
    for number in [1, 2, 4, 5, 6, 7, 8] {
        let (mut value, attribute) = (-77_i32, cudaMemRangeAttribute(number));
        let out = (&raw mut value).cast();
        ask!(log, &number.to_string(), cudaMemRangeGetAttribute(out, 4, attribute, block.ptr(), bytes));
        log.fact("is", value);
    }
}

fn managed(cases: &mut Cases) {
    let host = cudaMemLocation { type_: cudaMemLocationTypeHost, id: 0 };
    let device = cudaMemLocation { type_: cudaMemLocationTypeDevice, id: 0 };
    cases.alone("cudaMemRangeGetAttribute/after advice about a part, and a prefetch", move |log| {
        let block = Block::new(log, Kind::Managed, 1 << 20)?.aligned(512 << 10);
        range(log, block, 512 << 10);
        let half = 256 << 10;
        ask!(log, cudaMemAdvise(block.ptr(), half, cudaMemAdviseSetReadMostly, device));
        ask!(log, cudaMemAdvise(block.ptr(), half, cudaMemAdviseSetPreferredLocation, host));
        log.fact("of", "the half");
        range(log, block, half);
        log.fact("of", "all");
        range(log, block, 512 << 10);
        ask!(log, cudaMemPrefetchAsync(block.ptr(), half, device, 0, ptr::null_mut()));
        ask!(log, cudaDeviceSynchronize());
        log.fact("of", "the half");
        range(log, block, half);
        ask!(log, cudaMemAdvise(block.ptr(), half, cudaMemAdviseUnsetReadMostly, device));
        ask!(log, cudaMemAdvise(block.ptr(), half, cudaMemAdviseUnsetPreferredLocation, host));
        log.fact("of", "the half");
        range(log, block, half);
        Ok(())
    });
    cases.alone("cudaMemAdvise/places of every kind, and who accesses it", move |log| {
        let block = Block::new(log, Kind::Managed, 1 << 16)?.aligned(1 << 15);
        for kind in 0..6 {
            for advice in [3, 5] {
                let place = cudaMemLocation { type_: cudaMemLocationType(kind), id: 0 };
                let advice = cudaMemoryAdvise(advice);
                let name = format!("{kind} {}", advice.0);
                ask!(log, &name, cudaMemAdvise(block.ptr(), 1 << 15, advice, place));
            }
        }
        let (mut who, by) = ([-77_i32; 4], cudaMemRangeAttributeAccessedBy);
        ask!(log, cudaMemRangeGetAttribute(who.as_mut_ptr().cast(), 16, by, block.ptr(), 1 << 15));
        log.fact("accessed by", format_args!("{who:?}"));
        let unset = cudaMemAdviseUnsetAccessedBy;
        ask!(log, "unset", cudaMemAdvise(block.ptr(), 1 << 15, unset, device));
        ask!(log, cudaMemRangeGetAttribute(who.as_mut_ptr().cast(), 16, by, block.ptr(), 1 << 15));
        log.fact("accessed by", format_args!("{who:?}"));
        Ok(())
    });
    cases.alone("cudaMemPrefetchAsync/places of every kind, flags, other memory", move |log| {
        let (block, on) = (Block::new(log, Kind::Managed, 1 << 16)?, stream(log)?);
        for kind in 0..6 {
            let place = cudaMemLocation { type_: cudaMemLocationType(kind), id: 0 };
            ask!(log, &kind.to_string(), cudaMemPrefetchAsync(block.ptr(), 1 << 16, place, 0, on));
        }
        ask!(log, "flags", cudaMemPrefetchAsync(block.ptr(), 1 << 16, device, 1, on));
        ask!(log, "the middle", cudaMemPrefetchAsync(block.at(100), 100, device, 0, on));
        for kind in [Kind::Pinned, Kind::Pool] {
            let other = Block::new(log, kind, N)?;
            ask!(log, kind.name(), cudaMemPrefetchAsync(other.ptr(), N, device, 0, on));
        }
        ask!(log, cudaStreamSynchronize(on));
        Ok(())
    });
    cases.alone("cudaStreamAttachMemAsync/to a stream, used by it and by the host", |log| {
        let (block, on) = (Block::new(log, Kind::Managed, N)?, stream(log)?);
        let single = cudaMemAttachSingle;
        ask!(log, cudaStreamAttachMemAsync(on, block.ptr(), 0, single));
        ask!(log, cudaStreamSynchronize(on));
        let (mut at, mut amount) = (block.ptr(), 5_i32);
        let mut arguments: [*mut c_void; 2] = [(&raw mut at).cast(), (&raw mut amount).cast()];
        let one = dim3 { x: 1, y: 1, z: 1 };
        let (kernel, list) = (case_add as *const c_void, arguments.as_mut_ptr());
        ask!(log, cudaLaunchKernel(kernel, one, one, list, 0, on));
        ask!(log, cudaStreamSynchronize(on));
        // SAFETY: managed memory, whose stream is over.
        log.fact("value", unsafe { ptr::read_volatile(block.ptr().cast::<i32>()) });
        Ok(())
    });
    cases.alone("cudaStreamAttachMemAsync/the middle, no flags, the legacy stream", |log| {
        let (block, on) = (Block::new(log, Kind::Managed, N)?, stream(log)?);
        let single = cudaMemAttachSingle;
        ask!(log, "no flags", cudaStreamAttachMemAsync(on, block.ptr(), 0, 0));
        ask!(log, "the middle", cudaStreamAttachMemAsync(on, block.at(64), 0, single));
        ask!(log, "the legacy stream", cudaStreamAttachMemAsync(ptr::null_mut(), block.ptr(), 0, single));
        Ok(())
    });
}

fn registered(cases: &mut Cases) {
    cases.alone("cudaHostRegister/parts that overlap, and one within another", |log| {
        let pages = Block::new(log, Kind::Pageable, 16 * N)?;
        ask!(log, "the middle", cudaHostRegister(pages.at(4 * N), 4 * N, 0));
        ask!(log, "over its start", cudaHostRegister(pages.at(2 * N), 4 * N, 0));
        ask!(log, "over its end", cudaHostRegister(pages.at(6 * N), 4 * N, 0));
        ask!(log, "all", cudaHostRegister(pages.ptr(), 16 * N, 0));
        ask!(log, "within it", cudaHostRegister(pages.at(5 * N), N, 0));
        ask!(log, "before it", cudaHostRegister(pages.at(2 * N), 2 * N, 0));
        ask!(log, "behind it", cudaHostRegister(pages.at(8 * N), N, 0));
        ask!(log, "of the middle, by its second page", cudaHostUnregister(pages.at(5 * N)));
        ask!(log, "the middle", cudaHostUnregister(pages.at(4 * N)));
        ask!(log, "again", cudaHostUnregister(pages.at(4 * N)));
        ask!(log, "now", cudaHostRegister(pages.at(4 * N), N, 0));
        Ok(())
    });
    cases.alone("cudaHostGetFlags/of memory that was allocated and registered with flags", |log| {
        let (mut flags, mut start) = (77, ptr::null_mut());
        for wanted in [0, 1, 2, 4, 7] {
            need!(log, cudaHostAlloc(&raw mut start, N, wanted));
            ask!(log, &wanted.to_string(), cudaHostGetFlags(&raw mut flags, start));
            log.fact("flags", flags);
        }
        let pages = Block::new(log, Kind::Pageable, 4 * N)?;
        for wanted in [0, 1, 2, 8] {
            ask!(log, "register", cudaHostRegister(pages.ptr(), N, wanted));
            ask!(log, &wanted.to_string(), cudaHostGetFlags(&raw mut flags, pages.ptr()));
            log.fact("flags", flags);
            ask!(log, cudaHostUnregister(pages.ptr()));
        }
        ask!(log, "io memory", cudaHostRegister(pages.ptr(), N, 4));
        ask!(log, "the middle", cudaHostGetFlags(&raw mut flags, start.wrapping_byte_add(8)));
        ask!(log, "behind it", cudaHostGetFlags(&raw mut flags, start.wrapping_byte_add(1 << 30)));
        Ok(())
    });
    cases.alone("cudaFreeHost/what it does not free", |log| {
        let (device, managed) = (Block::new(log, Kind::Device, N)?, Block::new(log, Kind::Managed, N)?);
        let (pinned, registered) = (Block::new(log, Kind::Pinned, N)?, Block::new(log, Kind::Registered, N)?);
        ask!(log, "device", cudaFreeHost(device.ptr()));
        ask!(log, "managed", cudaFreeHost(managed.ptr()));
        ask!(log, "registered", cudaFreeHost(registered.ptr()));
        ask!(log, "the middle", cudaFreeHost(pinned.at(64)));
        ask!(log, "pinned", cudaFreeHost(pinned.ptr()));
        ask!(log, "twice", cudaFreeHost(pinned.ptr()));
        ask!(log, "null", cudaFreeHost(ptr::null_mut()));
        ask!(log, "by cudaFree", cudaFree(registered.ptr()));
        ask!(log, "managed by cudaFree", cudaFree(managed.ptr()));
        Ok(())
    });
}

fn about(log: &mut Log, name: &str, at: *const c_void) {
    let mut it = cudaPointerAttributes::default();
    ask!(log, name, cudaPointerGetAttributes(&raw mut it, at));
    let (device, host) = (it.devicePointer.addr() == at.addr(), it.hostPointer.addr() == at.addr());
    let (no_device, no_host) = (it.devicePointer.is_null(), it.hostPointer.is_null());
    log.fact("type, device", format_args!("{} {}", it.type_.0, it.device));
    log.fact("addresses", format_args!("{device} {no_device} {host} {no_host}"));
}

fn pointers(cases: &mut Cases) {
    cases.alone("cudaPointerGetAttributes/symbols, ends, and memory of pitches", |log| {
        let (mut symbol, mut managed, mut constant) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        // SAFETY: the functions take nothing and return an address.
        let symbols = unsafe { (case_list_symbol(), case_managed_symbol(), case_constant_symbol()) };
        need!(log, cudaGetSymbolAddress(&raw mut symbol, symbols.0));
        need!(log, cudaGetSymbolAddress(&raw mut managed, symbols.1));
        need!(log, cudaGetSymbolAddress(&raw mut constant, symbols.2));
        about(log, "a variable", symbol);
        about(log, "a managed one", managed);
        about(log, "a constant", constant);
        about(log, "a variable's handle", symbols.0);
        let (device, pinned) = (Block::new(log, Kind::Device, 2 << 20)?, Block::new(log, Kind::Pinned, N)?);
        about(log, "the last byte", device.at((2 << 20) - 1));
        about(log, "the last byte of pinned memory", pinned.at(N - 1));
        let (mut rows, mut pitch) = (ptr::null_mut(), 0);
        need!(log, cudaMallocPitch(&raw mut rows, &raw mut pitch, 100, 10));
        log.fact("pitch", pitch);
        about(log, "rows", rows);
        about(log, "a number", ptr::without_provenance(4096));
        about(log, "the code", about as *const c_void);
        Ok(())
    });
    cases.alone("cudaPointerGetAttributes/after frees of every kind", |log| {
        let (device, managed) = (Block::new(log, Kind::Device, N)?, Block::new(log, Kind::Managed, N)?);
        let (registered, pool) = (Block::new(log, Kind::Registered, N)?, Block::new(log, Kind::Pool, N)?);
        let pinned = Block::new(log, Kind::Pinned, N)?;
        need!(log, cudaFree(device.ptr()));
        need!(log, cudaFree(managed.ptr()));
        need!(log, cudaHostUnregister(registered.ptr()));
        need!(log, cudaFreeAsync(pool.ptr(), ptr::null_mut()));
        need!(log, cudaDeviceSynchronize());
        need!(log, cudaFreeHost(pinned.ptr()));
        for block in [device, managed, registered, pinned] {
            about(log, block.kind.name(), block.ptr());
        }
        Ok(())
    });
}

fn symbols(cases: &mut Cases) {
    cases.alone("cudaMemcpyToSymbol/directions that do not fit, and offsets without end", |log| {
        // SAFETY: takes nothing and returns an address.
        let list = unsafe { case_list_symbol() };
        let (host, device) = (pattern(64, 3), Block::with(log, Kind::Device, &pattern(64, 4))?);
        let at = host.as_ptr().cast();
        for (what, way) in [
            ("to the host", cudaMemcpyDeviceToHost),
            ("within the device", cudaMemcpyDeviceToDevice),
            ("within the host", cudaMemcpyHostToHost),
            ("no direction", cudaMemcpyKind(9)),
        ] {
            ask!(log, what, cudaMemcpyToSymbol(list, at, 64, 0, way));
        }
        ask!(
            log,
            "offset without end",
            cudaMemcpyToSymbol(list, at, 8, usize::MAX - 3, cudaMemcpyHostToDevice)
        );
        ask!(log, "bytes without end", cudaMemcpyToSymbol(list, at, usize::MAX, 8, cudaMemcpyHostToDevice));
        ask!(log, "at the end", cudaMemcpyToSymbol(list, at, 0, 64, cudaMemcpyHostToDevice));
        ask!(log, "from null", cudaMemcpyToSymbol(list, ptr::null(), 8, 0, cudaMemcpyHostToDevice));
        ask!(log, "device", cudaMemcpyToSymbol(list, device.ptr(), 64, 0, cudaMemcpyDeviceToDevice));
        let mut got = [0_u8; 64];
        ask!(log, cudaMemcpyFromSymbol(got.as_mut_ptr().cast(), list, 64, 0, cudaMemcpyDefault));
        log.bytes("bytes", &got, &pattern(64, 4));
        ask!(
            log,
            "wrong way back",
            cudaMemcpyFromSymbol(got.as_mut_ptr().cast(), list, 64, 0, cudaMemcpyHostToDevice)
        );
        Ok(())
    });
}

/// A copy of a box of 16 by 4 by 2 bytes between pitched memory of 64 bytes a row.
fn boxes(to: Block, from: Block) -> cudaMemcpy3DParms {
    let pitched = |ptr| cudaPitchedPtr { ptr, pitch: 64, xsize: 64, ysize: 8 };
    let mut it = cudaMemcpy3DParms::default();
    (it.srcPtr, it.dstPtr) = (pitched(from.ptr()), pitched(to.ptr()));
    it.extent = cudaExtent { width: 16, height: 4, depth: 2 };
    it.kind = cudaMemcpyDefault;
    it
}

fn copies(cases: &mut Cases) {
    let changes: [(&str, Change<cudaMemcpy3DParms>); 11] = [
        ("a box in the middle", |it| {
            it.srcPos = cudaPos { x: 8, y: 2, z: 1 };
            it.dstPos = cudaPos { x: 3, y: 1, z: 0 };
        }),
        ("a width without end", |it| it.extent.width = usize::MAX),
        ("a height without end", |it| it.extent.height = usize::MAX),
        ("a depth without end", |it| it.extent.depth = usize::MAX),
        ("a depth whose product overflows", |it| it.extent.depth = 1 << 62),
        ("a corner without end", |it| it.srcPos.z = usize::MAX),
        ("a pitch without end", |it| it.srcPtr.pitch = usize::MAX),
        ("no rows in a slice, one slice", |it| {
            it.srcPtr.ysize = 0;
            it.extent.depth = 1;
        }),
        ("no rows in a slice, two slices", |it| it.srcPtr.ysize = 0),
        ("fewer rows in a slice than are copied", |it| it.dstPtr.ysize = 2),
        ("neither for one side", |it| it.dstPtr.ptr = ptr::null_mut()),
    ];
    for (what, change) in changes {
        for blocking in [true, false] {
            let api = if blocking { "cudaMemcpy3D" } else { "cudaMemcpy3DAsync" };
            cases.alone(format!("{api}/{what}, of a box"), move |log| {
                let (to, from) =
                    (Block::new(log, Kind::Device, N)?, Block::with(log, Kind::Device, &pattern(N, 2))?);
                let mut it = boxes(to, from);
                change(&mut it);
                if blocking {
                    ask!(log, cudaMemcpy3D(&raw const it));
                } else {
                    let on = stream(log)?;
                    ask!(log, cudaMemcpy3DAsync(&raw const it, on));
                }
                ask!(log, cudaDeviceSynchronize());
                let got = to.load(log)?;
                let mut sum = 0_u32;
                for (at, byte) in got.iter().enumerate() {
                    sum = sum.wrapping_add(u32::from(*byte) * (at as u32 + 1));
                }
                log.fact("sum", sum);
                Ok(())
            });
        }
    }
    cases.alone("cudaMemset3D/extents without end, elements that there are not", |log| {
        let to = Block::new(log, Kind::Device, N)?;
        let whole = cudaPitchedPtr { ptr: to.ptr(), pitch: 64, xsize: 64, ysize: 8 };
        for (what, [width, height, depth]) in [
            ("right", [16, 4, 2]),
            ("width", [usize::MAX, 1, 1]),
            ("height", [16, usize::MAX, 1]),
            ("no depth", [16, 4, 0]),
            ("wider than the pitch", [65, 4, 1]),
        ] {
            ask!(log, what, cudaMemset3D(whole, 0x1fe, cudaExtent { width, height, depth }));
        }
        ask!(log, "2D", cudaMemset2D(to.ptr(), 64, 1, 65, 2));
        let got = to.load(log)?;
        log.fact("set", got.iter().filter(|it| **it == 0xfe).count());
        Ok(())
    });
    cases.add("cudaMemcpyAsync/within one allocation, overlapping and not", |log| {
        let (block, on) = (Block::with(log, Kind::Device, &pattern(N, 6))?, stream(log)?);
        ask!(log, "apart", cudaMemcpyAsync(block.at(2048), block.ptr(), 1024, cudaMemcpyDefault, on));
        ask!(log, "itself", cudaMemcpyAsync(block.ptr(), block.ptr(), 1024, cudaMemcpyDefault, on));
        ask!(log, cudaStreamSynchronize(on));
        let got = block.load(log)?;
        log.bytes("bytes", &got[2048..3072], &pattern(N, 6)[..1024]);
        Ok(())
    });
    cases.alone("cudaMemcpy2D/pitches at the largest, and widths that overflow", |log| {
        let (to, from) = (Block::new(log, Kind::Device, N)?, Block::with(log, Kind::Device, &pattern(N, 2))?);
        let (a, b, way) = (to.ptr(), from.ptr(), cudaMemcpyDeviceToDevice);
        ask!(log, "largest", cudaMemcpy2D(a, 0x7fff_ffff, b, 64, 16, 1, way));
        ask!(log, "over it", cudaMemcpy2D(a, 0x8000_0000, b, 64, 16, 1, way));
        ask!(log, "over it, no rows", cudaMemcpy2D(a, 0x8000_0000, b, 64, 16, 0, way));
        ask!(log, "width without end", cudaMemcpy2D(a, 64, b, 64, usize::MAX, 1, way));
        ask!(log, "height without end", cudaMemcpy2D(a, 64, b, 64, 64, usize::MAX, way));
        ask!(log, "no direction", cudaMemcpy2D(a, 64, b, 64, 16, 2, cudaMemcpyKind(9)));
        ask!(log, "from null", cudaMemcpy2D(a, 64, ptr::null(), 64, 16, 2, way));
        ask!(log, "right", cudaMemcpy2D(a, 64, b, 128, 16, 2, way));
        let got = to.load(log)?;
        log.bytes("bytes", &got[64..80], &pattern(N, 2)[128..144]);
        Ok(())
    });
    cases.alone("cudaIpcGetMemHandle/kinds of memory, opened in one process, closed", |log| {
        let block = Block::new(log, Kind::Device, 2 << 20)?;
        let (mut handle, mut there) = (cudaIpcMemHandle_t::default(), ptr::null_mut());
        ask!(log, "null", cudaIpcGetMemHandle(&raw mut handle, ptr::null_mut()));
        ask!(log, "device", cudaIpcGetMemHandle(&raw mut handle, block.ptr()));
        let flag = cudaIpcMemLazyEnablePeerAccess;
        ask!(log, "here", cudaIpcOpenMemHandle(&raw mut there, handle, flag));
        ask!(log, "no flags", cudaIpcOpenMemHandle(&raw mut there, handle, 0));
        ask!(log, "close memory of its own", cudaIpcCloseMemHandle(block.ptr()));
        let nothing = cudaIpcMemHandle_t::default();
        ask!(log, "of nothing", cudaIpcOpenMemHandle(&raw mut there, nothing, flag));
        Ok(())
    });
    cases.add("cudaMemcpyAsync/after an event of a held stream", |log| {
        let (held, on, mark) = (stream(log)?, stream(log)?, event(log)?);
        let (from, to) = (Block::with(log, Kind::Pinned, &[1; N])?, Block::new(log, Kind::Device, N)?);
        let gate = Gate::hold(log, held)?;
        need!(log, cudaEventRecord(mark, held));
        need!(log, cudaStreamWaitEvent(on, mark, 0));
        ask!(log, cudaMemcpyAsync(to.ptr(), from.ptr(), N, cudaMemcpyDefault, on));
        ask!(log, cudaStreamQuery(on));
        from.store(log, &[2; N])?;
        gate.open();
        ask!(log, cudaStreamSynchronize(on));
        let got = to.load(log)?;
        log.bytes("bytes", &got, &[2; N]);
        Ok(())
    });
    cases.alone("cudaImportExternalMemory/files that are none", |log| {
        let mut it = cudaExternalMemoryHandleDesc::default();
        let mut memory = ptr::null_mut();
        ask!(log, "no kind", cudaImportExternalMemory(&raw mut memory, &raw const it));
        it.type_ = cudaExternalMemoryHandleTypeOpaqueFd;
        it.handle.fd = -1;
        it.size = 4096;
        ask!(log, "no file", cudaImportExternalMemory(&raw mut memory, &raw const it));
        it.size = 0;
        ask!(log, "no size", cudaImportExternalMemory(&raw mut memory, &raw const it));
        ask!(log, "null", cudaImportExternalMemory(ptr::null_mut(), ptr::null()));
        ask!(log, "destroy null", cudaDestroyExternalMemory(ptr::null_mut()));
        Ok(())
    });
}

pub(super) fn add(cases: &mut Cases) {
    pools(cases);
    managed(cases);
    registered(cases);
    pointers(cases);
    symbols(cases);
    copies(cases);
}
