//! Functions that device code calls and the machine provides: `printf`, `malloc`, `free`, `assert`,
//! and the runtime.

use super::bytes::write;
use super::env::{AccessKind, RuntimeAnswer, RuntimeCall, number};
use super::fault::{Fault, Result};
use super::file::{lanes, low};
use super::launch::{Cached, Context};
use super::memory::BYTES;
use super::printf;
use super::program::{CallSite, Element, Target, missing};
use super::runtime::RuntimeFunction;
use super::warp::Warp;

impl Warp {
    pub(super) fn builtin(
        &mut self,
        cx: &mut Context<'_>,
        target: &Target,
        call: &CallSite,
        mask: u32,
    ) -> Result {
        let mut failed = None;
        for lane in lanes(mask) {
            let thread = self.thread(lane);
            let mut args = [0u64; 5];
            for (value, &(at, size)) in args.iter_mut().zip(&call.args) {
                *value = self.frame_value(lane, at, size);
            }
            let result = match target {
                Target::Print => self.print(cx, args[0], args[1], lane)?,
                Target::Malloc => match args[0] {
                    0 => 0,
                    bytes => cx.env.heap_malloc(bytes),
                },
                Target::Free => {
                    let address = args[0];
                    if address != 0 && !cx.env.heap_free(address) {
                        let what =
                            format!("free of {address:#x}, which malloc did not give or which is freed");
                        return Err(cx.fault(Fault::LAUNCH_FAILURE, &what, thread));
                    }
                    cx.caches.fill(Cached::EMPTY);
                    0
                }
                Target::Assert => {
                    failed = Some(self.assertion(cx, &args, lane)?);
                    0
                }
                Target::SetConditional => {
                    cx.env.set_conditional(args[0], low(args[1]));
                    0
                }
                Target::Runtime(function) => self.runtime(cx, *function, call, lane)?,
                Target::Routine(_) => 0,
                Target::Missing(name) => {
                    return Err(self.fault(cx, Fault::NOT_SUPPORTED, &missing(name), lane));
                }
            };
            if let Some(&(at, size)) = call.returns.first() {
                let fp = self.file.words[0][lane];
                let (from, bytes) = ((fp + at) as usize, result.to_le_bytes());
                let size = (size as usize).min(8);
                if let Some(place) = self.stack_bytes(lane).get_mut(from..from + size) {
                    place.copy_from_slice(&bytes[..size]);
                }
            }
        }
        failed.map_or(Ok(()), Err)
    }

    fn frame_value(&mut self, lane: usize, at: u32, size: u32) -> u64 {
        let mut bytes = [0; 8];
        bytes.iter_mut().zip(self.frame_bytes(lane, at, size)).for_each(|(to, from)| *to = *from);
        u64::from_le_bytes(bytes)
    }

    /// Bytes in a lane's current frame.
    pub(super) fn frame_bytes(&mut self, lane: usize, at: u32, size: u32) -> &[u8] {
        let from = (self.file.words[0][lane] + at) as usize;
        self.stack_bytes(lane).get(from..from + size as usize).unwrap_or_default()
    }

    /// `printf`: the arguments lie one after the other, each aligned to its size.
    fn print(&mut self, cx: &mut Context<'_>, format: u64, args: u64, lane: usize) -> Result<u64> {
        if format == 0 {
            return Ok(u64::from(u32::MAX));
        }
        let format = self.read_text(cx, format, lane)?;
        let mut at = args;
        let mut text = String::new();
        let mut count = 0;
        for piece in printf::pieces(&format) {
            let mut values = Vec::new();
            for size in piece.arguments() {
                at = at.next_multiple_of(size);
                let mut bytes = [0; 8];
                let size_now = usize::try_from(size).unwrap_or(8);
                self.read_bytes(cx, at, &mut bytes[..size_now], lane)?;
                at += size;
                count += 1;
                values.push(u64::from_le_bytes(bytes));
            }
            let string = match values.last() {
                Some(&p) if piece.wants_text() && p != 0 => Some(self.read_text(cx, p, lane)?),
                _ => None,
            };
            piece.write(&values, string.as_deref(), &mut text);
        }
        cx.env.print(&text);
        Ok(count)
    }

    fn assertion(&mut self, cx: &mut Context<'_>, args: &[u64; 5], lane: usize) -> Result<Fault> {
        let [message, file, line, function, _] = *args;
        let mut text = |address: u64| match address {
            0 => Ok(String::from("?")),
            _ => self.read_text(cx, address, lane),
        };
        let (message, file, function) = (text(message)?, text(file)?, text(function)?);
        let thread = self.thread(lane);
        let [bx, by, bz] = cx.block;
        let [tx, ty, tz] = cx.launch.thread(thread);
        cx.env.complain(&format!(
            "{file}:{line}: {function}: block: [{bx},{by},{bz}], thread: [{tx},{ty},{tz}] \
             Assertion `{message}` failed."
        ));
        let what = format!("the assertion `{message}` failed at {file}:{line}");
        Ok(cx.fault(Fault::ASSERT, &what, thread))
    }

    /// Calls the runtime for a thread.
    pub(super) fn runtime(
        &mut self,
        cx: &mut Context<'_>,
        function: RuntimeFunction,
        site: &CallSite,
        lane: usize,
    ) -> Result<u64> {
        let thread = self.thread(lane);
        let arguments: Vec<_> =
            site.args.iter().map(|&(at, size)| self.frame_bytes(lane, at, size).to_vec()).collect();
        let first = arguments.first().map_or(0, |bytes| number(bytes, 0));
        let mut structure = Vec::new();
        if function == RuntimeFunction::Memcpy3DAsync {
            structure.resize(COPY_PARAMETERS, 0);
            self.read_bytes(cx, first, &mut structure, lane)?;
        }
        let call = RuntimeCall {
            function,
            program: &cx.launch.program,
            block: cx.number,
            thread,
            pc: cx.pc,
            arguments,
            structure,
        };
        let answer = cx.env.runtime(&call);
        let RuntimeAnswer { result, output } =
            answer.map_err(|(code, what)| cx.fault(code, &what, thread))?;
        // Memory may have come or gone.
        cx.caches.fill(Cached::EMPTY);
        for (at, byte) in (first..).zip(output) {
            let place = self.reach(cx, BYTES, at, (1, 1), lane, AccessKind::Write)?;
            write(place, Element::U8, byte.into());
        }
        Ok(result)
    }
}

/// `sizeof(cudaMemcpy3DParms)`.
const COPY_PARAMETERS: usize = 160;
