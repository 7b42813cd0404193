//! Ranks that find each other, and what they send.

mod collectives;
mod rendezvous;
