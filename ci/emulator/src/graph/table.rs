//! The table of graphs: handles, nodes, edges.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::executable::Exec;
use super::memory::GraphMemories;
use super::node::NodeOp;
use super::user::Users;
use crate::error::Answer;
use crate::host_line::HostLine;
use crate::sys::cudaErrorInvalidValue;

/// Nodes in the order in which they were named, each of them once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Named {
    order: BTreeMap<usize, usize>,
    places: HashMap<usize, usize>,
}

impl Named {
    fn insert(&mut self, node: usize) {
        let place = self.order.last_key_value().map_or(0, |last| last.0 + 1);
        if !self.places.contains_key(&node) {
            self.order.insert(place, node);
            self.places.insert(node, place);
        }
    }

    fn remove(&mut self, node: usize) {
        if let Some(place) = self.places.remove(&node) {
            self.order.remove(&place);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.order.values().copied()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

impl FromIterator<usize> for Named {
    fn from_iter<I: IntoIterator<Item = usize>>(nodes: I) -> Self {
        let mut named = Self::default();
        nodes.into_iter().for_each(|node| named.insert(node));
        named
    }
}

/// One node.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) op: NodeOp,
    /// The nodes that it comes after.
    pub(crate) before: Named,
    /// The nodes that come after it.
    pub(crate) after: BTreeSet<usize>,
    pub(crate) device: usize,
    pub(crate) call: &'static str,
    /// Where the program made it.
    pub(super) line: HostLine,
    /// Its number in its graph, which copies of the graph use as well.
    pub(crate) local: u32,
}

/// One graph.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    /// The nodes, in the order in which they were made: handles only grow.
    pub(crate) nodes: BTreeMap<usize, Node>,
    /// The nodes that were cloned from those of another graph.
    pub(crate) twins: HashMap<usize, usize>,
    /// Whether a node of another graph owns it.
    pub(crate) owned: bool,
    /// The graph that it is a body in, at any depth.
    pub(crate) root: Option<usize>,
    /// The ports of edges that are not plain: a kernel that may begin before the earlier one is over. Here it
    /// begins afterwards.
    ports: HashMap<(usize, usize), u8>,
    /// How many nodes have been made in it, or in the graph that it is a copy of.
    made: u32,
    /// How many references to user objects it holds.
    pub(crate) users: BTreeMap<usize, u32>,
    /// The nodes that allocate or free memory, and those with a child graph.
    notable: BTreeSet<usize>,
}

impl Graph {
    /// Takes a node in. The nodes that it names are in the graph.
    fn insert(&mut self, handle: usize, node: Node) {
        for from in node.before.iter() {
            if let Some(from) = self.nodes.get_mut(&from) {
                from.after.insert(handle);
            }
        }
        if matches!(node.op, NodeOp::Alloc(..) | NodeOp::Free(_) | NodeOp::Child(_)) {
            self.notable.insert(handle);
        }
        self.nodes.insert(handle, node);
    }

    /// Every edge, as a pair of the earlier and the later node.
    pub(crate) fn edges(&self) -> Vec<(usize, usize)> {
        let of = |(to, node): (&usize, &Node)| node.before.iter().map(|from| (from, *to)).collect::<Vec<_>>();
        self.nodes.iter().flat_map(of).collect()
    }

    /// The port of the earlier node that an edge begins at; 0 for a plain one.
    pub(crate) fn port(&self, from: usize, to: usize) -> u8 {
        self.ports.get(&(from, to)).copied().unwrap_or(0)
    }

    /// Sets that. Only kernels have other ports than 0.
    pub(crate) fn set_port(&mut self, from: usize, to: usize, port: u8) -> Answer {
        let kernel = |node| matches!(self.nodes.get(&node).map(|it| &it.op), Some(NodeOp::Kernel(_)));
        if port != 0 && !(kernel(from) && kernel(to)) {
            return Err(cudaErrorInvalidValue);
        }
        if port != 0 {
            self.ports.insert((from, to), port);
        }
        Ok(())
    }

