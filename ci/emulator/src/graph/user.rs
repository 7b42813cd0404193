//! User objects: functions of the program that are called when no graph needs the object any more.

use std::collections::HashMap;

use crate::error::Answer;
use crate::stream::HostCall;
use crate::sys::cudaErrorInvalidValue;

/// One object.
#[derive(Debug)]
struct User {
    count: u32,
    destroy: HostCall,
}

/// All user objects of the process.
#[derive(Debug, Default)]
pub(crate) struct Users {
    last: usize,
    all: HashMap<usize, User>,
}

/// Handles start here, with gaps, so that small numbers are no handles.
const FIRST: usize = 0x0077_0000_0000;
const STRIDE: usize = 0x40;

impl Users {
    pub(crate) fn create(&mut self, destroy: HostCall, count: u32) -> usize {
        self.last += 1;
        let handle = FIRST + self.last * STRIDE;
        self.all.insert(handle, User { count, destroy });
        handle
    }

    /// Adds references.
    pub(crate) fn retain(&mut self, user: usize, count: u32) -> Answer {
        let it = self.all.get_mut(&user).ok_or(cudaErrorInvalidValue)?;
        it.count = it.count.checked_add(count).ok_or(cudaErrorInvalidValue)?;
        Ok(())
    }

    /// Releases references. Returns the function to call with the last one.
    pub(crate) fn release(&mut self, user: usize, count: u32) -> Answer<Option<HostCall>> {
        let it = self.all.get_mut(&user).ok_or(cudaErrorInvalidValue)?;
        it.count = it.count.checked_sub(count).ok_or(cudaErrorInvalidValue)?;
        if it.count > 0 {
            return Ok(None);
        }
        Ok(self.all.remove(&user).map(|gone| gone.destroy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn nothing(_: *mut core::ffi::c_void) {}

    #[test]
    fn the_last_reference_calls_the_function_and_there_are_never_fewer_than_none() {
        let mut users = Users::default();
        let user = users.create(HostCall::function(nothing, core::ptr::null_mut()), 1);
        users.retain(user, 2).unwrap();
        assert!(users.release(user, 2).unwrap().is_none());
        assert!(users.release(user, 2).is_err());
        assert!(users.release(user, 1).unwrap().is_some());
        assert!(users.release(user, 1).is_err());
    }
}
