//! Plans of many copies by one kernel, enqueued repeatedly: the tracker orders each copy, and other pairs
//! are refused.
#![expect(unsafe_code, reason = "implements a memory type whose access history belongs to the test")]

use cuda_kernels::{CopyManyPlan, copy_many, gate_then_write, kernels};
use cuda_safe::error::Detail;
use cuda_safe::hazard::{self, Access, AccessHistory};
use cuda_safe::launch::{CheckedArg, KernelArg, KernelInput, KernelOutput};
use cuda_safe::stream::AsStream;
use cuda_safe::{
    Device, DeviceBuffer, DeviceSlice, DeviceSliceMut, MappedFlag, Result, Stream, memcpy, memcpy_async,
    memset_async,
};
use cuda_testing::alone;

/// Copies every second chunk of eight elements of one buffer to the same offsets of another buffer.
struct Chunks(CopyManyPlan);

impl Chunks {
    fn plan(to: &mut DeviceBuffer<u32>, from: &DeviceBuffer<u32>) -> Result<Self> {
        let pairs = to.slice_mut(..)?.chunks_mut(8)?.zip(from.slice(..)?.chunks(8)?);
        Ok(Self(CopyManyPlan::new(pairs.step_by(2))?))
    }

    fn copy(
        &self,
        to: &mut DeviceBuffer<u32>,
        from: &DeviceBuffer<u32>,
        stream: &impl AsStream,
    ) -> Result<()> {
        let pairs = to.slice_mut(..)?.chunks_mut(8)?.zip(from.slice(..)?.chunks(8)?);
        self.0.enqueue(pairs.step_by(2), stream)
    }

    /// Copies often enough to reach the fast path.
    fn copy_often(
        &self,
        to: &mut DeviceBuffer<u32>,
        from: &DeviceBuffer<u32>,
        stream: &impl AsStream,
    ) -> Result<()> {
        (0..4).try_for_each(|_| self.copy(to, from, stream))
    }
}

/// Returns the result of these copies in a buffer of zeros.
fn copied(from: &[u32]) -> Vec<u32> {
    (0..).zip(from).map(|(i, value)| if i / 8 % 2 == 0 { *value } else { 0 }).collect()
}

#[test]
fn what_is_there_by_then_is_copied_each_time() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let mut source = DeviceBuffer::from_slice(&[0_u32; 160])?;
    let mut target = DeviceBuffer::from_slice(&[0_u32; 160])?;
    Device::current()?.synchronize()?;
    let plan = Chunks::plan(&mut target, &source)?;
    for round in 0..6 {
        let values: Vec<u32> = (0..160).map(|i| 1000 * round + i).collect();
        // The source is written on another stream, on this one, or not at all.
        match round % 3 {
            0 => memcpy(&mut source, &values)?,
            1 => memset_async(&mut source, 7, &stream)?,
            _ => {}
        }
        plan.copy_often(&mut target, &source, &stream)?;
        assert_eq!(target.to_vec()?, copied(&source.to_vec()?), "round {round}");
    }
    Ok(())
}

#[test]
fn a_part_that_another_stream_has_written_since_is_waited_for() -> Result<()> {
    let _alone = alone();
    kernels::copy_many_small.load()?;
    kernels::gate_then_write.load()?;
    let (writer, copier) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let mut source = DeviceBuffer::from_slice(&[0_u32; 160])?;
    let mut target = DeviceBuffer::from_slice(&[0_u32; 160])?;
    Device::current()?.synchronize()?;
    let plan = Chunks::plan(&mut target, &source)?;
    for part in [0, 64, 144] {
        let flag = MappedFlag::new()?;
        plan.copy_often(&mut target, &source, &copier)?;
        copier.synchronize()?;
        let before = hazard::added_waits();
        gate_then_write(&flag, source.slice_mut(part..part + 8)?, 7, &writer)?;
        let again = plan.copy(&mut target, &source, &copier);
        let (waits, done) = (hazard::added_waits() - before, copier.is_done());
        // Opens the gate before anything can fail: dropping the buffers waits for the gate.
        flag.set(1);
        again?;
        assert_eq!((waits, done?), (1, false), "the copy waits for what is written from {part} on");
        assert_eq!(target.to_vec()?[part..part + 8], [7; 8]);
    }
    Ok(())
}

