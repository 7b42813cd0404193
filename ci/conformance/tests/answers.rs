//! Asks the library that the loader finds, and compares with the table.
//!
//! Not under sanitizers: it calls the runtime wrongly, in processes of its own.
//! Time limit 600 s: it has some three thousand cases.

fn main() -> std::process::ExitCode {
    cudart_conformance::main()
}
