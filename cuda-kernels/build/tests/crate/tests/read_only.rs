//! Kernels of two streams that only read the same memory are not ordered, whichever way that is known.
//!
//! One test: the number of waits belongs to the process.
#![expect(unsafe_code, reason = "launches kernels")]

use cuda_safe::{DeviceBuffer, Result, Stream, hazard, launch};

mod kernels {
    cuda_safe::include_kernels!("own_kernels");
}

#[test]
fn readers_of_one_buffer_add_no_wait_and_a_writer_does() -> Result<()> {
    let streams = [Stream::new()?, Stream::new()?];
    let mut input = DeviceBuffer::from_slice(&[1.0_f32, 2.0, 3.0, 4.0])?;
    let mut table = DeviceBuffer::from_slice(&[10, 20, 30, 40])?;
    let mut outputs = [DeviceBuffer::<f32>::alloc_zeroed(4)?, DeviceBuffer::alloc_zeroed(4)?];
    for stream in &streams {
        stream.synchronize()?;
    }
    let before = hazard::added_waits();
    for (stream, out) in streams.iter().zip(&mut outputs) {
        launch!(kernels::copy_promised<<<1, 4, 0, stream>>>(&input, &mut *out))?;
        launch!(kernels::copy_passed<<<1, 4, 0, stream>>>(input.read_only(), &mut *out))?;
        launch!(kernels::add_table<<<1, 4, 0, stream>>>(&input, table.read_only(), &mut *out))?;
        // A program from before the build found this out: mutable borrows and addresses.
        launch!(kernels::add_table<<<1, 4, 0, stream>>>(&mut input, &mut table, &mut *out))?;
        // SAFETY: as above. The buffers live until the streams are waited for.
        unsafe {
            launch!(kernels::add_table.unchecked()<<<1, 4, 0, stream>>>(input.as_mut_ptr(), &table, &mut *out))
        }?;
    }
    assert_eq!(hazard::added_waits() - before, 0);
    let [a, b] = &mut outputs;
    for output in [&*a, &*b] {
        assert_eq!(output.to_vec()?, [11.0, 22.0, 33.0, 44.0]);
    }

    // Without a proof, and unless told otherwise, a pointer that is passed on is written.
    for (stream, out) in streams.iter().zip([a, b]) {
        // SAFETY: each of the four threads accesses one of the four elements of both buffers.
        unsafe { launch!(kernels::copy_passed.unchecked()<<<1, 4, 0, stream>>>(&mut input, out)) }?;
    }
    assert_eq!(hazard::added_waits() - before, 1);
    Ok(())
}