#[test]
fn both_halves_of_one_buffer_are_waited_for_too() -> Result<()> {
    let _alone = alone();
    kernels::copy_many_small.load()?;
    kernels::gate_then_write.load()?;
    let (writer, copier) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let values: Vec<u32> = (0..320).collect();
    let mut buffer = DeviceBuffer::from_slice(&values)?;
    let plan = {
        let (to, from) = buffer.slice_mut(..)?.split_at_mut(160)?;
        CopyManyPlan::new(to.chunks_mut(8)?.zip(from.slice(..)?.chunks(8)?).step_by(2))?
    };
    let from_half_to_half = |buffer: &mut DeviceBuffer<u32>| -> Result<()> {
        let (to, from) = buffer.slice_mut(..)?.split_at_mut(160)?;
        let pairs = to.chunks_mut(8)?.zip(from.slice(..)?.chunks(8)?);
        plan.enqueue(pairs.step_by(2), &copier)
    };
    Device::current()?.synchronize()?;
    for part in [0, 144, 160, 304] {
        (0..4).try_for_each(|_| from_half_to_half(&mut buffer))?;
        copier.synchronize()?;
        let (flag, before) = (MappedFlag::new()?, hazard::added_waits());
        gate_then_write(&flag, buffer.slice_mut(part..part + 8)?, 7, &writer)?;
        let again = from_half_to_half(&mut buffer);
        let (waits, done) = (hazard::added_waits() - before, copier.is_done());
        flag.set(1);
        again?;
        assert_eq!((waits, done?), (1, false), "the copy waits for what is written from {part} on");
    }
    let found = buffer.to_vec()?;
    assert_eq!(found[..160], copied_over(&found), "every second chunk is that of the other half");
    Ok(())
}

/// Returns the first half of the numbers with every second chunk of the other half.
fn copied_over(values: &[u32]) -> Vec<u32> {
    let (to, from) = values.split_at(values.len() / 2);
    (0..).zip(to.iter().zip(from)).map(|(i, (to, from))| if i / 8 % 2 == 0 { *from } else { *to }).collect()
}

#[test]
fn who_uses_a_part_afterwards_waits_for_the_last_copy() -> Result<()> {
    let _alone = alone();
    kernels::copy_many_small.load()?;
    kernels::gate_then_write.load()?;
    let (reader, copier) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let (flag, mut other) = (MappedFlag::new()?, DeviceBuffer::from_slice(&[0_u32; 8])?);
    let source = DeviceBuffer::from_slice(&[5_u32; 160])?;
    let mut target = DeviceBuffer::from_slice(&[0_u32; 160])?;
    let mut read = DeviceBuffer::from_slice(&[0_u32; 8])?;
    Device::current()?.synchronize()?;
    let plan = Chunks::plan(&mut target, &source)?;
    plan.copy_often(&mut target, &source, &copier)?;
    copier.synchronize()?;
    memcpy(&mut target, &[0; 160])?;
    plan.copy(&mut target, &source, &copier)?;
    plan.copy(&mut target, &source, &copier)?;
    copier.synchronize()?;
    // All earlier work is complete, so the copy behind the gate is the only one to wait for.
    gate_then_write(&flag, &mut other, 1, &copier)?;
    let before = hazard::added_waits();
    let used = plan
        .copy(&mut target, &source, &copier)
        .and_then(|()| memcpy_async(&mut read, &target.slice(16..24)?, &reader));
    let (waits, done) = (hazard::added_waits() - before, reader.is_done());
    flag.set(1);
    used?;
    assert_eq!((waits, done?), (1, false), "what is copied is waited for");
    assert_eq!(read.to_vec()?, [5; 8]);
    Ok(())
}

