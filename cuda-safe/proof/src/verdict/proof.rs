//! What a proof says of a launch, and the words of a refusal.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::domain::Region;
use crate::effort::BUDGET;
use crate::engine::{Access, Analysis, Doubt, FARTHEST, GaveUp, Interpreter};
use crate::ir::{Effect, Kernel, Op, Origin, Space};
use crate::launch::Launch;

/// The bytes of one pointer's memory that a launch may access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The index of the parameter.
    pub parameter: usize,
    /// The offset of the pointer in the parameter.
    pub offset: u64,
    /// What may be read.
    pub reads: Option<Bytes>,
    /// What may be written.
    pub writes: Option<Bytes>,
    /// A power of two that the pointer must be a multiple of.
    pub align: u32,
}

/// What memory lacks of a need.
enum Lack<'a> {
    Alignment,
    Writability(&'a Bytes),
    Written(&'a Bytes),
    Read(&'a Bytes),
}

impl Need {
    /// Returns what the memory of a pointer lacks.
    fn lacks(&self, address: u64, bytes: u64, is_writable: bool) -> Option<Lack<'_>> {
        if !address.is_multiple_of(u64::from(self.align).max(1)) {
            return Some(Lack::Alignment);
        }
        if let Some(written) = &self.writes {
            if !is_writable {
                return Some(Lack::Writability(written));
            }
            if !written.are_within(bytes) {
                return Some(Lack::Written(written));
            }
        }
        self.reads.as_ref().filter(|read| !read.are_within(bytes)).map(Lack::Read)
    }
}

/// A range of bytes, from where a pointer points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytes {
    /// The first byte.
    pub low: i64,
    /// The byte after the last one.
    pub high: i64,
    lowest: Place,
    highest: Place,
}

impl Bytes {
    /// Returns whether memory of so many bytes has them.
    fn are_within(&self, bytes: u64) -> bool {
        self.low >= 0 && u64::try_from(self.high).is_ok_and(|high| high <= bytes)
    }
}

/// The access that sets an end of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    at: (u32, u32),
    origin: Origin,
    from: (u32, u32),
}

/// What is known of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The launch accesses no other memory than this, and shared memory, stack and variables within their
    /// bounds.
    Proven(Proof),
    /// Nothing is proven.
    Refused(Refusal),
}

/// A proof: [`Verdict::check`] compares it with the memory of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    kernel: String,
    files: Vec<String>,
    /// Grid, block and so on, in words.
    given: String,
    numbers: Vec<Number>,
    needs: Vec<Need>,
    /// Names of variables, and whether they may be written.
    variables: BTreeMap<String, bool>,
}

/// A number among the arguments on which a proof depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Number {
    parameter: usize,
    offset: u64,
    bits: i128,
    /// Whether the kernel reads it as a float, of so many bytes.
    float: Option<u64>,
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.float, u32::try_from(self.bits), u64::try_from(self.bits)) {
            (Some(4), Ok(bits), _) => write!(f, "{:?}", f32::from_bits(bits)),
            (Some(8), _, Ok(bits)) => write!(f, "{:?}", f64::from_bits(bits)),
            _ => write!(f, "{}", self.bits),
        }
    }
}

/// The memory behind a pointer.
#[derive(Clone, Copy, Debug)]
pub struct Memory<'a> {
    /// The index of the parameter.
    pub parameter: usize,
    /// The offset of the pointer in the parameter.
    pub offset: u64,
    /// The name of the argument.
    pub name: &'a str,
    /// The address that is passed.
    pub address: u64,
    /// How many bytes from the address on belong to the argument.
    pub bytes: u64,
    /// The bytes of an element, in which a refusal counts.
    pub element: u64,
    /// Whether the kernel may write it.
    pub is_writable: bool,
}

/// Why a launch is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The kernel's name.
    pub kernel: String,
    /// File and line in the kernel's source, if they are known.
    pub place: Option<(String, u32)>,
    /// Whether the kernel does leave its memory as far as the analysis can see, not only perhaps.
    pub is_certain: bool,
    /// What the kernel may do, and what to write in the kernel.
    pub reason: String,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.is_certain {
            write!(f, "cannot prove ")?;
        }
        write!(f, "{}", self.kernel)?;
        if !self.is_certain {
            f.write_str(":")?;
        }
        write!(f, " {}", self.reason)
    }
}

impl std::error::Error for Refusal {}

