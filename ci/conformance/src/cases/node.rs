//! Arguments of nodes that the other files of graphs leave out: volumes, symbols, nulls.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::*;

use super::graph::{N, empty, graph, kernel, launch, ready, row};
use super::pitch::CHANGES;
use super::volume::{N as BYTES, whole};
use crate::case::{Cases, Change};
use crate::log::{Log, Setup, ask, need};
use crate::memory::{Block, Kind, event, pattern};

unsafe extern "C" {
    fn case_empty();
    fn case_list_symbol() -> *const c_void;
}

fn volumes(cases: &mut Cases) {
    let api = "cudaGraphAddMemcpyNode";
    for (what, change, _) in &CHANGES {
        cases.add(format!("{api}/device to device, {what}"), |log| {
            let (graph, mut node) = (graph(log)?, ptr::null_mut());
            let (d, s) = (Block::new(log, Kind::Device, BYTES)?, Block::new(log, Kind::Device, BYTES)?);
            let mut parameters = whole(d, s, cudaMemcpyDeviceToDevice);
            change(&mut parameters);
            ask!(log, cudaGraphAddMemcpyNode(&raw mut node, graph, ptr::null(), 0, &raw const parameters));
            Ok(())
        });
    }
    cases.add("cudaGraphExecMemcpyNodeSetParams/too much, and another direction", |log| {
        let (graph, mut node) = (graph(log)?, ptr::null_mut());
        let (d, s) = (Block::new(log, Kind::Device, BYTES)?, Block::new(log, Kind::Device, BYTES)?);
        let host = Block::with(log, Kind::Pinned, &[1; BYTES])?;
        let right = whole(d, s, cudaMemcpyDeviceToDevice);
        need!(log, cudaGraphAddMemcpyNode(&raw mut node, graph, ptr::null(), 0, &raw const right));
        let run = ready(log, graph)?;
        let mut long = right;
        long.extent.depth *= 2;
        ask!(log, "too much", cudaGraphExecMemcpyNodeSetParams(run, node, &raw const long));
        let other = whole(d, host, cudaMemcpyHostToDevice);
        ask!(log, "another direction", cudaGraphExecMemcpyNodeSetParams(run, node, &raw const other));
        Ok(())
    });
}

fn rows(cases: &mut Cases) {
    for (what, small_source) in [("more than the source has", true), ("more than the destination has", false)]
    {
        cases.add(format!("cudaGraphAddMemcpyNode1D/{what}"), move |log| {
            let (graph, mut node) = (graph(log)?, ptr::null_mut());
            let (small, large) = (Block::new(log, Kind::Device, N)?, Block::new(log, Kind::Device, 2 * N)?);
            let (to, from) = if small_source { (large, small) } else { (small, large) };
            let (to, from, way) = (to.ptr(), from.ptr(), cudaMemcpyDeviceToDevice);
            let none = ptr::null();
            ask!(log, cudaGraphAddMemcpyNode1D(&raw mut node, graph, none, 0, to, from, 2 * N, way));
            need!(log, cudaGraphAddMemcpyNode1D(&raw mut node, graph, none, 0, to, from, N, way));
            let run = ready(log, graph)?;
            ask!(log, "changed", cudaGraphExecMemcpyNodeSetParams1D(run, node, to, from, 2 * N, way));
            Ok(())
        });
    }
    cases.add("cudaGraphAddMemcpyNode1D/registered memory, there and back", |log| {
        let graph = graph(log)?;
        let source = pattern(N, 1);
        let up = Block::with(log, Kind::Registered, &source)?;
        let (device, down) = (Block::new(log, Kind::Device, N)?, Block::new(log, Kind::Registered, N)?);
        let (mut first, mut last) = (ptr::null_mut(), ptr::null_mut());
        let (to, back) = (cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost);
        let (a, b, c) = (up.ptr(), device.ptr(), down.ptr());
        ask!(log, cudaGraphAddMemcpyNode1D(&raw mut first, graph, ptr::null(), 0, b, a, N, to));
        ask!(log, cudaGraphAddMemcpyNode1D(&raw mut last, graph, &raw const first, 1, c, b, N, back));
        let run = ready(log, graph)?;
        launch(log, run, down, &source)
    });
    cases.add("cudaGraphExecMemsetNodeSetParams/of a set of two rows", |log| {
        let (graph, mut node) = (graph(log)?, ptr::null_mut());
        let to = Block::new(log, Kind::Device, N)?;
        let two = cudaMemsetParams { pitch: 512, width: 100, height: 2, ..row(to, 5) };
        need!(log, cudaGraphAddMemsetNode(&raw mut node, graph, ptr::null(), 0, &raw const two));
        let run = ready(log, graph)?;
        let other = cudaMemsetParams { value: 6, ..two };
        ask!(log, "another value", cudaGraphExecMemsetNodeSetParams(run, node, &raw const other));
        let less = cudaMemsetParams { width: 50, ..two };
        ask!(log, "narrower rows", cudaGraphExecMemsetNodeSetParams(run, node, &raw const less));
        let one = row(to, 7);
        ask!(log, "one row", cudaGraphExecMemsetNodeSetParams(run, node, &raw const one));
        Ok(())
    });
}