    /// Whether a node is named as a dependency of another one.
    pub(crate) fn has_edge(&self, from: usize, to: usize) -> bool {
        self.nodes.get(&from).is_some_and(|node| node.after.contains(&to))
    }

    /// Has a node come after another one.
    pub(crate) fn connect(&mut self, from: usize, to: usize) {
        if let Some(node) = self.nodes.get_mut(&from) {
            node.after.insert(to);
        }
        if let Some(node) = self.nodes.get_mut(&to) {
            node.before.insert(from);
        }
    }

    /// Ends that.
    pub(crate) fn disconnect(&mut self, from: usize, to: usize) {
        self.ports.remove(&(from, to));
        if let Some(node) = self.nodes.get_mut(&from) {
            node.after.remove(&to);
        }
        if let Some(node) = self.nodes.get_mut(&to) {
            node.before.remove(from);
        }
    }

    /// The nodes in a topological order; `None` if there is a cycle. It is the order of several passes over
    /// all nodes, of which each takes the nodes whose dependencies were taken.
    pub(super) fn order(&self) -> Option<Vec<usize>> {
        let mut unmet: HashMap<usize, usize> =
            self.nodes.iter().map(|(handle, node)| (*handle, node.before.order.len())).collect();
        let mut passes: HashMap<usize, usize> = HashMap::new();
        let mut open: Vec<usize> =
            self.nodes.iter().filter(|it| it.1.before.is_empty()).map(|it| *it.0).collect();
        let mut order = Vec::with_capacity(self.nodes.len());
        while let Some(handle) = open.pop() {
            let pass = passes.get(&handle).copied().unwrap_or(0);
            order.push((pass, handle));
            for later in self.nodes.get(&handle).into_iter().flat_map(|node| &node.after) {
                let least = pass + usize::from(*later < handle);
                passes.entry(*later).and_modify(|it| *it = least.max(*it)).or_insert(least);
                if let Some(left) = unmet.get_mut(later) {
                    *left -= 1;
                    if *left == 0 {
                        open.push(*later);
                    }
                }
            }
        }
        order.sort_unstable();
        (order.len() == self.nodes.len()).then(|| order.into_iter().map(|it| it.1).collect())
    }

    /// Whether all of `some` are among `others` or come before one of those.
    pub(super) fn reached(&self, some: &[usize], others: &[usize]) -> bool {
        let mut seen: BTreeSet<usize> = others.iter().copied().collect();
        let mut open = others.to_vec();
        while let Some(handle) = open.pop() {
            for earlier in self.nodes.get(&handle).into_iter().flat_map(|node| node.before.iter()) {
                if seen.insert(earlier) {
                    open.push(earlier);
                }
            }
        }
        some.iter().all(|it| seen.contains(it))
    }
}

/// All graphs, executable ones too, of the process.
#[derive(Debug, Default)]
pub(crate) struct Graphs {
    last: usize,
    graphs: HashMap<usize, Graph>,
    /// Which graph a node is in.
    nodes: HashMap<usize, usize>,
    execs: HashMap<usize, Exec>,
    /// The memory that graphs allocate by nodes.
    pub(crate) memory: GraphMemories,
}

/// Handles start here, with gaps, so that small numbers are no handles.
const FIRST: usize = 0x0066_0000_0000;
const STRIDE: usize = 0x40;

/// The number of a graph, a node or an executable graph in this process, for tools.
pub(crate) fn number(handle: usize) -> u64 {
    u64::try_from(handle.saturating_sub(FIRST) / STRIDE).unwrap_or(0)
}

impl Graphs {
    fn handle(&mut self) -> usize {
        self.last += 1;
        FIRST + self.last * STRIDE
    }

    pub(crate) fn create(&mut self) -> usize {
        let handle = self.handle();
        self.graphs.insert(handle, Graph::default());
        handle
    }

    pub(crate) fn get(&self, graph: usize) -> Answer<&Graph> {
        self.graphs.get(&graph).ok_or(cudaErrorInvalidValue)
    }

    pub(crate) fn get_mut(&mut self, graph: usize) -> Answer<&mut Graph> {
        self.graphs.get_mut(&graph).ok_or(cudaErrorInvalidValue)
    }

