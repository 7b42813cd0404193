//! The details of an error and their message: what was requested, and what exists.
#![expect(unsafe_code, reason = "asks driver and runtime for their versions")]

use std::borrow::Cow;
use std::fmt;
use std::panic::Location;

use crate::sys;
use crate::sys::cudaError_t;

/// The kind of a failure: what a program can act on. The sentence for a reader is the [`Detail`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// CUDA reports the failure, and [`Error::code`](crate::Error::code) classifies it.
    Call,
    /// An argument is invalid: a length, an extent, a range, an alignment, a name, memory of the wrong type.
    Argument,
    /// A number is larger than the device or the runtime supports. Less work may succeed.
    Limit,
    /// A device does not exist, or the memory or the stream belongs to another one.
    Device,
    /// The device, the driver or the toolkit does not support the operation.
    Unsupported,
    /// The thread is inside a host function, a listener, or the closure of another operation.
    InCallback,
    /// A guard, a graph or another owner still uses the memory. Drop that first.
    InUse,
    /// Nothing orders two conflicting operations.
    Hazard,
    /// The call is not possible during a capture, or the stream or event is not part of the capture.
    Capture,
    /// The bytes are not code, the compiler failed, or the code has no such kernel or variable.
    Code,
    /// The graph cannot update the executable graph. Instantiate it instead.
    Update,
    /// A host function of a stream panicked.
    Panicked,
    /// The kernel may leave the memory of its arguments, or nothing proves that it does not.
    Proof,
}

/// A sentence about a failure: what was requested, what exists, and what to do. [`kind`](Self::kind) is for
/// programs.
///
/// Libraries on top of this crate use the constructors for their own refusals. Lengths are in elements unless
/// stated otherwise.
#[derive(Clone, PartialEq, Eq)]
pub struct Detail {
    kind: ErrorKind,
    code: cudaError_t,
    text: Cow<'static, str>,
}

impl Detail {
    /// No details beyond the code.
    pub(crate) const NONE: Self = Self::constant(ErrorKind::Call, "no further details");
    /// A CUDA call, or a wait for one, inside a host function of a stream.
    pub const IN_CALLBACK: Self = Self::constant(
        ErrorKind::InCallback,
        "a host function that a stream runs may not call CUDA or wait for it",
    );
    /// An operation was started inside the closure of another one on the same thread.
    pub const NESTED: Self =
        Self::constant(ErrorKind::InCallback, "an operation was started inside the closure of another one");
    /// Device work would access host memory that a live guard lends.
    pub const HOST_BORROWED: Self = Self::constant(
        ErrorKind::InUse,
        "the memory is lent to the host by a guard that still lives: drop that first",
    );
    /// A call in the child of a fork.
    pub(crate) const IN_CHILD: Self =
        Self::constant(ErrorKind::Unsupported, "the child of a fork cannot use CUDA, as its parent has")
            .or_code(sys::cudaErrorInitializationError);
    /// The memory is still retained by a graph.
    pub const IN_GRAPH: Self = Self::constant(
        ErrorKind::InUse,
        "a graph still holds the memory: drop that and its executable forms first",
    );
    /// Memory that cannot be retained as long as a graph that uses it.
    pub const NOT_RETAINED: Self = Self::constant(
        ErrorKind::Argument,
        "a graph cannot keep this memory for as long as it lives: it keeps memory of owners of this crate, \
         such as a `PinnedBuffer`, and none of a slice or a vector",
    )
    .or_code(sys::cudaErrorNotPermitted);
    /// The call is not possible while a stream is being captured into a graph.
    pub const CAPTURING: Self =
        Self::constant(ErrorKind::Capture, "not possible while a stream is being captured");
    /// The thread makes a capture, and the stream or the event is not part of it.
    pub const OUTSIDE_CAPTURE: Self = Self::constant(
        ErrorKind::Capture,
        "not part of the capture that this thread makes: use the stream that the closure receives, a `fork` \
         of it, or a stream that waits for an event recorded there; do blocking calls and work on other \
         streams before the capture or after it",
    );
    const fn constant(kind: ErrorKind, text: &'static str) -> Self {
        Self { kind, code: kind.code(), text: Cow::Borrowed(text) }
    }

