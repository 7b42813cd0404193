//! Copies to local variables of functions that have returned.
//!
//! CUDA may copy to pageable memory after an asynchronous call. NVIDIA's driver does so during the call,
//! and programs get away with a local variable that nobody waits for. The late copy would write over the
//! stack, of the program or of this library. So each call looks at the copies of its thread that nothing has
//! waited for: a variable below the program's stack pointer is gone. Such a copy is reported, and writes to
//! nowhere.

use std::cell::RefCell;

use super::copy::{Copy, Memory};
use super::names::OperationId;
use super::work::Work;
use crate::finding::{Finding, Subject};
use crate::host_line::{self, HostLine};
use crate::machine;
use crate::thread;

thread_local! {
    static PENDING: RefCell<Vec<Local>> = const { RefCell::new(Vec::new()) };
}

/// A copy to a local variable of this thread.
#[derive(Debug)]
struct Local {
    id: OperationId,
    /// The last byte that it may write.
    last: usize,
    bytes: u64,
    call: &'static str,
    line: HostLine,
}

/// The last byte that a copy writes on the stack of the calling thread, and how many it writes.
fn target(copy: &Copy) -> Option<(usize, u64)> {
    let Memory::Pageable(first) = copy.to.memory else { return None };
    let bytes = copy.volume.span(copy.to.pitch, copy.to.slice)?;
    let last = first.checked_add(usize::try_from(bytes).ok()?)?.checked_sub(1)?;
    thread::stack().is_some_and(|stack| stack.contains(&first)).then_some((last, bytes))
}

/// The copies to local variables among the work of a call.
pub(super) fn targets(work: &Work) -> Vec<(usize, u64)> {
    match work {
        Work::Copy(copy) => target(copy).into_iter().collect(),
        Work::Copies(copies) => copies.iter().filter_map(target).collect(),
        _ => Vec::new(),
    }
}

/// Remembers them under the operation's id. At the end of a thread there is nothing left to remember them.
pub(super) fn note(targets: &[(usize, u64)], id: OperationId, call: &'static str, line: HostLine) {
    if targets.is_empty() {
        return;
    }
    let all = targets.iter().map(|&(last, bytes)| Local { id, last, bytes, call, line });
    let _ = PENDING.try_with(|pending| pending.borrow_mut().extend(all));
}

/// Reports the copies that nothing has waited for and whose variable is gone, at the begin of a call.
pub(crate) fn look(call: &str) {
    let _ = PENDING.try_with(|pending| {
        let Ok(mut pending) = pending.try_borrow_mut() else { return };
        if pending.is_empty() {
            return;
        }
        // A coroutine has another stack.
        let top = host_line::stack_pointer().filter(|top| thread::stack().is_some_and(|it| it.contains(top)));
        let Some(top) = top else { return };
        let Ok(mut machine) = machine::lock() else { return };
        pending.retain(|it| {
            let waits = machine.queue.matters(it.id);
            let gone = it.last < top;
            if waits && gone {
                machine.queue.discard_result(it.id);
                it.report(call);
            }
            waits && !gone
        });
    });
}

impl Local {
    fn report(&self, call: &str) {
        let unit = if self.bytes == 1 { "byte" } else { "bytes" };
        let what = format!(
            "{} copies {} {unit} to a local variable of a function that has returned. Nothing has waited \
             for it",
            self.call, self.bytes
        );
        let advice = "Wait for the stream before the variable is read, and before its function returns. \
                      NVIDIA's driver copies to pageable memory during the call, but CUDA does not promise \
                      that.";
        Finding::new(Subject::Race, what, advice)
            .part(self.call, self.line)
            .part(format!("{call}, after the function has returned"), HostLine::now())
            .report();
    }
}
