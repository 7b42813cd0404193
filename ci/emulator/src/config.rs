//! The configuration of the machine, from the environment: `cuda-safe/docs/environment.md` has the variables.
//! The modules `calls` and `finding` read those of their own.
//!
//! All of them are checked when the library is loaded. A process with a wrong one ends there: a check that a
//! wrong letter switches off finds nothing.

use std::ffi::OsString;
use std::fs::File;
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::{profile, suppression};

/// What the names of all variables begin with, and what follows.
const PREFIX: &str = "CUDA_EMULATOR_";
const NAMES: [&str; 17] = [
    "BUDGET",
    "CALLS",
    "DEVICE",
    "DEVICES",
    "EXIT_CODE",
    "FAULTS",
    "FREE",
    "INITCHECK",
    "LEAKS",
    "LIBRARIES",
    "MANAGED",
    "MEMORY",
    "RACES",
    "REPORT",
    "SCHEDULE",
    "SUPPRESS",
    "VOLATILE",
];

/// When asynchronous work runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Schedule {
    /// When something waits for it or queries it, or when it has been pending for long enough.
    #[default]
    Late,
    /// As soon as it can.
    Eager,
    /// In an order and at times drawn from a seed.
    Random(u64),
}

/// The machine that the environment asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) devices: usize,
    /// Bytes of memory of each device.
    pub(crate) memory: u64,
    /// A program that uses more bytes of a device than this gets a notification.
    pub(crate) budget: Option<u64>,
    pub(crate) schedule: Schedule,
    /// Freeing waits for the work of the device.
    pub(crate) free_waits: bool,
    /// The other blocks of a kernel run on after a fault, to be checked for races.
    pub(crate) runs_on: bool,
    /// Devices have concurrent managed access.
    pub(crate) managed: bool,
    pub(crate) leaks: bool,
    /// Reports reads of bytes that nobody has written.
    pub(crate) initcheck: bool,
    /// Reports races between operations.
    pub(crate) races: bool,
    /// A launch returns when its kernel has ended (`CUDA_LAUNCH_BLOCKING`).
    pub(crate) blocks: bool,
}

impl Config {
    /// Reads the process's environment. A program may change it before its first call.
    ///
    /// # Errors
    /// A message that names the variable whose value is wrong, and the right ones.
    pub(crate) fn from_env() -> Result<Self, String> {
        suppression::load()?;
        Self::read(|name| std::env::var_os(name))
    }

    /// Whether operations and allocations remember the program's lines.
    pub(crate) fn captures_lines(&self) -> bool {
        // A tool reads the findings with the last two.
        let is_set = |name| std::env::var_os(name).is_some();
        let has_reader = is_set("CUDA_EMULATOR_REPORT") || is_set("CUDA_EMULATOR_EXIT_CODE");
        self.races || self.leaks || self.initcheck || has_reader
    }

    fn read(get: impl Fn(&str) -> Option<OsString>) -> Result<Self, String> {
        let of_cuda = |name: &str| get(name).map(|it| it.to_string_lossy().into_owned());
        let (visible, blocking) = (of_cuda("CUDA_VISIBLE_DEVICES"), of_cuda("CUDA_LAUNCH_BLOCKING"));
        let get = |name: &str| get(&format!("{PREFIX}{name}")).map(|it| it.to_string_lossy().into_owned());
        let number = |name: &str, default: u64, most: u64| match get(name) {
            None => Ok(default),
            Some(text) => match text.parse::<u64>() {
                Ok(number) if number <= most => Ok(number),
                _ => Err(wrong(name, &text, &format!("a number from 0 to {most}"))),
            },
        };
        let flag = |name: &str, default: u64| number(name, default, 1).map(|it| it == 1);
        // Whether a variable has the second of two words, and not the first, which is the default.
        let is_second = |name: &str, [first, second]: [&str; 2]| match get(name) {
            Some(text) if text == second => Ok(true),
            Some(text) if !text.is_empty() && text != first => {
                Err(wrong(name, &text, &format!("{first} or {second}")))
            }
            _ => Ok(false),
        };
        let device = get("DEVICE").unwrap_or_default();
        let parsed = profile::parse(&device, MOST_DEVICES);
        let (profile, count) = parsed.map_err(|expected| wrong("DEVICE", &device, &expected))?;
        let devices = number("DEVICES", count.unwrap_or(2), MOST_DEVICES)?;
        let budget = number("BUDGET", u64::MAX, 1 << 20)?;
        number("EXIT_CODE", 0, 255)?;
        is_second("VOLATILE", ["relaxed", "plain"])?;
        flag("LIBRARIES", 0)?;
        let schedule = match get("SCHEDULE").as_deref() {
            None | Some("" | "late") => Schedule::Late,
            Some("eager") => Schedule::Eager,
            Some("random") => Schedule::Random(seed()),
            Some(text) => match text.strip_prefix("random:").and_then(|seed| seed.parse().ok()) {
                Some(seed) => Schedule::Random(seed),
                None => return Err(wrong("SCHEDULE", text, "late, eager, random or random:SEED")),
            },
        };
        Ok(Self {
            devices: usize::try_from(visible.map_or(devices, |list| visible_of(&list, devices))).unwrap_or(2),
            memory: number("MEMORY", profile.memory, 1 << 20)? << 20,
            budget: (budget != u64::MAX).then_some(budget << 20),
            schedule,
            free_waits: !is_second("FREE", ["waits", "at-once"])?,
            runs_on: is_second("FAULTS", ["end", "run-on"])?,
            managed: flag("MANAGED", 1)?,
            leaks: flag("LEAKS", 0)?,
            initcheck: flag("INITCHECK", 0)?,
            races: flag("RACES", 0)?,
            blocks: blocking.is_some_and(|it| it == "1"),
        })
    }
}

