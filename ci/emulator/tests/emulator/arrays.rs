//! A C++ program about CUDA arrays, compiled here against the installed headers, runs on the built library in
//! every schedule.

use super::built::{self, SCHEDULES};

fn passes(case: &str) {
    for schedule in SCHEDULES {
        let program = built::compile_host("array", &["-Wno-deprecated-declarations"]);
        let mut command = built::command(program, schedule);
        let (code, stderr) = built::ended(command.arg(case));
        assert_eq!(code, Some(0), "{case} under {schedule}:\n{stderr}");
    }
}

macro_rules! everywhere {
    ($($case:ident)*) => {$(
        #[test]
        fn $case() {
            passes(stringify!($case));
        }
    )*};
}

everywhere! { planes streams freeing volumes devices_and_batches mipmaps queries misuse }
