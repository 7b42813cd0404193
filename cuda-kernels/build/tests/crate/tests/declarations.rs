//! Whatever nvcc takes beside kernels disturbs none of them, and what is generated for it compiles.

mod kernels {
    cuda_safe::include_kernels!("declarations");
}

/// What was generated.
const TEXT: &str = include_str!(concat!(env!("OUT_DIR"), "/declarations.rs"));

/// The declarations, with what is generated for each in comments.
const SOURCE: &str = include_str!("../declarations/with/with.cu");

#[test]
fn each_declaration_has_what_is_expected_in_rust() {
    let text = TEXT.split_whitespace().collect::<Vec<_>>().join(" ");
    let count = SOURCE.lines().filter(|line| line.starts_with("//-")).count();
    assert!(count >= 150, "{count} declarations");
    let missing: Vec<_> = SOURCE.lines().filter_map(|line| line.strip_prefix("//: ")).collect();
    let missing: Vec<_> = missing.into_iter().filter(|expected| !text.contains(*expected)).collect();
    assert_eq!(missing, [""; 0]);
    for absent in ["sum", "header_fails", "header_fails_too", "both_sides", "c_function", "hidden"] {
        assert!(!text.contains(&format!("static {absent}: ")), "{absent} has a handle");
    }
    // An alias of an instance of a template is the type that the kernel takes.
    let pair = kernels::Pair { first: 1, second: 2 };
    let _: kernels::Two_unsigned_short_unsigned_short = pair;
}