    /// Adds a node after `before`, which must be nodes of the graph.
    pub(crate) fn add(
        &mut self,
        graph: usize,
        op: NodeOp,
        before: &[usize],
        device: usize,
        call: &'static str,
    ) -> Answer<usize> {
        let home = self.get(graph)?;
        let mut once = BTreeSet::new();
        if !before.iter().all(|it| home.nodes.contains_key(it) && once.insert(*it)) {
            return Err(cudaErrorInvalidValue);
        }
        let handle = self.handle();
        self.nodes.insert(handle, graph);
        let line = HostLine::captured();
        let before = before.iter().copied().collect();
        let home = self.get_mut(graph)?;
        home.made += 1;
        let local = home.made - 1;
        home.insert(handle, Node { op, before, after: BTreeSet::new(), device, call, line, local });
        Ok(handle)
    }

    /// The graph that a node is in.
    pub(crate) fn home(&self, node: usize) -> Answer<usize> {
        self.nodes.get(&node).copied().ok_or(cudaErrorInvalidValue)
    }

    pub(crate) fn node(&self, node: usize) -> Answer<&Node> {
        self.get(self.home(node)?)?.nodes.get(&node).ok_or(cudaErrorInvalidValue)
    }

    pub(crate) fn node_mut(&mut self, node: usize) -> Answer<&mut Node> {
        let home = self.home(node)?;
        self.get_mut(home)?.nodes.get_mut(&node).ok_or(cudaErrorInvalidValue)
    }

    /// The graph that a graph is a body in, or itself.
    pub(crate) fn root(&self, graph: usize) -> Answer<usize> {
        Ok(self.get(graph)?.root.unwrap_or(graph))
    }

    /// Whether a graph has a conditional node.
    pub(crate) fn is_conditional(&self, graph: usize) -> Answer<bool> {
        Ok(self.get(graph)?.nodes.values().any(|node| matches!(node.op, NodeOp::Conditional(_))))
    }

    /// Takes a node out of its graph, and returns the graphs that it owned.
    pub(crate) fn remove(&mut self, node: usize) -> Answer<Vec<usize>> {
        let home = self.home(node)?;
        self.nodes.remove(&node);
        let graph = self.get_mut(home)?;
        let gone = graph.nodes.remove(&node).ok_or(cudaErrorInvalidValue)?;
        graph.notable.remove(&node);
        for from in gone.before.iter() {
            graph.disconnect(from, node);
        }
        for to in &gone.after {
            graph.disconnect(node, *to);
        }
        Ok(gone.op.owned().to_vec())
    }

