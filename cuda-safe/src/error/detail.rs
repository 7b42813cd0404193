//! The details of an error and their message: what was requested, and what exists.
#![expect(unsafe_code, reason = "asks driver and runtime for their versions")]

use std::fmt;
use std::panic::Location;

use crate::device::Limit as DeviceLimit;
use crate::sys;
use crate::sys::cudaError_t;

/// The details of a failure, with the sizes of both sides. Lengths are in elements unless stated
/// otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Detail {
    /// No details beyond the code.
    None,
    /// The two sides of a copy differ in length.
    LengthMismatch {
        /// The number of elements of the destination.
        destination: usize,
        /// The number of elements of the source.
        source: usize,
    },
    /// The two sides of a copy of a plane or a volume differ in extent: elements per row, rows, layers.
    ExtentMismatch {
        /// The destination's width, height and depth.
        destination: [usize; 3],
        /// The source's width, height and depth.
        source: [usize; 3],
    },
    /// A pitch (bytes from one row to the next) that is not valid for the rows.
    Pitch {
        /// The pitch in bytes.
        pitch: usize,
        /// The number of bytes per row.
        row: usize,
        /// The alignment of an element in bytes. Rows must begin at multiples of it.
        align: usize,
    },
    /// An argument has another length than the operation needs.
    WrongLength {
        /// The argument.
        what: &'static str,
        /// The required number of elements.
        needed: usize,
        /// The actual number of elements.
        found: usize,
    },
    /// A product or sum of sizes does not fit in `usize`.
    Overflow {
        /// The quantity that was computed.
        what: &'static str,
        /// The first operand.
        left: usize,
        /// The second operand.
        right: usize,
    },
    /// Source and destination share bytes. In a batch, the destination of one copy and a side of another
    /// one share bytes.
    Overlapping {
        /// The offset of the destination's first byte if both sides are in one allocation, otherwise its
        /// address.
        destination: usize,
        /// The same for the source or, in a batch, for the other side.
        source: usize,
        /// The size of each side in bytes. In a batch, an upper bound of the shared bytes.
        bytes: usize,
    },
    /// A range ends past the last element, or ends before it starts.
    OutOfRange {
        /// The first requested element.
        start: usize,
        /// The index after the last requested element.
        end: usize,
        /// The actual number of elements.
        len: usize,
    },
    /// The element type has zero bytes, so nothing can be copied or counted.
    ZeroSized {
        /// The element type.
        type_name: &'static str,
    },
    /// Bytes cannot be reinterpreted as another type because the size is not a multiple of the element
    /// size.
    NotDivisible {
        /// The number of bytes.
        bytes: usize,
        /// The size of an element in bytes.
        element: usize,
    },
    /// Bytes cannot be reinterpreted as another type because the address is misaligned.
    Misaligned {
        /// The address.
        address: usize,
        /// The required alignment in bytes.
        align: usize,
    },
    /// A count that must be at least one is zero.
    Zero {
        /// The count.
        what: &'static str,
    },
    /// A number is larger than the device or the runtime supports.
    Limit {
        /// The number's meaning.
        what: &'static str,
        /// The requested number.
        asked: u64,
        /// The largest supported number.
        limit: u64,
    },
    /// A block needs more dynamic shared memory than the kernel is currently allowed.
    DynamicShared {
        /// The requested number of bytes.
        asked: u64,
        /// The number of bytes that the kernel is currently allowed.
        limit: u64,
        /// The maximum in bytes that `Kernel::set_max_dynamic_shared_bytes` can allow.
        most: u64,
    },
    /// A grid whose size is not a multiple of the cluster size.
    Clusters {
        /// The axis: "the grid's x".
        what: &'static str,
        /// The number of blocks of the grid along the axis.
        grid: u32,
        /// The number of blocks of a cluster along the axis.
        cluster: u32,
    },
    /// A cluster of more blocks than the kernel is currently allowed, or than fit on the device.
    ClusterSize {
        /// The requested number of blocks.
        asked: u64,
        /// The maximum number of blocks of a cluster.
        limit: u64,
        /// Whether clusters of more than 8 blocks are not allowed, because
        /// `Kernel::set_non_portable_clusters` has not been called.
        portable: bool,
    },
    /// A kernel whose source declares its cluster size was launched with another one.
    OtherClusters {
        /// The requested cluster size.
        asked: [u32; 3],
        /// The cluster size that the source declares.
        declared: [u32; 3],
    },
    /// A limit of a device could not be set to this value.
    LimitAsked {
        /// The limit.
        limit: DeviceLimit,
        /// The value, in the limit's unit.
        value: usize,
    },
    /// No device has this ordinal.
    InvalidDevice {
        /// The requested ordinal.
        ordinal: usize,
        /// The number of devices.
        count: usize,
    },
    /// Two operands that must belong to one device belong to two.
    DeviceMismatch {
        /// The operand on the wrong device.
        what: &'static str,
        /// The device of the operand.
        found: usize,
        /// The device that it must belong to.
        needed: usize,
    },
    /// Memory of another device that a kernel cannot access.
    NotAccessible {
        /// The device of the memory.
        found: usize,
        /// The device of the kernel.
        needed: usize,
        /// Whether the memory is from a pool, which has its own permissions.
        pooled: bool,
    },
    /// An operation that the device or the driver does not support.
    Unsupported {
        /// The unsupported operation.
        what: &'static str,
    },
    /// Managed memory in a process with a device that has no concurrent managed access.
    NoManagedMemory {
        /// The first such device.
        device: usize,
    },
    /// Two events between which no time is measured.
    Elapsed {
        /// The reason.
        why: &'static str,
    },
    /// A texture or surface that is not possible.
    Texture {
        /// The requested property or memory.
        asked: &'static str,
        /// The alternative.
        instead: &'static str,
    },
    /// A failed allocation.
    Allocation {
        /// The requested number of bytes.
        bytes: usize,
        /// The type of memory: `"device"`, `"pool"`, `"pinned host"`.
        memory: &'static str,
        /// The number of free bytes on the device, if it was queried.
        free: Option<usize>,
    },
    /// A failed copy or fill.
    Transfer {
        /// The number of bytes to copy or set.
        bytes: usize,
    },
    /// A CUDA call, or a wait for one, inside a host function of a stream.
    InCallback,
    /// Device work would access host memory that a live guard lends.
    HostBorrowed,
    /// Two conflicting operations that nothing orders, under `Policy::Error`.
    Hazard {
        /// The call site of the earlier operation, if it was recorded.
        first: Option<&'static Location<'static>>,
        /// The call site of the later operation, which was refused.
        second: &'static Location<'static>,
    },
    /// A [`Hazard`](Self::Hazard) of a launch that would be none if the kernel only read one of its
    /// arguments.
    IfWritten {
        /// The type of the parameter.
        parameter: &'static str,
        /// The name of the parameter in the source. Empty if it is not known.
        name: &'static str,
        /// The hazard.
        hazard: Box<Detail>,
    },
    /// Two streams of one operation access the same bytes, and one of them writes.
    StreamsOverlap {
        /// The first byte of one access, counted from the start of the allocation.
        first: usize,
        /// The first byte of the access of another stream.
        second: usize,
        /// The number of bytes that they have in common.
        bytes: usize,
    },
    /// An operation was started inside the closure of another one on the same thread.
    Nested,
    /// The call is not possible while a stream is being captured into a graph.
    Capturing,
    /// The thread makes a capture, and the stream or the event is not part of it.
    OutsideCapture,
    /// The memory is still retained by a graph.
    InGraph,
    /// The memory differs from that which a plan was made for.
    NotPlanned {
        /// The index of the plan's operand, from 0.
        index: usize,
    },
    /// Memory that cannot be retained as long as a graph that uses it.
    NotKept,
    /// A node of a graph that would conflict with another one, without an order between the two.
    NodesUnordered {
        /// The index of the other node in the order of addition, from 0.
        other: usize,
    },
    /// A graph that cannot update an executable graph.
    Update {
        /// The difference.
        why: &'static str,
        /// The index of the node with the difference in the order of addition, from 0. `None` if the
        /// runtime does not report it.
        node: Option<usize>,
    },
    /// Bytes that are not code of the requested kind.
    NotCode {
        /// The kind that they are or should be, after "this is not" or "this is".
        what: &'static str,
    },
    /// A name or path with a zero byte, which C would interpret as its end.
    NulByte {
        /// The name's or path's role.
        what: &'static str,
    },
    /// The PTX compiler failed.
    Compiler {
        /// The compiler's message.
        log: String,
    },
    /// A library has no entry of this name.
    NoSuchName {
        /// The kind of entry: `"kernel"`, `"variable"`.
        what: &'static str,
        /// The name.
        name: String,
        /// The existing names, if they are known.
        known: Option<String>,
    },
    /// A variable of a library for which a buffer already exists.
    Taken {
        /// The variable's name.
        name: String,
    },
    /// A kernel's parameters differ from those of its type.
    Signature {
        /// The index of the parameter, from 0.
        index: usize,
        /// The size in bytes according to the type. `None` if the type has no such parameter.
        asked: Option<usize>,
        /// The size in bytes according to the kernel. `None` if the kernel has no such parameter.
        found: Option<usize>,
    },
    /// An argument of a kernel was refused.
    Argument {
        /// The index of the argument, from 0.
        index: usize,
        /// The name of the parameter in the source. Empty if it is not known.
        name: &'static str,
        /// The reason.
        detail: Box<Detail>,
    },
    /// A number that the type of its parameter cannot hold.
    NumberDoesNotFit {
        /// The number.
        value: String,
        /// The parameter's type.
        parameter: &'static str,
    },
    /// A host function of a stream panicked.
    CallbackPanicked {
        /// The call site that submitted the host function.
        launched: &'static Location<'static>,
    },
    /// No device answers, although there may be a driver.
    NoDevice,
    /// Versions of driver and runtime, as `1000 * major + 10 * minor`, or 0 if unknown.
    Versions {
        /// The newest version that the installed driver supports, or 0 without a driver.
        driver: i32,
        /// The version of the loaded runtime library.
        runtime: i32,
        /// The version whose headers this crate was built against.
        built: i32,
    },
}