/// Proves which memory a launch accesses.
///
/// The values must be those of the launch: grid, block, clusters, shared bytes, and the parts of arguments
/// that [`Kernel::key`] lists. The verdict holds for all launches that agree in these, whatever their lengths
/// and addresses.
///
/// # Examples
/// ```
/// # const PTX: &str = include_str!("../tests/add.ptx");
/// use cuda_proof::{Argument, Kernel, Launch, Memory, kernels, prove};
///
/// // In a build script: from PTX to the bytes that a generated handle contains.
/// let slice = kernels(PTX)?[0].to_bytes();
///
/// // In a program: once for each handle ...
/// let kernel = Kernel::from_bytes(&slice)?;
/// // ... and once for each set of values.
/// let count = 1000_u32.to_le_bytes();
/// let verdict = prove(&kernel, &Launch {
///     grid: [4, 1, 1],
///     block: [256, 1, 1],
///     cluster: None,
///     is_cooperative: false,
///     shared: 0,
///     arguments: &[Argument::pointer(), Argument::pointer(), Argument::pointer(), Argument::value(&count)],
/// });
///
/// // For each launch: 1000 elements are enough, and 999 are not.
/// let memory = |parameter, name, length: u64| Memory {
///     parameter, offset: 0, name, address: 0x7000_0000, bytes: 4 * length, element: 4, is_writable: true,
/// };
/// let names = ["a", "b", "sum", "count"];
/// let inputs = [memory(0, "a", 1000), memory(1, "b", 1000)];
/// assert!(verdict.check(&[inputs[0], inputs[1], memory(2, "sum", 1000)], &names).is_ok());
/// let refusal = verdict.check(&[inputs[0], inputs[1], memory(2, "sum", 999)], &names);
/// assert_eq!(
///     refusal.unwrap_err().to_string(),
///     "add may write sum[999..1000], but sum has 999 elements: add.cu:3; the index is up to 999 with \
///      grid 4, block 256, count 1000",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn prove(kernel: &Kernel, launch: &Launch<'_>) -> Verdict {
    prove_within(kernel, launch, BUDGET)
}

/// Does what [`prove`] does with a budget of its own.
#[must_use]
pub fn prove_within(kernel: &Kernel, launch: &Launch<'_>, budget: u64) -> Verdict {
    let seen = match launch.as_seen_by(kernel) {
        Ok(seen) => seen,
        Err(reason) => {
            return Verdict::Refused(Refusal {
                kernel: kernel.name.clone(),
                place: None,
                is_certain: false,
                reason,
            });
        }
    };
    let mut left = budget;
    let mut unstable = BTreeSet::new();
    let mut is_partitioned = true;
    loop {
        let mut analysis = Analysis::new(kernel, &seen, left);
        analysis.unstable.clone_from(&unstable);
        analysis.is_partitioned = is_partitioned;
        let mut walk = Interpreter::new(&mut analysis, &kernel.graph);
        let end = walk.run();
        left = left.saturating_sub(walk.analysis.spent());
        if end == Err(GaveUp::Budget) && is_partitioned && walk.could_partition {
            is_partitioned = false;
            continue;
        }
        let doubt = end.err().and_then(|why| walk.doubt(why)).or_else(|| analysis.doubt.clone());
        if let Some(doubt) = doubt {
            return Verdict::Refused(refusal(kernel, &doubt, false));
        }
        if analysis.beyond.is_some() || !adds_unstable(&analysis, &mut unstable) {
            return verdict(&analysis);
        }
    }
}

/// Adds the memory of which a value that was loaded may not stay the same: the kernel writes its bytes in
/// other pieces, which is known at the end. Returns whether there is more of it than before.
fn adds_unstable(analysis: &Analysis<'_>, unstable: &mut BTreeSet<(Region, bool)>) -> bool {
    let before = unstable.len();
    for (region, element, is_read_only) in &analysis.loaded {
        // A variable of the program may be an argument as well.
        let objects = &analysis.kernel.objects;
        let is_variable = |region: Region| matches!(region, Region::Object(it) if objects[it as usize].space == Space::Global);
        let meets = |one: Region, other: Region| {
            one == other || is_variable(one) && matches!(other, Region::Parameter(..))
        };
        let conflicts = |it: &&(Region, u32)| {
            (meets(it.0, *region) || meets(*region, it.0)) && (*is_read_only || it.1 != *element)
        };
        if analysis.written.iter().any(|it| conflicts(&it)) {
            unstable.insert((*region, *is_read_only));
        }
    }
    unstable.len() > before
}

