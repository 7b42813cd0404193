//! The runtime of kernels: a kernel launches kernels, copies and memsets, on streams of its own.
//!
//! Work that a kernel starts is part of the kernel's operation, which is complete only when all of it is. The
//! streams and events of a grid are those of the CUDA programming guide:
//!
//! - The NULL stream belongs to a block. Streams that a kernel creates belong to its grid.
//! - `cudaStreamFireAndForget` orders nothing. `cudaStreamTailLaunch` runs one after the other what was
//!   launched to it, once the grid and all other work of it are over.
//!
//! The late schedule begins no such work before the kernel is over, or has polled for long. Results and
//! errors of a call belong to the calling thread.
#![expect(unsafe_code, reason = "reads the arguments of launches, and writes text for kernels")]

use core::ffi::CStr;
use core::mem::offset_of;
use std::sync::Arc;

use super::copy::{Copy, End, Memory, Volume};
use super::device_env::DeviceEnv;
use super::fill::Fill;
use super::grid::Grid;
use super::names::OperationId;
use super::queue::Queue;
use super::work::Work;
use crate::device::attribute;
use crate::error::{self, Answer, Code};
use crate::exec::env::{Env as _, RuntimeAnswer, RuntimeCall};
use crate::exec::runtime::RuntimeFunction as Function;
use crate::exec::{Fault, Kernel, Launch, Program, Refused};
use crate::host_line::{HostLine, demangled};
use crate::memory::{Allocations, Kind};
use crate::module::registry::{KernelEntry, registry};
use crate::race::Origin;
use crate::shape::{LaunchShape, function_attributes, occupancy};
use crate::sys::*;

/// The version that `cudaRuntimeGetVersion` returns in kernels.
const VERSION: i32 = 6_000;
/// The name of allocations for the arguments of launches.
const LAUNCH: &str = "a launch by a kernel";
/// The handles of the streams that are always there. Those between stand for the NULL stream, too.
const NULL: u64 = 0;
const TAIL: u64 = 3;
const FORGET: u64 = 4;
/// Handles of streams and events are no addresses of anything.
const FIRST_HANDLE: u64 = 0x5EED_0000_0000;
/// So many launches of a grid divide its accesses into those before and after, if races are looked for.
pub(super) const MOST_PHASES: usize = 256;

/// The first address that may be one of memory: an H200 looks at none below.
const FIRST_ADDRESS: u64 = 1 << 12;

/// Memory that a kernel can pass on.
fn memory(address: u64) -> Answer<Memory> {
    if address < FIRST_ADDRESS || RuntimeCall::is_own_memory(address) {
        return Err(cudaErrorInvalidValue);
    }
    Ok(Memory::Known(address))
}

/// Ends the kernel if a call names an event that is none, as on an H200. Null is an error of the call, and so
/// is an event that was destroyed.
fn known_event(call: &RuntimeCall<'_>) -> Result<(), Refused> {
    let event = match call.function {
        Function::EventRecord | Function::EventDestroy => call.number(0),
        Function::StreamWaitEvent => call.number(1),
        _ => return Ok(()),
    };
    if event == 0 || event >= FIRST_HANDLE {
        return Ok(());
    }
    Err((Fault::ILLEGAL_ADDRESS, format!("{} of {event:#x}, which is no event", call.function.name())))
}

