//! What is printed of a text is compiled by ptxas to the same machine code as the text.
//!
//! The texts are those of the repository, and such texts with a few changes of tokens: comments, names,
//! numbers, operands, scopes, directives, white space. ptxas decides what is PTX. Of what it takes, the
//! reader may refuse a part, but what it reads must mean the same to both.
//!
//! 500 changed texts have seeds that are always the same, and 500 have drawn ones. `PTX_TRIES=100000` tries
//! another number of each, and `PTX_SEED` sets the first of the drawn seeds.
//!
//! Not under sanitizers: it uses no GPU.
//! Not in the bundle: it compiles texts with ptxas.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

mod change;
mod ptxas;
mod table;
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use change::{Base, Random};
use ptxas::Ptxas;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|it| it.parse().expect("a number"))
}

/// Keeps a text and what was printed of it, and names the files.
fn keep(text: &str, printed: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let files = ["round-trip-text.ptx", "round-trip-printed.ptx"].map(|name| folder.join(name));
    for (file, text) in files.iter().zip([text, printed]) {
        std::fs::write(file, text).expect("a file");
    }
    format!("{} and {}", files[0].display(), files[1].display())
}

/// Compares the code of a text with that of what is printed of it. Returns how it ended.
fn compare(ptxas: &Ptxas, text: &str) -> Result<&'static str, String> {
    let Some(code) = ptxas.compile(text) else { return Ok("not PTX") };
    let Ok(module) = cuda_ptx::parse(text) else { return Ok("refused by the reader") };
    let bodies = module.functions.iter().filter_map(|it| it.body.as_ref());
    if bodies.map(|it| it.ambiguous.len()).sum::<usize>() > 0 {
        return Ok("refused by the reader");
    }
    let printed = module.print();
    match ptxas.compile(&printed) {
        Some(other) if other == code => Ok("the same code"),
        Some(other) => {
            let differ = |name: &&String| code.get(*name) != other.get(*name);
            let names: BTreeSet<_> = code.keys().chain(other.keys()).filter(differ).collect();
            Err(format!("{names:?} differ between {}", keep(text, &printed)))
        }
        None => Err(format!("ptxas refuses what was printed: {}", keep(text, &printed))),
    }
}

#[test]
fn what_is_printed_is_read_as_the_same() {
    let all = texts::all();
    assert!(all.len() > 4, "{}", all.len());
    for (name, text) in &all {
        let module = cuda_ptx::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let printed = module.print();
        let again = cuda_ptx::parse(&printed).unwrap_or_else(|error| panic!("{name}: {error}\n{printed}"));
        assert_eq!(again.print(), printed, "{name}");
        // Each part of the text is there.
        let statements = |module: &cuda_ptx::Module<'_>| {
            let bodies = module.functions.iter().filter_map(|it| it.body.as_ref());
            bodies.flat_map(|it| &it.statements).count()
        };
        let registers = |module: &cuda_ptx::Module<'_>| {
            let bodies = module.functions.iter().filter_map(|it| it.body.as_ref());
            bodies.map(|it| it.statements.len() - it.declarations.len() + it.registers.len()).sum::<usize>()
        };
        assert_eq!(registers(&module), statements(&again), "{name}");
    }
}

#[test]
fn ptxas_makes_the_same_code_of_what_is_printed() {
    let Some(ptxas) = Ptxas::find() else { return };
    let mut ends = BTreeMap::<_, u32>::new();
    for (name, text) in texts::all() {
        match compare(&ptxas, &text) {
            Ok(end) => {
                assert_ne!(end, "refused by the reader", "{name}");
                *ends.entry(end).or_default() += 1;
            }
            Err(why) => panic!("{name}: {why}"),
        }
    }
    assert!(ends["the same code"] > 3, "{ends:?}");
}

/// Tries changed texts. Returns how they ended, and the first that is wrong.
fn changed(ptxas: &Ptxas, first: u64, tries: u64) -> (BTreeMap<&'static str, u32>, Option<(u64, String)>) {
    // Each text counts as much as another.
    let texts: Vec<Vec<Base>> = texts::tracked().iter().map(|(_, text)| Base::all(text)).collect();
    assert!(texts.len() > 5 && texts.iter().all(|bases| !bases.is_empty()), "{}", texts.len());
    let (next, ends, wrong) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()), Mutex::new(None));
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed) as u64;
            if at >= tries || wrong.lock().unwrap().as_ref().is_some_and(|(seed, _)| *seed < first + at) {
                return;
            }
            let mut random = Random(first.wrapping_add(at));
            let bases = &texts[random.below(texts.len())];
            let base = &bases[random.below(bases.len())];
            let text = base.changed(&mut random);
            match compare(ptxas, &text) {
                Ok(end) => *ends.lock().unwrap().entry(end).or_default() += 1,
                Err(why) => {
                    let mut wrong = wrong.lock().unwrap();
                    if wrong.as_ref().is_none_or(|(seed, _)| *seed > first + at) {
                        *wrong = Some((first + at, why));
                    }
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    (ends.into_inner().unwrap(), wrong.into_inner().unwrap())
}

#[test]
fn ptxas_makes_the_same_code_of_what_is_printed_of_changed_texts() {
    let Some(ptxas) = Ptxas::find() else { return };
    let tries = number("PTX_TRIES").unwrap_or(500);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let drawn = number("PTX_SEED").unwrap_or(now.as_secs() << 10);
    for first in [1, drawn] {
        let (ends, wrong) = changed(&ptxas, first, tries);
        println!("PTX_SEED={first}: {ends:?}");
        if let Some((seed, why)) = wrong {
            panic!("PTX_SEED={seed} PTX_TRIES=1, try {}:\n{why}", seed - first + 1);
        }
        if tries >= 500 {
            let part = |end| u64::from(ends.get(end).copied().unwrap_or(0)) * 100 / tries;
            assert!(part("the same code") > 20 && part("refused by the reader") < 15, "{ends:?}");
        }
    }
}