    /// Returns the detail of this kind with a sentence.
    #[must_use]
    pub fn new(kind: ErrorKind, text: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, code: kind.code(), text: text.into() }
    }

    /// Returns the same detail with the code that CUDA uses for the mistake, where its kind has several.
    #[must_use]
    pub(crate) const fn or_code(mut self, code: cudaError_t) -> Self {
        self.code = code;
        self
    }

    /// Replaces the sentence by one that is made from it.
    pub(super) fn reword(&mut self, text: impl FnOnce(&str) -> String) {
        self.text = text(&self.text).into();
    }

    /// Two sides of a copy that differ in length.
    #[must_use]
    pub fn length_mismatch(destination: usize, source: usize) -> Self {
        let least = destination.min(source);
        argument(format!(
            "lengths differ: the destination has {destination} elements, the source {source}; copy a part of \
             {least} of the longer one"
        ))
    }

    /// Two sides of a copy of a plane or a volume that differ in width, height or depth.
    #[must_use]
    pub fn extent_mismatch(destination: [usize; 3], source: [usize; 3]) -> Self {
        argument(format!(
            "extents differ: the destination has width, height and depth {destination:?}, the source \
             {source:?}; copy parts that have the same"
        ))
    }

    /// A pitch (bytes from one row to the next) that is not valid for rows of `row` bytes.
    pub(crate) fn pitch(pitch: usize, row: usize, align: usize) -> Self {
        argument(format!(
            "a pitch of {pitch} bytes does not do for rows of {row} bytes whose elements are aligned to \
             {align}"
        ))
    }

    /// An argument that has another length than the operation needs.
    #[must_use]
    pub fn wrong_length(what: &'static str, needed: usize, found: usize) -> Self {
        argument(format!("{what} has {found} elements, {needed} are needed"))
    }

    /// A product or sum of sizes that does not fit in `usize`.
    #[must_use]
    pub fn overflow(what: &'static str, left: usize, right: usize) -> Self {
        argument(format!("{what} overflows: {left} and {right} do not fit together in {} bits", usize::BITS))
    }

    /// Source and destination that share bytes: their offsets in one allocation, or their addresses. In a
    /// batch, the destination of one copy and a side of another one.
    #[must_use]
    pub fn overlapping(destination: usize, source: usize, bytes: usize) -> Self {
        argument(format!(
            "source and destination overlap: {bytes} bytes from byte {source} to byte {destination} of the \
             same memory; copy them to other memory first"
        ))
    }

    /// A range that ends past the last of `len` elements, or before it starts.
    #[must_use]
    pub fn out_of_range(start: usize, end: usize, len: usize) -> Self {
        argument(format!("range {start}..{end} does not fit in {len} elements"))
    }

    /// An element type of zero bytes, so that nothing can be copied or counted.
    #[must_use]
    pub fn zero_sized(type_name: &'static str) -> Self {
        argument(format!("elements of type {type_name} have no bytes"))
    }

    /// Bytes that are not a whole number of elements.
    pub(crate) fn not_divisible(bytes: usize, element: usize) -> Self {
        argument(format!("{bytes} bytes are not a whole number of elements of {element} bytes"))
    }

    /// An address that does not have the alignment.
    pub(crate) fn misaligned(address: usize, align: usize) -> Self {
        argument(format!("address {address:#x} is not aligned to {align} bytes"))
    }

    /// A count of zero that must be at least one.
    #[must_use]
    pub fn zero(what: &'static str) -> Self {
        argument(format!("{what} is zero, at least 1 is needed"))
    }

    /// A name or path with a zero byte, which C would interpret as its end.
    pub(crate) fn nul_byte(what: &'static str) -> Self {
        argument(format!("{what} has a zero byte, which would be its end"))
    }

    /// A texture or surface that is not possible, and the alternative.
    pub(crate) fn texture(asked: &'static str, instead: &'static str) -> Self {
        argument(format!("there is no {asked}; {instead}"))
    }

    /// Bytes that are not code of the requested kind.
    pub(crate) fn not_code(what: &'static str) -> Self {
        Self::new(ErrorKind::Code, format!("this is not {what}"))
    }

    /// A number that is larger than the device or the runtime supports.
    #[must_use]
    pub fn limit(what: &'static str, asked: u64, limit: u64) -> Self {
        Self::new(ErrorKind::Limit, format!("{what} is {asked}, at most {limit} is possible"))
    }

    /// A grid whose size along one axis is not a multiple of the cluster size.
    pub(crate) fn clusters(what: &'static str, grid: u32, cluster: u32) -> Self {
        let fitting = u64::from(grid).next_multiple_of(u64::from(cluster.max(1)));
        argument(format!(
            "{what} is {grid} blocks, which clusters of {cluster} along it do not divide: launch {fitting}, \
             or smaller clusters"
        ))
    }

    /// An ordinal beyond the devices of the machine.
    pub(crate) fn invalid_device(ordinal: usize, count: usize) -> Self {
        let text = match count.checked_sub(1) {
            None => format!("there is no device {ordinal}: this machine has none; {EMULATOR}"),
            Some(last) => format!("there is no device {ordinal}: ordinals go from 0 to {last}"),
        };
        Self::new(ErrorKind::Device, text).or_code(sys::cudaErrorInvalidDevice)
    }

    /// An operand on another device than the operation needs.
    #[must_use]
    pub fn device_mismatch(what: &'static str, found: usize, needed: usize) -> Self {
        let text = format!("{what} belongs to device {found}, device {needed} is needed");
        Self::new(ErrorKind::Device, text)
    }

    /// Memory of another device that a kernel cannot access, and the function that may allow it.
    pub(crate) fn not_accessible(found: usize, needed: usize, how: &'static str) -> Self {
        let text = format!(
            "the memory belongs to device {found}, and kernels of device {needed} cannot access it: copy it \
             to device {needed}, or use {how} if the hardware allows it"
        );
        Self::new(ErrorKind::Device, text).or_code(sys::cudaErrorPeerAccessNotEnabled)
    }

    /// An operation that the device, the driver or this crate does not support.
    #[must_use]
    pub fn unsupported(what: &'static str) -> Self {
        Self::new(ErrorKind::Unsupported, format!("{what} is not supported"))
    }

    /// The size of a failed copy or fill.
    pub(crate) fn transfer(bytes: usize) -> Self {
        Self::new(ErrorKind::Call, format!("the transfer was of {bytes} bytes"))
    }

    /// Two conflicting operations that nothing orders, under `Policy::Error`: the call sites of the earlier
    /// one, if it was recorded, and of the refused one.
    pub(crate) fn hazard(first: Option<&Location<'_>>, second: &Location<'_>) -> Self {
        let first = match first {
            Some(first) => format!("the conflicting one at {first}"),
            None => "an earlier conflicting one".to_owned(),
        };
        let text = format!(
            "nothing orders the operation at {second} after {first}: have its stream wait for an event that \
             is recorded behind that, or wait for that on the host first"
        );
        Self::new(ErrorKind::Hazard, text)
    }

    /// A node of a graph that would conflict with node `other`, without an order between the two.
    pub(crate) fn nodes_unordered(other: usize) -> Self {
        let text = format!(
            "the node would use memory that node {other} of the graph (0 is the first) uses, one of them \
             writes it, and nothing orders the two: name one as what the other comes after when it is added, \
             or by Graph::add_dependencies"
        );
        Self::new(ErrorKind::Hazard, text)
    }

    /// A graph that cannot update an executable graph: the difference and, if it is known, the node.
    pub(crate) fn update(why: &'static str, node: Option<usize>) -> Self {
        let node = node.map_or(String::new(), |node| format!(", at its node {node} (0 is the first)"));
        let text = format!("the graph cannot be taken over: {why}{node}; instantiate it instead");
        Self::new(ErrorKind::Update, text)
    }

    /// A missing entry of a library: what it is, its name and, if they are known, the existing names.
    pub(crate) fn no_such_name(what: &'static str, name: &str, known: Option<String>) -> Self {
        // C++ names contain their types.
        let known = known
            .map_or(String::new(), |known| format!(": {known}; extern \"C\" keeps a kernel's name as it is"));
        let text = format!("the library has no {what} named {name}{known}");
        Self::new(ErrorKind::Code, text).or_code(sys::cudaErrorSymbolNotFound)
    }

    /// Returns the advice for a driver that answers without devices.
    pub(super) fn no_device() -> Self {
        let text = format!("CUDA_VISIBLE_DEVICES may hide the devices of this machine; {EMULATOR}");
        Self::new(ErrorKind::Call, text)
    }

    /// Returns the versions of driver, loaded runtime and headers.
    pub(crate) fn versions() -> Self {
        let ask = |version: unsafe extern "C" fn(*mut i32) -> cudaError_t| {
            let mut number = 0;
            // SAFETY: the pointer is to a live integer. Neither call needs a device or a driver.
            let code = unsafe { version(&raw mut number) };
            if code == sys::cudaSuccess { number } else { 0 }
        };
        let (driver, runtime) = (ask(sys::cudaDriverGetVersion), ask(sys::cudaRuntimeGetVersion));
        Self::new(ErrorKind::Call, advice(driver, runtime, BUILT)).or_code(sys::cudaErrorSystemDriverMismatch)
    }

    /// Returns what a program can act on.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the sentence.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the code that CUDA uses for the same mistake.
    pub(super) fn code(&self) -> cudaError_t {
        self.code
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.text)
    }
}

