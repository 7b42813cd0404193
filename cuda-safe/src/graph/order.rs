//! The order of a graph's nodes: edges, and which node comes before which. Calls no C function.
//!
//! # Why the order of two nodes costs about nothing
//! No node has a set of its ancestors. The nodes are divided into chains instead. Each node of a chain has
//! an edge from the one before it, so two nodes of one chain need only their positions compared. Every
//! other edge crosses from one chain to another. A search goes backwards from crossing to crossing, later
//! nodes first, and ends where the nodes are no later than the one it looks for. Its steps are counted: a
//! chain, a fan and a lattice of any size need a few for each node.
//!
//! If an added node needs more steps than [`MOST`], it gets an edge from the earlier node without an
//! answer. Such an edge may be redundant. It is never wrong, because nothing comes after a node that is
//! being added. Every refusal rests on a search without a limit.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::mem;

use cuda_hazard::{Few, Segments};

/// A node and its direct successor.
pub(super) type Edge = (usize, usize);

/// How many steps of a search one edge may cost that is then left out.
const MOST: usize = 32;

/// The nodes of a graph by number, and their edges. There is no cycle.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    places: Segments<NodePosition>,
    /// All nodes, each after its predecessors: by rank. Nodes beyond its end are in the order of their
    /// numbers.
    sorted: Vec<usize>,
    /// The rank of each node. Beyond the end it is the node's number.
    ranks: Vec<usize>,
    /// The nodes of each chain with an edge from another chain, first to last.
    crossings: BTreeMap<usize, Vec<usize>>,
}

/// The place of a node.
#[derive(Clone, Debug)]
struct NodePosition {
    /// The direct predecessors, sorted.
    direct: Few<usize>,
    /// The chain, a path of edges, by its first node.
    chain: usize,
    /// The position in the chain.
    position: usize,
    /// Whether it is the last node of its chain.
    is_last: bool,
}

impl Order {
    /// Adds a node after its direct predecessors, which are sorted.
    pub(super) fn push(&mut self, direct: Few<usize>) {
        let at = self.places.len();
        let place = self.linked(at, direct);
        self.places.push(place);
    }

    /// Returns all nodes, each after its predecessors.
    pub(super) fn sorted(&self) -> impl Iterator<Item = usize> {
        let rest = self.sorted.len()..self.places.len();
        self.sorted.iter().copied().chain(rest)
    }

    /// Returns the position of a node among all sorted nodes.
    fn rank(&self, at: usize) -> usize {
        self.ranks.get(at).copied().unwrap_or(at)
    }

    /// Returns whether the edge exists.
    pub(super) fn has_edge(&self, (from, to): Edge) -> bool {
        self.places.get(to).is_some_and(|place| place.direct.binary_search(&from).is_ok())
    }

    /// Returns the edges from a node and to it.
    pub(super) fn edges_of(&self, at: usize) -> Vec<Edge> {
        let before = self.places[at].direct.iter().map(|from| (*from, at));
        let after = (0..self.places.len()).map(|to| (at, to)).filter(|edge| self.has_edge(*edge));
        before.chain(after).collect()
    }

    /// Returns whether the first node is a direct or indirect predecessor of the second.
    pub(super) fn comes_before(&self, first: usize, second: usize) -> bool {
        first != second && Search::from(self, &[second]).reaches(first, usize::MAX)
    }

    /// Returns whether one of two nodes comes before the other.
    pub(super) fn are_ordered(&self, one: usize, other: usize) -> bool {
        self.comes_before(one, other) || self.comes_before(other, one)
    }

    /// Returns whether a new node with these direct predecessors comes after all nodes, because they are one
    /// chain that ends with one of these.
    pub(super) fn comes_after_all(&self, direct: &[usize]) -> bool {
        direct.iter().any(|from| self.places[*from].position + 1 == self.places.len())
    }

