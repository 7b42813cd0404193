//! Graphs: captured and built, changed, launched, and their memory.

mod call_sites;
mod capture;
mod capture_branches;
mod graph;
mod graph_cost;
mod graph_edit;
mod graph_events;
mod graph_host_functions;
mod graph_memory;
mod graph_set;