impl ErrorKind {
    /// Returns the code that CUDA uses for most mistakes of the kind.
    const fn code(self) -> cudaError_t {
        match self {
            Self::Call | Self::Argument | Self::Limit | Self::Proof => sys::cudaErrorInvalidValue,
            Self::Device => sys::cudaErrorInvalidResourceHandle,
            Self::Unsupported => sys::cudaErrorNotSupported,
            Self::InCallback | Self::InUse | Self::Hazard => sys::cudaErrorNotPermitted,
            Self::Capture => sys::cudaErrorStreamCaptureUnsupported,
            Self::Code => sys::cudaErrorInvalidKernelImage,
            Self::Update => sys::cudaErrorGraphExecUpdateFailure,
            Self::Panicked => sys::cudaErrorUnknown,
        }
    }
}

/// Returns the detail of an invalid argument.
fn argument(text: String) -> Detail {
    Detail::new(ErrorKind::Argument, text)
}

/// The version of the headers that the bindings were made from.
pub(crate) const BUILT: i32 = {
    let version = sys::CUDART_VERSION;
    assert!(version < 1_000_000, "a version the format cannot hold");
    #[expect(clippy::cast_possible_wrap, reason = "asserted to be far below the limit")]
    let version = version as i32;
    version
};

/// Advice for machines without a GPU.
const EMULATOR: &str = "without a GPU, `ci/emulate PROGRAM` in the repository of cuda-safe runs any \
                        program on its emulator, and `cargo run` and `cargo test` do so there";

