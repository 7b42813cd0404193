//! The numbers behind an error: what was asked, and what there was.

use std::panic::Location;

use super::Text;
use crate::device::Limit as DeviceLimit;
use crate::sys;
use crate::sys::cudaError_t;

/// The numbers of both sides of a failure. Lengths are in elements where not said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Detail {
    /// Nothing beyond the code.
    None,
    /// The two sides of a copy differ in length.
    LengthMismatch {
        /// Elements of the destination.
        destination: usize,
        /// Elements of the source.
        source: usize,
    },
    /// The two sides of a copy of a plane or a volume differ in extent: elements of a row, rows, layers.
    ExtentMismatch {
        /// The destination's width, height and depth.
        destination: [usize; 3],
        /// The source's width, height and depth.
        source: [usize; 3],
    },
    /// A pitch, the bytes from one row to the next, that rows cannot have.
    Pitch {
        /// The pitch in bytes.
        pitch: usize,
        /// Bytes of a row.
        row: usize,
        /// The alignment of an element in bytes: rows must begin at multiples of it.
        align: usize,
    },
    /// An argument has another length than the operation needs.
    WrongLength {
        /// Which argument.
        what: &'static str,
        /// Elements that are needed.
        needed: usize,
        /// Elements that there are.
        found: usize,
    },
    /// A product or sum of sizes does not fit in `usize`.
    Overflow {
        /// What was being computed.
        what: &'static str,
        /// The first operand.
        left: usize,
        /// The second operand.
        right: usize,
    },
    /// Source and destination share bytes; or in a batch, the destination of one copy and a side of another one.
    Overlapping {
        /// First byte of the destination in the allocation, where both sides are of one. Else its address.
        destination: usize,
        /// The same of the source, or of the other side.
        source: usize,
        /// Bytes of either; in a batch, as many at most are shared.
        bytes: usize,
    },
    /// A range reaches past the end, or ends before it starts.
    OutOfRange {
        /// First element asked for.
        start: usize,
        /// One past the last element asked for.
        end: usize,
        /// Elements that there are.
        len: usize,
    },
    /// Elements of zero bytes: nothing could be copied or counted.
    ZeroSized {
        /// The element type.
        type_name: &'static str,
    },
    /// Bytes cannot be looked at as another type: the size does not divide.
    NotDivisible {
        /// Bytes that there are.
        bytes: usize,
        /// Size of the element in bytes.
        element: usize,
    },
    /// Bytes cannot be looked at as another type: the address does not fit.
    Misaligned {
        /// The address.
        address: usize,
        /// The alignment needed, in bytes.
        align: usize,
    },
    /// A count that must be at least one is zero.
    Zero {
        /// What is zero.
        what: &'static str,
    },
    /// A number is larger than what the device or the runtime takes.
    Limit {
        /// What is too large.
        what: &'static str,
        /// The number asked for.
        asked: u64,
        /// The largest that works.
        limit: u64,
    },
    /// A block would have more dynamic shared memory than the kernel may have as things are set.
    DynamicShared {
        /// Bytes asked for.
        asked: u64,
        /// Bytes that the kernel may have now.
        limit: u64,
        /// Bytes that it can be allowed at most, by `Kernel::set_max_dynamic_shared_bytes`.
        most: u64,
    },
    /// A grid that does not divide into clusters of blocks.
    Clusters {
        /// Along which axis: "the grid's x".
        what: &'static str,
        /// Blocks of the grid along it.
        grid: u32,
        /// Blocks of a cluster along it.
        cluster: u32,
    },
    /// A cluster of more blocks than the kernel may have as things are set, or than the device has room for.
    ClusterSize {
        /// Blocks asked for.
        asked: u64,
        /// Blocks that a cluster may have.
        limit: u64,
        /// Whether `Kernel::set_non_portable_clusters` has not allowed more than 8.
        portable: bool,
    },
    /// A kernel whose source says which clusters it has was to have others.
    OtherClusters {
        /// The cluster asked for.
        asked: [u32; 3],
        /// The one that the source says.
        declared: [u32; 3],
    },
    /// A limit of a device was set to this value.
    LimitAsked {
        /// Which limit.
        limit: DeviceLimit,
        /// The value, in the limit's unit.
        value: usize,
    },
    /// No device has this ordinal.
    InvalidDevice {
        /// The ordinal asked for.
        ordinal: i32,
        /// How many devices there are.
        count: i32,
    },
    /// Two things that must be of one device are of two.
    DeviceMismatch {
        /// What is on the wrong device.
        what: &'static str,
        /// Its device.
        found: i32,
        /// The device that it must be of.
        needed: i32,
    },
    /// Something that the device or the driver cannot do.
    Unsupported {
        /// What it cannot do.
        what: &'static str,
    },
    /// A texture or surface that there cannot be.
    Texture {
        /// What it was to do, or to be of.
        asked: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
    /// An allocation of this many bytes.
    Allocation {
        /// Bytes asked for.
        bytes: usize,
        /// Whose memory: `"device"`, `"pool"`, `"pinned host"`.
        memory: &'static str,
        /// Bytes that were free on the device, where it was asked.
        free: Option<usize>,
    },
    /// A transfer or fill of this many bytes.
    Transfer {
        /// Bytes to move or set.
        bytes: usize,
    },
    /// A call into CUDA, or a wait for it, from a host function that a stream runs.
    InCallback,
    /// Device work would reach host memory that a live guard lends out.
    HostBorrowed,
    /// Two conflicting operations that nothing orders, under `Policy::Error`.
    Hazard {
        /// The earlier operation, where its place was kept.
        first: Option<&'static Location<'static>>,
        /// The later one, which was refused.
        second: &'static Location<'static>,
    },
    /// An operation started inside the closure of another on the same thread.
    Nested,
    /// Not possible while a stream is being captured into a graph.
    Capturing,
    /// Memory that a graph still holds.
    InGraph,
    /// Memory that differs from that which a plan was made for.
    NotPlanned {
        /// Which of the plan's operands: 0 is the first.
        index: usize,
    },
    /// Memory that nothing would keep for as long as a graph that uses it.
    NotKept,
    /// A node of a graph that would conflict with another one which nothing orders it with.
    NodesUnordered {
        /// The other node, by when it was added: 0 is the first.
        other: usize,
    },
    /// A graph that an executable one cannot take over.
    Update {
        /// What is different.
        why: &'static str,
        /// The node of the graph where it is, by when it was added: 0 is the first. None where the runtime does not say.
        node: Option<usize>,
    },
    /// Bytes that are no code of the kind that was asked for.
    NotCode {
        /// What they are or should be: follows "this is not" or "this is".
        what: &'static str,
    },
    /// A name or path with a zero byte in it, which C takes for its end.
    NulByte {
        /// Which.
        what: &'static str,
    },
    /// What the compiler of PTX said.
    Compiler {
        /// Its words.
        log: Text,
    },
    /// A library has nothing of this name.
    NoSuchName {
        /// What was looked for: `"kernel"`, `"variable"`.
        what: &'static str,
        /// The name.
        name: Text,
        /// What there is instead, where that can be said.
        known: Option<Text>,
    },
    /// A variable of a library of which there is a buffer already.
    Taken {
        /// The variable's name.
        name: Text,
    },
    /// A kernel's parameters are others than its type says.
    Signature {
        /// The parameter: 0 is the first.
        index: usize,
        /// Its bytes as the type says; none where the type has no such parameter.
        asked: Option<usize>,
        /// Its bytes as the kernel has them; none where that has no such parameter.
        found: Option<usize>,
    },
    /// A host function that a stream ran has panicked.
    CallbackPanicked {
        /// Where it was put on the stream.
        launched: &'static Location<'static>,
    },
    /// Versions of driver and runtime, as `1000 * major + 10 * minor`; zero where unknown.
    Versions {
        /// The newest version that the installed driver supports; zero without a driver.
        driver: i32,
        /// The version of the loaded runtime library.
        runtime: i32,
        /// The version whose headers this crate was built against.
        built: i32,
    },
}

