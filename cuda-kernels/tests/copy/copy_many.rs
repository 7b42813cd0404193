//! Many copies by one kernel: every alignment, lengths near the edges of words and chunks, and refused
//! pairs.
#![expect(unsafe_code, reason = "implements a memory type of which two values may stand for the same bytes")]

use cuda_kernels::{copy_many, kernels};
use cuda_safe::error::Detail;
use cuda_safe::launch::{CheckedArg, KernelArg, KernelInput, KernelOutput};
use cuda_safe::{Device, DeviceBuffer, MappedFlag, PinnedBuffer, Registered, Result, Stream, hazard};
use cuda_testing::alone;

/// Returns bytes whose values show their position.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| u8::try_from((i * 7 + i / 256 * 13) % 251).unwrap_or(0)).collect()
}

/// Compares copies of `(to, from, bytes)` from one buffer to another by the kernel with the same copies
/// by the host.
fn compare(len: usize, copies: &[(usize, usize, usize)]) -> Result<()> {
    // In this order and in reverse, so that the result does not depend on the order.
    compare_in_order(len, copies, false)?;
    compare_in_order(len, copies, true)
}

/// [`compare`] in one of the two orders.
fn compare_in_order(len: usize, copies: &[(usize, usize, usize)], reversed: bool) -> Result<()> {
    let stream = Stream::new()?;
    let host = pattern(len);
    let mut expected = vec![0xee_u8; len];
    let source = DeviceBuffer::from_slice(&host)?;
    let mut target = DeviceBuffer::from_slice(&expected)?;
    let mut pairs = Vec::new();
    let mut rest = target.slice_mut(..)?;
    let mut at = 0;
    for &(to, from, bytes) in copies {
        let (part, behind) = rest.split_at_mut(to + bytes - at)?;
        let (_, part) = part.split_at_mut(to - at)?;
        (rest, at) = (behind, to + bytes);
        pairs.push((part, source.slice(from..from + bytes)?));
        expected[to..to + bytes].copy_from_slice(&host[from..from + bytes]);
    }
    if reversed {
        pairs.reverse();
    }
    copy_many(pairs, &stream)?;
    let found = target.to_vec()?;
    let wrong = found.iter().zip(&expected).position(|(found, expected)| found != expected);
    assert_eq!(wrong, None, "the first byte that is not as it should be, of {copies:?}");
    Ok(())
}

#[test]
fn every_alignment_of_either_side_is_copied_exactly() -> Result<()> {
    let _alone = alone();
    let mut copies = Vec::new();
    let mut to = 0_usize;
    for out in 0..17 {
        for from in [0, 1, 2, 4, 8, 16, 5, 15] {
            to = to.next_multiple_of(32);
            copies.push((to + out, 64 + from, 77));
            to += out + 77 + 1;
        }
    }
    compare(to + 64, &copies)
}

#[test]
fn lengths_around_words_and_chunks_are_copied_exactly() -> Result<()> {
    let _alone = alone();
    let chunk = kernels::COPY_MANY_CHUNK as usize;
    let lengths = [1, 2, 3, 15, 16, 17, 31, 33, 255, 4096, 4097, chunk - 1, chunk, chunk + 1, 3 * chunk + 5];
    for (out, from) in [(0, 0), (3, 3), (1, 0), (14, 6), (8, 0)] {
        let mut copies = Vec::new();
        let mut to = 0;
        for bytes in lengths {
            copies.push((to + out, from, bytes));
            to += out + bytes + 16 - (out + bytes) % 16;
        }
        compare(to.max(4 * chunk), &copies)?;
    }
    Ok(())
}

#[test]
fn more_ranges_than_a_table_holds_are_copied_exactly() -> Result<()> {
    let _alone = alone();
    let (small, large) = (kernels::COPY_MANY_SMALL as usize, kernels::COPY_MANY_LARGE as usize);
    for count in [1, small - 1, small, small + 1, large, large + 1, 2 * large + small + 3] {
        let copies: Vec<_> = (0..count).map(|i| (i * 12 + 1, (count - 1 - i) * 12, 11)).collect();
        compare(count * 12, &copies)?;
    }
    Ok(())
}

