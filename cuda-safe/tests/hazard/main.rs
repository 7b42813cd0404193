//! The tracker at work: what it orders and what it leaves alone, on one thread and on several.

mod adversary;
mod hazards;
mod many_threads;
mod threads;
mod threads_own_streams;