/// Returns the usual notation of a version number.
struct Dotted(i32);

impl fmt::Display for Dotted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}

/// Returns which of driver, runtime and headers does not match, and what to do. A version is
/// `1000 * major + 10 * minor`, or 0 if unknown.
fn advice(driver: i32, runtime: i32, built: i32) -> String {
    let (supported, loaded, headers) = (Dotted(driver), Dotted(runtime), Dotted(built));
    let (needed, found) = (built / 1000, runtime / 1000);
    if runtime != 0 && found != needed {
        format!(
            "the loaded libcudart is of CUDA {loaded}, but this program was built for CUDA {headers}: put \
             the CUDA {needed} library first on the loader path (LD_LIBRARY_PATH), or build with CUDA_PATH \
             set to a CUDA {found} toolkit"
        )
    } else if driver == 0 {
        format!("no NVIDIA driver answers (runtime CUDA {loaded}): install one if there is a GPU; {EMULATOR}")
    } else if driver < runtime {
        format!(
            "the driver supports CUDA up to {supported}, the runtime is CUDA {loaded}: update the driver, or \
             build with CUDA_PATH set to a toolkit no newer than {supported}"
        )
    } else {
        format!("the driver supports CUDA {supported}, the runtime is CUDA {loaded}")
    }
}

#[cfg(test)]
mod tests {
    use super::{Detail, advice};

    #[test]
    fn a_length_mismatch_gives_both_lengths() {
        let text = Detail::length_mismatch(3, 40).to_string();
        assert!(text.contains("destination has 3") && text.contains("source 40"), "{text}");
    }

    #[test]
    fn an_ordinal_out_of_range_gives_the_range() {
        assert!(Detail::invalid_device(7, 2).to_string().contains("from 0 to 1"));
        assert!(Detail::invalid_device(0, 0).to_string().contains("has none"));
    }

    #[test]
    fn a_library_of_another_major_says_which_and_what_to_do() {
        let text = advice(13_000, 12_040, 13_000);
        assert!(text.contains("12.4") && text.contains("13.0") && text.contains("LD_LIBRARY_PATH"), "{text}");
    }

    #[test]
    fn an_old_driver_says_what_it_supports() {
        let text = advice(12_080, 13_000, 13_000);
        assert!(text.contains("up to 12.8") && text.contains("update the driver"), "{text}");
    }

    #[test]
    fn a_machine_without_a_driver_is_told_so() {
        let text = advice(0, 13_000, 13_000);
        assert!(text.contains("no NVIDIA driver") && text.contains("ci/emulate PROGRAM"), "{text}");
    }

    #[test]
    fn a_machine_without_a_gpu_is_shown_the_emulator() {
        let error = crate::Error::from_code("cudaGetDevice", crate::sys::cudaErrorNoDevice);
        let text = error.to_string();
        assert!(text.contains("ci/emulate PROGRAM") && text.contains("CUDA_VISIBLE_DEVICES"), "{text}");
        let text = Detail::invalid_device(0, 0).to_string();
        assert!(text.contains("emulator"), "{text}");
    }
}