#[test]
fn buffers_that_come_to_lie_where_others_were_are_others() -> Result<()> {
    let _alone = alone();
    let (stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let mut plan = None;
    let mut reused = 0;
    for round in 1..8 {
        let values: Vec<u32> = (0..160).map(|i| 1000 * round + i).collect();
        let source = DeviceBuffer::from_slice(&values)?;
        let mut target = DeviceBuffer::from_slice(&[0_u32; 160])?;
        // It is on another stream and not known to be complete, so the copy has to wait for it.
        memset_async(&mut target, 0, &other)?;
        // The plan remains valid if the buffers have the addresses of the previous ones.
        let known = plan.take().filter(|plan: &Chunks| plan.copy(&mut target, &source, &stream).is_ok());
        reused += u32::from(known.is_some());
        let plan = plan.insert(known.map_or_else(|| Chunks::plan(&mut target, &source), Ok)?);
        plan.copy_often(&mut target, &source, &stream)?;
        assert_eq!(target.to_vec()?, copied(&values), "round {round}");
    }
    println!("{reused} of 6 rounds went on with the plan of the round before");
    Ok(())
}

#[test]
fn several_plans_in_turn_are_told_apart() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let mut buffers = (0..7_u32)
        .map(|i| Ok((DeviceBuffer::from_slice(&[0_u32; 160])?, DeviceBuffer::from_slice(&[i + 1; 160])?)))
        .collect::<Result<Vec<_>>>()?;
    Device::current()?.synchronize()?;
    for count in [2, 4, 7, 3] {
        let plans =
            buffers.iter_mut().map(|(to, from)| Chunks::plan(to, from)).collect::<Result<Vec<_>>>()?;
        for _ in 0..4 {
            for ((to, from), plan) in buffers.iter_mut().zip(&plans).take(count) {
                plan.copy(to, from, &stream)?;
            }
        }
        for (i, (to, from)) in buffers.iter_mut().enumerate().take(count) {
            assert_eq!(to.to_vec()?, copied(&from.to_vec()?), "of {count}, number {i}");
            *to = DeviceBuffer::from_slice(&[0_u32; 160])?;
        }
    }
    Ok(())
}

#[test]
fn sources_in_any_order_and_the_same_one_for_several_are_known_too() -> Result<()> {
    let _alone = alone();
    let (stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let mut source = DeviceBuffer::from_slice(&[0_u32; 40])?;
    let mut target = DeviceBuffer::from_slice(&[0_u32; 40])?;
    Device::current()?.synchronize()?;
    let order = [4, 2, 0, 2, 3, 3, 1, 0, 4, 4];
    fn pairs<'a>(
        target: &'a mut DeviceBuffer<u32>,
        source: &'a DeviceBuffer<u32>,
        order: [usize; 10],
    ) -> Result<Vec<(DeviceSliceMut<'a, u32>, DeviceSlice<'a, u32>)>> {
        let places = target.slice_mut(..)?.chunks_mut(4)?.zip(order);
        places.map(|(to, i)| Ok((to.split_at_mut(3)?.0, source.slice(8 * i..8 * i + 3)?))).collect()
    }
    let plan = CopyManyPlan::new(pairs(&mut target, &source, order)?)?;
    for round in 0..4_u32 {
        let values: Vec<u32> = (0..40).map(|i| 100 * round + i).collect();
        let staged = DeviceBuffer::from_slice(&values)?;
        memcpy_async(&mut source, &staged, &other)?;
        for _ in 0..4 {
            plan.enqueue(pairs(&mut target, &source, order)?, &stream)?;
        }
        let expected: Vec<u32> =
            order.iter().flat_map(|i| [values[8 * i], values[8 * i + 1], values[8 * i + 2], 0]).collect();
        assert_eq!(target.to_vec()?, expected, "round {round}");
    }
    Ok(())
}

#[test]
fn another_thread_and_a_captured_stream_take_a_plan_too() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let source = DeviceBuffer::from_slice(&[3_u32; 160])?;
    let mut target = DeviceBuffer::from_slice(&[0_u32; 160])?;
    Device::current()?.synchronize()?;
    let plan = Chunks::plan(&mut target, &source)?;
    plan.copy_often(&mut target, &source, &stream)?;
    std::thread::scope(|scope| {
        let copying = scope.spawn(|| plan.copy_often(&mut target, &source, &stream));
        copying.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    let graph = stream.capture(|captured| plan.copy(&mut target, &source, captured))?;
    memcpy(&mut target, &[0; 160])?;
    let mut run = graph.instantiate()?;
    run.launch(&stream)?;
    assert_eq!(target.to_vec()?, copied(&[3; 160]));
    Ok(())
}

#[test]
fn a_stream_of_another_device_is_refused_as_ever() -> Result<()> {
    let _alone = alone();
    if Device::count()? < 2 {
        println!("one device only: no stream of another one");
        return Ok(());
    }
    let stream = Stream::new()?;
    let source = DeviceBuffer::from_slice(&[1_u32; 160])?;
    let mut target = DeviceBuffer::from_slice(&[0_u32; 160])?;
    let plan = Chunks::plan(&mut target, &source)?;
    plan.copy_often(&mut target, &source, &stream)?;
    let there = Device::new(1)?.with_current(Stream::new)?;
    let error = plan.copy(&mut target, &source, &there).unwrap_err();
    assert!(error.detail().as_str().contains("belongs to device 0, device 1 is needed"), "{error}");
    plan.copy(&mut target, &source, &stream)?;
    assert_eq!(target.to_vec()?, copied(&[1; 160]));
    Ok(())
}

/// Bytes of a buffer with a separate access history, in which they have other offsets.
#[derive(Clone, Copy)]
struct Part<'a> {
    pointer: *mut u8,
    ledger: &'a AccessHistory,
    start: usize,
}

