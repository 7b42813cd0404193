//! The machine: one per process, behind one lock, made at the first call that needs it.
//!
//! Kernels and copies run in bounded steps under the lock; host functions run outside it.

use std::sync::LazyLock;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::config::{Config, Schedule};
use crate::context::Contexts;
use crate::device::Device;
use crate::error::{Answer, Code};
use crate::exec::ThreadLine;
use crate::external::Externals;
use crate::fidelity::{self, Limit};
use crate::finding::{self, Finding, Subject};
use crate::graph::{Captures, Graphs, Users};
use crate::host_line::{self, HostLine};
use crate::leaks;
use crate::memory::{Allocations, Kind};
use crate::race::Races;
use crate::race::fault::{self, Accesses};
use crate::race::guard;
use crate::race::instruction::HANDLES_FAULTS;
use crate::stream::{Events, Queue, Streams};
use crate::sys::cudaErrorInitializationError;
use crate::system_calls;
use crate::thread;

/// The lock on the machine, held.
pub(crate) type Guard = MutexGuard<'static, Machine>;

/// Everything that the library knows.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) config: Config,
    pub(crate) allocations: Allocations,
    pub(crate) devices: Vec<Device>,
    pub(crate) streams: Streams,
    pub(crate) events: Events,
    pub(crate) queue: Queue,
    pub(crate) graphs: Graphs,
    pub(crate) users: Users,
    pub(crate) captures: Captures,
    pub(crate) externals: Externals,
    pub(crate) contexts: Contexts,
}

impl Machine {
    /// A machine as `config` describes it; `None` if the system has no address space for it.
    pub(crate) fn new(config: Config) -> Option<Self> {
        let mut allocations = Allocations::new(config.devices, config.memory)?;
        allocations.keep_for_contexts();
        if config.initcheck {
            allocations.watch()?;
        }
        allocations.two_views = config.races && HANDLES_FAULTS;
        let mut queue = Queue::new(config.schedule);
        queue.runs_on = config.runs_on;
        queue.races = config.races.then(|| Races::new(config.devices));
        Some(Self {
            config,
            allocations,
            devices: (0..config.devices).map(|_| Device::default()).collect(),
            streams: Streams::new(config.devices),
            events: Events::default(),
            queue,
            graphs: Graphs::default(),
            users: Users::default(),
            captures: Captures::default(),
            externals: Externals::default(),
            contexts: Contexts::default(),
        })
    }

    /// Ends a device's context with an error that every later call on it returns.
    pub(crate) fn fail(&mut self, device: usize, code: Code, message: &str, call: &str, line: HostLine) {
        self.fail_at(device, code, message, None, call, [line, HostLine::NONE]);
    }

    /// The same, with the thread of a kernel, and the line at which the memory was allocated that the message
    /// names, if they are known.
    pub(crate) fn fail_at(
        &mut self,
        device: usize,
        code: Code,
        message: &str,
        thread: Option<ThreadLine>,
        call: &str,
        [line, memory]: [HostLine; 2],
    ) {
        let name =
            crate::error::name(code).map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let what = format!("{name} ({}) on device {device}: {message}", code.0);
        let advice = "Every later call on the device returns this error.";
        let mut finding = Finding::new(Subject::Fault, what, advice).part(call, line);
        if let Some(at) = thread {
            finding = finding.at(at);
        }
        if memory != HostLine::NONE {
            finding = finding.part("the memory", memory);
        }
        finding.report();
        fidelity::note(Limit::AfterFault);
        if let Some(device) = self.devices.get_mut(device) {
            device.fault.get_or_insert(code);
        }
    }
}

struct Shared {
    machine: Mutex<Machine>,
    /// For threads that wait for an operation.
    changed: Condvar,
    /// For the background thread.
    work: Condvar,
}

const NO_ROOM: &str = "there is no address space left for the memory of the devices: CUDA_EMULATOR_MEMORY is \
                       the size of each in MiB, and CUDA_EMULATOR_DEVICES their number";

static SHARED: LazyLock<Result<Shared, String>> = LazyLock::new(|| {
    let started = Config::from_env().and_then(|config| {
        let machine = Machine::new(config).ok_or_else(|| NO_ROOM.to_owned())?;
        if config.captures_lines() {
            host_line::capture();
        }
        let sees_calls = system_calls::are_seen();
        if sees_calls {
            guard::protect_pinned();
        }
        if !config.managed {
            guard::protect_managed();
        }
        let accesses = Accesses { guarded: host_accessed, forbidden: host_strayed, called: host_called };
        fault::watch(accesses, sees_calls);
        if let Schedule::Random(seed) = config.schedule {
            eprintln!("CUDA emulator: CUDA_EMULATOR_SCHEDULE=random:{seed}");
        }
        Ok(Shared { machine: Mutex::new(machine), changed: Condvar::new(), work: Condvar::new() })
    });
    match &started {
        Ok(_) => {
            finding::begin();
            thread::watch_forks();
            leaks::at_exit(end);
        }
        Err(message) => eprintln!("CUDA emulator: {message}"),
    }
    started
});

