//! Repeats tests in the schedules of the emulator.

/// Runs tests of this binary again in each schedule of the emulator except the default one. Does nothing
/// without the emulator.
pub(crate) fn in_all_schedules(tests: &str, count: usize) {
    let schedule = "CUDA_EMULATOR_SCHEDULE";
    if std::env::var("CUDA_RUNNER").as_deref() != Ok("emulator") || std::env::var_os(schedule).is_some() {
        println!("not on the emulator, or in a schedule of it already: nothing to choose");
        return;
    }
    for chosen in ["eager", "random:1", "random:2", "random:3"] {
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
