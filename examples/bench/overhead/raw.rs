//! The operations as calls of the C functions: the cost of Rust without the safe layer.
#![expect(unsafe_code, reason = "calls C")]

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, Thread};

use cuda_kernels::kernels;
use cuda_safe::{Result, check, sys};

use crate::things::Handles;
use crate::turns::Plan;
use crate::{
    APART, BYTES, COPIES, COUNTER, LAYER_ROWS, LAYERS, MEBIBYTE, PITCH, ROW, ROWS, SMALL, SOLID,
    SOLID_LAYERS, SOLID_PITCH, SOLID_ROW, SOLID_ROWS, SOLIDS,
};

const ROW_BYTES: usize = ROW * size_of::<f32>();

/// What a callback wakes.
struct Sleeper {
    thread: Thread,
    done: AtomicBool,
}

unsafe extern "C" fn wake(_: sys::cudaStream_t, _: sys::cudaError_t, data: *mut c_void) {
    // SAFETY: the pointer is to a sleeper that lives until `done` is set.
    let sleeper = unsafe { &*data.cast_const().cast::<Sleeper>() };
    // After the flag is set, the sleeper may be gone.
    let thread = sleeper.thread.clone();
    sleeper.done.store(true, Ordering::Release);
    thread.unpark();
}

unsafe extern "C" fn count_up(counter: *mut c_void) {
    // SAFETY: the pointer is to the static counter, as passed below.
    let counter = unsafe { &*counter.cast_const().cast::<AtomicU32>() };
    counter.fetch_add(1, Ordering::SeqCst);
}

/// Returns the parameters of a copy of layers of rows.
fn volume(to: *mut f32, from: *mut f32) -> sys::cudaMemcpy3DParms {
    let extent = sys::cudaExtent { width: ROW_BYTES, height: LAYER_ROWS, depth: LAYERS };
    parameters([to, from], PITCH, extent, sys::cudaMemcpyDeviceToDevice)
}

/// Returns the parameters of a copy between memory of one pitch.
fn parameters(
    [to, from]: [*mut f32; 2],
    pitch: usize,
    extent: sys::cudaExtent,
    kind: sys::cudaMemcpyKind,
) -> sys::cudaMemcpy3DParms {
    let corner = sys::cudaPos { x: 0, y: 0, z: 0 };
    let pitched = |ptr: *mut f32| sys::cudaPitchedPtr {
        ptr: ptr.cast(),
        pitch,
        xsize: extent.width,
        ysize: extent.height,
    };
    sys::cudaMemcpy3DParms {
        srcArray: null_mut(),
        srcPos: corner,
        srcPtr: pitched(from),
        dstArray: null_mut(),
        dstPos: corner,
        dstPtr: pitched(to),
        extent,
        kind,
    }
}

/// A batch of copies, whose lists are made once.
struct Batch {
    to: Vec<*mut c_void>,
    from: Vec<*const c_void>,
    sizes: Vec<usize>,
}

impl Batch {
    fn new(to: *mut f32, from: *mut f32) -> Self {
        let parts = |start: *mut f32| (0..COPIES).map(move |copy| start.wrapping_add(copy * APART));
        Self {
            to: parts(to).map(<*mut f32>::cast).collect(),
            from: parts(from).map(|part| part.cast_const().cast()).collect(),
            sizes: vec![SMALL * size_of::<f32>(); COPIES],
        }
    }

    /// Submits the copies to the stream, in one call if the runtime has one that takes the lists
    /// unchanged.
    ///
    /// # Safety
    /// - The stream is live.
    /// - The memory has the parts and outlives the copies.
    unsafe fn enqueue(&self, stream: sys::cudaStream_t) -> Result<()> {
        #[cfg(cudart_13_0)]
        {
            let order = sys::cudaMemcpySrcAccessOrderStream;
            let mut attributes = sys::cudaMemcpyAttributes { srcAccessOrder: order, ..Default::default() };
            let (to, from, sizes) = (self.to.as_ptr(), self.from.as_ptr(), self.sizes.as_ptr());
            let mut start = 0;
            // SAFETY: three lists have one entry for each copy, as the caller promises, and two have one
            // element.
            unsafe {
                check!(cudaMemcpyBatchAsync(
                    to,
                    from,
                    sizes,
                    COPIES,
                    &raw mut attributes,
                    &raw mut start,
                    1,
                    stream
                ))
            }
        }
        #[cfg(not(cudart_13_0))]
        {
            for ((to, from), bytes) in self.to.iter().zip(&self.from).zip(&self.sizes) {
                // SAFETY: the caller's duty.
                unsafe { check!(cudaMemcpyAsync(*to, *from, *bytes, sys::cudaMemcpyHostToDevice, stream)) }?;
            }
            Ok(())
        }
    }
}

