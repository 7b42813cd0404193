//! Changes of an executable graph, allowed and forbidden.

use std::ptr;

use cuda_sys::*;

use super::graph::{N, empty, graph, launch, ready, row};
use crate::case::Cases;
use crate::log::{Log, Setup, ask, need};
use crate::memory::{Block, Kind, pattern, stream};

/// Two rows on the device, one in pinned memory, and a graph that copies from the first to the second.
struct Copying {
    graph: cudaGraph_t,
    node: cudaGraphNode_t,
    run: cudaGraphExec_t,
    to: Block,
    from: Block,
    host: Block,
}

impl Copying {
    fn new(log: &mut Log) -> Result<Self, Setup> {
        let graph = graph(log)?;
        let from = Block::with(log, Kind::Device, &pattern(N, 1))?;
        let to = Block::new(log, Kind::Device, N)?;
        let host = Block::with(log, Kind::Pinned, &pattern(N, 2))?;
        let mut node = ptr::null_mut();
        let kind = cudaMemcpyDeviceToDevice;
        need!(
            log,
            cudaGraphAddMemcpyNode1D(&raw mut node, graph, ptr::null(), 0, to.ptr(), from.ptr(), N, kind)
        );
        let run = ready(log, graph)?;
        Ok(Self { graph, node, run, to, from, host })
    }
}

pub(super) fn add(cases: &mut Cases) {
    let api = "cudaGraphExecMemcpyNodeSetParams1D";
    type ChangeCopying = fn(&mut Log, &Copying);
    let list: [(&str, ChangeCopying); 8] = [
        ("from another place", |log, it| {
            let (to, from) = (it.to.at(16), it.from.ptr());
            ask!(
                log,
                cudaGraphExecMemcpyNodeSetParams1D(it.run, it.node, to, from, 16, cudaMemcpyDeviceToDevice)
            );
        }),
        ("nothing", |log, it| {
            let (to, from) = (it.to.ptr(), it.from.ptr());
            ask!(
                log,
                cudaGraphExecMemcpyNodeSetParams1D(it.run, it.node, to, from, 0, cudaMemcpyDeviceToDevice)
            );
        }),
        ("too much", |log, it| {
            let (to, from) = (it.to.ptr(), it.from.ptr());
            ask!(
                log,
                cudaGraphExecMemcpyNodeSetParams1D(
                    it.run,
                    it.node,
                    to,
                    from,
                    2 * N,
                    cudaMemcpyDeviceToDevice
                )
            );
        }),
        ("from the host", |log, it| {
            let (to, from) = (it.to.ptr(), it.host.ptr());
            ask!(
                log,
                cudaGraphExecMemcpyNodeSetParams1D(it.run, it.node, to, from, N, cudaMemcpyHostToDevice)
            );
        }),
        ("from the host, by default", |log, it| {
            let (to, from) = (it.to.ptr(), it.host.ptr());
            ask!(log, cudaGraphExecMemcpyNodeSetParams1D(it.run, it.node, to, from, N, cudaMemcpyDefault));
        }),
        ("executable graph null", |log, it| {
            let (to, from, none) = (it.to.ptr(), it.from.ptr(), ptr::null_mut());
            ask!(
                log,
                cudaGraphExecMemcpyNodeSetParams1D(none, it.node, to, from, N, cudaMemcpyDeviceToDevice)
            );
        }),
        ("node null", |log, it| {
            let (to, from, none) = (it.to.ptr(), it.from.ptr(), ptr::null_mut());
            ask!(
                log,
                cudaGraphExecMemcpyNodeSetParams1D(it.run, none, to, from, N, cudaMemcpyDeviceToDevice)
            );
        }),
        ("a memset", |log, it| {
            let fill = row(it.to, 9);
            ask!(log, cudaGraphExecMemsetNodeSetParams(it.run, it.node, &raw const fill));
        }),
    ];
    for (what, change) in list {
        cases.add(format!("{api}/{what}"), move |log| {
            let it = Copying::new(log)?;
            change(log, &it);
            let on = stream(log)?;
            ask!(log, cudaGraphLaunch(it.run, on));
            ask!(log, cudaStreamSynchronize(on));
            let got = it.to.load(log)?;
            let mut shifted = vec![0; N];
            shifted[16..32].copy_from_slice(&pattern(N, 1)[..16]);
            let what = [pattern(N, 1), pattern(N, 2), shifted, vec![9; N], vec![0; N]];
            let names = ["as before", "of the host", "shifted", "set", "nothing"];
            let name = what.iter().position(|it| *it == got).map_or("something else", |at| names[at]);
            log.fact("copied", name);
            Ok(())
        });
    }
    cases.add("cudaGraphExecMemsetNodeSetParams/another value, two rows, and nulls", |log| {
        let graph = graph(log)?;
        let to = Block::new(log, Kind::Device, N)?;
        let mut node = ptr::null_mut();
        let fill = row(to, 5);
        need!(log, cudaGraphAddMemsetNode(&raw mut node, graph, ptr::null(), 0, &raw const fill));
        let run = ready(log, graph)?;
        let (other, none) = (row(to, 6), ptr::null_mut());
        ask!(log, "graph null", cudaGraphExecMemsetNodeSetParams(ptr::null_mut(), node, &raw const other));
        ask!(log, "node null", cudaGraphExecMemsetNodeSetParams(run, none, &raw const other));
        ask!(log, cudaGraphExecMemsetNodeSetParams(run, node, &raw const other));
        launch(log, run, to, &[6; N])
    });
    let api = "cudaGraphExecUpdate";
    cases.add(format!("{api}/the same graph with another source"), |log| {
        let (it, other) = (Copying::new(log)?, Copying::new(log)?);
        let mut info = cudaGraphExecUpdateResultInfo::default();
        ask!(log, cudaGraphExecUpdate(it.run, other.graph, &raw mut info));
        log.fact("result", info.result.0);
        launch(log, it.run, other.to, &pattern(N, 1))
    });
    cases.add(format!("{api}/another kind of node, and another number"), |log| {
        let (it, one) = (Copying::new(log)?, graph(log)?);
        let mut node = ptr::null_mut();
        let fill = row(it.to, 5);
        need!(log, cudaGraphAddMemsetNode(&raw mut node, one, ptr::null(), 0, &raw const fill));
        let mut info = cudaGraphExecUpdateResultInfo::default();
        ask!(log, cudaGraphExecUpdate(it.run, one, &raw mut info));
        log.fact("result", info.result.0);
        let more = Copying::new(log)?;
        empty(log, more.graph, &[])?;
        ask!(log, "one more", cudaGraphExecUpdate(it.run, more.graph, &raw mut info));
        log.fact("result", info.result.0);
        let edges = Copying::new(log)?;
        empty(log, edges.graph, &[edges.node])?;
        let run = ready(log, edges.graph)?;
        ask!(log, "an edge less", cudaGraphExecUpdate(run, more.graph, &raw mut info));
        log.fact("result", info.result.0);
        launch(log, it.run, it.to, &pattern(N, 1))
    });
    cases.add(format!("{api}/nulls"), |log| {
        let it = Copying::new(log)?;
        let mut info = cudaGraphExecUpdateResultInfo::default();
        ask!(log, "executable", cudaGraphExecUpdate(ptr::null_mut(), it.graph, &raw mut info));
        ask!(log, "graph", cudaGraphExecUpdate(it.run, ptr::null_mut(), &raw mut info));
        ask!(log, "result", cudaGraphExecUpdate(it.run, it.graph, ptr::null_mut()));
        Ok(())
    });
}
