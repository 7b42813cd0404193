//! The functions by which nvcc's objects register kernels and variables.
//!
//! An object calls them in a constructor, before `main`. Here registrations wait for the library: its first
//! use replays them in their order. An object has a handle of this file, and never sees the library's.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::{NonNull, without_provenance_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::find::{self, Library};
use super::system::{SEARCHED, c_symbol};
use crate::bindings::{dim3, uint3};
/// The handle of one binary: the library's, or the one that an object has, which is a number of this file.
pub(super) use crate::registration::Handle;
use crate::registration::functions;

/// The registration of a kernel or variable, given the library's functions and its handle of the binary.
type Registration = Box<dyn FnOnce(&Functions, Handle)>;

/// The binaries in their order, and the library's functions once it is loaded.
struct Registry {
    binaries: Vec<Binary>,
    /// Also `None` if the library lacks one of them: then it is not NVIDIA's, and no binary was waiting.
    functions: Option<Functions>,
}

// SAFETY: the registrations have addresses in the program's own image, which every thread may use.
unsafe impl Send for Registry {}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { binaries: Vec::new(), functions: None });

/// The kernels of one object, compiled by nvcc.
enum Binary {
    /// The library has not seen it: its image, and what belongs to it.
    Waiting(*mut c_void, Vec<Registration>),
    Registered(Handle),
    Unloaded,
}

/// Defines the type of the library's functions for registrations, and its lookup.
macro_rules! table {
    ($($(#[$docs:meta])* $kind:ident fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        #[derive(Clone, Copy)]
        struct Functions {
            $($name: unsafe extern "C" fn($($type),*) $(-> $result)?,)*
        }

        impl Functions {
            fn of(library: &Library) -> Option<Self> {
                $(
                    let symbol = concat!(stringify!($name), "\0");
                    let address = library.symbol(CStr::from_bytes_with_nul(symbol.as_bytes()).ok()?)?;
                    let $name = {
                        type Function = unsafe extern "C" fn($($type),*) $(-> $result)?;
                        // SAFETY: a library of this major version has the function of this name at this
                        // address, with the type in nvcc's header for generated code.
                        unsafe { core::mem::transmute::<NonNull<c_void>, Function>(address) }
                    };
                )*
                Some(Self { $($name),* })
            }
        }
    };
}

functions!(table);

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers with the library what registered before it was loaded.
pub(super) fn replay(library: &Library) -> Result<(), String> {
    let mut registry = registry();
    registry.functions = Functions::of(library);
    let Registry { binaries, functions } = &mut *registry;
    let Some(functions) = functions else {
        if binaries.iter().all(|binary| matches!(binary, Binary::Unloaded)) {
            return Ok(());
        }
        return Err(format!(
            "the libcudart that was loaded lacks functions that kernels register with: it is not NVIDIA's, \
             check {SEARCHED} and CUDA_PATH"
        ));
    };
    for binary in binaries {
        binary.register(functions);
    }
    Ok(())
}

impl Binary {
    /// Registers it with the library, and what belongs to it.
    fn register(&mut self, functions: &Functions) {
        let Binary::Waiting(image, registrations) = self else { return };
        find::pin_this();
        // SAFETY: nvcc's object gave this address, which is in the program's image.
        let handle = unsafe { (functions.__cudaRegisterFatBinary)(*image) };
        for registration in core::mem::take(registrations) {
            registration(functions, handle);
        }
        *self = Binary::Registered(handle);
    }
}

impl Registry {
    /// Returns the binary that an object's handle is for.
    fn binary(&mut self, handle: Handle) -> Option<&mut Binary> {
        self.binaries.get_mut(handle.addr().checked_sub(1)?)
    }
}

/// Makes a registration, now or when the library is loaded.
fn register(handle: Handle, registration: impl FnOnce(&Functions, Handle) + 'static) {
    let mut registry = registry();
    let functions = registry.functions;
    match (registry.binary(handle), functions) {
        (Some(Binary::Waiting(_, registrations)), _) => registrations.push(Box::new(registration)),
        (Some(Binary::Registered(handle)), Some(functions)) => registration(&functions, *handle),
        _ => {}
    }
}

extern "C" fn __cudaRegisterFatBinary(image: *mut c_void) -> Handle {
    let mut registry = registry();
    let mut binary = Binary::Waiting(image, Vec::new());
    if let Some(functions) = registry.functions {
        binary.register(&functions);
    }
    registry.binaries.push(binary);
    without_provenance_mut(registry.binaries.len())
}
c_symbol!(__cudaRegisterFatBinary);

/// Forgets a binary that the library has not seen. One that it has stays, because this is called only at the
/// end of the process: [`find::pin_this`] keeps a shared library from being unloaded. The library's own exit
/// handlers are newer than the object's, so it has ended already.
extern "C" fn __cudaUnregisterFatBinary(handle: Handle) {
    if let Some(binary) = registry().binary(handle)
        && matches!(binary, Binary::Waiting(..))
    {
        *binary = Binary::Unloaded;
    }
}
c_symbol!(__cudaUnregisterFatBinary);

/// Defines the functions whose calls wait for the library.
macro_rules! replay {
    ($($(#[$docs:meta])* $kind:ident fn $name:ident $arguments:tt $(-> $result:ty)?;)*) => {
        $(replay!(@ $kind $name $arguments);)*
    };
    (@ called $name:ident $arguments:tt) => {};
    (@ replayed $name:ident($own:ident: Handle $(, $argument:ident: $type:ty)*)) => {
        extern "C" fn $name($own: Handle $(, $argument: $type)*) {
            register($own, move |functions, handle| {
                let function = functions.$name;
                // SAFETY: nvcc's object gave these addresses, which are in the program's image, or null.
                unsafe { function(handle $(, $argument)*) }
            });
        }
        c_symbol!($name);
    };
}

functions!(replay);

/// Has the library load a binary's managed variables. Returns 0 if it has not seen the binary.
pub(super) fn init(handle: Handle) -> c_char {
    let mut registry = registry();
    let functions = registry.functions;
    let (Some(Binary::Registered(handle)), Some(functions)) = (registry.binary(handle), functions) else {
        return 0;
    };
    let handle = *handle;
    // The call may load the module, and other objects may register meanwhile.
    drop(registry);
    // SAFETY: the handle is the library's.
    unsafe { (functions.__cudaInitModule)(handle) }
}