/// A batch of copies of layers of rows, whose list is made once.
struct Batch3d {
    #[cfg(cudart_12_8)]
    operations: Vec<sys::cudaMemcpy3DBatchOp>,
    #[cfg(not(cudart_12_8))]
    operations: Vec<sys::cudaMemcpy3DParms>,
}

impl Batch3d {
    fn new(to: *mut f32, from: *mut f32) -> Self {
        let extent =
            sys::cudaExtent { width: SOLID_ROW * size_of::<f32>(), height: SOLID_ROWS, depth: SOLID_LAYERS };
        let copy = |copy| {
            let (to, from) = (to.wrapping_add(copy * SOLID), from.wrapping_add(copy * SOLID));
            #[cfg(cudart_12_8)]
            return sys::cudaMemcpy3DBatchOp {
                src: operand(from),
                dst: operand(to),
                extent,
                srcAccessOrder: sys::cudaMemcpySrcAccessOrderStream,
                ..Default::default()
            };
            #[cfg(not(cudart_12_8))]
            parameters([to, from], SOLID_PITCH, extent, sys::cudaMemcpyHostToDevice)
        };
        Self { operations: (0..SOLIDS).map(copy).collect() }
    }

    /// Submits the copies to the stream, in one call if the runtime has one.
    ///
    /// # Safety
    /// - The stream is live.
    /// - The memory has the parts and outlives the copies.
    unsafe fn enqueue(&mut self, stream: sys::cudaStream_t) -> Result<()> {
        #[cfg(cudart_13_0)]
        // SAFETY: the list has one entry for each copy, as the caller promises.
        unsafe {
            check!(cudaMemcpy3DBatchAsync(SOLIDS, self.operations.as_mut_ptr(), 0, stream))
        }
        #[cfg(all(cudart_12_8, not(cudart_13_0)))]
        {
            let (operations, mut failed) = (self.operations.as_mut_ptr(), 0);
            // SAFETY: as above, and the index is a live variable, which the call may fill.
            unsafe { check!(cudaMemcpy3DBatchAsync(SOLIDS, operations, &raw mut failed, 0, stream)) }
        }
        #[cfg(not(cudart_12_8))]
        {
            for parameters in &self.operations {
                // SAFETY: the caller's duty.
                unsafe { check!(cudaMemcpy3DAsync(&raw const *parameters, stream)) }?;
            }
            Ok(())
        }
    }
}

/// Returns one side of such a copy.
#[cfg(cudart_12_8)]
fn operand(pointer: *mut f32) -> sys::cudaMemcpy3DOperand {
    let mut operand =
        sys::cudaMemcpy3DOperand { type_: sys::cudaMemcpyOperandTypePointer, ..Default::default() };
    operand.op.ptr = sys::cudaMemcpy3DOperand__bindgen_ty_1__bindgen_ty_1 {
        ptr: pointer.cast(),
        rowLength: SOLID_PITCH,
        layerHeight: SOLID_ROWS,
        locHint: sys::cudaMemLocation::default(),
    };
    operand
}

