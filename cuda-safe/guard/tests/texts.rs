//! Guards on all accesses of the kernels of the repository's PTX: the verifier accepts each guarded form, and
//! ptxas compiles it.
//!
//! Not under sanitizers: it uses no GPU.
//! Not in the bundle: it compiles texts with ptxas.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

#[allow(dead_code, reason = "the cases are compiled, and not run")]
#[path = "runs/cases.rs"]
mod cases;
#[path = "../../ptx/tests/round_trip/ptxas.rs"]
mod ptxas;
#[path = "../../ptx/tests/round_trip/texts.rs"]
mod texts;

use std::collections::{BTreeMap, BTreeSet};

use cuda_guard::{guard, guardable, verify};

#[test]
fn each_kernel_of_the_repository_is_guarded_verified_and_compiled() {
    let ptxas = ptxas::Ptxas::find();
    let is_all = std::env::var_os("CUDA_TEST_ALL").is_some();
    let (mut guarded, mut compiled, mut accesses) = (0_u32, 0_u32, 0);
    let mut refused = BTreeMap::<_, BTreeSet<_>>::new();
    for (file, text) in if is_all { texts::all() } else { texts::tracked() } {
        // Tests of proofs have files with parts of texts.
        if file.contains("/filetests/") {
            continue;
        }
        let module = cuda_ptx::parse(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
        for kernel in module.functions.iter().filter(|it| it.is_entry && it.body.is_some()) {
            let all: BTreeSet<usize> = guardable(&module, kernel.name).into_iter().collect();
            let made = match guard(&module, kernel.name, &all) {
                Ok(made) => made,
                Err(refusal) => {
                    refused.entry(refusal.reason.text()).or_default().insert(kernel.name.to_owned());
                    continue;
                }
            };
            verify(&module, &all, &made).unwrap_or_else(|fault| panic!("{file}: {}: {fault}", kernel.name));
            (guarded, accesses) = (guarded + 1, accesses + all.len());
            // ptxas takes most of the time.
            if let Some(ptxas) = ptxas.as_ref().filter(|_| guarded % 16 == 0) {
                // It may refuse the text itself.
                let is_compiled = ptxas.compile(&made.text).is_some();
                assert!(is_compiled || ptxas.compile(&text).is_none(), "{file}: {}", kernel.name);
                compiled += u32::from(is_compiled);
            }
        }
    }
    println!(
        "{guarded} kernels with {accesses} accesses guarded, {compiled} compiled; refused: {refused:#?}"
    );
    assert!(ptxas.is_none() || compiled > 2, "{compiled}");
    assert!(guarded > 70 && accesses > 400, "{guarded} {accesses}");
}

#[test]
fn each_planted_access_is_compiled_for_the_oldest_and_a_new_architecture() {
    let Some(ptxas) = ptxas::Ptxas::find() else { return };
    let step = if std::env::var_os("CUDA_TEST_ALL").is_some() { 1 } else { 20 };
    for case in cases::all().iter().step_by(step) {
        for architecture in ["sm_75", "sm_90"] {
            let text = case.text().replace("sm_80", architecture);
            let module = cuda_ptx::parse(&text).unwrap();
            let all: BTreeSet<usize> = guardable(&module, "k").into_iter().collect();
            let made = guard(&module, "k", &all).unwrap();
            let is_compiled = ptxas.compile(&made.text).is_some();
            // sm_75 has no asynchronous copies.
            assert!(is_compiled || ptxas.compile(&text).is_none(), "{case:?}\n{}", made.text);
        }
    }
}