fn verdict(analysis: &Analysis<'_>) -> Verdict {
    let kernel = analysis.kernel;
    let mut needs: BTreeMap<(usize, u64), Need> = BTreeMap::new();
    let mut variables = BTreeMap::new();
    for access in analysis.accesses().iter().chain(&analysis.beyond) {
        let Access { at, region, low, high, align, reads, writes, origin } = *access;
        let refused = |reason: &str| {
            let doubt = Doubt { at, reason: reason.to_owned(), origin };
            Verdict::Refused(refusal(kernel, &doubt, low < 0))
        };
        match region {
            Region::Object(object) | Region::Generic(object) => {
                let bytes = i128::from(analysis.size(object));
                let object = &kernel.objects[object as usize];
                if low < 0 || high > bytes {
                    let reason = match object.space {
                        _ if object.bytes == Some(0) => {
                            format!("the size of {} is not in the PTX", object.name)
                        }
                        Space::Shared if object.bytes.is_none() => {
                            format!(
                                "may access bytes {low}..{high} of the {bytes} bytes of dynamic shared memory"
                            )
                        }
                        _ => format!("may access bytes {low}..{high} of {}, which has {bytes}", object.name),
                    };
                    return refused(&reason);
                }
                if matches!(object.space, Space::Global | Space::Const) {
                    *variables.entry(object.name.clone()).or_default() |= writes;
                }
            }
            // It was compared with the barrier's bytes.
            Region::Workspace => {}
            Region::Parameter(parameter, offset) => {
                let narrow = |bound: i128| i64::try_from(bound).ok().filter(|_| bound.abs() < FARTHEST);
                let (Some(low), Some(high)) = (narrow(low), narrow(high)) else {
                    return refused("the index has no bound");
                };
                // What the kernel promises of a pointer, the compiler may use.
                let promised = kernel.parameters.get(parameter).filter(|_| offset == 0);
                let align = align.max(promised.map_or(1, |it| it.pointee));
                let need = Need { parameter, offset, reads: None, writes: None, align };
                let need = needs.entry((parameter, offset)).or_insert(need);
                need.align = need.align.max(align);
                let place = Place { at, origin: origin.0, from: origin.1 };
                for side in [(reads, &mut need.reads), (writes, &mut need.writes)] {
                    let (true, bytes) = side else { continue };
                    let new = Bytes { low, high, lowest: place.clone(), highest: place.clone() };
                    match bytes {
                        None => *bytes = Some(new),
                        Some(bytes) => {
                            if low < bytes.low {
                                (bytes.low, bytes.lowest) = (low, place.clone());
                            }
                            if high > bytes.high {
                                (bytes.high, bytes.highest) = (high, place.clone());
                            }
                        }
                    }
                }
            }
        }
    }
    let launch = analysis.launch;
    let size = |of: [u32; 3]| match of {
        [x, 1, 1] => x.to_string(),
        [x, y, 1] => format!("({x}, {y})"),
        [x, y, z] => format!("({x}, {y}, {z})"),
    };
    let mut given = format!("grid {}, block {}", size(launch.grid), size(launch.block));
    if let Some(cluster) = launch.cluster {
        let _ = write!(given, ", cluster {}", size(cluster));
    }
    if launch.shared != 0 {
        let _ = write!(given, ", {} bytes of shared memory", launch.shared);
    }
    let numbers = kernel.key().into_iter().filter_map(|(parameter, offset, size)| {
        let argument = launch.arguments.get(parameter)?;
        let overlaps = |it: &&u64| **it < offset + size && offset < **it + 8;
        if argument.pointers.iter().any(|it| overlaps(&it)) {
            return None;
        }
        let mut bytes = [0; 16];
        let start = usize::try_from(offset).ok()?;
        let given = argument.bytes.get(start..start + usize::try_from(size).ok()?)?;
        bytes.get_mut(..given.len())?.copy_from_slice(given);
        let float = kernel.is_float(parameter, offset).then_some(size);
        Some(Number { parameter, offset, bits: i128::from_le_bytes(bytes), float })
    });
    Verdict::Proven(Proof {
        kernel: kernel.name.clone(),
        files: kernel.files.clone(),
        given,
        numbers: numbers.collect(),
        needs: needs.into_values().collect(),
        variables,
    })
}