/// A graph that copies to a symbol or from it, and its instance.
struct SymbolGraph {
    to: bool,
    graph: cudaGraph_t,
    node: cudaGraphNode_t,
    run: cudaGraphExec_t,
    list: *const c_void,
    host: Block,
}

impl SymbolGraph {
    fn new(log: &mut Log, to: bool) -> Result<Self, Setup> {
        // SAFETY: takes nothing and gives an address.
        let list = unsafe { case_list_symbol() };
        let host = Block::new(log, Kind::Pinned, 128)?;
        let (graph, mut node, none) = (graph(log)?, ptr::null_mut(), ptr::null());
        let at = host.ptr();
        if to {
            let way = cudaMemcpyHostToDevice;
            need!(log, cudaGraphAddMemcpyNodeToSymbol(&raw mut node, graph, none, 0, list, at, 64, 0, way));
        } else {
            let way = cudaMemcpyDeviceToHost;
            need!(log, cudaGraphAddMemcpyNodeFromSymbol(&raw mut node, graph, none, 0, at, list, 64, 0, way));
        }
        let run = ready(log, graph)?;
        Ok(Self { to, graph, node, run, list, host })
    }

    fn way(&self) -> cudaMemcpyKind {
        if self.to { cudaMemcpyHostToDevice } else { cudaMemcpyDeviceToHost }
    }

    fn add(
        &self,
        log: &mut Log,
        node: *mut cudaGraphNode_t,
        graph: cudaGraph_t,
        before: usize,
        offset: usize,
    ) {
        let (list, at, none, way) = (self.list, self.host.ptr(), ptr::null(), self.way());
        if self.to {
            ask!(log, cudaGraphAddMemcpyNodeToSymbol(node, graph, none, before, list, at, 64, offset, way));
        } else {
            ask!(log, cudaGraphAddMemcpyNodeFromSymbol(node, graph, none, before, at, list, 64, offset, way));
        }
    }

    fn set(&self, log: &mut Log, change: fn(&mut NodeChange)) {
        let mut it = NodeChange {
            run: self.run,
            node: self.node,
            symbol: self.list,
            memory: self.host.ptr(),
            count: 64,
            offset: 0,
            way: self.way(),
        };
        change(&mut it);
        let NodeChange { run, node, symbol, memory, count, offset, way } = it;
        if self.to {
            ask!(
                log,
                cudaGraphExecMemcpyNodeSetParamsToSymbol(run, node, symbol, memory, count, offset, way)
            );
        } else {
            ask!(
                log,
                cudaGraphExecMemcpyNodeSetParamsFromSymbol(run, node, memory, symbol, count, offset, way)
            );
        }
    }
}

/// The arguments of a change, for a case to spoil.
struct NodeChange {
    run: cudaGraphExec_t,
    node: cudaGraphNode_t,
    symbol: *const c_void,
    memory: *mut c_void,
    count: usize,
    offset: usize,
    way: cudaMemcpyKind,
}

fn symbols(cases: &mut Cases) {
    for to in [true, false] {
        let word = if to { "ToSymbol" } else { "FromSymbol" };
        for (what, node_null, graph_null, before, offset) in [
            ("as it should be", false, false, 0, 0),
            ("node null", true, false, 0, 0),
            ("graph null", false, true, 0, 0),
            ("list null", false, false, 1, 0),
            ("past the end", false, false, 0, 4),
        ] {
            cases.add(format!("cudaGraphAddMemcpyNode{word}/{what}"), move |log| {
                let it = SymbolGraph::new(log, to)?;
                let mut node = ptr::null_mut();
                let answer = if node_null { ptr::null_mut() } else { &raw mut node };
                let graph = if graph_null { ptr::null_mut() } else { it.graph };
                it.add(log, answer, graph, before, offset);
                Ok(())
            });
        }
        let changes: [(&str, Change<NodeChange>); 8] = [
            ("as it was", |_| {}),
            ("executable graph null", |c| c.run = ptr::null_mut()),
            ("node null", |c| c.node = ptr::null_mut()),
            ("symbol null", |c| c.symbol = ptr::null()),
            ("memory null", |c| c.memory = ptr::null_mut()),
            ("nothing", |c| c.count = 0),
            ("past the end", |c| c.offset = 4),
            ("another direction", |c| {
                let to = c.way == cudaMemcpyHostToDevice;
                c.way = if to { cudaMemcpyDeviceToHost } else { cudaMemcpyHostToDevice };
            }),
        ];
        for (what, change) in changes {
            cases.add(format!("cudaGraphExecMemcpyNodeSetParams{word}/{what}"), move |log| {
                let it = SymbolGraph::new(log, to)?;
                it.set(log, change);
                Ok(())
            });
        }
    }
}

