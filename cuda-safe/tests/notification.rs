//! What a device's driver tells. A binary of its own: the budget is the process's.
#![expect(unsafe_code, reason = "sets a variable of the environment")]

use std::sync::mpsc::{Sender, channel};

use cuda_safe::device::Notice;
use cuda_safe::{Device, DeviceBuffer};

/// Says when it is dropped.
struct Dropped(Sender<()>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[test]
fn a_process_is_told_that_it_is_over_its_budget_until_it_wants_no_more() {
    // SAFETY: nothing else runs in this process yet. A GPU's runtime does not know the variable.
    unsafe { std::env::set_var("CUDA_EMULATOR_BUDGET", "1") };
    let device = Device::new(0).unwrap();
    let emulated = device.properties().unwrap().name().contains("mulat");
    let (tell, told) = channel();
    let (gone, left) = channel();
    let dropped = Dropped(gone);
    let registered = device.on_notification(move |notice| {
        let _ = &dropped;
        let _ = tell.send(notice);
        panic!("a panic stays where it is");
    });
    let notification = match registered {
        Ok(notification) => notification,
        Err(error) => {
            assert_eq!(error.code(), cuda_safe::sys::cudaErrorNotSupported, "{error}");
            left.recv().unwrap();
            return;
        }
    };
    assert_eq!(notification.device(), device);
    let buffer = DeviceBuffer::<u8>::alloc(3 << 20).unwrap();
    if emulated {
        assert_eq!(told.recv().unwrap(), Notice::OverBudget { bytes: 2 << 20 });
    } else {
        eprintln!("skipped: what a GPU tells, as it cannot be made to");
    }
    notification.unregister().unwrap();
    left.recv().unwrap();
    drop(buffer);
    let again = device.on_notification(|_| {}).unwrap();
    drop(again);
}
