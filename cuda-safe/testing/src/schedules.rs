//! Repeats tests in the schedules of the emulator.

/// Runs tests of this binary again in other schedules of the emulator than the default one: two of them, or
/// all in `ci/test --all`. Does nothing without the emulator.
pub fn in_all_schedules(tests: &str, count: usize) {
    let schedule = "CUDA_EMULATOR_SCHEDULE";
    if std::env::var("CUDA_RUNNER").as_deref() != Ok("emulator") || std::env::var_os(schedule).is_some() {
        println!("not on the emulator, or in a schedule of it already: nothing to choose");
        return;
    }
    let all = ["eager", "random:1", "random:2", "random:3"];
    for chosen in if crate::all() { &all[..] } else { &all[..2] } {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .arg(tests)
            .env(schedule, chosen)
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        let passed = printed.contains(&format!("{count} passed"));
        assert!(output.status.success() && passed, "{chosen}:\n{printed}");
    }
}
