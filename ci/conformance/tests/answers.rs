//! Asks the library that the loader finds, and compares with the table.

fn main() -> std::process::ExitCode {
    cudart_conformance::main()
}
