//! The directives between a function's parameters and its body, and pragmas: what each changes, and why.

/// What a directive may change of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// Nothing that a launch accesses.
    Nothing,
    /// Which threads a launch has.
    Threads,
    /// What instructions do, or it is not known.
    Code,
}

/// Directives between parameters and body, what each changes, and the reason.
pub const HEADER: &[(&str, Change, &str)] = &[
    ("maxntid", Change::Nothing, "a larger block is refused, and no block becomes another"),
    ("reqntid", Change::Nothing, "another block is refused"),
    ("minnctapersm", Change::Nothing, "it bounds registers: how many there are is not seen"),
    ("maxnctapersm", Change::Nothing, "it bounds registers: how many there are is not seen"),
    ("maxnreg", Change::Nothing, "it bounds registers: how many there are is not seen"),
    ("local_maxnreg", Change::Nothing, "it bounds registers: how many there are is not seen"),
    ("explicitcluster", Change::Nothing, "a launch without clusters is refused"),
    ("reqnctapercluster", Change::Nothing, "clusters of another shape are refused"),
    ("maxclusterrank", Change::Nothing, "a larger cluster is refused"),
    (
        "blocksareclusters",
        Change::Threads,
        "the grid of a launch counts clusters, and its block is `.reqntid`'s",
    ),
    (
        "abi_preserve",
        Change::Nothing,
        "which registers a function keeps for its caller is the compiler's affair",
    ),
    ("abi_preserve_control", Change::Nothing, "as abi_preserve"),
    ("unified", Change::Nothing, "host and device call the function by one address"),
    ("noreturn", Change::Code, "what follows a call is not reached: the compiler leaves it out"),
];

/// Pragmas, what each changes, and the reason.
pub const PRAGMAS: &[(&str, Change, &str)] = &[
    ("nounroll", Change::Nothing, "a loop does the same in each form"),
    ("enable_smem_spilling", Change::Nothing, "registers that do not fit go to shared memory of their own"),
    ("frequency", Change::Nothing, "it tells how often a block runs: a hint"),
    ("used_bytes_mask", Change::Code, "the next load may leave bytes out"),
];

/// Returns what a directive of this name between parameters and body may change.
#[must_use]
pub fn of_header(name: &str) -> Change {
    HEADER.iter().find(|(own, ..)| *own == name).map_or(Change::Code, |(_, change, _)| *change)
}

/// Returns what a pragma may change. Its text has numbers behind its first word.
#[must_use]
pub fn of_pragma(text: &str) -> Change {
    let word = text.split(' ').next();
    PRAGMAS.iter().find(|(own, ..)| Some(*own) == word).map_or(Change::Code, |(_, change, _)| *change)
}
