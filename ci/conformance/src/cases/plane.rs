//! `cudaMemcpy2D` and the copies to, from and between arrays of two dimensions.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::*;

use super::linear::{WAYS, promised};
use crate::case::{Cases, Change};
use crate::gate::Gate;
use crate::log::{Log, Outcome, Setup, ask, need};
use crate::memory::{Block, Kind, pattern};

const PITCH: usize = 128;
const WIDTH: usize = 100;
const HEIGHT: usize = 20;
const N: usize = PITCH * HEIGHT;

/// The arguments of `cudaMemcpy2D`, for a case to spoil.
#[derive(Clone, Copy)]
struct Plane {
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    way: cudaMemcpyKind,
}

impl Plane {
    /// All rows.
    fn whole(to: Block, from: Block, way: cudaMemcpyKind) -> Self {
        Self {
            to: to.ptr(),
            to_pitch: PITCH,
            from: from.ptr(),
            from_pitch: PITCH,
            width: WIDTH,
            height: HEIGHT,
            way,
        }
    }

    fn copy(self, log: &mut Log, blocking: bool) {
        let Self { to, to_pitch, from, from_pitch, width, height, way } = self;
        if blocking {
            ask!(log, cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, way));
        } else {
            ask!(log, cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, way, ptr::null_mut()));
        }
    }
}

fn pitched(cases: &mut Cases, blocking: bool) {
    let api = if blocking { "cudaMemcpy2D" } else { "cudaMemcpy2DAsync" };
    for (way, which, to, from) in WAYS {
        for (what, width, height) in [
            ("all rows", WIDTH, HEIGHT),
            ("no width", 0, HEIGHT),
            ("no height", WIDTH, 0),
            ("neither", 0, 0),
            ("one byte", 1, 1),
        ] {
            cases.add(format!("{api}/{which}, {what}"), move |log| {
                let (source, old) = (pattern(N, 1), pattern(N, 2));
                let (d, s) = (Block::with(log, to, &old)?, Block::with(log, from, &source)?);
                let plane = Plane { width, height, ..Plane::whole(d, s, way) };
                plane.copy(log, blocking);
                ask!(log, cudaDeviceSynchronize());
                let mut want = old.clone();
                for row in 0..height {
                    let line = row * PITCH..row * PITCH + width;
                    want[line.clone()].copy_from_slice(&source[line]);
                }
                d.compare(log, "all bytes", &want)
            });
        }
        let changes: [(&str, Change<Plane>); 9] = [
            ("destination null", |p| p.to = ptr::null_mut()),
            ("source null", |p| p.from = ptr::null()),
            ("destination pitch under the width", |p| p.to_pitch = WIDTH - 1),
            ("source pitch under the width", |p| p.from_pitch = WIDTH - 1),
            ("source pitch 0", |p| p.from_pitch = 0),
            ("destination pitch 0", |p| p.to_pitch = 0),
            ("width without end", |p| p.width = usize::MAX),
            ("no direction", |p| p.way = cudaMemcpyKind(100)),
            ("no direction and no width", |p| (p.way, p.width) = (cudaMemcpyKind(100), 0)),
        ];
        for (what, change) in changes {
            // A host side that is null or endless faults in the process itself.
            if way == cudaMemcpyHostToHost && (what.ends_with("null") || what.ends_with("end")) {
                continue;
            }
            cases.add(format!("{api}/{which}, {what}"), move |log| {
                let (d, s) = (Block::new(log, to, N)?, Block::new(log, from, N)?);
                let mut plane = Plane::whole(d, s, way);
                change(&mut plane);
                plane.copy(log, blocking);
                ask!(log, cudaDeviceSynchronize());
                Ok(())
            });
        }
        if !promised(to, from, blocking) {
            continue;
        }
        cases.alone(format!("{api}/{which}, waits for the held legacy stream"), move |log| {
            let (d, s) = (Block::new(log, to, N)?, Block::new(log, from, N)?);
            let gate = Gate::hold(log, ptr::null_mut())?;
            let plane = Plane::whole(d, s, way);
            gate.waits(log, |log| plane.copy(log, blocking));
            ask!(log, cudaDeviceSynchronize());
            Ok(())
        });
    }
    cases.add(format!("{api}/device to host, two pitches and a corner"), move |log| {
        let (source, old) = (pattern(N, 1), pattern(N, 2));
        let (d, s) = (Block::with(log, Kind::Pinned, &old)?, Block::with(log, Kind::Device, &source)?);
        let plane = Plane {
            to: d.at(7),
            to_pitch: 33,
            from: s.at(2 * PITCH + 11),
            from_pitch: PITCH,
            width: 31,
            height: 9,
            way: cudaMemcpyDeviceToHost,
        };
        plane.copy(log, blocking);
        ask!(log, cudaDeviceSynchronize());
        let mut want = old;
        for row in 0..9 {
            let from = (row + 2) * PITCH + 11;
            want[7 + row * 33..7 + row * 33 + 31].copy_from_slice(&source[from..from + 31]);
        }
        d.compare(log, "all bytes", &want)
    });
}