impl Detail {
    /// Returns the code that CUDA uses for the same mistake.
    pub(super) fn code(&self) -> cudaError_t {
        match self {
            Self::InvalidDevice { .. } => sys::cudaErrorInvalidDevice,
            Self::DeviceMismatch { .. } => sys::cudaErrorInvalidResourceHandle,
            Self::Elapsed { .. } => sys::cudaErrorInvalidResourceHandle,
            Self::NoDevice => sys::cudaErrorNoDevice,
            Self::NotAccessible { .. } => sys::cudaErrorPeerAccessNotEnabled,
            Self::Unsupported { .. } | Self::NoManagedMemory { .. } => sys::cudaErrorNotSupported,
            Self::InCallback
            | Self::HostBorrowed
            | Self::Hazard { .. }
            | Self::StreamsOverlap { .. }
            | Self::Nested
            | Self::NotKept
            | Self::Taken { .. }
            | Self::NodesUnordered { .. }
            | Self::InGraph => sys::cudaErrorNotPermitted,
            Self::Capturing | Self::OutsideCapture => sys::cudaErrorStreamCaptureUnsupported,
            Self::Update { .. } => sys::cudaErrorGraphExecUpdateFailure,
            Self::NotCode { .. } => sys::cudaErrorInvalidKernelImage,
            Self::Signature { .. } => sys::cudaErrorInvalidDeviceFunction,
            Self::NoSuchName { .. } => sys::cudaErrorSymbolNotFound,
            Self::Argument { detail, .. } | Self::IfWritten { hazard: detail, .. } => detail.code(),
            Self::CallbackPanicked { .. } => sys::cudaErrorUnknown,
            Self::ClusterSize { .. } => sys::cudaErrorInvalidClusterSize,
            Self::Allocation { .. } => sys::cudaErrorMemoryAllocation,
            Self::Versions { .. } => sys::cudaErrorSystemDriverMismatch,
            _ => sys::cudaErrorInvalidValue,
        }
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
        Self::Versions { driver, runtime, built: BUILT }
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::None => f.write_str("no further details"),
            Self::LengthMismatch { destination, source } => {
                let least = destination.min(source);
                write!(
                    f,
                    "lengths differ: the destination has {destination} elements, the source {source}; copy a \
                     part of {least} of the longer one"
                )
            }
            Self::ExtentMismatch { destination, source } => write!(
                f,
                "extents differ: the destination has width, height and depth {destination:?}, the source \
                 {source:?}; copy parts that have the same"
            ),
            Self::Pitch { pitch, row, align } => write!(
                f,
                "a pitch of {pitch} bytes does not do for rows of {row} bytes whose elements are aligned to \
                 {align}"
            ),
            Self::WrongLength { what, needed, found } => {
                write!(f, "{what} has {found} elements, {needed} are needed")
            }
            Self::Overflow { what, left, right } => {
                write!(f, "{what} overflows: {left} and {right} do not fit together in {} bits", usize::BITS)
            }
            Self::Overlapping { destination, source, bytes } => write!(
                f,
                "source and destination overlap: {bytes} bytes from byte {source} to byte {destination} of \
                 the same memory; copy them to other memory first"
            ),
            Self::StreamsOverlap { first, second, bytes } => write!(
                f,
                "two streams of one call access the same {bytes} bytes of an allocation, one from byte \
                 {first} on and one from byte {second} on, and one of them writes: nothing orders the two; \
                 give one stream both accesses, or make two calls"
            ),
            Self::OutOfRange { start, end, len } => {
                write!(f, "range {start}..{end} does not fit in {len} elements")
            }
            Self::ZeroSized { type_name } => write!(f, "elements of type {type_name} have no bytes"),
            Self::NotDivisible { bytes, element } => {
                write!(f, "{bytes} bytes are not a whole number of elements of {element} bytes")
            }
            Self::Misaligned { address, align } => {
                write!(f, "address {address:#x} is not aligned to {align} bytes")
            }
            Self::Zero { what } => write!(f, "{what} is zero, at least 1 is needed"),
            Self::Limit { what, asked, limit } => write!(f, "{what} is {asked}, at most {limit} is possible"),
            Self::DynamicShared { asked, limit, most } => {
                write!(
                    f,
                    "a block's dynamic shared memory is {asked} bytes, this kernel may have {limit}; \
                     Kernel::set_max_dynamic_shared_bytes allows it up to {most} on this device"
                )
            }
            Self::Clusters { what, grid, cluster } => {
                let fitting = u64::from(grid).next_multiple_of(u64::from(cluster.max(1)));
                write!(
                    f,
                    "{what} is {grid} blocks, which clusters of {cluster} along it do not divide: launch \
                     {fitting}, or smaller clusters"
                )
            }
            Self::ClusterSize { asked, limit, portable } => {
                write!(f, "a cluster has {asked} blocks, at most {limit} are possible for this launch")?;
                if portable {
                    f.write_str(
                        "; Kernel::set_non_portable_clusters allows more than 8 where the device can",
                    )?;
                }
                if limit < 8 {
                    f.write_str("; blocks with less shared memory or fewer threads leave room for more")?;
                }
                Ok(())
            }
            Self::OtherClusters { asked, declared } => {
                write!(
                    f,
                    "clusters of {asked:?} blocks were asked for, but the kernel's source says {declared:?}: \
                     ask for none"
                )
            }
            Self::LimitAsked { limit, value } => write!(f, "asked to set {limit:?} to {value}"),
            Self::InvalidDevice { ordinal, count: 0 } => {
                write!(f, "there is no device {ordinal}: this machine has none; {EMULATOR}")
            }
            Self::InvalidDevice { ordinal, count } => {
                write!(f, "there is no device {ordinal}: ordinals go from 0 to {}", count - 1)
            }
            Self::DeviceMismatch { what, found, needed } => {
                write!(f, "{what} belongs to device {found}, device {needed} is needed")
            }
            Self::NotAccessible { found, needed, pooled } => {
                let how = if pooled { "MemoryPool::enable_access" } else { "Device::enable_peer_access" };
                write!(
                    f,
                    "the memory belongs to device {found}, and kernels of device {needed} cannot access it: \
                     copy it to device {needed}, or use {how} if the hardware allows it"
                )
            }
            Self::Unsupported { what } => write!(f, "{what} is not supported"),
            Self::NoManagedMemory { device } => write!(
                f,
                "device {device} has no concurrent managed access: the host must not touch managed memory \
                 while any kernel of it runs, so there is none in this process; use a PinnedBuffer, which \
                 kernels reach, too, or a DeviceBuffer and copies, or hide the device with \
                 CUDA_VISIBLE_DEVICES"
            ),
            Self::Elapsed { why } => f.write_str(why),
            Self::Texture { asked, instead } => write!(f, "there is no {asked}; {instead}"),
            Self::Allocation { bytes, memory, free } => {
                write!(f, "asked for {bytes} bytes of {memory} memory")?;
                free.map_or(Ok(()), |free| write!(f, ", of which {free} are free"))
            }
            Self::Transfer { bytes } => write!(f, "the transfer was of {bytes} bytes"),
            Self::InCallback => {
                f.write_str("a host function that a stream runs may not call CUDA or wait for it")
            }
            Self::HostBorrowed => {
                f.write_str("the memory is lent to the host by a guard that still lives: drop that first")
            }
            Self::Hazard { first, second } => {
                write!(f, "nothing orders the operation at {second} after ")?;
                match first {
                    Some(first) => write!(f, "the conflicting one at {first}")?,
                    None => f.write_str("an earlier conflicting one")?,
                }
                f.write_str(
                    ": have its stream wait for an event that is recorded behind that, or wait for that on \
                     the host first",
                )
            }
            Self::IfWritten { parameter, name, ref hazard } => {
                write!(
                    f,
                    "{hazard}; the kernel declares the parameter as `{parameter}`: if it only reads there, \
                     pass the memory's `read_only()`"
                )?;
                if name.is_empty() {
                    return Ok(());
                }
                write!(f, ", or write `/// @reads {name}` above the kernel")
            }
            Self::Nested => f.write_str("an operation was started inside the closure of another one"),
            Self::Capturing => f.write_str("not possible while a stream is being captured"),
            Self::OutsideCapture => f.write_str(
                "not part of the capture that this thread makes: use the stream that the closure receives, a \
                 `fork` of it, or a stream that waits for an event recorded there; do blocking calls and work \
                 on other streams before the capture or after it",
            ),
            Self::NotPlanned { index } => {
                write!(f, "the plan was made for other memory than that of operand {index}")
            }
            Self::InGraph => {
                f.write_str("a graph still holds the memory: drop that and its executable forms first")
            }
            Self::NotKept => f.write_str(
                "a graph cannot keep this memory for as long as it lives: it keeps memory of owners of this \
                 crate, such as a `PinnedBuffer`, and none of a slice or a vector",
            ),
            Self::NodesUnordered { other } => write!(
                f,
                "the node would use memory that node {other} of the graph (0 is the first) uses, one of them \
                 writes it, and nothing orders the two: name one as what the other comes after when it is \
                 added, or by Graph::add_dependencies"
            ),
            Self::Update { why, node } => {
                write!(f, "the graph cannot be taken over: {why}")?;
                if let Some(node) = node {
                    write!(f, ", at its node {node} (0 is the first)")?;
                }
                f.write_str("; instantiate it instead")
            }
            Self::NotCode { what } => write!(f, "this is not {what}"),
            Self::NulByte { what } => write!(f, "{what} has a zero byte, which would be its end"),
            Self::Compiler { ref log } => write!(f, "the compiler says: {log}"),
            Self::NoSuchName { what, ref name, ref known } => {
                write!(f, "the library has no {what} named {name}")?;
                // C++ names contain their types.
                known.as_ref().map_or(Ok(()), |known| {
                    write!(f, ": {known}; extern \"C\" keeps a kernel's name as it is")
                })
            }
            Self::Taken { ref name } => {
                write!(f, "there is a buffer of {name} already: drop that, and kernels that use it, first")
            }
            Self::Signature { index, asked: Some(asked), found: Some(found) } => write!(
                f,
                "parameter {index} of the kernel (0 is the first) has {found} bytes, its type has {asked}"
            ),
            Self::Signature { index, asked: Some(_), .. } => {
                write!(f, "the type has more than the {index} parameters that the kernel has")
            }
            Self::Signature { index, .. } => {
                write!(f, "the kernel has more than the {index} parameters that its type has")
            }
            Self::Argument { index, name: "", ref detail } => {
                write!(f, "argument {index} (0 is the first): {detail}")
            }
            Self::Argument { index, name, ref detail } => {
                write!(f, "argument {index} (0 is the first), `{name}`: {detail}")
            }
            Self::NumberDoesNotFit { ref value, parameter } => {
                write!(f, "{value} does not fit in the parameter's type `{parameter}`")
            }
            Self::CallbackPanicked { launched } => {
                write!(f, "the host function launched at {launched} panicked")
            }
            Self::NoDevice => {
                write!(f, "CUDA_VISIBLE_DEVICES may hide the devices of this machine; {EMULATOR}")
            }
            Self::Versions { driver, runtime, built } => write_versions(f, driver, runtime, built),
        }
    }
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