/// Makes the words of what cannot be proven, perhaps of an index that may be below zero.
fn refusal(kernel: &Kernel, doubt: &Doubt, is_below: bool) -> Refusal {
    let Doubt { at, reason, origin } = doubt;
    let (at, origin) = (*at, *origin);
    let place = place(&kernel.files, at);
    let mut text = String::new();
    if let Some((file, line)) = &place {
        let _ = write!(text, "{file}:{line}, ");
    }
    text += reason;
    because(&mut text, &kernel.files, at, origin, is_below);
    Refusal { kernel: kernel.name.clone(), place, is_certain: false, reason: text }
}

/// Adds where an index comes from, and what to write in the kernel.
fn because(
    text: &mut String,
    files: &[String],
    at: (u32, u32),
    (origin, from): (Origin, (u32, u32)),
    is_below: bool,
) {
    let what = match origin {
        Origin::Exact => return,
        Origin::Computed => "the index is computed in a way that is known by its range only",
        Origin::Unwritten => {
            "it is chosen from several pointers, or comes from a local array or an unwritten register"
        }
        Origin::Float => "the index comes from a floating-point number",
        Origin::Shuffle => "the index comes from another thread",
        Origin::Texture => "the index comes from a texture",
        Origin::Atomic => "the index comes from an atomic operation",
        Origin::Memory => "the index comes from memory",
    };
    let _ = write!(text, "; {what}");
    if let Some((file, line)) = place(files, from).filter(|_| from != at) {
        if from.0 == at.0 {
            let _ = write!(text, " (line {line})");
        } else {
            let _ = write!(text, " ({file}:{line})");
        }
    }
    let guard = if is_below { "i >= 0 && i < n" } else { "i < n" };
    let _ = write!(text, "; write `if ({guard})` with that index before the access");
}

fn place(files: &[String], (file, line): (u32, u32)) -> Option<(String, u32)> {
    let file = usize::try_from(file).ok().and_then(|file| files.get(file))?;
    (line != 0).then(|| (file.clone(), line))
}

impl Kernel {
    /// Returns why no launch of the kernel that gets there can be proven: instructions and calls that the
    /// analysis does not know. A build script can warn of them. An empty list promises nothing.
    #[must_use]
    pub fn doubts(&self) -> Vec<Refusal> {
        let doubt = |step: &crate::ir::Step| {
            let [crate::ir::Operand::Number(text)] = step.from[..] else { return None };
            let text = self.texts.get(usize::try_from(text).ok()?)?;
            let origin = (Origin::Exact, step.at);
            Some(refusal(self, &Doubt { at: step.at, reason: text.clone(), origin }, false))
        };
        self.steps.iter().filter(|step| step.op == Op::Refuse).filter_map(doubt).collect()
    }

    /// Returns why no launch of the kernel can be proven: each gets to an instruction or a call that the
    /// analysis does not know, before the first branch.
    #[must_use]
    pub fn never(&self) -> Option<Refusal> {
        let is_end = |step: &&crate::ir::Step| matches!(step.effect(), Effect::Jump | Effect::Refuse);
        let first = self.steps.iter().find(is_end)?;
        // It is the first doubt of all.
        self.doubts().into_iter().next().filter(|_| first.op == Op::Refuse && first.guard.is_none())
    }
}

impl Verdict {
    /// Checks that the memory of a launch has the bytes and the alignment that the verdict requires. Nothing
    /// else is to do for a launch that has a verdict.
    ///
    /// # Errors
    /// The launch is refused: the words are for the programmer.
    pub fn check(&self, memory: &[Memory<'_>], names: &[&str]) -> Result<&[Need], Refusal> {
        match self {
            Self::Proven(proof) => proof.check(memory, names).map(|()| &proof.needs[..]),
            Self::Refused(refusal) => Err(refusal.clone()),
        }
    }
}

impl Proof {
    /// The bytes that the launch accesses of each parameter. If one of them begins before its pointer, no
    /// memory suffices, and the list has what was found until then.
    #[must_use]
    pub fn needs(&self) -> &[Need] {
        &self.needs
    }

    /// The `__device__` and `__constant__` variables that the launch accesses, by their names in PTX, and
    /// whether it may write them.
    pub fn variables(&self) -> impl Iterator<Item = (&str, bool)> {
        self.variables.iter().map(|(name, is_written)| (name.as_str(), *is_written))
    }

