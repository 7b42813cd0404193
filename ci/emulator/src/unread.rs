//! Launches by `<<<...>>>` that failed and whose error nobody read.
//!
//! Such a launch returns nothing: the code that nvcc makes for it drops the error, and only
//! `cudaGetLastError` and `cudaPeekAtLastError` tell of it. A thread that asks after the launch has read the
//! errors of all its launches so far. What is left at the end of the process is a finding, one for each line.
//!
//! Other calls return their error, and whether the program looks at what a call returns cannot be seen from
//! here: the last error of a program that has looked is still set, too. So they are not named. Nor is a
//! launch on a device whose context has ended, because the fault is a finding already.

use std::cell::Cell;

use parking_lot::Mutex;

use crate::error::{Code, name, text};
use crate::finding::{Finding, Subject};
use crate::host_line::HostLine;
use crate::thread;

/// Launches from one line that failed alike.
#[derive(Debug)]
struct FailedLaunch {
    /// The thread that has not read the error.
    thread: u64,
    call: &'static str,
    kernel: String,
    code: Code,
    /// What is known of the cause; may be empty.
    why: String,
    line: HostLine,
    count: u64,
}

static FAILED: Mutex<Vec<FailedLaunch>> = Mutex::new(Vec::new());

thread_local! {
    static ANY: Cell<bool> = const { Cell::new(false) };
}

/// Notes that a launch of the calling thread has failed.
pub(crate) fn note(call: &'static str, kernel: String, code: Code, why: String) {
    ANY.set(true);
    let (thread, line) = (thread::number(), HostLine::now());
    let mut failed = FAILED.lock();
    let same =
        |it: &&mut FailedLaunch| (it.thread, it.code, it.line) == (thread, code, line) && it.kernel == kernel;
    match failed.iter_mut().find(same) {
        Some(it) => it.count += 1,
        None => failed.push(FailedLaunch { thread, call, kernel, code, why, line, count: 1 }),
    }
}

/// Notes that the calling thread has asked for its last error.
pub(crate) fn read() {
    if ANY.replace(false) {
        let thread = thread::number();
        FAILED.lock().retain(|it| it.thread != thread);
    }
}

/// Reports what nobody has read, once for each line of the program.
pub(crate) fn report() {
    let mut places: Vec<(String, FailedLaunch)> = Vec::new();
    for it in FAILED.lock().drain(..) {
        let place = it.line.frames().first().map_or_else(String::new, ToString::to_string);
        let same = |(other, known): &&mut (String, FailedLaunch)| {
            *other == place && known.code == it.code && known.kernel == it.kernel
        };
        match places.iter_mut().find(same) {
            Some((_, known)) => known.count += it.count,
            None => places.push((place, it)),
        }
    }
    places.iter().for_each(|(_, it)| it.finding().report());
}

impl FailedLaunch {
    fn finding(&self) -> Finding {
        let launches = if self.count == 1 { "launch".to_owned() } else { format!("{} launches", self.count) };
        let words = |text: Option<&core::ffi::CStr>| {
            text.map_or_else(String::new, |it| it.to_string_lossy().into_owned())
        };
        let cause = if self.why.is_empty() { words(text(self.code)) } else { self.why.clone() };
        let what = format!(
            "{launches} of kernel {} failed with {} ({}), and nobody read the error: {cause}",
            self.kernel,
            words(name(self.code)),
            self.code.0
        );
        let advice =
            "Call cudaGetLastError() behind each launch: <<<...>>> returns nothing. The kernel did not run.";
        Finding::new(Subject::Unread, what, advice).part(self.call, self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::cudaErrorInvalidConfiguration;

    #[test]
    fn a_thread_reads_the_errors_of_its_own_launches_only() {
        let fails = || note("cudaLaunchKernel", "k".to_owned(), cudaErrorInvalidConfiguration, String::new());
        let left =
            |thread| FAILED.lock().iter().filter(|it| it.thread == thread).map(|it| it.count).sum::<u64>();
        fails();
        let other = std::thread::spawn(move || {
            (0..3).for_each(|_| fails());
            thread::number()
        });
        let other = other.join().unwrap();
        assert_eq!((left(thread::number()), left(other)), (1, 3));
        read();
        assert_eq!((left(thread::number()), left(other)), (0, 3));
        let failed = FAILED.lock().pop().unwrap();
        let what = failed.finding().what;
        assert!(
            what.starts_with("3 launches of kernel k failed with cudaErrorInvalidConfiguration (9)"),
            "{what}"
        );
    }
}