/// Whether mistakes that are known of libraries are findings, too.
pub(crate) fn tells_of_libraries() -> bool {
    static TELLS: LazyLock<bool> =
        LazyLock::new(|| std::env::var("CUDA_EMULATOR_LIBRARIES").is_ok_and(|it| it == "1"));
    *TELLS
}

/// The number of devices that `CUDA_VISIBLE_DEVICES` leaves: those before the first that is none. One that is
/// named twice leaves none. All devices are alike, so their order does not matter.
fn visible_of(list: &str, devices: u64) -> u64 {
    let named = list.split(',').map_while(|it| it.trim().parse().ok().filter(|at| *at < devices));
    let named: Vec<u64> = named.collect();
    let twice = (1..named.len()).any(|at| named[at..].contains(&named[at - 1]));
    if twice { 0 } else { named.len().try_into().unwrap_or(0) }
}

/// The most devices of a machine.
const MOST_DEVICES: u64 = 64;

fn wrong(name: &str, value: &str, expected: &str) -> String {
    format!("{PREFIX}{name} is {value:?}: expected {expected}")
}

/// Checks an environment: the names of the emulator's variables, and their values.
///
/// # Errors
/// A message that names the variable, and the right names or values.
pub fn check(
    names: impl Iterator<Item = OsString>,
    get: impl Fn(&str) -> Option<OsString>,
) -> Result<(), String> {
    for name in names.filter_map(|it| it.into_string().ok()) {
        if let Some(word) = name.strip_prefix(PREFIX)
            && !NAMES.contains(&word)
        {
            return Err(format!("{name} is unknown: expected {PREFIX} with one of {}", NAMES.join(", ")));
        }
    }
    for name in ["CUDA_EMULATOR_REPORT", "CUDA_EMULATOR_CALLS"] {
        if let Some(path) = get(name)
            && let Err(error) = File::options().create(true).append(true).open(&path)
        {
            return Err(format!("{name} is {}: expected a file to write to: {error}", path.display()));
        }
    }
    if let Some(path) = get("CUDA_EMULATOR_SUPPRESS") {
        suppression::read_file(&path)?;
    }
    Config::read(get).map(|_| ())
}

/// A seed that differs from run to run.
fn seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.as_secs().wrapping_mul(1_000_003) ^ u64::from(now.subsec_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> Result<Config, String> {
        Config::read(|name| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.into()))
    }

    #[test]
    fn nothing_set_gives_two_devices_that_run_late() {
        let config = with(&[]).unwrap();
        assert_eq!(
            (config.devices, config.schedule, config.leaks || config.initcheck),
            (2, Schedule::Late, false)
        );
    }

    #[test]
    fn a_device_has_its_memory_and_its_number_unless_others_are_set() {
        let config = with(&[("CUDA_EMULATOR_DEVICE", "h200x4"), ("CUDA_EMULATOR_MEMORY", "64")]).unwrap();
        assert_eq!((config.devices, config.memory), (4, 64 << 20));
        assert_eq!(with(&[("CUDA_EMULATOR_DEVICE", "t4")]).unwrap().memory, 15109 << 20);
    }

    /// `tests/emulator/options.rs` has the wrong words.
    #[test]
    fn words_select_what_they_name() {
        let config = with(&[]).unwrap();
        assert!(config.free_waits && !config.runs_on && config.managed && !config.races);
        for (schedule, expected) in
            [("eager", Schedule::Eager), ("random:7", Schedule::Random(7)), ("", Schedule::Late)]
        {
            assert_eq!(with(&[("CUDA_EMULATOR_SCHEDULE", schedule)]).unwrap().schedule, expected);
        }
        assert!(!with(&[("CUDA_EMULATOR_FREE", "at-once")]).unwrap().free_waits);
        assert!(with(&[("CUDA_EMULATOR_FAULTS", "run-on")]).unwrap().runs_on);
        assert!(!with(&[("CUDA_EMULATOR_MANAGED", "0")]).unwrap().managed);
        assert!(with(&[("CUDA_EMULATOR_RACES", "1")]).unwrap().races);
        assert!(with(&[("CUDA_LAUNCH_BLOCKING", "1")]).unwrap().blocks);
    }

    #[test]
    fn devices_are_visible_up_to_the_first_that_is_none() {
        let lists =
            [("", 0), ("-1", 0), ("7", 0), ("1", 1), ("1,0", 2), ("0,5,1", 1), ("0,0", 0), ("0,x", 1)];
        for (list, count) in lists {
            assert_eq!(with(&[("CUDA_VISIBLE_DEVICES", list)]).unwrap().devices, count, "{list:?}");
        }
    }
}