#[test]
fn elements_larger_than_a_byte_are_counted_as_elements() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let numbers: Vec<f64> = (0..1000).map(f64::from).collect();
    let source = DeviceBuffer::from_slice(&numbers)?;
    let mut target = DeviceBuffer::from_slice(&vec![-1.0; 1000])?;
    let pairs = target.slice_mut(..)?.chunks_mut(10)?.zip(source.slice(..)?.chunks(10)?);
    copy_many(pairs.step_by(2), &stream)?;
    let expected: Vec<f64> = numbers.iter().map(|&n| if n % 20.0 < 10.0 { n } else { -1.0 }).collect();
    assert_eq!(target.to_vec()?, expected);
    Ok(())
}

#[test]
fn each_copy_may_be_between_other_owners_and_waits_for_their_work() -> Result<()> {
    let _alone = alone();
    kernels::copy_many_small.load()?;
    kernels::gate_then_write.load()?;
    let (writer, copier) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let flag = MappedFlag::new()?;
    let buffer = |first: u32| DeviceBuffer::from_slice(&[first, first + 1, first + 2, first + 3]);
    let mut sources = (0..20).map(|i| buffer(10 * i)).collect::<Result<Vec<_>>>()?;
    let mut targets = (0..20).map(|_| buffer(1000)).collect::<Result<Vec<_>>>()?;
    Device::current()?.synchronize()?;
    cuda_kernels::gate_then_write(&flag, &mut sources[13], 7, &writer)?;
    // One of them has no elements and is skipped.
    let part = |i: usize| if i == 5 { 1..1 } else { 1..3 };
    let parts = targets.iter_mut().zip(&sources).enumerate();
    let pairs = parts.map(|(i, (to, from))| Ok((to.slice_mut(part(i))?, from.slice(part(i))?)));
    let copied = pairs.collect::<Result<Vec<_>>>().and_then(|pairs| copy_many(pairs, &copier));
    let done = copier.is_done();
    // Opens the gate before anything can fail: dropping the buffers waits for the gate.
    flag.set(1);
    copied?;
    assert!(!done?, "the copies wait for the source that is being written");
    for (i, target) in (0..20).zip(&targets) {
        let middle = match i {
            5 => [1001, 1002],
            13 => [7, 7],
            _ => [10 * i + 1, 10 * i + 2],
        };
        assert_eq!(target.to_vec()?, [1000, middle[0], middle[1], 1003], "target {i}");
    }
    Ok(())
}

#[test]
fn pinned_and_registered_memory_take_part() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let pinned = PinnedBuffer::from_slice(&[1_u32, 2, 3])?;
    let mut registered = Registered::new(vec![0_u32; 3])?;
    copy_many([(&mut registered, &pinned)], &stream)?;
    assert_eq!(registered.host()?[..], [1, 2, 3]);
    Ok(())
}

#[test]
fn nothing_to_copy_launches_nothing() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let none: [(&mut DeviceBuffer<u8>, &DeviceBuffer<u8>); 0] = [];
    copy_many(none, &stream)?;
    let (mut empty, other) = (DeviceBuffer::<u8>::alloc(0)?, DeviceBuffer::<u8>::alloc(0)?);
    copy_many([(&mut empty, &other)], &stream)?;
    assert!(stream.is_done()?);
    Ok(())
}

#[test]
fn different_lengths_are_refused_with_both_and_nothing_is_copied() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let source = DeviceBuffer::from_slice(&[1_u8, 2, 3])?;
    let mut target = DeviceBuffer::from_slice(&[9_u8; 6])?;
    let (left, right) = target.slice_mut(..)?.split_at_mut(3)?;
    let error = copy_many([(left, source.slice(..)?), (right, source.slice(..2)?)], &stream).unwrap_err();
    assert_eq!(error.detail(), &Detail::length_mismatch(3, 2));
    assert_eq!(error.api(), "copy_many");
    assert_eq!(target.to_vec()?, [9; 6]);
    Ok(())
}

/// The bytes of a buffer, without a borrow.
struct Raw(*mut u8, usize);

