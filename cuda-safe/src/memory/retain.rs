//! How graphs, textures and libraries become owners of an allocation beside the buffer that has it.
//!
//! An operation is given accesses, which borrow an allocation's ledger and say nothing about its owner. So
//! the ledger has the address of the `Arc` that its allocation is in.
#![expect(unsafe_code, reason = "counts one more owner of an Arc that is known by its address")]

use std::ptr;
use std::sync::Arc;

use crate::hazard::{Access, Ledger};
use cuda_hazard::Keeper;

/// An allocation, or what is like one, with its ledger in it.
pub(crate) trait Retained: Keeper + 'static {
    /// The ledger, to note how another owner is made.
    fn ledger_mut(&mut self) -> &mut Ledger;
}

/// The first owner of an allocation, which graphs can become owners of.
pub(crate) fn retained<T: Retained>(value: T) -> Arc<T> {
    let mut owner = Arc::new(value);
    let address = Arc::as_ptr(&owner).expose_provenance();
    if let Some(value) = Arc::get_mut(&mut owner) {
        // SAFETY: the address is that of the value of this `Arc`, for as long as an owner is borrowed. It gives
        // owners of the allocation that the access history is in.
        unsafe { value.ledger_mut().kept_by((another::<T>, address)) };
    }
    owner
}

/// Another owner of the value that [`retained`] has put at this address.
///
/// # Safety
/// An owner of it is borrowed over the call.
unsafe fn another<T: Retained>(address: usize) -> Arc<dyn Keeper> {
    let value: *const T = ptr::with_exposed_provenance(address);
    // SAFETY: the address is that of an `Arc`'s value, of which the caller borrows an owner.
    unsafe { Arc::increment_strong_count(value) };
    // SAFETY: as above, and the count was just raised for this owner.
    unsafe { Arc::from_raw(value) }
}

/// Another owner of the memory that an access is of; none where nobody counts them.
pub(crate) fn retain(access: &Access<'_>) -> Option<Arc<dyn Keeper>> {
    let (another, address) = access.ledger().keep()?;
    // SAFETY: the access borrows its ledger, which is in the allocation that the address is that of, and so
    // in an owner that cannot go meanwhile, nor have the allocation to itself: who takes an allocation out of
    // its owners has the ledger forget the address.
    Some(unsafe { another(address) })
}