/// Writes which of driver, runtime and headers does not match, and what to do.
fn write_versions(f: &mut fmt::Formatter<'_>, driver: i32, runtime: i32, built: i32) -> fmt::Result {
    let (supported, loaded, headers) = (Dotted(driver), Dotted(runtime), Dotted(built));
    let (needed, found) = (built / 1000, runtime / 1000);
    if runtime != 0 && found != needed {
        return write!(
            f,
            "the loaded libcudart is of CUDA {loaded}, but this program was built for CUDA {headers}: put \
             the CUDA {needed} library first on the loader path (LD_LIBRARY_PATH), or build with CUDA_PATH \
             set to a CUDA {found} toolkit"
        );
    }
    if driver == 0 {
        return write!(
            f,
            "no NVIDIA driver answers (runtime CUDA {loaded}): install one if there is a GPU; {EMULATOR}"
        );
    }
    write!(
        f,
        "the driver supports CUDA {}{supported}, the runtime is CUDA {loaded}",
        if driver < runtime { "up to " } else { "" }
    )?;
    if driver < runtime {
        write!(f, ": update the driver, or build with CUDA_PATH set to a toolkit no newer than {supported}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Detail;

    #[test]
    fn a_length_mismatch_gives_both_lengths() {
        let text = Detail::LengthMismatch { destination: 3, source: 40 }.to_string();
        assert!(text.contains("destination has 3") && text.contains("source 40"), "{text}");
    }

    #[test]
    fn an_ordinal_out_of_range_gives_the_range() {
        assert!(Detail::InvalidDevice { ordinal: 7, count: 2 }.to_string().contains("from 0 to 1"));
        assert!(Detail::InvalidDevice { ordinal: 0, count: 0 }.to_string().contains("has none"));
    }

    #[test]
    fn a_library_of_another_major_says_which_and_what_to_do() {
        let text = Detail::Versions { driver: 13_000, runtime: 12_040, built: 13_000 }.to_string();
        assert!(text.contains("12.4") && text.contains("13.0") && text.contains("LD_LIBRARY_PATH"), "{text}");
    }

    #[test]
    fn an_old_driver_says_what_it_supports() {
        let text = Detail::Versions { driver: 12_080, runtime: 13_000, built: 13_000 }.to_string();
        assert!(text.contains("12.8") && text.contains("update the driver"), "{text}");
    }

    #[test]
    fn a_machine_without_a_driver_is_told_so() {
        let text = Detail::Versions { driver: 0, runtime: 13_000, built: 13_000 }.to_string();
        assert!(text.contains("no NVIDIA driver") && text.contains("ci/emulate PROGRAM"), "{text}");
    }

    #[test]
    fn a_machine_without_a_gpu_is_shown_the_emulator() {
        let error = crate::Error::from_code("cudaGetDevice", crate::sys::cudaErrorNoDevice);
        let text = error.to_string();
        assert!(text.contains("ci/emulate PROGRAM") && text.contains("CUDA_VISIBLE_DEVICES"), "{text}");
        let text = Detail::InvalidDevice { ordinal: 0, count: 0 }.to_string();
        assert!(text.contains("emulator"), "{text}");
    }
}