// SAFETY: used only while the buffer outlives the launch.
unsafe impl KernelArg<*const u8> for Raw {
    fn value(&self) -> Result<*const u8> {
        Ok(self.0)
    }
}

// SAFETY: as above.
unsafe impl KernelArg<*mut u8> for Raw {
    fn value(&self) -> Result<*mut u8> {
        Ok(self.0)
    }
}

// SAFETY: no bytes belong to it, because it has no access.
unsafe impl CheckedArg<*const u8> for Raw {}

// SAFETY: as above.
unsafe impl CheckedArg<*mut u8> for Raw {}

// SAFETY: the buffer is on device 0 and has as many bytes.
unsafe impl KernelInput<u8> for Raw {
    fn elements(&self) -> usize {
        self.1
    }
    fn device(&self) -> Option<Device> {
        None
    }
}

// SAFETY: as above.
unsafe impl KernelOutput<u8> for Raw {
    fn elements(&self) -> usize {
        self.1
    }
    fn device(&self) -> Option<Device> {
        None
    }
}

#[test]
fn two_owners_of_the_same_bytes_are_refused_on_either_side() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let mut buffer = DeviceBuffer::from_slice(&pattern(96))?;
    let start = buffer.as_mut_ptr();
    let at = |first: usize| start.wrapping_add(first);
    let [zero, middle, end] = [0, 32, 64].map(at);
    for pairs in [
        [(Raw(zero, 33), Raw(middle, 33)), (Raw(end, 1), Raw(end, 1))],
        [(Raw(zero, 32), Raw(middle, 32)), (Raw(end, 10), Raw(zero, 10))],
        [(Raw(zero, 33), Raw(at(63), 33)), (Raw(middle, 1), Raw(at(40), 1))],
    ] {
        let error = copy_many::<u8, _, _>(pairs, &stream).unwrap_err();
        assert!(error.detail().as_str().contains("source and destination overlap: "), "{error}");
    }
    assert_eq!(buffer.to_vec()?, pattern(96), "nothing was copied");
    copy_many::<u8, _, _>([(Raw(zero, 32), Raw(middle, 32)), (Raw(end, 32), Raw(middle, 32))], &stream)?;
    stream.synchronize()?;
    assert_eq!(buffer.to_vec()?, [&pattern(96)[32..64]; 3].concat());
    Ok(())
}

#[test]
fn memory_of_another_device_is_refused() -> Result<()> {
    let _alone = alone();
    if Device::count()? < 2 {
        println!("one device only: no memory of another one");
        return Ok(());
    }
    let stream = Stream::new()?;
    let here = DeviceBuffer::<u8>::alloc(4)?;
    let mut there = Device::new(1)?.with_current(|| DeviceBuffer::<u8>::alloc(4))?;
    let error = copy_many([(&mut there, &here)], &stream).unwrap_err();
    assert!(error.detail().as_str().contains("belongs to device 1, device 0 is needed"), "{error}");
    Ok(())
}

#[test]
fn work_of_another_stream_on_any_of_the_ranges_comes_first() -> Result<()> {
    let _alone = alone();
    kernels::copy_many_small.load()?;
    kernels::gate_then_write.load()?;
    let (writer, copier) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let flag = MappedFlag::new()?;
    let mut source = DeviceBuffer::from_slice(&[0_u32; 64])?;
    let mut target = DeviceBuffer::from_slice(&[0_u32; 64])?;
    // The two fills may still be pending on the legacy stream.
    Device::current()?.synchronize()?;
    let before = hazard::added_waits();
    cuda_kernels::gate_then_write(&flag, source.slice_mut(32..40)?, 7, &writer)?;
    copy_many(target.slice_mut(..)?.chunks_mut(8)?.zip(source.slice(..)?.chunks(8)?), &copier)?;
    let (waits, done) = (hazard::added_waits() - before, copier.is_done()?);
    // Opens the gate before anything can fail: dropping the buffers waits for the gate.
    flag.set(1);
    assert_eq!((waits, done), (1, false), "one wait for the one range that was written, and the copy waits");
    let mut expected = [0; 64];
    expected[32..40].fill(7);
    assert_eq!(target.to_vec()?, expected);
    Ok(())
}
