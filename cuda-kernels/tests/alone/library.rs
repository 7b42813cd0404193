//! Fatbinaries that nvcc wrote, loaded as libraries from this program's own file.
//!
//! Alone: the variables of the program have the values that they start with.
#![expect(unsafe_code, reason = "vouches for images, declares the parameters of kernels, and launches them")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::ops::Range;

use cuda_kernels::kernels::{self, add_one};
use cuda_safe::error::Detail;
use cuda_safe::library::Library;
use cuda_safe::{DeviceBuffer, Result, Stream, launch, memcpy};
use cuda_testing::own_process;

/// The start of a fatbinary. Its header has 16 bytes, and the last 8 of these hold the number of bytes
/// that follow.
const BEGINS: [u8; 8] = [0x50, 0xED, 0x55, 0xBA, 1, 0, 16, 0];

/// Returns the positions of the fatbinaries in a program's file.
fn fatbinaries(file: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(head) = file.get(at..at + 16) {
        let follow = u64::from_le_bytes(head[8..].try_into().unwrap());
        let end = usize::try_from(follow).ok().and_then(|follow| (at + 16).checked_add(follow));
        let end = end.filter(|end| head.starts_with(&BEGINS) && *end > at + 16 && *end <= file.len());
        found.extend(end.map(|end| at..end));
        at = end.unwrap_or(at + 8).next_multiple_of(8);
    }
    found
}

fn file() -> Vec<u8> {
    std::fs::read(std::env::current_exe().unwrap()).unwrap()
}

/// Returns the library of this program's code that has a kernel of this name.
fn library(kernel: &str) -> Library {
    let file = file();
    let images = fatbinaries(&file);
    assert!(!images.is_empty(), "no fatbinary in this program's file");
    let mut libraries = images.into_iter().filter_map(|image| {
        // SAFETY: nvcc wrote the image, and the linker copied it whole. Some images have no code for this
        // device.
        let library = unsafe { Library::from_data(&file[image]) }.ok()?;
        library.kernel_names().unwrap().iter().any(|name| name == kernel).then_some(library)
    });
    libraries.next().unwrap_or_else(|| panic!("no fatbinary has {kernel}"))
}

#[test]
fn a_kernel_does_the_same_as_in_the_program_and_both_are_ordered() -> Result<()> {
    own_process!(Ok(()));
    // The kernels are linked in, and so are their fatbinaries.
    let mut data = DeviceBuffer::from_slice(&[0_i32; 100])?;
    let loaded = library("add_one");
    // SAFETY: the parameters are those of the header.
    let same = unsafe { loaded.kernel::<(*mut i32, u32)>("add_one") }?;
    drop(loaded);
    assert_eq!(same.attributes()?.registers(), add_one.attributes()?.registers());
    for _ in 0..3 {
        let (one, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
        launch!(add_one<<<1, 128, 0, &one>>>(&mut data, 100))?;
        // SAFETY: as above.
        unsafe { launch!(same<<<1, 128, 0, &other>>>(&mut data, 100)) }?;
    }
    assert_eq!(data.to_vec()?, [6; 100]);
    Ok(())
}

/// Not under sanitizers: it is refused before any call.
#[test]
fn an_image_that_is_cut_short_is_refused_before_the_call() {
    own_process!();
    assert!(!kernels::add_one.as_raw().is_null());
    let file = file();
    let image = &file[fatbinaries(&file).remove(0)];
    for len in [16, 100, image.len() - 1] {
        // SAFETY: refused.
        let error = unsafe { Library::from_data(&image[..len]) }.unwrap_err();
        let both = Detail::wrong_length("the image, in bytes,", image.len(), len);
        assert_eq!((error.is_refused(), error.detail()), (true, &both), "{error}");
    }
}

#[test]
fn variables_of_a_library_are_not_those_of_the_program() -> Result<()> {
    own_process!(Ok(()));
    let (own, fill) = (&kernels::variables_counter, &kernels::variables_fill);
    let loaded = library(&fill.mangled_name()?);
    let mut counter = loaded.global::<u32>("_ZN9variables7counterE")?;
    assert_eq!(counter.to_vec()?, [7]);
    memcpy(&mut counter, &[100])?;
    assert_eq!((own.to_vec()?, counter.to_vec()?), (vec![7], vec![100]));
    let mut matrix = loaded.global::<i32>("_ZN9variables6matrixE")?;
    // SAFETY: the parameter is that of the header, which declares that the kernel writes the matrix and
    // nothing else.
    let fill = unsafe { loaded.kernel::<(i32,)>(&fill.mangled_name()?) }?.using(matrix.access_mut())?;
    // SAFETY: one block of 64 threads, as the header requires.
    unsafe { launch!(fill<<<1, 64, 0, &Stream::non_blocking()?>>>(1000)) }?;
    assert_eq!(matrix.to_vec()?, (1000..1064).collect::<Vec<_>>());
    assert_eq!(kernels::variables_matrix.to_vec()?, [0; 64]);
    if let Ok(mut shared) = loaded.managed::<i32>("_ZN9variables6sharedE") {
        shared.host_mut()?[7] = 9;
        assert_eq!(
            (shared.host()?[..4].to_vec(), kernels::variables_shared.to_vec()?[7]),
            (vec![5, 6, 7, 8], 0)
        );
    } else {
        println!("no concurrent managed access here: managed variables are not asked for");
    }
    Ok(())
}
