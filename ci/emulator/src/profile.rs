//! The device that the emulator stands for: its properties, limits, architecture and links to its peers.
//!
//! Without `CUDA_EMULATOR_DEVICE` it is a small one of compute capability 9.0. The profiles of real devices
//! have the figures of the tables of compute capabilities in the CUDA programming guide, NVIDIA's data
//! sheets, and what `deviceQuery` prints.

use std::sync::LazyLock;

/// How two devices of a machine reach each other's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// By copies through the host only.
    Host,
    /// Kernels use it, but their atomic operations are not atomic for the other device.
    Pci,
    /// NVLink: with atomic operations.
    Bridge,
}

/// A kind of device.
#[derive(Debug)]
pub(crate) struct Profile {
    /// Its name in `CUDA_EMULATOR_DEVICE`.
    pub(crate) word: &'static str,
    /// Its name for programs.
    pub(crate) name: &'static str,
    /// The compute capability, 90 for 9.0.
    pub(crate) capability: u32,
    pub(crate) multiprocessors: u32,
    /// MiB of memory.
    pub(crate) memory: u64,
    /// Clock rates in MHz: of the multiprocessors and of the memory.
    pub(crate) clocks: [i32; 2],
    /// Bits of the memory's bus.
    pub(crate) bus: i32,
    /// KiB of the second cache.
    pub(crate) cache: i32,
    /// Of a multiprocessor: KiB of shared memory, threads, blocks.
    pub(crate) shared: u32,
    pub(crate) threads: u32,
    pub(crate) blocks: u32,
    /// How much faster single precision is than double.
    pub(crate) ratio: i32,
    pub(crate) engines: i32,
    pub(crate) ecc: bool,
    /// Bytes of the second cache that may be kept, and of an access policy window: known of an H200.
    pub(crate) windows: [i32; 2],
    pub(crate) link: Link,
}

/// A row of the table. The arrays are: compute capability and multiprocessors, the clock rates, bits of the
/// bus and KiB of the second cache, and the KiB of shared memory, threads and blocks of a multiprocessor.
#[rustfmt::skip]
const fn row(
    [word, name]: [&'static str; 2],
    [capability, multiprocessors]: [u32; 2],
    memory: u64,
    clocks: [i32; 2],
    [bus, cache]: [i32; 2],
    [shared, threads, blocks]: [u32; 3],
) -> Profile {
    let (ratio, engines, ecc, windows, link) = (2, 3, true, [2 << 20; 2], Link::Bridge);
    Profile {
        word, name, capability, multiprocessors, memory, clocks, bus, cache, shared, threads, blocks, ratio,
        engines, ecc, windows, link,
    }
}

#[rustfmt::skip]
static PROFILES: [Profile; 7] = [
    row(["", "CUDA emulator"], [90, 8], 16384, [1000, 1000], [64, 4 << 10], [228, 2048, 32]),
    Profile { ratio: 32, link: Link::Pci,
        ..row(["t4", "Tesla T4 (CUDA emulator)"],
              [75, 40], 15109, [1590, 5001], [256, 4 << 10], [64, 1024, 16]) },
    row(["a100", "NVIDIA A100-SXM4-80GB (CUDA emulator)"],
        [80, 108], 81251, [1410, 1593], [5120, 40 << 10], [164, 2048, 32]),
    Profile { ratio: 64, engines: 2, ecc: false, link: Link::Host,
        ..row(["rtx4090", "NVIDIA GeForce RTX 4090 (CUDA emulator)"],
              [89, 128], 24217, [2520, 10501], [384, 72 << 10], [100, 1536, 24]) },
    row(["h100", "NVIDIA H100 80GB HBM3 (CUDA emulator)"],
        [90, 132], 81090, [1980, 2619], [5120, 50 << 10], [228, 2048, 32]),
    Profile { windows: [39_321_600, 128 << 20],
        ..row(["h200", "NVIDIA H200 (CUDA emulator)"],
              [90, 132], 143_156, [1980, 3201], [6144, 60 << 10], [228, 2048, 32]) },
    row(["b200", "NVIDIA B200 (CUDA emulator)"],
        [100, 148], 182_642, [1965, 3996], [7680, 129_536], [228, 2048, 32]),
];

impl Profile {
    /// KiB of shared memory that a multiprocessor keeps for each block.
    pub(crate) fn reserved(&self) -> u32 {
        u32::from(self.capability >= 80)
    }

    /// The most bytes of shared memory of a block.
    pub(crate) fn most_shared(&self) -> u32 {
        (self.shared - self.reserved()) << 10
    }
}

/// Whether PTX for a target runs on a device. Features of one architecture (`sm_90a`) run on no other, and
/// those of a family (`sm_100f`) on its later members.
pub(crate) fn runs(target: &str, capability: u32) -> bool {
    let Some(number) = target.strip_prefix("sm_") else { return true };
    let digits = number.trim_end_matches(char::is_alphabetic);
    let Ok(wanted) = digits.parse::<u32>() else { return true };
    match number.strip_prefix(digits) {
        Some("a") => wanted == capability,
        Some("f") => wanted <= capability && wanted / 10 == capability / 10,
        _ => wanted <= capability,
    }
}

/// The profile of this process.
pub(crate) fn profile() -> &'static Profile {
    static PROFILE: LazyLock<&Profile> = LazyLock::new(|| {
        let name = std::env::var("CUDA_EMULATOR_DEVICE").unwrap_or_default();
        // The configuration refuses other names.
        parse(&name, u64::MAX).map_or(&PROFILES[0], |(profile, _)| profile)
    });
    &PROFILE
}