/// The copy that a call asks for; `None` if it has no bytes.
fn copy(call: &RuntimeCall<'_>) -> Answer<Option<Copy>> {
    let row = |n: usize| Volume::row(call.number(n));
    let plain = |n: usize| (call.number(n), 0, 0);
    let (to, from, volume, kind) = match call.function {
        Function::MemcpyAsync => (plain(0), plain(1), row(2), call.number(3)),
        Function::Memcpy2DAsync => {
            let volume = Volume { width: call.number(4), height: call.number(5), depth: 1 };
            let side = |n: usize| (call.number(n), call.number(n + 1), 0);
            (side(0), side(2), volume, call.number(6))
        }
        _ => {
            // `cudaMemcpy3DParms`: an array, a position and a pitched pointer for each side.
            let side = |at: usize| {
                let [array, x, y, z, start, pitch, _, rows] =
                    core::array::from_fn(|n| call.field(at + 8 * n));
                let slice = pitch.saturating_mul(rows);
                let rows = y.wrapping_mul(pitch).wrapping_add(z.wrapping_mul(slice));
                let first = start.wrapping_add(x).wrapping_add(rows);
                (array == 0).then_some((first, pitch, slice)).ok_or(cudaErrorInvalidValue)
            };
            let [width, height, depth] = [128, 136, 144].map(|at| call.field(at));
            (side(64)?, side(0)?, Volume { width, height, depth }, call.field(152) & u64::from(u32::MAX))
        }
    };
    if kind != u64::from(cudaMemcpyDeviceToDevice.0) && kind != u64::from(cudaMemcpyDefault.0) {
        return Err(cudaErrorInvalidMemcpyDirection);
    }
    if volume.is_empty() {
        return Ok(None);
    }
    let end = |(address, pitch, slice): (u64, u64, u64)| {
        if volume.height > 1 && pitch < volume.width {
            return Err(cudaErrorInvalidPitchValue);
        }
        Ok(End { memory: memory(address)?, pitch, slice })
    };
    Ok(Some(Copy { to: end(to)?, from: end(from)?, volume, kind: cudaMemcpyDefault }))
}

/// The memset that a call asks for; `None` if it has no bytes.
fn fill(call: &RuntimeCall<'_>) -> Answer<Option<Fill>> {
    let (address, pitch, slice, value, volume) = match call.function {
        Function::MemsetAsync => (call.number(0), 0, 0, call.number(1), Volume::row(call.number(2))),
        Function::Memset2DAsync => {
            let volume = Volume { width: call.number(3), height: call.number(4), depth: 1 };
            (call.number(0), call.number(1), 0, call.number(2), volume)
        }
        _ => {
            let [start, pitch, _, rows] = [0, 8, 16, 24].map(|at| call.part(0, at));
            let [width, height, depth] = [0, 8, 16].map(|at| call.part(2, at));
            let volume = Volume { width, height, depth };
            (start, pitch, pitch.saturating_mul(rows), call.number(1), volume)
        }
    };
    if volume.is_empty() {
        return Ok(None);
    }
    if volume.height > 1 && pitch < volume.width {
        return Err(cudaErrorInvalidValue);
    }
    memory(address)?;
    let [value, ..] = value.to_le_bytes();
    Ok(Some(Fill { address, pitch, slice, volume, value: [value, 0, 0, 0], element: 1 }))
}

