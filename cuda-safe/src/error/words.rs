//! The words of a [`Detail`].

use std::fmt;

use super::Detail;
use super::versions::write_versions;

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::None => f.write_str("no further details"),
            Self::LengthMismatch { destination, source } => {
                let least = destination.min(source);
                write!(
                    f,
                    "lengths differ: the destination has {destination} elements, the source {source}; copy a part of {least} of the \
                     longer one"
                )
            }
            Self::ExtentMismatch { destination, source } => write!(
                f,
                "extents differ: the destination has width, height and depth {destination:?}, the source {source:?}; copy parts that have \
                 the same"
            ),
            Self::Pitch { pitch, row, align } => write!(
                f,
                "a pitch of {pitch} bytes does not do for rows of {row} bytes whose elements are aligned to {align}"
            ),
            Self::WrongLength { what, needed, found } => {
                write!(f, "{what} has {found} elements, {needed} are needed")
            }
            Self::Overflow { what, left, right } => {
                write!(f, "{what} overflows: {left} and {right} do not fit together in {} bits", usize::BITS)
            }
            Self::Overlapping { destination, source, bytes } => write!(
                f,
                "source and destination overlap: {bytes} bytes from byte {source} to byte {destination} of the same memory; copy them to \
                 other memory first"
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
                    "{what} is {grid} blocks, which clusters of {cluster} along it do not divide: launch {fitting}, or smaller clusters"
                )
            }
            Self::ClusterSize { asked, limit, portable } => {
                write!(f, "a cluster has {asked} blocks, at most {limit} are possible for this launch")?;
                if portable {
                    f.write_str(
                        "; Kernel::set_non_portable_clusters allows more than 8 where the device can",
                    )?;
                }
                f.write_str(if limit < 8 {
                    "; blocks with less shared memory or fewer threads leave room for more"
                } else {
                    ""
                })
            }
            Self::OtherClusters { asked, declared } => {
                write!(
                    f,
                    "clusters of {asked:?} blocks were asked for, but the kernel's source says {declared:?}: ask for none"
                )
            }
            Self::LimitAsked { limit, value } => write!(f, "asked to set {limit:?} to {value}"),
            Self::InvalidDevice { ordinal, count: 0 } => {
                write!(f, "there is no device {ordinal}: this machine has none")
            }
            Self::InvalidDevice { ordinal, count } => {
                write!(f, "there is no device {ordinal}: ordinals go from 0 to {}", count - 1)
            }
            Self::DeviceMismatch { what, found, needed } => {
                write!(f, "{what} belongs to device {found}, device {needed} is needed")
            }
            Self::Unsupported { what } => write!(f, "{what} is not supported"),
            Self::Texture { asked, instead } => write!(f, "there is no {asked}; {instead}"),
            Self::Allocation { bytes, memory, free: None } => {
                write!(f, "asked for {bytes} bytes of {memory} memory")
            }
            Self::Allocation { bytes, memory, free: Some(free) } => {
                write!(f, "asked for {bytes} bytes of {memory} memory, of which {free} are free")
            }
            Self::Transfer { bytes } => write!(f, "the transfer was of {bytes} bytes"),
            Self::InCallback => {
                f.write_str("a host function that a stream runs may not call CUDA or wait for it")
            }
            Self::HostBorrowed => {
                f.write_str("the memory is lent to the host by a guard that still lives: drop that first")
            }
            Self::Hazard { first: Some(first), second } => {
                write!(
                    f,
                    "nothing orders the operation at {second} after the conflicting one at {first}: have its stream wait for an event \
                     that is recorded behind that, or wait for that on the host first"
                )
            }
            Self::Hazard { first: None, second } => {
                write!(
                    f,
                    "nothing orders the operation at {second} after an earlier conflicting one: have its stream wait for an event \
                     that is recorded behind that, or wait for that on the host first"
                )
            }
            Self::Nested => f.write_str("an operation was started inside the closure of another one"),
            Self::Capturing => f.write_str("not possible while a stream is being captured"),
            Self::InGraph => {
                f.write_str("a graph still holds the memory: drop that and its executable forms first")
            }
            Self::NotPlanned { index } => {
                write!(f, "the plan was made for other memory than that of operand {index}")
            }
            Self::NotKept => f.write_str("a graph cannot keep this memory for as long as it lives"),
            Self::NodesUnordered { other } => write!(
                f,
                "the node would use memory that node {other} of the graph (0 is the first) uses, one of them writes it, and nothing orders \
                 the two: name one as what the other comes after when it is added, or by Graph::add_dependencies"
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
            Self::Compiler { log } => write!(f, "the compiler says: {log}"),
            Self::NoSuchName { what, name, known } => {
                write!(f, "the library has no {what} named {name}")?;
                // Names of C++ have their types in them.
                known.map_or(Ok(()), |known| {
                    write!(f, ": {known}; extern \"C\" keeps a kernel's name as it is")
                })
            }
            Self::Taken { name } => {
                write!(f, "there is a buffer of {name} already: drop that, and kernels that use it, first")
            }
            Self::Signature { index, asked, found } => write_signature(f, index, asked, found),
            Self::CallbackPanicked { launched } => {
                write!(f, "the host function launched at {launched} panicked")
            }
            Self::Versions { driver, runtime, built } => write_versions(f, driver, runtime, built),
        }
    }
}

/// Says which parameter of a kernel does not fit its type.
fn write_signature(
    f: &mut fmt::Formatter<'_>,
    index: usize,
    asked: Option<usize>,
    found: Option<usize>,
) -> fmt::Result {
    match (asked, found) {
        (Some(asked), Some(found)) => {
            write!(
                f,
                "parameter {index} of the kernel (0 is the first) has {found} bytes, its type has {asked}"
            )
        }
        (Some(_), None) => write!(f, "the type has more than the {index} parameters that the kernel has"),
        _ => write!(f, "the kernel has more than the {index} parameters that its type has"),
    }
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
}
