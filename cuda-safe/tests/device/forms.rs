//! What a device answers to each form of instruction that a proof takes as exact or as bounded, against the
//! file with which the tests of `cuda-proof` compare what a proof knows.
//!
//! Not under sanitizers: all launches are proven, and their numbers are what is compared.
#![cfg(cudart_12_8)]

use cuda_safe::device::driver_version;
use cuda_safe::library::Library;
use cuda_safe::{Device, DeviceBuffer, Result, Stream, launch};
use cuda_testing::alone;

#[path = "../../proof/tests/forms/table.rs"]
mod table;
use table::{BLOCK, COUNT, GRID, forms, header};

const ANSWERS: &str = include_str!("../../proof/tests/forms/answers.tsv");

/// With `PROOF_ANSWERS=FILE`, the answers are written into a file, to become the one that is compared.
#[test]
fn each_form_of_instruction_answers_as_the_gpu_of_the_file() -> Result<()> {
    let _alone = alone();
    if Device::current()?.compute_capability()? < (9, 0) {
        println!("not run, as the PTX is for compute capability 9.0");
        return Ok(());
    }
    let forms = forms();
    let kernels = forms.iter().enumerate().map(|(at, form)| form.kernel(&format!("form{at}"), false));
    let library = Library::from_ptx(kernels.fold(header(), |all, it| all + &it))?;
    let stream = Stream::new()?;
    let mut lines = String::new();
    for (at, form) in forms.iter().enumerate() {
        let kernel = library.checked_kernel::<(*const u64, *mut u64)>(&format!("form{at}"))?;
        let from = DeviceBuffer::from_slice(&form.operands())?;
        let mut to = DeviceBuffer::<u64>::alloc_zeroed(COUNT * form.results())?;
        launch!(kernel<<<GRID, BLOCK, 0, &stream>>>(&from, &mut to))?;
        lines += &form.line(&to.to_vec()?);
    }
    if let Some(file) = std::env::var_os("PROOF_ANSWERS") {
        let (properties, driver) = (Device::current()?.properties()?, driver_version()?);
        let head = format!(
            "# {}, driver for CUDA {driver}: form, lowest and largest answer, hashes\n",
            properties.name()
        );
        std::fs::write(file, head + &lines).expect("the file is written");
        return Ok(());
    }
    let known: Vec<&str> = ANSWERS.lines().filter(|it| !it.starts_with('#')).collect();
    assert_eq!(known.len(), forms.len(), "the file has each form");
    let wrong = lines.lines().zip(known).filter(|(own, known)| own != known);
    let wrong: Vec<String> = wrong.map(|(own, known)| format!("here {own}\nfile {known}\n")).collect();
    assert!(wrong.is_empty(), "answers differ:\n{}", wrong.concat());
    Ok(())
}