/// Runs the plan with an operation. Does nothing if there is no operation of that name.
pub(crate) fn measure(operation: &str, plan: Plan<'_>, handles: Handles) -> Result<()> {
    let Handles {
        stream,
        second,
        event,
        other,
        pool,
        exec,
        mut numbers,
        mut a,
        mut b,
        mut c,
        pinned,
        pageable,
    } = handles;
    let mut count = 0_u32;
    let (one, warp) = (sys::dim3 { x: 1, y: 1, z: 1 }, sys::dim3 { x: 32, y: 1, z: 1 });
    let (add_one, vector_add) = (kernels::add_one.as_raw(), kernels::vector_add.as_raw());
    // In all of them, the handles are live and on one device, and each memory has the given bytes.
    // Enqueued work has ended before another side uses the memory or anything is dropped, because every
    // batch ends with a synchronisation.
    match operation {
        "launch_two" => plan.time(|| {
            let mut values: [*mut c_void; 2] = [(&raw mut numbers).cast(), (&raw mut count).cast()];
            // SAFETY: two values of the kernel's two types; with a count of zero the kernel touches
            // nothing.
            unsafe { check!(cudaLaunchKernel(add_one, one, warp, values.as_mut_ptr(), 0, stream)) }
        }),
        "launch_three" | "launch_proven" => plan.time(|| {
            let mut values: [*mut c_void; 4] =
                [(&raw mut a).cast(), (&raw mut b).cast(), (&raw mut c).cast(), (&raw mut count).cast()];
            // SAFETY: four values of the kernel's four types; with a count of zero the kernel touches
            // nothing.
            unsafe { check!(cudaLaunchKernel(vector_add, one, warp, values.as_mut_ptr(), 0, stream)) }
        }),
        // SAFETY: see above.
        "event_record" => plan.time(|| unsafe { check!(cudaEventRecord(event, stream)) }),
        // SAFETY: see above.
        "event_query" => plan.time(|| unsafe { check!(cudaEventQuery(event)) }),
        "event_create" => plan.time(|| {
            let mut created = null_mut();
            // SAFETY: the pointer is to a live variable, which the call fills.
            unsafe { check!(cudaEventCreateWithFlags(&raw mut created, sys::cudaEventDisableTiming)) }?;
            // SAFETY: just made, and nothing uses it.
            unsafe { check!(cudaEventDestroy(created)) }
        }),
        // SAFETY: see above.
        "synchronise" => plan.time(|| unsafe { check!(cudaStreamSynchronize(stream)) }),
        "host_function" => plan.time(|| {
            let counter = (&raw const COUNTER).cast_mut().cast();
            // SAFETY: see above; the function takes a pointer to the counter, which is static.
            unsafe { check!(cudaLaunchHostFunc(stream, Some(count_up), counter)) }
        }),
        "wait_blocking" => plan.time(|| {
            // SAFETY: see above.
            unsafe { check!(cudaMemsetAsync(a.cast(), 0, BYTES, stream)) }?;
            // SAFETY: see above.
            unsafe { check!(cudaStreamSynchronize(stream)) }
        }),
        "wait_woken" => plan.time(|| {
            let sleeper = Sleeper { thread: thread::current(), done: AtomicBool::new(false) };
            // SAFETY: see above.
            unsafe { check!(cudaMemsetAsync(a.cast(), 0, BYTES, stream)) }?;
            let data = (&raw const sleeper).cast_mut().cast();
            // SAFETY: see above; the sleeper lives until the callback has woken the thread.
            unsafe { check!(cudaStreamAddCallback(stream, Some(wake), data, 0)) }?;
            while !sleeper.done.load(Ordering::Acquire) {
                thread::park();
            }
            Ok(())
        }),
        "wait_polled" => plan.time(|| {
            // SAFETY: see above.
            unsafe { check!(cudaMemsetAsync(a.cast(), 0, BYTES, stream)) }?;
            loop {
                // SAFETY: see above.
                match unsafe { sys::cudaStreamQuery(stream) } {
                    sys::cudaErrorNotReady => {}
                    code => return cuda_safe::Error::check("cudaStreamQuery", code),
                }
            }
        }),
        "alloc_async" | "alloc_drop" => plan.time(|| {
            let mut memory = null_mut();
            // SAFETY: the pointer is to a live variable, which the call fills.
            unsafe { check!(cudaMallocAsync(&raw mut memory, BYTES, stream)) }?;
            // SAFETY: just allocated on that stream, and nothing uses it.
            unsafe { check!(cudaFreeAsync(memory, stream)) }
        }),
        "alloc_pool" => plan.time(|| {
            let mut memory = null_mut();
            // SAFETY: the pointer is to a live variable, which the call fills, and the pool is live.
            unsafe { check!(cudaMallocFromPoolAsync(&raw mut memory, BYTES, pool, stream)) }?;
            // SAFETY: just allocated on that stream, and nothing uses it.
            unsafe { check!(cudaFreeAsync(memory, stream)) }
        }),
        "alloc" => plan.time(|| {
            let mut memory = null_mut();
            // SAFETY: the pointer is to a live variable, which the call fills.
            unsafe { check!(cudaMalloc(&raw mut memory, MEBIBYTE)) }?;
            // SAFETY: just allocated, and nothing uses it.
            unsafe { check!(cudaFree(memory)) }
        }),
        // SAFETY: see above.
        "h2d_pinned" => plan.time(|| unsafe {
            check!(cudaMemcpyAsync(a.cast(), pinned.cast(), BYTES, sys::cudaMemcpyHostToDevice, stream))
        }),
        // SAFETY: see above; the source lives until then, too.
        "h2d_scope" => plan.time(|| unsafe {
            check!(cudaMemcpyAsync(a.cast(), pageable.cast(), BYTES, sys::cudaMemcpyHostToDevice, stream))
        }),
        // SAFETY: see above.
        "h2d_pageable" => plan.time(|| unsafe {
            check!(cudaMemcpy(a.cast(), pageable.cast(), BYTES, sys::cudaMemcpyHostToDevice))
        }),
        // SAFETY: see above.
        "d2h_pageable" => plan.time(|| unsafe {
            check!(cudaMemcpy(pageable.cast(), a.cast(), BYTES, sys::cudaMemcpyDeviceToHost))
        }),
        // SAFETY: see above.
        "d2d" => plan.time(|| unsafe {
            check!(cudaMemcpyAsync(b.cast(), a.cast(), BYTES, sys::cudaMemcpyDeviceToDevice, stream))
        }),
        "plane" => plan.time(|| {
            let (to, from, kind) = (b.cast(), a.cast(), sys::cudaMemcpyDeviceToDevice);
            // SAFETY: see above.
            unsafe { check!(cudaMemcpy2DAsync(to, PITCH, from, PITCH, ROW_BYTES, ROWS, kind, stream)) }
        }),
        "plane_pinned" => plan.time(|| {
            let (to, from, kind) = (a.cast(), pinned.cast(), sys::cudaMemcpyHostToDevice);
            // SAFETY: see above.
            unsafe { check!(cudaMemcpy2DAsync(to, PITCH, from, PITCH, ROW_BYTES, ROWS, kind, stream)) }
        }),
        "volume" => {
            let parameters = volume(b, a);
            // SAFETY: see above; the parameters live during the call.
            plan.time(|| unsafe { check!(cudaMemcpy3DAsync(&raw const parameters, stream)) })
        }
        "batch" => {
            let batch = Batch::new(b, pinned);
            // SAFETY: see above.
            plan.time(|| unsafe { batch.enqueue(stream) })
        }
        "batch_3d" => {
            let mut batch = Batch3d::new(b, pinned);
            // SAFETY: see above.
            plan.time(|| unsafe { batch.enqueue(stream) })
        }
        // SAFETY: see above.
        "memset" => plan.time(|| unsafe { check!(cudaMemsetAsync(a.cast(), 0, BYTES, stream)) }),
        // SAFETY: see above; the graph owns its memory.
        "graph" => plan.time(|| unsafe { check!(cudaGraphLaunch(exec, stream)) }),
        "switch" | "switch_by_hand" => plan.time(|| {
            for (here, there, event) in [(stream, second, event), (second, stream, other)] {
                // SAFETY: see above.
                unsafe { check!(cudaMemsetAsync(a.cast(), 0, BYTES, here)) }?;
                // SAFETY: see above.
                unsafe { check!(cudaEventRecord(event, here)) }?;
                // SAFETY: see above.
                unsafe { check!(cudaStreamWaitEvent(there, event, 0)) }?;
            }
            Ok(())
        }),
        "round_trip" => plan.time(|| {
            // SAFETY: see above.
            unsafe {
                check!(cudaMemcpyAsync(a.cast(), pinned.cast(), BYTES, sys::cudaMemcpyHostToDevice, stream))
            }?;
            // SAFETY: see above.
            unsafe {
                check!(cudaMemcpyAsync(pinned.cast(), a.cast(), BYTES, sys::cudaMemcpyDeviceToHost, stream))
            }?;
            // SAFETY: see above.
            unsafe { check!(cudaStreamSynchronize(stream)) }
        }),
        _ => Ok(()),
    }
}