    /// Returns the refusal of an index that only its type bounds: it comes from memory, for example, and no
    /// guard stands before the access. Only memory of two gigaelements would suffice.
    #[must_use]
    pub fn without_bound(&self, memory: &[Memory<'_>]) -> Option<Refusal> {
        self.needs.iter().find_map(|need| {
            let memory =
                memory.iter().find(|it| (it.parameter, it.offset) == (need.parameter, need.offset))?;
            let elements = |bytes: &Bytes| bytes.high / i64::try_from(memory.element.max(1)).unwrap_or(1);
            let is_open = |it: &&Bytes| it.highest.origin != Origin::Exact && elements(it) >= 1 << 31;
            let bytes = need.writes.iter().chain(&need.reads).find(is_open)?;
            let Place { at, origin, from } = bytes.highest;
            let reason = format!("reaches {}[..{}], which nothing bounds", memory.name, elements(bytes));
            let mut refusal = Refusal { is_certain: false, ..self.refused(Some(at), reason) };
            because(&mut refusal.reason, &self.files, at, (origin, from), false);
            Some(refusal)
        })
    }

    fn check(&self, memory: &[Memory<'_>], names: &[&str]) -> Result<(), Refusal> {
        for need in &self.needs {
            let found = memory.iter().find(|it| (it.parameter, it.offset) == (need.parameter, need.offset));
            let Some(memory) = found else {
                return Err(self.refused(
                    None,
                    format!("accesses memory of parameter {}, which is not given", need.parameter),
                ));
            };
            let (bytes, verb) = match need.lacks(memory.address, memory.bytes, memory.is_writable) {
                None => continue,
                Some(Lack::Alignment) => {
                    return Err(self.refused(
                        need.writes.as_ref().or(need.reads.as_ref()).map(|it| it.highest.at),
                        format!(
                            "needs {} at a multiple of {} bytes, and it begins at {:#x}",
                            memory.name, need.align, memory.address
                        ),
                    ));
                }
                Some(Lack::Writability(bytes)) => {
                    return Err(self.refused(
                        Some(bytes.highest.at),
                        format!("writes {}, which it is to read only", memory.name),
                    ));
                }
                Some(Lack::Written(bytes)) => (bytes, "write"),
                Some(Lack::Read(bytes)) => (bytes, "read"),
            };
            return Err(self.beyond(bytes, verb, memory, names));
        }
        Ok(())
    }

    fn refused(&self, at: Option<(u32, u32)>, mut reason: String) -> Refusal {
        let place = at.and_then(|at| place(&self.files, at));
        if let Some((file, line)) = &place {
            let _ = write!(reason, ": {file}:{line}");
        }
        Refusal { kernel: self.kernel.clone(), place, is_certain: true, reason }
    }

    #[cold]
    fn beyond(&self, bytes: &Bytes, verb: &str, memory: &Memory<'_>, names: &[&str]) -> Refusal {
        let unit = i64::try_from(memory.element.max(1)).unwrap_or(1);
        let length = memory.bytes / memory.element.max(1);
        let name = memory.name;
        let (place, from, to) = if bytes.low < 0 {
            (&bytes.lowest, bytes.low.div_euclid(unit), 0)
        } else {
            let end = bytes.high.checked_add(unit - 1).unwrap_or(i64::MAX).div_euclid(unit);
            (&bytes.highest, i64::try_from(length).unwrap_or(i64::MAX), end)
        };
        let there = if bytes.low < 0 {
            "before its first element".to_owned()
        } else {
            format!("but {name} has {length} elements")
        };
        let mut refusal = self.refused(Some(place.at), format!("may {verb} {name}[{from}..{to}], {there}"));
        let text = &mut refusal.reason;
        let last = if bytes.low < 0 { from } else { to - 1 };
        let bound = if bytes.low < 0 { "down" } else { "up" };
        let _ = write!(text, "; the index is {bound} to {last} with {}", self.given);
        for value in &self.numbers {
            let Number { parameter, offset, .. } = value;
            match names.get(*parameter) {
                Some(name) if *offset == 0 => _ = write!(text, ", {name} {value}"),
                Some(name) => _ = write!(text, ", {value} at byte {offset} of {name}"),
                None => _ = write!(text, ", {value} in parameter {parameter}"),
            }
        }
        if place.origin != Origin::Exact {
            refusal.is_certain = false;
            because(text, &self.files, place.at, (place.origin, place.from), bytes.low < 0);
        }
        refusal
    }
}
