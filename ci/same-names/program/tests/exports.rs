//! Two exports of one name are a link error, although nothing uses them.
//!
//! Not in the bundle: it needs the compiler.

#[test]
fn two_exports_of_one_name_do_not_link() {
    let built = cuda_testing::child::cargo()
        .args(["build", "--offline", "--workspace", "--bin", "clash", "--features", "same-names/clash"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    let built = built.unwrap_or_else(|error| panic!("cargo does not run: {error}"));
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(!built.status.success(), "both versions are linked: {said}");
    // rust-lld's words, and GNU ld's. One is of a build with handles, the other of one without.
    for name in ["saxpy", "helper()"] {
        let words = [format!("duplicate symbol: {name}\n"), format!("multiple definition of `{name}'")];
        assert!(words.iter().any(|words| said.contains(words)), "{name}: {said}");
    }
}
