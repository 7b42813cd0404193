// A C++ library, from which Rust needs no handles.
extern "C" int own_answer() { return 42; }