impl Part<'_> {
    const BYTES: usize = 8;
}

// SAFETY: used only while the buffer outlives the launch.
unsafe impl KernelArg<*const u8> for Part<'_> {
    fn value(&self) -> Result<*const u8> {
        Ok(self.pointer)
    }
    fn access(&self) -> Option<Access<'_>> {
        Some(Access::read(self.ledger, self.start..self.start + Self::BYTES))
    }
}

// SAFETY: as above.
unsafe impl KernelArg<*mut u8> for Part<'_> {
    fn value(&self) -> Result<*mut u8> {
        Ok(self.pointer)
    }
    fn access(&self) -> Option<Access<'_>> {
        Some(Access::write(self.ledger, self.start..self.start + Self::BYTES))
    }
}

// SAFETY: the pointer is to the bytes of the access.
unsafe impl CheckedArg<*const u8> for Part<'_> {}

// SAFETY: as above.
unsafe impl CheckedArg<*mut u8> for Part<'_> {}

// SAFETY: the buffer has as many bytes from that offset on.
unsafe impl KernelInput<u8> for Part<'_> {
    fn elements(&self) -> usize {
        Self::BYTES
    }
    fn device(&self) -> Option<Device> {
        None
    }
}

// SAFETY: as above.
unsafe impl KernelOutput<u8> for Part<'_> {
    fn elements(&self) -> usize {
        Self::BYTES
    }
    fn device(&self) -> Option<Device> {
        None
    }
}

#[test]
fn the_same_addresses_in_other_bytes_of_an_access_history_are_entered_there() -> Result<()> {
    let _alone = alone();
    let (copier, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let mut buffer = DeviceBuffer::from_slice(&[0_u8; 512])?;
    let (written, read) = (AccessHistory::new(1024), AccessHistory::new(1024));
    Device::current()?.synchronize()?;
    let start = buffer.as_mut_ptr();
    let pair = |from: usize, i: usize| {
        let part =
            |ledger, at: usize| Part { pointer: start.wrapping_add(at), ledger, start: from + at % 256 };
        (part(&written, 16 * i), part(&read, 256 + 16 * i))
    };
    let plan = CopyManyPlan::new::<u8, _, _>((0..8).map(|i| pair(0, i)))?;
    let copy = |from: usize| plan.enqueue::<u8, _, _>((0..8).map(|i| pair(from, i)), &copier);
    for from in [0, 512, 0, 300] {
        (0..4).try_for_each(|_| copy(from))?;
        let before = hazard::added_waits();
        for i in [0, 7] {
            copy_many::<u8, _, _>([pair(from, i)], &other)?;
        }
        assert_eq!(hazard::added_waits() - before, 1, "the copies from {from} on are waited for, once");
        copy(from)?;
        assert_eq!(hazard::added_waits() - before, 2, "and the copies wait for the other stream");
    }
    copier.synchronize()
}

#[test]
fn other_pairs_than_those_of_the_plan_are_refused_and_nothing_is_copied() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let sources = [DeviceBuffer::from_slice(&[1_u32; 8])?, DeviceBuffer::from_slice(&[2_u32; 8])?];
    let mut target = DeviceBuffer::from_slice(&[0_u32; 8])?;
    let plan = {
        let (left, right) = target.slice_mut(..)?.split_at_mut(4)?;
        CopyManyPlan::new([(left, sources[0].slice(..4)?), (right, sources[1].slice(4..)?)])?
    };
    let mut enqueue = |left: DeviceSlice<'_, u32>, right: DeviceSlice<'_, u32>| -> Result<()> {
        let (to_left, to_right) = target.slice_mut(..)?.split_at_mut(4)?;
        plan.enqueue([(to_left, left), (to_right, right)], &stream)
    };
    let [one, two] = &sources;
    let refused = enqueue(one.slice(..4)?, one.slice(4..)?).unwrap_err();
    let other = "the plan was made for other memory than that of operand 1";
    assert_eq!(refused.detail().as_str(), other);
    let refused = enqueue(one.slice(..3)?, two.slice(4..)?).unwrap_err();
    assert_eq!(refused.detail(), &Detail::length_mismatch(4, 3));
    enqueue(one.slice(..4)?, two.slice(4..)?)?;
    assert_eq!(target.to_vec()?, [1, 1, 1, 1, 2, 2, 2, 2]);
    let refused = plan.enqueue([(&mut target, &sources[0])], &stream).unwrap_err();
    assert_eq!(refused.detail(), &Detail::wrong_length("the list of pairs with elements", 2, 1));
    assert_eq!(refused.api(), "copy_many");
    Ok(())
}