/// A profile by its name, and the number of devices if there is one behind: `h200x2`.
///
/// # Errors
/// What is expected, in words.
pub(crate) fn parse(text: &str, most: u64) -> Result<(&'static Profile, Option<u64>), String> {
    let find = |name: &str| PROFILES.iter().find(|it| it.word.eq_ignore_ascii_case(name));
    let counted = || {
        let (name, count) = text.rsplit_once(['x', 'X'])?;
        let count = count.parse().ok().filter(|count| *count <= most)?;
        Some((find(name).filter(|it| !it.word.is_empty())?, Some(count)))
    };
    find(text).map(|profile| (profile, None)).or_else(counted).ok_or_else(|| {
        let names: Vec<_> = PROFILES.iter().map(|it| it.word).filter(|it| !it.is_empty()).collect();
        format!("one of {} or such a name with a number up to {most}, as in h200x2", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_named_with_or_without_a_number() {
        let named = |text| parse(text, 64).map(|(profile, count)| (profile.word, count)).ok();
        assert_eq!(named("h200"), Some(("h200", None)));
        assert_eq!(named("H200x8"), Some(("h200", Some(8))));
        assert_eq!(named("rtx4090x2"), Some(("rtx4090", Some(2))));
        assert_eq!(named(""), Some(("", None)));
        for wrong in ["h200x", "h300", "x2", "h200x2x2", "h200x65"] {
            assert!(parse(wrong, 64).unwrap_err().contains("a100"), "{wrong}");
        }
    }

    #[test]
    fn ptx_runs_on_later_devices_unless_it_is_of_one_architecture() {
        let runs = |device: &str, target: &str| runs(target, parse(device, 64).unwrap().0.capability);
        assert!(runs("b200", "sm_90") && runs("t4", "sm_75") && runs("h100", "sm_90a"));
        assert!(!runs("b200", "sm_90a") && !runs("t4", "sm_80") && !runs("a100", "sm_89"));
        assert!(runs("b200", "sm_100f") && !runs("h200", "sm_100f"));
        assert_eq!(parse("t4", 64).unwrap().0.most_shared(), 64 << 10);
        assert_eq!(parse("rtx4090", 64).unwrap().0.most_shared(), 99 << 10);
    }
}
