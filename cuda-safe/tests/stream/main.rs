//! Streams, events, host functions and futures, and the calls of other libraries.

mod calls;
mod calls_on_several_streams;
mod done;
mod execution;
mod foreign;
mod host_functions;
mod stream_attributes;
mod streams;
