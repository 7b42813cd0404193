//! What is written around functions: clusters that a kernel declares, headers, and directives that are not
//! known. And the words of a refusal.

use super::spec::Spec;
use crate::{Argument, Kernel, Launch, Memory, Verdict, kernels, kernels_with_architecture, prove};
use cuda_ptx::directive::{ATTRIBUTES, HEADER, MODULE};

const TEXT: &str = "\
.version 9.0
.target sm_90
.address_size 64
DIRECTIVE
.visible .entry k(.param .u64 x)
HEADER
{
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
ld.param.u64 %rd1, [x];
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %ntid.x;
mov.u32 %r3, %tid.x;
mad.lo.s32 %r4, %r1, %r2, %r3;
mul.wide.u32 %rd2, %r4, 4;
add.s64 %rd3, %rd1, %rd2;
st.global.u32 [%rd3], 0;
ret;
}
";

/// Returns the kernel of a text with these lines, as a handle has it, or the error.
fn kernel(directive: &str, header: &str) -> Result<Kernel, String> {
    let text = TEXT.replace("DIRECTIVE", directive).replace("HEADER", header);
    let kernel = kernels(&text).map_err(|error| error.to_string())?.swap_remove(0);
    assert_eq!(Kernel::from_bytes(&kernel.to_bytes()).as_ref(), Ok(&kernel));
    Ok(kernel)
}

/// The shape of a launch of four blocks.
fn shape(block: [u32; 3]) -> Launch<'static> {
    const POINTER: &[Argument<'_>] = &[Argument { bytes: &[0; 8], pointers: &[0] }];
    Launch { grid: [4, 1, 1], block, cluster: None, is_cooperative: false, shared: 0, arguments: POINTER }
}

/// Returns the end of the bytes that a launch writes, or the words of the refusal.
fn written(kernel: &Kernel, launch: &Launch<'_>) -> Result<i64, String> {
    match prove(kernel, launch) {
        Verdict::Proven(proof) => Ok(proof.needs()[0].writes.as_ref().expect("a write").high),
        Verdict::Refused(refusal) => Err(refusal.to_string()),
    }
}

/// An H200 wrote 4 * 2 * 256 elements for both blocks, and answered `cudaErrorInvalidValue` for 128 threads.
#[test]
fn a_grid_that_counts_clusters_has_as_many_blocks_as_the_kernel_declares() {
    let counted =
        kernel("", ".blocksareclusters .reqntid 256, 1, 1 .reqnctapercluster 2, 1, 1").expect("PTX");
    assert!(counted.counts_clusters() && counted.clusters() == Some([2, 1, 1]));
    for block in [[1, 1, 1], [256, 1, 1]] {
        assert_eq!(written(&counted, &shape(block)), Ok(4 * 2 * 256 * 4), "{block:?}");
    }
    let refused = |launch: Launch<'_>, words: &str| {
        let refusal = written(&counted, &launch).expect_err(words);
        assert!(refusal.contains(words), "{refusal}");
    };
    refused(shape([128, 1, 1]), "its blocks have [256, 1, 1] threads, the launch has [128, 1, 1]");
    refused(shape([1, 256, 1]), "the launch has [1, 256, 1]");
    for blocks in [[1, 1, 1], [2, 1, 1]] {
        refused(Launch { cluster: Some(blocks), ..shape([1, 1, 1]) }, "must not name clusters");
    }
    refused(Launch { is_cooperative: true, ..shape([1, 1, 1]) }, "must not be cooperative");
    refused(Launch { grid: [1 << 31, 1, 1], ..shape([1, 1, 1]) }, "more blocks than a grid has");
    // nvcc writes clusters of one block for `__block_size__` with a block alone.
    let alone = kernel("", ".reqntid 256 .reqnctapercluster 1 .blocksareclusters").expect("PTX");
    assert_eq!(written(&alone, &shape([1, 1, 1])), Ok(4 * 256 * 4));
    for header in
        [".blocksareclusters", ".blocksareclusters .reqntid 256", ".blocksareclusters .reqnctapercluster 2"]
    {
        let error = kernel("", header).expect_err(header);
        assert!(error.contains("with `.blocksareclusters`"), "{error}");
    }
}

