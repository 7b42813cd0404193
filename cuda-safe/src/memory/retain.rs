//! Retention: graphs, textures and libraries become owners of an allocation beside its buffer.
//!
//! An operation receives accesses, which borrow an allocation's access history and do not name its owner.
//! Therefore the access history contains the address of the `Arc` of its allocation.
#![expect(unsafe_code, reason = "counts one more owner of an Arc that is known by its address")]

use std::ptr;
use std::sync::Arc;

use crate::hazard::{Access, AccessHistory};
use cuda_hazard::RetainedResource;

/// An allocation or similar value that contains its access history.
pub(crate) trait Retainable: RetainedResource + 'static {
    /// Returns the access history, to set how another owner is made.
    fn history_mut(&mut self) -> &mut AccessHistory;
}

/// Makes a type retainable: names the field that is its access history.
macro_rules! retainable {
    ($type:ty, $history:tt $(, [$($generics:tt)*])?) => {
        // SAFETY: the access history is a field, so it lives as long as the value and stays in it.
        unsafe impl$(<$($generics)*>)? cuda_hazard::RetainedResource for $type {
            fn history(&self) -> &$crate::hazard::AccessHistory {
                &self.$history
            }
        }

        impl$(<$($generics)*>)? $crate::memory::Retainable for $type {
            fn history_mut(&mut self) -> &mut $crate::hazard::AccessHistory {
                &mut self.$history
            }
        }
    };
}

pub(crate) use retainable;

/// Makes the first owner of an allocation that graphs can retain.
pub(crate) fn retained<T: Retainable>(value: T) -> Arc<T> {
    let mut owner = Arc::new(value);
    let address = Arc::as_ptr(&owner).expose_provenance();
    if let Some(value) = Arc::get_mut(&mut owner) {
        // SAFETY: the address is that of the value of this `Arc`, as long as an owner is borrowed.
        // `another` makes owners of the allocation that contains the access history.
        unsafe { value.history_mut().set_retain_fn((another::<T>, address)) };
    }
    owner
}

/// Makes another owner of the value that [`retained`] stored at this address.
///
/// # Safety
/// An owner of the value is borrowed during the call.
unsafe fn another<T: Retainable>(address: usize) -> Arc<dyn RetainedResource> {
    let value: *const T = ptr::with_exposed_provenance(address);
    // SAFETY: the address is that of an `Arc`'s value, and the caller guarantees that an owner is borrowed.
    unsafe { Arc::increment_strong_count(value) };
    // SAFETY: the address is that of an `Arc`'s value, and the caller guarantees that an owner is borrowed.
    // The count was just raised for this owner.
    unsafe { Arc::from_raw(value) }
}

/// Returns another owner of the memory of an access, or `None` if its owners are not counted.
pub(crate) fn retain(access: &Access<'_>) -> Option<Arc<dyn RetainedResource>> {
    let (another, address) = access.history().retain_fn()?;
    // SAFETY: the access borrows an access history. It is part of the allocation at this address, so an
    // owner of the allocation is borrowed, too. That owner can neither be dropped nor be borrowed
    // exclusively meanwhile. Code that moves an access history out of its owner makes it forget the
    // address.
    Some(unsafe { another(address) })
}