#[test]
fn a_pair_without_elements_may_stand_anywhere_also_where_a_launch_ends() -> Result<()> {
    /// As many pairs as a launch takes, and one without elements.
    fn pairs<'a>(
        target: &'a mut DeviceBuffer<u32>,
        source: &'a DeviceBuffer<u32>,
        none: &'a mut DeviceBuffer<u32>,
        empty: usize,
    ) -> Result<Vec<(DeviceSliceMut<'a, u32>, DeviceSlice<'a, u32>)>> {
        let all = target.slice_mut(..)?.chunks_mut(1)?.zip(source.slice(..)?.chunks(1)?);
        let mut all: Vec<_> = all.collect();
        all.insert(empty, (none.slice_mut(..)?, source.slice(..0)?));
        Ok(all)
    }

    let _alone = alone();
    kernels::copy_many_large.load()?;
    kernels::gate_then_write.load()?;
    let (writer, copier) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let count = kernels::COPY_MANY_LARGE as usize;
    let mut source = DeviceBuffer::from_slice(&vec![1_u32; count])?;
    let (mut target, mut none) = (DeviceBuffer::from_slice(&vec![0_u32; count])?, DeviceBuffer::alloc(0)?);
    Device::current()?.synchronize()?;
    let plan = CopyManyPlan::new(pairs(&mut target, &source, &mut none, count)?)?;
    for (round, empty) in (2..).zip([count, 0, count / 2]) {
        let (flag, before) = (MappedFlag::new()?, hazard::added_waits());
        gate_then_write(&flag, source.slice_mut(count - 1..)?, round, &writer)?;
        let copied = plan.enqueue(pairs(&mut target, &source, &mut none, empty)?, &copier);
        let (waits, done) = (hazard::added_waits() - before, copier.is_done());
        flag.set(1);
        copied?;
        assert_eq!((waits, done?), (1, false), "with an empty pair at {empty}, the copy of the last waits");
        assert_eq!(target.to_vec()?[count - 1], round);
    }
    Ok(())
}

#[test]
fn a_plan_of_more_pairs_than_a_launch_takes_and_one_of_none_are_plans_too() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let count = kernels::COPY_MANY_LARGE as usize + 5;
    let values: Vec<u32> = (0..).take(2 * count).collect();
    let source = DeviceBuffer::from_slice(&values)?;
    let mut target = DeviceBuffer::from_slice(&vec![0_u32; 2 * count])?;
    let plan =
        CopyManyPlan::new(target.slice_mut(..)?.chunks_mut(1)?.zip(source.slice(..)?.chunks(1)?).step_by(2))?;
    for _ in 0..3 {
        memset_async(&mut target, 0, &stream)?;
        plan.enqueue(
            target.slice_mut(..)?.chunks_mut(1)?.zip(source.slice(..)?.chunks(1)?).step_by(2),
            &stream,
        )?;
        let expected: Vec<u32> = values.iter().map(|value| if value % 2 == 0 { *value } else { 0 }).collect();
        assert_eq!(target.to_vec()?, expected);
    }
    let none: [(&mut DeviceBuffer<u8>, &DeviceBuffer<u8>); 0] = [];
    CopyManyPlan::new(none)?.enqueue::<u8, &mut DeviceBuffer<u8>, &DeviceBuffer<u8>>([], &stream)
}
