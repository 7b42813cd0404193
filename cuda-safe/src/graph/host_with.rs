//! Host functions of graphs that read and write memory of the program.
//!
//! [`StreamRef::launch_host_fn_with`](crate::stream::StreamRef::launch_host_fn_with) says why the slices are
//! valid. A graph retains the memory, and each launch enters the accesses of all nodes.
#![expect(unsafe_code, reason = "makes the slices of a host function")]

use super::capture::Capture;
use super::executable::GraphExec;
use super::graph::Graph;
use super::nodes::kept;
use super::steps::Node;
use crate::error::Result;
use crate::stream::{Accesses, HostFnArgument};

impl Graph {
    /// [`add_host_fn`](Self::add_host_fn) with memory, which the function receives as slices. `&memory`
    /// is read and `&mut memory` is written. The graph retains the memory.
    ///
    /// The node comes after the nodes in `after`, and after every earlier node that it conflicts with.
    /// Launches are ordered with all other uses of the memory. Stands for
    /// [`cudaGraphAddHostNode`](crate::sys::cudaGraphAddHostNode).
    ///
    /// # Errors
    /// Those of [`add_empty`](Self::add_empty); `NotKept` if the graph cannot retain the memory.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{DeviceBuffer, Graph, PinnedBuffer, Stream};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let device = DeviceBuffer::from_slice(&[1.0_f64, 2.0, 4.0])?;
    /// let mut sums = PinnedBuffer::<f64>::alloc(3)?;
    /// let mut graph = Graph::new()?;
    /// let copy = graph.add_memcpy(&[], &mut sums, &device)?;
    /// graph.add_host_fn_with(&[copy], &mut sums, |sums: &mut [f64]| sums[0] = sums.iter().sum())?;
    /// let mut exec = graph.instantiate()?;
    /// for _ in 0..2 {
    ///     exec.launch(&stream)?;
    ///     assert_eq!(sums.host()?[0], 7.0); // waits for the function
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphAddHostNode")]
    #[track_caller]
    pub fn add_host_fn_with<A: HostFnArgument>(
        &mut self,
        after: &[Node],
        memory: A,
        f: impl Fn(A::Slices<'_>) + Send + Sync + 'static,
    ) -> Result<Node> {
        let (api, mut accesses) = ("Graph::add_host_fn_with", Accesses::default());
        let parts = memory.parts(&mut accesses);
        // SAFETY: the function is called as part of launches with these accesses, whose memory the graph
        // retains. Launches and nodes that conflict are ordered.
        let run = move || f(unsafe { A::slices(parts) });
        self.add_host(api, after, kept(api, &accesses.0)?, run)
    }

    /// [`set_host_fn`](Self::set_host_fn) with memory, as [`add_host_fn_with`](Self::add_host_fn_with).
    ///
    /// Stands for [`cudaGraphHostNodeSetParams`](crate::sys::cudaGraphHostNodeSetParams).
    ///
    /// # Errors
    /// Those of [`set_kernel`](Self::set_kernel); `NotKept` if the graph cannot retain the memory.
    #[doc(alias = "cudaGraphHostNodeSetParams")]
    #[doc(alias = "cudaGraphNodeSetParams")]
    #[track_caller]
    pub fn set_host_fn_with<A: HostFnArgument>(
        &mut self,
        node: Node,
        memory: A,
        f: impl Fn(A::Slices<'_>) + Send + Sync + 'static,
    ) -> Result<()> {
        let (api, mut accesses) = ("Graph::set_host_fn_with", Accesses::default());
        let parts = memory.parts(&mut accesses);
        // SAFETY: as in `add_host_fn_with`.
        let run = move || f(unsafe { A::slices(parts) });
        self.set_host(api, node, kept(api, &accesses.0)?, run)
    }
}

impl GraphExec {
    /// [`set_host_fn`](Self::set_host_fn) with memory, which the function receives as slices. `&memory` is
    /// read and `&mut memory` is written. The executable graph retains the memory.
    ///
    /// Stands for [`cudaGraphExecHostNodeSetParams`](crate::sys::cudaGraphExecHostNodeSetParams).
    ///
    /// # Errors
    /// Those of [`set_kernel`](Self::set_kernel); `NotKept` if the memory cannot be retained.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{Graph, PinnedBuffer, Stream};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let (mut ones, mut twos) = (PinnedBuffer::<u8>::alloc(4)?, PinnedBuffer::<u8>::alloc(4)?);
    /// let mut graph = Graph::new()?;
    /// let node = graph.add_host_fn_with(&[], &mut ones, |h: &mut [u8]| h.fill(1))?;
    /// let mut exec = graph.instantiate()?;
    /// exec.set_host_fn_with(&graph, node, &mut twos, |h: &mut [u8]| h.fill(2))?;
    /// exec.launch(&stream)?;
    /// assert_eq!(*twos.host()?, [2; 4]);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphExecHostNodeSetParams")]
    #[track_caller]
    pub fn set_host_fn_with<A: HostFnArgument>(
        &mut self,
        graph: &Graph,
        node: Node,
        memory: A,
        f: impl Fn(A::Slices<'_>) + Send + Sync + 'static,
    ) -> Result<()> {
        let (api, mut accesses) = ("GraphExec::set_host_fn_with", Accesses::default());
        let parts = memory.parts(&mut accesses);
        // SAFETY: as in `add_host_fn_with`. The executable graph retains the memory.
        let run = move || f(unsafe { A::slices(parts) });
        self.set_host(api, (graph, node), &kept(api, &accesses.0)?, run)
    }
}

impl Capture<'_> {
    /// [`host_fn`](Self::host_fn) with memory, which the function receives as slices. `&memory` is read and
    /// `&mut memory` is written. The graph retains the memory.
    ///
    /// # Errors
    /// Those of [`host_fn`](Self::host_fn); `NotKept` if the graph cannot retain the memory.
    #[doc(alias = "cudaLaunchHostFunc")]
    #[track_caller]
    pub fn host_fn_with<A: HostFnArgument>(
        &self,
        memory: A,
        f: impl Fn(A::Slices<'_>) + Send + Sync + 'static,
    ) -> Result<()> {
        let mut accesses = Accesses::default();
        let parts = memory.parts(&mut accesses);
        // SAFETY: as in `add_host_fn_with`.
        let run = move || f(unsafe { A::slices(parts) });
        // SAFETY: the function accesses the memory of these accesses and no other.
        unsafe { self.put_host("Capture::host_fn_with", &accesses.0, run) }
    }
}
