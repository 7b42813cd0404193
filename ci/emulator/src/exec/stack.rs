//! The end of a thread's stack, where a function allocates while it runs.

use super::fault::{Fault, Result};
use super::file::{Word, lanes, low};
use super::launch::Context;
use super::program::{Ins, Op};
use super::warp::Warp;

/// The alignment of frames: each call's frame begins behind what its caller has allocated.
const FRAMES: u64 = 16;

impl Warp {
    /// `alloca`, `stacksave` and `stackrestore`. Addresses are those of local memory.
    pub(super) fn stack_top(&mut self, cx: &Context<'_>, ins: &Ins, mask: u32) -> Result {
        let (Op::Alloca(top, wide) | Op::StackSave(top, wide) | Op::StackRestore(top, wide)) = ins.op else {
            return Ok(());
        };
        let frame = cx.program.functions[top.routine as usize].frame;
        for lane in lanes(mask) {
            let given = |warp: &Self, slot| {
                if wide { u64::row(&warp.file, slot)[lane] } else { u32::row(&warp.file, slot)[lane].into() }
            };
            let fault = |what: String| Err(self.fault(cx, Fault::STACK, &what, lane));
            let bottom = u64::from(self.file.words[0][lane]) + u64::from(frame);
            let now = bottom + u64::from(self.allocated[lane]);
            let (answer, end) = match ins.op {
                Op::StackRestore(..) => {
                    let end = given(self, ins.s[0]);
                    if !(bottom..=now).contains(&end) {
                        return fault(format!(
                            "stackrestore of {end:#x}, which no stacksave of the function gave"
                        ));
                    }
                    (None, end)
                }
                Op::Alloca(..) => {
                    let bytes = given(self, ins.s[1]);
                    let start = now.next_multiple_of(top.align.into());
                    let end = start.saturating_add(bytes);
                    if end > cx.launch.stack.into() {
                        let stack = cx.launch.stack;
                        return fault(format!(
                            "stack overflow: alloca of {bytes} bytes behind {now}, a thread has {stack}"
                        ));
                    }
                    (Some(start), end.next_multiple_of(FRAMES))
                }
                _ => (Some(now), now),
            };
            self.allocated[lane] = low(end - bottom);
            self.grow(lane, low(end));
            match answer {
                Some(at) if wide => u64::row_mut(&mut self.file, ins.s[0])[lane] = at,
                Some(at) => u32::row_mut(&mut self.file, ins.s[0])[lane] = low(at),
                None => {}
            }
        }
        Ok(())
    }
}
