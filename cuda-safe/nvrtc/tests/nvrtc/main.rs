//! NVRTC by a stand-in, and the real one.

mod real;
mod stand_in;