fn nulls(cases: &mut Cases) {
    cases.add("cudaGraphAddEventRecordNode/graph null, and for waits", |log| {
        let (mark, mut node, none) = (event(log)?, ptr::null_mut(), ptr::null_mut());
        ask!(log, cudaGraphAddEventRecordNode(&raw mut node, none, ptr::null(), 0, mark));
        ask!(log, cudaGraphAddEventWaitNode(&raw mut node, none, ptr::null(), 0, mark));
        Ok(())
    });
    for (what, node_null, before) in [("node null", true, 0), ("list null", false, 1)] {
        cases.add(format!("cudaGraphAddKernelNode/{what}"), move |log| {
            let (graph, mut node) = (graph(log)?, ptr::null_mut());
            let mut nothing: [*mut c_void; 1] = [ptr::null_mut()];
            let parameters =
                cudaKernelNodeParams { kernelParams: nothing.as_mut_ptr(), ..kernel(case_empty) };
            let answer = if node_null { ptr::null_mut() } else { &raw mut node };
            ask!(log, cudaGraphAddKernelNode(answer, graph, ptr::null(), before, &raw const parameters));
            Ok(())
        });
    }
    cases.add("cudaGraphAddMemAllocNode/graph null, list null, and for freeing", |log| {
        let (graph, mut node, none) = (graph(log)?, ptr::null_mut(), ptr::null_mut());
        let mut wanted = cudaMemAllocNodeParams::default();
        wanted.poolProps.allocType = cudaMemAllocationTypePinned;
        wanted.poolProps.location.type_ = cudaMemLocationTypeDevice;
        wanted.bytesize = N;
        ask!(log, "graph", cudaGraphAddMemAllocNode(&raw mut node, none, ptr::null(), 0, &raw mut wanted));
        ask!(log, "list", cudaGraphAddMemAllocNode(&raw mut node, graph, ptr::null(), 1, &raw mut wanted));
        need!(log, cudaGraphAddMemAllocNode(&raw mut node, graph, ptr::null(), 0, &raw mut wanted));
        ask!(
            log,
            "list for freeing",
            cudaGraphAddMemFreeNode(&raw mut node, graph, ptr::null(), 1, wanted.dptr)
        );
        Ok(())
    });
    cases.add("cudaGraphRemoveDependencies/of a node that allocates", |log| {
        let (graph, mut made) = (graph(log)?, ptr::null_mut());
        let mut wanted = cudaMemAllocNodeParams::default();
        wanted.poolProps.allocType = cudaMemAllocationTypePinned;
        wanted.poolProps.location.type_ = cudaMemLocationTypeDevice;
        wanted.bytesize = N;
        need!(log, cudaGraphAddMemAllocNode(&raw mut made, graph, ptr::null(), 0, &raw mut wanted));
        let after = empty(log, graph, &[made])?;
        let last = empty(log, graph, &[after])?;
        let one = ptr::null();
        ask!(log, cudaGraphRemoveDependencies(graph, &raw const made, &raw const after, one, 1));
        ask!(log, "of others", cudaGraphRemoveDependencies(graph, &raw const after, &raw const last, one, 1));
        Ok(())
    });
    cases.two_devices("cudaGraphExecUpdate/nodes of another device", |log| {
        let (here, mut node) = (graph(log)?, ptr::null_mut());
        let fill = row(Block::new(log, Kind::Device, N)?, 5);
        need!(log, cudaGraphAddMemsetNode(&raw mut node, here, ptr::null(), 0, &raw const fill));
        let run = ready(log, here)?;
        need!(log, cudaSetDevice(1));
        let there = graph(log)?;
        let fill = row(Block::new(log, Kind::Device, N)?, 5);
        need!(log, cudaGraphAddMemsetNode(&raw mut node, there, ptr::null(), 0, &raw const fill));
        let mut info = cudaGraphExecUpdateResultInfo::default();
        ask!(log, cudaGraphExecUpdate(run, there, &raw mut info));
        log.fact("result", info.result.0);
        Ok(())
    });
}

pub(super) fn add(cases: &mut Cases) {
    volumes(cases);
    rows(cases);
    symbols(cases);
    nulls(cases);
}
