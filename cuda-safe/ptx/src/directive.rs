//! The directives of texts, and the reason why each can or cannot matter to what a launch accesses. A
//! consumer to which it matters refuses all others.

/// Directives outside of functions.
pub const MODULE: &[(&str, &str)] = &[
    ("address_size", "addresses of 32 bits are another language"),
    ("alias", "a name may stand for another function"),
    ("attribute", "what `ATTRIBUTES` has"),
    ("common", "all definitions become one: a size is not known, and a function may have another body"),
    ("const", "a variable, whose size is read"),
    ("entry", "a kernel"),
    ("extern", "the size of a variable is not known"),
    ("file", "the name of a source file"),
    ("func", "a function"),
    ("global", "a variable, whose size is read"),
    ("loc", "a line of a source file"),
    ("pragma", "what `PRAGMAS` has"),
    ("section", "of a debugger, if the name begins with `.debug_`"),
    ("shared", "a variable, whose size is read"),
    ("target", "an architecture, perhaps with `debug`: other words change what instructions mean"),
    ("version", "6.0 and later have the memory model that is known"),
    ("visible", "other files may call it, which changes nothing of the function"),
    ("weak", "the size of a shared variable is not known, and a function may have another body"),
];

/// Directives between the parameters of a function and its body.
pub const HEADER: &[(&str, &str)] = &[
    ("attribute", "what `ATTRIBUTES` has"),
    ("blocksareclusters", "a launch counts clusters, and the block is that of `.reqntid`"),
    ("explicitcluster", "the driver refuses a launch that names no clusters"),
    ("local_maxnreg", "registers, which no other thread sees"),
    ("maxclusterrank", "the driver refuses a launch of larger clusters"),
    ("maxnctapersm", "a hint: how many registers a thread has"),
    ("maxnreg", "registers, which no other thread sees"),
    ("maxntid", "the driver refuses a launch of more threads"),
    ("minnctapersm", "a hint: how many registers a thread has"),
    ("noreturn", "what follows a call is not reached: a function with a body could return all the same"),
    ("reqnctapercluster", "the clusters of each launch that names none"),
    ("reqntid", "the driver refuses a launch of other blocks"),
];

/// What `.attribute` may list.
pub const ATTRIBUTES: &[(&str, &str)] = &[
    ("managed", "the host may access the variable, too"),
    ("unified", "a pointer to the function or variable is the same on all devices"),
];

/// The texts of `.pragma`. Others, such as `used_bytes_mask`, change what the next instruction does.
pub const PRAGMAS: &[(&str, &str)] = &[("nounroll", "a loop does the same in each form")];

/// Returns whether a table has a name.
#[must_use]
pub fn is_in(table: &[(&str, &str)], name: &str) -> bool {
    table.iter().any(|(own, _)| *own == name)
}
