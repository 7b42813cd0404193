//! The other side in C, and in Python with NumPy: layout, elements, deleters.
//!
//! Not in the bundle: compiles a C file, and needs Python
#![allow(unsafe_code, clippy::unwrap_used, clippy::multiple_unsafe_ops_per_block, reason = "tests call C")]

use std::ffi::c_int;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use cuda_dlpack::raw::{DLDataType, DLDevice, DLManagedTensorVersioned, DLTensor};
use cuda_dlpack::{Capsule, Element, Error};
use cuda_safe::PinnedBuffer;
use libloading::{Library, Symbol};

type Managed = DLManagedTensorVersioned;
type Produce = unsafe extern "C" fn(
    *mut std::ffi::c_void,
    DLDevice,
    DLDataType,
    i32,
    *const i64,
    *const i64,
    u64,
    u32,
    u64,
) -> *mut Managed;

/// The C file as a library, and its number of deleted tensors from 0.
fn with_c(test: impl FnOnce(&Library)) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let library = folder.join(format!("other_side-{}.so", std::process::id()));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/other_side.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o"]);
    let compiled = compiler.arg(&library).arg(source).status();
    assert!(compiled.is_ok_and(|status| status.success()), "the other side needs a C compiler");
    // SAFETY: the library has no constructors.
    let loaded = unsafe { Library::new(&library) }.unwrap();
    std::fs::remove_file(library).unwrap();
    test(&loaded);
}

/// Makes a tensor of two rows of three numbers by C.
fn produced<T: Element>(
    c: &Library,
    data: &mut [T; 6],
    device: i32,
    strides: Option<[i64; 2]>,
) -> NonNull<Managed> {
    // SAFETY: the library has this function or variable, of this type.
    let produce: Symbol<'_, Produce> = unsafe { c.get(b"produce") }.unwrap();
    let device = DLDevice { device_type: device, device_id: 0 };
    let (shape, strides) = ([2, 3], strides.as_ref().map_or(std::ptr::null(), |strides| strides.as_ptr()));
    let data = data.as_mut_ptr().cast();
    // SAFETY: the function has this type, and copies the shape and the strides.
    NonNull::new(unsafe { produce(data, device, T::DTYPE, 2, shape.as_ptr(), strides, 0, 1, 0) }).unwrap()
}

fn deleted(c: &Library) -> c_int {
    // SAFETY: the library has this function or variable, of this type.
    unsafe { **c.get::<*const c_int>(b"deleted").unwrap() }
}

#[test]
fn the_layout_is_that_of_c() {
    with_c(|c| {
        // SAFETY: the library has this function or variable, of this type.
        let layout: Symbol<'_, unsafe extern "C" fn(*mut usize)> = unsafe { c.get(b"layout") }.unwrap();
        let mut found = [0; 13];
        // SAFETY: the function writes 13 numbers.
        unsafe { layout(found.as_mut_ptr()) };
        let tensor = offset_of!(Managed, dl_tensor);
        let expected = [
            4,
            offset_of!(Managed, manager_ctx),
            offset_of!(Managed, deleter),
            offset_of!(Managed, flags),
            tensor + offset_of!(DLTensor, data),
            tensor + offset_of!(DLTensor, device) + offset_of!(DLDevice, device_id),
            tensor + offset_of!(DLTensor, ndim),
            tensor + offset_of!(DLTensor, dtype),
            tensor + offset_of!(DLTensor, dtype) + offset_of!(DLDataType, lanes),
            tensor + offset_of!(DLTensor, shape),
            tensor + offset_of!(DLTensor, strides),
            tensor + offset_of!(DLTensor, byte_offset),
            size_of::<Managed>(),
        ];
        assert_eq!(found, expected);
    });
}

