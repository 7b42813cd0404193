//! Notifications of a device's driver.
//!
//! Alone: the budget is a property of the process, and is set before the first call.
#![expect(unsafe_code, reason = "sets a variable of the environment")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use cuda_safe::device::{Notice, Notification};
use cuda_safe::error::Detail;
use cuda_safe::{Device, DeviceBuffer, Stream};
use cuda_testing::own_process;

/// Records that it was dropped.
struct Dropped(Sender<()>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[test]
fn a_process_is_told_that_it_is_over_its_budget_until_it_wants_no_more() {
    own_process!();
    let calls = std::env::temp_dir().join(format!("cuda-notification-calls-{}", std::process::id()));
    // SAFETY: no other thread runs in this process yet. A GPU's runtime does not know the variable.
    unsafe { std::env::set_var("CUDA_EMULATOR_BUDGET", "1") };
    // SAFETY: no other thread runs in this process yet. A GPU's runtime does not know the variable.
    unsafe { std::env::set_var("CUDA_EMULATOR_CALLS", &calls) };
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
    dropped_where_cuda_is_not_to_be_called(device, emulated, || {
        let calls = std::fs::read_to_string(&calls).unwrap();
        calls.lines().filter(|call| call.ends_with(" cudaDeviceUnregisterAsyncNotification")).count()
    });
    let _ = std::fs::remove_file(&calls);
}

/// In a host function, and in the notified function: refused now, and unregistered later.
fn dropped_where_cuda_is_not_to_be_called(device: Device, emulated: bool, taken_back: impl Fn() -> usize) {
    let (tell, told) = channel();
    let (stream, notification) = (Stream::new().unwrap(), device.on_notification(|_| {}).unwrap());
    let told_by_the_stream = tell.clone();
    stream
        .launch_host_fn(move || {
            let refused = device.on_notification(|_| {}).err().map(|error| error.detail().clone());
            told_by_the_stream
                .send((refused, notification.unregister().err().map(|error| error.detail().clone())))
                .unwrap();
        })
        .unwrap();
    assert_eq!(told.recv().unwrap(), (Some(Detail::IN_CALLBACK), Some(Detail::IN_CALLBACK)));
    if !emulated {
        return;
    }
    let itself: Arc<Mutex<Option<Notification>>> = Arc::default();
    let own = Arc::clone(&itself);
    let notification = device.on_notification(move |_| {
        let Some(own) = own.lock().unwrap().take() else { return };
        let refused = device.on_notification(|_| {}).err().map(|error| error.detail().clone());
        tell.send((refused, own.unregister().err().map(|error| error.detail().clone()))).unwrap();
    });
    *itself.lock().unwrap() = Some(notification.unwrap());
    let before = taken_back();
    let buffer = DeviceBuffer::<u8>::alloc(3 << 20).unwrap();
    assert_eq!(told.recv().unwrap(), (Some(Detail::IN_CALLBACK), Some(Detail::IN_CALLBACK)));
    assert_eq!(taken_back(), before);
    drop(buffer);
    stream.synchronize().unwrap();
    assert_eq!(taken_back(), before + 2);
}
