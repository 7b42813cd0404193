//! Memory of another device that no argument declares: `using`, `launch_raw`, and nodes of graphs.
//!
//! Alone: access between devices stays enabled for the process.
#![allow(unsafe_code, reason = "launches kernels that have no safe function")]

use std::ptr::from_mut;

use cuda_kernels::kernels::copy_values;
use cuda_safe::device::set_automatic_peer_access;
use cuda_safe::graph::node;
use cuda_safe::{Device, DeviceBuffer, Graph, Result, Stream, launch};
use cuda_testing::own_process;

#[test]
fn memory_that_is_declared_and_no_argument_is_accessible_or_refused_like_an_argument() -> Result<()> {
    own_process!(Ok(()));
    let devices: Vec<_> = Device::all()?.collect();
    let [first, second, ..] = devices[..] else {
        println!("one device only: no memory of a second one");
        return Ok(());
    };
    if !first.can_access_peer(&second)? {
        println!("the devices cannot access each other: nothing to enable");
        return Ok(());
    }
    first.set_current()?;
    let stream = Stream::non_blocking()?;
    let mut own = DeviceBuffer::from_slice(&[0.0_f32; 4])?;
    let theirs = second.with_current(|| DeviceBuffer::from_slice(&[1.0_f32, 2.0, 3.0, 4.0]))?;
    let from = theirs.as_ptr();
    let using = copy_values.using(theirs.access())?;

    // The ways to launch.
    type Way<'a> = &'a dyn Fn(&mut DeviceBuffer<f32>) -> Result<()>;
    let with = |own: &mut DeviceBuffer<f32>| {
        let (mut from, mut to, mut count) = (from, own.as_mut_ptr(), 4_u32);
        let values = &mut [from_mut(&mut from).cast(), from_mut(&mut to).cast(), from_mut(&mut count).cast()];
        // SAFETY: four elements, and all memory is declared.
        unsafe { copy_values.launch_raw((1, 32), &stream, &[theirs.access(), own.access_mut()], values) }
    };
    let ways: [Way<'_>; 3] = [
        &with,
        // SAFETY: four elements, and all memory is declared.
        &|own| unsafe { launch!(using<<<1, 32, 0, &stream>>>(from, own, 4)) },
        &|own| {
            let mut graph = Graph::new()?;
            // SAFETY: four elements, and all memory is declared.
            unsafe { graph.add(&[], node::kernel(&using, (1, 32), (from, own, 4))) }?;
            graph.instantiate()?.launch(&stream)
        },
    ];
    let all_work = |own: &mut DeviceBuffer<f32>| -> Result<()> {
        for launch in ways {
            cuda_safe::memset(own, 0)?;
            launch(own)?;
            assert_eq!(own.to_vec()?, [1.0, 2.0, 3.0, 4.0]);
        }
        Ok(())
    };
    // The very first one enables access.
    all_work(&mut own)?;

    set_automatic_peer_access(false);
    // SAFETY: no kernel of this program is running.
    unsafe { first.disable_peer_access(&second) }?;
    for launch in ways {
        let refused =
            launch(&mut own).map_err(|error| (error.detail().to_string(), error.call_site().file()));
        let (found, needed) = (second.ordinal(), first.ordinal());
        let detail = format!(
            "the memory belongs to device {found}, and kernels of device {needed} cannot access it: copy it \
             to device {needed}, or use Device::enable_peer_access if the hardware allows it"
        );
        assert_eq!(refused, Err((detail, file!())));
    }
    first.enable_peer_access(&second)?;
    all_work(&mut own)
}