#[test]
fn c_reads_and_writes_pinned_memory_and_gives_it_back() {
    with_c(|c| {
        let consume: Symbol<'_, unsafe extern "C" fn(*mut Managed) -> f64> =
            // SAFETY: the library has this function or variable, of this type.
            unsafe { c.get(b"consume") }.unwrap();
        let mut buffer = PinnedBuffer::from_slice(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let address = buffer.as_mut_ptr();
        let raw = Capsule::from_pinned(buffer, &[3, 2]).unwrap().into_raw();
        // SAFETY: the tensor is live, and nobody else has it.
        assert_eq!(unsafe { raw.as_ref() }.dl_tensor.data.cast(), address, "nothing is copied");
        // SAFETY: the tensor is live, and is given back once.
        assert_eq!(unsafe { consume(raw.as_ptr()) }, 21.0);
        let buffer = PinnedBuffer::from_slice(&[1.0_f32; 6]).unwrap();
        assert!(matches!(Capsule::from_pinned(buffer, &[7]), Err(Error::Shape { len: Some(6), .. })));
    });
}

#[test]
fn elements_of_c_are_read_in_place_and_given_back_once() {
    with_c(|c| {
        for device in [DLDevice::CPU, DLDevice::CUDA_HOST] {
            for strides in [None, Some([3, 1])] {
                let before = deleted(c);
                let mut data = [1_i64, 2, 3, 4, 5, 6];
                let address = data.as_ptr();
                // SAFETY: the tensor is as the specification has it, and nobody else gives it back.
                let capsule = unsafe { Capsule::from_raw(produced(c, &mut data, device, strides)) }.unwrap();
                assert_eq!(capsule.shape(), [2, 3]);
                let found = capsule.host::<i64>().unwrap();
                assert_eq!((found, found.as_ptr()), (&[1, 2, 3, 4, 5, 6][..], address));
                assert!(matches!(capsule.host::<f64>(), Err(Error::Dtype { .. })));
                assert_eq!(deleted(c), before);
                drop(capsule);
                assert_eq!(deleted(c), before + 1);
            }
        }
        let before = deleted(c);
        let mut data = [0_u8; 6];
        let transposed = produced(c, &mut data, DLDevice::CPU, Some([1, 2]));
        // SAFETY: the tensor is as the specification has it, and nobody else gives it back.
        let capsule = unsafe { Capsule::from_raw(transposed) }.unwrap();
        let error = capsule.host::<u8>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "a tensor of shape [2, 3] with strides [1, 2]: only compact rows are taken"
        );
        let device = produced(c, &mut data, DLDevice::CUDA, None);
        // SAFETY: the tensor is as the specification has it, and nobody else gives it back.
        let device = unsafe { Capsule::from_raw(device) }.unwrap();
        assert!(
            matches!(device.host::<u8>(), Err(Error::Device { .. })),
            "device memory is not for the host"
        );
        // Given away and taken again, it is given back once.
        // SAFETY: the tensor is as the specification has it, and nobody else gives it back.
        drop(unsafe { Capsule::from_raw(device.into_raw()) }.unwrap());
        drop(capsule);
        assert_eq!(deleted(c), before + 2);
    });
}

/// Both directions with NumPy, in Python's process. `CUDA_DLPACK_NUMPY` is a folder that has NumPy.
#[test]
fn numpy_takes_pinned_memory_and_gives_an_array() {
    let python = |arguments: &[&std::ffi::OsStr]| {
        let mut python = Command::new("python3");
        python.args(arguments);
        if let Some(folder) = std::env::var_os("CUDA_DLPACK_NUMPY") {
            python.env("PYTHONPATH", folder);
        }
        python.output()
    };
    let asked = "import numpy; assert tuple(map(int, numpy.__version__.split('.')[:2])) >= (2, 1)";
    let has_numpy = python(&["-c".as_ref(), asked.as_ref()]).is_ok_and(|output| output.status.success());
    if !has_numpy {
        assert!(
            std::env::var_os("CUDA_DLPACK_NUMPY").is_none(),
            "CUDA_DLPACK_NUMPY has no NumPy of 2.1 or newer"
        );
        println!("not run, no NumPy of 2.1 or newer");
        return;
    }
    // Beside the folder of this program.
    let this = std::env::current_exe().unwrap();
    let module = this.ancestors().nth(2).unwrap().join("examples/libmodule.so");
    assert!(module.exists(), "{}: `cargo test -p cuda-dlpack` builds it", module.display());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/with_numpy.py");
    let output = python(&[script.as_os_str(), module.as_os_str()]).unwrap();
    let [text, errors] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success(), "{text}\n{errors}");
    assert_eq!(text.lines().last(), Some("both directions"), "{text}\n{errors}");
}