/// Ends the runtime, and reports what is left.
extern "C" fn end() {
    leaks::end();
    let Ok(mut machine) = lock() else { return };
    machine.finish();
    leaks::sum_up(&machine.allocations, machine.config.leaks);
}

/// Notes that an instruction of the program has accessed memory that an operation uses.
fn host_accessed(address: u64, bytes: u64, writes: bool, at: usize) {
    // This library may write to the program's memory whenever the program has called it.
    if thread::in_call() {
        return;
    }
    let Ok(mut machine) = lock() else { return };
    let m = &mut *machine;
    if !writes {
        m.queue.host_reads_flag(&m.allocations, address);
    } else if thread::function().is_none() {
        m.queue.host_writes_flag(&m.allocations, address);
    }
    if let (Some(races), Some(it)) = (&mut m.queue.races, m.allocations.at(address)) {
        let line = HostLine::interrupted(at);
        if !m.config.managed && it.kind == Kind::Managed {
            races.touches_managed(it, (address, writes), line);
        }
        races.host_accessed(it, (address, bytes.min(it.end() - address), writes), thread::function(), line);
    }
}

/// Notes that a system call of the program has used memory that it shares with devices.
fn host_called(address: u64, bytes: u64, writes: bool) {
    if thread::in_call() {
        return;
    }
    let Ok(mut machine) = lock() else { return };
    let m = &mut *machine;
    if let (Some(races), Some(it)) = (&mut m.queue.races, m.allocations.at(address)) {
        races.host_called(it, (address, bytes, writes), thread::function(), HostLine::captured());
    }
}

/// Names the memory of a device that an instruction of the program has accessed on the host, which ends the
/// program.
fn host_strayed(address: u64, writes: bool, at: usize) {
    // The program is lost. Another thread may hold the machine for long.
    const MOST: Duration = Duration::from_millis(200);
    let Some(machine) = shared().ok().and_then(|shared| shared.machine.try_lock_for(MOST)) else { return };
    let Some(it) = machine.allocations.at(address).filter(|it| !it.kind.on_host()) else { return };
    let verb = if writes { "writes" } else { "reads" };
    let what = format!("the host {verb} byte {} of {it}, which only devices reach", address - it.start);
    let advice = "Copy it, or allocate memory that the host reaches: cudaMallocManaged or cudaMallocHost.";
    let finding = Finding::new(Subject::Pointer, what, advice).part("the access", HostLine::interrupted(at));
    finding.part("the memory", it.line).report();
}

fn shared() -> Answer<&'static Shared> {
    SHARED.as_ref().map_err(|_| cudaErrorInitializationError)
}

/// Locks the machine, which is made by the first call.
pub(crate) fn lock() -> Answer<Guard> {
    if thread::forked() {
        return Err(cudaErrorInitializationError);
    }
    Ok(shared()?.machine.lock())
}

/// Wakes every thread that waits for the machine to change.
pub(crate) fn announce() {
    if let Ok(shared) = shared() {
        shared.changed.notify_all();
    }
}

/// Waits, with the lock released, until another thread announces a change, or until `most` has passed.
pub(crate) fn wait(guard: &mut Guard, most: Duration) {
    if let Ok(shared) = shared() {
        shared.changed.wait_for(guard, most);
    }
}

/// Has the background thread look at the queue.
pub(crate) fn wake_background() {
    if let Ok(shared) = shared() {
        shared.work.notify_one();
    }
}

/// Waits, with the lock released, for [`wake_background`], or until `most` has passed. Only the background
/// thread calls this.
pub(crate) fn wait_for_work(guard: &mut Guard, most: Duration) {
    if let Ok(shared) = shared() {
        shared.work.wait_for(guard, most);
    }
}

/// Calls a function with the lock released.
pub(crate) fn unlocked<R>(guard: &mut Guard, f: impl FnOnce() -> R) -> R {
    MutexGuard::unlocked(guard, f)
}

/// Lets threads that want the lock have it, in turn.
pub(crate) fn give_way(guard: &mut Guard) {
    MutexGuard::bump(guard);
}