    /// Returns whether the first node comes before the second, as far as one look shows.
    pub(super) fn is_seen_before(&self, first: usize, second: usize) -> bool {
        let (a, b) = (&self.places[first], &self.places[second]);
        (a.chain == b.chain && a.position < b.position) || self.has_edge((first, second))
    }

    /// Adds nodes to the direct predecessors of a new node, so that it comes after all of `others`.
    pub(super) fn extend(&self, direct: &mut Few<usize>, others: Few<usize>) {
        // As a rule nothing is: the program names the nodes, or there is no conflict.
        if others.iter().all(|other| direct.binary_search(other).is_ok()) {
            return;
        }
        direct.extend(self.missing(direct, others, MOST));
        direct.sort_unstable();
    }

    /// Returns those of `others` that a node with these predecessors, which are sorted, does not come after
    /// yet. It comes after all of them if it comes after these. Spends at most `most` steps on each.
    fn missing(&self, direct: &[usize], others: Few<usize>, most: usize) -> Few<usize> {
        let is_indirect = |other: &usize| direct.binary_search(other).is_err();
        let mut others: Few<usize> = others.iter().copied().filter(is_indirect).collect();
        if others.is_empty() || direct.is_empty() && others.len() == 1 {
            return others;
        }
        // The last come first: the earlier ones are most often before them.
        others.sort_unstable_by_key(|other| Reverse(self.rank(*other)));
        others.dedup();
        let mut search = Search::from(self, direct);
        others.retain(|other| {
            let is_missing = !search.reaches(*other, most);
            if is_missing {
                search.start_at(*other);
            }
            is_missing
        });
        others
    }

    /// Returns nodes of `others` that a node with these direct predecessors does not come after. If it came
    /// after these, it would come after all.
    pub(super) fn not_before(&self, direct: &[usize], others: Few<usize>) -> Few<usize> {
        self.missing(direct, others, usize::MAX)
    }

    /// Returns the direct predecessors of a node, sorted.
    pub(super) fn direct(&self, at: usize) -> &[usize] {
        &self.places[at].direct
    }

    /// Adds an edge. Returns false, and changes nothing, if it would close a cycle.
    #[must_use]
    pub(super) fn join(&mut self, (from, to): Edge) -> bool {
        if !self.sort(from, to) {
            return false;
        }
        let Err(index) = self.places[to].direct.binary_search(&from) else { return true };
        self.places[to].direct.insert(index, from);
        let NodePosition { chain, position, is_last, .. } = self.places[to];
        if position == 0 && is_last && self.places[from].is_last {
            self.crossings.remove(&chain);
            self.link(to);
            return true;
        }
        let crossings = self.crossings.entry(chain).or_default();
        let index = crossings.partition_point(|other| self.places[*other].position < position);
        if crossings.get(index) != Some(&to) {
            crossings.insert(index, to);
        }
        true
    }

    /// Removes edges.
    pub(super) fn part(&mut self, edges: &[Edge]) {
        for (from, to) in edges {
            self.places[*to].direct.retain(|other| *other != *from);
        }
        self.crossings.clear();
        for rank in 0..self.places.len() {
            self.link(self.sorted.get(rank).copied().unwrap_or(rank));
        }
    }

    /// Returns the place of a node, which is in no chain, with these direct predecessors: at the end of the
    /// longest chain that ends with one of them, or in a new chain.
    fn linked(&mut self, at: usize, direct: Few<usize>) -> NodePosition {
        let (mut longest, mut chain, mut position) = (None, at, 0);
        for from in direct.iter().copied() {
            let place = &self.places[from];
            if place.is_last && place.position >= position {
                (longest, chain, position) = (Some(from), place.chain, place.position + 1);
            }
        }
        if let Some(from) = longest {
            self.places[from].is_last = false;
        }
        if direct.len() > usize::from(position > 0) {
            self.crossings.entry(chain).or_default().push(at);
        }
        NodePosition { direct, chain, position, is_last: true }
    }

    /// Gives a node, which is in no chain, its place.
    fn link(&mut self, at: usize) {
        let direct = mem::take(&mut self.places[at].direct);
        self.places[at] = self.linked(at, direct);
    }

