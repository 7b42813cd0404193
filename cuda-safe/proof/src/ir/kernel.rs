//! The slice of a kernel: what is left of it.

use super::cfg::Graph;
use super::inst::{Op, Operand, Space, Step};

/// A variable that a kernel names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) name: String,
    pub(crate) space: Space,
    /// `None` for the shared memory of which a launch states the size.
    pub(crate) bytes: Option<u64>,
    pub(crate) align: u32,
    /// Whether the kernel itself declares it, and no function that it calls: it keeps its contents.
    pub(crate) is_own: bool,
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its size in bytes.
    pub bytes: u64,
    /// The alignment of its own bytes, not of what it points to.
    pub align: u32,
    /// The alignment of what it points to, as the kernel promises the compiler: 1 if it promises none.
    pub pointee: u32,
}

/// The clusters that a kernel declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clusters {
    /// The blocks of each (`.reqnctapercluster`).
    pub(crate) blocks: [u32; 3],
    /// The threads of a block, if the grid of a launch counts clusters (`.blocksareclusters`).
    pub(crate) threads: Option<[u32; 3]>,
}

/// A kernel, reduced to what feeds addresses, guards and accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    pub(crate) name: String,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) clusters: Option<Clusters>,
    pub(crate) objects: Vec<Object>,
    /// The bits of each register, 1 for predicates.
    pub(crate) registers: Vec<u8>,
    pub(crate) steps: Vec<Step>,
    pub(crate) files: Vec<String>,
    /// The texts of `Op::Refuse`.
    pub(crate) texts: Vec<String>,
    /// The parameters that are handles, and whether of surfaces.
    pub(crate) handles: Vec<(usize, bool)>,
    /// The blocks and loops of the steps.
    pub(crate) graph: Graph,
}

impl Kernel {
    /// The kernel's name in PTX.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives the kernel the name that refusals are to have: that of its source, where PTX has a mangled one.
    pub fn rename(&mut self, name: &str) {
        name.clone_into(&mut self.name);
    }

    /// The parameters, in order.
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The parameters that the kernel uses as handles of textures, or of surfaces if the second is `true`.
    /// The caller guarantees that they are: other numbers would lead anywhere.
    #[must_use]
    pub fn handles(&self) -> &[(usize, bool)] {
        &self.handles
    }

    /// Whether the kernel reads where its block is in its cluster, so that a proof depends on the clusters.
    #[must_use]
    pub fn asks_for_clusters(&self) -> bool {
        let asks = |it: &Operand| matches!(it, Operand::Special(it) if it.is_of_cluster());
        self.steps.iter().any(|step| step.from.iter().any(asks))
    }

    /// The blocks of a cluster, if the kernel declares them. A launch need not name them.
    #[must_use]
    pub fn clusters(&self) -> Option<[u32; 3]> {
        self.clusters.map(|it| it.blocks)
    }

    /// Whether the grid of a launch counts clusters of the kernel, and not blocks.
    #[must_use]
    pub fn counts_clusters(&self) -> bool {
        self.clusters.is_some_and(|it| it.threads.is_some())
    }

    /// The parts of parameters that a proof depends on, each with the parameter's index, the offset, and the
    /// bytes. A verdict holds for all launches that have the same values there, so a cache has them in its
    /// key, beside grid, block, clusters and shared bytes. Of a pointer only the fact that it is one counts.
    #[must_use]
    pub fn key(&self) -> Vec<(usize, u64, u64)> {
        let mut key = Vec::new();
        for step in &self.steps {
            if let (Op::Parameter, [Operand::Number(index), Operand::Number(offset)]) =
                (step.op, &step.from[..])
                && let (Ok(index), Ok(offset)) = (usize::try_from(*index), u64::try_from(*offset))
            {
                key.push((index, offset, u64::from(step.size)));
            }
        }
        key.sort_unstable();
        key.dedup();
        key
    }

    /// Returns whether the kernel reads a part of a parameter as a float, and not as another number.
    pub(crate) fn is_float(&self, parameter: usize, offset: u64) -> bool {
        let number = |of: &Operand| match of {
            Operand::Number(it) => u64::try_from(*it).ok(),
            _ => None,
        };
        let place = [u64::try_from(parameter).ok(), Some(offset)];
        let mut reads =
            self.steps.iter().filter(|it| it.op == Op::Parameter && it.from.iter().map(number).eq(place));
        let is_first = reads.next().is_some_and(|it| it.flag);
        is_first && reads.all(|it| it.flag)
    }
}