impl Detail {
    /// The code that CUDA gives for the same mistake.
    pub(super) fn code(&self) -> cudaError_t {
        match self {
            Self::InvalidDevice { .. } => sys::cudaErrorInvalidDevice,
            Self::DeviceMismatch { .. } => sys::cudaErrorInvalidResourceHandle,
            Self::Unsupported { .. } => sys::cudaErrorNotSupported,
            Self::InCallback
            | Self::HostBorrowed
            | Self::Hazard { .. }
            | Self::Nested
            | Self::NotKept
            | Self::Taken { .. }
            | Self::NodesUnordered { .. }
            | Self::InGraph => sys::cudaErrorNotPermitted,
            Self::Capturing => sys::cudaErrorStreamCaptureUnsupported,
            Self::Update { .. } => sys::cudaErrorGraphExecUpdateFailure,
            Self::NotCode { .. } => sys::cudaErrorInvalidKernelImage,
            Self::Signature { .. } => sys::cudaErrorInvalidDeviceFunction,
            Self::NoSuchName { .. } => sys::cudaErrorSymbolNotFound,
            Self::CallbackPanicked { .. } => sys::cudaErrorUnknown,
            Self::ClusterSize { .. } => sys::cudaErrorInvalidClusterSize,
            Self::Allocation { .. } => sys::cudaErrorMemoryAllocation,
            Self::Versions { .. } => sys::cudaErrorSystemDriverMismatch,
            _ => sys::cudaErrorInvalidValue,
        }
    }
}