impl DeviceEnv<'_> {
    /// Serves a call of the runtime by a thread.
    pub(super) fn serve(&mut self, call: &RuntimeCall<'_>) -> Result<RuntimeAnswer, Refused> {
        let who = (call.block, call.thread);
        let (mut output, mut shape) = (Vec::new(), None);
        let answer = match call.function {
            Function::GetParameterBuffer | Function::GetParameterBufferV2 => {
                let buffer = self.parameter_buffer(call)?;
                let buffer = buffer.map_err(|code| self.explain(call, code, None));
                return Ok(RuntimeAnswer { result: buffer.unwrap_or(0), output });
            }
            Function::GetErrorString | Function::GetErrorName => {
                let result = self.text(call.function, call.number(0));
                return Ok(RuntimeAnswer { result, output });
            }
            Function::GetLastError => return Ok(code_of(self.grid().errors.remove(&who))),
            Function::PeekAtLastError => return Ok(code_of(self.grid().errors.get(&who).copied())),
            Function::Free => match call.number(0) {
                0 => Ok(()),
                address if self.heap_free(address) => Ok(()),
                address => {
                    let code =
                        if address < FIRST_ADDRESS { Fault::ILLEGAL_ADDRESS } else { Fault::LAUNCH_FAILURE };
                    let what = "which no kernel has allocated or which is freed";
                    return Err((code, format!("cudaFree of {address:#x}, {what}")));
                }
            },
            Function::LaunchDevice | Function::LaunchDeviceV2 => self.launch(call, &mut shape)?,
            Function::MemcpyAsync | Function::Memcpy2DAsync | Function::Memcpy3DAsync => {
                copy(call).and_then(|copy| match copy {
                    Some(copy) => self.start(call, Work::Copy(Box::new(copy))),
                    None => Ok(()),
                })
            }
            Function::MemsetAsync | Function::Memset2DAsync | Function::Memset3DAsync => {
                fill(call).and_then(|fill| match fill {
                    Some(fill) => self.start(call, Work::Fill(Box::new(fill))),
                    None => Ok(()),
                })
            }
            Function::StreamDestroy
            | Function::StreamWaitEvent
            | Function::EventRecord
            | Function::EventDestroy => {
                known_event(call)?;
                self.order(call)
            }
            _ => self.query(call).map(|bytes| output = bytes),
        };
        if let Err(code) = answer {
            self.explain(call, code, shape);
        }
        let code = answer.err().unwrap_or(cudaSuccess);
        Ok(RuntimeAnswer { result: code.0.into(), output })
    }

    pub(super) fn grid(&mut self) -> &mut Grid {
        self.grid.get_or_insert_default()
    }

    /// Keeps an error of a call for its thread, and names it once for each place.
    fn explain(&mut self, call: &RuntimeCall<'_>, code: Code, shape: Option<LaunchShape>) {
        let grid = self.grid();
        grid.errors.insert((call.block, call.thread), code);
        if grid.told.insert(call.pc) {
            let program = call.program;
            let name = error::name(code).map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            let (kernel, place) = (demangled(&program.name), program.place(call.pc));
            let what = match call.function {
                _ if code == cudaErrorLaunchPendingCountExceeded => {
                    let most = self.most_pending();
                    format!("a tail of more than {most} launches (cudaLimitDevRuntimePendingLaunchCount)")
                }
                Function::LaunchDevice | Function::LaunchDeviceV2 => "a launch".to_owned(),
                function => function.name().to_owned(),
            };
            let shape = shape.map_or_else(String::new, |it: LaunchShape| {
                let ([x, y, z], [w, h, d]) = (it.grid, it.block);
                format!(" of ({x},{y},{z}) blocks of ({w},{h},{d}) threads and {} bytes", it.shared)
            });
            eprintln!("CUDA emulator: kernel {kernel}: {what}{shape} returns {name}{place}");
        }
    }

    /// A kernel of the caller's module by its address.
    fn kernel(&self, call: &RuntimeCall<'_>, function: u64) -> Result<(KernelEntry, Arc<Program>), Refused> {
        let found = registry().kernel_at(call.program.module, self.device, function);
        found.map_err(|_| (Fault::ILLEGAL_ADDRESS, format!("a launch of {function:#x}, where no kernel is")))
    }

    /// Gives a launch memory for its arguments. Its shape is checked later.
    fn parameter_buffer(&mut self, call: &RuntimeCall<'_>) -> Result<Answer<u64>, Refused> {
        let (bytes, launch) = if call.function == Function::GetParameterBufferV2 {
            let function = call.number(0);
            let shared = usize::try_from(call.number(3)).unwrap_or(usize::MAX);
            let (grid, block) = (call.dimensions(1), call.dimensions(2));
            let bytes = self.kernel(call, function)?.1.param_bytes;
            let shape = LaunchShape { grid, block, shared, ..LaunchShape::default() };
            (u64::from(bytes), Some((function, shape)))
        } else {
            (call.number(1), None)
        };
        let buffer = self.allocations.allocate(self.device, bytes.max(1), Kind::Heap, LAUNCH);
        if let Ok(buffer) = buffer {
            self.grid().buffers.insert(buffer, launch);
        }
        Ok(buffer)
    }

    /// The launches that may be pending.
    fn most_pending(&self) -> usize {
        self.limits.get(cudaLimitDevRuntimePendingLaunchCount).unwrap_or(0)
    }

    /// Launches a kernel whose arguments were written. Puts its shape into `asked`.
    fn launch(&mut self, call: &RuntimeCall<'_>, asked: &mut Option<LaunchShape>) -> Result<Answer, Refused> {
        let buffer = call.number(usize::from(call.function == Function::LaunchDevice));
        let Some(known) = self.grid().buffers.remove(&buffer) else {
            let what =
                format!("a launch with arguments at {buffer:#x}, which cudaGetParameterBuffer did not give");
            return Err((Fault::ILLEGAL_ADDRESS, what));
        };
        let (function, shape) = known.unwrap_or_else(|| {
            let shared = usize::try_from(call.number(4)).unwrap_or(usize::MAX);
            let (grid, block) = (call.dimensions(2), call.dimensions(3));
            (call.number(0), LaunchShape { grid, block, shared, ..LaunchShape::default() })
        });
        *asked = Some(shape);
        let (entry, program) = self.kernel(call, function)?;
        let mut params = Vec::new();
        if let Some(it) = self.allocations.at(buffer) {
            let bytes = usize::try_from(it.size.min(program.param_bytes.into())).unwrap_or(0);
            // SAFETY: the allocation is live and has at least so many bytes; no kernel runs meanwhile.
            params.extend_from_slice(unsafe { core::slice::from_raw_parts(it.host.cast_const(), bytes) });
        }
        params.resize(usize::try_from(program.param_bytes).unwrap_or(0), 0);
        self.allocations.remove(buffer, LAUNCH);
        Ok(match shape.launch(&program, &entry, self.limits) {
            Ok(launch) => self.start(call, Work::Task(Box::new(Kernel::new(Launch { params, ..launch })))),
            Err(code) if code == cudaErrorInvalidValue => Err(cudaErrorInvalidConfiguration),
            Err(code) => Err(code),
        })
    }

    /// Puts work on the stream that is the call's last argument.
    fn start(&mut self, call: &RuntimeCall<'_>, work: Work) -> Answer {
        let stream = call.arguments.len().checked_sub(1).map_or(NULL, |last| call.number(last));
        let by = caller(call);
        let origin = Origin { call: call.function.name(), kernel: work.kernel(), by, ..Origin::default() };
        if stream == TAIL {
            // All other work may have begun by now.
            if self.grid().tail.len() >= self.most_pending() {
                return Err(cudaErrorLaunchPendingCountExceeded);
            }
            self.grid().tail.push((origin, work));
            return Ok(());
        }
        let mut before = if stream == FORGET { Vec::new() } else { self.waits(call, stream)?.clone() };
        self.note_destroyed(call, stream);
        self.divide(call.program);
        before.extend(self.grid().phase);
        let id = self.queue.push_within(self.id, self.device, origin, work, &before);
        if stream != FORGET {
            *self.waits(call, stream)? = vec![id];
        }
        self.grid().children.push(id);
        Ok(())
    }

    /// The operations that the next one on a stream comes after.
    fn waits(&mut self, call: &RuntimeCall<'_>, stream: u64) -> Answer<&mut Vec<OperationId>> {
        let grid = self.grid();
        match stream {
            NULL..TAIL => Ok(grid.blocks.entry(call.block).or_default()),
            _ => grid.streams.get_mut(&stream).ok_or(cudaErrorInvalidValue),
        }
    }

    /// Names a call on a stream that was destroyed. Devices run its work nevertheless.
    fn note_destroyed(&mut self, call: &RuntimeCall<'_>, stream: u64) {
        let grid = self.grid();
        if grid.destroyed.contains(&stream) && grid.told.insert(call.pc) {
            let (kernel, place) = (demangled(&call.program.name), call.program.place(call.pc));
            let name = call.function.name();
            eprintln!("CUDA emulator: kernel {kernel}: {name} with a stream that was destroyed{place}");
        }
    }

    /// Ends a phase of the kernel, if races are looked for: what starts now comes after its accesses so far,
    /// and not after later ones.
    pub(super) fn divide(&mut self, program: &Arc<Program>) {
        let Some(touched) = &mut self.touched else { return };
        let grid = self.grid.get_or_insert_default();
        if grid.phases >= MOST_PHASES {
            return;
        }
        let accesses = core::mem::take(touched).spans(Some(program));
        grid.divide(self.queue, self.id);
        if let Some(phase) = grid.phase {
            self.queue.note_kernel(self.allocations, phase, accesses, None);
        }
    }

    /// Serves the functions of streams and events that order work.
    fn order(&mut self, call: &RuntimeCall<'_>) -> Answer {
        let (first, second) = (call.number(0), call.number(1));
        match call.function {
            Function::StreamDestroy => match first {
                stream if self.grid().streams.contains_key(&stream) => {
                    self.note_destroyed(call, stream);
                    self.grid().destroyed.insert(stream);
                    Ok(())
                }
                _ => Err(cudaErrorInvalidValue),
            },
            Function::EventDestroy => {
                self.grid().events.remove(&first).map(drop).ok_or(cudaErrorInvalidValue)
            }
            Function::StreamWaitEvent => {
                let event = self.grid().events.get(&second).cloned().ok_or(cudaErrorInvalidValue)?;
                self.waits(call, first)?.extend(event);
                Ok(())
            }
            _ => {
                let moment = self.waits(call, second)?.clone();
                let event = self.grid().events.get_mut(&first).ok_or(cudaErrorInvalidValue)?;
                *event = moment;
                Ok(())
            }
        }
    }

    /// Serves the functions that only have a result: the bytes that go to where the first argument points.
    fn query(&mut self, call: &RuntimeCall<'_>) -> Answer<Vec<u8>> {
        let word = |value: i32| Ok(value.to_le_bytes().to_vec());
        let wide = |value: u64| Ok(value.to_le_bytes().to_vec());
        let flags = u32::try_from(call.number(1)).unwrap_or(u32::MAX);
        match call.function {
            Function::StreamCreateWithFlags => {
                if flags & !cudaStreamNonBlocking != 0 {
                    return Err(cudaErrorInvalidValue);
                }
                let handle = self.queue.handle(FIRST_HANDLE);
                self.grid().streams.insert(handle, Vec::new());
                wide(handle)
            }
            Function::EventCreateWithFlags => {
                if flags != cudaEventDisableTiming {
                    return Err(cudaErrorInvalidValue);
                }
                // The limit of launches is half of that of events.
                if self.grid().events.len() >= 2 * self.most_pending() {
                    return Err(cudaErrorMemoryAllocation);
                }
                let handle = self.queue.handle(FIRST_HANDLE);
                self.grid().events.insert(handle, Vec::new());
                wide(handle)
            }
            Function::Malloc => {
                let bytes = call.number(1);
                if bytes == 0 {
                    return Err(cudaErrorInvalidValue);
                }
                let address = self.allocations.heap_malloc(self.device, bytes);
                wide(address.ok_or(cudaErrorMemoryAllocation)?)
            }
            Function::GetDevice => word(i32::try_from(self.device).unwrap_or(0)),
            Function::GetDeviceCount => word(i32::try_from(self.devices).unwrap_or(0)),
            Function::RuntimeGetVersion => word(VERSION),
            Function::DeviceGetCacheConfig | Function::DeviceGetSharedMemConfig => word(0),
            Function::DeviceGetAttribute => {
                let device = usize::try_from(call.number(2)).unwrap_or(usize::MAX);
                if device >= self.devices {
                    return Err(cudaErrorInvalidDevice);
                }
                word(attribute(cudaDeviceAttr(flags), device).ok_or(cudaErrorInvalidValue)?)
            }
            Function::DeviceGetLimit => {
                let limit = cudaLimit(flags);
                if limit == cudaLimitMallocHeapSize {
                    return wide(self.allocations.heap_limit(self.device));
                }
                let value = self.limits.get(limit).ok_or(cudaErrorUnsupportedLimit)?;
                wide(u64::try_from(value).unwrap_or(0))
            }
            Function::FuncGetAttributes if call.number(1) == 0 => Err(cudaErrorInvalidValue),
            Function::FuncGetAttributes => {
                let (entry, program) =
                    registry().kernel_at(call.program.module, self.device, call.number(1))?;
                let attributes = function_attributes(&program, &entry);
                // Devices write the members of the first version only.
                let size = offset_of!(cudaFuncAttributes, maxDynamicSharedSizeBytes);
                // SAFETY: the structure is made of integers, and has so many bytes; padding there is none.
                let bytes =
                    unsafe { core::slice::from_raw_parts((&raw const attributes).cast::<u8>(), size) };
                Ok(bytes.to_vec())
            }
            Function::OccupancyMaxActiveBlocksPerMultiprocessor
            | Function::OccupancyMaxActiveBlocksPerMultiprocessorWithFlags => {
                let (entry, program) =
                    registry().kernel_at(call.program.module, self.device, call.number(1))?;
                let block = i32::try_from(call.number(2)).unwrap_or(-1);
                word(occupancy(&program, &entry, block, call.number(3))?)
            }
            _ => Err(cudaErrorInvalidDeviceFunction),
        }
    }

    /// The text or the name of an error, in memory that kernels can read; zero if there is none.
    fn text(&mut self, function: Function, code: u64) -> u64 {
        let code = Code(u32::try_from(code).unwrap_or(u32::MAX));
        let find: fn(Code) -> Option<&'static CStr> =
            if function == Function::GetErrorName { error::name } else { error::text };
        let text = find(code).unwrap_or(c"unrecognized error code").to_bytes_with_nul();
        let key = (self.device, text);
        if let Some(&at) = self.queue.texts.get(&key).filter(|at| self.allocations.at(**at).is_some()) {
            return at;
        }
        let bytes = u64::try_from(text.len()).unwrap_or(1);
        let Ok(at) = self.allocations.allocate(self.device, bytes, Kind::Symbol, function.name()) else {
            return 0;
        };
        if let Some(it) = self.allocations.at(at) {
            // SAFETY: the allocation was just made, of as many bytes as the text has.
            unsafe { it.host.copy_from_nonoverlapping(text.as_ptr(), text.len()) };
        }
        self.queue.texts.insert(key, at);
        at
    }
}