    /// Whether a graph has memory of its own: a node that allocates or frees.
    pub(crate) fn allocates(&self, graph: usize) -> Answer<bool> {
        let it = self.get(graph)?;
        for node in it.notable.iter().filter_map(|handle| it.nodes.get(handle)) {
            match node.op {
                NodeOp::Child(child) if !self.allocates(child)? => {}
                _ => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Copies a graph with all that it owns. The copy and each graph in it hold references to user objects of
    /// their own.
    pub(crate) fn duplicate(&mut self, counts: &mut Users, graph: usize) -> Answer<usize> {
        let source = self.get(graph)?;
        let (nodes, users, ports) = (source.nodes.clone(), source.users.clone(), source.ports.clone());
        let made = source.made;
        for (user, count) in &users {
            counts.retain(*user, *count)?;
        }
        let copy = self.create();
        let (mut twins, mut edges) = (HashMap::new(), Vec::new());
        for (old, mut node) in nodes {
            if let NodeOp::Child(child) = node.op {
                let child = self.duplicate(counts, child)?;
                self.get_mut(child)?.owned = true;
                node.op = NodeOp::Child(child);
            }
            let new = self.handle();
            twins.insert(old, new);
            self.nodes.insert(new, copy);
            edges.extend(node.before.iter().map(|from| (from, new)));
            (node.before, node.after) = (Named::default(), BTreeSet::new());
            self.get_mut(copy)?.insert(new, node);
        }
        let target = self.get_mut(copy)?;
        target.users = users;
        target.made = made;
        for (from, to) in edges {
            target.connect(twins.get(&from).copied().ok_or(cudaErrorInvalidValue)?, to);
        }
        let twin = |node: &usize| twins.get(node).copied().unwrap_or(0);
        target.ports = ports.iter().map(|((from, to), port)| ((twin(from), twin(to)), *port)).collect();
        target.twins = twins;
        Ok(copy)
    }

    /// Destroys a graph with all that it owns, and returns the references to user objects that it held.
    pub(crate) fn destroy(&mut self, graph: usize) -> Answer<Vec<(usize, u32)>> {
        let gone = self.graphs.remove(&graph).ok_or(cudaErrorInvalidValue)?;
        let mut users: Vec<(usize, u32)> = gone.users.into_iter().collect();
        for (handle, node) in gone.nodes {
            self.nodes.remove(&handle);
            for owned in node.op.owned() {
                users.extend(self.destroy(*owned)?);
            }
        }
        Ok(users)
    }

    pub(crate) fn keep(&mut self, exec: Exec) -> usize {
        let handle = self.handle();
        self.execs.insert(handle, exec);
        handle
    }

    /// Puts an executable graph back that was taken out with [`Graphs::end`].
    pub(crate) fn put_back(&mut self, handle: usize, exec: Exec) {
        self.execs.insert(handle, exec);
    }

    pub(crate) fn exec(&self, exec: usize) -> Answer<&Exec> {
        self.execs.get(&exec).ok_or(cudaErrorInvalidValue)
    }

    /// Whether a graph has an executable form.
    pub(crate) fn has_exec(&self, graph: usize) -> bool {
        self.execs.values().any(|it| it.source == graph)
    }

    pub(crate) fn exec_mut(&mut self, exec: usize) -> Answer<&mut Exec> {
        self.execs.get_mut(&exec).ok_or(cudaErrorInvalidValue)
    }

    pub(crate) fn end(&mut self, exec: usize) -> Answer<Exec> {
        self.execs.remove(&exec).ok_or(cudaErrorInvalidValue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(graphs: &mut Graphs, graph: usize, before: &[usize]) -> usize {
        graphs.add(graph, NodeOp::Nothing, before, 0, "test").unwrap()
    }

    #[test]
    fn nodes_come_after_what_they_name_and_a_cycle_has_no_order() {
        let mut graphs = Graphs::default();
        let graph = graphs.create();
        let a = add(&mut graphs, graph, &[]);
        let b = add(&mut graphs, graph, &[]);
        let c = add(&mut graphs, graph, &[a, b]);
        graphs.get_mut(graph).unwrap().connect(b, a);
        let it = graphs.get(graph).unwrap();
        assert_eq!(it.order(), Some(vec![b, a, c]));
        assert_eq!(it.edges(), [(b, a), (a, c), (b, c)]);
        assert!(it.reached(&[b], &[a]) && !it.reached(&[c], &[a]));
        graphs.get_mut(graph).unwrap().connect(c, b);
        assert_eq!(graphs.get(graph).unwrap().order(), None);
    }

    #[test]
    fn a_copy_has_nodes_of_its_own_and_a_node_of_another_graph_is_refused() {
        let mut graphs = Graphs::default();
        let graph = graphs.create();
        let a = add(&mut graphs, graph, &[]);
        add(&mut graphs, graph, &[a]);
        let copy = graphs.duplicate(&mut Users::default(), graph).unwrap();
        let [(from, to)] = graphs.get(copy).unwrap().edges()[..] else { panic!() };
        assert_eq!(graphs.get(copy).unwrap().twins.get(&a), Some(&from));
        assert_ne!(to, from);
        let local = |node| graphs.node(node).unwrap().local;
        assert!(local(a) == local(from) && local(a) != local(to) && number(a) != number(from));
        let refused = graphs.add(copy, NodeOp::Nothing, &[a], 0, "test");
        assert_eq!(refused, Err(cudaErrorInvalidValue));
        graphs.destroy(graph).unwrap();
        assert!(graphs.node(a).is_err() && graphs.node(from).is_ok());
    }
}