    /// Sorts the nodes so that `from` is before `to`. Returns false, and changes nothing, if it comes after
    /// it, or is the same.
    fn sort(&mut self, from: usize, to: usize) -> bool {
        let (first, last) = (self.rank(to), self.rank(from));
        if last < first {
            return true;
        }
        for list in [&mut self.sorted, &mut self.ranks] {
            list.extend(list.len()..=last);
        }
        // Whether each node from one to the other is `to` or comes after it.
        let mut behind = Vec::with_capacity(last - first + 1);
        for at in &self.sorted[first..=last] {
            let mut ranks = self.places[*at].direct.iter().map(|before| self.ranks[*before]);
            let is_behind = *at == to || ranks.any(|rank| rank >= first && behind[rank - first]);
            behind.push(is_behind);
        }
        if behind.last() == Some(&true) {
            return false;
        }
        let of = |which| {
            let nodes = self.sorted[first..=last].iter().zip(&behind);
            nodes.filter(move |(_, is_behind)| **is_behind == which).map(|(at, _)| *at)
        };
        let sorted: Vec<usize> = of(false).chain(of(true)).collect();
        for (rank, at) in (first..).zip(sorted) {
            (self.sorted[rank], self.ranks[at]) = (at, rank);
        }
        true
    }
}

/// A search for the predecessors of some nodes.
struct Search<'o> {
    order: &'o Order,
    /// The last position in each chain that was found: of a start, or of a predecessor of one.
    found: BTreeMap<usize, usize>,
    /// The crossings whose predecessors are to be found, with their ranks. Each is followed by the one before
    /// it in its chain.
    open: BinaryHeap<(usize, usize)>,
    /// The number of crossings that were looked at.
    steps: usize,
}

impl<'o> Search<'o> {
    fn from(order: &'o Order, starts: &[usize]) -> Self {
        let mut search = Self { order, found: BTreeMap::new(), open: BinaryHeap::new(), steps: 0 };
        starts.iter().for_each(|start| search.start_at(*start));
        search
    }

    /// Adds a start, or a predecessor of one.
    fn start_at(&mut self, at: usize) {
        let NodePosition { chain, position, .. } = self.order.places[at];
        let found = self.found.get(&chain);
        if found.is_none_or(|found| *found < position) {
            self.found.insert(chain, position);
            self.open_up_to(chain, position + 1);
        }
    }

    /// Opens the last crossing of a chain before a position.
    fn open_up_to(&mut self, chain: usize, end: usize) {
        let places = &self.order.places;
        let Some(crossings) = self.order.crossings.get(&chain) else { return };
        let index = crossings.partition_point(|at| places[*at].position < end);
        if let Some(at) = index.checked_sub(1).map(|index| crossings[index]) {
            self.open.push((self.order.rank(at), at));
        }
    }

    /// Returns whether a node is a start, or comes before one. May return false after `most` further steps.
    fn reaches(&mut self, at: usize, most: usize) -> bool {
        let (place, rank) = (&self.order.places[at], self.order.rank(at));
        let end = self.steps.saturating_add(most);
        loop {
            if self.found.get(&place.chain).is_some_and(|found| *found >= place.position) {
                return true;
            }
            // What precedes the remaining crossings is earlier still.
            let Some(next) = self.open.peek().copied() else { return false };
            if next.0 <= rank || self.steps == end {
                return false;
            }
            self.steps += 1;
            #[cfg(test)]
            STEPS.set(STEPS.get() + 1);
            // It was opened more than once if later nodes of its chain were found after it.
            while self.open.peek() == Some(&next) {
                self.open.pop();
            }
            let crossing = &self.order.places[next.1];
            crossing.direct.iter().for_each(|before| self.start_at(*before));
            self.open_up_to(crossing.chain, crossing.position);
        }
    }
}

#[cfg(test)]
thread_local! {
    /// The steps of all searches of the thread.
    pub(super) static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}
