//! Tests of the generator with a small made-up header. They need a libclang, as the crate itself does.

use super::*;
use crate::made_up::Tree;

const HEADER: &str = r"#define CUDART_VERSION 13000
#include <stddef.h>
#define cudaFlag 0x04
#define cudaThing cudaThing_v2
#define cudaOther cudaStruct
/** How it went. */
enum cudaError { cudaSuccess = 0, /**< All well. */ cudaErrorOdd = 77 };
typedef enum cudaError cudaError_t;
struct cudaStruct { size_t bytes; void (*call)(int); union { int a; float b; } either; };
typedef struct secret_st *cudaSecret_t;
int not_ours(void);
/** \brief Does a thing with ::cudaStruct, not with ::cudaNothing
 * \param bytes - How many
 */
cudaError_t cudaThing_v2(size_t bytes, struct cudaStruct *type);
";

fn generated(bindings: &Bindings) -> String {
    let tree = Tree::new();
    let root = tree.toolkit("cuda", 13000);
    tree.file("cuda/include/cuda_runtime_api.h", HEADER);
    let file = tree.path("bindings.rs");
    bindings.generate(&Env::from_process(), &tree.found(&root), &file).unwrap();
    // The test ignores formatting.
    std::fs::read_to_string(file).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn names_are_cs_and_enums_are_newtypes() {
    let text = generated(&Bindings::new());
    for wanted in [
        "pub struct cudaError(pub ::core::ffi::c_uint);",
        "pub const cudaErrorOdd: cudaError = cudaError(77);",
        "pub const cudaFlag: u32 = 4;",
        "pub fn cudaThing_v2(bytes: usize, type_: *mut cudaStruct) -> cudaError_t;",
        "unsafe extern \"C\"",
        "pub use self::cudaThing_v2 as cudaThing;",
        "pub use self::cudaStruct as cudaOther;",
        "impl Default for cudaStruct",
        "Debug for cudaStruct",
        "Size of cudaStruct",
    ] {
        assert!(text.contains(wanted), "no {wanted} in {text}");
    }
    assert!(!text.contains("not_ours"), "{text}");
}

#[test]
fn comments_become_documentation_with_links_to_what_is_there() {
    let text = generated(&Bindings::new());
    assert!(
        text.contains(
            r"Does a thing with [`cudaStruct`], not with `cudaNothing`\n\n# Parameters\n\n- `bytes`: How many"
        ),
        "{text}"
    );
    assert!(text.contains("All well."), "{text}");
}

#[test]
fn signatures_only_has_no_text() {
    let text = generated(&Bindings::new().signatures_only());
    assert!(text.contains("pub fn cudaThing_v2"), "{text}");
    assert!(!text.contains("#[doc") && !text.contains("Size of"), "{text}");
}

#[test]
fn a_header_that_does_not_parse_is_an_error_that_names_it() {
    let tree = Tree::new();
    let root = tree.toolkit("cuda", 13000);
    let header = tree.file("cuda/include/cuda_runtime_api.h", "#define CUDART_VERSION 13000\nint f(;\n");
    let made = Bindings::new().generate(&Env::from_process(), &tree.found(&root), &tree.path("bindings.rs"));
    let text = made.unwrap_err().to_string();
    assert!(text.contains(header.to_str().unwrap()) && text.contains("CUDA 13.0"), "{text}");
}