#[test]
fn a_kernel_knows_the_clusters_that_it_declares_if_the_launch_names_none() {
    let place = TEXT.replace("%ctaid.x", "%cluster_ctaid.x").replace("%ntid.x", "%cluster_nctaid.x");
    let place = place.replace("DIRECTIVE", "").replace("HEADER", ".reqnctapercluster 3, 1, 1");
    let kernel = kernels(&place).expect("PTX").swap_remove(0);
    assert!(kernel.asks_for_clusters() && !kernel.counts_clusters());
    // Places up to 2, in clusters of 3.
    assert_eq!(written(&kernel, &shape([1, 1, 1])), Ok((2 * 3 + 1) * 4));
    assert_eq!(
        written(&kernel, &Launch { cluster: Some([3, 1, 1]), ..shape([1, 1, 1]) }),
        Ok((2 * 3 + 1) * 4)
    );
    let other = written(&kernel, &Launch { cluster: Some([2, 1, 1]), ..shape([1, 1, 1]) });
    assert!(other.as_ref().is_err_and(|it| it.contains("the kernel declares [3, 1, 1]")), "{other:?}");
}

/// Each directive of the lists is read, or refused for what the list says; no other one is.
#[test]
fn a_directive_that_is_not_listed_with_a_reason_is_an_error() {
    let plain = || shape([64, 1, 1]);
    for (word, reason) in HEADER {
        assert!(!reason.is_empty(), "{word}");
        let word = &format!(".{word}")[..];
        let header = match word {
            ".attribute" => ".attribute(.unified(1, 2))".to_owned(),
            ".blocksareclusters" => ".blocksareclusters .reqntid 64 .reqnctapercluster 1".to_owned(),
            ".explicitcluster" | ".noreturn" => word.to_owned(),
            _ => format!("{word} 64"),
        };
        match kernel("", &header) {
            Ok(kernel) => assert_eq!(written(&kernel, &plain()), Ok(4 * 64 * 4), "{header}"),
            Err(error) => assert_eq!(word, ".noreturn", "{error}"),
        }
        kernel("", &header.replace(word, &format!("{word}s"))).expect_err(word);
    }
    for (word, reason) in MODULE {
        assert!(!reason.is_empty(), "{word}");
        let word = &format!(".{word}")[..];
        let directive = match word {
            ".address_size" => ".address_size 64".to_owned(),
            ".alias" => ".alias other, k;".to_owned(),
            ".attribute" => ".global .attribute(.managed) .u32 v;".to_owned(),
            ".const" | ".global" | ".shared" => format!("{word} .u32 v;"),
            ".common" | ".extern" | ".visible" | ".weak" => format!("{word} .global .u32 v;"),
            ".entry" | ".func" => format!("{word} other() {{ ret; }}"),
            ".file" => ".file 1 \"k.cu\"".to_owned(),
            ".loc" => ".loc 1 2 3".to_owned(),
            ".pragma" => ".pragma \"nounroll\";".to_owned(),
            ".section" => ".section .debug_str { .b8 1 }".to_owned(),
            ".target" => ".target sm_90, debug".to_owned(),
            ".version" => ".version 9.0".to_owned(),
            _ => panic!("{word} has no text here"),
        };
        // A text has each of these once.
        let once = [".version 9.0", ".target sm_90", ".address_size 64"];
        let text = if let Some(own) = once.iter().find(|own| own.split(' ').next() == Some(word)) {
            TEXT.replace("DIRECTIVE", "").replace("HEADER", "").replace(own, &directive)
        } else {
            TEXT.replace("DIRECTIVE", &directive).replace("HEADER", "")
        };
        let all = kernels(&text).unwrap_or_else(|error| panic!("{directive}: {error}"));
        let found = written(all.iter().find(|it| it.name() == "k").expect("k"), &plain());
        assert_eq!(found.is_ok(), word != ".alias", "{directive}: {found:?}");
        let other = text.replace(&directive, &directive.replace(word, &format!("{word}s")));
        kernels(&other).expect_err(&other);
    }
    for (word, reason) in ATTRIBUTES {
        assert!(!reason.is_empty(), "{word}");
        kernel(&format!(".global .attribute(.{word}) .u32 v;"), "").expect(word);
    }
    for directive in [
        ".global .attribute(.managed, .unknown) .u32 v;",
        ".pragma \"used_bytes_mask 1\";",
        ".section .text { .b8 1 }",
        ".target sm_90, map_f64_to_f32",
        ".tex .u64 v;",
        "word",
    ] {
        kernel(directive, "").expect_err(directive);
    }
    kernel("", ".pragma \"nounroll\";").expect_err("a pragma of a function");
}