/// An array of bytes.
pub(super) fn array(log: &mut Log, width: usize, height: usize) -> Result<cudaArray_t, Setup> {
    // SAFETY: takes numbers.
    let format = unsafe { cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned) };
    let mut array = ptr::null_mut();
    need!(log, cudaMallocArray(&raw mut array, &raw const format, width, height, 0));
    Ok(array)
}

/// The arguments of a copy between rows and an array.
#[derive(Clone, Copy)]
struct Rows {
    array: cudaArray_t,
    column: usize,
    row: usize,
    memory: *mut c_void,
    pitch: usize,
    width: usize,
    height: usize,
    way: cudaMemcpyKind,
}

impl Rows {
    fn copy(self, log: &mut Log, to_array: bool, blocking: bool) {
        let Self { array, column, row, memory, pitch, width, height, way } = self;
        let on = ptr::null_mut();
        match (to_array, blocking) {
            (true, true) => {
                ask!(log, cudaMemcpy2DToArray(array, column, row, memory, pitch, width, height, way))
            }
            (true, false) => {
                ask!(log, cudaMemcpy2DToArrayAsync(array, column, row, memory, pitch, width, height, way, on))
            }
            (false, true) => {
                ask!(log, cudaMemcpy2DFromArray(memory, pitch, array, column, row, width, height, way))
            }
            (false, false) => ask!(
                log,
                cudaMemcpy2DFromArrayAsync(memory, pitch, array, column, row, width, height, way, on)
            ),
        };
    }
}

fn arrays(cases: &mut Cases, to_array: bool, blocking: bool) {
    let api = match (to_array, blocking) {
        (true, true) => "cudaMemcpy2DToArray",
        (true, false) => "cudaMemcpy2DToArrayAsync",
        (false, true) => "cudaMemcpy2DFromArray",
        (false, false) => "cudaMemcpy2DFromArrayAsync",
    };
    for kind in [Kind::Pageable, Kind::Pinned, Kind::Device] {
        let way = match (kind == Kind::Device, to_array) {
            (true, _) => cudaMemcpyDeviceToDevice,
            (false, true) => cudaMemcpyHostToDevice,
            (false, false) => cudaMemcpyDeviceToHost,
        };
        let ready = move |log: &mut Log| -> Result<(Rows, Block), Setup> {
            let array = array(log, WIDTH, HEIGHT)?;
            let block = Block::with(log, kind, &pattern(N, 1))?;
            let rows = Rows {
                array,
                column: 0,
                row: 0,
                memory: block.ptr(),
                pitch: PITCH,
                width: WIDTH,
                height: HEIGHT,
                way,
            };
            Ok((rows, block))
        };
        let changes: [(&str, Change<Rows>); 15] = [
            ("all of it", |_| {}),
            ("direction default", |r| r.way = cudaMemcpyDefault),
            ("no width", |r| r.width = 0),
            ("no height", |r| r.height = 0),
            ("array null", |r| r.array = ptr::null_mut()),
            ("memory null", |r| r.memory = ptr::null_mut()),
            ("pitch under the width", |r| r.pitch = WIDTH - 1),
            ("pitch 0", |r| r.pitch = 0),
            ("wider than the array", |r| r.width = WIDTH + 1),
            ("higher than the array", |r| r.height = HEIGHT + 1),
            ("column and width past the edge", |r| r.column = 1),
            ("row and height past the edge", |r| r.row = 1),
            ("corner and size past the edge", |r| (r.column, r.row) = (1, 1)),
            ("width without end", |r| r.width = usize::MAX),
            ("no direction", |r| r.way = cudaMemcpyKind(100)),
        ];
        for (what, change) in changes {
            cases.add(format!("{api}/{}, {what}", kind.name()), move |log| {
                let (mut rows, _) = ready(log)?;
                change(&mut rows);
                rows.copy(log, to_array, blocking);
                ask!(log, cudaDeviceSynchronize());
                Ok(())
            });
        }
        cases.add(format!("{api}/{}, a rectangle there and back", kind.name()), move |log| {
            let (rows, _) = ready(log)?;
            let back = Block::with(log, kind, &pattern(N, 2))?;
            let (there, here) = match kind {
                Kind::Device => (cudaMemcpyDeviceToDevice, cudaMemcpyDeviceToDevice),
                _ => (cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost),
            };
            Rows { way: there, ..rows }.copy(log, true, blocking);
            let part =
                Rows { way: here, memory: back.at(9), column: 13, row: 4, width: 40, height: 7, ..rows };
            part.copy(log, false, blocking);
            ask!(log, cudaDeviceSynchronize());
            let (source, mut want) = (pattern(N, 1), pattern(N, 2));
            for row in 0..7 {
                let from = (row + 4) * PITCH + 13;
                want[9 + row * PITCH..9 + row * PITCH + 40].copy_from_slice(&source[from..from + 40]);
            }
            back.compare(log, "all bytes", &want)
        });
        // A copy of an array is one of device memory.
        let (to, from) = if to_array { (Kind::Device, kind) } else { (kind, Kind::Device) };
        if !promised(to, from, blocking) {
            continue;
        }
        cases.alone(format!("{api}/{}, waits for the held legacy stream", kind.name()), move |log| {
            let (rows, _) = ready(log)?;
            let gate = Gate::hold(log, ptr::null_mut())?;
            gate.waits(log, |log| rows.copy(log, to_array, blocking));
            ask!(log, cudaDeviceSynchronize());
            Ok(())
        });
    }
    cases.add(format!("{api}/an array of one dimension, there and back"), move |log| {
        let array = array(log, WIDTH, 0)?;
        let source = pattern(WIDTH, 1);
        let (there, back) = (Block::with(log, Kind::Pinned, &source)?, Block::new(log, Kind::Pinned, WIDTH)?);
        let rows = |block: Block, way| Rows {
            array,
            column: 0,
            row: 0,
            memory: block.ptr(),
            pitch: WIDTH,
            width: WIDTH,
            height: 1,
            way,
        };
        rows(there, cudaMemcpyHostToDevice).copy(log, true, blocking);
        rows(back, cudaMemcpyDeviceToHost).copy(log, false, blocking);
        ask!(log, cudaDeviceSynchronize());
        back.compare(log, "all bytes", &source)
    });
}