/// The answer that is a code.
fn code_of(code: Option<Code>) -> RuntimeAnswer {
    RuntimeAnswer { result: code.unwrap_or(cudaSuccess).0.into(), output: Vec::new() }
}

/// The kernel and the place of a call.
fn caller(call: &RuntimeCall<'_>) -> String {
    let program = call.program;
    format!("kernel {}{}", demangled(&program.name), program.place(call.pc))
}

impl Grid {
    /// Begins the next phase of a kernel that has started work: an operation for its next accesses.
    pub(super) fn divide(&mut self, queue: &mut Queue, whole: OperationId) {
        let mut before = core::mem::take(&mut self.acquired);
        before.extend(self.phase);
        self.phase = queue.push_phase(whole, &before, self.early.take());
        self.phases += 1;
    }

    /// The operation that the last accesses of a kernel are of, if races are looked for.
    pub(super) fn last_phase(&mut self, queue: &mut Queue, whole: OperationId) -> OperationId {
        let is_one = self.phase.is_none() && self.tail.is_empty() && self.acquired.is_empty();
        if is_one && self.early.is_none() {
            return whole;
        }
        self.divide(queue, whole);
        self.phase.unwrap_or(whole)
    }

    /// Ends a grid. Returns an operation that comes after all of its work, if there is any.
    pub(super) fn end(
        self,
        queue: &mut Queue,
        allocations: &mut Allocations,
        (whole, device): (OperationId, usize),
        failed: bool,
    ) -> Option<OperationId> {
        for buffer in self.buffers.into_keys() {
            allocations.remove(buffer, LAUNCH);
        }
        if failed || self.children.is_empty() && self.tail.is_empty() {
            return None;
        }
        let mut before = self.children;
        before.extend(self.phase);
        for (origin, work) in self.tail {
            let id = queue.push_within(whole, device, origin, work, &before);
            before = vec![id];
        }
        let origin = Origin { call: "a kernel", line: HostLine::NONE, ..Origin::default() };
        Some(queue.push_within(whole, device, origin, Work::Nothing, &before))
    }
}
