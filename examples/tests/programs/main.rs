//! Examples whose output says more than the comparison with the C++ program.

mod stream_triad;
mod two_streams;
