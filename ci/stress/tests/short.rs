//! Each kind for a moment. On a GPU, `stress KIND 16 10` and `stress mixed 16 60` say more.
//!
//! Not in the bundle: it starts the program stress by its path, which is in the bundle itself.

use std::process::Command;

#[test]
fn every_kind_is_made_used_and_dropped_on_several_threads() {
    let stress = || Command::new(env!("CARGO_BIN_EXE_stress"));
    let list = stress().arg("list").output().unwrap();
    let kinds = String::from_utf8(list.stdout).unwrap();
    assert!(kinds.lines().count() > 20 && kinds.ends_with("mixed\n"), "{kinds}");
    for kind in kinds.lines() {
        let run = stress().args([kind, "6", "0.4"]).output().unwrap();
        let told = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success() && told.ends_with("ok\n"), "{kind}: {}\n{told}", run.status);
    }
}