#[test]
fn headers_and_directives_that_change_what_code_means_are_refused() {
    const TEXT: &str = "\
.version 8.0
.target sm_75
.address_size 64
.func helper() { ret; }
.entry k(.param .u64 x)
.maxntid 32, 1, 1
.minnctapersm 1
{
.reg .b64 %rd<3>;
ld.param.u64 %rd1, [x];
.pragma \"nounroll\";
st.global.u32 [%rd1], 0;
ret;
}
";
    let error = |old: &str, new: &str| {
        assert!(TEXT.contains(old), "{old}");
        kernels(&TEXT.replace(old, new)).map(|_| ()).map_err(|error| error.message)
    };
    assert_eq!(error("ret;", "ret;"), Ok(()));
    assert_eq!(error("sm_75", "sm_90a, debug"), Ok(()));
    for (old, new) in [
        // Addresses of 32 bits, also by default.
        ("64", "32"),
        (".address_size 64\n", ""),
        (".version 8.0\n", ""),
        // Other meanings of instructions.
        ("8.0", "5.0"),
        ("8.0", "9"),
        ("sm_75", "sm_75, map_f64_to_f32"),
        ("sm_75", "sm_75, texmode_independent"),
        ("sm_75", "compute_75"),
        // The text is for the highest one.
        ("sm_75", "sm_75\n.target sm_90"),
        (".target sm_75\n", "// .target sm_75\n"),
        // Behind the call of such a function there is no code.
        (".func helper()", ".func helper() .noreturn"),
        (".maxntid 32, 1, 1", ".abi_preserve 32"),
    ] {
        assert!(error(old, new).is_err(), "{new}");
    }
    let architecture = |text: &str| kernels_with_architecture(text).map(|(_, architecture)| architecture);
    assert_eq!(architecture(&TEXT.replace(".target", "// .target sm_90\n.target")), Ok(75));
    assert_eq!(architecture(&TEXT.replace("sm_75", "sm_90a")), Ok(90));
}

#[test]
fn a_refusal_prints_floats_as_floats() {
    let text = ".version 8.0\n.target sm_75\n.address_size 64\n\
        .visible .entry k(.param .u64 x, .param .f32 a, .param .f64 b, .param .u32 n)\n{\n\
        .reg .pred %p<3>;\n.reg .f32 %f<3>;\n.reg .f64 %fd<3>;\n.reg .b32 %r<5>;\n.reg .b64 %rd<5>;\n\
        ld.param.u64 %rd1, [x];\nld.param.f32 %f1, [a];\nld.param.f64 %fd1, [b];\nld.param.u32 %r1, [n];\n\
        mov.b32 %r2, %f1;\nmov.b64 %rd2, %fd1;\nshr.u32 %r2, %r2, 23;\nshr.u64 %rd2, %rd2, 52;\n\
        cvt.u32.u64 %r3, %rd2;\nadd.u32 %r2, %r2, %r1;\nadd.u32 %r2, %r2, %r3;\n\
        mad.wide.u32 %rd3, %r2, 4, %rd1;\nst.global.u32 [%rd3], 0;\nret;\n}\n";
    let kernels = kernels(text).expect("PTX");
    let (spec, _) =
        Spec::parse("k | 1 | 1 | p,1069547520,4598175219545276416,7 | 8 | 0", &kernels).expect("a launch");
    let verdict = spec.with(|launch| prove(&kernels[0], launch));
    let memory =
        Memory { parameter: 0, offset: 0, name: "x", address: 0, bytes: 4, element: 4, is_writable: true };
    let refusal = verdict.check(&[memory], &["x", "a", "b", "n"]).expect_err("too short").to_string();
    assert!(refusal.ends_with("with grid 1, block 1, a 1.5, b 0.25, n 7"), "{refusal}");
}
