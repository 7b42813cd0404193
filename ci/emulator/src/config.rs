//! The configuration of the machine, from the environment: `cuda-safe/docs/environment.md` has the variables.
//! The modules [`calls`](crate::calls) and [`finding`](crate::finding) read those of their own.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::finding::reports_to_file;
use crate::{profile, suppression};

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
}

impl Config {
    /// Reads the process's environment. A value of the wrong form is an error that names the variable.
    pub(crate) fn from_env() -> Result<Self, String> {
        suppression::load()?;
        Self::read(|name| std::env::var(name).ok())
    }

    /// Whether operations and allocations remember the program's lines.
    pub(crate) fn captures_lines(&self) -> bool {
        self.races || self.leaks || self.initcheck || reports_to_file()
    }

    fn read(get: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let number = |name: &str, default: u64, most: u64| match get(name) {
            None => Ok(default),
            Some(text) => match text.parse::<u64>() {
                Ok(number) if number <= most => Ok(number),
                _ => Err(format!("{name} is {text:?}: expected a number from 0 to {most}")),
            },
        };
        let (profile, count) = profile::parse(&get("CUDA_EMULATOR_DEVICE").unwrap_or_default())?;
        let devices = number("CUDA_EMULATOR_DEVICES", count.unwrap_or(2).min(64), 64)?;
        let memory = number("CUDA_EMULATOR_MEMORY", profile.memory, 1 << 20)?;
        let budget = match number("CUDA_EMULATOR_BUDGET", u64::MAX, 1 << 20)? {
            u64::MAX => None,
            budget => Some(budget << 20),
        };
        let managed = number("CUDA_EMULATOR_MANAGED", 1, 1)? == 1;
        let leaks = number("CUDA_EMULATOR_LEAKS", 0, 1)? == 1;
        let initcheck = number("CUDA_EMULATOR_INITCHECK", 0, 1)? == 1;
        let races = number("CUDA_EMULATOR_RACES", 0, 1)? == 1;
        number("CUDA_EMULATOR_EXIT_CODE", 0, 255)?;
        let schedule = match get("CUDA_EMULATOR_SCHEDULE").as_deref() {
            None | Some("" | "late") => Schedule::Late,
            Some("eager") => Schedule::Eager,
            Some("random") => Schedule::Random(seed()),
            Some(text) => match text.strip_prefix("random:").and_then(|seed| seed.parse().ok()) {
                Some(seed) => Schedule::Random(seed),
                None => {
                    let name = "CUDA_EMULATOR_SCHEDULE";
                    return Err(format!("{name} is {text:?}: expected late, eager or random:SEED"));
                }
            },
        };
        let free_waits = match get("CUDA_EMULATOR_FREE").as_deref() {
            None | Some("" | "waits") => true,
            Some("at-once") => false,
            Some(text) => return Err(format!("CUDA_EMULATOR_FREE is {text:?}: expected waits or at-once")),
        };
        let runs_on = match get("CUDA_EMULATOR_FAULTS").as_deref() {
            None | Some("" | "end") => false,
            Some("run-on") => true,
            Some(text) => return Err(format!("CUDA_EMULATOR_FAULTS is {text:?}: expected end or run-on")),
        };
        let devices = usize::try_from(devices).unwrap_or(2);
        Ok(Self {
            devices,
            memory: memory << 20,
            budget,
            schedule,
            free_waits,
            runs_on,
            managed,
            leaks,
            initcheck,
            races,
        })
    }
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
        Config::read(|name| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned()))
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
        assert!(with(&[("CUDA_EMULATOR_DEVICE", "h20")]).unwrap_err().contains("h20"));
    }

    #[test]
    fn a_schedule_of_another_form_is_refused_by_name() {
        let error = with(&[("CUDA_EMULATOR_SCHEDULE", "random:soon")]).unwrap_err();
        assert!(error.contains("CUDA_EMULATOR_SCHEDULE") && error.contains("random:soon"), "{error}");
        assert_eq!(with(&[("CUDA_EMULATOR_SCHEDULE", "random:7")]).unwrap().schedule, Schedule::Random(7));
        assert_eq!(with(&[("CUDA_EMULATOR_SCHEDULE", "eager")]).unwrap().schedule, Schedule::Eager);
    }

    #[test]
    fn freeing_waits_unless_it_is_told_not_to() {
        assert!(with(&[]).unwrap().free_waits);
        assert!(!with(&[("CUDA_EMULATOR_FREE", "at-once")]).unwrap().free_waits);
        let error = with(&[("CUDA_EMULATOR_FREE", "never")]).unwrap_err();
        assert!(error.contains("CUDA_EMULATOR_FREE") && error.contains("never"), "{error}");
    }

    #[test]
    fn a_fault_ends_the_kernel_unless_the_others_are_to_run_on() {
        assert!(!with(&[]).unwrap().runs_on);
        assert!(with(&[("CUDA_EMULATOR_FAULTS", "run-on")]).unwrap().runs_on);
        assert!(with(&[("CUDA_EMULATOR_FAULTS", "on")]).unwrap_err().contains("CUDA_EMULATOR_FAULTS"));
    }

    #[test]
    fn numbers_out_of_range_are_refused_by_name() {
        let error = with(&[("CUDA_EMULATOR_DEVICES", "65")]).unwrap_err();
        assert!(error.contains("CUDA_EMULATOR_DEVICES") && error.contains("65"), "{error}");
        assert!(with(&[("CUDA_EMULATOR_MEMORY", "lots")]).is_err());
        assert!(with(&[("CUDA_EMULATOR_INITCHECK", "yes")]).unwrap_err().contains("CUDA_EMULATOR_INITCHECK"));
    }
}