fn between(
    log: &mut Log,
    change: fn(&mut cudaArray_t, &mut cudaArray_t, &mut usize, &mut cudaMemcpyKind),
) -> Outcome {
    let (mut to, mut from) = (array(log, WIDTH, HEIGHT)?, array(log, WIDTH, HEIGHT)?);
    let (read, mut width, mut way) = (to, WIDTH, cudaMemcpyDeviceToDevice);
    let source = pattern(WIDTH * HEIGHT, 1);
    need!(
        log,
        cudaMemcpy2DToArray(from, 0, 0, source.as_ptr().cast(), WIDTH, WIDTH, HEIGHT, cudaMemcpyHostToDevice)
    );
    let zero = vec![0_u8; WIDTH * HEIGHT];
    need!(
        log,
        cudaMemcpy2DToArray(to, 0, 0, zero.as_ptr().cast(), WIDTH, WIDTH, HEIGHT, cudaMemcpyHostToDevice)
    );
    need!(log, cudaDeviceSynchronize());
    change(&mut to, &mut from, &mut width, &mut way);
    ask!(log, cudaMemcpy2DArrayToArray(to, 0, 0, from, 0, 0, width, HEIGHT, way));
    ask!(log, cudaDeviceSynchronize());
    let mut got = vec![0_u8; WIDTH * HEIGHT];
    need!(
        log,
        cudaMemcpy2DFromArray(
            got.as_mut_ptr().cast(),
            WIDTH,
            read,
            0,
            0,
            WIDTH,
            HEIGHT,
            cudaMemcpyDeviceToHost
        )
    );
    log.holds(&got, &source, &zero);
    Ok(())
}

pub(super) fn add(cases: &mut Cases) {
    for blocking in [true, false] {
        pitched(cases, blocking);
        for to_array in [true, false] {
            arrays(cases, to_array, blocking);
        }
    }
    let api = "cudaMemcpy2DArrayToArray";
    cases.add(format!("{api}/all of it"), |log| between(log, |_, _, _, _| {}));
    cases
        .add(format!("{api}/direction default"), |log| between(log, |_, _, _, way| *way = cudaMemcpyDefault));
    cases.add(format!("{api}/destination null"), |log| between(log, |to, _, _, _| *to = ptr::null_mut()));
    cases.add(format!("{api}/source null"), |log| between(log, |_, from, _, _| *from = ptr::null_mut()));
    cases.add(format!("{api}/no direction"), |log| {
        between(log, |_, _, _, way| *way = cudaMemcpyKind(u32::MAX - 99))
    });
    cases.add(format!("{api}/host to host"), |log| between(log, |_, _, _, way| *way = cudaMemcpyHostToHost));
    cases.add(format!("{api}/wider than the array"), |log| between(log, |_, _, width, _| *width += 1));
    cases.add(format!("{api}/no width"), |log| between(log, |_, _, width, _| *width = 0));
}
