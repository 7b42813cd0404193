//! Lists of launches: a line has the kernel, grid, block, arguments, bytes behind each pointer, and the bytes
//! of dynamic shared memory, between bars, with `cooperative` behind them. A pointer is `p`, a structure
//! `{offset:bytes=value;...}`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a list with a wrong line ends the program")]

use cuda_proof::{Argument, Kernel, Launch};

#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) kernel: String,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// Bytes and pointers of each argument.
    pub(crate) arguments: Vec<(Vec<u8>, Vec<u64>)>,
    /// Bytes behind each pointer, in order. `None` if the list does not say.
    pub(crate) extents: Vec<Option<u64>>,
    pub(crate) shared: u32,
    /// Whether the launch is cooperative: the word behind the bytes of shared memory.
    pub(crate) is_cooperative: bool,
}

fn dimensions(text: &str) -> [u32; 3] {
    let mut all = text.split(',').map(|it| it.trim().parse().expect("a dimension"));
    std::array::from_fn(|_| all.next().unwrap_or(1))
}

fn value(text: &str, bytes: usize) -> Vec<u8> {
    if let Some(float) = text.strip_prefix('f') {
        let text = if float.is_empty() { "1.5" } else { float };
        return match bytes {
            4 => text.parse::<f32>().expect("a float").to_le_bytes().to_vec(),
            _ => text.parse::<f64>().expect("a float").to_le_bytes().to_vec(),
        };
    }
    let value: i128 = text.parse().unwrap_or_else(|_| panic!("{text} is no number"));
    value.to_le_bytes()[..bytes.min(16)].to_vec()
}

impl Spec {
    /// Reads a line. The kernel's parameters say how many bytes a number has.
    pub(crate) fn parse(line: &str, kernels: &[Kernel]) -> Option<(Self, usize)> {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [name, grid, block, arguments, rest @ ..] = &columns[..] else {
            panic!("{line}: too few columns")
        };
        // The shortest name that contains the text: C++ names are mangled.
        let found = kernels.iter().enumerate().filter(|(_, it)| it.name().contains(name));
        let (index, kernel) = found.min_by_key(|(_, it)| it.name().len())?;
        let mut list = Vec::new();
        let mut depth = 0;
        let split = arguments.split(|sign: char| {
            depth += i32::from(sign == '{') - i32::from(sign == '}');
            depth == 0 && sign == ','
        });
        for (text, parameter) in split.map(str::trim).filter(|it| !it.is_empty()).zip(kernel.parameters()) {
            let size = usize::try_from(parameter.bytes).unwrap();
            if text == "p" {
                list.push((vec![0; 8], vec![0]));
            } else if let Some(fields) = text.strip_prefix('{') {
                let (mut bytes, mut pointers) = (vec![0; size], Vec::new());
                for field in fields.trim_end_matches('}').split(';') {
                    let (place, what) = field.split_once('=').expect("offset:bytes=value");
                    let (offset, length) = place.split_once(':').expect("offset:bytes=value");
                    let (offset, length): (usize, usize) =
                        (offset.trim().parse().unwrap(), length.parse().unwrap());
                    if what == "p" {
                        pointers.push(offset as u64);
                    } else {
                        bytes[offset..offset + length].copy_from_slice(&value(what, length));
                    }
                }
                list.push((bytes, pointers));
            } else {
                list.push((value(text, size), Vec::new()));
            }
        }
        let extents =
            rest.first().map_or(Vec::new(), |it| it.split(',').map(|it| it.trim().parse().ok()).collect());
        let shared = rest.get(1).copied().unwrap_or_default();
        let cooperative = shared.strip_suffix("cooperative");
        let (shared, is_cooperative) = (cooperative.unwrap_or(shared).trim(), cooperative.is_some());
        let shared = if shared.is_empty() { 0 } else { shared.parse().expect("bytes of shared memory") };
        let (grid, block) = (dimensions(grid), dimensions(block));
        Some((
            Self {
                kernel: kernel.name().to_owned(),
                grid,
                block,
                arguments: list,
                extents,
                shared,
                is_cooperative,
            },
            index,
        ))
    }

    pub(crate) fn with<T>(&self, then: impl FnOnce(&Launch<'_>) -> T) -> T {
        let arguments: Vec<Argument<'_>> =
            self.arguments.iter().map(|(bytes, pointers)| Argument { bytes, pointers }).collect();
        then(&Launch {
            grid: self.grid,
            block: self.block,
            cluster: None,
            is_cooperative: self.is_cooperative,
            shared: self.shared,
            arguments: &arguments,
        })
    }

    /// Parameter, offset and bytes of each pointer.
    pub(crate) fn pointers(&self) -> Vec<(usize, u64, Option<u64>)> {
        let all = self.arguments.iter().enumerate();
        let all = all.flat_map(|(index, (_, pointers))| pointers.iter().map(move |offset| (index, *offset)));
        all.enumerate()
            .map(|(at, (index, offset))| (index, offset, self.extents.get(at).copied().flatten()))
            .collect()
    }
}
